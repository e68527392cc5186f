/* stages.h: what a kernel knows of its stages when it was built with tn_build_options.sample or .count. */
#ifndef TENON_RUNTIME_STAGES_H
#define TENON_RUNTIME_STAGES_H

#include "runtime/base.h"

typedef struct runtime_stages runtime_stages;

/* Gives the kernel its stages; names are copied, times are filled in by the runtime. PLACE: where it writes the number
 * of its stage, counting from 1; NULL: it does not. Once for a kernel. */
tn_status runtime_stages_set(tn_kernel *kernel, int n, const tn_kernel_stage *stages, const int32_t *place);
void runtime_stages_free(runtime_stages *stages);
/* Around every call of a kernel that has stages. */
void runtime_stages_enter(runtime_stages *stages);
void runtime_stages_leave(runtime_stages *stages);

#endif
