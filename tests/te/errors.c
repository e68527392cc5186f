/* What the parser refuses, and how it says so: exactly for the form of messages, by their parts for the rest. */
#include "tests/te/tests.h"

static const struct exact_row {
  const char *name, *text, *message;
} exact[] = {
    {"expected and found", "C[i<4] = A[i*]",
     "parse error at line 1, column 14: expected a value, found ']'\n"
     "C[i<4] = A[i*]\n"
     "             ^"},
    {"line and column", "# head\nB[i<4] = A[i]\nC[i<4] = B[i} + 1\n",
     "parse error at line 3, column 13: expected ',' or ']', found '}'\n"
     "C[i<4] = B[i} + 1\n"
     "            ^"},
    {"end of the text", "C[i<4] = A[i\n\n",
     "parse error at line 1, column 13: expected ',' or ']', found the end of the text\n"
     "C[i<4] = A[i\n"
     "            ^"},
    {"tabs stay under tabs", "C[i<4]\t=\trelu(i)",
     "parse error at line 1, column 10: unknown function 'relu': write max(x, 0)\n"
     "C[i<4]\t=\trelu(i)\n"
     "      \t \t^"},
    {"columns are characters", "C[i<4] = \xc3\xa4",
     "parse error at line 1, column 10: unexpected byte 0xc3\n"
     "C[i<4] = \xc3\xa4\n"
     "         ^"},
    {"a read outside its tensor", "input A: f32[10]; C[i<10] = A[i+1]",
     "parse error at line 1, column 29: 'C' reads A[i + 1]: index 0 spans [1, 10], but the extent is 10: guard the "
     "read "
     "by select, or change an extent\n"
     "input A: f32[10]; C[i<10] = A[i+1]\n"
     "                            ^"},
};

static void exact_message(void **state) {
  const struct exact_row *row = *state;
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, row->text, 0, NULL));
  assert_int_equal(tn_context_status(ctx), TN_ERROR_PARSE);
  check_text(tn_context_message(ctx), row->message);
  check_context_free(ctx);
}

static const struct error_row {
  const char *name, *text, *parts[3];
} errors[] = {
    {"empty", "", {"the program defines no tensor"}},
    {"extern without a dtype", "extern y = f(A)", {"column 10", "expected ':' and a dtype, found '='"}},
    {"extern without a call", "input A: f32[4]; extern y: f32[4] = A", {"expected '(' and what the function reads"}},
    {"extern of an unknown tensor",
     "extern y: f32[4] = f(A)",
     {"column 22", "'A' is not given before this statement: declare it, as in input A: f32[8]"}},
    {"extern of an element", "input A: f32[4]; extern y: f32[4] = f(A[0])", {"expected ',' or ')', found '['"}},
    {"a guarded read that is below 0 in any case",
     "C[i<4] = select(i > 1, A[i-9], 0)",
     {"column 24", "'C' reads 'A' below 0: index 0 spans [-7, -6]"}},
    {"extern with a result twice",
     "input A: f32[4]; extern y: f32[4] = f(y, A, y)",
     {"f is given result 'y' 2 times: give each result once, or none"}},
    {"extern with one of two results",
     "extern (y: f32[4], z: f32) = f(z)",
     {"f is given result 'y' 0 times: give each result once, or none"}},
    {"extern of an expression",
     "input s: f32; extern y: f32[4] = f(1 + s)",
     {"column 36", "this argument is no tensor, result or constant number, and not made of symbols"}},
    {"extern of symbols that wrap",
     "symbol M; input A: f32[M]; extern y: f32[4] = f(M*M); B[i<M] = A[i] + y[0]",
     {"column 49", "this argument can be more than an i32 holds", "symbol M<=4096"}},
    {"extern of a symbol as a byte",
     "symbol M; input A: f32[M]; extern y: f32[4] = f(u8(M), A)",
     {"f: input 1 is a number of u8; functions take i32, i64, f32 or f64: write i32(M)"}},
    {"extern of a symbol without a value",
     "symbol M, N; input A: f32[M]; extern y: f32[4] = f(N, A)",
     {"symbol 'N', which 'y' uses, is not the extent of a dimension of an input or output"}},
    {"extern of a bool", "extern y: f32[4] = f(true)", {"f: input 1 is a number of bool"}},
    {"extern of a half", "extern y: f32[4] = f(f16(1))", {"f: input 1 is a number of f16"}},
    {"extern of too large a number", "extern y: f32[4] = f(1e300)", {"1e+300 does not fit f32: write f64(1e+300)"}},
    {"externs of several numbers",
     "extern y: f32[4] = f(1); extern z: f32[4] = f(1.0)",
     {"'y' and 'z' call f with arguments of different types"}},
    {"externs with results at other places",
     "input A: f32[4]; extern y: f32[4] = f(A); extern z: f32[4] = f(z, A)",
     {"'y' and 'z' call f with arguments of different types"}},
    {"intrin without a pattern", "intrin f body g", {"column 10", "expected '{' and the pattern", "found 'body'"}},
    {"intrin without end", "intrin f { c[i<4] = a[i]", {"column 10", "this '{' has no '}'"}},
    {"intrin with a comment for its end", "intrin f { c[i<4] = a[i] # }", {"column 10", "this '{' has no '}'"}},
    {"intrin without functions",
     "intrin f { c[i<4] = a[i] }",
     {"expected body, reset or update and a function's name"}},
    {"intrin with a pattern that is none",
     "C[i<4] = A[i]\n  intrin f { c[i<4] = a[i*2] } body g",
     {"line 2, column 10", "intrinsic f: it reads an input at more than plain axes"}},
    {"intrin with a broken pattern",
     "C[i<4] = A[i]\nintrin f {\n  c[i<4] = a[ } body g",
     {"line 3, column 14", "expected"}},
    {"intrin whose reduction has no update",
     "intrin f { c[i<4] = sum[k<4](a[i,k]) } body g",
     {"intrinsic f: a reduction needs an update"}},
    {"intrin with a function twice",
     "intrin f { c[i<4] = a[i] } body g, body h",
     {"column 36", "this function is given twice"}},
    {"intrin with another part",
     "intrin f { c[i<4] = a[i] } body g, link h",
     {"expected body, reset or update", "found 'link'"}},
    {"intrin twice",
     "intrin f { c[i<4] = a[i] } body g\nintrin f { c[i<4] = a[i] } body g",
     {"line 2, column 8", "there is an intrinsic 'f' above"}},
    {"intrin of a built-in's name",
     "intrin gemv_4x4 { c[i<4] = a[i] } body g",
     {"intrinsic gemv_4x4: there is another one of this name"}},
    {"intrin with an odd alignment",
     "intrin f { c[i<4] = a[i] } body g, align a 48",
     {"column 44", "an alignment is a power of two, 1 to 64 bytes, not 48"}},
    {"intrin with too much alignment",
     "intrin f { c[i<4] = a[i] } body g, align a 128",
     {"an alignment is a power of two, 1 to 64 bytes, not 128"}},
    {"intrin that aligns twice",
     "intrin f { c[i<4] = a[i] } body g, align a 64, align a 32",
     {"the alignment of 'a' is given twice"}},
    {"intrin that aligns what is not there",
     "intrin f { c[i<4] = a[i] } body g, align b 64",
     {"intrinsic f: the pattern has no tensor 'b'; it has a, c"}},
    {"intrin with a stride of 0",
     "intrin f { c[i<4] = a[i] } body g, strides a [0]",
     {"a stride is 1 or more elements, or *"}},
    {"intrin with strides of another rank",
     "intrin f { c[i<4] = a[i] } body g, strides a [8, 1]",
     {"intrinsic f: 'a' has 1 dimensions, and 2 strides are given"}},
    {"schedule without end", "C[i<4] = A[i]\nschedule { vectorize(C, i)", {"line 2, column 10", "this '{' has no '}'"}},
    {"schedule with more behind it",
     "schedule { } C[i<4] = A[i]",
     {"column 14", "expected ',' or the end of the statement"}},
    {"extern that is there", "input A: f32[4]; extern A: f32[4] = f(A)", {"'A' is already given in line 1"}},
    {"extern of two results of one name",
     "extern (y: f32, y: f32) = f()",
     {"column 17", "'y' names two results of this call"}},
    {"extern of nine results",
     "extern (a: i8, b: i8, c: i8, d: i8, e: i8, g: i8, h: i8, i: i8, j: i8) = f()",
     {"a call computes at most 8 tensors"}},
    {"extern with a word as its function",
     "input A: f32[4]; extern y: f32[4] = exp(A)",
     {"'exp' is a word of the language and cannot name a function"}},
    {"extern with an extent below 1",
     "symbol M; input A: f32[M]; extern y: f32[M - 1] = f(M, A)",
     {"an extent, M - 1, can be 0: it must be at least 1"}},
    {"extern with the extent of a symbol that nothing gives",
     "symbol M, N; input A: f32[M]; extern (y: f32[M], z: f32[N + 1]) = f(A); B[i<M] = y[i] + z[0]",
     {"symbol 'N', which 'y' uses, is not the extent of a dimension"}},
    {"extern that reads strides",
     "input A: f32[4, 4] strided; extern y: f32[4] = f(A)",
     {"'y' calls f with 'A', whose strides are known at a call only", "give it a copy"}},
    {"extern with a small scalar",
     "scalar s: i8; extern y: f32[4] = f(s)",
     {"f: scalar 's' is i8", "as in one[i<1] = s"}},
    {"extern without end", "extern y: f32[4] = f() + 1", {"expected ',' or the end of the statement, found '+'"}},
    {"externs of several types",
     "input A: f32[4], K: i32[4]; extern y: f32[4] = f(A); extern z: f32[4] = f(K)",
     {"'y' and 'z' call f with arguments of different types"}},
    {"extern in a scan",
     "state S: f32[4]; extern Z: f32[4] = f(S); scan S[t<4] = select(t < 1, X[t], Z[t-1])",
     {"'Z' is a step of the scan of 'S', and is computed by a call of f", "before or behind the scan"}},
    {"extern that is not needed",
     "input A: f32[4]; extern y: f32[4] = f(A); C[i<4] = A[i]; output C",
     {"'y' is not needed by any output"}},
    {"state without a scan", "state S: f32[4]", {"state 'S' is declared, but no scan defines it"}},
    {"state of rank 0", "state S: f32\nscan S = 1", {"state 'S' has rank 0", "its first dimension is the time"}},
    {"scan without a state", "scan S[t<4] = X[t]", {"column 6", "'S' is no state: declare it above"}},
    {"scan of a tensor", "S[t<4] = X[t]\nscan S[t<4] = X[t]", {"'S' is no state"}},
    {"scan given twice",
     "state S: f32[4]\nscan S[t<4] = X[t]\nscan S[t<4] = X[t]",
     {"line 3", "state 'S' has a scan already"}},
    {"definition of a state", "state S: f32[4]\nS[t<4] = X[t]", {"line 2, column 1", "'S' is already given in line 1"}},
    {"scan of another rank",
     "state S: f32[4]\nscan S[t<4, i<2] = X[t]",
     {"state 'S' has rank 1, but its scan has 2 axes"}},
    {"scan of another extent",
     "state S: f32[4]\nscan S[t<5] = X[t]",
     {"dimension 0 of state 'S' is 4, but axis 't' of its scan has extent 5"}},
    {"scan of another dtype",
     "input X: i32[4]\nstate S: f32[4]\nscan S[t<4] = X[t]",
     {"state 'S' is f32, but its scan gives i32", "f32(x)"}},
    {"scan that is a reduction",
     "state S: f32[4]\nscan S[t<4] = sum[k<2](X[t,k])",
     {"the scan of 'S' is a reduction", "Z[t, ...] = sum[k](...)"}},
    {"read of the present",
     "state S: f32[4]\nscan S[t<4] = S[t] + X[t]",
     {"'S' reads S[t] in the scan of 'S'", "the first index must be t - c with a constant c >= 1"}},
    {"read of the future", "state S: f32[4]\nscan S[t<4] = select(t < 3, S[t+1], X[t])", {"'S' reads S[t + 1]"}},
    {"read of a time from data",
     "input K: i32[4]; state S: f32[4]\nscan S[t<4] = S[K[t]] + X[t]",
     {"'S' reads S[K[t]]"}},
    {"read of half the time", "state S: f32[4]\nscan S[t<4] = select(t > 0, S[t//2], X[t])", {"'S' reads S[t//2]"}},
    {"read before time 0",
     "state S: f32[4]\nscan S[t<4] = S[t-1] + X[t]",
     {"'S' reads S[t - 1]: index 0 spans [-1, 2]", "guard the read by select"}},
    {"a step that reads the present",
     "state S: f32[4]\nZ[t<4] = S[t]*2\nscan S[t<4] = Z[t] + X[t]",
     {"'Z' reads S[t] in the scan of 'S'", "c >= 1"}},
    {"a step read ahead",
     "state S: f32[4]\nZ[t<4] = select(t > 0, S[t-1], 0)\nscan S[t<4] = select(t < 3, Z[t+1], 0)",
     {"'S' reads Z[t + 1] in the scan of 'S'", "c >= 0"}},
    {"a step without time",
     "state S: f32[4]\nZ = S[0]\nscan S[t<4] = Z + X[t]",
     {"'Z' is a step of the scan of 'S': its first dimension must be the time"}},
    {"a step read outside",
     "state S: f32[4]\nZ[t<4] = select(t > 0, S[t-1], 0)\nscan S[t<4] = Z[t] + X[t]\nO[t<4] = S[t] + Z[t]",
     {"'Z' is a step of the scan of 'S'", "'O' reads it", "make it another state"}},
    {"a step read outside first",
     "state S: f32[4]\nZ[t<4] = select(t > 0, S[t-1], 0)\nscan S[t<4] = Z[t] + X[t]\nO[t<4] = Z[t] + S[t]",
     {"'Z' is a step of the scan of 'S'", "'O' reads it"}},
    {"a step that is an output",
     "state S: f32[4]\nZ[t<4] = select(t > 0, S[t-1], 0)\nscan S[t<4] = Z[t] + X[t]\noutput S, Z",
     {"'Z' is a step of the scan of 'S'", "it is an output"}},
    {"scans that nest",
     "state S: f32[4]\nstate R: f32[4]\nscan R[t<4] = select(t > 0, R[t-1] + S[t-1], 0)\nscan S[t<4] = R[t] + X[t]",
     {"'R'", "'S'"}},
    {"states of two shapes",
     "state S: f32[4], R: f32[5]",
     {"the states of one scan have one shape: 'R' has another than 'S'"}},
    {"a state twice", "state S: f32[4], S: f32[4]", {"'S' names two states"}},
    {"one state of two",
     "state S: f32[4], R: f32[4]\nscan S[t<4] = X[t]",
     {"defines all states of its statement", "'R' is number 2"}},
    {"states in another order", "state S: f32[4], R: f32[4]\nscan (R, S)[t<4] = (X[t], X[t])", {"'S' is number 1"}},
    {"states of two statements",
     "state S: f32[4]\nstate R: f32[4]\nscan (S, R)[t<4] = (X[t], X[t])",
     {"'R' was not declared together with 'S'"}},
    {"a tensor named scan", "scan[i<4] = A[i]", {"expected a", "found '['"}},
    {"where without a bool", "C = sum[k<4 where k](A[k])", {"column 19", "'where' cannot take k, which is i32"}},
    {"where without a condition", "C = sum[k<4 where](A[k])", {"column 18", "expected a value, found ']'"}},
    {"where behind init", "C = sum[k<4 init = 1 where k > 1](A[k])", {"expected an operator or ']', found 'where'"}},
    {"where of a tensor's axes", "C[i<4] = A[i where i > 1]", {"expected ',' or ']', found 'where'"}},
    {"where with an unknown axis", "C = sum[k<4 where q < 2](A[k])", {"unknown name 'q'"}},
    {"init of a reduction axis", "C = sum[k<4 init = f32(k)](A[k])", {"init f32(k) uses the reduction axis 'k'"}},
    {"init of another dtype",
     "input A: f32[4], B: f64; C = sum[k<4 init = B](A[k])",
     {"init B is f64, but the reduction is f32", "f32(x)"}},
    {"init of a float for integers", "input A: i32[4]; C = sum[k<4 init = 0.5](A[k])", {"init 0.5 is f32"}},
    {"init without a value", "C = sum[k<4 init](A[k])", {"expected '=' and what to start from, found ']'"}},
    {"init that is a reduction", "C = sum[k<4 init = sum[l<2](A[l])](A[k])", {"a reduction cannot stand here"}},
    {"a word behind the axes", "C = sum[k<4 from 2](A[k])", {"expected where, init or ']', found 'from'"}},
    {"where that does not guard",
     "input A: f32[2]; C = sum[k<4 where k >= 0](A[k - 9])",
     {"index 0 spans [-9, -6]", "guard the read"}},
    {"bits of floats", "C[i<4] = A[i] & 1", {"column 15", "'&' cannot take A[i], which is f32", "i32(x)"}},
    {"bits of a float on the right", "C[i<4] = i | A[i]", {"'|' cannot take A[i], which is f32"}},
    {"bits of booleans", "C[i<4] = (i > 1) ^ (i < 3)", {"'^' cannot take i > 1, which is bool", "use &&"}},
    {"complement of a boolean", "C[i<4] = ~(i > 1)", {"'~' cannot take i > 1, which is bool", "use &&"}},
    {"complement of a float", "C[i<4] = ~A[i]", {"'~' cannot take A[i], which is f32", "it needs an integer"}},
    {"shift of a float", "C[i<4] = A[i] << 2", {"'<<' cannot take A[i], which is f32"}},
    {"shift by a float", "C[i<4] = i >> 1.5", {"'>>' cannot take 1.5, which is f32"}},
    {"popcount of a float", "C[i<4] = popcount(A[i])", {"'popcount' cannot take A[i], which is f32"}},
    {"log2 of an integer", "C[i<4] = log2(i)", {"'log2' cannot take i, which is i32", "f32(x)"}},
    {"isnan of an integer", "C[i<4] = isnan(i)", {"'isnan' cannot take i, which is i32"}},
    {"atan2 of one value", "C[i<4] = atan2(A[i])", {"'atan2' takes 2 operands, 1 given"}},
    {"if_then_else without a condition", "C[i<4] = if_then_else(i, 1, 2)", {"which is i32", "it needs a bool"}},
    {"a function's name", "hypot[i<4] = A[i]", {"'hypot' is a word of the language"}},
    {"a misspelt function", "C[i<4] = log11(A[i])", {"unknown function 'log11'; did you mean 'log10'?"}},
    {"only a comment", "# nothing", {"the program defines no tensor"}},
    {"only inputs", "input A: f32[4]", {"the program defines no tensor"}},
    {"redefinition", "C[i<4] = A[i]\nC[i<4] = A[i]", {"line 2, column 1", "'C' is already given in line 1"}},
    {"definition of an input", "input A: f32[4]; A[i<4] = 1", {"'A' is already given in line 1"}},
    {"use before definition",
     "C[i<4] = B[i]\nB[i<4] = A[i]",
     {"line 2", "'B' is read in line 1, before it is given here"}},
    {"declaration after use", "C[i<4] = A[i]; input A: f32[4]", {"'A' is read in line 1, before it is given here"}},
    {"own value", "C[i<4] = C[i] + 1", {"column 10: 'C' reads itself"}},
    {"parameter and tensor", "param N = 4; N[i<4] = 1", {"'N' is already a parameter"}},
    {"parameter twice", "param N = 4, N = 5; C[i<N] = 1", {"column 14", "'N' is already a parameter"}},
    {"unknown axis", "C[i<4] = A[q]", {"column 12", "unknown name 'q'"}},
    {"axis of another statement", "B[j<4] = A[j]; C[i<4] = B[j]", {"unknown name 'j'"}},
    {"reduction axis outside", "C[i<4] = A[k] + 1", {"unknown name 'k'"}},
    {"reduction axis behind its reduction", "C[i<4] = sum[k<4](A[k]) + A[k]", {"unknown name 'k'"}},
    {"axis twice", "C[i<4, i<4] = A[i]", {"column 8", "already has an axis 'i'"}},
    {"reduction axis hides an axis", "C[i<4] = sum[i<4](A[i])", {"column 14", "already has an axis 'i'"}},
    {"too few indices", "input A: f32[4,4]; C[i<4] = A[i]", {"'A' has rank 2, but 1 index is given"}},
    {"too many indices", "input A: f32[4]; C[i<4] = A[i,i]", {"'A' has rank 1, but 2 indices are given"}},
    {"rank differs between reads", "C[i<4] = A[i] + A[i,i]", {"'A' has rank 1, but 2"}},
    {"tensor by name alone", "input A: f32[4]; C[i<4] = A", {"'A' has rank 1: read an element, A[...]"}},
    {"unknown function", "C[i<4] = exq(A[i])", {"unknown function 'exq'; did you mean 'exp'?"}},
    {"unknown function far from all",
     "C[i<4] = frobnicate(A[i])",
     {"unknown function 'frobnicate': there are ", "select pow exp", "a tensor is read with [ ]"}},
    {"tensor called", "input A: f32[4]; C[i<4] = A(i)", {"'A' is a tensor: read it with [ ]"}},
    {"reduction without axes", "C = sum(A[0])", {"the reduction 'sum' needs its axes: sum[k<10](...)"}},
    {"reduction with empty axes", "C = sum[](A[0])", {"a reduction needs an axis"}},
    {"unknown reduction", "C = mean[k<4](A[k])", {"unknown reduction 'mean'", "sum, prod, max, min, any, all"}},
    {"function arity", "C[i<4] = exp(A[i], A[i])", {"'exp' takes 1 operand, 2 given"}},
    {"function without operands", "C[i<4] = exp()", {"'exp' is given no operands"}},
    {"select arity", "C[i<4] = select(A[i] > 0, 1)", {"'select' takes 3 operands, 2 given"}},
    {"unknown dtype",
     "input A: f33[4]; C[i<4] = A[i]",
     {"unknown dtype 'f33'", "bool i8 u8 i16 u16 i32 u32 i64 f16 bf16 f32 f64"}},
    {"symbol that nothing binds", "symbol M; C[i<4] = A[i] + M", {"symbol 'M', which 'C' uses, is not the extent"}},
    {"symbol bound in an expression only",
     "symbol M; input A: f32[M + 1]; C = sum[i<M](A[i])",
     {"symbol 'M', which 'A' uses, is not the extent of a dimension"}},
    {"symbolic extent below 1",
     "symbol M; input A: f32[M]; C[i<M - 1] = A[i]",
     {"column 32", "an extent, M - 1, can be 0: it must be at least 1"}},
    {"symbolic extent too large", "symbol M; input A: f32[M]; C[i<M*5] = A[i//5]", {"an extent, M*5, can be"}},
    {"symbolic extent of an axis", "symbol M; C[i<M, j<i] = A[i]", {"must be a constant integer made of literals"}},
    {"symbolic extent of a float", "symbol M; C[i<M*1.5] = A[i]", {"is no number and not made of symbols"}},
    {"symbols that are not compared",
     "symbol M, N; input A: f32[M], B: f32[N]; C[i<M] = A[i] + B[i]",
     {"'C' reads B[i]: index 0 is not known to be in 0 .. N - 1"}},
    {"read beyond a symbol",
     "symbol M; input A: f32[M]; C[i<M] = A[i + 1]",
     {"'C' reads A[i + 1]: index 0 is not known"}},
    {"constant read of a symbolic extent", "symbol M; input A: f32[M]; C[i<M] = A[4]", {"'C' reads A[4]: index 0"}},
    {"symbolic read of a constant extent",
     "symbol M; input A: f32[64]; C[i<M] = A[i]",
     {"'C' reads A[i]: index 0 spans [0, 536870910], but the extent is 64"}},
    {"unknown symbolic shape", "symbol M; C[i<M] = A[i//2]", {"the shape of 'A' cannot be found from index 0 here"}},
    {"symbol with limits upside down", "symbol 5<=M<=3; C[i<M] = 1", {"symbol 'M' in 5 .. 3"}},
    {"symbol named like an axis", "symbol M; C[M<4] = A[M]", {"'M' is a symbol: give the axis another name"}},
    {"symbol named twice", "symbol M, M; C[i<M] = 1", {"'M' is already a symbol"}},
    {"symbol and parameter", "param M = 4; symbol M; C[i<M] = 1", {"expected '<=' and the symbol"}},
    {"a strided input of rank 1",
     "input A: f32[4] strided; C[i<4] = A[i]",
     {"line 1, column 7", "'A' has rank 1 and no stride but the last, which is always 1"}},
    {"a strided output of rank 1",
     "C[i<4] = A[i]; output C strided",
     {"line 1, column 23", "'C' has rank 1 and no stride but the last, which is always 1"}},
    {"strided behind an input's name",
     "input A: f32[4,4]; C[i<4] = A[i,0]; output A strided",
     {"'A' is no tensor defined before this statement"}},
    {"the stride's name of an output",
     "input C_stride0: f32[4]; C[i<4, j<4] = C_stride0[i]; output C strided",
     {"'C_stride0' has the name of a stride of 'C', which is strided"}},
    {"extern that writes strides",
     "input A: f32[4]; extern y: f32[4, 4] = f(A); output y strided",
     {"'y' is strided and written by a call of f: a function takes compact arrays", "make a copy of 'y'"}},
    {"a stride's name",
     "input A: f32[4,4] strided, A_stride0: f32[4]; C[i<4] = A[i,0] + A_stride0[i]",
     {"'A_stride0' has the name of a stride of 'A', which is strided"}},
    {"a scalar with extents", "scalar a: f32[4]; C[i<4] = a", {"line 1, column 14", "a scalar has no extents"}},
    {"a scalar that nothing reads", "scalar a: f32; C[i<4] = A[i]", {"'a' is not needed by any output"}},
    {"a scalar named twice", "scalar a: f32, a: i32; C[i<4] = a", {"'a' is already given in line 1"}},
    {"scalar as a name", "scalar[i<4] = 1", {"expected a scalar's name"}},
    {"dtype of later versions", "input A: f8[4]; C[i<4] = A[i]", {"unknown dtype 'f8'"}},
    {"f16 as an index", "input A: f32[4], K: f16[4]; C[i<4] = A[K[i]]", {"an index is an integer"}},
    {"bits of bf16", "input A: bf16[4]; C[i<4] = A[i] & 1", {"'&' cannot take f32(A[i]), which is f32"}},
    {"f16 as a name", "f16[i<4] = A[i]", {"'f16' is a word of the language"}},
    {"missing dtype", "input A; C[i<4] = A[i]", {"expected ':' and a dtype, found ';'"}},
    {"extent zero", "C[i<0] = 1", {"column 5", "extent 0 of axis 'i' is not in 1 .. 2147483647"}},
    {"extent negative", "param N = 3; C[i<N-5] = 1", {"extent -2 of axis 'i'"}},
    {"extent too large", "C[i<4294967296] = 1", {"extent 4294967296 of axis 'i'"}},
    {"extent of an input", "input A: f32[4,0]; C[i<4] = A[i,0]", {"extent 0 is not in 1"}},
    {"extent not constant", "C[i<A[0]] = 1", {"an extent must be a constant integer"}},
    {"extent a float", "C[i<2.5] = 1", {"an extent must be a constant integer"}},
    {"extent missing", "C[i] = A[i]", {"expected '<' and the axis' extent, as in i<8, found ']'"}},
    {"size overflows", "C[a<2000000000, b<2000000000, c<2000000000] = 1", {"'C' is too large"}},
    {"input size overflows", "input A: f64[2000000000,2000000000,9]; C[i<4] = A[i,i,i]", {"'A' is too large"}},
    {"argmax inside a reduction",
     "C = sum[k<4](argmax[l<4](A[k,l]))",
     {"column 5", "a reduction to several values is no operand"}},
    {"argmax under an operator",
     "C[i<4] = 2*argmax[k<4](A[k])",
     {"column 12", "a reduction to several values is no operand"}},
    {"reduction as an index", "C[i<4] = A[sum[k<4](k)]", {"a reduction cannot stand here"}},
    {"argmax under a cast", "C = f32(argmax[k<4](A[k]))", {"a reduction to several values is no operand"}},
    {"a name that a reduction takes",
     "C.sum[i<4] = A[i]; C[i<4] = sum[k<4](B[i,k]) + C.sum[i]",
     {"column 20", "'C.sum' is already defined"}},
    {"a reduction that leaves its input",
     "input A: f32[4]; C[i<4] = select(i > 0, sum[k<2](A[i-1]), 0.0)",
     {"reads A[i - 1]", "spans [-1, 2]"}},
    {"a name with a dot", "C.total[i<4] = A[i]", {"'C.total' is no name for a tensor"}},
    {"any of a number", "C = any[k<4](A[k])", {"'any' cannot take A[k], which is f32", "x != 0"}},
    {"sum of booleans", "C = sum[k<4](A[k] > 0)", {"'sum' cannot take", "bool", "i32(x)"}},
    {"integer division", "C[i<4] = i/2", {"'/' between integers (i32)", "use //"}},
    {"floor division of floats", "C[i<4] = A[i]//2", {"'//' between floats (f32)", "floor(x / y)"}},
    {"modulo of floats", "C[i<4] = A[i]%2", {"'%' between floats (f32)"}},
    {"function of an integer", "C[i<4] = exp(i)", {"'exp' cannot take i, which is i32", "f32(x)"}},
    {"pow of an integer", "C[i<4] = pow(A[i], i)", {"'pow' cannot take i, which is i32"}},
    {"and of numbers", "C[i<4] = A[i] && i < 2", {"'&&' cannot take A[i], which is f32", "x != 0"}},
    {"not of a number", "C[i<4] = !i", {"'!' cannot take i, which is i32"}},
    {"select on a number", "C[i<4] = select(i, 1, 2)", {"'select' cannot take i, which is i32"}},
    {"select on a literal", "C[i<4] = select(1, 1, 2)", {"'select' cannot take 1, which is i32"}},
    {"arithmetic of booleans", "C[i<4] = (i < 2) + (i < 3)", {"'+' cannot take i < 2, which is bool", "i32(x)"}},
    {"negated boolean", "C[i<4] = -(i < 2)", {"'-' cannot take i < 2, which is bool"}},
    {"float index", "C[i<4] = A[i*0.5]", {"index 0 of 'A'", "which is f32"}},
    {"bool index", "C[i<4] = A[i < 2]", {"index 0 of 'A'", "which is bool"}},
    {"chained comparison", "C[i<4] = select(0 <= i < 4, 1, 2)", {"comparisons do not chain: write a < b && b < c"}},
    {"missing parenthesis", "C[i<4] = (A[i] + 1", {"expected ')' or an operator, found the end of the text"}},
    {"missing bracket of axes", "C[i<4 = A[i]", {"column 7", "expected ',' or ']', found '='"}},
    {"missing equals", "C[i<4] A[i]", {"expected '=', found 'A'"}},
    {"missing body", "C[i<4] =", {"expected a value, found the end of the text"}},
    {"two bodies", "C[i<4] = A[i] A[i]", {"expected an operator or the end of the statement, found 'A'"}},
    {"two operators", "C[i<4] = A[i] * / 2", {"expected a value, found '/'"}},
    {"lonely symbol",
     "= 3",
     {"expected a statement: a definition, param, input, scalar, symbol, output or combiner, found '='"}},
    {"a function's name", "exp[i<4] = A[i]", {"'exp' is a word of the language and cannot name a tensor"}},
    {"a dtype's name", "f32[i<4] = A[i]", {"'f32' is a word of the language"}},
    {"a keyword as axis", "C[inf<4] = A[inf]", {"column 3", "'inf' is a word of the language and cannot name an axis"}},
    {"a word as a value", "C[i<4] = param", {"'param' cannot stand here"}},
    {"argmax without its axes", "C = argmax(A[0])", {"the reduction 'argmax' needs its axes: argmax[k<10](...)"}},
    {"argmax as a value", "C = A[0] + argmax", {"'argmax' cannot stand here"}},
    {"argmax as an index", "C = A[argmax[k<4](A[k])]", {"a reduction cannot stand here"}},
    {"argmax of three", "C = argmax[k<4](k, A[k], 1)", {"'argmax' takes a value, or an index and a value, 3 given"}},
    {"argmax of a float index",
     "(I, V) = argmax[k<4](A[k], A[k])",
     {"'argmax' cannot take A[k], which is f32", "i32(x)"}},
    {"argmin of booleans", "(I, V) = argmin[k<4](A[k] > 0)", {"'argmin' cannot take", "which is bool"}},
    {"argmax over more than an i32 counts",
     "I = argmax[k<100000, l<100000](A[0])",
     {"'argmax' runs over 10000000000 elements", "argmax(index, x)"}},
    {"argmax with one init",
     "(I, V) = argmax[k<4 init = (1)](A[k])",
     {"'argmax' combines 2 values, but 1 init is given"}},
    {"argmax with an init of another dtype",
     "(I, V) = argmax[k<4 init = (0.5, 1)](A[k])",
     {"value 0 of 'argmax' is i32, but its init 0.5 is f32: cast it, as in i32(x)"}},
    {"a name that two values have", "(A, A)[i<4] = (X[i], X[i])", {"column 5", "'A' names two values"}},
    {"a tuple under one name", "C[i<4] = (A[i], A[i])", {"expected ')' or an operator, found ','"}},
    {"fewer values than names", "(B, C, D)[i<4] = (A[i], A[i])", {"'B' computes 2 values, but 3 names are given"}},
    {"one value under two names", "(B, C)[i<4] = A[i]", {"'B' computes 1 value, but 2 names are given"}},
    {"a sum under two names", "(B, C) = sum[k<4](A[k])", {"'B' computes 1 value, but 2 names are given"}},
    {"a tuple without values", "(B, C)[i<4] = ()", {"a tuple has 1 to 8 values, not 0"}},
    {"a reduction in a tuple", "(B, C) = (sum[k<4](A[k]), 1)", {"column 11", "a reduction cannot stand here"}},
    {"nine values", "(a,b,c,d,e,f,g,h,i) = (1,1,1,1,1,1,1,1,1)", {"a definition has at most 8 values"}},
    {"a tuple's heading is open", "(B, C[i<4] = (A[i], A[i])", {"expected ',' or ')', found '['"}},
    {"a tuple that reads itself", "(B, C)[i<4] = (A[i], B[i])", {"column 22: 'B' reads itself"}},
    {"combiner: no name", "combiner (a: f32; b) = (a + b), identity (0)", {"expected a combiner's name, found '('"}},
    {"combiner: a word's name",
     "combiner sum(a: f32; b) = (a + b), identity (0)",
     {"'sum' is a word of the language and cannot name a combiner"}},
    {"combiner: no dtype", "combiner c(a; b) = (a + b), identity (0)", {"expected ':' and a dtype, found ';'"}},
    {"combiner: no right side",
     "combiner c(a: f32) = (a), identity (0)",
     {"expected ',' or ';' and the names of the right side"}},
    {"combiner: sides of two lengths", "combiner c(a: f32, b: f32; d) = (a, b), identity (0, 0)", {"expected ','"}},
    {"combiner: a name twice",
     "combiner c(a: f32; a) = (a + a), identity (0)",
     {"'a' names two values of this combiner"}},
    {"combiner: no identity", "combiner c(a: f32; b) = (a + b)", {"expected ',' and identity (...)"}},
    {"combiner: too few results",
     "combiner c(a: f32, b: f32; d, e) = (a + d), identity (0, 0)",
     {"combiner 'c' has 2 values, but 1 result is given"}},
    {"combiner: an identity that is no constant",
     "combiner c(a: f32; b) = (a + b), identity (exp(f32(0)))",
     {"combiner 'c': identity exp(0.0) is no constant"}},
    {"combiner: a result of another dtype",
     "combiner c(a: f32; b) = (i32(a + b)), identity (0)",
     {"value 0 of combiner 'c' is f32, but its result i32(a + b) is i32"}},
    {"combiner: f16",
     "combiner c(a: f16; b) = (a + b), identity (0)",
     {"value 0 of 'c' is f16, which is for storage: use f32"}},
    {"combiner: reads a tensor",
     "input X: f32; combiner c(a: f32; b) = (a + b + X), identity (0); C = c[k<4](A[k])",
     {"combiner 'c' uses X: its results are made of its two sides alone"}},
    {"combiner: a name that a tensor has",
     "input c: f32; combiner c(a: f32; b) = (a + b), identity (0)",
     {"'c' is already given in line 1"}},
    {"combiner: twice",
     "combiner c(a: f32; b) = (a + b), identity (0); combiner c(a: f32; b) = (a * b), identity (1)",
     {"'c' is already a combiner"}},
    {"combiner: too few sources",
     "combiner c(a: f32, b: f32; d, e) = (a + d, b + e), identity (0, 0); (B, C) = c[k<4](A[k])",
     {"'c' combines 2 values, but 1 source is given"}},
    {"combiner: a source of another dtype",
     "combiner c(a: f32; b) = (a + b), identity (0); C = c[k<4](k)",
     {"value 0 of 'c' is f32, but its source k is i32: cast it, as in f32(x)"}},
    {"combiner: no identity at all",
     "combiner c(a: f32; b) = (max(a, b)), identity (0); C = c[k<4](A[k])",
     {"combiner 'c': (0) is no identity: with (", ") it gives (0)"}},
    {"combiner: not commutative",
     "combiner c(a: f32; b) = (a - b), identity (0); C = c[k<4](A[k])",
     {"combiner 'c'", "identity"}},
    {"combiner: the first of equal ones",
     "combiner first(ai: i32, av: f32; bi, bv) = (select(av >= bv, ai, bi), max(av, bv)), "
     "identity (-1, -inf); (I, V) = first[k<9](k, A[k])",
     {"combiner 'first' is not commutative: (", "which a schedule may change"}},
    {"combiner: not associative",
     "combiner c(a: f32; b) = (select(a == 0, b, select(b == 0, a, (a + b)/2))), identity (0); "
     "C = c[k<4](A[k])",
     {"combiner 'c' is not associative: (", ") combine to ("}},
    {"name too long",
     "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaa = 1",
     {"is longer than 127 characters"}},
    {"integer too large", "C[i<4] = 9223372036854775808", {"the integer does not fit i64"}},
    {"integer far too large", "C[i<4] = 99999999999999999999999", {"the integer does not fit i64"}},
    {"integer below the lowest", "C[i<4] = -9223372036854775809", {"the integer does not fit i64"}},
    {"constant arithmetic overflows", "C[i<4] = 9223372036854775807 + 1", {"the integer constant does not fit i64"}},
    {"float too large", "C[i<4] = 1e999", {"does not fit f64: write inf"}},
    {"float too large for f32", "C[i<4] = A[i]*1e300", {"does not fit f32: write f64("}},
    {"float below the lowest of f32", "C[i<4] = A[i]*-1e300", {"does not fit f32: write f64("}},
    {"number runs into a name", "C[i<4] = 2A[i]", {"column 11", "a number runs into a name"}},
    {"an exponent without digits", "C[i<4] = A[i]*1e", {"column 16", "a number runs into a name"}},
    {"an exponent with a sign only", "C[i<4] = A[i]*1e+", {"column 16", "a number runs into a name"}},
    {"character", "C[i<4] = A[i] $ 1", {"unexpected character '$'"}},
    {"no operator", "C[i<4] = i @ 2", {"unexpected character '@'"}},
    {"single ampersand", "C[i<4] = (i<1) & (i<2)", {"'&' cannot take i < 1, which is bool"}},
    {"unused input",
     "input A: f32[4], B: f32[4]\nC[i<4] = A[i]",
     {"line 1, column 18", "'B' is not needed by any output"}},
    {"unused definition", "B[i<4] = A[i]; C[i<4] = A[i]; output C", {"'B' is not needed by any output"}},
    {"unknown output", "C[i<4] = A[i]; output D", {"'D' is no tensor defined before this statement"}},
    {"input as output", "input A: f32[4]; C[i<4] = A[i]; output A", {"'A' is no tensor defined before"}},
    {"output twice", "C[i<4] = A[i]; output C, C", {"'C' is given twice"}},
    {"rank 9", "C[a<1,b<1,c<1,d<1,e<1,f<1,g<1,h<1,i<1] = 1", {"more than 8 axes"}},
    {"rank 9 input", "input A: f32[1,1,1,1,1,1,1,1,1]; C = A[0]", {"at most 8 dimensions"}},
    {"read of rank 9", "C = A[0,0,0,0,0,0,0,0,0]", {"more than 8 values"}},
    {"parameter a float", "param N = 1.5; C[i<N] = 1", {"a parameter must be a constant integer"}},
    {"parameter that is the lowest integer negated",
     "param N = -(-9223372036854775808); C[i<4] = A[i]*N",
     {"a parameter must be a constant integer"}},
    {"parameter without value", "param N; C[i<N] = 1", {"expected '=', found ';'"}},
};

static void error(void **state) {
  const struct error_row *row = *state;
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, row->text, 0, NULL));
  assert_int_equal(tn_context_status(ctx), TN_ERROR_PARSE);
  for (int i = 0; i < 3 && row->parts[i]; i++) check_has(tn_context_message(ctx), row->parts[i]);
  check_has(tn_context_message(ctx), "parse error at line ");
  const char *first = strstr(check_messages(ctx), "parse error at");
  assert_null(strstr(first + 1, "parse error at"));
  check_context_free(ctx);
}

/* All messages as users see them, for review. */
static void messages(void **state) {
  (void)state;
  runtime_str all = {0};
  for (int i = 0; i < RUNTIME_COUNT(errors); i++) {
    tn_context *ctx = check_context();
    tn_program_parse(ctx, errors[i].text, 0, NULL);
    runtime_str_addf(&all, "-- %s\n%s\n", errors[i].name, tn_context_message(ctx));
    check_context_free(ctx);
  }
  check_golden("te/errors.txt", all.data);
  runtime_str_free(&all);
}

/* HEAD, then N times PIECE, MIDDLE, N times CLOSE: deep texts end in an error. */
static const struct deep_row {
  const char *name, *head, *piece, *middle, *close, *part;
  int n;
} deep[] = {
    {"parentheses", "C = ", "(", "1", ")", "nested too deeply", 100000},
    {"minus signs", "input s: f32; C = ", "-", "s", "", "nested too deeply", 100000},
    {"not signs", "input s: bool; C = ", "!", "s", "", "nested too deeply", 100000},
    {"functions", "input s: f32; C = ", "exp(", "s", ")", "nested too deeply", 100000},
    {"indices", "input A: i32[4]; C = ", "A[", "0", "]", "nested too deeply", 100000},
    {"long sums", "input s: f32; C = s", "+s", "", "", "too large (depth 513", 100000},
    {"unclosed", "C = ", "(((", "", "", "nested too deeply", 100000},
};

static void deep_text(void **state) {
  const struct deep_row *row = *state;
  runtime_str text = {0};
  runtime_str_add(&text, row->head);
  for (int i = 0; i < row->n; i++) runtime_str_add(&text, row->piece);
  runtime_str_add(&text, row->middle);
  for (int i = 0; i < row->n; i++) runtime_str_add(&text, row->close);
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, text.data, 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, row->part);
  check_context_free(ctx);
  runtime_str_free(&text);
}

static void long_lines_are_shortened(void **state) {
  (void)state;
  runtime_str text = {0};
  for (int i = 0; i < 1000; i++) runtime_str_add(&text, "          ");
  runtime_str_add(&text, "C[i<4] = A[i] ? 1");
  for (int i = 0; i < 1000; i++) runtime_str_add(&text, "          ");
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, text.data, 0, NULL));
  assert_true(strlen(tn_context_message(ctx)) < 400);
  check_fails(ctx, TN_ERROR_PARSE, "line 1, column 10015", "unexpected character '?'");
  check_context_free(ctx);
  runtime_str_free(&text);
}

static void too_many_tensors(void **state) {
  (void)state;
  runtime_str text = {0};
  for (int i = 0; i < 5000; i++) runtime_str_addf(&text, "T%d = 1\n", i);
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, text.data, 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "line 4097", "more than 4096 tensors");
  check_context_free(ctx);
  runtime_str_free(&text);
}

static void nulls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(NULL, "C = 1", 0, NULL));
  assert_null(tn_program_parse(ctx, NULL, 0, NULL));
  assert_null(tn_program_text(NULL));
  assert_null(tn_program_key(NULL));
  assert_null(tn_program_find(NULL, "C"));
  assert_int_equal(tn_program_arg_count(NULL), 0);
  check_context_free(ctx);
}

int test_parse_errors(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(long_lines_are_shortened), cmocka_unit_test(too_many_tensors),
                                     cmocka_unit_test(nulls), cmocka_unit_test(messages)};
  return CHECK_TABLE("parse errors, exactly", exact, exact_message) + CHECK_TABLE("parse errors", errors, error) +
         CHECK_TABLE("deep texts", deep, deep_text) + CHECK_TESTS("parser", tests);
}
