/* Runs the groups of tests of the loop IR. */
#include "tests/tir/tests.h"

int main(void) { return test_simplify() + test_simplify_exhaustive() + test_passes() + test_passes_random(); }
