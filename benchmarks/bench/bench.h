/* bench.h: what the files of tenon-bench share: cases (a program and a hand-written schedule, as text), the vendors'
 * kernels, limits of the machine, measuring. */
#ifndef TENON_BENCH_H
#define TENON_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tenon/tenon.h>

enum { BENCH_MAX_ARGS = 8, BENCH_MAX_DIMS = 12, BENCH_MAX_VENDORS = 3 };

/* What a vendor has to compute; its arguments are those of the case's program, in order. */
typedef enum bench_operator {
  BENCH_NONE,       /* no vendor has it */
  BENCH_GEMM,       /* dim: batch, m, n, k */
  BENCH_GEMM_BF16,  /* the same: bf16, bf16 -> f32 */
  BENCH_GEMM_U8,    /* u8, i8 -> i32 */
  BENCH_GEMM_I8,    /* i8, i8 -> i32 */
  BENCH_CONV,       /* dim: batch, height, width, channels, filters, kernel, stride, padding, dilation, groups */
  BENCH_TRANSPOSED, /* dim: batch, height, width, channels, filters, kernel, stride, padding */
  BENCH_SOFTMAX,
  BENCH_LAYERNORM /* dim: rows, columns */
} bench_operator;

typedef struct bench_text {
  char program[4096], schedule[4096];
} bench_text;

typedef struct bench_case {
  char name[80];
  bench_text text;
  const char *other_name; /* the same operator in another form of ours, run as one more side; NULL: none */
  bench_text other;       /* its arguments are the case's by name */
  bool other_differs;     /* computes something else: not checked */
  bench_operator op;
  int64_t dim[BENCH_MAX_DIMS];
  double flops, bytes; /* one of them may be 0: no such figure */
  int products;        /* that one lane of 32 bits adds up at once; 0: a multiply-add's one */
} bench_case;

/* ---- cases.c: names and their programs --------------------------------------------------------------------------- */

/* Calls VISIT for every case whose name matches PATTERN (a shell pattern, or any name of a known form). Returns the
 * number of cases. */
int bench_find(const char *pattern, int threads, void (*visit)(void *user, const bench_case *c), void *user);

/* Fill C from a name of their form: false when NAME is none. */
bool bench_gemm(bench_case *c, const char *name, int threads);
/* Tiles of ROWS rows, of ROW_BYTES each, that a block of A has; a number that THREADS can share (gemm.c). */
int64_t bench_tiles_in_block(int64_t m, int64_t rows, int64_t row_bytes, int threads);
bool bench_gemm_low(bench_case *c, const char *name, int threads);
bool bench_rows(bench_case *c, const char *name, int threads);
bool bench_conv(bench_case *c, const char *name, int threads);
bool bench_transposed(bench_case *c, const char *name, int threads);

/* ---- vendors.c, onednn.c ----------------------------------------------------------------------------------------- */

/* A vendor's kernel, ready to be called. */
typedef struct bench_kernel {
  void (*run)(void *state);
  void (*free)(void *state);
  void *state;
} bench_kernel;

/* NULL when there is no such vendor; its library is opened on the first use. */
typedef struct bench_vendor {
  const char *name;
  bool (*open)(void);
  bool (*prepare)(const bench_case *c, void *const *data, int threads, bench_kernel *out);
} bench_vendor;
extern const bench_vendor bench_vendors[BENCH_MAX_VENDORS];

bool bench_onednn_open(void);
bool bench_onednn_prepare(const bench_case *c, void *const *data, int threads, bench_kernel *out);
/* dlopen, and the address of each name; false with a message on standard error. */
bool bench_library(const char *file, int n, const char *const *names, void **addresses);

/* ---- limits.c ---------------------------------------------------------------------------------------------------- */

double bench_fma_limit(void);               /* GFLOPS of one core in f32 */
double bench_bandwidth_limit(double bytes); /* GB/s that one core reads from an array of this size */

/* ---- compile.c: each prints its figures; 0 when all went well ---------------------------------------------------- */

int bench_compile_time(void);
int bench_memory(void);
int bench_calls(void);
int bench_launch(void);             /* launch.c */
int bench_small(const char *slice); /* small.c */
int bench_lowering(void);           /* lowering.c */

/* ---- measure.c --------------------------------------------------------------------------------------------------- */

typedef struct bench_side {
  void (*run)(void *state);
  void *state;
  double low, median, spread; /* seconds: the lower quartile and the median; (p75 - p25) / median */
} bench_side;

/* Runs the sides in turn, in blocks of some milliseconds, for about SECONDS each. THREADS: of each side; between sides with
 * several there is a pause, since the vendors' idle threads spin for milliseconds on the cores that the next side needs.
 * CPU: by the process's processor time instead of the wall clock; for one thread on a machine that others use too. */
void bench_measure(int n, bench_side *sides, int threads, double seconds, bool cpu);
double bench_now(bool cpu);

#endif
