/* memory.c: the profiler as the observer of memory (runtime/base.h): what its level wants becomes events. */
#include "runtime/base.h"
#include "runtime/profiler/profiler.h"

static void taken(const char *pool, int level, const void *address, size_t bytes) {
  if (tn_profile_wants(TN_CATEGORY_MEMORY, level)) tn_memory_alloc(pool, address, bytes);
}

static void returned(const char *pool, int level, const void *address) {
  if (tn_profile_wants(TN_CATEGORY_MEMORY, level)) tn_memory_free(pool, address, 0);
}

const runtime_memory_observer runtime_the_memory_observer = {
    .taken = taken, .returned = returned, .refused = tn_memory_failed};
