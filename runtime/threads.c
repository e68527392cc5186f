/* threads.c: how many threads a parallel loop may use: the least of the affinity mask and the cgroups' CPU
 * quotas. A target's default is also limited by OpenMP's own answer, which reflects OMP_NUM_THREADS.
 * Nothing is cached: a container's quota may change while the program runs, and asking takes some ten
 * microseconds. */
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/parallel.h"

/* Nothing here allocates: without memory the number would be different, and nobody would be told. */
enum { MOST_CPUS = 1 << 16, MOST_LIST_BYTES = 1 << 14 };

/* The CPUs on which this process may run. */
static int affinity_threads(void) {
  unsigned long mask[MOST_CPUS / (8 * sizeof(unsigned long))] = {0};
  bool known = sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) == 0;
  return known ? RUNTIME_MAX(CPU_COUNT_S(sizeof mask, (cpu_set_t *)mask), 1) : 1;
}

int runtime_quota_threads(const char *quota, const char *period) {
  double q = runtime_parse_float(quota, NULL), p = runtime_parse_float(period, NULL);
  if (q <= 0 || p <= 0) return RUNTIME_NO_QUOTA; /* "max" (v2) and -1 (v1) are no quota */
  double threads = q / p;
  return threads >= RUNTIME_NO_QUOTA ? RUNTIME_NO_QUOTA : RUNTIME_MAX((int)(threads + 0.999), 1);
}

/* The first SIZE - 1 bytes of a file; "" if there is none. */
static char *read_start(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t have = 0;
  for (ssize_t n = 1; fd >= 0 && have < size - 1 && n != 0;) {
    n = read(fd, text + have, size - 1 - have);
    if (n < 0 && errno != EINTR) break;
    have += n > 0 ? (size_t)n : 0;
  }
  if (fd >= 0) close(fd);
  text[have] = '\0';
  return text;
}

/* The first line of FOLDER/NAME. */
static const char *read_line(const char *folder, const char *name, char *line, size_t size) {
  char path[4096 + 32]; /* a folder and one of the names */
  snprintf(path, sizeof path, "%s/%s", folder, name);
  read_start(path, line, size)[strcspn(line, "\n")] = '\0';
  return line;
}

/* The quota given in a cgroup's folder, in the files of either version. */
static int folder_threads(const char *folder) {
  char quota[64], period[64];
  if (*read_line(folder, "cpu.max", quota, sizeof quota))
    return runtime_quota_threads(quota, quota + strcspn(quota, " "));
  read_line(folder, "cpu.cfs_quota_us", quota, sizeof quota);
  return runtime_quota_threads(quota, read_line(folder, "cpu.cfs_period_us", period, sizeof period));
}

/* The least quota of a cgroup and of those that contain it: MOUNT/PATH, and so on up to MOUNT. */
static int path_threads(const char *mount, const char *path) {
  char folder[4096];
  int n = snprintf(folder, sizeof folder, "%s%s", mount, path), least = RUNTIME_NO_QUOTA;
  if (n < 0 || n >= (int)sizeof folder) return least;
  for (size_t root = strlen(mount); strlen(folder) >= root;) {
    int threads = folder_threads(folder);
    least = RUNTIME_MIN(least, threads);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
  }
  return least;
}

/* The least quota along a path in the version 1 hierarchy called NAME, which has a mount of its own. */
static int controller_threads(const char *mount, const char *name, const char *path) {
  char folder[4096];
  int n = snprintf(folder, sizeof folder, "%s/%s", mount, name);
  return n < 0 || n >= (int)sizeof folder ? RUNTIME_NO_QUOTA : path_threads(folder, path);
}

/* One line of /proc/self/cgroup: "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1). */
static int line_threads(char *line, const char *mount) {
  char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return RUNTIME_NO_QUOTA;
  *controllers++ = *path++ = '\0';
  if (*controllers == '\0') return path_threads(mount, path);
  char *rest;
  for (char *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    if (strcmp(name, "cpu") == 0) return controller_threads(mount, name, path);
  return RUNTIME_NO_QUOTA;
}

int runtime_cgroup_threads(const char *list, const char *mount) {
  char text[MOST_LIST_BYTES], *rest;
  int least = RUNTIME_NO_QUOTA;
  for (char *line = strtok_r(read_start(list, text, sizeof text), "\n", &rest); line;
       line = strtok_r(NULL, "\n", &rest)) {
    int threads = line_threads(line, mount); /* cuts the line */
    least = RUNTIME_MIN(least, threads);
  }
  return least;
}

/* Without OMP_NUM_THREADS, which is the user's default; this is what can run at once. */
int runtime_machine_threads(void) {
  int mask = affinity_threads(), quota = runtime_cgroup_threads("/proc/self/cgroup", "/sys/fs/cgroup");
  return RUNTIME_MIN(mask, quota);
}

int tn_thread_count(void) {
  int machine = runtime_machine_threads(), asked = omp_get_max_threads();
  return RUNTIME_MAX(RUNTIME_MIN(machine, asked), 1);
}
