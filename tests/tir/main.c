/* Runs the groups of tests of the loop IR. */
#include "tests/tir/tests.h"

int main(void) {
  return test_expr() + test_print() + test_parse() + test_walk() + test_bounds() + test_simplify() +
         test_simplify_exhaustive() + test_check() + test_passes() + test_pipeline() + test_passes_random();
}
