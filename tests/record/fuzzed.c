/* A long log, most of whose lines were changed: each line is judged as it would be alone, by a parser. What reading, counting, checking,
 * merging, compacting and looking up say of the whole is held against that. TENON_LOG_LINES: how many lines (8000). */
#include <stdlib.h>
#include <unistd.h>

#include "tests/record/fixture.h"

enum { USUAL_LINES = 8000, MOST_CHANGES = 6 };

/* What a line is. */
typedef enum kind { NOTHING, RECORD, EVENT, STRANGE } kind;

typedef struct fuzzed {
  fixture *f;
  int n; /* lines in the file */
  kind *kinds;
  int64_t counts[STRANGE + 1];
  int n_told; /* that reading came to */
  bool agrees;
} fuzzed;

static int lines_wanted(void) {
  const char *wanted = getenv("TENON_LOG_LINES");
  return wanted && atoi(wanted) > 0 ? atoi(wanted) : USUAL_LINES;
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* Bytes changed, cut, doubled, taken out; any byte but a newline, quotes and brackets more often. */
static void change_line(runtime_rng *rng, runtime_str *line) {
  static const char telling[] = "\"{}[],:\\0159-.eE ntu";
  int n_changes = 1 + (int)runtime_random_below(rng, MOST_CHANGES);
  for (int i = 0; i < n_changes && line->n > 2; i++) {
    size_t at = (size_t)runtime_random_below(rng, (int64_t)line->n - 1);
    char byte = runtime_random_below(rng, 2) ? telling[runtime_random_below(rng, (int64_t)sizeof telling - 1)]
                                             : (char)runtime_random_below(rng, 256);
    switch (runtime_random_below(rng, 8)) {
      case 0: line->n = at + 1; break;
      case 1: line->data[at] = line->data[runtime_random_below(rng, (int64_t)line->n)]; break;
      case 2:
        memmove(line->data + at, line->data + at + 1, line->n - at - 1);
        line->n--;
        break;
      case 3: runtime_str_addn(line, "{\"v\":1}", 7); break;
      default: line->data[at] = byte == '\n' ? ' ' : byte;
    }
  }
}

/* One in eight stays whole; their times differ, so that no two are one line. */
static void write_lines(fuzzed *z) {
  static const char *const steps[] = {"[]", "[[\"SP\",2,0,16,[4],1,\"guard\"]]", "[[\"AN\",2,1,3]]"};
  runtime_rng rng = {11};
  FILE *file = fopen(z->f->log, "w");
  assert_non_null(file);
  for (int i = 0; i < z->n; i++) {
    autotune_record record = make_record(z->f, steps[i % 3], 1e-3 + 1e-9 * i, i % 5 != 0);
    char *text = json_dumps(record.json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    runtime_str line = {0};
    runtime_str_addn(&line, text, strlen(text));
    if (i % 8) change_line(&rng, &line);
    assert_int_equal(fwrite(line.data, 1, line.n, file), line.n);
    fputc('\n', file);
    runtime_str_free(&line);
    free(text);
    autotune_record_free(&record);
  }
  assert_int_equal(fclose(file), 0);
}

/* ---- judging ---------------------------------------------------------------------------------------------------------- */

static kind judge_line(const char *line, size_t n) {
  char why[300];
  autotune_record record;
  if (strspn(line, " \t\r") >= n) return NOTHING;
  json_t *json = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
  bool is_event = json_is_string(json_object_get(json, "event"));
  if (!json || is_event) {
    json_decref(json);
    return json ? EVENT : STRANGE;
  }
  if (!autotune_record_parse(json, &record, why, sizeof why)) return STRANGE;
  autotune_record_free(&record);
  return RECORD;
}

static void judge_all(fuzzed *z) {
  size_t size;
  char *text = runtime_read_file(z->f->ctx, z->f->log, &size);
  int line = 0;
  assert_non_null(text);
  for (char *at = text, *end = text + size; at < end; line++) {
    char *newline = memchr(at, '\n', (size_t)(end - at));
    assert_non_null(newline);
    *newline = '\0';
    z->kinds[line] = judge_line(at, (size_t)(newline - at));
    z->counts[z->kinds[line]]++;
    at = newline + 1;
  }
  assert_int_equal(line, z->n);
  free(text);
}

/* ---- what is said of the whole ------------------------------------------------------------------------------------------ */

/* Lines come in their order, so what was passed over shows. */
static void tell(fuzzed *z, int line, kind as) {
  z->agrees &= line >= 1 && line <= z->n && z->kinds[line - 1] == as;
  z->n_told++;
}

static bool visit(void *user, int line, autotune_record *record) {
  (void)record;
  tell(user, line, RECORD);
  return true;
}

static void on_strange(void *user, int line, bool is_whole) {
  (void)is_whole;
  tell(user, line, STRANGE);
}

/* Each line by its number: a record or not, none left out, none twice. */
static void reads_each_line(fuzzed *z) {
  log_reading reading = {.visit = visit, .on_strange = on_strange, .user = z};
  z->agrees = true;
  z->n_told = 0;
  assert_int_equal(log_read(z->f->ctx, z->f->log, &reading, &(autotune_log_place){0}), TN_OK);
  assert_true(z->agrees);
  assert_int_equal(z->n_told, z->counts[RECORD] + z->counts[STRANGE]);
  assert_int_equal(reading.n_skipped, z->counts[STRANGE]);
}

static void counts_them(fuzzed *z) {
  tn_log_sum sum;
  assert_int_equal(tn_log_stats(z->f->ctx, z->f->log, NULL, &sum), TN_OK);
  assert_true(sum.strange <= z->counts[STRANGE]); /* what lies inside a line is not looked at for that */
  assert_int_equal(tn_log_check(z->f->ctx, z->f->log, &sum), TN_OK);
  assert_int_equal(sum.strange, z->counts[STRANGE]);
  assert_int_equal(sum.records + sum.finals, z->counts[RECORD]);
}

/* Whole lines go over, and only they; a look-up finds a schedule among them. */
static void serves_the_rest(fuzzed *z) {
  tn_context *ctx = z->f->ctx;
  const char *log = z->f->log;
  char out[128], index[128];
  tn_log_sum sum, again;
  snprintf(out, sizeof out, "%s.out", log);
  assert_int_equal(tn_log_merge(ctx, 1, &log, NULL, out, &sum), TN_OK);
  assert_int_equal(tn_log_check(ctx, out, &again), TN_OK);
  assert_true(again.records + again.finals + sum.duplicates >= z->counts[RECORD]);
  assert_int_equal(tn_log_compact(ctx, out, 4, NULL, &sum), TN_OK);
  for (int i = 0; i < 2; i++) {
    tn_schedule *s = tn_apply_best(z->f->program, z->f->target, i ? out : log, NULL);
    assert_non_null(s);
    tn_schedule_free(s);
  }
  unlink(out);
  snprintf(index, sizeof index, "%s.index", log);
  unlink(index);
}

static void a_changed_line_costs_itself(void **state) {
  fuzzed z = {.f = *state, .n = lines_wanted()};
  z.kinds = calloc((size_t)z.n, sizeof *z.kinds);
  assert_non_null(z.kinds);
  write_lines(&z);
  judge_all(&z);
  assert_true(z.counts[RECORD] >= z.n / 8 && z.counts[STRANGE] >= z.n / 4);
  print_message("%d lines: %d records, %d broken\n", z.n, (int)z.counts[RECORD], (int)z.counts[STRANGE]);
  reads_each_line(&z);
  counts_them(&z);
  serves_the_rest(&z);
  free(z.kinds);
}

int run_fuzzed(void) {
  static const struct CMUnitTest tests[] = {WITH_LOG(a_changed_line_costs_itself)};
  return cmocka_run_group_tests_name("fuzzed logs", tests, NULL, NULL);
}
