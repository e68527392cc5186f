/* affine.c: by what a schedule divides its loops. A block that begins at o*8 can begin at M - 8 as well where nothing is divided. Where
 * something is, the simplifier makes use of o*8 being a multiple of 8, and what is left is right for such blocks only:
 *     A[(o*8 + i) % 2] is A[i % 2], which is right where a block begins at a multiple of 2
 * Let R be the product of what is divided by, one inside of the other. Where 8 is a multiple of R, what is left is a sum of a multiple of o
 * and of what depends on i alone, and it is right for a block that begins at any multiple of R. */
#include "schedule/lowering.h"
#include "tir/linear.h"

/* More than this, or more divisions inside of each other, is as good as anything. */
enum { MOST = 1 << 20, MAX_DEPTH = 4 };

static bool is_symbol(const tn_program *program, const tir_var *var) {
  for (int i = 0; i < program->n_symbols; i++)
    if (&program->symbols[i]->var == var) return true;
  return false;
}

static tir_walk find_axis(void *user, const tir_expr *e) {
  if (e->op == TIR_READ) return TIR_WALK_PRUNE;
  return e->op == TIR_VAR && !is_symbol(user, e->u.var) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether an axis decides the value, and not only which element is read. */
static bool has_axis(const tn_program *program, const tir_expr *e) {
  return !tir_walk_expr(e, find_axis, (void *)program);
}

/* What divisors have in common: all of them divide it. 0: it is too large, or one of them is 0. */
static int64_t joined(int64_t a, int64_t b) {
  int64_t multiple = a == 0 || b == 0 ? 0 : a / tir_common_divisor(a, b) * b;
  return multiple <= MOST ? multiple : 0;
}

/* Divisions by both, one inside of the other. */
static int64_t nested(int64_t a, int64_t b) { return a > 0 && b > 0 && a <= MOST / b ? a * b : 0; }

typedef struct dividing {
  const tn_program *program;
  int depth;
  int64_t by; /* 0: it cannot be said */
} dividing;

static int64_t divisor_of(const tn_program *program, const tir_expr *e, int depth);

static tir_walk find_division(void *user, const tir_expr *e) {
  dividing *d = user;
  tir_class is = tir_class_of(e);
  bool divides = is == TIR_CLASS_DIVISION || is == TIR_CLASS_BITS || is == TIR_CLASS_SHIFT || is == TIR_CLASS_COUNT;
  int64_t by = 0;
  if (!divides || !has_axis(d->program, e)) return TIR_WALK_ON;
  bool is_known = is == TIR_CLASS_DIVISION && tir_is_int(e->arg[1], &by) && by > 0 && by <= MOST;
  d->by = is_known ? joined(d->by, nested(by, divisor_of(d->program, e->arg[0], d->depth + 1))) : 0;
  return d->by > 0 ? TIR_WALK_PRUNE : TIR_WALK_STOP;
}

/* By what axes are divided in an expression, which may be NULL. */
static int64_t divisor_of(const tn_program *program, const tir_expr *e, int depth) {
  dividing d = {program, depth, depth < MAX_DEPTH};
  if (e && d.by > 0) (void)tir_walk_expr(e, find_division, &d);
  return d.by;
}

/* A loop that is several is divided by the extents of those inside: those of the axes where the whole tensor is computed. */
static int64_t divisor_of_fused(const schedule_stage *st, const schedule_relation *r, bool is_whole) {
  int64_t by = is_whole;
  for (int i = 1; i < r->n; i++) by = st->axes[r->many[i]].size ? 0 : nested(by, st->axes[r->many[i]].extent);
  return by;
}

/* Indices of a layout and of a buffer that goes round are divided. */
static int64_t divisor_of_stage(const tn_schedule *s, int stage) {
  const tn_program *program = s->program;
  const schedule_stage *st = &s->stages[stage];
  bool is_plain = st->op->kind == TE_PLACEHOLDER || st->op->kind == TE_COMPUTE;
  if (!is_plain || st->buffering != SCHEDULE_BUFFER_ONCE || st->intrin != NULL) return 0;
  if (st->layout != NULL && (strchr(st->layout, '/') != NULL || strchr(st->layout, '%') != NULL)) return 0;
  int64_t by = joined(divisor_of(program, st->op->body, 0), divisor_of(program, st->predicate, 0));
  for (int i = 0; i < st->n_relations; i++)
    if (st->relations[i].is_fuse)
      by = nested(by, divisor_of_fused(st, &st->relations[i], schedule_is_output(s, stage)));
  return by;
}

/* What is computed inside of a loop is divided inside of what is divided there. */
int64_t schedule_divisor(const tn_schedule *s) {
  int64_t by = 1;
  for (int i = 0; i < s->n_stages && by > 0; i++) by = nested(by, divisor_of_stage(s, i));
  return by;
}
