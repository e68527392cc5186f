/* reports.h: what the reports share inside: rows by key, time as text, tables with aligned cells. */
#ifndef TENON_PROFILE_REPORTS_H
#define TENON_PROFILE_REPORTS_H

#include "profile/profiler_reports.h"
#include "runtime/profiler/layout.h"
#include "runtime/profiler/recorder.h"

/* Rows of one recording, which has to live as long: names are the recording's. */
struct tn_averages {
  const tn_recording *recording;
  runtime_arena arena;
  runtime_names strings; /* folded names, sources */
  tn_average_options options;
  RUNTIME_VEC(tn_average) rows;
};

/* Whether a range's time is what its thread did: not async, not on a device. */
static inline bool profiler_is_host_time(const tn_average *row) { return !row->is_async && !row->is_device; }

/* The value of an event's argument; NULL: it has none of this name. */
const tn_event_arg *profiler_find_arg(const tn_recording *r, const tn_event *e, const char *key);
/* Of any numeric type; OTHERWISE for a missing one or a text. */
double profiler_arg_number(const tn_recording *r, const tn_event *e, const char *key, double otherwise);
const char *profiler_arg_text(const tn_recording *r, const tn_event *e, const char *key, const char *otherwise);

#endif
