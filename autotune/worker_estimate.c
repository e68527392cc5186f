/* worker_estimate.c: how long the unscheduled program would take, without running all of it. Its loop nests
 * are cut short, each to the same share, and what is left is timed. Buffers keep their shapes, so that
 * memory is walked as it would be. */
#include <math.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"

/* How many stores the part may execute; a program with no more is not cut. */
static const double part_stores = 4e6;

/* ---- counting and cutting ---------------------------------------------------------------------------------------- */

/* A loop whose extent is not constant counts as one iteration. The share of work is then overestimated, and
 * the time underestimated. */
static double extent_of(const tir_stmt *loop) {
  int64_t extent;
  return tir_is_int(loop->u.loop.extent, &extent) ? (double)extent : 1;
}

/* How many stores, prefetches and calls S executes; of an if, both branches count. */
static double stores_of(const tir_stmt *s) {
  double sum = 0;
  switch (s->kind) {
    case TIR_FOR: return extent_of(s) * stores_of(s->u.loop.body);
    case TIR_IF:
      return stores_of(s->u.branch.then_body) + (s->u.branch.else_body ? stores_of(s->u.branch.else_body) : 0);
    case TIR_ALLOC: return stores_of(s->u.alloc.body);
    case TIR_ATTR: return stores_of(s->u.attr.body);
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; ++i) sum += stores_of(s->u.seq.stmts[i]);
      return sum;
    case TIR_STORE:
    case TIR_PREFETCH:
    case TIR_CALL: return 1;
    case TIR_NOP: return 0;
  }
  return 0;
}

static const tir_stmt *cut(runtime_arena *arena, const tir_stmt *s, double share);

/* Outer loops are cut first, to a single iteration if need be, and only then the loops inside. So inner
 * loops keep walking memory in their way. The result may keep more than SHARE, since a loop runs at least
 * once. */
static const tir_stmt *cut_loop(runtime_arena *arena, const tir_stmt *s, double share) {
  double extent = extent_of(s), kept = fmax(1, ceil(extent * share));
  const tir_stmt *body = s->u.loop.body;
  if (kept >= extent && extent > 1) return s;
  if (kept == 1) body = cut(arena, body, fmin(1, share * extent));
  const tir_expr *bound = tir_int(arena, s->u.loop.var->dtype, (int64_t)kept);
  return tir_for(arena, s->u.loop.var, s->u.loop.min, bound, s->u.loop.kind, body);
}

/* Cuts each nest to the same share, so that their proportions stay. */
static const tir_stmt *cut_all(runtime_arena *arena, const tir_stmt *s, double share) {
  const tir_stmt **parts = RUNTIME_NEW_ARRAY(arena, const tir_stmt *, s->u.seq.n);
  for (int i = 0; parts && i < s->u.seq.n; ++i) parts[i] = cut(arena, s->u.seq.stmts[i], share);
  return parts ? tir_seq(arena, s->u.seq.n, parts) : NULL;
}

/* S with the first SHARE of each of its loop nests. */
static const tir_stmt *cut(runtime_arena *arena, const tir_stmt *s, double share) {
  switch (s->kind) {
    case TIR_FOR: return cut_loop(arena, s, share);
    case TIR_ALLOC: return tir_alloc(arena, s->u.alloc.buffer, cut(arena, s->u.alloc.body, share));
    case TIR_ATTR: return tir_attr(arena, s->u.attr.key, s->u.attr.value, cut(arena, s->u.attr.body, share));
    case TIR_SEQ: return cut_all(arena, s, share);
    case TIR_IF:
    case TIR_STORE:
    case TIR_PREFETCH:
    case TIR_CALL:
    case TIR_NOP: return s;
  }
  return s;
}

/* ---- the part as a kernel ---------------------------------------------------------------------------------------- */

/* Sets *SHARE to what is left, counted after the cut: rounding up may leave much more than was asked for. */
tir_func *worker_lower_part(worker_program *p, const tn_schedule *schedule, double *share) {
  tir_func *f = schedule_lower(schedule, WORKER_SYMBOL, &p->scratch);
  *share = 1;
  if (!f) return NULL;
  double whole = stores_of(f->body);
  if (whole > part_stores) {
    f->body = cut(&p->scratch, f->body, part_stores / whole);
    *share = f->body ? stores_of(f->body) / whole : 1;
  }
  if (!f->body) return NULL;
  tir_pass_context passes = {.ctx = p->ctx, .arena = &p->scratch, .options = codegen_pass_options(p->target)};
  return tir_run_pipeline(&passes, f);
}

/* The second call counts: the first also pays for fresh pages. */
bool worker_estimate(worker_program *p, worker_data *data, worker_answer *answer, double *seconds) {
  double share = 1;
  tn_schedule *schedule = tn_schedule_new(p->program);
  tn_kernel *kernel = schedule ? worker_kernel(p, schedule, &share, answer) : NULL;
  bool called = kernel != NULL;
  for (int i = 0; called && i < 2; ++i) {
    uint64_t start = runtime_now_ns();
    called = runtime_call_quiet(p->ctx, kernel, data->args, data->n_args) == TN_OK;
    *seconds = (double)(runtime_now_ns() - start) * 1e-9 / share;
  }
  tn_kernel_free(kernel);
  tn_schedule_free(schedule);
  worker_lap(answer, WORKER_ARGUMENTS);
  return called || worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
}
