/* generic_reads.c: what a stage reads, inlined stages looked through: the stride of each read along each axis, which is
 * what vectorizing, tiling and packing are decided by. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/generic.h"
#include "schedule/lowering.h"
#include "tir/linear.h"

enum { COSTLY_OP = 12, MAX_DEPTH = 600 };

/* ---- bodies with inlined stages in place ------------------------------------------------------------------------- */

/* Stages of several values are not looked through: they are not inlined by these schedules. */
static const tir_expr *look_through(void *user, const tir_expr *e) {
  const generic_draft *p = user;
  int stage = e->op == TIR_READ ? schedule_stage_of_tensor(p->s, e->u.tensor) : -1;
  if (stage < 0 || p->s->stages[stage].attach != SCHEDULE_INLINED) return e;
  const te_op *op = p->s->stages[stage].op;
  if (op->n_outputs != 1) return e;
  const tir_expr *body = schedule_body_at(p->arena, op, e);
  return body ? body : e;
}

/* What is known where a select stands, so that a side which never counts is left out. */
typedef struct selects {
  runtime_arena *arena;
  const tir_env *env;
} selects;

/* A condition that always holds over the axes' ranges. */
static const tir_expr *choose(void *user, const tir_expr *e) {
  const selects *s = user;
  return e->op == TIR_SELECT && tir_prove(s->arena, s->env, e->arg[0]) ? e->arg[1] : e;
}

/* Zeros around an input of which there are none leave a copy. */
static const tir_expr *without_idle_selects(runtime_arena *arena, const te_op *op, const tir_expr *body) {
  tir_env ranges[GENERIC_MAX_AXES];
  selects s = {arena, NULL};
  tir_rewriter rewriter = {arena, NULL, choose, &s};
  if (op->n_axes + op->n_reduce > GENERIC_MAX_AXES) return body;
  for (int a = 0; a < op->n_axes + op->n_reduce; a++) {
    const tn_axis *axis = a < op->n_axes ? op->axes[a] : op->reduce_axes[a - op->n_axes];
    ranges[a] = (tir_env){.outer = s.env, .var = &axis->var, .range = {0, axis->extent - 1}};
    s.env = &ranges[a];
  }
  return tir_rewrite_expr(&rewriter, body);
}

/* OP's own body without them: the same in all schedules of the program, which ask for it again and again. */
static const tir_expr *own_body(const generic_draft *p, const te_op *op) {
  tn_program *program = p->s->program;
  const tir_expr *body = schedule_known_body(program, op);
  if (body) return body;
  runtime_arena *arena = &program->ctx->arena;
  bool had_failed = arena->failed;
  arena->failed = false;
  body = without_idle_selects(arena, op, op->body);
  bool lacks = arena->failed || !body;
  arena->failed |= had_failed;
  if (lacks) return runtime_arena_lacks(p->arena);
  schedule_keep_body(program, op, body);
  return body;
}

/* One level of inlining a turn; a chain of inlined stages takes as many as it is long. NULL: no memory, or too long. */
static const tir_expr *whole_body(const generic_draft *p, const te_op *op) {
  tir_rewriter rewriter = {p->arena, NULL, look_through, (void *)p};
  const tir_expr *body = op->body;
  for (int turn = 0; body && turn < MAX_DEPTH; turn++) {
    const tir_expr *next = tir_rewrite_expr(&rewriter, body);
    if (next == body) return turn == 0 ? own_body(p, op) : without_idle_selects(p->arena, op, body);
    body = next;
  }
  return NULL;
}

const tir_expr *generic_body(const generic_draft *p, int stage) { return whole_body(p, p->s->stages[stage].op); }

/* ---- strides ----------------------------------------------------------------------------------------------------- */

/* E as coefficient * VAR + something without VAR, or only with VAR // *BLOCK. */
static bool coefficient(const tir_expr *e, const tir_var *var, int64_t *block, int64_t *out) {
  int64_t a, b, c;
  *out = 0;
  if (e->op == TIR_VAR) return *out = e->u.var == var, true;
  if (!tir_uses_var(e, var)) return true;
  if (e->op == TIR_CAST) return coefficient(e->arg[0], var, block, out);
  if (e->op == TIR_ADD || e->op == TIR_SUB) {
    if (!coefficient(e->arg[0], var, block, &a) || !coefficient(e->arg[1], var, block, &b)) return false;
    *out = e->op == TIR_ADD ? a + b : a - b;
    return true;
  }
  if (e->op == TIR_MUL) {
    if (tir_is_int(e->arg[1], &c) && coefficient(e->arg[0], var, block, &a)) return *out = a * c, true;
    return tir_is_int(e->arg[0], &c) && coefficient(e->arg[1], var, block, &a) && (*out = a * c, true);
  }
  if (e->op != TIR_FLOORDIV || e->arg[0]->op != TIR_VAR || !tir_is_int(e->arg[1], &c) || c < 2) return false;
  if (*block && *block != c) return false;
  *block = c; /* constant inside of blocks */
  return true;
}

/* Of VAR % period in E; 0: there is none. */
static int64_t period_of(const tir_expr *e, const tir_var *var) {
  int64_t period = 0;
  bool is_period = e->op == TIR_FLOORMOD && e->arg[0]->op == TIR_VAR && e->arg[0]->u.var == var;
  if (is_period) return tir_is_int(e->arg[1], &period) && period > 1 ? period : 0;
  for (int i = 0; i < e->n_args && !period; i++) period = period_of(e->arg[i], var);
  return period;
}

static const tir_var *axis_var(const te_op *op, int axis) {
  return axis < op->n_axes ? &op->axes[axis]->var : &op->reduce_axes[axis - op->n_axes]->var;
}

/* An index has a data axis longer than 1 and a reduction axis longer than 1. */
static bool is_window_index(const generic_reads *r, const tir_expr *index) {
  bool data = false, reduced = false;
  for (int a = 0; a < r->n_axes; a++) {
    bool uses = r->extent[a] > 1 && tir_uses_var(index, axis_var(r->op, a));
    data |= uses && a < r->n_data;
    reduced |= uses && a >= r->n_data;
  }
  return data && reduced;
}

/* The axis whose steps in INDEX are the least that are LEAST or more; -1: there is none. */
static int next_digit(const int64_t *steps, int n, int64_t least) {
  int found = -1;
  for (int a = 0; a < n; a++)
    if (steps[a] >= least && (found < 0 || steps[a] < steps[found])) found = a;
  return found;
}

/* Axes are the digits of a number: each steps over all that those with shorter steps reach. */
static bool is_mixed_radix(const generic_reads *r, const tir_expr *index) {
  int64_t steps[GENERIC_MAX_AXES], block = 0, reached = 0;
  int n_digits = 0;
  for (int a = 0; a < r->n_axes; a++) {
    bool uses = r->extent[a] > 1 && tir_uses_var(index, axis_var(r->op, a));
    steps[a] = 0;
    if (uses && (!coefficient(index, axis_var(r->op, a), &block, &steps[a]) || block || steps[a] < 1)) return false;
    n_digits += uses;
  }
  for (; n_digits > 0; n_digits--) {
    int a = next_digit(steps, r->n_axes, reached + 1);
    if (a < 0 || r->extent[a] - 1 > (INT64_MAX / 2 - reached) / steps[a]) return false;
    reached += steps[a] * (r->extent[a] - 1);
  }
  return true;
}

static void find_windows(const generic_reads *r, generic_read *read) {
  for (int d = 0; d < read->expr->n_args; d++) {
    if (!is_window_index(r, read->expr->arg[d])) continue;
    read->is_window = true;
    read->overlaps |= !is_mixed_radix(r, read->expr->arg[d]);
  }
}

/* Strides of a compact tensor. An axis may move several dimensions, a diagonal for instance. */
static void describe_read(const generic_reads *r, const tir_expr *e, generic_read *out) {
  *out = (generic_read){.tensor = e->u.tensor, .expr = e};
  find_windows(r, out);
  for (int a = 0; a < r->n_axes; a++) {
    int64_t step = 1, c;
    int used = 0;
    out->is_known[a] = true;
    for (int d = e->n_args - 1; d >= 0; step *= out->tensor->shape[d--]) {
      bool linear = coefficient(e->arg[d], axis_var(r->op, a), &out->block[a], &c);
      out->is_known[a] &= linear;
      out->stride[a] += linear ? c * step : 0;
      if (!linear || c != 0) out->dim[a] = d, used++;
      if (!linear && !out->period[a]) out->period[a] = period_of(e->arg[d], axis_var(r->op, a));
    }
    if (used != 1) out->dim[a] = -1;
  }
  for (int d = 0; d < e->n_args; d++) {
    out->plain[d] = -1;
    for (int a = 0; a < r->n_axes; a++)
      if (e->arg[d]->op == TIR_VAR && e->arg[d]->u.var == axis_var(r->op, a)) out->plain[d] = a;
  }
}

static double ops_of(const tir_expr *e) {
  tir_rule rule = tir_rule_of(e);
  bool is_one = rule == TIR_RULE_ARITHMETIC || rule == TIR_RULE_COMPARISON || rule == TIR_RULE_BOOLEAN ||
                e->op == TIR_SELECT || e->op == TIR_READ;
  return rule == TIR_RULE_FLOAT ? COSTLY_OP : is_one ? 1 : 0;
}

/* Those that there are: room for others is not cleared and not copied, which would take more time than all the rest. */
static size_t bytes_of_reads(int n) { return offsetof(generic_reads, reads) + sizeof(generic_read) * (size_t)n; }

/* Equal reads count once for memory, each time for operations. */
static tir_walk collect(void *user, const tir_expr *e) {
  generic_reads *r = user;
  r->ops += ops_of(e);
  if (e->op != TIR_READ) return TIR_WALK_ON;
  for (int i = 0; i < r->n; i++)
    if (tir_equal(r->reads[i].expr, e)) return TIR_WALK_ON;
  if (r->n == GENERIC_MAX_READS) return TIR_WALK_STOP;
  describe_read(r, e, &r->reads[r->n++]);
  return TIR_WALK_ON;
}

static tir_walk count_op(void *user, const tir_expr *e) {
  *(double *)user += ops_of(e);
  return TIR_WALK_ON;
}

/* A division takes about as long as a function. */
static tir_walk count_costly(void *user, const tir_expr *e) {
  *(double *)user += e->op == TIR_DIV ? COSTLY_OP : ops_of(e);
  return TIR_WALK_ON;
}

/* Data axes from FIRST to END that loops run over while what depends on none of them stays. */
typedef struct steady {
  const te_op *op;
  int first, end;
  generic_steady found;
} steady;

static tir_walk count_steady(void *user, const tir_expr *e) {
  steady *s = user;
  bool moves = false;
  for (int a = s->first; !moves && a < s->end; a++)
    moves = s->op->axes[a]->extent > 1 && tir_uses_var(e, &s->op->axes[a]->var);
  if (moves) return e->op == TIR_READ ? TIR_WALK_PRUNE : TIR_WALK_ON; /* an index is no operation of the point */
  if (!tir_uses_var(e, &s->op->axes[s->op->n_axes - 1]->var)) return TIR_WALK_PRUNE; /* no loop at all changes it */
  s->found.values++;
  (void)(tir_walk_expr(e, count_costly, &s->found.ops) && tir_walk_expr(e, count_op, &s->found.counted));
  return TIR_WALK_PRUNE;
}

generic_steady generic_steady_of(const generic_draft *p, int stage, int first, int end) {
  const te_op *op = p->s->stages[stage].op;
  bool runs = false;
  for (int a = first; a < end; a++) runs |= op->axes[a]->extent > 1;
  const tir_expr *body = op->n_reduce == 0 && runs ? generic_body(p, stage) : NULL;
  steady s = {.op = op, .first = first, .end = end};
  bool is_worth = body && tir_walk_expr(body, count_steady, &s) && s.found.ops >= COSTLY_OP;
  return is_worth ? s.found : (generic_steady){0};
}

double generic_steady_ops(const generic_draft *p, int stage, int first, int end) {
  return generic_steady_of(p, stage, first, end).ops;
}

/* What does not change along an axis is computed before the loop over it. */
typedef struct moving {
  const tir_var *var;
  double ops;
} moving;

static tir_walk count_moving(void *user, const tir_expr *e) {
  moving *m = user;
  if (!tir_uses_var(e, m->var)) return TIR_WALK_PRUNE;
  return count_costly(&m->ops, e);
}

double generic_moving_ops(const generic_draft *p, int stage, const generic_reads *r) {
  const tir_expr *body = r->n_axes > 0 ? generic_body(p, stage) : NULL;
  moving m = {.var = r->n_axes > 0 ? axis_var(r->op, r->n_axes - 1) : NULL};
  return body && tir_walk_expr(body, count_moving, &m) ? m.ops : 0;
}

double generic_ops(const tir_expr *e) {
  double ops = 0;
  (void)tir_walk_expr(e, count_op, &ops);
  return ops;
}

/* Parts that were met, as far as there is room. */
typedef struct parts {
  double ops;
  int n;
  const tir_expr *met[64];
} parts;

static tir_walk count_once(void *user, const tir_expr *e) {
  parts *p = user;
  for (int i = 0; i < p->n; i++)
    if (tir_equal(p->met[i], e)) return TIR_WALK_PRUNE;
  p->ops += ops_of(e);
  if (ops_of(e) > 0 && p->n < RUNTIME_COUNT(p->met)) p->met[p->n++] = e;
  return TIR_WALK_ON;
}

static double ops_once(const generic_draft *p, int stage) {
  parts all = {0};
  const tir_expr *body = generic_body(p, stage);
  if (body) (void)tir_walk_expr(body, count_once, &all);
  return all.ops;
}

/* What values have in common counts once. */
static double combined_ops(const generic_draft *p, const te_op *op) {
  const tir_tuple_combiner *tuple = op->body && op->body->op == TIR_REDUCE ? op->body->u.reduce->tuple : NULL;
  const tir_expr *all = tuple ? tir_tuple(p->arena, tuple->n_values, tuple->result) : NULL;
  return all ? fmax(generic_ops(all), 1) : 1;
}

/* Positions go upwards in all schedules that are made here, so that argmax compares once a step, and chooses its values. */
static double taken_ops(const te_op *op, double combined) {
  const tir_tuple_combiner *tuple = op->body && op->body->op == TIR_REDUCE ? op->body->u.reduce->tuple : NULL;
  return tuple && tuple->takes_position ? 1 + tuple->n_values : combined;
}

/* Whether a stage that OP reads is inlined: then what is read depends on the schedule. */
static bool reads_inlined(const generic_draft *p, const te_op *op) {
  for (int i = 0; i < op->n_inputs; i++) {
    int stage = schedule_stage_of_tensor(p->s, op->inputs[i]);
    if (stage >= 0 && p->s->stages[stage].attach == SCHEDULE_INLINED) return true;
  }
  return false;
}

/* OUT is filled as far as it goes even when this is false. */
static bool look_at_op(const generic_draft *p, const te_op *op, te_op_kind kind, generic_reads *out) {
  memset(out, 0, bytes_of_reads(0));
  out->op = op;
  if (op->kind != kind || op->n_axes + op->n_reduce > GENERIC_MAX_AXES) return false;
  out->n_data = op->n_axes;
  out->n_axes = op->n_axes + op->n_reduce;
  for (int a = 0; a < out->n_axes; a++)
    out->extent[a] = a < op->n_axes ? op->axes[a]->extent : op->reduce_axes[a - op->n_axes]->extent;
  out->combined = combined_ops(p, op);
  out->taken = taken_ops(op, out->combined);
  const tir_expr *body = whole_body(p, op);
  return body && tir_walk_expr(body, collect, out);
}

/* Without inlined stages it is the same in all schedules of the program, which ask for it again and again. Without memory
 * it is not kept. */
static bool read_op(const generic_draft *p, const te_op *op, te_op_kind kind, generic_reads *out) {
  tn_program *program = p->s->program;
  if (op->kind != kind || reads_inlined(p, op)) return look_at_op(p, op, kind, out);
  const generic_reads *known = schedule_known_reads(program, op);
  if (known) {
    memcpy(out, known, bytes_of_reads(known->n));
    return true;
  }
  if (!look_at_op(p, op, kind, out)) return false;
  runtime_arena *arena = &program->ctx->arena;
  bool had_failed = arena->failed;
  schedule_keep_reads(program, op, runtime_copy(arena, out, bytes_of_reads(out->n)));
  arena->failed = had_failed;
  return true;
}

bool generic_read_all(const generic_draft *p, int stage, generic_reads *out) {
  if (!read_op(p, p->s->stages[stage].op, TE_COMPUTE, out)) return false;
  out->tensor = p->s->stages[stage].tensors;
  return true;
}

bool generic_read_scan(const generic_draft *p, int stage, generic_reads *out) {
  return read_op(p, p->s->stages[stage].op, TE_SCAN, out);
}

/* False when nothing is read along the axis at all. */
bool generic_is_contiguous(const generic_reads *r, int axis) {
  bool along = false;
  for (int i = 0; i < r->n; i++) {
    int64_t stride;
    if (!generic_stride(&r->reads[i], axis, &stride) || stride < 0 || stride > 1) return false;
    along |= stride == 1;
  }
  return along;
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

int64_t generic_lanes(const generic_draft *p, int stage) {
  return RUNTIME_MAX(p->machine.vector_bytes / (int)tn_dtype_bytes(p->s->stages[stage].tensors[0].dtype), 1);
}

int64_t generic_widest_lanes(const generic_draft *p, int stage) {
  int bytes = 1;
  for (int i = 0; i < p->s->stages[stage].op->n_outputs; i++)
    bytes = RUNTIME_MAX(bytes, (int)tn_dtype_bytes(p->s->stages[stage].tensors[i].dtype));
  return RUNTIME_MAX(p->machine.vector_bytes / bytes, 1);
}

double generic_bytes(const tn_tensor *t) {
  double bytes = (double)tn_dtype_bytes(t->dtype);
  for (int a = 0; a < t->ndim; a++) bytes *= (double)t->shape[a];
  return bytes;
}

double generic_read_bytes(const generic_reads *r) {
  double bytes = 0;
  for (int i = 0; i < r->n; i++) {
    double elements = 1, all = 1;
    for (int a = 0; a < r->n_axes; a++)
      elements *= !r->reads[i].is_known[a] || r->reads[i].stride[a] ? (double)r->extent[a] : 1;
    for (int d = 0; d < r->reads[i].tensor->ndim; d++) all *= (double)r->reads[i].tensor->shape[d];
    bytes += RUNTIME_MIN(elements, all) * (double)tn_dtype_bytes(r->reads[i].tensor->dtype);
  }
  return bytes;
}

double generic_memory_ns(const generic_draft *p, const generic_reads *r) {
  double bytes = generic_read_bytes(r);
  return bytes / COST_LINE * cost_line(&p->machine, cost_level(&p->machine, bytes), false);
}

/* An operation takes as long as a multiply-add; or what it reads comes in from where all of it has room. */
double generic_cost_ns(const generic_draft *p, const generic_reads *r) {
  double points = 1, lanes = p->machine.vector_bytes / 4.0;
  for (int a = 0; a < r->n_axes; a++) points *= (double)r->extent[a];
  double compute = points * (r->ops + r->taken) / lanes * cost_fma(&p->machine, p->machine.vector_bytes);
  return fmax(compute, generic_memory_ns(p, r));
}

double generic_step_ops(const generic_draft *p, int stage, const generic_reads *r) {
  double ops = ops_once(p, stage);
  for (int i = 0; i < r->n && r->n_axes > r->n_data; i++) {
    bool is_steady = true;
    for (int a = r->n_data; a < r->n_axes; a++) is_steady &= r->reads[i].is_known[a] && r->reads[i].stride[a] == 0;
    ops -= is_steady;
  }
  return fmax(ops, 1);
}

double generic_column_ns(const generic_draft *p, int stage, const generic_reads *r) {
  double points = 1, lanes = p->machine.vector_bytes / 4.0;
  for (int a = 0; a < r->n_axes; a++) points *= (double)r->extent[a];
  double compute =
      points * (generic_step_ops(p, stage, r) + r->taken) / lanes * cost_fma(&p->machine, p->machine.vector_bytes);
  return fmax(compute, generic_memory_ns(p, r));
}

/* ---- loops that can be fused ------------------------------------------------------------------------------------- */

/* The least of them divides the others. */
int64_t generic_grain(const generic_reads *r, int axis) {
  int64_t grain = 0;
  for (int i = 0; i < r->n; i++) {
    const int64_t lengths[] = {r->reads[i].block[axis], r->reads[i].period[axis]};
    for (int k = 0; k < RUNTIME_COUNT(lengths); k++) {
      int64_t length = lengths[k];
      if (length && grain && length % grain && grain % length) return 0;
      if (length && (!grain || length < grain)) grain = length;
    }
  }
  return grain;
}

/* Whether E has VAR as VAR // n alone, for multiples n of GRAIN. */
static bool is_same_in_grain(const tir_expr *e, const tir_var *var, int64_t grain) {
  int64_t n;
  if (e->op == TIR_VAR) return e->u.var != var;
  bool is_quotient = e->op == TIR_FLOORDIV && e->arg[0]->op == TIR_VAR && e->arg[0]->u.var == var;
  if (is_quotient) return tir_is_int(e->arg[1], &n) && n > 0 && n % grain == 0;
  for (int i = 0; i < e->n_args; i++)
    if (!is_same_in_grain(e->arg[i], var, grain)) return false;
  return true;
}

bool generic_stride_in_grain(const generic_reads *r, const generic_read *read, int axis, int64_t grain,
                             int64_t *stride) {
  const tir_var *var = axis_var(r->op, axis);
  int64_t step = 1;
  *stride = 0;
  for (int d = read->expr->n_args - 1; d >= 0; step *= read->tensor->shape[d--]) {
    tir_linear form;
    tir_linear_zero(&form);
    if (!tir_linear_add_expr(&form, read->expr->arg[d], 1)) return false;
    for (int i = 0; i < form.n; i++) {
      const tir_expr *atom = form.terms[i].atom;
      int64_t period;
      bool is_rest = atom->op == TIR_FLOORMOD && atom->arg[0]->op == TIR_VAR && atom->arg[0]->u.var == var &&
                     tir_is_int(atom->arg[1], &period) && period > 0 && period % grain == 0;
      if (is_rest || (atom->op == TIR_VAR && atom->u.var == var))
        *stride += step * form.terms[i].coef;
      else if (!is_same_in_grain(atom, var, grain))
        return false;
    }
  }
  return true;
}

bool generic_joins_by_steps(const generic_reads *r, int axis, int64_t most) {
  if (axis < 1 || r->extent[axis] > INT32_MAX / r->extent[axis - 1]) return false;
  for (int i = 0; i < r->n; i++) {
    int64_t row, column;
    if (!generic_stride(&r->reads[i], axis - 1, &row) || !generic_stride(&r->reads[i], axis, &column)) return false;
    int64_t whole = column * r->extent[axis];
    bool is_apart = column == 1 && row > whole && row % whole == 0 && row / whole <= most;
    if ((row != whole && !is_apart) || r->reads[i].block[axis] || r->reads[i].block[axis - 1]) return false;
  }
  return true;
}

bool generic_joins(const generic_reads *r, int axis) { return generic_joins_by_steps(r, axis, 1); }

/* An index that a constant limits, or that begins anew after many steps, is the index itself between the borders. */
static const tir_expr *without_limit(void *user, const tir_expr *e) {
  (void)user;
  int64_t limit;
  if (e->op == TIR_FLOORMOD && tir_period(e) >= TIR_LONG_PERIOD) return e->arg[0];
  if (tir_class_of(e) != TIR_CLASS_EXTREMUM || tn_dtype_is_float((tn_dtype)e->dtype)) return e;
  return tir_is_int(e->arg[1], &limit) ? e->arg[0] : tir_is_int(e->arg[0], &limit) ? e->arg[1] : e;
}

const tir_expr *generic_body_inside(const generic_draft *p, int stage) {
  tir_rewriter rewriter = {p->arena, NULL, without_limit, NULL};
  const tir_expr *whole = generic_body(p, stage);
  return whole ? tir_rewrite_expr(&rewriter, whole) : NULL;
}

bool generic_read_inside(const generic_draft *p, int stage, generic_reads *r) {
  const tir_expr *body = generic_body_inside(p, stage);
  double ops = r->ops;
  if (body == NULL || body == generic_body(p, stage)) return body != NULL;
  r->n = 0;
  bool is_whole = tir_walk_expr(body, collect, r);
  r->ops = ops;
  return is_whole;
}

bool generic_is_folded(const generic_reads *r, int rows, int columns, generic_folded *out) {
  *out = (generic_folded){0};
  for (int i = 0; i < r->n; i++) {
    int64_t row, column, width = r->extent[columns];
    if (!generic_stride(&r->reads[i], rows, &row) || !generic_stride(&r->reads[i], columns, &column)) return false;
    bool is_spread = column == 0 && row > 0 && row <= width && r->reads[i].block[columns] == 0;
    bool is_apart = column == 1 && row > width && row % width == 0 && row / width <= COST_MOST_APART;
    if (column < 0 || column > 1 || (row != 0 && row != column * width && !is_spread && !is_apart)) return false;
    out->n_along += column == 1 && row == width;
    out->n_steady += column == 1 && row == 0;
    out->n_spread += is_spread;
    out->n_apart += is_apart;
    if (is_apart) out->apart = RUNTIME_MAX(out->apart, row / width);
  }
  return out->n_along + out->n_apart > 0;
}

static int64_t greatest_divisor(int64_t a, int64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

int64_t generic_rows_of_fold(int64_t columns, int64_t lanes) {
  return RUNTIME_MAX(lanes / greatest_divisor(columns, lanes), 2);
}

bool generic_has_strides(const generic_draft *p, int stage, const generic_reads *r) {
  const schedule_stage *st = &p->s->stages[stage];
  bool any = false;
  for (int v = 0; v < st->n_tensors; v++) any = any || st->tensors[v].is_strided;
  for (int i = 0; i < r->n; i++) any = any || r->reads[i].tensor->is_strided;
  return any;
}

static tir_walk stop_at_index(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_READ ? TIR_WALK_PRUNE : e->op == TIR_VAR ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool generic_is_of_reads(const generic_draft *p, int stage) {
  const tir_expr *body = generic_body(p, stage);
  return body && tir_walk_expr(body, stop_at_index, NULL);
}

static tir_walk find_inner_condition(void *user, const tir_expr *e) {
  (void)user;
  bool is_inner = e->op == TIR_READ || e->op == TIR_EQ || e->op == TIR_NE || tir_class_of(e) == TIR_CLASS_DIVISION;
  return is_inner ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool generic_is_of_borders(const tir_expr *condition) { return tir_walk_expr(condition, find_inner_condition, NULL); }

/* Two conditions: of a select, and of a reduction. */
static tir_walk stop_at_index_inside(void *user, const tir_expr *e) {
  const tir_expr *where = tir_reduce_where(e), *condition = e->op == TIR_SELECT ? e->arg[0] : where;
  if (condition == NULL || !generic_is_of_borders(condition)) return stop_at_index(user, e);
  for (int i = 0; i < e->n_args; i++)
    if (e->arg[i] != condition && !tir_walk_expr(e->arg[i], stop_at_index_inside, user)) return TIR_WALK_STOP;
  return TIR_WALK_PRUNE;
}

bool generic_is_of_reads_inside(const generic_draft *p, int stage) {
  const tir_expr *body = generic_body(p, stage);
  return body && tir_walk_expr(body, stop_at_index_inside, NULL);
}
