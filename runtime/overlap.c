/* overlap.c: whether elements of strided arrays share memory. Two elements do if their addresses are equal,
 * which is an equation sum(step * count) = distance with counts in ranges. It is solved by trying the
 * counts of the largest step first, as far as the other terms reach. For arrays that are parts of others,
 * one or two counts remain to be tried at each step. The equation is on the stack. */
#include "runtime/base.h"

enum { MAX_TERMS = 2 * (TN_MAX_RANK + 1), BUDGET = 20000 };
#define MAX_SPAN (INT64_MAX / 4)

/* A part of an address: a count in LO .. HI, times STEP bytes. */
typedef struct term {
  int64_t step;   /* bytes, positive */
  int64_t lo, hi; /* counts */
} term;

/* The address of one element minus that of another as a sum. If it can be 0, the arrays share memory.
 * BUDGET limits the search. */
typedef struct equation {
  int n;
  term terms[MAX_TERMS];                        /* by descending steps, no two equal */
  int64_t span;                                 /* the size of all terms together */
  int64_t lo[MAX_TERMS + 1], hi[MAX_TERMS + 1]; /* the range of the sum of the terms from there on */
  int budget;
} equation;

/* False: more than memory can be. */
static bool add_term(equation *e, int64_t step, int64_t lo, int64_t hi) {
  int64_t part;
  int i = 0;
  if (step == 0 || (lo == 0 && hi == 0)) return true;
  if (__builtin_mul_overflow(step, hi - lo, &part) || part > MAX_SPAN - e->span) return false;
  e->span += part;
  while (i < e->n && e->terms[i].step > step) i++;
  if (i == e->n || e->terms[i].step != step) {
    memmove(&e->terms[i + 1], &e->terms[i], sizeof *e->terms * (size_t)(e->n++ - i));
    e->terms[i] = (term){step, 0, 0};
  }
  e->terms[i].lo += lo, e->terms[i].hi += hi;
  return true;
}

/* Adds the elements of ARRAY, and the bytes within an element. SIGN -1: with the opposite sign. */
static bool add_array(equation *e, const DLTensor *array, int sign) {
  int64_t compact[TN_MAX_RANK], bytes = array->dtype.bits * array->dtype.lanes / 8;
  const int64_t *strides = array->strides;
  if (!strides) runtime_compact_strides(array->ndim, array->shape, compact), strides = compact;
  bool fits = add_term(e, 1, sign < 0 ? 1 - bytes : 0, sign < 0 ? 0 : bytes - 1);
  for (int d = 0; d < array->ndim && fits; d++) {
    int64_t last = array->shape[d] - 1, step;
    if (last == 0) continue;
    if (__builtin_mul_overflow(strides[d], bytes, &step)) return false;
    fits = add_term(e, step, sign < 0 ? -last : 0, sign < 0 ? 0 : last);
  }
  return fits;
}

/* Computes the ranges of the terms from each on, which limit the search to counts that can still succeed. */
static void sum_up(equation *e) {
  e->lo[e->n] = e->hi[e->n] = 0;
  for (int i = e->n; i-- > 0;) {
    e->lo[i] = e->lo[i + 1] + e->terms[i].step * e->terms[i].lo;
    e->hi[i] = e->hi[i + 1] + e->terms[i].step * e->terms[i].hi;
  }
  e->budget = BUDGET;
}

/* Whether the terms from I on can have the sum REST. Also true if that would take too long to find out. */
static bool can_make(equation *e, int i, int64_t rest) {
  if (rest < e->lo[i] || rest > e->hi[i]) return false;
  if (i == e->n || --e->budget < 0) return true;
  const term *t = &e->terms[i];
  int64_t from = -runtime_floordiv(e->hi[i + 1] - rest, t->step), to = runtime_floordiv(rest - e->lo[i + 1], t->step);
  for (int64_t x = RUNTIME_MAX(from, t->lo); x <= RUNTIME_MIN(to, t->hi); x++)
    if (can_make(e, i + 1, rest - x * t->step)) return true;
  return false;
}

/* An array without elements shares nothing, whatever its strides are. */
static bool is_empty(const DLTensor *array) {
  bool empty = false;
  for (int d = 0; d < array->ndim; d++) empty = empty || array->shape[d] == 0;
  return empty;
}

/* Works in bytes, since the arrays may have different dtypes. In doubt the answer is false, so that a
 * caller that refuses on false is safe. */
bool runtime_arrays_are_apart(const DLTensor *a, const DLTensor *b) {
  equation e = {0};
  if (is_empty(a) || is_empty(b)) return true;
  if (!add_array(&e, a, 1) || !add_array(&e, b, -1)) return false;
  sum_up(&e);
  uintptr_t first = (uintptr_t)a->data + a->byte_offset, second = (uintptr_t)b->data + b->byte_offset;
  return !can_make(&e, 0, (int64_t)(second - first));
}

/* The differences of two elements' indices form an equation with distance 0. To exclude equal elements,
 * each dimension in turn is taken as the one with the largest step in which they differ. */
bool runtime_elements_are_apart(const DLTensor *array) {
  equation all = {0};
  if (is_empty(array)) return true;
  for (int d = 0; d < array->ndim && array->strides; d++) {
    int64_t last = array->shape[d] - 1;
    if (last > 0 && array->strides[d] == 0) return false;
    for (int other = 0; other < d && last > 0; other++)
      if (array->shape[other] > 1 && array->strides[other] == array->strides[d]) return false;
    if (!add_term(&all, array->strides[d], -last, last)) return false;
  }
  for (int i = 0; i < all.n; i++) {
    equation e = all;
    for (int k = 0; k < i; k++) e.terms[k].lo = e.terms[k].hi = 0;
    e.terms[i].lo = 1;
    sum_up(&e);
    if (can_make(&e, 0, 0)) return false;
  }
  return true;
}
