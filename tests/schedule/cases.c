/* Schedules whose texts are kept in tests/golden/schedule: every primitive, every tail, every place of a stage. */
#include "tests/schedule/tests.h"

#define ADD "C[i<1024, j<1024] = A[i,j] + B[i,j]"
#define ROWS "B[i<1024] = sum[l<1024](A[i,l])"
#define BOX(combiner) "B[y<12, x<12] = " combiner "[r<5, s<5](A[y+r,x+s])"
#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define TURNS(columns)                                                                             \
  "split(C, j, " columns                                                                           \
  "); split(C, i, 32); reorder(C, j.outer, i.outer, k, i.inner, j.inner); vectorize(C, j.inner); " \
  "prefetch(C, B, k, 1, C, j.outer)"
#define FUSED "M[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])\nO[i<64, j<48] = max(M[i,j] + D[j], 0)"
#define BLUR "P[y<64, x<64] = (A[y,x] + A[y,x+1]) * 0.5\nQ[y<62, x<64] = P[y,x] + P[y+1,x] + P[y+2,x]"
#define CONV                                                                                       \
  "input I: f32[1,14,14,8], W: f32[3,3,8,16]\n"                                                    \
  "P[n<1, h<16, w<16, c<8] = select(h >= 1 && h < 15 && w >= 1 && w < 15, I[n, h-1, w-1, c], 0)\n" \
  "O[n<1, h<14, w<14, f<16] = sum[r<3, s<3, c<8](P[n, h+r, w+s, c] * W[r,s,c,f])"
#define STRIDED                                                                    \
  "input I: f32[29,29], W: f32[3,3]\n"                                             \
  "P[h<31, w<31] = select(h >= 1 && h < 30 && w >= 1 && w < 30, I[h-1, w-1], 0)\n" \
  "O[h<15, w<15] = sum[r<3, s<3](P[h*2+r, w*2+s] * W[r,s])"
#define FORK "P[i<32, j<32] = A[i,j] * 2\nQ[i<32, j<32] = P[i,j] + 1\nR[i<32, j<32] = P[i,j] * Q[i,j]"
#define CHAIN "P[i<32, j<32] = A[i,j] * 2\nQ[i<32, j<32] = P[i,j] + 1\nR[i<32, j<32] = Q[i,j] * Q[j,i]"
#define SOFTMAX                                                     \
  "M[i<8] = max[k<20](X[i,k])\nE[i<8, j<20] = exp(X[i,j] - M[i])\n" \
  "S[i<8] = sum[k<20](E[i,k])\nY[i<8, j<20] = E[i,j] / S[i]"

#define SYMBOLIC "symbol M, N, K\nC[i<M, j<N] = sum[k<K](A[i,k] * B[k,j])"
#define ARGMAX "(I, V)[i<64] = argmax[k<50](X[i,k])"
#define COMPLEX                                                                                  \
  "combiner cprod(ar: i32, ai: i32; br, bi) = (ar*br - ai*bi, ar*bi + ai*br), identity (1, 0)\n" \
  "input R: i32[30,40], M: i32[30,40]\n(P, Q)[i<30] = cprod[k<40](R[i,k], M[i,k])"
#define PAIR "(S, D)[i<32, j<32] = (A[i,j] + B[i,j], A[i,j] - B[i,j])\nC[i<32, j<32] = S[i,j] * D[j,i]"

#define CALL                                                                                          \
  "input A: f32[20, 12], x: f32[12]\nscalar s: f32\nP[i<20, j<12] = A[i,j] * 2\nU[j<12] = x[j] + 1\n" \
  "extern (y: f32[20], z: i32[2, 3, 4]) = my_gemv(P, U, s)\nQ[i<20, j<12] = y[i] * P[i,j] + f32(z[1,2,3])"

#define CUMSUM \
  "input X: i32[20, 16]\nstate S: i32[20, 16]\nscan S[t<20, i<16] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])"
#define RNN                                                                                                         \
  "input X: f32[6, 3, 5], U: f32[5, 8], W: f32[8, 8]\nstate H: f32[6, 3, 8]\n"                                      \
  "P[t<6, i<3, j<8] = sum[k<5](X[t,i,k] * U[k,j])\nZ[t<6, i<3, j<8] = sum[k<8 where t >= 1](H[t-1,i,k] * W[k,j])\n" \
  "Y[t<6, i<3, j<8] = P[t,i,j] + Z[t,i,j]\nscan H[t<6, i<3, j<8] = tanh(Y[t,i,j])"
#define LSTM                                                                                               \
  "input X: f32[5, 4, 6], W: f32[4, 6, 6]\nstate C: f32[5, 6], H: f32[5, 6]\n"                             \
  "G[t<5, g<4, j<6] = sum[k<6 where t >= 1](H[t-1,k] * W[g,k,j])\n"                                        \
  "N[t<5, j<6] = sigmoid(X[t,0,j] + G[t,0,j]) * select(t >= 1, C[t-1,j], 0) + X[t,1,j] * tanh(G[t,2,j])\n" \
  "scan (C, H)[t<5, j<6] = (N[t,j], sigmoid(X[t,3,j] + G[t,3,j]) * tanh(N[t,j]))"

const schedule_case schedule_cases[] = {
    /* scans */
    {"scan", CUMSUM, ""},
    {"extern", CALL, ""},
    {"extern_stages_around", CALL,
     "vectorize(P, j); parallel(P, i); split(Q, i, 8, tail=peel); vectorize(Q, j); parallel(Q, i.outer); set_scope(U, "
     "local)"},
    {"extern_caches", CALL,
     "cache_read(A, local, P); cache_read(x, local, U); cache_read(y, local, Q); compute_at(y.local, Q, i); "
     "cache_write(U, local)"},
    {"extern_reads_caches", CALL, "cache_read(U, global, y); cache_read(P, global, y); parallel(P.global, ax0)"},
    {"extern_layout_of_a_copy", CALL,
     "cache_read(P, global, Q); transform_layout(P.global, [i, j] -> [j//4, i, j%4]); split(P, i, 8); "
     "compute_inline(P.global)"},
    {"extern_auto_inline", CALL "\nR[i<20] = Q[i,0] + 1", "auto_inline()"},
    {"extern_is_output", "input A: f32[4]; extern (y: f32[4], z: i8) = f(A, A); w[i<4] = y[i]; output w, z",
     "vectorize(w, i)"},
    {"scan_vectorized", CUMSUM, "vectorize(S, i)"},
    {"scan_parallel", CUMSUM,
     "split(S, i, 8); reorder(S, i.outer, t, i.inner); parallel(S, i.outer); vectorize(S, i.inner)"},
    {"scan_parallel_inside", CUMSUM, "parallel(S, i)"},
    {"scan_unrolled", CUMSUM, "unroll(S, t); vectorize(S, i)"},
    {"scan_split_time", CUMSUM, "split(S, t, 8)"},
    {"scan_split_time_peel", CUMSUM, "split(S, t, 8, tail=peel)"},
    {"scan_pad",
     "input X: i32[9, 7]\nstate S: i32[9, 7]\nscan S[t<9, i<7] = select(t < 2, X[t,i], S[t-2,i] + S[t-1,i])\nO[i<7] = "
     "S[8,i]",
     "split(S, i, 4, tail=pad); vectorize(S, i.inner)"},
    {"scan_rnn", RNN, ""},
    {"scan_rnn_inline", RNN, "compute_inline(Y); compute_at(P, H, t)"},
    {"scan_rnn_batches", RNN,
     "reorder(H, i, t, j); parallel(H, i); vectorize(H, j); compute_at(Y, H, t); compute_at(Z, H, t); reorder(Z, t, i, "
     "k, j); vectorize(Z, j)"},
    {"scan_rnn_deeper", RNN, "compute_at(Y, H, j); compute_at(Z, Y, j); compute_at(P, H, j)"},
    {"scan_rnn_split_time", RNN, "split(H, t, 4); compute_at(P, H, t.outer)"},
    {"scan_lstm", LSTM, "vectorize(C, j); reorder(G, t, g, k, j); vectorize(G, j)"},
    /* what the first page shows */
    {"default", ADD, ""},
    {"split_guard", ADD, "split(C, i, 20)"},
    {"tile_vectorize", ADD, "tile(C, i, j, 32, 32); vectorize(C, j.inner)"},
    {"row_sum", ROWS, ""},
    {"full_sum_split", "B = sum[k<1024](A[k])", "split(B, k, 16)"},
    {"full_sum_fused", "B = sum[k<1024](A[k])", "split(B, k, 16); fuse(B, k.outer, k.inner)"},
    /* loops */
    {"split_even", ADD, "split(C, i, 32)"},
    {"split_peel", ADD, "split(C, i, 20, tail=peel)"},
    {"split_nparts", ADD, "split(C, i, nparts=10)"},
    {"split_nparts_peel", ADD, "split(C, i, nparts=10, tail=peel)"},
    {"split_many", ADD, "split(C, i, 4, 8, 2)"},
    {"split_many_guard", "C[i<100] = A[i] + 1", "split(C, i, 3, 7)"},
    {"split_many_peel", "C[i<100] = A[i] + 1", "split(C, i, 3, 7, tail=peel)"},
    {"split_twice", "C[i<100] = A[i] + 1", "split(C, i, 16); split(C, i.inner, 5)"},
    {"split_larger_than_extent", "C[i<10] = A[i] + 1", "split(C, i, 16)"},
    {"split_by_one", "C[i<10] = A[i] + 1", "split(C, i, 1)"},
    {"fuse", ADD, "fuse(C, i, j)"},
    {"fuse_odd", "C[i<7, j<11] = A[j,i] + 1", "fuse(C, i, j)"},
    {"fuse_three", "C[i<3, j<5, k<7] = A[i,j,k] + 1", "fuse(C, i, j, k)"},
    {"fuse_split", "C[i<7, j<11] = A[i,j] + 1", "fuse(C, i, j); split(C, i.j.fused, 8)"},
    {"fuse_split_peel", "C[i<7, j<11] = A[i,j] + 1", "fuse(C, i, j); split(C, i.j.fused, 8, tail=peel)"},
    {"split_fuse_back", ADD, "split(C, i, 32); fuse(C, i.outer, i.inner)"},
    {"fuse_data_and_reduction", MM, "reorder(C, i, k, j); fuse(C, i, k)"},
    {"reorder", MM, "reorder(C, k, j)"},
    {"reorder_reduction_outermost", MM, "reorder(C, k, i, j)"},
    {"reorder_some", MM, "split(C, i, 8); split(C, k, 4); reorder(C, k.outer, i.inner, i.outer)"},
    {"reduction_in_the_middle", MM, "split(C, k, 8); reorder(C, i, k.outer, j, k.inner)"},
    {"tile_guard", "C[i<100, j<50] = A[i,j] + 1", "tile(C, i, j, 32, 16)"},
    {"tile_peel", "C[i<100, j<50] = A[i,j] + 1", "tile(C, i, j, 32, 16, tail=peel)"},
    {"vectorize_guard", "C[i<100] = A[i] + 1", "split(C, i, 16); vectorize(C, i.inner)"},
    {"vectorize_peel", "C[i<100] = A[i] + 1", "split(C, i, 16, tail=peel); vectorize(C, i.inner)"},
    {"vectorize_transposed", "C[i<16, j<16] = A[j,i] + 1", "vectorize(C, j)"},
    {"vectorize_outer", "C[i<8, j<4] = A[i,j] + 1", "vectorize(C, i)"},
    {"vectorize_around_reduction", MM, "split(C, j, 16); vectorize(C, j.inner)"},
    {"vectorize_reduction_outside", MM, "split(C, j, 16); reorder(C, i, j.outer, k, j.inner); vectorize(C, j.inner)"},
    {"vectorize_padding", STRIDED, "compute_inline(P); vectorize(O, w)"},
    {"unroll", "C[i<6, j<4] = A[i,j] + 1", "unroll(C, j)"},
    {"unroll_reduction", "C[i<6] = sum[k<4](A[i,k])", "unroll(C, k)"},
    {"unroll_tail", "C[i<10] = A[i] + 1", "split(C, i, 4); unroll(C, i.inner)"},
    {"unroll_jam", MM, "unroll_jam(C, i, 4)"},
    {"unroll_jam_lanes", MM, "reorder(C, i, k, j); vectorize(C, j); unroll_jam(C, i, 2)"},
    {"unroll_jam_tail", "C[i<10] = sum[k<6](A[i,k] * B[k])", "unroll_jam(C, i, 4)"},
    {"unroll_jam_peel", "C[i<10] = sum[k<6](A[i,k] * B[k])", "unroll_jam(C, i, 4, tail=peel)"},
    {"unroll_jam_reduction", "C[i<6, j<4] = sum[k<9](A[i,k] * B[k,j])", "reorder(C, i, k, j); unroll_jam(C, k, 3)"},
    {"unroll_jam_symbol", "symbol M; C[i<M] = sum[k<6](A[i,k] * B[k])", "unroll_jam(C, i, 2)"},
    {"unroll_jam_stage_inside", "P[i<8, k<6] = A[i,k] * 2\nC[i<8] = sum[k<6](P[i,k] * B[k])",
     "compute_at(P, C, k); unroll_jam(C, i, 2)"},
    {"parallel", MM, "parallel(C, i)"},
    {"parallel_fused", ADD, "tile(C, i, j, 32, 32); fuse(C, i.outer, j.outer); parallel(C, i.outer.j.outer.fused)"},
    {"parallel_init", MM, "reorder(C, k, i, j); parallel(C, i)"},
    {"pragma", "C[i<4, j<8] = sum[k<4](A[i,j,k])", "pragma(C, i, auto_unroll_max_step, 16)"},
    {"pragma_too_small", "C[i<4, j<8] = sum[k<4](A[i,j,k])", "pragma(C, i, auto_unroll_max_step, 2)"},
    /* where stages stand */
    {"root", BLUR, ""},
    {"group_at", SOFTMAX, "compute_group_at(S, Y, i)"},
    {"group_at_inputs", SOFTMAX, "compute_group_at(S, Y, i, M)"},
    {"at_row", BLUR, "compute_at(P, Q, y)"},
    {"at_pixel", BLUR, "compute_at(P, Q, x)"},
    {"at_tile", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, x.outer)"},
    {"at_tile_row", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, y.outer)"},
    {"at_peeled_tile", BLUR, "split(Q, y, 8, tail=peel); compute_at(P, Q, y.outer)"},
    {"at_fused", BLUR, "fuse(Q, y, x); compute_at(P, Q, y.x.fused)"},
    {"at_then_split", BLUR, "compute_at(P, Q, y); split(Q, y, 4)"},
    {"at_and_back", BLUR, "compute_at(P, Q, y); compute_root(P)"},
    {"conv_at_root", CONV, ""},
    {"conv_at_h", CONV, "compute_at(P, O, h)"},
    {"conv_at_w", CONV, "compute_at(P, O, w)"},
    {"conv_at_f", CONV, "compute_at(P, O, f)"},
    {"conv_at_reduction", CONV, "reorder(O, n, h, w, r, f, s, c); compute_at(P, O, r)"},
    {"conv_at_tile", CONV, "tile(O, h, w, 7, 7); compute_at(P, O, w.outer)"},
    {"conv_inline", CONV, "compute_inline(P)"},
    {"strided_at_h", STRIDED, "compute_at(P, O, h)"},
    {"strided_at_tile", STRIDED, "tile(O, h, w, 4, 4); compute_at(P, O, w.outer)"},
    {"fused_at", FUSED, "compute_at(M, O, j)"},
    {"fused_at_tile", FUSED,
     "tile(O, i, j, 8, 16); compute_at(M, O, j.outer); reorder(M, k, i, j); vectorize(M, j); vectorize(O, j.inner)"},
    {"inline_chain", CHAIN, "compute_inline(P); compute_inline(Q)"},
    {"inline_one", CHAIN, "compute_inline(P)"},
    {"transposed_reader", CHAIN, "compute_at(P, Q, i); compute_at(Q, R, i)"},
    {"two_readers_inside", FORK, "compute_at(Q, R, j); compute_at(P, R, i)"},
    {"two_readers_same_loop", FORK, "compute_at(Q, R, i); compute_at(P, R, i)"},
    {"two_readers_one_inlined", FORK, "compute_inline(Q); compute_at(P, R, i)"},
    {"softmax_rows", SOFTMAX, "compute_at(S, Y, i); compute_at(E, Y, i); compute_at(M, Y, i); parallel(Y, i)"},
    {"softmax_inline", SOFTMAX, "compute_inline(E)"},
    /* caches and scopes */
    {"cache_read", MM, "cache_read(A, local, C)"},
    {"cache_read_at", MM, "cache_read(A, local, C); compute_at(A.local, C, i); vectorize(A.local, ax1)"},
    {"cache_read_some", FORK, "cache_read(P, global, R); compute_at(P.global, R, i)"},
    {"cache_read_twice", MM, "cache_read(A, global, C); cache_read(A.global, local, C)"},
    {"cache_write", MM, "cache_write(C, local)"},
    {"cache_write_at", MM, "cache_write(C, local); compute_at(C.local, C, j); unroll(C.local, k)"},
    {"cache_write_registers", MM,
     "cache_write(C, local); tile(C, i, j, 4, 16); vectorize(C, j.inner); compute_at(C.local, C, j.outer); "
     "reorder(C.local, k, i.c, j.c); unroll(C.local, i.c); vectorize(C.local, j.c)"},
    {"cache_write_tail", "C[i<50, j<50] = sum[k<20](A[i,k] * B[k,j])",
     "cache_write(C, local); tile(C, i, j, 4, 16); compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c)"},
    {"set_scope", FUSED, "compute_at(M, O, i); set_scope(M, local)"},
    /* tails */
    {"mask_vectorized", "C[i<100] = A[i] + 1", "vectorize(C, i, 16, tail=mask)"},
    {"mask_serial", "C[i<100] = A[i] + 1", "split(C, i, 16, tail=mask)"},
    {"overlap", "C[i<100] = A[i] + 1", "split(C, i, 16, tail=overlap)"},
    {"overlap_vectorized", "C[i<100] = A[i] + 1", "vectorize(C, i, 16, tail=overlap)"},
    {"overlap_many", "C[i<100] = A[i] + 1", "split(C, i, 3, 7, tail=overlap)"},
    {"overlap_fused", "C[i<7, j<11] = A[i,j] + 1", "fuse(C, i, j); vectorize(C, i.j.fused, 8, tail=overlap)"},
    {"overlap_chunks", "C[i<100] = A[i] + 1",
     "split(C, i, 16, tail=overlap); split(C, i.outer, 4); parallel(C, i.outer.outer); vectorize(C, i.inner)"},
    {"overlap_symbol", "symbol 16<=M<=100; C[i<M] = A[i] + 1", "split(C, i, 16, tail=overlap); vectorize(C, i.inner)"},
    {"overlap_reduction", MM,
     "split(C, j, 10, tail=overlap); parallel(C, i); reorder(C, i, j.outer, k, j.inner); vectorize(C, j.inner)"},
    {"overlap_at", BLUR, "tile(Q, y, x, 8, 24, tail=overlap); compute_at(P, Q, x.outer)"},
    {"pad", "P[i<100] = A[i] + 1\nC[i<100] = P[i] * 2", "vectorize(P, i, 16, tail=pad)"},
    {"pad_accumulators", "C[i<50, j<50] = sum[k<20](A[i,k] * B[k,j])",
     "cache_write(C, local); cache_read(B, local, C.local); vectorize(B.local, ax1, 16, tail=pad); "
     "split(C.local, j.c, 16, tail=pad); reorder(C.local, i.c, j.c.outer, k, j.c.inner); vectorize(C.local, "
     "j.c.inner)"},
    {"pad_at_tile", "C[i<50, j<50] = sum[k<20](A[i,k] * B[k,j])",
     "cache_write(C, local); tile(C, i, j, 4, 16, tail=peel); compute_at(C.local, C, j.outer); "
     "split(C.local, j.c, 16, tail=pad); split(C.local, i.c, 4, tail=pad)"},
    {"pad_reduction", "C[i<50] = max[k<20](A[i,k])", "split(C, k, 8, tail=pad)"},
    {"pad_nparts", "P[i<10] = A[i] + 1\nC[i<10] = P[i] * 2", "split(P, i, nparts=4, tail=pad)"},
    /* reductions in two */
    {"rfactor", ROWS, "split(B, l, 16); rfactor(B, l.inner)"},
    {"rfactor_vectorized", ROWS,
     "split(B, l, 16); rfactor(B, l.inner, 1); reorder(B.rf, i, l.outer, l.inner); vectorize(B.rf, l.inner); "
     "compute_at(B.rf, B, i)"},
    {"rfactor_tail", "B[i<8] = sum[l<100](A[i,l])", "split(B, l, 16); rfactor(B, l.inner, -1)"},
    {"rfactor_outer_parallel", "B = sum[k<1024](A[k])",
     "split(B, k, nparts=4); rfactor(B, k.outer); parallel(B.rf, k.outer)"},
    {"rfactor_fused", "B = max[k<10, l<7](A[k,l])",
     "fuse(B, k, l); split(B, k.l.fused, 8); rfactor(B, k.l.fused.inner)"},
    {"rfactor_one_of_two", "B[i<4] = prod[k<10, l<7](A[i,k,l])", "rfactor(B, l, 1); compute_at(B.rf, B, i)"},
    {"rfactor_whole_axis", "B[i<4] = sum[k<10](A[i,k])", "rfactor(B, k)"},
    {"rfactor_twice", "B = sum[k<100](A[k])", "split(B, k, 5, 4); rfactor(B, k.2); rfactor(B.rf, k.1, 1)"},
    {"rfactor_reader", FUSED, "split(M, k, 8); rfactor(M, k.outer); compute_at(M, O, j)"},
    {"rfactor_window", BOX("sum"), "rfactor_window(B, s, x)"},
    {"rfactor_window_in_strips", BOX("max"),
     "rfactor_window(B, s, x); compute_at(B.rf, B, y); vectorize(B.rf, x); unroll(B.rf, r)"},
    {"rfactor_window_by_two", "B[x<9] = sum[c<4, s<5](A[c,2*x+s])", "rfactor_window(B, s, x)"},
    {"rfactor_window_dilated", "B[x<9] = min[c<4, s<5](A[c,x+3*s])", "rfactor_window(B, s, x)"},
    {"rfactor_window_alone", "B[x<9] = sum[s<5](exp(A[x+s]))", "rfactor_window(B, s, x)"},
    {"rfactor_window_of_three", "B[z<5, y<6, x<7] = sum[q<3, r<3, s<3](A[z+q,y+r,x+s])",
     "rfactor_window(B, s, x); rfactor_window(B.rf, r, y)"},
    {"rfactor_window_padded",
     "B[y<9, x<9] = sum[r<3, s<3](select(y+r>=1 && y+r<10 && x+s>=1 && x+s<10, A[y+r-1,x+s-1], 0))",
     "rfactor_window(B, s, x)"},
    {"rfactor_window_where", "B[x<9] = sum[c<4, s<5 where x+s+c<12](A[c,x+s])", "rfactor_window(B, s, x)"},
    {"rfactor_window_elements", "B[x<9] = sum[s<6](A[x+s])", "rfactor_window(B, s, x, 3)"},
    {"rfactor_window_elements_dilated", "B[y<3, x<9] = max[c<4, s<6](A[c,y,x+2*s])", "rfactor_window(B, s, x, 2)"},
    {"rfactor_window_init", "B[x<9] = max[c<4, s<5 init = C[x]](A[c,x+s])", "rfactor_window(B, s, x)"},
    {"rfactor_window_of_products", "B[y<8, x<8, o<4] = sum[r<3, s<3](A[y+r,x+s] * G[o])", "rfactor_window(B, s, x)"},
    {"rfactor_window_reader", BOX("sum") "\nC[y<12, x<12] = B[y,x] * 0.04",
     "rfactor_window(B, s, x); compute_at(B, C, y)"},
    {"parallel_reduce", "B = sum[k<1000](A[k])", "parallel_reduce(B, k, parts=3)"},
    {"parallel_reduce_rows", "B[i<8] = max[k<100](A[i,k])", "parallel_reduce(B, k, parts=4); vectorize(B.rf, i)"},
    {"sum_parallel_and_vectorized", "B = sum[k<1000](A[k])",
     "split(B, k, nparts=4); rfactor(B, k.outer); split(B.rf, k.inner, 16); rfactor(B.rf, k.inner.inner, 1); "
     "reorder(B.rf.rf, k.outer, k.inner.outer, k.inner.inner); vectorize(B.rf.rf, k.inner.inner); "
     "parallel(B.rf.rf, k.outer)"},
    {"auto_inline", CHAIN, "auto_inline()"},
    {"auto_inline_around_reduction", SOFTMAX, "auto_inline()"},
    /* layouts */
    {"layout_panels", "C[i<64, j<200] = sum[k<32](A[i,k] * B[k,j])",
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//64, k, j%64]); "
     "vectorize(B.global, ax1, 64, tail=pad); split(C, j, 64, tail=peel); reorder(C, j.outer, i, k, j.inner); "
     "vectorize(C, j.inner)"},
    {"layout_transposed", CHAIN, "transform_layout(Q, [i, j] -> [j, i])"},
    {"layout_at", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, x.outer); transform_layout(P, [y, x]->[x//4,y,x%4])"},
    {"layout_three_digits", "P[i<100] = A[i] + 1\nQ[i<100] = P[99 - i]",
     "transform_layout(P, [i] -> [i // 4 % 5, i // 20, i % 4])"},
    {"layout_accumulators", MM,
     "cache_write(C, local); tile(C, i, j, 4, 16); compute_at(C.local, C, j.outer); "
     "transform_layout(C.local, [i, j] -> [j//8, i, j%8])"},
    {"storage_align", CHAIN, "storage_align(Q, i, 32, 8); compute_at(P, Q, i)"},
    {"storage_align_outer", "P[i<4, j<5, k<6] = A[i,j,k] + 1\nQ[i<4, j<5, k<6] = P[i,j,k] * 2",
     "storage_align(P, i, 16, 3)"},
    {"storage_align_at", BLUR, "tile(Q, y, x, 8, 16); compute_at(P, Q, x.outer); storage_align(P, y, 16, 1)"},
    {"prefetch", MM, "reorder(C, i, k, j); prefetch(C, A, i, 2); prefetch(C, B, k, 4); vectorize(C, j)"},
    {"prefetch_padded", CONV, "compute_inline(P); prefetch(O, I, h, 1)"},
    {"prefetch_stage", BLUR, "tile(Q, y, x, 8, 16); prefetch(Q, P, x.outer, 1); parallel(Q, y.outer)"},
    {"prefetch_at", CHAIN, "compute_at(Q, R, i); compute_at(P, Q, i); prefetch(R, A, i, 3); prefetch(P, A, i, 1)"},
    {"prefetch_vectorized", CHAIN, "prefetch(Q, P, i, 1); prefetch(Q, P, j, 16); vectorize(Q, j)"},
    {"prefetch_results", "(I, V)[i<64, j<48] = argmax[k<40](A[i,k]*B[k,j]); U[i<64, j<48] = V[i,j] * 2",
     "prefetch(U, V, i, 2)"},
    {"prefetch_results_apart", "(I, V)[i<64, j<48] = argmax[k<40](A[i,k]*B[k,j]); U[i<60] = V[i+3,5] * f32(I[i,7])",
     "prefetch(U, I, i, 2)"},
    {"prefetch_of_ones", "C[i<64, c<200, h<1, w<1] = A[i,c,h,w] * 2", "prefetch(C, A, i, 1)"},
    {"prefetch_of", MM,
     "cache_write(C, local); split(C, j, 32, tail=peel); reorder(C, j.outer, i, j.inner); compute_at(C.local, C, i); "
     "reorder(C.local, i.c, k, j.c); prefetch(C.local, B, k, 1, C, j.outer); vectorize(C.local, j.c); "
     "vectorize(C, j.inner)"},
    {"prefetch_in_turns", "C[i<64, j<64] = sum[k<32](A[i,k] * B[k,j])", TURNS("32")},
    {"prefetch_in_turns_of_steps", "C[i<64, j<96] = sum[k<32](A[i,k] * B[k,j])", TURNS("48")},
    {"prefetch_in_turns_without_steps", "C[i<64, j<96] = sum[k<32](A[i,k] * B[k,j])",
     "split(C, j, 48); split(C, i, 32); split(C, k, 1); reorder(C, j.outer, i.outer, k.outer, k.inner, i.inner, "
     "j.inner); "
     "vectorize(C, j.inner); prefetch(C, B, k.inner, 1, C, j.outer)"},
    {"prefetch_on_threads", "C[i<64, j<96] = sum[k<32](A[i,k] * B[k,j])", TURNS("48") "; parallel(C, i.outer)"},
    {"prefetch_of_same_stage", MM,
     "split(C, k, 8); reorder(C, k.outer, j, i, k.inner); prefetch(C, A, i, 2, C, k.outer)"},
    {"prefetch_laid_out", MM,
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k, j%16]); split(C, j, 16); "
     "reorder(C, j.outer, i, k, j.inner); prefetch(C, B.global, k, 1, C, j.outer); vectorize(C, j.inner)"},
    {"prefetch_of_stage", BLUR,
     "tile(Q, y, x, 8, 16); reorder(Q, x.outer, y.outer, x.inner, y.inner); compute_at(P, Q, x.outer); "
     "prefetch(P, A, y, 1, Q, x.outer); parallel(Q, x.outer)"},
    {"unroll_not_explicit", MM, "split(C, j, 4); unroll(C, j.inner); pragma(C, i, unroll_explicit, 0)"},
    {"unroll_not_explicit_auto", MM,
     "split(C, j, 4); reorder(C, i, j.outer, k, j.inner); pragma(C, i, auto_unroll_max_step, 8); "
     "pragma(C, j.outer, unroll_explicit, 0)"},
    {"partition_hint", "C[i<100, j<4] = A[i,j] + 1", "split(C, i, 16); pragma(C, i.outer, loop_partition_hint, 1)"},
    {"joined_loops", "P[i<16] = sum[k<8](A[i,k])\nQ[i<16] = max[k<8](A[i,k])",
     "split(P, i, 4); split(Q, i, 4); parallel(P, i.outer); parallel(Q, i.outer); pragma(Q, i.outer, join_loop_before, "
     "1)"},
    {"joined_three", "P[i<16] = A[i] + 1\nQ[i<16] = A[i] * 2\nR[i<16] = A[i] - 3",
     "pragma(Q, i, join_loop_before, 1); pragma(R, i, join_loop_before, 1)"},
    {"stride_pattern", ADD, "parallel(C, i); pragma(C, i, parallel_stride_pattern, 1)"},
    {"stride_pattern_peeled", "C[i<100, j<4] = A[i,j] + 1",
     "split(C, i, 16, tail=peel); parallel(C, i.outer); pragma(C, i.outer, parallel_stride_pattern, 1)"},
    {"store_predicate", "P[i<18] = A[i] * 2\nQ[i<16] = P[i+1] + 1",
     "set_store_predicate(P, i >= 1 && i < 17); split(P, i, 5, tail=peel)"},
    {"store_predicate_select", "P[i<18] = sum[k<4](A[i,k])\nQ[i<18] = select(i >= 4, P[i], 0)",
     "set_store_predicate(P, i > 3); compute_at(P, Q, i)"},
    {"store_predicate_vectorized", "P[i<16, j<32] = A[i,j] * 2\nQ[i<16] = sum[k<32 where k < 20](P[i,k])",
     "set_store_predicate(P, j < 20); vectorize(P, j)"},
    {"store_predicate_cache", MM,
     "cache_write(C, local); set_store_predicate(C.local, i.c < 64 && j.c >= 0); split(C.local, i.c, 5)"},
    {"double_buffer", BLUR, "compute_at(P, Q, y); double_buffer(P)"},
    {"double_buffer_tile", BLUR,
     "tile(Q, y, x, 8, 16, tail=peel); compute_at(P, Q, x.outer); double_buffer(P); vectorize(P, x); parallel(Q, "
     "y.outer)"},
    {"double_buffer_reduction", MM,
     "split(C, k, 8); reorder(C, k.outer, i, j, k.inner); cache_read(B, local, C); compute_at(B.local, C, k.outer); "
     "double_buffer(B.local)"},
    {"double_buffer_two", "P[i<16, j<16] = A[i,j] * 2\nR[i<16, j<16] = B[i,j] + 1\nQ[i<16, j<16] = P[i,j] + R[i,j]",
     "compute_at(P, Q, i); compute_at(R, Q, i); double_buffer(P); double_buffer(R)"},
    {"double_buffer_inner_stage", CHAIN, "compute_at(Q, R, i); double_buffer(Q); compute_at(P, Q, i)"},
    {"double_buffer_unrolled", "P[i<4, j<16] = A[i,j] * 2\nQ[i<4, j<16] = P[i,j] + 1",
     "compute_at(P, Q, i); double_buffer(P); unroll(Q, i)"},
    {"rolling_buffer", BLUR, "compute_at(P, Q, y); rolling_buffer(P)"},
    {"rolling_buffer_tile", BLUR,
     "tile(Q, y, x, 8, 16); compute_at(P, Q, y.inner); rolling_buffer(P); vectorize(P, x); parallel(Q, y.outer)"},
    {"rolling_buffer_blocks", BLUR,
     "split(Q, y, 4); compute_at(P, Q, y.outer); rolling_buffer(P); split(P, y, 4, tail=overlap); vectorize(P, x)"},
    {"rolling_buffer_blocks_chain",
     "R[y<46, x<16] = A[y,x] * 2\nP[y<43, x<16] = R[y,x] + R[y+3,x]\nQ[y<40, x<16] = P[y,x] * P[y+3,x]",
     "split(Q, y, 2); compute_at(P, Q, y.outer); compute_at(R, Q, y.outer); rolling_buffer(P); rolling_buffer(R); "
     "split(P, y, 2, tail=overlap); split(R, y, 2, tail=overlap); unroll(R, y.outer)"},
    {"rolling_buffer_strided", STRIDED, "compute_at(P, O, h); rolling_buffer(P)"},
    {"rolling_buffer_reduction", "P[y<34] = sum[k<8](A[y,k])\nQ[y<32] = P[y] + P[y+1] + P[y+2]",
     "compute_at(P, Q, y); rolling_buffer(P)"},
    {"rolling_buffer_layout", BLUR,
     "compute_at(P, Q, y); rolling_buffer(P); transform_layout(P, [y, x] -> [x//8, y, x%8]); unroll(Q, y)"},
    {"rolling_buffer_chain", "P[y<36] = A[y] * 2\nR[y<34] = P[y] + P[y+2]\nQ[y<32] = R[y] * R[y+2]",
     "compute_at(R, Q, y); compute_at(P, Q, y); rolling_buffer(R); rolling_buffer(P)"},
    {"bind", ADD, "bind(C, i, blockIdx.x); split(C, j, 32); bind(C, j.inner, threadIdx.x)"},
    {"vthread_accumulators", MM, "split(C, i, 4); bind(C, i.inner, vthread); vectorize(C, j)"},
    {"vthread_producer", BLUR, "split(Q, y, 3); bind(Q, y.inner, vthread); compute_at(P, Q, y.inner)"},
    /* several outputs */
    {"tuple", PAIR, ""},
    {"tuple_at", PAIR, "compute_at(S, C, i)"},
    {"tuple_inline", PAIR, "compute_inline(D); vectorize(C, j)"},
    {"tuple_cache_read", PAIR, "cache_read(D, local, C); compute_at(D.local, C, i); vectorize(S, j)"},
    {"tuple_cache_write", PAIR, "cache_write(S, D, local); compute_at(S, C, i); compute_at(S.local, S, j)"},
    {"tuple_layout", PAIR, "transform_layout(S, [i, j] -> [j, i])"},
    {"tuple_aligned", PAIR, "storage_align(D, i, 32, 8); set_scope(S, local); compute_at(S, C, i)"},
    {"tuple_pad", PAIR, "vectorize(S, j, 10, tail=pad)"},
    {"argmax", ARGMAX, ""},
    {"argmax_index_alone", "I[i<64] = argmin[k<50](X[i,k])",
     "split(I, i, 16); reorder(I, i.outer, k, i.inner); vectorize(I, i.inner)"},
    {"argmax_vectorized", ARGMAX,
     "split(I, i, 16); reorder(I, i.outer, k, i.inner); vectorize(I, i.inner); parallel(V, i.outer)"},
    {"argmax_rfactor", ARGMAX, "split(V, k, 16); rfactor(V, k.inner, -1); vectorize(I.rf, k.inner)"},
    {"argmax_parallel_reduce", "(I, V) = argmax[k<1000](X[k])", "parallel_reduce(I, k, parts=3)"},
    {"argmax_cache_write", ARGMAX,
     "cache_write(I, V, local); split(I, i, 16); compute_at(I.local, I, i.outer); reorder(V.local, k, i.c); "
     "vectorize(I.local, i.c); vectorize(I, i.inner)"},
    {"argmax_where", "(I, V)[i<8] = argmax[k<50 where X[i,k] < 3 init = (7, 1)](X[i,k])", "split(I, k, 8, tail=pad)"},
    {"tuple_old_values", COMPLEX, ""},
    {"tuple_old_values_vectorized", COMPLEX,
     "split(P, i, 8, tail=mask); reorder(P, i.outer, k, i.inner); vectorize(P, i.inner)"},
    {"tuple_old_values_rfactor", COMPLEX, "split(P, k, 7); rfactor(P, k.inner)"},
    {"tuple_old_values_unrolled", COMPLEX, "split(Q, k, 4); unroll(Q, k.inner)"},
    /* extents and strides that a call decides */
    {"strided",
     "input A: f32[16,30] strided\nP[i<16, j<30] = A[i,j] * 2\nC[i<16, j<30] = P[15 - i, j] + A[i,j]\n"
     "output P, C strided",
     "tile(C, i, j, 4, 8, tail=peel); vectorize(C, j.inner); fuse(P, i, j); vectorize(P, i.j.fused, 16)"},
    {"strided_scan",
     "input X: f32[6,4]\nstate S: f32[6,4]\n"
     "scan S[t<6, i<4] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])\noutput S strided",
     "vectorize(S, i)"},
    {"strided_values", "(S, D)[n<2, i<8, j<10] = (A[n,i,j] + 1, A[n,i,j] * 2)\noutput D strided, S strided",
     "vectorize(S, j, 8, tail=mask)"},
    {"symbolic", SYMBOLIC, ""},
    {"symbolic_tile", SYMBOLIC,
     "tile(C, i, j, 8, 16); reorder(C, i.outer, j.outer, k, i.inner, j.inner); "
     "vectorize(C, j.inner); parallel(C, i.outer)"},
    {"symbolic_registers", "symbol M\nC[i<M, j<48] = sum[k<32](A[i,k] * B[k,j])",
     "cache_write(C, local); tile(C, i, j, 4, 16); compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); "
     "vectorize(C.local, j.c); unroll(C.local, i.c); vectorize(C, j.inner); parallel(C, i.outer)"},
    {"symbolic_nparts", "symbol M\nC[i<M] = A[i] + 1", "split(C, i, nparts=4); parallel(C, i.outer)"},
    {"symbolic_many", "symbol M\nC[i<M] = A[i] + 1", "split(C, i, 4, 8); vectorize(C, i.2)"},
    {"symbolic_fuse", "symbol M, N\nC[i<M, j<N] = A[i,j] * A[i,j]", "fuse(C, i, j); split(C, i.j.fused, 64)"},
    {"symbolic_mask", "symbol M\nC[i<M] = A[i] + 1", "split(C, i, 16, tail=mask); vectorize(C, i.inner)"},
    {"symbolic_pad", "symbol M\nP[i<M] = A[i] * 2\nC[i<M] = P[i] + 1",
     "split(P, i, 16, tail=pad); vectorize(P, i.inner)"},
    {"symbolic_pad_reduction", "symbol K\nC = sum[k<K](A[k])", "split(C, k, 8, tail=pad)"},
    {"symbolic_peel", "symbol M\nC[i<M] = A[i] + 1", "split(C, i, 16, tail=peel); vectorize(C, i.inner)"},
    {"symbolic_blocks", "symbol M\nC[i<M, j<8] = A[i,j] + 1",
     "split(C, i, 4, tail=peel); split(C, i.outer, 3, tail=peel); reorder(C, i.outer.outer, j, i.outer.inner, "
     "i.inner)"},
    {"partition_where_data_choose", "input A: f32[2,256]\nC[i<2, j<256] = select(A[i,j] > 0, A[i,(j+1)%256], 0.5)",
     "split(C, j, 32); pragma(C, j.outer, loop_partition_hint, 1); vectorize(C, j.inner)"},
    {"partition_two_ends", "input A: f32[2,128]\nC[i<2, j<128] = A[i,(j+127)%128] + A[i,(j+1)%128]",
     "split(C, j, 64); pragma(C, j.outer, loop_partition_hint, 1); vectorize(C, j.inner)"},
    {"partition_joined", "input A: f32[64], B: f32[400]\nC[i<464] = select(i < 64, A[i], B[i - 64])",
     "split(C, i, 16); pragma(C, i.outer, loop_partition_hint, 1); vectorize(C, i.inner)"},
    {"symbolic_panels", SYMBOLIC,
     "tile(C, i, j, 8, 16); cache_read(B, global, C); split(B.global, ax1, 16); vectorize(B.global, ax1.inner); "
     "transform_layout(B.global, [k, j] -> [j//16, k, j%16])"},
    {"symbolic_cache_at", SYMBOLIC, "tile(C, i, j, 8, 16); cache_read(B, local, C); compute_at(B.local, C, j.outer)"},
    {"symbolic_rfactor", "symbol M, K\nC[i<M] = sum[k<K](A[i,k])",
     "split(C, k, 16); rfactor(C, k.inner, -1); vectorize(C.rf, k.inner)"},
    {"symbolic_parallel_reduce", "symbol K<=4096\nC = sum[k<K](A[k])", "parallel_reduce(C, k, parts=3)"},
    {"symbolic_argmax", "symbol M, K\n(I, V)[i<M] = argmax[k<K](A[i,k])", "split(I, i, 4); parallel(I, i.outer)"},
    {"symbolic_blur",
     "symbol 3<=H<=1000, W<=1000\nP[y<H, x<W] = A[y,x] * 2\nQ[y<H - 2, x<W] = P[y,x] + P[y+1,x] + P[y+2,x]",
     "split(Q, y, 4); compute_at(P, Q, y.outer)"},
    {"symbolic_padding",
     "symbol N\ninput A: f32[N]\nP[i<N + 2] = select(i >= 1 && i < N + 1, A[i-1], 0)\nC[i<N] = P[i] + P[i+1] + P[i+2]",
     "compute_inline(P); split(C, i, 8)"},
    {"symbolic_small", "symbol M<=100, N<=100\nP[i<M, j<20] = A[i,j] * 2\nC[i<M, j<N, k<20] = P[M - 1 - i, k] + f32(N)",
     "storage_align(P, i, 8, 4); parallel(C, i)"},
    {"tensorize", "input A: u8[8,32], B: i8[32,32]\nC[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"tensorize_panels",
     "input A: i8[8,32], B: i8[32,32]\nP[jo<2, ko<8, ji<16, ki<4] = B[ko*4 + ki, jo*16 + ji]\n"
     "C[i<8, j<32] = sum[k<32](i32(A[i,k]) * i32(P[j//16, k//4, j%16, k%4]))",
     "cache_write(C, local); split(C, i, 4); split(C, j, 16); reorder(C, i.outer, j.outer, i.inner, j.inner); "
     "vectorize(C, j.inner); compute_at(C.local, C, j.outer); split(C.local, k, 4); "
     "reorder(C.local, k.outer, i.c, j.c, k.inner); tensorize(C.local, j.c, dot4_i8i8); fuse(P, ji, ki); "
     "vectorize(P, ji.ki.fused)"},
    {"tensorize_layout", "input A: bf16[8,32], B: bf16[32,32]\nC[i<8, j<32] = sum[k<32](f32(A[i,k]) * f32(B[k,j]))",
     "cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//8, k//2, j%8, k%2]); "
     "split(C, j, 8); split(C, k, 2); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, dot2_bf16_x8)"},
    {"tensorize_windows", "input I: u8[2,19], W: i8[4]\nC[n<2, x<16] = sum[k<4](i32(I[n, x + k]) * i32(W[k]))",
     "tensorize(C, x, dot4_u8i8)"},
    {"tensorize_peeled", "input A: u8[3,6], B: i8[6,19]\nC[i<3, j<19] = sum[k<6](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, j, 16, tail=peel); split(C, k, 4, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, dot4_u8i8)"},
    {"tensorize_gemv", "C[i<4, j<32] = sum[k<24](A[i,k] * B[j,k])",
     "split(C, j, 16); split(C, k, 8); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, gemv_16x8)"},
    {"tensorize_gemv_whole", "T[i<4, j<32] = sum[k<24](A[i,k] * B[k,j])\nC[i<4, j<32] = T[i,j] + 1",
     "split(T, j, 16); tensorize(T, j.inner, gemv_16x24); compute_at(T, C, i)"},
    {"tensorize_gemv_peeled", "C[i<2, j<21] = sum[k<19](A[i,k] * B[j,k])",
     "split(C, j, 16, tail=peel); split(C, k, 8, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, gemv_16x8)"},
    {"tensorize_gemv_units", "C[i<4] = sum[k<24](A[i,k] * B[k])\nD[i<4, j<8] = sum[k<1](C[i + k] * B[j])",
     "tensorize(C, k, gemv_1x24); tensorize(D, j, gemv_8x1)"},
    /* shapes and dtypes */
    {"rank_0", "T[i<16] = A[i] + 1\nS = sum[i<16](T[i])\nU = S * 2", "compute_at(T, S, i)"},
    {"two_outputs", "P[i<16] = A[i] + 1\nQ[i<16] = P[i] * 2\nR[i<8] = P[i] * 3", "parallel(Q, i)"},
    {"output_read", "P[i<16] = A[i] + 1\nQ[i<16] = P[i] * 2\noutput P, Q", "cache_write(P, local); split(Q, i, 4)"},
    {"any", "input A: bool[9,5]\nB[i<9] = any[k<5](A[i,k])", "split(B, i, 4)"},
    /* expressions */
    {"reduce_where", "B[i<8] = sum[k<8 where k <= i](A[i,k])", "vectorize(B, i)"},
    {"reduce_init", "B[i<8] = max[k<20 init = C[i]](A[i,k])", "split(B, k, 8)"},
    {"min_floats", "B[i<8] = min[k<20](A[i,k])", "rfactor(B, k)"},
    {"prod", "B = prod[k<12](A[k])", "unroll(B, k)"},
    {"all", "input A: bool[8,20]\nB[i<8] = all[k<20](A[i,k])", "parallel(B, i)"},
    {"half_storage", "input A: f16[64], B: bf16[64]\nC[i<64] = f16(A[i] + B[i])",
     "split(C, i, 16); vectorize(C, i.inner)"},
    {"if_then_else", "C[i<64] = if_then_else(i % 2 == 0, A[i // 2], A[i + 1])", "split(C, i, 16)"},
    {"math_functions", "C[i<64] = exp(A[i]) + tanh(A[i]) * atan2(A[i], 2) + floor(A[i])",
     "split(C, i, 16); vectorize(C, i.inner)"},
    {"bits", "input A: u8[64]\nC[i<64] = popcount(A[i] ^ 15) << 2 | A[i] >> 1",
     "split(C, i, 16); vectorize(C, i.inner)"},
    {"casts", "input A: i8[64]\nC[i<64] = u8(f32(A[i]) * 0.5)", "vectorize(C, i)"},
    {"vectorize_in_chunks", "C[i<200] = A[i] + 1", "vectorize(C, i)"},
    {"inline_into_reduction", "P[i<16, j<16] = A[i,j] * 2\nB[i<16] = sum[k<16](P[i,k])",
     "compute_inline(P); split(B, k, 4); unroll(B, k.inner)"},
    {"max_integers", "input A: i8[9,5]\nB[i<9] = max[k<5](A[i,k])", "unroll(B, k)"},
    {"large_indices", "C[i<70000, j<70000] = A[i] + B[j]", "split(C, j, 16)"},
    {"index_from_data", "input I: i32[20], A: f32[20,8]\nP[i<20, j<8] = A[i,j] * 2\nC[i<20, j<8] = P[I[i] % 20, j]",
     "compute_at(P, C, i)"},
    {"index_floor", "P[i<20] = A[i] * 2\nC[i<20] = P[i // 4] + P[i % 4]", "split(C, i, 4); compute_at(P, C, i.outer)"},
    {"index_clamped", "P[i<20] = A[i] * 2\nC[i<20] = P[max(i - 1, 0)] + P[min(i + 1, 19)]",
     "split(C, i, 4); compute_at(P, C, i.outer)"},
    {"reversed", "P[i<20] = A[i] * 2\nC[i<20] = P[19 - i]", "split(C, i, 5); compute_at(P, C, i.outer)"},
};
const size_t n_schedule_cases = sizeof schedule_cases / sizeof *schedule_cases;
