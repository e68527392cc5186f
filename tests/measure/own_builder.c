/* A builder of the user's own whose objects the worker processes run, as TVM's LocalBuilder has a build_func: here the system's
 * C compiler, from C source. */
#include <math.h>
#include <unistd.h>

#include "tests/measure/fixture.h"
#include "tests/measure/measure_test.h"

/* Counts what it built; spoils the object of one of them. */
typedef struct compiler {
  int n_built, spoils;
} compiler;

static char *source_of(const tn_candidate *candidate) {
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, candidate->program, 0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  assert_int_equal(tn_schedule_replay(s, candidate->steps), TN_OK);
  char *text = tn_build_text(s, &(tn_build_options){.name = "kernel"}, ".c");
  check_ok(ctx);
  tn_schedule_free(s);
  check_context_free(ctx);
  return text;
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void read_object(const char *path, tn_measurement *out) {
  FILE *file = fopen(path, "re");
  assert_non_null(file);
  out->object = malloc(1 << 20);
  out->object_bytes = fread(out->object, 1, 1 << 20, file);
  fclose(file);
  assert_true(out->object_bytes > 0 && out->object_bytes < 1 << 20);
}

static tn_status compile(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  compiler *c = self;
  char source[64], object[64], command[256];
  snprintf(source, sizeof source, "/tmp/tenon-own-%d.c", (int)getpid());
  snprintf(object, sizeof object, "/tmp/tenon-own-%d.o", (int)getpid());
  snprintf(command, sizeof command, "cc -w -std=gnu17 -O1 -march=native -c -o %s %s", object, source);
  for (int i = 0; i < n; ++i) {
    char *text = source_of(&candidates[i]);
    write_file(source, text);
    free(text);
    assert_int_equal(system(command), 0);
    out[i] = (tn_measurement){0};
    read_object(object, &out[i]);
    if (++c->n_built == c->spoils) memset(out[i].object, 0, 64);
  }
  unlink(source);
  unlink(object);
  return TN_OK;
}

/* Tunes with COMPILE as builder; what its objects take is measured by workers. */
static tn_tune_result tune_with(compiler *c) {
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, "C[i<32, j<24] = sum[k<40](A[i, k] * B[k, j])", 0, NULL);
  tn_builder builder = {.self = c, .build = compile, .makes_objects = true};
  const char *command[] = {TENON_TEST_WORKER, NULL};
  char log[64];
  tn_tune_result result;
  snprintf(log, sizeof log, "/tmp/tenon-own-%d.json", (int)getpid());
  unlink(log);
  tn_tune_options options = {.log = log,
                             .trials = 7,
                             .finalists = 2,
                             .cost_model = "none",
                             .no_sketches = true,
                             .builder = &builder,
                             .workers = {.command = command, .jobs = 1}};
  assert_int_equal(tn_tune(program, &options, &result), TN_OK);
  check_ok(ctx);
  unlink(log);
  check_context_free(ctx);
  return result;
}

/* The first trial is the default schedule, which the runner measures with the reference. */
static void workers_run_what_it_makes(void **state) {
  (void)state;
  compiler c = {0};
  tn_tune_result result = tune_with(&c);
  assert_int_equal(result.trials, 7);
  assert_int_equal(result.failed, 0);
  assert_true(c.n_built >= 6);
  assert_true(result.best_s > 0 && result.best_s <= result.default_s && result.finalists >= 2);
}

static void what_is_no_object_fails(void **state) {
  (void)state;
  compiler c = {.spoils = 3};
  tn_tune_result result = tune_with(&c);
  assert_int_equal(result.failed, 1);
  assert_int_equal(result.failures[TN_MEASURE_LOAD].n, 1);
}

int own_builder_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_run_what_it_makes),
      cmocka_unit_test(what_is_no_object_fails),
  };
  return CHECK_TESTS("a builder of one's own", tests);
}
