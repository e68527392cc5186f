/* The structured form: one golden text each for what it has words for. tests/scripts/tvmscript.sh runs them, and those
 * of all other golden schedules, as Python programs. */
#include "tests/schedule/tests.h"

#define MM "C[i<16, j<32] = sum[k<8](A[i,k] * B[k,j])"
#define CHAIN "P[i<8, j<8] = A[i,j] * 2\nQ[i<8, j<8] = P[i,j] + 1\nR[i<8, j<8] = Q[i,j] * Q[j,i]"

const schedule_case script_cases[] = {
    {"matmul_tiled", MM,
     "cache_write(C, local); tile(C, i, j, 4, 16); vectorize(C, j.inner); parallel(C, i.outer); "
     "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); unroll(C.local, i.c); vectorize(C.local, j.c)"},
    {"conv_padding",
     "input I: f32[6,6,2], W: f32[3,3,2,4]\n"
     "P[h<8, w<8, c<2] = select(h >= 1 && h < 7 && w >= 1 && w < 7, I[h-1, w-1, c], 0)\n"
     "O[h<6, w<6, f<4] = sum[r<3, s<3, c<2](P[h+r, w+s, c] * W[r,s,c,f])",
     "tile(O, h, w, 4, 4); compute_at(P, O, w.outer); vectorize(O, f)"},
    {"softmax",
     "M[i<4] = max[k<6](X[i,k])\nE[i<4, j<6] = exp(X[i,j] - M[i])\nS[i<4] = sum[k<6](E[i,k])\n"
     "Y[i<4, j<6] = E[i,j] / S[i]",
     "compute_at(S, Y, i); compute_at(E, Y, i); compute_at(M, Y, i); parallel(Y, i); vectorize(Y, j)"},
    {"rfactor", "B[i<4] = sum[l<20](A[i,l])", "split(B, l, 8); rfactor(B, l.inner, 1); vectorize(B.rf, l.inner)"},
    {"parallel_reduce", "B[i<3] = max[k<10](A[i,k])", "parallel_reduce(B, k, parts=4)"},
    {"tails", "C[i<10, j<7] = A[i,j] + 1", "split(C, i, 4, tail=peel); split(C, j, 3, tail=overlap)"},
    {"guards", "C[i<10, j<7] = A[i,j] + 1", "tile(C, i, j, 4, 4); vectorize(C, j.inner)"},
    {"pad", "C[i<10] = max[k<5](A[i,k])\nD[i<10] = C[i] * 2", "split(C, k, 3, tail=pad); vectorize(C, i, 4, tail=pad)"},
    {"argmax", "(I, V)[i<6] = argmax[k<10](X[i,k])",
     "split(I, i, 4); split(V, k, 4, tail=pad); reorder(I, i.outer, k.outer, k.inner, i.inner); vectorize(I, i.inner)"},
    {"argmax_rfactor", "(I, V)[i<6] = argmax[k<10](X[i,k])", "split(V, k, 4); rfactor(V, k.inner, -1)"},
    {"inlined_chain", CHAIN, "compute_inline(P); compute_inline(Q); fuse(R, i, j); split(R, i.j.fused, 16)"},
    {"transform_layout", MM,
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//8, k, j%8]); vectorize(B.global, ax1, 8); "
     "split(C, j, 8); reorder(C, j.outer, i, k, j.inner)"},
    {"storage_align", CHAIN, "storage_align(Q, i, 16, 3); compute_at(P, Q, i); set_scope(P, local)"},
    {"double_buffer", CHAIN, "compute_at(P, Q, i); double_buffer(P); prefetch(Q, A, i, 2)"},
    {"prefetch_of", CHAIN, "compute_at(P, Q, i); prefetch(P, A, j, 2, Q, i); prefetch(Q, A, i, 1)"},
    {"rolling_buffer", "P[y<10] = A[y] * 2\nQ[y<8] = P[y] + P[y+1] + P[y+2]", "compute_at(P, Q, y); rolling_buffer(P)"},
    {"store_predicate", "P[i<18] = A[i] * 2\nQ[i<16] = P[i+1] + 1", "set_store_predicate(P, i >= 1 && i < 17)"},
    {"where_and_init", "B[i<6] = sum[k<6 where k <= i init = C[i]](A[i,k])", "split(B, k, 4); unroll(B, k.inner)"},
    {"gather_and_scalar",
     "input I: i32[5], A: f32[8]\nscalar alpha: f32\nS = sum[i<5](A[I[i] % 8] * alpha)\nU = S * 2 + select(S > 0, 1, "
     "0)",
     ""},
    {"types",
     "input A: u8[8], H: f16[8]\nC[i<8] = i32(popcount(A[i] ^ 15) << 2) | 1\nD[i<8] = f16(exp(H[i]) + C[i] // 3)",
     "pragma(D, i, auto_unroll_max_step, 4)"},
    {"bind", "C[i<8, j<8] = A[i,j] + 1", "bind(C, i, blockIdx.x); split(C, j, 4); bind(C, j.inner, threadIdx.x)"},
    {"tensorize", "input A: u8[2,8], B: i8[8,16]\nC[i<2, j<16] = sum[k<8](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"tensorize_gemv", "C[i<4, j<32] = sum[k<24](A[i,k] * B[j,k])",
     "split(C, j, 16); tensorize(C, j.inner, gemv_16x24)"},
    {"scan", "input X: f32[6,4]\nstate S: f32[6,4]\nscan S[t<6, i<4] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])",
     "vectorize(S, i)"},
    {"symbolic", "symbol M\nP[i<M] = A[i] * 2\nC[i<M] = P[i] + 1",
     "split(P, i, 8, tail=pad); split(C, i, 4, tail=peel)"},
    {"strided",
     "symbol M\ninput A: f32[M,6] strided, B: f32[2,M,6]\nP[i<M, j<6] = A[i,j] * B[0,i,j]\n"
     "C[n<2, i<M, j<6] = P[i,j] + B[n,i,j]\noutput C strided, P",
     "split(C, j, 4, tail=overlap); vectorize(C, j.inner); parallel(C, i)"},
    {"names", "P[in<4, T<4] = A[in,T] + 1\nin_1[i<4, j<4] = P[i,j] * 2",
     "split(in_1, i, 2); compute_at(P, in_1, i.outer)"},
};

const size_t n_script_cases = sizeof script_cases / sizeof *script_cases;

static void golden(void **state) {
  const schedule_case *c = *state;
  fixture f = fixture_new(c->program, c->schedule);
  char *script = print_form(f.s, TN_FORM_TVMSCRIPT), file[256];
  runtime_str text = {0};
  runtime_str_addf(&text, "%s\n\n%s\n\n%s", c->program, c->schedule, script);
  snprintf(file, sizeof file, "schedule/tvmscript/%s.txt", c->name);
  check_golden(file, text.data);
  runtime_str_free(&text);
  free(script);
  fixture_free(&f);
}

int test_script(void) { return CHECK_TABLE("tvmscript", script_cases, golden); }
