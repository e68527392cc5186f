/* worker.h: the worker process's parts as they see each other: the programs and references it keeps, what
 * it answers, and the faults that tests inject. A worker serves one request at a time; everything belongs
 * to one struct worker. */
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

/* What goes into an answer. Zero-initialise it, but set lap_ns; send_header takes message and object. */
typedef struct worker_answer {
  tn_measure_error error;
  runtime_str message;
  uint64_t lap_ns; /* when the current phase began */
  double phase_s[WORKER_PHASES];
  int n_costs;
  double costs[TN_MAX_COSTS];
  int n_samples;   /* that the costs were taken from; 0: nothing was timed */
  double min_s;    /* the fastest of them */
  double noise;    /* half the 95 % confidence interval of their median, relative to it */
  double waited_s; /* the longest that a thread waited for a processor meanwhile */
  double steal_s;  /* that the host took from the machine meanwhile */
  double load;     /* of the machine, averaged over the last minute */
  bool checked;
  double share;     /* of the outputs that was compared, from 0 to 1 */
  bool ended_early; /* the run was ended: the cost is a lower bound */
  bool is_packed;   /* constants were packed beforehand; the costs leave that out */
  double max_error;
  double odd_share; /* share of the reference's floats that are infinite or NaN */
  double default_s; /* prepare: what the unscheduled program takes; 0: not known */
  bool is_estimate; /* default_s was extrapolated from a part of the program */
  codegen_bytes object;
} worker_answer;

/* Keeps the first error. Always false, so that a step can `return worker_fail(...)`. */
bool worker_fail(worker_answer *answer, tn_measure_error error, const char *fmt, ...) TN_PRINTF(3, 4);
/* Takes the context's message, and clears the context. If it ran out of memory, that is the error instead of ERROR. */
bool worker_fail_context(worker_answer *answer, tn_measure_error error, tn_context *ctx);
/* Adds the time since the last lap to PHASE. */
void worker_lap(worker_answer *answer, worker_phase phase);

/* ---- faults (worker_fault.c) ------------------------------------------------------------------------------------- */

/* --inject=REQUEST-FAULT@N: the fault happens at the N-th request of that kind. X(NAME, "text") */
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

/* The fault that a test asked for. */
typedef struct worker_fault {
  worker_fault_kind kind;
  char request[16];
  int64_t at, seen; /* the request of that kind it happens at; how many came */
} worker_fault;

/* Reads "REQUEST-FAULT@N". False: not of that form. */
bool worker_fault_parse(const char *text, worker_fault *out);
/* Call it once for every request: gives the fault that happens at this one. */
worker_fault_kind worker_fault_next(worker_fault *fault, const char *request);
/* Commits faults that end or hang the process, or spoil its output. Other faults are left to the request's handler. */
void worker_fault_strike(worker_fault_kind kind, int out_fd);

/* ---- programs and references (worker_program.c, worker_reference.c) ---------------------------------------------- */

/* The inputs and reference outputs of a program for one seed. Arguments are in the kernel's order. Owns all arrays. */
typedef struct worker_data {
  uint64_t seed;
  char *fill;       /* the user's lines "NAME=HOW"; NULL: none */
  double odd_share; /* share of the reference's floats that are infinite or NaN */
  int n_args, n_inputs;
  DLTensor **args;      /* what candidates get */
  DLTensor **reference; /* outputs only: reference[a - n_inputs] belongs to args[a] */
  double *scale;        /* of each reference: the size of a typical element */
  double tolerance;     /* the relative error that floats may have */
  double default_s;     /* what the unscheduled program takes; 0: not known yet */
  bool default_was_run; /* false: the time is estimated from a part */
  bool is_by_stages;    /* each tensor of the reference was proved (worker_stages.c) */
  bool is_generic;      /* computed by the generic schedule's kernel instead of the unscheduled one */
} worker_data;

/* The most programs that a worker keeps parsed, with their inputs and references. */
enum { WORKER_PROGRAMS = 64 };

/* A program in the worker's cache. Empty while text is NULL. */
typedef struct worker_program {
  char *text, *target_text;
  tn_context *ctx;
  tn_program *program;
  tn_target *target;
  runtime_arena scratch; /* for one lowering at a time */
  int n_args;
  runtime_kernel_arg *args;
  worker_data *data; /* NULL until the program is run */
  uint64_t used;     /* the value of worker.clock at its last request */
} worker_program;

/* The whole worker process; lives in tn_worker_main. */
typedef struct worker {
  int in_fd, out_fd;
  protocol_decoder in;
  worker_fault fault;
  worker_fault_kind fault_now;
  int64_t memory_bytes, idle_bytes;         /* the limit; what was in use at the greeting */
  worker_program programs[WORKER_PROGRAMS]; /* a cache: as many as fit into a quarter of the memory */
  uint64_t clock;
  bool is_remote;                  /* by --remote or the greeting: files and clock of the tuner are out of reach */
  runtime_str host, target, costs; /* of this machine, for a greeting from afar */
  bool is_boxed;                   /* --sandbox was given */
  device device;                   /* --runner: candidates run on this device */
  bool is_recording, sends_profile;
  tn_scope event; /* of the request that is served */
  tn_profile_options profile;
  uint64_t received_ns; /* when the request came, by the profiler's clock */
} worker;

/* The bytes of inputs and references that the worker keeps on purpose. */
int64_t worker_kept_bytes(const worker *w);
/* The program and target that a request names: parsed now, or from the cache, which owns it. NULL: the
 * answer has the error. */
worker_program *worker_program_for(worker *w, const char *text, const char *target, worker_answer *answer);
worker_program *worker_program_get(worker *w, const json_t *request, worker_answer *answer);
void worker_program_free(worker_program *p);
/* Lowers and compiles. If SHARE is given, the loops of the unscheduled program are cut short, and *SHARE is
 * the part of the work that is left (worker_estimate.c). */
bool worker_compile(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer,
                    codegen_bytes *object);
/* Compiles a schedule as candidates are timed. Where layout_free inputs alone determine some stages at
 * root, the object has a function WORKER_PACK_SYMBOL that computes these stages, and the kernel uses what
 * it computed. */
bool worker_compile_candidate(worker_program *p, const tn_schedule *schedule, worker_answer *answer,
                              codegen_bytes *object);
/* Compiles and loads. The caller frees the kernel. NULL: the answer has the error. */
tn_kernel *worker_kernel(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer);
/* Makes p->data for a seed and the inputs' lines unless it is there already: inputs, and a reference that
 * was proved (worker_reference.c). DEFAULT_S: what the unscheduled program is known to take, or 0. SPOIL:
 * commit the fault WORKER_DISAGREE. */
bool worker_prepare_data(worker_program *p, uint64_t seed, const char *fill, double default_s, bool spoil,
                         worker_answer *answer);

/* The generic schedule for this machine or, if OTHER, for an imaginary one that leads to other loops. NULL:
 * the scheduler refuses. */
tn_schedule *worker_generic_schedule(worker_program *p, bool other);
/* Whether some element depends on too much to be computed by the evaluator alone. */
bool worker_is_deep(const tn_program *program);
/* Proves DATA's reference tensor by tensor (worker_stages.c). */
bool worker_verify_stages(worker_program *p, worker_data *data, worker_answer *answer);

/* ---- arguments (worker_data.c) ----------------------------------------------------------------------------------- */

/* Makes arrays for the program's arguments and fills the inputs. They may be written to until worker_guard_inputs. */
worker_data *worker_data_new(worker_program *p, uint64_t seed, const char *fill, worker_answer *answer);
void worker_data_free(worker_data *data);
/* Numbers for the inputs (worker_inputs.c). */
bool worker_fill_inputs(worker_program *p, worker_data *data, worker_answer *answer);
/* The share of the reference's floats that are infinite or NaN. */
double worker_odd_share(const worker_program *p, const worker_data *data);

/* ---- the unscheduled program's time (worker_estimate.c) ---------------------------------------------------------- */

/* Lowers the unscheduled loop nests cut to *SHARE of their work, through all passes. Small programs are not
 * cut. The result is in p->scratch. */
tir_func *worker_lower_part(worker_program *p, const tn_schedule *schedule, double *share);
/* Times such a part and extrapolates to the whole program. */
bool worker_estimate(worker_program *p, worker_data *data, worker_answer *answer, double *seconds);

/* ---- what a candidate must not do (worker_guard.c) --------------------------------------------------------------- */

/* Installs the signal handlers and starts the guard's thread, once a process. */
bool worker_guard_start(void);
/* Makes the inputs read-only and watches them; NULL watches none. A first write to an input is noted and
 * then allowed. */
void worker_guard_inputs(const worker_data *data);
/* The first input that was written to since; -1: none. */
int worker_guard_written(void);
/* Calls the kernel, and ends the call after LIMIT_S (0: never); time that other processes took does not
 * count. False: it was ended. Then whatever it had allocated is lost, and the outputs hold anything. */
bool worker_guard_call(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args, double limit_s,
                       tn_status *status);

/* ---- the machine (worker_machine.c) ------------------------------------------------------------------------------ */

/* The machine's name; its native target; its measured costs, "" where they cannot be measured. W keeps all three. */
const char *worker_host(worker *w);
const char *worker_target(worker *w);
const char *worker_costs(worker *w);

/* ---- the sandbox (worker_sandbox.c) ------------------------------------------------------------------------------ */

/* From here on the process can only compute, read and answer. False: WHY, of N bytes, says what is missing. */
bool worker_sandbox(char *why, size_t n);

/* ---- last words (worker_last.c) ---------------------------------------------------------------------------------- */

/* For workers of a host: from here on the worker says on OUT_FD how a candidate ended it. */
void worker_last_start(int out_fd);
bool worker_last_is_on(void);
/* Request ID is being served, for at most LIMIT_S (0: no limit): if it takes longer the worker says so and
 * ends. Does nothing before worker_last_start. */
void worker_last_arm(int64_t id, double limit_s);
/* Call it before the answer is sent. */
void worker_last_disarm(void);

/* ---- what else the machine does (worker_noise.c); 0 where the system does not tell ------------------------------- */

/* Threads of a worker that are looked at; further ones are left out. */
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
/* Nanoseconds that the thread which waited longest has waited since the snapshot. */
uint64_t worker_waited_ns(const worker_waits *since);
/* Seconds that the host has taken away from this virtual machine so far, all processors together. */
double worker_stolen_s(void);
/* Processes that are ready to run, averaged over the last minute. */
double worker_load(void);

/* ---- recording (worker_profile.c) -------------------------------------------------------------------------------- */

/* Starts recording if the greeting asks for it. */
void worker_profile_start(worker *w, const json_t *hello);
/* "file", "sent", or NULL: not recording. */
const char *worker_profile_mode(const worker *w);
/* Where answers carry events: the events since the last answer as bytes for the end of the payload
 * (malloc'ed), with fields for the header. Otherwise NULL. */
char *worker_profile_take(worker *w, json_t *header, size_t *n);
void worker_profile_stop(worker *w);
/* Adds the program's key, shapes and operations to a request's event. */
void worker_profile_describe(tn_scope *scope, const worker_program *p);

/* ---- checking (worker_check.c) ----------------------------------------------------------------------------------- */

int64_t worker_elements(const DLTensor *t);
/* The indices of element FLAT of a compact array. */
void worker_unravel(const DLTensor *t, int64_t flat, int64_t *index);
/* Fills T with bytes that no kernel computes: NaN for floats, 0xA5 for others. */
void worker_poison(DLTensor *t, tn_dtype dtype);
/* An element as a double. */
double worker_element(const DLTensor *t, tn_dtype dtype, int64_t i);
/* The error of x against the reference r. Floats: |x - r| / max(|r|, scale), and infinity where only one of
 * them is infinite or NaN. Others: 0 or infinity. */
double worker_error(tn_dtype dtype, double x, double r, double scale);
/* The size of a typical element: the median of those that are not zero, taken from a sample. */
double worker_typical(const DLTensor *t, tn_dtype dtype);
/* Which blocks of an output are compared: all, or one chosen by the seed in each of many parts. */
typedef struct worker_sample {
  bool whole;
  uint64_t seed;
} worker_sample;
/* Poisons those elements of the outputs that will be compared. */
void worker_poison_outputs(const worker_program *p, const worker_sample *sample);
/* Whether roundings alone may explain that element FLAT of an output is GOT, by the evaluator
 * (worker_rounding.c). False where the evaluator cannot tell: programs that call functions, and elements that
 * take too long. */
bool worker_is_rounding(tn_program *program, const worker_data *data, int output, int64_t flat, double got);
/* Compares the outputs with the reference. An error of WRONG_ANSWER names the worst element. Sets
 * answer->share, and raises answer->max_error. */
bool worker_check_outputs(const worker_program *p, const worker_sample *sample, worker_answer *answer);
/* Appends, for example, "C[3, 4]". */
void worker_print_element(runtime_str *out, const char *name, const DLTensor *t, int64_t i);

/* ---- requests (worker_build.c, worker_run.c) --------------------------------------------------------------------- */

void worker_build(worker *w, const protocol_message *request, worker_answer *answer);
void worker_prepare(worker *w, const protocol_message *request, worker_answer *answer);
void worker_run(worker *w, const protocol_message *request, worker_answer *answer);
/* Calls the loaded object's function WORKER_PACK_SYMBOL, if it has one, with the program's arguments. */
bool worker_pack(worker_program *p, const tn_kernel *kernel, worker_answer *answer);
/* The same requests where candidates run on a device (worker_device.c). */
void worker_device_prepare(worker *w, const protocol_message *request, worker_answer *answer);
void worker_device_run(worker *w, const protocol_message *request, worker_answer *answer);

/* The name of every candidate's kernel in its object. */
#define WORKER_SYMBOL "kernel"
/* The name of the function that packs constants before the first call. */
#define WORKER_PACK_SYMBOL "kernel_prepack"

#endif
