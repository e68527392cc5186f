/* tune.c: `tenon tune`: searches for the fastest schedule of a program and appends what it measures to a log. */
#include "tools/profile_session.h"
#include "tools/progress.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("log", 'l', TEXT, log, "LOG",
                 "where records are appended, one JSON line a measurement (docs/records.md); what\n"
                 "it holds of this program is used and not measured again"),
    TOOLS_OPTION("trials", 'n', COUNT, trials, "N", "records of this program that LOG shall hold at the end (64)"),
    TOOLS_OPTION("seconds", 0, SECONDS, seconds, "S", "stop after this long, whatever was measured by then"),
    TOOLS_OPTION("seed", 0, SEED, seed, "X", "of the search and of the input data (0)"),
    TOOLS_OPTION("jobs", 'j', COUNT, jobs, "J", "candidates compiled at once (the threads of this machine)"),
    TOOLS_OPTION("profile", 0, TEXT, profile, "FILE",
                 "record where the time goes, worker processes included, into FILE: .json (Chrome\n"
                 "trace), .xplane.pb, .tnprof, .html; FILE:level=2:categories=search+measure narrows it;\n"
                 "the environment variable TENON_PROFILE does the same"),
    TOOLS_OPTION("profile-plugin", 0, TEXT, plugin, "PATH", "a profiler plug-in whose planes join the recording"),
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_tune = {
    .name = "tune",
    .operands =
        "PROGRAM --log LOG [--trials N] [--seconds S] [--target T] [--seed X] [--jobs J] [--json] [--profile FILE]",
    .summary = "search for the fastest schedule of a program by measuring",
    .details =
        "Measures candidate schedules in worker processes, checks each one's output against the unscheduled\n"
        "program, and appends a record of each to LOG. Stopped at any moment, even by kill -9, the run goes\n"
        "on from LOG when it is started again. At the end it says what was found and where the time went.\n"
        "On a terminal one live line shows the best so far, its speed-up over the default schedule, the\n"
        "trials done and failed, the time spent and left.",
    .examples =
        "tenon tune 'C[i<512, j<512] = sum[k<512](A[i,k] * B[k,j])' --trials 200 --log matmul.json\n"
        "tenon tune softmax.te -p N=128 --log softmax.json --seconds 60 --json",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* ---- what was found ---------------------------------------------------------------------------------------------- */

/* A finished run. */
typedef struct tuned {
  tn_tune_result result;
  double flops, elapsed_s;
  const tn_profiler *profiler;
} tuned;

static void print_found(const tuned *t, const char *log) {
  const tn_tune_result *r = &t->result;
  printf("best     %s, %.2f GFLOPS", tools_time(r->best_s).text, tools_gflops(t->flops, r->best_s));
  if (r->default_s > 0)
    printf(", %.1f times as fast as the default schedule (%s, %.2f GFLOPS)", r->default_s / r->best_s,
           tools_time(r->default_s).text, tools_gflops(t->flops, r->default_s));
  printf("\ntrials   %d measured, %d of them failed, %d taken from %s%s\n", r->trials, r->failed, r->reused, log,
         r->exhausted ? "; the search space is exhausted" : "");
  if (r->trials > 0 && t->elapsed_s > 0)
    printf("time     %.1f s, %.1f trials a second\n", t->elapsed_s, r->trials / t->elapsed_s);
}

static int print_plain(const tuned *t, const char *log) {
  if (t->result.best_s > 0) print_found(t, log);
  char *table = tn_profiler_table(t->profiler);
  if (table) printf("\n%s\n", table);
  free(table);
  return TOOLS_OK;
}

static json_t *profile_object(const tn_profiler *profiler) {
  json_t *object = json_object();
  for (int i = 0; i < tn_profiler_count(profiler); ++i) {
    double seconds;
    const char *name = tn_profiler_name_at(profiler, i, &seconds, NULL);
    json_object_set_new(object, name, json_real(seconds));
  }
  return object;
}

/* A time, or null when there is none. */
static json_t *time_or_null(double seconds) { return seconds > 0 ? json_real(seconds) : json_null(); }

static int print_object(tools_session *session, const tools_args *args, const tuned *t) {
  const tn_tune_result *r = &t->result;
  double speedup = r->best_s > 0 && r->default_s > 0 ? r->default_s / r->best_s : 0;
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:o, s:o, s:f, s:f, s:o, s:f, s:o}", "program",
                tn_program_text(session->program), "key", tn_program_key(session->program), "target",
                tn_target_text(session->target), "log", args->log, "trials", r->trials, "failed", r->failed, "reused",
                r->reused, "exhausted", r->exhausted, "seconds", time_or_null(r->best_s), "seconds_default",
                time_or_null(r->default_s), "gflops", tools_gflops(t->flops, r->best_s), "gflops_default",
                tools_gflops(t->flops, r->default_s), "speedup_default", speedup > 0 ? json_real(speedup) : json_null(),
                "elapsed", t->elapsed_s, "profile", profile_object(t->profiler));
  return tools_print_json(session, object);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static tn_status tune(tools_session *session, const tools_args *args, tn_profiler *profiler, tuned *out) {
  tools_progress show = tools_progress_begin(session, args->is_json);
  tn_tune_options tuning = {.log = args->log,
                            .trials = (int)args->trials,
                            .seconds = args->seconds,
                            .seed = args->seed,
                            .target = session->target,
                            .workers = {.jobs = (int)args->jobs},
                            .on_progress = tools_progress_show,
                            .user = &show};
  uint64_t start_ns = runtime_now_ns();
  tn_profiler_enter(profiler);
  tn_status status = tn_tune(session->program, &tuning, &out->result);
  tn_profiler_exit(profiler);
  out->elapsed_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  out->flops = tn_program_flops(session->program);
  out->profiler = profiler;
  tools_progress_end(&show);
  return status;
}

static int tune_and_print(tools_session *session, const tools_args *args, tn_profiler *profiler) {
  tuned t = {0};
  if (!profiler) return tools_fail(session, "out of memory");
  if (tune(session, args, profiler, &t) != TN_OK) return TOOLS_FAILED;
  int status = args->is_json ? print_object(session, args, &t) : print_plain(&t, args->log);
  if (t.result.best_s > 0) return status;
  return tools_fail(session, "no candidate was valid: %s has the reasons", args->log);
}

static int run(const tools_args *args) {
  if (!args->log) return tools_usage(args->verb, "--log is missing: the file that records go to");
  tools_session session;
  int status = TOOLS_FAILED;
  if (tools_open_program(&session, args) && tools_know_machine(&session, false)) {
    tn_profiler *profiler = tn_profiler_new();
    tools_recording recording = tools_record(&session, args->profile, args->plugin);
    status = tune_and_print(&session, args, profiler);
    if (!tools_record_end(&session, &recording) && status == TOOLS_OK) status = TOOLS_FAILED;
    tn_profiler_free(profiler);
  }
  tools_close(&session);
  return status;
}
