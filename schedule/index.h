/* index.h: index expressions of a lowering, and the proof that they fit the index dtype (index.c). */
#ifndef TENON_SCHEDULE_INDEX_H
#define TENON_SCHEDULE_INDEX_H

#include "schedule/lowering.h"

/* A number of the index dtype, and an operator on expressions of it. A number that does not fit is noted in l->unfit;
 * what is made then has no meaning. */
const tir_expr *schedule_index_int(lowering *l, int64_t value);
const tir_expr *schedule_index_binary(lowering *l, tir_op op, const tir_expr *a, const tir_expr *b);

/* Whether no part of an expression over the lowering's variables can leave the index dtype. Data is no part of it. */
bool schedule_index_fits(lowering *l, const tir_expr *e);
/* Notes the first of a stage's loops, axes, points and buffers that cannot be shown to fit; of the finished loop IR,
 * the first index, bound or comparison. */
void schedule_prove_loops(lowering *l, const lower_stage *ls);
void schedule_prove_buffers(lowering *l, const lower_stage *ls);
void schedule_prove_body(lowering *l, const tir_stmt *body);
/* After something was noted: true when all has to be done again, in i64, which L is prepared for; false after a
 * message, TN_ERROR_LOWER, since it was i64. */
bool schedule_widen(lowering *l);

#endif
