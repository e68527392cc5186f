/* cut.c: a large program as a network of its groups: `tenon tune` tunes the groups, and `tenon build` says
 * which records of them it used. */
#include "tools/cut.h"

bool tools_is_cut(const tools_session *session, const tools_args *args) {
  return session->program && (args->is_cut || tn_program_is_large(session->program));
}

bool tools_cut_task(tools_session *session, const tn_task *whole, tn_network *out) {
  tn_cut cut;
  *out = (tn_network){0};
  if (!tools_know_machine(session, false) || tn_program_cut(whole->program, session->target, &cut) != TN_OK)
    return false;
  out->tasks = calloc((size_t)cut.n + 1, sizeof *out->tasks);
  if (!out->tasks) return tools_fail(session, "out of memory"), false;
  for (; out->n < cut.n; ++out->n) {
    const tn_cut_task *part = &cut.tasks[out->n];
    int count = RUNTIME_MAX(whole->count, 1) * part->count;
    out->tasks[out->n] = (tn_task){
        .program = part->program, .weight = whole->weight, .count = count, .name = part->name, .fill = whole->fill};
  }
  if (cut.n > 0) return true;
  tools_fail(session, "no group of the program can be tuned: all that it computes is done by C functions");
  return false;
}

tn_schedule *tools_cut_schedule(tools_session *session, const char *log) {
  bool was_muted = session->is_muted;
  session->cut = (tn_cut){0};
  if (!tools_know_machine(session, false)) return NULL;
  session->is_muted = true;
  tn_schedule *schedule = tn_apply_cut(session->program, session->target, log, &session->cut);
  session->is_muted = was_muted;
  if (schedule || tn_context_status(session->ctx) == TN_ERROR_MEMORY) return schedule;
  session->cut = (tn_cut){0};
  tn_context_clear(session->ctx);
  return NULL;
}

int tools_cut_missing(const tn_cut *cut) {
  int n = 0;
  for (int i = 0; i < cut->n; ++i) n += cut->tasks[i].count - cut->tasks[i].n_used;
  return n;
}

void tools_tell_cut(const tn_cut *cut, const char *log) {
  printf("%d of %d groups have tuned schedules (%d distinct), of %s\n", cut->n_groups - tools_cut_missing(cut),
         cut->n_groups, cut->n, log);
  for (int i = 0; i < cut->n; ++i) {
    const tn_cut_task *task = &cut->tasks[i];
    printf("  %-20s x %-3d  ", task->name, task->count);
    if (task->n_used == 0)
      printf("the generic schedule: there is no record%s\n", task->seconds > 0 ? " that fits" : "");
    else if (task->n_used < task->count)
      printf("%s, and the generic schedule %d times\n", tools_time(task->seconds).text, task->count - task->n_used);
    else
      printf("%s\n", tools_time(task->seconds).text);
  }
}
