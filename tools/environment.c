/* environment.c: settings that libraries read once, when they are loaded: `tenon bench` sets them and starts itself anew.
 * What the user has set stands.
 *
 * GOMP_SPINCOUNT, for vendors that use libgomp (oneDNN; our kernels in memory do not): libgomp spins for milliseconds at a
 * barrier; on a busy machine that keeps the core that the other thread waits for, and a call takes whole scheduler quanta.
 * A short spin is as fast on a quiet machine, and leaves the cores to us sooner when it is our turn.
 * OPENBLAS_CORETYPE: OpenBLAS 0.3.21 does not know processors newer than itself and takes its Haswell kernels, at a quarter
 * of its speed; where AVX-512 is at hand it is asked for those, so that the comparison is with its best. */
#include <stdlib.h>
#include <unistd.h>

#include "tools/tools.h"

/* Whether the variable had to be set. */
static bool set_default(const char *name, const char *value) { return !getenv(name) && setenv(name, value, 0) == 0; }

static bool has_avx512(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

void tools_settle_environment(char **argv) {
  bool changed = !getenv("OMP_WAIT_POLICY") && set_default("GOMP_SPINCOUNT", "10000");
  if (has_avx512()) changed |= set_default("OPENBLAS_CORETYPE", "SkylakeX");
  if (changed) execv("/proc/self/exe", argv); /* returns only when it cannot: then the defaults hold */
}
