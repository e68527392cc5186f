/* tenon/profiler.h: where the time went. One recorder for the tuner, the compiler and the kernels, and for C programs
 * of their own (libtenon_profiler needs neither LLVM nor XGBoost).
 *
 *   tn_context *ctx = tn_context_new(NULL);
 *   tn_profile_start(ctx, NULL);                  // everything from here on, on every thread
 *   { TN_TIMED("work"); ... }                     // a scope: ends with its block, also by return, break and goto
 *   tn_profile_stop(ctx);
 *   tn_recording *r = tn_profile_collect(ctx);    // flat arrays: events, lanes, processes, arguments
 *
 * Design. A thread writes a fixed-size record for every event into chunks of its own, without a lock. A
 * scope is written once, at its end; while it is open it is on its thread's stack of open scopes. Chunks,
 * stacks, names and lanes are in one mapping, anonymous or of a file; a file outlives a killed process and
 * is read back by the same code (tn_recording_recover). Names are interned when a thread first sees them.
 * One word in memory (tn_profile_filter) says what is wanted; what is not costs a load and a branch.
 * Parents, self times and nanoseconds are computed by collect.
 *
 * There are two ways to look: a session (tn_profile_*) records the events of all threads; a tn_profiler
 * only adds up seconds under names on the thread that entered it. Both see the same scopes. Sources: TVM
 * MetaSchedule's Profiler (enter/exit, current, timeit, get, table), Paddle's RecordEvent and
 * make_scheduler, PyTorch's record_function, TensorFlow's TraceMe levels. */
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
/* What an event is about. Sessions select by it; reports colour and sum by it. */
typedef enum tn_category {
#define X(name, text) TN_CATEGORY_##name,
  TN_CATEGORIES(X)
#undef X
      TN_CATEGORY_COUNT
} tn_category;

TN_API const char *tn_category_name(tn_category category); /* "?" outside the enum */
/* The bits of a list such as "search,measure"; false for an unknown name. "all" and "" mean every category. */
TN_API bool tn_categories_parse(const char *names, uint32_t *out);

/* Levels: 0 always, 1 phases, 2 one event for each candidate, 3 one for each pass or kernel call, 4 and up finer. */
enum { TN_LEVEL_MAX = 7, TN_LEVEL_DEFAULT = 4 };

/* Bits 0-31: categories; bit 32 + n: level n; bit 63: some thread has entered a tn_profiler. Zero: nothing
 * is on. Only the library writes it. */
TN_API extern uint64_t tn_profile_filter;

/* This is all that a scope costs while no session runs: one relaxed load and a branch. If bit 63 is set
 * some thread is in a tn_profiler, so each scope looks closer. */
static inline bool tn_profile_wants(int category, int level) {
  uint64_t wanted = 1ull << category | 1ull << (32 + level),
           word = __atomic_load_n(&tn_profile_filter, __ATOMIC_RELAXED);
  return __builtin_expect(word != 0, 0) && ((word & wanted) == wanted || word >> 63);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* Where an event is recorded in the program; static, one for each place. */
typedef struct tn_site {
  const char *file, *function;
  int line;
  uint8_t category, level;
} tn_site;

/* A running scope. Plain data; end it once, on the thread that began it (ended on another thread it becomes
 * an async range). A zeroed scope is one that nobody wants. */
typedef struct tn_scope {
  void *open;          /* its place on the thread's stack of open scopes; NULL: no session wants it */
  uint64_t start;      /* clock ticks */
  uint64_t table_hash; /* of its name for tn_profilers; meaningful if table_serial > 0 */
  uint32_t table_serial;
  uint32_t ordinal;    /* its number among the events of its thread */
  uint32_t generation; /* of the session it belongs to */
  uint32_t state;      /* 0: not wanted, 1: running, 2: ended */
} tn_scope;

/* What the macros call if the filter wants the scope. A literal name is identified by its address; another
 * one is copied. A second tn_scope_close of a scope is only counted (tn_profile_stats.double_ends). */
TN_API tn_scope tn_scope_open(const tn_site *site, const char *name, bool is_literal);
TN_API void tn_scope_close(tn_scope *scope);
static inline void tn_scope_end(tn_scope *scope) {
  if (__builtin_expect(scope && scope->state != 0, 0)) tn_scope_close(scope);
}
/* How reports with tn_average_options.by_role count a scope; Paddle's EventRole. A scope without a role is ordinary. */
typedef enum tn_event_role {
  TN_ROLE_ORDINARY,
  TN_ROLE_INNER,  /* a part of the operator around it: the row "outer/inner" */
  TN_ROLE_UNIQUE, /* every call is a row of its own */
  TN_ROLE_SPECIAL /* outside of the sum that ratios refer to */
} tn_event_role;
#define TN_ROLE_KEY "role" /* the argument that carries it: i64 */
TN_API void tn_scope_role(tn_scope *scope, tn_event_role role);
/* Connects the phases of one thing (a candidate) across scopes, threads and processes. */
TN_API void tn_scope_sequence(tn_scope *scope, uint32_t sequence);
/* The next number, unique in this session: 1, 2, 3 ...; 0 when no session records. */
TN_API uint32_t tn_sequence_next(void);

/* The type of an event's argument. Strings are copied. */
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

/* The same without macros. NAME is copied. */
typedef tn_scope tn_timed;
TN_API tn_timed tn_timed_begin(const char *name);
TN_API void tn_timed_end(tn_timed *scope);

/* ---- other events ------------------------------------------------------------------------------------------------ */
/* For all of these: nothing happens unless a session wants the site's category and level. Names are copied when
 * first seen. SITE may be NULL (category app, level 1, no source location). ARGS may be NULL with N_ARGS 0. */

TN_API void tn_mark(const tn_site *site, const char *name, const tn_event_arg *args, int n_args);
TN_API void tn_counter(const tn_site *site, const char *name, double value);
/* Adds a scope measured elsewhere, with times of CLOCK_MONOTONIC. Its parent is the scope of this thread
 * that encloses it in time. SEQUENCE 0: none. */
TN_API void tn_event_add(const tn_site *site, const char *name, uint64_t start_ns, uint64_t end_ns, uint32_t sequence,
                         const tn_event_arg *args, int n_args);

/* Arrows from cause to effect, with the same id and name at each of the three. */
typedef enum tn_flow_phase { TN_FLOW_START, TN_FLOW_STEP, TN_FLOW_END } tn_flow_phase;
TN_API void tn_flow(const tn_site *site, const char *name, tn_flow_phase phase, uint64_t id);

/* A range that may begin and end on different threads and overlap others. It has no parent and no children,
 * and its self time is 0. id 0: it is not wanted. SEQUENCE connects it to other events of the same thing; set
 * it before the range ends. The range is in the lane of the thread that ends it. If another thread began it,
 * the argument TN_BEGAN_ON has that thread's number. */
typedef struct tn_async {
  uint64_t id, start;
  uint32_t label, generation, sequence, lane;
} tn_async;
#define TN_BEGAN_ON "began_on" /* i64: the tid of a tn_lane of the same process */
TN_API tn_async tn_async_begin(const tn_site *site, const char *name);
TN_API void tn_async_end(tn_async *range);

/* Memory. POOL names the kind of memory. An address may be NULL if frees give their sizes. */
TN_API void tn_memory_alloc(const char *pool, const void *address, size_t bytes);
TN_API void tn_memory_free(const char *pool, const void *address, size_t bytes); /* bytes 0: that of the allocation */
TN_API void tn_memory_failed(const char *pool, size_t bytes);

/* A lane for a device with a clock of its own. NOW reads that clock (in ns); it is called when the session
 * starts or the lane is opened, and when the session stops. Times between are mapped linearly. Returns a
 * lane number > 0, or 0: no session, or no clock. */
TN_API int tn_device_lane(const char *name, uint64_t (*now)(void *user), void *user);
TN_API void tn_device_event(int lane, const char *name, uint64_t device_start_ns, uint64_t device_end_ns);

/* For work that this thread gives to a device: a number for tn_device_launched; 0: nothing records. The
 * device's time is attributed to the scope that is open here (tn_average.device_ns), and an arrow "launch"
 * leads from here to it. A pool of memory whose name begins with TN_DEVICE_POOL is a device's. */
TN_API uint64_t tn_launch(void);
TN_API void tn_device_launched(int lane, const char *name, uint64_t launch, uint64_t device_start_ns,
                               uint64_t device_end_ns);
#define TN_LAUNCH "launch" /* the arrow's name, and an argument of the device's event: u64 */
#define TN_DEVICE_POOL "/device:"

/* Names this thread's lane from now on. Otherwise the lane has the thread's name in the kernel. */
TN_API void tn_thread_name(const char *name);

/* ---- the processor's counters ------------------------------------------------------------------------------------ */

/* X(NAME, "argument of the event", perf's type, perf's event). Recorded where the machine has them and allows it. */
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
/* The counters of the whole process since the session began. A value is valid if its bit in HAS is set. */
typedef struct tn_hardware {
  uint32_t has; /* bits 1 << TN_HARDWARE_... */
  uint64_t value[TN_HARDWARE_COUNT];
} tn_hardware;
/* Reads the counters for all threads of the program. False: the session lacks tn_profile_options.counters,
 * or the machine has no counters. Kernels (tn_call) have them without being asked. */
TN_API bool tn_hardware_read(tn_hardware *out);
/* Adds what was counted since BEFORE to a running scope, as arguments. */
TN_API void tn_scope_hardware(tn_scope *scope, const tn_hardware *before);

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* What happens when the memory is full: the newest or the oldest events are lost. */
typedef enum tn_drop { TN_DROP_NEW, TN_KEEP_LAST } tn_drop;

typedef struct tn_recording tn_recording;

/* Zero is the default of every field. */
typedef struct tn_profile_options {
  int level;                /* events up to this level (0: TN_LEVEL_DEFAULT; -1: level 0 only) */
  uint32_t categories;      /* bits 1 << tn_category (0: all) */
  size_t max_bytes;         /* for the records (0: 256 MiB) */
  tn_drop drop;             /* which events are lost when they are full */
  const char *file;         /* keep the buffers in this file, so that they outlive a kill; NULL: anonymous memory */
  bool keep_file;           /* do not remove FILE after the recording was collected */
  bool stacks;              /* scopes have the C call stack as the argument "stack" */
  bool counters;            /* kernels have the processor's counters (tn_hardware) */
  const char *process_name; /* NULL: the program's name */
  int node_id;              /* of this process in a cluster, plus 1; 0: none */
  const char *pass_through; /* a shared object that gets scopes instead of the buffers (tn_tracer); "usdt": probes */
  double delay_s;           /* record only from this long after the start on */
  double limit_s;           /* and only for this long (0: no limit) */
  /* Windows over the rounds that tn_profile_step counts from 0: the first SKIP are left out; then, again and
   * again, CLOSED rounds are left out, READY are warm-up, and RECORD are recorded; REPEAT times (0: no limit).
   * RECORD 0: no windows, everything is recorded. */
  int skip, closed, ready, record, repeat;
  /* Called at the end of each window with the recording of that window alone. Free it with tn_recording_free. */
  void (*on_window)(void *user, tn_recording *recording);
  void *user;
} tn_profile_options;

/* What a session is doing. A process has at most one. */
typedef enum tn_profile_state {
  TN_PROFILE_IDLE,    /* nothing recorded, nothing to collect */
  TN_PROFILE_WAITING, /* a session with windows, between them */
  TN_PROFILE_RECORDING,
  TN_PROFILE_STOPPED /* to be collected, reset, or replaced by the next start */
} tn_profile_state;

/* A call in the wrong order is TN_ERROR_ARGUMENT and changes nothing; the message names state and call:
 *
 *              idle      waiting    recording  stopped
 *   start      ok        error      error      ok (what was there is dropped)
 *   step       error     ok         ok         error
 *   reset      error     ok         ok         ok (to idle)      drops what was recorded so far
 *   stop       error     ok         ok         error
 *   collect    error     error      error      ok (to idle)
 *
 * None of the calls is allowed inside on_window. Any thread may make them. CTX (may be NULL) keeps the message. */
TN_API tn_status tn_profile_start(tn_context *ctx, const tn_profile_options *options);
TN_API tn_status tn_profile_stop(tn_context *ctx);
TN_API tn_status tn_profile_reset(tn_context *ctx);
/* Ends round k, an event Round#k of category round, and begins round k + 1; moves the windows. */
TN_API tn_status tn_profile_step(tn_context *ctx);
/* Free with tn_recording_free. NULL with a message: wrong state, or no memory. */
TN_API TN_GIVE tn_recording *tn_profile_collect(tn_context *ctx);
TN_API tn_profile_state tn_profile_get_state(void);
/* Options from one text, for a flag or an environment variable: "FILE[:key=value]..." with the keys level,
 * categories (joined by '+'), max (MiB), drop (new, last), stacks and counters (0, 1), delay, limit
 * (seconds), trace (usdt, or the path of a shared object, for pass_through). *output gets FILE, malloc'ed,
 * to which the caller writes the trace; options->pass_through is in the same block. A wrong text is
 * TN_ERROR_ARGUMENT with a message that lists what is accepted. */
TN_API tn_status tn_profile_parse(tn_context *ctx, const char *text, tn_profile_options *options,
                                  TN_GIVE char **output);

/* What the recorder says about itself: counts, nanoseconds of its own work, and its cost. */
typedef struct tn_profile_stats {
  uint64_t events, dropped, lanes, bytes;
  uint64_t double_ends, overlaps, unfinished, unknown_frees, lost_names;
  uint64_t start_ns, stop_ns, collect_ns, parse_ns, export_ns;
  double event_cost_ns; /* of one enabled scope, measured when the session starts */
} tn_profile_stats;

/* External tracers (NVTX, ITT, USDT and the like): shared objects that define tn_tracer_init. */
typedef struct tn_tracer {
  size_t struct_size; /* sizeof(tn_tracer) in the library; fill no member beyond it */
  void *user;
  void (*push)(void *user, const char *name);
  void (*pop)(void *user);
  void (*mark)(void *user, const char *name); /* may be NULL */
} tn_tracer;
#define TN_TRACER_INIT "tn_tracer_init" /* int tn_tracer_init(tn_tracer *tracer): 0 is success */

/* ---- what a session records beside the program's scopes ---------------------------------------------------------- */

/* Numbered as in XProf. */
typedef enum tn_device_type {
  TN_DEVICE_UNSPECIFIED = 0,
  TN_DEVICE_CPU = 1,
  TN_DEVICE_GPU = 2,
  TN_DEVICE_TPU = 3,
  TN_DEVICE_PLUGGABLE = 4
} tn_device_type;

/* Start from tn_device_options_default: zeros are not the defaults. */
typedef struct tn_device_options {
  int version;                  /* 1 */
  tn_device_type device_type;   /* plug-ins are started for UNSPECIFIED and PLUGGABLE */
  bool include_dataset_ops;     /* (true) */
  unsigned host_tracer_level;   /* 0: no events of the host; 1: level 1 at most; 2: the session's (default); 3: all */
  unsigned device_tracer_level; /* 0: plug-ins are not started; 1 */
  unsigned python_tracer_level; /* 0 */
  bool enable_hlo_proto;        /* (true) */
  uint64_t start_timestamp_ns;  /* record from this UNIX time on; 0: at once */
  uint64_t duration_ms;         /* record for this long; plug-ins run until the stop. 0: until the stop */
  const char *repository_path;  /* collect writes PATH/plugins/profile/TIME/HOST.xplane.pb; NULL or "": nothing */
} tn_device_options;
/* Narrows all sessions from now on, beyond their tn_profile_options; NULL ends that. The path is copied.
 * TN_ERROR_ARGUMENT while a session runs. Programs call tn_device_options_set (profiler_loader.h). */
TN_API tn_status tn_profile_set_device_options(tn_context *ctx, const tn_device_options *options);

/* Something that observes besides the program's threads: a plug-in, or counters of the machine. Its
 * functions are called by the thread that starts, stops or collects the session, never two at once, and
 * must not call tn_profile_*. Each may be NULL. DEVICE: what tn_profile_set_device_options set, or NULL. */
typedef struct tn_profile_source {
  size_t struct_size; /* sizeof(tn_profile_source) */
  void *user;
  void (*start)(void *user, const tn_device_options *device);
  void (*stop)(void *user);
  void (*collect)(void *user, tn_recording *into); /* adds its events; INTO is not finished yet */
  void (*drop)(void *user);                        /* forgets what it has */
  /* Sees the complete recording that the user gets; may write it somewhere. */
  void (*finished)(void *user, tn_recording *recording, const tn_device_options *device);
} tn_profile_source;
/* Makes SOURCE join every session from now on, or no longer. It is kept by its address until it is removed.
 * TN_ERROR_ARGUMENT while a session runs, and for removing one that was not added. */
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
/* The kinds of events; comments in tn_event say which kinds use a member. */
typedef enum tn_event_kind {
#define X(name, text) TN_EVENT_##name,
  TN_EVENT_KINDS(X)
#undef X
      TN_EVENT_KIND_COUNT
} tn_event_kind;

/* Bits of tn_event.flags. */
enum {
  TN_EVENT_UNFINISHED = 1, /* was open when the session stopped */
  TN_EVENT_KILLED = 2,     /* was open when its process died */
  TN_EVENT_OVERLAP = 4,    /* a scope that partly overlaps another of its thread: no parent */
  TN_EVENT_FREE = 8,       /* memory: a release */
  TN_EVENT_FAILED = 16,    /* memory: an allocation that failed */
  TN_EVENT_UNKNOWN = 32,   /* memory: a release of an unknown address */
  TN_EVENT_ADDED = 64,     /* measured elsewhere: tn_event_add */
  TN_EVENT_DEVICE = 128    /* of a device's lane */
};

/* One event. Indices refer to the recording's arrays; -1: none. Times are ns after tn_recording_info.start_ns. */
typedef struct tn_event {
  int64_t start_ns, duration_ns; /* 0 for kinds without a duration */
  int64_t self_ns;               /* scopes: without direct children; async: 0 */
  uint64_t id;                   /* flow and async: what is joined; memory: the address */
  union {
    double value;  /* counter */
    int64_t bytes; /* memory: the change; positive for an allocation and for a failed one */
  };
  int64_t current;  /* memory: bytes in use in its pool after the event */
  const char *name; /* interned: equal names of one recording have equal addresses */
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

/* A thread, or a stream of a device. DROPPED: events for which there was no room. */
typedef struct tn_lane {
  const char *name;
  int64_t tid;
  int32_t process; /* index of its tn_process */
  bool is_device;
  uint64_t dropped;
} tn_lane;

/* A process that took part. Times of a remote one have been moved to this machine's clock. */
typedef struct tn_process {
  const char *name, *host;
  int64_t pid;
  int32_t node_id; /* -1: none */
  bool is_remote, was_killed;
  int64_t clock_offset_ns, clock_bound_ns; /* of a remote one: added to its times; the largest error */
} tn_process;

/* Where in a program an event was recorded. */
typedef struct tn_source {
  const char *file, *function; /* file without folders; "" when unknown */
  int line;
} tn_source;

/* Facts about a recording as a whole. */
typedef struct tn_recording_info {
  int64_t start_ns;      /* by CLOCK_MONOTONIC; the events' times count from here */
  int64_t duration_ns;   /* start to stop */
  int64_t start_unix_ns; /* the same moment as UNIX time */
  int n_rounds;
  int64_t cpu_ns;         /* processor time of the recording process from start to stop; 0: not known */
  int64_t peak_rss_bytes; /* of the recording process */
  tn_profile_stats stats;
} tn_recording_info;

TN_API void tn_recording_free(TN_TAKE tn_recording *recording);
/* The arrays; *n gets the length. Events are ordered by lane, then by beginning; parents come before
 * children. They live as long as the recording. */
TN_API const tn_event *tn_recording_events(const tn_recording *recording, int64_t *n);
TN_API const tn_lane *tn_recording_lanes(const tn_recording *recording, int *n);
TN_API const tn_process *tn_recording_processes(const tn_recording *recording, int *n);
TN_API const tn_source *tn_recording_sources(const tn_recording *recording, int *n);
TN_API const tn_event_arg *tn_recording_args(const tn_recording *recording, int64_t *n);
TN_API const tn_recording_info *tn_recording_get_info(const tn_recording *recording);
/* Errors of plug-ins, and warnings (lost events, a missing tracer), one per line; "" if there are none. */
TN_API const char *tn_recording_errors(const tn_recording *recording);
TN_API const char *tn_recording_warnings(const tn_recording *recording);
/* Rebuilds a recording from the file of buffers that a killed process left (tn_profile_options.file). */
TN_API TN_GIVE tn_recording *tn_recording_recover(tn_context *ctx, const char *path);
/* Folded stacks: a line "frame;frame value" for each, root first, with self times in us that are not 0; malloc'ed. */
TN_API TN_GIVE char *tn_recording_folded(const tn_recording *recording);

/* Memory by scope: for every event that is a scope, its own bytes and those with its children; and what is
 * in no scope. The arrays have an item for each event; either may be NULL. */
TN_API void tn_recording_memory(const tn_recording *recording, int64_t *self_bytes, int64_t *total_bytes,
                                int64_t *outside);

/* ---- profilers: seconds under names ------------------------------------------------------------------------------ */

typedef struct tn_profiler tn_profiler;

TN_API TN_GIVE tn_profiler *tn_profiler_new(void); /* NULL: no memory */
TN_API void tn_profiler_free(TN_TAKE tn_profiler *profiler);
/* TVM's rule: profilers around this one do not see what it sees. By default all do. */
TN_API void tn_profiler_set_exclusive(tn_profiler *profiler, bool is_exclusive);
/* Pushes onto this thread's stack and starts "Total"; exit must name the profiler on top (otherwise
 * TN_ERROR_ARGUMENT). Entering again after an exit adds to the same Total. One that is on the stack already
 * is refused. */
TN_API tn_status tn_profiler_enter(tn_profiler *profiler);
TN_API tn_status tn_profiler_exit(tn_profiler *profiler);
/* From its join to its leave another thread's scopes count, too. Their times are added at the next exit, so
 * threads should leave before it. With several threads at once the sum may exceed Total. TN_ERROR_ARGUMENT
 * on the thread that entered the profiler, for joining twice, and for leaving another one than the
 * innermost. */
TN_API tn_status tn_profiler_join(tn_profiler *profiler);
TN_API tn_status tn_profiler_leave(tn_profiler *profiler);
TN_API TN_KEEP tn_profiler *tn_profiler_current(void); /* innermost of this thread, or NULL */
/* Adds seconds under a name, for times measured elsewhere (worker processes). */
TN_API void tn_profiler_add(tn_profiler *profiler, const char *name, double seconds, int64_t calls);
/* Seconds under a name; 0: there is none. A name nested in itself counts once. */
TN_API double tn_profiler_get(const tn_profiler *profiler, const char *name);
TN_API int64_t tn_profiler_calls(const tn_profiler *profiler, const char *name);
/* Lists all names in the order of first appearance. */
TN_API int tn_profiler_count(const tn_profiler *profiler);
TN_API const char *tn_profiler_name_at(const tn_profiler *profiler, int index, double *seconds, int64_t *calls);
/* A table like TVM's: columns ID, Name, Time (min), Percentage; rows by percentage, descending; Total first
 * with a blank ID. malloc'ed. NULL while the profiler has no finished Total (tn_profiler_table_error says
 * why). */
TN_API TN_GIVE char *tn_profiler_table(const tn_profiler *profiler);
/* Why there is no table: it is empty, or still entered. NULL: there is one. */
TN_API const char *tn_profiler_table_error(const tn_profiler *profiler);

#ifdef __cplusplus
}
#endif
#endif
