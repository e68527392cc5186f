/* stages.h: what a kernel knows of its stages if it was built with tn_build_options.sample or .count. */
#ifndef TENON_RUNTIME_STAGES_H
#define TENON_RUNTIME_STAGES_H

#include "runtime/base.h"

typedef struct runtime_stages runtime_stages;

/* The rows of what a kernel counts while it runs. Each has a number for each stage that tells its time,
 * preceded by one for what is outside all stages. */
enum {
  RUNTIME_STAGE_TICKS,  /* of all threads, in the stage */
  RUNTIME_STAGE_VISITS, /* how often it was entered */
  RUNTIME_STAGE_WALL,   /* ticks from the beginning of its parallel loops to their end */
  RUNTIME_STAGE_BUSY,   /* ticks that threads spent working in them */
  RUNTIME_STAGE_ROWS
};

/* Gives a kernel its stages, once. Names are copied; the runtime fills in times. COUNTERS: where the kernel
 * counts while it runs, on THREADS threads, for its first N_TOLD stages; NULL: it does not. */
tn_status runtime_stages_set(tn_kernel *kernel, int n, const tn_kernel_stage *stages, int n_told,
                             const int64_t *counters, int threads);
/* Called around every call of a kernel that has stages; START is what enter returned. Any number of calls
 * may run at once. */
uint64_t runtime_stages_enter(const runtime_stages *stages);
void runtime_stages_leave(runtime_stages *stages, uint64_t start);

#endif
