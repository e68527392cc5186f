/* Every tail strategy on every extent from 1 to 70 with every factor from 1 to twice the extent and one: each point is
 * computed just once (overlap: at least once, with the same value; pad: what is beyond the extent is stored once, too,
 * and never read). */
#include <stdio.h>

#include "tests/common/check.h"
#include "tests/fuzz/worker.h"
#include "tests/schedule/tests.h"
#include "tests/tir/tests.h"

enum { MAX_EXTENT = 70 };

static const struct tail_case {
  const char *name, *schedule; /* with %d: the factor */
  tn_tail tail;
  bool reduces;
} cases[] = {
    {"guard", "split(P, i, %d)", TN_TAIL_GUARD, false},
    {"peel", "split(P, i, %d, tail=peel)", TN_TAIL_PEEL, false},
    {"mask", "split(P, i, %d, tail=mask)", TN_TAIL_MASK, false},
    {"pad", "split(P, i, %d, tail=pad)", TN_TAIL_PAD, false},
    {"overlap", "split(P, i, %d, tail=overlap)", TN_TAIL_OVERLAP, false},
    {"guard, vectorized", "vectorize(P, i, %d)", TN_TAIL_GUARD, false},
    {"peel, vectorized", "vectorize(P, i, %d, tail=peel)", TN_TAIL_PEEL, false},
    {"mask, vectorized", "vectorize(P, i, %d, tail=mask)", TN_TAIL_MASK, false},
    {"pad, vectorized", "vectorize(P, i, %d, tail=pad)", TN_TAIL_PAD, false},
    {"overlap, vectorized", "vectorize(P, i, %d, tail=overlap)", TN_TAIL_OVERLAP, false},
    {"guard, nparts", "split(P, i, nparts=%d)", TN_TAIL_GUARD, false},
    {"overlap, nparts", "split(P, i, nparts=%d, tail=overlap)", TN_TAIL_OVERLAP, false},
    {"guard, reduction", "split(P, k, %d)", TN_TAIL_GUARD, true},
    {"peel, reduction", "split(P, k, %d, tail=peel)", TN_TAIL_PEEL, true},
    {"pad, reduction", "split(P, k, %d, tail=pad)", TN_TAIL_PAD, true},
};

/* The stores of the split stage that there should be, at least and at most. */
static void expected_stores(const struct tail_case *c, int64_t extent, int64_t factor, int64_t *least, int64_t *most) {
  int64_t inner = RUNTIME_MIN(factor, extent), rounded = (extent + inner - 1) / inner * inner;
  *least = *most = c->reduces ? extent + 1 : extent;
  if (c->tail == TN_TAIL_PAD) *least = *most = c->reduces ? rounded + 1 : rounded;
  if (c->tail == TN_TAIL_OVERLAP) *most = 2 * extent;
}

static void check_values(const struct tail_case *c, const machine *m, int64_t extent, int64_t factor) {
  const memory *out = &m->memories[0];
  int64_t least, most, others = c->reduces ? 1 : extent, stores = m->steps - others;
  expected_stores(c, extent, factor, &least, &most);
  if (m->fault) fail_msg("extent %d, factor %d: %s", (int)extent, (int)factor, m->fault);
  if (stores < least || stores > most)
    fail_msg("extent %d, factor %d: %d stores, not %d to %d", (int)extent, (int)factor, (int)stores, (int)least,
             (int)most);
  for (int64_t i = 0; i < others; i++) {
    int64_t want = c->reduces ? extent * (extent + 1) : 2 * (i + 1);
    if (out->data[i].i != want)
      fail_msg("extent %d, factor %d: element %d is %d, not %d", (int)extent, (int)factor, (int)i, (int)out->data[i].i,
               (int)want);
  }
}

static void run(const struct tail_case *c, tn_program *program, int64_t extent, int64_t factor) {
  char schedule[100];
  runtime_arena arena = {0};
  tn_schedule *s = tn_schedule_new(program);
  snprintf(schedule, sizeof schedule, c->schedule, (int)factor);
  if (tn_schedule_apply(s, schedule) != TN_OK) check_ok(s->ctx);
  const tir_func *f = schedule_lower_and_optimize(s, "f", &arena);
  assert_non_null(f);
  machine *m = calloc(1, sizeof *m);
  assert_non_null(m);
  machine_start(m, f, 1);
  execute(m, f->body);
  check_values(c, m, extent, factor);
  machine_free(m);
  free(m);
  tn_schedule_free(s);
  runtime_arena_free(&arena);
}

static void visits_each_point(void **state) {
  const struct tail_case *c = *state;
  char text[200];
  for (int extent = 1; extent <= MAX_EXTENT; extent++) {
    tn_context *ctx = tn_context_new(NULL);
    snprintf(text, sizeof text,
             c->reduces ? "P = sum[k<%d](i32(k) + 1)\nC = P * 2" : "P[i<%d] = i32(i) + 1\nC[i<%d] = P[i] * 2", extent,
             extent);
    tn_program *program = tn_program_parse(ctx, text, 0, NULL);
    assert_non_null(program);
    for (int factor = 1; factor <= 2 * extent + 1; factor++) run(c, program, extent, factor);
    tn_context_free(ctx);
  }
}

int fuzz_tails(void) { return CHECK_TABLE("tails", cases, visits_each_point); }
