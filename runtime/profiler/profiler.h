/* tenon/profiler.h: where the time went. Profilers nest on a thread-local stack; a timed scope adds its duration to the
 * innermost profiler of the calling thread. Names use '/' for hierarchy by convention ("EvoSearch/Mutation").
 * Source: TVM MetaSchedule's Profiler (enter/exit, current, timeit, get, table). */
#ifndef TENON_PROFILER_H
#define TENON_PROFILER_H

#include "runtime/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_profiler tn_profiler;

TN_API tn_profiler *tn_profiler_new(void); /* NULL: no memory */
TN_API void tn_profiler_free(tn_profiler *profiler);
/* Pushes on this thread's stack and starts "Total"; exit must name the profiler on top (TN_ERROR_ARGUMENT else).
 * Re-entering after an exit adds to the same Total. Entering one that is already on the stack is refused. */
TN_API tn_status tn_profiler_enter(tn_profiler *profiler);
TN_API tn_status tn_profiler_exit(tn_profiler *profiler);
TN_API tn_profiler *tn_profiler_current(void); /* innermost of this thread, or NULL */
/* Adds seconds under a name: for times measured elsewhere (worker processes). */
TN_API void tn_profiler_add(tn_profiler *profiler, const char *name, double seconds, int64_t calls);
/* Seconds under a name; 0 when there is none. */
TN_API double tn_profiler_get(const tn_profiler *profiler, const char *name);
TN_API int64_t tn_profiler_calls(const tn_profiler *profiler, const char *name);
/* Walks all names in order of first appearance. */
TN_API int tn_profiler_count(const tn_profiler *profiler);
TN_API const char *tn_profiler_name_at(const tn_profiler *profiler, int index, double *seconds, int64_t *calls);
/* TVM's table: columns ID, Name, Time (min), Percentage; rows by percentage, descending; Total first with a blank ID.
 * malloc'ed; NULL while the profiler has no finished Total. */
TN_API char *tn_profiler_table(const tn_profiler *profiler);

/* A timed scope: TN_TIMED("EvoSearch/Mutation") { ... } is not needed; declare it and it ends with its block. */
typedef struct tn_timed {
  tn_profiler *profiler;
  const char *name; /* must live until the scope ends */
  uint64_t start_ns;
} tn_timed;
TN_API tn_timed tn_timed_begin(const char *name); /* no profiler active: costs a load and a branch */
TN_API void tn_timed_end(tn_timed *scope);
#define TN_TIMED_CAT2(a, b) a##b
#define TN_TIMED_CAT(a, b) TN_TIMED_CAT2(a, b)
#define TN_TIMED(name) \
  __attribute__((cleanup(tn_timed_end))) tn_timed TN_TIMED_CAT(tn_timed_, __LINE__) = tn_timed_begin(name)

#ifdef __cplusplus
}
#endif
#endif
