/* text.h: what the printer and the parser of loop IR agree on: words and how strongly operators bind. */
#ifndef TENON_TIR_TEXT_H
#define TENON_TIR_TEXT_H

#include "tir/internal.h"

/* "float32", by dtype; "parallel", by the kind of a loop (none for serial); "reads", by what a call does to an operand
 * (none for one by value). */
extern const char *const tir_dtype_words[TN_DTYPE_COUNT];
enum { TIR_LOOP_KIND_COUNT = TIR_PARALLEL + 1 };
extern const char *const tir_loop_words[TIR_LOOP_KIND_COUNT];

enum { TIR_ACCESS_COUNT = TIR_UPDATES + 1 };
extern const char *const tir_access_words[TIR_ACCESS_COUNT];

/* Binding strength; what prints as a call or an atom binds strongest. */
enum {
  BIND_ANY,
  BIND_OR,
  BIND_AND,
  BIND_COMPARE,
  BIND_BITOR,
  BIND_BITXOR,
  BIND_BITAND,
  BIND_SHIFT,
  BIND_ADD,
  BIND_MUL,
  BIND_UNARY,
  BIND_ATOM
};
/* Of the operator, as one of the numbers above. The printer puts parentheses where a weaker one stands
 * in a stronger context; the parser climbs by the same numbers. */
int tir_text_binding(tir_op op);

#endif
