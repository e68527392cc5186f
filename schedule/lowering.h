/* lowering.h: what bound inference (bounds.c) hands to loop nest construction (lower.c): for every computed stage the
 * region it computes, its buffer, its loops with their variables, and each axis as an expression of the loop variables.
 * Everything lives in the arena of one lowering. */
#ifndef TENON_SCHEDULE_LOWERING_H
#define TENON_SCHEDULE_LOWERING_H

#include "schedule/edit.h"
#include "schedule/state.h"

/* A loop variable; the VAR nodes of a lowering all point to one of these. */
typedef struct lower_var {
  tir_var var;          /* first member, so the two convert */
  int64_t extent;       /* it runs over [0, extent); where symbols decide: at most */
  const tir_expr *size; /* then: the extent, in the index dtype; else NULL */
  bool is_data;         /* a scalar argument: no part of index arithmetic */
  bool relaxed;         /* during region inference: takes its whole range, is not fixed to one iteration */
} lower_var;

typedef struct schedule_layout schedule_layout; /* layout.h */

/* rolling_buffer: along dimension DIM the region moves BY elements an iteration of VAR. by 0: none. The buffer has ROOM
 * for a multiple of that many, at least the region, so that what an iteration computes lies in a row. */
typedef struct lower_roll {
  int64_t by, room;
  int dim;
  const lower_var *var;
} lower_roll;

/* A list, found by one walk: each stage that is read asks for its reads. */
typedef struct body_read {
  const tir_expr *expr;
  const struct body_read *next;
} body_read;

/* By stage of the schedule. What of it is set when stands at schedule_infer_bounds. */
typedef struct lower_stage {
  const schedule_stage *st;
  bool is_constant;                   /* depends on layout_free inputs alone (prepack.c) */
  bool is_prepacked;                  /* computed by the part that packs; at root */
  bool is_live;                       /* computed by loops of its own (not an input, not inlined, not dead) */
  const tir_expr *body;               /* inlined stages substituted */
  uint64_t reads;                     /* schedule_tensor_bit of all tensors that the body reads */
  const struct body_read *first_read; /* each READ of the body once, in the order of a walk */
  bool may_leave;                     /* reads of the body need a check where they cannot be proved to be in bounds */
  const tir_buffer **buffers;         /* by tensor: the region, or a parameter; NULL: a scalar */
  const lower_var *scalar;            /* what a scalar is in loop IR, or NULL */
  const lower_var **stride;           /* by tensor: of a strided argument's dimensions but the last; else NULL */
  const schedule_layout *layout;      /* how the buffers store the region; NULL: row-major */
  const tir_expr *min[TN_MAX_RANK]; /* the region's first point in each dimension, in loop variables around the stage */
  int64_t extent[TN_MAX_RANK];      /* and its size; where symbols decide: the most it can be, */
  const tir_expr *size[TN_MAX_RANK]; /* and what it is, in the index dtype; else NULL */
  lower_roll roll;
  bool is_doubled;             /* double_buffer, and the loop has more than one iteration */
  int64_t *axis_extent;        /* by axis index: extents for this region */
  const tir_expr **axis_size;  /* likewise, where symbols decide; else NULL */
  const tir_expr **axis_value; /* by axis index: counting from 0 within the region */
  lower_var **var;             /* by leaf position */
  const tir_env **env; /* by leaf position: variable ranges known inside that loop; env[n_leaves] is inside all */
} lower_stage;

/* One of 64 bits: where a body's bits have no tensor's, it reads none. */
static inline uint64_t schedule_tensor_bit(const tn_tensor *tensor) {
  return UINT64_C(1) << ((uintptr_t)tensor / sizeof *tensor % 64);
}

/* The first thing of a lowering that is not shown to fit the index dtype (index.h). */
typedef struct schedule_unfit {
  const lower_stage *ls;
  const char *what, *name; /* an axis, a buffer ... and which; what NULL: all fits so far */
  const tir_expr *expr;    /* the part of an expression, or NULL */
  double most;             /* what it can be */
} schedule_unfit;

/* A list, the last one first. They are said when lowering has succeeded. */
typedef struct schedule_warning {
  const char *text;
  const struct schedule_warning *before;
} schedule_warning;

enum { LOWER_PARTS = RUNTIME_SMALL(32, 2), LOWER_INTS = RUNTIME_SMALL(16, 1) };

/* Starts with schedule, context, arena and what is asked for; ends with schedule_lowering_end. */
typedef struct lowering {
  const tn_schedule *s;
  tn_context *ctx;
  runtime_arena *arena;
  tn_dtype index_dtype;             /* of loops; schedule_infer_bounds chooses it */
  bool is_narrow;                   /* i64 is not to be had: addresses have 32 bits */
  const schedule_warning *warnings; /* the last; said at the end, since all may have to be done again, in i64 */
  schedule_unfit unfit;
  const tir_expr *ints[LOWER_INTS]; /* numbers made last, by their low bits: a few are most of them */
  runtime_map parts;                /* expression -> what it can be (index.c) */
  runtime_map_slot small_parts[LOWER_PARTS];
  lower_stage *stages;
  lower_var **symbols; /* as the program numbers them */
  int n_scalars;
  tir_scalar *scalars;     /* of the function */
  const tir_env *root_env; /* what is known outside of all loops */
  const tir_env *env;      /* during region inference: what is known about the reader's loops */
  schedule_marks marks;
  schedule_part part;
  bool keeps; /* what is packed stays in the object */
} lowering;

/* Fills the rest of L, which has schedule, context and arena: substitutes inlined stages and infers regions, extents,
 * variables and buffers, consumers first; in i64 where i32 is not shown to hold them. The arena must have on_oom. False
 * after a message: what inlining makes is too large, or not even i64 is shown to hold an index. */
bool schedule_infer_bounds(lowering *l);
/* Says the warnings; then ARENA may be freed. */
void schedule_lowering_end(lowering *l);
/* A warning for the user. */
void schedule_lowering_warn(lowering *l, const char *format, ...) TN_PRINTF(2, 3);
/* Sets st, body and may_leave of all stages. In the body of one that has loops of its own each read of an inlined stage
 * is that stage's body at the index read (inline.c). False: TN_ERROR_LOWER, the expression is over the limit expr_nodes
 * or too deep. */
bool schedule_inline_bodies(lowering *l);
/* What a read of one of OP's tensors stands for: that tensor's value at the read's index. NULL: no memory. */
const tir_expr *schedule_body_at(runtime_arena *arena, const te_op *op, const tir_expr *read);
/* Sets roll and is_doubled of a stage whose region is known, or says why not (buffering.c). */
void schedule_find_roll(lowering *l, lower_stage *ls);
/* Where an element of a rolling buffer lies, from its index in the region; and whether it is computed in this
 * iteration. */
const tir_expr *schedule_rolled_index(lowering *l, const lower_stage *ls, const tir_expr *index);
const tir_expr *schedule_is_new(lowering *l, const lower_stage *ls, const tir_expr **values);
/* The place in a stage's buffer of an index into its region, NDIM expressions in BUFFER or INDEX itself. */
const tir_expr *const *schedule_place(lowering *l, const lower_stage *ls, const tir_expr *const *index,
                                      const tir_expr **buffer);
/* A part of a tensor: first point and size. */
typedef struct schedule_box {
  const tir_expr *min[TN_MAX_RANK];
  int64_t extent[TN_MAX_RANK];
} schedule_box;
/* The part of TENSOR that one iteration of loop LEAF reads, over that loop's variable and those outside of it. False:
 * it does not depend on OF, one of them, as far as is known. After schedule_infer_bounds. */
bool schedule_read_box(lowering *l, int stage, int leaf, const lower_var *of, const tn_tensor *tensor,
                       schedule_box *out);
/* BODY of loop LEAF behind the prefetches that were asked for there (prefetch.c). */
const tir_stmt *schedule_with_prefetches(lowering *l, const lower_stage *ls, int leaf, const tir_stmt *body);
/* The call that is a stage of kind EXTERN (extern.c). */
const tir_stmt *schedule_lower_call(lowering *l, const lower_stage *ls);
/* Makes a buffer's rows longer as storage_align asks (storage.c). False: no room gives that stride. */
bool schedule_align_shape(const schedule_stage *st, int64_t *shape);
/* Axis values from leaf values, in place: VALUES has the leaves' entries filled. */
void schedule_axis_values(lowering *l, const lower_stage *ls, const tir_expr **values);
/* Says which annotations and pragmas of loops have no effect (pragmas.c). */
void schedule_warn_loops(lowering *l, const lower_stage *ls);
/* Says that the stage's pragma join_loop_before does nothing. */
void schedule_warn_join(lowering *l, const lower_stage *ls);
/* LOOP and then REST, of which the first statement runs together with LOOP. NULL: they are no loops over the same iterations, or one
 * needs or changes what the other stores. */
const tir_stmt *schedule_join_loops(lowering *l, const tir_stmt *loop, const tir_stmt *rest);
/* Whether a split's children count no further than its parent. */
bool schedule_is_exact(const lower_stage *ls, const schedule_relation *r);
/* Named like NAME, or NAME_1 ... when a loop around it, in ENV, has that name. SIZE may be NULL. */
lower_var *schedule_new_var(lowering *l, const tir_env *env, const char *name, int64_t extent, const tir_expr *size);
/* What is known inside the loop of a variable. */
const tir_env *schedule_enter_loop(lowering *l, const tir_env *outer, const lower_var *v);
/* An extent: SIZE, or the number where that is NULL. */
const tir_expr *schedule_extent(lowering *l, int64_t extent, const tir_expr *size);
/* Of an axis of a stage, and of a dimension of a tensor. */
const tir_expr *schedule_axis_extent(lowering *l, const lower_stage *ls, int axis);
/* A size of te, or what else is made of symbols so, in the index dtype. */
const tir_expr *schedule_lower_size(lowering *l, const tir_expr *e);
const tir_expr *schedule_tensor_extent(lowering *l, const tn_tensor *tensor, int dim);
/* A te expression over a stage's axes as loop IR: axes replaced by VALUES (offset by the region's first point), reads
 * by loads. */
const tir_expr *schedule_lower_expr(lowering *l, const lower_stage *ls, const tir_expr **values, const tir_expr *e);
/* The element of a stage's buffer of tensor V at an index that counts from the region's first point. PREDICATE may be
 * NULL. */
const tir_expr *schedule_load(lowering *l, const lower_stage *from, int v, const tir_expr *const *index,
                              const tir_expr *predicate);
/* The condition under which a point is stored: tails of splits, points of the region outside of the tensor, a store
 * predicate, what a rolling buffer has already; VALUES are the axes', ENV knows the loops. Without WITH_REDUCE, which
 * is for an init, tails of reduction axes do not count. NULL: always. */
const tir_expr *schedule_condition(lowering *l, const lower_stage *ls, const tir_env *env, const tir_expr **values,
                                   bool with_reduce);
/* Where a stage with padding is inside of its axes. NULL: everywhere. */
const tir_expr *schedule_unpadded(lowering *l, const lower_stage *ls, const tir_env *env, const tir_expr **values,
                                  bool with_reduce);
/* VALUE where COND holds (NULL: everywhere), else FILL. */
const tir_expr *schedule_fill_unless(lowering *l, const tir_expr *cond, const tir_expr *value, const tir_expr *fill);
/* Whether a loop counts the blocks of a split with tail PEEL that leaves a rest. */
bool schedule_wants_peel(const lower_stage *ls, int axis);

/* What loops, in reads, conditions and values, are divided by at the most (affine.c). 1: nothing is divided but numbers and data; 0: that
 * cannot be said. */
int64_t schedule_divisor(const tn_schedule *s);

#endif
