/* gemm.c: matrix products: gemm-MxNxK and bgemm-BxMxNxK. The program has a stage that copies B into panels 64 columns
 * wide, padded with zeros: the inner kernel, 6 x 64 accumulators in registers, reads them in order. Six rows of A,
 * unlike twelve, leave ways of the first level cache to the panel where rows lie a multiple of 4 KB apart. Where the
 * caches can hold columns of B as they lie, nothing is copied. */
#include <string.h>

#include "bench.h"

/* Widths and thresholds of the hand-written schedules: columns of a tile for FEW_ROWS or less
 * (COLUMNS) and for more (WIDE, with LOW rows); all sizes up to SMALL are done without copying; bytes of a
 * block of A and of panels of B. */
enum { COLUMNS = 32, SMALL = 64, FEW_ROWS = 192, WIDE = 64, LOW = 6, BLOCK_BYTES = 400 << 10, PANELS_BYTES = 1 << 20 };
/* LONG_PART and SHORT_PART: most and least steps of k taken at once. The rest is a second level cache as
 * processors have them, 1 MB: 1024 sets of 16 lines of 64 bytes. */
enum { LONG_PART = 512, SHORT_PART = 128, LINE_FLOATS = 16, SETS = 1024, WAYS = 16 };

/* The sums of whole panels, so that the last panel's are vectors of W like the others': only the copy to C is short. */
static const char panel_program[] =
    "param M = %lld, N = %lld, K = %lld, W = %lld\n"
    "input A: f32[M,K], B: f32[K,N]\n"
    "P[jo<(N+W-1)//W, k<K, ji<W] = select(jo*W + ji < N, B[k, jo*W + ji], 0)\n"
    "T[i<M, j<(N+W-1)//W*W] = sum[k<K](A[i,k] * P[j//W, k, j%%W])\n"
    "C[i<M, j<N] = T[i,j]\n";

/* Read where it lies: for small products, vectors, and wherever is_in_place says so. */
static const char plain_program[] =
    "param M = %lld, N = %lld, K = %lld\n"
    "C[i<M, j<N] = sum[k<K](A[i,k] * B[k,j])\n";

/* Sums over parts of k, which are then added up: a part of A and 32 columns of a part of B stay in the caches. */
static const char parts_program[] =
    "param M = %lld, N = %lld, K = %lld, S = %lld\n"
    "input A: f32[M,K], B: f32[K,N]\n"
    "T[p<K//S, i<M, j<N] = sum[k<S](A[i, p*S + k] * B[p*S + k, j])\n"
    "C[i<M, j<N] = sum[p<K//S](T[p,i,j])\n";

/* A product for each b; the matrices are small enough to be read where they lie. */
static const char batch_program[] =
    "param B = %lld, M = %lld, N = %lld, K = %lld\n"
    "C[b<B, i<M, j<N] = sum[k<K](X[b,i,k] * Y[b,k,j])\n";

static int64_t clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

/* Into blocks of how many N tiles are put: about USUAL, and so that the threads get the same number of tiles. A block
 * of few costs something, too: what goes by it is read once for each. */
static int64_t shared_block(int64_t n, int64_t usual, int threads) {
  int64_t best = usual, least = INT64_MAX;
  if (threads == 1) return usual;
  for (int64_t block = 1; block <= 2 * usual; ++block) {
    int64_t blocks = (n + block - 1) / block, turns = (blocks + threads - 1) / threads,
            cost = 4 * turns * block + turns;
    if (cost < least || (cost == least && block <= usual)) least = cost, best = block;
  }
  return best;
}

/* The block takes at most BLOCK_BYTES, about two fifths of the second level cache. */
int64_t bench_tiles_in_block(int64_t m, int64_t rows, int64_t row_bytes, int threads) {
  return shared_block((m + rows - 1) / rows, clamp(BLOCK_BYTES / (rows * row_bytes), 1, 32), threads);
}

/* All of k at once: the accumulators start at zero and are stored once. A block of panels of B stays in the caches
 * while all of A goes by, a block of rows of A while these panels go by. Each thread copies and uses panels of its own,
 * or where there are few of them has rows of its own. */
static void block_schedule(bench_case *c, int64_t m, int64_t n, int64_t k, int threads) {
  int64_t panels = (n + WIDE - 1) / WIDE, usual = clamp(PANELS_BYTES / (WIDE * 4 * k), 1, 16);
  bool by_rows = panels < 4 * threads;
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "set_scope(T, local)\n"
           "split(C, i, %d, tail=peel); split(C, j, %d, tail=peel)\n"
           "split(C, i.outer, %lld, tail=peel); split(C, j.outer, %lld, tail=peel)\n"
           "reorder(C, j.outer.outer, i.outer.outer, j.outer.inner, i.outer.inner, i.inner, j.inner)\n"
           "vectorize(C, j.inner)\n"
           "compute_at(T, C, i.outer.inner); reorder(T, k, i, j); vectorize(T, j)\n"
           "compute_at(P, C, j.outer.outer); reorder(P, k, jo, ji); vectorize(P, ji)\n%s",
           LOW, WIDE, (long long)bench_tiles_in_block(m, LOW, 4 * k, by_rows ? threads : 1),
           (long long)(by_rows ? usual : shared_block(panels, usual, threads)),
           threads == 1 ? ""
           : by_rows    ? "parallel(C, i.outer.outer); parallel(P, k)\n"
                        : "parallel(C, j.outer.outer)\n");
}

/* Few rows: each panel is copied just before it is used by all of them. */
static void flat_schedule(bench_case *c, int threads) {
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "set_scope(T, local)\n"
           "split(C, i, 12, tail=peel); split(C, j, 32, tail=peel)\n"
           "reorder(C, j.outer, i.outer, i.inner, j.inner); vectorize(C, j.inner)\n"
           "compute_at(T, C, i.outer); reorder(T, k, i, j); vectorize(T, j)\n"
           "compute_at(P, C, j.outer); reorder(P, k, jo, ji); vectorize(P, ji)\n%s",
           threads > 1 ? "parallel(C, j.outer)\n" : "");
}

/* How many rows of 32 columns of B stay in the cache: rows lie N apart, and a multiple of a power of two reaches only a
 * part of the sets. */
static int64_t rows_in_cache(int64_t n) {
  int64_t lines = n / LINE_FLOATS, power = lines & -lines;
  return WAYS * (SETS / clamp(power, 1, SETS));
}

/* How much of k is taken at once so that these rows of 32 columns of B stay in the cache where they lie. */
static int64_t longest_part(int64_t n) { return clamp(rows_in_cache(n), 0, LONG_PART); }

/* Whether B is better read where it lies, all of k at once: for few rows of C, when k is short or B's lines fall into all
 * sets. (For more of them it depends on the pages that A and B get: 512 cubed 0.94 to 1.04 of oneDNN, packed 1.01 to 1.04.) */
static bool is_in_place(int64_t m, int64_t n, int64_t k) {
  return m <= FEW_ROWS && n % COLUMNS == 0 && (k <= longest_part(n) || rows_in_cache(n) >= SETS);
}

/* B is read where it lies: a strip of 32 columns stays in the cache while all rows of A pass. */
static void in_place_schedule(bench_case *c, int threads) {
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "cache_write(C, local)\n"
           "split(C, i, 12, tail=peel); split(C, j, 32, tail=peel); reorder(C, j.outer, i.outer, i.inner, j.inner)\n"
           "vectorize(C, j.inner)\n"
           "compute_at(C.local, C, i.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c)\n%s",
           threads > 1 ? "parallel(C, j.outer)\n" : "");
}

/* For few rows of C and a longer k: the largest part that divides it. 0: there is none, or so few rows of B stay in the
 * cache that they are not worth a pass over C. */
static int64_t part_of(int64_t m, int64_t n, int64_t k) {
  int64_t most = longest_part(n);
  if (m > FEW_ROWS || n % COLUMNS != 0 || most < SHORT_PART || k <= most) return 0;
  for (int64_t part = most; part >= most / 2; --part) {
    if (k % part == 0) return part;
  }
  return 0;
}

/* Rows of a tile, 12 to 14 with 32 columns in registers, that leave no rest or the largest: a short last tile waits for
 * its own sums. */
static int rows_of_tile(int64_t m) {
  int best = 12;
  for (int rows = 12; rows <= 14; ++rows) {
    if (m % best == 0) break;
    if (m % rows == 0 || m % rows > m % best) best = rows;
  }
  return best;
}

/* While a tile is computed, the same rows of the next columns are fetched. */
static void parts_schedule(bench_case *c, int64_t m, int threads) {
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "set_scope(T, local)\n"
           "split(C, i, %d, tail=peel); split(C, j, 32, tail=peel); reorder(C, p, j.outer, i.outer, i.inner, j.inner)\n"
           "vectorize(C, j.inner)\n"
           "compute_at(T, C, i.outer); reorder(T, p, k, i, j); vectorize(T, j); prefetch(T, B, k, 1, C, j.outer)\n%s",
           rows_of_tile(m), threads > 1 ? "parallel(C, j.outer)\n" : "");
}

/* Nothing is copied: B is small, or read once. */
static void plain_schedule(bench_case *c, int64_t m, int64_t n, int threads) {
  bool is_vector = m == 1;
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "cache_write(C, local)\n"
           "split(C, i, 8, tail=peel); split(C, j, %d, tail=peel); reorder(C, i.outer, j.outer, i.inner, j.inner)\n"
           "vectorize(C, j.inner)\n"
           "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c)\n%s",
           is_vector && n >= 256 ? 256 : COLUMNS, threads > 1 && is_vector ? "parallel(C, j.outer)\n" : "");
}

/* Picks one of five schedules by the sizes and fills in the program that it is for. Always true. */
static bool one_gemm(bench_case *c, int64_t m, int64_t n, int64_t k, int threads) {
  bool plain = m == 1 || (m <= SMALL && n <= SMALL && k <= SMALL), in_place = !plain && is_in_place(m, n, k);
  int64_t part = plain ? 0 : part_of(m, n, k);
  bool is_flat = m <= FEW_ROWS;
  const char *program = part > 0 ? parts_program : plain || in_place ? plain_program : panel_program;
  snprintf(c->text.program, sizeof c->text.program, program, (long long)m, (long long)n, (long long)k,
           (long long)(part > 0  ? part
                       : is_flat ? COLUMNS
                                 : WIDE));
  if (plain)
    plain_schedule(c, m, n, threads);
  else if (part > 0)
    parts_schedule(c, m, threads);
  else if (in_place)
    in_place_schedule(c, threads);
  else if (is_flat)
    flat_schedule(c, threads);
  else
    block_schedule(c, m, n, k, threads);
  memcpy(c->problem.dim, (int64_t[]){1, m, n, k}, 4 * sizeof(int64_t));
  return true;
}

/* Each thread takes whole products. Always true. */
static bool batch_gemm(bench_case *c, int64_t b, int64_t m, int64_t n, int64_t k, int threads) {
  snprintf(c->text.program, sizeof c->text.program, batch_program, (long long)b, (long long)m, (long long)n,
           (long long)k);
  snprintf(c->text.schedule, sizeof c->text.schedule,
           "cache_write(C, local)\n"
           "split(C, i, 12, tail=peel); split(C, j, 32, tail=peel); reorder(C, b, j.outer, i.outer, i.inner, j.inner)\n"
           "vectorize(C, j.inner)\n"
           "compute_at(C.local, C, i.outer); reorder(C.local, b.c, k, i.c, j.c); vectorize(C.local, j.c)\n%s",
           threads > 1 ? "parallel(C, b)\n" : "");
  memcpy(c->problem.dim, (int64_t[]){b, m, n, k}, 4 * sizeof(int64_t));
  return true;
}

bool bench_gemm(bench_case *c, const char *name, int threads) {
  long long b = 1, m, n, k;
  int end = 0;
  bool known = false;
  if (sscanf(name, "gemm-%lldx%lldx%lld%n", &m, &n, &k, &end) == 3 && name[end] == '\0') {
    known = one_gemm(c, m, n, k, threads);
  } else if (sscanf(name, "bgemm-%lldx%lldx%lldx%lld%n", &b, &m, &n, &k, &end) == 4 && name[end] == '\0') {
    known = batch_gemm(c, b, m, n, k, threads);
  }
  if (!known) return false;
  c->problem.op = VENDOR_GEMM;
  c->flops = 2.0 * (double)b * (double)m * (double)n * (double)k;
  c->bytes = 4.0 * (double)b * ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n);
  return true;
}
