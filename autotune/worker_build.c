/* worker_build.c: requests to build: program text and steps in, an object out. Nothing of a candidate
 * outlives its answer: the schedule is freed, and the object goes with the message. */
#include "autotune/worker.h"

/* Replays the steps and compiles. Steps are data from outside: they pass every check that the primitives
 * make, and a refusal is an INSTANTIATION error. */
static bool build_steps(worker_program *p, const char *steps, bool packs_apart, worker_answer *answer) {
  tn_schedule *schedule = tn_schedule_new(p->program);
  bool built = schedule && tn_schedule_replay(schedule, steps) == TN_OK;
  worker_lap(answer, WORKER_LOWER);
  if (!built)
    worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  else
    built = packs_apart ? worker_compile_candidate(p, schedule, answer, &answer->object)
                        : worker_compile(p, schedule, NULL, answer, &answer->object);
  tn_schedule_free(schedule);
  return built;
}

void worker_build(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = worker_program_get(w, request->header, answer);
  if (p) worker_profile_describe(&w->event, p);
  bool packs_apart = json_is_true(json_object_get(request->header, "packs_apart"));
  if (p) build_steps(p, protocol_text(request->header, "steps", "[]"), packs_apart, answer);
}
