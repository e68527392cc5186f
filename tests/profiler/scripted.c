/* Recordings made by hand. */
#include "tests/profiler/scripted.h"

#include "tests/common/check.h"

tn_recording *scripted_new(int64_t duration_ns) {
  tn_recording *r = profiler_recording_new();
  assert_non_null(r);
  r->info.duration_ns = duration_ns;
  r->info.start_unix_ns = INT64_C(1700000000000000000);
  scripted_lane(r, scripted_process(r, "main", 1, -1), "main");
  return r;
}

int scripted_process(tn_recording *r, const char *name, int64_t pid, int32_t node_id) {
  return profiler_add_process(r, &(tn_process){.name = name, .host = "host", .pid = pid, .node_id = node_id});
}

int scripted_lane(tn_recording *r, int process, const char *name) {
  return profiler_add_lane(r, &(tn_lane){.name = name, .tid = r->lanes.n + 1, .process = process});
}

static tn_event *add(tn_recording *r, int lane, tn_event_kind kind, int category, const char *name, int64_t start_ns) {
  tn_event *e = profiler_add_event(r, lane, kind, name);
  assert_non_null(e);
  e->category = (uint8_t)category;
  e->level = 1;
  e->start_ns = start_ns;
  e->parent = PROFILER_PARENT_UNKNOWN;
  return e;
}

tn_event *scripted_scope(tn_recording *r, int lane, int category, const char *name, int64_t start_ns,
                         int64_t duration_ns) {
  tn_event *e = add(r, lane, TN_EVENT_SCOPE, category, name, start_ns);
  e->duration_ns = duration_ns;
  return e;
}

tn_event *scripted_mark(tn_recording *r, int lane, int category, const char *name, int64_t at_ns) {
  return add(r, lane, TN_EVENT_INSTANT, category, name, at_ns);
}

void scripted_counter(tn_recording *r, int category, const char *name, int64_t at_ns, double value) {
  add(r, 0, TN_EVENT_COUNTER, category, name, at_ns)->value = value;
}

void scripted_number(tn_recording *r, const char *key, double value) {
  tn_event_arg arg = tn_event_arg_f64(key, value);
  profiler_add_arg(r, &arg);
}

void scripted_text(tn_recording *r, const char *key, const char *value) {
  tn_event_arg arg = tn_event_arg_text(key, value);
  profiler_add_arg(r, &arg);
}

tn_recording *scripted_finish(tn_recording *r) {
  assert_true(profiler_recording_finish(r));
  return r;
}

/* ---- a tuning run ------------------------------------------------------------------------------------------------ */

enum { MS = 1000000, GENERATE = 20 * MS, BUILD = 3 * MS, MEASURE = 10 * MS, RECORD = MS / 2, UPDATE = 5 * MS };

static void put_workload(tn_recording *r) { scripted_text(r, "workload", "0123456789abcdef"); }

/* One candidate: measured by a worker inside the parent's scope; returns when it is over. */
static int64_t measure(tn_recording *r, const int workers[2], int k, int64_t at) {
  uint32_t sequence = (uint32_t)k + 1;
  scripted_scope(r, 0, TN_CATEGORY_MEASURE, "SendToRunner", at, MEASURE)->sequence = sequence;
  scripted_scope(r, 0, TN_CATEGORY_MEASURE, "SendToRunner/wait", at + MS / 2, MEASURE - MS);
  scripted_scope(r, workers[k % 2], TN_CATEGORY_MEASURE, "measure", at + MS, MEASURE - 2 * MS)->sequence = sequence;
  put_workload(r);
  scripted_text(r, "shapes", "f32[128,128] f32[128,128] f32[128,128]");
  scripted_number(r, "flops", 2.0 * 128 * 128 * 128);
  scripted_scope(r, 0, TN_CATEGORY_RECORD, "MeasureCallback/AddToDatabase", at + MEASURE, RECORD)->sequence = sequence;
  scripted_scope(r, 0, TN_CATEGORY_MODEL, "MeasureCallback/UpdateCostModel", at + MEASURE + RECORD, RECORD)->sequence =
      sequence;
  put_workload(r);
  scripted_number(r, "seconds", k % 9 == 8 ? 0 : 1e-3 / (1 + k % 5));
  return at + MEASURE + 2 * RECORD;
}

static int64_t run_round(tn_recording *r, const int workers[2], int round, int per_round, int64_t at) {
  int64_t start = at;
  char name[32];
  snprintf(name, sizeof name, "Round#%d", round);
  scripted_counter(r, TN_CATEGORY_QUEUE, "runner_queue", at + 1, 0);
  scripted_scope(r, 0, TN_CATEGORY_SEARCH, "EvoSearch/Evolve", at, GENERATE);
  scripted_scope(r, 0, TN_CATEGORY_SEARCH, "EvoSearch/Evolve/Mutation", at + MS, GENERATE / 2);
  at += GENERATE;
  scripted_scope(r, 0, TN_CATEGORY_BUILD, "SendToBuilder", at, BUILD * per_round);
  at += BUILD * per_round;
  for (int i = 0; i < per_round; ++i) {
    scripted_counter(r, TN_CATEGORY_QUEUE, "runner_queue", at, per_round - i);
    at = measure(r, workers, round * per_round + i, at);
  }
  scripted_counter(r, TN_CATEGORY_TASK, "best_gflops", at, 4 + round);
  scripted_scope(r, 0, TN_CATEGORY_MODEL, "MeasureCallback/UpdateCostModel", at, UPDATE);
  at += UPDATE + MS / 10;
  scripted_scope(r, 0, TN_CATEGORY_ROUND, name, start, at - start);
  return at;
}

tn_recording *scripted_tuning(int rounds, int per_round) {
  tn_recording *r = scripted_new(0);
  int workers[2];
  for (int i = 0; i < 2; ++i) workers[i] = scripted_lane(r, scripted_process(r, "worker", 100 + i, -1), "worker");
  int64_t at = 0;
  scripted_mark(r, 0, TN_CATEGORY_TASK, "task", 0);
  put_workload(r);
  scripted_text(r, "program", "input A[128, 128]\nC[i<128, j<128] = sum[k<128](A[i, k] * A[k, j])\n");
  scripted_number(r, "weight", 2);
  scripted_number(r, "trials_wanted", rounds * per_round);
  for (int i = 0; i < rounds; ++i) at = run_round(r, workers, i, per_round, at);
  r->info.duration_ns = at;
  return scripted_finish(r);
}
