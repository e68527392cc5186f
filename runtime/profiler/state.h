/* state.h: the recorder itself, the one object of the process that is not on a context: every thread of a program
 * writes into the same session, wherever its calls come from. recorder.c, session.c, clock.c and profiler.c use it;
 * nothing else does. */
#ifndef TENON_RUNTIME_PROFILER_STATE_H
#define TENON_RUNTIME_PROFILER_STATE_H

#include <pthread.h>

#include "runtime/profiler/storage.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* Ticks are the TSC's where it is invariant, else ns. A moment is one instant on both clocks. */
typedef struct profiler_moment {
  uint64_t ticks, ns;
} profiler_moment;

/* How ticks become nanoseconds. The rate is worked out from two moments as far apart as can be. */
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

/* For tests: where counters come from. OPEN gives a descriptor that is closed with close(), -1: none. */
typedef struct profiler_hardware_source {
  int (*open)(int kind, int tid);
  bool (*read)(int fd, uint64_t *value);
} profiler_hardware_source;
void profiler_set_hardware(const profiler_hardware_source *source); /* NULL: the kernel's; not while a session runs */

enum { PROFILER_MAX_COUNTED = 256 };
/* Counters of the processor: a descriptor for each thread and kind. */
typedef struct profiler_hardware {
  const profiler_hardware_source *injected;
  _Atomic bool is_on;
  _Atomic int readers;
  uint32_t has; /* kinds that every thread has */
  int n_threads;
  int fds[PROFILER_MAX_COUNTED][TN_HARDWARE_COUNT];
} profiler_hardware;

/* Open and close the counters of all threads; under control. */
void profiler_hardware_start(void);
void profiler_hardware_stop(void);
void profiler_hardware_forget(void); /* in a forked child */

/* Probes as a tracer (usdt.c); why not, or NULL. */
const char *profiler_usdt(tn_tracer *tracer);
#define PROFILER_USDT "usdt"

/* ---- recorder ---------------------------------------------------------------------------------------------------- */

/* Labels that a thread met lately; key 0 is empty. */
enum { PROFILER_CACHE = 256 };
/* A label that a thread met, so that it need not ask under the lock. */
typedef struct profiler_cached {
  const tn_site *site;
  uint64_t name; /* a literal's address, else the hash of the text with its top bit set */
  uint32_t label, spare;
} profiler_cached;

/* What a thread needs to record. Only the thread itself writes it. */
typedef struct profiler_thread {
  struct profiler_thread *next; /* under lock */
  _Atomic uint32_t busy;        /* it is writing into the storage now */
  uint32_t generation;          /* of the session that the fields below belong to; 0: none */
  storage_lane *lane;
  storage_chunk *chunk, *stack; /* being filled; holding the top of the stack */
  storage_open *top;            /* innermost open scope; NULL: none */
  uint32_t lane_link, depth, ordinal;
  char *own_name; /* tn_thread_name's; malloc'ed */
  profiler_cached cache[PROFILER_CACHE];
} profiler_thread;

/* A device's clock, which is read when a session starts and stops. */
typedef struct profiler_device {
  uint64_t (*now)(void *user);
  void *user;
  uint32_t lane_link;
} profiler_device;
enum { PROFILER_MAX_DEVICES = 16 };

/* All state of recording. There is one in a process, and it begins zeroed: a scope that is not recorded reads
 * `generation` and no more. */
typedef struct profiler_recorder {
  pthread_mutex_t control; /* start, stop and the like; taken before lock */
  pthread_mutex_t lock;    /* the fields from storage to devices, and what is interned */
  _Atomic uint32_t generation;
  _Atomic int state;                    /* tn_profile_state */
  _Atomic uint64_t from_ticks, n_ticks; /* scopes begin in this range only */
  _Atomic(tn_tracer *) tracer;          /* NULL: none */
  bool needs_fence;                     /* no membarrier here */
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
  int round;                         /* the running one */
  uint64_t round_ticks;              /* when it began */
  char *warnings;                    /* of the start, for the recording */
  _Atomic uintptr_t callback_thread; /* the thread that is in on_window; 0: none */
  double event_cost_ns;              /* 0: not measured yet */
  profiler_moment stopped_at;        /* when recording was turned off, */
  bool is_marked;                    /* and whether the header knows */
  uint64_t start_cost_ns, stop_cost_ns;
  int n_tables; /* threads' entered profilers; under lock */
  profiler_clock_state clock;
  RUNTIME_VEC(tn_recording *) adopted;            /* recordings of other processes, for collect; under lock */
  RUNTIME_VEC(const tn_profile_source *) sources; /* under control */
  tn_device_options device_options;               /* its path is a copy; meaningful if has_device_options */
  bool has_device_options;
  profiler_hardware hardware; /* opened and closed under control */
} profiler_recorder;

extern profiler_recorder profiler_the_recorder;

/* Whether a name of the profiler was lost for want of memory (profiler.c). */
bool profiler_table_lost(const tn_profiler *profiler);

#define PROFILER_SESSION_BITS (~(1ull << 63))
#define PROFILER_TABLE_BIT (1ull << 63)

/* Where the processor's counter of cycles is a clock that is all there is to it, else it is a system call. */
static inline uint64_t profiler_ticks(void) {
#if defined(__x86_64__)
  if (__builtin_expect(profiler_the_recorder.clock.is_tsc, 1)) return __rdtsc();
#endif
  return profiler_ticks_slow();
}
double profiler_ticks_to_ns(uint64_t ticks); /* a duration */

/* Makes sure that no thread is writing into the storage (the filter is off already); false after a second of
 * waiting. */
bool profiler_quiesce(void);
/* Makes an empty storage for the options; under lock. */
bool profiler_new_storage(void);
/* A scope of this thread from two readings of the clock; it is nested by its times. */
void profiler_record_scope(const tn_site *site, const char *name, uint64_t start, uint64_t end);
/* What an enabled scope costs; into the storage of now, with the filter on. */
double profiler_scope_cost_ns(void);
/* After a fork, in the child: only the calling thread is left, and it has recorded nothing. Under both locks. */
void profiler_forget_threads(void);
void profiler_thread_exits(void *thread); /* destructor of exit_key */
/* The offset of a text in the storage's names, 0 without room. Under lock. */
uint32_t profiler_name(const char *text);
/* The number of a name at a place; 0 without room. Under lock. */
uint32_t profiler_make_label(const tn_site *site, const char *name);
/* Writes one record with a new ordinal, and its arguments, if the session wants the site (NULL: category app,
 * level 1). */
void profiler_write_event(const tn_site *site, const char *name, storage_record record, const tn_event_arg *args,
                          int n_args);
/* The calling stack from SKIP frames up as "main;f;g", root first, into TEXT. */
void profiler_stack_text(int skip, char *text, size_t n);

/* ---- profilers' part (profiler.c) -------------------------------------------------------------------------------- */

/* For the profilers that this thread has entered: what a scope takes goes into their tables. */
void profiler_tables_begin(tn_scope *scope, const char *name);
void profiler_tables_end(const tn_scope *scope, uint64_t end_ticks);

#endif
