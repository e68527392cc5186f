/* phases.c: self times of the tuner's lane by phase, over the whole recording or round by round. */
#include "profile/phases.h"

/* The categories that make up a phase: bits 1 << category. */
static const struct phase {
  const char *name;
  uint32_t categories;
} phases[] = {
#define X(name, text, categories) {text, categories},
    PROFILER_PHASES(X)
#undef X
};

const char *profiler_phase_name(int phase) { return phases[phase].name; }

/* PROFILER_PHASE_TAIL: the category belongs to no phase. */
profiler_phase profiler_phase_of_category(int category) {
  for (int i = 0; i < PROFILER_PHASE_TAIL; ++i) {
    if (phases[i].categories >> category & 1) return (profiler_phase)i;
  }
  return PROFILER_PHASE_TAIL;
}

bool profiler_is_round(const tn_event *e) {
  return e->kind == TN_EVENT_SCOPE && e->category == TN_CATEGORY_ROUND && strncmp(e->name, "Round#", 6) == 0;
}

bool profiler_is_tuning(const tn_recording *r) {
  static const uint32_t of_tuner = 1u << TN_CATEGORY_MEASURE | 1u << TN_CATEGORY_SEARCH | 1u << TN_CATEGORY_MODEL |
                                   1u << TN_CATEGORY_TASK | 1u << TN_CATEGORY_QUEUE;
  for (int64_t i = 0; i < r->n_events; ++i)
    if (of_tuner >> r->events[i].category & 1) return true;
  return false;
}

static bool is_measure(const tn_event *e) { return e->kind == TN_EVENT_SCOPE && e->category == TN_CATEGORY_MEASURE; }

/* The lane of the rounds; without rounds, that of the first measurement; otherwise that of the longest
 * scope. -1: no scope. */
int32_t profiler_main_lane(const tn_recording *r) {
  int32_t measure = -1, longest = -1;
  int64_t most_ns = -1;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (profiler_is_round(e)) return e->lane;
    if (e->kind != TN_EVENT_SCOPE || r->lanes.data[e->lane].is_device) continue;
    if (measure < 0 && is_measure(e)) measure = e->lane;
    if (e->duration_ns > most_ns) most_ns = e->duration_ns, longest = e->lane;
  }
  return measure >= 0 ? measure : longest;
}

/* The phase of an event, or of the nearest event around it that has one. */
static int phase_of(const tn_recording *r, const tn_event *e) {
  int phase = (int)profiler_phase_of_category(e->category);
  for (; phase == PROFILER_PHASE_TAIL && e->parent >= 0; phase = (int)profiler_phase_of_category(e->category))
    e = &r->events[e->parent];
  return phase;
}

/* The tail is what is left, so that the phases add up to the wall time. It may be negative where clocks disagree. */
static void settle_tail(profiler_phases *p) {
  int64_t covered = 0;
  for (int i = 0; i < PROFILER_PHASE_TAIL; ++i) covered += p->ns[i];
  p->ns[PROFILER_PHASE_TAIL] = p->wall_ns - covered;
}

/* Only the main lane counts: the workers' time is within its waiting for them. */
bool profiler_phases_of(const tn_recording *r, profiler_phases *out) {
  int32_t lane = profiler_main_lane(r);
  *out = (profiler_phases){.wall_ns = r->info.duration_ns};
  if (lane < 0) return false;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->lane == lane && e->kind == TN_EVENT_SCOPE) out->ns[phase_of(r, e)] += e->self_ns;
  }
  settle_tail(out);
  return true;
}

/* The round that each event is in, from 0; for a round, its own number; -1: none. *N: how many rounds there
 * are. The caller frees the array; NULL: no memory. */
static int32_t *number_rounds(const tn_recording *r, int *n) {
  int32_t *number_of = malloc(((size_t)r->n_events + 1) * sizeof *number_of);
  *n = 0;
  for (int64_t i = 0; number_of && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    number_of[i] = profiler_is_round(e) ? (*n)++ : e->parent >= 0 ? number_of[e->parent] : -1;
  }
  return number_of;
}

/* Adds self times, since nested scopes would otherwise count twice. */
static void fill_rounds(const tn_recording *r, const int32_t *number_of, profiler_phases *out, int64_t *starts) {
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    int round = number_of[i];
    if (round < 0 || e->kind != TN_EVENT_SCOPE) continue;
    out[round].ns[phase_of(r, e)] += e->self_ns;
    if (!profiler_is_round(e)) continue;
    out[round].wall_ns = e->duration_ns;
    starts[round] = e->start_ns;
  }
}

/* The caller frees both arrays. NULL: no memory; then *STARTS is NULL, too. */
profiler_phases *profiler_phases_of_rounds(const tn_recording *r, int *n, int64_t **starts) {
  int32_t *number_of = number_rounds(r, n);
  profiler_phases *out = calloc((size_t)*n + 1, sizeof *out);
  *starts = calloc((size_t)*n + 1, sizeof **starts);
  bool done = number_of && out && *starts;
  if (done) fill_rounds(r, number_of, out, *starts);
  for (int i = 0; done && i < *n; ++i) settle_tail(&out[i]);
  free(number_of);
  if (done) return out;
  free(out);
  free(*starts);
  *starts = NULL;
  return NULL;
}
