/* strip_facts.c: counts what the stages of a chain of stencils compute and read, for each of a few ways to inline
 * some of them. */
#include "schedule/strip.h"

#include <math.h>

#include "schedule/cost.h"
#include "tir/linear.h"

enum { COSTLY_OP = 12, MAX_INLINED_OPS = 400, ROW = 0, COLUMN = 1 };

/* Operations more for each element that a stage's values may cost when they are computed where they are read. */
static const double most_again[STRIP_LEVELS] = {2, 4, 8, 16, 32, 64, INFINITY};

/* ---- operations -------------------------------------------------------------------------------------------------- */

typedef struct operations {
  double sums, products, others;
  double roots;  /* and divisions, which a unit of their own makes */
  double limits; /* conditions that part borders off */
} operations;

/* Roots and quotients of floats; the reciprocal of a root is one of each. Of 64 bits they take twice as long. */
static double roots_of(const tir_expr *e) {
  double each = tn_dtype_bytes((tn_dtype)e->dtype) > 4 ? 2 : 1;
  bool is_quotient = e->op == TIR_DIV && runtime_is_float((tn_dtype)e->dtype);
  return e->op == TIR_RSQRT ? 2 * each : e->op == TIR_SQRT || is_quotient ? each : 0;
}

/* Adds one node of a body. */
static void add_operation(operations *n, const tir_expr *e) {
  tir_rule rule = tir_rule_of(e);
  if (e->op == TIR_ADD || e->op == TIR_SUB)
    n->sums++;
  else if (e->op == TIR_MUL)
    n->products++;
  else if (roots_of(e) > 0)
    n->roots += roots_of(e);
  else if (rule == TIR_RULE_FLOAT || e->op == TIR_DIV)
    n->others += COSTLY_OP;
  else if (rule == TIR_RULE_ARITHMETIC || rule == TIR_RULE_COMPARISON || rule == TIR_RULE_BOOLEAN ||
           e->op == TIR_SELECT)
    n->others++;
}

/* A product that is added takes no instruction of its own. */
static double instructions(const operations *n) { return fmax(n->sums, n->products) + n->others; }

/* Operations of one body. Those whose values were met before are counted once: in the body or in another one of the same block,
 * and where ROW is given at another row, too. SLIDING are those of them that the next row makes at the step of TAP before. */
typedef struct counting {
  operations n, sliding;
  const tir_var *row, *tap; /* or NULL */
  int n_met;
  const tir_expr *met[MAX_INLINED_OPS];
} counting;

/* Whether B is A with rows *SHIFT further on; *IS_SET: SHIFT is known. */
static bool is_shifted_index(const tir_expr *a, const tir_expr *b, const tir_var *row, int64_t *shift, bool *is_set) {
  tir_linear form;
  bool uses_row = false;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, a, 1)) return false;
  for (int i = 0; i < form.n; i++) uses_row |= form.terms[i].atom->op == TIR_VAR && form.terms[i].atom->u.var == row;
  if (!tir_linear_add_expr(&form, b, -1) || form.n != 0) return false;
  if (!uses_row || *is_set) return -form.constant == (uses_row ? *shift : 0);
  *shift = -form.constant;
  return *is_set = true;
}

static bool is_shifted(const tir_expr *a, const tir_expr *b, const tir_var *row, int64_t *shift, bool *is_set) {
  if (a->op != b->op || a->n_args != b->n_args || a->dtype != b->dtype) return false;
  if (a->op == TIR_READ && a->u.tensor != b->u.tensor) return false;
  if (a->n_args == 0) return tir_equal(a, b);
  for (int i = 0; i < a->n_args; i++) {
    bool same = a->op == TIR_READ ? is_shifted_index(a->arg[i], b->arg[i], row, shift, is_set)
                                  : is_shifted(a->arg[i], b->arg[i], row, shift, is_set);
    if (!same) return false;
  }
  return true;
}

static bool was_met(const counting *c, const tir_expr *e) {
  for (int i = 0; i < c->n_met; i++) {
    int64_t shift = 0;
    bool is_set = false;
    if (is_shifted(c->met[i], e, c->row, &shift, &is_set)) return true;
  }
  return false;
}

/* Whether INDEX goes on as far with each row as with each step of TAP. */
static bool slides_along(const tir_expr *index, const tir_var *row, const tir_var *tap, int64_t *by) {
  tir_linear form;
  int64_t rows = 0, taps = 0;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, index, 1)) return false;
  for (int i = 0; i < form.n; i++) {
    const tir_expr *atom = form.terms[i].atom;
    bool is_row = atom->op == TIR_VAR && atom->u.var == row, is_tap = atom->op == TIR_VAR && atom->u.var == tap;
    if (!is_row && !is_tap && (tir_uses_var(atom, row) || tir_uses_var(atom, tap))) return false;
    rows += is_row ? form.terms[i].coef : 0, taps += is_tap ? form.terms[i].coef : 0;
  }
  *by = rows;
  return rows == taps;
}

/* Whether the value of E at a row and a step of TAP is that at the next row and the step before. */
static bool slides(const tir_expr *e, const tir_var *row, const tir_var *tap) {
  int64_t by;
  if (e->op == TIR_VAR) return e->u.var != row && e->u.var != tap;
  for (int i = 0; i < e->n_args; i++)
    if (e->op == TIR_READ ? !slides_along(e->arg[i], row, tap, &by) : !slides(e->arg[i], row, tap)) return false;
  return true;
}

/* What tap_of asks of a body: whether some read goes down the rows with TAP. */
typedef struct sliding_read {
  const tir_var *row, *tap;
  bool is_found;
} sliding_read;

static tir_walk find_sliding(void *user, const tir_expr *e) {
  sliding_read *f = user;
  for (int i = 0; e->op == TIR_READ && i < e->n_args; i++) {
    int64_t by = 0;
    f->is_found |= slides_along(e->arg[i], f->row, f->tap, &by) && by != 0;
  }
  return e->op == TIR_READ ? TIR_WALK_PRUNE : TIR_WALK_ON;
}

/* The axis of OP's reduction that goes down the rows of what is read. NULL: none does. */
static const tn_axis *tap_of(const te_op *op, const tir_expr *body, const tir_var *row) {
  for (int a = 0; row && a < op->n_reduce; a++) {
    sliding_read f = {.row = row, .tap = &op->reduce_axes[a]->var};
    tir_walk_expr(body, find_sliding, &f);
    if (f.is_found) return op->reduce_axes[a];
  }
  return NULL;
}

static tir_walk count_operation(void *user, const tir_expr *e) {
  counting *c = user;
  if (e->op == TIR_READ || e->n_args == 0 || was_met(c, e)) return TIR_WALK_PRUNE;
  if (e->op == TIR_SELECT && generic_is_of_borders(e->arg[0])) { /* blocks between borders are computed without it */
    c->n.limits++;
    (void)(tir_walk_expr(e->arg[1], count_operation, c) && tir_walk_expr(e->arg[2], count_operation, c));
    return TIR_WALK_PRUNE;
  }
  if (c->n_met < MAX_INLINED_OPS) c->met[c->n_met++] = e;
  add_operation(&c->n, e);
  if (c->tap && slides(e, c->row, c->tap)) add_operation(&c->sliding, e);
  return TIR_WALK_ON;
}

/* The sum of a reduction among them. */
static void count_operations(counting *c, const tir_expr *body) {
  bool reduces = body->op == TIR_REDUCE;
  const tir_expr *where = reduces ? tir_reduce_where(body) : NULL;
  c->n = c->sliding = (operations){0};
  for (int i = 0; i < (reduces ? body->n_args : 1); i++) {
    const tir_expr *e = reduces ? body->arg[i] : body;
    if (e != where || !generic_is_of_borders(e))
      tir_walk_expr(e, count_operation, c);
    else
      c->n.limits++;
  }
  if (reduces) c->n.sums++;
}

double generic_computed_again(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  generic_reads r;
  if (!generic_is_computed(st) || st->op->n_outputs > 1 || st->op->n_reduce > 0 || schedule_is_output(p->s, stage))
    return INFINITY;
  if (!generic_read_all(p, stage, &r) || r.ops > MAX_INLINED_OPS) return INFINITY;
  const tir_expr *body = generic_body(p, stage);
  counting c = {0};
  if (body) count_operations(&c, body);
  return body ? (instructions(&c.n) + COSTLY_OP * c.n.roots) * fmax(generic_reads_of_element(p, stage) - 1, 0)
              : INFINITY;
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* How far READ's dimension DIM is from axis AXIS, from *LOW to *HIGH. */
static void offsets(const generic_reads *r, const generic_read *read, int dim, int axis, double *low, double *high) {
  tir_linear form;
  tir_linear_zero(&form);
  *low = *high = 0;
  if (!tir_linear_add_expr(&form, read->expr->arg[dim], 1)) return;
  *low = *high = (double)form.constant;
  for (int i = 0; i < form.n; i++)
    for (int a = r->n_data; a < r->n_axes; a++) {
      const tir_term *t = &form.terms[i];
      if (a == axis || t->atom->op != TIR_VAR || t->atom->u.var != &r->op->reduce_axes[a - r->n_data]->var) continue;
      double far = (double)(t->coef * (r->extent[a] - 1));
      *low += fmin(far, 0), *high += fmax(far, 0);
    }
}

/* AXIS below 0: there is none (rows of a chain that has one axis). */
static bool uses(const generic_read *read, int axis) {
  return axis >= 0 && (!read->is_known[axis] || read->stride[axis] != 0);
}

/* generic_read.dim; -1 where there is no such axis. */
static int dim_of(const generic_read *read, int axis) { return axis >= 0 ? read->dim[axis] : -1; }

/* Whether two reads differ in the index of rows alone, so that a block of rows shares what they load. */
static bool differs_in_rows(const generic_read *a, const generic_read *b, int row) {
  if (a->tensor != b->tensor || dim_of(a, row) != dim_of(b, row) || dim_of(a, row) < 0) return false;
  for (int d = 0; d < a->expr->n_args; d++)
    if (d != dim_of(a, row) && !tir_equal(a->expr->arg[d], b->expr->arg[d])) return false;
  return true;
}

/* How many elements of its dimension READ goes on by with each step of AXIS. */
static double step_along(const generic_read *read, int axis) {
  double unit = 1;
  if (dim_of(read, axis) < 0) return 1;
  for (int d = read->dim[axis] + 1; d < read->tensor->ndim; d++) unit *= (double)read->tensor->shape[d];
  return fmax(fabs((double)read->stride[axis]) / unit, 1);
}

/* Nanoseconds more of a register of READ whose lanes are not side by side. */
static double apart_ns(const generic_draft *d, const generic_read *read, int column, const strip_stage *of) {
  double lanes = (double)d->machine.vector_bytes / of->bytes;
  return lanes *
         cost_apart(&d->machine, (double)tn_dtype_bytes(read->tensor->dtype), (int64_t)step_along(read, column));
}

/* Lanes that lie a few elements apart are taken out of registers that hold what is between them, too. */
static void count_between(const generic_read *read, int row, int column, strip_stage *out) {
  double apart = step_along(read, column);
  if (apart >= 2) out->is_woven = apart == 2 && (out->is_woven || out->between == 0);
  if (apart < 2 || apart > COST_MOST_APART) return;
  out->between = fmax(out->between, apart);
  out->step = fmax(out->step, uses(read, row) ? step_along(read, row) : 0);
}

/* Whether registers of READ may begin anywhere in a line at its first tap, or, for ALL of its taps, at some: rows of what the
 * chain keeps begin with lines, those of other tensors where they are whole lines. */
static bool spans(const strip_level *level, const generic_reads *r, const generic_read *read, const strip_stage *of,
                  bool all) {
  int column = r->n_data - 1 - of->trailing, dim = read->dim[column];
  double low, high, from = 0, bytes = (double)tn_dtype_bytes(read->tensor->dtype), row = COST_LINE;
  if (dim < 0) return false;
  offsets(r, read, dim, column, &low, &high);
  low *= (double)level->channels, high *= (double)level->channels;
  const strip_stage *kept = NULL;
  for (int i = 0; i < level->n; i++)
    if (level->stages[i].tensor == read->tensor) kept = &level->stages[i];
  if (kept) from = kept->low[COLUMN];
  for (int d = dim; !kept && read->tensor->ndim > 1 && d < read->tensor->ndim; d++)
    row = (d == dim ? bytes : row) * (double)read->tensor->shape[d];
  return (all && high > low) || fmod(row, COST_LINE) != 0 ||
         fmod((of->low[COLUMN] + low - from) * bytes, COST_LINE) != 0;
}

/* Adds the loads of one read for a point: those that rows computed together share, and those that each row makes
 * anew, as many rows as it goes on by. Reads that differ only in the row are one load of another row. */
static void count_loads(const generic_draft *d, const strip_level *level, const generic_reads *r, int at,
                        strip_stage *out) {
  const generic_read *read = &r->reads[at];
  int column = r->n_data - 1 - out->trailing, row = column - 1;
  double row_taps = 1, taps = 1;
  for (int a = r->n_data; a < r->n_axes; a++) {
    bool is_of_rows = uses(read, row) && read->dim[a] >= 0 && read->dim[a] == dim_of(read, row);
    if (uses(read, a)) *(is_of_rows ? &row_taps : &taps) *= (double)r->extent[a];
  }
  if (!uses(read, column)) {
    out->fixed += row_taps * taps;
    return;
  }
  double span = spans(level, r, read, out, true) ? 1 : 0;
  for (int i = 0; i < at && uses(read, row); i++)
    if (differs_in_rows(read, &r->reads[i], row)) {
      out->columns += taps * row_taps, out->columns_spans += span * taps * row_taps;
      return;
    }
  count_between(read, row, column, out);
  double own = uses(read, row) ? fmin(step_along(read, row), row_taps) : 0, apart = apart_ns(d, read, column, out);
  out->near += taps * own, out->near_apart += taps * own * apart;
  out->columns += taps * (row_taps - own), out->columns_apart += taps * (row_taps - own) * apart;
  out->near_spans += span * taps * own, out->columns_spans += span * taps * (row_taps - own);
}

/* Whether two reads differ in the rows and columns that they are away from a point alone. */
static bool is_same_plane(const generic_reads *r, int a, int b, int row) {
  const generic_read *one = &r->reads[a], *other = &r->reads[b];
  if (one->tensor != other->tensor || dim_of(one, row) != dim_of(other, row) ||
      one->dim[row + 1] != other->dim[row + 1])
    return false;
  for (int d = 0; d < one->expr->n_args; d++)
    if (d != dim_of(one, row) && d != one->dim[row + 1] && !tir_equal(one->expr->arg[d], other->expr->arg[d]))
      return false;
  return true;
}

/* How far apart the rows are that reads of the plane of read AT, or of its tensor, read for one point. */
static double reach_of(const generic_reads *r, int at, int row, bool by_plane) {
  double low = INFINITY, high = -INFINITY;
  for (int k = 0; k < r->n; k++) {
    double from, to;
    bool counts = by_plane ? is_same_plane(r, at, k, row) : r->reads[k].tensor == r->reads[at].tensor;
    if (!counts || dim_of(&r->reads[k], row) < 0) continue;
    offsets(r, &r->reads[k], r->reads[k].dim[row], row, &from, &to);
    low = fmin(low, from), high = fmax(high, to);
  }
  return fmax(high - low, 0);
}

/* Planes of rows and columns that are read of the tensor of read AT. */
static int planes_of(const generic_reads *r, int at, int row) {
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    bool is_first = r->reads[i].tensor == r->reads[at].tensor && dim_of(&r->reads[i], row) >= 0;
    for (int k = 0; k < i; k++) is_first &= !is_same_plane(r, k, i, row);
    n += is_first;
  }
  return RUNTIME_MAX(n, 1);
}

/* Rows above and below its own that a stage reads of one tensor, and how far apart they lie. A producer's rows are as
 * long as the tensor's at most. */
static void count_reach(const generic_reads *r, int row, strip_stage *out) {
  for (int i = 0; i < r->n; i++) {
    double reach = reach_of(r, i, row, false);
    if (reach <= out->reach) continue;
    out->reach = reach;
    out->stride = fabs((double)r->reads[i].stride[row]) * (double)tn_dtype_bytes(r->reads[i].tensor->dtype);
    out->planes = planes_of(r, i, row);
    out->plane = out->stride * (double)r->reads[i].tensor->shape[r->reads[i].dim[row]];
  }
}

/* Steps that READ makes in rows and columns of its tensor. */
static double taps_of(const generic_reads *r, const generic_read *read, int row) {
  double taps = 1;
  for (int a = r->n_data; a < r->n_axes; a++)
    if (uses(read, a) && read->dim[a] >= 0 && (read->dim[a] == dim_of(read, row) || read->dim[a] == read->dim[row + 1]))
      taps *= (double)r->extent[a];
  return taps;
}

/* Each plane once, for each step of what else is summed up. What is read of a plane stays in registers where several taps
 * read it. */
static void count_rows(const strip_level *level, const generic_reads *r, int row, strip_stage *out) {
  double spanning = 0;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    double times = 1, taps = 0;
    bool is_first = uses(read, row + 1);
    for (int k = 0; k < i; k++) is_first &= !is_same_plane(r, i, k, row);
    for (int k = i; k < r->n; k++) taps += is_same_plane(r, i, k, row) ? taps_of(r, &r->reads[k], row) : 0;
    for (int a = r->n_data; a < r->n_axes; a++)
      if (uses(read, a) &&
          (read->dim[a] < 0 || (read->dim[a] != dim_of(read, row) && read->dim[a] != read->dim[row + 1])))
        times *= (double)r->extent[a];
    if (!is_first) continue;
    double rows = uses(read, row) ? times : 0, more = times * (uses(read, row) ? reach_of(r, i, row, true) : 1);
    bool is_kept = taps > 1;
    out->rows += rows, out->more_rows += more;
    spanning += spans(level, r, read, out, false) ? rows + more : 0;
    out->kept_rows += is_kept ? rows : 0, out->kept_more_rows += is_kept ? more : 0;
  }
  out->row_spans = spanning / fmax(out->rows + out->more_rows, 1);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* What the stages of the root's block make, by points and by rows, in terms of the variables of those that came first. */
typedef struct shared_block {
  counting all, once;
  int n_data, n_reduce;
  tn_axis *data[TN_MAX_RANK], *reduce[TN_MAX_RANK];
} shared_block;

/* BODY with the block's variables for OP's own, where the axes are as long. */
static const tir_expr *in_block(const generic_draft *d, const te_op *op, const tir_expr *body, shared_block *block) {
  tir_binding bindings[2 * TN_MAX_RANK];
  int n = 0;
  for (int kind = 0; kind < 2; kind++) {
    tn_axis **known = kind ? block->reduce : block->data, **own = kind ? op->reduce_axes : op->axes;
    int *n_known = kind ? &block->n_reduce : &block->n_data, n_own = kind ? op->n_reduce : op->n_axes;
    for (int a = 0; a < RUNTIME_MIN(n_own, TN_MAX_RANK); a++) {
      if (a == *n_known) known[(*n_known)++] = own[a];
      if (known[a] == own[a] || known[a]->extent != own[a]->extent) continue;
      const tir_expr *value = tir_var_expr(d->arena, &known[a]->var);
      if (value) bindings[n++] = (tir_binding){&own[a]->var, value};
    }
  }
  return n > 0 ? tir_substitute(d->arena, body, n, bindings) : body;
}

static tir_walk find_widest(void *user, const tir_expr *e) {
  double *bytes = user;
  if (e->dtype != TN_BOOL) *bytes = fmax(*bytes, (double)tn_dtype_bytes((tn_dtype)e->dtype));
  return e->op == TIR_READ ? TIR_WALK_PRUNE : TIR_WALK_ON;
}

/* A byte of the root may be made of words. */
static double wide_of(const generic_draft *d, const generic_group *g, const tir_expr *body) {
  double widest = 1, lanes = (double)generic_lanes(d, generic_stage(d, g->root));
  tir_walk_expr(body, find_widest, &widest);
  return fmax(widest * lanes / d->machine.vector_bytes, 1);
}

/* Operations of a point: all, and those that are its own where rows go together. */
static void count_ops(const generic_draft *d, const te_op *op, const tir_expr *body, shared_block *block,
                      strip_stage *out) {
  int at = op->n_axes - 2 - out->trailing;
  shared_block own = {0};
  bool in_registers = out->last_reader < 0 || out->is_local;
  if (!in_registers) block = &own;
  const tir_expr *e = in_block(d, op, body, block);
  if (!e) e = body;
  const tn_axis *row = at >= 0 ? block->data[at] : NULL, *tap = row ? tap_of(op, body, &op->axes[at]->var) : NULL;
  for (int a = 0; tap && a < op->n_reduce; a++)
    if (op->reduce_axes[a] == tap) tap = block->reduce[a];
  block->once.row = row ? &row->var : NULL, block->once.tap = tap ? &tap->var : NULL;
  count_operations(&block->all, e);
  count_operations(&block->once, e);
  operations n = block->once.n, sliding = block->once.sliding;
  operations rest = {n.sums - sliding.sums, n.products - sliding.products, n.others - sliding.others, 0, 0};
  out->roots = out->taps * n.roots;
  out->limits = out->taps * block->all.n.limits;
  out->ops = out->taps * instructions(&block->all.n);
  out->once = out->taps * instructions(&n);
  if (tap) out->once = out->taps * (instructions(&rest) + instructions(&sliding) / (double)tap->extent);
  out->ops = fmax(out->ops, out->once);
}

/* The work of a point of one stage: taps of its window, operations, loads, and how far it reaches beyond its tile. */
static void count_stage(const generic_draft *d, const generic_group *g, const strip_level *level, int stage,
                        const generic_reads *r, shared_block *block, strip_stage *out) {
  const tir_expr *body = generic_body(d, stage);
  out->reduces = r->n_axes > r->n_data;
  out->taps = out->lead = out->planes = 1;
  for (int a = r->n_data; a < r->n_axes; a++) out->taps *= (double)r->extent[a];
  for (int a = 0; a < r->n_data; a++) {
    bool is_of_tile = a == r->n_data - 1 - out->trailing || a == r->n_data - 2 - out->trailing ||
                      (level->channels > 1 && a == r->n_data - 1);
    bool is_shared = r->n_data == g->root->ndim && g->is_common[a];
    out->lead *= is_of_tile || is_shared ? 1 : (double)r->extent[a];
  }
  out->ops = out->once = out->taps;
  out->wide = body ? wide_of(d, g, body) : 1;
  if (body) count_ops(d, r->op, body, block, out);
  out->bytes = (double)tn_dtype_bytes(out->tensor->dtype);
  for (int i = 0; i < r->n; i++) count_loads(d, level, r, i, out);
  count_reach(r, r->n_data - 2 - out->trailing, out);
  count_rows(level, r, r->n_data - 2 - out->trailing, out);
  out->shares = out->columns > 0 || out->once < out->ops;
}

/* What READ of the stage at place AT asks of FROM, in rows (K: ROW) or in columns. False: another read asks for them at another pace. */
static bool reach_along(const strip_level *level, int at, const generic_reads *r, const generic_read *read, int k,
                        strip_stage *from) {
  const strip_stage *reader = &level->stages[at];
  bool is_first = from->last_reader < 0;
  double low, high, unit = k == COLUMN ? (double)level->channels : 1;
  int axis = r->n_data - 2 - reader->trailing + k, dim = from->tensor->ndim - 2 - from->trailing + k;
  if (dim < 0) return true;
  double step = axis >= 0 ? step_along(read, axis) : 1, scale = reader->scale[k] * step;
  offsets(r, read, dim, axis, &low, &high);
  low = reader->low[k] * step + low * unit, high = reader->high[k] * step + high * unit;
  from->low[k] = is_first ? low : fmin(from->low[k], low);
  from->high[k] = is_first ? high : fmax(from->high[k], high);
  bool is_same = is_first || from->scale[k] == scale;
  from->scale[k] = scale;
  return is_same;
}

/* What STAGE, at place AT, reads of the stages behind it, they have to compute. False: at more than one pace. */
static bool reach_producers(strip_level *level, int at, const generic_reads *r) {
  bool is_even = true;
  for (int i = 0; i < r->n; i++)
    for (int p = at + 1; p < level->n; p++) {
      strip_stage *from = &level->stages[p];
      if (from->tensor != r->reads[i].tensor) continue;
      for (int k = ROW; k <= COLUMN; k++) is_even &= reach_along(level, at, r, &r->reads[i], k, from);
      from->last_reader = at;
    }
  return is_even;
}

static bool is_of_chain(const generic_group *g, const tn_tensor *tensor, bool *is_local) {
  *is_local = generic_map_of(g, tensor) != NULL;
  bool found = *is_local || tensor == g->root;
  for (int i = 0; i < g->n_windows; i++) found |= g->windows[i] == tensor;
  return found;
}

/* The root and what is computed in registers for it have one block. */
static void share_blocks(strip_level *level) {
  bool shares = false;
  for (int i = 0; i < level->n; i++) shares |= (i == 0 || level->stages[i].is_local) && level->stages[i].shares;
  for (int i = 0; i < level->n; i++)
    if (i == 0 || level->stages[i].is_local) level->stages[i].shares = shares;
}

/* What STAGE reads; of a chain of several stages between the limits of its indices. */
static bool read_stage(const generic_draft *d, strip_level *level, int stage, generic_reads *r) {
  if (!generic_read_all(d, stage, r)) return false;
  for (int i = 0; i < r->n; i++) {
    bool is_limited = tir_has_op(r->reads[i].expr, TIR_MIN) || tir_has_op(r->reads[i].expr, TIR_MAX);
    for (int k = 0; k < level->n; k++) level->ends |= is_limited && level->stages[k].tensor == r->reads[i].tensor;
  }
  return level->n == 1 || generic_read_inside(d, stage, r);
}

/* All stages have the root's channels, or the root has none. */
static bool has_channels(const generic_draft *d, const strip_level *level) {
  bool all = true;
  for (int i = 0; all && level->channels > 1 && i < level->n; i++)
    all = level->stages[i].trailing == 1 &&
          generic_channels(d, generic_stage(d, level->stages[i].tensor)) == level->channels;
  return all;
}

/* The stages of the chain that are computed at this level of inlining, readers first. False: one has no rows and
 * columns, or other channels than the root. */
static bool count_level(const generic_draft *d, const generic_group *g, strip_level *out) {
  generic_reads r;
  shared_block *block = RUNTIME_NEW(d->arena, shared_block);
  if (!block) return false;
  *block = (shared_block){0};
  out->n = 0;
  out->channels = generic_trailing(d, g->root) > 0 ? generic_channels(d, generic_stage(d, g->root)) : 1;
  for (int i = d->s->n_stages - 1; i >= 0; i--) {
    const schedule_stage *st = &d->s->stages[i];
    bool is_local, is_found = generic_is_computed(st) && is_of_chain(g, st->tensors, &is_local);
    if (!is_found) continue;
    int trailing = generic_trailing(d, st->tensors);
    out->stages[out->n++] = (strip_stage){.tensor = st->tensors,
                                          .is_local = is_local,
                                          .trailing = trailing,
                                          .scale = {1, 1},
                                          .unit = {1, (double)out->channels},
                                          .last_reader = -1};
  }
  if (!has_channels(d, out)) return false;
  for (int i = 0; i < out->n; i++) {
    int stage = generic_stage(d, out->stages[i].tensor);
    if (!read_stage(d, out, stage, &r) || r.n_data < RUNTIME_MIN(2, g->root->ndim) + out->stages[i].trailing)
      return false;
    if (!reach_producers(out, i, &r)) return false;
  }
  for (int i = 0; i < out->n; i++) {
    int stage = generic_stage(d, out->stages[i].tensor);
    if (!read_stage(d, out, stage, &r)) return false;
    count_stage(d, g, out, stage, &r, block, &out->stages[i]);
  }
  share_blocks(out);
  return out->n > 0 && out->stages[0].tensor == g->root && (out->stages[0].trailing > 0) == (out->channels > 1);
}

/* ---- inlining ---------------------------------------------------------------------------------------------------- */

/* Whether a reader leaves out columns of STAGE: computed there it would leave out more of what it reads. */
static bool is_read_apart(const generic_draft *d, int stage) {
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(d->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool is = false;
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++) {
    generic_reads r;
    if (!generic_read_all(d, readers[i], &r)) return true;
    int column = r.n_data - 1 - generic_trailing(d, r.tensor);
    for (int k = 0; k < r.n && column >= 0; k++)
      is |= schedule_has_tensor(&d->s->stages[stage], r.reads[k].tensor) && step_along(&r.reads[k], column) > 1;
  }
  return is;
}

/* Producers first, what costs no more than MOST operations again. */
static void inline_cheap(generic_draft *d, const generic_group *g, double most, strip_level *out) {
  runtime_quiet quiet = runtime_quiet_begin(d->s->ctx);
  for (int i = 0; i < d->s->n_stages; i++) {
    const schedule_stage *st = &d->s->stages[i];
    const tn_tensor *tensor = st->tensors;
    bool is_local;
    if (!generic_is_computed(st) || tensor == g->root || !is_of_chain(g, tensor, &is_local)) continue;
    double again = generic_computed_again(d, i);
    if (isfinite(again) && again <= most && !is_read_apart(d, i) && schedule_compute_inline(d->s, i) == TN_OK)
      out->inlined[out->n_inlined++] = tensor;
  }
  runtime_quiet_end(&quiet);
}

/* Inlines on a copy of the schedule what costs at most MOST, and looks at what is left. NULL: no memory, or stages
 * without rows and columns. */
static const strip_level *find_level(const generic_draft *d, const generic_group *g, double most) {
  generic_draft draft = *d;
  strip_level *level = RUNTIME_NEW(d->arena, strip_level);
  draft.s = tn_schedule_copy(d->s);
  bool ok = level && draft.s;
  if (ok) inline_cheap(&draft, g, most, level);
  ok = ok && count_level(&draft, g, level);
  tn_schedule_free(draft.s);
  return ok ? level : NULL;
}

/* ---- the chain --------------------------------------------------------------------------------------------------- */

/* Of what stands outside of the chain, each tensor once. */
static double read_bytes(const generic_draft *d, const generic_group *g, int *n_read) {
  double bytes = 0;
  bool is_local;
  *n_read = 0;
  for (int i = 0; i < d->s->n_stages; i++) {
    const tn_tensor *t = d->s->stages[i].tensors;
    bool counts = false, is_stage = is_of_chain(g, t, &is_local) || d->s->stages[i].attach == SCHEDULE_INLINED;
    int readers[SCHEDULE_MAX_STAGES],
        n = is_stage ? 0 : schedule_consumers(d->s, i, true, RUNTIME_COUNT(readers), readers);
    for (int k = 0; k < n && k < RUNTIME_COUNT(readers); k++)
      counts |= is_of_chain(g, d->s->stages[readers[k]].tensors, &is_local);
    bytes += counts ? generic_bytes(t) : 0;
    *n_read += counts;
  }
  return bytes;
}

/* Of N lanes, as few as M divides. */
static int64_t least_multiple(int64_t n, int64_t m) {
  int64_t lanes = n;
  while (lanes % m != 0) lanes += n;
  return lanes;
}

const strip_facts *generic_strip_facts(const generic_draft *d, const generic_group *g) {
  int n = g->root->ndim, stage = generic_stage(d, g->root);
  bool has_channels = generic_trailing(d, g->root) > 0;
  strip_facts *f = g->is_chain && n >= (has_channels ? 3 : 1) ? RUNTIME_NEW(d->arena, strip_facts) : NULL;
  if (!f) return NULL;
  *f = (strip_facts){.machine = d->machine, .shared = 1, .inside = 1, .written = generic_bytes(g->root)};
  f->read = read_bytes(d, g, &f->n_read);
  f->channels = has_channels ? g->root->shape[--n] : 1;
  f->is_row = n == 1;
  f->rows = n >= 2 ? g->root->shape[n - 2] : 1, f->columns = g->root->shape[n - 1] * f->channels;
  f->row = (double)f->columns * (double)tn_dtype_bytes(g->root->dtype);
  f->can_stream = generic_can_stream(d, stage, f->columns, f->read + f->written);
  f->lanes = generic_lanes(d, stage);
  f->whole = least_multiple(f->lanes, f->channels);
  for (int a = 0; a < n - 2; a++) *(g->is_common[a] ? &f->shared : &f->inside) *= (double)g->root->shape[a];
  for (int i = 0; i < STRIP_LEVELS; i++) {
    const strip_level *level = find_level(d, g, most_again[i]);
    if (!level || level->channels != f->channels) break; /* too much to be analysed, or made into another one */
    bool is_same = f->n_levels > 0 && f->levels[f->n_levels - 1]->n_inlined == level->n_inlined;
    if (!is_same) f->levels[f->n_levels++] = level;
  }
  return f->n_levels > 0 ? f : NULL;
}
