/* Vectors that overlap: what neighbouring stores read is read once, and put together by shuffles; nothing is read that they
 * do not read. */
#include "tests/codegen/kit.h"

typedef struct near_row {
  const char *name, *program, *schedule, *cpu;
  const char *has, *lacks; /* in the assembly; NULL: nothing */
} near_row;

#define TAPS "C[i<64, j<256] = A[i,j] + A[i,j+1] + A[i,j+2]"
#define ONE "vectorize(C, j)"
#define VECTORS "split(C, j, 16); vectorize(C, j.inner)"
#define ROWS                                                                                                           \
  "split(C, i, 4); split(C, j, 16); reorder(C, i.outer, j.outer, i.inner, j.inner); unroll(C, i.inner); vectorize(C, " \
  "j.inner)"

static const near_row near_rows[] = {
    {"three taps", "input A: f32[64,258]\n" TAPS, VECTORS, "znver4", "valign", NULL},
    {"a long vector", "input A: f32[64,258]\n" TAPS, "split(C, j, 64); vectorize(C, j.inner)", "znver4", "valign",
     NULL},
    {"in pieces", "input A: f32[64,242]\nC[i<64, j<240] = A[i,j] + A[i,j+1] + A[i,j+2]",
     "split(C, j, 48); vectorize(C, j.inner)", "znver4", "valign", NULL},
    {"whole rows", "input A: f32[64,258]\n" TAPS, ONE, "znver4", "valign", NULL},
    {"f64", "input A: f64[64,258]\n" TAPS, "split(C, j, 8); vectorize(C, j.inner)", "znver4", "valignq", NULL},
    {"the greatest of neighbours", "input A: f32[64,258]\nC[i<64, j<256] = max(max(A[i,j+1], A[i,j]), A[i,j+2])",
     VECTORS, "znver4", "vmaxps", "vcmp"},
    {"the least of neighbours in f64", "input A: f64[64,258]\nC[i<64, j<256] = min(min(A[i,j+1], A[i,j]), A[i,j+2])",
     "split(C, j, 8); vectorize(C, j.inner)", "znver4", "vminpd", "vcmp"},
    {"another neighbour than those compared",
     "input A: f32[64,258]\nC[i<64, j<256] = select(A[i,j] < A[i,j+1], A[i,j], A[i,j+2])", VECTORS, "znver4", "vcmp",
     "vminps"},
    {"i32", "input A: i32[64,258]\n" TAPS, VECTORS, "znver4", "valign", NULL},
    {"rows together", "input A: f32[66,258]\nC[i<64, j<256] = A[i,j+1] + A[i+2,j+1] + A[i+1,j] + A[i+1,j+2]", ROWS,
     "znver4", "valign", NULL},
    {"far taps and near ones", "input A: f32[64,300]\nC[i<64, j<256] = A[i,j] * A[i,j+15] + A[i,j+40] + A[i,j+41]",
     VECTORS, "znver4", "valignd\t$15", NULL},
    {"of a sum", "input A: f32[66,258], W: f32[3,3]\nC[i<64, j<256] = sum[r<3, s<3](A[i+r,j+s] * W[r,s])",
     "cache_write(C, local); split(C, j, 16); vectorize(C, j.inner); compute_at(C.local, C, j.outer); "
     "reorder(C.local, i.c, r, s, j.c); vectorize(C.local, j.c); unroll(C.local, r); unroll(C.local, s)",
     "znver4", "valign", NULL},
    {"rows of three columns by a matrix", "input M: f64[3,3], X: f64[64,3]\nY[b<64, i<3] = sum[k<3](M[i,k] * X[b,k])",
     "split(Y, b, 8); fuse(Y, b.inner, i); reorder(Y, b.outer, k, b.inner.i.fused); unroll(Y, k); "
     "vectorize(Y, b.inner.i.fused)",
     "znver4", "vperm", "vmovhp"},
    {"matrices by their vectors", "input A: f32[64,3,3], X: f32[64,3]\nY[b<64, i<3] = sum[k<3](A[b,i,k] * X[b,k])",
     "split(Y, b, 16); fuse(Y, b.inner, i); reorder(Y, b.outer, k, b.inner.i.fused); unroll(Y, k); "
     "vectorize(Y, b.inner.i.fused)",
     "znver4", "vperm", "vinsertps"},
    {"every second element", "input A: f32[64,518]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] + A[i,2*j+2] + A[i,2*j+4]",
     VECTORS, "znver4", "vperm", "vinsertps"},
    {"every second element from an odd one on",
     "input A: f32[64,530]\nC[i<64, j<256] = A[i,2*j+1] - A[i,2*j+4] * A[i,2*j+5] + A[i,2*j+9] - A[i,2*j+15]", VECTORS,
     "znver4", "vperm", "vinsertps"},
    {"every second element of two vectors",
     "input A: f32[64,518]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] + A[i,2*j+2] * A[i,2*j+3] - A[i,2*j+4]",
     "split(C, j, 32); vectorize(C, j.inner)", "znver4", "valign", "vinsertps"},
    {"every second element of f64", "input A: f64[64,518]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] + A[i,2*j+3]",
     "split(C, j, 8); vectorize(C, j.inner)", "znver4", "vperm", "vmovhp"},
    {"every second element of rows that end there",
     "input A: f32[64,513]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] + A[i,2*j+2]", VECTORS, "znver4", "vperm",
     "vinsertps"},
    {"every second element, more than half a vector on",
     "input A: f32[64,540]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] * A[i,2*j+3] - A[i,2*j+20]", VECTORS, "znver4",
     "vperm", "vinsertps"},
    {"every second element far apart", "input A: f32[64,600]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+33] + A[i,2*j+50]",
     VECTORS, "znver4", "vperm", "vinsertps"},
    {"bytes stay", "input A: u8[64,258]\n" TAPS, "vectorize(C, j)", "znver4", "vpaddb", "valign"},
    {"one tap stays", "input A: f32[64,258]\nC[i<64, j<256] = A[i,j+1]", VECTORS, "znver4", "vmovups", "valign"},
    {"side by side stays", "input A: f32[64,258]\nC[i<64, j<240] = A[i,j] + A[i,j+16]", VECTORS, "znver4", "vmovups",
     "valign"},
    {"short vectors stay", "input A: f32[64,258]\n" TAPS, "split(C, j, 8); vectorize(C, j.inner)", "znver4", "vmovups",
     "valign"},
    {"narrow machines", "input A: f32[64,258]\n" TAPS, "split(C, j, 8); vectorize(C, j.inner)", "haswell", "vmovups",
     "perm"},
};

static void by_shuffles(void **state) {
  const near_row *r = *state;
  char *assembly = kit_assembly(r->program, r->schedule, r->cpu);
  check_has(assembly, r->has);
  if (r->lacks && strstr(assembly, r->lacks)) fail_msg("%s in\n%s", r->lacks, assembly);
  free(assembly);
}

static void same_values(void **state) {
  const near_row *r = *state;
  kit_same_values(r->program, r->schedule);
}

/* Loads into whole registers, constants apart. */
static int loads_of(const char *program) {
  char *assembly = kit_assembly(program, VECTORS, "znver4");
  int n = 0;
  for (const char *line = assembly; line; line = strchr(line + 1, '\n')) {
    size_t length = strcspn(line + 1, "\n");
    const char *end = line + 1 + length;
    const char *to = strstr(line, "), %zmm"), *constant = strstr(line, "(%rip)");
    n += to && to < end && !(constant && constant < end);
  }
  free(assembly);
  return n;
}

/* Five taps by two read two registers and a part of one. */
static void by_twos_once(void **state) {
  (void)state;
  int n =
      loads_of("input A: f32[64,518]\nC[i<64, j<256] = A[i,2*j] + A[i,2*j+1] + A[i,2*j+2] + A[i,2*j+3] + A[i,2*j+4]");
  if (n > 2) fail_msg("%d loads", n);
}

int test_near(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(by_twos_once)};
  return CHECK_TABLE("vectors that overlap", near_rows, by_shuffles) +
         CHECK_TABLE("their values", near_rows, same_values) + CHECK_TESTS("read once", tests);
}
