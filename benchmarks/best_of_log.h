/* best_of_log.h: what searches over recorded times begin with. */
#ifndef TENON_BENCHMARKS_BEST_OF_LOG_H
#define TENON_BENCHMARKS_BEST_OF_LOG_H

#include "autotune/autotune.h"

/* The program and, at TARGET, the target of the log's best record. The context owns both. NULL after a message
 * in the context: the log cannot be read or has no record. */
static inline tn_program *open_best(tn_context *ctx, const char *log, tn_target **target) {
  tn_log_table table = {0};
  tn_program *program = NULL;
  if (tn_log_top(ctx, log, NULL, 1, &table) == TN_OK && table.n_rows == 1) {
    program = tn_program_parse(ctx, table.rows[0].program, 0, NULL);
    *target = tn_target_new(ctx, table.rows[0].target);
  }
  tn_log_table_free(&table);
  return program;
}

#endif
