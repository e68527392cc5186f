/* tuner.h: a run of tn_tune as its parts see it: rounds of candidates on their way through builder and
 * runner (pipeline.c, one_by_one.c), what is recorded and known of them (tune_measure.c), what is reported
 * and when it ends (tune_tell.c), the finals (finals.c), and the whole (tune.c). A run of tn_tune_tasks is
 * several tuners that take turns (tasks.c). */
#ifndef TENON_AUTOTUNE_TUNER_H
#define TENON_AUTOTUNE_TUNER_H

#include "autotune/search.h"
#include "runtime/profiler/profiler.h"

/* Schedules that take part in the finals even when faster ones crowd them out of the list. */
typedef enum tuner_kept { TUNER_GENERIC, TUNER_OWN, TUNER_N_KEPT } tuner_kept;

enum {
  TUNER_MOST_FINALISTS = 15 /* that can be asked for */,
  TUNER_MAX_FINALISTS = TUNER_MOST_FINALISTS + TUNER_N_KEPT,
  TUNER_ROUND = 24,       /* candidates of a round: the same for one machine and a few, for equal sequences */
  TUNER_FEW_MACHINES = 4, /* up to so many count as a few */
  TUNER_ROUND_OF_EACH = 2 /* where there are more: candidates for each machine after the first (docs/farm.md) */
};

/* A builder or runner as the pipeline sees it: jobs are submitted one by one, even if it only takes batches. */
typedef struct tuner_stage {
  void *self;
  tn_status (*submit)(void *self, tn_job *job);
  tn_status (*poll)(void *self, double wait_s, tn_job **done);
  /* Used in place of submit and poll when there are none: takes at most TOGETHER candidates, and runs
   * inside tuner_poll. */
  tn_status (*batch)(void *self, int n, const tn_candidate *candidates, tn_measurement *inout);
  int together;
  RUNTIME_VEC(tn_job *) waiting; /* for a batch; the first n_done are done */
  int n_done;
  int ahead; /* jobs that may be submitted at once */
} tuner_stage;

/* One of the fastest schedules known, from the log or from this run. Freed by tuner_top_free. */
typedef struct tuner_top {
  uint64_t hash; /* autotune_schedule_hash */
  char *steps;   /* JSON, malloc'ed */
  char *plan;    /* JSON, malloc'ed; NULL: none is known */
  int n_steps;
  double cost_s;
  void *object; /* what the builder made of it in this run, malloc'ed; NULL: not built in this run */
  size_t object_bytes;
} tuner_top;

void tuner_top_free(tuner_top *top);

/* One run, from tuner_open to tuner_close, which frees what it owns. */
typedef struct tuner {
  tn_context *ctx;
  tn_program *program;
  tn_tune_options options; /* defaults filled in */
  autotune_task task;
  autotune_model *model;
  bool owns_model; /* it is not another tuner's */
  autotune_search *search;
  tn_builder builder;
  tn_runner runner;
  tuner_stage build_stage, run_stage;
  bool shares_pool;   /* builder and runner are the same processes: polling one serves the other */
  bool takes_turns;   /* with other tuners, which share builder and runner */
  bool has_one_round; /* nothing is proposed while another round is measured, since the next turn may be far away */
  struct tuner_pipeline *pipeline;
  const char *target;
  autotune_fill fill; /* what the inputs hold */
  tn_tune_result result;
  int held; /* records of this task in the log, those of this run included */
  int held_failed;
  bool began_well; /* the context had no error before: one that it has now is this run's */
  uint64_t run_id; /* identifies its lines in the log: when it began */
  double weight;   /* of the task among others */
  uint64_t start_ns,
      deadline_ns;  /* when candidates end, later when finals end; 0: never. Turns of others move the start */
  uint64_t told_ns; /* when progress was last told */
  const char *phase;
  bool is_stopped;      /* the user's wish */
  bool has_finals_left; /* deadline_ns is that of the candidates: finals follow */
  uint64_t promised_ns; /* when everything has to be over; 0: no limit */
  bool winds_up;        /* what is under way is no longer wanted */
  uint64_t default_hash;
  tn_status visit_status;
  autotune_log_place read; /* how far the log was read */
  runtime_map measured;    /* hashes of the schedules that have records, from this run or before */
  autotune_claims claims;
  int n_top;
  tuner_top top[TUNER_MAX_FINALISTS + 1]; /* fastest first; one more place for the one that drops out */
  tuner_top kept[TUNER_N_KEPT];           /* hash 0: there is none; steps NULL: no valid time yet */
  double build_s;                         /* sum over all successful builds of this run */
  int n_built;
  int since_best;      /* trials of this run since the best was found */
  char *first_failure; /* message of this run's first failure, malloc'ed */
  bool fails_alike;    /* all trials of this run failed like the first */
} tuner;

/* ---- a run (tune.c) ---------------------------------------------------------------------------------------------- */

/* Checks the options and makes all that needs no workers; learns what the log holds. MODEL: one shared with
 * other tuners, who free it; NULL: makes its own. Call tuner_close in any case. */
tn_status tuner_open(tuner *t, tn_program *program, const tn_tune_options *options, autotune_model *model);
/* Without records of its own, a search begins with what the log knows of similar programs. A tuner that
 * takes turns asks before its second round, the first that draws candidates, so that what others of the
 * same run have measured by then counts, too. */
tn_status tuner_ask_neighbours(tuner *t);
/* Starts the workers, or takes the user's builder and runner. SHOULD_STOP(USER): as in tn_worker_options. */
tn_status tuner_start_workers(tuner *t, bool (*should_stop)(void *user), void *user);
/* Puts the state of the hosts into the result, and the end TN_TUNE_NO_WORKERS if STATUS says that none is left. */
void tuner_take_hosts(tuner *t, tn_status status);
/* The candidates of a round where the user does not say. Two rounds are under way at once. While the last
 * candidates of one are timed and the next but one is searched for and built, the round between them must
 * hold work for every machine twice. */
int tuner_usual_round(const tuner *t);
/* Uses the workers of FROM, which has to live longer. */
void tuner_borrow_workers(tuner *t, const tuner *from);
/* Saves the cost model if it has a file. */
void tuner_save_model(const tuner *t);
/* Frees builder and runner unless they are borrowed. */
void tuner_stop_workers(tuner *t);
void tuner_close(tuner *t);

/* ---- what is told, and when it ends (tune_tell.c) ---------------------------------------------------------------- */

double tuner_elapsed_s(const tuner *t);
/* Reports progress to the user's function, which may stop the run. PHASE: a static text. */
void tuner_tell(tuner *t, const char *phase);
/* Whether what is under way is to be given up: time is over, or the user wants it. Called many times a second. */
bool tuner_gives_up(tuner *t);
/* The same, with the type of tn_worker_options.should_stop. */
bool tuner_should_stop(void *t);
/* Whether no further candidate is to be measured; sets result.end. */
bool tuner_is_done(tuner *t);
/* Counts a failure in its class; keeps the first message of each class. */
void tuner_count_failure(tuner *t, tn_measure_error error, const char *message);
/* TN_ERROR_TUNE with the classes of failures if candidates were measured and none is valid. */
tn_status tuner_judge(tuner *t);
/* Writes lines that are no records: a run begins, a run ends (docs/records.md). */
tn_status tuner_log_start(tuner *t);
tn_status tuner_log_end(tuner *t, tn_status status);

/* For a run with a time limit: sets when candidates end, given the best time so far (tune.c). */
void tuner_set_deadline(tuner *t);

/* ---- measuring (tune_measure.c) ---------------------------------------------------------------------------------- */

/* Adds to a record the plan that its steps were made from, so that a later search can go on from it. TEXT
 * may be NULL. */
tn_status tuner_add_plan(tn_context *ctx, autotune_record *record, const char *text);
/* Reads what was appended to the log since the last call, and learns from what others measured. */
tn_status tuner_catch_up(tuner *t);
/* Has the reference made, and learns the default schedule's time where the runner can tell it beforehand. */
tn_status tuner_prepare(tuner *t);
/* Whether the schedule is to be measured here: no other tuner on the log does so now, or has done so. Give
 * *CLAIM, unless it is 0, back with autotune_unclaim. */
tn_status tuner_claim(tuner *t, const tn_schedule *s, uint64_t *claim, bool *is_wanted);
/* Fills in a candidate for its build, except for its sequence. The steps are malloc'ed. */
tn_status tuner_describe(tuner *t, const tn_schedule *s, tn_candidate *out);
/* Brings a candidate's best time and time limit up to date before its run. */
void tuner_before_run(const tuner *t, const tn_schedule *s, tn_candidate *candidate);
/* Records a measured candidate; one that was given up leaves no trace. *COST_S: what the search is to
 * learn, or NAN. The object may be moved out of the measurement. */
tn_status tuner_take(tuner *t, const tn_candidate *candidate, const tn_schedule *s, tn_measurement *m, double *cost_s);

/* ---- candidates on their way (pipeline.c, one_by_one.c) ---------------------------------------------------------- */

/* Makes the pipeline and begins to propose. */
tn_status tuner_begin_rounds(tuner *t);
/* Proposes, builds, runs and learns until the run is done, or for N rounds (0: no limit). */
tn_status tuner_run_rounds(tuner *t, int n);
/* Gives up what is under way, and frees the rounds. Returns STATUS, that of what went before, or what went
 * wrong now. */
tn_status tuner_end_rounds(tuner *t, tn_status status);
/* Frees what an error left of the rounds. Builders and runners may still write there, so end them first
 * (tuner_stop_workers). */
void tuner_free_rounds(tuner *t);
/* For code that computes for long to call now and then: hands out and takes jobs as far as possible without
 * waiting. USER: the tuner. */
void tuner_meanwhile(void *user);
/* Ends the event Round#k of the running session, if there is one. */
void tuner_end_round(void);
/* TN_ERROR_MEMORY when memory ran out in this run, which the search may have passed over. */
tn_status tuner_check_memory(const tuner *t);
tn_status tuner_submit(tuner_stage *stage, tn_job *job);
tn_status tuner_poll(tuner_stage *stage, double wait_s, tn_job **done);
/* Submits N candidates and polls until all are done. */
tn_status tuner_do_all(tuner_stage *stage, int n, const tn_candidate *candidates, tn_measurement *inout);
void tuner_stage_free(tuner_stage *stage);

/* ---- finals (finals.c) ------------------------------------------------------------------------------------------- */

/* Times the fastest, the program's own and the generic schedule again, in turns, and names the winner.
 * Nothing happens with only one finalist. */
tn_status tuner_finals(tuner *t);
/* The seconds that all finals take, roughly; INFINITY while no time is known. */
double tuner_finals_need_s(const tuner *t);

/* A finalist as the numbers that decide. */
typedef struct finals_entry {
  int n_steps;      /* how complex the schedule is: fewer is simpler */
  bool is_generic;  /* the simplest of all */
  int n;            /* turns so far */
  double turns[32]; /* the least time of each turn */
  bool is_out;
  double short_s;                /* how long its short turns take, by which it is judged */
  double p25_s, median_s, p75_s; /* of the turns */
} finals_entry;
/* Works out the quartiles, and takes out finalists that are surely slower than the leader. Returns how many
 * are left. */
int finals_judge(finals_entry *entries, int n);
/* The winner's index: the fastest of those left, or the simplest of those that are as good. *IS_TIE: others
 * cannot be told from the fastest. */
int finals_winner(const finals_entry *entries, int n, bool *is_tie);

#endif
