/* pipeline.c: the passes in their order, with dumps, times and checks between them; passes by name. A
 * pass is a function from tir_func to tir_func, and this file is the only one that knows their order. */
#include <stdio.h>

#include <limits.h>
#include "runtime/profiler/profiler.h"

#include "tir/passes.h"

/* Guards are made movable and moved (simplify, hoist), peeled loops parted, what became constant removed; then indices
 * are flat and simple, so that vectors are ramps; then loops are expanded. */
#define PASS(name) {#name, tir_pass_##name}
const tir_pass tir_passes[] = {
    PASS(virtual_threads), PASS(double_buffer), PASS(loop_kinds),   PASS(guard_loads),  PASS(simplify),
    PASS(hoist_guards),    PASS(partition),     PASS(simplify),     PASS(hoist_guards), PASS(tighten_loops),
    PASS(simplify),        PASS(flatten),       PASS(tensorize),    PASS(widen_copies), PASS(vectorize),
    PASS(register_tiles),  PASS(unroll),        PASS(dead_lanes),   PASS(read_once),    PASS(signed_dots),
    PASS(flip_copies),     PASS(unswitch),      PASS(remove_noops), {NULL, NULL},
};
#undef PASS

const tir_pass_line tir_pass_lines[TIR_PASS_COUNT] = {
#define X(name, summary) {#name, summary},
    TIR_PASSES(X)
#undef X
};

/* ---- dumps and times --------------------------------------------------------------------------------------------- */

/* The IR after a pass, for those that the debug option names; BEFORE is NULL at the start. */
static void dump(tir_pass_context *p, const char *name, const tir_func *before, const tir_func *after) {
  if (!runtime_debug_wants(p->ctx, name, NULL)) return;
  if (before != NULL && before->body == after->body) {
    runtime_say(p->ctx, TN_SEVERITY_INFO, "after %s: (unchanged)", name);
    return;
  }
  runtime_str text = runtime_str_limited(p->ctx);
  tir_print_func(&text, after);
  runtime_say(p->ctx, TN_SEVERITY_INFO, "after %s:\n%s", name,
              text.failed ? "(no memory, or longer than the limit text_bytes)" : text.data);
  runtime_str_free(&text);
}

void tir_say_time(const tn_context *ctx, const char *what, uint64_t start_ns, bool unchanged) {
  if (!runtime_debug_wants(ctx, "time", NULL)) return;
  runtime_say((tn_context *)ctx, TN_SEVERITY_INFO, "time: %8.1f us  %s%s", (double)(runtime_now_ns() - start_ns) * 1e-3,
              what, unchanged ? " (unchanged)" : "");
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* One event of a recording and one line of the debug option "time". */
static tir_func *time_pass(tir_pass_context *p, const tir_pass *pass, tir_func *f) {
  TN_SCOPE_AS(scope, COMPILE, 3, pass->name);
  uint64_t start = runtime_now_ns();
  tir_func *after = pass->run(p, f);
  if (after != NULL) tir_say_time(p->ctx, pass->name, start, after->body == f->body);
  return after;
}

/* Runs, dumps and, where the options ask, checks. */
static tir_func *run_pass(tir_pass_context *p, const tir_pass *pass, tir_func *f) {
  tir_func *after = time_pass(p, pass, f);
  if (after == NULL) return NULL;
  if (p->arena->failed) { /* a pass may leave out what it has no memory for, and tells nobody */
    runtime_fail(p->ctx, TN_ERROR_MEMORY, "out of memory in the pass %s of \"%s\"", pass->name, f->name);
    return NULL;
  }
  dump(p, pass->name, f, after);
  if (!p->options.check || after == f || tir_check(p->ctx, after) == TN_OK) return after;
  runtime_say(p->ctx, TN_SEVERITY_ERROR, "the pass %s broke the loop IR", pass->name);
  return NULL;
}

/* simplify stands in the list several times. Where nothing changed since its last turn it is left out,
 * for it is idempotent and the most expensive pass. */
static tir_func *run(tir_pass_context *p, tir_func *f) {
  uint64_t start = runtime_now_ns();
  dump(p, "lower", NULL, f);
  if (p->options.check && tir_check(p->ctx, f) != TN_OK) return NULL;
  const tir_stmt *simple = NULL; /* the body that simplify last gave */
  for (const tir_pass *pass = tir_passes; f != NULL && pass->run != NULL; pass++) {
    bool simplifies = pass->run == tir_pass_simplify;
    if (simplifies && f->body == simple)
      dump(p, pass->name, f, f);
    else
      f = run_pass(p, pass, f);
    if (simplifies && f != NULL) simple = f->body;
  }
  if (f != NULL) tir_say_time(p->ctx, "all passes", start, false);
  return f;
}

enum { DEFAULT_MAX_UNROLLED_BODY = 4096 };

/* A copy, so that the caller's options stay as they were. */
static tir_pass_context with_defaults(const tir_pass_context *p) {
  tir_pass_context own = *p;
  if (own.options.max_unrolled_body == 0) own.options.max_unrolled_body = DEFAULT_MAX_UNROLLED_BODY;
  return own;
}

tir_func *tir_run_pipeline(tir_pass_context *p, tir_func *f) {
  tir_pass_context own = with_defaults(p);
  return run(&own, f);
}

/* For questions about the middle of the pipeline: no dumps, no checks, no times. */
tir_func *tir_run_through(tir_pass_context *p, tir_func *f, const char *last) {
  tir_pass_context own = with_defaults(p);
  for (const tir_pass *pass = tir_passes; f != NULL && pass->run != NULL; pass++) {
    f = pass->run(&own, f);
    if (strcmp(pass->name, last) == 0) break;
  }
  return f;
}

/* By the name that lowering gave it: the IR has no flag that passes would have to keep. */
bool tir_is_init_loop(const tir_stmt *loop) {
  size_t n = strlen(loop->u.loop.var->name);
  return n > 5 && strcmp(loop->u.loop.var->name + n - 5, ".init") == 0;
}

/* ---- passes by name ---------------------------------------------------------------------------------------------- */

enum { MAX_NAME = 16 };

/* The nearest name is given however far it is: there are few. */
static tir_func *no_such_pass(tir_pass_context *p, const char *name) {
  runtime_nearest near = {.typed = name, .distance = INT_MAX};
  for (int i = 0; i < TIR_PASS_COUNT; i++) runtime_nearest_offer(&near, tir_pass_lines[i].name);
  runtime_fail(p->ctx, TN_ERROR_ARGUMENT, "there is no pass '%s'; the nearest name is '%s'", name, near.word);
  return NULL;
}

/* "all" runs the pipeline; a single name one pass, wherever its place there is. */
static tir_func *run_named(tir_pass_context *p, tir_func *f, const char *name) {
  if (strcmp(name, "all") == 0) return run(p, f);
  for (const tir_pass *pass = tir_passes; pass->run != NULL; pass++) {
    if (strcmp(pass->name, name) == 0) return run_pass(p, pass, f);
  }
  return no_such_pass(p, name);
}

/* A name longer than MAX_NAME is cut and then unknown, which is the same answer. */
tir_func *tir_run_passes(tir_pass_context *p, tir_func *f, const char *names) {
  tir_pass_context own = with_defaults(p);
  char name[MAX_NAME + 1];
  own.options.check = true;
  for (size_t n; f != NULL && (n = strcspn(names, ",")) > 0; names += n + (names[n] == ',')) {
    snprintf(name, sizeof name, "%.*s", (int)n, names);
    f = run_named(&own, f, name);
  }
  return f;
}
