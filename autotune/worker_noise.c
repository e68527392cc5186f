/* What else the machine does while a kernel is timed, as the system tells it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/worker.h"

/* What a small file holds; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
}

uint64_t worker_waited_ns(void) {
  uint64_t sum = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    char path[64], text[96];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", entry->d_name);
    read_text(path, text, sizeof text);
    if (sscanf(text, "%llu %llu", &ran, &waited) == 2) sum += waited;
  }
  if (tasks) closedir(tasks);
  return sum;
}

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
