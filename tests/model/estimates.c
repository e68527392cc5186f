/* Estimates of lowered loops: work, size of the code, and what a change of the schedule does to the time. */
#include "autotune/feature.h"
#include "schedule/cost.h"
#include "tests/common/check.h"

#define ADD "C[i<1024] = A[i] + B[i]"
#define MATMUL "C[i<64, j<96] = sum[k<128](A[i,k] * B[k,j])"
#define LARGE "C[i<1024, j<1024] = sum[k<1024](A[i,k] * B[k,j])"
#define PACKED                                                                                                         \
  "cache_write(C, local); cache_read(B, global, C.local); transform_layout(B.global, [d0, d1] -> [d1//32, d0, "        \
  "d1%32]); "                                                                                                          \
  "split(C, i, 8); split(C, j, 32); reorder(C, i.outer, j.outer, i.inner, j.inner); compute_at(C.local, C, j.outer); " \
  "reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c); vectorize(C, j.inner)"

/* A machine of 64-byte vectors whose costs nobody measured. */
static autotune_estimate estimate(tn_context *ctx, const char *text, const char *schedule) {
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  const tn_machine given = {.threads = 2, .vector_bytes = 64, .vector_registers = 32},
                   machine = cost_fill_machine(&given);
  autotune_estimate e = {0};
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, text, 0, NULL));
  if (*schedule) tn_schedule_apply(s, schedule);
  check_ok(ctx);
  runtime_arena arena = {0};
  assert_true(autotune_features(schedule_lower(s, "f", &arena), 64, &machine, rows, &e) > 0);
  runtime_arena_free(&arena);
  tn_schedule_free(s);
  return e;
}

/* Vector instructions and statements by hand. A load is one, an addition is one, a multiply-add is one. */
static const struct count_row {
  const char *name, *program, *schedule;
  double work, statements;
} counts[] = {
    {"scalars", ADD, "", 1024 * 4, 1},
    {"vectors of one register", ADD, "split(C, i, 16); vectorize(C, i.inner)", 64 * 4, 1},
    {"vectors of four registers", ADD, "split(C, i, 64); vectorize(C, i.inner)", 64 * 4, 4},
    {"unrolled", ADD, "split(C, i, 8); unroll(C, i.inner)", 1024 * 4, 8},
    {"by a pragma", ADD, "split(C, i, 8); pragma(C, i.inner, auto_unroll_max_step, 16)", 1024 * 4, 8},
    {"peeled: once more", ADD, "split(C, i, 100, tail=peel); unroll(C, i.inner)", 1100 * 4, 200},
    {"lanes that lie apart", "C[i<64, j<64] = A[j,i] * 2", "split(C, j, 16); vectorize(C, j.inner)", 256 * (16 + 1 + 1),
     1},
    {"an index costs nothing", "C[i<64] = A[(i*7 + 3) % 64 // 2]", "", 64 * 2, 1},
    {"nor does a condition on indices", "C[i<64] = select(i < 60, A[i] + 1, 0)", "", 64 * 3, 1},
    {"inlined twice, computed twice", "T[i<64] = A[i] * A[i] + A[i]; C[i<63] = T[i] + T[i+1]", "compute_inline(T)",
     63 * (2 + 2 + 1), 1},
    {"what stands still in a loop is computed outside of it", "C[i<64, j<32] = A[i,j] * exp(B[i])", "",
     64 * (32 * 4 + 12), 1},
    {"and once for all registers of a vector", "C[i<64, j<64] = A[i,j] * exp(B[i])",
     "split(C, j, 32); vectorize(C, j.inner)", 64 * (2 * 2 * 4 + 12), 2},
    {"but not what the loop sums up", "C[i<64] = sum[j<32](exp(A[i,j]) + B[i] * B[i])", "",
     64 * (32 * (1 + 12 + 3) + 1), 1},
};

static void count(void **state) {
  const struct count_row *row = *state;
  tn_context *ctx = check_context();
  autotune_estimate e = estimate(ctx, row->program, row->schedule);
  if (e.work != row->work || e.statements != row->statements)
    fail_msg("work %g, statements %g: expected %g, %g", e.work, e.statements, row->work, row->statements);
  check_context_free(ctx);
}

/* The first schedule is estimated to be faster than the second, at least by this much. */
static const struct order_row {
  const char *name, *program, *fast, *slow;
  double times;
} orders[] = {
    {"vectors", "C[i<1024] = exp(exp(A[i]))", "split(C, i, 16); vectorize(C, i.inner)", "", 4},
    {"threads", LARGE, "parallel(C, i)", "", 1.5},
    {"a tile in registers", LARGE, PACKED, "split(C, j, 32); vectorize(C, j.inner)", 2},
    {"a dot product's instruction",
     "input A: u8[64,64], B: i8[64,64]\nP[jo<4, ko<16, ji<16, ki<4] = B[ko*4+ki, jo*16+ji]\n"
     "C[i<64, j<64] = sum[k<64](i32(A[i,k]) * i32(P[j//16, k//4, j%16, k%4]))",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, j.inner, k.inner); tensorize(C, j.inner, "
     "dot4_u8i8)",
     "split(C, j, 16); split(C, k, 4); reorder(C, i, j.outer, k.outer, k.inner, j.inner); vectorize(C, j.inner)", 2},
};

static void order(void **state) {
  const struct order_row *row = *state;
  tn_context *ctx = check_context();
  double fast = estimate(ctx, row->program, row->fast).ns, slow = estimate(ctx, row->program, row->slow).ns;
  if (!(row->times * fast <= slow)) fail_msg("%g ns and %g ns", fast, slow);
  check_context_free(ctx);
}

int run_estimates(void) {
  return CHECK_TABLE("estimates of loops", counts, count) + CHECK_TABLE("estimates in order", orders, order);
}
