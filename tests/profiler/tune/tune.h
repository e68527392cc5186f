/* tune.h: the fixture TUNE: a real tuning run with two worker processes, recorded. */
#ifndef TENON_TESTS_PROFILER_TUNE_H
#define TENON_TESTS_PROFILER_TUNE_H

#include "autotune/autotune.h"
#include "tests/profiler/rows.h"

#define TUNE_MATMUL "C[i<64, j<64] = sum[k<64](A[i, k] * B[k, j])"
enum { TUNE_TRIALS = 64, TUNE_PER_ROUND = 12 };

typedef struct tune_run {
  tn_context *ctx;
  tn_program *program;
  tn_tune_result result;
  tn_recording *r; /* NULL while the session goes on */
  double best_s;   /* of the log's best record */
  char log[64];
} tune_run;

/* Tunes PROGRAM. COMMAND: of the workers (NULL: the built tenon). The caller starts and collects the session. */
void tune_only(tune_run *run, const char *program, int trials, const char *const *command);
/* The same within a session of its own. */
void tune_recorded(tune_run *run, const char *program, int trials, const char *const *command);
/* With rounds of another size. */
void tune_recorded_rounds(tune_run *run, const char *program, int trials, int per_round);
void tune_free(tune_run *run);

/* Events of NAME in worker processes. */
int64_t tune_count_in_workers(const tn_recording *r, const char *name);
bool tune_is_worker(const tn_recording *r, const tn_event *e);
int64_t tune_end(const tn_event *e);

#endif
