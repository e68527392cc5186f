/* Runs the runtime's groups of tests. */
#include "tests/runtime/tests.h"

int main(void) {
  return test_arena() + test_containers() + test_context() + test_limits() + test_dtype() + test_array() + test_fill() +
         test_overlap() + test_call() + test_timing() + test_support() + test_parallel() + test_scratch();
}
