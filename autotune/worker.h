/* worker.h: the worker process's parts as they see each other: programs and references it keeps, what it answers, and
 * the faults that tests inject. A worker serves one request at a time; everything hangs on one struct worker. */
#ifndef TENON_AUTOTUNE_WORKER_H
#define TENON_AUTOTUNE_WORKER_H

#include "autotune/autotune.h"
#include "autotune/device.h"
#include "autotune/protocol.h"
#include "codegen/compile.h"
#include "runtime/profiler/profiler.h"

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* In the order of tn_measure_phases. */
typedef enum worker_phase {
  WORKER_PARSE,
  WORKER_LOWER,
  WORKER_COMPILE,
  WORKER_LOAD,
  WORKER_ARGUMENTS,
  WORKER_RUN,
  WORKER_CHECK,
  WORKER_PHASES
} worker_phase;

/* Zero-initialise but for lap_ns. */
typedef struct worker_answer {
  tn_measure_error error;
  runtime_str message;
  uint64_t lap_ns; /* when the current phase began */
  double phase_s[WORKER_PHASES];
  int n_costs;
  double costs[TN_MAX_COSTS];
  int n_samples;   /* behind the costs; 0: nothing was timed */
  double min_s;    /* the fastest of them */
  double noise;    /* half the 95 % interval of their median, relative to it */
  double waited_s; /* that a thread waited for a processor while they were taken */
  double steal_s;  /* that the host took from the machine meanwhile */
  double load;     /* of the machine */
  bool checked;
  double share;     /* of the outputs that was compared */
  bool ended_early; /* the cost is where a run was ended, a lower bound */
  bool is_packed;   /* constants were packed before, which the costs do not contain */
  double max_error;
  double odd_share; /* of the reference */
  double default_s; /* prepare: of the unscheduled program; 0: not known */
  bool is_estimate; /* of a part of it */
  codegen_bytes object;
} worker_answer;

/* Keeps the first error. Always false, so that a step can `return worker_fail(...)`. */
bool worker_fail(worker_answer *answer, tn_measure_error error, const char *fmt, ...) TN_PRINTF(3, 4);
/* The context's message; its being out of memory outranks ERROR. Clears the context. */
bool worker_fail_context(worker_answer *answer, tn_measure_error error, tn_context *ctx);
/* The time since the last lap goes to PHASE. */
void worker_lap(worker_answer *answer, worker_phase phase);

/* ---- faults (worker_fault.c) ------------------------------------------------------------------------------------- */

/* --inject=REQUEST-FAULT@N: at the N-th request of that kind. X(NAME, "text") */
#define WORKER_FAULTS(X)                                                                   \
  X(CRASH, "crash")           /* a segmentation fault */                                   \
  X(ABORT, "abort")           /* as LLVM's and libstdc++'s fatal errors end */             \
  X(EXIT, "exit")             /* with status 3 */                                          \
  X(HANG, "hang")             /* sleeps for ever */                                        \
  X(SPIN, "spin")             /* computes for ever */                                      \
  X(EAT_MEMORY, "eat-memory") /* allocates until that fails, and dies of it as C++ does */ \
  X(GARBAGE, "garbage")       /* answers with bytes that are no message */                 \
  X(TRUNCATE, "truncate")     /* begins an answer and exits */                             \
  X(STRANGER, "stranger")     /* answers another request than was made */                  \
  X(CLOSE, "close")           /* closes its output and sleeps for ever */                  \
  X(WRONG, "wrong")           /* run: changes one element of the first output */           \
  X(SPOIL, "spoil")           /* run: changes one element of the first input */            \
  X(DISAGREE, "disagree")     /* prepare: changes the reference of the last output */      \
  X(VERSION, "version")       /* hello: claims another protocol version */                 \
  X(TIMELESS, "timeless")     /* run: sends times of 0 */                                  \
  X(OLD, "old")               /* hello: claims another version of Tenon */                 \
  X(OTHER, "other")           /* hello: claims another processor */                        \
  X(SLOW, "slow")             /* hello: claims costs three times its own */                \
  X(CLOCK, "clock")           /* hello: its clock is an hour ahead */                      \
  X(DEAF, "deaf")             /* reads nothing any more, and writes nothing */             \
  X(CHATTY, "chatty")         /* writes words without end, and reads nothing */            \
  X(FAST, "fast")             /* its clock runs faster than others */                      \
  X(BREAK_OUT, "break-out")   /* tries what a sandbox refuses; crashes when all is refused */

typedef enum worker_fault_kind {
  WORKER_NO_FAULT,
#define X(name, text) WORKER_##name,
  WORKER_FAULTS(X)
#undef X
} worker_fault_kind;

typedef struct worker_fault {
  worker_fault_kind kind;
  char request[16];
  int64_t at, seen; /* requests of that kind */
} worker_fault;

bool worker_fault_parse(const char *text, worker_fault *out);
/* To be called once for every request: the fault that happens at this one. */
worker_fault_kind worker_fault_next(worker_fault *fault, const char *request);
/* Those faults that end or hang the process, or spoil its output, happen here; the others are left to the handlers. */
void worker_fault_strike(worker_fault_kind kind, int out_fd);

/* ---- programs and references (worker_program.c, worker_reference.c) ---------------------------------------------- */

/* Inputs and reference outputs of a program, for one seed. Arguments in the kernel's order. */
typedef struct worker_data {
  uint64_t seed;
  char *fill;       /* lines "NAME=HOW"; NULL: none */
  double odd_share; /* of the reference's floats, those that are infinite or not a number */
  int n_args, n_inputs;
  DLTensor **args;      /* what candidates get */
  DLTensor **reference; /* outputs only: reference[a - n_inputs] belongs to args[a] */
  double *scale;        /* the size of a typical element of each reference */
  double tolerance;     /* of the relative error of floats */
  double default_s;     /* what the unscheduled program takes; 0: not known yet */
  bool default_was_run; /* otherwise it is estimated from a part */
  bool is_by_stages;    /* the reference was proved tensor by tensor (worker_stages.c) */
  bool is_generic;      /* the reference is the generic schedule's kernel, not the unscheduled one's */
} worker_data;

enum { WORKER_PROGRAMS = 64 };

typedef struct worker_program {
  char *text, *target_text;
  tn_context *ctx;
  tn_program *program;
  tn_target *target;
  runtime_arena scratch; /* one lowering at a time */
  int n_args;
  runtime_kernel_arg *args;
  worker_data *data; /* NULL until something of it is run */
  uint64_t used;     /* when, for replacing the least recently used */
} worker_program;

typedef struct worker {
  int in_fd, out_fd;
  protocol_decoder in;
  worker_fault fault;
  worker_fault_kind fault_now;
  int64_t memory_bytes, idle_bytes;         /* the limit; address space at the greeting */
  worker_program programs[WORKER_PROGRAMS]; /* as many as fit a quarter of the memory */
  uint64_t clock;
  bool is_remote; /* --remote, or the greeting says so: the tuner's files and clock are not ours, even if it looks so */
  runtime_str host, target, costs; /* of this machine, for a greeting from afar */
  bool is_boxed;                   /* --sandbox */
  device device;                   /* --runner: candidates run there */
  bool is_recording, sends_profile;
  tn_scope event; /* of the request being served */
  tn_profile_options profile;
  uint64_t received_ns; /* when the request came, on the profiler's clock */
} worker;

/* Bytes of inputs and references that it keeps on purpose. */
int64_t worker_kept_bytes(const worker *w);
/* The program and target that a request names, parsed or from the cache. NULL: the answer has the error. */
worker_program *worker_program_for(worker *w, const char *text, const char *target, worker_answer *answer);
worker_program *worker_program_get(worker *w, const json_t *request, worker_answer *answer);
void worker_program_free(worker_program *p);
/* Lowers and compiles. SHARE not NULL: the unscheduled program's loops are cut short, and it gets the share of the work
 * that is left (worker_estimate.c). */
bool worker_compile(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer,
                    codegen_bytes *object);
/* The same as a candidate is timed: where layout_free inputs alone decide some stages at root, the object has a function
 * WORKER_PACK_SYMBOL, which computes these, and the kernel, which uses what it has computed. */
bool worker_compile_candidate(worker_program *p, const tn_schedule *schedule, worker_answer *answer,
                              codegen_bytes *object);
/* Compiles and loads. NULL: the answer has the error. */
tn_kernel *worker_kernel(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer);
/* Makes p->data for the seed and the inputs' lines, if it is not there: inputs, and a reference that was proved
 * (worker_reference.c). DEFAULT_S: what the unscheduled program is known to take, or 0. SPOIL: the fault WORKER_DISAGREE. */
bool worker_prepare_data(worker_program *p, uint64_t seed, const char *fill, double default_s, bool spoil,
                         worker_answer *answer);

/* The generic schedule for this machine or, OTHER, for one that makes other loops. NULL: it refuses. */
tn_schedule *worker_generic_schedule(worker_program *p, bool other);
/* Whether an element of an output depends on too much to be asked of the evaluator alone. */
bool worker_is_deep(const tn_program *program);
/* Proves DATA's reference tensor by tensor (worker_stages.c). */
bool worker_verify_stages(worker_program *p, worker_data *data, worker_answer *answer);

/* ---- arguments (worker_data.c) ----------------------------------------------------------------------------------- */

/* Arrays for the program's arguments, inputs filled; they can be written to until worker_guard_inputs. */
worker_data *worker_data_new(worker_program *p, uint64_t seed, const char *fill, worker_answer *answer);
void worker_data_free(worker_data *data);
/* Numbers for the inputs (worker_inputs.c). */
bool worker_fill_inputs(worker_program *p, worker_data *data, worker_answer *answer);
/* Of the reference's floats, those that are infinite or not a number. */
double worker_odd_share(const worker_program *p, const worker_data *data);

/* ---- the unscheduled program's time (worker_estimate.c) ---------------------------------------------------------- */

/* The unscheduled loop nests cut to SHARE of their work, through all passes; small programs are not cut. In
 * p->scratch. */
tir_func *worker_lower_part(worker_program *p, const tn_schedule *schedule, double *share);
/* Times such a part and extrapolates. */
bool worker_estimate(worker_program *p, worker_data *data, worker_answer *answer, double *seconds);

/* ---- what a candidate must not do (worker_guard.c) --------------------------------------------------------------- */

/* Installs the handlers and starts the thread, once. */
bool worker_guard_start(void);
/* Makes the inputs read-only and watches them; NULL: watches none. A write is noted, and then goes through. */
void worker_guard_inputs(const worker_data *data);
/* The first input that was written to since; -1: none. */
int worker_guard_written(void);
/* A call that is ended after LIMIT_S (0: never), not counting what other processes take. False: it was ended; what it
 * has allocated is lost, outputs are anything. */
bool worker_guard_call(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args, double limit_s,
                       tn_status *status);

/* ---- the machine (worker_machine.c) ------------------------------------------------------------------------------ */

/* What it calls itself; its native target; its measured costs, "" where they cannot be measured. All are kept. */
const char *worker_host(worker *w);
const char *worker_target(worker *w);
const char *worker_costs(worker *w);

/* ---- the sandbox (worker_sandbox.c) ------------------------------------------------------------------------------ */

/* From here on the process only computes, reads and answers. False, WHY says what is missing. */
bool worker_sandbox(char *why, size_t n);

/* ---- last words (worker_last.c) ---------------------------------------------------------------------------------- */

/* On a host: from here on the worker says on OUT_FD how a candidate ends it. */
void worker_last_start(int out_fd);
bool worker_last_is_on(void);
/* Request ID is served, for LIMIT_S at most (0: no limit): what is over is ended, and said. Nothing before worker_last_start. */
void worker_last_arm(int64_t id, double limit_s);
/* Before its answer is sent. */
void worker_last_disarm(void);

/* ---- what else the machine does (worker_noise.c); 0 where the system does not tell ------------------------------- */

enum { WORKER_MAX_WAITS = 64 };
/* How long each thread of this process has waited for a processor so far. */
typedef struct worker_waits {
  int n;
  struct {
    long id;
    uint64_t waited_ns;
  } threads[WORKER_MAX_WAITS];
} worker_waits;
void worker_take_waits(worker_waits *out);
/* Nanoseconds that the thread which waited longest has waited since then. */
uint64_t worker_waited_ns(const worker_waits *since);
/* Seconds that the host has taken from this machine so far, all processors together. */
double worker_stolen_s(void);
/* Processes ready to run, averaged over the last minute. */
double worker_load(void);

/* ---- recording (worker_profile.c) -------------------------------------------------------------------------------- */

/* Records from here on if the greeting asks for it. */
void worker_profile_start(worker *w, const json_t *hello);
/* "file", "sent", or NULL: not recording. */
const char *worker_profile_mode(const worker *w);
/* The events since the last answer, if answers carry them: bytes for the end of the payload (malloc'ed), and fields for
 * the header. */
char *worker_profile_take(worker *w, json_t *header, size_t *n);
void worker_profile_stop(worker *w);
/* Gives a request's event the program's key, shapes and operations as arguments. */
void worker_profile_describe(tn_scope *scope, const worker_program *p);

/* ---- checking (worker_check.c) ----------------------------------------------------------------------------------- */

int64_t worker_elements(const DLTensor *t);
/* The place of element FLAT in a compact array. */
void worker_unravel(const DLTensor *t, int64_t flat, int64_t *index);
/* Bytes that no kernel computes: NaN for floats, 0xA5 for others. */
void worker_poison(DLTensor *t, tn_dtype dtype);
/* An element as a double. */
double worker_element(const DLTensor *t, tn_dtype dtype, int64_t i);
/* |x - r| / max(|r|, scale) for floats; 0 or infinity for integers, and where an infinity or a NaN is not matched. */
double worker_error(tn_dtype dtype, double x, double r, double scale);
/* The size of a typical element: the median of what is not zero. */
double worker_typical(const DLTensor *t, tn_dtype dtype);
/* Which blocks of an output are compared: all, or some in every part of it, which the seed chooses. */
typedef struct worker_sample {
  bool whole;
  uint64_t seed;
} worker_sample;
/* Poisons the outputs, or what of them will be compared. */
void worker_poison_outputs(const worker_program *p, const worker_sample *sample);
/* Whether element FLAT of an output may be GOT because of roundings alone, by the evaluator (worker_rounding.c). False
 * where that is not known: integers, programs that call functions or whose single elements take too long. */
bool worker_is_rounding(tn_program *program, const worker_data *data, int output, int64_t flat, double got);
/* Compares outputs with the reference: WRONG_ANSWER names the worst element. Raises answer->max_error and sets
 * share. */
bool worker_check_outputs(const worker_program *p, const worker_sample *sample, worker_answer *answer);
/* " C[3, 4]" */
void worker_print_element(runtime_str *out, const char *name, const DLTensor *t, int64_t i);

/* ---- requests (worker_build.c, worker_run.c) --------------------------------------------------------------------- */

void worker_build(worker *w, const protocol_message *request, worker_answer *answer);
void worker_prepare(worker *w, const protocol_message *request, worker_answer *answer);
void worker_run(worker *w, const protocol_message *request, worker_answer *answer);
/* Calls the loaded object's function WORKER_PACK_SYMBOL, where it has one, with the program's arguments. */
bool worker_pack(worker_program *p, const tn_kernel *kernel, worker_answer *answer);
/* The same where there is a device (worker_device.c). */
void worker_device_prepare(worker *w, const protocol_message *request, worker_answer *answer);
void worker_device_run(worker *w, const protocol_message *request, worker_answer *answer);

/* The name of every candidate's function. */
#define WORKER_SYMBOL "kernel"
/* That which packs constants, before the first call. */
#define WORKER_PACK_SYMBOL "kernel_prepack"

#endif
