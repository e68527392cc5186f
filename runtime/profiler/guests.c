/* guests.c: guests of a session. Recordings of worker processes are kept until the session is collected,
 * then appended to its own; several recordings of one thread become one lane.
 *
 * The session owns what it adopted until it is collected or dropped. */
#include "runtime/profiler/guests.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder)
/* Runs over all sources that were added. */
#define EACH_SOURCE(s)                                              \
  for (const tn_profile_source *const *at_ = THE->sources.data, *s; \
       at_ < THE->sources.data + THE->sources.n && (s = *at_); ++at_)

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

/* A session that waits for its delay counts already. */
static bool is_session(void) {
  int state = atomic_load(&THE->state);
  return state == TN_PROFILE_RECORDING || state == TN_PROFILE_WAITING;
}

/* OUT's file is the session's own text, valid until the session ends. False while a tracer gets the events. */
bool profiler_session_options(tn_profile_options *out) {
  *out = (tn_profile_options){0};
  if (!is_session() || atomic_load(&THE->tracer)) return false;
  out->level = THE->options.level;
  out->categories = THE->options.categories;
  out->file = THE->file;
  return true;
}

/* Takes R over in any case; frees it if no session wants it. */
void profiler_session_adopt(tn_recording *r) {
  if (!r) return;
  pthread_mutex_lock(&THE->lock);
  bool kept = is_session() && RUNTIME_PUSH(&THE->adopted, r);
  pthread_mutex_unlock(&THE->lock);
  if (!kept) tn_recording_free(r);
}

void profiler_guests_drop(void) {
  for (int i = 0; i < THE->adopted.n; ++i) tn_recording_free(THE->adopted.data[i]);
  RUNTIME_VEC_FREE(&THE->adopted);
  EACH_SOURCE(s) {
    if (s->drop) s->drop(s->user);
  }
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* Takes the control lock if no session is running; otherwise fails. */
static bool lock_idle(tn_context *ctx, const char *call) {
  pthread_mutex_lock(&THE->control);
  if (!is_session()) return true;
  pthread_mutex_unlock(&THE->control);
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: not while a session runs", call);
  return false;
}

/* SOURCE is kept by address and must live until it is removed. */
tn_status tn_profile_add_source(tn_context *ctx, const tn_profile_source *source) {
  if (!RUNTIME_GIVEN(ctx, source)) return TN_ERROR_ARGUMENT;
  if (source->struct_size < sizeof *source)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_profile_add_source: struct_size is %zu, not %zu",
                        source->struct_size, sizeof *source);
  if (!lock_idle(ctx, "tn_profile_add_source")) return TN_ERROR_ARGUMENT;
  bool kept = RUNTIME_PUSH(&THE->sources, source);
  pthread_mutex_unlock(&THE->control);
  return kept ? TN_OK : runtime_fail(ctx, TN_ERROR_MEMORY, "tn_profile_add_source: out of memory");
}

/* The index of SOURCE; the number of sources if it was not added. */
static int find_source(const tn_profile_source *source) {
  int at = 0;
  while (at < THE->sources.n && THE->sources.data[at] != source) ++at;
  return at;
}

tn_status tn_profile_remove_source(tn_context *ctx, const tn_profile_source *source) {
  if (!lock_idle(ctx, "tn_profile_remove_source")) return TN_ERROR_ARGUMENT;
  int at = find_source(source), n = THE->sources.n;
  for (int i = at; i + 1 < n; ++i) THE->sources.data[i] = THE->sources.data[i + 1];
  THE->sources.n -= at < n;
  if (THE->sources.n == 0) RUNTIME_VEC_FREE(&THE->sources);
  pthread_mutex_unlock(&THE->control);
  return at < n ? TN_OK : runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_profile_remove_source: it was not added");
}

/* The path is copied, since sessions read it later. */
tn_status tn_profile_set_device_options(tn_context *ctx, const tn_device_options *options) {
  const char *path = options ? options->repository_path : NULL;
  char *copy = path && *path ? strdup(path) : NULL;
  if (path && *path && !copy) return runtime_fail(ctx, TN_ERROR_MEMORY, "profile: out of memory");
  if (!lock_idle(ctx, "tn_profile_set_device_options")) return free(copy), TN_ERROR_ARGUMENT;
  free((char *)THE->device_options.repository_path);
  THE->has_device_options = options != NULL;
  THE->device_options = options ? *options : (tn_device_options){0};
  THE->device_options.repository_path = copy;
  pthread_mutex_unlock(&THE->control);
  return TN_OK;
}

/* ---- one lane a thread ------------------------------------------------------------------------------------------- */

/* Names are interned in one recording, so equal texts have equal addresses. */
static bool is_same_process(const tn_process *a, const tn_process *b) {
  return a->pid == b->pid && a->node_id == b->node_id && a->name == b->name && a->host == b->host;
}

/* Lanes of devices are never united, since their clocks differ. */
static bool is_same_lane(const tn_lane *a, const tn_lane *b) {
  return a->process == b->process && a->tid == b->tid && a->name == b->name && !a->is_device && !b->is_device;
}

/* Keeps one of each process, at the front; to[i] is the new index of process i. */
static void unite_processes(tn_recording *r, int *to) {
  int n = 0;
  for (int i = 0; i < r->processes.n; ++i) {
    tn_process p = r->processes.data[i];
    for (to[i] = 0; to[i] < n && !is_same_process(&r->processes.data[to[i]], &p);) ++to[i];
    if (to[i] == n) r->processes.data[n++] = p;
    r->processes.data[to[i]].was_killed |= p.was_killed;
  }
  r->processes.n = n;
}

/* Unites lanes that are equal once their processes are united. TO maps old numbers to new ones; losses are added up. */
static void unite_lanes(tn_recording *r, const int *process_to, int *to) {
  int n = 0;
  for (int i = 0; i < r->lanes.n; ++i) {
    tn_lane lane = r->lanes.data[i];
    lane.process = process_to[lane.process];
    for (to[i] = 0; to[i] < n && !is_same_lane(&r->lanes.data[to[i]], &lane);) ++to[i];
    if (to[i] == n)
      r->lanes.data[n++] = lane;
    else
      r->lanes.data[to[i]].dropped += lane.dropped;
  }
  r->lanes.n = n;
}

/* Renumbers processes and lanes, so the recording must be finished again. */
static bool unite(tn_recording *r) {
  int *process_to = calloc((size_t)r->processes.n + 1, sizeof(int)), *to = calloc((size_t)r->lanes.n + 1, sizeof(int));
  bool has_memory = process_to && to;
  if (has_memory) {
    unite_processes(r, process_to);
    unite_lanes(r, process_to, to);
    for (int64_t i = 0; i < r->n_events; ++i) r->events[i].lane = to[r->events[i].lane];
  }
  free(process_to);
  free(to);
  return has_memory;
}

/* ---- after a kill ------------------------------------------------------------------------------------------------ */

/* Appends the recording in a file next to the tuner's; one that cannot be read is only reported. */
static void append_file(tn_recording *r, const char *folder, const char *name) {
  runtime_str path = {0};
  tn_context *ctx = tn_context_new(NULL);
  runtime_str_addf(&path, "%s/%s", folder, name);
  tn_recording *worker = path.failed || !ctx ? NULL : tn_recording_recover(ctx, path.data);
  if (worker)
    profiler_recording_append(r, worker, 0);
  else if (ctx)
    profiler_warn(r, "%s", tn_context_message(ctx));
  tn_recording_free(worker);
  tn_context_free(ctx);
  runtime_str_free(&path);
}

/* Removes regular files only, not what a link of that name points to. */
static void remove_file(tn_recording *r, const char *folder, const char *name) {
  (void)r;
  runtime_str path = {0};
  struct stat info;
  runtime_str_addf(&path, "%s/%s", folder, name);
  if (!path.failed && lstat(path.data, &info) == 0 && S_ISREG(info.st_mode)) unlink(path.data);
  runtime_str_free(&path);
}

/* Whether NAME is one that mkostemp makes from PREFIX. */
static bool is_workers(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && strlen(name) == n + strlen("XXXXXX");
}

/* Visits the matching files; returns how many there were. */
static int visit_folder(const char *folder, const char *prefix, tn_recording *r,
                        void (*visit)(tn_recording *r, const char *folder, const char *name)) {
  int n = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    if (!is_workers(entry->d_name, prefix)) continue;
    visit(r, folder, entry->d_name);
    ++n;
  }
  if (entries) closedir(entries);
  return n;
}

/* Visits the files that workers left next to the tuner's file at PATH. Returns how many; -1 without memory. */
static int visit_workers_files(const char *path, tn_recording *r,
                               void (*visit)(tn_recording *r, const char *folder, const char *name)) {
  char *folder = strdup(path);
  runtime_str prefix = {0};
  if (!folder) return -1;
  char *slash = strrchr(folder, '/');
  runtime_str_addf(&prefix, "%s" PROFILER_WORKER_FILE, slash ? slash + 1 : path);
  if (slash) slash[slash == folder] = '\0'; /* "/" stays */
  int n = prefix.failed ? -1 : visit_folder(slash ? folder : ".", prefix.data, r, visit);
  runtime_str_free(&prefix);
  free(folder);
  return n;
}

/* False: no memory. Files that cannot be read are reported in R's errors. */
bool profiler_guests_recover(tn_recording *r, const char *path) {
  int n = visit_workers_files(path, r, append_file);
  return n == 0 || (n > 0 && unite(r) && profiler_recording_finish(r));
}

void profiler_guests_clean(const char *path) { visit_workers_files(path, NULL, remove_file); }

/* ---- with the session -------------------------------------------------------------------------------------------- */

void profiler_guests_start(void) {
  const tn_device_options *device = THE->has_device_options ? &THE->device_options : NULL;
  EACH_SOURCE(s) {
    if (s->start) s->start(s->user, device);
  }
}

void profiler_guests_finished(tn_recording *r) {
  const tn_device_options *device = THE->has_device_options ? &THE->device_options : NULL;
  EACH_SOURCE(s) {
    if (s->finished) s->finished(s->user, r, device);
  }
}

void profiler_guests_stop(void) {
  EACH_SOURCE(s) {
    if (s->stop) s->stop(s->user);
  }
}

/* The guests are gone afterwards, even if this fails. */
bool profiler_guests_collect(tn_recording *r) {
  int n_lanes = r->lanes.n;
  bool done = true;
  for (int i = 0; i < THE->adopted.n; ++i) done = profiler_recording_append(r, THE->adopted.data[i], 0) && done;
  EACH_SOURCE(s) {
    if (s->collect) s->collect(s->user, r);
  }
  profiler_guests_drop();
  if (r->lanes.n == n_lanes) return done;
  return done && unite(r) && profiler_recording_finish(r);
}
