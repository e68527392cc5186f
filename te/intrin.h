/* intrin.h: intrinsics by name: the built-in ones, those that C declared in the context, and those that a program's
 * text declares. */
#ifndef TENON_TE_INTRIN_H
#define TENON_TE_INTRIN_H

#include "te/internal.h"
#include "tir/intrin.h"

/* Declares an intrinsic: at a place in a text for its program, which keeps it, else for the context. What C declared
 * with the same name, pattern, functions and needs is that of a text, too. NULL after a message at SITE. */
const tir_intrin *te_declare_intrin(const te_site *site, const char *name, const char *pattern,
                                    const tn_intrin_functions *functions, int n_operands,
                                    const tn_intrin_operand *operands);
/* As the statement that declares it, without the end of the line. */
void te_print_intrin(runtime_str *out, const tir_intrin *intrin);
/* Gives the function of a role an address, NULL for none, and LLVM IR, kept by the caller, and checks what can be
 * called. */
tn_status te_give_intrin(const tir_intrin *intrin, int role, void (*function)(void), const void *module, size_t bytes);
/* One that PROGRAM's text declares, of the context, or built in; PROGRAM may be NULL. NULL, without a message: there is
 * none of this name; or, with one: out of memory. Lives as long as CTX. */
const tir_intrin *te_find_intrin(tn_context *ctx, const tn_program *program, const char *name);
/* Lets F name intrinsics: gives it those that its marks name and that there are. False: out of memory. */
bool te_add_intrins(tn_context *ctx, runtime_arena *arena, tir_func *f);
/* What a step holds of it: the name, or "name: pattern" of one that was declared. */
const char *te_intrin_record(tn_context *ctx, const tn_program *program, const char *name);
/* Calls the functions of an intrinsic, those that have an address, with random numbers and compares with the pattern's
 * PROGRAM (intrin_check.c). */
tn_status te_check_functions(tn_program *program, const tir_intrin *intrin);
/* "dot4_u8i8, dot4_i8i8, ...": all there are, in a buffer of the caller. */
const char *te_intrin_names(tn_context *ctx, const tn_program *program, char *buffer, size_t n);

#endif
