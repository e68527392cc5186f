/* bucket_pieces.c: decides where between two sizes another schedule is worth its code. It asks the
 * families' analytic costs: of the plan that serves a value, and of the best plan for that value. Costs are
 * asked only at some sizes, each a fourth away from the last. */
#include "autotune/bucket_pieces.h"
#include "schedule/state.h"

#include <math.h>

/* A plan may cost so many times the best plan for a size before another one takes over. */
static const double most_behind = 1.1;

/* The plans of one size, as text from which plans for other sizes are fitted, and the schedule that they make of the size which
 * serves: one plan may join rows of one size and split those of another. */
typedef struct anchor {
  int64_t size;
  char *text;         /* NULL: there are no plans, because the program has no groups or other groups there */
  tn_schedule *steps; /* NULL: nobody knows */
} anchor;

/* The range that is being cut, and the pieces so far. */
typedef struct cutting {
  const bucket_range *range;
  bucket_piece *pieces;
  int n;
} cutting;

/* The plans of the program with the number SIZE; NULL: the program is refused there. For the caller to free. */
static schedule_plans *plans_at(const bucket_range *range, int64_t size) {
  tn_program *program = te_within(range->program, 0, size, size);
  return program ? schedule_plans_new(program, range->machine) : NULL;
}

/* The schedule of the best plans of SIZE. NULL: there is none. *TEXT, where it is wanted, are the plans. */
static tn_schedule *best_at(const bucket_range *range, int64_t size, char **text) {
  schedule_plans *plans = plans_at(range, size);
  int n = plans ? schedule_plans_count(plans) : 0;
  schedule_plan *best = n > 0 ? calloc((size_t)n, sizeof *best) : NULL;
  tn_schedule *steps = NULL;
  if (best) {
    schedule_plans_best(plans, best);
    if (text) *text = schedule_plans_text(plans, best);
    steps = schedule_plans_realize(plans, best);
  }
  free(best);
  schedule_plans_free(plans);
  return steps;
}

/* SIZE, or the one behind it, which serves in its place: see autotune/buckets.c. */
static int64_t serving_size(const bucket_range *range, int64_t size) {
  return size % 2 == 1 ? size : RUNTIME_MIN(size + 1, range->program->symbols[0]->extent);
}

/* An anchor for SIZE, made from the best plans of size PLANNED. */
static anchor anchor_at(const bucket_range *range, int64_t size, int64_t planned) {
  anchor a = {.size = size};
  if (size <= 0) return a;
  a.steps = best_at(range, planned, &a.text);
  if (serving_size(range, size) == planned) return a;
  tn_schedule_free(a.steps);
  a.steps = best_at(range, serving_size(range, size), NULL);
  return a;
}

static anchor anchor_copy(const anchor *a) {
  return (anchor){a->size, strdup(a->text), a->steps ? tn_schedule_copy(a->steps) : NULL};
}

static void anchor_free(anchor *a) {
  free(a->text);
  tn_schedule_free(a->steps);
}

/* Whether other lengths of blocks are other loops: of tiles, and where loops are parted at the borders of arrays, whose blocks test each
 * element. Vectors alone may be longer: what is left of them has code for each number of registers. */
static bool is_of_lengths(const tn_schedule *s) {
  int splits = 0;
  for (int i = 0; i < s->n_steps; i++) {
    splits += s->steps[i].kind == SCHEDULE_STEP_SP;
    if (s->steps[i].kind == SCHEDULE_STEP_PR) return true;
  }
  return splits > 1;
}

/* Less than twice as long as the other. */
static bool is_near(int64_t a, int64_t b) { return a < 2 * b && b < 2 * a; }

static bool is_like_step(const schedule_step *a, const schedule_step *b, bool by_length) {
  bool is_like = a->kind == b->kind && a->stage == b->stage && a->iter == b->iter && a->n == b->n;
  for (int i = 0; is_like && by_length && a->kind == SCHEDULE_STEP_SP && i < a->n; i++)
    is_like = is_near(a->list[i], b->list[i]);
  return is_like;
}

/* Whether both make the same loops, with blocks of about one length where that matters. Unknown ones are alike. */
static bool is_alike(const tn_schedule *a, const tn_schedule *b) {
  if (!a || !b) return true;
  bool is_like = a->n_steps == b->n_steps, by_length = is_of_lengths(a);
  for (int i = 0; is_like && i < a->n_steps; i++) is_like = is_like_step(&a->steps[i], &b->steps[i], by_length);
  return is_like;
}

/* How many times as long as the best plans of a size the anchor's plans take there, by cost; 1 when this
 * cannot be told. */
static double behind(const schedule_plans *plans, const schedule_plan *best, const anchor *a) {
  int n = schedule_plans_count(plans);
  schedule_plan *fitted = a->text ? calloc((size_t)n, sizeof *fitted) : NULL;
  double ratio = 1;
  if (fitted) {
    memcpy(fitted, best, sizeof *fitted * (size_t)n);
    bool fits = schedule_plans_fit(plans, a->text, fitted) == TN_OK;
    ratio = fits ? schedule_plans_cost(plans, fitted) / schedule_plans_cost(plans, best) : INFINITY;
  }
  free(fitted);
  return isnan(ratio) ? 1 : ratio;
}

bool bucket_streams(const tn_schedule *s) {
  for (int i = 0; i < s->n_stages; ++i)
    for (int l = 0; l < s->stages[i].n_leaves; ++l)
      if (schedule_pragma_value(schedule_leaf(&s->stages[i], l), SCHEDULE_PRAGMA_STREAM) > 0) return true;
  return false;
}

/* Whether one of them stores vectors past the caches and the other does not. Unknown ones are alike. */
static bool stores_otherwise(const tn_schedule *a, const tn_schedule *b) {
  return a && b && bucket_streams(a) != bucket_streams(b);
}

/* What was found at one size. */
typedef struct comparison {
  double by_now, by_other;         /* how far the plans of the current anchor, and of the other end's, are behind */
  bool is_same;                    /* the best plans are the current anchor's */
  bool is_like_now, is_like_other; /* the loops that they make are like the anchor's, like the other end's */
  bool stores_otherwise, other_stores_otherwise; /* than the anchor's, than the other end's */
} comparison;

/* OTHER has no text: by_other is INFINITY. */
static comparison compare_at(const bucket_range *range, int64_t size, const anchor *now, const anchor *other) {
  comparison out = {1, 1, true, true, true, false, false};
  schedule_plans *plans = plans_at(range, size);
  int n = plans ? schedule_plans_count(plans) : 0;
  schedule_plan *best = n > 0 ? calloc((size_t)n, sizeof *best) : NULL;
  if (best) {
    schedule_plans_best(plans, best);
    char *text = schedule_plans_text(plans, best);
    tn_schedule *steps = schedule_plans_realize(plans, best);
    out.by_now = behind(plans, best, now);
    out.by_other = other->text ? behind(plans, best, other) : INFINITY;
    out.is_same = !text || strcmp(text, now->text) == 0;
    out.is_like_now = is_alike(steps, now->steps), out.is_like_other = is_alike(steps, other->steps);
    out.stores_otherwise = stores_otherwise(steps, now->steps);
    out.other_stores_otherwise = stores_otherwise(steps, other->steps);
    tn_schedule_free(steps);
    free(text);
  }
  free(best);
  schedule_plans_free(plans);
  return out;
}

/* Elements of f32 in a vector. */
static int64_t lanes_of(const bucket_range *range) {
  return RUNTIME_MAX(range->machine->vector_bytes / (int64_t)sizeof(float), 1);
}

/* Up to this size the number of vectors decides. */
static int64_t last_of_vectors(const bucket_range *range) { return BUCKET_VECTORS * lanes_of(range); }

/* Up to this size half a vector more makes a large difference. */
static int64_t last_of_halves(const bucket_range *range) { return last_of_vectors(range) / 2; }

/* A size near SIZE that is no whole number of blocks. The plans of an even one may fit just that number. */
static int64_t odd_within(const bucket_range *range, int64_t size) {
  if (size % 2 == 1) return size;
  return size > range->first ? size - 1 : RUNTIME_MIN(size + 1, range->last);
}

/* Whether another plan should take over at SIZE. Costs are accurate to about ten per cent, so a plan that
 * seems as good as the best may not be. Far from the size that it was made for another one takes over
 * anyway: the static kernel for that size has it, too. And so it does where the same plan makes other loops, and where vectors begin to be
 * stored past the caches: which of both is right, costs say only about, and the wrong one takes twice as long. */
static bool is_worth_a_cut(const bucket_range *range, const comparison *c, const anchor *now, int64_t size) {
  bool is_far = size >= 2 * now->size || 2 * size <= now->size || size <= last_of_vectors(range);
  if (c->stores_otherwise) return true;
  return c->is_same ? !c->is_like_now : c->by_now > most_behind || is_far;
}

/* The next size to look at: a fourth further away, or the next number of vectors where that is nearer, and
 * in any case the end of the range. */
static int64_t next_size(const bucket_range *range, int64_t size, bool upward) {
  int64_t last = last_of_vectors(range), lanes = last_of_halves(range) < size ? lanes_of(range) : lanes_of(range) / 2;
  int64_t below = (size - 1) / lanes * lanes;
  if (upward && size < last && size < range->last)
    return RUNTIME_MIN((size + lanes - 1) / lanes * lanes + 1, range->last);
  if (!upward && size > range->first && size - RUNTIME_MAX(size / 5, 1) < last && below >= range->first)
    return RUNTIME_MIN(below, last);
  if (upward) return size < range->last ? RUNTIME_MIN(size + RUNTIME_MAX(size / 4, 1), range->last) : 0;
  return size > range->first ? RUNTIME_MAX(size - RUNTIME_MAX(size / 5, 1), range->first) : 0;
}

/* The size beside which vectors are stored otherwise than by NOW: between BEFORE, where they are not, and SIZE. */
static int64_t border_of_stores(const bucket_range *range, const anchor *now, int64_t before, int64_t size) {
  while (llabs(size - before) > 1) {
    int64_t middle = before + (size - before) / 2;
    tn_schedule *steps = best_at(range, odd_within(range, middle), NULL);
    if (stores_otherwise(steps, now->steps))
      size = middle;
    else
      before = middle;
    tn_schedule_free(steps);
  }
  return size;
}

/* Ends the last piece beside SIZE, where a piece that SERVER serves begins. */
static void part_at(cutting *c, int64_t size, int64_t server, bool upward) {
  bucket_piece *last = &c->pieces[c->n - 1];
  bucket_piece next = *last;
  if (upward)
    last->last = size - 1, next.first = size;
  else
    last->first = size + 1, next.last = size;
  next.size = server;
  if (last->first > last->last)
    *last = next;
  else
    c->pieces[c->n++] = next;
}

/* Walks from the end of the range where NOW serves to the other end, and begins a piece wherever that is
 * worth it. OTHER, the schedule at the other end, serves as soon as it is good enough. */
static void walk(cutting *c, anchor *now, const anchor *other, bool upward) {
  const bucket_range *range = c->range;
  int64_t size = upward ? range->first : range->last, before = size;
  for (; size > 0 && c->n < BUCKET_MAX_PIECES; before = size, size = next_size(range, size, upward)) {
    int64_t odd = odd_within(range, size);
    comparison at = compare_at(range, odd, now, other);
    if (!is_worth_a_cut(range, &at, now, size)) continue;
    bool is_other = size > last_of_vectors(range) && at.by_other <= RUNTIME_MIN(at.by_now, most_behind) &&
                    (!at.is_same || at.is_like_other) && !at.other_stores_otherwise;
    int64_t from = at.stores_otherwise ? border_of_stores(range, now, before, size) : size;
    anchor made = is_other ? anchor_copy(other) : anchor_at(range, odd, odd);
    anchor_free(now);
    *now = made;
    part_at(c, from, made.size, upward);
    if (!now->text) return;
  }
}

/* A walk from the upper end makes the pieces in descending order. */
static void reverse(bucket_piece *pieces, int n) {
  for (int i = 0; i < n / 2; ++i) {
    bucket_piece kept = pieces[i];
    pieces[i] = pieces[n - 1 - i];
    pieces[n - 1 - i] = kept;
  }
}

/* A refusal at one size says nothing about the others, so messages are kept quiet. */
tn_status bucket_cut(const bucket_range *range, bucket_piece *out, int *n) {
  bool upward = range->above == 0;
  runtime_quiet quiet = runtime_quiet_begin(range->program->ctx);
  anchor now = anchor_at(range, upward ? range->below : range->above, upward ? range->first : range->last);
  anchor other = anchor_at(range, upward ? 0 : range->below, range->first);
  cutting c = {range, out, 1};
  out[0] = (bucket_piece){range->first, range->last, now.size};
  if (now.text) walk(&c, &now, &other, upward);
  anchor_free(&now);
  anchor_free(&other);
  runtime_quiet_end(&quiet);
  if (!upward) reverse(out, c.n);
  *n = c.n;
  return tn_context_status(range->program->ctx) == TN_ERROR_MEMORY ? TN_ERROR_MEMORY : TN_OK;
}
