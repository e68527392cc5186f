/* log.h: a log's lines at a glance, and the index beside a large log. The whole of a record is in internal.h. */
#ifndef TENON_AUTOTUNE_LOG_H
#define TENON_AUTOTUNE_LOG_H

#include "autotune/internal.h"

/* ---- a line at a glance (log_glance.c) ---------------------------------------------------------------------------- */

/* A part of a line: a string without its quotes, or an array with its brackets. */
typedef struct log_span {
  const char *at; /* NULL: the line does not have it */
  size_t n;
} log_span;

/* What a line says on its first level, without parsing what lies inside. Spans point into the line. */
typedef struct log_glance {
  log_span key, program, target, error, steps, costs, plan, event;
  bool checked, is_final;
  int rank;
  int64_t time_s;
} log_glance;

/* False: it is no object with the fields of a record of this version, as far as a glance tells, or is written in an unusual
 * way: parse it to know. A line that this accepts may still be broken inside of an array or an object. */
bool log_look(const char *line, size_t n, log_glance *out);
bool log_span_is(const log_span *span, const char *text);
/* Whether a line, of which GLANCE is a glance, is a whole record that a parser takes (log_valid.c). False: parse it to know. */
bool log_is_valid(const char *line, size_t n, const log_glance *glance);
/* The median of the costs, as autotune_record_cost; INFINITY: failed, or the costs cannot be read. */
double log_glance_cost(const log_glance *line);
/* The numbers that records are looked up by: of the key; and of those words of a target that make times comparable. */
uint64_t log_key_hash(const char *key, size_t n);
uint64_t log_target_hash(const char *target, size_t n);
/* Of a program's text but for its numbers (neighbour.c): programs that are alike have the same. IS_JSON: as JSON writes it. */
uint32_t log_shape_hash(const char *program, size_t n, bool is_json);
/* Whether a plan is of families, which may serve programs of other sizes. A sketch's lengths belong to its program's sizes. */
bool log_is_family_plan(const json_t *plan);
bool log_glance_is_family_plan(const log_glance *line);

/* What is to be done with a line after a glance. */
typedef enum log_answer { LOG_PASS, LOG_READ, LOG_STOP } log_answer;

/* How a log is read. Lines that a glance does not understand are parsed; a line that is no record is warned about by its
 * number, and skipped. VISIT is called for every whole record and says whether to read on; the record is freed behind the call
 * unless VISIT cleared its json. */
typedef struct log_reading {
  bool missing_ok; /* a file that is not there is an empty log */
  int n_skipped;   /* set: lines that are no records */
  int64_t offset;  /* set: of the line that is looked at or visited; its text, and that's bytes without the newline */
  const char *text;
  size_t bytes;
  const autotune_claims *claims; /* whose descriptor is read from where it is the log's; may be NULL */
  bool is_locked;                /* the caller holds the log's lock */
  bool sees_events;              /* LOOK is asked of lines that say that a run began or ended, too */
  /* NULL: every record is read. TEXT: the line. */
  log_answer (*look)(void *user, int line, const log_glance *glance, const char *text);
  bool (*visit)(void *user, int line, autotune_record *record); /* NULL: nothing is read */
  /* May be NULL: a line that is no record of this version, after the warning. IS_WHOLE: it is a JSON object. */
  void (*on_strange)(void *user, int line, bool is_whole);
  void *user;
} log_reading;
/* Opens the log for appending, making it, and locks it: *FD is the caller's to close. It is -1 where it could not be opened. */
tn_status log_open_locked(tn_context *ctx, const char *path, int *fd);
/* Reads on from PLACE, which moves to the end. In pieces: a log may be larger than memory. */
tn_status log_read(tn_context *ctx, const char *path, log_reading *reading, autotune_log_place *place);

/* ---- the index (log_index.c) --------------------------------------------------------------------------------------- */

/* PLANNED: its plan may serve programs that are like its own. */
enum { LOG_CHECKED = 1, LOG_FINAL = 2, LOG_WINNER = 4, LOG_VALID = 8, LOG_PLANNED = 16 };

/* A record in an index. */
typedef struct log_entry {
  uint64_t key, target; /* hashes */
  int64_t offset;
  double cost_s; /* 0 where it failed */
  uint32_t line, bytes, flags, shape;
} log_entry;

/* What is known of a log beside its records: the entries of a key stand together, by line. */
typedef struct log_part {
  const log_entry *entries;
  size_t n;
} log_part;

/* The index of one log, opened by log_index_open and given back by log_index_close. The file beside the log is
 * mapped; what was appended since it was written is read and kept in memory. */
typedef struct log_index {
  log_part parts[2]; /* of the file beside the log; of what was appended since */
  void *mapped;
  size_t mapped_bytes;
  log_entry *owned[2];      /* malloc'ed parts */
  autotune_log_place place; /* how far it reaches */
} log_index;

/* Opens the index of the log, making it anew when it is stale; *IS_THERE is false where the log is so small that reading it is
 * as quick. Broken lines are told when they are first met. A folder that cannot be written to costs only time. */
tn_status log_index_open(tn_context *ctx, const char *path, log_index *out, bool *is_there);
/* The same, but a small log has an index in memory, and a log that is not there an empty one. */
tn_status log_index_open_any(tn_context *ctx, const char *path, log_index *out);
void log_index_close(log_index *index);
/* The entries of a key: two parts, each may be empty. */
void log_index_find(const log_index *index, const char *key, log_part out[2]);
void log_index_find_hash(const log_index *index, uint64_t key_hash, log_part out[2]);
/* Reads one line that an entry names, and gives its record. KEY may be NULL: any that the entry's hash fits. False: it is not
 * there any more, the index is stale. */
bool log_entry_read(const char *path, const log_entry *entry, const char *key, autotune_record *out);

#endif
