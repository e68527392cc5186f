/* The pool: keeps workers alive, hands jobs to idle ones, and waits for all of them at once with poll(2). */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "autotune/measure.h"
#include "runtime/profiler/recorder.h"

enum { MAX_WORKERS = 256, MAX_FAILED_STARTS = 3, BLOCK_BYTES = 64 << 10 };

#define GREETING_S 60.0
#define STOP_ASKED_MS 50

/* A batch under way. */
typedef struct measure_loop {
  measure_pool *pool;
  const measure_batch *batch; /* NULL while the first worker is awaited */
  int next, done;             /* jobs handed out, jobs over */
} measure_loop;

static uint64_t deadline_after(double seconds) {
  return runtime_now_ns() + (uint64_t)(fmin(fmax(seconds, 0), 1e9) * 1e9);
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
  if (!encoded) runtime_str_free(&w->out);
  w->deadline_ns = deadline_after(request->timeout_s);
  w->profile.asked_ns = profiler_now_ns();
  flush(w);
  return encoded;
}

/* ---- a worker's life --------------------------------------------------------------------------------------------- */

static bool is_alive(const measure_worker *w) { return w->state != MEASURE_NONE; }

static void clear_worker(measure_worker *w) {
  if (is_alive(w)) measure_profile_end(&w->profile);
  runtime_str_free(&w->out);
  protocol_decoder_free(&w->in);
  *w = (measure_worker){0};
}

static void start_failed(measure_pool *pool, const char *why) {
  pool->failed_starts++;
  snprintf(pool->start_error, sizeof pool->start_error, "%s", why);
}

/* A worker that cannot be greeted would wait for ever: it ends again. */
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

/* The worker is given up: its job, or its start, has failed. */
static void lose(measure_loop *loop, measure_worker *w, measure_failure kind, const char *why) {
  static const tn_site site = {__FILE__, "lose", __LINE__, TN_CATEGORY_WORKER, 1};
  tn_event_arg reason = tn_event_arg_text("reason", why);
  tn_mark(&site, "worker lost", &reason, 1);
  measure_process_kill(&w->process);
  if (w->state == MEASURE_STARTING) start_failed(loop->pool, why);
  if (w->state == MEASURE_BUSY) {
    loop->batch->job_seconds[w->job] += (double)(runtime_now_ns() - w->started_ns) * 1e-9;
    loop->batch->failed(loop->batch->user, w->job, w, kind, why);
    loop->done++;
  }
  clear_worker(w);
}

static void lose_dead(measure_loop *loop, measure_worker *w) {
  measure_death death;
  measure_process_autopsy(&w->process, &death);
  measure_failure kind = death.out_of_memory ? MEASURE_NO_MEMORY : death.out_of_cpu ? MEASURE_TIMEOUT : MEASURE_DIED;
  lose(loop, w, kind, death.text);
}

static void lose_garbage(measure_loop *loop, measure_worker *w, const char *why) {
  char text[320];
  snprintf(text, sizeof text, "the worker does not keep to the protocol: %s", why);
  lose(loop, w, MEASURE_GARBAGE, text);
}

static void lose_late(measure_loop *loop, measure_worker *w) {
  measure_process_read_tail(&w->process);
  lose(loop, w, MEASURE_TIMEOUT,
       w->state == MEASURE_STARTING ? "the worker did not greet in time" : "over the time limit");
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void finish_job(measure_loop *loop, measure_worker *w) {
  loop->batch->job_seconds[w->job] += (double)(runtime_now_ns() - w->started_ns) * 1e-9;
  loop->done++;
  w->state = MEASURE_IDLE;
}

/* Asks the next thing for the worker's job. */
static void ask(measure_loop *loop, measure_worker *w) {
  measure_request request = loop->batch->request(loop->batch->user, w->job, w);
  if (request.header && send_request(loop->pool, w, &request)) return;
  if (request.header)
    loop->batch->failed(loop->batch->user, w->job, w, MEASURE_NOT_SENT, "the request is not valid UTF-8 or too large");
  finish_job(loop, w);
}

/* How many jobs wait for a worker. */
static void tell_queue(const measure_loop *loop) {
  static const tn_site site = {__FILE__, "tell_queue", __LINE__, TN_CATEGORY_QUEUE, 2};
  if (tn_profile_wants(TN_CATEGORY_QUEUE, 2))
    tn_counter(&site, loop->batch->exclusive ? "runner_queue" : "builder_queue", loop->batch->n_jobs - loop->next);
}

static void give_jobs(measure_loop *loop, measure_worker *w) {
  while (w->state == MEASURE_IDLE && loop->next < loop->batch->n_jobs) {
    w->state = MEASURE_BUSY;
    w->job = loop->next++;
    tell_queue(loop);
    w->started_ns = runtime_now_ns();
    ask(loop, w);
  }
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static void take_greeting(measure_loop *loop, measure_worker *w, const protocol_message *message) {
  int64_t version = protocol_int(message->header, "protocol", -1);
  if (version != PROTOCOL_VERSION) {
    char why[160];
    snprintf(why, sizeof why, "the worker (Tenon %.40s) speaks protocol %lld, this is %d",
             protocol_text(message->header, "version", "?"), (long long)version, PROTOCOL_VERSION);
    lose(loop, w, MEASURE_GARBAGE, why);
    return;
  }
  loop->pool->failed_starts = 0;
  w->state = MEASURE_IDLE;
  measure_profile_greeted(&w->profile, message->header);
}

/* A worker that has grown too much asks to be replaced. */
static void retire(measure_worker *w) {
  measure_process_end(&w->process);
  clear_worker(w);
}

static void take_answer(measure_loop *loop, measure_worker *w, protocol_message *message) {
  bool retires = json_is_true(json_object_get(message->header, "retire"));
  measure_profile_take(&w->profile, message);
  if (loop->batch->reply(loop->batch->user, w->job, w, message)) {
    ask(loop, w);
  } else {
    finish_job(loop, w);
    if (retires) retire(w);
  }
}

static void take_message(measure_loop *loop, measure_worker *w, protocol_message *message) {
  if (protocol_int(message->header, "id", -1) != w->request_id)
    lose_garbage(loop, w, "an answer to a request that was not made");
  else if (w->state == MEASURE_STARTING)
    take_greeting(loop, w, message);
  else if (w->state == MEASURE_BUSY)
    take_answer(loop, w, message);
  else
    lose_garbage(loop, w, "a message that was not asked for");
  protocol_message_free(message);
}

/* Reads what is there, at most one message. */
static void receive(measure_loop *loop, measure_worker *w) {
  char block[BLOCK_BYTES];
  for (protocol_result result = PROTOCOL_MORE; result == PROTOCOL_MORE;) {
    ssize_t n = recv(w->process.fd, block, RUNTIME_MIN(sizeof block, protocol_wanted(&w->in)), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      lose_dead(loop, w);
      return;
    }
    protocol_message message;
    result = protocol_decode(&w->in, block, (size_t)n, &message);
    if (result == PROTOCOL_DONE) take_message(loop, w, &message);
    if (result == PROTOCOL_BROKEN) lose_garbage(loop, w, w->in.why);
  }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* An idle worker that has something to say has died or lost its head since. */
static void drop_if_not_quiet(measure_loop *loop, measure_worker *w) {
  char byte;
  ssize_t n = recv(w->process.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n >= 0 || (errno != EAGAIN && errno != EINTR)) lose(loop, w, MEASURE_DIED, "the worker ended while it was idle");
}

/* Starts workers while there are more jobs than workers to take them. */
static void start_workers(measure_loop *loop) {
  int waiting = loop->batch->n_jobs - loop->next, ready = 0;
  for (int i = 0; i < loop->batch->width; ++i) {
    measure_worker *w = &loop->pool->workers[i];
    if (w->state == MEASURE_IDLE) drop_if_not_quiet(loop, w);
    if (!is_alive(w) && ready < waiting && loop->pool->failed_starts < MAX_FAILED_STARTS) start_worker(loop->pool, w);
    ready += w->state == MEASURE_IDLE || w->state == MEASURE_STARTING;
  }
}

static bool has_state(const measure_pool *pool, measure_state state) {
  for (int i = 0; i < pool->n_workers; ++i)
    if (pool->workers[i].state == state) return true;
  return false;
}

static void assign(measure_loop *loop) {
  start_workers(loop);
  if (loop->batch->exclusive && has_state(loop->pool, MEASURE_STARTING)) return;
  for (int i = 0; i < loop->batch->width; ++i) give_jobs(loop, &loop->pool->workers[i]);
}

/* Milliseconds until the first deadline, rounded up. */
static int time_to_wait(const measure_pool *pool) {
  uint64_t now = runtime_now_ns(), first = UINT64_MAX;
  for (int i = 0; i < pool->n_workers; ++i) {
    const measure_worker *w = &pool->workers[i];
    if (w->state == MEASURE_STARTING || w->state == MEASURE_BUSY) first = RUNTIME_MIN(first, w->deadline_ns);
  }
  uint64_t most = pool->options.should_stop ? STOP_ASKED_MS : 60000;
  if (first == UINT64_MAX) return STOP_ASKED_MS;
  return first <= now ? 0 : (int)RUNTIME_MIN((first - now) / 1000000u + 1, most);
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

static void serve_worker(measure_loop *loop, measure_worker *w, const struct pollfd *polled) {
  if (!is_alive(w)) return;
  if (polled[1].revents) measure_process_read_tail(&w->process);
  if (polled[0].revents & POLLOUT) flush(w);
  if (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) receive(loop, w);
  bool is_timed = w->state == MEASURE_STARTING || w->state == MEASURE_BUSY;
  if (is_timed && runtime_now_ns() >= w->deadline_ns) lose_late(loop, w);
}

static void wait_for_events(measure_loop *loop) {
  measure_pool *pool = loop->pool;
  struct pollfd polled[2 * MAX_WORKERS];
  fill_poll(pool, polled);
  if (poll(polled, (nfds_t)(2 * pool->n_workers), time_to_wait(pool)) <= 0) /* time, or EINTR: only deadlines count */
    for (int i = 0; i < 2 * pool->n_workers; ++i) polled[i].revents = 0;
  for (int i = 0; i < pool->n_workers; ++i) serve_worker(loop, &pool->workers[i], &polled[2 * i]);
}

static tn_status cannot_start(measure_pool *pool) {
  return runtime_fail(pool->ctx, TN_ERROR_WORKER, "cannot start the worker process `%s%s%s`: %s%s%s", pool->command[0],
                      pool->command[1] ? " " : "", pool->command[1] ? pool->command[1] : "", pool->start_error,
                      pool->places ? "; a tenon command was looked for at " : "", pool->places ? pool->places : "");
}

static bool should_stop(const measure_pool *pool) {
  return pool->options.should_stop && pool->options.should_stop(pool->options.user);
}

/* Kills who is at work; the jobs that are left fail. */
static void give_up(measure_loop *loop) {
  const measure_batch *batch = loop->batch;
  for (int i = 0; i < loop->pool->n_workers; ++i) {
    measure_worker *w = &loop->pool->workers[i];
    if (w->state == MEASURE_BUSY || w->state == MEASURE_STARTING)
      lose(loop, w, MEASURE_GIVEN_UP, "the run was stopped");
  }
  for (; loop->next < batch->n_jobs; ++loop->next)
    batch->failed(batch->user, loop->next, NULL, MEASURE_GIVEN_UP, "the run was stopped");
}

tn_status measure_pool_run(measure_pool *pool, const measure_batch *batch) {
  measure_batch mine = *batch;
  mine.width = RUNTIME_MIN(RUNTIME_MAX(batch->width, 1), pool->n_workers);
  measure_loop loop = {.pool = pool, .batch = &mine};
  pool->failed_starts = 0;
  for (;;) {
    if (loop.done < mine.n_jobs && should_stop(pool)) {
      give_up(&loop);
      return TN_OK;
    }
    assign(&loop);
    if (loop.done == mine.n_jobs) return TN_OK;
    if (!has_state(pool, MEASURE_STARTING) && !has_state(pool, MEASURE_BUSY) &&
        pool->failed_starts >= MAX_FAILED_STARTS)
      break;
    wait_for_events(&loop);
  }
  for (; loop.next < mine.n_jobs; ++loop.next)
    mine.failed(mine.user, loop.next, NULL, MEASURE_NOT_SENT, "no worker process could be started");
  return cannot_start(pool);
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
  free(pool->workers);
  free(pool);
}

void measure_pool_release(measure_pool *pool) {
  if (pool && --pool->users == 0) pool_free(pool);
}

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
  measure_loop loop = {.pool = pool};
  while (pool->workers[0].state != MEASURE_IDLE) {
    if (pool->failed_starts >= MAX_FAILED_STARTS) return false;
    if (!is_alive(&pool->workers[0]))
      start_worker(pool, &pool->workers[0]);
    else
      wait_for_events(&loop);
  }
  return true;
}

measure_pool *measure_pool_new(tn_context *ctx, const tn_worker_options *options) {
  measure_pool *pool = calloc(1, sizeof *pool);
  if (!pool) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a pool of workers");
    return NULL;
  }
  *pool = (measure_pool){.ctx = ctx, .options = with_defaults(options), .users = 2};
  pool->n_workers = pool->options.jobs;
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
