/* The C functions that drawn programs call: of several types, for arrays of some sizes, which the name says at its end
 * ("fx_line_13"). Both sides call them; half of the kernels get some of them as LLVM IR instead. */
#include "tests/fuzz/externs.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int n_calls; /* of functions by address */

/* ---- what they compute ------------------------------------------------------------------------------------------- */

static void line(int n, const float *a, float s, float *r) {
  for (int i = 0; i < n; i++) r[i] = a[i] * 0.5f + s;
}

static void turn(int n, const int32_t *a, const int32_t *b, int32_t *r) {
  for (int i = 0; i < n; i++) r[i] = (int32_t)((uint32_t)a[(i + 1) % n] * 3u - (uint32_t)b[n - 1 - i]);
}

static void parts(int n, const int32_t *a, float *r, int8_t *z) {
  for (int i = 0; i < n; i++) r[i] = (float)(a[i] & 7) * 0.25f;
  for (int i = 0; i < 2 * n; i++) z[i] = (int8_t)(uint8_t)((uint32_t)a[i % n] >> (i / n * 3));
}

static void total(int n, const double *a, double *r) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i];
  *r = sum;
}

static void flip(int n, const uint16_t *a, uint16_t *r) {
  for (int i = 0; i < n; i++) r[i] = a[n - 1 - i];
}

static void cross(int n, const float *a, float *r) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) r[i * 3 + k] = a[k * n + i];
}

static void masked(int n, const uint8_t *a, const int64_t *b, int64_t *r) {
  for (int i = 0; i < n; i++) r[i] = a[i] ? b[i] : -1;
}

/* Of the golden schedules: 20 rows of 12; 4 elements. */
static void rows(const float *a, const float *x, float s, float *y, int32_t *z) {
  for (int i = 0; i < 20; i++) {
    y[i] = 0;
    for (int j = 0; j < 12; j++) y[i] += a[i * 12 + j] * x[j];
    y[i] *= s;
  }
  for (int i = 0; i < 24; i++) z[i] = i % 3;
}

static void sums(const float *a, const float *b, float *y, int8_t *z) {
  for (int i = 0; i < 4; i++) y[i] = a[i] + b[i];
  *z = 5;
}

/* ---- by size ----------------------------------------------------------------------------------------------------- */

/* Exported, so that kernels from C source find them by name. */
#define DEFINE(name, params, ...)                                \
  __attribute__((visibility("default"))) void fx_##name params;  \
  __attribute__((visibility("default"))) void fx_##name params { \
    n_calls++;                                                   \
    __VA_ARGS__;                                                 \
  }
#define SIZED(name, n, params, ...) DEFINE(name##_##n, params, name(n, __VA_ARGS__))
#define SIZES(name, params, ...)      \
  SIZED(name, 1, params, __VA_ARGS__) \
  SIZED(name, 6, params, __VA_ARGS__) SIZED(name, 13, params, __VA_ARGS__) SIZED(name, 16, params, __VA_ARGS__)

SIZES(line, (const float *a, float s, float *r), a, s, r)
SIZES(turn, (const int32_t *a, const int32_t *b, int32_t *r), a, b, r)
SIZES(parts, (const int32_t *a, float *r, int8_t *z), a, r, z)
SIZES(total, (const double *a, double *r), a, r)
SIZES(flip, (const uint16_t *a, uint16_t *r), a, r)
SIZES(cross, (const float *a, float *r), a, r)
SIZES(masked, (const uint8_t *a, const int64_t *b, int64_t *r), a, b, r)

#define OWN(name, params, ...)                              \
  __attribute__((visibility("default"))) void name params;  \
  __attribute__((visibility("default"))) void name params { \
    n_calls++;                                              \
    __VA_ARGS__;                                            \
  }
OWN(my_gemv, (const float *a, const float *x, float s, float *y, int32_t *z), rows(a, x, s, y, z))
OWN(f, (const float *a, const float *b, float *y, int8_t *z), sums(a, b, y, z))

/* Of any size, with its result among the numbers. */
static void open(int32_t n, const float *a, int64_t last, float *r, double factor) {
  for (int32_t i = 0; i < n; i++) r[i] = (float)(a[last - i] * factor);
}
OWN(fx_open, (int32_t n, const float *a, int64_t last, float *r, double factor), open(n, a, last, r, factor))

/* ---- LLVM IR ----------------------------------------------------------------------------------------------------- */

/* N stands for the size. */
#define LOOP_BEGIN "entry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
#define LOOP_END(type)                                            \
  "  %pr = getelementptr " type ", ptr %r, i64 %i\n  store " type \
  " %v, ptr %pr\n  %next = add i64 %i, 1\n"                       \
  "  %more = icmp ult i64 %next, N\n  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"

static const char line_ir[] =
    "define void @fx_line_N(ptr %a, float %s, ptr %r) {\n" LOOP_BEGIN
    "  %pa = getelementptr float, ptr %a, i64 %i\n  %x = load float, ptr %pa\n  %h = fmul float %x, 0.5\n"
    "  %v = fadd float %h, %s\n" LOOP_END("float");

static const char turn_ir[] =
    "define void @fx_turn_N(ptr %a, ptr %b, ptr %r) {\n" LOOP_BEGIN
    "  %k = add i64 %i, 1\n  %at = urem i64 %k, N\n  %pa = getelementptr i32, ptr %a, i64 %at\n"
    "  %x = load i32, ptr %pa\n  %m = mul i32 %x, 3\n  %d = sub i64 N, %k\n  %pb = getelementptr i32, ptr %b, i64 %d\n"
    "  %y = load i32, ptr %pb\n  %v = sub i32 %m, %y\n" LOOP_END("i32");

static const char flip_ir[] = "define void @fx_flip_N(ptr %a, ptr %r) {\n" LOOP_BEGIN
                              "  %k = add i64 %i, 1\n  %d = sub i64 N, %k\n  %pa = getelementptr i16, ptr %a, i64 %d\n"
                              "  %v = load i16, ptr %pa\n" LOOP_END("i16");

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static fuzz_bound as_given(const fuzz_bound *in, int n) { return (void)n, in[0]; }
static fuzz_bound quarters(const fuzz_bound *in, int n) { return (void)in, (void)n, (fuzz_bound){0, 1.75, 0, 2}; }

static fuzz_bound halved(const fuzz_bound *in, int n) {
  (void)n;
  return (fuzz_bound){in[0].lo / 2, in[0].hi / 2, in[0].error / 2, in[0].q < 0 ? -1 : in[0].q + 1};
}

static fuzz_bound on_line(const fuzz_bound *in, int n) {
  (void)n;
  int q = in[0].q < 0 || in[1].q < 0 ? -1 : RUNTIME_MAX(in[0].q + 1, in[1].q);
  return (fuzz_bound){in[0].lo / 2 + in[1].lo, in[0].hi / 2 + in[1].hi, in[0].error / 2 + in[1].error, q};
}

static fuzz_bound in_total(const fuzz_bound *in, int n) {
  double most = n * fmax(fabs(in[0].lo), fabs(in[0].hi)), rounding = in[0].error > 0 ? n * 0x1p-50 * most : 0;
  return (fuzz_bound){-most, most, n * in[0].error + rounding, in[0].q};
}

/* Sums of 12 products, scaled. */
static fuzz_bound in_rows(const fuzz_bound *in, int n) {
  double most = 12, error = 0;
  int q = 0;
  (void)n;
  for (int i = 0; i < 3; i++) most *= fmax(fabs(in[i].lo), fabs(in[i].hi)) + in[i].error;
  for (int i = 0; i < 3; i++) error += in[i].error * 100 * (1 + most), q = q < 0 || in[i].q < 0 ? -1 : q + in[i].q;
  return (fuzz_bound){-most, most, error + 16 * 0x1p-22 * most, q};
}

static fuzz_bound added(const fuzz_bound *in, int n) {
  (void)n;
  int q = in[0].q < 0 || in[1].q < 0 ? -1 : RUNTIME_MAX(in[0].q, in[1].q);
  return (fuzz_bound){in[0].lo + in[1].lo, in[0].hi + in[1].hi, in[0].error + in[1].error, q};
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define FN(function) (void (*)(void)) function
#define ALL(name) {FN(fx_##name##_1), FN(fx_##name##_6), FN(fx_##name##_13), FN(fx_##name##_16)}

const int fuzz_extern_sizes[FUZZ_EXTERN_SIZES] = {1, 6, 13, 16};

#define VECTOR(dtype) {dtype, 1, {0}, false}
#define MATRIX(dtype, ...) {dtype, 2, {__VA_ARGS__}, false}
#define SCALAR(dtype, by_value) {dtype, 0, {0}, by_value}

const fuzz_extern fuzz_externs[] = {
    {"fx_line", 2, {VECTOR(TN_F32), SCALAR(TN_F32, true)}, 1, {VECTOR(TN_F32)}, on_line, ALL(line), line_ir},
    {"fx_turn", 2, {VECTOR(TN_I32), VECTOR(TN_I32)}, 1, {VECTOR(TN_I32)}, NULL, ALL(turn), turn_ir},
    {"fx_parts", 1, {VECTOR(TN_I32)}, 2, {VECTOR(TN_F32), MATRIX(TN_I8, 2, 0)}, quarters, ALL(parts), NULL},
    {"fx_total", 1, {VECTOR(TN_F64)}, 1, {SCALAR(TN_F64, false)}, in_total, ALL(total), NULL},
    {"fx_flip", 1, {VECTOR(TN_BF16)}, 1, {VECTOR(TN_BF16)}, as_given, ALL(flip), flip_ir},
    {"fx_cross", 1, {MATRIX(TN_F32, 3, 0)}, 1, {MATRIX(TN_F32, 0, 3)}, as_given, ALL(cross), NULL},
    {"fx_masked", 2, {VECTOR(TN_BOOL), VECTOR(TN_I64)}, 1, {VECTOR(TN_I64)}, NULL, ALL(masked), NULL},
    {.name = NULL},
    {.name = "my_gemv", .bound = in_rows, .functions = {FN(my_gemv)}},
    {.name = "fx_open", .bound = halved, .functions = {FN(fx_open)}},
    {.name = "f", .bound = added, .functions = {FN(f)}},
};

/* The row of a name and which of its sizes; NULL: there is none. */
static const fuzz_extern *find(const char *name, int *size) {
  char sized[64];
  for (int i = 0; i < RUNTIME_COUNT(fuzz_externs); i++) {
    const fuzz_extern *e = &fuzz_externs[i];
    *size = 0;
    if (e->name && strcmp(name, e->name) == 0) return e;
    for (; e->name && e->n_results > 0 && *size < FUZZ_EXTERN_SIZES; ++*size) {
      snprintf(sized, sizeof sized, "%s_%d", e->name, fuzz_extern_sizes[*size]);
      if (strcmp(name, sized) == 0) return e;
    }
  }
  return NULL;
}

fuzz_bound fuzz_extern_bound(const char *name, const fuzz_bound *in) {
  int size;
  const fuzz_extern *e = find(name, &size);
  return e && e->bound ? e->bound(in, fuzz_extern_sizes[size]) : (fuzz_bound){-INFINITY, INFINITY, INFINITY, -1};
}

/* ---- giving them to a program ------------------------------------------------------------------------------------ */

/* The text as a program in LLVM IR has it, for a size. */
static void link_ir(tn_program *p, const char *name, const char *ir, int size) {
  runtime_str text = {0};
  for (; *ir; ir++) {
    if (*ir == 'N')
      runtime_str_addf(&text, "%d", size);
    else
      runtime_str_addn(&text, ir, 1);
  }
  tn_program_link(p, name, text.data, text.n);
  runtime_str_free(&text);
}

void fuzz_bind_externs(tn_program *p, bool as_ir) {
  int size;
  for (int i = 0; p && i < p->n_ops; i++) {
    const char *name = te_is_extern(p->ops[i]) ? p->ops[i]->call->callee->name : NULL;
    const fuzz_extern *e = name ? find(name, &size) : NULL;
    if (!e) continue;
    tn_program_bind(p, name, e->functions[size]);
    if (as_ir && e->ir) link_ir(p, name, e->ir, fuzz_extern_sizes[size]);
  }
}

int fuzz_extern_calls(const tn_program *p) {
  int n = 0;
  for (int i = 0; i < p->n_ops; i++) n += te_is_extern(p->ops[i]) && !p->ops[i]->call->callee->module;
  return n;
}

void fuzz_forget_calls(void) { n_calls = 0; }
int fuzz_count_calls(void) { return n_calls; }
