/* Tests of measuring: the protocol, checking outputs, worker processes and their faults. */
#include "tests/measure/measure_test.h"

int main(void) { return protocol_tests() + check_tests() + worker_tests() + fault_tests() + own_builder_tests(); }
