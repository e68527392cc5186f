/* layout.h: the order in which a stage's buffer stores its elements, as a map of indices (layout.c). */
#ifndef TENON_SCHEDULE_LAYOUT_H
#define TENON_SCHEDULE_LAYOUT_H

#include "schedule/lowering.h"

/* A dimension of the buffer: (index DIM // divisor) % modulus; modulus 0: no modulo. */
typedef struct schedule_digit {
  int dim;
  int64_t divisor, modulus;
} schedule_digit;

/* NAMES and DIGITS point into the text that it was read from, which must stay. */
struct schedule_layout {
  int n_in, n_out;
  struct {
    const char *at; /* in the text */
    int length;
  } names[TN_MAX_RANK];
  schedule_digit digits[TN_MAX_RANK];
};

/* A map that was read before, in the context's arena. TEXT is what a stage keeps of it: one way of writing it. */
typedef struct schedule_known_map {
  schedule_layout layout;
  const char *text;
} schedule_known_map;

/* Reads "[k, j] -> [j//64, k, j%64]". NULL, or what is expected at *WHERE. */
const char *schedule_layout_read(const char *text, schedule_layout *out, const char **where);
/* The extent of one of the buffer's dimensions for a region of these extents. */
const tir_expr *schedule_layout_extent(lowering *l, const schedule_digit *digit, const tir_expr *const *extent);
/* The element's place in the buffer, n_out expressions. */
void schedule_layout_index(lowering *l, const schedule_layout *layout, const tir_expr *const *index,
                           const tir_expr **out);

#endif
