/* phases.h: what the tuner's time was spent on. The self time of every scope belongs to the phase of its
 * category, or to that of the nearest scope around it that has one; time in no such scope is the tail. So
 * the phases of a range add up exactly to its length. */
#ifndef TENON_PROFILE_PHASES_H
#define TENON_PROFILE_PHASES_H

#include "runtime/profiler/recorder.h"

/* X(NAME, "name", bits 1 << category) */
#define PROFILER_PHASES(X)                                                                               \
  X(WAIT, "wait", 1u << TN_CATEGORY_QUEUE)                                                               \
  X(GENERATE, "generate", 1u << TN_CATEGORY_SEARCH)                                                      \
  X(BUILD, "build", 1u << TN_CATEGORY_BUILD | 1u << TN_CATEGORY_COMPILE | 1u << TN_CATEGORY_LLVM)        \
  X(MEASURE, "measure", 1u << TN_CATEGORY_MEASURE | 1u << TN_CATEGORY_KERNEL | 1u << TN_CATEGORY_WORKER) \
  X(UPDATE, "update", 1u << TN_CATEGORY_MODEL | 1u << TN_CATEGORY_RECORD)                                \
  X(TAIL, "tail", 0)

/* What a tuner's time goes to. Each category belongs to at most one of them. */
typedef enum profiler_phase {
#define X(name, text, categories) PROFILER_PHASE_##name,
  PROFILER_PHASES(X)
#undef X
      PROFILER_PHASE_COUNT
} profiler_phase;

/* The wall time of a range and each phase's part in it, which add up to it. */
typedef struct profiler_phases {
  int64_t wall_ns;
  int64_t ns[PROFILER_PHASE_COUNT];
} profiler_phases;

/* A phase's name in tables, and the phase to which a category's time belongs. */
const char *profiler_phase_name(int phase);
profiler_phase profiler_phase_of_category(int category);
/* The lane of the rounds; without rounds, that of the measure scopes; otherwise that of the longest scope.
 * -1: no scopes. */
int32_t profiler_main_lane(const tn_recording *r);
/* The phases of the whole recording, by what the main lane did. False: no scopes. */
bool profiler_phases_of(const tn_recording *r, profiler_phases *out);
/* Whether a tuner's phases make sense: it measured, searched or trained. Otherwise phases are what the user named. */
bool profiler_is_tuning(const tn_recording *r);
bool profiler_is_round(const tn_event *e);
/* The phases of each round, in order, and in *starts when each began; both malloc'ed. *n: how many. NULL
 * without memory. */
TN_GIVE profiler_phases *profiler_phases_of_rounds(const tn_recording *r, int *n, TN_GIVE int64_t **starts);

#endif
