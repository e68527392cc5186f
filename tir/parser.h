/* parser.h: what the two halves of the reader of loop IR share: the text with the place in it, what is in scope, small
 * steps over words and signs. A step that fails says so once and makes all later ones fail, so that a caller looks at
 * its result only where it uses it. */
#ifndef TENON_TIR_PARSER_H
#define TENON_TIR_PARSER_H

#include "tir/internal.h"

/* A name in scope: a scalar, a loop's variable or an allocation; in a list from the innermost outwards. */
typedef struct parser_name {
  const struct parser_name *outer;
  const tir_var *var;
  const tir_buffer *buffer;
} parser_name;

/* A parameter. Its accesses tell whether it is flat: with one index where it was declared with another number of
 * dimensions. */
typedef struct parser_param {
  runtime_arena *arena;
  tir_buffer *buffer, declared;
  const char *shape_at; /* the place of its shape */
  bool is_flat, is_stored;
  const char *whole_access; /* where its first access with an index a dimension stands, or NULL */
} parser_param;

/* All that a reading needs, on the caller's stack; the lists lie in the arena. */
typedef struct parser {
  tn_context *ctx;
  runtime_arena *arena;
  const char *text, *at; /* all of it, and what is unread */
  const parser_name *names;
  int n_params, depth;
  parser_param *params;
  int n_scalars;
  tir_scalar *scalars;
  const tir_env *env; /* of the scalars */
  int n_callees;
  const tir_callee **callees; /* one a name */
  bool failed, has_index_dtype;
  tn_dtype index_dtype;
} parser;

/* Fails at a place; always false, which is also a NULL. Later failures are not said. */
bool parser_fail(parser *p, const char *at, const char *fmt, ...) TN_PRINTF(3, 4);
/* P when memory is there; else says that it is not. */
const void *parser_made(parser *p, const void *pointer);
/* The place of the next word or sign. */
const char *parser_here(parser *p);
/* Steps over SIGN if it stands here; in need it must. */
bool parser_accept(parser *p, const char *sign);
bool parser_need(parser *p, const char *sign);
/* The same for a whole word. */
bool parser_accept_word(parser *p, const char *word);
/* A name, in the arena; NULL after "expected WHAT". */
const char *parser_word(parser *p, const char *what);
/* A whole number without a type, with its sign. */
bool parser_integer(parser *p, int64_t *value);
/* Room for one item more in a list in the arena that has N, given the list; NULL: no memory, which is said. */
void *parser_room(parser *p, void *items, int n, size_t item_bytes);
/* "float32". */
bool parser_dtype(parser *p, tn_dtype *dtype);
/* Around whatever can be nested: false when it is too deep. */
bool parser_enter(parser *p);
static inline void parser_leave(parser *p) { p->depth--; }

/* The parameter that a buffer is, or NULL. */
parser_param *parser_param_of(parser *p, const tir_buffer *buffer);

/* NAME[...] up to the bracket; the buffer is found, the number of indices fits, and so do their types. */
typedef struct parser_access {
  const tir_buffer *buffer;
  int n;
  const tir_expr *index[TN_MAX_RANK], *predicate;
} parser_access;
bool parser_access_rest(parser *p, const char *name, const char *at, parser_access *out);

/* Behind "call". */
const tir_stmt *parser_call(parser *p);

const tir_expr *parser_expr(parser *p);
/* One lane of the dtype. */
const tir_expr *parser_scalar(parser *p, tn_dtype dtype, const char *what);

#endif
