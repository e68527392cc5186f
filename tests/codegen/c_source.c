/* C source: what it looks like, names, and that it needs no more than it says; everything that runs, through C. */
#include <math.h>

#include "tests/codegen/kit.h"

#define WARNINGS "-std=c17 -Wall -Wextra -Werror"

/* ---- everything that runs, through C ----------------------------------------------------------------------------- */

static bool has_compiler(const char *name) { return kit_shell(NULL, "%s --version > /dev/null 2>&1", name) == 0; }

int test_through_c(void) {
  int failed = 0;
  K.c_compiler = "cc " WARNINGS " -O1 -fopenmp";
  failed += test_ops_run() + test_memory_run() + test_loops_run();
  K.c_compiler = "clang-19 " WARNINGS " -O1"; /* without OpenMP: serial, and no warning of its pragmas */
  if (has_compiler("clang-19")) failed += test_memory_run() + test_loops_run();
  K.c_compiler = NULL;
  return failed;
}

int test_c_source(void) { return 0; }
