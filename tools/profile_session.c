/* profile_session.c: records a run of the command: --profile FILE[:key=value]..., or TENON_PROFILE in the
 * environment. A bad value is warned about, and the run goes on without a recording. Where memory runs out,
 * the run goes on and fails at its end. */
#include "tools/profile_session.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "profile/profiler_analysis.h"
#include "profile/profiler_files.h"
#include "profile/profiler_loader.h"

/* Says what must not end the run as a warning. */
static void warn(tools_session *session, tn_context *ctx) {
  tools_warn(session, "%s; the run is not recorded", tn_context_message(ctx));
}

/* Loads a plug-in. If that fails it is warned about, and the recording goes on without the plug-in's planes. */
static void load_plugin(tools_session *session, const char *path, tools_recording *recording) {
  if (recording->n_plugins == RUNTIME_COUNT(recording->plugins))
    return tools_warn(session, "%s: too many plug-ins", path);
  tn_plugin *plugin = tn_plugin_load(recording->ctx, path);
  if (plugin)
    recording->plugins[recording->n_plugins++] = plugin;
  else
    tools_warn(session, "%s", tn_context_message(recording->ctx));
  tn_context_clear(recording->ctx);
}

static int is_shared_object(const struct dirent *entry) {
  size_t n = strlen(entry->d_name);
  return n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0 && entry->d_name[0] != '.';
}

/* Loads a folder's shared objects in the order of their names; a path that is no folder is one plug-in. The
 * folder's name may have any characters. */
static void load_plugins(tools_session *session, const char *path, tools_recording *recording) {
  struct stat info;
  struct dirent **found = NULL;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return load_plugin(session, path, recording);
  int n = scandir(path, &found, is_shared_object, alphasort);
  for (int i = 0; i < n; ++i) {
    runtime_str file = {0};
    runtime_str_addf(&file, "%s/%s", path, found[i]->d_name);
    if (!file.failed) load_plugin(session, file.data, recording);
    recording->lacks_memory |= file.failed;
    runtime_str_free(&file);
    free(found[i]);
  }
  free(found);
  if (n < 0) tools_warn(session, "cannot read the folder %s: %s", path, strerror(errno));
  if (n == 0) tools_warn(session, "%s has no profiler plug-in: no file that ends in .so", path);
}

/* Starts the session. Events go to FILE.buffers while the run lasts, so that a killed run is not lost, and
 * to OUTPUT at its end. The machine's limits in the recording are those of its target: nothing is measured
 * now. False with a message in the recording's own context: its failure must not fail the run. */
static bool start(const tools_session *session, const char *text, tools_recording *recording) {
  tn_context *ctx = recording->ctx;
  tn_profile_options options;
  tn_profile_form form;
  if (tn_profile_parse(ctx, text, &options, &recording->output) != TN_OK) return false;
  if (tn_profile_form_of(ctx, recording->output, &form) != TN_OK) return false;
  runtime_str buffers = {0};
  runtime_str_addf(&buffers, "%s.buffers", recording->output);
  options.file = buffers.data;
  options.process_name = "tuner";
  recording->is_traced = options.pass_through != NULL;
  tn_host host;
  tn_machine machine = tn_target_machine(session->target);
  tn_host_get(&host, false);
  tn_host_set_machine(&host, &machine);
  if (buffers.failed) runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the name of a recording's buffers");
  bool started = !buffers.failed && tn_profile_start(ctx, &options) == TN_OK;
  runtime_str_free(&buffers);
  if (started) tn_thread_name("tuner"), tn_host_record(&host);
  return started;
}

/* Never fails: if nothing can be recorded there is a warning, and is_on is false. */
tools_recording tools_record(tools_session *session, const tools_args *args) {
  tools_recording recording = {0};
  const char *text = args->profile ? args->profile : getenv("TENON_PROFILE");
  if (!text || !*text) return recording;
  recording.ctx = tn_context_new(NULL);
  recording.lacks_memory = !recording.ctx;
  if (!recording.ctx) return tools_warn(session, "out of memory; the run is not recorded"), recording;
  for (int i = 0; i < args->n_plugins; ++i) load_plugins(session, args->plugins[i], &recording);
  recording.is_on = start(session, text, &recording);
  recording.lacks_memory = tn_context_status(recording.ctx) == TN_ERROR_MEMORY;
  if (!recording.is_on) warn(session, recording.ctx);
  return recording;
}

/* Warns of what the recording lacks because there was no room for it. */
static void warn_of_losses(tools_session *session, const char *output, const tn_recording *r) {
  const tn_profile_stats *lost = &tn_recording_get_info(r)->stats;
  if (lost->dropped || lost->lost_names)
    tools_warn(session,
               "%s is not whole: %llu events and %llu names are missing; the disk, or the memory for it, was full",
               output, (unsigned long long)lost->dropped, (unsigned long long)lost->lost_names);
}

/* Stops the session and writes the file. False after a warning; the buffers then stay on disk, where `tenon
 * profile` can read them. */
static bool save(tools_session *session, const tools_recording *recording) {
  tn_context_clear(recording->ctx);
  tn_recording *r = tn_profile_stop(recording->ctx) == TN_OK ? tn_profile_collect(recording->ctx) : NULL;
  bool saved = r && tn_recording_save(recording->ctx, r, recording->output) == TN_OK;
  if (!saved) tools_warn(session, "%s", tn_context_message(recording->ctx));
  if (saved && recording->is_traced && *tn_recording_warnings(r)) /* why the tracer gets nothing */
    tools_warn(session, "%s", tn_recording_warnings(r));
  if (saved) warn_of_losses(session, recording->output, r);
  tn_recording_free(r);
  return saved;
}

bool tools_record_end(tools_session *session, tools_recording *recording) {
  bool saved = recording->is_on ? save(session, recording) : !recording->lacks_memory;
  for (int i = 0; i < recording->n_plugins; ++i) tn_plugin_unload(recording->ctx, recording->plugins[i]);
  tn_context_free(recording->ctx);
  free(recording->output);
  *recording = (tools_recording){0};
  return saved;
}
