/* scratch.c: scratch memory that is kept (scratch.h). There is a fixed number of places, each with a buffer
 * that is in use or idle. Whoever changes a place's state from idle or empty owns it until it sets the
 * state again, so nothing is locked, and a fork at any moment costs the child at most the buffers in use. */
#include "runtime/scratch.h"

#include <stdatomic.h>

/* PLACES: the most buffers that are kept. ALIGNMENT: a cache line, and the widest vector. */
enum { PLACES = 32, ALIGNMENT = 64 };

typedef enum place_state { EMPTY, IDLE, USED } place_state;

/* A buffer that a kernel uses, or that waits for the next one. */
typedef struct place {
  _Atomic int state;
  _Atomic(void *) memory; /* others read it; only the owner changes it */
  int64_t bytes;          /* only the owner uses it */
} place;

/* Buffers that kernels gave back. Threads take and give without a lock, since only its owner changes a place. */
struct runtime_scratch {
  place places[PLACES];
  atomic_llong idle; /* bytes */
  atomic_uint next;  /* the place whose buffer is dropped next when there is no room */
};

/* True: the caller owns the place now. */
static bool own(place *p, int from) { return atomic_compare_exchange_strong(&p->state, &from, USED); }

/* A buffer more than twice as large does not fit: a small user would hold a large one's memory. */
static bool fits(const place *p, int64_t bytes) { return p->bytes >= bytes && p->bytes / 2 <= bytes; }

/* An idle buffer; NULL: none fits. */
static void *take_idle(runtime_scratch *scratch, int64_t bytes) {
  for (place *p = scratch->places; p < scratch->places + PLACES; p++) {
    if (atomic_load_explicit(&p->state, memory_order_relaxed) != IDLE || !own(p, IDLE)) continue;
    if (fits(p, bytes)) {
      atomic_fetch_sub(&scratch->idle, p->bytes);
      return atomic_load(&p->memory);
    }
    atomic_store(&p->state, IDLE);
  }
  return NULL;
}

/* Frees the buffer of a place that the caller owns. */
static void drop(runtime_scratch *scratch, place *p) {
  atomic_fetch_sub(&scratch->idle, p->bytes);
  free(atomic_exchange(&p->memory, NULL));
}

/* A place without a buffer, owned by the caller; NULL: all are in use. */
static place *take_place(runtime_scratch *scratch) {
  for (place *p = scratch->places; p < scratch->places + PLACES; p++)
    if (own(p, EMPTY)) return p;
  for (int i = 0; i < PLACES; i++) {
    place *p = &scratch->places[atomic_fetch_add(&scratch->next, 1) % PLACES];
    if (!own(p, IDLE)) continue;
    drop(scratch, p);
    return p;
  }
  return NULL;
}

/* Allocates a buffer. If the system has no memory left, idle buffers are freed first. */
static void *take_new(runtime_scratch *scratch, int64_t bytes) {
  void *memory = aligned_alloc(ALIGNMENT, (size_t)bytes);
  if (memory) return memory;
  for (place *p = scratch->places; p < scratch->places + PLACES; p++) {
    if (!own(p, IDLE)) continue;
    drop(scratch, p);
    atomic_store(&p->state, EMPTY);
  }
  return aligned_alloc(ALIGNMENT, (size_t)bytes);
}

void *runtime_scratch_take(runtime_scratch *scratch, int64_t bytes) {
  if (bytes > INT64_MAX - ALIGNMENT) return NULL;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *memory = take_idle(scratch, bytes);
  if (memory) return memory;
  memory = take_new(scratch, bytes);
  place *p = memory ? take_place(scratch) : NULL;
  if (p) {
    p->bytes = bytes;
    atomic_store(&p->memory, memory);
  }
  return memory;
}

/* The place of a buffer; NULL: it found none when it was taken. */
static place *place_of(runtime_scratch *scratch, const void *memory) {
  for (place *p = scratch->places; p < scratch->places + PLACES; p++)
    if (atomic_load_explicit(&p->memory, memory_order_relaxed) == memory) return p;
  return NULL;
}

void runtime_scratch_give(runtime_scratch *scratch, void *memory) {
  place *p = memory ? place_of(scratch, memory) : NULL;
  if (!p) {
    free(memory);
    return;
  }
  if (atomic_fetch_add(&scratch->idle, p->bytes) + p->bytes <= RUNTIME_SCRATCH_KEPT) {
    atomic_store(&p->state, IDLE);
    return;
  }
  drop(scratch, p);
  atomic_store(&p->state, EMPTY);
}

int64_t runtime_scratch_idle(const runtime_scratch *scratch) { return atomic_load(&scratch->idle); }

/* No kernel may be running any more. */
static void release(void *data) {
  runtime_scratch *scratch = data;
  for (int i = 0; i < PLACES; i++) free(scratch->places[i].memory);
  free(scratch);
}

runtime_scratch *runtime_scratch_of(tn_context *ctx) {
  runtime_scratch *scratch = runtime_slot_get(ctx, RUNTIME_SLOT_SCRATCH);
  if (scratch) return scratch;
  scratch = calloc(1, sizeof *scratch);
  if (scratch)
    runtime_slot_set(ctx, RUNTIME_SLOT_SCRATCH, scratch, release);
  else
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the scratch memory of kernels");
  return scratch;
}
