/* Row C3: several files into one. */
#include "profile/profiler_reports.h"
#include "tests/profiler/files.h"

static tn_recording *merge(const tn_merge_input *inputs, int n) {
  tn_context *ctx = check_context();
  tn_recording *r = tn_recording_merge(ctx, inputs, n);
  check_ok(ctx);
  check_context_free(ctx);
  return r;
}

/* A process of its own start with a flow, a range and a counter; all inputs have the same ids. */
static tn_recording *input(int64_t start_unix_ns) {
  tn_recording *r = profiler_recording_new();
  const tn_process process = {.name = "prog", .host = "h", .pid = 100, .node_id = -1};
  const tn_lane lane = {.name = "main", .tid = 100};
  static const tn_event_kind kinds[] = {TN_EVENT_SCOPE, TN_EVENT_FLOW, TN_EVENT_FLOW, TN_EVENT_ASYNC, TN_EVENT_COUNTER};
  profiler_add_process(r, &process);
  profiler_add_lane(r, &lane);
  for (int i = 0; i < RUNTIME_COUNT(kinds); ++i) {
    tn_event *e = profiler_add_event(r, 0, kinds[i], i == 0 ? "work" : i < 3 ? "arrow" : "thing");
    e->start_ns = 10 * i;
    e->duration_ns = profiler_has_time(e) ? 100 : 0;
    e->parent = PROFILER_PARENT_UNKNOWN;
    if (kinds[i] == TN_EVENT_FLOW) e->phase = i == 1 ? TN_FLOW_START : TN_FLOW_END;
    if (kinds[i] == TN_EVENT_FLOW || kinds[i] == TN_EVENT_ASYNC) e->id = kinds[i] == TN_EVENT_FLOW ? 500 : 7;
    if (kinds[i] == TN_EVENT_COUNTER) e->value = 3;
  }
  r->info = (tn_recording_info){.start_ns = 99, .duration_ns = 200, .start_unix_ns = start_unix_ns};
  assert_true(profiler_recording_finish(r));
  return r;
}

ROW(c3_offline_merge) {
  (void)state;
  char path[256];
  tn_recording *a = input(5000), *b = input(4000);
  const tn_merge_input inputs[] = {{a, "a"}, {b, "b"}};
  tn_recording *r = merge(inputs, 2);
  assert_int_equal(r->n_events, a->n_events + b->n_events);
  assert_int_equal(r->processes.n, 2);
  assert_string_equal(r->processes.data[0].name, "a");
  assert_string_equal(r->processes.data[1].name, "b");
  assert_int_equal(r->processes.data[0].pid, 100);
  assert_int_equal(r->processes.data[1].pid, 101);
  assert_int_equal(rows_find(r, "work", 0)->start_ns, 1000); /* b began 1000 ns before */
  assert_int_equal(rows_find(r, "work", 1)->start_ns, 0);
  assert_int_equal(r->info.start_unix_ns, 4000);
  assert_int_equal(r->info.duration_ns, 1200);
  assert_true(rows_find(r, "arrow", 0)->id == rows_find(r, "arrow", 1)->id);
  assert_true(rows_find(r, "arrow", 1)->id != rows_find(r, "arrow", 2)->id);
  assert_int_equal(tn_recording_save(NULL, r, files_path(path, "merged.json")), TN_OK);
  char *text = files_run(0, FILES_CHECK "jsonchk.py %s", path);
  check_text(text, "X=2 b=2 e=2 i=0 C=2 s=2 t=0 f=2 processes=2 lanes=2\n");
  free(text);
  tn_recording_free(r);
  tn_recording_free(a);
  tn_recording_free(b);
}

/* A scope of a host that launches the work of NS on a device; launches have the same number in all inputs. */
static tn_recording *with_launch(int64_t ns) {
  tn_recording *r = profiler_recording_new();
  profiler_add_process(r, &(tn_process){.name = "prog", .host = "h", .pid = 100, .node_id = -1});
  profiler_add_lane(r, &(tn_lane){.name = "main", .tid = 100});
  profiler_add_lane(r, &(tn_lane){.name = "stream", .tid = 7, .is_device = true});
  static const tn_event_kind kinds[] = {TN_EVENT_SCOPE, TN_EVENT_FLOW, TN_EVENT_SCOPE, TN_EVENT_FLOW};
  for (int i = 0; i < RUNTIME_COUNT(kinds); ++i) {
    bool is_flow = kinds[i] == TN_EVENT_FLOW;
    tn_event *e = profiler_add_event(r, i / 2, kinds[i], is_flow ? TN_LAUNCH : i == 0 ? "work" : "kernel");
    e->start_ns = 10 * i;
    e->duration_ns = i == 0 ? 1000 : i == 2 ? ns : 0;
    e->parent = PROFILER_PARENT_UNKNOWN;
    if (is_flow) e->id = 500, e->phase = i == 1 ? TN_FLOW_START : TN_FLOW_END;
    if (i != 2) continue;
    const tn_event_arg launch = tn_event_arg_u64(TN_LAUNCH, 500);
    profiler_add_arg(r, &launch);
  }
  r->info = (tn_recording_info){.duration_ns = 2000, .start_unix_ns = 1};
  assert_true(profiler_recording_finish(r));
  return r;
}

/* A device's time stays with the scope that launched it. */
ROW(c3_merged_launches) {
  (void)state;
  tn_recording *a = with_launch(30), *b = with_launch(700);
  const tn_merge_input inputs[] = {{a, "a"}, {b, "b"}};
  tn_recording *r = merge(inputs, 2);
  tn_averages *averages = tn_key_averages(NULL, r, &(tn_average_options){.by_process = true});
  int n, n_found = 0;
  const tn_average *rows = tn_averages_rows(averages, &n);
  for (int i = 0; i < n; ++i) {
    if (strcmp(rows[i].name, "work") != 0) continue;
    assert_int_equal(rows[i].device_ns, rows[i].process == 0 ? 30 : 700);
    ++n_found;
  }
  assert_int_equal(n_found, 2);
  tn_averages_free(averages);
  tn_recording_free(r);
  tn_recording_free(a);
  tn_recording_free(b);
}

ROW(c3_merge_of_merges) {
  (void)state;
  tn_recording *a = input(5000), *b = files_rich(), *c = input(4000);
  const tn_merge_input flat[] = {{a, "a"}, {b, "b"}, {c, "c"}}, left[] = {{a, "a"}, {b, "b"}};
  tn_recording *all = merge(flat, 3), *ab = merge(left, 2);
  const tn_merge_input then[] = {{ab, NULL}, {c, "c"}};
  tn_recording *again = merge(then, 2);
  files_same(all, again);
  assert_string_equal(all->processes.data[1].name, "b/tuner");
  assert_string_equal(all->processes.data[2].name, "b/worker");
  tn_recording *everything[] = {a, b, c, all, ab, again};
  for (int i = 0; i < RUNTIME_COUNT(everything); ++i) tn_recording_free(everything[i]);
}

ROW(c3_merge_of_nothing) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_recording_merge(ctx, NULL, 0));
  check_fails(ctx, TN_ERROR_ARGUMENT, "a merge needs one recording or more");
  const tn_merge_input missing[] = {{NULL, "a"}};
  assert_null(tn_recording_merge(ctx, missing, 1));
  check_fails(ctx, TN_ERROR_ARGUMENT, "a merge needs one recording or more");
  check_context_free(ctx);
}
