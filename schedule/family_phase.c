/* family_phase.c: stages without a reduction whose elements come in turns: colours that lie behind each other, pairs of complex
 * numbers, images of twice the size, tiles of 2 x 2 that become channels. The turns are written out inside of the loop of vectors,
 * which go along what is left of the axis: conditions on them are known then, and what lies between the lanes of one turn's vectors
 * is what the others read and write (codegen/emit_stride.c, emit_weave.c).
 *
 *     for i.vector: { C[2*i + 0] = ...; C[2*i + 1] = ... } */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tir/linear.h"

enum { PHASE_AXES, PHASE_VECTORS, PHASE_STREAM, PHASE_THREADS, PHASE_FIELD_COUNT };
enum {
  MOST_TURNS = COST_MOST_APART,
  MOST_WRITTEN_OUT = 16,
  WAYS = 2,
  MOST_LANES = 64
}; /* lanes: longer vectors are loops */

/* Which turns are written out, and what a point takes then. */
typedef struct phase_way {
  int64_t turns[TN_MAX_RANK]; /* by axis; 1: it has none; the axis' extent: all of it is written out */
  int v, first;               /* the axis that vectors go along; the first of those that are one loop with it */
  bool has_borders;           /* along V: the loop around vectors is parted there */
  int64_t row;                /* elements of that loop without its turns */
  double written_out;         /* turns of all axes together */
  double ns;                  /* of all points, without what memory takes */
} phase_way;

typedef struct phase_facts {
  tn_machine machine;
  int n;
  phase_way ways[WAYS];
  int64_t lanes;
  double points, parts, ns, read, written;
  bool can_stream, is_one_row; /* one row: threads share its vectors */
} phase_facts;

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* After how many steps of a variable E comes again, or goes on by a whole number, where it is made of // and %. */
static int64_t period_of(const tir_expr *e) {
  int64_t divisor, inner = 1;
  for (int i = 0; i < e->n_args; i++) inner = RUNTIME_MAX(inner, period_of(e->arg[i]));
  bool divides = tir_class_of(e) == TIR_CLASS_DIVISION && tir_is_int(e->arg[1], &divisor) && divisor > 1;
  return divides && divisor <= MOST_TURNS && inner <= MOST_TURNS ? divisor * inner : inner;
}

typedef struct finding {
  const generic_reads *reads;
  int64_t turns[TN_MAX_RANK];
} finding;

/* The longest period of each axis that stands below a // or %. */
static tir_walk find_turns(void *user, const tir_expr *e) {
  finding *f = user;
  if (tir_class_of(e) != TIR_CLASS_DIVISION) return TIR_WALK_ON;
  int64_t period = period_of(e);
  for (int a = 0; a < f->reads->n_data; a++)
    if (period > 1 && tir_uses_var(e, &f->reads->op->axes[a]->var)) f->turns[a] = RUNTIME_MAX(f->turns[a], period);
  return TIR_WALK_ON;
}

/* Whether some read's lanes along V lie apart, and what lies between them is what AXIS goes over. */
static bool is_between(const generic_reads *r, int v, int axis) {
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[v] || !read->is_known[axis]) continue;
    int64_t apart = llabs(read->stride[v]);
    if (apart > 1 && apart <= MOST_TURNS && llabs(read->stride[axis]) == 1) return true;
  }
  return false;
}

/* A short last axis is written out wholly, and so are others that go over what lies between lanes; of longer ones whole periods. */
static void choose_turns(finding *f) {
  const generic_reads *r = f->reads;
  int last = r->n_data - 1;
  bool is_short = last > 0 && r->extent[last] > 1 && r->extent[last] <= MOST_TURNS;
  int v = is_short ? last - 1 : last;
  for (int a = 0; a < r->n_data; a++) {
    bool is_whole = a == last ? is_short : a != v && r->extent[a] <= MOST_TURNS && is_between(r, v, a);
    bool fits = f->turns[a] > 1 && f->turns[a] <= MOST_TURNS && r->extent[a] % f->turns[a] == 0;
    f->turns[a] = is_whole ? r->extent[a] : fits ? f->turns[a] : 1;
  }
}

/* ---- what a point takes ------------------------------------------------------------------------------------------ */

/* The body at one combination of turns, its axes counting whole periods. */
static const tir_expr *body_at(const generic_draft *d, const generic_reads *r, const tir_expr *body,
                               const phase_way *way, int64_t number) {
  tir_binding bindings[TN_MAX_RANK];
  tir_env ranges[TN_MAX_RANK];
  const tir_env *env = NULL;
  for (int a = 0; a < r->n_data; a++) {
    const tir_var *var = &r->op->axes[a]->var;
    int64_t turn = number % way->turns[a];
    number /= way->turns[a];
    const tir_expr *whole = tir_binary(d->arena, TIR_MUL, tir_var_expr(d->arena, var),
                                       tir_int(d->arena, (tn_dtype)var->dtype, way->turns[a]));
    bindings[a] =
        (tir_binding){var, tir_binary(d->arena, TIR_ADD, whole, tir_int(d->arena, (tn_dtype)var->dtype, turn))};
    ranges[a] = (tir_env){.outer = env, .var = var, .range = {0, r->extent[a] / way->turns[a] - 1}};
    env = &ranges[a];
  }
  const tir_expr *at = tir_substitute(d->arena, body, r->n_data, bindings);
  return at ? tir_simplify(d->arena, env, at) : NULL;
}

/* Elements between lanes of a read; false: nobody knows. */
static bool stride_along(const tir_expr *read, const tir_var *var, int64_t *stride) {
  int64_t step = 1;
  *stride = 0;
  for (int d = read->n_args - 1; d >= 0; step *= read->u.tensor->shape[d--]) {
    tir_linear form;
    tir_linear_zero(&form);
    if (!tir_linear_add_expr(&form, read->arg[d], 1)) return false;
    for (int i = 0; i < form.n; i++) {
      bool is_var = form.terms[i].atom->op == TIR_VAR && form.terms[i].atom->u.var == var;
      if (!is_var && tir_uses_var(form.terms[i].atom, var)) return false;
      *stride += is_var ? step * form.terms[i].coef : 0;
    }
  }
  return true;
}

/* Sums up what the reads of some bodies take, each read once; and operations of functions (exp, sqrt) that were met before. */
typedef struct counting {
  const tn_machine *m;
  const tir_var *var;
  double ns, again;
  int n;
  const tir_expr *met[GENERIC_MAX_READS];
} counting;

static tir_walk count_read(void *user, const tir_expr *e) {
  counting *c = user;
  int64_t stride;
  if (e->op != TIR_READ && tir_rule_of(e) != TIR_RULE_FLOAT) return TIR_WALK_ON;
  for (int i = 0; i < c->n; i++)
    if (tir_equal(c->met[i], e)) return c->again += e->op == TIR_READ ? 0 : generic_ops(e), TIR_WALK_PRUNE;
  if (c->n < GENERIC_MAX_READS) c->met[c->n++] = e;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  double bytes = (double)tn_dtype_bytes(e->u.tensor->dtype);
  c->ns += stride_along(e, c->var, &stride) ? cost_apart(c->m, bytes, stride) : c->m->costs.gather;
  return TIR_WALK_PRUNE;
}

/* Nanoseconds of all points: operations as everywhere, reads, and shuffles in front of stores that go by turns. */
static double ns_of(const generic_draft *d, const generic_reads *r, const tir_expr *body, const phase_way *way,
                    double points) {
  int n = (int)way->written_out, last = r->n_data - 1;
  double ops = 0, bytes = (double)tn_dtype_bytes(r->op->outputs->dtype);
  counting c = {.m = &d->machine, .var = &r->op->axes[way->v]->var};
  for (int i = 0; i < n; i++) {
    const tir_expr *at = body_at(d, r, body, way, i);
    if (!at) return INFINITY;
    (void)tir_walk_expr(at, count_read, &c);
    ops += generic_ops(at) + 1;
  }
  ops -= c.again;
  double stores = way->turns[last] > 1 ? cost_apart(&d->machine, bytes, way->turns[last]) : 0;
  double op = cost_fma(&d->machine, d->machine.vector_bytes) * 4 / d->machine.vector_bytes;
  return fmax(points * ops / n * op, generic_memory_ns(d, r)) + points * (c.ns / n + stores);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The loop of vectors: V, and what lies in front of it where all reads and the result go on from row to row. */
static void join_rows(const generic_draft *d, int stage, generic_reads *r, phase_way *way) {
  int last = r->n_data - 1;
  way->first = way->v;
  way->row = r->extent[way->v] / way->turns[way->v];
  if (way->v == last || !generic_is_of_reads(d, stage)) return;
  while (way->row < 4 * generic_lanes(d, stage) && way->first > 0 && way->turns[way->first - 1] == 1 &&
         generic_joins(r, way->first)) {
    way->first--;
    r->extent[way->first] *= r->extent[way->first + 1];
    way->row = r->extent[way->first];
  }
}

/* TURNS of axes; OTHERS: of those that vectors do not go along, too. False: there are none, or too many. */
static bool add_way(const generic_draft *d, int stage, const finding *f, bool others, phase_facts *facts) {
  phase_way *way = &facts->ways[facts->n];
  generic_reads r = *f->reads;
  int last = r.n_data - 1;
  bool is_whole = f->turns[last] == r.extent[last] && r.n_data > 1 && f->turns[last] > 1;
  *way = (phase_way){.v = is_whole ? last - 1 : last, .written_out = 1};
  way->has_borders = generic_has_borders(d, stage, way->v);
  const tir_expr *body = way->has_borders ? generic_body_inside(d, stage) : generic_body(d, stage);
  for (int a = 0; a < r.n_data; a++) {
    bool counts = a == last || (others && (a != way->v || !is_whole || f->turns[a] == 1)) || is_between(&r, way->v, a);
    way->turns[a] = counts ? f->turns[a] : 1;
    way->written_out *= (double)way->turns[a];
  }
  if (way->written_out < 2 || way->written_out > MOST_WRITTEN_OUT || !body) return false;
  way->ns = ns_of(d, &r, body, way, facts->points);
  join_rows(d, stage, &r, way);
  if (!isfinite(way->ns) || way->row < facts->lanes) return false;
  for (int i = 0; i < facts->n; i++)
    if (memcmp(facts->ways[i].turns, way->turns, sizeof way->turns) == 0) return false;
  facts->n++;
  return true;
}

/* A group of one stage without a reduction. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  const te_op *op = d->s->stages[stage].op;
  bool fits = g->n == 0 && g->n_windows == 0 && !g->anchor && op->n_reduce == 0 && op->n_outputs == 1;
  generic_reads r;
  phase_facts *f = fits && op->n_axes > 0 ? RUNTIME_NEW(d->arena, phase_facts) : NULL;
  if (!f || !generic_read_all(d, stage, &r) || generic_has_strides(d, stage, &r)) return NULL;
  finding turns = {.reads = &r};
  const tir_expr *body = generic_body(d, stage);
  if (!body || !tir_walk_expr(body, find_turns, &turns)) return NULL;
  choose_turns(&turns);
  *f = (phase_facts){.machine = d->machine, .points = 1, .lanes = generic_lanes(d, stage)};
  for (int a = 0; a < r.n_data; a++) f->points *= (double)r.extent[a];
  f->read = generic_read_bytes(&r), f->written = generic_bytes(g->root);
  add_way(d, stage, &turns, false, f);
  add_way(d, stage, &turns, true, f);
  if (f->n == 0) return NULL;
  f->ns = f->ways[0].ns;
  f->parts = f->points / (double)f->ways[0].row / f->ways[0].written_out;
  f->is_one_row = f->parts < 2;
  if (f->is_one_row) f->parts = (double)f->ways[0].row / (double)(f->lanes * 4);
  f->can_stream = generic_can_stream(d, stage, generic_row(d, stage), f->read + f->written);
  return f;
}

static void space(const void *facts, plan_space *s) {
  const phase_facts *f = facts;
  for (int n = 0; n < f->n; n++) plan_add(s, PHASE_AXES, n);
  for (int n = 1; n <= 4 && (n == 1 || n * f->lanes <= MOST_LANES); n *= 2) plan_add(s, PHASE_VECTORS, n);
  plan_add(s, PHASE_STREAM, 0);
  if (f->can_stream) plan_add(s, PHASE_STREAM, 1);
  plan_add(s, PHASE_THREADS, 0);
  if (f->parts >= 2 && generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, PHASE_THREADS, 1);
}

/* ---- the cost ---------------------------------------------------------------------------------------------------- */

/* A block that is moved back so that it ends with the row is done twice in part. */
static double cost(const void *facts, const int32_t *c) {
  const phase_facts *f = facts;
  const tn_machine *m = &f->machine;
  const phase_way *way = &f->ways[c[PHASE_AXES]];
  double vector = fmin((double)f->lanes * c[PHASE_VECTORS], (double)way->row), row = (double)way->row;
  double blocks = ceil(row / vector), rows = f->points / row / way->written_out;
  double ns = way->ns * blocks * vector / row + rows * (blocks + 1) * m->costs.chain;
  if (c[PHASE_VECTORS] > 1 && (double)f->lanes * c[PHASE_VECTORS] > row) return INFINITY;
  ns = cost_overlap(ns, cost_stream(m, f->read, f->written, c[PHASE_THREADS], c[PHASE_STREAM]));
  return c[PHASE_THREADS] ? cost_threads(m, ns, f->parts) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* Other axes and whole periods in order, vectors, turns, a vector. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const phase_facts *f = facts;
  const phase_way *way = &f->ways[c[PHASE_AXES]];
  int stage = generic_stage(d, g->root), n_axes = g->root->ndim, outer[TN_MAX_RANK], turns[TN_MAX_RANK], n_turns = 0;
  int order[SCHEDULE_MAX_AXES], n = 0, vectors = -1, vector, loop, n_fused;
  for (int a = 0; a < n_axes; a++) {
    bool is_whole = way->turns[a] > 1 && d->s->stages[stage].axes[a].extent == way->turns[a];
    outer[a] = is_whole ? -1 : a;
    if (way->turns[a] == 1) continue;
    turns[n_turns] = a;
    if (!is_whole && !generic_split(d, stage, a, way->turns[a], &outer[a], &turns[n_turns])) return false;
    n_turns++;
  }
  if (!generic_fuse(d, stage, way->v - way->first + 1, &outer[way->first], &vector)) return false;
  int64_t length = f->lanes * c[PHASE_VECTORS];
  bool shares_row = c[PHASE_THREADS] && f->is_one_row;
  tn_tail tail = shares_row ? TN_TAIL_PEEL : TN_TAIL_OVERLAP;
  if (way->row > length && !generic_split_as(d, stage, vector, length, tail, &vectors, &vector)) return false;
  if (way->has_borders && !generic_part_borders(d, stage, vectors)) return false;
  for (int a = 0; a < n_axes; a++)
    if (outer[a] >= 0 && (a < way->first || a > way->v)) order[n++] = outer[a];
  int n_shared = n;
  if (vectors >= 0) order[n++] = vectors;
  if (n_shared == 0 && vectors >= 0 && (shares_row || way->row % length == 0)) n_shared = 1;
  for (int i = 0; i < n_turns; i++) order[n++] = turns[i];
  order[n++] = vector;
  bool ok = generic_order(d, stage, n, order) && generic_annotate(d, stage, vector, SCHEDULE_VECTORIZE);
  for (int i = 0; ok && i < n_turns; i++) ok = generic_annotate(d, stage, turns[i], SCHEDULE_UNROLL);
  return ok && generic_parallel(d, stage, n_shared, order, c[PHASE_THREADS] ? INFINITY : 0, &loop, &n_fused) &&
         (!c[PHASE_STREAM] || generic_stream(d, stage));
}

static const plan_field fields[PHASE_FIELD_COUNT] = {
    [PHASE_AXES] = {"axes",
                    "whose turns are written out: 0: that vectors go along, and what lies between lanes; 1: all"},
    [PHASE_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [PHASE_STREAM] = {"stream", "1: what is written goes past the caches"},
    [PHASE_THREADS] = {"threads", "1: outer loops are shared among threads"},
};

PLAN_FAMILY(phase, PHASE_FIELD_COUNT);
