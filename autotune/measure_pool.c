/* measure_pool.c: the pool: keeps workers alive, hands jobs to idle ones while the machine has cores for them, and waits for all of them
 * at once with poll(2). */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "autotune/measure.h"
#include "runtime/profiler/recorder.h"

/* Runs that hold builders up come so many together, or as have gathered in the time of so many builds. */
enum { RUNS_TOGETHER = 20, GATHER_BUILDS = 10 };
enum { MAX_WORKERS = 256, MAX_CORES = 1 << 16, MAX_FAILED_STARTS = 3, BLOCK_BYTES = 64 << 10 };

#define GREETING_S 60.0
#define STOP_ASKED_MS 50

/* In ns of runtime_now_ns; at most 1e9 s ahead, so "no limit" cannot overflow. */
static uint64_t deadline_after(double seconds) {
  return runtime_now_ns() + (uint64_t)(fmin(fmax(seconds, 0), 1e9) * 1e9);
}

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

static measure_job *pop(measure_queue *q) {
  measure_job *job = q->first;
  if (!job) return NULL;
  q->first = job->next;
  if (!q->first) q->last = NULL;
  q->n--;
  return job;
}

void measure_pool_add(measure_pool *pool, measure_job *job) {
  bool is_idle = pool->waiting[MEASURE_BUILDS].n + pool->waiting[MEASURE_RUNS].n == 0;
  if (is_idle) pool->failed_starts = 0;
  job->added_ns = runtime_now_ns();
  push(&pool->waiting[job->kind->lane], job);
}

measure_job *measure_pool_take(measure_pool *pool, measure_lane lane) { return pop(&pool->done[lane]); }

/* A job that was submitted by tn_job is kept until it is polled. */
static void end_job(measure_pool *pool, measure_job *job) {
  job->is_done = true;
  if (job->given) push(&pool->done[job->kind->lane], job);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static bool has_output(const measure_worker *w) { return w->out_sent < w->out.n; }

/* Sends what the socket takes. A failure is found out at the end of the worker's output, with the reason of its death.
 */
static void flush(measure_worker *w) {
  while (has_output(w)) {
    ssize_t n = send(w->process.fd, w->out.data + w->out_sent, w->out.n - w->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      w->out_sent += (size_t)n;
    else if (n < 0 && errno == EAGAIN)
      return;
    else if (n < 0 && errno != EINTR)
      break;
  }
  w->out.n = w->out_sent = 0;
}

/* Steals the request's header. */
static bool send_request(measure_pool *pool, measure_worker *w, const measure_request *request) {
  w->out.n = w->out_sent = 0;
  w->request_id = ++pool->next_id;
  bool encoded = request->header && json_object_set_new(request->header, "id", json_integer(w->request_id)) == 0 &&
                 protocol_encode(request->header, request->payload, request->payload_bytes, &w->out);
  json_decref(request->header);
  /* No fault of the candidate's: the tune ends with an error. */
  if (w->out.failed) runtime_fail(pool->ctx, TN_ERROR_MEMORY, "out of memory for a request to a worker");
  if (!encoded) runtime_str_free(&w->out);
  w->deadline_ns = deadline_after(request->timeout_s);
  w->profile.asked_ns = profiler_now_ns();
  flush(w);
  return encoded;
}

/* ---- a worker's life --------------------------------------------------------------------------------------------- */

static bool is_alive(const measure_worker *w) { return w->state != MEASURE_NONE; }

/* The process is dealt with before: this only frees what was kept for it. Safe on a worker that is
 * none. */
static void clear_worker(measure_worker *w) {
  if (is_alive(w)) measure_profile_end(&w->profile);
  runtime_str_free(&w->out);
  protocol_decoder_free(&w->in);
  *w = (measure_worker){0};
}

/* Counted in a row: a command that cannot start is given up after MAX_FAILED_STARTS, one crash among
 * many is not. */
static void start_failed(measure_pool *pool, const char *why) {
  pool->failed_starts++;
  snprintf(pool->start_error, sizeof pool->start_error, "%s", why);
}

/* Returns before the worker has greeted: the loop goes on serving the others meanwhile. A worker that cannot be greeted
 * would wait for ever: it ends again. */
static void start_worker(measure_pool *pool, measure_worker *w) {
  int error = measure_process_start(&w->process, (const char *const *)pool->command);
  if (error) {
    start_failed(pool, strerror(error));
    return;
  }
  w->state = MEASURE_STARTING;
  json_t *hello = json_pack("{s:s, s:i, s:I}", "type", "hello", "protocol", PROTOCOL_VERSION, "memory_bytes",
                            (json_int_t)pool->options.memory_bytes);
  measure_profile_ask(&w->profile, hello);
  if (send_request(pool, w, &(measure_request){.header = hello, .timeout_s = GREETING_S})) return;
  start_failed(pool, "out of memory for the greeting");
  measure_process_kill(&w->process);
  clear_worker(w);
}

/* The worker is free for the next job. */
static void end_work(measure_pool *pool, measure_worker *w) {
  measure_job *job = w->job;
  double seconds = (double)(runtime_now_ns() - w->started_ns) * 1e-9;
  job->seconds += seconds;
  if (job->kind->lane == MEASURE_BUILDS)
    pool->build_s = pool->build_s > 0 ? 0.8 * pool->build_s + 0.2 * seconds : seconds;
  w->job = NULL;
  w->state = MEASURE_IDLE;
  end_job(pool, job);
}

/* The worker is given up: its job, or its start, has failed. */
static void lose(measure_pool *pool, measure_worker *w, measure_failure kind, const char *why) {
  static const tn_site site = {__FILE__, "lose", __LINE__, TN_CATEGORY_WORKER, 1};
  tn_event_arg reason = tn_event_arg_text("reason", why);
  tn_mark(&site, "worker lost", &reason, 1);
  measure_process_kill(&w->process);
  if (w->state == MEASURE_STARTING) start_failed(pool, why);
  if (w->state == MEASURE_BUSY) {
    w->job->kind->failed(pool, w->job, w, kind, why);
    end_work(pool, w);
  }
  clear_worker(w);
}

/* The kernel's out-of-memory killer and the CPU limit both end a worker by signal: the autopsy tells
 * them apart. */
static void lose_dead(measure_pool *pool, measure_worker *w) {
  measure_death death;
  measure_process_autopsy(&w->process, &death);
  measure_failure kind = death.out_of_memory ? MEASURE_NO_MEMORY : death.out_of_cpu ? MEASURE_TIMEOUT : MEASURE_DIED;
  lose(pool, w, kind, death.text);
}

/* What came may be of any length and content, so only our words for it are kept. */
static void lose_garbage(measure_pool *pool, measure_worker *w, const char *why) {
  char text[320];
  snprintf(text, sizeof text, "the worker does not keep to the protocol: %s", why);
  lose(pool, w, MEASURE_GARBAGE, text);
}

/* Its last words are read first: they may say what it was doing. */
static void lose_late(measure_pool *pool, measure_worker *w) {
  measure_process_read_tail(&w->process);
  lose(pool, w, MEASURE_TIMEOUT,
       w->state == MEASURE_STARTING ? "the worker did not greet in time" : "over the time limit");
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Asks the next thing for the worker's job. */
static void ask(measure_pool *pool, measure_worker *w) {
  measure_request request = w->job->kind->request(pool, w->job, w);
  if (request.header && send_request(pool, w, &request)) return;
  if (request.header)
    w->job->kind->failed(pool, w->job, w, MEASURE_NOT_SENT, "the request is not valid UTF-8 or too large");
  end_work(pool, w);
}

/* How many jobs wait for a worker. */
static void tell_queue(const measure_pool *pool, measure_lane lane) {
  static const tn_site site = {__FILE__, "tell_queue", __LINE__, TN_CATEGORY_QUEUE, 2};
  static const char *const names[] = {"builder_queue", "runner_queue"};
  if (tn_profile_wants(TN_CATEGORY_QUEUE, 2)) tn_counter(&site, names[lane], pool->waiting[lane].n);
}

/* The first of those that wait. */
static void give_job(measure_pool *pool, measure_worker *w, measure_lane lane) {
  w->job = pop(&pool->waiting[lane]);
  w->state = MEASURE_BUSY;
  w->started_ns = runtime_now_ns();
  tell_queue(pool, lane);
  ask(pool, w);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* Another version of the protocol is no failure to retry: a command from another installation will
 * never fit. */
static void take_greeting(measure_pool *pool, measure_worker *w, const protocol_message *message) {
  int64_t version = protocol_int(message->header, "protocol", -1);
  if (version != PROTOCOL_VERSION) {
    char why[160];
    snprintf(why, sizeof why, "the worker (Tenon %.40s) speaks protocol %lld, this is %d",
             protocol_text(message->header, "version", "?"), (long long)version, PROTOCOL_VERSION);
    lose(pool, w, MEASURE_GARBAGE, why);
    return;
  }
  pool->failed_starts = 0;
  pool->cores = RUNTIME_MAX((int)RUNTIME_MIN(protocol_int(message->header, "threads", 1), (int64_t)MAX_CORES), 1);
  w->state = MEASURE_IDLE;
  measure_profile_greeted(&w->profile, message->header);
}

/* A worker that has grown too much asks to be replaced. */
static void retire(measure_worker *w) {
  measure_process_end(&w->process);
  clear_worker(w);
}

/* Events for the recording are at the end of the payload and are cut off first: what is left is the
 * object. */
static void take_answer(measure_pool *pool, measure_worker *w, protocol_message *message) {
  bool retires = json_is_true(json_object_get(message->header, "retire"));
  measure_profile_take(&w->profile, message);
  if (w->job->kind->reply(pool, w->job, w, message)) {
    ask(pool, w);
  } else {
    end_work(pool, w);
    if (retires) retire(w);
  }
}

/* Frees the message, whatever was taken out of it. */
static void take_message(measure_pool *pool, measure_worker *w, protocol_message *message) {
  if (protocol_int(message->header, "id", -1) != w->request_id)
    lose_garbage(pool, w, "an answer to a request that was not made");
  else if (w->state == MEASURE_STARTING)
    take_greeting(pool, w, message);
  else if (w->state == MEASURE_BUSY)
    take_answer(pool, w, message);
  else
    lose_garbage(pool, w, "a message that was not asked for");
  protocol_message_free(message);
}

/* Reads what is there, at most one message. */
static void receive(measure_pool *pool, measure_worker *w) {
  char block[BLOCK_BYTES];
  for (protocol_result result = PROTOCOL_MORE; result == PROTOCOL_MORE;) {
    ssize_t n = recv(w->process.fd, block, RUNTIME_MIN(sizeof block, protocol_wanted(&w->in)), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      lose_dead(pool, w);
      return;
    }
    protocol_message message;
    result = protocol_decode(&w->in, block, (size_t)n, &message);
    if (result == PROTOCOL_DONE) take_message(pool, w, &message);
    if (result == PROTOCOL_BROKEN) lose_garbage(pool, w, w->in.why);
  }
}

/* ---- handing out ------------------------------------------------------------------------------------------------- */

/* An idle worker that has something to say has died or lost its head since. */
static void drop_if_not_quiet(measure_pool *pool, measure_worker *w) {
  char byte;
  ssize_t n = recv(w->process.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n >= 0 || (errno != EAGAIN && errno != EINTR)) lose(pool, w, MEASURE_DIED, "the worker ended while it was idle");
}

/* Whether it takes jobs of the lane. */
static bool serves(const measure_pool *pool, int worker, measure_lane lane) {
  return pool->n_workers == 1 || (worker == 0) == (lane == MEASURE_RUNS);
}

/* Starts workers while more jobs wait than there are workers to take them. */
static void start_workers(measure_pool *pool, measure_lane lane) {
  int ready = 0;
  for (int i = 0; i < pool->n_workers; ++i) {
    measure_worker *w = &pool->workers[i];
    if (!serves(pool, i, lane)) continue;
    if (w->state == MEASURE_IDLE) drop_if_not_quiet(pool, w);
    bool is_wanted = ready < pool->waiting[lane].n && pool->failed_starts < MAX_FAILED_STARTS;
    if (!is_alive(w) && is_wanted) start_worker(pool, w);
    ready += w->state == MEASURE_IDLE || w->state == MEASURE_STARTING;
  }
}

static bool has_state(const measure_pool *pool, measure_state state) {
  for (int i = 0; i < pool->n_workers; ++i)
    if (pool->workers[i].state == state) return true;
  return false;
}

/* 0 means the whole machine; more than there are means that too. */
static int cores_of(const measure_pool *pool, const measure_job *job) {
  return job->cores > 0 ? RUNTIME_MIN(job->cores, pool->cores) : pool->cores;
}

/* A worker that is starting computes, too, which would disturb what is timed. */
static int busy_cores(const measure_pool *pool) {
  int busy = pool->caller_works;
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    busy += w->state == MEASURE_BUSY ? cores_of(pool, w->job) : w->state == MEASURE_STARTING;
  }
  return busy;
}

/* Whether the machine has the cores for the next job of the lane now. Where the caller works on a machine of one core
 * nothing could begin: it begins. */
static bool fits(const measure_pool *pool, measure_lane lane) {
  int busy = busy_cores(pool);
  return busy + cores_of(pool, pool->waiting[lane].first) <= RUNTIME_MAX(pool->cores, 1 + pool->caller_works);
}

/* Whether the runs that wait have waited for each other long enough. Before anything is known the first one is not held up. */
static bool have_gathered(const measure_pool *pool) {
  const measure_queue *runs = &pool->waiting[MEASURE_RUNS];
  if (runs->n == 0) return false;
  uint64_t gather_ns = (uint64_t)(GATHER_BUILDS * pool->build_s * 1e9);
  return runs->n >= RUNS_TOGETHER || !runs->first->given || runtime_now_ns() - runs->first->added_ns >= gather_ns;
}

/* A run that needs all cores waits until some such runs have gathered, so that builders are held up once for all. */
static bool holds_builds(const measure_pool *pool) {
  return have_gathered(pool) && !pool->caller_works && !fits(pool, MEASURE_RUNS);
}

/* A worker takes jobs of its lane while there are cores for them. */
static void hand_out(measure_pool *pool, measure_lane lane) {
  for (int i = pool->n_workers - 1; i >= 0; --i) {
    measure_worker *w = &pool->workers[i];
    while (w->state == MEASURE_IDLE && serves(pool, i, lane) && pool->waiting[lane].n > 0 && fits(pool, lane))
      give_job(pool, w, lane);
  }
}

/* Runs first: a build can wait, a run needs the machine quiet. */
static void assign(measure_pool *pool) {
  for (int lane = 0; lane < MEASURE_LANES; ++lane)
    if (pool->waiting[lane].n > 0) start_workers(pool, (measure_lane)lane);
  hand_out(pool, MEASURE_RUNS);
  if (!holds_builds(pool)) hand_out(pool, MEASURE_BUILDS);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Milliseconds until the first deadline or the end of the wait, rounded up. A caller that does not wait gets 0: the clock
 * goes on between two looks at it, and rounding up would make a millisecond of that. */
static int time_to_wait(const measure_pool *pool, double wait_s) {
  if (wait_s <= 0) return 0;
  uint64_t now = runtime_now_ns(), first = deadline_after(wait_s);
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    if (w->state == MEASURE_STARTING || w->state == MEASURE_BUSY) first = RUNTIME_MIN(first, w->deadline_ns);
  }
  return first <= now ? 0 : (int)RUNTIME_MIN((first - now + 999999u) / 1000000u, (uint64_t)STOP_ASKED_MS);
}

/* Two entries a worker: the socket, and standard error. */
static void fill_poll(const measure_pool *pool, struct pollfd *polled) {
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    short events = (short)(POLLIN | (has_output(w) ? POLLOUT : 0));
    polled[2 * i] = (struct pollfd){.fd = is_alive(w) ? w->process.fd : -1, .events = events};
    polled[2 * i + 1] = (struct pollfd){.fd = is_alive(w) ? w->process.err_fd : -1, .events = POLLIN};
  }
}

/* The deadline is looked at last: an answer that came in time but was read late counts. */
static void serve_worker(measure_pool *pool, measure_worker *w, const struct pollfd *polled) {
  if (!is_alive(w)) return;
  if (polled[1].revents) measure_process_read_tail(&w->process);
  if (polled[0].revents & POLLOUT) flush(w);
  if (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) receive(pool, w);
  bool is_timed = w->state == MEASURE_STARTING || w->state == MEASURE_BUSY;
  if (is_timed && runtime_now_ns() >= w->deadline_ns) lose_late(pool, w);
}

/* Serves every worker, also those that nothing came from: their time may be over. */
static void wait_for_events(measure_pool *pool, double wait_s) {
  struct pollfd polled[2 * (MAX_WORKERS + 1)];
  fill_poll(pool, polled);
  if (poll(polled, (nfds_t)(2 * pool->n_workers), time_to_wait(pool, wait_s)) <= 0) /* time, or EINTR */
    for (int i = 0; i < 2 * pool->n_workers; ++i) polled[i].revents = 0;
  for (int i = 0; i < pool->n_workers; ++i) serve_worker(pool, &pool->workers[i], &polled[2 * i]);
}

/* Where a tenon command was looked for is told, as it depends on PATH and the library's place. */
static tn_status cannot_start(measure_pool *pool) {
  return runtime_fail(pool->ctx, TN_ERROR_WORKER, "cannot start the worker process `%s%s%s`: %s%s%s", pool->command[0],
                      pool->command[1] ? " " : "", pool->command[1] ? pool->command[1] : "", pool->start_error,
                      pool->places ? "; a tenon command was looked for at " : "", pool->places ? pool->places : "");
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
      end_job(pool, job);
    }
  }
}

/* Kills who is at work; the jobs that are left fail. */
static void give_up(measure_pool *pool) {
  for (int i = 0; i < pool->n_workers; ++i) {
    measure_worker *w = &pool->workers[i];
    if (w->state == MEASURE_BUSY || w->state == MEASURE_STARTING)
      lose(pool, w, MEASURE_GIVEN_UP, "the run was stopped");
  }
  fail_waiting(pool, MEASURE_GIVEN_UP, "the run was stopped");
}

/* What waits only for a worker that cannot be started will never be served. */
static bool is_stuck(const measure_pool *pool) {
  return count_waiting(pool) > 0 && pool->failed_starts >= MAX_FAILED_STARTS && !has_state(pool, MEASURE_STARTING) &&
         !has_state(pool, MEASURE_BUSY);
}

/* Whether a run could begin if only the caller did not work. */
static bool waits_for_caller(const measure_pool *pool) {
  const measure_queue *runs = &pool->waiting[MEASURE_RUNS];
  return pool->caller_works && runs->n > 0 && !has_state(pool, MEASURE_BUSY) && !has_state(pool, MEASURE_STARTING) &&
         !fits(pool, MEASURE_RUNS);
}

/* The caller rests while kernels that need its core, too, are timed: nothing else goes on, and who is to build next waits for
 * them. */
static void rest(measure_pool *pool) {
  pool->caller_works = false;
  for (hand_out(pool, MEASURE_RUNS); has_state(pool, MEASURE_BUSY) && !should_stop(pool); hand_out(pool, MEASURE_RUNS))
    wait_for_events(pool, STOP_ASKED_MS * 1e-3);
  pool->caller_works = true;
}

/* Jobs to idle workers, then one poll of all. O(workers). Jobs that were handed out when workers cannot be started any more
 * have failed already. */
tn_status measure_pool_step(measure_pool *pool, double wait_s) {
  pool->caller_works = wait_s <= 0;
  if ((count_waiting(pool) > 0 || has_state(pool, MEASURE_BUSY)) && should_stop(pool)) {
    give_up(pool);
    return TN_OK;
  }
  assign(pool);
  if (waits_for_caller(pool)) rest(pool);
  if (is_stuck(pool)) {
    fail_waiting(pool, MEASURE_NOT_SENT, "no worker process could be started");
    return cannot_start(pool);
  }
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
  pool->failed_starts = 0;
  for (int i = 0; i < n; ++i) measure_pool_add(pool, &jobs[i]);
  while (!all_done(n, jobs)) {
    tn_status stepped = measure_pool_step(pool, STOP_ASKED_MS * 1e-3);
    if (status == TN_OK) status = stepped;
  }
  return status;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

/* All are told to end before the first is waited for. */
static void pool_free(measure_pool *pool) {
  for (int i = 0; pool->workers && i < pool->n_workers; ++i) measure_process_dismiss(&pool->workers[i].process);
  for (int i = 0; pool->workers && i < pool->n_workers; ++i) {
    measure_process_end(&pool->workers[i].process);
    clear_worker(&pool->workers[i]);
  }
  for (int i = 0; pool->command && pool->command[i]; ++i) free(pool->command[i]);
  free(pool->command);
  free(pool->places);
  free(pool->unprepared_why);
  runtime_map_free(&pool->defaults);
  free(pool->workers);
  free(pool);
}

void measure_pool_release(measure_pool *pool) {
  if (pool && --pool->users == 0) pool_free(pool);
}

/* A copy: the user's array may be gone when a worker is to be replaced. */
static bool copy_command(measure_pool *pool, const char *const *argv) {
  int n = 0;
  while (argv[n]) ++n;
  pool->command = calloc((size_t)n + 1, sizeof *pool->command);
  for (int i = 0; pool->command && i < n; ++i)
    if (!(pool->command[i] = strdup(argv[i]))) return false;
  return pool->command && n > 0;
}

/* The places are told only when nothing better than the bare name was found. */
static bool find_command(measure_pool *pool) {
  runtime_str places = {0};
  char *found = measure_find_command(&places);
  bool copied = found && copy_command(pool, (const char *const[]){found, "worker", NULL});
  if (found && !strchr(found, '/'))
    pool->places = places.data;
  else
    runtime_str_free(&places);
  free(found);
  return copied;
}

/* 15 s, 10 s and 4 GiB: a build or run that needs more is of no use to a search of many candidates. */
static tn_worker_options with_defaults(const tn_worker_options *given) {
  tn_worker_options o = given ? *given : (tn_worker_options){0};
  if (o.jobs <= 0) o.jobs = tn_thread_count();
  o.jobs = RUNTIME_MIN(o.jobs, MAX_WORKERS);
  if (o.build_timeout_s <= 0) o.build_timeout_s = 15;
  if (o.run_timeout_s <= 0) o.run_timeout_s = 10;
  if (o.memory_bytes <= 0) o.memory_bytes = (int64_t)4 << 30;
  return o;
}

/* Waits until the first worker has greeted. */
static bool start_first(measure_pool *pool) {
  while (pool->workers[0].state != MEASURE_IDLE) {
    if (pool->failed_starts >= MAX_FAILED_STARTS) return false;
    if (!is_alive(&pool->workers[0]))
      start_worker(pool, &pool->workers[0]);
    else
      wait_for_events(pool, GREETING_S);
  }
  return true;
}

/* The first worker is awaited here, so that a wrong command is an error of the caller and not of the
 * first candidate. */
measure_pool *measure_pool_new(tn_context *ctx, const tn_worker_options *options) {
  measure_pool *pool = calloc(1, sizeof *pool);
  if (!pool) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a pool of workers");
    return NULL;
  }
  *pool = (measure_pool){.ctx = ctx, .options = with_defaults(options), .users = 2};
  pool->n_workers = pool->options.jobs == 1 ? 1 : pool->options.jobs + 1;
  pool->cores = tn_thread_count();
  pool->workers = calloc((size_t)pool->n_workers, sizeof *pool->workers);
  bool given = pool->options.command != NULL;
  bool has_command = pool->workers && (given ? copy_command(pool, pool->options.command) : find_command(pool));
  if (!has_command)
    runtime_fail(ctx, given ? TN_ERROR_ARGUMENT : TN_ERROR_MEMORY, "%s",
                 given ? "the worker command is empty" : "out of memory");
  else if (start_first(pool))
    return pool;
  else
    cannot_start(pool);
  pool_free(pool);
  return NULL;
}
