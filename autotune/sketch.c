/* sketch.c: the structures worth trying. Rules are tried at each stage, from the last to the first. A rule
 * passes, applies, or applies and ends the list; the search goes on at the next stage of what it made.
 * Source: TVM's AS/search_policy/sketch_policy_rules.cc. Differences: a tile computed inside its consumer
 * always gets scope "local"; only reductions are cached; rfactor parts a reduction for vectors, for threads
 * or for both, where it reads along rows or has few results.
 *
 * A `state` owns its schedule. `work` is the list of states. A state in the list is never changed: rules
 * work on copies. */
#include "autotune/search.h"

/* Loop levels of a tiled stage, outer to inner: S spatial, R reduction. */
static const char structure[] = "SSRSRS";
enum { SPATIAL_LEVELS = AUTOTUNE_LENGTHS + 1, REDUCE_LEVELS = 2, MAX_LOOPS = 128 };
/* A reduction has few results if there are at most FEW_RESULTS for each thread (Ansor's 16). One of at most
 * SHORT_REDUCTION elements is not worth parting. */
enum { FEW_RESULTS = 16, SHORT_REDUCTION = 16 };
/* Where a tile is computed inside its consumer: after so many spatial levels of the consumer's loops. */
static const int fusion_levels[] = {2, 1};

/* What a rule does at a stage. After APPLY the next rules are tried, too; after APPLY_AND_SKIP they are not. */
typedef enum answer { PASS, APPLY, APPLY_AND_SKIP } answer;

/* An unfinished sketch and the stage that is looked at next. */
typedef struct state {
  autotune_sketch sketch;
  int stage; /* to be looked at next; -1: finished */
  int threads;
} state;

/* The states in the order they were made; those before `next` are done with. While more than MAX wait, each
 * is expanded in one way only, so that a graph of many tiled stages gets an answer, too. */
typedef struct work {
  const autotune_task *task;
  RUNTIME_VEC(state) states;
  int next, max;
} work;

/* Whether so many states wait that only one way is followed. Without this the number of sketches would be
 * exponential in the number of tiled stages. */
static bool is_crowded(const work *w) { return w->states.n - w->next >= w->max; }

/* One rule of the table below. */
typedef struct rule {
  const char *name;
  answer (*condition)(const state *st);
  bool (*apply)(work *w, const state *st); /* false: out of memory, or refused */
} rule;

/* ---- states ------------------------------------------------------------------------------------------------------ */

static const schedule_stage *stage_of(const state *st) { return &st->sketch.base->stages[st->stage]; }

/* A copy of ST to be changed. Its base is NULL when memory ran out. */
static state branch(const state *st) {
  state copy = *st;
  copy.sketch.base = tn_schedule_copy(st->sketch.base);
  return copy;
}

/* Takes ST over if OK; frees it otherwise. Returns whether ST is in the list. */
static bool add_state(work *w, state *st, bool ok) {
  if (ok && RUNTIME_PUSH(&w->states, *st)) return true;
  if (ok) runtime_fail(w->task->ctx, TN_ERROR_MEMORY, "out of memory for sketches");
  tn_schedule_free(st->sketch.base);
  return false;
}

static bool has_room_for(const state *st, int n_holes) { return st->sketch.n_holes + n_holes <= AUTOTUNE_MAX_HOLES; }

/* Splits a loop into n_lengths + 1 loops and leaves the lengths open. */
static bool add_hole(state *st, autotune_hole hole, int iter) {
  static const int64_t ones[AUTOTUNE_LENGTHS] = {1, 1, 1};
  tn_schedule *s = st->sketch.base;
  hole.step = (int16_t)s->n_steps;
  st->sketch.holes[st->sketch.n_holes++] = hole;
  return schedule_split(s, hole.stage, iter, hole.n_lengths, ones, true, TN_TAIL_GUARD) == TN_OK;
}

/* A stage was inserted at AT: moves what is known of the stages behind it. */
static void shift_stages(state *st, int at) {
  uint8_t *roles = st->sketch.roles;
  memmove(roles + at + 1, roles + at, (size_t)(AUTOTUNE_MAX_STAGES - at - 1));
  roles[at] = AUTOTUNE_PLAIN;
  for (int h = 0; h < st->sketch.n_holes; h++) st->sketch.holes[h].stage += st->sketch.holes[h].stage >= at;
  st->stage += st->stage >= at;
}

/* ---- inline ------------------------------------------------------------------------------------------------------ */

/* An output cannot be inlined. A stage that can be inlined always is: the other way is not tried. */
static answer wants_inline(const state *st) {
  if (schedule_is_output_stage(st->sketch.base, st->stage)) return PASS;
  return schedule_is_strictly_inlineable(stage_of(st)->op) ? APPLY_AND_SKIP : PASS;
}

/* The list is walked from the outputs to the inputs, so the next stage is the one before. */
static bool apply_inline(work *w, const state *st) {
  state to = branch(st);
  bool ok = to.sketch.base && schedule_compute_inline(to.sketch.base, to.stage) == TN_OK;
  to.stage--;
  return add_state(w, &to, ok);
}

/* ---- rfactor ----------------------------------------------------------------------------------------------------- */

/* A double, since the product of the extents may exceed int64. */
static double product_of(int n, tn_axis *const *axes) {
  double product = 1;
  for (int a = 0; a < n; a++) product *= (double)axes[a]->extent;
  return product;
}

/* Whether there are too few results to keep the threads busy, and fewer results than elements of the reduction. */
static bool has_few_results(const state *st) {
  const te_op *op = stage_of(st)->op;
  double space = product_of(op->n_axes, op->axes), reduced = product_of(op->n_reduce, op->reduce_axes);
  return space <= reduced && space <= FEW_RESULTS * st->threads;
}

/* Source: NeedsRfactor (sketch_policy_utils.cc). Ours: a stage that is not tiled must read along its
 * reduction, so that vectors need partial results, or have few results, so that threads need them. */
static answer wants_rfactor(const state *st) {
  const te_op *op = stage_of(st)->op;
  bool is_parted = st->sketch.base->n_stages + 2 <= AUTOTUNE_MAX_STAGES && op->n_axes + 2 <= TN_MAX_RANK;
  double reduced = product_of(op->n_reduce, op->reduce_axes);
  if (!is_parted || op->n_outputs != 1 || op->n_reduce == 0 || op->n_reduce > SPATIAL_LEVELS || !has_room_for(st, 1))
    return PASS;
  if (strcmp(stage_of(st)->scope, "local") == 0) return PASS; /* it was cached: its sums are a tile's */
  if (reduced < SHORT_REDUCTION || reduced <= st->threads || reduced > INT32_MAX) return PASS;
  if (schedule_needs_tiling(op)) return has_few_results(st) ? APPLY : PASS;
  return schedule_reads_along_reduction(op) || has_few_results(st) ? APPLY : PASS;
}

/* Fuses the reduction loops; returns the position of the result, or -1 if that is refused. */
static int fuse_reduction(state *st) {
  const te_op *op = stage_of(st)->op;
  int iters[SPATIAL_LEVELS];
  for (int a = 0; a < op->n_reduce; a++) iters[a] = op->n_axes + a;
  int first = op->n_axes;
  if (op->n_reduce > 1 && schedule_fuse(st->sketch.base, st->stage, op->n_reduce, iters) != TN_OK) return -1;
  return first;
}

/* Parts a reduction. The stage of partial results takes the stage's number; the final stage stands behind
 * it and keeps what was known. */
static bool factor(state *st, int iter, int factor_axis, bool is_local) {
  tn_schedule *s = st->sketch.base;
  int stage = st->stage;
  if (schedule_rfactor(s, stage, iter, factor_axis) != TN_OK) return false;
  shift_stages(st, stage);
  st->stage = stage;
  return !is_local || schedule_set_scope(s, stage, "local") == TN_OK;
}

/* FOR_THREADS: the outer part of the reduction becomes a data axis. FOR_VECTORS: the inner part does. With
 * both, what is left lies between them. */
static bool add_rfactored(work *w, const state *st, bool for_threads, bool for_vectors) {
  state to = branch(st);
  int n_data = stage_of(st)->op->n_axes, iter = to.sketch.base ? fuse_reduction(&to) : -1;
  bool both = for_threads && for_vectors, ok = iter >= 0;
  autotune_hole hole = {.stage = (int16_t)to.stage,
                        .follows = -1,
                        .n_lengths = both ? 2 : 1,
                        .is_reduce = true,
                        .is_vector = for_vectors,
                        .parts = for_threads,
                        .extent = ok ? schedule_leaf(stage_of(&to), iter)->extent : 1};
  int index = to.sketch.n_holes;
  ok = ok && add_hole(&to, hole, iter);
  if (for_vectors) ok = ok && factor(&to, iter + 1 + both, n_data, true);
  if (for_threads) ok = ok && factor(&to, iter + both, both ? 0 : n_data, false);
  to.sketch.holes[index].stage = (int16_t)to.stage;
  to.stage--;
  return add_state(w, &to, ok);
}

/* Adds up to three sketches. True when one could be made. */
static bool apply_rfactor(work *w, const state *st) {
  const te_op *op = stage_of(st)->op;
  bool rows = schedule_reads_along_reduction(op), few = has_few_results(st), ok = false;
  if (rows) ok = add_rfactored(w, st, false, true);
  if (few && !is_crowded(w)) ok |= add_rfactored(w, st, true, false);
  if (few && rows && !is_crowded(w)) ok |= add_rfactored(w, st, true, true);
  return ok;
}

/* ---- cache write ------------------------------------------------------------------------------------------------- */

/* Where the consumer is elementwise, the tile is fused into the consumer instead, which needs no copy. */
static answer wants_cache_write(const state *st) {
  const tn_schedule *s = st->sketch.base;
  const te_op *op = stage_of(st)->op;
  bool accumulates = op->n_reduce > 0 && s->n_stages < AUTOTUNE_MAX_STAGES;
  if (!accumulates || !schedule_needs_tiling(op)) return PASS;
  return schedule_elementwise_consumer(s, st->stage) < 0 ? APPLY : PASS;
}

/* The new stage stands behind this one, so the numbers of later stages move. */
static bool apply_cache_write(work *w, const state *st) {
  state to = branch(st);
  bool ok = to.sketch.base && schedule_cache_write(to.sketch.base, to.stage, "local") == TN_OK;
  shift_stages(&to, to.stage + 1);
  return add_state(w, &to, ok);
}

/* ---- tiling ------------------------------------------------------------------------------------------------------ */

/* A stage is not tiled unless there is room for holes of all its axes. */
static answer wants_tiling(const state *st) {
  const te_op *op = stage_of(st)->op;
  bool fits = has_room_for(st, op->n_axes + op->n_reduce);
  return fits && schedule_needs_tiling(op) ? APPLY_AND_SKIP : PASS;
}

/* Splits data axes into four loops and reductions into two. All lengths are 1 until a genome fills them. */
static bool split_all(state *st) {
  const te_op *op = stage_of(st)->op;
  bool ok = true;
  for (int a = 0, iter = 0; ok && a < op->n_axes + op->n_reduce; a++) {
    bool is_reduce = a >= op->n_axes;
    int levels = is_reduce ? REDUCE_LEVELS : SPATIAL_LEVELS;
    autotune_hole hole = {.stage = (int16_t)st->stage,
                          .follows = -1,
                          .n_lengths = (int16_t)(levels - 1),
                          .is_reduce = is_reduce,
                          .is_vector = a == op->n_axes - 1,
                          .extent = is_reduce ? op->reduce_axes[a - op->n_axes]->extent : op->axes[a]->extent};
    ok = add_hole(st, hole, iter);
    iter += levels;
  }
  return ok;
}

/* Writes the order of the split loops that `structure` asks for; returns how many. */
static int tiled_order(const te_op *op, int *order) {
  int n = 0, spatial_level = 0, reduce_level = 0;
  for (const char *level = structure; *level; level++) {
    bool is_reduce = *level == 'R';
    int first = is_reduce ? SPATIAL_LEVELS * op->n_axes + reduce_level++ : spatial_level++;
    int count = is_reduce ? op->n_reduce : op->n_axes, stride = is_reduce ? REDUCE_LEVELS : SPATIAL_LEVELS;
    for (int a = 0; a < count; a++) order[n++] = first + a * stride;
  }
  return n;
}

/* False: refused, or more loops than this file's arrays hold, which is far more than programs have. */
static bool tile_stage(state *st) {
  int order[MAX_LOOPS];
  const te_op *op = stage_of(st)->op;
  if (SPATIAL_LEVELS * (op->n_axes + op->n_reduce) > MAX_LOOPS) return false;
  st->sketch.roles[st->stage] = AUTOTUNE_TILED;
  return split_all(st) && schedule_reorder(st->sketch.base, st->stage, tiled_order(op, order), order) == TN_OK;
}

/* False when it made no sketch. */
static bool apply_tiling(work *w, const state *st) {
  state to = branch(st);
  bool ok = to.sketch.base && tile_stage(&to);
  to.stage--;
  return add_state(w, &to, ok);
}

/* ---- tiling with a fused consumer -------------------------------------------------------------------------------- */

/* The consumer must be untouched, since its loops are split here in the way the tile needs. */
static answer wants_fusion(const state *st) {
  const tn_schedule *s = st->sketch.base;
  const schedule_stage *stage = stage_of(st);
  if (!schedule_needs_tiling(stage->op)) return PASS;
  int consumer = schedule_elementwise_consumer(s, st->stage);
  if (consumer < 0 || consumer >= AUTOTUNE_MAX_STAGES) return PASS;
  const schedule_stage *into = &s->stages[consumer];
  bool is_untouched = into->attach == SCHEDULE_ROOT && into->n_relations == 0;
  if (!is_untouched || !has_room_for(st, 2 * stage->op->n_axes + stage->op->n_reduce)) return PASS;
  return strcmp(stage->scope, "local") == 0 ? APPLY_AND_SKIP : APPLY;
}

/* Splits each of the consumer's loops into LEVEL + 1, with lengths that follow those of the tile. Orders
 * them by level, and by axis within a level. */
static bool split_consumer(state *st, int consumer, int level) {
  const te_op *op = stage_of(st)->op;
  int order[MAX_LOOPS], first = st->sketch.n_holes - op->n_axes - op->n_reduce;
  for (int a = 0; a < op->n_axes; a++) {
    autotune_hole hole = {.stage = (int16_t)consumer,
                          .follows = (int16_t)(first + a),
                          .n_lengths = (int16_t)level,
                          .is_vector = a == op->n_axes - 1,
                          .extent = op->axes[a]->extent};
    if (!add_hole(st, hole, a * (level + 1))) return false;
  }
  int n = 0;
  for (int l = 0; l <= level; l++) {
    for (int a = 0; a < op->n_axes; a++) order[n++] = a * (level + 1) + l;
  }
  st->sketch.roles[consumer] = AUTOTUNE_CONSUMER;
  return schedule_reorder(st->sketch.base, consumer, n, order) == TN_OK;
}

/* Tiles the stage and computes it inside its consumer, after LEVEL spatial levels. */
static bool fuse_at(state *st, int level) {
  tn_schedule *s = st->sketch.base;
  int consumer = schedule_elementwise_consumer(s, st->stage), n_axes = stage_of(st)->op->n_axes;
  if (!tile_stage(st) || !split_consumer(st, consumer, level)) return false;
  if (schedule_compute_at(s, st->stage, consumer, level * n_axes - 1) != TN_OK) return false;
  return strcmp(stage_of(st)->scope, "local") == 0 || schedule_set_scope(s, st->stage, "local") == TN_OK;
}

/* The input worth packing: a placeholder that is reused and read by rows, so that packing makes the panel
 * of the consumer's outermost level contiguous. Returns its stage, or -1. */
static int packable_input(const state *st) {
  const tn_schedule *s = st->sketch.base;
  const te_op *op = stage_of(st)->op;
  if (s->n_stages >= AUTOTUNE_MAX_STAGES) return -1;
  for (int i = 0; i < op->n_inputs; i++) {
    int stage = schedule_stage_of_tensor(s, op->inputs[i]);
    if (stage < 0 || !te_is_placeholder(s->stages[stage].op)) continue;
    if (schedule_is_reused(op, op->inputs[i]) && schedule_is_read_by_rows(op, op->inputs[i])) return stage;
  }
  return -1;
}

/* Copies the input's panel inside the consumer's outermost level. */
static bool pack(state *st, int input) {
  tn_schedule *s = st->sketch.base;
  int n_axes = stage_of(st)->op->n_axes, reader = st->stage;
  if (schedule_cache_read(s, input, "local", 1, &reader) != TN_OK) return false;
  shift_stages(st, input + 1);
  st->sketch.roles[input + 1] = AUTOTUNE_PACKED;
  return schedule_compute_at(s, input + 1, schedule_elementwise_consumer(s, st->stage), n_axes - 1) == TN_OK;
}

/* Adds one way of fusing. PACKED: the input to pack, or -1. ST is left as it is, and a refusal of one level
 * does not stop the other. */
static bool add_fused(work *w, const state *st, int level, int packed) {
  state to = branch(st);
  bool ok = to.sketch.base && fuse_at(&to, level) && (packed < 0 || pack(&to, packed));
  to.stage--;
  return add_state(w, &to, ok);
}

/* Adds both fusion depths, and the first one also with an input packed. */
static bool apply_fusion(work *w, const state *st) {
  int input = packable_input(st);
  bool ok = add_fused(w, st, fusion_levels[0], -1);
  if (input >= 0 && !is_crowded(w)) ok = add_fused(w, st, fusion_levels[0], input) && ok;
  if (!is_crowded(w)) ok = add_fused(w, st, fusion_levels[1], -1) && ok;
  return ok;
}

/* ---- skip -------------------------------------------------------------------------------------------------------- */

/* Last in the table: a stage that no rule touched goes on as it is. */
static answer wants_skip(const state *st) {
  (void)st;
  return APPLY;
}

/* Goes on with the stage left as it is. */
static bool apply_skip(work *w, const state *st) {
  state to = branch(st);
  to.stage--;
  return add_state(w, &to, to.sketch.base != NULL);
}

/* ---- all rules --------------------------------------------------------------------------------------------------- */

static const rule rules[] = {
    {"always_inline", wants_inline, apply_inline},
    {"rfactor", wants_rfactor, apply_rfactor},
    {"cache_write", wants_cache_write, apply_cache_write},
    {"tiling_with_fusion", wants_fusion, apply_fusion},
    {"tiling", wants_tiling, apply_tiling},
    {"skip", wants_skip, apply_skip},
};

/* Applies the user's rules, which come first. True: nothing else is to be done with the stage. */
static bool expand_own(work *w, const state *st) {
  const char *name = schedule_stage_name(stage_of(st));
  for (int r = 0; r < w->task->n_rules; r++) {
    const tn_sketch_rule *own = &w->task->rules[r];
    tn_rule_answer a = own->condition(own->user, st->sketch.base, name);
    state to = *st;
    if (a == TN_RULE_PASS || !autotune_apply_own(&st->sketch, own, st->stage, &to.sketch)) continue;
    to.stage = schedule_stage_of_tensor(to.sketch.base, stage_of(st)->tensors) - 1;
    if (add_state(w, &to, true) && (a == TN_RULE_APPLY_AND_SKIP || is_crowded(w))) return true;
  }
  return false;
}

/* Applies the rules to the stage that ST looks at, then frees ST's schedule. A rule that a primitive
 * refuses leaves the stage to the next rules. */
static void expand(work *w, state *st) {
  autotune_role role = st->sketch.roles[st->stage];
  bool settled = te_is_placeholder(stage_of(st)->op) || role == AUTOTUNE_PACKED || role == AUTOTUNE_OWN ||
                 schedule_is_in_scan(st->sketch.base, st->stage);
  bool is_done = !settled && expand_own(w, st);
  for (int r = 0; r < RUNTIME_COUNT(rules) && !settled && !is_done; r++) {
    answer a = rules[r].condition(st);
    if (a == PASS) continue;
    if (rules[r].apply(w, st) && (a == APPLY_AND_SKIP || is_crowded(w))) break;
  }
  if (settled) apply_skip(w, st);
  tn_schedule_free(st->sketch.base);
}

/* Breadth first: where there are too many sketches, those that are kept differ in their last stages, which
 * matter most. */
int autotune_sketches(const autotune_task *task, int max, autotune_sketch *out) {
  work w = {.task = task, .max = max};
  state first = {.sketch.base = tn_schedule_new(task->program), .threads = task->threads};
  first.stage = first.sketch.base ? first.sketch.base->n_stages - 1 : -1;
  int n = first.sketch.base && RUNTIME_PUSH(&w.states, first) ? 0 : -1;
  if (n < 0) tn_schedule_free(first.sketch.base);
  while (w.next < w.states.n) {
    state st = w.states.data[w.next++]; /* a copy: expanding moves the array */
    if (st.stage >= 0 && n < max)
      expand(&w, &st);
    else if (n >= max)
      tn_schedule_free(st.sketch.base);
    else
      out[n++] = st.sketch;
  }
  RUNTIME_VEC_FREE(&w.states);
  return n;
}
