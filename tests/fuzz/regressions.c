/* Every wrong result that fuzzing found, as a test of its own; and the schedules of the golden texts, which must give
 * right results, not only the same text. */
#include "tests/common/check.h"
#include "tests/fuzz/worker.h"
#include "tests/schedule/tests.h"

static const struct regression {
  const char *name, *program, *schedule;
} regressions[] = {
    {"matmul, tiled and vectorized", "C[i<13, j<17] = sum[k<7](A[i,k] * B[k,j])",
     "tile(C, i, j, 4, 8); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner)"},
    /* LLVM divides by a constant lane that is zero and not chosen (codegen/emit_arith.c). */
    {"division by lanes of a quotient", "input A: bool\nS[j<13] = i16(A) % (i16(j) // i16(A))", "vectorize(S, j)"},
    {"division by an arm with a zero lane that is not chosen",
     "input A: bool[16]; S[j<16] = u32(2) // select(A[j // 3], u32(A[j]), u32(j))",
     "split(S, j, 8); vectorize(S, j.inner); unroll(S, j.outer)"},
    /* An init and a condition that read memory were evaluated in the padding of a stage too. */
    {"padding of a reduction with an init",
     "input A: f32[3, 8]; input B: f32[5]; S[i<3] = sum[r<5 where B[r] > A[i, r] init = A[i, 7]](A[i, r] * B[r]); "
     "T[i<3] = S[i] + 1",
     "split(S, i, 2, tail=pad)"},
    {"rfactor of a reduction with a condition and an init", "S[i<3] = sum[k<19 where k != i * 3 init = B[i]](A[i, k])",
     "split(S, k, 4); rfactor(S, k.inner, 1)"},
    {"a state before its scan, beside an inlined stage",
     "state S: f32[4]; Z[i<4] = select(i >= 1, S[i - 1]*2, A[i]); scan S[i<4] = Z[i] + A[i]",
     "cache_read(A, local); compute_inline(A.local)"},
    {"the time of a scan, in parts of parts",
     "input A: i32[8, 8]; state S: i32[8, 8]; scan S[i<8, j<8] = select(i < 2, A[i, j], S[i - 2, j] + A[j, i])",
     "split(S, i, 2, 3); split(S, i.1, 2); reorder(S, i.0, i.1.outer, j, i.1.inner, i.2)"},
    /* S1 is dead once the final reduction's condition is false, and S0 is computed in it (schedule/buffering.c). */
    {"a stage in a loop of a dead one",
     "S0[i<4, j<4] = any[r<8](A0[j, r] > 0); S1[i<4, j<4] = sum[r<5 where S0[i, j]](A1[j, r]); S2[i<3, k<4] = S1[i, "
     "k]*2; "
     "S3[i<3, k<4] = max[r<8 where (!true) init = cos(f32(k))](S2[i, k])",
     "compute_at(S0, S1, j); rfactor(S3, r)"},
    /* Vectors of three registers are done in pieces (codegen/slice.c). */
    {"48 lanes, a mask at the end", "C[i<3, j<100] = sum[k<5](A[i,k] * B[k,j])",
     "cache_write(C, local); tile(C, i, j, 3, 48, tail=mask); vectorize(C, j.inner); compute_at(C.local, C, j.outer); "
     "reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c)"},
    /* A masked store of three lanes goes by four, and the last of a tile has no fourth. */
    {"three lanes at the end of a tile", "S[y<8, x<7] = sum[s<1](A[y, x + s])",
     "cache_write(S, local); split(S, y, 4, 8); split(S, x, 1, 6); reorder(S, y.0, x.0, y.1, x.1, y.2, x.2); "
     "split(S.local, y.c, 2, 7, tail=peel); split(S.local, x.c, 1, 3, tail=peel); compute_at(S.local, S, x.1); "
     "vectorize(S.local, x.c.2)"},
    {"48 lanes of several types, reversed and scattered",
     "input A: i64[96], B: f64[96], D: bool[96]; C[j<96] = select(D[95 - j], f64(A[j]) + B[j*5 % 96], B[95 - j]); "
     "E[i<2, j<96] = C[j] > f64(i); output C, E",
     "split(C, j, 48); vectorize(C, j.inner); reorder(E, j, i); split(E, j, 24); reorder(E, j.outer, i, j.inner); "
     "vectorize(E, j.inner)"},
    /* LLVM took minutes: a pass for mask registers was quadratic, and unrolling did not count how long a statement is.
     */
    {"long statements, unrolled twice",
     "input A0: i64[8,13,8] strided; S0[i<8, j<16] = abs(((A0[(i + j) % 8, max(j - 3, 0), (i + i) % 8] // A0[max(i - "
     "3, 0), "
     "i, 7 - i]) << (A0[i % 4, j // 4, i] // i64(i)))); S1[i<8, j<17] = max[r<2](u8(S0[i, i]) - u8(S0[r, min(r + 1, "
     "1)])); "
     "output S1",
     "compute_at(S0, S1, r); double_buffer(S0); split(S1, r, 2, 3); unroll(S1, i); tile(S0, i, j, 4, 3, tail=pad); "
     "prefetch(S0, A0, j.inner, 5); unroll(S1, j); pragma(S0, j.outer, auto_unroll_max_step, 32)"},
    {"a block at a border beside a rest",
     "input A0: f32[25,17]; S0[y<25, x<17] = A0[max(y - 1, 0), max(min(x + 2, 16), 0)]",
     "split(S0, x, 4, tail=peel); pragma(S0, x.outer, loop_partition_hint, 1); vectorize(S0, x.inner)"},
    /* Not found by fuzzing: the mutation check's. Lanes of a result that are not neighbours. */
    {"an intrinsic over the rows of its result",
     "input A: u8[5, 8], B: i8[16, 8]; C[j<16, i<5] = sum[k<8](i32(A[i, k]) * i32(B[j, k]))",
     "split(C, k, 4); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot4_u8i8)"},
    /* Likewise: lanes apart by a stride that a call gives, and by two. */
    {"an intrinsic on rows that a call puts apart",
     "input A: u8[5, 8], B: i8[16, 8] strided; C[i<5, j<16] = sum[k<8](i32(A[i, k]) * i32(B[j, k])); output C strided",
     "split(C, k, 4); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, dot4_u8i8)"},
    {"lanes over rows that a call puts apart", "input A: i32[8, 4] strided; C[i<8, j<4] = A[7 - i, j] + 1",
     "fuse(C, i, j); vectorize(C, i.j.fused, 16)"},
    {"lanes over planes and rows that a call puts apart",
     "input A: i32[4, 2, 4] strided; C[i<4, j<2, k<4] = A[i, j, k] + 1; output C strided",
     "fuse(C, i, j); fuse(C, i.j.fused, k); vectorize(C, i.j.fused.k.fused, 16)"},
    /* The fuzzer printed loop IR that is small as a graph and endless as text. */
    {"an expression inlined into its own index",
     "symbol M<=1000, N<=60\n"
     "input A0: u8[14,19] strided\n"
     "input A1: i16[7,12,12]\n"
     "S0[i<19, j<5] = (((A0[(i*2 + j) // 3, i] % u8(N)) >> (select(i >= 1, A0[i % 4, i - 1], u8(5)) // select(i >= 2, "
     "A0[j + j, i - 2], u8(2)))) % (select(bool(A0[i32(A0[i % 14, j]) % 14, (j + 1) // 2]), A0[j // 3, j + 1], "
     "A0[max(j - 2, 0), j*2 + j]) % select(bool(A0[i32(A0[j, i]) % 14, (i*2 + j) // 3]), A0[j, i], u8(i))))\n"
     "(S1, S1b)[i<3, j<12, k<8, l<N, m<1] = argmin[r<1 where (i8(select(m < 16, A0[j // 3, m + 3], u8(2))) > i8(A0[i, "
     "i]))]((i64(S0[m + 2, min(m + 1, 0)]) & i64(S0[j, (m + 1) // 2])), (select(bool(A0[i, j]), i16(N), i16(S0[i, i])) "
     "+ select(bool(S0[i32(S0[l % 19, j % 5]) % 19, i32(S0[i, m]) % 5]), i16(select(j >= 3, A0[j - 3, min(k + 1, 7)], "
     "u8(2))), A1[i*-3 + 6, (j*2 + j) // 3, (j + k) % 12])))\n",
     "compute_inline(S0)"},
    /* Inlining dropped the only read of S0, and with it the call (schedule/bounds.c). */
    {"a call that nobody reads once a stage is inlined",
     "E0[i<6] = i32(i); extern S0: i32[6] = fx_turn_6(E0, E0); S1[i<13, j<4] = f32(E0[j]); S2[i<13, j<4] = "
     "S1[min(max(i64(S0[j]), 0), 12), j]",
     "compute_inline(S1)"},
    /* The box of one result was taken for another, of another rank (schedule/bounds.c, prefetch.c). */
    {"prefetch of the second result of a call",
     "E0[i<6] = i32(i); extern (S0: f32[6], S0b: i8[2, 6]) = fx_parts_6(E0); S3[q<4] = sum[r<16](f32(S0b[(15 - r) % 2, "
     "(r + r) % 6]) + S0[r % 6])",
     "prefetch(S3, S0b, r, 5); prefetch(S3, S0, q, 1)"},
    /* Sums in padding may add up anything, but their condition reads past its input there. */
    {"a condition that reads an input, in the padding of data",
     "scalar A0: f64; S0[i<1, j<5] = sum[r<1, s<1 where A0 < A1[j]](1)",
     "cache_write(S0, local); split(S0.local, j.c, 4, tail=pad)"},
    /* A tile of a transpose began at an index that divides by a symbol (codegen/emit_turn.c). */
    {"a transpose of a symbolic extent",
     "symbol M<=1000, N<=60; S0[i<5, j<M + 1] = A1[j, i]*2; S1[i<M, j<N] = A3[i, j]",
     "split(S0, i, 5); split(S0, j, 16, tail=peel); reorder(S0, i.outer, j.outer, i.inner, j.inner); fuse(S0, i.outer, "
     "j.outer); split(S0, j.inner, 4); reorder(S0, i.outer.j.outer.fused, j.inner.outer, i.inner, j.inner.inner); "
     "vectorize(S0, j.inner.inner); unroll(S0, i.inner)"},
    /* LLVM loaded what a mask forbade, for AVX2, where the mask of one half is constant (codegen/emit_memory.c). */
    {"a border in front of planes, a plane and its border in a vector",
     "P[y<2, x<2, c<8] = select(y >= 1 && y - 1 < 3 && x >= 1 && x - 1 < 1, A[y-1, x-1, c], 0)",
     "fuse(P, x, c); vectorize(P, x.c.fused)"},
    {"one lane more than registers, masked", "symbol M<=40\ninput A: f32[M], B: i16[M]; S[i<M] = i16(A[i]) + B[i]",
     "vectorize(S, i, 33)"},
    {"a condition that reads memory, padded", "S = sum[r<13 where A[r*3] > 0](A[r])", "split(S, r, 3, tail=pad)"},
    /* Ends without masks begin at any iteration; what is divided needs blocks at multiples of their length. */
    {"an end that begins earlier", "S[i<13] = max(A[12 - i], A[i]) * 2",
     "split(S, i, 4, tail=peel); vectorize(S, i.inner)"},
    {"an end that divides", "S[i<13] = max(A[12 - i], A[i % 2])", "split(S, i, 4, tail=peel); vectorize(S, i.inner)"},
    {"ends of groups", "S[i<13] = sum[j<4](A[i//4*4 + j])", "split(S, i, 4, tail=peel); vectorize(S, i.inner)"},
    {"an end of bytes that a symbol decides", "symbol M<=70\ninput A: u8[M], B: u8[M]\nS[i<M] = A[i] + B[i]",
     "split(S, i, 32, tail=mask); vectorize(S, i.inner)"},
    {"an end of two tensors that are joined",
     "symbol M<=70\ninput A: f32[M], B: f32[40]\nS[i<M + 40] = select(i < M, A[i], B[i - M])",
     "split(S, i, 32, tail=peel); vectorize(S, i.inner)"},
    {"an end of pairs", "symbol M<=70\ninput A: f32[M], B: f32[M]\nS[i<2*M] = select(i % 2 == 0, A[i//2], B[i//2])",
     "split(S, i, 32, tail=peel); vectorize(S, i.inner)"},
    {"an end of pairs and one more",
     "symbol M<=70\ninput A: f32[M]\nS[i<2*M + 1] = select(i//2 < M, A[i//2], 0) * f32(i % 2 + 1)",
     "split(S, i, 16, tail=peel); vectorize(S, i.inner)"},
    {"an end of pairs, backwards", "symbol M<=70\ninput A: f32[M]\nS[i<2*M] = select(i//2 < M, A[M - 1 - i//2], 0)",
     "split(S, i, 16, tail=peel); vectorize(S, i.inner)"},
    {"an end of three colours", "symbol M<=70\ninput A: f32[M]\nS[i<3*M] = select(i//3 < M, A[i//3], 0) + f32(i % 3)",
     "split(S, i, 32, tail=peel); vectorize(S, i.inner)"},
    {"an end that divides what is divided",
     "symbol M<=70\ninput A: f32[M]\nS[i<2*M] = select(i//2//3 < M, A[i//2//3], 0) + f32(i//2 % 2)",
     "split(S, i, 16, tail=peel); vectorize(S, i.inner)"},
    {"an end of rows that are one", "symbol M<=70\ninput A: u8[M, 20]\nS[i<M, j<20] = A[i, j] * 2",
     "fuse(S, i, j); split(S, i.j.fused, 64, tail=peel); vectorize(S, i.j.fused.inner)"},
    {"an end of rows that are one, and not alike", "symbol M<=70\ninput A: f32[M]\nS[i<M, j<6] = A[i] * f32(j % 4)",
     "fuse(S, i, j); split(S, i.j.fused, 16, tail=peel); vectorize(S, i.j.fused.inner)"},
    {"an end of rows of a part that are one", /* of 100 columns 6 are computed */
     "P[i<7, j<100] = A[i, j] * f32(j % 5); S[i<7, j<6] = P[i, j] + 1",
     "fuse(P, i, j); split(P, i.j.fused, 12, tail=peel); vectorize(P, i.j.fused.inner)"},
    {"blocks of symbols that overlap",
     "symbol 8<=M<=70, 9<=N<=40\nP[i<M + 2, j<N] = A[i, j] * 2; S[i<M, j<N] = P[i, j] + P[i + 1, j] + P[i + 2, j]",
     "cache_write(S, local); split(S, i, 8, tail=overlap); split(S, j, 8, tail=overlap); reorder(S, i.outer, j.outer, "
     "i.inner, j.inner); vectorize(S, j.inner); unroll(S, i.inner); compute_at(S.local, S, j.outer); "
     "vectorize(S.local, j.c); unroll(S.local, i.c); compute_at(P, S, i.outer)"},
    {"blocks of a symbol that overlap, some together", "symbol 7<=M<=70\nS[i<M, j<5] = sum[k<4](A[i, k] * B[k, j])",
     "split(S, i, 3, 7, tail=overlap); vectorize(S, j)"},
    {"blocks of blocks of a symbol that overlap", "symbol 17<=M<=70\nS[i<M] = A[i] * 2",
     "split(S, i, 4, tail=overlap); split(S, i.outer, 5, tail=overlap); vectorize(S, i.inner)"},
    {"an end of what is divided by three, and that by two", "S[i<20] = f32((i + 2)//3 % 2)",
     "split(S, i, 8, tail=peel); vectorize(S, i.inner)"},
    {"an end of a symbol's that is divided by three, and that by two",
     "symbol M<=70\ninput A: f32[M]\nS[i<4*M] = select(i//4 < M, A[i//4], 0) + f32((i + 2)//3 % 2)",
     "split(S, i, 8, tail=peel); vectorize(S, i.inner)"},
    {"an end of doubled pairs in rows that are one",
     "symbol M<=70\ninput A: f32[2*M]\nS[i<M, j<12] = select(i + j//6 < M, A[(2*i + 2*(j//6))//2], 0) + f32(i % 2)",
     "fuse(S, i, j); split(S, i.j.fused, 16, tail=peel); vectorize(S, i.j.fused.inner)"},
    {"a masked row of one element",
     "input A0: u16\ninput A1: u16[2]\nS0[i<5, j<4, k<11] = (max(popcount(u16(k)), A0) // clz(min(A1[(i + "
     "3) // 4], A0)))\nS1[i<18, j<4, k<11] = u32(f32(S0[(k + 1) % 5, 0, j]))\nS2[i<18, j<4, k<11] = (u16(S"
     "1[i, j, k]) & A0)",
     "cache_write(S1, local); split(S1, i, 3, 3); split(S1, j, 4, 6, tail=peel); split(S1, k, 3, 5, tail=p"
     "eel); reorder(S1, i.0, j.0, k.0, i.1, j.1, k.1, i.2, j.2, k.2); vectorize(S1, k.2); fuse(S1, i.0, j."
     "0); parallel(S1, i.0.j.0.fused); pragma(S1, i.0.j.0.fused, auto_unroll_max_step, 64); split(S1.local"
     ", i.c, 2, 7); split(S1.local, j.c, 1, 3); split(S1.local, k.c, 3, 4, tail=peel); reorder(S1.local, i"
     ".c.0, j.c.0, k.c.0, i.c.1, j.c.1, k.c.1, i.c.2, j.c.2, k.c.2); vectorize(S1.local, k.c.2); set_scope"
     "(S1, global); compute_inline(S0); compute_group_at(S1.local, S1, k.1)"},
};

static void agrees(void **state) {
  const struct regression *r = *state;
  char why[4096];
  for (uint64_t data = 1; data <= 8; data++) /* small and large values of symbols */
    if (fuzz_run_texts(r->program, r->schedule, data, why, sizeof why) != FUZZ_AGREES) fail_msg("%s", why);
}

/* What is too large here is skipped, and what is bound to a GPU's threads (all but vthread), which no target here has. */
static void golden_agrees(void **state) {
  const schedule_case *c = *state;
  char why[4096];
  if (strstr(c->schedule, "Idx.")) return;
  if (fuzz_run_texts(c->program, c->schedule, 1, why, sizeof why) == FUZZ_DIFFERS) fail_msg("%s", why);
}

int fuzz_regressions(void) { return CHECK_TABLE("fuzz regressions", regressions, agrees); }

int fuzz_golden(void) {
  return check_table("golden schedules", schedule_cases, sizeof *schedule_cases, n_schedule_cases, golden_agrees, NULL,
                     NULL);
}
