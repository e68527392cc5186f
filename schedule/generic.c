/* generic.c: schedules that are made without searching. Cheap stages are inlined, the others grouped: a group is a
 * stage and what is best computed inside its loops. The operator of a group is recognised by its structure, and its
 * family's file schedules it; a context may have schedules of its own for an operator (TVM: topi's schedules and their
 * registry). */
#include "schedule/generic.h"

#include <math.h>
#include <stdio.h>

enum { MAX_INLINED_OPS = 400, REUSED = 3 };

typedef enum operator_kind {
#define X(name, text, what) OPERATOR_##name,
  TN_OPERATORS(X)
#undef X
      OPERATOR_COUNT
} operator_kind;

static bool injective(generic_plan *p, const generic_group *g) {
  return g->n > 0 ? generic_rows(p, g) : generic_injective(p, g);
}

static const struct {
  const char *name, *what;
} operators[OPERATOR_COUNT] = {
#define X(name, text, what) [OPERATOR_##name] = {text, what},
    TN_OPERATORS(X)
#undef X
};

static bool (*const families[OPERATOR_COUNT])(generic_plan *p, const generic_group *g) = {
    [OPERATOR_INJECTIVE] = injective,   [OPERATOR_BROADCAST] = injective,
    [OPERATOR_REDUCE] = generic_reduce, [OPERATOR_POOL] = generic_reduce,
    [OPERATOR_SOFTMAX] = generic_rows,  [OPERATOR_NORMALIZATION] = generic_rows,
    [OPERATOR_DENSE] = generic_tile,    [OPERATOR_BATCH_MATMUL] = generic_tile,
    [OPERATOR_CONV] = generic_tile,     [OPERATOR_DEPTHWISE] = generic_tile,
};

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

static const own_schedule *find_own(const generic_plan *p, int kind) {
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

static reuse reuse_of(const generic_plan *p, int stage) {
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
static bool turns_reads(const generic_plan *p, int stage) {
  generic_plan draft = *p;
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
static bool wants_inline(const generic_plan *p, int stage) {
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

static void inline_stages(generic_plan *p) {
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

static bool has(const generic_group *g, const tn_tensor *tensor) {
  return tensor == g->root || tensor == g->anchor || tensor == g->padding || generic_map_of(g, tensor);
}

static bool is_read_only_by(const generic_plan *p, const generic_group *g, int stage, const tn_tensor *only) {
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
static void follow_reads(const generic_plan *p, const generic_group *g, const tn_tensor *reader,
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

static void map_axes(const generic_plan *p, const generic_group *g, const tn_tensor *tensor, int8_t *map) {
  memset(map, -2, TN_MAX_RANK);
  follow_reads(p, g, g->root, tensor, map);
  for (int i = 0; i < g->n; i++) follow_reads(p, g, g->members[i], tensor, map);
  for (int f = 0; f < TN_MAX_RANK; f++) map[f] = map[f] == -2 ? -1 : map[f];
}

/* Computes TENSOR inside the root's loops over the axes that all share, if those are enough for the threads. */
static bool join_rows(const generic_plan *p, generic_group *g, int stage, double ns) {
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
static bool join(const generic_plan *p, generic_group *g, int stage) {
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
static bool is_untouched(const generic_plan *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  bool same = st->attach == SCHEDULE_ROOT && st->n_relations == 0 && !st->layout && st->align_factor == 0;
  for (int i = 0; same && i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    same = st->leaves[i] == i && axis->annotation == SCHEDULE_NONE && axis->unroll_step < 0;
  }
  return same;
}

static void form_group(const generic_plan *p, int stage, generic_group *g) {
  bool window, channel;
  generic_reads r;
  *g = (generic_group){.root = p->s->stages[stage].tensors};
  for (int f = 0; f < g->root->ndim; f++) g->is_common[f] = true;
  if (!generic_read_all(p, stage, &r)) return;
  g->ns = generic_cost_ns(p, &r);
  if (generic_is_tileable(p, stage, &window, &channel)) g->anchor = g->root;
  for (int i = stage - 1; i >= 0; i--) {
    const schedule_stage *st = &p->s->stages[i];
    if (!is_computed(st) || schedule_is_output(p->s, i) || !is_untouched(p, i)) continue;
    if (is_read_only_by(p, g, i, NULL)) (void)join(p, g, i);
  }
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static tir_walk stop_at_exp(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_EXP ? TIR_WALK_STOP : TIR_WALK_ON;
}

static void look_at(const generic_plan *p, const tn_tensor *tensor, int *n_reductions, bool *has_exp) {
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

static operator_kind kind_of_single(const generic_plan *p, int stage) {
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

static operator_kind kind_of(const generic_plan *p, const generic_group *g) {
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
static bool try_family(generic_plan *p, const generic_group *g, bool (*family)(generic_plan *, const generic_group *),
                       const own_schedule *own, char *why, size_t n) {
  generic_plan draft = *p;
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  draft.s = tn_schedule_copy(p->s);
  bool ok = draft.s != NULL;
  if (ok && own) {
    const char *stage = schedule_stage_name(&draft.s->stages[generic_stage(&draft, g->root)]);
    ok = own->fn(draft.s, stage, &p->machine, own->user) == TN_OK;
  } else if (ok) {
    ok = family(&draft, g);
  }
  snprintf(why, n, "%s", tn_context_message(p->s->ctx));
  runtime_quiet_end(&quiet);
  if (ok) schedule_swap_contents(p->s, draft.s);
  tn_schedule_free(draft.s);
  return ok;
}

static void try_single(generic_plan *p, const tn_tensor *tensor) {
  generic_group alone = {.root = tensor};
  int stage = generic_stage(p, tensor);
  generic_reads r;
  if (p->s->stages[stage].op->n_reduce > 0 || !is_untouched(p, stage)) return;
  if (generic_read_all(p, stage, &r)) alone.ns = generic_cost_ns(p, &r);
  (void)try_family(p, &alone, generic_injective, NULL, NULL, 0);
}

/* What a refused group's stages get instead. */
static void fall_back(generic_plan *p, const generic_group *g, operator_kind kind, const char *why) {
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

static void schedule_group(generic_plan *p, const generic_group *g, operator_kind kind) {
  char why[512] = "";
  const own_schedule *own = find_own(p, kind);
  if (own && try_family(p, g, NULL, own, why, sizeof why)) return;
  if (own)
    runtime_say(p->s->ctx, TN_SEVERITY_INFO,
                "auto: the registered schedule of %s refused %s: %s; the generic one is taken", operators[kind].name,
                g->root->name, why);
  if (!try_family(p, g, families[kind], NULL, why, sizeof why)) fall_back(p, g, kind, why);
}

/* ---- the whole program ------------------------------------------------------------------------------------------- */

static tn_machine fill_machine(const tn_machine *given) {
  static const int64_t usual_cache[] = {0, 32 << 10, 512 << 10, 8 << 20};
  tn_machine m = given ? *given : (tn_machine){0};
  if (m.threads < 1) m.threads = tn_thread_count();
  if (m.vector_bytes < 1) m.vector_bytes = 32;
  if (m.vector_registers < 1) m.vector_registers = 16;
  if (m.fork_ns < 1) m.fork_ns = 20000;
  for (int i = 1; i < 4; i++)
    if (m.cache_bytes[i] < 1) m.cache_bytes[i] = usual_cache[i];
  return m;
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
  return ok;
}

/* Elements of one time do not depend on each other. Reductions stay as they are. */
static void vectorize_step(generic_plan *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int last = st->op->n_axes - 1, outer, inner;
  if (last < 1 || st->op->n_reduce > 0 || st->attach == SCHEDULE_INLINED || st->axes[last].used_by >= 0) return;
  if (st->axes[last].extent < generic_lanes(p, stage)) return;
  if (generic_split_vector(p, stage, last, 1, &outer, &inner)) generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE);
}

/* A scan and its steps keep their loops and places, with vectors along the last axis where that is not the time. */
static bool take_scans(generic_plan *p, taken *t) {
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

/* Groups are formed before any is scheduled, from the last stage to the first. */
static tn_status schedule_all(generic_plan *p) {
  taken t = {0};
  RUNTIME_VEC(const tn_tensor *) stages = {0};
  bool ok = true;
  inline_stages(p);
  ok = take_scans(p, &t);
  for (int i = 0; ok && i < p->s->n_stages; i++)
    if (is_computed(&p->s->stages[i])) ok = RUNTIME_PUSH(&stages, p->s->stages[i].tensors);
  for (int i = stages.n - 1; ok && i >= 0; i--) {
    generic_group g;
    if (is_taken(&t, stages.data[i])) continue;
    form_group(p, generic_stage(p, stages.data[i]), &g);
    ok = take_group(&t, &g);
    if (ok) schedule_group(p, &g, kind_of(p, &g));
  }
  RUNTIME_VEC_FREE(&stages);
  RUNTIME_VEC_FREE(&t.tensors);
  return ok ? TN_OK : runtime_fail(p->s->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
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
  runtime_arena arena = {0};
  generic_plan p = {.s = tn_schedule_copy(s), .machine = fill_machine(machine), .arena = &arena};
  bool was_ok = tn_context_status(s->ctx) == TN_OK;
  tn_status status = p.s ? schedule_all(&p) : TN_ERROR_MEMORY;
  /* Out of memory in a trial is no refusal: another schedule would come out. */
  if (status == TN_OK && was_ok) status = tn_context_status(s->ctx);
  if (status == TN_OK) schedule_swap_contents(s, p.s);
  tn_schedule_free(p.s);
  runtime_arena_free(&arena);
  return status;
}

/* ---- one stage --------------------------------------------------------------------------------------------------- */

/* Whether the group has what an operator's schedule works on. */
static bool suits(const generic_plan *p, const generic_group *g, operator_kind kind) {
  bool (*family)(generic_plan *, const generic_group *) = families[kind];
  bool reduces = p->s->stages[generic_stage(p, g->root)].op->n_reduce > 0;
  if (family == generic_tile) return g->anchor != NULL;
  if (family == generic_rows) return g->n > 0;
  return family == generic_reduce ? reduces : !reduces;
}

/* Elementwise and simple reductions are schedules of one stage. */
static void leave_alone(const generic_plan *p, generic_group *g, operator_kind kind) {
  if (families[kind] != generic_reduce && families[kind] != injective) return;
  form_group(p, generic_stage(p, g->root), g);
  g->n = 0;
  g->anchor = g->padding = NULL;
  for (int f = 0; f < TN_MAX_RANK; f++) g->is_common[f] = f < g->root->ndim;
}

static tn_status schedule_stage_as(generic_plan *p, int stage, const char *call, const char *name) {
  generic_group g;
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
  form_group(p, stage, &g);
  operator_kind found = kind_of(p, &g);
  if (kind >= 0 && !suits(p, &g, (operator_kind)kind))
    return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE, "%s: %s is %s, not %s: %s; leave the operator out, or name that",
                        call, schedule_stage_name(&p->s->stages[stage]), operators[found].name, operators[kind].name,
                        operators[kind].what);
  if (kind >= 0 && families[kind] != families[found]) leave_alone(p, &g, (operator_kind)kind);
  schedule_group(p, &g, kind >= 0 ? (operator_kind)kind : found);
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
  generic_plan p = {.s = s, .machine = fill_machine(machine), .arena = &arena};
  tn_status status = schedule_stage_as(&p, at, call, operator_name);
  runtime_arena_free(&arena);
  return status;
}

const char *tn_schedule_operator(tn_schedule *s, const char *stage) {
  int at;
  generic_group g;
  runtime_arena arena = {0};
  if (!s || find_computed(s, "operator", stage, &at) != TN_OK) return NULL;
  generic_plan p = {.s = s, .machine = fill_machine(NULL), .arena = &arena};
  form_group(&p, at, &g);
  operator_kind kind = kind_of(&p, &g);
  runtime_arena_free(&arena);
  return operators[kind].name;
}
