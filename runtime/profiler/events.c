/* events.c: events other than scopes: marks, counters, scopes measured elsewhere, flows, memory. */
#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder)

static const tn_site memory_site = {"", "", 0, TN_CATEGORY_MEMORY, 3};

/* A mark also goes to a tracer, if one is loaded: tracers understand nothing else besides scopes. */
void tn_mark(const tn_site *site, const char *name, const tn_event_arg *args, int n_args) {
  tn_tracer *tracer = atomic_load(&THE->tracer);
  if (tracer && tracer->mark && name &&
      tn_profile_wants(site ? site->category : TN_CATEGORY_APP, site ? site->level : 1))
    tracer->mark(tracer->user, name);
  profiler_write_event(site, name, (storage_record){.kind = TN_EVENT_INSTANT}, args, n_args);
}

/* The double's bits are stored where a scope has its end. */
void tn_counter(const tn_site *site, const char *name, double value) {
  storage_record record = {.kind = TN_EVENT_COUNTER};
  memcpy(&record.end, &value, sizeof value);
  profiler_write_event(site, name, record, NULL, 0);
}

void tn_event_add(const tn_site *site, const char *name, uint64_t start_ns, uint64_t end_ns, uint32_t sequence,
                  const tn_event_arg *args, int n_args) {
  storage_record record = {.kind = TN_EVENT_SCOPE,
                           .flags = TN_EVENT_ADDED,
                           .start = start_ns,
                           .end = RUNTIME_MAX(start_ns, end_ns),
                           .sequence = sequence};
  profiler_write_event(site, name, record, args, n_args);
}

void tn_flow(const tn_site *site, const char *name, tn_flow_phase phase, uint64_t id) {
  profiler_write_event(site, name, (storage_record){.kind = TN_EVENT_FLOW, .end = (uint64_t)phase, .id = id}, NULL, 0);
}

/* Address and size are stored where other events have id and end. */
static void memory_event(const char *pool, const void *address, size_t bytes, uint16_t flags) {
  storage_record record = {
      .kind = TN_EVENT_MEMORY, .flags = flags, .id = (uint64_t)(uintptr_t)address, .end = (uint64_t)bytes};
  profiler_write_event(&memory_site, pool ? pool : "memory", record, NULL, 0);
}

void tn_memory_alloc(const char *pool, const void *address, size_t bytes) { memory_event(pool, address, bytes, 0); }

void tn_memory_free(const char *pool, const void *address, size_t bytes) {
  memory_event(pool, address, bytes, TN_EVENT_FREE);
}

void tn_memory_failed(const char *pool, size_t bytes) { memory_event(pool, NULL, bytes, TN_EVENT_FAILED); }
