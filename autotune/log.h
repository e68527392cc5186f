/* log.h: lines of a log at a glance, and the index beside a large log. Whole records are in internal.h. */
#ifndef TENON_AUTOTUNE_LOG_H
#define TENON_AUTOTUNE_LOG_H

#include <string.h>

#include "autotune/internal.h"

/* ---- a line at a glance (log_glance.c) ---------------------------------------------------------------------------- */

/* A part of a line: a string without its quotes, or an array with its brackets. Not terminated. */
typedef struct log_span {
  const char *at; /* NULL: the line does not have it */
  size_t n;
} log_span;

/* The fields of a line's first level, found without parsing what is inside them. Spans point into the line. */
typedef struct log_glance {
  log_span key, program, target, error, steps, costs, plan, event;
  bool checked, is_final;
  int rank;
  int64_t time_s;
} log_glance;

/* Looks at a line. False: it is no object with the fields of a record of this version, as far as a glance
 * tells, or it is written in an unusual way; it has to be parsed. A line that this accepts may still be
 * broken inside an array or an object. */
bool log_look(const char *line, size_t n, log_glance *out);
/* Whether the N bytes are equal. Names of fields mostly differ in their first letter, which saves a call. */
static inline bool log_same_bytes(const char *a, const char *b, size_t n) {
  return n == 0 || (*a == *b && memcmp(a, b, n) == 0);
}
static inline bool log_span_is(const log_span *span, const char *text) {
  return span->at && strlen(text) == span->n && log_same_bytes(span->at, text, span->n);
}
/* Copies the span's text to OUT, which has room for N bytes; what does not fit is left out. */
void log_copy(const log_span *span, char *out, size_t n);
/* Whether the line, with its GLANCE, is a whole record that a parser would accept (log_valid.c). False: it
 * has to be parsed. */
bool log_is_valid(const char *line, size_t n, const log_glance *glance);
/* The median of the costs, as autotune_record_cost; INFINITY: it failed, or the costs cannot be read. */
double log_glance_cost(const log_glance *line);
/* Hashes that records are looked up by: of the key, and of those words of a target that make times comparable. */
uint64_t log_key_hash(const char *key, size_t n);
uint64_t log_target_hash(const char *target, size_t n);
/* A hash of a program's text without its numbers (neighbour.c), equal for similar programs. IS_JSON: the
 * text is escaped as in JSON. */
uint32_t log_shape_hash(const char *program, size_t n, bool is_json);
/* Whether a plan is made of families, which may serve programs of other sizes. A sketch's lengths belong to
 * its program's sizes. */
bool log_is_family_plan(const json_t *plan);
bool log_glance_is_family_plan(const log_glance *line);

/* What to do with a line after a glance. */
typedef enum log_answer { LOG_PASS, LOG_READ, LOG_STOP } log_answer;

/* How a log is read. Lines that a glance does not understand are parsed; a line that is no record is warned
 * about by number and skipped. VISIT is called for every whole record and says whether to go on. The record
 * is freed after the call, unless VISIT clears its json. */
typedef struct log_reading {
  bool missing_ok; /* a file that is not there is an empty log */
  int n_skipped;   /* set: lines that are no records */
  int64_t offset; /* set: place of the line that is looked at or visited, its text, and its bytes without the newline */
  const char *text;
  size_t bytes;
  const autotune_claims *claims; /* if it is the log's, its descriptor is read from; may be NULL */
  bool is_locked;                /* the caller holds the log's lock */
  bool sees_events;              /* LOOK is also asked about lines that say that a run began or ended */
  /* NULL: every record is read. TEXT: the line. */
  log_answer (*look)(void *user, int line, const log_glance *glance, const char *text);
  bool (*visit)(void *user, int line, autotune_record *record); /* NULL: nothing is read */
  /* May be NULL: a line that is no record of this version, after the warning. IS_WHOLE: it is a JSON object. */
  void (*on_strange)(void *user, int line, bool is_whole);
  void *user;
} log_reading;
/* Opens the log for appending, creates it if there is none, and locks it. *FD is for the caller to close;
 * -1: it could not be opened. */
tn_status log_open_locked(tn_context *ctx, const char *path, int *fd);
/* Reads on from PLACE, which moves to the end. It reads in pieces, since a log may be larger than memory. */
tn_status log_read(tn_context *ctx, const char *path, log_reading *reading, autotune_log_place *place);

/* ---- the index (log_index.c) --------------------------------------------------------------------------------------- */

/* Flags of an entry. PLANNED: its plan may serve similar programs. */
enum { LOG_CHECKED = 1, LOG_FINAL = 2, LOG_WINNER = 4, LOG_VALID = 8, LOG_PLANNED = 16 };

/* A record in an index. */
typedef struct log_entry {
  uint64_t key, target; /* hashes */
  int64_t offset;
  double cost_s; /* 0 where it failed */
  uint32_t line, bytes, flags, shape;
} log_entry;

/* Some entries of an index. Entries of the same key are together, in the order of their lines. */
typedef struct log_part {
  const log_entry *entries;
  size_t n;
} log_part;

/* The index of one log; log_index_open fills it and log_index_close releases it. The file beside the log is
 * mapped. Lines that were appended after it was written are indexed in memory. */
typedef struct log_index {
  log_part parts[2]; /* of the file beside the log; of what was appended since */
  void *mapped;
  size_t mapped_bytes;
  log_entry *owned[2];      /* malloc'ed parts */
  autotune_log_place place; /* how far it reaches */
} log_index;

/* Opens the index of a log, and makes it again when it is stale. *IS_THERE is false when the log is so
 * small that reading it is as quick. Broken lines are warned about when they are first read. A folder that
 * cannot be written to only costs time. */
tn_status log_index_open(tn_context *ctx, const char *path, log_index *out, bool *is_there);
/* The same, but a small log gets an index in memory, and a missing log an empty one. */
tn_status log_index_open_any(tn_context *ctx, const char *path, log_index *out);
void log_index_close(log_index *index);
/* The entries of a key: two parts, either of which may be empty. */
void log_index_find(const log_index *index, const char *key, log_part out[2]);
void log_index_find_hash(const log_index *index, uint64_t key_hash, log_part out[2]);
/* Reads the line of an entry and gives its record. KEY may be NULL: any key with the entry's hash. False:
 * the line is not there any more, so the index is stale. */
bool log_entry_read(const char *path, const log_entry *entry, const char *key, autotune_record *out);

#endif
