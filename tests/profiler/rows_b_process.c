/* Rows B11 to B14: bounded memory, killed and forked processes, clocks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profile/profiler_files.h"
#include "runtime/profiler/storage.h"
#include "tests/profiler/rows.h"

/* ---- B11 --------------------------------------------------------------------------------------------------------- */

static void record(int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    TN_TIMED("one of many");
  }
}

static void check_bounded(tn_drop drop) {
  const tn_profile_options options = {.max_bytes = 64 << 20, .drop = drop};
  int64_t n = rows_scaled(100000000), before = rows_resident_bytes();
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  record(n);
  int64_t grown = rows_resident_bytes() - before;
  tn_recording *r = rows_collect();
  int64_t kept = rows_count(r, "one of many"), dropped = (int64_t)r->info.stats.dropped;
  assert_int_equal(kept + dropped, n);
  if (!rows_is_instrumented()) {
    assert_true(dropped > 0 && kept > 1000000);
    if (grown > 68 << 20) fail_msg("RSS grew by %.1f MiB", (double)grown / (1 << 20));
    check_has(tn_recording_warnings(r), "events were dropped: the buffers were full");
  }
  assert_true(r->info.stats.bytes <= 64 << 20);
  tn_recording_free(r);
}

/* Which ones are kept: the first or the last. */
static void check_which(tn_drop drop, bool has_first, bool has_last) {
  const tn_profile_options options = {.max_bytes = 1 << 20, .drop = drop};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  {
    TN_TIMED("first");
  }
  record(100000);
  {
    TN_TIMED("last");
  }
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "first"), has_first);
  assert_int_equal(rows_count(r, "last"), has_last);
  assert_int_equal(r->n_events + (int64_t)r->info.stats.dropped, 100002);
  tn_recording_free(r);
}

/* What is open at the end is kept, however much was dropped before it. */
static void check_open_at_end(void) {
  const tn_profile_options options = {.max_bytes = 1 << 20};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  record(1000000);
  tn_scope open = tn_timed_begin("open"), inner = tn_timed_begin("inside");
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "open"), 1);
  assert_ptr_equal(&r->events[rows_find(r, "inside", 0)->parent], rows_find(r, "open", 0));
  assert_true(rows_count(r, "one of many") > 10000);
  tn_scope_end(&inner);
  tn_scope_end(&open);
  tn_recording_free(r);
}

ROW(b11_bounded_memory) {
  (void)state;
  check_bounded(TN_DROP_NEW);
  check_bounded(TN_KEEP_LAST);
  check_which(TN_DROP_NEW, true, false);
  check_which(TN_KEEP_LAST, false, true);
  check_open_at_end();
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  record(1000);
  tn_recording *r = rows_collect();
  const tn_profile_stats *s = &r->info.stats;
  assert_int_equal(s->events, 1000);
  assert_int_equal(s->lanes, 1);
  assert_true(s->bytes > 0 && s->start_ns > 0 && s->stop_ns > 0 && s->collect_ns >= s->parse_ns && s->parse_ns > 0);
  assert_true(s->event_cost_ns > 1 && s->event_cost_ns < 100000);
  tn_recording_free(r);
}

/* More labels, names, lanes and records than a small disk has room for. */
static void *record_much(void *user) {
  char name[64];
  for (int i = 0; i < 400; ++i) {
    snprintf(name, sizeof name, "a name of %s that takes its room, number %d", (const char *)user, i);
    tn_timed scope = tn_timed_begin(name);
    tn_timed_end(&scope);
  }
  return NULL;
}

static void record_in_threads(void) {
  static char *const names[] = {"one", "two", "three", "four", "five", "six"};
  pthread_t threads[RUNTIME_COUNT(names)];
  for (int i = 0; i < RUNTIME_COUNT(names); ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, record_much, names[i]), 0);
  for (int i = 0; i < RUNTIME_COUNT(names); ++i) pthread_join(threads[i], NULL);
}

/* A session whose buffers lie on a disk of KIB: it does not begin, or it ends with a recording that says what is missing.
 * True: the disk had room for all. */
static bool check_small_disk(tn_context *ctx, const char *folder, int kib) {
  char size[32], path[128];
  snprintf(size, sizeof size, "size=%dk", kib);
  snprintf(path, sizeof path, "%s/session", folder);
  if (mount("none", folder, "tmpfs", 0, size) != 0) ROW_SKIP("no tmpfs can be mounted here: %s", strerror(errno));
  const tn_profile_options options = {.file = path};
  bool began = tn_profile_start(ctx, &options) == TN_OK, had_room = false;
  if (began) {
    record_in_threads();
    tn_recording *r = rows_collect();
    int64_t n = r->n_events;
    had_room = n == 2400 && r->info.stats.dropped == 0 && r->info.stats.lost_names == 0;
    assert_int_equal(n + (int64_t)r->info.stats.dropped, 2400);
    if (!had_room) check_has(tn_recording_warnings(r), "the disk was full");
    tn_recording_free(r);
  } else {
    check_fails(ctx, TN_ERROR_IO, "session", "No space left on device");
  }
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(umount(folder), 0);
  return had_room;
}

ROW(b11_full_disk) {
  (void)state;
  char folder[] = "/tmp/tenon-disk-XXXXXX";
  assert_non_null(mkdtemp(folder));
  tn_context *ctx = check_context();
  int n_room = 0;
  for (int kib = 4; kib <= 128; kib += 4) n_room += check_small_disk(ctx, folder, kib);
  assert_int_equal(n_room, 0);
  assert_true(check_small_disk(ctx, folder, 4096));
  check_context_free(ctx);
  rmdir(folder);
}

/* ---- B12 --------------------------------------------------------------------------------------------------------- */

static const char *temporary(char path[64]) {
  strcpy(path, "/tmp/tenon-profile-XXXXXX");
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  return path;
}

/* Records until it is killed; tells through *FINISHED how many events have ended. */
static void record_forever(const char *path, _Atomic uint32_t *finished) {
  const tn_profile_options options = {.file = path};
  if (tn_profile_start(NULL, &options) != TN_OK) _exit(1);
  TN_SCOPE_AS(outer, SEARCH, 1, "round");
  TN_EVENT_ARG(outer, tn_event_arg_text("target", "all of it"));
  for (uint32_t i = 1;; ++i) {
    {
      TN_SCOPE_AS(scope, MEASURE, 2, "measure");
      tn_scope_sequence(&scope, i);
      TN_EVENT_ARG(scope, tn_event_arg_u64("number", i));
      usleep(500);
    }
    atomic_store(finished, i);
  }
}

/* Every event that had ended is there, not only those of 100 ms before. */
static void check_rebuilt(const tn_recording *r, uint32_t finished) {
  int64_t n = rows_count(r, "measure"), whole = 0;
  const tn_event *outer = rows_find(r, "round", 0);
  assert_int_equal(outer->flags, TN_EVENT_KILLED);
  assert_string_equal(rows_arg(r, outer, "target")->text, "all of it");
  for (int64_t i = 0; i < n; ++i) {
    const tn_event *e = rows_find(r, "measure", (int)i);
    assert_int_equal(e->sequence, i + 1);
    assert_ptr_equal(&r->events[e->parent], outer);
    assert_int_equal(rows_arg(r, e, "number")->u64, i + 1);
    whole += !(e->flags & TN_EVENT_KILLED);
  }
  assert_true(whole >= finished && n <= whole + 1);
  assert_true(r->processes.data[0].was_killed);
  check_has(tn_recording_warnings(r), "ended before its session was stopped");
}

/* Records scopes, names, arguments and memory as fast as it can. */
static void record_without_end(const char *path, _Atomic int *has_started) {
  tn_profile_options options = {.file = path, .max_bytes = 1 << 20, .drop = TN_KEEP_LAST};
  if (tn_profile_start(NULL, &options) == TN_OK) *has_started = 1;
  for (uint64_t i = 0;; ++i) {
    char name[32];
    snprintf(name, sizeof name, "name%llu", (unsigned long long)(i % 500));
    tn_timed scope = tn_timed_begin(name);
    TN_SCOPE_AS(inner, APP, 2, "inner");
    TN_EVENT_ARG(inner, tn_event_arg_u64("i", i));
    tn_memory_alloc("pool", &inner, i % 100 + 1);
    tn_memory_free("pool", &inner, 0);
    if (i % 50 == 0) tn_profile_step(NULL);
    tn_timed_end(&scope);
  }
}

/* From the session's beginning to long after its buffers are full: each time there is a recording, and it is whole. */
ROW(b12_killed_at_200_points) {
  (void)state;
  char path[64];
  _Atomic int *has_started = mmap(NULL, sizeof *has_started, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  snprintf(path, sizeof path, "/tmp/tenon-b12-%d", (int)getpid());
  int n_with_events = 0;
  for (int k = 0; k < 200; ++k) {
    *has_started = 0;
    pid_t child = fork();
    if (child == 0) record_without_end(path, has_started);
    while (!*has_started) sched_yield();
    usleep((useconds_t)(50 * k));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    tn_context *ctx = check_context();
    tn_recording *r = tn_recording_load(ctx, path);
    if (!r) fail_msg("kill %d: %s", k, tn_context_message(ctx));
    for (int64_t i = 0; i < r->n_events; ++i) {
      const tn_event *e = &r->events[i];
      bool is_known = strncmp(e->name, "name", 4) == 0 || strcmp(e->name, "inner") == 0 ||
                      strcmp(e->name, "pool") == 0 || strncmp(e->name, "Round#", 6) == 0;
      if (!is_known || e->parent >= i || e->duration_ns < 0)
        fail_msg("kill %d: event %lld '%s'", k, (long long)i, e->name);
    }
    n_with_events += r->n_events > 0;
    tn_recording_free(r);
    check_context_free(ctx);
  }
  unlink(path);
  print_message("200 killed, %d had recorded something\n", n_with_events);
  assert_true(n_with_events > 150);
}

ROW(b12_killed_process) {
  (void)state;
  char path[64];
  temporary(path);
  _Atomic uint32_t *finished = mmap(NULL, sizeof *finished, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(finished != MAP_FAILED);
  pid_t child = fork();
  if (child == 0) record_forever(path, finished);
  for (int i = 0; i < 20000 && atomic_load(finished) < 300; ++i) usleep(1000);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_true(atomic_load(finished) >= 300);
  tn_context *ctx = check_context();
  tn_recording *r = tn_recording_recover(ctx, path);
  check_ok(ctx);
  assert_non_null(r);
  assert_int_equal(r->processes.data[0].pid, child);
  check_rebuilt(r, atomic_load(finished));
  munmap((void *)finished, sizeof *finished);
  tn_recording_free(r);
  check_context_free(ctx);
  unlink(path);
}

static void check_no_recording(const char *path, const char *why) {
  tn_context *ctx = check_context();
  assert_null(tn_recording_recover(ctx, path));
  check_message_has(ctx, path, why);
  check_context_free(ctx);
}

static char *read_bytes(const char *path, size_t *n) {
  char *bytes = runtime_read_file(NULL, path, n);
  assert_non_null(bytes);
  return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t n) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  fclose(file);
}

/* A file with a bit of everything. */
static void make_file(const char *path) {
  const tn_profile_options options = {.file = path, .keep_file = true, .max_bytes = 128 << 10};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  {
    TN_SCOPE_AS(scope, SEARCH, 1, "scope");
    TN_EVENT_ARG(scope, tn_event_arg_text("key", "value"));
    tn_memory_alloc("arena", path, 10);
    tn_counter(NULL, "counter", 1);
    tn_event_add(NULL, "added", profiler_now_ns() - 10, profiler_now_ns(), 1, NULL, 0);
    record(400);
  }
  TN_TIMED("open");
  tn_recording_free(rows_collect());
}

/* Damages a byte of the file, mostly one that holds something; *AT gets its place. */
static void damage(int file, const char *bytes, size_t n, runtime_rng *rng, size_t *at) {
  for (int tries = 0; tries < 1000; ++tries) {
    *at = (size_t)runtime_random_below(rng, tries % 2 ? 1024 : (int64_t)n);
    if (bytes[*at] != 0 || tries % 8 == 0) break;
  }
  char byte = (char)runtime_random(rng);
  assert_int_equal(pwrite(file, &byte, 1, (off_t)*at), 1);
}

/* An error or a recording, never a crash. */
static void fuzz(const char *path, const char *bytes, size_t n, int rounds) {
  runtime_rng rng = {.state = 7};
  int file = open(path, O_WRONLY);
  assert_true(file >= 0);
  for (int i = 0; i < rounds; ++i) {
    size_t at[8];
    int n_places = 1 + (int)runtime_random_below(&rng, 8);
    for (int k = 0; k < n_places; ++k) damage(file, bytes, n, &rng, &at[k]);
    tn_recording_free(tn_recording_recover(NULL, path));
    for (int k = 0; k < n_places; ++k) assert_int_equal(pwrite(file, bytes + at[k], 1, (off_t)at[k]), 1);
  }
  close(file);
}

/* Numbers that a sum or a difference would overflow. */
static void check_far_numbers(const char *path, const char *bytes, size_t n) {
  const int64_t cpu_ns[2] = {INT64_MIN, INT64_MAX};
  const uint64_t ns[2] = {UINT64_MAX, 0};
  write_bytes(path, bytes, n);
  int file = open(path, O_WRONLY);
  assert_int_equal(pwrite(file, cpu_ns, sizeof cpu_ns, offsetof(storage_header, cpu_ns)), sizeof cpu_ns);
  assert_int_equal(pwrite(file, ns, sizeof ns, offsetof(storage_header, ns)), sizeof ns);
  close(file);
  tn_recording *r = tn_recording_recover(NULL, path);
  assert_non_null(r);
  assert_true(r->info.cpu_ns > 0 && r->info.start_ns > 0);
  tn_recording_free(r);
  write_bytes(path, bytes, n);
}

ROW(b12_damaged_files) {
  (void)state;
  char path[64];
  check_no_recording("/nowhere/file", "cannot open /nowhere/file: No such file");
  check_no_recording(temporary(path), "empty");
  write_bytes(path, "not a profile, but long enough to be read as one", 48);
  check_no_recording(path, "not a recorder's file");
  unlink(path);
  make_file(path);
  size_t n;
  char *bytes = read_bytes(path, &n);
  assert_int_equal(truncate(path, (off_t)n - 1), 0);
  check_no_recording(path, "cut off");
  write_bytes(path, bytes, n);
  tn_recording *r = tn_recording_recover(NULL, path);
  assert_int_equal(rows_count(r, "one of many"), 400);
  assert_int_equal(rows_find(r, "open", 0)->flags, TN_EVENT_UNFINISHED);
  tn_recording_free(r);
  check_far_numbers(path, bytes, n);
  fuzz(path, bytes, n, 10000);
  unlink(path);
  free(bytes);
}

static void start_refused(const char *path, const char *why) {
  tn_context *ctx = check_context();
  const tn_profile_options options = {.file = path};
  assert_int_equal(tn_profile_start(ctx, &options), TN_ERROR_IO);
  check_message_has(ctx, path, why);
  check_context_free(ctx);
}

static void check_victim(const char *victim) {
  size_t n;
  char *bytes = read_bytes(victim, &n);
  assert_string_equal(bytes, "precious");
  free(bytes);
}

/* What is no recorder's file is not touched, whatever its name leads to. */
static void check_not_touched(const char *path, const char *victim) {
  write_bytes(victim, "precious", 8);
  assert_int_equal(symlink(victim, path), 0);
  start_refused(path, "it is a symbolic link");
  check_victim(victim);
  unlink(path);
  assert_int_equal(link(victim, path), 0);
  start_refused(path, "a file of that name that no recorder wrote");
  check_victim(victim);
  unlink(path);
  assert_int_equal(truncate(victim, 0), 0);
  assert_int_equal(link(victim, path), 0);
  start_refused(path, "a file of that name that no recorder wrote");
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  start_refused(path, "a file of that name that no recorder wrote");
  unlink(path);
}

/* What a killed run left is replaced, its workers' files too; whoever has it open keeps it. */
static void check_replaced(const char *path) {
  char worker[96], other[96];
  snprintf(worker, sizeof worker, "%s.worker-a1B2c3", path);
  snprintf(other, sizeof other, "%s.worker-notes.txt", path);
  make_file(path);
  write_bytes(worker, "", 0);
  write_bytes(other, "precious", 8);
  int kept = open(path, O_RDONLY);
  struct stat before, after;
  assert_int_equal(fstat(kept, &before), 0);
  const tn_profile_options options = {.file = path};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  assert_int_equal(fstat(kept, &after), 0);
  assert_int_equal(before.st_size, after.st_size);
  assert_int_equal(access(worker, F_OK), -1);
  tn_recording_free(rows_collect());
  check_victim(other);
  assert_int_equal(access(path, F_OK), -1);
  close(kept);
  unlink(other);
}

ROW(b12_files_of_others) {
  (void)state;
  char folder[] = "/tmp/tenon-files-XXXXXX", path[64], victim[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/session", folder);
  snprintf(victim, sizeof victim, "%s/victim", folder);
  check_not_touched(path, victim);
  check_replaced(path);
  unlink(victim);
  rmdir(folder);
}

/* ---- B13 --------------------------------------------------------------------------------------------------------- */

/* The child: nothing recorded, nothing open; what it records is its own. Its exit status says what was wrong. */
static void forked(tn_scope *open, int n) {
  if (profiler_live_events() != 0) _exit(10);
  if (profiler_open_scopes() != 0) _exit(11);
  for (int i = n; i-- > 0;) tn_scope_end(&open[i]); /* of the parent's session: nothing happens */
  {
    TN_TIMED("in the child");
  }
  if (profiler_live_events() != 1) _exit(12);
  if (tn_profile_stop(NULL) != TN_OK) _exit(13);
  tn_recording *r = tn_profile_collect(NULL);
  if (!r || r->n_events != 1 || r->processes.data[0].pid != getpid()) _exit(14);
  if (r->info.stats.double_ends != 0) _exit(15);
  tn_recording_free(r);
  _exit(0);
}

/* Recordings of parent and child in one. */
static void check_merged(const tn_recording *parent, const char *child_path) {
  tn_recording *child = tn_recording_recover(NULL, child_path);
  tn_recording *both = profiler_recording_new();
  assert_non_null(child);
  both->info = parent->info;
  assert_true(profiler_recording_append(both, parent, 0));
  assert_true(profiler_recording_append(both, child, 0));
  assert_true(profiler_recording_finish(both));
  assert_int_equal(rows_count(both, "finished"), 100);
  assert_int_equal(rows_count(both, "open"), 5);
  assert_int_equal(rows_count(both, "in the child"), 1);
  assert_int_equal(both->processes.n, 2);
  const tn_event *e = rows_find(both, "in the child", 0);
  assert_int_equal(profiler_process_of(both, e)->pid, child->processes.data[0].pid);
  assert_true(e->start_ns > rows_find(both, "finished", 99)->start_ns);
  tn_recording_free(both);
  tn_recording_free(child);
}

ROW(b13_fork) {
  (void)state;
  char path[64], child_path[96];
  temporary(path);
  const tn_profile_options options = {.file = path, .keep_file = true};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  tn_scope open[5];
  for (int i = 0; i < 100; ++i) {
    TN_TIMED("finished");
  }
  for (int i = 0; i < 5; ++i) open[i] = tn_timed_begin("open");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) forked(open, 5);
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(status, 0);
  for (int i = 5; i-- > 0;) tn_scope_end(&open[i]);
  tn_recording *r = rows_collect();
  assert_int_equal(r->n_events, 105);
  snprintf(child_path, sizeof child_path, "%s.%d", path, (int)child);
  check_merged(r, child_path);
  tn_recording_free(r);
  unlink(path);
  unlink(child_path);
}

/* ---- B14 --------------------------------------------------------------------------------------------------------- */

/* What both clocks show at one instant. */
typedef struct moment {
  uint64_t profiler_ns, system_ns;
} moment;

/* Of many tries the one in which the least time passed: a busy machine may stop the thread between two readings. */
static moment read_both(void) {
  moment best = {0};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    uint64_t before = profiler_now_ns(), system = runtime_now_ns(), after = profiler_now_ns();
    if (after - before >= least) continue;
    least = after - before;
    best = (moment){before + least / 2, system};
  }
  return best;
}

static void check_rate(double seconds) {
  moment start = read_both(), end = start;
  for (uint64_t last = start.profiler_ns; end.system_ns - start.system_ns < (uint64_t)(seconds * 1e9);
       end = read_both()) {
    for (int i = 0; i < 10000; ++i) {
      uint64_t now = profiler_now_ns();
      assert_true(now >= last);
      last = now;
    }
    if (seconds > 0.5) usleep(100000);
  }
  double passed = (double)(end.system_ns - start.system_ns);
  double off = ((double)(end.profiler_ns - start.profiler_ns) / passed - 1) * 1e6;
  printf("the TSC is off by %.2f ppm after %.1f s\n", off, seconds);
  if (!rows_is_instrumented() && (off > 50 || off < -50)) fail_msg("%.1f ppm", off);
}

/* The clock of the wall jumps back by an hour in the middle of a scope. */
static void check_jump(void) {
  rows_clock_install();
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tn_scope scope = rows_begin(1000, "scope");
  rows_clock_set_unix(UINT64_C(1700000000000000000) - UINT64_C(3600000000000));
  rows_end(3000, &scope);
  tn_recording *r = rows_collect();
  assert_int_equal(rows_total_ns(r, "scope"), 2000);
  assert_true(r->info.start_unix_ns == INT64_C(1700000000000000000));
  tn_recording_free(r);
}

/* Other rows again, in processes that may not use the TSC. */
static void check_fallback(void) {
  char program[4096], command[8192];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  assert_true(n > 0);
  program[n] = '\0';
  static const char *const costly[] = {"a1_", "a16_", "b4_windows", "b9_", "b10_", "b11_", "b12_damaged", "b14_"};
  for (const profiler_row *row = profiler_rows; row->name; ++row) {
    bool skip = row->name[0] != 'a' && row->name[0] != 'b';
    for (int i = 0; i < RUNTIME_COUNT(costly); ++i) skip |= strncmp(row->name, costly[i], strlen(costly[i])) == 0;
    if (skip) continue;
    snprintf(command, sizeof command, "TENON_TEST_NO_TSC=1 '%s' %s >/dev/null 2>&1", program, row->name);
    int status = system(command);
    if (status != 0 && WEXITSTATUS(status) != 77) fail_msg("%s fails without the TSC", row->name);
  }
}

ROW(b14_clock) {
  (void)state;
  if (profiler_clock_is_tsc())
    check_rate(rows_is_instrumented() ? 0.2 : 10);
  else
    printf("no invariant TSC here: CLOCK_MONOTONIC\n");
  const profiler_clock no_tsc = {.no_tsc = true};
  profiler_set_clock(&no_tsc);
  assert_false(profiler_clock_is_tsc());
  profiler_set_clock(NULL);
  check_jump();
  check_fallback();
}
