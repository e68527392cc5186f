/* Hosts: machines that a command reaches. What is not wanted is refused by name, what is lost is measured elsewhere, and
 * nothing is lost or counted twice, whatever happens to workers and to the way to them. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "autotune/autotune.h"
#include "autotune/protocol.h"
#include "tests/common/check.h"
#include "tests/measure/measure_test.h"

enum { MAX_HOSTS = 16, TEXT_BYTES = 1024 };

#define PLAIN TENON_TEST_WORKER

/* A run of the tuner with hosts, each a line for a shell. */
typedef struct farm {
  tn_context *ctx;
  tn_program *program;
  char log[64];
  char texts[MAX_HOSTS][TEXT_BYTES];
  const char *argv[MAX_HOSTS][4];
  tn_worker_host hosts[MAX_HOSTS];
  tn_tune_options options;
  tn_tune_result result;
  tn_status status;
  char flag[64];       /* a file that others wait for, see add_waiting */
  const char *awaited; /* the words of a message at which it is made; NULL: somebody else makes it */
} farm;

static bool raise_flag(void *user, const tn_progress *progress) {
  (void)progress;
  const farm *f = user;
  if (!f->awaited || !strstr(check_messages(f->ctx), f->awaited)) return false;
  FILE *file = fopen(f->flag, "we");
  assert_non_null(file);
  fclose(file);
  return false;
}

static void open_farm(farm *f, int trials) {
  *f = (farm){.ctx = check_context()};
  snprintf(f->flag, sizeof f->flag, "/tmp/tenon-farm-flag-%d", (int)getpid());
  unlink(f->flag);
  f->program = tn_program_parse(f->ctx, "C[i<48, j<40] = sum[k<56](A[i, k] * B[k, j])", 0, NULL);
  snprintf(f->log, sizeof f->log, "/tmp/tenon-farm-%d.json", (int)getpid());
  unlink(f->log);
  f->options = (tn_tune_options){.log = f->log,
                                 .trials = trials,
                                 .finalists = -1,
                                 .cost_model = "none",
                                 .on_progress = raise_flag,
                                 .user = f,
                                 .workers = {.command = (const char *const[]){PLAIN, NULL}, .jobs = 1}};
}

static void add(farm *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(farm *f, const char *format, ...) {
  int i = f->options.workers.n_hosts++;
  va_list args;
  assert_true(i < MAX_HOSTS);
  va_start(args, format);
  vsnprintf(f->texts[i], TEXT_BYTES, format, args);
  va_end(args);
  f->argv[i][0] = "/bin/sh";
  f->argv[i][1] = "-c";
  f->argv[i][2] = f->texts[i];
  f->hosts[i].command = f->argv[i];
}

/* A good host that comes when the flag is up. So another one has its turn before, however slowly it starts. */
static void add_waiting(farm *f, const char *options) {
  add(f, "until test -e %s; do sleep 0.02; done; exec %s --delay=20 %s %s", f->flag, TENON_TEST_RELAY, PLAIN, options);
}

/* The command of the workers here lives in a caller's block: it is given anew. */
static void tune(farm *f) {
  static const char *const command[] = {PLAIN, NULL};
  f->options.workers.command = command;
  f->options.workers.hosts = f->hosts;
  f->status = tn_tune(f->program, &f->options, &f->result);
}

static void close_farm(farm *f) {
  unlink(f->log);
  unlink(f->flag);
  check_context_free(f->ctx);
}

/* ---- what the log holds ------------------------------------------------------------------------------------------ */

typedef struct counted {
  int records, finals, distinct, failed, without_machine;
  char machines[MAX_HOSTS][64];
  int of[MAX_HOSTS];
  int n_machines;
} counted;

static void count_machine(counted *c, const char *name) {
  int i = 0;
  while (i < c->n_machines && strcmp(c->machines[i], name) != 0) ++i;
  assert_true(i < MAX_HOSTS);
  if (i == c->n_machines) snprintf(c->machines[c->n_machines++], sizeof *c->machines, "%s", name);
  c->of[i]++;
}

/* Reads the lines as anybody would, not by the library's own reader. */
static counted count_log(const char *path) {
  counted c = {0};
  runtime_map seen = {0};
  FILE *file = fopen(path, "re");
  char *line = NULL;
  size_t room = 0;
  assert_non_null(file);
  while (getline(&line, &room, file) > 0) {
    json_t *record = json_loads(line, 0, NULL);
    assert_non_null(record);
    if (json_object_get(record, "steps")) {
      char *steps = json_dumps(json_object_get(record, "steps"), JSON_COMPACT);
      bool is_final = json_is_true(json_object_get(record, "final"));
      uint64_t hash = runtime_hash(steps, strlen(steps), 0) | 1;
      const char *machine = json_string_value(json_object_get(record, "machine"));
      c.finals += is_final;
      c.records += !is_final;
      c.distinct += !is_final && !runtime_map_find(&seen, hash);
      const char *error = json_string_value(json_object_get(record, "error"));
      bool is_slow_here = strcmp(error, "build_timeout") == 0; /* it is compiled here, where other tests run, too */
      c.failed += strcmp(error, "none") != 0 && !is_slow_here;
      c.without_machine += !machine && !is_slow_here;
      if (machine && !is_final) count_machine(&c, machine);
      assert_non_null(runtime_map_at(&seen, hash));
      free(steps);
    }
    json_decref(record);
  }
  free(line);
  fclose(file);
  runtime_map_free(&seen);
  return c;
}

/* Every trial is one record, none is there twice, none failed, and each says its machine. */
static void expect_all(const farm *f, int trials) {
  if (f->status != TN_OK) fail_msg("%s", tn_context_message(f->ctx));
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i)
    if (i != TN_MEASURE_BUILD_TIMEOUT && f->result.failures[i].n > 0)
      fail_msg("%d failed: %s", f->result.failures[i].n, f->result.failures[i].sample);
  counted c = count_log(f->log);
  assert_int_equal(c.records, trials);
  assert_int_equal(c.distinct, trials);
  assert_int_equal(c.failed, 0);
  assert_int_equal(c.without_machine, 0);
  assert_int_equal(f->result.trials, trials);
}

static const tn_worker_host_state *state_of(const farm *f, int i) {
  assert_true(i < f->result.n_hosts);
  return &f->result.hosts[i];
}

/* ---- bad hosts --------------------------------------------------------------------------------------------------- */

/* The bad one is a line of the result with its reason, and a good one measures all. */
static const struct bad_row {
  const char *name, *command;
  tn_host_phase phase;
  const char *trouble;
} bad_rows[] = {
    {"there is no such command", "no-such-command-at-all", TN_HOST_LOST, "exited with status 127"},
    {"no such host", "ssh -o BatchMode=yes no-such-host.invalid tenon worker", TN_HOST_LOST, "status 255"},
    {"exits at once", "exit 3", TN_HOST_LOST, "exited with status 3"},
    {"speaks to people", "echo Welcome to this machine; cat >/dev/null", TN_HOST_LOST, "it wrote \"Welcome to this"},
    {"writes noise", "cat /dev/urandom", TN_HOST_LOST, "does not keep to the protocol"},
    {"writes and never reads", PLAIN " --inject=hello-chatty@1", TN_HOST_LOST, "does not keep to the protocol"},
    {"another protocol", PLAIN " --inject=hello-version@1", TN_HOST_REFUSED, "speaks protocol 2, this is 1"},
    {"another version", PLAIN " --inject=hello-old@1", TN_HOST_REFUSED, "it has Tenon 0.0.1, this is"},
    {"another processor", PLAIN " --inject=hello-other@1", TN_HOST_REFUSED, "its cpu is not-"},
    {"a clock that is wrong", PLAIN " --inject=hello-clock@1", TN_HOST_REFUSED, "its clock is 3"},
    {"a clock that runs fast", PLAIN " --inject=run-fast@1", TN_HOST_REFUSED, "its clock runs faster"},
    {"a deaf one", PLAIN " --inject=hello-deaf@1", TN_HOST_STARTING, NULL},
    {"one that floods standard error", "yes noise >&2", TN_HOST_STARTING, NULL},
};

static void bad_host(void **state) {
  const struct bad_row *row = *state;
  farm f;
  open_farm(&f, 20);
  add(&f, "%s", row->command);
  if (row->phase != TN_HOST_STARTING) f.awaited = row->phase == TN_HOST_LOST ? " was lost" : " is refused";
  if (f.awaited)
    add_waiting(&f, "");
  else
    add(&f, "exec %s", PLAIN);
  tune(&f);
  expect_all(&f, 20);
  const tn_worker_host_state *bad = state_of(&f, 0);
  assert_int_equal(bad->phase, row->phase);
  if (row->trouble)
    check_has(bad->trouble, row->trouble);
  else
    assert_null(bad->trouble);
  assert_int_equal(state_of(&f, 1)->phase, TN_HOST_SERVING);
  assert_true(bad->timed <= 1);
  close_farm(&f);
}

/* Costs are compared with those of the target; measured again before a host is refused, since others may work there now. */
static void slow_host_is_refused(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 40);
  tn_target *target = tn_target_new(f.ctx, NULL);
  assert_int_equal(tn_target_set_costs(target, tn_measure_costs(f.ctx)), TN_OK);
  f.options.target = target;
  f.awaited = " is refused";
  add(&f, "%s --inject=hello-slow@1", PLAIN);
  add_waiting(&f, "");
  tune(&f);
  expect_all(&f, 40);
  assert_int_equal(state_of(&f, 0)->phase, TN_HOST_REFUSED);
  check_has(state_of(&f, 0)->trouble, "its measured cost ");
  close_farm(&f);
}

/* A host that cannot make the reference (a file is missing there, say) costs nothing while another one can, even one whose workers
 * are lost now and then. */
static void reference_is_made_elsewhere(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 12);
  add(&f, "exec %s --asked=%s %s --inject=prepare-disagree@1", TENON_TEST_RELAY, f.flag, PLAIN);
  add_waiting(&f, "--inject=run-truncate@5");
  tune(&f);
  expect_all(&f, 12);
  assert_int_equal(state_of(&f, 0)->timed, 0);
  assert_non_null(state_of(&f, 0)->trouble);
  close_farm(&f);
}

/* The same for a host whose workers die over the reference, one after the other. */
static void reference_kills_one_host(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 12);
  add(&f, "exec %s --asked=%s %s --inject=prepare-crash@1", TENON_TEST_RELAY, f.flag, PLAIN);
  add_waiting(&f, "");
  tune(&f);
  expect_all(&f, 12);
  assert_int_equal(state_of(&f, 0)->timed, 0);
  check_has(state_of(&f, 0)->trouble, "killed by signal 11");
  close_farm(&f);
}

/* Where there is no other one, the program is at fault, and no candidate waits. */
static void reference_is_made_nowhere(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 4);
  add(&f, "exec %s --inject=prepare-disagree@1", PLAIN);
  tune(&f);
  assert_int_equal(f.status, TN_ERROR_TUNE);
  close_farm(&f);
}

/* The machine's workers measure its costs one after the other, not all at once: three tries are three starts. */
static void costs_are_measured_alone(void **state) {
  (void)state;
  farm f;
  char starts[64];
  open_farm(&f, 4);
  snprintf(starts, sizeof starts, "/tmp/tenon-farm-starts-%d", (int)getpid());
  unlink(starts);
  tn_target *target = tn_target_new(f.ctx, NULL);
  assert_int_equal(tn_target_set_costs(target, tn_measure_costs(f.ctx)), TN_OK);
  f.options.target = target;
  f.options.workers.build_on = TN_BUILD_ON_ALL;
  add(&f, "echo >>%s; exec %s --inject=hello-slow@1", starts, PLAIN);
  f.hosts[0].threads = 4;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_WORKER, "no worker is left", "its measured cost ");
  FILE *file = fopen(starts, "re");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  assert_int_equal(ftell(file), 3);
  fclose(file);
  unlink(starts);
  close_farm(&f);
}

/* A machine that is refused for what its timing worker says is left by those that build there, too: the run does not wait for
 * it. */
static void refused_machine_is_left(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 8);
  f.options.workers.build_on = TN_BUILD_ON_HOSTS;
  add(&f, "exec %s --inject=run-fast@3", PLAIN);
  tune(&f);
  check_fails(f.ctx, TN_ERROR_WORKER, "no worker is left", "its clock runs faster");
  assert_int_equal(f.result.end, TN_TUNE_NO_WORKERS);
  assert_int_equal(state_of(&f, 0)->phase, TN_HOST_REFUSED);
  close_farm(&f);
}

/* Where it was timing the finals, they begin anew on a machine that came when all trials were over. */
static void refused_in_the_finals(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 24);
  f.options.finalists = 3;
  add(&f, "exec %s --inject=run-fast@27", PLAIN);
  add(&f, "until test $(grep -c steps %s) -ge 20; do sleep 0.02; done; exec %s", f.log, PLAIN);
  f.hosts[1].name = "late";
  tune(&f);
  assert_int_equal(f.status, TN_OK);
  assert_int_equal(count_log(f.log).records, 24);
  assert_int_equal(state_of(&f, 0)->phase, TN_HOST_REFUSED);
  assert_non_null(f.result.finals_on);
  assert_string_equal(f.result.finals_on, "late");
  close_farm(&f);
}

/* What was measured stays, and the same call goes on when there is a worker again. */
static void none_left_and_resumed(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 10);
  add(&f, "test -e %s && exit 7; touch %s; exec %s --inject=run-truncate@4", f.flag, f.flag, PLAIN);
  add(&f, "exit 1");
  f.options.workers.run_timeout_s = 1;
  f.options.workers.patience_s = 1;
  tune(&f);
  assert_int_equal(f.status, TN_ERROR_WORKER);
  assert_int_equal(f.result.end, TN_TUNE_NO_WORKERS);
  check_fails(f.ctx, TN_ERROR_WORKER, "no worker is left", "status 7", "status 1");
  counted before = count_log(f.log);
  assert_in_range(before.records, 3, 9);
  unlink(f.flag);
  snprintf(f.texts[0], TEXT_BYTES, "exec %s", PLAIN);
  tune(&f);
  assert_int_equal(f.status, TN_OK);
  counted after = count_log(f.log);
  assert_int_equal(after.records, 10);
  assert_int_equal(after.distinct, 10);
  close_farm(&f);
}

/* ---- what a candidate does --------------------------------------------------------------------------------------- */

/* It costs its own record, with the class that it would have here, and no other worker. */
static const struct strike_row {
  const char *name;
  tn_measure_error error;
  const char *message;
} strike_rows[] = {
    {"run-crash@3", TN_MEASURE_RUNTIME, "was killed by signal 11"},
    {"run-abort@3", TN_MEASURE_RUNTIME, "was killed by signal 6"},
    {"run-exit@3", TN_MEASURE_RUNTIME, "exited"},
    {"run-hang@3", TN_MEASURE_RUN_TIMEOUT, "over the time limit"},
    {"run-eat-memory@3", TN_MEASURE_MEMORY, "bad_alloc"},
};

static void candidate_on_a_host(void **state) {
  const struct strike_row *row = *state;
  farm f;
  open_farm(&f, 8);
  f.options.workers.run_timeout_s = 1;
  f.options.workers.memory_bytes = 256 << 20;
  add(&f, "exec %s %s --inject=%s", TENON_TEST_RELAY, PLAIN, row->name);
  tune(&f);
  counted c = count_log(f.log);
  assert_int_equal(f.status, TN_OK);
  assert_int_equal(c.records, 8);
  assert_true(c.failed >= 1); /* a worker is started anew after it, and strikes again at its own third run */
  assert_true(f.result.failures[row->error].n == f.result.failed);
  check_has(f.result.failures[row->error].sample, row->message);
  assert_int_equal(state_of(&f, 0)->lost, 0);
  close_farm(&f);
}

/* A worker in its box builds and times as any other; what it is not to do is refused, and a candidate that tries it is no more
 * than one that crashed. Outside of a box the same tries succeed. */
static void box_holds(void **state) {
  (void)state;
  static const char *const options[] = {"--sandbox --inject=run-break-out@3", "--inject=run-break-out@3"};
  static const char *const words[] = {"was killed by signal 11", "exited"};
  for (int i = 0; i < 2; ++i) {
    farm f;
    open_farm(&f, 8);
    f.options.workers.build_on = TN_BUILD_ON_HOSTS;
    add(&f, "exec %s %s", PLAIN, options[i]);
    tune(&f);
    counted c = count_log(f.log);
    assert_int_equal(f.status, TN_OK);
    assert_int_equal(c.records, 8);
    assert_true(c.failed >= 1 && c.failed <= 3);
    assert_int_equal(f.result.failures[TN_MEASURE_RUNTIME].n, c.failed);
    check_has(f.result.failures[TN_MEASURE_RUNTIME].sample, words[i]);
    close_farm(&f);
  }
}

/* ---- faults of the way ------------------------------------------------------------------------------------------- */

static int faults_in(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  int n = (int)ftell(file);
  fclose(file);
  return n;
}

/* So many faults at least, in as many runs as that takes, each of whose logs is whole. TENON_FARM_FAULTS sets it. */
static void no_candidate_is_lost(void **state) {
  (void)state;
  const char *given = getenv("TENON_FARM_FAULTS");
  int wanted = given ? atoi(given) : 30, trials = given ? 150 : 40, runs = 0, lost = 0;
  char count[64];
  snprintf(count, sizeof count, "/tmp/tenon-farm-faults-%d", (int)getpid());
  unlink(count);
  for (; faults_in(count) < wanted && runs < 100; ++runs) {
    farm f;
    open_farm(&f, trials);
    f.options.seed = (uint64_t)runs;
    f.options.finalists = runs % 2 ? 3 : -1;
    static const int delays[] = {0, 1, 20, 80};
    for (int i = 0; i < 4; ++i)
      add(&f, "exec %s --delay=%d --faults=0.2,%s %s", TENON_TEST_RELAY, delays[i], count, PLAIN);
    tune(&f);
    expect_all(&f, trials);
    for (int i = 0; i < f.result.n_hosts; ++i) lost += f.result.hosts[i].lost;
    close_farm(&f);
  }
  print_message("%d faults in %d runs of %d trials: %d workers lost, no candidate\n", faults_in(count), runs, trials,
                lost);
  assert_true(faults_in(count) >= wanted);
  assert_true(lost > 0);
  unlink(count);
}

/* A host that is cut off for longer than it is waited for loses its candidate to another one, and comes back. */
static void cut_off_and_back(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 30);
  f.options.workers.run_timeout_s = 1;
  add(&f, "exec %s --cut=1,3 %s", TENON_TEST_RELAY, PLAIN);
  add(&f, "exec %s --delay=20 %s", TENON_TEST_RELAY, PLAIN);
  tune(&f);
  expect_all(&f, 30);
  assert_true(state_of(&f, 1)->timed > 0);
  close_farm(&f);
}

/* ---- several machines -------------------------------------------------------------------------------------------- */

/* Each has a name of its own in the records; finals are of one. */
static void records_say_the_machine(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 40);
  f.options.finalists = 4;
  add(&f, "exec %s", PLAIN);
  f.hosts[0].count = 3;
  f.hosts[0].name = "left";
  f.hosts[0].tags = "old,quiet";
  add(&f, "exec %s", PLAIN);
  f.hosts[1].name = "right";
  f.options.workers.build_on = TN_BUILD_ON_ALL;
  tune(&f);
  assert_int_equal(f.status, TN_OK);
  counted c = count_log(f.log);
  assert_int_equal(c.records, 40);
  assert_int_equal(c.without_machine, 0);
  assert_in_range(c.n_machines, 2, 4); /* a worker that starts slowly may come when all is done */
  assert_int_equal(f.result.n_hosts, 4);
  bool came = state_of(&f, 1)->timed > 0; /* if not, it has only the name that it was given */
  assert_string_equal(f.result.hosts[1].name, came || strchr(f.result.hosts[1].name, '#') ? "left#2" : "left");
  assert_string_equal(f.result.hosts[1].tags, "old,quiet");
  assert_string_equal(f.result.hosts[3].name, "right");
  assert_true(c.finals >= 2 && f.result.finals_on);
  close_farm(&f);
}

static void builds_on_hosts_only(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 12);
  f.options.workers.build_on = TN_BUILD_ON_HOSTS;
  add(&f, "exec %s", PLAIN);
  add(&f, "exec %s --delay=1 %s", TENON_TEST_RELAY, PLAIN);
  tune(&f);
  expect_all(&f, 12);
  int built = 0;
  for (int i = 0; i < 2; ++i) built += state_of(&f, i)->built;
  assert_true(built >= 11); /* the default schedule is built with the reference */
  close_farm(&f);
}

/* The next candidate is on its way while one is timed: 30 of them that rest for 0.2 s each take the way of 0.3 s there and back but a
 * few times. */
static void slow_way_is_hidden(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 30);
  f.options.workers.repeats.cooldown_s = 0.2;
  add(&f, "exec %s --delay=150 %s", TENON_TEST_RELAY, PLAIN);
  uint64_t start_ns = runtime_now_ns();
  tune(&f);
  double took_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  expect_all(&f, 30);
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  took_s = 0; /* an instrumented run is slow for other reasons */
#endif
  if (took_s > 30 * (0.2 + 0.3)) fail_msg("30 candidates took %.1f s", took_s);
  close_farm(&f);
}

/* A host that is not there yet when the run begins. */
static void comes_later(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 60);
  add(&f, "exec %s --delay=20 %s", TENON_TEST_RELAY, PLAIN);
  add(&f, "test -e %s && exec %s; touch %s; exit 1", f.flag, PLAIN, f.flag);
  tune(&f);
  expect_all(&f, 60);
  assert_true(state_of(&f, 1)->lost == 1 && state_of(&f, 1)->timed > 0);
  assert_int_equal(state_of(&f, 1)->phase, TN_HOST_SERVING);
  close_farm(&f);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void options_that_make_no_sense(void **state) {
  (void)state;
  farm f;
  open_farm(&f, 4);
  add(&f, "exit 1");
  f.hosts[0].command = NULL;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "hosts[0] has no command", "ssh");
  f.hosts[0].command = f.argv[0];
  f.hosts[0].count = -2;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "hosts[0].count is -2");
  f.hosts[0].count = 100000;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "100000 machines are too many: 4096 at most");
  struct rlimit usual, low;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
  low = (struct rlimit){.rlim_cur = 128, .rlim_max = usual.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  f.hosts[0].count = 64;
  tune(&f);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "workers: 65 of them need 194 open files, the limit is 128", "ulimit -n 194");
  f.hosts[0].count = 1;
  f.options.workers.build_on = (tn_build_place)9;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "build_on is 9");
  f.options.workers.n_hosts = -1;
  tune(&f);
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "n_hosts is -1");
  close_farm(&f);
}

static void words(void **state) {
  (void)state;
  assert_int_equal(tn_build_place_find("hosts"), TN_BUILD_ON_HOSTS);
  assert_int_equal(tn_build_place_find("there"), -1);
  assert_int_equal(tn_build_place_find(NULL), -1);
  assert_string_equal(tn_host_phase_word(TN_HOST_REFUSED), "refused");
  assert_string_equal(tn_host_phase_word((tn_host_phase)77), "unknown");
}

int farm_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slow_host_is_refused),
      cmocka_unit_test(reference_is_made_elsewhere),
      cmocka_unit_test(reference_kills_one_host),
      cmocka_unit_test(reference_is_made_nowhere),
      cmocka_unit_test(costs_are_measured_alone),
      cmocka_unit_test(refused_machine_is_left),
      cmocka_unit_test(refused_in_the_finals),
      cmocka_unit_test(none_left_and_resumed),
      cmocka_unit_test(no_candidate_is_lost),
      cmocka_unit_test(cut_off_and_back),
      cmocka_unit_test(records_say_the_machine),
      cmocka_unit_test(builds_on_hosts_only),
      cmocka_unit_test(comes_later),
      cmocka_unit_test(slow_way_is_hidden),
      cmocka_unit_test(options_that_make_no_sense),
      cmocka_unit_test(box_holds),
      cmocka_unit_test(words),
  };
  return CHECK_TABLE("bad hosts", bad_rows, bad_host) +
         CHECK_TABLE("candidates on hosts", strike_rows, candidate_on_a_host) + CHECK_TESTS("hosts", tests);
}
