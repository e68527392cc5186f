/* Faults: a candidate that crashes, hangs, exits, eats memory or babbles costs its own record, with the class and the
 * reason; the others of its batch are measured, and no process is left behind. */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/measure/fixture.h"
#include "tests/measure/measure_test.h"

extern char **environ;

/* The fault strikes the second of three candidates; the third is the first of the next worker. */
static const struct strike_row {
  const char *name;
  tn_measure_error error;
  const char *message;
} build_rows[] =
    {
        {"build-crash@2", TN_MEASURE_COMPILE,
         "building failed: the worker was killed by signal 11 (Segmentation fault)"},
        {"build-abort@2", TN_MEASURE_COMPILE, "signal 6 (Aborted)"},
        {"build-exit@2", TN_MEASURE_COMPILE, "exited with status 3"},
        {"build-hang@2", TN_MEASURE_BUILD_TIMEOUT, "building took longer than the limit of 1.5 s"},
        {"build-spin@2", TN_MEASURE_BUILD_TIMEOUT, "limit of 1.5 s"},
        {"build-eat-memory@2", TN_MEASURE_MEMORY, "std::bad_alloc"},
        {"build-garbage@2", TN_MEASURE_UNKNOWN, "does not keep to the protocol: a message cannot have a header of"},
        {"build-truncate@2", TN_MEASURE_COMPILE, "exited with status 0"},
        {"build-stranger@2", TN_MEASURE_UNKNOWN, "an answer to a request that was not made"},
        {"build-close@2", TN_MEASURE_COMPILE, "closed its output without ending"},
},
  run_rows[] = {
      {"run-crash@2", TN_MEASURE_RUNTIME, "running failed: the worker was killed by signal 11 (Segmentation fault)"},
      {"run-exit@2", TN_MEASURE_RUNTIME, "exited with status 3"},
      {"run-hang@2", TN_MEASURE_RUN_TIMEOUT, "running took longer than the limit of 1.5 s"},
      {"run-spin@2", TN_MEASURE_RUN_TIMEOUT, "limit of 1.5 s"},
      {"run-eat-memory@2", TN_MEASURE_MEMORY, "std::bad_alloc"},
      {"run-garbage@2", TN_MEASURE_UNKNOWN, "does not keep to the protocol"},
      {"run-truncate@2", TN_MEASURE_RUNTIME, "exited with status 0"},
      {"run-wrong@2", TN_MEASURE_WRONG_ANSWER, "1 of 192 elements are wrong"},
      {"run-spoil@2", TN_MEASURE_WRONG_ANSWER, "wrote to one of its inputs"},
      {"run-timeless@2", TN_MEASURE_UNKNOWN, "the worker sent no time, or one that is not positive"},
};

static void strike_build(void **state) {
  const struct strike_row *row = *state;
  pool_fixture f;
  fixture_open(&f, row->name);
  fixture_build(&f, 3);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  fixture_expect(&f, 1, row->error, row->message);
  fixture_expect(&f, 2, TN_MEASURE_NONE, NULL);
  assert_true(f.out[0].object_bytes > 0 && f.out[2].object_bytes > 0);
  assert_null(f.out[1].object);
  fixture_close(&f);
}

static void strike_run(void **state) {
  const struct strike_row *row = *state;
  pool_fixture f;
  fixture_open(&f, row->name);
  fixture_build(&f, 3);
  fixture_run(&f, 3);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  fixture_expect(&f, 1, row->error, row->message);
  fixture_expect(&f, 2, TN_MEASURE_NONE, NULL);
  assert_true(f.out[0].checked && f.out[2].checked && !f.out[1].checked);
  assert_int_equal(f.out[1].n_costs, 0);
  fixture_close(&f);
}

/* A candidate may have a shorter limit than the pool, but no longer one. */
static void limits_are_the_pools_at_most(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "run-hang@1");
  f.candidates[0].timeout_s = 4;
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_RUN_TIMEOUT, "running took longer than the limit of 1.5 s");
  fixture_close(&f);
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */

static void disagreement_fails_everything(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-disagree@1");
  fixture_build(&f, 2);
  fixture_run(&f, 2);
  for (int i = 0; i < 2; ++i)
    fixture_expect(&f, i, TN_MEASURE_WRONG_ANSWER, "the unscheduled kernel disagrees with the evaluator: C[0, 0] is");
  fixture_close(&f);
}

static void disagreement_of_the_last_output(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-disagree@1");
  f.candidates[0].program = "(C, D)[i<8] = (A[i], A[i] * 2 + 1)";
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_WRONG_ANSWER, "disagrees with the evaluator: D[0] is");
  fixture_close(&f);
}

/* An element of E takes more than the evaluator can be asked for: the reference is proved tensor by tensor. */
#define DEEP                                                               \
  "input A: f32[240,240]; C[i<240, j<240] = sum[k<240](A[i,k] * A[k,j]); " \
  "D[i<240, j<240] = sum[k<240](C[i,k] * A[k,j] * 0.01); E[i<4, j<4] = sum[k<240](D[i,k] * A[k,j])"

static void deep_programs_are_proved_by_tensors(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, NULL);
  f.candidates[0].program = DEEP;
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  assert_true(f.out[0].checked);
  fixture_close(&f);
}

static void deep_disagreement(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-disagree@1");
  f.candidates[0].program = DEEP;
  fixture_build(&f, 1);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_WRONG_ANSWER, "kernel of all tensors disagrees with the program's own: E[0, 0] is");
  fixture_close(&f);
}

/* Another seed is other data, and another reference. */
static void another_seed_is_prepared_anew(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-disagree@2");
  f.candidates[1].seed = 2;
  fixture_build(&f, 2);
  fixture_run(&f, 2);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  fixture_expect(&f, 1, TN_MEASURE_WRONG_ANSWER, "disagrees with the evaluator");
  fixture_close(&f);
}

/* And so is another target. */
static void another_target_is_prepared_anew(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-disagree@2");
  f.candidates[1].target = "threads=1";
  fixture_build(&f, 2);
  fixture_run(&f, 2);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  fixture_expect(&f, 1, TN_MEASURE_WRONG_ANSWER, "disagrees with the evaluator");
  fixture_close(&f);
}

/* The generic reference does not pass; the unscheduled one, made in its place, is spoilt as well. */
static void disagreement_of_a_generic_reference(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open_options(
      &f, &(tn_worker_options){.command = (const char *[]){TENON_TEST_WORKER, "--inject=prepare-disagree@1", NULL}});
  f.candidates[0].program = "C[i<700, j<700] = sum[k<700](A[i, k] * B[k, j])";
  tn_measurement m;
  assert_int_equal(f.runner.prepare(f.runner.self, &f.candidates[0], &m), TN_OK);
  assert_int_equal(m.error, TN_MEASURE_WRONG_ANSWER);
  check_has(m.message, "kernel disagrees with the evaluator: C[0, 0] is");
  free(m.message);
  fixture_close(&f);
}

static void reference_that_crashes_is_given_up(void **state) {
  (void)state;
  pool_fixture f;
  fixture_open(&f, "prepare-crash@1");
  fixture_build(&f, 3);
  fixture_run(&f, 3);
  for (int i = 0; i < 3; ++i)
    fixture_expect(&f, i, TN_MEASURE_UNKNOWN, "computing the reference failed: the worker was killed");
  fixture_close(&f);
}

/* ---- workers that do not start ----------------------------------------------------------------------------------- */

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const struct start_row {
  const char *name, *option, *message;
} start_rows[] = {
    {"exits at once", "--inject=hello-exit@1", "exited with status 3"},
    {"babbles at once", "--inject=hello-garbage@1", "does not keep to the protocol"},
    {"another version", "--inject=hello-version@1", "speaks protocol 2, this is 1"},
    {"wrong option", "--quick", "exited with status 2; its last words: tenon worker: unknown option --quick"},
    {"long last words", "--" X64 X64 X64 X64 X64 X64 X64 X64 "and-this-is-the-end", "xand-this-is-the-end (there are"},
    {"wrong fault", "--inject=run-dance@1", "no such fault: --inject=run-dance@1"},
};

static void does_not_start(void **state) {
  const struct start_row *row = *state;
  tn_context *ctx = check_context();
  const char *command[] = {TENON_TEST_WORKER, row->option, NULL};
  tn_builder builder;
  tn_runner runner;
  int pids[2];
  assert_false(tn_workers_new(ctx, &(tn_worker_options){.command = command, .jobs = 2}, &builder, &runner));
  check_fails(ctx, TN_ERROR_WORKER, "cannot start the worker process", row->message);
  assert_int_equal(children_of(getpid(), pids, 2), 0);
  check_context_free(ctx);
}

static void command_that_is_not_there(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_builder builder;
  tn_runner runner;
  const char *missing[] = {"/nowhere/tenon", "worker", NULL}, *empty[] = {NULL};
  assert_false(tn_workers_new(ctx, &(tn_worker_options){.command = missing}, &builder, &runner));
  check_fails(ctx, TN_ERROR_WORKER, "`/nowhere/tenon worker`", "No such file or directory");
  assert_false(tn_workers_new(ctx, &(tn_worker_options){.command = empty}, &builder, &runner));
  check_fails(ctx, TN_ERROR_ARGUMENT, "the worker command is empty");
  assert_false(tn_workers_new(ctx, NULL, NULL, &runner));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_workers_new", "NULL");
  check_context_free(ctx);
}

/* A worker that was killed between two batches is replaced, at no candidate's cost. */
static void killed_while_idle(void **state) {
  (void)state;
  pool_fixture f;
  int pids[2];
  fixture_open(&f, NULL);
  fixture_build(&f, 1);
  assert_int_equal(children_of(getpid(), pids, 2), 1);
  kill(pids[0], SIGKILL);
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  fixture_run(&f, 1);
  fixture_expect(&f, 0, TN_MEASURE_NONE, NULL);
  fixture_close(&f);
}

static void signals_are_left_alone(void **state) {
  (void)state;
  struct sigaction before, after;
  sigset_t mask_before = {0}, mask_after = {0}; /* the system call fills only a part */
  pool_fixture f;
  sigaction(SIGPIPE, NULL, &before);
  sigprocmask(SIG_BLOCK, NULL, &mask_before);
  fixture_open(&f, "build-exit@1");
  fixture_build(&f, 2);
  fixture_close(&f);
  sigaction(SIGPIPE, NULL, &after);
  sigprocmask(SIG_BLOCK, NULL, &mask_after);
  assert_true(before.sa_handler == after.sa_handler);
  assert_memory_equal(&mask_before, &mask_after, sizeof mask_before);
}

/* ---- the tuner dies ---------------------------------------------------------------------------------------------- */

static bool is_gone(int pid) {
  char state;
  int parent;
  return !process_stat(pid, &state, &parent) || state == 'Z' || state == 'X';
}

static bool gone_within(int pid, int ms) {
  for (int waited = 0; !is_gone(pid); waited += 10) {
    if (waited > ms) return false;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return true;
}

/* Starts a tuner with two workers that hang in a build and kills it: they end. */
static void kill_tuner(const char *const *argv) {
  int ends[2], n = 0, pids[4] = {0};
  pid_t tuner;
  posix_spawn_file_actions_t actions;
  assert_int_equal(pipe(ends), 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  assert_int_equal(posix_spawn(&tuner, argv[0], &actions, NULL, (char *const *)argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE *told = fdopen(ends[0], "r");
  while (n < 2 && fscanf(told, "%d", &pids[n]) == 1) ++n;
  fclose(told);
  nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* let the hanging builds begin */
  assert_int_equal(n, 2);
  for (int i = 0; i < n; ++i) assert_false(is_gone(pids[i]));
  kill(tuner, SIGKILL);
  waitpid(tuner, NULL, 0);
  for (int i = 0; i < n; ++i) assert_true(gone_within(pids[i], 5000));
}

static void tuner_killed_with_hanging_workers(void **state) {
  (void)state;
  kill_tuner((const char *const[]){TENON_TEST_WORKER, "--hold", TENON_TEST_WORKER, "--inject=build-hang@3", NULL});
}

static void tuner_killed_with_computing_workers(void **state) {
  (void)state;
  kill_tuner((const char *const[]){TENON_TEST_WORKER, "--hold", TENON_TEST_WORKER, "--inject=build-spin@3", NULL});
}

/* A shell between tuner and worker: the kernel's signal goes to the shell, the worker sees its socket close. */
static void tuner_killed_behind_a_shell(void **state) {
  (void)state;
  kill_tuner((const char *const[]){TENON_TEST_WORKER, "--hold", "/bin/sh", "-c",
                                   TENON_TEST_WORKER " --inject=build-hang@3; exit 0", NULL});
}

int fault_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(disagreement_fails_everything),
      cmocka_unit_test(deep_programs_are_proved_by_tensors),
      cmocka_unit_test(deep_disagreement),
      cmocka_unit_test(disagreement_of_a_generic_reference),
      cmocka_unit_test(limits_are_the_pools_at_most),
      cmocka_unit_test(disagreement_of_the_last_output),
      cmocka_unit_test(another_seed_is_prepared_anew),
      cmocka_unit_test(another_target_is_prepared_anew),
      cmocka_unit_test(reference_that_crashes_is_given_up),
      cmocka_unit_test(command_that_is_not_there),
      cmocka_unit_test(killed_while_idle),
      cmocka_unit_test(signals_are_left_alone),
      cmocka_unit_test(tuner_killed_with_hanging_workers),
      cmocka_unit_test(tuner_killed_with_computing_workers),
      cmocka_unit_test(tuner_killed_behind_a_shell),
  };
  return CHECK_TABLE("build faults", build_rows, strike_build) + CHECK_TABLE("run faults", run_rows, strike_run) +
         CHECK_TABLE("start faults", start_rows, does_not_start) + CHECK_TESTS("faults", tests);
}
