/* Records as TVM's auto_scheduler writes them (v0.6), made up: a product of 128 x 128 x 128. */
#include <math.h>
#include <unistd.h>

#include "tests/record/fixture.h"

#define LINE(steps, costs, error, version)                                                                             \
  "{\"i\": [[\"[\\\"mm\\\", 128]\", \"llvm -keys=cpu -mcpu=haswell -num-cores=4\", [4, 64, 64, 0, 0, 0, 0, 0], \"\", " \
  "1, []], [[], [" steps "]]], \"r\": [[" costs "], " error ", 0.41, 1700000000], \"v\": \"" version "\"}\n"
#define GOOD(steps) LINE(steps, "0.00012", "0", "v0.6")

/* A tile in registers inside the copy of it: what follows an earlier split has its lengths. */
#define TILED                                                                                                     \
  "[\"CHW\", 2, \"local\"], [\"SP\", 2, 0, 128, [2, 1, 8], 1], [\"SP\", 2, 4, 128, [1, 1, 16], 1], "              \
  "[\"SP\", 2, 8, 128, [4], 1], [\"RE\", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], [\"FSP\", 3, 0, 1, 1], "             \
  "[\"FSP\", 3, 2, 2, 1], [\"RE\", 3, [0, 2, 1, 3]], [\"CA\", 2, 3, 1], [\"FU\", 3, [0, 1]], [\"AN\", 3, 0, 3], " \
  "[\"PR\", 2, 0, \"auto_unroll_max_step$64\"], [\"AN\", 2, 9, 2], [\"AN\", 3, 2, 2]"

static tn_status import_for(fixture *f, const char *program, const char *text, tn_log_sum *sum) {
  char file[112];
  snprintf(file, sizeof file, "%s/tvm.json", f->folder);
  FILE *out = fopen(file, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  f->program = tn_program_parse(f->ctx, program, 0, NULL);
  tn_status status = tn_log_import_tvm(f->program, file, f->log, sum);
  unlink(file);
  return status;
}

static tn_status import(fixture *f, const char *text, tn_log_sum *sum) {
  return import_for(f, "C[i<128, j<128] = sum[k<128](A[i,k] * B[k,j])", text, sum);
}

/* The primitives of the log's only record, applied anew. */
static char *schedule_text(fixture *f) {
  tn_log_table table;
  assert_int_equal(tn_log_select(f->ctx, f->log, NULL, TN_LOG_BY_LINE, 0, &table), TN_OK);
  assert_int_equal(table.n_rows, 1);
  tn_schedule *s = tn_schedule_new(f->program);
  assert_int_equal(tn_schedule_replay(s, table.rows[0].steps), TN_OK);
  char *text = tn_schedule_print(s, TN_FORM_TEXT);
  tn_schedule_free(s);
  tn_log_table_free(&table);
  assert_non_null(text);
  return text;
}

static void steps_become_ours(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  assert_int_equal(import(f, "# a comment\n\n" GOOD(TILED), &sum), TN_OK);
  assert_true(sum.kept == 1 && sum.n_wrong == 0);
  char *text = schedule_text(f);
  assert_non_null(strstr(text, "split(C.local, i.c, 2, 1, 8)"));
  assert_non_null(strstr(text, "split(C, i, 16)"));
  assert_non_null(strstr(text, "compute_at(C.local, C, j.outer)"));
  check_has(text, "auto_unroll_max_step, 16"); /* of 64, whose iterations are lanes, or a few */
  free(text);
}

/* An innermost loop along which neighbours are written is LLVM's vectorizer's in TVM: a step says so here. */
static void loops_left_to_llvm_are_vectorized(void **state) {
  static const struct {
    const char *steps, *vectorized;
  } rows[] = {{GOOD("[\"RE\", 2, [0, 2, 1]]"), "vectorize(C, j)"},
              {GOOD("[\"SP\", 2, 1, 128, [32], 1], [\"RE\", 2, [0, 1, 3, 2]]"), "vectorize(C, j.inner)"},
              {GOOD("[\"RE\", 2, [1, 2, 0]]"), NULL},                     /* rows of the result */
              {GOOD("[\"RE\", 2, [0, 1, 2]]"), NULL},                     /* a reduction */
              {GOOD("[\"RE\", 2, [0, 2, 1]], [\"AN\", 2, 2, 1]"), NULL}}; /* unrolled in TVM */
  for (int i = 0; i < RUNTIME_COUNT(rows); ++i) {
    fixture *f = *state;
    unlink(f->log);
    assert_int_equal(import(f, rows[i].steps, NULL), TN_OK);
    char *text = schedule_text(f);
    if (rows[i].vectorized)
      assert_non_null(strstr(text, rows[i].vectorized));
    else
      assert_null(strstr(text, "vectorize"));
    free(text);
  }
}

/* TVM counts iterations that are lanes here: a limit of 512 is one of 4 times 128. */
static void lanes_are_no_iterations(void **state) {
  fixture *f = *state;
  static const char *const rows[][2] = {{"512", "auto_unroll_max_step, 16)"},
                                        {"4096", "auto_unroll_max_step, 32)"},
                                        {"8", "auto_unroll_max_step, 8)"},
                                        {"0", "auto_unroll_max_step, 0)"}};
  for (int i = 0; i < RUNTIME_COUNT(rows); ++i) {
    char line[512], steps[128];
    snprintf(steps, sizeof steps, "[\"RE\", 2, [0, 2, 1]], [\"PR\", 2, 0, \"auto_unroll_max_step$%s\"]", rows[i][0]);
    snprintf(line, sizeof line, GOOD("%s"), steps);
    unlink(f->log);
    assert_int_equal(import(f, line, NULL), TN_OK);
    char *text = schedule_text(f);
    check_has(text, rows[i][1]);
    free(text);
  }
}

/* The times are TVM's: kept, but nobody takes them for this machine's. */
static void times_are_kept_and_not_applied(void **state) {
  fixture *f = *state;
  tn_log_table table;
  assert_int_equal(import(f, GOOD(TILED), NULL), TN_OK);
  assert_int_equal(tn_log_top(f->ctx, f->log, NULL, 0, &table), TN_OK);
  assert_true(table.n_rows == 1 && table.rows[0].cost_s == 0.00012 && !table.rows[0].checked);
  assert_string_equal(table.rows[0].target, "cpu=haswell threads=4");
  assert_true(table.rows[0].time_s == 1700000000);
  tn_log_table_free(&table);
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_fails(f->ctx, TN_ERROR_RECORD, "holds no usable record", "for other targets");
}

static void a_split_like_several(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  const char *fused =
      GOOD("[\"SP\", 2, 0, 128, [4, 2], 1], [\"SP\", 2, 3, 128, [8, 1], 1], [\"FFSP\", 2, 6, [0, 1], 0, 1]");
  assert_int_equal(import(f, fused, &sum), TN_OK);
  assert_int_equal(sum.kept, 1);
  char *text = schedule_text(f);
  assert_non_null(strstr(text, "split(C, k, 32)"));
  free(text);
}

static void a_fusion_of_one_loop_is_nothing(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  assert_int_equal(import(f, GOOD("[\"FU\", 2, [0]], [\"AN\", 2, 0, 3]"), &sum), TN_OK);
  assert_int_equal(sum.kept, 1);
}

static void failures_are_imported(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  assert_int_equal(import(f, LINE("[\"AN\", 2, 0, 3]", "1e10", "4", "v0.5"), &sum), TN_OK);
  assert_int_equal(sum.errors[TN_MEASURE_RUNTIME], 1);
}

static const struct refused_row {
  const char *name, *line, *why;
} refused[] = {
    {"no JSON", "{\"i\": [\n", "no record of TVM's auto_scheduler"},
    {"a record of ours", "{\"v\":1,\"key\":\"k\"}\n", "no record of TVM's auto_scheduler"},
    {"a newer version", LINE("[\"AN\", 2, 0, 3]", "1", "0", "v0.7"), "v0.2 to v0.6"},
    {"an error that is none", LINE("[\"AN\", 2, 0, 3]", "1", "12", "v0.6"), "no record of TVM's"},
    {"an unknown step", GOOD("[\"AN\", 2, 0, 3], [\"XX\", 2]"), "step 1, [\"XX\",2], has no counterpart"},
    {"a step that follows none", GOOD("[\"FSP\", 2, 0, 7, 1]"), "step 0, [\"FSP\",2,0,7,1], has no counterpart"},
    {"a step that follows too far", GOOD("[\"SP\", 2, 0, 128, [4], 1], [\"FSP\", 2, 2, 0, 2]"), "step 1"},
    {"another extent", GOOD("[\"SP\", 2, 0, 64, [4], 1]"), "the steps do not fit the program"},
    {"a stage that is not there", GOOD("[\"AN\", 9, 0, 3]"), "the steps do not fit the program"},
    {"a race", GOOD("[\"AN\", 2, 2, 3]"), "the steps do not fit the program"},
    {"a cost that is none", LINE("[\"AN\", 2, 0, 3]", "-1", "0", "v0.6"), "no positive number of seconds"},
    {"no cost", LINE("[\"AN\", 2, 0, 3]", "", "0", "v0.6"), "\"costs\" is empty"},
};

static void refuses(void **state) {
  const struct refused_row *row = *state;
  void *made;
  assert_int_equal(fixture_setup(&made), 0);
  fixture *f = made;
  tn_log_sum sum;
  assert_int_equal(import(f, row->line, &sum), TN_OK);
  assert_true(sum.kept == 0 && sum.n_wrong == 1);
  check_has(check_messages(f->ctx), "tvm.json:1: ");
  check_has(check_messages(f->ctx), row->why);
  check_ok(f->ctx);
  fixture_teardown(&made);
}

static void what_cannot_be_read_or_written(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_log_import_tvm(f->program, "/nowhere/tvm.json", f->log, NULL), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "/nowhere/tvm.json", "No such file");
  assert_int_equal(tn_log_import_tvm(f->program, NULL, f->log, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_log_import_tvm", "NULL");
  assert_int_equal(tn_log_import_tvm(NULL, f->log, f->log, NULL), TN_ERROR_ARGUMENT);
}

/* ---- the way back ------------------------------------------------------------------------------------------------- */

/* Of logs that TVM v0.19 wrote, with the programs that they belong to. */
static const struct written {
  const char *name, *program;
} written[] = {
    {"gmm", "Z[b<1,i<512,j<512] = sum[k<512](X[b,i,k] * Y[b,k,j])"},
    {"matmul_add", "M[i<1024,j<1024] = sum[k<1024](A[i,k] * B[k,j]); O[i<1024,j<1024] = M[i,j] + D[i,j]"},
    {"c2d",
     "input I: f32[1,14,14,256]; P[n<1,h<16,w<16,c<256] = select(h >= 1 && h < 15 && w >= 1 && w < 15, "
     "I[n,h-1,w-1,c], 0); O[n<1,h<14,w<14,f<256] = sum[r<3,s<3,c<256](P[n,h+r,w+s,c] * W[r,s,c,f])"},
    {"softmax",
     "M[i<1024] = max[k<1024](A[i,k]); E[i<1024,j<1024] = exp(A[i,j] - M[i]); "
     "S[i<1024] = sum[k<1024](E[i,k]); Y[i<1024,j<1024] = E[i,j] / S[i]"},
};

enum { MOST_LINES = 16 };

/* The lines of a file; returns how many. Each is to be given back. */
static int load_lines(const char *path, json_t *out[MOST_LINES]) {
  char line[8192];
  int n = 0;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    assert_true(n < MOST_LINES);
    out[n] = json_loads(line, 0, NULL);
    assert_non_null(out[n++]);
  }
  fclose(file);
  return n;
}

/* Lists and objects of the same lengths, names and kinds; numbers and texts may differ. */
static void assert_alike(const json_t *a, const json_t *b) {
  const char *name;
  json_t *value;
  assert_int_equal(json_typeof(a), json_typeof(b));
  assert_int_equal(json_array_size(a), json_array_size(b));
  assert_int_equal(json_object_size(a), json_object_size(b));
  for (size_t i = 0; i < json_array_size(a); ++i) assert_alike(json_array_get(a, i), json_array_get(b, i));
  json_object_foreach((json_t *)a, name, value) assert_alike(value, json_object_get(b, name));
}

static bool is_named(const json_t *step, const char *name) {
  return strcmp(json_string_value(json_array_get(step, 0)), name) == 0;
}

/* Each step is as it was; one that follows another is a split now. */
static void assert_same_steps(const json_t *theirs, const json_t *ours) {
  assert_int_equal(json_array_size(theirs), json_array_size(ours));
  for (size_t i = 0; i < json_array_size(ours); ++i) {
    json_t *was = json_array_get(theirs, i), *is = json_array_get(ours, i);
    if (!is_named(was, "FSP")) {
      assert_true(json_equal(was, is));
      continue;
    }
    assert_true(is_named(is, "SP") && json_array_size(is) == 6);
    assert_true(json_equal(json_array_get(was, 1), json_array_get(is, 1)));
    assert_true(json_equal(json_array_get(was, 2), json_array_get(is, 2)));
    assert_true(json_is_integer(json_array_get(is, 3)) && json_integer_value(json_array_get(is, 3)) > 0);
    assert_int_equal(json_array_size(json_array_get(is, 4)), json_integer_value(json_array_get(was, 4)));
    assert_int_equal(json_integer_value(json_array_get(is, 5)), 1);
  }
}

/* Task, result and version as TVM wrote them, of every line. */
static void assert_same_line(const json_t *theirs, const json_t *ours) {
  json_t *i = json_object_get(theirs, "i"), *j = json_object_get(ours, "i");
  assert_int_equal(json_object_size(ours), 3);
  assert_true(json_equal(json_array_get(i, 0), json_array_get(j, 0)));
  assert_int_equal(json_array_size(json_array_get(j, 1)), 2);
  assert_int_equal(json_array_size(json_array_get(json_array_get(j, 1), 0)), 0);
  assert_same_steps(json_array_get(json_array_get(i, 1), 1), json_array_get(json_array_get(j, 1), 1));
  assert_true(json_equal(json_object_get(theirs, "r"), json_object_get(ours, "r")));
  assert_true(json_equal(json_object_get(theirs, "v"), json_object_get(ours, "v")));
}

/* The steps of all records of a log, line for line. */
static char *all_steps(fixture *f, const char *log) {
  tn_log_table table;
  runtime_str out = {0};
  assert_int_equal(tn_log_select(f->ctx, log, NULL, TN_LOG_BY_LINE, 0, &table), TN_OK);
  for (int i = 0; i < table.n_rows; ++i) runtime_str_addf(&out, "%s\n", table.rows[i].steps);
  tn_log_table_free(&table);
  assert_non_null(out.data);
  return out.data;
}

/* In, out, and in again. */
static void tvm_reads_what_it_wrote(void **state) {
  const struct written *row = *state;
  void *made;
  assert_int_equal(fixture_setup(&made), 0);
  fixture *f = made;
  char from[256], file[112], second[112];
  json_t *theirs[MOST_LINES], *ours[MOST_LINES];
  tn_log_sum sum;
  snprintf(from, sizeof from, "%s/tests/record/tvm/%s.json", TENON_SOURCE_DIR, row->name);
  snprintf(file, sizeof file, "%s/tvm.json", f->folder);
  snprintf(second, sizeof second, "%s/second.json", f->folder);
  f->program = tn_program_parse(f->ctx, row->program, 0, NULL);
  assert_int_equal(tn_log_import_tvm(f->program, from, f->log, &sum), TN_OK);
  assert_true(sum.kept > 0 && sum.n_wrong == 0);
  int64_t kept = sum.kept;
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, NULL, file, &sum), TN_OK);
  assert_true(sum.kept == kept && sum.n_wrong == 0);
  int n = load_lines(from, theirs);
  assert_int_equal(load_lines(file, ours), n);
  for (int i = 0; i < n; ++i) {
    assert_same_line(theirs[i], ours[i]);
    json_decref(theirs[i]), json_decref(ours[i]);
  }
  assert_int_equal(tn_log_import_tvm(f->program, file, second, &sum), TN_OK);
  char *first_steps = all_steps(f, f->log), *second_steps = all_steps(f, second);
  assert_string_equal(first_steps, second_steps);
  free(first_steps), free(second_steps);
  unlink(file), unlink(second);
  fixture_teardown(&made);
}

/* LLVM takes what a loop does not change out of it: M[i] is computed for each i, not for each j. */
static void computations_leave_loops(void **state) {
  fixture *f = *state;
  static const char *const rows[][2] = {
      {"[\"CA\", 2, 3, 1]", "compute_at(M, E, i); vectorize(M"}, /* the same for each j */
      {"[\"CA\", 2, 3, 0]", "compute_at(M, E, i); vectorize(M"}, /* as it is */
      {"[\"SP\", 3, 0, 64, [8], 1], [\"CA\", 2, 3, 2]", "compute_at(M, E, i.inner); "},
      {"[\"SP\", 3, 1, 128, [8], 1], [\"CA\", 2, 3, 2]", "compute_at(M, E, i); "},
      {"[\"RE\", 3, [1, 0, 2]], [\"CA\", 2, 3, 1]", "compute_at(M, E, i); "}}; /* another element in each iteration */
  static const char program[] = "M[i<64, c<16] = A[i,c] * 2; E[i<64, j<128] = sum[c<16](X[c,j] * M[i,c])";
  for (int i = 0; i < RUNTIME_COUNT(rows); ++i) {
    char line[512];
    tn_log_sum sum;
    unlink(f->log);
    snprintf(line, sizeof line, LINE("%s", "0.00012", "0", "v0.6"), rows[i][0]);
    assert_int_equal(import_for(f, program, line, &sum), TN_OK);
    assert_int_equal(sum.n_wrong, 0);
    char *text = schedule_text(f);
    check_has(text, rows[i][1]);
    free(text);
  }
}

/* Exports the log's records; the lines of the file, of which there are N. */
static void export(fixture *f, const char *workload, int n, json_t *out[MOST_LINES]) {
  char file[112];
  snprintf(file, sizeof file, "%s/tvm.json", f->folder);
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, workload, file, NULL), TN_OK);
  assert_int_equal(load_lines(file, out), n);
  unlink(file);
}

/* A record of our own has the shape of TVM's, field by field, and a task made of the program's key. */
static void our_records_have_their_shape(void **state) {
  fixture *f = *state;
  char from[256], key[64];
  json_t *theirs[MOST_LINES], *ours[MOST_LINES];
  snprintf(from, sizeof from, "%s/tests/record/tvm/gmm.json", TENON_SOURCE_DIR);
  append(f, "[[\"SP\",2,0,16,[4],1,\"peel\"],[\"AN\",2,0,3]]", 0.5, true);
  append(f, NULL, INFINITY, false);
  int n = load_lines(from, theirs);
  export(f, NULL, 2, ours);
  json_t *i = json_object_get(ours[0], "i"), *their_i = json_object_get(theirs[0], "i");
  assert_alike(json_array_get(their_i, 0), json_array_get(i, 0));
  assert_alike(json_object_get(theirs[0], "r"), json_object_get(ours[0], "r"));
  json_t *steps = json_loads("[[\"SP\", 2, 0, 16, [4], 1], [\"AN\", 2, 0, 3]]", 0, NULL);
  assert_true(json_equal(json_array_get(json_array_get(i, 1), 1), steps)); /* it divides: no tail */
  snprintf(key, sizeof key, "[\"tenon\", \"%s\"]", tn_program_key(f->program));
  assert_string_equal(json_string_value(json_array_get(json_array_get(i, 0), 0)), key);
  json_t *failed = json_object_get(ours[1], "r");
  assert_true(json_real_value(json_array_get(json_array_get(failed, 0), 0)) == 1e10);
  assert_int_equal(json_integer_value(json_array_get(failed, 1)), TN_MEASURE_COMPILE);
  for (int k = 0; k < n; ++k) json_decref(theirs[k]);
  json_decref(ours[0]), json_decref(ours[1]), json_decref(steps);
  export(f, "[\"mm\", 16]", 2, ours);
  i = json_object_get(ours[0], "i");
  assert_string_equal(json_string_value(json_array_get(json_array_get(i, 0), 0)), "[\"mm\", 16]");
  json_decref(ours[0]), json_decref(ours[1]);
}

static const struct unsaid_row {
  const char *name, *steps, *why;
} unsaid[] = {
    {"a tail", "[[\"SP\",2,0,16,[5],1,\"peel\"]]", "step 0, [\"SP\",2,0,16,[5],1,\"peel\"], cannot be said to TVM"},
    {"a scope", "[[\"CHW\",2,\"local\"],[\"SS\",2,\"global\"]]", "auto_scheduler has no such step"},
    {"a layout", "[[\"AN\",2,0,3],[\"CHR\",1,\"global\",[2]],[\"TL\",2,\"[i, j] -> [j, i]\"]]", "step 2, [\"TL\""},
    {"a pragma", "[[\"PR\",2,0,\"unroll_explicit$0\"]]", "auto_unroll_max_step only"},
    {"an rfactor that is far from its split",
     "[[\"SP\",2,2,8,[4],1,\"guard\"],[\"CHR\",0,\"local\",[2]],[\"RF\",3,2,2]]",
     "needs the split of the same stage just before it"},
    {"steps that are refused", "[[\"AN\",2,2,3]]", "the steps are refused"},
};

/* The record before it goes over all the same. */
static void is_unsaid(void **state) {
  const struct unsaid_row *row = *state;
  void *made;
  assert_int_equal(fixture_setup(&made), 0);
  fixture *f = made;
  json_t *ours[MOST_LINES];
  append(f, "[[\"AN\",2,0,3]]", 0.5, true);
  append(f, row->steps, 0.25, true);
  export(f, NULL, 1, ours);
  json_decref(ours[0]);
  check_has(check_messages(f->ctx), ".json:2: ");
  check_has(check_messages(f->ctx), row->why);
  check_ok(f->ctx);
  fixture_teardown(&made);
}

static void what_is_no_export(void **state) {
  fixture *f = *state;
  char file[112];
  const tn_log_filter filter = {.error = "speed"};
  tn_log_sum sum;
  snprintf(file, sizeof file, "%s/tvm.json", f->folder);
  append(f, "[[\"SP\",2,0,16,[5],1,\"peel\"]]", 0.5, true);
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, "mm", file, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "'mm' is no workload key", "[\"matmul\", 128, 128, 128]");
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, "[7]", file, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "begins with a text");
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, &filter, NULL, file, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "no class of failure 'speed'");
  assert_int_equal(tn_log_export_tvm(f->ctx, NULL, NULL, NULL, file, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_log_export_tvm", "NULL");
  tn_context_clear(f->ctx);
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, NULL, "/nowhere/tvm.json", NULL), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "/nowhere/tvm.json");
  tn_context_clear(f->ctx);
  assert_int_equal(tn_log_export_tvm(f->ctx, f->log, NULL, NULL, file, &sum), TN_OK);
  assert_true(sum.kept == 0 && sum.n_wrong == 1 && sum.records == 1);
  assert_int_not_equal(access(file, F_OK), 0); /* without a record there is no file */
}

int run_tvm(void) {
  const struct CMUnitTest tests[] = {
      WITH_LOG(steps_become_ours),
      WITH_LOG(loops_left_to_llvm_are_vectorized),
      WITH_LOG(lanes_are_no_iterations),
      WITH_LOG(computations_leave_loops),
      WITH_LOG(times_are_kept_and_not_applied),
      WITH_LOG(a_split_like_several),
      WITH_LOG(a_fusion_of_one_loop_is_nothing),
      WITH_LOG(failures_are_imported),
      WITH_LOG(what_cannot_be_read_or_written),
      WITH_LOG(our_records_have_their_shape),
      WITH_LOG(what_is_no_export),
  };
  return CHECK_TESTS("records of TVM", tests) + CHECK_TABLE("lines of TVM that are refused", refused, refuses) +
         CHECK_TABLE("logs of TVM, in and out", written, tvm_reads_what_it_wrote) +
         CHECK_TABLE("steps that TVM does not have", unsaid, is_unsaid);
}
