/* Bound inference: a stage under compute_at computes and allocates what its loop's iteration needs. Shapes of scratch
 * buffers as they are before any pass. */
#include "tests/schedule/tests.h"

#define BLUR "P[y<64, x<64] = A[y,x] + A[y,x+1]\nQ[y<62, x<64] = P[y,x] + P[y+1,x] + P[y+2,x]"
#define CONV                                                                                       \
  "input I: f32[1,14,14,8], W: f32[3,3,8,16]\n"                                                    \
  "P[n<1, h<16, w<16, c<8] = select(h >= 1 && h < 15 && w >= 1 && w < 15, I[n, h-1, w-1, c], 0)\n" \
  "O[n<1, h<14, w<14, f<16] = sum[r<3, s<3, c<8](P[n, h+r, w+s, c] * W[r,s,c,f])"
#define STRIDED "P[h<31, w<31] = A[h,w] + 1\nO[h<15, w<15] = sum[r<3, s<3](P[h*2+r, w*2+s])"
#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define CHAIN "P[i<100] = A[i] * 2\nQ[i<98] = P[i] + P[i+2]\nR[i<96] = Q[i] + Q[i+2]"
#define ONE(index) "P[i<100] = A[i] * 2\nC[i<40] = P[" index "]"

static const struct region {
  const char *name, *program, *schedule, *buffer, *shape;
} regions[] = {
    {"at root: all", BLUR, "", "P", "64,64"},
    {"three rows", BLUR, "compute_at(P, Q, y)", "P", "3,64"},
    {"three pixels", BLUR, "compute_at(P, Q, x)", "P", "3,1"},
    {"a tile and its margin", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, x.outer)", "P", "10,16"},
    {"a strip and its margin", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, y.outer)", "P", "10,64"},
    {"a row of a tile", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, y.inner)", "P", "3,16"},
    {"a tile that does not divide", BLUR, "tile(Q, y, x, 7, 9); compute_at(P, Q, x.outer)", "P", "9,9"},
    {"a peeled tile", BLUR, "tile(Q, y, x, 7, 9, tail=peel); compute_at(P, Q, x.outer)", "P", "9,9"},
    {"a tile larger than the tensor", BLUR, "tile(Q, y, x, 100, 100); compute_at(P, Q, x.outer)", "P", "64,64"},
    {"fused loops that divide", BLUR, "fuse(Q, y, x); split(Q, y.x.fused, 64); compute_at(P, Q, y.x.fused.outer)", "P",
     "3,64"},
    {"convolution: rows", CONV, "compute_at(P, O, h)", "P", "1,3,16,8"},
    {"convolution: a window", CONV, "compute_at(P, O, w)", "P", "1,3,3,8"},
    {"convolution: inside of the reduction", CONV, "compute_at(P, O, s)", "P", "1,1,1,8"},
    {"convolution: one element", CONV, "compute_at(P, O, c)", "P", "1,1,1,1"},
    {"convolution: a tile", CONV, "tile(O, h, w, 7, 2); compute_at(P, O, w.outer)", "P", "1,9,4,8"},
    {"strided: a row", STRIDED, "compute_at(P, O, h)", "P", "3,31"},
    {"strided: a window", STRIDED, "compute_at(P, O, w)", "P", "3,3"},
    {"strided: a tile", STRIDED, "tile(O, h, w, 4, 5); compute_at(P, O, w.outer)", "P", "9,11"},
    {"matmul: a row of A", MM, "cache_read(A, local); compute_at(A.local, C, i)", "A.local", "1,32"},
    {"matmul: a panel of B", MM,
     "split(C, j, 16); reorder(C, j.outer, i, j.inner, k); cache_read(B, local); "
     "compute_at(B.local, C, j.outer)",
     "B.local", "32,16"},
    {"matmul: an element of A", MM, "cache_read(A, local); compute_at(A.local, C, k)", "A.local", "1,1"},
    {"matmul: an accumulator", MM, "cache_write(C, local); compute_at(C.local, C, j)", "C.local", "1,1"},
    {"matmul: a tile of accumulators", MM,
     "cache_write(C, local); tile(C, i, j, 4, 16); compute_at(C.local, C, j.outer)", "C.local", "4,16"},
    {"a chain: the reader's margin", CHAIN, "split(R, i, 8); compute_at(Q, R, i.outer); compute_at(P, R, i.outer)", "Q",
     "10"},
    {"a chain: both margins", CHAIN, "split(R, i, 8); compute_at(Q, R, i.outer); compute_at(P, R, i.outer)", "P", "12"},
    {"a chain: inside of each other", CHAIN, "split(R, i, 8); compute_at(Q, R, i.outer); compute_at(P, Q, i)", "P",
     "3"},
    {"a chain through an inlined stage", CHAIN, "split(R, i, 8); compute_inline(Q); compute_at(P, R, i.outer)", "P",
     "12"},
    {"only what is read at root", "P[i<100] = A[i] * 2\nC[i<40] = P[i+10]", "", "P", "40"},
    {"an offset", ONE("i + 3"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"reversed", ONE("39 - i"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"a stride", ONE("i * 2"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "15"},
    {"divided", ONE("i // 4"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "2"},
    {"divided, not aligned", ONE("(i + 1) // 4"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "3"},
    {"modulo, aligned", ONE("i % 16"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"modulo: the loop inside does not count", ONE("i % 2"),
     "split(C, i, 2); reorder(C, i.inner, i.outer); compute_at(P, C, i.inner)", "P", "1"},
    {"divided: the loop inside counts once", ONE("i // 2"),
     "split(C, i, 2); split(C, i.outer, 5); reorder(C, i.inner, i.outer.outer, i.outer.inner); compute_at(P, C, "
     "i.outer.outer)",
     "P", "5"},
    {"modulo of numbers, within one turn", "P[i<100] = A[i] * 2\nC[i<5, j<8] = P[(j + 8) % 16]", "compute_at(P, C, i)",
     "P", "8"},
    {"modulo of numbers, over the turn", "P[i<100] = A[i] * 2\nC[i<5, j<8] = P[(j + 10) % 16]", "compute_at(P, C, i)",
     "P", "16"},
    {"modulo, not aligned", ONE("(i + 1) % 16"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "16"},
    {"a constant", ONE("7"), "compute_at(P, C, i)", "P", "1"},
    {"clamped", ONE("min(i + 1, 39)"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"clamped at both ends", ONE("max(min(i - 1, 30), 4)"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"the greater of two ways", ONE("max(i, 39 - i)"), "split(C, i, 8); compute_at(P, C, i.outer)", "P", "8"},
    {"the lesser of a point and a row", ONE("min(i//8*8, i + 1)"), "split(C, i, 8); compute_at(P, C, i.outer)", "P",
     "8"},
    {"from data: unknown, so all", "input I: i32[40]\n" ONE("I[i] % 100"), "compute_at(P, C, i)", "P", "100"},
};

typedef struct search {
  const char *name;
  const tir_buffer *found;
  int n;
} search;

static tir_walk look(void *user, const tir_stmt *s) {
  search *x = user;
  if (s->kind != TIR_ALLOC || strcmp(s->u.alloc.buffer->name, x->name) != 0) return TIR_WALK_ON;
  x->found = s->u.alloc.buffer;
  x->n++;
  return TIR_WALK_ON;
}

static void region(void **state) {
  const struct region *r = *state;
  fixture f = fixture_new(r->program, r->schedule);
  runtime_arena arena = {0};
  tir_func *func = schedule_lower(f.s, "kernel", &arena);
  check_ok(f.ctx);
  assert_int_equal(tir_check(f.ctx, func), TN_OK);
  search x = {.name = r->buffer};
  tir_walk_stmt(func->body, &(tir_visitor){.stmt = look, .user = &x});
  assert_int_equal(x.n, 1);
  runtime_str shape = {0};
  for (int i = 0; i < x.found->ndim; i++)
    runtime_str_addf(&shape, "%s%lld", i ? "," : "", (long long)x.found->shape[i]);
  check_text(shape.data, r->shape);
  runtime_str_free(&shape);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* ---- inlining ---------------------------------------------------------------------------------------------------- */

static tir_walk count_expr(void *user, const tir_expr *e) {
  (void)e;
  return ++*(int *)user < 10000 ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Each of forty stages reads its producer twice; all of them inlined are one expression of shared parts, not 2^40. */
static void inlined_reads_are_shared(void **state) {
  (void)state;
  runtime_str program = {0}, schedule = {0};
  runtime_str_add(&program, "S0[i<19] = A[i] + 1\n");
  for (int i = 1; i <= 40; i++) {
    runtime_str_addf(&program, "S%d[i<19] = S%d[i]*S%d[i] + S%d[i]\n", i, i - 1, i - 1, i - 1);
    runtime_str_addf(&schedule, "compute_inline(S%d); ", i - 1);
  }
  fixture f = fixture_new(program.data, schedule.data);
  runtime_arena arena = {0};
  tir_func *func = schedule_lower_and_optimize(f.s, "kernel", &arena);
  check_ok(f.ctx);
  int nodes = 0;
  tir_walk_stmt(func->body, &(tir_visitor){.expr = count_expr, .user = &nodes});
  assert_in_range(nodes, 40, 9999);
  runtime_str_free(&program);
  runtime_str_free(&schedule);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

int test_regions(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(inlined_reads_are_shared)};
  return CHECK_TABLE("regions", regions, region) + CHECK_TESTS("inlining", tests);
}
