/* tenon/autotune.h: searching for the fastest schedule: tasks, measuring, records, applying the best.
 * Sources: Ansor (Zheng et al., OSDI'20), TVM's auto_scheduler; docs/design.md says where Tenon differs. */
#ifndef TENON_AUTOTUNE_H
#define TENON_AUTOTUNE_H

#include "codegen/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measuring: interfaces a user can supply for a board or a simulator ------------------------------------------ */

/* Classes of failure, TVM's numbers (MeasureErrorNo) where the meaning is the same. X(NAME, number, "word in records") */
#define TN_MEASURE_ERRORS(X)                                                \
  X(NONE, 0, "none")                                                        \
  X(INSTANTIATION, 1, "instantiation") /* the steps could not be applied */ \
  X(COMPILE, 2, "compile")                                                  \
  X(LOAD, 3, "load")                                                        \
  X(RUNTIME, 4, "runtime") /* crashed or returned an error */               \
  X(WRONG_ANSWER, 5, "wrong_answer")                                        \
  X(BUILD_TIMEOUT, 6, "build_timeout")                                      \
  X(RUN_TIMEOUT, 7, "run_timeout")                                          \
  X(UNKNOWN, 8, "unknown")                                                  \
  X(MEMORY, 9, "memory") /* over the memory limit */

typedef enum tn_measure_error {
#define X(name, number, word) TN_MEASURE_##name = number,
  TN_MEASURE_ERRORS(X)
#undef X
} tn_measure_error;

/* All a builder or runner needs. */
typedef struct tn_candidate {
  const char *program; /* text form */
  const char *steps;   /* JSON array */
  const char *target;  /* tn_target_text */
  uint64_t seed;       /* of the input data */
  double best_s;       /* fastest so far, or 0: a candidate clearly slower may stop after its first run */
  uint32_t sequence;   /* joins the candidate's events in a recording; 0: none records */
} tn_candidate;

enum { TN_MAX_COSTS = 16 };

/* Filled by the builder, then by the runner; the caller frees message and object with free(). */
typedef struct tn_measurement {
  tn_measure_error error;
  char *message; /* why it failed, or NULL */
  void *object;  /* the builder's product, opaque to the tuner */
  size_t object_bytes;
  int n_costs;
  double costs[TN_MAX_COSTS]; /* seconds for one call, one a sample */
  bool checked;               /* the output was compared with the unscheduled reference */
  double max_error;           /* largest relative error found */
  double build_s, run_s;      /* wall time spent */
  double phase_s[8];          /* a worker's phases: tn_measure_phases names them */
} tn_measurement;

/* Names of phase_s: "parse", "lower", "compile", "load", "arguments", "run", "check"; NULL at the end. */
TN_API const char *const *tn_measure_phases(void);

typedef struct tn_builder {
  void *self;
  tn_status (*build)(void *self, int n, const tn_candidate *candidates, tn_measurement *out);
  void (*free)(void *self);
} tn_builder;
typedef struct tn_runner {
  void *self;
  tn_status (*run)(void *self, int n, const tn_candidate *candidates,
                   tn_measurement *inout); /* skips those with an error */
  void (*free)(void *self);
} tn_runner;

/* Worker processes; zero fields mean the default in parentheses. */
typedef struct tn_worker_options {
  const char *const *command; /* NULL-terminated argv (the `tenon` found beside the library or in PATH, "worker") */
  int jobs;                   /* builders at once (the threads of this machine) */
  double build_timeout_s;     /* a candidate (15) */
  double run_timeout_s;       /* a candidate (10) */
  int64_t memory_bytes;       /* address space beyond what an idle worker has (4 GiB) */
} tn_worker_options;
/* Builder and runner over one pool of worker processes. false with a message when the first worker cannot be started. */
TN_API bool tn_workers_new(tn_context *ctx, const tn_worker_options *options, tn_builder *builder, tn_runner *runner);
/* The worker's side: serves requests on the descriptors until end of file (docs/workers.md has the protocol and the options; argv[0] is
 * skipped when it is no option). The process is the worker's from here on: it gets limits on memory, stack and core files, and what is
 * printed to standard output goes to standard error. Returns the exit status: 0 end of file, 1 not the protocol, 2 wrong option. */
TN_API int tn_worker_main(int in_fd, int out_fd, int argc, char **argv);

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

typedef struct tn_progress {
  int trials, failed, trials_wanted;
  double best_s, default_s; /* 0 before the first valid one */
  double flops;             /* of one run */
  double elapsed_s, left_s; /* left: estimate, or < 0 when unknown */
  const char *phase;
} tn_progress;

typedef struct tn_tune_options {
  const char
      *log;   /* JSON lines file, appended to; existing records of the task are used and not measured again. Required */
  int trials; /* records of this task the log shall hold at the end (64) */
  double seconds;          /* stop after this long (0: no limit) */
  uint64_t seed;           /* (0 is a seed as any other) */
  int per_round;           /* candidates measured a round (24, at most trials) */
  const tn_target *target; /* NULL: native */
  tn_worker_options workers;
  const tn_builder *builder; /* NULL: worker processes */
  const tn_runner *runner;   /* NULL: worker processes */
  void (*on_progress)(void *user, const tn_progress *progress);
  void *user;
} tn_tune_options;

typedef struct tn_tune_result {
  int trials, failed, reused; /* measured now; of these failed; taken from the log */
  double best_s, default_s;   /* seconds; 0: none valid */
  bool exhausted;             /* the search space ended before the trials did */
} tn_tune_result;

/* Searches; every measurement is one line of the log at once. Phases are timed into the current profiler. */
TN_API tn_status tn_tune(tn_program *program, const tn_tune_options *options, tn_tune_result *out);

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* The schedule of the log's best checked record of this program on this target: same program key and target triple and CPU. NULL with
 * TN_ERROR_RECORD when there is none, naming what the log does hold. *seconds (may be NULL) gets its recorded time. Broken lines are reported
 * as warnings by number and skipped. */
TN_API tn_schedule *tn_apply_best(tn_program *program, const tn_target *target, const char *log, double *seconds);

/* One record of a log as a table shows it. Strings belong to the table. */
typedef struct tn_log_row {
  int line;            /* in the file, from 1 */
  const char *key;     /* tn_program_key */
  const char *program; /* text form */
  const char *target;  /* tn_target_text */
  const char *steps;   /* JSON array */
  double cost_s;       /* median; INFINITY: failed */
  tn_measure_error error;
  bool checked;
  int64_t time_s; /* unix */
} tn_log_row;

/* Zero-initialise; free with tn_log_table_free. */
typedef struct tn_log_table {
  int n_rows;
  tn_log_row *rows;
  int n_records, n_failed; /* whole records of the file that were looked at, those that failed */
  int n_others;            /* whole records of other programs, which were not: with a KEY only */
  int n_programs;          /* distinct keys among them */
  int n_skipped;           /* lines that are no records of this version */
  void *owner;             /* holds the strings */
} tn_log_table;

/* The best valid and checked record of each program and target, in order of the programs' first appearance; KEY: only this
 * program (NULL: all). TN_ERROR_IO when the file cannot be read. */
TN_API tn_status tn_log_best(tn_context *ctx, const char *log, const char *key, tn_log_table *out);
/* The LIMIT (0: all) fastest valid records, fastest first, checked or not; KEY as above. */
TN_API tn_status tn_log_top(tn_context *ctx, const char *log, const char *key, int limit, tn_log_table *out);
TN_API void tn_log_table_free(tn_log_table *table);
/* "none", "compile", ...: the word of an error class in records. "unknown" outside the enum. */
TN_API const char *tn_measure_error_word(tn_measure_error error);

#ifdef __cplusplus
}
#endif
#endif
