/* scratch.h: the scratch memory of kernels in memory. Large buffers that a call gives back are kept for the next one:
 * from the system each of their pages would come anew, zeroed and by a fault, which costs more than most kernels do
 * with it. Files that leave home use aligned_alloc and free instead (codegen/emit_scratch.c). */
#ifndef TENON_RUNTIME_SCRATCH_H
#define TENON_RUNTIME_SCRATCH_H

#include "runtime/base.h"

/* What is kept. Any number of threads may take and give at the same time; none waits for another. */
typedef struct runtime_scratch runtime_scratch;

/* Idle buffers together are never larger. */
enum { RUNTIME_SCRATCH_KEPT = 128 << 20 };

/* The context's own, made at the first call, freed with it, after its kernels; NULL with a message. */
runtime_scratch *runtime_scratch_of(tn_context *ctx);
/* BYTES > 0, aligned to 64, with any contents. NULL: no memory. */
void *runtime_scratch_take(runtime_scratch *scratch, int64_t bytes);
/* MEMORY is what take returned, or NULL. */
void runtime_scratch_give(runtime_scratch *scratch, void *memory);
/* Bytes of the buffers that wait for a taker. */
int64_t runtime_scratch_idle(const runtime_scratch *scratch);

#endif
