/* intrin.h: intrinsics: what tensorize puts in the place of loops. An intrinsic is declared as a small computation, its
 * pattern; intrin.c compares loops with it, the pass tensorize replaces what matches. */
#ifndef TENON_TIR_INTRIN_H
#define TENON_TIR_INTRIN_H

#include "tir/ir.h"

enum { TIR_INTRIN_AXES = 6, TIR_INTRIN_INPUTS = 6 };

/* What an intrinsic becomes. DOT: output[l] += sum over k of input0[l, k] * input1[l, k], as the operator DOT. */
typedef enum tir_intrin_form { TIR_INTRIN_DOT } tir_intrin_form;

typedef struct tir_intrin_axis {
  const tir_var *var;
  int64_t extent;
  bool is_reduce;
} tir_intrin_axis;

/* The pattern: output[data axes] = source, or output[data axes] = combine(output[data axes], source) over the reduction
 * axes. SOURCE is made of LOADs of the inputs at axes' variables. */
struct tir_intrin {
  const char *name;
  const char *text; /* the pattern's definition, for messages */
  tir_intrin_form form;
  int n_axes, n_data; /* data axes in the order of the output's dimensions, then reduction axes */
  tir_intrin_axis axes[TIR_INTRIN_AXES];
  int n_inputs;
  const tir_buffer *inputs[TIR_INTRIN_INPUTS];
  const tir_buffer *output;
  bool is_reduction;
  tir_combiner combiner;
  const tir_expr *source;
};

/* Where an input or the output of a pattern lies: element (a, b, ..) of the axes is at base + sum of stride * axis. */
typedef struct tir_place {
  const tir_buffer *buffer;
  const tir_expr *base;
  int64_t stride[TIR_INTRIN_AXES];
} tir_place;

typedef struct tir_intrin_match {
  tir_place output, inputs[TIR_INTRIN_INPUTS];
  const char *why_not; /* the first difference, with both sides; in the arena */
} tir_intrin_match;

/* Whether NEST, flat loop IR that stands in ENV, does what the pattern says: loops of constant extent around one store,
 * one loop for each axis of the pattern that is longer than 1, in any order. Expressions agree up to the order of
 * commutative operands, accesses up to offsets and strides; an input that does not depend on an axis has stride 0. */
bool tir_match_intrin(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                      tir_intrin_match *out);

#endif
