/* language.h: the infix operators of the text form with their precedences: one table for the parser, the
 * printer and the formatter. */
#ifndef TENON_TE_LANGUAGE_H
#define TENON_TE_LANGUAGE_H

#include "tir/ir.h"

enum { TE_PREFIX_PRECEDENCE = 10 }; /* - ! and ~ */

/* An operator that stands between its operands. */
typedef struct te_infix {
  tir_op op;
  const char *text;
  int precedence; /* 1 binds the least tightly */
  bool chains;    /* a - b - c is (a - b) - c; comparisons do not chain */
  bool is_tight;  /* printed without blanks */
} te_infix;

/* The row of an operator, or NULL. */
const te_infix *te_find_infix(tir_op op);
const te_infix *te_find_infix_text(const char *text, size_t length);

#endif
