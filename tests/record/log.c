/* Logs as files: whole lines whatever happens, what a reader skips, tables. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/fixture.h"

/* ---- appending and reading --------------------------------------------------------------------------------------- */

static void round_trip(void **state) {
  fixture *f = *state;
  append(f, NULL, 1.2345e-5, true);
  append(f, NULL, INFINITY, false);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 2);
  assert_true(f->costs[0] == 1.2345e-5);
  assert_true(isinf(f->costs[1]));
  assert_int_equal(f->lines[1], 2);
  assert_string_equal(check_messages(f->ctx), "");
}

static void numbers_are_short(void **state) {
  fixture *f = *state;
  append(f, NULL, 1.2345e-5, true);
  char *text = log_text(f);
  check_has(text, "\"costs\":[1.2345e-5]");
  check_has(text, "\"build_s\":0.5,");
  free(text);
}

static void one_line_a_record(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 3; ++i) append(f, NULL, 1, true);
  char *text = log_text(f);
  int lines = 0;
  for (const char *at = text; *at; ++at) lines += *at == '\n';
  assert_int_equal(lines, 3);
  assert_int_equal(text[strlen(text) - 1], '\n');
  free(text);
}

static void a_torn_line_is_skipped_and_closed(void **state) {
  fixture *f = *state;
  append(f, NULL, 1, true);
  append_text(f, "{\"v\":1,\"program\":\"C[i<1");
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 1);
  check_has(check_messages(f->ctx), "log.json:2: the last line was cut short");
  append(f, NULL, 2, true);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 2);
  assert_int_equal(f->lines[1], 3);
  check_has(check_messages(f->ctx), "log.json:2: no whole JSON object");
}

static void a_whole_line_without_newline_counts(void **state) {
  fixture *f = *state;
  append(f, NULL, 1, true);
  struct stat status;
  assert_int_equal(stat(f->log, &status), 0);
  assert_int_equal(truncate(f->log, status.st_size - 1), 0);
  append(f, NULL, 2, true);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 2);
  assert_string_equal(check_messages(f->ctx), "");
}

static const struct broken_row {
  const char *name, *line, *message;
} broken[] = {
    {"garbage", "hello", "log.json:1: no whole JSON object (column 5: "},
    {"an array", "[1, 2]", "log.json:1: not a JSON object: line skipped"},
    {"a later version", "{\"v\": 9}", "log.json:1: version 9 is not known here"},
    {"TVM's record", "{\"i\": [], \"r\": [[1e-3], 0, 1, 2], \"v\": \"v0.6\"}", "log.json:1: no field \"v\""},
    {"a field twice", "{\"v\": 1, \"v\": 1}", "log.json:1: no whole JSON object"},
    {"two objects", "{\"v\": 1}{\"v\": 1}", "log.json:1: no whole JSON object"},
    {"bytes that are no text", "{\"v\": \"\xff\"}", "log.json:1: no whole JSON object"},
    {"too deep", "[[[[[[[[", "log.json:1: no whole JSON object"},
};

static void skips_broken_line(void **state) {
  const struct broken_row *row = *state;
  void *fixture_state;
  fixture_setup(&fixture_state);
  fixture *f = fixture_state;
  append_text(f, row->line);
  append_text(f, "\n");
  append(f, NULL, 1, true);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 1);
  assert_int_equal(f->lines[0], 2);
  check_has(check_messages(f->ctx), row->message);
  check_has(check_messages(f->ctx), "line skipped");
  check_ok(f->ctx);
  fixture_teardown(&fixture_state);
}

static void empty_lines_are_nothing(void **state) {
  fixture *f = *state;
  append_text(f, "\n  \n\r\n");
  append(f, NULL, 1, true);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 1);
  assert_int_equal(f->lines[0], 4);
  assert_string_equal(check_messages(f->ctx), "");
}

static void many_broken_lines_are_summed_up(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 50; ++i) append_text(f, "x\n");
  assert_int_equal(read_all(f), TN_OK);
  check_has(check_messages(f->ctx), "log.json:20:");
  check_has_not(check_messages(f->ctx), "log.json:21:");
  check_has(check_messages(f->ctx), "30 more lines skipped");
}

static void an_empty_log_is_empty(void **state) {
  fixture *f = *state;
  append_text(f, "");
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 0);
  check_ok(f->ctx);
}

static bool stop(void *user, int line, autotune_record *record) {
  (void)line;
  (void)record;
  ++*(int *)user;
  return false;
}

static void a_visitor_can_stop(void **state) {
  fixture *f = *state;
  int visited = 0;
  for (int i = 0; i < 3; ++i) append(f, NULL, 1, true);
  assert_int_equal(read_log(f->ctx, f->log, false, stop, &visited, NULL), TN_OK);
  assert_int_equal(visited, 1);
}

static bool keep(void *user, int line, autotune_record *record) {
  (void)line;
  *(autotune_record *)user = *record;
  record->json = NULL;
  return true;
}

static void unknown_fields_survive_a_rewrite(void **state) {
  fixture *f = *state;
  autotune_record first = make_record(f, NULL, 1, true), kept = {0};
  json_object_set_new(first.json, "weather", json_pack("{s:s, s:f}", "sky", "blue", "degrees", 21.5));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &first), TN_OK);
  assert_int_equal(read_log(f->ctx, f->log, false, keep, &kept, NULL), TN_OK);
  assert_int_equal(autotune_record_append(f->ctx, f->log, &kept), TN_OK);
  char *text = log_text(f);
  const char *second = strchr(text, '\n') + 1;
  check_has(second, "\"weather\":{\"sky\":\"blue\",\"degrees\":21.5}");
  free(text);
  autotune_record_free(&first);
  autotune_record_free(&kept);
}

static bool count_records(void *user, int line, autotune_record *record) {
  (void)line;
  (void)record;
  ++*(int *)user;
  return true;
}

/* ---- several writers --------------------------------------------------------------------------------------------- */

enum { WRITERS = 4, LINES = 60 };

static void write_many(fixture *f) {
  for (int i = 0; i < LINES; ++i) append(f, NULL, 1 + i, true);
}

static void concurrent_writers_break_no_line(void **state) {
  fixture *f = *state;
  pid_t children[WRITERS];
  for (int i = 0; i < WRITERS; ++i) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      write_many(f);
      _exit(0);
    }
  }
  for (int i = 0; i < WRITERS; ++i) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, WRITERS * LINES);
  assert_string_equal(check_messages(f->ctx), "");
}

/* A writer is killed at some moment; what it had appended is whole, and writing goes on. */
static void a_killed_writer_loses_at_most_its_line(void **state) {
  fixture *f = *state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (;;) append(f, NULL, 1, true);
  }
  struct stat status;
  while (stat(f->log, &status) != 0 || status.st_size < 20000) usleep(100);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  append(f, NULL, 2, true);
  char *text = log_text(f);
  int lines = 0;
  for (const char *at = text; *at; ++at) lines += *at == '\n';
  free(text);
  f->n_visited = 0;
  int skipped = 0, visited = 0;
  assert_int_equal(read_log(f->ctx, f->log, false, stop, &visited, &skipped), TN_OK);
  assert_true(lines > 20 && visited == 1 && skipped == 0);
}

/* Appends where the log may have MORE bytes only; nothing of the line stays, and no signal comes. */
static void append_beyond_limit(fixture *f, rlim_t more) {
  struct stat before, after;
  assert_int_equal(stat(f->log, &before), 0);
  struct rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit small = {(rlim_t)before.st_size + more, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  autotune_record r = make_record(f, NULL, 2, true);
  tn_status status = autotune_record_append(f->ctx, f->log, &r);
  setrlimit(RLIMIT_FSIZE, &old);
  autotune_record_free(&r);
  assert_int_equal(status, TN_ERROR_IO);
  check_message_has(f->ctx, "cannot append to log", "File too large");
  assert_int_equal(stat(f->log, &after), 0);
  assert_int_equal(before.st_size, after.st_size);
}

static void a_limit_on_files_is_an_error(void **state) {
  fixture *f = *state;
  append(f, NULL, 1, true);
  append_beyond_limit(f, 40);
  append_beyond_limit(f, 0);
  append(f, NULL, 2, true);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 2);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static int lock_log(const fixture *f) {
  int fd = open(f->log, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  return fd;
}

static void a_lock_for_ever_is_an_error(void **state) {
  fixture *f = *state;
  append(f, NULL, 1, true);
  int fd = lock_log(f);
  uint64_t start_ns = runtime_now_ns();
  assert_int_equal(autotune_log_check(f->ctx, f->log), TN_ERROR_IO);
  double waited_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  close(fd);
  check_has(check_messages(f->ctx), "waiting for log");
  check_message_has(f->ctx, "cannot lock log", "log.json", "for 10 s");
  assert_true(waited_s > 9 && waited_s < 60);
}

static void a_short_lock_is_waited_for(void **state) {
  fixture *f = *state;
  append(f, NULL, 1, true);
  int go[2];
  assert_int_equal(pipe(go), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    lock_log(f);
    if (write(go[1], "x", 1) == 1) usleep(1500000);
    _exit(0);
  }
  char byte;
  assert_int_equal(read(go[0], &byte, 1), 1);
  append(f, NULL, 2, true);
  waitpid(child, NULL, 0);
  close(go[0]);
  close(go[1]);
  check_has(check_messages(f->ctx), "waiting for log");
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 2);
}

/* ---- reading on -------------------------------------------------------------------------------------------------- */

static int read_on(fixture *f, autotune_log_place *place) {
  int n = 0;
  log_reading reading = {.missing_ok = true, .visit = count_records, .user = &n};
  assert_int_equal(log_read(f->ctx, f->log, &reading, place), TN_OK);
  return n;
}

static void reading_goes_on_where_it_stopped(void **state) {
  fixture *f = *state;
  autotune_log_place place = {0};
  assert_int_equal(read_on(f, &place), 0);
  append(f, NULL, 1, true);
  append(f, NULL, 2, true);
  assert_int_equal(read_on(f, &place), 2);
  assert_int_equal(read_on(f, &place), 0);
  append_text(f, "torn");
  assert_int_equal(read_on(f, &place), 0);
  check_has(check_messages(f->ctx), "log.json:3: the last line was cut short");
  append(f, NULL, 3, true);
  append_text(f, "x\n");
  assert_int_equal(read_on(f, &place), 1);
  check_has(check_messages(f->ctx), "log.json:5: no whole JSON object");
}

static void another_file_is_read_from_its_beginning(void **state) {
  fixture *f = *state;
  autotune_log_place place = {0};
  append(f, NULL, 1, true);
  append(f, NULL, 2, true);
  assert_int_equal(read_on(f, &place), 2);
  assert_int_equal(truncate(f->log, 0), 0);
  append(f, NULL, 3, true);
  assert_int_equal(read_on(f, &place), 1);
}

/* What is there and cannot be opened is an error, also where a missing log is none. */
static void a_log_that_cannot_be_opened_is_an_error(void **state) {
  fixture *f = *state;
  char path[sizeof f->log + 8];
  append(f, NULL, 1, true);
  snprintf(path, sizeof path, "%s/more", f->log);
  assert_int_equal(read_log(f->ctx, path, true, NULL, NULL, NULL), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "cannot open log", "Not a directory");
}

/* Another file in its place, which is as long. */
static void a_replaced_log_is_read_from_its_beginning(void **state) {
  fixture *f = *state;
  autotune_log_place place = {0};
  char other[sizeof f->log + 8], log[sizeof f->log];
  append(f, NULL, 1, true);
  assert_int_equal(read_on(f, &place), 1);
  memcpy(log, f->log, sizeof log);
  snprintf(other, sizeof other, "%s.new", log);
  snprintf(f->log, sizeof f->log, "%.*s", (int)sizeof f->log - 1, other);
  append(f, NULL, 2, true);
  append(f, NULL, 3, true);
  assert_int_equal(rename(other, log), 0);
  memcpy(f->log, log, sizeof log);
  assert_int_equal(read_on(f, &place), 2);
}

static void a_claim_is_one_tuners(void **state) {
  fixture *f = *state;
  autotune_claims one = AUTOTUNE_NO_CLAIMS, two = AUTOTUNE_NO_CLAIMS;
  assert_true(autotune_claim(&one, f->log, 7) && autotune_claim(&one, f->log, UINT64_MAX));
  assert_false(autotune_claim(&two, f->log, 7));
  assert_false(autotune_claim(&two, f->log, UINT64_MAX));
  assert_true(autotune_claim(&two, f->log, 70));
  append(f, NULL, 1, true); /* claims are no lock on the log */
  autotune_unclaim(&one, 7);
  assert_true(autotune_claim(&two, f->log, 7));
  autotune_claims_free(&two);
  assert_true(autotune_claim(&one, f->log, 7));
  autotune_claims_free(&one);
}

static void append_held(fixture *f, const autotune_claims *claims, double cost_s) {
  autotune_record r = make_record(f, NULL, cost_s, true);
  assert_int_equal(autotune_record_append_held(f->ctx, f->log, claims, &r), TN_OK);
  autotune_record_free(&r);
}

static int read_on_held(fixture *f, const autotune_claims *claims, autotune_log_place *place) {
  int n = 0;
  log_reading reading = {.claims = claims, .visit = count_records, .user = &n};
  assert_int_equal(log_read(f->ctx, f->log, &reading, place), TN_OK);
  return n;
}

/* With thousands of claims each close takes the kernel long: no descriptor is opened, which is shown where none can be. */
static void who_claims_opens_the_log_once(void **state) {
  fixture *f = *state;
  autotune_claims claims = AUTOTUNE_NO_CLAIMS;
  autotune_log_place place = {0};
  assert_true(autotune_claim(&claims, f->log, 7));
  struct rlimit old, none;
  getrlimit(RLIMIT_NOFILE, &old);
  none = (struct rlimit){(rlim_t)claims.fd, old.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  append_held(f, &claims, 1);
  append_held(f, &claims, 2);
  int n_first = read_on_held(f, &claims, &place), n_more = read_on(f, &place); /* nothing came: nothing is opened */
  setrlimit(RLIMIT_NOFILE, &old);
  assert_int_equal(n_first, 2);
  assert_int_equal(n_more, 0);
  append(f, NULL, 3, true); /* the lock is free */
  assert_int_equal(read_on_held(f, &claims, &place), 1);
  autotune_claims_free(&claims);
}

/* Another file has its name: records belong there, whatever descriptor is held. */
static void claims_of_a_replaced_log_are_not_appended_to(void **state) {
  fixture *f = *state;
  autotune_claims claims = AUTOTUNE_NO_CLAIMS;
  autotune_log_place place = {0};
  char other[sizeof f->log + 8];
  assert_true(autotune_claim(&claims, f->log, 7));
  append_held(f, &claims, 1);
  snprintf(other, sizeof other, "%s.old", f->log);
  assert_int_equal(rename(f->log, other), 0);
  append_held(f, &claims, 2);
  append_held(f, &claims, 3);
  assert_int_equal(read_on_held(f, &claims, &place), 2);
  assert_int_equal(unlink(other), 0);
  autotune_claims_free(&claims);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void a_missing_log_is_an_error_or_empty(void **state) {
  fixture *f = *state;
  assert_int_equal(read_log(f->ctx, f->log, true, stop, NULL, NULL), TN_OK);
  check_ok(f->ctx);
  assert_int_equal(read_all(f), TN_ERROR_IO);
  check_message_has(f->ctx, "cannot open log", "log.json", "No such file");
}

static const struct path_row {
  const char *name, *path, *message;
} paths[] = {
    {"a folder that is not there", "/nonexistent/folder/log.json", "No such file or directory"},
    {"a folder as log", "/tmp", "is a folder: a log is a regular file"},
    {"a full device", "/dev/full", "is a character device: a log is a regular file"},
    {"an endless device", "/dev/zero", "is a character device"},
    {"a device that forgets", "/dev/null", "is a character device"},
    {"a file used as folder", "/etc/passwd/log.json", "Not a directory"},
};

static void refuses_to_append(void **state) {
  const struct path_row *row = *state;
  void *fixture_state;
  fixture_setup(&fixture_state);
  fixture *f = fixture_state;
  autotune_record r = make_record(f, NULL, 1, true);
  assert_int_equal(autotune_record_append(f->ctx, row->path, &r), TN_ERROR_IO);
  check_message_has(f->ctx, row->path, row->message);
  tn_context_clear(f->ctx);
  assert_int_equal(autotune_log_check(f->ctx, row->path), TN_ERROR_IO);
  check_message_has(f->ctx, row->path, row->message);
  tn_context_clear(f->ctx);
  assert_int_equal(read_log(f->ctx, row->path, false, stop, NULL, NULL), TN_ERROR_IO);
  check_message_has(f->ctx, row->path, row->message);
  autotune_record_free(&r);
  fixture_teardown(&fixture_state);
}

static void checking_makes_nothing(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_log_check(f->ctx, f->log), TN_OK);
  assert_int_equal(access(f->log, F_OK), -1);
  append(f, NULL, 1, true);
  assert_int_equal(autotune_log_check(f->ctx, f->log), TN_OK);
  assert_int_equal(autotune_log_check(f->ctx, ""), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "the log has no name");
  assert_int_equal(autotune_log_check(f->ctx, NULL), TN_ERROR_ARGUMENT);
}

/* Opening one would wait for a process at its other end. */
static void a_fifo_is_refused(void **state) {
  fixture *f = *state;
  assert_int_equal(mkfifo(f->log, 0600), 0);
  alarm(60);
  assert_int_equal(autotune_log_check(f->ctx, f->log), TN_ERROR_IO);
  check_message_has(f->ctx, "log.json is a FIFO", "regular file");
  autotune_record r = make_record(f, NULL, 1, true);
  assert_int_equal(autotune_record_append(f->ctx, f->log, &r), TN_ERROR_IO);
  autotune_record_free(&r);
  assert_int_equal(read_all(f), TN_ERROR_IO);
  alarm(0);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void top_is_sorted(void **state) {
  fixture *f = *state;
  const double costs[] = {3, 1, INFINITY, 2};
  for (int i = 0; i < RUNTIME_COUNT(costs); ++i) append(f, NULL, costs[i], i != 1);
  append_text(f, "x\n");
  tn_log_table table;
  assert_int_equal(tn_log_top(f->ctx, f->log, NULL, 0, &table), TN_OK);
  assert_int_equal(table.n_rows, 3);
  assert_int_equal(table.n_records, 4);
  assert_int_equal(table.n_failed, 1);
  assert_int_equal(table.n_programs, 1);
  assert_int_equal(table.n_skipped, 1);
  for (int i = 0; i < 3; ++i) assert_true(table.rows[i].cost_s == i + 1);
  assert_int_equal(table.rows[0].line, 2);
  assert_false(table.rows[0].checked);
  assert_string_equal(table.rows[0].key, tn_program_key(f->program));
  tn_log_table_free(&table);
  assert_int_equal(tn_log_top(f->ctx, f->log, NULL, 2, &table), TN_OK);
  assert_int_equal(table.n_rows, 2);
  tn_log_table_free(&table);
}

static void best_is_one_row_a_program(void **state) {
  fixture *f = *state;
  tn_program *matmul = f->program;
  append(f, NULL, 3, true);
  append(f, NULL, 1, false); /* faster, but its output was not checked */
  append(f, "[[\"SS\",2,\"global\"]]", 2, true);
  f->program = tn_program_parse(f->ctx, "B[i<8] = A[i] + 1", 0, NULL);
  append(f, NULL, 7, true);
  tn_log_table table;
  assert_int_equal(tn_log_best(f->ctx, f->log, NULL, &table), TN_OK);
  assert_int_equal(table.n_rows, 2);
  assert_int_equal(table.n_programs, 2);
  assert_true(table.rows[0].cost_s == 2);
  assert_string_equal(table.rows[0].steps, "[[\"SS\",2,\"global\"]]");
  tn_log_table_free(&table);
  assert_int_equal(tn_log_best(f->ctx, f->log, tn_program_key(matmul), &table), TN_OK);
  assert_int_equal(table.n_rows, 1);
  assert_int_equal(table.n_records, 3);
  tn_log_table_free(&table);
}

static void best_keeps_targets_apart(void **state) {
  fixture *f = *state;
  append(f, NULL, 3, true);
  f->target = tn_target_new(f->ctx, "threads=1");
  append(f, NULL, 5, true);
  tn_log_table table;
  assert_int_equal(tn_log_best(f->ctx, f->log, NULL, &table), TN_OK);
  assert_int_equal(table.n_rows, 2);
  tn_log_table_free(&table);
}

static void tables_refuse(void **state) {
  fixture *f = *state;
  tn_log_table table;
  assert_int_equal(tn_log_best(f->ctx, f->log, NULL, &table), TN_ERROR_IO);
  check_message_has(f->ctx, "cannot open log");
  assert_int_equal(table.n_rows, 0);
  assert_int_equal(tn_log_top(f->ctx, NULL, NULL, 0, &table), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "NULL");
  assert_int_equal(tn_log_top(NULL, f->log, NULL, 0, &table), TN_ERROR_ARGUMENT);
  tn_log_table_free(&table);
  tn_log_table_free(NULL);
}

int run_log(void) {
  const struct CMUnitTest files[] = {
      WITH_LOG(round_trip),
      WITH_LOG(numbers_are_short),
      WITH_LOG(one_line_a_record),
      WITH_LOG(a_torn_line_is_skipped_and_closed),
      WITH_LOG(a_whole_line_without_newline_counts),
      WITH_LOG(empty_lines_are_nothing),
      WITH_LOG(many_broken_lines_are_summed_up),
      WITH_LOG(an_empty_log_is_empty),
      WITH_LOG(a_visitor_can_stop),
      WITH_LOG(unknown_fields_survive_a_rewrite),
      WITH_LOG(concurrent_writers_break_no_line),
      WITH_LOG(a_killed_writer_loses_at_most_its_line),
      WITH_LOG(a_limit_on_files_is_an_error),
      WITH_LOG(a_lock_for_ever_is_an_error),
      WITH_LOG(a_short_lock_is_waited_for),
      WITH_LOG(reading_goes_on_where_it_stopped),
      WITH_LOG(another_file_is_read_from_its_beginning),
      WITH_LOG(a_replaced_log_is_read_from_its_beginning),
      WITH_LOG(a_log_that_cannot_be_opened_is_an_error),
      WITH_LOG(a_claim_is_one_tuners),
      WITH_LOG(who_claims_opens_the_log_once),
      WITH_LOG(claims_of_a_replaced_log_are_not_appended_to),
      WITH_LOG(a_missing_log_is_an_error_or_empty),
      WITH_LOG(checking_makes_nothing),
      WITH_LOG(a_fifo_is_refused),
      WITH_LOG(top_is_sorted),
      WITH_LOG(best_is_one_row_a_program),
      WITH_LOG(best_keeps_targets_apart),
      WITH_LOG(tables_refuse),
  };
  return CHECK_TESTS("logs", files) + CHECK_TABLE("broken lines", broken, skips_broken_line) +
         CHECK_TABLE("places for a log", paths, refuses_to_append);
}
