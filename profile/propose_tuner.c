/* propose_tuner.c: rules about a tuning run: its phases, its queues and stages, its workers, memory, and
 * the recording itself. Each rule reads one table. Their order matters where one rule hides another. */
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"

/* Trials that a worker needs before its mean is compared with others. */
enum { LEAST_TRIALS = 5 };

static double percent(double share) { return share * 100; }

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* 0 if the recording has no such phase. */
static double share_of(const tn_rows *phases, const char *phase) {
  for (int i = 0; i < phases->n; ++i) {
    if (strcmp(analysis_text(phases, i, "phase"), phase) == 0) return analysis_number(phases, i, "share");
  }
  return 0;
}

/* Only a tuning run has measurements. The phases of other programs mean nothing to these rules. */
static bool is_tuning(const tn_rows *phases) { return share_of(phases, "measure") > 0; }

/* One rule for every phase that can grow too large: PHASE took more than the threshold's share of all time. */
static void check_phase(proposer *p, const tn_rows *phases, const char *phase, const char *what) {
  double share = share_of(phases, phase);
  if (is_tuning(phases) && share > p->threshold)
    analysis_say(p, phase, share, "%.0f %% of the time goes into '%s': %s", percent(share), phase, what);
}

static void check_generate(proposer *p, const tn_rows *phases) {
  check_phase(p, phases, "generate", "the search costs more than it finds; measure more candidates a round");
}
static void check_update(proposer *p, const tn_rows *phases) {
  check_phase(p, phases, "update", "train the cost model less often, or measure more candidates a round");
}
static void check_tail(proposer *p, const tn_rows *phases) {
  check_phase(p, phases, "tail", "no scope covers it; record finer levels to see what it is");
}
static void check_build(proposer *p, const tn_rows *phases) {
  check_phase(p, phases, "build", "compile with more jobs, or fewer unrolled candidates");
}

/* The mean of a column over all rounds except the first, in which workers are started. */
static double round_mean(const tn_rows *rounds, const char *column) {
  double sum = 0;
  for (int i = 1; i < rounds->n; ++i) sum += analysis_number(rounds, i, column);
  return rounds->n > 1 ? sum / (rounds->n - 1) : 0;
}

/* MindSpore's rule about the interval between steps. The threshold is in milliseconds. */
static void check_interval(proposer *p, const tn_rows *rounds) {
  double mean_ms = round_mean(rounds, "wait_ns") * 1e-6;
  if (mean_ms > p->threshold)
    analysis_say(p, "wait", mean_ms, "a round waits %.3f ms on average before it has work", mean_ms);
}

/* Without rounds the share is NAN, which is above no threshold. */
static void check_wait(proposer *p, const tn_rows *rounds) {
  double share = round_mean(rounds, "wait_ns") / round_mean(rounds, "duration_ns");
  if (share > p->threshold)
    analysis_say(p, "wait", share,
                 "%.0f %% of a round is 'wait': the tuner stands still for a queue; see what fills it", percent(share));
}

/* ---- queues and stages ------------------------------------------------------------------------------------------- */

/* The stage whose COLUMN ("input_queue", "output_queue") names QUEUE; "" if there is none. */
static const char *stage_with(const tn_rows *stages, const char *column, const char *queue) {
  for (int i = 0; i < tn_rows_count(stages); ++i) {
    if (strcmp(analysis_text(stages, i, column), queue) == 0) return analysis_text(stages, i, "stage");
  }
  return "";
}

/* Stages that take turns drain their queues every time. Nobody waits because of that; the phases are more telling. */
static bool is_lockstep(const tn_rows *stages) {
  return tn_rows_count(stages) && analysis_number(stages, 0, "lockstep") > 0;
}

/* An empty queue blames the stage that fills it. In lockstep, queues are empty by design, so the rule says nothing. */
static void check_queue_empty(proposer *p, const tn_rows *queues) {
  if (is_lockstep(analysis_rows_of(p, "stage"))) return;
  for (int i = 0; i < queues->n; ++i) {
    const char *queue = analysis_text(queues, i, "queue");
    const char *producer = stage_with(analysis_rows_of(p, "stage"), "output_queue", queue);
    double share = analysis_number(queues, i, "empty_share");
    if (share > p->threshold)
      analysis_say(p, queue, share, "queue '%s' was empty at %.0f of %.0f polls: what fills it%s%s%s is too slow",
                   queue, analysis_number(queues, i, "empty"), analysis_number(queues, i, "polls"),
                   *producer ? " ('" : "", producer, *producer ? "')" : "");
  }
}

/* Says nothing if the queues are healthy, since then no stage keeps another waiting. In lockstep there is
 * no pressure. */
static void check_bottleneck(proposer *p, const tn_rows *stages) {
  for (int i = 0; i < stages->n; ++i) {
    const char *stage = analysis_text(stages, i, "stage");
    double pressure = analysis_number(stages, i, "pressure");
    bool is_hidden = !analysis_said(p, "queue_empty") && analysis_number(stages, i, "input_usage") < 0.8;
    if (analysis_number(stages, i, "bottleneck") > 0 && pressure > p->threshold && !is_hidden)
      analysis_say(p, stage, pressure,
                   "'%s' is the bottleneck: work waits for it, and what comes after it waits too; %s", stage,
                   strcmp(stage, "build") == 0 ? "compile with more jobs" : "give it more workers");
  }
}

/* The runner is the stage that all others serve. The rule names the busiest of the others, which keeps it waiting. */
static void check_runner_idle(proposer *p, const tn_rows *stages) {
  /* With fewer measurements the share of idle time is chance. */
  enum { LEAST_CALLS = 16 };
  int runner = -1, busiest = -1;
  for (int i = 0; i < stages->n; ++i) {
    bool is_runner = strcmp(analysis_text(stages, i, "input_queue"), "runner") == 0;
    if (is_runner) runner = i;
    if (is_runner || analysis_is_missing(stages, i, "utilisation")) continue;
    double used = analysis_number(stages, i, "utilisation");
    if (busiest < 0 || used > analysis_number(stages, busiest, "utilisation")) busiest = i;
  }
  if (runner < 0 || busiest < 0 || analysis_is_missing(stages, runner, "idle_share")) return;
  double share = analysis_number(stages, runner, "idle_share");
  if (share > p->threshold && analysis_number(stages, runner, "calls") >= LEAST_CALLS)
    analysis_say(
        p, "runner", share,
        "nothing was measured in %.0f %% of the time from the first to the last measurement: '%s', which comes "
        "before, takes longest",
        percent(share), analysis_text(stages, busiest, "stage"));
}

/* ---- processor --------------------------------------------------------------------------------------------------- */

/* Over the whole run. Workers do not count: they are processes of their own. */
static void check_cpu(proposer *p, const tn_rows *run) {
  double share = analysis_fact(run, "cpu_ns") / (analysis_fact(run, "duration_ns") * analysis_fact(run, "cores"));
  if (share > p->threshold)
    analysis_say(p, "cpu", share, "the tuner itself uses %.0f %% of all cores: measurements compete with it",
                 percent(share));
}

/* ---- workers and tasks ------------------------------------------------------------------------------------------- */

/* A worker with few trials is not compared: candidates differ more than workers do. */
static bool is_compared(const tn_rows *workers, int i) { return analysis_number(workers, i, "trials") >= LEAST_TRIALS; }

/* Compares a worker with the mean of all that are compared, itself included. With two workers the threshold
 * is therefore harder to reach. */
static void check_outlier(proposer *p, const tn_rows *workers) {
  double sum = 0;
  int n = 0;
  for (int i = 0; i < workers->n; ++i) {
    if (is_compared(workers, i)) sum += analysis_number(workers, i, "mean_ns"), ++n;
  }
  for (int i = 0; i < workers->n && n > 1; ++i) {
    const char *worker = analysis_text(workers, i, "worker");
    double above = analysis_number(workers, i, "mean_ns") / (sum / n) - 1;
    if (is_compared(workers, i) && above > p->threshold)
      analysis_say(p, worker, above, "worker '%s' takes %.0f %% longer than the mean: is its core shared?", worker,
                   percent(above));
  }
}

/* Reported for each worker, so that one bad machine among many shows. */
static void check_killed(proposer *p, const tn_rows *workers) {
  for (int i = 0; i < workers->n; ++i) {
    const char *worker = analysis_text(workers, i, "worker");
    double killed = analysis_number(workers, i, "killed");
    if (killed > p->threshold)
      analysis_say(p, worker, killed, "worker '%s' was killed in %.0f trial%s: a limit was hit, or a kernel crashed",
                   worker, killed, killed > 1 ? "s" : "");
  }
}

/* By share: a task with thousands of trials may have some that fail. */
static void check_failed(proposer *p, const tn_rows *tasks) {
  for (int i = 0; i < tasks->n; ++i) {
    const char *task = analysis_text(tasks, i, "task");
    double trials = analysis_number(tasks, i, "trials"), failed = analysis_number(tasks, i, "failed");
    if (trials > 0 && failed / trials > p->threshold)
      analysis_say(p, task, failed / trials, "%.0f of %.0f trials of '%s' failed: `tenon log` tells why", failed,
                   trials, task);
  }
}

/* ---- memory and the recording ------------------------------------------------------------------------------------ */

/* A pool that refuses memory makes candidates fail through no fault of their own. */
static void check_memory_failed(proposer *p, const tn_rows *pools) {
  for (int i = 0; i < pools->n; ++i) {
    double failed = analysis_number(pools, i, "failed");
    const char *pool = analysis_text(pools, i, "pool");
    if (failed > p->threshold) analysis_say(p, pool, failed, "%.0f allocations failed in pool '%s'", failed, pool);
  }
}

/* Compares what is held at the end with the peak: a pool that gives nothing back. */
static void check_memory_held(proposer *p, const tn_rows *pools) {
  /* A pool that holds less does not matter. */
  enum { LEAST_BYTES = 16 << 20 };
  for (int i = 0; i < pools->n; ++i) {
    double current = analysis_number(pools, i, "current_bytes"), peak = analysis_number(pools, i, "peak_bytes");
    const char *pool = analysis_text(pools, i, "pool");
    if (current >= LEAST_BYTES && current > p->threshold * peak)
      analysis_say(p, pool, current / peak,
                   "pool '%s' ends with %.0f MiB, %.0f %% of its peak: is something not freed?", pool,
                   current / (1 << 20), percent(current / peak));
  }
}

/* Dropped events are missing from every other number, so this is reported however few they are. */
static void check_dropped(proposer *p, const tn_rows *run) {
  double dropped = analysis_fact(run, "dropped");
  if (dropped > p->threshold)
    analysis_say(p, "events", dropped, "%.0f events were dropped: give the session more memory or a lower level",
                 dropped);
}

/* An estimate: the cost of an event was measured once, with a quiet cache. */
static void check_cost(proposer *p, const tn_rows *run) {
  double share = analysis_fact(run, "events") * analysis_fact(run, "event_cost_ns") / analysis_fact(run, "duration_ns");
  if (share > p->threshold)
    analysis_say(p, "profiler", share, "recording itself took about %.1f %% of the time: lower the level",
                 percent(share));
}

const analysis_rule analysis_rules_tuner[] = {{"round_interval", "tuner", "round", 0.5, check_interval},
                                              {"wait_share", "tuner", "round", 0.1, check_wait},
                                              {"generate_share", "tuner", "phase", 0.4, check_generate},
                                              {"build_share", "tuner", "phase", 0.75, check_build},
                                              {"update_share", "tuner", "phase", 0.25, check_update},
                                              {"tail_share", "tuner", "phase", 0.2, check_tail},
                                              {"queue_empty", "tuner", "queue", 0.3, check_queue_empty},
                                              {"bottleneck", "tuner", "stage", 0.1, check_bottleneck},
                                              {"runner_idle", "tuner", "stage", 0.9, check_runner_idle},
                                              {"cpu_share", "tuner", "run", 0.8, check_cpu},
                                              {"worker_outlier", "workers", "worker", 0.2, check_outlier},
                                              {"worker_killed", "workers", "worker", 0, check_killed},
                                              {"failed_trials", "workers", "task", 0.5, check_failed},
                                              {"memory_failed", "memory", "memory", 0, check_memory_failed},
                                              {"memory_held", "memory", "memory", 0.9, check_memory_held},
                                              {"events_dropped", "recording", "run", 0, check_dropped},
                                              {"recording_cost", "recording", "run", 0.05, check_cost},
                                              {NULL, NULL, NULL, 0, NULL}};
