/* Targets: this machine, canonical texts, and every wrong specification. */
#include <time.h>

#include "tests/codegen/kit.h"

/* Beside a sanitizer the machine's times say little. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TIMES_ARE_TRUE = false };
#else
enum { TIMES_ARE_TRUE = true };
#endif

/* ---- texts ------------------------------------------------------------------------------------------------------- */

typedef struct text_row {
  const char *name; /* the specification */
  const char *text;
  int vector_bytes, threads;
} text_row;

static const text_row text_rows[] = {
    {"triple=x86_64-linux-gnu cpu=znver4 threads=3", "triple=x86_64-unknown-linux-gnu cpu=znver4 threads=3", 64, 3},
    {"threads=1 cpu=haswell triple=x86_64-linux-gnu", "triple=x86_64-unknown-linux-gnu cpu=haswell threads=1", 32, 1},
    {"triple=x86_64-linux-gnu cpu=x86-64 threads=1", "triple=x86_64-unknown-linux-gnu cpu=x86-64 threads=1", 16, 1},
    {"triple=x86_64-linux-gnu cpu=znver4 features=-avx512f threads=2",
     "triple=x86_64-unknown-linux-gnu cpu=znver4 features=-avx512f threads=2", 32, 2},
    {"triple=x86_64-linux-gnu cpu=znver4 features=+avx2,+fma threads=2", /* znver4 has them */
     "triple=x86_64-unknown-linux-gnu cpu=znver4 threads=2", 64, 2},
    {"triple=x86_64-linux-gnu cpu=x86-64 features=+avx2,+avx,-avx2 threads=2",
     "triple=x86_64-unknown-linux-gnu cpu=x86-64 features=+avx threads=2", 32, 2},
    {"triple=aarch64-linux-gnu", "triple=aarch64-unknown-linux-gnu cpu=generic threads=1", 16, 1},
    /* Linux on RISC-V has at least these */
    {"triple=armv7-linux-gnueabihf cpu=cortex-a7", "triple=armv7-unknown-linux-gnueabihf cpu=cortex-a7 threads=1", 16,
     1},
    {"triple=thumbv7em-none-eabi flash=1048576 ram=64K",
     "triple=thumbv7em-unknown-none-eabi cpu=cortex-m4 threads=1 ram=64K flash=1M", 16, 1},
    {"triple=riscv32-unknown-elf ram=1000",
     "triple=riscv32-unknown-unknown-elf cpu=generic-rv32 features=+a,+c,+m threads=1 ram=1000", 16, 1},
    {"triple=riscv64-linux-gnu features=+v",
     "triple=riscv64-unknown-linux-gnu cpu=generic-rv64 features=+a,+c,+d,+f,+m,+v threads=1", 16, 1},
    {"triple=riscv64-linux-gnu cpu=generic-rv64 features=+v threads=1",
     "triple=riscv64-unknown-linux-gnu cpu=generic-rv64 features=+v threads=1", 16, 1},
    {"triple=riscv64-linux-gnu features=-d",
     "triple=riscv64-unknown-linux-gnu cpu=generic-rv64 features=+a,+c,+f,+m threads=1", 16, 1},
};

static void canonical(void **state) {
  const text_row *r = *state;
  const tn_target *target = tn_target_new(K.ctx, r->name);
  check_ok(K.ctx);
  assert_string_equal(tn_target_text(target), r->text);
  assert_int_equal(tn_target_vector_bytes(target), r->vector_bytes);
  assert_int_equal(tn_target_threads(target), r->threads);
}

/* The canonical text of a target makes the same target. */
static void parses_back(void **state) {
  const text_row *r = *state;
  const tn_target *target = tn_target_new(K.ctx, r->name), *again = tn_target_new(K.ctx, tn_target_text(target));
  check_ok(K.ctx);
  assert_string_equal(tn_target_text(target), tn_target_text(again));
  assert_int_equal(tn_target_vector_bytes(target), tn_target_vector_bytes(again));
}

/* ---- this machine ------------------------------------------------------------------------------------------------ */

static void native(void **state) {
  (void)state;
  const tn_target *target = tn_target_new(K.ctx, NULL), *named = tn_target_new(K.ctx, "native");
  check_ok(K.ctx);
  assert_string_equal(tn_target_text(target), tn_target_text(named));
  const tn_target *again = tn_target_new(K.ctx, tn_target_text(target));
  check_ok(K.ctx);
  assert_string_equal(tn_target_text(target), tn_target_text(again));
  assert_int_equal(tn_target_threads(target), tn_thread_count());
}

static void native_caches(void **state) {
  (void)state;
  const tn_target *target = tn_target_new(K.ctx, NULL);
  int64_t l1 = tn_target_cache_bytes(target, 1), l2 = tn_target_cache_bytes(target, 2);
  assert_in_range(l1, 4 << 10, 1 << 20);
  assert_true(l2 >= l1);
  assert_int_equal(tn_target_cache_bytes(target, 0), 0);
  assert_int_equal(tn_target_cache_bytes(target, 4), 0);
}

/* A small board has no vectors and says what its flash holds; who does not say so has no limit. */
static void what_a_board_has(void **state) {
  (void)state;
  const tn_target *board = tn_target_new(K.ctx, "triple=riscv32-unknown-elf ram=64K flash=256K");
  const tn_target *large = tn_target_new(K.ctx, "triple=aarch64-linux-gnu");
  check_ok(K.ctx);
  assert_false(tn_target_has_vectors(board));
  assert_int_equal(tn_target_flash_bytes(board), 256 << 10);
  assert_true(tn_target_has_vectors(large));
  assert_int_equal(tn_target_flash_bytes(large), 0);
  assert_false(tn_target_has_vectors(NULL));
  assert_int_equal(tn_target_flash_bytes(NULL), 0);
}

/* The wide registers count only when the operating system saves them: the compiler's run time asks XGETBV too. */
static void native_vectors(void **state) {
  (void)state;
#if defined(__x86_64__)
  const tn_target *target = tn_target_new(K.ctx, NULL);
  bool avx512 = __builtin_cpu_supports("avx512f"), avx = __builtin_cpu_supports("avx");
  assert_int_equal(tn_target_vector_bytes(target), avx512 ? 64 : avx ? 32 : 16);
#else
  skip();
#endif
}

static void null_in_null_out(void **state) {
  (void)state;
  assert_null(tn_target_new(NULL, NULL));
  assert_null(tn_target_text(NULL));
  assert_int_equal(tn_target_threads(NULL), 0);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static tir_func *small_kernel(void) {
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, 64), *C = kit_out("C", TN_F32, 64);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), 16), 1, 16), *a = kit_load(A, at);
  const tir_expr *value = tir_unary(&K.arena, TIR_FLOOR, tir_binary(&K.arena, TIR_MUL, a, a));
  return kit_func("kernel", kit_for(i, 4, TIR_PARALLEL, kit_store(C, at, value)));
}

/* LLVM ends the process on this one; the message comes back, and the context goes on working. */
static void fatal_error(void **state) {
  (void)state;
  codegen_bytes object;
  const tn_target *target = tn_target_new(K.ctx, "triple=riscv64-linux-gnu features=+zcf");
  check_ok(K.ctx);
  LEAKS_ALLOWED(codegen_object(K.ctx, small_kernel(), target, &object));
  check_fails(K.ctx, TN_ERROR_CODEGEN, "kernel: LLVM gave up", "only supported for 'rv32'");
  assert_null(object.data);
  codegen_object(K.ctx, small_kernel(), NULL, &object);
  check_ok(K.ctx);
  free(object.data);
}

/* An error that LLVM reports through its diagnostics. */
static void diagnosed_error(void **state) {
  (void)state;
  codegen_bytes object;
  const tn_target *target = tn_target_new(K.ctx, "triple=riscv64-linux-gnu features=+reserve-x2");
  codegen_object(K.ctx, small_kernel(), target, &object);
  check_fails(K.ctx, TN_ERROR_CODEGEN, "kernel: LLVM: ", "has been reserved");
}

static const struct cpu_row {
  const char *name;
} cpu_rows[] = {{"x86-64"},         {"core2"},          {"nehalem"},   {"sandybridge"}, {"haswell"},
                {"skylake-avx512"}, {"sapphirerapids"}, {"alderlake"}, {"atom"},        {"btver2"},
                {"bdver4"},         {"znver1"},         {"znver5"},    {"x86-64-v4"}};

static void compiles_for(void **state) {
  const struct cpu_row *r = *state;
  char spec[96];
  snprintf(spec, sizeof spec, "triple=x86_64-linux-gnu cpu=%s threads=2", r->name);
  char *text = kit_text(small_kernel(), tn_target_new(K.ctx, spec), CODEGEN_ASSEMBLY);
  check_has(text, "GOMP_parallel");
  free(text);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct wrong_row {
  const char *name; /* the specification */
  const char *message;
} wrong_row;

static const wrong_row wrong_rows[] = {
    {"cpus=znver4",
     "unknown key \"cpus\" in the target \"cpus=znver4\": the keys are triple=, cpu=, features=, threads=, costs="},
    {"llvm", "unknown word \"llvm\""},
    {"cpu=znver99", "the nearest name is \"znver1\"; there are "},
    {"cpu=", "cpu= in the target \"cpu=\" has no value"},
    {"features=+avx99", "unknown feature \"+avx99\""},
    {"features=avx2", "malformed feature \"avx2\""},
    {"features=+", "malformed feature \"+\""},
    {"threads=0", "a number from 1 to 1024"},
    {"threads=two", "threads=two"},
    {"threads=-1", "threads=-1"},
    {"threads=4x", "threads=4x"},
    {"costs=fma99:1", "\"fma99:1\" is none of a machine's costs"},
    {"costs=fma16", "\"fma16\" is none of a machine's costs"},
    {"costs=fma16:0.1,line2:-1", "\"line2:-1\" is none of a machine's costs"},
    {"costs=fma16:0", "\"fma16:0\" is none of a machine's costs"},
    {"costs=fma16:1x", "\"fma16:1x\" is none of a machine's costs"},
    {"costs=cache2:0.5", "\"cache2:0.5\" is none of a machine's costs"},
    {"costs=cache3:1e300", "\"cache3:1e300\" is none of a machine's costs"},
    {"costs=ways3:0", "\"ways3:0\" is none of a machine's costs"},
    {"costs=ways1:65", "\"ways1:65\" is none of a machine's costs"},
    {"triple=pdp11-dec-bsd", "x86_64, aarch64, riscv64, armv7, thumbv7em and riscv32"},
    {"triple=i686-linux-gnu", "x86_64, aarch64, riscv64, armv7, thumbv7em and riscv32"},
    {"triple=x86_64-linux-gnu cpu=i386", "cpu=i386 with these features lacks 64bit"},
    {"triple=x86_64-linux-gnu cpu=znver4 features=-sse2", "lacks sse2, which code for x86_64 needs"},
    {"triple=aarch64-linux-gnu cpu=znver4", "unknown cpu \"znver4\""},
    {"triple=aarch64-linux-gnu features=+avx2", "unknown feature \"+avx2\""},
    {"triple=riscv64-linux-gnu features=+zve32f", "feature \"+zve32f\""},
    {"triple=riscv64-linux-gnu cpu=generic-rv32", "lacks 64bit, which code for riscv64 needs"},
    {"triple=riscv32-unknown-elf cpu=generic-rv64", "lacks 32bit, which code for riscv32 needs"},
    {"triple=thumbv7em-none-eabi cpu=cortex-m3", "lacks dsp, which code for thumbv7em needs"},
    {"triple=armv7-linux-gnueabihf cpu=cortex-m4", "lacks aclass, which code for armv7 needs"},
    {"triple=thumbv7em-none-eabi threads=2", "has no operating system that starts threads; write threads=1"},
    {"ram=0", "ram=0 in the target \"ram=0\": bytes are needed, as in ram=64K"},
    {"ram=64k", "ram=64k in the target"},
    {"flash=64KB", "flash=64KB in the target"},
    {"flash=4096M", "flash=4096M in the target"},
    {"ram=-1", "ram=-1 in the target"},
};

static void refuse(void **state) {
  const wrong_row *r = *state;
  assert_null(tn_target_new(K.ctx, r->name));
  check_fails(K.ctx, TN_ERROR_ARGUMENT, r->message);
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/* They are kept, come back as text, and are no part of what names records. */
static void carries_costs(void **state) {
  (void)state;
  tn_target *t = tn_target_new(K.ctx, "cpu=znver4 triple=x86_64-linux-gnu costs=fma16:0.25,line2:1.5 threads=1");
  assert_non_null(t);
  assert_true(tn_target_machine(t).costs.fma16 == 0.25 && tn_target_machine(t).costs.line2 == 1.5);
  assert_null(strstr(tn_target_text(t), "costs"));
  tn_target *again = tn_target_new(K.ctx, tn_target_costs(t));
  assert_non_null(again);
  assert_string_equal(tn_target_costs(again), tn_target_costs(t));
  assert_int_equal(tn_target_set_costs(t, "fma16:1"), TN_ERROR_ARGUMENT);
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "costs=fma16:0.1,... is needed");
  assert_true(tn_target_machine(t).costs.fma16 == 0.25);
}

/* Where a target says nothing of caches, those of this machine count only for its own processor: the text of another one means
 * the same everywhere. */
static void carries_caches(void **state) {
  (void)state;
  tn_target *own = tn_target_new(K.ctx, "");
  const char *other = strstr(tn_target_text(own), "cpu=haswell ") ? "cpu=skylake threads=1" : "cpu=haswell threads=1";
  tn_machine plain = tn_target_machine(tn_target_new(K.ctx, other));
  assert_int_equal(plain.cache_bytes[2], 512 << 10);
  assert_int_equal(plain.cache_ways[1], 0);
  char text[128];
  snprintf(text, sizeof text, "%s costs=cache2:2097152,ways1:12,ways3:11", other);
  tn_target *t = tn_target_new(K.ctx, text);
  assert_int_equal(tn_target_machine(t).cache_bytes[2], 2 << 20);
  assert_int_equal(tn_target_machine(t).cache_ways[1], 12);
  assert_int_equal(tn_target_machine(t).cache_ways[3], 11);
  assert_string_equal(tn_target_costs(t), "costs=cache2:2097152,ways1:12,ways3:11");
}

static double seconds_of(const struct timespec *from, const struct timespec *to) {
  return (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
}

/* Whether a measurement's numbers go together: nearer memory is no slower, a dependent chain no faster than a full pipeline. */
static bool are_in_order(const tn_machine_costs *c) {
  return c->chain >= c->fma16 && c->chain >= c->fma64 && c->chain >= c->load && c->line2 <= c->line3 &&
         c->line3 <= c->line4 && c->line4 <= c->shared4 && c->write4 <= c->sharedwrite4 && c->past <= c->sharedpast;
}

/* Every cost is measured, and it does not take long. A busy machine may disturb a measurement, but not each of five. */
static void measures(void **state) {
  (void)state;
  bool is_right = false;
  for (int attempt = 0; attempt < 5 && !is_right; attempt++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const char *word = tn_measure_costs(K.ctx);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_non_null(word);
    tn_target *t = tn_target_new(K.ctx, word);
    assert_non_null(t);
    tn_machine_costs c = tn_target_machine(t).costs;
#define X(name, what) assert_true(c.name > 0);
    TN_MACHINE_COSTS(X)
#undef X
    assert_true(seconds_of(&begin, &end) < 20);
    is_right = !TIMES_ARE_TRUE || are_in_order(&c);
  }
  assert_true(is_right);
}

/* The schedule is decided by the target's text alone. */
static void same_text_same_auto(void **state) {
  (void)state;
  static const char spec[] = "triple=x86_64-linux-gnu cpu=znver4 threads=2 costs=fma64:0.3,line2:0.7,line3:3";
  char *texts[2];
  tn_program *p = tn_program_parse(K.ctx, "C[i<333, j<500] = sum[k<700](A[i,k] * B[k,j])", 0, NULL);
  for (int i = 0; i < 2; i++) {
    tn_machine machine = tn_target_machine(tn_target_new(K.ctx, spec));
    tn_schedule *s = tn_schedule_new(p);
    assert_int_equal(tn_schedule_auto(s, &machine), TN_OK);
    texts[i] = tn_schedule_print(s, TN_FORM_TEXT);
  }
  assert_string_equal(texts[0], texts[1]);
  free(texts[0]);
  free(texts[1]);
}

int test_targets(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(native),          cmocka_unit_test(native_caches),      cmocka_unit_test(what_a_board_has),
      cmocka_unit_test(native_vectors),  cmocka_unit_test(null_in_null_out),   cmocka_unit_test(fatal_error),
      cmocka_unit_test(diagnosed_error), cmocka_unit_test(carries_costs),      cmocka_unit_test(carries_caches),
      cmocka_unit_test(measures),        cmocka_unit_test(same_text_same_auto)};
  return CHECK_TABLE("targets", text_rows, canonical) + CHECK_TABLE("targets parse back", text_rows, parses_back) +
         CHECK_TESTS("this machine", tests) + CHECK_TABLE("processors", cpu_rows, compiles_for) +
         CHECK_TABLE("targets refused", wrong_rows, refuse);
}
