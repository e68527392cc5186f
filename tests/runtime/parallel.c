/* Threads of parallel loops: every iteration runs once, whatever the numbers; many launchers, sleeping and late
 * workers, forks; the user's own parallel-for; affinity masks and cgroup quotas. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/parallel.h"
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

#if defined(__SANITIZE_THREAD__)
#define CAN_FORK false /* the thread sanitizer ends children of processes with threads */
#else
#define CAN_FORK true
#endif

enum { MOST = 3000 };

/* A loop that counts how often each iteration ran. */
typedef struct counted {
  int64_t begin;
  unsigned char hits[MOST];
  _Atomic int calls;
} counted;

static void count(void *loop, int64_t begin, int64_t end) {
  counted *c = loop;
  for (int64_t i = begin; i < end; ++i) ++c->hits[i - c->begin];
  ++c->calls;
}

static void check_once(const counted *c, int64_t n) {
  for (int64_t i = 0; i < MOST; ++i) assert_int_equal(c->hits[i], i < n);
}

static void nap(long ns) { nanosleep(&(struct timespec){.tv_nsec = ns}, NULL); }

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static const struct row {
  const char *name;
  int limit, threads;
  int64_t begin, n;
  int most_workers;
} rows[] = {
    {"no iteration", 4, 4, 0, 0, 0},
    {"one iteration", 4, 4, 0, 1, 0},
    {"one thread asked for", 4, 1, 0, 100, 0},
    {"one thread there", 1, 8, 0, 100, 0},
    {"none asked for", 4, 0, 5, 10, 0},
    {"two and two", 2, 2, 0, 2, 1},
    {"two threads, odd number", 2, 2, 0, 101, 1},
    {"more iterations than threads", 4, 4, 0, MOST, 3},
    {"more threads than iterations", 8, 8, 0, 3, 2},
    {"fewer threads than there are", 8, 3, 0, 1000, 2},
    {"from a negative number", 4, 4, -50, 120, 3},
    {"far away", 3, 3, INT64_MAX - 200, 200, 2},
    {"more threads than shares", 80, 80, 0, MOST, 79},
    {"the machine's threads", 0, 2, 0, 1000, 1},
};

/* Several times: workers spin, then sleep. */
static void a_loop(void **state) {
  const struct row *row = *state;
  runtime_pool *pool = runtime_pool_new(row->limit);
  for (int k = 0; k < 12; ++k) {
    counted c = {.begin = row->begin};
    int32_t result = runtime_pool_run(pool, count, &c, row->begin, row->begin + row->n, row->threads);
    assert_int_equal(result, 0);
    check_once(&c, row->n);
    if (k % 4 == 3) nap(2000000);
  }
  assert_in_range(runtime_pool_workers(pool), 0, row->most_workers);
  runtime_pool_free(pool);
}

/* One thread gets stuck in its first part: the others do all the rest. */
static void stuck(void *loop, int64_t begin, int64_t end) {
  if (begin == 0) nap(20000000);
  count(loop, begin, end);
}

static void a_late_thread_gets_help(void **state) {
  (void)state;
  runtime_pool *pool = runtime_pool_new(2);
  counted c = {0};
  runtime_pool_run(pool, stuck, &c, 0, 1000, 2);
  check_once(&c, 1000);
  assert_true(c.calls > 4);
  runtime_pool_free(pool);
}

typedef struct nested {
  runtime_pool *pool;
  counted inner[8];
} nested;

static void run_inner(void *loop, int64_t begin, int64_t end) {
  nested *n = loop;
  for (int64_t i = begin; i < end; ++i) runtime_pool_run(n->pool, count, &n->inner[i], 0, 100, 4);
}

static void a_loop_in_a_loop(void **state) {
  (void)state;
  nested *n = calloc(1, sizeof *n);
  n->pool = runtime_pool_new(4);
  runtime_pool_run(n->pool, run_inner, n, 0, 8, 4);
  for (int i = 0; i < 8; ++i) check_once(&n->inner[i], 100);
  runtime_pool_free(n->pool);
  free(n);
}

enum { LAUNCHERS = 4, LOOPS = 300 };

static void *launch_many(void *pool) {
  for (int k = 0; k < LOOPS; ++k) {
    counted c = {0};
    int64_t n = 1 + k * 7 % 500;
    runtime_pool_run(pool, count, &c, 0, n, 2 + k % 3);
    check_once(&c, n);
    if (k % 50 == 0) nap(200000);
  }
  return NULL;
}

static void many_launchers(void **state) {
  (void)state;
  runtime_pool *pool = runtime_pool_new(4);
  pthread_t threads[LAUNCHERS];
  for (int i = 0; i < LAUNCHERS; ++i) pthread_create(&threads[i], NULL, launch_many, pool);
  for (int i = 0; i < LAUNCHERS; ++i) pthread_join(threads[i], NULL);
  assert_in_range(runtime_pool_workers(pool), 1, 3);
  runtime_pool_free(pool);
}

static void a_pool_without_loops(void **state) {
  (void)state;
  runtime_pool_free(runtime_pool_new(4));
  runtime_pool_free(NULL);
}

static void a_context_owns_its_threads(void **state) {
  (void)state;
  tn_context *ctx = check_context(), *other = check_context();
  assert_ptr_equal(runtime_pool_of(ctx), runtime_pool_of(ctx));
  assert_ptr_not_equal(runtime_pool_of(ctx), runtime_pool_of(other));
  check_context_free(other);
  check_context_free(ctx);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static bool runs_well(runtime_pool *pool) {
  counted c = {0};
  runtime_pool_run(pool, count, &c, 0, 1000, 3);
  for (int i = 0; i < 1000; ++i) {
    if (c.hits[i] != 1) return false;
  }
  return true;
}

/* The exit status of a child that runs FN. */
static int in_a_child(int (*fn)(runtime_pool *), runtime_pool *pool) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) _exit(fn(pool));
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int start_anew(runtime_pool *pool) {
  if (runtime_pool_workers(pool) != 0) return 1;
  if (!runs_well(pool)) return 2;
  if (runtime_pool_workers(pool) != 2) return 3;
  runtime_pool_free(pool);
  return 0;
}

static int free_only(runtime_pool *pool) { return runtime_pool_free(pool), 0; }

static void a_fork(void **state) {
  (void)state;
  if (!CAN_FORK) skip();
  runtime_pool *pool = runtime_pool_new(3);
  assert_true(runs_well(pool));
  assert_int_equal(runtime_pool_workers(pool), 2);
  assert_int_equal(in_a_child(start_anew, pool), 0);
  assert_int_equal(in_a_child(free_only, pool), 0);
  assert_true(runs_well(pool));
  runtime_pool_free(pool);
}

static int on_one_cpu(runtime_pool *pool) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  for (int i = 0, kept = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set) && kept++ > 0) CPU_CLR(i, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) return 2;
  if (runtime_machine_threads() != 1 || tn_thread_count() != 1) return 3;
  if (!runs_well(pool)) return 4;
  return runtime_pool_workers(pool) == 0 ? 0 : 5;
}

/* The masks of the threads that ran iterations of a loop. */
typedef struct masks {
  _Atomic int n, narrow; /* how many looked, and how many of them have not the launcher's mask */
  cpu_set_t launcher;
} masks;

static void look_at_mask(void *loop, int64_t begin, int64_t end) {
  masks *m = loop;
  cpu_set_t own;
  (void)begin, (void)end;
  nap(300000); /* so that others get some */
  m->narrow += sched_getaffinity(0, sizeof own, &own) != 0 || !CPU_EQUAL(&own, &m->launcher);
  ++m->n;
}

/* A worker that slept wakes elsewhere, and then may run everywhere again. */
static void nothing_is_pinned(void **state) {
  (void)state;
  runtime_pool *pool = runtime_pool_new(4);
  masks m = {0};
  assert_int_equal(sched_getaffinity(0, sizeof m.launcher, &m.launcher), 0);
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(runtime_pool_run(pool, look_at_mask, &m, 0, 8, 4), 0);
    nap(2000000); /* workers fall asleep */
  }
  runtime_pool_free(pool);
  assert_true(m.n >= 5);
  assert_int_equal(m.narrow, 0);
}

static void an_affinity_mask(void **state) {
  (void)state;
  if (!CAN_FORK) skip();
  runtime_pool *pool = runtime_pool_new(0);
  assert_int_equal(in_a_child(on_one_cpu, pool), 0);
  runtime_pool_free(pool);
}

/* ---- a user's parallel-for --------------------------------------------------------------------------------------- */

typedef struct user {
  int calls, threads;
  int64_t begin, end;
} user;

static void note(void *data, int threads, int64_t begin, int64_t end) {
  user *u = data;
  *u = (user){u->calls + 1, threads, begin, end};
}

static void serially(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  body(loop, begin, end);
}

static void backwards(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  for (int64_t i = end; i-- > begin;) body(loop, i, i + 1);
  body(loop, end, end);
}

typedef struct part {
  tn_parallel_body body;
  void *loop;
  int64_t begin, end;
} part;

static void *run_part(void *arg) {
  part *p = arg;
  p->body(p->loop, p->begin, p->end);
  return NULL;
}

static void on_a_thread(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  int64_t middle = begin + (end - begin) / 2;
  part second = {body, loop, middle, end};
  pthread_t thread;
  pthread_create(&thread, NULL, run_part, &second);
  if (begin < middle) body(loop, begin, middle);
  pthread_join(thread, NULL);
}

static void half(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  body(loop, begin, begin + (end - begin) / 2);
}

static void twice(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  body(loop, begin, end);
  body(loop, begin, begin + 1);
}

static void too_far(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  body(loop, begin, end + 1);
}

static void before(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  note(data, threads, begin, end);
  body(loop, begin, end);
  body(loop, begin - 1, begin);
}

static const struct hook {
  const char *name;
  tn_parallel_for_fn fn;
  int32_t result;
  bool is_complete; /* each iteration ran once */
} hooks[] = {
    {"serial", serially, 0, true},
    {"backwards, one by one", backwards, 0, true},
    {"another thread", on_a_thread, 0, true},
    {"leaves half out", half, RUNTIME_LOOP_BROKEN, false},
    {"one of them twice", twice, RUNTIME_LOOP_BROKEN, false},
    {"beyond the end", too_far, RUNTIME_LOOP_BROKEN, false},
    {"before the begin", before, RUNTIME_LOOP_BROKEN, true},
};

static void a_hook(void **state) {
  const struct hook *row = *state;
  runtime_pool *pool = runtime_pool_new(4);
  user u = {0};
  counted c = {.begin = 10};
  runtime_pool_set(pool, row->fn, &u);
  assert_int_equal(runtime_pool_run(pool, count, &c, 10, 110, 2), row->result);
  assert_int_equal(u.calls, 1);
  assert_int_equal(u.threads, 2);
  assert_int_equal(u.begin, 10);
  assert_int_equal(u.end, 110);
  if (row->is_complete) check_once(&c, 100);
  assert_int_equal(runtime_pool_workers(pool), 0);
  runtime_pool_set(pool, NULL, NULL);
  c = (counted){0};
  assert_int_equal(runtime_pool_run(pool, count, &c, 0, 100, 2), 0);
  check_once(&c, 100);
  assert_int_equal(u.calls, 1);
  runtime_pool_free(pool);
}

static void a_hook_needs_a_context(void **state) {
  (void)state;
  assert_int_equal(tn_set_parallel_for(NULL, serially, NULL), TN_ERROR_ARGUMENT);
}

/* ---- cgroups ----------------------------------------------------------------------------------------------------- */

typedef struct cgroup_file {
  const char *path, *text;
} cgroup_file;

static const struct cgroup {
  const char *name, *list;
  cgroup_file files[3];
  int threads;
} cgroups[] = {
    {"version 2", "0::/a/b\n", {{"a/b/cpu.max", "150000 100000\n"}}, 2},
    {"version 2 without a quota", "0::/a/b\n", {{"a/b/cpu.max", "max 100000\n"}}, RUNTIME_NO_QUOTA},
    {"the outer one is tighter", "0::/a/b\n", {{"a/b/cpu.max", "400000 100000\n"}, {"a/cpu.max", "50000 100000\n"}}, 1},
    {"at the root", "0::/\n", {{"cpu.max", "300000 100000\n"}}, 3},
    {"version 1",
     "5:memory:/x\n4:cpu,cpuacct:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "200000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     2},
    {"version 1, cpu named last",
     "4:cpuacct,cpu:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "100000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     1},
    {"version 1 without a quota",
     "4:cpu:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "-1\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     RUNTIME_NO_QUOTA},
    {"cpuset is not cpu", "4:cpuset:/a\n", {{"cpu/a/cpu.cfs_quota_us", "100000\n"}}, RUNTIME_NO_QUOTA},
    {"both versions", "4:cpu:/a\n0::/b\n", {{"cpu/a/cpu.cfs_quota_us", "-1\n"}, {"b/cpu.max", "200000 100000\n"}}, 2},
    {"no such folder", "0::/gone\n", {{NULL, NULL}}, RUNTIME_NO_QUOTA},
    {"garbage", "what\n:\n::\n", {{"cpu.max", "oops\n"}}, RUNTIME_NO_QUOTA},
    {"nothing", "", {{NULL, NULL}}, RUNTIME_NO_QUOTA},
};

static void write_text(const char *folder, const char *path, const char *text) {
  char full[512];
  int n = snprintf(full, sizeof full, "%s/%s", folder, path);
  for (int i = (int)strlen(folder) + 1; i < n; ++i) {
    if (full[i] != '/') continue;
    full[i] = '\0';
    mkdir(full, 0755);
    full[i] = '/';
  }
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void a_cgroup(void **state) {
  const struct cgroup *row = *state;
  char folder[] = "/tmp/tenon-cgroup-XXXXXX", list[64], command[64];
  assert_non_null(mkdtemp(folder));
  write_text(folder, "list", row->list);
  for (int i = 0; i < RUNTIME_COUNT(row->files) && row->files[i].path; ++i) {
    write_text(folder, row->files[i].path, row->files[i].text);
  }
  snprintf(list, sizeof list, "%s/list", folder);
  int threads = runtime_cgroup_threads(list, folder);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(threads, row->threads);
}

static void no_list_of_cgroups(void **state) {
  (void)state;
  assert_int_equal(runtime_cgroup_threads("/nowhere/cgroup", "/nowhere"), RUNTIME_NO_QUOTA);
}

int test_parallel(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_late_thread_gets_help),
      cmocka_unit_test(a_loop_in_a_loop),
      cmocka_unit_test(many_launchers),
      cmocka_unit_test(a_pool_without_loops),
      cmocka_unit_test(a_context_owns_its_threads),
      cmocka_unit_test(a_fork),
      cmocka_unit_test(an_affinity_mask),
      cmocka_unit_test(nothing_is_pinned),
      cmocka_unit_test(a_hook_needs_a_context),
      cmocka_unit_test(no_list_of_cgroups),
  };
  return CHECK_TABLE("parallel loops", rows, a_loop) + CHECK_TABLE("a user's parallel-for", hooks, a_hook) +
         CHECK_TABLE("cgroups", cgroups, a_cgroup) + CHECK_TESTS("parallel", tests);
}
