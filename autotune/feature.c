/* feature.c: features of lowered loop IR: a row for each buffer that its stores (schedule/touch.h) write.
 *
 * Differences to TVM, all on purpose: loops of extent 1 are no loops; a store of a constant (a reduction's init)
 * counts only when nothing else writes the buffer; of several stores the one that runs most often describes the
 * buffer, and their operations add up; positions of annotated loops and multiply-adds are found; a region never
 * exceeds its buffer. */
#include "autotune/feature.h"

#include <math.h>

const char *const autotune_feature_names[FEATURE_COUNT] = {
#define X(name) #name,
    FEATURE_ALL(X)
#undef X
};

/* A cost that is far below that of `auto` is too good to be true, so its advantage is cut to this. */
#define MOST_SHARE 2.0

/* Whether no store before this one writes the same buffer. Quadratic in the stores, of which there are at
 * most TOUCH_MAX_STORES. */
static bool is_first_store(const touch_program *p, int store) {
  for (int i = 0; i < store; ++i) {
    if (p->stores[i].buffer == p->stores[store].buffer) return false;
  }
  return true;
}

/* The collected program takes hundreds of kilobytes, so it is on the heap. It is not cleared, since only
 * what its counts cover is read. Returns -1: no memory. */
int autotune_features(const tir_func *lowered, int cache_line_bytes, const tn_machine *machine, float *rows,
                      autotune_estimate *estimate) {
  touch_program *p = lowered && lowered->body ? malloc(sizeof *p) : NULL;
  if (!p) return lowered && lowered->body ? -1 : 0;
  touch_collect(lowered, p);
  feature_logs logs = {0};
  int n = 0;
  for (int i = 0; i < p->n_stores && n < AUTOTUNE_MAX_ROWS; ++i) {
    if (is_first_store(p, i))
      feature_fill_row(p, i, cache_line_bytes, &logs, rows + (ptrdiff_t)AUTOTUNE_FEATURES * n++);
  }
  if (estimate) feature_estimate(p, machine, estimate);
  free(p);
  return n;
}

/* The same four numbers go into every row: XGBoost sees rows one by one, and each has to say what its program costs. */
void autotune_rows_set_cost(int n, float *rows, const autotune_estimate *estimate, double cost_ns, double auto_ns) {
  for (int i = 0; i < n; ++i, rows += AUTOTUNE_FEATURES) {
    rows[feature_cost_share] = cost_ns > 0 ? (float)fmin(auto_ns / cost_ns, MOST_SHARE) : 0;
    rows[feature_cost_ns] = (float)log2(1 + cost_ns);
    rows[feature_work] = (float)log2(1 + estimate->work);
    rows[feature_statements] = (float)log2(1 + estimate->statements);
  }
}

float autotune_cost_share(const float *row) { return row[feature_cost_share]; }
