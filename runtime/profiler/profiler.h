/* tenon/profiler.h: where the time went. One recorder for the tuner, the compiler and the kernels, and for C programs
 * of their own (libtenon_profiler needs neither LLVM nor XGBoost).
 *
 *   tn_context *ctx = tn_context_new(NULL);
 *   tn_profile_start(ctx, NULL);                  // everything from here on, on every thread
 *   { TN_TIMED("work"); ... }                     // a scope: ends with its block, also by return, break and goto
 *   tn_profile_stop(ctx);
 *   tn_recording *r = tn_profile_collect(ctx);    // flat arrays: events, lanes, processes, arguments
 *
 * Design. A thread writes one fixed-size record for every event into chunks of its own, without a lock; a scope is
 * written once, at its end, and while it is open it stands on its thread's stack of open scopes. Chunks, stacks, names
 * and lanes lie in one mapping, anonymous or a file's; a file's outlives a killed process and is read back by the same
 * code (tn_recording_recover). Names are interned when a thread first sees them. One word in memory
 * (tn_profile_filter) holds what is wanted: what is not costs a load and a branch. Parents, self times and nanoseconds
 * are worked out by collect.
 *
 * Two ways to look: a session (tn_profile_*) records events of all threads; a tn_profiler only adds seconds up under
 * names on the thread that entered it. Both see the same scopes. Sources: TVM MetaSchedule's Profiler (enter/exit,
 * current, timeit, get, table), Paddle's RecordEvent and make_scheduler, PyTorch's record_function, TensorFlow's
 * TraceMe levels. */
#ifndef TENON_PROFILER_H
#define TENON_PROFILER_H

#include "runtime/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is wanted: categories and levels ----------------------------------------------------------------------- */

/* X(NAME, "name"). USER0 ... are for programs that use the library. */
#define TN_CATEGORIES(X) \
  X(APP, "app")          \
  X(ROUND, "round")      \
  X(TASK, "task")        \
  X(SEARCH, "search")    \
  X(MODEL, "model")      \
  X(BUILD, "build")      \
  X(COMPILE, "compile")  \
  X(LLVM, "llvm")        \
  X(MEASURE, "measure")  \
  X(WORKER, "worker")    \
  X(RECORD, "record")    \
  X(KERNEL, "kernel")    \
  X(MEMORY, "memory")    \
  X(QUEUE, "queue")      \
  X(DEVICE, "device")    \
  X(PLUGIN, "plugin")    \
  X(USER0, "user0")      \
  X(USER1, "user1")      \
  X(USER2, "user2")      \
  X(USER3, "user3")
/* What an event is about. Sessions choose by it, reports colour and sum by it. */
typedef enum tn_category {
#define X(name, text) TN_CATEGORY_##name,
  TN_CATEGORIES(X)
#undef X
      TN_CATEGORY_COUNT
} tn_category;

TN_API const char *tn_category_name(tn_category category); /* "?" outside the enum */
/* The set of bits of a list such as "search,measure"; false for an unknown name. "all" and "" are every category. */
TN_API bool tn_categories_parse(const char *names, uint32_t *out);

/* Levels: 0 always, 1 phases, 2 one event a candidate, 3 one a pass or kernel call, 4 and up finer. */
enum { TN_LEVEL_MAX = 7, TN_LEVEL_DEFAULT = 4 };

/* Bits 0-31: categories; bit 32 + n: level n; bit 63: some thread has entered a tn_profiler. Zero: nothing is on.
 * Only the library writes it. */
TN_API extern uint64_t tn_profile_filter;

/* All that a scope costs while no session runs: one relaxed load and a branch. The filter's word has a bit for each
 * category and level; bit 63 stands for threads in a tn_profiler, which then look closer. */
static inline bool tn_profile_wants(int category, int level) {
  uint64_t wanted = 1ull << category | 1ull << (32 + level),
           word = __atomic_load_n(&tn_profile_filter, __ATOMIC_RELAXED);
  return __builtin_expect(word != 0, 0) && ((word & wanted) == wanted || word >> 63);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* Where an event is written in the program; static, one for each place. */
typedef struct tn_site {
  const char *file, *function;
  int line;
  uint8_t category, level;
} tn_site;

/* A running scope. Plain data; end it once, on the thread that began it (ended on another one it becomes an async
 * range). A zero scope is one that nobody wants. */
typedef struct tn_scope {
  void *open;          /* its place on the thread's stack of open scopes; NULL: no session wants it */
  uint64_t start;      /* clock ticks */
  uint64_t table_hash; /* of its name for tn_profilers; meaningful if table_serial > 0 */
  uint32_t table_serial;
  uint32_t ordinal;    /* its number among the events of its thread */
  uint32_t generation; /* of the session that it belongs to */
  uint32_t state;      /* 0: not wanted, 1: running, 2: ended */
} tn_scope;

/* What the macros call when the filter wants the scope. A literal name is kept by its address, another one is copied.
 * tn_scope_close is idempotent: a second end is counted (tn_profile_stats.double_ends) and does nothing else. */
TN_API tn_scope tn_scope_open(const tn_site *site, const char *name, bool is_literal);
TN_API void tn_scope_close(tn_scope *scope);
static inline void tn_scope_end(tn_scope *scope) {
  if (__builtin_expect(scope && scope->state != 0, 0)) tn_scope_close(scope);
}
/* How reports with tn_average_options.by_role count a scope; Paddle's EventRole. A scope that nobody asked is
 * ordinary. */
typedef enum tn_event_role {
  TN_ROLE_ORDINARY,
  TN_ROLE_INNER,  /* a part of the operator around it: the row "outer/inner" */
  TN_ROLE_UNIQUE, /* every call is a row of its own */
  TN_ROLE_SPECIAL /* outside of the sum that ratios are of */
} tn_event_role;
#define TN_ROLE_KEY "role" /* the argument that carries it: i64 */
TN_API void tn_scope_role(tn_scope *scope, tn_event_role role);
/* Joins the phases of one thing (a candidate) over scopes, threads and processes. */
TN_API void tn_scope_sequence(tn_scope *scope, uint32_t sequence);
/* The next number: unique in this session, 1, 2, 3 ...; 0 when no session records. */
TN_API uint32_t tn_sequence_next(void);

/* Arguments of an event. A string is copied. */
typedef enum tn_event_arg_type {
  TN_EVENT_ARG_I64,
  TN_EVENT_ARG_U64,
  TN_EVENT_ARG_F64,
  TN_EVENT_ARG_TEXT
} tn_event_arg_type;
/* A named value of an event. KEY and text are copied when it is recorded. */
typedef struct tn_event_arg {
  const char *key;
  tn_event_arg_type type;
  union {
    int64_t i64;
    uint64_t u64;
    double f64;
    const char *text;
  };
} tn_event_arg;
TN_API void tn_scope_arg(tn_scope *scope, const tn_event_arg *arg);
static inline tn_event_arg tn_event_arg_i64(const char *key, int64_t value) {
  tn_event_arg arg = {key, TN_EVENT_ARG_I64, {0}};
  arg.i64 = value;
  return arg;
}
static inline tn_event_arg tn_event_arg_u64(const char *key, uint64_t value) {
  tn_event_arg arg = {key, TN_EVENT_ARG_U64, {0}};
  arg.u64 = value;
  return arg;
}
static inline tn_event_arg tn_event_arg_f64(const char *key, double value) {
  tn_event_arg arg = {key, TN_EVENT_ARG_F64, {0}};
  arg.f64 = value;
  return arg;
}
static inline tn_event_arg tn_event_arg_text(const char *key, const char *value) {
  tn_event_arg arg = {key, TN_EVENT_ARG_TEXT, {0}};
  arg.text = value;
  return arg;
}

/* The macros. CATEGORY is a name of TN_CATEGORIES, LEVEL a constant. With TN_PROFILE_OFF they compile to nothing.
 *
 *   TN_SCOPE(SEARCH, 1, "EvoSearch/Evolve");     a scope until the end of the block
 *   TN_SCOPE_AS(scope, MEASURE, 2, "measure");   the same, with a name to hang arguments on:
 *   TN_EVENT_ARG(scope, tn_event_arg_u64("flops", flops(p)));   evaluated only when the scope is recorded
 *   TN_TIMED(name);                              category app, level 1; NAME may be any string */
#define TN_SCOPE_JOIN2(a, b) a##b
#define TN_SCOPE_JOIN(a, b) TN_SCOPE_JOIN2(a, b)
#define TN_SITE(category, level) {__FILE__, __func__, __LINE__, TN_CATEGORY_##category, (level)}
#define TN_NO_SCOPE {NULL, 0, 0, 0, 0, 0, 0}
#ifndef TN_PROFILE_OFF
#define TN_SCOPE_AS(scope, category, level, name)                              \
  static const tn_site TN_SCOPE_JOIN(scope, _site) = TN_SITE(category, level); \
  __attribute__((cleanup(tn_scope_end))) tn_scope scope = TN_NO_SCOPE;         \
  if (tn_profile_wants(TN_CATEGORY_##category, (level)))                       \
  scope = tn_scope_open(&TN_SCOPE_JOIN(scope, _site), (name), __builtin_constant_p(name))
#define TN_EVENT_ARG(scope, ...)                       \
  do {                                                 \
    if (__builtin_expect((scope).state == 1, 0)) {     \
      tn_event_arg tn_event_arg_value = (__VA_ARGS__); \
      tn_scope_arg(&(scope), &tn_event_arg_value);     \
    }                                                  \
  } while (0)
#else
#define TN_SCOPE_AS(scope, category, level, name) __attribute__((unused)) tn_scope scope = TN_NO_SCOPE
#define TN_EVENT_ARG(scope, ...) ((void)0)
#endif
#define TN_SCOPE(category, level, name) TN_SCOPE_AS(TN_SCOPE_JOIN(tn_scope_, __COUNTER__), category, level, name)
#define TN_TIMED(name) TN_SCOPE(APP, 1, name)

/* The same without macros, for names that live until the scope ends or longer (they are copied). */
typedef tn_scope tn_timed;
TN_API tn_timed tn_timed_begin(const char *name);
TN_API void tn_timed_end(tn_timed *scope);

/* ---- other events ------------------------------------------------------------------------------------------------ */
/* All of them: nothing happens unless a session wants the site's category and level. Names are copied when first seen;
 * SITE may be NULL (category app, level 1, no source location). ARGS may be NULL with N_ARGS 0. */

TN_API void tn_mark(const tn_site *site, const char *name, const tn_event_arg *args, int n_args);
TN_API void tn_counter(const tn_site *site, const char *name, double value);
/* A scope measured elsewhere: times of CLOCK_MONOTONIC. Its parent is the scope of this thread that encloses it in
 * time. SEQUENCE 0: none. */
TN_API void tn_event_add(const tn_site *site, const char *name, uint64_t start_ns, uint64_t end_ns, uint32_t sequence,
                         const tn_event_arg *args, int n_args);

/* Arrows from cause to effect: the same id and name at each of the three. */
typedef enum tn_flow_phase { TN_FLOW_START, TN_FLOW_STEP, TN_FLOW_END } tn_flow_phase;
TN_API void tn_flow(const tn_site *site, const char *name, tn_flow_phase phase, uint64_t id);

/* A range that may begin and end on different threads, and overlap others: no children, nobody's child, self time 0. id
 * 0:
 * not wanted. SEQUENCE joins it to other events of the same thing; to be set before it ends. The range stands in the
 * lane of the thread that ends it; where another one began it, the argument TN_BEGAN_ON has that thread's number. */
typedef struct tn_async {
  uint64_t id, start;
  uint32_t label, generation, sequence, lane;
} tn_async;
#define TN_BEGAN_ON "began_on" /* i64: the tid of a tn_lane of the same process */
TN_API tn_async tn_async_begin(const tn_site *site, const char *name);
TN_API void tn_async_end(tn_async *range);

/* Memory: POOL says of which place. An address may be NULL if sizes of frees are given. */
TN_API void tn_memory_alloc(const char *pool, const void *address, size_t bytes);
TN_API void tn_memory_free(const char *pool, const void *address, size_t bytes); /* bytes 0: that of the allocation */
TN_API void tn_memory_failed(const char *pool, size_t bytes);

/* A lane of a device with a clock of its own. NOW reads it (device ns) and is called when the session starts or the
 * lane is opened, and when it stops: times between are mapped linearly. Returns a lane number > 0, or 0: no session, or
 * no clock. */
TN_API int tn_device_lane(const char *name, uint64_t (*now)(void *user), void *user);
TN_API void tn_device_event(int lane, const char *name, uint64_t device_start_ns, uint64_t device_end_ns);

/* Work that this thread gives to a device: the number that tn_device_launched takes, 0: nothing records. The device's
 * time is the scope's that is open here (tn_average.device_ns), and an arrow "launch" leads from here to it. A pool of
 * memory whose name begins with TN_DEVICE_POOL is a device's. */
TN_API uint64_t tn_launch(void);
TN_API void tn_device_launched(int lane, const char *name, uint64_t launch, uint64_t device_start_ns,
                               uint64_t device_end_ns);
#define TN_LAUNCH "launch" /* the arrow's name, and the argument of the device's event: u64 */
#define TN_DEVICE_POOL "/device:"

/* Names this thread's lane from now on; without it the lane has the kernel's name of the thread. */
TN_API void tn_thread_name(const char *name);

/* ---- the processor's counters ------------------------------------------------------------------------------------ */

/* X(NAME, "argument of the event", perf's type, perf's event). Where the machine has them and lets us. */
#define TN_HARDWARE_COUNTERS(X)                              \
  X(CYCLES, "cycles", HARDWARE, HW_CPU_CYCLES)               \
  X(INSTRUCTIONS, "instructions", HARDWARE, HW_INSTRUCTIONS) \
  X(CACHE_MISSES, "cache_misses", HARDWARE, HW_CACHE_MISSES) \
  X(TASK_CLOCK, "task_clock_ns", SOFTWARE, SW_TASK_CLOCK)    \
  X(PAGE_FAULTS, "page_faults", SOFTWARE, SW_PAGE_FAULTS)
enum {
#define X(name, key, type, config) TN_HARDWARE_##name,
  TN_HARDWARE_COUNTERS(X)
#undef X
      TN_HARDWARE_COUNT
};
/* Counters of the whole process since the session began. Only those whose bit HAS says are meaningful. */
typedef struct tn_hardware {
  uint32_t has; /* bits 1 << TN_HARDWARE_... */
  uint64_t value[TN_HARDWARE_COUNT];
} tn_hardware;
/* Where they stand for all threads of the program. False: the session has no tn_profile_options.counters, or the
 * machine has none. Kernels (tn_call) have them without being asked. */
TN_API bool tn_hardware_read(tn_hardware *out);
/* What was counted since BEFORE, as arguments of a running scope. */
TN_API void tn_scope_hardware(tn_scope *scope, const tn_hardware *before);

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* What happens when the memory is full. */
typedef enum tn_drop { TN_DROP_NEW, TN_KEEP_LAST } tn_drop;

typedef struct tn_recording tn_recording;

/* Zero is the default of every field. */
typedef struct tn_profile_options {
  int level;                /* events up to this level (0: TN_LEVEL_DEFAULT; -1: level 0 only) */
  uint32_t categories;      /* bits 1 << tn_category (0: all) */
  size_t max_bytes;         /* of the records (256 MiB) */
  tn_drop drop;             /* what goes when they are full: newest or oldest */
  const char *file;         /* keep the buffers in this file, so that they outlive a kill; NULL: anonymous memory */
  bool keep_file;           /* do not remove FILE when the recording was collected */
  bool stacks;              /* scopes carry the C call stack as argument "stack" */
  bool counters;            /* kernels carry the processor's counters (tn_hardware) */
  const char *process_name; /* NULL: the program's name */
  int node_id;              /* of this process in a cluster plus 1; 0: none */
  const char *pass_through; /* a shared object that gets scopes instead of the buffers (tn_tracer); "usdt": as probes */
  double delay_s;           /* record only from this long after the start, */
  double limit_s;           /* for this long (0: no limit) */
  /* Windows: of the rounds that tn_profile_step counts from 0, leave out the first SKIP, then again and again: CLOSED
   * closed, READY warm-up, RECORD recorded rounds; REPEAT times (0: no limit). RECORD 0: no windows, all is recorded.
   */
  int skip, closed, ready, record, repeat;
  /* At the end of each window: the recording of that window alone, to be freed with tn_recording_free. */
  void (*on_window)(void *user, tn_recording *recording);
  void *user;
} tn_profile_options;

/* What a session is doing. There is one in a process at most. */
typedef enum tn_profile_state {
  TN_PROFILE_IDLE,    /* nothing recorded, nothing to collect */
  TN_PROFILE_WAITING, /* a session with windows, between them */
  TN_PROFILE_RECORDING,
  TN_PROFILE_STOPPED /* to be collected, reset, or replaced by the next start */
} tn_profile_state;

/* Wrong order is TN_ERROR_ARGUMENT, changes nothing, and the message names state and call:
 *
 *              idle      waiting    recording  stopped
 *   start      ok        error      error      ok (what was there is dropped)
 *   step       error     ok         ok         error
 *   reset      error     ok         ok         ok (to idle)      drops what was recorded so far
 *   stop       error     ok         ok         error
 *   collect    error     error      error      ok (to idle)
 *
 * None of the calls is allowed inside on_window. Any thread may call them. CTX (may be NULL) keeps the message. */
TN_API tn_status tn_profile_start(tn_context *ctx, const tn_profile_options *options);
TN_API tn_status tn_profile_stop(tn_context *ctx);
TN_API tn_status tn_profile_reset(tn_context *ctx);
/* Ends round k and begins round k + 1: an event Round#k of category round; moves the windows. */
TN_API tn_status tn_profile_step(tn_context *ctx);
/* Free with tn_recording_free. NULL with a message in the wrong state or without memory. */
TN_API TN_GIVE tn_recording *tn_profile_collect(tn_context *ctx);
TN_API tn_profile_state tn_profile_get_state(void);
/* Options from one text, for a flag or an environment variable: "FILE[:key=value]..." with the keys level,
 * categories (joined by '+'), max (MiB), drop (new, last), stacks and counters (0, 1), delay, limit (seconds), trace
 * (usdt, or the path of a shared object, for pass_through). *output gets FILE (malloc'ed), which the caller writes the
 * trace to; options->pass_through lies behind it and lives as long. A bad text is TN_ERROR_ARGUMENT with a message that
 * names the accepted values. */
TN_API tn_status tn_profile_parse(tn_context *ctx, const char *text, tn_profile_options *options,
                                  TN_GIVE char **output);

/* What the recorder says about itself. Nanoseconds of its own work, and what it cost. */
typedef struct tn_profile_stats {
  uint64_t events, dropped, lanes, bytes;
  uint64_t double_ends, overlaps, unfinished, unknown_frees, lost_names;
  uint64_t start_ns, stop_ns, collect_ns, parse_ns, export_ns;
  double event_cost_ns; /* of one enabled scope, measured when the session starts */
} tn_profile_stats;

/* External tracers (NVTX, ITT, USDT and the like): a shared object that defines tn_tracer_init. */
typedef struct tn_tracer {
  size_t struct_size; /* sizeof(tn_tracer) of the library; fill no member beyond it */
  void *user;
  void (*push)(void *user, const char *name);
  void (*pop)(void *user);
  void (*mark)(void *user, const char *name); /* may be NULL */
} tn_tracer;
#define TN_TRACER_INIT "tn_tracer_init" /* int tn_tracer_init(tn_tracer *tracer): 0 is success */

/* ---- what a session records beside the program's scopes ---------------------------------------------------------- */

/* As XProf numbers them. */
typedef enum tn_device_type {
  TN_DEVICE_UNSPECIFIED = 0,
  TN_DEVICE_CPU = 1,
  TN_DEVICE_GPU = 2,
  TN_DEVICE_TPU = 3,
  TN_DEVICE_PLUGGABLE = 4
} tn_device_type;

/* Zero-initialised is not the default: tn_device_options_default is. */
typedef struct tn_device_options {
  int version;                  /* 1 */
  tn_device_type device_type;   /* plug-ins are started for UNSPECIFIED and PLUGGABLE */
  bool include_dataset_ops;     /* (true) */
  unsigned host_tracer_level;   /* 0: no events of the host; 1: level 1 at most; 2: the session's (default); 3: all */
  unsigned device_tracer_level; /* 0: plug-ins are not started; 1 */
  unsigned python_tracer_level; /* 0 */
  bool enable_hlo_proto;        /* (true) */
  uint64_t start_timestamp_ns;  /* UNIX time from which on is recorded; 0: at once */
  uint64_t duration_ms;         /* what goes on then is cut there; plug-ins run until the stop. 0: until the stop */
  const char *repository_path;  /* collect writes PATH/plugins/profile/TIME/HOST.xplane.pb; NULL or "": nothing */
} tn_device_options;
/* For the sessions from now on, narrower than their tn_profile_options; NULL: none again. The path is copied.
 * TN_ERROR_ARGUMENT while a session runs. Programs call tn_device_options_set (profiler_loader.h). */
TN_API tn_status tn_profile_set_device_options(tn_context *ctx, const tn_device_options *options);

/* Something that observes beside the program's threads: a plug-in, counters of the machine. Its functions are called by
 * the thread that starts, stops or collects the session, never two at once, and must not call tn_profile_*. Any of them
 * may be NULL. DEVICE is what tn_profile_set_device_options said, NULL when nothing. */
typedef struct tn_profile_source {
  size_t struct_size; /* sizeof(tn_profile_source) */
  void *user;
  void (*start)(void *user, const tn_device_options *device);
  void (*stop)(void *user);
  void (*collect)(void *user, tn_recording *into); /* adds its events; INTO is not finished yet */
  void (*drop)(void *user);                        /* forgets what it has */
  /* Looks at what the session gives to its user, whole; may write it somewhere. */
  void (*finished)(void *user, tn_recording *recording, const tn_device_options *device);
} tn_profile_source;
/* Joins every session from now on. SOURCE is kept by its address until it is removed. TN_ERROR_ARGUMENT while a session
 * runs, and for one to be removed that was not added. */
TN_API tn_status tn_profile_add_source(tn_context *ctx, const tn_profile_source *source);
TN_API tn_status tn_profile_remove_source(tn_context *ctx, const tn_profile_source *source);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/* X(NAME, "name") */
#define TN_EVENT_KINDS(X) \
  X(SCOPE, "scope")       \
  X(ASYNC, "async")       \
  X(INSTANT, "instant")   \
  X(COUNTER, "counter")   \
  X(FLOW, "flow")         \
  X(MEMORY, "memory")
/* What kinds of events there are; tn_event's fields say which of them use a field. */
typedef enum tn_event_kind {
#define X(name, text) TN_EVENT_##name,
  TN_EVENT_KINDS(X)
#undef X
      TN_EVENT_KIND_COUNT
} tn_event_kind;

enum {
  TN_EVENT_UNFINISHED = 1, /* was open when the session stopped */
  TN_EVENT_KILLED = 2,     /* was open when its process died */
  TN_EVENT_OVERLAP = 4,    /* a scope that overlaps another of its thread in part: no parent */
  TN_EVENT_FREE = 8,       /* memory: a release */
  TN_EVENT_FAILED = 16,    /* memory: an allocation that failed */
  TN_EVENT_UNKNOWN = 32,   /* memory: a release of what was never seen */
  TN_EVENT_ADDED = 64,     /* measured elsewhere: tn_event_add */
  TN_EVENT_DEVICE = 128    /* of a device's lane */
};

/* One event. Indices are into the recording's arrays; -1: none. Times are ns after tn_recording_info.start_ns. */
typedef struct tn_event {
  int64_t start_ns, duration_ns; /* duration 0 for what has none */
  int64_t self_ns;               /* scopes: without direct children; async: 0 */
  uint64_t id;                   /* flow and async: what is joined; memory: the address */
  union {
    double value;  /* counter */
    int64_t bytes; /* memory: change; positive for an allocation and for a failed one */
  };
  int64_t current;  /* memory: bytes in use of its pool after the event */
  const char *name; /* interned: equal names of one recording have equal pointers */
  int32_t lane;     /* index of its tn_lane */
  int32_t parent;   /* index of the enclosing scope on its lane (the innermost open one, also for marks and memory) */
  int32_t first_arg, n_args;
  int32_t site;      /* index of its tn_source */
  uint32_t sequence; /* 0: none */
  uint8_t kind;      /* tn_event_kind */
  uint8_t category, level;
  uint8_t phase; /* flow: tn_flow_phase */
  uint16_t flags;
} tn_event;

/* A thread, or a stream of a device. DROPPED: events that there was no room for. */
typedef struct tn_lane {
  const char *name;
  int64_t tid;
  int32_t process; /* index of its tn_process */
  bool is_device;
  uint64_t dropped;
} tn_lane;

/* A process that took part. Times of a remote one are moved onto this machine's clock. */
typedef struct tn_process {
  const char *name, *host;
  int64_t pid;
  int32_t node_id; /* -1: none */
  bool is_remote, was_killed;
  int64_t clock_offset_ns, clock_bound_ns; /* of a remote one: what was added to its times, and the error at most */
} tn_process;

/* Where in a program an event was recorded. */
typedef struct tn_source {
  const char *file, *function; /* file without folders; "" when unknown */
  int line;
} tn_source;

/* What a recording knows of itself. */
typedef struct tn_recording_info {
  int64_t start_ns;      /* of CLOCK_MONOTONIC: 0 of the events' times */
  int64_t duration_ns;   /* start to stop */
  int64_t start_unix_ns; /* the same moment as UNIX time */
  int n_rounds;
  int64_t cpu_ns;         /* processor time of the recording process from start to stop; 0: unknown */
  int64_t peak_rss_bytes; /* of the recording process */
  tn_profile_stats stats;
} tn_recording_info;

TN_API void tn_recording_free(TN_TAKE tn_recording *recording);
/* The arrays; *n gets the length. Events stand lane by lane, in the order in which they began; parents before children.
 * They live as long as the recording. */
TN_API const tn_event *tn_recording_events(const tn_recording *recording, int64_t *n);
TN_API const tn_lane *tn_recording_lanes(const tn_recording *recording, int *n);
TN_API const tn_process *tn_recording_processes(const tn_recording *recording, int *n);
TN_API const tn_source *tn_recording_sources(const tn_recording *recording, int *n);
TN_API const tn_event_arg *tn_recording_args(const tn_recording *recording, int64_t *n);
TN_API const tn_recording_info *tn_recording_get_info(const tn_recording *recording);
/* Errors of plug-ins and warnings (drops, a missing tracer), a line each; "" without. */
TN_API const char *tn_recording_errors(const tn_recording *recording);
TN_API const char *tn_recording_warnings(const tn_recording *recording);
/* Rebuilds a recording from the buffers' file of a process that was killed (tn_profile_options.file). */
TN_API TN_GIVE tn_recording *tn_recording_recover(tn_context *ctx, const char *path);
/* Folded stacks, "frame;frame value" a line, root first, value in us of self time, where it is not 0; malloc'ed. */
TN_API TN_GIVE char *tn_recording_folded(const tn_recording *recording);

/* Bytes by range: self and total of every event that is a scope, and what belongs to no scope. Arrays of one item for
 * each event, either may be NULL. */
TN_API void tn_recording_memory(const tn_recording *recording, int64_t *self_bytes, int64_t *total_bytes,
                                int64_t *outside);

/* ---- profilers: seconds under names ------------------------------------------------------------------------------ */

typedef struct tn_profiler tn_profiler;

TN_API TN_GIVE tn_profiler *tn_profiler_new(void); /* NULL: no memory */
TN_API void tn_profiler_free(TN_TAKE tn_profiler *profiler);
/* TVM's rule: what this profiler sees, the ones around it do not. The default is that all see it. */
TN_API void tn_profiler_set_exclusive(tn_profiler *profiler, bool is_exclusive);
/* Pushes on this thread's stack and starts "Total"; exit must name the profiler on top (TN_ERROR_ARGUMENT else).
 * Re-entering after an exit adds to the same Total. Entering one that is already on the stack is refused. */
TN_API tn_status tn_profiler_enter(tn_profiler *profiler);
TN_API tn_status tn_profiler_exit(tn_profiler *profiler);
/* Another thread's scopes count, too, from its join to its leave: their times are added at the next exit, so that they
 * are to leave before it. Of several threads' times at once the sum may exceed Total. TN_ERROR_ARGUMENT on the thread
 * that entered the profiler, for joining twice, and for leaving another than the innermost. */
TN_API tn_status tn_profiler_join(tn_profiler *profiler);
TN_API tn_status tn_profiler_leave(tn_profiler *profiler);
TN_API TN_KEEP tn_profiler *tn_profiler_current(void); /* innermost of this thread, or NULL */
/* Adds seconds under a name: for times measured elsewhere (worker processes). */
TN_API void tn_profiler_add(tn_profiler *profiler, const char *name, double seconds, int64_t calls);
/* Seconds under a name; 0 when there is none. A name inside itself counts once. */
TN_API double tn_profiler_get(const tn_profiler *profiler, const char *name);
TN_API int64_t tn_profiler_calls(const tn_profiler *profiler, const char *name);
/* Walks all names in order of first appearance. */
TN_API int tn_profiler_count(const tn_profiler *profiler);
TN_API const char *tn_profiler_name_at(const tn_profiler *profiler, int index, double *seconds, int64_t *calls);
/* TVM's table: columns ID, Name, Time (min), Percentage; rows by percentage, descending; Total first with a blank ID.
 * malloc'ed; NULL while the profiler has no finished Total (tn_profiler_table_error says which). */
TN_API TN_GIVE char *tn_profiler_table(const tn_profiler *profiler);
/* Why there is no table, in words: empty, or still inside. NULL when there is one. */
TN_API const char *tn_profiler_table_error(const tn_profiler *profiler);

#ifdef __cplusplus
}
#endif
#endif
