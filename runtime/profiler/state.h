/* state.h: the recorder itself, the one object of the process that is not in a context: every thread of a
 * program writes into the same session, wherever its calls come from. Only the files of the recorder in
 * this folder use it. */
#ifndef TENON_RUNTIME_PROFILER_STATE_H
#define TENON_RUNTIME_PROFILER_STATE_H

#include <pthread.h>

#include "runtime/profiler/storage.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* An instant by both clocks. Ticks are the TSC's if it is invariant, otherwise nanoseconds. */
typedef struct profiler_moment {
  uint64_t ticks, ns;
} profiler_moment;

/* How ticks become nanoseconds. The rate is computed from two moments that are as far apart as possible. */
typedef struct profiler_clock_state {
  profiler_clock injected;
  _Atomic bool is_ready;
  bool is_tsc;
  profiler_moment first;
  _Atomic double ns_per_tick;
} profiler_clock_state;

void profiler_clock_prepare(void);           /* chooses and calibrates; again after an injection */
profiler_moment profiler_clock_moment(void); /* now; also makes ns_per_tick more exact */
uint64_t profiler_ticks_slow(void);
uint64_t profiler_unix_ns(void);

/* ---- the processor's counters ------------------------------------------------------------------------------------ */

/* For tests: where counters come from. OPEN returns a descriptor to be closed with close(), or -1: none. */
typedef struct profiler_hardware_source {
  int (*open)(int kind, int tid);
  bool (*read)(int fd, uint64_t *value);
} profiler_hardware_source;
void profiler_set_hardware(const profiler_hardware_source *source); /* NULL: the kernel's; not while a session runs */

/* A process with more threads is not counted at all: a part would be mistaken for the whole. */
enum { PROFILER_MAX_COUNTED = 256 };
/* The processor's counters: a descriptor for each thread and kind. */
typedef struct profiler_hardware {
  const profiler_hardware_source *injected;
  _Atomic bool is_on;
  _Atomic int readers;
  uint32_t has; /* bits of the kinds that every thread has */
  int n_threads;
  int fds[PROFILER_MAX_COUNTED][TN_HARDWARE_COUNT];
} profiler_hardware;

/* Opens and closes the counters of all threads. Called under the control lock. */
void profiler_hardware_start(void);
void profiler_hardware_stop(void);
void profiler_hardware_forget(void); /* in a forked child */

/* Makes a tracer of static probes (usdt.c). Returns why that is not possible, or NULL. */
const char *profiler_usdt(tn_tracer *tracer);
#define PROFILER_USDT "usdt"

/* ---- recorder ---------------------------------------------------------------------------------------------------- */

/* The size of a thread's cache of labels. */
enum { PROFILER_CACHE = 256 };
/* A label that a thread met recently, so that it need not take the lock for it again. */
typedef struct profiler_cached {
  const tn_site *site;
  uint64_t name; /* a literal's address, otherwise the hash of the text with its top bit set */
  uint32_t label, spare;
} profiler_cached;

/* What a thread needs to record. Only the thread itself writes to it. */
typedef struct profiler_thread {
  struct profiler_thread *next; /* in the recorder's list; under lock */
  _Atomic uint32_t busy;        /* the thread is writing into the storage now */
  uint32_t generation;          /* of the session to which the members below belong; 0: none */
  storage_lane *lane;
  storage_chunk *chunk, *stack; /* the chunk being filled; the one with the top of the stack */
  storage_open *top;            /* innermost open scope; NULL: none */
  uint32_t lane_link, depth, ordinal;
  char *own_name; /* from tn_thread_name, malloc'ed */
  profiler_cached cache[PROFILER_CACHE];
} profiler_thread;

/* A device's clock, which is read when a session starts and stops. */
typedef struct profiler_device {
  uint64_t (*now)(void *user);
  void *user;
  uint32_t lane_link;
} profiler_device;
enum { PROFILER_MAX_DEVICES = 16 };

/* All state of recording. A process has one, which begins zeroed: a scope that is not recorded reads only
 * `generation`. */
typedef struct profiler_recorder {
  pthread_mutex_t control; /* for start, stop and the like; taken before lock */
  pthread_mutex_t lock;    /* for the members from storage to devices, and what is interned */
  _Atomic uint32_t generation;
  _Atomic int state;                    /* tn_profile_state */
  _Atomic uint64_t from_ticks, n_ticks; /* scopes that begin outside this range are dropped */
  _Atomic(tn_tracer *) tracer;          /* NULL: none */
  bool needs_fence;                     /* there is no membarrier here */
  _Atomic bool is_prepared;             /* the key, fork handlers and membarrier are in place */
  pthread_key_t exit_key;               /* its destructor runs when a thread ends */
  storage storage;
  profiler_thread *threads;
  runtime_map names, labels; /* hash -> place in the storage plus one */
  profiler_device devices[PROFILER_MAX_DEVICES];
  int n_devices;
  tn_tracer tracer_functions; /* what tracer points to */
  /* of the session; under control */
  tn_profile_options options;        /* its texts are copies */
  char *file;                        /* of the storage: options.file, in a forked child with its pid; NULL: anonymous */
  int64_t pid;                       /* of the process that started the session */
  int round;                         /* the running round */
  uint64_t round_ticks;              /* when that round began */
  char *warnings;                    /* from the start, for the recording */
  _Atomic uintptr_t callback_thread; /* the thread that is in on_window; 0: none */
  double event_cost_ns;              /* 0: not measured yet */
  profiler_moment stopped_at;        /* when recording was turned off */
  bool is_marked;                    /* whether the header says so already */
  uint64_t start_cost_ns, stop_cost_ns;
  int n_tables; /* how many profilers threads have entered; under lock */
  profiler_clock_state clock;
  RUNTIME_VEC(tn_recording *) adopted;            /* recordings of other processes, for collect; under lock */
  RUNTIME_VEC(const tn_profile_source *) sources; /* under control */
  tn_device_options device_options;               /* its path is a copy; valid if has_device_options */
  bool has_device_options;
  profiler_hardware hardware; /* opened and closed under control */
} profiler_recorder;

extern profiler_recorder profiler_the_recorder;

/* Whether a name of the profiler was lost for lack of memory (profiler.c). */
bool profiler_table_lost(const tn_profiler *profiler);

#define PROFILER_SESSION_BITS (~(1ull << 63))
#define PROFILER_TABLE_BIT (1ull << 63)

/* Where the processor's cycle counter serves as the clock this only reads it; otherwise it is a call. */
static inline uint64_t profiler_ticks(void) {
#if defined(__x86_64__)
  if (__builtin_expect(profiler_the_recorder.clock.is_tsc, 1)) return __rdtsc();
#endif
  return profiler_ticks_slow();
}
double profiler_ticks_to_ns(uint64_t ticks); /* a duration */

/* Waits until no thread is writing into the storage; the filter must be off already. False after a second. */
bool profiler_quiesce(void);
/* Makes an empty storage for the options. Called under the lock. */
bool profiler_new_storage(void);
/* Adds a scope of this thread from two readings of the clock; it is nested by its times. */
void profiler_record_scope(const tn_site *site, const char *name, uint64_t start, uint64_t end);
/* Measures what an enabled scope costs. Writes into the present storage, so the filter must be on. */
double profiler_scope_cost_ns(void);
/* In a forked child: only the calling thread is left, and it has recorded nothing. Called under both locks. */
void profiler_forget_threads(void);
void profiler_thread_exits(void *thread); /* destructor of exit_key */
/* The offset of a text in the storage's names; 0: no room. Called under the lock. */
uint32_t profiler_name(const char *text);
/* The number of a name at a place; 0: no room. Called under the lock. */
uint32_t profiler_make_label(const tn_site *site, const char *name);
/* Writes a record with a new ordinal, and its arguments, if the session wants the site (NULL: category app,
 * level 1). */
void profiler_write_event(const tn_site *site, const char *name, storage_record record, const tn_event_arg *args,
                          int n_args);
/* Writes the calling stack without the SKIP innermost frames to TEXT, as "main;f;g" with the root first. */
void profiler_stack_text(int skip, char *text, size_t n);

/* ---- profilers' part (profiler.c) -------------------------------------------------------------------------------- */

/* Add the time of a scope to the tables of the profilers that this thread has entered. */
void profiler_tables_begin(tn_scope *scope, const char *name);
void profiler_tables_end(const tn_scope *scope, uint64_t end_ticks);

#endif
