/* lift.c: reductions inside an expression. Each becomes a tensor of its own over the axes it uses, named
 * after the definition and its combiner: in C[i<4, j<8] = sum[k<9](A[i,k]) * 0.5 + B[j] it is C.sum[i<4],
 * and a second one is C.sum2. An equal reduction that was lifted from an earlier definition is used again. */
#include "te/internal.h"

enum { REMEMBERED = 64, WORDS = TIR_COMBINER_COUNT + 1 };

/* The last reductions lifted in a context; in the context's arena. */
typedef struct remembered {
  int n; /* lifted in all; the last REMEMBERED are kept */
  te_op *ops[REMEMBERED];
} remembered;

/* The reductions of one definition being lifted. */
typedef struct lifting {
  const te_site *site;
  const char *name; /* of the definition */
  int n_axes;
  tn_axis *const *axes; /* of the definition */
  te_access_fn visit;
  void *user;
  int n_named[WORDS]; /* lifted so far by combiner; names are numbered by it */
  bool is_refused;
} lifting;

/* The context's list; NULL: no memory. */
static remembered *remembered_of(tn_context *ctx) {
  remembered *r = runtime_slot_get(ctx, RUNTIME_SLOT_REDUCTIONS);
  if (r) return r;
  r = RUNTIME_NEW(&ctx->arena, remembered);
  if (r) runtime_slot_set(ctx, RUNTIME_SLOT_REDUCTIONS, r, NULL);
  return r;
}

/* ---- the axes of a reduction ------------------------------------------------------------------------------------- */

/* The axes that a reduction uses without reducing over them. */
typedef struct free_axes {
  const tir_reduce *reduce;
  int n; /* TN_MAX_RANK + 1 means too many */
  const tn_axis *axes[TN_MAX_RANK + 1];
} free_axes;

/* Adds an axis unless the reduction itself binds it. */
static void add_axis(free_axes *f, const tn_axis *axis) {
  for (int i = 0; i < f->n; i++)
    if (f->axes[i] == axis) return;
  for (int i = 0; i < f->reduce->n_axes; i++)
    if (f->reduce->axes[i] == axis) return;
  if (f->n <= TN_MAX_RANK) f->axes[f->n++] = axis;
}

/* Symbols are the same everywhere in a program, so they are not axes of the lifted tensor. */
static tir_walk add_var(void *user, const tir_expr *e) {
  if (e->op == TIR_VAR && !te_var_axis(e->u.var)->is_symbol) add_axis(user, te_var_axis(e->u.var));
  return TIR_WALK_ON;
}

/* Finds the free axes, in the order of the definition's own axes, then by first use. */
static void find_axes(const lifting *l, const tir_expr *e, free_axes *out) {
  free_axes met = {.reduce = e->u.reduce};
  for (int i = 0; i < e->n_args; i++) tir_walk_expr(e->arg[i], add_var, &met);
  *out = (free_axes){.reduce = e->u.reduce};
  for (int a = 0; a < l->n_axes; a++)
    for (int i = 0; i < met.n; i++)
      if (met.axes[i] == l->axes[a]) add_axis(out, met.axes[i]);
  for (int i = 0; i < met.n; i++) add_axis(out, met.axes[i]);
}

/* ---- one that is there already ----------------------------------------------------------------------------------- */

/* Symbolic extents are compared as expressions; a symbolic extent never equals a number. */
static bool is_same_extent(const tn_axis *a, const tn_axis *b) {
  bool both = a->size && b->size;
  return a->extent == b->extent && (both ? tir_equal(a->size, b->size) : a->size == b->size);
}

/* Whether OP computes the reduction E over the axes F, apart from the names of axes. */
static bool computes(runtime_arena *arena, const te_op *op, const tir_expr *e, const free_axes *f) {
  const tir_reduce *a = op->body->u.reduce, *b = e->u.reduce;
  tir_binding bindings[TN_MAX_RANK + TE_MAX_REDUCE_AXES];
  int n = 0;
  if (a->combiner != b->combiner || a->tuple != b->tuple || a->has_where != b->has_where || a->has_init != b->has_init)
    return false;
  if (op->n_axes != f->n || op->n_reduce != b->n_axes || op->body->n_args != e->n_args) return false;
  for (int i = 0; i < f->n + b->n_axes; i++) {
    const tn_axis *has = i < f->n ? op->axes[i] : op->reduce_axes[i - f->n];
    const tn_axis *wants = i < f->n ? f->axes[i] : b->axes[i - f->n];
    if (!is_same_extent(has, wants)) return false;
    bindings[n++] = (tir_binding){&wants->var, te_axis_expr(arena, has)};
  }
  for (int i = 0; i < e->n_args; i++)
    if (!tir_equal(tir_substitute(arena, e->arg[i], n, bindings), op->body->arg[i])) return false;
  return true;
}

/* Only the last REMEMBERED ones are searched, newest first: repetitions are usually close together. */
static tn_tensor *find_same(const lifting *l, const remembered *r, const tir_expr *e, const free_axes *f) {
  for (int i = r->n - 1; i >= 0 && i >= r->n - REMEMBERED; i--) {
    te_op *op = r->ops[i % REMEMBERED];
    if (computes(&l->site->ctx->arena, op, e, f)) return &op->outputs[0];
  }
  return NULL;
}

/* ---- taking out -------------------------------------------------------------------------------------------------- */

/* The next free name, "C.sum", "C.sum2", ...; NULL: no memory. */
static const char *new_name(lifting *l, const tir_reduce *reduce) {
  int word = reduce->tuple ? TIR_COMBINER_COUNT : (int)reduce->combiner, n = ++l->n_named[word];
  const char *text = reduce->tuple ? TE_OTHER_REDUCTION : te_combiner_text(reduce->combiner);
  runtime_arena *arena = &l->site->ctx->arena;
  return n == 1 ? runtime_format(arena, "%s.%s", l->name, text) : runtime_format(arena, "%s.%s%d", l->name, text, n);
}

/* Makes the reduction a tensor over axes of its own. */
static tn_tensor *new_tensor(lifting *l, const tir_expr *e, const free_axes *f) {
  tn_context *ctx = l->site->ctx;
  tir_binding bindings[TN_MAX_RANK];
  tn_axis *axes[TN_MAX_RANK];
  const tir_expr *args[2 * TIR_MAX_VALUES + 1];
  const char *name = new_name(l, e->u.reduce);
  for (int i = 0; i < f->n; i++) {
    axes[i] = te_axis_make(ctx, f->axes[i]->var.name, f->axes[i]->extent, f->axes[i]->size, false);
    if (!te_has_memory(l->site, axes[i])) return NULL;
    bindings[i] = (tir_binding){&f->axes[i]->var, te_axis_expr(&ctx->arena, axes[i])};
  }
  for (int i = 0; i < e->n_args; i++) args[i] = tir_substitute(&ctx->arena, e->arg[i], f->n, bindings);
  tn_expr *body = te_new_expr(l->site, tir_reduce_args(&ctx->arena, e->u.reduce, args), 0, NULL);
  if (!body || !te_has_memory(l->site, name)) return NULL;
  return te_compute(l->site, 1, &name, tn_arg_expr(body), f->n, axes, l->visit, l->user);
}

/* Equal expressions over equal axes get one tensor, so they are computed once. */
static tn_tensor *tensor_of(lifting *l, const tir_expr *e, const free_axes *f) {
  remembered *r = remembered_of(l->site->ctx);
  if (!te_has_memory(l->site, r)) return NULL;
  tn_tensor *tensor = find_same(l, r, e, f);
  if (tensor) return tensor;
  tensor = new_tensor(l, e, f);
  if (tensor) r->ops[r->n++ % REMEMBERED] = tensor->op;
  return tensor;
}

/* Replaces a reduction by a read of its tensor. Reductions inside it were lifted before. */
static const tir_expr *lift_reduction(void *user, const tir_expr *e) {
  lifting *l = user;
  free_axes f;
  tn_arg index[TN_MAX_RANK];
  if (e->op != TIR_REDUCE || l->is_refused) return e;
  l->is_refused = true;
  find_axes(l, e, &f);
  if (f.n > TN_MAX_RANK)
    return te_fail(l->site, TN_ERROR_PROGRAM,
                   "'%s': a reduction inside the expression uses more than %d axes besides those that it reduces: give "
                   "it a tensor of its own and read that",
                   l->name, (int)TN_MAX_RANK),
           e;
  tn_tensor *tensor = tensor_of(l, te_narrow_reduction(&l->site->ctx->arena, e), &f);
  for (int i = 0; i < f.n; i++) index[i] = tn_arg_axis((tn_axis *)f.axes[i]);
  tn_expr *read = tensor ? te_read(l->site, tensor, f.n, index) : NULL;
  const tir_expr *whole = read ? tir_cast(&l->site->ctx->arena, (tn_dtype)e->dtype, read->node) : NULL;
  if (!read || !te_has_memory(l->site, whole)) return e;
  l->is_refused = false;
  return whole;
}

static bool has_reduction(const tir_expr *e) { return tir_has_op(e, TIR_REDUCE); }

const tir_expr *te_lift_reductions(const te_site *site, const char *name, const tir_expr *body, int n_axes,
                                   tn_axis *const *axes, te_access_fn visit, void *user) {
  lifting l = {.site = site, .name = name, .n_axes = n_axes, .axes = axes, .visit = visit, .user = user};
  tir_rewriter rewriter = {&site->ctx->arena, NULL, lift_reduction, &l};
  const tir_expr *args[2 * TIR_MAX_VALUES + 1];
  bool any = false;
  if (body->op != TIR_REDUCE) {
    const tir_expr *whole = has_reduction(body) ? tir_rewrite_expr(&rewriter, body) : body;
    return l.is_refused || !te_has_memory(site, whole) ? NULL : whole;
  }
  for (int i = 0; i < body->n_args; i++) {
    args[i] = has_reduction(body->arg[i]) ? tir_rewrite_expr(&rewriter, body->arg[i]) : body->arg[i];
    any |= args[i] != body->arg[i];
  }
  if (l.is_refused) return NULL;
  const tir_expr *whole = any ? tir_reduce_args(&site->ctx->arena, body->u.reduce, args) : body;
  return te_has_memory(site, whole) ? whole : NULL;
}
