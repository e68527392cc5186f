/* Transposes through registers: stores of a tile whose values are read against the grain load whole blocks and shuffle,
 * for each size of an element; and stores past the caches, which only aligned vectors of outputs are. */
#include "tests/codegen/kit.h"

typedef struct turn_row {
  const char *name, *program, *schedule, *cpu;
  const char *has;   /* an instruction of the assembly */
  const char *lacks; /* one that element by element would need; or NULL */
} turn_row;

#define TILE(rows, columns)                             \
  "split(C, i, " rows "); split(C, j, " columns         \
  "); reorder(C, i.outer, j.outer, i.inner, j.inner); " \
  "vectorize(C, j.inner); unroll(C, i.inner)"
/* Vectors of WIDTH side by side in a row of a tile. */
#define BESIDE(rows, columns, width)                                                                    \
  "split(C, i, " rows "); split(C, j, " columns "); split(C, j.inner, " width                           \
  "); reorder(C, i.outer, j.outer, i.inner, j.inner.outer, j.inner.inner); vectorize(C, j.inner.inner)" \
  "; unroll(C, i.inner); unroll(C, j.inner.outer)"
#define TURN(dtype) "input A: " dtype "[256,320]\nC[i<320, j<256] = A[j,i]"

/* Groups of G neighbours in ROWS rows of N, side by side: as dot products of bytes take them. */
#define WORDS(rows, n, dtype, g) \
  "input A: " dtype "[" rows "," n "]\nC[g<" n "//" g ", i<" rows ", c<" g "] = A[i, g*" g " + c]"
#define WORD_TILE(groups, rows)                            \
  "split(C, g, " groups "); split(C, i, " rows             \
  "); reorder(C, g.outer, i.outer, g.inner, i.inner, c); " \
  "fuse(C, i.inner, c); vectorize(C, i.inner.c.fused); unroll(C, g.inner)"

static const turn_row turn_rows[] = {
    {"f32, whole vectors", TURN("f32"), TILE("16", "16"), "znver4", "vunpckhps", "vinsertps"},
    {"f32, blocks", TURN("f32"), TILE("4", "16"), "znver4", "vunpckhps", "vinsertps"},
    {"f32, ymm", TURN("f32"), TILE("8", "8"), "haswell", "vunpckhps", "vinsertps"},
    {"f32, two vectors wide", TURN("f32"), TILE("4", "32"), "znver4", "vunpckhps", "vinsertps"},
    {"f32, two tiles whose stores take turns", TURN("f32"), BESIDE("8", "16", "8"), "haswell", "vunpckhps",
     "vinsertps"},
    {"f32, four", TURN("f32"), BESIDE("8", "32", "8"), "haswell", "vunpckhps", "vinsertps"},
    {"f64, two", TURN("f64"), BESIDE("4", "8", "4"), "haswell", "vunpckhpd", "vmovhp"},
    {"three are not turned together", "input A: f32[240,320]\nC[i<320, j<240] = A[j,i]", BESIDE("8", "24", "8"),
     "haswell", "vinsertps", NULL},
    {"nor tiles of less rows than a vector has lanes", TURN("f32"), BESIDE("4", "16", "8"), "haswell", "vinsertps",
     NULL},
    {"f64", TURN("f64"), TILE("8", "8"), "znver4", "vunpckhpd", "vmovhp"},
    {"u8", TURN("u8"), TILE("16", "64"), "znver4", "vpunpckhbw", "vpinsrb"},
    {"i16", TURN("i16"), TILE("8", "32"), "znver4", "vpunpckhwd", "vpinsrw"},
    {"u8, whole vectors", TURN("u8"), TILE("64", "64"), "znver4", "vpunpckhbw", "vinserti"},
    {"i16, whole vectors", TURN("i16"), TILE("32", "32"), "znver4", "vpunpckhwd", "vinserti"},
    {"words of bytes", WORDS("64", "256", "u8", "4"), WORD_TILE("16", "16"), "znver4", "unpckh", "vpinsrd"},
    {"words of bytes, blocks", WORDS("64", "256", "u8", "4"), WORD_TILE("4", "16"), "znver4", "unpckh", NULL},
    {"words of bytes, ymm", WORDS("64", "256", "u8", "4"), WORD_TILE("8", "8"), "haswell", "unpckh", NULL},
    {"pairs of bf16", WORDS("64", "128", "bf16", "2"), WORD_TILE("16", "16"), "znver4", "unpckh", "vpinsrd"},
    {"pairs of f32", WORDS("64", "64", "f32", "2"), WORD_TILE("8", "8"), "znver4", "unpckh", "vinsertps"},
    {"words of rows that are not all there", WORDS("62", "256", "u8", "4"), WORD_TILE("16", "16"), "znver4", "unpckh",
     NULL},
    {"words of vectors that begin anywhere in a fused loop", WORDS("64", "256", "u8", "4"),
     "split(C, g, 16); fuse(C, i, c); split(C, i.c.fused, 64); reorder(C, g.outer, i.c.fused.outer, g.inner, "
     "i.c.fused.inner); vectorize(C, i.c.fused.inner); unroll(C, g.inner)",
     "znver4", "unpckh", "vpinsrd"},
    {"backwards", "input A: f32[256,320]\nC[i<320, j<256] = A[j,319-i]", TILE("16", "16"), "znver4", "vunpckhps",
     "vinsertps"},
    {"backwards, blocks", "input A: i16[256,320]\nC[i<320, j<256] = A[j,319-i]", TILE("8", "32"), "znver4",
     "vpunpckhwd", "vpinsrw"},
    {"rows from below", "input A: f32[256,320]\nC[i<320, j<256] = A[255-j,i]", TILE("16", "16"), "znver4", "vunpckhps",
     "vinsertps"},
    {"both", "input A: u8[256,320]\nC[i<320, j<256] = A[255-j,319-i]", TILE("64", "64"), "znver4", "vpunpckhbw",
     "vinserti"},
    {"pixels of four bytes", "input A: u8[64,48,4]\nC[g<48, i<64, c<4] = A[i,g,c]", WORD_TILE("16", "16"), "znver4",
     "unpckh", "vpinsrd"},
    {"pixels of three bytes", "input A: u8[64,48,3]\nC[g<48, i<64, c<3] = A[i,g,c]", WORD_TILE("16", "16"), "znver4",
     "unpckh", "vpinsrb"},
    {"pixels of three bytes, blocks, backwards", "input A: u8[64,48,3]\nC[g<48, i<64, c<3] = A[i,47-g,c]",
     WORD_TILE("4", "16"), "znver4", "unpckh", "vpinsrb"},
    {"three words of two bytes", "input A: i16[64,48,3]\nC[g<48, i<64, c<3] = A[i,g,c]", WORD_TILE("8", "8"), "znver4",
     "vperm", "vpinsrw"},
    {"something computed", "input A: f32[256,320], B: f32[256]\nC[i<320, j<256] = A[j,i] * B[j] + 1", TILE("16", "16"),
     "znver4", "vunpckhps", "vinsertps"},
    {"rows that a table chooses", "input T: f32[500,64], I: i32[40]\nC[i<40, j<64] = T[min(max(I[i], 0), 499), j]",
     "vectorize(C, j)", "znver4", "vmovups", "vinsertps"},
    {"rows that bytes choose", "input T: f32[256,64], I: u8[40]\nC[i<40, j<64] = T[i32(I[i]), j]", "vectorize(C, j)",
     "znver4", "vmovups", "vinsertps"},
    {"rows of a symbol", "symbol M<=320\ninput A: f32[256,M]\nC[i<M, j<256] = A[j,i]",
     "split(C, i, 16, tail=peel); split(C, j, 16); reorder(C, i.outer, j.outer, i.inner, j.inner); vectorize(C, "
     "j.inner); "
     "unroll(C, i.inner)",
     "znver4", "vunpckhps", NULL},
    {"rows that are no block", TURN("f32"), TILE("3", "16"), "znver4", "vinsertps", NULL},
    {"a choice of more lanes than a register has",
     "input A: f32[64], B: f32[64], I: i32[64]\nC[i<64] = select(A[i] > B[i] || A[i] == B[i] && I[i] < 7, A[i], B[i])",
     "split(C, i, 32); vectorize(C, i.inner)", "haswell", "vblendvps", "vpackssdw"},
    {"the first of the greatest, of more columns than a register has",
     "input A: f32[100,32]\n(I, V)[j<32] = argmax[k<100](A[k,j])", "reorder(I, k, j); vectorize(I, j)", "haswell",
     "vblendvps", "vpackssdw"},
    {"lanes of an argmax are combined without a branch", "input A: f32[100,40]\n(I, V)[i<100] = argmax[k<40](A[i,k])",
     "split(I, k, 8); rfactor(I, k.inner, 1); reorder(I.rf, i, k.outer, k.inner); vectorize(I.rf, k.inner); "
     "set_scope(I.rf, local); compute_at(I.rf, I, i); unroll(I, k.inner.v)",
     "haswell", "cmov", "\tjne"},
    {"a sum of two of them", "input A: f32[256,320], B: f32[256,320]\nC[i<320, j<256] = A[j,i] + B[j,i]",
     TILE("16", "16"), "znver4", "vinsertps", NULL},
};

static char *assembly_of(const char *program, const char *schedule, const char *cpu) {
  char spec[96];
  snprintf(spec, sizeof spec, "triple=x86_64-pc-linux-gnu cpu=%s threads=1", cpu);
  const tn_build_options options = {.target = tn_target_new(K.ctx, spec)};
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  char *assembly = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  tn_schedule_free(s);
  return assembly;
}

static void by_shuffles(void **state) {
  const turn_row *r = *state;
  char *assembly = assembly_of(r->program, r->schedule, r->cpu);
  check_has(assembly, r->has);
  if (r->lacks && strstr(assembly, r->lacks)) fail_msg("%s in\n%s", r->lacks, assembly);
  free(assembly);
}

/* The same values as the program without a schedule, on this machine. */
static void same_values(void **state) {
  const turn_row *r = *state;
  tn_program *program = tn_program_parse(K.ctx, r->program, 0, NULL);
  DLTensor *args[4];
  int n = tn_program_arg_count(program);
  void *expected = NULL;
  for (int i = 0; i < n; i++) {
    const tn_tensor *t = tn_program_arg(program, i);
    args[i] = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    tn_array_fill(K.ctx, args[i], 1 + (uint64_t)i);
  }
  size_t bytes = tn_array_bytes(args[n - 1]);
  for (int scheduled = 0; scheduled < 2; scheduled++) {
    tn_schedule *s = tn_schedule_new(program);
    if (scheduled) tn_schedule_apply(s, r->schedule);
    tn_kernel *kernel = tn_build(s, NULL);
    check_ok(K.ctx);
    memset(args[n - 1]->data, 0, bytes);
    assert_int_equal(tn_call(K.ctx, kernel, args, n), TN_OK);
    if (!scheduled) expected = memcpy(malloc(bytes), args[n - 1]->data, bytes);
    tn_kernel_free(kernel);
    tn_schedule_free(s);
  }
  assert_memory_equal(args[n - 1]->data, expected, bytes);
  free(expected);
  for (int i = 0; i < n; i++) tn_array_free(args[i]);
}

/* ---- stores past the caches -------------------------------------------------------------------------------------- */

#define ADD "C[i<64, j<256] = A[i,j] + 1"
#define TWO "P[i<64, j<256] = A[i,j] + 1\nC[i<64, j<256] = P[i,j] * 2"

static const turn_row stream_rows[] = {
    {"vectors of an output", ADD, "vectorize(C, j); pragma(C, i, stream_stores, 1)", "znver4", "vmovntps", NULL},
    {"by threads", ADD, "vectorize(C, j); parallel(C, i); pragma(C, i, stream_stores, 1)", "znver4", "sfence", NULL},
    {"scalars stay", ADD, "pragma(C, i, stream_stores, 1)", "znver4", "sfence", "movnt"},
    {"scratch stays", TWO, "vectorize(P, j); pragma(P, i, stream_stores, 1); vectorize(C, j)", "znver4", "sfence",
     "movnt"},
    {"without it", ADD, "vectorize(C, j)", "znver4", "vmovups", "movnt"},
};

/* Arrays of any alignment, as what is aligned is decided by each row of stores. */
static void on_any_alignment(const char *program, int n, const char *schedule) {
  enum { MOST = 64 * 256 };
  _Alignas(64) static float a[MOST], c[MOST + 16];
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  for (int i = 0; i < n; i++) a[i] = (float)i;
  for (int offset = 0; offset < 16; offset++) {
    memset(c, 0, sizeof c);
    assert_int_equal(kit_call(kernel, (void *[]){a, c + offset}), 0);
    for (int i = 0; i < n; i++) assert_true(c[offset + i] == a[i] + 1);
    assert_true(offset == 0 || c[offset - 1] == 0);
  }
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

/* Rows of four lines and a half, of which every second one is aligned. */
#define HALF_LINES                                                                                               \
  "split(C, j, 16, tail=overlap); split(C, i, 4); reorder(C, i.outer, j.outer, i.inner, j.inner); vectorize(C, " \
  "j.inner); unroll(C, i.inner); pragma(C, i.outer, stream_stores, 1)"

static void any_alignment(void **state) {
  (void)state;
  on_any_alignment(ADD, 64 * 256, "vectorize(C, j); pragma(C, i, stream_stores, 1)");
  on_any_alignment("C[i<64, j<72] = A[i,j] + 1", 64 * 72, HALF_LINES);
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
  return n;
}

#define FOUR_ROWS                                                                                            \
  "split(C, j, 16); split(C, i, 4); reorder(C, i.outer, j.outer, i.inner, j.inner); vectorize(C, j.inner); " \
  "unroll(C, i.inner); pragma(C, i.outer, stream_stores, 1)"
#define STEPS                                                                                               \
  "split(C, j, 16); reorder(C, i, j.outer, k, j.inner); vectorize(C, j.inner); unroll(C, k); pragma(C, i, " \
  "stream_stores, 1)"

/* Stores in a row are asked for together, but not where one reads what another one stored. */
static void asked_together(void **state) {
  (void)state;
  char *rows = assembly_of("C[i<64, j<64] = A[i,j] + 1", FOUR_ROWS, "znver4");
  assert_int_equal(count(rows, "%streamed"), 1);
  assert_int_equal(count(rows, "vmovntps"), 4);
  free(rows);
  char *steps = assembly_of("input A: f32[64,4,64]\nC[i<64, j<64] = sum[k<4](A[i,k,j])", STEPS, "znver4");
  assert_true(count(steps, "%streamed") >= 4);
  free(steps);
}

int test_turn(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(any_alignment), cmocka_unit_test(asked_together)};
  return CHECK_TABLE("turned by shuffles", turn_rows, by_shuffles) +
         CHECK_TABLE("turned values", turn_rows, same_values) +
         CHECK_TABLE("past the caches", stream_rows, by_shuffles) + CHECK_TESTS("alignments", tests);
}
