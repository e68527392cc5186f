/* Code generation: operators against plain C, memory, loops, register tiles, files, targets, whole builds, C source.
 * With --through-c: what runs, from C source by gcc and by clang, or by the compiler given behind it. */
#include "tests/codegen/kit.h"

static int all(void) {
  return test_ops() + test_scan() + test_extern() + test_extern_symbols() + test_memory() + test_small_table() +
         test_loops() + test_tiles() + test_turn() + test_near() + test_first() + test_sums() + test_stride() +
         test_dots() + test_tensorize() + test_intrinsics() + test_text_intrinsics() + test_math() + test_files() +
         test_targets() + test_build() + test_c_source() + test_cross() + test_export() + test_language() +
         test_calls() + test_prepack() + test_symbolic() + test_strided();
}

int main(int argc, char **argv) {
  bool through_c = argc >= 2 && strcmp(argv[1], "--through-c") == 0;
  kit_open();
  int failed = through_c ? test_through_c(argc > 2 ? argv[2] : NULL) : all();
  kit_close();
  return failed;
}
