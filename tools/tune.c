/* tune.c: `tenon tune`: searches for the fastest schedule of a program and appends what it measures to a
 * log.
 *
 * The results of a run are in `tuned`. Only the signal that ends a run is static. */
#include <signal.h>
#include <unistd.h>

#include "tools/cut.h"
#include "tools/profile_session.h"
#include "tools/report.h"
#include "tools/tuning.h"

/* Finalists where a queue times candidates: a runner that is not the tuner's own has none unless they are asked for. */
enum { USUAL_FINALISTS = 8 };

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("log", 'l', TEXT, log, "LOG",
                 "where records are appended, one JSON line a measurement (docs/records.md); what\n"
                 "it holds of this program is used and not measured again (tenon/log.json in the user's\n"
                 "data directory, or what TENON_LOG names)"),
    TOOLS_OPTION("trials", 'n', COUNT, trials, "N",
                 "records of this program that LOG shall hold at the end\n(64; without --trials, --seconds and "
                 "--effort have their own limits)"),
    TOOLS_OPTION("seconds", 0, SECONDS, seconds, "S",
                 "end after this long, finals included, whatever was measured by then"),
    TOOLS_OPTION("for", 0, DURATION, seconds, "TIME", "the same as 30s, 10m or 2h"),
    TOOLS_OPTION("schedule", 0, TEXT, strategy, "STRATEGY",
                 "of several programs, which one gets the next round: gradient (where most is to be\n"
                 "gained; the default) or round-robin"),
    TOOLS_OPTION("objective", 0, TEXT, objective, "OBJECTIVE",
                 "of several programs, what is to become small: latency (the sum of the times, as often\n"
                 "as the network has each; the default), geomean, or a file of targets: NAME TIME a line,\n"
                 "as in 'conv3x3 120us'; a task that meets its target gets no more rounds"),
    TOOLS_OPTION("cut", 0, FLAG, is_cut, NULL,
                 "tune the groups of a program that are computed together, each as a task of its own; a\n"
                 "program of more than 48 tensors is cut in any case"),
    TOOLS_OPTION("effort", 'e', TEXT, effort, "EFFORT",
                 "quick: 10 s; normal: 60 s; thorough: until 300 trials in a row bring nothing"),
    TOOLS_OPTION("early-stop", 0, COUNT, early_stop, "N", "end after N trials in a row without a new best"),
    TOOLS_OPTION("finalists", 0, COUNT, finalists, "N", "how many of the fastest are timed again at the end (8)"),
    TOOLS_OPTION("round", 0, COUNT, per_round, "N",
                 "candidates between two trainings of the cost model (24, and two more for each further machine)"),
    TOOLS_OPTION("seed", 0, SEED, seed, "X", "of the search and of the input data (0)"),
    TOOLS_OPTION("jobs", 'j', COUNT, jobs, "J", "candidates compiled at once (the threads of this machine)"),
    TOOLS_OPTION("worker", 0, WORKER, workers, "COMMAND",
                 "time candidates on the machine that COMMAND reaches, as in 'ssh HOST tenon worker'; may be\n"
                 "repeated, one a machine (docs/farm.md)"),
    TOOLS_OPTION("runner", 0, TEXT, runner, "COMMAND",
                 "time candidates on a device, compiled here: COMMAND reaches tenon-runner there, as in\n"
                 "'ssh BOARD tenon-runner', with --target (docs/farm.md)"),
    TOOLS_OPTION("hosts", 0, TEXT, hosts, "FILE",
                 "the same from a file: a line a machine, [name=N] [count=N] [threads=N] [tags=A,B] COMMAND"),
    TOOLS_OPTION("tags", 0, TEXT, tags, "TAGS", "of FILE, only the machines that have all of these: A,B"),
    TOOLS_OPTION("build-on", 0, TEXT, build_on, "PLACE",
                 "where candidates are compiled: here (the default), hosts (those of --worker), or all"),
    TOOLS_OPTION("patience", 0, DURATION, patience, "TIME",
                 "how long to wait when all machines are lost, as in 10m (30s)"),
    TOOLS_OPTION("queue", 0, TEXT, queue, "URL",
                 "time candidates by the workers of a pool behind a Redis server, redis://HOST/POOL, which others\n"
                 "may use at the same time (`tenon worker --queue URL` serves it)"),
    TOOLS_OPTION("profile", 0, TEXT, profile, "FILE",
                 "record where the time goes, worker processes included, into FILE: .json (Chrome\n"
                 "trace), .xplane.pb, .tnprof, .html; FILE:level=2:categories=search+measure narrows it;\n"
                 "the environment variable TENON_PROFILE does the same"),
    TOOLS_OPTION("profile-plugin", 0, PLUGIN, plugins, "PATH",
                 "a profiler plug-in whose planes join the recording, or a folder of them; any number of times"),
    TOOLS_OPTION("report", 0, TEXT, report, "FILE.html",
                 "write a page about what LOG holds of the program then, to look at (tenon log report)"),
    TOOLS_OPTION("model", 0, TEXT, cost_model, "MODEL",
                 "the cost model: xgboost, none, or a file that it is loaded from and saved to"),
    TOOLS_OPTION("population", 0, COUNT, population, "N", "schedules of a generation of the search (1024)"),
    TOOLS_OPTION("generations", 0, COUNT, generations, "N", "generations between two rounds (4)"),
    TOOLS_OPTION("eps", 0, SECONDS, eps, "SHARE", "share of random candidates (0.1)"),
    TOOLS_OPTION("mutation", 0, SECONDS, mutation, "SHARE", "share of a generation that is mutated (0.75)"),
    TOOLS_OPTION("crossover", 0, SECONDS, crossover, "SHARE", "share of a generation that is crossed of two (0.15)"),
    TOOLS_OPTION("no-sketches", 0, FLAG, no_sketches, NULL, "search only among plans, which `auto` ranks"),
    TOOLS_OPTION("repeat", 0, COUNT, repeat, "N", "samples of each candidate (as many as its noise asks for)"),
    TOOLS_OPTION("number", 0, COUNT, number, "N",
                 "calls in a sample at least (as many as fill a quarter of a millisecond)"),
    TOOLS_OPTION("cooldown", 0, SECONDS, cooldown, "S", "seconds of rest before a candidate is timed"),
    TOOLS_OPTION("flush-cache", 0, FLAG, flushes_cache, NULL,
                 "empty the caches before each sample, which is one call then"),
    TOOLS_OPTION("build-timeout", 0, SECONDS, build_timeout, "S", "a candidate that compiles for longer fails (15)"),
    TOOLS_OPTION("run-timeout", 0, SECONDS, run_timeout, "S", "a candidate that hangs for longer fails (10)"),
    TOOLS_OPTION("verbose", 'v', LEVEL, verbosity, "0|1|2",
                 "0: only what was found; 1: progress, and where the time went (the default); 2: a line\n"
                 "for each candidate"),
    TOOLS_OPTION_FILL,
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_tune = {
    .name = "tune",
    .operands =
        "PROGRAM... [--log LOG] [--trials N] [--seconds S] [--for TIME] [--effort E] [--target T] [--seed X] [--jobs "
        "J] "
        "[--worker COMMAND]... [--queue URL] [--json]",
    .summary = "search for the fastest schedule of a program by measuring",
    .details =
        "Measures candidate schedules in worker processes, checks each one's output, and appends a record of\n"
        "each to LOG. Stopped at any moment, even by kill -9, the run goes on from LOG when it is started\n"
        "again. Before the winner is named the fastest are timed again, in turns. At the end it says what\n"
        "was found, what failed, and where the time went; after Ctrl-C also how to go on. The schedule of\n"
        "PROGRAM's own `schedule { ... }` blocks is a candidate, too, and a line says what it takes.\n"
        "\n"
        "Several programs, or a network's file (NAME.tenon), are tuned in turns under one limit of trials or\n"
        "time, which is of all together. A line of such a file is a task:\n"
        "    PROGRAM [NAME=N...] [x COUNT] [weight W] [as NAME]      # a comment\n"
        "PROGRAM is a file, seen from the network's folder, or a text in quotes. What is the same program is\n"
        "tuned once. At the end there is a line for each task, and how the weighted total fell.\n"
        "\n"
        "With --worker or --hosts candidates are timed on other machines, one at a time on each. A machine that\n"
        "is lost costs nothing but time: its candidate is timed on another one, and it is tried again. One\n"
        "that is not the target's (version, processor, measured costs) is refused by name. Records say which\n"
        "machine timed them; the finals are run on one. With none left the run ends and can be gone on with.\n"
        "\n"
        "On a terminal one live line shows the best so far, its speed-up over the default schedule, the\n"
        "trials done and failed, the time spent and left.",
    .examples =
        "tenon tune 'C[i<512, j<512] = sum[k<512](A[i,k] * B[k,j])' --trials 200 --log matmul.json\n"
        "tenon tune softmax.te -p N=128 --log softmax.json --seconds 60 --json\n"
        "tenon tune softmax.te --log softmax.json --worker 'ssh a tenon worker' --worker 'ssh b tenon worker'\n"
        "tenon tune examples/networks/resnet50.tenon --log resnet50.json --for 30m",
    .options = options,
    .min_operands = 1,
    .max_operands = TOOLS_MAX_OPERANDS,
    .run = run,
};

/* ---- what was found ---------------------------------------------------------------------------------------------- */

/* The results of a finished run. */
typedef struct tuned {
  tn_tune_result result;
  double flops, elapsed_s;
  const tn_profiler *profiler;
} tuned;

/* Prints the winner. "about" marks both numbers that rest on an estimate of the default schedule's time. */
static void print_best(const tuned *t) {
  const tn_tune_result *r = &t->result;
  const char *about = r->default_is_estimate ? "about " : "";
  printf("best     %s, %.2f GFLOPS", tools_time(r->best_s).text, tools_gflops(t->flops, r->best_s));
  if (r->default_s > 0)
    printf(", %s%.1f times as fast as the default schedule (%s%s, %.2f GFLOPS%s)", about, r->default_s / r->best_s,
           about, tools_time(r->default_s).text, tools_gflops(t->flops, r->default_s),
           r->default_is_estimate ? "; estimated from a part of it" : "");
  printf("\n");
  if (r->own_s > 0)
    printf("own      %s, %.2f GFLOPS: the program's own schedule; the best is %.2f times as fast\n",
           tools_time(r->own_s).text, tools_gflops(t->flops, r->own_s), r->own_s / r->best_s);
  if (r->odd_share > 0)
    printf("data     %.3g %% of the result is infinite or not a number: give the inputs' data (--fill)\n",
           100 * r->odd_share);
  if (r->finalists > 0)
    printf("finals   %d timed again in turns%s\n", r->finalists,
           r->is_tie ? "; several cannot be told apart, of those as good the simplest was taken" : "");
}

/* Prints the failures by class, in the order of the classes' numbers, with one message each. Class 0 is success. */
void tools_print_failures(const tn_tune_result *r, const char *prefix, FILE *out) {
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i)
    if (r->failures[i].n > 0)
      fprintf(out, "%sfailed   %d x %s: %s\n", prefix, r->failures[i].n, tn_measure_error_word((tn_measure_error)i),
              r->failures[i].sample);
}

/* Why a run ended; ends that the numbers show have none. */
static const char *const end_words[] = {[TN_TUNE_EXHAUSTED] = "; the search space is exhausted",
                                        [TN_TUNE_NO_PROGRESS] = "; the last ones brought nothing",
                                        [TN_TUNE_STOPPED] = "; stopped",
                                        [TN_TUNE_FAILED] = "; they all fail alike",
                                        [TN_TUNE_NO_WORKERS] = "; no worker is left"};

/* Prints the winner, the counts and the failures. */
static void print_found(const tuned *t, const char *log) {
  const tn_tune_result *r = &t->result;
  const char *why = (size_t)r->end < RUNTIME_COUNT(end_words) ? end_words[r->end] : NULL;
  if (r->best_s > 0) print_best(t);
  printf("trials   %d measured, %d of them failed, %d taken from %s%s\n", r->trials, r->failed, r->reused, log,
         why ? why : "");
  tools_print_failures(r, "", stdout);
  tools_print_hosts(r->n_hosts, r->hosts, r->finals_on, stdout);
  if (r->trials > 0 && t->elapsed_s > 0)
    printf("time     %.1f s, %.1f trials a second\n", t->elapsed_s, r->trials / t->elapsed_s);
}

/* Quotes for a POSIX shell: a text with special characters goes into single quotes, and each single quote
 * in it is put between two quoted parts. */
void tools_print_quoted(const char *text) {
  bool is_plain =
      *text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=-") == strlen(text);
  if (is_plain) {
    printf(" %s", text);
    return;
  }
  printf(" '");
  for (const char *c = text; *c; ++c) printf(*c == '\'' ? "'\\''" : "%c", *c);
  printf("'");
}

void tools_print_options(const tools_args *args) {
  for (int i = 0; i < args->n_params; ++i)
    printf(" -p %s=%lld", args->params[i].name, (long long)args->params[i].value);
  printf(" --log");
  tools_print_quoted(args->log);
  if (args->trials) printf(" --trials %lld", (long long)args->trials);
  if (args->seconds > 0) printf(" --seconds %g", args->seconds);
  for (int i = 0; i < args->n_fills; ++i) printf(" --fill"), tools_print_quoted(args->fills[i]);
  if (args->effort) printf(" --effort %s", args->effort);
  if (args->early_stop) printf(" --early-stop %lld", (long long)args->early_stop);
  if (args->seed) printf(" --seed %llu", (unsigned long long)args->seed);
  if (args->jobs) printf(" --jobs %lld", (long long)args->jobs);
  if (args->target) printf(" --target"), tools_print_quoted(args->target);
  tools_print_host_options(args);
}

/* Prints the command that goes on from the log. Its time limit begins anew. */
static void print_going_on(const tools_args *args) {
  printf("go on with: tenon tune");
  tools_print_quoted(args->operands[0]);
  tools_print_options(args);
  printf("\n");
}

/* Prints the results. A run that a signal stopped ends with the command that goes on with it. */
static int print_plain(const tuned *t, const tools_args *args) {
  print_found(t, args->log);
  char *table = args->verbosity == 1 ? NULL : tn_profiler_table(t->profiler);
  bool goes_on = t->result.end == TN_TUNE_STOPPED || t->result.end == TN_TUNE_NO_WORKERS;
  if (table && !goes_on) printf("\n%s\n", table);
  if (goes_on) print_going_on(args);
  free(table);
  return TOOLS_OK;
}

/* Seconds by phase, as an object. */
json_t *tools_profile_object(const tn_profiler *profiler) {
  json_t *object = json_object();
  for (int i = 0; i < tn_profiler_count(profiler); ++i) {
    double seconds;
    const char *name = tn_profiler_name_at(profiler, i, &seconds, NULL);
    json_object_set_new(object, name, json_real(seconds));
  }
  return object;
}

/* Seconds, or null when there are none. */
json_t *tools_time_or_null(double seconds) { return seconds > 0 ? json_real(seconds) : json_null(); }

/* Prints all as JSON. When nothing was found times are null and ratios 0, so that a reader need not test
 * for missing fields. */
static int print_object(tools_session *session, const tools_args *args, const tuned *t) {
  const tn_tune_result *r = &t->result;
  double speedup = r->best_s > 0 && r->default_s > 0 ? r->default_s / r->best_s : 0;
  json_t *failures = json_object();
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i)
    if (r->failures[i].n > 0)
      json_object_set_new(failures, tn_measure_error_word((tn_measure_error)i), json_integer(r->failures[i].n));
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:o, s:o, s:f, s:f, s:o, s:f, s:o}", "program",
                tn_program_text(session->program), "key", tn_program_key(session->program), "target",
                tn_target_text(session->target), "log", args->log, "trials", r->trials, "failed", r->failed, "reused",
                r->reused, "exhausted", r->exhausted, "seconds", tools_time_or_null(r->best_s), "seconds_default",
                tools_time_or_null(r->default_s), "gflops", tools_gflops(t->flops, r->best_s), "gflops_default",
                tools_gflops(t->flops, r->default_s), "speedup_default", speedup > 0 ? json_real(speedup) : json_null(),
                "elapsed", t->elapsed_s, "profile", tools_profile_object(t->profiler));
  json_object_set_new(object, "default_is_estimate", json_boolean(r->default_is_estimate));
  json_object_set_new(object, "seconds_own", tools_time_or_null(r->own_s));
  json_object_set_new(object, "end", json_string(tn_tune_end_word(r->end)));
  json_object_set_new(object, "finalists", json_integer(r->finalists));
  json_object_set_new(object, "odd_share", json_real(r->odd_share));
  json_object_set_new(object, "tie", json_boolean(r->is_tie));
  json_object_set_new(object, "failures", failures);
  if (r->n_hosts > 0) json_object_set_new(object, "workers", tools_hosts_array(r->n_hosts, r->hosts));
  if (r->finals_on) json_object_set_new(object, "finals_on", json_string(r->finals_on));
  return tools_print_json(session, object);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* The first SIGINT or SIGTERM asks the run to end. The second ends this process, and the workers end with it. */
static volatile sig_atomic_t stopped_by;

/* Async-signal-safe: it sets a flag or calls _exit. */
static void on_signal(int number) {
  if (stopped_by) _exit(TOOLS_SIGNALLED + number);
  stopped_by = number;
}

/* Installs or removes the handlers. A signal that was ignored when the command started stays ignored (nohup). */
void tools_watch_signals(bool on) {
  static const int numbers[] = {SIGINT, SIGTERM};
  for (int i = 0; i < RUNTIME_COUNT(numbers); ++i) {
    struct sigaction before, action = {.sa_handler = on ? on_signal : SIG_DFL};
    sigemptyset(&action.sa_mask);
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
  }
}

int tools_stopped_by(void) { return stopped_by; }

/* What the tuner's callbacks get. It lives on the stack of tune, which outlives the run. */
typedef struct watcher {
  tools_progress show;
  const tools_args *args;
  double flops;
  char *fill;
} watcher;

/* tn_tune's on_progress. It runs in this thread, so it may print. True: a signal asks to end. */
static bool on_progress(void *user, const tn_progress *progress) {
  watcher *w = user;
  if (w->args->verbosity != 1) tools_progress_show(&w->show, progress);
  return stopped_by != 0;
}

/* With --verbose 2. The live line is cleared first, or its rest would show behind the text. */
void tools_print_measured(tools_progress *show, const tools_args *args, double flops, const tn_candidate *candidate,
                          const tn_measurement *m) {
  if (args->verbosity != 3 || args->is_json) return;
  double cost_s = m->n_costs > 0 ? m->costs[m->n_costs / 2] : 0;
  if (show->session->has_live_line) printf("\r\033[K");
  if (m->error != TN_MEASURE_NONE)
    printf("%s: %s\n", tn_measure_error_word(m->error), m->message ? m->message : "");
  else
    printf("%s%s, %.2f GFLOPS, %s\n", m->ended_early ? "over " : "", tools_time(cost_s).text,
           tools_gflops(flops, cost_s), candidate->steps);
}

static void on_measured(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  watcher *w = user;
  tools_print_measured(&w->show, w->args, w->flops, candidate, m);
}

/* The number of --effort's word in enum tn_effort; -1: no such word. */
static int find_effort(const tools_args *args) {
  static const char *const words[] = {"", "quick", "normal", "thorough"};
  return RUNTIME_FIND(words, args->effort ? args->effort : "");
}

tn_tune_options tools_tune_options(const tools_session *session, const tools_args *args, const char *fill,
                                   const tools_hosts *hosts) {
  tn_tune_options tuning = {.log = args->log,
                            .trials = (int)args->trials,
                            .seconds = args->seconds,
                            .effort = (tn_effort)find_effort(args),
                            .early_stop = (int)args->early_stop,
                            .finalists = (int)args->finalists,
                            .per_round = (int)args->per_round,
                            .seed = args->seed,
                            .cost_model = args->cost_model,
                            .target = session->target,
                            .population = (int)args->population,
                            .generations = (int)args->generations,
                            .eps = args->eps,
                            .mutation = args->mutation,
                            .crossover = args->crossover,
                            .no_sketches = args->no_sketches,
                            .workers = {.jobs = (int)args->jobs,
                                        .build_timeout_s = args->build_timeout,
                                        .run_timeout_s = args->run_timeout,
                                        .repeats = {.repeat = (int)args->repeat,
                                                    .number = (int)args->number,
                                                    .cooldown_s = args->cooldown,
                                                    .flushes_cache = args->flushes_cache}},
                            .fill = fill};
  tools_use_hosts(args, hosts, &tuning.workers);
  if (!hosts->queue) return tuning;
  tuning.builder = queue_tuner_builder(hosts->queue);
  tuning.runner = queue_tuner_runner(hosts->queue);
  if (tuning.finalists == 0) tuning.finalists = USUAL_FINALISTS;
  return tuning;
}

/* Runs the tuner with signals, progress and the profiler attached. */
static tn_status tune(tools_session *session, const tools_args *args, const tools_hosts *hosts, tn_profiler *profiler,
                      tuned *out) {
  watcher w = {tools_progress_begin(session, args->is_json), args, tn_program_flops(session->program),
               tools_fill_text(args)};
  tn_tune_options tuning = tools_tune_options(session, args, w.fill, hosts);
  tuning.on_progress = on_progress;
  tuning.on_measured = on_measured;
  tuning.user = &w;
  uint64_t start_ns = runtime_now_ns();
  tools_watch_signals(true);
  tn_profiler_enter(profiler);
  tn_status status = tn_tune(session->program, &tuning, &out->result);
  tn_profiler_exit(profiler);
  tools_watch_signals(false);
  out->elapsed_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  out->flops = w.flops;
  out->profiler = profiler;
  tools_progress_end(&w.show);
  free(w.fill);
  return status;
}

/* Tunes one program and prints the results. The exit status of a stopped run is the shell's for its signal,
 * and the results are printed all the same. */
static int tune_and_print(tools_session *session, const tools_args *args, const tools_hosts *hosts,
                          tn_profiler *profiler) {
  tuned t = {0};
  tn_status done = tune(session, args, hosts, profiler, &t);
  bool was_signalled = t.result.end == TN_TUNE_STOPPED && stopped_by;
  if (done == TN_ERROR_TUNE && !args->is_json) tools_print_failures(&t.result, "", stderr);
  bool lacks_workers = t.result.end == TN_TUNE_NO_WORKERS;
  if (done != TN_OK && !was_signalled && !lacks_workers) return TOOLS_FAILED;
  int status = args->is_json ? print_object(session, args, &t) : print_plain(&t, args);
  if (was_signalled) return TOOLS_SIGNALLED + stopped_by;
  if (lacks_workers) return TOOLS_FAILED;
  if (t.result.best_s > 0) return status;
  return tools_fail(session, "nothing valid was measured in the time that was given");
}

/* --model is one of two words or a file. A word that does not look like a file's name is refused: a
 * misspelt `xgb` would silently become a new file. */
static int check_model(const tools_args *args) {
  const char *model = args->cost_model;
  if (!model || strpbrk(model, "./") || strcmp(model, "xgboost") == 0 || strcmp(model, "none") == 0) return TOOLS_OK;
  if (access(model, F_OK) == 0) return TOOLS_OK;
  return tools_usage(
      args->verb, "--model is xgboost, none, or a file such as model.json, which is made where there is none; not '%s'",
      model);
}

/* Opens the hosts and tunes the one program or the tasks. Returns the exit status. */
static int tune_all(tools_session *session, const tools_args *args, tn_profiler *profiler) {
  tools_hosts hosts = {0};
  if (!profiler) return tools_fail(session, "out of memory");
  int status = tools_open_hosts(session, args, &hosts);
  if (status == TOOLS_OK)
    status = tools_are_tasks(args) || tools_is_cut(session, args) ? tools_tune_tasks(session, args, &hosts, profiler)
                                                                  : tune_and_print(session, args, &hosts, profiler);
  tools_free_hosts(&hosts);
  return status;
}

/* All of a run: checks, the machine's costs, the recording, tuning and the report. ARGS->log is set. */
static int run_with_log(const tools_args *args) {
  if (find_effort(args) < 0)
    return tools_usage(args->verb, "--effort is quick, normal or thorough, not '%s'", args->effort);
  if (check_model(args) != TOOLS_OK || tools_check_tasks(args) != TOOLS_OK) return TOOLS_USAGE;
  bool are_tasks = tools_are_tasks(args);
  tools_session session;
  int status = TOOLS_FAILED;
  bool is_open = are_tasks ? tools_open(&session, args) : tools_open_program(&session, args);
  if (is_open && args->report && tools_is_cut(&session, args))
    is_open = tools_fail(&session, "--report is about one program, and this one is tuned in its groups") == TOOLS_OK;
  if (is_open && args->report) is_open = tools_check_report(&session, args->report);
  if (is_open && tools_know_machine(&session, false)) {
    tn_profiler *profiler = tn_profiler_new();
    tools_recording recording = tools_record(&session, args);
    status = tune_all(&session, args, profiler);
    if (!tools_record_end(&session, &recording) && status == TOOLS_OK) status = TOOLS_FAILED;
    tn_profiler_free(profiler);
    if (args->report && status != TOOLS_FAILED && tools_write_report(&session, args->log, args->report) != TOOLS_OK)
      status = TOOLS_FAILED;
  }
  tools_close(&session);
  return status;
}

/* The log is the line's, or else the usual one, whose folders are made. */
static int run(const tools_args *args) {
  tools_args with = *args;
  runtime_str usual = {0};
  if (!with.log && tools_usual_log(true, &usual)) with.log = usual.data;
  int status =
      with.log ? run_with_log(&with) : tools_usage(args->verb, "--log is missing: the file that records go to");
  runtime_str_free(&usual);
  return status;
}
