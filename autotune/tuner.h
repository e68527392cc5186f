/* tuner.h: a run of tn_tune as its parts see it: measuring candidates (tune_measure.c), what is told and when it ends
 * (tune_tell.c), the finals (finals.c), and all of it together (tune.c). */
#ifndef TENON_AUTOTUNE_TUNER_H
#define TENON_AUTOTUNE_TUNER_H

#include "autotune/search.h"
#include "runtime/profiler/profiler.h"

enum { TUNER_MAX_FINALISTS = 16 };

/* One of the fastest schedules known, from the log or from this run. */
typedef struct tuner_top {
  uint64_t hash; /* autotune_schedule_hash */
  char *steps;   /* JSON, malloc'ed */
  char *plan;    /* JSON, malloc'ed; NULL: it says none */
  int n_steps;
  double cost_s;
} tuner_top;

typedef struct tuner {
  tn_context *ctx;
  tn_program *program;
  tn_tune_options options; /* defaults filled in */
  autotune_task task;
  autotune_model *model;
  autotune_search *search;
  tn_builder builder;
  tn_runner runner;
  const char *target;
  tn_tune_result result;
  int held; /* records of this task in the log */
  int held_failed;
  bool began_well;                /* the context had no error: one that it has now is this run's */
  uint64_t start_ns, deadline_ns; /* when candidates end, later when finals end; 0: never */
  uint64_t told_ns;               /* when progress was last told */
  const char *phase;
  bool is_stopped; /* the user's word */
  uint64_t default_hash, generic_hash;
  tn_status visit_status;
  autotune_log_place read; /* how far the log was read */
  runtime_map measured;    /* hashes of the schedules that it has records of, this run's too */
  autotune_claims claims;
  int n_top;
  tuner_top top[TUNER_MAX_FINALISTS + 1]; /* fastest first; room for one that is about to leave */
  tuner_top generic; /* the generic schedule, once it was measured and right; steps NULL: not yet */
  double build_s;    /* of all successful builds of this run */
  int n_built;
  int since_best;      /* trials of this run since the best was found */
  char *first_failure; /* message of this run's first failure, malloc'ed */
  bool fails_alike;    /* all trials of this run failed like the first */
} tuner;

/* ---- what is told, and when it ends (tune_tell.c) ---------------------------------------------------------------- */

double tuner_elapsed_s(const tuner *t);
/* PHASE: a static text. Asks the user's progress function, which may stop the run. */
void tuner_tell(tuner *t, const char *phase);
/* Whether what is under way is to be given up: time is over, or the user wants it. Asked many times a second. */
bool tuner_gives_up(tuner *t);
/* The same as a tn_worker_options.should_stop. */
bool tuner_should_stop(void *t);
/* Whether no further candidate is to be measured; sets result.end. */
bool tuner_is_done(tuner *t);
/* Counts a failure by its class, and keeps the first message of each. */
void tuner_count_failure(tuner *t, tn_measure_error error, const char *message);
/* TN_ERROR_TUNE with the classes of failure, when candidates were measured and none is valid. */
tn_status tuner_judge(tuner *t);
/* Lines of the log that are no records: a run begins, a run ends (docs/records.md). */
tn_status tuner_log_start(tuner *t);
tn_status tuner_log_end(tuner *t, tn_status status);

/* ---- measuring (tune_measure.c) ---------------------------------------------------------------------------------- */

/* What is known of a schedule from now on, by a record that counts as a trial. */
tn_status tuner_learn(tuner *t, const tn_schedule *s, const autotune_record *record);
/* Beside the steps, which are what counts, the plan that they were made from: a search can go on from it. TEXT may be NULL. */
tn_status tuner_add_plan(tn_context *ctx, autotune_record *record, const char *text);
/* Reads what was appended to the log since the last time. */
tn_status tuner_catch_up(tuner *t);
/* Has the reference made, and learns what the default schedule takes, where the runner can do that beforehand. */
tn_status tuner_prepare(tuner *t);
/* Measures the schedules of a round until the run is done. */
tn_status tuner_measure_round(tuner *t, int n, tn_schedule *const *schedules);

/* ---- finals (finals.c) ------------------------------------------------------------------------------------------- */

/* Times the fastest and the generic schedule again, in turns, and names the winner. Nothing happens when there is only one. */
tn_status tuner_finals(tuner *t);

/* Finalists as numbers: what decides. Times are medians of turns. */
typedef struct finals_entry {
  int n_steps; /* how complex the schedule is */
  int n;       /* turns so far */
  double turns[32];
  bool is_out;
  double p25_s, median_s, p75_s; /* of the turns */
} finals_entry;
/* Works out the quartiles, and takes out who is surely slower than the leader. Returns how many are left. */
int finals_judge(finals_entry *entries, int n);
/* The winner's index: the fastest of those left or, among those as good as it, the simplest. *IS_TIE: there were some. */
int finals_winner(const finals_entry *entries, int n, bool *is_tie);

#endif
