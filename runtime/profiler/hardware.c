/* hardware.c: what the kernel's performance counters (perf_event_open) say about this process, for the
 * scopes of kernels. Every thread that exists when the session starts has a counter of each kind, to which
 * threads it starts later add. Where the machine or its rules allow none, nothing is recorded and nothing
 * reported: a virtual machine often has no cycles.
 *
 * Counters are opened and closed under the recorder's control lock. `readers` keeps them open while a
 * thread reads. */
#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder.hardware)

static const struct {
  uint32_t type;
  uint64_t config;
  const char *key;
} kinds[TN_HARDWARE_COUNT] = {
#define X(name, key, type, config) {PERF_TYPE_##type, PERF_COUNT_##config, key},
    TN_HARDWARE_COUNTERS(X)
#undef X
};

/* Opens a counter for one thread and those it starts later, in user space, which needs no privilege. -1:
 * not possible. */
static int open_of_kernel(int kind, int tid) {
  struct perf_event_attr a = {.type = kinds[kind].type, .size = sizeof a, .config = kinds[kind].config};
  a.inherit = 1;
  a.exclude_kernel = 1;
  a.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool read_of_kernel(int fd, uint64_t *value) { return read(fd, value, sizeof *value) == sizeof *value; }

static const profiler_hardware_source kernels = {open_of_kernel, read_of_kernel};

void profiler_set_hardware(const profiler_hardware_source *source) { THE->injected = source; }

static const profiler_hardware_source *source(void) { return THE->injected ? THE->injected : &kernels; }

/* A kind that one thread lacks is left out for all threads. */
static bool open_thread(int tid) {
  int *fds = THE->fds[THE->n_threads];
  uint32_t has = 0;
  for (int k = 0; k < TN_HARDWARE_COUNT; ++k) {
    bool is_wanted = THE->n_threads == 0 || (THE->has >> k & 1);
    fds[k] = is_wanted ? source()->open(k, tid) : -1;
    if (fds[k] >= 0) has |= 1u << k;
  }
  THE->has = has;
  ++THE->n_threads;
  return has != 0;
}

/* Called under the control lock, while nobody reads. */
static void close_all(void) {
  for (int t = 0; t < THE->n_threads; ++t)
    for (int k = 0; k < TN_HARDWARE_COUNT; ++k)
      if (THE->fds[t][k] >= 0) close(THE->fds[t][k]);
  THE->n_threads = 0;
  THE->has = 0;
}

/* A process with more threads than there is room for is not counted at all: a part would be mistaken for the whole. */
void profiler_hardware_start(void) {
  DIR *tasks = opendir("/proc/self/task");
  bool fits = tasks != NULL;
  profiler_hardware_stop();
  for (struct dirent *task; fits && (task = readdir(tasks));) {
    int tid = atoi(task->d_name);
    if (tid > 0) fits = THE->n_threads < PROFILER_MAX_COUNTED && open_thread(tid);
  }
  if (tasks) closedir(tasks);
  if (!fits) close_all();
  atomic_store(&THE->is_on, fits && THE->has != 0);
}

/* Waits for threads that are reading, since a descriptor closed under them could be another file's by then. */
void profiler_hardware_stop(void) {
  atomic_store(&THE->is_on, false);
  while (atomic_load(&THE->readers) > 0) sched_yield();
  close_all();
}

/* In a forked child: the counters are the parent's, and no other thread exists that could read them. */
void profiler_hardware_forget(void) {
  atomic_store(&THE->is_on, false);
  atomic_store(&THE->readers, 0);
  close_all();
}

/* Adds up all threads; a counter that cannot be read is left out. */
static void read_all(tn_hardware *out) {
  out->has = THE->has;
  for (int t = 0; t < THE->n_threads; ++t) {
    for (int k = 0; k < TN_HARDWARE_COUNT; ++k) {
      uint64_t value = 0;
      if (!(out->has >> k & 1)) continue;
      if (source()->read(THE->fds[t][k], &value))
        out->value[k] += value;
      else
        out->has &= ~(1u << k);
    }
  }
}

/* Checks twice: a session that stops between the checks waits for `readers`. */
bool tn_hardware_read(tn_hardware *out) {
  if (!out) return false;
  *out = (tn_hardware){0};
  if (!atomic_load_explicit(&THE->is_on, memory_order_relaxed)) return false;
  atomic_fetch_add(&THE->readers, 1);
  if (atomic_load(&THE->is_on)) read_all(out);
  atomic_fetch_sub(&THE->readers, 1);
  return out->has != 0;
}

/* Adds what each counter has gained since BEFORE. One that went back (a thread ended) or lacks one of the
 * two readings is left out. */
void tn_scope_hardware(tn_scope *scope, const tn_hardware *before) {
  tn_hardware now;
  if (!before || before->has == 0 || !tn_hardware_read(&now)) return;
  for (int k = 0; k < TN_HARDWARE_COUNT; ++k) {
    if (!(before->has & now.has & 1u << k) || now.value[k] < before->value[k]) continue;
    tn_event_arg arg = tn_event_arg_u64(kinds[k].key, now.value[k] - before->value[k]);
    tn_scope_arg(scope, &arg);
  }
}
