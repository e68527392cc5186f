/* intrin.h: intrinsics: what tensorize puts in the place of loops. An intrinsic is declared as a small computation, its
 * pattern; intrin.c compares loops with it, the pass tensorize replaces what matches. */
#ifndef TENON_TIR_INTRIN_H
#define TENON_TIR_INTRIN_H

#include "tir/ir.h"

enum { TIR_INTRIN_AXES = 6, TIR_INTRIN_INPUTS = 6 };

/* What an intrinsic becomes. DOT: output[l] += sum over k of input0[l, k] * input1[l, k], as the operator DOT. CALL: a
 * C function, void f(T *output, const T *input0, ..., int64_t strides ...): the strides, in elements, of the output's
 * dimensions, then of each input's. LANES: a reduction of one data axis in plain code, the same on every target: the
 * elements of the output are accumulated side by side in a local buffer, inside loops over the reduction axes. */
typedef enum tir_intrin_form { TIR_INTRIN_DOT, TIR_INTRIN_CALL, TIR_INTRIN_LANES } tir_intrin_form;

/* What an intrinsic can do. BODY writes the output; RESET, without inputs, writes what the reduction starts from;
 * UPDATE combines the output with what BODY would have written. */
typedef enum tir_intrin_role {
  TIR_INTRIN_BODY,
  TIR_INTRIN_RESET,
  TIR_INTRIN_UPDATE,
  TIR_INTRIN_ROLE_COUNT
} tir_intrin_role;

/* What the functions need of an operand: its first element at a multiple of ALIGN bytes (0: of an element), and these
 * strides, in elements (0: any). */
typedef struct tir_intrin_need {
  int64_t align, stride[TN_MAX_RANK];
} tir_intrin_need;

/* VAR stands in the pattern's expressions; loops of any name may be assigned to it. */
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
  int8_t input_axis[TIR_INTRIN_INPUTS][TN_MAX_RANK]; /* CALL: the axis that indexes a dimension */
  const tir_callee *callees[TIR_INTRIN_ROLE_COUNT];  /* CALL; NULL: there is none */
  tir_intrin_need needs[TIR_INTRIN_INPUTS + 1];      /* CALL: of the inputs, then of the output */
};

/* Bytes that the memory of what lowering allocates is aligned to; a caller's arrays are to their elements. */
enum { TIR_SCRATCH_ALIGN = 64 };

/* Whether it stands for init and update together; whether for an init. Else these are loops: vectors of a constant. */
bool tir_intrin_has_body(const tir_intrin *intrin);
bool tir_intrin_has_reset(const tir_intrin *intrin);

/* Where an input or the output of a pattern lies: element (a, b, ..) of the axes is at base + sum of stride * axis. */
typedef struct tir_place {
  const tir_buffer *buffer;
  const tir_expr *base;
  const tir_expr *stride[TIR_INTRIN_AXES]; /* a constant, or of symbols and what stands outside; NULL: 0 */
} tir_place;

/* What tir_match_intrin found, with pointers into the nest and into the arena. After a failure only
 * why_not counts. */
typedef struct tir_intrin_match {
  tir_place output, inputs[TIR_INTRIN_INPUTS];
  const tir_stmt *loops[TIR_INTRIN_AXES]; /* of the nest, by axis; NULL: the axis has one iteration */
  const tir_stmt *store;                  /* inside them */
  const tir_expr *source;                 /* what it stores, or combines with what is there */
  const tir_expr *live, *end; /* of a masked one: which step the first is, and the first that is off; or NULL */
  const char *why_not;        /* the first difference, with both sides; in the arena */
} tir_intrin_match;

/* Whether NEST, flat loop IR that stands in ENV, does what the pattern says: loops of constant extent around one store,
 * one loop for each axis of the pattern that is longer than 1, in any order. Expressions agree up to the order of
 * commutative operands, accesses up to offsets and strides; an input that does not depend on an axis has stride 0. Of a dot product the
 * steps from some one on may be left out: select(live + lane * group + step < end, product, 0), with reads that have this condition. */
bool tir_match_intrin(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                      tir_intrin_match *out);
/* Whether NEST stores what the pattern's reduction starts from to a place of the output's form (out->output). */
bool tir_match_reset(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                     tir_intrin_match *out);
/* Whether NEST does a part of it: its reduction ends earlier. A loop that would have one iteration need not be there. For
 * patterns with one reduction axis. */
bool tir_match_part(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                    tir_intrin_match *out);
/* Bases compared structurally: two equal addresses of different form count as different, which costs a
 * match and is never wrong. */
bool tir_is_same_place(const tir_place *a, const tir_place *b);

#endif
