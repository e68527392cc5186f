/* A pool of the test worker's processes with builder and runner, and candidates for it. */
#ifndef TENON_TESTS_MEASURE_FIXTURE_H
#define TENON_TESTS_MEASURE_FIXTURE_H

#include "autotune/autotune.h"
#include "tests/common/check.h"

enum { MAX_CANDIDATES = 8 };

typedef struct pool_fixture {
  tn_context *ctx;
  tn_builder builder;
  tn_runner runner;
  tn_candidate candidates[MAX_CANDIDATES];
  tn_measurement out[MAX_CANDIDATES];
  int children, descriptors; /* before it was opened: a failed test leaves some behind */
} pool_fixture;

extern const char *const fixture_matmul; /* a small program */

/* The given command with one job, limits of 1.5 seconds and 256 MiB; every candidate is the default schedule of the
 * matmul. INJECT: a fault, or NULL. */
void fixture_open(pool_fixture *f, const char *inject);
void fixture_open_options(pool_fixture *f, const tn_worker_options *options);
/* Frees all, and checks that no child process and no descriptor is left of it. */
void fixture_close(pool_fixture *f);
void fixture_build(pool_fixture *f, int n);
void fixture_run(pool_fixture *f, int n);
/* The error class and a part of the message of one measurement, shown when they are not as expected. */
void fixture_expect(const pool_fixture *f, int i, tn_measure_error error, const char *part);

#endif
