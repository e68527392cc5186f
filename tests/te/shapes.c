/* The shapes of inputs that are not declared, and reads that leave their tensor. */
#include "tests/te/tests.h"

static const struct shape_row {
  const char *name, *text, *input;
} shapes[] = {
    {"plain", "C[i<10] = A[i]", "A: f32[10]\n"},
    {"offset", "C[i<10] = A[i+5]", "A: f32[15]\n"},
    {"constant", "C[i<10] = A[7]", "A: f32[8]\n"},
    {"stride", "C[i<10, r<3] = A[i*2 + r]", "A: f32[21]\n"},
    {"reversed", "C[i<10] = A[9 - i]", "A: f32[10]\n"},
    {"the largest of several reads", "C[i<10] = A[i] + A[i+3]; D[i<2] = A[i+20]", "A: f32[22]\n"},
    {"floor division", "C[i<10] = A[i//3]", "A: f32[4]\n"},
    {"modulo", "C[i<10] = A[i%4]", "A: f32[4]\n"},
    {"modulo larger than the range", "C[i<3] = A[i%8]", "A: f32[3]\n"},
    {"split and joined", "C[i<12] = A[i//4*4 + i%4]", "A: f32[12]\n"},
    {"terms that cancel", "C[i<10, j<10] = A[i + j - i]", "A: f32[10]\n"},
    {"min and max", "C[i<10] = A[max(min(i - 2, 4), 0)]", "A: f32[5]\n"},
    {"select as an index", "C[i<10] = A[select(i < 4, i, 3)]", "A: f32[4]\n"},
    {"abs", "C[i<10] = A[abs(i - 4)]", "A: f32[6]\n"},
    {"casts are looked through", "C[i<10] = A[i64(i) + 1]", "A: f32[11]\n"},
    {"guard", "C[i<10] = select(i >= 2 && i < 8, A[i-2], 0)", "A: f32[6]\n"},
    {"guard by negation", "C[i<10] = select(!(i < 2), A[i-2], 0)", "A: f32[8]\n"},
    {"other branch", "C[i<10] = select(i < 2 || i > 7, 0, A[i-2])", "A: f32[6]\n"},
    {"guard on a sum", "C[i<10, r<3] = select(i + r >= 1 && i + r < 11, A[i + r - 1], 0)", "A: f32[10]\n"},
    {"guard on a multiple", "C[i<10, r<3] = select(2*i + 2*r >= 2 && 2*i + 2*r < 22, A[r + i - 1], 0)", "A: f32[10]\n"},
    {"guard between axes", "C[i<10, j<10] = select(j <= i, A[i - j], 0)", "A: f32[10]\n"},
    {"guard the other way round", "C[i<10] = select(3 <= i, A[i - 3], 0)", "A: f32[7]\n"},
    {"guard by equality", "C[i<10] = select(i == 4, A[i], 0)", "A: f32[5]\n"},
    {"guard on a quotient", "C[i<10] = select(i//2 < 3, A[i//2], 0)", "A: f32[3]\n"},
    {"guard by and", "C[i<10] = i < 4 && A[i] > 0", "A: f32[4]\n"},
    {"guard by or", "C[i<10] = i >= 4 || A[i] > 0", "A: f32[4]\n"},
    {"guard that does not help", "C[i<10] = select(i%2 == 0, A[i - 1], 0)", "A: f32[9]\n"},
    {"transposed convolution", "C[y<11] = select(y >= 2 && y <= 8 && y%2 == 0, A[(y - 2)//2], 0)", "A: f32[4]\n"},
    {"gather in range", "input K: i32[4]; C[i<4] = A[min(max(K[i], 0), 6)]", "A: f32[7]\n"},
    {"gather by u8", "input K: u8[4]; C[i<4] = A[K[i]]", "A: f32[256]\n"},
};

static void inferred(void **state) {
  const struct shape_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, row->text);
  check_has(tn_program_text(p), row->input);
  check_context_free(ctx);
}

static const struct access_row {
  const char *name, *text, *part; /* part NULL: allowed */
} accesses[] = {
    {"one too far", "input A: f32[10]; C[i<11] = A[i]", "index 0 spans [0, 10], but the extent is 10"},
    {"below zero", "input A: f32[10]; C[i<10] = A[i - 1]", "index 0 spans [-1, 8]"},
    {"below zero in an inferred input", "C[i<10] = A[i - 1]", "reads 'A' below 0: index 0 spans [-1, 8]"},
    {"second index", "input A: f32[4,4]; C[i<4] = A[i, i+1]", "index 1 spans [1, 4], but the extent is 4"},
    {"of a computed tensor", "B[i<4] = A[i]; C[i<5] = B[i]", "'C' reads B[i]: index 0 spans [0, 4]"},
    {"in a reduction", "input A: f32[4]; C = sum[k<5](A[k])", "index 0 spans [0, 4]"},
    {"in an index", "input A: f32[9], K: i32[4]; C[i<5] = A[min(max(K[i],0),8)]", "'C' reads K[i]"},
    {"in a condition", "input A: f32[4]; C[i<5] = select(A[i] > 0, 1, 2)", "index 0 spans [0, 4]"},
    {"under a guard that misses it", "input A: f32[4]; C[i<9] = select(i >= 5, A[i], 0)", "index 0 spans [5, 8]"},
    {"in the unguarded branch", "input A: f32[4]; C[i<9] = select(i < 5, 0, A[i])", "index 0 spans [5, 8]"},
    {"under a guard", "input A: f32[4]; C[i<9] = select(i < 4, A[i], 0)", NULL},
    {"under a guard that is not understood", "input A: f32[4], Q: bool[9]; C[i<9] = select(Q[i], A[i], 0)", NULL},
    {"gather", "input A: f32[4], K: i32[9]; C[i<9] = A[K[i]]", NULL},
    {"gather surely outside", "input A: f32[4], K: i32[9]; C[i<9] = A[max(K[i], 4)]", "index 0 spans [4,"},
    {"gather of unknown extent", "input K: i32[9]; C[i<9] = A[K[i]]", "the shape of 'A' cannot be found"},
    {"product of axes", "C[i<50000, j<50000] = A[i*j]", "the shape of 'A' cannot be found from index 0"},
    {"index that wraps", "input A: f32[99]; C[i<100000] = A[i*100000]", "index 0 can have any value"},
    {"product of small axes", "input A: f32[82]; C[i<10, j<10] = A[i*j]", NULL},
    {"modulo by an axis", "input A: f32[10]; C[i<10] = A[i%(i+1)]", NULL},
    {"negative modulo", "input A: f32[3]; C[i<10] = A[(i - 5)%3]", NULL},
    {"half of a symbol's axis", "symbol M; input A: f32[M]; C[i<2*M] = A[i//2]", NULL},
    {"half of it, too far", "symbol M; input A: f32[M]; C[i<2*M + 1] = A[i//2]",
     "index 0 is not known to be in 0 .. M - 1"},
    {"half of it and one more", "symbol M; input A: f32[M]; C[i<2*M] = A[i//2 + 1]",
     "index 0 is not known to be in 0 .. M - 1"},
    {"half of it, below zero", "symbol M; input A: f32[M]; C[i<2*M] = A[i//2 - 1]",
     "index 0 is not known to be in 0 .. M - 1"},
    {"half of it from the end", "symbol M; input A: f32[M]; C[i<2*M] = A[M - 1 - i//2]", NULL},
    {"from the end, one less", "symbol M; input A: f32[M]; C[i<2*M] = A[M - 2 - i//2]",
     "index 0 is not known to be in 0 .. M - 1"},
    {"a third of what it does not divide", "symbol M; input A: f32[M]; C[i<2*M] = A[i//3]",
     "index 0 is not known to be in 0 .. M - 1"},
    {"half of two axes", "symbol M; input A: f32[M + 1], B: f32[M]; C[i<2*M, r<3] = A[(i + r)//2] + B[i//2]", NULL},
    {"half of two axes, too far", "symbol M; input A: f32[M + 1], B: f32[M]; C[i<2*M, r<4] = A[(i + r)//2] + B[i//2]",
     "index 0 is not known to be in 0 .. M + 1 - 1"},
    {"a half's half", "symbol M; input A: f32[M]; C[i<4*M] = A[(i//2)//2]", NULL},
};

static void access(void **state) {
  const struct access_row *row = *state;
  tn_context *ctx = check_context();
  if (!row->part) {
    parse(ctx, row->text);
  } else {
    assert_null(tn_program_parse(ctx, row->text, 0, NULL));
    check_fails(ctx, TN_ERROR_PARSE, row->part);
  }
  check_context_free(ctx);
}

int test_shapes(void) {
  return CHECK_TABLE("inferred shapes", shapes, inferred) + CHECK_TABLE("accesses", accesses, access);
}
