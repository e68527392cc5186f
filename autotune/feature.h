/* feature.h: the layout of a feature row by name, and what the walk over the loop IR (feature.c) hands to the files
 * that work out touched regions (feature_touch.c) and fill rows (feature_row.c).
 *
 * Source of the first 164: Ansor (Zheng et al., OSDI'20), TVM's per-store features; meanings in docs/features.md. */
#ifndef TENON_AUTOTUNE_FEATURE_H
#define TENON_AUTOTUNE_FEATURE_H

#include "autotune/internal.h"

/* ---- layout ------------------------------------------------------------------------------------------------------ */

/* clang-format off */
#define FEATURE_MATH(X, type) \
  X(type##_mad) X(type##_addsub) X(type##_mul) X(type##_divmod) X(type##_cmp) X(type##_mathfunc) X(type##_otherfunc)
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
  FEATURE_MATH(X, float) FEATURE_MATH(X, int) X(bool_op) X(select_op)                                              \
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

typedef enum feature_index {
#define X(name) feature_##name,
  FEATURE_ALL(X)
#undef X
      FEATURE_COUNT
} feature_index;

enum {
  FEATURE_N_MATH = feature_select_op + 1,
  FEATURE_BUFFERS = 5,
  FEATURE_PER_BUFFER = feature_b1_read - feature_b0_read,
  FEATURE_CURVE_POINTS = 10
};
_Static_assert((int)FEATURE_COUNT == (int)AUTOTUNE_FEATURES, "the layout and its length agree");
_Static_assert(feature_auto_unroll_max_step == 163, "TVM's 164 come first");

extern const char *const autotune_feature_names[FEATURE_COUNT];

/* ---- what one store does ----------------------------------------------------------------------------------------- */

/* Loops deeper than this count as iterations but are not looked at one by one; stores and buffers beyond are left
 * out. */
enum { FEATURE_MAX_LOOPS = 64, FEATURE_MAX_STORES = 64, FEATURE_MAX_TOUCHED = 256, FEATURE_MAX_BUFFERS = 16 };

/* A loop around a store. Loops of extent 1 are no loops. Counts are doubles: products of extents cannot overflow. */
typedef struct feature_loop {
  const tir_var *var;
  double min, extent;
  tir_loop_kind kind;
  bool peel;    /* its last iterations become code of their own */
  int id;       /* the same loop around two stores has one id */
  tir_env *env; /* its node in the chain of ranges; valid while the walk is inside */
} feature_loop;

/* A buffer as one store touches it. Level i: loops i and deeper run, the ones outside stand still. */
typedef struct feature_touched {
  const tir_buffer *buffer;
  bool is_read, is_written;
  int alloc_depth;                    /* loops around its ALLOC; 0 for parameters */
  uint64_t used;                      /* bit i: loop i stands in an index */
  double elements[FEATURE_MAX_LOOPS]; /* touched, by level; without loops [0] is one iteration's */
  double stride[FEATURE_MAX_LOOPS];   /* elements one step of loop i moves by, the least over all accesses */
  double contiguous;                  /* elements in a row of what is touched in all */
} feature_touched;

typedef struct feature_store {
  const tir_buffer *buffer;
  const tir_expr *value;                 /* NULL: a call's */
  bool is_constant;                      /* the value reads nothing: a reduction's init */
  int depth;                             /* loops: at most FEATURE_MAX_LOOPS */
  feature_loop loops[FEATURE_MAX_LOOPS]; /* outermost first */
  double outer_prod;                     /* iterations of all loops around */
  double math[FEATURE_N_MATH];           /* of one evaluation */
  int n_touched;
  feature_touched *touched; /* [0] is the written buffer */
  double alloc_outer_prod;  /* iterations of the loops around the buffer's ALLOC; 1 for parameters */
  int64_t auto_unroll;
  int instruction_depth; /* the loops from here on are one instruction, as tensorize says; DEPTH: none are */
  int guards;
  double guard_prod;
} feature_store;

typedef struct feature_hull {
  tir_interval dim[TN_MAX_RANK];
} feature_hull;

/* All stores of a function. One block of memory, left uninitialised: only what the counts cover is meant. */
typedef struct feature_program {
  int n_stores, n_touched;
  feature_store stores[FEATURE_MAX_STORES];
  feature_touched touched[FEATURE_MAX_TOUCHED];
  double loop_bytes[4 * FEATURE_MAX_LOOPS]; /* by loop id: bytes that all stores inside touch in one run of the loop */
  int n_loop_ids;
  feature_hull hulls[FEATURE_MAX_BUFFERS][FEATURE_MAX_LOOPS]; /* of the store being looked at, by buffer and level */
} feature_program;

/* Adds an access of the store being looked at (p->stores[p->n_stores]): its buffer, and the hull of its indices by
 * level. */
void feature_touch(feature_program *p, const tir_env *env, const tir_buffer *buffer, int n_index,
                   const tir_expr *const *index, bool is_write);
/* After the last access: turns the hulls into counts of elements. */
void feature_touch_finish(feature_program *p);

/* What the program takes, before any of it was compiled (feature_estimate.c). */
void feature_estimate(const feature_program *p, const tn_machine *machine, autotune_estimate *out);

/* Fills the row of the buffer that p->stores[first] writes: from this store and all later ones of the same buffer. */
void feature_fill_row(const feature_program *p, int first, int cache_line_bytes, float *row);

#endif
