/* The fixtures of the profiler's rows: the scripted clock, TREE, looking things up in a recording. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/profiler/rows.h"

void rows_skip_(char text[256], const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, 256, fmt, args);
  va_end(args);
  printf("skipped: %s\n", text);
  fflush(stdout);
  _exit(77);
}

bool rows_is_instrumented(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TENON_COVERAGE)
  return true;
#else
  const char *preload = getenv("LD_PRELOAD"); /* valgrind's */
  return preload && strstr(preload, "vgpreload");
#endif
}

bool rows_is_optimized(void) {
#ifdef __OPTIMIZE__
  return !rows_is_instrumented();
#else
  return false;
#endif
}

int64_t rows_scaled(int64_t n) { return rows_is_instrumented() ? RUNTIME_MAX(n / 100, 1) : n; }

/* ---- the scripted clock ------------------------------------------------------------------------------------------ */

static _Atomic uint64_t clock_ns, clock_unix_ns = UINT64_C(1700000000000000000);

static uint64_t scripted(void *user) {
  (void)user;
  return atomic_load(&clock_ns);
}

static uint64_t scripted_unix(void *user) {
  (void)user;
  return atomic_load(&clock_unix_ns);
}

void rows_clock_install(void) {
  atomic_store(&clock_ns, 0);
  const profiler_clock clock = {.monotonic_ns = scripted, .realtime_ns = scripted_unix};
  profiler_set_clock(&clock);
}

void rows_clock_set(uint64_t ns) { atomic_store(&clock_ns, ns); }
void rows_clock_set_unix(uint64_t ns) { atomic_store(&clock_unix_ns, ns); }

tn_scope rows_begin(uint64_t at_ns, const char *name) {
  static const tn_site site = {"fixture.c", "rows_begin", 1, TN_CATEGORY_APP, 1};
  tn_scope none = TN_NO_SCOPE;
  rows_clock_set(at_ns);
  return tn_profile_wants(TN_CATEGORY_APP, 1) ? tn_scope_open(&site, name, true) : none;
}

void rows_end(uint64_t at_ns, tn_scope *scope) {
  rows_clock_set(at_ns);
  tn_scope_end(scope);
}

static void *tree_thread(void *unused) {
  (void)unused;
  tn_thread_name("thread 2");
  tn_scope d = rows_begin(0, "D");
  rows_end(300, &d);
  return NULL;
}

double rows_check_overhead(const char *text) {
  double total, kernel, overhead;
  const char *at = strstr(text, "Total time:");
  assert_non_null(at);
  assert_int_equal(sscanf(at, "Total time: %lf", &total), 1);
  assert_int_equal(sscanf(strstr(at, "kernel measurement:"), "kernel measurement: %lf", &kernel), 1);
  assert_int_equal(sscanf(strstr(at, "tuner overhead:"), "tuner overhead: %lf", &overhead), 1);
  assert_true(kernel > 0 && overhead > 0 && fabs(kernel + overhead - total) <= 0.01 * total);
  return total;
}

char *rows_advice_text(tn_context *ctx, const tn_analysis *a) {
  tn_advices *advices = tn_advise(ctx, a, NULL);
  char *text = tn_advices_text(advices, false);
  tn_advices_free(advices);
  return text;
}

tn_recording *rows_tree(void) {
  rows_clock_install();
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tn_thread_name("thread 1");
  tn_scope a = rows_begin(0, "A"), b = rows_begin(100, "B"), c = rows_begin(150, "C");
  rows_end(250, &c);
  rows_end(400, &b);
  b = rows_begin(500, "B");
  rows_end(900, &b);
  rows_end(1000, &a);
  pthread_t thread;
  rows_clock_set(0);
  assert_int_equal(pthread_create(&thread, NULL, tree_thread, NULL), 0);
  pthread_join(thread, NULL);
  rows_clock_set(1000);
  return rows_collect();
}

/* ---- looking things up ------------------------------------------------------------------------------------------- */

tn_recording *rows_collect(void) {
  tn_context *ctx = check_context();
  if (tn_profile_get_state() != TN_PROFILE_STOPPED) tn_profile_stop(ctx);
  tn_recording *r = tn_profile_collect(ctx);
  if (!r) fail_msg("no recording: %s", tn_context_message(ctx));
  check_context_free(ctx);
  return r;
}

static bool is_named(const tn_event *e, const char *name) { return !name || strcmp(e->name, name) == 0; }

const tn_event *rows_find(const tn_recording *r, const char *name, int k) {
  for (int64_t i = 0; i < r->n_events; ++i)
    if (is_named(&r->events[i], name) && k-- == 0) return &r->events[i];
  return NULL;
}

int64_t rows_count(const tn_recording *r, const char *name) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) n += is_named(&r->events[i], name);
  return n;
}

int64_t rows_self_ns(const tn_recording *r, const char *name) {
  int64_t sum = 0;
  for (int64_t i = 0; i < r->n_events; ++i) sum += is_named(&r->events[i], name) ? r->events[i].self_ns : 0;
  return sum;
}

int64_t rows_total_ns(const tn_recording *r, const char *name) {
  int64_t sum = 0;
  for (int64_t i = 0; i < r->n_events; ++i) sum += is_named(&r->events[i], name) ? r->events[i].duration_ns : 0;
  return sum;
}

const tn_event_arg *rows_arg(const tn_recording *r, const tn_event *e, const char *key) {
  for (int i = 0; i < e->n_args; ++i)
    if (strcmp(r->args[e->first_arg + i].key, key) == 0) return &r->args[e->first_arg + i];
  return NULL;
}

int64_t rows_resident_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  long long total = 0, resident = 0;
  if (file && fscanf(file, "%lld %lld", &total, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

/* ---- what else the machine does ---------------------------------------------------------------------------------- */

static double cpu_of(int who) {
  struct rusage u;
  getrusage(who, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

rows_load rows_load_now(void) {
  enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TIMES };
  unsigned long long t[N_TIMES] = {0};
  double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
  rows_load load = {.own_s = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN)};
  FILE *file = fopen("/proc/stat", "r");
  if (file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE],
                     &t[IOWAIT], &t[IRQ], &t[SOFTIRQ], &t[STEAL]) != N_TIMES)
    memset(t, 0, sizeof t);
  if (file) fclose(file);
  for (int i = 0; i < N_TIMES; ++i) load.total_s += (double)t[i] * tick_s;
  load.busy_s = load.total_s - (double)(t[IDLE] + t[IOWAIT]) * tick_s;
  return load;
}

void rows_skip_if_busy(const rows_load *start, const char *what) {
  rows_load now = rows_load_now();
  double total_s = now.total_s - start->total_s, others_s = now.busy_s - start->busy_s - (now.own_s - start->own_s);
  if (total_s > 0 && others_s > 0.1 * total_s)
    ROW_SKIP("%s, while other programs took %.0f %% of the machine", what, 100 * others_s / total_s);
}
