/* c_emit.h: emitting C source from loop IR: what the c_*.c files share.
 *
 * What comes out is C17 with GNU vector extensions, as gcc and clang take it. How values are written:
 *   scalars    expressions of their C type; bool is an int that is 0 or 1. Index expressions (loop variables, constants
 *              and + - * // % min max over them, none of which can leave its dtype) are written in int64_t (int32_t where addresses are) with
 *              plain operators; other integer arithmetic in unsigned types, where it wraps.
 *   vectors    of 2, 4 .. 64 lanes: values of vector types f32x16, i8x64 ... A bool vector is a mask: lanes of 0 or -1,
 *              as wide as what was compared. What C has no vector form for is done lane by lane in a loop of one line.
 *              A store of vectors wider than the target's is cut into several.
 *   others     a store of an odd number of lanes, or one with a predicate, is a loop over its lanes in which everything
 *              is scalar ("lane mode"). The lanes of a store do not depend on each other.
 * A value that is used twice, or whose text grows long, gets a name: `const float t3 = ...;` before the statement.
 * Out of memory jumps out of the arena to codegen_c_source; other failures are kept by codegen_c_fail, and emission
 * goes on with text that is thrown away. */
#ifndef TENON_CODEGEN_C_EMIT_H
#define TENON_CODEGEN_C_EMIT_H

#include "codegen/emit.h"

/* How tightly an expression's outermost operator binds. */
typedef enum codegen_c_prec {
  CODEGEN_C_ANY,
  CODEGEN_C_TERNARY,
  CODEGEN_C_LOGIC, /* && and ||, which are not mixed without parentheses */
  CODEGEN_C_BITS,
  CODEGEN_C_RELATION,
  CODEGEN_C_SUM,
  CODEGEN_C_PRODUCT,
  CODEGEN_C_UNARY,
  CODEGEN_C_CALL, /* calls and subscripts */
  CODEGEN_C_ATOM  /* names and literals */
} codegen_c_prec;

/* An expression's text. */
typedef struct codegen_c_text {
  const char *text;
  codegen_c_prec prec;
  int mask_bytes; /* a mask: bytes of a lane; else 0 */
} codegen_c_text;

/* Functions that a file brings along when it uses them (c_prelude.c). */
typedef enum codegen_c_helper {
  CODEGEN_C_FLOORDIV,
  CODEGEN_C_FLOORMOD,
  CODEGEN_C_MIN,
  CODEGEN_C_MAX,
  CODEGEN_C_ABS,
  CODEGEN_C_SHL,
  CODEGEN_C_SHR,
  CODEGEN_C_POPCOUNT,
  CODEGEN_C_CLZ,
  CODEGEN_C_FROM_F16, /* between f32 and bits */
  CODEGEN_C_FROM_BF16,
  CODEGEN_C_TO_F16,
  CODEGEN_C_TO_BF16,
  CODEGEN_C_OF_F32, /* saturating casts to an integer type */
  CODEGEN_C_OF_F64,
  CODEGEN_C_ERF, /* of f32 (erf.h), where lanes are computed side by side */
  CODEGEN_C_HELPER_COUNT
} codegen_c_helper;

enum {
  CODEGEN_C_MAX_LANES = 64,
  CODEGEN_C_LANE_ROWS = 7, /* 1, 2, 4 .. 64 */
  /* What of a vector type is used. */
  CODEGEN_C_VECTOR = 1,
  CODEGEN_C_UNALIGNED = 2,
  CODEGEN_C_SPLAT = 4,
  CODEGEN_C_SELECT = 8,
  CODEGEN_C_WRAPS = 16 /* i64: u64 beside it, which is no dtype */
};

/* One file being written, in heap memory: a jump must not change it. Maps are heap memory, too, texts
 * lie in the arena. */
typedef struct codegen_c_emitter {
  tn_context *ctx;
  const tir_func *func;
  const tn_target *target;
  runtime_arena arena;
  runtime_str out;                 /* where lines go */
  runtime_str head;                /* what stands before them while the body is written apart */
  int indent;                      /* levels */
  const tir_env *env;              /* ranges of the loop variables in scope */
  runtime_map names;               /* tir_var or tir_buffer -> const char * */
  RUNTIME_VEC(const char *) taken; /* names in scope */
  runtime_map values;              /* tir_expr -> its codegen_c_text in this statement */
  runtime_map indices;             /* tir_expr -> whether it is an index expression */
  runtime_map uses;                /* tir_expr -> how often this statement uses it */
  runtime_map slices;              /* tir_expr -> some of its lanes, while it is cut */
  const tir_expr *stored;          /* the value of the store that is being written, whose name is where it is stored */
  const char *lane;                /* the lane variable in lane mode, else NULL */
  bool is_parallel;                /* inside a parallel loop */
  bool hints_unroll;               /* inside of unroll_explicit 0 */
  bool has_arrays;                 /* there is scratch on the stack */
  bool can_fail;                   /* there is a variable `failed` */
  int depth, n_names;
  bool failed;
  uint8_t types[TN_DTYPE_COUNT][CODEGEN_C_LANE_ROWS]; /* flags */
  bool helpers[CODEGEN_C_HELPER_COUNT][TN_DTYPE_COUNT];
} codegen_c_emitter;

/* ---- c_source.c, c_names.c: texts and names ---------------------------------------------------------------------- */

/* Only the first one is told; emission goes on with text that is thrown away. */
void codegen_c_fail(codegen_c_emitter *m, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* Adds a line to the body, indented. */
void codegen_c_line(codegen_c_emitter *m, const char *fmt, ...) TN_PRINTF(2, 3);
/* The text lies in the emitter's arena. */
codegen_c_text codegen_c_format(codegen_c_emitter *m, codegen_c_prec prec, const char *fmt, ...) TN_PRINTF(3, 4);
/* The text, in parentheses when it binds less tightly than AT_LEAST. */
const char *codegen_c_wrap(codegen_c_emitter *m, codegen_c_text a, codegen_c_prec at_least);
/* What C calls a dtype. */
const char *codegen_c_type(tn_dtype dtype);
/* runtime_map_put that jumps when there is no memory. */
void codegen_c_put(codegen_c_emitter *m, runtime_map *map, const void *key, const void *value);
/* Gives a variable or buffer a name that is like the one it has. */
const char *codegen_c_bind(codegen_c_emitter *m, const void *what, const char *name);
/* It goes out of scope; forget_name: and nothing else in the function gets its name. */
void codegen_c_unbind(codegen_c_emitter *m, const void *what);
void codegen_c_forget_name(codegen_c_emitter *m, const void *what);
/* NULL when it is not in scope. */
const char *codegen_c_name(codegen_c_emitter *m, const void *what);
/* Whether a C file of ours uses the name itself. */
bool codegen_c_is_reserved(const char *name);
/* t0, t1, ... */
const char *codegen_c_new_name(codegen_c_emitter *m);

/* ---- c_prelude.c: types and functions on demand ------------------------------------------------------------------ */

/* "f32x16"; what of it is used besides the type. */
const char *codegen_c_vector(codegen_c_emitter *m, tn_dtype dtype, int lanes, int uses);
/* The integer vector type of masks whose lanes have BYTES. */
const char *codegen_c_mask(codegen_c_emitter *m, int bytes, int lanes);
/* The unsigned vector type in which a dtype's arithmetic wraps. */
const char *codegen_c_wrapping_vector(codegen_c_emitter *m, tn_dtype dtype, int lanes);
/* The type of loop variables and index expressions. */
const char *codegen_c_index_type(const codegen_c_emitter *m);
/* The type of a value: that of indices for an index expression, a vector type, a mask type or a scalar one. */
const char *codegen_c_value_type(codegen_c_emitter *m, const tir_expr *e, int mask_bytes);
/* The helper's name, "floordiv_i32". */
const char *codegen_c_use(codegen_c_emitter *m, codegen_c_helper helper, tn_dtype dtype);
/* Includes, types and functions that M's body uses. */
void codegen_c_prelude(codegen_c_emitter *m, runtime_str *out);

/* ---- c_expr.c: values -------------------------------------------------------------------------------------------- */

/* Remembered for the statement; may write a line that gives it a name. */
codegen_c_text codegen_c_value(codegen_c_emitter *m, const tir_expr *e);
/* Whether E is an index expression: its text is in the index type, and nothing in it can leave its dtype. */
bool codegen_c_is_index(codegen_c_emitter *m, const tir_expr *e);
/* 1 in lane mode. */
int codegen_c_lanes(const codegen_c_emitter *m, const tir_expr *e);
/* A vector, named, so that its lanes can be taken and it can be written twice. */
codegen_c_text codegen_c_named(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a);
/* A mask with lanes of BYTES. */
codegen_c_text codegen_c_widen_mask(codegen_c_emitter *m, codegen_c_text mask, int bytes, int lanes);
/* Lane LANE of a vector as a scalar expression; bool: a condition. LANE is a name. */
codegen_c_text codegen_c_at_lane(codegen_c_emitter *m, const tir_expr *e, const char *lane);
/* How often each part of E is used; to be called for the expressions of a statement. */
void codegen_c_count_uses(codegen_c_emitter *m, const tir_expr *e);
/* Forgets what is known of expressions: at each statement. */
void codegen_c_forget(codegen_c_emitter *m);

/* ---- c_arith.c, c_math.c ----------------------------------------------------------------------------------------- */

/* The handlers take an expression of their class and return its text; a value that needs one gets a
 * line before it. */
codegen_c_text codegen_c_arithmetic(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_division(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_min_max(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_comparison(codegen_c_emitter *m, const tir_expr *e);
/* Comparison E of scalars; an integer compared with itself, which compilers warn of, is 1 or 0. */
codegen_c_text codegen_c_compare(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a, codegen_c_text b);
codegen_c_text codegen_c_logic(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_dot(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_select(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_cast(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_math(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_abs(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_bits(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_shift(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_count(codegen_c_emitter *m, const tir_expr *e);
codegen_c_text codegen_c_float_test(codegen_c_emitter *m, const tir_expr *e);
/* Whether NAME is a function of math.h that generated code may call. */
bool codegen_c_is_function(const char *name);
/* a OP b with parentheses where they are needed or wise: OP is one of + - * / < <= > >= == != && || & | ^. */
codegen_c_text codegen_c_binary(codegen_c_emitter *m, codegen_c_text a, const char *op, codegen_c_text b);
/* A call of NAME with one or two arguments. */
codegen_c_text codegen_c_call(codegen_c_emitter *m, const char *name, int n, const codegen_c_text *args);
/* A vector made lane by lane: E's lane is NAME called with the lanes of its arguments. */
codegen_c_text codegen_c_call_lanes(codegen_c_emitter *m, const char *name, const tir_expr *e);
/* E as a vector whose lane is SCALAR, an expression of the variable `lane`; 0 where GUARD, unless NULL, does not hold.
 */
codegen_c_text codegen_c_lane_by_lane(codegen_c_emitter *m, const tir_expr *e, codegen_c_text scalar,
                                      const codegen_c_text *guard);

/* ---- c_memory.c, c_stmt.c, c_call.c ------------------------------------------------------------------------------ */

/* The handlers in these files take an expression of their class and return its text. */
codegen_c_text codegen_c_load(codegen_c_emitter *m, const tir_expr *e);
void codegen_c_store(codegen_c_emitter *m, const tir_stmt *s);
void codegen_c_prefetch(codegen_c_emitter *m, const tir_stmt *s);
/* Calls of other C functions (c_call.c): takes their names, declares them, calls one. */
void codegen_c_take_callees(codegen_c_emitter *m);
void codegen_c_declare_callees(codegen_c_emitter *m, runtime_str *out);
void codegen_c_call_stmt(codegen_c_emitter *m, const tir_stmt *s);
/* Scratch arrays that are too large for the stack, and the body in which they live. PARALLEL: a loop whose iterations
 * are shared out, or NULL. */
void codegen_c_frame(codegen_c_emitter *m, const tir_stmt *body, const tir_stmt *parallel);

#endif
