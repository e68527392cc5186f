/* sampler.h: who reads, a few thousand times a second, which stage a running kernel is in. A kernel built for it writes
 * the number of its stage to one place in memory whenever it enters or leaves one; the sampler's thread reads the place
 * at uneven intervals, so that it does not fall into step with the kernel, and bills the time since it last looked to
 * the stage that it finds. Time between calls is not billed. */
#ifndef TENON_RUNTIME_PROFILER_SAMPLER_H
#define TENON_RUNTIME_PROFILER_SAMPLER_H

#include "runtime/base.h"

typedef struct profiler_sampler profiler_sampler;

/* PLACE holds 0 (outside of stages) .. N. NULL: no memory. The thread starts with the first enter. */
TN_GIVE profiler_sampler *profiler_sampler_new(const int32_t *place, int n);
void profiler_sampler_free(TN_TAKE profiler_sampler *sampler); /* NULL is fine; waits for the thread */
/* Around a call, from any thread; calls may overlap. */
void profiler_sampler_enter(profiler_sampler *sampler);
void profiler_sampler_leave(profiler_sampler *sampler);
/* Of stage 0 .. n: nanoseconds and how often it was found. All times together are those between enter and leave: what
 * no look was taken at since is divided as the rest is. */
void profiler_sampler_read(profiler_sampler *sampler, int stage, double *ns, int64_t *samples);

#endif
