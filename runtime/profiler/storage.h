/* storage.h: a session's buffers as they are in memory or in a file: header, labels, names, lanes, chunks.
 * They are one mapping that is reserved as a whole and touched as it fills. Places in it are offsets and
 * indices, so that another process can read it. Code that records writes it (recorder.c); code that
 * collects reads it (collect.c): live, stopped, or left by a killed process.
 *
 * Nothing in it moves. A reader of a dead process's file trusts nothing: counts are limited and links
 * checked. */
#ifndef TENON_RUNTIME_PROFILER_STORAGE_H
#define TENON_RUNTIME_PROFILER_STORAGE_H

#include <stdatomic.h>

#include "runtime/profiler/recorder.h"

enum {
  STORAGE_VERSION = 2,
  STORAGE_CHUNK_BYTES = 16 << 10,
  STORAGE_MAX_LABELS = 1 << 16,
  STORAGE_MAX_LANES = 1 << 14,
};
#define STORAGE_MAGIC "TNREC\r\n"

/* The kind of a record. The first kinds are those of tn_event_kind. */
enum { STORAGE_ARG = 16 };
/* arg_type of an event with TN_EVENT_ADDED whose times are ticks all the same. */
enum { STORAGE_TICKS = 1 };

/* An event, or an argument of one. */
typedef struct storage_record {
  uint64_t start; /* ticks; ns of CLOCK_MONOTONIC with TN_EVENT_ADDED, of the device with TN_EVENT_DEVICE */
  uint64_t end;   /* the same; counter: the double's bits; memory: bytes; flow: phase; argument: its value or a name */
  uint64_t id;    /* flow, async: the id; memory: the address */
  uint32_t label;
  uint32_t ordinal; /* the event's number on its lane by beginning, from 1; argument: that of its event */
  uint32_t parent;  /* ordinal of the innermost scope open when it began; 0: none */
  uint32_t sequence;
  uint8_t kind, arg_type;
  uint16_t flags;
  uint32_t spare;
} storage_record;

/* An open scope. */
typedef struct storage_open {
  uint64_t start;
  uint32_t label, ordinal, parent, sequence;
  _Atomic uint32_t state; /* STORAGE_RUNNING until its end */
  uint32_t flags;
} storage_open;
enum { STORAGE_RUNNING = 1, STORAGE_ENDED = 2 };

/* A name at a place in the program. */
typedef struct storage_label {
  uint32_t name, file, function; /* offsets into names */
  int32_t line;
  uint8_t category, level;
} storage_label;

/* The head of a chunk, followed by its records or open scopes. Links are chunk numbers plus one; 0 is none. */
typedef struct storage_chunk {
  uint32_t lane, next, prev, is_stack;
  _Atomic uint32_t n; /* records that are complete */
  uint32_t spare[3];
} storage_chunk;

enum {
  STORAGE_RECORDS = (STORAGE_CHUNK_BYTES - (int)sizeof(storage_chunk)) / (int)sizeof(storage_record),
  STORAGE_OPENS = (STORAGE_CHUNK_BYTES - (int)sizeof(storage_chunk)) / (int)sizeof(storage_open),
};

/* A lane. Another process may read it at any moment, even after this one was killed. So it has indices
 * instead of pointers, and a count is written after what it counts. */
typedef struct storage_lane {
  int64_t tid;
  _Atomic uint32_t name;
  uint32_t is_device;
  _Atomic uint32_t first, last; /* chunks of records, the oldest first */
  uint32_t first_stack;
  _Atomic uint32_t depth;
  _Atomic uint64_t dropped;
  uint64_t host_ns[2], device_ns[2]; /* of a device: two moments by both clocks */
  uint64_t spare[4];
} storage_lane;

/* The beginning of a storage. All places are offsets from it, so that it can be read from a file. */
typedef struct storage_header {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t total_bytes, labels_at, names_at, lanes_at, chunks_at, names_bytes;
  uint32_t max_chunks, is_stopped;
  int64_t pid;
  int32_t node_id;
  uint32_t process_name, host_name;
  int32_t n_rounds;
  double ns_per_tick; /* a first estimate; the two moments below are better once they are far apart */
  uint64_t ticks[2], ns[2], unix_ns;
  _Atomic uint32_t n_labels, n_lanes, n_chunks, last_sequence;
  _Atomic uint32_t is_disk_full, spare;
  _Atomic uint64_t names_used, last_async;
  _Atomic uint64_t dropped, double_ends, overlaps, lost_names; /* dropped: of threads that got no lane */
  uint64_t start_cost_ns, stop_cost_ns;
  int64_t cpu_ns[2], peak_rss_bytes; /* of the process: at start and stop; at stop */
  double event_cost_ns;
} storage_header;

/* A mapping, anonymous or of a file. A file's pages are taken from the disk before they are touched, since
 * touching a page that a full disk cannot provide raises a signal. */
typedef struct storage {
  storage_header *header; /* NULL: none */
  storage_label *labels;
  char *names;
  storage_lane *lanes;
  char *chunks;
  size_t mapped_bytes;
  size_t labels_taken, names_taken, lanes_taken; /* bytes of these parts that have their place on the disk */
  _Atomic bool is_growing;                       /* a thread is taking a chunk */
  int file;                                      /* -1: anonymous */
} storage;

/* LINK is 1 for the first chunk, since 0 must mean none in a mapped file of zeros. */
static inline storage_chunk *storage_chunk_at(const storage *s, uint32_t link) {
  return (storage_chunk *)(s->chunks + (size_t)(link - 1) * STORAGE_CHUNK_BYTES);
}
static inline storage_record *storage_records(storage_chunk *chunk) { return (storage_record *)(chunk + 1); }
static inline storage_open *storage_opens(storage_chunk *chunk) { return (storage_open *)(chunk + 1); }

/* Makes an empty mapping for MAX_BYTES of chunks; PATH NULL: anonymous. False with errno: ENOSPC if not
 * even one thread could record, ELOOP for a symbolic link, EEXIST for a file that no recorder wrote; the
 * latter two are left alone. */
bool storage_create(storage *s, size_t max_bytes, const char *path);
/* Maps another process's file for reading. False with a message in CTX. */
bool storage_open_file(tn_context *ctx, storage *s, const char *path);
void storage_close(storage *s);
/* Makes sure that label or lane number I can be written. False: the disk is full. Called under the recorder's lock. */
bool storage_take_label(storage *s, uint32_t i);
bool storage_take_lane(storage *s, uint32_t i);
/* Takes a new chunk for a lane; returns its link, 0 if none is left. Any thread may call it. */
uint32_t storage_new_chunk(storage *s, uint32_t lane, bool is_stack);
/* Appends a text; returns its offset, 0 ("") if there is no room. Called under the recorder's lock. */
uint32_t storage_add_name(storage *s, const char *text, size_t n);
/* Makes a recording of all that is complete. NOW_TICKS ends what is still open; 0: the latest time in the
 * storage does. NULL without memory. */
tn_recording *storage_collect(const storage *s, uint64_t now_ticks);

#endif
