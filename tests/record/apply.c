/* tn_apply_best: which record is chosen, and what is said when none is. */
#include <math.h>
#include <unistd.h>

#include "tests/record/fixture.h"

static const char split_i[] = "[[\"SP\",2,0,16,[4],1,\"guard\"]]", split_j[] = "[[\"SP\",2,1,32,[8],1,\"guard\"]]";
static const char stale[] = "[[\"SP\",2,0,999,[4],1,\"guard\"]]";

/* The steps of the best record as one line; NULL: none. */
static char *best_steps(fixture *f, double *seconds) {
  tn_schedule *s = tn_apply_best(f->program, f->target, f->log, seconds);
  if (!s) return NULL;
  char *text = tn_schedule_print(s, TN_FORM_STEPS);
  json_t *json = json_loads(text, 0, NULL);
  free(text);
  text = json_dumps(json, JSON_COMPACT);
  json_decref(json);
  tn_schedule_free(s);
  return text;
}

static void expect_best(fixture *f, const char *steps, double seconds) {
  double got = 0;
  char *text = best_steps(f, &got);
  check_text(text, steps);
  assert_true(got == seconds);
  free(text);
  check_ok(f->ctx);
}

static void expect_none(fixture *f, const char *message) {
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_fails(f->ctx, TN_ERROR_RECORD, tn_program_key(f->program), message);
}

static void the_fastest_is_chosen(void **state) {
  fixture *f = *state;
  append(f, split_i, 3, true);
  append(f, split_j, 1, true);
  append(f, "[]", 2, true);
  expect_best(f, split_j, 1);
}

static void a_record_without_steps_is_a_schedule(void **state) {
  fixture *f = *state;
  append(f, "[]", 2, true);
  expect_best(f, "[]", 2);
}

static void the_median_decides(void **state) {
  fixture *f = *state;
  append(f, split_i, 2, true);
  autotune_record r = make_record(f, split_j, 1, true);
  json_object_set_new(r.json, "costs", json_pack("[f,f,f]", 1.0, 3.0, 3.0));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &r), TN_OK);
  autotune_record_free(&r);
  expect_best(f, split_i, 2);
}

static void of_equal_ones_the_first(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, true);
  append(f, split_j, 1, true);
  expect_best(f, split_i, 1);
}

/* A finalist's record. */
static void append_final(fixture *f, const char *steps, double seconds, int rank) {
  autotune_record r = make_record(f, steps, seconds, true);
  json_object_set_new(r.json, "final", json_true());
  json_object_set_new(r.json, "rank", json_integer(rank));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &r), TN_OK);
  autotune_record_free(&r);
}

/* Of those that the finals timed only the winner counts, wherever its line stands; what came before is outweighed. */
static void the_winner_of_the_finals_is_best(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, true);
  append_final(f, split_j, 3, 1);
  append_final(f, split_i, 2, 2);
  expect_best(f, split_j, 3);
}

static void a_faster_one_after_the_finals_is_best(void **state) {
  fixture *f = *state;
  append_final(f, split_j, 3, 1);
  append(f, "[]", 4, true);
  append(f, split_i, 2, true);
  expect_best(f, split_i, 2);
}

static void behind_a_stale_one_the_next_fastest(void **state) {
  fixture *f = *state;
  append(f, split_i, 5, true);
  append(f, stale, 1, true);
  append(f, "[]", 4, true);
  append(f, split_j, 3, true);
  expect_best(f, split_j, 3);
}

static void an_unchecked_record_is_not_used(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, false);
  append(f, split_j, 2, true);
  expect_best(f, split_j, 2);
}

static void a_stale_record_is_reported_and_passed_over(void **state) {
  fixture *f = *state;
  append(f, stale, 1, true);
  append(f, split_j, 2, true);
  expect_best(f, split_j, 2);
  check_has(check_messages(f->ctx), "log.json:1: the record's steps do not fit the program: ");
  check_has_not(check_messages(f->ctx), "error: ");
}

static void a_broken_line_does_not_matter(void **state) {
  fixture *f = *state;
  append_text(f, "{\"v\":1,\n");
  append(f, split_j, 2, true);
  expect_best(f, split_j, 2);
  check_has(check_messages(f->ctx), "warning: ");
}

static void no_target_means_this_machine(void **state) {
  fixture *f = *state;
  f->target = tn_target_new(f->ctx, NULL);
  append(f, split_j, 2, true);
  f->target = NULL;
  expect_best(f, split_j, 2);
}

static void seconds_may_be_null(void **state) {
  fixture *f = *state;
  append(f, split_j, 2, true);
  assert_non_null(tn_apply_best(f->program, f->target, f->log, NULL));
}

/* ---- none -------------------------------------------------------------------------------------------------------- */

static void an_empty_log_has_none(void **state) {
  fixture *f = *state;
  append_text(f, "");
  expect_none(f, "0 records of 0 programs");
}

static void another_program(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, true);
  f->program = tn_program_parse(f->ctx, "B[i<8] = A[i] + 1", 0, NULL);
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_has_not(check_messages(f->ctx), "record not used");
  check_fails(f->ctx, TN_ERROR_RECORD,
              "1 record of 1 program, none of them this one"); /* a log may hold many programs */
}

/* A glance does not understand an escape, so that the line is read as a record: still of no concern. */
static void another_program_with_an_escape(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, true);
  char *text = log_text(f), *at = strstr(text, "\"none\"");
  assert_non_null(at);
  *at = '\0';
  assert_int_equal(truncate(f->log, 0), 0);
  append_text(f, text);
  append_text(f, "\"n\\u006fne\"");
  append_text(f, at + strlen("\"none\""));
  free(text);
  f->program = tn_program_parse(f->ctx, "B[i<8] = A[i] + 1", 0, NULL);
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_has_not(check_messages(f->ctx), "record not used");
  check_fails(f->ctx, TN_ERROR_RECORD, "1 record of 1 program, none of them this one");
}

static void another_target(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, true);
  f->target = tn_target_new(f->ctx, "threads=1");
  expect_none(f, "1 of this program for other targets (triple=");
}

static void says_for_which_target(void **state) {
  fixture *f = *state;
  append_text(f, "");
  expect_none(f, "threads=2: 0 records");
}

static void failures_only(void **state) {
  fixture *f = *state;
  append(f, split_i, INFINITY, false);
  append(f, split_j, INFINITY, false);
  expect_none(f, "2 records of 1 program; 2 of this program failed");
}

static void unchecked_only(void **state) {
  fixture *f = *state;
  append(f, split_i, 1, false);
  expect_none(f, "1 of this program without a checked output");
}

static void stale_only(void **state) {
  fixture *f = *state;
  append(f, stale, 1, true);
  expect_none(f, "1 of this program with steps that no longer apply");
}

/* A log is data from outside: steps are checked like a user's calls. */
static const struct hostile_row {
  const char *name, *steps;
} hostile[] = {
    {"an unknown step", "[[\"XX\", 1]]"},
    {"no such stage", "[[\"CI\", 77]]"},
    {"a negative stage", "[[\"CI\", -1]]"},
    {"a step that is no array", "[5]"},
    {"a factor of zero", "[[\"SP\", 2, 0, 16, [0], 1, \"guard\"]]"},
    {"an unknown tail", "[[\"SP\", 2, 0, 16, [4], 1, \"trim\"]]"},
    {"too few arguments", "[[\"SP\", 2]]"},
    {"a string for a number", "[[\"SP\", \"2\", 0, 16, [4], 1, \"guard\"]]"},
    {"parallel over a reduction", "[[\"AN\", 2, 2, 3]]"},
    {"an incomplete order", "[[\"RE\", 2, [0, 1]]]"},
    {"an axis twice", "[[\"RE\", 2, [0, 0, 1]]]"},
    {"the output inlined", "[[\"CI\", 2]]"},
    {"a pragma nobody knows", "[[\"PR\", 2, 0, \"go_faster$1\"]]"},
};

static void refuses_hostile_steps(void **state) {
  const struct hostile_row *row = *state;
  void *fixture_state;
  fixture_setup(&fixture_state);
  fixture *f = fixture_state;
  append(f, row->steps, 1, true);
  expect_none(f, "1 of this program with steps that no longer apply");
  fixture_teardown(&fixture_state);
}

static void a_forged_key_is_not_enough(void **state) {
  fixture *f = *state;
  autotune_record r = make_record(f, split_i, 1, true);
  json_object_set_new(r.json, "program", json_string("B[i<8] = A[i] + 1"));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &r), TN_OK);
  autotune_record_free(&r);
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_has(check_messages(f->ctx), "the key is this program's, the program text is not");
  check_message_has(f->ctx, "none of them this one");
}

static void a_missing_log(void **state) {
  fixture *f = *state;
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_fails(f->ctx, TN_ERROR_IO, "cannot open log", "No such file");
}

static void no_log_and_no_program(void **state) {
  fixture *f = *state;
  assert_null(tn_apply_best(NULL, f->target, f->log, NULL));
  assert_null(tn_apply_best(f->program, f->target, NULL, NULL));
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the log has no name");
}

int run_apply(void) {
  const struct CMUnitTest tests[] = {
      WITH_LOG(the_fastest_is_chosen),
      WITH_LOG(a_record_without_steps_is_a_schedule),
      WITH_LOG(the_median_decides),
      WITH_LOG(of_equal_ones_the_first),
      WITH_LOG(an_unchecked_record_is_not_used),
      WITH_LOG(the_winner_of_the_finals_is_best),
      WITH_LOG(a_faster_one_after_the_finals_is_best),
      WITH_LOG(behind_a_stale_one_the_next_fastest),
      WITH_LOG(a_stale_record_is_reported_and_passed_over),
      WITH_LOG(a_broken_line_does_not_matter),
      WITH_LOG(no_target_means_this_machine),
      WITH_LOG(seconds_may_be_null),
      WITH_LOG(an_empty_log_has_none),
      WITH_LOG(another_program),
      WITH_LOG(another_program_with_an_escape),
      WITH_LOG(another_target),
      WITH_LOG(says_for_which_target),
      WITH_LOG(failures_only),
      WITH_LOG(unchecked_only),
      WITH_LOG(stale_only),
      WITH_LOG(a_forged_key_is_not_enough),
      WITH_LOG(a_missing_log),
      WITH_LOG(no_log_and_no_program),
  };
  return CHECK_TESTS("apply best", tests) + CHECK_TABLE("steps from outside", hostile, refuses_hostile_steps);
}
