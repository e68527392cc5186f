/* What a program has, for the table of what the generator draws. */
#include "te/graph.h"
#include "tests/fuzz/fuzz.h"

typedef struct looking {
  bool has[FUZZ_FEATURE_COUNT];
} looking;

static tir_walk find_read(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_READ ? TIR_WALK_STOP : TIR_WALK_ON;
}
static bool has_read(const tir_expr *e) { return !tir_walk_expr(e, find_read, NULL); }

static bool is_scaled(const tir_expr *e) {
  int64_t scale;
  return e->op == TIR_MUL && e->arg[0]->op == TIR_VAR && tir_is_int(e->arg[1], &scale);
}

static tir_walk look_at_index(void *user, const tir_expr *e) {
  looking *x = user;
  int64_t value;
  bool is_sum = e->op == TIR_ADD && (is_scaled(e->arg[0]) || is_scaled(e->arg[1]));
  x->has[FUZZ_HAS_GATHER] |= e->op == TIR_READ;
  x->has[FUZZ_HAS_STRIDED] |= is_scaled(e);
  x->has[FUZZ_HAS_DILATED] |= is_sum;
  x->has[FUZZ_HAS_DIVIDED] |= e->op == TIR_FLOORDIV || e->op == TIR_FLOORMOD;
  x->has[FUZZ_HAS_REVERSED] |= e->op == TIR_SUB && tir_is_int(e->arg[0], &value);
  return TIR_WALK_ON;
}

static void look_at_read(looking *x, const tir_expr *e) {
  int64_t value;
  for (int i = 0; i < e->n_args; i++) {
    x->has[FUZZ_HAS_CONSTANT_INDEX] |= tir_is_int(e->arg[i], &value);
    tir_walk_expr(e->arg[i], look_at_index, x);
  }
}

static bool is_dot(const tir_expr *source) {
  if (source->op != TIR_MUL || source->arg[0]->op != TIR_CAST || source->arg[1]->op != TIR_CAST) return false;
  tn_dtype from = (tn_dtype)source->arg[0]->arg[0]->dtype;
  return from == TN_I8 || from == TN_U8 || from == TN_BF16;
}

static bool is_gemv(const tir_expr *source) {
  if (source->op != TIR_MUL || !tn_dtype_is_float((tn_dtype)source->dtype)) return false;
  return source->arg[0]->op == TIR_READ && source->arg[1]->op == TIR_READ;
}

static void look_at_reduction(looking *x, const tir_expr *e) {
  const tir_reduce *r = e->u.reduce;
  x->has[FUZZ_HAS_REDUCTION] |= r->tuple == NULL;
  x->has[FUZZ_HAS_POSITION] |= r->tuple && r->tuple->takes_position;
  x->has[FUZZ_HAS_COMBINER] |= r->tuple && !r->tuple->takes_position;
  x->has[FUZZ_HAS_SEVERAL_AXES] |= r->n_axes > 1;
  x->has[FUZZ_HAS_WHERE] |= r->has_where;
  x->has[FUZZ_HAS_INIT] |= r->has_init;
  x->has[FUZZ_HAS_DOT] |= is_dot(e->arg[0]);
  x->has[FUZZ_HAS_GEMV] |= r->combiner == TIR_REDUCE_SUM && is_gemv(e->arg[0]);
}

static tir_walk look_at(void *user, const tir_expr *e) {
  looking *x = user;
  if (e->op == TIR_READ) look_at_read(x, e);
  if (e->op == TIR_REDUCE) look_at_reduction(x, e);
  x->has[FUZZ_HAS_PADDING] |= e->op == TIR_SELECT && has_read(e);
  x->has[FUZZ_HAS_MATH] |= tir_rule_of(e) == TIR_RULE_FLOAT;
  x->has[FUZZ_HAS_BITS] |= tir_rule_of(e) == TIR_RULE_INTEGER;
  return TIR_WALK_ON;
}

static bool is_prime(int64_t n) {
  for (int64_t i = 2; i * i <= n; i++)
    if (n % i == 0) return false;
  return n > 1;
}

static void look_at_extent(looking *x, int64_t extent) {
  x->has[FUZZ_HAS_ODD] |= extent > 1 && extent % 2 == 1;
  x->has[FUZZ_HAS_PRIME] |= extent > 3 && is_prime(extent);
}

static void look_at_op(looking *x, const te_op *op) {
  for (int i = 0; op->axes && i < op->n_axes; i++) look_at_extent(x, op->axes[i]->extent);
  for (int i = 0; i < op->n_reduce; i++) look_at_extent(x, op->reduce_axes[i]->extent);
  x->has[FUZZ_HAS_VALUES] |= op->n_outputs > 1;
  x->has[FUZZ_HAS_SCAN] |= op->kind == TE_SCAN;
  x->has[FUZZ_HAS_EXTERN] |= te_is_extern(op);
  x->has[FUZZ_HAS_LEAVES] |= op->may_leave;
  x->has[FUZZ_HAS_SCALAR] |= op->outputs[0].by_value;
  for (int i = 0; i < op->n_outputs; i++) {
    x->has[te_is_placeholder(op) ? FUZZ_HAS_STRIDED_INPUT : FUZZ_HAS_STRIDED_OUTPUT] |= op->outputs[i].is_strided;
    x->has[FUZZ_HAS_HALF] |= runtime_is_half(op->outputs[i].dtype);
  }
  if (op->body) tir_walk_expr(op->body, look_at, x);
}

static bool has_several_readers(const tn_program *p, const te_op *op) {
  int readers = 0;
  for (int i = 0; i < p->n_ops; i++)
    for (int k = 0; k < p->ops[i]->n_inputs; k++) readers += p->ops[i]->inputs[k]->op == op;
  return readers > 1;
}

/* How many of what makes a pair hard meet in it. */
static int count_kinds(const looking *x, int n_dtypes, const char *schedule) {
  bool strides = x->has[FUZZ_HAS_STRIDED_INPUT] || x->has[FUZZ_HAS_STRIDED_OUTPUT];
  return (n_dtypes > 1) + (strstr(schedule, "tensorize(") != NULL) + x->has[FUZZ_HAS_SCAN] + x->has[FUZZ_HAS_SYMBOL] +
         strides + x->has[FUZZ_HAS_EXTERN];
}

void fuzz_count_features(const tn_program *p, const char *schedule, fuzz_counts *counts) {
  looking x = {0};
  x.has[FUZZ_HAS_SYMBOL] = p->n_symbols > 0;
  bool ranks[TN_MAX_RANK + 1] = {0}, dtypes[TN_DTYPE_COUNT] = {0};
  int stages = 0, n_dtypes = 0;
  for (int i = 0; i < p->n_ops; i++) {
    const te_op *op = p->ops[i];
    look_at_op(&x, op);
    x.has[FUZZ_HAS_SHARED] |= has_several_readers(p, op);
    stages += !te_is_placeholder(op);
    for (int v = 0; v < op->n_outputs; v++) ranks[op->outputs[v].ndim] = dtypes[op->outputs[v].dtype] = true;
  }
  counts->stages[RUNTIME_MIN(stages, FUZZ_MAX_STAGES)]++;
  for (int i = 0; i <= TN_MAX_RANK; i++) counts->ranks[i] += ranks[i];
  for (int i = 0; i < TN_DTYPE_COUNT; i++) counts->dtypes[i] += dtypes[i], n_dtypes += dtypes[i];
  counts->mixed[RUNTIME_MIN(count_kinds(&x, n_dtypes, schedule), FUZZ_MANY_KINDS)]++;
  for (int i = 0; i < FUZZ_FEATURE_COUNT; i++) counts->features[i] += x.has[i];
}
