/* log_tvm.h: what reading (log_tvm.c) and writing (log_tvm_write.c) records of TVM's auto_scheduler share. */
#ifndef TENON_AUTOTUNE_LOG_TVM_H
#define TENON_AUTOTUNE_LOG_TVM_H

#include "autotune/log_work.h"

/* The steps of THEIRS, together with what LLVM does after them in TVM: *N_ADDED more steps at the end, and
 * changed values. CHANGED, an array, gets [step, place, TVM's value] for each of these. NULL: no memory. */
TN_GIVE json_t *log_tvm_as_with_llvm(const tn_schedule *theirs, int *n_added, json_t *changed);
/* Puts TVM's values back. CHANGED comes from a log and may be NULL; an entry that names no step is ignored. */
void log_tvm_restore(const json_t *changed, json_t *steps);

#endif
