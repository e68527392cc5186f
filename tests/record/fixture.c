/* A program, a target and an empty log file for tests of records. */
#include "tests/record/fixture.h"

#include <math.h>
#include <unistd.h>

int fixture_setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  f->ctx = check_context();
  f->program = tn_program_parse(f->ctx, MATMUL, 0, NULL);
  f->target = tn_target_new(f->ctx, "threads=2");
  check_ok(f->ctx);
  snprintf(f->folder, sizeof f->folder, "/tmp/tenon-record-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->log, sizeof f->log, "%s/log.json", f->folder);
  *state = f;
  return 0;
}

int fixture_teardown(void **state) {
  fixture *f = *state;
  unlink(f->log);
  rmdir(f->folder);
  check_context_free(f->ctx);
  free(f);
  return 0;
}

autotune_record make_record(fixture *f, const char *steps, double cost_s, bool checked) {
  tn_candidate candidate = {.program = tn_program_text(f->program),
                            .steps = steps ? steps : "[]",
                            .target = tn_target_text(f->target),
                            .seed = 42};
  tn_measurement measured = {.n_costs = 1,
                             .costs = {cost_s},
                             .checked = checked,
                             .max_error = 1e-6,
                             .build_s = 0.5,
                             .run_s = 0.25,
                             .phase_s = {0.001, 0.002}};
  if (isinf(cost_s)) {
    measured.error = TN_MEASURE_COMPILE;
    measured.n_costs = 0;
    measured.message = (char *)"it did not compile";
  }
  autotune_record record = {0};
  assert_int_equal(autotune_record_make(f->ctx, &candidate, f->program, f->target, &measured, &record), TN_OK);
  return record;
}

void append(fixture *f, const char *steps, double cost_s, bool checked) {
  autotune_record record = make_record(f, steps, cost_s, checked);
  assert_int_equal(autotune_record_append(f->ctx, f->log, &record), TN_OK);
  autotune_record_free(&record);
}

void append_text(const fixture *f, const char *text) {
  FILE *file = fopen(f->log, "a");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

char *log_text(const fixture *f) {
  char *text = runtime_read_file(f->ctx, f->log, NULL);
  assert_non_null(text);
  return text;
}

tn_status read_log(tn_context *ctx, const char *path, bool missing_ok,
                   bool (*visit)(void *user, int line, autotune_record *record), void *user, int *n_skipped) {
  log_reading reading = {.missing_ok = missing_ok, .visit = visit, .user = user};
  tn_status status = log_read(ctx, path, &reading, &(autotune_log_place){0});
  if (n_skipped) *n_skipped = reading.n_skipped;
  return status;
}

static bool visit(void *user, int line, autotune_record *record) {
  fixture *f = user;
  assert_true(f->n_visited < RUNTIME_COUNT(f->lines));
  f->lines[f->n_visited] = line;
  f->costs[f->n_visited++] = autotune_record_cost(record);
  return true;
}

tn_status read_all(fixture *f) {
  f->n_visited = 0;
  return read_log(f->ctx, f->log, false, visit, f, NULL);
}
