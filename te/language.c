/* language.c: the table of infix operators. */
#include "te/language.h"

/* Ordered by precedence. Parser, printer and formatter read this table; all other operators are written as
 * functions or prefixes. */
static const te_infix infixes[] = {
    {TIR_OR, "||", 1, true, false},     {TIR_AND, "&&", 2, true, false},   {TIR_EQ, "==", 3, false, false},
    {TIR_NE, "!=", 3, false, false},    {TIR_LT, "<", 3, false, false},    {TIR_LE, "<=", 3, false, false},
    {TIR_GT, ">", 3, false, false},     {TIR_GE, ">=", 3, false, false},   {TIR_BITOR, "|", 4, true, false},
    {TIR_BITXOR, "^", 5, true, false},  {TIR_BITAND, "&", 6, true, false}, {TIR_SHL, "<<", 7, true, false},
    {TIR_SHR, ">>", 7, true, false},    {TIR_ADD, "+", 8, true, false},    {TIR_SUB, "-", 8, true, false},
    {TIR_MUL, "*", 9, true, true},      {TIR_DIV, "/", 9, true, true},     {TIR_FLOORDIV, "//", 9, true, true},
    {TIR_FLOORMOD, "%", 9, true, true},
};

/* NULL for operators that are written as functions or prefixes. */
const te_infix *te_find_infix(tir_op op) {
  for (int i = 0; i < RUNTIME_COUNT(infixes); i++)
    if (infixes[i].op == op) return &infixes[i];
  return NULL;
}

/* TEXT need not end after the operator. */
const te_infix *te_find_infix_text(const char *text, size_t length) {
  for (int i = 0; i < RUNTIME_COUNT(infixes); i++)
    if (strlen(infixes[i].text) == length && memcmp(infixes[i].text, text, length) == 0) return &infixes[i];
  return NULL;
}
