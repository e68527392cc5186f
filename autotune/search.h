/* search.h: the parts of the search as they see each other.
 *
 * What is searched are plans of the whole program, written as genomes: a plan for each group
 * (schedule/plan.h), or one plan of the general family `sketch` for the whole program. A sketch is a
 * structure: a list of steps in which the lengths of some splits (its holes) are open. Its genome fills the
 * holes and makes the remaining choices: where to compute, how wide to vectorize, how much to run in
 * parallel, what to unroll. A genome becomes a schedule by calling the primitives, so whatever mutation and
 * crossover produce is checked like a user's call. Records hold genomes as text beside the steps; that is
 * how a log supplies parents. Source: Ansor's sketches and annotations (Zheng et al., OSDI'20); plans, and
 * genomes instead of edited step lists, are ours. */
#ifndef TENON_AUTOTUNE_SEARCH_H
#define TENON_AUTOTUNE_SEARCH_H

#include "autotune/internal.h"
#include "schedule/analysis.h"
#include "schedule/plan.h"

enum {
  AUTOTUNE_MAX_HOLES = 48,    /* open splits of a sketch; a stage that would need more is left untiled */
  AUTOTUNE_MAX_STAGES = 48,   /* stages with choices of their own, cache stages included */
  AUTOTUNE_MAX_SKETCHES = 96, /* structures beyond this many are not looked at */
  AUTOTUNE_LENGTHS = 3,       /* open lengths of a spatial split: SSRSRS has four spatial levels */
  AUTOTUNE_MAX_GROUPS = 32,   /* of a program that is searched by plans */
  AUTOTUNE_PLANNED = -1,      /* instead of a sketch: a plan for each group */
  AUTOTUNE_RANKED = 16,       /* plans of one family for one group that are kept in order */
  AUTOTUNE_MAX_VECTOR = 64,   /* longest vectorized loop */
  AUTOTUNE_VECTOR_REGISTERS = 32
};

/* ---- sketches (sketch.c) ----------------------------------------------------------------------------------------- */

/* A split whose lengths are left open. */
typedef struct autotune_hole {
  int16_t step;      /* index of its split (SP) among the sketch's steps */
  int16_t stage;     /* position in the finished sketch */
  int16_t follows;   /* the hole whose lengths decide these (a fused consumer's split), or -1 */
  int16_t n_lengths; /* open lengths of the split: one loop fewer than it makes */
  bool is_reduce;
  bool is_vector; /* a data axis: its innermost loop is vectorized; a reduction: its inner part becomes a vector axis */
  bool parts;     /* a reduction: its outermost loop is divided among threads */
  bool is_own;    /* a user's rule left it open */
  int64_t extent;
} autotune_hole;

/* How the search treats a stage of a sketch. */
typedef enum autotune_role {
  AUTOTUNE_PLAIN,    /* its place, vectorizing and unrolling are chosen */
  AUTOTUNE_TILED,    /* split by the sketch */
  AUTOTUNE_CONSUMER, /* split like the tiled stage computed inside it */
  AUTOTUNE_PACKED,   /* a copy of an input's panel, computed inside the consumer's outermost level */
  AUTOTUNE_OWN       /* a user's rule scheduled it: threads and unrolling are chosen where it says nothing */
} autotune_role;

/* One structure for the whole program. Whoever asked for sketches frees each BASE. */
typedef struct autotune_sketch {
  tn_schedule *base; /* the schedule with all open lengths 1 */
  int n_holes;
  autotune_hole holes[AUTOTUNE_MAX_HOLES];
  uint8_t roles[AUTOTUNE_MAX_STAGES]; /* autotune_role by stage position */
  bool is_own;                        /* a user's rule took part */
} autotune_sketch;

/* Applies the rules from the last stage to the first, the task's own rules before the built-in ones.
 * Returns the number of sketches (1 to MAX), or -1 without memory. The caller frees each base. */
int autotune_sketches(const autotune_task *task, int max, autotune_sketch *out);
/* Applies a user's rule to a stage (sketch_own.c). False: the rule or a primitive refused, or memory ran
 * out. The caller frees TO's base. */
bool autotune_apply_own(const autotune_sketch *from, const tn_sketch_rule *rule, int stage, autotune_sketch *to);

/* ---- genomes (genome.c) ------------------------------------------------------------------------------------------ */

/* The open lengths of one hole. */
typedef struct autotune_tile {
  int32_t length[AUTOTUNE_LENGTHS]; /* outer to inner; unused ones are 1 */
  int32_t tail;                     /* tn_tail, where they do not divide */
} autotune_tile;

/* For each stage, indices into tables of values; LOCATION is reduced modulo the number of places. X(name,
 * number of values) */
#define AUTOTUNE_CHOICES(X)                                                                             \
  X(location, 32)    /* plain stages: 0 root, 1 inline, then loops of the consumers, outermost first */ \
  X(vector, 5)       /* lanes of untiled loops (genome.c) */                                            \
  X(parallel, 6)     /* iterations for each thread (genome.c) */                                        \
  X(unroll, 4)       /* auto_unroll_max_step (genome.c) */                                              \
  X(unroll_inner, 2) /* tiled: whether the innermost tile is unrolled explicitly */

typedef struct autotune_choice {
#define X(name, n) uint8_t name;
  AUTOTUNE_CHOICES(X)
#undef X
} autotune_choice;

/* A group's plan (schedule/plan.h) without its cost. */
typedef struct autotune_plan {
  int32_t family; /* -1: the group has none */
  int32_t value[PLAN_MAX_FIELDS];
} autotune_plan;

/* What mutation and crossover work on: the open choices of a sketch, or plans. Genomes are compared and
 * hashed as bytes, so zero one before filling it. */
typedef struct autotune_genome {
  int32_t sketch; /* an index, or AUTOTUNE_PLANNED: then plans are used */
  union {
    struct {
      autotune_tile tiles[AUTOTUNE_MAX_HOLES];
      autotune_choice choices[AUTOTUNE_MAX_STAGES];
    };
    autotune_plan plans[AUTOTUNE_MAX_GROUPS]; /* by group */
  };
} autotune_genome;

/* The best plans of one family for one group, the cheapest first. */
typedef struct autotune_ranked {
  int group, n;
  schedule_plan plans[AUTOTUNE_RANKED];
} autotune_ranked;

/* What similar programs teach about the costs of plans (lesson.h). PART is NULL when they teach nothing. */
typedef struct autotune_lessons {
  double *part;       /* logarithms of factors, indexed by places */
  runtime_map places; /* hash of a part of a plan -> index into part, plus one */
  double of_auto;     /* the factor of the plans of `auto`, to which others are relative */
  double trust;       /* how much of it is believed, from 0 to 1 */
  bool is_off;        /* costs are asked for without the lessons */
} autotune_lessons;

/* The search space of one task. Owned by its search; freed by autotune_space_release. */
typedef struct autotune_space {
  const autotune_task *task;
  bool only_plans; /* draw no sketches where there are plans */
  int n_sketches;
  autotune_sketch sketches[AUTOTUNE_MAX_SKETCHES];
  schedule_plans *plans; /* the same plans that `auto` ranks; NULL: none */
  int n_groups;          /* 0 without plans, or if a genome has no room for so many */
  RUNTIME_VEC(autotune_ranked) ranked;
  autotune_genome best; /* the plans that `auto` takes */
  autotune_lessons lessons;
  /* What candidates are compared with before they are measured (foresee.c). */
  tn_machine machine; /* with every cost known */
  double auto_ns;     /* the analytic cost of the plans of `auto` */
  double scale;       /* from an estimate of loops to the cost of plans */
  double least_work;  /* the fewest vector instructions that any schedule needs */
  double statements;  /* statements in the code of `auto` */
  double flash_bytes; /* the most that code may take; 0: no limit */
  bool is_in_words;   /* the target splits vectors into words */
  double too_many;    /* statements from which on LLVM took too long in this run; 0: none so far */
} autotune_space;

/* Fills in sketches, plans and what they are compared with. False: no memory; release it in either case. */
bool autotune_space_fill(autotune_space *space);
void autotune_space_release(autotune_space *space);

/* The schedule of a genome; NULL where a primitive refuses (the message stays in the context). The caller frees it. */
TN_GIVE tn_schedule *autotune_genome_schedule(const autotune_space *space, const autotune_genome *genome);
/* The schedule of a genome of a sketch (genome.c), of one of plans (planned.c). */
tn_schedule *autotune_sketch_schedule(const autotune_space *space, const autotune_genome *genome);
TN_GIVE tn_schedule *autotune_planned_schedule(const autotune_space *space, const autotune_genome *genome);

/* ---- plans (planned.c) ------------------------------------------------------------------------------------------- */

/* Fills the space's plans for the task's machine. False: no memory. */
bool autotune_plan_space(autotune_space *space);
/* The plans of a genome as schedule/plan.h has them, and back. */
void autotune_genome_plans(const autotune_space *space, const autotune_genome *genome, schedule_plan *by_group);
void autotune_plans_genome(const autotune_space *space, const schedule_plan *by_group, autotune_genome *out);
/* Puts PLAN in place of one group's plan. */
void autotune_plan_put(autotune_genome *genome, int group, const schedule_plan *plan);
/* Draws plans near the best-ranked ones. */
void autotune_sample_plans(const autotune_space *space, runtime_rng *rng, autotune_genome *out);
/* Changes one field of one group, or chooses another plan of any family for it. False: there is nothing
 * else to choose. */
bool autotune_mutate_plans(const autotune_space *space, runtime_rng *rng, autotune_genome *genome);
/* Sets fields of plans that have no effect to one value, so that equal schedules have equal genomes.
 * Genomes of sketches are left alone. */
void autotune_normalize(const autotune_space *space, autotune_genome *genome);
void autotune_cross_plans(const autotune_genome *a, const autotune_genome *b, runtime_rng *rng, autotune_genome *out);

/* ---- genomes as text (plan_text.c) ------------------------------------------------------------------------------- */

/* A genome as JSON, as it stands in records (docs/records.md): an array with an object for each group, or
 * with one object of family `sketch`. NULL: no memory. The caller frees it. */
char *autotune_genome_text(const autotune_space *space, const autotune_genome *genome);
/* TN_ERROR_RECORD: the text does not fit the program; the message names the field. */
tn_status autotune_genome_read(const autotune_space *space, const char *text, autotune_genome *out);
/* Notes in S that it was made from GENOME. Without memory nothing is noted. */
void autotune_genome_say(const autotune_space *space, const autotune_genome *genome, tn_schedule *s);
/* The genome that a schedule was noted to be made from. False: there is no note, it does not fit, or the
 * schedule was changed since. */
bool autotune_genome_of(const autotune_space *space, const tn_schedule *s, autotune_genome *out);

/* ---- what is known before measuring (foresee.c) ------------------------------------------------------------------ */

/* The analytic cost in ns of a genome's plans, corrected by similar programs. 0: a sketch, which only its
 * loops can tell. INFINITY: the values of a plan do not go together. */
double autotune_genome_cost(const autotune_space *space, const autotune_genome *genome);
/* The feature rows of a schedule for the cost model, at most AUTOTUNE_MAX_ROWS; returns how many. 0: it
 * cannot be lowered. COST_NS: autotune_genome_cost, or 0. ESTIMATE may be NULL. ARENA is reset. */
int autotune_schedule_rows(const autotune_space *space, const tn_schedule *s, double cost_ns, runtime_arena *arena,
                           float *rows, autotune_estimate *estimate);
/* Whether a schedule is worth compiling: at most 4 times the least work, and no more code than LLVM can
 * compile in reasonable time. */
bool autotune_is_promising(const autotune_space *space, const autotune_estimate *estimate);
/* Reports that LLVM took too long for code of so many statements. From now on nothing that long is
 * promising, except up to twice the size of `auto`. */
void autotune_learn_too_many(autotune_space *space, double statements);

/* ---- random genomes (sample.c) and changes to them (mutate.c) ---------------------------------------------------- */

/* A random candidate; many are plans, where the program has them. */
void autotune_sample(const autotune_space *space, runtime_rng *rng, autotune_genome *out);
/* New random lengths for all holes of the stage that HOLE belongs to, biased towards tiles that fit the registers. */
void autotune_sample_tiles(const autotune_space *space, runtime_rng *rng, int hole, autotune_genome *genome);
/* New random lengths for one hole. */
void autotune_sample_hole(const autotune_hole *hole, runtime_rng *rng, autotune_tile *tile);
int64_t autotune_random_divisor(runtime_rng *rng, int64_t n, int64_t limit); /* of N, at most LIMIT */
/* Makes one random change. False: the change that was drawn does not apply to this genome, which is then as before. */
bool autotune_mutate(const autotune_space *space, runtime_rng *rng, autotune_genome *genome);
/* Takes each tile and choice, or each group's plan or field, from one of two parents. Both are of the same
 * sketch, or both are plans. */
void autotune_crossover(const autotune_genome *a, const autotune_genome *b, runtime_rng *rng, autotune_genome *out);

/* ---- structures (traits.c) --------------------------------------------------------------------------------------- */

enum { AUTOTUNE_MAX_TRAITS = AUTOTUNE_MAX_GROUPS * (PLAN_MAX_FIELDS + 1) };

/* Hashes of a genome's choices that have few values. Writes at most AUTOTUNE_MAX_TRAITS to OUT; returns how many. */
int autotune_traits(const autotune_space *space, const autotune_genome *genome, uint64_t *out);

/* ---- evolution (evolve.c) ---------------------------------------------------------------------------------------- */

/* A genome with its schedule's hash and score. */
typedef struct autotune_individual {
  autotune_genome genome;
  uint64_t hash; /* autotune_schedule_hash; 0: illegal or not lowerable */
  float score;   /* -INFINITY when hash is 0 */
} autotune_individual;

/* The inputs of one evolution. Everything is borrowed; only the model and RNG change. */
typedef struct autotune_evolution {
  const autotune_space *space;
  autotune_model *model;
  runtime_rng *rng;
  const runtime_map *seen;  /* hashes that are not wanted again */
  const runtime_map *tried; /* how often each trait was proposed */
  int population, generations;
  double mutated, crossed; /* shares of a generation */
} autotune_evolution;

/* Starts from N_SEEDS genomes and random ones. Gives at most N individuals that were not seen, with
 * distinct hashes, the best scores first. */
tn_status autotune_evolve(const autotune_evolution *evolution, int n_seeds, const autotune_genome *seeds, int n,
                          autotune_individual *out, int *n_out);

#endif
