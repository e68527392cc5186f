/* Measuring candidates in worker processes: times, checked answers, classes of failure that come from the candidate
 * itself. */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "autotune/measure.h"
#include "tests/measure/fixture.h"
#include "tests/measure/measure_test.h"

static void assert_measured(const tn_measurement *m) {
  assert_int_equal(m->error, TN_MEASURE_NONE);
  assert_true(m->checked && m->n_costs > 0 && m->costs[0] > 0 && m->costs[0] < 1);
  assert_true(m->max_error < 1e-4);
}

static void one_candidate(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  assert_measured(&f.out[0]);
  assert_true(f.out[0].build_s > 0 && f.out[0].run_s > 0);
  fixture_close(&f);
}

static void phases_are_told(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  int n = 0;
  for (const char *const *name = tn_measure_phases(); *name; ++name, ++n)
    if (f.out[0].phase_s[n] <= 0) fail_msg("no time for phase %s", *name);
  assert_int_equal(n, MEASURE_PHASES);
  assert_string_equal(tn_measure_phases()[2], "compile");
  fixture_close(&f);
}

static void several_jobs(void **state) {
  (void)state;
  pool_fixture f;
  const char *command[] = {TENON_TEST_WORKER, NULL};
  int pids[8];
  fixture_open_options(&f, &(tn_worker_options){.command = command, .jobs = 3});
  fixture_build(&f, 8);
  assert_int_equal(children_of(getpid(), pids, 8), 1 + 3); /* who runs, who build */
  fixture_run(&f, 8);
  for (int i = 0; i < 8; ++i) assert_measured(&f.out[i]);
  fixture_close(&f);
}

/* Sums with the limit must not overflow (UBSan sees it in `make asan`). */
static void as_much_memory_as_can_be_said(void **state) {
  (void)state;
  pool_fixture f;
  const char *command[] = {TENON_TEST_WORKER, NULL};
  fixture_open_options(&f, &(tn_worker_options){.command = command, .jobs = 1, .memory_bytes = INT64_MAX});
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  assert_measured(&f.out[0]);
  fixture_close(&f);
}

static void workers_are_reused(void **state) {
  (void)state;
  pool_fixture f;
  int before[2], after[2];
  fixture_open(&f, NULL);
  assert_int_equal(children_of(getpid(), before, 2), 1);
  fixture_build(&f, 3);
  fixture_run(&f, 3);
  assert_int_equal(children_of(getpid(), after, 2), 1);
  assert_int_equal(before[0], after[0]);
  fixture_close(&f);
}

static void two_programs_take_turns(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[1].program = "D[i<8] = A[i] + B[i]";
  f.candidates[3].program = "input A: i32[9]; E[i<9] = A[i] * 2";
  f.candidates[2].seed = 77;
  fixture_build(&f, 4);
  fixture_run(&f, 4);
  for (int i = 0; i < 4; ++i) fixture_expect(&f, i, TN_MEASURE_NONE, NULL);
  fixture_close(&f);
}

/* Without a word about the data, inputs get numbers that the program can take; with one, what was said. */
static void data_suits_the_program(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "Y[i<200] = log(A[i]) + sqrt(B[i])";
  f.candidates[1].program = "Y[i<200] = log(A[i] + sqrt(A[i] * A[i] - 1))"; /* acosh */
  f.candidates[2].program = "Y[i<200] = log(A[i])";
  f.candidates[2].fill = "A=uniform(-2, -1)";
  f.candidates[3].program = "Y[i<200] = A[i] / B[i]";
  f.candidates[3].fill = "B=zeros";
  fixture_build(&f, 4);
  fixture_run(&f, 4);
  for (int i = 0; i < 4; ++i) fixture_expect(&f, i, TN_MEASURE_NONE, NULL);
  assert_true(f.out[0].odd_share == 0 && f.out[1].odd_share == 0);
  assert_true(f.out[2].odd_share == 1 && f.out[3].odd_share == 1);
  fixture_close(&f);
}

/* What depends on layout_free inputs alone is computed before; the kernel, which is compared after several calls, uses it. */
static void constants_are_packed_before(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program =
      "input X: f32[8, 9], W: f32[9] layout_free; V[j<9] = exp(W[j]); Y[i<8, j<9] = X[i,j] * V[j]";
  f.candidates[1].program = f.candidates[0].program;
  f.candidates[1].steps = "[[\"CI\", 2]]";
  f.candidates[2].program = f.candidates[0].program;
  f.candidates[0].packs_apart = f.candidates[1].packs_apart = f.runner.packs;
  fixture_build(&f, 3);
  fixture_run(&f, 3);
  for (int i = 0; i < 3; ++i) fixture_expect(&f, i, TN_MEASURE_NONE, NULL);
  assert_measured(&f.out[0]);
  assert_true(f.out[0].is_packed);
  assert_false(f.out[1].is_packed); /* inlined: nothing is left to pack */
  assert_false(f.out[2].is_packed); /* for a runner that knows one function */
  fixture_close(&f);
}

static void data_that_cannot_be_had_is_said(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].fill = "A=file:/no/such.npy";
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_UNKNOWN, "/no/such.npy: No such file");
  fixture_close(&f);
}

/* Runs the kernel of candidate I as if it were candidate 0's. */
static void run_another(pool_fixture *f, int i) {
  tn_measurement own = f->out[0];
  f->out[0] = (tn_measurement){.object = f->out[i].object, .object_bytes = f->out[i].object_bytes};
  f->out[i].object = NULL;
  free(own.message);
  free(own.object);
  fixture_run(f, 1);
}

/* What would be the new best is compared whole: one element of many is wrong, at several places. */
static void the_best_is_compared_whole(void **state) {
  (void)state;
  static const char *const others[] = {
      "C[i<262144] = select(i == 77777, 0, A[i])", "C[i<262144] = select(i == 12345, 0, A[i])",
      "C[i<262144] = select(i == 150001, 0, A[i])", "C[i<262144] = select(i == 222222, 0, A[i])"};
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<262144] = A[i]";
  f.candidates[0].best_s = 10;
  for (int i = 0; i < RUNTIME_COUNT(others); ++i) f.candidates[i + 1].program = others[i];
  fixture_build(&f, 1 + RUNTIME_COUNT(others));
  for (int i = 0; i < RUNTIME_COUNT(others); ++i) {
    run_another(&f, i + 1);
    fixture_expect(&f, 0, TN_MEASURE_WRONG_ANSWER, "1 of ");
  }
  fixture_close(&f);
}

/* A kernel that is right, but does not do the work. */
static void a_time_beyond_the_machine(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<4] = sum[k<4000000](A[i] * 0)";
  f.candidates[1].program = "C[i<4] = A[i] * 0";
  fixture_build(&f, 2);
  run_another(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_UNKNOWN, "beats the machine's peak");
  fixture_close(&f);
}

static void clearly_slower_is_dropped(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<256, j<256] = sum[k<64](exp(A[i, k]) * B[k, j])";
  f.candidates[0].best_s = 1e-7;
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  assert_int_equal(f.out[0].n_costs, 1);
  assert_true(f.out[0].checked || f.out[0].ended_early);
  fixture_close(&f);
}

/* Calls of tens of milliseconds vary little: a second one says enough. */
static void long_kernels_are_called_twice(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<512, j<128] = sum[k<96](exp(A[i, k]) * B[k, j])";
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  assert_true(f.out[0].costs[0] > 0.02 && f.out[0].costs[0] < 0.25);
  assert_int_equal(f.out[0].n_samples, 2);
  assert_true(f.out[0].checked);
  fixture_close(&f);
}

/* A run that is much slower than the best is ended where it is: the worker lives, and with it the reference. Not under TSan: it
 * keeps a signal back until the thread calls something, which a kernel does not. */
static void ended_early(const char *program, const char *steps) {
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  pool_fixture f;
  int before[2], after[2];
  fixture_open(&f, NULL);
  f.candidates[1].program = program;
  f.candidates[1].steps = steps;
  f.candidates[1].best_s = 1e-4;
  f.candidates[2].program = program;
  fixture_build(&f, 3);
  fixture_run(&f, 1);
  assert_int_equal(children_of(getpid(), before, 2), 1);
  fixture_run(&f, 3);
  fixture_expect(&f, 1, TN_MEASURE_NONE, NULL);
  assert_true(f.out[1].ended_early && !f.out[1].checked);
  assert_int_equal(f.out[1].n_costs, 1);
  assert_true(f.out[1].costs[0] > 4e-3);
  fixture_expect(&f, 2, TN_MEASURE_NONE, NULL);
  assert_true(f.out[2].checked && !f.out[2].ended_early);
  assert_int_equal(children_of(getpid(), after, 2), 1);
  assert_int_equal(before[0], after[0]);
  fixture_close(&f);
}

#define SLOW_PROGRAM "C[i<250, j<250] = sum[k<250](exp(A[i, k]) * B[k, j])"

static void slow_runs_are_ended(void **state) {
  (void)state;
  ended_early(SLOW_PROGRAM, "[]");
}

static void slow_parallel_runs_are_ended(void **state) {
  (void)state;
  ended_early(SLOW_PROGRAM, "[[\"AN\", 2, 0, 3]]");
}

/* What takes long unscheduled is compared with the generic schedule's kernel, and its own time is an estimate. */
static void long_default_is_estimated(void **state) {
  (void)state;
  pool_fixture f;
  tn_measurement m;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<1000, j<1000] = sum[k<1000](A[i, k] * B[k, j])";
  assert_int_equal(f.runner.prepare(f.runner.self, &f.candidates[0], &m), TN_OK);
  assert_int_equal(m.error, TN_MEASURE_NONE);
  assert_true(m.is_estimate && !m.checked);
  assert_true(m.n_costs == 1 && m.costs[0] > 0.2 && m.costs[0] < 100);
  assert_true(m.run_s < 0.9 * m.costs[0] || m.run_s < 1);
  fixture_close(&f);
}

static void short_default_is_run(void **state) {
  (void)state;
  pool_fixture f;
  tn_measurement m;
  fixture_open(&f, NULL);
  assert_int_equal(f.runner.prepare(f.runner.self, &f.candidates[0], &m), TN_OK);
  assert_measured(&m);
  assert_true(!m.is_estimate && m.n_samples >= 1 && m.min_s > 0);
  fixture_close(&f);
}

/* What would be the new best is compared whole, others in parts. */
static void losers_are_compared_in_parts(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  for (int i = 0; i < 3; ++i) f.candidates[i].program = "C[i<1024, j<1024] = A[i, j] + 1";
  f.candidates[1].best_s = 1e-9;
  f.candidates[2].best_s = 1e-9;
  f.candidates[2].is_final = true;
  fixture_build(&f, 3);
  fixture_run(&f, 3);
  for (int i = 0; i < 3; ++i) assert_true(f.out[i].checked);
  assert_true(f.out[0].share == 1 && f.out[2].share == 1);
  assert_true(f.out[1].share > 0.01 && f.out[1].share < 0.2);
  fixture_close(&f);
}

static bool stop_at_once(void *user) {
  ++*(int *)user;
  return true;
}

static void stopped_batches_are_abandoned(void **state) {
  (void)state;
  pool_fixture f;
  int asked = 0;
  const char *command[] = {TENON_TEST_WORKER, "--inject=build-hang@1", NULL};
  fixture_open_options(
      &f, &(tn_worker_options){.command = command, .jobs = 2, .should_stop = stop_at_once, .user = &asked});
  fixture_build(&f, 4);
  assert_true(asked > 0);
  for (int i = 0; i < 4; ++i) assert_true(f.out[i].abandoned && f.out[i].error != TN_MEASURE_NONE);
  fixture_close(&f);
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of 100 polls that are told not to wait. */
static double poll_often(const tn_builder *builder) {
  tn_job *done;
  double start_s = now_s();
  for (int i = 0; i < 100; ++i) {
    assert_int_equal(builder->poll(builder->self, 0, &done), TN_OK);
    assert_null(done);
  }
  return now_s() - start_s;
}

/* The search polls between two of its steps: what it waits there it does not search. The least of several rounds, since the
 * machine may have other work. */
static void who_does_not_wait_loses_no_time(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "build-hang@1");
  tn_job *done, job = {.candidate = &f.candidates[0], .measurement = &f.out[0]};
  assert_int_equal(f.builder.submit(f.builder.self, &job), TN_OK);
  double least_s = 1;
  for (int round = 0; round < 5; ++round) least_s = fmin(least_s, poll_often(&f.builder));
  if (least_s > 0.05) fail_msg("a poll that does not wait takes %g ms", least_s / 100 * 1e3);
  do assert_int_equal(f.builder.poll(f.builder.self, 1, &done), TN_OK);
  while (!done);
  assert_int_equal(f.out[0].error, TN_MEASURE_BUILD_TIMEOUT);
  fixture_close(&f);
}

/* A kernel of all cores waits for the caller's core. A caller who never waits would hold it up for ever: it is made to rest. */
static void a_kernel_of_all_cores_is_not_held_up(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].threads = tn_thread_count();
  fixture_build(&f, 1);
  tn_job *done = NULL, job = {.candidate = &f.candidates[0], .measurement = &f.out[0]};
  assert_int_equal(f.runner.submit(f.runner.self, &job), TN_OK);
  for (int i = 0; i < 100 && !done; ++i) assert_int_equal(f.runner.poll(f.runner.self, 0, &done), TN_OK);
  assert_ptr_equal(done, &job);
  assert_measured(&f.out[0]);
  fixture_close(&f);
}

static void failed_builds_are_not_run(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].steps = "nonsense";
  fixture_build(&f, 2);
  fixture_run(&f, 2);
  assert_int_equal(f.out[0].error, TN_MEASURE_INSTANTIATION);
  assert_true(f.out[0].run_s == 0);
  assert_measured(&f.out[1]);
  fixture_close(&f);
}

/* Writable memory of a process in KiB. */
static long memory_of(int pid) {
  char path[64], line[256];
  long kib = 0;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmData: %ld", &kib);
  if (file) fclose(file);
  return kib;
}

static void measure_round(pool_fixture *f) {
  fixture_build(f, MAX_CANDIDATES);
  fixture_run(f, MAX_CANDIDATES);
  for (int i = 0; i < MAX_CANDIDATES; ++i) {
    assert_measured(&f->out[i]);
    free(f->out[i].object);
    f->out[i].object = NULL;
  }
}

/* Not under sanitizers: what they keep of freed memory makes a worker ask to be replaced. */
static void memory_stays_flat(void **state) {
  (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  skip();
#endif
  pool_fixture f;
  int before[2], after[2];
  fixture_open(&f, NULL);
  for (int round = 0; round < 3; ++round) measure_round(&f);
  assert_int_equal(children_of(getpid(), before, 2), 1);
  long early = memory_of(before[0]);
  for (int round = 0; round < 12; ++round) measure_round(&f);
  assert_int_equal(children_of(getpid(), after, 2), 1);
  assert_int_equal(before[0], after[0]);
  long grown = memory_of(after[0]) - early;
  if (early == 0 || grown > 4096) fail_msg("the worker grew by %ld KiB over 96 candidates", grown);
  fixture_close(&f);
}

static void nothing_to_do(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  fixture_build(&f, 0);
  fixture_run(&f, 0);
  fixture_close(&f);
}

/* ---- wrong answers ----------------------------------------------------------------------------------------------- */

/* The kernel of another program with the same arguments: built well, but not what was asked for. */
static void another_programs_kernel(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<50] = A[i] + B[i]";
  fixture_build(&f, 1);
  f.candidates[0].program = "C[i<50] = A[i] - B[i]";
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_WRONG_ANSWER, "of 50 elements are wrong; the worst: C[");
  assert_false(f.out[0].checked);
  assert_true(f.out[0].max_error > 0.1);
  fixture_close(&f);
}

/* A kernel that writes half of its output leaves the poison in the rest. */
static void half_an_output(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = "C[i<50] = A[i] + B[i]";
  fixture_build(&f, 1);
  f.candidates[0].program = "C[i<100] = A[i] + B[i]";
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_WRONG_ANSWER, "50 of 100 elements are wrong");
  fixture_close(&f);
}

static void object_that_is_none(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  fixture_build(&f, 2);
  memset(f.out[0].object, 'x', f.out[0].object_bytes);
  fixture_run(&f, 2);
  fixture_expect(&f, 0, TN_MEASURE_LOAD, "");
  assert_measured(&f.out[1]);
  fixture_close(&f);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void run_without_program(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  fixture_build(&f, 2);
  f.candidates[0].program = NULL;
  fixture_run(&f, 2);
  fixture_expect(&f, 0, TN_MEASURE_INSTANTIATION, "missing");
  assert_measured(&f.out[1]);
  fixture_close(&f);
}

static const struct refusal_row {
  const char *name, *program, *steps, *target;
  tn_measure_error error;
  const char *message;
} refusal_rows[] = {
    {"program that does not parse", "C[i<4] = A[i", "[]", "native", TN_MEASURE_INSTANTIATION, "expected"},
    {"empty program", "", "[]", "native", TN_MEASURE_INSTANTIATION, ""},
    {"unknown dtype", "input A: f17[4]; C[i<4] = A[i]", "[]", "native", TN_MEASURE_INSTANTIATION, "f17"},
    {"steps that are no JSON", "C[i<4] = A[i] + 1", "[[", "native", TN_MEASURE_INSTANTIATION, ""},
    {"steps of no known kind", "C[i<4] = A[i] + 1", "[[\"XX\", 1]]", "native", TN_MEASURE_INSTANTIATION, "XX"},
    {"a stage that is not there", "C[i<4] = A[i] + 1", "[[\"AN\", 9, 0, 2]]", "native", TN_MEASURE_INSTANTIATION, "9"},
    {"a target that is none", "C[i<4] = A[i] + 1", "[]", "cpu=pentium9000", TN_MEASURE_INSTANTIATION, "pentium9000"},
    {"no program", NULL, "[]", "native", TN_MEASURE_INSTANTIATION, "missing"},
    {"no steps", "C[i<4] = A[i] + 1", NULL, "native", TN_MEASURE_INSTANTIATION, "missing"},
    {"program that is not UTF-8", "C[i<4] = A[i] + \xff", "[]", "native", TN_MEASURE_INSTANTIATION, "UTF-8"},
    {"steps that are not UTF-8", "C[i<4] = A[i] + 1", "\xff", "native", TN_MEASURE_INSTANTIATION, "UTF-8"},
};

static void refused(void **state) {
  const struct refusal_row *row = *state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = row->program;
  f.candidates[0].steps = row->steps;
  f.candidates[0].target = row->target;
  fixture_build(&f, 2);
  fixture_expect(&f, 0, row->error, row->message);
  fixture_expect(&f, 1, TN_MEASURE_NONE, NULL);
  fixture_close(&f);
}

/* ---- interfaces -------------------------------------------------------------------------------------------------- */

/* A board's runner, say: it times nothing, and says so. */
static tn_status pretend_to_run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  for (int i = 0; i < n; ++i) {
    if (inout[i].error != TN_MEASURE_NONE) continue;
    inout[i].n_costs = 1;
    inout[i].costs[0] = *(const double *)self * (double)strlen(candidates[i].program);
  }
  return TN_OK;
}

static void user_supplied_runner(void **state) {
  (void)state;
  pool_fixture f;
  double factor = 0.5;
  tn_runner mine = {.self = &factor, .run = pretend_to_run};
  fixture_open(&f, NULL);
  fixture_build(&f, 2);
  assert_int_equal(mine.run(mine.self, 2, f.candidates, f.out), TN_OK);
  assert_true(f.out[1].costs[0] == 0.5 * (double)strlen(fixture_matmul));
  fixture_close(&f);
}

/* What one pool built, another runs: a candidate carries everything. */
static void built_here_run_there(void **state) {
  (void)state;
  pool_fixture a;
  tn_builder builder;
  tn_runner runner;
  const char *command[] = {TENON_TEST_WORKER, NULL};
  fixture_open(&a, NULL);
  assert_true(tn_workers_new(a.ctx, &(tn_worker_options){.command = command, .jobs = 1}, &builder, &runner));
  fixture_build(&a, 1);
  assert_int_equal(runner.run(runner.self, 1, a.candidates, a.out), TN_OK);
  assert_measured(&a.out[0]);
  builder.free(builder.self);
  runner.free(runner.self);
  fixture_close(&a);
}

static void command_is_searched_for(void **state) {
  (void)state;
  runtime_str places = {0};
  char *found = measure_find_command(&places);
  assert_non_null(found);
  if (strcmp(found, "tenon") == 0)
    check_has(places.data, "the folders of PATH");
  else
    assert_int_equal(access(found, X_OK), 0);
  free(found);
  runtime_str_free(&places);
}

int worker_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_candidate),
      cmocka_unit_test(phases_are_told),
      cmocka_unit_test(several_jobs),
      cmocka_unit_test(as_much_memory_as_can_be_said),
      cmocka_unit_test(workers_are_reused),
      cmocka_unit_test(two_programs_take_turns),
      cmocka_unit_test(clearly_slower_is_dropped),
      cmocka_unit_test(data_suits_the_program),
      cmocka_unit_test(constants_are_packed_before),
      cmocka_unit_test(data_that_cannot_be_had_is_said),
      cmocka_unit_test(the_best_is_compared_whole),
      cmocka_unit_test(a_time_beyond_the_machine),
      cmocka_unit_test(long_kernels_are_called_twice),
      cmocka_unit_test(slow_runs_are_ended),
      cmocka_unit_test(slow_parallel_runs_are_ended),
      cmocka_unit_test(long_default_is_estimated),
      cmocka_unit_test(short_default_is_run),
      cmocka_unit_test(losers_are_compared_in_parts),
      cmocka_unit_test(stopped_batches_are_abandoned),
      cmocka_unit_test(who_does_not_wait_loses_no_time),
      cmocka_unit_test(a_kernel_of_all_cores_is_not_held_up),
      cmocka_unit_test(failed_builds_are_not_run),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(memory_stays_flat),
      cmocka_unit_test(another_programs_kernel),
      cmocka_unit_test(half_an_output),
      cmocka_unit_test(object_that_is_none),
      cmocka_unit_test(run_without_program),
      cmocka_unit_test(user_supplied_runner),
      cmocka_unit_test(built_here_run_there),
      cmocka_unit_test(command_is_searched_for),
  };
  return CHECK_TESTS("workers", tests) + CHECK_TABLE("refused candidates", refusal_rows, refused);
}
