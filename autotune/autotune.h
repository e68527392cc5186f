/* tenon/autotune.h: searching for the fastest schedule: tasks, measuring, records, applying the best.
 * Sources: Ansor (Zheng et al., OSDI'20), TVM's auto_scheduler; docs/design.md says where Tenon differs. */
#ifndef TENON_AUTOTUNE_H
#define TENON_AUTOTUNE_H

#include "codegen/codegen.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measuring: interfaces a user can supply for a board or a simulator ------------------------------------------ */

/* Classes of failure, TVM's numbers (MeasureErrorNo) where the meaning is the same. X(NAME, number, "word in
 * records") */
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

/* All that a builder or a runner needs to know of one candidate. The texts stay the caller's. */
typedef struct tn_candidate {
  const char *program; /* text form */
  const char *steps;   /* JSON array */
  const char *target;  /* tn_target_text */
  uint64_t seed;       /* of the input data */
  double best_s;       /* fastest so far, or 0: a candidate that is clearly slower may be ended after its first run */
  uint32_t sequence;   /* connects the candidate's events in a recording; 0: none is made */
  double timeout_s;    /* for this request; 0: as the worker options say */
  bool is_final;       /* a finalist: finalists are timed in turns, never dropped, and compared whole */
  bool is_proved;      /* a finalist that was compared whole in an earlier turn: now it is only timed */
  int threads;         /* threads that the kernel keeps busy; 0: all of the machine */
  /* what depends on layout_free inputs alone may become a function of its own in the object, which the
   * runner calls once (tn_runner.packs) */
  bool packs_apart;
  /* what inputs hold: lines "NAME=HOW", HOW as tn_array_fill_as takes it; NULL: what suits the program */
  const char *fill;
} tn_candidate;

/* The most samples that a measurement keeps, and the number of error classes. */
enum { TN_MAX_COSTS = 16, TN_MEASURE_CLASSES = 10 };

/* What became of a candidate. The builder fills it, the runner adds to it; the caller frees message and
 * object with free(). */
typedef struct tn_measurement {
  tn_measure_error error;
  char *message; /* why it failed, or NULL */
  void *object;  /* the builder's product, opaque to the tuner */
  size_t object_bytes;
  int n_costs;
  double costs[TN_MAX_COSTS]; /* seconds of one call, a sample each */
  bool checked;               /* the output was compared with the reference */
  double share;               /* the part of the output that was compared, up to 1; 0: unknown */
  double max_error;           /* largest relative error found */
  /* the run was ended because it was slower than the best: the cost is a lower bound, and nothing was checked */
  bool ended_early;
  bool is_estimate;    /* worked out from a part of the program: tn_runner.prepare */
  const char *machine; /* the machine that timed it, as records name it; NULL: this one. Owned by the runner */
  bool abandoned;      /* given up because the run was stopped: as if it had never been asked for */
  int n_samples;       /* samples behind the costs; 0: unknown */
  double min_s;        /* the fastest sample */
  double noise;        /* half the 95 % confidence interval of their median, relative to it */
  double waited_s;     /* seconds that the kernel's threads waited for a processor meanwhile */
  double steal_s;      /* seconds that a hypervisor took from this machine meanwhile */
  double load;         /* processes ready to run: the machine's average over the last minute */
  /* of the reference's floats, those that are infinite or not a number: the time may not be that of other data */
  double odd_share;
  double build_s, run_s; /* wall time spent */
  double phase_s[8];     /* a worker's phases: tn_measure_phases names them */
  /* layout_free inputs were packed before, as tn_prepack does; the costs are of the rest (TN_BUILD_PACKED) */
  bool is_packed;
} tn_measurement;

/* Names of phase_s: "parse", "lower", "compile", "load", "arguments", "run", "check"; NULL at the end. */
TN_API const char *const *tn_measure_phases(void);

/* A request to a builder or a runner. It is handed over by SUBMIT, and POLL gives it back when it is done. */
typedef struct tn_job {
  const tn_candidate *candidate; /* has to stay until then */
  tn_measurement *measurement;   /* a builder fills it; a runner adds to what the builder has made */
  void *user;
} tn_job;

/* The state of one machine that candidates are timed on. */
typedef struct tn_worker_host_state tn_worker_host_state;

/* Makes what a runner runs. It has SUBMIT and POLL together, or BUILD alone, which is asked for a few
 * candidates at a time. A user can supply one for a board or a simulator. */
typedef struct tn_builder {
  void *self;
  tn_status (*build)(void *self, int n, const tn_candidate *candidates, tn_measurement *out);
  void (*free)(void *self);
  /* Takes a job over and returns at once. */
  tn_status (*submit)(void *self, tn_job *job);
  /* *DONE gets a finished job, in any order, or NULL. Waits at most WAIT_S for one, and may return earlier.
   * WAIT_S 0: the caller has other work that keeps a core busy. A failed candidate is no failure of the
   * builder. */
  tn_status (*poll)(void *self, double wait_s, tn_job **done);
  int width; /* jobs at once (1): as many again are submitted ahead */
  /* Its products are objects (ELF) for the target that define `kernel`, the candidate's function as
   * tn_build_text writes it, so that worker processes can run them. */
  bool makes_objects;
} tn_builder;
/* Times what a builder made. It has SUBMIT and POLL, as a builder has, or RUN alone, which is asked for one
 * candidate at a time. Several machines are one runner of that width. */
typedef struct tn_runner {
  void *self;
  tn_status (*run)(void *self, int n, const tn_candidate *candidates,
                   tn_measurement *inout); /* skips those with an error */
  void (*free)(void *self);
  /* May be NULL. Before the first candidate of a program is run: makes the outputs that candidates are
   * compared with, and measures the default schedule. The result has costs as a run has, or is_estimate
   * when the default takes too long. A CANDIDATE without steps does not want the default's time. */
  tn_status (*prepare)(void *self, const tn_candidate *candidate, tn_measurement *out);
  tn_status (*submit)(void *self, tn_job *job);
  tn_status (*poll)(void *self, double wait_s, tn_job **done);
  int width; /* candidates timed at once (1) */
  /* calls an object's packing function before it times the object; else constants are packed in each call */
  bool packs;
  /* May be NULL. Called when a run begins. SHOULD_STOP(USER), which the runner asks now and then, says that
   * jobs under way are not wanted any more; POLL then gives them back as abandoned. */
  void (*watch)(void *self, bool (*should_stop)(void *user), void *user);
  /* May be NULL. The other machines that it times on, *N of them, in the context's memory. When such a
   * runner returns TN_ERROR_WORKER, none of them is left. */
  const tn_worker_host_state *(*hosts)(void *self, int *n);
} tn_runner;

/* How a candidate is timed, in TVM's words (LocalRunner). Zeros leave it to Tenon, which adapts to the
 * kernel (docs/workers.md). A field that is set holds for every candidate that is not dropped, finalists
 * included. */
typedef struct tn_repeat_options {
  int repeat;           /* samples of a candidate, up to 1000 */
  int number;           /* calls in a sample at least */
  double min_repeat_ms; /* milliseconds that a sample takes at least */
  double cooldown_s;    /* seconds of rest before a candidate is timed */
  bool flushes_cache;   /* other data is read before each sample, which is then one call */
} tn_repeat_options;

/* One other machine, or several, that a command reaches: `ssh HOST tenon worker`, `srun ...`, `docker run
 * -i ...`. No port is opened: the command's standard input and output are a worker's. Zero-initialise. */
typedef struct tn_worker_host {
  const char *const *command; /* NULL-terminated argv */
  const char *name;           /* in records and messages (NULL: the machine's own name) */
  const char *tags;           /* words for people, kept in records (NULL: none) */
  int count;                  /* how many machines, each reached by a command of its own (1) */
  int threads;                /* threads of each that may be used (0: all) */
} tn_worker_host;

/* Where candidates are compiled when there are hosts. X(NAME, "word") */
#define TN_BUILD_PLACES(X) X(HERE, "here") X(HOSTS, "hosts") X(ALL, "all")
typedef enum tn_build_place {
#define X(name, word) TN_BUILD_ON_##name,
  TN_BUILD_PLACES(X)
#undef X
} tn_build_place;
/* The place that a word names; -1: none. */
TN_API int tn_build_place_find(const char *word);

/* The state of a host. X(NAME, "word") */
#define TN_HOST_PHASES(X)                                                              \
  X(STARTING, "starting") /* it has not greeted yet */                                 \
  X(SERVING, "serving")                                                                \
  X(LOST, "lost")       /* its worker was lost, or did not start; it is tried again */ \
  X(REFUSED, "refused") /* it is not what is wanted, and is not tried again */
typedef enum tn_host_phase {
#define X(name, word) TN_HOST_##name,
  TN_HOST_PHASES(X)
#undef X
} tn_host_phase;
TN_API const char *tn_host_phase_word(tn_host_phase phase);

/* The state of one machine of the hosts. Texts belong to the context. */
struct tn_worker_host_state {
  const char *name;    /* as in records; the command if it has never greeted */
  const char *command; /* its words, with blanks between them */
  const char *tags;    /* NULL: none */
  tn_host_phase phase;
  int timed, built;    /* candidates that it has answered for */
  int lost;            /* workers that died, hung or sent nonsense there; their candidates went elsewhere */
  const char *trouble; /* the last one's reason; NULL: none was lost */
};

/* How worker processes are run. A zero field means the default in parentheses. */
typedef struct tn_worker_options {
  const char *const *command; /* NULL-terminated argv (the `tenon` beside the library or in PATH, "worker") */
  /* A command that reaches tenon-runner on a device, a line for the shell (none). Candidates are then
   * compiled here and run there. Not together with hosts. */
  const char *runner;
  int jobs;               /* builders at once (the threads of this machine) */
  double build_timeout_s; /* seconds for a candidate (15) */
  double run_timeout_s;   /* seconds for a candidate (10) */
  tn_repeat_options repeats;
  int64_t memory_bytes; /* address space beyond what an idle worker has (4 GiB) */
  /* Where there are hosts, candidates are timed on them and not here. Losing a worker there costs only
   * time: its candidate goes to another one, and the host is tried again after a pause. A host is refused
   * when its version, processor or measured costs are not those of TARGET (NULL: those of the first host
   * that greets). */
  const tn_worker_host *hosts;
  int n_hosts;
  tn_build_place build_on;
  double patience_s;               /* seconds that a run without any worker waits for lost hosts (30) */
  const tn_target *target;         /* set by tn_tune */
  bool (*should_stop)(void *user); /* asked some 20 times a second while workers are waited for; true: those at work are
                                    * killed, and their measurements abandoned. May be NULL */
  void *user;
} tn_worker_options;
/* Makes a builder and a runner that share a pool of worker processes. False with a message when the first
 * worker cannot be started. Each is freed by its own `free`. */
TN_API bool tn_workers_new(tn_context *ctx, const tn_worker_options *options, tn_builder *builder, tn_runner *runner);
/* Makes a builder and a runner that measure nothing: times come from the log's records of the program,
 * whatever target they are of. A schedule without a record gets the time of the recorded schedule that is
 * most similar. So a search can be judged without measuring. TARGET: the machine for which schedules are
 * compared. False with a message: the log cannot be read, or has no time of the program. Each is freed by
 * its own `free`. */
TN_API bool tn_replay_new(tn_program *program, const tn_target *target, const char *log, tn_builder *builder,
                          tn_runner *runner);
/* The worker's side: serves requests on the two descriptors until end of file (docs/workers.md has the
 * protocol and the options; argv[0] is skipped when it is no option). The process belongs to the worker
 * from then on: it gets limits on memory, stack and core files, and what is printed to standard output goes
 * to standard error. Returns the exit status: 0 end of file, 1 a protocol error, 2 a wrong option. */
TN_API int tn_worker_main(int in_fd, int out_fd, int argc, char **argv);

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

/* How far a run has come, for on_progress. It is valid until that returns. */
typedef struct tn_progress {
  int trials, failed, trials_wanted; /* wanted: 0 when there is no such limit */
  double best_s, default_s;          /* 0 before the first valid one */
  bool default_is_estimate; /* default_s was worked out from a part of the program, which takes too long to run */
  double flops;             /* operations of one run */
  double elapsed_s, left_s; /* left: estimate, or < 0 when unknown */
  const char *phase;        /* "preparing", "searching", "measuring", "finals" */
} tn_progress;

/* How long a run goes on where trials, seconds and early_stop are not given. */
typedef enum tn_effort {
  TN_EFFORT_NONE,    /* 64 trials */
  TN_EFFORT_QUICK,   /* 10 seconds */
  TN_EFFORT_NORMAL,  /* 60 seconds */
  TN_EFFORT_THOROUGH /* until 300 trials in a row bring nothing */
} tn_effort;

/* What a rule of your own does at a stage. TVM: CustomSketchRule's answers. */
typedef enum tn_rule_answer {
  TN_RULE_PASS,          /* nothing */
  TN_RULE_APPLY,         /* it applies; the stage is also tried without it */
  TN_RULE_APPLY_AND_SKIP /* it applies, and no other rule is tried at the stage */
} tn_rule_answer;

/* A rule of your own for the structures that are searched. Every stage that is computed is tried, from the
 * last to the first, and your rules come before the built-in ones (docs/search.md). TVM:
 * auto_scheduler.PreloadCustomSketchRule; Ansor's user-defined rules. */
typedef struct tn_sketch_rule {
  const char *name; /* for readers */
  /* Asked first; must not change the schedule. */
  tn_rule_answer (*condition)(void *user, const tn_schedule *schedule, const char *stage);
  /* Calls primitives. A split into lengths of 1 is left open: the search chooses the lengths. The rule
   * passes when anything but TN_OK is returned, or when nothing was done. */
  tn_status (*apply)(void *user, tn_schedule *schedule, const char *stage);
  void *user;
} tn_sketch_rule;

/* The data of an input. The array has the input's dtype and shape. */
typedef struct tn_task_input {
  const char *name;
  DLTensor *array;
} tn_task_input;

/* What tn_tune is asked for. A zero field means the default in parentheses; only the log is required. */
typedef struct tn_tune_options {
  /* JSON lines file, appended to; existing records of the task are used and not measured again. Required */
  const char *log;
  int trials; /* records of this task the log shall hold at the end (64; no limit when SECONDS is given; or as EFFORT says) */
  double seconds; /* the run takes at most this long, finals included (0: no limit) */
  int early_stop; /* stop after so many trials in a row without a new best (0: never). TVM: early_stopping */
  tn_effort effort;
  uint64_t seed; /* 0 is a seed like any other */
  int per_round; /* candidates measured a round (24; for more than four machines 22 and two for each; at most trials) */
  /* the fastest so many are timed again before the winner is named (8; with a runner of one's own none; at
   * most 15); -1: none */
  int finalists;
  int population;  /* genomes of a generation (1024). TVM: evolutionary_search_population */
  int generations; /* (4). TVM: evolutionary_search_num_iters */
  double eps;      /* part of a round that is random (0.1; negative: none). TVM: eps_greedy */
  /* The parts of a generation that are mutated, and that are crossed from two; the rest are copies (0: 0.75
   * and 0.15; negative: none). TVM: evolutionary_search_mutation_prob */
  double mutation, crossover;
  bool no_sketches; /* only plans are searched, if the program has plans */
  /* "xgboost" (NULL: that), loaded when it is first needed, a warning where it is absent; "none"; or a
   * file, which a model is taken from if it is there and saved to at the end */
  const char *cost_model;
  /* What inputs hold while they are timed. FILL: lines "NAME=HOW", HOW as tn_array_fill_as takes it; NULL:
   * none. INPUTS: arrays, which are written to temporary files for the workers, so these have to be on this
   * machine. Inputs that neither names get random numbers: valid indices where they are used as indices,
   * positive numbers where others would give NaNs. */
  const char *fill;
  const tn_task_input *inputs;
  int n_inputs;
  const tn_target *target; /* NULL: native */
  tn_worker_options workers;
  /* NULL: worker processes. Without a RUNNER it has to make objects. TVM: LocalBuilder's build_func */
  const tn_builder *builder;
  const tn_runner *runner; /* NULL: worker processes */
  /* Called after every trial, at every phase, and about ten times a second while workers are waited for.
   * Returning true stops the run within a moment; candidates under way are given up. */
  bool (*on_progress)(void *user, const tn_progress *progress);
  int n_rules;                 /* of RULES */
  const tn_sketch_rule *rules; /* they, and what they need, have to live until tn_tune returns */
  /* Called for every measured candidate, after its record was written. TVM: measure_callbacks */
  void (*on_measured)(void *user, const tn_candidate *candidate, const tn_measurement *measurement);
  void *user;
} tn_tune_options;

/* Why a run ended. X(NAME, "word in records") */
#define TN_TUNE_ENDS(X)                                                          \
  X(RUNNING, "running") /* it has not */                                         \
  X(TRIALS, "trials")   /* the log holds as many as were wanted */               \
  X(TIME, "time")                                                                \
  X(EXHAUSTED, "exhausted")     /* the search space ended before */              \
  X(NO_PROGRESS, "no_progress") /* early_stop */                                 \
  X(STOPPED, "stopped")         /* on_progress said so */                        \
  X(FAILED, "failed")           /* the first candidates failed for one reason */ \
  X(NO_WORKERS, "no_workers")   /* no host is left: TN_ERROR_WORKER */           \
  X(TARGET, "target") /* the task's target is met; of a run: all are, or the tasks are over for other reasons */

typedef enum tn_tune_end {
#define X(name, word) TN_TUNE_##name,
  TN_TUNE_ENDS(X)
#undef X
} tn_tune_end;
/* "trials", "time", ...; "unknown" outside the enum. */
TN_API const char *tn_tune_end_word(tn_tune_end end);

/* The failures of one class in a run. */
typedef struct tn_failure {
  int n;
  char sample[200]; /* the message of the first one */
} tn_failure;

/* What a run found. Texts and hosts belong to the context. */
typedef struct tn_tune_result {
  int trials, failed, reused; /* measured in this run; failed ones among them; taken from the log */
  double best_s, default_s;   /* seconds; 0: no valid time */
  double own_s; /* seconds of the program's own schedule, from the finals if it took part; 0: none, or not valid */
  bool default_is_estimate; /* default_s was worked out from a part of the program */
  bool exhausted;           /* the search space ended before the trials did */
  tn_tune_end end;          /* RUNNING: an error ended it */
  int finalists;            /* candidates that were timed again; 0: there were no finals */
  double odd_share; /* of the outputs' floats, those that are infinite or not a number with the data that was timed */
  bool is_tie;      /* several finalists cannot be told apart: the simplest of them is the winner */
  tn_failure failures[TN_MEASURE_CLASSES]; /* by tn_measure_error */
  int n_hosts;
  /* machines that the options' hosts are; the context's. Of tasks, the first one's result has them */
  const tn_worker_host_state *hosts;
  const char *finals_on; /* the host that timed the finalists; NULL: this machine, or there were none */
} tn_tune_result;

/* Searches for the fastest schedule. Every measurement becomes one line of the log at once. The current
 * profiler times the phases. The program's own schedule (tn_schedule_apply_own) is measured like any other
 * candidate and takes part in the finals; if it is illegal, the run fails before anything is measured.
 * TN_ERROR_TUNE, naming the classes of failure: nothing valid was measured. */
TN_API tn_status tn_tune(tn_program *program, const tn_tune_options *options, tn_tune_result *out);

/* ---- tuning the tasks of a network ------------------------------------------------------------------------------- */

/* One program of several that are tuned together. Zero-initialise. */
typedef struct tn_task {
  tn_program *program; /* all tasks are of one context */
  double weight;       /* of its time in the objective, above 0 (0: 1) */
  int count;           /* how often the network calls it (0: 1): multiplies the weight */
  const char *name;    /* for messages and tables; NULL: the program's key */
  const char *fill;    /* what its inputs hold, as tn_tune_options.fill; NULL: as the options say */
  /* Seconds that are good enough: a task gets no more rounds once its time is not above them. 0: no such
   * target. Among tasks with the same program the least counts. Ansor: the objective with latency
   * requirements. */
  double target_s;
} tn_task;

/* Which task gets the next round. X(NAME, "word") */
#define TN_STRATEGIES(X)                                                                                              \
  X(GRADIENT, "gradient")       /* where the objective falls most, as far as can be foreseen. Ansor, TVM: gradient */ \
  X(ROUND_ROBIN, "round-robin") /* one after the other */
typedef enum tn_strategy {
#define X(name, word) TN_STRATEGY_##name,
  TN_STRATEGIES(X)
#undef X
} tn_strategy;

/* What is minimised. X(NAME, "word") */
#define TN_OBJECTIVES(X)                                                             \
  X(LATENCY, "latency") /* the sum of the times, each as often as its weight says */ \
  X(GEOMEAN, "geomean") /* their geometric mean: each task counts by its ratios, however long it takes */
typedef enum tn_objective {
#define X(name, word) TN_OBJECTIVE_##name,
  TN_OBJECTIVES(X)
#undef X
} tn_objective;
/* By word; -1: there is no such word. */
TN_API int tn_strategy_find(const char *word);
TN_API int tn_objective_find(const char *word);

/* How far a task has come. */
typedef struct tn_task_state {
  const char *name;
  tn_program *program;
  double weight;         /* times count, summed over all tasks with the same program */
  int same_as;           /* number of the task with the same program that is tuned in its place; its own number: none */
  int rounds;            /* rounds that it got */
  double spent_s;        /* seconds of the run that it took */
  tn_tune_result result; /* for a duplicate: that of the task it is the same as */
  double target_s;       /* the least of all that are the same program; 0: none */
} tn_task_state;

/* The objective after a round. The finals, which time the best again, are not part of the curve. */
typedef struct tn_tasks_point {
  double elapsed_s;
  int trials;     /* measured for all tasks, in this run */
  int task;       /* the task that had the round */
  double total_s; /* tn_tasks_result.total_s at that time */
} tn_tasks_point;

/* How far a run over several tasks has come, for on_tasks. It is valid until that returns. */
typedef struct tn_tasks_progress {
  int n_tasks;
  const tn_task_state *tasks;
  int task;                  /* the task whose turn it is */
  int trials, trials_wanted; /* records of all tasks; wanted: 0 when there is no such limit */
  double total_s;            /* as tn_tasks_result.total_s, but 0 while any task has no time yet */
  double elapsed_s, left_s;  /* left: < 0 when unknown */
  const char *phase;         /* as of tn_progress */
} tn_tasks_progress;

/* How several tasks share one run. */
typedef struct tn_tasks_options {
  /* Options for each task, except that trials (64 for each task), seconds and effort are for all tasks
   * together (quick: 10 s for each task; normal: 60 s), and early_stop ends one task. on_progress is not
   * called. */
  tn_tune_options tune;
  tn_strategy strategy;
  tn_objective objective;
  /* Called at every trial, and about ten times a second. Returning true stops the run. The user pointer is TUNE's. */
  bool (*on_tasks)(void *user, const tn_tasks_progress *progress);
} tn_tasks_options;

/* What a run over several tasks found. Free it with tn_tasks_result_free. */
typedef struct tn_tasks_result {
  int n_tasks;
  tn_task_state *tasks; /* in the order given */
  int n_distinct;       /* number of different programs */
  double total_s;       /* the objective: the weighted sum, or mean, of the best times; 0: nothing valid */
  double default_s;     /* the same for the default schedules; 0: one of them is not known */
  int n_failed;         /* tasks without any valid time; total_s leaves them out */
  int n_points;
  tn_tasks_point *curve; /* begins when all tasks have a time */
  tn_tune_end end;
  int n_hosts;
  const tn_worker_host_state *hosts; /* as of tn_tune_result */
} tn_tasks_result;

/* Tunes the tasks in turns, a round of candidates each, with one pool of workers, one cost model and one
 * log. Equal programs are tuned once. Continues from what the log holds. Names in TASKS have to live as
 * long as the result. TN_ERROR_ARGUMENT: no tasks, or a weight or a target that is not above 0.
 * TN_ERROR_TUNE: no task has a valid time. TVM: TaskScheduler. */
TN_API tn_status tn_tune_tasks(int n, const tn_task *tasks, const tn_tasks_options *options, tn_tasks_result *out);
TN_API void tn_tasks_result_free(TN_TAKE tn_tasks_result *result);

/* A network as a file describes it, one task a line: `PROGRAM [NAME=N...] [x COUNT] [weight W] [as NAME]`.
 * PROGRAM is a file, relative to the network's folder, or a program's text in quotes; `#` begins a comment.
 * Programs and names are the context's; tn_network_free frees the array. TN_ERROR_PARSE with FILE:LINE: a
 * line of another form, or a file without tasks. TN_ERROR_IO: a file that cannot be read. */
typedef struct tn_network {
  int n;
  tn_task *tasks;
} tn_network;
TN_API tn_status tn_network_read(tn_context *ctx, const char *file, tn_network *out);
TN_API void tn_network_free(TN_TAKE tn_network *network);

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* The schedule of the log's best checked record of this program on this target: the same program, and the
 * same triple, CPU and threads. NULL with TN_ERROR_RECORD when there is none; the message says what the log
 * does hold. *SECONDS (may be NULL) gets the recorded time. Broken lines are warned about by number and
 * skipped. */
TN_API TN_GIVE tn_schedule *tn_apply_best(tn_program *program, const tn_target *target, const char *log,
                                          double *seconds);

/* ---- one large program as a network ------------------------------------------------------------------------------ */

/* What one or more groups of a program compute. A group is a stage and everything that a schedule computes
 * together with it. */
typedef struct tn_cut_task {
  tn_program *program; /* a program of its own in the same context; what it reads from other groups are inputs */
  const char *name;    /* the last stage of the first such group */
  int count;           /* groups that compute this */
  int n_used;          /* those of them that a record's schedule was used for */
  double seconds;      /* of that record; 0: there is none */
} tn_cut_task;

/* The tasks in the order of the program. They belong to its context. */
typedef struct tn_cut {
  int n, n_groups;
  tn_cut_task *tasks;
} tn_cut;

/* Whether the program has more stages than tn_tune takes, so that it has to be cut. */
TN_API bool tn_program_is_large(const tn_program *program);
/* Cuts a program into the groups that tn_schedule_auto forms on TARGET (NULL: native). Groups that compute
 * the same, apart from the names of their tensors, are one task. TN_ERROR_PROGRAM: the program has symbols
 * or scans. TVM: extract_tasks of a Relay module. */
TN_API tn_status tn_program_cut(tn_program *program, const tn_target *target, tn_cut *out);
/* The program's schedule, made from the log's best records of its groups, as tn_apply_best chooses them.
 * Groups without a record are scheduled as by tn_schedule_auto. OUT (may be NULL): what was used. NULL with
 * TN_ERROR_RECORD: no group has a record. */
TN_API TN_GIVE tn_schedule *tn_apply_cut(tn_program *program, const tn_target *target, const char *log, tn_cut *out);

/* ---- sizes that serve a symbol ------------------------------------------------------------------------------------ */

/* The most sizes that one function chooses among. */
enum { TN_MAX_BUCKETS = 64 };

/* What was found for one size. */
typedef struct tn_bucket {
  int64_t size;
  double seconds; /* of the record whose schedule it has; 0: no record, so it has the generic schedule */
  bool is_plain;  /* its schedule's steps are illegal for a symbol: between the sizes the program's own loops run */
} tn_bucket;

/* A schedule for a program with one symbol that chooses by the symbol's value when the kernel is called.
 * Each of the N SIZES, which ascend, has the best record of the program with that number (tn_apply_best;
 * LOG may be NULL), or else the generic schedule. Values below a size, and above the last one, are served
 * by that size's schedule on loops of the symbol's extent (tn_schedule_add_variant). One function has them
 * all. OUT (may be NULL) has room for N. NULL after a message, TN_ERROR_ARGUMENT: sizes that are not the
 * symbol's values or do not ascend, no such symbol, or several symbols. */
TN_API TN_GIVE tn_schedule *tn_apply_buckets(tn_program *program, const tn_target *target, const char *log,
                                             const char *symbol, int n, const int64_t *sizes, tn_bucket *out);

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
  int64_t time_s;      /* unix */
  const char *message; /* why it failed; NULL: not told */
} tn_log_row;

/* Rows of a log. Zero-initialise; free with tn_log_table_free. */
typedef struct tn_log_table {
  int n_rows;
  tn_log_row *rows;
  int n_records, n_failed; /* whole records that were looked at; failed ones among them */
  int n_others;            /* whole records of other programs, which were not looked at: only with a KEY */
  int n_programs;          /* distinct keys among them */
  int n_skipped;           /* lines that are no records of this version */
  void *owner;             /* private: holds the strings */
} tn_log_table;

/* The best valid and checked record of each program and target, in the order of the programs' first
 * appearance. KEY: only this program (NULL: all). TN_ERROR_IO when the file cannot be read. */
TN_API tn_status tn_log_best(tn_context *ctx, const char *log, const char *key, tn_log_table *out);
/* The LIMIT (0: all) fastest valid records, the fastest first, checked or not. KEY as above. */
TN_API tn_status tn_log_top(tn_context *ctx, const char *log, const char *key, int limit, tn_log_table *out);
TN_API void tn_log_table_free(TN_TAKE tn_log_table *table);
/* Which records of a log are wanted. Zero-initialised: all. */
typedef struct tn_log_filter {
  const char *key;          /* tn_program_key */
  const char *target;       /* records whose triple, CPU and threads are those of this target's text */
  const char *error;        /* the word of an error class; "any": all that failed; "none": all that did not */
  int64_t since_s, until_s; /* UNIX times of measuring: from the first, and before the second; 0: no limit */
} tn_log_filter;
/* The order of rows. X(NAME, "word") */
#define TN_LOG_ORDERS(X) X(COST, "cost") X(LINE, "line") X(TIME, "time") X(PROGRAM, "program")
typedef enum tn_log_order {
#define X(name, word) TN_LOG_BY_##name,
  TN_LOG_ORDERS(X)
#undef X
} tn_log_order;
/* The order that a word names; -1: none. */
TN_API int tn_log_order_find(const char *word);
/* The first LIMIT (0: all) of the records that FILTER lets through, in the order; finals are left out. A
 * failed record has the cost INFINITY, so by cost it comes last. */
TN_API tn_status tn_log_select(tn_context *ctx, const char *log, const tn_log_filter *filter, tn_log_order order,
                               int limit, tn_log_table *out);

/* Counts of a log's lines, or of what was done with them. */
typedef struct tn_log_sum {
  int64_t records, finals, events;    /* whole lines, by kind */
  int64_t unchecked;                  /* valid records whose output was not compared */
  int64_t errors[TN_MEASURE_CLASSES]; /* records by class of failure: [0] are the valid ones */
  int64_t strange;                    /* lines that are no records of this version */
  int64_t duplicates, kept;           /* lines left out as duplicates; lines that were written */
  int64_t bytes;                      /* bytes that were read */
  int n_programs, n_targets;          /* distinct */
  int64_t first_s, last_s;            /* unix; 0: none */
  int n_wrong;                        /* tn_log_check: records that are whole but wrong */
} tn_log_sum;
TN_API tn_status tn_log_stats(tn_context *ctx, const char *log, const tn_log_filter *filter, tn_log_sum *out);
/* Parses every line completely and each program once, and applies the steps of the best record of each
 * program and target. Each fault is a warning with its line. */
TN_API tn_status tn_log_check(tn_context *ctx, const char *log, tn_log_sum *out);
/* Writes the lines of all LOGS that FILTER (NULL: all) lets through to OUT, unchanged and each once. OUT
 * keeps the lines that it has. Broken lines are warned about and left out; lines of a newer version are
 * kept, unless there is a filter. OUT is written whole or not at all. */
TN_API tn_status tn_log_merge(tn_context *ctx, int n, const char *const *logs, const tn_log_filter *filter,
                              const char *out, tn_log_sum *sum);
/* Keeps for each program and target the KEEP (0: 16) fastest checked records, the winner of the last finals
 * and the best record, with their lines unchanged; lines of a newer version are kept. OUT (NULL: the log
 * itself) is written whole or not at all, and lines that others append meanwhile are kept. What is removed
 * can be measured again. */
TN_API tn_status tn_log_compact(tn_context *ctx, const char *log, int keep, const char *out, tn_log_sum *sum);
/* Appends the records of FILE, written by TVM's auto_scheduler (v0.2 to v0.6) for the same program, to LOG.
 * Their steps are applied to PROGRAM; steps that are refused or have no counterpart are warned about with
 * their line and counted in n_wrong. The records have TVM's times, are not checked, and have a target
 * without a triple, so that they are never applied unmeasured. */
TN_API tn_status tn_log_import_tvm(tn_program *program, const char *file, const char *log, tn_log_sum *out);
/* Writes the records that FILTER (NULL: all) lets through to OUT in the format of TVM's auto_scheduler
 * (v0.6). A step that TVM lacks, a tail other than guard where a split does not divide, and a program with
 * symbols or C functions are warned about with their line and counted in n_wrong. WORKLOAD is TVM's
 * workload key, a JSON list whose first item is a text. NULL: the record's, if it came from TVM, or else
 * ["tenon", KEY]; register a workload of that name whose tensors are in the program's order. OUT is
 * replaced as a whole, and only when there is a record. TN_ERROR_ARGUMENT: a malformed workload, or no such
 * class of failure; TN_ERROR_IO. */
TN_API tn_status tn_log_export_tvm(tn_context *ctx, const char *log, const tn_log_filter *filter, const char *workload,
                                   const char *out, tn_log_sum *sum);
/* The word of an error class in records: "none", "compile", ... "unknown" outside the enum. */
TN_API const char *tn_measure_error_word(tn_measure_error error);

#ifdef __cplusplus
}
#endif
#endif
