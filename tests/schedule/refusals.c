/* Refusals: for each, the whole message, and that the schedule is as it was. */
#include "tests/schedule/tests.h"

#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define ADD "C[i<64, j<48] = A[i,j] + B[i,j]"
#define CHAIN "P[i<16, j<16] = A[i,j] * 2\nQ[i<16, j<16] = P[i,j] + 1\nR[i<16, j<16] = Q[i,j] * Q[i,j]"
#define FUSED "M[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])\nO[i<64, j<48] = M[i,j] + D[i,j]"
#define FORK "P[i<16] = A[i] * 2\nQ[i<16] = P[i] + 1\nR[i<16] = P[i] * Q[i]"
#define LONG "P[i<16] = A[i] * 2\nQ[i<16] = P[i] + 1\nR[i<16] = Q[i] * 3\nS[i<16] = R[i] + 4"
#define SCALAR "T[i<16] = A[i] + 1\nS = sum[i<16](T[i])\nU = S * 2"

static const struct refusal {
  const char *name, *program, *before, *call, *message;
} refusals[] = {
    {"split: an unknown axis", MM, "", "split(C, x, 4)",
     "split(C, x): axis \"x\" is not part of stage C: its loops are i, j, k"},
    {"split: an unknown stage", MM, "", "split(X, i, 4)", "split: no stage is called \"X\": the stages are A, B, C"},
    {"split: a factor of zero", MM, "", "split(C, i, 0)",
     "split(C, i): length 0: a factor must be at least 1 (loop i has extent 64); for example split(C, i, 8)"},
    {"split: a negative factor", MM, "", "split(C, i, -3)",
     "split(C, i): length -3: a factor must be at least 1 (loop i has extent 64); for example split(C, i, 8)"},
    {"split: no parts", MM, "", "split(C, k, nparts=0)",
     "split(C, k): length 0: a factor must be at least 1 (loop k has extent 32); for example split(C, k, 8)"},
    {"split: an input", MM, "", "split(A, i, 4)",
     "split(A, i): A is an input and has no loops: schedule a computed stage, or copy it first with cache_read(A, "
     "local, reader)"},
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
     "split(C, i): give a factor, or nparts=, and not both: split(C, i, 32)"},
    {"split: no factor", MM, "", "split(C, i)",
     "split(C, i): give a factor, or nparts=, and not both: split(C, i, 32)"},
    {"split: a name for a factor", MM, "", "split(C, i, four)",
     "split: wrong arguments: split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)"},
    {"split: an unknown tail", MM, "", "split(C, i, 20, tail=round)",
     "split(C, i): tail \"round\" is unknown: guard or peel"},
    {"split: an unknown key", MM, "", "split(C, i, 20, parts=3)",
     "split takes no parts=: split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)"},
    {"split: a stage that was inlined", CHAIN, "compute_inline(Q)", "split(Q, i, 4)",
     "split(Q, i): Q is inlined and has no loops of its own: call compute_root(Q) first"},
    {"tile: one axis twice", MM, "", "tile(C, i, i, 4, 4)", "tile(C): axis i stands twice: name each axis once"},
    {"tile: a factor of zero", MM, "", "tile(C, i, j, 0, 4)",
     "tile(C, i, j): factors 0 and 4: both must be at least 1, for example tile(C, i, j, 8, 8)"},
    {"tile: the second factor is negative", MM, "", "tile(C, i, j, 4, -1)",
     "tile(C, i, j): factors 4 and -1: both must be at least 1, for example tile(C, i, j, 8, 8)"},
    {"tile: an unknown axis", MM, "", "tile(C, i, z, 4, 4)",
     "tile(C, z): axis \"z\" is not part of stage C: its loops are i, j, k"},
    {"tile: a factor is missing", MM, "", "tile(C, i, j, 4)",
     "tile: wrong arguments: tile(stage, a, b, factor_a, factor_b [, tail=peel])"},
    {"fuse: one axis", MM, "", "fuse(C, i)",
     "fuse(C, i): 1 loops to fuse: fuse takes two or more adjacent loops of C, which has 3"},
    {"fuse: axes that are not adjacent", MM, "", "fuse(C, i, k)",
     "fuse(C, i): loops i and k of C are not adjacent in this order (loops: i, j, k): reorder them first"},
    {"fuse: axes in the wrong order", MM, "", "fuse(C, j, i)",
     "fuse(C, j): loops j and i of C are not adjacent in this order (loops: i, j, k): reorder them first"},
    {"fuse: one axis twice", MM, "", "fuse(C, i, i)", "fuse(C): axis i stands twice: name each axis once"},
    {"fuse: the axis of another stage", FUSED, "", "fuse(O, i, k)",
     "fuse(O, k): axis \"k\" is not part of stage O: its loops are i, j"},
    {"fuse: a parallel loop", MM, "parallel(C, i)", "fuse(C, i, j)",
     "fuse(C, i): loop i of C already has parallel, which would be lost: put this before parallel(C, i)"},
    {"fuse: a loop that carries a stage", CHAIN, "compute_at(Q, R, i)", "fuse(R, i, j)",
     "fuse(R, i): Q is computed at loop i of R: only the innermost of the fused loops may carry stages; call "
     "compute_at(Q, ...) after the fuse"},
    {"fuse: no axes", MM, "", "fuse(C)", "fuse: wrong arguments: fuse(stage, axis, axis, ...)"},
    {"fuse: a rank 0 stage", SCALAR, "", "fuse(U, i, j)",
     "fuse(U, i): axis \"i\" is not part of stage U: its loops are none (it has rank 0)"},
    {"reorder: the axis of another stage", FUSED, "", "reorder(O, k, i)",
     "reorder(O, k): axis \"k\" is not part of stage O: its loops are i, j"},
    {"reorder: one axis twice", MM, "", "reorder(C, i, j, i)", "reorder(C): axis i stands twice: name each axis once"},
    {"reorder: an axis that was split", MM, "split(C, k, 4)", "reorder(C, k, j)",
     "reorder(C, k): axis k of C has already been split into k.outer, k.inner: name one of these"},
    {"reorder: no axes", MM, "", "reorder(C)", "reorder: wrong arguments: reorder(stage, axis, axis, ...)"},
    {"reorder: a reader leaves the loop of what it reads", CHAIN, "compute_at(Q, R, j); compute_at(P, R, i)",
     "reorder(R, j, i)",
     "reorder(R): P is computed inside loop i of R, but Q reads it outside of that loop: a stage under compute_at "
     "must have all its readers inside; call compute_root(P), or compute Q at R as well"},
    {"reorder: a parallel loop into a vectorized one", ADD, "parallel(C, i); vectorize(C, j)", "reorder(C, j, i)",
     "reorder(C): the parallel loop i of C would stand inside the vectorized loop j: put the parallel loop "
     "outermost, for example reorder(C, i, j)"},
    {"reorder: a stage comes into a vectorized loop", CHAIN, "vectorize(R, j); compute_at(Q, R, i)", "reorder(R, j, i)",
     "reorder(R): Q would be computed inside the vectorized loop j of R: attach it further out, or vectorize a "
     "loop of Q itself"},
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
     "vectorize(U, i): axis \"i\" is not part of stage U: its loops are none (it has rank 0)"},
    {"vectorize: two axes", MM, "", "vectorize(C, i, j)", "vectorize: wrong arguments: vectorize(stage, axis)"},
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
     "unroll(C, kk): axis \"kk\" is not part of stage C: its loops are i, j, k"},
    {"unroll: a parallel loop", MM, "parallel(C, i)", "unroll(C, i)",
     "unroll(C, i): loop i of C already has parallel: a loop takes one annotation; split it first"},
    {"pragma: an unknown key", MM, "", "pragma(C, i, unroll_explicit, 1)",
     "pragma(C, i): key \"unroll_explicit\" is unknown: auto_unroll_max_step is the one there is"},
    {"pragma: a negative number", MM, "", "pragma(C, i, auto_unroll_max_step, -1)",
     "pragma(C, i): auto_unroll_max_step -1: 0 to 65535 statements, for example 64"},
    {"pragma: too large a number", MM, "", "pragma(C, i, auto_unroll_max_step, 9000000000)",
     "pragma(C, i): auto_unroll_max_step 9000000000: 0 to 65535 statements, for example 64"},
    {"pragma: twice", MM, "pragma(C, i, auto_unroll_max_step, 16)", "pragma(C, i, auto_unroll_max_step, 64)",
     "pragma(C, i): loop i already has auto_unroll_max_step 16: one pragma a loop"},
    {"compute_at: an output", CHAIN, "", "compute_at(R, Q, i)",
     "compute_at(R, Q, i): R is an output: outputs are computed at root; compute its producers at R instead"},
    {"compute_at: an input", CHAIN, "", "compute_at(A, P, i)",
     "compute_at(A, P, i): A is an input: it is given, not computed; cache_read(A, local, reader) copies it"},
    {"compute_at: its own loop", CHAIN, "", "compute_at(Q, Q, i)",
     "compute_at(Q, Q, i): a stage cannot be computed inside its own loops: name a reader of Q"},
    {"compute_at: a stage that does not read it", CHAIN, "", "compute_at(P, R, i)",
     "compute_at(P, R, i): nothing inside R reads P: compute a stage at one of its readers, for example Q"},
    {"compute_at: a reader stands outside", FORK, "", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): P is computed inside loop i of Q, but R reads it outside of that loop: a stage under "
     "compute_at must have all its readers inside; call compute_root(P), or compute R at Q as well"},
    {"compute_at: around in a circle", CHAIN, "compute_at(P, Q, i)", "compute_at(Q, P, i)",
     "compute_at(Q, P, i): P is itself computed inside Q: call compute_root(P) first"},
    {"compute_at: an inlined reader", CHAIN, "compute_inline(Q)", "compute_at(P, Q, i)",
     "compute_at(P, Q, i): Q is inlined and has no loops of its own: call compute_root(Q) first"},
    {"compute_at: an unknown axis", CHAIN, "", "compute_at(P, Q, k)",
     "compute_at(P, Q, k): axis \"k\" is not part of stage Q: its loops are i, j"},
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
     "compute_at(S, U, i): axis \"i\" is not part of stage U: its loops are none (it has rank 0)"},
    {"compute_inline: a reduction", FUSED, "", "compute_inline(M)",
     "compute_inline(M): M is a reduction (over k): it has no value before its loop ends; use compute_at(M, "
     "reader, axis)"},
    {"compute_inline: an output", FUSED, "", "compute_inline(O)",
     "compute_inline(O): O is an output: outputs are computed at root; compute its producers at O instead"},
    {"compute_inline: an input", FUSED, "", "compute_inline(A)",
     "compute_inline(A): A is an input: it is given, not computed; cache_read(A, local, reader) copies it"},
    {"compute_inline: twice", CHAIN, "compute_inline(P)", "compute_inline(P)",
     "compute_inline(P): P is inlined already; compute_root(P) takes that back"},
    {"compute_inline: others are computed in it", CHAIN, "compute_at(P, Q, i)", "compute_inline(Q)",
     "compute_inline(Q): P is computed at loop i of Q: a stage that others are computed in cannot be inlined; call "
     "compute_root(P) first"},
    {"compute_root: an input", CHAIN, "", "compute_root(A)",
     "compute_root(A): A is an input: it is given, not computed; cache_read(A, local, reader) copies it"},
    {"compute_root: it would leave what it reads behind", CHAIN, "compute_at(Q, R, i); compute_at(P, R, i)",
     "compute_root(Q)",
     "compute_root(Q): P is computed inside loop i of R, but Q reads it outside of that loop: a stage under "
     "compute_at must have all its readers inside; call compute_root(P), or compute Q at R as well"},
    {"cache_read: an unknown scope", MM, "", "cache_read(A, shared, C)",
     "cache_read(A): scope \"shared\" is unknown: \"global\" or \"local\""},
    {"cache_read: a stage that does not read it", CHAIN, "", "cache_read(A, local, Q)",
     "cache_read(A): Q does not read A: its readers are P"},
    {"cache_read: nothing reads it", CHAIN, "", "cache_read(R, local)",
     "cache_read(R): nothing reads R: there is no use for a cache"},
    {"cache_read: an unknown tensor", MM, "", "cache_read(Z, local, C)",
     "cache_read: no stage is called \"Z\": the stages are A, B, C"},
    {"cache_read: one reader twice", MM, "", "cache_read(A, local, C, C)",
     "cache_read(A): reader C is named twice: name each once"},
    {"cache_read: a stage under compute_at", CHAIN, "compute_at(P, Q, i)", "cache_read(P, local, Q)",
     "cache_read(P): P is under compute_at: a cache reads a stage at root; call cache_read before that, or "
     "compute_root(P)"},
    {"cache_read: an inlined stage", CHAIN, "compute_inline(P)", "cache_read(P, local, Q)",
     "cache_read(P): P is inlined: a cache reads a stage at root; call cache_read before that, or compute_root(P)"},
    {"cache_read: an input as reader", MM, "", "cache_read(A, local, B)",
     "cache_read(A): B is an input: it is given, not computed; cache_read(B, local, reader) copies it"},
    {"cache_write: an input", MM, "", "cache_write(A, local)",
     "cache_write(A): A is an input: it is given, not computed; cache_read(A, local, reader) copies it"},
    {"cache_write: an unknown scope", MM, "", "cache_write(C, register)",
     "cache_write(C): scope \"register\" is unknown: \"global\" or \"local\""},
    {"cache_write: a stage that was scheduled", MM, "split(C, i, 4)", "cache_write(C, local)",
     "cache_write(C): C already has a schedule (loops: i.outer, i.inner, j, k), which would be lost: call "
     "cache_write(C, local) before it"},
    {"cache_write: an inlined stage", CHAIN, "compute_inline(P)", "cache_write(P, local)",
     "cache_write(P): P is inlined and writes nothing: call compute_root(P) first"},
    {"cache_write: others are computed in it", CHAIN, "compute_at(P, Q, i)", "cache_write(Q, local)",
     "cache_write(Q): P is computed at a loop of Q, which would be lost: call cache_write(Q, local) before it"},
    {"cache_write: what it reads is computed in another loop", CHAIN, "compute_at(Q, R, i); compute_at(P, R, i)",
     "cache_write(Q, local)",
     "cache_write(Q): Q reads P, which is computed inside loop i of R, and Q.local would read it from root: call "
     "cache_write(Q, local) before compute_at(P, ...)"},
    {"cache_write: the same through an inlined stage", LONG,
     "compute_inline(Q); compute_at(R, S, i); compute_at(P, S, i)", "cache_write(R, local)",
     "cache_write(R): R reads P, which is computed inside loop i of S, and R.local would read it from root: call "
     "cache_write(R, local) before compute_at(P, ...)"},
    {"text: a factor that is no number", MM, "", "split(C, i, factor=x)",
     "split: factor=x is no number: split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)"},
    {"text: a key twice", MM, "", "split(C, i, nparts=2, nparts=3)", "split: nparts= stands twice: give it once"},
    {"text: a key that the primitive has not", MM, "", "vectorize(C, j, tail=peel)",
     "vectorize takes no tail=: vectorize(stage, axis)"},
    {"set_scope: an output", MM, "", "set_scope(C, local)",
     "set_scope(C): C is an output: its memory is the caller's; cache_write(C, local) makes a stage with that "
     "scope"},
    {"set_scope: an input", MM, "", "set_scope(A, local)",
     "set_scope(A): A is an input: it is given, not computed; cache_read(A, local, reader) copies it"},
    {"set_scope: an unknown scope", CHAIN, "", "set_scope(P, cache)",
     "set_scope(P): scope \"cache\" is unknown: \"global\" or \"local\""},
    {"text: an unknown primitive", MM, "", "bind(C, i, threadIdx.x)",
     "bind is no primitive: split, tile, fuse, reorder, vectorize, unroll, parallel, pragma, compute_at, "
     "compute_inline, compute_root, cache_read, cache_write, set_scope"},
    {"text: no parenthesis", MM, "", "split C, i, 4",
     "schedule text, line 1, column 7: expected '('\nsplit C, i, 4\n      ^"},
    {"text: a parenthesis is open", MM, "", "split(C, i, 4",
     "schedule text, line 1, column 14: expected ',' or ')'\nsplit(C, i, 4\n             ^"},
    {"text: nothing between two primitives", MM, "", "unroll(C, k) unroll(C, j)",
     "schedule text, line 1, column 14: expected ';' between two primitives\nunroll(C, k) unroll(C, j)\n           "
     "  ^"},
    {"text: neither name nor number", MM, "", "split(C, i, +4)",
     "schedule text, line 1, column 13: expected a name or a number\nsplit(C, i, +4)\n            ^"},
    {"text: no value after the key", MM, "", "split(C, i, nparts=)",
     "schedule text, line 1, column 20: expected a name or a number after '='\nsplit(C, i, nparts=)\n              "
     "     ^"},
    {"text: a number too long", MM, "", "split(C, i, 99999999999999999999)",
     "schedule text, line 1, column 13: expected a name or a number\nsplit(C, i, 99999999999999999999)\n           "
     " ^"},
    {"text: the second line", MM, "", "unroll(C, k)\nsplit(C i)",
     "schedule text, line 2, column 9: expected ',' or ')'\nsplit(C i)\n        ^"},
    {"text: arguments behind a key", MM, "", "split(C, nparts=4, i)",
     "split: wrong arguments: split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)"},
    {"text: all or nothing", MM, "", "split(C, i, 4); split(C, j, 4); vectorize(C, k)",
     "vectorize(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, "
     "so they cannot run in lockstep; vectorize a data axis (i.outer, i.inner, j.outer, j.inner)"},
};

static void refusal(void **state) {
  const struct refusal *r = *state;
  fixture f = fixture_new(r->program, r->before);
  char *before = state_of(f.s);
  assert_int_not_equal(tn_schedule_apply(f.s, r->call), TN_OK);
  check_text(tn_context_message(f.ctx), r->message);
  tn_context_clear(f.ctx);
  char *after = state_of(f.s);
  check_text(after, before);
  free(before);
  free(after);
  fixture_free(&f);
}

int test_refusals(void) { return CHECK_TABLE("refusals", refusals, refusal); }
