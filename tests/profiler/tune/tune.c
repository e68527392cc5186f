/* The fixture TUNE. */
#include "tests/profiler/tune/tune.h"

#include <unistd.h>

static void tune_rounds(tune_run *run, const char *program, int trials, int per_round, const char *const *command) {
  static const char *const built[] = {TENON_COMMAND, "worker", NULL};
  *run = (tune_run){.ctx = check_context()};
  snprintf(run->log, sizeof run->log, "/tmp/tenon-rows-%d.json", (int)getpid());
  unlink(run->log);
  run->program = tn_program_parse(run->ctx, program, 0, NULL);
  check_ok(run->ctx);
  tn_tune_options options = {.log = run->log,
                             .trials = trials,
                             .per_round = per_round,
                             .seed = 3,
                             .finalists = -1,
                             .workers = {.command = command ? command : built, .jobs = 2}};
  assert_int_equal(tn_tune(run->program, &options, &run->result), TN_OK);
  check_ok(run->ctx);
  assert_int_equal(run->result.trials, trials);
  tn_schedule_free(tn_apply_best(run->program, NULL, run->log, &run->best_s));
}

void tune_only(tune_run *run, const char *program, int trials, const char *const *command) {
  tune_rounds(run, program, trials, TUNE_PER_ROUND, command);
}

void tune_recorded_rounds(tune_run *run, const char *program, int trials, int per_round) {
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tune_rounds(run, program, trials, per_round, NULL);
  run->r = rows_collect();
}

void tune_recorded(tune_run *run, const char *program, int trials, const char *const *command) {
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tune_only(run, program, trials, command);
  run->r = rows_collect();
}

void tune_free(tune_run *run) {
  unlink(run->log);
  tn_recording_free(run->r);
  check_context_free(run->ctx);
}

bool tune_is_worker(const tn_recording *r, const tn_event *e) {
  return strcmp(profiler_process_of(r, e)->name, "worker") == 0;
}

int64_t tune_count_in_workers(const tn_recording *r, const char *name) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i)
    n += tune_is_worker(r, &r->events[i]) && strcmp(r->events[i].name, name) == 0;
  return n;
}

int64_t tune_end(const tn_event *e) { return e->start_ns + e->duration_ns; }
