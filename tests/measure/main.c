/* Tests of measuring: the protocol, checking outputs, worker processes and their faults. */
#include "tests/measure/measure_test.h"

#include <string.h>

/* --farm: only the tests of hosts; --device: only those of a device. */
int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--farm") == 0) return farm_tests();
  if (argc == 2 && strcmp(argv[1], "--device") == 0) return device_tests();
  return protocol_tests() + check_tests() + worker_tests() + fault_tests() + own_builder_tests() + farm_tests() +
         device_tests();
}
