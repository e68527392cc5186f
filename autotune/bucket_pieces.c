/* bucket_pieces.c: where between two sizes another schedule is worth its code. The families' costs say it: that of the plan which serves a
 * size, beside that of the best plan for the size. Costs are asked at some sizes only, a fourth apart. */
#include "autotune/bucket_pieces.h"

#include <math.h>

/* How much longer than the best plan a plan may take before another is made. */
static const double most_behind = 1.1;

/* The plans of one size, as text that plans of other sizes are fitted from. */
typedef struct anchor {
  int64_t size;
  char *text; /* NULL: there are none, the program has no groups or other groups there */
} anchor;

typedef struct cutting {
  const bucket_range *range;
  bucket_piece *pieces;
  int n;
} cutting;

static schedule_plans *plans_at(const bucket_range *range, int64_t size) {
  tn_program *program = te_within(range->program, 0, size, size);
  return program ? schedule_plans_new(program, range->machine) : NULL;
}

/* By the plans of size PLANNED, which serve as SIZE's. */
static anchor anchor_at(const bucket_range *range, int64_t size, int64_t planned) {
  anchor a = {.size = size};
  schedule_plans *plans = size > 0 ? plans_at(range, planned) : NULL;
  int n = plans ? schedule_plans_count(plans) : 0;
  schedule_plan *best = n > 0 ? calloc((size_t)n, sizeof *best) : NULL;
  if (best) {
    schedule_plans_best(plans, best);
    a.text = schedule_plans_text(plans, best);
  }
  free(best);
  schedule_plans_free(plans);
  return a;
}

/* How many times as long as the best plans of the size the anchor's take there; 1 where nothing can be said. */
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

/* What is known of a size that is looked at. */
typedef struct comparison {
  double by_now, by_other; /* how far behind the anchors' plans are */
  bool is_same;            /* the best plans are those of the first anchor */
} comparison;

static comparison compare_at(const bucket_range *range, int64_t size, const anchor *now, const anchor *other) {
  comparison out = {1, 1, true};
  schedule_plans *plans = plans_at(range, size);
  int n = plans ? schedule_plans_count(plans) : 0;
  schedule_plan *best = n > 0 ? calloc((size_t)n, sizeof *best) : NULL;
  if (best) {
    schedule_plans_best(plans, best);
    char *text = schedule_plans_text(plans, best);
    out.by_now = behind(plans, best, now);
    out.by_other = other->text ? behind(plans, best, other) : INFINITY;
    out.is_same = !text || strcmp(text, now->text) == 0;
    free(text);
  }
  free(best);
  schedule_plans_free(plans);
  return out;
}

/* Vectors of f32. */
static int64_t lanes_of(const bucket_range *range) {
  return RUNTIME_MAX(range->machine->vector_bytes / (int64_t)sizeof(float), 1);
}

/* Up to here a tile may be as wide as the symbol, so that the number of vectors that it has decides. */
static int64_t last_of_vectors(const bucket_range *range) {
  enum { VECTORS = 6 };
  return VECTORS * lanes_of(range);
}

/* Up to here half a vector more is a large part. */
static int64_t last_of_halves(const bucket_range *range) { return last_of_vectors(range) / 2; }

/* A size that is no whole number of blocks: plans of others may be for just that number. */
static int64_t odd_within(const bucket_range *range, int64_t size) {
  if (size % 2 == 1) return size;
  return size > range->first ? size - 1 : RUNTIME_MIN(size + 1, range->last);
}

/* Costs are right to some ten percent, so a plan that is as good as the best by its cost need not be. Far from the size that it was made
 * for another takes its place all the same: the static kernel of the size has that one. */
static bool is_worth_a_cut(const bucket_range *range, const comparison *c, const anchor *now, int64_t size) {
  bool is_far = size >= 2 * now->size || 2 * size <= now->size || size <= last_of_vectors(range);
  return !c->is_same && (c->by_now > most_behind || is_far);
}

/* The next size to look at: a fourth further away, or where there are as many vectors as in no size looked at, and the end of the range
 * for sure. */
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

/* The last piece ends beside SIZE, where another begins. */
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

/* From the schedule that there is at one end of the range to the other end. The other end's schedule serves as soon as it can. */
static void walk(cutting *c, anchor *now, const anchor *other, bool upward) {
  const bucket_range *range = c->range;
  int64_t size = upward ? range->first : range->last;
  for (; size > 0 && c->n < BUCKET_MAX_PIECES; size = next_size(range, size, upward)) {
    int64_t odd = odd_within(range, size);
    comparison at = compare_at(range, odd, now, other);
    if (!is_worth_a_cut(range, &at, now, size)) continue;
    bool is_other = size > last_of_vectors(range) && at.by_other <= RUNTIME_MIN(at.by_now, most_behind);
    anchor made = is_other ? (anchor){.size = other->size, .text = strdup(other->text)} : anchor_at(range, odd, odd);
    free(now->text);
    *now = made;
    part_at(c, size, made.size, upward);
    if (!now->text) return;
  }
}

static void reverse(bucket_piece *pieces, int n) {
  for (int i = 0; i < n / 2; ++i) {
    bucket_piece kept = pieces[i];
    pieces[i] = pieces[n - 1 - i];
    pieces[n - 1 - i] = kept;
  }
}

/* What a program refuses at one size only says nothing of the others. */
tn_status bucket_cut(const bucket_range *range, bucket_piece *out, int *n) {
  bool upward = range->above == 0;
  runtime_quiet quiet = runtime_quiet_begin(range->program->ctx);
  anchor now = anchor_at(range, upward ? range->below : range->above, upward ? range->first : range->last);
  anchor other = anchor_at(range, upward ? 0 : range->below, range->first);
  cutting c = {range, out, 1};
  out[0] = (bucket_piece){range->first, range->last, now.size};
  if (now.text) walk(&c, &now, &other, upward);
  free(now.text);
  free(other.text);
  runtime_quiet_end(&quiet);
  if (!upward) reverse(out, c.n);
  *n = c.n;
  return tn_context_status(range->program->ctx) == TN_ERROR_MEMORY ? TN_ERROR_MEMORY : TN_OK;
}
