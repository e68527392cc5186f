/* tests.h: what the test program of the shipped programs shares: its groups. */
#ifndef TENON_TESTS_PROGRAMS_TESTS_H
#define TENON_TESTS_PROGRAMS_TESTS_H

int test_tuples(void);

#endif
