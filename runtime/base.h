/* base.h: what every folder uses inside the library: the arena, growable arrays, the string builder, failing with a
 * message, hashing, random numbers, clocks. Nothing here is exported. */
#ifndef TENON_RUNTIME_BASE_H
#define TENON_RUNTIME_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/integer.h"
#include "runtime/runtime.h"

/* A size of tables, chunks and buffers: instrumented builds (TENON_INSTRUMENT) take the small one, so that growing,
 * which is rare otherwise, happens every day. */
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
/* tn_dtype_is_float without a call, which the analyses of expressions ask of every node. */
static inline bool runtime_is_float(tn_dtype dtype) {
  return (unsigned)dtype < TN_DTYPE_COUNT && RUNTIME_FLOATS >> dtype & 1;
}

/* ---- arena: many small allocations with one lifetime ------------------------------------------------------------- */

typedef struct runtime_chunk runtime_chunk;

/* Who is told of memory that arenas and arrays take and give back; there is one, and the profiler is it
 * (runtime/profiler/memory.c): what stands on the ground floor does not include it. LEVEL is the profiler's. */
typedef struct runtime_memory_observer {
  void (*taken)(const char *pool, int level, const void *address, size_t bytes);
  void (*returned)(const char *pool, int level, const void *address);
  void (*refused)(const char *pool, size_t bytes);
} runtime_memory_observer;
extern const runtime_memory_observer runtime_the_memory_observer;

/* Who is told that work goes on on another thread while its caller waits (runtime_with_stack): the profiler again, whose
 * tables follow the work (runtime/profiler/profiler.c). SENT runs on the thread that waits, ARRIVED gets its answer on the
 * other one. */
typedef struct runtime_errand_observer {
  const void *(*sent)(void);
  void (*arrived)(const void *from);
} runtime_errand_observer;
extern const runtime_errand_observer runtime_the_errand_observer;

/* Zero-initialise. Allocations are 16-byte aligned and zero-filled.
 * on_oom: where to longjmp when memory runs out (value 1); with NULL an allocation then returns NULL. */
typedef struct runtime_arena {
  runtime_chunk *head;
  size_t used;  /* bytes used in head */
  size_t total; /* bytes reserved over all chunks */
  size_t limit; /* most bytes it may reserve; 0: no limit. Tests use it to make memory run out */
  jmp_buf *on_oom;
  bool failed; /* memory ran out once: for who may not take a NULL for an answer of another kind */
} runtime_arena;

/* BYTES of zeros, aligned to 16; BYTES 0 gives a place of its own, too. What comes back lives until the
 * arena is freed or reset and is never freed alone. Without memory: on_oom decides (above). The three
 * copiers below are the same with the contents of their argument; runtime_strndup stops at a NUL, so N
 * may be more than the text has. */
void *runtime_alloc(runtime_arena *arena, size_t bytes);
void *runtime_copy(runtime_arena *arena, const void *data, size_t bytes);
char *runtime_strdup(runtime_arena *arena, const char *text);
char *runtime_strndup(runtime_arena *arena, const char *text, size_t n);
/* The text that printf would write. It is formatted twice, first for its length: ARGS must not change
 * in between. */
char *runtime_format(runtime_arena *arena, const char *fmt, ...) TN_PRINTF(2, 3);
/* What an allocation without memory does: for what belongs to the arena's work but lies elsewhere. Always NULL. */
void *runtime_arena_lacks(runtime_arena *arena);
void runtime_arena_free(runtime_arena *arena);  /* releases all chunks; the arena can be used again */
void runtime_arena_reset(runtime_arena *arena); /* forgets all, keeps the largest chunk */

#define RUNTIME_NEW(arena, type) ((type *)runtime_alloc((arena), sizeof(type)))
#define RUNTIME_NEW_ARRAY(arena, type, n) ((type *)runtime_alloc((arena), sizeof(type) * (size_t)(n)))

/* ---- growable arrays: typed pointer + count + capacity, in malloc memory ----------------------------------------- */

/* Use: struct { T *data; int n, cap; } v = {0};  RUNTIME_PUSH(&v, value);  RUNTIME_VEC_FREE(&v);
 * PUSH is false when memory ran out (the vector is unchanged then). */
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
/* Doubles *CAP, or makes the first 8. *DATA may move, so no pointer into a vector survives a push.
 * False: nothing has changed; beyond INT_MAX / 2 items it is always false, since counts are int. */
bool runtime_vec_grow(void **data, int *cap, size_t item_bytes);

/* ---- map: from 64-bit keys to 64-bit values, in malloc memory ----------------------------------------------------- */

/* Eight bytes that belong to the caller: the map never follows P and never frees it. */
typedef union runtime_map_value {
  void *p;
  int64_t i;
  double f;
} runtime_map_value;

typedef struct runtime_map_slot {
  uint64_t key; /* 0: free */
  runtime_map_value value;
} runtime_map_slot;

/* Zero-initialise. Keys are addresses, numbers or hashes, never 0. Out of memory sets failed and is then sticky:
 * whoever only remembers what he could compute again may go on, everybody else asks at the end. Release with
 * runtime_map_free. */
typedef struct runtime_map {
  runtime_map_slot *slots;
  runtime_map_slot *lent; /* the first slots, the caller's */
  int n, capacity;
  bool failed;
} runtime_map;

/* Starts a map in N slots of the caller's (a power of two), on his stack for instance: small ones never allocate. */
void runtime_map_lend(runtime_map *map, runtime_map_slot *slots, int n);
/* The value's place, valid until the next entry is made. find: NULL when there is none. at: made when it is new, all
 * zero then; NULL without memory. */
runtime_map_value *runtime_map_find(const runtime_map *map, uint64_t key);
runtime_map_value *runtime_map_at(runtime_map *map, uint64_t key);
/* The same where KEY is the hash of something larger: entries of one hash are told apart by IS_IT, which compares
 * what a value stands for (never asked about 0, which means "new": the caller puts something else there). */
typedef bool (*runtime_map_match)(const void *user, runtime_map_value value);
runtime_map_value *runtime_map_find_match(const runtime_map *map, uint64_t key, runtime_map_match is_it,
                                          const void *user);
runtime_map_value *runtime_map_match_at(runtime_map *map, uint64_t key, runtime_map_match is_it, const void *user);
void runtime_map_clear(runtime_map *map); /* keeps the memory and failed */
void runtime_map_free(runtime_map *map);

/* By address. get: NULL when KEY is not in. put: false without memory. add, for sets: true when KEY was not in yet
 * (without memory it is not in after that either). */
static inline void *runtime_map_get(const runtime_map *map, const void *key) {
  const runtime_map_value *value = runtime_map_find(map, (uint64_t)(uintptr_t)key);
  return value ? value->p : NULL;
}

/* Says VALUE of a pointer; false when memory ended. KEY itself is the key, not what it points to. */
static inline bool runtime_map_put(runtime_map *map, const void *key, const void *value) {
  runtime_map_value *place = runtime_map_at(map, (uint64_t)(uintptr_t)key);
  if (place) place->p = (void *)value;
  return place != NULL;
}

/* For a map used as a set: true only for the first time that KEY is seen, so a walk over a graph that shares nodes goes
 * into each once. */
static inline bool runtime_map_add(runtime_map *map, const void *key) {
  if (runtime_map_get(map, key)) return false;
  runtime_map_put(map, key, key);
  return true;
}

/* A set of texts: equal texts have one address. Set ARENA, where they are kept. */
typedef struct runtime_names {
  runtime_arena *arena;
  runtime_map map;
} runtime_names;

/* The one copy of the first N bytes of TEXT (up to a NUL); NULL without memory. */
const char *runtime_intern(runtime_names *names, const char *text, size_t n);
void runtime_names_free(runtime_names *names); /* the texts stay in the arena */

/* ---- string builder ---------------------------------------------------------------------------------------------- */

/* Zero-initialise, but for LIMIT. data is always NUL-terminated once something was added; out of memory sets failed
 * and is then sticky, and so does text beyond LIMIT. Printers of expressions ask for `failed` at every node: what is
 * small as a graph can be endless as text. Release with runtime_str_free, or move the text out with
 * runtime_str_take or _finish. */
typedef struct runtime_str {
  char *data;
  size_t n, cap;
  size_t limit;         /* bytes; 0: none */
  bool failed, is_full; /* is_full: failed by the limit */
} runtime_str;

/* Appending. TEXT is copied and may not point into S. After a failure these do nothing, so that a
 * printer asks once, at its end. */
void runtime_str_add(runtime_str *s, const char *text);
void runtime_str_addn(runtime_str *s, const char *text, size_t n);
void runtime_str_addf(runtime_str *s, const char *fmt, ...) TN_PRINTF(2, 3);
void runtime_str_addv(runtime_str *s, const char *fmt, va_list args);
/* The same in a function that ends in `...`: FMT is its last named argument. */
#define RUNTIME_ADD_ARGS(s, fmt)         \
  do {                                   \
    va_list args_;                       \
    va_start(args_, fmt);                \
    runtime_str_addv((s), (fmt), args_); \
    va_end(args_);                       \
  } while (0)
/* What printf would write into TEXT, an array; what does not fit is cut off. */
#define RUNTIME_PRINT_ARGS(text, fmt)                    \
  do {                                                   \
    va_list args_;                                       \
    va_start(args_, fmt);                                \
    (void)vsnprintf((text), sizeof(text), (fmt), args_); \
    va_end(args_);                                       \
  } while (0)
void runtime_str_free(runtime_str *s);
char *runtime_str_take(runtime_str *s, runtime_arena *arena); /* copies into arena, frees s; NULL when failed */
/* An empty text that ends at the context's limit on text. */
runtime_str runtime_str_limited(const tn_context *ctx);
/* The text in malloc memory, "" for nothing; NULL after a message that says why there is none. WHAT is "the loop IR". */
TN_GIVE char *runtime_str_finish(runtime_str *s, tn_context *ctx, const char *what);

/* ---- contexts from inside ---------------------------------------------------------------------------------------- */

/* What folders hang on a context, one slot each: X(NAME). tn_context_free releases them from the last to the first,
 * after the kernels. */
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

/* The parts of a context. What hangs on it is freed in the order kernels, slots from the last to the
 * first, arena: kernels run on the pool's threads and hold code of the session, and every slot may keep
 * its data in the arena. */
/* How many objects of a context live. It is a block of its own, which goes with the last of its owners (the context and
 * its arrays): an array may be freed after its context, by any thread. */
typedef enum runtime_held_kind {
  RUNTIME_ARRAYS,
  RUNTIME_SCHEDULES,
  RUNTIME_KERNELS,
  RUNTIME_HELD_KINDS
} runtime_held_kind;
typedef struct runtime_held {
  atomic_llong owners, n[RUNTIME_HELD_KINDS];
} runtime_held;
/* One more object of KIND; and one less, by the block that the first call returned. CTX NULL: nobody counts, and HELD is NULL. */
runtime_held *runtime_hold(tn_context *ctx, runtime_held_kind kind);
void runtime_unhold(runtime_held *held, runtime_held_kind kind);

/* What a user holds of the library; one thread at a time uses it. Status and message are of the first failure,
 * until tn_context_clear. What a folder above hangs on it has a slot (RUNTIME_SLOTS). */
struct tn_context {
  runtime_arena arena; /* lifetime: the context */
  tn_context_options options;
  tn_status status;
  char message[4096];
  int n_quiet; /* quiet stretches around (runtime_quiet_begin) */
  struct {
    void *data;
    void (*release)(void *data); /* NULL: nothing to do, the data lies in the arena */
  } slots[RUNTIME_SLOT_COUNT];
  tn_kernel *kernels; /* the context's kernels that were not freed yet */
  runtime_held *held;
};

/* Keeps status and message if they are the first, passes them to the callback, returns status. CTX may be NULL. */
tn_status runtime_fail(tn_context *ctx, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* False after a message: WHAT, "the program", is longer than the limit on text. */
bool runtime_check_text(tn_context *ctx, const char *what, const char *text);
/* Puts the usual numbers where there is 0. */
void runtime_limits_fill(tn_limits *limits);
/* The limits that hold in a context, none of them 0; of CTX NULL the usual ones. */
const tn_limits *runtime_limits(const tn_context *ctx);
tn_status runtime_fail_limit(tn_context *ctx, tn_status status, const char *name, int64_t most, const char *fmt, ...)
    TN_PRINTF(5, 6);
/* Refuses with a message that says WHAT there is too much of, which limit that breaks, and how it is raised. */
#define RUNTIME_FAIL_LIMIT(ctx, status, name, ...) \
  runtime_fail_limit((ctx), (status), #name, runtime_limits(ctx)->name, __VA_ARGS__)
/* A warning or information: only to the callback. */
void runtime_say(tn_context *ctx, tn_severity severity, const char *fmt, ...) TN_PRINTF(3, 4);
/* NULL when nothing was put there yet. */
static inline void *runtime_slot_get(const tn_context *ctx, runtime_slot slot) { return ctx->slots[slot].data; }
/* Once for a slot, unless RELEASE is NULL. */
void runtime_slot_set(tn_context *ctx, runtime_slot slot, void *data, void (*release)(void *data));

/* A stretch in which refusals are normal, a trial for instance: nothing reaches the user, and afterwards the context
 * is as it was before, earlier failures included. In between its status and message are those of the stretch alone.
 * That memory ran out is no refusal: the end hands it on, for otherwise a trial would fail for no reason that the
 * user can see. */
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
/* Ends it and hands any failure on, as if it came now. Returns its status. */
tn_status runtime_quiet_end_loud(const runtime_quiet *quiet);
/* Whether the context's debug option names this pass; *level gets the number after ':' (1 if absent). */
bool runtime_debug_wants(const tn_context *ctx, const char *pass, int *level);

/* ---- C functions by address (c_call.c) --------------------------------------------------------------------------- */

enum { RUNTIME_MAX_C_ARGS = 64 };
/* An argument: a pointer, or (TN_I32, TN_I64, TN_F32, TN_F64) a number. */
typedef struct runtime_c_arg {
  bool is_pointer;
  tn_dtype dtype;
  union {
    void *pointer;
    int64_t i;
    double f;
  } u;
} runtime_c_arg;
/* Calls `void function(...)`. */
tn_status runtime_call_c(tn_context *ctx, void (*function)(void), int n, const runtime_c_arg *args);

/* ---- kernels from inside ----------------------------------------------------------------------------------------- */

/* A number that a kernel's arguments give by their shapes: it is the extent of some dimension. */
typedef struct runtime_symbol {
  const char *name;
  int64_t least, most;
} runtime_symbol;

/* An extent made of symbols: a program for a stack, in postfix. A step applies an operator to the two on top, or
 * (APPLY NULL) pushes a constant or the value of a symbol, by its number. */
typedef struct runtime_size_op {
  runtime_integer_fn apply;
  bool is_symbol;
  int64_t value;
} runtime_size_op;

/* Where no symbol has its place, the number is in runtime_kernel_arg.shape. The operations leave one
 * value on the stack. */
typedef struct runtime_size {
  int n; /* at most RUNTIME_MAX_SIZE_OPS */
  const runtime_size_op *ops;
  const char *text; /* for messages */
} runtime_size;
enum { RUNTIME_MAX_SIZE_OPS = 256, RUNTIME_MAX_SYMBOLS = 16 };
/* Of a strided argument, in elements: an index of several such dimensions still fits i64. */
#define RUNTIME_MAX_STRIDE (INT64_C(1) << 40)

/* One tensor of a kernel's signature. Texts and sizes belong to whoever fills it in; runtime_kernel_new
 * copies them. */
typedef struct runtime_kernel_arg {
  const char *name;
  tn_dtype dtype;
  int ndim;
  int64_t shape[TN_MAX_RANK];
  bool is_output;
  const runtime_size *size[TN_MAX_RANK]; /* an extent that symbols decide; NULL: it is in SHAPE */
  bool by_value;   /* an input of rank 0: its element stands behind all pointers in the function's parameters */
  bool is_strided; /* its strides, but the last, are values behind the symbols */
  int n_symbols;   /* of the kernel: the same in all its arguments. Their values stand behind all arguments */
  const runtime_symbol *symbols;
} runtime_kernel_arg;

/* Makes a kernel; copies name and args. release(owner) is called by tn_kernel_free (unloads the code). */
TN_GIVE tn_kernel *runtime_kernel_new(tn_context *ctx, const char *name, tn_kernel_fn fn, int n_args,
                                      const runtime_kernel_arg *args, void (*release)(void *owner), void *owner);
/* The arguments that a call gives, *N of them: bound ones are left out. They live as long as the
 * kernel. */
const runtime_kernel_arg *runtime_kernel_args(const tn_kernel *kernel, int *n);
/* Adds the extent of a dimension in words: a number, or what it is made of. */
void runtime_kernel_add_extent(runtime_str *out, const runtime_kernel_arg *arg, int dim);
enum { RUNTIME_MAX_KERNEL_ARGS = 512 }; /* a network's weights are arguments */
/* The kernel's first N arguments are from now on these arrays, which it owns and frees; calls give the others. False:
 * out of memory, and nothing changed. */
bool runtime_kernel_bind(tn_kernel *kernel, int n, DLTensor *const *arrays);
/* What recordings say of one call; 0: unknown. */
typedef struct runtime_kernel_work {
  double flops;
  double bytes_read, bytes_written; /* distinct bytes of arguments */
  double bytes_moved;               /* past the last cache, by the schedule: an estimate */
  double launches;                  /* parallel loops that are started */
  size_t scratch_bytes;             /* taken from the heap, outside of parallel loops */
} runtime_kernel_work;
void runtime_kernel_describe(tn_kernel *kernel, const runtime_kernel_work *work);

/* ---- arrays from inside ------------------------------------------------------------------------------------------ */

enum { RUNTIME_DLTYPE_TEXT = 40 };
/* A DLPack dtype in words ("f32", "u8", "f16x4", "(code 5)64"), written into TEXT. */
const char *runtime_dltype_text(DLDataType dtype, char text[RUNTIME_DLTYPE_TEXT]);
/* Whether a dtype is f16 or bf16. For these: the value of the bits; the bits of VALUE rounded to f32 and then to the
 * nearest value of the dtype, ties to even. */
static inline bool runtime_is_half(tn_dtype dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
double runtime_half_value(tn_dtype dtype, uint16_t bits);
uint16_t runtime_half_bits(tn_dtype dtype, double value);
/* VALUE as a float dtype holds it. */
double runtime_rounded(tn_dtype dtype, double value);
/* The distance of 1 to the next value of a float dtype; 0 for others. */
double runtime_float_unit(tn_dtype dtype);
/* The size of the data. False: no memory holds it. */
bool runtime_array_has_bytes(const DLTensor *array, size_t *bytes);
/* Row-major with no gaps; strides of dimensions of extent 1 do not matter. */
bool runtime_array_is_compact(const DLTensor *array);
/* tn_array_new in pages of its own, which can be made read-only; tn_array_free takes it. */
TN_GIVE DLTensor *runtime_array_map(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape);
/* Of those pages. */
size_t runtime_array_mapped_bytes(const DLTensor *array);
/* tn_array_fill; with BELOW > 0 by integers in [0, BELOW): what may be an index. */
tn_status runtime_array_fill(tn_context *ctx, DLTensor *array, uint64_t seed, int64_t below);
/* Element I of a compact array becomes VALUE, rounded. */
void runtime_array_store(DLTensor *array, tn_dtype dtype, int64_t i, double value);
/* TN_OK with its dtype when CALLER, a name for messages, may fill the array: compact, on the CPU, of a dtype of ours. */
tn_status runtime_array_writable(tn_context *ctx, const char *caller, const DLTensor *array, tn_dtype *dtype);
/* The data of the .npy file at PATH into an array of the same dtype and shape, and back (npy.c). */
tn_status runtime_npy_read(tn_context *ctx, const char *path, DLTensor *array);
tn_status runtime_npy_write(tn_context *ctx, const char *path, const DLTensor *array);
/* Strides, in elements, of a compact row-major array of that shape. */
void runtime_compact_strides(int ndim, const int64_t *shape, int64_t *strides);
/* Whether no two elements of an array, whose strides are not negative, share memory; whether no element of A shares
 * some with one of B. False, too, of strides that are so tangled that it would take long to say (overlap.c). */
bool runtime_elements_are_apart(const DLTensor *array);
bool runtime_arrays_are_apart(const DLTensor *a, const DLTensor *b);

/* ---- small things ------------------------------------------------------------------------------------------------ */

enum { RUNTIME_NO_QUOTA = 1 << 20 };
/* Threads that a cgroup's CPU quota allows, rounded up, from the numbers as text; RUNTIME_NO_QUOTA when there is
 * none. */
int runtime_quota_threads(const char *quota, const char *period);
uint64_t runtime_now_ns(void);                                    /* CLOCK_MONOTONIC */
uint64_t runtime_hash(const void *data, size_t n, uint64_t seed); /* 64-bit, good mixing, stable over versions */
void runtime_sort(double *values, int n);                         /* ascending */
int runtime_compare_i64(const void *left, const void *right);     /* for qsort of int64_t, ascending */
/* The quantile Q in [0, 1] of N >= 1 sorted values, between the two nearest: 0.5 is the median. */
double runtime_quantile(const double *sorted, int n, double q);
/* splitmix64: any state is a good seed, and equal seeds give equal sequences on every machine. A search
 * that is to be repeated keeps one of these and passes it on; nothing else is random in Tenon. */
typedef struct runtime_rng {
  uint64_t state;
} runtime_rng; /* splitmix64 */
uint64_t runtime_random(runtime_rng *rng);
int64_t runtime_random_below(runtime_rng *rng, int64_t n); /* 0 .. n-1 */
double runtime_random_unit(runtime_rng *rng);              /* [0, 1) */
/* N multiples of 2^-23 in [-1, 1), each of one number of RNG. */
void runtime_random_floats(runtime_rng *rng, float *out, int64_t n);
TN_GIVE char *runtime_read_file(tn_context *ctx, const char *path,
                                size_t *n); /* malloc, NUL-terminated; NULL + message */
/* The same for a file that has to be text: a NUL byte, which would cut it short, is refused by its line and column. */
TN_GIVE char *runtime_read_text(tn_context *ctx, const char *path);

/* Runs RUN(DATA) with BYTES of stack at least: here, or in a thread of its own, whose end is waited for. False: there
 * is no such thread to be had, and nothing was run. */
bool runtime_with_stack(size_t bytes, void (*run)(void *data), void *data);

/* Whether the caller gave POINTER, an argument of the public function CALL; the message says which is NULL, unless
 * something failed before: then that is why. RUNTIME_GIVEN in the public function itself. */
bool runtime_is_given(tn_context *ctx, const char *call, const char *argument, const void *pointer);
#define RUNTIME_GIVEN(ctx, argument) runtime_is_given(ctx, __func__, #argument, argument)

/* TN_ERROR_PARSE: "WHAT line 1, column 5: message", that line of TEXT and a caret below AT, which points into TEXT.
 * WHAT is "parse error at", or says which of the user's texts it is. */
tn_status runtime_fail_at(tn_context *ctx, const char *what, const char *text, const char *at, const char *fmt, ...)
    TN_PRINTF(5, 6);
/* How many characters have to be changed, added or left out to make B of A (Levenshtein). Only the first 31 of a word
 * count. */
int runtime_edit_distance(const char *a, const char *b);
/* The known word that is meant by a mistyped one: offer all of them, then read WORD, NULL when none is near. A word is
 * near below DISTANCE changes of a character (Levenshtein): 3, fewer for words of up to three letters. */
typedef struct runtime_nearest {
  const char *typed, *word;
  int distance;
} runtime_nearest;
/* TYPED and the offered words are kept by address and must outlive the search. */
runtime_nearest runtime_nearest_to(const char *typed);
void runtime_nearest_offer(runtime_nearest *nearest, const char *word);
/* The text of floats, for whatever a program reads again: C, JSON, loop IR, records. printf and strtod follow the
 * locale of the program around the library, where 0.5 can be "0,5"; these never do. Reading a number as strtod does;
 * the shortest text (returned) that gives the same value back in the dtype: "0.1", "-0", "inf", "nan"; snprintf. */
double runtime_parse_float(const char *text, char **end);
enum { RUNTIME_FLOAT_TEXT = 40 };
const char *runtime_float_text(char text[RUNTIME_FLOAT_TEXT], double value, tn_dtype dtype);
int runtime_snprintf(char *text, size_t size, const char *fmt, ...) TN_PRINTF(3, 4);
int runtime_vsnprintf(char *text, size_t size, const char *fmt, va_list args);

/* The place of NAME in an array whose rows begin with a text (or are texts); -1: no row has it, or NAME is NULL. */
int runtime_find_row(const void *rows, int n, size_t row_bytes, const char *name);
#define RUNTIME_FIND(array, name) runtime_find_row((array), RUNTIME_COUNT(array), sizeof *(array), (name))
/* The row itself; NULL: there is none. */
#define RUNTIME_ROW(array, name) runtime_row_at((array), RUNTIME_FIND((array), (name)), sizeof *(array))
/* The row at place AT of a table of structures of ROW_BYTES each, NULL for -1: what a search by name returns when there
 * is none. */
static inline const void *runtime_row_at(const void *rows, int at, size_t row_bytes) {
  return at < 0 ? NULL : (const char *)rows + (size_t)at * row_bytes;
}

/* Of an array, not of a pointer. The two below evaluate an argument twice. */
#define RUNTIME_COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define RUNTIME_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RUNTIME_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
