/* genome.c: from a sketch and a genome to a schedule: the plan family `sketch`. At each decision the walk looks into
 * the genome.
 *
 * The `walk` owns the schedule until it succeeds. */
#include "autotune/search.h"

/* What the numbers of a choice mean (AUTOTUNE_CHOICES). The first of each leaves the stage as it is. */
static const int vector_lanes[5] = {0, 8, 16, 32, 64};
static const int parallel_goals[6] = {0, 1, 2, 4, 8, 16};
static const int unroll_steps[4] = {0, 16, 64, 128};

/* ENOUGH_PER_THREAD iterations need not be divisible by the threads; MAX_INNER_BODY is the most vector
 * instructions of a tile that is unrolled. */
enum { MAX_PLACES = 64, MAX_LOOPS = 128, ENOUGH_PER_THREAD = 8, MAX_INNER_BODY = 64 };

/* A schedule that is being made. Only S is owned, and the caller gets it when the walk succeeds. */
typedef struct walk {
  const autotune_task *task;
  const autotune_sketch *sketch;
  tn_schedule *s;
  const autotune_genome *genome;
} walk;

/* ---- the sketch's steps ------------------------------------------------------------------------------------------ */

/* The lengths for a hole. A hole that follows another takes that one's first lengths, and the product of
 * the rest as its last. */
static void lengths_of(const autotune_sketch *sketch, const autotune_genome *genome, int hole, int64_t *lengths) {
  const autotune_hole *h = &sketch->holes[hole];
  const int32_t *from = genome->tiles[h->follows < 0 ? hole : h->follows].length;
  for (int l = 0; l < h->n_lengths; l++) lengths[l] = from[l];
  if (h->follows < 0) return;
  for (int l = h->n_lengths; l < AUTOTUNE_LENGTHS; l++) lengths[h->n_lengths - 1] *= from[l];
}

/* Applies one step of the sketch; HOLE is its hole, or -1. False: it was refused. */
static bool apply_sketch_step(walk *w, schedule_step step, int hole) {
  int64_t lengths[AUTOTUNE_LENGTHS];
  if (hole >= 0) {
    int follows = w->sketch->holes[hole].follows;
    lengths_of(w->sketch, w->genome, hole, lengths);
    step.list = lengths;
    step.tail = (uint8_t)w->genome->tiles[follows < 0 ? hole : follows].tail;
  }
  return schedule_apply_step(w->s, &step) == TN_OK;
}

/* Applies the sketch's steps. Holes are in the order of their steps, so one cursor is enough. False: a
 * primitive refused lengths that do not go together. */
static bool apply_sketch(walk *w) {
  const tn_schedule *base = w->sketch->base;
  for (int i = 0, hole = 0; i < base->n_steps; i++) {
    bool open = hole < w->sketch->n_holes && w->sketch->holes[hole].step == i;
    if (!apply_sketch_step(w, base->steps[i], open ? hole : -1)) return false;
    hole += open;
  }
  return true;
}

/* ---- where a plain stage is computed ----------------------------------------------------------------------------- */

/* A place where a stage can be computed: at root, inlined, or in a loop of another stage. */
typedef struct place {
  schedule_attach attach;
  int stage, iter;
} place;

/* Whether a stage is attached to the loop. Moving or fusing such a loop would move the attached stage, too. */
static bool carries_stages(const tn_schedule *s, int stage, int iter) {
  for (int t = 0; t < s->n_stages; t++) {
    const schedule_stage *other = &s->stages[t];
    if (other->attach == SCHEDULE_AT && other->at_stage == stage && other->at_axis == s->stages[stage].leaves[iter])
      return true;
  }
  return false;
}

/* The stage at root that is around STAGE; *ITER is the last of its loops that are around STAGE. */
static int root_of(const tn_schedule *s, int stage, int *iter) {
  *iter = s->stages[stage].n_leaves - 1;
  while (s->stages[stage].attach == SCHEDULE_AT) {
    const schedule_stage *inner = &s->stages[stage];
    stage = inner->at_stage;
    *iter = schedule_leaf_position(&s->stages[stage], inner->at_axis);
  }
  return stage;
}

/* Adds the loops of TARGET up to LAST as places: spatial loops longer than 1 that are not inside a
 * reduction, unless the stage is tiled. */
static void add_loops(const walk *w, int target, int last, int *n, place *places) {
  const schedule_stage *stage = &w->s->stages[target];
  bool tiled = target < AUTOTUNE_MAX_STAGES && w->sketch->roles[target] == AUTOTUNE_TILED, reduced = false;
  for (int i = 0; i <= last && i < stage->n_leaves && *n < MAX_PLACES; i++) {
    const schedule_axis *axis = schedule_leaf(stage, i);
    bool is_reduce = axis->kind != SCHEDULE_SPATIAL;
    if ((is_reduce && !tiled) || (reduced && !is_reduce)) return;
    if (axis->annotation == SCHEDULE_VECTORIZE || axis->annotation == SCHEDULE_UNROLL) return;
    reduced = is_reduce;
    if (axis->extent > 1) places[(*n)++] = (place){SCHEDULE_AT, target, i};
  }
}

/* Lists the places: root, inlined unless it is a reduction, then the loops that are around all consumers,
 * the outermost first. */
static int list_places(const walk *w, int stage, place *places) {
  int n = 0, consumers[MAX_PLACES], last = -1, root = -1;
  places[n++] = (place){.attach = SCHEDULE_ROOT};
  if (w->s->stages[stage].op->n_reduce == 0) places[n++] = (place){.attach = SCHEDULE_INLINED};
  int n_consumers = schedule_consumers(w->s, stage, true, MAX_PLACES, consumers);
  if (n_consumers < 1 || n_consumers > MAX_PLACES) return n;
  for (int c = 0; c < n_consumers; c++) {
    int iter, r = root_of(w->s, consumers[c], &iter);
    if (root >= 0 && r != root) return n;
    last = root < 0 ? iter : RUNTIME_MIN(last, iter);
    root = r;
  }
  add_loops(w, root, last, &n, places);
  if (n_consumers == 1 && consumers[0] != root) {
    add_loops(w, consumers[0], w->s->stages[consumers[0]].n_leaves - 1, &n, places);
  }
  return n;
}

/* Computes the stage at a place that the genome chooses. The value is taken modulo the number of places, so
 * that every byte is valid and mutation needs no knowledge of the program. */
static bool choose_place(walk *w, int stage) {
  place places[MAX_PLACES];
  if (schedule_is_output_stage(w->s, stage)) return true;
  int n = list_places(w, stage, places);
  const place *p = &places[w->genome->choices[stage].location % n];
  if (p->attach == SCHEDULE_INLINED) return schedule_compute_inline(w->s, stage) == TN_OK;
  return p->attach == SCHEDULE_ROOT || schedule_compute_at(w->s, stage, p->stage, p->iter) == TN_OK;
}

/* ---- vectors of loops that the sketch left whole ----------------------------------------------------------------- */

/* The last spatial loop before the first reduction; -1: none. */
static int vector_loop(const schedule_stage *stage) {
  int last = -1;
  for (int i = 0; i < stage->n_leaves && schedule_leaf(stage, i)->kind == SCHEDULE_SPATIAL; i++) last = i;
  return last;
}

/* The length of vectors for a loop: the extent itself, a divisor near the lanes, or the lanes. 0: no vectors. */
static int64_t vector_length(int64_t extent, int lanes) {
  if (lanes == 0 || extent < 2) return 0;
  if (extent <= lanes) return extent;
  for (int64_t d = lanes; d > lanes / 2; d--) {
    if (extent % d == 0) return d;
  }
  return lanes;
}

/* Moves the loop at ITER inside all others. */
static bool move_innermost(walk *w, int stage, int iter) {
  int order[SCHEDULE_MAX_AXES], n = 0, n_leaves = w->s->stages[stage].n_leaves;
  if (iter == n_leaves - 1) return true;
  for (int i = 0; i < n_leaves; i++) {
    if (i != iter) order[n++] = i;
  }
  order[n++] = iter;
  return schedule_reorder(w->s, stage, n, order) == TN_OK;
}

/* Vectorizes a loop as the genome says. A reduction inside the vectorized loop would be legal but slow, so
 * the loop is moved innermost. */
static bool choose_vector(walk *w, int stage) {
  int iter = vector_loop(&w->s->stages[stage]);
  if (iter < 0) return true;
  int64_t extent = schedule_leaf(&w->s->stages[stage], iter)->extent;
  int64_t length = vector_length(extent, vector_lanes[w->genome->choices[stage].vector]);
  if (length == 0) return true;
  if (length < extent) {
    tn_tail tail = extent % length ? TN_TAIL_PEEL : TN_TAIL_GUARD;
    if (schedule_split(w->s, stage, iter++, 1, &length, true, tail) != TN_OK) return false;
  }
  if (!move_innermost(w, stage, iter)) return false;
  return schedule_annotate(w->s, stage, w->s->stages[stage].n_leaves - 1, SCHEDULE_VECTORIZE) == TN_OK;
}

/* ---- parallel loops ---------------------------------------------------------------------------------------------- */

/* How many outer loops have to be fused so that each thread gets GOAL iterations, evenly or many of them;
 * all that can be fused if that is too few. */
static int loops_to_fuse(const walk *w, int stage_id, int goal, int64_t *product) {
  const schedule_stage *stage = &w->s->stages[stage_id];
  int64_t threads = w->task->threads;
  *product = 1;
  for (int i = 0; i < stage->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(stage, i);
    if (axis->kind != SCHEDULE_SPATIAL || axis->annotation != SCHEDULE_NONE) return i;
    *product *= axis->extent;
    bool is_even = *product % threads == 0 || *product >= ENOUGH_PER_THREAD * threads;
    if ((*product >= goal * threads && is_even) || carries_stages(w->s, stage_id, i)) return i + 1;
  }
  return stage->n_leaves;
}

/* Parallelizes as the genome says; nothing happens when there is only one iteration. */
static bool choose_parallel(walk *w, int stage) {
  int choice = w->genome->choices[stage].parallel;
  if (choice == 0 || w->task->threads < 2) return true;
  int64_t product;
  int iters[MAX_LOOPS], n = loops_to_fuse(w, stage, parallel_goals[choice], &product);
  if (product < 2 || n > MAX_LOOPS) return true;
  for (int i = 0; i < n; i++) iters[i] = i;
  if (n > 1 && schedule_fuse(w->s, stage, n, iters) != TN_OK) return false;
  return schedule_annotate(w->s, stage, 0, SCHEDULE_PARALLEL) == TN_OK;
}

/* ---- unrolling --------------------------------------------------------------------------------------------------- */

/* The first loop of a stage's innermost tile: a tiled stage's last level, or a consumer's loops inside of
 * what is attached to it. */
static int first_inner_loop(const walk *w, int stage_id) {
  const schedule_stage *stage = &w->s->stages[stage_id];
  if (w->sketch->roles[stage_id] == AUTOTUNE_TILED) return stage->n_leaves - stage->op->n_axes;
  int first = stage->n_leaves;
  while (first > 0 && !carries_stages(w->s, stage_id, first - 1)) first--;
  return first;
}

/* Vector instructions of the tile when it is fully unrolled. */
static int64_t inner_body(const walk *w, const schedule_stage *stage, int first) {
  int64_t lanes = RUNTIME_MAX(w->task->vector_bytes / (int)tn_dtype_bytes(stage->op->outputs[0].dtype), 1), body = 1;
  for (int i = first; i < stage->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(stage, i);
    body *= axis->annotation == SCHEDULE_VECTORIZE ? (axis->extent + lanes - 1) / lanes : axis->extent;
    if (body > MAX_INNER_BODY) return body;
  }
  return body;
}

/* Unrolls the tile as the genome says. A large body is left alone: unrolling it would cost LLVM's time and
 * fill the instruction cache. */
static bool unroll_tile(walk *w, int stage_id) {
  const schedule_stage *stage = &w->s->stages[stage_id];
  int first = first_inner_loop(w, stage_id);
  if (!w->genome->choices[stage_id].unroll_inner || inner_body(w, stage, first) > MAX_INNER_BODY) return true;
  for (int i = first; i < stage->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(stage, i);
    if (axis->annotation != SCHEDULE_NONE || axis->extent < 2) continue;
    if (schedule_annotate(w->s, stage_id, i, SCHEDULE_UNROLL) != TN_OK) return false;
  }
  return true;
}

/* Sets the pragma for unrolling: the passes unroll what is within the limit, and nothing is refused. */
static bool choose_unroll(walk *w, int stage) {
  int max_step = unroll_steps[w->genome->choices[stage].unroll];
  return max_step == 0 || schedule_pragma_unroll(w->s, stage, 0, max_step) == TN_OK;
}

/* Vectorizes the tile's last loop; nothing if it is one element wide or longer than AUTOTUNE_MAX_VECTOR. */
static bool vectorize_tile(walk *w, int stage_id) {
  const schedule_stage *stage = &w->s->stages[stage_id];
  int last = stage->n_leaves - 1;
  int64_t extent = schedule_leaf(stage, last)->extent;
  if (schedule_leaf(stage, last)->kind != SCHEDULE_SPATIAL || extent < 2 || extent > AUTOTUNE_MAX_VECTOR) return true;
  return schedule_annotate(w->s, stage_id, last, SCHEDULE_VECTORIZE) == TN_OK;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Inlined stages and inputs have no loops to place or annotate. */
static bool has_loops(const schedule_stage *stage) {
  return !te_is_placeholder(stage->op) && stage->attach != SCHEDULE_INLINED && stage->n_leaves > 0;
}

/* Consumers come before their producers, so that a producer finds their loops ready. */
static bool place_and_vectorize(walk *w, int stage) {
  autotune_role role = w->sketch->roles[stage];
  if (role == AUTOTUNE_TILED) return vectorize_tile(w, stage);
  if (role == AUTOTUNE_OWN) return true;
  if (role == AUTOTUNE_PLAIN && !choose_place(w, stage)) return false;
  return w->s->stages[stage].attach == SCHEDULE_INLINED || choose_vector(w, stage);
}

/* Runs after all stages have their places, because fusing outer loops would move loops that others are attached to. */
static bool annotate(walk *w, int stage) {
  if (w->s->stages[stage].attach == SCHEDULE_ROOT && !choose_parallel(w, stage)) return false;
  autotune_role role = w->sketch->roles[stage];
  if ((role == AUTOTUNE_TILED || role == AUTOTUNE_CONSUMER) && !unroll_tile(w, stage)) return false;
  return w->s->stages[stage].op->n_reduce == 0 || choose_unroll(w, stage);
}

/* Decides for each stage, the last one first. False as soon as one is refused: the genome is illegal as a whole. */
static bool for_each_stage(walk *w, bool (*decide)(walk *w, int stage)) {
  for (int stage = RUNTIME_MIN(w->s->n_stages, AUTOTUNE_MAX_STAGES) - 1; stage >= 0; stage--) {
    if (has_loops(&w->s->stages[stage]) && !decide(w, stage)) return false;
  }
  return true;
}

/* The order that replay needs: structure, places and vectors, then annotations. */
static bool run(walk *w) {
  return w->s && apply_sketch(w) && for_each_stage(w, place_and_vectorize) && for_each_stage(w, annotate);
}

tn_schedule *autotune_sketch_schedule(const autotune_space *space, const autotune_genome *genome) {
  walk w = {.task = space->task, .sketch = &space->sketches[genome->sketch], .genome = genome};
  w.s = tn_schedule_new(space->task->program);
  if (run(&w)) return w.s;
  tn_schedule_free(w.s);
  return NULL;
}
