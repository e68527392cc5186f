/* Contexts that record messages, golden texts with a line by line difference, tables of tests. */
#include "tests/common/check.h"

#include <errno.h>
#include <sys/stat.h>

/* Under a sanitizer, too, an absurd request for memory gives NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:detect_stack_use_after_return=1"; }
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static void record(void *user, tn_severity severity, const char *text) {
  static const char *const words[] = {"info", "warning", "error"};
  runtime_str_addf(user, "%s: %s\n", words[severity], text);
}

tn_context *check_context_debug(const char *debug) {
  runtime_str *messages = calloc(1, sizeof *messages);
  assert_non_null(messages);
  tn_context *ctx = tn_context_new(&(tn_context_options){.on_message = record, .user = messages, .debug = debug});
  assert_non_null(ctx);
  return ctx;
}

tn_context *check_context(void) { return check_context_debug(NULL); }

void check_context_free(tn_context *ctx) {
  runtime_str *messages = ctx->options.user;
  assert_int_equal(tn_context_held(ctx).arrays, 0); /* what a test does not free is a leak of the test */
  tn_context_free(ctx);
  runtime_str_free(messages);
  free(messages);
}

const char *check_messages(const tn_context *ctx) {
  const runtime_str *messages = ctx->options.user;
  return messages->data ? messages->data : "";
}

void check_fails_at(tn_context *ctx, tn_status status, const char *const *parts, const char *file, int line) {
  tn_status got = tn_context_status(ctx);
  if (got == TN_OK || (status != TN_OK && got != status)) {
    print_error("expected \"%s\", got \"%s\": %s\n", status == TN_OK ? "a failure" : tn_status_text(status),
                tn_status_text(got), tn_context_message(ctx));
    _fail(file, line);
  }
  for (; *parts; ++parts) check_has_at(tn_context_message(ctx), *parts, true, file, line);
  runtime_str_free(ctx->options.user);
  tn_context_clear(ctx);
}

void check_ok_at(tn_context *ctx, const char *file, int line) {
  if (tn_context_status(ctx) == TN_OK) return;
  print_error("unexpected failure, %s: %s\n", tn_status_text(tn_context_status(ctx)), tn_context_message(ctx));
  _fail(file, line);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

void check_has_at(const char *text, const char *part, bool wanted, const char *file, int line) {
  if (text && (strstr(text, part) != NULL) == wanted) return;
  print_error("expected %s\"%s\" in:\n%s\n", wanted ? "" : "no ", part, text ? text : "(NULL)");
  _fail(file, line);
}

/* Takes one line off TEXT; at the end of the text *n is -1. */
static const char *next_line(const char **text, int *n) {
  const char *line = *text;
  *n = *line ? (int)strcspn(line, "\n") : -1;
  if (*n >= 0) *text = line[*n] ? line + *n + 1 : line + *n;
  return line;
}

/* Shows each line that differs from the one at the same place, at most SHOWN of them. */
static void print_difference(const char *got, const char *expected) {
  enum { SHOWN = 12 };
  int shown = 0;
  for (int number = 1; (*got || *expected) && shown < SHOWN; ++number) {
    int n_got, n_expected;
    const char *a = next_line(&expected, &n_expected), *b = next_line(&got, &n_got);
    if (n_got == n_expected && n_got >= 0 && strncmp(a, b, (size_t)n_got) == 0) continue;
    ++shown;
    if (n_expected >= 0) print_error("%4d expected: %.*s\n", number, n_expected, a);
    if (n_got >= 0) print_error("%4d      got: %.*s\n", number, n_got, b);
  }
  if (!shown) print_error("the texts differ in the newline at the end\n");
}

void check_text_at(const char *got, const char *expected, const char *file, int line) {
  if (got && strcmp(got, expected) == 0) return;
  if (got)
    print_difference(got, expected);
  else
    print_error("got NULL, expected:\n%s\n", expected);
  _fail(file, line);
}

/* Makes the folders that lead to PATH. */
static void make_folders(const char *path) {
  char folder[4096];
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    mkdir(folder, 0777);
  }
}

static void write_golden(const char *path, const char *text) {
  make_folders(path);
  FILE *file = fopen(path, "w");
  bool written = file && fputs(text, file) >= 0;
  if (file) written = fclose(file) == 0 && written;
  if (!written) fail_msg("cannot write %s: %s", path, strerror(errno));
}

void check_golden_at(const char *name, const char *text, const char *file, int line) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", TENON_GOLDEN_DIR, name);
  if (!text) fail_msg("no text to compare with the golden text %s", name);
  const char *update = getenv("TENON_UPDATE_GOLDEN");
  if (update && strcmp(update, "1") == 0) {
    write_golden(path, text);
    return;
  }
  char *expected = runtime_read_file(NULL, path, NULL);
  if (!expected) fail_msg("there is no golden text %s: run \"make golden\", then read what it wrote", path);
  bool same = strcmp(text, expected) == 0;
  if (!same) {
    print_error("differs from tests/golden/%s (\"make golden\" rewrites it):\n", name);
    print_difference(text, expected);
  }
  free(expected);
  if (!same) _fail(file, line);
}

/* ---- tables of tests --------------------------------------------------------------------------------------------- */

int check_table(const char *group, const void *rows, size_t row_bytes, size_t n, CMUnitTestFunction fn,
                CMFixtureFunction group_setup, CMFixtureFunction group_teardown) {
  struct CMUnitTest *tests = calloc(n, sizeof *tests);
  if (!tests) return 1;
  for (size_t i = 0; i < n; ++i) {
    const void *row = (const char *)rows + i * row_bytes;
    tests[i] = (struct CMUnitTest){.name = *(const char *const *)row, .test_func = fn, .initial_state = (void *)row};
  }
  int failed = _cmocka_run_group_tests(group, tests, n, group_setup, group_teardown);
  free(tests);
  return failed;
}
