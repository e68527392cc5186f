/* What the files of this test program share. */
#ifndef TENON_TESTS_MEASURE_TEST_H
#define TENON_TESTS_MEASURE_TEST_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each returns the number of failed tests. */
int protocol_tests(void);
int check_tests(void);
int worker_tests(void);
int fault_tests(void);
int own_builder_tests(void);
int farm_tests(void);
int device_tests(void);

/* The state and the parent of a process as /proc tells them; false when there is none. */
static inline bool process_stat(int pid, char *state, int *parent) {
  char path[64], line[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "re");
  const char *end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  if (file) fclose(file);
  return end && sscanf(end, ") %c %d", state, parent) == 2;
}

/* The children of a process, zombies included. */
static inline int children_of(int parent, int *pids, int max) {
  int n = 0, its_parent;
  char state;
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc && (entry = readdir(proc));) {
    int pid = atoi(entry->d_name);
    if (pid > 0 && n < max && process_stat(pid, &state, &its_parent) && its_parent == parent) pids[n++] = pid;
  }
  if (proc) closedir(proc);
  return n;
}

#endif
