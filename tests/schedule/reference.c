/* What derives from the table of primitives outside of the code: the table at the end of docs/schedule.md, which `make
 * golden` rewrites, and that each primitive has a section there and a prototype. */
#include "schedule/call.h"
#include "tests/schedule/tests.h"

#define PAGE "../../docs/schedule.md"
#define BEGIN "<!-- primitives: written by make golden -->\n"
#define END "<!-- primitives: end -->\n"

static char *read_text(const char *path) {
  char full[4096];
  snprintf(full, sizeof full, "%s/%s", TENON_GOLDEN_DIR, path);
  char *text = runtime_read_file(NULL, full, NULL);
  if (!text) fail_msg("cannot read %s", full);
  return text;
}

static const char *field_words(char field) {
  static const char *const words[] = {"sstage",  "iiter",   "Starget stage",   "Itarget iter", "vvalue",   "Vvalue",
                                      "l[list]", "L[list]", "oinner_to_outer", "t\"tail\"",    "x\"text\""};
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (words[i][0] == field) return words[i] + 1;
  fail_msg("field '%c' has no words", field);
  return NULL;
}

/* `["SP", stage, iter, ...]`, or that others' are recorded. */
static void add_json(runtime_str *out, const schedule_primitive *row) {
  const schedule_primitive *step = schedule_row_of(&(schedule_step){.kind = (uint8_t)row->kind, .value = -1});
  if (!step) {
    runtime_str_add(out, "those that it is made of");
    return;
  }
  runtime_str_addf(out, "`[\"%s\"", step->mnemonic);
  for (const char *field = step->fields; *field; field++) {
    runtime_str_add(out, ", ");
    if (*field == 'v' && row->least == row->most)
      runtime_str_addf(out, "%lld", (long long)row->least);
    else
      runtime_str_add(out, field_words(*field));
  }
  runtime_str_add(out, "]`");
}

static void page(void **state) {
  (void)state;
  char *old = read_text(PAGE), *begin = strstr(old, BEGIN), *end = strstr(old, END);
  assert_true(begin && end && begin < end);
  runtime_str text = {0};
  runtime_str_addn(&text, old, (size_t)(begin + strlen(BEGIN) - old));
  runtime_str_add(&text, "| primitive | step | what it does |\n| --- | --- | --- |\n");
  for (int i = 0; i < SCHEDULE_WORD_COUNT; i++) {
    const schedule_primitive *row = &schedule_rows[i];
    if (!row->usage) continue;
    runtime_str_addf(&text, "| `%s` | ", row->usage);
    add_json(&text, row);
    runtime_str_addf(&text, " | %s |\n", row->about);
  }
  runtime_str_add(&text, end);
  check_golden(PAGE, text.data);
  runtime_str_free(&text);
  free(old);
}

/* A section, a prototype, and a usage that begins with the word. */
static void rows_are_told_of(void **state) {
  (void)state;
  char *docs = read_text(PAGE), *header = read_text("../../schedule/schedule.h"), wanted[256];
  for (int i = 0; i < SCHEDULE_WORD_COUNT; i++) {
    const schedule_primitive *row = &schedule_rows[i];
    if (!row->usage) continue;
    snprintf(wanted, sizeof wanted, "\n### %s\n", row->word);
    check_has(docs, wanted);
    snprintf(wanted, sizeof wanted, " tn_%s", row->word);
    check_has(header, wanted);
    snprintf(wanted, sizeof wanted, "%s(", row->word);
    assert_memory_equal(row->usage, wanted, strlen(wanted));
  }
  free(docs);
  free(header);
}

int test_reference(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(page), cmocka_unit_test(rows_are_told_of)};
  return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
