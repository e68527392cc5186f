/* Plans: their text form and what it refuses, the ranking, and that each plan of each family makes the schedule that it
 * says or is refused. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "schedule/tile.h"
#include "tests/schedule/tests.h"

enum { RANKED = 32 };

typedef struct plan_case {
  const char *name, *program, *stage, *family; /* what the best plan of the stage is of */
} plan_case;

#define MM(m, n, k) "C[i<" m ", j<" n "] = sum[k<" k "](A[i,k] * B[k,j])"

#define SWEEP(name, rows, columns, of) \
  name "[y<" rows ", x<" columns "] = (" of "[y,x+1] + " of "[y+2,x+1] + " of "[y+1,x] + " of "[y+1,x+2]) * 0.25\n"

#define WEIGHTS(read)                                                                               \
  "W[y<40, x<60, u<3, v<3] = exp((I[y+1,x+1] - I[y+u,x+v]) * (I[y+1,x+1] - I[y+u,x+v]) * (-8.0))\n" \
  "O[y<40, x<60] = sum[u<3, v<3](" read ")"

static const plan_case cases[] = {
    {"product", MM("512", "512", "512"), "C", "tile"},
    {"product of odd sizes", MM("257", "63", "131"), "C", "tile"},
    {"product of bytes", "input A: u8[64,64], B: i8[64,64]\nC[i<64, j<64] = sum[k<64](i32(A[i,k]) * i32(B[k,j]))", "C",
     "tile"},
    {"transposed operand", "C[i<128, j<500] = sum[k<300](A[i,k] * B[j,k])", "C", "tile"},
    {"a matrix by itself", "C[i<128, j<128] = sum[k<300](A[i,k] * A[j,k])", "C", "tile"},
    {"scores of heads in one tensor", "S[h<4, i<128, j<128] = sum[d<64](P[i, h*64+d] * P[j, 256+h*64+d])", "S", "tile"},
    {"transpose", "B[i<512, j<512] = A[j,i]", "B", "move"},
    {"transpose of odd sizes", "B[i<37, j<1000] = A[j,i] * 2", "B", "move"},
    {"addition", "C[i<100, j<100] = A[i,j] + B[i,j]", "C", "points"},
    {"bytes by their pixel's last one", OPACITY("640"), "Y", "points"},
    {"colours by a weight for each pixel", "Y[h<500, w<640, c<3] = A[h,w,c] * M[h,w]", "Y", "points"},
    {"bytes of pixels by a weight for each",
     "input A: u8[50,640,3], M: u8[50,640]\nY[h<50, w<640, c<3] = A[h,w,c] & M[h,w]", "Y", "phase"},
    {"row sums", "B[i<1000] = sum[k<1000](A[i,k])", "B", "reduce"},
    {"bytes with fewer columns than a tile",
     "input A: u8[96,256], B: i8[256,43]\nC[i<96, j<43] = sum[k<256](i32(A[i,k]) * i32(B[k,j]))", "C", "tile"},
    {"sums of short rows", "B[i<1000] = sum[k<7](A[i,k])", "B", "short"},
    {"greatest of short rows and where it stands", "(I, V)[i<203] = argmax[k<13](A[i,k])", "I", "short"},
    {"greatest of rows of some vectors and where it stands", "(I, V)[i<2048] = argmax[k<40](A[i,k])", "I", "short"},
    {"the same of 64", "(I, V)[i<4096] = argmax[k<64](A[i,k])", "I", "reduce"},
    {"the same of a hundred", "(I, V)[i<4096] = argmax[k<100](A[i,k])", "I", "short"},
    {"greatest of long rows and where it stands", "(I, V)[i<4096] = argmax[k<400](A[i,k])", "I", "reduce"},
    {"sums of rows of some vectors", "B[i<4096] = sum[k<64](A[i,k])", "B", "reduce"},
    {"greatest of blocks", "input X: f32[64,60,60]\nY[c<64, y<12, x<12] = max[r<5, s<5](X[c,5*y+r,5*x+s])", "Y",
     "patch"},
    {"greatest of blocks with gaps between them",
     "input X: f32[64,72,72]\nY[c<64, y<12, x<12] = max[r<5, s<5](X[c,6*y+r,6*x+s])", "Y", "reduce"},
    {"points by a matrix of their own", "C[i<2000, j<4] = sum[k<4](A[i,k] * B[k,j])", "C", "spread"},
    {"matrices by their vectors", "Y[b<2000, i<4] = sum[k<4](A[b,i,k] * X[b,k])", "Y", "spread"},
    {"columns that are no part of one", "Y[b<2000, i<3, j<3] = sum[k<3](A[b,i,k] * B[b,k,j])", "Y", "tile"},
    {"few columns of many steps", "C[i<2000, j<4] = sum[k<17](A[i,k] * B[k,j])", "C", "tile"},
    {"products of bytes along rows",
     "input A: u8[300,256], B: i8[300,256]\nY[j<300] = sum[k<256](i32(A[j,k]) * i32(B[j,k]))", "Y", "reduce"},
    {"products of bytes, both along the reduction",
     "input A: u8[4,256], B: i8[300,256]\nY[i<4, j<300] = sum[k<256](i32(A[i,k]) * i32(B[j,k]))", "Y", "tile"},
    {"the same of a length that dots do not divide",
     "input A: u8[4,250], B: i8[300,250]\nY[i<4, j<300] = sum[k<250](i32(A[i,k]) * i32(B[j,k]))", "Y", "tile"},
    {"products of bytes in blocks of the reduction",
     "input A: u8[4,1000], B: i8[1000,3000]\nY[i<4, j<3000] = sum[k<1000](i32(A[i,k]) * i32(B[k,j]))", "Y", "tile"},
    {"windows of halves, a row of which is no whole tile",
     "input X: bf16[64,10,30], W: bf16[64,64,3,3]\n"
     "Y[o<64, y<8, x<28] = sum[c<64, r<3, s<3](f32(X[c,y+r,x+s]) * f32(W[o,c,r,s]))",
     "Y", "tile"},
    {"products of halves, a row of which is no whole tile",
     "input A: bf16[40,300], B: bf16[300,28]\nY[i<40, j<28] = sum[k<300](f32(A[i,k]) * f32(B[k,j]))", "Y", "tile"},
    {"products of bytes, none along the reduction",
     "input A: u8[256,12], B: i8[256,9]\nY[i<12, j<9] = sum[k<256](i32(A[k,i]) * i32(B[k,j]))", "Y", "tile"},
    {"the greatest of them", "input A: u8[300,256], B: i8[300,256]\nY[j<300] = max[k<256](i32(A[j,k]) * i32(B[j,k]))",
     "Y", "reduce"},
    {"sums of two columns", "S[j<2] = sum[k<5000](A[k,j])", "S", "fold"},
    {"the least of seven columns and where it stands", "(I, V)[j<7] = argmin[k<5000](A[k,j])", "I", "fold"},
    {"sums of 37 columns", "S[j<37] = sum[k<5000](A[k,j])", "S", "fold"},
    {"sums of many columns", "S[j<512] = sum[k<5000](A[k,j])", "S", "reduce"},
    {"sums of two columns that are no neighbours in memory", "S[j<2] = sum[k<5000](A[k,j+1])", "S", "reduce"},
    {"sum of everything", "S = sum[k<1000000](A[k])", "S", "reduce"},
    {"filters of rows and columns",
     "R[y<100, x<108] = sum[k<9](I[y+k,x] * K[k])\nO[y<100, x<100] = sum[k<9](R[y,x+k] * K[k])", "O", "strip"},
    {"sweeps", SWEEP("A", "104", "104", "I") SWEEP("B", "102", "102", "A") SWEEP("C", "100", "100", "B"), "C", "strip"},
    {"sweeps along a row", ROW_SWEEPS("1000"), "C", "strip"},
    {"a window along a row of sums", "R[i<5004] = sum[k<5](A[i+k] * K[k])\nO[i<5000] = max[k<3](R[i+2*k]) - R[i]", "O",
     "strip"},
    {"differences along two rows", "O[i<5000] = A[0,i] - A[1,i+1]", "O", "points"},
    {"differences of rows", "O[y<62, x<94] = A[y+2,x+1] - A[y,x+1] + A[y+1,x+2] - A[y+1,x]", "O", "strip"},
    {"a color from a gray",
     "G[y<33, x<70] = I[0,y,x] + I[1,y,x] + I[2,y,x]\nB[y<31, x<70] = G[y,x] + G[y+1,x] + G[y+2,x]\n"
     "O[c<3, y<31, x<70] = B[y,x] * I[c,y+1,x]",
     "O", "strip"},
    {"weights of a window's positions", WEIGHTS("W[y,x,u,v] * I[y+u,x+v]"), "O", "strip"},
    {"product of complex numbers",
     "C[i<4096, z<2] = select(z == 0, A[i,0]*B[i,0] - A[i,1]*B[i,1], A[i,0]*B[i,1] + A[i,1]*B[i,0])", "C", "phase"},
    {"planes of colours", "O[c<3, y<64, x<64] = I[y,x,c]", "O", "phase"},
    {"colours of planes", "O[y<64, x<64, c<3] = I[c,y,x]", "O", "phase"},
    {"twice as large", "O[y<64, x<128] = select(x%2 == 0, I[y,x//2], I[y,x//2] * 0.5 + I[y,x//2+1] * 0.5)", "O",
     "phase"},
    {"twice as large, with edges", "O[y<64, x<128] = A[y,x//2]*0.75 + A[y,min(max(x//2+x%2*2-1,0),63)]*0.25", "O",
     "phase"},
    {"short rows of an array with strides", "input I: f32[64,3] strided\nO[y<64, c<3] = I[y,c] * 2", "O", "points"},
    {"channels last", "B[y<40, x<60, c<3] = max[r<3, s<3](I[y+r,x+s,c])\nO[y<38, x<60] = sum[c<3, r<3](B[y+r,x,c])",
     "O", "strip"},
    {"short rows, one column", "C[i<1799, j<1] = sum[k<15](A[i,k] * B[k,j])", "C", "short"},
    {"short rows between axes of one", "C[b<1, i<200, j<1] = max[k<7](A[b,i,k] - D[b,k])", "C", "short"},
    {"rows of colours", "O[y<60, x<90, c<3] = A[y,x,c] + A[y+1,x,c] - A[y+1,x+1,c]", "O", "strip"},
    {"a chain of colours", "B[y<62, x<90, c<4] = sum[k<3](A[y,x+k,c])\nO[y<60, x<90, c<4] = sum[k<3](B[y+k,x,c]) * 0.5",
     "O", "strip"},
};

const tn_machine plain_machine = {.threads = 2,
                                  .vector_bytes = 64,
                                  .vector_registers = 32,
                                  .cache_bytes = {0, 48 << 10, 1 << 20, 32 << 20},
                                  .cache_ways = {0, 12, 16},
                                  .dot_i8_lanes = 16,
                                  .dot_bf16_lanes = 16};

/* One group and its plans. The draft's arena has to be freed. */
typedef struct planning {
  generic_draft draft;
  generic_group group;
  plan_choices choices;
  int n;
  schedule_plan plans[RANKED];
} planning;

/* What a stage by itself is to the families. */
static void plan_alone(const fixture *f, int at, planning *out) {
  bool window, channel;
  generic_reads r;
  out->group = (generic_group){.root = f->s->stages[at].tensors};
  for (int a = 0; a < out->group.root->ndim; a++) out->group.is_common[a] = true;
  assert_true(generic_read_all(&out->draft, at, &r));
  out->group.ns = generic_cost_ns(&out->draft, &r);
  if (generic_is_tileable(&out->draft, at, &window, &channel)) out->group.anchor = out->group.root;
}

static void plan_stage_on(const tn_machine *m, const fixture *f, const char *stage, runtime_arena *arena,
                          planning *out) {
  int at = schedule_find_stage(f->s, stage);
  *out = (planning){.draft = {.s = f->s, .machine = cost_fill_machine(m), .arena = arena}};
  if (!generic_form_strip(&out->draft, at, NULL, &out->group)) plan_alone(f, at, out);
  schedule_plan_choices(&out->draft, &out->group, NULL, &out->choices);
  out->n = schedule_plan_rank(&out->choices, RANKED, out->plans);
}

static void plan_stage(const fixture *f, const char *stage, runtime_arena *arena, planning *out) {
  plan_stage_on(&plain_machine, f, stage, arena, out);
}

tn_machine with_half_lines(void) {
  tn_machine m = plain_machine;
  m.vector_bytes = 32, m.vector_registers = 16;
  return m;
}

static void best_family(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning p;
  plan_stage(&f, c->stage, &arena, &p);
  assert_true(p.n > 0);
  assert_string_equal(schedule_family_at(p.plans[0].family)->name, c->family);
  for (int i = 1; i < p.n; i++) assert_true(p.plans[i - 1].ns <= p.plans[i].ns);
  for (int i = 0; i < p.n; i++) {
    assert_true(isfinite(p.plans[i].ns));
    for (int k = 0; k < i; k++)
      assert_true(p.plans[i].family != p.plans[k].family ||
                  memcmp(p.plans[i].value, p.plans[k].value, sizeof p.plans[i].value) != 0);
  }
  runtime_arena_free(&arena);
  fixture_free(&f);
}

static void ranks_the_same(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning a, b;
  plan_stage(&f, c->stage, &arena, &a);
  plan_stage(&f, c->stage, &arena, &b);
  assert_int_equal(a.n, b.n);
  for (int i = 0; i < a.n; i++) assert_memory_equal(a.plans[i].value, b.plans[i].value, sizeof a.plans[i].value);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* Every ranked plan is realized, and different plans make different schedules. */
static void all_realize(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0}, lowered = {0};
  planning p;
  int realized = 0;
  plan_stage(&f, c->stage, &arena, &p);
  for (int i = 0; i < p.n; i++) {
    generic_draft draft = p.draft;
    draft.s = tn_schedule_copy(f.s);
    if (schedule_plan_realize(&draft, &p.group, &p.choices, &p.plans[i])) {
      assert_non_null(schedule_lower(draft.s, "kernel", &lowered));
      realized++;
    }
    tn_context_clear(f.ctx);
    tn_schedule_free(draft.s);
    runtime_arena_reset(&lowered);
  }
  assert_in_range(realized, p.n * 3 / 4, p.n);
  runtime_arena_free(&lowered);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* Twelve ways, 64 sets: rows that a page or two and eight bytes lie apart share a few sets. */
static void rows_crowd_sets(void **state) {
  (void)state;
  tn_machine m = cost_fill_machine(&plain_machine);
  assert_true(cost_crowded(&m, 12, 1, 4096, 12) == 0);
  assert_float_equal(cost_crowded(&m, 13, 1, 4096, 12), 1.0 / 6, 1e-9); /* half as many again leave nothing */
  assert_true(cost_crowded(&m, 18, 1, 4096, 12) == 1);
  assert_true(cost_crowded_planes(&m, 2, 4096 * 100, 9, 1, 4096, 12) == 1 &&
              cost_crowded_planes(&m, 2, 2048, 9, 1, 4096, 12) == 0);
  assert_true(cost_crowded(&m, 10, 2, 8200, 12) == 0);
  assert_float_equal(cost_crowded(&m, 14, 2, 8200, 12), 1.0 / 6,
                     1e-9); /* of second lines of eight rows, first ones of six */
  assert_true(cost_crowded(&m, 18, 2, 4012, 12) == 0);
  assert_float_equal(cost_crowded(&m, 12, 1, 4096, cost_ways(&m)), 1.0 / 3, 1e-9); /* eight ways are kept */
  assert_true(cost_crowded(&m, 0, 2, 4012, 12) == 0);
  m.cache_bytes[1] = 64; /* less than a set */
  assert_true(cost_crowded(&m, 12, 1, 4012, 12) == 0 && cost_crowded(&m, 13, 1, 4012, 12) > 0);
}

/* A stream a little longer than a cache is found there in part. */
static void streams_leave_a_cache(void **state) {
  (void)state;
  const double usable = 0.75, mib = 1 << 20;
  const tn_machine_costs costs = {.line2 = 1,
                                  .line3 = 2,
                                  .line4 = 10,
                                  .shared4 = 16,
                                  .write3 = 3,
                                  .write4 = 4,
                                  .sharedwrite4 = 6,
                                  .past = 5,
                                  .sharedpast = 9};
  const tn_machine given = {.threads = 2, .costs = costs, .cache_bytes = {0, 32 << 10, 1 << 20, 16 << 20}};
  tn_machine m = cost_fill_machine(&given);
  double whole = usable * 16 * mib / 2, lines = whole / COST_LINE;
#define STREAM(times, is_shared, streams) cost_stream(&m, (times) * whole, (times) * whole, is_shared, streams)
  assert_float_equal(STREAM(1, false, false), lines * (2 + 3), 1e-6 * lines);
  assert_float_equal(STREAM(1.001, false, false), lines * (2 + 3), 0.05 * lines); /* no step behind the cache's end */
  double part = (STREAM(1.4, false, false) / lines / 1.4 - 5) / (14 - 5);         /* 1 - exp(-1.4 * 0.51) is 0.51 */
  assert_float_equal(part, 0.5112, 0.005);
  assert_float_equal(STREAM(20, false, false), 20 * lines * (10 + 4), 1e-3 * 20 * lines);
  /* while all threads write they wait for each other, in memory and past the caches, but not in a cache */
  assert_float_equal(STREAM(1, true, false), STREAM(1, false, false), 1e-6);
  assert_float_equal(STREAM(20, true, false), 20 * lines * (16 + 6), 1e-3 * 20 * lines);
  assert_float_equal(STREAM(1, true, true), lines * (2 + 9), 1e-6 * lines);
  assert_float_equal(STREAM(1, false, true), lines * (2 + 5), 1e-6 * lines);
  m.threads = 1; /* never slower than one after the other */
  assert_float_equal(STREAM(1, true, true), STREAM(1, false, true), 1e-6);
#undef STREAM
}

/* Few rows together, so that they keep their registers, and their lines the first cache. */
static void keeps_rows_in_registers(void **state) {
  (void)state;
  fixture f = fixture_new(
      "O[y<2048, x<2048] = I[y,x] + I[y,x+1] + I[y,x+2] + I[y+1,x] + I[y+1,x+1] + I[y+1,x+2] + I[y+2,x] + "
      "I[y+2,x+1] + I[y+2,x+2]",
      "");
  runtime_arena arena = {0};
  planning p;
  plan_stage(&f, "O", &arena, &p);
  const schedule_family *strip = schedule_family_at(p.plans[0].family);
  assert_string_equal(strip->name, "strip");
  int sums = 1;
  for (int i = 0; i < strip->n_fields; i++)
    if (strcmp(strip->fields[i].name, "together") == 0 || strcmp(strip->fields[i].name, "vectors") == 0)
      sums *= p.plans[0].value[i];
  assert_in_range(sums, 4, 20);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* Of a sum, what rows of a block share is used again by the next step: the steps down the rows are innermost; not where rows
 * are read once for all taps along them. */
static void sums_down_the_rows(void **state) {
  (void)state;
  const tn_machine half = with_half_lines();
  for (int k = 0; k < 2; k++) {
    fixture f = fixture_new(
        "input W: f32[5,5]\nR[y<130, x<256] = sum[r<5, s<5](I[y+r,x+s] * W[r,s])\n"
        "O[y<128, x<256] = R[y,x] - R[y+2,x]",
        "");
    runtime_arena arena = {0};
    planning p;
    plan_stage_on(k ? &plain_machine : &half, &f, "O", &arena, &p);
    assert_string_equal(schedule_family_at(p.plans[0].family)->name, "strip");
    assert_true(schedule_plan_realize(&p.draft, &p.group, &p.choices, &p.plans[0]));
    char *loops = tn_schedule_print(f.s, TN_FORM_TREE);
    const char *down = strstr(loops, "unroll r (5)"), *along = strstr(loops, "unroll s (5)");
    assert_non_null(down);
    assert_non_null(along);
    assert_true(k ? down < along : along < down);
    free(loops);
    runtime_arena_free(&arena);
    fixture_free(&f);
  }
}

/* How many of the plans store W; all of them by vectors of columns. */
static int stores_vectors_of_columns(const fixture *f, planning *p) {
  int n = 0;
  for (int i = 0; i < p->n; i++) {
    p->draft.s = tn_schedule_copy(f->s);
    assert_true(schedule_plan_realize(&p->draft, &p->group, &p->choices, &p->plans[i]));
    char *loops = tn_schedule_print(p->draft.s, TN_FORM_TIR);
    bool is_strip = strcmp(schedule_family_at(p->plans[i].family)->name, "strip") == 0;
    n += is_strip && strstr(loops, "W[ramp(");
    assert_true(!is_strip || !strstr(loops, ", 1, 3)"));
    free(loops);
    tn_schedule_free(p->draft.s);
  }
  return n;
}

/* Vectors go along columns and channels at once where a stage reads them as they lie: not in another order, not by other channels
 * or a weight for each, not where it asks for columns, not where channels fill a vector. */
static void channels_go_with_columns(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int channels;
  } rows[] = {{"O[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x+1,c]", 3},
              {"O[y<40, x<60, c<3] = sum[k<3](I[y,x+k,c])", 3},
              {"O[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x,2-c]", 0},
              {"O[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x*2,c]", 3},
              {"O[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x*9,c]", 0},
              {"O[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x,0]", 0},
              {"O[y<40, x<60, c<3] = (I[y,x,c] + I[y+1,x,c]) * W[c]", 0},
              {"O[y<40, x<60, c<3] = select(x < 2, I[y,x,c], I[y+1,x,c])", 3},
              {"O[y<40, x<60, c<3] = select(x % 4 < 2, I[y,x,c], I[y+1,x,c])", 0},
              {"O[y<40, x<60, c<3] = select(x == 2, I[y,x,c], I[y+1,x,c])", 0},
              {"O[y<40, x<60, c<3] = select(I[y,x,c] < 2, I[y,x,c], I[y+1,x,c])", 3},
              {"O[y<40, x<60, c<3] = I[y,max(x-1,0),c] + I[y+1,min(x+2,59),c]", 3},
              {"O[y<40, x<60, c<3] = I[y,(x+3)%60,c] + I[y+1,x,c]", 3},
              {"O[y<40, x<60, c<3] = I[y,x%4,c] + I[y+1,x,c]", 0},
              {"O[y<40, x<60, c<3] = sum[k<3 where x+k>=1](I[y,x+k-1,c])", 3},
              {"O[y<40, x<60, c<3] = sum[k<3 where (x+k)%2==0](I[y,x+k,c])", 0},
              {"input I: f32[41,60,3] strided\nO[y<40, x<60, c<3] = I[y,x,c] + I[y+1,x,c]", 0},
              {"O[y<40, x<60, c<16] = I[y,x,c] + I[y+1,x,c]", 0},
              {"O[y<40, x<9, c<3] = I[y,x,c] + I[y+1,x,c]", 0}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    fixture f = fixture_new(rows[i].program, "");
    runtime_arena arena = {0};
    planning p;
    plan_stage(&f, "O", &arena, &p);
    int stage = schedule_find_stage(f.s, "O");
    assert_int_equal(generic_channels(&p.draft, stage), rows[i].channels);
    assert_int_equal(generic_trailing(&p.draft, f.s->stages[stage].tensors), rows[i].channels > 0);
    runtime_arena_free(&arena);
    fixture_free(&f);
  }
}

/* Short axes behind the columns go in front in memory, so that vectors go along columns; not where a reader goes along
 * the short ones, not in an output. */
static void short_axes_in_front(void **state) {
  (void)state;
  static const struct {
    const char *program, *stage, *tensor;
    int trailing;
  } rows[] = {{WEIGHTS("W[y,x,u,v] * W[y,x,v,u]"), "O", "W", 2},
              {"W[y<40, x<60, c<3] = exp(I[y,x,c])\nO[y<40, x<60, c<3] = W[y,x,c] + W[y,x,2-c]", "O", "W", 0},
              {"W[y<40, x<60, c<3] = exp(I[y,x,c])\nO[y<40, x<30] = sum[c<3](W[y,x*2,c])", "O", "W", 0},
              {"W[y<40, x<60, c<3] = exp(I[y,x,c])\nO[y<40, x<60] = sum[c<3](W[y,x,c])", "O", "O", 0},
              {"W[y<40, x<60, c<16] = exp(I[y,x,c])\nO[y<40, x<60] = sum[c<16](W[y,x,c])", "O", "W", 0},
              {"W[y<40, x<9, c<3] = exp(I[y,x,c])\nO[y<40, x<9] = sum[c<3](W[y,x,c])", "O", "W", 0}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    fixture f = fixture_new(rows[i].program, "");
    runtime_arena arena = {0};
    planning p;
    plan_stage(&f, rows[i].stage, &arena, &p);
    int stage = schedule_find_stage(f.s, rows[i].tensor);
    assert_int_equal(generic_trailing(&p.draft, f.s->stages[stage].tensors), rows[i].trailing);
    if (rows[i].trailing) assert_true(stores_vectors_of_columns(&f, &p) > 0);
    runtime_arena_free(&arena);
    fixture_free(&f);
  }
}

static void json_and_back(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning p;
  schedule_plan back;
  plan_stage(&f, c->stage, &arena, &p);
  json_t *json = schedule_plan_json(c->stage, &p.plans[0]);
  assert_string_equal(json_string_value(json_object_get(json, "stage")), c->stage);
  assert_int_equal(schedule_plan_decode(f.ctx, json, &back), TN_OK);
  assert_int_equal(back.family, p.plans[0].family);
  assert_memory_equal(back.value, p.plans[0].value, sizeof back.value);
  json_decref(json);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* ---- what plans cost ------------------------------------------------------------------------- */

#define SOFTMAX_OF_COLUMNS(rows, columns)                                                                       \
  "M[j<" columns "] = max[i<" rows "](X[i,j])\nE[i<" rows ", j<" columns "] = exp(X[i,j] - M[j])\nS[j<" columns \
  "] = sum[i<" rows "](E[i,j])\nY[i<" rows ", j<" columns "] = E[i,j] / S[j]"

static int groups_of(const char *program, const tn_machine *m) {
  fixture f = fixture_new(program, "");
  schedule_plans *plans = schedule_plans_new(f.program, m);
  int n = schedule_plans_count(plans);
  schedule_plans_free(plans);
  fixture_free(&f);
  return n;
}

#define BATCH_NORM(rows)                      \
  "M[c<64] = sum[n<" rows                     \
  "](X[n,c]) / 4096.0\n"                      \
  "V[c<64] = sum[n<" rows                     \
  "]((X[n,c]-M[c])*(X[n,c]-M[c])) / 4096.0\n" \
  "Y[n<" rows ", c<64] = (X[n,c]-M[c])*rsqrt(V[c]+0.00001)"

#define BORDERED(to, of) \
  to "[y<256, x<256] = " of "[(y+1)%256,x] + " of "[(y+255)%256,x] + " of "[y,min(x+1,255)] + " of "[y,max(x-1,0)]"

/* Few columns are folded into longer vectors, a stage after the other; of many columns all stages take some at a time, unless a vector of
 * columns is more than the second cache holds. */
static void columns_together_or_apart(void **state) {
  (void)state;
  tn_machine half = with_half_lines();
  half.threads = 1;
  assert_int_equal(groups_of(SOFTMAX_OF_COLUMNS("2000", "10"), &half), 4);
  assert_int_equal(groups_of(SOFTMAX_OF_COLUMNS("1000", "512"), &half), 1);
  assert_int_equal(groups_of(BATCH_NORM("4096"), &half), 1);
  assert_int_equal(groups_of(BATCH_NORM("40960"), &half), 3);
  /* Values that are read around each point, as far as borders, are kept. */
  half.costs.fma32 = 1, half.costs.write2 = half.costs.line2 = 1;
  assert_int_equal(groups_of(BORDERED("A", "I") "\n" BORDERED("B", "A"), &half), 2);
  half.costs.write2 = half.costs.line2 = 1000;
  assert_int_equal(groups_of(BORDERED("A", "I") "\n" BORDERED("B", "A"), &half), 1);
  /* An axis of one is no column. */
  assert_int_equal(groups_of("S[b<1] = sum[i<512, j<512](A[b,i,j] * A[b,i,j])\nD[b<1] = sqrt(S[b])", &half), 1);
}

#define GROUP_NORM(n)                                                                         \
  "M[n<" n                                                                                    \
  ",g<8] = sum[h<16,w<16,c<16](X[n,h,w,g*16+c]) / 4096.0\n"                                   \
  "V[n<" n                                                                                    \
  ",g<8] = sum[h<16,w<16,c<16]((X[n,h,w,g*16+c]-M[n,g])*(X[n,h,w,g*16+c]-M[n,g])) / 4096.0\n" \
  "Y[n<" n ",h<16,w<16,c<128] = (X[n,h,w,c]-M[n,c//16])*rsqrt(V[n,c//16]+0.00001)"

/* What few images share is computed together all the same, where that costs less than stages one after the other whose loops are
 * enough for all threads. */
static void together_for_few(void **state) {
  (void)state;
  assert_int_equal(groups_of(GROUP_NORM("2"), &plain_machine), 1);
  /* Scores, each a sum along a row, many for each row of a softmax: sums of a loop of their own. */
  assert_int_equal(groups_of("S[b<64, t<128] = sum[d<64](Q[b,d] * K[b,t,d])\nM[b<64] = max[t<128](S[b,t])\n"
                             "E[b<64, t<128] = exp(S[b,t] - M[b])\nD[b<64] = sum[t<128](E[b,t])\n"
                             "Y[b<64, t<128] = E[b,t] / D[b]",
                             &plain_machine),
                   2);
  assert_int_equal(groups_of("M = max[k<10000000](X[k])\nY[i<10000000] = X[i] - M", &plain_machine), 2);
  assert_int_equal(groups_of("M[n<1] = max[k<10000000](X[n,k])\nY[n<1, i<10000000] = X[n,i] - M[n]", &plain_machine),
                   2);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct refusal {
  const char *name, *json, *message;
} refusal;

static const refusal refusals[] = {
    {"no family", "{}", "plan: \"family\" names none: it is missing"},
    {"another family", "{\"family\": \"tiles\"}", "plan: \"family\" names none: tiles"},
    {"a field is missing", "{\"family\": \"points\", \"vectors\": 4}",
     "plan: \"threads\" of family points has to be a whole number"},
    {"a field is no number", "{\"family\": \"points\", \"vectors\": \"four\", \"threads\": 0}",
     "plan: \"vectors\" of family points has to be a whole number"},
    {"a field is too large", "{\"family\": \"points\", \"vectors\": 4000000000, \"threads\": 0}",
     "plan: \"vectors\" of family points has to be a whole number"},
};

static void json_refused(void **state) {
  const refusal *r = *state;
  fixture f = fixture_new(MM("8", "8", "8"), "");
  schedule_plan plan;
  json_t *json = json_loads(r->json, 0, NULL);
  assert_non_null(json);
  assert_int_equal(schedule_plan_decode(f.ctx, json, &plan), TN_ERROR_RECORD);
  assert_string_equal(tn_context_message(f.ctx), r->message);
  tn_context_clear(f.ctx);
  json_decref(json);
  fixture_free(&f);
}

/* The space that FAMILY has for the program's first group; N is 0 everywhere where it does not take it. */
static plan_space space_of(const char *program, const schedule_family *family) {
  fixture f = fixture_new(program, "");
  schedule_plans *plans = schedule_plans_new(f.program, &plain_machine);
  const plan_choices *choices = schedule_plans_choices(plans, 0);
  plan_space space = {0};
  for (int i = 0; i < choices->n; i++)
    if (schedule_family_at(choices->choices[i].family) == family) space = choices->choices[i].space;
  schedule_plans_free(plans);
  fixture_free(&f);
  return space;
}

static plan_space tile_space_of(const char *program) { return space_of(program, &schedule_family_tile); }

/* An operand is copied into panels where no other read of it walks over these in a step of the reduction, and where what
 * steps read does not overlap. One that is read twice is copied before all. */
static void packs_what_has_panels(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int n; /* values of "pack"; 0: it is no tile */
  } rows[] = {{"C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])", 3},
              {"C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j] * D[k])", 3},
              {"C[i<64, j<64] = sum[k<64](B[i,k] * B[k,j])", 1},
              {"C[i<64, j<64] = sum[k<16](B[i,k] * B[j,k])", 1},
              {"C[i<64, j<64] = sum[k<64](B[i,k] * B[j,k])", 2},
              {"S[h<4, i<64, j<64] = sum[d<16](P[i, h*16+d] * P[j, 64+h*16+d])", 1},
              {"S[h<4, i<64, j<64] = sum[d<64](P[i, h*64+d] * P[j, 256+h*64+d])", 2},
              {"S[h<4, i<64, j<64] = sum[d<16](Q[i, h*16+d] * K[j, h*16+d])", 2},
              {"S[h<4, i<64, j<64] = sum[d<64](Q[i, h*60+d] * K[j, h*60+d])", 1},
              {"S[h<4, i<64, j<64] = sum[d<16](Q[i, h*15+d] * K[j, h*15+d])", 0},
              {"S[h<4, i<64, j<64] = sum[d<16](Q[i, h+d*3] * K[j, h+d*3])", 0},
              {"C[i<64, j<64] = sum[k<16](B[i,k] * B[j,k] * B[i+j,k])", 0}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++)
    assert_int_equal(tile_space_of(rows[i].program).n[TILE_PACK], rows[i].n);
}

/* Where a condition leaves out all steps but those of one phase, and the phases are few and no vectors. */
static void finds_parities(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int n; /* values of "parity" */
  } rows[] = {{PHASES("(p+r)%2 == 0 && (q+s)%2 == 0", ""), 2},
              {PHASES("(s-q)%2 == 1", ""), 2},
              {PHASES("r < 3 && (p+r+1)%2 == 0", ""), 2},
              {PHASES("(p+r)%2 <= 0", ""), 1},
              {PHASES("(p+2*r)%2 == 0", ""), 1},
              {PHASES("(p+r)%5 == 0", ""), 1},
              {PHASES("(y+r)%2 == 0", ""), 1},
              {PHASES("(f+r)%2 == 0", ""), 1},
              {PHASES("(p+q)%2 == 0", ""), 1},
              {PHASES("(p+r)%2 == 0 || (q+s)%2 == 0", ""), 1}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++)
    assert_int_equal(tile_space_of(rows[i].program).n[TILE_PARITY], rows[i].n);
}

/* The values of FIELD, ascending, in the space that FAMILY has for the program's first group; their number, 0: it has none. */
static int values_of(const char *program, const schedule_family *family, const char *field, int32_t *values) {
  plan_space space = space_of(program, family);
  int k = 0;
  while (strcmp(family->fields[k].name, field) != 0) k++;
  memcpy(values, space.value[k], sizeof *values * (size_t)space.n[k]);
  return space.n[k];
}

/* Rows of few columns are whole registers, four at most. */
static void spreads_whole_registers(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int n;
    int32_t last;
  } rows[] = {{"Y[b<100, i<4] = sum[k<4](M[i,k] * X[b,k])", 3, 16},
              {"Y[b<15, i<4] = sum[k<4](M[i,k] * X[b,k])", 2, 8},
              {"Y[b<100, i<3] = sum[k<3](M[i,k] * X[b,k])", 1, 16},
              {"S[p<50, q<40, j<4] = sum[k<4](A[p,q,k] * B[k,j])\nY[i<2000, j<4] = S[i//40, i%40, j]", 0, 0},
              {"Y[b<100, i<5] = sum[k<3](M[i,k] * X[b,k])", 0, 0}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    int32_t values[PLAN_MAX_VALUES];
    int n = values_of(rows[i].program, &schedule_family_spread, "rows", values);
    assert_int_equal(n, rows[i].n);
    if (n > 0) assert_int_equal(values[n - 1], rows[i].last);
  }
}

/* Rows that share an operand block by block are part of one block: of all such operands. */
static void rows_are_of_one_block(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int n;
    int32_t last;
  } rows[] = {
      {"input B: f32[16,64,96]\nC[i<64, j<96] = sum[k<64](A[i,k] * B[i//4,k,j])", 3, 4},
      {"input B: f32[4,64,96]\nC[i<60, j<96] = sum[k<64](A[i,k] * B[i//15,k,j])", 4, 15},
      {"input B: f32[4,64,96], W: f32[4,96]\nC[i<24, j<96] = sum[k<64](A[i,k] * B[i//6,k,j] * W[i//8,j])", 2, 2},
      {"input B: f32[16,96,64]\nC[i<64, j<96] = sum[k<64](A[i,k] * B[i//4,j,k])", 3, 4},
      {"input B: f32[16,64,96], W: f32[64,96]\nC[i<64, j<96] = sum[k<64](A[i,k] * B[i//4,k,j] * W[k,j])", 3, 4},
      {"input B: f32[64,96]\nC[i<64, j<96] = sum[k<64](A[i,k] * B[k,j])", 30, 30},
      /* Few where each row's index is limited; as many as ever of a ring. */
      {"input A: f32[512,512], W: f32[5]\nC[i<256, j<512] = sum[k<5](A[min(max(2*i+k-2,0),511),j] * W[k])", 6, 6},
      {"input W: f32[256]\nC[b<64, i<256] = sum[k<256](A[b,k] * W[(i+256-k)%256])", 30, 30}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    int32_t values[PLAN_MAX_VALUES];
    assert_int_equal(values_of(rows[i].program, &schedule_family_tile, "rows", values), rows[i].n);
    assert_int_equal(values[rows[i].n - 1], rows[i].last);
  }
}

/* Rows of several axes are not asked for; blocks are there where members have one value for each, and must be where nothing else is
 * common. */
static void rows_of_several_axes(void **state) {
  (void)state;
  static const struct {
    const char *program, *field;
    int n;
    int32_t last;
  } rows[] = {
      {CHANNEL_GROUPS, "blocks", 2, 1},
      {"M[g<8] = sum[c<4, h<28, w<28](X[g*4+c,h,w])\nY[c<32, h<28, w<28] = X[c,h,w] - M[c//4]", "blocks", 1, 1},
      {"M[n<64] = sum[h<70](X[n,h])\nY[n<64, h<70] = X[n,h] - M[n]", "blocks", 1, 0},
      {"M[n<64, g<8] = sum[h<70, c<4](X[n,h,g*4+c])\nY[n<64, h<70, c<32] = X[n,h,c] - M[n,c//4]", "blocks", 1, 0},
      {"M[n<640] = sum[h<70, w<90](X[n,h,w])\nY[n<640, h<70, w<90] = exp(X[n,h,w] - M[n])", "ahead", 1, 0},
      {"M[n<640] = sum[h<6300](X[n,h])\nY[n<640, h<6300] = exp(X[n,h] - M[n])", "ahead", 2, 1}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    int32_t values[PLAN_MAX_VALUES];
    assert_int_equal(values_of(rows[i].program, &schedule_family_rows, rows[i].field, values), rows[i].n);
    assert_int_equal(values[rows[i].n - 1], rows[i].last);
  }
}

/* Steps lie beside columns that are few and neighbours, where what a vector of them reads of each operand is in one register. */
static void lies_beside_columns(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int most; /* the last value of "lanes" */
  } rows[] = {{"input B: f32[70,4]\nC[i<5, j<4] = sum[k<70](A[i,k] * B[k,j])", 4},
              {"input B: f32[70,5]\nC[i<5, j<5] = sum[k<70](A[i,k] * B[k,j])", 2},
              {"input B: f64[70,4]\nC[i<5, j<4] = sum[k<70](f64(A[i,k]) * B[k,j])", 2},
              {"input B: f32[70,9]\nC[i<5, j<9] = sum[k<70](A[i,k] * B[k,j])", 1},
              {"input B: f32[7,4]\nC[i<5, j<4] = sum[k<7](A[i,k] * B[k,j])", 2},
              {"input A: f32[70,6], B: f32[70,4]\nC[i<6, j<4] = sum[k<70](A[k,i] * B[k,j])", 2},
              {"input A: f32[70,16], B: f32[70,4]\nC[i<16, j<4] = sum[k<70](A[k,i] * B[k,j])", 0},
              {"input B: f32[70,9]\nC[i<5, j<4] = sum[k<70](A[i,k] * B[k,2*j])", 1},
              {"input A: i32[5,70], B: i32[70,4]\nC[i<5, j<4] = sum[k<70](A[i,k] * B[k,j])", 0}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    plan_space space = tile_space_of(rows[i].program);
    assert_true(space.n[TILE_LANES] > 0);
    assert_int_equal(space.value[TILE_LANES][space.n[TILE_LANES] - 1], rows[i].most);
  }
}

/* A tile ends in the stage that puts its values in other places, each once. */
static void ends_where_values_go(void **state) {
  (void)state;
  static const struct {
    const char *end;
    int n; /* groups */
  } rows[] = {{SIDE_BY_SIDE, 1},
              {"O[n<1, h<16, w<16, f<32] = max(T[h//2, h%2, w//2, w%2, f], 0)\n", 1},
              {"O[h<16, f<32, w<16] = T[h//2, h%2, w//2, w%2, f]\n", 1},
              {"O[w<16, h<16, f<32] = T[h%8, w%2, w//2, h//8, f]\n", 1},
              {"O[h<16, w<14, f<32] = T[h//2, h%2, w//2, w%2, f]\n", 2},
              {"O[h<16, w<16, f<32] = T[h//2, w%2, w//2, w%2, f]\n", 2},
              {"O[h<16, w<16, f<32] = T[h//2, h%2, w//2, 1 - w%2, f]\n", 2},
              {"O[n<2, h<16, w<16, f<32] = T[h//2, h%2, w//2, w%2, f]\n", 2},
              {"O[h<16, w<16, f<32] = T[h//2, h%2, w//2, w%2, f] + T[h//2, h%2, w//2, w%2, 31-f]\n", 2},
              {SIDE_BY_SIDE "Q[f<32] = T[0, 0, 0, 0, f]\n", 3}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    char program[1024];
    snprintf(program, sizeof program, "%s%s", PHASES("(p+r)%2 == 0 && (q+s)%2 == 0", ""), rows[i].end);
    fixture f = fixture_new(program, "");
    schedule_plans *plans = schedule_plans_new(f.program, &plain_machine);
    assert_int_equal(schedule_plans_count(plans), rows[i].n);
    schedule_plans_free(plans);
    fixture_free(&f);
  }
}

/* What `auto` makes of PROGRAM, to be freed. */
static char *text_of_auto(const char *program) {
  fixture f = fixture_new(program, "");
  assert_int_equal(tn_schedule_auto(f.s, &plain_machine), TN_OK);
  char *text = tn_schedule_print(f.s, TN_FORM_TEXT);
  fixture_free(&f);
  return text;
}

/* What `auto` makes of a program has one text in it, and another one not. */
typedef struct auto_case {
  const char *program, *has, *lacks;
} auto_case;

static void check_auto(int n, const auto_case *rows) {
  for (int i = 0; i < n; i++) {
    char *text = text_of_auto(rows[i].program);
    if (!strstr(text, rows[i].has) || strstr(text, rows[i].lacks)) fail_msg("%s: %s", rows[i].program, text);
    free(text);
  }
}

/* Pixels of few colours are one vector where they are neighbours, or leave some between, and where the row has edges. */
static void pixels_are_vectors(void **state) {
  (void)state;
  static const struct {
    const char *program, *text; /* NULL: others */
  } rows[] = {
      {"O[y<60, x<90, c<3] = A[y,min(x+1,89),c] - A[y,x,c]",
       "pragma(O, x.outer, loop_partition_hint, 1); fuse(O, x.inner, c)"},
      {"O[y<60, x<90, c<3] = A[y,(x+7)%90,c] * A[y,x,c]",
       "pragma(O, x.outer, loop_partition_hint, 1); fuse(O, x.inner, c)"},
      {"O[y<60, x<90, c<3] = A[2*y,2*x,c] + A[2*y,2*x+1,c]", "); fuse(O, x.inner, c)"},
      {"O[y<60, x<90, c<3] = A[y,4*x,c] * 2", "); fuse(O, x.inner, c)"},
      {"O[y<60, x<90, c<3] = sum[r<3, s<3 where y+r>=1 && x+s>=1 && y+r<61 && x+s<91](I[y+r-1,x+s-1,c] * K[r,s])",
       "cache_write(O, local)"},
      {"O[y<60, x<90, c<3] = sum[r<3, s<3](I[min(max(y+r-1,0),59),min(max(x+s-1,0),89),c] * K[r,s])",
       "cache_write(O, local)"},
      {"O[y<60, x<90, c<3] = sum[r<3, s<3](I[(y+r)%60,(x+s)%90,c] * K[r,s])", "cache_write(O, local)"},
      {"O[y<60, x<90, c<3] = sum[r<3, s<3 where (x+s)%2==0](I[y+r,x+s,c] * K[r,s])", NULL},
      {"O[y<60, x<90, c<3] = A[y,5*x,c] * 2", NULL},
      {"O[y<60, x<90, c<3] = A[y,2*x,2-c] * 2", NULL}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    char *text = text_of_auto(rows[i].program);
    bool is_one = strstr(text, "fuse(O, x.inner, c)") != NULL;
    if (is_one != (rows[i].text != NULL) || (is_one && !strstr(text, rows[i].text)))
      fail_msg("%s: %s", rows[i].program, text);
    free(text);
  }
}

/* Loops around vectors of turns are parted at edges; a tile's condition on a step is asked outside of the steps that it is the same for. */
static void edges_are_outside(void **state) {
  (void)state;
  static const auto_case rows[] = {
      {"O[y<64, x<512] = A[y,x//2]*0.75 + A[y,min(max(x//2+x%2*2-1,0),255)]*0.25", "loop_partition_hint", "#"},
      {"O[y<56, x<56, f<64] = sum[r<7, s<7, c<3 where y*2+r>=3 && x*2+s>=3](I[y*2+r-3,x*2+s-3,c] * W[r,s,c,f])",
       "compute_at(O.local", "fuse(O.local, s, c)"},
      {"O[y<56, x<56, f<64] = sum[r<7, s<7, c<3](I[y*2+r,x*2+s,c] * W[r,s,c,f])", "fuse(O.local, s, c)", "#"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* What all rows share: quotients and roots, no index that an edge limits. */
static void shares_no_index(void **state) {
  (void)state;
#define LIMITED(by) "A[y,min(max(x-" by ",0),1023)]"
  static const struct {
    const char *program;
    bool is_some;
  } rows[] = {{"O[y<64, x<1024] = " LIMITED("1") " + " LIMITED("2") " + " LIMITED("3") " + " LIMITED("4") " + " LIMITED(
                   "5") " + " LIMITED("6"),
               false},
              {"O[y<64, x<1024] = A[y,x] / sqrt(V[x])", true}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    fixture f = fixture_new(rows[i].program, "");
    runtime_arena arena = {0};
    planning p;
    plan_stage(&f, "O", &arena, &p);
    assert_int_equal(generic_steady_ops(&p.draft, schedule_find_stage(f.s, "O"), 0, 1) > 0, rows[i].is_some);
    runtime_arena_free(&arena);
    fixture_free(&f);
  }
}

#define BOX_OF(rows, columns, r, s, what) "B[y<" rows ", x<" columns "] = sum[r<" r ", s<" s "](" what ")"

/* Sums of windows are taken apart where neighbours share much of them, rows first or columns first, and all that comes of it is
 * computed in the chain. */
static void shares_windows(void **state) {
  (void)state;
  static const struct {
    const char *program, *text; /* NULL: the windows stay as they are */
  } rows[] = {{BOX_OF("200", "300", "5", "5", "A[y+r,x+s]"), "rfactor_window(B, "},
              {BOX_OF("200", "300", "9", "9", "A[y+r,x+s]"), "compute_at(B.rf, B, "},
              {BOX_OF("200", "300", "5", "5", "A[y+r,x+s]*A[y+r,x+s]"), "compute_at(B.rf, B, "},
              {BOX_OF("200", "300", "5", "5", "A[y+r,x+s]") "\nC[y<200, x<300] = sqrt(B[y,x])", "compute_at(B.rf, C, "},
              {"B[z<9, y<90, x<300] = max[q<3, r<3, s<3](A[z+q,y+r,x+s])", "rfactor_window(B.rf, "},
              {"B[y<90, x<100, c<3] = max[r<5, s<5](A[y+r,x+s,c])", "compute_at(B.rf, B, "},
              {"B[x<60000] = sum[s<64](A[x+s])", "rfactor_window(B, s, x, 8)"},
              {"B[y<200, x<300] = sum[s<100](A[y,x+s])", "rfactor_window(B, s, x, 10)"},
              {BOX_OF("200", "300", "5", "5", "A[y+r,x+s]*W[r,s]"), NULL},
              {BOX_OF("200", "300", "2", "2", "A[y+r,x+s]"), NULL},
              {BOX_OF("200", "300", "5", "5", "A[5*y+r,5*x+s]"), NULL},
              {BOX_OF("200", "300", "3", "97", "A[y+r,x+s]"), NULL},
              {BOX_OF("200", "300", "3", "97", "A[y+r,x+s]") "\nC[y<200, x<300] = sqrt(B[y,x])", NULL},
              {"B[x<300] = sum[s<5](A[x+s])", NULL},
              {"B[x<60000] = sum[s<61](A[x+s])", NULL},
              {"B[x<60000] = sum[s<64](A[x+s]*W[s])", NULL}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    char *text = text_of_auto(rows[i].program);
    bool is_shared = strstr(text, "rfactor_window(") != NULL;
    if (is_shared != (rows[i].text != NULL) || (is_shared && !strstr(text, rows[i].text)))
      fail_msg("%s: %s", rows[i].program, text);
    free(text);
  }
}

/* Chains whose stages are limited at the edges, or go on by several rows, are computed in strips: not what begins anew, whose first rows
 * ask for the last. What leaves columns out does not compute the columns that it reads. */
static void strips_of_several_sizes(void **state) {
  (void)state;
  static const auto_case rows[] = {
      {"H[y<600, x<400] = sum[s<5](A[y,min(max(x+s-2,0),399)] * W[s])\n"
       "B[y<600, x<400] = sum[r<5](H[min(max(y+r-2,0),599),x] * W[r])",
       "compute_at(H, B, y.outer)", "rolling_buffer"},
      {"H[y<603, x<400] = sum[s<5](A[y,x+s] * W[s])\nB[y<300, x<400] = sum[r<5](H[2*y+r,x] * W[r])",
       "compute_at(H, B, y.outer)", "rolling_buffer"},
      {"H[y<600, x<400] = sum[s<5](A[y,x+s] * W[s])\nB[y<600, x<400] = sum[r<5](H[(y+r+598)%600,x] * W[r])",
       "vectorize", "compute_at(H, B"},
      {"H[y<600, x<400] = sum[s<5](A[y,x+s] * W[s])\nB[y<600, x<400] = sum[r<5](H[min(max(y+r-2,0),599),399-x] * W[r])",
       "vectorize", "compute_at(H, B"},
      {"H[y<600, x<400] = A[2*y,2*x] + A[2*y+1,2*x+1]\nB[y<300, x<200] = H[2*y,2*x] + H[2*y,2*x+1] * H[2*y+1,2*x]",
       "compute_at(H, B, ", "compute_inline(H)"},
      {"H[y<600, x<130, c<3] = exp(A[y,x,c])\n"
       "B[y<600, x<130, c<3] = sum[r<5](H[min(max(y+r-2,0),599),min(max(x,0),129),c] * W[r])",
       "compute_at(H, B, y.outer)", "rolling_buffer"},
      {"B[y<508, x<508] = sum[r<3, s<3](A[(y+r)//2,(x+s)//2] * W[r,s])", "unroll(B.local, s)", "#"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* Lanes that come in turns are vectors of whole turns. */
static void vectors_of_whole_turns(void **state) {
  (void)state;
  static const auto_case rows[] = {
      {"Y[o<8, y<16, x<64] = sum[c<16](X[c,y//2,x//2] * W[c,o,y%2,x%2])", "vectorize(Y.local, x.c)", "pack"},
      {"Y[o<8, y<32, x<128] = sum[c<16](X[c,y//4,x//4] * W[c,o,y%4,x%4])", "vectorize(Y.local, x.c)", "pack"},
      {"Y[o<32, y<96, x<192] = sum[c<64](X[c,y//3,x//3] * W[c,o,y%3,x%3])", "split(Y, x, 48)", "split(Y, x, 64"},
      {"Y[o<8, y<16, x<64] = sum[c<16](X[c,y//2,x//2] * V[o,c])", "vectorize(Y.local, x.c)", "pack"},
      {"Y[o<8, x<64] = sum[c<16](X[c,o,x//2] * E[c,x])", "vectorize(Y.local, x.c)", "split(Y, x, 2)"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* Threads share the vectors of a single row of turns, whole ones or not. */
static void threads_share_a_row_of_turns(void **state) {
  (void)state;
  static const auto_case rows[] = {
      {"Y[i<300000, c<3] = A[c,i]", "parallel(Y, i.outer", "overlap"},
      {"Y[i<299999, c<3] = A[c,i]", "tail=peel); reorder(Y, i.outer, c, i.inner)", "overlap"},
      {"Y[i<299999, c<3] = A[c,i]", "parallel(Y, i.outer", "c.outer"},
      {"Y[i<400003] = select(i%2 == 0, A[i], B[i])", "parallel(Y, i.outer", "overlap"},
      {"Y[j<3, i<299999, c<3] = A[j,c,i]", "parallel(Y, ", "tail=peel"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* Axes of one element that tensors end in are left out of plans: vectors go along what lies in front of them. */
static void ones_behind_rows(void **state) {
  (void)state;
#define SOFTMAX_OF(i, ones, at)                                                                               \
  "M[n<64, " ones "] = max[c<" i "](A[n,c," at "])\nE[n<64, c<" i ", " ones "] = exp(A[n,c," at "] - M[n," at \
  "])\n"                                                                                                      \
  "S[n<64, " ones "] = sum[c<" i "](E[n,c," at "])\nY[n<64, c<" i ", " ones "] = E[n,c," at "] / S[n," at "]"
  static const auto_case rows[] = {
      {"Y[n<64, c<256, h<1, w<1] = max(A[n,c,h,w] * 2 + B[c], 0)", "vectorize(Y, c.inner)", "w"},
      {SOFTMAX_OF("2048", "h<1, w<1", "h,w"), "vectorize(E, c.inner)", "h.w"},
      {SOFTMAX_OF("500", "j<1", "j"), "vectorize(Y, c.inner)", "split(Y, j"},
      {SOFTMAX_OF("500", "h<2, w<1", "h,w"), "vectorize(Y, c.inner.h.fused)", "c.h.w"},
      {"Y[i<400] = sum[k<300](A[i,k,0] * B[k,0])", "vectorize", "reorder(Y, i, k)"},
      {"M[j<128, z<1] = sum[i<300](A[i,j,z])\nY[i<300, j<128, z<1] = A[i,j,z] - M[j,z]", "vectorize(M, j", ", z)"},
      {"C[i<600, j<700, z<1] = sum[k<800](A[i,k,z] * B[k,j,z])", "%32, d2]", "d3"},
      {"C[i<600, j<700] = sum[k<800](A[i,k] * B[k,j])", "-> [", "d2"},
      {"O[y<62, x<300, c<1] = sum[r<3, s<3](A[y+r,x+s,c] * K[r,s])", "compute_at(O.local, O, x.outer)",
       "vectorize(O, c"},
      {"C[n<8, f<128, h<1, w<1] = sum[c<512, r<1, s<1](I[n,c,h+r,w+s] * K[f,c,r,s])", "vectorize(C.local.rf, c.inner)",
       "vectorize(C, w"},
      {"C[f<512, h<28, w<28] = sum[c<256, r<1, s<1](I[c,h+r,w+s] * K[f,c,r,s])", "vectorize(C.local, w.c.inner)",
       "vectorize(C, f"},
      {"C[i<64, j<1] = sum[r<1, s<1](A[i+r,j+s])", "vectorize(C, i", "vectorize(C, j"},
      {"C[i<64, y<1, x<1] = sum[a<1, b<1, c<1, d<1, e<1, f<1, g<1, h<1, l<1, m<1, n<1, o<1, p<1, q<1, r<1, k<90]("
       "A[i+a+b+c+d+e+f+g+h+l+m+n+o+p+q+r,y,x,k])",
       "fuse(C, a, b, c", "rfactor(C, k"}, /* loops that are to be one have others between them: planned as it is */
      {"Y[h<1, w<1] = A[h,w] * 2", "", "vectorize"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* Images that are turned by a quarter are moved in tiles, pixels as words. */
static void quarters_are_tiles(void **state) {
  (void)state;
  static const auto_case rows[] = {
      {"B[i<600, j<400] = A[j,599-i]", "unroll(B, i.inner)", "#"},
      {"B[i<600, j<400] = A[399-j,599-i]", "unroll(B, i.inner)", "#"},
      {"B[i<600, j<400, c<2] = A[j,i,c] * 2", "unroll(B, i.inner)", "#"},
      {"B[i<600, j<400, c<2] = A[j,599-i,c]", "unroll(B, i.inner)", "#"},
      {"input A: u8[400,600,3]\nB[i<600, j<400, c<3] = A[j,i,c]", "unroll(B, i.inner)", "#"},
      {"input A: i16[400,600,4]\nB[i<600, j<400, c<4] = A[j,i,c]", "unroll(B, i.inner)", "#"}};
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* Dot products of few rows take the other operand's rows side by side in registers; those of few columns go along the reduction. */
static void weaves_for_few_rows(void **state) {
  (void)state;
#define PRODUCT(a, b, c, x, w, m, n, k) \
  "input X: " a "[" x "], W: " b "[" w "]\nY[i<" m ", j<" n "] = sum[k<" k "](" c "(X[i,k]) * " c "(W[k,j]))"
  static const auto_case rows[] = {
      {PRODUCT("bf16", "bf16", "f32", "5,768", "768,320", "5", "320", "768"), "cache_read(W, local, ", "W.global"},
      {PRODUCT("u8", "i8", "i32", "4,512", "512,640", "4", "640", "512"), "cache_read(W, local, ", "W.global"},
      {PRODUCT("i8", "i8", "i32", "6,512", "512,640", "6", "640", "512"), "cache_read(W, local, ", "W.global"},
      {PRODUCT("bf16", "bf16", "f32", "512,512", "512,512", "512", "512", "512"), "cache_read(W, global, ", "W.local"},
      {PRODUCT("bf16", "bf16", "f32", "2000,300", "300,3", "2000", "3", "300"),
       "transform_layout(W.global, [d0, d1] -> [d1, d0])", "W.local"},
      {"input X: u8[32,30,66], W: i8[16,32,3,3]\n"
       "Y[o<16, y<28, x<64] = sum[c<32, r<3, s<3](i32(X[c,y+r,x+s]) * i32(W[o,c,r,s]))",
       "compute_at(X.local, Y.local, s)", "X.global"},
      {"input X: u8[32,28,64], W: i8[16,32,3,3]\n"
       "Y[o<16, y<28, x<64] = sum[c<32, r<3, s<3 where x+s>=1 && x+s<65](i32(X[c,y,x+s-1]) * i32(W[o,c,r,s]))",
       "Y", "tensorize"}};
#undef PRODUCT
  check_auto(RUNTIME_COUNT(rows), rows);
}

/* One operand may be turned for dot products along the reduction, and rows are put side by side where all steps count. */
static void dots_where_they_can(void **state) {
  (void)state;
#define SUM(x, w) "Y[i<40, j<9] = sum[k<256](i32(" x ") * i32(" w "))"
#define TAPS(where) \
  "input X: u8[32,66], W: i8[16,32,3]\nY[o<16, x<64] = sum[c<32, s<3" where "](i32(X[c,x+s]) * i32(W[o,c,s]))"
  static const struct {
    const char *program;
    int field, value;
    bool has;
  } rows[] = {{"input X: u8[40,256], W: i8[9,256]\n" SUM("X[i,k]", "W[j,k]"), TILE_LANES, 1, true},
              {"input X: u8[256,40], W: i8[9,256]\n" SUM("X[k,i]", "W[j,k]"), TILE_LANES, 1, true},
              {"input X: u8[256,40], W: i8[256,9]\n" SUM("X[k,i]", "W[k,j]"), TILE_LANES, 1, false},
              {TAPS(""), TILE_PACK, TILE_PACK_WOVEN, true},
              {TAPS(" where x+s>=1"), TILE_PACK, TILE_PACK_WOVEN, false},
              {"input X: u8[40,256], W: i8[256,200]\n"
               "Y[i<40, j<200] = sum[k<256 where i+k>=3](i32(X[i,k]) * i32(W[k,j]))",
               TILE_PACK, TILE_PACK_WOVEN, false}};
#undef TAPS
#undef SUM
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    plan_space space = space_of(rows[i].program, &schedule_family_tile);
    if (plan_has(&space, rows[i].field, rows[i].value) != rows[i].has) fail_msg("%s", rows[i].program);
  }
}

int test_plans(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(packs_what_has_panels),
                                            cmocka_unit_test(together_for_few),
                                            cmocka_unit_test(channels_go_with_columns),
                                            cmocka_unit_test(short_axes_in_front),
                                            cmocka_unit_test(rows_crowd_sets),
                                            cmocka_unit_test(keeps_rows_in_registers),
                                            cmocka_unit_test(finds_parities),
                                            cmocka_unit_test(lies_beside_columns),
                                            cmocka_unit_test(rows_are_of_one_block),
                                            cmocka_unit_test(spreads_whole_registers),
                                            cmocka_unit_test(rows_of_several_axes),
                                            cmocka_unit_test(ends_where_values_go),
                                            cmocka_unit_test(sums_down_the_rows),
                                            cmocka_unit_test(streams_leave_a_cache),
                                            cmocka_unit_test(columns_together_or_apart),
                                            cmocka_unit_test(shares_windows),
                                            cmocka_unit_test(pixels_are_vectors),
                                            cmocka_unit_test(strips_of_several_sizes),
                                            cmocka_unit_test(quarters_are_tiles),
                                            cmocka_unit_test(vectors_of_whole_turns),
                                            cmocka_unit_test(threads_share_a_row_of_turns),
                                            cmocka_unit_test(ones_behind_rows),
                                            cmocka_unit_test(threads_share_a_row_of_turns),
                                            cmocka_unit_test(weaves_for_few_rows),
                                            cmocka_unit_test(dots_where_they_can),
                                            cmocka_unit_test(edges_are_outside),
                                            cmocka_unit_test(shares_no_index)};
  return CHECK_TABLE("the best plan's family", cases, best_family) +
         CHECK_TABLE("plans rank the same again", cases, ranks_the_same) +
         CHECK_TABLE("plans realize", cases, all_realize) + CHECK_TABLE("plans as JSON", cases, json_and_back) +
         CHECK_TABLE("plans refused", refusals, json_refused) + CHECK_TESTS("costs", tests);
}
