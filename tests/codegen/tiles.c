/* Register tiles: a matmul's accumulators, in a local buffer with constant indices, must live in vector registers: no
 * store and no stack in the loop over k, some of whose steps go together. Checked in the assembly for processors with 64-byte and with 32-byte vectors.
 */
#include <ctype.h>

#include "tests/codegen/kit.h"

enum { M = 48, N = 192, DEPTH = 64 };

typedef struct tile_row {
  const char *name;
  const char *cpu;
  int rows, columns, lanes;
} tile_row;

static const tile_row tile_rows[] = {
    {"8x32 of 16 lanes, znver4", "znver4", 8, 32, 16},
    {"8x32 of 32 lanes, znver4", "znver4", 8, 32, 32},
    {"12x32 of 16 lanes, znver4", "znver4", 12, 32, 16},
    {"6x64 of 64 lanes, znver4", "znver4", 6, 64, 64},
    {"8x48 of 48 lanes, znver4", "znver4", 8, 48, 48},
    {"6x64 of 16 lanes, skylake-avx512", "skylake-avx512", 6, 64, 16},
    {"6x16 of 8 lanes, haswell", "haswell", 6, 16, 8},
    {"6x16 of 16 lanes, znver3", "znver3", 6, 16, 16},
    {"4x24 of 24 lanes, znver3", "znver3", 4, 24, 24},
};

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

typedef struct tile {
  const tile_row *r;
  const tir_buffer *A, *B, *C, *T;
  const tir_var *i, *j, *k;
  const tir_stmt *init[128], *update[128], *out[128];
  int n;
} tile;

static const tir_expr *element(const tir_expr *row, int row_offset, int64_t width, const tir_expr *column, int offset) {
  return kit_add(kit_add(kit_mul(row, width), column), kit_int(row_offset * width + offset));
}

static void add_statements(tile *t, int row, int column) {
  const tile_row *r = t->r;
  const tir_expr *i = kit_mul(kit_at(t->i), r->rows), *j = kit_mul(kit_at(t->j), r->columns), *k = kit_at(t->k);
  const tir_expr *at = kit_ramp(kit_int(row * r->columns + column), 1, r->lanes);
  const tir_expr *b = kit_load(t->B, kit_ramp(element(k, 0, N, j, column), 1, r->lanes));
  const tir_expr *a = tir_broadcast(&K.arena, kit_load(t->A, element(i, row, DEPTH, k, 0)), r->lanes);
  const tir_expr *zero = tir_broadcast(&K.arena, tir_float(&K.arena, TN_F32, 0), r->lanes);
  t->init[t->n] = kit_store(t->T, at, zero);
  t->update[t->n] = kit_store(t->T, at, kit_add(kit_load(t->T, at), tir_binary(&K.arena, TIR_MUL, a, b)));
  t->out[t->n++] = kit_store(t->C, kit_ramp(element(i, row, N, j, column), 1, r->lanes), kit_load(t->T, at));
}

static tir_func *matmul(const tile_row *r) {
  kit_begin();
  tile t = {.r = r, .A = kit_in("A", TN_F32, M * DEPTH), .B = kit_in("B", TN_F32, DEPTH * N)};
  t.C = kit_out("C", TN_F32, M * N), t.T = kit_scratch("C.local", TN_F32, r->rows * r->columns);
  t.i = kit_var("i"), t.j = kit_var("j"), t.k = kit_var("k");
  for (int row = 0; row < r->rows; ++row) {
    for (int column = 0; column < r->columns; column += r->lanes) add_statements(&t, row, column);
  }
  const tir_stmt *parts[] = {kit_seq(t.n, t.init), kit_for(t.k, DEPTH, TIR_SERIAL, kit_seq(t.n, t.update)),
                             kit_seq(t.n, t.out)};
  const tir_stmt *s = tir_alloc(&K.arena, t.T, kit_seq(3, parts));
  s = kit_for(t.i, M / r->rows, TIR_SERIAL, kit_for(t.j, N / r->columns, TIR_SERIAL, s));
  return kit_func("matmul", s);
}

/* ---- the assembly ------------------------------------------------------------------------------------------------ */

typedef struct counts {
  int fma, vector_stores, stack;
} counts;

/* AT&T syntax: a vector store is a vmov whose last operand is memory. */
static void count_line(const char *line, size_t n, counts *c) {
  char text[256];
  snprintf(text, sizeof text, "%.*s", (int)n, line);
  c->fma += strstr(text, "vfmadd") != NULL;
  c->stack += strstr(text, "%rsp") != NULL || strstr(text, "%rbp)") != NULL;
  c->vector_stores += strstr(text, "vmov") != NULL && text[strcspn(text, "\n")] == '\0' && n > 0 && line[n - 1] == ')';
}

/* The block with the most fused multiply-adds, from one label to the next. */
static counts hottest_block(const char *assembly) {
  counts best = {0}, block = {0};
  for (const char *line = assembly; *line != '\0';) {
    size_t n = strcspn(line, "\n");
    bool is_label = n > 0 && line[0] == '.' && memchr(line, ':', n) != NULL;
    if (is_label)
      block = (counts){0};
    else
      count_line(line, n, &block);
    if (block.fma > best.fma || (block.fma == best.fma && block.fma > 0)) best = block;
    line += n + (line[n] == '\n');
  }
  return best;
}

/* The loop's block ends at its jump back, so stores after the loop are in a block of their own: LLVM gives it a label
 * only when something jumps there, therefore lines after a conditional jump do not count either. */
static char *cut_after_jumps(const char *assembly) {
  runtime_str out = {0};
  for (const char *line = assembly; *line != '\0';) {
    size_t n = strcspn(line, "\n");
    const char *word = line + strspn(line, "\t ");
    runtime_str_addn(&out, line, n);
    runtime_str_add(&out, *word == 'j' ? "\n.Lcut:\n" : "\n");
    line += n + (line[n] == '\n');
  }
  return out.data;
}

/* The block with the most multiply-adds has VECTORS of them and touches no stack. */
static void check_hottest(const char *assembly, int vectors) {
  char *cut = cut_after_jumps(assembly);
  counts c = hottest_block(cut);
  if (c.fma != vectors || c.vector_stores > 0 || c.stack > 0) {
    fail_msg("%d multiply-adds (expected %d), %d stores, %d stack accesses in the loop over k:\n%s", c.fma, vectors,
             c.vector_stores, c.stack, cut);
  }
  free(cut);
}

static void in_registers(void **state) {
  const tile_row *r = *state;
  char spec[96];
  snprintf(spec, sizeof spec, "triple=x86_64-pc-linux-gnu cpu=%s threads=1", r->cpu);
  const tn_target *target = tn_target_new(K.ctx, spec);
  check_ok(K.ctx);
  char *assembly = kit_text(matmul(r), target, CODEGEN_ASSEMBLY);
  check_hottest(assembly,
                r->rows * r->columns * 4 / tn_target_vector_bytes(target)); /* the buffer is not called local */
  free(assembly);
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

typedef struct schedule_row {
  const char *name, *cpu, *program, *schedule;
  int vectors; /* multiply-adds in the loop over k, of all steps that go together */
} schedule_row;

#define MATMUL "C[i<48, j<192] = sum[k<64](A[i,k] * B[k,j])"
#define MATMUL_ADD "M[i<48, j<192] = sum[k<64](A[i,k] * B[k,j]); O[i<48, j<192] = M[i,j] + D[i,j]"
#define TILE(rows, columns)                                 \
  "cache_write(C, local); tile(C, i, j, " rows ", " columns \
  "); vectorize(C, j.inner); "                              \
  "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c)"

/* No loop is marked unrolled here: the pass register_tiles does that. */
static const schedule_row schedule_rows[] = {
    {"12x32, znver4", "znver4", MATMUL, TILE("12", "32"), 96},
    {"6x16, haswell", "haswell", MATMUL, TILE("6", "16"), 12},
    {"6x64, skylake-avx512", "skylake-avx512", MATMUL, TILE("6", "64"), 96},
    {"12x32, k in blocks, B packed", "znver4", MATMUL,
     "cache_read(B, local, C); tile(C, i, j, 12, 32); split(C, k, 32); "
     "reorder(C, j.outer, k.outer, i.outer, k.inner, i.inner, j.inner); compute_at(B.local, C, k.outer); "
     "vectorize(B.local, ax1); vectorize(C, j.inner); unroll(C, i.inner)",
     24},
    {"12x32, something added", "znver4", MATMUL_ADD,
     "set_scope(M, local); tile(O, i, j, 12, 32); vectorize(O, j.inner); compute_at(M, O, j.outer); "
     "reorder(M, k, i, j); vectorize(M, j)",
     96},
    {"12x32, steps that are left", "znver4", "C[i<48, j<192] = sum[k<67](A[i,k] * B[k,j])", TILE("12", "32"), 96},
    {"12x32, k in blocks of 4", "znver4", MATMUL,
     TILE("12", "32") "; split(C.local, k, 4); reorder(C.local, k.outer, k.inner, i.c, j.c); unroll(C.local, k.inner)",
     96},
    {"peeled tails", "znver4", "C[i<51, j<200] = sum[k<64](A[i,k] * B[k,j])",
     "cache_write(C, local); tile(C, i, j, 12, 32, tail=peel); vectorize(C, j.inner); compute_at(C.local, C, j.outer); "
     "reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c)",
     96},
    {"a short vector, whose sums in padding need no mask", "znver4", "C[i<42, j<26] = sum[k<64](A[i,k] * B[k,j])",
     "cache_write(C, local); split(C, j, 16, tail=mask); split(C, i, 14); reorder(C, i.outer, i.inner, j.outer, "
     "j.inner); vectorize(C, j.inner); compute_at(C.local, C, i.outer); split(C.local, j.c, 16, tail=pad); "
     "reorder(C.local, k, i.c, j.c.outer, j.c.inner); vectorize(C.local, j.c.inner)",
     28},
    {"sums of which a condition leaves out lanes", "znver4",
     "input X: f32[64,96]; C[i<12, j<96] = sum[r<3, k<64 where j >= r*2](X[k,j - r*2] * W[i,k,r])",
     "cache_write(C, local); tile(C, i, j, 12, 32); vectorize(C, j.inner); compute_at(C.local, C, j.outer); "
     "reorder(C.local, r, k, i.c, j.c); vectorize(C.local, j.c)",
     24},
};

static void scheduled_in_registers(void **state) {
  const schedule_row *r = *state;
  char *assembly = kit_assembly(r->program, r->schedule, r->cpu);
  check_hottest(assembly, r->vectors);
  free(assembly);
}

/* Rows around an image are zeros, all lanes of them or none: a mask of the load says so. A branch for each would keep LLVM from
 * scheduling the taps together; the only jump left is the loop's. */
static void rows_of_zeros(void **state) {
  (void)state;
  static const char program[] =
      "input I: f32[6, 4, 16]; "
      "P[h<8, w<6, c<16] = select(h >= 1 && h < 7 && w >= 1 && w < 5, I[h-1, w-1, c], 0); "
      "O[h<6, w<4, c<16] = sum[r<3, s<3](P[h + r, w + s, c] * W[r, s, c])";
  const tn_build_options options = {.target = tn_target_new(K.ctx, "triple=x86_64-pc-linux-gnu cpu=znver4 threads=1")};
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s,
                    "compute_inline(P); cache_write(O, local); vectorize(O, c); compute_at(O.local, O, h); "
                    "reorder(O.local, h.c, r, s, w.c, c.c); vectorize(O.local, c.c); unroll(O.local, r); "
                    "unroll(O.local, s)");
  check_ok(K.ctx);
  char *assembly = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  int jumps = 0;
  for (const char *line = assembly; *line; line += strcspn(line, "\n"), line += *line == '\n')
    jumps += line[0] == '\t' && line[1] == 'j';
  if (jumps > 1) fail_msg("%d jumps where the loop's is enough:\n%s", jumps, assembly);
  free(assembly);
  tn_schedule_free(s);
}

static void computes(void **state) {
  const tile_row *r = *state;
  static float a[M * DEPTH], b[DEPTH * N], c[M * N];
  for (int x = 0; x < M * DEPTH; ++x) a[x] = (float)(x * 7 % 13 - 6);
  for (int x = 0; x < DEPTH * N; ++x) b[x] = (float)(x * 5 % 11 - 5);
  memset(c, 0, sizeof c);
  kit_run(matmul(r), (void *[]){a, b, c});
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < DEPTH; ++k) sum += a[i * DEPTH + k] * b[k * N + j];
      assert_true(c[i * N + j] == sum); /* small integers: exact */
    }
  }
}

/* The same input gives the same bytes, also after other compilations in between. */
static void same_bytes(void **state) {
  (void)state;
  codegen_bytes first, other, again;
  codegen_object(K.ctx, matmul(&tile_rows[0]), NULL, &first);
  codegen_object(K.ctx, matmul(&tile_rows[2]), NULL, &other);
  codegen_object(K.ctx, matmul(&tile_rows[0]), NULL, &again);
  check_ok(K.ctx);
  assert_int_equal(first.n, again.n);
  assert_memory_equal(first.data, again.data, first.n);
  free(first.data);
  free(other.data);
  free(again.data);
}

/* LLVM's own words for foreign processors: code is made for all three architectures. */
static void other_architectures(void **state) {
  (void)state;
  const tn_target *arm = tn_target_new(K.ctx, "triple=aarch64-linux-gnu cpu=neoverse-n1");
  const tn_target *riscv = tn_target_new(K.ctx, "triple=riscv64-linux-gnu features=+m,+a,+f,+d,+c");
  check_ok(K.ctx);
  char *text = kit_text(matmul(&tile_rows[5]), arm, CODEGEN_ASSEMBLY);
  check_has(text, "fmla");
  free(text);
  text = kit_text(matmul(&tile_rows[5]), riscv, CODEGEN_ASSEMBLY);
  check_has(text, "fmadd.s");
  free(text);
}

int test_tiles(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes), cmocka_unit_test(other_architectures),
                                            cmocka_unit_test(rows_of_zeros)};
  return CHECK_TABLE("register tiles", tile_rows, in_registers) + CHECK_TABLE("tiles compute", tile_rows, computes) +
         CHECK_TABLE("scheduled tiles", schedule_rows, scheduled_in_registers) + CHECK_TESTS("compiling", tests);
}
