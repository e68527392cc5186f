/* tests.h: what the test program of te/ shares: its groups. */
#ifndef TENON_TESTS_TE_TESTS_H
#define TENON_TESTS_TE_TESTS_H

#include "te/graph.h"
#include "tests/common/check.h"

int test_print(void);
int test_parse_errors(void);
int test_files(void);
int test_format(void);
int test_shapes(void);
int test_calls(void);
int test_evaluate(void);
int test_evaluate_at(void);
int test_flops(void);
int test_random_texts(void);

/* Parses or fails the test, showing the message. */
tn_program *parse(tn_context *ctx, const char *text);
/* Arrays for all of a program's arguments, filled from SEED; free with free_args. */
DLTensor **make_args(tn_context *ctx, const tn_program *p, uint64_t seed);
void free_args(DLTensor **args, const tn_program *p);
double get_element(const DLTensor *a, int64_t flat);
void set_element(DLTensor *a, int64_t flat, double value);
int64_t count_elements(const DLTensor *a);

#endif
