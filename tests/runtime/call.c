/* Kernels and calls: what a call passes on, and every way in which a tensor does not fit. Kernels are plain C
 * functions. */
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static int32_t add(const float *a, const float *b, float *c) {
  for (int i = 0; i < 12; ++i) c[i] = a[i] + b[i];
  return 0;
}
static int32_t without_memory(const float *a, const float *b, float *c) {
  (void)a, (void)b, (void)c;
  return 1;
}
static int32_t strange(const float *a, const float *b, float *c) {
  (void)a, (void)b, (void)c;
  return -7;
}

static const runtime_kernel_arg add_args[] = {
    {.name = "A", .dtype = TN_F32, .ndim = 2, .shape = {3, 4}, .is_output = false},
    {.name = "B", .dtype = TN_F32, .ndim = 2, .shape = {3, 4}, .is_output = false},
    {.name = "C", .dtype = TN_F32, .ndim = 2, .shape = {3, 4}, .is_output = true}};

typedef int32_t (*add_fn)(const float *, const float *, float *);
static tn_kernel *make(tn_context *ctx, add_fn fn) {
  return runtime_kernel_new(ctx, "add", (tn_kernel_fn)fn, 3, add_args, NULL, NULL);
}

/* Three tensors that fit; a test spoils one of them. */
typedef struct fixture {
  tn_context *ctx;
  tn_kernel *kernel;
  _Alignas(64) float data[3][16];
  int64_t shape[3][3], strides[3][3];
  DLTensor tensor[3];
  DLTensor *args[3];
} fixture;

static int set_up(void **state) {
  fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
  memset(f, 0, sizeof *f);
  f->ctx = check_context();
  f->kernel = make(f->ctx, add);
  for (int i = 0; i < 3; ++i) {
    memcpy(f->shape[i], (int64_t[]){3, 4, 1}, sizeof f->shape[i]);
    memcpy(f->strides[i], (int64_t[]){4, 1, 1}, sizeof f->strides[i]);
    for (int k = 0; k < 12; ++k) f->data[i][k] = (float)(i * 100 + k);
    f->tensor[i] = (DLTensor){.data = f->data[i],
                              .device = {kDLCPU, 0},
                              .ndim = 2,
                              .dtype = {kDLFloat, 32, 1},
                              .shape = f->shape[i],
                              .strides = f->strides[i]};
    f->args[i] = &f->tensor[i];
  }
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  check_context_free(f->ctx);
  free(f);
  return 0;
}

static void a_call_computes(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 3), TN_OK);
  for (int k = 0; k < 12; ++k) assert_true(f->data[2][k] == (float)(100 + 2 * k));
}

static void strides_may_be_null(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 3; ++i) f->tensor[i].strides = NULL;
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 3), TN_OK);
}

static void an_offset_is_added(void **state) {
  fixture *f = *state;
  f->tensor[0].byte_offset = 4;
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 3), TN_OK);
  assert_true(f->data[2][0] == 101);
}

static void inputs_may_share_memory(void **state) {
  fixture *f = *state;
  f->args[1] = f->args[0];
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 3), TN_OK);
  assert_true(f->data[2][5] == 10);
}

static void a_kernel_describes_itself(void **state) {
  fixture *f = *state;
  int n;
  assert_string_equal(tn_kernel_name(f->kernel), "add");
  assert_int_equal(tn_kernel_arg_count(f->kernel), 3);
  assert_ptr_equal(tn_kernel_function(f->kernel), (tn_kernel_fn)add);
  assert_string_equal(runtime_kernel_args(f->kernel, &n)[2].name, "C");
  assert_int_equal(n, 3);
  assert_null(tn_kernel_name(NULL));
  assert_null(tn_kernel_function(NULL));
  assert_int_equal(tn_kernel_arg_count(NULL), 0);
  tn_kernel_free(NULL);
}

/* ---- tensors that do not fit ------------------------------------------------------------------------------------- */

static void spoil_null(fixture *f) { f->args[0] = NULL; }
static void spoil_device(fixture *f) { f->tensor[2].device.device_type = kDLCUDA; }
static void spoil_dtype(fixture *f) { f->tensor[0].dtype.bits = 64; }
static void spoil_dtype_code(fixture *f) { f->tensor[0].dtype.code = kDLInt; }
static void spoil_lanes(fixture *f) { f->tensor[0].dtype.lanes = 4; }
static void spoil_rank(fixture *f) { f->tensor[1].ndim = 3; }
static void spoil_shape(fixture *f) { f->shape[1][0] = 4, f->shape[1][1] = 5; }
static void spoil_last_extent(fixture *f) { f->shape[2][1] = 3; }
static void spoil_shape_pointer(fixture *f) { f->tensor[1].shape = NULL; }
static void spoil_strides(fixture *f) { f->strides[1][0] = 1, f->strides[1][1] = 3; }
static void spoil_row_stride(fixture *f) { f->strides[2][0] = 5; }
static void spoil_data(fixture *f) { f->tensor[2].data = NULL; }
static void spoil_alignment(fixture *f) { f->tensor[1].byte_offset = 2; }
static void spoil_aliasing(fixture *f) { f->tensor[2].data = f->data[0]; }
static void spoil_partly(fixture *f) { f->tensor[2].data = f->data[0] + 4; }

static const struct misfit {
  const char *name;
  void (*spoil)(fixture *f);
  const char *message;
} misfits[] = {
    {"NULL", spoil_null, "tn_call add: argument 0 (A): the tensor is NULL"},
    {"device", spoil_device, "tn_call add: argument 2 (C): DLPack device type 2, the kernel runs on the CPU (1)"},
    {"dtype", spoil_dtype, "tn_call add: argument 0 (A): dtype f64, the kernel was built for f32"},
    {"dtype code", spoil_dtype_code, "tn_call add: argument 0 (A): dtype i32, the kernel was built for f32"},
    {"lanes", spoil_lanes, "tn_call add: argument 0 (A): dtype f32x4, the kernel was built for f32"},
    {"rank", spoil_rank, "tn_call add: argument 1 (B): rank 3, the kernel was built for rank 2 [3, 4]"},
    {"shape", spoil_shape, "tn_call add: argument 1 (B): shape [4, 5], the kernel was built for [3, 4]"},
    {"last extent", spoil_last_extent, "tn_call add: argument 2 (C): shape [3, 3], the kernel was built for [3, 4]"},
    {"no shape", spoil_shape_pointer,
     "tn_call add: argument 1 (B): its shape is NULL, the kernel was built for [3, 4]"},
    {"strides", spoil_strides,
     "tn_call add: argument 1 (B): strides [1, 3], the kernel needs compact row-major strides "
     "[4, 1]: copy the tensor first"},
    {"row stride", spoil_row_stride,
     "argument 2 (C): strides [5, 1], the kernel needs compact row-major strides [4, 1]"},
    {"no data", spoil_data, "tn_call add: argument 2 (C): its data pointer is NULL, 48 bytes are needed"},
    {"alignment", spoil_alignment,
     "tn_call add: argument 1 (B): its data is 2 bytes past a multiple of 4, the kernel "
     "needs f32 values aligned to 4 bytes"},
    {"aliasing", spoil_aliasing, "tn_call add: argument 2 (C): its memory overlaps argument 0 (A)"},
    {"partial aliasing", spoil_partly, "argument 2 (C): its memory overlaps argument 0 (A); an output shares memory"},
};

static void a_tensor_that_does_not_fit(void **state) {
  const struct misfit *row = *state;
  void *at;
  set_up(&at);
  fixture *f = at;
  row->spoil(f);
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 3), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, row->message);
  assert_true(f->data[2][1] == 201); /* the kernel did not run */
  tear_down(&at);
}

static void too_few_arguments(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 1), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "tn_call add: 1 argument, the kernel takes 3 (A, B, C)");
}

static void too_many_arguments(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, f->kernel, f->args, 4), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "tn_call add: 4 arguments, the kernel takes 3 (A, B, C)");
}

static void null_arguments(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, f->kernel, NULL, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_call add: the list of arguments is NULL");
  assert_int_equal(tn_call(f->ctx, NULL, f->args, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_call: the kernel is NULL");
  assert_int_equal(tn_call(NULL, NULL, f->args, 3), TN_ERROR_ARGUMENT);
}

static void a_kernel_without_memory(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, make(f->ctx, without_memory), f->args, 3), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "tn_call add: the kernel returned 1: there was no memory for its scratch buffers");
}

static void a_kernel_with_a_strange_result(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_call(f->ctx, make(f->ctx, strange), f->args, 3), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "the kernel returned -7");
}

/* ---- ranks, extents of one, ownership ---------------------------------------------------------------------------- */

static int32_t set_one(double *out) { return *out = 42, 0; }

static void rank_zero_and_no_shape(void **state) {
  fixture *f = *state;
  runtime_kernel_arg arg = {.name = "s", .dtype = TN_F64, .ndim = 0, .shape = {0}, .is_output = true};
  tn_kernel *kernel = runtime_kernel_new(f->ctx, "one", (tn_kernel_fn)set_one, 1, &arg, NULL, NULL);
  double number = 0;
  DLTensor t = {.data = &number, .device = {kDLCPU, 0}, .dtype = {kDLFloat, 64, 1}};
  assert_int_equal(tn_call(f->ctx, kernel, (DLTensor *[]){&t}, 1), TN_OK);
  assert_true(number == 42);
}

static void strides_of_extent_one_do_not_matter(void **state) {
  fixture *f = *state;
  runtime_kernel_arg arg = {.name = "s", .dtype = TN_F64, .ndim = 2, .shape = {1, 1}, .is_output = true};
  tn_kernel *kernel = runtime_kernel_new(f->ctx, "one", (tn_kernel_fn)set_one, 1, &arg, NULL, NULL);
  double number = 0;
  DLTensor t = {.data = &number,
                .device = {kDLCPU, 0},
                .ndim = 2,
                .dtype = {kDLFloat, 64, 1},
                .shape = (int64_t[]){1, 1},
                .strides = (int64_t[]){77, -3}};
  assert_int_equal(tn_call(f->ctx, kernel, (DLTensor *[]){&t}, 1), TN_OK);
}

/* ---- how many words a call passes -------------------------------------------------------------------------------- */

enum { MOST_WORDS = 10 };

/* Each parameter has its own weight, so that none can stand for another. */
static int32_t weigh(int n, const int32_t *const *words) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 3 + *words[i];
  return sum;
}

#define P const int32_t *
static int32_t take1(P a) { return weigh(1, (P[]){a}); }
static int32_t take2(P a, P b) { return weigh(2, (P[]){a, b}); }
static int32_t take3(P a, P b, P c) { return weigh(3, (P[]){a, b, c}); }
static int32_t take4(P a, P b, P c, P d) { return weigh(4, (P[]){a, b, c, d}); }
static int32_t take5(P a, P b, P c, P d, P e) { return weigh(5, (P[]){a, b, c, d, e}); }
static int32_t take6(P a, P b, P c, P d, P e, P f) { return weigh(6, (P[]){a, b, c, d, e, f}); }
static int32_t take7(P a, P b, P c, P d, P e, P f, P g) { return weigh(7, (P[]){a, b, c, d, e, f, g}); }
static int32_t take8(P a, P b, P c, P d, P e, P f, P g, P h) { return weigh(8, (P[]){a, b, c, d, e, f, g, h}); }
static int32_t take9(P a, P b, P c, P d, P e, P f, P g, P h, P i) { return weigh(9, (P[]){a, b, c, d, e, f, g, h, i}); }
static int32_t take10(P a, P b, P c, P d, P e, P f, P g, P h, P i, P j) {
  return weigh(10, (P[]){a, b, c, d, e, f, g, h, i, j});
}
#undef P

/* Few are passed as they are, many by libffi. The results are no statuses, so the message says them. */
static void every_word_arrives(void **state) {
  fixture *f = *state;
  static const tn_kernel_fn takers[] = {
      (tn_kernel_fn)take1, (tn_kernel_fn)take2, (tn_kernel_fn)take3, (tn_kernel_fn)take4, (tn_kernel_fn)take5,
      (tn_kernel_fn)take6, (tn_kernel_fn)take7, (tn_kernel_fn)take8, (tn_kernel_fn)take9, (tn_kernel_fn)take10};
  runtime_kernel_arg args[MOST_WORDS];
  DLTensor *given[MOST_WORDS];
  int32_t want = 0;
  for (int n = 1; n <= MOST_WORDS; ++n) {
    char says[64];
    args[n - 1] = (runtime_kernel_arg){.name = "x", .dtype = TN_I32, .ndim = 0, .is_output = true};
    given[n - 1] = tn_array_new(f->ctx, TN_I32, 0, NULL);
    *(int32_t *)given[n - 1]->data = n;
    want = want * 3 + n;
    tn_kernel *kernel = runtime_kernel_new(f->ctx, "words", takers[n - 1], n, args, NULL, NULL);
    assert_int_equal(tn_call(f->ctx, kernel, given, n), TN_ERROR_CALL);
    snprintf(says, sizeof says, "returned %d:", want);
    assert_non_null(strstr(tn_context_message(f->ctx), says));
    tn_context_clear(f->ctx);
  }
  for (int n = 0; n < MOST_WORDS; ++n) tn_array_free(given[n]);
}

static void count_release(void *owner) { ++*(int *)owner; }

static void a_context_frees_its_kernels(void **state) {
  (void)state;
  int released = 0;
  tn_context *ctx = tn_context_new(NULL);
  tn_kernel *kernels[3];
  for (int i = 0; i < 3; ++i)
    kernels[i] = runtime_kernel_new(ctx, "k", (tn_kernel_fn)add, 3, add_args, count_release, &released);
  tn_kernel_free(kernels[1]);
  assert_int_equal(released, 1);
  tn_kernel_free(kernels[2]);
  assert_int_equal(released, 2);
  tn_context_free(ctx);
  assert_int_equal(released, 3);
}

static void a_kernel_copies_its_description(void **state) {
  fixture *f = *state;
  char name[] = "temporary", arg_name[] = "T";
  runtime_kernel_arg arg = {.name = arg_name, .dtype = TN_F64, .ndim = 0, .shape = {0}, .is_output = true};
  tn_kernel *kernel = runtime_kernel_new(f->ctx, name, (tn_kernel_fn)set_one, 1, &arg, NULL, NULL);
  name[0] = arg_name[0] = '!';
  int n;
  assert_string_equal(tn_kernel_name(kernel), "temporary");
  assert_string_equal(runtime_kernel_args(kernel, &n)[0].name, "T");
}

static const struct bad_kernel {
  const char *name;
  const char *kernel_name;
  bool has_function;
  int n_args;
  runtime_kernel_arg arg;
  const char *message;
} bad_kernels[] = {
    {"no name",
     NULL,
     true,
     1,
     {.name = "A", .dtype = TN_F32, .ndim = 0, .shape = {0}, .is_output = true},
     "a kernel needs a name and a function"},
    {"no function",
     "k",
     false,
     1,
     {.name = "A", .dtype = TN_F32, .ndim = 0, .shape = {0}, .is_output = true},
     "a kernel needs a name and a function"},
    {"513 arguments",
     "k",
     true,
     513,
     {.name = "A", .dtype = TN_F32, .ndim = 0, .shape = {0}, .is_output = true},
     "513 arguments, the most is 512"},
    {"455 strides",
     "k",
     true,
     65,
     {.name = "A", .dtype = TN_F32, .ndim = 8, .shape = {1, 1, 1, 1, 1, 1, 1, 1}, .is_strided = true},
     "455 strides of strided arguments, the most is 448"},
    {"an argument without a name",
     "k",
     true,
     1,
     {.dtype = TN_F32, .is_output = true},
     "kernel k: argument 0 needs a name"},
    {"an argument of no dtype",
     "k",
     true,
     1,
     {.name = "A", .dtype = TN_DTYPE_COUNT, .ndim = 0, .shape = {0}, .is_output = true},
     "kernel k: argument 0 needs"},
    {"an argument of rank 9",
     "k",
     true,
     1,
     {.name = "A", .dtype = TN_F32, .ndim = 9, .shape = {0}, .is_output = true},
     "a rank from 0 to 8"},
    {"a negative extent",
     "k",
     true,
     1,
     {.name = "A", .dtype = TN_F32, .ndim = 1, .shape = {-1}, .is_output = true},
     "extents that are not negative"},
};
static void a_description_that_is_refused(void **state) {
  const struct bad_kernel *row = *state;
  tn_context *ctx = check_context();
  tn_kernel_fn fn = row->has_function ? (tn_kernel_fn)set_one : NULL;
  runtime_kernel_arg *args = calloc((size_t)row->n_args, sizeof *args);
  assert_non_null(args);
  for (int i = 0; i < row->n_args; i++) args[i] = row->arg;
  assert_null(runtime_kernel_new(ctx, row->kernel_name, fn, row->n_args, args, NULL, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, row->message);
  free(args);
  check_context_free(ctx);
}

int test_call(void) {
#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_call_computes),
      WITH_FIXTURE(strides_may_be_null),
      WITH_FIXTURE(an_offset_is_added),
      WITH_FIXTURE(inputs_may_share_memory),
      WITH_FIXTURE(a_kernel_describes_itself),
      WITH_FIXTURE(too_few_arguments),
      WITH_FIXTURE(too_many_arguments),
      WITH_FIXTURE(null_arguments),
      WITH_FIXTURE(a_kernel_without_memory),
      WITH_FIXTURE(a_kernel_with_a_strange_result),
      WITH_FIXTURE(rank_zero_and_no_shape),
      WITH_FIXTURE(strides_of_extent_one_do_not_matter),
      WITH_FIXTURE(every_word_arrives),
      WITH_FIXTURE(a_kernel_copies_its_description),
      cmocka_unit_test(a_context_frees_its_kernels),
  };
  return CHECK_TESTS("calls", tests) + CHECK_TABLE("tensors that do not fit", misfits, a_tensor_that_does_not_fit) +
         CHECK_TABLE("kernels that are refused", bad_kernels, a_description_that_is_refused);
}
