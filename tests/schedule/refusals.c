/* Refusals: for each, the whole message, its form, and that the schedule is as it was. */
#include <ctype.h>

#include "tests/schedule/tests.h"

#define WINDOWS(index) "B[x<9] = max[c<4, s<5](A[c," index "])"
#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define ADD "C[i<64, j<48] = A[i,j] + B[i,j]"
#define CHAIN "P[i<16, j<16] = A[i,j] * 2\nQ[i<16, j<16] = P[i,j] + 1\nR[i<16, j<16] = Q[i,j] * Q[i,j]"
#define FUSED "M[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])\nO[i<64, j<48] = M[i,j] + D[i,j]"
#define FORK "P[i<16] = A[i] * 2\nQ[i<16] = P[i] + 1\nR[i<16] = P[i] * Q[i]"
#define PAIR "(S, D)[i<16, j<16] = (A[i,j] + B[i,j], A[i,j] - B[i,j])\nC[i<16, j<16] = S[i,j] * D[j,i]"
#define LONG "P[i<16] = A[i] * 2\nQ[i<16] = P[i] + 1\nR[i<16] = Q[i] * 3\nS[i<16] = R[i] + 4"
#define SUMS "state S: f32[64, 8]\nscan S[t<64, i<8] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])"
#define CELL                                                                      \
  "state H: f32[6, 8, 4]\nZ[t<6, j<8, b<4] = sum[k<8 where t >= 1](H[t-1,k,b])\n" \
  "scan H[t<6, j<8, b<4] = Z[t,j,b] + X[t,j,b]\nO[j<8] = H[5,j,0]"
#define CALL "P[i<18, j<20] = A[i,j] * 2\nextern y: f32[18] = my_gemv(P)\nQ[i<18] = y[i] + P[i,0]"
#define PREDICATE "P[i<18] = A[i] * 2\nQ[i<16] = P[i+1] + 1"
#define SCALAR "T[i<16] = A[i] + 1\nS = sum[i<16](T[i])\nU = S * 2"

static const struct refusal {
  const char *name, *program, *before, *call, *message;
} refusals[] = {
    {"vectorize: a symbolic extent", "symbol M; C[i<M] = A[i] + 1", "", "vectorize(C, i)",
     "vectorize(C, i): loop i of C has the extent M, which is known at a call only: vectorize needs a constant one: "
     "use split(C, i, 16), then i.inner"},
    {"unroll: a symbolic extent", "symbol M; C[i<M] = sum[k<M + 2](A[k])", "", "unroll(C, k)",
     "unroll(C, k): loop k of C has the extent M + 2, which is known at a call only: unroll needs a constant one: use "
     "split(C, k, 16), then k.inner"},
    {"vectorize: the outer loop of a symbolic extent", "symbol M; C[i<M] = A[i] + 1", "split(C, i, 8)",
     "vectorize(C, i.outer)",
     "vectorize(C, i.outer): loop i.outer of C has the extent (M + 7)//8, which is known at a call only: vectorize "
     "needs a constant one: use split(C, i.outer, 16), then i.outer.inner"},
    {"bind: a symbolic extent", "symbol M; C[i<M] = A[i] + 1", "", "bind(C, i, threadIdx.x)",
     "bind(C, i): loop i of C has the extent M, which is known at a call only: threadIdx.x needs a constant one: use "
     "split(C, i, 16), then i.inner"},
    {"overlap: a symbolic extent", "symbol M; C[i<M] = A[i] + 1", "", "split(C, i, 8, tail=overlap)",
     "split(C, i): tail overlap: loop i of C has the extent M, which can be smaller than a block at a call: there is "
     "nothing to move the last block back to; take guard, peel, mask or pad, or give the symbol a lower limit"},
    {"overlap: a lower limit that is less than a block", "symbol 7<=M<=99; C[i<M] = A[i] + 1", "",
     "split(C, i, 8, tail=overlap)",
     "split(C, i): tail overlap: loop i of C has the extent M, which can be smaller than a block at a call: there is "
     "nothing to move the last block back to; take guard, peel, mask or pad, or give the symbol a lower limit"},
    {"fuse: three symbolic extents", "symbol M, N, K; C[i<M, j<N, k<K] = A[i,j,k]", "", "fuse(C, i, j, k)",
     "fuse(C, i, j, k): the fused extent does not fit 63 bits: fuse fewer loops"},
    {"storage_align: a symbolic row", "symbol M; P[i<4, j<M] = A[i,j]; C[i<4, j<M] = P[i,j]", "",
     "storage_align(P, i, 32, 8)",
     "storage_align(P, i): the stride of axis i of P depends on the extent of axis j, which is known at a call only: "
     "name an axis inside of which all extents are constant"},
    {"split: an extern", CALL, "", "split(y, i, 4)",
     "split(y, i): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it reads, "
     "or one that reads it"},
    {"vectorize: an extern", CALL, "", "vectorize(y, i)",
     "vectorize(y, i): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"parallel: an extern", CALL, "", "parallel(y, i)",
     "parallel(y, i): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"rfactor: an extern", CALL, "", "rfactor(y, i)",
     "rfactor(y, i): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"set_store_predicate: an extern", CALL, "", "set_store_predicate(y, i < 4)",
     "set_store_predicate(y): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that "
     "it reads, or one that reads it"},
    {"double_buffer: an extern", CALL, "", "double_buffer(y)",
     "double_buffer(y): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"transform_layout: an extern", CALL, "", "transform_layout(y, [i] -> [i//2, i%2])",
     "transform_layout(y): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"compute_inline: an extern", CALL, "", "compute_inline(y)",
     "compute_inline(y): y is computed by a call of my_gemv, as a whole, and has no loops here: leave it at root"},
    {"compute_at: an extern", CALL, "", "compute_at(y, Q, i)",
     "compute_at(y, Q, i): y is computed by a call of my_gemv, as a whole, and has no loops here: it is called once, "
     "at root; compute other stages at their readers"},
    {"compute_at: at an extern", CALL, "", "compute_at(P, y, i)",
     "compute_at(P, y, i): y is computed by a call of my_gemv, as a whole, and has no loops here: name a stage that it "
     "reads, or one that reads it"},
    {"cache_write: an extern", CALL, "", "cache_write(y, local)",
     "cache_write(y): y is computed by a call of my_gemv, as a whole, and has no loops here: give its tensor the scope "
     "by set_scope"},
    {"compute_inline: what an extern reads", CALL, "", "compute_inline(P)",
     "compute_inline(P): y, which my_gemv computes, reads P: a C function takes tensors in memory, and one that is "
     "inlined is nowhere; leave it at root"},
    {"compute_at: what an extern reads", CALL, "", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): y, which my_gemv computes, reads P: a C function takes whole tensors, and an iteration "
     "makes a part of one; leave it at root"},
    {"transform_layout: what an extern reads", CALL, "", "transform_layout(P, [i, j] -> [j, i])",
     "transform_layout(P): y, which my_gemv computes, reads P: a C function takes row-major arrays; give the layout to "
     "a copy for the other readers, by cache_read"},
    {"storage_align: what an extern reads", CALL, "", "storage_align(P, i, 32, 8)",
     "storage_align(P, i): y, which my_gemv computes, reads P: a C function takes arrays without gaps; make a copy for "
     "the other readers by cache_read, and align that"},
    {"split: tail pad of what an extern reads", CALL, "", "split(P, j, 8, tail=pad)",
     "split(P, j): y, which my_gemv computes, reads P: a C function takes arrays without padding; take guard or peel"},
    {"set_store_predicate: what an extern reads", CALL, "", "set_store_predicate(P, i < 4)",
     "set_store_predicate(P): y, which my_gemv computes, reads P: a C function takes whole tensors; use "
     "select(condition, value, other) in the program"},
    {"double_buffer: what an extern reads", CALL, "", "double_buffer(P)",
     "double_buffer(P): P is at root, where its buffer is filled once: call compute_at(P, reader, axis) first"},
    {"parallel: the time of a scan", SUMS, "", "parallel(S, t)",
     "parallel(S, t): loop t of S (extent 64) is the time of a scan: an iteration reads what earlier ones stored, so "
     "they cannot run in parallel; take one of the scan's other loops"},
    {"vectorize: the time of a scan", SUMS, "", "vectorize(S, t)",
     "vectorize(S, t): loop t of S (extent 64) is the time of a scan: an iteration reads what earlier ones stored, so "
     "they cannot run in lockstep; take one of the scan's other loops"},
    {"bind: the time of a scan", SUMS, "", "bind(S, t, threadIdx.x)",
     "bind(S, t): loop t of S (extent 64) is the time of a scan: an iteration reads what earlier ones stored, so they "
     "cannot run in parallel; take one of the scan's other loops"},
    {"vectorize: a part of the time", SUMS, "split(S, t, 8)", "vectorize(S, t.inner)",
     "vectorize(S, t.inner): loop t.inner of S (extent 8) is the time of a scan: an iteration reads what earlier ones "
     "stored, so they cannot run in lockstep; take one of the scan's other loops"},
    {"fuse: the time of a scan", SUMS, "", "fuse(S, t, i)",
     "fuse(S, t, i): loop t of S is the time of a scan: it stays a loop of its own, in which the steps stand; fuse "
     "other loops"},
    {"fuse: parts of the time", SUMS, "split(S, t, 8)", "fuse(S, t.outer, t.inner)",
     "fuse(S, t.outer, t.inner): loop t.outer of S is the time of a scan: it stays a loop of its own, in which the "
     "steps stand; fuse other loops"},
    {"split: the time, overlapping", SUMS, "", "split(S, t, 7, tail=overlap)",
     "split(S, t): loop t of S is the time of a scan: its rest is guarded or peeled off, so that no time runs twice; "
     "take tail guard or peel"},
    {"split: the time, padded", SUMS, "", "split(S, t, 7, tail=pad)",
     "split(S, t): loop t of S is the time of a scan: its rest is guarded or peeled off, so that no time runs twice; "
     "take tail guard or peel"},
    {"reorder: parts of the time", SUMS, "split(S, t, 8)", "reorder(S, t.inner, t.outer)",
     "reorder(S, t.inner, t.outer, i): loop t.outer of S would stand inside a later part of the time: the times would "
     "run out of order; leave t.outer outside of t.inner"},
    {"reorder: parts of a part of the time", SUMS, "split(S, t, 2, 3); split(S, t.1, 2)", "reorder(S, t.2, t.1.outer)",
     "reorder(S, t.0, t.2, t.1.inner, t.1.outer, i): loop t.1.inner of S would stand inside a later part of the time: "
     "the times would run out of order; leave t.1.inner outside of t.2"},
    {"reorder: an axis that a scan reads across", CELL, "", "reorder(H, j, t)",
     "reorder(H, j, t, b): loop j of H would stand outside of the time t, but the scan reads across j: element j of a "
     "time needs other elements of earlier times; keep t outside of j"},
    {"reorder: a part of such an axis", CELL, "split(H, j, 2)", "reorder(H, j.outer, t)",
     "reorder(H, j.outer, t, j.inner, b): loop j.outer of H would stand outside of the time t, but the scan reads "
     "across j: element j of a time needs other elements of earlier times; keep t outside of j.outer"},
    {"cache_write: a scan", SUMS, "", "cache_write(S, local)",
     "cache_write(S): S is a scan, whose times are computed one after the other from one buffer: cache_write would put "
     "another stage between them; use set_scope or storage_align, which keep its buffer"},
    {"cache_write: a step", CELL, "", "cache_write(Z, local)",
     "cache_write(Z): Z is a step of the scan H, whose times are computed one after the other from one buffer: "
     "cache_write would put another stage between them; use set_scope or storage_align, which keep its buffer"},
    {"rfactor: a step", CELL, "", "rfactor(Z, k)",
     "rfactor(Z, k): Z is a step of the scan H, whose times are computed one after the other from one buffer: rfactor "
     "would put another stage between them; make loops over data axes of it parallel"},
    {"cache_read: a step of the scan as reader", CELL, "", "cache_read(H, local, Z)",
     "cache_read(H): Z reads earlier times of the scan H while it is computed, which no copy of it can hold; name "
     "readers outside of the scan, or leave the cache out"},
    {"cache_read: a step", CELL, "", "cache_read(Z, local, H)",
     "cache_read(Z): Z is a step of the scan H, whose times are computed one after the other from one buffer: "
     "cache_read would put another stage between them; use set_scope or storage_align, which keep its buffer"},
    {"compute_root: a step", CELL, "", "compute_root(Z)",
     "compute_root(Z): Z is a step of the scan H: it reads what the scan stored at earlier times, so it is computed "
     "inside the time t; use compute_at(Z, H, t) or a loop inside of that one"},
    {"compute_inline: a scan", CELL, "", "compute_inline(H)",
     "compute_inline(H): H is a scan: each of its times reads earlier ones, so it is computed as a whole, at root; "
     "compute what it reads at one of its loops (t) instead"},
    {"compute_at: a scan", CELL, "", "compute_at(H, O, j)",
     "compute_at(H, O, j): H is a scan: each of its times reads earlier ones, so it is computed as a whole, at root; "
     "compute what it reads at one of its loops (t) instead"},
    {"compute_at: outside of a part of the time", CELL, "split(H, t, 2)", "compute_at(Z, H, t.outer)",
     "compute_at(Z, H, t.outer): Z is a step of the scan H: it reads what the scan stored at earlier times, so it is "
     "computed inside the time t.inner; use compute_at(Z, H, t.inner) or a loop inside of that one"},
    {"cache_read: a scalar", "scalar a: f32; C[i<64] = A[i]*a", "", "cache_read(a, local, C)",
     "cache_read(a): a is a scalar: it is passed by value and lies in a register; name an input that is a tensor"},
    {"split: an unknown axis", MM, "", "split(C, x, 4)",
     "split(C, x): axis \"x\" is not part of stage C: name one of its loops, i, j, k"},
    {"split: an unknown stage", MM, "", "split(X, i, 4)", "split(X): no stage is called \"X\": name one of A, B, C"},
    {"split: a factor of zero", MM, "", "split(C, i, 0)",
     "split(C, i): length 0: a factor must be at least 1 (loop i has extent 64); for example split(C, i, 8)"},
    {"split: a negative factor", MM, "", "split(C, i, -3)",
     "split(C, i): length -3: a factor must be at least 1 (loop i has extent 64); for example split(C, i, 8)"},
    {"split: no parts", MM, "", "split(C, k, nparts=0)",
     "split(C, k): length 0: a factor must be at least 1 (loop k has extent 32); for example split(C, k, 8)"},
    {"split: an input", MM, "", "split(A, i, 4)",
     "split(A, i): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, local, "
     "reader)"},
    {"split: an axis that was split", MM, "split(C, i, 8)", "split(C, i, 4)",
     "split(C, i): axis i of C has already been split into i.outer, i.inner: name one of these"},
    {"split: an axis that was split in three", MM, "split(C, i, 4, 2)", "split(C, i, 4)",
     "split(C, i): axis i of C has already been split into i.0, i.1, i.2: name one of these"},
    {"split: an axis that was fused", MM, "fuse(C, i, j)", "split(C, i, 4)",
     "split(C, i): axis i of C has already been fused into i.j.fused: name that"},
    {"split: a vectorized loop", MM, "vectorize(C, j)", "split(C, j, 4)",
     "split(C, j): loop j of C already has vectorize, which would be lost: put this before vectorize(C, j)"},
    {"split: an unrolled loop", MM, "unroll(C, k)", "split(C, k, 4)",
     "split(C, k): loop k of C already has unroll, which would be lost: put this before unroll(C, k)"},
    {"split: a loop with a pragma", MM, "pragma(C, i, auto_unroll_max_step, 16)", "split(C, i, 4)",
     "split(C, i): loop i of C already has pragma, which would be lost: put this before pragma(C, i)"},
    {"split: too many lengths", MM, "", "split(C, i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)",
     "split(C, i): 16 lengths: a split takes 1 to 15; split one of the new loops again"},
    {"split: lengths whose product is too large", MM, "", "split(C, i, 100000, 100000)",
     "split(C, i): length 100000: the product of the lengths is over 2147483647, and loop i has extent 64: take "
     "smaller lengths"},
    {"split: a factor beyond an index", MM, "", "split(C, i, 4294967296)",
     "split(C, i): length 4294967296: the product of the lengths is over 2147483647, and loop i has extent 64: "
     "take smaller lengths"},
    {"split: factor and nparts", MM, "", "split(C, i, 4, nparts=2)",
     "split(C, i) takes a factor or nparts=, and not both: write split(C, i, 32)"},
    {"split: no factor", MM, "", "split(C, i)",
     "split(C, i) takes a factor or nparts=, and not both: write split(C, i, 32)"},
    {"split: a name for a factor", MM, "", "split(C, i, four)",
     "split(C, i, four): wrong arguments: write split(stage, axis, factor [, tail=peel]) or split(stage, axis, "
     "nparts=n)"},
    {"split: an unknown tail", MM, "", "split(C, i, 20, tail=round)",
     "split(C, i): tail \"round\" is unknown: take guard, peel, mask, pad or overlap"},
    {"split: an unknown key", MM, "", "split(C, i, 20, parts=3)",
     "split(C, i, 20, parts=3): it takes no parts=: write split(stage, axis, factor [, tail=peel]) or split(stage, "
     "axis, nparts=n)"},
    {"split: a stage that was inlined", CHAIN, "compute_inline(Q)", "split(Q, i, 4)",
     "split(Q, i): Q is inlined and has no loops of its own: call compute_root(Q) first"},
    {"overlap: a reduction", MM, "", "split(C, k, 5, tail=overlap)",
     "split(C, k): tail overlap: loop k of C runs over a reduction axis (extent 32): the blocks overlap, and elements "
     "would be combined twice; take guard, peel or pad"},
    {"overlap: inside a reduction loop", MM, "reorder(C, k, i)", "split(C, i, 5, tail=overlap)",
     "split(C, i): tail overlap: loop i of C stands inside the reduction loop k: an element that two blocks hold would "
     "be combined twice; call reorder(C, i, k) first, or take guard, peel or pad"},
    {"overlap: into a reduction loop", MM, "split(C, i, 5, tail=overlap)", "reorder(C, k, i.outer)",
     "reorder(C, k, i.inner, j, i.outer): loop i.outer of C, which counts the blocks of a split with tail overlap, "
     "would stand inside the reduction loop k: elements that two blocks hold would be combined twice; keep it outside"},
    {"overlap: parallel blocks", MM, "split(C, i, 5, tail=overlap)", "parallel(C, i.outer)",
     "parallel(C, i.outer): loop i.outer of C would run blocks of a split with tail overlap in parallel: they write "
     "the same elements; take tail guard or peel there, or another loop"},
    {"overlap: parallel around the blocks", MM, "split(C, i, 5, tail=overlap); reorder(C, i.inner, i.outer)",
     "parallel(C, i.inner)",
     "parallel(C, i.inner): loop i.inner of C would run blocks of a split with tail overlap in parallel: they write "
     "the same elements; take tail guard or peel there, or another loop"},
    {"overlap: parallel blocks, fused", MM,
     "split(C, i, 5, tail=overlap); reorder(C, i.outer, j); fuse(C, i.outer, i.inner)",
     "parallel(C, i.outer.i.inner.fused)",
     "parallel(C, i.outer.i.inner.fused): loop i.outer.i.inner.fused of C would run blocks of a split with tail "
     "overlap in parallel: they write the same elements; take tail guard or peel there, or another loop"},
    {"overlap: vectorized blocks", ADD, "split(C, j, 5, tail=overlap)", "vectorize(C, j.outer)",
     "vectorize(C, j.outer): loop j.outer of C would run blocks of a split with tail overlap in lockstep: they write "
     "the same elements; take tail guard or peel there, or another loop"},
    {"overlap: a part of the blocks is parallel", ADD, "split(C, i, 5, tail=overlap); split(C, i.outer, 2)",
     "parallel(C, i.outer.outer)",
     "parallel(C, i.outer.outer): loop i.outer.outer of C would run blocks of a split with tail overlap in parallel: "
     "they write the same elements; take tail guard or peel there, or another loop"},
    {"overlap: chunks of a stage that is read in part", "P[i<100] = A[i] + 1; Q[i<90] = P[i] + P[i+7]",
     "split(P, i, 16, tail=overlap); split(P, i.outer, 4)", "parallel(P, i.outer.outer)",
     "parallel(P, i.outer.outer): loop i.outer.outer of P would run blocks of a split with tail overlap in parallel: "
     "they write the same elements; take tail guard or peel there, or another loop"},
    {"overlap: blocks fused with a reduction", "C[i<64] = sum[k<32](A[i,k])",
     "split(C, i, 5, tail=overlap); reorder(C, i.inner, i.outer)", "fuse(C, i.outer, k)",
     "fuse(C, i.outer, k): loop i.outer of C counts the blocks of a split with tail overlap and cannot be fused with "
     "the reduction loop k: elements that two blocks hold would be combined twice; take tail guard, or keep the loops "
     "apart"},
    {"pad: an output", ADD, "", "split(C, i, 5, tail=pad)",
     "split(C, i): tail pad: C is an output: its memory is the caller's and has no padding; use cache_write(C, local), "
     "which makes a stage whose buffer can be padded, or take guard or peel"},
    {"pad: part of an axis", CHAIN, "split(Q, i, 4)", "split(Q, i.inner, 3, tail=pad)",
     "split(Q, i.inner): tail pad: loop i.inner of Q is no axis of the stage but made from others, and only a whole "
     "dimension of its buffer can be padded: pad the first split of an axis, or take guard or peel"},
    {"pad: a fused loop", CHAIN, "fuse(Q, i, j)", "split(Q, i.j.fused, 3, tail=pad)",
     "split(Q, i.j.fused): tail pad: loop i.j.fused of Q is no axis of the stage but made from others, and only a "
     "whole dimension of its buffer can be padded: pad the first split of an axis, or take guard or peel"},
    {"tile: the second tail is refused", FUSED, "", "tile(M, i, k, 5, 5, tail=overlap)",
     "tile(M, i, k): split(M, k): tail overlap: loop k of M runs over a reduction axis (extent 32): the blocks "
     "overlap, and elements would be combined twice; take guard, peel or pad"},
    {"vectorize: a tail without a factor", ADD, "", "vectorize(C, j, tail=mask)",
     "vectorize(C, j, tail=mask): it takes no tail=: write vectorize(stage, axis [, factor [, tail=peel]])"},
    {"vectorize: two factors", ADD, "", "vectorize(C, j, 8, 4)",
     "vectorize(C, j, 8, 4): wrong arguments: write vectorize(stage, axis [, factor [, tail=peel]])"},
    {"vectorize: a factor of zero", ADD, "", "vectorize(C, j, 0)",
     "vectorize(C, j, 0): split(C, j): length 0: a factor must be at least 1 (loop j has extent 48); for example "
     "split(C, j, 8)"},
    {"vectorize: part of a reduction at once", MM, "", "vectorize(C, k, 8)",
     "vectorize(C, k, 8): vectorize(C, k.inner): loop k.inner of C runs over a reduction axis (extent 8): its "
     "iterations update the same element, so they cannot run in lockstep; vectorize a data axis (i, j)"},
    {"tile: one axis twice", MM, "", "tile(C, i, i, 4, 4)", "tile(C): axis i stands twice: name each axis once"},
    {"tile: a factor of zero", MM, "", "tile(C, i, j, 0, 4)",
     "tile(C, i, j): factors 0 and 4: both must be at least 1; for example tile(C, i, j, 8, 8)"},
    {"tile: the second factor is negative", MM, "", "tile(C, i, j, 4, -1)",
     "tile(C, i, j): factors 4 and -1: both must be at least 1; for example tile(C, i, j, 8, 8)"},
    {"tile: an unknown axis", MM, "", "tile(C, i, z, 4, 4)",
     "tile(C, z): axis \"z\" is not part of stage C: name one of its loops, i, j, k"},
    {"tile: a factor is missing", MM, "", "tile(C, i, j, 4)",
     "tile(C, i, j, 4): wrong arguments: write tile(stage, a, b, factor_a, factor_b [, tail=peel])"},
    {"fuse: one axis", MM, "", "fuse(C, i)",
     "fuse(C, i): 1 loops to fuse, of C, which has 3: name two or more adjacent loops"},
    {"fuse: axes that are not adjacent", MM, "", "fuse(C, i, k)",
     "fuse(C, i, k): loops i and k of C are not adjacent in this order (loops: i, j, k): reorder them first"},
    {"fuse: axes in the wrong order", MM, "", "fuse(C, j, i)",
     "fuse(C, j, i): loops j and i of C are not adjacent in this order (loops: i, j, k): reorder them first"},
    {"fuse: one axis twice", MM, "", "fuse(C, i, i)", "fuse(C): axis i stands twice: name each axis once"},
    {"fuse: the axis of another stage", FUSED, "", "fuse(O, i, k)",
     "fuse(O, k): axis \"k\" is not part of stage O: name one of its loops, i, j"},
    {"fuse: a parallel loop", MM, "parallel(C, i)", "fuse(C, i, j)",
     "fuse(C, i, j): loop i of C already has parallel, which would be lost: put this before parallel(C, i)"},
    {"compute_group_at: inside a vectorized loop", CHAIN, "vectorize(R, j)", "compute_group_at(Q, R, j)",
     "compute_group_at(Q, R, j): compute_at(Q, R, j): Q would be computed inside the vectorized loop j of R: attach it "
     "further out, or vectorize a loop of Q itself"},
    {"compute_group_at: an input that is none", CHAIN, "", "compute_group_at(P, Q, i, R)",
     "compute_group_at(P, Q, i): P is made without R: name stages that P reads, or that what it reads reads"},
    {"fuse: a loop that carries a stage", CHAIN, "compute_at(Q, R, i)", "fuse(R, i, j)",
     "fuse(R, i, j): Q is computed at loop i of R: only the innermost of the fused loops may carry stages; call "
     "compute_at(Q, ...) after the fuse"},
    {"fuse: no axes", MM, "", "fuse(C)", "fuse(C): wrong arguments: write fuse(stage, axis, axis, ...)"},
    {"fuse: a rank 0 stage", SCALAR, "", "fuse(U, i, j)",
     "fuse(U, i): axis \"i\" is not part of stage U: name one of its loops, none (it has rank 0)"},
    {"reorder: the axis of another stage", FUSED, "", "reorder(O, k, i)",
     "reorder(O, k): axis \"k\" is not part of stage O: name one of its loops, i, j"},
    {"reorder: one axis twice", MM, "", "reorder(C, i, j, i)", "reorder(C): axis i stands twice: name each axis once"},
    {"reorder: an axis that was split", MM, "split(C, k, 4)", "reorder(C, k, j)",
     "reorder(C, k): axis k of C has already been split into k.outer, k.inner: name one of these"},
    {"reorder: no axes", MM, "", "reorder(C)", "reorder(C): wrong arguments: write reorder(stage, axis, axis, ...)"},
    {"reorder: a reader leaves the loop of what it reads", CHAIN, "compute_at(Q, R, j); compute_at(P, R, i)",
     "reorder(R, j, i)",
     "reorder(R, j, i): P is computed inside loop i of R, but Q reads it outside of that loop: a stage under "
     "compute_at must have all its readers inside; call compute_root(P), or compute Q at R as well"},
    {"reorder: a parallel loop into a vectorized one", ADD, "parallel(C, i); vectorize(C, j)", "reorder(C, j, i)",
     "reorder(C, j, i): the parallel loop i of C would stand inside the vectorized loop j: put the parallel loop "
     "outermost, for example reorder(C, i, j)"},
    {"reorder: a stage comes into a vectorized loop", CHAIN, "vectorize(R, j); compute_at(Q, R, i)", "reorder(R, j, i)",
     "reorder(R, j, i): Q would be computed inside the vectorized loop j of R: attach it further out, or vectorize a "
     "loop of Q itself"},
    {"parallel_reduce: a data axis", MM, "", "parallel_reduce(C, i, parts=2)",
     "parallel_reduce(C, i): rfactor(C, i.outer): loop i.outer of C runs over a data axis: name a loop over a "
     "reduction axis (k)"},
    {"parallel_reduce: a name for parts", MM, "", "parallel_reduce(C, k, parts=two)",
     "parallel_reduce(C, k, parts=two): parts=two is no number: write parallel_reduce(stage, axis [, parts=n])"},
    {"auto_inline: an argument", MM, "", "auto_inline(C)", "auto_inline(C): wrong arguments: write auto_inline()"},
    {"rfactor: no reduction", ADD, "", "rfactor(C, i)",
     "rfactor(C, i): C is no reduction: it has no partial results; use parallel on its loops as they are"},
    {"rfactor: a data axis", MM, "split(C, k, 4)", "rfactor(C, i)",
     "rfactor(C, i): loop i of C runs over a data axis: name a loop over a reduction axis (k.outer, k.inner)"},
    {"rfactor: data and reduction fused", MM, "reorder(C, i, k, j); fuse(C, i, k)", "rfactor(C, i.k.fused)",
     "rfactor(C, i.k.fused): loop i.k.fused of C runs over data and reduction axes: call rfactor before fuse"},
    {"rfactor: a data axis was split", MM, "split(C, i, 4)", "rfactor(C, k)",
     "rfactor(C, k): C already has a schedule besides that of its reduction axes (loops: i.outer, i.inner, j, k), "
     "which would be lost: call rfactor before it, and after split and fuse of reduction axes only"},
    {"rfactor: a loop is vectorized", MM, "vectorize(C, j)", "rfactor(C, k)",
     "rfactor(C, k): C already has a schedule besides that of its reduction axes (loops: i, j, k), which would be "
     "lost: "
     "call rfactor before it, and after split and fuse of reduction axes only"},
    {"rfactor: the factor axis is beyond the data axes", MM, "", "rfactor(C, k, 3)",
     "rfactor(C, k): factor axis 3: give a place from 0 to 2 among the data axes of C"},
    {"rfactor: the factor axis is before the data axes", MM, "", "rfactor(C, k, -4)",
     "rfactor(C, k): factor axis -4: give a place from 0 to 2 among the data axes of C"},
    {"rfactor: two factor axes", MM, "", "rfactor(C, k, 0, 1)",
     "rfactor(C, k): 2 factor axes: give one, or none for 0"},
    {"rfactor: too many partial results", "C[i<1000000, j<1000000] = sum[k<64](A[i,k] * B[k,j])", "", "rfactor(C, k)",
     "rfactor(C, k): the partial results would have 64000000000000 elements, more than 2^40: split the loop, and "
     "factor the shorter part"},
    {"rfactor_window: no reduction", ADD, "", "rfactor_window(C, i, j)",
     "rfactor_window(C, i, j): C is no reduction: it has no windows that share partial results; name a "
     "stage that reduces"},
    {"rfactor_window: no window", MM, "", "rfactor_window(C, k, j)",
     "rfactor_window(C, k, j): no index of what C reads moves with both j and k: it has no window there; use rfactor"},
    {"rfactor_window: weights", "B[x<9] = sum[c<4, s<5](A[c,x+s] * W[s])", "", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): what B reduces depends on s itself, not only on the place that x and s reach together: "
     "windows of neighbours share nothing; use rfactor"},
    {"rfactor_window: a condition of the step alone", "B[x<9] = sum[c<4, s<5 where s<c+1](A[c,x+s])", "",
     "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): what B reduces depends on s itself, not only on the place that x and s reach together: "
     "windows of neighbours share nothing; use rfactor"},
    {"rfactor_window: windows side by side", WINDOWS("5*x+s"), "", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): windows of B along x share no place: they begin 5 apart and have 5 elements, 1 apart; "
     "use rfactor"},
    {"rfactor_window: elements farther apart than points", "B[x<3] = max[c<4, s<5](A[c,x+3*s])", "",
     "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): windows of B along x share no place: they begin 1 apart and have 5 elements, 3 apart; "
     "use rfactor"},
    {"rfactor_window: both by steps", WINDOWS("2*x+3*s"), "", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): a window of B begins at 2 * x and its elements are 3 apart: one of both has to be 1, "
     "the other positive; use rfactor"},
    {"rfactor_window: backwards", WINDOWS("x-s+4"), "", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): a window of B begins at -1 * x and its elements are 1 apart: one of both has to be 1, "
     "the other positive; use rfactor"},
    {"rfactor_window: the data axis first", WINDOWS("x+s"), "", "rfactor_window(B, x, s)",
     "rfactor_window(B, x, s): x is a data axis and s a reduction axis of B: name the reduction axis of a window "
     "first, then the data axis that the window moves along"},
    {"rfactor_window: elements that do not divide", WINDOWS("x+s"), "", "rfactor_window(B, s, x, 2)",
     "rfactor_window(B, s, x): 2 elements at a time of windows of 5, which begin 1 apart: they have to begin at each "
     "place, and the number "
     "has to divide their length; leave it out to take all together"},
    {"rfactor_window: fewer than no elements", WINDOWS("x+s"), "", "rfactor_window(B, s, x, -1)",
     "rfactor_window(B, s, x): -1 elements: give at least 2, or none to take all together"},
    {"rfactor_window: two numbers", WINDOWS("x+s"), "", "rfactor_window(B, s, x, 2, 2)",
     "rfactor_window(B, s, x): 2 numbers of elements: give one, or none for the whole window"},
    {"rfactor_window: a schedule before it", WINDOWS("x+s"), "split(B, c, 2)", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): B already has a schedule (loops: x, c.outer, c.inner, s), which would be lost: call "
     "rfactor_window before it"},
    {"rfactor_window: a symbol", "symbol M\nB[x<M] = max[c<4, s<5](A[c,x+s])", "", "rfactor_window(B, s, x)",
     "rfactor_window(B, s, x): a symbol decides how long x is: how many places windows reach has to be known; use "
     "rfactor"},
    {"rfactor_window: an axis twice", WINDOWS("x+s"), "", "rfactor_window(B, s, s)",
     "rfactor_window(B): axis s stands twice: name each axis once"},
    {"rfactor: an axis that was split", MM, "split(C, k, 4)", "rfactor(C, k)",
     "rfactor(C, k): axis k of C has already been split into k.outer, k.inner: name one of these"},
    {"rfactor: a stage is computed at its loop", "P[k<64] = A[k] * 2\nC = sum[k<64](P[k])",
     "split(C, k, 8); compute_at(P, C, k.outer)", "rfactor(C, k.inner)",
     "rfactor(C, k.inner): P is computed at a loop of C, which would be lost: call rfactor(C, ...) before it"},
    {"rfactor: an input is computed elsewhere",
     "P[i<16] = A[i] * 2\nS[i<16] = sum[k<4](P[i] * B[k])\nR[i<16] = P[i] + S[i]",
     "compute_at(S, R, i); compute_at(P, R, i)", "rfactor(S, k)",
     "rfactor(S, k): S reads P, which is computed inside loop i of R, and S.rf would read it from root: call "
     "rfactor(S, ...) before compute_at(P, ...)"},
    {"vectorize: a reduction", MM, "", "vectorize(C, k)",
     "vectorize(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, "
     "so they cannot run in lockstep; vectorize a data axis (i, j)"},
    {"vectorize: part of a reduction", MM, "split(C, k, 8)", "vectorize(C, k.inner)",
     "vectorize(C, k.inner): loop k.inner of C runs over a reduction axis (extent 8): its iterations update the "
     "same element, so they cannot run in lockstep; vectorize a data axis (i, j)"},
    {"vectorize: data and reduction fused", MM, "reorder(C, i, k, j); fuse(C, i, k)", "vectorize(C, i.k.fused)",
     "vectorize(C, i.k.fused): loop i.k.fused of C runs over a reduction axis (extent 2048): its iterations update "
     "the same element, so they cannot run in lockstep; vectorize a data axis (j)"},
    {"vectorize: twice", MM, "vectorize(C, j)", "vectorize(C, j)",
     "vectorize(C, j): loop j of C already has vectorize: a loop takes one annotation; split it first"},
    {"vectorize: an unrolled loop", MM, "unroll(C, j)", "vectorize(C, j)",
     "vectorize(C, j): loop j of C already has unroll: a loop takes one annotation; split it first"},
    {"vectorize: a loop that others are computed in", CHAIN, "compute_at(Q, R, j)", "vectorize(R, j)",
     "vectorize(R, j): Q would be computed inside the vectorized loop j of R: attach it further out, or vectorize "
     "a loop of Q itself"},
    {"vectorize: a loop around a parallel one", ADD, "parallel(C, j)", "vectorize(C, i)",
     "vectorize(C, i): the parallel loop j of C would stand inside the vectorized loop i: put the parallel loop "
     "outermost, for example reorder(C, j, i)"},
    {"vectorize: a rank 0 stage", SCALAR, "", "vectorize(U, i)",
     "vectorize(U, i): axis \"i\" is not part of stage U: name one of its loops, none (it has rank 0)"},
    {"vectorize: two axes", MM, "", "vectorize(C, i, j)",
     "vectorize(C, i, j): wrong arguments: write vectorize(stage, axis [, factor [, tail=peel]])"},
    {"parallel: a reduction", MM, "", "parallel(C, k)",
     "parallel(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, "
     "so they cannot run in parallel; make parallel a data axis (i, j)"},
    {"parallel: the outer part of a reduction", MM, "split(C, k, 8)", "parallel(C, k.outer)",
     "parallel(C, k.outer): loop k.outer of C runs over a reduction axis (extent 4): its iterations update the "
     "same element, so they cannot run in parallel; make parallel a data axis (i, j)"},
    {"parallel: a full reduction", SCALAR, "", "parallel(S, i)",
     "parallel(S, i): loop i of S runs over a reduction axis (extent 16): its iterations update the same element, "
     "so they cannot run in parallel; write it as two stages, one for the partial results and one that combines "
     "them"},
    {"parallel: inside of a parallel loop", ADD, "parallel(C, i)", "parallel(C, j)",
     "parallel(C, j): loop j of C would be a parallel loop inside the parallel loop i of C: fuse the two and make "
     "the fused loop parallel, or keep one"},
    {"parallel: inside of another stage's parallel loop", CHAIN, "compute_at(Q, R, i); parallel(R, i)",
     "parallel(Q, j)",
     "parallel(Q, j): loop j of Q would be a parallel loop inside the parallel loop i of R: make one of the two "
     "parallel"},
    {"parallel: inside of a vectorized loop", ADD, "vectorize(C, i)", "parallel(C, j)",
     "parallel(C, j): the parallel loop j of C would stand inside the vectorized loop i: put the parallel loop "
     "outermost, for example reorder(C, j, i)"},
    {"parallel: twice", ADD, "parallel(C, i)", "parallel(C, i)",
     "parallel(C, i): loop i of C already has parallel: a loop takes one annotation; split it first"},
    {"unroll: an unknown axis", MM, "", "unroll(C, kk)",
     "unroll(C, kk): axis \"kk\" is not part of stage C: name one of its loops, i, j, k"},
    {"unroll: a parallel loop", MM, "parallel(C, i)", "unroll(C, i)",
     "unroll(C, i): loop i of C already has parallel: a loop takes one annotation; split it first"},
    {"unroll_jam: one iteration", MM, "", "unroll_jam(C, i, 1)",
     "unroll_jam(C, i, 1): factor 1: at least 2 iterations run together; for example unroll_jam(C, i, 4)"},
    {"unroll_jam: a negative factor", MM, "", "unroll_jam(C, i, -3)",
     "unroll_jam(C, i, -3): factor -3: at least 2 iterations run together; for example unroll_jam(C, i, 4)"},
    {"unroll_jam: the innermost loop", MM, "", "unroll_jam(C, k, 4)",
     "unroll_jam(C, k, 4): no loop stands inside loop k of C but lanes or an intrinsic, so that there is nothing to "
     "jam: "
     "call split(C, k, 4) and unroll(C, k.inner)"},
    {"unroll_jam: only lanes inside", MM, "reorder(C, k, i, j); vectorize(C, j)", "unroll_jam(C, i, 4)",
     "unroll_jam(C, i, 4): no loop stands inside loop i of C but lanes or an intrinsic, so that there is nothing to "
     "jam: "
     "call split(C, i, 4) and unroll(C, i.inner)"},
    {"unroll_jam: an annotated loop", MM, "parallel(C, i)", "unroll_jam(C, i, 4)",
     "unroll_jam(C, i, 4): split(C, i): loop i of C already has parallel, which would be lost: put this before "
     "parallel(C, i)"},
    {"unroll_jam: a loop that a stage is computed at", "P[i<8, k<6] = A[i,k] * 2\nC[i<8] = sum[k<6](P[i,k] * B[k])",
     "compute_at(P, C, i)", "unroll_jam(C, i, 4)",
     "unroll_jam(C, i, 4): P is computed at loop i of C, and would be computed for each of the copies: call "
     "compute_at(P, C, i.outer) behind it instead"},
    {"unroll_jam: a tail that the axis does not take", MM, "", "unroll_jam(C, i, 4, tail=pad)",
     "unroll_jam(C, i, 4): split(C, i): tail pad: C is an output: its memory is the caller's and has no padding; use "
     "cache_write(C, local), which makes a stage whose buffer can be padded, or take guard or peel"},
    {"unroll_jam: no factor", MM, "", "unroll_jam(C, i)",
     "unroll_jam(C, i): wrong arguments: write unroll_jam(stage, axis, factor [, tail=peel])"},
    {"unroll_jam: an input", MM, "", "unroll_jam(A, i, 4)",
     "unroll_jam(A, i): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, "
     "local, reader)"},
    {"pragma: an unknown key", MM, "", "pragma(C, i, unroll_implicit, 1)",
     "pragma(C, i): key \"unroll_implicit\" is unknown: use unroll_explicit, auto_unroll_max_step, stream_stores, "
     "join_loop_before, loop_partition_hint or parallel_stride_pattern"},
    {"pragma: a negative number", MM, "", "pragma(C, i, auto_unroll_max_step, -1)",
     "pragma(C, i): auto_unroll_max_step -1: give 0 to 65535 statements, for example 64"},
    {"pragma: too large a number", MM, "", "pragma(C, i, auto_unroll_max_step, 9000000000)",
     "pragma(C, i): auto_unroll_max_step 9000000000: give 0 to 65535 statements, for example 64"},
    {"pragma: twice", MM, "pragma(C, i, auto_unroll_max_step, 16)", "pragma(C, i, auto_unroll_max_step, 64)",
     "pragma(C, i): loop i already has auto_unroll_max_step 16: give it once"},
    {"compute_at: an output", CHAIN, "", "compute_at(R, Q, i)",
     "compute_at(R, Q, i): R is an output: outputs are computed at root; compute its producers at R instead"},
    {"compute_at: an input", CHAIN, "", "compute_at(A, P, i)",
     "compute_at(A, P, i): A is an input: it is given, not computed; use cache_read(A, local, reader), which copies "
     "it"},
    {"compute_at: its own loop", CHAIN, "", "compute_at(Q, Q, i)",
     "compute_at(Q, Q, i): a stage cannot be computed inside its own loops: name a reader of Q"},
    {"compute_at: a stage that does not read it", CHAIN, "", "compute_at(P, R, i)",
     "compute_at(P, R, i): nothing inside R reads P: compute a stage at one of its readers, for example Q"},
    {"compute_at: behind the init that reads it", "P[i<16] = A[i] * 2\nQ[i<16] = sum[k<4 init = P[i]](B[k])",
     "reorder(Q, k, i)", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): P is computed inside loop i of Q, but Q's init reads it before the reduction loop k "
     "begins: compute it at a loop outside of k, or call compute_root(P)"},
    {"compute_at: behind the init that reads it through an inlined stage",
     "P[i<16] = A[i] * 2\nR[i<16] = P[i] + 1\nQ[i<16] = sum[k<4 init = R[i]](B[k])", "compute_inline(R)",
     "compute_at(P, Q, k)",
     "compute_at(P, Q, k): P is computed inside loop k of Q, but Q's init reads it before the reduction loop k "
     "begins: compute it at a loop outside of k, or call compute_root(P)"},
    {"compute_at: a reader stands outside", FORK, "", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): P is computed inside loop i of Q, but R reads it outside of that loop: a stage under "
     "compute_at must have all its readers inside; call compute_root(P), or compute R at Q as well"},
    {"compute_at: around in a circle", CHAIN, "compute_at(P, Q, i)", "compute_at(Q, P, i)",
     "compute_at(Q, P, i): P is itself computed inside Q: call compute_root(P) first"},
    {"compute_at: an inlined reader", CHAIN, "compute_inline(Q)", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): Q is inlined and has no loops of its own: call compute_root(Q) first"},
    {"compute_at: an unknown axis", CHAIN, "", "compute_at(P, Q, k)",
     "compute_at(P, Q, k): axis \"k\" is not part of stage Q: name one of its loops, i, j"},
    {"compute_at: an axis that was split", CHAIN, "split(Q, i, 4)", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): axis i of Q has already been split into i.outer, i.inner: name one of these"},
    {"compute_at: a vectorized loop", CHAIN, "vectorize(Q, j)", "compute_at(P, Q, j)",
     "compute_at(P, Q, j): P would be computed inside the vectorized loop j of Q: attach it further out, or "
     "vectorize a loop of P itself"},
    {"compute_at: inside of a vectorized loop", CHAIN, "vectorize(Q, i)", "compute_at(P, Q, j)",
     "compute_at(P, Q, j): P would be computed inside the vectorized loop i of Q: attach it further out, or "
     "vectorize a loop of P itself"},
    {"compute_at: a parallel stage into a parallel loop", CHAIN, "parallel(P, i); parallel(Q, i)",
     "compute_at(P, Q, i)",
     "compute_at(P, Q, i): loop i of P would be a parallel loop inside the parallel loop i of Q: make one of the "
     "two parallel"},
    {"compute_at: a reader of rank 0", SCALAR, "", "compute_at(S, U, i)",
     "compute_at(S, U, i): axis \"i\" is not part of stage U: name one of its loops, none (it has rank 0)"},
    {"compute_inline: a reduction", FUSED, "", "compute_inline(M)",
     "compute_inline(M): M is a reduction (over k): it has no value before its loop ends; use compute_at(M, "
     "reader, axis)"},
    {"compute_inline: an output", FUSED, "", "compute_inline(O)",
     "compute_inline(O): O is an output: outputs are computed at root; compute its producers at O instead"},
    {"compute_inline: an input", FUSED, "", "compute_inline(A)",
     "compute_inline(A): A is an input: it is given, not computed; use cache_read(A, local, reader), which copies it"},
    {"compute_inline: twice", CHAIN, "compute_inline(P)", "compute_inline(P)",
     "compute_inline(P): P is inlined already; call compute_root(P) to take that back"},
    {"compute_inline: others are computed in it", CHAIN, "compute_at(P, Q, i)", "compute_inline(Q)",
     "compute_inline(Q): P is computed at loop i of Q: a stage that others are computed in cannot be inlined; call "
     "compute_root(P) first"},
    {"compute_root: an input", CHAIN, "", "compute_root(A)",
     "compute_root(A): A is an input: it is given, not computed; use cache_read(A, local, reader), which copies it"},
    {"compute_root: it would leave what it reads behind", CHAIN, "compute_at(Q, R, i); compute_at(P, R, i)",
     "compute_root(Q)",
     "compute_root(Q): P is computed inside loop i of R, but Q reads it outside of that loop: a stage under "
     "compute_at must have all its readers inside; call compute_root(P), or compute Q at R as well"},
    {"cache_read: an unknown scope", MM, "", "cache_read(A, shared, C)",
     "cache_read(A): scope \"shared\" is unknown: use \"global\" or \"local\""},
    {"cache_read: a stage that does not read it", CHAIN, "", "cache_read(A, local, Q)",
     "cache_read(A): Q does not read A: name one of its readers, P"},
    {"cache_read: nothing reads it", CHAIN, "", "cache_read(R, local)",
     "cache_read(R): nothing reads R: leave the cache out"},
    {"cache_read: an unknown tensor", MM, "", "cache_read(Z, local, C)",
     "cache_read(Z): no stage is called \"Z\": name one of A, B, C"},
    {"cache_read: one reader twice", MM, "", "cache_read(A, local, C, C)",
     "cache_read(A): reader C is named twice: name each once"},
    {"cache_read: a stage under compute_at", CHAIN, "compute_at(P, Q, i)", "cache_read(P, local, Q)",
     "cache_read(P): P is under compute_at: a cache reads a stage at root; call cache_read before that, or "
     "compute_root(P)"},
    {"cache_read: an inlined stage", CHAIN, "compute_inline(P)", "cache_read(P, local, Q)",
     "cache_read(P): P is inlined: a cache reads a stage at root; call cache_read before that, or compute_root(P)"},
    {"cache_read: an input as reader", MM, "", "cache_read(A, local, B)",
     "cache_read(A): B is an input: it is given, not computed; use cache_read(B, local, reader), which copies it"},
    {"cache_write: an input", MM, "", "cache_write(A, local)",
     "cache_write(A): A is an input: it is given, not computed; use cache_read(A, local, reader), which copies it"},
    {"cache_write: an unknown scope", MM, "", "cache_write(C, register)",
     "cache_write(C): scope \"register\" is unknown: use \"global\" or \"local\""},
    {"cache_write: a stage that was scheduled", MM, "split(C, i, 4)", "cache_write(C, local)",
     "cache_write(C): C already has a schedule (loops: i.outer, i.inner, j, k), which would be lost: call "
     "cache_write(C, local) before it"},
    {"cache_write: an inlined stage", CHAIN, "compute_inline(P)", "cache_write(P, local)",
     "cache_write(P): P is inlined and writes nothing: call compute_root(P) first"},
    {"cache_write: others are computed in it", CHAIN, "compute_at(P, Q, i)", "cache_write(Q, local)",
     "cache_write(Q): P is computed at a loop of Q, which would be lost: call cache_write(Q, ...) before it"},
    {"cache_write: what it reads is computed in another loop", CHAIN, "compute_at(Q, R, i); compute_at(P, R, i)",
     "cache_write(Q, local)",
     "cache_write(Q): Q reads P, which is computed inside loop i of R, and Q.local would read it from root: call "
     "cache_write(Q, ...) before compute_at(P, ...)"},
    {"cache_write: the same through an inlined stage", LONG,
     "compute_inline(Q); compute_at(R, S, i); compute_at(P, S, i)", "cache_write(R, local)",
     "cache_write(R): R reads P, which is computed inside loop i of S, and R.local would read it from root: call "
     "cache_write(R, ...) before compute_at(P, ...)"},
    {"text: a factor that is no number", MM, "", "split(C, i, factor=x)",
     "split(C, i, factor=x): factor=x is no number: write split(stage, axis, factor [, tail=peel]) or split(stage, "
     "axis, nparts=n)"},
    {"text: a key twice", MM, "", "split(C, i, nparts=2, nparts=3)",
     "split(C, i, nparts=2, nparts=3): nparts= stands twice: give it once"},
    {"text: a key that the primitive has not", MM, "", "unroll(C, j, tail=peel)",
     "unroll(C, j, tail=peel): it takes no tail=: write unroll(stage, axis)"},
    {"transform_layout: an output", MM, "", "transform_layout(C, [i, j] -> [j, i])",
     "transform_layout(C): C is an output: its memory is the caller's; use cache_write(C, global), which makes a stage "
     "whose layout can change"},
    {"transform_layout: an input", MM, "", "transform_layout(A, [i, j] -> [j, i])",
     "transform_layout(A): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, "
     "local, reader)"},
    {"transform_layout: twice", CHAIN, "transform_layout(Q, [i, j] -> [j, i])", "transform_layout(Q, [i, j] -> [i, j])",
     "transform_layout(Q): the layout of Q is already [i, j] -> [j, i]: give one map"},
    {"transform_layout: a dimension too few", CHAIN, "", "transform_layout(Q, [i] -> [i])",
     "transform_layout(Q): the map has 1 dimensions on the left, Q has 2: name each dimension once"},
    {"transform_layout: a dimension is missing", CHAIN, "", "transform_layout(Q, [i, j] -> [i])",
     "transform_layout(Q): elements of Q that differ in j could share a place: write j on the right once as it is, or "
     "in parts that make it up, as j//64 and j%64 do"},
    {"transform_layout: a part is missing", CHAIN, "", "transform_layout(Q, [i, j] -> [i, j//4])",
     "transform_layout(Q): elements of Q that differ in j could share a place: write j on the right once as it is, or "
     "in parts that make it up, as j//64 and j%64 do"},
    {"transform_layout: parts that do not fit", CHAIN, "", "transform_layout(Q, [i, j] -> [i, j//4, j%3])",
     "transform_layout(Q): elements of Q that differ in j could share a place: write j on the right once as it is, or "
     "in parts that make it up, as j//64 and j%64 do"},
    {"transform_layout: a dimension twice", CHAIN, "", "transform_layout(Q, [i, j] -> [i, j, i])",
     "transform_layout(Q): elements of Q that differ in i could share a place: write i on the right once as it is, or "
     "in parts that make it up, as i//64 and i%64 do"},
    {"transform_layout: an unknown name", CHAIN, "", "transform_layout(Q, [i, j] -> [i, k])",
     "transform_layout(Q): expected the name of a dimension at \"k]\": write a map like [k, j] -> [j//64, k, j%64]"},
    {"transform_layout: a sum", CHAIN, "", "transform_layout(Q, [i, j] -> [i, j + 1])",
     "transform_layout(Q): expected '//', '%', ',' or ']' at \"+ 1]\": write a map like [k, j] -> [j//64, k, j%64]"},
    {"transform_layout: no arrow", CHAIN, "", "transform_layout(Q, [i, j] , [i, j])",
     "transform_layout(Q): expected '->' at \", [i, j]\": write a map like [k, j] -> [j//64, k, j%64]"},
    {"transform_layout: a division by zero", CHAIN, "", "transform_layout(Q, [i, j] -> [i, j//0, j%0])",
     "transform_layout(Q): expected a number from 1 to 2147483647 at \", j%0]\": write a map like [k, j] -> [j//64, k, "
     "j%64]"},
    {"transform_layout: a name twice", CHAIN, "", "transform_layout(Q, [i, i] -> [i, i])",
     "transform_layout(Q): expected another name: each names one dimension at \"] -> [i, i]\": write a map like [k, j] "
     "-> [j//64, k, j%64]"},
    {"transform_layout: no map", CHAIN, "", "transform_layout(Q, i)",
     "transform_layout(Q): expected '[' and the names of the stage's dimensions at \"i\": write a map like [k, j] -> "
     "[j//64, k, j%64]"},
    {"set_scope: an output", MM, "", "set_scope(C, local)",
     "set_scope(C): C is an output: its memory is the caller's; use cache_write(C, local), which makes a stage with "
     "that scope"},
    {"set_scope: an input", MM, "", "set_scope(A, local)",
     "set_scope(A): A is an input: it is given, not computed; use cache_read(A, local, reader), which copies it"},
    {"set_scope: an unknown scope", CHAIN, "", "set_scope(P, cache)",
     "set_scope(P): scope \"cache\" is unknown: use \"global\" or \"local\""},
    {"text: an unknown primitive", MM, "", "tensorise(C, i)",
     "tensorise(C, i) is no primitive (did you mean 'tensorize'?): use one of split, tile, fuse, reorder, vectorize, "
     "unroll, unroll_jam, parallel, pragma, tensorize, compute_at, compute_group_at, compute_inline, compute_root, "
     "cache_read, cache_write, set_scope, rfactor, rfactor_window, parallel_reduce, auto_inline, transform_layout, "
     "storage_align, double_buffer, rolling_buffer, set_store_predicate, prefetch, "
     "bind"},
    {"bind: an unknown thread", MM, "", "bind(C, i, threadIdx.w)",
     "bind(C, i): thread \"threadIdx.w\" is unknown: take vthread, blockIdx.x, .y or .z, threadIdx.x, .y or .z"},
    {"bind: a reduction", MM, "", "bind(C, k, threadIdx.x)",
     "bind(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, so they "
     "cannot run in parallel; bind a data axis (i, j)"},
    {"bind: one index twice", ADD, "bind(C, i, blockIdx.x)", "bind(C, j, blockIdx.x)",
     "bind(C, j): loop j of C would be bound to blockIdx.x inside loop i, which is bound to it, too: bind it to "
     "another index, or fuse the two loops"},
    {"bind: a vectorized loop", ADD, "vectorize(C, j)", "bind(C, j, threadIdx.x)",
     "bind(C, j): loop j of C already has vectorize: a loop takes one annotation; split it first"},
    {"split: a bound loop", ADD, "bind(C, j, threadIdx.x)", "split(C, j, 4)",
     "split(C, j): loop j of C already has bind, which would be lost: put this before bind(C, j)"},
    {"pragma: debug_skip_region", MM, "", "pragma(C, i, debug_skip_region, 1)",
     "pragma(C, i): key \"debug_skip_region\": the region's values would be missing, and a schedule never changes a "
     "result; take the stage out of the program"},
    {"storage_align: an output", MM, "", "storage_align(C, i, 32, 8)",
     "storage_align(C, i): C is an output: its memory is the caller's; use cache_write(C, global), which makes a stage "
     "whose strides can change"},
    {"storage_align: the last dimension", CHAIN, "", "storage_align(Q, j, 32, 8)",
     "storage_align(Q, j): j is the last dimension of Q, whose elements stand next to each other (stride 1): name an "
     "outer one"},
    {"storage_align: a reduction axis", FUSED, "", "storage_align(M, k, 32, 8)",
     "storage_align(M, k): loop k of M is no dimension of its buffer: name one of its data axes, before split and "
     "fuse"},
    {"storage_align: part of an axis", CHAIN, "split(Q, i, 4)", "storage_align(Q, i.outer, 32, 8)",
     "storage_align(Q, i.outer): loop i.outer of Q is no dimension of its buffer: name one of its data axes, before "
     "split and fuse"},
    {"storage_align: an offset beyond the factor", CHAIN, "", "storage_align(Q, i, 32, 32)",
     "storage_align(Q, i): factor 32, offset 32: the factor is 1 to 512 and the offset below it; for example "
     "storage_align(Q, i, 32, 8)"},
    {"storage_align: a factor of zero", CHAIN, "", "storage_align(Q, i, 0, 0)",
     "storage_align(Q, i): factor 0, offset 0: the factor is 1 to 512 and the offset below it; for example "
     "storage_align(Q, i, 32, 8)"},
    {"storage_align: twice", CHAIN, "storage_align(Q, i, 32, 8)", "storage_align(Q, i, 16, 8)",
     "storage_align(Q, i): the stride of axis i of Q is aligned already (factor 32, offset 8): keep one alignment a "
     "stage"},
    {"storage_align: after transform_layout", CHAIN, "transform_layout(Q, [i, j] -> [j, i])",
     "storage_align(Q, i, 32, 8)",
     "storage_align(Q, i): the layout of Q is [i, j] -> [j, i], which decides its strides: use one of storage_align "
     "and transform_layout"},
    {"transform_layout: after storage_align", CHAIN, "storage_align(Q, i, 32, 8)",
     "transform_layout(Q, [i, j] -> [j, i])",
     "transform_layout(Q): the strides of Q are aligned: use one of storage_align and transform_layout"},
    {"cache_write: one of two outputs", PAIR, "", "cache_write(S, local)",
     "cache_write(S): the tensors S, D are computed together and move together: name each of them once, "
     "cache_write(S, D, local)"},
    {"cache_write: the other of two outputs", PAIR, "", "cache_write(D, local)",
     "cache_write(D): the tensors S, D are computed together and move together: name each of them once, "
     "cache_write(S, D, local)"},
    {"cache_write: an output twice", PAIR, "", "cache_write(S, S, D, local)",
     "cache_write(S): the tensors S, D are computed together and move together: name each of them once, "
     "cache_write(S, D, local)"},
    {"cache_write: tensors of two stages", PAIR, "", "cache_write(C, S, local)",
     "cache_write(C): C is one of 2 tensors named, but computed by itself: call cache_write for each stage, "
     "cache_write(C, local)"},
    {"cache_write: an output that is not there", PAIR, "", "cache_write(S, E, local)",
     "cache_write(E): no stage is called \"E\": name one of A, B, S, D, C"},
    {"cache_read: a reader of the other output", PAIR "\nE[i<4] = S[i,0]", "", "cache_read(D, local, E)",
     "cache_read(D): E does not read D: name one of its readers, C"},
    {"compute_at: one output is the program's", PAIR "\noutput S, C", "", "compute_at(S, C, i)",
     "compute_at(S, C, i): S is an output: outputs are computed at root; compute its producers at S instead"},
    {"compute_inline: argmax", "(I, V)[i<8] = argmax[k<9](X[i,k])\nC[i<8] = V[i]", "", "compute_inline(I)",
     "compute_inline(I): I is a reduction (over k): it has no value before its loop ends; use compute_at(I, reader, "
     "axis)"},
    {"vectorize: the reduction axis of argmax", "(I, V)[i<8] = argmax[k<9](X[i,k])", "", "vectorize(I, k)",
     "vectorize(I, k): loop k of I runs over a reduction axis (extent 9): its iterations update the same element, so "
     "they cannot run in lockstep; vectorize a data axis (i)"},
    {"prefetch: a tensor that is not read", FUSED, "", "prefetch(O, A, i, 1)",
     "prefetch(O, A, i): nothing inside loop i of O reads A: name a tensor that is read there"},
    {"prefetch: an inlined tensor", CHAIN, "compute_inline(P)", "prefetch(Q, P, i, 1)",
     "prefetch(Q, P, i): P is inlined and lies nowhere in memory: name what it reads, or call compute_root(P)"},
    {"prefetch: a tensor computed inside the loop", CHAIN, "compute_at(P, Q, i)", "prefetch(Q, P, i, 1)",
     "prefetch(Q, P, i): P is computed inside loop i, so that a later iteration's part is not in memory: name what it "
     "reads, or call compute_root(P)"},
    {"prefetch: an offset of zero", MM, "", "prefetch(C, A, i, 0)",
     "prefetch(C, A, i): offset 0: a prefetch is for a later iteration; give 1 to 1048576 iterations"},
    {"prefetch: a negative offset", MM, "", "prefetch(C, A, i, -1)",
     "prefetch(C, A, i): offset -1: a prefetch is for a later iteration; give 1 to 1048576 iterations"},
    {"prefetch: twice", MM, "prefetch(C, A, i, 1)", "prefetch(C, A, i, 2)",
     "prefetch(C, A, i): loop i already prefetches A (offset 1): give one offset"},
    {"prefetch: an unknown tensor", MM, "", "prefetch(C, D, i, 1)",
     "prefetch(D): no stage is called \"D\": name one of A, B, C"},
    {"prefetch: an unknown axis", MM, "", "prefetch(C, A, x, 1)",
     "prefetch(C, A, x): axis \"x\" is not part of stage C: name one of its loops, i, j, k"},
    {"prefetch: at an input", MM, "", "prefetch(A, B, i, 1)",
     "prefetch(A, B, i): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, "
     "local, reader)"},
    {"prefetch: a tensor with a layout", CHAIN, "transform_layout(P, [i, j] -> [j, i])", "prefetch(Q, P, i, 1)",
     "prefetch(Q, P, i): the layout of P is [i, j] -> [j, i], in which a line of its rows lies in pieces: use one of "
     "prefetch and transform_layout, or a layout whose last part is 64 bytes of the last dimension or a multiple of "
     "it, as [i, j] -> [j//16, i, j%16] for f32"},
    {"prefetch: a scalar", "scalar a: f32; C[i<64] = A[i]*a", "", "prefetch(C, a, i, 1)",
     "prefetch(C, a, i): a is a scalar: it is passed by value and lies in a register; name a tensor"},
    {"prefetch: for a loop inside", MM, "reorder(C, i, k, j)", "prefetch(C, B, k, 1, C, j)",
     "prefetch(C, B, k): loop j of C is not around loop k of C: name a loop of C outside of it, or one that C is "
     "computed in"},
    {"prefetch: for a loop elsewhere", CHAIN, "", "prefetch(Q, P, j, 1, R, i)",
     "prefetch(Q, P, j): loop i of R is not around loop j of Q: name a loop of Q outside of it, or one that Q is "
     "computed in"},
    {"prefetch: for a loop inside of that where it is computed", CHAIN, "compute_at(Q, R, i)",
     "prefetch(Q, A, j, 1, R, j)",
     "prefetch(Q, A, j): loop j of R is not around loop j of Q: name a loop of Q outside of it, or one that Q is "
     "computed in"},
    {"prefetch: computed inside the loop that counts", CHAIN, "compute_at(P, Q, i)", "prefetch(Q, P, j, 1, Q, i)",
     "prefetch(Q, P, j): P is computed inside loop i, so that a later iteration's part is not in memory: name what it "
     "reads, or call compute_root(P)"},
    {"prefetch: a reader without its loop", MM, "", "prefetch(C, A, j, 1, C)",
     "prefetch(C, A, j): an offset counts iterations of this loop, or of one loop of one stage: write prefetch(C, A, "
     "j, 1, reader, loop)"},
    {"prefetch: an unknown reader", MM, "", "prefetch(C, A, j, 1, D, i)",
     "prefetch(D): no stage is called \"D\": name one of A, B, C"},
    {"prefetch: an unknown loop of a reader", MM, "", "prefetch(C, A, j, 1, C, x)",
     "prefetch(C, A, j, 1, C, x): axis \"x\" is not part of stage C: name one of its loops, i, j, k"},
    {"prefetch: an input as reader", MM, "", "prefetch(C, A, j, 1, B, i)",
     "prefetch(C, A, j, 1, B, i): B is an input and has no loops: take a computed stage, or copy it first with "
     "cache_read(B, local, "
     "reader)"},
    {"prefetch: no offset", MM, "", "prefetch(C, A, i)",
     "prefetch(C, A, i): wrong arguments: write prefetch(stage, tensor, axis, offset [, reader, loop])"},
    {"split: a loop with a prefetch", MM, "prefetch(C, A, i, 1)", "split(C, i, 4)",
     "split(C, i): loop i of C already has prefetch, which would be lost: put this before prefetch(C, i)"},
    {"fuse: a loop with a prefetch", MM, "prefetch(C, A, j, 1)", "fuse(C, i, j)",
     "fuse(C, i, j): loop j of C already has prefetch, which would be lost: put this before prefetch(C, j)"},
    {"cache_write: a stage with a prefetch", MM, "prefetch(C, A, i, 1)", "cache_write(C, local)",
     "cache_write(C): C already has a schedule (loops: i, j, k), which would be lost: call cache_write(C, local) "
     "before it"},
    {"rfactor: a stage with a prefetch", MM, "prefetch(C, A, k, 1)", "rfactor(C, k)",
     "rfactor(C, k): C already has a schedule besides that of its reduction axes (loops: i, j, k), which would be "
     "lost: call rfactor before it, and after split and fuse of reduction axes only"},
    {"pragma: loop_partition_hint beyond 1", MM, "", "pragma(C, i, loop_partition_hint, 2)",
     "pragma(C, i): loop_partition_hint 2: give 1"},
    {"pragma: unroll_explicit twice", MM, "pragma(C, i, unroll_explicit, 0)", "pragma(C, i, unroll_explicit, 0)",
     "pragma(C, i): loop i already has unroll_explicit 0: give it once"},
    {"pragma: unroll_explicit beyond 1", MM, "", "pragma(C, i, unroll_explicit, 2)",
     "pragma(C, i): unroll_explicit 2: give 0 (unrolled loops are left to the compiler) or 1 (they are written out)"},
    {"pragma: parallel_launch_point", MM, "", "pragma(C, i, parallel_launch_point, 1)",
     "pragma(C, i): key \"parallel_launch_point\": threads start where the parallel loop stands; put parallel on an "
     "outer loop, with the others computed inside"},
    {"pragma: parallel_barrier_when_finish", MM, "", "pragma(C, i, parallel_barrier_when_finish, 1)",
     "pragma(C, i): key \"parallel_barrier_when_finish\": a parallel loop always ends with a barrier; leave the pragma "
     "out"},
    {"pragma: tensor_core", MM, "", "pragma(C, i, tensor_core, 1)",
     "pragma(C, i): key \"tensor_core\": CPU targets have none; use vectorize"},
    {"pragma: import_llvm", MM, "", "pragma(C, i, import_llvm, 1)",
     "pragma(C, i): key \"import_llvm\": LLVM IR is no part of a loop; use an extern stage"},
    {"pragma: vectorize", MM, "", "pragma(C, j, vectorize, 1)",
     "pragma(C, j): key \"vectorize\": it is a primitive of its own; use vectorize(stage, axis)"},
    {"pragma: an unknown axis", MM, "", "pragma(C, x, auto_unroll_max_step, 1)",
     "pragma(C, x): axis \"x\" is not part of stage C: name one of its loops, i, j, k"},
    {"split: a loop with a partition hint", MM, "pragma(C, i, loop_partition_hint, 1)", "split(C, i, 4)",
     "split(C, i): loop i of C already has pragma, which would be lost: put this before pragma(C, i)"},
    {"double_buffer: a stage at root", CHAIN, "", "double_buffer(Q)",
     "double_buffer(Q): Q is at root, where its buffer is filled once: call compute_at(Q, reader, axis) first"},
    {"double_buffer: an output", CHAIN, "", "double_buffer(R)",
     "double_buffer(R): R is an output: its memory is the caller's; use cache_write(R, local), which makes a stage "
     "with a buffer of its own"},
    {"double_buffer: an input", CHAIN, "", "double_buffer(A)",
     "double_buffer(A): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, "
     "local, reader)"},
    {"double_buffer: an inlined stage", CHAIN, "compute_inline(Q)", "double_buffer(Q)",
     "double_buffer(Q): Q is inlined and has no loops of its own: call compute_root(Q) first"},
    {"double_buffer: twice", CHAIN, "compute_at(Q, R, i); double_buffer(Q)", "double_buffer(Q)",
     "double_buffer(Q): Q has double_buffer already: keep one of the two"},
    {"double_buffer: a rolling buffer", CHAIN, "compute_at(Q, R, i); rolling_buffer(Q)", "double_buffer(Q)",
     "double_buffer(Q): Q has rolling_buffer already: keep one of the two"},
    {"double_buffer: a parallel loop", CHAIN, "compute_at(Q, R, i); parallel(R, i)", "double_buffer(Q)",
     "double_buffer(Q): Q has double_buffer in loop i of R, which would have parallel: its iterations hand the buffer "
     "on, so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"double_buffer: the loop becomes parallel", CHAIN, "compute_at(Q, R, i); double_buffer(Q)", "parallel(R, i)",
     "parallel(R, i): Q has double_buffer in loop i of R, which would have parallel: its iterations hand the buffer "
     "on, so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"double_buffer: it reads what is computed there", CHAIN, "compute_at(Q, R, i); compute_at(P, R, i)",
     "double_buffer(Q)",
     "double_buffer(Q): Q has double_buffer and would read P, which is computed in the same iteration of loop i, one "
     "iteration ahead of it: call compute_at(P, Q, ...), or compute_root(P)"},
    {"double_buffer: what it reads comes there", CHAIN, "compute_at(Q, R, i); double_buffer(Q)", "compute_at(P, R, i)",
     "compute_at(P, R, i): Q has double_buffer and would read P, which is computed in the same iteration of loop i, "
     "one iteration ahead of it: call compute_at(P, Q, ...), or compute_root(P)"},
    {"double_buffer: a layout", CHAIN, "compute_at(Q, R, i); transform_layout(Q, [i, j] -> [j, i])", "double_buffer(Q)",
     "double_buffer(Q): two halves are one dimension more than Q, which has a layout of its own: keep one buffer"},
    {"transform_layout: a double buffer", CHAIN, "compute_at(Q, R, i); double_buffer(Q)",
     "transform_layout(Q, [i, j] -> [j, i])",
     "transform_layout(Q): Q has double_buffer, two halves in row-major order: use one of double_buffer and "
     "transform_layout"},
    {"double_buffer: an unknown stage", CHAIN, "", "double_buffer(X)",
     "double_buffer(X): no stage is called \"X\": name one of A, P, Q, R"},
    {"double_buffer: an axis", CHAIN, "", "double_buffer(Q, i)",
     "double_buffer(Q, i): wrong arguments: write double_buffer(stage)"},
    {"double_buffer: a stage moves into a parallel loop", CHAIN,
     "parallel(R, i); compute_at(Q, R, j); double_buffer(Q)", "compute_at(Q, R, i)",
     "compute_at(Q, R, i): Q has double_buffer in loop i of R, which would have parallel: its iterations hand the "
     "buffer on, so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"rolling_buffer: a stage at root", CHAIN, "", "rolling_buffer(Q)",
     "rolling_buffer(Q): Q is at root, where its buffer is filled once: call compute_at(Q, reader, axis) first"},
    {"rolling_buffer: an output", CHAIN, "", "rolling_buffer(R)",
     "rolling_buffer(R): R is an output: its memory is the caller's; use cache_write(R, local), which makes a stage "
     "with a buffer of its own"},
    {"rolling_buffer: twice", CHAIN, "compute_at(Q, R, i); rolling_buffer(Q)", "rolling_buffer(Q)",
     "rolling_buffer(Q): Q has rolling_buffer already: keep one of the two"},
    {"rolling_buffer: a parallel loop", CHAIN, "compute_at(Q, R, i); parallel(R, i)", "rolling_buffer(Q)",
     "rolling_buffer(Q): Q has rolling_buffer in loop i of R, which would have parallel: its iterations hand the "
     "buffer on, so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"rolling_buffer: the loop becomes parallel", CHAIN, "compute_at(Q, R, i); rolling_buffer(Q)", "parallel(R, i)",
     "parallel(R, i): Q has rolling_buffer in loop i of R, which would have parallel: its iterations hand the buffer "
     "on, so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"rolling_buffer: the loop is bound", CHAIN, "compute_at(Q, R, i); rolling_buffer(Q)", "bind(R, i, blockIdx.x)",
     "bind(R, i): Q has rolling_buffer in loop i of R, which would have blockIdx.x: its iterations hand the buffer on, "
     "so that they must follow each other; keep that loop serial, or split it and use the outer part"},
    {"cache_write: a stage with a double buffer", CHAIN, "compute_at(Q, R, i); double_buffer(Q)",
     "cache_write(Q, local)",
     "cache_write(Q): Q already has a schedule (loops: i, j), which would be lost: call cache_write(Q, local) before "
     "it"},
    {"set_store_predicate: it is read outside", PREDICATE, "", "set_store_predicate(P, i >= 2)",
     "set_store_predicate(P): Q reads P[i + 1], where i >= 2 is not known to hold: what is not stored would be read; "
     "use select(i >= 2, value, other) in the program, or a condition that holds wherever P is read"},
    {"set_store_predicate: an upper bound", PREDICATE, "", "set_store_predicate(P, i < 16)",
     "set_store_predicate(P): Q reads P[i + 1], where i < 16 is not known to hold: what is not stored would be read; "
     "use select(i < 16, value, other) in the program, or a condition that holds wherever P is read"},
    {"set_store_predicate: an output", PREDICATE, "", "set_store_predicate(Q, i >= 2)",
     "set_store_predicate(Q): Q is an output, which is needed whole, and i >= 2 does not hold for all of it; use "
     "select(i >= 2, value, other) in the program"},
    {"set_store_predicate: an input", PREDICATE, "", "set_store_predicate(A, i >= 2)",
     "set_store_predicate(A): A is an input and has no loops: take a computed stage, or copy it first with "
     "cache_read(A, local, reader)"},
    {"set_store_predicate: an inlined stage", PREDICATE, "compute_inline(P)", "set_store_predicate(P, i >= 1)",
     "set_store_predicate(P): P is inlined and has no loops of its own: call compute_root(P) first"},
    {"set_store_predicate: twice", PREDICATE, "set_store_predicate(P, i >= 1)", "set_store_predicate(P, i < 17)",
     "set_store_predicate(P): the stores of P have a predicate already (i >= 1): give one"},
    {"set_store_predicate: one of two readers", FORK, "", "set_store_predicate(P, i < 8)",
     "set_store_predicate(P): Q reads P[i], where i < 8 is not known to hold: what is not stored would be read; use "
     "select(i < 8, value, other) in the program, or a condition that holds wherever P is read"},
    {"set_store_predicate: a loose select", "P[i<18] = A[i] * 2\nQ[i<18] = select(i >= 3, P[i], 0)", "",
     "set_store_predicate(P, i > 3)",
     "set_store_predicate(P): Q reads P[i], where i > 3 is not known to hold: what is not stored would be read; use "
     "select(i > 3, value, other) in the program, or a condition that holds wherever P is read"},
    {"set_store_predicate: an index from data", "input I: i32[16]; P[i<16] = A[i] * 2\nQ[i<16] = P[I[i] % 16]", "",
     "set_store_predicate(P, i < 8)",
     "set_store_predicate(P): Q reads P[I[i]%16], where i < 8 is not known to hold: what is not stored would be read; "
     "use select(i < 8, value, other) in the program, or a condition that holds wherever P is read"},
    {"set_store_predicate: without a condition", PREDICATE, "", "set_store_predicate(P)",
     "set_store_predicate(P): wrong arguments: write set_store_predicate(stage, condition)"},
    {"cache_read: of what is stored in part", PREDICATE, "set_store_predicate(P, i >= 1)", "cache_read(P, local, Q)",
     "cache_read(P): the stores of P have a predicate (i >= 1), and a copy reads all elements: call cache_read before "
     "set_store_predicate, and give the copy the predicate"},
    {"cache_write: a stage with a predicate", PREDICATE, "set_store_predicate(P, i >= 1)", "cache_write(P, local)",
     "cache_write(P): P already has a schedule (loops: i), which would be lost: call cache_write(P, local) before it"},
    {"rfactor: a stage with a predicate", "P[i<18] = sum[k<8](A[i,k])\nQ[i<16] = P[i+1]",
     "set_store_predicate(P, i >= 1)", "rfactor(P, k)",
     "rfactor(P, k): P already has a schedule besides that of its reduction axes (loops: i, k), which would be lost: "
     "call rfactor before it, and after split and fuse of reduction axes only"},
    {"text: no parenthesis", MM, "", "split C, i, 4",
     "schedule text, line 1, column 7: expected '(', for example split(C, i, 32)\nsplit C, i, 4\n      ^"},
    {"text: a parenthesis is open", MM, "", "split(C, i, 4",
     "schedule text, line 1, column 14: expected ',' or ')', and the text ends\nsplit(C, i, 4\n             ^"},
    {"text: nothing between two primitives", MM, "", "unroll(C, k) unroll(C, j)",
     "schedule text, line 1, column 14: expected ';' between two primitives\nunroll(C, k) unroll(C, j)\n           "
     "  ^"},
    {"text: neither name nor number", MM, "", "split(C, i, +4)",
     "schedule text, line 1, column 13: expected a name or a number, not +4\nsplit(C, i, +4)\n            ^"},
    {"text: no value after the key", MM, "", "split(C, i, nparts=)",
     "schedule text, line 1, column 20: expected a name or a number after '='\nsplit(C, i, nparts=)\n              "
     "     ^"},
    {"text: a number too long", MM, "", "split(C, i, 99999999999999999999)",
     "schedule text, line 1, column 13: expected a whole number, for example 8, not 99999999999999999999\nsplit(C, i, "
     "99999999999999999999)\n           "
     " ^"},
    {"text: the second line", MM, "", "unroll(C, k)\nsplit(C i)",
     "schedule text, line 2, column 9: expected ',' or ')'\nsplit(C i)\n        ^"},
    {"text: arguments behind a key", MM, "", "split(C, nparts=4, i)",
     "split(C, nparts=4, i): wrong arguments: write split(stage, axis, factor [, tail=peel]) or split(stage, axis, "
     "nparts=n)"},
    {"text: all or nothing", MM, "", "split(C, i, 4); split(C, j, 4); vectorize(C, k)",
     "vectorize(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, "
     "so they cannot run in lockstep; vectorize a data axis (i.outer, i.inner, j.outer, j.inner)"},
};

/* ---- the form of a message --------------------------------------------------------------------------------------- */

/* The primitive that is refused, the last one of a text: its words, "split", "C", "i", in a buffer of N. */
enum { MAX_WORDS = 8, MAX_WORD = 64 };
static int words_of(const char *text, char words[MAX_WORDS][MAX_WORD]) {
  int n = 0, length = 0;
  for (const char *c = text; *c; c++)
    if (*c == ';' || *c == '\n') text = c + 1;
  for (; n < MAX_WORDS; text++) {
    if (isalnum((unsigned char)*text) || *text == '_' || *text == '.') {
      if (length < MAX_WORD - 1) words[n][length++] = *text;
      continue;
    }
    if (length) words[n++][length] = '\0';
    length = 0;
    if (!*text) break;
  }
  return n;
}

/* Primitives whose second argument is an axis. */
static bool names_axis(const char *primitive) {
  static const char *const with_axis[] = {"split",         "tile",          "fuse",   "vectorize", "unroll",
                                          "parallel",      "bind",          "pragma", "rfactor",   "parallel_reduce",
                                          "storage_align", "rfactor_window"};
  for (int i = 0; i < RUNTIME_COUNT(with_axis); i++)
    if (strcmp(with_axis[i], primitive) == 0) return true;
  return false;
}

static void check_mentions(const char *message, const char *what, const char *word) {
  if (!strstr(message, word)) fail_msg("the message does not name the %s %s: %s", what, word, message);
}

/* What stands behind the last ": " or "; " outside of quotes says what to do instead: it begins with one of these. */
static void check_alternative(const char *message) {
  static const char *const verbs[] = {"use",  "call",    "take",  "name", "give",    "put",  "make",   "bind",
                                      "pad",  "reorder", "split", "fuse", "leave",   "keep", "attach", "vectorize",
                                      "copy", "compute", "write", "for",  "compute", "build"};
  const char *last = message;
  bool quoted = false;
  for (const char *c = message; *c; c++) {
    quoted ^= *c == '"';
    if (!quoted && (*c == ':' || *c == ';') && c[1] == ' ') last = c + 2;
  }
  for (int i = 0; i < RUNTIME_COUNT(verbs); i++) {
    size_t n = strlen(verbs[i]);
    if (strncmp(last, verbs[i], n) == 0 && last[n] == ' ') return;
  }
  fail_msg("the message does not end with what to do instead: %s", message);
}

/* A mistake in form has a line and a caret instead. */
static void check_form(const char *call, const char *message) {
  char words[MAX_WORDS][MAX_WORD];
  if (strncmp(message, "schedule text, line ", 20) == 0 || strncmp(message, "parse error at ", 15) == 0) return;
  int n = words_of(call, words);
  check_mentions(message, "primitive", words[0]);
  if (n > 1) check_mentions(message, "stage", words[1]);
  if (n > 2 && names_axis(words[0])) check_mentions(message, "axis", words[2]);
  if (n > 3 && strcmp(words[0], "compute_at") == 0) check_mentions(message, "axis", words[3]);
  check_alternative(message);
}

static void refusal(void **state) {
  const struct refusal *r = *state;
  fixture f = fixture_new(r->program, r->before);
  char *before = state_of(f.s);
  assert_int_not_equal(tn_schedule_apply(f.s, r->call), TN_OK);
  check_text(tn_context_message(f.ctx), r->message);
  check_form(r->call, r->message);
  tn_context_clear(f.ctx);
  char *after = state_of(f.s);
  check_text(after, before);
  free(before);
  free(after);
  fixture_free(&f);
}

int test_refusals(void) { return CHECK_TABLE("refusals", refusals, refusal); }
