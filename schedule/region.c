/* region.c: interval arithmetic with a symbolic lower end and a constant width, over + - * // % min max. Terms are
 * taken as independent, so a range can be wider than needed, never narrower. */
#include "schedule/region.h"

#include "tir/linear.h"

static const schedule_range unknown = {NULL, 0};

/* In the index dtype. */
static const tir_expr *number(lowering *l, int64_t value) { return tir_int(l->arena, l->index_dtype, value); }
/* Made by the constructor, which folds. */
static const tir_expr *binary(lowering *l, tir_op op, const tir_expr *a, const tir_expr *b) {
  return tir_binary(l->arena, op, a, b);
}

/* Data counts as changing. */
static tir_walk stop_at_relaxed(void *user, const tir_expr *e) {
  (void)user;
  if (e->op == TIR_READ || e->op == TIR_LOAD) return TIR_WALK_STOP;
  return e->op == TIR_VAR && ((const lower_var *)e->u.var)->relaxed ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* The same value in every iteration that is looked at: no relaxed variable, and no data. */
static bool is_fixed(const tir_expr *e) { return tir_walk_expr(e, stop_at_relaxed, NULL); }

/* Proved, not guessed: false also when the simplifier cannot see it. */
static bool is_multiple(lowering *l, const tir_expr *e, int64_t of) {
  int64_t value = 1;
  return tir_is_int(tir_simplify(l->arena, l->env, binary(l, TIR_FLOORMOD, e, number(l, of))), &value) && value == 0;
}

/* [a, a+n) + [b, b+m) = [a+b, a+b+n+m-1). */
static schedule_range range_add(lowering *l, schedule_range a, schedule_range b) {
  return (schedule_range){binary(l, TIR_ADD, a.min, b.min), a.extent + b.extent - 1};
}

/* The smallest difference takes the last of what is subtracted. */
static schedule_range range_sub(lowering *l, schedule_range a, schedule_range b) {
  const tir_expr *b_last = binary(l, TIR_ADD, b.min, number(l, b.extent - 1));
  return (schedule_range){binary(l, TIR_SUB, a.min, b_last), a.extent + b.extent - 1};
}

/* A factor below 0 turns the range around. Points between the multiples belong to it. */
static schedule_range range_scale(lowering *l, schedule_range a, int64_t by) {
  const tir_expr *first = by < 0 ? binary(l, TIR_ADD, a.min, number(l, a.extent - 1)) : a.min;
  int64_t size = by < 0 ? -by : by, extent;
  if (__builtin_mul_overflow(a.extent - 1, size, &extent)) return unknown;
  return (schedule_range){binary(l, TIR_MUL, first, number(l, by)), extent + 1};
}

/* Without knowing the first value's remainder a range of n values meets up to (n-1 + by-1)/by + 1 quotients. */
static schedule_range range_floordiv(lowering *l, schedule_range a, int64_t by) {
  if (by < 1) return unknown;
  const tir_expr *min = binary(l, TIR_FLOORDIV, a.min, number(l, by));
  if (by % a.extent == 0 && is_multiple(l, a.min, a.extent)) return (schedule_range){min, 1};
  bool aligned = is_multiple(l, a.min, by);
  return (schedule_range){min, (a.extent - 1 + (aligned ? 0 : by - 1)) / by + 1};
}

/* A range that does not cross a multiple of BY keeps its width; any other one can meet all remainders. */
static schedule_range range_floormod(lowering *l, schedule_range a, int64_t by) {
  if (by < 1) return unknown;
  int64_t first;
  const tir_expr *min = tir_simplify(l->arena, l->env, binary(l, TIR_FLOORMOD, a.min, number(l, by)));
  if (tir_is_int(min, &first) && first + a.extent <= by) return (schedule_range){min, a.extent};
  if (by % a.extent == 0 && is_multiple(l, a.min, a.extent)) return (schedule_range){min, a.extent};
  return (schedule_range){number(l, 0), by};
}

/* Between the constants that bound both, when there are. Else, as each is at most as far from its end as the range is wide, from the least
 * (or greatest) of both ends on as wide as the wider one: max(y - 1 + r, 0) is in [max(y - 1, 0), max(y - 1, 0) + R). */
static schedule_range range_extremum(lowering *l, schedule_range a, schedule_range b, bool is_min) {
  int64_t a0, b0;
  if (!tir_is_int(tir_simplify(l->arena, l->env, a.min), &a0) ||
      !tir_is_int(tir_simplify(l->arena, l->env, b.min), &b0))
    return (schedule_range){binary(l, is_min ? TIR_MIN : TIR_MAX, a.min, b.min), RUNTIME_MAX(a.extent, b.extent)};
  int64_t a1 = a0 + a.extent, b1 = b0 + b.extent;
  int64_t first = is_min ? RUNTIME_MIN(a0, b0) : RUNTIME_MAX(a0, b0),
          end = is_min ? RUNTIME_MIN(a1, b1) : RUNTIME_MAX(a1, b1);
  return (schedule_range){number(l, first), end - first};
}
/* By constants; see range_extremum. */
static schedule_range range_min(lowering *l, schedule_range a, schedule_range b) {
  return range_extremum(l, a, b, true);
}
static schedule_range range_max(lowering *l, schedule_range a, schedule_range b) {
  return range_extremum(l, a, b, false);
}

/* What a range becomes under an operator: with another range, or with a constant on the right. */
typedef struct range_rule {
  tir_op op;
  schedule_range (*with_range)(lowering *l, schedule_range a, schedule_range b);
  schedule_range (*with_constant)(lowering *l, schedule_range a, int64_t by);
} range_rule;
static const range_rule rules[] = {
    {TIR_ADD, range_add, NULL},           {TIR_SUB, range_sub, NULL},   {TIR_MIN, range_min, NULL},
    {TIR_MAX, range_max, NULL},           {TIR_MUL, NULL, range_scale}, {TIR_FLOORDIV, NULL, range_floordiv},
    {TIR_FLOORMOD, NULL, range_floormod},
};

/* A constant on the left of a product is moved to the right. */
static schedule_range apply_rule(lowering *l, const range_rule *rule, const tir_expr *x, const tir_expr *y) {
  int64_t by;
  if (rule->op == TIR_MUL && tir_is_int(x, &by)) return apply_rule(l, rule, y, x);
  schedule_range a = schedule_range_of(l, x);
  if (!a.extent) return unknown;
  if (rule->with_constant) return tir_is_int(y, &by) ? rule->with_constant(l, a, by) : unknown;
  schedule_range b = schedule_range_of(l, y);
  return b.extent ? rule->with_range(l, a, b) : unknown;
}

/* Terms of a quotient or a remainder are not independent: (x*2 + y) % 2 with 0 <= y < 2 is y, whatever x is. */
static const tir_expr *without_cancelled_terms(lowering *l, const tir_expr *e) {
  return e->op == TIR_FLOORDIV || e->op == TIR_FLOORMOD ? tir_simplify(l->arena, l->env, e) : e;
}

/* Unknown for every operator without a rule. */
static schedule_range range_binary(lowering *l, const tir_expr *e) {
  const tir_expr *simple = without_cancelled_terms(l, e);
  if (simple->op != e->op) return schedule_range_of(l, simple);
  e = simple;
  for (int i = 0; i < RUNTIME_COUNT(rules); i++)
    if (rules[i].op == (tir_op)e->op) return apply_rule(l, &rules[i], e->arg[0], e->arg[1]);
  return unknown;
}

/* A loop whose extent symbols decide covers what it may: the whole tensor is taken. Recursion is as deep as the
 * expression, which te/ limits. */
schedule_range schedule_range_of(lowering *l, const tir_expr *e) {
  if (e->dtype != l->index_dtype) return unknown;
  if (e->op == TIR_VAR && ((const lower_var *)e->u.var)->relaxed)
    return ((const lower_var *)e->u.var)->size ? unknown
                                               : (schedule_range){number(l, 0), ((const lower_var *)e->u.var)->extent};
  if (is_fixed(e)) return (schedule_range){e, 1};
  return e->n_args == 2 ? range_binary(l, e) : unknown;
}

/* How far TO lies from FROM, which limits may be applied to: by what either is a limit of. DEPTH of these are looked into. */
static tir_interval distance_of(lowering *l, const tir_expr *from, const tir_expr *to, int depth) {
  tir_interval far = tir_bounds(l->env, tir_simplify(l->arena, l->env, binary(l, TIR_SUB, to, from)));
  for (int of_to = 0; of_to <= 1 && depth > 0 && far.lo != far.hi; of_to++) {
    const tir_expr *limited = of_to ? to : from;
    if (tir_class_of(limited) != TIR_CLASS_EXTREMUM) continue;
    tir_interval one = distance_of(l, of_to ? from : from->arg[0], of_to ? to->arg[0] : to, depth - 1);
    tir_interval other = distance_of(l, of_to ? from : from->arg[1], of_to ? to->arg[1] : to, depth - 1);
    bool is_least = (limited->op == TIR_MIN) == of_to; /* the lesser of the two distances counts */
    far =
        tir_interval_meet(far, is_least ? (tir_interval){RUNTIME_MIN(one.lo, other.lo), RUNTIME_MIN(one.hi, other.hi)}
                                        : (tir_interval){RUNTIME_MAX(one.lo, other.lo), RUNTIME_MAX(one.hi, other.hi)});
  }
  return far;
}

/* Two reads in one loop nest, such as P[y, x] and P[y+2, x], lie at a constant distance, or between two: P[max(y-1, 0), x] is no more than a
 * row before P[y, x]. Others give up. */
schedule_range schedule_range_hull(lowering *l, schedule_range a, schedule_range b) {
  enum { LIMITS = 4, FARTHEST = 1 << 16 };
  if (!a.extent || !b.extent) return unknown;
  tir_interval far = distance_of(l, a.min, b.min, LIMITS);
  if (far.lo < -FARTHEST || far.hi > FARTHEST || tir_interval_is_empty(far)) return unknown;
  int64_t least = RUNTIME_MAX(a.extent, far.lo + b.extent) - RUNTIME_MIN(0, far.lo),
          most = RUNTIME_MAX(a.extent, far.hi + b.extent) - RUNTIME_MIN(0, far.hi);
  const tir_expr *first = far.lo >= 0 ? a.min : far.hi <= 0 ? b.min : binary(l, TIR_MIN, a.min, b.min);
  return (schedule_range){first, RUNTIME_MAX(least, most)};
}
