/* finals.c: before a winner is named, the fastest candidates, the program's own and the generic schedule
 * are timed again in turns, so that other work on the machine affects all of them alike. A turn is a few
 * samples of each, and its time is the least of them, because other work only makes a sample longer. For
 * the same reason a finalist is judged by its short turns. Turns go on until all others are surely slower
 * than the leader (their short turns are longer, and they were slower turn by turn), or until a tie: then
 * the simplest of those within 1 % of the leader wins. Each finalist gets a record of its own kind, which
 * is no trial.
 *
 * `finals` borrows its candidates' texts from the tuner and owns its measurements, whose built objects are
 * kept from turn to turn. */
#include <math.h>

#include "autotune/tuner.h"

/* The number of turns: up to MOST_TURNS, and more where the turns of the leader itself differ by more than NOISY. */
enum { LEAST_TURNS = 3, SURE_TURNS = 7, MOST_TURNS = 15, LEAST_FINALISTS = 2 };
#define NOISY 1.05
/* The quantile of a finalist's turns that it is judged by: about the second shortest of 15. */
#define SHORT 0.08

/* A candidate whose trial was slower than this many times the best does not take part. The generic schedule
 * and the program's own get a higher bound, since they had one trial while the best is the luckiest of
 * many. The generic one always takes part where its turns cost next to nothing: on a busy machine its trial
 * may have been cut short. */
#define TAKES_PART 1.3
#define KEPT_TAKES_PART 3
#define GENERIC_TAKES_PART_S 1e-2
/* Finalists whose short turns differ by less count as equally good. */
#define AS_GOOD 1.01
/* A finalist whose short turns are so much longer than the leader's is beaten, however much its turns vary. */
#define FAR_BEHIND 1.15
/* An event that is at most so likely among equals is taken for no chance. */
#define CHANCE 0.01
/* The time of the finals where the run has no limit: a part of the run, between two bounds in seconds. */
#define SHARE_OF_RUN 0.1
#define LEAST_S 1.0
#define MOST_S 5.0
#define QUICK_TURN_S 2e-3
/* Seconds that a turn takes besides its three calls, on a machine with other work. */
#define AROUND_TURN_S 6e-3

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Works out the quantiles of N >= 1 turns. The turns stay in the order in which they were taken. */
static void work_out(finals_entry *e) {
  double sorted[RUNTIME_COUNT(e->turns)];
  memcpy(sorted, e->turns, sizeof *sorted * (size_t)e->n);
  runtime_sort(sorted, e->n);
  e->short_s = runtime_quantile(sorted, e->n, SHORT);
  e->p25_s = runtime_quantile(sorted, e->n, 0.25);
  e->median_s = runtime_quantile(sorted, e->n, 0.5);
  e->p75_s = runtime_quantile(sorted, e->n, 0.75);
}

/* In how many of the turns that both took A was slower than B; *N_BOTH is the number of those turns. */
static int times_slower(const finals_entry *a, const finals_entry *b, int *n_both) {
  int slower = 0;
  *n_both = RUNTIME_MIN(a->n, b->n);
  for (int i = 0; i < *n_both; ++i) slower += a->turns[i] > b->turns[i];
  return slower;
}

/* How likely N throws of a coin give at least so many heads. */
static double chance_of(int heads, int n) {
  double ways = 1, sum = 0;
  for (int k = 0; k <= n; ++k) {
    if (k >= heads) sum += ways;
    ways *= (double)(n - k) / (k + 1);
  }
  return ldexp(sum, -n);
}

/* Whether A was slower in so many turns that this is no chance. Turns are compared one by one, since
 * long-lasting other work affects both in a turn. */
static bool is_slower_by_turns(const finals_entry *a, const finals_entry *b) {
  int n, slower = times_slower(a, b, &n);
  return chance_of(slower, n) <= CHANCE;
}

/* The fastest finalist that is not out, unless another was faster turn by turn; -1: none. */
static int leader_of(const finals_entry *entries, int n) {
  int leader = -1;
  for (int i = 0; i < n; ++i)
    if (!entries[i].is_out && entries[i].n > 0 && (leader < 0 || entries[i].short_s < entries[leader].short_s))
      leader = i;
  for (int i = 0; i < n; ++i)
    if (!entries[i].is_out && entries[i].n > 0 && is_slower_by_turns(&entries[leader], &entries[i])) leader = i;
  return leader;
}

/* Slower by more than AS_GOOD, and not by chance. */
static bool is_told_apart(const finals_entry *e, const finals_entry *leader) {
  return e->short_s > AS_GOOD * leader->short_s && is_slower_by_turns(e, leader);
}

/* Told apart, and so far behind that more turns would not change it. */
static bool is_beaten(const finals_entry *e, const finals_entry *leader) {
  bool is_behind = e->p25_s > leader->p75_s || e->short_s > FAR_BEHIND * leader->short_s;
  return is_behind && is_told_apart(e, leader);
}

int finals_judge(finals_entry *entries, int n) {
  int left = 0;
  for (int i = 0; i < n; ++i)
    if (entries[i].n > 0) work_out(&entries[i]);
  int leader = leader_of(entries, n);
  for (int i = 0; i < n; ++i) {
    finals_entry *e = &entries[i];
    e->is_out |= e->n == 0 || (i != leader && leader >= 0 && is_beaten(e, &entries[leader]));
    left += !e->is_out;
  }
  return left;
}

/* Whether E is simpler, or as simple and faster. The generic schedule, which needs no record, is the simplest. */
static bool is_preferred(const finals_entry *e, const finals_entry *to) {
  if (e->is_generic != to->is_generic) return e->is_generic;
  return e->n_steps < to->n_steps || (e->n_steps == to->n_steps && e->short_s < to->short_s);
}

/* Whether E is certainly slower. Few turns cannot tell finalists apart, but being far behind in each of
 * them is no chance either. */
static bool is_clearly_slower(const finals_entry *e, const finals_entry *leader) {
  int n, slower = times_slower(e, leader, &n);
  return is_told_apart(e, leader) || (e->short_s > FAR_BEHIND * leader->short_s && slower == n);
}

/* The generic schedule loses only to a clearly faster one: among many candidates some are lucky in the finals, too. */
int finals_winner(const finals_entry *entries, int n, bool *is_tie) {
  int leader = leader_of(entries, n), winner = leader;
  *is_tie = false;
  for (int i = 0; leader >= 0 && i < n; ++i) {
    const finals_entry *e = &entries[i];
    bool is_clear = e->is_generic ? is_clearly_slower(e, &entries[leader]) : is_told_apart(e, &entries[leader]);
    if (i == leader || e->is_out || is_clear) continue;
    *is_tie = true;
    bool is_as_good = e->is_generic || e->short_s <= AS_GOOD * entries[leader].short_s;
    if (is_as_good && is_preferred(e, &entries[winner])) winner = i;
  }
  return winner;
}

/* ---- who takes part ---------------------------------------------------------------------------------------------- */

/* One run of the finals. On the heap, since measurements are large. Candidates borrow their steps from the
 * tuner's top list, which does not change during the finals. */
typedef struct finals {
  tuner *t;
  int n;
  tn_candidate candidates[TUNER_MAX_FINALISTS];
  tn_measurement measurements[TUNER_MAX_FINALISTS]; /* of the last turn; their objects are kept */
  const char *plans[TUNER_MAX_FINALISTS];           /* the tuner's; NULL: it has no plan */
  const char *machine;                  /* the machine that times them all, as in tn_measurement; NULL: here */
  bool is_anew;                         /* the machine was lost in this turn, which does not count */
  bool has_failed;                      /* a finalist was wrong or failed: it may be the fastest of the trials */
  uint64_t enough_ns;                   /* from then on LEAST_TURNS of each are enough */
  uint64_t hashes[TUNER_MAX_FINALISTS]; /* of the schedules */
  finals_entry entries[TUNER_MAX_FINALISTS];
} finals;

/* Adds a finalist. The caller has made sure that there is room. */
static void enter(finals *f, tuner_top *top) {
  const tuner *t = f->t;
  f->entries[f->n].n_steps = top->n_steps;
  f->entries[f->n].is_generic = top->hash == t->kept[TUNER_GENERIC].hash;
  f->measurements[f->n].object = top->object;
  f->measurements[f->n].object_bytes = top->object_bytes;
  top->object = NULL;
  f->plans[f->n] = top->plan;
  f->hashes[f->n] = top->hash;
  f->candidates[f->n++] = (tn_candidate){.program = tn_program_text(t->program),
                                         .steps = top->steps,
                                         .target = t->target,
                                         .seed = t->options.seed,
                                         .fill = t->fill.text,
                                         .best_s = t->result.best_s,
                                         .packs_apart = t->runner.packs,
                                         .is_final = true};
}

double tuner_finals_need_s(const tuner *t) {
  if (t->result.best_s <= 0) return INFINITY;
  return (t->options.finalists + 1) * MOST_TURNS * (3 * t->result.best_s + AROUND_TURN_S);
}

/* How many finalists can have enough turns in the time that is left. A turn is two calls where a call is long. */
static int most_finalists(const finals *f) {
  const tuner *t = f->t;
  uint64_t end_ns = RUNTIME_MIN(t->deadline_ns, f->enough_ns);
  double left_s = (double)(end_ns - RUNTIME_MIN(end_ns, runtime_now_ns())) * 1e-9;
  double fit = left_s / (2 * SURE_TURNS * fmax(t->result.best_s, QUICK_TURN_S));
  return (int)fmin(fmax(fit, LEAST_FINALISTS), t->options.finalists);
}

/* The finalist with that schedule; -1: it does not take part. */
static int find_finalist(const finals *f, uint64_t hash) {
  for (int i = 0; i < f->n; ++i)
    if (f->hashes[i] == hash) return i;
  return -1;
}

/* Adds the generic schedule or the program's own, even when others are faster. */
static void enter_kept(finals *f, tuner_top *kept) {
  bool is_known = kept->steps && isfinite(kept->cost_s) && find_finalist(f, kept->hash) < 0;
  double least_s = kept == &f->t->kept[TUNER_GENERIC] ? GENERIC_TAKES_PART_S : 0;
  bool is_near = is_known && kept->cost_s <= fmax(KEPT_TAKES_PART * f->t->top[0].cost_s, least_s);
  if (is_near || (is_known && f->n == 1)) enter(f, kept); /* nobody wins alone */
}

/* Chooses the finalists. The generic schedule is what a tuner that found nothing answers, and a tie goes to
 * it. The program's own schedule is what the user has. Room for both is reserved (TUNER_MAX_FINALISTS). */
static void choose(finals *f) {
  tuner *t = f->t;
  int most = most_finalists(f);
  for (int i = 0; i < t->n_top && f->n < most && t->top[i].cost_s <= TAKES_PART * t->top[0].cost_s; ++i)
    enter(f, &t->top[i]);
  for (int i = 0; i < TUNER_N_KEPT; ++i) enter_kept(f, &t->kept[i]);
}

/* Builds the finalists that come from the log; the others' objects of this run are still there. */
static tn_status build_missing(finals *f) {
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < f->n; ++i)
    if (!f->measurements[i].object)
      status = tuner_do_all(&f->t->build_stage, 1, &f->candidates[i], &f->measurements[i]);
  return status;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* Prepares a measurement for the next turn; the object is kept. */
static void forget(tn_measurement *m) {
  free(m->message);
  *m = (tn_measurement){.object = m->object, .object_bytes = m->object_bytes};
}

/* Times of two machines are not compared: if the machine was lost and another one goes on, the turns begin
 * anew. True: this is so, and the turn that was taken does not count. */
static bool begins_anew(finals *f, const char *machine) {
  bool is_other = f->machine && machine && strcmp(f->machine, machine) != 0;
  for (int i = 0; is_other && i < f->n; ++i) {
    f->entries[i].n = 0;
    f->entries[i].is_out = f->measurements[i].error != TN_MEASURE_NONE || !f->measurements[i].object;
  }
  if (machine) f->machine = machine; /* a turn that failed for want of an answer has none */
  f->is_anew |= is_other;
  return is_other;
}

/* One turn of finalist I. If it fails it is out for good. If it was given up because time is over, it is
 * not out but has no turn either. */
static tn_status take_turn(finals *f, int i) {
  finals_entry *e = &f->entries[i];
  tn_measurement *m = &f->measurements[i];
  if (m->error != TN_MEASURE_NONE || !m->object) {
    e->is_out = true;
    return TN_OK;
  }
  TN_SCOPE(MEASURE, 2, "Finals/turn");
  forget(m);
  f->candidates[i].is_proved = e->n > 0;
  tn_status status = tuner_do_all(&f->t->run_stage, 1, &f->candidates[i], m);
  if (m->abandoned) return status;
  if (begins_anew(f, m->machine)) return status;
  bool is_right = status == TN_OK && m->error == TN_MEASURE_NONE && (m->checked || e->n > 0) && m->n_costs > 0;
  m->checked = is_right; /* in the first turn */
  if (is_right && e->n < RUNTIME_COUNT(e->turns)) e->turns[e->n++] = m->min_s > 0 ? m->min_s : m->costs[m->n_costs / 2];
  e->is_out |= !is_right;
  f->has_failed |= !is_right;
  return status;
}

/* Whether turn TURN is worth its time. */
static bool goes_on(const finals *f, int turn) {
  int leader = leader_of(f->entries, f->n);
  if (leader < 0) return turn < RUNTIME_COUNT(f->entries->turns);
  const finals_entry *e = &f->entries[leader];
  if (e->n >= LEAST_TURNS && runtime_now_ns() >= f->enough_ns) return false;
  return turn < MOST_TURNS || (turn < RUNTIME_COUNT(e->turns) && e->p75_s > NOISY * e->short_s);
}

/* The finalist that is least worth a turn: one that had none and was the slowest in its trial, or else the
 * slowest. The generic schedule is never chosen. -1: none. */
static int least_hopeful(const finals *f) {
  int least = -1;
  for (int i = 0; i < f->n; ++i) {
    const finals_entry *e = &f->entries[i], *l = least < 0 ? NULL : &f->entries[least];
    if (e->is_out || e->is_generic) continue;
    if (!l || e->n == 0 || (l->n > 0 && e->short_s > l->short_s)) least = i;
  }
  return least;
}

/* After a turn it is known what a turn takes besides its calls (a distant machine, pauses). The least
 * hopeful finalists are dropped until the others can have LEAST_TURNS in the time that is left: comparing
 * few well is worth more than comparing many badly. EACH_NS: time of one finalist's turn. */
static void thin_out(finals *f, uint64_t each_ns) {
  int left = 0, missing = 0;
  for (int i = 0; i < f->n; ++i) {
    const finals_entry *e = &f->entries[i];
    left += !e->is_out;
    missing += e->is_out ? 0 : RUNTIME_MAX(LEAST_TURNS - e->n, 0);
  }
  uint64_t now = runtime_now_ns(), left_ns = f->t->deadline_ns - RUNTIME_MIN(f->t->deadline_ns, now);
  for (int least; left > LEAST_FINALISTS && (uint64_t)missing * each_ns > left_ns; --left) {
    if ((least = least_hopeful(f)) < 0) break;
    missing -= RUNTIME_MAX(LEAST_TURNS - f->entries[least].n, 0);
    f->entries[least].is_out = true;
  }
}

/* A turn of each finalist that is not out, unless the machine is lost or time is over. */
static tn_status take_turn_of_all(finals *f) {
  tn_status status = TN_OK;
  uint64_t start_ns = runtime_now_ns(), n_taken = 0;
  f->is_anew = false;
  for (int i = 0; status == TN_OK && i < f->n && !f->is_anew && !tuner_gives_up(f->t); ++i) {
    if (f->entries[i].is_out) continue;
    status = take_turn(f, i);
    if (f->entries[i].n > 0) work_out(&f->entries[i]);
    if (!f->is_anew) thin_out(f, (runtime_now_ns() - start_ns) / ++n_taken);
  }
  return status;
}

/* Whether who is left alone still needs turns to be named in place of one that failed. */
static bool is_owed_turns(const finals *f) {
  int leader = leader_of(f->entries, f->n);
  return f->has_failed && leader >= 0 && f->entries[leader].n < LEAST_TURNS;
}

/* Takes turns until they are not worth it. Time may end in the middle of a turn; the finalists then differ
 * by one sample, which the quartiles tolerate. A turn that lost its machine is not judged, since earlier
 * times were dropped. */
static tn_status take_turns(finals *f) {
  tn_status status = TN_OK;
  int left = f->n;
  for (int turn = 0; status == TN_OK && (left > 1 || is_owed_turns(f)) && goes_on(f, turn) && !tuner_gives_up(f->t);
       ++turn) {
    status = take_turn_of_all(f);
    left = f->is_anew ? f->n : finals_judge(f->entries, f->n);
  }
  return status;
}

/* ---- the winner -------------------------------------------------------------------------------------------------- */

/* Records a finalist. The three quartiles stand for its samples, so the median of the costs is the median;
 * N_SAMPLES is the number of turns. */
static tn_status record(finals *f, int i, int rank, bool is_tie) {
  tuner *t = f->t;
  const finals_entry *e = &f->entries[i];
  tn_measurement *m = &f->measurements[i];
  m->n_costs = 3;
  m->costs[0] = e->p25_s;
  m->costs[1] = e->median_s;
  m->costs[2] = e->p75_s;
  m->n_samples = e->n;
  m->machine = f->machine; /* of the turns that count; the last one may have been given up */
  autotune_record made = {0};
  tn_status status = autotune_record_make(t->ctx, &f->candidates[i], t->program, t->options.target, m, &made);
  if (status == TN_OK) status = tuner_add_plan(t->ctx, &made, f->plans[i]);
  /* Without its mark it would count as a trial. */
  bool marked = status == TN_OK && json_object_set_new(made.json, "final", json_true()) == 0 &&
                json_object_set_new(made.json, "rank", json_integer(rank)) == 0 &&
                (!is_tie || json_object_set_new(made.json, "tie", json_true()) == 0);
  if (status == TN_OK && !marked) status = runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a final record");
  if (status == TN_OK) status = autotune_record_append(t->ctx, t->options.log, &made);
  autotune_record_free(&made);
  return status;
}

/* Records all that were timed often enough, the winner last, so that it is at the log's end. */
static tn_status record_all(finals *f, int winner, bool is_tie) {
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < f->n; ++i) {
    int rank = 2;
    for (int k = 0; k < f->n; ++k) rank += k != i && k != winner && f->entries[k].median_s < f->entries[i].median_s;
    bool is_measured = f->entries[i].n > 0 && f->measurements[i].error == TN_MEASURE_NONE;
    if (i != winner && is_measured) status = record(f, i, rank, is_tie);
  }
  return status == TN_OK ? record(f, winner, 1, is_tie) : status;
}

/* Names the winner. If it has fewer than LEAST_TURNS turns, nothing is recorded and the fastest trial stays
 * the best, but where a finalist failed, which may be that one. */
static tn_status name_winner(finals *f) {
  bool is_tie;
  finals_judge(f->entries, f->n);
  int winner = finals_winner(f->entries, f->n, &is_tie);
  int least = f->has_failed ? 1 : LEAST_TURNS;
  if (winner < 0 || f->entries[winner].n < least || f->measurements[winner].abandoned) return TN_OK;
  tn_tune_result *r = &f->t->result;
  r->best_s = f->entries[winner].median_s;
  r->finalists = f->n;
  r->is_tie = is_tie;
  r->finals_on = f->machine ? runtime_strdup(&f->t->ctx->arena, f->machine) : NULL;
  int own = find_finalist(f, f->t->kept[TUNER_OWN].hash);
  if (own >= 0 && f->entries[own].n > 0) r->own_s = f->entries[own].median_s;
  return record_all(f, winner, is_tie);
}

/* Replaces the candidates' deadline, which has passed or does not matter any more. If the run has no limit,
 * the finals get a part of the run's time, and beyond that what LEAST_TURNS need. */
static void set_deadline(finals *f) {
  tuner *t = f->t;
  f->enough_ns = UINT64_MAX;
  if (t->takes_turns) return; /* who gives the turns has set it */
  double run_s = tuner_elapsed_s(t), end_s = run_s + MOST_S;
  if (t->options.seconds > 0)
    end_s = fmin(t->options.seconds, end_s);
  else
    f->enough_ns = t->start_ns + (uint64_t)((run_s + fmin(fmax(SHARE_OF_RUN * run_s, LEAST_S), MOST_S)) * 1e9);
  t->deadline_ns = t->start_ns + (uint64_t)(end_s * 1e9);
  if (t->promised_ns > 0 && t->deadline_ns > t->promised_ns) t->deadline_ns = t->promised_ns;
  t->has_finals_left = false;
}

tn_status tuner_finals(tuner *t) {
  if (t->options.finalists <= 0 || t->result.trials == 0 || t->is_stopped) return TN_OK;
  TN_SCOPE(MEASURE, 1, "Finals");
  finals *f = calloc(1, sizeof *f);
  if (!f) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for the finals");
  f->t = t;
  set_deadline(f);
  choose(f);
  tuner_tell(t, "finals");
  tn_status status = f->n > 1 ? build_missing(f) : TN_OK;
  if (status == TN_OK && f->n > 1) status = take_turns(f);
  if (status == TN_OK && f->n > 1 && !t->is_stopped) status = name_winner(f);
  for (int i = 0; i < f->n; ++i) {
    free(f->measurements[i].message);
    free(f->measurements[i].object);
  }
  free(f);
  return status;
}
