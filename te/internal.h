/* internal.h: what te's own files share: where an error is reported, how expressions are built from
 * arguments, and what a read can touch. The public C calls and the parser are two thin users of the same
 * builders. */
#ifndef TENON_TE_INTERNAL_H
#define TENON_TE_INTERNAL_H

#include "te/graph.h"

/* Limits of a program. They keep recursion and fixed tables small, whoever wrote the program. */
enum {
  TE_MAX_NAME = 127,             /* characters of a name */
  TE_MAX_REDUCE_AXES = 16,       /* of one compute */
  TE_MAX_DEPTH = 512,            /* of an expression tree */
  TE_MAX_SIZE = 100000,          /* nodes of an expression, shared ones counted each time */
  TE_MAX_TENSORS = 4096,         /* of a program */
  TE_MAX_EXTENT = INT32_MAX,     /* since an axis is an i32 as a value */
  TE_MAX_SYMBOL = INT32_MAX / 4, /* the greatest value of a symbol that does not give one */
  TE_MAX_SYMBOLS = 16,           /* of a program */
};

/* ---- site.c: where something goes wrong -------------------------------------------------------------------------- */

/* Where a failure is reported: a C call (text NULL), or a place in a program's text. The latter is a parse
 * error with line, column and caret. */
typedef struct te_site {
  tn_context *ctx;
  const char *text;                 /* the whole program */
  const char *at;                   /* in text */
  const struct te_sources *sources; /* the files that the text came from; NULL: it was given as text */
  const char *file;                 /* the name of the file that the text is a part of; otherwise NULL */
} te_site;

/* Records a failure, with the place in the text if the site has one. Returns the recorded status for its
 * caller to return. */
tn_status te_fail(const te_site *site, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* Reports "out of memory" when POINTER is NULL; returns whether it is not. */
bool te_has_memory(const te_site *site, const void *pointer);
/* Whether NAME can name WHAT ("a tensor", "an axis", ...): an identifier that is not a word of the
 * language. False after a message. */
bool te_check_name(const te_site *site, const char *what, const char *name);
/* Whether NAME is a function, dtype, combiner or word of a statement. */
bool te_is_reserved(const char *name);
/* The function or cast of the language whose name is closest to NAME; NULL: none is close. */
const char *te_nearest_function(const char *name);
/* How the language writes a function or dtype that NAME is in NumPy, TVM or C, such as "max(x, 0)" for
 * relu; NULL: it is none of these. */
const char *te_other_spelling(const char *name);
/* Appends the names of all functions, separated by blanks. */
void te_add_functions(runtime_str *out);
/* The operator or function of the language with that text (several may share one, with different numbers of
 * operands); -1: none. */
int te_find_op(const char *text);
/* A tir_combiner by its text; -1: none. */
int te_find_combiner(const char *text);
const char *te_combiner_text(tir_combiner combiner);
/* Checks the extents' range and that the array's size in bytes fits, as far as no symbol decides. */
bool te_check_shape(const te_site *site, const tn_tensor *tensor);

/* ---- types.c: C numbers and literals, unification ---------------------------------------------------------------- */

static inline bool te_is_number(tn_arg a) { return a.kind == TN_ARG_INT || a.kind == TN_ARG_FLOAT; }
/* The dtype of a number on its own: i32, or i64 if it is too large for that; f32. */
tn_dtype te_number_dtype(tn_arg number);
/* Whether a number next to operands of DTYPE takes that dtype. */
bool te_number_fits(tn_arg number, tn_dtype dtype);
/* The common dtype of N operands, which may include numbers. */
tn_dtype te_common_dtype(int n, const tn_arg *args);
/* VALUE, an expression or a number, in dtype: a constant, the node itself, or a cast of it. NULL after a
 * message: it does not fit. */
const tir_expr *te_convert(const te_site *site, tn_arg value, tn_dtype dtype);

/* ---- expr.c: expressions from arguments -------------------------------------------------------------------------- */

/* The node of an argument (an axis is its variable, and a tensor of rank 0 is read) and its dtype. The
 * first function gives the node as it is stored; the others as it is as an operand, where f16 and bf16
 * become f32. Numbers have no dtype here. */
const tir_expr *te_stored_node(const te_site *site, tn_arg a);
tn_dtype te_arg_dtype(tn_arg a);
const tir_expr *te_arg_node(const te_site *site, tn_arg a);
/* OP is spelled as in the text form. NULL after a message. */
tn_expr *te_operator(const te_site *site, const char *op, int n, const tn_arg *args);
/* NULL after a message. A cast to the argument's own dtype is the argument. */
tn_expr *te_cast(const te_site *site, tn_dtype dtype, tn_arg a);
/* Bounds are checked only when the compute is made, since the conditions around are not known yet. */
tn_expr *te_read(const te_site *site, tn_tensor *tensor, int n, const tn_arg *index);
/* Wraps a new node over ARGS; refuses one that is too deep or too large for recursion and printing. */
tn_expr *te_new_expr(const te_site *site, const tir_expr *node, int n, const tn_arg *args);
/* Whether the arguments belong to the site's context and are not NULL; NULL is refused without a message. */
bool te_check_context(const te_site *site, int n, const tn_arg *args);
/* Refuses an operand that is a reduction or a tuple. */
bool te_check_not_reduction(const te_site *site, tn_arg a);
/* Refuses an operand of several values. A reduction to one value may be part of an expression (lift.c). */
bool te_check_one_value(const te_site *site, tn_arg a);
/* Whether making the argument has failed already; nothing more is reported then. */
bool te_is_null(tn_arg a);
/* Finds the context of a C call in its arguments. False: none has one, and nothing can be reported. */
bool te_find_site(te_site *site, int n, const tn_arg *args);
/* Writes an expression for a message, shortened to fit. Returns BUFFER. */
const char *te_show(char buffer[64], const tir_expr *e);
/* An operand as text for a message, and its dtype. */
const char *te_show_arg(char buffer[64], const te_site *site, tn_arg a);
tn_dtype te_shown_dtype(tn_arg a);
/* Reports that OP cannot take A, with advice. Returns false. */
bool te_refuse_operand(const te_site *site, const char *op, tn_arg a, const char *advice);
bool te_check_bool(const te_site *site, const char *op, tn_arg a);

/* ---- reduce.c, tuple.c, trial.c: reductions, several values at once ---------------------------------------------- */

/* A combiner of tuples being made. Results and identities are NULL until they are given. */
struct tn_combiner {
  tn_context *ctx;
  tir_tuple_combiner combiner;
};

/* SOURCE must not be a reduction, and the axes must be reduction axes. */
tn_expr *te_reduction(const te_site *site, tir_combiner combiner, tn_arg source, int n_axes, tn_axis *const *axes);
/* A reduction with a combiner of tuples; one source for each value. */
tn_expr *te_tuple_reduction(const te_site *site, const tir_tuple_combiner *combiner, int n, const tn_arg *sources,
                            int n_axes, tn_axis *const *axes);
/* argmax (IS_MAX) or argmin: over a value, with its position; or over an index and a value. */
tn_expr *te_position_reduction(const te_site *site, bool is_max, int n, const tn_arg *sources, int n_axes,
                               tn_axis *const *axes);
/* A reduction that has no condition (no inits) yet, with one (with them). */
tn_expr *te_reduction_where(const te_site *site, tn_expr *reduction, tn_arg cond);
tn_expr *te_reduction_init(const te_site *site, tn_expr *reduction, int n, const tn_arg *inits);
/* A tuple of values, none of them a reduction. */
tn_expr *te_tuple(const te_site *site, int n, const tn_arg *values);
/* A combiner without results and identities. SIDES: names of its left values, then of its right ones, which
 * are copied; NULL: a0, a1 ... and b0, b1 ... */
tn_combiner *te_combiner(const te_site *site, const char *name, int n, const tn_dtype *dtypes,
                         const char *const *sides);
/* Value V of the left or the right side as an expression. */
tn_expr *te_combiner_side(const te_site *site, tn_combiner *c, bool is_right, int v);
/* Sets the results, or the identities. False, with a message and nothing changed, unless the results use
 * only the two sides and all have the combiner's dtypes. */
bool te_combiner_results(const te_site *site, tn_combiner *c, int n, const tn_arg *results);
bool te_combiner_identity(const te_site *site, tn_combiner *c, int n, const tn_arg *values);
/* An element's position among the reduced ones, in the order of the axes; NULL: no memory. */
const tir_expr *te_position(runtime_arena *arena, int n_axes, tn_axis *const *axes);
/* 1: argmax, 0: argmin, -1: neither. */
int te_find_position_reduction(const char *name);
/* Tries a reduction's combiner on values like those of its sources. Refuses one that turns out not to be
 * associative and commutative, or whose identity is not one. */
bool te_try_combiner(const te_site *site, const tir_expr *reduction);

/* ---- symbol.c: extents that depend on symbols -------------------------------------------------------------------- */

/* A number or, if size is not NULL, an expression of symbols whose greatest value is MOST. */
typedef struct te_extent {
  int64_t most;
  const tir_expr *size;
} te_extent;

/* 1 <= LEAST <= MOST <= TE_MAX_EXTENT is required. */
tn_axis *te_symbol_new(const te_site *site, const char *name, int64_t least, int64_t most);
/* The symbol's value as an i32. */
tn_expr *te_symbol_value(const te_site *site, const tn_axis *symbol);
/* VALUE as an extent; false after a message. WHAT: for messages, such as "extent of axis 'i'". */
bool te_extent_of(const te_site *site, const char *what, tn_arg value, te_extent *out);
/* Collects the symbols of a program. Each must be an extent of some argument. */
bool te_collect_symbols(const te_site *site, tn_program *program);
/* Prints an extent. */
void te_print_extent(runtime_str *out, int64_t extent, const tir_expr *size);

/* ---- compute.c: axes and tensors --------------------------------------------------------------------------------- */

/* An axis without an owner yet. */
tn_axis *te_axis(const te_site *site, const char *name, te_extent extent, bool is_reduce);
/* A placeholder; it has NDIM extents and no axes. */
tn_tensor *te_input(const te_site *site, const char *name, tn_dtype dtype, int ndim, const te_extent *shape);
/* Like tn_strided, but reports at a site. */
bool te_make_strided(const te_site *site, tn_tensor *tensor);
/* An input of rank 0 that is passed by value. */
tn_tensor *te_scalar(const te_site *site, const char *name, tn_dtype dtype);

/* Splits "A, B" at the commas. Returns how many names, TIR_MAX_VALUES + 1 if there are too many, or -1
 * without memory. */
int te_split_names(const te_site *site, const char *list, const char *names[TIR_MAX_VALUES + 1]);

/* ---- scan.c: recurrences ----------------------------------------------------------------------------------------- */

/* The states of a scan that defines them later; returns the first. */
tn_tensor *te_state(const te_site *site, int n, const char *const *names, const tn_dtype *dtypes, int ndim,
                    const int64_t *shape);
/* Whether TENSOR is a state that no scan defines yet. */
static inline bool te_is_open_state(const tn_tensor *tensor) {
  return tensor->op->kind == TE_SCAN && tensor->op->body == NULL;
}
/* Finds the steps of a program's scans. Refuses a step that reads the present or future of what it
 * computes, or is read from outside. */
bool te_check_scans(const te_site *site, const tn_program *p);

/* ---- extern.c: stages that are a call of a C function ------------------------------------------------------------ */

/* Whether E is made of symbols and constants as extents are, or is a cast of such. *FITS: none of its
 * values wraps in an i32. */
bool te_is_size(const tir_expr *e, bool *fits);

/* NULL: a function can take the argument by value if its dtype is allowed. Otherwise why not, phrased to
 * follow the argument's name. */
const char *te_why_not_passed(tn_arg arg);

/* A stage that calls a C function. NAME is an identifier. ARGS are tensors, numbers, constants and places
 * of results; results without a place come after all others. */
tn_tensor *te_extern(const te_site *site, tir_callee *callee, int n_results, const tn_result *results, int n_args,
                     const tn_arg *args);
/* A callee of which only the name is known so far. */
tir_callee *te_callee(const te_site *site, const char *name);
/* A name must be one function, called with the same types everywhere. Calls of one name share their callee
 * afterwards. */
bool te_check_externs(const te_site *site, const tn_program *p);

/* ---- access.c: what a read can touch ----------------------------------------------------------------------------- */

/* What is known of one read without running the program: the ranges of its indices, and what decides them.
 * It lives during the visitor's call; its expressions are in the arena given to te_walk_accesses. */
typedef struct te_access {
  const tir_expr *read;
  tir_interval range[TN_MAX_RANK];  /* of each index, narrowed by the conditions around the read */
  bool is_data[TN_MAX_RANK];        /* the index depends on a tensor's values */
  bool is_below[TN_MAX_RANK];       /* the index is less than the tensor's extent, which may be symbolic */
  bool is_symbolic[TN_MAX_RANK];    /* symbols, or axes of symbolic extent, decide the index */
  const tir_expr *end[TN_MAX_RANK]; /* if so: the index's greatest value plus 1, as an i32 of symbols; NULL: unknown */
  bool is_guarded;                  /* inside a select's branch or behind && or || */
} te_access;

/* Called for each read of an expression; false ends the walk. */
typedef bool (*te_access_fn)(void *user, const te_access *access);
/* Visits the reads in order of evaluation. ARENA NULL: te_access.end is not computed. */
bool te_walk_accesses(const te_op *op, runtime_arena *arena, te_access_fn visit, void *user);
/* Whether two sizes differ by a constant: *DIFFERENCE is A - B. */
bool te_size_difference(const tir_expr *a, const tir_expr *b, int64_t *difference);
/* Computes op->may_leave. */
void te_set_may_leave(te_op *op);
/* Refuses a read that leaves its tensor, as far as that is certain. */
bool te_check_access(const te_site *site, const char *op_name, const te_access *access);

/* Defines the states of an op by a body; otherwise like te_compute. */
bool te_scan(const te_site *site, te_op *state, tn_arg body, int n_axes, tn_axis *const *axes, te_access_fn visit,
             void *user);
/* Makes a compute of one or more values and returns its first output. Everything is checked but accesses,
 * which are passed to VISIT (NULL: te_check_access). */
tn_tensor *te_compute(const te_site *site, int n_names, const char *const *names, tn_arg body, int n_axes,
                      tn_axis *const *axes, te_access_fn visit, void *user);

/* ---- narrow.c: reductions in fewer bits -------------------------------------------------------------------------- */

/* A reduction of the same value in the fewest bits that hold all that it can be, to be cast to E's dtype; E itself: there is none, or no
 * memory. */
const tir_expr *te_narrow_reduction(runtime_arena *arena, const tir_expr *e);

/* ---- lift.c: reductions inside expressions ----------------------------------------------------------------------- */

/* The last part of the name given to a tensor that a user's combiner makes: "C.reduce". */
#define TE_OTHER_REDUCTION "reduce"

/* Replaces each reduction in BODY, except one at its top, by a read of a tensor of its own. NAME and AXES
 * are the definition's; VISIT and USER as in te_compute. NULL: refused. */
const tir_expr *te_lift_reductions(const te_site *site, const char *name, const tir_expr *body, int n_axes,
                                   tn_axis *const *axes, te_access_fn visit, void *user);

/* ---- program.c, print.c, number.c -------------------------------------------------------------------------------- */

/* ARGS: inputs, then outputs. Makes all checks that need the whole program: names, scans, calls, symbols.
 * NULL after a message; the tensors stay usable. */
tn_program *te_program(const te_site *site, int n_inputs, int n_args, tn_tensor *const *args);
/* The combiner of a tuple reduction that the program defines; NULL: the op has none. */
const tir_tuple_combiner *te_op_combiner(const te_op *op);
/* Prints the statement that defines a combiner, without the end of the line. */
void te_print_combiner(runtime_str *out, const tir_tuple_combiner *combiner);
/* Parses a part of SITE's text; lines and columns in messages are those of the whole text. Opens no files. */
tn_program *te_parse_part(const te_site *site, const char *part);
void te_print_program(runtime_str *out, const tn_program *program);
/* Appends the shortest text that is read back as the same value of the dtype. */
void te_format_float(runtime_str *out, double value, tn_dtype dtype);

#endif
