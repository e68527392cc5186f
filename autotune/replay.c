/* replay.c: a builder and a runner that measure nothing: times come from the records of a log. A schedule
 * that the log has gets its recorded time, any other the time of the recorded schedule whose loops have the
 * most similar features. So a search always sees the same landscape, whatever the machine does. */
#include <math.h>

#include "autotune/log.h"
#include "autotune/search.h"

/* A record as a point among the features. */
typedef struct replayed {
  uint64_t hash;
  tn_measure_error error;
  double cost_s;
  double feature[AUTOTUNE_FEATURES]; /* sums over the written buffers */
} replayed;

/* Records of a log in place of compiling and running. Builder and runner share it, and the one that is
 * freed last frees it. */
typedef struct replay {
  tn_program *program;
  autotune_task task;
  autotune_space space;
  runtime_arena arena;
  RUNTIME_VEC(replayed) records;
  int users; /* builder and runner */
} replay;

static void free_replay(replay *r) {
  autotune_space_release(&r->space);
  runtime_arena_free(&r->arena);
  RUNTIME_VEC_FREE(&r->records);
  free(r);
}

/* The builder and the runner share the replay; the last of them frees it. */
static void release(void *self) {
  replay *r = self;
  if (--r->users == 0) free_replay(r);
}

/* ---- schedules as numbers ---------------------------------------------------------------------------------------- */

/* The features summed over all stores: enough to tell which records are near. False: the schedule cannot be lowered. */
static bool describe(replay *r, const tn_schedule *s, replayed *out) {
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  *out = (replayed){.hash = autotune_schedule_hash(s)};
  int n = autotune_schedule_rows(&r->space, s, 0, &r->arena, rows, NULL);
  for (int i = 0; i < n * AUTOTUNE_FEATURES; ++i) out->feature[i % AUTOTUNE_FEATURES] += rows[i];
  return n > 0;
}

/* The schedule of the steps; NULL, without a message, if they do not fit the program. */
static tn_schedule *schedule_of(const replay *r, const char *steps) {
  runtime_quiet quiet = runtime_quiet_begin(r->program->ctx);
  tn_schedule *s = tn_schedule_new(r->program);
  bool ok = s && steps && tn_schedule_replay(s, steps) == TN_OK;
  runtime_quiet_end(&quiet);
  if (ok) return s;
  tn_schedule_free(s);
  return NULL;
}

/* From 0, alike, to 1, nothing in common. */
static double distance(const replayed *a, const replayed *b) {
  double apart = 0, all = 0;
  for (int i = 0; i < AUTOTUNE_FEATURES; ++i) {
    apart += fabs(a->feature[i] - b->feature[i]);
    all += fabs(a->feature[i]) + fabs(b->feature[i]);
  }
  return all > 0 ? apart / all : 0;
}

/* By the schedule's hash, since other steps may make the same schedule. */
static const replayed *find_same(const replay *r, uint64_t hash) {
  for (int i = 0; i < r->records.n; ++i)
    if (r->records.data[i].hash == hash) return &r->records.data[i];
  return NULL;
}

/* The time of the most similar record; INFINITY if none succeeded, which tn_replay_new refuses. */
static double cost_of_nearest(const replay *r, const replayed *s) {
  double least = INFINITY, cost_s = INFINITY;
  for (int i = 0; i < r->records.n; ++i) {
    const replayed *other = &r->records.data[i];
    double apart = other->error == TN_MEASURE_NONE ? distance(s, other) : INFINITY;
    if (apart >= least) continue;
    least = apart;
    cost_s = other->cost_s;
  }
  return cost_s;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Takes one record; other programs and finals are passed over. Always goes on. */
static bool take_record(void *user, int line, autotune_record *record) {
  replay *r = user;
  replayed taken;
  (void)line;
  if (record->is_final || strcmp(record->key, tn_program_key(r->program)) != 0) return true;
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  tn_schedule *s = schedule_of(r, steps);
  bool is_usable = s && describe(r, s, &taken);
  free(steps);
  tn_schedule_free(s);
  if (!is_usable) return true;
  taken.error = record->error;
  taken.cost_s = autotune_record_cost(record);
  return RUNTIME_PUSH(&r->records, taken);
}

/* ---- the interfaces ---------------------------------------------------------------------------------------------- */

/* Nothing is compiled, but a measurement without an object would count as failed. */
static tn_status build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  (void)self, (void)candidates;
  for (int i = 0; i < n; ++i) out[i] = (tn_measurement){.object = calloc(1, 1), .object_bytes = 1};
  return TN_OK;
}

static void fail(tn_measurement *m, tn_measure_error error, const char *message) {
  m->error = error;
  m->message = strdup(message);
}

/* The recorded cost of the same schedule, or else of the most similar one. */
static void run_one(replay *r, const tn_candidate *candidate, tn_measurement *m) {
  replayed s;
  tn_schedule *schedule = schedule_of(r, candidate->steps);
  bool is_known = schedule && describe(r, schedule, &s);
  tn_schedule_free(schedule);
  const replayed *same = is_known ? find_same(r, s.hash) : NULL;
  if (!is_known) {
    fail(m, TN_MEASURE_INSTANTIATION, "the schedule cannot be applied or lowered");
  } else if (same && same->error != TN_MEASURE_NONE) {
    fail(m, same->error, "it failed when it was recorded");
  } else {
    m->n_costs = 1;
    m->costs[0] = same ? same->cost_s : cost_of_nearest(r, &s);
    m->checked = true;
  }
}

static tn_status run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  for (int i = 0; i < n; ++i)
    if (inout[i].error == TN_MEASURE_NONE) run_one(self, &candidates[i], &inout[i]);
  return TN_OK;
}

static bool has_success(const replay *r) {
  for (int i = 0; i < r->records.n; ++i)
    if (r->records.data[i].error == TN_MEASURE_NONE) return true;
  return false;
}

/* Refuses a log without any success, which tells nothing. */
static tn_status fill(replay *r, tn_context *ctx, const char *log) {
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  bool is_filled = autotune_space_fill(&r->space);
  runtime_quiet_end(&quiet);
  if (!is_filled) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a replay");
  log_reading reading = {.visit = take_record, .user = r};
  tn_status status = log_read(ctx, log, &reading, &(autotune_log_place){0});
  if (status == TN_OK && !has_success(r))
    return runtime_fail(ctx, TN_ERROR_RECORD,
                        "%s has no record with a time of this program (key %s): record some by tuning it", log,
                        tn_program_key(r->program));
  return status;
}

bool tn_replay_new(tn_program *program, const tn_target *target, const char *log, tn_builder *builder,
                   tn_runner *runner) {
  if (!program) return false;
  tn_context *ctx = program->ctx;
  if (!target || !log || !builder || !runner) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_replay_new: an argument is NULL");
    return false;
  }
  replay *r = calloc(1, sizeof *r);
  if (!r) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a replay");
    return false;
  }
  *r = (replay){.program = program, .users = 2};
  r->task = (autotune_task){.ctx = ctx,
                            .program = program,
                            .target = target,
                            .threads = tn_target_threads(target),
                            .vector_bytes = tn_target_vector_bytes(target),
                            .cache_line_bytes = 64};
  r->space.task = &r->task;
  if (fill(r, ctx, log) != TN_OK) {
    free_replay(r);
    return false;
  }
  *builder = (tn_builder){.self = r, .build = build, .free = release};
  *runner = (tn_runner){.self = r, .run = run, .free = release};
  return true;
}
