/* edit.h: how primitives change a schedule: growing its arrays, refusing with a message, checking the whole afterwards.
 */
#ifndef TENON_SCHEDULE_EDIT_H
#define TENON_SCHEDULE_EDIT_H

#include "schedule/call.h"
#include "schedule/registry.h"
#include "schedule/state.h"

/* ---- growing (state.c). false, NULL or -1: out of memory --------------------------------------------------------- */

/* Gives a stage one loop for each axis of its op and forgets all others. */
bool schedule_reset_loops(tn_schedule *s, schedule_stage *stage);
/* Returns the new axis's index. */
int schedule_add_axis(tn_schedule *s, schedule_stage *stage, const schedule_axis *axis);
/* A zeroed relation with room for N axes in `many`. */
schedule_relation *schedule_add_relation(tn_schedule *s, schedule_stage *stage, int n);
/* Replaces N_OLD leaves from position AT by N_NEW others. */
bool schedule_set_leaves(tn_schedule *s, schedule_stage *stage, int at, int n_old, int n_new, const int16_t *with);
/* A new stage at root; positions from AT on shift by one, in attachments too. */
schedule_stage *schedule_insert_stage(tn_schedule *s, int at, const te_op *op, const char *scope);
/* Extents of the N+1 children of an axis (loops.c); also for the smaller extents that bound inference finds. Where
 * symbols decide, lengths are not cut. */
void schedule_child_extents(int64_t extent, bool is_symbolic, int n, const int64_t *lengths, bool inner_to_outer,
                            int64_t *out);
/* The extent of the child that takes what the lengths leave, where symbols decide the parent's: SIZE divided by all of
 * them, rounded up. */
const tir_expr *schedule_rest_size(runtime_arena *arena, const tir_expr *size, int n, const int64_t *lengths);
/* The shortest that a loop can be: all symbols at their least (symbolic.c). */
int64_t schedule_least_extent(const tn_schedule *s, const schedule_axis *axis);
/* The extent of a loop for a message: a number, or symbols. */
const char *schedule_extent_text(const schedule_axis *axis, char *buffer, size_t n);
/* One for each tensor of a stage. */
bool schedule_derived_names(tn_schedule *s, const schedule_stage *stage, const char *suffix, const char **names);
/* OP's data axes, body = the reduction of PARTIAL at INDEX over AXIS, from OP's init (TVM: init moves to the final stage only). NULL: out of
 * memory (rfactor.c). */
const te_op *schedule_combining_op(tn_program *program, const te_op *op, const te_op *partial, tn_axis *axis,
                                   const tir_expr *const *index);
/* Refuses nothing: the step has been done. List and text are copied. */
bool schedule_push_step(tn_schedule *s, const schedule_step *step);
/* Exchanges two schedules of one program: how a change made on a copy is taken over. */
void schedule_swap_contents(tn_schedule *a, tn_schedule *b);

/* ---- checking (legality.c): TN_OK, or the refusal with a message that begins with `CALL: ` ----------------------- */

/* The stage exists, is computed (no input) and has loops of its own (not inlined). */
tn_status schedule_check_stage(const schedule_call *c, int stage);
/* ITER is a position in the stage's leaves. */
tn_status schedule_check_iter(const schedule_call *c, int stage, int iter);
/* On every path of loops: at most one parallel loop, none inside a vectorized one; nothing is computed inside a
 * vectorized loop. And what is asked of scans. */
tn_status schedule_check_paths(const schedule_call *c);
/* The same, and every stage under compute_at has all its readers inside the loop it is attached to, and outputs are at root: this first
 * (where a stage was moved), or the paths first (where loops were). */
tn_status schedule_check_places(const schedule_call *c);
tn_status schedule_check_order(const schedule_call *c);
/* The loop that a stage with double_buffer or rolling_buffer is computed in is serial, and what runs ahead reads
 * nothing that is computed there (buffering.c). */
tn_status schedule_check_buffering(const schedule_call *c, int stage);
/* The loop is not part of an intrinsic; and the loops of one still stand together, innermost (tensorize.c). */
tn_status schedule_check_outside(const schedule_call *c, int stage, int iter);
tn_status schedule_check_intrin(const schedule_call *c, int stage);
/* Scans (recurrence.c): they and their steps run in the order of time, and loops outside of the time have data of their
 * own. */
tn_status schedule_check_scans(const schedule_call *c);
/* Refuses what PRIMITIVE would do to a scan or to one of its steps; INSTEAD: a legal alternative. */
tn_status schedule_check_no_scan(const schedule_call *c, int stage, const char *primitive, const char *instead);
/* Refuses to split, fuse, vectorize ... the loop over the time of a scan. */
tn_status schedule_check_no_time(const schedule_call *c, int stage, int iter, const char *why, const char *instead);
/* Whether an axis is the time of a scan stage, or was made from it. */
bool schedule_is_time(const schedule_stage *st, int axis);
/* STEPS[i]: whether stage i is a step of the scan stage SCAN. */
void schedule_find_steps(const tn_schedule *s, int scan, bool *steps);
/* A scan or a step of one. */
bool schedule_is_in_scan(const tn_schedule *s, int stage);
/* Externs (extern.c): stages that a C function computes, as a whole, from whole tensors in memory. Refuses what
 * PRIMITIVE would do to such a stage, or to the buffer of a stage that one reads; INSTEAD: a legal alternative. */
tn_status schedule_check_no_extern(const schedule_call *c, int stage, const char *instead);
tn_status schedule_check_no_extern_reader(const schedule_call *c, int stage, const char *why, const char *instead);
/* The first extern that reads a tensor of a stage; -1: none. */
int schedule_extern_reader(const tn_schedule *s, int stage);
/* No stage is computed inside the loops of this one, which PRIMITIVE would lose (stages.c). */
tn_status schedule_check_no_guests(const schedule_call *c, int stage, const char *primitive);
/* Nothing that the stage reads is computed inside a loop: NEW_STAGE, at root, can read it too (stages.c). */
tn_status schedule_check_inputs_at_root(const schedule_call *c, int stage, const char *new_stage,
                                        const char *primitive);
/* N tensors by name are all that one stage makes, but for those without a name of their own, once each (stages.c). */
tn_status schedule_check_together(const schedule_call *c, int n, const char *const *tensors);
/* The names of a stage's current loops, "i.outer, i.inner", in a buffer of the caller. */
const char *schedule_loop_names(const schedule_stage *stage, char *buffer, size_t n);
/* How far out a loop of TARGET lies around STAGE: the position in TARGET's leaves of the loop that STAGE is attached
 * to, directly or through others; -1 when STAGE is not computed inside TARGET; n_leaves when STAGE is TARGET. */
int schedule_inside(const tn_schedule *s, int stage, int target);

#define SCHEDULE_TRY(expression)                \
  do {                                          \
    tn_status try_status = (expression);        \
    if (try_status != TN_OK) return try_status; \
  } while (0)

#endif
