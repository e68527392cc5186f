/* Cases of a pass: text in, text out, and the same effect on memory before and after. tests/golden/tir/passes/PASS.txt
 * has them, each
 *
 *     === what it shows
 *     primfn(...                     loop IR before
 *     --- pass,pass                  what is run on it
 *     primfn(...                     loop IR after, or "(unchanged)"; then what was said
 *
 * TENON_UPDATE_GOLDEN=1 rewrites what stands behind the dashes. */
#include "tests/tir/tests.h"

enum { LEAST_CASES = 6, MAX_UNROLLED_BODY = 100 };

/* A file's text being written anew, case by case. */
typedef struct cases {
  const char *pass;
  prepare_fn prepare;
  runtime_str out;
  int n, n_unchanged;
} cases;

/* The line at *AT without its end; *AT moves to the next. */
static char *take_line(runtime_arena *arena, const char **at) {
  size_t n = strcspn(*at, "\n");
  char *line = runtime_strndup(arena, *at, n);
  *at += n + ((*at)[n] == '\n');
  return line;
}

/* Up to the next line that begins with MARK. */
static char *take_until(runtime_arena *arena, const char **at, const char *mark) {
  const char *start = *at;
  while (**at != 0 && strncmp(*at, mark, strlen(mark)) != 0) take_line(arena, at);
  return runtime_strndup(arena, start, (size_t)(*at - start));
}

/* Runs a case and appends it as it should stand in the file. */
static void run_case(cases *c, runtime_arena *arena, const char *name, const char *in, const char *passes) {
  tn_context *ctx = check_context();
  tir_pass_context p = {.ctx = ctx, .arena = arena, .options = {.max_unrolled_body = MAX_UNROLLED_BODY}};
  tir_func *before = tir_parse_func(ctx, arena, in);
  check_ok(ctx);
  if (c->prepare != NULL) c->prepare(ctx, arena, before);
  tir_func *after = tir_run_passes(&p, before, passes);
  check_ok(ctx);
  runtime_str_addf(&c->out, "%s\n%s--- %s\n", name, in, passes);
  bool unchanged = before->body == after->body;
  if (unchanged)
    runtime_str_add(&c->out, "(unchanged)\n");
  else
    tir_print_func(&c->out, after);
  runtime_str_add(&c->out, check_messages(ctx));
  const char *difference = same_effect(before, after, 1);
  if (difference != NULL) fail_msg("%s: %s", name, difference);
  c->n++;
  c->n_unchanged += unchanged;
  check_context_free(ctx);
}

void check_pass_cases(const char *pass, prepare_fn prepare) {
  cases c = {.pass = pass, .prepare = prepare};
  runtime_arena arena = {0};
  char file[64], path[4096];
  snprintf(file, sizeof file, "tir/passes/%s.txt", c.pass);
  snprintf(path, sizeof path, "%s/%s", TENON_GOLDEN_DIR, file);
  char *text = runtime_read_file(NULL, path, NULL);
  if (text == NULL) fail_msg("%s: every pass has a file of cases", path);
  for (const char *at = text; *at != 0;) {
    const char *name = take_line(&arena, &at), *in = take_until(&arena, &at, "--- ");
    const char *passes = take_line(&arena, &at) + strlen("--- ");
    take_until(&arena, &at, "=== ");
    if (strstr(passes, c.pass) == NULL) fail_msg("%s: \"%s\" does not run the pass", file, name);
    run_case(&c, &arena, name, in, passes);
  }
  check_golden(file, c.out.data);
  if (c.n < LEAST_CASES || c.n_unchanged == 0)
    fail_msg("%s has %d cases, %d of them unchanged: %d and 1 are the least", file, c.n, c.n_unchanged, LEAST_CASES);
  free(text);
  runtime_str_free(&c.out);
  runtime_arena_free(&arena);
}
