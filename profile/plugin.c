/* plugin.c: loads profiler plug-ins, checks what they register, and calls them around sessions. Nothing
 * that a plug-in does wrong stops a session: its messages are kept for the recording.
 *
 * A tn_plugin owns its library and copies of what it registered. The plug-in's own handles belong to the
 * plug-in and are given back through its destroy functions. */
#include <dlfcn.h>
#include <stdio.h>

#include "profile/files.h"
#include "profile/profiler_loader.h"
#include "profile/profiler_plugin.h"

/* Room behind our structs for a newer plug-in that does not check their size. */
enum { SLACK_BYTES = 256, MAX_DATA_BYTES = 1 << 30 };

_Static_assert(TN_PLUGIN_PROFILER_SIZE == offsetof(tn_plugin_profiler, name) + sizeof(const char *), "size");
_Static_assert(TN_PLUGIN_PROFILER_FNS_SIZE ==
                   offsetof(tn_plugin_profiler_fns, collect_data_xspace) + sizeof(void (*)(void)),
               "size");
_Static_assert(TN_PLUGIN_REGISTRATION_SIZE ==
                   offsetof(tn_plugin_registration, destroy_profiler_fns) + sizeof(void (*)(void)),
               "size");
_Static_assert(TN_PLUGIN_STATUS_SIZE == offsetof(tn_plugin_status, message) + 500, "size");

/* A shared object and what it registered. A plug-in built for another version has shorter or longer
 * structs. They are kept in memory SLACK_BYTES longer than ours, and copied as far as both sides know them. */
struct tn_plugin {
  tn_profile_source source; /* how sessions call it; user is the plug-in */
  void *library;
  tn_plugin_registration registration;
  tn_plugin_profiler profiler; /* copies of what it registered, zero beyond its size */
  tn_plugin_profiler_fns fns;
  char label[128]; /* "plug-in NAME", for messages */
  bool is_started, has_data;
  char *errors; /* of this session, one per line; malloc'ed */
  char own_profiler[sizeof(tn_plugin_profiler) + SLACK_BYTES] __attribute__((aligned(16)));
  char own_fns[sizeof(tn_plugin_profiler_fns) + SLACK_BYTES] __attribute__((aligned(16)));
};

/* ---- registration ------------------------------------------------------------------------------------------------ */

/* Copies the part of a plug-in's struct that both sides know. */
static void copy_known(void *to, const void *from, size_t their_size, size_t our_size) {
  memcpy(to, from, RUNTIME_MIN(their_size, our_size));
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* As TensorFlow requires of device types: capital letters, digits and '_', at most 63. */
static bool is_well_formed(const char *device_type) {
  if (!is_upper(device_type[0])) return false;
  for (const char *p = device_type; *p; ++p)
    if (!is_upper(*p) && !(*p >= '0' && *p <= '9') && *p != '_') return false;
  return strlen(device_type) < 64;
}

/* What is wrong with the structs; NULL: nothing. Reads no byte beyond the sizes they give. */
static const char *take_structs(tn_plugin *p) {
  const tn_plugin_registration *r = &p->registration;
  if (r->struct_size == 0) return "the registration's struct_size is 0";
  if (!r->profiler || !r->profiler_fns) return "it set the pointers to its structs to NULL";
  if (r->profiler->struct_size == 0) return "the profiler's struct_size is 0";
  if (r->profiler->struct_size < TN_PLUGIN_PROFILER_SIZE_0_1) return "the profiler's struct_size is too small";
  if (r->profiler_fns->struct_size == 0) return "the functions' struct_size is 0";
  if (r->profiler_fns->struct_size < TN_PLUGIN_PROFILER_FNS_SIZE) return "the functions' struct_size is too small";
  copy_known(&p->profiler, r->profiler, r->profiler->struct_size, sizeof p->profiler);
  copy_known(&p->fns, r->profiler_fns, r->profiler_fns->struct_size, sizeof p->fns);
  return NULL;
}

/* What is wrong with a plug-in's registration, or NULL. These members are called later without a check. */
static const char *check_members(const tn_plugin *p) {
  if (!p->registration.destroy_profiler) return "destroy_profiler is NULL";
  if (!p->registration.destroy_profiler_fns) return "destroy_profiler_fns is NULL";
  if (!p->profiler.device_type) return "the device type is NULL";
  if (!is_well_formed(p->profiler.device_type)) return "the device type is malformed (like PERF or NPU_2)";
  if (!p->fns.start) return "the function start is NULL";
  if (!p->fns.stop) return "the function stop is NULL";
  if (!p->fns.collect_data_xspace) return "the function collect_data_xspace is NULL";
  return NULL;
}

/* A status is used only once, since a plug-in may leave it unchanged. */
static tn_plugin_status fresh_status(void) { return (tn_plugin_status){.struct_size = TN_PLUGIN_STATUS_SIZE}; }

/* Terminates the message first, since a plug-in may have filled all of it. */
static bool is_failed(tn_plugin_status *status) {
  status->message[sizeof status->message - 1] = '\0';
  return status->code != TN_PLUGIN_OK;
}

/* Fills in the registration and lets the plug-in do its part; STATUS is the plug-in's. */
static void call_init(tn_plugin *p, tn_plugin_init_fn init, tn_plugin_status *status) {
  tn_plugin_profiler *profiler = (tn_plugin_profiler *)p->own_profiler;
  tn_plugin_profiler_fns *fns = (tn_plugin_profiler_fns *)p->own_fns;
  p->registration = (tn_plugin_registration){.struct_size = TN_PLUGIN_REGISTRATION_SIZE,
                                             .major_version = TN_PLUGIN_MAJOR,
                                             .minor_version = TN_PLUGIN_MINOR,
                                             .patch_version = TN_PLUGIN_PATCH,
                                             .profiler = profiler,
                                             .profiler_fns = fns};
  *profiler = (tn_plugin_profiler){.struct_size = TN_PLUGIN_PROFILER_SIZE};
  *fns = (tn_plugin_profiler_fns){.struct_size = TN_PLUGIN_PROFILER_FNS_SIZE};
  init(&p->registration, status);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Whatever a plug-in set is released once, whatever became of its registration. */
static void destroy(tn_plugin *p) {
  tn_plugin_registration *r = &p->registration;
  if (r->destroy_profiler) r->destroy_profiler(r->profiler);
  if (r->destroy_profiler_fns) r->destroy_profiler_fns(r->profiler_fns);
  if (p->library) dlclose(p->library);
  free(p->errors);
  free(p);
}

/* The message is made before the library is closed, since WHY may be in it. */
static tn_plugin *refuse(tn_context *ctx, tn_plugin *p, const char *path, const char *why) {
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "profiler plug-in %s: %s", path, why);
  destroy(p);
  return NULL;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* RTLD_LOCAL, since plug-ins may be built with other versions of what we link. */
static tn_plugin *open_plugin(tn_context *ctx, const char *path) {
  tn_plugin *p = calloc(1, sizeof *p);
  if (!p) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "profiler plug-in %s: out of memory", path);
    return NULL;
  }
  p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!p->library) return refuse(ctx, p, path, dlerror());
  union {
    void *object;
    tn_plugin_init_fn init;
  } symbol = {dlsym(p->library, TN_PLUGIN_INIT)};
  if (!symbol.object) symbol.object = dlsym(p->library, TN_PLUGIN_TENSORFLOW_INIT);
  if (!symbol.object)
    return refuse(ctx, p, path, "it defines neither " TN_PLUGIN_INIT " nor " TN_PLUGIN_TENSORFLOW_INIT);
  tn_plugin_status status = fresh_status();
  call_init(p, symbol.init, &status);
  if (is_failed(&status)) return refuse(ctx, p, path, status.message[0] ? status.message : "its init failed");
  const char *why = take_structs(p);
  if (!why) why = check_members(p);
  if (why) return refuse(ctx, p, path, why);
  snprintf(p->label, sizeof p->label, "plug-in %s", p->profiler.name ? p->profiler.name : base_name(path));
  return p;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* Without memory for the text, the errors so far are lost as well. */
static void keep_error(tn_plugin *p, const char *call, const tn_plugin_status *status) {
  runtime_str text = {0};
  if (p->errors) runtime_str_addf(&text, "%s\n", p->errors);
  runtime_str_addf(&text, "%s: %s failed: %s (code %d)", p->label, call,
                   status->message[0] ? status->message : "no reason given", (int)status->code);
  free(p->errors);
  p->errors = text.failed ? NULL : text.data;
}

/* Without device options every plug-in runs; with them it needs a tracer level and a matching type. */
static bool is_wanted(const tn_device_options *o) {
  if (!o) return true;
  bool is_type = o->device_type == TN_DEVICE_UNSPECIFIED || o->device_type == TN_DEVICE_PLUGGABLE;
  return o->device_tracer_level > 0 && is_type;
}

/* A plug-in that does not start is left out of the session; the others are started all the same. */
static void start_plugin(void *plugin, const tn_device_options *device) {
  tn_plugin *p = plugin;
  tn_plugin_status status = fresh_status();
  p->has_data = false;
  if (!is_wanted(device)) return;
  p->fns.start(p->registration.profiler, &status);
  p->is_started = !is_failed(&status);
  if (!p->is_started) keep_error(p, "start", &status);
}

/* A failing stop becomes an error of the recording; the data is requested all the same. */
static void stop_plugin(void *plugin) {
  tn_plugin *p = plugin;
  tn_plugin_status status = fresh_status();
  if (!p->is_started) return;
  p->fns.stop(p->registration.profiler, &status);
  p->is_started = false;
  p->has_data = true;
  if (is_failed(&status)) keep_error(p, "stop", &status);
}

/* Makes one of the two calls; returns the size it set, 0 after a failure. */
static size_t call_collect(tn_plugin *p, uint8_t *buffer, size_t n) {
  tn_plugin_status status = fresh_status();
  p->fns.collect_data_xspace(p->registration.profiler, buffer, &n, &status);
  if (!is_failed(&status)) return n;
  keep_error(p, buffer ? "collect" : "collect (size)", &status);
  return 0;
}

/* Reports our own complaint like one of the plug-in's, so that both are printed alike. */
static void refuse_data(tn_plugin *p, const char *why) {
  tn_plugin_status status = {.code = TN_PLUGIN_INTERNAL};
  snprintf(status.message, sizeof status.message, "%s", why);
  keep_error(p, "collect", &status);
}

/* Asks for the size first, as in TensorFlow's C interface. The plug-in may write less; more is refused. */
static void collect_data(tn_plugin *p, tn_recording *r) {
  size_t n = call_collect(p, NULL, 0);
  if (n == 0) return;
  uint8_t *buffer = n <= MAX_DATA_BYTES ? malloc(n) : NULL;
  if (!buffer) {
    refuse_data(p, "there is no memory for that much data");
    return;
  }
  size_t filled = call_collect(p, buffer, n);
  const char *why = "its data are no XSpace";
  if (filled > n)
    refuse_data(p, "it says that it wrote more than the buffer holds");
  else if (filled > 0 && !profiler_append_xspace(r, buffer, filled, &why))
    refuse_data(p, why ? why : "its data are no XSpace");
  free(buffer);
}

/* A plug-in's errors become the recording's, whether it has data or not. */
static void collect_plugin(void *plugin, tn_recording *r) {
  tn_plugin *p = plugin;
  if (p->has_data) collect_data(p, r);
  if (p->errors) profiler_error(r, "%s", p->errors);
}

/* For a session that was given up: forgets what the plug-in had, so that the next one begins with nothing. */
static void drop_plugin(void *plugin) {
  tn_plugin *p = plugin;
  p->has_data = false;
  free(p->errors);
  p->errors = NULL;
}

/* ---- loaded and unloaded ----------------------------------------------------------------------------------------- */

/* False after a message. If a session begins right afterwards, tn_profile_add_source notices. */
static bool is_idle(tn_context *ctx, const char *call) {
  tn_profile_state state = tn_profile_get_state();
  if (state != TN_PROFILE_RECORDING && state != TN_PROFILE_WAITING) return true;
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: not while a session runs", call);
  return false;
}

/* Refused while a session runs, since a source that joins in the middle would lack its start. */
tn_plugin *tn_plugin_load(tn_context *ctx, const char *path) {
  if (!path) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_plugin_load: no path");
    return NULL;
  }
  tn_plugin *p = is_idle(ctx, "tn_plugin_load") ? open_plugin(ctx, path) : NULL;
  if (!p) return NULL;
  p->source = (tn_profile_source){.struct_size = sizeof p->source,
                                  .user = p,
                                  .start = start_plugin,
                                  .stop = stop_plugin,
                                  .collect = collect_plugin,
                                  .drop = drop_plugin};
  if (tn_profile_add_source(ctx, &p->source) == TN_OK) return p;
  destroy(p);
  return NULL;
}

/* Refused while a session runs, since its thread may be inside the plug-in. */
tn_status tn_plugin_unload(tn_context *ctx, tn_plugin *plugin) {
  if (!plugin) return TN_OK;
  if (!is_idle(ctx, "tn_plugin_unload")) return TN_ERROR_ARGUMENT;
  if (tn_profile_remove_source(NULL, &plugin->source) != TN_OK)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_plugin_unload: not a plug-in that is loaded");
  destroy(plugin);
  return TN_OK;
}

const char *tn_plugin_device_type(const tn_plugin *plugin) { return plugin ? plugin->profiler.device_type : NULL; }
