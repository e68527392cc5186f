/* A large program cut at the roots of its groups: the parts' programs, which of them are the same, and the whole program scheduled
 * by their records: right, and with the recorded steps. */
#include <math.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "schedule/tile.h"
#include "tests/search/search_test.h"

/* Two layers that differ in nothing but names, and the rows' greatest values. */
#define LAYERS                                                                                  \
  "input X: f32[24,32], U: f32[32,32] layout_free, V: f32[32,32] layout_free\n"                 \
  "P1[i<24, j<32] = sum[k<32](X[i,k] * U[k,j]); P2[i<24, j<32] = sum[k<32](P1[i,k] * V[k,j])\n" \
  "M[i<24] = max[j<32](P2[i,j])"

static tn_program *parse(tn_context *ctx, const char *text) {
  tn_program *p = tn_program_parse(ctx, text, 0, NULL);
  check_ok(ctx);
  return p;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static const struct part_row {
  const char *name, *program, *ops, *text;
} part_rows[] = {
    {"what is read besides is an input, what is read outside an output",
     "input X: f32[8], w: f32[8] layout_free\nA[i<8] = X[i]*w[i]; B[i<8] = A[i] + 1; C[i<8] = A[i] * B[i]; D[i<8] = "
     "B[i] + C[i]",
     "A B", "input I0: f32[8], I1: f32[8] layout_free\nT0[i<8] = I0[i]*I1[i]\nT1[i<8] = T0[i] + 1.0\noutput T0, T1\n"},
    {"an input of another part", "A[i<8] = X[i] * 2; C[i<8] = A[i] * X[i]", "C",
     "input I0: f32[8], I1: f32[8]\nT0[i<8] = I0[i]*I1[i]\n"},
    {"a scalar", "scalar s: f32; input X: f32[8]; A[i<8] = X[i] * s[]; C[i<8] = exp(A[i])", "A",
     "input I0: f32[8]\nscalar I1: f32\nT0[i<8] = I0[i]*I1\n"},
    {"a position without its value", "I[i<4] = argmax[k<8](A[i,k]); C[i<4] = I[i] + 1", "I",
     "input I0: f32[4, 8]\nT0[i<4] = argmax[k<8](I0[i, k])\n"},
    {"two values", "(S, D)[i<4] = (A[i] + B[i], A[i] - B[i]); C[i<4] = S[i] * D[i]", "S",
     "input I0: f32[4], I1: f32[4]\n(T0, T0_1)[i<4] = (I0[i] + I1[i], I0[i] - I1[i])\n"},
    {"a reduction inside an expression", "C[i<4] = sqrt(sum[k<8](A[i,k])); D[i<4] = C[i] + 1", "C.sum C",
     "input I0: f32[4, 8]\nT0[i<4] = sum[k<8](I0[i, k])\nT1[i<4] = sqrt(T0[i])\n"},
};

static void parts(void **state) {
  const struct part_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, row->program);
  bool is_in[16] = {false};
  te_part part;
  char names[64];
  snprintf(names, sizeof names, " %s ", row->ops);
  for (int i = 0; i < p->n_ops; i++) {
    char name[64];
    snprintf(name, sizeof name, " %s ", p->ops[i]->name);
    is_in[i] = strstr(names, name) != NULL;
  }
  assert_int_equal(te_cut(p, is_in, &part), TN_OK);
  check_text(tn_program_text(part.program), row->text);
  for (int i = 0; i < part.n_twins; i++) assert_int_equal(part.twins[i].whole->ndim, part.twins[i].part->ndim);
  check_context_free(ctx);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void equal_groups_are_one_task(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_cut cut;
  assert_int_equal(tn_program_cut(parse(ctx, LAYERS), NULL, &cut), TN_OK);
  assert_int_equal(cut.n, 2);
  assert_int_equal(cut.n_groups, 3);
  assert_int_equal(cut.tasks[0].count, 2);
  assert_int_equal(cut.tasks[1].count, 1);
  assert_int_equal(cut.tasks[0].n_used, 0);
  assert_string_equal(cut.tasks[0].name, "P1");
  assert_non_null(strstr(tn_program_text(cut.tasks[0].program), "I1: f32[32, 32] layout_free"));
  check_context_free(ctx);
}

static const struct refused_row {
  const char *name, *program, *message;
} refused_rows[] = {
    {"symbols", "symbol M\nC[i<M] = A[i] + 1",
     "cutting a program needs numbers for all extents, and the program has symbol M"},
    {"a scan", "state S: f32[4, 8]\nscan S[t<4, i<8] = select(t > 0, S[t-1, i], 0) + X[t,i]",
     "S is a scan, whose steps cannot be cut apart: tune the parts before and behind the scan as programs of their "
     "own"},
};

static void refused(void **state) {
  const struct refused_row *row = *state;
  tn_context *ctx = check_context();
  tn_cut cut;
  assert_int_equal(tn_program_cut(parse(ctx, row->program), NULL, &cut), TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, row->message);
  assert_int_equal(cut.n, 0);
  assert_null(tn_apply_cut(parse(ctx, row->program), NULL, "/dev/null", NULL));
  check_fails(ctx, TN_ERROR_PROGRAM, row->message);
  check_context_free(ctx);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void add_record(FILE *log, tn_program *p, const char *schedule) {
  tn_schedule *s = tn_schedule_new(p);
  assert_int_equal(tn_schedule_apply(s, schedule), TN_OK);
  char *steps = tn_schedule_print(s, TN_FORM_STEPS);
  json_t *line = json_pack("{s:i, s:s, s:s, s:s, s:o, s:[f], s:s, s:b}", "v", 1, "key", tn_program_key(p), "program",
                           tn_program_text(p), "target", tn_target_text(tn_target_new(p->ctx, NULL)), "steps",
                           json_loads(steps, 0, NULL), "costs", 1e-6, "error", "none", "checked", 1);
  char *text = json_dumps(line, JSON_COMPACT);
  fprintf(log, "%s\n", text);
  free(text);
  json_decref(line);
  free(steps);
  tn_schedule_free(s);
}

/* The largest difference from the evaluator, relative to 1. */
static double error_of(tn_program *p, const tn_schedule *s) {
  DLTensor *got[8], *want[8];
  double most = 0;
  for (int i = 0; i < p->n_args; i++) {
    got[i] = tn_array_new(p->ctx, TN_F32, p->args[i]->ndim, p->args[i]->shape);
    want[i] = tn_array_new(p->ctx, TN_F32, p->args[i]->ndim, p->args[i]->shape);
    tn_array_fill(p->ctx, got[i], (uint64_t)i);
    tn_array_fill(p->ctx, want[i], (uint64_t)i);
  }
  tn_kernel *kernel = tn_build(s, NULL);
  assert_int_equal(tn_call(p->ctx, kernel, got, p->n_args), TN_OK);
  assert_int_equal(tn_evaluate(p, want, p->n_args), TN_OK);
  const float *g = got[p->n_args - 1]->data, *w = want[p->n_args - 1]->data;
  for (int64_t k = 0; k < (int64_t)(tn_array_bytes(got[p->n_args - 1]) / sizeof *g); k++)
    most = fmax(most, fabs((double)(g[k] - w[k])));
  for (int i = 0; i < p->n_args; i++) tn_array_free(got[i]), tn_array_free(want[i]);
  tn_kernel_free(kernel);
  return most;
}

/* Schedules of the product's part, with the caches that give the whole program stages of its own. */
static const char *const product_rows[] = {
    "split(T0, j, 16); vectorize(T0, j.inner); parallel(T0, i)",
    "cache_write(T0, local); tile(T0, i, j, 4, 16); compute_at(T0.local, T0, j.outer); vectorize(T0.local, j.c); "
    "vectorize(T0, j.inner)",
    "cache_read(I1, global, T0); split(I1.global, ax1, 16); transform_layout(I1.global, [k, j] -> [j//16, k, j%16]); "
    "cache_read(I0, local, T0); compute_at(I0.local, T0, i); parallel(T0, i)",
    "split(T0, k, 8); rfactor(T0, k.inner, 0); compute_at(T0.rf, T0, i)",
};

static void records_of_groups(void **state) {
  const char *const *schedule = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, LAYERS);
  char path[] = "/tmp/tenon-cut-XXXXXX";
  int fd = mkstemp(path);
  FILE *log = fdopen(fd, "w");
  tn_cut cut;
  assert_int_equal(tn_program_cut(p, NULL, &cut), TN_OK);
  add_record(log, cut.tasks[0].program, *schedule);
  fclose(log);
  tn_schedule *s = tn_apply_cut(p, NULL, path, &cut);
  check_ok(ctx);
  assert_non_null(s);
  assert_int_equal(cut.tasks[0].n_used, 2);
  assert_true(cut.tasks[0].seconds == 1e-6);
  assert_int_equal(cut.tasks[1].n_used, 0);
  assert_true(error_of(p, s) < 1e-5);
  tn_schedule_free(s);
  unlink(path);
  check_context_free(ctx);
}

/* The steps of the record stand in the whole program's text, on stages of its names, for each layer. */
static void steps_of_the_record(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, LAYERS);
  char path[] = "/tmp/tenon-cut-XXXXXX";
  FILE *log = fdopen(mkstemp(path), "w");
  tn_cut cut;
  assert_int_equal(tn_program_cut(p, NULL, &cut), TN_OK);
  add_record(log, cut.tasks[0].program, product_rows[2]);
  fclose(log);
  tn_schedule *s = tn_apply_cut(p, NULL, path, NULL);
  char *text = tn_schedule_print(s, TN_FORM_TEXT);
  static const char *const wanted[] = {"cache_read(U, global, P1)",
                                       "cache_read(X, local, P1)",
                                       "transform_layout(U.global, [k, j] -> [j//16, k, j%16])",
                                       "compute_at(X.local, P1, i)",
                                       "cache_read(V, global, P2)",
                                       "cache_read(P1, local, P2)",
                                       "compute_at(P1.local, P2, i)"};
  for (int i = 0; i < RUNTIME_COUNT(wanted); i++)
    if (!strstr(text, wanted[i])) fail_msg("no %s in\n%s", wanted[i], text);
  char *steps = tn_schedule_print(s, TN_FORM_STEPS);
  tn_schedule *again = tn_schedule_new(p);
  assert_int_equal(tn_schedule_replay(again, steps), TN_OK);
  free(text);
  free(steps);
  unlink(path);
  check_context_free(ctx);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static bool has_prefetch(const tn_schedule *s) {
  for (int i = 0; i < s->n_steps; i++)
    if (s->steps[i].kind == SCHEDULE_STEP_PF) return true;
  return false;
}

/* What the tuner may record of a group: its ranked plans, and those of products with a prefetch besides. */
static int graft_ranked(tn_program *whole, const te_part *part, const tn_machine *machine, int *n_prefetching) {
  schedule_plans *plans = schedule_plans_new(part->program, machine);
  const schedule_plan *ranked;
  int n_done = 0, n = schedule_plans_count(plans) == 1 ? schedule_plans_ranked(plans, 0, &ranked) : 0;
  for (int i = 0; i < n; i++) {
    schedule_plan plan = ranked[i];
    for (int asks = 0; asks < 2; asks++) {
      if (asks && strcmp(schedule_family_at(plan.family)->name, "tile") != 0) break;
      if (asks) plan.value[TILE_PREFETCH] = 1;
      tn_schedule *steps = schedule_plans_realize(plans, &plan), *s = tn_schedule_new(whole);
      if (steps && schedule_graft(s, steps, part) != TN_OK)
        fail_msg("%s: %s", tn_context_message(whole->ctx), tn_schedule_print(steps, TN_FORM_TEXT));
      if (steps) ++n_done, *n_prefetching += has_prefetch(steps);
      tn_schedule_free(s);
      tn_schedule_free(steps);
    }
  }
  schedule_plans_free(plans);
  return n_done;
}

static const struct planned_row {
  const char *name, *program;
} planned_rows[] = {
    {"a layer of the encoder", NULL},
    {"two layers", LAYERS},
    {"far rows, and a bias",
     "input X: f32[8,32], U: f32[32,96] layout_free, b: f32[96]; P[i<8, j<96] = sum[k<32](X[i,k] * "
     "U[k,j]) + b[j]; S[i<8] = sum[j<96](P[i,j])"},
    {"a filter and a product",
     "A[i<40, j<48] = sum[r<3, s<3](X[i+r, j+s] * w[r,s]); C[i<40, j<64] = sum[k<48](A[i,k] * "
     "B[k,j]); T[j<64, i<40] = C[i,j]"},
};

/* One layer of the example, of few places and channels. */
static tn_program *encoder_layer(tn_context *ctx) {
  static const tn_param few[] = {{"L", 8}, {"H", 2}, {"D", 16}, {"F", 64}};
  char text[1 << 16];
  FILE *f = fopen(TENON_SOURCE_DIR "/examples/programs/encoder.te", "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  char *next = strstr(text, "# layer 2");
  assert_non_null(next);
  *next = 0;
  tn_program *p = tn_program_parse(ctx, text, RUNTIME_COUNT(few), few);
  check_ok(ctx);
  return p;
}

/* Nothing that a plan says of a group is refused in the whole program. */
static void plans_of_groups(void **state) {
  const struct planned_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = row->program ? parse(ctx, row->program) : encoder_layer(ctx);
  const tn_machine machine = tn_target_machine(tn_target_new(ctx, NULL));
  schedule_plans *plans = schedule_plans_new(p, &machine);
  int n_prefetching = 0;
  for (int g = 0; g < schedule_plans_count(plans); g++) {
    bool is_in[32] = {false};
    te_part part;
    assert_true(schedule_plans_ops(plans, g, is_in));
    assert_int_equal(te_cut(p, is_in, &part), TN_OK);
    assert_true(graft_ranked(p, &part, &machine, &n_prefetching) > 0);
  }
  assert_true(n_prefetching > 0);
  schedule_plans_free(plans);
  check_context_free(ctx);
}

static void no_record_of_any_group(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_apply_cut(parse(ctx, LAYERS), NULL, "/dev/null", NULL));
  check_fails(ctx, TN_ERROR_RECORD, "/dev/null holds no usable record of any of the ", " groups of the program");
  check_context_free(ctx);
}

/* What its part does not show: two groups read T, and the record of one of them computes T where the other cannot read it. */
static void a_schedule_that_does_not_fit(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(
      ctx, "T[i<16, j<16] = exp(X[i,j]); C[i<16, j<16] = sum[k<16](T[i,k] * B[k,j]); D[i<16] = sum[k<16](T[i,k])");
  bool is_in[16] = {false};
  te_part part;
  for (int i = 0; i < p->n_ops; i++) is_in[i] = strcmp(p->ops[i]->name, "T") == 0 || strcmp(p->ops[i]->name, "C") == 0;
  assert_int_equal(te_cut(p, is_in, &part), TN_OK);
  tn_schedule *steps = tn_schedule_new(part.program), *whole = tn_schedule_new(p);
  const te_twin *twin = NULL;
  for (int i = 0; i < part.n_twins; i++)
    if (strcmp(part.twins[i].whole->name, "C") == 0) twin = &part.twins[i];
  assert_int_equal(tn_split(steps, twin->part->name, "i", 4, TN_TAIL_GUARD), TN_OK);
  assert_int_equal(schedule_graft(whole, steps, &part), TN_OK);
  assert_int_equal(whole->n_steps, 1);
  assert_int_equal(tn_cache_write(steps, "T0", "local"), TN_OK);
  assert_int_equal(tn_compute_at(steps, "T0.local", "T0", "i"), TN_OK);
  tn_schedule *fresh = tn_schedule_new(p);
  part.n_twins = 1; /* the others' stages are not known */
  assert_int_not_equal(schedule_graft(fresh, steps, &part), TN_OK);
  check_fails(ctx, TN_ERROR_SCHEDULE, "a step of the part has no counterpart in the whole program");
  assert_int_equal(fresh->n_steps, 0);
  check_context_free(ctx);
}

int run_cut_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_groups_are_one_task), cmocka_unit_test(steps_of_the_record),
                                     cmocka_unit_test(no_record_of_any_group),
                                     cmocka_unit_test(a_schedule_that_does_not_fit)};
  return CHECK_TABLE("parts of a program", part_rows, parts) +
         CHECK_TABLE("what cannot be cut", refused_rows, refused) +
         CHECK_TABLE("records of groups", product_rows, records_of_groups) +
         CHECK_TABLE("plans of groups", planned_rows, plans_of_groups) +
         cmocka_run_group_tests_name("cutting", tests, NULL, NULL);
}
