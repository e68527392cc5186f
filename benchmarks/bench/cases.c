/* cases.c: the list of cases, and finding them by a pattern. */
#include <fnmatch.h>
#include <string.h>

#include "bench.h"

/* What --list prints and a pattern is matched with. The makers understand any other sizes, too: `--case
 * gemm-96x96x64`. */
static const char *const names[] = {
    "gemm-512x512x512",
    "gemm-1024x1024x1024",
    "gemm-2048x2048x2048",
    "gemm-1000x1000x1000",
    "gemm-1021x1019x1013",
    "gemm-2039x2039x2039",
    "gemm-128x768x3072",
    "gemm-3072x64x768",
    "gemm-1x4096x4096",
    "gemm-32x32x32",
    "bgemm-16x128x128x128",
    "bgemm-12x128x128x64",
    "gemm-bf16-1024x1024x1024",
    "gemm-bf16-2048x2048x2048",
    "gemm-bf16-1000x1000x1000",
    "gemm-i8-1024x1024x1024",
    "gemm-i8-2048x2048x2048",
    "gemm-i8-1000x1000x1000",
    "gemm-s8-1024x1024x1024",
    "softmax-1024x1024",
    "softmax-2048x2048",
    "layernorm-4096x1024",
    "sum-16777216",
    "C2D-0",
    "C2D-1",
    "C2D-2",
    "C2D-3",
    "DIL-0",
    "DIL-1",
    "DIL-2",
    "DIL-3",
    "DEP-0",
    "DEP-1",
    "DEP-2",
    "DEP-3",
    "C2D-0-bias-relu",
    "C2D-1-bias-relu",
    "C2D-2-bias-relu",
    "C2D-3-bias-relu",
    "T2D-0",
    "T2D-1",
    "T2D-2",
    "T2D-3",
};

/* Asks the makers one after the other; each returns false for a name that is not of its form. */
static bool make_case(bench_case *c, const char *name, int threads) {
  static bool (*const makers[])(bench_case *, const char *, int) = {bench_gemm, bench_gemm_low, bench_rows, bench_conv,
                                                                    bench_transposed};
  memset(c, 0, sizeof *c);
  snprintf(c->name, sizeof c->name, "%s", name);
  for (size_t i = 0; i < sizeof makers / sizeof *makers; ++i) {
    if (makers[i](c, name, threads)) return true;
  }
  return false;
}

int bench_find(const char *pattern, int threads, void (*visit)(void *user, const bench_case *c), void *user) {
  static bench_case c; /* too large for a stack; the visitor must not keep it */
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
