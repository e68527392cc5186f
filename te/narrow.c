/* narrow.c: reductions over few steps that are done in fewer bits than they are written in, as programs on images write them:
 *
 *     Y[y, x] = u8(sum[r<3, s<3](u32(X[y+r, x+s])) // 9)
 *
 * The sums are 9 * 255 at most, for which 16 bits are enough: a register then holds twice as many. The greatest of bytes is a byte. */
#include "te/internal.h"
#include "tir/linear.h"

/* Longer sums of bytes are dot products (schedule/row_sums.c), which have 32 bits. */
enum { MOST_STEPS = 64, MOST_DEPTH = 16 };

/* E in DTYPE, modulo its range: of sums and products of what is in no more bits. NULL: it is something else, or there is no memory. */
static const tir_expr *in_dtype(runtime_arena *arena, const tir_expr *e, tn_dtype dtype, int depth) {
  const tir_expr *args[3];
  bool is_cast = e->op == TIR_CAST && !tn_dtype_is_float((tn_dtype)e->arg[0]->dtype);
  if (is_cast && tn_dtype_bytes((tn_dtype)e->arg[0]->dtype) <= tn_dtype_bytes(dtype))
    return tir_cast(arena, dtype, e->arg[0]);
  if (e->op == TIR_INT) return tir_int(arena, dtype, e->u.i);
  bool is_ring = e->op == TIR_ADD || e->op == TIR_SUB || e->op == TIR_MUL, chooses = e->op == TIR_SELECT;
  if ((!is_ring && !chooses) || depth == 0) return NULL;
  args[0] = e->arg[0]; /* of a select the condition, as it is */
  for (int i = chooses; i < e->n_args; i++)
    if (!(args[i] = in_dtype(arena, e->arg[i], dtype, depth - 1))) return NULL;
  return tir_with_args(arena, e, args);
}

/* Steps of a reduction; 0: more than MOST_STEPS, or as many as a symbol says. */
static int64_t steps_of(const tir_reduce *reduce) {
  int64_t steps = 1;
  for (int i = 0; i < reduce->n_axes; i++) {
    if (reduce->axes[i]->size || reduce->axes[i]->extent > MOST_STEPS) return 0;
    steps *= reduce->axes[i]->extent;
    if (steps > MOST_STEPS) return 0;
  }
  return steps;
}

/* Between which values the result of E lies, whose steps are between those of STEP. False: that is not known, or is not the same for other
 * bits: where a condition leaves out all steps, the result is what the dtype begins with. */
static bool range_of_result(const tir_expr *e, tir_interval step, tir_interval *out) {
  const tir_reduce *reduce = e->u.reduce;
  int64_t steps = steps_of(reduce);
  bool is_sum = reduce->combiner == TIR_REDUCE_SUM, is_unsigned = !tn_dtype_is_signed((tn_dtype)e->dtype);
  bool is_greatest = reduce->combiner == TIR_REDUCE_MAX, is_least = reduce->combiner == TIR_REDUCE_MIN;
  *out = step;
  if (is_greatest || is_least) return !reduce->has_where || (is_greatest && is_unsigned);
  *out = (tir_interval){RUNTIME_MIN(step.lo * steps, 0), RUNTIME_MAX(step.hi * steps, 0)};
  return is_sum && steps > 0;
}

const tir_expr *te_narrow_reduction(runtime_arena *arena, const tir_expr *e) {
  static const tn_dtype dtypes[] = {TN_U8, TN_I8, TN_U16, TN_I16};
  const tir_reduce *reduce = e->u.reduce;
  tir_interval all;
  if (reduce->tuple || reduce->has_init || tn_dtype_is_float((tn_dtype)e->dtype) || e->dtype == TN_BOOL) return e;
  tir_interval step = tir_bounds(NULL, e->arg[0]);
  if (!tir_interval_is_closed(step) || !tir_interval_within(step, tir_dtype_range(TN_I32))) return e;
  if (!range_of_result(e, step, &all)) return e;
  for (int i = 0; i < RUNTIME_COUNT(dtypes); i++) {
    bool is_less = tn_dtype_bytes(dtypes[i]) < tn_dtype_bytes((tn_dtype)e->dtype);
    if (!is_less || !tir_interval_within(all, tir_dtype_range(dtypes[i]))) continue;
    const tir_expr *args[2] = {in_dtype(arena, e->arg[0], dtypes[i], MOST_DEPTH), tir_reduce_where(e)};
    return args[0] ? tir_reduce_args(arena, reduce, args) : e;
  }
  return e;
}
