/* vendors.h: the libraries of others that benchmarks compare with, in one table, and the one loop that times
 * several routines against each other. `tenon bench`, tenon-bench and examples/matmul use it. It does not
 * depend on the Tenon library, nor the other way round. Vendors' libraries are opened while the program runs:
 * none has to be installed. */
#ifndef TENON_VENDORS_H
#define TENON_VENDORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most sizes of a problem, and the bytes of a note or message. */
enum { VENDOR_MAX_DIMS = 12, VENDOR_TEXT = 512 };

/* What a vendor is asked for. Behind each operator: what dim holds, and the arrays in order. Arrays are compact
 * and row-major. */
typedef enum vendor_operator {
  VENDOR_NONE,      /* no vendor has it */
  VENDOR_GEMM,      /* f32: batch, m, n, k; data: A, B, C and the addend */
  VENDOR_GEMM_F64,  /* the same in f64 */
  VENDOR_GEMM_BF16, /* bf16, bf16 -> f32 */
  VENDOR_GEMM_U8,   /* u8, i8 -> i32 */
  VENDOR_GEMM_I8,   /* i8, i8 -> i32 */
  VENDOR_CONV,      /* batch, height, width, channels, filters, kernel, stride, padding, dilation, groups; NHWC, HWIO */
  VENDOR_TRANSPOSED, /* batch, height, width, channels, filters, kernel, stride, padding */
  VENDOR_SOFTMAX,    /* rows, columns; data: X, Y */
  VENDOR_LAYERNORM   /* rows, columns; data: X, gamma, beta, Y */
} vendor_operator;

/* One operator with its sizes. */
typedef struct vendor_problem {
  vendor_operator op;
  int64_t dim[VENDOR_MAX_DIMS];
  bool is_a_transposed, is_b_transposed; /* products: A is k by m, B is n by k */
  bool is_by_columns;                    /* softmax: along the first dimension instead of the last */
  int64_t addend_elements;               /* products: m*n, or n (one row for all); 0: nothing is added */
  bool has_constant_weights;             /* the second input is the same in every call: it may be packed once, before */
  double epsilon;                        /* layer normalization's; 0: 1e-5 */
} vendor_problem;

/* A vendor's routine, ready to be called; free with vendor_kernel_free. Zero-initialised: none. */
typedef struct vendor_kernel {
  int32_t (*call)(void *self); /* 0: it went well */
  void (*free)(void *self);
  void *self;
  char note[VENDOR_TEXT]; /* which build and which kernels of the vendor these are; may be empty */
} vendor_kernel;

/* "onednn, openblas, blis": what vendor_prepare knows. */
const char *vendor_names(void);
/* Whether there is a vendor of this name. */
bool vendor_is_known(const char *name);
/* Prepares the routine of the vendor NAME for the problem on these arrays, with so many threads. Its library is
 * opened on the first use. False: WHY says what is missing or what the vendor lacks. The arrays stay the
 * caller's and have to live as long as the routine. */
bool vendor_prepare(const char *name, const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                    char why[VENDOR_TEXT]);
void vendor_kernel_free(vendor_kernel *kernel);

/* ---- limits.c ---------------------------------------------------------------------------------------------------- */

/* What a program multiplies: some types have instructions of their own. */
typedef enum vendor_number {
  VENDOR_F32,
  VENDOR_F64,
  VENDOR_BF16 /* sums in f32 */,
  VENDOR_BYTES /* sums in i32 */
} vendor_number;

/* A routine that multiplies and adds on registers, on THREADS threads at once, with the widest instructions that the
 * processor has; one call does so many OPERATIONS. False: WHY. */
bool vendor_limit_arithmetic(vendor_number number, int threads, vendor_kernel *out, double *operations,
                             char why[VENDOR_TEXT]);
/* Operations that take processors differently long. FUSED: a multiply-add. EXTREMUM: the larger or smaller of
 * two, or a choice. FUNCTION: an exponential, which stands for all functions that are computed as polynomials. */
typedef enum vendor_operation {
  VENDOR_FUSED,
  VENDOR_ADDITION,
  VENDOR_EXTREMUM,
  VENDOR_DIVISION,
  VENDOR_ROOT,
  VENDOR_FUNCTION,
  VENDOR_OPERATIONS
} vendor_operation;

/* The same for operations on f32 in the proportion of COUNTS, as many at once as the processor can: independent chains of
 * each kind go by in turns, so that units of different kinds work side by side. A multiply-add is two operations. */
bool vendor_limit_mix(const double counts[VENDOR_OPERATIONS], int threads, vendor_kernel *out, double *operations,
                      char why[VENDOR_TEXT]);
/* A routine in which THREADS threads together read an array of so many BYTES, several times. *READ: bytes that
 * one call reads. */
bool vendor_limit_reading(double bytes, int threads, vendor_kernel *out, double *read, char why[VENDOR_TEXT]);
/* The same for READ bytes that are read while WRITTEN others are written, through the caches or past them,
 * whichever is faster here. A line that is written through a cache is first fetched and later written back;
 * past the caches it is only written. *MOVED: bytes of one call, each counted once. */
bool vendor_limit_moving(double read, double written, int threads, vendor_kernel *out, double *moved,
                         char why[VENDOR_TEXT]);
/* WORK, which one call does, a second: the best of some calls. 0: a call failed. */
double vendor_limit_rate(const vendor_kernel *kernel, double work, bool by_cpu);

/* ---- rounds.c ---------------------------------------------------------------------------------------------------- */

/* One routine, and what was measured of it: seconds of one call. Zero-initialise, set call and self; free with
 * vendor_side_free. */
typedef struct vendor_side {
  int32_t (*call)(void *self);
  void *self;
  double *samples; /* of all rounds; several short calls are one sample */
  double *rounds;  /* the median of each round */
  int n_samples, n_rounds, room;
  double least;               /* of the samples: what other work on the machine disturbs least */
  double low, median, spread; /* of the rounds: the lower quartile; the median; (p75 - p25) / median */
} vendor_side;

/* How a comparison is timed. Zero-initialised: as the comments say. */
typedef struct vendor_timing {
  double seconds; /* for all sides together */
  double block_s; /* of calls that count, of one side in one round; 0: 0.05 */
  int min_rounds; /* 0: 3 */
  bool is_paused; /* between sides: threads of the one before spin for milliseconds on the cores that the next needs */
  bool by_cpu;    /* the process's processor time instead of the wall clock: for one thread on a busy machine */
} vendor_timing;

/* Runs rounds until the seconds have passed. In each round every side gets one block: a pause, calls to warm up, calls that
 * count; the order of the sides alternates. False: a call failed or memory ran out. */
bool vendor_time_rounds(int n_sides, vendor_side *sides, const vendor_timing *timing);
void vendor_side_free(vendor_side *side);
/* The median and spread of the ratios theirs / ours, round by round: what slows both down at a time cancels.
 * False: no memory. */
bool vendor_ratio(const vendor_side *ours, const vendor_side *theirs, double *median, double *spread);
/* Seconds of the wall clock, or of the process's processor time. */
double vendor_now(bool by_cpu);

#endif
