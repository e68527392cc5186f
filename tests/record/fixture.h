/* fixture.h: a program, a target and an empty log file for tests of records. */
#ifndef TENON_TESTS_RECORD_FIXTURE_H
#define TENON_TESTS_RECORD_FIXTURE_H

#include "autotune/log.h"
#include "tests/common/check.h"

#define MATMUL "C[i<16, j<32] = sum[k<8](A[i,k] * B[k,j])"

typedef struct fixture {
  tn_context *ctx;
  tn_program *program;
  tn_target *target;
  char folder[64], log[96];
  int n_visited, lines[512];
  double costs[512];
} fixture;

/* cmocka fixtures. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
#define WITH_LOG(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)

/* A record of one cost; steps NULL: none. cost INFINITY: failed to compile. */
autotune_record make_record(fixture *f, const char *steps, double cost_s, bool checked);
/* Appends such a record. */
void append(fixture *f, const char *steps, double cost_s, bool checked);
/* Appends text as it is. */
void append_text(const fixture *f, const char *text);
/* The whole log, malloc'ed. */
char *log_text(const fixture *f);
/* Reads the log at PATH from its beginning; *N_SKIPPED, unless NULL, gets how many lines are no records. */
tn_status read_log(tn_context *ctx, const char *path, bool missing_ok,
                   bool (*visit)(void *user, int line, autotune_record *record), void *user, int *n_skipped);
/* Reads the log into f->lines and f->costs. */
tn_status read_all(fixture *f);

#endif
