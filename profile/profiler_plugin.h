/* tenon/profiler_plugin.h: the C interface of profiler plug-ins: shared objects that observe a device, or the machine,
 * while a session records, and hand over what they saw as bytes of a message XSpace (field numbers in
 * docs/profiler.md). A plug-in needs this header only, and is linked with nothing of Tenon.
 *
 *   void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status) {
 *     params->profiler->struct_size = TN_PLUGIN_PROFILER_SIZE;  // of the header that it was built with
 *     params->profiler->device_type = "PERF";
 *     params->profiler_fns->struct_size = TN_PLUGIN_PROFILER_FNS_SIZE;
 *     params->profiler_fns->start = start;  ...
 *     params->destroy_profiler = destroy_profiler;  ...
 *   }
 *
 * Sizes. Every struct begins with struct_size, set by who fills it in, and ext, NULL when unused. A size is the offset
 * of the last member plus its size. Members are only ever added at the end: who reads a struct looks no further than
 * struct_size, who fills one that the other side made, no further than the struct_size it found there (a plug-in that
 * is newer than the core). The members that version 0.1 has are always needed.
 *
 * Who owns what. The core owns the structs, the plug-in what they point to, and frees that in its destroy functions,
 * each of which is called exactly once, after the last session, also when the init failed after it had set them. A
 * plug-in may let params->profiler and params->profiler_fns point to structs of its own.
 *
 * What a plug-in must do. start and stop alternate, any number of times. It writes to no file descriptor, blocks no
 * thread of the application for long, does not grow from session to session, and where its device is absent or was not
 * used, start and stop succeed and there is nothing to collect. collect_data_xspace is called after stop, twice: with a
 * NULL buffer it sets *size_in_bytes (whatever it held) to the size of what there is, 0 for nothing; with a buffer of
 * that size it fills it. A buffer that is too small is TN_PLUGIN_FAILED_PRECONDITION and is not written to. Once handed
 * over, data are gone: the size is 0 until the next session.
 *
 * Source: TensorFlow's pluggable profiler (c_api pluggable_profiler.h, structs TP_Profiler, TP_ProfilerFns,
 * TF_ProfilerRegistrationParams; TF_InitProfiler). */
#ifndef TENON_PROFILER_PLUGIN_H
#define TENON_PROFILER_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_PLUGIN_MAJOR 0
#define TN_PLUGIN_MINOR 2
#define TN_PLUGIN_PATCH 0

#define TN_PLUGIN_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* TensorFlow's numbers. */
typedef enum tn_plugin_code {
  TN_PLUGIN_OK = 0,
  TN_PLUGIN_UNKNOWN = 2,
  TN_PLUGIN_INVALID_ARGUMENT = 3,
  TN_PLUGIN_RESOURCE_EXHAUSTED = 8,
  TN_PLUGIN_FAILED_PRECONDITION = 9,
  TN_PLUGIN_UNIMPLEMENTED = 12,
  TN_PLUGIN_INTERNAL = 13,
  TN_PLUGIN_UNAVAILABLE = 14
} tn_plugin_code;

/* Made by the core, OK at first; the plug-in sets code and message. */
typedef struct tn_plugin_status {
  size_t struct_size;
  void *ext;
  int32_t code; /* tn_plugin_code */
  char message[500];
} tn_plugin_status;
#define TN_PLUGIN_STATUS_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_status, message)

/* Always ends the message; one that is too long is cut. */
static inline void tn_plugin_set_status(tn_plugin_status *status, tn_plugin_code code, const char *message) {
  if (!status) return;
  status->code = (int32_t)code;
  strncpy(status->message, message ? message : "", sizeof status->message - 1);
  status->message[sizeof status->message - 1] = '\0';
}

/* What is observed. Filled by the plug-in. */
typedef struct tn_plugin_profiler {
  size_t struct_size;
  void *ext;
  const char *device_type; /* capital letters, digits and underscores, a letter first: "PERF" */
  const char *name;        /* since 0.2, may be NULL: of the plug-in, for messages */
} tn_plugin_profiler;
#define TN_PLUGIN_PROFILER_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler, name)
#define TN_PLUGIN_PROFILER_SIZE_0_1 TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler, device_type)

/* Filled by the plug-in; all are needed. */
typedef struct tn_plugin_profiler_fns {
  size_t struct_size;
  void *ext;
  void (*start)(const tn_plugin_profiler *profiler, tn_plugin_status *status);
  void (*stop)(const tn_plugin_profiler *profiler, tn_plugin_status *status);
  void (*collect_data_xspace)(const tn_plugin_profiler *profiler, uint8_t *buffer, size_t *size_in_bytes,
                              tn_plugin_status *status);
} tn_plugin_profiler_fns;
#define TN_PLUGIN_PROFILER_FNS_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler_fns, collect_data_xspace)

/* Made by the core, with its version and with profiler and profiler_fns pointing to zeroed structs; the plug-in fills
 * those and sets the destroy functions (both are needed). */
typedef struct tn_plugin_registration {
  size_t struct_size;
  void *ext;
  int32_t major_version, minor_version, patch_version;
  tn_plugin_profiler *profiler;
  tn_plugin_profiler_fns *profiler_fns;
  void (*destroy_profiler)(tn_plugin_profiler *profiler);
  void (*destroy_profiler_fns)(tn_plugin_profiler_fns *profiler_fns);
} tn_plugin_registration;
#define TN_PLUGIN_REGISTRATION_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_registration, destroy_profiler_fns)

/* The one symbol that a plug-in defines. */
#define TN_PLUGIN_INIT "tn_plugin_init"
typedef void (*tn_plugin_init_fn)(tn_plugin_registration *params, tn_plugin_status *status);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status);

#ifdef __cplusplus
}
#endif
#endif
