/* measure.h: the pool of worker processes as the parts of measuring see it.
 *
 * A pool is given jobs and gives them back when they are done. A job is one candidate; serving it takes one or more
 * requests to one worker. Everything happens in the caller's thread, whenever it calls measure_pool_step: no thread is
 * made, no signal handler and no signal mask is touched. A worker that dies, babbles or overruns its time is killed with
 * its process group and replaced, and costs the job it was serving. */
#ifndef TENON_AUTOTUNE_MEASURE_H
#define TENON_AUTOTUNE_MEASURE_H

#include <sys/types.h>

#include "autotune/autotune.h"
#include "autotune/protocol.h"

enum { MEASURE_TAIL = 512, MEASURE_PHASES = 7 };

/* ---- one worker process (measure_process.c) ---------------------------------------------------------------------- */

typedef struct measure_process {
  pid_t pid;                   /* 0: none */
  int fd;                      /* our end of the socket that is its standard input and output */
  int err_fd;                  /* what it writes to its standard error */
  char tail[MEASURE_TAIL + 1]; /* the end of that */
  size_t tail_n;
} measure_process;

/* Starts ARGV in a process group of its own. Returns 0 or an errno. */
int measure_process_start(measure_process *process, const char *const *argv);
/* Reads what standard error holds now, without waiting. */
void measure_process_read_tail(measure_process *process);
/* Kills the group, reaps, closes. */
void measure_process_kill(measure_process *process);
/* For a process whose output ended: waits for its death, WAIT_MS at most, then kills. Says how it ended, with its last words. */
typedef struct measure_death {
  bool out_of_memory, out_of_cpu; /* as far as can be told */
  char text[256 + MEASURE_TAIL];
} measure_death;
void measure_process_autopsy(measure_process *process, int wait_ms, measure_death *death);
/* Closes its input, at which it ends by itself. */
void measure_process_dismiss(measure_process *process);
/* Closes its input, gives it a moment to end by itself, then kills. */
void measure_process_end(measure_process *process);

/* ---- finding the command (measure_find.c) ------------------------------------------------------------------------ */

/* The `tenon` command in malloc memory: a path, or the bare name for posix_spawnp to look up in PATH. PLACES gets, in
 * words, the places that were looked at in vain. NULL: no memory. */
char *measure_find_command(runtime_str *places);

/* ---- what a worker records (measure_profile.c) ------------------------------------------------------------------- */

typedef enum measure_profile_mode {
  MEASURE_PROFILE_NONE,
  MEASURE_PROFILE_FILE,
  MEASURE_PROFILE_SENT
} measure_profile_mode;

typedef struct measure_profile {
  measure_profile_mode mode;
  int fd;     /* of the worker's file; -1: none */
  char *path; /* while the file has a name */
  bool is_temporary;
  uint64_t asked_ns;                        /* when the request under way was sent */
  int64_t offset_low, offset_high;          /* what is to be added to the worker's clock lies between them */
  RUNTIME_VEC(struct tn_recording *) parts; /* what answers brought */
} measure_profile;

/* Adds to the greeting what a running session wants to have recorded. */
void measure_profile_ask(measure_profile *p, json_t *hello);
void measure_profile_greeted(measure_profile *p, const json_t *greeting);
/* Takes the events off an answer's payload. */
void measure_profile_take(measure_profile *p, protocol_message *message);
/* When the worker has ended: gives all that it recorded to the session. */
void measure_profile_end(measure_profile *p);

/* ---- the pool (measure_pool.c, measure_worker.c, measure_host.c) ---------------------------------------------------- */

typedef enum measure_state { MEASURE_NONE, MEASURE_STARTING, MEASURE_IDLE, MEASURE_BUSY } measure_state;
typedef struct measure_job measure_job;
typedef struct measure_pool measure_pool;
typedef struct measure_machine measure_machine;

typedef struct measure_worker {
  measure_machine *machine;
  bool is_runner, is_builder; /* which lanes it takes jobs of */
  measure_process process;
  measure_state state;
  measure_job *job; /* while it is busy */
  int64_t request_id;
  uint64_t deadline_ns;
  /* A host: what it does after JOB is sent ahead, so that a slow way does not idle it. It has no deadline until JOB is over. */
  struct {
    measure_job *job; /* NULL: nothing is */
    int64_t request_id;
    uint64_t asked_ns, profile_asked_ns;
    double timeout_s;
  } ahead;
  double way_s,
      took_s; /* the least that an answer's way took beyond what it told, and what the last took in all; 0: not known */
  runtime_str out; /* bytes to send, out_sent of them gone */
  size_t out_sent;
  protocol_decoder in;
  uint64_t started_ns; /* of the job */
  uint64_t asked_ns;   /* when the request under way was sent */
  measure_profile profile;
  uint64_t prepared; /* hash of the (program, target, seed) whose reference it holds; 0: none */
} measure_worker;

/* NOT_SENT: the request could not be made, or no worker can be started any more. GIVEN_UP: should_stop said so. */
typedef enum measure_failure {
  MEASURE_DIED,
  MEASURE_TIMEOUT,
  MEASURE_GARBAGE,
  MEASURE_NO_MEMORY,
  MEASURE_NOT_SENT,
  MEASURE_GIVEN_UP
} measure_failure;

/* What is asked next for a job. header NULL: nothing, the job is over. payload is borrowed until the answer. */
typedef struct measure_request {
  json_t *header;
  const void *payload;
  size_t payload_bytes;
  double timeout_s;
} measure_request;

/* Builds, and what is timed: runs and references. */
typedef enum measure_lane { MEASURE_BUILDS, MEASURE_RUNS, MEASURE_LANES } measure_lane;

/* What is done with a kind of job. Every job gets, in this order, any number of request/reply pairs, and at most one
 * FAILED as its last (worker NULL: none could be started). REPLY returns true when the job needs another request. */
typedef struct measure_kind {
  measure_lane lane;
  measure_request (*request)(measure_pool *pool, measure_job *job, const measure_worker *worker);
  bool (*reply)(measure_pool *pool, measure_job *job, measure_worker *worker, protocol_message *message);
  void (*failed)(measure_pool *pool, measure_job *job, const measure_worker *worker, measure_failure kind,
                 const char *why);
} measure_kind;

struct measure_job {
  const measure_kind *kind;
  const tn_candidate *candidate;
  tn_measurement *out;
  int cores;                    /* that it keeps busy; 0: all of the machine */
  int losses;                   /* points for the workers that were lost over it, */
  const measure_machine *avoid; /* the last of them on this machine; NULL: none */
  uint64_t reference;           /* key of the reference that it needs; 0: none */
  bool goes_elsewhere;          /* REPLY says so: its answer does not count, another machine is to serve it */
  int passed_on;                /* how often that was so */
  bool is_done;
  double seconds;    /* wall time spent on it */
  uint64_t added_ns; /* when it came to wait */
  tn_job *given;     /* what poll gives back, this job being freed then; NULL: somebody waits for it */
  measure_job *next;
};

typedef struct measure_queue {
  measure_job *first, *last;
  int n;
} measure_queue;

/* A machine: this one, or one that a host's command reaches. It times one candidate at a time. A build keeps one core busy. A
 * run begins when the machine has the cores that its kernel uses, so that nothing disturbs its time. */
struct measure_machine {
  const tn_worker_host *host; /* NULL: this machine. Its texts are the pool's copies */
  char **command;             /* NULL-terminated argv */
  char *places;               /* where the command was looked for; NULL when the user gave it */
  char *name;                 /* a host's in records: given, or what the machine calls itself; NULL: not known yet */
  int number;                 /* of machines that share a host, from 1; 0: it is alone */
  measure_worker *workers;
  int n_workers, cores;
  int failures;       /* starts and losses since the last answer, in a row */
  char trouble[1024]; /* the last one; "": there was none */
  uint64_t lost_ns;   /* when the first of them was */
  uint64_t retry_ns;  /* a host: not before this is a worker started again */
  bool has_greeted, is_refused;
  uint64_t unprepared;          /* key of the last reference that it said it cannot make; 0: none */
  int cost_tries;               /* greetings whose costs were not the target's */
  int n_timed, n_built, n_lost; /* jobs that were answered; workers that were lost */
};

struct measure_pool {
  tn_context *ctx;
  tn_worker_options options; /* no field is left to its default */
  char *target;              /* that hosts have to be; NULL: any */
  char *costs;               /* measured constants that hosts have to have; NULL: not known yet */
  bool costs_are_a_hosts;    /* of the first one that greeted, for want of the target's */
  int n_machines;
  measure_machine *machines;        /* this one first, where it is in use */
  const measure_machine *finals_on; /* the machine that finalists are timed on; NULL: not chosen yet */
  int n_workers;
  measure_worker *workers; /* of all machines, in their order */
  struct pollfd *polled;   /* two for each */
  measure_queue waiting[MEASURE_LANES], done[MEASURE_LANES];
  bool caller_works; /* between two steps the caller uses a core */
  double build_s;    /* of the last builds, on the average; 0: none has ended */
  int64_t next_id;
  int users;            /* builder and runner */
  uint64_t unprepared;  /* hash of the last (program, target, seed) whose reference could not be made, */
  int unprepared_times; /* how often that was tried, */
  tn_measure_error unprepared_error;
  char *unprepared_why; /* and why */
  /* seconds of unscheduled programs, by the hash of (program, target, seed): they are estimated once */
  runtime_map defaults;
};

/* NULL with a message when there is no memory or the first worker does not start. It has two users. */
measure_pool *measure_pool_new(tn_context *ctx, const tn_worker_options *options);
void measure_pool_release(measure_pool *pool); /* the last user's release frees */
/* Takes a job, which stays where it is until it is done. */
void measure_pool_add(measure_pool *pool, measure_job *job);
/* Hands out what can be handed out, waits up to WAIT_S for something to happen, and takes what came. WAIT_S 0: the caller has
 * work of its own, which counts as a busy core until the next step. When should_stop says so, all jobs have FAILED with
 * MEASURE_GIVEN_UP. TN_ERROR_WORKER when workers cannot be started any more: jobs not served yet have then FAILED with
 * MEASURE_NOT_SENT. */
tn_status measure_pool_step(measure_pool *pool, double wait_s);
/* Adds N jobs and steps until they are done. */
tn_status measure_pool_run(measure_pool *pool, int n, measure_job *jobs);
/* A job of the lane that is done and was GIVEN; NULL: there is none. */
measure_job *measure_pool_take(measure_pool *pool, measure_lane lane);
/* A job is over: it is kept for measure_pool_take if it was GIVEN. */
void measure_pool_end(measure_pool *pool, measure_job *job);
/* Puts a job that its worker was lost over before all others. */
void measure_pool_again(measure_pool *pool, measure_job *job);
/* A host that cannot make the job's reference is no fault of the program while another machine may: the job goes there, as if it
 * had not been here, and WHY is the host's trouble. False: it stays with this machine, which is where a finalist has to be. */
bool measure_pool_passes_on(measure_pool *pool, measure_job *job, measure_machine *machine, const char *why);
/* Machines that time candidates. */
int measure_pool_width(const measure_pool *pool);
/* Workers that build. */
int measure_pool_builders(const measure_pool *pool);
/* How its hosts fare, in the context's memory; *N of them. NULL: there are none, or no memory. */
const tn_worker_host_state *measure_pool_hosts(const measure_pool *pool, int *n);

/* ---- one worker's life (measure_worker.c) ------------------------------------------------------------------------- */

bool measure_worker_is_alive(const measure_worker *w);
/* Returns before the worker has greeted: the loop goes on serving the others meanwhile. */
void measure_worker_start(measure_pool *pool, measure_worker *w);
/* Gives it the job, and asks the first thing for it. */
void measure_worker_give(measure_pool *pool, measure_worker *w, measure_job *job);
/* Whether JOB may be sent while it is at work: to a host whose way is slow, when it needs nothing but that one request. */
bool measure_worker_takes_ahead(const measure_worker *w, const measure_job *job);
void measure_worker_give_ahead(measure_pool *pool, measure_worker *w, measure_job *job);
/* What poll(2) said of its socket and of its standard error; then whether its time is over. */
void measure_worker_serve(measure_pool *pool, measure_worker *w, short socket, short err);
bool measure_worker_has_output(const measure_worker *w);
/* Gives the worker up: its job, or its start, has failed. */
void measure_worker_lose(measure_pool *pool, measure_worker *w, measure_failure kind, const char *why);
/* An idle worker that has something to say has died or lost its head since. */
void measure_worker_drop_if_not_quiet(measure_pool *pool, measure_worker *w);
/* The process is dealt with before: this only frees what was kept for it. Safe on a worker that is none. */
void measure_worker_clear(measure_worker *w);
/* In ns of runtime_now_ns; at most 1e9 s ahead, so "no limit" cannot overflow. */
uint64_t measure_deadline_after(double seconds);

/* ---- hosts (measure_host.c) --------------------------------------------------------------------------------------- */

/* Copies COMMAND, which the caller's host may outlive. False: no memory. */
bool measure_host_open(measure_machine *machine, const tn_worker_host *host, int number);
void measure_machine_free(measure_machine *machine);
/* What a host is told, and asked, beyond what a worker here is. */
void measure_host_ask(const measure_machine *machine, json_t *hello);
/* What a machine elsewhere has to be. NULL: anything will do. */
typedef struct measure_wanted {
  const char *target, *costs;
  const char *whose; /* the costs are, in words: "the target's" */
  int threads;       /* of the machine that may be used; 0: all */
} measure_wanted;
/* Compares a greeting: version, target, clock, then costs; *COSTS_DIFFER where it is those, which may be by chance. False, with WHY. */
bool measure_greeting_fits(const measure_wanted *wanted, const json_t *greeting, bool *costs_differ, runtime_str *why);
/* Compares its greeting with what is wanted. False, and WHY says what differs: it is refused for good; WHY is empty: no memory. */
bool measure_host_check(measure_pool *pool, measure_machine *machine, const json_t *greeting, runtime_str *why);
/* Counts what went wrong with one of its workers: the next one is started after a pause, which grows. */
void measure_host_trouble(measure_pool *pool, measure_machine *machine, const char *why);
void measure_host_refuse(measure_pool *pool, measure_machine *machine, const char *why);
/* Whether no worker can be expected of a machine that has none now. */
bool measure_machine_is_hopeless(const measure_pool *pool, const measure_machine *machine);
/* Whether a worker may be started now. */
bool measure_machine_may_start(const measure_pool *pool, const measure_machine *machine);
/* Seconds that an answer's phases took, on the host's clock. */
double measure_told_s(const json_t *answer);
/* False: the worker tells longer times than have passed since it was asked. */
bool measure_host_clock_is_right(const measure_worker *w, const json_t *answer);
/* Adds "NAME: trouble" for each host. */
void measure_hosts_say(const measure_pool *pool, runtime_str *out);

/* Beyond a request's own limit, what the way to a host may take: the host ends by itself what is over its limit. */
#define MEASURE_WAY_S 10.0

#endif
