/* programs.c: the targets program, schedule, steps and loop_ir. */
#include "codegen/codegen.h"
#include "schedule/steps.h"
#include "tests/inputs/inputs.h"
#include "tir/passes.h"

static const char *const programs[] = {
    "C[i<6, j<5] = sum[k<7](A[i,k] * B[k,j])\ninput\n",
    "input A: i32[6,7], B: i32[7,5]\nC[i<6, j<5] = sum[k<7](A[i,k] * B[k,j])",
    "input A: i32[9]; P[i<9] = A[i] * 3; Q[i<9] = P[i] + P[8-i]; R[i<9] = Q[i] - P[i]",
    "param N = 8, D = 5\ninput X: i32[N,D]\nM[i<N] = max[k<D](X[i,k])\nY[i<N, j<D] = select(X[i,j] > 0, X[i,j] - M[i], "
    "0)",
    "input I: i32[5,6]\nP[h<7, w<8] = select(h >= 1 && h < 6 && w >= 1 && w < 7, I[h-1, w-1], 0)\n"
    "O[h<5, w<6] = sum[r<3, s<3](P[h+r, w+s])",
    "symbol M<=40\ninput A: f32[M]\nS = sum[k<M](A[k])\nE[i<M] = exp(A[i]) / S",
    "input X: i32[6,4]\nstate S: i32[6,4]\nscan S[t<6, i<4] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])",
    "input A: i32[12]\n(V, W)[i<3] = argmax[k<4](A[i*4+k])",
    "combiner c(a: f32, b: f32; x, y) = (a + x, b * y), identity (0, 1)\n(U, V)[i<3] = c[k<5](A[i,k], B[k])",
    "extern y: f32[4] = f(A, x)\ninput A: f32[4,4]",
    "param N = 4\ninput A: f32[4]\nextern (y: f32[N], z: i32) = f(N, -1.5, z, i64(7), A, y)",
    "intrin g { input a: f32[8,4]; c[m<8] = sum[l<4](a[m,l]) } update u, reset r, body b, align c 32, strides a [*, "
    "1]\n"
    "schedule { split(C, i, 8) # }\n }\nC[i<16] = sum[k<4](A[i,k])\ninclude \"x.te\"",
    "scalar a: f32\ninput X: f32[10] strided\nY[i<10] = a * X[i] + f32(i32(X[9 - i]) // 3 % 2)\noutput Y strided",
};

void inputs_seed_program(inputs_corpus *corpus) {
  for (int i = 0; i < RUNTIME_COUNT(programs); i++) inputs_add_text(corpus, programs[i]);
}

/* What is formatted stays as it is when it is formatted again. */
static void format_twice(const char *text) {
  tn_context *ctx = tn_context_new(NULL);
  char *once = tn_format(ctx, text), *twice = once ? tn_format(ctx, once) : NULL;
  if (!once && tn_context_status(ctx) != TN_ERROR_PARSE) inputs_broken("not formatted: %s", tn_context_message(ctx));
  if (once && (!twice || strcmp(once, twice) != 0))
    inputs_broken("formatted twice:\n%s\n%s", once, twice ? twice : tn_context_message(ctx));
  free(once);
  free(twice);
  tn_context_free(ctx);
}

/* What a program prints is a program that prints the same. */
void inputs_one_program(const uint8_t *data, size_t n) {
  char *text = inputs_text(data, n);
  format_twice(text);
  tn_context *ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  const char *printed = tn_program_text(program);
  if (!program && tn_context_status(ctx) == TN_OK) inputs_broken("refused without a message");
  tn_program *again = printed ? tn_program_parse(ctx, printed, 0, NULL) : NULL;
  if (printed && !again) inputs_broken("printed text is refused: %s\n%s", tn_context_message(ctx), printed);
  if (again && strcmp(tn_program_text(again), printed) != 0)
    inputs_broken("printed twice:\n%s\n%s", printed, tn_program_text(again));
  tn_context_free(ctx);
  free(text);
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* Programs of integers: results are the same to the bit. */
enum { FIRST = 1, SCHEDULED = 4 };

static const char *const schedules[SCHEDULED][3] = {
    {"split(C, i, 4); reorder(C, j, i.inner); vectorize(C, i.inner)",
     "tile(C, i, j, 2, 3); cache_write(C, local); unroll(C.local, k); parallel(C, i.outer)",
     "split(C, k, 3, tail=peel); rfactor(C, k.inner); fuse(C, i, j); transform_layout(C.rf, k.inner, i, j)"},
    {"compute_inline(P); split(R, i, 4, tail=mask); compute_at(Q, R, i.outer)",
     "compute_at(P, R, i); cache_read(A, local, P); pragma(R, i, auto_unroll_max_step, 16)",
     "split(R, i, nparts=2); bind(R, i.outer, threadIdx.x); set_scope(Q, local); vectorize(P, i)"},
    {"compute_at(M, Y, i); split(Y, j, 2, tail=overlap); unroll(Y, j.inner)",
     "parallel(Y, i); storage_align(M, i, 8, 1)",
     "fuse(Y, i, j); split(Y, i.j.fused, 7, tail=pad); prefetch(Y, X, i.j.fused.outer, 1)"},
    {"compute_inline(P); tile(O, h, w, 2, 3); vectorize(O, w.inner)", "compute_at(P, O, h); rolling_buffer(P)",
     "split(O, h, 2); compute_at(P, O, h.outer); double_buffer(P); reorder(O, r, s, w)"},
};

static tn_schedule *schedule_of(tn_context *ctx, int which) {
  return tn_schedule_new(tn_program_parse(ctx, programs[FIRST + which], 0, NULL));
}

/* The first byte says which program. */
void inputs_seed_schedule(inputs_corpus *corpus) {
  for (int i = 0; i < SCHEDULED; i++)
    for (int k = 0; k < 3; k++) {
      runtime_str text = {0};
      runtime_str_addf(&text, "%c%s", '0' + i, schedules[i][k]);
      inputs_add(corpus, text.data, text.n);
      runtime_str_free(&text);
    }
}

void inputs_seed_steps(inputs_corpus *corpus) {
  for (int i = 0; i < SCHEDULED; i++)
    for (int k = 0; k < 3; k++) {
      tn_context *ctx = tn_context_new(NULL);
      tn_schedule *s = schedule_of(ctx, i);
      tn_schedule_apply(s, schedules[i][k]);
      char *steps = tn_schedule_print(s, TN_FORM_STEPS);
      runtime_str text = {0};
      runtime_str_addf(&text, "%c%s", '0' + i, steps ? steps : "[]");
      inputs_add(corpus, text.data, text.n);
      runtime_str_free(&text);
      free(steps);
      tn_context_free(ctx);
    }
}

static DLTensor *array_of(tn_context *ctx, const tn_tensor *t, uint64_t seed) {
  DLTensor *array = tn_array_new(ctx, t->dtype, t->ndim, t->shape);
  if (array) tn_array_fill(ctx, array, seed);
  return array;
}

void inputs_compare(tn_context *ctx, const tn_schedule *s) {
  enum { MOST = 4 };
  tn_program *p = (tn_program *)s->program;
  DLTensor *mine[MOST] = {NULL}, *right[MOST] = {NULL};
  tn_kernel *kernel = tn_build(s, NULL);
  for (int i = 0; kernel && i < p->n_args; i++) {
    mine[i] = array_of(ctx, p->args[i], (uint64_t)i);
    right[i] = array_of(ctx, p->args[i], (uint64_t)i);
  }
  bool ran = kernel && tn_call(ctx, kernel, mine, p->n_args) == TN_OK;
  if (ran && tn_evaluate(p, right, p->n_args) != TN_OK) inputs_broken("the evaluator: %s", tn_context_message(ctx));
  for (int i = 0; ran && i < p->n_args; i++)
    if (memcmp(mine[i]->data, right[i]->data, tn_array_bytes(mine[i])) != 0)
      inputs_broken("%s is wrong", p->args[i]->name);
  for (int i = 0; i < MOST; i++) tn_array_free(mine[i]), tn_array_free(right[i]);
  tn_kernel_free(kernel);
}

/* What was accepted prints as steps that are accepted, too, and lowers; one in fifty is built and run. */
static void go_on(tn_context *ctx, const tn_schedule *s, uint64_t hash) {
  char *steps = tn_schedule_print(s, TN_FORM_STEPS);
  tn_schedule *again = steps ? tn_schedule_new(s->program) : NULL;
  if (again && tn_schedule_replay(again, steps) != TN_OK)
    inputs_broken("its own steps are refused: %s\n%s", tn_context_message(ctx), steps);
  free(steps);
  runtime_arena arena = {0};
  if (hash % 4 == 0) schedule_lower_and_optimize(s, "kernel", &arena);
  runtime_arena_free(&arena);
  if (hash % 50 == 0) inputs_compare(ctx, s);
}

static void one(const uint8_t *data, size_t n, tn_status (*take)(tn_schedule *, const char *)) {
  char *text = inputs_text(data, n);
  tn_context *ctx = tn_context_new(NULL);
  tn_schedule *s = schedule_of(ctx, n ? data[0] % SCHEDULED : 0);
  if (s && n && take(s, text + (*text != '\0')) == TN_OK)
    go_on(ctx, s, runtime_hash(data, n, 1));
  else if (tn_context_status(ctx) == TN_OK && n)
    inputs_broken("refused without a message");
  tn_context_free(ctx);
  free(text);
}

void inputs_one_schedule(const uint8_t *data, size_t n) { one(data, n, tn_schedule_apply); }
void inputs_one_steps(const uint8_t *data, size_t n) { one(data, n, tn_schedule_replay); }

/* ---- loop IR ----------------------------------------------------------------------------------------------------- */

void inputs_seed_loop_ir(inputs_corpus *corpus) {
  for (int i = 0; i < SCHEDULED; i++)
    for (int k = 0; k < 6; k++) {
      tn_context *ctx = tn_context_new(NULL);
      runtime_arena arena = {0};
      tn_schedule *s = schedule_of(ctx, i);
      if (k % 3) tn_schedule_apply(s, schedules[i][k % 3]);
      tir_func *f = k < 3 ? schedule_lower(s, "kernel", &arena) : schedule_lower_and_optimize(s, "kernel", &arena);
      runtime_str text = {0};
      if (f) tir_print_func(&text, f);
      if (text.n) inputs_add(corpus, text.data, text.n);
      runtime_str_free(&text);
      runtime_arena_free(&arena);
      tn_context_free(ctx);
    }
}

/* What parses prints as what parses; a pass takes it. */
void inputs_one_loop_ir(const uint8_t *data, size_t n) {
  char *text = inputs_text(data, n);
  tn_context *ctx = tn_context_new(NULL);
  runtime_arena arena = {0};
  tir_func *f = tir_parse_func(ctx, &arena, text);
  if (!f && tn_context_status(ctx) == TN_OK) inputs_broken("refused without a message");
  if (f) {
    runtime_str out = runtime_str_limited(ctx);
    tir_print_func(&out, f);
    char *printed = runtime_str_finish(&out, ctx, "the loop IR");
    if (printed && !tir_parse_func(ctx, &arena, printed))
      inputs_broken("printed text is refused: %s\n%s", tn_context_message(ctx), printed);
    free(printed);
    tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.max_unrolled_body = 256}};
    tir_run_passes(&p, f, tir_pass_lines[runtime_hash(data, n, 2) % TIR_PASS_COUNT].name);
  }
  runtime_arena_free(&arena);
  tn_context_free(ctx);
  free(text);
}
