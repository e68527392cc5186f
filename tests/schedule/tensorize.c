/* tensorize: what is a built-in intrinsic and what is not, with the first difference; the dry run gives the same answer
 * and changes nothing. */
#include "te/intrin.h"
#include "tests/schedule/tests.h"
#include "tests/tir/tests.h"

#define U8I8 "input A: u8[8,32], B: i8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))"
#define LOOPS "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)"
#define OTHER(body) "input A: u8[8,32], B: i8[32,32]\nC[i<8, j<32] = " body
#define SYMBOLIC(inputs, axes, terms, a, b) \
  "symbol M\ninput " inputs "\nC[" axes "] = sum[" terms "](i32(" a ") * i32(" b "))"
#define BF16 "input A: bf16[8,32], B: bf16[32,32]\nC[i<8, j<32] = sum[k<32](f32(A[i,k]) * f32(B[k,j]))"
#define BF16_LOOPS "split(C, j, 16); split(C, k, 2); reorder(C, i, j.outer, k.outer, j.inner, k.inner)"
#define GEMV "C[i<8, j<32] = sum[k<32](A[i,k] * B[j,k])"

static const struct match {
  const char *name, *program, *before, *axis, *intrin;
  const char *why; /* the message, or NULL: yes */
} matches[] = {
    {"u8 i8", U8I8, LOOPS, "j.inner", "dot4_u8i8", NULL},
    {"the operands the other way round", OTHER("sum[k<32](i32(B[k,j]) * i32(A[i,k]))"), LOOPS, "j.inner", "dot4_u8i8",
     NULL},
    {"the loops the other way round", U8I8,
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, k.inner, j.inner)", "k.inner", "dot4_u8i8",
     NULL},
    {"all of the reduction inside", "input A: u8[8,4], B: i8[16,4]\nC[i<8, j<16] = sum[k<4](i32(A[i,k]) * i32(B[j,k]))",
     "", "j", "dot4_u8i8", NULL},
    {"no operand shared", "input A: u8[64], B: i8[64]\nC[j<16] = sum[k<4](i32(A[j*4 + k]) * i32(B[j*4 + k]))", "", "j",
     "dot4_u8i8", NULL},
    {"i8 i8", "input A: i8[8,32], B: i8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))", LOOPS, "j.inner",
     "dot4_i8i8", NULL},
    {"8 lanes", U8I8, "split(C, j, 8); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner",
     "dot4_u8i8_x8", NULL},
    {"4 lanes", U8I8, "split(C, j, 4); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner",
     "dot4_u8i8_x4", NULL},
    {"bf16", BF16, BF16_LOOPS, "j.inner", "dot2_bf16", NULL},
    {"a strided and dilated convolution",
     "input I: u8[1,40,16], W: i8[3,16,16]\nC[n<1, x<16, f<16] = sum[r<3, c<16](i32(I[n, x*2 + r*3, c]) * i32(W[r, c, "
     "f]))",
     "split(C, c, 4); reorder(C, n, x, r, c.outer, f, c.inner)", "f", "dot4_u8i8", NULL},
    {"lanes with a stride", "input I: u8[70], W: i8[8]\nC[x<16] = sum[k<8](i32(I[x*4 + k]) * i32(W[k]))",
     "split(C, k, 4); reorder(C, k.outer, x, k.inner)", "x", "dot4_u8i8", NULL},
    {"a rest that is peeled", "input A: u8[8,33], B: i8[33,39]\nC[i<8, j<39] = sum[k<33](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16, tail=peel); split(C, k, 4, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner)",
     "j.inner", "dot4_u8i8", NULL},
    {"blocks that overlap", "input A: u8[8,32], B: i8[32,39]\nC[i<8, j<39] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16, tail=overlap); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner",
     "dot4_u8i8", NULL},
    {"an init of its own", OTHER("sum[k<32 init = i + j](i32(A[i,k]) * i32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8",
     NULL},
    {"gemv", GEMV, LOOPS, "j.inner", "gemv_16x4", NULL},
    {"gemv of a transposed matrix, the loops the other way round", "C[i<8, j<32] = sum[k<32](B[k,j] * A[i,k])",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, k.inner, j.inner)", "k.inner", "gemv_16x4",
     NULL},
    {"gemv with all of the reduction", GEMV, "split(C, j, 16)", "j.inner", "gemv_16x32", NULL},
    {"gemv with the other operand as matrix", "C[i<32, j<8] = sum[k<32](A[i,k] * B[j,k])",
     "split(C, i, 16); reorder(C, i.outer, j, i.inner, k)", "i.inner", "gemv_16x32", NULL},
    {"gemv of one row", GEMV, "", "k", "gemv_1x32", NULL},
    {"gemv of one column", "C[i<8, j<32] = sum[k<1](A[i,k] * B[j,k])", "", "j", "gemv_32x1", NULL},
    {"gemv of f64", "input A: f64[8,32], B: f64[32,32]\n" GEMV, LOOPS, "j.inner", "gemv_f64_16x4", NULL},
    {"gemv of two matrices", "C[j<16] = sum[k<8](A[j,k] * B[j,k])", "", "j", "gemv_16x8", ""},
    {"gemv of another shape", GEMV, LOOPS, "j.inner", "gemv_16x8", ""},
    {"gemv of another dtype", GEMV, LOOPS, "j.inner", "gemv_f64_16x4", ""},
    {"gemv of casts", "input A: f16[8,32], B: f16[32,32]\nC[i<8, j<32] = sum[k<32](f32(A[i,k]) * f32(B[j,k]))", LOOPS,
     "j.inner", "gemv_16x4", ""},
    {"gemv of a maximum", "C[i<8, j<32] = max[k<32](A[i,k] * B[j,k])", LOOPS, "j.inner", "gemv_16x4", ""},
    {"gemv without a shape", GEMV, LOOPS, "j.inner", "gemv", ""},
    {"gemv of too many rows", GEMV, LOOPS, "j.inner", "gemv_4097x4", ""},
    {"gemv with a zero before a number", GEMV, LOOPS, "j.inner", "gemv_16x04", ""},
    {"gemv of no columns", GEMV, LOOPS, "j.inner", "gemv_16x", ""},

    {"a symbolic number of rows", SYMBOLIC("A: u8[M,32], B: i8[32,32]", "i<M, j<32", "k<32", "A[i,k]", "B[k,j]"), LOOPS,
     "j.inner", "dot4_u8i8", NULL},
    {"lanes over a symbolic number of rows",
     SYMBOLIC("A: i8[M,32], B: i8[32,32]", "i<M, j<32", "k<32", "A[i,k]", "B[k,j]"),
     "split(C, i, 16, tail=peel); split(C, k, 4); reorder(C, j, i.outer, k.outer, i.inner, k.inner)", "i.inner",
     "dot4_i8i8", NULL},
    {"rows of symbolic length", SYMBOLIC("A: u8[9,M], B: i8[32,M]", "i<9, j<32", "k<M", "A[i,k]", "B[j,k]"),
     "split(C, j, 16); split(C, k, 4, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner",
     "dot4_u8i8", NULL},
    {"terms and results in rows of symbolic length",
     SYMBOLIC("A: i8[32,M], B: u8[32,32]", "j<32, i<M", "k<32", "A[k,i]", "B[k,j]"),
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner", "dot4_u8i8",
     NULL},
    {"strides of a call",
     "input A: u8[9,32] strided, B: i8[32,32] strided\nC[j<32, i<9] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))\noutput C "
     "strided",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner", "dot4_u8i8",
     NULL},
    {"symbolic blocks that are not whole", SYMBOLIC("A: u8[9,M], B: i8[M,32]", "i<9, j<32", "k<M", "A[i,k]", "B[k,j]"),
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner", "dot4_u8i8", ""},
    {"an index that is a product of loops in rows of symbolic length",
     "symbol 1000<=M\ninput A: u8[8,32], B: i8[1024,M]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k*j, j]))", LOOPS,
     "j.inner", "dot4_u8i8", ""},
    {"an unknown intrinsic", U8I8, LOOPS, "j.inner", "dot4_vnni",
     "tensorize(C, j.inner, dot4_vnni): no intrinsic is called \"dot4_vnni\": take one of dot4_u8i8, dot4_u8i8_x8, "
     "dot4_u8i8_x4, dot4_i8i8, dot4_i8i8_x8, dot4_i8i8_x4, dot2_bf16, dot2_bf16_x8, dot2_bf16_x4, gemv_MxL, "
     "gemv_f64_MxL "
     "(M and L are numbers from 1 to 4096: gemv_16x64)"},
    {"another dtype", U8I8, LOOPS, "j.inner", "dot4_i8i8", ""},
    {"another accumulator", OTHER("sum[k<32](f32(A[i,k]) * f32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"another operator", OTHER("sum[k<32](i32(A[i,k]) + i32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"another combiner", OTHER("max[k<32](i32(A[i,k]) * i32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"a product too wide", OTHER("sum[k<32](i32(i16(A[i,k]) * i16(B[k,j])))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"a factor too many", OTHER("sum[k<32](i32(A[i,k]) * i32(B[k,j]) * 2)"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"an index that is no stride", OTHER("sum[k<32](i32(A[i,k]) * i32(B[k, j*j % 32]))"), LOOPS, "j.inner", "dot4_u8i8",
     ""},
    {"a condition", OTHER("sum[k<32](select(j > k, i32(A[i,k]), 0) * i32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"a where", OTHER("sum[k<32 where k <= j](i32(A[i,k]) * i32(B[k,j]))"), LOOPS, "j.inner", "dot4_u8i8", ""},
    {"a choice of other steps", OTHER("sum[k<32](select(j*2 + k < 30, i32(A[i,k]) * i32(B[k,j]), 0))"), LOOPS,
     "j.inner", "dot4_u8i8", ""},
    {"a where that ends steps in a group", OTHER("sum[k<32 where k < 30](i32(A[i,k]) * i32(B[k,j]))"), LOOPS, "j.inner",
     "dot4_u8i8", ""},
    {"other extents", U8I8, "split(C, j, 16); split(C, k, 8); reorder(C, i, j.outer, k.outer, j.inner, k.inner)",
     "j.inner", "dot4_u8i8", ""},
    {"a reduction that is a part of a group",
     "input A: u8[8,3], B: i8[16,3]\nC[i<8, j<16] = sum[k<3](i32(A[i,k]) * i32(B[j,k]))", "", "j", "dot4_u8i8", ""},
    {"one loop too many", U8I8, LOOPS, "k.outer", "dot4_u8i8", ""},
    {"one loop too few", U8I8, LOOPS, "k.inner", "dot4_u8i8", ""},
    {"a reduction loop for the lanes",
     "input A: u8[8,64], B: i8[64,32]\nC[i<8, j<32] = sum[k<64](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 4); split(C, k, 16); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner", "dot4_u8i8", ""},
    {"guarded blocks", "input A: u8[8,33], B: i8[33,39]\nC[i<8, j<39] = sum[k<33](i32(A[i,k]) * i32(B[k,j]))", LOOPS,
     "j.inner", "dot4_u8i8", ""},
    {"padded blocks", "input A: u8[8,33], B: i8[33,32]\nC[i<8, j<32] = sum[k<33](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16); split(C, k, 4, tail=pad); reorder(C, i, j.outer, k.outer, j.inner, k.inner)", "j.inner",
     "dot4_u8i8", ""},
    {"an index from data",
     "input A: u8[8,32], B: i8[32,32], X: i32[32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[X[k],j]))", LOOPS,
     "j.inner", "dot4_u8i8", ""},
    {"no reduction", "input A: u8[16], B: i8[16]\nC[j<16] = i32(A[j]) * i32(B[j])", "", "j", "dot4_u8i8", ""},
    {"a vectorized loop", U8I8, LOOPS "; vectorize(C, j.inner)", "j.inner", "dot4_u8i8", ""},
    {"an unrolled loop", U8I8, LOOPS "; unroll(C, k.inner)", "j.inner", "dot4_u8i8", ""},
    {"inside a vectorized loop", U8I8, LOOPS "; vectorize(C, i)", "j.inner", "dot4_u8i8", ""},
    {"a guest",
     "input A: u8[8,32], B: i8[32,32]\nP[k<32, j<32] = B[k,j]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(P[k,j]))",
     LOOPS "; compute_at(P, C, j.inner)", "j.inner", "dot4_u8i8", ""},
    {"a second one", U8I8, LOOPS "; tensorize(C, j.inner, dot4_u8i8)", "j.inner", "dot4_u8i8", ""},
    {"an input", U8I8, "", "i", "dot4_u8i8", ""},
};

/* Of the stage C. Yes or no, and no change by no or by asking. */
static void answer(void **state) {
  const struct match *m = *state;
  char file[128];
  fixture f = fixture_new(m->program, m->before);
  const char *stage = strcmp(m->name, "an input") == 0 ? "A" : "C";
  char *before = state_of(f.s);
  tn_status asked = tn_tensorize_try(f.s, stage, m->axis, m->intrin);
  char *after = state_of(f.s), *said = strdup(tn_context_message(f.ctx));
  check_text(after, before);
  tn_context_clear(f.ctx);
  assert_int_equal(tn_tensorize(f.s, stage, m->axis, m->intrin), asked);
  check_text(tn_context_message(f.ctx), said);
  assert_int_equal(asked == TN_OK, m->why == NULL);
  if (asked != TN_OK && *m->why) check_text(said, m->why);
  if (asked != TN_OK && !*m->why) {
    snprintf(file, sizeof file, "schedule/tensorize/%s.txt", m->name);
    for (char *c = file; *c; c++) *c = *c == ' ' ? '_' : *c;
    runtime_str text = {0};
    runtime_str_addf(&text, "%s\n\n%s\n\n%s\n", m->program, m->before, said);
    check_golden(file, text.data);
    runtime_str_free(&text);
  }
  free(before);
  free(after);
  free(said);
  fixture_free(&f);
}

/* What comes afterwards: the loops of the intrinsic stay as they are. */
static const struct later {
  const char *name, *call, *message;
} laters[] = {
    {"split of a loop inside", "split(C, j.inner, 4)",
     "split(C, j.inner): loop j.inner of C is inside the intrinsic dot4_u8i8, from loop j.inner inward: call this "
     "before "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"fuse of loops inside", "fuse(C, j.inner, k.inner)",
     "loop j.inner of C is inside the intrinsic dot4_u8i8, from loop j.inner inward: call this "
     "before "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"vectorize of a loop inside", "vectorize(C, j.inner)",
     "vectorize(C, j.inner): loop j.inner of C is inside the intrinsic dot4_u8i8, from loop j.inner inward: call this "
     "before tensorize(C, j.inner, dot4_u8i8)"},
    {"vectorize of a loop around", "vectorize(C, j.outer)",
     "vectorize(C, j.outer): the intrinsic dot4_u8i8 of C would stand inside the vectorized loop j.outer: an intrinsic "
     "has its own vectors; leave that loop serial, or unroll it"},
    {"a pragma inside", "pragma(C, k.inner, auto_unroll_max_step, 16)",
     "pragma(C, k.inner): loop k.inner of C is inside the intrinsic dot4_u8i8, from loop j.inner inward: call this "
     "before "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"a loop out of it", "reorder(C, j.inner, k.outer)",
     "loop k.outer of C would come into the intrinsic dot4_u8i8, which stands at loop j.inner"},
    {"compute_at inside", "compute_at(P, C, k.inner)",
     "compute_at(P, C, k.inner): loop k.inner of C is inside the intrinsic dot4_u8i8, from loop j.inner inward: call "
     "this before tensorize(C, j.inner, dot4_u8i8)"},
    {"cache_write", "cache_write(C, local)",
     "cache_write(C): C already has a schedule (loops: i, j.outer, k.outer, j.inner, k.inner), which would be lost: "
     "call "
     "cache_write(C, local) before it"},
    {"split of a loop outside", "split(C, i, 4)", NULL},
    {"parallel outside", "parallel(C, i)", NULL},
    {"unroll outside", "unroll(C, k.outer)", NULL},
    {"compute_at outside", "compute_at(P, C, j.outer)", NULL},
    {"reorder outside", "reorder(C, k.outer, i)", NULL},
};

static void later(void **state) {
  const struct later *l = *state;
  fixture f = fixture_new(
      "input A: u8[8,32], B: i8[32,32]\nP[k<32, j<32] = B[k,j]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(P[k,j]))",
      LOOPS "; tensorize(C, j.inner, dot4_u8i8)");
  char *before = state_of(f.s);
  tn_status status = tn_schedule_apply(f.s, l->call);
  assert_int_equal(status == TN_OK, l->message == NULL);
  if (l->message) {
    char *after = state_of(f.s);
    check_has(tn_context_message(f.ctx), l->message);
    check_text(after, before);
    free(after);
  } else {
    char *tir = print_form(f.s, TN_FORM_TIR);
    check_has(tir, "= dot(");
    free(tir);
  }
  free(before);
  fixture_free(&f);
}

/* A later step can take the ground away: the loops run as loops, and a warning says so. */
static void lost(void **state) {
  (void)state;
  fixture f = fixture_new(
      "input A: u8[8,32], B: i8[32,32]\nT[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))\nC[i<8, j<32] = T[i,j] + 1",
      "split(T, j, 16); split(T, k, 4); reorder(T, i, j.outer, k.outer, j.inner, k.inner); "
      "tensorize(T, j.inner, dot4_u8i8); split(C, j, 8); compute_at(T, C, j.outer)");
  char *tir = print_form(f.s, TN_FORM_TIR);
  check_has_not(tir, "dot(");
  check_has(check_messages(f.ctx),
            "tensorize with dot4_u8i8 has no effect, the loops stay loops: the pattern's axes are "
            "l 16, reduce k 4, the loops are j.inner 8, k.inner 4");
  free(tir);
  fixture_free(&f);
}

static void add_intrins(tn_context *ctx, runtime_arena *arena, tir_func *f) {
  assert_true(te_add_intrins(ctx, arena, f));
}

static void the_pass(void **state) {
  (void)state;
  check_pass_cases("tensorize", add_intrins);
}

int test_tensorize(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(lost), cmocka_unit_test(the_pass)};
  return CHECK_TABLE("tensorize", matches, answer) + CHECK_TABLE("after tensorize", laters, later) +
         CHECK_TESTS("tensorize without effect", tests);
}
