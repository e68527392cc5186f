/* emit_first.c: argmax and argmin that go through positions upwards. A step of theirs is, for one lane or for many,
 *
 *     new = select(x > V || x == V && k < I, x, V); I = select(.., k, I); V = new
 *
 * with I and k compared as unsigned numbers. I begins as -1, the greatest of them. When every position is greater than those before, k < I
 * only where nothing was taken yet, and then x == V only where V is still what it began as: such a lane is rare. So the steps are done with
 * x > V alone; lanes whose I is still -1 behind them let all steps be done again as they are written, which changes no other lane: there V is
 * the greatest x, and I the first position of it. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { MOST_PLACES = 64, MOST_LOOPS = 8, MOST_STEPS = 512, MOST_LANES = 256, MOST_ROWS = 16 };

/* One step, as it is written. */
typedef struct step {
  const tir_buffer *positions, *values, *aside; /* I, V and new */
  const tir_expr *place;                        /* the index of I and V */
  const tir_expr *cond, *x, *position;          /* what decides, x and k */
} step;

/* What a run of steps did so far to some lanes: positions from FIRST's, which is of lane 0, to SPAN more. */
typedef struct place {
  const step *step; /* the first of its steps */
  tir_linear first;
  int64_t span;
} place;

typedef RUNTIME_VEC(place) place_list;

/* A run: steps, and loops of them. */
typedef struct run {
  codegen_emitter *m;
  int n_steps, n_loops;
  step steps[MOST_STEPS];
  const tir_stmt *loops[MOST_LOOPS]; /* around the step that is looked at */
} run;

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static bool is_store_to(const tir_stmt *s, const tir_buffer *buffer) {
  return s->kind == TIR_STORE && s->u.store.n_index == 1 && s->u.store.predicate == NULL &&
         (buffer == NULL || s->u.store.buffer == buffer);
}

static bool is_load_of(const tir_expr *e, const tir_buffer *buffer, const tir_expr *index) {
  return e->op == TIR_LOAD && e->u.buffer == buffer && tir_n_index(e) == 1 && tir_predicate(e) == NULL &&
         tir_equal(e->arg[0], index);
}

/* Whether E is the position, or the I of before (POSITION NULL), in the form that orders it as unsigned. */
static bool is_unsigned_form(const step *s, const tir_expr *e, const tir_expr *position) {
  int64_t top, value, has;
  const tir_expr *inner = e->op == TIR_BITXOR ? e->arg[0] : e;
  if (inner->op == TIR_BROADCAST && position != NULL && position->op == TIR_BROADCAST)
    return is_unsigned_form(s, inner->arg[0], position->arg[0]);
  if (e->op == TIR_BROADCAST && position != NULL && position->op == TIR_BROADCAST)
    return is_unsigned_form(s, e->arg[0], position->arg[0]);
  const int64_t sign = (int64_t)(UINT64_MAX << (8 * tn_dtype_bytes(s->positions->dtype) - 1));
  if (position != NULL && tir_is_int(position, &value) && tir_is_int(e, &has)) return has == (value ^ sign);
  if (e->op != TIR_BITXOR || !tir_is_int(e->arg[1], &top) || top != sign) return false;
  return position != NULL ? tir_equal(e->arg[0], position) : is_load_of(e->arg[0], s->positions, s->place);
}

/* x > V || x == V && k < I, or with x < V. */
static bool is_better(const step *s) {
  if (s->cond->op != TIR_OR) return false;
  const tir_expr *wins = s->cond->arg[0], *ties = s->cond->arg[1];
  if (ties->op != TIR_AND || (wins->op != TIR_GT && wins->op != TIR_LT)) return false;
  const tir_expr *same = ties->arg[0], *less = ties->arg[1];
  return tir_equal(wins->arg[0], s->x) && is_load_of(wins->arg[1], s->values, s->place) && same->op == TIR_EQ &&
         tir_equal(same->arg[0], s->x) && is_load_of(same->arg[1], s->values, s->place) && less->op == TIR_LT &&
         is_unsigned_form(s, less->arg[0], s->position) && is_unsigned_form(s, less->arg[1], NULL);
}

/* The three stores of a step, in which new is put aside. */
static bool read_step(const tir_stmt *alloc, step *s) {
  const tir_stmt *body = alloc->kind == TIR_ALLOC ? alloc->u.alloc.body : NULL;
  if (body == NULL || body->kind != TIR_SEQ || body->u.seq.n != 3) return false;
  const tir_stmt *const *stores = body->u.seq.stmts;
  if (!is_store_to(stores[0], alloc->u.alloc.buffer) || !is_store_to(stores[1], NULL) || !is_store_to(stores[2], NULL))
    return false;
  const tir_expr *aside = stores[0]->u.store.value, *taken = stores[1]->u.store.value;
  *s = (step){.positions = stores[1]->u.store.buffer,
              .values = stores[2]->u.store.buffer,
              .aside = alloc->u.alloc.buffer,
              .place = stores[1]->u.store.index[0]};
  if (aside->op != TIR_SELECT || taken->op != TIR_SELECT || !tir_equal(aside->arg[0], taken->arg[0])) return false;
  s->cond = aside->arg[0], s->x = aside->arg[1], s->position = taken->arg[1];
  bool is_signed = tn_dtype_is_signed(s->positions->dtype) && !tn_dtype_is_float(s->positions->dtype);
  return is_signed && tir_equal(stores[2]->u.store.index[0], s->place) &&
         is_load_of(stores[2]->u.store.value, s->aside, stores[0]->u.store.index[0]) &&
         is_load_of(aside->arg[2], s->values, s->place) && is_load_of(taken->arg[2], s->positions, s->place) &&
         is_better(s);
}

/* ---- positions that grow ----------------------------------------------------------------------------------------- */

/* The first iteration, and how many there are at most: a symbol may decide how many. */
static bool iterations(run *r, const tir_stmt *loop, int64_t *min, int64_t *most) {
  tir_interval range;
  if (!tir_is_int(loop->u.loop.min, min)) return false;
  if (tir_is_int(loop->u.loop.extent, most)) return *most >= 1;
  bool is_known = codegen_index_range(r->m, loop->u.loop.extent, &range);
  *most = is_known ? range.hi : 0;
  return *most >= 1 && *most <= INT32_MAX;
}

/* Of a loop around the step, or one that is being emitted. */
static bool range_of(run *r, const tir_var *var, tir_interval *range) {
  int64_t min, most;
  for (int i = 0; i < r->n_loops; i++) {
    if (r->loops[i]->u.loop.var != var) continue;
    if (!iterations(r, r->loops[i], &min, &most)) return false;
    return *range = (tir_interval){min, min + most - 1}, true;
  }
  codegen_binding *binding = codegen_find(r->m, var);
  if (binding != NULL) *range = binding->range;
  return binding != NULL;
}

static tir_walk stop_at_variable(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_VAR || e->op == TIR_LOAD ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* A position that goes on by the same in all lanes: *FIRST, of one lane, and what *LANES adds in each of them, NULL: nothing. Rows of few
 * columns that are one vector have positions n + lane // columns. */
static bool part_position(const tir_expr *e, const tir_expr **first, const tir_expr **lanes) {
  *first = e, *lanes = NULL;
  if (e->lanes == 1) return true;
  if (e->op == TIR_RAMP || e->op == TIR_BROADCAST) return *first = e->arg[0], true;
  if (e->op != TIR_ADD || e->arg[0]->op != TIR_BROADCAST) return false;
  *first = e->arg[0]->arg[0], *lanes = e->arg[1];
  return tir_walk_expr(*lanes, stop_at_variable, NULL);
}

/* The linear form of a position in lane 0, or of what all lanes have in common; no lane's is below 0, or what its dtype does not
 * hold or has for -1. */
static bool read_position(run *r, const step *s, tir_linear *form) {
  const tir_expr *e = s->position, *first, *lanes;
  tir_interval all = {0, 0}, range;
  tir_linear_zero(form);
  if (!part_position(e, &first, &lanes) || !tir_linear_add_expr(form, first, 1)) return false;
  if (lanes != NULL && !codegen_index_range(r->m, lanes, &all)) return false;
  const int64_t last = e->op == TIR_RAMP ? (e->lanes - 1) * e->u.i : 0;
  all = tir_interval_add(all,
                         (tir_interval){form->constant + RUNTIME_MIN(last, 0), form->constant + RUNTIME_MAX(last, 0)});
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    if (t->atom->op != TIR_VAR || !range_of(r, t->atom->u.var, &range)) return false;
    all = tir_interval_add(all, tir_interval_scale(range, t->coef));
  }
  return all.lo >= 0 && tir_interval_within(all, tir_dtype_ranges[s->positions->dtype]);
}

/* *BY: how far B's form is behind A's, where that is known. */
static bool is_apart(const tir_linear *a, const tir_linear *b, int64_t *by) {
  tir_linear form = *b;
  return tir_linear_add(&form, a, -1) && form.n == 0 && (*by = form.constant, true);
}

/* The element of lane 0, where lanes lie side by side. */
static bool first_element(const tir_expr *index, tir_linear *form) {
  tir_linear_zero(form);
  if (index->lanes > 1 && (index->op != TIR_RAMP || index->u.i != 1)) return false;
  return tir_linear_add_expr(form, index->lanes > 1 ? index->arg[0] : index, 1);
}

/* Whether lanes of two steps of one buffer are no common ones. */
static bool are_disjoint(const step *a, const step *b) {
  int64_t by;
  tir_linear x, y;
  bool is_known = first_element(a->place, &x) && first_element(b->place, &y) && is_apart(&x, &y, &by);
  return is_known && (by > 0 ? by >= a->place->lanes : -by >= b->place->lanes);
}

/* Whether from one to the other all lanes go on by the same. */
static bool same_lanes(const tir_expr *a, const tir_expr *b) {
  const tir_expr *first, *of_a, *of_b;
  if (a->lanes != b->lanes || (a->lanes > 1 && a->op != b->op)) return false;
  if (!part_position(a, &first, &of_a) || !part_position(b, &first, &of_b)) return false;
  if (a->lanes > 1 && a->op == TIR_RAMP && a->u.i != b->u.i) return false;
  return of_a == NULL || tir_equal(of_a, of_b);
}

/* What was done later, NEXT, to what LIST says was done. False: it may go back. */
static bool add_place(place_list *list, const place *next) {
  int64_t by;
  for (int i = 0; i < list->n; i++) {
    place *p = &list->data[i];
    const bool is_same = p->step->positions == next->step->positions;
    if (is_same != (p->step->values == next->step->values)) return false;
    if (!is_same) continue;
    if (!tir_equal(p->step->place, next->step->place)) {
      if (!are_disjoint(p->step, next->step)) return false;
      continue;
    }
    if (!same_lanes(p->step->position, next->step->position)) return false;
    if (!is_apart(&p->first, &next->first, &by) || by <= p->span) return false;
    p->span = by + next->span;
    return true;
  }
  return list->n < MOST_PLACES && RUNTIME_PUSH(list, *next);
}

/* All iterations instead of one. */
static bool repeat(run *r, place *p, const tir_stmt *loop) {
  int64_t min, most, by = 0;
  const tir_var *var = loop->u.loop.var;
  if (!iterations(r, loop, &min, &most)) return false;
  for (int i = 0; i < p->first.n; i++)
    if (p->first.terms[i].atom->u.var == var) by = p->first.terms[i].coef;
  if (by <= p->span || tir_uses_var(p->step->place, var)) return false;
  tir_linear whole = p->first;
  const tir_expr *atom = NULL;
  for (int i = 0; i < whole.n; i++)
    if (whole.terms[i].atom->u.var == var) atom = whole.terms[i].atom;
  int64_t more, base;
  if (__builtin_mul_overflow(by, most - 1, &more) || __builtin_mul_overflow(by, min, &base)) return false;
  p->span += more;
  return tir_linear_add_atom(&p->first, atom, -by) && tir_linear_add_const(&p->first, base);
}

static bool read_steps(run *r, const tir_stmt *s, place_list *list);

static bool read_loop(run *r, const tir_stmt *s, place_list *list) {
  place_list inner = {0};
  const int n_steps = r->n_steps;
  if (s->u.loop.kind == TIR_PARALLEL || r->n_loops == MOST_LOOPS) return false;
  r->loops[r->n_loops++] = s;
  bool ok = read_steps(r, s->u.loop.body, &inner);
  r->n_loops--;
  for (int i = 0; ok && i < inner.n; i++) ok = repeat(r, &inner.data[i], s);
  if (!ok) r->n_steps = n_steps;
  for (int i = 0; ok && i < inner.n; i++) ok = add_place(list, &inner.data[i]);
  RUNTIME_VEC_FREE(&inner);
  return ok;
}

/* Adds what S does. False: it is something else than steps and loops of them, or goes back; if there are more steps than before, LIST is
 * spoilt. */
static bool read_steps(run *r, const tir_stmt *s, place_list *list) {
  place p = {0};
  bool ok = true;
  if (s->kind == TIR_FOR) return read_loop(r, s, list);
  if (s->kind == TIR_SEQ) {
    for (int i = 0; ok && i < s->u.seq.n; i++) ok = read_steps(r, s->u.seq.stmts[i], list);
    return ok;
  }
  if (r->n_steps == MOST_STEPS || !read_step(s, &r->steps[r->n_steps])) return false;
  p.step = &r->steps[r->n_steps];
  bool grows = read_position(r, p.step, &p.first) && add_place(list, &p);
  r->n_steps += grows;
  return grows;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Whether no x is what the steps change. */
static bool reads_others(const run *r) {
  for (int i = 0; i < r->n_steps; i++)
    for (int k = 0; k < r->n_steps; k++) {
      const step *s = &r->steps[k];
      if (k > 0 && s->positions == s[-1].positions && s->values == s[-1].values && s->aside == s[-1].aside) continue;
      const tir_expr *x = r->steps[i].x;
      if (tir_loads(x, s->positions) || tir_loads(x, s->values) || tir_loads(x, s->aside)) return false;
      if (s->positions == r->steps[i].values || s->positions == r->steps[i].aside || s->values == r->steps[i].aside)
        return false;
    }
  return true;
}

static bool is_constant(const tir_expr *e) {
  if (e->op == TIR_BROADCAST) e = e->arg[0];
  return e->op == TIR_INT || e->op == TIR_FLOAT;
}

/* Whether the constants that are stored right before *AT say that nothing was taken of the lanes of P. */
static bool begins_empty(const place *p, int n_before, const tir_stmt *const *at) {
  int64_t value, by;
  tir_linear own, form;
  if (!first_element(p->step->place, &own)) return false;
  for (int i = 1; i <= n_before; i++) {
    const tir_stmt *s = at[-i];
    if (!is_store_to(s, NULL) || !is_constant(s->u.store.value)) return false;
    if (s->u.store.buffer != p->step->positions) continue;
    const tir_expr *index = s->u.store.index[0];
    if (!first_element(index, &form) || !is_apart(&form, &own, &by)) return false;
    if (by >= index->lanes || -by >= p->step->place->lanes) continue; /* others */
    if (!tir_is_int(s->u.store.value, &value) || value != -1) return false;
    if (by >= 0 && by + p->step->place->lanes <= index->lanes) return true;
  }
  return false;
}

/* USER is the run: what decides becomes its first comparison. */
static const tir_expr *compare_once(void *user, const tir_expr *e) {
  const run *r = user;
  for (int i = 0; e->op == TIR_OR && i < r->n_steps; i++)
    if (tir_equal(r->steps[i].cond, e)) return e->arg[0];
  return e;
}

/* A lane's sign, where each of them is one of several lanes: as few as a register has, so that their signs are taken at once. */
static LLVMValueRef fold_lanes(codegen_emitter *m, LLVMValueRef all, int bytes, int *lanes) {
  int from[2][MOST_LANES];
  for (; *lanes % 2 == 0 && *lanes <= MOST_LANES && *lanes * bytes > m->target->vector_bytes; *lanes /= 2) {
    const int half = *lanes / 2;
    for (int i = 0; i < half; i++) from[0][i] = i, from[1][i] = half + i;
    LLVMValueRef low = codegen_shuffle(m, all, NULL, half, from[0]),
                 high = codegen_shuffle(m, all, NULL, half, from[1]);
    all = LLVMBuildOr(m->builder, low, high, "");
  }
  return all;
}

/* Whether a lane of ALL is below 0. */
static LLVMValueRef is_below(codegen_emitter *m, LLVMValueRef all, int bytes, int lanes) {
  all = fold_lanes(m, all, bytes, &lanes);
  LLVMValueRef bits = LLVMBuildICmp(m->builder, LLVMIntSLT, all, LLVMConstNull(LLVMTypeOf(all)), "");
  if (lanes == 1) return bits;
  bits = LLVMBuildBitCast(m->builder, bits, LLVMIntTypeInContext(m->llvm, (unsigned)lanes), "");
  return LLVMBuildICmp(m->builder, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

/* Positions of some lanes, or'ed: those of one type are looked at together. */
typedef struct taken_lanes {
  int lanes;
  tn_dtype dtype;
  LLVMValueRef all;
} taken_lanes;

enum { MOST_TYPES = 8 };

static LLVMValueRef either(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b) {
  return a == NULL ? b : LLVMBuildOr(m->builder, a, b, "");
}

/* Adds N lanes of what a step has taken, from FIRST on. What has no room is looked at alone: *ANY. */
static void add_taken(codegen_emitter *m, const step *s, int first, int n, int *n_types, taken_lanes *types,
                      LLVMValueRef *any) {
  const tir_expr *part = NULL;
  const tn_dtype dtype = s->positions->dtype;
  int at = 0;
  if (codegen_slice(&m->arena, &m->slices, s->place, first, n, &part) != TN_OK) {
    codegen_no_memory(m);
    return;
  }
  LLVMValueRef value = codegen_value(m, tir_load(&m->arena, s->positions, 1, &part, NULL));
  while (at < *n_types && (types[at].lanes != n || types[at].dtype != dtype)) at++;
  if (at == MOST_TYPES) {
    *any = either(m, *any, is_below(m, value, (int)tn_dtype_bytes(dtype), n));
    return;
  }
  if (at == *n_types) types[(*n_types)++] = (taken_lanes){n, dtype, NULL};
  types[at].all = either(m, types[at].all, value);
}

/* Whether some lane has taken nothing. Where stores are done in pieces, these are loaded. */
static LLVMValueRef has_empty(codegen_emitter *m, const place_list *list) {
  LLVMValueRef any = NULL;
  taken_lanes types[MOST_TYPES];
  int n_types = 0;
  for (int i = 0; i < list->n; i++) {
    const step *s = list->data[i].step;
    int lanes = s->place->lanes, n = m->target->vector_bytes / (int)tn_dtype_bytes(s->positions->dtype);
    if ((lanes & (lanes - 1)) == 0 || n < 2) n = lanes;
    for (int first = 0; first < lanes; first += n)
      add_taken(m, s, first, RUNTIME_MIN(n, lanes - first), &n_types, types, &any);
  }
  for (int i = 0; i < n_types; i++)
    any = either(m, any, is_below(m, types[i].all, (int)tn_dtype_bytes(types[i].dtype), types[i].lanes));
  return any;
}

/* Once with the first comparisons, and again where that is not enough. */
static void emit_run(run *r, const place_list *list, const tir_stmt *steps) {
  codegen_emitter *m = r->m;
  const tir_rewriter once = {.arena = &m->arena, .expr = compare_once, .user = r};
  const tir_stmt *quick = tir_rewrite_stmt(&once, steps);
  if (quick == NULL) {
    codegen_emit_fail(m, TN_ERROR_MEMORY, "out of memory while generating code");
    return;
  }
  codegen_emit_stmt(m, quick);
  codegen_forget(m);
  LLVMBasicBlockRef after = codegen_begin_if(m, has_empty(m, list));
  codegen_emit_stmt(m, steps);
  codegen_end_if(m, after);
  codegen_forget(m);
}

/* One loop around steps that take one lane each: rows, by value first (emit_place.c). */
static bool emit_rows(run *r, const place_list *list, const tir_stmt *loop) {
  int64_t min, most;
  codegen_first rows[MOST_ROWS];
  if (loop->kind != TIR_FOR || r->n_steps != list->n || r->n_steps > MOST_ROWS) return false;
  const tir_stmt *body = loop->u.loop.body;
  const int n_inside = body->kind == TIR_SEQ ? body->u.seq.n : 1;
  for (int i = 0; i < n_inside; i++)
    if ((body->kind == TIR_SEQ ? body->u.seq.stmts[i] : body)->kind != TIR_ALLOC) return false;
  if (n_inside != r->n_steps || !tir_is_int(loop->u.loop.extent, &most) || !tir_is_int(loop->u.loop.min, &min))
    return false;
  for (int i = 0; i < r->n_steps; i++) {
    const step *s = &r->steps[i];
    if (s->place->lanes != 1) return false;
    rows[i] = (codegen_first){s->positions, s->values, s->place, s->x, s->position, s->cond->arg[0]->op == TIR_GT};
  }
  return codegen_emit_rows_first(r->m, loop, min, most, r->n_steps, rows);
}

/* A look at what costs little. */
static bool may_begin(int n_before, const tir_stmt *const *stmts) {
  const tir_stmt *s = stmts[0];
  if (n_before == 0 || !is_store_to(stmts[-1], NULL) || !is_constant(stmts[-1]->u.store.value)) return false;
  while (s->kind == TIR_FOR) s = s->u.loop.body;
  if (s->kind == TIR_SEQ) s = s->u.seq.stmts[0];
  return s->kind == TIR_ALLOC || s->kind == TIR_FOR;
}

int codegen_emit_firsts(codegen_emitter *m, int n_before, int n, const tir_stmt *const *stmts) {
  int taken = 0, n_steps = 0;
  place_list list = {0};
  run *r = may_begin(n_before, stmts) ? RUNTIME_NEW(&m->arena, run) : NULL;
  if (r == NULL) return 0;
  *r = (run){.m = m};
  for (; taken < n && read_steps(r, stmts[taken], &list); taken++) n_steps = r->n_steps;
  bool fits = taken > 0 && n_steps == r->n_steps && reads_others(r);
  for (int i = 0; fits && i < list.n; i++) fits = begins_empty(&list.data[i], n_before, stmts);
  const bool by_rows = fits && taken == 1 && emit_rows(r, &list, stmts[0]);
  const tir_stmt *steps = fits ? tir_seq(&m->arena, taken, stmts) : NULL;
  if (steps != NULL && !by_rows) emit_run(r, &list, steps);
  RUNTIME_VEC_FREE(&list);
  return steps != NULL ? taken : 0;
}
