/* Stages that are a call of a C function: by address, as LLVM IR, by symbol in exported files; between stages with
 * schedules; against the evaluator, which calls the function, too. */
#include <dlfcn.h>

#include "schedule/state.h"
#include "tests/codegen/kit.h"

enum { M = 20, N = 12 };

/* y = s * A * x, and per row whether the sum is positive. */
static void my_gemv(const float *a, const float *x, float s, float *y, int32_t *positive) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += a[i * N + j] * x[j];
    y[i] = s * sum;
    positive[i] = sum > 0;
  }
}

static const char user_source[] =
    "void my_gemv(const float *a, const float *x, float s, float *y, int *positive) {\\n"
    "  for (int i = 0; i < 20; i++) {\\n    float sum = 0;\\n"
    "    for (int j = 0; j < 12; j++) sum += a[i * 12 + j] * x[j];\\n"
    "    y[i] = s * sum;\\n    positive[i] = sum > 0;\\n  }\\n}\\n";

#define GEMV                                                                                          \
  "input A: f32[20, 12], x: f32[12]\nscalar s: f32\nP[i<20, j<12] = A[i,j] + 1\nU[j<12] = x[j] * 2\n" \
  "extern (y: f32[20], z: i32[20]) = my_gemv(P, U, s)\nQ[i<20, j<12] = select(z[i] == 1, y[i], -y[i]) + P[i,j]"

typedef struct data {
  float a[M * N], x[N], s, q[M * N], expected[M * N];
} data;

static void fill(data *d) {
  for (int i = 0; i < M * N; i++) d->a[i] = (float)((i * 37) % 19 - 9);
  for (int i = 0; i < N; i++) d->x[i] = (float)((i * 5) % 7 - 3);
  d->s = 3;
  memset(d->q, 0x55, sizeof d->q);
}

/* What plain C computes: small integers, which are exact. */
static void expect(data *d) {
  float p[M * N], u[N], y[M];
  int32_t z[M];
  for (int i = 0; i < M * N; i++) p[i] = d->a[i] + 1;
  for (int i = 0; i < N; i++) u[i] = d->x[i] * 2;
  my_gemv(p, u, d->s, y, z);
  for (int i = 0; i < M * N; i++) d->expected[i] = (z[i / N] == 1 ? y[i / N] : -y[i / N]) + p[i];
}

static DLTensor array(void *at, int ndim, int64_t *shape) {
  return (DLTensor){.data = at, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = tn_dtype_dlpack(TN_F32), .shape = shape};
}

typedef tn_status (*runner)(tn_context *ctx, void *what, DLTensor *const *args);

static tn_status run_kernel(tn_context *ctx, void *what, DLTensor *const *args) { return tn_call(ctx, what, args, 4); }
static tn_status run_program(tn_context *ctx, void *what, DLTensor *const *args) {
  (void)ctx;
  return tn_evaluate(what, args, 4);
}

/* Runs GEMV on known data. */
static void check_run(tn_context *ctx, runner run, void *what) {
  static data d;
  int64_t matrix[] = {M, N}, row[] = {N};
  fill(&d);
  expect(&d);
  DLTensor a = array(d.a, 2, matrix), x = array(d.x, 1, row), s = array(&d.s, 0, NULL), q = array(d.q, 2, matrix);
  assert_int_equal(run(ctx, what, (DLTensor *[]){&a, &x, &s, &q}), TN_OK);
  check_ok(ctx);
  for (int i = 0; i < M * N; i++) assert_true(d.q[i] == d.expected[i]);
}

static tn_kernel *build(tn_context *ctx, tn_program *program, const char *schedule) {
  tn_schedule *s = tn_schedule_new(program);
  assert_int_equal(tn_schedule_apply(s, schedule), TN_OK);
  tn_kernel *kernel = tn_build(s, NULL);
  tn_schedule_free(s);
  check_ok(ctx);
  assert_non_null(kernel);
  return kernel;
}

static tn_program *gemv(tn_context *ctx) {
  tn_program *program = tn_program_parse(ctx, GEMV, 0, NULL);
  check_ok(ctx);
  return program;
}

/* ---- in memory --------------------------------------------------------------------------------------------------- */

static const char *const schedules[][1] = {
    {""},
    {"parallel(P, i); vectorize(P, j); vectorize(Q, j); parallel(Q, i)"},
    {"split(Q, i, 8, tail=peel); parallel(Q, i.outer); split(Q, j, 8, tail=mask); vectorize(Q, j.inner)"},
    {"set_scope(U, local); set_scope(y, local); unroll(U, j)"},
    {"cache_read(P, global, y); cache_read(U, local, y); cache_read(y, local, Q); compute_at(y.local, Q, i)"},
    {"cache_read(P, global, Q); transform_layout(P.global, [i, j] -> [j//4, i, j%4]); reorder(P, j, i)"},
    {"cache_write(P, local); compute_at(P.local, P, i); cache_write(U, local); split(P, j, 5, tail=overlap)"},
    {"auto_inline()"},
    {"auto"}};

static void calls_the_function(void **state) {
  const char *const *schedule = *state;
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  assert_int_equal(tn_program_bind(program, "my_gemv", (void (*)(void))my_gemv), TN_OK);
  tn_schedule *s = tn_schedule_new(program);
  if (strcmp(schedule[0], "auto") == 0)
    assert_int_equal(tn_schedule_auto(s, NULL), TN_OK);
  else
    assert_int_equal(tn_schedule_apply(s, schedule[0]), TN_OK);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(ctx);
  check_run(ctx, run_kernel, kernel);
  check_run(ctx, run_program, program);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
  check_context_free(ctx);
}

static const char ir[] =
    "define void @my_gemv(ptr %a, ptr %x, float %s, ptr %y, ptr %z) {\nentry:\n  br label %rows\n"
    "rows:\n  %i = phi i64 [ 0, %entry ], [ %i1, %done ]\n  %base = mul i64 %i, 12\n  br label %sum\n"
    "sum:\n  %j = phi i64 [ 0, %rows ], [ %j1, %sum ]\n  %t = phi float [ 0.0, %rows ], [ %t1, %sum ]\n"
    "  %at = add i64 %base, %j\n  %pa = getelementptr float, ptr %a, i64 %at\n  %va = load float, ptr %pa\n"
    "  %px = getelementptr float, ptr %x, i64 %j\n  %vx = load float, ptr %px\n  %m = fmul float %va, %vx\n"
    "  %t1 = fadd float %t, %m\n  %j1 = add i64 %j, 1\n  %more = icmp ult i64 %j1, 12\n"
    "  br i1 %more, label %sum, label %done\n"
    "done:\n  %v = fmul float %s, %t1\n  %py = getelementptr float, ptr %y, i64 %i\n  store float %v, ptr %py\n"
    "  %c = fcmp ogt float %t1, 0.0\n  %b = zext i1 %c to i32\n  %pz = getelementptr i32, ptr %z, i64 %i\n"
    "  store i32 %b, ptr %pz\n  %i1 = add i64 %i, 1\n  %again = icmp ult i64 %i1, 20\n"
    "  br i1 %again, label %rows, label %out\nout:\n  ret void\n}\n";

static void links_text(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  assert_int_equal(tn_program_link(program, "my_gemv", ir, strlen(ir)), TN_OK);
  tn_kernel *kernel = build(ctx, program, "vectorize(Q, j)");
  check_run(ctx, run_kernel, kernel);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

static void links_bitcode(void **state) {
  (void)state;
  runtime_str bitcode = {0};
  kit_bitcode(ir, &bitcode);
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  assert_int_equal(tn_program_link(program, "my_gemv", bitcode.data, bitcode.n), TN_OK);
  runtime_str_free(&bitcode);
  tn_kernel *kernel = build(ctx, program, "");
  check_run(ctx, run_kernel, kernel);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

/* ---- from files -------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* As Debian's clang 14 writes it: typed pointers, and a data layout that says nothing of i128. */
static const char typed_ir[] =
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128\"\n"
    "target triple = \"x86_64-pc-linux-gnu\"\n"
    "define void @my_gemv(float* %a, float* %x, float %s, float* %y, i32* %z) {\nentry:\n  br label %rows\n"
    "rows:\n  %i = phi i64 [ 0, %entry ], [ %i1, %done ]\n  %base = mul i64 %i, 12\n  br label %sum\n"
    "sum:\n  %j = phi i64 [ 0, %rows ], [ %j1, %sum ]\n  %t = phi float [ 0.0, %rows ], [ %t1, %sum ]\n"
    "  %at = add i64 %base, %j\n  %pa = getelementptr float, float* %a, i64 %at\n  %va = load float, float* %pa\n"
    "  %px = getelementptr float, float* %x, i64 %j\n  %vx = load float, float* %px\n  %m = fmul float %va, %vx\n"
    "  %t1 = fadd float %t, %m\n  %j1 = add i64 %j, 1\n  %more = icmp ult i64 %j1, 12\n"
    "  br i1 %more, label %sum, label %done\n"
    "done:\n  %v = fmul float %s, %t1\n  %py = getelementptr float, float* %y, i64 %i\n"
    "  store float %v, float* %py\n  %c = fcmp ogt float %t1, 0.0\n  %b = zext i1 %c to i32\n"
    "  %pz = getelementptr i32, i32* %z, i64 %i\n  store i32 %b, i32* %pz\n  %i1 = add i64 %i, 1\n"
    "  %again = icmp ult i64 %i1, 20\n  br i1 %again, label %rows, label %out\nout:\n  ret void\n}\n";

typedef struct good_file_row {
  const char *name, *text;
} good_file_row;
static const good_file_row good_file_rows[] = {{"of today", ir}, {"of clang 14", typed_ir}};

/* What runs, and what the evaluator calls, come from one file. */
static void links_file(void **state) {
  const good_file_row *r = *state;
#ifndef __x86_64__
  if (r->text == typed_ir) skip();
#endif
  char folder[64], path[128];
  const char *paths[] = {path};
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/m.ll", folder);
  write_file(path, r->text);
  assert_int_equal(tn_program_link_files(program, 1, paths), TN_OK);
  kit_folder_remove(folder);
  tn_kernel *kernel = build(ctx, program, "vectorize(Q, j)");
  check_run(ctx, run_kernel, kernel);
  check_run(ctx, run_program, program);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

typedef struct file_row {
  const char *name, *text; /* NULL: no file */
  tn_status status;
  const char *message;
} file_row;

#define DEFINES(type) "define void @my_gemv(" type ") {\n  ret void\n}\n"

static const file_row file_rows[] = {
    {"no file", NULL, TN_ERROR_IO, "m.ll: No such file or directory"},
    {"an empty file", "", TN_ERROR_ARGUMENT, "m.ll defines no function that the program calls"},
    {"no IR", "void my_gemv(void) {}\n", TN_ERROR_CODEGEN, "m.ll cannot be read: "},
    {"bitcode cut short", "BC\xC0\xDE\x35\x14", TN_ERROR_CODEGEN, "m.ll cannot be read: "},
    {"malformed",
     "define void @my_gemv(ptr %a, ptr %b, float %c, ptr %d, ptr %e) {\n  br label %l\nl:\n"
     "  %x = load float, ptr %y\n  %y = getelementptr float, ptr %a, i64 0\n  ret void\n}\n",
     TN_ERROR_CODEGEN, "m.ll is malformed: "},
    {"another function", "define void @f() {\n  ret void\n}\ndefine void @g() {\n  ret void\n}\n", TN_ERROR_ARGUMENT,
     "m.ll defines no function that the program calls: the program calls my_gemv; the file defines f, g"},
    {"a private function", "define internal void @my_gemv() {\n  ret void\n}\n", TN_ERROR_ARGUMENT,
     "the program calls my_gemv; the file defines none"},
    {"a declaration", "declare void @my_gemv(ptr, ptr, float, ptr, ptr)\n", TN_ERROR_ARGUMENT,
     "the program calls my_gemv; the file defines none"},
    {"another type", DEFINES("ptr %a, ptr %b, double %c, ptr %d, ptr %e"), TN_ERROR_CODEGEN,
     "m.ll: my_gemv: it defines it as: void (ptr, ptr, double, ptr, ptr), but it is called as void (ptr, ptr, float, "
     "ptr, ptr)"},
    {"a result", "define i32 @my_gemv(ptr %a, ptr %b, float %c, ptr %d, ptr %e) {\n  ret i32 0\n}\n", TN_ERROR_CODEGEN,
     "m.ll: my_gemv: it defines it as: i32 (ptr"},
    {"another data layout", "target datalayout = \"E-p:32:32\"\n" DEFINES("ptr %a, ptr %b, float %c, ptr %d, ptr %e"),
     TN_ERROR_CODEGEN, "m.ll has another data layout: "},
};

static void refused_file(void **state) {
  const file_row *r = *state;
  char folder[64], path[128];
  const char *paths[] = {path};
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/m.ll", folder);
  if (r->text) write_file(path, r->text);
  assert_int_equal(tn_program_link_files(program, 1, paths), r->status);
  check_fails(ctx, r->status, r->message);
  kit_folder_remove(folder);
  check_context_free(ctx);
}

/* Two functions in one file, in two files, twice, and one that is missing. */
static void several_files(void **state) {
  (void)state;
  static const char two[] =
      "define void @f(ptr %a, ptr %b) {\n  %x = load i32, ptr %a\n  %y = add i32 %x, 1\n  store i32 %y, ptr %b\n"
      "  ret void\n}\ndefine void @g(ptr %a, ptr %b) {\n  call void @f(ptr %a, ptr %b)\n  ret void\n}\n";
  char folder[64], both[128], one[128];
  tn_context *ctx = check_context();
  static const char text[] = "input A: i32[1]\nextern y: i32[1] = f(A)\nextern z: i32[1] = g(y)\nC[i<1] = z[i] * 2";
  kit_folder(folder);
  snprintf(both, sizeof both, "%s/both.bc", folder);
  snprintf(one, sizeof one, "%s/one.ll", folder);
  write_file(both, two); /* what it is says its content, not its name */
  write_file(one, "define void @f(ptr %a, ptr %b) {\n  ret void\n}\n");
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  assert_int_equal(tn_program_link_files(program, 2, (const char *[]){one, both}), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "both.bc defines f, which has LLVM IR already");
  program = tn_program_parse(ctx, text, 0, NULL);
  assert_int_equal(tn_program_link_files(program, 1, (const char *[]){one}), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "'z' is computed by a call of g, which no file defines");
  program = tn_program_parse(ctx, text, 0, NULL);
  assert_int_equal(tn_program_link_files(program, 1, (const char *[]){both}), TN_OK);
  kit_folder_remove(folder);
  int32_t a = 3, c[2] = {0};
  DLTensor in = {&a, {kDLCPU, 0}, 1, tn_dtype_dlpack(TN_I32), (int64_t[]){1}, NULL, 0}, out = in;
  tn_kernel *kernel = build(ctx, program, "");
  out.data = &c[0];
  assert_int_equal(tn_call(ctx, kernel, (DLTensor *[]){&in, &out}, 2), TN_OK);
  out.data = &c[1];
  assert_int_equal(tn_evaluate(program, (DLTensor *[]){&in, &out}, 2), TN_OK);
  assert_int_equal(c[0], 10);
  assert_int_equal(c[1], 10);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

/* ---- made by calls from C ---------------------------------------------------------------------------------------- */

static void by_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_tensor *a = tn_placeholder(ctx, "A", TN_F32, M, N), *x = tn_placeholder(ctx, "x", TN_F32, N);
  tn_tensor *s = tn_scalar(ctx, "s", TN_F32);
  tn_axis *i = tn_axis_new(ctx, "i", M), *j = tn_axis_new(ctx, "j", N);
  tn_tensor *p = tn_compute(ctx, "P", tn_add(tn_at(a, i, j), 1), i, j);
  tn_tensor *u = tn_compute(ctx, "U", tn_mul(tn_at(x, j), 2), j);
  tn_callee *callee = tn_callee_function(ctx, "my_gemv", (void (*)(void))my_gemv);
  const tn_result results[] = {{"y", TN_F32, 1, .shape = {M}}, {"z", TN_I32, 1, .shape = {M}}};
  tn_tensor *y = tn_extern(ctx, callee, TN_RESULTS(results), p, u, s), *z = tn_output(y, 1);
  tn_expr *value = tn_select(tn_eq(tn_at(z, i), 1), tn_at(y, i), tn_neg(tn_at(y, i)));
  tn_tensor *q = tn_compute(ctx, "Q", tn_add(value, tn_at(p, i, j)), i, j);
  tn_program *program = tn_program_new(ctx, a, x, s, q);
  check_ok(ctx);
  tn_program *parsed = gemv(ctx);
  assert_string_equal(tn_program_text(program), tn_program_text(parsed));
  check_run(ctx, run_program, program);
  tn_kernel *kernel = build(ctx, program, "parallel(Q, i); vectorize(Q, j)");
  check_run(ctx, run_kernel, kernel);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

static void refused_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_tensor *a = tn_placeholder(ctx, "A", TN_F32, 4);
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  assert_null(tn_callee_symbol(ctx, "a b"));
  check_fails(ctx, TN_ERROR_PROGRAM, "'a b' is no name for a function");
  assert_null(tn_callee_function(ctx, "f", NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, "the function given for 'f' is NULL");
  assert_null(tn_callee_llvm(ctx, "f", "", 0));
  check_fails(ctx, TN_ERROR_ARGUMENT, "the LLVM IR given for 'f' is empty");
  tn_callee *f = tn_callee_symbol(ctx, "f");
  const tn_result none = {"y", TN_F32, 1, .shape = {4}};
  assert_null(tn_extern_array(ctx, f, 0, &none, 0, NULL));
  check_fails(ctx, TN_ERROR_PROGRAM, "f has 0 results", "1 to 8 tensors");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 0), a));
  check_fails(ctx, TN_ERROR_PROGRAM, "extent 0 of dimension 0 of 'y'");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", 99, 4), a));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_extern: 'y': dtype 99");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), i));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_extern: input 1 of f is no tensor");
  tn_callee *other = tn_callee_function(ctx, "f", (void (*)(void))my_gemv);
  tn_tensor *y = tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), a);
  tn_tensor *z = tn_extern(ctx, other, TN_RESULT("z", TN_F32, 4), a);
  assert_null(tn_program_new(ctx, a, y, z));
  check_fails(ctx, TN_ERROR_PROGRAM, "two functions that differ are named 'f'");
  tn_program *program = tn_program_new(ctx, a, y);
  check_ok(ctx);
  assert_int_equal(tn_program_bind(program, "g", (void (*)(void))my_gemv), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "the program calls no function 'g'; it calls f");
  check_context_free(ctx);
}

/* ---- without a function ------------------------------------------------------------------------------------------ */

static void no_function_here(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  tn_schedule *s = tn_schedule_new(program);
  assert_null(tn_build(s, NULL));
  check_fails(ctx, TN_ERROR_CODEGEN, "calls my_gemv, which has no code here");
  tn_schedule_free(s);
  static data d;
  int64_t matrix[] = {M, N}, row[] = {N};
  DLTensor a = array(d.a, 2, matrix), x = array(d.x, 1, row), t = array(&d.s, 0, NULL), q = array(d.q, 2, matrix);
  DLTensor *args[] = {&a, &x, &t, &q};
  double value;
  assert_int_equal(tn_evaluate(program, args, 4), TN_ERROR_CALL);
  check_fails(ctx, TN_ERROR_CALL, "'y' is computed by a call of my_gemv, of which there is no function in this process",
              "tn_program_bind");
  assert_int_equal(tn_evaluate_at(program, args, 4, tn_program_find(program, "Q"), (int64_t[]){0, 0}, &value),
                   TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, "is computed as a whole, by a call of my_gemv: use tn_evaluate");
  check_context_free(ctx);
}

/* ---- exported ---------------------------------------------------------------------------------------------------- */

typedef int32_t (*exported)(const float *a, const float *x, float *q, float s);

/* Links FOLDER's k with WITH and runs it. */
static void check_linked(const char *folder, const char *form, const char *with) {
  char path[128];
  static data d;
  runtime_str says = {0};
  int status =
      kit_shell(&says, "cd %s && cc -O1 -shared -fPIC -Wall -Werror %s k%s -o k.so -lm 2>&1", folder, with, form);
  if (status != 0) fail_msg("%s", says.data);
  runtime_str_free(&says);
  snprintf(path, sizeof path, "%s/k.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  exported kernel = (exported)(uintptr_t)dlsym(library, "kernel");
  fill(&d);
  expect(&d);
  assert_int_equal(kernel(d.a, d.x, d.q, d.s), 0);
  for (int i = 0; i < M * N; i++) assert_true(d.q[i] == d.expected[i]);
  dlclose(library);
}

static void exports(const char *form, const char *module, const char *with) {
  char folder[64], path[128];
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  if (module) assert_int_equal(tn_program_link(program, "my_gemv", module, strlen(module)), TN_OK);
  tn_schedule *s = tn_schedule_new(program);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/k%s", folder, form);
  assert_int_equal(tn_schedule_apply(s, "vectorize(Q, j)"), TN_OK);
  assert_int_equal(tn_build_file(s, NULL, path), TN_OK);
  check_ok(ctx);
  assert_int_equal(kit_shell(NULL, "printf '%s' > %s/user.c", user_source, folder), 0);
  check_linked(folder, form, with);
  kit_folder_remove(folder);
  tn_schedule_free(s);
  check_context_free(ctx);
}

static void object_with_symbol(void **state) { (void)state, exports(".o", NULL, "user.c"); }
static void source_with_symbol(void **state) { (void)state, exports(".c", NULL, "user.c"); }
static void object_stands_alone(void **state) { (void)state, exports(".o", ir, ""); }

static void no_source_of_ir(void **state) {
  (void)state;
  char folder[64], path[128];
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  assert_int_equal(tn_program_link(program, "my_gemv", ir, strlen(ir)), TN_OK);
  tn_schedule *s = tn_schedule_new(program);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/k.c", folder);
  assert_int_equal(tn_build_file(s, NULL, path), TN_ERROR_CODEGEN);
  check_fails(ctx, TN_ERROR_CODEGEN, "my_gemv comes as LLVM IR, which C source cannot hold");
  kit_folder_remove(folder);
  tn_schedule_free(s);
  check_context_free(ctx);
}

static void packs_constants_for_it(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx,
                                         "input A: f32[20, 12] layout_free, x: f32[12]\nscalar s: f32\n"
                                         "P[i<20, j<12] = A[i,j] + 1\n"
                                         "extern (y: f32[20], z: i32[20]) = my_gemv(P, x, s)\n"
                                         "Q[i<20] = select(z[i] == 1, y[i], -y[i])",
                                         0, NULL);
  check_ok(ctx);
  tn_schedule *s = tn_schedule_new(program);
  runtime_arena arena = {0};
  const tir_func *packs = schedule_lower_part(s, "k", &arena, &(tir_pass_options){0}, SCHEDULE_PREPACK, NULL);
  const tir_func *rest = schedule_lower_part(s, "k", &arena, &(tir_pass_options){0}, SCHEDULE_PACKED, NULL);
  check_ok(ctx);
  assert_int_equal(packs->n_params, 2);
  assert_int_equal(rest->n_params, 3); /* P, x, Q */
  assert_int_equal(tir_callees(packs, 0, NULL), 0);
  assert_int_equal(tir_callees(rest, 0, NULL), 1);
  runtime_arena_free(&arena);
  tn_schedule_free(s);
  check_context_free(ctx);
}

static void tuning_is_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = gemv(ctx);
  assert_int_equal(te_check_no_externs(program, "tuning"), TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, "tuning: y is computed by a call of my_gemv", "programs of their own");
  check_context_free(ctx);
}

int test_extern(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_text),         cmocka_unit_test(links_bitcode),
      cmocka_unit_test(by_calls),           cmocka_unit_test(refused_calls),
      cmocka_unit_test(no_function_here),   cmocka_unit_test(object_with_symbol),
      cmocka_unit_test(source_with_symbol), cmocka_unit_test(object_stands_alone),
      cmocka_unit_test(no_source_of_ir),    cmocka_unit_test(packs_constants_for_it),
      cmocka_unit_test(tuning_is_refused),  cmocka_unit_test(several_files)};
  return CHECK_TABLE("externs", schedules, calls_the_function) +
         CHECK_TABLE("files of IR", good_file_rows, links_file) + CHECK_TABLE("extern files", file_rows, refused_file) +
         cmocka_run_group_tests_name("externs elsewhere", tests, NULL, NULL);
}
