/* touch.h: what every store of loop IR does, and which parts of which buffers it touches, by loop level: one walk
 * (touch_walk.c), whose regions touch.c works out. The tuner's features, the estimate before compiling and the bytes
 * that a kernel is said to move (traffic.h) are read from it. */
#ifndef TENON_SCHEDULE_TOUCH_H
#define TENON_SCHEDULE_TOUCH_H

#include "schedule/schedule.h"
#include "tir/linear.h"

/* Operations of a value, counted. */
/* clang-format off */
#define TOUCH_MATH_OF(X, type) \
  X(type##_mad) X(type##_addsub) X(type##_mul) X(type##_divmod) X(type##_cmp) X(type##_mathfunc) X(type##_otherfunc)
#define TOUCH_MATH(X) TOUCH_MATH_OF(X, float) TOUCH_MATH_OF(X, int) X(bool_op) X(select_op)
/* clang-format on */
typedef enum touch_math {
#define X(name) TOUCH_##name,
  TOUCH_MATH(X)
#undef X
      TOUCH_N_MATH
} touch_math;

/* ---- what one store does ----------------------------------------------------------------------------------------- */

/* Loops deeper than this count as iterations but are not looked at one by one; stores and buffers beyond are left
 * out. */
enum { TOUCH_MAX_LOOPS = 64, TOUCH_MAX_STORES = 64, TOUCH_MAX_TOUCHED = 256, TOUCH_MAX_BUFFERS = 16 };

/* A loop around a store. Loops of extent 1 are no loops. Counts are doubles: products of extents cannot overflow. */
typedef struct touch_loop {
  const tir_var *var;
  double min, extent;
  tir_loop_kind kind;
  bool peel;    /* its last iterations become code of their own */
  int id;       /* the same loop around two stores has one id */
  tir_env *env; /* its node in the chain of ranges; valid while the walk is inside */
} touch_loop;

typedef struct touch_hull {
  tir_interval dim[TN_MAX_RANK];
} touch_hull;

/* A buffer as one store touches it. Level i: loops i and deeper run, the ones outside stand still. */
typedef struct touch_region {
  const tir_buffer *buffer;
  bool is_read, is_written;
  bool is_gathered;                 /* an index is read from memory: which elements are touched is not known */
  int alloc_depth;                  /* loops around its ALLOC; 0 for parameters */
  uint64_t used;                    /* bit i: loop i stands in an index */
  double elements[TOUCH_MAX_LOOPS]; /* touched, by level; without loops [0] is one iteration's */
  double stride[TOUCH_MAX_LOOPS];   /* elements one step of loop i moves by, the least over all accesses */
  double contiguous;                /* elements in a row of what is touched in all */
  float run[TOUCH_MAX_LOOPS];       /* the same of what the loops from each level on touch */
  touch_hull all;                   /* what is touched in all */
} touch_region;

/* One store of the loop IR with all that the cost model, the traffic and the plans want to know of it. It lies in
 * the arena of its program and points into the IR. */
typedef struct touch_store {
  const tir_buffer *buffer;
  const tir_expr *value;     /* NULL: a call's */
  bool is_constant;          /* the value reads nothing: a reduction's init */
  int depth;                 /* loops: at most TOUCH_MAX_LOOPS */
  double outer_prod;         /* iterations of all loops around */
  double math[TOUCH_N_MATH]; /* of one evaluation */
  int n_touched;
  touch_region *touched;   /* [0] is the written buffer */
  double alloc_outer_prod; /* iterations of the loops around the buffer's ALLOC; 1 for parameters */
  int64_t auto_unroll;
  int instruction_depth; /* the loops from here on are one instruction, as tensorize says; DEPTH: none are */
  int guards;
  double guard_prod;
  touch_loop loops[TOUCH_MAX_LOOPS]; /* outermost first; the last member, since what is behind DEPTH is not moved */
} touch_store;

/* All stores of a function. One block of memory, left uninitialised: only what the counts cover is meant. */
typedef struct touch_program {
  int n_stores, n_touched;
  bool is_cut; /* there was no room for a store or a buffer, which is left out */
  touch_store stores[TOUCH_MAX_STORES];
  touch_region touched[TOUCH_MAX_TOUCHED];
  double loop_bytes[4 * TOUCH_MAX_LOOPS]; /* by loop id: bytes that all stores inside touch in one run of the loop */
  int n_loop_ids;
  touch_hull hulls[TOUCH_MAX_BUFFERS][TOUCH_MAX_LOOPS]; /* of the store being looked at, by buffer and level */
} touch_program;

/* All that FUNC's stores do. The program is hundreds of kilobytes, for the heap, and need not be cleared. */
void touch_collect(const tir_func *func, touch_program *p);

/* Adds an access of the store being looked at (p->stores[p->n_stores]): its buffer, and the hull of its indices by
 * level. */
void touch_access(touch_program *p, const tir_env *env, const tir_buffer *buffer, int n_index,
                  const tir_expr *const *index, bool is_write);
/* After the last access: turns the hulls into counts of elements. */
void touch_finish(touch_program *p);

#endif
