/* parse_tuning.c: parsers of what a tuning run records: rounds, phases, queues, the pipeline's stages, workers, tasks,
 * candidates, counters of kernels. They look for these names:
 *
 *   Round#k              category round: a round, on the tuner's lane
 *   NAME_queue           counters of category queue: the length at each poll; NAME_queue_capacity: the capacity
 *   measure              scopes of category measure or worker: a trial in a worker; arguments workload, shapes, flops
 *   task                 marks of category task: arguments workload, program, flops, weight, trials_wanted
 *   (any name)           scopes with the arguments workload and seconds: the result of a trial; 0 if it failed
 *   stage                marks of category kernel: counters of one stage of a kernel (columns_kernel) */
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"
#include "profile/phases.h"
#include "profile/reports.h"

/* ---- round, phase ------------------------------------------------------------------------------------------------ */

#define X(NAME, text, categories) {text "_ns", TN_CELL_INT},
static const tn_column columns_round[] = {
    {"round", TN_CELL_INT}, {"start_ns", TN_CELL_INT}, {"duration_ns", TN_CELL_INT}, PROFILER_PHASES(X)};
#undef X

/* Rounds are numbered from 1, since 0 is the mean in step_trace. */
static bool parse_round(const tn_recording *r, tn_rows *out) {
  int n;
  bool is_tuning = profiler_is_tuning(r); /* else the columns of its phases are missing: table step has the user's */
  int64_t *starts;
  profiler_phases *rounds = profiler_phases_of_rounds(r, &n, &starts);
  bool done = rounds != NULL;
  for (int i = 0; done && i < n; ++i) {
    const profiler_phases *p = &rounds[i];
#define X(NAME, text, categories) , is_tuning ? p->ns[PROFILER_PHASE_##NAME] : INT64_MIN
    done = tn_rows_add(out, (int64_t)i + 1, starts[i], p->wall_ns PROFILER_PHASES(X));
#undef X
  }
  free(rounds);
  free(starts);
  return done;
}
ANALYSIS_TABLE(round);

static const tn_column columns_phase[] = {{"phase", TN_CELL_TEXT}, {"total_ns", TN_CELL_INT}, {"share", TN_CELL_REAL}};

static bool add_phase(tn_rows *out, const char *name, int64_t ns, int64_t wall_ns) {
  return tn_rows_add(out, name, ns, wall_ns > 0 ? (double)ns / (double)wall_ns : NAN);
}

/* A row for each phase of the main lane; their times add up to the run's. */
static bool add_tuners_phases(const tn_recording *r, tn_rows *out) {
  profiler_phases phases;
  if (!profiler_phases_of(r, &phases)) return false;
  for (int i = 0; i < PROFILER_PHASE_COUNT; ++i)
    if (!add_phase(out, profiler_phase_name(i), phases.ns[i], phases.wall_ns)) return false;
  return true;
}

/* ---- phases that users name: the outermost scopes, or those directly inside of rounds --------------------------- */

enum { MOST_NAMED = 64 };
/* What a round spent in scopes that the user named. Times beyond MOST_NAMED names go to OTHERS_NS. */
typedef struct named {
  int n;
  const char *names[MOST_NAMED]; /* interned: equal names have equal addresses */
  int64_t ns[MOST_NAMED], calls[MOST_NAMED], sum_ns, others_ns;
} named;

/* Names that the table has no room for are summed as one. */
static void add_named(named *all, const tn_event *e) {
  int k = 0;
  while (k < all->n && all->names[k] != e->name) ++k;
  all->sum_ns += e->duration_ns;
  if (k == MOST_NAMED) {
    all->others_ns += e->duration_ns;
    return;
  }
  if (k == all->n) all->names[all->n++] = e->name;
  all->ns[k] += e->duration_ns;
  ++all->calls[k];
}

/* Whether a scope is a phase: it is outermost, or directly in a round. */
static bool is_phase(const tn_recording *r, const tn_event *e) {
  bool is_outer = e->parent < 0 || profiler_is_round(&r->events[e->parent]);
  return e->kind == TN_EVENT_SCOPE && is_outer && !profiler_is_round(e) && !(e->flags & TN_EVENT_OVERLAP);
}

/* The phases of the main lane; time outside all of them is "(rest)". */
static bool add_users_phases(const tn_recording *r, int32_t lane, tn_rows *out) {
  named all = {.n = 0};
  int64_t wall_ns = r->info.duration_ns;
  bool done = true;
  for (int64_t i = 0; i < r->n_events; ++i)
    if (r->events[i].lane == lane && is_phase(r, &r->events[i])) add_named(&all, &r->events[i]);
  for (int k = 0; done && k < all.n; ++k) done = add_phase(out, all.names[k], all.ns[k], wall_ns);
  if (done && all.others_ns) done = add_phase(out, "(others)", all.others_ns, wall_ns);
  return done && add_phase(out, "(rest)", wall_ns - all.sum_ns, wall_ns);
}

/* Without a main lane the table is empty, which is no failure. */
static bool parse_phase(const tn_recording *r, tn_rows *out) {
  int32_t lane = profiler_main_lane(r);
  if (lane < 0) return true;
  return profiler_is_tuning(r) ? add_tuners_phases(r, out) : add_users_phases(r, lane, out);
}
ANALYSIS_TABLE(phase);

static const tn_column columns_step[] = {{"round", TN_CELL_INT},
                                         {"phase", TN_CELL_TEXT},
                                         {"calls", TN_CELL_INT},
                                         {"total_ns", TN_CELL_INT},
                                         {"share", TN_CELL_REAL}};

/* The rows of one round: its phases by name, what there was no room for ("(others)"), and time outside all
 * scopes ("(rest)"). Shares are of the round's wall time. */
static bool add_step(tn_rows *out, int64_t round, const named *all, int64_t wall_ns) {
  double wall = wall_ns > 0 ? (double)wall_ns : NAN;
  bool done = true;
  for (int k = 0; done && k < all->n; ++k)
    done = tn_rows_add(out, round, all->names[k], all->calls[k], all->ns[k], (double)all->ns[k] / wall);
  if (done && all->others_ns)
    done = tn_rows_add(out, round, "(others)", (int64_t)1, all->others_ns, (double)all->others_ns / wall);
  int64_t rest = wall_ns - all->sum_ns;
  return done && tn_rows_add(out, round, "(rest)", (int64_t)1, rest, (double)rest / wall);
}

/* The scopes directly inside each round, by the names that the user gave. */
static bool parse_step(const tn_recording *r, tn_rows *out) {
  int64_t round = 0;
  bool done = true;
  for (int64_t i = 0; done && i < r->n_events; ++i) {
    if (!profiler_is_round(&r->events[i])) continue;
    named all = {.n = 0};
    const tn_event *e = &r->events[i], *inner = e + 1, *end = r->events + r->n_events;
    for (; inner < end && inner->lane == e->lane && inner->start_ns < e->start_ns + e->duration_ns; ++inner)
      if (inner->parent == i && is_phase(r, inner)) add_named(&all, inner);
    done = add_step(out, ++round, &all, e->duration_ns);
  }
  return done;
}
ANALYSIS_TABLE(step);

/* ---- queue ------------------------------------------------------------------------------------------------------- */

static const tn_column columns_queue[] = {
    {"queue", TN_CELL_TEXT},       {"polls", TN_CELL_INT},       {"empty", TN_CELL_INT},
    {"full", TN_CELL_INT},         {"capacity", TN_CELL_REAL},   {"mean", TN_CELL_REAL},
    {"empty_share", TN_CELL_REAL}, {"full_share", TN_CELL_REAL}, {"usage", TN_CELL_REAL}};

/* Further queues are left out. */
enum { MOST_QUEUES = 64 };
/* A queue between two stages, as its counters show it at each poll. Lengths and capacity are in jobs;
 * LENGTH is of the name. */
typedef struct queue {
  const char *name; /* the counter's */
  size_t length;    /* of the queue's name in that */
  int64_t polls, empty, full;
  double sum, most, capacity;
} queue;

/* The pipeline names its counters NAME_queue_size and NAME_queue_capacity. */
static bool is_queue_sample(const tn_event *e) {
  return e->kind == TN_EVENT_COUNTER && e->category == TN_CATEGORY_QUEUE && strstr(e->name, "_queue");
}

/* NAME contains "_queue", which is_queue_sample has checked. */
static bool is_capacity(const char *name) {
  const char *end = strstr(name, "_queue");
  return strcmp(end, "_queue_capacity") == 0;
}

/* The queue to which a sample belongs; a capacity belongs to the queue whose name it extends. */
static queue *queue_of(queue *queues, int *n, const char *name) {
  size_t length = (size_t)(strstr(name, "_queue") - name);
  for (int i = 0; i < *n; ++i) {
    if (queues[i].length == length && strncmp(queues[i].name, name, length) == 0) return &queues[i];
  }
  if (*n == MOST_QUEUES || is_capacity(name)) return NULL;
  queues[*n] = (queue){.name = name, .length = length};
  return &queues[(*n)++];
}

/* The capacity must be known: capacities are read in a pass before. */
static void poll_queue(queue *q, const tn_event *e) {
  ++q->polls;
  q->empty += e->value <= 0;
  q->full += q->capacity > 0 && e->value >= q->capacity;
  q->sum += e->value;
}

/* Finds queues by name. Without a known capacity, a queue's greatest length counts as that. */
static int find_queues(const tn_recording *r, queue *queues) {
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    if (!is_queue_sample(&r->events[i]) || is_capacity(r->events[i].name)) continue;
    queue *q = queue_of(queues, &n, r->events[i].name);
    if (q) q->most = RUNTIME_MAX(q->most, r->events[i].value);
  }
  for (int i = 0; i < n; ++i) queues[i].capacity = queues[i].most;
  for (int64_t i = 0; i < r->n_events; ++i) {
    if (!is_queue_sample(&r->events[i]) || !is_capacity(r->events[i].name)) continue;
    queue *q = queue_of(queues, &n, r->events[i].name);
    if (q) q->capacity = r->events[i].value;
  }
  for (int64_t i = 0; i < r->n_events; ++i) {
    if (!is_queue_sample(&r->events[i]) || is_capacity(r->events[i].name)) continue;
    queue *q = queue_of(queues, &n, r->events[i].name);
    if (q) poll_queue(q, &r->events[i]);
  }
  return n;
}

static double usage_of(const queue *q) { return q->capacity > 0 ? q->sum / (double)q->polls / q->capacity : 0; }

/* Queues that were never polled have no row, so that no share divides by 0. */
static bool parse_queue(const tn_recording *r, tn_rows *out) {
  queue queues[MOST_QUEUES];
  int n = find_queues(r, queues);
  for (int i = 0; i < n; ++i) {
    const queue *q = &queues[i];
    double polls = (double)q->polls;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)q->length, q->name);
    if (!tn_rows_add(out, name, q->polls, q->empty, q->full, q->capacity, q->sum / polls, (double)q->empty / polls,
                     (double)q->full / polls, usage_of(q)))
      return false;
  }
  return true;
}
ANALYSIS_TABLE(queue);

/* ---- stage: builder -> runner ------------------------------------------------------------------------------------ */

static const tn_column columns_stage[] = {
    {"stage", TN_CELL_TEXT},       {"workers", TN_CELL_INT},       {"calls", TN_CELL_INT},
    {"busy_ns", TN_CELL_INT},      {"utilisation", TN_CELL_REAL},  {"input_queue", TN_CELL_TEXT},
    {"input_usage", TN_CELL_REAL}, {"output_queue", TN_CELL_TEXT}, {"output_usage", TN_CELL_REAL},
    {"pressure", TN_CELL_REAL},    {"lockstep", TN_CELL_INT},      {"bottleneck", TN_CELL_INT},
    {"idle_share", TN_CELL_REAL}};

/* The stages of the pipeline in order. A stage's pressure is what waits before it less what waits behind
 * it. If work is always available, the first stage's input counts as 1; the last one's output, with nothing
 * behind it, as 0. In lockstep, when two stages hardly ever work at once, queues tell nothing; then the
 * stage for which the tuner's thread waits longest counts. */
static const struct stage {
  const char *name, *input, *output;
  profiler_phase phase;
} stages[] = {{"generate", "", "builder", PROFILER_PHASE_GENERATE},
              {"build", "builder", "runner", PROFILER_PHASE_BUILD},
              {"measure", "runner", "", PROFILER_PHASE_MEASURE}};
enum { STAGES = sizeof stages / sizeof *stages };

/* What a stage did: how many worked in it, how often and how long. */
typedef struct stage_sum {
  int64_t workers, calls, busy_ns;
  int64_t main_ns;      /* of the main lane, working on it or waiting for it */
  double input, output; /* usage of the queues; NaN: there is no such queue */
  double idle_share;    /* of the time from its first to its last work; NaN: it did nothing */
} stage_sum;

/* A scope inside another one of the same phase is part of its busy time already. */
static bool is_outermost(const tn_recording *r, const tn_event *e, profiler_phase phase) {
  for (int32_t at = e->parent; at >= 0; at = r->events[at].parent) {
    if (profiler_phase_of_category(r->events[at].category) == phase) return false;
  }
  return true;
}

/* Busy time is that of the lanes that do the work: workers, if there are any in this stage, otherwise all. */
static void add_busy(const tn_recording *r, profiler_phase phase, stage_sum *s) {
  int32_t main_lane = profiler_main_lane(r), lane = -1;
  stage_sum own = {0};
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_SCOPE || profiler_phase_of_category(e->category) != phase) continue;
    if (!is_outermost(r, e, phase)) continue;
    stage_sum *to = e->lane == main_lane ? &own : s;
    to->workers += e->lane != lane;
    lane = e->lane;
    ++to->calls;
    to->busy_ns += e->duration_ns;
  }
  s->main_ns = own.busy_ns;
  if (s->calls == 0) s->workers = own.workers, s->calls = own.calls, s->busy_ns = own.busy_ns;
}

/* A stage begins (CHANGE 1) or ends (-1) work on some lane. */
typedef struct moment {
  int64_t at_ns;
  int stage, change;
} moment;
typedef RUNTIME_VEC(moment) moments;

/* Ends come before beginnings, so that consecutive work does not overlap. */
static int by_time(const void *left, const void *right) {
  const moment *a = left, *b = right;
  return a->at_ns != b->at_ns ? (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns) : a->change - b->change;
}

/* Uses the same scopes as add_busy. False: no memory. */
static bool add_moments(const tn_recording *r, int stage, const stage_sum *s, moments *out) {
  int32_t main_lane = profiler_main_lane(r);
  bool is_of_main = s->main_ns == s->busy_ns;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_SCOPE || profiler_phase_of_category(e->category) != stages[stage].phase) continue;
    if ((e->lane == main_lane) != is_of_main || !is_outermost(r, e, stages[stage].phase)) continue;
    if (!RUNTIME_PUSH(out, ((moment){e->start_ns, stage, 1}))) return false;
    if (!RUNTIME_PUSH(out, ((moment){e->start_ns + e->duration_ns, stage, -1}))) return false;
  }
  return true;
}

/* Goes through the sorted moments. *ANY: the time in which some stage worked; *SEVERAL: in which at least two did. */
static void walk(const moments *all, stage_sum *sums, int64_t *any, int64_t *several) {
  int64_t busy[STAGES] = {0}, first[STAGES], last[STAGES] = {0};
  int depth[STAGES] = {0};
  for (int k = 0; k < STAGES; ++k) first[k] = INT64_MAX;
  for (int i = 0; i < all->n; ++i) {
    const moment *m = &all->data[i];
    int64_t passed = i ? m->at_ns - all->data[i - 1].at_ns : 0;
    int n = 0;
    for (int k = 0; k < STAGES; ++k) {
      n += depth[k] > 0;
      if (depth[k] > 0) busy[k] += passed;
    }
    if (n > 0) *any += passed;
    if (n > 1) *several += passed;
    depth[m->stage] += m->change;
    first[m->stage] = RUNTIME_MIN(first[m->stage], m->at_ns);
    last[m->stage] = m->at_ns;
  }
  for (int k = 0; k < STAGES; ++k)
    sums[k].idle_share = last[k] > first[k] ? 1 - (double)busy[k] / (double)(last[k] - first[k]) : (double)NAN;
}

/* Finds whether stages take turns, and each one's idle time. False: no memory. */
static bool compare_stages(const tn_recording *r, stage_sum *sums, bool *is_lockstep) {
  enum { LEAST_SHARE = 20 /* one part of this many */ };
  moments all = {0};
  int64_t any = 0, several = 0;
  bool done = true;
  for (int k = 0; k < STAGES && done; ++k) done = add_moments(r, k, &sums[k], &all);
  if (done && all.n) qsort(all.data, (size_t)all.n, sizeof *all.data, by_time);
  if (done) walk(&all, sums, &any, &several);
  RUNTIME_VEC_FREE(&all);
  *is_lockstep = several < any / LEAST_SHARE;
  return done;
}

/* NAN: the recording has no such queue. */
static double find_usage(const queue *queues, int n, const char *name) {
  for (int i = 0; i < n; ++i) {
    if (queues[i].length == strlen(name) && strncmp(queues[i].name, name, queues[i].length) == 0)
      return usage_of(&queues[i]);
  }
  return NAN;
}

/* A stage without an input queue always has work available, unless it is the last. */
static double pressure_of(const stage_sum *s, int k) {
  double input = isnan(s->input) ? (k < STAGES - 1) : s->input, output = isnan(s->output) ? 0 : s->output;
  return input - output;
}

/* The weight by which the bottleneck is chosen; negative: the stage does not count. */
static double weight_of(const stage_sum *s, int k, bool is_lockstep) {
  if (is_lockstep) return (double)s->main_ns;
  return isnan(s->input) && isnan(s->output) ? -2 : pressure_of(s, k);
}

/* Fills in the stages. Returns the bottleneck's number; -1: nothing shows it; -2: no memory. */
static int weigh_stages(const tn_recording *r, stage_sum *sums, bool *is_lockstep) {
  queue queues[MOST_QUEUES];
  int n = find_queues(r, queues), n_main = 0, worst = -1;
  for (int k = 0; k < STAGES; ++k) {
    add_busy(r, stages[k].phase, &sums[k]);
    sums[k].input = find_usage(queues, n, stages[k].input);
    sums[k].output = find_usage(queues, n, stages[k].output);
    n_main += sums[k].main_ns > 0;
  }
  if (!compare_stages(r, sums, is_lockstep)) return -2;
  *is_lockstep = *is_lockstep && n_main > 1;
  for (int k = 0; k < STAGES; ++k) {
    double weight = weight_of(&sums[k], k, *is_lockstep);
    if (weight > (worst < 0 ? -2 : weight_of(&sums[worst], worst, *is_lockstep))) worst = k;
  }
  return worst;
}

/* Stages that left no trace are skipped: tuning without a model has no training. In lockstep pressure means
 * nothing and is missing. */
static bool parse_stage(const tn_recording *r, tn_rows *out) {
  stage_sum sums[STAGES] = {{0}};
  bool is_lockstep;
  int worst = weigh_stages(r, sums, &is_lockstep);
  if (worst < -1) return false;
  for (int k = 0; k < STAGES; ++k) {
    const stage_sum *s = &sums[k];
    double capacity_ns = (double)r->info.duration_ns * (double)s->workers;
    if (s->calls == 0 && isnan(s->input) && isnan(s->output)) continue;
    if (!tn_rows_add(out, stages[k].name, s->workers, s->calls, s->busy_ns,
                     capacity_ns > 0 ? (double)s->busy_ns / capacity_ns : NAN, stages[k].input, s->input,
                     stages[k].output, s->output, is_lockstep ? NAN : pressure_of(s, k), (int64_t)is_lockstep,
                     (int64_t)(k == worst), s->idle_share))
      return false;
  }
  return true;
}
ANALYSIS_TABLE(stage);

/* ---- trials: workers, tasks -------------------------------------------------------------------------------------- */

/* Whether the event is a trial in a worker (category worker or measure); the tuner's own scope around it
 * has another name. */
static bool is_trial(const tn_event *e) {
  return e->kind == TN_EVENT_SCOPE && strcmp(e->name, "measure") == 0 &&
         (e->category == TN_CATEGORY_MEASURE || e->category == TN_CATEGORY_WORKER);
}

static const tn_column columns_worker[] = {
    {"worker", TN_CELL_TEXT}, {"pid", TN_CELL_INT},      {"trials", TN_CELL_INT}, {"killed", TN_CELL_INT},
    {"busy_ns", TN_CELL_INT}, {"mean_ns", TN_CELL_REAL}, {"max_ns", TN_CELL_INT}, {"share", TN_CELL_REAL}};

/* A measuring process: the trials it served, those it did not survive, and the time of its requests. */
typedef struct worker {
  int64_t trials, killed, busy_ns, max_ns;
} worker;

/* A killed trial counts with the time until it was killed. */
static bool parse_worker(const tn_recording *r, tn_rows *out) {
  worker *workers = calloc((size_t)r->processes.n + 1, sizeof *workers);
  for (int64_t i = 0; workers && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    worker *w = &workers[r->lanes.data[e->lane].process];
    if (!is_trial(e)) continue;
    ++w->trials;
    w->killed += (e->flags & TN_EVENT_KILLED) != 0;
    w->busy_ns += e->duration_ns;
    w->max_ns = RUNTIME_MAX(w->max_ns, e->duration_ns);
  }
  bool done = workers != NULL;
  double wall_ns = (double)RUNTIME_MAX(r->info.duration_ns, 1);
  for (int p = 0; done && p < r->processes.n; ++p) {
    const worker *w = &workers[p];
    char name[96];
    if (w->trials == 0) continue;
    snprintf(name, sizeof name, "%s %lld", r->processes.data[p].name, (long long)r->processes.data[p].pid);
    done = tn_rows_add(out, name, r->processes.data[p].pid, w->trials, w->killed, w->busy_ns,
                       (double)w->busy_ns / (double)w->trials, w->max_ns, (double)w->busy_ns / wall_ns);
  }
  free(workers);
  return done;
}
ANALYSIS_TABLE(worker);

static const tn_column columns_task[] = {
    {"task", TN_CELL_TEXT},   {"workload", TN_CELL_TEXT}, {"shapes", TN_CELL_TEXT}, {"flops", TN_CELL_REAL},
    {"weight", TN_CELL_REAL}, {"best_s", TN_CELL_REAL},   {"gflops", TN_CELL_REAL}, {"weighted_s", TN_CELL_REAL},
    {"trials", TN_CELL_INT},  {"failed", TN_CELL_INT},    {"done", TN_CELL_INT}};

/* A task of the run, as its arguments describe it; BEST_S is the fastest time measured. */
typedef struct task {
  const char *workload, *program, *shapes;
  double flops, weight, best_s, trials_wanted;
  int64_t trials, failed;
} task;
typedef RUNTIME_VEC(task) task_list;

/* A linear search, since a run has few tasks. The address is valid until the next task is added. */
static task *task_of(task_list *tasks, const char *workload) {
  for (int i = 0; i < tasks->n; ++i) {
    if (strcmp(tasks->data[i].workload, workload) == 0) return &tasks->data[i];
  }
  task fresh = {
      .workload = workload, .program = workload, .shapes = "", .weight = 1, .best_s = NAN, .trials_wanted = NAN};
  return RUNTIME_PUSH(tasks, fresh) ? &tasks->data[tasks->n - 1] : NULL;
}

/* Takes what the event says about its task; with "seconds" it is a trial. */
static void add_to_task(task *t, const tn_recording *r, const tn_event *e) {
  double seconds = profiler_arg_number(r, e, "seconds", NAN);
  t->program = profiler_arg_text(r, e, "program", t->program);
  t->shapes = profiler_arg_text(r, e, "shapes", t->shapes);
  t->flops = profiler_arg_number(r, e, "flops", t->flops);
  t->weight = profiler_arg_number(r, e, "weight", t->weight);
  t->trials_wanted = profiler_arg_number(r, e, "trials_wanted", t->trials_wanted);
  if (isnan(seconds)) return;
  ++t->trials;
  t->failed += !(seconds > 0);
  if (seconds > 0 && !(seconds >= t->best_s)) t->best_s = seconds;
}

/* Any event with the argument "workload" belongs to a task. */
static bool collect_tasks(const tn_recording *r, task_list *tasks) {
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    const char *workload = e->n_args ? profiler_arg_text(r, e, "workload", NULL) : NULL;
    if (!workload) continue;
    task *t = task_of(tasks, workload);
    if (!t) return false;
    add_to_task(t, r, e);
  }
  return true;
}

/* A task is named by the last line of its program, which is its result. */
static bool add_task(const task *t, tn_rows *out) {
  char name[256];
  size_t n = strlen(t->program);
  while (n && t->program[n - 1] == '\n') --n;
  size_t start = n;
  while (start && t->program[start - 1] != '\n') --start;
  snprintf(name, sizeof name, "%.*s", (int)RUNTIME_MIN(n - start, sizeof name - 1), t->program + start);
  return tn_rows_add(out, name, t->workload, t->shapes, t->flops, t->weight, t->best_s, t->flops / t->best_s * 1e-9,
                     t->weight * t->best_s, t->trials, t->failed, (int64_t)((double)t->trials >= t->trials_wanted));
}

/* A row for each task, in the order of first appearance. */
static bool parse_task(const tn_recording *r, tn_rows *out) {
  task_list tasks = {0};
  bool done = collect_tasks(r, &tasks);
  for (int i = 0; done && i < tasks.n; ++i) done = add_task(&tasks.data[i], out);
  RUNTIME_VEC_FREE(&tasks);
  return done;
}
ANALYSIS_TABLE(task);

/* ---- candidate: what has one sequence number --------------------------------------------------------------------- */

#define X(NAME, text, categories) {text "_ns", TN_CELL_INT},
static const tn_column columns_candidate[] = {{"candidate", TN_CELL_INT},
                                              {"events", TN_CELL_INT},
                                              {"first_ns", TN_CELL_INT},
                                              {"last_ns", TN_CELL_INT},
                                              PROFILER_PHASES(X)};
#undef X

/* All events of one candidate, by its sequence number: when it began and ended, and where its time went. */
typedef struct candidate {
  int64_t events, first_ns, last_ns;
  profiler_phases phases;
} candidate;

/* The tuner's scope contains the worker's, so the longer one counts. */
static void add_to_candidate(candidate *c, const tn_event *e) {
  profiler_phase phase = profiler_phase_of_category(e->category);
  if (!c->events++) c->first_ns = e->start_ns;
  c->first_ns = RUNTIME_MIN(c->first_ns, e->start_ns);
  c->last_ns = RUNTIME_MAX(c->last_ns, e->start_ns + e->duration_ns);
  c->phases.ns[phase] = RUNTIME_MAX(c->phases.ns[phase], e->duration_ns);
}

/* Sequence numbers greater than the number of events come from a damaged file and are left out: they would
 * need any amount of memory. */
static bool parse_candidate(const tn_recording *r, tn_rows *out) {
  uint32_t most = 0;
  for (int64_t i = 0; i < r->n_events; ++i)
    if (profiler_has_time(&r->events[i]) && r->events[i].sequence <= (uint64_t)r->n_events)
      most = RUNTIME_MAX(most, r->events[i].sequence);
  candidate *all = calloc((size_t)most + 1, sizeof *all);
  for (int64_t i = 0; all && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (profiler_has_time(e) && e->sequence && e->sequence <= most) add_to_candidate(&all[e->sequence], e);
  }
  bool done = all != NULL;
  for (uint32_t k = 1; done && k <= most; ++k) {
    const candidate *c = &all[k];
#define X(NAME, text, categories) , c->phases.ns[PROFILER_PHASE_##NAME]
    if (c->events) done = tn_rows_add(out, (int64_t)k, c->events, c->first_ns, c->last_ns PROFILER_PHASES(X));
#undef X
  }
  free(all);
  return done;
}
ANALYSIS_TABLE(candidate);

/* ---- kernel: counters of stages ---------------------------------------------------------------------------------- */

/* Arguments of the marks "stage": X(name). share and active are fractions: of the kernel's time, and of the
 * threads in use. */
#define KERNEL_COUNTERS(X) \
  X(points)                \
  X(required)              \
  X(loads)                 \
  X(vector_loads)          \
  X(gathers)               \
  X(stores)                \
  X(vector_stores)         \
  X(scatters)              \
  X(store_bits)            \
  X(native_bits) X(loops) X(tasks) X(threads) X(active) X(share) X(is_root) X(is_parallel) X(visits)

#define X(name) \
  , { #name, TN_CELL_REAL }
static const tn_column columns_kernel[] = {
    {"kernel", TN_CELL_TEXT}, {"stage", TN_CELL_TEXT}, {"recompute", TN_CELL_REAL} KERNEL_COUNTERS(X)};
#undef X

/* Counters that a mark lacks are missing, not 0. */
static bool parse_kernel(const tn_recording *r, tn_rows *out) {
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_INSTANT || e->category != TN_CATEGORY_KERNEL || strcmp(e->name, "stage") != 0) continue;
    double required = profiler_arg_number(r, e, "required", NAN);
#define X(name) , profiler_arg_number(r, e, #name, NAN)
    if (!tn_rows_add(out, profiler_arg_text(r, e, "kernel", ""), profiler_arg_text(r, e, "stage", ""),
                     profiler_arg_number(r, e, "points", NAN) / required KERNEL_COUNTERS(X)))
      return false;
#undef X
  }
  return true;
}
ANALYSIS_TABLE(kernel);
