/* Bounds by example, and what must not be proved. */
#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *names, *given, *expr;
  int64_t lo, hi;
} row;

#define OPEN_LOW INT64_MIN
#define OPEN_HIGH INT64_MAX

static const row rows[] = {
    {"sum", "i in 0..9, j in -3..4", NULL, "i*2 + j", -3, 22},
    {"difference that cancels", "i in 0..9, j in 0..7", NULL, "i*8 + j - i*8", 0, 7},
    {"negative factor", "i in -2..5", NULL, "i*-3", -15, 6},
    {"product", "i in -2..5, j in -1..3", NULL, "i*j", -6, 15},
    {"floor division", "i in -7..7", NULL, "i//4", -2, 1},
    {"floor division by a range", "i in -8..8, j in 1..4", NULL, "i//j", -8, 8},
    {"floor division by a range with zero", "i in 3..8, j in -1..4", NULL, "i//j", -8, 8},
    {"floor modulo", "i in -7..7", NULL, "i%4", 0, 3},
    {"floor modulo in one block", "i in 9..11", NULL, "i%4", 1, 3},
    {"floor modulo by a negative", "i in -7..7", NULL, "i%-4", -3, 0},
    {"min and max", "i in -7..7, j in 0..3", NULL, "min(i, j) + max(i, j)", -7, 10},
    {"select", "i in -7..7, j in 20..21", NULL, "select(i < 3, i, j)", -7, 21},
    {"absolute value", "i in -7..3", NULL, "abs(i)", 0, 7},
    {"comparison", "i in -7..3", NULL, "i < 0", 0, 1},
    {"cast keeps the range", "A: uint8[8], i in 0..7", NULL, "cast(int32, A[i]) - 1", -1, 254},
    {"ramp", "i in 0..3", NULL, "ramp(i*8, -1, 8)", -7, 24},
    {"load is unbounded", "A: int32[8], i in 0..7", NULL, "A[i]", OPEN_LOW, OPEN_HIGH},
    {"what may wrap is unbounded", "i in 0..2000000000", NULL, "i*2", OPEN_LOW, OPEN_HIGH},
    {"what may wrap in the middle does not count", "i in 0..2000000000", NULL, "i*2 - i", 0, 2000000000},
    {"a condition narrows", "i in 0..9", "i < 5", "i", 0, 4},
    {"a condition with a factor", "i in 0..99", "i*4 < 10", "i", 0, 2},
    {"a condition from below", "i in 0..99", "!(i < 5)", "i + 1", 6, 100},
    {"a condition on a sum", "i in 0..51, j in 0..19", "i*20 + j < 1024", "i*20 + j", 0, 1023},
    {"the same sum, scaled", "i in 0..51, j in 0..19", "i*20 + j < 1024", "i*40 + j*2 + 1", 1, 2047},
    {"a conjunction", "i in 0..99", "i >= 3 && i <= 7", "i", 3, 7},
    {"a disjunction says nothing", "i in 0..99", "i < 3 || i > 7", "i", 0, 99},
};

static void bounds_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  tir_env given = {.outer = read_names(&read, r->names)};
  if (r->given != NULL) given.cond = read_expr(&read, r->given);
  tir_interval b = tir_bounds(&given, read_expr(&read, r->expr));
  assert_int_equal(b.lo, r->lo);
  assert_int_equal(b.hi, r->hi);
  runtime_arena_free(&arena);
}

typedef struct doubt {
  const char *name, *names, *given, *cond;
} doubt;

/* Not provable, because not always true. */
static const doubt doubts[] = {
    {"one value too many", "i in 0..10", NULL, "i < 10"},
    {"an overflow", "i in 0..2147483647", NULL, "i + 1 > i"},
    {"a stronger condition than known", "i in 0..51, j in 0..19", "i*20 + j < 1024", "i*20 + j < 1023"},
    {"a condition on something else", "i in 0..9, j in 0..9", "i < 5", "j < 5"},
    {"the opposite of what is known", "i in 0..9", "i < 5", "i >= 5"},
    {"a load", "A: int32[8], i in 0..7", NULL, "A[i] >= 0"},
    {"a float that could be no number", "x: float32", NULL, "x == x"},
    {"a float comparison negated", "x: float32, y: float32", "!(x < y)", "x >= y"},
    {"one part of a conjunction", "i in 0..9", NULL, "i >= 0 && i < 9"},
    {"an unbound range", "b: bool", NULL, "b"},
    {"an inequality known", "i in 0..9", "i != 0", "i > 1"},
    {"an alternative known", "i in 0..9", "i < 3 || i > 7", "i < 3"},
};

static void doubt_row(void **state) {
  const doubt *r = *state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  tir_env given = {.outer = read_names(&read, r->names)};
  if (r->given != NULL) given.cond = read_expr(&read, r->given);
  assert_false(tir_prove(&arena, &given, read_expr(&read, r->cond)));
  runtime_arena_free(&arena);
}

int test_bounds(void) {
  return CHECK_TABLE("tir bounds", rows, bounds_row) + CHECK_TABLE("tir not proved", doubts, doubt_row);
}
