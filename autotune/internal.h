/* internal.h: what the tuner's files know of each other: the task, the search, features, the cost model, records. */
#ifndef TENON_AUTOTUNE_INTERNAL_H
#define TENON_AUTOTUNE_INTERNAL_H

#include <jansson.h>
#include <sys/types.h>

#include "autotune/autotune.h"
#include "runtime/profiler/profiler.h"
#include "schedule/state.h"

/* A callback that long computations make many times a second, so that workers get their next jobs. CALL NULL: none. */
typedef struct autotune_meanwhile {
  void (*call)(void *user);
  void *user;
} autotune_meanwhile;

/* Makes that callback: called now and then inside long computations, so that measurements go on meanwhile. */
static inline void autotune_give_a_moment(const autotune_meanwhile *m) {
  if (m->call) m->call(m->user);
}

/* What is searched for, and on which machine. Nothing is owned. */
typedef struct autotune_task {
  tn_context *ctx;
  tn_program *program;
  const tn_target *target;
  int threads; /* cores that a parallel loop gets */
  int vector_bytes;
  int cache_line_bytes; /* 64 */
  int n_rules;
  const tn_sketch_rule *rules; /* the user's own */
  autotune_meanwhile meanwhile;
} autotune_task;

/* The task's machine, as generic schedules take it. */
tn_machine autotune_machine(const autotune_task *task);

/* In recordings, an arrow connects a candidate's events: from its submission, to its measurement in the
 * worker, to learning from it. The arrow's id is the candidate's sequence number. */
extern const tn_site autotune_flow_site;
#define AUTOTUNE_FLOW "candidate"

/* ---- features (feature.c): one row for each written buffer, from lowered loop IR before the passes --------------- */

/* Floats of a row (docs/features.md), and the most rows of a program: further buffers are left out. */
enum { AUTOTUNE_FEATURES = 176, AUTOTUNE_MAX_ROWS = 32 };

/* An estimate of lowered loops before they are compiled (feature_estimate.c). */
typedef struct autotune_estimate {
  double work;        /* vector instructions, of all threads */
  double statements;  /* of straight-line code, once loops are unrolled and peeled: what LLVM has to compile */
  double code, words; /* instructions of that code, and those where the elements of a vector take one each */
  double ns;          /* of one run: the larger of work and memory, roughly */
} autotune_estimate;

/* Fills at most AUTOTUNE_MAX_ROWS rows of AUTOTUNE_FEATURES floats and returns how many; 0: nothing is
 * written; -1: no memory. The first 164 are Ansor's per-store features in TVM's order, followed by 12 of
 * our own; autotune/feature.h names them all. The last four are 0 until autotune_rows_set_cost. ESTIMATE
 * may be NULL. All of MACHINE has to be known. */
int autotune_features(const tir_func *lowered, int cache_line_bytes, const tn_machine *machine, float *rows,
                      autotune_estimate *estimate);
/* Writes into a program's rows what its plan costs, in relation to the cost of `auto`. */
void autotune_rows_set_cost(int n, float *rows, const autotune_estimate *estimate, double cost_ns, double auto_ns);
/* The first guess at a program's score, from one of its rows. 1: as good as `auto`; 0: nothing is known. */
float autotune_cost_share(const float *row);

/* ---- cost model (model.c): XGBoost with the pack-sum objective, on top of the analytic cost ----------------------- */

typedef struct autotune_model autotune_model;
/* XGBoost is loaded when it is first needed. THREADS: how many training may use. NULL with a message. */
TN_GIVE autotune_model *autotune_model_new(tn_context *ctx, uint64_t seed, int threads);
void autotune_model_free(TN_TAKE autotune_model *model);
/* MEANWHILE is called between rounds of training, so that measuring does not wait for it. */
void autotune_model_set_meanwhile(autotune_model *model, autotune_meanwhile meanwhile);
/* Begins a task and returns its number. Programs are compared only with others of the same task, so that
 * one model serves several tasks. */
int autotune_model_begin_task(autotune_model *model);
/* Adds a measured program: its task (0 where none was begun), its rows, which are copied, and its cost in
 * seconds (INFINITY: failed). */
tn_status autotune_model_add(autotune_model *model, int task, const float *rows, int n_rows, double cost_s);
/* Rows that the next training will use. Their number is bounded: among many programs the fastest and the
 * newest are kept. */
int autotune_model_n_rows(const autotune_model *model);
/* Trains on all that was added: how measured times compare with the analytic costs. Before the first
 * training, predict uses the analytic costs alone. */
tn_status autotune_model_train(autotune_model *model);
/* Trains if the programs added since the last training are an eighth or more of those that it used. So all
 * trainings of a long run together take no longer than a few over all programs. */
tn_status autotune_model_refresh(autotune_model *model);
bool autotune_model_is_trained(const autotune_model *model);
/* Whether it answers from its trees as they were read (trees.h), or asks XGBoost. */
bool autotune_model_has_trees(const autotune_model *model);
/* XGBoost is loaded by the first training. If it is absent, too old or fails, a warning says so and there
 * is no model from then on: training does nothing, and scores are analytic costs. set_library: LIBRARY,
 * which the caller keeps, is loaded in place of the usual names. turn_off: there is no model at all. */
void autotune_model_set_library(autotune_model *model, const char *library);
void autotune_model_turn_off(autotune_model *model);
/* Saves what was trained, or loads it in place of a first training. False: there is nothing to save, the
 * file cannot be written or read, or it has other features (which is a warning). */
bool autotune_model_save(autotune_model *model, const char *path);
bool autotune_model_load(autotune_model *model, const char *path);
/* Program c has the rows [first_row[c], first_row[c+1]) of ROWS. Higher scores are faster, about best/cost.
 * A program without rows scores -INFINITY. */
tn_status autotune_model_predict(autotune_model *model, int n, const int *first_row, const float *rows, float *scores);

/* ---- search (sketch.c, sample.c, evolve.c, search.c) ------------------------------------------------------------- */

typedef struct autotune_search autotune_search;
/* TASK and MODEL must outlive the search. Equal seeds give equal choices. NULL with a message. */
TN_GIVE autotune_search *autotune_search_new(const autotune_task *task, autotune_model *model, uint64_t seed);
void autotune_search_free(TN_TAKE autotune_search *search);
/* Zero leaves a choice as it is; a negative EPS: no candidate is random. */
typedef struct autotune_policy {
  int population, generations;
  double eps; /* part of the candidates that is random */
  bool no_sketches;
  double mutated, crossed; /* parts of a generation; the rest are copies */
} autotune_policy;
void autotune_search_set_policy(autotune_search *search, const autotune_policy *policy);
/* Proposes up to N schedules that were not proposed or observed before. The first ones of a new search are
 * the default schedule, the program's own, if any, and the generic one. The caller frees them. Fewer than
 * N: the space is nearly exhausted; 0: it is. */
int autotune_search_next(autotune_search *search, int n, tn_schedule **out);
/* The number in recordings of the I-th schedule of the last autotune_search_next; 0: it is not recorded. */
uint32_t autotune_search_sequence(const autotune_search *search, int i);
/* Tells a result, from measuring or from the log. COST_S INFINITY: it failed. The schedule itself is not kept. */
tn_status autotune_search_observe(autotune_search *search, const tn_schedule *schedule, double cost_s);
/* Building SCHEDULE took too long: nothing that makes as much code is proposed from now on. */
void autotune_search_too_long(autotune_search *search, const tn_schedule *schedule);
/* The generic schedule of the task's program for its machine; NULL: it was refused. */
TN_GIVE tn_schedule *autotune_generic_schedule(const autotune_task *task);
/* The schedule of the program's own `schedule { }` blocks. NULL: it has none, or the message says what was refused. */
TN_GIVE tn_schedule *autotune_own_schedule(const autotune_task *task);
/* Whether a record's plans, as JSON, fit the program. TN_OK, or TN_ERROR_RECORD with a message that names the field. */
tn_status autotune_search_check_plan(const autotune_search *search, const char *text);
/* Takes the plans of a similar program (neighbour.c), fitted to this one's sizes, as parents of what is
 * proposed. Plans that do not fit are left out. */
void autotune_search_advise(autotune_search *search, const char *plan);
/* Does the same with the fastest plan of each neighbour. It also corrects the costs of this program's plans
 * by how the neighbours' measured times compare with their analytic costs. */
struct autotune_neighbour;
void autotune_search_learn(autotune_search *search, int n, const struct autotune_neighbour *near);
/* Whether it has plans of neighbours to begin with. Then the default schedule is the last of the first
 * round and not the first. */
bool autotune_search_is_advised(const autotune_search *search);
/* A hash of a schedule's loop structure: equal for schedules that lower alike up to loops of extent 1. */
uint64_t autotune_schedule_hash(const tn_schedule *s);

/* ---- the inputs' data (fill.c) ----------------------------------------------------------------------------------- */

/* What a task's inputs hold: lines "NAME=HOW", of which the first N_FILES name temporary files. Zero-initialise. */
typedef struct autotune_fill {
  char *text; /* NULL: nothing is given */
  int n_files;
} autotune_fill;
/* Writes the arrays to files and checks names, kinds and files. Has to be closed in any case. */
tn_status autotune_fill_open(const tn_program *program, const char *lines, const tn_task_input *inputs, int n_inputs,
                             autotune_fill *out);
void autotune_fill_close(autotune_fill *fill);
/* TN_OK, or TN_ERROR_ARGUMENT or TN_ERROR_IO with the line and what is wrong with it. */
tn_status autotune_fill_check(const tn_program *program, const char *fill);
/* Whether there is a line for the input. */
bool autotune_fill_names(const char *fill, const char *name);
/* Fills the input's array as its line says. There must be one. */
tn_status autotune_fill_input(tn_context *ctx, const char *fill, const char *name, DLTensor *array, uint64_t seed);

/* ---- records (record.c) ------------------------------------------------------------------------------------------ */

/* One line of a log (docs/records.md). Strings and json belong to the record. */
typedef struct autotune_record {
  json_t *json;                                 /* the whole line: unknown fields survive a rewrite */
  const char *program, *key, *target, *message; /* borrowed from json */
  json_t *steps;                                /* borrowed */
  tn_measure_error error;
  int n_costs;
  double costs[TN_MAX_COSTS];
  bool checked;
  bool is_final; /* a finalist's: no trial */
  int rank;      /* of a finalist; 1: the winner */
  double max_error, build_s, run_s;
  uint64_t seed;
  int64_t time_s; /* unix */
} autotune_record;

/* Makes a record from a measurement. One without an error and without a usable cost becomes TN_MEASURE_UNKNOWN. */
tn_status autotune_record_make(tn_context *ctx, const tn_candidate *candidate, const tn_program *program,
                               const tn_target *target, const tn_measurement *measured, autotune_record *out);
/* Whether a record may have a field of that name with that kind of value: '"', '[', '{', 'i', 'f', 't'
 * (true or false) or 'n' (null). */
bool autotune_record_takes(const char *name, size_t n, char kind);
void autotune_record_free(autotune_record *record);
double autotune_record_cost(const autotune_record *record); /* median of costs; INFINITY when failed */

/* The candidates that this tuner is measuring now. A claim is a lock on one byte far behind the end of the
 * log, so it ends with the process, however that ends. Initialise with AUTOTUNE_NO_CLAIMS. Each close of a
 * file makes the kernel walk over all claims on it, so reading and appending use this descriptor, too. */
typedef struct autotune_claims {
  int fd; /* the log; -1: not open */
} autotune_claims;
#define AUTOTUNE_NO_CLAIMS ((autotune_claims){-1})

/* Whether records could be appended at PATH; nothing is created. TN_ERROR_IO with the reason: also when it
 * is no regular file, or another process keeps it locked. */
tn_status autotune_log_check(tn_context *ctx, const char *path);
/* Appends one complete line with one write under a lock. If a killed process left a last line without its
 * newline, the newline comes first. If the disk is full, what was written of the line is removed again. */
tn_status autotune_record_append(tn_context *ctx, const char *path, const autotune_record *record);
/* The same through the descriptor of the claims, if that is still the log's. */
tn_status autotune_record_append_held(tn_context *ctx, const char *path, const autotune_claims *claims,
                                      const autotune_record *record);
/* What a log knows of a similar program: one whose text differs only in numbers, or the same one on another machine. */
typedef struct autotune_neighbour {
  double distance; /* factors of two between the numbers, added up */
  double cost_s;   /* of the best record */
  bool is_other_machine;
  char sizes[64]; /* "512x512x64": the extents of its axes */
  char *plan;     /* of the best record; JSON, malloc'ed, as are the texts below */
  char *program, *target;
  int n_trials;
  struct autotune_known {
    double cost_s;
    char *plan;
  } *trials; /* the fastest first, failures left out */
} autotune_neighbour;
/* The programs of LOG that are similar to PROGRAM, at most MAX, the nearest first, with at most TRIALS trials of each.
 * A missing log has none. Lines that are no records are skipped. */
tn_status autotune_neighbours(tn_program *program, const tn_target *target, const char *log, int max, int trials,
                              autotune_neighbour *out, int *n_out);
void autotune_neighbours_free(int n, autotune_neighbour *neighbours);

/* How far a log was read. Zero-initialise. */
typedef struct autotune_log_place {
  dev_t device;
  ino_t file; /* a log that was replaced is read from its beginning */
  off_t offset;
  int line; /* lines before OFFSET */
} autotune_log_place;

/* ---- several tuners on one log (log_claim.c) --------------------------------------------------------------------- */

/* False: another tuner is measuring the candidate with this hash on the log at PATH. Creates the log. Where
 * files cannot be locked, everything can be claimed. */
bool autotune_claim(autotune_claims *claims, const char *path, uint64_t hash);
void autotune_unclaim(autotune_claims *claims, uint64_t hash);
void autotune_claims_free(autotune_claims *claims);

/* The error class of a word in records. False: there is none. */
bool autotune_parse_error(const char *word, tn_measure_error *out);
/* Takes a record from a parsed line, whose reference it takes over. False: *WHY says what is wrong, and
 * JSON is freed. */
bool autotune_record_parse(json_t *json, autotune_record *out, char *why, size_t n_why);
/* The value of the word "key=value" in a target's text. False: it has no such word. */
bool autotune_target_word(const char *target, const char *key, char *value, size_t n);
/* Whether triple, CPU and threads are the same. */
bool autotune_same_target(const char *a, const char *b);

#endif
