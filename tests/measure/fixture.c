/* The pool that the tests of workers and of faults share. */
#include "tests/measure/fixture.h"

#include <unistd.h>

#include "tests/measure/measure_test.h"

const char *const fixture_matmul = "C[i<16, j<12] = sum[k<20](A[i, k] * B[k, j])";

static int open_descriptors(void) {
  int n = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) ++n;
  if (folder) closedir(folder);
  return n;
}

static int count_children(void) {
  int pids[64];
  return children_of(getpid(), pids, 64);
}

void fixture_open_options(pool_fixture *f, const tn_worker_options *options) {
  *f = (pool_fixture){.ctx = check_context(), .children = count_children(), .descriptors = open_descriptors()};
  bool started = tn_workers_new(f->ctx, options, &f->builder, &f->runner);
  check_ok(f->ctx);
  assert_true(started);
  for (int i = 0; i < MAX_CANDIDATES; ++i)
    f->candidates[i] = (tn_candidate){.program = fixture_matmul, .steps = "[]", .target = "native", .seed = 1};
}

void fixture_open(pool_fixture *f, const char *inject) {
  char option[64];
  snprintf(option, sizeof option, "--inject=%s", inject ? inject : "");
  const char *command[] = {TENON_TEST_WORKER, inject ? option : NULL, NULL};
  fixture_open_options(
      f, &(tn_worker_options){
             .command = command, .jobs = 1, .build_timeout_s = 1.5, .run_timeout_s = 1.5, .memory_bytes = 256 << 20});
}

void fixture_close(pool_fixture *f) {
  for (int i = 0; i < MAX_CANDIDATES; ++i) {
    free(f->out[i].message);
    free(f->out[i].object);
  }
  f->builder.free(f->builder.self);
  f->runner.free(f->runner.self);
  check_context_free(f->ctx);
  assert_int_equal(count_children(), f->children);
  assert_int_equal(open_descriptors(), f->descriptors);
}

void fixture_build(pool_fixture *f, int n) {
  assert_int_equal(f->builder.build(f->builder.self, n, f->candidates, f->out), TN_OK);
  check_ok(f->ctx);
}

void fixture_run(pool_fixture *f, int n) {
  assert_int_equal(f->runner.run(f->runner.self, n, f->candidates, f->out), TN_OK);
  check_ok(f->ctx);
}

void fixture_expect(const pool_fixture *f, int i, tn_measure_error error, const char *part) {
  const tn_measurement *m = &f->out[i];
  if (m->error != error)
    fail_msg("candidate %d: error class %d instead of %d: %s", i, m->error, error,
             m->message ? m->message : "(no message)");
  if (error == TN_MEASURE_NONE)
    assert_null(m->message);
  else
    check_has(m->message, part);
}
