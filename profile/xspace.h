/* xspace.h: short names for the generated messages, and what the writer and the reader of XSpace agree on. */
#ifndef TENON_PROFILE_XSPACE_H
#define TENON_PROFILE_XSPACE_H

#include "profile/files.h"
#include "profile/xspace.pb-c.h"

typedef Tensorflow__Profiler__XSpace xspace_space;
typedef Tensorflow__Profiler__XPlane xspace_plane;
typedef Tensorflow__Profiler__XLine xspace_line;
typedef Tensorflow__Profiler__XEvent xspace_event;
typedef Tensorflow__Profiler__XStat xspace_stat;
typedef Tensorflow__Profiler__XEventMetadata xspace_event_metadata;
typedef Tensorflow__Profiler__XStatMetadata xspace_stat_metadata;
typedef Tensorflow__Profiler__XEventMetadataEntry xspace_event_entry;
typedef Tensorflow__Profiler__XStatMetadataEntry xspace_stat_entry;

/* Plane and line names that viewers know. */
#define XSPACE_HOST_PLANE "/host:CPU"
#define XSPACE_DEVICE_PREFIX "/device:"
#define XSPACE_DEVICE_PLANE "/device:CUSTOM:"
#define XSPACE_COUNTERS "_counters_"

/* Statistics of events, beside their arguments: X(NAME, "the statistic's name"). An argument with one of
 * these names gets the prefix "arg:". */
/* clang-format off */
#define XSPACE_STATS(X)                                                                                                \
  X(KIND, "kind") X(CATEGORY, "category") X(LEVEL, "level") X(SOURCE, "source") X(SEQUENCE, "group_id")                \
  X(FLAGS, "flags") X(TID, "tid") X(PRODUCER_TYPE, "_pt") X(PRODUCER, "_p") X(CONSUMER_TYPE, "_ct")                    \
  X(CONSUMER, "_c") X(ASYNC, "_a") X(ID, "id") X(SELF, "self_duration_ps") X(POOL, "pool") X(ADDRESS, "addr")          \
  X(BYTES, "allocation_bytes") X(CURRENT, "bytes_allocated")
/* clang-format on */
#define XSPACE_ARG_PREFIX "arg:"

/* The statistics above, by which events are written and read back. */
typedef enum xspace_stat_name {
#define X(name, text) XSPACE_STAT_##name,
  XSPACE_STATS(X)
#undef X
      XSPACE_STAT_COUNT
} xspace_stat_name;

/* A statistic's name, and the reverse: -1 if the text names none of ours. */
const char *xspace_stat_text(xspace_stat_name name);
int xspace_stat_find(const char *text);

/* The type that producers and consumers of flows are given (_pt, _ct). */
enum { XSPACE_FLOW_TYPE = 1 };

#endif
