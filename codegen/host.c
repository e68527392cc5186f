/* host.c: what this machine is: LLVM's name for its processor, the features that are there and that the operating
 * system enables (LLVM looks at XGETBV for the wide registers), and the sizes of its data caches. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "codegen/internal.h"

/* Strings are LLVM's, to be released by codegen_host_free. */
codegen_host codegen_host_detect(void) {
  char *raw = LLVMGetDefaultTargetTriple();
  codegen_host host = {raw ? LLVMNormalizeTargetTriple(raw) : NULL, LLVMGetHostCPUName(), LLVMGetHostCPUFeatures()};
  LLVMDisposeMessage(raw);
  return host;
}

bool codegen_host_is_known(const codegen_host *host) { return host->triple && host->cpu && host->features; }

/* NULLs are allowed. */
void codegen_host_free(codegen_host *host) {
  LLVMDisposeMessage(host->triple);
  LLVMDisposeMessage(host->cpu);
  LLVMDisposeMessage(host->features);
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* For machines that are not this one. */
void codegen_usual_caches(int64_t bytes[4]) {
  static const int64_t usual[4] = {0, 32 << 10, 512 << 10, 8 << 20};
  memcpy(bytes, usual, sizeof usual);
}

/* The first word of /sys/devices/system/cpu/cpu0/cache/index<index>/<name>; false when there is none. */
static bool cache_property(int index, const char *name, char word[32]) {
  char path[128];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
  int file = open(path, O_RDONLY | O_CLOEXEC); /* a FILE needs memory, and a target without it would be another one */
  ssize_t n = file >= 0 ? read(file, word, 31) : -1;
  if (file >= 0) close(file);
  if (n < 0) return false;
  word[n] = '\0';
  word[strcspn(word, " \t\n")] = '\0';
  return *word != '\0';
}

/* "48K" or "1M" in bytes. */
static int64_t parse_size(const char *word) {
  char *unit;
  long long value = strtoll(word, &unit, 10);
  return value * (*unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1);
}

/* Overrides what sysconf said of NAME, by level: glibc does not know all processors. */
static void read_sysfs(const char *name, int64_t value[4]) {
  char level[32], type[32], word[32];
  for (int i = 0; i < 8 && cache_property(i, "level", level); i++) {
    if (!cache_property(i, "type", type) || !cache_property(i, name, word)) continue;
    int at = atoi(level);
    if (at >= 1 && at <= 3 && strcmp(type, "Instruction") != 0 && parse_size(word) > 0) value[at] = parse_size(word);
  }
}

/* From three sources, each better than the one before. */
void codegen_host_caches(int64_t bytes[4]) {
  static const int names[4] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  codegen_usual_caches(bytes);
  for (int level = 1; level <= 3; level++) {
    long size = sysconf(names[level]);
    if (size > 0) bytes[level] = size;
  }
  read_sysfs("size", bytes);
}

/* Zeros become usual values in the cost model. */
void codegen_host_ways(int ways[4]) {
  static const int names[4] = {0, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL3_CACHE_ASSOC};
  int64_t n[4] = {0};
  for (int level = 1; level <= 3; level++) n[level] = sysconf(names[level]);
  read_sysfs("ways_of_associativity", n);
  ways[0] = 0;
  for (int level = 1; level <= 3; level++) ways[level] = n[level] > 0 && n[level] <= 64 ? (int)n[level] : 0;
}
