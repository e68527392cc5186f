/* trial.c: tries a user's combiner. Schedules combine in any order and start from the identity any number
 * of times, so a combiner must be associative and commutative, with an identity. This is tried on tuples
 * like those of the reduction's sources, and on results of combining them: a combiner need only be right
 * for these (Welford's counts are at least 1). Integers are compared exactly; floats, computed in double,
 * with a tolerance. */
#include <math.h>
#include <stdio.h>

#include "te/evaluate.h"

enum { ROUNDS = 64, RANGE = 8, MAX_LEAVES = 64 };

/* The values of one element, or of combined elements. */
typedef struct tuple {
  te_cell value[TIR_MAX_VALUES];
} tuple;

/* The state of one trial. Its run has no program and no arrays, only an arena. */
typedef struct trial {
  const te_site *site;
  const tir_tuple_combiner *c;
  te_run run;
  runtime_rng rng;
  const te_node *result[TIR_MAX_VALUES];
  tuple identity;
  int n_leaves; /* of the current sample: axes and elements, and the constants in their place */
  const tir_expr *leaf[MAX_LEAVES], *constant[MAX_LEAVES];
} trial;

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Small numbers, so that equal ones are frequent and floats are exact. */
static const tir_expr *random_constant(trial *t, tn_dtype dtype) {
  int64_t value = runtime_random_below(&t->rng, 2 * RANGE + 1);
  if (dtype == TN_BOOL) value %= 2;
  if (dtype != TN_BOOL && (tn_dtype_is_float(dtype) || tn_dtype_is_signed(dtype))) value -= RANGE;
  return tir_const(&t->run.arena, dtype, (double)value / (tn_dtype_is_float(dtype) ? 2 : 1));
}

/* Replaces an axis by a value of its range and an element of a tensor by any value, the same one wherever it occurs. */
static const tir_expr *sample_leaf(void *user, const tir_expr *e) {
  trial *t = user;
  const tir_expr *constant = NULL;
  if (e->op != TIR_READ && e->op != TIR_VAR) return e;
  for (int i = 0; i < t->n_leaves; i++)
    if (tir_equal(t->leaf[i], e)) return t->constant[i];
  if (e->op == TIR_READ) {
    constant = random_constant(t, (tn_dtype)e->dtype);
  } else {
    int64_t extent = ((const tn_axis *)e->u.var)->extent;
    constant = tir_int(&t->run.arena, (tn_dtype)e->dtype, runtime_random_below(&t->rng, extent));
  }
  if (t->n_leaves < MAX_LEAVES) t->leaf[t->n_leaves] = e, t->constant[t->n_leaves++] = constant;
  return constant;
}

/* The value of an expression whose leaves were all replaced by constants. */
static te_cell evaluate(trial *t, const tir_expr *e) {
  const te_node *node = e ? te_compile_values(&t->run, NULL, e) : NULL;
  return node ? te_node_value(node, &t->run) : (te_cell){0};
}

/* The values of the sources at some point. */
static tuple sample(trial *t, const tir_expr *reduction) {
  tir_rewriter rewriter = {&t->run.arena, NULL, sample_leaf, t};
  tuple out = {0};
  const tir_expr *all = tir_tuple(&t->run.arena, t->c->n_values, reduction->arg);
  t->n_leaves = 0;
  all = all ? tir_rewrite_expr(&rewriter, all) : NULL;
  for (int v = 0; all && v < t->c->n_values; v++) out.value[v] = evaluate(t, tir_value(all, v));
  return out;
}

/* ---- combining --------------------------------------------------------------------------------------------------- */

/* Combines in double, like the evaluator. */
static tuple combine(trial *t, tuple a, tuple b) {
  tuple out = {0};
  int n = t->c->n_values;
  memcpy(t->run.pair, a.value, sizeof *a.value * (size_t)n);
  memcpy(t->run.pair + n, b.value, sizeof *b.value * (size_t)n);
  for (int v = 0; v < n; v++) out.value[v] = te_node_value(t->result[v], &t->run);
  return out;
}

static bool is_float(const trial *t, int v) { return tn_dtype_is_float(t->c->lhs[v]->dtype); }

/* Samples that overflow tell nothing about the combiner. */
static bool is_finite(const trial *t, tuple a) {
  for (int v = 0; v < t->c->n_values; v++)
    if (is_float(t, v) && !isfinite(a.value[v].f)) return false;
  return true;
}

/* The greatest magnitude, at least 1; the tolerance is relative to it. */
static double magnitude(const trial *t, tuple a) {
  double most = 1;
  for (int v = 0; v < t->c->n_values; v++)
    if (is_float(t, v) && isfinite(a.value[v].f)) most = fmax(most, fabs(a.value[v].f));
  return most;
}

/* Floats may differ by the roundings in double and, where results cast to f32, by those. */
static bool is_same(const trial *t, tuple a, tuple b) {
  double limit = 1e-4 * fmax(magnitude(t, a), magnitude(t, b));
  for (int v = 0; v < t->c->n_values; v++) {
    te_cell x = a.value[v], y = b.value[v];
    if (!is_float(t, v) ? x.i != y.i : !(x.f == y.f || (isnan(x.f) && isnan(y.f)) || fabs(x.f - y.f) <= limit))
      return false;
  }
  return true;
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* "(1, 2.5)", in the caller's buffer. */
static const char *show(const trial *t, tuple a, char buffer[192]) {
  size_t used = (size_t)snprintf(buffer, 192, "(");
  for (int v = 0; v < t->c->n_values && used < 160; v++) {
    const char *comma = v > 0 ? ", " : "";
    used += is_float(t, v) ? (size_t)snprintf(buffer + used, 192 - used, "%s%g", comma, a.value[v].f)
                           : (size_t)snprintf(buffer + used, 192 - used, "%s%lld", comma, (long long)a.value[v].i);
  }
  snprintf(buffer + used, 192 - used, ")");
  return buffer;
}

/* Shows the values, so that the user can check the step by hand. */
static bool refuse_identity(const trial *t, tuple a, tuple got) {
  char texts[3][192];
  te_fail(t->site, TN_ERROR_PROGRAM,
          "combiner '%s': %s is no identity: with %s it gives %s; a schedule may combine it with any value", t->c->name,
          show(t, t->identity, texts[0]), show(t, a, texts[1]), show(t, got, texts[2]));
  return false;
}

/* RULE: "commutative" or "associative". */
static bool refuse_order(const trial *t, const char *rule, int n, const tuple *of, tuple x, tuple y) {
  char list[3][192], texts[2][192];
  for (int i = 0; i < n; i++) show(t, of[i], list[i]);
  te_fail(t->site, TN_ERROR_PROGRAM,
          "combiner '%s' is not %s: %s%s%s%s%s combine to %s or %s, by their order, which a schedule may change",
          t->c->name, rule, list[0], n == 2 ? " and " : ", ", list[1], n == 3 ? " and " : "", n == 3 ? list[2] : "",
          show(t, x, texts[0]), show(t, y, texts[1]));
  return false;
}

/* The rules must hold for finite values only; others may be outside what the combiner is meant for. */
static bool check_rules(trial *t, const tuple s[3]) {
  tuple left = combine(t, t->identity, s[0]), right = combine(t, s[0], t->identity);
  if (!is_same(t, left, s[0])) return refuse_identity(t, s[0], left);
  if (!is_same(t, right, s[0])) return refuse_identity(t, s[0], right);
  tuple ab = combine(t, s[0], s[1]), ba = combine(t, s[1], s[0]), bc = combine(t, s[1], s[2]);
  if (!is_finite(t, ab) || !is_finite(t, ba) || !is_finite(t, bc)) return true;
  if (!is_same(t, ab, ba)) return refuse_order(t, "commutative", 2, s, ab, ba);
  tuple ab_c = combine(t, ab, s[2]), a_bc = combine(t, s[0], bc);
  if (!is_finite(t, ab_c) || !is_finite(t, a_bc) || is_same(t, ab_c, a_bc)) return true;
  return refuse_order(t, "associative", 3, s, ab_c, a_bc);
}

/* Tries elements and, more often in later rounds, combinations of several. */
static bool try_rounds(trial *t, const tir_expr *reduction) {
  tuple twice = combine(t, t->identity, t->identity);
  if (!is_same(t, twice, t->identity)) return refuse_identity(t, t->identity, twice);
  for (int round = 0; round < ROUNDS && !t->run.failed; round++) {
    tuple s[3];
    for (int i = 0; i < 3; i++) {
      s[i] = sample(t, reduction);
      int64_t more = runtime_random_below(&t->rng, 1 + round / 8);
      for (int k = 0; k < more; k++) s[i] = combine(t, s[i], sample(t, reduction));
    }
    bool usable = is_finite(t, s[0]) && is_finite(t, s[1]) && is_finite(t, s[2]);
    if (usable && !check_rules(t, s)) return false;
  }
  return true;
}

/* Samples are equal in every run, so a combiner is refused always or never. Some hundred combinations of
 * small expressions take some ten microseconds. */
bool te_try_combiner(const te_site *site, const tir_expr *reduction) {
  trial t = {.site = site, .c = reduction->u.reduce->tuple, .run = {.ctx = site->ctx}, .rng = {1}};
  bool ok = true;
  if (t.c->takes_position) return true; /* argmax and argmin are known to be right */
  for (int v = 0; ok && v < t.c->n_values; v++) {
    t.result[v] = te_compile_values(&t.run, t.c, t.c->result[v]);
    t.identity.value[v] = evaluate(&t, t.c->identity[v]);
    ok = t.result[v] != NULL;
  }
  ok = ok && try_rounds(&t, reduction) && !t.run.failed;
  runtime_arena_free(&t.run.arena);
  return ok;
}
