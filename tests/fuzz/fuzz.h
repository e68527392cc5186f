/* fuzz.h: the differential fuzzer: random programs under random schedules, compiled and run between guard pages,
 * compared with the reference evaluator.
 *
 * A pair is a program's text and a schedule's text; both come from one number, so a seed and a number name a pair.
 * Pairs run in worker processes (this program, executed again), so that a crash or a hang costs a worker and is a
 * finding. */
#ifndef TENON_TESTS_FUZZ_FUZZ_H
#define TENON_TESTS_FUZZ_FUZZ_H

#include "runtime/base.h"
#include "schedule/plan.h"
#include "schedule/state.h"

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* X(NAME, "word") the primitives that are drawn */
/* clang-format off */
#define FUZZ_PRIMITIVES(X)                                                                                          \
  X(SPLIT, "split")                                                                                                 \
  X(NPARTS, "split nparts")                                                                                         \
  X(MANY, "split many")                                                                                             \
  X(JAM, "unroll_jam")                                                                                              \
  X(TILE, "tile")                                                                                                   \
  X(FUSE, "fuse")                                                                                                   \
  X(REORDER, "reorder") X(VECTORIZE, "vectorize") X(UNROLL, "unroll") X(PARALLEL, "parallel") X(PRAGMA, "pragma")   \
      X(COMPUTE_AT, "compute_at") X(GROUP, "compute_group_at") X(INLINE, "compute_inline") X(ROOT, "compute_root")  \
          X(CACHE_READ, "cache_read") X(CACHE_WRITE, "cache_write") X(SET_SCOPE, "set_scope") X(RFACTOR, "rfactor") X(WINDOW, "rfactor_window") \
              X(PARALLEL_REDUCE, "parallel_reduce") X(AUTO_INLINE, "auto_inline") X(LAYOUT, "transform_layout")     \
                  X(ALIGN, "storage_align") X(PREFETCH, "prefetch") X(TENSORIZE, "tensorize")                       \
                      X(GEMV, "tensorize gemv") X(DOUBLE, "double_buffer") X(ROLLING, "rolling_buffer")             \
                          X(PREDICATE, "set_store_predicate") X(BIND, "bind vthread")
/* clang-format on */

typedef enum fuzz_primitive {
#define X(name, word) FUZZ_##name,
  FUZZ_PRIMITIVES(X)
#undef X
      FUZZ_PRIMITIVE_COUNT
} fuzz_primitive;

/* X(NAME, "words") what a program has, besides stages, ranks and dtypes (features.c) */
/* clang-format off */
#define FUZZ_FEATURES(X)                          \
  X(ODD, "an odd extent over 1")                  \
  X(PRIME, "a prime extent over 3")               \
  X(REDUCTION, "sum, prod, max, min, any or all") \
  X(SEVERAL_AXES, "reduction over several axes")  \
  X(WHERE, "reduction with a condition")          \
  X(INIT, "reduction with an init")               \
  X(POSITION, "argmax or argmin")                 \
  X(COMBINER, "a user's combiner")                \
  X(VALUES, "several values at once")             \
  X(GATHER, "index read from a tensor")           \
  X(LEAVES, "read that may leave its tensor")     \
  X(PADDING, "padding: a read in a select")       \
  X(STRIDED, "strided access")                    \
  X(DILATED, "access a*n + b, a window")          \
  X(DIVIDED, "index with // or %")                \
  X(REVERSED, "index n - a")                      \
  X(CONSTANT_INDEX, "constant index")             \
  X(SCALAR, "scalar argument by value")           \
  X(SYMBOL, "symbolic extents")                   \
  X(STRIDED_INPUT, "strides from a call")         \
  X(STRIDED_OUTPUT, "strides of an output")       \
  X(SCAN, "scan")                                 \
  X(MATH, "math function")                        \
  X(BITS, "operation on bits")                    \
  X(HALF, "f16 or bf16 storage")                  \
  X(DOT, "sum of products of bytes or bf16")      \
  X(GEMV, "matrix-vector product of floats")      \
  X(EXTERN, "call of a C function")              \
  X(SHARED, "tensor with several readers")
/* clang-format on */

typedef enum fuzz_feature {
#define X(name, words) FUZZ_HAS_##name,
  FUZZ_FEATURES(X)
#undef X
      FUZZ_FEATURE_COUNT
} fuzz_feature;

enum { FUZZ_MAX_STAGES = 8, FUZZ_MANY_KINDS = 3 };

/* What a worker did; sent to the driver as it is. The last four: of the programs of the pairs that were compared. */
typedef struct fuzz_counts {
  int64_t pairs, generic_pairs, programs_refused, programs_unsafe, schedules_too_slow;
  int64_t families[PLAN_FAMILIES]; /* pairs with a group that is scheduled by a plan of the family */
  int64_t accepted[FUZZ_PRIMITIVE_COUNT], refused[FUZZ_PRIMITIVE_COUNT], tails[TN_TAIL_COUNT];
  int64_t stages[FUZZ_MAX_STAGES + 1], ranks[TN_MAX_RANK + 1], dtypes[TN_DTYPE_COUNT], features[FUZZ_FEATURE_COUNT];
  /* Pairs by how many of these are in play: dtypes other than the first, tensorize, a scan, symbols, strides, a call. The last: and more. */
  int64_t mixed[FUZZ_MANY_KINDS + 1];
} fuzz_counts;

void fuzz_add_counts(fuzz_counts *to, const fuzz_counts *from);
/* Adds what a pair has (features.c). */
void fuzz_count_features(const tn_program *program, const char *schedule, fuzz_counts *counts);
/* The tables of what was drawn. Returns how many primitives and tails were used less than LEAST times (tables.c). */
int fuzz_print_counts(const fuzz_counts *counts, int64_t least);

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

typedef enum fuzz_status { FUZZ_AGREES, FUZZ_SKIPPED, FUZZ_DIFFERS } fuzz_status;

/* A random program's text (generate.c). Returns whether it is a chain of stencils or a copy: what plans should schedule. */
bool fuzz_generate(runtime_rng *rng, runtime_str *out);
/* Applies random primitives to S; the accepted ones, separated by "; ", go to OUT (draw.c). NULL, or what is wrong: a
 * refusal that changed the schedule. */
const char *fuzz_draw_schedule(runtime_rng *rng, tn_schedule *s, runtime_str *out, fuzz_counts *counts);

/* Makes S the generic schedule for a random machine; its text goes to OUT. As above. */
const char *fuzz_generic_schedule(runtime_rng *rng, tn_schedule *s, runtime_str *out);

/* How far a float output may be from the reference: an error bound for every tensor of a program by the number of its
 * operations (tolerance.c), given inputs from fuzz_fill. False: some operation could turn a rounding into another
 * result. */
typedef struct fuzz_bound {
  double lo, hi, error; /* values are in [lo, hi], off by at most ERROR */
  int q;                /* every value is a multiple of 2^-q; -1: unknown */
} fuzz_bound;
enum { FUZZ_MAX_BOUNDS = 512 };
bool fuzz_bounds(const tn_program *program, int max, fuzz_bound *by_tensor); /* false, too: more than MAX tensors */
/* Where a tensor's bound stands. */
int fuzz_tensor_number(const tn_program *program, const tn_tensor *tensor);

/* Compiles, runs and compares (pair.c). SCHEDULE may be NULL: then TEXT is applied to a new one. WHY gets the reason.
 */
fuzz_status fuzz_run_pair(tn_program *program, tn_schedule *schedule, uint64_t data_seed, char *why, size_t n);
/* From texts; for replay, shrinking and the table of regressions. */
fuzz_status fuzz_run_texts(const char *program, const char *schedule, uint64_t data_seed, char *why, size_t n);

/* The same without code generation, given the reference's arrays (interpret_pair.c). BOUNDS NULL: only what is touched
 * counts, not the values. */
fuzz_status fuzz_interpret_pair(tn_schedule *s, DLTensor *const *arrays, const int64_t *symbols,
                                const fuzz_bound *bounds, char *why, size_t n);

/* Prints a C program that makes N random schedules by calls and compares their loop IR (api.c). Exit status. */
int fuzz_print_api(int n, uint64_t seed);

/* Loop IR's text at some place of the pipeline, to and fro (ir_text.c). */
fuzz_status fuzz_check_ir_text(const tn_schedule *s, uint64_t seed, char *why, size_t n);

/* Whether a message says that symbols without limits make an intermediate tensor too large: a refusal at lowering. */
static inline bool fuzz_is_unbounded(const char *message) {
  return strstr(message, "could have more elements than can be counted") != NULL;
}

double fuzz_count_stores(const tir_stmt *s); /* of one run, guards taken as true */
double fuzz_element(const DLTensor *array, tn_dtype dtype, int64_t i);

/* The kernel through C source (through_c.c), compiled by COMMAND; NULL with a message. */
tn_kernel *fuzz_build_through_c(const tn_schedule *s, const char *command);

/* ---- guarded memory (memory.c) ----------------------------------------------------------------------------------- */

/* Arrays that end (or begin) at a page which cannot be touched. */
typedef struct fuzz_memory fuzz_memory;
fuzz_memory *fuzz_memory_new(void); /* one a process */
/* Room for BYTES in slot I; against the upper or the lower guard page. NULL: too many or too large. */
void *fuzz_memory_at(fuzz_memory *memory, int slot, size_t bytes, bool at_end);

#endif
