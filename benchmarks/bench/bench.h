/* bench.h: what the files of tenon-bench share: cases (a program and a hand-written schedule, as
 * text). The vendors, the limits of the machine and the timing are benchmarks/vendors. */
#ifndef TENON_BENCH_H
#define TENON_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tenon/tenon.h>

#include "benchmarks/vendors/vendors.h"

/* The largest number of arguments that a case's program has, and of vendors that one run compares with. */
enum { BENCH_MAX_ARGS = 8, BENCH_MAX_VENDORS = 3 };

/* A program and its schedule in Tenon's text form, both ended by a zero. */
typedef struct bench_text {
  char program[4096], schedule[4096];
} bench_text;

/* One benchmark: what Tenon runs, what the vendors are asked for and what the figures are computed from. Filled
 * from a name by one of the makers below; it owns nothing, `other_name` is a string literal. */
typedef struct bench_case {
  char name[80];
  bench_text text;
  const char *other_name; /* the same operator in another form of ours, run as one more side, or NULL */
  bench_text other;       /* its arguments are found among the case's arrays by name */
  bool other_differs;     /* its result is not the case's, so --check leaves it out */
  vendor_problem problem; /* what a vendor has to compute; its arrays are the program's arguments, in order */
  double flops, bytes;    /* of one call; 0: the figure does not exist. bytes: inputs and outputs, each counted once */
  vendor_number number;   /* the type that it multiplies: selects the arithmetic limit that it is held against */
} bench_case;

/* ---- cases.c: names and their programs --------------------------------------------------------------------------- */

/* Calls VISIT for every case whose name matches PATTERN (a shell pattern, or any name of a known form). Returns the
 * number of cases. */
int bench_find(const char *pattern, int threads, void (*visit)(void *user, const bench_case *c), void *user);

/* Fill C from a name of their form: false when NAME is none. */
bool bench_gemm(bench_case *c, const char *name, int threads);
/* The number of tiles, of ROWS rows of ROW_BYTES each, in a block of A's M rows: about as many as the second
 * level cache holds, and so that THREADS get the same number (gemm.c). */
int64_t bench_tiles_in_block(int64_t m, int64_t rows, int64_t row_bytes, int threads);
bool bench_gemm_low(bench_case *c, const char *name, int threads);
bool bench_rows(bench_case *c, const char *name, int threads);
bool bench_conv(bench_case *c, const char *name, int threads);
bool bench_transposed(bench_case *c, const char *name, int threads);

/* ---- figures other than cases: each prints its own and returns 0 when all went well ------------------------------ */

int bench_compile_time(void);
int bench_memory(void);
int bench_calls(void);
int bench_launch(void);             /* launch.c */
int bench_small(const char *slice); /* small.c; SLICE is "PART/OF" */
int bench_lowering(void);           /* lowering.c */

#endif
