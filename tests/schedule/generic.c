/* Generic schedules: their texts for programs of each operator, what operators are recognised, a context's own
 * schedules, what is refused and what happens instead. */
#include <stdio.h>

#include "tests/schedule/tests.h"

#define CONV2D                                                                                      \
  "input I: f32[1,28,28,32], W: f32[3,3,32,64]\n"                                                   \
  "P[n<1, h<30, w<30, c<32] = select(h >= 1 && h < 29 && w >= 1 && w < 29, I[n, h-1, w-1, c], 0)\n" \
  "O[n<1, h<28, w<28, f<64] = sum[r<3, s<3, c<32](P[n, h+r, w+s, c] * W[r,s,c,f])"
#define RELU "\nR[n<1, h<28, w<28, f<64] = max(O[n,h,w,f] + b[f], 0)"
#define DEPTHWISE                                                                                   \
  "input I: f32[1,28,28,32], W: f32[3,3,32]\n"                                                      \
  "P[n<1, h<30, w<30, c<32] = select(h >= 1 && h < 29 && w >= 1 && w < 29, I[n, h-1, w-1, c], 0)\n" \
  "O[n<1, h<28, w<28, c<32] = sum[r<3, s<3](P[n, h+r, w+s, c] * W[r,s,c])"
#define SOFTMAX_OF(x, m, j)                                                \
  "M[" m "] = max[k<1000](X[" x "])\nE[i<1000, j<500] = exp(X[i,j] - M[" j \
  "])\n"                                                                   \
  "S[" m "] = sum[k<1000](E[" x "])\nY[i<1000, j<500] = E[i,j] / S[" j "]"

static const tn_machine machine = {.cpu = "tests",
                                   .threads = 2,
                                   .vector_bytes = 64,
                                   .vector_registers = 32,
                                   .cache_bytes = {0, 48 << 10, 1 << 20, 32 << 20}};

typedef struct generic_case {
  const char *name, *program, *stage, *operator; /* operator NULL: a scan, which is none */
} generic_case;

static const generic_case cases[] = {
    {"strided",
     "input A: f32[4096,3], B: f32[4096,3]\nP[i<4096, j<3] = A[i,j] * 2\nC[i<4096, j<3] = P[i,j] + B[i,j]\n"
     "D[i<4096, j<3] = A[i,j] + B[i,j]\noutput D, C strided",
     "C", "injective"},
    {"add", "C[i<1000, j<1000] = A[i,j] + B[i,j]", "C", "injective"},
    {"small_add", "C[i<30] = A[i] + B[i]", "C", "injective"},
    {"narrow_rows", "C[i<9999, j<3] = A[i,j] * 2", "C", "injective"},
    {"bias", "C[i<1000, j<1000] = A[i,j] + B[j]", "C", "broadcast"},
    {"chain", "P[i<1000] = A[i] * 2\nQ[i<1000] = P[i] + 1\nR[i<1000] = exp(Q[i]) + P[i]", "R", "injective"},
    {"row_sum", "B[i<1000] = sum[k<1000](A[i,k])", "B", "reduce"},
    {"column_sum", "B[j<1000] = sum[k<1000](A[k,j])", "B", "reduce"},
    {"full_sum", "S = sum[k<10000000](A[k])", "S", "reduce"},
    {"argmax", "(I, V)[i<1000] = argmax[k<1000](A[i,k])", "I", "reduce"},
    {"max_pool", "input I: f32[1,56,56,64]\nO[n<1, h<28, w<28, c<64] = max[r<2, s<2](I[n, 2*h+r, 2*w+s, c])", "O",
     "pool"},
    {"softmax_rows",
     "M[i<999] = max[k<500](X[i,k])\nE[i<999, j<500] = exp(X[i,j] - M[i])\n"
     "S[i<999] = sum[k<500](E[i,k])\nY[i<999, j<500] = E[i,j] / S[i]",
     "Y", "softmax"},
    {"softmax_columns", SOFTMAX_OF("k,j", "j<500", "j"), "Y", "softmax"},
    {"softmax_vector",
     "M = max[k<9999999](X[k])\nE[i<9999999] = exp(X[i] - M)\n"
     "S = sum[k<9999999](E[k])\nY[i<9999999] = E[i] / S",
     "Y", "broadcast"},
    {"layer_norm",
     "Mean[i<128] = sum[k<768](X[i,k])\nVar[i<128] = sum[k<768]((X[i,k] - Mean[i]/768) * (X[i,k] - Mean[i]/768))\n"
     "Y[i<128, j<768] = (X[i,j] - Mean[i]/768) * rsqrt(Var[i]/768 + 1e-5)",
     "Y", "normalization"},
    {"matmul", "C[i<512, j<512] = sum[k<512](A[i,k] * B[k,j])", "C", "dense"},
    {"matmul_transposed", "C[i<128, j<500] = sum[k<300](A[i,k] * B[j,k])", "C", "dense"},
    {"matrix_vector", "C[i<4096] = sum[k<4096](A[i,k] * B[k])", "C", "reduce"},
    {"vector_matrix", "C[j<4096] = sum[k<4096](A[k] * B[k,j])", "C", "dense"},
    {"batch", "C[b<16, i<128, j<128] = sum[k<64](A[b,i,k] * B[b,k,j])", "C", "batch_matmul"},
    {"conv", CONV2D, "O", "conv"},
    {"conv_relu", CONV2D RELU, "R", "conv"},
    {"depthwise", DEPTHWISE, "O", "depthwise"},
    {"interleaved",
     "input I: f32[514,514,3]\nC[y<512, x<512, c<3] = I[y,x,c] + I[y,x+1,c]*2 + I[y,x+2,c] + I[y+1,x+1,c]", "C",
     "injective"},
    {"sums_and_extrema", "input I: f32[500,1000]\nS[n<500] = sum[c<1000](I[n,c])\nM[n<500] = max[c<1000](I[n,c])", "M",
     "reduce"},
    {"max_pool_of_small_planes", "O[c<32, y<14, x<14] = max[r<3, s<3](I[c,2*y+r,2*x+s])", "O", "pool"},
    {"max_pool_planes", "input I: f32[1,8,64,64]\nO[n<1, c<8, h<31, w<31] = max[r<3, s<3](I[n, c, 2*h+r, 2*w+s])", "O",
     "pool"},
    {"max_pool_padded",
     "input I: f32[8,64,64]\nO[c<8, h<32, w<32] = max[r<3, s<3 where 2*h+r >= 1 && 2*w+s >= 1](I[c, 2*h+r-1, 2*w+s-1])",
     "O", "pool"},
    {"complex", "C[i<4096, z<2] = select(z == 0, A[i,0]*B[i,0] - A[i,1]*B[i,1], A[i,0]*B[i,1] + A[i,1]*B[i,0])", "C",
     "broadcast"},
    {"reflected",
     "input I: f32[500,700]\nO[h<500, w<704] = I[h, select(w < 2, 2 - w, select(w < 702, w - 2, 1400 - w))]", "O",
     "injective"},
    {"row_chain", "input I: f32[4100]\nA[i<4098] = I[i] + I[i+1] + I[i+2]\nB[i<4096] = A[i] + A[i+1]*0.5 + A[i+2]", "B",
     "injective"},
    {"interleaved_sums",
     "input I: f32[516,516,3]\nA[y<516, x<512, c<3] = sum[k<5](I[y,x+k,c])\n"
     "B[y<512, x<512, c<3] = sum[k<5](A[y+k,x,c])",
     "B", "pool"},
    {"pool_and_sum",
     "input X: f32[4,64,64,3]\nY[n<4, h<62, w<62, c<3] = max[r<3, s<3](X[n,h+r,w+s,c])\n"
     "Z[n<4, c<3] = sum[h<62, w<62](Y[n,h,w,c])",
     "Z", "reduce"},
    {"pyramid",
     "input X: f32[512,512]\n"
     "D[y<256, x<256] = X[y*2,x*2] + X[y*2+1,x*2] + X[y*2,x*2+1] + X[y*2+1,x*2+1]\n"
     "E[y<128, x<128] = D[y*2,x*2] + D[y*2+1,x*2] + D[y*2,x*2+1] + D[y*2+1,x*2+1]",
     "E", "injective"},
    {"complex_products",
     "R[i<100, j<96] = sum[k<40](A[i,k,0] * B[k,j,0] - A[i,k,1] * B[k,j,1])\n"
     "I[i<100, j<96] = sum[k<40](A[i,k,0] * B[k,j,1] + A[i,k,1] * B[k,j,0])",
     "I", "dense"},
    {"planes_by_two",
     "input X: f32[3,70,70], W: f32[24,3,7,7]\n"
     "C[o<24, y<32, x<32] = max(sum[c<3, r<7, s<7](X[c,2*y+r,2*x+s] * W[o,c,r,s]), 0)",
     "C", "conv"},
    {"windows_of_halves",
     "input X: f16[30,30,16], W: f16[3,3,16,32]\n"
     "C[y<28, x<28, o<32] = sum[r<3, s<3, c<16](f32(X[y+r,x+s,c]) * f32(W[r,s,c,o]))",
     "C", "conv"},
    {"small_planes",
     "input X: f32[64,9,9], W: f32[64,64,3,3]\n"
     "C[o<64, y<7, x<7] = sum[c<64, r<3, s<3](X[c,y+r,x+s] * W[o,c,r,s])",
     "C", "conv"},
    {"long_depthwise",
     "input X: f32[20,20,32], W: f32[7,7,32]\n"
     "C[y<14, x<14, c<32] = sum[r<7, s<7](X[y+r,x+s,c] * W[r,s,c])",
     "C", "depthwise"},
    {"pixels_as_channels", "input X: f32[24,24,16]\nU[h<8, w<8, c<144] = X[h*3 + c//48, w*3 + c//16%3, c%16]", "U",
     "injective"},
    {"grouped_scores",
     "input Q: f32[16,64], K: f32[4,90,64]\n"
     "S[h<16, t<90] = sum[d<64](Q[h,d] * K[h//4,t,d]) * 0.125\n"
     "M[h<16] = max[t<90](S[h,t])\n"
     "E[h<16, t<90] = exp(S[h,t] - M[h])",
     "E", "normalization"},
    {"nearest_neighbours", "input X: f32[16,56,56]\nU[c<16, h<112, w<112] = X[c, h//2, w//2]", "U", "broadcast"},
    {"blocks_of_twenty", "input A: f32[20,20], B: f32[20,20]\nY[i<400, j<400] = A[i//20, j//20] * B[i%20, j%20]", "Y",
     "broadcast"},
    {"repeated_rows", "input A: f32[400,300]\nY[i<400, j<600] = A[i, j%300]", "Y", "injective"},
    {"scan_along_rows", "state S: f32[1000,300]\nscan S[t<1000, i<300] = select(t < 1, X[i,t], S[t-1,i] + X[i,t])", "S",
     NULL},
    {"scan_of_few", "state S: f32[24,3,40]\nscan S[t<24, b<3, i<40] = select(t < 1, X[b,i,t], S[t-1,b,i] + X[b,i,t])",
     "S", NULL},
    {"scan_of_two_places",
     "state S: f32[64,40]\nscan S[t<64, i<40] = select(t < 1, X[i,t], S[t-1,i] + X[i,t] + X[i,max(t-1,0)])", "S", NULL},
    {"scan_across", "state S: f32[64,40]\nscan S[t<64, i<40] = select(t < 1, X[i,t], S[t-1,39-i] + X[i,t])", "S", NULL},
    {"scan_of_products",
     "input X: f32[16,8,40], U: f32[40,40]\nstate S: f32[16,8,40]\n"
     "Z[t<16, b<8, j<40] = sum[k<40](select(t < 1, 0, S[t-1,b,k]) * U[k,j])\n"
     "scan S[t<16, b<8, j<40] = tanh(X[t,b,j] + Z[t,b,j])",
     "S", NULL},
    {"scan_of_products_shared",
     "input X: f32[40,37,256], U: f32[256,256]\nstate S: f32[40,37,256]\n"
     "Z[t<40, b<37, j<256] = sum[k<256](select(t < 1, 0, S[t-1,b,k]) * U[j,k])\n"
     "scan S[t<40, b<37, j<256] = tanh(X[t,b,j] + Z[t,b,j])",
     "S", NULL},
    {"scan_of_long_products",
     "input X: f32[20,1000], U: f32[1000,1000]\nstate S: f32[20,1000]\n"
     "Z[t<20, j<1000] = sum[k<1000](select(t < 1, 0, S[t-1,k]) * U[j,k])\n"
     "scan S[t<20, j<1000] = tanh(X[t,j] + Z[t,j])",
     "S", NULL},
    {"scan_of_few_products", /* fewer columns than lanes: as they are */
     "input X: f32[16,8,3], U: f32[3,3]\nstate S: f32[16,8,3]\n"
     "Z[t<16, b<8, j<3] = sum[k<3](select(t < 1, 0, S[t-1,b,k]) * U[k,j])\n"
     "scan S[t<16, b<8, j<3] = X[t,b,j] + Z[t,b,j]",
     "S", NULL},
    {"gather", "input A: f32[1000], X: i32[500]\nC[i<500] = A[X[i]] + 1", "C", "injective"},
};

static tn_schedule *new_auto(tn_program *program, const tn_machine *m) {
  tn_schedule *s = tn_schedule_new(program);
  assert_int_equal(tn_schedule_auto(s, m), TN_OK);
  check_ok(tn_schedule_program(s)->ctx);
  return s;
}

static void golden(void **state) {
  const generic_case *c = *state;
  fixture f = fixture_new(c->program, "");
  const char *kind = c->operator? tn_schedule_operator(f.s, c->stage) : "a scan";
  assert_string_equal(kind, c->operator ? c->operator : kind);
  tn_schedule *s = new_auto(f.program, &machine);
  char *text = print_form(s, TN_FORM_TEXT), *tree = print_form(s, TN_FORM_TREE), file[256];
  runtime_str all = {0};
  runtime_str_addf(&all, "%s\n\n%s: %s\n\n", c->program, c->stage, kind);
  for (char *step = strtok(text, ";"); step; step = strtok(NULL, ";"))
    runtime_str_addf(&all, "%s\n", step + (*step == ' '));
  runtime_str_addf(&all, "\n%s", tree);
  snprintf(file, sizeof file, "schedule/auto_%s.txt", c->name);
  check_golden(file, all.data);
  runtime_str_free(&all);
  free(text);
  free(tree);
  fixture_free(&f);
}

/* A generic schedule is a list of steps like another. */
static void replays(void **state) {
  const generic_case *c = *state;
  fixture f = fixture_new(c->program, "");
  tn_schedule *s = new_auto(f.program, &machine), *again = tn_schedule_new(f.program);
  char *steps = print_form(s, TN_FORM_STEPS);
  assert_int_equal(tn_schedule_replay(again, steps), TN_OK);
  char *same = print_form(again, TN_FORM_STEPS);
  assert_string_equal(steps, same);
  free(steps);
  free(same);
  fixture_free(&f);
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

typedef struct naming_row {
  const char *name, *program, *before, *stage, *operator, * message; /* NULL: accepted */
} naming_row;

#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define OPERATOR_NAMES \
  "injective, broadcast, reduce, pool, softmax, normalization, dense, batch_matmul, conv or depthwise"
static const naming_row namings[] = {
    {"as recognised", MM, "", "C", NULL, NULL},
    {"by its name", MM, "", "C", "dense", NULL},
    {"a family's other name", MM, "", "C", "conv", NULL},
    {"a product as a reduction", MM, "", "C", "reduce", NULL},
    {"another stage may have a schedule", "P[i<64] = A[i] + 1\nQ[i<64] = exp(P[i])", "vectorize(Q, i)", "P", NULL,
     NULL},
    {"an unknown operator", MM, "", "C", "gemm", "generic(C, gemm): there is no such operator: " OPERATOR_NAMES},
    {"a product is not injective", MM, "", "C", "injective",
     "generic(C, injective): C is dense, not injective: no reduction: every point from points of its inputs; leave the "
     "operator out, or name that"},
    {"a sum is no product", "B[i<9] = sum[k<9](A[i,k])", "", "B", "dense",
     "generic(B, dense): B is reduce, not dense: a sum of products that uses elements again: a matrix product; leave "
     "the "
     "operator out, or name that"},
    {"no rows to share", "B[i<9] = A[i] + 1", "", "B", "softmax",
     "generic(B, softmax): B is injective, not softmax: rows that are reduced twice or more, exp among what is "
     "computed of "
     "them; leave the operator out, or name that"},
    {"a stage with a schedule", MM, "split(C, i, 8)", "C", NULL,
     "generic(C): C already has a schedule, which would be lost: call it before other primitives on C"},
    {"an unknown stage", MM, "", "X", NULL,
     "generic(X): there is no such stage: name a stage that is computed, and not "
     "inlined"},
    {"an input", MM, "", "A", NULL, "generic(A): it has no loops: name a stage that is computed, and not inlined"},
};

static void by_name(void **state) {
  const naming_row *row = *state;
  fixture f = fixture_new(row->program, row->before);
  char *before = state_of(f.s);
  tn_status status = tn_schedule_generic(f.s, row->stage, row->operator, & machine);
  char *after = state_of(f.s);
  if (!row->message) {
    check_ok(f.ctx);
    assert_int_equal(status, TN_OK);
    assert_string_not_equal(before, after);
  } else {
    assert_int_equal(status, TN_ERROR_SCHEDULE);
    assert_string_equal(tn_context_message(f.ctx), row->message);
    assert_string_equal(before, after);
    tn_context_clear(f.ctx);
  }
  free(before);
  free(after);
  fixture_free(&f);
}

/* ---- schedules of a context's own -------------------------------------------------------------------------------- */

static tn_status split_i(tn_schedule *s, const char *stage, const tn_machine *m, void *user) {
  ++*(int *)user;
  (void)m;
  return tn_split(s, stage, "i", 8, TN_TAIL_GUARD);
}

static tn_status refuse(tn_schedule *s, const char *stage, const tn_machine *m, void *user) {
  ++*(int *)user;
  (void)m;
  tn_unroll(s, stage, "i");
  return tn_vectorize(s, stage, "k");
}

static void registered(void **state) {
  (void)state;
  int all = 0, own = 0;
  fixture f = fixture_new(MM, "");
  assert_int_equal(tn_generic_register(f.ctx, "dense", NULL, split_i, &all), TN_OK);
  assert_int_equal(tn_generic_register(f.ctx, "dense", "tests", split_i, &own), TN_OK);
  char *text = print_form(new_auto(f.program, &machine), TN_FORM_TEXT);
  assert_string_equal(text, "split(C, i, 8)\n");
  free(text);
  assert_int_equal(own, 1);
  tn_machine other = machine;
  other.cpu = "another";
  (void)new_auto(f.program, &other);
  assert_int_equal(all, 1);
  assert_int_equal(own, 1);
  fixture_free(&f);
}

static void registered_refuses(void **state) {
  (void)state;
  int calls = 0;
  fixture f = fixture_new(MM, "");
  char *generic = print_form(new_auto(f.program, &machine), TN_FORM_TEXT);
  assert_int_equal(tn_generic_register(f.ctx, "dense", NULL, refuse, &calls), TN_OK);
  char *text = print_form(new_auto(f.program, &machine), TN_FORM_TEXT);
  assert_string_equal(text, generic);
  assert_int_equal(calls, 1);
  free(generic);
  free(text);
  fixture_free(&f);
}

static void registering_refused(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "");
  assert_int_equal(tn_generic_register(NULL, "dense", NULL, refuse, NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_generic_register(f.ctx, "dense", NULL, NULL, NULL), TN_ERROR_ARGUMENT);
  tn_context_clear(f.ctx);
  assert_int_equal(tn_generic_register(f.ctx, "gemm", NULL, refuse, NULL), TN_ERROR_ARGUMENT);
  assert_string_equal(tn_context_message(f.ctx), "tn_generic_register: \"gemm\" is no operator: " OPERATOR_NAMES);
  tn_context_clear(f.ctx);
  fixture_free(&f);
}

/* ---- the whole program ------------------------------------------------------------------------------------------- */

static void changed_schedule(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "split(C, i, 8)");
  char *before = state_of(f.s);
  assert_int_equal(tn_schedule_auto(f.s, &machine), TN_ERROR_SCHEDULE);
  assert_string_equal(
      tn_context_message(f.ctx),
      "auto: the schedule has 1 steps already: make a generic schedule from a new one, and go on from there");
  char *after = state_of(f.s);
  assert_string_equal(before, after);
  free(before);
  free(after);
  tn_context_clear(f.ctx);
  assert_int_equal(tn_schedule_auto(NULL, &machine), TN_ERROR_ARGUMENT);
  fixture_free(&f);
}

/* Without a machine there are usual values; and a program without loops has a schedule too. */
static void usual_machine(void **state) {
  (void)state;
  fixture f = fixture_new("S = A[] + 1", "");
  assert_int_equal(tn_schedule_auto(f.s, NULL), TN_OK);
  assert_null(tn_schedule_operator(f.s, "A"));
  tn_context_clear(f.ctx);
  fixture_free(&f);
}

/* Nothing that is repeated grows without bound, and a long chain is one stage. */
static void long_chains(void **state) {
  (void)state;
  runtime_str text = {0};
  for (int i = 1; i <= 64; i++) runtime_str_addf(&text, "T%d[i<1000] = T%d[i] + %d\n", i, i - 1, i);
  fixture f = fixture_new(text.data, "");
  (void)new_auto(f.program, &machine);
  fixture_free(&f);
  runtime_str_free(&text);
  for (int i = 1; i <= 40; i++) runtime_str_addf(&text, "T%d[i<50] = T%d[i] + T%d[49-i]\n", i, i - 1, i - 1);
  f = fixture_new(text.data, "");
  (void)new_auto(f.program, &machine);
  fixture_free(&f);
  runtime_str_free(&text);
}

/* Three hundred stages and their inputs, group by group. */
static void many_stages(void **state) {
  (void)state;
  runtime_str text = {0};
  runtime_arena arena = {0};
  for (int i = 0; i < 150; i++)
    runtime_str_addf(&text, "M%d[i<8] = sum[k<16](S%d[i,k] * W%d[k])\nS%d[i<8, j<16] = exp(S%d[i,j]) - M%d[i]\n", i, i,
                     i, i + 1, i, i);
  fixture f = fixture_new(text.data, "");
  tn_schedule *s = new_auto(f.program, &machine);
  assert_non_null(schedule_lower(s, "kernel", &arena));
  assert_true(s->n_steps > 150);
  tn_schedule_free(s);
  runtime_arena_free(&arena);
  runtime_str_free(&text);
  fixture_free(&f);
}

int test_generic(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_stages),         cmocka_unit_test(registered),       cmocka_unit_test(registered_refuses),
      cmocka_unit_test(registering_refused), cmocka_unit_test(changed_schedule), cmocka_unit_test(usual_machine),
      cmocka_unit_test(long_chains),
  };
  return CHECK_TABLE("generic schedules", cases, golden) + CHECK_TABLE("generic schedules replay", cases, replays) +
         CHECK_TABLE("generic schedules by name", namings, by_name) + CHECK_TESTS("generic", tests);
}
