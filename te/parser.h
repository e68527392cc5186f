/* parser.h: the parser's state, shared by its parts: statements (parse.c), blocks (parse_block.c),
 * expressions (parse_expr.c), combiners (parse_combiner.c) and externs (parse_extern.c). */
#ifndef TENON_TE_PARSER_H
#define TENON_TE_PARSER_H

#include "te/lexer.h"
#include "te/names.h"

enum { TE_MAX_NESTING = 256 }; /* of parentheses, indices and prefix operators */

/* A named tensor of the program. */
typedef struct te_named {
  tn_tensor *tensor;
  const char *at;   /* where it was declared, defined or first read */
  bool is_inferred; /* an input that was only read so far: its shape may still grow */
  bool is_read;
} te_named;

/* A combiner that a statement defined. */
typedef struct te_named_combiner {
  tn_combiner *combiner;
  const char *at;
} te_named_combiner;

/* Where a read is written, for the check of its bounds when the statement is complete. */
typedef struct te_read_place {
  const tir_expr *read;
  const char *at;
} te_read_place;

/* The parser's state: everything known at a place in the text. Axes are those of the statement being parsed. */
typedef struct te_parser {
  te_lexer lexer;
  te_token token; /* the next one to look at */
  int nesting;
  RUNTIME_VEC(te_named) symbols;
  RUNTIME_VEC(tn_param) params;
  te_names symbol_names, param_names; /* with the same numbering */
  RUNTIME_VEC(tn_axis *) sizes;       /* of symbol statements */
  RUNTIME_VEC(te_read_place) reads;   /* of the statement being parsed */
  RUNTIME_VEC(tn_tensor *) outputs;   /* of an output statement */
  RUNTIME_VEC(te_named_combiner) combiners;
  RUNTIME_VEC(const tir_intrin *) intrins;
  bool has_open_axes; /* a word follows a reduction's axes, and their bracket is still open */
  RUNTIME_VEC(te_block) blocks;
  RUNTIME_VEC(const char *) links;
  tn_combiner *defining;                           /* the combiner whose results are being parsed, or NULL */
  tn_axis *axes[TN_MAX_RANK + TE_MAX_REDUCE_AXES]; /* in scope */
  int n_axes;
} te_parser;

/* A value and where it begins. kind TN_ARG_NONE: a failure was reported. */
typedef struct te_operand {
  tn_arg value;
  const char *at;
} te_operand;

/* ---- parse.c ----------------------------------------------------------------------------------------------------- */

/* Reports a failure at a place of the text. Always false. */
bool te_parse_fail(te_parser *p, const char *at, const char *fmt, ...) TN_PRINTF(3, 4);
/* The line of a place, from 1. *FILE: the name of its file, or "" if the text is not from a file. */
int te_line_of(const te_parser *p, const char *at, const char **file);
/* A te_site for builders, so that their failures are reported AT. */
const te_site *te_parse_site(te_parser *p, const char *at);
/* Moves on to the next token. */
void te_advance(te_parser *p);
void te_skip_newlines(te_parser *p);
/* Takes the symbol; otherwise reports what was EXPECTED, in words, and returns false. */
bool te_expect(te_parser *p, const char *symbol, const char *expected);
bool te_fail_expected(te_parser *p, const char *expected);
/* Takes the symbol or word if it is here. */
bool te_accept(te_parser *p, const char *symbol);
/* The token's text, in the context's arena; NULL after a message: no memory. */
const char *te_token_text(te_parser *p, const te_token *token);
/* NULL: there is no tensor of that name so far. */
te_named *te_find_named(te_parser *p, const char *name);
bool te_add_named(te_parser *p, te_named symbol);
const tn_param *te_find_param(te_parser *p, const char *name);
tn_axis *te_find_size(te_parser *p, const char *name);
const te_named_combiner *te_find_named_combiner(te_parser *p, const char *name);
/* Takes a name and its place. NULL: failed. WHAT: what was expected, in words. */
const char *te_take_name(te_parser *p, const char *what, const char **at);
/* Whether the name at AT is free for a WHAT; false after a message. */
bool te_check_free(te_parser *p, const char *what, const char *name, const char *at);
/* Takes the name of a dtype. */
bool te_take_dtype(te_parser *p, tn_dtype *dtype);
/* Parses `name: dtype`, with a name that is free for a tensor. */
bool te_parse_typed_name(te_parser *p, const char *what, const char **name, const char **at, tn_dtype *dtype);
/* Parses the extents after a dtype: none, `[]` or `[2, N]`. Returns the rank; -1: failed. */
int te_parse_shape(te_parser *p, te_extent shape[TN_MAX_RANK]);
/* Parses `[i<4, k<N]` from its bracket on, and adds the axes to the scope. Returns how many; -1: failed.
 * With IS_REDUCE it stops at a name, which may be `where` or `init`. */
int te_parse_axes(te_parser *p, bool is_reduce, int limit);

/* ---- parse_expr.c ------------------------------------------------------------------------------------------------ */

/* Parses an expression whose operators bind at least as tightly as PRECEDENCE. */
te_operand te_parse_expr(te_parser *p, int precedence);
/* Parses `(x, y)` with at most TIR_MAX_VALUES values. Returns how many; -1: failed. */
int te_parse_values(te_parser *p, te_operand *list);
/* Parses a constant integer made of literals and parameters, without comparisons. */
bool te_parse_integer(te_parser *p, const char *what, int64_t *value);
/* Parses an extent, which may also be made of symbols. */
bool te_parse_extent(te_parser *p, const char *what, te_extent *extent);

/* ---- parse_combiner.c -------------------------------------------------------------------------------------------- */

/* Parses a combiner statement after its first word: `name(a: f32, b: f32; c, d) = (results), identity (constants)`. */
bool te_parse_combiner(te_parser *p);

/* ---- parse_block.c ----------------------------------------------------------------------------------------------- */

/* Statements whose first word is not reserved; what follows it decides: `intrin name {`, `schedule {`,
 * `include "file"`, `link "file"`. */
typedef enum te_block_kind { TE_NO_BLOCK, TE_INTRIN, TE_SCHEDULE, TE_INCLUDE, TE_LINK } te_block_kind;
te_block_kind te_block_here(const te_parser *p);
bool te_parse_block(te_parser *p, te_block_kind kind);

/* ---- parse_extern.c ---------------------------------------------------------------------------------------------- */

/* Parses an extern statement after its first word: `y: f32[4] = f(A, x)`. */
bool te_parse_extern(te_parser *p);

#endif
