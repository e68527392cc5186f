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

static tn_status import(fixture *f, const char *text, tn_log_sum *sum) {
  char file[112];
  snprintf(file, sizeof file, "%s/tvm.json", f->folder);
  FILE *out = fopen(file, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  f->program = tn_program_parse(f->ctx, "C[i<128, j<128] = sum[k<128](A[i,k] * B[k,j])", 0, NULL);
  tn_status status = tn_log_import_tvm(f->program, file, f->log, sum);
  unlink(file);
  return status;
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
  assert_non_null(strstr(text, "auto_unroll_max_step, 64"));
  free(text);
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

int run_tvm(void) {
  const struct CMUnitTest tests[] = {
      WITH_LOG(steps_become_ours),     WITH_LOG(times_are_kept_and_not_applied),
      WITH_LOG(a_split_like_several),  WITH_LOG(a_fusion_of_one_loop_is_nothing),
      WITH_LOG(failures_are_imported), WITH_LOG(what_cannot_be_read_or_written),
  };
  return CHECK_TESTS("records of TVM", tests) + CHECK_TABLE("lines of TVM that are refused", refused, refuses);
}
