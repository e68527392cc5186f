/* tenon/profiler_loader.h: using profiler plug-ins (profiler_plugin.h says how to write one).
 *
 *   tn_plugin *plugin = tn_plugin_load(ctx, "libperf.so");
 *   tn_profile_start(ctx, NULL); ... tn_profile_stop(ctx);
 *   tn_recording *r = tn_profile_collect(ctx);           // holds the plug-in's planes too
 *   tn_plugin_unload(ctx, plugin);
 *
 * Once loaded, a plug-in takes part in every session of the process. A failure in one stops neither the session nor the
 * other plug-ins: it becomes a line of tn_recording_errors. */
#ifndef TENON_PROFILER_LOADER_H
#define TENON_PROFILER_LOADER_H

#include "runtime/profiler/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_plugin tn_plugin;

/* Loads a plug-in from a shared object. NULL with a message that says what is wrong: there is no such file,
 * it is no shared object, it has no init symbol, its init failed, a struct has no size, a function is
 * missing, or the device type is missing or malformed. Refused while a session runs. */
TN_API tn_plugin *tn_plugin_load(tn_context *ctx, const char *path);
/* Calls the plug-in's destroy functions and closes the shared object. Refused while a session runs. */
TN_API tn_status tn_plugin_unload(tn_context *ctx, tn_plugin *plugin);
TN_API const char *tn_plugin_device_type(const tn_plugin *plugin);

/* ---- options of device profiling: TensorFlow's message ProfileOptions -------------------------------------------- */
/* tn_device_options is in profiler.h, because sessions obey it. */

TN_API tn_device_options tn_device_options_default(void);
/* For all later sessions; does nothing while one runs. NULL restores the default. */
TN_API void tn_device_options_set(const tn_device_options *options);
/* The options as a ProfileOptions message; malloc'ed, NULL without memory. */
TN_API TN_GIVE void *tn_device_options_encode(const tn_device_options *options, size_t *n);
/* The reverse. *path (malloc'ed, the caller frees it) backs repository_path. TN_ERROR_PARSE if the data are
 * no such message. */
TN_API tn_status tn_device_options_decode(tn_context *ctx, const void *data, size_t n, tn_device_options *out,
                                          TN_GIVE char **path);

#ifdef __cplusplus
}
#endif
#endif
