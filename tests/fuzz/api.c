/* test_fuzz --api N SEED: a C program that makes N random schedules by the calls that TN_FORM_API prints, and compares
 * the loop IR of each with what it should be. tests/scripts/schedule_api.sh compiles and runs it. */
#include <stdio.h>

#include "tests/fuzz/fuzz.h"

static void print_quoted(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '\n')
      fputs("\\n\"\n      \"", stdout);
    else
      printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  }
  putchar('"');
}

/* One function; false: nothing that can be compared came of these numbers. */
static bool print_one(uint64_t seed, int number) {
  runtime_rng rng = {seed};
  runtime_str program = {0}, text = {0};
  fuzz_counts counts = {0};
  tn_context *ctx = tn_context_new(NULL);
  fuzz_generate(&rng, &program);
  tn_program *p = tn_program_parse(ctx, program.data, 0, NULL);
  tn_schedule *s = tn_schedule_new(p);
  bool drawn = s && !fuzz_draw_schedule(&rng, s, &text, &counts) && s->n_steps > 0;
  char *calls = drawn ? tn_schedule_print(s, TN_FORM_API) : NULL,
       *tir = calls ? tn_schedule_print(s, TN_FORM_TIR) : NULL;
  if (tir) {
    printf("static int schedule_%d(void) {\n  tn_context *ctx = tn_context_new(NULL);\n", number);
    printf("  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx,\n      ");
    print_quoted(program.data);
    printf(",\n      0, NULL));\n%s", calls);
    printf("  return compare(ctx, s, %d,\n      ", number);
    print_quoted(tir);
    printf(");\n}\n\n");
  }
  bool done = tir != NULL;
  free(calls);
  free(tir);
  runtime_str_free(&program);
  runtime_str_free(&text);
  tn_context_free(ctx);
  return done;
}

static const char head[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <tenon/tenon.h>\n\n"
    "static int compare(tn_context *ctx, tn_schedule *s, int number, const char *expected) {\n"
    "  char *text = tn_schedule_print(s, TN_FORM_TIR);\n"
    "  int wrong = text == NULL || strcmp(text, expected) != 0;\n"
    "  if (wrong) printf(\"schedule %d: %s\\n\", number, text ? text : tn_context_message(ctx));\n"
    "  free(text);\n  tn_context_free(ctx);\n  return wrong;\n}\n\n";

int fuzz_print_api(int n, uint64_t seed) {
  int made = 0;
  fputs(head, stdout);
  for (uint64_t i = 0; made < n && i < 100 * (uint64_t)n; i++) made += print_one(seed * 1000003 + i, made);
  printf("int main(void) {\n  int wrong = 0;\n");
  for (int i = 0; i < made; i++) printf("  wrong += schedule_%d();\n", i);
  printf("  printf(\"%d schedules, %%d differ\\n\", wrong);\n  return wrong != 0;\n}\n", made);
  return made < n;
}
