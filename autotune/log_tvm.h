/* log_tvm.h: records of TVM's auto_scheduler, between reading (log_tvm.c) and writing (log_tvm_write.c) them. */
#ifndef TENON_AUTOTUNE_LOG_TVM_H
#define TENON_AUTOTUNE_LOG_TVM_H

#include "autotune/log_work.h"

/* The steps of THEIRS with what LLVM does behind them in TVM: at the end *N_ADDED more, and values that are others, of which CHANGED,
 * an array, gets [step, place, TVM's value]. NULL: no memory. */
TN_GIVE json_t *log_tvm_as_with_llvm(const tn_schedule *theirs, int *n_added, json_t *changed);
/* Puts TVM's values back. CHANGED may be NULL, and is from a log: what names no step is left out. */
void log_tvm_restore(const json_t *changed, json_t *steps);

#endif
