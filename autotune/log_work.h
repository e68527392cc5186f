/* log_work.h: going through all lines of a log, for what sums it up, checks it or writes another log. */
#ifndef TENON_AUTOTUNE_LOG_WORK_H
#define TENON_AUTOTUNE_LOG_WORK_H

#include "autotune/log.h"

/* The facts of a line by which records are chosen. */
typedef struct log_facts {
  int line;
  uint64_t key, target; /* hashes; 0 for an event */
  double cost_s;        /* INFINITY: failed */
  tn_measure_error error;
  int64_t time_s;
  bool is_event, is_final, is_winner, checked;
} log_facts;

/* The same facts from either way of reading a line; enough to choose among records. Texts remain the reader's. */
log_facts log_facts_of_glance(int line, const log_glance *glance);
log_facts log_facts_of_record(int line, const autotune_record *record);

/* One pass over a log. SUM counts everything except written lines. */
typedef struct log_work {
  const tn_log_filter *filter; /* NULL: all */
  tn_log_sum *sum;
  bool parses;                                         /* every line is parsed as a whole, and given to ON_RECORD */
  void (*on_line)(void *user, const log_facts *facts); /* lines that the filter lets through; may be NULL */
  void (*on_strange)(void *user, bool is_whole);       /* may be NULL */
  bool (*on_record)(void *user, int line, const autotune_record *record); /* may be NULL; false: no memory */
  /* May be NULL. True: the line need not be parsed if it is valid, because ON_RECORD has had one of the
   * same program and key. */
  bool (*is_known)(void *user, int line, const log_glance *glance);
  void *user;
  log_reading reading; /* holds the line's text and place during a callback */
  /* Distinct hashes, to count them; freed at the end of the pass. */
  runtime_map programs, targets;
} log_work;
/* TN_OK, or TN_ERROR_ARGUMENT: the filter's error is no word of records. */
tn_status log_filter_check(tn_context *ctx, const tn_log_filter *filter);
/* Whether the filter lets a line through. NULL lets everything through, other filters no events. */
bool log_filter_means(const tn_log_filter *filter, const log_facts *facts);
/* Reads the log from PLACE on and makes the callbacks. MISSING_OK: a missing file is an empty log. */
tn_status log_work_through(tn_context *ctx, const char *path, bool missing_ok, log_work *work,
                           autotune_log_place *place);

/* Copies lines from one log to another. */
typedef struct log_copier {
  log_reading reading;
  void *writer;
  void (*write)(void *writer, const char *text, size_t n);
} log_copier;

#endif
