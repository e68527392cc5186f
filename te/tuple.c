/* tuple.c: several values at once: tuples, and combiners of tuples. The latter are the user's, or those of
 * argmax and argmin, which are made for the dtypes they are used with. */
#include "te/internal.h"

/* ---- tuples ------------------------------------------------------------------------------------------------------ */

/* TIR_MAX_VALUES limits what a reduction keeps in registers at once. */
static bool check_value_count(const te_site *site, const char *what, int n) {
  if (n >= 1 && n <= TIR_MAX_VALUES) return true;
  te_fail(site, TN_ERROR_PROGRAM, "%s has 1 to %d values, not %d", what, (int)TIR_MAX_VALUES, n);
  return false;
}

/* A number has its own dtype here, since there is no operand to take one from. */
tn_expr *te_tuple(const te_site *site, int n, const tn_arg *values) {
  const tir_expr *nodes[TIR_MAX_VALUES];
  if (!check_value_count(site, "a tuple", n)) return NULL;
  for (int v = 0; v < n; v++) {
    if (te_is_null(values[v]) || !te_check_not_reduction(site, values[v])) return NULL;
    nodes[v] = te_is_number(values[v]) ? te_convert(site, values[v], te_number_dtype(values[v]))
                                       : te_stored_node(site, values[v]);
    if (!nodes[v]) return NULL;
  }
  return te_new_expr(site, tir_tuple(&site->ctx->arena, n, nodes), n, values);
}

/* Numbers in VALUES get their own dtypes. NULL after a message. */
tn_expr *tn_tuple_array(int n, const tn_arg *values) {
  te_site site;
  return values && te_find_site(&site, n, values) ? te_tuple(&site, n, values) : NULL;
}

/* ---- combiners --------------------------------------------------------------------------------------------------- */

/* A variable called NAME or, if that is NULL, SIDE with a number. */
static const tir_var *new_var(const te_site *site, const char *name, char side, int v, tn_dtype dtype) {
  tir_var *var = RUNTIME_NEW(&site->ctx->arena, tir_var);
  if (!name) name = runtime_format(&site->ctx->arena, "%c%d", side, v);
  if (!te_has_memory(site, var) || !te_has_memory(site, name)) return NULL;
  *var = (tir_var){name, dtype};
  return var;
}

/* f16 and bf16 are refused, since every step would round to them. */
tn_combiner *te_combiner(const te_site *site, const char *name, int n, const tn_dtype *dtypes,
                         const char *const *sides) {
  if (!check_value_count(site, "a combiner", n)) return NULL;
  tn_combiner *c = RUNTIME_NEW(&site->ctx->arena, tn_combiner);
  char *kept = runtime_strdup(&site->ctx->arena, name);
  if (!te_has_memory(site, c) || !te_has_memory(site, kept)) return NULL;
  *c = (tn_combiner){.ctx = site->ctx, .combiner = {.name = kept, .n_values = n}};
  for (int v = 0; v < n; v++) {
    if (runtime_is_half(dtypes[v])) {
      te_fail(site, TN_ERROR_PROGRAM, "value %d of '%s' is %s, which is for storage: use f32", v, name,
              tn_dtype_name(dtypes[v]));
      return NULL;
    }
    c->combiner.lhs[v] = new_var(site, sides ? sides[v] : NULL, 'a', v, dtypes[v]);
    c->combiner.rhs[v] = new_var(site, sides ? sides[n + v] : NULL, 'b', v, dtypes[v]);
    if (!c->combiner.lhs[v] || !c->combiner.rhs[v]) return NULL;
  }
  return c;
}

tn_combiner *tn_combiner_array(tn_context *ctx, const char *name, int n, const tn_dtype *dtypes) {
  te_site site = {.ctx = ctx};
  if (!ctx || !RUNTIME_GIVEN(ctx, name) || !RUNTIME_GIVEN(ctx, dtypes) || !te_check_name(&site, "a combiner", name))
    return NULL;
  for (int v = 0; v < n; v++)
    if ((unsigned)dtypes[v] >= TN_DTYPE_COUNT)
      return te_fail(&site, TN_ERROR_ARGUMENT, "tn_combiner_new: '%s': %d is no dtype", name, (int)dtypes[v]), NULL;
  return te_combiner(&site, name, n, dtypes, NULL);
}

/* The variable belongs to the combiner; every use makes a new node. */
tn_expr *te_combiner_side(const te_site *site, tn_combiner *c, bool is_right, int v) {
  if (v >= 0 && v < c->combiner.n_values) {
    const tir_var *var = is_right ? c->combiner.rhs[v] : c->combiner.lhs[v];
    return te_new_expr(site, tir_var_expr(&site->ctx->arena, var), 0, NULL);
  }
  te_fail(site, TN_ERROR_ARGUMENT, "combiner '%s' has values 0 to %d, no %d", c->combiner.name,
          c->combiner.n_values - 1, v);
  return NULL;
}

tn_expr *tn_lhs(tn_combiner *c, int value) {
  return c ? te_combiner_side(&(te_site){.ctx = c->ctx}, c, false, value) : NULL;
}
tn_expr *tn_rhs(tn_combiner *c, int value) {
  return c ? te_combiner_side(&(te_site){.ctx = c->ctx}, c, true, value) : NULL;
}

/* There must be one result, or identity, for each value. */
static bool check_given(const te_site *site, const tir_tuple_combiner *c, const char *what, int n) {
  if (n == c->n_values) return true;
  te_fail(site, TN_ERROR_PROGRAM, "combiner '%s' has %d value%s, but %d %s%s given", c->name, c->n_values,
          c->n_values == 1 ? "" : "s", n, what, n == 1 ? " is" : "s are");
  return false;
}

/* VALUE in the dtype of value V of a combiner; NULL: refused. */
static const tir_expr *own_value(const te_site *site, const tir_tuple_combiner *c, int v, const char *what,
                                 tn_arg value) {
  tn_dtype wanted = c->lhs[v]->dtype;
  char text[64];
  if (te_is_null(value) || !te_check_not_reduction(site, value)) return NULL;
  if (te_is_number(value) ? te_number_fits(value, wanted) : te_shown_dtype(value) == wanted)
    return te_convert(site, value, wanted);
  te_fail(site, TN_ERROR_PROGRAM, "value %d of combiner '%s' is %s, but its %s %s is %s: cast it, as in %s(x)", v,
          c->name, tn_dtype_name(wanted), what, te_show_arg(text, site, value), tn_dtype_name(te_shown_dtype(value)),
          tn_dtype_name(wanted));
  return NULL;
}

/* The variables that a combiner's expressions may use. */
typedef struct sides {
  const te_site *site;
  const tir_tuple_combiner *c;
} sides;

/* Results may use only the two sides, since a schedule combines where no tensor and no axis is available. */
static tir_walk check_leaf(void *user, const tir_expr *e) {
  const sides *s = user;
  bool is_own = e->op != TIR_READ && e->op != TIR_VAR;
  for (int v = 0; e->op == TIR_VAR && v < s->c->n_values; v++)
    is_own |= e->u.var == s->c->lhs[v] || e->u.var == s->c->rhs[v];
  if (is_own) return TIR_WALK_ON;
  char text[64];
  te_fail(s->site, TN_ERROR_PROGRAM, "combiner '%s' uses %s: its results are made of its two sides alone", s->c->name,
          te_show(text, e));
  return TIR_WALK_STOP;
}

/* Kept only if all are right. */
bool te_combiner_results(const te_site *site, tn_combiner *c, int n, const tn_arg *results) {
  sides s = {site, &c->combiner};
  const tir_expr *nodes[TIR_MAX_VALUES];
  if (!check_given(site, &c->combiner, "result", n)) return false;
  for (int v = 0; v < n; v++) {
    nodes[v] = own_value(site, &c->combiner, v, "result", results[v]);
    if (!nodes[v] || !tir_walk_expr(nodes[v], check_leaf, &s)) return false;
  }
  memcpy(c->combiner.result, nodes, sizeof *nodes * (size_t)n);
  return true;
}

/* The identity must be constants, since a schedule writes it where no tensor is available. */
bool te_combiner_identity(const te_site *site, tn_combiner *c, int n, const tn_arg *values) {
  const tir_expr *nodes[TIR_MAX_VALUES];
  char text[64];
  if (!check_given(site, &c->combiner, "identity value", n)) return false;
  for (int v = 0; v < n; v++) {
    nodes[v] = own_value(site, &c->combiner, v, "identity", values[v]);
    if (!nodes[v]) return false;
    if (nodes[v]->op == TIR_INT || nodes[v]->op == TIR_FLOAT) continue;
    te_fail(site, TN_ERROR_PROGRAM, "combiner '%s': identity %s is no constant", c->combiner.name,
            te_show(text, nodes[v]));
    return false;
  }
  memcpy(c->combiner.identity, nodes, sizeof *nodes * (size_t)n);
  return true;
}

/* Returns C, so that calls can be chained, or NULL after a message. */
tn_combiner *tn_combiner_results_array(tn_combiner *c, int n, const tn_arg *results) {
  te_site site = {.ctx = c ? c->ctx : NULL};
  if (!c || !results || !te_check_context(&site, n, results)) return NULL;
  return te_combiner_results(&site, c, n, results) ? c : NULL;
}

tn_combiner *tn_combiner_identity_array(tn_combiner *c, int n, const tn_arg *values) {
  te_site site = {.ctx = c ? c->ctx : NULL};
  if (!c || !values || !te_check_context(&site, n, values)) return NULL;
  return te_combiner_identity(&site, c, n, values) ? c : NULL;
}

/* ---- argmax and argmin ------------------------------------------------------------------------------------------- */

static const char *const position_reductions[] = {"argmin", "argmax"};

int te_find_position_reduction(const char *name) { return RUNTIME_FIND(position_reductions, name); }

/* The row-major position over the axes, in i32. Callers check that the number of positions fits. */
const tir_expr *te_position(runtime_arena *arena, int n_axes, tn_axis *const *axes) {
  const tir_expr *position = te_axis_expr(arena, axes[0]);
  for (int i = 1; i < n_axes; i++) {
    position = tir_binary(arena, TIR_MUL, position, tir_int(arena, TN_I32, axes[i]->extent));
    position = tir_binary(arena, TIR_ADD, position, te_axis_expr(arena, axes[i]));
  }
  return position;
}

/* The index, changed so that signed comparison orders it like an unsigned number. */
static const tir_expr *as_unsigned(runtime_arena *arena, const tir_expr *index) {
  tn_dtype dtype = (tn_dtype)index->dtype;
  int64_t top = (int64_t)(UINT64_MAX << (8 * tn_dtype_bytes(dtype) - 1));
  return tn_dtype_is_signed(dtype) ? tir_binary(arena, TIR_BITXOR, index, tir_int(arena, dtype, top)) : index;
}

/* Whether the right side is better: it has a better value, or the same one and a smaller index. Indices are
 * compared as unsigned, so that the identity's, -1, is the greatest. NaN is never better. */
static const tir_expr *is_better(runtime_arena *arena, const tir_tuple_combiner *c, bool is_max) {
  const tir_expr *ai = tir_var_expr(arena, c->lhs[0]), *av = tir_var_expr(arena, c->lhs[1]);
  const tir_expr *bi = tir_var_expr(arena, c->rhs[0]), *bv = tir_var_expr(arena, c->rhs[1]);
  const tir_expr *is_less = tir_binary(arena, TIR_LT, as_unsigned(arena, bi), as_unsigned(arena, ai));
  const tir_expr *is_same = tir_binary(arena, TIR_EQ, bv, av);
  const tir_expr *wins = tir_binary(arena, is_max ? TIR_GT : TIR_LT, bv, av);
  return tir_binary(arena, TIR_OR, wins, tir_binary(arena, TIR_AND, is_same, is_less));
}

/* Made for each use with the dtypes it meets. The identity's index -1 is the greatest as unsigned, so it
 * loses against every element. */
static const tir_tuple_combiner *position_combiner(const te_site *site, bool is_max, tn_dtype index, tn_dtype value) {
  runtime_arena *arena = &site->ctx->arena;
  tn_combiner *made = te_combiner(site, position_reductions[is_max], 2, (tn_dtype[]){index, value}, NULL);
  if (!made) return NULL;
  tir_tuple_combiner *c = &made->combiner;
  c->takes_position = true;
  const tir_expr *better = is_better(arena, c, is_max);
  for (int v = 0; v < 2; v++)
    c->result[v] = tir_select(arena, better, tir_var_expr(arena, c->rhs[v]), tir_var_expr(arena, c->lhs[v]));
  c->identity[0] = tir_int(arena, index, -1);
  c->identity[1] = tir_identity(arena, is_max ? TIR_REDUCE_MAX : TIR_REDUCE_MIN, value);
  bool ok = c->result[0] && c->result[1] && c->identity[0] && c->identity[1];
  return te_has_memory(site, ok ? c : NULL) ? c : NULL;
}

/* Positions are counted in i32. */
static bool check_positions(const te_site *site, const char *name, int n_axes, tn_axis *const *axes) {
  double n = 1;
  for (int i = 0; i < n_axes; i++) n *= (double)axes[i]->extent;
  if (n <= INT32_MAX) return true;
  te_fail(site, TN_ERROR_PROGRAM,
          "'%s' runs over %.0f elements, more than an i32 counts: give it an index, %s(index, x)", name, n, name);
  return false;
}

/* The index must be an integer, and the value must be comparable. */
static bool check_position_sources(const te_site *site, const char *name, tn_dtype index, tn_arg first, tn_arg value) {
  if (index == TN_BOOL || tn_dtype_is_float(index))
    return te_refuse_operand(site, name, first, "the index is an integer, as in i32(x)");
  return te_shown_dtype(value) != TN_BOOL || te_refuse_operand(site, name, value, "cast it, as in i32(x)");
}

/* With one source the index is its position; with two, the first source is the index. */
tn_expr *te_position_reduction(const te_site *site, bool is_max, int n, const tn_arg *sources, int n_axes,
                               tn_axis *const *axes) {
  const char *name = position_reductions[is_max];
  tn_arg both[2];
  for (int i = 0; i < n; i++)
    if (te_is_null(sources[i]) || !te_check_not_reduction(site, sources[i])) return NULL;
  if (n != 1 && n != 2) {
    te_fail(site, TN_ERROR_PROGRAM, "'%s' takes a value, or an index and a value, %d given", name, n);
    return NULL;
  }
  if (n == 1 && n_axes > 0) {
    if (!check_positions(site, name, n_axes, axes)) return NULL;
    tn_expr *position = te_new_expr(site, te_position(&site->ctx->arena, n_axes, axes), 0, NULL);
    if (!position) return NULL;
    both[0] = tn_arg_expr(position);
  } else if (n == 2) {
    both[0] = sources[0];
  } else {
    both[0] = tn_arg_int(0); /* without axes: refused below */
  }
  both[1] = sources[n - 1];
  tn_dtype index = te_shown_dtype(both[0]);
  if (!check_position_sources(site, name, index, both[0], both[1])) return NULL;
  const tir_tuple_combiner *c = position_combiner(site, is_max, index, te_shown_dtype(both[1]));
  return c ? te_tuple_reduction(site, c, 2, both, n_axes, axes) : NULL;
}
