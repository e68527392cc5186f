/* tenon/schedule.h: how to compute a program: stages, axes and the primitives that transform them. One schedule type
 * serves people and the tuner. Every primitive checks its preconditions, applies itself and appends its step; when it
 * refuses, the schedule is as it was and the context has the message (TN_ERROR_SCHEDULE). A schedule never changes a
 * result.
 *
 * Stages and axes are named by text, with the names that printing shows: stage "C", "C.local", "A.local"; axis "i",
 * "i.outer", "i.outer.inner", "i.j.fused", of a split into more than two parts "i.0", "i.1", ... The same words make
 * the schedule text: `tile(C, i, j, 32, 32); vectorize(C, j.inner); parallel(C, i.outer)`. docs/schedule.md shows each
 * primitive with the loop nest before and after. */
#ifndef TENON_SCHEDULE_H
#define TENON_SCHEDULE_H

#include "te/te.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_schedule tn_schedule;

/* What happens where a split does not divide its axis. GUARD: an `if` around the body. PEEL: the full blocks run
 * without a check and the rest stands in a loop nest of its own. */
#define TN_TAILS(X) X(GUARD, "guard") X(PEEL, "peel")
typedef enum tn_tail {
#define X(name, text) TN_TAIL_##name,
  TN_TAILS(X)
#undef X
      TN_TAIL_COUNT
} tn_tail;

/* The default schedule: every stage at root, in its axes' order, serial. The context owns it; free it earlier with
 * tn_schedule_free when you make many. */
TN_API tn_schedule *tn_schedule_new(tn_program *program);
TN_API tn_schedule *tn_schedule_copy(const tn_schedule *schedule); /* microseconds */
TN_API void tn_schedule_free(tn_schedule *schedule);
TN_API tn_program *tn_schedule_program(const tn_schedule *schedule);

/* ---- primitives on loops -------------------------------------------------------------------------------------------
 */

/* axis -> axis.outer, axis.inner; the inner extent is FACTOR (at most the extent). TVM: split(factor=). */
TN_API tn_status tn_split(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail);
/* axis -> axis.outer, axis.inner; the outer extent is NPARTS. TVM: split(nparts=). */
TN_API tn_status tn_split_nparts(tn_schedule *s, const char *stage, const char *axis, int64_t nparts, tn_tail tail);
/* axis -> axis.0 ... axis.N; LENGTHS are the extents of axis.1 ... axis.N. The auto-scheduler's SP. */
TN_API tn_status tn_split_many(tn_schedule *s, const char *stage, const char *axis, int n, const int64_t *lengths,
                               tn_tail tail);
/* Adjacent axes -> one named a.b.fused: tn_fuse(s, "C", "i", "j"). */
#define tn_fuse(s, stage, ...)                                                               \
  tn_fuse_names((s), (stage), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                (const char *[]){__VA_ARGS__})
TN_API tn_status tn_fuse_names(tn_schedule *s, const char *stage, int n, const char *const *axes);
/* The named axes take, in this order, the places they hold now; others stay: tn_reorder(s, "C", "i.outer", "j.outer",
 * "i.inner"). */
#define tn_reorder(s, stage, ...)                                                               \
  tn_reorder_names((s), (stage), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                   (const char *[]){__VA_ARGS__})
TN_API tn_status tn_reorder_names(tn_schedule *s, const char *stage, int n, const char *const *axes);
/* Two splits and a reorder: a.outer, b.outer, a.inner, b.inner. */
TN_API tn_status tn_tile(tn_schedule *s, const char *stage, const char *a, const char *b, int64_t factor_a,
                         int64_t factor_b, tn_tail tail);
TN_API tn_status tn_vectorize(tn_schedule *s, const char *stage, const char *axis);
TN_API tn_status tn_unroll(tn_schedule *s, const char *stage, const char *axis);
TN_API tn_status tn_parallel(tn_schedule *s, const char *stage, const char *axis);
/* key "auto_unroll_max_step": loops inside AXIS that make at most VALUE statements when unrolled are unrolled. */
TN_API tn_status tn_pragma(tn_schedule *s, const char *stage, const char *axis, const char *key, int64_t value);

/* ---- primitives on stages ------------------------------------------------------------------------------------------
 */

/* STAGE is computed inside TARGET's loop AXIS, only what that iteration needs. */
TN_API tn_status tn_compute_at(tn_schedule *s, const char *stage, const char *target, const char *axis);
TN_API tn_status tn_compute_inline(tn_schedule *s, const char *stage);
TN_API tn_status tn_compute_root(tn_schedule *s, const char *stage);
/* A new stage "<tensor>.<scope>" copies TENSOR, and the named readers read the copy (none named: all readers). */
#define tn_cache_read(s, tensor, scope, ...)                                                                 \
  tn_cache_read_names((s), (tensor), (scope), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                      (const char *[]){__VA_ARGS__})
TN_API tn_status tn_cache_read_names(tn_schedule *s, const char *tensor, const char *scope, int n,
                                     const char *const *readers);
/* The computation moves to a new stage "<tensor>.<scope>" with axes "<axis>.c"; TENSOR becomes a copy of it. */
TN_API tn_status tn_cache_write(tn_schedule *s, const char *tensor, const char *scope);
/* "global" (heap when large) or "local" (a thread's own small scratch). */
TN_API tn_status tn_set_scope(tn_schedule *s, const char *stage, const char *scope);

/* ---- text in and out -----------------------------------------------------------------------------------------------
 */

/* Applies `primitive(arguments); ...`. All or nothing: on failure the schedule is as before. */
TN_API tn_status tn_schedule_apply(tn_schedule *s, const char *text);
/* Applies recorded steps, a JSON array of arrays (docs/records.md), checking each as a user's call is. All or nothing.
 */
TN_API tn_status tn_schedule_replay(tn_schedule *s, const char *steps_json);

typedef enum tn_form {
  TN_FORM_TIR,   /* lowered loop IR after all passes, TVM's textual style */
  TN_FORM_STEPS, /* JSON array of steps */
  TN_FORM_TEXT,  /* schedule text: what tn_schedule_apply takes */
  TN_FORM_API,   /* C calls that make this schedule */
  TN_FORM_TREE   /* the loop tree on one screen */
} tn_form;
/* malloc'ed text, or NULL with a message. */
TN_API char *tn_schedule_print(const tn_schedule *s, tn_form form);

#ifdef __cplusplus
}
#endif
#endif
