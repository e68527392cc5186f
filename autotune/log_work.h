/* log_work.h: going through all lines of a log, for what sums it up, checks it or writes another one. */
#ifndef TENON_AUTOTUNE_LOG_WORK_H
#define TENON_AUTOTUNE_LOG_WORK_H

#include "autotune/log.h"

/* What a line says, as far as it is needed to choose. */
typedef struct log_facts {
  int line;
  uint64_t key, target; /* hashes; 0 of an event */
  double cost_s;        /* INFINITY: failed */
  tn_measure_error error;
  int64_t time_s;
  bool is_event, is_final, is_winner, checked;
} log_facts;

/* The same from either reading of a line: what is needed to choose among records. Texts stay the reader's. */
log_facts log_facts_of_glance(int line, const log_glance *glance);
log_facts log_facts_of_record(int line, const autotune_record *record);

/* One way through a log. SUM counts everything but what is written. */
typedef struct log_work {
  const tn_log_filter *filter; /* NULL: all */
  tn_log_sum *sum;
  bool parses;                                         /* every line, whole: ON_RECORD gets it */
  void (*on_line)(void *user, const log_facts *facts); /* of lines that the filter means; may be NULL */
  void (*on_strange)(void *user, bool is_whole);       /* may be NULL */
  bool (*on_record)(void *user, int line, const autotune_record *record); /* may be NULL; false: no memory */
  /* May be NULL. Where it says true, a line that is valid is not parsed: ON_RECORD has had one of the same program and key. */
  bool (*is_known)(void *user, int line, const log_glance *glance);
  void *user;
  log_reading reading; /* the line's text and place while one is called */
  runtime_map programs, targets;
} log_work;
/* TN_ERROR_ARGUMENT: its error is no word of records. */
tn_status log_filter_check(tn_context *ctx, const tn_log_filter *filter);
/* Whether the filter means a record; NULL means all, any other no events. */
bool log_filter_means(const tn_log_filter *filter, const log_facts *facts);
tn_status log_work_through(tn_context *ctx, const char *path, bool missing_ok, log_work *work,
                           autotune_log_place *place);

/* Lines that go from one log to another. */
typedef struct log_copier {
  log_reading reading;
  void *writer;
  void (*write)(void *writer, const char *text, size_t n);
} log_copier;

#endif
