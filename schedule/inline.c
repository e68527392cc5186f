/* inline.c: the bodies of inlined stages in place of the reads of them.
 *
 * A stage's body is needed once for each index that it is read at: a version. Versions are made from the stage's own
 * body when a reader first asks for them, with the index simplified, and are kept while one reader's body is put
 * together. So a chain of stages that each read their producer at i and at n-1-i makes two versions a stage, though it
 * has 2^k ways down to its first. Where indices do differ all the way the expression grows beyond a limit, and is
 * refused. */
#include "schedule/lowering.h"

/* MAX_DEPTH: as deep as code generation goes. VISITS: nodes looked at for each that the limit allows. */
enum { MAX_DEPTH = 4000, VISITS = 16, HASHED_LEVELS = 6 };

/* In the arena; a list a slot, since versions are few and die with the lowering. */
typedef struct version {
  const tir_expr *read, *value; /* of an inlined tensor, its index simplified */
  uint64_t hash;
  const struct version *next; /* of the same slot */
} version;

enum { SLOTS = 256 };

/* One reader's body being put together. FAILED: a refusal was said. */
typedef struct inlining {
  lowering *l;
  const lower_stage *reader;
  const tir_env *env; /* the ranges of the reader's axes */
  int depth;          /* of all bodies that are being put together, each in the one before */
  int64_t visits;
  uint64_t reads; /* as in lower_stage */
  const body_read *first_read, **next_read;
  bool failed;
  const version *slots[SLOTS]; /* cleared where something is inlined */
} inlining;

static const tir_expr *put_together(inlining *x, const tir_expr *body);

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

/* The legal alternative names the producer that is nearest to the reader. */
static const tir_expr *refuse(inlining *x, const char *what) {
  const te_op *op = x->reader->st->op;
  const char *near = NULL;
  for (int i = 0; i < op->n_inputs; i++) {
    int from = schedule_stage_of_tensor(x->l->s, op->inputs[i]);
    if (x->l->s->stages[from].attach == SCHEDULE_INLINED) near = op->inputs[i]->name;
  }
  x->failed = true;
  if (near)
    runtime_fail(
        x->l->ctx, TN_ERROR_LOWER,
        "%s: with all inlined stages in place its expression is %s: call compute_root(%s), or of another stage "
        "on the way to it",
        op->name, what, near);
  else
    runtime_fail(x->l->ctx, TN_ERROR_LOWER, "%s: its expression is %s: split it into several tensors", op->name, what);
  return NULL;
}

/* The number of operations is limited, as code generation takes more than linear time in it. */
static const tir_expr *refuse_size(inlining *x) {
  int64_t most = runtime_limits(x->l->ctx)->expr_nodes;
  return refuse(x, runtime_format(x->l->arena, "larger than %lld operations (limit expr_nodes)", (long long)most));
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* Equal expressions hash alike; only the levels near the top count. */
static uint64_t hash_of(const tir_expr *e, int levels) {
  int64_t own[] = {e->op, e->dtype, e->op == TIR_INT ? e->u.i : e->op == TIR_VAR ? (int64_t)(intptr_t)e->u.var : 0};
  uint64_t hash = runtime_hash(own, sizeof own, 0);
  for (int i = 0; levels > 0 && i < e->n_args; i++) {
    uint64_t arg = hash_of(e->arg[i], levels - 1);
    hash = runtime_hash(&arg, sizeof arg, hash);
  }
  return e->op == TIR_READ ? hash ^ (uint64_t)(uintptr_t)e->u.tensor : hash;
}

/* Hashes first: comparing two expressions costs a walk. */
static const tir_expr *find_version(const inlining *x, const tir_expr *read, uint64_t hash) {
  for (const version *v = x->slots[hash % SLOTS]; v; v = v->next)
    if (v->hash == hash && tir_equal(v->read, read)) return v->value;
  return NULL;
}

/* The newest first: neighbours read alike. */
static void keep_version(inlining *x, const tir_expr *read, uint64_t hash, const tir_expr *value) {
  version *v = RUNTIME_NEW(x->l->arena, version);
  *v = (version){read, value, hash, x->slots[hash % SLOTS]};
  x->slots[hash % SLOTS] = v;
}

/* The read with each index in its simplest form. An index from data is left as it is. */
static const tir_expr *simple_read(const inlining *x, const te_op *op, const tir_expr *e) {
  const tir_expr *index[TN_MAX_RANK];
  for (int i = 0; i < e->n_args; i++) {
    index[i] = tir_cast(x->l->arena, op->axes[i]->var.dtype, e->arg[i]);
    if (index[i]->n_args > 0 && !tir_has_op(index[i], TIR_READ)) index[i] = tir_simplify(x->l->arena, x->env, index[i]);
  }
  return tir_with_args(x->l->arena, e, index);
}

const tir_expr *schedule_body_at(runtime_arena *arena, const te_op *op, const tir_expr *read) {
  tir_binding bindings[TN_MAX_RANK];
  for (int i = 0; i < read->n_args; i++) {
    const tir_var *var = &op->axes[i]->var;
    bindings[i] = (tir_binding){var, tir_cast(arena, var->dtype, read->arg[i])};
    if (!bindings[i].value) return NULL;
  }
  return tir_substitute(arena, tir_value(op->body, read->u.tensor->value_index), read->n_args, bindings);
}

/* The producer's body at the index of a read. */
static const tir_expr *make_version(inlining *x, const te_op *op, const tir_expr *read) {
  int depth = tir_depth(op->body);
  if (x->depth + depth > MAX_DEPTH)
    return refuse(x, runtime_format(x->l->arena, "nested deeper than %d operations", MAX_DEPTH));
  x->depth += depth;
  const tir_expr *body = put_together(x, schedule_body_at(x->l->arena, op, read));
  x->depth -= depth;
  return body;
}

/* The arguments of a read are put together before it. */
static const tir_expr *inline_read(void *user, const tir_expr *e) {
  inlining *x = user;
  if (x->failed) return NULL;
  if (++x->visits > VISITS * runtime_limits(x->l->ctx)->expr_nodes) return refuse_size(x);
  if (e->op != TIR_READ) return e;
  const schedule_stage *st = &x->l->s->stages[schedule_stage_of_tensor(x->l->s, e->u.tensor)];
  if (st->attach != SCHEDULE_INLINED) return e; /* a scan, behind its steps, never is */
  const tir_expr *read = simple_read(x, st->op, e);
  uint64_t hash = hash_of(read, HASHED_LEVELS);
  const tir_expr *value = find_version(x, read, hash);
  if (value) return value;
  value = make_version(x, st->op, read);
  if (value) keep_version(x, read, hash, value);
  return value;
}

/* Versions are shared by address, so the body stays a DAG. */
static const tir_expr *put_together(inlining *x, const tir_expr *body) {
  tir_rewriter rewriter = {x->l->arena, NULL, inline_read, x};
  return tir_rewrite_expr(&rewriter, body);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* Inlining can double an expression at each step, so its size is limited while it grows, not afterwards. Lists the reads, too. */
static tir_walk count_node(void *user, const tir_expr *e) {
  inlining *x = user;
  if (e->op == TIR_READ) {
    body_read *read = RUNTIME_NEW(x->l->arena, body_read);
    *read = (body_read){e, NULL};
    x->reads |= schedule_tensor_bit(e->u.tensor);
    *x->next_read = read;
    x->next_read = &read->next;
  }
  return e->n_args == 0 || ++x->visits <= runtime_limits(x->l->ctx)->expr_nodes ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* What the simplifier may assume of a reader's axes; symbolic extents count by their greatest value. */
static const tir_env *axis_ranges(lowering *l, const te_op *op) {
  const tir_env *known = NULL;
  for (int i = 0; i < op->n_axes + op->n_reduce; i++) {
    const tn_axis *axis = i < op->n_axes ? op->axes[i] : op->reduce_axes[i - op->n_axes];
    tir_env *env = RUNTIME_NEW(l->arena, tir_env);
    *env = (tir_env){.outer = known, .var = &axis->var, .range = {0, axis->extent - 1}};
    known = env;
  }
  return known;
}

/* Most stages do not, and keep their body as it is. */
static bool reads_inlined(const lowering *l, const te_op *op) {
  for (int i = 0; i < op->n_inputs; i++)
    if (l->s->stages[schedule_stage_of_tensor(l->s, op->inputs[i])].attach == SCHEDULE_INLINED) return true;
  return false;
}

/* The body is replaced only when it is within the limit. INLINES: some stage is inlined. */
static bool inline_into(lowering *l, lower_stage *ls, bool inlines) {
  inlining x;
  const tir_expr *body = ls->body;
  memset(&x, 0, offsetof(inlining, slots));
  x.l = l, x.reader = ls;
  if (inlines && reads_inlined(l, ls->st->op)) {
    memset(x.slots, 0, sizeof x.slots);
    x.env = axis_ranges(l, ls->st->op);
    x.depth = tir_depth(body);
    body = put_together(&x, body);
  }
  x.visits = 0;
  x.next_read = &x.first_read;
  if (body && !tir_walk_expr(body, count_node, &x)) body = refuse_size(&x);
  if (body) ls->body = body, ls->reads = x.reads, ls->first_read = x.first_read;
  return body != NULL;
}

/* Whether a stage that is inlined into OP's may read outside. */
static bool inlines_unsafe_read(const lowering *l, const te_op *op) {
  for (int i = 0; i < op->n_inputs; i++) {
    int from = schedule_stage_of_tensor(l->s, op->inputs[i]);
    if (l->s->stages[from].attach == SCHEDULE_INLINED && l->stages[from].may_leave) return true;
  }
  return false;
}

static bool inlines_some(const tn_schedule *s) {
  for (int i = 0; i < s->n_stages; i++)
    if (s->stages[i].attach == SCHEDULE_INLINED) return true;
  return false;
}

/* Producers first. What an inlined stage reads loosely makes its reader loose, too. */
bool schedule_inline_bodies(lowering *l) {
  bool inlines = inlines_some(l->s);
  for (int i = 0; i < l->s->n_stages; i++) {
    lower_stage *ls = &l->stages[i];
    ls->st = &l->s->stages[i];
    ls->body = ls->st->op->body;
    ls->may_leave = ls->st->op->may_leave || (inlines && inlines_unsafe_read(l, ls->st->op));
    if (!ls->body || ls->st->attach == SCHEDULE_INLINED) continue;
    if (!inline_into(l, ls, inlines)) return false;
  }
  return true;
}
