/* measure_pool.c: the pool: keeps workers running, gives jobs to idle ones as their machine's cores permit,
 * and waits for all of them at once with poll(2). */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>

#include "autotune/measure.h"
#include "runtime/profiler/recorder.h"

/* Runs that hold up the builders come together: so many of them, or as many as gather in the time of so many builds. */
enum { RUNS_TOGETHER = 20, GATHER_BUILDS = 10 };
/* Limits of the options; milliseconds between two questions whether to stop; descriptors that the program
 * itself may need. */
enum { MAX_WORKERS = 256, MAX_HOSTS = 4096, STOP_ASKED_MS = 50, OWN_DESCRIPTORS = 64 };

/* Seconds for the first worker to greet, and of waiting for lost hosts. */
#define GREETING_S 60.0
#define PATIENCE_S 30.0

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static void push(measure_queue *q, measure_job *job) {
  job->next = NULL;
  if (q->last)
    q->last->next = job;
  else
    q->first = job;
  q->last = job;
  q->n++;
}

/* Takes the job behind BEFORE; NULL: the first one. */
static measure_job *take_behind(measure_queue *q, measure_job *before) {
  measure_job *job = before ? before->next : q->first;
  if (!job) return NULL;
  *(before ? &before->next : &q->first) = job->next;
  if (q->last == job) q->last = before;
  q->n--;
  return job;
}

static measure_job *pop(measure_queue *q) { return take_behind(q, NULL); }

void measure_pool_add(measure_pool *pool, measure_job *job) {
  bool is_idle = pool->waiting[MEASURE_BUILDS].n + pool->waiting[MEASURE_RUNS].n == 0;
  for (int i = 0; is_idle && i < pool->n_machines; ++i)
    if (!pool->machines[i].host) pool->machines[i].failures = 0;
  job->added_ns = runtime_now_ns();
  push(&pool->waiting[job->kind->lane], job);
}

void measure_pool_again(measure_pool *pool, measure_job *job) {
  measure_queue *q = &pool->waiting[job->kind->lane];
  job->next = q->first;
  q->first = job;
  if (!q->last) q->last = job;
  q->n++;
}

measure_job *measure_pool_take(measure_pool *pool, measure_lane lane) { return pop(&pool->done[lane]); }

void measure_pool_end(measure_pool *pool, measure_job *job) {
  job->is_done = true;
  if (job->given) push(&pool->done[job->kind->lane], job);
}

/* Records how many jobs wait for a worker. */
static void tell_queue(const measure_pool *pool, measure_lane lane) {
  static const tn_site site = {__FILE__, "tell_queue", __LINE__, TN_CATEGORY_QUEUE, 2};
  static const char *const names[] = {"builder_queue", "runner_queue"};
  if (tn_profile_wants(TN_CATEGORY_QUEUE, 2)) tn_counter(&site, names[lane], pool->waiting[lane].n);
}

/* ---- who may do what --------------------------------------------------------------------------------------------- */

static bool serves(const measure_worker *w, measure_lane lane) {
  return lane == MEASURE_RUNS ? w->is_runner : w->is_builder;
}

static bool machine_serves(const measure_machine *machine, measure_lane lane) {
  for (int i = 0; i < machine->n_workers; ++i)
    if (serves(&machine->workers[i], lane)) return true;
  return false;
}

static bool has_state(const measure_machine *machine, measure_state state) {
  for (int i = 0; i < machine->n_workers; ++i)
    if (machine->workers[i].state == state) return true;
  return false;
}

static bool any_has_state(const measure_pool *pool, measure_state state) {
  for (int i = 0; i < pool->n_machines; ++i)
    if (has_state(&pool->machines[i], state)) return true;
  return false;
}

/* Whether one of its workers that take such jobs is serving. */
static bool is_there(const measure_machine *machine, measure_lane lane) {
  for (int i = 0; i < machine->n_workers; ++i) {
    const measure_worker *w = &machine->workers[i];
    if (serves(w, lane) && (w->state == MEASURE_IDLE || w->state == MEASURE_BUSY)) return true;
  }
  return false;
}

/* Whether the machine has said that it cannot make the job's reference. */
static bool is_unable(const measure_machine *machine, const measure_job *job) {
  return job->reference && job->reference == machine->unprepared;
}

/* Whether another machine is serving that can do the job. */
static bool has_other(const measure_pool *pool, const measure_machine *machine, const measure_job *job) {
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *other = &pool->machines[i];
    if (other != machine && is_there(other, job->kind->lane) && !is_unable(other, job)) return true;
  }
  return false;
}

/* The machine that times finalists. They are compared with each other, so one machine times them all: of
 * those that are serving, the one that has timed most. It is kept as long as it may come back. */
static const measure_machine *finals_machine(measure_pool *pool) {
  const measure_machine *best = pool->finals_on;
  bool may_come = best && (has_state(best, MEASURE_STARTING) || best->failures < 2);
  if (best && !best->is_refused && (may_come || is_there(best, MEASURE_RUNS))) return best;
  best = NULL;
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *machine = &pool->machines[i];
    if (is_there(machine, MEASURE_RUNS) && (!best || machine->n_timed > best->n_timed)) best = machine;
  }
  return pool->finals_on = best;
}

/* Whether another machine may be able to make the reference. */
static bool has_other_for(const measure_pool *pool, const measure_machine *machine, uint64_t reference) {
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *other = &pool->machines[i];
    bool is_able = other != machine && machine_serves(other, MEASURE_RUNS) && other->unprepared != reference;
    if (is_able && (is_there(other, MEASURE_RUNS) || !measure_machine_is_hopeless(pool, other))) return true;
  }
  return false;
}

bool measure_pool_passes_on(measure_pool *pool, measure_job *job, measure_machine *machine, const char *why) {
  if (!machine->host || job->candidate->is_final || job->passed_on >= pool->n_machines) return false;
  machine->unprepared = job->reference;
  if (!has_other_for(pool, machine, job->reference)) return false;
  snprintf(machine->trouble, sizeof machine->trouble, "%s", why);
  job->passed_on++;
  return true;
}

/* Whether the machine may have the job. If there are others, it may not when one of its workers was lost
 * over the job, or when it cannot make the reference. A finalist has no choice. */
static bool suits(measure_pool *pool, const measure_machine *machine, const measure_job *job) {
  measure_lane lane = job->kind->lane;
  if (!machine->host) return true;
  if (lane == MEASURE_RUNS && job->candidate->is_final) return finals_machine(pool) == machine;
  if (is_unable(machine, job) && has_other_for(pool, machine, job->reference)) return false;
  return job->avoid != machine || !has_other(pool, machine, job);
}

/* The first waiting job of the lane that suits the machine; *BEFORE is the one before it. */
static measure_job *first_for(measure_pool *pool, const measure_machine *machine, measure_lane lane,
                              measure_job **before) {
  measure_job *job = pool->waiting[lane].first;
  for (*before = NULL; job && !suits(pool, machine, job); job = job->next) *before = job;
  return job;
}

/* Cores that the job takes there; 0 or too many mean the whole machine. */
static int cores_of(const measure_machine *machine, const measure_job *job) {
  return job->cores > 0 ? RUNTIME_MIN(job->cores, machine->cores) : machine->cores;
}

/* The core that the caller uses on its own machine. */
static int caller_cores(const measure_pool *pool, const measure_machine *machine) {
  return !machine->host && pool->caller_works;
}

/* Cores in use. A worker that is starting computes, too, and would disturb a run. */
static int busy_cores(const measure_pool *pool, const measure_machine *machine) {
  int busy = caller_cores(pool, machine);
  for (int i = 0; i < machine->n_workers; ++i) {
    const measure_worker *w = &machine->workers[i];
    busy += w->state == MEASURE_BUSY ? cores_of(machine, w->job) : w->state == MEASURE_STARTING;
  }
  return busy;
}

/* Whether the machine has the cores for the job now. On a machine of one core nothing could ever begin
 * while the caller works, so there it may. */
static bool fits(const measure_pool *pool, const measure_machine *machine, const measure_job *job) {
  int most = RUNTIME_MAX(machine->cores, 1 + caller_cores(pool, machine));
  return busy_cores(pool, machine) + cores_of(machine, job) <= most;
}

/* Whether the waiting runs have gathered long enough. Before any build has ended, the first run is not held up. */
static bool have_gathered(const measure_pool *pool, const measure_job *run) {
  uint64_t gather_ns = (uint64_t)(GATHER_BUILDS * pool->build_s * 1e9);
  return pool->waiting[MEASURE_RUNS].n >= RUNS_TOGETHER || !run->given || runtime_now_ns() - run->added_ns >= gather_ns;
}

/* Whether builds have to wait for a run. One that needs all cores waits until several such runs have
 * gathered, so that builders are held up once for all of them. On a host a run is served as it comes. */
static bool holds_builds(measure_pool *pool, const measure_machine *machine) {
  measure_job *before, *run = first_for(pool, machine, MEASURE_RUNS, &before);
  if (!run || !machine_serves(machine, MEASURE_RUNS)) return false;
  bool is_urgent = machine->host || have_gathered(pool, run);
  return is_urgent && !caller_cores(pool, machine) && !fits(pool, machine, run);
}

/* ---- handing out ------------------------------------------------------------------------------------------------- */

/* Starts workers as long as more jobs wait than workers can take. */
static void start_workers(measure_pool *pool, measure_machine *machine, measure_lane lane) {
  int ready = 0;
  for (int i = 0; i < machine->n_workers; ++i) {
    measure_worker *w = &machine->workers[i];
    if (!serves(w, lane)) continue;
    if (w->state == MEASURE_IDLE) measure_worker_drop_if_not_quiet(pool, w);
    bool is_wanted = ready < pool->waiting[lane].n && measure_machine_may_start(pool, machine);
    if (!measure_worker_is_alive(w) && is_wanted) measure_worker_start(pool, w);
    ready += w->state == MEASURE_IDLE || w->state == MEASURE_STARTING;
  }
}

/* Starts all workers of a host as soon as allowed, since greeting takes time. The first one is greeted
 * alone, because it measures the machine's costs. An idle one that ends is noticed by poll(2), so that a
 * thousand need not be looked at one by one. */
static void start_host(measure_pool *pool, measure_machine *machine) {
  int n = machine->has_greeted ? machine->n_workers : 1;
  for (int i = 0; i < n; ++i) {
    measure_worker *w = &machine->workers[i];
    if (!measure_worker_is_alive(w) && measure_machine_may_start(pool, machine)) measure_worker_start(pool, w);
  }
}

/* Gives the worker a job of the lane, if one suits and its machine has the cores. */
static void hand_to(measure_pool *pool, measure_worker *w, measure_lane lane) {
  measure_job *before, *job;
  while (w->state == MEASURE_IDLE && (job = first_for(pool, w->machine, lane, &before)) &&
         fits(pool, w->machine, job)) {
    take_behind(&pool->waiting[lane], before);
    tell_queue(pool, lane);
    measure_worker_give(pool, w, job);
  }
}

static void hand_out(measure_pool *pool, measure_lane lane) {
  for (int i = pool->n_workers - 1; i >= 0 && pool->waiting[lane].n > 0; --i) {
    measure_worker *w = &pool->workers[i];
    if (w->state != MEASURE_IDLE || !serves(w, lane)) continue;
    if (lane == MEASURE_RUNS || !holds_builds(pool, w->machine)) hand_to(pool, w, lane);
  }
}

/* Sends the next run ahead to hosts with a slow connection while they serve one, if no free machine wants
 * it. It may not need more cores than the current run, which will be free then. */
static void hand_ahead(measure_pool *pool) {
  for (int i = pool->n_workers - 1; i >= 0 && pool->waiting[MEASURE_RUNS].n > 0; --i) {
    measure_worker *w = &pool->workers[i];
    measure_job *before, *job;
    if (!w->machine->host || w->state != MEASURE_BUSY) continue;
    job = first_for(pool, w->machine, MEASURE_RUNS, &before);
    if (!job || !measure_worker_takes_ahead(w, job) || cores_of(w->machine, job) > cores_of(w->machine, w->job))
      continue;
    take_behind(&pool->waiting[MEASURE_RUNS], before);
    tell_queue(pool, MEASURE_RUNS);
    measure_worker_give_ahead(pool, w, job);
  }
}

/* Runs come first: a build can wait, but a run needs a quiet machine. */
static void assign(measure_pool *pool) {
  for (int i = 0; i < pool->n_machines; ++i) {
    measure_machine *machine = &pool->machines[i];
    if (machine->host) start_host(pool, machine);
    for (int lane = 0; !machine->host && lane < MEASURE_LANES; ++lane)
      if (pool->waiting[lane].n > 0) start_workers(pool, machine, (measure_lane)lane);
  }
  hand_out(pool, MEASURE_RUNS);
  hand_ahead(pool);
  hand_out(pool, MEASURE_BUILDS);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Milliseconds until the first deadline or the end of the wait, rounded up. A caller that does not wait
 * gets 0, since rounding would turn a moment into a millisecond. */
static int time_to_wait(const measure_pool *pool, double wait_s) {
  if (wait_s <= 0) return 0;
  uint64_t now = runtime_now_ns(), first = measure_deadline_after(wait_s);
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    if (w->state == MEASURE_STARTING || w->state == MEASURE_BUSY) first = RUNTIME_MIN(first, w->deadline_ns);
  }
  return first <= now ? 0 : (int)RUNTIME_MIN((first - now + 999999u) / 1000000u, (uint64_t)STOP_ASKED_MS);
}

/* Two entries for each worker: its socket and its standard error. */
static void fill_poll(const measure_pool *pool) {
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    bool is_alive = measure_worker_is_alive(w);
    short events = (short)(POLLIN | (measure_worker_has_output(w) ? POLLOUT : 0));
    pool->polled[2 * i] = (struct pollfd){.fd = is_alive ? w->process.fd : -1, .events = events};
    pool->polled[2 * i + 1] = (struct pollfd){.fd = is_alive ? w->process.err_fd : -1, .events = POLLIN};
  }
}

/* Serves every worker, also those that sent nothing: their time may be over. */
static void wait_for_events(measure_pool *pool, double wait_s) {
  struct pollfd *polled = pool->polled;
  fill_poll(pool);
  if (poll(polled, (nfds_t)(2 * pool->n_workers), time_to_wait(pool, wait_s)) <= 0) /* time, or EINTR */
    for (int i = 0; i < 2 * pool->n_workers; ++i) polled[i].revents = 0;
  for (int i = 0; i < pool->n_workers; ++i)
    measure_worker_serve(pool, &pool->workers[i], polled[2 * i].revents, polled[2 * i + 1].revents);
}

/* Fails with the places where the command was searched, which depend on PATH and on where the library is. */
static tn_status cannot_start(measure_pool *pool) {
  const measure_machine *here = &pool->machines[0];
  if (!here->host)
    return runtime_fail(pool->ctx, TN_ERROR_WORKER, "cannot start the worker process `%s%s%s`: %s%s%s",
                        here->command[0], here->command[1] ? " " : "", here->command[1] ? here->command[1] : "",
                        here->trouble, here->places ? "; a tenon command was looked for at " : "",
                        here->places ? here->places : "");
  return TN_ERROR_WORKER;
}

static tn_status no_host_is_left(measure_pool *pool) {
  runtime_str text = {0};
  measure_hosts_say(pool, &text);
  tn_status status = runtime_fail(pool->ctx, TN_ERROR_WORKER, "no worker is left: %s", text.failed ? "" : text.data);
  runtime_str_free(&text);
  return status;
}

static bool should_stop(const measure_pool *pool) {
  return pool->options.should_stop && pool->options.should_stop(pool->options.user);
}

static int count_waiting(const measure_pool *pool) {
  return pool->waiting[MEASURE_BUILDS].n + pool->waiting[MEASURE_RUNS].n;
}

static void fail_waiting(measure_pool *pool, measure_failure kind, const char *why) {
  for (int lane = 0; lane < MEASURE_LANES; ++lane) {
    for (measure_job *job; (job = pop(&pool->waiting[lane])) != NULL;) {
      job->kind->failed(pool, job, NULL, kind, why);
      measure_pool_end(pool, job);
    }
  }
}

/* Kills the workers that are busy; all jobs fail as given up. */
static void give_up(measure_pool *pool) {
  for (int i = 0; i < pool->n_workers; ++i) {
    measure_worker *w = &pool->workers[i];
    if (w->state == MEASURE_BUSY || w->state == MEASURE_STARTING)
      measure_worker_lose(pool, w, MEASURE_GIVEN_UP, "the run was stopped");
  }
  fail_waiting(pool, MEASURE_GIVEN_UP, "the run was stopped");
}

/* Whether jobs of the lane wait for workers that will never come. */
static bool is_stuck(const measure_pool *pool, measure_lane lane) {
  if (pool->waiting[lane].n == 0) return false;
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *machine = &pool->machines[i];
    if (!machine_serves(machine, lane)) continue;
    bool may_come = has_state(machine, MEASURE_STARTING) || has_state(machine, MEASURE_BUSY);
    if (may_come || (machine->host && is_there(machine, lane)) || !measure_machine_is_hopeless(pool, machine))
      return false;
  }
  return true;
}

/* Jobs for hosts are given up and leave no record, so that the run can continue from the log another time. */
static tn_status end_stuck(measure_pool *pool, measure_lane lane) {
  bool has_hosts = pool->options.n_hosts > 0;
  bool is_hosts = has_hosts && (lane == MEASURE_RUNS || pool->options.build_on == TN_BUILD_ON_HOSTS);
  fail_waiting(pool, has_hosts ? MEASURE_GIVEN_UP : MEASURE_NOT_SENT,
               has_hosts ? "no worker is left" : "no worker process could be started");
  return is_hosts ? no_host_is_left(pool) : cannot_start(pool);
}

/* Whether a run could begin if only the caller did not work. */
static bool waits_for_caller(const measure_pool *pool) {
  const measure_machine *here = &pool->machines[0];
  const measure_job *run = pool->waiting[MEASURE_RUNS].first;
  return pool->caller_works && run && machine_serves(here, MEASURE_RUNS) && !any_has_state(pool, MEASURE_BUSY) &&
         !any_has_state(pool, MEASURE_STARTING) && !fits(pool, here, run);
}

/* Waits while kernels that need the caller's core, too, are timed. Nothing else goes on meanwhile. */
static void rest(measure_pool *pool) {
  pool->caller_works = false;
  for (hand_out(pool, MEASURE_RUNS); any_has_state(pool, MEASURE_BUSY) && !should_stop(pool);
       hand_out(pool, MEASURE_RUNS))
    wait_for_events(pool, STOP_ASKED_MS * 1e-3);
  pool->caller_works = true;
}

/* Hands jobs to idle workers, then polls all workers once. O(workers). If no worker can be started any more, the jobs
 * handed out have already failed. */
tn_status measure_pool_step(measure_pool *pool, double wait_s) {
  pool->caller_works = wait_s <= 0;
  if ((count_waiting(pool) > 0 || any_has_state(pool, MEASURE_BUSY)) && should_stop(pool)) {
    give_up(pool);
    return TN_OK;
  }
  assign(pool);
  if (waits_for_caller(pool)) rest(pool);
  for (int lane = 0; lane < MEASURE_LANES; ++lane)
    if (is_stuck(pool, (measure_lane)lane)) return end_stuck(pool, (measure_lane)lane);
  bool has_done = pool->done[MEASURE_BUILDS].n + pool->done[MEASURE_RUNS].n > 0;
  wait_for_events(pool, has_done ? 0 : wait_s);
  assign(pool); /* at once: nobody idles while the caller looks at what came */
  return TN_OK;
}

static bool all_done(int n, const measure_job *jobs) {
  for (int i = 0; i < n; ++i)
    if (!jobs[i].is_done) return false;
  return true;
}

tn_status measure_pool_run(measure_pool *pool, int n, measure_job *jobs) {
  tn_status status = TN_OK;
  for (int i = 0; i < n; ++i) measure_pool_add(pool, &jobs[i]);
  while (!all_done(n, jobs)) {
    tn_status stepped = measure_pool_step(pool, STOP_ASKED_MS * 1e-3);
    if (status == TN_OK) status = stepped;
  }
  return status;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

/* Frees a job that poll would have given back. After an error such jobs may be in any list. */
static void free_given(measure_job *job) {
  if (job && job->given) free(job);
}

/* All processes are told to end before the first is waited for. */
static void pool_free(measure_pool *pool) {
  for (int lane = 0; lane < MEASURE_LANES; ++lane) {
    while (pool->waiting[lane].n > 0) free_given(pop(&pool->waiting[lane]));
    while (pool->done[lane].n > 0) free_given(pop(&pool->done[lane]));
  }
  for (int i = 0; i < pool->n_workers; ++i) measure_process_dismiss(&pool->workers[i].process);
  for (int i = 0; i < pool->n_workers; ++i) {
    measure_process_end(&pool->workers[i].process);
    free_given(pool->workers[i].job);
    free_given(pool->workers[i].ahead.job);
    measure_worker_clear(&pool->workers[i]);
  }
  for (int i = 0; i < pool->n_machines; ++i) measure_machine_free(&pool->machines[i]);
  free(pool->machines);
  free(pool->workers);
  free(pool->polled);
  free(pool->target);
  free(pool->costs);
  free(pool->unprepared_why);
  runtime_map_free(&pool->defaults);
  free(pool);
}

void measure_pool_release(measure_pool *pool) {
  if (pool && --pool->users == 0) pool_free(pool);
}

/* Copies ARGV, since a worker may be replaced after the user's array is gone. RUNNER, if not NULL, becomes
 * its last word. */
static bool copy_command(measure_machine *here, const char *const *argv, const char *runner) {
  static const char option[] = "--runner=";
  int n = 0;
  while (argv[n]) ++n;
  here->command = calloc((size_t)n + 2, sizeof *here->command);
  for (int i = 0; here->command && i < n; ++i)
    if (!(here->command[i] = strdup(argv[i]))) return false;
  char *last = here->command && n > 0 && runner ? malloc(sizeof option + strlen(runner)) : NULL;
  if (last) here->command[n] = strcat(strcpy(last, option), runner);
  if (runner && !last) return false;
  return here->command && n > 0;
}

/* Finds the command. The places are kept for a message only when nothing better than the bare name was found. */
static bool find_command(measure_machine *here, const char *runner) {
  runtime_str places = {0};
  char *found = measure_find_command(&places);
  bool copied = found && copy_command(here, (const char *const[]){found, "worker", NULL}, runner);
  if (found && !strchr(found, '/'))
    here->places = places.data;
  else
    runtime_str_free(&places);
  free(found);
  return copied;
}

/* The defaults 15 s, 10 s and 4 GiB: a build or run that needs more is of no use to a search of many candidates. */
static tn_worker_options with_defaults(const tn_worker_options *given) {
  tn_worker_options o = given ? *given : (tn_worker_options){0};
  if (o.jobs <= 0) o.jobs = tn_thread_count();
  o.jobs = RUNTIME_MIN(o.jobs, MAX_WORKERS);
  if (o.build_timeout_s <= 0) o.build_timeout_s = 15;
  if (o.run_timeout_s <= 0) o.run_timeout_s = 10;
  if (o.patience_s <= 0) o.patience_s = PATIENCE_S;
  if (o.memory_bytes <= 0) o.memory_bytes = (int64_t)4 << 30;
  return o;
}

/* Waits until the first worker has greeted. */
static bool start_first(measure_pool *pool) {
  measure_machine *here = &pool->machines[0];
  while (!here->host && pool->workers[0].state != MEASURE_IDLE) {
    if (measure_machine_is_hopeless(pool, here)) return false;
    if (!measure_worker_is_alive(&pool->workers[0]))
      measure_worker_start(pool, &pool->workers[0]);
    else
      wait_for_events(pool, GREETING_S);
  }
  return true;
}

static int count_of(const tn_worker_host *host) { return RUNTIME_MAX(host->count, 1); }

/* Workers of a machine that build, besides the one that runs. */
static int builders_of(const measure_pool *pool, const tn_worker_host *host) {
  if (pool->options.build_on == TN_BUILD_ON_HERE) return 0;
  return host->threads > 1 ? RUNTIME_MIN(host->threads, MAX_WORKERS) : 1;
}

/* Counts the machines and workers that there will be. */
static void count_all(measure_pool *pool) {
  const tn_worker_options *o = &pool->options;
  bool works_here = o->n_hosts == 0 || o->build_on != TN_BUILD_ON_HOSTS;
  pool->n_machines = works_here;
  pool->n_workers = !works_here ? 0 : o->n_hosts > 0 || o->jobs == 1 ? o->jobs : o->jobs + 1;
  for (int i = 0; i < o->n_hosts; ++i) {
    pool->n_machines += count_of(&o->hosts[i]);
    pool->n_workers += count_of(&o->hosts[i]) * (1 + builders_of(pool, &o->hosts[i]));
  }
}

/* Gives the machine N workers from FIRST on. The first one runs, and also builds if it is the only one. */
static void take_workers(measure_pool *pool, measure_machine *machine, int first, int n) {
  bool runs = machine->host || pool->options.n_hosts == 0, is_both = runs && n == 1 && !machine->host;
  machine->workers = pool->workers + first;
  machine->n_workers = n;
  for (int i = 0; i < n; ++i) {
    machine->workers[i] = (measure_worker){.machine = machine};
    machine->workers[i].is_runner = runs && i == 0;
    machine->workers[i].is_builder = !runs || i > 0 || is_both;
  }
}

static bool open_here(measure_pool *pool) {
  measure_machine *here = &pool->machines[0];
  const tn_worker_options *o = &pool->options;
  here->cores = tn_thread_count();
  take_workers(pool, here, 0, o->n_hosts > 0 || o->jobs == 1 ? o->jobs : o->jobs + 1);
  return o->command ? copy_command(here, o->command, o->runner) : find_command(here, o->runner);
}

static bool open_hosts(measure_pool *pool, int machine, int worker) {
  const tn_worker_options *o = &pool->options;
  bool ok = true;
  for (int i = 0; i < o->n_hosts; ++i) {
    for (int k = 0; k < count_of(&o->hosts[i]); ++k) {
      int n = 1 + builders_of(pool, &o->hosts[i]);
      measure_machine *its = &pool->machines[machine++];
      ok = measure_host_open(its, &o->hosts[i], count_of(&o->hosts[i]) > 1 ? k + 1 : 0) && ok;
      take_workers(pool, its, worker, n);
      worker += n;
    }
  }
  const char *costs = o->n_hosts > 0 && o->target ? tn_target_costs(o->target) : "";
  if (o->n_hosts > 0 && o->target) ok = (pool->target = strdup(tn_target_text(o->target))) && ok;
  if (*costs) ok = (pool->costs = strdup(costs)) && ok;
  return ok;
}

static bool open_machines(measure_pool *pool) {
  count_all(pool);
  pool->machines = calloc((size_t)pool->n_machines, sizeof *pool->machines);
  pool->workers = calloc((size_t)pool->n_workers, sizeof *pool->workers);
  pool->polled = calloc((size_t)pool->n_workers * 2, sizeof *pool->polled);
  if (!pool->machines) pool->n_machines = 0;
  if (!pool->workers) pool->n_workers = 0;
  if (!pool->machines || !pool->workers || !pool->polled) return false;
  bool works_here = pool->options.n_hosts == 0 || pool->options.build_on != TN_BUILD_ON_HOSTS;
  if (works_here && !open_here(pool)) return false;
  return open_hosts(pool, works_here, works_here ? pool->machines[0].n_workers : 0);
}

/* Each worker needs two descriptors. Better to refuse now than when the last worker does not start. */
static tn_status check_descriptors(tn_context *ctx, int n_workers) {
  struct rlimit limit;
  int64_t need = OWN_DESCRIPTORS + 2 * (int64_t)n_workers;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || (int64_t)limit.rlim_cur >= need)
    return TN_OK;
  return runtime_fail(
      ctx, TN_ERROR_ARGUMENT,
      "workers: %d of them need %lld open files, the limit is %lld: raise it, as by `ulimit -n %lld`, or "
      "take fewer machines",
      n_workers, (long long)need, (long long)limit.rlim_cur, (long long)need);
}

/* TN_ERROR_ARGUMENT: the options contradict themselves. */
static tn_status check_hosts(tn_context *ctx, const tn_worker_options *o) {
  int64_t n = 0;
  if (o->n_hosts < 0 || (o->n_hosts > 0 && !o->hosts))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "workers: n_hosts is %d: give how many options.hosts has", o->n_hosts);
  for (int i = 0; i < o->n_hosts; ++i) {
    const tn_worker_host *host = &o->hosts[i];
    if (!host->command || !host->command[0])
      return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                          "workers: hosts[%d] has no command: give one such as {\"ssh\", "
                          "\"HOST\", \"tenon\", \"worker\", NULL}",
                          i);
    if (host->count < 0 || host->threads < 0)
      return runtime_fail(ctx, TN_ERROR_ARGUMENT, "workers: hosts[%d].%s is %d: give 1 or more, or 0", i,
                          host->count < 0 ? "count" : "threads", host->count < 0 ? host->count : host->threads);
    n += count_of(host);
  }
  if (n > MAX_HOSTS)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "workers: %lld machines are too many: %d at most", (long long)n,
                        MAX_HOSTS);
  if ((unsigned)o->build_on > TN_BUILD_ON_ALL)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "workers: build_on is %d: give one of enum tn_build_place",
                        (int)o->build_on);
  return TN_OK;
}

/* Waits for the first worker on this machine, so that a wrong command is the caller's error and not the
 * first candidate's. */
measure_pool *measure_pool_new(tn_context *ctx, const tn_worker_options *options) {
  if (options && check_hosts(ctx, options) != TN_OK) return NULL;
  measure_pool *pool = calloc(1, sizeof *pool);
  if (!pool) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a pool of workers");
    return NULL;
  }
  *pool = (measure_pool){.ctx = ctx, .options = with_defaults(options), .users = 2};
  bool is_empty = pool->options.command && !pool->options.command[0];
  if (is_empty)
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "the worker command is empty");
  else if (!open_machines(pool))
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  else if (check_descriptors(ctx, pool->n_workers) != TN_OK)
    ; /* it has said why */
  else if (start_first(pool))
    return pool;
  else
    cannot_start(pool);
  pool_free(pool);
  return NULL;
}

int measure_pool_width(const measure_pool *pool) {
  int n = 0;
  for (int i = 0; i < pool->n_machines; ++i) n += machine_serves(&pool->machines[i], MEASURE_RUNS);
  return n;
}

int measure_pool_builders(const measure_pool *pool) {
  int n = 0;
  for (int i = 0; i < pool->n_workers; ++i) n += pool->workers[i].is_builder;
  return n;
}
