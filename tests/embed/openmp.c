/* openmp.c: a host with an OpenMP team of its own: each of its threads builds and calls kernels with parallel loops, and
 * the team is afterwards what it was. */
#include <omp.h>

#include "embed.h"

enum { TEAM = 3, CALLS = 20 };

int main(void) {
  int before = omp_get_max_threads(), sizes = 0;
  omp_set_num_threads(TEAM);
#pragma omp parallel reduction(+ : sizes)
  {
    embed_kernel k = embed_new();
    for (int n = 0; n < CALLS; ++n) embed_check(&k);
    embed_free(&k);
    sizes += omp_get_num_threads();
  }
  REQUIRE(sizes == TEAM * TEAM, "the team had other than %d threads: %d", TEAM, sizes);
  embed_kernel k = embed_new();
  for (int n = 0; n < CALLS; ++n) embed_check(&k);
  embed_free(&k);
  sizes = 0;
#pragma omp parallel for reduction(+ : sizes)
  for (int i = 0; i < 1000; ++i) sizes += i;
  REQUIRE(sizes == 499500 && omp_get_max_threads() == TEAM, "the team is not what it was (%d)", before);
  return 0;
}
