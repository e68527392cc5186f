/* generic_scans.c: scans under a generic schedule. A scan and its steps keep their loops and places, with vectors along the last axis.
 * A scan without steps whose elements depend on the same elements of earlier times alone may go by columns, in parts that threads
 * share; and where an input lies along the time, some times of a vector of columns are turned at once:
 *
 *     for i.part: for t.block: for i.vector:
 *       X'[t, i] = X[i, t] for the block's times;  S[t, i] = S[t-1, i] + X'[t, i], written out */
#include "schedule/cost.h"
#include "schedule/edit.h"
#include "schedule/generic.h"

enum { MAX_TURNED = 4 };

/* A scan by itself. */
typedef struct scan {
  const tn_tensor *state;
  int last;                               /* the axis of vectors */
  int64_t block, part;                    /* times that are turned at once, 0: nothing is; columns of a part, 0: all */
  bool has_threads;                       /* threads share the parts */
  int n;                                  /* what lies along the time: */
  const tn_tensor *inputs[MAX_TURNED];    /* ... */
  const tn_tensor *copies[MAX_TURNED];    /* ... what they are turned into, once realized ... */
  int time[MAX_TURNED], lane[MAX_TURNED]; /* ... and their dimensions that go with the time and with the vectors */
} scan;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static bool is_state(const te_op *op, const tn_tensor *tensor) { return tensor->op == op; }

/* Whether TENSOR is read at one place alone: what lies between several would be copied with them. */
static bool is_read_once(const generic_reads *r, const tn_tensor *tensor) {
  int n = 0;
  for (int i = 0; i < r->n; i++) n += r->reads[i].tensor == tensor;
  return n == 1;
}

static bool is_turned(const generic_reads *r, const generic_read *read, int last) {
  return !is_state(r->op, read->tensor) && read->is_known[0] && read->is_known[last] && !read->block[0] &&
         !read->block[last] && read->stride[0] == 1 && read->stride[last] > 1 && read->dim[0] >= 0 &&
         read->dim[last] >= 0 && is_read_once(r, read->tensor);
}

/* What is read against the grain. */
static void find_turned(const generic_reads *r, scan *s) {
  for (int i = 0; i < r->n && s->n < MAX_TURNED; i++) {
    const generic_read *read = &r->reads[i];
    if (!is_turned(r, read, s->last)) continue;
    s->time[s->n] = read->dim[0], s->lane[s->n] = read->dim[s->last];
    s->inputs[s->n++] = read->tensor;
  }
}

/* A line of times where rows are whole lines, so that each is read once; else a half of one, since longer loads would span two. */
static int64_t times_at_once(const tn_tensor *input, int64_t times) {
  int64_t bytes = (int64_t)tn_dtype_bytes(input->dtype), line = RUNTIME_MAX(COST_LINE / bytes, 2);
  return times % line == 0 ? line : RUNTIME_MAX(line / 2, 2);
}

/* Even parts, as many for each thread, each whole vectors whose lines of what is turned stay in the first cache. */
static void choose_parts(const generic_draft *p, int64_t columns, int64_t lanes, scan *s) {
  int64_t vectors = (columns + lanes - 1) / lanes, near = RUNTIME_MAX(p->machine.cache_bytes[1] / COST_LINE / lanes, 1);
  int64_t parts = s->n > 0 ? (vectors + near - 1) / near : 1, threads = s->has_threads ? p->machine.threads : 1;
  parts = (parts + threads - 1) / threads * threads;
  if (parts > 1) s->part = (vectors + parts - 1) / parts * lanes;
  if (s->part >= columns) s->part = 0;
  s->has_threads &= s->part > 0;
}

/* False: it stays as it is. */
static bool describe(const generic_draft *p, int stage, scan *s) {
  generic_reads r;
  const te_op *op = p->s->stages[stage].op;
  int64_t lanes = generic_lanes(p, stage);
  *s = (scan){.state = p->s->stages[stage].tensors, .last = op->n_axes - 1};
  if (s->last < 1 || lanes < 2 || op->axes[s->last]->extent < lanes || !generic_is_untouched(p, stage)) return false;
  if (!generic_read_scan(p, stage, &r)) return false;
  find_turned(&r, s);
  s->has_threads = generic_is_worth_threads(p, generic_cost_ns(p, &r));
  if (s->n > 0) s->block = times_at_once(s->inputs[0], r.extent[0]);
  choose_parts(p, r.extent[s->last], lanes, s);
  return r.extent[0] > s->block && (s->n > 0 || s->has_threads);
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* The scan's loops; *LOOP: that around the times of a block. */
static bool arrange(generic_draft *p, int stage, const scan *s, int *loop) {
  int part = -1, columns = s->last, vector, lane, blocks = 0, time = -1, order[SCHEDULE_MAX_AXES], n = 0;
  if (s->part > 0 && !generic_split(p, stage, columns, s->part, &part, &columns)) return false;
  if (!generic_split_vector(p, stage, columns, 1, &vector, &lane)) return false;
  if (s->block > 0 && !generic_split(p, stage, 0, s->block, &blocks, &time)) return false;
  if (part >= 0) order[n++] = part;
  order[n++] = blocks;
  for (int a = 1; a < s->last; a++) order[n++] = a;
  if (vector >= 0) order[n++] = vector;
  *loop = order[n - 1];
  if (time >= 0) order[n++] = time;
  order[n++] = lane;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, lane, SCHEDULE_VECTORIZE) &&
         (time < 0 || generic_annotate(p, stage, time, SCHEDULE_UNROLL)) &&
         (!s->has_threads || generic_annotate(p, stage, part, SCHEDULE_PARALLEL));
}

/* A block of an input, turned. */
static bool arrange_copy(generic_draft *p, const tn_tensor *copy, const scan *s, int i, int loop) {
  int stage = generic_stage(p, copy), at = generic_stage(p, s->state), order[SCHEDULE_MAX_AXES], n = 0;
  int position = schedule_leaf_position(&p->s->stages[at], loop);
  if (position < 0 || schedule_compute_at(p->s, stage, at, position) != TN_OK) return false;
  for (int a = 0; a < copy->ndim; a++)
    if (a != s->time[i] && a != s->lane[i]) order[n++] = a;
  order[n++] = s->time[i], order[n++] = s->lane[i];
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, s->lane[i], SCHEDULE_VECTORIZE) &&
         generic_annotate(p, stage, s->time[i], SCHEDULE_UNROLL) && generic_store_last(p, stage, s->lane[i]);
}

/* A scan that reads across its columns is refused. */
static bool realize(generic_draft *p, const generic_group *g, const void *data) {
  scan *s = *(scan *const *)data;
  int loop;
  (void)g;
  for (int i = 0; i < s->n; i++) {
    int from = generic_stage(p, s->inputs[i]), reader = generic_stage(p, s->state);
    if (from < 0 || schedule_cache_read(p->s, from, "local", 1, &reader) != TN_OK) return false;
    s->copies[i] = p->s->stages[from + 1].tensors;
  }
  if (!arrange(p, generic_stage(p, s->state), s, &loop)) return false;
  for (int i = 0; i < s->n; i++)
    if (!arrange_copy(p, s->copies[i], s, i, loop)) return false;
  return true;
}

/* Elements of one time do not depend on each other. Reductions stay as they are. */
static void vectorize_step(generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int last = st->op->n_axes - 1, outer, inner;
  if (last < 1 || st->op->n_reduce > 0 || st->attach == SCHEDULE_INLINED || st->axes[last].used_by >= 0) return;
  if (st->axes[last].extent < generic_lanes(p, stage)) return;
  if (generic_split_vector(p, stage, last, 1, &outer, &inner)) generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE);
}

static bool take(generic_taken *t, const schedule_stage *st) {
  bool ok = true;
  for (int v = 0; ok && v < st->n_tensors; v++) ok = RUNTIME_PUSH(&t->tensors, &st->tensors[v]);
  return ok;
}

/* What one thread takes for the steps of a scan, the LAST of the stages, which stand before it, and for the scan itself. */
static double steps_ns(const generic_draft *p, int last, const bool *steps) {
  double ns = 0;
  generic_reads r;
  for (int k = 0; k <= last; k++) {
    if (!steps[k]) continue;
    if (k == last ? generic_read_scan(p, k, &r) : generic_read_all(p, k, &r)) ns += generic_cost_ns(p, &r);
  }
  return ns;
}

/* Copies of inputs that steps read move the stages behind them. */
static bool take_steps(generic_draft *p, generic_taken *t, int last, const bool *steps) {
  const tn_tensor *tensors[SCHEDULE_MAX_STAGES];
  int n = 0;
  for (int k = 0; k <= last; k++) {
    if (!steps[k]) continue;
    tensors[n++] = p->s->stages[k].tensors;
    if (!take(t, &p->s->stages[k])) return false;
  }
  bool is_shared = generic_share_scan(p, last, steps_ns(p, last, steps));
  for (int i = 0; i < n; i++)
    if (!generic_tile_step(p, t, generic_stage(p, tensors[i]), is_shared))
      vectorize_step(p, generic_stage(p, tensors[i]));
  return true;
}

/* A scan that has no steps. */
static bool take_alone(generic_draft *p, generic_taken *t, int stage) {
  const tn_tensor *state = p->s->stages[stage].tensors;
  scan s, *at = &s;
  bool ok = take(t, &p->s->stages[stage]);
  if (!describe(p, stage, &s) || !generic_attempt(p, NULL, realize, &at, NULL, 0))
    return vectorize_step(p, generic_stage(p, state)), ok;
  for (int i = 0; ok && i < s.n; i++) ok = RUNTIME_PUSH(&t->tensors, s.copies[i]);
  return ok;
}

bool generic_take_scans(generic_draft *p, generic_taken *t) {
  bool steps[SCHEDULE_MAX_STAGES], ok = true;
  for (int i = 0; ok && i < p->s->n_stages; i++) {
    if (p->s->stages[i].op->kind != TE_SCAN || generic_is_taken(t, p->s->stages[i].tensors)) continue;
    bool has_steps = false;
    schedule_find_steps(p->s, i, steps);
    for (int k = 0; k < i; k++) has_steps |= steps[k];
    steps[i] = true;
    ok = has_steps ? take_steps(p, t, i, steps) : take_alone(p, t, i);
  }
  return ok;
}
