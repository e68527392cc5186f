/* pipeline.c: the passes in their order, with dumps and checks between them. */
#include "runtime/profiler/profiler.h"
#include "tir/passes.h"

/* Guards are made movable and moved (simplify, hoist), peeled loops parted, what became constant removed; then indices
 * are flat and simple, so that vectors are ramps; then loops are expanded. */
const tir_pass tir_passes[] = {
    {"loop_kinds", tir_pass_loop_kinds},
    {"guard_loads", tir_pass_guard_loads},
    {"simplify", tir_pass_simplify},
    {"hoist_guards", tir_pass_hoist_guards},
    {"partition", tir_pass_partition},
    {"simplify", tir_pass_simplify},
    {"hoist_guards", tir_pass_hoist_guards},
    {"tighten_loops", tir_pass_tighten_loops},
    {"simplify", tir_pass_simplify},
    {"flatten", tir_pass_flatten},
    {"tensorize", tir_pass_tensorize},
    {"vectorize", tir_pass_vectorize},
    {"register_tiles", tir_pass_register_tiles},
    {"unroll", tir_pass_unroll},
    {"remove_noops", tir_pass_remove_noops},
    {NULL, NULL},
};

/* The IR after a pass, for those that the debug option names; BEFORE is NULL at the start. */
static void dump(tir_pass_context *p, const char *name, const tir_func *before, const tir_func *after) {
  if (!runtime_debug_wants(p->ctx, name, NULL)) return;
  if (before != NULL && before->body == after->body) {
    runtime_say(p->ctx, TN_SEVERITY_INFO, "after %s: (unchanged)", name);
    return;
  }
  runtime_str text = {0};
  tir_print_func(&text, after);
  if (!text.failed) runtime_say(p->ctx, TN_SEVERITY_INFO, "after %s:\n%s", name, text.data);
  runtime_str_free(&text);
}

static tir_func *run_pass(tir_pass_context *p, const tir_pass *pass, tir_func *f) {
  TN_SCOPE_AS(scope, COMPILE, 3, pass->name);
  return pass->run(p, f);
}

static tir_func *run(tir_pass_context *p, tir_func *f) {
  dump(p, "lower", NULL, f);
  if (p->options.check && tir_check(p->ctx, f) != TN_OK) return NULL;
  const tir_stmt *simple = NULL; /* the body that simplify last gave */
  for (const tir_pass *pass = tir_passes; pass->run != NULL; pass++) {
    bool simplifies = pass->run == tir_pass_simplify;
    tir_func *after = simplifies && f->body == simple ? f : run_pass(p, pass, f);
    if (after == NULL) return NULL;
    if (simplifies) simple = after->body;
    dump(p, pass->name, f, after);
    if (p->options.check && after != f && tir_check(p->ctx, after) != TN_OK) {
      runtime_say(p->ctx, TN_SEVERITY_ERROR, "the pass %s broke the loop IR", pass->name);
      return NULL;
    }
    f = after;
  }
  return f;
}

enum { DEFAULT_MAX_UNROLLED_BODY = 4096 };

static tir_pass_context with_defaults(const tir_pass_context *p) {
  tir_pass_context own = *p;
  if (own.options.max_unrolled_body == 0) own.options.max_unrolled_body = DEFAULT_MAX_UNROLLED_BODY;
  return own;
}

tir_func *tir_run_pipeline(tir_pass_context *p, tir_func *f) {
  tir_pass_context own = with_defaults(p);
  return run(&own, f);
}

tir_func *tir_run_through(tir_pass_context *p, tir_func *f, const char *last) {
  tir_pass_context own = with_defaults(p);
  for (const tir_pass *pass = tir_passes; f != NULL && pass->run != NULL; pass++) {
    f = pass->run(&own, f);
    if (strcmp(pass->name, last) == 0) break;
  }
  return f;
}
