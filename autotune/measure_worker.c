/* measure_worker.c: one worker's life as the pool sees it: it is started and greeted, asked and listened
 * to, and given up when it dies, breaks the protocol or exceeds its time. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "autotune/measure.h"
#include "runtime/profiler/recorder.h"

/* BLOCK_BYTES: read from a worker at once. MAX_CORES: the most that a worker's greeting may claim. QUOTED_BYTES:
 * of what an unexpected worker says that a message quotes. */
enum { BLOCK_BYTES = 64 << 10, MAX_CORES = 1 << 16, QUOTED_BYTES = 40 };

/* Points for a worker that is lost. While a candidate runs this may be the candidate's fault; while the
 * reference is made it hardly is. At so many points the candidate has failed. */
enum { LOST_RUNNING = 4, LOST_OTHERWISE = 1, MOST_LOSSES = 24 };

/* A connection that takes more than this part of an answer's time is slow: the next request is sent ahead. */
#define SLOW_WAY 0.02
/* Milliseconds in which a process that has closed its output should end. A host's command is only the
 * connection: the worker has ended already. */
enum { AUTOPSY_MS = 2000, HOST_AUTOPSY_MS = 100 };

/* Seconds in which a worker here, and one on a host, has to greet. */
#define GREETING_S 60.0
#define HOST_GREETING_S 30.0

uint64_t measure_deadline_after(double seconds) {
  return runtime_now_ns() + (uint64_t)(fmin(fmax(seconds, 0), 1e9) * 1e9);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

bool measure_worker_has_output(const measure_worker *w) { return w->out_sent < w->out.n; }

/* Sends what the socket takes. A failure shows at the end of the worker's output, with the reason of its death. */
static void flush(measure_worker *w) {
  while (measure_worker_has_output(w)) {
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

/* Queues a request and takes its header over. Earlier output must have been sent. Returns the request's id;
 * 0: it cannot be sent. */
static int64_t send_bytes(measure_pool *pool, measure_worker *w, const measure_request *request) {
  int64_t id = ++pool->next_id;
  w->out.n = w->out_sent = 0;
  bool encoded = request->header && json_object_set_new(request->header, "id", json_integer(id)) == 0 &&
                 protocol_encode(request->header, request->payload, request->payload_bytes, &w->out);
  json_decref(request->header);
  /* No fault of the candidate's: the tune ends with an error. A header is never too long: the text of a program has a limit. */
  if (!encoded && request->payload_bytes <= PROTOCOL_MAX_PAYLOAD)
    runtime_fail(pool->ctx, TN_ERROR_MEMORY, "out of memory for a request to a worker");
  if (!encoded) runtime_str_free(&w->out);
  flush(w);
  return encoded ? id : 0;
}

static void set_deadline(measure_worker *w, double timeout_s) {
  w->deadline_ns = measure_deadline_after(timeout_s + (w->machine->host ? MEASURE_WAY_S : 0));
}

static bool send_request(measure_pool *pool, measure_worker *w, const measure_request *request) {
  w->asked_ns = runtime_now_ns();
  w->profile.asked_ns = profiler_now_ns();
  w->request_id = send_bytes(pool, w, request);
  set_deadline(w, request->timeout_s);
  return w->request_id != 0;
}

/* ---- its life ---------------------------------------------------------------------------------------------------- */

bool measure_worker_is_alive(const measure_worker *w) { return w->state != MEASURE_NONE; }

void measure_worker_clear(measure_worker *w) {
  if (measure_worker_is_alive(w)) measure_profile_end(&w->profile);
  runtime_str_free(&w->out);
  protocol_decoder_free(&w->in);
  *w = (measure_worker){.machine = w->machine, .is_runner = w->is_runner, .is_builder = w->is_builder};
}

/* Counts failures in a row: a command that never starts is given up after some, one crash among many is not. */
static void note_failure(measure_pool *pool, measure_machine *machine, const char *why) {
  if (machine->host) {
    measure_host_trouble(pool, machine, why);
    return;
  }
  machine->failures++;
  snprintf(machine->trouble, sizeof machine->trouble, "%s", why);
}

static json_t *greeting_for(const measure_pool *pool, measure_worker *w) {
  json_t *hello = json_pack("{s:s, s:i, s:I}", "type", "hello", "protocol", PROTOCOL_VERSION, "memory_bytes",
                            (json_int_t)pool->options.memory_bytes);
  if (hello && w->machine->host) measure_host_ask(w->machine, hello);
  measure_profile_ask(&w->profile, hello);
  return hello;
}

/* A worker that cannot be greeted would wait forever, so it is ended. */
void measure_worker_start(measure_pool *pool, measure_worker *w) {
  int error = measure_process_start(&w->process, (const char *const *)w->machine->command);
  if (error) {
    note_failure(pool, w->machine, strerror(error));
    return;
  }
  w->state = MEASURE_STARTING;
  double limit_s = w->machine->host ? HOST_GREETING_S - MEASURE_WAY_S : GREETING_S;
  if (send_request(pool, w, &(measure_request){.header = greeting_for(pool, w), .timeout_s = limit_s})) return;
  note_failure(pool, w->machine, "out of memory for the greeting");
  measure_process_kill(&w->process);
  measure_worker_clear(w);
}

/* Gives the job that was sent ahead to another worker: this one never began it. */
static void take_back(measure_pool *pool, measure_worker *w) {
  if (w->ahead.job) measure_pool_again(pool, w->ahead.job);
  w->ahead.job = NULL;
}

/* The job that was sent ahead becomes the current one: the worker has been serving it since its last answer. */
static void go_on_ahead(measure_worker *w) {
  if (!w->ahead.job) return;
  w->job = w->ahead.job;
  w->ahead.job = NULL;
  w->state = MEASURE_BUSY;
  w->request_id = w->ahead.request_id;
  w->started_ns = runtime_now_ns();
  w->asked_ns = w->ahead.asked_ns;
  w->profile.asked_ns = w->ahead.profile_asked_ns;
  set_deadline(w, w->ahead.timeout_s);
}

/* Frees the worker for its next job. AGAIN: its job is not over, but goes to another worker. */
static void end_work(measure_pool *pool, measure_worker *w, bool again) {
  measure_job *job = w->job;
  double seconds = (double)(runtime_now_ns() - w->started_ns) * 1e-9;
  job->seconds += seconds;
  if (job->kind->lane == MEASURE_BUILDS)
    pool->build_s = pool->build_s > 0 ? 0.8 * pool->build_s + 0.2 * seconds : seconds;
  w->job = NULL;
  w->state = MEASURE_IDLE;
  if (again)
    measure_pool_again(pool, job);
  else
    measure_pool_end(pool, job);
}

/* Whether the job of a lost worker is tried elsewhere. A host's worker itself reports when a candidate
 * ended it. If it is lost without a word, the host or the connection is to blame, and the candidate gets
 * another worker; only a few times, since it may be what kills hosts after all. */
static bool may_go_elsewhere(const measure_worker *w, measure_failure kind) {
  return w->machine->host && kind != MEASURE_GIVEN_UP && kind != MEASURE_NOT_SENT && w->job->losses < MOST_LOSSES;
}

static void lose_job(measure_pool *pool, measure_worker *w, measure_failure kind, const char *why) {
  bool again = may_go_elsewhere(w, kind);
  w->job->losses += w->prepared ? LOST_RUNNING : LOST_OTHERWISE;
  w->job->avoid = w->machine;
  if (!again) w->job->kind->failed(pool, w->job, w, kind, why);
  end_work(pool, w, again);
}

static void tell_lost(const char *why) {
  static const tn_site site = {__FILE__, "lose", __LINE__, TN_CATEGORY_WORKER, 1};
  tn_event_arg reason = tn_event_arg_text("reason", why);
  tn_mark(&site, "worker lost", &reason, 1);
}

void measure_worker_lose(measure_pool *pool, measure_worker *w, measure_failure kind, const char *why) {
  tell_lost(why);
  take_back(pool, w);
  measure_process_kill(&w->process);
  if (kind != MEASURE_GIVEN_UP && (w->state == MEASURE_STARTING || w->machine->host))
    note_failure(pool, w->machine, why);
  if (w->state == MEASURE_BUSY) lose_job(pool, w, kind, why);
  measure_worker_clear(w);
}

static void count_answer(measure_worker *w) {
  int *count = w->job->kind->lane == MEASURE_RUNS ? &w->machine->n_timed : &w->machine->n_built;
  ++*count;
  w->machine->failures = 0;
}

static measure_failure kind_of(const measure_death *death) {
  return death->out_of_memory ? MEASURE_NO_MEMORY : death->out_of_cpu ? MEASURE_TIMEOUT : MEASURE_DIED;
}

/* The kernel's out-of-memory killer and the CPU limit both end a worker by a signal; the autopsy tells them apart. */
static void lose_dead(measure_pool *pool, measure_worker *w) {
  measure_death death;
  measure_process_autopsy(&w->process, w->machine->host ? HOST_AUTOPSY_MS : AUTOPSY_MS, &death);
  measure_worker_lose(pool, w, kind_of(&death), death.text);
}

/* Whether it is making a reference, and not serving a candidate. */
static bool is_at_reference(const measure_worker *w) {
  return w->job->reference != 0 && w->prepared != w->job->reference;
}

/* A host's worker has reported how its candidate ended it: that is the candidate's result, and no fault of
 * the host. If it was making the reference, it may be the host's fault, so another machine tries. */
static void take_death(measure_pool *pool, measure_worker *w, const char *how, bool is_late) {
  measure_death death;
  char text[MEASURE_TAIL + 320];
  measure_process_autopsy(&w->process, HOST_AUTOPSY_MS, &death);
  const char *last_words = strstr(death.text, "; its last words");
  measure_failure kind = is_late ? MEASURE_TIMEOUT : death.out_of_memory ? MEASURE_NO_MEMORY : MEASURE_DIED;
  snprintf(text, sizeof text, "the worker on %.64s %.120s%s", w->machine->name ? w->machine->name : "a host", how,
           last_words ? last_words : "");
  tell_lost(text);
  take_back(pool, w);
  bool again = is_at_reference(w) && measure_pool_passes_on(pool, w->job, w->machine, text);
  if (!again) {
    w->job->out->machine = w->machine->name;
    w->job->kind->failed(pool, w->job, w, kind, is_late ? "over the time limit" : text);
    count_answer(w);
  }
  end_work(pool, w, again);
  measure_worker_clear(w);
}

/* Quotes the beginning of what it sent, if a person could have written that: for instance a shell's
 * greeting. Four bytes were already taken for a length. */
static void add_quote(const measure_worker *w, char *text, size_t n) {
  char words[QUOTED_BYTES];
  size_t quoted = 0, taken = RUNTIME_MIN(w->in.have, sizeof words);
  if (taken > 0) memcpy(words, w->in.bytes, taken);
  ssize_t more = recv(w->process.fd, words + taken, sizeof words - taken, MSG_PEEK | MSG_DONTWAIT);
  taken += more > 0 ? (size_t)more : 0;
  while (quoted < taken && words[quoted] >= ' ' && words[quoted] < 127) ++quoted;
  if (quoted >= 4) snprintf(text, n, "; it wrote \"%.*s\"", (int)quoted, words);
}

/* What came may have any length and content, so the message has our words and a short quote. */
static void lose_garbage(measure_pool *pool, measure_worker *w, const char *why) {
  char text[320], quote[QUOTED_BYTES + 20] = "";
  if (w->machine->host) add_quote(w, quote, sizeof quote);
  snprintf(text, sizeof text, "the worker does not keep to the protocol: %.200s%s", why, quote);
  measure_worker_lose(pool, w, MEASURE_GARBAGE, text);
}

/* Its last words are read first: they may say what it was doing. */
static void lose_late(measure_pool *pool, measure_worker *w) {
  const char *why = w->machine->host ? "it did not answer in time" : "over the time limit";
  measure_process_read_tail(&w->process);
  measure_worker_lose(pool, w, MEASURE_TIMEOUT,
                      w->state == MEASURE_STARTING ? "the worker did not greet in time" : why);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Sends the next request for the worker's job. */
static void ask(measure_pool *pool, measure_worker *w) {
  measure_request request = w->job->kind->request(pool, w->job, w);
  if (request.header && send_request(pool, w, &request)) return;
  if (request.header)
    w->job->kind->failed(pool, w->job, w, MEASURE_NOT_SENT, "the request is not valid UTF-8 or too large");
  end_work(pool, w, false);
}

void measure_worker_give(measure_pool *pool, measure_worker *w, measure_job *job) {
  w->job = job;
  w->state = MEASURE_BUSY;
  w->started_ns = runtime_now_ns();
  ask(pool, w);
}

/* Only what can be sent completely, now: a single request, for a reference that the worker has. */
bool measure_worker_takes_ahead(const measure_worker *w, const measure_job *job) {
  bool is_slow = w->way_s > SLOW_WAY * w->took_s;
  bool is_run = !is_at_reference(w) && job->reference == w->prepared && job->reference != 0;
  bool is_plain = !w->job->candidate->is_final && !job->candidate->is_final;
  return is_slow && is_run && is_plain && !w->ahead.job && w->job->kind == job->kind && !measure_worker_has_output(w);
}

/* A job that cannot be asked for has failed, as with an idle worker. */
void measure_worker_give_ahead(measure_pool *pool, measure_worker *w, measure_job *job) {
  measure_request request = job->kind->request(pool, job, w);
  bool is_asked = request.header != NULL;
  w->ahead.asked_ns = runtime_now_ns();
  w->ahead.profile_asked_ns = profiler_now_ns();
  w->ahead.timeout_s = request.timeout_s;
  if (is_asked && (w->ahead.request_id = send_bytes(pool, w, &request)) != 0) {
    w->ahead.job = job;
    return;
  }
  if (is_asked) job->kind->failed(pool, job, w, MEASURE_NOT_SENT, "the request is not valid UTF-8 or too large");
  measure_pool_end(pool, job);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* Cores that the machine has for us. */
static int cores_of(const measure_machine *machine, const json_t *greeting) {
  int threads = (int)RUNTIME_MIN(protocol_int(greeting, "threads", 1), (int64_t)MAX_CORES);
  int most = machine->host && machine->host->threads > 0 ? machine->host->threads : MAX_CORES;
  return RUNTIME_MAX(RUNTIME_MIN(threads, most), 1);
}

/* Ends the other workers of a refused machine; their jobs go elsewhere. */
static void leave_refused(measure_pool *pool, measure_machine *machine) {
  for (int i = 0; machine->is_refused && i < machine->n_workers; ++i)
    if (measure_worker_is_alive(&machine->workers[i]))
      measure_worker_lose(pool, &machine->workers[i], MEASURE_DIED, "its machine was refused");
}

/* Refuses the machine for good: its next worker would be the same. */
static void refuse(measure_pool *pool, measure_worker *w, const char *why) {
  measure_process_kill(&w->process);
  measure_host_refuse(pool, w->machine, why);
  measure_worker_clear(w);
  leave_refused(pool, w->machine);
}

static void welcome(measure_worker *w, const protocol_message *message) {
  measure_machine *machine = w->machine;
  machine->failures = 0;
  machine->has_greeted = true;
  machine->cores = cores_of(machine, message->header);
  w->state = MEASURE_IDLE;
  measure_profile_greeted(&w->profile, message->header);
}

/* Another protocol version is no failure to retry: a command of another installation will never fit. */
static void take_greeting(measure_pool *pool, measure_worker *w, const protocol_message *message) {
  int64_t version = protocol_int(message->header, "protocol", -1);
  runtime_str why = {0};
  bool fits = version == PROTOCOL_VERSION;
  if (!fits)
    runtime_str_addf(&why, "the worker (Tenon %.40s) speaks protocol %lld, this is %d",
                     protocol_text(message->header, "version", "?"), (long long)version, PROTOCOL_VERSION);
  else if (w->machine->host)
    fits = measure_host_check(pool, w->machine, message->header, &why);
  if (fits)
    welcome(w, message);
  else if (w->machine->host && why.n > 0)
    refuse(pool, w, why.data);
  else
    measure_worker_lose(pool, w, MEASURE_GARBAGE, why.n > 0 ? why.data : "out of memory for its greeting");
  runtime_str_free(&why);
}

/* Replaces a worker that has grown too much and says so. */
static void retire(measure_pool *pool, measure_worker *w) {
  take_back(pool, w);
  measure_process_end(&w->process);
  measure_worker_clear(w);
}

/* Notes how long the connection took: the answer's time without the phases that the worker reports. The
 * least counts, since a job that was sent ahead has waited there. */
static void note_way(measure_worker *w, const json_t *answer) {
  double told_s = measure_told_s(answer), took_s = (double)(runtime_now_ns() - w->asked_ns) * 1e-9;
  double way_s = fmax(took_s - told_s, 0);
  w->took_s = took_s;
  w->way_s = w->way_s > 0 ? fmin(w->way_s, way_s) : way_s;
}

/* Cuts the events for the recording off the end of the payload; the rest is the object. */
static void take_answer(measure_pool *pool, measure_worker *w, protocol_message *message) {
  note_way(w, message->header);
  bool retires = json_is_true(json_object_get(message->header, "retire"));
  measure_profile_take(&w->profile, message);
  w->job->out->machine = w->machine->name;
  if (w->job->kind->reply(pool, w->job, w, message)) {
    ask(pool, w);
  } else {
    bool again = w->job->goes_elsewhere;
    w->job->goes_elsewhere = false;
    if (!again) count_answer(w);
    end_work(pool, w, again);
    if (retires)
      retire(pool, w);
    else
      go_on_ahead(w);
  }
}

/* Whether the answer is none: it reports the candidate's end, or comes from a clock that runs faster than ours. */
static bool is_strange(measure_pool *pool, measure_worker *w, const protocol_message *message) {
  const char *died = protocol_text(message->header, "died", NULL);
  if (died && w->machine->host) {
    take_death(pool, w, died, json_is_true(json_object_get(message->header, "late")));
    return true;
  }
  if (!w->machine->host || measure_host_clock_is_right(w, message->header)) return false;
  static const char fast[] = "its clock runs faster than this machine's: it tells longer times than have passed";
  measure_host_refuse(pool, w->machine, fast);
  measure_worker_lose(pool, w, MEASURE_GARBAGE, fast);
  leave_refused(pool, w->machine);
  return true;
}

/* Frees the message, whatever was taken out of it. */
static void take_message(measure_pool *pool, measure_worker *w, protocol_message *message) {
  if (protocol_int(message->header, "id", -1) != w->request_id)
    lose_garbage(pool, w, "an answer to a request that was not made");
  else if (w->state == MEASURE_STARTING)
    take_greeting(pool, w, message);
  else if (w->state != MEASURE_BUSY)
    lose_garbage(pool, w, "a message that was not asked for");
  else if (!is_strange(pool, w, message))
    take_answer(pool, w, message);
  protocol_message_free(message);
}

/* Reads what has arrived, at most one message. */
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
    if (result == PROTOCOL_BROKEN && w->in.lacks_memory)
      runtime_fail(pool->ctx, TN_ERROR_MEMORY, "out of memory for an answer of a worker");
    if (result == PROTOCOL_BROKEN) lose_garbage(pool, w, w->in.why);
  }
}

void measure_worker_drop_if_not_quiet(measure_pool *pool, measure_worker *w) {
  char byte;
  ssize_t n = recv(w->process.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n >= 0 || (errno != EAGAIN && errno != EINTR))
    measure_worker_lose(pool, w, MEASURE_DIED, "the worker ended while it was idle");
}

/* The deadline is checked last: an answer that came in time but was read late counts. */
void measure_worker_serve(measure_pool *pool, measure_worker *w, short socket, short err) {
  if (!measure_worker_is_alive(w)) return;
  if (err) measure_process_read_tail(&w->process);
  if (socket & POLLOUT) flush(w);
  if (socket & (POLLIN | POLLHUP | POLLERR)) receive(pool, w);
  bool is_timed = w->state == MEASURE_STARTING || w->state == MEASURE_BUSY;
  if (is_timed && runtime_now_ns() >= w->deadline_ns) lose_late(pool, w);
}
