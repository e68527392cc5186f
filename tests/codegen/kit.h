/* kit.h: building, compiling and calling loop IR by hand. */
#ifndef TENON_TESTS_CODEGEN_KIT_H
#define TENON_TESTS_CODEGEN_KIT_H

#include "codegen/compile.h"
#include "tests/common/check.h"

enum { KIT_MAX_PARAMS = 8 };

/* Shared by all tests of the program (a context keeps target machines and the JIT); opened and closed by main. */
typedef struct kit {
  tn_context *ctx;
  runtime_arena arena;
  const tir_buffer *params[KIT_MAX_PARAMS];
  int n_params, n_inputs;
  const char *c_compiler; /* a command: kit_compile goes through C source; NULL: LLVM */
} kit;
extern kit K;

void kit_open(void);
void kit_close(void);
/* Forgets the parameters: at the beginning of a test. */
void kit_begin(void);

/* Flat buffers of N elements. Parameters must be made inputs first. */
const tir_buffer *kit_in(const char *name, tn_dtype dtype, int64_t n);
const tir_buffer *kit_out(const char *name, tn_dtype dtype, int64_t n);
const tir_buffer *kit_scratch(const char *name, tn_dtype dtype, int64_t n);
const tir_var *kit_var(const char *name);

/* Expressions in i32. */
const tir_expr *kit_int(int64_t value);
const tir_expr *kit_at(const tir_var *var);
const tir_expr *kit_add(const tir_expr *a, const tir_expr *b);
const tir_expr *kit_mul(const tir_expr *a, int64_t b);
/* base .. base + lanes - 1; the scalar itself for one lane. */
const tir_expr *kit_ramp(const tir_expr *base, int64_t stride, int lanes);
const tir_expr *kit_load(const tir_buffer *buffer, const tir_expr *index);
const tir_expr *kit_load_if(const tir_buffer *buffer, const tir_expr *index, const tir_expr *predicate);

const tir_stmt *kit_store(const tir_buffer *buffer, const tir_expr *index, const tir_expr *value);
const tir_stmt *kit_store_if(const tir_buffer *buffer, const tir_expr *index, const tir_expr *value,
                             const tir_expr *predicate);
const tir_stmt *kit_for(const tir_var *var, int64_t extent, tir_loop_kind kind, const tir_stmt *body);
const tir_stmt *kit_seq(int n, const tir_stmt *const *stmts);
tir_func *kit_func(const char *name, const tir_stmt *body);

/* Compiles for TARGET (NULL: native) and loads; any failure fails the test. */
tn_kernel *kit_compile(const tir_func *func, const tn_target *target);
/* The same from C source by the compiler COMMAND, which must not warn (kit_c.c). */
tn_kernel *kit_compile_c(const tir_func *func, const tn_target *target, const char *command);
/* Calls with raw pointers in the parameters' order. */
int32_t kit_call(const tn_kernel *kernel, void *const *pointers);
/* compile, call once, free; checks that it returns 0. */
void kit_run(const tir_func *func, void *const *pointers);
/* The text of a form; malloc'ed. */
char *kit_text(const tir_func *func, const tn_target *target, codegen_form form);
/* The assembly of a program's schedule for one thread of an x86-64 processor, malloc'ed; any failure fails the test. */
char *kit_assembly(const char *program, const char *schedule, const char *cpu);

/* Typed elements: integers as int64_t, floats as double. */
int64_t kit_get_int(tn_dtype dtype, const void *data, int64_t i);
double kit_get(tn_dtype dtype, const void *data, int64_t i);
void kit_set(tn_dtype dtype, void *data, int64_t i, int64_t integer, double real);
/* Edge values and small numbers, the same for the same SEED. */
void kit_fill(tn_dtype dtype, void *data, int64_t n, uint64_t seed);

/* N bytes that end at a page that cannot be touched; release with kit_guarded_free. */
void *kit_guarded(size_t n);
void kit_guarded_free(void *data, size_t n);

/* Fails unless a program's last array, with inputs that end where memory does, is bit by bit the same with SCHEDULE and without. At
 * most four arrays. */
void kit_same_values(const char *program, const char *schedule);

/* A folder for one test's files, made fresh; kit_folder_remove deletes it with what it holds. */
void kit_folder(char folder[64]);
void kit_folder_remove(const char *folder);
int kit_folder_count(const char *folder);
void kit_write(const char *folder, const char *name, const char *text);
/* Runs a shell command, returns its status; its output is appended to OUT unless NULL. */
int kit_shell(runtime_str *out, const char *fmt, ...) TN_PRINTF(2, 3);

/* The bitcode of LLVM IR text, in OUT; skips the test where LLVM's assembler is not installed. */
void kit_bitcode(const char *ir, runtime_str *out);
/* FOLDER/NAME.o, NAME.c and NAME.h of a schedule's kernel NAME. */
void kit_export(const tn_schedule *s, const char *folder, const char *name);

/* The groups. */
int test_ops(void);
int test_c_source(void);
int test_cross(void);
int test_export(void);
/* What only compiles and runs: once with LLVM, and once through C source. */
int test_ops_run(void);
int test_memory_run(void);
int test_dots_run(void);
int test_loops_run(void);
/* Through C: a program of its own, test_codegen --through-c. COMMAND: the only compiler; NULL: gcc and clang. */
int test_through_c(const char *command);
int test_memory(void);
int test_small_table(void);
int test_loops(void);
int test_tiles(void);
int test_turn(void);
int test_near(void);
int test_first(void);
int test_sums(void);
int test_stride(void);
int test_dots(void);
int test_tensorize(void);
int test_intrinsics(void);
int test_text_intrinsics(void);
int test_math(void);
int test_files(void);
int test_targets(void);
int test_build(void);
int test_language(void);
int test_calls(void);
int test_symbolic(void);
int test_strided(void);
int test_prepack(void);
int test_scan(void);
int test_extern(void);
int test_extern_symbols(void);

/* A call after which memory of others is left: what LLVM held at a fatal error is given up. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define LEAKS_ALLOWED(call) (__lsan_disable(), (void)(call), __lsan_enable())
#else
#define LEAKS_ALLOWED(call) ((void)(call))
#endif

#endif
