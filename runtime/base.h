/* base.h: what all folders use inside the library: arena, growable arrays, string builder, failing with a
 * message, hashing, random numbers, clocks. Nothing in here is exported. */
#ifndef TENON_RUNTIME_BASE_H
#define TENON_RUNTIME_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/integer.h"
#include "runtime/runtime.h"

/* A size of tables, chunks and buffers. Instrumented builds (TENON_INSTRUMENT) use the small one, so that
 * growing, which is rare otherwise, is exercised all the time. */
#ifdef TENON_INSTRUMENT
#define RUNTIME_SMALL(usual, small) (small)
#else
#define RUNTIME_SMALL(usual, small) (usual)
#endif

/* ---- dtypes ------------------------------------------------------------------------------------------------------ */

/* A bit for each dtype of floats. */
enum {
  RUNTIME_FLOATS = 0
#define X(name, text, bytes, code, ctype) | ((code) == kDLFloat || (code) == kDLBfloat) << TN_##name
  TN_DTYPES(X)
#undef X
};
/* tn_dtype_is_float as an inline function, since analyses of expressions ask it for every node. */
static inline bool runtime_is_float(tn_dtype dtype) {
  return (unsigned)dtype < TN_DTYPE_COUNT && RUNTIME_FLOATS >> dtype & 1;
}

/* ---- arena: many small allocations with one lifetime ------------------------------------------------------------- */

typedef struct runtime_chunk runtime_chunk;

/* Is told of memory that arenas and arrays take and give back. There is one such observer, the profiler
 * (runtime/profiler/memory.c), which this lowest layer must not include. LEVEL is the profiler's. */
typedef struct runtime_memory_observer {
  void (*taken)(const char *pool, int level, const void *address, size_t bytes);
  void (*returned)(const char *pool, int level, const void *address);
  void (*refused)(const char *pool, size_t bytes);
} runtime_memory_observer;
extern const runtime_memory_observer runtime_the_memory_observer;

/* Is told when work goes on in another thread while its caller waits (runtime_with_stack). It is the
 * profiler again, whose tables follow the work (runtime/profiler/profiler.c). SENT runs on the thread that
 * waits; ARRIVED gets its result on the other one. */
typedef struct runtime_errand_observer {
  const void *(*sent)(void);
  void (*arrived)(const void *from);
} runtime_errand_observer;
extern const runtime_errand_observer runtime_the_errand_observer;

/* Zero-initialise. Allocations are zero-filled and aligned to 16 bytes. on_oom: where to longjmp (with
 * value 1) when memory runs out; if it is NULL, the allocation returns NULL. */
typedef struct runtime_arena {
  runtime_chunk *head;
  size_t used;  /* bytes used in head */
  size_t total; /* bytes reserved over all chunks */
  size_t limit; /* the most bytes it may reserve; 0: no limit. Tests use it to make memory run out */
  jmp_buf *on_oom;
  bool failed; /* memory ran out at some time: for callers to whom NULL means something else, too */
} runtime_arena;

/* BYTES zeros, aligned to 16; for BYTES 0 also a place of its own. The memory lives until the arena is
 * freed or reset and is not freed by itself. Without memory on_oom decides (above). The three copiers below
 * do the same with their argument's contents. runtime_strndup stops at a NUL, so N may exceed the text's
 * length. */
void *runtime_alloc(runtime_arena *arena, size_t bytes);
void *runtime_copy(runtime_arena *arena, const void *data, size_t bytes);
char *runtime_strdup(runtime_arena *arena, const char *text);
char *runtime_strndup(runtime_arena *arena, const char *text, size_t n);
/* The texts up to the first NULL, one after the other: for names, which are made by the thousand. */
char *runtime_joined(runtime_arena *arena, const char *const *parts);
/* The text that printf would write. It is formatted twice, the first time for its length, so what ARGS
 * point to must not change in between. */
char *runtime_format(runtime_arena *arena, const char *fmt, ...) TN_PRINTF(2, 3);
/* What an allocation does without memory, for memory that is part of the arena's work but not in the arena.
 * Always NULL. */
void *runtime_arena_lacks(runtime_arena *arena);
void runtime_arena_free(runtime_arena *arena);  /* releases all chunks; the arena can be used again */
void runtime_arena_reset(runtime_arena *arena); /* forgets all contents; keeps the largest chunk */

#define RUNTIME_NEW(arena, type) ((type *)runtime_alloc((arena), sizeof(type)))
#define RUNTIME_NEW_ARRAY(arena, type, n) ((type *)runtime_alloc((arena), sizeof(type) * (size_t)(n)))

/* ---- growable arrays: typed pointer + count + capacity, in malloc memory ----------------------------------------- */

/* Use: struct { T *data; int n, cap; } v = {0};  RUNTIME_PUSH(&v, value);  RUNTIME_VEC_FREE(&v);
 * RUNTIME_PUSH is false when memory ran out; then the vector is unchanged. */
#define RUNTIME_VEC(type) \
  struct {                \
    type *data;           \
    int n, cap;           \
  }
#define RUNTIME_PUSH(v, value)                                                                \
  (((v)->n < (v)->cap || runtime_vec_grow((void **)&(v)->data, &(v)->cap, sizeof *(v)->data)) \
       ? ((v)->data[(v)->n++] = (value), true)                                                \
       : false)
#define RUNTIME_VEC_FREE(v) (free((v)->data), (v)->data = NULL, (v)->n = (v)->cap = 0)
/* Doubles *CAP, or makes the first items. *DATA may move, so no pointer into a vector survives a push.
 * False: nothing has changed. Beyond INT_MAX / 2 items it is always false, since counts are int. */
bool runtime_vec_grow(void **data, int *cap, size_t item_bytes);

/* ---- map: from 64-bit keys to 64-bit values, in malloc memory ----------------------------------------------------- */

/* Eight bytes that belong to the caller: the map never follows or frees P. */
typedef union runtime_map_value {
  void *p;
  int64_t i;
  double f;
} runtime_map_value;

/* An entry of the table. */
typedef struct runtime_map_slot {
  uint64_t key; /* 0: free */
  runtime_map_value value;
} runtime_map_slot;

/* Zero-initialise; release with runtime_map_free. Keys are addresses, numbers or hashes, never 0. Running
 * out of memory sets `failed` for good. A caller that only caches results may ignore it; all others must
 * check it at the end. */
typedef struct runtime_map {
  runtime_map_slot *slots;
  runtime_map_slot *lent; /* the first table if it is the caller's */
  int n, capacity;
  bool failed;
} runtime_map;

/* Makes a map use N slots of the caller's (a power of two), for instance on the stack, so that a small map
 * never allocates. */
void runtime_map_lend(runtime_map *map, runtime_map_slot *slots, int n);
/* The place of KEY's value, valid until the next entry is made. _find: NULL if there is none. _at: makes it
 * if there is none, zeroed; NULL without memory. */
runtime_map_value *runtime_map_find(const runtime_map *map, uint64_t key);
runtime_map_value *runtime_map_at(runtime_map *map, uint64_t key);
/* The same for keys that are hashes of something larger. Entries of equal hash are distinguished by IS_IT,
 * which compares what a value stands for. IS_IT is never called for the value 0, which means "new": the
 * caller must then store another value. */
typedef bool (*runtime_map_match)(const void *user, runtime_map_value value);
runtime_map_value *runtime_map_find_match(const runtime_map *map, uint64_t key, runtime_map_match is_it,
                                          const void *user);
runtime_map_value *runtime_map_match_at(runtime_map *map, uint64_t key, runtime_map_match is_it, const void *user);
void runtime_map_clear(runtime_map *map); /* keeps the memory and `failed` */
void runtime_map_free(runtime_map *map);

/* Maps with addresses as keys. get: NULL if KEY is not in. put: false without memory. add, for sets: true
 * if KEY was not in yet (without memory it is not in afterwards either). */
static inline void *runtime_map_get(const runtime_map *map, const void *key) {
  const runtime_map_value *value = runtime_map_find(map, (uint64_t)(uintptr_t)key);
  return value ? value->p : NULL;
}

/* Sets the value of a pointer; false without memory. The key is KEY itself, not what it points to. */
static inline bool runtime_map_put(runtime_map *map, const void *key, const void *value) {
  runtime_map_value *place = runtime_map_at(map, (uint64_t)(uintptr_t)key);
  if (place) place->p = (void *)value;
  return place != NULL;
}

/* For a map used as a set: true only the first time KEY is seen. So a walk over a graph with shared nodes
 * enters each of them once. */
static inline bool runtime_map_add(runtime_map *map, const void *key) {
  if (runtime_map_get(map, key)) return false;
  runtime_map_put(map, key, key);
  return true;
}

/* A set of texts in which equal texts have one address. Set ARENA, which keeps them. */
typedef struct runtime_names {
  runtime_arena *arena;
  runtime_map map;
} runtime_names;

/* The only copy of the first N bytes of TEXT (up to a NUL); NULL without memory. */
const char *runtime_intern(runtime_names *names, const char *text, size_t n);
void runtime_names_free(runtime_names *names); /* the texts stay in the arena */

/* ---- string builder ---------------------------------------------------------------------------------------------- */

/* A text that is built. Zero-initialise all but LIMIT. Once something was added data is always
 * NUL-terminated. Running out of memory sets `failed` for good, and so does text beyond LIMIT. Printers of
 * expressions check `failed` at every node, since what is small as a graph can be endless as text. Release
 * with runtime_str_free, or move the text out with runtime_str_take or runtime_str_finish. */
typedef struct runtime_str {
  char *data;
  size_t n, cap;
  size_t limit;         /* in bytes; 0: none */
  bool failed, is_full; /* is_full: it failed because of the limit */
} runtime_str;

/* Append to S. TEXT is copied and must not point into S. After a failure they do nothing, so that a printer
 * needs to check only at its end. */
void runtime_str_add(runtime_str *s, const char *text);
void runtime_str_addn(runtime_str *s, const char *text, size_t n);
/* VALUE in decimal as "%lld" writes it, at the end of DIGITS; where the text begins. */
enum { RUNTIME_DIGITS = 24 };
char *runtime_digits(int64_t value, char digits[RUNTIME_DIGITS]);
void runtime_str_add_int(runtime_str *s, int64_t value);
void runtime_str_addf(runtime_str *s, const char *fmt, ...) TN_PRINTF(2, 3);
void runtime_str_addv(runtime_str *s, const char *fmt, va_list args);
/* The same for a function that ends in `...`; FMT is its last named argument. */
#define RUNTIME_ADD_ARGS(s, fmt)         \
  do {                                   \
    va_list args_;                       \
    va_start(args_, fmt);                \
    runtime_str_addv((s), (fmt), args_); \
    va_end(args_);                       \
  } while (0)
/* Writes what printf would into TEXT, an array, and cuts off what does not fit. */
#define RUNTIME_PRINT_ARGS(text, fmt)                    \
  do {                                                   \
    va_list args_;                                       \
    va_start(args_, fmt);                                \
    (void)vsnprintf((text), sizeof(text), (fmt), args_); \
    va_end(args_);                                       \
  } while (0)
void runtime_str_free(runtime_str *s);
char *runtime_str_take(runtime_str *s, runtime_arena *arena); /* copies into arena, frees s; NULL when failed */
/* An empty text with the context's limit on text. */
runtime_str runtime_str_limited(const tn_context *ctx);
/* Moves the text out, malloc'ed ("" if nothing was added); NULL after a message. WHAT: for the message,
 * such as "the loop IR". */
TN_GIVE char *runtime_str_finish(runtime_str *s, tn_context *ctx, const char *what);

/* ---- contexts from inside ---------------------------------------------------------------------------------------- */

/* What folders attach to a context, with a slot each: X(NAME). tn_context_free releases the slots from the
 * last to the first, after the kernels. */
#define RUNTIME_SLOTS(X)                                                 \
  X(POOL)       /* runtime/parallel.c: threads of parallel loops */      \
  X(SCRATCH)    /* runtime/scratch.c: scratch memory of kernels */       \
  X(INTRINS)    /* te/intrin.c: declared intrinsics */                   \
  X(REDUCTIONS) /* te/lift.c: reductions taken out of expressions */     \
  X(GENERICS)   /* schedule/generic.c: the context's own schedules */    \
  X(REGISTRIES) /* schedule/registry.c: names and ops of the programs */ \
  X(SESSION)    /* codegen/session.c: LLVM's machines and the JIT */

typedef enum runtime_slot {
#define X(name) RUNTIME_SLOT_##name,
  RUNTIME_SLOTS(X)
#undef X
      RUNTIME_SLOT_COUNT
} runtime_slot;

/* How many objects of a context exist. This is a block of its own, freed by the last of its owners (the context and
 * its objects), since an array may be freed after its context, by any thread. */
typedef enum runtime_held_kind {
  RUNTIME_ARRAYS,
  RUNTIME_SCHEDULES,
  RUNTIME_KERNELS,
  RUNTIME_HELD_KINDS
} runtime_held_kind;
typedef struct runtime_held {
  atomic_llong owners, n[RUNTIME_HELD_KINDS];
} runtime_held;
/* Counts one more object of KIND, or one less, in the block that the first call returned. CTX NULL: nothing
 * is counted, and HELD is NULL. */
runtime_held *runtime_hold(tn_context *ctx, runtime_held_kind kind);
void runtime_unhold(runtime_held *held, runtime_held_kind kind);

/* What a user holds of the library; only one thread at a time may use it. Status and message are those of the
 * first failure, until tn_context_clear. What a folder above attaches to it has a slot (RUNTIME_SLOTS). It is
 * freed in the order kernels, slots from the last to the first, arena: kernels run on the pool's threads and
 * hold code of the session, and any slot may keep its data in the arena. */
struct tn_context {
  runtime_arena arena; /* lifetime: the context */
  tn_context_options options;
  tn_status status;
  char message[4096];
  int n_quiet; /* quiet stretches that are open (runtime_quiet_begin) */
  struct {
    void *data;
    void (*release)(void *data); /* NULL: nothing to do, the data is in the arena */
  } slots[RUNTIME_SLOT_COUNT];
  tn_kernel *kernels; /* the context's kernels that were not freed yet */
  runtime_held *held;
};

/* Keeps status and message unless there was a failure before, passes them to the callback, and returns
 * status. CTX may be NULL. */
tn_status runtime_fail(tn_context *ctx, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* False after a message: WHAT ("the program") is longer than the limit on text. */
bool runtime_check_text(tn_context *ctx, const char *what, const char *text);
/* Replaces limits of 0 by the usual ones. */
void runtime_limits_fill(tn_limits *limits);
/* The limits of a context, none of them 0; for CTX NULL the usual ones. */
const tn_limits *runtime_limits(const tn_context *ctx);
tn_status runtime_fail_limit(tn_context *ctx, tn_status status, const char *name, int64_t most, const char *fmt, ...)
    TN_PRINTF(5, 6);
/* Refuses with a message that says what there is too much of, which limit that exceeds, and how to raise it. */
#define RUNTIME_FAIL_LIMIT(ctx, status, name, ...) \
  runtime_fail_limit((ctx), (status), #name, runtime_limits(ctx)->name, __VA_ARGS__)
/* A warning or an information; goes only to the callback. */
void runtime_say(tn_context *ctx, tn_severity severity, const char *fmt, ...) TN_PRINTF(3, 4);
/* NULL: nothing was put there yet. */
static inline void *runtime_slot_get(const tn_context *ctx, runtime_slot slot) { return ctx->slots[slot].data; }
/* A slot is set only once, unless RELEASE is NULL. */
void runtime_slot_set(tn_context *ctx, runtime_slot slot, void *data, void (*release)(void *data));

/* A stretch in which refusals are normal, such as a trial. Nothing reaches the user, and afterwards the
 * context is as it was before, including earlier failures. In between, status and message are those of the
 * stretch alone. Running out of memory is not a refusal: the end passes it on, since otherwise a trial
 * would fail for no reason that the user can see. */
typedef struct runtime_quiet {
  tn_context *ctx;
  tn_message_fn on_message;
  tn_status status;
  char message[sizeof((tn_context *)NULL)->message]; /* when status is a failure */
} runtime_quiet;
void runtime_quiet_start(runtime_quiet *quiet, tn_context *ctx);
static inline runtime_quiet runtime_quiet_begin(tn_context *ctx) {
  runtime_quiet quiet;
  runtime_quiet_start(&quiet, ctx);
  return quiet;
}
void runtime_quiet_end(const runtime_quiet *quiet);
/* Ends a stretch and passes any failure on as if it came now. Returns its status. */
tn_status runtime_quiet_end_loud(const runtime_quiet *quiet);
/* Whether the context's debug option names this pass; *LEVEL gets the number after ':' (1 if there is none). */
bool runtime_debug_wants(const tn_context *ctx, const char *pass, int *level);

/* ---- C functions by address (c_call.c) --------------------------------------------------------------------------- */

/* The most arguments of a C function. */
enum { RUNTIME_MAX_C_ARGS = 64 };
/* An argument of a C function: a pointer, or a number of type TN_I32, TN_I64, TN_F32 or TN_F64. */
typedef struct runtime_c_arg {
  bool is_pointer;
  tn_dtype dtype;
  union {
    void *pointer;
    int64_t i;
    double f;
  } u;
} runtime_c_arg;
/* Calls `void function(...)` with N arguments of run-time types. */
tn_status runtime_call_c(tn_context *ctx, void (*function)(void), int n, const runtime_c_arg *args);

/* ---- kernels from inside ----------------------------------------------------------------------------------------- */

/* A number that the shapes of a kernel's arguments determine: the extent of some dimension. */
typedef struct runtime_symbol {
  const char *name;
  int64_t least, most;
} runtime_symbol;

/* An operation of a program that computes an extent from symbols, on a stack, in postfix. It applies an
 * operator to the top two values or, if APPLY is NULL, pushes a constant or the value of a symbol, given by
 * its number. */
typedef struct runtime_size_op {
  runtime_integer_fn apply;
  bool is_symbol;
  int64_t value;
} runtime_size_op;

/* An extent made of symbols; other extents are in runtime_kernel_arg.shape. The operations leave one value
 * on the stack. */
typedef struct runtime_size {
  int n; /* at most RUNTIME_MAX_SIZE_OPS */
  const runtime_size_op *ops;
  const char *text; /* for messages */
} runtime_size;
/* Limits of a kernel's arguments; a kernel that exceeds them is refused when it is made. */
enum { RUNTIME_MAX_SIZE_OPS = 256, RUNTIME_MAX_SYMBOLS = 16 };
/* In elements, for a strided argument: an index over several such dimensions still fits i64. */
#define RUNTIME_MAX_STRIDE (INT64_C(1) << 40)

/* One argument in a kernel's signature. Texts and sizes belong to whoever fills it in; runtime_kernel_new
 * copies them. */
typedef struct runtime_kernel_arg {
  const char *name;
  tn_dtype dtype;
  int ndim;
  int64_t shape[TN_MAX_RANK];
  bool is_output;
  const runtime_size *size[TN_MAX_RANK]; /* an extent made of symbols; NULL: it is in SHAPE */
  bool by_value;                         /* an input of rank 0, passed as a value after all pointers */
  bool is_strided;                       /* its strides, except the last, are passed as values after the symbols */
  int n_symbols;                         /* of the kernel, equal in all arguments; passed after all arguments */
  const runtime_symbol *symbols;
} runtime_kernel_arg;

/* Makes a kernel; copies name and args. tn_kernel_free calls release(owner), which unloads the code. */
TN_GIVE tn_kernel *runtime_kernel_new(tn_context *ctx, const char *name, tn_kernel_fn fn, int n_args,
                                      const runtime_kernel_arg *args, void (*release)(void *owner), void *owner);
/* The arguments that a call must give, *N of them, without those that are bound. They live as long as the kernel. */
const runtime_kernel_arg *runtime_kernel_args(const tn_kernel *kernel, int *n);
/* Appends the extent of a dimension: a number, or the expression it is made from. */
void runtime_kernel_add_extent(runtime_str *out, const runtime_kernel_arg *arg, int dim);
enum { RUNTIME_MAX_KERNEL_ARGS = 512 }; /* a network's weights are arguments */
/* Makes the kernel's first N arguments these arrays, which it then owns and frees; calls give only the
 * others. False: no memory, and nothing has changed. */
bool runtime_kernel_bind(tn_kernel *kernel, int n, DLTensor *const *arrays);
/* What recordings say of a call; 0: not known. */
typedef struct runtime_kernel_work {
  double flops;
  double bytes_read, bytes_written; /* each byte of the arguments counted once */
  double bytes_moved;               /* beyond the last cache, by the schedule: an estimate */
  double launches;                  /* parallel loops that are started */
  size_t scratch_bytes;             /* taken from the heap, outside of parallel loops */
} runtime_kernel_work;
void runtime_kernel_describe(tn_kernel *kernel, const runtime_kernel_work *work);

/* ---- arrays from inside ------------------------------------------------------------------------------------------ */

enum { RUNTIME_DLTYPE_TEXT = 40 };
/* A DLPack dtype as text ("f32", "u8", "f16x4", "(code 5)64"), written to TEXT. */
const char *runtime_dltype_text(DLDataType dtype, char text[RUNTIME_DLTYPE_TEXT]);
/* Whether a dtype is f16 or bf16. For these, the functions below give the value of bits, and the bits of
 * VALUE rounded to f32 and then to the dtype's nearest value, ties to even. */
static inline bool runtime_is_half(tn_dtype dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
double runtime_half_value(tn_dtype dtype, uint16_t bits);
uint16_t runtime_half_bits(tn_dtype dtype, double value);
/* VALUE rounded to a float dtype. */
double runtime_rounded(tn_dtype dtype, double value);
/* The distance from 1 to the next value of a float dtype; 0 for others. */
double runtime_float_unit(tn_dtype dtype);
/* Counts the bytes of the data. False: more than memory can hold. */
bool runtime_array_has_bytes(const DLTensor *array, size_t *bytes);
/* Whether an array is row-major without gaps. Strides of dimensions with extent 1 do not matter. */
bool runtime_array_is_compact(const DLTensor *array);
/* Like tn_array_new, but in pages of its own, which can be made read-only. Free it with tn_array_free. */
TN_GIVE DLTensor *runtime_array_map(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape);
/* The size of those pages. */
size_t runtime_array_mapped_bytes(const DLTensor *array);
/* tn_array_fill, but if BELOW > 0 with integers in [0, BELOW), for arrays used as indices. */
tn_status runtime_array_fill(tn_context *ctx, DLTensor *array, uint64_t seed, int64_t below);
/* Sets element I of a compact array to VALUE, rounded to its dtype. */
void runtime_array_store(DLTensor *array, tn_dtype dtype, int64_t i, double value);
/* Whether the array may be filled: it is compact, on the CPU, and of one of Tenon's dtypes, which *DTYPE
 * gets. CALLER: a name for messages. */
tn_status runtime_array_writable(tn_context *ctx, const char *caller, const DLTensor *array, tn_dtype *dtype);
/* Reads the .npy file at PATH into an array of the same dtype and shape, or writes one (npy.c). */
tn_status runtime_npy_read(tn_context *ctx, const char *path, DLTensor *array);
tn_status runtime_npy_write(tn_context *ctx, const char *path, const DLTensor *array);
/* Writes the strides, in elements, of a compact row-major array of that shape. */
void runtime_compact_strides(int ndim, const int64_t *shape, int64_t *strides);
/* Whether no two elements of an array (with strides that are not negative) share memory; and whether no
 * element of A shares memory with one of B. Also false for strides so intricate that it would take long to
 * find out (overlap.c). */
bool runtime_elements_are_apart(const DLTensor *array);
bool runtime_arrays_are_apart(const DLTensor *a, const DLTensor *b);

/* ---- small things ------------------------------------------------------------------------------------------------ */

/* More threads than any machine has. */
enum { RUNTIME_NO_QUOTA = 1 << 20 };
/* The threads that a cgroup's CPU quota allows, rounded up, from its numbers as text; RUNTIME_NO_QUOTA: no quota. */
int runtime_quota_threads(const char *quota, const char *period);
uint64_t runtime_now_ns(void);                                    /* CLOCK_MONOTONIC */
uint64_t runtime_hash(const void *data, size_t n, uint64_t seed); /* 64 bits, well mixed, equal in all versions */
void runtime_sort(double *values, int n);                         /* ascending */
int runtime_compare_i64(const void *left, const void *right);     /* for qsort of int64_t, ascending */
/* The Q-quantile, Q in [0, 1], of N >= 1 sorted values, interpolated between the two nearest: 0.5 is the median. */
double runtime_quantile(const double *sorted, int n, double q);
/* splitmix64: any state is a good seed, and equal seeds give equal sequences on every machine. A search
 * that must be repeatable keeps one and passes it on; Tenon has no other source of randomness. */
typedef struct runtime_rng {
  uint64_t state;
} runtime_rng; /* splitmix64 */
uint64_t runtime_random(runtime_rng *rng);
int64_t runtime_random_below(runtime_rng *rng, int64_t n); /* 0 .. n-1 */
double runtime_random_unit(runtime_rng *rng);              /* [0, 1) */
/* Writes N multiples of 2^-23 in [-1, 1), each from one number of RNG. */
void runtime_random_floats(runtime_rng *rng, float *out, int64_t n);
TN_GIVE char *runtime_read_file(tn_context *ctx, const char *path,
                                size_t *n); /* malloc, NUL-terminated; NULL + message */
/* The same for a file that must be text. A NUL byte, which would cut it short, is refused with its line and column. */
TN_GIVE char *runtime_read_text(tn_context *ctx, const char *path);

/* Runs RUN(DATA) with at least BYTES of stack: here, or in a thread of its own that is waited for. False:
 * no such thread could be made, and nothing was run. */
bool runtime_with_stack(size_t bytes, void (*run)(void *data), void *data);

/* Whether POINTER, an argument of the public function CALL, is not NULL. If it is, the message says which,
 * unless something failed before: then that is the reason. Public functions use RUNTIME_GIVEN. */
bool runtime_is_given(tn_context *ctx, const char *call, const char *argument, const void *pointer);
#define RUNTIME_GIVEN(ctx, argument) runtime_is_given(ctx, __func__, #argument, argument)

/* Fails with TN_ERROR_PARSE: "WHAT line 1, column 5: message", that line of TEXT, and a caret below AT,
 * which points into TEXT. WHAT is "parse error at", or says which of the user's texts it is. */
tn_status runtime_fail_at(tn_context *ctx, const char *what, const char *text, const char *at, const char *fmt, ...)
    TN_PRINTF(5, 6);
/* The number of characters to change, add or remove to turn A into B (Levenshtein). Only the first 31 of
 * each word count. */
int runtime_edit_distance(const char *a, const char *b);
/* Finds the word that a mistyped one was meant to be: offer all known words, then read WORD, which is NULL
 * if none is close. A word is close if it takes fewer than DISTANCE changes: 3, fewer for words of up to
 * three letters. */
typedef struct runtime_nearest {
  const char *typed, *word;
  int distance;
} runtime_nearest;
/* TYPED and the offered words are kept by address, so they must outlive the search. */
runtime_nearest runtime_nearest_to(const char *typed);
void runtime_nearest_offer(runtime_nearest *nearest, const char *word);
/* Floats as text, for whatever a program reads again: C, JSON, loop IR, records. printf and strtod follow
 * the locale, in which 0.5 may be "0,5"; these never do. runtime_parse_float reads like strtod.
 * runtime_float_text returns the shortest text that gives the value back in the dtype: "0.1", "-0", "inf",
 * "nan". */
double runtime_parse_float(const char *text, char **end);
enum { RUNTIME_FLOAT_TEXT = 40 };
const char *runtime_float_text(char text[RUNTIME_FLOAT_TEXT], double value, tn_dtype dtype);
int runtime_snprintf(char *text, size_t size, const char *fmt, ...) TN_PRINTF(3, 4);
int runtime_vsnprintf(char *text, size_t size, const char *fmt, va_list args);

/* The index of NAME in an array whose rows begin with a text (or are texts); -1: no row has it, or NAME is NULL. */
int runtime_find_row(const void *rows, int n, size_t row_bytes, const char *name);
#define RUNTIME_FIND(array, name) runtime_find_row((array), RUNTIME_COUNT(array), sizeof *(array), (name))
/* The row itself; NULL: there is none. */
#define RUNTIME_ROW(array, name) runtime_row_at((array), RUNTIME_FIND((array), (name)), sizeof *(array))
/* The row at index AT of a table with rows of ROW_BYTES; NULL for -1, which a search returns when it finds none. */
static inline const void *runtime_row_at(const void *rows, int at, size_t row_bytes) {
  return at < 0 ? NULL : (const char *)rows + (size_t)at * row_bytes;
}

/* For arrays only, not pointers. The two macros below evaluate an argument twice. */
#define RUNTIME_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define RUNTIME_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RUNTIME_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
