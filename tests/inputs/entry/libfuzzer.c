/* libfuzzer.c: a target as libFuzzer wants it: clang -fsanitize=fuzzer -DTARGET=program, with the sources of this folder but
 * main.c. */
#include "tests/inputs/inputs.h"

#define ONE_OF(name) inputs_one_##name
#define ONE(name) ONE_OF(name)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ONE(TARGET)(data, n);
  return 0;
}
