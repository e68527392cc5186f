/* pipeline.c: from proposals to records. Two rounds are under way: the candidates of one are run while
 * those of the next are built, and while the search makes the one after it. A round is proposed when the
 * round before the last has been learned from, and its results are learned in the order of its candidates.
 * So what is proposed depends on the seed and the costs, and not on how many workers there are or which was
 * first.
 *
 * If several tuners share a builder and a runner, each goes on for one round at a time: only the older of
 * its rounds is built and run, and the next one is proposed meanwhile and waits for this tuner's next turn.
 * So nothing has to be stopped or given up when another task is tuned. */
#include <math.h>

#include "autotune/tuner.h"

/* Seconds of waiting for jobs when there is nothing else to do. */
#define WAIT_S 0.05
/* Seconds that one of two stages that are polled may wait for the other. */
#define TURN_S 0.001
/* Runs that take this long together are submitted together, so that workers need nobody in between. */
#define RUNS_TOGETHER_S 0.15
enum { MOST_RUNS_TOGETHER = 24 };

/* The life of a candidate. */
typedef enum slot_state { PROPOSED, BUILDING, BUILT, RUNNING, DONE } slot_state;

/* A candidate of a round. */
typedef struct slot {
  slot_state state;
  tn_schedule *schedule;
  tn_candidate candidate;
  tn_measurement measurement;
  tn_job job;
  tn_async under_way; /* for recordings: first "building", then "measuring" */
  uint64_t claim;     /* hash that other tuners of the log see; 0: not claimed */
  double cost_s;      /* what the search learns; NAN: nothing was measured */
} slot;

/* A round: candidates that were proposed together. */
typedef struct batch {
  int n, n_done;
  slot *slots;
} batch;

/* Rounds that are under way at once: one is measured, the next is built. */
enum { ROUNDS = 2 };

/* Up to two rounds: the next one is built while the older one is measured, so that machines do not wait for
 * the search. */
struct tuner_pipeline {
  tuner *t;
  int n_rounds;
  int n_learned, until; /* finished rounds; at UNTIL of them it is another tuner's turn */
  batch rounds[ROUNDS]; /* the older one first */
  int n_building, n_built, n_running;
  double run_s;   /* seconds of the last runs, on average; 0: unknown */
  bool is_inside; /* called from the search, which gives us a moment now and then */
  bool has_ended; /* nothing is submitted any more */
  tn_status status;
};
typedef struct tuner_pipeline pipeline;

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static void unclaim(tuner *t, slot *s) {
  if (s->claim) autotune_unclaim(&t->claims, s->claim);
  s->claim = 0;
}

/* In any state; its claim on the log is given up, too. */
static void free_slot(tuner *t, slot *s) {
  unclaim(t, s);
  tn_schedule_free(s->schedule);
  free((char *)s->candidate.steps);
  free(s->measurement.message);
  free(s->measurement.object);
}

static void free_round(tuner *t, batch *r) {
  for (int i = 0; i < r->n; ++i) free_slot(t, &r->slots[i]);
  free(r->slots);
  *r = (batch){0};
}

static void finish(batch *r, slot *s) {
  s->state = DONE;
  r->n_done++;
}

static batch *round_of(pipeline *p, const slot *s) {
  for (int i = 0; i < p->n_rounds; ++i)
    if (s >= p->rounds[i].slots && s < p->rounds[i].slots + p->rounds[i].n) return &p->rounds[i];
  return NULL;
}

/* The first candidate in this state, in the order of the proposals, of rounds that may go on in this turn;
 * NULL: none. *ITS is its round. */
static slot *first_that_is(pipeline *p, slot_state state, batch **its) {
  int n = RUNTIME_MIN(p->n_rounds, p->until - p->n_learned);
  for (int r = 0; r < n; ++r) {
    *its = &p->rounds[r];
    for (int i = 0; i < (*its)->n; ++i)
      if ((*its)->slots[i].state == state) return &(*its)->slots[i];
  }
  return NULL;
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

static const tn_site build_site = {__FILE__, "pipeline", 0, TN_CATEGORY_BUILD, 1},
                     run_site = {__FILE__, "pipeline", 0, TN_CATEGORY_MEASURE, 1};

/* Begins a range of the profiler for the time that a candidate is away. */
static tn_async begin_range(const tn_site *site, const char *name, const tn_candidate *c) {
  tn_async range = tn_async_begin(site, name);
  range.sequence = c->sequence;
  return range;
}

/* The job points into the slot, so slots must not move until it comes back. */
static tn_status submit_build(pipeline *p, slot *s) {
  TN_SCOPE_AS(scope, BUILD, 1, "SendToBuilder");
  tn_scope_sequence(&scope, s->candidate.sequence);
  tn_status status = tuner_describe(p->t, s->schedule, &s->candidate);
  if (status != TN_OK) return status;
  s->job = (tn_job){&s->candidate, &s->measurement, s};
  s->under_way = begin_range(&build_site, "building", &s->candidate);
  status = tuner_submit(&p->t->build_stage, &s->job);
  if (status != TN_OK) return status;
  s->state = BUILDING;
  p->n_building++;
  return TN_OK;
}

/* Only for candidates that were built. In a recording, an arrow connects the building and the run. */
static tn_status submit_run(pipeline *p, slot *s) {
  TN_SCOPE_AS(scope, MEASURE, 1, "SendToRunner");
  tn_scope_sequence(&scope, s->candidate.sequence);
  if (s->candidate.sequence) tn_flow(&autotune_flow_site, AUTOTUNE_FLOW, TN_FLOW_START, s->candidate.sequence);
  tuner_before_run(p->t, s->schedule, &s->candidate);
  s->under_way = begin_range(&run_site, "measuring", &s->candidate);
  tn_status status = tuner_submit(&p->t->run_stage, &s->job);
  if (status != TN_OK) return status;
  s->state = RUNNING;
  p->n_built--;
  p->n_running++;
  return TN_OK;
}

/* Keeps all builders busy, but builds at most one round ahead of the runs: what is learned may make more of
 * it useless. */
static tn_status submit_builds(pipeline *p) {
  tn_status status = TN_OK;
  int most = p->t->build_stage.ahead;
  batch *r;
  while (status == TN_OK && p->n_building < most && p->n_built < most + p->t->options.per_round) {
    slot *s = first_that_is(p, PROPOSED, &r);
    if (!s) break;
    status = submit_build(p, s);
  }
  return status;
}

/* How many runs may be submitted at once. While no time is known only one, since its time limits the others. */
static int runs_ahead(const pipeline *p) {
  if (p->t->held == 0) return 1;
  int ahead = p->t->run_stage.ahead;
  if (ahead == 1 || p->run_s <= 0) return ahead;
  return RUNTIME_MAX(ahead, (int)fmin(RUNS_TOGETHER_S / p->run_s, MOST_RUNS_TOGETHER));
}

/* Keeps all runners busy. Before a run, others' records are read: what another tuner of the log has
 * measured needs no run. */
static tn_status submit_runs(pipeline *p) {
  tn_status status = TN_OK;
  int most = runs_ahead(p);
  batch *r;
  while (status == TN_OK && p->n_running < most) {
    slot *s = first_that_is(p, BUILT, &r);
    if (!s) break;
    if (!p->is_inside) status = tuner_catch_up(p->t); /* others may have measured what was wanted */
    if (status == TN_OK && tuner_is_done(p->t)) break;
    if (status == TN_OK) status = submit_run(p, s);
  }
  return status;
}

/* ---- what comes back --------------------------------------------------------------------------------------------- */

/* Ends a candidate: its record is written. Nothing is read from the log here, because this may be called
 * from the search, which others' records would change while it works. */
static tn_status take(pipeline *p, slot *s) {
  tn_status status = tuner_take(p->t, &s->candidate, s->schedule, &s->measurement, &s->cost_s);
  free(s->measurement.object);
  s->measurement.object = NULL;
  unclaim(p->t, s);
  finish(round_of(p, s), s);
  return status == TN_OK && !p->is_inside ? tuner_catch_up(p->t) : status; /* what is wanted may be there by now */
}

/* A build has ended. A failed one ends the candidate; others wait for a runner. */
static tn_status take_built(pipeline *p, slot *s) {
  p->n_building--;
  if (s->measurement.error != TN_MEASURE_NONE || s->measurement.abandoned) return take(p, s);
  p->t->build_s += s->measurement.build_s;
  p->t->n_built++;
  s->state = BUILT;
  p->n_built++;
  return TN_OK;
}

static tn_status wait_for_job(const pipeline *p, tuner_stage *stage, double wait_s, tn_job **job) {
  *job = NULL;
  if (wait_s <= 0) return tuner_poll(stage, wait_s, job);
  TN_SCOPE(MEASURE, 1, p->n_running > 0 ? "SendToRunner/wait" : "SendToBuilder/wait");
  return tuner_poll(stage, wait_s, job);
}

/* Takes one finished job back, waiting WAIT_S at most. *CAME: there was one. */
static tn_status poll_stage(pipeline *p, tuner_stage *stage, double wait_s, bool *came) {
  tn_job *job;
  tn_status status = wait_for_job(p, stage, wait_s, &job);
  *came = job != NULL;
  if (!job) return status;
  slot *s = job->user;
  tn_status taken = TN_OK;
  tn_async_end(&s->under_way);
  if (stage == &p->t->build_stage) {
    taken = take_built(p, s);
  } else {
    p->n_running--;
    double run_s = s->measurement.run_s;
    p->run_s = p->run_s > 0 ? 0.8 * p->run_s + 0.2 * run_s : run_s;
    taken = take(p, s);
  }
  return status == TN_OK ? taken : status;
}

/* Submits all that may begin (if SUBMITS), then takes what has come from both stages, waiting if nothing has. */
static tn_status turn(pipeline *p, double wait_s, bool submits) {
  bool came = false;
  tn_status status = submits ? submit_runs(p) : TN_OK;
  if (status == TN_OK && submits) status = submit_builds(p);
  bool polls_both = p->n_building > 0 && p->n_running > 0;
  if (polls_both && !p->t->shares_pool) wait_s = wait_s < TURN_S ? wait_s : TURN_S;
  if (status == TN_OK && p->n_running > 0) status = poll_stage(p, &p->t->run_stage, wait_s, &came);
  bool has_waited = polls_both || came;
  while (status == TN_OK && came && p->is_inside && p->n_running > 0)
    status = poll_stage(p, &p->t->run_stage, 0, &came);
  if (status == TN_OK && p->n_building > 0) status = poll_stage(p, &p->t->build_stage, has_waited ? 0 : wait_s, &came);
  return status;
}

/* Gives up what is under way. Runs are waited for, unless the log has all records that were wanted, because
 * other tuners made them. Builders and runners that cannot be told to stop are waited for. */
static tn_status drain(pipeline *p) {
  tn_status status = TN_OK;
  bool has_all = p->t->held >= p->t->options.trials;
  while (status == TN_OK && p->n_running > 0 && !has_all) status = turn(p, WAIT_S, false);
  p->t->winds_up = true;
  while (status == TN_OK && p->n_building + p->n_running > 0) status = turn(p, WAIT_S, false);
  p->t->winds_up = false;
  return status;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Called many times a second by the search and by the training of the model. */
void tuner_meanwhile(void *user) {
  pipeline *p = ((tuner *)user)->pipeline;
  if (!p || p->has_ended || p->is_inside || p->status != TN_OK) return;
  p->is_inside = true;
  bool is_done = tuner_is_done(p->t);
  bool never_waits = p->t->shares_pool || (p->t->builder.submit && p->t->runner.submit);
  if (!is_done && never_waits) p->status = turn(p, 0, true);
  p->is_inside = false;
}

/* Candidates that have no record yet. */
static int count_open(const pipeline *p) {
  int n = 0;
  for (int i = 0; i < p->n_rounds; ++i) n += p->rounds[i].n - p->rounds[i].n_done;
  return n;
}

/* Leaves out what another tuner of the log is measuring or has measured. Claims are made here and not when
 * a build is submitted: a submission may come from inside the search, and with a claim the log is read. */
static tn_status claim_round(pipeline *p, batch *r) {
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < r->n; ++i) {
    slot *s = &r->slots[i];
    bool is_wanted;
    status = tuner_claim(p->t, s->schedule, &s->claim, &is_wanted);
    if (status == TN_OK && is_wanted) continue;
    finish(r, s);
    unclaim(p->t, s);
  }
  return status;
}

/* Takes the schedules over, and sets their places to NULL. */
static tn_status fill_round(pipeline *p, int n, tn_schedule **schedules) {
  batch *r = &p->rounds[p->n_rounds];
  r->slots = calloc((size_t)n, sizeof *r->slots);
  if (!r->slots) return runtime_fail(p->t->ctx, TN_ERROR_MEMORY, "out of memory for a round of %d candidates", n);
  r->n = n;
  r->n_done = 0;
  for (int i = 0; i < n; ++i) {
    r->slots[i] = (slot){.schedule = schedules[i], .cost_s = NAN};
    r->slots[i].candidate.sequence = autotune_search_sequence(p->t->search, i);
    schedules[i] = NULL;
  }
  p->n_rounds++;
  return claim_round(p, r);
}

/* Asks the search for WANT schedules and begins a round with them. If there are none, the space is exhausted. */
static tn_status propose(pipeline *p, int want) {
  tuner *t = p->t;
  tn_schedule **schedules = calloc((size_t)want, sizeof *schedules);
  if (!schedules) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a round of %d candidates", want);
  if (p->n_rounds == 0) tuner_tell(t, "searching");
  int n = autotune_search_next(t->search, want, schedules);
  t->result.exhausted = n == 0;
  tn_status status = tuner_check_memory(t);
  if (status == TN_OK && n > 0) status = fill_round(p, n, schedules);
  for (int i = 0; i < n; ++i) tn_schedule_free(schedules[i]);
  free(schedules);
  return status;
}

/* Tells the search the results of the older round, in the order of its proposals, and drops the round. */
static tn_status learn_round(pipeline *p) {
  tuner *t = p->t;
  batch old = p->rounds[0];
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < old.n; ++i) {
    const slot *s = &old.slots[i];
    if (s->measurement.error == TN_MEASURE_BUILD_TIMEOUT) autotune_search_too_long(t->search, s->schedule);
    if (!isnan(s->cost_s)) status = autotune_search_observe(t->search, s->schedule, s->cost_s);
  }
  p->rounds[0] = p->rounds[1];
  p->rounds[1] = (batch){0};
  p->n_rounds--;
  p->n_learned++;
  free_round(t, &old);
  tuner_end_round();
  if (status != TN_OK || tuner_is_done(t)) return status;
  TN_SCOPE(MODEL, 1, "MeasureCallback/UpdateCostModel");
  return autotune_model_refresh(t->model);
}

static bool is_round_done(const pipeline *p) { return p->n_rounds > 0 && p->rounds[0].n_done == p->rounds[0].n; }

/* How many candidates to propose now; 0: none. */
static int want_more(const pipeline *p) {
  const tuner *t = p->t;
  if (p->n_rounds == (t->has_one_round ? 1 : ROUNDS) || t->result.exhausted) return 0;
  return RUNTIME_MIN(t->options.per_round, t->options.trials - t->held - count_open(p));
}

/* One step of the run: learns from a finished round, begins another, or waits for jobs. */
static tn_status go_on(pipeline *p) {
  int want;
  tn_status status = TN_OK;
  if (is_round_done(p)) {
    status = learn_round(p);
  } else if ((want = want_more(p)) > 0) {
    status = propose(p, want);
  } else {
    status = turn(p, WAIT_S, true);
  }
  return status == TN_OK ? p->status : status;
}

tn_status tuner_begin_rounds(tuner *t) {
  t->pipeline = calloc(1, sizeof *t->pipeline);
  if (!t->pipeline) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for the rounds");
  t->pipeline->t = t;
  return TN_OK;
}

tn_status tuner_run_rounds(tuner *t, int n) {
  pipeline *p = t->pipeline;
  tn_status status = TN_OK;
  p->until = n > 0 ? p->n_learned + n : INT32_MAX;
  while (status == TN_OK && p->n_learned < p->until && !tuner_is_done(t)) {
    if (t->result.exhausted && p->n_rounds == 0) {
      t->result.end = TN_TUNE_EXHAUSTED;
      break;
    }
    status = go_on(p);
  }
  return status;
}

void tuner_free_rounds(tuner *t) {
  for (int i = 0; t->pipeline && i < t->pipeline->n_rounds; ++i) free_round(t, &t->pipeline->rounds[i]);
  free(t->pipeline);
  t->pipeline = NULL;
}

/* After an error, jobs under way may still be written to, so their rounds stay until the workers have ended. */
tn_status tuner_end_rounds(tuner *t, tn_status status) {
  pipeline *p = t->pipeline;
  if (!p || p->has_ended) return status;
  if (status == TN_OK) status = drain(p);
  p->has_ended = true;
  if (status != TN_OK) return status;
  for (int i = 0; i < p->n_rounds; ++i) tuner_end_round();
  tuner_free_rounds(t);
  return TN_OK;
}
