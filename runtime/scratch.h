/* scratch.h: the scratch memory of kernels in memory. Large buffers that a call gives back are kept for the
 * next one: the system would provide each of their pages anew, zeroed and by a page fault, which costs more
 * than most kernels do with it. Exported code uses aligned_alloc and free instead (codegen/emit_scratch.c). */
#ifndef TENON_RUNTIME_SCRATCH_H
#define TENON_RUNTIME_SCRATCH_H

#include "runtime/base.h"

/* The buffers of a context. Any number of threads may take and give at the same time; none waits for another. */
typedef struct runtime_scratch runtime_scratch;

/* The most bytes that idle buffers have together. */
enum { RUNTIME_SCRATCH_KEPT = 128 << 20 };

/* The context's own, made at the first call and freed with the context, after its kernels; NULL after a message. */
runtime_scratch *runtime_scratch_of(tn_context *ctx);
/* BYTES > 0, aligned to 64, with arbitrary contents. NULL: no memory. */
void *runtime_scratch_take(runtime_scratch *scratch, int64_t bytes);
/* Gives a buffer back. MEMORY is what take returned, or NULL. */
void runtime_scratch_give(runtime_scratch *scratch, void *memory);
/* The bytes of idle buffers. */
int64_t runtime_scratch_idle(const runtime_scratch *scratch);

#endif
