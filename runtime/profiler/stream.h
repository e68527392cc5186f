/* stream.h: what the recorder's own form of a recording (binary.c) is made of, and what profile/ reads and writes all
 * others with: bytes out through one buffer, bytes in from a file or memory, a map of ids, the words for events. */
#ifndef TENON_RUNTIME_PROFILER_STREAM_H
#define TENON_RUNTIME_PROFILER_STREAM_H

#include <zlib.h>

#include "runtime/new_file.h"
#include "runtime/profiler/recorder.h"

/* ---- out (stream.c) ---------------------------------------------------------------------------------------------- */

/* To a file, a gzip'ed file, or memory. Failing is sticky. */
typedef struct profiler_out {
  char *data; /* what was not written to the file yet; in memory all of it */
  size_t n, cap;
  int file;              /* -1: none */
  runtime_new_file made; /* what gets its name at the end; without a descriptor: the file is written in place */
  gzFile gz;             /* NULL: none */
  bool is_memory, failed;
  int error; /* errno of the failure; 0: out of memory */
} profiler_out;

/* A file gets its name when it is closed. False with a message. LEVEL of gzip: 0 does not compress at all. */
bool profiler_out_open(tn_context *ctx, profiler_out *out, const char *path, int level);
void profiler_out_memory(profiler_out *out);
/* Writes the rest; false with a message, and nothing is left, when something failed since the opening. */
bool profiler_out_close(tn_context *ctx, profiler_out *out, const char *path);
/* What was written to memory, NUL-terminated; NULL when it failed. */
TN_GIVE char *profiler_out_take(profiler_out *out, size_t *n);

/* What was to be written could not be made: the output has failed. */
void profiler_out_no_memory(profiler_out *out);
void profiler_out_bytes(profiler_out *out, const void *data, size_t n);
void profiler_out_text(profiler_out *out, const char *text);
/* What printf would write, in the C locale, up to 511 bytes. Slow beside the calls below: not for every event. */
void profiler_out_addf(profiler_out *out, const char *fmt, ...) TN_PRINTF(2, 3);
void profiler_out_i64(profiler_out *out, int64_t value);
void profiler_out_u64(profiler_out *out, uint64_t value);
/* Nanoseconds as microseconds: an integer, or three decimals. */
void profiler_out_us(profiler_out *out, int64_t ns);
/* The shortest text that reads back the same, with a point or an exponent; NULL for what JSON has no number for. */
void profiler_out_f64(profiler_out *out, double value);
/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void profiler_out_json(profiler_out *out, const char *text);
/* TEXT, or a copy whose bytes that are not UTF-8 became U+FFFD; NULL without memory. */
const char *profiler_utf8(runtime_arena *arena, const char *text);
/* A cell of CSV: in quotes when it has to be. */
void profiler_out_csv(profiler_out *out, const char *text);
#define PROFILER_OUT_LITERAL(out, text) profiler_out_bytes((out), (text), sizeof(text) - 1)

/* ---- in (stream.c) ----------------------------------------------------------------------------------------------- */

/* Bytes of a file (gzip'ed or not) or of memory. */
typedef struct profiler_in {
  const unsigned char *data;
  size_t n, at;
  uint64_t before; /* bytes consumed before data */
  gzFile gz;       /* NULL: memory */
  unsigned char *buffer;
  uint64_t most;      /* bytes that a compressed file may unpack to */
  const char *failed; /* why bytes could not be had; NULL: they could */
} profiler_in;

/* From a file, packed with gzip or not, which profiler_in_close closes. False with a message; nothing is open then. */
bool profiler_in_open(tn_context *ctx, profiler_in *in, const char *path);
/* From bytes that stay the caller's, and must stay until all is read. */
void profiler_in_memory(profiler_in *in, const void *data, size_t n);
void profiler_in_close(profiler_in *in);
bool profiler_in_fill(profiler_in *in); /* false at the end */
static inline int profiler_in_peek(profiler_in *in) {
  return in->at < in->n || profiler_in_fill(in) ? in->data[in->at] : -1;
}

/* The next byte, or -1 at the end or after a failure, which in->failed tells apart. */
static inline int profiler_in_get(profiler_in *in) {
  return in->at < in->n || profiler_in_fill(in) ? in->data[in->at++] : -1;
}
static inline uint64_t profiler_in_place(const profiler_in *in) { return in->before + in->at; }
bool profiler_in_bytes(profiler_in *in, void *to, size_t n); /* all N, or false */
/* The rest, malloc'ed, up to MOST bytes; NULL when there is more or no memory. */
TN_GIVE char *profiler_in_rest(profiler_in *in, size_t most, size_t *n);

/* ---- maps of ids (stream.c) -------------------------------------------------------------------------------------- */

/* From a pair of numbers to an int64_t. Zero-initialise. */
typedef struct profiler_map_entry {
  uint64_t a, b;
  int64_t value;
} profiler_map_entry;
/* Numbers by pairs of numbers, such as a lane by process and thread. Zero-initialise; ends with profiler_map_free. */
typedef struct profiler_map {
  runtime_map index; /* hash of a pair -> its place in entries, plus one */
  RUNTIME_VEC(profiler_map_entry) entries;
} profiler_map;
/* The value's place; a new one holds OTHERWISE. NULL without memory. Valid until the next call. */
int64_t *profiler_map_at(profiler_map *map, uint64_t a, uint64_t b, int64_t otherwise);
void profiler_map_free(profiler_map *map);

/* ---- the recorder's own form (binary.c) -------------------------------------------------------------------------- */

/* False only without memory; what fails in OUT stays there. */
bool profiler_write_binary(profiler_out *out, const tn_recording *r);
/* A finished recording, or NULL with a message in CTX that begins with NAME. */
TN_GIVE tn_recording *profiler_read_binary(tn_context *ctx, profiler_in *in, const char *name);
/* The same in memory, for another process. NULL: no memory; no such bytes. */
TN_GIVE char *profiler_encode(const tn_recording *r, size_t *n);
TN_GIVE tn_recording *profiler_decode(const void *data, size_t n);
#define PROFILER_BINARY_MAGIC "TNPROF\r\n"

/* What readers accept: times of 73 years, memory of a pebibyte; sums of what is clipped to it do not overflow. */
#define PROFILER_MAX_NS (INT64_MAX / 4)
#define PROFILER_MAX_BYTES ((int64_t)1 << 50)
/* Brings a number of a foreign file into +-MOST, so that sums and differences of two cannot overflow. */
static inline int64_t profiler_clip(int64_t value, int64_t most) {
  return value < -most ? -most : value > most ? most : value;
}
/* Frees the recording if it FAILED or cannot be finished, and says so; else finishes and returns it. */
TN_GIVE tn_recording *profiler_finish_reading(tn_context *ctx, TN_TAKE tn_recording *r, const char *name);

/* The numbers of tn_recording_info that every form keeps: X(member, "key in a file"), all of 64 bits. */
/* clang-format off */
#define PROFILER_INFO_NUMBERS(X)                                                                                    \
  X(start_ns, "start_ns") X(duration_ns, "duration_ns") X(start_unix_ns, "start_unix_ns") X(stats.events, "events") \
  X(stats.dropped, "dropped") X(stats.lanes, "threads") X(stats.bytes, "bytes")                                     \
  X(stats.double_ends, "double_ends") X(stats.overlaps, "overlaps") X(stats.unfinished, "unfinished")               \
  X(stats.unknown_frees, "unknown_frees") X(stats.lost_names, "lost_names") X(stats.start_ns, "start_cost_ns")      \
  X(stats.stop_ns, "stop_cost_ns") X(stats.collect_ns, "collect_cost_ns")       \
  X(cpu_ns, "cpu_ns") X(peak_rss_bytes, "peak_rss_bytes")
/* clang-format on */

/* The same of a tn_process: X(member, what it is where a file does not say). */
#define PROFILER_PROCESS_NUMBERS(X) \
  X(node_id, -1) X(is_remote, 0) X(was_killed, 0) X(clock_offset_ns, 0) X(clock_bound_ns, 0)

/* Flags of events by name, as files have them. */
/* clang-format off */
#define PROFILER_FLAGS(X)                                                                            \
  X(UNFINISHED, "unfinished") X(KILLED, "killed") X(OVERLAP, "overlap") X(FAILED, "failed") \
  X(UNKNOWN, "unknown") X(ADDED, "added")
/* clang-format on */

/* The names of an event's flags with SEPARATOR between them; "" without. */
typedef struct profiler_flags_text {
  char text[64];
} profiler_flags_text;
profiler_flags_text profiler_flags_of(const tn_event *e, char separator);
/* Sets the flags whose names stand in TEXT, whatever is between them. */
void profiler_flags_parse(tn_event *e, const char *text);
const char *profiler_kind_name(tn_event_kind kind);
/* Back from the first N bytes of TEXT; -1 for what is none. */
int profiler_find_category(const char *text, size_t n);
/* Sets the event's place from "file:line:function"; what is missing from the right is unknown. */
void profiler_source_parse(tn_recording *r, tn_event *e, const char *text);

#endif
