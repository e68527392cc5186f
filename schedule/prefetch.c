/* prefetch.c: the primitive prefetch: at a loop, the region of a tensor that a later iteration reads, of this loop or
 * of one around it, is asked for, a cache line at a time, before the loop's body (TVM: Stage::prefetch, InjectPrefetch;
 * Halide: Func::prefetch with `at` and `from`). */
#include <assert.h>

#include "schedule/index.h"
#include "schedule/layout.h"

enum { MAX_OFFSET = 1 << 20, LINE_BYTES = 64, FEW_LINES = 8 };

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* Whether something that runs inside the loop reads the tensor. */
static bool is_read_inside(const tn_schedule *s, int stage, int iter, int tensor) {
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, tensor, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++)
    if (schedule_inside(s, readers[i], stage) >= iter) return true;
  return false;
}

/* Whether what lies in a cache line of the tensor in row-major order does so in this layout, too: panels of whole lines. */
static bool keeps_lines(const char *text, const tn_tensor *tensor) {
  schedule_layout layout;
  const char *where;
  if (!text) return true;
  if (schedule_layout_read(text, &layout, &where)) return false;
  const schedule_digit *last = &layout.digits[layout.n_out - 1];
  int64_t line = RUNTIME_MAX(LINE_BYTES / (int64_t)tn_dtype_bytes(tensor->dtype), 1);
  return last->dim == layout.n_in - 1 && last->divisor <= 1 && last->modulus % line == 0;
}

/* The iteration is one of loop OF_ITER of stage OF. */
static tn_status check_tensor(const schedule_call *c, int of_stage, int of_iter, int tensor) {
  tn_schedule *s = c->s;
  if (tensor < 0 || tensor >= s->n_stages)
    return schedule_refuse(c, "there is no stage %d: take 0 to %d", tensor, s->n_stages - 1);
  const schedule_stage *of = &s->stages[tensor];
  const char *name = schedule_stage_name(of), *axis = schedule_leaf(&s->stages[of_stage], of_iter)->name;
  if (of->tensors->by_value)
    return schedule_refuse(c, "%s is a scalar: it is passed by value and lies in a register; name a tensor", name);
  if (of->attach == SCHEDULE_INLINED)
    return schedule_refuse(c, "%s is inlined and lies nowhere in memory: name what it reads, or call compute_root(%s)",
                           name, name);
  if (of->attach == SCHEDULE_AT && schedule_inside(s, tensor, of_stage) >= of_iter)
    return schedule_refuse(c,
                           "%s is computed inside loop %s, so that a later iteration's part is not in memory: name "
                           "what it reads, or call compute_root(%s)",
                           name, axis, name);
  if (!keeps_lines(of->layout, of->tensors))
    return schedule_refuse(
        c,
        "the layout of %s is %s, in which a line of its rows lies in pieces: use one of prefetch and "
        "transform_layout, or a layout whose last part is %d bytes of the last dimension or a "
        "multiple of it, as [i, j] -> [j//16, i, j%%16] for f32",
        name, of->layout, LINE_BYTES);
  return TN_OK;
}

/* Whether loop OF_ITER of stage OF is loop ITER of STAGE or one around it. */
static bool is_around(const tn_schedule *s, int of, int of_iter, int stage, int iter) {
  return of == stage ? of_iter <= iter : schedule_inside(s, stage, of) >= of_iter;
}

/* Iterations of a loop further out can be counted; those of one further in have no later one here. */
static tn_status check_of(const schedule_call *c, int of, int of_iter, int stage, int iter) {
  tn_schedule *s = c->s;
  SCHEDULE_TRY(schedule_check_iter(c, of, of_iter));
  if (is_around(s, of, of_iter, stage, iter)) return TN_OK;
  const schedule_stage *st = &s->stages[stage];
  return schedule_refuse(
      c, "loop %s of %s is not around loop %s of %s: name a loop of %s outside of it, or one that %s is computed in",
      schedule_leaf(&s->stages[of], of_iter)->name, schedule_stage_name(&s->stages[of]), schedule_leaf(st, iter)->name,
      schedule_stage_name(st), schedule_stage_name(st), schedule_stage_name(st));
}

/* 0 would ask for what is read at once. */
static tn_status check_offset(const schedule_call *c, int64_t offset) {
  if (offset >= 1 && offset <= MAX_OFFSET) return TN_OK;
  return schedule_refuse(c, "offset %lld: a prefetch is for a later iteration; give 1 to %d iterations",
                         (long long)offset, MAX_OFFSET);
}

/* A list of the loop's own position is dropped: it says what holds without it. */
tn_status schedule_check_prefetch(schedule_call *c) {
  int stage = c->step.stage, iter = c->step.iter, tensor = c->step.target_stage;
  if (c->step.n != 0 && c->step.n != 2)
    return schedule_refuse(c, "a list of %d numbers: write [stage, loop]", c->step.n);
  int of = c->step.n ? (int)c->step.list[0] : stage, of_iter = c->step.n ? (int)c->step.list[1] : iter;
  if (of == stage && of_iter == iter) c->step.n = 0;
  tn_schedule *s = c->s;
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  SCHEDULE_TRY(schedule_check_outside(c, stage, iter));
  SCHEDULE_TRY(check_of(c, of, of_iter, stage, iter));
  SCHEDULE_TRY(check_tensor(c, of, of_iter, tensor));
  const schedule_stage *st = &s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *name = schedule_stage_name(&s->stages[tensor]);
  if (!is_read_inside(s, stage, iter, tensor))
    return schedule_refuse(c, "nothing inside loop %s of %s reads %s: name a tensor that is read there", axis->name,
                           schedule_stage_name(st), name);
  SCHEDULE_TRY(check_offset(c, c->step.value));
  for (int i = 0; i < st->n_prefetches; i++)
    if (st->prefetches[i].axis == st->leaves[iter] && st->prefetches[i].tensor == s->stages[tensor].tensors)
      return schedule_refuse(c, "loop %s already prefetches %s (offset %d): give one offset", axis->name, name,
                             st->prefetches[i].offset);
  return TN_OK;
}

/* Splitting such a loop would lose the request. */
bool schedule_has_prefetch(const schedule_stage *st, int axis) {
  for (int i = 0; i < st->n_prefetches; i++)
    if (st->prefetches[i].axis == axis) return true;
  return false;
}

/* Then records leave the loop out. */
bool schedule_is_of_own(const schedule_stage *st, const schedule_prefetch_request *p) {
  return p->of == st->tensors && p->of_axis == p->axis;
}

/* "?": that loop was split since. */
const char *schedule_of_name(const tn_schedule *s, const schedule_prefetch_request *p) {
  const schedule_stage *of = &s->stages[schedule_stage_of_tensor(s, p->of)];
  return p->of_axis < of->n_axes ? of->axes[p->of_axis].name : "?";
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* Invariant: a prefetch changes no value, and names elements of the tensor only. */
bool schedule_rewrite_prefetch(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  const schedule_stage *of = c->step.n ? &c->s->stages[c->step.list[0]] : st;
  schedule_prefetch_request *grown = RUNTIME_NEW_ARRAY(&c->s->arena, schedule_prefetch_request, st->n_prefetches + 1);
  if (!grown) return false;
  if (st->n_prefetches) memcpy(grown, st->prefetches, sizeof *grown * (size_t)st->n_prefetches);
  grown[st->n_prefetches++] =
      (schedule_prefetch_request){.tensor = c->s->stages[c->step.target_stage].tensors,
                                  .axis = st->leaves[c->step.iter],
                                  .offset = (int32_t)c->step.value,
                                  .of = of->tensors,
                                  .of_axis = of->leaves[c->step.n ? c->step.list[1] : c->step.iter]};
  st->prefetches = grown;
  return true;
}

tn_status tn_prefetch(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset) {
  return SCHEDULE_CALL(s, prefetch, schedule_name(stage), schedule_name(tensor), schedule_name(axis),
                       schedule_number(offset));
}
tn_status tn_prefetch_of(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset,
                         const char *reader, const char *loop) {
  return SCHEDULE_CALL(s, prefetch, schedule_name(stage), schedule_name(tensor), schedule_name(axis),
                       schedule_number(offset), schedule_name(reader), schedule_name(loop));
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* While lowering: what a request counts on may have been rescheduled since. */
static void warn(lowering *l, const lower_stage *ls, const schedule_prefetch_request *p, const char *why) {
  schedule_lowering_warn(l, "prefetch(%s, %s, %s) has no effect: %s", schedule_stage_name(ls->st), p->tensor->name,
                         ls->st->axes[p->axis].name, why);
}

/* The variable of the loop whose iterations a request counts. NULL: that loop is not around loop LEAF any more. */
static const lower_var *counted(const lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p,
                                int *of, int *of_iter) {
  *of = schedule_stage_of_tensor(l->s, p->of);
  *of_iter = schedule_leaf_position(&l->s->stages[*of], p->of_axis);
  if (*of_iter < 0 || !is_around(l->s, *of, *of_iter, (int)(ls - l->stages), leaf)) return NULL;
  return l->stages[*of].var[*of_iter];
}

/* Why there is nothing to prefetch, or NULL: then VAR is the variable that it is read later in. */
static const char *objection(lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p,
                             const lower_stage *from, const lower_var **var) {
  int stage = (int)(ls - l->stages), of = (int)(from - l->stages), counts, counts_iter;
  *var = counted(l, ls, leaf, p, &counts, &counts_iter);
  if (!*var) return "the loop whose later iteration it is for is not around it any more";
  if ((*var)->extent == 1) return "the loop has one iteration";
  if (from->st->attach == SCHEDULE_INLINED) return "the tensor is inlined";
  if (!keeps_lines(from->st->layout, p->tensor)) return "the tensor's layout does not keep lines together";
  if (from->st->attach == SCHEDULE_AT && schedule_inside(l->s, of, counts) >= counts_iter)
    return "the tensor is computed inside the loop";
  return is_read_inside(l->s, stage, leaf, of) ? NULL : "nothing inside the loop reads the tensor any more";
}

/* In the index dtype. */
static const tir_expr *number(lowering *l, int64_t value) { return schedule_index_int(l, value); }

/* min(max(e, 0), extent - length) as far as that cannot be proved. */
static const tir_expr *clamped(lowering *l, const tir_env *env, const tir_expr *e, const tir_expr *extent,
                               int64_t length) {
  e = tir_binary(l->arena, TIR_MAX, e, number(l, 0));
  const tir_expr *last = tir_binary(l->arena, TIR_SUB, extent, number(l, length));
  return tir_simplify(l->arena, env, tir_binary(l->arena, TIR_MIN, e, last));
}

/* FIRST + LINE * STEP, COUNT of them from 0 on, within a dimension of MOST elements, or of SIZE where symbols decide: all of
 * them move together where they fit, so that what is within is the same for all. */
static const tir_expr *within(lowering *l, const tir_env *env, int64_t most, const tir_expr *size,
                              const tir_expr *first, const tir_expr *line, int64_t step, int64_t count) {
  int64_t length = (count - 1) * step + 1;
  bool fits = !size && length <= most;
  const tir_expr *extent = schedule_extent(l, most, size);
  const tir_expr *at = tir_binary(l->arena, TIR_MUL, line, number(l, step));
  if (count == 1) return clamped(l, env, first, extent, 1);
  if (!fits) return clamped(l, env, tir_binary(l->arena, TIR_ADD, first, at), extent, 1);
  return tir_simplify(l->arena, env, tir_binary(l->arena, TIR_ADD, clamped(l, env, first, extent, length), at));
}

/* BODY in loops over COUNT, which are written out where they are short. */
static const tir_stmt *in_loops(lowering *l, int n, lower_var *const *var, const int64_t *count, const tir_stmt *body) {
  int64_t lines = 1;
  assert(n >= 0 && n <= TN_MAX_RANK);
  for (int i = n - 1; i >= 0; i--) {
    if (count[i] == 1) continue;
    lines = RUNTIME_MIN(lines, FEW_LINES) * RUNTIME_MIN(count[i], FEW_LINES + 1);
    tir_loop_kind kind = lines <= FEW_LINES ? TIR_UNROLLED : TIR_SERIAL;
    body = tir_for(l->arena, &var[i]->var, number(l, 0), number(l, count[i]), kind, body);
  }
  return body;
}

/* Whose turn it is: TURN, one of N; NULL: there are none. */
typedef struct turns {
  const tir_expr *turn;
  int64_t n;
} turns;

/* Iterations one after the other, on one thread. */
static bool is_loop(const lower_stage *ls, int leaf) {
  int kind = schedule_leaf(ls->st, leaf)->annotation;
  return ls->var[leaf]->extent > 1 && (kind == SCHEDULE_NONE || kind == SCHEDULE_UNROLL);
}

/* A loop around a request, in which the same is asked for in each iteration; threads have caches of their own. */
static bool repeats(const lower_stage *ls, int leaf, int ndim, const schedule_box *box) {
  const lower_var *v = ls->var[leaf];
  bool is_same = is_loop(ls, leaf) && !v->size;
  for (int i = 0; i < ndim; i++) is_same = is_same && !tir_uses_var(box->min[i], &v->var);
  return is_same;
}

/* Loops between the one whose iterations are counted and loop LEAF that ask for the same region BOX take turns: what comes from afar is
 * spread over all that is computed meanwhile. */
static turns turns_of(lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p, int ndim,
                      const schedule_box *box) {
  int of = schedule_stage_of_tensor(l->s, p->of), last = schedule_leaf_position(&l->s->stages[of], p->of_axis);
  turns t = {NULL, 1};
  for (int at = (int)(ls - l->stages), end = leaf;;) {
    const lower_stage *around = &l->stages[at];
    for (int i = end - 1; i > (at == of ? last : -1); i--) {
      if (!repeats(around, i, ndim, box)) continue;
      const tir_expr *v = tir_var_expr(l->arena, &around->var[i]->var);
      v = tir_binary(l->arena, TIR_MUL, v, number(l, t.n));
      t.turn = t.turn ? tir_binary(l->arena, TIR_ADD, t.turn, v) : v;
      t.n *= around->var[i]->extent;
    }
    if (at == of || around->st->attach != SCHEDULE_AT) return t;
    end = schedule_leaf_position(&l->s->stages[around->st->at_stage], around->st->at_axis) + 1;
    at = around->st->at_stage;
  }
}

/* Where a request stands and what it is for. */
typedef struct request {
  const tir_env *env;
  const lower_var *of;
  int32_t offset;
  const lower_stage *from;
  const tir_buffer *buffer;
  const schedule_box *box;
  int ndim;
  int64_t step[TN_MAX_RANK], count[TN_MAX_RANK]; /* elements of a line, or 1; lines, or rows */
} request;

/* The line that LINE says of each dimension. ENV: where they are known. */
static const tir_stmt *ask(lowering *l, const request *q, const tir_env *env, const tir_expr *const *line) {
  const tir_expr *index[TN_MAX_RANK], *place[TN_MAX_RANK], *later = tir_var_expr(l->arena, &q->of->var);
  tir_binding binding = {&q->of->var, tir_binary(l->arena, TIR_ADD, later, number(l, q->offset))};
  const lower_stage *from = q->from;
  bool is_laid_out = from->layout != NULL;
  for (int i = 0; i < q->ndim; i++) {
    const tir_expr *first = tir_substitute(l->arena, q->box->min[i], 1, &binding);
    if (from->is_live) first = tir_binary(l->arena, TIR_SUB, first, from->min[i]);
    index[i] = within(l, env, is_laid_out ? from->extent[i] : q->buffer->shape[i],
                      is_laid_out ? from->size[i] : q->buffer->size[i], first, line[i], q->step[i], q->count[i]);
  }
  return tir_prefetch(l->arena, q->buffer, q->buffer->ndim,
                      is_laid_out ? schedule_place(l, from, index, place) : index);
}

/* Loops over all lines, each row's a line a step. */
static const tir_stmt *over_region(lowering *l, const request *q) {
  const tir_expr *line[TN_MAX_RANK];
  lower_var *var[TN_MAX_RANK];
  const tir_env *env = q->env;
  for (int i = 0; i < q->ndim; i++) {
    const char *name = runtime_format(l->arena, "%s.ahead%d", q->buffer->name, i);
    var[i] = schedule_new_var(l, env, name, q->count[i], NULL);
    line[i] = tir_var_expr(l->arena, &var[i]->var);
    if (q->count[i] == 1) continue;
    tir_env *inner = RUNTIME_NEW(l->arena, tir_env);
    *inner = (tir_env){.outer = env, .var = &var[i]->var, .range = {0, q->count[i] - 1}};
    env = inner;
  }
  return in_loops(l, q->ndim, var, q->count, ask(l, q, env, line));
}

/* Of no fewer turns than LINES each asks for one; the last ones for the last line again. */
static const tir_stmt *line_of_turn(lowering *l, const request *q, const turns *t, int64_t lines) {
  const tir_expr *line[TN_MAX_RANK], *rest = t->turn;
  if (t->n > lines) rest = tir_binary(l->arena, TIR_MIN, rest, number(l, lines - 1));
  for (int i = q->ndim - 1; i >= 0; i--) {
    line[i] = tir_binary(l->arena, TIR_FLOORMOD, rest, number(l, q->count[i]));
    rest = tir_binary(l->arena, TIR_FLOORDIV, rest, number(l, q->count[i]));
  }
  return ask(l, q, q->env, line);
}

/* Of as many iterations of STEP as there are turns each asks for all lines in one. */
static const tir_stmt *step_of_turn(lowering *l, const turns *t, const lower_var *step, const tir_stmt *all) {
  const tir_expr *at = tir_binary(l->arena, TIR_FLOORMOD, tir_var_expr(l->arena, &step->var), number(l, t->n));
  return tir_if(l->arena, tir_binary(l->arena, TIR_EQ, at, t->turn), all, NULL);
}

/* Asks for the region BOX of tensor V of FROM that is read OFFSET iterations of OF later. */
static const tir_stmt *ask_for(lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p,
                               const lower_var *of, const lower_stage *from, int v, const schedule_box *box) {
  request q = {
      .env = ls->env[leaf], .of = of, .offset = p->offset, .from = from, .buffer = from->buffers[v], .box = box};
  int64_t lines = 1, line = RUNTIME_MAX(LINE_BYTES / (int64_t)tn_dtype_bytes(q.buffer->dtype), 1);
  q.ndim = from->st->tensors[v].ndim;
  int along = q.ndim - 1; /* what lies behind it has one element */
  bool is_plain = !from->st->layout && !tir_is_strided(q.buffer);
  while (is_plain && along > 0 && from->st->tensors[v].shape[along] == 1) along--;
  for (int i = 0; i < q.ndim; i++) {
    q.step[i] = i == along ? line : 1;
    q.count[i] = (box->extent[i] + q.step[i] - 1) / q.step[i];
    lines = RUNTIME_MIN(lines, FEW_LINES) * RUNTIME_MIN(q.count[i], FEW_LINES + 1);
  }
  turns t = turns_of(l, ls, leaf, p, q.ndim, box);
  const lower_var *step = ls->var[leaf];
  bool has_steps = !step->size && step->extent >= t.n && is_loop(ls, leaf);
  if (!t.turn || lines > FEW_LINES || (t.n < lines && !has_steps)) return over_region(l, &q);
  return t.n < lines ? step_of_turn(l, &t, step, over_region(l, &q)) : line_of_turn(l, &q, &t, lines);
}

/* Of a stage with several results, those that are read inside the loop. NOP where nothing is to be fetched, with the
 * reason said. */
static const tir_stmt *one_prefetch(lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p) {
  const lower_stage *from = &l->stages[schedule_stage_of_tensor(l->s, p->tensor)];
  const lower_var *of;
  schedule_box box;
  const char *why_not = objection(l, ls, leaf, p, from, &of);
  const tir_stmt *stmts[TIR_MAX_VALUES];
  int n = 0;
  for (int v = 0; !why_not && v < from->st->n_tensors; v++)
    if (schedule_read_box(l, (int)(ls - l->stages), leaf, of, &from->st->tensors[v], &box))
      stmts[n++] = ask_for(l, ls, leaf, p, of, from, v, &box);
  if (n > 0) return tir_seq(l->arena, n, stmts);
  warn(l, ls, p, why_not ? why_not : "what an iteration reads is not known, or is the whole tensor");
  return tir_nop(l->arena);
}

const tir_stmt *schedule_with_prefetches(lowering *l, const lower_stage *ls, int leaf, const tir_stmt *body) {
  for (int i = ls->st->n_prefetches - 1; i >= 0; i--) {
    const schedule_prefetch_request *p = &ls->st->prefetches[i];
    if (p->axis != ls->st->leaves[leaf]) continue;
    const tir_stmt *both[] = {one_prefetch(l, ls, leaf, p), body};
    body = tir_seq(l->arena, 2, both);
  }
  return body;
}
