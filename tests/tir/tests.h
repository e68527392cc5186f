/* tests.h: what the test program of tir/ shares: its groups, a reader of printed IR, an interpreter of IR. Reader and
 * interpreter share no code with tir/ but the constructors. */
#ifndef TENON_TESTS_TIR_TESTS_H
#define TENON_TESTS_TIR_TESTS_H

#include "tests/common/check.h"
#include "tir/ir.h"

int test_expr(void);
int test_print(void);
int test_parse(void);
int test_walk(void);
int test_bounds(void);
int test_simplify(void);
int test_simplify_exhaustive(void);
int test_check(void);
int test_passes(void);
int test_pipeline(void);
int test_passes_random(void);

/* Runs the cases of a pass, tests/golden/tir/passes/PASS.txt (pass_cases.c). PREPARE, which may be NULL, gives a function
 * what its text does not say. */
typedef void (*prepare_fn)(tn_context *ctx, runtime_arena *arena, tir_func *f);
void check_pass_cases(const char *pass, prepare_fn prepare);

/* C functions that the reader knows by name, ended by one without: axpy(reads x, updates y, float32 a, int64 n) adds
 * a*x to y; fill(writes y, int64 n, int32 value) (interpret.c). */
extern const tir_callee test_callees[];

/* ---- reading IR (read.c) ----------------------------------------------------------------------------------------- */

enum { READ_NAMES = 32 };

/* Names met while reading; a reader fails the test on a syntax error. */
typedef struct reader {
  runtime_arena *arena;
  const char *at;
  int n_vars, n_buffers;
  tir_var *vars[READ_NAMES];
  tir_buffer *buffers[READ_NAMES];
} reader;

/* Declares "i in 0..7, j in -3..3, b: bool, x: float32, A: float32[8, 4]" and gives the environment of the ranges. */
const tir_env *read_names(reader *r, const char *text);
const tir_expr *read_expr(reader *r, const char *text);
/* Statements as the printer writes them; variables are declared by their loops. */
const tir_stmt *read_stmts(reader *r, const char *text);
/* "in A: float32[8, 8]; out C: float32[64] { statements }". */
tir_func *read_func(reader *r, const char *text);
const tir_var *reader_var(const reader *r, const char *name);

char *print_expr(runtime_arena *arena, const tir_expr *e);
char *print_func(runtime_arena *arena, const tir_func *f);

/* ---- interpreting IR (interpret.c) ------------------------------------------------------------------------------- */

typedef union value {
  int64_t i;
  double f;
} value;

/* Who touched an element last in a loop of independent iterations: the loop, and the iteration, -1 for several. */
typedef struct touch {
  int64_t write_loop, writer, read_loop, reader;
} touch;

typedef struct memory {
  const tir_buffer *buffer;
  value *data;
  touch *touches;
  int64_t size;
  bool live; /* parameters always; allocations inside their statement */
} memory;

typedef struct machine {
  int n_vars, n_memories;
  struct {
    const tir_var *var;
    value value;
  } vars[512];
  memory memories[64];
  /* The outermost parallel loop now: which of all it is (0: none), its iteration, how many memories are from outside of
   * it. */
  int64_t loop, n_loops, iteration;
  int n_shared;
  const char *fault; /* first access outside a buffer, or use of an unbound name; NULL: none */
  int64_t steps;     /* stores made */
} machine;

void machine_set(machine *m, const tir_var *var, int64_t value);
void machine_set_scalar(machine *m, const tir_var *var, value v);
/* One lane of an expression. */
value evaluate(machine *m, const tir_expr *e, int lane);
void execute(machine *m, const tir_stmt *s);
/* Parameters get memory with reproducible contents; frees with machine_free. Symbols get the values, in order (NULL:
 * any that they may have). */
void machine_start(machine *m, const tir_func *f, uint64_t seed);
void machine_start_with(machine *m, const tir_func *f, uint64_t seed, const int64_t *symbols);
void machine_free(machine *m);
/* Runs both functions on equal memory; NULL when they agree, else what differs. */
const char *same_effect(const tir_func *a, const tir_func *b, uint64_t seed);

#endif
