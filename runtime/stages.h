/* stages.h: what a kernel knows of its stages when it was built with tn_build_options.sample or .count. */
#ifndef TENON_RUNTIME_STAGES_H
#define TENON_RUNTIME_STAGES_H

#include "runtime/base.h"

typedef struct runtime_stages runtime_stages;

/* The rows of what a kernel counts while it runs, each of as many numbers as there are stages that tell their time and
 * one more: the first is for what is outside of all. */
enum {
  RUNTIME_STAGE_TICKS,  /* of all threads, in the stage */
  RUNTIME_STAGE_VISITS, /* how often it was entered */
  RUNTIME_STAGE_WALL,   /* ticks from the beginning of its parallel loops to their ends, */
  RUNTIME_STAGE_BUSY,   /* and those that threads worked in them */
  RUNTIME_STAGE_ROWS
};

/* Gives the kernel its stages; names are copied, times are filled in by the runtime. COUNTERS: what the kernel counts
 * in while it runs, on THREADS, of its first N_TOLD stages; NULL: it does not. Once for a kernel. */
tn_status runtime_stages_set(tn_kernel *kernel, int n, const tn_kernel_stage *stages, int n_told,
                             const int64_t *counters, int threads);
/* Around every call of a kernel that has stages; START is what enter gave. Any number of calls at once. */
uint64_t runtime_stages_enter(const runtime_stages *stages);
void runtime_stages_leave(runtime_stages *stages, uint64_t start);

#endif
