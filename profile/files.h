/* files.h: what readers and writers of recordings share above the recorder's streams: JSON, one value at a
 * time; the file formats; ids as files need them. */
#ifndef TENON_PROFILE_FILES_H
#define TENON_PROFILE_FILES_H

#include "profile/profiler_files.h"
#include "runtime/profiler/stream.h"

/* ---- JSON (json.c) ----------------------------------------------------------------------------------------------- */

typedef enum profiler_json_kind {
  PROFILER_JSON_NULL,
  PROFILER_JSON_BOOL,
  PROFILER_JSON_NUMBER, /* kept as text, so that no digit is lost */
  PROFILER_JSON_STRING,
  PROFILER_JSON_ARRAY,
  PROFILER_JSON_OBJECT
} profiler_json_kind;

/* A JSON value, with a list of what it contains. It is in the arena of the reader. */
typedef struct profiler_json {
  profiler_json_kind kind;
  const char *key;  /* in an object */
  const char *text; /* NUL-terminated; "true", "false" for booleans */
  struct profiler_json *child, *next;
} profiler_json;

/* How deep arrays and objects may nest in a file that is read. */
enum { PROFILER_JSON_DEPTH = 64 };
/* Reads the next value; NULL with a static message in *why. */
profiler_json *profiler_json_next(profiler_in *in, runtime_arena *arena, const char **why);
/* Skips blanks and returns the next byte without consuming it; -1 at the end. */
int profiler_json_peek(profiler_in *in);
/* Reads a string from its opening quote on. */
char *profiler_json_string(profiler_in *in, runtime_arena *arena, const char **why);
const profiler_json *profiler_json_member(const profiler_json *object, const char *key);
const char *profiler_json_text(const profiler_json *object, const char *key, const char *otherwise);
/* An integer member. A fraction is cut off; a number out of range, or no number, gives OTHERWISE. */
int64_t profiler_json_i64(const profiler_json *object, const char *key, int64_t otherwise);
/* Converts decimal microseconds exactly to nanoseconds (rounded beyond three decimals). */
bool profiler_json_us(const profiler_json *value, int64_t *ns);

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* Writers return false only without memory; other failures are kept in OUT. */
bool profiler_write_chrome(profiler_out *out, const tn_recording *r);
bool profiler_write_xspace(profiler_out *out, const tn_recording *r);
bool profiler_write_csv(profiler_out *out, const tn_recording *r);
bool profiler_write_report(profiler_out *out, const tn_recording *r);
bool profiler_write_html(profiler_out *out, const tn_recording *r);

/* Readers return a finished recording, or NULL after a message in CTX that begins with NAME. */
TN_GIVE tn_recording *profiler_read_chrome(tn_context *ctx, profiler_in *in, const char *name);
TN_GIVE tn_recording *profiler_read_xspace(tn_context *ctx, profiler_in *in, const char *name);
TN_GIVE tn_recording *profiler_read_perf(tn_context *ctx, profiler_in *in, const char *name);
TN_GIVE tn_recording *profiler_read_sqlite(tn_context *ctx, const char *path);
#define PROFILER_SQLITE_MAGIC "SQLite format 3"
/* Adds the planes of a message, and its errors and warnings, to a recording that is not finished yet;
 * plug-ins hand over such messages. False with a static message in *why. */
bool profiler_append_xspace(tn_recording *r, const void *data, size_t n, const char **why);
/* Ids as files need them: unique ones for processes and lanes, below 2^32. */
typedef struct profiler_ids {
  uint32_t *pids; /* of each process */
  uint32_t *tids; /* of each lane, unique within its process */
} profiler_ids;
bool profiler_ids_make(const tn_recording *r, profiler_ids *ids);
void profiler_ids_free(profiler_ids *ids);

/* The first mark of tn_host_record; NULL: there is none. */
const tn_event *profiler_host_mark(const tn_recording *r);

/* Sums over the scopes and ranges of one name, for reports. A name nested in itself counts once in total_ns. */
typedef struct profiler_sum {
  const char *name;
  uint8_t category;
  int64_t calls, total_ns, self_ns, min_ns, max_ns, plain_ns; /* plain_ns: of all calls, nested or not */
} profiler_sum;

#endif
