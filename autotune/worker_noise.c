/* worker_noise.c: what else the machine does while a kernel is timed, as the system tells it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/worker.h"

/* Reads a small file; "" if it cannot be read. */
static void read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
}

/* The second number of schedstat is the time that the thread was ready but did not run. Threads beyond
 * WORKER_MAX_WAITS are left out. */
void worker_take_waits(worker_waits *out) {
  out->n = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && out->n < WORKER_MAX_WAITS && (entry = readdir(tasks));) {
    char path[64], text[96];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", entry->d_name);
    read_text(path, text, sizeof text);
    if (sscanf(text, "%llu %llu", &ran, &waited) != 2) continue;
    out->threads[out->n].id = strtol(entry->d_name, NULL, 10);
    out->threads[out->n++].waited_ns = waited;
  }
  if (tasks) closedir(tasks);
}

/* 0 for a thread that is newer than the snapshot: all its waiting came after it. */
static uint64_t waited_by(const worker_waits *w, long id) {
  for (int i = 0; i < w->n; ++i)
    if (w->threads[i].id == id) return w->threads[i].waited_ns;
  return 0;
}

/* The maximum and not the sum: a parallel loop takes as long as its slowest thread. */
uint64_t worker_waited_ns(const worker_waits *since) {
  worker_waits now;
  uint64_t most = 0;
  worker_take_waits(&now);
  for (int i = 0; i < now.n; ++i)
    most = RUNTIME_MAX(most, now.threads[i].waited_ns - waited_by(since, now.threads[i].id));
  return most;
}

/* The kernel counts in hundredths of a second, so short calls mostly see 0. */
double worker_stolen_s(void) {
  char text[256];
  unsigned long long steal;
  read_text("/proc/stat", text, sizeof text);
  if (sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1) return 0;
  return (double)steal / (double)sysconf(_SC_CLK_TCK);
}

double worker_load(void) {
  double load[1];
  return getloadavg(load, 1) == 1 ? load[0] : 0;
}
