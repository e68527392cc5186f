/* internal.h: what te's own files share: where an error is reported, how expressions are built from arguments, what a
 * read can touch. The public calls (C) and the parser (text) are two thin users of the same builders. */
#ifndef TENON_TE_INTERNAL_H
#define TENON_TE_INTERNAL_H

#include "te/graph.h"

/* Limits of what a program may hold: they keep recursion and fixed tables small, whoever wrote the program. */
enum {
  TE_MAX_NAME = 127,             /* characters of a name */
  TE_MAX_REDUCE_AXES = 16,       /* of one compute */
  TE_MAX_DEPTH = 512,            /* of an expression tree */
  TE_MAX_SIZE = 100000,          /* nodes of an expression when sharing is expanded */
  TE_MAX_TENSORS = 4096,         /* of a program */
  TE_MAX_EXTENT = INT32_MAX,     /* an axis is an i32 as a value */
  TE_MAX_SYMBOL = INT32_MAX / 4, /* a symbol's greatest value, unless it says another */
  TE_MAX_SYMBOLS = 16,           /* of a program */
};

/* ---- site.c: where something goes wrong -------------------------------------------------------------------------- */

/* A C call (text NULL) or a place in a program's text: then a failure is a parse error with line, column and caret. */
typedef struct te_site {
  tn_context *ctx;
  const char *text;                 /* the whole program */
  const char *at;                   /* in text */
  const struct te_sources *sources; /* the files that the text is from; NULL: a text that was given as text */
  const char *file;                 /* of a text that is a part of a file: its name; else NULL */
} te_site;

/* Records a failure at the place in the text, if the site has one. Returns the status that was
 * recorded, for its caller to return. */
tn_status te_fail(const te_site *site, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* Reports "out of memory" when POINTER is NULL; returns whether it is not. */
bool te_has_memory(const te_site *site, const void *pointer);
/* Whether NAME can name WHAT ("a tensor", "an axis", ...): an identifier that is no word of the language. */
bool te_check_name(const te_site *site, const char *what, const char *name);
/* Functions, dtypes, combiners and words of statements. */
bool te_is_reserved(const char *name);
/* The function or cast of the language whose name is closest to NAME, or NULL when none is near. */
const char *te_nearest_function(const char *name);
/* What the language writes for a function or dtype that NAME is in NumPy, TVM or C ("max(x, 0)" for relu); NULL: NAME
 * is none of these. */
const char *te_other_spelling(const char *name);
/* Adds the names of all functions, separated by blanks. */
void te_add_functions(runtime_str *out);
/* Finds an operator or function of the language by its text, and by its arity when several share a text; -1: none. */
int te_find_op(const char *text);
/* A tir_combiner; -1: none. */
int te_find_combiner(const char *text);
const char *te_combiner_text(tir_combiner combiner);
/* Checks that the extents are in range and that the array's bytes fit (where no symbol decides). */
bool te_check_shape(const te_site *site, const tn_tensor *tensor);

/* ---- types.c: C numbers and literals, unification ---------------------------------------------------------------- */

static inline bool te_is_number(tn_arg a) { return a.kind == TN_ARG_INT || a.kind == TN_ARG_FLOAT; }
/* The dtype of a number on its own: i32, i64 when too large for that, f32. */
tn_dtype te_number_dtype(tn_arg number);
/* Whether a number beside operands of DTYPE takes that dtype. */
bool te_number_fits(tn_arg number, tn_dtype dtype);
/* The dtype that N operands (numbers among them) have in common. */
tn_dtype te_common_dtype(int n, const tn_arg *args);
/* A value of VALUE's expression or number in dtype: a constant, the node itself, or a cast of it. NULL: it does not
 * fit. */
const tir_expr *te_convert(const te_site *site, tn_arg value, tn_dtype dtype);

/* ---- expr.c: expressions from arguments -------------------------------------------------------------------------- */

/* The dtype of an argument that is no number; the node of one (an axis is its variable, a rank-0 tensor is read). As it
 * is stored; and as an operand, where f16 and bf16 become f32. */
const tir_expr *te_stored_node(const te_site *site, tn_arg a);
tn_dtype te_arg_dtype(tn_arg a);
const tir_expr *te_arg_node(const te_site *site, tn_arg a);
/* OP is the text form's spelling. NULL after a message. */
tn_expr *te_operator(const te_site *site, const char *op, int n, const tn_arg *args);
/* NULL after a message. A cast to the dtype that the argument has is the argument. */
tn_expr *te_cast(const te_site *site, tn_dtype dtype, tn_arg a);
/* Bounds are checked when the compute is made, not here: the conditions around are not known yet. */
tn_expr *te_read(const te_site *site, tn_tensor *tensor, int n, const tn_arg *index);
/* The expression of a new node over ARGS; refuses one that is too deep or too large for recursion and printing. */
tn_expr *te_new_expr(const te_site *site, const tir_expr *node, int n, const tn_arg *args);
/* Whether the arguments are of the site's context and not NULL (which is refused without a message). */
bool te_check_context(const te_site *site, int n, const tn_arg *args);
/* Refuses an operand that is a reduction or a tuple. */
bool te_check_not_reduction(const te_site *site, tn_arg a);
/* Refuses an operand that is several values; a reduction to one value may stand inside an expression (lift.c). */
bool te_check_one_value(const te_site *site, tn_arg a);
/* An argument whose making failed: nothing more is said about it. */
bool te_is_null(tn_arg a);
/* The context of a C call is that of its arguments; false: there is none, and nothing can be said. */
bool te_find_site(te_site *site, int n, const tn_arg *args);
/* Writes an expression for a message, shortened to fit; returns BUFFER. */
const char *te_show(char buffer[64], const tir_expr *e);
/* An operand in words, and its dtype. */
const char *te_show_arg(char buffer[64], const te_site *site, tn_arg a);
tn_dtype te_shown_dtype(tn_arg a);
/* Returns false, with what OP cannot take and advice. */
bool te_refuse_operand(const te_site *site, const char *op, tn_arg a, const char *advice);
bool te_check_bool(const te_site *site, const char *op, tn_arg a);

/* ---- reduce.c, tuple.c, trial.c: reductions, several values at once ---------------------------------------------- */

/* How tuples are combined, in the making: its combiner's results and identities are NULL until they are given. */
struct tn_combiner {
  tn_context *ctx;
  tir_tuple_combiner combiner;
};

/* SOURCE must be no reduction, the axes made as reduction axes. */
tn_expr *te_reduction(const te_site *site, tir_combiner combiner, tn_arg source, int n_axes, tn_axis *const *axes);
/* By a combiner of tuples; one source for each value. */
tn_expr *te_tuple_reduction(const te_site *site, const tir_tuple_combiner *combiner, int n, const tn_arg *sources,
                            int n_axes, tn_axis *const *axes);
/* argmax (IS_MAX) and argmin: of a value and its position, or of an index and a value. */
tn_expr *te_position_reduction(const te_site *site, bool is_max, int n, const tn_arg *sources, int n_axes,
                               tn_axis *const *axes);
/* A reduction without such a part, with it. */
tn_expr *te_reduction_where(const te_site *site, tn_expr *reduction, tn_arg cond);
tn_expr *te_reduction_init(const te_site *site, tn_expr *reduction, int n, const tn_arg *inits);
/* Several values, none a reduction. */
tn_expr *te_tuple(const te_site *site, int n, const tn_arg *values);
/* A combiner without results and identities. SIDES: the names of its left values, then of its right ones, which are
 * kept; NULL: a0, a1 ... and b0, b1 ... */
tn_combiner *te_combiner(const te_site *site, const char *name, int n, const tn_dtype *dtypes,
                         const char *const *sides);
/* Value V of the left or right side, as an expression. */
tn_expr *te_combiner_side(const te_site *site, tn_combiner *c, bool is_right, int v);
/* Kept if all are over the combiner's two sides and of its dtypes. False, and nothing changed, after a
 * message. */
bool te_combiner_results(const te_site *site, tn_combiner *c, int n, const tn_arg *results);
bool te_combiner_identity(const te_site *site, tn_combiner *c, int n, const tn_arg *values);
/* The position of an element among the reduced ones, in the order of the axes; NULL: out of memory. */
const tir_expr *te_position(runtime_arena *arena, int n_axes, tn_axis *const *axes);
/* 0: argmin, 1: argmax, -1: neither. */
int te_find_position_reduction(const char *name);
/* Tries a reduction's combiner on values such as its sources have: refuses one that is shown not to be associative and
 * commutative, or whose identity is none. */
bool te_try_combiner(const te_site *site, const tir_expr *reduction);

/* ---- symbol.c: extents that depend on symbols -------------------------------------------------------------------- */

/* A number, or (size not NULL) an expression of symbols whose greatest value is MOST. */
typedef struct te_extent {
  int64_t most;
  const tir_expr *size;
} te_extent;

/* 1 <= LEAST <= MOST <= TE_MAX_EXTENT. */
tn_axis *te_symbol_new(const te_site *site, const char *name, int64_t least, int64_t most);
/* The symbol as an i32. */
tn_expr *te_symbol_value(const te_site *site, const tn_axis *symbol);
/* VALUE as an extent; false: it is none. WHAT: "extent of axis 'i'". */
bool te_extent_of(const te_site *site, const char *what, tn_arg value, te_extent *out);
/* Collects the symbols of a program, and checks that each is some extent of an argument. */
bool te_collect_symbols(const te_site *site, tn_program *program);
/* Prints an extent. */
void te_print_extent(runtime_str *out, int64_t extent, const tir_expr *size);

/* ---- compute.c: axes and tensors --------------------------------------------------------------------------------- */

/* An axis that nobody owns yet. */
tn_axis *te_axis(const te_site *site, const char *name, te_extent extent, bool is_reduce);
/* NDIM extents; a placeholder has no axes. */
tn_tensor *te_input(const te_site *site, const char *name, tn_dtype dtype, int ndim, const te_extent *shape);
/* tn_strided, with a place for what is wrong. */
bool te_make_strided(const te_site *site, tn_tensor *tensor);
/* An input of rank 0 that is passed by value. */
tn_tensor *te_scalar(const te_site *site, const char *name, tn_dtype dtype);

/* "A, B": the names between commas. Returns how many, one more than TIR_MAX_VALUES for all that are too many; -1: out
 * of memory. */
int te_split_names(const te_site *site, const char *list, const char *names[TIR_MAX_VALUES + 1]);

/* ---- scan.c: recurrences ----------------------------------------------------------------------------------------- */

/* The states of one scan, which defines them later; the first of them. */
tn_tensor *te_state(const te_site *site, int n, const char *const *names, const tn_dtype *dtypes, int ndim,
                    const int64_t *shape);
/* Whether TENSOR is a state that no scan defines yet. */
static inline bool te_is_open_state(const tn_tensor *tensor) {
  return tensor->op->kind == TE_SCAN && tensor->op->body == NULL;
}
/* Finds the steps of a program's scans; refuses a step that looks ahead, or is read from outside. */
bool te_check_scans(const te_site *site, const tn_program *p);

/* ---- extern.c: stages that are a call of a C function ------------------------------------------------------------ */

/* Whether E is made of symbols and constants as extents are, or is a cast of that. *FITS: no value of it wraps in an
 * i32. */
bool te_is_size(const tir_expr *e, bool *fits);

/* NULL: a function can take it by value, if its dtype is one of those. Else why not, to stand behind a name for it. */
const char *te_why_not_passed(tn_arg arg);

/* What an extern computes: NAME is an identifier. ARGS are tensors, numbers, constants and places of results; without
 * such a place the results stand behind all others. */
tn_tensor *te_extern(const te_site *site, tir_callee *callee, int n_results, const tn_result *results, int n_args,
                     const tn_arg *args);
/* A callee of which only the name is known. */
tir_callee *te_callee(const te_site *site, const char *name);
/* One name is one function, called with the same types everywhere; extents are numbers. Calls of one symbol share their
 * callee from here on. */
bool te_check_externs(const te_site *site, const tn_program *p);

/* ---- access.c: what a read can touch ----------------------------------------------------------------------------- */

/* What can be said of one read without running the program: the ranges of its indices, and who decides them.
 * te_walk_accesses makes it for the call of its visitor; the expressions lie in the arena that it was given. */
typedef struct te_access {
  const tir_expr *read;
  tir_interval range[TN_MAX_RANK];  /* of each index, narrowed by the conditions around the read */
  bool is_data[TN_MAX_RANK];        /* the index depends on a tensor's values */
  bool is_below[TN_MAX_RANK];       /* the index is below the tensor's extent, symbols or not */
  bool is_symbolic[TN_MAX_RANK];    /* symbols or axes of symbolic extent decide the index */
  const tir_expr *end[TN_MAX_RANK]; /* then: one more than its greatest value, as an i32 of symbols; NULL: unknown */
  bool is_guarded;                  /* inside a select's branch or behind && or || */
} te_access;

/* Called for each read of an expression; false stops the walk. */
typedef bool (*te_access_fn)(void *user, const te_access *access);
/* In order of evaluation. ARENA NULL: te_access.end is not worked out. */
bool te_walk_accesses(const te_op *op, runtime_arena *arena, te_access_fn visit, void *user);
/* The difference of two sizes, when it is a constant. */
bool te_size_difference(const tir_expr *a, const tir_expr *b, int64_t *difference);
/* Sets op->may_leave. */
void te_set_may_leave(te_op *op);
/* Refuses a read that leaves its tensor. */
bool te_check_access(const te_site *site, const char *op_name, const te_access *access);

/* Defines the states of an op by a body, as te_compute does. */
bool te_scan(const te_site *site, te_op *state, tn_arg body, int n_axes, tn_axis *const *axes, te_access_fn visit,
             void *user);
/* Makes a compute of one or more values, checked but for its accesses (VISIT sees those; NULL: te_check_access).
 * Returns its first output. */
tn_tensor *te_compute(const te_site *site, int n_names, const char *const *names, tn_arg body, int n_axes,
                      tn_axis *const *axes, te_access_fn visit, void *user);

/* ---- lift.c: reductions inside expressions ----------------------------------------------------------------------- */

/* The last part of the name of a tensor that a user's own combiner makes: "C.reduce". */
#define TE_OTHER_REDUCTION "reduce"

/* BODY with a read of a tensor of its own in place of each reduction but the one at its top. NAME and AXES are those of
 * the definition; VISIT and USER as for te_compute. NULL: refused. */
const tir_expr *te_lift_reductions(const te_site *site, const char *name, const tir_expr *body, int n_axes,
                                   tn_axis *const *axes, te_access_fn visit, void *user);

/* ---- program.c, print.c, number.c -------------------------------------------------------------------------------- */

/* ARGS: inputs, then outputs. Checks all that only shows in the whole: names, scans, calls, symbols.
 * NULL after a message; the tensors stay usable. */
tn_program *te_program(const te_site *site, int n_inputs, int n_args, tn_tensor *const *args);
/* The combiner of a tuple's reduction that the program defines; NULL: the op has none. */
const tir_tuple_combiner *te_op_combiner(const te_op *op);
/* As the statement that defines it, without the end of the line. */
void te_print_combiner(runtime_str *out, const tir_tuple_combiner *combiner);
/* The program of a part of SITE's text, whose lines and columns are those of the whole. It opens no files. */
tn_program *te_parse_part(const te_site *site, const char *part);
void te_print_program(runtime_str *out, const tn_program *program);
/* The shortest text that gives the same value back in the dtype. */
void te_format_float(runtime_str *out, double value, tn_dtype dtype);

#endif
