/* tuner.h: a run of tn_tune as its parts see it: rounds of candidates on their way through builder and runner
 * (pipeline.c, one_by_one.c), what is recorded and known of them (tune_measure.c), what is told and when it ends
 * (tune_tell.c), the finals (finals.c), and all of it together (tune.c). A run of tn_tune_tasks is several of them that take
 * turns (tasks.c). */
#ifndef TENON_AUTOTUNE_TUNER_H
#define TENON_AUTOTUNE_TUNER_H

#include "autotune/search.h"
#include "runtime/profiler/profiler.h"

/* Schedules that take part in the finals even when others crowd them out. */
typedef enum tuner_kept { TUNER_GENERIC, TUNER_OWN, TUNER_N_KEPT } tuner_kept;

enum {
  TUNER_MOST_FINALISTS = 15 /* that can be asked for */,
  TUNER_MAX_FINALISTS = TUNER_MOST_FINALISTS + TUNER_N_KEPT,
  TUNER_ROUND = 24,       /* candidates of a round: one seed, one sequence, for a few machines as for one */
  TUNER_FEW_MACHINES = 4, /* that time */
  TUNER_ROUND_OF_EACH = 2 /* more for each further machine where there are more: docs/farm.md */
};

/* A builder or a runner as the pipeline sees it: jobs one by one, whatever it offers. */
typedef struct tuner_stage {
  void *self;
  tn_status (*submit)(void *self, tn_job *job);
  tn_status (*poll)(void *self, double wait_s, tn_job **done);
  /* In place of both: a batch of at most TOGETHER, done when somebody polls. */
  tn_status (*batch)(void *self, int n, const tn_candidate *candidates, tn_measurement *inout);
  int together;
  RUNTIME_VEC(tn_job *) waiting; /* for a batch; the first n_done of them are done */
  int n_done;
  int ahead; /* jobs submitted at once */
} tuner_stage;

/* One of the fastest schedules known, from the log or from this run. */
typedef struct tuner_top {
  uint64_t hash; /* autotune_schedule_hash */
  char *steps;   /* JSON, malloc'ed */
  char *plan;    /* JSON, malloc'ed; NULL: it says none */
  int n_steps;
  double cost_s;
  void *object; /* what the builder made of it in this run, malloc'ed; NULL: it comes from the log */
  size_t object_bytes;
} tuner_top;

void tuner_top_free(tuner_top *top);

typedef struct tuner {
  tn_context *ctx;
  tn_program *program;
  tn_tune_options options; /* defaults filled in */
  autotune_task task;
  autotune_model *model;
  bool owns_model; /* no other tuner learns from it */
  autotune_search *search;
  tn_builder builder;
  tn_runner runner;
  tuner_stage build_stage, run_stage;
  bool shares_pool;   /* both are worker processes: polling one serves the other */
  bool takes_turns;   /* with other tuners, whose builder and runner these are, too */
  bool has_one_round; /* none is proposed while another is measured: the next turn may be far away */
  struct tuner_pipeline *pipeline;
  const char *target;
  autotune_fill fill; /* what the inputs hold */
  tn_tune_result result;
  int held; /* records of this task in the log */
  int held_failed;
  bool began_well; /* the context had no error: one that it has now is this run's */
  uint64_t run_id; /* of its lines in the log: when it began */
  double weight;   /* of the task among others */
  uint64_t start_ns,
      deadline_ns;  /* when candidates end, later when finals end; 0: never. Turns of others move the start */
  uint64_t told_ns; /* when progress was last told */
  const char *phase;
  bool is_stopped;      /* the user's word */
  bool has_finals_left; /* time that is over is that of the candidates */
  uint64_t promised_ns; /* when all is over; 0: no such limit */
  bool winds_up;        /* what is under way is not wanted any more */
  uint64_t default_hash;
  tn_status visit_status;
  autotune_log_place read; /* how far the log was read */
  runtime_map measured;    /* hashes of the schedules that it has records of, this run's too */
  autotune_claims claims;
  int n_top;
  tuner_top top[TUNER_MAX_FINALISTS + 1]; /* fastest first; room for one that is about to leave */
  tuner_top kept[TUNER_N_KEPT];           /* hash 0: there is none; steps NULL: not measured and right yet */
  double build_s;                         /* of all successful builds of this run */
  int n_built;
  int since_best;      /* trials of this run since the best was found */
  char *first_failure; /* message of this run's first failure, malloc'ed */
  bool fails_alike;    /* all trials of this run failed like the first */
} tuner;

/* ---- a run (tune.c) ---------------------------------------------------------------------------------------------- */

/* Checks the options, and makes all that needs no workers: what the log holds is learned. MODEL: what it shares with other
 * tuners, who free it; NULL: its own. To be closed in any case. */
tn_status tuner_open(tuner *t, tn_program *program, const tn_tune_options *options, autotune_model *model);
/* Without records of its own a search begins with what the log knows of programs like this one. Who takes turns asks at the
 * second one, the first that draws: what others of the same run have measured until then counts, too. */
tn_status tuner_ask_neighbours(tuner *t);
/* Takes the workers, or the user's builder and runner. SHOULD_STOP(USER) as of tn_worker_options. */
tn_status tuner_start_workers(tuner *t, bool (*should_stop)(void *user), void *user);
/* Into the result: how the hosts fare, and STATUS where it says that none is left. */
void tuner_take_hosts(tuner *t, tn_status status);
/* Candidates of a round, where the user does not say: two rounds are under way, and while the last candidates of one are timed and
 * the one after the next is searched for and built, the next one has to hold work for everybody twice. */
int tuner_usual_round(const tuner *t);
/* Takes those of another tuner, which has to live longer. */
void tuner_borrow_workers(tuner *t, const tuner *from);
/* Where its cost model is to be kept. */
void tuner_save_model(const tuner *t);
/* Those that it has not borrowed. */
void tuner_stop_workers(tuner *t);
void tuner_close(tuner *t);

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

/* Where the run has a limit of time: when candidates end, by the best time so far (tune.c). */
void tuner_set_deadline(tuner *t);

/* ---- measuring (tune_measure.c) ---------------------------------------------------------------------------------- */

/* Beside the steps, which are what counts, the plan that they were made from: a search can go on from it. TEXT may be NULL. */
tn_status tuner_add_plan(tn_context *ctx, autotune_record *record, const char *text);
/* Reads what was appended to the log since the last time, and learns from what others have. */
tn_status tuner_catch_up(tuner *t);
/* Has the reference made, and learns what the default schedule takes, where the runner can do that beforehand. */
tn_status tuner_prepare(tuner *t);
/* Whether the schedule is to be measured here: no other tuner on the log does so now, or has. *CLAIM, if it is not 0, is to be
 * given back by autotune_unclaim. */
tn_status tuner_claim(tuner *t, const tn_schedule *s, uint64_t *claim, bool *is_wanted);
/* Fills a candidate in for its build, but for its sequence. Its steps are malloc'ed. */
tn_status tuner_describe(tuner *t, const tn_schedule *s, tn_candidate *out);
/* Brings best time and limit up to date before its run. */
void tuner_before_run(const tuner *t, const tn_schedule *s, tn_candidate *candidate);
/* Records a measured candidate; one that was given up leaves no trace. *COST_S: what the search is to learn; NAN: nothing. The
 * object may be taken out of the measurement. */
tn_status tuner_take(tuner *t, const tn_candidate *candidate, const tn_schedule *s, tn_measurement *m, double *cost_s);

/* ---- candidates on their way (pipeline.c, one_by_one.c) ---------------------------------------------------------- */

/* Begins to propose. */
tn_status tuner_begin_rounds(tuner *t);
/* Proposes, builds, runs and learns until the run is done, or N more rounds are (0: no such limit). */
tn_status tuner_run_rounds(tuner *t, int n);
/* Gives up what is under way, and frees the rounds. STATUS of what was done before; returns that, or what went wrong now. */
tn_status tuner_end_rounds(tuner *t, tn_status status);
/* What an error left of them. Builders and runners may still write to that: they are freed before (tuner_stop_workers). */
void tuner_free_rounds(tuner *t);
/* To be called now and then by who computes for long: hands out and takes what can be, without waiting. USER: the tuner. */
void tuner_meanwhile(void *user);
/* An event Round#k of the running session, if there is one. */
void tuner_end_round(void);
/* TN_ERROR_MEMORY when memory ran out in this run, which the search may have passed over. */
tn_status tuner_check_memory(const tuner *t);
tn_status tuner_submit(tuner_stage *stage, tn_job *job);
tn_status tuner_poll(tuner_stage *stage, double wait_s, tn_job **done);
/* Submits N candidates and polls until all are done. */
tn_status tuner_do_all(tuner_stage *stage, int n, const tn_candidate *candidates, tn_measurement *inout);
void tuner_stage_free(tuner_stage *stage);

/* ---- finals (finals.c) ------------------------------------------------------------------------------------------- */

/* Times the fastest, the program's own and the generic schedule again, in turns, and names the winner. Nothing happens when there is
 * only one. */
tn_status tuner_finals(tuner *t);
/* Seconds that all their turns take, more or less; INFINITY while no time is known. */
double tuner_finals_need_s(const tuner *t);

/* Finalists as numbers: what decides. */
typedef struct finals_entry {
  int n_steps;      /* how complex the schedule is */
  bool is_generic;  /* the simplest of all */
  int n;            /* turns so far */
  double turns[32]; /* the least time of each */
  bool is_out;
  double short_s;                /* what the short turns take, by which it is judged */
  double p25_s, median_s, p75_s; /* of the turns */
} finals_entry;
/* Works out the quartiles, and takes out who is surely slower than the leader. Returns how many are left. */
int finals_judge(finals_entry *entries, int n);
/* The winner's index: the fastest of those left or, among those as good as it, the simplest. *IS_TIE: others cannot be told
 * apart from the fastest. */
int finals_winner(const finals_entry *entries, int n, bool *is_tie);

#endif
