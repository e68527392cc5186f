/* Constants packed once: tn_prepack and the two parts of a build, against the whole kernel, and what is refused. */
#include <math.h>

#include "schedule/tile.h"
#include "tests/codegen/kit.h"

typedef struct prepack_row {
  const char *name, *program, *schedule;
  int n_constants;
} prepack_row;

/* Letters that a name begins with, as many as fit beside one more. */
#define TWENTY "abcdefghijabcdefghij"
#define LONG TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY "abcdef"

static const prepack_row rows[] = {
    {"panels of B", "input A: f32[20,30], B: f32[30,40] layout_free\nC[i<20, j<40] = sum[k<30](A[i,k] * B[k,j])",
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k, j%16])", 1},
    {"panels of B, padded",
     "input A: f32[20,30], B: f32[30,40] layout_free\nC[i<20, j<40] = sum[k<30](A[i,k] * B[k,j])",
     "cache_read(B, global, C); split(B.global, ax1, 16, tail=pad); parallel(C, i)", 1},
    {"a stage of the program",
     "input X: f32[8,9], W: f32[9] layout_free\nV[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j]", "", 1},
    {"a chain of which only the end is read outside",
     "input X: f32[8,9], W: f32[9] layout_free\nU[j<9] = W[j] + 1\nV[j<9] = U[j] * U[8-j]\nY[i<8, j<9] = X[i,j] * V[j]",
     "", 1},
    {"a stage inside a packed one",
     "input X: f32[8,9], W: f32[9] layout_free\nU[j<9] = W[j] + 1\nV[j<9] = U[j] * U[8-j]\nY[i<8, j<9] = X[i,j] * V[j]",
     "compute_at(U, V, j)", 1},
    {"two constants, one read as it is",
     "input W: f32[9] layout_free, X: f32[8,9], B: f32[9] layout_free; scalar s: f32\n"
     "V[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j] + B[j]*s",
     "vectorize(Y, j)", 2},
    {"two packed buffers whose names differ at their ends",
     "input X: f32[8], W: f32[9] layout_free, Z: f32[8] layout_free\n" LONG "V[j<9] = sqrt(W[j]*W[j])\n" LONG
     "U[i<8] = max(Z[i], 0)\nY[i<8, j<9] = X[i] * " LONG "V[j] + " LONG "U[i]",
     "", 2},
    {"two packed buffers, two outputs",
     "input X: f32[8], W: f32[9] layout_free, Z: f32[8] layout_free\nV[j<9] = sqrt(W[j]*W[j])\nU[i<8] = max(Z[i], 0)\n"
     "Y[i<8, j<9] = X[i] * V[j] + U[i]\nQ[i<8] = U[i] - V[i]",
     "parallel(Y, i)", 2},
    {"panels for a symbolic number of rows",
     "symbol M; input A: f32[M,30], B: f32[30,40] layout_free\nC[i<M, j<40] = sum[k<30](A[i,k] * B[k,j])",
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k, j%16]); split(C, i, 4, tail=peel); "
     "parallel(C, i.outer)",
     1},
    {"panels of bytes for a symbolic number of rows",
     "symbol M; input A: u8[M,32], B: i8[32,48] layout_free; scalar z: i32\n"
     "C[i<M, j<48] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))\nD[i<M, j<48] = max(C[i,j] + z, 0)",
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k//4, j%16, k%4]); split(C, j, 16); "
     "split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); tensorize(C, j.inner, dot4_u8i8); "
     "compute_at(C, D, i); parallel(D, i)",
     1},
    {"two symbols, one of them in the shape of the constant",
     "symbol M, N<=64; input W: f32[4,N] layout_free, A: f32[M,8], U: f32[8] layout_free\n"
     "V[k<8] = exp(U[k])\nC[i<M, j<N] = sum[k<8](A[i,k] * V[k] + W[1,j])",
     "", 2},
    {"strides of constants and of others",
     "symbol M; input A: f32[M,30] strided, B: f32[30,40] layout_free strided\n"
     "C[i<M, j<40] = sum[k<30](A[i,k] * B[k,j])\noutput C strided",
     "cache_read(B, global, C); vectorize(C, j, 8)", 1},
};

enum { MAX_ARGS = 8 };

typedef struct arguments {
  int n, n_constants, n_others;
  DLTensor *all[MAX_ARGS], *constants[MAX_ARGS], *others[MAX_ARGS];
  size_t bytes[MAX_ARGS]; /* of all, with what is between rows */
} arguments;

/* What symbols decide is SYMBOL; rows of what is strided are longer. */
static DLTensor *make_argument(const tn_program *p, const tn_tensor *t, int64_t symbol, uint64_t seed, size_t *bytes) {
  int64_t shape[TN_MAX_RANK], symbols[RUNTIME_MAX_SYMBOLS];
  for (int k = 0; k < RUNTIME_MAX_SYMBOLS; k++) symbols[k] = symbol;
  for (int d = 0; d < t->ndim; d++) shape[d] = t->size[d] ? te_size_value(p, t->size[d], symbols) : t->shape[d];
  if (t->is_strided) shape[t->ndim - 1] += 3;
  DLTensor *array = tn_array_new(K.ctx, t->dtype, t->ndim, shape);
  *bytes = tn_array_bytes(array);
  tn_array_fill(K.ctx, array, seed);
  if (t->is_strided) array->shape[t->ndim - 1] -= 3;
  return array;
}

/* Every argument of the program, and among them those of a kernel. */
static arguments make_arguments(const tn_program *p, const tn_kernel *kernel, int64_t symbol) {
  arguments a = {.n = tn_program_arg_count(p)};
  int n_taken;
  const runtime_kernel_arg *taken = runtime_kernel_args(kernel, &n_taken);
  for (int i = 0; i < a.n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    a.all[i] = make_argument(p, t, symbol, 1 + (uint64_t)i, &a.bytes[i]);
    if (t->is_layout_free) a.constants[a.n_constants++] = a.all[i];
  }
  for (int k = 0; k < n_taken; k++)
    for (int i = 0; i < a.n; i++)
      if (strcmp(taken[k].name, tn_tensor_name(tn_program_arg(p, i))) == 0) a.others[a.n_others++] = a.all[i];
  return a;
}

static void free_arguments(arguments *a) {
  for (int i = 0; i < a->n; i++) tn_array_free(a->all[i]);
}

static tn_schedule *schedule_of(const char *program, const char *schedule) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  if (s == NULL || tn_schedule_apply(s, schedule) != TN_OK) fail_msg("%s", tn_context_message(K.ctx));
  return s;
}

/* Packs, with arrays that are gone before the first call. */
static tn_kernel *prepacked(const tn_schedule *s, const tn_kernel *whole, int n_constants) {
  arguments a = make_arguments(tn_schedule_program(s), whole, 5);
  assert_int_equal(a.n_constants, n_constants);
  tn_kernel *packed = tn_prepack(s, NULL, a.constants, a.n_constants);
  if (packed == NULL) fail_msg("%s", tn_context_message(K.ctx));
  free_arguments(&a);
  return packed;
}

/* The second call finds what the first one found. */
static void call_both(const tn_program *p, const tn_kernel *whole, const tn_kernel *packed, int64_t symbol) {
  arguments expected = make_arguments(p, whole, symbol), a = make_arguments(p, packed, symbol);
  int first = tn_program_input_count(p);
  for (int i = first; i < a.n; i++) memset(expected.all[i]->data, 0x7f, a.bytes[i]);
  assert_int_equal(tn_call(K.ctx, whole, expected.all, expected.n), TN_OK);
  for (int round = 0; round < 2; round++) {
    for (int i = first; i < a.n; i++) memset(a.all[i]->data, 0x7f, a.bytes[i]);
    if (tn_call(K.ctx, packed, a.others, a.n_others) != TN_OK) fail_msg("%s", tn_context_message(K.ctx));
    for (int i = first; i < a.n; i++) assert_memory_equal(a.all[i]->data, expected.all[i]->data, a.bytes[i]);
  }
  free_arguments(&expected), free_arguments(&a);
}

/* One symbol has the value that its constant had when it was packed; another has any. */
static void gives_the_same(void **state) {
  const prepack_row *r = *state;
  tn_schedule *s = schedule_of(r->program, r->schedule);
  const tn_program *p = tn_schedule_program(s);
  tn_kernel *whole = tn_build(s, NULL), *packed = prepacked(s, whole, r->n_constants);
  for (int64_t symbol = 1; symbol <= (tn_program_symbol_count(p) ? 40 : 1); symbol++)
    call_both(p, whole, packed, symbol);
  tn_kernel_free(packed), tn_kernel_free(whole);
  tn_schedule_free(s);
}

static void parts_have_headers(void **state) {
  (void)state;
  tn_schedule *s = schedule_of(rows[0].program, rows[0].schedule);
  char *prepack = tn_build_text(s, &(tn_build_options){.name = "mm_prepack", .part = TN_BUILD_PREPACK}, ".h");
  char *packed = tn_build_text(s, &(tn_build_options){.name = "mm", .part = TN_BUILD_PACKED}, ".h");
  check_has(prepack, "int32_t mm_prepack(const float *B, float *B_global);");
  check_has(prepack, "B_global  out  f32[3, 30, 16]");
  check_has(packed, "int32_t mm(const float *B_global, const float *A, float *C);");
  free(prepack), free(packed);
  tn_schedule_free(s);
  s = schedule_of(
      "symbol M; input A: f32[M,30] strided, B: f32[30,40] layout_free strided; scalar s: f32\n"
      "C[i<M, j<40] = sum[k<30](A[i,k] * B[k,j] * s)\noutput C strided",
      "cache_read(B, global, C)");
  prepack = tn_build_text(s, &(tn_build_options){.part = TN_BUILD_PREPACK}, ".h");
  packed = tn_build_text(s, &(tn_build_options){.part = TN_BUILD_PACKED}, ".h");
  check_has(prepack, "int32_t kernel(const float *B, float *B_global, int64_t B_stride0);");
  check_has(packed,
            "int32_t kernel(const float *B_global, const float *A, float *C, float s, int64_t M, int64_t A_stride0, "
            "int64_t C_stride0);");
  free(prepack), free(packed);
  tn_schedule_free(s);
}

/* As the tuner's workers have it: both functions take the whole kernel's arguments, and what is packed is the object's. */
static tn_kernel *kept(const tn_schedule *s, const tn_kernel *whole) {
  runtime_arena arena = {0};
  codegen_bytes object;
  int n;
  const tn_target *native = tn_target_new(K.ctx, NULL);
  const runtime_kernel_arg *args = runtime_kernel_args(whole, &n);
  tir_pass_options options = codegen_pass_options(native);
  const tir_func *runs = schedule_lower_kept(s, "kernel", &arena, &options, SCHEDULE_PACKED);
  const tir_func *packs = schedule_lower_kept(s, "packs", &arena, &options, SCHEDULE_PREPACK);
  assert_int_equal(codegen_object_of_two(K.ctx, runs, packs, native, &object), TN_OK);
  tn_kernel *kernel = codegen_load(K.ctx, object.data, object.n, "kernel", n, args);
  free(object.data);
  runtime_arena_free(&arena);
  if (kernel == NULL) fail_msg("%s", tn_context_message(K.ctx));
  return kernel;
}

/* Without packing the kernel finds zeros; after it, whatever the constants are then, what they were. */
static void an_object_keeps_what_was_packed(void **state) {
  const prepack_row *r = *state;
  tn_schedule *s = schedule_of(r->program, r->schedule);
  const tn_program *p = tn_schedule_program(s);
  tn_kernel *whole = tn_build(s, NULL);
  if (tn_program_symbol_count(p) == 0) {
    assert_true(schedule_has_parts(s));
    tn_kernel *kernel = kept(s, whole), *packs = codegen_load_other(K.ctx, kernel, "packs");
    arguments a = make_arguments(p, whole, 5), expected = make_arguments(p, whole, 5);
    int first = tn_program_input_count(p);
    assert_int_equal(tn_call(K.ctx, packs, a.all, a.n), TN_OK);
    assert_int_equal(tn_call(K.ctx, whole, expected.all, expected.n), TN_OK);
    for (int round = 0; round < 2; round++) {
      assert_int_equal(tn_call(K.ctx, kernel, a.all, a.n), TN_OK);
      for (int i = first; i < a.n; i++) assert_memory_equal(a.all[i]->data, expected.all[i]->data, a.bytes[i]);
    }
    free_arguments(&a), free_arguments(&expected);
    tn_kernel_free(packs), tn_kernel_free(kernel);
  }
  tn_kernel_free(whole);
  tn_schedule_free(s);
}

/* No message: who asks wants to know. */
static void other_functions_need_not_be_there(void **state) {
  (void)state;
  tn_schedule *s = schedule_of("Y[i<8] = X[i] + 1", "");
  tn_kernel *whole = tn_build(s, NULL);
  assert_false(schedule_has_parts(s));
  assert_null(codegen_load_other(K.ctx, whole, "packs"));
  assert_int_equal(tn_context_status(K.ctx), TN_OK);
  tn_kernel_free(whole);
  tn_schedule_free(s);
}

/* Schedules without a stage to pack. */
static void only_stages_at_root_make_parts(void **state) {
  (void)state;
  static const char *const without[][2] = {
      {"input X: f32[8,9], W: f32[9] layout_free\nY[i<8, j<9] = X[i,j] * W[j]", ""},
      {"input X: f32[8,9], W: f32[9] layout_free\nV[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j]",
       "compute_inline(V)"},
      {"input X: f32[8,9], W: f32[9] layout_free\nV[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j]",
       "compute_at(V, Y, i)"},
      {"input W: f32[9] layout_free\nV[j<9] = exp(W[j])", ""},
      {"input X: f32[8,9]\nV[i<8, j<9] = exp(X[i,j])\nY[i<8, j<9] = X[i,j] * V[i,j]", ""}};
  for (int i = 0; i < RUNTIME_COUNT(without); i++) {
    tn_schedule *s = schedule_of(without[i][0], without[i][1]);
    assert_false(schedule_has_parts(s));
    tn_schedule_free(s);
  }
}

/* What the best plan of a product costs when it packs B before all. */
static double cost_of_packing(const char *program) {
  const tn_machine machine = tn_target_machine(NULL);
  schedule_plans *plans = schedule_plans_new(tn_program_parse(K.ctx, program, 0, NULL), &machine);
  schedule_plan best;
  assert_int_equal(schedule_plans_count(plans), 1);
  schedule_plans_best(plans, &best);
  best.value[TILE_PACK] = 2, best.value[TILE_PREFETCH] = 0,
  best.value[TILE_DEPTH] = 0; /* a plan that fits on any machine */
  double ns = schedule_plans_cost(plans, &best);
  schedule_plans_free(plans);
  return ns;
}

/* Packing before all costs nothing where the operand is a constant. */
static void plans_pack_constants(void **state) {
  (void)state;
  double plain =
      cost_of_packing("input A: f32[128,768], B: f32[768,3072]\nC[i<128, j<3072] = sum[k<768](A[i,k] * B[k,j])");
  double constant = cost_of_packing(
      "input A: f32[128,768], B: f32[768,3072] layout_free\nC[i<128, j<3072] = sum[k<768](A[i,k] * B[k,j])");
  assert_true(isfinite(plain) && constant < 0.95 * plain);
}

/* Intrinsics are for both parts. */
static void packed_parts_have_intrinsics(void **state) {
  (void)state;
  tn_schedule *s = schedule_of(
      "symbol M; input A: u8[M,32], B: i8[32,32] layout_free\nC[i<M, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
      "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k//4, j%16, k%4]); split(C, j, 16); "
      "split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); tensorize(C, j.inner, dot4_u8i8)");
  tn_target *vnni = tn_target_new(K.ctx, "triple=x86_64-linux-gnu cpu=znver4");
  char *packed = tn_build_text(s, &(tn_build_options){.part = TN_BUILD_PACKED, .target = vnni}, ".s");
  check_has(packed, "vpdpbusd");
  free(packed);
  tn_schedule_free(s);
}

static const struct refusal {
  const char *name, *program, *schedule;
  int n;
  const char *message;
} refusals[] = {
    {"nothing is constant", "C[i<8] = A[i] * 2", "", 0, "no stage at root depends on layout_free inputs alone"},
    {"the packing is inside the kernel's loops", "input A: f32[8], W: f32[8] layout_free\nC[i<8] = A[i] * W[i]",
     "cache_read(W, global, C); compute_at(W.global, C, i)", 1, "a stage at root"},
    {"a constant of a size that symbols decide",
     "symbol N; input A: f32[8], W: f32[8,N] layout_free\nC[i<8, j<N] = A[i] * W[i,j]", "cache_read(W, global, C)", 1,
     "stage W.global depends on layout_free inputs alone, so it is to be packed, but symbol N, which has another value "
     "in "
     "each call, has a part in it: give N a value, leave layout_free out at what W.global reads, or build the whole "
     "kernel"},
    {"a constant with a symbol's value in it",
     "symbol M; input A: f32[M], W: f32[8] layout_free\nV[k<8] = W[k] * f32(M)\nC[i<M] = sum[k<8](A[i] * V[k])", "", 1,
     "stage V depends on layout_free inputs alone, so it is to be packed, but symbol M"},
    {"rows whose length a symbol decides",
     "symbol N; input A: f32[N], W: f32[8,N] layout_free\nV[k<8] = W[k,0] * 2\nC[i<N] = sum[k<8](A[i] * V[k])", "", 1,
     "stage V depends on layout_free inputs alone, so it is to be packed, but symbol N"},
    {"a place that a symbol decides",
     "symbol 8<=M<=40; input A: f32[M], W: f32[40] layout_free\nV[k<40] = W[k] * 2\nC[i<8] = V[M - 8 + i] + A[i]", "",
     1, "stage V depends on layout_free inputs alone, so it is to be packed, but symbol M"},
    {"too few constants", "input A: f32[8], W: f32[8] layout_free\nV[i<8] = W[i]*2\nC[i<8] = A[i] * V[i]", "", 0,
     "0 constants, the program declares 1 inputs as layout_free"},
};

static void refuses(void **state) {
  const struct refusal *r = *state;
  tn_schedule *s = schedule_of(r->program, r->schedule);
  DLTensor *array = tn_array_new(K.ctx, TN_F32, 1, (int64_t[]){8});
  assert_null(tn_prepack(s, NULL, (DLTensor *[]){array, array}, r->n));
  check_has(tn_context_message(K.ctx), r->message);
  tn_context_clear(K.ctx);
  tn_array_free(array);
  tn_schedule_free(s);
}

/* A part counts for the stages that it has; those of the other part have no figures. */
static void parts_tell_their_own_times(void **state) {
  (void)state;
  tn_schedule *s =
      schedule_of("input X: f32[8,9], W: f32[9] layout_free\nV[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j]", "");
  for (tn_build_part part = TN_BUILD_PREPACK; part <= TN_BUILD_PACKED; part++) {
    tn_kernel *kernel = tn_build(s, &(tn_build_options){.sample = true, .part = part});
    if (kernel == NULL) fail_msg("%s", tn_context_message(K.ctx));
    int n;
    const runtime_kernel_arg *wanted = runtime_kernel_args(kernel, &n);
    DLTensor *args[3];
    for (int i = 0; i < n; i++) args[i] = tn_array_new(K.ctx, wanted[i].dtype, wanted[i].ndim, wanted[i].shape);
    for (int i = 0; i < 5; i++) assert_int_equal(tn_call(K.ctx, kernel, args, n), TN_OK);
    tn_kernel_stage stages[3];
    assert_int_equal(tn_kernel_stages(kernel, 3, stages), 3);
    int told = part == TN_BUILD_PREPACK ? 0 : 1;
    assert_string_equal(stages[told].name, told == 0 ? "V" : "Y");
    assert_int_equal(stages[told].visits, 5);
    assert_true(stages[told].seconds > 0 && stages[told].seconds < 1);
    assert_int_equal(stages[1 - told].visits, 0);
    assert_true(stages[1 - told].seconds == 0);
    for (int i = 0; i < n; i++) tn_array_free(args[i]);
    tn_kernel_free(kernel);
  }
  tn_schedule_free(s);
}

/* LLVM makes the number 0 of a counter that a processor has not. */
static void stages_read_a_clock_that_runs(void **state) {
  (void)state;
  static const char *const clocks[][2] = {{"triple=x86_64-linux-gnu", "rdtsc"},
                                          {"triple=aarch64-linux-gnu", "CNTVCT_EL0"},
                                          {"triple=riscv64-linux-gnu", "rdtime"}};
  tn_schedule *s = schedule_of("input A: f32[8]\nB[i<8] = A[i] + 1", "");
  for (int i = 0; i < RUNTIME_COUNT(clocks); i++) {
    tn_target *target = tn_target_new(K.ctx, clocks[i][0]);
    char *text = tn_build_text(s, &(tn_build_options){.target = target, .sample = true}, ".s");
    if (text == NULL) fail_msg("%s", tn_context_message(K.ctx));
    check_has(text, clocks[i][1]);
    free(text);
  }
  tn_schedule_free(s);
}

static void only_inputs_are_layout_free(void **state) {
  (void)state;
  tn_axis *i = tn_axis_new(K.ctx, "i", 4);
  tn_tensor *A = tn_placeholder(K.ctx, "A", TN_F32, 4), *C = tn_compute(K.ctx, "C", tn_mul(tn_at(A, i), 2), i);
  assert_ptr_equal(tn_layout_free(A), A);
  assert_null(tn_layout_free(C));
  check_has(tn_context_message(K.ctx), "'C' is computed");
  tn_context_clear(K.ctx);
  assert_string_equal(tn_program_text(tn_program_new(K.ctx, A, C)), "input A: f32[4] layout_free\nC[i<4] = A[i]*2.0\n");
}

int test_prepack(void) {
  static const struct CMUnitTest others[] = {cmocka_unit_test(parts_have_headers),
                                             cmocka_unit_test(packed_parts_have_intrinsics),
                                             cmocka_unit_test(parts_tell_their_own_times),
                                             cmocka_unit_test(stages_read_a_clock_that_runs),
                                             cmocka_unit_test(only_inputs_are_layout_free),
                                             cmocka_unit_test(other_functions_need_not_be_there),
                                             cmocka_unit_test(only_stages_at_root_make_parts),
                                             cmocka_unit_test(plans_pack_constants)};
  return CHECK_TABLE("prepack kept", rows, an_object_keeps_what_was_packed) +
         CHECK_TABLE("prepack", rows, gives_the_same) + CHECK_TABLE("prepack refusals", refusals, refuses) +
         cmocka_run_group_tests_name("prepack parts", others, NULL, NULL);
}
