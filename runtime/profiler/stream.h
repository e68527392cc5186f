/* stream.h: what the recorder's own file format (binary.c) is made of, and with what profile/ reads and
 * writes all others: bytes out through a buffer, bytes in from a file or memory, a map of ids, and the
 * words for events. */
#ifndef TENON_RUNTIME_PROFILER_STREAM_H
#define TENON_RUNTIME_PROFILER_STREAM_H

#include <zlib.h>

#include "runtime/new_file.h"
#include "runtime/profiler/recorder.h"

/* ---- out (stream.c) ---------------------------------------------------------------------------------------------- */

/* An output to a file, a compressed file, or memory. A failure is remembered, and later calls do nothing. */
typedef struct profiler_out {
  char *data; /* what is not written to the file yet; in memory, all of it */
  size_t n, cap;
  int file;              /* -1: none */
  runtime_new_file made; /* gets its name at the end; without a descriptor the file is written in place */
  gzFile gz;             /* NULL: none */
  bool is_memory, failed;
  int error; /* errno of the failure; 0: out of memory */
} profiler_out;

/* Opens a file, which gets its name when it is closed. False after a message. LEVEL of gzip: 0 does not compress. */
bool profiler_out_open(tn_context *ctx, profiler_out *out, const char *path, int level);
void profiler_out_memory(profiler_out *out);
/* Writes the rest. False after a message, with nothing left of the file, if anything has failed since it was opened. */
bool profiler_out_close(tn_context *ctx, profiler_out *out, const char *path);
/* What was written to memory, NUL-terminated; NULL if anything failed. */
TN_GIVE char *profiler_out_take(profiler_out *out, size_t *n);

/* Makes the output fail because something to be written could not be made. */
void profiler_out_no_memory(profiler_out *out);
void profiler_out_bytes(profiler_out *out, const void *data, size_t n);
void profiler_out_text(profiler_out *out, const char *text);
/* Writes what printf would in the C locale, up to 511 bytes. Slower than the calls below, so not for every event. */
void profiler_out_addf(profiler_out *out, const char *fmt, ...) TN_PRINTF(2, 3);
void profiler_out_i64(profiler_out *out, int64_t value);
void profiler_out_u64(profiler_out *out, uint64_t value);
/* Nanoseconds as microseconds: an integer, or with three decimals. */
void profiler_out_us(profiler_out *out, int64_t ns);
/* The shortest text that reads back the same, with a point or an exponent; `null` for infinities and NaN,
 * which JSON lacks. */
void profiler_out_f64(profiler_out *out, double value);
/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void profiler_out_json(profiler_out *out, const char *text);
/* TEXT, or a copy in which bytes that are not UTF-8 became U+FFFD; NULL without memory. */
const char *profiler_utf8(runtime_arena *arena, const char *text);
/* A cell of CSV, in quotes if necessary. */
void profiler_out_csv(profiler_out *out, const char *text);
#define PROFILER_OUT_LITERAL(out, text) profiler_out_bytes((out), (text), sizeof(text) - 1)

/* ---- in (stream.c) ----------------------------------------------------------------------------------------------- */

/* An input: the bytes of a file, compressed or not, or of memory. */
typedef struct profiler_in {
  const unsigned char *data;
  size_t n, at;
  uint64_t before; /* bytes consumed before data */
  gzFile gz;       /* NULL: memory */
  unsigned char *buffer;
  uint64_t most;      /* what a compressed file may unpack to */
  const char *failed; /* why bytes could not be read; NULL: nothing failed */
} profiler_in;

/* Opens a file, compressed with gzip or not; close it with profiler_in_close. False after a message; then
 * nothing is open. */
bool profiler_in_open(tn_context *ctx, profiler_in *in, const char *path);
/* Reads from memory, which stays the caller's and must exist until all is read. */
void profiler_in_memory(profiler_in *in, const void *data, size_t n);
void profiler_in_close(profiler_in *in);
bool profiler_in_fill(profiler_in *in); /* false at the end */
static inline int profiler_in_peek(profiler_in *in) {
  return in->at < in->n || profiler_in_fill(in) ? in->data[in->at] : -1;
}

/* The next byte; -1 at the end, or after a failure, which in->failed tells. */
static inline int profiler_in_get(profiler_in *in) {
  return in->at < in->n || profiler_in_fill(in) ? in->data[in->at++] : -1;
}
static inline uint64_t profiler_in_place(const profiler_in *in) { return in->before + in->at; }
bool profiler_in_bytes(profiler_in *in, void *to, size_t n); /* all N, or false */
/* The rest, malloc'ed, up to MOST bytes; NULL if there is more, or no memory. */
TN_GIVE char *profiler_in_rest(profiler_in *in, size_t most, size_t *n);

/* ---- maps of ids (stream.c) -------------------------------------------------------------------------------------- */

/* An entry: from a pair of numbers to an int64_t. */
typedef struct profiler_map_entry {
  uint64_t a, b;
  int64_t value;
} profiler_map_entry;
/* A map from pairs of numbers, such as process and thread, to numbers. Zero-initialise; free with profiler_map_free. */
typedef struct profiler_map {
  runtime_map index; /* hash of a pair -> its index in entries, plus one */
  RUNTIME_VEC(profiler_map_entry) entries;
} profiler_map;
/* The place of a pair's value; a new one is OTHERWISE. NULL without memory. Valid until the next call. */
int64_t *profiler_map_at(profiler_map *map, uint64_t a, uint64_t b, int64_t otherwise);
void profiler_map_free(profiler_map *map);

/* ---- the recorder's own form (binary.c) -------------------------------------------------------------------------- */

/* False only without memory; other failures are kept in OUT. */
bool profiler_write_binary(profiler_out *out, const tn_recording *r);
/* Returns a finished recording; NULL after a message in CTX that begins with NAME. */
TN_GIVE tn_recording *profiler_read_binary(tn_context *ctx, profiler_in *in, const char *name);
/* The same in memory, for another process. NULL: no memory; or not such bytes. */
TN_GIVE char *profiler_encode(const tn_recording *r, size_t *n);
TN_GIVE tn_recording *profiler_decode(const void *data, size_t n);
#define PROFILER_BINARY_MAGIC "TNPROF\r\n"

/* Limits of what readers accept: times of 73 years, memory of a pebibyte. Sums of such numbers do not overflow. */
#define PROFILER_MAX_NS (INT64_MAX / 4)
#define PROFILER_MAX_BYTES ((int64_t)1 << 50)
/* Limits a number of a foreign file to +-MOST, so that the sum or difference of two cannot overflow. */
static inline int64_t profiler_clip(int64_t value, int64_t most) {
  return value < -most ? -most : value > most ? most : value;
}
/* Finishes a recording and returns it. If it failed, or cannot be finished, reports that and frees it. */
TN_GIVE tn_recording *profiler_finish_reading(tn_context *ctx, TN_TAKE tn_recording *r, const char *name);

/* The numbers of tn_recording_info that every format keeps, all of 64 bits: X(member, "key in a file"). */
/* clang-format off */
#define PROFILER_INFO_NUMBERS(X)                                                                                    \
  X(start_ns, "start_ns") X(duration_ns, "duration_ns") X(start_unix_ns, "start_unix_ns") X(stats.events, "events") \
  X(stats.dropped, "dropped") X(stats.lanes, "threads") X(stats.bytes, "bytes")                                     \
  X(stats.double_ends, "double_ends") X(stats.overlaps, "overlaps") X(stats.unfinished, "unfinished")               \
  X(stats.unknown_frees, "unknown_frees") X(stats.lost_names, "lost_names") X(stats.start_ns, "start_cost_ns")      \
  X(stats.stop_ns, "stop_cost_ns") X(stats.collect_ns, "collect_cost_ns")       \
  X(cpu_ns, "cpu_ns") X(peak_rss_bytes, "peak_rss_bytes")
/* clang-format on */

/* The same for a tn_process: X(member, its value if a file does not give one). */
#define PROFILER_PROCESS_NUMBERS(X) \
  X(node_id, -1) X(is_remote, 0) X(was_killed, 0) X(clock_offset_ns, 0) X(clock_bound_ns, 0)

/* The names of event flags in files. */
/* clang-format off */
#define PROFILER_FLAGS(X)                                                                            \
  X(UNFINISHED, "unfinished") X(KILLED, "killed") X(OVERLAP, "overlap") X(FAILED, "failed") \
  X(UNKNOWN, "unknown") X(ADDED, "added")
/* clang-format on */

/* The names of an event's flags, separated by SEPARATOR; "" if there are none. */
typedef struct profiler_flags_text {
  char text[64];
} profiler_flags_text;
profiler_flags_text profiler_flags_of(const tn_event *e, char separator);
/* Sets the flags whose names occur in TEXT, whatever separates them. */
void profiler_flags_parse(tn_event *e, const char *text);
const char *profiler_kind_name(tn_event_kind kind);
/* The category named by the first N bytes of TEXT; -1: none. */
int profiler_find_category(const char *text, size_t n);
/* Sets the event's place from "file:line:function"; parts missing on the right are unknown. */
void profiler_source_parse(tn_recording *r, tn_event *e, const char *text);

#endif
