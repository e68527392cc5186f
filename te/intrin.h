/* intrin.h: intrinsics by name: built-in ones, those that C declared in the context, and those that a
 * program's text declares. */
#ifndef TENON_TE_INTRIN_H
#define TENON_TE_INTRIN_H

#include "te/internal.h"
#include "tir/intrin.h"

/* Declares an intrinsic: for the program if SITE is in a text, which keeps it, otherwise for the context.
 * If C declared one of the same name, pattern, functions and needs, a text gets that one. NULL after a
 * message at SITE. */
const tir_intrin *te_declare_intrin(const te_site *site, const char *name, const char *pattern,
                                    const tn_intrin_functions *functions, int n_operands,
                                    const tn_intrin_operand *operands);
/* Appends the statement that declares it, without the end of the line. */
void te_print_intrin(runtime_str *out, const tir_intrin *intrin);
/* Sets the function of a role: an address, or NULL for none, and LLVM IR, which the caller keeps. Checks it
 * if it can be called. */
tn_status te_give_intrin(const tir_intrin *intrin, int role, void (*function)(void), const void *module, size_t bytes);
/* The intrinsic of that name: declared by PROGRAM's text (PROGRAM may be NULL), by the context, or built
 * in. It lives as long as CTX. NULL without a message: there is none; with a message: no memory. */
const tir_intrin *te_find_intrin(tn_context *ctx, const tn_program *program, const char *name);
/* Gives F the existing intrinsics that its marks name. False: no memory. */
bool te_add_intrins(tn_context *ctx, runtime_arena *arena, tir_func *f);
/* How a step records an intrinsic: its name, or "name: pattern" for a declared one. */
const char *te_intrin_record(tn_context *ctx, const tn_program *program, const char *name);
/* Calls those functions of an intrinsic that have an address with random numbers, and compares with the
 * pattern's PROGRAM (intrin_check.c). */
tn_status te_check_functions(tn_program *program, const tir_intrin *intrin);
/* "dot4_u8i8, dot4_i8i8, ...": the names of all, in the caller's buffer. */
const char *te_intrin_names(tn_context *ctx, const tn_program *program, char *buffer, size_t n);

#endif
