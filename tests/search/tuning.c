/* tn_tune with a builder and runner made up: the cost is a function of the steps. Resuming, counting, failing,
 * refusing. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/tuner.h"
#include "tests/search/search_test.h"

/* What the made-up machine does and what it saw. */
typedef struct machine {
  int built, run;
  int fail_every;      /* every so many-th run fails; 0: none */
  int die_at, stop_at; /* the run that kills the process, that returns an error; 0: none */
  int unimproving;     /* from this run on nothing is faster; 0: never */
  int lucky;           /* the run that seems faster than all before; 0: none */
  bool wrong_finalist; /* the fastest is wrong in the finals */
  bool late_failure;   /* the fastest fails in its second turn of the finals */
  int n_turns;         /* of the fastest */
  int final_ms;        /* what a turn of the finals takes beside the cost */
  double best;
  bool build_stops, unchecked, is_slow;
  bool fails_differently;        /* each failure says something else */
  double longest_build_s;        /* the greatest limit that a build was given */
  void (*meanwhile)(void *user); /* called once, in the middle of the first run */
  void *user;
  int n_seen;
  uint64_t seen[512]; /* hashes of the steps that were run */
} machine;

static tn_status fake_build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  machine *m = self;
  for (int i = 0; i < n; i++) m->longest_build_s = fmax(m->longest_build_s, candidates[i].timeout_s);
  for (int i = 0; i < n; i++) out[i] = (tn_measurement){.build_s = 0.001, .object = strdup("object")};
  m->built += n;
  return m->build_stops ? TN_ERROR_WORKER : TN_OK;
}

/* Fast: split lengths near 6, a parallel loop, vectors. Slow: anything else. */
static double cost_of(const char *steps) {
  json_t *json = json_loads(steps, 0, NULL), *step;
  double cost = 1;
  bool parallel = false, vectors = false;
  size_t i, l;
  json_array_foreach(json, i, step) {
    const char *kind = json_string_value(json_array_get(step, 0));
    int value = (int)json_integer_value(json_array_get(step, 3));
    parallel |= strcmp(kind, "AN") == 0 && value == SCHEDULE_PARALLEL;
    vectors |= strcmp(kind, "AN") == 0 && value == SCHEDULE_VECTORIZE;
    json_t *lengths = json_array_get(step, 4), *length;
    if (strcmp(kind, "SP") != 0) continue;
    json_array_foreach(lengths, l, length) cost += fabs(log2((double)json_integer_value(length)) - 2.5);
  }
  if (json_array_size(json) < 4) cost *= 50;
  json_decref(json);
  return 1e-3 * cost * (parallel ? 1 : 2) * (vectors ? 1 : 4);
}

static tn_status fake_run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  machine *m = self;
  for (int i = 0; i < n; i++) {
    m->run++;
    if (m->is_slow) usleep(1000);
    if (candidates[i].is_final) usleep(1000 * (unsigned)m->final_ms);
    void (*meanwhile)(void *user) = m->meanwhile;
    m->meanwhile = NULL;
    if (meanwhile) meanwhile(m->user);
    if (m->die_at == m->run) raise(SIGKILL);
    if (m->stop_at == m->run) return TN_ERROR_WORKER;
    m->seen[m->n_seen++ % 512] = runtime_hash(candidates[i].steps, strlen(candidates[i].steps), 0);
    bool fails = m->fail_every && m->run % m->fail_every == 0;
    inout[i].error = fails ? TN_MEASURE_RUNTIME : TN_MEASURE_NONE;
    if (fails) inout[i].message = strdup("made up");
    if (fails && m->fails_differently) inout[i].message[5] = (char)('a' + m->run % 26);
    inout[i].n_costs = fails ? 0 : 1;
    inout[i].costs[0] = fails ? 0 : cost_of(candidates[i].steps);
    if (m->unimproving) inout[i].costs[0] = m->run <= m->unimproving ? 1.0 / m->run : 1;
    if (m->lucky == m->run) inout[i].costs[0] = 0.9 * m->best;
    if (!fails && (m->best == 0 || inout[i].costs[0] < m->best)) m->best = inout[i].costs[0];
    bool is_fastest = candidates[i].is_final && inout[i].costs[0] <= m->best;
    m->n_turns += is_fastest;
    if (is_fastest && m->late_failure && m->n_turns > 1) inout[i].error = TN_MEASURE_RUNTIME;
    inout[i].checked = !fails && !m->unchecked && !(is_fastest && m->wrong_finalist);
  }
  return TN_OK;
}

typedef struct fixture {
  tn_context *ctx;
  tn_program *program;
  char folder[64], log[96];
  machine machine;
  tn_builder builder;
  tn_runner runner;
  tn_tune_options options;
  tn_tune_result result;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  f->ctx = check_context();
  f->program = tn_program_parse(f->ctx, MATMUL_ADD(64, 64, 64), 0, NULL);
  check_ok(f->ctx);
  strcpy(f->folder, "/tmp/tenon-search-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->log, sizeof f->log, "%s/log.json", f->folder);
  f->builder = (tn_builder){.self = &f->machine, .build = fake_build};
  f->runner = (tn_runner){.self = &f->machine, .run = fake_run};
  f->options = (tn_tune_options){.log = f->log, .trials = 40, .seed = 1, .builder = &f->builder, .runner = &f->runner};
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  chmod(f->folder, 0700);
  unlink(f->log);
  rmdir(f->folder);
  check_context_free(f->ctx);
  free(f);
  return 0;
}

static tn_status tune(fixture *f) { return tn_tune(f->program, &f->options, &f->result); }

/* Trials of the log; each line must be a JSON object. */
static int count_lines(const fixture *f) {
  char *text = runtime_read_file(f->ctx, f->log, NULL);
  int n = 0;
  assert_non_null(text);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_t *json = json_loads(line, 0, NULL);
    assert_true(json_is_object(json));
    n += !json_object_get(json, "event") && !json_object_get(json, "final");
    json_decref(json);
  }
  free(text);
  return n;
}

static void assert_nothing_twice(const machine *m) {
  for (int i = 0; i < m->n_seen; i++) {
    for (int j = 0; j < i; j++) assert_true(m->seen[i] != m->seen[j]);
  }
}

static void append_text(const fixture *f, const char *text) {
  FILE *file = fopen(f->log, "a");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* ---- what it does ------------------------------------------------------------------------------------------------ */

static void test_counts(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 40);
  assert_int_equal(f->result.failed, 0);
  assert_int_equal(f->result.reused, 0);
  assert_false(f->result.exhausted);
  assert_int_equal(f->machine.run, 40);
  assert_int_equal(count_lines(f), 40);
  assert_nothing_twice(&f->machine);
}

static void test_default_and_best(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f), TN_OK);
  assert_true(fabs(f->result.default_s - 0.4) < 1e-6);
  assert_true(f->result.best_s > 0 && f->result.best_s < f->result.default_s / 10);
}

static void test_trials_default(void **state) {
  fixture *f = *state;
  f->options.trials = 0;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 64);
}

static void test_unchecked_is_never_best(void **state) {
  fixture *f = *state;
  f->machine.unchecked = true;
  assert_int_equal(tune(f), TN_ERROR_TUNE);
  check_fails(f->ctx, TN_ERROR_TUNE, "no candidate was valid, of 40 measured", "no output was checked");
  assert_true(f->result.best_s == 0 && f->result.default_s == 0);
}

static void test_failing_runs(void **state) {
  fixture *f = *state;
  f->machine.fail_every = 2;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 40);
  assert_int_equal(f->result.failed, 20);
  assert_true(f->result.best_s > 0);
}

static void test_all_runs_fail(void **state) {
  fixture *f = *state;
  f->machine.fail_every = 1;
  assert_int_equal(tune(f), TN_ERROR_TUNE);
  check_fails(f->ctx, TN_ERROR_TUNE, "no candidate was valid", "4 runtime (made up)");
  assert_int_equal(f->result.end, TN_TUNE_FAILED);
  assert_int_equal(f->result.failed, 4);
  assert_int_equal(f->result.failures[TN_MEASURE_RUNTIME].n, 4);
  assert_string_equal(f->result.failures[TN_MEASURE_RUNTIME].sample, "made up");
  assert_true(f->result.best_s == 0);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static bool stop_at_ten(void *user, const tn_progress *progress) {
  (void)user;
  return progress->trials >= 10;
}

static void test_stopped(void **state) {
  fixture *f = *state;
  f->options.on_progress = stop_at_ten;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.end, TN_TUNE_STOPPED);
  assert_int_equal(f->result.trials, 10);
  assert_int_equal(count_lines(f), 10);
}

static void test_early_stop(void **state) {
  fixture *f = *state;
  f->options.trials = 1000;
  f->options.early_stop = 7;
  f->machine.unimproving = 5;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.end, TN_TUNE_NO_PROGRESS);
  assert_int_equal(f->result.trials, 5 + 7);
}

/* The last line of the log that is an event. */
static json_t *last_event(const fixture *f, const char *kind, int *n) {
  char *text = runtime_read_file(f->ctx, f->log, NULL);
  json_t *found = NULL;
  *n = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_t *json = json_loads(line, 0, NULL);
    const char *event = json_string_value(json_object_get(json, "event"));
    bool is_it = event && strcmp(event, kind) == 0;
    *n += is_it;
    if (is_it) json_decref(found), found = json_incref(json);
    json_decref(json);
  }
  free(text);
  return found;
}

static void test_begins_and_ends_in_log(void **state) {
  fixture *f = *state;
  int n_starts, n_ends;
  f->options.on_progress = stop_at_ten;
  assert_int_equal(tune(f), TN_OK);
  f->options.on_progress = NULL;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(tune(f), TN_OK); /* nothing was left to do: no line */
  json_t *start = last_event(f, "start", &n_starts), *end = last_event(f, "end", &n_ends);
  assert_true(n_starts == 2 && n_ends == 2);
  assert_string_equal(json_string_value(json_object_get(end, "reason")), "trials");
  assert_int_equal(json_integer_value(json_object_get(end, "trials")), 30);
  assert_true(json_integer_value(json_object_get(start, "run")) == json_integer_value(json_object_get(end, "run")));
  assert_string_equal(json_string_value(json_object_get(start, "key")), tn_program_key(f->program));
  json_decref(start);
  json_decref(end);
  assert_null(strstr(check_messages(f->ctx), "skipped"));
}

static void count_measured(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  assert_true(candidate->steps[0] == '[' && (m->n_costs == 1 || m->error != TN_MEASURE_NONE));
  ++*(int *)user;
}

static void test_measured_is_called(void **state) {
  fixture *f = *state;
  int calls = 0;
  f->options.on_measured = count_measured;
  f->options.user = &calls;
  f->machine.fail_every = 3;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(calls, 40);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void copy_fill(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  (void)m;
  snprintf(user, 256, "%s", candidate->fill ? candidate->fill : "(none)");
}

/* An array becomes a file for the time of the run; lines stand behind it. */
static void test_data_reaches_candidates(void **state) {
  fixture *f = *state;
  char fill[256] = "", path[256];
  DLTensor *a = tn_array_new(f->ctx, TN_F32, 2, (int64_t[]){64, 64});
  f->options.fill = "B=uniform(1, 2)";
  f->options.inputs = &(tn_task_input){"A", a};
  f->options.n_inputs = 1;
  f->options.on_measured = copy_fill;
  f->options.user = fill;
  assert_int_equal(tune(f), TN_OK);
  check_has(fill, "A=file:/tmp/tenon-input-");
  check_has(fill, "\nB=uniform(1, 2)");
  snprintf(path, sizeof path, "%.*s", (int)strcspn(fill + 7, "\n"), fill + 7);
  assert_int_not_equal(access(path, F_OK), 0);
  tn_array_free(a);
}

static void test_wrong_data_is_refused(void **state) {
  fixture *f = *state;
  static const char *const wrong[][3] = {{"Q=zeros", "no input of that name", "it has A, B, D"},
                                         {"A", "write NAME=HOW", "A=uniform"},
                                         {"A=zero", "no kind 'zero'", "zeros"},
                                         {"A=file:/no/such.npy", "/no/such.npy", "No such file"}};
  for (int i = 0; i < RUNTIME_COUNT(wrong); ++i) {
    f->options.fill = wrong[i][0];
    assert_true(tune(f) != TN_OK);
    check_message_has(f->ctx, wrong[i][1], wrong[i][2]);
    tn_context_clear(f->ctx);
  }
  assert_int_equal(f->machine.built, 0);
  DLTensor *small = tn_array_new(f->ctx, TN_F32, 1, (int64_t[]){64});
  f->options.fill = NULL;
  f->options.inputs = &(tn_task_input){"A", small};
  f->options.n_inputs = 1;
  assert_int_equal(tune(f), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "its shape is [64], that of the array [64, 64]");
  tn_array_free(small);
}

/* Failures that differ in a word are no reason to end the run. */
static void test_failing_differently(void **state) {
  fixture *f = *state;
  f->machine.fail_every = 1;
  f->machine.fails_differently = true;
  f->options.trials = 12;
  assert_int_equal(tune(f), TN_ERROR_TUNE);
  assert_int_equal(f->result.trials, 12);
  assert_int_equal(f->result.end, TN_TUNE_TRIALS);
  tn_context_clear(f->ctx);
}

/* Times of another machine say nothing about this one. */
static void test_other_machines_records(void **state) {
  fixture *f = *state;
  f->options.target = tn_target_new(f->ctx, "cpu=haswell");
  assert_int_equal(tune(f), TN_OK);
  tn_tune_result first = f->result;
  f->options.target = tn_target_new(f->ctx, "cpu=skylake-avx512");
  check_ok(f->ctx);
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(first.trials, 40);
  assert_int_equal(f->result.reused, 0);
  assert_int_equal(f->result.trials, 40);
}

/* A build may take the whole limit that the user set, never more, however little the others took. */
static void test_build_limit(void **state) {
  fixture *f = *state;
  f->options.workers.build_timeout_s = 0.25;
  assert_int_equal(tune(f), TN_OK);
  assert_true(f->machine.longest_build_s == 0.25);
}

/* What the nested tuner saw stands here among what the outer one did. */
enum { NESTED = 100 };

/* Another tuner on the fixture's log, with a context of its own. */
static void tune_beside(fixture *f, const char *text) {
  machine m = {0};
  tn_builder builder = {.self = &m, .build = fake_build};
  tn_runner runner = {.self = &m, .run = fake_run};
  tn_tune_options options = {.log = f->log, .trials = 8, .seed = 1, .builder = &builder, .runner = &runner};
  tn_tune_result result;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  check_ok(ctx);
  assert_int_equal(tn_tune(program, &options, &result), TN_OK);
  assert_true(m.n_seen >= 7);
  for (int i = 0; i < m.n_seen; ++i) f->machine.seen[NESTED + i] = m.seen[i];
  check_context_free(ctx);
}

static void tune_another_program(void *user) {
  tune_beside(user, "M[i<64, j<64] = sum[k<64](A[i,k] * B[k,j]); O[i<64, j<64] = M[i,j] - D[i,j]");
}

/* Once, between what was read of the log and the search. */
static bool tune_this_program(void *user, const tn_progress *progress) {
  fixture *f = user;
  if (f->machine.seen[NESTED] == 0 && strcmp(progress->phase, "searching") == 0) tune_beside(f, MATMUL_ADD(64, 64, 64));
  return false;
}

/* What one tuner measures now is free for the tuner of another program, also where loops and steps are the same. */
static void test_claims_are_of_a_program(void **state) {
  fixture *f = *state;
  f->options.trials = 8;
  f->machine.meanwhile = tune_another_program;
  f->machine.user = f;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 8);
  assert_true(f->machine.seen[0] == f->machine.seen[NESTED]); /* the same steps, at the same time */
}

/* What another tuner of this program measured meanwhile is not measured again, although its claims are given up. */
static void test_measured_meanwhile(void **state) {
  fixture *f = *state;
  f->options.on_progress = tune_this_program;
  f->options.user = f;
  assert_int_equal(tune(f), TN_OK);
  assert_true(f->machine.seen[NESTED] != 0);
  for (int i = 0; i < f->machine.n_seen; ++i) {
    for (int k = NESTED; f->machine.seen[k]; ++k) assert_true(f->machine.seen[i] != f->machine.seen[k]);
  }
}

/* ---- finals ------------------------------------------------------------------------------------------------------ */

/* The winner's record is what is applied, although a beaten finalist was faster in its trial. */
static void test_finals(void **state) {
  fixture *f = *state;
  double seconds;
  f->options.finalists = 4;
  f->machine.lucky = 20;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 40);
  assert_in_range(f->result.finalists, 2, 5);
  assert_int_equal(count_lines(f), 40);
  tn_schedule *s = tn_apply_best(f->program, NULL, f->log, &seconds);
  char *steps = s ? tn_schedule_print(s, TN_FORM_STEPS) : NULL;
  assert_non_null(steps);
  assert_true(fabs(cost_of(steps) - seconds) < 1e-6 * seconds);
  assert_true(fabs(f->result.best_s - seconds) < 1e-6 * seconds);
  free(steps);
  tn_schedule_free(s);
  f->options.trials = 45; /* finals are no trials */
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 40);
  assert_int_equal(f->result.trials, 5);
}

/* Who takes part was not much slower than the fastest trial, but for the generic schedule; ranks begin at 1, which one has. */
static void test_finals_take_the_fastest(void **state) {
  fixture *f = *state;
  int n_finals = 0, n_winners = 0, n_behind = 0;
  f->options.trials = 12; /* so few that the sixth is much slower than the first */
  f->options.finalists = 6;
  assert_int_equal(tune(f), TN_OK);
  char *text = runtime_read_file(f->ctx, f->log, NULL);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_t *json = json_loads(line, 0, NULL);
    if (json_is_true(json_object_get(json, "final"))) {
      char *steps = json_dumps(json_object_get(json, "steps"), JSON_COMPACT);
      int rank = (int)json_integer_value(json_object_get(json, "rank"));
      assert_true(cost_of(steps) <= 3.001 * f->machine.best);
      n_behind += cost_of(steps) > 1.301 * f->machine.best;
      assert_in_range(rank, 1, f->result.finalists);
      n_winners += rank == 1;
      n_finals++;
      free(steps);
    }
    json_decref(json);
  }
  free(text);
  assert_in_range(n_finals, 2, 7);
  assert_in_range(n_behind, 0, 1); /* the generic one */
  assert_int_equal(n_winners, 1);
}

/* A finalist is compared whole in its first turn, whatever its trial compared: one that is wrong there is out, however fast. */
static void test_finals_wrong(void **state) {
  fixture *f = *state;
  f->options.finalists = 6;
  f->machine.wrong_finalist = true;
  assert_int_equal(tune(f), TN_OK);
  assert_true(f->machine.n_turns > 0);
  assert_true(f->result.best_s > 1.0001 * f->machine.best);
}

/* On a far machine a turn takes long, however fast the kernel: the finals have their turns all the same. */
static void test_finals_far_away(void **state) {
  fixture *f = *state;
  f->options.finalists = 4;
  f->machine.final_ms = 250;
  assert_int_equal(tune(f), TN_OK);
  assert_in_range(f->result.finalists, 2, 5);
}

/* One turn does not make up for a failure in the next. */
static void test_finals_failing_late(void **state) {
  fixture *f = *state;
  f->options.finalists = 6;
  f->machine.late_failure = true;
  assert_int_equal(tune(f), TN_OK);
  assert_in_range(f->machine.n_turns, 2,
                  3); /* another may be as fast to the last bit, and fails in its first turn then */
  assert_true(f->result.best_s > 1.0001 * f->machine.best);
}

static void test_resume(void **state) {
  fixture *f = *state;
  f->options.trials = 15;
  assert_int_equal(tune(f), TN_OK);
  double first = f->result.best_s;
  f->options.trials = 40;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 15);
  assert_int_equal(f->result.trials, 25);
  assert_true(f->result.best_s <= first && f->result.default_s > 0);
  assert_int_equal(count_lines(f), 40);
  assert_nothing_twice(&f->machine);
}

static void test_nothing_left_to_do(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f), TN_OK);
  f->machine.run = f->machine.built = 0;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 0);
  assert_int_equal(f->result.reused, 40);
  assert_int_equal(f->machine.built, 0);
}

static void test_killed(void **state) {
  fixture *f = *state;
  int status = 0;
  f->machine.die_at = 18;
  pid_t child = fork();
  if (child == 0) {
    tune(f);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  assert_int_equal(count_lines(f), 17);
  f->machine.die_at = 0;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 17);
  assert_int_equal(f->result.trials, 23);
  assert_int_equal(count_lines(f), 40);
}

/* Tuners with one seed would measure the same candidates in the same order. */
static void test_several_tuners_on_one_log(void **state) {
  enum { TUNERS = 4, TRIALS = 120 };
  fixture *f = *state;
  pid_t tuners[TUNERS];
  f->options.trials = TRIALS;
  f->machine.is_slow = true;
  for (int i = 0; i < TUNERS; i++) {
    tuners[i] = fork();
    assert_true(tuners[i] >= 0);
    if (tuners[i] == 0)
      _exit(tune(f) == TN_OK && f->result.default_s > 0 ? 0 : 1); /* one that starts late finds no work left */
  }
  for (int i = 0; i < TUNERS; i++) {
    int status;
    assert_int_equal(waitpid(tuners[i], &status, 0), tuners[i]);
    assert_int_equal(status, 0);
  }
  assert_in_range(count_lines(f), TRIALS, TRIALS + TUNERS);
  char *text = runtime_read_file(f->ctx, f->log, NULL);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_t *record = json_loads(line, 0, NULL);
    char *steps = json_dumps(json_object_get(record, "steps"), 0);
    if (steps) f->machine.seen[f->machine.n_seen++] = runtime_hash(steps, strlen(steps), 0);
    free(steps);
    json_decref(record);
  }
  free(text);
  assert_nothing_twice(&f->machine);
}

static void test_same_seed_same_candidates(void **state) {
  fixture *f = *state;
  f->options.trials = 20;
  assert_int_equal(tune(f), TN_OK);
  machine first = f->machine;
  unlink(f->log);
  f->machine = (machine){0};
  assert_int_equal(tune(f), TN_OK);
  assert_memory_equal(first.seen, f->machine.seen, 20 * sizeof *first.seen);
}

static void test_exhausted(void **state) {
  fixture *f = *state;
  f->program = tn_program_parse(f->ctx, "C[i<3] = A[i] + 1", 0, NULL);
  assert_int_equal(tune(f), TN_OK);
  assert_true(f->result.exhausted);
  assert_in_range(f->result.trials, 1, 12);
}

static void test_time_limit(void **state) {
  fixture *f = *state;
  f->options.seconds = 1e-9;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.trials, 0);
}

static bool count_call(void *user, const tn_progress *progress) {
  int *calls = user;
  assert_int_equal(progress->trials_wanted, 40);
  assert_true(progress->flops > 0 && progress->elapsed_s >= 0 && progress->phase);
  if (progress->trials > *calls) ++*calls;
  assert_int_equal(progress->trials, *calls);
  return false;
}

static void test_progress(void **state) {
  fixture *f = *state;
  int calls = 0;
  f->options.on_progress = count_call;
  f->options.user = &calls;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(calls, 40);
}

/* The best of 150 random samples of the same space. */
static double best_of_random(fixture *f, uint64_t seed) {
  space_fixture space = space_make(MATMUL_ADD(64, 64, 64));
  space.space->n_sketches = autotune_sketches(space.task, AUTOTUNE_MAX_SKETCHES, space.space->sketches);
  runtime_rng rng = {seed};
  double best = INFINITY;
  for (int i = 0; i < f->options.trials; i++) {
    autotune_genome genome;
    runtime_quiet quiet = runtime_quiet_begin(space.ctx);
    autotune_sample(space.space, &rng, &genome);
    tn_schedule *s = autotune_genome_schedule(space.space, &genome);
    runtime_quiet_end(&quiet);
    char *steps = s ? tn_schedule_print(s, TN_FORM_STEPS) : NULL;
    if (steps) best = fmin(best, cost_of(steps));
    free(steps);
    tn_schedule_free(s);
  }
  space_free(&space);
  return best;
}

static void test_better_than_random(void **state) {
  fixture *f = *state;
  double searched = 0, sampled = 0;
  f->options.trials = 150;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    f->options.seed = seed;
    f->machine = (machine){0};
    unlink(f->log);
    assert_int_equal(tune(f), TN_OK);
    searched += f->result.best_s;
    sampled += best_of_random(f, seed);
  }
  if (!(searched < 0.9 * sampled)) fail_msg("searched %g, random %g", searched, sampled);
}

/* ---- logs from outside ------------------------------------------------------------------------------------------- */

static void test_broken_lines(void **state) {
  fixture *f = *state;
  f->options.trials = 10;
  assert_int_equal(tune(f), TN_OK);
  append_text(f, "{\"v\": 1, \"key\": \"tor");
  f->options.trials = 20;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 10);
  check_has(check_messages(f->ctx), "warning: ");
  check_has(check_messages(f->ctx), "13");
}

/* Changes TEXT in the log's lines, so that its records are another task's. */
static void rewrite(fixture *f, const char *from, const char *to) {
  size_t n;
  char *text = runtime_read_file(f->ctx, f->log, &n);
  assert_non_null(text);
  unlink(f->log);
  for (char *at = text, *hit; at; at = hit ? hit + strlen(from) : NULL) {
    hit = strstr(at, from);
    char *piece = hit ? strndup(at, (size_t)(hit - at)) : strdup(at);
    append_text(f, piece);
    if (hit) append_text(f, to);
    free(piece);
  }
  free(text);
}

static void test_other_program(void **state) {
  fixture *f = *state;
  f->options.trials = 5;
  assert_int_equal(tune(f), TN_OK);
  rewrite(f, tn_program_key(f->program), "0123456789abcdef");
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 0);
  assert_int_equal(f->result.trials, 5);
}

static void test_stale_steps(void **state) {
  fixture *f = *state;
  f->options.trials = 5;
  assert_int_equal(tune(f), TN_OK);
  rewrite(f, "\"CA\"", "\"XX\"");
  f->options.trials = 8;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 5);
  assert_int_equal(f->result.trials, 3);
  check_has(check_messages(f->ctx), "refused now");
  check_has(check_messages(f->ctx), "XX");
}

/* Records that were made from no plan: the default schedule's. Each line's plan is asked for by name. */
static int without_plan(fixture *f, int *n_final) {
  size_t n;
  int without = 0;
  char *text = runtime_read_file(f->ctx, f->log, &n), *rest = NULL;
  assert_non_null(text);
  *n_final = 0;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (!strstr(line, "\"steps\":[")) continue;
    without += strstr(line, "\"plan\":[{") == NULL;
    *n_final += strstr(line, "\"final\":true") != NULL;
  }
  free(text);
  return without;
}

static void test_records_hold_plans(void **state) {
  fixture *f = *state;
  int n_final;
  f->options.trials = 30;
  f->options.finalists = 4;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(without_plan(f, &n_final), 1);
  assert_true(n_final >= 2);
}

/* A plan that does not fit is refused by the name of its field, and the steps are used. */
static void test_stale_plans(void **state) {
  fixture *f = *state;
  f->options.trials = 12;
  assert_int_equal(tune(f), TN_OK);
  rewrite(f, "\"vectors\":", "\"vectors\":9");
  f->options.trials = 16;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 12);
  assert_int_equal(f->result.trials, 4);
  check_has(check_messages(f->ctx), "the record's plan is refused, its steps are used: plan: \"vectors\"");
  assert_null(strstr(check_messages(f->ctx), "refused now"));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void test_null_program(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_tune(NULL, &f->options, &f->result), TN_ERROR_ARGUMENT);
}

static void test_null_options(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_tune(f->program, NULL, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_tune", "options.log");
}

typedef struct refusal {
  const char *name;
  void (*change)(fixture *f);
  tn_status status;
  const char *part, *other_part;
} refusal;

static void no_log(fixture *f) { f->options.log = NULL; }
static void empty_log(fixture *f) { f->options.log = ""; }
static void negative_trials(fixture *f) { f->options.trials = -3; }
static void negative_round(fixture *f) { f->options.per_round = -1; }
static void negative_seconds(fixture *f) { f->options.seconds = -2; }
static void negative_early_stop(fixture *f) { f->options.early_stop = -1; }
static void too_many_finalists(fixture *f) { f->options.finalists = 16; }
static void no_effort(fixture *f) { f->options.effort = (tn_effort)9; }
static void rules_missing(fixture *f) { f->options.n_rules = 1; }
static void rules_negative(fixture *f) { f->options.n_rules = -1; }
static void rule_empty(fixture *f) {
  static const tn_sketch_rule nothing = {"nothing", NULL, NULL, NULL};
  f->options.n_rules = 1;
  f->options.rules = &nothing;
}
static void much_mutation(fixture *f) { f->options.mutation = 1.5; }
static void nan_crossover(fixture *f) { f->options.crossover = NAN; }
static void nan_seconds(fixture *f) { f->options.seconds = NAN; }
static void runner_alone(fixture *f) { f->options.builder = NULL; }
static void builder_alone(fixture *f) { f->options.runner = NULL; }
static void builder_empty(fixture *f) { f->builder.build = NULL; }
static void runner_empty(fixture *f) { f->runner.run = NULL; }
static void no_folder(fixture *f) { f->options.log = "/nonexistent/folder/log.json"; }
static void log_is_folder(fixture *f) { f->options.log = "/tmp"; }

static const refusal refusals[] = {
    {"no log", no_log, TN_ERROR_ARGUMENT, "options.log", "tn_tune"},
    {"an empty log's name", empty_log, TN_ERROR_ARGUMENT, "options.log", "tn_tune"},
    {"negative trials", negative_trials, TN_ERROR_ARGUMENT, "options.trials", "-3"},
    {"negative per_round", negative_round, TN_ERROR_ARGUMENT, "options.per_round", "-1"},
    {"a share of mutations over 1", much_mutation, TN_ERROR_ARGUMENT, "options.mutation is 1.5", "a share up to 1"},
    {"crossover that is no number", nan_crossover, TN_ERROR_ARGUMENT, "options.crossover", "a share up to 1"},
    {"negative seconds", negative_seconds, TN_ERROR_ARGUMENT, "options.seconds", "-2"},
    {"negative early_stop", negative_early_stop, TN_ERROR_ARGUMENT, "options.early_stop", "-1"},
    {"too many finalists", too_many_finalists, TN_ERROR_ARGUMENT, "options.finalists", "16"},
    {"an effort that is none", no_effort, TN_ERROR_ARGUMENT, "options.effort", "9"},
    {"rules that are not there", rules_missing, TN_ERROR_ARGUMENT, "options.n_rules", "options.rules is NULL"},
    {"fewer rules than none", rules_negative, TN_ERROR_ARGUMENT, "options.n_rules", "-1"},
    {"a rule that does nothing", rule_empty, TN_ERROR_ARGUMENT, "options.rules[0]", "condition function"},
    {"seconds that are no number", nan_seconds, TN_ERROR_ARGUMENT, "options.seconds", "nan"},
    {"a runner without a builder", runner_alone, TN_ERROR_ARGUMENT, "options.runner", "without options.builder"},
    {"a builder without a runner", builder_alone, TN_ERROR_ARGUMENT, "options.builder is given without options.runner",
     "unless builder.makes_objects"},
    {"a builder that cannot build", builder_empty, TN_ERROR_ARGUMENT, "options.builder", "build function"},
    {"a runner that cannot run", runner_empty, TN_ERROR_ARGUMENT, "options.runner", "run function"},
    {"a log in a folder that is not there", no_folder, TN_ERROR_IO, "/nonexistent/folder/log.json", "No such file"},
    {"a log that is a folder", log_is_folder, TN_ERROR_IO, "/tmp", "is a folder"},
};

static void refused(void **state) {
  const refusal *row = *state;
  void *made;
  set_up(&made);
  fixture *f = made;
  row->change(f);
  assert_int_equal(tune(f), row->status);
  check_fails(f->ctx, row->status, row->part, row->other_part);
  assert_int_equal(f->machine.built, 0);
  assert_int_not_equal(access(f->log, F_OK), 0);
  tear_down(&made);
}

static void test_builder_stops(void **state) {
  fixture *f = *state;
  f->machine.build_stops = true;
  assert_int_equal(tune(f), TN_ERROR_WORKER);
  assert_int_equal(f->result.trials, 0);
}

static void test_runner_stops(void **state) {
  fixture *f = *state;
  f->machine.stop_at = 12;
  assert_int_equal(tune(f), TN_ERROR_WORKER);
  assert_int_equal(f->result.trials, 11);
  assert_int_equal(count_lines(f), 11);
  f->machine.stop_at = 0;
  assert_int_equal(tune(f), TN_OK);
  assert_int_equal(f->result.reused, 11);
}

int run_tune_tests(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(counts),
      TEST(default_and_best),
      TEST(trials_default),
      TEST(unchecked_is_never_best),
      TEST(failing_runs),
      TEST(all_runs_fail),
      TEST(resume),
      TEST(nothing_left_to_do),
      TEST(killed),
      TEST(several_tuners_on_one_log),
      TEST(exhausted),
      TEST(time_limit),
      TEST(same_seed_same_candidates),
      TEST(progress),
      TEST(broken_lines),
      TEST(other_program),
      TEST(better_than_random),
      TEST(stale_steps),
      TEST(records_hold_plans),
      TEST(stale_plans),
      TEST(null_program),
      TEST(null_options),
      TEST(builder_stops),
      TEST(runner_stops),
      TEST(stopped),
      TEST(early_stop),
      TEST(begins_and_ends_in_log),
      TEST(data_reaches_candidates),
      TEST(wrong_data_is_refused),
      TEST(build_limit),
      TEST(claims_are_of_a_program),
      TEST(measured_meanwhile),
      TEST(other_machines_records),
      TEST(finals),
      TEST(finals_take_the_fastest),
      TEST(finals_wrong),
      TEST(failing_differently),
      TEST(finals_far_away),
      TEST(finals_failing_late),
      TEST(measured_is_called),
  };
#undef TEST
  return CHECK_TABLE("tuning refuses", refusals, refused) + CHECK_TESTS("tuning", tests);
}
