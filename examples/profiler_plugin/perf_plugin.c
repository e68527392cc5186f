/* A profiler plug-in that reads Linux's perf_event counters of this process while a session records: task clock, page
 * faults, context switches; cycles and instructions where the machine has them. Its plane holds one event, from start
 * to stop, with the counters as arguments. Where the kernel gives no counters it is silent.
 *
 *   cc -std=c17 -D_GNU_SOURCE -O2 -fPIC -shared perf_plugin.c -o libperf_plugin.so     (needs tenon/profiler_plugin.h)
 *   tenon tune PROGRAM --log LOG --profile run.xplane.pb --profile-plugin ./libperf_plugin.so */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <tenon/profiler_plugin.h>
#include <time.h>
#include <unistd.h>

/* ---- counters ---------------------------------------------------------------------------------------------------- */

/* X(NAME, type, config, "stat"): what perf_event_open takes, and the name that the counter has in the recording. */
#define COUNTERS(X)                                                                   \
  X(TASK_CLOCK, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task_clock_ns")        \
  X(PAGE_FAULTS, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page_faults")        \
  X(SWITCHES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context_switches") \
  X(CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles")                   \
  X(INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions")

enum {
#define X(name, type, config, stat) COUNTER_##name,
  COUNTERS(X)
#undef X
      N_COUNTERS
};

static const struct {
  uint32_t type;
  uint64_t config;
  const char *stat;
} counters[N_COUNTERS] = {
#define X(name, type, config, stat) {type, config, stat},
    COUNTERS(X)
#undef X
};

/* The state of one registration, which the profiler carries in `ext`. It is also used as a growing buffer for a
 * message: only data, n and cap count then. */
typedef struct perf {
  int fds[N_COUNTERS]; /* -1: the machine has none, or does not let us */
  uint64_t values[N_COUNTERS];
  bool has_value[N_COUNTERS];
  uint64_t start_ns, stop_ns; /* UNIX time */
  uint8_t *data;              /* what there is to collect, and its size */
  size_t n, cap;
} perf;

/* Opens a counter of this thread and of threads that it starts from now on. Counting only user space needs no
 * privilege, so that is tried when the kernel refuses more. -1: neither is possible. */
static int open_counter(int i) {
  struct perf_event_attr a = {.type = counters[i].type, .size = sizeof a, .config = counters[i].config};
  a.disabled = 1;
  a.inherit = 1;
  a.exclude_kernel = counters[i].type == PERF_TYPE_HARDWARE;
  a.exclude_hv = 1;
  int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0 || a.exclude_kernel) return fd;
  a.exclude_kernel = 1;
  return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_counters(perf *p) {
  for (int i = 0; i < N_COUNTERS; ++i) {
    if (p->fds[i] >= 0) close(p->fds[i]);
    p->fds[i] = -1;
  }
}

static uint64_t unix_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- writing the message XSpace, protocol buffers by hand -------------------------------------------------------- */

/* Appends bytes. Without memory they are dropped: a plug-in must not end the program that it measures. */
static void put(perf *p, const void *bytes, size_t n) {
  if (p->n + n > p->cap) {
    size_t cap = 2 * (p->n + n) + 256;
    uint8_t *grown = realloc(p->data, cap);
    if (!grown) return;
    p->data = grown;
    p->cap = cap;
  }
  memcpy(p->data + p->n, bytes, n);
  p->n += n;
}

/* A number in groups of seven bits, the lowest first. */
static void put_varint(perf *p, uint64_t value) {
  uint8_t bytes[10];
  size_t n = 0;
  for (; value >= 0x80; value >>= 7) bytes[n++] = (uint8_t)(value | 0x80);
  bytes[n++] = (uint8_t)value;
  put(p, bytes, n);
}

/* A field that is a number (wire type 0). */
static void put_number(perf *p, int field, uint64_t value) {
  put_varint(p, (uint64_t)field << 3);
  put_varint(p, value);
}

/* A field that is bytes, text or a message (wire type 2). */
static void put_bytes(perf *p, int field, const void *bytes, size_t n) {
  put_varint(p, (uint64_t)field << 3 | 2);
  put_varint(p, n);
  put(p, bytes, n);
}

static void put_text(perf *p, int field, const char *text) { put_bytes(p, field, text, strlen(text)); }

/* Puts PART into OUTER as a field and empties it. */
static void put_message(perf *outer, int field, perf *part) {
  put_bytes(outer, field, part->data, part->n);
  free(part->data);
  *part = (perf){0};
}

/* An entry of a map of metadata: {1: key, 2: {1: id, 2: name}}. */
static void put_metadata(perf *plane, int field, uint64_t id, const char *name) {
  perf metadata = {0}, entry = {0};
  put_number(&metadata, 1, id);
  put_text(&metadata, 2, name);
  put_number(&entry, 1, id);
  put_message(&entry, 2, &metadata);
  put_message(plane, field, &entry);
}

/* An XEvent that spans the whole session, with a stat for each counter. A stat's id is the counter's number
 * plus one. Field 3 is a duration in picoseconds. */
static void put_event(perf *line, const perf *p) {
  perf event = {0};
  put_number(&event, 1, 1);
  put_number(&event, 2, 0);
  put_number(&event, 3, (p->stop_ns - p->start_ns) * 1000);
  for (int i = 0; i < N_COUNTERS; ++i) {
    perf stat = {0};
    if (!p->has_value[i]) continue;
    put_number(&stat, 1, (uint64_t)i + 1);
    put_number(&stat, 3, p->values[i]);
    put_message(&event, 4, &stat);
  }
  put_message(line, 4, &event);
}

/* An XSpace with one plane of one line, whose timestamp is the start. It becomes what there is to collect. */
static void write_space(perf *p) {
  perf line = {0}, plane = {0}, space = {0};
  put_number(&line, 1, 1);
  put_text(&line, 2, "counters");
  put_number(&line, 3, p->start_ns);
  put_event(&line, p);
  put_number(&plane, 1, 1);
  put_text(&plane, 2, "/device:CUSTOM:PERF");
  put_message(&plane, 3, &line);
  put_metadata(&plane, 4, 1, "perf_event");
  for (int i = 0; i < N_COUNTERS; ++i)
    if (p->has_value[i]) put_metadata(&plane, 5, (uint64_t)i + 1, counters[i].stat);
  put_message(&space, 1, &plane);
  free(p->data);
  p->data = space.data;
  p->n = space.n;
  p->cap = space.cap;
}

/* ---- the functions that a profiling session calls ---------------------------------------------------------------- */

static void drop_data(perf *p) {
  free(p->data);
  p->data = NULL;
  p->n = p->cap = 0;
}

/* Begins counting. A counter that cannot be opened is left out. */
static void start(const tn_plugin_profiler *profiler, tn_plugin_status *status) {
  perf *p = profiler->ext;
  (void)status;
  drop_data(p);
  for (int i = 0; i < N_COUNTERS; ++i) p->fds[i] = open_counter(i);
  p->start_ns = unix_ns();
  for (int i = 0; i < N_COUNTERS; ++i)
    if (p->fds[i] >= 0) ioctl(p->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

/* Reads the counters and writes the message; without any there is nothing to collect. */
static void stop(const tn_plugin_profiler *profiler, tn_plugin_status *status) {
  perf *p = profiler->ext;
  bool has_any = false;
  (void)status;
  p->stop_ns = unix_ns();
  for (int i = 0; i < N_COUNTERS; ++i) {
    p->has_value[i] = p->fds[i] >= 0 && read(p->fds[i], &p->values[i], sizeof p->values[i]) == sizeof p->values[i];
    has_any |= p->has_value[i];
  }
  close_counters(p);
  if (has_any) write_space(p);
}

/* Called twice: without a buffer it says the size, with one it copies the data and drops them. */
static void collect(const tn_plugin_profiler *profiler, uint8_t *buffer, size_t *size_in_bytes,
                    tn_plugin_status *status) {
  perf *p = profiler->ext;
  size_t room = *size_in_bytes;
  *size_in_bytes = p->n;
  if (!buffer || p->n == 0) return;
  if (room < p->n) {
    tn_plugin_set_status(status, TN_PLUGIN_FAILED_PRECONDITION, "the buffer is smaller than the data");
    return;
  }
  memcpy(buffer, p->data, p->n);
  drop_data(p);
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static void destroy_profiler(tn_plugin_profiler *profiler) {
  perf *p = profiler->ext;
  profiler->ext = NULL;
  if (!p) return;
  close_counters(p);
  free(p->data);
  free(p);
}

static void destroy_fns(tn_plugin_profiler_fns *fns) { (void)fns; }

/* The one function that the loader looks for. Sets what the profiler and its functions are; a failure goes to
 * STATUS. */
void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status) {
  params->destroy_profiler = destroy_profiler;
  params->destroy_profiler_fns = destroy_fns;
  perf *p = calloc(1, sizeof *p);
  if (!p) {
    tn_plugin_set_status(status, TN_PLUGIN_RESOURCE_EXHAUSTED, "out of memory");
    return;
  }
  for (int i = 0; i < N_COUNTERS; ++i) p->fds[i] = -1;
  params->profiler->struct_size = TN_PLUGIN_PROFILER_SIZE;
  params->profiler->ext = p;
  params->profiler->device_type = "PERF";
  params->profiler->name = "perf_event";
  params->profiler_fns->struct_size = TN_PLUGIN_PROFILER_FNS_SIZE;
  params->profiler_fns->start = start;
  params->profiler_fns->stop = stop;
  params->profiler_fns->collect_data_xspace = collect;
}
