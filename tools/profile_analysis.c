/* profile_analysis.c: the views of `tenon profile` that analyse a recording: queries, suggestions,
 * intermediate tables. */
#include <sys/stat.h>

#include "profile/profiler_analysis.h"
#include "tools/profile.h"

/* The analysis of a folder of intermediate tables or of a recording. NULL after a message. */
static tn_analysis *open_analysis(tools_session *session, const char *path) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return tn_analysis_open(session->ctx, path);
  tn_recording *r = tools_load_recording(session, path);
  tn_analysis *analysis = r ? tn_analysis_of(session->ctx, r) : NULL;
  tn_recording_free(r);
  return analysis;
}

int tools_profile_analyse(tools_session *session, const tools_args *args) {
  tn_analysis *analysis = open_analysis(session, args->operands[1]);
  char *text = analysis ? tn_analysis_query(session->ctx, analysis, args->operands[2]) : NULL;
  tn_analysis_free(analysis);
  return tools_print_text(text);
}

/* Reads the file of --rules; NULL where none is given, or where it cannot be read, which *OK false says. */
static char *read_rules(tools_session *session, const tools_args *args, bool *ok) {
  char *rules = args->rules ? tools_read(session, args->rules) : NULL;
  *ok = !args->rules || rules;
  return rules;
}

bool tools_set_rules(tools_session *session, const tools_args *args, tn_recording *r) {
  bool ok;
  char *rules = read_rules(session, args, &ok);
  ok = ok && tn_recording_set_rules(session->ctx, r, rules) == TN_OK;
  free(rules);
  return ok;
}

int tools_profile_advise(tools_session *session, const tools_args *args) {
  bool ok;
  char *rules = read_rules(session, args, &ok);
  tn_analysis *analysis = ok ? open_analysis(session, args->operands[1]) : NULL;
  if (analysis && tn_analysis_set_rules(session->ctx, analysis, rules) != TN_OK)
    tn_analysis_free(analysis), analysis = NULL;
  free(rules);
  const char *limits = args->n_operands > 2 ? args->operands[2] : NULL;
  tn_advices *advices = analysis ? tn_advise(session->ctx, analysis, limits) : NULL;
  char *text = advices ? tn_advices_text(advices, args->is_json) : NULL;
  tn_advices_free(advices);
  tn_analysis_free(analysis);
  return tools_print_text(text);
}

int tools_profile_tasks(tools_session *session, const tools_args *args) {
  tn_analysis *analysis = open_analysis(session, args->operands[1]);
  char *text = analysis ? tn_analysis_task_table(session->ctx, analysis) : NULL;
  tn_analysis_free(analysis);
  return tools_print_text(text);
}

int tools_profile_parse(tools_session *session, const tools_args *args, tn_recording *r) {
  return tn_profile_parse_to(session->ctx, r, args->operands[2]) == TN_OK ? TOOLS_OK : TOOLS_FAILED;
}

char *tools_profile_query(const tn_recording *recording, const char *request, char **message) {
  return tn_recording_query(recording, request, message);
}
