/* What the static analysis says about computes of usual programs. */
#include "tests/search/search_test.h"

#define PROGRAM_SCALED "C[i<8, j<8] = A[i*2, j]"
#define PROGRAM_TRANSPOSE "T[i<8, j<8] = A[j,i]; C[i<8, j<8] = T[i,j] + 1"
#define PROGRAM_DIAGONAL "T[i<8] = A[i,i]; C[i<8] = T[i] + 1"
#define PROGRAM_SHIFT "input A: f32[9]\nT[i<8] = A[i+1] - A[1+i]; C[i<8] = T[i] * 2"
#define PROGRAM_EXP "T[i<8] = exp(A[i]); C[i<8] = T[i] + 1"
#define PROGRAM_SQRT "T[i<8] = sqrt(A[i]); C[i<8] = T[i] + 1"
#define PROGRAM_CONSTANT "T[i<8] = i32(3); C[i<8] = T[i] + 1"
#define PROGRAM_OUTER "C[i<8, j<8] = A[i] * B[j]"
#define PROGRAM_BROADCAST "C[i<8, j<8] = A[i,j] + B[j]"

typedef struct fact_row {
  const char *name, *program, *stage;
  bool inlineable, tiling;
} fact_row;

static const fact_row facts[] = {
    {"matmul is tiled", MATMUL(8, 8, 8), "C", false, true},
    {"a matmul's addition is inlineable", MATMUL_ADD(8, 8, 8), "O", true, false},
    {"a matrix times a vector is tiled", "C[i<8] = sum[k<8](A[i,k] * B[k])", "C", false, true},
    {"a row sum is not tiled", ROW_SUM(8, 8), "B", false, false},
    {"a full sum is not tiled", "B[] = sum[k<8](A[k])", "B", false, false},
    {"a convolution is tiled", CONV, "O", false, true},
    {"padding has a select", CONV, "P", false, false},
    {"a scale by channel is inlineable", CONV, "Q", true, false},
    {"a pool is not tiled", MAX_POOL, "O", false, false},
    {"a scaled index is not inlineable", PROGRAM_SCALED, "C", false, false},
    {"a transpose is out of order", PROGRAM_TRANSPOSE, "T", false, false},
    {"a diagonal uses an axis twice", PROGRAM_DIAGONAL, "T", false, false},
    {"a shift is inlineable", PROGRAM_SHIFT, "T", true, false},
    {"exp is costly", PROGRAM_EXP, "T", false, false},
    {"sqrt is cheap", PROGRAM_SQRT, "T", true, false},
    {"a constant is inlineable", PROGRAM_CONSTANT, "T", true, false},
    {"an outer product reuses both inputs", PROGRAM_OUTER, "C", true, true},
    {"one broadcast input is not enough", PROGRAM_BROADCAST, "C", true, false},
    {"softmax's exp", SOFTMAX(8, 8), "E", false, false},
    {"softmax's maximum is no tiling", SOFTMAX(8, 8), "M", false, false},
    {"extent 1 is no reuse", "C[i<1, j<1] = sum[k<8](A[i,k] * B[k,j])", "C", false, false},
};

static void fact(void **state) {
  const fact_row *row = *state;
  space_fixture f = space_make(row->program);
  tn_schedule *s = tn_schedule_new(f.task->program);
  const te_op *op = s->stages[stage_named(s, row->stage)].op;
  assert_int_equal(schedule_is_strictly_inlineable(op), row->inlineable);
  assert_int_equal(schedule_needs_tiling(op), row->tiling);
  tn_schedule_free(s);
  space_free(&f);
}

typedef struct consumer_row {
  const char *name, *program, *stage, *inlined, *consumer; /* NULL: none */
} consumer_row;

static const consumer_row consumers[] = {
    {"the addition takes the matmul's tile", MATMUL_ADD(8, 8, 8), "M", NULL, "O"},
    {"through an inlined stage", CONV, "O", "Q", "R"},
    {"the next stage while nothing is inlined", CONV, "O", NULL, "Q"},
    {"an output has none", MATMUL(8, 8, 8), "C", NULL, NULL},
    {"a reduction takes no tile", TWO_MATMULS(8), "M", NULL, NULL},
    {"two consumers", SOFTMAX(8, 8), "E", NULL, NULL},
    {"another shape", SOFTMAX(8, 8), "M", NULL, NULL},
    {"a transposed read", "T[i<8, j<8] = A[i,j]; C[i<8, j<8] = T[j,i]", "T", NULL, NULL},
    {"a shifted read", "T[i<8] = A[i]; C[i<8] = T[(i+1) % 8]", "T", NULL, NULL},
};

static void consumer(void **state) {
  const consumer_row *row = *state;
  space_fixture f = space_make(row->program);
  tn_schedule *s = tn_schedule_new(f.task->program);
  if (row->inlined) assert_int_equal(schedule_compute_inline(s, stage_named(s, row->inlined)), TN_OK);
  int found = schedule_elementwise_consumer(s, stage_named(s, row->stage));
  if (row->consumer)
    assert_int_equal(found, stage_named(s, row->consumer));
  else
    assert_int_equal(found, -1);
  tn_schedule_free(s);
  space_free(&f);
}

int run_analysis_tests(void) {
  return CHECK_TABLE("facts", facts, fact) + CHECK_TABLE("elementwise consumers", consumers, consumer);
}
