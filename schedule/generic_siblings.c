/* generic_siblings.c: results that are made of the same input without needing each other (sums, squares and extrema of rows) are
 * groups of their own. Where the outermost loops of two that follow each other are alike these run together, so that what both read
 * comes in once, and is in a near cache for the second. */
#include "schedule/cost.h"
#include "schedule/generic.h"

enum { MAX_DEPTH = 16 };

/* The stage at the root that STAGE is computed in; -1: it is inlined. */
static int root_of(const tn_schedule *s, int stage) {
  while (s->stages[stage].attach == SCHEDULE_AT) stage = s->stages[stage].at_stage;
  return s->stages[stage].attach == SCHEDULE_ROOT ? stage : -1;
}

/* Whether STAGE reads TENSOR, itself or through what is inlined. */
static bool reads(const tn_schedule *s, int stage, const tn_tensor *tensor, int depth) {
  const te_op *op = s->stages[stage].op;
  bool does = depth == 0; /* who knows */
  for (int k = 0; !does && k < op->n_inputs; k++) {
    int from = schedule_stage_of_tensor(s, op->inputs[k]);
    does = op->inputs[k] == tensor ||
           (from >= 0 && s->stages[from].attach == SCHEDULE_INLINED && reads(s, from, tensor, depth - 1));
  }
  return does;
}

/* Whether ROOT, or what is computed in it, does. */
static bool nest_reads(const tn_schedule *s, int root, const tn_tensor *tensor) {
  bool does = false;
  for (int i = 0; !does && i <= root; i++)
    does = root_of(s, i) == root && generic_is_computed(&s->stages[i]) && reads(s, i, tensor, MAX_DEPTH);
  return does;
}

static bool nest_reads_any_of(const tn_schedule *s, int root, int stage) {
  const schedule_stage *st = &s->stages[stage];
  bool does = false;
  for (int v = 0; v < st->n_tensors; v++) does |= nest_reads(s, root, &st->tensors[v]);
  return does;
}

/* Bytes of the inputs that both read and that no first cache holds. */
static double shared_bytes(const generic_draft *p, int a, int b) {
  const tn_schedule *s = p->s;
  double bytes = 0;
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    if (st->op->kind != TE_PLACEHOLDER || cost_level(&p->machine, generic_bytes(st->tensors)) < 2) continue;
    if (nest_reads(s, a, st->tensors) && nest_reads(s, b, st->tensors)) bytes += generic_bytes(st->tensors);
  }
  return bytes;
}

/* What may run together: an output's loops, nothing else. */
static bool is_candidate(const tn_schedule *s, int stage) {
  const schedule_stage *st = &s->stages[stage];
  return generic_is_computed(st) && st->attach == SCHEDULE_ROOT && schedule_is_output(s, stage) && st->n_leaves > 0;
}

/* The same iterations in the same way, as far as the schedule says. */
static bool is_alike(const schedule_axis *a, const schedule_axis *b) {
  bool same = a->extent == b->extent && a->extent > 1 && !a->size && !b->size && a->annotation == b->annotation &&
              a->kind == SCHEDULE_SPATIAL && b->kind == SCHEDULE_SPATIAL;
  for (int k = 0; k < SCHEDULE_PRAGMA_COUNT; k++)
    same &= schedule_pragma_value(a, k) < 0 && (k == SCHEDULE_PRAGMA_JOIN || schedule_pragma_value(b, k) < 0);
  return same && a->annotation != SCHEDULE_VECTORIZE;
}

/* What an iteration reads of what is shared has to stay until the second needs it. */
static bool pays(const generic_draft *p, int first, int second, int64_t iterations) {
  double bytes = shared_bytes(p, first, second);
  return bytes > 0 && cost_level(&p->machine, bytes / (double)iterations) < cost_level(&p->machine, bytes);
}

void generic_join_siblings(generic_draft *p) {
  tn_schedule *s = p->s;
  runtime_quiet quiet = runtime_quiet_begin(s->ctx);
  for (int i = 0, before = -1; i < s->n_stages; i++) {
    if (!generic_is_computed(&s->stages[i]) || s->stages[i].attach != SCHEDULE_ROOT) continue;
    int first = before;
    before = i;
    if (first < 0 || !is_candidate(s, first) || !is_candidate(s, i)) continue;
    const schedule_axis *a = schedule_leaf(&s->stages[first], 0), *b = schedule_leaf(&s->stages[i], 0);
    if (is_alike(b, a) && !nest_reads_any_of(s, i, first) && pays(p, first, i, b->extent))
      (void)schedule_pragma_join(s, i, 0);
  }
  runtime_quiet_end(&quiet);
}
