/* generic_injective.c: stages without a reduction: vectors along the axis in which memory is contiguous, threads over
 * the outer loops (TVM: schedule_injective, schedule_broadcast). */
#include "schedule/generic.h"

enum { REGISTERS = 4 };

/* Whether the last two loops walk through every read as one: then a row may be shorter than a vector. */
static bool rows_join(const generic_reads *r, int row, int column) {
  for (int i = 0; i < r->n; i++) {
    int64_t a, b;
    if (!generic_stride(&r->reads[i], row, &a) || !generic_stride(&r->reads[i], column, &b)) return false;
    if (a != b * r->extent[column]) return false;
  }
  return true;
}

/* Whether rows of what is written or read are apart, as far as a call says. */
static bool has_strides(const generic_plan *p, int stage, const generic_reads *r) {
  const schedule_stage *st = &p->s->stages[stage];
  bool any = false;
  for (int v = 0; v < st->n_tensors; v++) any = any || st->tensors[v].is_strided;
  for (int i = 0; i < r->n; i++) any = any || r->reads[i].tensor->is_strided;
  return any;
}

/* Fuses the last of N loops while they are shorter than some vectors. LOOPS: axes in order; shortened. */
static bool join_rows(generic_plan *p, int stage, generic_reads *r, int *n, int *loops) {
  if (has_strides(p, stage, r)) return true;
  int64_t wanted = REGISTERS * generic_lanes(p, stage), extent = *n > 0 ? r->extent[*n - 1] : wanted;
  int first = *n - 1;
  while (first > 0 && extent < wanted && rows_join(r, first - 1, first)) {
    extent *= r->extent[--first];
    r->extent[first] = extent;
  }
  int n_joined = *n - first;
  if (*n == 0 || n_joined == 1) return true;
  *n = first + 1;
  return generic_fuse(p, stage, n_joined, loops + first, &loops[first]);
}

/* Splits and vectorizes the last loop and puts its parts into LOOPS. */
static bool vectorize_last(generic_plan *p, int stage, int *n, int *loops) {
  int outer, inner;
  if (*n == 0) return true;
  if (!generic_split_vector(p, stage, loops[*n - 1], REGISTERS, &outer, &inner)) return false;
  if (outer >= 0) loops[*n - 1] = outer, (*n)++;
  loops[*n - 1] = inner;
  return generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE);
}

static bool arrange(generic_plan *p, int stage, int *n, int *loops) {
  generic_reads r;
  *n = p->s->stages[stage].op->n_axes;
  for (int a = 0; a < *n; a++) loops[a] = a;
  if (!generic_read_all(p, stage, &r)) return true;
  return join_rows(p, stage, &r, n, loops) && vectorize_last(p, stage, n, loops);
}

bool generic_inner_injective(generic_plan *p, int stage) {
  int n, loops[TN_MAX_RANK + 1];
  return arrange(p, stage, &n, loops);
}

bool generic_injective(generic_plan *p, const generic_group *g) {
  int n, loops[TN_MAX_RANK + 1], loop, n_fused, stage = generic_stage(p, g->root);
  if (!arrange(p, stage, &n, loops)) return false;
  bool ends_in_vector = n > 0 && p->s->stages[stage].axes[loops[n - 1]].annotation == SCHEDULE_VECTORIZE;
  return generic_parallel(p, stage, n - ends_in_vector, loops, g->ns, &loop, &n_fused);
}
