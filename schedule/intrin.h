/* intrin.h: intrinsics by name: the built-in ones, and those that a program's context declared. */
#ifndef TENON_SCHEDULE_INTRIN_H
#define TENON_SCHEDULE_INTRIN_H

#include "schedule/state.h"
#include "tir/intrin.h"

/* NULL, without a message: there is none of this name; or, with one: out of memory. Lives as long as CTX. */
const tir_intrin *schedule_find_intrin(tn_context *ctx, const char *name);
/* "dot4_u8i8, dot4_i8i8, ...": all there are, in a buffer of the caller. */
const char *schedule_intrin_names(tn_context *ctx, char *buffer, size_t n);

#endif
