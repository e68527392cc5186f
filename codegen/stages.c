/* stages.c: gives a kernel in memory what tn_build_options.sample and .count ask for. */
#include "schedule/work.h"

#include <stdio.h>

#include "codegen/internal.h"
#include "runtime/stages.h"

/* Where the kernel counts its stages' times; NULL with a message. */
static const int64_t *counters_of(const tn_kernel *kernel) {
  char name[256];
  snprintf(name, sizeof name, CODEGEN_STAGE_SYMBOL, tn_kernel_name(kernel));
  return codegen_symbol(kernel, name);
}

/* After a failure the kernel is as it was, and is freed by the caller. */
tn_status codegen_add_stages(tn_kernel *kernel, const tn_schedule *schedule, schedule_part part,
                             const tn_target *target, int n_told, bool counts) {
  int n = schedule_computed_count(schedule);
  const int64_t *counters = n_told > 0 ? counters_of(kernel) : NULL;
  if (n_told > 0 && counters == NULL) return tn_context_status(schedule->ctx);
  tn_kernel_stage *stages = calloc((size_t)n + 1, sizeof *stages);
  if (stages == NULL) return runtime_fail(schedule->ctx, TN_ERROR_MEMORY, "out of memory for the kernel's stages");
  schedule_describe_stages(schedule, stages);
  tn_machine machine = tn_target_machine(target);
  for (int i = 0; i < n; i++) stages[i].native_bits = 8 * machine.vector_bytes;
  tn_status status = counts ? schedule_count_work(schedule, part, stages) : TN_OK;
  if (status == TN_OK) status = runtime_stages_set(kernel, n, stages, n_told, counters, target->threads);
  free(stages);
  return status;
}
