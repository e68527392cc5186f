/* plugin_options.c: the options of device profiling, also as the bytes of TensorFlow's message ProfileOptions. */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "profile/profiler_files.h"
#include "profile/profiler_loader.h"
#include "profile/xspace.pb-c.h"
#include "runtime/profiler/recorder.h"

typedef Tensorflow__Profiler__ProfileOptions options_message;

/* The defaults of TensorFlow's ProfileOptions, which plug-ins written for it expect. */
tn_device_options tn_device_options_default(void) {
  return (tn_device_options){.version = 1,
                             .include_dataset_ops = true,
                             .host_tracer_level = 2,
                             .device_tracer_level = 1,
                             .enable_hlo_proto = true};
}

/* ---- the repository ---------------------------------------------------------------------------------------------- */

/* Makes the folders above the last slash of PATH that do not exist. */
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0777);
    *slash = '/';
  }
}

/* Where TensorBoard looks: a folder for each run, a file for each host. */
static void add_place(runtime_str *out, const char *repository, const tn_recording *r) {
  time_t seconds = (time_t)(r->info.start_unix_ns / 1000000000);
  struct tm t;
  char run[32];
  if (!localtime_r(&seconds, &t) || !strftime(run, sizeof run, "%Y_%m_%d_%H_%M_%S", &t))
    snprintf(run, sizeof run, "run");
  const char *host = r->processes.n > 0 && r->processes.data[0].host[0] ? r->processes.data[0].host : "localhost";
  runtime_str_addf(out, "%s/plugins/profile/%s/%s.xplane.pb", repository, run, host);
}

/* If it cannot be written, that is an error of the recording; the program has the recording all the same. */
static void write_repository(void *user, tn_recording *r, const tn_device_options *options) {
  (void)user;
  runtime_str path = {0};
  tn_context *ctx = tn_context_new(NULL);
  if (!options || !options->repository_path || !*options->repository_path || !ctx) return tn_context_free(ctx);
  add_place(&path, options->repository_path, r);
  if (!path.failed) make_folders(path.data);
  if (path.failed || tn_recording_save(ctx, r, path.data) != TN_OK)
    profiler_error(r, "repository_path: %s", path.failed ? "out of memory" : tn_context_message(ctx));
  runtime_str_free(&path);
  tn_context_free(ctx);
}

static const tn_profile_source repository = {.struct_size = sizeof repository, .finished = write_repository};

/* NULL withdraws them. While a session runs all of it is refused, so that the session keeps what it began with. */
void tn_device_options_set(const tn_device_options *options) {
  tn_profile_remove_source(NULL, &repository);
  if (tn_profile_set_device_options(NULL, options) == TN_OK && options && options->repository_path)
    tn_profile_add_source(NULL, &repository);
}

/* ---- as bytes ---------------------------------------------------------------------------------------------------- */

/* malloc'ed; NULL without memory. *N is set in either case. */
void *tn_device_options_encode(const tn_device_options *o, size_t *n) {
  options_message m = TENSORFLOW__PROFILER__PROFILE_OPTIONS__INIT;
  if (!o || !n) return NULL;
  m.include_dataset_ops = o->include_dataset_ops;
  m.host_tracer_level = o->host_tracer_level;
  m.device_tracer_level = o->device_tracer_level;
  m.python_tracer_level = o->python_tracer_level;
  m.version = (uint32_t)o->version;
  m.device_type = (int32_t)o->device_type;
  m.enable_hlo_proto = o->enable_hlo_proto;
  m.start_timestamp_ns = o->start_timestamp_ns;
  m.duration_ms = o->duration_ms;
  if (o->repository_path) m.repository_path = (char *)o->repository_path;
  *n = tensorflow__profiler__profile_options__get_packed_size(&m);
  void *bytes = malloc(*n + 1);
  if (bytes) tensorflow__profiler__profile_options__pack(&m, bytes);
  return bytes;
}

static bool is_device_type(int32_t value) { return value >= TN_DEVICE_UNSPECIFIED && value <= TN_DEVICE_PLUGGABLE; }

/* The caller frees *PATH, to which OUT refers. On failure OUT is unchanged and *PATH NULL. */
tn_status tn_device_options_decode(tn_context *ctx, const void *data, size_t n, tn_device_options *out, char **path) {
  if (!RUNTIME_GIVEN(ctx, data) || !RUNTIME_GIVEN(ctx, out) || !RUNTIME_GIVEN(ctx, path)) return TN_ERROR_ARGUMENT;
  options_message *m = tensorflow__profiler__profile_options__unpack(NULL, n, data);
  *path = m ? strdup(m->repository_path) : NULL;
  bool ok = m && *path && is_device_type(m->device_type);
  if (ok)
    *out = (tn_device_options){.version = (int)m->version,
                               .device_type = (tn_device_type)m->device_type,
                               .include_dataset_ops = m->include_dataset_ops,
                               .host_tracer_level = m->host_tracer_level,
                               .device_tracer_level = m->device_tracer_level,
                               .python_tracer_level = m->python_tracer_level,
                               .enable_hlo_proto = m->enable_hlo_proto,
                               .start_timestamp_ns = m->start_timestamp_ns,
                               .duration_ms = m->duration_ms,
                               .repository_path = *path};
  if (m) tensorflow__profiler__profile_options__free_unpacked(m, NULL);
  if (ok) return TN_OK;
  free(*path);
  *path = NULL;
  return runtime_fail(ctx, TN_ERROR_PARSE, "%zu bytes that are no message ProfileOptions", n);
}
