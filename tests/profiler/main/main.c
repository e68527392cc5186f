/* Runs the row of the profiler's table that the first argument names, in a process of its own; without an argument the
 * unit tests of profilers (if this program has them). TENON_TEST_NO_TSC in the environment: with the fallback clock. */
#include "tests/profiler/rows.h"

int profiler_unit_tests(void) __attribute__((weak));

int main(int argc, char **argv) {
  const profiler_clock no_tsc = {.no_tsc = true};
  if (getenv("TENON_TEST_NO_TSC")) profiler_set_clock(&no_tsc);
  if (argc < 2) return profiler_unit_tests ? profiler_unit_tests() : 0;
  for (const profiler_row *row = profiler_rows; row->name; ++row) {
    if (strcmp(row->name, argv[1]) != 0) continue;
    const struct CMUnitTest tests[] = {{.name = row->name, .test_func = row->run}};
    return CHECK_TESTS(row->name, tests);
  }
  fprintf(stderr, "no row %s\n", argv[1]);
  return 2;
}
