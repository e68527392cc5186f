/* What a log knows of programs like another one: which are neighbours, which is nearest, and that a search begins with them. */
#include <math.h>
#include <unistd.h>

#include "autotune/lesson.h"
#include "tests/search/search_test.h"

#define TARGET "triple=x86_64-linux-gnu cpu=znver4 threads=2"
#define OTHER "triple=x86_64-linux-gnu cpu=znver3 threads=2"

/* A line of a log: a product's best plan has PANELS tiles in a block. */
static void add_line(FILE *log, tn_context *ctx, const char *program, const char *target, const char *error,
                     bool checked, double cost_s, const char *family, int panels) {
  tn_program *p = tn_program_parse(ctx, program, 0, NULL);
  json_t *plan = json_pack(
      "[{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}]", "stage", "C",
      "family", family, "width", 64, "vectors", 2, "rows", 6, "rows2", 1, "pack", 1, "panels", panels, "block", 4,
      "order", 0, "inner", 1, "dot", 0, "lanes", 0, "prefetch", 0, "depth", 0, "threads", 0, "padding", 0, "parity", 0);
  json_t *line = json_pack("{s:i, s:s, s:s, s:s, s:[], s:[f], s:s, s:b, s:o}", "v", 1, "key", tn_program_key(p),
                           "program", tn_program_text(p), "target", target, "steps", "costs", cost_s, "error", error,
                           "checked", (int)checked, "plan", plan);
  assert_non_null(line);
  char *text = json_dumps(line, JSON_COMPACT);
  fprintf(log, "%s\n", text);
  free(text);
  json_decref(line);
}

typedef struct fixture {
  tn_context *ctx;
  tn_target *target;
  char log[64];
  FILE *file;
} fixture;

static fixture make(void) {
  fixture f = {.ctx = check_context(), .log = "/tmp/tenon-neighbours-XXXXXX"};
  int fd = mkstemp(f.log);
  assert_true(fd >= 0);
  f.file = fdopen(fd, "w");
  f.target = tn_target_new(f.ctx, TARGET);
  assert_non_null(f.target);
  return f;
}

static void drop(fixture *f) {
  unlink(f->log);
  check_context_free(f->ctx);
}

static int ask(fixture *f, const char *program, int max, autotune_neighbour *out) {
  int n = -1;
  if (f->file) fclose(f->file);
  f->file = NULL;
  assert_int_equal(autotune_neighbours(tn_program_parse(f->ctx, program, 0, NULL), f->target, f->log, max, 0, out, &n),
                   TN_OK);
  return n;
}

/* By sizes; another machine is farther away than the same sizes here, and nearer than sizes that have nothing in common. */
static void the_nearest_come_first(void **state) {
  (void)state;
  fixture f = make();
  autotune_neighbour near[4];
  add_line(f.file, f.ctx, MATMUL(1024, 1024, 1024), tn_target_text(f.target), "none", true, 1e-3, "tile", 1);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), tn_target_text(f.target), "none", true, 3e-5, "tile", 2);
  add_line(f.file, f.ctx, MATMUL(128, 128, 128), OTHER, "none", true, 5e-5, "tile", 3);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), tn_target_text(f.target), "none", true, 2e-5, "tile", 4);
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 3);
  assert_string_equal(near[0].sizes, "96x128x128");
  assert_non_null(strstr(near[0].plan, "\"panels\":4")); /* the faster one of two */
  assert_true(near[0].cost_s == 2e-5 && !near[0].is_other_machine);
  assert_string_equal(near[1].sizes, "128x128x128");
  assert_true(near[1].is_other_machine);
  assert_string_equal(near[2].sizes, "1024x1024x1024");
  autotune_neighbours_free(3, near);
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 1, near), 1);
  autotune_neighbours_free(1, near);
  drop(&f);
}

/* Rows are refused: other programs, the program itself, what failed or was not checked, sketches. */
static void others_are_no_neighbours(void **state) {
  (void)state;
  fixture f = make();
  autotune_neighbour near[4];
  add_line(f.file, f.ctx, "C[i<64, j<64] = max[k<64](A[i,k] * B[k,j])", tn_target_text(f.target), "none", true, 1e-5,
           "tile", 1);
  add_line(f.file, f.ctx, "C[i<64, j<64] = sum[k<64](A[i,k] * B2[k,j])", tn_target_text(f.target), "none", true, 1e-5,
           "tile", 1);
  add_line(f.file, f.ctx, MATMUL(128, 128, 128), tn_target_text(f.target), "none", true, 1e-5, "tile", 1);
  add_line(f.file, f.ctx, MATMUL(64, 128, 128), tn_target_text(f.target), "compile", false, 1e-5, "tile", 1);
  add_line(f.file, f.ctx, MATMUL(65, 128, 128), tn_target_text(f.target), "none", false, 1e-5, "tile", 1);
  add_line(f.file, f.ctx, MATMUL(66, 128, 128), tn_target_text(f.target), "none", true, 1e-5, "sketch", 1);
  fprintf(f.file, "no record\n{\"v\":1,\"key\":\n");
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 0);
  unlink(f.log);
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 0); /* no log */
  drop(&f);
}

/* A line that a glance does not understand, here by an escape in the key, is judged as others are: of these one failed, and both are of other programs. */
static void unusual_lines_are_no_exception(void **state) {
  (void)state;
  fixture f = make();
  autotune_neighbour near[4];
  add_line(f.file, f.ctx, MATMUL(64, 128, 128), tn_target_text(f.target), "none", true, 1e-5, "tile", 1);
  static const char unusual[] =
      "{\"v\":1,\"key\":\"\\u0030\",\"program\":\"B[i<8] = A[i]\",\"target\":\"" OTHER
      "\",\"steps\":[],\"costs\":[%s],\"error\":\"%s\",\"checked\":%s,\"plan\":[{\"family\":\"tile\"}]}\n";
  fprintf(f.file, unusual, "", "compile", "false");
  fprintf(f.file, unusual, "1e-9", "none", "true");
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 1);
  assert_string_equal(near[0].sizes, "64x128x128");
  autotune_neighbours_free(1, near);
  drop(&f);
}

/* A large log is looked up by its index, which is made; what was appended since counts, too. */
static void a_large_log_is_not_read_again(void **state) {
  (void)state;
  enum { LINES = 14000 };
  fixture f = make();
  autotune_neighbour near[4];
  char index[80];
  snprintf(index, sizeof index, "%s.index", f.log);
  add_line(f.file, f.ctx, MATMUL(64, 128, 128), tn_target_text(f.target), "none", true, 2e-5, "tile", 1);
  for (int i = 0; i < LINES; i++)
    add_line(f.file, f.ctx, "B[i<8] = A[i] + 1", tn_target_text(f.target), "none", true, 1e-5, "move", 1);
  add_line(f.file, f.ctx, MATMUL(64, 128, 128), tn_target_text(f.target), "none", true, 1e-5, "tile", 2);
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 1);
  assert_non_null(strstr(near[0].plan, "\"panels\":2"));
  autotune_neighbours_free(1, near);
  assert_int_equal(access(index, F_OK), 0);
  f.file = fopen(f.log, "a");
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), tn_target_text(f.target), "none", true, 1e-5, "tile", 3);
  assert_int_equal(ask(&f, MATMUL(128, 128, 128), 4, near), 2);
  assert_non_null(strstr(near[0].plan, "\"panels\":3"));
  autotune_neighbours_free(2, near);
  unlink(index);
  drop(&f);
}

/* The plan that is advised, its values the nearest that there are, is one of the two first, once; the default schedule is the last. */
static void a_search_begins_with_advice(void **state) {
  (void)state;
  fixture f = make();
  autotune_neighbour near[1];
  add_line(f.file, f.ctx, MATMUL(512, 512, 512), tn_target_text(f.target), "none", true, 1e-3, "tile", 1000);
  assert_int_equal(ask(&f, MATMUL(127, 96, 80), 1, near), 1);
  space_fixture s = space_make(MATMUL(127, 96, 80));
  autotune_search *search = autotune_search_new(s.task, s.model, 1);
  assert_false(autotune_search_is_advised(search));
  autotune_search_advise(search, near[0].plan);
  autotune_search_advise(search, near[0].plan);
  assert_true(autotune_search_is_advised(search));
  tn_schedule *first[4];
  int n_advised = 0;
  assert_int_equal(autotune_search_next(search, 4, first), 4);
  for (int i = 0; i < 2; i++) {
    const char *plan = schedule_plan_text(first[i]);
    assert_non_null(plan);
    n_advised += strstr(plan, "\"rows\":6") && strstr(plan, "\"panels\":6"); /* there are no more tiles of columns */
  }
  assert_int_equal(n_advised, 1);
  assert_int_equal(first[3]->n_steps, 0);
  for (int i = 0; i < 4; i++) tn_schedule_free(first[i]);
  autotune_search_free(search);
  space_free(&s);
  autotune_neighbours_free(1, near);
  drop(&f);
}

/* Advice that does not fit changes nothing. */
static void advice_may_be_refused(void **state) {
  const char *plan = *state;
  space_fixture s = space_make(MATMUL(127, 96, 80));
  autotune_search *with = autotune_search_new(s.task, s.model, 1), *without = autotune_search_new(s.task, s.model, 1);
  autotune_search_advise(with, plan);
  check_ok(s.ctx);
  tn_schedule *a[3], *b[3];
  assert_int_equal(autotune_search_next(with, 3, a), 3);
  assert_int_equal(autotune_search_next(without, 3, b), 3);
  for (int i = 0; i < 3; i++) {
    assert_true(autotune_schedule_hash(a[i]) == autotune_schedule_hash(b[i]));
    tn_schedule_free(a[i]), tn_schedule_free(b[i]);
  }
  autotune_search_free(with), autotune_search_free(without);
  space_free(&s);
}

/* ---- what their records teach --------------------------------------------------------------------------------------- */

enum { TAUGHT = 24, MOST_NEIGHBOURS = 3 };

/* Neighbours with records of their own space's plans. SLOWER: by how much more than its cost says a plan takes that has FIELD at other
 * than the value that `auto` has; of every other neighbour the inverse of it, if they are to CONTRADICT each other. */
typedef struct lesson_row {
  const char *name;
  int n_neighbours;
  double slower;
  bool contradict;
  double least, most; /* of the factor */
} lesson_row;

static const lesson_row lesson_rows[] = {
    {"neighbours that agree", 3, 1.5, false, 1.2, 1.6},
    {"neighbours that agree that it is quicker", 3, 0.6, false, 0.55, 0.85},
    {"one neighbour is half believed", 1, 1.5, false, 1.05, 1.35},
    {"costs that are right need no correction", 3, 1, false, 0.999, 1.001},
    {"neighbours that contradict each other", 2, 1.5, true, 0.9, 1.1},
    {"no neighbour", 0, 1.5, false, 1, 1},
};

/* Field PACK decides; all other fields as in `auto`. Whose plans do not go together is passed over by who learns. */
static autotune_neighbour teach(const char *text, double slower) {
  enum { ROWS = 2, PANELS = 5 };
  space_fixture s = space_make(text);
  assert_true(autotune_space_fill(s.space));
  autotune_neighbour near = {
      .distance = 1, .program = strdup(tn_program_text(s.task->program)), .target = strdup(TARGET)};
  near.trials = calloc(TAUGHT, sizeof *near.trials);
  assert_non_null(near.trials);
  schedule_plan plan[AUTOTUNE_MAX_GROUPS];
  const plan_choice *choice = &schedule_plans_choices(s.space->plans, 0)->choices[0];
  for (int r = 0; r < choice->space.n[ROWS]; r++)
    for (int p = 0; p < choice->space.n[PANELS] && near.n_trials < TAUGHT; p++) {
      autotune_genome_plans(s.space, &s.space->best, plan);
      int32_t usual = plan[0].value[PANELS];
      plan[0].value[ROWS] = choice->space.value[ROWS][r];
      plan[0].value[PANELS] = choice->space.value[PANELS][p];
      double ns = schedule_plans_cost(s.space->plans, plan);
      if (isinf(ns)) continue;
      near.trials[near.n_trials++] = (struct autotune_known){ns * 1e-9 * (plan[0].value[PANELS] == usual ? 1 : slower),
                                                             schedule_plans_text(s.space->plans, plan)};
    }
  near.plan = strdup(near.trials[0].plan);
  space_free(&s);
  return near;
}

static void lessons_correct_costs(void **state) {
  static const char *const texts[] = {MATMUL(256, 256, 256), MATMUL(384, 256, 256), MATMUL(320, 256, 320)};
  const lesson_row *row = *state;
  enum { PANELS = 5 };
  autotune_neighbour near[MOST_NEIGHBOURS];
  for (int i = 0; i < row->n_neighbours; i++)
    near[i] = teach(texts[i], row->contradict && i % 2 ? 1 / row->slower : row->slower);
  space_fixture s = space_make(MATMUL(384, 256, 320)); /* its best plan has the same blocks as theirs */
  assert_true(autotune_space_fill(s.space));
  assert_true(lessons_learn(s.space, row->n_neighbours, near));
  schedule_plan plan[AUTOTUNE_MAX_GROUPS];
  autotune_genome_plans(s.space, &s.space->best, plan);
  assert_true(lessons_factor(&s.space->lessons, s.space->plans, plan) == 1);
  const plan_choice *choice = &schedule_plans_choices(s.space->plans, 0)->choices[0];
  int32_t usual = plan[0].value[PANELS];
  for (int p = 0; p < choice->space.n[PANELS] && plan[0].value[PANELS] == usual; p++)
    plan[0].value[PANELS] = choice->space.value[PANELS][p];
  double factor = lessons_factor(&s.space->lessons, s.space->plans, plan);
  if (factor < row->least || factor > row->most) fail_msg("%s: a factor of %g", row->name, factor);
  s.space->lessons.is_off = true;
  assert_true(lessons_factor(&s.space->lessons, s.space->plans, plan) == 1);
  space_free(&s);
  autotune_neighbours_free(row->n_neighbours, near);
}

/* Of what cannot be used nothing is learned, and nothing is said. */
static void lessons_that_are_none(void **state) {
  static const char *const rows[][2] = {{"no program", NULL},
                                        {"C[i<8] = sum[k<8](A[i,k])\n", NULL},
                                        {NULL, "no JSON"},
                                        {NULL, "[]"},
                                        {NULL, "[{\"stage\":\"C\",\"family\":\"tile\"}]"},
                                        {NULL, "[{\"stage\":\"D\",\"family\":\"tile\"}]"}};
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    autotune_neighbour near = teach(MATMUL(256, 256, 256), 2);
    char **text = rows[i][0] ? &near.program : NULL;
    for (int k = 0; k < near.n_trials && rows[i][1]; k++) {
      free(near.trials[k].plan);
      near.trials[k].plan = strdup(rows[i][1]);
    }
    if (text) free(*text), *text = strdup(rows[i][0]);
    space_fixture s = space_make(MATMUL(128, 256, 256));
    assert_true(autotune_space_fill(s.space));
    assert_true(lessons_learn(s.space, 1, &near));
    if (s.space->lessons.part) fail_msg("something was learned of %s", rows[i][0] ? rows[i][0] : rows[i][1]);
    check_ok(s.ctx);
    space_free(&s);
    autotune_neighbours_free(1, &near);
  }
}

/* Trials come with the best record where they are asked for: finals, failures and sketches are none. */
static void trials_of_a_neighbour(void **state) {
  (void)state;
  fixture f = make();
  autotune_neighbour near[2];
  int n = -1;
  const char *here = tn_target_text(f.target);
  for (int i = 0; i < 5; i++)
    add_line(f.file, f.ctx, MATMUL(96, 128, 128), here, "none", true, 1e-5 * (5 - i), "tile", i + 1);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), here, "compile", false, 1e-6, "tile", 9);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), here, "none", false, 1e-6, "tile", 9);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), OTHER, "none", true, 1e-6, "tile", 9);
  add_line(f.file, f.ctx, MATMUL(96, 128, 128), here, "none", true, 1e-6, "sketch", 9);
  fclose(f.file);
  tn_program *program = tn_program_parse(f.ctx, MATMUL(128, 128, 128), 0, NULL);
  assert_int_equal(autotune_neighbours(program, f.target, f.log, 2, 3, near, &n), TN_OK);
  assert_int_equal(n, 2);
  assert_int_equal(near[0].n_trials, 3);
  assert_int_equal(near[1].n_trials, 1);
  for (int i = 0; i < 3; i++) assert_true(near[0].trials[i].cost_s == 1e-5 * (i + 1));
  assert_non_null(strstr(near[0].trials[0].plan, "\"panels\":5"));
  autotune_neighbours_free(2, near);
  f.file = NULL;
  drop(&f);
}

int run_neighbour_tests(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nearest_come_first),
      cmocka_unit_test(others_are_no_neighbours),
      cmocka_unit_test(unusual_lines_are_no_exception),
      cmocka_unit_test(a_large_log_is_not_read_again),
      cmocka_unit_test(a_search_begins_with_advice),
      cmocka_unit_test_prestate(advice_may_be_refused, "[{\"stage\":\"C\",\"family\":\"rows\"}]"),
      cmocka_unit_test_prestate(advice_may_be_refused, "[{\"stage\":\"D\",\"family\":\"tile\"}]"),
      cmocka_unit_test_prestate(advice_may_be_refused, "no JSON"),
      cmocka_unit_test(trials_of_a_neighbour),
      cmocka_unit_test(lessons_that_are_none)};
  return cmocka_run_group_tests_name("neighbours", tests, NULL, NULL) +
         CHECK_TABLE("lessons", lesson_rows, lessons_correct_costs);
}
