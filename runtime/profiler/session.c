/* session.c: sessions: the state machine, windows of rounds, what happens at a fork, and the storage's header.
 *
 * profiler.h has the table of states and calls. The recorder owns a copy of the options, the storage while
 * there is one, and what guests handed over. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/profiler/guests.h"
#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder)

static const tn_site round_site = {"", "", 0, TN_CATEGORY_ROUND, 1};

/* ---- the filter -------------------------------------------------------------------------------------------------- */

/* Sets the bits of sessions and keeps the bit of profilers. In two steps, since others change that bit; in
 * between the session wants nothing. */
static void set_filter(uint64_t session_bits) {
  __atomic_fetch_and(&tn_profile_filter, PROFILER_TABLE_BIT, __ATOMIC_SEQ_CST);
  __atomic_fetch_or(&tn_profile_filter, session_bits, __ATOMIC_SEQ_CST);
}

/* If the host is not traced, lanes of devices remain; if devices are not traced, the host's remain. */
static uint64_t categories_for(const tn_device_options *o) {
  uint64_t devices = 1ull << TN_CATEGORY_DEVICE | 1ull << TN_CATEGORY_PLUGIN;
  return (o->host_tracer_level > 0 ? ~devices : 0) | (o->device_tracer_level > 0 ? devices : 0);
}

/* Levels become a mask, so that one comparison decides on category and level. */
static uint64_t filter_of(const tn_profile_options *o) {
  int level = o->level == 0 ? TN_LEVEL_DEFAULT : RUNTIME_MAX(o->level, 0);
  uint64_t categories = o->categories ? o->categories : (1ull << TN_CATEGORY_COUNT) - 1;
  if (THE->has_device_options) categories &= categories_for(&THE->device_options);
  return categories | ((2ull << level) - 1) << 32;
}

/* ---- storage ----------------------------------------------------------------------------------------------------- */

/* Unmaps the storage. Called under the lock while nobody writes. */
static void drop_storage(void) {
  storage_close(&THE->storage);
  runtime_map_free(&THE->names);
  runtime_map_free(&THE->labels);
  THE->n_devices = 0;
}

/* Waits until nobody writes any more. If a thread hangs while writing, the mapping is forgotten instead of unmapped. */
static void make_quiet(void) {
  if (profiler_quiesce()) return;
  pthread_mutex_lock(&THE->lock);
  THE->storage = (storage){.file = -1};
  pthread_mutex_unlock(&THE->lock);
}

/* The path of this process's file; a forked child's ends in its process number. */
static char *file_path(void) {
  if (!THE->options.file) return NULL;
  runtime_str path = {0};
  runtime_str_add(&path, THE->options.file);
  if (getpid() != THE->pid) runtime_str_addf(&path, ".%d", (int)getpid());
  return path.data;
}

/* Processor time of this process, and the most memory it has used. */
static int64_t cpu_time_ns(int64_t *peak_rss_bytes) {
  struct rusage use = {0};
  getrusage(RUSAGE_SELF, &use);
  *peak_rss_bytes = (int64_t)use.ru_maxrss * 1024;
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000000000) +
         (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * INT64_C(1000);
}

/* Names are stored first, so that a full memory cannot lose them. */
static void fill_header(storage_header *h) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  h->pid = getpid();
  h->node_id = THE->options.node_id - 1;
  h->process_name =
      profiler_name(THE->options.process_name ? THE->options.process_name : program_invocation_short_name);
  h->host_name = profiler_name(host);
  h->event_cost_ns = THE->event_cost_ns;
  h->ns_per_tick = profiler_ticks_to_ns(1);
  h->cpu_ns[0] = h->cpu_ns[1] = cpu_time_ns(&h->peak_rss_bytes);
}

/* False with errno set. */
bool profiler_new_storage(void) {
  free(THE->file);
  THE->file = file_path();
  size_t max_bytes = THE->options.max_bytes ? THE->options.max_bytes : (size_t)256 << 20;
  if (!storage_create(&THE->storage, max_bytes, THE->file)) return false;
  fill_header(THE->storage.header);
  profiler_moment now = profiler_clock_moment();
  storage_header *h = THE->storage.header;
  h->ticks[0] = h->ticks[1] = now.ticks;
  h->ns[0] = h->ns[1] = now.ns;
  h->unix_ns = profiler_unix_ns();
  return true;
}

/* Notes the devices' clocks at the end. */
static void read_devices(void) {
  for (int i = 0; i < THE->n_devices; ++i) {
    const profiler_device *d = &THE->devices[i];
    storage_lane *lane = &THE->storage.lanes[d->lane_link - 1];
    lane->device_ns[1] = d->now(d->user);
    lane->host_ns[1] = profiler_clock_moment().ns;
  }
}

/* ---- recording on and off ---------------------------------------------------------------------------------------- */

static uint64_t ticks_of(double seconds) { return (uint64_t)(seconds * 1e9 / profiler_ticks_to_ns(1)); }

/* Sets which ticks are recorded: N_TICKS from FROM on; events outside are dropped where they are made. */
static void set_limits(void) {
  const tn_profile_options *o = &THE->options;
  uint64_t from = o->delay_s > 0 ? profiler_ticks() + ticks_of(o->delay_s) : 0;
  if (o->limit_s > 0 && !from) from = profiler_ticks();
  atomic_store(&THE->from_ticks, from);
  atomic_store(&THE->n_ticks, o->limit_s > 0 ? ticks_of(o->limit_s) : UINT64_MAX - from);
}

/* Turns recording on: into a new storage, or into the present one. */
static bool begin_recording(bool is_new) {
  pthread_mutex_lock(&THE->lock);
  bool made = (!is_new && THE->storage.header) || profiler_new_storage();
  int error = errno;
  pthread_mutex_unlock(&THE->lock);
  errno = error;
  if (!made) return false;
  THE->storage.header->is_stopped = 0;
  atomic_fetch_add(&THE->generation, 1);
  THE->round_ticks = profiler_ticks();
  set_filter(filter_of(&THE->options));
  atomic_store(&THE->state, TN_PROFILE_RECORDING);
  return true;
}

/* Notes in the header when the session stopped. Called under the lock. */
static void mark_stopped(void) {
  storage_header *h = THE->storage.header;
  THE->is_marked = true;
  if (!h) return;
  read_devices();
  h->ticks[1] = THE->stopped_at.ticks;
  h->ns[1] = THE->stopped_at.ns;
  h->start_cost_ns = THE->start_cost_ns;
  h->stop_cost_ns = THE->stop_cost_ns;
  h->cpu_ns[1] = cpu_time_ns(&h->peak_rss_bytes);
  h->is_stopped = 1;
}

/* Turns recording off without waiting: threads may still be finishing a record, and may need the lock for a
 * new name. Whoever reads or unmaps the buffers waits for them. */
static void end_recording(void) {
  uint64_t started = profiler_now_ns();
  set_filter(0);
  THE->stopped_at = profiler_clock_moment();
  THE->stop_cost_ns = profiler_now_ns() - started;
  THE->is_marked = false;
  if (pthread_mutex_trylock(&THE->lock) != 0) return;
  mark_stopped();
  pthread_mutex_unlock(&THE->lock);
}

/* The mapped file is removed once the session's events are in memory, unless the caller wants to keep it. */
static void remove_file(void) {
  if (THE->file && !THE->options.keep_file) unlink(THE->file);
}

/* Drops the events so far, and their file, without reading them. */
static void drop_recorded(void) {
  make_quiet();
  pthread_mutex_lock(&THE->lock);
  remove_file();
  drop_storage();
  pthread_mutex_unlock(&THE->lock);
}

/* Turns what was recorded into a recording and returns the buffers. */
static tn_recording *take_recording(void) {
  make_quiet();
  pthread_mutex_lock(&THE->lock);
  if (!THE->storage.header) profiler_new_storage();
  if (!THE->is_marked) mark_stopped();
  pthread_mutex_unlock(&THE->lock);
  uint64_t started = profiler_now_ns();
  tn_recording *r = THE->storage.header ? storage_collect(&THE->storage, 0) : NULL;
  drop_recorded();
  if (r) r->info.stats.collect_ns = profiler_now_ns() - started;
  if (r && THE->warnings) profiler_warn(r, "%s", THE->warnings);
  if (!r || profiler_guests_collect(r)) return r;
  tn_recording_free(r);
  return NULL;
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static bool is_in_callback(void) { return atomic_load(&THE->callback_thread) == (uintptr_t)pthread_self(); }

/* Both locks are held over a fork, so that the child gets them in a known state. A thread in a callback
 * holds the first already. */
static void before_fork(void) {
  if (!is_in_callback()) pthread_mutex_lock(&THE->control);
  pthread_mutex_lock(&THE->lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&THE->lock);
  if (!is_in_callback()) pthread_mutex_unlock(&THE->control);
}

/* The child has recorded nothing so far. It goes on recording, into buffers that its first event makes. */
static void after_fork_in_child(void) {
  drop_storage();
  profiler_hardware_forget();
  profiler_guests_drop();
  profiler_forget_threads();
  atomic_fetch_add(&THE->generation, 1);
  if (atomic_load(&THE->state) == TN_PROFILE_STOPPED) atomic_store(&THE->state, TN_PROFILE_IDLE);
  after_fork();
}

/* Done once in a process: the handlers cannot be removed again. */
static void prepare(void) {
  if (THE->is_prepared) return;
  THE->is_prepared = pthread_key_create(&THE->exit_key, profiler_thread_exits) == 0 &&
                     pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
  THE->needs_fence = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Frees the session's copies of the texts in its options. */
static void free_options(void) {
  free((char *)THE->options.file);
  free((char *)THE->options.process_name);
  free((char *)THE->options.pass_through);
  free(THE->warnings);
  THE->warnings = NULL;
  THE->options = (tn_profile_options){0};
}

static bool copy_text(const char **text) { return !*text || (*text = strdup(*text)); }

/* Copies all texts, since the caller's may be gone before the session ends. False: no memory; what was
 * copied is freed with the options. */
static bool keep_options(const tn_profile_options *options) {
  free_options();
  if (options) THE->options = *options;
  tn_profile_options *o = &THE->options;
  bool kept = copy_text(&o->file);
  kept = copy_text(&o->process_name) && kept;
  return copy_text(&o->pass_through) && kept;
}

/* `!(x >= 0)` catches NaN as well. */
static tn_status check_options(tn_context *ctx, const tn_profile_options *o) {
  if (!o) return TN_OK;
  if (o->level < -1 || o->level > TN_LEVEL_MAX)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: level %d is outside -1 to %d", o->level, TN_LEVEL_MAX);
  if (o->categories >> TN_CATEGORY_COUNT)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: categories 0x%x has bits beyond the last category",
                        o->categories);
  if (!(o->delay_s >= 0 && o->limit_s >= 0 && isfinite(o->delay_s) && isfinite(o->limit_s)))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: delay %g s and limit %g s must not be negative", o->delay_s,
                        o->limit_s);
  if (o->skip < 0 || o->closed < 0 || o->ready < 0 || o->record < 0 || o->repeat < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: numbers of rounds must not be negative");
  if (o->record == 0 && (o->skip || o->closed || o->ready || o->repeat))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: windows need record rounds");
  return TN_OK;
}

/* The session goes on without the tracer. The warning is given at once and kept for the recording. */
static void warn_of_tracer(tn_context *ctx, const char *path, const char *why) {
  runtime_str text = {0};
  runtime_str_addf(&text, "profile: no pass-through to %s: %s", path, why);
  if (!text.failed) runtime_say(ctx, TN_SEVERITY_WARNING, "%s", text.data);
  free(THE->warnings);
  THE->warnings = text.data;
}

/* Loads the tracer, which is never unloaded. Without it the session records as usual, with a warning. */
static void load_tracer(tn_context *ctx, const char *path) {
  atomic_store(&THE->tracer, NULL);
  if (!path) return;
  THE->tracer_functions = (tn_tracer){.struct_size = sizeof(tn_tracer)};
  if (strcmp(path, PROFILER_USDT) == 0) {
    const char *why = profiler_usdt(&THE->tracer_functions);
    if (why) warn_of_tracer(ctx, path, why);
    if (!why) atomic_store(&THE->tracer, &THE->tracer_functions);
    return;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    warn_of_tracer(ctx, path, dlerror());
    return;
  }
  union {
    void *object;
    int (*init)(tn_tracer *);
  } symbol = {dlsym(library, TN_TRACER_INIT)};
  const char *wrong = !symbol.object                                              ? "it has no " TN_TRACER_INIT
                      : symbol.init(&THE->tracer_functions) != 0                  ? "its " TN_TRACER_INIT " failed"
                      : !THE->tracer_functions.push || !THE->tracer_functions.pop ? "it sets no push or pop"
                                                                                  : NULL;
  if (wrong)
    warn_of_tracer(ctx, path, wrong);
  else
    atomic_store(&THE->tracer, &THE->tracer_functions);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Whether round K is in a window, and whether it is the window's last. */
static bool is_recorded(const tn_profile_options *o, int k, bool *is_last) {
  *is_last = false;
  if (o->record == 0) return true;
  if (k < o->skip) return false;
  int period = o->closed + o->ready + o->record, at = (k - o->skip) % period, cycle = (k - o->skip) / period;
  *is_last = at == period - 1;
  return at >= o->closed + o->ready && (o->repeat == 0 || cycle < o->repeat);
}

/* Hands a finished window to the user. */
static void deliver_window(void) {
  tn_recording *r = take_recording();
  if (!r) return;
  atomic_store(&THE->callback_thread, (uintptr_t)pthread_self());
  profiler_guests_finished(r);
  THE->options.on_window(THE->options.user, r);
  atomic_store(&THE->callback_thread, 0);
}

/* Plug-ins are stopped before our own recording, so that their last events are within it. */
static void close_window(void) {
  profiler_guests_stop();
  end_recording();
  atomic_store(&THE->state, TN_PROFILE_WAITING);
  if (THE->options.on_window) deliver_window();
}

/* After round k: closes or opens a window. False: there are no buffers, with errno set. */
static bool move_windows(void) {
  bool is_last, ignored;
  bool was_recorded = is_recorded(&THE->options, THE->round, &is_last);
  bool is_next = is_recorded(&THE->options, THE->round + 1, &ignored);
  if (was_recorded && is_last) close_window();
  if (!is_next || (was_recorded && !is_last)) return true;
  if (!begin_recording(THE->options.on_window != NULL)) return false;
  profiler_guests_start();
  return true;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

enum { CALL_START, CALL_STEP, CALL_RESET, CALL_STOP, CALL_COLLECT };
static const struct {
  const char *name;
  bool is_allowed[4]; /* by state */
} calls[] = {{"start", {true, false, false, true}},
             {"step", {false, true, true, false}},
             {"reset", {false, true, true, true}},
             {"stop", {false, true, true, false}},
             {"collect", {false, false, false, true}}};

static const char *const state_names[] = {"idle", "waiting for its window", "recording", "stopped"};

/* Takes the control lock if the state allows the call; otherwise fails. */
static tn_status begin_call(tn_context *ctx, int call) {
  if (is_in_callback())
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: %s is not allowed inside on_window", calls[call].name);
  pthread_mutex_lock(&THE->control);
  int state = atomic_load(&THE->state);
  if (calls[call].is_allowed[state]) return TN_OK;
  pthread_mutex_unlock(&THE->control);
  return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: %s: the profiler is %s", calls[call].name, state_names[state]);
}

/* Applies what device options narrow. TensorFlow's level 1 means what the user marked, 2 the default, 3 everything. */
static void obey_device_options(void) {
  const tn_device_options *d = &THE->device_options;
  tn_profile_options *o = &THE->options;
  if (!THE->has_device_options) return;
  if (d->host_tracer_level == 1 && (o->level == 0 || o->level > 1)) o->level = 1;
  if (d->host_tracer_level >= 3 && o->level == 0) o->level = TN_LEVEL_MAX;
  double wait_s = ((double)d->start_timestamp_ns - (double)profiler_unix_ns()) * 1e-9,
         limit_s = (double)d->duration_ms * 1e-3;
  if (d->start_timestamp_ns > 0 && wait_s > o->delay_s) o->delay_s = wait_s;
  if (limit_s > 0 && (o->limit_s == 0 || limit_s < o->limit_s)) o->limit_s = limit_s;
}

/* Measures what an enabled scope costs, once, in a small session of its own. */
static void measure_cost(void) {
  if (THE->event_cost_ns > 0 || THE->clock.injected.monotonic_ns) return;
  tn_profile_options kept = THE->options;
  bool had_device_options = THE->has_device_options;
  THE->options = (tn_profile_options){.max_bytes = 1 << 20, .drop = TN_KEEP_LAST};
  THE->has_device_options = false;
  if (begin_recording(true)) THE->event_cost_ns = profiler_scope_cost_ns();
  end_recording();
  drop_recorded();
  THE->options = kept;
  THE->has_device_options = had_device_options;
}

/* Why there are no buffers, for messages. */
static const char *why_not(int error) {
  return error == ELOOP    ? "it is a symbolic link; remove it, or give the recording another name"
         : error == EEXIST ? "there is a file of that name that no recorder wrote"
                           : strerror(error);
}

/* Drops the previous recording if nobody collected it. After a failure the state is idle. */
static tn_status start(tn_context *ctx, const tn_profile_options *options) {
  if (THE->storage.header) drop_recorded();
  profiler_guests_drop();
  prepare();
  profiler_clock_prepare();
  if (!THE->is_prepared || !keep_options(options)) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  THE->pid = getpid();
  THE->round = 0;
  if (THE->options.file) profiler_guests_clean(THE->options.file);
  load_tracer(ctx, THE->options.pass_through);
  atomic_store(&THE->from_ticks, 0);
  atomic_store(&THE->n_ticks, UINT64_MAX);
  if (!atomic_load(&THE->tracer)) measure_cost();
  if (THE->options.counters) profiler_hardware_start();
  obey_device_options();
  set_limits();
  atomic_store(&THE->state, TN_PROFILE_WAITING);
  bool ignored;
  if (!is_recorded(&THE->options, 0, &ignored)) return TN_OK;
  if (begin_recording(true)) {
    profiler_guests_start();
    return TN_OK;
  }
  int error = errno;
  atomic_store(&THE->state, TN_PROFILE_IDLE);
  const char *path = THE->options.file ? THE->options.file : "buffers";
  return runtime_fail(ctx, TN_ERROR_IO, "profile: cannot make %s: %s", path, why_not(error));
}

/* The cost of starting is part of the session's statistics. */
tn_status tn_profile_start(tn_context *ctx, const tn_profile_options *options) {
  tn_status status = check_options(ctx, options);
  if (status != TN_OK || (status = begin_call(ctx, CALL_START)) != TN_OK) return status;
  uint64_t started = runtime_now_ns();
  status = start(ctx, options);
  THE->start_cost_ns = runtime_now_ns() - started;
  pthread_mutex_unlock(&THE->control);
  return status;
}

/* Guests are stopped before the state changes, since what they still have belongs to the session. */
tn_status tn_profile_stop(tn_context *ctx) {
  tn_status status = begin_call(ctx, CALL_STOP);
  if (status != TN_OK) return status;
  if (atomic_load(&THE->state) == TN_PROFILE_RECORDING) profiler_guests_stop();
  end_recording();
  profiler_hardware_stop();
  atomic_store(&THE->state, TN_PROFILE_STOPPED);
  pthread_mutex_unlock(&THE->control);
  return TN_OK;
}

/* Goes on recording or waiting, with empty buffers. A stopped session becomes idle. */
tn_status tn_profile_reset(tn_context *ctx) {
  tn_status status = begin_call(ctx, CALL_RESET);
  if (status != TN_OK) return status;
  int state = atomic_load(&THE->state);
  if (state == TN_PROFILE_RECORDING) profiler_guests_stop();
  set_filter(0);
  drop_recorded();
  profiler_guests_drop();
  if (state == TN_PROFILE_STOPPED) atomic_store(&THE->state, TN_PROFILE_IDLE);
  if (state == TN_PROFILE_RECORDING && !begin_recording(true)) {
    atomic_store(&THE->state, TN_PROFILE_IDLE);
    status = runtime_fail(ctx, TN_ERROR_IO, "profile: cannot make new buffers: %s", strerror(errno));
  } else if (state == TN_PROFILE_RECORDING) {
    profiler_guests_start();
  }
  pthread_mutex_unlock(&THE->control);
  return status;
}

/* Writes a round's event with times that the session took itself, since a round begins before it is known to be one. */
static void record_round(uint64_t now) {
  char name[32];
  snprintf(name, sizeof name, "Round#%d", THE->round);
  profiler_record_scope(&round_site, name, THE->round_ticks, now);
  pthread_mutex_lock(&THE->lock);
  if (THE->storage.header) ++THE->storage.header->n_rounds;
  pthread_mutex_unlock(&THE->lock);
}

/* Ends round k and begins the next. The windows move afterwards, so that a round's own event is in its window. */
tn_status tn_profile_step(tn_context *ctx) {
  tn_status status = begin_call(ctx, CALL_STEP);
  if (status != TN_OK) return status;
  uint64_t now = profiler_ticks();
  if (atomic_load(&THE->state) == TN_PROFILE_RECORDING) record_round(now);
  if (!move_windows()) status = runtime_fail(ctx, TN_ERROR_IO, "profile: no buffers: %s", strerror(errno));
  ++THE->round;
  THE->round_ticks = now;
  pthread_mutex_unlock(&THE->control);
  return status;
}

/* Possible once for a session; then the state is idle. NULL: no memory; it can be tried again. */
tn_recording *tn_profile_collect(tn_context *ctx) {
  if (begin_call(ctx, CALL_COLLECT) != TN_OK) return NULL;
  tn_recording *r = take_recording();
  if (r) atomic_store(&THE->state, TN_PROFILE_IDLE);
  if (r) profiler_guests_finished(r);
  pthread_mutex_unlock(&THE->control);
  if (!r) runtime_fail(ctx, TN_ERROR_MEMORY, "profile: collect: out of memory");
  return r;
}

tn_profile_state tn_profile_get_state(void) { return (tn_profile_state)atomic_load(&THE->state); }
