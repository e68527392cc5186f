/* The whole pipeline on the nests that the front page promises, its dumps, its check between passes. */
#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *golden, *in;
} row;

static const row rows[] = {
    {"a split that does not divide keeps its guard", "tir/split_guard.txt",
     "in A: float32[1024]; out C: float32[1024] { for (i.outer: int32, 0, 52) { for (i.inner: int32, 0, 20) { "
     "if (i.outer*20 + i.inner < 1024) { C[i.outer*20 + i.inner] = A[i.outer*20 + i.inner] } } } }"},
    {"a guard moves out of the loops it does not depend on", "tir/hoisted_guard.txt",
     "in A: float32[1024, 64]; out C: float32[1024, 64] { for (i.outer: int32, 0, 52) { for (j: int32, 0, 64) { for "
     "(i.inner: "
     "int32, 0, 20) { if (i.outer*20 + i.inner < 1024) { C[i.outer*20 + i.inner, j] = A[i.outer*20 + i.inner, j] } } } "
     "} }"},
    {"a tile with a vector is one ramp store", "tir/tile_vector.txt",
     "in A: float32[64, 64]; in B: float32[64, 64]; out C: float32[64, 64] { for (i.outer: int32, 0, 2) \"parallel\" { "
     "for (j.outer: int32, 0, 2) { for (i.inner: int32, 0, 32) { for (j.inner: int32, 0, 32) \"vectorized\" { "
     "C[i.outer*32 + i.inner, j.outer*32 + j.inner] = A[i.outer*32 + i.inner, j.outer*32 + j.inner] + "
     "B[i.outer*32 + i.inner, j.outer*32 + j.inner] } } } } }"},
    {"a guarded vector is masked", "tir/masked_vector.txt",
     "in A: float32[100]; out C: float32[100] { for (i.outer: int32, 0, 4) { for (i.inner: int32, 0, 32) "
     "\"vectorized\" { "
     "if (i.outer*32 + i.inner < 100) { C[i.outer*32 + i.inner] = A[i.outer*32 + i.inner] } } } }"},
    {"a peeled vector has neither guard nor mask", "tir/peeled_vector.txt",
     "in A: float32[100]; out C: float32[100] { for (i.outer: int32, 0, 4) \"parallel\" \"peel\" { for (i.inner: "
     "int32, 0, 32) "
     "\"vectorized\" { if (i.outer*32 + i.inner < 100) { C[i.outer*32 + i.inner] = A[i.outer*32 + i.inner] } } } }"},
    {"a register tile of a matmul", "tir/register_tile.txt",
     "in A: float32[14, 16]; in B: float32[16, 64]; out C: float32[14, 64] { for (i.outer: int32, 0, 4) \"peel\" { "
     "for (j.outer: int32, 0, 2) { allocate(T: Pointer(local float32), float32, [4, 32]), storage_scope = local { "
     "for (i.i: int32, 0, 4) \"unroll\" { for (j.i: int32, 0, 32) \"vectorized\" { T[i.i, j.i] = 0f32 } } "
     "for (k: int32, 0, 16) { for (i.c: int32, 0, 4) \"unroll\" { for (j.c: int32, 0, 32) \"vectorized\" { "
     "if (i.outer*4 + i.c < 14) { T[i.c, j.c] = T[i.c, j.c] + A[i.outer*4 + i.c, k]*B[k, j.outer*32 + j.c] } } } } "
     "for (i.inner: int32, 0, 4) \"unroll\" { for (j.inner: int32, 0, 32) \"vectorized\" { if (i.outer*4 + i.inner < "
     "14) { "
     "C[i.outer*4 + i.inner, j.outer*32 + j.inner] = T[i.inner, j.inner] } } } } } } }"},
    {"padding is a predicated load", "tir/padding.txt",
     "in I: float32[6, 8]; out P: float32[8, 10] { for (h: int32, 0, 8) { for (w: int32, 0, 10) \"vectorized\" { P[h, "
     "w] = "
     "select(h >= 1 && h < 7 && w >= 1 && w < 9, I[h - 1, w - 1], 0f32) } } }"},
    {"a fused reduction is one loop", "tir/fused_reduction.txt",
     "in A: float32[1024]; out B: float32[] { B[] = 0f32 for (k.outer.k.inner.fused: int32, 0, 1024) { "
     "B[] = B[] + A[floordiv(k.outer.k.inner.fused, 32)*32 + floormod(k.outer.k.inner.fused, 32)] } }"},
};

static void pipeline_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.check = true}};
  tir_func *before = read_func(&read, r->in), *after = tir_run_pipeline(&p, before);
  check_ok(ctx);
  runtime_str out = {0};
  tir_print_func(&out, after);
  check_golden(r->golden, out.data);
  runtime_str_free(&out);
  const char *difference = same_effect(before, after, 3);
  if (difference != NULL) fail_msg("%s", difference);
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static const char small[] =
    "in A: float32[8]; out C: float32[8] { for (i: int32, 0, 8) \"vectorized\" { C[i] = A[i] } }";

static void dumps_name_the_pass(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context_debug("vectorize,unroll");
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {0}};
  assert_non_null(tir_run_pipeline(&p, read_func(&read, small)));
  check_has(check_messages(ctx), "info: after vectorize:\nprimfn(");
  check_has(check_messages(ctx), "C[ramp(0, 1, 8)] = A[ramp(0, 1, 8)]");
  check_has(check_messages(ctx), "info: after unroll: (unchanged)");
  check_has_not(check_messages(ctx), "after flatten");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void times_stand_beside_the_passes(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context_debug("time");
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena};
  assert_non_null(tir_run_pipeline(&p, read_func(&read, small)));
  check_has(check_messages(ctx), "info: time: ");
  check_has(check_messages(ctx), " us  vectorize\n");
  check_has(check_messages(ctx), " us  unroll (unchanged)\n");
  check_has(check_messages(ctx), " us  all passes\n");
  check_has_not(check_messages(ctx), "primfn");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void no_debug_no_dump(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {0}};
  assert_non_null(tir_run_pipeline(&p, read_func(&read, small)));
  assert_string_equal(check_messages(ctx), "");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void malformed_input_is_refused(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.check = true}};
  tir_func *f = read_func(&read, small);
  f->n_inputs = 2;
  assert_null(tir_run_pipeline(&p, f));
  check_fails(ctx, TN_ERROR_INTERNAL, "inputs-come-first");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void a_buffer_beyond_the_index_type_is_refused(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {0}};
  assert_null(tir_run_pipeline(&p, read_func(&read, "out C: float32[65536, 65536] { C[0, 0] = 1f32 }")));
  check_fails(ctx, TN_ERROR_LOWER, "buffer \"C\" has more elements than i32 can index");
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void a_second_run_changes_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    runtime_arena arena = {0};
    tn_context *ctx = check_context();
    reader read = {.arena = &arena};
    tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {0}};
    tir_func *once = tir_run_pipeline(&p, read_func(&read, rows[i].in)), *twice = tir_run_pipeline(&p, once);
    check_text(print_func(&arena, twice), print_func(&arena, once));
    check_context_free(ctx);
    runtime_arena_free(&arena);
  }
}

/* Lowering a tiled matmul takes some 0.1 ms; the limit leaves room for slow, instrumented and busy machines. */
static void lowering_is_fast(void **state) {
  (void)state;
  enum { RUNS = 50 };
  runtime_arena arena = {0}, work = {0};
  tn_context *ctx = check_context();
  reader read = {.arena = &arena};
  tir_pass_context p = {.ctx = ctx, .arena = &work, .options = {0}};
  tir_func *f = read_func(&read, rows[5].in);
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < RUNS; i++) {
    uint64_t start = runtime_now_ns();
    runtime_arena_reset(&work);
    assert_non_null(tir_run_pipeline(&p, f));
    best = RUNTIME_MIN(best, runtime_now_ns() - start);
  }
  if (best > 5000000) fail_msg("lowering a register tile took %.2f ms", (double)best * 1e-6);
  check_context_free(ctx);
  runtime_arena_free(&arena);
  runtime_arena_free(&work);
}

int test_pipeline(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dumps_name_the_pass),
      cmocka_unit_test(no_debug_no_dump),
      cmocka_unit_test(times_stand_beside_the_passes),
      cmocka_unit_test(malformed_input_is_refused),
      cmocka_unit_test(a_buffer_beyond_the_index_type_is_refused),
      cmocka_unit_test(a_second_run_changes_nothing),
      cmocka_unit_test(lowering_is_fast),
  };
  return CHECK_TABLE("tir pipeline", rows, pipeline_row) + CHECK_TESTS("tir pipeline rules", tests);
}
