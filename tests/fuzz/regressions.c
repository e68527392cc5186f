/* Every wrong result that fuzzing found, as a test of its own. */
#include "tests/common/check.h"
#include "tests/fuzz/worker.h"

static const struct regression {
  const char *name, *program, *schedule;
} regressions[] = {
    {"matmul, tiled and vectorized", "C[i<13, j<17] = sum[k<7](A[i,k] * B[k,j])",
     "tile(C, i, j, 4, 8); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner)"},
};

static void agrees(void **state) {
  const struct regression *r = *state;
  char why[4096];
  for (uint64_t data = 1; data <= 3; data++)
    if (fuzz_run_texts(r->program, r->schedule, data, why, sizeof why) != FUZZ_AGREES) fail_msg("%s", why);
}

int fuzz_regressions(void) { return CHECK_TABLE("fuzz regressions", regressions, agrees); }
