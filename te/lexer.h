/* lexer.h: the tokens of the text form, one at a time. */
#ifndef TENON_TE_LEXER_H
#define TENON_TE_LEXER_H

#include "te/internal.h"

/* The kinds of tokens. Words of the language are names, too; the parser knows them by text and place. */
typedef enum te_token_kind {
  TE_TOKEN_END,     /* of the text */
  TE_TOKEN_NEWLINE, /* or ';': the end of a statement; inside parentheses and brackets newlines are blanks */
  TE_TOKEN_NAME,
  TE_TOKEN_INT,
  TE_TOKEN_FLOAT,
  TE_TOKEN_SYMBOL,
  TE_TOKEN_BROKEN /* a failure was reported */
} te_token_kind;

/* AT and LENGTH are its place in the text. The members below are set for the kinds they name. */
typedef struct te_token {
  te_token_kind kind;
  const char *at;
  size_t length;
  uint64_t magnitude; /* INT */
  double value;       /* FLOAT */
} te_token;

/* A position in one text. Copying it saves the position. */
typedef struct te_lexer {
  te_site site;
  const char *next; /* unread text */
  int nesting;      /* open parentheses and brackets */
  bool has_dots;    /* names may contain dots, as those of axes that a schedule made */
} te_lexer;

/* Reads the next token. Failures are reported at their place. */
te_token te_next_token(te_lexer *lexer);
bool te_token_is(const te_token *token, const char *text);

#endif
