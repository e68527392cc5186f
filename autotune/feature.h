/* feature.h: the layout of a feature row by name. Rows are filled (feature_row.c) from what every store of loop IR does
 * and touches (schedule/touch.h).
 *
 * Source of the first 164: Ansor (Zheng et al., OSDI'20), TVM's per-store features; meanings in docs/features.md. */
#ifndef TENON_AUTOTUNE_FEATURE_H
#define TENON_AUTOTUNE_FEATURE_H

#include "autotune/internal.h"
#include "schedule/touch.h"

/* ---- layout ------------------------------------------------------------------------------------------------------ */

/* clang-format off */
/* Loops of one kind around the store: how many, product of extents, extent of the innermost, and which loops they
 * are. */
#define FEATURE_ANNOTATION(X, kind)                                                                               \
  X(kind##_num) X(kind##_prod) X(kind##_len) X(kind##_none) X(kind##_inner_spatial) X(kind##_middle_spatial)      \
  X(kind##_outer_spatial) X(kind##_inner_reduce) X(kind##_middle_reduce) X(kind##_outer_reduce) X(kind##_mixed)
#define FEATURE_BUFFER(X, b)                                                                                       \
  X(b##_read) X(b##_write) X(b##_readwrite) X(b##_bytes) X(b##_unique_bytes) X(b##_lines) X(b##_unique_lines)      \
  X(b##_loop_reuse) X(b##_serial_reuse) X(b##_no_reuse) X(b##_reuse_iterations) X(b##_reuse_bytes)                 \
  X(b##_reuse_count) X(b##_bytes_per_reuse) X(b##_unique_bytes_per_reuse) X(b##_lines_per_reuse)                   \
  X(b##_unique_lines_per_reuse) X(b##_stride)

#define FEATURE_ALL(X)                                                                                             \
  TOUCH_MATH(X)                                              \
  FEATURE_ANNOTATION(X, vec) FEATURE_ANNOTATION(X, unroll) FEATURE_ANNOTATION(X, parallel)                         \
  X(is_gpu) X(block_x_len) X(block_y_len) X(block_z_len) X(thread_x_len) X(thread_y_len) X(thread_z_len)           \
  X(vthread_len)                                                                                                   \
  FEATURE_BUFFER(X, b0) FEATURE_BUFFER(X, b1) FEATURE_BUFFER(X, b2) FEATURE_BUFFER(X, b3) FEATURE_BUFFER(X, b4)    \
  X(curve_0) X(curve_1) X(curve_2) X(curve_3) X(curve_4) X(curve_5) X(curve_6) X(curve_7) X(curve_8) X(curve_9)    \
  X(alloc_size) X(alloc_prod) X(alloc_outer_prod) X(alloc_inner_prod)                                              \
  X(outer_prod) X(num_loops) X(auto_unroll_max_step)                                                               \
  /* Tenon's own */                                                                                                \
  X(is_local)     /* the written buffer is local scratch */                                                        \
  X(guards)       /* conditions around the store */                                                                \
  X(guard_prod)   /* how often the innermost of them is evaluated */                                               \
  X(body_prod)    /* iterations that become one straight-line body: vectorized, unrolled, within the pragma's limit */ \
  X(body_written) /* elements of the written buffer in such a body: the accumulators */                            \
  X(body_read)    /* elements of the other buffers in it: the loads */                                             \
  X(reduce_prod)  /* product of the reduction loops' extents */                                                    \
  X(vec_bytes)    /* bytes the innermost vectorized loop writes at once */                                         \
  /* of the whole program, so the same in each of its rows: autotune_rows_set_cost */                              \
  X(cost_share)   /* what `auto` costs by its plans, of what this one costs; not by slog */                        \
  X(cost_ns)      /* the analytic cost */                                                                          \
  X(work)         /* vector instructions */                                                                        \
  X(statements)   /* of straight-line code, once loops are unrolled and peeled */
/* clang-format on */

/* The features, in the order of a row. */
typedef enum feature_index {
#define X(name) feature_##name,
  FEATURE_ALL(X)
#undef X
      FEATURE_COUNT
} feature_index;

enum { FEATURE_BUFFERS = 5, FEATURE_PER_BUFFER = feature_b1_read - feature_b0_read, FEATURE_CURVE_POINTS = 10 };
_Static_assert((int)FEATURE_COUNT == (int)AUTOTUNE_FEATURES, "the layout and its length agree");
_Static_assert((int)feature_select_op == (int)TOUCH_select_op, "the operations come first");
_Static_assert(feature_auto_unroll_max_step == 163, "TVM's 164 come first");

extern const char *const autotune_feature_names[FEATURE_COUNT];

/* Estimates what the program takes before any of it is compiled (feature_estimate.c). */
void feature_estimate(const touch_program *p, const tn_machine *machine, autotune_estimate *out);

/* Logarithms that a program's rows have in common, by the bits of what they are of; zeros to begin with. */
enum { FEATURE_LOG_BITS = 8 };
typedef struct feature_logs {
  double of[1 << FEATURE_LOG_BITS];
  float log[1 << FEATURE_LOG_BITS];
} feature_logs;

/* Fills the row of the buffer that p->stores[first] writes: from this store and all later ones of the same buffer. */
void feature_fill_row(const touch_program *p, int first, int cache_line_bytes, feature_logs *logs, float *row);

#endif
