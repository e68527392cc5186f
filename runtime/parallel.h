/* parallel.h: parallel loops of kernels in memory: threads that belong to a context, and the call that runs
 * a loop on them. Exported code uses OpenMP instead (codegen/emit_parallel.c). */
#ifndef TENON_RUNTIME_PARALLEL_H
#define TENON_RUNTIME_PARALLEL_H

#include "runtime/base.h"

/* Threads that sleep until a loop comes. None is started before the first loop that wants one; after a fork
 * the child starts its own. Any number of threads may run loops at the same time: they share the workers,
 * and one that finds none idle runs its loop alone. */
typedef struct runtime_pool runtime_pool;

/* The result of runtime_pool_run if the user's parallel-for did not run every iteration once. */
enum { RUNTIME_LOOP_BROKEN = 2 };

/* LIMIT: the most threads of a loop, including the caller; 0: what the machine has
 * (runtime_machine_threads), asked at the first loop. NULL: no memory. */
TN_GIVE runtime_pool *runtime_pool_new(int limit);
/* No loop may be running. Waits until the workers have ended. */
void runtime_pool_free(TN_TAKE runtime_pool *pool);
/* The context's pool, made at the first call and freed with the context, after its kernels; NULL after a message. */
runtime_pool *runtime_pool_of(tn_context *ctx);
/* tn_set_parallel_for for a pool. */
void runtime_pool_set(runtime_pool *pool, tn_parallel_for_fn parallel_for, void *user);
/* Calls BODY(LOOP, ...) for ranges that together are BEGIN .. END-1, each iteration once, on at most
 * THREADS threads including the caller; returns when all are done. Bodies see what the caller wrote before,
 * and afterwards the caller sees what they wrote. Each thread begins with a contiguous share, takes half of
 * what is left of it at a time, and then helps with the other shares, so a thread that comes late or not at
 * all costs nothing. 0, or RUNTIME_LOOP_BROKEN. */
int32_t runtime_pool_run(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                         int32_t threads);
/* The same on the pool's own threads even if tn_set_parallel_for was used, for code between a kernel and them. */
void runtime_pool_share(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                        int32_t threads);
/* Workers started so far in this process. */
int runtime_pool_workers(const runtime_pool *pool);

/* How many threads of this process can run at once: the least of the affinity mask and the cgroups' CPU
 * quotas. At least 1. */
int runtime_machine_threads(void);
/* The least CPU quota, in threads, of the cgroups named in LIST ("/proc/self/cgroup") under MOUNT
 * ("/sys/fs/cgroup"). */
int runtime_cgroup_threads(const char *list, const char *mount);

#endif
