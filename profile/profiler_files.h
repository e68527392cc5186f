/* tenon/profiler_files.h: recordings as files and on the wire.
 *
 *   tn_recording_save(ctx, r, "run.trace.json");                // the suffix chooses the form
 *   tn_recording *r = tn_recording_load(ctx, "run.tnprof");     // the content tells the form
 *
 * Every form is written through one buffer, so writing a long recording costs little memory. Input is never trusted: a
 * broken file gives a message, not a crash. */
#ifndef TENON_PROFILER_FILES_H
#define TENON_PROFILER_FILES_H

#include "runtime/profiler/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "suffix", is_read, "what it is"). Every suffix may be followed by ".gz". */
#define TN_PROFILE_FORMS(X)                                                              \
  X(REPORT, ".report.json", false, "the sums by name, as JSON")                          \
  X(CHROME, ".json", true, "Chrome trace events, for Perfetto, chrome://tracing, Tracy") \
  X(XSPACE, ".xplane.pb", true, "XSpace, for XProf and TensorBoard")                     \
  X(BINARY, ".tnprof", true, "everything, compact; the only form that loses nothing")    \
  X(CSV, ".csv", false, "the sums by name, as comma-separated values")                   \
  X(HTML, ".html", false, "all views in one page that needs no network")                 \
  X(FOLDED, ".folded", false, "stacks with self times, for flame graphs")
/* Forms of files. A file to be read is recognised by its content; for writing, the suffix chooses the form. */
typedef enum tn_profile_form {
#define X(name, suffix, is_read, words) TN_FORM_##name,
  TN_PROFILE_FORMS(X)
#undef X
      TN_FORM_COUNT
} tn_profile_form;

/* The form that a file's suffix names. TN_ERROR_ARGUMENT, with a message that lists the suffixes, if it has
 * none of them. */
TN_API tn_status tn_profile_form_of(tn_context *ctx, const char *path, tn_profile_form *out);

/* Writes a file in the form of its suffix; "-" is an ordinary name. A file that could not be written
 * completely is removed. The time taken is added to the recording's stats.export_ns. */
TN_API tn_status tn_recording_save(tn_context *ctx, tn_recording *recording, const char *path);
/* The recording in a form, malloc'ed, with a NUL after it that *n does not count; n may be NULL. NULL with
 * a message. */
TN_API TN_GIVE char *tn_recording_write(tn_context *ctx, const tn_recording *recording, tn_profile_form form,
                                        size_t *n);

/* Reads Chrome traces (also gzipped, also an array that was cut off), XSpace, .tnprof, the text of `perf
 * script`, databases of nvprof and Nsight Systems, and the buffer file of a process that was killed. NULL
 * with a message that names the file and the place in it. */
TN_API TN_GIVE tn_recording *tn_recording_load(tn_context *ctx, const char *path);
/* The same from memory: not gzipped, and neither a database nor a buffer file. */
TN_API TN_GIVE tn_recording *tn_recording_read(tn_context *ctx, const void *data, size_t n);

/* TVM's table (tn_profiler_table) of a recording. Total is the recording's duration; the names are those of
 * its scopes and ranges over all threads and processes. malloc'ed; NULL without memory. */
TN_API TN_GIVE char *tn_recording_table(const tn_recording *recording);

/* One of the recordings to be merged. If NAME is NULL, its processes keep their names; else its process is
 * called NAME, or each is called NAME/process if it has several. */
typedef struct tn_merge_input {
  const tn_recording *recording;
  const char *name;
} tn_merge_input;
/* A new recording of all of them. Process ids that collide are renumbered, as are flows and ranges, so that
 * those of two inputs are never joined. Events are placed by UNIX time, since hosts with different boots
 * have different monotonic clocks. */
TN_API TN_GIVE tn_recording *tn_recording_merge(tn_context *ctx, const tn_merge_input *inputs, int n);

/* XSpace messages joined: all planes, errors and warnings, and each host name once. *out is malloc'ed. */
typedef struct tn_bytes {
  const void *data;
  size_t n;
} tn_bytes;
TN_API tn_status tn_xspace_merge(tn_context *ctx, const tn_bytes *parts, int n_parts, void **out, size_t *out_n);

/* ---- answers over HTTP ---------------------------------------------------------------------------------------------
 *
 * GET /            the page of tn_recording_write(TN_FORM_HTML)
 * GET /timeline    Chrome trace events
 * GET /report      the sums by name, as JSON
 * GET /advise      the suggestions, as JSON; /summary/propose is the same
 * POST /ops/search the answer to the query in the body; 404 without a query function
 * A request that names another host gets 403, an unknown path 404, a wrong method 405, a body above 64 KiB 413. The
 * body of an error is {"error": "..."}. */

typedef struct tn_server tn_server;
typedef struct tn_server_options {
  const char *address; /* "127.0.0.1" (default), "::1" or "localhost"; an address that is not loopback is refused */
  int port;            /* 0: any free port */
  /* Answers a query (JSON text) about the recording with JSON text, malloc'ed. If the query is wrong,
   * returns NULL and sets *message, malloc'ed, to the reason. Called on the server's thread. */
  TN_GIVE char *(*query)(const tn_recording *recording, const char *request, TN_GIVE char **message);
} tn_server_options;
/* Answers on a thread of its own until freed; the recording must outlive the server. NULL with a message. */
TN_API TN_GIVE tn_server *tn_server_new(tn_context *ctx, const tn_recording *recording,
                                        const tn_server_options *options);
TN_API int tn_server_port(const tn_server *server);
TN_API void tn_server_free(TN_TAKE tn_server *server);

#ifdef __cplusplus
}
#endif
#endif
