/* test_programs: the programs of examples/programs with small shapes, each under its default schedule, the generic one
 * for some machines and 50 random ones, against the reference evaluator (the fuzzer's pairs, tests/fuzz); reductions of
 * tuples against loops in C (tuples.c). */
#include <math.h>
#include <stdio.h>

#include "codegen/codegen.h"
#include "tests/common/check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/programs/tests.h"

enum { RANDOM_SCHEDULES = 50, MAX_DRAWS = 200, MACHINES = 6, MAX_PARAMS = 8, MAX_ARGS = 8 };

typedef struct shipped {
  const char *name, *params; /* "N=1 H=5" */
} shipped;

/* The ten operators of the Ansor paper, then ConvLayer, TBG, softmax, and the others that come along. */
static const shipped programs[] = {
    {"conv1d", "L=13 C=5 F=18"},
    {"conv2d", "H=11 C=3 F=18 K=3 P=1"},
    {"conv3d", "Z=5 H=6 C=2 F=9 K=3 P=1"},
    {"batch_matmul", "B=3 N=9 M=35 K=11"},
    {"grouped_conv2d", "H=7 C=8 F=16 G=4"},
    {"dilated_conv2d", "H=12 C=3 F=17 K=3 P=1"},
    {"depthwise_conv", "N=2 H=9 C=19"},
    {"conv2d_transpose", "H=3 C=5 F=18"},
    {"capsule_conv2d", "H=5 C=3 F=5 G=2"},
    {"l2_norm", "B=3 M=14 N=15"},
    {"conv2d_layer", "H=9 C=3 F=18 K=3 P=1"},
    {"transpose_batch_matmul", "B=2 L=9 H=3 D=7"},
    {"softmax", "N=6 D=75"},
    {"layer_norm", "N=5 D=70"},
    {"matmul", "N=19 M=41 K=23"},
    {"symbolic_matmul", "M=19 N=41 K=23"},
    {"matmul_add", "N=33"},
    {"row_sum", "M=9 N=130"},
    {"vector_add", "N=1003"},
    {"argmax", "N=21 K=43"},
    {"welford", "N=19 K=37"},
    {"cumsum", "T=9 N=37"},
    {"rnn", "T=5 B=3 D=7 N=11"},
};

/* "N=1 H=5" into PARAMS, whose names point into TEXT. */
static int read_params(char *text, tn_param *params) {
  int n = 0;
  for (char *word = strtok(text, " "); word && n < MAX_PARAMS; word = strtok(NULL, " ")) {
    char *equals = strchr(word, '=');
    *equals = '\0';
    params[n++] = (tn_param){word, strtoll(equals + 1, NULL, 10)};
  }
  return n;
}

static tn_program *load(tn_context *ctx, const shipped *row) {
  char path[512], text[128];
  tn_param params[MAX_PARAMS];
  snprintf(path, sizeof path, "%s/examples/programs/%s.te", TENON_SOURCE_DIR, row->name);
  snprintf(text, sizeof text, "%s", row->params);
  int n = read_params(text, params);
  char *source = runtime_read_file(ctx, path, NULL);
  tn_program *p = tn_program_parse(ctx, source, n, params);
  free(source);
  check_ok(ctx);
  return p;
}

/* ---- programs whose rounding the fuzzer has no bound for: square roots, exp, division by what was computed ------- */

static const char *compare_outputs(const tn_program *p, DLTensor *const *got, DLTensor *const *want) {
  for (int i = p->n_inputs; i < p->n_args; i++) {
    tn_dtype dtype = p->args[i]->dtype;
    int64_t n = (int64_t)(tn_array_bytes(got[i]) / tn_dtype_bytes(dtype));
    for (int64_t k = 0; k < n; k++) {
      double g = fuzz_element(got[i], dtype, k), w = fuzz_element(want[i], dtype, k);
      if (!(fabs(g - w) <= 1e-4 * (1 + fabs(w)))) return p->args[i]->name;
    }
  }
  return NULL;
}

static fuzz_status run_loosely(tn_program *p, tn_schedule *s, uint64_t seed, char *why, size_t n) {
  DLTensor *got[MAX_ARGS] = {NULL}, *want[MAX_ARGS] = {NULL};
  assert_true(p->n_args <= MAX_ARGS);
  for (int i = 0; i < p->n_args; i++) {
    const tn_tensor *t = p->args[i];
    got[i] = tn_array_new(p->ctx, t->dtype, t->ndim, t->shape);
    want[i] = tn_array_new(p->ctx, t->dtype, t->ndim, t->shape);
    if (i < p->n_inputs) tn_array_fill(p->ctx, got[i], seed + (uint64_t)i);
    if (i < p->n_inputs) memcpy(want[i]->data, got[i]->data, tn_array_bytes(got[i]));
    if (i >= p->n_inputs) memset(got[i]->data, 0xff, tn_array_bytes(got[i]));
  }
  tn_kernel *kernel = tn_build(s, NULL);
  tn_evaluate(p, want, p->n_args);
  tn_call(p->ctx, kernel, got, p->n_args);
  tn_kernel_free(kernel);
  check_ok(p->ctx);
  const char *wrong = compare_outputs(p, got, want);
  if (wrong) snprintf(why, n, "%s is wrong", wrong);
  for (int i = 0; i < p->n_args; i++) tn_array_free(got[i]), tn_array_free(want[i]);
  return wrong ? FUZZ_DIFFERS : FUZZ_AGREES;
}

static fuzz_status run_pair(tn_program *p, tn_schedule *s, uint64_t seed, char *why, size_t n) {
  fuzz_bound bounds[FUZZ_MAX_BOUNDS];
  if (fuzz_bounds(p, FUZZ_MAX_BOUNDS, bounds)) return fuzz_run_pair(p, s, seed, why, n);
  return run_loosely(p, s, seed, why, n);
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void compare(tn_program *p, tn_schedule *s, const char *schedule, uint64_t seed, int *n_run) {
  static char why[4096];
  fuzz_status status = run_pair(p, s, seed, why, sizeof why);
  if (status == FUZZ_DIFFERS) fail_msg("under `%s`: %s", schedule ? schedule : "", why);
  *n_run += status == FUZZ_AGREES;
}

static void right_under_default(void **state) {
  tn_context *ctx = check_context();
  tn_program *p = load(ctx, *state);
  int n_run = 0;
  compare(p, tn_schedule_new(p), "", 1, &n_run);
  assert_int_equal(n_run, 1);
  check_context_free(ctx);
}

static void right_under_auto(void **state) {
  tn_context *ctx = check_context();
  tn_program *p = load(ctx, *state);
  runtime_rng rng = {1};
  int n_run = 0;
  for (int i = 0; i < MACHINES; i++) {
    runtime_str text = {0};
    tn_schedule *s = tn_schedule_new(p);
    const char *why = fuzz_generic_schedule(&rng, s, &text);
    if (why) fail_msg("auto: %s", why);
    compare(p, s, text.data, (uint64_t)i, &n_run);
    runtime_str_free(&text);
    tn_schedule_free(s);
  }
  assert_int_equal(n_run, MACHINES);
  check_context_free(ctx);
}

/* Those that would compute too much are drawn again. */
static void right_under_random(void **state) {
  const shipped *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = load(ctx, row);
  runtime_rng rng = {runtime_hash(row->name, strlen(row->name), 1)};
  fuzz_counts counts = {0};
  int n_run = 0;
  for (int i = 0; n_run < RANDOM_SCHEDULES && i < MAX_DRAWS; i++) {
    runtime_str text = {0};
    tn_schedule *s = tn_schedule_new(p);
    const char *why = fuzz_draw_schedule(&rng, s, &text, &counts);
    if (why) fail_msg("drawing `%s`: %s", text.data ? text.data : "", why);
    compare(p, s, text.data, (uint64_t)i, &n_run);
    runtime_str_free(&text);
    tn_schedule_free(s);
  }
  assert_int_equal(n_run, RANDOM_SCHEDULES);
  check_context_free(ctx);
}

int main(void) {
  setenv("OMP_WAIT_POLICY", "passive", 0);
  return CHECK_TABLE("default schedules", programs, right_under_default) +
         CHECK_TABLE("generic schedules", programs, right_under_auto) +
         CHECK_TABLE("random schedules", programs, right_under_random) + test_tuples();
}
