/* tensorize from a program to running code: exact results for bytes, within the rounding of two sums for bf16; and the
 * instructions in the assembly of a cross target. */
#include <math.h>

#include "tests/codegen/kit.h"

typedef struct tensor_row {
  const char *name, *program, *schedule;
  const char *instruction; /* in the assembly for V4 with VNNI and BF16 */
  int inner;               /* how many of it in all; 0: any number */
} tensor_row;

#define LOOPS(k) "split(C, j, 16); split(C, k, " k "); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
#define PEELED(k) \
  "split(C, j, 16, tail=peel); split(C, k, " k ", tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
/* B in panels of 16 columns, four or two rows beside each other, and 12 x 32 accumulators. */
#define PANELS(a, b, acc, g)                         \
  "input A: " a "[48,64], B: " b                     \
  "[64,64]\n"                                        \
  "P[jo<4, ko<64//" g ", ji<16, ki<" g "] = B[ko*" g \
  " + ki, jo*16 + ji]\n"                             \
  "C[i<48, j<64] = sum[k<64](" acc "(A[i,k]) * " acc "(P[j//16, k//" g ", j%16, k%" g "]))"
#define BLOCKED(g, intrin)                                                                               \
  "cache_write(C, local); split(C, i, 12); split(C, j, 32); split(C, j.inner, 16); "                     \
  "reorder(C, j.outer, i.outer, i.inner, j.inner.outer, j.inner.inner); vectorize(C, j.inner.inner); "   \
  "compute_at(C.local, C, i.outer); split(C.local, j.c, 16); split(C.local, k, " g                       \
  "); "                                                                                                  \
  "reorder(C.local, k.outer, i.c, j.c.outer, j.c.inner, k.inner); tensorize(C.local, j.c.inner, " intrin \
  "); "                                                                                                  \
  "compute_at(P, C, j.outer); fuse(P, ji, ki); vectorize(P, ji.ki.fused); parallel(C, j.outer)"

/* Tiles of 6 rows, and B in panels of N columns whose groups of four are copied as many at a time as a vector has. */
#define BLOCKS(n, tail)                                                                                        \
  "cache_write(C, local); cache_read(B, global, C.local); transform_layout(B.global, [d0, d1] -> [d0//" n      \
  ", d1//4, d0%" n ", d1%4]); split(C, j, " n ", " tail                                                        \
  "); split(C, j.inner, 16, tail=mask); split(C, i, 6); reorder(C, j.outer, i.outer, i.inner, j.inner.outer, " \
  "j.inner.inner); vectorize(C, j.inner.inner); compute_at(C.local, C, i.outer); "
#define TURNED(blocks, n, place)                                                                               \
  blocks "split(B.global, ax0, " n                                                                             \
         ", tail=peel); split(B.global, ax1, 4, tail=peel); split(B.global, ax1.outer, 16, tail=peel); "       \
         "split(B.global, ax0.inner, 16); pragma(B.global, ax1.outer.outer, loop_partition_hint, 1); "         \
         "pragma(B.global, ax0.outer, loop_partition_hint, 1); "                                               \
         "pragma(B.global, ax0.inner.outer, loop_partition_hint, 1); reorder(B.global, ax0.outer, "            \
         "ax1.outer.outer, ax0.inner.outer, ax1.outer.inner, ax0.inner.inner, ax1.inner); "                    \
         "fuse(B.global, ax0.inner.inner, ax1.inner); vectorize(B.global, ax0.inner.inner.ax1.inner.fused); "  \
         "unroll(B.global, ax1.outer.inner); " place                                                           \
         "split(C.local, j.c, 16, tail=pad); split(C.local, k, 4, tail=peel); reorder(C.local, k.outer, i.c, " \
         "j.c.outer, j.c.inner, k.inner); tensorize(C.local, j.c.inner, dot4_u8i8)"

/* Steps of a row as lanes, each of a group. */
#define ROWS(block, group)                                                               \
  "split(C, k, " block "); split(C, k.inner, " group                                     \
  "); rfactor(C, k.inner.outer, 2); "                                                    \
  "set_scope(C.rf, local); reorder(C.rf, i, j, k.outer, k.inner.outer, k.inner.inner); " \
  "compute_at(C.rf, C, j); pragma(C.rf, k.outer, loop_partition_hint, 1); "

static const tensor_row tensor_rows[] = {
    {"u8 i8", "input A: u8[8,32], B: i8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     LOOPS("4") "tensorize(C, j.inner, dot4_u8i8)", "vpdpbusd", 0},
    {"i8 u8", "input A: i8[8,32], B: u8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     LOOPS("4") "tensorize(C, j.inner, dot4_u8i8)", "vpdpbusd", 0},
    {"i8 i8", "input A: i8[8,32], B: i8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     LOOPS("4") "tensorize(C, j.inner, dot4_i8i8)", "vpdpbusd", 0},
    {"bf16", "input A: bf16[8,32], B: bf16[32,32]\nC[i<8, j<32] = sum[k<32](f32(A[i,k]) * f32(B[k,j]))",
     LOOPS("2") "tensorize(C, j.inner, dot2_bf16)", "vdpbf16ps", 0},
    {"panels of bytes", PANELS("u8", "i8", "i32", "4"), BLOCKED("4", "dot4_u8i8"), "vpdpbusd", 96},
    {"panels of signed bytes", PANELS("i8", "i8", "i32", "4"), BLOCKED("4", "dot4_i8i8"), "vpdpbusd", 104},
    {"panels of bf16", PANELS("bf16", "bf16", "f32", "2"), BLOCKED("2", "dot2_bf16"), "vdpbf16ps", 96},
    {"odd sizes, peeled", "input A: u8[7,35], B: i8[35,39]\nC[i<7, j<39] = sum[k<35](i32(A[i,k]) * i32(B[k,j]))",
     PEELED("4") "tensorize(C, j.inner, dot4_u8i8)", "vpdpbusd", 0},
    {"odd sizes, peeled, bf16",
     "input A: bf16[7,35], B: bf16[35,39]\nC[i<7, j<39] = sum[k<35](f32(A[i,k]) * f32(B[k,j]))",
     PEELED("2") "tensorize(C, j.inner, dot2_bf16)", "vdpbf16ps", 0},
    {"rests of a group, whose dot products are one more each",
     "input A: u8[8,38], B: i8[38,16]\nC[i<8, j<16] = sum[k<38](i32(A[i,k]) * i32(B[k,j]))",
     PEELED("4") "unroll(C, i); tensorize(C, j.inner, dot4_u8i8)", "vpdpbusd", 16},
    {"a rest of one", "input A: u8[8,33], B: i8[16,33]\nC[i<8, j<16] = sum[k<33](i32(A[i,k]) * i32(B[j,k]))",
     "split(C, k, 4, tail=peel); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot4_u8i8)", "vpdpbusd", 2},
    {"a rest of signed bytes", "input A: i8[8,35], B: i8[16,35]\nC[i<8, j<16] = sum[k<35](i32(A[i,k]) * i32(B[j,k]))",
     "split(C, k, 4, tail=peel); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot4_i8i8)", "vpdpbusd", 4},
    {"a rest of bf16", "input A: bf16[8,33], B: bf16[16,33]\nC[i<8, j<16] = sum[k<33](f32(A[i,k]) * f32(B[j,k]))",
     "split(C, k, 2, tail=peel); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot2_bf16)", "vdpbf16ps", 2},
    {"copies that are turned by words",
     "input A: u8[12,151], B: i8[75,151]\nC[i<12, j<75] = sum[k<151](i32(A[i,k]) * i32(B[j,k]))",
     TURNED(BLOCKS("48", "tail=peel"), "48", "compute_at(B.global, C, j.outer); "), "vpdpbusd", 0},
    {"copies of a few groups", "input A: u8[12,15], B: i8[75,15]\nC[i<12, j<75] = sum[k<15](i32(A[i,k]) * i32(B[j,k]))",
     TURNED(BLOCKS("48", "tail=peel"), "48", "compute_at(B.global, C, j.outer); "), "vpdpbusd", 0},
    {"blocks that overlap", "input A: i8[8,32], B: i8[32,39]\nC[i<8, j<39] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16, tail=overlap); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, dot4_i8i8)",
     "vpdpbusd", 0},
    {"a strided and dilated convolution",
     "input I: u8[1,40,16], W: i8[3,16,16]\n"
     "C[n<1, x<16, f<16] = sum[r<3, c<16](i32(I[n, x*2 + r*3, c]) * i32(W[r, c, f]))",
     "split(C, c, 4); reorder(C, n, x, r, c.outer, f, c.inner); tensorize(C, f, dot4_u8i8)", "vpdpbusd", 0},
    {"a convolution along the lanes", "input I: u8[70], W: i8[8]\nC[x<16] = sum[k<8](i32(I[x*4 + k]) * i32(W[k]))",
     "split(C, k, 4); reorder(C, k.outer, x, k.inner); tensorize(C, x, dot4_u8i8)", "vpdpbusd", 0},
    {"rows of a product", "input A: u8[8,32], B: i8[16,32]\nC[i<8, j<16] = sum[k<32](i32(A[i,k]) * i32(B[j,k]))",
     "split(C, k, 4); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot4_u8i8)", "vpdpbusd", 0},
    {"products of their own", "input A: i8[64], B: i8[64]\nC[j<16] = sum[k<4](i32(A[j*4 + k]) * i32(B[j*4 + k]))",
     "tensorize(C, j, dot4_i8i8)", "vpdpbusd", 0},
    {"8 lanes and 4",
     "input A: u8[9,8], B: i8[12,8]\nT[i<9, j<12] = sum[k<8](i32(A[i,k]) * i32(B[j,k]))\n"
     "C[i<9, j<12] = T[i,j] + 1",
     "split(T, j, 4); split(T, k, 4); reorder(T, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(T, j.inner, dot4_u8i8_x4)",
     "vpdpbusd", 0},
    {"an init of its own",
     "input A: u8[8,32], B: i8[32,32], S: i32[32]\nC[i<8, j<32] = sum[k<32 init = S[j] + i](i32(A[i,k]) * i32(B[k,j]))",
     LOOPS("4") "tensorize(C, j.inner, dot4_u8i8)", "vpdpbusd", 0},
    {"lanes along a row that they do not divide",
     "input A: u8[9,203], B: i8[3,203]\nC[i<9, j<3] = sum[k<203](i32(A[i,k]) * i32(B[j,k]))",
     ROWS("64", "4") "tensorize(C.rf, k.inner.outer, dot4_u8i8)", "vpdpbusd", 2},
    {"the same of whole groups",
     "input A: i8[9,200], B: i8[3,200]\nC[i<9, j<3] = sum[k<200](i32(A[i,k]) * i32(B[j,k]))",
     ROWS("64", "4") "tensorize(C.rf, k.inner.outer, dot4_i8i8)", "vpdpbusd", 4},
    {"the same of bf16", "input A: bf16[9,77], B: bf16[3,77]\nC[i<9, j<3] = sum[k<77](f32(A[i,k]) * f32(B[j,k]))",
     ROWS("32", "2") "tensorize(C.rf, k.inner.outer, dot2_bf16)", "vdpbf16ps", 0},
    {"columns as lanes", "input A: u8[16,32], B: i8[32,5]\nC[i<16, j<5] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, k, 4); reorder(C, j, k.outer, i, k.inner); tensorize(C, i, dot4_u8i8)", "vpdpbusd", 0},
};

/* The same on every target; an element is summed up in the order of the loops. */
static const tensor_row gemv_rows[] = {
    {"gemv, update", "C[i<8, j<32] = sum[k<32](A[i,k] * B[k,j])", LOOPS("4") "tensorize(C, j.inner, gemv_16x4)",
     "vfmadd", 0},
    {"gemv, body", "C[i<8, j<32] = sum[k<32](A[i,k] * B[k,j])", "split(C, j, 16); tensorize(C, j.inner, gemv_16x32)",
     "vfmadd", 0},
    {"gemv, rows of a matrix", "C[i<8, j<32] = sum[k<32](A[i,k] * B[j,k])",
     LOOPS("8") "tensorize(C, j.inner, gemv_16x8)", "vfmadd", 0},
    {"gemv, strides and offsets", "C[i<4, j<16] = sum[k<8](A[i*2 + 1, k*3 + 2] * B[k*2 + 1, j*3 + 4])",
     "tensorize(C, j, gemv_16x8)", "vfmadd", 0},
    {"gemv, backwards", "C[i<4, j<16] = sum[k<8](A[i, 7 - k] * B[15 - j, k])", "tensorize(C, j, gemv_16x8)", "vfmadd",
     0},
    {"gemv, results with a stride", "C[i<16, j<3] = sum[k<8](A[i,k] * B[k,j])",
     "reorder(C, j, i, k); tensorize(C, i, gemv_16x8)", "vfmadd", 0},
    {"gemv, more rows than lanes", "C[i<3, j<101] = sum[k<7](A[i,k] * B[k,j])", "tensorize(C, j, gemv_101x7)", "vfmadd",
     0},
    {"gemv, an odd number of rows", "C[i<3, j<7] = sum[k<5](A[i,k] * B[j,k])", "tensorize(C, j, gemv_7x5)", "vfmadd",
     0},
    {"gemv, one row", "C[i<3] = sum[k<12](A[i,k] * B[k])", "split(C, k, 4); tensorize(C, k.inner, gemv_1x4)", "vfmadd",
     0},
    {"gemv, one column", "C[i<3, j<16] = sum[k<5](A[i,k] * B[k,j])", "reorder(C, i, k, j); tensorize(C, j, gemv_16x1)",
     "vfmadd", 0},
    {"gemv, one element", "C[i<3, j<4] = sum[k<5](A[i,k] * B[k,j])", "split(C, k, 1); tensorize(C, k.inner, gemv_1x1)",
     "vfmadd", 0},
    {"gemv, peeled", "C[i<7, j<39] = sum[k<35](A[i,k] * B[k,j])", PEELED("4") "tensorize(C, j.inner, gemv_16x4)",
     "vfmadd", 0},
    {"gemv, blocks that overlap", "C[i<7, j<39] = sum[k<8](A[i,k] * B[k,j])",
     "split(C, j, 16, tail=overlap); tensorize(C, j.inner, gemv_16x8)", "vfmadd", 0},
    {"gemv, an init of its own", "C[i<8, j<16] = sum[k<8 init = S[j] + i](A[i,k] * B[k,j])",
     "tensorize(C, j, gemv_16x8)", "vfmadd", 0},
    {"gemv, in a stage inside a parallel loop", "T[i<8, j<32] = sum[k<24](A[i,k] * B[j,k])\nC[i<8, j<32] = T[i,j] + 1",
     "split(T, j, 16); split(T, k, 8); reorder(T, i, j.outer, k.outer, j.inner, k.inner); tensorize(T, j.inner, "
     "gemv_16x8); compute_at(T, C, i); parallel(C, i)",
     "vfmadd", 0},
    {"gemv, windows", "input I: f32[2,19], W: f32[4]\nC[n<2, x<16] = sum[k<4](I[n, x + k] * W[k])",
     "tensorize(C, x, gemv_16x4)", "vfmadd", 0},
    {"gemv, f64", "input A: f64[8,32], B: f64[32,32]\nC[i<8, j<32] = sum[k<32](A[i,k] * B[k,j])",
     LOOPS("4") "tensorize(C, j.inner, gemv_f64_16x4)", "vfmadd", 0},
};

/* The edges of the dtypes among random values; of bf16 numbers near 1. */
static void fill(DLTensor *array, tn_dtype dtype, uint64_t seed) {
  size_t n = tn_array_bytes(array);
  tn_array_fill(K.ctx, array, seed);
  if (dtype == TN_U8 || dtype == TN_I8)
    for (size_t i = 0; i < n; i += 3)
      ((uint8_t *)array->data)[i] = (uint8_t)(i % 2 ? 0x80 : dtype == TN_U8 ? 0xFF : 0x7F);
}

typedef struct arrays {
  tn_program *program;
  int n, n_inputs;
  DLTensor *got[8], *expected[8];
} arrays;

static arrays open_arrays(tn_program *p) {
  arrays a = {.program = p, .n = tn_program_arg_count(p), .n_inputs = tn_program_input_count(p)};
  for (int i = 0; i < a.n; ++i) {
    tn_tensor *t = tn_program_arg(p, i);
    DLTensor **both[] = {&a.got[i], &a.expected[i]};
    for (int k = 0; k < 2; ++k) {
      *both[k] = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
      fill(*both[k], tn_tensor_dtype(t), 7 + (uint64_t)i);
    }
  }
  check_ok(K.ctx);
  return a;
}

static void close_arrays(arrays *a) {
  for (int i = 0; i < a->n; ++i) tn_array_free(a->got[i]), tn_array_free(a->expected[i]);
}

static void compare(const arrays *a) {
  int out = a->n - 1;
  tn_dtype dtype = tn_tensor_dtype(tn_program_arg(a->program, out));
  const void *got = a->got[out]->data, *expected = a->expected[out]->data;
  int64_t n = (int64_t)(tn_array_bytes(a->got[out]) / tn_dtype_bytes(dtype));
  for (int64_t i = 0; i < n; ++i) {
    if (!tn_dtype_is_float(dtype)) {
      assert_int_equal(kit_get_int(dtype, got, i), kit_get_int(dtype, expected, i));
    } else {
      double y = kit_get(dtype, expected, i);
      assert_true(fabs(kit_get(dtype, got, i) - y) <= (dtype == TN_F64 ? 1e-13 : 1e-4) * (1 + fabs(y)));
    }
  }
}

static tn_schedule *scheduled(const tensor_row *r) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, r->program, 0, NULL));
  tn_schedule_apply(s, r->schedule);
  check_ok(K.ctx);
  return s;
}

static void run_for(const tensor_row *r, const tn_target *target) {
  tn_schedule *s = scheduled(r);
  tn_build_options options = {.target = target};
  arrays a = open_arrays(tn_schedule_program(s));
  tn_kernel *k = tn_build(s, &options);
  check_ok(K.ctx);
  tn_call(K.ctx, k, a.got, a.n);
  tn_evaluate(a.program, a.expected, a.n);
  check_ok(K.ctx);
  compare(&a);
  tn_kernel_free(k);
  close_arrays(&a);
  tn_schedule_free(s);
}

static void run(void **state) { run_for(*state, NULL); }

static void run_without(void **state) {
  const tn_target *target = tn_target_new(K.ctx, "features=-avx512vnni,-avx512bf16,-avxvnni,-avx512f");
  if (target == NULL) {
    tn_context_clear(K.ctx);
    skip();
  }
  run_for(*state, target);
}

static int count(const char *text, const char *word) {
  int n = 0;
  while ((text = strstr(text, word)) != NULL) n++, text += strlen(word);
  return n;
}

static void assembly(void **state) {
  const tensor_row *r = *state;
  tn_schedule *s = scheduled(r);
  tn_build_options options = {
      .target = tn_target_new(K.ctx, "triple=x86_64-linux-gnu cpu=x86-64-v4 features=+avx512vnni,+avx512bf16")};
  char *text = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  check_has(text, r->instruction);
  if (r->inner > 0) assert_int_equal(count(text, r->instruction), r->inner);
  free(text);
  tn_schedule_free(s);
}

/* ---- the inner loop of the blocked product ----------------------------------------------------------------------- */

/* Between the first and the last dot product stand loads, broadcasts and dot products only: 24 of 12 x 32 accumulators in each of four steps,
 * 12 broadcasts of four bytes for each step, no access to the stack. */
static void inner_loop(void **state) {
  (void)state;
  const tensor_row *r = &tensor_rows[4];
  tn_schedule *s = scheduled(r);
  tn_build_options options = {.target = tn_target_new(K.ctx, "triple=x86_64-linux-gnu cpu=znver4")};
  char *text = tn_build_text(s, &options, ".s"), *begin = strstr(text, "vpdpbusd"), *end = begin, *line;
  check_ok(K.ctx);
  for (char *next = begin; next != NULL; next = strstr(next + 1, "vpdpbusd")) end = next;
  *strchr(end, '\n') = '\0';
  int broadcasts = 0;
  for (line = strtok(begin, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    bool known = strstr(line, "vpdpbusd") || strstr(line, "vpbroadcastd") || strstr(line, "vmovdqu64");
    broadcasts += strstr(line, "vpbroadcastd") != NULL;
    if (!known || strstr(line, "rsp")) fail_msg("in the inner loop: %s", line);
  }
  assert_int_equal(broadcasts, 47); /* the first stands before the first dot product */
  free(text);
  tn_schedule_free(s);
}

/* Rows as far apart as a call says: a word a lane, no bytes one by one. */
static void words_of_rows(void **state) {
  (void)state;
  tn_schedule *s = tn_schedule_new(tn_program_parse(
      K.ctx, "input A: u8[8,32], B: i8[32,32] strided\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[j,k]))", 0, NULL));
  tn_schedule_apply(s, PEELED("4") "tensorize(C, j.inner, dot4_u8i8)");
  tn_build_options options = {.target = tn_target_new(K.ctx, "triple=x86_64-linux-gnu cpu=znver4")};
  char *text = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  check_has(text, "vpdpbusd");
  check_has(text, "vpinsrd");
  check_has_not(text, "vpinsrb");
  free(text);
  tn_schedule_free(s);
}

int test_tensorize(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(inner_loop), cmocka_unit_test(words_of_rows)};
  return CHECK_TABLE("tensorize", tensor_rows, run) +
         CHECK_TABLE("tensorize without instructions", tensor_rows, run_without) +
         CHECK_TABLE("tensorize: assembly", tensor_rows, assembly) + CHECK_TABLE("gemv", gemv_rows, run) +
         CHECK_TABLE("gemv without AVX-512", gemv_rows, run_without) +
         CHECK_TABLE("gemv: assembly", gemv_rows, assembly) + CHECK_TESTS("tensorize: the inner loop", tests);
}
