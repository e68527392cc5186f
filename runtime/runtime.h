/* tenon/runtime.h: the lowest layer: statuses and messages, contexts, data types, arrays (DLPack), kernels
 * as things to be called, and their timing. All of Tenon builds on this header.
 *
 * Ownership: a tn_context owns what is made in it (arenas), and tn_context_free releases all of it. What it
 * does not own is marked in the signature: TN_GIVE, TN_TAKE, TN_KEEP below. Only one thread at a time may
 * use a context.
 *
 * Errors: functions that can fail return a tn_status, or NULL in place of an object. The context keeps the
 * first message until tn_context_clear. NULL passed in gives NULL (or TN_ERROR_ARGUMENT). */
#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_VERSION "0.1.0"

#if defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#define TN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TN_API
#define TN_PRINTF(fmt, args)
#endif

/* Who owns what a pointer points to. These words are for readers and tests; they expand to nothing.
 *   TN_GIVE  before a result (or what an argument points to): the caller owns it and releases it, text and
 *            bytes with free(), anything else with its tn_..._free()
 *   TN_TAKE  before an argument: the call releases it, or owns it from then on, even if it fails
 *   TN_KEEP  before a result that looks like the caller's but is not: its owner stays the same
 * A pointer without such a word is lent: an argument for the time of the call, a result for as long as the
 * object it came from exists. */
#define TN_GIVE
#define TN_TAKE
#define TN_KEEP

/* ---- statuses ---------------------------------------------------------------------------------------------------- */

/* X(name, words) */
#define TN_STATUSES(X)                                                                            \
  X(OK, "ok")                                                                                     \
  X(ERROR_ARGUMENT, "wrong argument") /* a caller's mistake in C */                               \
  X(ERROR_PARSE, "parse error")       /* text form, schedule text, IR */                          \
  X(ERROR_PROGRAM, "wrong program")   /* tensor expressions */                                    \
  X(ERROR_SCHEDULE, "illegal schedule")                                                           \
  X(ERROR_LOWER, "lowering failed")                                                               \
  X(ERROR_CODEGEN, "code generation failed")                                                      \
  X(ERROR_CALL, "wrong call")     /* tensors that do not fit a kernel, or a kernel that failed */ \
  X(ERROR_RECORD, "wrong record") /* logs: broken, stale, missing */                              \
  X(ERROR_WORKER, "worker failed")                                                                \
  X(ERROR_TUNE, "tuning found nothing valid")                                                     \
  X(ERROR_IO, "input or output failed")                                                           \
  X(ERROR_MEMORY, "out of memory")                                                                \
  X(ERROR_INTERNAL, "internal error")

/* Success is TN_OK, which is 0. The words are those of the command's messages. */
typedef enum tn_status {
#define X(name, words) TN_##name,
  TN_STATUSES(X)
#undef X
} tn_status;

/* The status in words, for example "illegal schedule". Never NULL. */
TN_API const char *tn_status_text(tn_status status);

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

typedef struct tn_context tn_context;

typedef enum tn_severity { TN_SEVERITY_INFO, TN_SEVERITY_WARNING, TN_SEVERITY_ERROR } tn_severity;

/* Receives every message of a context, one at a time, without a newline at the end. */
typedef void (*tn_message_fn)(void *user, tn_severity severity, const char *text);

/* The most that a context accepts from outside or makes of it: X(name, usual, words). docs/limits.md has
 * the whole table. */
#define TN_LIMITS(X)                                                                                               \
  X(text_bytes, INT64_C(16) << 20, "bytes of a text that is read or printed")                                      \
  X(params, 4096, "parameters of a program")                                                                       \
  X(expr_nodes, 16384, "operations of a stage's expression with all inlined stages in it; shared ones count once") \
  X(steps, 16384, "steps of a schedule that is applied or replayed")                                               \
  X(data_bytes, INT64_C(2) << 30, "bytes of all arrays that a program is checked and timed with")                  \
  X(unpacked_bytes, INT64_C(384) << 20, "bytes that a compressed recording unpacks to")

/* A member of 0 means the usual number. What exceeds a limit is refused, and the message names the limit. A
 * higher limit costs time and memory. */
typedef struct tn_limits {
#define X(name, usual, words) int64_t name;
  TN_LIMITS(X)
#undef X
} tn_limits;

/* Zeros are the defaults. The texts are copied. */
typedef struct tn_context_options {
  tn_message_fn on_message; /* NULL: messages are only kept */
  void *user;               /* passed to on_message */
  const char *debug;        /* "lower:2,simplify": dump after these passes; NULL or "": nothing */
  tn_limits limits;
} tn_context_options;

/* Reads "text_bytes=64M,params=10000" (K, M and G are powers of 1024) into LIMITS. False: it is no such
 * list; *AT points at the part that is wrong. */
TN_API bool tn_limits_parse(const char *text, tn_limits *limits, const char **at);

/* NULL only without memory. OPTIONS may be NULL. */
TN_API TN_GIVE tn_context *tn_context_new(const tn_context_options *options);
/* Frees the context and everything made in it. NULL is allowed. */
TN_API void tn_context_free(TN_TAKE tn_context *ctx);
/* What was made in the context and not released yet. Schedules and kernels are released with it at the
 * latest; an array may outlive it. The word "held" in tn_context_options.debug reports the same when the
 * context is freed. */
typedef struct tn_held {
  int64_t arrays, schedules, kernels;
} tn_held;
TN_API tn_held tn_context_held(const tn_context *ctx); /* for NULL: zeros */
/* The status and message of the first failure since the last clear (TN_OK and "" if there was none). */
TN_API tn_status tn_context_status(const tn_context *ctx);
TN_API const char *tn_context_message(const tn_context *ctx);
TN_API void tn_context_clear(tn_context *ctx);

/* ---- data types -------------------------------------------------------------------------------------------------- */

/* X(NAME, "text name", bytes, DLPack type code, C type). f16 (IEEE) and bf16 are for storage: their C type
 * holds the bits, and arithmetic is done in f32. */
#define TN_DTYPES(X)                      \
  X(BOOL, "bool", 1, kDLUInt, uint8_t)    \
  X(I8, "i8", 1, kDLInt, int8_t)          \
  X(U8, "u8", 1, kDLUInt, uint8_t)        \
  X(I16, "i16", 2, kDLInt, int16_t)       \
  X(U16, "u16", 2, kDLUInt, uint16_t)     \
  X(I32, "i32", 4, kDLInt, int32_t)       \
  X(U32, "u32", 4, kDLUInt, uint32_t)     \
  X(I64, "i64", 8, kDLInt, int64_t)       \
  X(F16, "f16", 2, kDLFloat, uint16_t)    \
  X(BF16, "bf16", 2, kDLBfloat, uint16_t) \
  X(F32, "f32", 4, kDLFloat, float)       \
  X(F64, "f64", 8, kDLFloat, double)

typedef enum tn_dtype {
#define X(name, text, bytes, code, ctype) TN_##name,
  TN_DTYPES(X)
#undef X
      TN_DTYPE_COUNT
} tn_dtype;

enum { TN_MAX_RANK = 8 };

TN_API const char *tn_dtype_name(tn_dtype dtype); /* "f32"; "?" for a value outside the enum */
TN_API size_t tn_dtype_bytes(tn_dtype dtype);
TN_API bool tn_dtype_is_float(tn_dtype dtype);
TN_API bool tn_dtype_is_signed(tn_dtype dtype); /* signed integers and floats */
/* Finds the dtype with that name; false: there is none. */
TN_API bool tn_dtype_parse(const char *name, tn_dtype *out);
/* DLPack's form. Booleans are uint8 with one bit of meaning: {kDLUInt, 8, 1} is accepted for both TN_BOOL and TN_U8. */
TN_API DLDataType tn_dtype_dlpack(tn_dtype dtype);

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* A compact row-major array on the CPU, zero-filled and aligned to 64 bytes. Free it with tn_array_free (a
 * context does not own arrays, so that they can outlive it). NULL after a message: a wrong dtype, rank or
 * extent, or no memory. */
TN_API TN_GIVE DLTensor *tn_array_new(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape);
TN_API void tn_array_free(TN_TAKE DLTensor *array);
TN_API size_t tn_array_bytes(const DLTensor *array);
/* Fills an array with reproducible test data: floats uniform in [-1, 1), integers in [-4, 4] (unsigned: [0,
 * 8]), booleans 0 or 1. */
TN_API tn_status tn_array_fill(tn_context *ctx, DLTensor *array, uint64_t seed);
/* Fills with data of a kind:
 *   uniform(LOW, HIGH)    numbers in [LOW, HIGH); integers in [LOW, HIGH]
 *   normal, normal(MEAN, DEVIATION)
 *   zeros, iota           0; 0, 1, 2, ... in row-major order
 *   index(N)              whole numbers in [0, N): for arrays that are used as indices
 *   sparse(SHARE)         that share of zeros (0 .. 1), the others as by tn_array_fill
 *   file:PATH             a NumPy file (.npy, versions 1 to 3) in C order, of the array's dtype and shape; V2 stands for bf16
 * TN_ERROR_ARGUMENT names what is wrong with HOW, TN_ERROR_IO what is wrong with the file; the array is then as it was,
 * or partly read. */
TN_API tn_status tn_array_fill_as(tn_context *ctx, DLTensor *array, const char *how, uint64_t seed);

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* A compiled function with a description of its arguments: inputs in the program's order, then outputs. */
typedef struct tn_kernel tn_kernel;

/* The plain C function: int32_t name(const T *in..., T *out...). It returns 0; 1 if scratch memory ran out;
 * or 2 (kernels in memory) if the user's parallel-for did not run a loop as it should
 * (tn_set_parallel_for). Cast it to that type before calling it. */
typedef void (*tn_kernel_fn)(void);
TN_API tn_kernel_fn tn_kernel_function(const tn_kernel *kernel);
TN_API const char *tn_kernel_name(const tn_kernel *kernel);
TN_API int tn_kernel_arg_count(const tn_kernel *kernel);

/* Calls the kernel through libffi after checking every argument's dtype, rank, shape, strides (compact
 * row-major, or as tn_strided allows), device and alignment (to the element). A message names the argument
 * by its tensor's name. */
TN_API tn_status tn_call(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args);
TN_API void tn_kernel_free(TN_TAKE tn_kernel *kernel);

/* A stage of a kernel that was built with tn_build_options.sample (times) or .count (counters). */
typedef struct tn_kernel_stage {
  const char *name; /* lives as long as the kernel */
  bool is_root, is_parallel, is_inlined;
  double seconds; /* of all calls so far: their wall time, divided in proportion to what threads counted */
  int64_t visits; /* how often a thread entered it */
  double active;  /* of its parallel loops, the share of all threads' time that was spent working; 0: it has none */
  bool is_counted;
  /* Of one call. Exact except for selects on data, both of whose branches count. POINTS were computed;
   * REQUIRED is what the tensor has. LOADS and STORES are of scalars, the vector ones of whole vectors;
   * GATHERS and SCATTERS are of vectors that are not contiguous. What a reduction accumulates in its
   * innermost reduction loops is stored when they end. */
  int64_t points, required, loads, stores, vector_loads, vector_stores, gathers, scatters;
  /* LOOPS: parallel loops started in it; TASKS: their iterations. STORE_BITS: of its widest vector store;
   * NATIVE_BITS: what the machine stores at once. */
  int64_t loops, tasks, store_bits, native_bits;
} tn_kernel_stage;

/* Fills OUT (or NULL) with at most MAX stages, the last being "(outside)" for time in no stage. Returns how
 * many there are; 0 for a kernel built without. The times of all stages add up to the wall time of the
 * calls. */
TN_API int tn_kernel_stages(const tn_kernel *kernel, int max, tn_kernel_stage *out);
TN_API double tn_kernel_stage_recompute(const tn_kernel_stage *stage); /* points / required */
/* Tables of times and counters, with a note if there are fewer than 100 samples. malloc'ed; NULL: there are none. */
TN_API TN_GIVE char *tn_kernel_stage_report(const tn_kernel *kernel);
/* Records a mark "stage" of category kernel for every stage; the rules about schedules read these. */
TN_API void tn_kernel_mark_stages(const tn_kernel *kernel);

/* How to time. Zeros mean the defaults in parentheses. */
typedef struct tn_timing_options {
  double min_batch_s; /* a sample calls the kernel until this much time has passed (0.001) */
  double max_total_s; /* stop after this much (0.5) */
  int min_calls;      /* calls in a sample (1) */
  int min_samples;    /* (5) */
  int max_samples;    /* (50) */
  double tight;       /* stop early when (p75-p25)/median falls below this (0.02) */
  /* stop early when the median is known to this share of it (0: not asked): half its 95 % interval, 1.57
   * (p75-p25) / sqrt(n) (McGill, Tukey, Larsen: Variations of box plots, 1978) */
  double median_within;
  double give_up_above_s; /* if the first call is slower than this there is no other; 0: never */
  void (*before_sample)(
      void *user); /* called before each, and not timed; may be NULL. Not before the first two calls */
  void *user;
  double drop_above_s; /* no more samples if the first two are slower than this; 0: never */
} tn_timing_options;

typedef struct tn_timing {
  int n_samples;
  double median_s, min_s, p25_s, p75_s; /* seconds for one call */
  double spread;                        /* (p75 - p25) / median */
} tn_timing;

/* Times calls with these arguments, which are checked once. */
TN_API tn_status tn_time(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args,
                         const tn_timing_options *options, tn_timing *out);

/* ---- parallel loops ---------------------------------------------------------------------------------------------- */

/* The threads that a parallel loop may use here: the least of the affinity mask, the cgroup quota and
 * OMP_NUM_THREADS; at least 1. This is a target's default. */
TN_API int tn_thread_count(void);

/* Parallel loops of kernels in memory run on threads that belong to their context. These are started by the
 * first loop that needs them, not pinned, and ended with the context. A loop uses the least of its target's
 * threads, the affinity mask and the cgroup quota at that time. Exported code uses OpenMP.
 *
 * A part of a parallel loop: iterations BEGIN .. END-1, on any thread, while other parts run. */
typedef void (*tn_parallel_body)(void *loop, int64_t begin, int64_t end);
/* A user's parallel-for: calls BODY(LOOP, ...) with ranges that together are BEGIN .. END-1, each iteration
 * once, in any order, on any threads (THREADS is how many the kernel asks for), and returns when all calls
 * have returned. */
typedef void (*tn_parallel_for_fn)(void *user, int threads, int64_t begin, int64_t end, tn_parallel_body body,
                                   void *loop);
/* From now on the parallel loops of all kernels of this context are run by PARALLEL_FOR; NULL: by the
 * context's own threads again. No kernel of the context may be running. A kernel whose loop was not run as
 * described above returns 2. */
TN_API tn_status tn_set_parallel_for(tn_context *ctx, tn_parallel_for_fn parallel_for, void *user);

#ifdef __cplusplus
}
#endif
#endif
