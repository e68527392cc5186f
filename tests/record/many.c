/* Large logs and logs of logs: lines at a glance, the index beside a log, merging, compacting, choosing, checking. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/log.h"
#include "tests/record/fixture.h"

/* ---- lines at a glance --------------------------------------------------------------------------------------------- */

#define BEFORE "{\"v\":1,\"key\":\"0123456789abcdef\",\"program\":\"C[i<8] = A[i]\\n\",\"target\":\"cpu=x threads=2\""
#define BEHIND "\"costs\":[0.5,0.25,1],\"error\":\"none\",\"checked\":true}"

static const struct glance_row {
  const char *name, *line;
  bool is_understood;
  double cost_s;
} glances[] = {
    {"a record", BEFORE ",\"steps\":[]," BEHIND, true, 0.5},
    {"blanks between",
     "  { \"v\" : 1 , \"key\":\"k\", \"program\":\"p\", \"target\":\"t\", \"steps\": [ ], \"costs\" : [ 2 ] , "
     "\"error\":\"none\" } \r",
     true, 2},
    {"brackets and quotes inside of texts", BEFORE ",\"note\":\"]}\\\"\\\\\",\"steps\":[[\"]\\\"\"]]," BEHIND, true,
     0.5},
    {"unknown objects", BEFORE ",\"more\":{\"key\":\"other\",\"v\":[2]},\"steps\":[]," BEHIND, true, 0.5},
    {"a failure", BEFORE ",\"steps\":[],\"costs\":[],\"error\":\"compile\"}", true, INFINITY},
    {"a cost that is no number", BEFORE ",\"steps\":[],\"costs\":[\"x\"],\"error\":\"none\"}", true, INFINITY},
    {"half a cost", BEFORE ",\"steps\":[],\"costs\":[0.00100q993],\"error\":\"none\"}", true, INFINITY},
    {"another version", "{\"v\":2,\"key\":\"k\",\"program\":\"p\",\"target\":\"t\",\"steps\":[]," BEHIND, false, 0},
    {"no version", "{\"key\":\"k\",\"program\":\"p\",\"target\":\"t\",\"steps\":[]," BEHIND, false, 0},
    {"a key twice", BEFORE ",\"key\":\"k\",\"steps\":[]," BEHIND, false, 0},
    {"a key with an escape", "{\"v\":1,\"key\":\"\\u0030\",\"program\":\"p\",\"target\":\"t\",\"steps\":[]," BEHIND,
     false, 0},
    {"steps that are a text", BEFORE ",\"steps\":\"[]\"," BEHIND, false, 0},
    {"no steps", BEFORE "," BEHIND, false, 0},
    {"torn in a text", BEFORE ",\"steps\":[],\"error\":\"no", false, 0},
    {"torn in an array", BEFORE ",\"steps\":[[\"SP\"", false, 0},
    {"two on one line", BEFORE ",\"steps\":[]," BEHIND BEFORE ",\"steps\":[]," BEHIND, false, 0},
    {"nothing", "", false, 0},
    {"no object", "[1]", false, 0},
};

static void looks(void **state) {
  const struct glance_row *row = *state;
  log_glance g;
  assert_int_equal(log_look(row->line, strlen(row->line), &g), row->is_understood);
  if (row->is_understood) assert_true(log_glance_cost(&g) == row->cost_s);
}

/* What a glance says of a line that parses is what the parser says. */
static void agrees_with_the_parser(const char *line, size_t n) {
  log_glance g;
  autotune_record record;
  char why[300];
  bool is_understood = log_look(line, n, &g);
  json_t *json = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
  bool is_valid = is_understood && !g.event.at && log_is_valid(line, n, &g);
  if (!json || !autotune_record_parse(json, &record, why, sizeof why)) {
    if (is_valid) fail_msg("a line is called valid that a parser refuses: %.*s", (int)n, line);
    return;
  }
  if (is_understood && !g.event.at) {
    double cost_s = autotune_record_cost(&record);
    assert_true(log_span_is(&g.key, record.key));
    assert_int_equal(g.checked, record.checked);
    assert_true(log_glance_cost(&g) == cost_s);
    assert_true(log_target_hash(g.target.at, g.target.n) == log_target_hash(record.target, strlen(record.target)));
  }
  autotune_record_free(&record);
}

/* Bytes of a real line changed, cut and doubled, a hundred thousand times; from the line's own characters, so that quotes and
 * brackets are among them. */
static void mutated_lines(void **state) {
  fixture *f = *state;
  append(f, "[[\"SP\",2,0,16,[4],1,\"guard\"]]", 0.25, true);
  char *line = log_text(f), *changed = malloc(2 * strlen(line) + 1);
  size_t n = strlen(line) - 1;
  runtime_rng rng = {7};
  for (int i = 0; i < 100000; ++i) {
    size_t at = (size_t)runtime_random_below(&rng, (int64_t)n), from = (size_t)runtime_random_below(&rng, (int64_t)n);
    size_t length = n;
    memcpy(changed, line, n);
    if (i % 4 == 0) length = at;
    if (i % 4 == 1) memcpy(changed + n, line, length = at), length += n;
    if (i % 4 >= 2) changed[at] = line[from];
    agrees_with_the_parser(changed, length);
  }
  free(changed);
  free(line);
}

/* A field of a real line made another one; what a parser refuses is not valid, and what is odd but right may be parsed. */
static void lines_that_are_not_valid(void **state) {
  static const char *const rows[][2] = {{"\"checked\":true", "\"checked\":1"},
                                        {"\"checked\":true", "\"checkt\":true"},
                                        {"\"checked\":true", "\"checked\":tru"},
                                        {"\"costs\":[0.25]", "\"costs\":[]"},
                                        {"\"costs\":[0.25]", "\"costs\":[-0.25]"},
                                        {"\"costs\":[0.25]", "\"costs\":[0.0]"},
                                        {"\"costs\":[0.25]", "\"costs\":[\"1\"]"},
                                        {"\"costs\":[0.25]", "\"costs\":[0.25,]"},
                                        {"\"error\":\"none\"", "\"error\":\"no\""},
                                        {"\"steps\":[", "\"steps\":[01,"},
                                        {"\"steps\":[", "\"steps\":[{\"a\":1,\"a\":2},"},
                                        {"\"v\":1", "\"v\":1,\"v\":1"},
                                        {"\"v\":1", "\"v\":1,\"rank\":1.5"},
                                        {"\"v\":1", "\"v\":1,\"x\":1e999"}};
  fixture *f = *state;
  append(f, "[[\"SP\",2,0,16,[4],1,\"guard\"]]", 0.25, true);
  char *line = log_text(f);
  size_t n = strlen(line) - 1;
  log_glance g = {0};
  assert_true(log_look(line, n, &g) && log_is_valid(line, n, &g));
  for (int i = 0; i < RUNTIME_COUNT(rows); ++i) {
    const char *at = strstr(line, rows[i][0]);
    runtime_str changed = {0};
    if (!at) fail_msg("the line has no %s: %s", rows[i][0], line);
    runtime_str_addn(&changed, line, (size_t)(at - line));
    runtime_str_addf(&changed, "%s%.*s", rows[i][1], (int)(line + n - at - strlen(rows[i][0])),
                     at + strlen(rows[i][0]));
    g = (log_glance){0};
    if (log_look(changed.data, changed.n, &g) && log_is_valid(changed.data, changed.n, &g))
      fail_msg("valid with %s", rows[i][1]);
    runtime_str_free(&changed);
  }
  free(line);
}

/* What a check says of many lines of one program is what it says of one: those behind the first are not parsed. */
static void checking_counts_lines_that_it_does_not_parse(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  for (int i = 0; i < 20; ++i) append(f, NULL, 3 + i, true);
  append_text(f, "{\"v\":1,\"key\":\"0\"}\n");
  append(f, NULL, INFINITY, false);
  assert_int_equal(tn_log_check(f->ctx, f->log, &sum), TN_OK);
  assert_true(sum.records == 21 && sum.errors[0] == 20 && sum.strange == 1 && sum.n_wrong == 0 && sum.n_programs == 1);
  check_has(check_messages(f->ctx), "log.json:21: ");
}

/* ---- the index ----------------------------------------------------------------------------------------------------- */

enum { MANY = 9000 };

/* So many records of programs that are not ours: some six megabytes. */
static void append_others(fixture *f) {
  autotune_record record = make_record(f, "[[\"SP\",2,0,16,[4],1,\"guard\"],[\"AN\",2,0,3]]", 1, true);
  json_object_set_new(record.json, "padding", json_string("a text that makes the log as large as others are"));
  char *text = json_dumps(record.json, JSON_COMPACT), *key = strstr(text, record.key);
  FILE *file = fopen(f->log, "a");
  assert_true(text && key && file);
  for (int i = 0; i < MANY; ++i) {
    char number[17];
    snprintf(number, sizeof number, "%016x", i);
    memcpy(key, number, 16);
    fprintf(file, "%s\n", text);
  }
  assert_int_equal(fclose(file), 0);
  free(text);
  autotune_record_free(&record);
}

static void index_name(const fixture *f, char out[112]) { snprintf(out, 112, "%s.index", f->log); }

static double best_time(fixture *f) {
  double seconds = 0;
  tn_schedule *s = tn_apply_best(f->program, f->target, f->log, &seconds);
  check_ok(f->ctx);
  assert_non_null(s);
  tn_schedule_free(s);
  return seconds;
}

static int64_t index_bytes(const fixture *f) {
  char name[112];
  struct stat file;
  index_name(f, name);
  return stat(name, &file) == 0 ? (int64_t)file.st_size : -1;
}

static int drop_index(void **state) {
  char name[112];
  index_name(*state, name);
  unlink(name);
  return fixture_teardown(state);
}

static void a_small_log_has_no_index(void **state) {
  fixture *f = *state;
  append(f, NULL, 2, true);
  assert_true(best_time(f) == 2);
  assert_true(index_bytes(f) == -1);
}

/* Half of the records before ours, half behind; and what is appended after the index was made. */
static void a_large_log_is_looked_up(void **state) {
  fixture *f = *state;
  append_others(f);
  append(f, NULL, 2, true);
  append_others(f);
  assert_true(best_time(f) == 2);
  int64_t bytes = index_bytes(f);
  assert_true(bytes > 2 * MANY * 40);
  append(f, NULL, 1, true);
  append(f, NULL, 0.5, false);
  assert_true(best_time(f) == 1);
  assert_true(index_bytes(f) == bytes);
  append_others(f);
  assert_true(best_time(f) == 1);
  assert_true(index_bytes(f) > bytes);
}

/* The same answer, whether the log is read or looked up. */
static void finals_count_in_the_index(void **state) {
  fixture *f = *state;
  append(f, NULL, 2, true);
  autotune_record winner = make_record(f, NULL, 3, true);
  json_object_set_new(winner.json, "final", json_true());
  json_object_set_new(winner.json, "rank", json_integer(1));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &winner), TN_OK);
  autotune_record_free(&winner);
  assert_true(best_time(f) == 3);
  append_others(f);
  assert_true(best_time(f) == 3);
  assert_true(index_bytes(f) > 0);
}

static void overwrite(const char *path, long at, const char *text) {
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, at, SEEK_SET);
  fputs(text, file);
  fclose(file);
}

/* Neither an index that was damaged nor one of a log that was is believed. */
static void a_stale_index_is_made_anew(void **state) {
  fixture *f = *state;
  char name[112], moved[112];
  index_name(f, name);
  append_others(f);
  append(f, NULL, 2, true);
  assert_true(best_time(f) == 2);
  overwrite(name, 0, "garbage");
  assert_true(best_time(f) == 2);
  assert_int_equal(truncate(name, 1000), 0);
  assert_true(best_time(f) == 2);
  overwrite(name, 64, "garbage garbage garbage garbage garbage");
  unlink(name);
  assert_true(best_time(f) == 2);
  snprintf(moved, sizeof moved, "%s.old", f->log);
  assert_int_equal(rename(f->log, moved), 0);
  append_others(f);
  append(f, NULL, 4, true);
  assert_true(best_time(f) == 4);
  unlink(moved);
}

/* A line is changed in its place: the log is as long as before. */
static void an_edited_log_is_read_again(void **state) {
  fixture *f = *state;
  append(f, NULL, 2, true);
  append_others(f);
  assert_true(best_time(f) == 2);
  char *text = log_text(f);
  long at = (long)(strstr(text, "\"costs\":[2.0]") - text) + 9;
  free(text);
  usleep(20000);
  overwrite(f->log, at, "7.0");
  assert_true(best_time(f) == 7);
}

static void none_is_told_by_the_index(void **state) {
  fixture *f = *state;
  append_others(f);
  append(f, NULL, 2, false);
  assert_null(tn_apply_best(f->program, f->target, f->log, NULL));
  check_fails(f->ctx, TN_ERROR_RECORD, "holds no usable record", "1 of this program without a checked output");
}

static void broken_lines_of_a_large_log_are_told(void **state) {
  fixture *f = *state;
  append_text(f, "garbage\n");
  append(f, NULL, 2, true);
  append_others(f);
  assert_true(best_time(f) == 2);
  check_has(check_messages(f->ctx), "log.json:1: no whole JSON object");
}

/* ---- logs of logs --------------------------------------------------------------------------------------------------- */

static int count_records(fixture *f, const char *log) {
  tn_log_sum sum;
  assert_int_equal(tn_log_stats(f->ctx, log, NULL, &sum), TN_OK);
  return (int)sum.records;
}

static void other_name(const fixture *f, const char *name, char out[112]) {
  snprintf(out, 112, "%s/%s", f->folder, name);
}

static void merging_keeps_each_line_once(void **state) {
  fixture *f = *state;
  char second[112], out[112];
  other_name(f, "second.json", second);
  other_name(f, "out.json", out);
  append(f, NULL, 2, true);
  append_text(f, "{\"v\":2,\"from\":\"tomorrow\"}\ngarbage\n");
  char *text = log_text(f);
  autotune_record record = make_record(f, NULL, 3, true);
  json_object_set_new(record.json, "mine", json_string("a field that nobody knows"));
  assert_int_equal(autotune_record_append(f->ctx, second, &record), TN_OK);
  assert_int_equal(autotune_record_append(f->ctx, second, &record), TN_OK);
  autotune_record_free(&record);
  const char *logs[] = {f->log, second, f->log};
  tn_log_sum sum;
  assert_int_equal(tn_log_merge(f->ctx, 3, logs, NULL, out, &sum), TN_OK);
  assert_int_equal(sum.kept, 3);
  assert_int_equal(sum.duplicates, 3);
  char *merged = runtime_read_file(f->ctx, out, NULL);
  assert_non_null(merged);
  assert_memory_equal(merged, text, strlen(text) - strlen("garbage\n"));
  assert_non_null(strstr(merged, "a field that nobody knows"));
  assert_null(strstr(merged, "garbage"));
  free(merged);
  assert_int_equal(tn_log_merge(f->ctx, 1, (const char *[]){f->log}, NULL, second, &sum), TN_OK);
  assert_int_equal(count_records(f, second), 2);
  free(text);
  unlink(second);
  unlink(out);
}

/* What a name leads to is written, and the link stays one. */
static void a_link_is_followed(void **state) {
  fixture *f = *state;
  char link[112];
  struct stat info;
  other_name(f, "link.json", link);
  append(f, NULL, 2, true);
  append(f, NULL, 3, true);
  assert_int_equal(symlink(f->log, link), 0);
  assert_int_equal(tn_log_compact(f->ctx, link, 1, NULL, NULL), TN_OK);
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(count_records(f, f->log), 1);
  assert_int_equal(tn_log_merge(f->ctx, 1, (const char *[]){link}, NULL, link, NULL), TN_OK);
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  unlink(link);
}

static void a_merge_that_fails_leaves_nothing(void **state) {
  fixture *f = *state;
  char out[112], missing[112];
  other_name(f, "out.json", out);
  other_name(f, "missing.json", missing);
  append(f, NULL, 2, true);
  const char *logs[] = {f->log, missing};
  assert_int_equal(tn_log_merge(f->ctx, 2, logs, NULL, out, NULL), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "cannot open log", "missing.json");
  assert_int_equal(access(out, F_OK), -1);
  assert_int_equal(tn_log_merge(f->ctx, 0, logs, NULL, out, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_log_merge", "no logs");
  const tn_log_filter wrong = {.error = "slow"};
  assert_int_equal(tn_log_merge(f->ctx, 1, logs, &wrong, out, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "no class of failure 'slow'", "runtime");
}

static void a_filter_takes_a_part(void **state) {
  fixture *f = *state;
  char out[112];
  other_name(f, "out.json", out);
  append(f, NULL, 2, true);
  append(f, NULL, INFINITY, false);
  append_text(f, "{\"v\":2}\n");
  tn_log_sum sum;
  assert_int_equal(tn_log_merge(f->ctx, 1, (const char *[]){f->log}, &(tn_log_filter){.error = "any"}, out, &sum),
                   TN_OK);
  assert_int_equal(sum.kept, 1);
  assert_int_equal(tn_log_stats(f->ctx, out, NULL, &sum), TN_OK);
  assert_int_equal(sum.errors[TN_MEASURE_COMPILE], 1);
  assert_int_equal(sum.records, 1);
  unlink(out);
}

static void compacting_keeps_the_best(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  for (int i = 0; i < 20; ++i) append(f, NULL, 10 + (i * 7) % 20, true);
  append(f, NULL, 1, false);
  append(f, NULL, INFINITY, false);
  append_text(f, "garbage\n{\"v\":2,\"from\":\"tomorrow\"}\n");
  autotune_record record = make_record(f, NULL, 9, true);
  json_object_set_new(record.json, "mine", json_string("a field that nobody knows"));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &record), TN_OK);
  autotune_record_free(&record);
  assert_int_equal(tn_log_compact(f->ctx, f->log, 3, NULL, &sum), TN_OK);
  assert_int_equal(sum.kept, 4);
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, 3);
  assert_true(f->costs[0] + f->costs[1] + f->costs[2] == 9 + 10 + 11);
  char *text = log_text(f);
  assert_non_null(strstr(text, "a field that nobody knows"));
  assert_non_null(strstr(text, "tomorrow"));
  assert_null(strstr(text, "garbage"));
  free(text);
  assert_true(best_time(f) == 9);
}

/* The winner of the finals counts, and a faster record behind it, whatever stood before. */
static void compacting_does_not_change_the_best(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 6; ++i) append(f, NULL, 1 + i * 0.1, true);
  autotune_record winner = make_record(f, NULL, 5, true);
  json_object_set_new(winner.json, "final", json_true());
  json_object_set_new(winner.json, "rank", json_integer(1));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &winner), TN_OK);
  autotune_record_free(&winner);
  append(f, NULL, 4, true);
  assert_true(best_time(f) == 4);
  assert_int_equal(tn_log_compact(f->ctx, f->log, 2, NULL, NULL), TN_OK);
  assert_true(best_time(f) == 4);
  assert_int_equal(count_records(f, f->log), 3);
}

/* Eight processes append while the log is compacted again and again: every record is there at the end. */
static void nothing_appended_is_lost(void **state) {
  enum { WRITERS = 8, EACH = 30 };
  fixture *f = *state;
  pid_t writers[WRITERS];
  append(f, NULL, 1000, true);
  for (int w = 0; w < WRITERS; ++w) {
    writers[w] = fork();
    if (writers[w] != 0) continue;
    for (int i = 0; i < EACH; ++i) append(f, NULL, 1 + w * EACH + i, true);
    _exit(0);
  }
  for (int n_left = WRITERS; n_left > 0;) {
    assert_int_equal(tn_log_compact(f->ctx, f->log, 100000, NULL, NULL), TN_OK);
    while (n_left > 0 && waitpid(-1, NULL, WNOHANG) > 0) --n_left;
  }
  assert_int_equal(read_all(f), TN_OK);
  assert_int_equal(f->n_visited, WRITERS * EACH + 1);
}

static void compacting_refuses(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_log_compact(f->ctx, f->log, -1, NULL, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "keep is below 0", "1 or more");
  assert_int_equal(tn_log_compact(f->ctx, f->log, 3, NULL, NULL), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "cannot open log", "log.json");
  assert_int_equal(access(f->log, F_OK), -1);
}

/* ---- choosing and checking ------------------------------------------------------------------------------------------ */

static void rows_by_filters(void **state) {
  fixture *f = *state;
  tn_log_table t;
  append(f, NULL, 3, true);
  append(f, NULL, INFINITY, false);
  append(f, NULL, 1, true);
  assert_int_equal(tn_log_select(f->ctx, f->log, NULL, TN_LOG_BY_COST, 0, &t), TN_OK);
  assert_true(t.n_rows == 3 && t.rows[0].cost_s == 1 && t.rows[1].cost_s == 3 && isinf(t.rows[2].cost_s));
  assert_string_equal(t.rows[2].message, "it did not compile");
  tn_log_table_free(&t);
  assert_int_equal(tn_log_select(f->ctx, f->log, NULL, TN_LOG_BY_LINE, 2, &t), TN_OK);
  assert_true(t.n_rows == 2 && t.rows[0].line == 1 && t.rows[1].line == 2);
  tn_log_table_free(&t);
  const tn_log_filter failed = {.error = "compile"}, old = {.until_s = 1000},
                      elsewhere = {.target = "cpu=z80 threads=1"};
  assert_int_equal(tn_log_select(f->ctx, f->log, &failed, TN_LOG_BY_TIME, 0, &t), TN_OK);
  assert_true(t.n_rows == 1 && t.rows[0].line == 2);
  tn_log_table_free(&t);
  assert_int_equal(tn_log_select(f->ctx, f->log, &old, TN_LOG_BY_PROGRAM, 0, &t), TN_OK);
  assert_int_equal(t.n_rows, 0);
  tn_log_table_free(&t);
  assert_int_equal(tn_log_select(f->ctx, f->log, &elsewhere, TN_LOG_BY_COST, 0, &t), TN_OK);
  assert_int_equal(t.n_rows, 0);
  tn_log_table_free(&t);
}

static void filters_that_are_refused(void **state) {
  fixture *f = *state;
  tn_log_table t;
  tn_log_sum sum;
  const tn_log_filter wrong = {.error = "slow"};
  assert_int_equal(tn_log_select(f->ctx, f->log, &wrong, TN_LOG_BY_COST, 0, &t), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "no class of failure 'slow'", "any");
  assert_int_equal(tn_log_select(f->ctx, f->log, NULL, (tn_log_order)9, 0, &t), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the order is 9", "tn_log_order");
  assert_int_equal(tn_log_stats(f->ctx, f->log, &wrong, &sum), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "no class of failure", "none");
  assert_int_equal(tn_log_order_find("size"), -1);
}

static void a_log_is_summed_up(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  append(f, NULL, 3, true);
  append(f, NULL, 4, false);
  append(f, NULL, INFINITY, false);
  append_text(f, "{\"v\":1,\"event\":\"start\"}\n{\"v\":1");
  assert_int_equal(tn_log_stats(f->ctx, f->log, NULL, &sum), TN_OK);
  assert_true(sum.records == 3 && sum.errors[0] == 2 && sum.errors[TN_MEASURE_COMPILE] == 1 && sum.unchecked == 1);
  assert_true(sum.events == 1 && sum.strange == 1 && sum.n_programs == 1 && sum.n_targets == 1 && sum.first_s > 0);
}

static void checking_finds_what_is_wrong(void **state) {
  fixture *f = *state;
  tn_log_sum sum;
  append(f, NULL, 3, true);
  assert_int_equal(tn_log_check(f->ctx, f->log, &sum), TN_OK);
  assert_true(sum.n_wrong == 0 && sum.strange == 0);
  append(f, "[[\"SP\",7,0,16,[4],1,\"guard\"]]", 2, true);
  assert_int_equal(tn_log_check(f->ctx, f->log, &sum), TN_OK);
  assert_int_equal(sum.n_wrong, 1);
  check_has(check_messages(f->ctx), "log.json:2: the steps are refused now");
  autotune_record record = make_record(f, NULL, 1, true);
  json_object_set_new(record.json, "key", json_string("0123456789abcdef"));
  assert_int_equal(autotune_record_append(f->ctx, f->log, &record), TN_OK);
  autotune_record_free(&record);
  append_text(f, "garbage\n");
  assert_int_equal(tn_log_check(f->ctx, f->log, &sum), TN_OK);
  assert_true(sum.n_wrong == 2 && sum.strange == 1);
}

int run_many(void) {
#define WITH_INDEX(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, drop_index)
  const struct CMUnitTest tests[] = {
      WITH_LOG(mutated_lines),
      WITH_LOG(lines_that_are_not_valid),
      WITH_LOG(checking_counts_lines_that_it_does_not_parse),
      WITH_INDEX(a_small_log_has_no_index),
      WITH_INDEX(a_large_log_is_looked_up),
      WITH_INDEX(finals_count_in_the_index),
      WITH_INDEX(a_stale_index_is_made_anew),
      WITH_INDEX(an_edited_log_is_read_again),
      WITH_INDEX(none_is_told_by_the_index),
      WITH_INDEX(broken_lines_of_a_large_log_are_told),
      WITH_LOG(merging_keeps_each_line_once),
      WITH_LOG(a_link_is_followed),
      WITH_LOG(a_merge_that_fails_leaves_nothing),
      WITH_LOG(a_filter_takes_a_part),
      WITH_LOG(compacting_keeps_the_best),
      WITH_LOG(compacting_does_not_change_the_best),
      WITH_LOG(nothing_appended_is_lost),
      WITH_LOG(compacting_refuses),
      WITH_LOG(rows_by_filters),
      WITH_LOG(filters_that_are_refused),
      WITH_LOG(a_log_is_summed_up),
      WITH_LOG(checking_finds_what_is_wrong),
  };
#undef WITH_INDEX
  return CHECK_TESTS("large logs and logs of logs", tests) + CHECK_TABLE("lines at a glance", glances, looks);
}
