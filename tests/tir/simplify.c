/* The simplifier by example: names and ranges, expression in, text out; each result is also simplified again and
 * compared by evaluation over all values of the variables. */
#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *names, *in, *out;
  const char *given; /* a condition known to hold, or NULL */
} row;

static const row rows[] = {
    {"fuse of split comes back", "f in 0..63", "f//4*4 + f%4", "f", NULL},
    {"split of fuse: quotient", "i in 0..9, j in 0..7", "(i*8 + j)//8", "i", NULL},
    {"split of fuse: remainder", "i in 0..9, j in 0..7", "(i*8 + j)%8", "j", NULL},
    {"quotient and remainder by a symbol", "f in 0..63, M in 1..9", "f//M*M + f%M", "f", NULL},
    {"of rows twice as long", "f in 0..63, M in 1..9", "f//M*(M*2) + f%M*2", "f*2", NULL},
    {"of planes of rows", "f in 0..63, M in 1..5", "f//M//M*(M*M) + f//M%M*M + f%M", "f", NULL},
    {"not where the symbol may be 0", "f in 0..63, M in 0..9", "f//M*M + f%M", "floordiv(f, M)*M + floormod(f, M)",
     NULL},
    {"a quotient's bound by what is divided", "f in 0..63, M in 1..9", "f//7 < M", "True", "f < M*7"},
    {"at most, from the other side", "f in 0..63, M in 1..9", "M <= f//7", "True", "f >= M*7"},
    {"a quotient that may reach the bound", "f in 0..63, M in 1..9", "f//7 < M", "floordiv(f, 7) < M", "f <= M*7"},
    {"three levels of quotient", "a in 0..3, b in 0..3, c in 0..3", "(a*16 + b*4 + c)//4", "a*4 + b", NULL},
    {"quotient by a larger factor", "a in 0..30, b in 0..7", "(a*8 + b)//16", "floordiv(a, 2)", NULL},
    {"remainder by a larger factor", "a in 0..30, b in 0..7", "(a*8 + b)%16", "floormod(a, 2)*8 + b", NULL},
    {"multiple of the divisor", "i in -9..9", "i*12%4", "0", NULL},
    {"exact quotient", "i in -9..9", "i*12//4", "i*3", NULL},
    {"multiples leave the quotient", "i in -9..9, j in -9..9", "(i*12 + j)//4", "i*3 + floordiv(j, 4)", NULL},
    {"common factor", "i in -9..9", "i*6//9", "floordiv(i*2, 3)", NULL},
    {"common factor with constant", "i in -9..9", "(i*4 + 7)//8", "floordiv(i + 1, 2)", NULL},
    {"a constant below zero is no multiple", "i in 0..3, j in 1..8", "(i*8 + j - 1)//16", "floordiv(i*8 + j - 1, 16)",
     NULL},
    {"a constant below zero in a remainder", "i in 0..3, j in 1..8", "(i*8 + j - 1)%16", "floormod(i*8 + j - 1, 16)",
     NULL},
    {"nested quotients", "i in -99..99", "i//4//8", "floordiv(i, 32)", NULL},
    {"nested remainders", "i in -99..99", "i%32%8", "floormod(i, 8)", NULL},
    {"quotient of remainder", "i in -99..99", "i%32//8", "floormod(floordiv(i, 8), 4)", NULL},
    {"remainder of remainder and rest", "i in -99..99", "(i%32 + 5)%8", "floormod(i + 5, 8)", NULL},
    {"quotient and two remainders", "i in 0..255", "i//32*32 + i//8%4*8 + i%8", "i", NULL},
    {"bounded quotient is constant", "io in 0..51, ii in 0..19", "(io*20 + ii)//1040", "0", NULL},
    {"bounded remainder is itself", "io in 0..50, ii in 0..19", "(io*20 + ii)%1024", "io*20 + ii", NULL},
    {"bounded remainder is shifted", "i in 8..15", "i%8", "i - 8", NULL},
    {"negative block", "i in -8..-1", "i//8", "-1", NULL},
    {"division by zero", "i in 0..9", "i//0 + i%0", "0", NULL},
    {"terms cancel", "i in 0..9, j in 0..9", "i*8 + j - i*8", "j", NULL},
    {"terms keep their order", "i in 0..9, j in 0..9", "j + i*2 + j", "j*2 + i*2", NULL},
    {"positive term first", "i in 0..9, j in 0..9", "0 - i + j", "j - i", NULL},
    {"constant minus term", "i in 0..9", "3 - i + 2", "5 - i", NULL},
    {"constants gather at the end", "i in 0..9", "1 + i + 2", "i + 3", NULL},
    {"products distribute over constants", "i in 0..9", "(i + 2)*3 - 6", "i*3", NULL},
    {"min decided", "i in 0..9", "min(i, 9)", "i", NULL},
    {"min of shifted", "i in 0..9, j in 0..9", "min(i + j, i)", "i", NULL},
    {"max decided", "i in 0..9", "max(0 - i, i)", "i", NULL},
    {"min below a symbol", "o in 0..9, m in 8..70", "min(o*8, m - 8) + 7 < m", "True", NULL},
    {"max above a symbol", "o in 0..9, m in 8..70", "m - max(o*8, m - 8) > 8", "False", NULL},
    {"min not below a symbol", "o in 0..9, m in 8..70", "min(o*8, m - 8) + 8 < m", "min(o*8, m - 8) + 8 < m", NULL},
    {"min undecided", "i in 0..51", "min(20, 1024 - i*20)", "min(20, 1024 - i*20)", NULL},
    {"the guard stays readable", "i.outer in 0..51, i.inner in 0..19", "i.outer*20 + i.inner < 1024",
     "i.outer*20 + i.inner < 1024", NULL},
    {"a provable guard", "i.outer in 0..50, i.inner in 0..19", "i.outer*20 + i.inner < 1024", "True", NULL},
    {"a guard never true", "i in 5..9", "i < 5", "False", NULL},
    {"a guard that the inner loop cannot change", "i in 0..99, j in 0..31", "i*32 + j < 1024", "i < 32", NULL},
    {"common factor of a guard", "i in 0..99, j in 0..99", "i*4 + j*4 < 10", "i + j < 3", NULL},
    {"common factor of at least", "i in 0..99", "i*4 >= 10", "i >= 3", NULL},
    {"common factor of at most", "i in 0..99", "i*4 <= 10", "i <= 2", NULL},
    {"an equation without solution", "i in 0..99", "i*4 == 10", "False", NULL},
    {"an equation divided", "i in 0..99", "i*4 == 12", "i == 3", NULL},
    {"terms change sides", "i in 0..9, j in 0..9", "i - j < 3", "i < j + 3", NULL},
    {"constant moves right", "h in 0..57", "h - 1 >= 0", "h >= 1", NULL},
    {"sides swap", "h in 0..57", "1 <= h", "h >= 1", NULL},
    {"not of a comparison", "i in 0..9", "!(i < 4)", "i >= 4", NULL},
    {"true part dropped", "i in 0..9, j in 0..9", "i < 10 && j < 5", "j < 5", NULL},
    {"false part decides", "i in 0..9, j in 0..9", "j < 5 && i > 9", "False", NULL},
    {"duplicate part dropped", "i in 0..9, b: bool", "b && i < 5 && b && i < 5", "b && i < 5", NULL},
    {"weaker part dropped", "i in 0..9", "i < 7 && i < 5", "i < 5", NULL},
    {"a part that guards a load is not dropped for it", "A: uint8[8], i in 0..99", "i < 8 && i + cast(int32, A[i]) < 8",
     "i < 8 && i + cast(int32, A[i]) < 8", NULL},
    {"contradiction", "i in 0..9", "i < 5 && i >= 5", "False", NULL},
    {"all cases covered", "i in 0..9", "i < 5 || i >= 5", "True", NULL},
    {"stronger alternative dropped", "i in 0..9", "i < 5 || i < 7", "i < 7", NULL},
    {"padding guard stays", "h in 0..57, w in 0..57", "h >= 1 && h < 57 && w >= 1 && w < 57",
     "h >= 1 && h < 57 && w >= 1 && w < 57", NULL},
    {"select decided", "i in 0..9", "select(i < 10, i, 0)", "i", NULL},
    {"select with equal sides", "i in 0..9, b: bool", "select(b, i + i, i*2)", "i*2", NULL},
    {"known condition", "i in 0..51, j in 0..19", "i*20 + j < 1024", "True", "i*20 + j < 1024"},
    {"known condition, weaker question", "i in 0..51, j in 0..19", "i*20 + j < 1030", "True", "i*20 + j < 1024"},
    {"known condition, shifted question", "i in 0..51, j in 0..19", "i*20 + j + 5 < 1029", "True", "i*20 + j < 1024"},
    {"known condition bounds a remainder", "i in 0..99", "i%8", "i", "i < 8"},
    {"known equation", "i in 0..99, j in 0..9", "i + j", "j + 4", "i == 4"},
    {"known boolean", "b: bool, i in 0..3", "b && i < 2", "i < 2", "b"},
    {"known condition of another unknown", "i in 0..9, j in 0..9", "j < 5", "j < 5", "i < 5"},
    {"opaque load", "A: int32[8], i in 0..7", "A[i] + 1 > A[i]", "A[i] + 1 > A[i]", NULL},
    {"index of a load", "A: int32[8], i in 0..7", "A[(i*8 + 3)//8]", "A[i]", NULL},
    {"loads are atoms", "A: int32[8], i in 0..7", "A[i]*2 - A[i + 0]", "A[i]", NULL},
    {"byte load is bounded", "A: uint8[8], i in 0..7", "cast(int32, A[i]) < 256", "True", NULL},
    {"float operations stay", "x: float32", "x + x - x", "x + x - x", NULL},
    {"float comparison stays", "x: float32", "!(x < x)", "!(x < x)", NULL},
    {"loop of one iteration", "i in 3..3, j in 0..3", "i*4 + j", "j + 12", NULL},
    {"vector predicate proved", "i in 0..3", "ramp(i*8, 1, 8) < broadcast(32, 8)", "broadcast(True, 8)", NULL},
    {"vector predicate stays", "i in 0..3", "ramp(i*8, 1, 8) < broadcast(30, 8)", "ramp(i*8, 1, 8) < broadcast(30, 8)",
     NULL},
};

static void simplify_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  const tir_env *env = read_names(&read, r->names);
  tir_env given = {.outer = env};
  if (r->given != NULL) {
    given.cond = read_expr(&read, r->given);
    env = &given;
  }
  const tir_expr *e = read_expr(&read, r->in), *simple = tir_simplify(&arena, env, e);
  assert_string_equal(print_expr(&arena, simple), r->out);
  assert_ptr_equal(tir_simplify(&arena, env, simple), simple);
  runtime_arena_free(&arena);
}

int test_simplify(void) { return CHECK_TABLE("tir simplify", rows, simplify_row); }
