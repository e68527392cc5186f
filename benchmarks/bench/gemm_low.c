/* gemm_low.c: matrix products of low precision, through tensorize: gemm-bf16-MxNxK (bf16 times bf16, sums in f32),
 * gemm-i8-MxNxK (u8 times i8, sums in i32) and gemm-s8-MxNxK (i8 times i8). B is copied into panels of 32 columns in
 * which two or four rows lie beside each other, as vdpbf16ps and vpdpbusd take them; a panel's vectors are read one
 * after the other. A is read as it is, two or four elements of a row for all lanes. */
#include <string.h>

#include "bench.h"

/* The register tile of all three precisions, and bytes of a block of panels of B. */
enum { ROWS = 12, COLUMNS = 32, PANELS_BYTES = 1 << 20 };

/* A row of the table: element types as the text form spells them, the intrinsic that multiplies them, how many
 * steps of k it takes at once (GROUP) and bytes of an input element. */
typedef struct precision {
  const char *name;
  vendor_operator op;
  const char *left, *right, *sum, *intrin;
  int group, bytes;
} precision;

static const precision precisions[] = {
    {"bf16", VENDOR_GEMM_BF16, "bf16", "bf16", "f32", "dot2_bf16", 2, 2},
    {"i8", VENDOR_GEMM_U8, "u8", "i8", "i32", "dot4_u8i8", 4, 1},
    {"s8", VENDOR_GEMM_I8, "i8", "i8", "i32", "dot4_u8i8", 4, 1},
};

/* Signed bytes become unsigned by adding 128, and 128 times the sum of a column is taken away at the end. */
static const char shifted[] =
    "U[i<M, k<K] = u8(i32(A[i,k]) + 128)\n"
    "S[j<N] = sum[k<K](i32(B[k,j]))\n";
/* Added to the schedule where the inputs are shifted. */
static const char shifted_schedule[] =
    "vectorize(U, k, 64, tail=peel); split(S, j, 64, tail=peel); reorder(S, j.outer, k, j.inner); vectorize(S, "
    "j.inner)\n";

/* Appends the stage P, which copies B into panels. Sizes that fill panels and groups need no condition; the
 * others are padded with zeros. */
static void write_panels(bench_case *c, const precision *p, bool is_padded) {
  int g = p->group;
  size_t used = strlen(c->text.program);
  char element[64];
  snprintf(element, sizeof element, "B[ko*%d + ki, jo*32 + ji]", g);
  snprintf(c->text.program + used, sizeof c->text.program - used,
           "P[jo<(N+31)//32, ko<(K+%d)//%d, ji<32, ki<%d] = ", g - 1, g, g);
  used = strlen(c->text.program);
  if (is_padded)
    snprintf(c->text.program + used, sizeof c->text.program - used,
             "%s(select(jo*32 + ji < N && ko*%d + ki < K, %s, 0))\n", p->right, g, element);
  else
    snprintf(c->text.program + used, sizeof c->text.program - used, "%s\n", element);
}

/* Writes the whole program: shifted inputs where there are any, the panels, the sums T and the output. */
static void write_program(bench_case *c, const precision *p, long long m, long long n, long long k) {
  bool is_shifted = p->op == VENDOR_GEMM_I8;
  int g = p->group;
  snprintf(c->text.program, sizeof c->text.program,
           "param M = %lld, N = %lld, K = %lld\ninput A: %s[M,K], B: %s[K,N]\n%s", m, n, k, p->left, p->right,
           is_shifted ? shifted : "");
  write_panels(c, p, n % COLUMNS != 0 || k % g != 0);
  size_t used = strlen(c->text.program);
  snprintf(c->text.program + used, sizeof c->text.program - used,
           "T[i<M, j<(N+31)//32*32] = sum[k<K](%s(%s[i,k]) * %s(P[j//32, k//%d, j%%32, k%%%d]))\n"
           "C[i<M, j<N] = T[i,j]%s\n",
           p->sum, is_shifted ? "U" : "A", p->sum, g, g, is_shifted ? " - S[j]*128" : "");
}

static int64_t clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

/* Added for several threads. */
static const char in_parallel[] = "parallel(C, i.outer.outer); parallel(P, ko)\n";

/* As for f32 (gemm.c): a block of panels of B, and a block of rows of A that goes by them, stay in the caches; sums are
 * in registers for all of k. */
static void write_schedule(bench_case *c, const precision *p, int64_t m, int64_t k, int threads) {
  bool is_shifted = p->op == VENDOR_GEMM_I8;
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "set_scope(T, local)\n"
           "split(C, i, 12, tail=peel); split(C, j, 32, tail=peel); split(C, j.inner, 16)\n"
           "split(C, i.outer, %lld, tail=peel); split(C, j.outer, %lld, tail=peel)\n"
           "reorder(C, j.outer.outer, i.outer.outer, j.outer.inner, i.outer.inner, i.inner, j.inner.outer, "
           "j.inner.inner)\n"
           "vectorize(C, j.inner.inner)\n"
           "compute_at(T, C, i.outer.inner); split(T, j, 16); split(T, k, %d, tail=peel)\n"
           "reorder(T, k.outer, i, j.outer, j.inner, k.inner); tensorize(T, j.inner, %s)\n"
           "compute_at(P, C, j.outer.outer); reorder(P, ko, jo, ji, ki); fuse(P, ji, ki); vectorize(P, ji.ki.fused)\n"
           "%s%s%s",
           (long long)bench_tiles_in_block(m, ROWS, p->bytes * k, threads),
           (long long)clamp(PANELS_BYTES / (COLUMNS * p->bytes * k), 1, 32), p->group, p->intrin,
           is_shifted ? shifted_schedule : "", threads > 1 ? in_parallel : "",
           threads > 1 && is_shifted ? "parallel(U, i)\n" : "");
}

bool bench_gemm_low(bench_case *c, const char *name, int threads) {
  char kind[8];
  long long m, n, k;
  int end = 0;
  if (sscanf(name, "gemm-%4[a-z0-9]-%lldx%lldx%lld%n", kind, &m, &n, &k, &end) != 4 || name[end] != '\0') return false;
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; ++i) {
    const precision *p = &precisions[i];
    if (strcmp(p->name, kind) != 0) continue;
    write_program(c, p, m, n, k);
    write_schedule(c, p, m, k, threads);
    c->problem.op = p->op;
    memcpy(c->problem.dim, (int64_t[]){1, m, n, k}, 4 * sizeof(int64_t));
    c->flops = 2.0 * (double)m * (double)n * (double)k;
    c->bytes = p->bytes * ((double)m * (double)k + (double)k * (double)n) + 4.0 * (double)m * (double)n;
    c->number = p->group == 2 ? VENDOR_BF16 : VENDOR_BYTES;
    return true;
  }
  return false;
}
