/* worker_main.c: the worker process: limits on itself, a greeting, then one answer for every request until
 * its input ends. The process belongs to the worker: it sets limits, keeps foreign output off its channel,
 * and dies with whoever started it.
 *
 * One `worker` (worker.h) on the stack of tn_worker_main owns programs, their data and the decoder. An
 * answer owns its message and object until it is sent. */
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "runtime/profiler/recorder.h"

enum {
  STACK_BYTES = 16 << 20,
  THREAD_BYTES = 144 << 20, /* address space that a thread's stack and malloc arena reserve */
  WATCH_STACK_BYTES = 256 << 10,
  EXIT_USAGE = 2,
  EXIT_PROTOCOL = 1
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

bool worker_fail(worker_answer *answer, tn_measure_error error, const char *fmt, ...) {
  if (answer->error != TN_MEASURE_NONE) return false;
  RUNTIME_ADD_ARGS(&answer->message, fmt);
  answer->error = error;
  return false;
}

bool worker_fail_context(worker_answer *answer, tn_measure_error error, tn_context *ctx) {
  bool is_memory = tn_context_status(ctx) == TN_ERROR_MEMORY;
  worker_fail(answer, is_memory ? TN_MEASURE_MEMORY : error, "%s", tn_context_message(ctx));
  tn_context_clear(ctx);
  return false;
}

void worker_lap(worker_answer *answer, worker_phase phase) {
  uint64_t now = runtime_now_ns();
  answer->phase_s[phase] += (double)(now - answer->lap_ns) * 1e-9;
  answer->lap_ns = now;
}

/* JSON has no infinity; the largest double stands for it. */
static json_t *json_numbers(const double *values, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; ++i) json_array_append_new(list, json_real(fmin(values[i], DBL_MAX)));
  return list;
}

/* How the costs were measured; zeros are left out. */
static void add_samples(json_t *header, const worker_answer *a) {
  const struct {
    const char *name;
    double value;
  } fields[] = {{"samples", a->n_samples},   {"min_s", a->min_s},
                {"noise", a->noise},         {"waited_s", a->waited_s},
                {"steal_s", a->steal_s},     {"load", a->load},
                {"share", a->share},         {"ended_early", a->ended_early},
                {"default_s", a->default_s}, {"is_estimate", a->is_estimate},
                {"odd_share", a->odd_share}, {"is_packed", a->is_packed}};
  for (int i = 0; i < RUNTIME_COUNT(fields); ++i)
    if (fields[i].value > 0) json_object_set_new(header, fields[i].name, json_real(fmin(fields[i].value, DBL_MAX)));
}

/* The caller owns the header. A message that is not UTF-8 is replaced, since losing the answer would cost
 * the worker. */
static json_t *answer_header(const worker_answer *a) {
  json_t *header = json_pack("{s:s, s:b, s:f, s:o, s:o}", "error", tn_measure_error_word(a->error), "checked",
                             (int)a->checked, "max_error", fmin(a->max_error, DBL_MAX), "phase_s",
                             json_numbers(a->phase_s, WORKER_PHASES), "costs", json_numbers(a->costs, a->n_costs));
  add_samples(header, a);
  if (a->error == TN_MEASURE_NONE) return header;
  json_t *message = json_string(a->message.data ? a->message.data : "");
  json_object_set_new(header, "message", message ? message : json_string("(a message that is not UTF-8)"));
  return header;
}

/* Sends an answer and takes over HEADER. The object's bytes are copied only if events follow them. False:
 * no memory, or the tuner is gone. */
static bool send_header(worker *w, json_t *header, int64_t id, const codegen_bytes *object) {
  size_t n_events;
  char *events = worker_profile_take(w, header, &n_events);
  runtime_str out = {0}, payload = {0};
  if (n_events > 0) {
    if (object->n) runtime_str_addn(&payload, object->data, object->n);
    runtime_str_addn(&payload, events, n_events);
  }
  bool sent = header && !payload.failed && json_object_set_new(header, "id", json_integer(id)) == 0 &&
              protocol_encode(header, n_events ? payload.data : object->data, object->n + n_events, &out) &&
              protocol_write(w->out_fd, out.data, out.n);
  free(events);
  runtime_str_free(&payload);
  runtime_str_free(&out);
  json_decref(header);
  return sent;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Lowers a soft limit; the hard limit stays. */
static void limit(int resource, int64_t value) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) != 0) return;
  now.rlim_cur = RUNTIME_MIN((rlim_t)value, now.rlim_max);
  setrlimit((__rlimit_resource_t)resource, &now);
}

/* The value in bytes of a line of /proc/self/status, such as "VmSize" or "VmData". */
static int64_t memory_in_use(const char *name) {
  char line[256];
  long long kib = 0;
  size_t n = strlen(name);
  FILE *file = fopen("/proc/self/status", "re");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, n) == 0 && line[n] == ':') kib = strtoll(line + n + 1, NULL, 10);
  if (file) fclose(file);
  return kib * 1024;
}

/* Limits memory to BYTES more than now. The limit on data counts what can be written. That on address space
 * also counts what is only reserved, and threads reserve much. */
static void limit_memory(worker *w, int64_t bytes) {
  w->memory_bytes = bytes;
  w->idle_bytes = memory_in_use("VmData");
  limit(RLIMIT_DATA, w->idle_bytes + bytes);
  limit(RLIMIT_AS, memory_in_use("VmSize") + bytes + (int64_t)tn_thread_count() * THREAD_BYTES);
}

/* Usually the tuner's clock ends a request that takes too long. This limit ends it where the tuner's
 * signals do not arrive, behind ssh. */
static void limit_cpu(double timeout_s) {
  struct rusage used;
  if (timeout_s <= 0 || getrusage(RUSAGE_SELF, &used) != 0) return;
  double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + timeout_s * tn_thread_count() + 2;
  limit(RLIMIT_CPU, (int64_t)fmin(seconds, 1e9));
}

/* Whether the worker should be replaced: it has grown, beyond what it keeps on purpose, by more than half
 * of its limit. LLVM and allocators do not give everything back, and it is better to be replaced between
 * two candidates than to fail one for want of memory. */
static bool has_grown(const worker *w) {
  int64_t kept = worker_kept_bytes(w);
  return w->memory_bytes > 0 && memory_in_use("VmData") - w->idle_bytes - kept > w->memory_bytes / 2;
}

/* ---- dying in time ----------------------------------------------------------------------------------------------- */

/* Waits until the other end of the socket is closed. Then an idle main thread has a moment to end by itself
 * before the process is ended. */
static void *watch(void *user) {
  struct pollfd input = {.fd = (int)(intptr_t)user, .events = POLLRDHUP};
  while (poll(&input, 1, -1) <= 0) continue;
  nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  _exit(EXIT_PROTOCOL);
}

static bool is_socket(int fd) {
  int type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) == 0;
}

static void start_watch(int in_fd) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, WATCH_STACK_BYTES);
  pthread_create(&thread, &attributes, watch, (void *)(intptr_t)in_fd);
  pthread_attr_destroy(&attributes);
}

/* Behind ssh standard input is a pipe that ends with the connection. Other pipes are not watched: who
 * writes all requests and closes the pipe still wants to read the answers. */
static void watch_pipe(int in_fd) {
  struct stat info;
  if (fstat(in_fd, &info) == 0 && S_ISFIFO(info.st_mode)) start_watch(in_fd);
}

/* The kernel's signal comes when the starting thread ends, at once and whatever this process is doing. The
 * watch covers what it cannot: a starter that died before the signal was asked for, and one that is not the
 * parent (a shell in between). */
static void die_with_starter(int in_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (is_socket(in_fd)) start_watch(in_fd);
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

/* A kind of request. EVENT and SITE: its name in recordings; a finalist's run is called "final". */
typedef struct handler {
  const char *type;
  void (*serve)(worker *w, const protocol_message *request, worker_answer *answer);
  const char *event;
  tn_site site;
} handler;

#define SITE(category) {__FILE__, "serve_request", __LINE__, TN_CATEGORY_##category, 2}
static const handler handlers[] = {{"build", worker_build, "build", SITE(BUILD)},
                                   {"prepare", worker_prepare, "prepare", SITE(WORKER)},
                                   {"run", worker_run, "measure", SITE(MEASURE)},
                                   {NULL, NULL, NULL, SITE(WORKER)}};

/* NULL for a type that this version does not know; the tuner is told so. */
static const handler *find_handler(const char *type) {
  const handler *h = handlers;
  while (h->type && strcmp(h->type, type) != 0) ++h;
  return h->type ? h : NULL;
}

/* In bits: more than any machine has, and sums do not overflow. */
enum { MOST_MEMORY_BITS = 50 };

/* Tells a distant tuner what it compares: the machine's name, its processor, and its costs. */
static void add_machine(worker *w, const json_t *request, json_t *header) {
  double clock_s = (double)time(NULL) + (w->fault_now == WORKER_CLOCK ? 3600 : 0);
  if (json_is_true(json_object_get(request, "wants_costs")))
    json_object_set_new(header, "costs", json_string(worker_costs(w)));
  json_object_set_new(header, "host", json_string(worker_host(w)));
  json_object_set_new(header, "target", json_string(worker_target(w)));
  json_object_set_new(header, "clock", json_real(clock_s));
}

/* The tuner is elsewhere: its signals and files are out of reach. */
static void begin_remote(worker *w) {
  w->is_remote = true;
  worker_last_start(w->out_fd);
  watch_pipe(w->in_fd);
}

/* Limits are set before the first program is parsed, so that its memory counts. */
static bool greet(worker *w, const protocol_message *request) {
  int version = w->fault_now == WORKER_VERSION ? PROTOCOL_VERSION + 1 : PROTOCOL_VERSION;
  int64_t bytes = protocol_int(request->header, "memory_bytes", 0);
  bool is_remote = json_is_true(json_object_get(request->header, "remote"));
  if (is_remote) begin_remote(w);
  worker_profile_start(w, request->header);
  json_t *header = json_pack("{s:i, s:s, s:i}", "protocol", version, "version",
                             w->fault_now == WORKER_OLD ? "0.0.1" : TN_VERSION, "threads", tn_thread_count());
  if (header && is_remote) add_machine(w, request->header, header);
  if (bytes > 0) limit_memory(w, RUNTIME_MIN(bytes, INT64_C(1) << MOST_MEMORY_BITS));
  const char *mode = worker_profile_mode(w);
  if (mode) json_object_set_new(header, "profile", json_string(mode));
  return send_header(w, header, protocol_int(request->header, "id", 0), &(codegen_bytes){0});
}

/* Opens the request's event, which is a step of the arrow from the tuner's submitting to its learning. */
static tn_scope open_event(const handler *h, const protocol_message *request) {
  tn_scope scope = TN_NO_SCOPE;
  if (!h || !tn_profile_wants(h->site.category, h->site.level)) return scope;
  uint32_t sequence = (uint32_t)protocol_int(request->header, "sequence", 0);
  bool is_final = json_is_true(json_object_get(request->header, "final"));
  scope = tn_scope_open(&h->site, is_final ? "final" : h->event, true);
  tn_scope_sequence(&scope, sequence);
  if (sequence && h->serve == worker_run) tn_flow(&autotune_flow_site, AUTOTUNE_FLOW, TN_FLOW_STEP, sequence);
  return scope;
}

/* Serves a request of a known type. Faults of tests strike before the handler, as a candidate's might at any time. */
static void serve_with(worker *w, const char *type, const protocol_message *request, worker_answer *answer) {
  const handler *h = find_handler(type);
  w->event = open_event(h, request);
  worker_fault_strike(w->fault_now, w->out_fd);
  limit_cpu(protocol_number(request->header, "timeout_s", 0));
  if (h)
    h->serve(w, request, answer);
  else
    worker_fail(answer, TN_MEASURE_UNKNOWN, "the worker knows no request of type \"%s\"", type);
  tn_scope_end(&w->event);
}

/* Serves a request and answers. The answer says "retire" when the worker should be replaced. */
static bool serve_request(worker *w, const char *type, const protocol_message *request) {
  worker_answer answer = {.lap_ns = runtime_now_ns()};
  worker_last_arm(protocol_int(request->header, "id", 0), protocol_number(request->header, "timeout_s", 0));
  serve_with(w, type, request, &answer);
  for (int i = 0; w->fault_now == WORKER_FAST && i < WORKER_PHASES; ++i) answer.phase_s[i] += 1;
  worker_last_disarm();
  json_t *header = answer_header(&answer);
  if (header && has_grown(w)) json_object_set_new(header, "retire", json_true());
  bool has_object = answer.error == TN_MEASURE_NONE && answer.object.data;
  bool sent =
      send_header(w, header, protocol_int(request->header, "id", 0), has_object ? &answer.object : &(codegen_bytes){0});
  runtime_str_free(&answer.message);
  free(answer.object.data);
  return sent;
}

/* The greeting is served apart, since it comes before anything is known of the tuner. */
static bool serve(worker *w, const protocol_message *request) {
  const char *type = protocol_text(request->header, "type", "");
  w->received_ns = profiler_now_ns();
  w->fault_now = worker_fault_next(&w->fault, type);
  if (strcmp(type, "hello") != 0) return serve_request(w, type, request);
  worker_fault_strike(w->fault_now, w->out_fd);
  return greet(w, request);
}

/* Serves requests until the input ends, is not the protocol, or an answer cannot be sent. Returns the exit status. */
static int serve_all(worker *w) {
  protocol_message request;
  protocol_read_result read = PROTOCOL_READ;
  bool answered = true;
  while (answered && (read = protocol_read(w->in_fd, &w->in, &request)) == PROTOCOL_READ) {
    answered = serve(w, &request);
    protocol_message_free(&request);
  }
  if (read == PROTOCOL_FAILED) dprintf(STDERR_FILENO, "tenon worker: %s\n", w->in.why);
  return read == PROTOCOL_END ? 0 : EXIT_PROTOCOL;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Errors go to standard error, of which the starter keeps the last words. */
static bool read_options(worker *w, int argc, char **argv) {
  static const char inject[] = "--inject=", runner[] = "--runner=";
  for (int i = argc > 0 && argv[0][0] != '-' ? 1 : 0; i < argc; ++i) {
    if (strcmp(argv[i], "--remote") == 0) {
      w->is_remote = true;
      continue;
    }
    if (strcmp(argv[i], "--sandbox") == 0) {
      w->is_boxed = true;
      continue;
    }
    if (strncmp(argv[i], runner, sizeof runner - 1) == 0) {
      w->device.command = argv[i] + sizeof runner - 1;
      continue;
    }
    bool is_inject = strncmp(argv[i], inject, sizeof inject - 1) == 0;
    if (is_inject && worker_fault_parse(argv[i] + sizeof inject - 1, &w->fault)) continue;
    if (is_inject)
      dprintf(STDERR_FILENO, "tenon worker: no such fault: %s (like --inject=run-crash@2)\n", argv[i]);
    else
      dprintf(STDERR_FILENO,
              "tenon worker: unknown option %s (there are --remote, --sandbox, --runner=COMMAND and "
              "--inject=REQUEST-FAULT@N)\n",
              argv[i]);
    return false;
  }
  return true;
}

/* False: a sandbox was asked for and cannot be had. Then there must be no worker. */
static bool enter_sandbox(worker *w) {
  char why[160];
  if (!w->is_boxed) return true;
  w->is_remote = true; /* it writes no file of the tuner's */
  if (worker_sandbox(why, sizeof why)) return true;
  dprintf(STDERR_FILENO, "tenon worker: --sandbox: %s\n", why);
  return false;
}

/* Moves the channel for answers away from standard output, so that what libraries or kernels print goes to
 * standard error instead of between the messages. */
static bool guard_output(worker *w, int out_fd) {
  w->out_fd = fcntl(out_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return w->out_fd >= 0 && (out_fd != STDOUT_FILENO || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0);
}

int tn_worker_main(int in_fd, int out_fd, int argc, char **argv) {
  worker w = {.in_fd = in_fd};
  if (!read_options(&w, argc, argv)) return EXIT_USAGE;
  if (!guard_output(&w, out_fd)) return EXIT_PROTOCOL;
  if (!enter_sandbox(&w)) return EXIT_PROTOCOL;
  die_with_starter(in_fd);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_STACK, STACK_BYTES);
  int status = serve_all(&w);
  worker_profile_stop(&w);
  device_close(&w.device);
  for (int i = 0; i < RUNTIME_COUNT(w.programs); ++i) worker_program_free(&w.programs[i]);
  protocol_decoder_free(&w.in);
  runtime_str_free(&w.host);
  runtime_str_free(&w.target);
  runtime_str_free(&w.costs);
  close(w.out_fd);
  return status;
}
