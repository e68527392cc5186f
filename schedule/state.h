/* state.h: the schedule as data, its primitives by position (for the tuner), and lowering.
 *
 * A schedule is stages in order (producers first), each with a table of axes made so far, the relations (split, fuse)
 * between them and the order of the leaves. Positions are TVM's: a stage is its index in the current stage array, an
 * iterator its index in the stage's current leaf order; both are meant at the moment the step is applied. */
#ifndef TENON_SCHEDULE_STATE_H
#define TENON_SCHEDULE_STATE_H

#include "schedule/primitives.h"
#include "schedule/schedule.h"
#include "te/graph.h"
#include "tir/ir.h"

/* What a loop runs over. MIXED: fused of both; such a loop is treated as a reduction where it matters. */
typedef enum schedule_kind { SCHEDULE_SPATIAL, SCHEDULE_REDUCE, SCHEDULE_MIXED } schedule_kind;
/* Numbers of the AN step (TVM: AS/transform_step.h). */
typedef enum schedule_annotation {
  SCHEDULE_NONE,
  SCHEDULE_UNROLL,
  SCHEDULE_VECTORIZE,
  SCHEDULE_PARALLEL,
  SCHEDULE_BIND, /* the first of the indices of a GPU's threads that a loop can be bound to: vthread, blockIdx.x ... */
  SCHEDULE_ANNOTATION_COUNT = SCHEDULE_BIND + 7
} schedule_annotation;
/* Where a stage is computed: by loops of its own; nowhere, its body stands in its readers; in a loop of
 * another stage. */
typedef enum schedule_attach { SCHEDULE_ROOT, SCHEDULE_INLINED, SCHEDULE_AT } schedule_attach;
/* A stage's axis table, a schedule's stages, the bytes of a name; more is refused. */
enum { SCHEDULE_MAX_AXES = 512, SCHEDULE_MAX_STAGES = 2048, SCHEDULE_MAX_NAME = 200 };

/* Pragmas that mean something (pragmas.c has their keys). */
typedef enum schedule_pragma_kind {
  SCHEDULE_PRAGMA_UNROLL,    /* loops inside that make few statements are unrolled */
  SCHEDULE_PRAGMA_EXPLICIT,  /* 0: unrolled loops inside are left to the compiler */
  SCHEDULE_PRAGMA_PARTITION, /* the loop is parted where a condition holds throughout, as with tail peel */
  SCHEDULE_PRAGMA_STRIDE,    /* a parallel loop's iterations go to the threads in turn */
  SCHEDULE_PRAGMA_STREAM,    /* vectors stored to outputs inside go past the caches */
  SCHEDULE_PRAGMA_JOIN,      /* the loop runs together with the one right before it */
  SCHEDULE_PRAGMA_COUNT
} schedule_pragma_kind;

/* A loop, or one that there was. Its index in the stage's table never changes. */
typedef struct schedule_axis {
  const char *name;
  int64_t extent;       /* where symbols decide: the most it can be */
  const tir_expr *size; /* such an extent as an i32 of te's symbols (exact where EXTENT fits); NULL: a constant */
  uint8_t kind;         /* schedule_kind */
  uint8_t annotation;   /* schedule_annotation; leaves only */
  bool in_intrin;       /* a loop that tensorize replaces */
  int16_t root;         /* index among the op's axes then reduce axes, or -1 when derived */
  int16_t made_by;      /* relation that made it, or -1 */
  int16_t used_by;      /* relation that consumed it, or -1: a leaf */
  int32_t unroll_step;  /* pragma auto_unroll_max_step at this loop, or -1 */
  uint8_t pragma[SCHEDULE_PRAGMA_COUNT]; /* the others: 0 none, else the value + 1 */
} schedule_axis;

/* -1: the loop has no such pragma. */
static inline int schedule_pragma_value(const schedule_axis *axis, int pragma) {
  return pragma == SCHEDULE_PRAGMA_UNROLL ? axis->unroll_step : axis->pragma[pragma] - 1;
}

/* Whether any pragma was put on the axis, which would be lost if its loop were split or fused. */
static inline bool schedule_has_pragma(const schedule_axis *axis) {
  for (int i = 0; i < SCHEDULE_PRAGMA_COUNT; i++)
    if (schedule_pragma_value(axis, i) >= 0) return true;
  return false;
}

/* SPLIT: parent[0] -> n children. FUSE: n parents -> child[0]. Indices into the stage's axis table. */
typedef struct schedule_relation {
  bool is_fuse;
  uint8_t tail;        /* tn_tail; splits */
  bool inner_to_outer; /* splits: the lengths given were children 1..n-1 (true) or 0..n-2 (false) */
  int n;
  int16_t *many; /* the children of a split, the parents of a fuse; outer to inner */
  int16_t one;   /* the parent of a split, the child of a fuse */
} schedule_relation;

/* prefetch: at loop AXIS (an index into the axis table), what AXIS there reads of a tensor in the iteration OFFSET
 * later of loop OF_AXIS of stage OF. */
typedef struct schedule_prefetch_request {
  const tn_tensor *tensor; /* the first of its stage */
  int16_t axis;
  int32_t offset;
  const tn_tensor *of; /* the first of that stage */
  int16_t of_axis;
} schedule_prefetch_request;

/* What becomes of a stage's buffer from one iteration of the loop that it is computed in to the next. */
typedef enum schedule_buffering {
  SCHEDULE_BUFFER_ONCE,
  SCHEDULE_BUFFER_DOUBLE,
  SCHEDULE_BUFFER_ROLLING
} schedule_buffering;

/* A stage as it is now. All arrays lie in the schedule's arena. */
typedef struct schedule_stage {
  const te_op *op; /* what is computed now: cache_read and cache_write replace it */
  int n_tensors;   /* == op->n_outputs */
  const tn_tensor
      *tensors;      /* what readers' READ nodes name; they stay when op is replaced (op->outputs may be others) */
  const char *scope; /* "global", "local" */
  int16_t align_dim, align_factor, align_offset; /* storage_align; factor 0: none */
  const char *layout;                            /* the buffer's index map, "[i, j] -> [j, i]"; NULL: row-major */
  const tir_intrin *intrin;                      /* tensorize: what the loops from one inward become; NULL: none */
  int16_t tensor_axis;                           /* the axis table index of that loop */
  schedule_attach attach;
  int16_t at_stage; /* SCHEDULE_AT: the target stage ... */
  int16_t at_axis;  /* ... and the index in its axis table (a leaf) */
  int n_axes, cap_axes;
  schedule_axis *axes; /* all axes ever made: first the op's data axes, then its reduce axes */
  int n_relations, cap_relations;
  schedule_relation *relations;
  int n_leaves, cap_leaves;
  int16_t *leaves; /* loop order, outer to inner: indices into axes */
  int n_spatial_roots, n_roots;
  uint8_t buffering;         /* schedule_buffering */
  const tir_expr *predicate; /* of every store, over the op's data axes; NULL: none */
  const char *predicate_text;
  int n_prefetches;
  const schedule_prefetch_request *prefetches;
} schedule_stage;

/* "none", "unroll", ... "threadIdx.z", by annotation. */
const char *schedule_pragma_key(int pragma);
extern const char *const schedule_annotation_words[SCHEDULE_ANNOTATION_COUNT];

/* Kinds of steps, with the mnemonics of TVM's logs (reference: auto-scheduler.md section 3) and some of Tenon's. */
typedef enum schedule_step_kind {
#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about) SCHEDULE_STEP_##mnemonic,
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about)
#define COMPOSED(name, word, arguments, keys, usage, about)
  SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
      SCHEDULE_STEP_COUNT
} schedule_step_kind;

/* A primitive's arguments as positions, meant in the schedule just before it. What is not used by its
 * kind is 0 or -1. */
typedef struct schedule_step {
  uint8_t kind;        /* schedule_step_kind */
  bool inner_to_outer; /* SP: lengths are loops 1..n (true) or 0..n-1 (false) */
  uint8_t tail;        /* SP: tn_tail */
  int16_t stage, iter; /* -1 where the kind has none */
  int16_t target_stage;
  int32_t target_iter;
  int64_t value;
  int n;
  const int64_t *list;
  const char *text;
} schedule_step;

/* Made from a program and never outliving it. Its steps, applied to a fresh schedule, give it again. */
struct tn_schedule {
  tn_context *ctx;
  tn_program *program;
  runtime_arena arena; /* everything of this schedule but the ops */
  int n_stages, cap_stages;
  schedule_stage *stages;
  int n_steps, cap_steps;
  schedule_step *steps;
  bool is_replayed; /* from a record: nobody wrote its pragmas, who could be told that one does nothing */
  int n_variants;
  const struct schedule_variant
      *variants;    /* what a kernel runs instead, by the value of the program's symbol; ascending */
  const char *plan; /* the plans that made the first PLAN_STEPS steps, as JSON; NULL: not made from plans */
  int plan_steps;
  const struct schedule_call *within;  /* the composed primitive that is being applied, for messages; or NULL */
  struct tn_schedule *previous, *next; /* all schedules of a program, freed with it */
};

/* ---- primitives by position, for generic schedules and the tuner: schedule_apply_step of such a step -------------- */

/* The primitives below refuse like those by names, with names in their messages. */
tn_status schedule_split(tn_schedule *s, int stage, int iter, int n, const int64_t *lengths, bool inner_to_outer,
                         tn_tail tail);
tn_status schedule_fuse(tn_schedule *s, int stage, int n, const int *iters);
/* ORDER is complete: order[new] = old position. */
tn_status schedule_reorder(tn_schedule *s, int stage, int n, const int *order);
/* ANNOTATION SCHEDULE_NONE takes one back. */
tn_status schedule_annotate(tn_schedule *s, int stage, int iter, schedule_annotation annotation);
tn_status schedule_pragma_unroll(tn_schedule *s, int stage, int iter, int64_t max_step);
/* stream_stores. */
tn_status schedule_pragma_stream(tn_schedule *s, int stage, int iter);
/* join_loop_before. */
tn_status schedule_pragma_join(tn_schedule *s, int stage, int iter);
/* pragma(iter, "loop_partition_hint", 1) by position. */
tn_status schedule_pragma_partition(tn_schedule *s, int stage, int iter);
/* TARGET_ITER is a position among the target's loops. */
tn_status schedule_compute_at(tn_schedule *s, int stage, int target_stage, int target_iter);
tn_status schedule_compute_inline(tn_schedule *s, int stage);
/* Of the stage's first tensor. The new stage stands at stage+1 (later positions shift by one). */
tn_status schedule_cache_read(tn_schedule *s, int stage, const char *scope, int n_readers, const int *readers);
/* The new compute stage takes `stage`, the copy becomes stage+1 with fresh loops. */
tn_status schedule_cache_write(tn_schedule *s, int stage, const char *scope);
tn_status schedule_set_scope(tn_schedule *s, int stage, const char *scope);
tn_status schedule_rolling_buffer(tn_schedule *s, int stage);
tn_status schedule_storage_align(tn_schedule *s, int stage, int iter, int64_t factor, int offset);
/* The partial results' stage takes `stage`, the final reduction becomes stage+1 with fresh loops. */
tn_status schedule_rfactor(tn_schedule *s, int stage, int iter, int factor_axis);
tn_status schedule_rfactor_window(tn_schedule *s, int stage, int iter, int along, int64_t elements);
tn_status schedule_transform_layout(tn_schedule *s, int stage, const char *map);
/* INTRIN as tn_tensorize takes it. */
tn_status schedule_tensorize(tn_schedule *s, int stage, int iter, const char *intrin);
/* Checks, applies and appends one step. TN_ERROR_SCHEDULE leaves the schedule as it was. */
tn_status schedule_apply_step(tn_schedule *s, const schedule_step *step);

/* Applies STEPS, a schedule of a part of S's program, to the stages of S that compute the same (graft.c). S is as it was unless all
 * of them are legal there. */
tn_status schedule_graft(tn_schedule *s, const tn_schedule *steps, const te_part *part);

/* "none", "double_buffer", "rolling_buffer". */
const char *schedule_buffering_word(schedule_buffering buffering);
bool schedule_has_prefetch(const schedule_stage *st, int axis);
/* Whether a request of ST counts iterations of the loop that it stands at, and the name of the loop that it counts. */
bool schedule_is_of_own(const schedule_stage *st, const schedule_prefetch_request *p);
const char *schedule_of_name(const tn_schedule *s, const schedule_prefetch_request *p);

/* Calls in which the symbol is LEAST to MOST run SCHEDULE (variants.c). */
typedef struct schedule_variant {
  int64_t least, most;
  const tn_schedule *schedule;
} schedule_variant;
/* F, S's function after all passes, with S's variants in front of its body; F itself where there are none. NULL after a message. */
tir_func *schedule_with_variants(const tn_schedule *s, tir_func *f, runtime_arena *arena,
                                 const tir_pass_options *options);
/* STEPS on the fresh schedule S of a program like theirs in which symbols decide extents: blocks that were whole are peeled, and
 * parts that THREADS share are short enough for all of them to be busy. */
tn_status schedule_replay_symbolic(tn_schedule *s, const tn_schedule *steps, int threads);

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* The axis of loop ITER, counted from the outermost. */
static inline const schedule_axis *schedule_leaf(const schedule_stage *stage, int iter) {
  return &stage->axes[stage->leaves[iter]];
}
int schedule_find_stage(const tn_schedule *s, const char *name); /* by the name of any of its tensors; -1: none */
int schedule_find_tensor(const schedule_stage *stage, const char *name); /* its value index, -1: none */
int schedule_find_leaf(const schedule_stage *stage, const char *name);   /* position, -1: none */
const char *schedule_stage_name(const schedule_stage *stage);            /* that of its first tensor */
/* Whether some tensor of the stage is an output of the program. */
bool schedule_is_output(const tn_schedule *s, int stage);
/* Stages that read a tensor of this stage now; inlined ones are looked through when through_inlined. Returns the count.
 */
int schedule_consumers(const tn_schedule *s, int stage, bool through_inlined, int max, int *out);
/* The position of an axis-table index among the leaves, -1 when it is not a leaf. */
int schedule_leaf_position(const schedule_stage *stage, int axis);
/* The position of the loop that tensorize stands at; n_leaves: the stage has no intrinsic. */
int schedule_tensor_position(const schedule_stage *stage);
/* The stage one of whose tensors a READ node names; -1: none. */
int schedule_stage_of_tensor(const tn_schedule *s, const tn_tensor *tensor);
/* Whether a stage's op reads a tensor directly. */
bool schedule_reads(const schedule_stage *stage, const tn_tensor *tensor);
/* Whether a stage's op reads any tensor of FROM directly. */
bool schedule_reads_stage(const schedule_stage *stage, const schedule_stage *from);
/* Whether TENSOR is one of the stage's. */
static inline bool schedule_has_tensor(const schedule_stage *stage, const tn_tensor *tensor) {
  return tensor >= stage->tensors && tensor < stage->tensors + stage->n_tensors;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* Bound inference and loop nests: loop IR with multi-dimensional accesses, loop kinds and pragmas, reductions as init
 * and update, guards around stores; before any pass. All nodes in ARENA. NULL with a message. */
tir_func *schedule_lower(const tn_schedule *s, const char *name, runtime_arena *arena);
/* What a kernel computes of a program whose layout_free inputs are packed once: all of it; the packing; the rest, given
 * what was packed (prepack.c). */
typedef enum schedule_part { SCHEDULE_WHOLE, SCHEDULE_PREPACK, SCHEDULE_PACKED } schedule_part;
/* The same of a part, with marks (tir/ir.h) of stages: of their loop nests, or all kinds. */
typedef enum schedule_marks { SCHEDULE_MARKS_NONE, SCHEDULE_MARKS_NESTS, SCHEDULE_MARKS_ALL } schedule_marks;
tir_func *schedule_lower_marked(const tn_schedule *s, const char *name, runtime_arena *arena, schedule_marks marks,
                                schedule_part part);
/* Lowers a part and runs the passes. *BEFORE (may be NULL) gets the form before them, which they leave as it is. */
tir_func *schedule_lower_part(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options, schedule_part part, const tir_func **before);
/* The same, but both parts take all of the program's arguments, and what is packed stays in the object that has them
 * (tir_func.n_kept). */
tir_func *schedule_lower_kept(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options, schedule_part part);
/* Whether there are two parts: a stage at root that is no output depends on layout_free inputs alone. */
bool schedule_has_parts(const tn_schedule *s);
/* schedule_lower and then tir_run_pipeline: what code generation takes. */
tir_func *schedule_lower_and_optimize(const tn_schedule *s, const char *name, runtime_arena *arena);
/* The same for a machine: vector_registers and vector_bytes of OPTIONS count. */
tir_func *schedule_lower_with(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options);

#endif
