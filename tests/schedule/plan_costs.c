/* plan_costs.c: what plans cost: that of two plans of a program the one costs less that takes less on a machine whose constants
 * the test fixes. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tests/schedule/tests.h"

/* Nanoseconds of a plan, for the only group of PROGRAM. */
static double cost_on(const tn_machine *m, const char *program, const char *text) {
  fixture f = fixture_new(program, "");
  schedule_plan plan;
  schedule_plans *plans = schedule_plans_new(f.program, m);
  schedule_plans_decode(plans, text, &plan);
  check_ok(f.ctx);
  const plan_choices *choices = schedule_plans_choices(plans, 0);
  double ns = 0;
  for (int i = 0; i < choices->n; i++)
    if (choices->choices[i].family == plan.family)
      ns = schedule_family_at(plan.family)->cost(choices->choices[i].facts, plan.value);
  schedule_plans_free(plans);
  fixture_free(&f);
  return ns;
}

static double cost_of(const char *program, const char *text) { return cost_on(&plain_machine, program, text); }

#define TURNED(columns, rows, stream)                                            \
  "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":" columns ",\"rows\":" rows \
  ",\"block_columns\":1,"                                                        \
  "\"block_rows\":1,\"threads\":0,\"stream\":" stream "}]"

/* The last cache loses a part of what it has room for: what is written past it leaves it to what is read. Lines that come again from
 * the second cache bring their neighbours; those that are too many to stay there come from afar each time. */
static void last_cache_loses(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.cache_bytes[2] = 1 << 20, m.cache_bytes[3] = 32 << 20;
  m.costs.line3 = m.costs.write3 = 0.65, m.costs.past = 1.6, m.costs.line4 = 3, m.costs.write4 = 2;
#define PAST(program) (cost_on(&m, program, TURNED("16", "16", "1")) / cost_on(&m, program, TURNED("16", "16", "0")))
  assert_true(PAST("B[i<3008, j<1008] = A[j,i]") < 0.8); /* 24 MB */
  double sixteen = cost_on(&m, "B[i<3008, j<1008] = A[j,i]", TURNED("16", "16", "0"));
  m.cache_ways[3] = 8; /* of few ways more sets are full by chance */
  assert_true(cost_on(&m, "B[i<3008, j<1008] = A[j,i]", TURNED("16", "16", "0")) > sixteen);
  m.cache_ways[3] = 16;
  assert_true(PAST("B[i<2000, j<496] = A[j,i]") > 1.1); /* 8 MB */
  assert_true(cost_on(&m, "B[i<3000, j<1000] = A[j,i]", TURNED("8", "8", "0")) <
              cost_on(&m, "B[i<3000, j<1000] = A[j,i]", TURNED("8", "16", "0")));
  assert_true(cost_on(&m, "B[i<600, j<5000] = A[j,i]", TURNED("8", "8", "0")) >
              cost_on(&m, "B[i<600, j<5000] = A[j,i]", TURNED("8", "16", "0")));
}

#define TILED(stage)                                                                                                   \
  "[{\"stage\":\"" stage                                                                                               \
  "\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":1,\"block\":0,"      \
  "\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,\"parity\":0," \
  "\"left\":0}]"

/* Columns two apart take a shuffle more than neighbours, for all rows at once; and what one row of a window by two reads again of
 * the one before counts once. */
static void windows_by_two(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.vector_registers = 32, m.costs.fma64 = 0.2;
#define PLANES(by) \
  "input X: f32[4,70,140], W: f32[8,4,3,3]\nC[o<8, y<32, x<64] = sum[c<4, r<3, s<3](X[c,y+r," by "x+s] * W[o,c,r,s])"
  double near = cost_on(&m, PLANES(""), TILED("C")), apart = cost_on(&m, PLANES("2*"), TILED("C"));
  assert_true(isfinite(near) && apart > 1.02 * near && apart < 2 * near);
#define DEEP(by) \
  "input X: f32[40,400,64], W: f32[5,5,64]\nC[y<32, x<64, c<64] = sum[r<5, s<5](X[y+r," by "*x+s,c] * W[r,s,c])"
  double one = cost_on(&m, DEEP("1"), TILED("C")), two = cost_on(&m, DEEP("2"), TILED("C")),
         three = cost_on(&m, DEEP("6"), TILED("C"));
  assert_true(one < two && two < three);
}

/* Sums and their weights, which one block makes, share what both need; nobody makes an exponential twice. */
static void blocks_share(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.vector_registers = 32, m.costs.fma64 = 0.2;
#define STRIP_PLAN                                                                                                 \
  "[{\"stage\":\"Y\",\"family\":\"strip\",\"rows\":32,\"columns\":128,\"together\":1,\"vectors\":1,\"inlined\":0," \
  "\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]"
#define WEIGHED(of_weights)                                                      \
  "input X: f32[132,132]\n"                                                      \
  "A[y<128, x<128] = sum[r<5, s<5](exp(X[y+r,x+s] - X[y+2,x+2]) * X[y+r,x+s])\n" \
  "W[y<128, x<128] = sum[r<5, s<5](exp(" of_weights "))\nY[y<128, x<128] = A[y,x] / W[y,x]"
  double same = cost_on(&m, WEIGHED("X[y+r,x+s] - X[y+2,x+2]"), STRIP_PLAN);
  double other = cost_on(&m, WEIGHED("X[y+r,x+s] - X[y+2,x+1]"), STRIP_PLAN);
  assert_true(isfinite(same) && same < 0.75 * other);
}

/* A table that registers hold costs shuffles; a larger one a load for each lane. */
static void small_tables(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.costs.fma64 = 0.2, m.costs.gather = 0.6;
  assert_true(cost_table(&m, 4, 16) < cost_table(&m, 4, 256));
  assert_true(cost_table(&m, 4, 256) < m.costs.gather);
  assert_true(isinf(cost_table(&m, 4, 257)) && isinf(cost_table(&m, 2, 16)) && isinf(cost_table(&m, 1, 257)));
  assert_true(cost_table(&m, 1, 256) < cost_table(&m, 4, 256));
  m.vector_bytes = 32;
  assert_true(isinf(cost_table(&m, 4, 16)));
}

/* What is the same for all rows, a root, is computed once where a row stays in registers, or columns go first. */
static void rows_share_roots(void **state) {
  (void)state;
  /* What is the same for all rows is computed once where a row is one vector. */
#define BY_ROWS(columns, vectors)                                        \
  cost_of("Y[i<256, j<" columns "] = X[i,j] * rsqrt(V[j])",              \
          "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":" vectors \
          ",\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":0}]")
  assert_true(BY_ROWS("64", "2") > 1.3 * BY_ROWS("64", "8"));
  assert_true(BY_ROWS("256", "2") < 1.1 * BY_ROWS("256", "8"));
  /* Or is written out; but vectors that are cut into chunks are loops, and registers hold so much. */
  assert_true(BY_ROWS("96", "4") > 1.3 * BY_ROWS("96", "8"));
  assert_true(BY_ROWS("128", "8") > 2 * BY_ROWS("96", "8"));
#define BY_PARTS(rows, columns, vectors)                                 \
  cost_of("Y[i<" rows ", j<" columns "] = X[i,j] * rsqrt(V[j])",         \
          "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":" vectors \
          ",\"threads\":0,\"stream\":0,\"columns\":1,\"fold\":0}]")
  assert_true(BY_PARTS("64", "256", "8") > 1.3 * BY_PARTS("64", "256", "4"));
  assert_true(1.28 * BY_PARTS("20000", "100", "4") > 1.03 * BY_PARTS("20000", "128", "2")); /* 16 lanes each, and 32 */
#define WHOLE(program)                                                                        \
  cost_of(program,                                                                            \
          "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0," \
          "\"columns\":0,\"fold\":0}]")
  assert_true(BY_PARTS("64", "256", "4") < 1.2 * WHOLE("Y[i<64, j<256] = X[i,j] * V[j]"));
  tn_machine many = plain_machine;
  many.vector_registers = 64;
#define KEPT "Y[i<256, j<96] = ((X[i,j] - A[j]) * rsqrt(V[j]) * G[j] + B[j]) * C[j] + D[j] - E[j]"
#define WRITTEN_OUT \
  "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":8,\"threads\":0,\"stream\":0,\"columns\":0,\"fold\":0}]"
  assert_true(cost_of(KEPT, WRITTEN_OUT) > 1.05 * cost_on(&many, KEPT, WRITTEN_OUT));
  /* Only whole rows go past the caches. */
#define SCALED "Y[i<65536, j<1024] = X[i,j] * rsqrt(V[j])"
#define BY_COLUMNS(stream)                                                                 \
  "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":" stream \
  ",\"columns\":1,\"fold\":"                                                               \
  "0}]"
  assert_true(isinf(cost_of(SCALED, BY_COLUMNS("1"))));
  assert_true(isfinite(cost_of(SCALED, BY_COLUMNS("0"))));
}

static void costs_what_it_moves(void **state) {
  (void)state;
  const char *move =
      "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":16,\"rows\":16,\"block_columns\":2,"
      "\"block_rows\":32,\"threads\":0,\"stream\":0}]";
  double floats = cost_of("B[i<1024, j<1024] = A[j,i]", move),
         doubles = cost_of("B[i<1024, j<1024] = f64(A[j,i])", move);
  assert_true(doubles > 1.2 * floats);
#define MOVE(columns, blocks, rows, stream)                                                             \
  "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":" columns ",\"rows\":16,\"block_columns\":" blocks \
  ",\"block_rows\":" rows ",\"threads\":0,\"stream\":" stream "}]"
#define SQUARE "B[i<4096, j<4096] = A[j,i]"
  /* What goes past the caches goes one way; a run of lines is waited for at its begin; rows a power of two apart leave no
   * room for what is fetched ahead; rows that are no multiple of a line part stores as long as one. */
  assert_true(cost_of(SQUARE, MOVE("16", "2", "64", "1")) < cost_of(SQUARE, MOVE("16", "2", "64", "0")));
  assert_true(cost_of(SQUARE, MOVE("16", "2", "64", "1")) < cost_of(SQUARE, MOVE("16", "2", "2", "1")));
  assert_true(cost_of(SQUARE, MOVE("16", "2", "64", "1")) < cost_of(SQUARE, MOVE("16", "32", "64", "1")));
#define NARROW "B[i<3000, j<1000] = A[j,i]"
  assert_true(cost_of(NARROW, MOVE("8", "16", "16", "0")) < cost_of(NARROW, MOVE("16", "8", "16", "0")));
  /* What a store costs that spans two lines decides whether rows that are no multiple of a line are stored so. */
  tn_machine spanning = plain_machine;
  for (int dear = 0; dear <= 1; dear++) {
    spanning.costs.spans = dear ? 40 : 0.3;
    double whole = cost_on(&spanning, NARROW, MOVE("16", "8", "16", "0")),
           half = cost_on(&spanning, NARROW, MOVE("8", "16", "16", "0"));
    assert_true(dear ? half < whole : whole < half);
  }
  /* Where a vector is half a line, two go past the caches together, if there are registers for them; where rows begin between two lines few
   * rows do. */
  tn_machine narrow = plain_machine;
  narrow.vector_bytes = 32;
  assert_true(isfinite(cost_on(&narrow, SQUARE, MOVE("16", "2", "64", "1"))));
  assert_true(isinf(cost_on(&narrow, SQUARE, MOVE("8", "2", "64", "1"))));
  assert_true(isinf(cost_on(&narrow, NARROW, TURNED("16", "16", "1"))));
  assert_true(cost_on(&narrow, NARROW, TURNED("16", "8", "1")) < cost_on(&narrow, NARROW, MOVE("16", "1", "1", "0")));
  narrow.vector_registers = 8;
  assert_true(isinf(cost_on(&narrow, SQUARE, MOVE("16", "2", "64", "1"))));
  /* What nobody guesses is asked for where its columns' lines stay until their turn; where loops are shared as one nothing is. */
#define ASKED(threads, ahead)                                                                            \
  "[{\"stage\":\"B\",\"family\":\"move\",\"columns\":8,\"rows\":8,\"block_columns\":1,\"block_rows\":1," \
  "\"threads\":" threads ",\"stream\":0,\"ahead\":" ahead "}]"
  tn_machine guessing = plain_machine;
  guessing.vector_bytes = 32, guessing.costs.stray = 20, guessing.costs.line3 = 2, guessing.costs.asked = 4;
  assert_true(cost_on(&guessing, NARROW, ASKED("0", "1")) < cost_on(&guessing, NARROW, ASKED("0", "0")));
  assert_true(cost_on(&guessing, SQUARE, ASKED("0", "1")) >= cost_on(&guessing, SQUARE, ASKED("0", "0")));
  assert_true(isinf(cost_on(&guessing, NARROW, ASKED("1", "1"))));
  assert_true(isfinite(cost_on(&narrow, SQUARE, MOVE("16", "2", "64", "0"))));
  /* Few columns leave few sums in flight, so that each waits for the one before: some rows at a time have more. */
#define COLUMNS(together) \
  "[{\"stage\":\"B\",\"family\":\"reduce\",\"vectors\":1,\"parts\":1,\"threads\":0,\"together\":" together "}]"
#define FEW "B[j<17] = max[k<65536](A[k,j])"
  assert_true(cost_of(FEW, COLUMNS("8")) < cost_of(FEW, COLUMNS("1")));
  /* What goes past the caches leaves them to what is read where that fits alone; where both fit nothing goes past. */
#define COPY(rows) "B[i<" rows ", j<1024] = A[i,j] * 2"
#define POINTS(stream) "[{\"stage\":\"B\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":" stream "}]"
  assert_true(cost_of(COPY("4096"), POINTS("1")) < cost_of(COPY("4096"), POINTS("0")));
  assert_true(cost_of(COPY("2048"), POINTS("1")) >= cost_of(COPY("2048"), POINTS("0")));
  /* Of a result of two values one waits for the other: rows go together. */
#define REDUCE(together) \
  "[{\"stage\":\"V\",\"family\":\"reduce\",\"vectors\":2,\"parts\":1,\"threads\":0,\"together\":" together "}]"
#define ARGMAX "(V, W)[i<64] = argmax[k<1000](A[i,k])"
  assert_true(cost_of(ARGMAX, REDUCE("4")) < cost_of(ARGMAX, REDUCE("1")));
#define STRIP(rows)                                       \
  "[{\"stage\":\"Q\",\"family\":\"strip\",\"rows\":" rows \
  ",\"columns\":1024,\"together\":1,\"vectors\":1,"       \
  "\"inlined\":0,\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]"
  double low = cost_of(WINDOW("8"), STRIP("4")), high = cost_of(WINDOW("8"), STRIP("72"));
  assert_true(low > 1.3 * high); /* margins */
}

#define FILTERED(rows, columns, together, vectors, stream)                                                  \
  "[{\"stage\":\"O\",\"family\":\"strip\",\"rows\":" rows ",\"columns\":" columns ",\"together\":" together \
  ",\"vectors\":" vectors ",\"inlined\":0,\"parts\":0,\"stream\":" stream ",\"rolls\":0,\"windows\":0}]"
#define FILTER(columns) "O[y<2048, x<" columns "] = I[y,x] + I[y+1,x] + I[y+2,x]"

/* Rows that go together go past the caches by whole lines, or not at all. */
static void streams_whole_lines(void **state) {
  (void)state;
  const tn_machine half = with_half_lines();
  assert_true(isfinite(cost_on(&half, FILTER("2048"), FILTERED("32", "2048", "4", "2", "1"))));
  assert_true(isfinite(cost_on(&half, FILTER("2048"), FILTERED("32", "2048", "4", "1", "0"))));
  assert_true(isfinite(cost_on(&half, FILTER("2048"), FILTERED("32", "2048", "1", "1", "1"))));
  assert_true(isinf(cost_on(&half, FILTER("2048"), FILTERED("32", "2048", "4", "1", "1"))));
  assert_true(isinf(cost_on(&half, FILTER("2040"), FILTERED("32", "2040", "4", "2", "1")))); /* 127.5 lines */
  assert_true(isfinite(cost_of(FILTER("2048"), FILTERED("32", "2048", "4", "1", "1"))));
}

/* Arrays that nearly fill the last cache lose a part of it to each other: what is written goes past it then, but not where both have
 * room, nor where no vectors are whole lines. */
static void streams_where_lines_are_lost(void **state) {
  (void)state;
  tn_machine half = with_half_lines();
  half.costs = (tn_machine_costs){.line3 = 1, .line4 = 4, .write3 = 1, .write4 = 5, .past = 2};
#define ROWS(rows) "O[y<" rows ", x<2048] = I[y,x] + I[y+1,x] + I[y+2,x]"
#define LOST(rows, stream) cost_on(&half, ROWS(rows), FILTERED("32", "2048", "2", "2", stream))
  assert_true(LOST("1500", "1") < LOST("1500", "0")); /* both are 23 MiB of 32 */
  assert_true(LOST("512", "1") > LOST("512", "0"));
  assert_true(isinf(cost_on(&half, ROWS("1500"), FILTERED("32", "2048", "2", "1", "1"))));
}

/* More rows than the first cache has ways, all in one set, are not written by halves of lines; odd lines apart they are. */
static void parted_lines_crowd(void **state) {
  (void)state;
  tn_machine half = with_half_lines();
  half.vector_registers = 32;
#define PARTED(columns, together) cost_on(&half, FILTER(columns), FILTERED("32", columns, together, "1", "0"))
  assert_true(PARTED("2048", "16") > 1.2 * PARTED("2048", "8"));
  assert_true(PARTED("2064", "16") < 1.1 * PARTED("2064", "8"));
}

/* Roots hide beside sums of the same block, as far as these last, but not where registers go to the stack. */
static void roots_hide(void **state) {
  (void)state;
  tn_machine quick = plain_machine, slow;
  quick.vector_bytes = 64, quick.vector_registers = 32, quick.costs = (tn_machine_costs){.root = 0.01};
  slow = quick, slow.costs.root = 2;
#define WEIGHTED(name) name "[y<32, x<2048] = sum[a<3,b<3](I[y+a,x+b] * " name "W[a,b])\n"
#define ROOTED WEIGHTED("G") WEIGHTED("H") "O[y<32, x<2048] = sqrt(G[y,x]*G[y,x] + H[y,x]*H[y,x])"
#define SLOWED(m, together, vectors) cost_on(m, ROOTED, FILTERED("32", "2048", together, vectors, "0"))
  double roots = 32 * 2048 / 16 * slow.costs.root;
  assert_true(SLOWED(&slow, "2", "1") == SLOWED(&quick, "2", "1"));
  assert_true(SLOWED(&slow, "2", "4") > SLOWED(&quick, "2", "4") + 0.9 * roots);
  double sums = SLOWED(&quick, "2", "1");
  slow.costs.root = 100; /* lasts longer than all else */
  assert_true(SLOWED(&slow, "2", "1") > 0.95 * 50 * roots && SLOWED(&slow, "2", "1") < 50 * roots + 0.5 * sums);
#define INVERSE WEIGHTED("G") "O[y<32, x<2048] = rsqrt(G[y,x])" /* a root and a quotient */
  double inverse = cost_on(&slow, INVERSE, FILTERED("32", "2048", "2", "1", "0"));
  assert_true(inverse > 1.9 * 50 * roots && inverse < 2.1 * 50 * roots);
}

/* Of a chain along a row: what one tile leaves in the first cache the next one writes again. More than it holds comes from the second;
 * all of it written and read again costs most. */
static void rows_stay_near(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.costs = (tn_machine_costs){.line2 = 2,
                               .line3 = 4,
                               .line4 = 6,
                               .write2 = 2,
                               .write3 = 5,
                               .write4 = 8,
                               .chain = 0.01,
                               .fma64 = 0.01,
                               .load = 0.01};
#define SUM_ALONG(name, n, of) name "[i<" n "] = (" of "[i] + " of "[i+1] + " of "[i+2]) * 0.25\n"
#define ALONG                    \
  SUM_ALONG("Q", "1000006", "I") \
  SUM_ALONG("R", "1000004", "Q") SUM_ALONG("P", "1000002", "R") SUM_ALONG("O", "1000000", "P")
#define BLOCKS(columns)                                                            \
  cost_on(&m, ALONG,                                                               \
          "[{\"stage\":\"O\",\"family\":\"strip\",\"rows\":1,\"columns\":" columns \
          ",\"together\":1,\"vectors\":1,"                                         \
          "\"inlined\":0,\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]")
  assert_true(1.1 * BLOCKS("1024") < BLOCKS("4096"));
  assert_true(1.1 * BLOCKS("4096") < BLOCKS("1000000"));
}

/* Whole lines of more rows than a set has room for go to the second cache, too. */
static void stored_lines_crowd(void **state) {
  (void)state;
  tn_machine wide = with_half_lines();
  wide.vector_registers = 64;
#define STORED(columns, together) cost_on(&wide, FILTER(columns), FILTERED("32", columns, together, "2", "0"))
  assert_true(STORED("2048", "16") > 1.1 * STORED("2064", "16"));
  assert_true(STORED("2048", "8") < 1.1 * STORED("2064", "8"));
}

/* Loads that begin with lines are one each, others may touch two; sums that go down the rows hold a row each, for which there are
 * registers or not: where what is read can be taken by all rows at once, few of them are enough. */
static void counts_loads(void **state) {
  (void)state;
  tn_machine many = plain_machine, few = plain_machine;
#define SUMS(m, program, together) cost_on(m, program, FILTERED("32", "512", together, "1", "0"))
#define DOWN(x) "O[y<512, x<512] = sum[k<9](I[y+k," x "] * K[k])"
  assert_true(SUMS(&plain_machine, DOWN("x"), "2") < SUMS(&plain_machine, DOWN("x+1"), "2"));
  many.vector_registers = 64, few.vector_registers = 16;
  assert_true(SUMS(&many, DOWN("x"), "12") < SUMS(&few, DOWN("x"), "12"));
  assert_true(SUMS(&many, DOWN("x"), "4") == SUMS(&few, DOWN("x"), "4"));
  assert_true(SUMS(&many, DOWN("x"), "16") == SUMS(&plain_machine, DOWN("x"), "16"));
}

#define ROLLED(together)                                                                         \
  "[{\"stage\":\"O\",\"family\":\"strip\",\"rows\":1024,\"columns\":1024,\"together\":" together \
  ",\"vectors\":1,\"inlined\":0,\"parts\":0,\"stream\":0,\"rolls\":1,\"windows\":0}]"
#define FIVE(name, n, of) name "[y<" n ", x<" n "] = sum[r<5, s<5](" of "[y+r,x+s] * K[r,s])\n"
#define EIGHT_FIVES      \
  FIVE("A", "1052", "I") \
  FIVE("B", "1048", "A") \
  FIVE("C", "1044", "B") \
  FIVE("D", "1040", "C") FIVE("E", "1036", "D") FIVE("F", "1032", "E") FIVE("G", "1028", "F") FIVE("O", "1024", "G")

/* A chain is not written out by so many rows that LLVM takes a second for it. */
static void code_is_bounded(void **state) {
  (void)state;
  tn_machine many = plain_machine;
  many.vector_registers = 32;
  assert_true(isfinite(cost_on(&many, EIGHT_FIVES, ROLLED("10"))));
  assert_true(isinf(cost_on(&many, EIGHT_FIVES, ROLLED("16"))));
}

/* More rows of a block meet, in some page, what was just written. */
static void many_rows_meet(void **state) {
  (void)state;
  tn_machine waits = cost_fill_machine(&plain_machine);
  waits.costs.chain *= 10;
#define SUMS_OF_THREE(m, together) \
  cost_on(m, "O[y<512, x<512] = I[y,x] + I[y+1,x] + I[y+2,x]", FILTERED("32", "512", together, "1", "0"))
  double few = SUMS_OF_THREE(&waits, "4") - SUMS_OF_THREE(&plain_machine, "4"),
         many = SUMS_OF_THREE(&waits, "16") - SUMS_OF_THREE(&plain_machine, "16");
  assert_true(many > 1.5 * few);
}

/* Each row of a tile that is narrower than a page begins with a wait, as long as it was measured; whole rows do not. */
static void waits_for_narrow_tiles(void **state) {
  (void)state;
  tn_machine slow = cost_fill_machine(&plain_machine);
  slow.costs.stray *= 10, slow.costs.stray4 *= 10, slow.costs.runs3 *= 10;
  const char *narrow = FILTERED("32", "256", "4", "1", "0"), *whole = FILTERED("32", "4096", "4", "1", "0");
  assert_true(cost_on(&slow, FILTER("4096"), narrow) > 1.2 * cost_of(FILTER("4096"), narrow));
  assert_true(cost_on(&slow, FILTER("4096"), whole) == cost_of(FILTER("4096"), whole));
}

/* A plan of the family tile for stage O. */
#define TILE(width, vectors, rows, panels, prefetch, depth)                                               \
  "[{\"stage\":\"O\",\"family\":\"tile\",\"width\":" width ",\"vectors\":" vectors ",\"rows\":" rows      \
  ",\"rows2\":1,\"pack\":0,\"panels\":" panels                                                            \
  ",\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":0,\"prefetch\":" prefetch ",\"depth\":" depth \
  ",\"threads\":0,\"padding\":0,\"parity\":0,\"left\":0}]"

/* Two loads of half a register go at a time on some processors: where loads are all that a tile waits for, half registers take less
 * then, and whole ones what they took. */
static void half_registers_load(void **state) {
  (void)state;
  tn_machine same = with_half_lines(), twice;
  same.vector_bytes = 64, same.vector_registers = 32;
  same.costs = (tn_machine_costs){.fma32 = 0.1, .fma64 = 0.2, .load = 0.3};
  twice = same, twice.costs.load32 = 0.15;
#define SIXTEEN "O[i<256, j<16] = sum[k<64](A[i,k] * B[k,j])"
#define BY_WIDTH(m, width) cost_on(m, SIXTEEN, TILE(width, "1", "8", "1", "0", "0"))
  assert_true(BY_WIDTH(&twice, "32") < 0.7 * BY_WIDTH(&same, "32"));
  assert_true(BY_WIDTH(&twice, "64") == BY_WIDTH(&same, "64"));
#define OF_256 "O[i<256, j<256] = sum[k<256](A[i,k] * B[k,j])"
  assert_true(cost_on(&twice, OF_256, TILE("32", "3", "8", "1", "0", "0")) > /* multiply-adds are what it waits for */
              1.05 * cost_on(&twice, OF_256, TILE("64", "3", "8", "1", "0", "0")));
}

/* A root of what all channels share is drawn once where the loop over channels is inside; not where the row is one vector, around which it is
 * anyway. */
static void roots_are_shared(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.costs.fma64 = 4; /* arithmetic is what it waits for */
#define NORMED(size) "Y[n<2, c<64, y<" size ", x<28] = X[n,c,y,x] * rsqrt(V[n,y,x] + 1)"
#define BY_CHANNELS(size, columns)                                                                                \
  cost_on(&m, NORMED(size),                                                                                       \
          "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":8,\"threads\":0,\"stream\":0,\"columns\":" columns \
          ",\"fold\":0}]")
  assert_true(BY_CHANNELS("28", "2") < 0.8 * BY_CHANNELS("28", "0"));
  assert_true(isinf(BY_CHANNELS("1", "2")));
}

/* Few columns that a tile has all of are woven into rows by shuffles; a part of them is stored one by one. */
static void few_columns_are_woven(void **state) {
  (void)state;
  tn_machine m = with_half_lines();
  m.vector_bytes = 64, m.vector_registers = 32;
  m.costs = (tn_machine_costs){.fma32 = 0.1, .fma64 = 0.2, .load = 0.3, .gather = 1};
#define OF_THREE(rows) cost_on(&m, "O[i<960, j<3] = sum[k<8](A[k,i] * B[k,j])", TILE("64", "1", rows, "1", "0", "0"))
  assert_true(OF_THREE("3") < 0.6 * OF_THREE("2"));
}

/* Of a window that moves by less than its length a tile reads from afar only what the tile before it did not, and a line once that
 * two panels of channels share; rows of a result that lie side by side do not begin with waits. */
static void windows_overlap(void **state) {
  (void)state;
#define CHANNELS "O[h<112, w<112, c<32] = sum[r<3, s<3](I[h+r, w+s, c] * W[r,s,c])"
  tn_machine far = plain_machine;
  far.vector_bytes = 32, far.vector_registers = 16;
  far.costs.line3 = 2, far.costs.stray = 20, far.costs.stray4 = 30;
  double narrow = cost_on(&far, CHANNELS, TILE("32", "1", "6", "4", "0", "0"));
  assert_true(narrow < cost_on(&far, CHANNELS, TILE("32", "4", "1", "1", "0", "0")));
  far.costs.stray = 200;
  assert_true(narrow == cost_on(&far, CHANNELS, TILE("32", "1", "6", "4", "0", "0")));
}

/* Lines come from the third cache in pairs: half of each pixel's channels at a time brings the other half, too, unless the next panel
 * takes it at once, or lines alone cost no more than those in a row. */
static void lines_come_in_pairs(void **state) {
  (void)state;
#define PIXELS "O[h<224, w<224, c<32] = sum[r<3, s<3](I[h+r, w+s, c] * W[r,s,c])"
  tn_machine far = cost_fill_machine(&plain_machine);
  far.costs.line3 = 2, far.costs.stray = 4;
  double half = cost_on(&far, PIXELS, TILE("64", "1", "8", "1", "0", "0"));
  assert_true(half > 1.1 * cost_on(&far, PIXELS, TILE("64", "2", "8", "1", "0", "0")));
  assert_true(half > 1.1 * cost_on(&far, PIXELS, TILE("64", "1", "8", "2", "0", "0")));
  far.costs.stray = 2;
  assert_true(cost_on(&far, PIXELS, TILE("64", "1", "8", "1", "0", "0")) < half / 1.1);
}

/* What a tile asked for is there when the next one uses it, unless the lines of a panel are too many for the sets they fall into:
 * rows a power of two apart, of which a block of the reduction has fewer. */
static void asks_for_what_stays(void **state) {
  (void)state;
#define LONG(columns) "O[i<14, j<" columns "] = sum[k<4608](A[i,k] * B[k,j])"
#define GAIN(program, depth)                                         \
  (cost_on(&slow, program, TILE("64", "1", "14", "1", "0", depth)) / \
   cost_on(&slow, program, TILE("64", "1", "14", "1", "1", depth)))
  tn_machine slow = cost_fill_machine(&plain_machine);
  slow.costs.stray = slow.costs.waited = 10 * slow.costs.line3, slow.costs.asked = 1.5 * slow.costs.line3;
  assert_true(GAIN(LONG("528"), "0") > 1.5);
  assert_true(GAIN(LONG("512"), "0") < 1.05);
  assert_true(GAIN(LONG("512"), "256") > 1.5);
}

/* A large result is stored along its rows, one row by itself where two stores share a line; a few steps do not wait for each other,
 * since the next tile has begun. */
static void stores_along_rows(void **state) {
  (void)state;
#define FEW_STEPS(steps, columns) "O[i<1120, j<" columns "] = sum[k<" steps "](A[i,k] * B[k,j])"
  tn_machine slow = cost_fill_machine(&plain_machine);
  slow.costs.line3 = 2, slow.costs.stray = 5, slow.costs.runs3 = 2.5, slow.costs.spans = 2;
#define COST(steps, columns, rows, panels) \
  cost_on(&slow, FEW_STEPS(steps, columns), TILE("64", "4", rows, panels, "0", "0"))
  assert_true(1.1 * COST("3", "1173", "6", "19") < COST("3", "1173", "6", "1"));
  assert_true(1.1 * COST("3", "1184", "6", "19") < COST("3", "1184", "6", "1"));
  assert_true(1.1 * COST("3", "1173", "1", "19") < COST("3", "1173", "6", "19"));
  assert_true(COST("3", "1184", "1", "19") > COST("3", "1184", "6", "19"));
  assert_true(COST("300", "1173", "1", "19") > 2 * COST("300", "1173", "6", "19"));
  double soon = COST("3", "1184", "1", "19");
  slow.costs.chain *= 1.5;
  assert_true(COST("3", "1184", "1", "19") < 1.05 * soon);
}

/* Zeros around an input that are made in a loop are made for all rows of a window at each turn, and for one of three rows without a
 * window once, as before all loops; but there they lie near. */
static void zeros_again_and_again(void **state) {
  (void)state;
#define ROWS_OF_WINDOW(rows)                                                                \
  "P[h<71, w<66, c<64] = select(h >= 1 && h < 65 && w >= 1 && w < 65, I[h-1, w-1, c], 0)\n" \
  "O[h<64, w<64, f<32] = sum[r<" rows ", s<3, c<64](P[h+r, w+s, c] * W[r,s,c,f])"
#define ZEROS(padding)                                                                                  \
  "[{\"stage\":\"O\",\"family\":\"tile\",\"width\":64,\"vectors\":2,\"rows\":8,\"rows2\":1,\"pack\":0," \
  "\"panels\":1,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":0,\"prefetch\":0,\"depth\":0,"  \
  "\"threads\":0,\"padding\":" padding ",\"parity\":0,\"left\":0}]"
#define MADE_INSIDE(rows) (cost_of(ROWS_OF_WINDOW(rows), ZEROS("1")) - cost_of(ROWS_OF_WINDOW(rows), ZEROS("0")))
  assert_true(MADE_INSIDE("8") > 2 * MADE_INSIDE("4"));
  assert_true(MADE_INSIDE("4") > 0);
  assert_true(MADE_INSIDE("1") < 0);
}

/* Threads share parts of a row whose lanes they leave. */
static void parts_have_lanes(void **state) {
  (void)state;
#define OVER_TWO(d) "B[a<12, c<30] = sum[b<20, d<" d "](X[a,b,c,d])"
#define PARTS(n) \
  "[{\"stage\":\"B\",\"family\":\"reduce\",\"vectors\":2,\"parts\":" n ",\"threads\":1,\"together\":1,\"wide\":0}]"
  tn_machine soon = cost_fill_machine(&plain_machine);
  soon.fork_ns = 1;
  assert_true(isinf(cost_on(&soon, OVER_TWO("33"), PARTS("2"))));
  assert_true(isfinite(cost_on(&soon, OVER_TWO("64"), PARTS("2"))));
  assert_true(isinf(cost_on(&soon, OVER_TWO("64"), PARTS("4"))));
  assert_true(isfinite(cost_on(&soon, OVER_TWO("18"), PARTS("2")))); /* the other axis is cut */
}

/* Rows of a softmax that are read from afar in one burst wait for it, unless they were asked for while others were computed; where
 * little is computed asking does not help; rows that are near do not wait. */
static void bursts_wait(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.cache_bytes[2] = 1 << 20, m.cache_bytes[3] = 64 << 20;
  m.costs.line3 = 2, m.costs.fma64 = 0.25;
#define SOFTMAX(n)                                                                                                   \
  "M[i<" n "] = max[k<256](X[i,k])\nE[i<" n ", j<256] = exp(X[i,j] - M[i])\nS[i<" n "] = sum[k<256](E[i,k])\nY[i<" n \
  ", j<256] = E[i,j] / S[i]"
#define TIMES_SUM "V[i<8192] = sum[k<256](X[i,k])\nY[i<8192, j<256] = X[i,j] * V[i]"
#define AT_A_TIME(together, ahead)                                                                        \
  "[{\"stage\":\"Y\",\"family\":\"rows\",\"vectors\":4,\"threads\":0,\"stream\":0,\"together\":" together \
  ",\"columns\":0,\"ahead\":" ahead "}]"
#define PART_OF(n) (cost_on(&m, SOFTMAX(n), AT_A_TIME("4", "1")) / cost_on(&m, SOFTMAX(n), AT_A_TIME("4", "0")))
  assert_true(PART_OF("8192") < 0.95);
  assert_true(cost_on(&m, TIMES_SUM, AT_A_TIME("4", "1")) > cost_on(&m, TIMES_SUM, AT_A_TIME("4", "0")));
  double waits = cost_on(&m, SOFTMAX("8192"), AT_A_TIME("4", "0")) / cost_on(&m, SOFTMAX("8192"), AT_A_TIME("1", "0"));
  assert_true(waits >
              cost_on(&m, SOFTMAX("64"), AT_A_TIME("4", "0")) / cost_on(&m, SOFTMAX("64"), AT_A_TIME("1", "0")));
}

/* Rows that are no whole lines are stored by fewer rows and longer vectors; what the first cache has room for makes no difference. */
static void stores_span_lines(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.vector_registers = 32, m.costs.spans = 2;
#define HIGHEST(rows, columns) "O[y<" rows ", x<" columns "] = sum[r<3, s<3](I[y+r,x+s] * W[r,s])"
#define TALL(rows, columns) cost_on(&m, HIGHEST(rows, columns), FILTERED("32", columns, "8", "1", "0"))
#define WIDE(rows, columns) cost_on(&m, HIGHEST(rows, columns), FILTERED("32", columns, "2", "4", "0"))
  assert_true(TALL("128", "251") / WIDE("128", "251") > 1.1 * TALL("128", "256") / WIDE("128", "256"));
  assert_true(TALL("32", "61") / WIDE("32", "61") < 1.1 * TALL("32", "64") / WIDE("32", "64"));
}

/* Halves that rows share are copied as floats in front of sums in lanes; floats are read where they lie. */
static void floats_in_lanes(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.costs.fma64 = 0.5;
#define ROWS_OF(type) \
  "input A: " type "[16,1000], B: " type "[64,1000]\nC[i<16, j<64] = sum[k<1000](f32(A[i,k]) * f32(B[j,k]))"
#define LANED(left)                                                                                                    \
  "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":6,\"rows2\":1,\"pack\":0,\"panels\":1,"   \
  "\"block\":0,"                                                                                                       \
  "\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,\"padding\":0,\"parity\":0," \
  "\"left\":" left "}]"
  assert_true(cost_on(&m, ROWS_OF("bf16"), LANED("1")) < cost_on(&m, ROWS_OF("bf16"), LANED("0")));
  assert_true(isfinite(cost_on(&m, ROWS_OF("f32"), LANED("0"))));
  assert_true(isinf(cost_on(&m, ROWS_OF("f32"), LANED("1"))));
}

/* Few columns of many steps: some of these beside each column fill a vector and wait less. What an operand reads of such a vector is no
 * more than a register has. */
static void steps_beside_columns(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.vector_bytes = 64, m.vector_registers = 32, m.costs.fma64 = 0.2, m.costs.chain = 1.5;
#define FEW_COLUMNS(rows, columns, steps) \
  "input B: f32[" steps "," columns "]\nC[i<" rows ", j<" columns "] = sum[k<" steps "](A[i,k] * B[k,j])"
#define OF_COLUMNS(rows, columns, steps) \
  "input B: f32[" steps "," columns "]\nC[i<" rows ", j<" columns "] = sum[k<" steps "](A[k,i] * B[k,j])"
#define BESIDE(rows, vectors, lanes)                                                          \
  "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":" vectors ",\"rows\":" rows \
  ",\"rows2\":1,\"pack\":0,"                                                                  \
  "\"panels\":1,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":" lanes               \
  ",\"prefetch\":0,\"depth\":0,\"threads\":0,"                                                \
  "\"padding\":0,\"parity\":0,\"left\":0}]"
#define FASTER(rows, columns, lanes)                                         \
  (cost_on(&m, FEW_COLUMNS(rows, columns, "4096"), BESIDE(rows, "1", "0")) / \
   cost_on(&m, FEW_COLUMNS(rows, columns, "4096"), BESIDE(rows, "1", lanes)))
  assert_true(FASTER("4", "4", "4") > 2 && FASTER("5", "7", "2") > 1.2);
  assert_true(cost_on(&m, FEW_COLUMNS("2", "4", "4096"), BESIDE("2", "2", "4")) <
              cost_on(&m, FEW_COLUMNS("2", "4", "4096"), BESIDE("2", "1", "4")));
  assert_true(cost_on(&m, FEW_COLUMNS("5", "7", "8"), BESIDE("5", "1", "2")) >
              cost_on(&m, FEW_COLUMNS("5", "7", "8"), BESIDE("5", "1", "0")));
  assert_true(cost_on(&m, OF_COLUMNS("5", "4", "4096"), BESIDE("5", "1", "2")) >
              cost_on(&m, FEW_COLUMNS("5", "4", "4096"), BESIDE("5", "1", "2")));
  assert_true(isinf(cost_on(&m, FEW_COLUMNS("5", "4", "8"), BESIDE("5", "5", "2"))));
}

/* Tiles of rows on one panel take turns in asking for the next one, so that what comes from afar comes while all of them compute. Both
 * panels have to stay near meanwhile. */
static void tiles_ask_in_turns(void **state) {
  (void)state;
  tn_machine m = cost_fill_machine(&plain_machine);
  m.vector_bytes = 64, m.vector_registers = 32, m.cache_bytes[2] = 2 << 20, m.cache_bytes[3] = 64 << 20;
  m.costs.fma64 = m.costs.load = 0.2, m.costs.chain = 1.5, m.costs.line2 = 0.5;
  m.costs.line3 = m.costs.asked = 2.4, m.costs.stray = m.costs.waited = 5;
#define TURN(inner, prefetch, depth)                                                                                  \
  "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":3,\"rows\":8,\"rows2\":1,\"pack\":0,\"panels\":22," \
  "\"block\":0,\"order\":0,\"inner\":" inner ",\"dot\":0,\"lanes\":0,\"prefetch\":" prefetch ",\"depth\":" depth      \
  ",\"threads\":0,\"padding\":0,\"parity\":0,\"left\":0}]"
#define FEW_ROWS "input A: f32[16,1024], B: f32[1024,1024]\nC[i<16, j<1024] = sum[k<1024](A[i,k] * B[k,j])"
  double turns = cost_on(&m, FEW_ROWS, TURN("1", "1", "128"));
  assert_true(turns < 0.98 * cost_on(&m, FEW_ROWS, TURN("0", "1", "128")));
  assert_true(cost_on(&m, FEW_ROWS, TURN("1", "0", "128")) > 0.99 * cost_on(&m, FEW_ROWS, TURN("0", "0", "128")));
  assert_true(turns < cost_on(&m, FEW_ROWS, TURN("1", "1", "64")));
  m.cache_bytes[2] = 1 << 20; /* in whose sets two such panels of rows that are 4 KB apart find no room */
  assert_true(cost_on(&m, FEW_ROWS, TURN("1", "1", "128")) > cost_on(&m, FEW_ROWS, TURN("1", "1", "64")));
}

#define BY_DOTS(vectors, together, dots)                                                                             \
  "[{\"stage\":\"Y\",\"family\":\"reduce\",\"vectors\":" vectors ",\"parts\":1,\"threads\":0,\"together\":" together \
  ",\"wide\":0,\"places\":0,\"dots\":" dots "}]"
#define OF_ROWS(x, a, sum, steps) \
  "input x: " x "[" steps "], A: " a "[2048," steps "]\nY[j<2048] = sum[k<" steps "](" sum "(x[k]) * " sum "(A[j,k]))"

/* Of what comes from the third cache one row at a time keeps pace, unless what all rows share has to be widened again for each. Dot products
 * take as many vectors as divide a row. Lanes of rows that nearly fill a vector are folded, not added up one by one. */
#define STRIPS(columns, vectors)                                                                                   \
  "[{\"stage\":\"Y\",\"family\":\"strip\",\"rows\":28,\"columns\":" columns ",\"together\":4,\"vectors\":" vectors \
  ",\"inlined\":0,\"parts\":0,\"stream\":0,\"rolls\":0,\"windows\":0}]"
#define WINDOW_OF(columns, where) "Y[y<28, x<" columns "] = sum[r<3, s<3" where "](X[y+r,x+s] * W[r,s])"

/* What a condition makes of the cost of strips with so many vectors in a row. */
#define TIMES(columns, vectors, where)                                      \
  (cost_of(WINDOW_OF(columns, " where " where), STRIPS(columns, vectors)) / \
   cost_of(WINDOW_OF(columns, ""), STRIPS(columns, vectors)))
#define BORDERED(columns, vectors) TIMES(columns, vectors, "y+r>=1 && x+s>=1 && y+r<29 && x+s<" columns)

/* Conditions that part borders off count where a block has a border; a row that is one block of no whole registers has one
 * throughout. */
static void borders_are_parted(void **state) {
  (void)state;
  assert_true(BORDERED("2048", "2") < 1.15);
  assert_true(BORDERED("64", "2") > 1.3);
  assert_true(BORDERED("28", "1") < 3);
  assert_true(BORDERED("28", "2") > 4);
  assert_true(TIMES("2048", "2", "(x+s)%2 == 0") > 1.3);
}

static void rows_share_what_is_widened(void **state) {
  (void)state;
  tn_machine m = plain_machine;
  m.costs.ends = 0.6, m.costs.fma16 = m.costs.fma64 = 0.27, m.costs.line3 = m.costs.beside = 0.65, m.costs.line2 = 0.1;
  assert_true(isinf(cost_on(&m, OF_ROWS("f32", "f32", "f32", "1024"), BY_DOTS("2", "4", "0"))));
  assert_true(cost_on(&m, OF_ROWS("f16", "f16", "f32", "4096"), BY_DOTS("2", "4", "0")) <
              0.9 * cost_on(&m, OF_ROWS("f16", "f16", "f32", "4096"), BY_DOTS("2", "1", "0")));
  assert_true(isinf(cost_on(&m, OF_ROWS("u8", "i8", "i32", "192"), BY_DOTS("2", "1", "1"))));
  assert_true(cost_on(&m, OF_ROWS("u8", "i8", "i32", "256"), BY_DOTS("4", "4", "1")) <
              cost_on(&m, OF_ROWS("i8", "i8", "i32", "256"), BY_DOTS("4", "4", "1")));
#define BYTES_OF_FEW_ROWS \
  "input X: u8[4,1024], A: i8[2048,1024]\nY[b<4, j<2048] = sum[k<1024](i32(X[b,k]) * i32(A[j,k]))"
#define IN_LANES(dot)                                                                                                \
  "[{\"stage\":\"Y\",\"family\":\"tile\",\"width\":64,\"vectors\":4,\"rows\":4,\"rows2\":1,\"pack\":0,\"panels\":1," \
  "\"block\":0,\"order\":0,\"inner\":0,\"dot\":" dot                                                                 \
  ",\"lanes\":1,\"prefetch\":0,\"depth\":0,\"threads\":0,"                                                           \
  "\"padding\":0,\"parity\":0,\"left\":0}]"
  m.costs.dot2 = 0.27, m.costs.chain = 1.08; /* one vector's dot products wait longer than memory does */
#define LONG_ROW "input A: bf16[1048576], B: bf16[1048576]\nY = sum[k<1048576](f32(A[k]) * f32(B[k]))"
  assert_true(cost_on(&m, LONG_ROW, BY_DOTS("2", "1", "1")) < 0.9 * cost_on(&m, LONG_ROW, BY_DOTS("1", "1", "1")));
  m.costs.dot4 = 0.27;
  assert_true(3 * cost_on(&m, BYTES_OF_FEW_ROWS, IN_LANES("1")) < cost_on(&m, BYTES_OF_FEW_ROWS, IN_LANES("0")));
  assert_true(cost_on(&m, OF_ROWS("u8", "i8", "i32", "64"), BY_DOTS("1", "8", "1")) <
              cost_on(&m, OF_ROWS("u8", "i8", "i32", "64"), BY_DOTS("1", "4", "1")));
}

int test_plan_costs(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(last_cache_loses),
                                            cmocka_unit_test(windows_by_two),
                                            cmocka_unit_test(blocks_share),
                                            cmocka_unit_test(small_tables),
                                            cmocka_unit_test(rows_share_roots),
                                            cmocka_unit_test(costs_what_it_moves),
                                            cmocka_unit_test(streams_whole_lines),
                                            cmocka_unit_test(streams_where_lines_are_lost),
                                            cmocka_unit_test(parted_lines_crowd),
                                            cmocka_unit_test(stored_lines_crowd),
                                            cmocka_unit_test(roots_hide),
                                            cmocka_unit_test(rows_stay_near),
                                            cmocka_unit_test(counts_loads),
                                            cmocka_unit_test(many_rows_meet),
                                            cmocka_unit_test(code_is_bounded),
                                            cmocka_unit_test(waits_for_narrow_tiles),
                                            cmocka_unit_test(half_registers_load),
                                            cmocka_unit_test(few_columns_are_woven),
                                            cmocka_unit_test(roots_are_shared),
                                            cmocka_unit_test(windows_overlap),
                                            cmocka_unit_test(asks_for_what_stays),
                                            cmocka_unit_test(stores_along_rows),
                                            cmocka_unit_test(parts_have_lanes),
                                            cmocka_unit_test(zeros_again_and_again),
                                            cmocka_unit_test(lines_come_in_pairs),
                                            cmocka_unit_test(bursts_wait),
                                            cmocka_unit_test(floats_in_lanes),
                                            cmocka_unit_test(steps_beside_columns),
                                            cmocka_unit_test(tiles_ask_in_turns),
                                            cmocka_unit_test(stores_span_lines),
                                            cmocka_unit_test(rows_share_what_is_widened),
                                            cmocka_unit_test(borders_are_parted)};
  return CHECK_TESTS("costs of plans", tests);
}
