/* environment.c: what libraries read once, when they are loaded: `tenon bench` sets it and starts itself anew. What
 * the user has set stands.
 *
 * GOMP_SPINCOUNT, for vendors that use libgomp (oneDNN; our kernels in memory do not): libgomp spins for milliseconds
 * at a barrier; on a busy machine that keeps the core that the other thread waits for, and a call takes whole
 * scheduler quanta. A short spin is as fast on a quiet machine, and leaves the cores to us sooner when it is our
 * turn. For which processor a vendor's kernels are is looked for where the vendor is opened
 * (benchmarks/vendors/choose.c). */
#include <stdlib.h>
#include <unistd.h>

#include "tools/tools.h"

void tools_settle_environment(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "10000", 0) == 0) execv("/proc/self/exe", argv); /* returns only when it cannot */
}
