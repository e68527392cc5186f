/* symbolic.c: the steps of a schedule whose extents were numbers, on loops whose extents a symbol decides. */
#include "schedule/edit.h"

/* A step that was whole, or moved its last block, where the extent was a number. What moved does so still, if it MAY_MOVE, where the loop is
 * as long as a block for every value of the symbols. */
static schedule_step symbolic_step(const tn_schedule *s, const schedule_step *step, bool may_move) {
  schedule_step out = *step;
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_split = step->kind == SCHEDULE_STEP_SP && st && step->iter >= 0 && step->iter < st->n_leaves;
  if (!is_split || !schedule_leaf(st, step->iter)->size) return out;
  bool moves = may_move && out.tail == TN_TAIL_OVERLAP && out.inner_to_outer &&
               out.list[out.n - 1] <= schedule_least_extent(s, schedule_leaf(st, step->iter));
  if (!moves && (out.tail == TN_TAIL_GUARD || out.tail == TN_TAIL_OVERLAP)) out.tail = TN_TAIL_PEEL;
  return out;
}

/* Annotations that a stage may have only inside of the loop that it is attached to, where its loops may be as short as a block: they
 * wait for that step. */
typedef struct waiting {
  schedule_step steps[SCHEDULE_MAX_AXES];
  int n, n_stages; /* as many as there are stages, a stage has its number */
} waiting;

/* On loops whose extent a symbol decides. */
static bool has_to_wait(const tn_schedule *s, const schedule_step *step) {
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_mark = step->kind == SCHEDULE_STEP_AN && st && step->iter >= 0 && step->iter < st->n_leaves;
  return is_mark && st->attach == SCHEDULE_ROOT && step->value < SCHEDULE_PARALLEL &&
         schedule_leaf(st, step->iter)->size != NULL;
}

/* Those of the stage that was attached. */
static tn_status apply_waiting(tn_schedule *s, waiting *w, int stage) {
  int kept = 0;
  tn_status status = TN_OK;
  for (int i = 0; i < w->n && status == TN_OK; i++) {
    if (w->steps[i].stage != stage)
      w->steps[kept++] = w->steps[i];
    else
      status = schedule_apply_step(s, &w->steps[i]);
  }
  w->n = kept;
  return status;
}

/* What waits says positions of loops, which other steps would shift. */
static bool disturbs(const waiting *w, const schedule_step *step) {
  bool is_harmless = step->kind == SCHEDULE_STEP_AN || step->kind == SCHEDULE_STEP_SS ||
                     step->kind == SCHEDULE_STEP_CA || step->kind == SCHEDULE_STEP_TL;
  for (int i = 0; i < w->n && !is_harmless; i++)
    if (w->steps[i].stage == step->stage) return true;
  return false;
}

/* A hint to part a loop that part_factored has parted. */
static bool is_parted(const tn_schedule *s, const schedule_step *step) {
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_pragma = step->kind == SCHEDULE_STEP_PR && st && step->iter >= 0 && step->iter < st->n_leaves;
  const char *key = schedule_pragma_key(SCHEDULE_PRAGMA_PARTITION);
  return is_pragma && strncmp(step->text, key, strlen(key)) == 0 &&
         schedule_pragma_value(schedule_leaf(st, step->iter), SCHEDULE_PRAGMA_PARTITION) > 0;
}

static tn_status replay_one(tn_schedule *s, const schedule_step *given, bool may_move, waiting *w) {
  schedule_step step = symbolic_step(s, given, may_move);
  if (has_to_wait(s, &step) && w->n < RUNTIME_COUNT(w->steps)) {
    w->n_stages = s->n_stages;
    w->steps[w->n++] = step;
    return TN_OK;
  }
  if (is_parted(s, &step)) return TN_OK;
  tn_status status = w->n > 0 && disturbs(w, &step) ? TN_ERROR_SCHEDULE : schedule_apply_step(s, &step);
  if (status == TN_OK && step.kind == SCHEDULE_STEP_CA) status = apply_waiting(s, w, step.stage);
  return status == TN_OK && w->n > 0 && s->n_stages != w->n_stages ? TN_ERROR_SCHEDULE : status;
}

/* ---- fused loops ------------------------------------------------------------------------------------------------- */

/* Loops that were fused for threads to share stay apart where symbols decide them: whole blocks of one could not be told from whole
 * blocks of both. The steps that follow count their positions. */
typedef struct apart {
  const tn_tensor *tensor; /* of the stage; NULL: none, or none any more */
  int at, n;
} apart;

static const schedule_stage *stage_of(const tn_schedule *s, int stage) {
  return stage >= 0 && stage < s->n_stages ? &s->stages[stage] : NULL;
}

/* Whether NEXT makes threads share what STEP fuses. */
static bool is_for_threads(const tn_schedule *s, const schedule_step *step, const schedule_step *next) {
  const schedule_stage *st = stage_of(s, step->stage);
  bool is_fuse = st && step->kind == SCHEDULE_STEP_FU && step->n > 1, is_symbolic = false;
  for (int i = 0; is_fuse && i < step->n; i++) is_symbolic |= schedule_leaf(st, (int)step->list[i])->size != NULL;
  return is_symbolic && next->kind == SCHEDULE_STEP_AN && next->stage == step->stage && next->iter == step->list[0] &&
         next->value == SCHEDULE_PARALLEL;
}

/* STEP with the positions that loops have which are apart. False: it cannot be said. */
static bool move_positions(const tn_schedule *s, const apart *a, schedule_step *step) {
  const schedule_stage *st = stage_of(s, step->stage), *target = stage_of(s, step->target_stage);
  bool is_there = a->tensor && st && st->tensors == a->tensor;
  if (a->tensor && step->kind == SCHEDULE_STEP_CA && target && target->tensors == a->tensor &&
      step->target_iter >= a->at)
    step->target_iter += a->n - 1;
  if (!is_there || step->kind == SCHEDULE_STEP_CA) return true;
  bool is_known = step->kind == SCHEDULE_STEP_AN || step->kind == SCHEDULE_STEP_PR;
  if (is_known && step->iter > a->at) step->iter = (int16_t)(step->iter + a->n - 1);
  return is_known;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

/* Which relation a step became. */
typedef struct made_split {
  const tn_tensor *tensor; /* of its stage; NULL: the step is no split */
  int relation;
} made_split;

/* How long a part is to be that was a whole loop, where the loop is hardly longer than it was at the most: that whole loop. Else 0. */
static int64_t whole_length(const tn_schedule *s, const schedule_step *step) {
  enum { HARDLY = 8 };
  const schedule_stage *st = stage_of(s, step->stage);
  bool is_split = step->kind == SCHEDULE_STEP_SP && st && step->iter >= 0 && step->iter < st->n_leaves;
  const schedule_axis *axis = is_split ? schedule_leaf(st, step->iter) : NULL;
  if (!axis || !axis->size || step->n != 1 || !step->inner_to_outer || step->list[0] < step->value) return 0;
  int64_t longer = axis->extent - step->value;
  return longer > 0 && longer <= step->value / HARDLY ? axis->extent : 0;
}

/* Blocks that a sum was taken apart into are parted from the rest by the loop that puts them together, too: the stage that had them has no
 * loop over them any more. STAGE had the reduction. */
static tn_status part_factored(tn_schedule *s, int stage) {
  const schedule_stage *st = &s->stages[stage + 1];
  for (int l = 0; l < st->n_leaves; l++) {
    const schedule_axis *axis = schedule_leaf(st, l);
    if (axis->kind == SCHEDULE_REDUCE && axis->size) return schedule_pragma_partition(s, stage + 1, l);
  }
  return TN_OK;
}

/* Whether the blocks that step I cuts are shared by threads in chunks. Of a loop that a symbol decides nobody knows that the last two, if they
 * overlap, are in one chunk. */
static bool is_shared_in_chunks(const tn_schedule *steps, int i) {
  const schedule_step *cut = &steps->steps[i];
  for (int j = i + 1; cut->kind == SCHEDULE_STEP_SP && j + 1 < steps->n_steps; j++) {
    const schedule_step *chunks = &steps->steps[j], *next = &steps->steps[j + 1];
    bool is_of_it = chunks->kind == SCHEDULE_STEP_SP && chunks->stage == cut->stage && chunks->iter == cut->iter;
    if (is_of_it && next->kind == SCHEDULE_STEP_AN && next->stage == cut->stage && next->iter == cut->iter &&
        next->value == SCHEDULE_PARALLEL)
      return true;
  }
  return false;
}

/* What still waits at the end is refused, as it is without waiting. LENGTHS: of each step, what its last split length becomes, 0: as it
 * is. MADE: of each step; may be NULL. */
static tn_status replay_all(tn_schedule *copy, const tn_schedule *steps, bool keeps_fused, const int64_t *lengths,
                            made_split *made) {
  tn_status status = TN_OK;
  waiting w = {.n = 0};
  apart a = {NULL, 0, 0};
  bool is_changed = lengths != NULL;
  for (int i = 0; i < steps->n_steps && status == TN_OK; i++) {
    schedule_step step = steps->steps[i];
    if (!keeps_fused && i + 1 < steps->n_steps && is_for_threads(copy, &step, &steps->steps[i + 1])) {
      if (a.tensor) return TN_ERROR_SCHEDULE;
      a = (apart){copy->stages[step.stage].tensors, (int)step.list[0], step.n};
      continue;
    }
    if (!move_positions(copy, &a, &step)) return TN_ERROR_SCHEDULE;
    int64_t *whole = whole_length(copy, &step) > 0 ? RUNTIME_NEW(&copy->arena, int64_t) : NULL;
    if (whole) *whole = whole_length(copy, &step), step.list = whole, is_changed = true;
    if (is_changed && step.kind == SCHEDULE_STEP_SP) step.value = 0; /* it was meant for the length before */
    if (lengths && lengths[i] > 0) step.list = &lengths[i];
    status = replay_one(copy, &step, !is_shared_in_chunks(steps, i), &w);
    if (status == TN_OK && step.kind == SCHEDULE_STEP_RF) status = part_factored(copy, step.stage);
    if (!made || status != TN_OK || step.kind != SCHEDULE_STEP_SP) continue;
    const schedule_stage *st = &copy->stages[step.stage];
    made[i] = (made_split){st->tensors, st->n_relations - 1};
  }
  for (int i = 0; i < w.n && status == TN_OK; i++) status = schedule_apply_step(copy, &w.steps[i]);
  return status;
}

/* ---- what threads share ------------------------------------------------------------------------------------------ */

/* Parts for each thread that are enough: one more or less of them is then a small matter. */
enum { PARTS_PER_THREAD = 8 };

int64_t schedule_least_extent(const tn_schedule *s, const schedule_axis *axis) {
  int64_t least[RUNTIME_MAX_SYMBOLS];
  for (int i = 0; i < s->program->n_symbols; i++) least[i] = s->program->symbols[i]->least;
  return axis->size ? te_size_value(s->program, axis->size, least) : axis->extent;
}

/* Whether something is computed at the loop, for all that is inside of it. */
static bool is_attached_at(const tn_schedule *s, const schedule_stage *st, int axis) {
  for (int i = 0; i < s->n_stages; i++)
    if (s->stages[i].attach == SCHEDULE_AT && &s->stages[s->stages[i].at_stage] == st && s->stages[i].at_axis == axis)
      return true;
  return false;
}

/* The blocks that a part is made of. The loop inside of AXIS counts them, or AXIS does: as a part of a loop that counts them, or
 * directly inside of loop SHARED. 0: it counts nothing, such as lanes or rows of a tile. */
static int64_t block_of(const schedule_stage *st, int axis, int shared) {
  const schedule_axis *part = &st->axes[axis];
  bool is_next = shared + 1 < st->n_leaves && st->leaves[shared + 1] == axis;
  int whole = part->made_by < 0 ? -1 : st->relations[part->made_by].one, by = whole < 0 ? -1 : st->axes[whole].made_by;
  is_next |= by >= 0 && !st->relations[by].is_fuse && st->relations[by].many[0] == whole;
  if (part->used_by < 0) return part->annotation == SCHEDULE_NONE && is_next ? 1 : 0;
  const schedule_relation *r = &st->relations[part->used_by];
  if (r->is_fuse) return 0;
  int64_t block = 1;
  for (int i = 1; i < r->n; i++) block *= st->axes[r->many[i]].extent;
  return st->axes[r->many[0]].used_by < 0 && st->axes[r->many[0]].annotation != SCHEDULE_NONE ? 0 : block;
}

/* How long the parts should be that relation R cuts, which threads share by loop SHARED; 0: as they are. With numbers a part for each thread may be
 * right. A symbol decides how many parts of one length there are: only when they are many are the threads busy alike. */
static int64_t part_length(const tn_schedule *s, const schedule_stage *st, const schedule_relation *r, int shared,
                           int threads) {
  if (r->is_fuse || r->n != 2 || !r->inner_to_outer || !st->axes[r->one].size || is_attached_at(s, st, r->many[0]))
    return 0;
  int64_t length = st->axes[r->many[1]].extent, block = block_of(st, r->many[1], shared);
  int64_t shortest = schedule_least_extent(s, &st->axes[r->one]),
          wanted = threads > 1 ? (int64_t)PARTS_PER_THREAD * threads : 1;
  if (block < 1 || length <= block || (shortest + length - 1) / length >= wanted) return 0;
  int64_t blocks = RUNTIME_MAX(shortest / wanted / block, 1);
  return RUNTIME_MIN(blocks * block, length);
}

/* The relation that made the loop, or one of those that it was fused of: the outermost that is a split. -1: none. */
static int cut_of(const schedule_stage *st, int axis) {
  int made_by = st->axes[axis].made_by;
  if (made_by < 0) return -1;
  const schedule_relation *r = &st->relations[made_by];
  if (!r->is_fuse) return r->many[0] == axis ? made_by : -1;
  for (int i = 0; i < r->n; i++) {
    int cut = st->axes[r->many[i]].size ? cut_of(st, r->many[i]) : -1;
    if (cut >= 0) return cut;
  }
  return -1;
}

/* Of a stage whose threads share a loop that a symbol decides. True: a length was changed. */
static bool shorten_parts(const tn_schedule *s, const schedule_stage *st, const made_split *made, int n, int threads,
                          int64_t *lengths) {
  bool changed = false;
  for (int l = 0; l < st->n_leaves; l++) {
    int cut = schedule_leaf(st, l)->annotation == SCHEDULE_PARALLEL ? cut_of(st, st->leaves[l]) : -1;
    int64_t length = cut < 0 ? 0 : part_length(s, st, &st->relations[cut], l, threads);
    for (int i = 0; i < n && length > 0; i++)
      if (made[i].tensor == st->tensors && made[i].relation == cut) lengths[i] = length, changed = true;
  }
  return changed;
}

/* Whether R cuts the axis of the first part of a sum that was taken apart, whose blocks are an axis beside it. */
static bool counts_blocks(const schedule_stage *st, const schedule_relation *r) {
  const schedule_axis *whole = &st->axes[r->one], *inner = &st->axes[r->many[1]];
  return whole->made_by < 0 && whole->kind == SCHEDULE_REDUCE && inner->used_by < 0 &&
         inner->annotation == SCHEDULE_NONE;
}

/* Blocks of these: what is no whole one tests each row, so it has to be a small part of all. Blocks of blocks of a data axis need not be
 * shorter, since each asks once whether it is full (tir/pass_partition.c). */
static int64_t block_length(const tn_schedule *s, const schedule_stage *st, const schedule_relation *r) {
  enum { FEW = 4, MANY = 32 };
  bool is_cut = !r->is_fuse && r->n == 2 && r->inner_to_outer && st->axes[r->one].size;
  if (!is_cut || !counts_blocks(st, r)) return 0;
  int64_t length = st->axes[r->many[1]].extent, shortest = schedule_least_extent(s, &st->axes[r->one]);
  if (length < 2 || shortest >= FEW * length || is_attached_at(s, st, r->many[0])) return 0;
  return RUNTIME_MAX(shortest / MANY, 1);
}

/* The loop over lanes that the blocks of relation R are split into. NULL: there is none, or R cuts no loop that a symbol decides. */
static const schedule_axis *lanes_inside(const schedule_stage *st, const schedule_relation *r) {
  bool is_cut = !r->is_fuse && r->n == 2 && r->inner_to_outer && st->axes[r->one].size;
  const schedule_axis *tile = is_cut ? &st->axes[r->many[1]] : NULL;
  const schedule_relation *inner = tile && tile->used_by >= 0 ? &st->relations[tile->used_by] : NULL;
  if (!inner || inner->is_fuse || inner->n != 2) return NULL;
  const schedule_axis *lanes = &st->axes[inner->many[1]];
  return lanes->annotation == SCHEDULE_VECTORIZE ? lanes : NULL;
}

/* Tiles of one row of vectors. A tail is computed as a whole tile with masks, so that a tile is to be a small part of the loop; and as many
 * vectors as additions are in flight lose nothing by being fewer. And a tile of a part of a vector fitted a number, of which it was a
 * divisor. */
static int64_t row_length(const tn_schedule *s, const schedule_stage *st, const schedule_relation *r) {
  enum { FEW = 4, IN_FLIGHT = 8 };
  const schedule_axis *lanes = lanes_inside(st, r);
  int64_t length = lanes ? st->axes[r->many[1]].extent : 0, least = schedule_least_extent(s, &st->axes[r->one]);
  if (lanes && length > IN_FLIGHT * lanes->extent && least < FEW * length) return IN_FLIGHT * lanes->extent;
  bool is_part = lanes && length > lanes->extent && length % lanes->extent != 0;
  return is_part ? (length + lanes->extent - 1) / lanes->extent * lanes->extent : 0;
}

static bool shorten_blocks(const tn_schedule *s, const schedule_stage *st, const made_split *made, int n,
                           int64_t *lengths) {
  bool changed = false;
  for (int i = 0; i < n; i++) {
    if (made[i].tensor != st->tensors) continue;
    const schedule_relation *r = &st->relations[made[i].relation];
    int64_t blocks = block_length(s, st, r), length = blocks > 0 ? blocks : row_length(s, st, r);
    if (length > 0 && (lengths[i] == 0 || length < lengths[i])) lengths[i] = length, changed = true;
  }
  return changed;
}

/* COPY is S with the steps; it becomes one whose parts are shorter, where that is possible. */
static tn_status share_evenly(const tn_schedule *s, tn_schedule *copy, const tn_schedule *steps, bool keeps_fused,
                              const made_split *made, int threads) {
  int64_t *lengths = RUNTIME_NEW_ARRAY(&copy->arena, int64_t, steps->n_steps + 1);
  bool changed = false;
  if (!lengths) return TN_ERROR_MEMORY;
  for (int i = 0; i < copy->n_stages; i++)
    changed |= shorten_parts(copy, &copy->stages[i], made, steps->n_steps, threads, lengths) |
               shorten_blocks(copy, &copy->stages[i], made, steps->n_steps, lengths);
  tn_schedule *other = changed ? tn_schedule_copy(s) : NULL;
  if (!other) return changed ? TN_ERROR_MEMORY : TN_OK;
  tn_status status = replay_all(other, steps, keeps_fused, lengths, NULL);
  if (status == TN_OK) schedule_swap_contents(copy, other);
  tn_schedule_free(other);
  return status == TN_ERROR_MEMORY ? status : TN_OK;
}

static tn_status replay(tn_schedule *s, const tn_schedule *steps, bool keeps_fused, int threads) {
  tn_schedule *copy = tn_schedule_copy(s);
  made_split *made = copy ? RUNTIME_NEW_ARRAY(&copy->arena, made_split, steps->n_steps + 1) : NULL;
  tn_status status = made ? replay_all(copy, steps, keeps_fused, NULL, made) : TN_ERROR_MEMORY;
  if (status == TN_OK) status = share_evenly(s, copy, steps, keeps_fused, made, threads);
  if (status == TN_OK) copy->is_replayed = true;
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}

tn_status schedule_replay_symbolic(tn_schedule *s, const tn_schedule *steps, int threads) {
  tn_status status = replay(s, steps, false, threads);
  return status == TN_OK || status == TN_ERROR_MEMORY ? status : replay(s, steps, true, threads);
}
