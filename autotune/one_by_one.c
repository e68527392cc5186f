/* one_by_one.c: submit and poll for a builder or a runner that has neither. Submitted jobs are done when
 * somebody polls: several builds together, one run at a time. */
#include "autotune/tuner.h"

/* Seconds that one poll waits for jobs to end. */
#define WAIT_S 0.05

tn_status tuner_submit(tuner_stage *stage, tn_job *job) {
  if (stage->submit) return stage->submit(stage->self, job);
  return RUNTIME_PUSH(&stage->waiting, job) ? TN_OK : TN_ERROR_MEMORY;
}

/* Does the first N of the waiting jobs. */
static tn_status do_together(tuner_stage *stage, int n) {
  tn_candidate *candidates = calloc((size_t)n, sizeof *candidates);
  tn_measurement *measurements = calloc((size_t)n, sizeof *measurements);
  tn_status status = candidates && measurements ? TN_OK : TN_ERROR_MEMORY;
  for (int i = 0; status == TN_OK && i < n; ++i) {
    candidates[i] = *stage->waiting.data[i]->candidate;
    measurements[i] = *stage->waiting.data[i]->measurement;
  }
  if (status == TN_OK) status = stage->batch(stage->self, n, candidates, measurements);
  for (int i = 0; candidates && measurements && i < n; ++i) *stage->waiting.data[i]->measurement = measurements[i];
  free(candidates);
  free(measurements);
  return status;
}

/* Takes the first job: jobs are given back in order, and finished ones are in front. */
static tn_job *take_first(tuner_stage *stage) {
  tn_job *job = stage->waiting.data[0];
  memmove(stage->waiting.data, stage->waiting.data + 1, sizeof(tn_job *) * (size_t)(stage->waiting.n - 1));
  stage->waiting.n--;
  if (stage->n_done > 0) stage->n_done--;
  return job;
}

tn_status tuner_poll(tuner_stage *stage, double wait_s, tn_job **done) {
  *done = NULL;
  if (stage->poll) return stage->poll(stage->self, wait_s, done);
  if (stage->waiting.n == 0) return TN_OK;
  if (stage->n_done == 0) {
    int n = RUNTIME_MIN(stage->together, stage->waiting.n);
    tn_status status = do_together(stage, n);
    if (status != TN_OK) return status;
    stage->n_done = n;
  }
  *done = take_first(stage);
  return TN_OK;
}

tn_status tuner_do_all(tuner_stage *stage, int n, const tn_candidate *candidates, tn_measurement *inout) {
  tn_job *jobs = calloc((size_t)RUNTIME_MAX(n, 1), sizeof *jobs), *done;
  tn_status status = jobs ? TN_OK : TN_ERROR_MEMORY;
  int n_out = 0;
  for (int i = 0; status == TN_OK && i < n; ++i) {
    jobs[i] = (tn_job){.candidate = &candidates[i], .measurement = &inout[i]};
    status = tuner_submit(stage, &jobs[i]);
    n_out += status == TN_OK;
  }
  while (n_out > 0) {
    tn_status polled = tuner_poll(stage, WAIT_S, &done);
    n_out -= done != NULL;
    if (status == TN_OK) status = polled;
    if (polled != TN_OK && !done) break;
  }
  free(jobs);
  return status;
}

void tuner_stage_free(tuner_stage *stage) { RUNTIME_VEC_FREE(&stage->waiting); }
