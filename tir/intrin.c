/* intrin.c: comparing a loop nest with an intrinsic's pattern. The axes of the pattern are assigned to
 * the loops in every way that their extents allow; of several failures the one that got furthest is
 * told. A match lies in the caller's arena. The search is exhaustive, which is affordable: an intrinsic
 * has at most TIR_INTRIN_AXES axes, and an assignment of extents that do not agree is not tried. */
#include "tir/intrin.h"

#include <inttypes.h>

#include "tir/linear.h"
#include "tir/passes.h"

enum { MAX_LOOPS = TIR_INTRIN_AXES };

/* LANES writes its own start and its updates, as code. */
bool tir_intrin_has_body(const tir_intrin *intrin) {
  return intrin->form == TIR_INTRIN_LANES || intrin->callees[TIR_INTRIN_BODY] != NULL;
}

bool tir_intrin_has_reset(const tir_intrin *intrin) { return intrin->callees[TIR_INTRIN_RESET] != NULL; }

/* One loop of the nest from outside inwards, with its constant bounds. */
typedef struct nest_loop {
  const tir_stmt *stmt;
  const tir_var *var;
  int64_t min, extent;
} nest_loop;

/* One comparison of a nest with a pattern. The loops are assigned to axes by trying; OUT is filled by the first
 * assignment that fits. */
typedef struct matcher {
  runtime_arena *arena;
  const tir_env *env;
  const tir_intrin *intrin;
  int n_loops;
  nest_loop loops[MAX_LOOPS];
  const tir_stmt *store;
  bool resets;    /* the nest is compared with the start of the reduction, not with its update */
  bool is_part;   /* the nest may end its reduction earlier */
  bool is_masked; /* its source may be zero from some step on: */
  const tir_expr *mask;
  int loop_of[TIR_INTRIN_AXES]; /* by axis; -1: the axis has one iteration */
  tir_intrin_match *out;
  int progress, best; /* nodes that agreed before the difference; of the difference that is kept */
} matcher;

/* Keeps the difference that was found latest. False. */
TN_PRINTF(2, 3) static bool differ(matcher *m, const char *fmt, ...) {
  if (m->progress < m->best) return false;
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  m->best = m->progress + 1;
  m->out->why_not = runtime_str_take(&text, m->arena);
  return false;
}

/* The text is for a message only, and without memory "?" does. */
static const char *printed(matcher *m, const tir_expr *e) {
  runtime_str text = {0};
  tir_print_expr(&text, e);
  const char *kept = runtime_str_take(&text, m->arena);
  return kept != NULL ? kept : "?";
}

/* Only the difference that was reached latest is worth telling: it belongs to the assignment that came
 * closest. */
static bool differ_at(matcher *m, const tir_expr *pattern, const tir_expr *e, const char *what) {
  if (m->progress < m->best) return false;
  return differ(m, "the pattern has %s where the loops have %s: %s", printed(m, pattern), printed(m, e), what);
}

/* ---- the nest ---------------------------------------------------------------------------------------------------- */

/* "i 16, reduce k 4", for the message. */
static const char *axes_text(matcher *m) {
  runtime_str text = {0};
  for (int i = 0; i < m->intrin->n_axes; i++) {
    const tir_intrin_axis *axis = &m->intrin->axes[i];
    runtime_str_addf(&text, "%s%s%s %" PRId64, i > 0 ? ", " : "", axis->is_reduce ? "reduce " : "", axis->var->name,
                     axis->extent);
  }
  const char *kept = runtime_str_take(&text, m->arena);
  return kept != NULL ? kept : "";
}

/* For messages. "" when memory ended. */
static const char *loops_text(matcher *m) {
  runtime_str text = {0};
  for (int i = 0; i < m->n_loops; i++)
    runtime_str_addf(&text, "%s%s %" PRId64, i > 0 ? ", " : "", m->loops[i].var->name, m->loops[i].extent);
  if (m->n_loops == 0) runtime_str_add(&text, "none");
  const char *kept = runtime_str_take(&text, m->arena);
  return kept != NULL ? kept : "";
}

/* Marks of stages are lost inside an intrinsic, and a request to unroll has no loops left. */
static const tir_stmt *without_marks(const tir_stmt *s) {
  while (s->kind == TIR_ATTR && strncmp(s->u.attr.key, TIR_THREAD_EXTENT, strlen(TIR_THREAD_EXTENT)) != 0)
    s = s->u.attr.body;
  return s;
}

/* Says what stands in the way. A guard is the usual case, and there is a remedy for it. */
static bool not_nested(matcher *m, const tir_stmt *s) {
  if (s->kind == TIR_IF)
    return differ(m, "a guard stands inside the loops, %s: blocks are not whole; split with tail=peel, or pad the data",
                  printed(m, s->u.branch.cond));
  return differ(m, "inside the axis stands more than loops around one store");
}

/* Takes the loops apart down to the store. */
static bool read_nest(matcher *m, const tir_stmt *s) {
  for (s = without_marks(s); s->kind == TIR_FOR; s = without_marks(s->u.loop.body)) {
    nest_loop loop = {.stmt = s, .var = s->u.loop.var};
    if (!tir_const_loop(s, &loop.min, &loop.extent) || s->u.loop.kind == TIR_PARALLEL)
      return differ(m, "the loop %s has no constant bounds, or is parallel", s->u.loop.var->name);
    if (m->n_loops == MAX_LOOPS) return differ(m, "there are more than %d loops", MAX_LOOPS);
    m->loops[m->n_loops++] = loop;
  }
  if (s->kind != TIR_STORE) return not_nested(m, s);
  m->store = s;
  if (s->u.store.predicate == NULL) return true;
  return differ(m, "the store has a predicate, %s", printed(m, s->u.store.predicate));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The axis that a loop's variable was assigned to; -1: none yet. */
static int axis_of(const matcher *m, const tir_var *var) {
  for (int i = 0; i < m->intrin->n_axes; i++) {
    if (m->loop_of[i] >= 0 && m->loops[m->loop_of[i]].var == var) return i;
  }
  return -1;
}

/* Whether E changes over the intrinsic's own loops, or is the same for the whole call. */
static bool uses_loops(const matcher *m, const tir_expr *e) {
  for (int i = 0; i < m->n_loops; i++) {
    if (tir_uses_var(e, m->loops[i].var)) return true;
  }
  return false;
}

/* The index with the loops at their first iteration. */
static const tir_expr *base_of(matcher *m, const tir_expr *index) {
  tir_binding bindings[MAX_LOOPS];
  for (int i = 0; i < m->n_loops; i++)
    bindings[i] = (tir_binding){m->loops[i].var, tir_int(m->arena, m->loops[i].var->dtype, m->loops[i].min)};
  return tir_simplify(m->arena, m->env, tir_substitute(m->arena, index, m->n_loops, bindings));
}

/* STRIDE += COEF * FACTOR, which may be NULL, 1. */
static void add_stride(matcher *m, const tir_expr **stride, int64_t coef, const tir_expr *factor, tn_dtype dtype) {
  const tir_expr *term = tir_int(m->arena, dtype, coef);
  if (factor != NULL) term = tir_binary(m->arena, TIR_MUL, factor, term);
  *stride = *stride != NULL ? tir_binary(m->arena, TIR_ADD, *stride, term) : term;
}

/* Adds what each axis adds to INDEX times COEF and FACTOR, which does not change in the loops. False: not a fixed
 * stride. */
static bool add_strides(matcher *m, const tir_expr *index, int64_t coef, const tir_expr *factor, tir_place *out) {
  tir_linear form = {0};
  if (!tir_linear_add_expr(&form, index, coef)) return false;
  for (int i = 0; i < form.n; i++) {
    const tir_term *t = &form.terms[i];
    int axis = t->atom->op == TIR_VAR ? axis_of(m, t->atom->u.var) : -1;
    if (axis >= 0) add_stride(m, &out->stride[axis], t->coef, factor, (tn_dtype)index->dtype);
    if (axis >= 0 || !uses_loops(m, t->atom)) continue;
    if (t->atom->op != TIR_MUL) return false;
    int moving = uses_loops(m, t->atom->arg[0]) ? 0 : 1;
    const tir_expr *fixed = t->atom->arg[1 - moving];
    if (uses_loops(m, fixed)) return false;
    if (factor != NULL) fixed = tir_binary(m->arena, TIR_MUL, factor, fixed);
    if (!add_strides(m, t->atom->arg[moving], t->coef, fixed, out)) return false;
  }
  return true;
}

/* Takes an index apart: what each axis adds, and the rest. */
static bool read_place(matcher *m, const tir_expr *pattern, const tir_expr *access, const tir_buffer *buffer,
                       const tir_expr *index, tir_place *out) {
  *out = (tir_place){.buffer = buffer};
  if (!add_strides(m, index, 1, NULL, out))
    return differ_at(m, pattern, access, "the index has no fixed stride in the loops");
  for (int a = 0; a < m->intrin->n_axes; a++) {
    int64_t value = 1;
    if (out->stride[a] != NULL) out->stride[a] = tir_simplify(m->arena, m->env, out->stride[a]);
    if (out->stride[a] != NULL && tir_is_int(out->stride[a], &value) && value == 0) out->stride[a] = NULL;
  }
  out->base = base_of(m, index);
  return out->base != NULL;
}

/* NULL is a stride of 0, and equals only NULL. */
static bool is_same_stride(const tir_expr *a, const tir_expr *b) {
  return a == b || (a != NULL && b != NULL && tir_equal(a, b));
}

/* Whether two accesses touch the same element in every iteration. */
bool tir_is_same_place(const tir_place *a, const tir_place *b) {
  bool same = a->buffer == b->buffer && tir_equal(a->base, b->base);
  for (int i = 0; i < TIR_INTRIN_AXES; i++) same = same && is_same_stride(a->stride[i], b->stride[i]);
  return same;
}

/* Axes that the pattern's access does not use must not matter; the same input lies in the same place every time. */
static bool match_load(matcher *m, const tir_expr *p, const tir_expr *e) {
  int input = 0;
  tir_place place, *known;
  if (e->op != TIR_LOAD) return differ_at(m, p, e, "no read of a tensor");
  if (e->dtype != p->dtype)
    return differ_at(
        m, p, e,
        runtime_format(m->arena, "%s is not %s", tn_dtype_name((tn_dtype)e->dtype), tn_dtype_name((tn_dtype)p->dtype)));
  bool is_live = m->is_masked && e->has_predicate && m->mask && tir_equal(tir_predicate(e), m->mask);
  if (e->has_predicate && !is_live) return differ_at(m, p, e, "a read that could leave its tensor");
  if (e->u.buffer == m->store->u.store.buffer) return differ_at(m, p, e, "it reads what the loops store");
  if (!read_place(m, p, e, e->u.buffer, e->arg[0], &place)) return false;
  for (int a = 0; a < m->intrin->n_axes; a++) {
    if (place.stride[a] != NULL && !tir_uses_var(p, m->intrin->axes[a].var))
      return differ_at(m, p, e, runtime_format(m->arena, "it depends on %s", m->loops[m->loop_of[a]].var->name));
  }
  while (m->intrin->inputs[input] != p->u.buffer) input++;
  known = &m->out->inputs[input];
  if (known->buffer != NULL && !tir_is_same_place(known, &place))
    return differ_at(m, p, e, "another element than the pattern's first read of this input");
  *known = place;
  m->progress++;
  return true;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* Floats' min and max are not: see tir/ir.h about NaN. */
static bool commutes(const tir_expr *e) {
  tir_class class = tir_class_of(e);
  if (class == TIR_CLASS_EXTREMUM) return !tn_dtype_is_float((tn_dtype)e->dtype);
  if (class == TIR_CLASS_BITS) return e->n_args == 2;
  return e->op == TIR_ADD || e->op == TIR_MUL || e->op == TIR_EQ || e->op == TIR_NE;
}

static bool match_expr(matcher *m, const tir_expr *p, const tir_expr *e);

/* After a failure of the operands in order. The inputs that the first attempt bound were taken back by
 * the caller. */
static bool match_swapped(matcher *m, const tir_expr *p, const tir_expr *e) {
  return match_expr(m, p->arg[0], e->arg[1]) && match_expr(m, p->arg[1], e->arg[0]);
}

/* Left to right; inputs bound by an earlier operand hold for the later ones. */
static bool match_args(matcher *m, const tir_expr *p, const tir_expr *e) {
  for (int i = 0; i < p->n_args; i++) {
    if (!match_expr(m, p->arg[i], e->arg[i])) return false;
  }
  return true;
}

/* An axis used as a value needs a loop from 0: the intrinsic counts from there. */
static bool match_var(matcher *m, const tir_expr *p, const tir_expr *e) {
  int axis = e->op == TIR_VAR ? axis_of(m, e->u.var) : -1;
  bool same = axis >= 0 && m->intrin->axes[axis].var == p->u.var && m->loops[m->loop_of[axis]].min == 0;
  if (!same) return differ_at(m, p, e, "another value than the axis");
  m->progress++;
  return true;
}

/* Commutative operators are tried both ways. That is exponential in their nesting, and patterns have a
 * handful of nodes. */
static bool match_node(matcher *m, const tir_expr *p, const tir_expr *e) {
  if (p->op == TIR_INT || p->op == TIR_FLOAT) return tir_equal(p, e) || differ_at(m, p, e, "another constant");
  if (e->op != p->op || e->n_args != p->n_args) return differ_at(m, p, e, "another operator");
  if (e->dtype != p->dtype)
    return differ_at(
        m, p, e,
        runtime_format(m->arena, "%s is not %s", tn_dtype_name((tn_dtype)e->dtype), tn_dtype_name((tn_dtype)p->dtype)));
  m->progress++;
  tir_place before[TIR_INTRIN_INPUTS];
  int progress = m->progress;
  memcpy(before, m->out->inputs, sizeof before);
  if (match_args(m, p, e)) return true;
  if (!commutes(p)) return false;
  memcpy(m->out->inputs, before, sizeof before);
  m->progress = progress;
  return match_swapped(m, p, e);
}

/* Loads and variables of the pattern stand for something; all other nodes are compared as they are. */
static bool match_expr(matcher *m, const tir_expr *p, const tir_expr *e) {
  if (p->op == TIR_LOAD) return match_load(m, p, e);
  if (p->op == TIR_VAR) return match_var(m, p, e);
  return match_node(m, p, e);
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

/* Each data axis leads to other elements, no reduction axis does. */
static bool match_output(matcher *m) {
  const tir_stmt *s = m->store;
  const tir_expr *index = s->u.store.index[0];
  if (s->u.store.buffer->dtype != m->intrin->output->dtype)
    return differ(m, "the pattern stores %s, the loops store %s", tn_dtype_name(m->intrin->output->dtype),
                  tn_dtype_name(s->u.store.buffer->dtype));
  if (!read_place(m, index, index, s->u.store.buffer, index, &m->out->output)) return false;
  for (int a = 0; a < m->intrin->n_axes; a++) {
    const tir_intrin_axis *axis = &m->intrin->axes[a];
    if (m->loop_of[a] < 0 || (m->out->output.stride[a] == NULL) == axis->is_reduce) continue;
    const char *loop = m->loops[m->loop_of[a]].var->name;
    return differ(m, "%s is a %s axis of the pattern, %s of the loops is none", axis->var->name,
                  axis->is_reduce ? "reduction" : "data", loop);
  }
  m->progress++;
  return true;
}

/* What is combined with the element stored to; NULL: it is no such update. */
static const tir_expr *combined(const matcher *m, const tir_expr *value) {
  const tir_stmt *s = m->store;
  const tir_expr *update = tir_combine(m->arena, m->intrin->combiner, value, value);
  for (int i = 0; update != NULL && value->n_args == 2 && i < 2; i++) {
    const tir_expr *e = value->arg[i];
    bool is_self = e->op == TIR_LOAD && e->u.buffer == s->u.store.buffer && !e->has_predicate;
    if (is_self && tir_equal(e->arg[0], s->u.store.index[0])) return value->arg[1 - i];
  }
  return NULL;
}

/* Compares with the identity of the combiner: a reduction with a start of its own is no reset. */
static bool match_start(matcher *m) {
  const tir_expr *value = m->store->u.store.value;
  const tir_expr *start = tir_identity(m->arena, m->intrin->combiner, (tn_dtype)value->dtype);
  if (start == NULL) return false;
  return tir_equal(start, value) || differ_at(m, start, value, "another start of the reduction");
}

/* Whether steps, or whole groups of them, are on as far as a constant. */
static bool match_mask(matcher *m, const tir_expr *mask) {
  tir_place at;
  int64_t lane, step = 0, end, group = m->intrin->axes[1].extent;
  if (mask->op != TIR_LT || mask->lanes != 1 || !tir_is_int(mask->arg[1], &end)) return false;
  if (!read_place(m, mask, mask, NULL, mask->arg[0], &at) || !at.stride[0]) return false;
  if (!tir_is_int(at.stride[0], &lane) || (at.stride[1] && !tir_is_int(at.stride[1], &step))) return false;
  bool is_whole = lane == 1 && step == 0;
  if (!is_whole && (lane != group || step != 1)) return false;
  const tir_expr *times = tir_int(m->arena, (tn_dtype)at.base->dtype, is_whole ? group : 1);
  m->mask = mask;
  m->out->live = tir_simplify(m->arena, m->env, tir_binary(m->arena, TIR_MUL, at.base, times));
  m->out->end = tir_simplify(m->arena, m->env, tir_binary(m->arena, TIR_MUL, mask->arg[1], times));
  return true;
}

/* What is chosen by a mask, else SOURCE itself. */
static const tir_expr *unmasked(matcher *m, const tir_expr *source) {
  bool chooses = m->is_masked && source->op == TIR_SELECT && match_mask(m, source->arg[0]);
  const tir_expr *zero = tir_identity(m->arena, m->intrin->combiner, (tn_dtype)source->dtype);
  return chooses && zero != NULL && tir_equal(zero, source->arg[2]) ? source->arg[1] : source;
}

/* The update may be written acc + source or source + acc. */
static bool match_value(matcher *m) {
  static const tir_op ops[TIR_COMBINER_COUNT] = {
      [TIR_REDUCE_SUM] = TIR_ADD, [TIR_REDUCE_PROD] = TIR_MUL, [TIR_REDUCE_MAX] = TIR_MAX,
      [TIR_REDUCE_MIN] = TIR_MIN, [TIR_REDUCE_ANY] = TIR_OR,   [TIR_REDUCE_ALL] = TIR_AND,
  };
  const tir_expr *value = m->store->u.store.value, *source = value;
  if (m->intrin->is_reduction) source = value->op == ops[m->intrin->combiner] ? combined(m, value) : NULL;
  if (source == NULL)
    return differ(m, "the pattern updates its output by %s, the loops store %s",
                  tir_op_table[ops[m->intrin->combiner]].text, printed(m, value));
  m->out->source = source = unmasked(m, source);
  return match_expr(m, m->intrin->source, source);
}

/* ---- loops and axes ---------------------------------------------------------------------------------------------- */

/* Whether an axis can be one that has no loop, since it has one iteration, or that is not looked at. */
static bool needs_no_loop(const matcher *m, int a) {
  const tir_intrin_axis *axis = &m->intrin->axes[a];
  if (m->is_part && axis->is_reduce) return m->n_loops < m->intrin->n_axes;
  return axis->extent == 1 || (m->resets && axis->is_reduce);
}

/* Whether the loop goes as far as the axis, or a part of its way where that is enough. */
static bool goes_along(const matcher *m, int loop, int a) {
  const tir_intrin_axis *axis = &m->intrin->axes[a];
  bool may_end = m->is_part && axis->is_reduce;
  return may_end ? m->loops[loop].extent < axis->extent : m->loops[loop].extent == axis->extent;
}

/* Assigns the axes from A on to loops that are not TAKEN. */
static bool assign(matcher *m, int a, unsigned taken) {
  if (a == m->intrin->n_axes) {
    tir_intrin_match *out = m->out;
    *out = (tir_intrin_match){.store = m->store, .why_not = out->why_not};
    for (int i = 0; i < a; i++) out->loops[i] = m->loop_of[i] >= 0 ? m->loops[m->loop_of[i]].stmt : NULL;
    m->progress = 0;
    return match_output(m) && (m->resets ? match_start(m) : match_value(m));
  }
  m->loop_of[a] = -1;
  if (needs_no_loop(m, a)) return assign(m, a + 1, taken);
  for (int i = 0; i < m->n_loops; i++) {
    if (taken >> i & 1 || !goes_along(m, i, a)) continue;
    m->loop_of[a] = i;
    if (assign(m, a + 1, taken | 1u << i)) return true;
  }
  return false;
}

/* Every axis longer than 1 needs a loop, and every loop an axis. */
static bool match(matcher *m, const tir_stmt *nest) {
  int n_axes = 0;
  *m->out = (tir_intrin_match){0};
  if (!read_nest(m, nest)) return false;
  for (int i = 0; i < m->intrin->n_axes; i++) n_axes += !needs_no_loop(m, i);
  if (n_axes == m->n_loops && assign(m, 0, 0)) return true;
  if (m->out->why_not == NULL) differ(m, "the pattern's axes are %s, the loops are %s", axes_text(m), loops_text(m));
  return false;
}

bool tir_match_intrin(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                      tir_intrin_match *out) {
  matcher m = {.arena = arena, .env = env, .intrin = intrin, .out = out, .is_masked = intrin->form == TIR_INTRIN_DOT};
  return match(&m, nest);
}

bool tir_match_reset(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                     tir_intrin_match *out) {
  matcher m = {.arena = arena, .env = env, .intrin = intrin, .out = out, .resets = true};
  return match(&m, nest);
}

bool tir_match_part(runtime_arena *arena, const tir_env *env, const tir_intrin *intrin, const tir_stmt *nest,
                    tir_intrin_match *out) {
  matcher m = {.arena = arena, .env = env, .intrin = intrin, .out = out, .is_part = true};
  return match(&m, nest);
}
