/* The search's test program: analysis, sketches, genomes, proposals, the tuning driver with a builder and runner made
 * up. */
#include "tests/search/search_test.h"

space_fixture space_make(const char *program) {
  space_fixture f = {.ctx = check_context()};
  tn_program *p = tn_program_parse(f.ctx, program, 0, NULL);
  check_ok(f.ctx);
  f.task = calloc(1, sizeof *f.task);
  f.space = calloc(1, sizeof *f.space);
  assert_true(f.task && f.space);
  *f.task = (autotune_task){.ctx = f.ctx, .program = p, .threads = 2, .vector_bytes = 64, .cache_line_bytes = 64};
  f.space->task = f.task;
  f.model = autotune_model_new(f.ctx, 1, 1);
  return f;
}

void space_free(space_fixture *f) {
  autotune_space_release(f->space);
  free(f->space);
  free(f->task);
  autotune_model_free(f->model);
  check_context_free(f->ctx);
}

int stage_named(const tn_schedule *s, const char *name) {
  int stage = schedule_find_stage(s, name);
  if (stage < 0) fail_msg("no stage %s", name);
  return stage;
}

int main(void) {
  return run_analysis_tests() + run_sketch_tests() + run_genome_tests() + run_planned_tests() + run_proposal_tests() +
         run_tune_tests() + run_judging_tests() + run_pipeline_tests() + run_replay_tests() + run_task_tests() +
         run_own_schedule_tests() + run_neighbour_tests() + run_guess_tests() + run_cut_tests() + run_memory_tests();
}
