/* Loop IR from text: what is printed parses to the same text, every form is there, what is wrong is said at its place,
 * and changed text never crashes. */
#include "tests/tir/tests.h"

#define HEAD(params) "primfn(" params ") -> int32\n  attr = {\"global_symbol\": \"f\", \"tir.noalias\": True} {\n"
#define PARAMS                                                                                               \
  "A: Buffer(float32, [8, 8]), F: Buffer(float64, [8]), H: Buffer(float16, [8]), B: Buffer(bfloat16, [8]), " \
  "I: Buffer(int32, [8]), L: Buffer(int64, [8]), U: Buffer(uint8, [8]), P: Buffer(bool, [8]), "              \
  "S: Buffer(int8, [8]), W: Buffer(uint32, [8]), N: Buffer(int16, [8]), M: Buffer(uint16, [8]), "            \
  "C: Buffer(float32, []), s: float32, n: int32 in [1, 300]"

/* ---- to and fro -------------------------------------------------------------------------------------------------- */

static const char *const bodies[] = {
    "  nop\n",
    "  C[] = 0f32\n",
    /* constants of every type */
    "  C[] = -0f32\n  C[] = inff32\n  C[] = -inff32\n  C[] = nanf32\n  C[] = 1.1754944e-38f32\n  C[] = "
    "3.4028235e+38f32\n",
    "  F[0] = 0.1f64\n  F[0] = -inff64\n  F[0] = 1e-300f64\n  H[0] = 1.5f16\n  H[0] = inff16\n  B[0] = -2bf16\n",
    "  I[0] = -2147483648\n  L[0] = -9223372036854775808i64\n  L[0] = 9223372036854775807i64\n  U[0] = 255u8\n",
    "  S[0] = -128i8\n  W[0] = 4294967295u32\n  N[0] = -32768i16\n  M[0] = 65535u16\n  P[0] = True\n  P[1] = False\n",
    /* what reads as a subtraction and what does not */
    "  S[0] = S[1] + -128i8\n  S[0] = S[1] - 127i8\n  I[0] = I[1] + -2147483648\n  C[] = C[] + -3f32\n  I[0] = "
    "I[1]*-3\n",
    /* operators and their parentheses */
    "  I[0] = I[0] - (I[1] - I[2])\n  I[0] = (I[0] + I[1])*I[2]\n  I[0] = I[0]*(I[1]*I[2])\n",
    "  I[0] = I[0] | I[1] ^ I[2] & I[3] << 2\n  I[0] = (I[0] | I[1]) & ~I[2] >> 1\n  I[0] = (I[0] & I[1]) + I[2]\n",
    "  P[0] = P[1] || P[2] && !P[3]\n  P[0] = (P[1] || P[2]) && !(I[0] < I[1])\n  P[0] = (I[0] < 3) == (I[1] >= 2)\n",
    "  P[0] = I[0] & 1 != 0\n  P[0] = I[0] + 1 <= I[1]*2\n  P[0] = I[0] > 1\n",
    "  I[0] = floordiv(I[1], 3) + floormod(I[1], -3) + min(I[2], max(I[3], 4)) + abs(I[4])\n",
    "  I[0] = popcount(I[0]) + clz(I[1])\n  C[] = select(P[0], C[], 1f32)\n  C[] = cast(float32, I[0])\n",
    "  H[0] = cast(float16, cast(float32, B[0]))\n  U[0] = cast(uint8, F[0])\n  P[0] = isnan(C[])\n",
    "  C[] = exp(log(sqrt(rsqrt(tanh(sigmoid(erf(sin(cos(C[])))))))))\n  C[] = pow(C[], atan2(C[], fmod(C[], 2f32)))\n",
    "  C[] = A[0, 1]/(A[1, 0]/A[2, 0])\n  C[] = A[0, 0]/A[0, 1]/A[0, 2]\n",
    /* loops: kinds, marks, bounds */
    "  for (i: int32, 0, 8) \"parallel\" {\n    for (j: int32, i, i + 4) \"vectorized\" {\n"
    "      for (k: int32, 2 + i, 2 + i + j*2) \"unroll\" {\n        nop\n      }\n    }\n  }\n",
    "  for (i: int32, 0, 8) \"peel\" {\n    for (j: int32, 2, 8) \"parallel\" \"peel\" {\n      A[i, j] = 1f32\n    "
    "}\n  }\n",
    "  for (i: int64, 0i64, 8i64) {\n    A[i, 7i64 - i] = 1f32\n  }\n",
    "  for (i: int32, 0, 8) {\n    for (j: int32, i, i + (8 - i)) {\n      A[i, j] = 1f32\n    }\n  }\n",
    "  for (i: int32, 0, 8) \"parallel\" \"strided\" {\n    prefetch(A[i, 0])\n    prefetch(C[])\n  }\n",
    "  for (i: int32, 0, 8) \"parallel\" \"peel\" \"strided\" {\n    nop\n  }\n",
    /* branches, allocations, attributes */
    "  for (i: int32, 0, 8) {\n    if (i < 4) {\n      I[i] = i\n    } else {\n      nop\n    }\n  }\n",
    "  allocate(T.local: Pointer(local float32), float32, [4, 4]), storage_scope = local {\n    T.local[1, 2] = C[]\n"
    "    allocate(V: Pointer(global bool), bool, []), storage_scope = global {\n      V[] = True\n    }\n  }\n",
    "  attr [threadIdx.x] \"thread_extent\" = 8 {\n    attr \"pragma_stage.point\" = 3 {\n      nop\n    }\n  }\n",
    /* vectors */
    "  F[ramp(0, 1, 8)] = broadcast(1f64, 8)\n  I[ramp(7, -1, 8), predicate = ramp(0, 2, 8) < broadcast(9, 8)] = "
    "I[ramp(0, 1, 8), predicate = P[ramp(0, 1, 8)]]\n  C[predicate = P[0]] = C[predicate = True && P[1]]\n",
    "  I[ramp(0, 1, 2)] = dot(I[ramp(0, 1, 2)], U[ramp(0, 1, 8)], S[ramp(0, 1, 8)])\n"
    "  C[] = dot(C[], B[ramp(0, 1, 2)], broadcast(1bf16, 2))\n",
    "  call axpy(reads(A[0, 2], [1, 4]), updates(F[1], [2]), writes(C[], []), 2f32, I[0] + 1)\n  call axpy2()\n",
    "  call call(-1i64)\n  allocate(call: Pointer(local int8), int8, [1]), storage_scope = local {\n    call[0] = "
    "1i8\n  }\n",
    /* what is passed by value */
    "  C[] = s*2f32 + C[]\n  for (i: int32, 0, n) {\n    for (j: int32, n, n + n*2) {\n      nop\n    }\n  }\n",
    /* names that are words elsewhere */
    "  allocate(nop: Pointer(global float32), float32, [2]), storage_scope = global {\n"
    "    allocate(attr: Pointer(global float32), float32, [2]), storage_scope = global {\n"
    "      for (for: int32, 0, 2) {\n        nop[for] = attr[for]\n        attr[for] = nop[min(for, 1)]\n      }\n    "
    "}\n  }\n",
    "  allocate(for: Pointer(global int32), int32, [2]), storage_scope = global {\n    for (predicate: int32, 0, 2) {\n"
    "      for[predicate] = for[predicate, predicate = predicate == 1]\n    }\n  }\n",
};

static char *print_whole(runtime_arena *arena, const tir_func *f) {
  runtime_str out = {0};
  tir_print_func(&out, f);
  return runtime_str_take(&out, arena);
}

static void bodies_parse_to_the_same_text(void **state) {
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(bodies); i++) {
    runtime_arena arena = {0};
    tn_context *ctx = check_context();
    bool is_wide = strstr(bodies[i], ": int64") != NULL; /* such loops beside no symbol of 32 bits */
    const char *head = is_wide ? HEAD("A: Buffer(float32, [8, 8]), n: int64 in [1, 9]") : HEAD(PARAMS);
    char *once = runtime_format(&arena, "%s%s}\n", head, bodies[i]);
    if (strstr(bodies[i], "True && ") != NULL) { /* folded: printed once, it stays */
      once = print_whole(&arena, tir_parse_func(ctx, &arena, once));
    }
    tir_func *f = tir_parse_func(ctx, &arena, once);
    check_ok(ctx);
    check_text(print_whole(&arena, f), once);
    check_context_free(ctx);
    runtime_arena_free(&arena);
  }
}

/* Of buffers whose length symbols decide: a box has any length, 0: symbols decide that, too. */
static void calls_on_symbolic_buffers_parse_to_the_same_text(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  const char *text = HEAD("A: Buffer(float32, [M]), C: Buffer(float32, [8]), M: int64 in [1, 9]")
      "  call gemv(reads(A[M - 1i64], [0]), updates(A[0i64], [100]), writes(C[0i64], [8]), M)\n}\n";
  tir_func *f = tir_parse_func(ctx, &arena, text);
  check_ok(ctx);
  check_text(print_whole(&arena, f), text);
  assert_null(tir_parse_func(ctx, &arena, HEAD("A: Buffer(float32, [8])") "  call gemv(reads(A[0], [0]))\n}\n"));
  check_fails(ctx, TN_ERROR_PARSE, "expected 1 to 8 elements of 'A'");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

/* Of strided parameters, before and after flattening. */
static void strides_parse_to_the_same_text(void **state) {
  (void)state;
  static const char *const accesses[] = {"A[i, 1, 0]", "A[i*A.stride0 + A.stride1]"};
  for (int i = 0; i < RUNTIME_COUNT(accesses); i++) {
    runtime_arena arena = {0};
    tn_context *ctx = check_context();
    const char *text = runtime_format(
        &arena,
        HEAD("A: Buffer(float32, [8, 4, M], [A.stride0, A.stride1, 1]), C: Buffer(float32, [8]), M: int64 in [1, 9], "
             "A.stride0: int64 in [0, 99], A.stride1: int64 in [0, 99]") "  for (i: int64, 0i64, 8i64) {\n    C[i] = %s\n"
                                                                         "  }\n}\n",
        accesses[i]);
    tir_func *f = tir_parse_func(ctx, &arena, text);
    check_ok(ctx);
    check_text(print_whole(&arena, f), text);
    assert_int_equal(tir_is_strided(f->params[0]), i == 0);
    if (i == 1) assert_int_equal(f->params[0]->ndim, 1);
    runtime_str size = {0};
    if (i == 1) tir_print_expr(&size, f->params[0]->size[0]);
    if (i == 1) check_text(size.data, "1i64 + (M - 1i64) + 3i64*A.stride1 + 7i64*A.stride0");
    runtime_str_free(&size);
    check_context_free(ctx);
    runtime_arena_free(&arena);
  }
}

static void flat_parameters_are_told_by_their_accesses(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  const char *text = HEAD(
      "A: Buffer(float32, [8, 4]), N: Buffer(float32, []), C: Buffer(float32, [2, 16])") "  C[31] = A[3] + 1f32\n}\n";
  tir_func *f = tir_parse_func(ctx, &arena, text);
  check_ok(ctx);
  assert_int_equal(f->n_inputs, 2);
  for (int i = 0; i < 3; i++) assert_int_equal(f->params[i]->ndim, 1);
  assert_int_equal(f->params[0]->shape[0], 32);
  assert_int_equal(f->params[1]->shape[0], 1);
  assert_int_equal(f->declared[2]->ndim, 2);
  check_text(print_whole(&arena, f), text);
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void blanks_and_comments_do_not_matter(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  tir_func *f = tir_parse_func(ctx, &arena,
                               "# a comment\nprimfn(C:Buffer(float32,[8]))->int32 attr={\"global_symbol\":\"f\",\n"
                               "\"tir.noalias\":True}{for(i:int32,0,8){C[i]=(((1f32)))# another\n}}");
  check_ok(ctx);
  check_text(print_func(&arena, f), "for (i: int32, 0, 8) {\n  C[i] = 1f32\n}\n");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

typedef struct row {
  const char *name, *body, *says;
} row;

#define PLACE(line, column) "parse error at line " line ", column " column ": "

static const row refused[] = {
    {"no statement", "  1f32", PLACE("3", "3") "expected a statement\n  1f32\n  ^"},
    {"no end", "  nop ", PLACE("3", "6") "expected a statement or '}'"},
    {"a text behind the end", "} x", PLACE("3", "3") "expected the end of the text\n} x\n  ^"},
    {"an unknown buffer", "  D[0] = 1f32}",
     "expected the name of a parameter or of an allocation around this, not 'D'"},
    {"an unknown variable", "  C[] = cast(float32, i)}",
     PLACE("3", "23") "expected the variable of a loop around this, not 'i'"},
    {"a variable behind its loop", "for (i: int32, 0, 8) { nop } I[i] = 1}", "expected the variable of a loop"},
    {"an allocation behind its block",
     "allocate(T: Pointer(local float32), float32, [1]), storage_scope = local { nop } T[0] = 1f32}", "not 'T'"},
    {"an unknown function", "  C[] = sqr(C[])}", "expected a function, not 'sqr': is 'sqrt' meant?"},
    {"a function like none", "  C[] = frobnicate(C[])}", "expected a function, not 'frobnicate'\n"},
    {"an operator that is no function", "  C[] = read(C[])}", "expected a function, not 'read'"},
    {"too few operands", "  I[0] = min(I[0])}", "expected ','"},
    {"too many operands", "  C[] = exp(C[], C[])}", "expected ')'"},
    {"operands of two types", "  I[0] = I[0] + L[0]}",
     PLACE("3", "15") "expected operands of one type for '+', not int32 and int64"},
    {"a float function of integers", "  I[0] = exp(I[0])}", "expected floats as operands of 'exp', not int32"},
    {"bits of floats", "  C[] = C[] & C[]}", "expected integers as operands of '&', not float32"},
    {"floor division of floats", "  C[] = floordiv(C[], C[])}", "expected integers as operands of '//', not float32"},
    {"division of integers", "  I[0] = I[0]/I[1]}", "expected floats as operands of '/', not int32"},
    {"and of integers", "  P[0] = I[0] && I[1]}", "expected bools as operands of '&&', not int32"},
    {"arithmetic in half", "  H[0] = H[0] + H[1]}", "expected a cast: '+' takes no float16"},
    {"a cast from half to integer", "  I[0] = cast(int32, H[0])}", "expected a cast to or from float32"},
    {"a condition that is no bool", "  if (I[0]) { nop }}", "expected bool as a condition, not int32"},
    {"a select of an integer", "  C[] = select(I[0], C[], C[])}", "expected a bool as the condition of 'select'"},
    {"an index that is a float", "  I[C[]] = 1}", PLACE("3", "5") "expected an integer as index"},
    {"a predicate that is no bool", "  I[0, predicate = 1] = 1}", "expected a bool as predicate"},
    {"something behind the predicate", "  I[predicate = True, 0] = 1}", "expected ']' behind the predicate"},
    {"too many indices", "  I[0, 1] = 1}", "expected 1 index of 'I', not 2"},
    {"too few indices of an allocation",
     "allocate(T: Pointer(local float32), float32, [2, 2]), storage_scope = local { T[0] = 1f32 }}",
     "expected 2 indices of 'T', not 1"},
    {"flat and not flat", "  C[] = A[0, 1] + A[2]}", "expected an index a dimension of 'A' as in other accesses"},
    {"one flat, one not", "  A[0, 0] = C[0]}",
     PLACE("3", "3") "expected one index of 'A': that is how other parameters"},
    {"a store of another type", "  I[0] = 1f32}", PLACE("3", "10") "expected a int32, as 'I' holds, not a float32"},
    {"lanes that differ", "  I[ramp(0, 1, 4)] = broadcast(1, 8)}", "expected 4 lanes, not 8"},
    {"operands of other lanes", "  I[0] = broadcast(1, 8) + ramp(0, 1, 4)}", "expected operands of as many lanes"},
    {"a dot product of floats", "  C[] = dot(C[], C[], C[])}", "expected operands of int8 or uint8 with int32"},
    {"a dot product of few lanes", "  I[0] = dot(I[0], S[0], S[0])}", "expected operands of 4 lanes, not 1"},
    {"a dot product into bytes", "  S[0] = dot(S[0], S[0], S[0])}", "expected int32 or float32 to add to, not int8"},
    {"a ramp of a vector", "  I[ramp(ramp(0, 1, 2), 1, 2)] = 1}", "expected one lane"},
    {"a ramp of floats", "  F[0] = ramp(0f64, 1, 2)}", "expected an integer, not float64"},
    {"one lane", "  F[0] = broadcast(0f64, 1)}", "expected 2 to 65535 lanes"},
    {"a float without a type", "  C[] = 1.5}", PLACE("3", "9") "expected a type behind the number, as in 1.5f32"},
    {"a fraction of an integer", "  I[0] = 1.5i64}", "expected a whole number of type i64"},
    {"a number that does not fit", "  U[0] = 256u8}", "the number does not fit uint8"},
    {"a number of no type", "  U[0] = 2u9}", "expected the type of the number, such as f32 or i64, not 'u9'"},
    {"a minus before a name", "  I[0] = -I[1]}", PLACE("3", "10") "expected a number behind '-'"},
    {"a huge number", "  L[0] = 99999999999999999999i64}", "the number does not fit 64 bits"},
    {"a loop over floats", "  for (i: float32, 0f32, 1f32) { nop }}",
     "expected int32 as the type of all loops of this function"},
    {"loops of two types", "  for (i: int32, 0, 2) { for (j: int64, 0i64, 2i64) { nop } }}",
     "expected int32 as the type of all loops of this function"},
    {"a bound of another type", "  for (i: int32, 0i64, 2i64) { nop }}",
     "expected int32 as the loop's first value, not int64"},
    {"a bound of several lanes", "  for (i: int32, 0, ramp(1, 1, 4)) { nop }}", "expected one lane as the loop's end"},
    {"a loop of no kind", "  for (i: int32, 0, 2) \"serial\" { nop }}", "expected one of \"unroll\", \"vectorized\""},
    {"a loop of two kinds", "  for (i: int32, 0, 2) \"unroll\" \"parallel\" { nop }}", "expected one of \"unroll\""},
    {"a strided loop that is not parallel", "  for (i: int32, 0, 2) \"unroll\" \"strided\" { nop }}",
     "then \"strided\" of a parallel loop"},
    {"a prefetch of several elements", "  prefetch(I[ramp(0, 1, 4)])}", "expected one element without a predicate"},
    {"a prefetch of no element", "  prefetch(i)}", "not 'i'"},
    {"a call of no function", "  call (1)}", "expected the name of a C function"},
    {"a byte by value", "  call f(1i8)}", PLACE("3", "10") "expected reads, writes, updates, or a number of int32"},
    {"a box beyond its buffer", "  call f(reads(I[0], [9]))}", "expected 1 to 8 elements of 'I'"},
    {"the address of several elements", "  call f(reads(I[ramp(0, 1, 2)], [1]))}",
     "expected one element without a predicate"},
    {"a type of none", "  for (i: int, 0, 2) { nop }}", "expected a type such as float32, not 'int'"},
    {"scopes that differ", "  allocate(T: Pointer(local int8), int8, [1]), storage_scope = global { nop }}",
     "expected 'local'"},
    {"an empty allocation", "  allocate(T: Pointer(local int8), int8, [0]), storage_scope = local { nop }}",
     "expected an extent of 1 or more"},
    {"an allocation beyond counting",
     "  allocate(T: Pointer(local int8), int8, [9223372036854775807, 2]), storage_scope = local { nop }}",
     "the buffer is too large"},
    {"nine dimensions", "  allocate(T: Pointer(local int8), int8, [1,1,1,1,1,1,1,1,1]), storage_scope = local { nop }}",
     "a buffer has at most 8 dimensions"},
    {"an attribute of no kind", "  attr \"key\" = 1 { nop }}", "expected \"pragma_...\""},
    {"a thread's attribute of no kind", "  attr [threadIdx.x] \"extent\" = 1 { nop }}", "expected \"thread_extent\""},
    {"an open quote", "  attr \"pragma_x = 1 { nop }}", "expected a closing '\"'"},
};

static void refusal(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  assert_null(tir_parse_func(ctx, &arena, runtime_format(&arena, "%s%s", HEAD(PARAMS), r->body)));
  check_fails(ctx, TN_ERROR_PARSE, r->says);
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void heads_are_refused(void **state) {
  (void)state;
  static const char *const heads[][2] = {
      {"", "line 1, column 1: expected 'primfn'"},
      {"primfn(A)", "expected ':'"},
      {"primfn(A: Buffer(float32, [2]), A: Buffer(float32, [2]))", "'A' stands there twice"},
      {"primfn(a: float32, A: Buffer(float32, [2]))", "expected buffers before what is passed by value"},
      {"primfn(a: float32, a: float32)", "'a' stands there twice"},
      {"primfn(n: float32 in [1, 2])", "expected int32 as the type of all loops, or int64"},
      {"primfn() -> float32", "expected 'int32'"},
      {"primfn(A: Buffer(int8, [4, 4], 7)", "expected '['"},
      {"primfn(A: Buffer(int8, [4, 4], [4, 1]), C: Buffer(int8, [4])) -> int32", "expected a variable"},
      {"primfn(A: Buffer(int8, [4, 4], [s, 2]), C: Buffer(int8, [4]), s: int64 in [0, 9]) -> int32",
       "expected a stride a dimension"},
      {"primfn() -> int32 attr = {\"name\": \"f\"} {}", "expected '\"global_symbol\"'"},
  };
  for (int i = 0; i < RUNTIME_COUNT(heads); i++) {
    runtime_arena arena = {0};
    tn_context *ctx = check_context();
    assert_null(tir_parse_func(ctx, &arena, heads[i][0]));
    check_fails(ctx, TN_ERROR_PARSE, heads[i][1]);
    check_context_free(ctx);
    runtime_arena_free(&arena);
  }
}

/* OPEN, N times, in a statement. */
static void expect_too_deep(const char *before, const char *open, int n) {
  runtime_arena arena = {0};
  runtime_str text = {0};
  tn_context *ctx = check_context();
  runtime_str_addf(&text, "%s%s", HEAD(PARAMS), before);
  for (int i = 0; i < n; i++) runtime_str_add(&text, open);
  assert_null(tir_parse_func(ctx, &arena, text.data));
  check_fails(ctx, TN_ERROR_PARSE, "nested more than 1000 deep");
  check_context_free(ctx);
  runtime_str_free(&text);
  runtime_arena_free(&arena);
}

static void depth_is_limited(void **state) {
  (void)state;
  expect_too_deep("C[] = ", "(", 100000);
  expect_too_deep("P[0] = ", "!", 100000);
  expect_too_deep("", "if (True) { ", 100000);
}

/* A long sum is deep as a tree though nothing is nested in the text: the checker says so. */
static void long_sums_are_left_to_the_checker(void **state) {
  (void)state;
  runtime_arena arena = {0};
  runtime_str text = {0};
  tn_context *ctx = check_context();
  runtime_str_addf(&text, "%sC[] = C[]", HEAD(PARAMS));
  for (int i = 0; i < 5000; i++) runtime_str_add(&text, " + C[]");
  runtime_str_add(&text, "}");
  assert_null(tir_parse_func(ctx, &arena, text.data));
  check_fails(ctx, TN_ERROR_INTERNAL, "expression-depth");
  check_context_free(ctx);
  runtime_str_free(&text);
  runtime_arena_free(&arena);
}

/* However little memory there is, parsing ends in a message. */
static void memory_may_run_out(void **state) {
  (void)state;
  char text[4096];
  snprintf(text, sizeof text, "%s%s}\n", HEAD(PARAMS), bodies[RUNTIME_COUNT(bodies) - 1]);
  tir_func *f = NULL;
  for (size_t limit = 1; f == NULL; limit += 512) {
    runtime_arena arena = {.limit = limit};
    tn_context *ctx = check_context();
    f = tir_parse_func(ctx, &arena, text);
    if (f == NULL) check_fails(ctx, TN_ERROR_MEMORY, "out of memory while parsing loop IR");
    check_context_free(ctx);
    runtime_arena_free(&arena);
  }
}

int test_parse(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_parse_to_the_same_text),
      cmocka_unit_test(strides_parse_to_the_same_text),
      cmocka_unit_test(calls_on_symbolic_buffers_parse_to_the_same_text),
      cmocka_unit_test(flat_parameters_are_told_by_their_accesses),
      cmocka_unit_test(blanks_and_comments_do_not_matter),
      cmocka_unit_test(heads_are_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(long_sums_are_left_to_the_checker),
      cmocka_unit_test(memory_may_run_out),
  };
  return CHECK_TABLE("tir parse refusals", refused, refusal) + CHECK_TESTS("tir parse", tests);
}
