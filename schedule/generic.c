/* generic.c: schedules that are made without searching. Cheap stages are inlined, the others grouped: a group is a
 * stage and what is best computed inside its loops. The operator of a group is recognised by its structure, and its
 * family's file schedules it; a context may have schedules of its own for an operator (TVM: topi's schedules and their
 * registry). */
#include "schedule/cost.h"
#include "schedule/plan.h"

#include <math.h>
#include <stdio.h>

enum { MAX_INLINED_OPS = 400, REUSED = 3 };

typedef enum operator_kind {
#define X(name, text, what) OPERATOR_##name,
  TN_OPERATORS(X)
#undef X
      OPERATOR_COUNT
} operator_kind;

static const struct {
  const char *name, *what;
} operators[OPERATOR_COUNT] = {
#define X(name, text, what) [OPERATOR_##name] = {text, what},
    TN_OPERATORS(X)
#undef X
};

/* The family that a schedule asked for by an operator's name is of. */
static const schedule_family *family_of(operator_kind kind, const generic_group *g) {
  switch (kind) {
    case OPERATOR_INJECTIVE:
    case OPERATOR_BROADCAST: return g->n > 0 ? &schedule_family_rows : &schedule_family_points;
    case OPERATOR_REDUCE:
    case OPERATOR_POOL: return &schedule_family_reduce;
    case OPERATOR_SOFTMAX:
    case OPERATOR_NORMALIZATION: return &schedule_family_rows;
    case OPERATOR_DENSE:
    case OPERATOR_BATCH_MATMUL:
    case OPERATOR_CONV:
    case OPERATOR_DEPTHWISE: return &schedule_family_tile;
    case OPERATOR_COUNT: break;
  }
  return NULL;
}

static int find_operator(const char *name) {
  for (int i = 0; name && i < OPERATOR_COUNT; i++)
    if (strcmp(operators[i].name, name) == 0) return i;
  return -1;
}

/* "injective, broadcast, ... or depthwise", in a buffer of the caller. */
static const char *operator_names(char *buffer, size_t n) {
  size_t used = 0;
  for (int i = 0; i < OPERATOR_COUNT && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s",
                             i == 0                   ? ""
                             : i + 1 < OPERATOR_COUNT ? ", "
                                                      : " or ",
                             operators[i].name);
  return buffer;
}

/* ---- schedules of a context's own -------------------------------------------------------------------------------- */

typedef struct own_schedule {
  int kind; /* operator_kind */
  const char *cpu;
  tn_generic_fn fn;
  void *user;
  struct own_schedule *next; /* made before */
} own_schedule;

typedef struct own_schedules {
  own_schedule *last;
} own_schedules;

/* They lie in the context's arena and go with it. */
static own_schedules *own_of(tn_context *ctx, bool make) {
  own_schedules *own = runtime_slot_get(ctx, RUNTIME_SLOT_GENERICS);
  if (own || !make) return own;
  own = RUNTIME_NEW(&ctx->arena, own_schedules);
  if (own) runtime_slot_set(ctx, RUNTIME_SLOT_GENERICS, own, NULL);
  return own;
}

tn_status tn_generic_register(tn_context *ctx, const char *operator_name, const char *cpu, tn_generic_fn fn,
                              void *user) {
  char names[256];
  if (!ctx) return TN_ERROR_ARGUMENT;
  if (!fn)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_generic_register: the function is NULL: give the one to call");
  int kind = find_operator(operator_name);
  if (kind < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_generic_register: \"%s\" is no operator: %s",
                        operator_name ? operator_name : "", operator_names(names, sizeof names));
  own_schedules *own = own_of(ctx, true);
  own_schedule *entry = own ? RUNTIME_NEW(&ctx->arena, own_schedule) : NULL;
  const char *kept = cpu && own ? runtime_strdup(&ctx->arena, cpu) : NULL;
  if (!entry || (cpu && !kept)) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  *entry = (own_schedule){kind, kept, fn, user, own->last};
  own->last = entry;
  return TN_OK;
}

static const own_schedule *find_own(const generic_draft *p, int kind) {
  const own_schedules *own = own_of(p->s->ctx, false);
  for (const own_schedule *o = own ? own->last : NULL; o; o = o->next) {
    bool fits = !o->cpu || (p->machine.cpu && strcmp(o->cpu, p->machine.cpu) == 0);
    if (o->kind == kind && fits) return o;
  }
  return NULL;
}

/* ---- inlining ---------------------------------------------------------------------------------------------------- */

static bool is_computed(const schedule_stage *st) {
  return st->op->kind == TE_COMPUTE && st->attach != SCHEDULE_INLINED;
}

static double points(const te_op *op) {
  double n = 1;
  for (int a = 0; a < op->n_axes; a++) n *= (double)op->axes[a]->extent;
  for (int a = 0; a < op->n_reduce; a++) n *= (double)op->reduce_axes[a]->extent;
  return n;
}

static tir_walk stop_at_select(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_SELECT ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* What inlining into its readers would cost. */
typedef struct reuse {
  double reads;                        /* of each element */
  bool by_tile, by_window, by_channel; /* a register tile reads it; a convolution's; a depthwise one's or a pool's */
  int n_readers;
} reuse;

static reuse reuse_of(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int readers[SCHEDULE_MAX_STAGES];
  reuse u = {.n_readers = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers)};
  for (int i = 0; i < u.n_readers; i++) {
    generic_reads r;
    bool window, channel;
    double reads = 0;
    if (!generic_read_all(p, readers[i], &r)) return u.reads = INFINITY, u;
    for (int k = 0; k < r.n; k++) reads += schedule_has_tensor(st, r.reads[k].tensor);
    u.reads += reads * points(r.op) / points(st->op);
    u.by_tile |= generic_is_tileable(p, readers[i], &window, &channel);
    u.by_window |= window && !channel;
    u.by_channel |= channel;
  }
  return u;
}

/* Whether a tile that reads the stage would read vectors with a stride if it were inlined. */
static bool turns_reads(const generic_draft *p, int stage) {
  generic_draft draft = *p;
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  draft.s = tn_schedule_copy(p->s);
  bool turns = !draft.s || schedule_compute_inline(draft.s, stage) != TN_OK;
  for (int i = 0; !turns && i < n; i++) {
    bool window, channel;
    turns =
        generic_is_against_the_grain(&draft, readers[i]) || !generic_is_tileable(&draft, readers[i], &window, &channel);
  }
  tn_schedule_free(draft.s);
  return turns;
}

/* Copies nearly always; what is cheap, unless a tile would compute it again and again; what is costly, when it is read
 * once. A filter's padding is inlined where each value is used a few times only. */
static bool wants_inline(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  generic_reads r;
  if (!is_computed(st) || st->op->n_outputs > 1 || st->op->n_reduce > 0 || schedule_is_output(p->s, stage))
    return false;
  if (!generic_read_all(p, stage, &r) || r.ops > MAX_INLINED_OPS) return false;
  reuse u = reuse_of(p, stage);
  const tir_expr *body = generic_body(p, stage);
  bool is_copy = body && body->op == TIR_READ, is_costly = !schedule_is_cheap(st->op);
  bool selects = !body || !tir_walk_expr(body, stop_at_select, NULL);
  if (is_copy) return !u.by_tile || !turns_reads(p, stage);
  if (is_costly) return u.reads <= 1 && u.n_readers == 1;
  if (u.by_window) return false;
  if (u.by_channel || !u.by_tile) return !selects || u.reads <= 12;
  return u.reads < REUSED;
}

static void inline_stages(generic_draft *p) {
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  for (int i = 0; i < p->s->n_stages; i++)
    if (wants_inline(p, i)) (void)schedule_compute_inline(p->s, i);
  runtime_quiet_end(&quiet);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

const int8_t *generic_map_of(const generic_group *g, const tn_tensor *member) {
  for (int i = 0; i < g->n; i++)
    if (g->members[i] == member) return g->maps[i];
  return NULL;
}

static bool is_window_of(const generic_group *g, const tn_tensor *tensor) {
  for (int i = 0; i < g->n_windows; i++)
    if (g->windows[i] == tensor) return true;
  return false;
}

static bool has(const generic_group *g, const tn_tensor *tensor) {
  return is_window_of(g, tensor) || tensor == g->root || tensor == g->anchor || tensor == g->padding ||
         generic_map_of(g, tensor);
}

static bool is_read_only_by(const generic_draft *p, const generic_group *g, int stage, const tn_tensor *only) {
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool inside = n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; inside && i < n; i++) {
    const tn_tensor *reader = p->s->stages[readers[i]].tensors;
    inside = only ? reader == only : has(g, reader);
  }
  return inside;
}

/* Follows the reads of one stage of the group: an axis of TENSOR goes along with an axis of the root when every read
 * has it there as it is. MAP: -2: not read yet. */
static void follow_reads(const generic_draft *p, const generic_group *g, const tn_tensor *reader,
                         const tn_tensor *tensor, int8_t *map) {
  const int8_t *of_reader = generic_map_of(g, reader);
  generic_reads r;
  if (!generic_read_all(p, generic_stage(p, reader), &r)) {
    memset(map, -1, TN_MAX_RANK);
    return;
  }
  for (int i = 0; i < r.n; i++) {
    if (r.reads[i].tensor != tensor) continue;
    for (int f = 0; f < g->root->ndim; f++) {
      int axis = of_reader ? of_reader[f] : f, found = -1;
      for (int d = 0; axis >= 0 && d < tensor->ndim; d++)
        if (r.reads[i].plain[d] == axis) found = d;
      map[f] = (int8_t)(map[f] == -2 || map[f] == found ? found : -1);
    }
  }
}

static void map_axes(const generic_draft *p, const generic_group *g, const tn_tensor *tensor, int8_t *map) {
  memset(map, -2, TN_MAX_RANK);
  follow_reads(p, g, g->root, tensor, map);
  for (int i = 0; i < g->n; i++) follow_reads(p, g, g->members[i], tensor, map);
  for (int f = 0; f < TN_MAX_RANK; f++) map[f] = map[f] == -2 ? -1 : map[f];
}

/* Computes TENSOR inside the root's loops over the axes that all share, if those are enough for the threads. */
static bool join_rows(const generic_draft *p, generic_group *g, int stage, double ns) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  bool common[TN_MAX_RANK];
  int8_t map[TN_MAX_RANK];
  double iterations = 1;
  int n_common = 0;
  map_axes(p, g, tensor, map);
  for (int f = 0; f < g->root->ndim; f++) {
    common[f] = g->is_common[f] && map[f] >= 0 && tensor->shape[map[f]] == g->root->shape[f];
    iterations *= common[f] ? (double)g->root->shape[f] : 1;
    n_common += common[f];
  }
  bool is_enough = iterations >= 2 * p->machine.threads || !generic_is_worth_threads(p, g->ns + ns);
  if (n_common == 0 || !is_enough || g->n == GENERIC_MAX_STAGES) return false;
  memcpy(g->is_common, common, sizeof common);
  memcpy(g->maps[g->n], map, sizeof map);
  g->members[g->n++] = tensor;
  return true;
}

/* Whether STAGE, which only stages of the group read, is computed with them. */
static bool join(const generic_draft *p, generic_group *g, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  bool window, channel, tileable = generic_is_tileable(p, stage, &window, &channel);
  generic_reads r;
  if (!generic_read_all(p, stage, &r)) return false;
  double ns = generic_cost_ns(p, &r);
  if (tileable && !g->anchor && g->n == 0 && schedule_elementwise_consumer(p->s, stage) == generic_stage(p, g->root)) {
    g->anchor = st->tensors;
    g->ns += ns;
    return true;
  }
  if (tileable) return false;
  if (g->anchor) {
    if (g->padding || st->op->n_reduce > 0 || !is_read_only_by(p, g, stage, g->anchor)) return false;
    g->padding = st->tensors;
    return true;
  }
  bool joined = join_rows(p, g, stage, ns);
  if (joined) g->ns += ns;
  return joined;
}

/* Nothing was done to the stage. */
static bool is_untouched(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  bool same = st->attach == SCHEDULE_ROOT && st->n_relations == 0 && !st->layout && st->align_factor == 0;
  for (int i = 0; same && i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    same = st->leaves[i] == i && axis->annotation == SCHEDULE_NONE && axis->unroll_step < 0;
  }
  return same;
}

typedef struct taken {
  RUNTIME_VEC(const tn_tensor *) tensors; /* that stand in a group */
} taken;

static bool is_taken(const taken *t, const tn_tensor *tensor) {
  for (int i = 0; i < t->tensors.n; i++)
    if (t->tensors.data[i] == tensor) return true;
  return false;
}

static bool take_group(taken *t, const generic_group *g) {
  bool ok = RUNTIME_PUSH(&t->tensors, g->root);
  for (int i = 0; ok && i < g->n; i++) ok = RUNTIME_PUSH(&t->tensors, g->members[i]);
  if (ok && g->anchor) ok = RUNTIME_PUSH(&t->tensors, g->anchor);
  if (ok && g->padding) ok = RUNTIME_PUSH(&t->tensors, g->padding);
  for (int i = 0; ok && i < g->n_windows; i++) ok = RUNTIME_PUSH(&t->tensors, g->windows[i]);
  return ok;
}

/* May join a group: computed, no output, not in another group, nothing done to it. T: NULL: there are no other groups. */
static bool is_free(const generic_draft *p, int stage, const taken *t) {
  const schedule_stage *st = &p->s->stages[stage];
  if (!is_computed(st) || schedule_is_output(p->s, stage) || !is_untouched(p, stage)) return false;
  return !t || !is_taken(t, st->tensors);
}

static void form_group(const generic_draft *p, int stage, const taken *t, generic_group *g) {
  bool window, channel;
  generic_reads r;
  *g = (generic_group){.root = p->s->stages[stage].tensors};
  for (int f = 0; f < g->root->ndim; f++) g->is_common[f] = true;
  if (!generic_read_all(p, stage, &r)) return;
  g->ns = generic_cost_ns(p, &r);
  if (generic_is_tileable(p, stage, &window, &channel)) g->anchor = g->root;
  for (int i = stage - 1; i >= 0; i--) {
    if (!is_free(p, i, t)) continue;
    if (is_read_only_by(p, g, i, NULL)) (void)join(p, g, i);
  }
}

/* ---- strips ------------------------------------------------------------------------------------------------------ */

enum { MAX_TAPS = 49 };

/* A stage of rows and columns that reduces no more than a filter's taps. */
static bool is_stencil(const generic_draft *p, int stage) {
  const te_op *op = p->s->stages[stage].op;
  int64_t steps = 1;
  for (int a = 0; a < op->n_reduce; a++) steps *= op->reduce_axes[a]->extent;
  return op->kind == TE_COMPUTE && op->n_outputs == 1 && op->n_axes >= 2 && steps <= MAX_TAPS;
}

/* READER's rows and columns go along those of TENSOR, moved by taps; its other axes are those of TENSOR as they are. */
static bool reads_by_taps(const generic_draft *p, const tn_tensor *reader, const tn_tensor *tensor) {
  generic_reads r;
  if (!generic_read_all(p, generic_stage(p, reader), &r) || r.n_data != tensor->ndim || r.n_data < 2) return false;
  for (int i = 0; i < r.n; i++) {
    const generic_read *read = &r.reads[i];
    int column = r.n_data - 1, row = column - 1;
    if (read->tensor != tensor) continue;
    for (int a = 0; a < r.n_axes; a++)
      if (!read->is_known[a] || read->block[a]) return false;
    if (read->dim[column] != column || read->stride[column] != 1) return false;
    if (read->dim[row] != row || read->stride[row] != tensor->shape[column]) return false;
    for (int a = 0; a < row; a++)
      if (read->plain[a] != a) return false;
  }
  return true;
}

static bool all_read_by_taps(const generic_draft *p, const generic_group *g, int stage) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool taps = n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; taps && i < n; i++) {
    const tn_tensor *reader = p->s->stages[readers[i]].tensors;
    taps = has(g, reader) && reads_by_taps(p, reader, tensor);
  }
  return taps;
}

/* All that read TENSOR are the root or members, at their own point. */
static bool is_point_member(const generic_draft *p, const generic_group *g, const tn_tensor *tensor, int8_t *map) {
  int readers[SCHEDULE_MAX_STAGES], stage = generic_stage(p, tensor);
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++)
    if (is_window_of(g, p->s->stages[readers[i]].tensors)) return false;
  map_axes(p, g, tensor, map);
  for (int f = 0; f < g->root->ndim; f++)
    if (map[f] != f || tensor->shape[f] != g->root->shape[f]) return false;
  return tensor->ndim == g->root->ndim;
}

static void join_strip(const generic_draft *p, generic_group *g, int stage) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  int8_t map[TN_MAX_RANK];
  generic_reads r;
  if (!is_stencil(p, stage) || !generic_read_all(p, stage, &r) || !all_read_by_taps(p, g, stage)) return;
  if (g->n == GENERIC_MAX_STAGES || g->n_windows == GENERIC_MAX_STAGES) return;
  if (is_point_member(p, g, tensor, map)) {
    memcpy(g->maps[g->n], map, sizeof map);
    g->members[g->n++] = tensor;
    g->ns += generic_cost_ns(p, &r);
  } else {
    g->windows[g->n_windows++] = tensor;
  }
}

/* A filter that uses its input again is better a tile of registers, unless there are more of its kind in the chain. */
static bool is_chain(const generic_draft *p, const generic_group *g) {
  int n_tileable = 0, n_reductions = 0;
  bool window, channel;
  for (int i = -1; i < g->n + g->n_windows; i++) {
    int stage = generic_stage(p, i < 0 ? g->root : i < g->n ? g->members[i] : g->windows[i - g->n]);
    n_tileable += generic_is_tileable(p, stage, &window, &channel);
    n_reductions += p->s->stages[stage].op->n_reduce > 0;
  }
  return g->n_windows > 0 && (n_tileable == 0 || n_reductions > 1);
}

/* The stages that STAGE is made from through windows and point by point. False: there is no such chain. */
static bool form_strip(const generic_draft *p, int stage, const taken *t, generic_group *g) {
  generic_reads r;
  *g = (generic_group){.root = p->s->stages[stage].tensors};
  if (!is_stencil(p, stage) || !generic_read_all(p, stage, &r)) return false;
  for (int f = 0; f < g->root->ndim; f++) g->is_common[f] = true;
  g->ns = generic_cost_ns(p, &r);
  for (int i = stage - 1; i >= 0; i--) {
    if (!is_free(p, i, t)) continue;
    if (is_read_only_by(p, g, i, NULL)) join_strip(p, g, i);
  }
  return is_chain(p, g);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static tir_walk stop_at_exp(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_EXP ? TIR_WALK_STOP : TIR_WALK_ON;
}

static void look_at(const generic_draft *p, const tn_tensor *tensor, int *n_reductions, bool *has_exp) {
  const te_op *op = p->s->stages[generic_stage(p, tensor)].op;
  *n_reductions += op->n_reduce > 0;
  *has_exp |= op->body && !tir_walk_expr(op->body, stop_at_exp, NULL);
}

/* Some data axis of the anchor is in all that it reads, and is not that of vectors. */
static bool is_batched(const generic_reads *r) {
  for (int a = 0; a < r->n_data - 1; a++) {
    bool everywhere = r->extent[a] > 1;
    for (int i = 0; i < r->n; i++) everywhere &= r->reads[i].stride[a] != 0;
    if (everywhere) return true;
  }
  return false;
}

static operator_kind kind_of_single(const generic_draft *p, int stage) {
  const te_op *op = p->s->stages[stage].op;
  generic_reads r;
  bool window = false, broadcast = false;
  if (!generic_read_all(p, stage, &r)) return op->n_reduce > 0 ? OPERATOR_REDUCE : OPERATOR_INJECTIVE;
  for (int i = 0; i < r.n; i++) {
    window |= r.reads[i].is_window;
    for (int a = 0; a < r.n_data; a++)
      broadcast |= r.extent[a] > 1 && r.reads[i].is_known[a] && r.reads[i].stride[a] == 0;
  }
  if (op->n_reduce > 0) return window ? OPERATOR_POOL : OPERATOR_REDUCE;
  return broadcast ? OPERATOR_BROADCAST : OPERATOR_INJECTIVE;
}

static operator_kind kind_of(const generic_draft *p, const generic_group *g) {
  int n_reductions = 0;
  bool has_exp = false, window, channel;
  generic_reads r;
  if (g->anchor) {
    int anchor = generic_stage(p, g->anchor);
    (void)generic_is_tileable(p, anchor, &window, &channel);
    if (window) return channel ? OPERATOR_DEPTHWISE : OPERATOR_CONV;
    return generic_read_all(p, anchor, &r) && is_batched(&r) ? OPERATOR_BATCH_MATMUL : OPERATOR_DENSE;
  }
  look_at(p, g->root, &n_reductions, &has_exp);
  for (int i = 0; i < g->n; i++) look_at(p, g->members[i], &n_reductions, &has_exp);
  if (g->n > 0 && n_reductions > 0) return n_reductions > 1 && has_exp ? OPERATOR_SOFTMAX : OPERATOR_NORMALIZATION;
  return kind_of_single(p, generic_stage(p, g->root));
}

/* ---- scheduling a group ------------------------------------------------------------------------------------------ */

/* On a copy, which is taken over when all goes well. WHY: what was refused. */
typedef bool (*attempt_fn)(generic_draft *draft, const generic_group *g, const void *data);

static bool attempt(generic_draft *p, const generic_group *g, attempt_fn fn, const void *data, char *why, size_t n) {
  generic_draft draft = *p;
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  draft.s = tn_schedule_copy(p->s);
  bool ok = draft.s && fn(&draft, g, data);
  if (why) snprintf(why, n, "%s", tn_context_message(p->s->ctx));
  runtime_quiet_end(&quiet);
  if (ok) schedule_swap_contents(p->s, draft.s);
  tn_schedule_free(draft.s);
  return ok;
}

static bool apply_own(generic_draft *draft, const generic_group *g, const void *data) {
  const own_schedule *own = data;
  const char *stage = schedule_stage_name(&draft->s->stages[generic_stage(draft, g->root)]);
  return own->fn(draft->s, stage, &draft->machine, own->user) == TN_OK;
}

static bool apply_injective(generic_draft *draft, const generic_group *g, const void *data) {
  (void)data;
  return generic_injective(draft, g);
}

typedef struct planned {
  const plan_choices *choices;
  const schedule_plan *plan;
} planned;

static bool apply_plan(generic_draft *draft, const generic_group *g, const void *data) {
  const planned *by = data;
  return schedule_plan_realize(draft, g, by->choices, by->plan);
}

/* A group, what can be chosen for it, and its plans in order. */
typedef struct planned_group {
  generic_group group;
  operator_kind kind;
  plan_choices choices;
  int n;
  schedule_plan plans[PLAN_MAX_RANKED];
} planned_group;

static void rank_plans(const generic_draft *p, planned_group *pg, const schedule_family *only) {
  schedule_plan_choices(p, &pg->group, only, &pg->choices);
  pg->n = schedule_plan_rank(&pg->choices, PLAN_MAX_RANKED, pg->plans);
}

static bool realize_plan(generic_draft *p, const planned_group *pg, const schedule_plan *plan, char *why, size_t n) {
  return attempt(p, &pg->group, apply_plan, &(planned){&pg->choices, plan}, why, n);
}

/* The best-ranked plan that no primitive refuses: its place; -1: there is none. */
static int realize_best(generic_draft *p, const planned_group *pg, char *why, size_t n) {
  for (int i = 0; i < pg->n; i++)
    if (realize_plan(p, pg, &pg->plans[i], why, n)) return i;
  return -1;
}

static void try_single(generic_draft *p, const tn_tensor *tensor) {
  generic_group alone = {.root = tensor};
  int stage = generic_stage(p, tensor);
  generic_reads r;
  if (p->s->stages[stage].op->n_reduce > 0 || !is_untouched(p, stage)) return;
  if (generic_read_all(p, stage, &r)) alone.ns = generic_cost_ns(p, &r);
  (void)attempt(p, &alone, apply_injective, NULL, NULL, 0);
}

/* What a refused group's stages get instead. */
static void fall_back(generic_draft *p, const generic_group *g, operator_kind kind, const char *why) {
  const char *name = schedule_stage_name(&p->s->stages[generic_stage(p, g->root)]);
  runtime_say(p->s->ctx, TN_SEVERITY_INFO,
              "auto: %s is scheduled as injective, or not at all where it is a reduction, since the schedule of %s was "
              "refused: %s",
              name, operators[kind].name, *why ? why : "its structure is not understood");
  try_single(p, g->root);
  for (int i = 0; i < g->n; i++) try_single(p, g->members[i]);
  if (g->anchor && g->anchor != g->root) try_single(p, g->anchor);
  if (g->padding) try_single(p, g->padding);
}

static void schedule_group(generic_draft *p, const planned_group *pg) {
  char why[512] = "";
  const own_schedule *own = find_own(p, pg->kind);
  if (own && attempt(p, &pg->group, apply_own, own, why, sizeof why)) return;
  if (own)
    runtime_say(p->s->ctx, TN_SEVERITY_INFO,
                "auto: the registered schedule of %s refused %s: %s; the generic one is taken",
                operators[pg->kind].name, pg->group.root->name, why);
  if (realize_best(p, pg, why, sizeof why) < 0) fall_back(p, &pg->group, pg->kind, why);
}

/* ---- the whole program ------------------------------------------------------------------------------------------- */

/* Elements of one time do not depend on each other. Reductions stay as they are. */
static void vectorize_step(generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int last = st->op->n_axes - 1, outer, inner;
  if (last < 1 || st->op->n_reduce > 0 || st->attach == SCHEDULE_INLINED || st->axes[last].used_by >= 0) return;
  if (st->axes[last].extent < generic_lanes(p, stage)) return;
  if (generic_split_vector(p, stage, last, 1, &outer, &inner)) generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE);
}

/* A scan and its steps keep their loops and places, with vectors along the last axis where that is not the time. */
static bool take_scans(generic_draft *p, taken *t) {
  bool steps[SCHEDULE_MAX_STAGES], ok = true;
  for (int i = 0; ok && i < p->s->n_stages; i++) {
    const schedule_stage *st = &p->s->stages[i];
    if (st->op->kind != TE_SCAN) continue;
    schedule_find_steps(p->s, i, steps);
    steps[i] = true;
    for (int k = 0; ok && k <= i; k++) {
      if (!steps[k]) continue;
      for (int v = 0; ok && v < p->s->stages[k].n_tensors; v++)
        ok = RUNTIME_PUSH(&t->tensors, &p->s->stages[k].tensors[v]);
      vectorize_step(p, k);
    }
  }
  return ok;
}

struct schedule_plans {
  generic_draft draft; /* its schedule: what is inlined and scans; no group is scheduled */
  runtime_arena arena;
  RUNTIME_VEC(planned_group *) groups;
};

/* A chain of stencils, if a primitive does not refuse its strips. */
static bool plan_strip(const generic_draft *p, int stage, const taken *t, planned_group *pg) {
  generic_draft draft = *p;
  if (!form_strip(p, stage, t, &pg->group)) return false;
  pg->kind = kind_of(p, &pg->group);
  rank_plans(p, pg, &schedule_family_strip);
  draft.s = tn_schedule_copy(p->s);
  bool ok = draft.s && realize_best(&draft, pg, NULL, 0) >= 0;
  tn_schedule_free(draft.s);
  return ok;
}

static bool plan_group(schedule_plans *plans, const tn_tensor *root, taken *t) {
  const generic_draft *p = &plans->draft;
  int stage = generic_stage(p, root);
  planned_group *pg = RUNTIME_NEW(&plans->arena, planned_group);
  if (!pg || !RUNTIME_PUSH(&plans->groups, pg)) return false;
  if (!plan_strip(p, stage, t, pg)) {
    form_group(p, stage, t, &pg->group);
    pg->kind = kind_of(p, &pg->group);
    rank_plans(p, pg, NULL);
  }
  return take_group(t, &pg->group);
}

/* Groups are formed before any is scheduled, from the last stage to the first. */
static bool plan_all(schedule_plans *plans) {
  taken t = {0};
  RUNTIME_VEC(const tn_tensor *) stages = {0};
  generic_draft *p = &plans->draft;
  inline_stages(p);
  bool ok = take_scans(p, &t);
  for (int i = 0; ok && i < p->s->n_stages; i++)
    if (is_computed(&p->s->stages[i])) ok = RUNTIME_PUSH(&stages, p->s->stages[i].tensors);
  for (int i = stages.n - 1; ok && i >= 0; i--)
    if (!is_taken(&t, stages.data[i])) ok = plan_group(plans, stages.data[i], &t);
  RUNTIME_VEC_FREE(&stages);
  RUNTIME_VEC_FREE(&t.tensors);
  return ok;
}

schedule_plans *schedule_plans_new(tn_program *program, const tn_machine *machine) {
  if (te_check_no_symbols(program, "auto") != TN_OK) return NULL;
  schedule_plans *plans = calloc(1, sizeof *plans);
  if (plans) {
    plans->draft = (generic_draft){.s = tn_schedule_new(program), .machine = cost_fill_machine(machine)};
    plans->draft.arena = &plans->arena;
  }
  if (plans && plans->draft.s && plan_all(plans)) return plans;
  schedule_plans_free(plans);
  runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  return NULL;
}

void schedule_plans_free(schedule_plans *plans) {
  if (!plans) return;
  tn_schedule_free(plans->draft.s);
  RUNTIME_VEC_FREE(&plans->groups);
  runtime_arena_free(&plans->arena);
  free(plans);
}

int schedule_plans_count(const schedule_plans *plans) { return plans->groups.n; }

const char *schedule_plans_stage(const schedule_plans *plans, int group) {
  return plans->groups.data[group]->group.root->name;
}

const plan_choices *schedule_plans_choices(const schedule_plans *plans, int group) {
  return &plans->groups.data[group]->choices;
}

int schedule_plans_ranked(const schedule_plans *plans, int group, const schedule_plan **out) {
  *out = plans->groups.data[group]->plans;
  return plans->groups.data[group]->n;
}

/* An array of the groups' plans. NULL: no memory. */
static char *plans_text(const schedule_plans *plans, const schedule_plan *by_group) {
  json_t *all = json_array();
  for (int i = 0; all && i < plans->groups.n; i++)
    if (by_group[i].family >= 0)
      json_array_append_new(all, schedule_plan_json(schedule_plans_stage(plans, i), &by_group[i]));
  char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
  json_decref(all);
  return text;
}

static void keep_plan(const schedule_plans *plans, const schedule_plan *by_group, tn_schedule *s) {
  char *text = plans_text(plans, by_group);
  if (text) (void)schedule_set_plan(s, text);
  free(text);
}

tn_schedule *schedule_plans_realize(schedule_plans *plans, const schedule_plan *by_group) {
  generic_draft draft = plans->draft;
  draft.s = tn_schedule_copy(plans->draft.s);
  runtime_quiet quiet = runtime_quiet_begin(plans->draft.s->ctx);
  bool ok = draft.s != NULL;
  for (int i = 0; ok && i < plans->groups.n; i++) {
    const planned_group *pg = plans->groups.data[i];
    if (by_group[i].family >= 0)
      ok = schedule_plan_realize(&draft, &pg->group, &pg->choices, &by_group[i]);
    else
      fall_back(&draft, &pg->group, pg->kind, "");
  }
  runtime_quiet_end(&quiet);
  if (ok) keep_plan(plans, by_group, draft.s);
  if (ok) return draft.s;
  tn_schedule_free(draft.s);
  return NULL;
}

const char *schedule_plan_text(const tn_schedule *s) { return s->plan_steps == s->n_steps ? s->plan : NULL; }

tn_status schedule_set_plan(tn_schedule *s, const char *text) {
  s->plan = runtime_strdup(&s->arena, text);
  s->plan_steps = s->n_steps;
  return s->plan ? TN_OK : runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a plan");
}

static int find_group(const schedule_plans *plans, const char *stage) {
  for (int i = 0; stage && i < plans->groups.n; i++)
    if (strcmp(schedule_plans_stage(plans, i), stage) == 0) return i;
  return -1;
}

/* What the family of PLAN may choose for the group; NULL: it cannot schedule it. */
static const plan_choice *choice_of(const planned_group *pg, const schedule_plan *plan) {
  for (int i = 0; i < pg->choices.n; i++)
    if (pg->choices.choices[i].family == plan->family) return &pg->choices.choices[i];
  return NULL;
}

/* A family realizes what its space has, and nothing else: a plan from a log may say anything. */
static tn_status check_values(tn_context *ctx, const char *stage, const plan_choice *choice,
                              const schedule_plan *plan) {
  const schedule_family *family = schedule_family_at(plan->family);
  for (int f = 0; f < family->n_fields; f++) {
    bool is_known = choice->space.n[f] == 0 && plan->value[f] == 0;
    for (int i = 0; i < choice->space.n[f]; i++) is_known |= choice->space.value[f][i] == plan->value[f];
    if (!is_known)
      return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"%s\" of %s is %d, which is none of its %d values",
                          family->fields[f].name, stage, plan->value[f], choice->space.n[f]);
  }
  return TN_OK;
}

static tn_status decode_group(const schedule_plans *plans, const json_t *json, schedule_plan *by_group) {
  tn_context *ctx = plans->draft.s->ctx;
  const char *stage = json_string_value(json_object_get(json, "stage"));
  schedule_plan plan;
  int group = find_group(plans, stage);
  if (group < 0)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"stage\" names no group of the program: %s",
                        stage ? stage : "it is missing");
  SCHEDULE_TRY(schedule_plan_decode(ctx, json, &plan));
  const plan_choice *choice = choice_of(plans->groups.data[group], &plan);
  if (!choice)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"family\" of %s is %s, which cannot schedule it", stage,
                        schedule_family_at(plan.family)->name);
  SCHEDULE_TRY(check_values(ctx, stage, choice, &plan));
  by_group[group] = plan;
  return TN_OK;
}

tn_status schedule_plans_decode(const schedule_plans *plans, const char *text, schedule_plan *by_group) {
  json_t *all = json_loads(text, 0, NULL);
  tn_status status = json_is_array(all)
                         ? TN_OK
                         : runtime_fail(plans->draft.s->ctx, TN_ERROR_RECORD, "plan: an array of objects is needed");
  for (int i = 0; i < plans->groups.n; i++) by_group[i] = (schedule_plan){.family = -1};
  for (size_t i = 0; status == TN_OK && i < json_array_size(all); i++)
    status = decode_group(plans, json_array_get(all, i), by_group);
  json_decref(all);
  return status;
}

void schedule_plans_best(schedule_plans *plans, schedule_plan *by_group) {
  generic_draft draft = plans->draft;
  draft.s = tn_schedule_copy(plans->draft.s);
  for (int i = 0; i < plans->groups.n; i++) {
    const planned_group *pg = plans->groups.data[i];
    int best = draft.s ? realize_best(&draft, pg, NULL, 0) : -1;
    by_group[i] = best < 0 ? (schedule_plan){.family = -1} : pg->plans[best];
  }
  tn_schedule_free(draft.s);
}

/* A generic schedule to be made. */
typedef struct automatic {
  tn_schedule *schedule;
  const tn_machine *machine;
  tn_status status;
} automatic;

enum { AUTO_STACK_BYTES = 1 << 20 }; /* a host's thread may have less */

static void schedule_here(void *data) {
  automatic *a = data;
  tn_schedule *s = a->schedule;
  bool was_ok = tn_context_status(s->ctx) == TN_OK;
  schedule_plans *plans = schedule_plans_new(s->program, a->machine);
  a->status = plans ? TN_OK : tn_context_status(s->ctx);
  if (!plans) return;
  for (int i = 0; i < plans->groups.n; i++) schedule_group(&plans->draft, plans->groups.data[i]);
  /* Out of memory in a trial is no refusal: another schedule would come out. */
  if (was_ok) a->status = tn_context_status(s->ctx);
  if (a->status == TN_OK) schedule_swap_contents(s, plans->draft.s);
  schedule_plans_free(plans);
}

tn_status tn_schedule_auto(tn_schedule *s, const tn_machine *machine) {
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(te_check_no_symbols(s->program, "auto"));
  if (s->n_steps > 0)
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "auto: the schedule has %d steps already: make a generic schedule from a new one, and go on from "
        "there",
        s->n_steps);
  automatic a = {.schedule = s, .machine = machine};
  if (runtime_with_stack(AUTO_STACK_BYTES, schedule_here, &a)) return a.status;
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "auto: no thread with the stack that it needs");
}

/* ---- one stage --------------------------------------------------------------------------------------------------- */

/* Whether the group has what an operator's schedule works on. */
static bool suits(const generic_draft *p, const generic_group *g, operator_kind kind) {
  const schedule_family *family = family_of(kind, g);
  bool reduces = p->s->stages[generic_stage(p, g->root)].op->n_reduce > 0;
  if (family == &schedule_family_tile) return g->anchor != NULL;
  if (kind == OPERATOR_SOFTMAX || kind == OPERATOR_NORMALIZATION) return g->n > 0;
  return family == &schedule_family_reduce ? reduces : !reduces;
}

/* Elementwise and simple reductions are schedules of one stage. */
static void leave_alone(const generic_draft *p, generic_group *g, operator_kind kind) {
  if (kind == OPERATOR_SOFTMAX || kind == OPERATOR_NORMALIZATION || family_of(kind, g) == &schedule_family_tile) return;
  form_group(p, generic_stage(p, g->root), NULL, g);
  g->n = 0;
  g->anchor = g->padding = NULL;
  for (int f = 0; f < TN_MAX_RANK; f++) g->is_common[f] = f < g->root->ndim;
}

static tn_status refuse_operator(generic_draft *p, int stage, const char *call, operator_kind found, int kind) {
  return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE, "%s: %s is %s, not %s: %s; leave the operator out, or name that",
                      call, schedule_stage_name(&p->s->stages[stage]), operators[found].name, operators[kind].name,
                      operators[kind].what);
}

static tn_status schedule_stage_as(generic_draft *p, int stage, const char *call, const char *name) {
  char names[256];
  int kind = find_operator(name);
  if (name && kind < 0)
    return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE, "%s: there is no such operator: %s", call,
                        operator_names(names, sizeof names));
  SCHEDULE_TRY(schedule_check_stage(&(schedule_call){.s = p->s, .words = call}, stage));
  if (!is_untouched(p, stage))
    return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s already has a schedule, which would be lost: call it before other primitives on %s",
                        call, schedule_stage_name(&p->s->stages[stage]), schedule_stage_name(&p->s->stages[stage]));
  planned_group *pg = RUNTIME_NEW(p->arena, planned_group);
  if (!pg) return runtime_fail(p->s->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  form_group(p, stage, NULL, &pg->group);
  operator_kind found = kind_of(p, &pg->group);
  bool is_named = kind >= 0 && (operator_kind)kind != found;
  pg->kind = kind >= 0 ? (operator_kind)kind : found;
  if (kind >= 0 && !suits(p, &pg->group, pg->kind)) return refuse_operator(p, stage, call, found, kind);
  if (is_named && family_of(pg->kind, &pg->group) != family_of(found, &pg->group)) leave_alone(p, &pg->group, pg->kind);
  rank_plans(p, pg, is_named ? family_of(pg->kind, &pg->group) : NULL);
  schedule_group(p, pg);
  return TN_OK;
}

static tn_status find_computed(tn_schedule *s, const char *call, const char *name, int *stage) {
  *stage = name ? schedule_find_stage(s, name) : -1;
  if (*stage >= 0 && is_computed(&s->stages[*stage])) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s: name a stage that is computed, and not inlined", call,
                      *stage < 0 ? "there is no such stage" : "it has no loops");
}

tn_status tn_schedule_generic(tn_schedule *s, const char *stage, const char *operator_name, const tn_machine *machine) {
  char call[256];
  int at;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(te_check_no_symbols(s->program, "generic"));
  snprintf(call, sizeof call, "generic(%s%s%s)", stage ? stage : "", operator_name ? ", " : "",
           operator_name ? operator_name : "");
  SCHEDULE_TRY(find_computed(s, call, stage, &at));
  runtime_arena arena = {0};
  generic_draft p = {.s = s, .machine = cost_fill_machine(machine), .arena = &arena};
  tn_status status = schedule_stage_as(&p, at, call, operator_name);
  runtime_arena_free(&arena);
  return status;
}

const char *tn_schedule_operator(tn_schedule *s, const char *stage) {
  int at;
  generic_group g;
  runtime_arena arena = {0};
  if (!s || find_computed(s, "operator", stage, &at) != TN_OK) return NULL;
  generic_draft p = {.s = s, .machine = cost_fill_machine(NULL), .arena = &arena};
  form_group(&p, at, NULL, &g);
  operator_kind kind = kind_of(&p, &g);
  runtime_arena_free(&arena);
  return operators[kind].name;
}
