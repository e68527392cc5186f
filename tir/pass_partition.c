/* pass_partition.c: splits a loop that was asked to be peeled into the longest first part in which the conditions on
 * its variable are provably true, and the rest:
 *   for (o, 0, 52) { for (i, 0, 20) { if (o*20 + i < 1024) S } }
 * becomes
 *   for (o, 0, 51) { for (i, 0, 20) S }  and  for (i, 0, 4) S with o = 51
 * (after simplify and tighten_loops). Where the conditions keep loads inside of an array, the iterations at its first border are parted,
 * too. A parallel loop stays one, since the rest alone would keep one thread busy while
 * the others wait: for (o, 0, 52) "parallel" { if (o < 51) { for (i, 0, 20) S } else { for (i, 0, 4) S } }. */
#include "tir/linear.h"
#include "tir/passes.h"

typedef struct state {
  tir_pass_context *p;
  const tir_func *f;
  const tir_env *env;
  int64_t stores;    /* in the function now; growth is capped */
  bool is_in_vector; /* inside of a loop that becomes vectors: its buffers are widened, each once */
} state;

static bool uses_symbol(const tir_func *f, const tir_expr *e) {
  for (int i = 0; i < f->n_scalars; i++)
    if (f->scalars[i].is_symbol && tir_uses_var(e, f->scalars[i].var)) return true;
  return false;
}

/* ---- how far the conditions hold --------------------------------------------------------------------------------- */

/* On the stack of holds_for; ENV follows the walk. */
typedef struct question {
  bool is_fused; /* what is stored lies at a quotient of the variable: so do its neighbours, and what is read */
  runtime_arena *arena;
  const tir_var *var;
  const tir_env *env;
  bool any;      /* a condition on the variable was met */
  bool of_loads; /* what a value takes of an element that is not there is asked for, too */
} question;

static bool holds_throughout(question *q, const tir_stmt *s);

/* S with one scope more, which ends with the call. */
static bool holds_under(question *q, tir_env env, const tir_stmt *s) {
  const tir_env *outer = q->env;
  q->env = &env;
  bool holds = holds_throughout(q, s);
  q->env = outer;
  return holds;
}

/* The conditions on the variable are proved one by one. What data decides holds throughout no part of a loop. */
static bool cond_holds(question *q, const tir_expr *cond) {
  tir_conds conds = {0};
  if (!tir_conds_add(&conds, cond)) return false;
  for (int i = 0; i < conds.n; i++) {
    if (!tir_uses_var(conds.item[i], q->var) || tir_reads_memory(conds.item[i])) continue;
    q->any = true;
    if (!tir_prove(q->arena, q->env, conds.item[i])) return false;
  }
  return true;
}

static bool never_holds(const question *q, const tir_expr *cond) {
  return cond->lanes == 1 && tir_prove(q->arena, q->env, tir_unary(q->arena, TIR_NOT, cond));
}

/* Whether of A and B always the same one is the lesser. */
static bool is_decided(const question *q, const tir_expr *a, const tir_expr *b) {
  return tir_prove(q->arena, q->env, tir_binary(q->arena, TIR_LE, a, b)) ||
         tir_prove(q->arena, q->env, tir_binary(q->arena, TIR_LE, b, a));
}

/* Whether an index that stops at the borders of an array, or begins anew behind them, does neither. What begins anew every few elements
 * always does. */
static bool border_holds(question *q, const tir_expr *e) {
  int64_t period = tir_period(e);
  bool is_limit = tir_class_of(e) == TIR_CLASS_EXTREMUM, is_ring = !q->is_fused && period >= TIR_LONG_PERIOD;
  if ((!is_limit && !is_ring) || e->lanes > 1 || tn_dtype_is_float(e->dtype) || tir_reads_memory(e) ||
      !tir_uses_var(e, q->var))
    return true;
  q->any = true;
  if (is_limit) return is_decided(q, e->arg[0], e->arg[1]);
  tir_interval range = tir_bounds(q->env, e->arg[0]);
  return tir_interval_is_closed(range) && runtime_floordiv(range.lo, period) == runtime_floordiv(range.hi, period);
}

/* Of a select that keeps a load inside of its buffer, of the load (pass_guard_loads.c), and of an index. What never holds is decided, too: the
 * other side of a select. */
static tir_walk load_holds(void *user, const tir_expr *e) {
  question *q = user;
  const tir_expr *cond = e->op == TIR_SELECT ? e->arg[0] : e->op == TIR_LOAD ? tir_predicate(e) : NULL;
  if (!border_holds(q, e)) return TIR_WALK_STOP;
  return cond == NULL || cond_holds(q, cond) || never_holds(q, cond) ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Conditions on other variables are taken as they come. */
static bool branch_holds(question *q, const tir_stmt *s) {
  if (!cond_holds(q, s->u.branch.cond)) return false;
  if (s->u.branch.else_body != NULL) {
    tir_env otherwise = tir_env_cond(q->env, tir_unary(q->arena, TIR_NOT, s->u.branch.cond));
    if (otherwise.cond == NULL || !holds_under(q, otherwise, s->u.branch.else_body)) return false;
  }
  return holds_under(q, tir_env_cond(q->env, s->u.branch.cond), s->u.branch.then_body);
}

static tir_walk find_quotient(void *user, const tir_expr *e) {
  const question *q = user;
  return tir_class_of(e) == TIR_CLASS_DIVISION && tir_uses_var(e, q->var) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Stops at the first condition that is not proved. */
static bool holds_throughout(question *q, const tir_stmt *s) {
  switch (s->kind) {
    case TIR_IF: return branch_holds(q, s);
    case TIR_FOR: return holds_under(q, tir_env_loop(q->arena, q->env, s), s->u.loop.body);
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; i++) {
        if (!holds_throughout(q, s->u.seq.stmts[i])) return false;
      }
      return true;
    case TIR_ALLOC:
    case TIR_ATTR: return holds_throughout(q, tir_body(s));
    case TIR_STORE:
      q->is_fused = false;
      for (int i = 0; i < s->u.store.n_index; i++) q->is_fused |= !tir_walk_expr(s->u.store.index[i], find_quotient, q);
      return !q->of_loads || tir_walk_expr(s->u.store.value, load_holds, q);
    case TIR_CALL:
    case TIR_PREFETCH:
    case TIR_NOP: break;
  }
  return true;
}

/* Whether the conditions hold for N iterations from MIN, those of branches or OF_LOADS, too; *any (may be NULL): whether there
 * are any. */
static bool holds_for(state *at, const tir_stmt *s, int64_t min, int64_t n, bool of_loads, bool *any) {
  question q = {.arena = at->p->arena, .var = s->u.loop.var, .env = at->env, .of_loads = of_loads};
  tir_env env = {.outer = at->env, .var = s->u.loop.var, .range = {min, min + n - 1}};
  bool holds = holds_under(&q, env, s->u.loop.body);
  if (any != NULL) *any = q.any;
  return holds;
}

/* The most iterations from MIN on for which all conditions hold. Those of loads count where no branch has one: a block that copies
 * its padding as zeros. Beside branches they may be of other borders and hold nowhere. *OF_LOADS: they count, as they do where it was
 * true before. */
static int64_t longest_part(state *at, const tir_stmt *s, int64_t min, int64_t extent, bool *of_loads) {
  bool any = false;
  bool holds = holds_for(at, s, min, extent, *of_loads, &any);
  if (!any && !*of_loads) {
    *of_loads = true;
    holds = holds_for(at, s, min, extent, *of_loads, &any);
  }
  if (holds || !any) return extent;
  int64_t good = 0, bad = extent;
  if (extent > 1 && holds_for(at, s, min, extent - 1, *of_loads, NULL)) return extent - 1;
  while (bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    if (holds_for(at, s, min, middle, *of_loads, NULL)) {
      good = middle;
    } else {
      bad = middle;
    }
  }
  return good;
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

static const tir_stmt *partition(void *user, const tir_stmt *s);

/* S in a scope further in. The count of stores comes back from there, as growth is capped over the
 * whole function. */
static const tir_stmt *partition_under(state *at, tir_env env, const tir_stmt *s) {
  state inner = *at;
  inner.env = &env;
  s = partition(&inner, s);
  at->stores = inner.stores;
  return s;
}

/* The body as N iterations from MIN have it. */
static const tir_stmt *body_of(state *at, const tir_stmt *s, int64_t min, int64_t n) {
  tir_env env = {.outer = at->env, .var = s->u.loop.var, .range = {min, min + n - 1}};
  return partition_under(at, env, s->u.loop.body);
}

/* The loop with another body, no longer to be peeled. */
static const tir_stmt *whole_of(state *at, const tir_stmt *s, const tir_stmt *body) {
  tir_stmt *whole =
      (tir_stmt *)tir_for(at->p->arena, s->u.loop.var, s->u.loop.min, s->u.loop.extent, s->u.loop.kind, body);
  if (whole != NULL) whole->u.loop.strided = s->u.loop.strided;
  return whole;
}

/* N iterations of the loop from MIN, no longer to be peeled. */
static const tir_stmt *part_of(state *at, const tir_stmt *s, int64_t min, int64_t n, tir_loop_kind kind) {
  tn_dtype dtype = s->u.loop.var->dtype;
  return tir_for(at->p->arena, s->u.loop.var, tir_int(at->p->arena, dtype, min), tir_int(at->p->arena, dtype, n), kind,
                 body_of(at, s, min, n));
}

/* ---- extents that symbols decide --------------------------------------------------------------------------------- */

/* The search for a condition under which an iteration is a full block: see version_for. */
typedef struct block {
  runtime_arena *arena;
  const tir_var *var;
  const tir_env *env;
  const tir_expr *full; /* NULL: no condition on the variable was found */
  const tir_expr *
      begin; /* FULL is BEGIN + LOST < END, END a symbol: a rest of 1 .. LOST begins there. NULL: it is not of that form */
  const tir_expr *end;
  int64_t lost;
  int64_t span;           /* of the iterations of a block: see sides */
  const tir_stmt *vector; /* the vectorized loop that the walk is in, or NULL */
  const tir_stmt *parted; /* likewise a loop that is to be parted, too */
  bool is_of_blocks;      /* a condition is on that loop, too: it has versions of its own of what is left */
  const tir_stmt *body;
  bool takes_numbers;     /* conditions with numbers on one side are looked at, too */
  struct guard {          /* what of FULL says which iterations there are, and not what they compute */
    const tir_expr *full; /* NULL: nothing, or several conditions do */
    const tir_expr *begin, *end;
    int64_t lost;
    bool is_any, is_around; /* there was one; the walk is under one */
    bool is_not_of_all;     /* what others see is stored without one */
  } guard;
  const tir_env *around;  /* what is known of the loop's iterations; NULL: nothing */
  int n_full;             /* of how many conditions FULL is */
  struct strictest {      /* of these, the one that all others follow from: BEGIN + LOST < END */
    const tir_expr *full; /* NULL: there is none */
    const tir_expr *begin, *end;
    int64_t lost;
  } strictest;
  const tir_expr
      *none; /* that the block takes the second side of selects between two loads. NULL: there are none, or several */
  bool has_choices;          /* there is such a select */
  int64_t lanes, most_lanes; /* of it, where a condition was on it, at most as many as a vector has; 0: there is none */
} block;

/* Adds COEF * ATOM to one side. */
static const tir_expr *add_part(runtime_arena *arena, const tir_expr *sum, const tir_expr *atom, int64_t coef) {
  const tir_expr *part = tir_binary(arena, TIR_MUL, atom, tir_int(arena, atom->dtype, coef));
  return sum != NULL ? tir_binary(arena, TIR_ADD, sum, part) : part;
}

/* Whether a value changes with a loop between the block and the condition. */
static bool uses_inner(const block *b, const tir_expr *e) {
  for (const tir_env *at = b->env; at != NULL; at = at->outer) {
    if (at->var != NULL && tir_uses_var(e, at->var)) return true;
  }
  return false;
}

/* Stops at a variable that is of none of the loops inside, and at what is no sum of them. */
static tir_walk find_outer(void *user, const tir_expr *e) {
  const block *b = user;
  if (!tir_is_index_op((tir_op)e->op)) return TIR_WALK_STOP;
  return e->op == TIR_VAR && !uses_inner(b, e) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* What a term is that is of the loops inside alone. False: it is not. */
static bool range_inside(const block *b, const tir_term *t, tir_interval *range) {
  if (!uses_inner(b, t->atom) || !tir_walk_expr(t->atom, find_outer, (void *)b)) return false;
  *range = tir_interval_scale(tir_bounds(b->env, t->atom), t->coef);
  return tir_interval_is_closed(*range);
}

/* left - right < 0 for an iteration inside: LEFT + LOST < RIGHT, neither of which changes inside. */
typedef struct sides {
  const tir_expr *left, *right;
  int64_t lost;
  int64_t span; /* from the first iteration inside to the last; -1: a part such as i % 4 may not reach its ends */
} sides;

/* o*32 + 31 - 1024 < 0 is o*32 + 31 < 1024. */
static void compare_with_number(const block *b, sides *s) {
  int64_t length;
  if (s->left == NULL || s->left->op != TIR_MUL || !tir_is_int(s->left->arg[1], &length)) return;
  s->right = tir_int(b->arena, s->left->dtype, length - 1 - s->lost);
  s->lost = length - 1;
}

/* For the last of the iterations inside, or the first. False: it is not of that form. */
static bool sides_of(const block *b, const tir_expr *less, bool first, sides *out) {
  tir_linear form, constant;
  *out = (sides){0};
  tir_linear_zero(&form);
  tir_linear_zero(&constant);
  if (!tir_linear_add_expr(&form, less->arg[0], 1) || !tir_linear_add_expr(&form, less->arg[1], -1)) return false;
  tir_linear_add_const(&constant, form.constant);
  for (int i = 0; i < form.n; i++) {
    const tir_term *t = &form.terms[i];
    tir_interval inside;
    if (range_inside(b, t, &inside)) {
      if (!tir_linear_add_const(&constant, first ? inside.lo : inside.hi)) return false;
      out->span = t->atom->op == TIR_VAR && out->span >= 0 ? out->span + inside.hi - inside.lo : -1;
      continue;
    }
    if (uses_inner(b, t->atom)) return false;
    if (t->coef > 0)
      out->left = add_part(b->arena, out->left, t->atom, t->coef);
    else
      out->right = add_part(b->arena, out->right, t->atom, -t->coef);
  }
  out->lost = constant.constant;
  if (b->takes_numbers && out->right == NULL) compare_with_number(b, out);
  return out->left != NULL && out->right != NULL;
}

static const tir_expr *less_expr(const block *b, const sides *s) {
  const tir_expr *lost = tir_int(b->arena, s->left->dtype, s->lost);
  return tir_binary(b->arena, TIR_LT, tir_binary(b->arena, TIR_ADD, s->left, lost), s->right);
}

/* left - right < 0 for the last of the iterations inside, or NULL. */
static const tir_expr *for_last(block *b, const tir_expr *less) {
  sides s;
  if (!sides_of(b, less, false, &s)) return NULL;
  b->begin = s.left, b->end = s.right, b->lost = s.lost, b->span = s.span;
  return less_expr(b, &s);
}

/* The opposite for the first of them, and so for all: or NULL. */
static const tir_expr *for_none(const block *b, const tir_expr *less) {
  sides s;
  return sides_of(b, less, true, &s) ? tir_unary(b->arena, TIR_NOT, less_expr(b, &s)) : NULL;
}

static void look_at_block(block *b, const tir_stmt *s);

/* Looks at S with ENV as what is known, and puts the outer environment back. */
static void look_under(block *b, tir_env env, const tir_stmt *s) {
  const tir_env *outer = b->env;
  b->env = &env;
  look_at_block(b, s);
  b->env = outer;
}

/* The widest loop counts; what is wider than a vector is several. */
static void note_lanes(block *b, const tir_expr *cond) {
  int64_t min, extent;
  if (b->vector == NULL || !tir_uses_var(cond, b->vector->u.loop.var) || !tir_const_loop(b->vector, &min, &extent))
    return;
  b->lanes = RUNTIME_MAX(b->lanes, RUNTIME_MIN(extent, b->most_lanes));
}

/* Whether ALL, joined conditions or NULL, has PART among them. */
static bool is_part_of(const tir_expr *all, const tir_expr *part) {
  while (all != NULL && all->op == TIR_AND && !tir_equal(all->arg[1], part)) all = all->arg[0];
  return all != NULL && (all->op == TIR_AND || tir_equal(all, part));
}

/* BEGIN + LOST < END of a block that begins at o*LENGTH and has as many iterations, as o*LENGTH + LENGTH - 1 < an end.
 * FULL is NULL where it has more, or less. */
static void end_of_block(const block *b, struct guard *g) {
  int64_t length;
  bool is_block = g->begin->op == TIR_MUL && tir_is_int(g->begin->arg[1], &length) && b->span == length - 1;
  if (!is_block) g->full = NULL;
  if (!is_block || g->lost == length - 1) return;
  g->end = tir_binary(b->arena, TIR_ADD, g->end, tir_int(b->arena, g->end->dtype, length - 1 - g->lost));
  g->lost = length - 1;
}

/* The condition that for_last has looked at. */
static void note_guard(block *b, const tir_expr *full) {
  struct guard *g = &b->guard;
  if (!g->is_any) {
    g->full = full, g->begin = b->begin, g->end = b->end, g->lost = b->lost;
    end_of_block(b, g);
  } else if (g->full != NULL && !tir_equal(g->full, full)) {
    g->full = NULL;
  }
  g->is_any = g->is_around = true;
}

static void note_store(block *b, const tir_buffer *buffer) {
  b->guard.is_not_of_all |= !b->guard.is_around && !tir_allocates(b->body, buffer);
}

/* FULL, which for_last has looked at, is one more condition. */
static void note_strictest(block *b, const tir_expr *full) {
  struct strictest *s = &b->strictest, new = {full, b->begin, b->end, b->lost};
  bool is_alike = s->full != NULL && tir_equal(s->begin, new.begin);
  tir_env this = tir_env_cond(b->around, full);
  if (b->n_full == 0 || (is_alike && tir_prove(b->arena, &this, s->full))) {
    *s = new;
    return;
  }
  tir_env that = s->full != NULL ? tir_env_cond(b->around, s->full) : this;
  if (!is_alike || !tir_prove(b->arena, &that, full)) s->full = NULL;
}

/* Conditions that are no comparisons with < are left in: the version is then checked as before, only
 * not faster. */
static void look_at_cond(block *b, const tir_expr *cond, bool is_guard) {
  tir_conds conds = {0};
  if (!tir_conds_add(&conds, cond)) return;
  for (int i = 0; i < conds.n; i++) {
    const tir_expr *part = conds.item[i], *full = NULL;
    if (part->op == TIR_LT && part->lanes == 1 && tir_uses_var(part, b->var)) full = for_last(b, part);
    if (full != NULL) note_lanes(b, part);
    b->is_of_blocks |= full != NULL && b->parted != NULL && tir_uses_var(part, b->parted->u.loop.var);
    if (full != NULL && is_guard) note_guard(b, full);
    if (full == NULL || is_part_of(b->full, full)) continue;
    note_strictest(b, full);
    b->full = b->full != NULL ? tir_binary(b->arena, TIR_AND, b->full, full) : full;
    b->n_full++;
  }
}

/* Of tensors that are joined, each from some iteration on. */
static void look_at_choice(block *b, const tir_expr *select) {
  const tir_expr *cond = select->arg[0];
  bool is_one = cond->op == TIR_LT && cond->lanes == 1 && tir_uses_var(cond, b->var);
  if (!is_one || !tir_reads_memory(select->arg[1]) || !tir_reads_memory(select->arg[2])) return;
  const tir_expr *none = for_none(b, cond);
  bool is_same = b->has_choices && b->none != NULL && none != NULL && tir_equal(b->none, none);
  if (!is_same) b->none = b->has_choices ? NULL : none;
  b->has_choices = true;
}

/* What a sum takes of an element that is not there stands in its value. */
static tir_walk look_at_value(void *user, const tir_expr *e) {
  block *b = user;
  if (e->op == TIR_SELECT) look_at_cond(b, e->arg[0], false), look_at_choice(b, e);
  if (e->op == TIR_LOAD && tir_predicate(e) != NULL) look_at_cond(b, tir_predicate(e), false);
  return TIR_WALK_ON;
}

/* Collects into B what must hold for an iteration to be a whole block. */
static void look_at_block(block *b, const tir_stmt *s) {
  if (s->kind == TIR_FOR) {
    const tir_stmt *vector = b->vector, *parted = b->parted;
    if (s->u.loop.kind == TIR_VECTORIZED)
      b->vector = s;
    else if (s->u.loop.peel)
      b->parted = s;
    look_under(b, tir_env_loop(b->arena, b->env, s), s->u.loop.body);
    b->vector = vector, b->parted = parted;
  } else if (s->kind == TIR_IF) {
    bool is_around = b->guard.is_around;
    look_at_cond(b, s->u.branch.cond, true);
    look_at_block(b, s->u.branch.then_body);
    b->guard.is_around = is_around;
  } else if (s->kind == TIR_SEQ) {
    for (int i = 0; i < s->u.seq.n; i++) look_at_block(b, s->u.seq.stmts[i]);
  } else if (s->kind == TIR_STORE) {
    tir_walk_expr(s->u.store.value, look_at_value, b);
    note_store(b, s->u.store.buffer);
  } else if (tir_body(s) != NULL) {
    look_at_block(b, tir_body(s));
  }
}

enum { MAX_RESTS = 15, MAX_VECTORS = 8 };

/* The rest of a block, up to all of it but one, in versions of ascending length. BODY is the block's. */
typedef struct rests {
  state *at;
  const block *b;
  const tir_env *env;
  const tir_stmt *body;
  const tir_expr *limit; /* of a version of some lengths: where it ends at the latest */
} rests;

/*   if (M == o*16 + 1) S of 1 else if (M == o*16 + 2) S of 2 ... else REST
 * The symbol stands for what it is there, so that simplify proves the checks. */
static const tir_stmt *version_of_length(const rests *r, int64_t n, const tir_stmt *rest) {
  runtime_arena *arena = r->at->p->arena;
  const tir_expr *end = tir_binary(arena, TIR_ADD, r->b->begin, tir_int(arena, r->b->begin->dtype, n));
  tir_binding is_end = {r->b->end->u.var, end};
  const tir_expr *cond = tir_binary(arena, TIR_EQ, r->b->end, end);
  const tir_stmt *body = tir_substitute_stmt(arena, r->body, 1, &is_end);
  return tir_if(arena, cond, partition_under(r->at, tir_env_cond(r->env, cond), body), rest);
}

/* COND, and the limit that follows from it. */
static const tir_expr *with_limit(const rests *r, const tir_expr *cond) {
  runtime_arena *arena = r->at->p->arena;
  tir_conds conds = {0};
  const tir_expr *out = cond;
  if (!tir_conds_add(&conds, cond)) return cond;
  for (int i = 0; i < conds.n; i++) {
    const tir_expr *part = conds.item[i];
    if (part->op != TIR_LT || part->lanes != 1 || !tir_equal(part->arg[1], r->b->end)) continue;
    if (tir_uses_var(part->arg[0], r->b->var))
      out = tir_binary(arena, TIR_AND, out, tir_binary(arena, TIR_LT, part->arg[0], r->limit));
  }
  return out;
}

static const tir_expr *limit_expr(void *user, const tir_expr *e) {
  const rests *r = user;
  const tir_expr *predicate = e->op == TIR_LOAD ? tir_predicate(e) : NULL;
  int at = e->op == TIR_SELECT ? 0 : e->n_args - 1;
  if (e->op != TIR_SELECT && predicate == NULL) return e;
  tir_expr *copy = runtime_copy(r->at->p->arena, e, sizeof *e + sizeof e->arg[0] * e->n_args);
  if (copy != NULL) copy->arg[at] = with_limit(r, e->arg[at]);
  return copy;
}

static const tir_stmt *limit_stmt(void *user, const tir_stmt *s) {
  const rests *r = user;
  if (s->kind != TIR_IF) return s;
  return tir_if(r->at->p->arena, with_limit(r, s->u.branch.cond), s->u.branch.then_body, s->u.branch.else_body);
}

/*   if (M <= o*48 + 16) S of at most one vector else if (M <= o*48 + 32) S of two ... else REST
 * Which vectors there are is then known; lanes of the last are masked. */
static const tir_stmt *version_up_to(rests *r, int64_t n, const tir_stmt *rest) {
  runtime_arena *arena = r->at->p->arena;
  tir_rewriter limiter = {arena, limit_stmt, limit_expr, r};
  r->limit = tir_binary(arena, TIR_ADD, r->b->begin, tir_int(arena, r->b->begin->dtype, n));
  const tir_expr *cond = tir_binary(arena, TIR_LE, r->b->end, r->limit);
  const tir_stmt *body = tir_rewrite_stmt(&limiter, r->body);
  return body == NULL ? NULL : tir_if(arena, cond, partition_under(r->at, tir_env_cond(r->env, cond), body), rest);
}

static int64_t vector_bytes(const state *at) {
  enum { DEFAULT = 64 };
  return at->p->options.vector_bytes > 0 ? at->p->options.vector_bytes : DEFAULT;
}

/* Stops at what a processor computes by many instructions, as long for few lanes as for all. */
static tir_walk find_function(void *user, const tir_expr *e) {
  (void)user;
  return tir_class_of(e) == TIR_CLASS_MATH ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* The fewest lanes of a vector of LANES that are worth code of their own. A vector as long as a line of the caches spans two of them wherever
 * its row does not begin with one, and is stored in two steps; a half or a quarter seldom is. */
static int64_t shortest_part(const state *at, const tir_stmt *body, int64_t lanes) {
  enum { LINE_BYTES = 64, FEW = 4, PARTS = 4 };
  tir_visitor visitor = {.expr = find_function};
  bool is_long = vector_bytes(at) >= LINE_BYTES && lanes >= FEW * PARTS && tir_count_stores(body) == 1;
  return is_long && tir_walk_stmt(body, &visitor) ? lanes / PARTS : lanes;
}

/* REST parted once more, by how much of the block there is: each length where it counts iterations, each number of vectors
 * where it counts lanes. */
static const tir_stmt *version_rests(state *at, const block *b, const tir_env *env, const tir_stmt *body,
                                     const tir_stmt *rest) {
  bool is_of_form = b->begin != NULL && b->end->op == TIR_VAR && b->lost >= 1;
  int64_t step = RUNTIME_MAX(b->lanes, 1), n = b->lost / step;
  if (!at->p->options.versions_rests || !is_of_form || b->is_of_blocks || n < 1 ||
      n > (step > 1 ? MAX_VECTORS : MAX_RESTS) || b->begin->dtype != b->end->dtype)
    return rest;
  int64_t growth = n * tir_count_stores(body);
  if (at->stores + growth > at->p->options.max_unrolled_body) return rest;
  at->stores += growth;
  rests r = {at, b, env, body, NULL};
  rest = tir_with_own_buffers(at->p->arena, rest);
  for (; n >= 1 && rest != NULL; n--)
    rest = step > 1 ? version_up_to(&r, n * step, rest) : version_of_length(&r, n, rest);
  for (n = step / 2; n >= shortest_part(at, body, step) && rest != NULL; n /= 2) rest = version_up_to(&r, n, rest);
  return rest;
}

/* As many as a vector has of the widest elements that the loop stores. */
static tir_walk widest_store(void *user, const tir_stmt *s) {
  int *bytes = user;
  if (s->kind == TIR_STORE) *bytes = RUNTIME_MAX(*bytes, (int)tn_dtype_bytes(s->u.store.buffer->dtype));
  return TIR_WALK_ON;
}

static int64_t lanes_of(const state *at, const tir_stmt *s) {
  int bytes = 1;
  tir_visitor visitor = {.stmt = widest_store, .user = &bytes};
  tir_walk_stmt(s, &visitor);
  return vector_bytes(at) / bytes;
}

/* ---- ends without masks ------------------------------------------------------------------------------------------ */

/* Blocks that are moved to the end of a loop, shorter ones first. */
typedef struct ends {
  state *at;
  const block *b;
  const tir_env *env;
  int64_t length; /* of the loop's blocks */
} ends;

/* Whether what is left at the end of a loop can be a block that begins earlier. */
static bool may_move(const state *at, const block *b, const tir_stmt *s) {
  const struct guard *g = &b->guard;
  int64_t min, length;
  bool is_known = g->full != NULL && !g->is_not_of_all && g->end->dtype == b->var->dtype;
  if (at->p->options.end_divisor == 0 || !is_known || b->lanes == 0 || s->u.loop.kind == TIR_PARALLEL) return false;
  bool is_block = g->begin->op == TIR_MUL && g->begin->arg[0]->op == TIR_VAR && g->begin->arg[0]->u.var == b->var &&
                  tir_is_int(g->begin->arg[1], &length) && length == g->lost + 1;
  return is_block && tir_is_int(s->u.loop.min, &min) && min == 0 && tir_may_repeat(s->u.loop.body);
}

/* That so many iterations are enough for what is left. */
static const tir_expr *fits_in(const ends *v, int64_t n) {
  runtime_arena *arena = v->at->p->arena;
  const struct guard *g = &v->b->guard;
  const tir_expr *limit = tir_binary(arena, TIR_ADD, g->begin, tir_int(arena, g->begin->dtype, n));
  return tir_binary(arena, TIR_LE, g->end, limit);
}

/* S as the last N iterations, where FITS holds. NULL: it cannot be moved. */
static const tir_stmt *version_moved(const ends *v, int64_t n, const tir_expr *fits) {
  runtime_arena *arena = v->at->p->arena;
  const tir_expr *end = v->b->guard.end, *begin = tir_binary(arena, TIR_SUB, end, tir_int(arena, end->dtype, n));
  const tir_stmt *body = tir_block_moved(arena, tir_with_own_buffers(arena, v->b->body), v->b->var, v->length, begin,
                                         v->at->p->options.end_divisor);
  return body != NULL ? partition_under(v->at, tir_env_cond(v->env, fits), body) : NULL;
}

/* The next shorter block: a vector less, or half of it where that would be many, and parts of the last vector. */
static int64_t shorter(const ends *v, int64_t n) {
  enum { FEW = 4 };
  int64_t lanes = v->b->lanes;
  if (n <= lanes) return n / 2 >= shortest_part(v->at, v->b->body, lanes) ? n / 2 : 0;
  if (n <= FEW * lanes) return (n - 1) / lanes * lanes;
  return (n / 2 + lanes - 1) / lanes * lanes;
}

/* That the loop is as long as a block. */
static const tir_expr *as_long(runtime_arena *arena, const block *b) {
  return tir_binary(arena, TIR_LE, tir_int(arena, b->guard.end->dtype, b->guard.lost + 1), b->guard.end);
}

static bool is_long(const state *at, const block *b, const tir_env *env) {
  return tir_prove(at->p->arena, env, as_long(at->p->arena, b));
}

/*   if (M <= o*32 + 8) S of M - 8 .. M - 1 else if (M <= o*32 + 16) S of M - 16 .. M - 1 ... else S of M - 32 .. M - 1
 * What is left at the end as blocks without conditions, where the loop is as long as a block. NULL: it cannot be. */
static const tir_stmt *version_ends(state *at, const block *b, const tir_env *env, int64_t growth) {
  ends v = {at, b, env, b->guard.lost + 1};
  const tir_stmt *rest = NULL;
  for (int64_t n = v.length; n > 0; n = shorter(&v, n)) {
    const tir_expr *fits = fits_in(&v, n), *exceeds = tir_unary(at->p->arena, TIR_NOT, fits);
    bool is_small = at->stores + growth <= at->p->options.max_unrolled_body;
    if (!is_small || (rest != NULL && tir_prove(at->p->arena, env, exceeds))) break;
    const tir_stmt *moved = version_moved(&v, n, fits);
    if (moved == NULL) break;
    at->stores += growth;
    rest = rest == NULL || tir_prove(at->p->arena, env, fits) ? moved : tir_if(at->p->arena, fits, moved, rest);
  }
  return rest;
}

/* A block that takes the second side of all selects has a version; and one that is whole, but for these, is no end. */
static const tir_stmt *version_choices(state *at, const block *b, const tir_env *env, const tir_stmt *rest) {
  runtime_arena *arena = at->p->arena;
  if (b->none == NULL) return rest;
  const tir_expr *cond = b->guard.full != NULL ? tir_binary(arena, TIR_AND, b->none, b->guard.full) : b->none;
  const tir_stmt *second = partition_under(at, tir_env_cond(env, cond), tir_with_own_buffers(arena, b->body));
  at->stores += tir_count_stores(b->body);
  return rest != NULL && second != NULL ? tir_if(arena, cond, second, rest) : NULL;
}

/* A row of vectors that a symbol decides, which is stored at once. Its end costs as much as a whole vector; the ends of a tile's rows are few beside
 * what the tile computes, and their versions much code. */
static bool is_row(const state *at, const block *b) {
  return at->p->options.versions_rests && tir_count_stores(b->body) == 1 && b->full != NULL &&
         uses_symbol(at->f, b->full);
}

/* REST, the whole body under its conditions, in versions that have no masks. */
static const tir_stmt *without_masks(state *at, const block *b, const tir_env *env, const tir_stmt *s,
                                     const tir_stmt *rest) {
  runtime_arena *arena = at->p->arena;
  if (!at->p->options.masks_are_dear && !is_row(at, b)) return rest;
  const tir_stmt *end = may_move(at, b, s) ? version_ends(at, b, env, tir_count_stores(b->body)) : NULL;
  if (end != NULL && b->n_full > 1) {
    const tir_stmt *mixed = partition_under(at, tir_env_cond(env, b->guard.full), tir_with_own_buffers(arena, b->body));
    end = mixed != NULL ? tir_if(arena, b->guard.full, mixed, end) : NULL;
  }
  if (end != NULL) rest = is_long(at, b, env) ? end : tir_if(arena, as_long(arena, b), end, rest);
  return version_choices(at, b, env, rest);
}

/* A block of which a symbol decides how much there is, all or less. NULL: no memory, or it would be too much code. */
static const tir_stmt *version_lengths(state *at, const block *b, const tir_env *env) {
  int64_t growth = tir_count_stores(b->body);
  if (at->stores + growth > at->p->options.max_unrolled_body) return NULL;
  at->stores += growth;
  const tir_stmt *rest = version_rests(at, b, env, b->body, partition_under(at, *env, b->body));
  const tir_stmt *whole = tir_with_own_buffers(at->p->arena, b->body);
  if (rest == NULL || whole == NULL) return NULL;
  return tir_if(at->p->arena, b->full, partition_under(at, tir_env_cond(env, b->full), whole), rest);
}

/* The one block that is left behind whole ones, iteration AT_BLOCK: without masks, or in versions where a symbol decides how much of it
 * there is. NULL: as it is. */
static const tir_stmt *last_block(state *at, const tir_stmt *s, int64_t at_block) {
  tir_env env = {.outer = at->env, .var = s->u.loop.var, .range = {at_block, at_block}};
  runtime_arena *arena = at->p->arena;
  tn_dtype dtype = s->u.loop.var->dtype;
  const tir_stmt *end = NULL;
  block b = {.arena = arena,
             .var = s->u.loop.var,
             .body = s->u.loop.body,
             .takes_numbers = true,
             .most_lanes = lanes_of(at, s)};
  look_at_block(&b, b.body);
  if (!at->p->options.masks_are_dear && !is_row(at, &b)) return NULL;
  if (b.n_full == 1 && !b.has_choices && may_move(at, &b, s) && is_long(at, &b, &env))
    end = version_ends(at, &b, &env, tir_count_stores(b.body));
  else if (b.full != NULL && at->p->options.versions_rests)
    end = version_lengths(at, &b, &env);
  return end == NULL ? NULL
                     : tir_for(arena, s->u.loop.var, tir_int(arena, dtype, at_block), tir_int(arena, dtype, 1),
                               TIR_SERIAL, end);
}

/* How many iterations are before those in which an array's border is not met: those of the first side are few. 0: there are none, or
 * nothing is gained by parting them. */
static int64_t first_side(state *at, const tir_stmt *s, int64_t min, int64_t extent, bool of_loads) {
  enum { MOST_OF_SIDE = 4 };
  for (int64_t n = 1; n <= MOST_OF_SIDE && n < extent; n++)
    if (holds_for(at, s, min + n, 1, of_loads, NULL)) return n;
  return 0;
}

static const tir_stmt *in_parts(state *at, const tir_stmt *s, int64_t min, int64_t extent, bool of_loads);

/* N iterations, at the borders of arrays in parts of their own. */
static const tir_stmt *between_borders(state *at, const tir_stmt *s, int64_t min, int64_t n) {
  const tir_stmt *parts = in_parts(at, s, min, n, true);
  return parts != NULL ? parts : part_of(at, s, min, n, n == 1 ? TIR_SERIAL : s->u.loop.kind);
}

/* S for a second part of it. */
static const tir_stmt *again(state *at, const tir_stmt *s) {
  return at->is_in_vector ? tir_with_own_buffers(at->p->arena, s) : s;
}

/* The first N iterations, and what comes behind them. */
static const tir_stmt *behind_side(state *at, const tir_stmt *s, int64_t min, int64_t extent, int64_t n,
                                   bool of_loads) {
  const tir_stmt *parts[2] = {part_of(at, s, min, n, n == 1 ? TIR_SERIAL : s->u.loop.kind), NULL};
  const tir_stmt *own = again(at, s);
  if (own == NULL) return NULL;
  parts[1] = in_parts(at, own, min + n, extent - n, of_loads);
  if (parts[1] == NULL) parts[1] = part_of(at, own, min + n, extent - n, s->u.loop.kind);
  return tir_seq(at->p->arena, 2, parts);
}

/* The loop whose first N of EXTENT iterations have no checks. OF_LOADS: the last are those at an array's border, and no rest. */
static const tir_stmt *in_two_parts(state *at, const tir_stmt *s, int64_t min, int64_t extent, int64_t n,
                                    bool of_loads) {
  runtime_arena *arena = at->p->arena;
  if (s->u.loop.kind != TIR_PARALLEL) {
    tir_loop_kind rest_kind = extent - n == 1 ? TIR_SERIAL : s->u.loop.kind;
    const tir_stmt *main_part = between_borders(at, s, min, n);
    const tir_stmt *own = again(at, s), *end = NULL;
    if (own == NULL) return NULL;
    if (extent - n == 1 && !of_loads) end = last_block(at, own, min + n);
    if (extent - n > 1 && of_loads) end = between_borders(at, own, min + n, extent - n);
    const tir_stmt *parts[2] = {main_part, end != NULL ? end : part_of(at, own, min + n, extent - n, rest_kind)};
    return tir_seq(arena, 2, parts);
  }
  const tir_expr *var = tir_var_expr(arena, s->u.loop.var), *end = tir_int(arena, s->u.loop.var->dtype, min + n);
  const tir_stmt *main_part = body_of(at, s, min, n), *rest = body_of(at, s, min + n, extent - n);
  return whole_of(at, s, tir_if(arena, tir_binary(arena, TIR_LT, var, end), main_part, rest));
}

/* How many blocks of loop S are full, where these come first. NULL: that is not known. *IS_ONE: one at the most is not. */
static const tir_expr *count_full(const state *at, const tir_stmt *s, const block *b, bool *is_one) {
  runtime_arena *arena = at->p->arena;
  const struct strictest *of = &b->strictest;
  int64_t min, length;
  bool is_block = of->full != NULL && of->begin->op == TIR_MUL && of->begin->arg[0]->op == TIR_VAR &&
                  of->begin->arg[0]->u.var == b->var && tir_is_int(of->begin->arg[1], &length) && length > 0;
  if (!is_block || s->u.loop.kind == TIR_PARALLEL || !tir_is_int(s->u.loop.min, &min) || min != 0) return NULL;
  tn_dtype dtype = b->var->dtype;
  const tir_expr *end = tir_binary(arena, TIR_ADD, of->end, tir_int(arena, dtype, length - 1 - of->lost));
  const tir_expr *up = tir_binary(arena, TIR_ADD, end, tir_int(arena, dtype, length - 1));
  const tir_expr *blocks = tir_binary(arena, TIR_FLOORDIV, up, tir_int(arena, dtype, length));
  const tir_expr *n = tir_binary(arena, TIR_FLOORDIV, end, tir_int(arena, dtype, length));
  if (of->end->dtype != dtype || tir_bounds(at->env, end).lo < 0) return NULL;
  *is_one = b->n_full == 1 && tir_prove(arena, at->env, tir_binary(arena, TIR_EQ, s->u.loop.extent, blocks));
  bool is_less = *is_one || tir_prove(arena, at->env, tir_binary(arena, TIR_LE, n, s->u.loop.extent));
  return is_less ? n : tir_binary(arena, TIR_MIN, n, s->u.loop.extent);
}

/* How many iterations meet an array's first border, of at least N of loop S. 0: none, or nothing is gained by parting them. */
static int64_t first_of_unknown(state *at, const tir_stmt *s, const tir_expr *n) {
  enum { MOST_OF_SIDE = 4 };
  int64_t least = RUNTIME_MIN(tir_bounds(at->env, n).lo, MOST_OF_SIDE);
  return least < 2 || holds_for(at, s, 0, 1, true, NULL) ? 0 : first_side(at, s, 0, least, true);
}

/* A loop whose first blocks are full, in parts. */
typedef struct parting {
  state *at;
  const tir_stmt *s;
  const block *b;
  const tir_expr *n; /* of blocks that are full */
  bool is_one;       /* one at the most is not */
  int64_t side;      /* iterations at a border, in front of those */
} parting;

/* What is left is one iteration, or a loop. */
static const tir_stmt *behind_full(const parting *x, const tir_stmt *rest) {
  runtime_arena *arena = x->at->p->arena;
  const tir_var *var = x->s->u.loop.var;
  const tir_expr *one = tir_int(arena, var->dtype, 1), *left = tir_binary(arena, TIR_SUB, x->s->u.loop.extent, x->n);
  if (!x->is_one) return tir_for(arena, var, x->n, left, x->s->u.loop.kind, rest);
  const tir_expr *is_left = tir_binary(arena, TIR_LT, x->n, x->s->u.loop.extent);
  return tir_if(arena, is_left, tir_for(arena, var, x->n, one, TIR_SERIAL, rest), NULL);
}

/* The full blocks:  for (o, 0, M//16) S without checks
 * An array's first border is in front of that in a part of its own. */
static const tir_stmt *full_blocks(const parting *x) {
  runtime_arena *arena = x->at->p->arena;
  const tir_stmt *s = x->s, *parts[2], *body = s->u.loop.body;
  const tir_expr *first = tir_int(arena, s->u.loop.var->dtype, x->side);
  const tir_stmt *loop =
      tir_for(arena, s->u.loop.var, first, tir_binary(arena, TIR_SUB, x->n, first), s->u.loop.kind, body);
  int n = 0;
  if (loop == NULL) return NULL;
  tir_env env = tir_env_loop(arena, x->at->env, loop), full = tir_env_cond(&env, x->b->full);
  if (x->side > 0) parts[n++] = part_of(x->at, again(x->at, s), 0, x->side, x->side == 1 ? TIR_SERIAL : s->u.loop.kind);
  const tir_stmt *main_part = partition_under(x->at, full, body);
  main_part = main_part != NULL ? tir_simplify_stmt(arena, &full, NULL, main_part) : NULL;
  if (main_part == NULL) return NULL;
  parts[n++] = tir_for_with(arena, loop, loop->u.loop.min, loop->u.loop.extent, main_part);
  return n > 1 ? tir_seq(arena, n, parts) : parts[0];
}

/* What is no full block, in versions. */
static const tir_stmt *rest_of(state *at, const block *b, const tir_env *env, const tir_stmt *s) {
  const tir_stmt *rest = partition_under(at, *env, b->body);
  rest = rest != NULL ? version_rests(at, b, env, b->body, rest) : NULL;
  return rest != NULL ? without_masks(at, b, env, s, rest) : NULL;
}

/* Where the number of blocks is not known each iteration asks whether it is a full one:
 *   for (o, 0, (M + 15)//16) { if (o*16 + 15 < M) S without checks, else S }
 * Right whatever the condition says, since both sides are S; simplify finds what it proves. Where full ones come first they are a loop of
 * their own:
 *   for (o, 0, M//16) S without checks; if (M//16 < (M + 15)//16) S, where o is M//16
 * IS_INSIDE: blocks of a longer block that is not whole, of which there are as many as a number says; a symbol decides which are full.
 * What runs most often is parted first, as code may grow only so much. */
static const tir_stmt *version_for(state *at, const tir_stmt *s, bool is_inside) {
  const tir_stmt *body = s->u.loop.body;
  tir_env env = tir_env_loop(at->p->arena, at->env, s);
  block b = {.arena = at->p->arena, .var = s->u.loop.var, .body = body, .most_lanes = lanes_of(at, s), .around = &env};
  int64_t growth = tir_count_stores(body);
  look_at_block(&b, body);
  if (b.full == NULL || (is_inside && !uses_symbol(at->f, b.full)) ||
      at->stores + growth > at->p->options.max_unrolled_body)
    return whole_of(at, s, partition_under(at, env, body));
  at->stores += growth;
  parting x = {at, s, &b, NULL, false, 0};
  x.n = count_full(at, s, &b, &x.is_one);
  if (x.n != NULL && at->stores + growth <= at->p->options.max_unrolled_body) x.side = first_of_unknown(at, s, x.n);
  if (x.side > 0) at->stores += growth;
  const tir_stmt *full = x.n != NULL ? full_blocks(&x) : partition_under(at, tir_env_cond(&env, b.full), body);
  const tir_stmt *rest = full != NULL ? rest_of(at, &b, &env, s) : NULL;
  if (rest == NULL) return NULL;
  if (x.n != NULL) return tir_seq(at->p->arena, 2, (const tir_stmt *[]){full, behind_full(&x, rest)});
  return whole_of(at, s, tir_if(at->p->arena, b.full, full, rest));
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Iterations from MIN on in parts. NULL: nothing is gained, or the code would grow too much. */
static const tir_stmt *in_parts(state *at, const tir_stmt *s, int64_t min, int64_t extent, bool of_loads) {
  int64_t n = longest_part(at, s, min, extent, &of_loads), growth = tir_count_stores(s->u.loop.body), side = 0;
  if (n == 0 && s->u.loop.kind != TIR_PARALLEL) side = first_side(at, s, min, extent, of_loads);
  if (n == 0 && side == 0 && extent == 2 && s->u.loop.kind != TIR_PARALLEL)
    n = 1; /* both have a border, which is known then */
  if (n >= extent || (n == 0 && side == 0) || at->stores + growth > at->p->options.max_unrolled_body) return NULL;
  at->stores += growth;
  return side > 0 ? behind_side(at, s, min, extent, side, of_loads) : in_two_parts(at, s, min, extent, n, of_loads);
}

/* The loop in parts, or whole. */
static const tir_stmt *partition_for(state *at, const tir_stmt *s) {
  int64_t min, extent;
  bool is_inside = tir_const_loop(s, &min, &extent), is_one = is_inside && extent <= 1;
  if (is_inside && !is_one) {
    const tir_stmt *parts = in_parts(at, s, min, extent, false);
    if (parts != NULL) return parts;
  }
  if (s->u.loop.kind != TIR_VECTORIZED && !is_one) return version_for(at, s, is_inside);
  return whole_of(at, s, partition_under(at, tir_env_loop(at->p->arena, at->env, s), s->u.loop.body));
}

/* From outside inwards, so that the inner loops are parted in each part with what is known there. */
static const tir_stmt *partition(void *user, const tir_stmt *s) {
  state *at = user;
  if (s->kind == TIR_FOR) {
    if (s->u.loop.peel && s->u.loop.kind != TIR_VECTORIZED) return partition_for(at, s);
    bool outer = at->is_in_vector;
    at->is_in_vector |= s->u.loop.kind == TIR_VECTORIZED;
    const tir_stmt *body = partition_under(at, tir_env_loop(at->p->arena, at->env, s), s->u.loop.body);
    at->is_in_vector = outer;
    if (s->u.loop.peel) return whole_of(at, s, body);
    return tir_for_with(at->p->arena, s, s->u.loop.min, s->u.loop.extent, body);
  }
  if (s->kind == TIR_IF && s->u.branch.else_body == NULL) {
    const tir_stmt *body = partition_under(at, tir_env_cond(at->env, s->u.branch.cond), s->u.branch.then_body);
    return tir_if_with(at->p->arena, s, s->u.branch.cond, body, NULL);
  }
  return tir_map_children(at->p->arena, s, partition, at);
}

/* Functions without a mark, most of them, are left as they are at the cost of one walk. */
static tir_walk find_peel(void *user, const tir_stmt *s) {
  (void)user;
  return s->kind == TIR_FOR && s->u.loop.peel ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Requires: simplify, hoist_guards. Establishes: no loop is marked for peeling; the main parts' conditions on the
 * peeled variable are provable. Breaks: provable conditions and loops of one iteration appear (simplify removes them);
 * a variable and an allocation may stand on two paths side by side. */
tir_func *tir_pass_partition(tir_pass_context *p, tir_func *f) {
  tir_visitor visitor = {.stmt = find_peel};
  if (tir_walk_stmt(f->body, &visitor)) return f;
  state at = {.p = p, .f = f, .env = f->env, .stores = tir_count_stores(f->body)};
  return tir_func_with_body(p, f, partition(&at, f->body));
}
