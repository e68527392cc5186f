/* The canonical text: what is printed, that it parses to the same program, that printing that gives the same text. */
#include "tests/te/tests.h"

/* A body over i<4 and these tensors, and what it prints as (NULL: as it is written). */
#define INPUTS \
  "input A: f32[4], B: f32[4], D: f64[4], K: i32[4], L: i64[4], S: i8[4], U: u8[4], V: u32[4], Q: bool[4], s: f32"

typedef struct body_row {
  const char *name, *text, *printed;
} body_row;

static const body_row bodies[] = {
    {"product and sum", "A[i]*B[i] + A[i]", NULL},
    {"blanks go", " A [ i ]*B[ i ]+A[i] ", "A[i]*B[i] + A[i]"},
    {"left association needs no parentheses", "(A[i] - B[i]) - A[i]", "A[i] - B[i] - A[i]"},
    {"right association keeps them", "A[i] - (B[i] - A[i])", NULL},
    {"sums are not reassociated", "A[i] + (B[i] + A[i])", NULL},
    {"division by a product", "A[i]/(B[i]*A[i])", NULL},
    {"sum under product", "(A[i] + B[i])*A[i]", NULL},
    {"needless parentheses go", "((A[i]))*((B[i] / A[i]))", "A[i]*(B[i]/A[i])"},
    {"floor division and modulo", "(K[i] + 3)//4 + K[i]%5", NULL},
    {"negation", "-A[i]", NULL},
    {"negation is times -1", "A[i] * -1", "-A[i]"},
    {"negation of a product", "-(A[i]*B[i])", NULL},
    {"negation in a product", "-A[i]*B[i]", NULL},
    {"double negation", "- -A[i]", "--A[i]"},
    {"minus a negative", "A[i] - -B[i]", NULL},
    {"negative literals", "-2.5*A[i] + -1e-05", NULL},
    {"negation of unsigned wraps", "-U[i]", "U[i]*255"},
    {"negation of i64", "-L[i]", NULL},
    {"logic", "select(A[i] < B[i] && !(K[i] == 3) || Q[i], A[i], B[i])", NULL},
    {"or under and", "select((Q[i] || A[i] > 0.0) && Q[i], A[i], B[i])", NULL},
    {"not of a name", "!Q[i]", NULL},
    {"comparison of comparisons", "(A[i] < B[i]) == Q[i]", NULL},
    {"all comparisons", "A[i] == B[i] || A[i] != B[i] || A[i] <= B[i] || A[i] >= B[i]", NULL},
    {"functions", "exp(log(sqrt(rsqrt(tanh(sigmoid(erf(sin(cos(abs(A[i]))))))))))", NULL},
    {"rounding functions", "floor(A[i]) + ceil(A[i]) + round(A[i])", NULL},
    {"two operands", "min(A[i], max(B[i], pow(A[i], 2.0)))", NULL},
    {"integer abs", "abs(K[i])", NULL},
    {"select over numbers is i32", "select(Q[i], 1, 0)", NULL},
    {"float literal", "A[i] + 0.1", NULL},
    {"int literal beside f32", "A[i] + 2", "A[i] + 2.0"},
    {"f64 keeps its digits", "D[i] + 0.1", NULL},
    {"f64 of many digits", "D[i]*3.141592653589793", NULL},
    {"f32 loses digits it has not", "A[i]*3.141592653589793", "A[i]*3.1415927"},
    {"f64 literal alone", "f64(0.1)", NULL},
    {"f64 function of a literal", "D[i] + exp(f64(2.0))", NULL},
    {"literals are computed first", "D[i]*(1/3.0)", "D[i]*0.3333333333333333"},
    {"large and small floats", "A[i]*1e+20 + 1.5e-30", NULL},
    {"infinities", "max(A[i], -inf) + min(A[i], inf)", NULL},
    {"nan", "A[i] + nan", NULL},
    {"negative zero", "max(A[i], -0.0)", NULL},
    {"u8 literal", "U[i] + 200", NULL},
    {"literal too large for u8 widens", "U[i] + 300", "i32(U[i]) + 300"},
    {"negative literal beside u8 widens", "U[i] + -1", "i32(U[i]) + -1"},
    {"i8 limits", "S[i] + -128", NULL},
    {"u32 literal", "V[i] + 4000000000", NULL},
    {"i64 literal alone", "5000000000", NULL},
    {"i64 cast", "i64(5)", NULL},
    {"lowest i64", "L[i] + -9223372036854775808", NULL},
    {"u8 constant alone", "u8(7)", NULL},
    {"cast wraps", "u8(300)", "u8(44)"},
    {"cast saturates", "i8(1000.5)", "i8(127)"},
    {"f32 and f64", "A[i] + D[i]", "f64(A[i]) + D[i]"},
    {"int and float", "K[i]*A[i]", "f32(K[i])*A[i]"},
    {"i64 and float is float", "L[i]*A[i]", "f32(L[i])*A[i]"},
    {"i8 and i32", "S[i] + K[i]", "i32(S[i]) + K[i]"},
    {"i32 and u32 is u32", "K[i] + V[i]", "u32(K[i]) + V[i]"},
    {"u32 and i64 is i64", "V[i] + L[i]", "i64(V[i]) + L[i]"},
    {"i8 and u8 is u8", "S[i] + U[i]", "u8(S[i]) + U[i]"},
    {"bool and int", "Q[i] == 1", "i32(Q[i]) == 1"},
    {"float literal beside int", "K[i]*0.5", "f32(K[i])*0.5"},
    {"select unifies its branches", "select(Q[i], K[i], A[i])", "select(Q[i], f32(K[i]), A[i])"},
    {"select with a literal", "select(Q[i], D[i], 0)", "select(Q[i], D[i], 0.0)"},
    {"select of two f64 constants", "select(Q[i], f64(1.0), f64(0.0))", NULL},
    {"bool literals", "Q[i] == true", NULL},
    {"true is dropped from and", "Q[i] && true", "Q[i]"},
    {"bool constant", "false", NULL},
    {"casts", "i32(A[i]) + i32(Q[i]) + i32(f64(A[i]))", NULL},
    {"cast to its own dtype goes", "f32(A[i])", "A[i]"},
    {"axis as a value", "i + 1", NULL},
    {"axis with a float", "i/2.0", "f32(i)/2.0"},
    {"rank 0 by name", "A[i] + s", NULL},
    {"rank 0 with brackets", "A[i] + s[]", "A[i] + s"},
    {"gather", "A[min(max(K[i], 0), 3)]", NULL},
    {"newlines inside parentheses", "(A[i]\n + B[i])", "A[i] + B[i]"},
    {"newline behind an operator", "A[i] +\n B[i]", "A[i] + B[i]"},
    {"reduction", "sum[k<4](A[k]*B[i])", NULL},
    {"reduction in parentheses", "(sum[k<4](A[k]))", "sum[k<4](A[k])"},
    {"several reduction axes", "max[k<4, l<2](A[k]*B[l + i//2])", NULL},
    {"any", "any[k<4](Q[k])", NULL},
    {"all", "all[k<4](A[k] > 0.0)", NULL},
    {"min and prod", "prod[k<4](L[k])", NULL},
};

/* The definition of C as printed, after its input line. */
static const char *printed_body(const char *text) {
  const char *line = strstr(text, "\nC[i<4] = ");
  if (!line) line = text - 1;
  return line + strlen("\nC[i<4] = ");
}

/* Every tensor is used, so that none is refused as not needed. */
static void print_body(void **state) {
  const body_row *row = *state;
  tn_context *ctx = check_context();
  char text[2048], expected[1024];
  snprintf(text, sizeof text, "%s\nC[i<4] = %s\nX[i<4] = A[i]+B[i]+D[i]+K[i]+L[i]+S[i]+U[i]+V[i]+f32(Q[i])+s", INPUTS,
           row->text);
  tn_program *p = parse(ctx, text);
  const char *canonical = tn_program_text(p);
  snprintf(expected, sizeof expected, "%s\n", row->printed ? row->printed : row->text);
  assert_non_null(strstr(canonical, "C[i<4] = "));
  if (strncmp(printed_body(canonical), expected, strlen(expected)) != 0) check_text(canonical, expected);
  tn_program *again = parse(ctx, canonical);
  check_text(tn_program_text(again), canonical);
  assert_string_equal(tn_program_key(again), tn_program_key(p));
  check_context_free(ctx);
}

static const struct program_row {
  const char *name, *text, *printed;
} programs[] = {
    {"matmul", "C[i<8, j<8] = sum[k<8](A[i,k]*B[k,j])",
     "input A: f32[8, 8], B: f32[8, 8]\nC[i<8, j<8] = sum[k<8](A[i, k]*B[k, j])\n"},
    {"parameters are put in", "param N = 4, M = N*2 - 1; C[i<N, j<M] = A[i,j]*M",
     "input A: f32[4, 7]\nC[i<4, j<7] = A[i, j]*7.0\n"},
    {"extern", "input A: f32[4, 8], x: f32[8]; scalar s: f32\nextern y : f32[ 4 ] = f( A,x, s )\nC[i<4] = y[i]",
     "input A: f32[4, 8], x: f32[8]\nscalar s: f32\nextern y: f32[4] = f(A, x, s)\nC[i<4] = y[i]\n"},
    {"extern of several results", "param N = 4; input A: f32[N]; extern (y: f32[N], z: i32, w: bool[2, N]) = f(A, A)",
     "input A: f32[4]\nextern (y: f32[4], z: i32, w: bool[2, 4]) = f(A, A)\n"},
    {"extern of numbers",
     "param N = 4; input A: f32[N]; extern y: f32[N] = f(N*2, -1.5, i64(N), A, f64(1)/3, f64(0.1))",
     "input A: f32[4]\nextern y: f32[4] = f(8, -1.5, i64(4), A, f64(0.3333333333333333), f64(0.1))\n"},
    {"extern of large and small numbers", "extern y: f32[4] = f(3000000000, -3000000000, 1e-30, 1e20, inf)",
     "extern y: f32[4] = f(3000000000, -3000000000, 1e-30, 1e+20, inf)\n"},
    {"extern with its result first", "input A: f32[4]; extern y: f32[4] = f(y, A)",
     "input A: f32[4]\nextern y: f32[4] = f(y, A)\n"},
    {"extern with results exchanged", "extern (y: f32[4], z: i32) = f(z, y)", "extern (y: f32[4], z: i32) = f(z, y)\n"},
    {"extern with results at the end", "extern (y: f32[4], z: i32) = f(2, y, z)",
     "extern (y: f32[4], z: i32) = f(2)\n"},
    {"extern with a tensor named like a word of others",
     "input link: f32[4]; extern schedule: f32[4] = f(link, schedule, 1)",
     "input link: f32[4]\nextern schedule: f32[4] = f(link, schedule, 1)\n"},
    {"intrin", "intrin f {\n  c[i<8] = a[i] * 2 # twice\n} body g; C[i<8] = A[i]",
     "input A: f32[8]\nintrin f { input a: f32[8];c[i<8] = a[i]*2.0 } body g\nC[i<8] = A[i]\n"},
    {"intrin with everything",
     "param N = 8; intrin f { param M = 4; c[i<M] = sum[k<M](a[i,k]) } update h, reset z, body b,\n"
     "  align a N*8, strides a [*, 1], strides c [2], align c 16\nC[i<N] = A[i]",
     "input A: f32[8]\nintrin f { input a: f32[4, 4];c[i<4] = sum[k<4](a[i, k]) } body b, reset z, update h, "
     "align a 64, strides a [*, 1], align c 16, strides c [2]\nC[i<8] = A[i]\n"},
    {"schedule is left out", "schedule { vectorize(C, i) }; C[i<8] = A[i]", "input A: f32[8]\nC[i<8] = A[i]\n"},
    {"extern without inputs", "extern y: f64[3] = f(); output y", "extern y: f64[3] = f()\n"},
    {"extern of what is computed", "P[i<4] = A[i] + 1; extern y: f32[4] = f(P); extern z: f32[4] = f(y); output y, z",
     "input A: f32[4]\nP[i<4] = A[i] + 1.0\nextern y: f32[4] = f(P)\nextern z: f32[4] = f(y)\noutput y, z\n"},
    {"reduction inside an expression", "C[i<4, j<8] = sum[k<9](A[i,k]) * 0.5 + B[j]",
     "input A: f32[4, 9], B: f32[8]\nC.sum[i<4] = sum[k<9](A[i, k])\nC[i<4, j<8] = C.sum[i]*0.5 + B[j]\n"},
    {"reductions inside each other", "C[i<4] = max[k<9](A[i,k] * sum[l<3](B[k,l])) + sum[l<3](B[i,l])",
     "input A: f32[4, 9], B: f32[9, 3]\nC.sum[k<9] = sum[l<3](B[k, l])\nC.max[i<4] = max[k<9](A[i, k]*C.sum[k])\n"
     "C.sum2[i<4] = sum[l<3](B[i, l])\nC[i<4] = C.max[i] + C.sum2[i]\n"},
    {"one reduction of two definitions", "C[i<4] = sum[k<9](A[i,k]) + 1; D[m<4] = -sum[n<9](A[m,n])",
     "input A: f32[4, 9]\nC.sum[i<4] = sum[k<9](A[i, k])\nC[i<4] = C.sum[i] + 1.0\nD[m<4] = -C.sum[m]\n"},
    {"reductions with parts", "C[i<4] = -sum[k<9 where k < i init = B[i]](A[k])",
     "input B: f32[4], A: f32[9]\nC.sum[i<4] = sum[k<9 where k < i init = B[i]](A[k])\nC[i<4] = -C.sum[i]\n"},
    {"bytes that are summed up", "input X: u8[9]; C[i<7] = u8(sum[r<3](u32(X[i+r])) // 3)",
     "input X: u8[9]\nC.sum[i<7] = sum[r<3](u16(X[i + r]))\nC[i<7] = u8(u32(C.sum[i])//3)\n"},
    {"as many as 16 bits hold", "input X: u8[64]; C = f32(sum[r<64](i32(X[r])*4))",
     "input X: u8[64]\nC.sum = sum[r<64](u16(X[r])*4)\nC = f32(i32(C.sum))\n"},
    {"one more than they hold", "input X: u8[64]; C = f32(sum[r<64](i32(X[r])*4 + 4))",
     "input X: u8[64]\nC.sum = sum[r<64](i32(X[r])*4 + 4)\nC = f32(C.sum)\n"},
    {"more steps than a window has", "input X: u8[65]; C = f32(sum[r<65](i32(X[r])))",
     "input X: u8[65]\nC.sum = sum[r<65](i32(X[r]))\nC = f32(C.sum)\n"},
    {"more steps along two axes", "input X: u8[9, 8]; C = f32(sum[r<9, s<8](i32(X[r,s])))",
     "input X: u8[9, 8]\nC.sum = sum[r<9, s<8](i32(X[r, s]))\nC = f32(C.sum)\n"},
    {"signed bytes, with a condition", "input X: i8[9]; C[i<9] = f32(sum[r<3 where i+r < 9](i32(X[i+r])*2 - 1))",
     "input X: i8[9]\nC.sum[i<9] = sum[r<3 where i + r < 9](i16(X[i + r])*2 - 1)\nC[i<9] = f32(i32(C.sum[i]))\n"},
    {"the greatest of bytes", "input X: u8[9]; C[i<7] = max[r<3](u32(X[i+r])) * 1000",
     "input X: u8[9]\nC.max[i<7] = max[r<3](X[i + r])\nC[i<7] = u32(C.max[i])*1000\n"},
    {"the greatest of none of them", "input X: i8[9]; C[i<9] = max[r<3 where i+r < 2](i32(X[i+r])) // 2",
     "input X: i8[9]\nC.max[i<9] = max[r<3 where i + r < 2](i32(X[i + r]))\nC[i<9] = C.max[i]//2\n"},
    {"a product that needs 32 bits", "input X: u8[9], W: u8[3]; C[i<7] = u8(sum[r<3](u32(X[i+r])*u32(W[r])) // 765)",
     "input X: u8[9], W: u8[3]\nC.sum[i<7] = sum[r<3](u32(X[i + r])*u32(W[r]))\nC[i<7] = u8(C.sum[i]//765)\n"},
    {"bytes that are chosen", "input X: u8[9]; C[i<7] = f32(sum[r<3](select(X[i+r] > 9, u32(X[i+r]), u32(7))))",
     "input X: u8[9]\nC.sum[i<7] = sum[r<3](select(X[i + r] > 9, u16(X[i + r]), 7))\nC[i<7] = f32(u32(C.sum[i]))\n"},
    {"halves that are summed up", "input X: i16[9]; C[i<7] = f32(sum[r<3](i32(X[i+r])))",
     "input X: i16[9]\nC.sum[i<7] = sum[r<3](i32(X[i + r]))\nC[i<7] = f32(C.sum[i])\n"},
    {"semicolons and comments", "# head\nB[i<4] = A[i]; C[i<4] = B[i] # tail\n;;\n",
     "input A: f32[4]\nB[i<4] = A[i]\nC[i<4] = B[i]\n"},
    {"carriage returns", "B[i<4] = A[i]\r\nC[i<4] = B[i]\r\n", "input A: f32[4]\nB[i<4] = A[i]\nC[i<4] = B[i]\n"},
    {"rank 0", "S = sum[k<10](A[k]); T = S + 1", "input A: f32[10]\nS = sum[k<10](A[k])\nT = S + 1.0\n"},
    {"rank 0 with brackets", "S[] = 1.5", "S = 1.5\n"},
    {"rank 0 input", "input s: f32, t: i32[]; C[i<4] = s + t", "input s: f32, t: i32\nC[i<4] = s + f32(t)\n"},
    {"rank 8", "C[a<1, b<2, c<1, d<2, e<1, f<2, g<1, h<2] = A[a,b,c,d,e,f,g,h]",
     "input A: f32[1, 2, 1, 2, 1, 2, 1, 2]\n"
     "C[a<1, b<2, c<1, d<2, e<1, f<2, g<1, h<2] = A[a, b, c, d, e, f, g, h]\n"},
    {"two outputs in order of definition", "X[i<4] = A[i]; Y[i<4] = A[i]",
     "input A: f32[4]\nX[i<4] = A[i]\nY[i<4] = A[i]\n"},
    {"an output that is read", "X[i<4] = A[i]; Y[i<4] = X[i]; output X, Y",
     "input A: f32[4]\nX[i<4] = A[i]\nY[i<4] = X[i]\noutput X, Y\n"},
    {"an output statement that changes nothing", "X[i<4] = A[i]; output X", "input A: f32[4]\nX[i<4] = A[i]\n"},
    {"outputs in another order", "X[i<4] = A[i]; Y[i<4] = A[i]; output Y, X",
     "input A: f32[4]\nY[i<4] = A[i]\nX[i<4] = A[i]\n"},
    {"f16", "input A: f16[4], B: bf16[4]; D[i<4] = f16(A[i]*2 + B[i]); C[i<4] = D[i]",
     "input A: f16[4], B: bf16[4]\nD[i<4] = f16(f32(A[i])*2.0 + f32(B[i]))\nC[i<4] = D[i]\n"},
    {"constants of bf16", "C = bf16(0.3); D = f16(7)", "C = bf16(0.3)\nD = f16(7.0)\n"},
    {"where", "C[i<4] = sum[ k<4 where k!=i&&k>1 ](A[k])",
     "input A: f32[4]\nC[i<4] = sum[k<4 where k != i && k > 1](A[k])\n"},
    {"init", "C[i<4] = sum[k<4 init=B[i]](A[k])", "input B: f32[4], A: f32[4]\nC[i<4] = sum[k<4 init = B[i]](A[k])\n"},
    {"where and init", "C[i<4] = max[k<4, l<2 where k<l init=0](A[k])",
     "input A: f32[4]\nC[i<4] = max[k<4, l<2 where k < l init = 0.0](A[k])\n"},
    {"axes named by the parts", "where[init<4] = sum[where<4 where where < init](A[where])",
     "input A: f32[4]\nwhere[init<4] = sum[where<4 where where < init](A[where])\n"},
    {"argmax", "I[i<4] = argmax[k<3](A[i,k])", "input A: f32[4, 3]\nI[i<4] = argmax[k<3](A[i, k])\n"},
    {"argmin with its values", "(I, V)[i<4] = argmin[ k<3,l<2 where k>l ](A[i,k]*l)",
     "input A: f32[4, 3]\n(I, V)[i<4] = argmin[k<3, l<2 where k > l](A[i, k]*f32(l))\n"},
    {"argmax of a position written out", "I = argmax[k<3, l<2](k*2 + l, A[k])",
     "input A: f32[3]\nI = argmax[k<3, l<2](A[k])\n"},
    {"argmax of another index", "(I, V) = argmax[k<3 init=(7, 0)](i64(2 - k), A[k])",
     "input A: f32[3]\n(I, V) = argmax[k<3 init = (7, 0.0)](i64(2 - k), A[k])\n"},
    {"a tuple", "(S, D)[i<4] = (A[i]+B[i], A[i] - B[i])",
     "input A: f32[4], B: f32[4]\n(S, D)[i<4] = (A[i] + B[i], A[i] - B[i])\n"},
    {"a tuple of several dtypes", "(S, D, E) = (1, 2.5, f16(3))", "(S, D, E) = (1, 2.5, f16(3.0))\n"},
    {"the second value is the output", "(S, D)[i<4] = (A[i], A[i]*2); output D",
     "input A: f32[4]\n(S, D)[i<4] = (A[i], A[i]*2.0)\noutput D\n"},
    {"one value is read", "(S, D)[i<4] = (A[i], A[i]*2); C[i<4] = D[i]",
     "input A: f32[4]\n(S, D)[i<4] = (A[i], A[i]*2.0)\nC[i<4] = D[i]\n"},
    {"a combiner",
     "combiner both(a: f32, b: i32;\n  c, d) =\n (a+c, b + d),\n identity (0, 0)\n(S, N)[i<4] = both[k<3](A[i,k], 1)",
     "input A: f32[4, 3]\ncombiner both(a: f32, b: i32; c, d) = (a + c, b + d), identity (0.0, 0)\n"
     "(S, N)[i<4] = both[k<3](A[i, k], 1)\n"},
    {"a combiner of one value",
     "combiner nor(a: bool; b) = (a != b), identity (false)\nC = nor[k<3 init = (true)](A[k] > 0)",
     "input A: f32[3]\ncombiner nor(a: bool; b) = (a != b), identity (false)\nC = nor[k<3 init = (true)](A[k] > "
     "0.0)\n"},
    {"a combiner used twice", "combiner c(a: f32; b) = (a + b), identity (0); B = c[k<3](A[k]); C = c[l<3](A[l] + B)",
     "input A: f32[3]\ncombiner c(a: f32; b) = (a + b), identity (0.0)\nB = c[k<3](A[k])\nC = c[l<3](A[l] + B)\n"},
    {"no input", "C[i<4] = i*2", "C[i<4] = i*2\n"},
    {"producers come before consumers", "X[i<4] = A[i]; Y[i<4] = B[i]; Z[i<4] = Y[i] + X[i]",
     "input A: f32[4], B: f32[4]\nY[i<4] = B[i]\nX[i<4] = A[i]\nZ[i<4] = Y[i] + X[i]\n"},
    {"symbols in the order of the arguments", "symbol N<=40, 2<=M; C[i<M, j<N] = A[i,j]*M",
     "symbol 2<=M, N<=40\ninput A: f32[M, N]\nC[i<M, j<N] = A[i, j]*f32(M)\n"},
    {"inferred shapes of symbols", "symbol M; C[i<M] = A[i+2] + A[M-1-i] + B[i, 3]",
     "symbol M\ninput A: f32[M + 2], B: f32[M, 4]\nC[i<M] = A[i + 2] + A[M - 1 - i] + B[i, 3]\n"},
    {"extents made of symbols",
     "symbol M<=99, N<=99; input A: f32[M], B: f32[N]; C[i<(M+N)//2, j<max(M, N)*2] = A[0]+B[0]",
     "symbol M<=99, N<=99\ninput A: f32[M], B: f32[N]\nC[i<(M + N)//2, j<max(M, N)*2] = A[0] + B[0]\n"},
    {"strided inputs",
     "input A: f32[4,6] strided, W: f32[6,2] layout_free strided; C[i<4, j<2] = sum[k<6](A[i,k]*W[k,j])",
     "input A: f32[4, 6] strided, W: f32[6, 2] layout_free strided\nC[i<4, j<2] = sum[k<6](A[i, k]*W[k, j])\n"},
    {"strided outputs", "B[i<4, j<6] = A[i,j]*2; C[i<4, j<6] = B[i,j] + 1; output C strided, B",
     "input A: f32[4, 6]\nB[i<4, j<6] = A[i, j]*2.0\nC[i<4, j<6] = B[i, j] + 1.0\noutput C strided, B\n"},
    {"a strided output that an output statement need not name",
     "state S: f32[4,2]; scan S[t<4, i<2] = select(t < 1, A[i], S[t-1, i]); output S strided",
     "input A: f32[2]\nstate S: f32[4, 2]\nscan S[t<4, i<2] = select(t < 1, A[i], S[t - 1, i])\noutput S strided\n"},
    {"scalars and tensors in turn",
     "scalar a: f32; input A: f32[4]; scalar n: i8; scalar b: bool; C[i<4] = A[i]*a*n + b",
     "scalar a: f32\ninput A: f32[4]\nscalar n: i8, b: bool\nC[i<4] = A[i]*a*f32(n) + f32(b)\n"},
    {"declared order of inputs stays", "input B: f32[4], A: f32[4]; C[i<4] = A[i] + B[i]",
     "input B: f32[4], A: f32[4]\nC[i<4] = A[i] + B[i]\n"},
    {"axis that hides a rank-0 tensor", "input i: f32; C[i<4] = i[] + i", "input i: f32\nC[i<4] = i[] + f32(i)\n"},
    {"axes may be named like tensors", "C[A<4] = A[A]", "input A: f32[4]\nC[A<4] = A[A]\n"},
    {"inputs over several lines", "input A: f32[4],\n  B: i8[4]\nC[i<4] = A[i] + B[i]",
     "input A: f32[4], B: i8[4]\nC[i<4] = A[i] + f32(B[i])\n"},
    {"extents by functions of parameters", "param N = 10; C[i<min(N, 7)//2] = A[i]",
     "input A: f32[3]\nC[i<3] = A[i]\n"},
    {"unused definitions behind a constant select go", "B[i<4] = A[i]; C[i<4] = select(true, A[i], B[i])",
     "input A: f32[4]\nC[i<4] = A[i]\n"},
};

static void print_program(void **state) {
  const struct program_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, row->text);
  check_text(tn_program_text(p), row->printed);
  check_text(tn_program_text(parse(ctx, row->printed)), row->printed);
  check_context_free(ctx);
}

static void overrides(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  const char *text = "param N = 4, M = N*2; C[i<N, j<M] = A[i,j]";
  tn_program *p = tn_program_parse(ctx, text, 1, &(tn_param){"N", 3});
  check_ok(ctx);
  check_text(tn_program_text(p), "input A: f32[3, 6]\nC[i<3, j<6] = A[i, j]\n");
  assert_null(tn_program_parse(ctx, text, 1, &(tn_param){"K", 3}));
  check_fails(ctx, TN_ERROR_ARGUMENT, "no parameter 'K'", "N");
  p = tn_program_parse(ctx, text, 2, (const tn_param[]){{"N", 3}, {"N", 5}});
  check_has(tn_program_text(p), "C[i<5, j<10]");
  check_context_free(ctx);
}

/* A symbol that is given a value is a parameter; the value is one that the symbol can have. */
static void symbols_given(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  const char *text = "symbol 3<=M<=64; C[i<M] = A[i]";
  check_text(tn_program_text(tn_program_parse(ctx, text, 1, &(tn_param){"M", 64})),
             "input A: f32[64]\nC[i<64] = A[i]\n");
  check_ok(ctx);
  assert_null(tn_program_parse(ctx, text, 1, &(tn_param){"M", 65}));
  check_fails(ctx, TN_ERROR_PARSE, "symbol 'M' is in 3 .. 64, and is given the value 65");
  assert_null(tn_program_parse(ctx, text, 1, &(tn_param){"M", 2}));
  check_fails(ctx, TN_ERROR_PARSE, "symbol 'M' is in 3 .. 64, and is given the value 2");
  check_context_free(ctx);
}

static void keys(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "C[i<4] = A[i]"), *same = parse(ctx, "C[ i<2+2 ] = (A[i])"),
             *other = parse(ctx, "C[i<5] = A[i]");
  assert_int_equal(strlen(tn_program_key(p)), 16);
  assert_int_equal(strspn(tn_program_key(p), "0123456789abcdef"), 16);
  assert_string_equal(tn_program_key(p), tn_program_key(same));
  assert_string_not_equal(tn_program_key(p), tn_program_key(other));
  check_context_free(ctx);
}

/* C calls make of a reduction inside an expression what the text makes of it. */
static void reduction_from_c(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 9);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4, 9);
  tn_tensor *C = tn_compute(ctx, "C", tn_mul(tn_sum(tn_at(A, i, k), k), 0.5), i);
  check_ok(ctx);
  check_text(tn_program_text(tn_program_new(ctx, A, C)),
             "input A: f32[4, 9]\nC.sum[i<4] = sum[k<9](A[i, k])\nC[i<4] = C.sum[i]*0.5\n");
  check_context_free(ctx);
}

/* The programs that come with Tenon parse, and print as fixed points. */
static void shipped(void **state) {
  const char *const *row = *state;
  char path[512];
  snprintf(path, sizeof path, "%s/examples/programs/%s.te", TENON_SOURCE_DIR, row[0]);
  tn_context *ctx = check_context();
  char *text = runtime_read_file(ctx, path, NULL);
  check_ok(ctx);
  tn_program *p = parse(ctx, text);
  check_text(tn_program_text(parse(ctx, tn_program_text(p))), tn_program_text(p));
  free(text);
  check_context_free(ctx);
}

static const char *const shipped_rows[] = {
    "vector_add", "matmul", "batch_matmul", "conv2d", "conv2d_layer", "depthwise_conv", "conv2d_transpose", "softmax",
    "layer_norm", "argmax", "welford",      "cumsum", "rnn"};

int test_print(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(overrides), cmocka_unit_test(symbols_given),
                                     cmocka_unit_test(keys), cmocka_unit_test(reduction_from_c)};
  return CHECK_TABLE("print expressions", bodies, print_body) + CHECK_TABLE("print programs", programs, print_program) +
         CHECK_TABLE("shipped programs", shipped_rows, shipped) + CHECK_TESTS("programs", tests);
}
