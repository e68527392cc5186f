/* Constants packed once: tn_prepack and the two parts of a build, against the whole kernel, and what is refused. */
#include "tests/codegen/kit.h"

typedef struct prepack_row {
  const char *name, *program, *schedule;
  int n_constants;
} prepack_row;

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
    {"two packed buffers, two outputs",
     "input X: f32[8], W: f32[9] layout_free, Z: f32[8] layout_free\nV[j<9] = sqrt(W[j]*W[j])\nU[i<8] = max(Z[i], 0)\n"
     "Y[i<8, j<9] = X[i] * V[j] + U[i]\nQ[i<8] = U[i] - V[i]",
     "parallel(Y, i)", 2},
};

enum { MAX_ARGS = 8 };

typedef struct arguments {
  int n, n_constants, n_others;
  DLTensor *all[MAX_ARGS], *constants[MAX_ARGS], *others[MAX_ARGS];
} arguments;

/* Every argument of the program, and among them those of a kernel. */
static arguments make_arguments(const tn_program *p, const tn_kernel *kernel) {
  arguments a = {.n = tn_program_arg_count(p)};
  int n_taken;
  const runtime_kernel_arg *taken = runtime_kernel_args(kernel, &n_taken);
  for (int i = 0; i < a.n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    a.all[i] = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    tn_array_fill(K.ctx, a.all[i], 1 + (uint64_t)i);
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
  arguments a = make_arguments(tn_schedule_program(s), whole);
  assert_int_equal(a.n_constants, n_constants);
  tn_kernel *packed = tn_prepack(s, NULL, a.constants, a.n_constants);
  if (packed == NULL) fail_msg("%s", tn_context_message(K.ctx));
  free_arguments(&a);
  return packed;
}

/* The second call finds what the first one found. */
static void gives_the_same(void **state) {
  const prepack_row *r = *state;
  tn_schedule *s = schedule_of(r->program, r->schedule);
  tn_kernel *whole = tn_build(s, NULL), *packed = prepacked(s, whole, r->n_constants);
  arguments expected = make_arguments(tn_schedule_program(s), whole),
            a = make_arguments(tn_schedule_program(s), packed);
  assert_int_equal(tn_call(K.ctx, whole, expected.all, expected.n), TN_OK);
  for (int round = 0; round < 2; round++) {
    int first = tn_program_input_count(tn_schedule_program(s));
    for (int i = first; i < a.n; i++) memset(a.all[i]->data, 0x7f, tn_array_bytes(a.all[i]));
    if (tn_call(K.ctx, packed, a.others, a.n_others) != TN_OK) fail_msg("%s", tn_context_message(K.ctx));
    for (int i = first; i < a.n; i++)
      assert_memory_equal(a.all[i]->data, expected.all[i]->data, tn_array_bytes(a.all[i]));
  }
  free_arguments(&expected), free_arguments(&a);
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
}

static const struct refusal {
  const char *name, *program, *schedule;
  int n;
  const char *message;
} refusals[] = {
    {"nothing is constant", "C[i<8] = A[i] * 2", "", 0, "no stage at root depends on layout_free inputs alone"},
    {"the packing is inside the kernel's loops", "input A: f32[8], W: f32[8] layout_free\nC[i<8] = A[i] * W[i]",
     "cache_read(W, global, C); compute_at(W.global, C, i)", 1, "a stage at root"},
    {"too few constants", "input A: f32[8], W: f32[8] layout_free\nV[i<8] = W[i]*2\nC[i<8] = A[i] * V[i]", "", 0,
     "0 constants, the program declares 1 inputs as layout_free"},
};

static void refuses(void **state) {
  const struct refusal *r = *state;
  tn_schedule *s = schedule_of(r->program, r->schedule);
  DLTensor *arrays[1] = {tn_array_new(K.ctx, TN_F32, 1, (int64_t[]){8})};
  assert_null(tn_prepack(s, NULL, arrays, r->n));
  check_has(tn_context_message(K.ctx), r->message);
  tn_context_clear(K.ctx);
  tn_array_free(arrays[0]);
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
  assert_string_equal(tn_program_text(tn_program_new(K.ctx, A, C)),
                      "input A: f32[4] layout_free\nC[i<4] = A[i]*2.0\n");
}

int test_prepack(void) {
  static const struct CMUnitTest others[] = {cmocka_unit_test(parts_have_headers),
                                             cmocka_unit_test(only_inputs_are_layout_free)};
  return CHECK_TABLE("prepack", rows, gives_the_same) + CHECK_TABLE("prepack refusals", refusals, refuses) +
         cmocka_run_group_tests_name("prepack parts", others, NULL, NULL);
}
