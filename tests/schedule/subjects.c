/* The table of subjects, subjects.txt: what TVM's te has is shown by a golden text that a test compares, or named in
 * docs/from-tvm.md as having no counterpart. */
#include "tests/schedule/tests.h"

enum { LEAST_SUBJECTS = 80, LEAST_GOLDENS = 120 };

static bool names_case(const char *name, size_t n, const schedule_case *cases) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(cases[i].name, name) == 0) return true;
  return false;
}

static bool names_pass(const char *name) {
  for (int i = 0; i < TIR_PASS_COUNT; i++)
    if (strcmp(tir_pass_lines[i].name, name) == 0) return true;
  return false;
}

/* Whether a test compares this text. Those of generic schedules and refusals stand in tables of other forms: there it
 * has to suffice that the file is there. */
static bool is_run(const char *name) {
  if (strncmp(name, "tvmscript/", 10) == 0) return names_case(name + 10, n_script_cases, script_cases);
  if (strncmp(name, "passes/", 7) == 0) return names_pass(name + 7);
  bool is_other = strncmp(name, "auto_", 5) == 0 || strncmp(name, "tensorize/", 10) == 0;
  return is_other || names_case(name, n_schedule_cases, schedule_cases);
}

static void check_name(const char *subject, const char *name) {
  char path[4096];
  bool is_pass = strncmp(name, "passes/", 7) == 0;
  snprintf(path, sizeof path, "%s/%s/%s.txt", TENON_GOLDEN_DIR, is_pass ? "tir" : "schedule", name);
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("%s: there is no %s", subject, path);
  fclose(file);
  if (!is_run(name)) fail_msg("%s: no test compares %s", subject, name);
}

/* Returns the number of names. */
static int check_subject(char *line, const char *page) {
  char *rest = strrchr(line, ':'), *none = strstr(line, ": - ");
  if (none) {
    if (!strstr(page, none + 4)) fail_msg("docs/from-tvm.md does not say: %s", none + 4);
    return 0;
  }
  if (!rest) fail_msg("no names: %s", line);
  int n = 0;
  *rest++ = 0;
  for (char *name = strtok(rest, " "); name; name = strtok(NULL, " "), n++) check_name(line, name);
  if (n == 0) fail_msg("no names: %s", line);
  return n;
}

static void every_subject(void **state) {
  (void)state;
  char *text = runtime_read_file(NULL, TENON_SOURCE_DIR "/tests/schedule/subjects.txt", NULL);
  char *page = runtime_read_file(NULL, TENON_SOURCE_DIR "/docs/from-tvm.md", NULL);
  int n_subjects = 0, n_names = 0;
  assert_non_null(text);
  assert_non_null(page);
  for (char *line = text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = 0;
    if (*line == 0 || *line == '#' || *line == '=') continue;
    n_names += check_subject(line, page);
    n_subjects++;
  }
  assert_true(n_subjects >= LEAST_SUBJECTS && n_names >= LEAST_GOLDENS);
  free(text);
  free(page);
}

int test_subjects(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(every_subject)};
  return CHECK_TESTS("subjects", tests);
}
