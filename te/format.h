/* format.h: what the two halves of tn_format share: the pieces of a text and how they relate. */
#ifndef TENON_TE_FORMAT_H
#define TENON_TE_FORMAT_H

#include "runtime/base.h"

/* BREAK: the end of a line. A COMMENT extends to the end of its line. */
typedef enum format_kind {
  FORMAT_WORD,
  FORMAT_SYMBOL,
  FORMAT_STRING,
  FORMAT_COMMENT,
  FORMAT_SEMICOLON,
  FORMAT_BREAK
} format_kind;

/* Counts for an element of a list or a part of a statement; they decide how close its operators stand. */
typedef struct format_group {
  int n_sums, n_products, n_comparisons, n_brackets;
} format_group;

/* A piece of the text: a word, a sign, a comment, or the end of a line. It points into the text and is
 * identified by its index. Links to other pieces are set when all have been read (format_read.c). */
typedef struct format_piece {
  format_kind kind;
  const char *at;
  int length, column; /* column in the text, from 0 */
  int open;           /* the piece that opens the innermost bracket or brace around it; -1: none */
  int mate;           /* of an opening bracket, its closing one, and the other way round; otherwise -1 */
  int group;
  int statement;          /* the first piece of its statement */
  bool is_schedule;       /* primitives, not definitions */
  bool is_binary;         /* an operator between two operands */
  bool is_index;          /* of an opening bracket: it holds indices or extents, whose operators stand close */
  bool continues;         /* of a BREAK: the statement goes on behind it */
  int n_tokens, n_commas; /* of an opening bracket: directly inside it */
} format_piece;

/* A text in pieces, which point into it. The caller frees pieces and groups. */
typedef struct format_text {
  tn_context *ctx;
  const char *text;
  RUNTIME_VEC(format_piece) pieces;
  RUNTIME_VEC(format_group) groups;
} format_text;

/* Whether the piece is this word or symbol. */
bool te_format_is(const format_piece *p, const char *text);
/* Whether the piece is a word, a symbol or a string. */
static inline bool te_format_is_token(const format_piece *p) { return p->kind <= FORMAT_STRING; }
/* Splits TEXT into pieces. False after a message with the place: a character that no text has, or brackets
 * that do not match. */
bool te_format_read(format_text *f);
/* Whether a statement continues on the next line after this token: an operator, a comma, an equals sign. */
bool te_format_goes_on(const format_piece *token);
/* Whether a blank belongs between token A and the next token B of the same line. */
bool te_format_has_blank(const format_text *f, int a, int b);
/* The nearest token before piece I, or after it; -1: none. */
int te_format_before(const format_text *f, int i);
int te_format_behind(const format_text *f, int i);

#endif
