/* internal.h: what the files of tir/ share with each other and with nobody else. */
#ifndef TENON_TIR_INTERNAL_H
#define TENON_TIR_INTERNAL_H

#include "tir/ir.h"

/* ---- dtypes as integer ranges ------------------------------------------------------------------------------------ */

/* Smallest and largest value of an integer dtype (bool: 0, 1). */
tir_interval tir_dtype_range(tn_dtype dtype);
/* Value wrapped in two's complement to the dtype (bool: != 0). */
int64_t tir_wrap(tn_dtype dtype, int64_t value);

/* ---- constant folding (fold.c) ----------------------------------------------------------------------------------- */

/* The scalar constant OP makes of scalar constants a and b (b NULL for unary), or NULL when it is not folded. */
const tir_expr *tir_fold(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b);
/* A scalar constant cast to a dtype. */
const tir_expr *tir_fold_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a);

static inline bool tir_is_const(const tir_expr *e) { return e->op == TIR_INT || e->op == TIR_FLOAT; }
/* The scalar under a broadcast, or E. */
static inline const tir_expr *tir_unbroadcast(const tir_expr *e) { return e->op == TIR_BROADCAST ? e->arg[0] : e; }

#endif
