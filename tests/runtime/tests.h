/* The groups of tests of the runtime; each returns the number of failed tests. */
#ifndef TENON_TESTS_RUNTIME_TESTS_H
#define TENON_TESTS_RUNTIME_TESTS_H

int test_arena(void);
int test_containers(void);
int test_context(void);
int test_limits(void);
int test_dtype(void);
int test_array(void);
int test_fill(void);
int test_overlap(void);
int test_call(void);
int test_timing(void);
int test_support(void);
int test_parallel(void);
int test_scratch(void);

#endif
