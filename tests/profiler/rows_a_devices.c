/* Rows A19, A25 to A27: launches of devices, the processor's counters, probes. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profiler_reports.h"
#include "runtime/profiler/state.h"
#include "tests/profiler/rows.h"

/* ---- A25: launches ------------------------------------------------------------------------------------------------ */

static uint64_t device_now(void *user) { return profiler_now_ns() + *(uint64_t *)user; }

/* Two launches of 30 and 20 us in "inner", one of 10 us in "outer", one event that nobody launched. */
static tn_recording *with_launches(void) {
  static uint64_t ahead = 5000000;
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  int lane = tn_device_lane("stream", device_now, &ahead);
  uint64_t launches[3], at = device_now(&ahead);
  {
    TN_TIMED("outer");
    {
      TN_TIMED("inner");
      launches[0] = tn_launch();
      launches[1] = tn_launch();
      tn_memory_alloc(TN_DEVICE_POOL "0", (void *)0x1000, 4096);
      tn_memory_alloc("host", (void *)0x2000, 100);
    }
    launches[2] = tn_launch();
  }
  assert_true(launches[0] && launches[0] != launches[1] && launches[1] != launches[2]);
  static const uint64_t lengths[] = {30000, 20000, 10000};
  for (int i = 0; i < 3; ++i, at += 50000) tn_device_launched(lane, "kernel", launches[i], at, at + lengths[i]);
  tn_device_event(lane, "kernel", at, at + 7000);
  return rows_collect();
}

static const tn_average *row_named(const tn_averages *a, const char *name) {
  int n;
  const tn_average *rows = tn_averages_rows(a, &n);
  for (int i = 0; i < n; ++i)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  fail_msg("no row %s", name);
  return NULL;
}

static bool is_about(int64_t ns, int64_t expected) { return ns > expected * 99 / 100 && ns < expected * 101 / 100; }

static void check_launches(const tn_recording *r) {
  tn_averages *a = tn_key_averages(NULL, r, NULL);
  const tn_average *outer = row_named(a, "outer"), *inner = row_named(a, "inner");
  assert_true(is_about(inner->device_ns, 50000) && is_about(inner->self_device_ns, 50000));
  assert_true(is_about(outer->device_ns, 60000) && is_about(outer->self_device_ns, 10000));
  assert_true(is_about(row_named(a, "kernel")->total_ns, 67000));
  assert_true(inner->self_device_bytes == 4096 && outer->device_bytes == 4096 && outer->self_device_bytes == 0);
  assert_true(inner->self_bytes == 100 && outer->total_bytes == 100);
  char *table = tn_averages_table(NULL, a, &(tn_table_options){.sort_by = "self_cuda_time_total", .time_unit = "us"});
  assert_non_null(strstr(table, "Self DEV"));
  assert_non_null(strstr(table, "DEV Mem"));
  assert_true(strstr(table, "kernel") < strstr(table, "inner") && strstr(table, "inner") < strstr(table, "outer"));
  free(table);
  tn_averages_free(a);
}

/* Each arrow has both its ends, the second on the device where the launched event begins. */
static void check_arrows(const tn_recording *r) {
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i], *end = NULL;
    if (e->kind != TN_EVENT_FLOW || e->phase != TN_FLOW_START) continue;
    for (int64_t k = 0; k < r->n_events; ++k)
      if (r->events[k].kind == TN_EVENT_FLOW && r->events[k].phase == TN_FLOW_END && r->events[k].id == e->id)
        end = &r->events[k];
    assert_true(end && r->lanes.data[end->lane].is_device && !r->lanes.data[e->lane].is_device);
    assert_string_equal(r->events[end->parent].name, "kernel");
    assert_int_equal(r->events[end->parent].start_ns, end->start_ns);
    ++n;
  }
  assert_int_equal(n, 3);
}

/* The same from the recorder and from each form of file. */
ROW(a25_launches_of_devices) {
  (void)state;
  static const char *const files[] = {"a25.json", "a25.tnprof", "a25.xplane.pb"};
  assert_int_equal(tn_launch(), 0); /* nothing records */
  tn_recording *r = with_launches();
  check_launches(r);
  check_arrows(r);
  for (int i = 0; i < RUNTIME_COUNT(files); ++i) {
    assert_int_equal(tn_recording_save(NULL, r, files[i]), TN_OK);
    tn_recording *back = tn_recording_load(NULL, files[i]);
    assert_non_null(back);
    check_launches(back);
    check_arrows(back);
    tn_recording_free(back);
    remove(files[i]);
  }
  tn_recording_free(r);
}

/* ---- A26: the processor's counters -------------------------------------------------------------------------------- */

static int n_opened;
static uint64_t counted;

/* No cache misses here; the second thread that is asked for has no cycles either. */
static int open_fake(int kind, int tid) {
  (void)tid;
  if (kind == TN_HARDWARE_CACHE_MISSES) return -1;
  ++n_opened;
  return dup(STDERR_FILENO);
}

static bool read_fake(int fd, uint64_t *value) {
  (void)fd;
  *value = counted;
  return true;
}

static const profiler_hardware_source fake = {open_fake, read_fake};

static tn_recording *count_scope(bool wanted) {
  assert_int_equal(tn_profile_start(NULL, &(tn_profile_options){.counters = wanted}), TN_OK);
  tn_hardware before;
  {
    TN_SCOPE_AS(scope, KERNEL, 3, "kernel");
    bool has = tn_hardware_read(&before);
    assert_true(wanted || !has);
    counted += 1000;
    volatile double sum = 0;
    for (int i = 0; i < 1000000; ++i) sum += i;
    tn_scope_hardware(&scope, &before);
  }
  tn_recording *r = rows_collect();
  assert_false(tn_hardware_read(&before)); /* no session */
  assert_string_equal(tn_recording_warnings(r), "");
  return r;
}

ROW(a26_counters_by_a_source) {
  (void)state;
  profiler_set_hardware(&fake);
  tn_recording *r = count_scope(true);
  const tn_event *e = rows_find(r, "kernel", 0);
  assert_int_equal(rows_arg(r, e, "cycles")->u64, 1000);
  assert_int_equal(rows_arg(r, e, "instructions")->u64, 1000);
  assert_null(rows_arg(r, e, "cache_misses"));
  tn_averages *a = tn_key_averages(NULL, r, NULL);
  assert_true(row_named(a, "kernel")->cycles == 1000);
  char *table = tn_averages_table(NULL, a, &(tn_table_options){.sort_by = "instructions"});
  assert_true(strstr(table, "Cycles") && strstr(table, "Instructions") && !strstr(table, "Cache misses"));
  free(table);
  tn_averages_free(a);
  tn_recording_free(r);
  n_opened = 0;
  r = count_scope(false);
  assert_int_equal(n_opened, 0);
  assert_int_equal(rows_find(r, "kernel", 0)->n_args, 0);
  tn_recording_free(r);
  profiler_set_hardware(NULL);
}

/* perf_event_open fails with EACCES from now on. */
static void refuse_counters(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {RUNTIME_COUNT(code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ROW_SKIP("no seccomp here");
}

/* Refused, it is as if nobody had asked. */
ROW(a26_counters_refused) {
  (void)state;
  refuse_counters();
  tn_recording *r = count_scope(true);
  assert_int_equal(rows_find(r, "kernel", 0)->n_args, 0);
  tn_recording_free(r);
}

/* What the kernel gives here: a loop of a million additions takes at least as many instructions. */
ROW(a26_counters_of_this_machine) {
  (void)state;
  tn_recording *r = count_scope(true);
  const tn_event *e = rows_find(r, "kernel", 0);
  const tn_event_arg *instructions = rows_arg(r, e, "instructions"), *clock = rows_arg(r, e, "task_clock_ns");
  if (!instructions && !clock) ROW_SKIP("the kernel gives no counters");
  if (instructions) assert_true(instructions->u64 > 1000000);
  if (clock)
    assert_true((int64_t)clock->u64 > e->duration_ns / 100 && (int64_t)clock->u64 < 2 * e->duration_ns + 1000000);
  printf("instructions: %s; task clock %s\n", instructions ? "counted" : "not on this machine",
         clock ? "counted" : "not on this machine");
  tn_recording_free(r);
}

/* ---- B11: memory that ends in a collect --------------------------------------------------------------------------- */

static int64_t fails_at;

void *__real_realloc(void *data, size_t n);
void *__wrap_realloc(void *data, size_t n);
void *__wrap_realloc(void *data, size_t n) {
  if (fails_at > 0 && --fails_at == 0) return NULL;
  return __real_realloc(data, n);
}

/* Slots of records that no event was made for must not be taken for events. */
ROW(b11_memory_ends_while_collecting) {
  (void)state;
  tn_profile_options options = {.file = "b11.buffers", .keep_file = true};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  for (int i = 0; i < 20000; ++i) {
    TN_SCOPE_AS(scope, APP, 1, "scope");
    for (int k = 0; k < 6; ++k) TN_EVENT_ARG(scope, tn_event_arg_i64("number", k));
  }
  tn_recording_free(rows_collect());
  bool was_hit = true;
  int n_failed = 0;
  for (int64_t at = 1; was_hit; ++at) {
    tn_context *ctx = check_context();
    fails_at = at;
    tn_recording *r = tn_recording_recover(ctx, "b11.buffers");
    was_hit = fails_at == 0;
    fails_at = 0;
    n_failed += was_hit;
    assert_true(!was_hit || !r || rows_count(r, "scope") == 20000);
    if (!was_hit) assert_int_equal(rows_count(r, "scope"), 20000);
    tn_recording_free(r);
    check_context_free(ctx);
  }
  assert_true(n_failed > 10);
  remove("b11.buffers");
}
