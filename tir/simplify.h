/* simplify.h: shared by the files of the simplifier. */
#ifndef TENON_TIR_SIMPLIFY_H
#define TENON_TIR_SIMPLIFY_H

#include "tir/linear.h"

/* One run of tir_simplify, on its stack (some 10 KB, most of it the facts of tir_known). */
typedef struct tir_simplifier {
  runtime_arena *arena;
  int depth;     /* of the recursion; deeper nodes are left as they are */
  tir_memo memo; /* interior node -> simplified */
  tir_known known;
} tir_simplifier;

/* Canonical form of one node and all below it; NULL only when memory ran out. */
const tir_expr *tir_simplify_node(tir_simplifier *s, const tir_expr *e);
/* The form of a scalar integer expression over simplified atoms. False: memory ran out. */
bool tir_simplify_form(tir_simplifier *s, const tir_expr *e, tir_linear *form);
/* A form as an expression of that dtype, terms in their order. */
const tir_expr *tir_emit_form(runtime_arena *arena, const tir_linear *form, tn_dtype dtype);
/* Comparisons and booleans (simplify_bool.c). */
const tir_expr *tir_simplify_bool(tir_simplifier *s, const tir_expr *e);
/* floordiv and floormod of a form by a positive constant (simplify_div.c). FORM is replaced by the result. False: it
 * could not be done within the limits of forms; FORM is unchanged then. */
bool tir_form_floordiv(tir_simplifier *s, tir_linear *form, int64_t divisor, tn_dtype dtype);
bool tir_form_floormod(tir_simplifier *s, tir_linear *form, int64_t divisor, tn_dtype dtype);
/* E, a remainder of lanes that go on by the same by one number, without what the number divides of lane 0; NULL: no memory. */
const tir_expr *tir_ramp_modulo(tir_simplifier *s, const tir_expr *e);
/* Joins quotient and remainder terms of the same division: (x//c)*c + x%c is x, (x//a%b)*a + x%a is x%(a*b); of numbers, and of what is proved to be positive. */
void tir_form_rejoin(tir_simplifier *s, tir_linear *form);
/* X // B of simplified sides, where X is a quotient itself, as one division; NULL: it is none, or what they divide by together could wrap. */
const tir_expr *tir_merged_quotient(tir_simplifier *s, const tir_expr *x, const tir_expr *b);

#endif
