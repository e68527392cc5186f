/* The checker: one malformed function for every invariant, refused with the invariant's name; and well-formed ones that
 * look odd. Constructors would not make most of these, so nodes are made by hand. */
#include "tests/tir/tests.h"

/* A function C[i] = <value> in a loop over i, whose parts a test spoils. */
typedef struct sample {
  runtime_arena *arena;
  tir_var i, j;
  tir_buffer a, c, t;
  const tir_buffer *params[2];
  const tir_expr *vi, *one_f, *one_i, *truth;
  tir_func f;
} sample;

static tir_expr *node(sample *s, tir_op op, tn_dtype dtype, int lanes, int n, const tir_expr *const *args) {
  tir_expr *e = runtime_alloc(s->arena, sizeof *e + sizeof(void *) * (size_t)n);
  e->op = (uint8_t)op, e->dtype = (uint8_t)dtype, e->lanes = (uint16_t)lanes, e->n_args = (uint16_t)n;
  for (int i = 0; i < n; i++) e->arg[i] = args[i];
  return e;
}

static const tir_expr *binary(sample *s, tir_op op, tn_dtype dtype, const tir_expr *a, const tir_expr *b) {
  return node(s, op, dtype, 1, 2, (const tir_expr *[]){a, b});
}

static const tir_expr *unary(sample *s, tir_op op, tn_dtype dtype, int lanes, const tir_expr *a) {
  return node(s, op, dtype, lanes, 1, &a);
}

static const tir_stmt *store(sample *s, const tir_expr *v) { return tir_store(s->arena, &s->c, 1, &s->vi, v, NULL); }

static const tir_stmt *raw_store(sample *s, const tir_buffer *b, const tir_expr *index, const tir_expr *v,
                                 const tir_expr *predicate) {
  tir_stmt *st = RUNTIME_NEW(s->arena, tir_stmt);
  const tir_expr **list = RUNTIME_NEW(s->arena, const tir_expr *);
  *list = index;
  st->kind = TIR_STORE;
  st->u.store.buffer = b, st->u.store.n_index = 1, st->u.store.index = list;
  st->u.store.value = v, st->u.store.predicate = predicate;
  return st;
}

static const tir_stmt *loop(sample *s, const tir_stmt *body) {
  return tir_for(s->arena, &s->i, tir_int(s->arena, TN_I32, 0), tir_int(s->arena, TN_I32, 8), TIR_SERIAL, body);
}

static const tir_stmt *in_loop(sample *s, const tir_expr *v) { return loop(s, raw_store(s, &s->c, s->vi, v, NULL)); }

static const tir_expr *load_a(sample *s, const tir_expr *index) { return tir_load(s->arena, &s->a, 1, &index, NULL); }

static void start(sample *s, runtime_arena *arena) {
  *s = (sample){.arena = arena, .i = {"i", TN_I32}, .j = {"j", TN_I32}};
  s->a = (tir_buffer){.name = "A", .dtype = TN_F32, .ndim = 1, .shape = {8}, .is_param = true, .is_input = true};
  s->c = (tir_buffer){.name = "C", .dtype = TN_F32, .ndim = 1, .shape = {8}, .is_param = true};
  s->t = (tir_buffer){.name = "T", .dtype = TN_F32, .ndim = 1, .shape = {4}};
  s->params[0] = &s->a, s->params[1] = &s->c;
  s->vi = tir_var_expr(arena, &s->i);
  s->one_f = tir_float(arena, TN_F32, 1), s->one_i = tir_int(arena, TN_I32, 1), s->truth = tir_int(arena, TN_BOOL, 1);
  s->f = (tir_func){.name = "f", .n_params = 2, .n_inputs = 1, .params = s->params, .index_dtype = TN_I32};
  s->f.body = in_loop(s, load_a(s, s->vi));
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

#define SPOIL(name) static void name(sample *s)

SPOIL(read_node) { s->f.body = in_loop(s, node(s, TIR_READ, TN_F32, 1, 0, NULL)); }
SPOIL(reduce_node) {
  tir_expr *e = (tir_expr *)unary(s, TIR_REDUCE, TN_F32, 1, s->one_f);
  e->u.reduce = RUNTIME_NEW(s->arena, tir_reduce);
  s->f.body = in_loop(s, e);
}
SPOIL(unknown_operator) { s->f.body = in_loop(s, node(s, TIR_OP_COUNT, TN_F32, 1, 0, NULL)); }
SPOIL(unknown_dtype) { s->f.body = in_loop(s, node(s, TIR_FLOAT, TN_DTYPE_COUNT, 1, 0, NULL)); }
SPOIL(one_argument_of_two) { s->f.body = in_loop(s, unary(s, TIR_ADD, TN_F32, 1, s->one_f)); }
SPOIL(missing_argument) { s->f.body = in_loop(s, binary(s, TIR_ADD, TN_F32, s->one_f, NULL)); }
/* dot(ACC, A, B) of the lanes. */
static void store_dot(sample *s, tn_dtype acc, int lanes, tn_dtype dtype, int group) {
  const tir_expr *sum = node(s, TIR_BROADCAST, acc, lanes, 1, (const tir_expr *[]){tir_const(s->arena, acc, 1)});
  const tir_expr *one = tir_const(s->arena, dtype, 1);
  const tir_expr *factor = node(s, TIR_BROADCAST, dtype, lanes * group, 1, &one);
  const tir_expr *dot = node(s, TIR_DOT, acc, lanes, 3, (const tir_expr *[]){sum, factor, factor});
  s->c.dtype = acc;
  s->f.body = raw_store(s, &s->c, tir_ramp(s->arena, s->one_i, 1, lanes), dot, NULL);
}
SPOIL(dot_of_bytes) { store_dot(s, TN_I32, 4, TN_U8, 4); }
SPOIL(dot_of_pairs) { store_dot(s, TN_F32, 4, TN_BF16, 2); }
SPOIL(dot_of_lanes) { store_dot(s, TN_I32, 4, TN_U8, 2); }
SPOIL(dot_of_floats) { store_dot(s, TN_F32, 4, TN_F32, 2); }
SPOIL(dot_in_i64) { store_dot(s, TN_I64, 4, TN_I8, 4); }
SPOIL(mixed_sum) { s->f.body = in_loop(s, binary(s, TIR_ADD, TN_F32, s->one_f, s->one_i)); }
SPOIL(sum_of_another_dtype) { s->f.body = in_loop(s, binary(s, TIR_ADD, TN_F32, s->one_i, s->one_i)); }
SPOIL(mixed_lanes) {
  s->f.body = in_loop(s, binary(s, TIR_ADD, TN_F32, s->one_f, tir_broadcast(s->arena, s->one_f, 4)));
}
SPOIL(comparison_without_bool) { s->f.body = in_loop(s, binary(s, TIR_LT, TN_F32, s->one_f, s->one_f)); }
SPOIL(and_of_numbers) {
  s->f.body = loop(s, tir_if(s->arena, binary(s, TIR_AND, TN_BOOL, s->one_i, s->one_i), store(s, s->one_f), NULL));
}
SPOIL(exp_of_integer) {
  s->c.dtype = TN_I32;
  s->f.body = in_loop(s, unary(s, TIR_EXP, TN_I32, 1, s->vi));
}
SPOIL(division_of_integers) {
  s->c.dtype = TN_I32;
  s->f.body = in_loop(s, binary(s, TIR_DIV, TN_I32, s->vi, s->vi));
}
SPOIL(floor_division_of_floats) { s->f.body = in_loop(s, binary(s, TIR_FLOORDIV, TN_F32, s->one_f, s->one_f)); }
SPOIL(select_by_number) {
  s->f.body = in_loop(s, node(s, TIR_SELECT, TN_F32, 1, 3, (const tir_expr *[]){s->one_i, s->one_f, s->one_f}));
}
SPOIL(select_of_two_dtypes) {
  s->f.body = in_loop(s, node(s, TIR_SELECT, TN_F32, 1, 3, (const tir_expr *[]){s->truth, s->one_f, s->one_i}));
}
SPOIL(ramp_of_one_lane) {
  s->f.body = loop(s, raw_store(s, &s->c, unary(s, TIR_RAMP, TN_I32, 1, s->vi), s->one_f, NULL));
}
SPOIL(broadcast_of_a_vector) {
  s->f.body = in_loop(s, unary(s, TIR_BROADCAST, TN_F32, 8, tir_broadcast(s->arena, s->one_f, 4)));
}
SPOIL(ramp_of_floats) { s->f.body = in_loop(s, unary(s, TIR_RAMP, TN_F32, 4, s->one_f)); }
SPOIL(broadcast_to_another_dtype) { s->f.body = in_loop(s, unary(s, TIR_BROADCAST, TN_F32, 4, s->one_i)); }
SPOIL(constant_beyond_its_dtype) {
  tir_expr *e = node(s, TIR_INT, TN_I32, 1, 0, NULL);
  e->u.i = INT64_C(1) << 40;
  s->f.body = loop(s, raw_store(s, &s->c, e, s->one_f, NULL));
}
SPOIL(double_in_a_float) {
  tir_expr *e = node(s, TIR_FLOAT, TN_F32, 1, 0, NULL);
  e->u.f = 0.1;
  s->f.body = in_loop(s, e);
}
SPOIL(float_constant_of_integer_dtype) { s->f.body = in_loop(s, node(s, TIR_FLOAT, TN_I32, 1, 0, NULL)); }
SPOIL(vector_constant) { s->f.body = in_loop(s, node(s, TIR_FLOAT, TN_F32, 4, 0, NULL)); }
SPOIL(variable_of_another_dtype) {
  tir_expr *e = node(s, TIR_VAR, TN_I64, 1, 0, NULL);
  e->u.var = &s->i;
  s->f.body = loop(s, raw_store(s, &s->c, e, s->one_f, NULL));
}
SPOIL(variable_out_of_scope) { s->f.body = in_loop(s, load_a(s, tir_var_expr(s->arena, &s->j))); }
SPOIL(variable_after_its_loop) {
  const tir_stmt *parts[] = {s->f.body, raw_store(s, &s->c, s->vi, s->one_f, NULL)};
  s->f.body = tir_seq(s->arena, 2, parts);
}
SPOIL(too_deep) {
  const tir_expr *e = load_a(s, s->vi);
  for (int n = 0; n < 1200; n++) e = binary(s, TIR_ADD, TN_F32, e, s->one_f);
  s->f.body = in_loop(s, e);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

SPOIL(load_of_another_dtype) {
  tir_expr *e = node(s, TIR_LOAD, TN_F64, 1, 1, &s->vi);
  e->u.buffer = &s->a;
  s->f.body = in_loop(s, e);
}
SPOIL(load_outside_the_allocation) {
  tir_expr *e = node(s, TIR_LOAD, TN_F32, 1, 1, &s->vi);
  e->u.buffer = &s->t;
  s->f.body = in_loop(s, e);
}
SPOIL(load_of_another_rank) {
  const tir_expr *index[] = {s->vi, s->vi};
  s->f.body = in_loop(s, tir_load(s->arena, &s->a, 2, index, NULL));
}
SPOIL(float_index) { s->f.body = in_loop(s, load_a(s, s->one_f)); }
SPOIL(predicate_of_numbers) { s->f.body = loop(s, raw_store(s, &s->c, s->vi, s->one_f, s->vi)); }
SPOIL(predicate_of_other_lanes) {
  s->f.body = loop(s, raw_store(s, &s->c, s->vi, s->one_f, tir_broadcast(s->arena, s->truth, 4)));
}
SPOIL(scalar_index_for_a_vector) {
  s->f.body = loop(s, raw_store(s, &s->c, s->vi, tir_broadcast(s->arena, s->one_f, 4), NULL));
}
SPOIL(store_to_an_input) { s->f.body = loop(s, raw_store(s, &s->a, s->vi, s->one_f, NULL)); }
SPOIL(store_of_another_dtype) { s->f.body = in_loop(s, s->one_i); }
SPOIL(store_without_value) { s->f.body = in_loop(s, NULL); }
SPOIL(store_without_buffer) { s->f.body = loop(s, raw_store(s, NULL, s->vi, s->one_f, NULL)); }

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const tir_callee callee = {.name = "g"};

/* g(ACCESS(BUFFER[index]), value) in the loop. */
static const tir_stmt *call(sample *s, tir_access access, const tir_buffer *buffer, const tir_expr *index, int64_t span,
                            const tir_expr *by_value) {
  tir_operand operands[] = {{.access = access, .buffer = buffer, .n_index = 1, .index = {index}, .span = {span}},
                            {.access = TIR_BY_VALUE, .value = by_value}};
  return tir_call(s->arena, &callee, 2, operands);
}

SPOIL(call_that_fits) { s->f.body = loop(s, call(s, TIR_UPDATES, &s->c, s->vi, 1, s->one_i)); }
SPOIL(call_that_writes_an_input) { s->f.body = loop(s, call(s, TIR_WRITES, &s->a, s->vi, 1, s->one_i)); }
SPOIL(call_outside_the_allocation) { s->f.body = loop(s, call(s, TIR_READS, &s->t, s->vi, 1, s->one_i)); }
SPOIL(call_of_a_box_too_large) { s->f.body = loop(s, call(s, TIR_READS, &s->a, s->vi, 9, s->one_i)); }
SPOIL(call_of_an_empty_box) { s->f.body = loop(s, call(s, TIR_READS, &s->a, s->vi, 0, s->one_i)); }
SPOIL(call_with_a_float_index) { s->f.body = loop(s, call(s, TIR_READS, &s->a, s->one_f, 1, s->one_i)); }
SPOIL(call_by_boolean) { s->f.body = loop(s, call(s, TIR_READS, &s->a, s->vi, 1, s->truth)); }
SPOIL(call_by_vector) {
  s->f.body = loop(s, call(s, TIR_READS, &s->a, s->vi, 1, tir_broadcast(s->arena, s->one_f, 4)));
}
SPOIL(call_with_a_stray_variable) {
  s->f.body = loop(s, call(s, TIR_READS, &s->a, tir_var_expr(s->arena, &s->j), 1, s->one_i));
}
SPOIL(call_of_two_kinds) {
  const tir_stmt *both[] = {call(s, TIR_READS, &s->a, s->vi, 1, s->one_i),
                            call(s, TIR_READS, &s->a, s->vi, 1, s->one_f)};
  s->f.body = loop(s, tir_seq(s->arena, 2, both));
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

SPOIL(variable_bound_twice) { s->f.body = loop(s, s->f.body); }
SPOIL(loop_of_another_dtype) { s->i.dtype = TN_I64; }
SPOIL(loop_bound_of_another_dtype) {
  s->f.body = tir_for(s->arena, &s->i, tir_int(s->arena, TN_I64, 0), tir_int(s->arena, TN_I32, 8), TIR_SERIAL,
                      store(s, s->one_f));
}
SPOIL(loop_variable_of_another_width) { s->f.index_dtype = TN_I64; }
SPOIL(loop_without_variable) { ((tir_stmt *)s->f.body)->u.loop.var = NULL; }
SPOIL(loop_without_body) { ((tir_stmt *)s->f.body)->u.loop.body = NULL; }
SPOIL(branch_on_a_vector) {
  tir_stmt *st = (tir_stmt *)tir_if(s->arena, s->truth, store(s, s->one_f), NULL);
  st->u.branch.cond = tir_broadcast(s->arena, s->truth, 4);
  s->f.body = loop(s, st);
}
SPOIL(allocated_parameter) { s->f.body = tir_alloc(s->arena, &s->c, s->f.body); }
SPOIL(allocated_twice) { s->f.body = tir_alloc(s->arena, &s->t, tir_alloc(s->arena, &s->t, s->f.body)); }
SPOIL(empty_shape) {
  s->t.shape[0] = 0;
  s->f.body = tir_alloc(s->arena, &s->t, s->f.body);
}
SPOIL(rank_beyond_eight) {
  s->t.ndim = 9;
  s->f.body = tir_alloc(s->arena, &s->t, s->f.body);
}
SPOIL(nested_sequence) {
  const tir_stmt *parts[] = {s->f.body, s->f.body};
  tir_stmt *outer = (tir_stmt *)tir_seq(s->arena, 2, parts);
  const tir_stmt **list = RUNTIME_NEW_ARRAY(s->arena, const tir_stmt *, 2);
  list[0] = s->f.body, list[1] = tir_seq(s->arena, 2, parts);
  outer->u.seq.stmts = list;
  s->f.body = outer;
}
SPOIL(attribute_without_key) {
  tir_stmt *st = (tir_stmt *)tir_attr(s->arena, "x", 1, s->f.body);
  st->u.attr.key = NULL;
  s->f.body = st;
}
SPOIL(parameter_without_flag) { s->c.is_param = false; }
SPOIL(output_among_inputs) { s->f.n_inputs = 2; }
SPOIL(parameter_twice) { s->params[1] = &s->a, s->f.n_inputs = 2; }
SPOIL(odd_index_dtype) { s->f.index_dtype = TN_U8; }

/* ---- well-formed ------------------------------------------------------------------------------------------------- */

SPOIL(as_it_is) { (void)s; }
SPOIL(variable_on_two_paths) {
  const tir_stmt *parts[] = {s->f.body, s->f.body};
  s->f.body = tir_seq(s->arena, 2, parts);
}
SPOIL(allocation_on_two_paths) {
  const tir_stmt *parts[] = {tir_alloc(s->arena, &s->t, s->f.body), tir_alloc(s->arena, &s->t, s->f.body)};
  s->f.body = tir_seq(s->arena, 2, parts);
}
SPOIL(masked_vector) {
  const tir_expr *index = tir_ramp(s->arena, s->vi, 1, 4), *mask;
  mask = tir_binary(s->arena, TIR_LT, index, tir_int(s->arena, TN_I32, 8));
  s->f.body = loop(s, tir_store(s->arena, &s->c, 1, &index, tir_load(s->arena, &s->a, 1, &index, mask), mask));
}

typedef struct row {
  const char *name, *invariant; /* NULL: it is well-formed */
  void (*spoil)(sample *s);
} row;

#define ROW(fn, invariant) {#fn, invariant, fn}

static const row rows[] = {
    ROW(as_it_is, NULL),
    ROW(variable_on_two_paths, NULL),
    ROW(allocation_on_two_paths, NULL),
    ROW(masked_vector, NULL),
    ROW(dot_of_bytes, NULL),
    ROW(dot_of_pairs, NULL),
    ROW(dot_of_lanes, "dot-lanes"),
    ROW(dot_of_floats, "operand-dtypes"),
    ROW(dot_in_i64, "operand-dtypes"),
    ROW(read_node, "no-te-nodes"),
    ROW(reduce_node, "no-te-nodes"),
    ROW(unknown_operator, "known-operator"),
    ROW(unknown_dtype, "known-dtype"),
    ROW(one_argument_of_two, "argument-count"),
    ROW(missing_argument, "argument-present"),
    ROW(mixed_sum, "operand-dtypes: ADD node 1f32 + 1"),
    ROW(sum_of_another_dtype, "operand-dtypes"),
    ROW(mixed_lanes, "operand-lanes"),
    ROW(comparison_without_bool, "boolean-result"),
    ROW(and_of_numbers, "boolean-operands"),
    ROW(exp_of_integer, "float-function"),
    ROW(division_of_integers, "float-division"),
    ROW(floor_division_of_floats, "integer-division"),
    ROW(select_by_number, "select-condition"),
    ROW(select_of_two_dtypes, "operand-dtypes"),
    ROW(ramp_of_one_lane, "vector-lanes"),
    ROW(broadcast_of_a_vector, "vector-lanes"),
    ROW(ramp_of_floats, "ramp-dtype"),
    ROW(broadcast_to_another_dtype, "operand-dtypes"),
    ROW(constant_beyond_its_dtype, "constant-range"),
    ROW(double_in_a_float, "constant-range"),
    ROW(float_constant_of_integer_dtype, "constant-dtype"),
    ROW(vector_constant, "leaf-lanes"),
    ROW(variable_of_another_dtype, "variable-dtype"),
    ROW(variable_out_of_scope, "variable-in-scope: j"),
    ROW(variable_after_its_loop, "variable-in-scope: i"),
    ROW(too_deep, "expression-depth"),
    ROW(load_of_another_dtype, "load-dtype: A"),
    ROW(load_outside_the_allocation, "buffer-in-scope: T"),
    ROW(load_of_another_rank, "access-rank: A"),
    ROW(float_index, "index-dtype"),
    ROW(predicate_of_numbers, "predicate-dtype"),
    ROW(predicate_of_other_lanes, "predicate-lanes"),
    ROW(scalar_index_for_a_vector, "index-lanes"),
    ROW(store_to_an_input, "inputs-are-not-stored-to: A"),
    ROW(store_of_another_dtype, "store-dtype: C"),
    ROW(store_without_value, "expression-present"),
    ROW(store_without_buffer, "store-buffer"),
    ROW(call_that_fits, NULL),
    ROW(call_that_writes_an_input, "inputs-are-not-stored-to: A"),
    ROW(call_outside_the_allocation, "buffer-in-scope: T"),
    ROW(call_of_a_box_too_large, "operand-span: A"),
    ROW(call_of_an_empty_box, "operand-span: A"),
    ROW(call_with_a_float_index, "index-dtype"),
    ROW(call_by_boolean, "call-by-value"),
    ROW(call_by_vector, "call-by-value"),
    ROW(call_with_a_stray_variable, "variable-in-scope: j"),
    ROW(call_of_two_kinds, "callee-signature: g"),
    ROW(variable_bound_twice, "variable-bound-once: i"),
    ROW(loop_of_another_dtype, "loop-bounds: i"),
    ROW(loop_bound_of_another_dtype, "loop-bounds: i"),
    ROW(loop_variable_of_another_width, "loop-variable-dtype: i"),
    ROW(loop_without_variable, "loop-variable"),
    ROW(loop_without_body, "statement-present"),
    ROW(branch_on_a_vector, "branch-condition"),
    ROW(allocated_parameter, "parameters-are-not-allocated: C"),
    ROW(allocated_twice, "buffer-allocated-once: T"),
    ROW(empty_shape, "buffer-shape: T"),
    ROW(rank_beyond_eight, "buffer-rank: T"),
    ROW(nested_sequence, "flat-sequence"),
    ROW(attribute_without_key, "attribute-key"),
    ROW(parameter_without_flag, "parameter-flag: C"),
    ROW(output_among_inputs, "inputs-come-first: C"),
    ROW(parameter_twice, "parameter-once: A"),
    ROW(odd_index_dtype, "index-dtype-of-function"),
};

static void check_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  sample s;
  start(&s, &arena);
  r->spoil(&s);
  tn_status status = tir_check(ctx, &s.f);
  if (r->invariant == NULL) {
    check_ok(ctx);
    assert_int_equal(status, TN_OK);
  } else {
    assert_int_equal(status, TN_ERROR_INTERNAL);
    check_fails(ctx, TN_ERROR_INTERNAL, "loop IR of \"f\" breaks the invariant", r->invariant);
  }
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

int test_check(void) { return CHECK_TABLE("tir check", rows, check_row); }
