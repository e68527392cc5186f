/* Random texts: expressions of all kinds print as fixed points and evaluate the same after a round trip; broken texts
 * end in a message. Every row is one seed. */
#include <math.h>

#include "tests/te/tests.h"

typedef struct writer {
  runtime_rng rng;
  runtime_str out;
} writer;

static int64_t pick(writer *w, int64_t n) { return runtime_random_below(&w->rng, n); }
static void put(writer *w, const char *text) { runtime_str_add(&w->out, text); }

static void number(writer *w, int depth);

static void boolean(writer *w, int depth) {
  static const char *const comparisons[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  if (depth == 0) {
    put(w, pick(w, 2) ? "Q[i]" : "true");
    return;
  }
  int64_t kind = pick(w, 4);
  put(w, kind == 0 ? "!(" : "(");
  if (kind == 1) {
    number(w, depth - 1);
    put(w, comparisons[pick(w, RUNTIME_COUNT(comparisons))]);
    number(w, depth - 1);
  } else {
    boolean(w, depth - 1);
    if (kind != 0) put(w, kind == 2 ? " && " : " || "), boolean(w, depth - 1);
  }
  put(w, ")");
}

static void leaf(writer *w) {
  static const char *const leaves[] = {"A[i]", "D[i]", "K[i]", "U[i]", "S[3 - i]", "i",     "1",   "2.5",
                                       "-3",   "0.1",  "200",  "1e-3", "f64(0.7)", "i8(5)", "inf", "L[i//2]"};
  put(w, leaves[pick(w, RUNTIME_COUNT(leaves))]);
}

static void call(writer *w, int depth) {
  static const char *const functions[] = {"min(", "max(", "f32(", "i32(", "u8(", "f64(", "-(", "abs("};
  int64_t f = pick(w, RUNTIME_COUNT(functions));
  put(w, functions[f]);
  number(w, depth - 1);
  if (f < 2) put(w, ", "), number(w, depth - 1);
  put(w, ")");
}

static void number(writer *w, int depth) {
  static const char *const operators[] = {" + ", " - ", "*", " - -"};
  int64_t kind = pick(w, 8);
  if (depth == 0 || kind == 0) {
    leaf(w);
  } else if (kind < 3) {
    call(w, depth);
  } else if (kind == 3) {
    put(w, "select("), boolean(w, depth - 1), put(w, ", "), number(w, depth - 1), put(w, ", "), number(w, depth - 1),
        put(w, ")");
  } else {
    bool has_parentheses = pick(w, 2) == 0;
    if (has_parentheses) put(w, "(");
    number(w, depth - 1);
    put(w, operators[pick(w, RUNTIME_COUNT(operators))]);
    number(w, depth - 1);
    if (has_parentheses) put(w, ")");
  }
}

static void random_program(writer *w) {
  put(w, "input A: f32[4], D: f64[4], K: i32[4], U: u8[4], S: i8[4], L: i64[4], Q: bool[4]\n");
  put(w, "Z[i<4] = A[i] + D[i] + K[i] + U[i] + S[i] + L[i] + f32(Q[i])\nC[i<4] = ");
  number(w, 5);
}

static void compare_outputs(tn_program *p, DLTensor **a, DLTensor **b) {
  for (int i = tn_program_input_count(p); i < tn_program_arg_count(p); i++)
    for (int64_t e = 0; e < count_elements(a[i]); e++) {
      double x = get_element(a[i], e), y = get_element(b[i], e);
      if (x != y && !(isnan(x) && isnan(y))) fail_msg("%g became %g in\n%s", x, y, tn_program_text(p));
    }
}

static const struct seed_row {
  const char *name;
  uint64_t seed;
} seeds[] = {{"seed 1", 1}, {"seed 2", 2}, {"seed 3", 3}, {"seed 4", 4}, {"seed 5", 5}, {"seed 6", 6}};

enum { PROGRAMS = 300, BROKEN = 1500 };

/* Parsed, printed and parsed again it is the same text and the same values. */
static void round_trip(const char *text) {
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, text), *again = parse(ctx, tn_program_text(p));
  check_text(tn_program_text(again), tn_program_text(p));
  DLTensor **a = make_args(ctx, p, 7), **b = make_args(ctx, again, 7);
  assert_int_equal(tn_evaluate(p, a, tn_program_arg_count(p)), TN_OK);
  assert_int_equal(tn_evaluate(again, b, tn_program_arg_count(p)), TN_OK);
  compare_outputs(p, a, b);
  free_args(a, p);
  free_args(b, again);
  check_context_free(ctx);
}

static void random_expressions(void **state) {
  const struct seed_row *row = *state;
  writer w = {.rng = {row->seed}};
  for (int i = 0; i < PROGRAMS; i++) {
    random_program(&w);
    round_trip(w.out.data);
    runtime_str_free(&w.out);
  }
}

/* Changes some characters; whatever comes of it parses or gives one message with a place. */
static void break_text(runtime_rng *rng, char *text) {
  static const char characters[] = "()[]{}<>=!&|+-*/%,;:#. \n0123456789eABCijkfsumxé\t\"";
  int64_t n = (int64_t)strlen(text), changes = 1 + runtime_random_below(rng, 4);
  for (int64_t c = 0; c < changes; c++)
    text[runtime_random_below(rng, n)] = characters[runtime_random_below(rng, sizeof characters - 1)];
  if (runtime_random_below(rng, 5) == 0) text[runtime_random_below(rng, n)] = '\0';
}

static void try_broken(const char *text) {
  tn_context *ctx = check_context();
  tn_program *p = tn_program_parse(ctx, text, 0, NULL);
  if (p)
    check_text(tn_program_text(parse(ctx, tn_program_text(p))), tn_program_text(p));
  else
    check_fails(ctx, TN_ERROR_PARSE, "parse error at line ", "\n");
  check_context_free(ctx);
}

static void broken_texts(void **state) {
  const struct seed_row *row = *state;
  static const char *const texts[] = {
      "param N = 64, D = 1000\nM[i<N] = max[k<D](X[i,k])\nE[i<N, j<D] = exp(X[i,j] - M[i])\n",
      "input I: f32[1,8,8,4]\nP[n<1, h<10, w<10] = select(h >= 1 && h < 9 && w >= 1 && w < 9, I[n, h-1, w-1, 0], 0)",
      "C[i<8] = f64(A[i//2]) * 2.5e-3 + -i; D = any[k<8](C[k] == inf); output D, C"};
  runtime_rng rng = {row->seed};
  for (int i = 0; i < BROKEN; i++) {
    char text[512];
    strcpy(text, texts[i % RUNTIME_COUNT(texts)]);
    break_text(&rng, text);
    try_broken(text);
  }
}

/* An integer expression of i and j for an index. */
static void index_expr(writer *w, int depth) {
  static const char *const leaves[] = {"i", "j", "i", "j", "3", "-2", "(i + 2*j)", "(j - i)"};
  static const char *const formats[] = {" + ", " - ", "*2 + ", "//3 + ", "%4 - ", "*-3 - "};
  int64_t kind = depth == 0 ? 0 : pick(w, 6);
  if (kind == 0) {
    put(w, leaves[pick(w, RUNTIME_COUNT(leaves))]);
  } else if (kind < 5) {
    put(w, "(("), index_expr(w, depth - 1), put(w, ")"), put(w, formats[pick(w, RUNTIME_COUNT(formats))]);
    index_expr(w, depth - 1), put(w, ")");
  } else {
    put(w, pick(w, 2) ? "min(" : "max("), index_expr(w, depth - 1), put(w, ", "), index_expr(w, depth - 1), put(w, ")");
  }
}

static void index_condition(writer *w, int depth) {
  static const char *const comparisons[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  if (depth > 0 && pick(w, 2)) {
    put(w, pick(w, 3) ? "(" : "!("), index_condition(w, depth - 1), put(w, pick(w, 2) ? " && " : " || ");
    index_condition(w, depth - 1), put(w, ")");
  } else {
    index_expr(w, 1), put(w, comparisons[pick(w, RUNTIME_COUNT(comparisons))]), index_expr(w, 1);
  }
}

/* Both branches read a tensor whose shape is inferred, with indices that the condition narrows. */
static void guarded_program(writer *w) {
  put(w, "C[i<7, j<5] = select(");
  index_condition(w, 2);
  for (int branch = 0; branch < 2; branch++) {
    runtime_str_addf(&w->out, ", %s[5000 + ", branch ? "A" : "B"), index_expr(w, 2), put(w, "]");
    runtime_str_addf(&w->out, " + %s[5000 - ", branch ? "D" : "E"), index_expr(w, 2), put(w, "]");
  }
  put(w, ")");
}

/* What the analysis takes for an input's shape covers every read that is made. */
static void inferred_shapes_cover(void **state) {
  const struct seed_row *row = *state;
  writer w = {.rng = {row->seed}};
  for (int i = 0; i < PROGRAMS; i++) {
    guarded_program(&w);
    tn_context *ctx = check_context();
    tn_program *p = parse(ctx, w.out.data);
    DLTensor **args = make_args(ctx, p, 1);
    if (tn_evaluate(p, args, tn_program_arg_count(p)) != TN_OK) print_error("%s\n", w.out.data);
    check_ok(ctx);
    free_args(args, p);
    check_context_free(ctx);
    runtime_str_free(&w.out);
  }
}

int test_random_texts(void) {
  return CHECK_TABLE("random expressions", seeds, random_expressions) +
         CHECK_TABLE("broken texts", seeds, broken_texts) +
         CHECK_TABLE("inferred shapes", seeds, inferred_shapes_cover);
}
