/* measure.h: the pool of worker processes, as the files of measuring see it.
 *
 * A pool takes jobs and gives them back when they are done. A job is one candidate; serving it takes one or
 * more requests to one worker. Everything happens in the caller's thread whenever it calls
 * measure_pool_step: no threads are made, and no signal handler or mask is changed. A worker that dies,
 * breaks the protocol or exceeds its time is killed with its process group and replaced; that costs only
 * the job that it was serving. */
#ifndef TENON_AUTOTUNE_MEASURE_H
#define TENON_AUTOTUNE_MEASURE_H

#include <sys/types.h>

#include "autotune/autotune.h"
#include "autotune/protocol.h"

/* Bytes of a worker's last words that are kept, and the phases that a worker times. */
enum { MEASURE_TAIL = 512, MEASURE_PHASES = 7 };

/* ---- one worker process (measure_process.c) ---------------------------------------------------------------------- */

/* A worker process and its two connections. Owned by its worker. */
typedef struct measure_process {
  pid_t pid;                   /* 0: there is none */
  int fd;                      /* our end of the socket that is its standard input and output */
  int err_fd;                  /* the reading end of its standard error */
  char tail[MEASURE_TAIL + 1]; /* the last bytes of its standard error */
  size_t tail_n;
} measure_process;

/* Starts ARGV in a process group of its own. Returns 0 or an errno. */
int measure_process_start(measure_process *process, const char *const *argv);
/* Takes what standard error holds now, without waiting. */
void measure_process_read_tail(measure_process *process);
/* Kills its process group, reaps it and closes both connections. */
void measure_process_kill(measure_process *process);
/* How a process ended, with its last words. measure_process_autopsy is for one whose output has ended: it
 * waits at most WAIT_MS for its death, then kills it. */
typedef struct measure_death {
  bool out_of_memory, out_of_cpu; /* as far as can be told */
  char text[256 + MEASURE_TAIL];
} measure_death;
void measure_process_autopsy(measure_process *process, int wait_ms, measure_death *death);
/* Closes its input; a worker ends by itself then. */
void measure_process_dismiss(measure_process *process);
/* Closes its input, waits a moment for it to end, then kills it. */
void measure_process_end(measure_process *process);

/* ---- finding the command (measure_find.c) ------------------------------------------------------------------------ */

/* Finds the `tenon` command: a malloc'ed path, or the bare name, which posix_spawnp looks up in PATH.
 * PLACES gets the places that were searched in vain, in words. NULL: no memory. */
char *measure_find_command(runtime_str *places);

/* ---- what a worker records for the profiler (measure_profile.c) -------------------------------------------------- */

/* How a worker's recording comes here: not at all, through a file that both have, or at the end of its answers. */
typedef enum measure_profile_mode {
  MEASURE_PROFILE_NONE,
  MEASURE_PROFILE_FILE,
  MEASURE_PROFILE_SENT
} measure_profile_mode;

/* The recording of one worker process. */
typedef struct measure_profile {
  measure_profile_mode mode;
  int fd;     /* the worker's file; -1: none */
  char *path; /* NULL once the file has no name */
  bool is_temporary;
  uint64_t asked_ns;                        /* when the request under way was sent */
  int64_t offset_low, offset_high;          /* bounds of what has to be added to the worker's clock */
  RUNTIME_VEC(struct tn_recording *) parts; /* recordings from its answers */
} measure_profile;

/* Adds to the greeting what a running session wants the worker to record. */
void measure_profile_ask(measure_profile *p, json_t *hello);
void measure_profile_greeted(measure_profile *p, const json_t *greeting);
/* Cuts the events off an answer's payload. */
void measure_profile_take(measure_profile *p, protocol_message *message);
/* After the worker has ended: gives the session all that it recorded. */
void measure_profile_end(measure_profile *p);

/* ---- the pool (measure_pool.c, measure_worker.c, measure_host.c) ---------------------------------------------------- */

/* STARTING: the process runs but has not greeted. */
typedef enum measure_state { MEASURE_NONE, MEASURE_STARTING, MEASURE_IDLE, MEASURE_BUSY } measure_state;
typedef struct measure_job measure_job;
typedef struct measure_pool measure_pool;
typedef struct measure_machine measure_machine;

/* A place for one worker process of a machine; the process in it may be replaced. */
typedef struct measure_worker {
  measure_machine *machine;
  bool is_runner, is_builder; /* which lanes it takes jobs from */
  measure_process process;
  measure_state state;
  measure_job *job; /* while it is busy */
  int64_t request_id;
  uint64_t deadline_ns;
  /* For a host: the job that is sent before JOB is done, so that a slow connection does not leave the
   * worker idle. Its deadline begins when JOB is over. */
  struct {
    measure_job *job; /* NULL: nothing is */
    int64_t request_id;
    uint64_t asked_ns, profile_asked_ns;
    double timeout_s;
  } ahead;
  double way_s,
      took_s; /* the least that an answer's way took beyond what it told, and what the last took in all; 0: not known */
  runtime_str out; /* bytes to send, of which out_sent are sent */
  size_t out_sent;
  protocol_decoder in;
  uint64_t started_ns; /* when the job began */
  uint64_t asked_ns;   /* when the request under way was sent */
  measure_profile profile;
  uint64_t prepared; /* hash of the reference (program, target, seed) that it holds; 0: none */
} measure_worker;

/* Why a job failed. NOT_SENT: the request could not be made, or no worker can be started any more.
 * GIVEN_UP: should_stop said so. */
typedef enum measure_failure {
  MEASURE_DIED,
  MEASURE_TIMEOUT,
  MEASURE_GARBAGE,
  MEASURE_NO_MEMORY,
  MEASURE_NOT_SENT,
  MEASURE_GIVEN_UP
} measure_failure;

/* The next request for a job. Header NULL: there is none, and the job is over. The payload is borrowed
 * until the answer. */
typedef struct measure_request {
  json_t *header;
  const void *payload;
  size_t payload_bytes;
  double timeout_s;
} measure_request;

/* Two lanes of jobs: builds, and everything that is timed (runs and references). */
typedef enum measure_lane { MEASURE_BUILDS, MEASURE_RUNS, MEASURE_LANES } measure_lane;

/* How jobs of a kind are served. Each job gets any number of request/reply pairs, and at most one FAILED,
 * which is the last (worker NULL: none could be started). REPLY returns true when the job needs another
 * request. */
typedef struct measure_kind {
  measure_lane lane;
  measure_request (*request)(measure_pool *pool, measure_job *job, const measure_worker *worker);
  bool (*reply)(measure_pool *pool, measure_job *job, measure_worker *worker, protocol_message *message);
  void (*failed)(measure_pool *pool, measure_job *job, const measure_worker *worker, measure_failure kind,
                 const char *why);
} measure_kind;

/* A candidate on its way through the pool. */
struct measure_job {
  const measure_kind *kind;
  const tn_candidate *candidate;
  tn_measurement *out;
  int cores;                    /* cores that it keeps busy; 0: all of the machine */
  int losses;                   /* points for workers that were lost while serving it */
  const measure_machine *avoid; /* the machine of the last such worker; NULL: none */
  uint64_t reference;           /* hash of the reference that it needs; 0: none */
  bool goes_elsewhere;          /* set by REPLY: the answer does not count, and another machine is to serve it */
  int passed_on;                /* how often that happened */
  bool is_done;
  double seconds;    /* wall time spent on it */
  uint64_t added_ns; /* when it began to wait */
  tn_job *given;     /* what poll gives back, after which this job is freed; NULL: somebody waits for this job */
  measure_job *next;
};

/* Jobs in order of arrival. */
typedef struct measure_queue {
  measure_job *first, *last;
  int n;
} measure_queue;

/* A machine: this one, or one that a host's command reaches. It times one candidate at a time. A build
 * keeps one core busy. A run begins when the machine has as many free cores as its kernel uses, so that
 * nothing disturbs its time. */
struct measure_machine {
  const tn_worker_host *host; /* NULL: this machine. Its texts are the pool's copies */
  char **command;             /* NULL-terminated argv */
  char *places;               /* where the command was searched; NULL when the user gave it */
  char *name;                 /* a host's name in records: given, or its own; NULL: not known yet */
  int number;                 /* among machines that share a host, from 1; 0: it is the only one */
  measure_worker *workers;
  int n_workers, cores;
  int failures;       /* failed starts and losses in a row, since the last answer */
  char trouble[1024]; /* the last one's reason; "": there was none */
  uint64_t lost_ns;   /* when the first of them happened */
  uint64_t retry_ns;  /* a host: no worker is started before this */
  bool has_greeted, is_refused;
  uint64_t unprepared;          /* the last reference that it said it cannot make; 0: none */
  int cost_tries;               /* greetings whose costs were not the target's */
  int n_timed, n_built, n_lost; /* jobs that were answered; workers that were lost */
};

/* The pool: its workers, the machines that they are on, and all jobs. Builder and runner share it. */
struct measure_pool {
  tn_context *ctx;
  tn_worker_options options; /* with defaults filled in */
  char *target;              /* what hosts have to be; NULL: anything */
  char *costs;               /* measured costs that hosts have to have; NULL: not known yet */
  bool costs_are_a_hosts;    /* COSTS are those of the first host that greeted, because the target has none */
  int n_machines;
  measure_machine *machines;        /* this machine first, if it is used */
  const measure_machine *finals_on; /* the machine that times finalists; NULL: not chosen yet */
  int n_workers;
  measure_worker *workers; /* of all machines, in their order */
  struct pollfd *polled;   /* two for each worker */
  measure_queue waiting[MEASURE_LANES], done[MEASURE_LANES];
  bool caller_works; /* the caller uses a core between two steps */
  double build_s;    /* seconds of the last builds, on average; 0: none has ended */
  int64_t next_id;
  int users;            /* builder and runner: the last one frees the pool */
  uint64_t unprepared;  /* hash of the last reference that could not be made, */
  int unprepared_times; /* how often it was tried, */
  tn_measure_error unprepared_error;
  char *unprepared_why; /* and why */
  /* seconds of unscheduled programs, by the hash of (program, target, seed): they are estimated once */
  runtime_map defaults;
};

/* Makes a pool with two users, a builder and a runner. NULL with a message: there is no memory, or the
 * first worker does not start. */
measure_pool *measure_pool_new(tn_context *ctx, const tn_worker_options *options);
void measure_pool_release(measure_pool *pool); /* frees it with the last user */
/* Adds a job, which must stay where it is until it is done. */
void measure_pool_add(measure_pool *pool, measure_job *job);
/* One step: hands out jobs, waits up to WAIT_S for something to happen, and takes what came. WAIT_S 0: the
 * caller has work of its own, which counts as a busy core until the next step. If should_stop says so, all
 * jobs get FAILED with MEASURE_GIVEN_UP. TN_ERROR_WORKER: no worker can be started any more, and the jobs
 * that were not served have got FAILED with MEASURE_NOT_SENT. */
tn_status measure_pool_step(measure_pool *pool, double wait_s);
/* Adds N jobs and steps until they are done. */
tn_status measure_pool_run(measure_pool *pool, int n, measure_job *jobs);
/* Takes a finished job of the lane that was GIVEN; NULL: there is none. */
measure_job *measure_pool_take(measure_pool *pool, measure_lane lane);
/* Ends a job. If it was GIVEN it is kept for measure_pool_take. */
void measure_pool_end(measure_pool *pool, measure_job *job);
/* Puts a job whose worker was lost before all others. */
void measure_pool_again(measure_pool *pool, measure_job *job);
/* A host cannot make the job's reference. As long as another machine may, this is no fault of the program:
 * true, the job goes there as if it had not been here, and WHY becomes the host's trouble. False: it stays
 * with this machine, where a finalist has to be. */
bool measure_pool_passes_on(measure_pool *pool, measure_job *job, measure_machine *machine, const char *why);
/* How many machines time candidates. */
int measure_pool_width(const measure_pool *pool);
/* How many workers build. */
int measure_pool_builders(const measure_pool *pool);
/* The states of its hosts, in the context's memory; *N of them. NULL: there are none, or no memory. */
const tn_worker_host_state *measure_pool_hosts(const measure_pool *pool, int *n);

/* ---- one worker's life (measure_worker.c) ------------------------------------------------------------------------- */

bool measure_worker_is_alive(const measure_worker *w);
/* Starts a process and returns before it has greeted, so that the others are served meanwhile. */
void measure_worker_start(measure_pool *pool, measure_worker *w);
/* Gives it the job and sends the first request. */
void measure_worker_give(measure_pool *pool, measure_worker *w, measure_job *job);
/* Whether JOB may be sent while the worker is busy: to a host with a slow connection, if the job needs only
 * that one request. */
bool measure_worker_takes_ahead(const measure_worker *w, const measure_job *job);
void measure_worker_give_ahead(measure_pool *pool, measure_worker *w, measure_job *job);
/* Takes what poll(2) reported about its socket and its standard error, then checks whether its time is over. */
void measure_worker_serve(measure_pool *pool, measure_worker *w, short socket, short err);
bool measure_worker_has_output(const measure_worker *w);
/* Gives the worker up; its job, or its start, has failed. */
void measure_worker_lose(measure_pool *pool, measure_worker *w, measure_failure kind, const char *why);
/* An idle worker must not send anything: one that does has died or is broken. */
void measure_worker_drop_if_not_quiet(measure_pool *pool, measure_worker *w);
/* Frees what was kept for a process, which must have ended before. Safe for a worker without one. */
void measure_worker_clear(measure_worker *w);
/* The time in ns of runtime_now_ns; at most 1e9 s ahead, so that "no limit" does not overflow. */
uint64_t measure_deadline_after(double seconds);

/* ---- hosts (measure_host.c) --------------------------------------------------------------------------------------- */

/* Copies the host's command and texts, which need not outlive the call. False: no memory. */
bool measure_host_open(measure_machine *machine, const tn_worker_host *host, int number);
void measure_machine_free(measure_machine *machine);
/* Adds what a host is told and asked beyond what a worker here is. */
void measure_host_ask(const measure_machine *machine, json_t *hello);
/* What a machine elsewhere has to be. A NULL text: anything will do. */
typedef struct measure_wanted {
  const char *target, *costs;
  const char *whose; /* whose costs these are, in words: "the target's" */
  int threads;       /* threads of the machine that may be used; 0: all */
} measure_wanted;
/* Compares a greeting with it: version, target, clock, then costs. False with WHY. *COSTS_DIFFER: only the
 * costs do, which may be by chance. */
bool measure_greeting_fits(const measure_wanted *wanted, const json_t *greeting, bool *costs_differ, runtime_str *why);
/* Compares a machine's greeting with what the pool wants. False: it is refused for good, and WHY says what
 * differs; an empty WHY: no memory. */
bool measure_host_check(measure_pool *pool, measure_machine *machine, const json_t *greeting, runtime_str *why);
/* Notes that one of its workers failed. The next is started after a pause, which grows. */
void measure_host_trouble(measure_pool *pool, measure_machine *machine, const char *why);
void measure_host_refuse(measure_pool *pool, measure_machine *machine, const char *why);
/* Whether a machine without workers will get none any more. */
bool measure_machine_is_hopeless(const measure_pool *pool, const measure_machine *machine);
/* Whether a worker may be started now. */
bool measure_machine_may_start(const measure_pool *pool, const measure_machine *machine);
/* Seconds that an answer's phases took, by the host's clock. */
double measure_told_s(const json_t *answer);
/* False: the worker reports more time than has passed since it was asked. */
bool measure_host_clock_is_right(const measure_worker *w, const json_t *answer);
/* Adds "NAME: trouble" for each host. */
void measure_hosts_say(const measure_pool *pool, runtime_str *out);

/* Seconds that the connection to a host may take beyond a request's own limit, at which the host ends it by itself. */
#define MEASURE_WAY_S 10.0

#endif
