/* reports.h: what the reports share internally: rows by key, times as text, tables with aligned cells. */
#ifndef TENON_PROFILE_REPORTS_H
#define TENON_PROFILE_REPORTS_H

#include "profile/profiler_reports.h"
#include "runtime/profiler/layout.h"
#include "runtime/profiler/recorder.h"

/* The rows of one recording, which must outlive them, because names are the recording's. */
struct tn_averages {
  const tn_recording *recording;
  runtime_arena arena;
  runtime_names strings; /* folded names and sources */
  tn_average_options options;
  RUNTIME_VEC(tn_average) rows;
};

/* Whether the row's time was spent by its thread: not asynchronous, not on a device. */
static inline bool profiler_is_host_time(const tn_average *row) { return !row->is_async && !row->is_device; }

/* The event's argument KEY, or NULL if it has none. */
const tn_event_arg *profiler_find_arg(const tn_recording *r, const tn_event *e, const char *key);
/* The argument as a number of any type; OTHERWISE if it is missing or a text. */
double profiler_arg_number(const tn_recording *r, const tn_event *e, const char *key, double otherwise);
const char *profiler_arg_text(const tn_recording *r, const tn_event *e, const char *key, const char *otherwise);

#endif
