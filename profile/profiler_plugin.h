/* tenon/profiler_plugin.h: the C interface of profiler plug-ins: shared objects that observe a device, or the machine,
 * while a session records, and hand over what they saw as the bytes of an XSpace message (field numbers in
 * docs/profiler.md). A plug-in needs only this header and links with nothing of Tenon.
 *
 *   void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status) {
 *     params->profiler->struct_size = TN_PLUGIN_PROFILER_SIZE;  // of the header it was built with
 *     params->profiler->device_type = "PERF";
 *     params->profiler_fns->struct_size = TN_PLUGIN_PROFILER_FNS_SIZE;
 *     params->profiler_fns->start = start;  ...
 *     params->destroy_profiler = destroy_profiler;  ...
 *   }
 *
 * Sizes. Every struct begins with struct_size, which the side that fills it in sets, and ext, NULL if unused. A size is
 * the offset of the last member plus that member's size. Members are only ever added at the end. The side that reads a
 * struct looks no further than struct_size. The side that fills one that the other made writes no further than the
 * struct_size it found there, since a plug-in may be newer than the core. The members of version 0.1 are required.
 *
 * Ownership. The core owns the structs. The plug-in owns what they point to, and frees it in its destroy functions.
 * Each of these is called exactly once, after the last session, even if init failed after setting them. A plug-in may
 * point params->profiler and params->profiler_fns to structs of its own.
 *
 * Duties of a plug-in. start and stop alternate, any number of times. A plug-in writes to no file descriptor, does not
 * block a thread of the application for long, and does not grow from session to session. If its device is absent or was
 * not used, start and stop succeed and there is nothing to collect. collect_data_xspace is called after stop, twice.
 * With a NULL buffer it sets *size_in_bytes, whatever that held, to the number of bytes available, 0 for none. With a
 * buffer of that size it fills it. If the buffer is too small, it reports TN_PLUGIN_FAILED_PRECONDITION and writes
 * nothing. Data are handed over once: the size is then 0 until the next session.
 *
 * Modelled on TensorFlow's pluggable profiler (c_api pluggable_profiler.h, structs TP_Profiler, TP_ProfilerFns,
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

/* Status codes, with TensorFlow's numbers. */
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

/* The result of a call. The core makes it with code OK; the plug-in sets code and message. */
typedef struct tn_plugin_status {
  size_t struct_size;
  void *ext;
  int32_t code; /* tn_plugin_code */
  char message[500];
} tn_plugin_status;
#define TN_PLUGIN_STATUS_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_status, message)

/* The message always ends with a NUL; one that is too long is cut. */
static inline void tn_plugin_set_status(tn_plugin_status *status, tn_plugin_code code, const char *message) {
  if (!status) return;
  status->code = (int32_t)code;
  strncpy(status->message, message ? message : "", sizeof status->message - 1);
  status->message[sizeof status->message - 1] = '\0';
}

/* What the plug-in observes. Filled in by the plug-in. */
typedef struct tn_plugin_profiler {
  size_t struct_size;
  void *ext;
  union {
    const char *device_type; /* capital letters, digits and underscores, beginning with a letter: "PERF" */
    const char *type;        /* TensorFlow's name for it */
  };
  const char *name; /* since 0.2; the plug-in's name for messages, may be NULL */
} tn_plugin_profiler;
#define TN_PLUGIN_PROFILER_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler, name)
#define TN_PLUGIN_PROFILER_SIZE_0_1 TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler, device_type)

/* The plug-in's functions. Filled in by the plug-in; all are required. */
typedef struct tn_plugin_profiler_fns {
  size_t struct_size;
  void *ext;
  void (*start)(const tn_plugin_profiler *profiler, tn_plugin_status *status);
  void (*stop)(const tn_plugin_profiler *profiler, tn_plugin_status *status);
  void (*collect_data_xspace)(const tn_plugin_profiler *profiler, uint8_t *buffer, size_t *size_in_bytes,
                              tn_plugin_status *status);
} tn_plugin_profiler_fns;
#define TN_PLUGIN_PROFILER_FNS_SIZE TN_PLUGIN_SIZE_UP_TO(tn_plugin_profiler_fns, collect_data_xspace)

/* What init receives. The core makes it, with its version and with profiler and profiler_fns pointing to
 * zeroed structs. The plug-in fills those in and sets both destroy functions, which are required. */
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

/* The only symbol that a plug-in must define. If it is missing, TF_InitProfiler is looked up. */
#define TN_PLUGIN_INIT "tn_plugin_init"
typedef void (*tn_plugin_init_fn)(tn_plugin_registration *params, tn_plugin_status *status);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status);

/* A plug-in that was written for TensorFlow compiles with this header in place of
 * tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h and tf_status.h:
 *
 *   #define TN_PLUGIN_TENSORFLOW_NAMES
 *   #include <tenon/profiler_plugin.h> */
#define TN_PLUGIN_TENSORFLOW_INIT "TF_InitProfiler"
#ifdef TN_PLUGIN_TENSORFLOW_NAMES
typedef tn_plugin_profiler TP_Profiler;
typedef tn_plugin_profiler_fns TP_ProfilerFns;
typedef tn_plugin_registration TF_ProfilerRegistrationParams;
typedef tn_plugin_status TF_Status;
typedef tn_plugin_code TF_Code;
#define TF_OK TN_PLUGIN_OK
#define TF_UNKNOWN TN_PLUGIN_UNKNOWN
#define TF_INVALID_ARGUMENT TN_PLUGIN_INVALID_ARGUMENT
#define TF_RESOURCE_EXHAUSTED TN_PLUGIN_RESOURCE_EXHAUSTED
#define TF_FAILED_PRECONDITION TN_PLUGIN_FAILED_PRECONDITION
#define TF_UNIMPLEMENTED TN_PLUGIN_UNIMPLEMENTED
#define TF_INTERNAL TN_PLUGIN_INTERNAL
#define TF_UNAVAILABLE TN_PLUGIN_UNAVAILABLE
#define TP_PROFILER_STRUCT_SIZE TN_PLUGIN_PROFILER_SIZE_0_1
#define TP_PROFILER_FNS_STRUCT_SIZE TN_PLUGIN_PROFILER_FNS_SIZE
#define TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE TN_PLUGIN_REGISTRATION_SIZE
static inline void TF_SetStatus(TF_Status *status, TF_Code code, const char *message) {
  tn_plugin_set_status(status, code, message);
}
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status);
#endif

#ifdef __cplusplus
}
#endif
#endif
