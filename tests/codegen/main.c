/* Code generation: operators against plain C, memory, loops, register tiles, files, targets, whole builds. */
#include "tests/codegen/kit.h"

int main(void) {
  kit_open();
  int failed = test_ops() + test_memory() + test_loops() + test_tiles() + test_math() + test_files() + test_targets() +
               test_build();
  kit_close();
  return failed;
}
