/* Directives without effect: each is a warning that names it, when it is given or while lowering. */
#include "tests/schedule/tests.h"

#define ADD "C[i<64, j<48] = A[i,j] + B[i,j]"
#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define WIDE                                                                                                     \
  "C[i<3000] = A[i]*A[i + 1] + A[i + 2]*A[i + 3] + A[i + 4]*A[i + 5] + A[i + 6]*A[i + 7] + A[i + 8]*A[i + 9] + " \
  "A[i + 10]*A[i + 11]"
#define CHAIN "P[i<16, j<16] = A[i,j] * 2\nQ[i<16, j<16] = P[i,j] + 1\nR[i<16, j<16] = Q[i,j] * Q[i,j]"

static const struct without_effect {
  const char *name, *program, *schedule, *warning; /* NULL: none at all */
} rows[] = {
    {"nothing to warn of", ADD, "tile(C, i, j, 8, 8); parallel(C, i.outer); vectorize(C, j.inner)", NULL},
    {"parallel: one iteration", ADD, "split(C, i, 64); parallel(C, i.outer)",
     "parallel(C, i.outer) has no effect: the loop has one iteration"},
    {"vectorize: one iteration", ADD, "split(C, j, 1); vectorize(C, j.inner)",
     "vectorize(C, j.inner) has no effect: the loop has one iteration"},
    {"unroll: one iteration", ADD, "split(C, j, 1); unroll(C, j.inner)",
     "unroll(C, j.inner) has no effect: the loop has one iteration"},
    {"vectorize: one iteration is needed", CHAIN, "vectorize(P, j); compute_at(P, Q, j)",
     "vectorize(P, j) has no effect: the loop has one iteration"},
    {"unroll: too large", "C[i<9000] = A[i] + 1", "unroll(C, i)", "the loop \"i\" is not unrolled: it would make more"},
    {"unroll: too much code", WIDE, "unroll(C, i)",
     "the loop \"i\" is not unrolled: it would make more code than 4096 statements of 32 operations"},
    {"mask: not vectorized", ADD, "split(C, i, 5, tail=mask)", "split(C, i): tail mask has no effect"},
    {"pragma: auto_unroll_max_step is too small", ADD, "pragma(C, i, auto_unroll_max_step, 16)",
     "pragma(C, i, auto_unroll_max_step, 16) has no effect: no innermost loop inside makes so few statements"},
    {"pragma: auto_unroll_max_step 0 asks for nothing", ADD, "pragma(C, i, auto_unroll_max_step, 0)", NULL},
    {"pragma: auto_unroll_max_step that does something", ADD, "pragma(C, i, auto_unroll_max_step, 64)", NULL},
    {"pragma: unroll_explicit 1", ADD, "pragma(C, i, unroll_explicit, 1)",
     "pragma(C, i) has no effect: unroll_explicit 1 is what holds without it"},
    {"pragma: nothing to part", ADD, "split(C, i, 8); pragma(C, i.outer, loop_partition_hint, 1)",
     "pragma(C, i.outer) has no effect: no condition depends on the loop, so loop_partition_hint has nothing to part"},
    {"pragma: something to part", ADD, "split(C, i, 5); pragma(C, i.outer, loop_partition_hint, 1)", NULL},
    {"pragma: no loop before it", ADD, "pragma(C, i, join_loop_before, 1)",
     "pragma(C, i) has no effect: no loop over the same iterations stands right before it"},
    {"pragma: a loop before it that it needs", CHAIN, "pragma(R, i, join_loop_before, 1)",
     "pragma(R, i) has no effect: no loop over the same iterations stands right before it"},
    {"pragma: two loops that join", "P[i<64] = A[i] + 1\nQ[i<64] = A[i] * 2", "pragma(Q, i, join_loop_before, 1)",
     NULL},
    {"pragma: loops of other lengths", "P[i<64] = A[i] + 1\nQ[i<63] = A[i] * 2", "pragma(Q, i, join_loop_before, 1)",
     "pragma(Q, i) has no effect: no loop over the same iterations stands right before it"},
    {"pragma: stride of a serial loop", ADD, "pragma(C, i, parallel_stride_pattern, 1)",
     "pragma(C, i) has no effect: parallel_stride_pattern is for a parallel loop"},
    {"prefetch: the same for all iterations", MM, "prefetch(C, B, i, 1)",
     "prefetch(C, B, i) has no effect: what an iteration reads is not known, or is the whole tensor"},
    {"prefetch: one iteration", ADD, "split(C, i, 64); prefetch(C, A, i.outer, 1)",
     "prefetch(C, A, i.outer) has no effect: the loop has one iteration"},
    {"prefetch: for a loop that is split afterwards", CHAIN,
     "compute_at(Q, R, j); prefetch(Q, P, j, 1, R, i); split(R, i, 4)",
     "prefetch(Q, P, j) has no effect: the loop whose later iteration it is for is not around it any more"},
    {"prefetch: computed elsewhere afterwards", CHAIN,
     "compute_at(Q, R, i); prefetch(Q, P, j, 1, R, i); compute_root(Q)",
     "prefetch(Q, P, j) has no effect: the loop whose later iteration it is for is not around it any more"},
    {"prefetch: for a loop that does not matter", MM, "prefetch(C, B, j, 1, C, i)",
     "prefetch(C, B, j) has no effect: what an iteration reads is not known, or is the whole tensor"},
    {"prefetch: computed there afterwards", CHAIN, "prefetch(Q, P, i, 1); compute_at(P, Q, i)",
     "prefetch(Q, P, i) has no effect: the tensor is computed inside the loop"},
    {"prefetch: inlined afterwards", CHAIN, "prefetch(Q, P, i, 1); compute_inline(P)",
     "prefetch(Q, P, i) has no effect: the tensor is inlined"},
    {"prefetch: read from a copy afterwards", ADD, "prefetch(C, A, i, 1); cache_read(A, local, C)",
     "prefetch(C, A, i) has no effect: nothing inside the loop reads the tensor any more"},
    {"prefetch: a layout afterwards", CHAIN, "prefetch(Q, P, i, 1); transform_layout(P, [i, j] -> [j, i])",
     "prefetch(Q, P, i) has no effect: the tensor's layout does not keep lines together"},
    {"set_store_predicate: always true", CHAIN, "set_store_predicate(P, i < 16 && j >= 0)",
     "set_store_predicate(P) has no effect: i < 16 && j >= 0 holds everywhere"},
    {"set_store_predicate: inlined afterwards", "P[i<18] = A[i] * 2\nQ[i<16] = P[i+1] + 1",
     "set_store_predicate(P, i >= 1); compute_inline(P)",
     "compute_inline(P): the schedule of its loops (i) has no effect"},
    {"double_buffer: one iteration", CHAIN, "split(R, i, 16); compute_at(Q, R, i.outer); double_buffer(Q)",
     "double_buffer(Q) has no effect: the loop has one iteration"},
    {"double_buffer: at root afterwards", CHAIN, "compute_at(Q, R, i); double_buffer(Q); compute_root(Q)",
     "double_buffer(Q) has no effect: the stage is at root"},
    {"rolling_buffer: nothing overlaps", CHAIN, "compute_at(Q, R, i); rolling_buffer(Q)",
     "rolling_buffer(Q) has no effect: an iteration needs nothing that the one before needed"},
    {"rolling_buffer: the same for all", "P[i<16] = A[i] * 2\nQ[i<8, j<14] = P[j] + P[j+2]",
     "compute_at(P, Q, i); rolling_buffer(P)", "rolling_buffer(P) has no effect: every iteration needs the same"},
    {"rolling_buffer: two dimensions", "P[i<18, j<18] = A[i,j] * 2\nQ[i<16] = P[i,i] + P[i+1,i+1]",
     "compute_at(P, Q, i); rolling_buffer(P)",
     "rolling_buffer(P) has no effect: what an iteration needs moves along two dimensions"},
    {"rolling_buffer: backwards", "P[i<18] = A[i] * 2\nQ[i<16] = P[17 - i] + P[16 - i]",
     "compute_at(P, Q, i); rolling_buffer(P)",
     "rolling_buffer(P) has no effect: what an iteration needs does not move by a constant"},
    {"rolling_buffer: padded", "P[i<18] = A[i] * 2\nQ[i<16] = P[i] + P[i+2]",
     "compute_at(P, Q, i); split(P, i, 2, tail=pad); rolling_buffer(P)",
     "rolling_buffer(P) has no effect: the dimension is padded"},
    {"storage_align: no such stride", "P[i<4, j<6, k<5] = A[i,j,k] + 1\nQ[i<4, j<6, k<5] = P[i,j,k]",
     "split(P, k, 2, tail=pad); storage_align(P, i, 2, 1)", NULL},
    {"set_scope: the scope it has", CHAIN, "set_scope(P, global)",
     "set_scope(P) has no effect: the scope of P is global already"},
    {"compute_root: a stage at root", CHAIN, "compute_root(P)", "compute_root(P) has no effect: P is at root already"},
    {"reorder: the order there is", ADD, "reorder(C, i, j)",
     "reorder(C, i, j) has no effect: the loops stand in this order already"},
    {"transform_layout: the order there is", CHAIN, "transform_layout(P, [i, j] -> [i, j])",
     "transform_layout(P) has no effect: [i, j] -> [i, j] is how P is stored without it"},
    {"compute_inline: loops that had a schedule", CHAIN, "vectorize(P, j); compute_inline(P)",
     "compute_inline(P): the schedule of its loops (i, j) has no effect while it is inlined"},
    {"auto_inline: nothing to inline", ADD, "auto_inline()", "auto_inline() has no effect: no stage can be inlined"},
};

static void warns(void **state) {
  const struct without_effect *r = *state;
  fixture f = fixture_new(r->program, r->schedule);
  free(print_form(f.s, TN_FORM_TIR));
  const char *said = check_messages(f.ctx);
  if (r->warning)
    check_has(said, r->warning);
  else
    assert_string_equal(said, "");
  fixture_free(&f);
}

int test_warnings(void) { return CHECK_TABLE("directives without effect", rows, warns); }
