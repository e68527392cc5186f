/* cases.c: the list of cases, and finding them by a pattern. */
#include <fnmatch.h>
#include <string.h>

#include "bench.h"

static const char *const names[] = {
    "gemm-512x512x512",   "gemm-1024x1024x1024", "gemm-2048x2048x2048", "gemm-1000x1000x1000", "gemm-1021x1019x1013",
    "gemm-2039x2039x2039", "gemm-128x768x3072",   "gemm-3072x64x768",    "gemm-1x4096x4096",    "gemm-32x32x32",
};

static bool make_case(bench_case *c, const char *name, int threads) {
  static bool (*const makers[])(bench_case *, const char *, int) = {bench_gemm};
  memset(c, 0, sizeof *c);
  snprintf(c->name, sizeof c->name, "%s", name);
  for (size_t i = 0; i < sizeof makers / sizeof *makers; ++i) {
    if (makers[i](c, name, threads)) return true;
  }
  return false;
}

int bench_find(const char *pattern, int threads, void (*visit)(void *user, const bench_case *c), void *user) {
  static bench_case c; /* large */
  int found = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (fnmatch(pattern, names[i], 0) != 0 || !make_case(&c, names[i], threads)) continue;
    visit(user, &c);
    ++found;
  }
  if (found == 0 && make_case(&c, pattern, threads)) {
    visit(user, &c);
    ++found;
  }
  return found;
}
