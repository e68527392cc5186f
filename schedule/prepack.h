/* prepack.h: a program whose constants are packed once: one function computes the stages that depend on layout_free
 * inputs alone, another takes what they computed in place of them. */
#ifndef TENON_SCHEDULE_PREPACK_H
#define TENON_SCHEDULE_PREPACK_H

#include "schedule/lowering.h"

/* Marks in L, after bound inference, which root stages belong to the part that is packed before all calls, and makes
 * parameters of the buffers between the two parts. TN_ERROR_SCHEDULE with a message: there is none. */
tn_status schedule_find_packed(lowering *l);
/* Whether a root stage is computed by the part that is being lowered. */
bool schedule_in_part(const lowering *l, int stage);
/* The parameters of the part whose body is BODY. Prepack: the layout_free inputs that it reads, then the packed
 * buffers, as outputs. Packed: these buffers, as inputs, the inputs that it reads, the outputs; scalars, and symbols,
 * all of which are extents of these: what reads a tensor of symbolic extents is not packed. Both: strides of what
 * they take. */
void schedule_part_params(const lowering *l, const tir_stmt *body, tir_func *f);

#endif
