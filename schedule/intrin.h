/* intrin.h: intrinsics by name: the built-in ones, and those that a program's context declared. */
#ifndef TENON_SCHEDULE_INTRIN_H
#define TENON_SCHEDULE_INTRIN_H

#include "schedule/state.h"
#include "tir/intrin.h"

/* NULL, without a message: there is none of this name; or, with one: out of memory. Lives as long as CTX. */
const tir_intrin *schedule_find_intrin(tn_context *ctx, const char *name);
/* Lets F name intrinsics: gives it those that its marks name and that there are. False: out of memory. */
bool schedule_add_intrins(tn_context *ctx, runtime_arena *arena, tir_func *f);
/* What a step holds of it: the name, or "name: pattern" of one that a context declared. */
const char *schedule_intrin_record(tn_context *ctx, const char *name);
/* Calls the functions of an intrinsic, those that have an address, with random numbers and compares with the pattern's
 * PROGRAM (intrin_check.c). */
tn_status schedule_check_functions(tn_program *program, const tir_intrin *intrin);
/* "dot4_u8i8, dot4_i8i8, ...": all there are, in a buffer of the caller. */
const char *schedule_intrin_names(tn_context *ctx, char *buffer, size_t n);

#endif
