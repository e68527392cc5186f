/* Other machines: the instructions that their assembly has, their objects' ELF headers, and kernels for aarch64 and for 32
 * bits that run under qemu. */
#include <elf.h>
#include <math.h>
#include <unistd.h>

#include "tests/codegen/kit.h"

/* A register tile with a tail in i, and a function of libm. */
static const char program[] =
    "S[i<13, j<32] = sum[k<24](A[i,k] * B[k,j])\n"
    "C[i<13, j<32] = exp(S[i,j] / 24)";
static const char steps[] =
    "cache_write(S, local); tile(S, i, j, 4, 16); compute_at(S.local, S, j.outer); reorder(S.local, k, i.c, j.c); "
    "unroll(S.local, i.c); vectorize(S.local, j.c); vectorize(S, j.inner); split(C, j, 4); vectorize(C, j.inner); "
    "parallel(C, i)";

static tn_schedule *scheduled(void) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, steps);
  check_ok(K.ctx);
  return s;
}

/* ---- every target ------------------------------------------------------------------------------------------------ */

typedef struct cross_row {
  const char *name; /* the target */
  int machine;
  const char *instruction, *registers; /* what the inner loop has, with which kind of register */
  const char *absent;                  /* what it must not have */
} cross_row;

static const cross_row rows[] = {
    {"triple=x86_64-linux-gnu cpu=x86-64-v2 threads=1", EM_X86_64, "mulps", "%xmm", "%ymm"},
    {"triple=x86_64-linux-gnu cpu=x86-64-v3 threads=1", EM_X86_64, "vfmadd", "%ymm", "%zmm"},
    {"triple=x86_64-linux-gnu cpu=x86-64-v4 threads=1", EM_X86_64, "vfmadd", "%zmm", "vmulss"},
    {"triple=aarch64-linux-gnu", EM_AARCH64, "fmla", ".4s", "fmul\ts"},
    {"triple=aarch64-linux-gnu cpu=cortex-a72", EM_AARCH64, "fmla", ".4s", "fmul\ts"},
    {"triple=riscv64-linux-gnu", EM_RISCV, "fmadd.s", "fa0", "__mulsf3"},
    {"triple=riscv64-linux-gnu features=+v", EM_RISCV, "vfmacc", "v8", "fmadd.s"},
    {"triple=armv7-linux-gnueabihf cpu=cortex-a7 features=+neon", EM_ARM, "vld1.32", "q8", "__aeabi"},
    {"triple=armv7-linux-gnueabihf", EM_ARM, "vmul.f32", "s0", "\tq"},
    {"triple=thumbv7em-none-eabi", EM_ARM, "vmul.f32", "s0", "__aeabi"},
    {"triple=thumbv7em-none-eabi cpu=cortex-m7", EM_ARM, "vmul.f32", "s0", "__aeabi"},
    {"triple=riscv32-unknown-elf features=+f", EM_RISCV, "fmadd.s", "fa0", "__mulsf3"},
};

static tn_build_options options_for(const char *target) {
  tn_build_options options = {.target = tn_target_new(K.ctx, target)};
  check_ok(K.ctx);
  return options;
}

static void assembly(void **state) {
  const cross_row *r = *state;
  tn_schedule *s = scheduled();
  tn_build_options options = options_for(r->name);
  char *text = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  check_has(text, r->instruction);
  check_has(text, r->registers);
  check_has_not(text, r->absent);
  free(text);
  tn_schedule_free(s);
}

static void object(void **state) {
  const cross_row *r = *state;
  char folder[64], path[128];
  tn_schedule *s = scheduled();
  tn_build_options options = options_for(r->name);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/k.o", folder);
  tn_build_file(s, &options, path);
  check_ok(K.ctx);
  char *bytes = runtime_read_file(K.ctx, path, NULL);
  const Elf64_Ehdr *header = (const void *)bytes;
  assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
  assert_int_equal(header->e_type, ET_REL);
  assert_int_equal(header->e_machine, r->machine);
  if (r->machine == EM_RISCV && header->e_ident[EI_CLASS] == ELFCLASS64)
    assert_int_equal(header->e_flags & EF_RISCV_FLOAT_ABI, EF_RISCV_FLOAT_ABI_DOUBLE);
  free(bytes);
  kit_folder_remove(folder);
  tn_schedule_free(s);
}

static void texts(void **state) {
  const cross_row *r = *state;
  tn_schedule *s = scheduled();
  tn_build_options options = options_for(r->name);
  char *c = tn_build_text(s, &options, ".c"), *ir = tn_build_text(s, &options, ".ll");
  check_ok(K.ctx);
  check_has(c, tn_target_text(options.target));
  check_has(ir, "target triple");
  free(c);
  free(ir);
  tn_schedule_free(s);
}

/* ---- 32 bits ----------------------------------------------------------------------------------------------------- */

/* Offsets of everything are words: no addition with carry, no function for 64 bits, in objects and in C. */
static const char gathers[] =
    "input A: i32[13, 24], B: i32[24, 40], D: i32[8], I: i32[40]\n"
    "S[i<13, j<40] = sum[k<24](A[i, k] * B[(i + 2*k) % 24, j])\n"
    "C[i<13, j<40] = select(S[i, j] > 0, S[i, j], D[min(max(I[j], 0), 7)])";

static void no_wide_arithmetic(void **state) {
  static const char *const targets[] = {"triple=armv7-linux-gnueabihf", "triple=thumbv7em-none-eabi"};
  static const char *const wide[] = {"adc", "sbc", "__aeabi_l", "__muldi3", "__divdi3"};
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(targets); i++) {
    tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, gathers, 0, NULL));
    check_ok(K.ctx);
    tn_build_options options = options_for(targets[i]);
    char *text = tn_build_text(s, &options, ".s"), *c = tn_build_text(s, &options, ".c");
    check_ok(K.ctx);
    for (int w = 0; w < RUNTIME_COUNT(wide); w++) check_has_not(text, wide[w]);
    check_has(c, "for (int32_t ");
    check_has_not(c, "int64_t");
    free(text);
    free(c);
    tn_schedule_free(s);
  }
}

/* What does not fit is refused by name, and built for a target of 64 bits. */
typedef struct room_row {
  const char *name, *program, *target, *message;
} room_row;

static const room_row room_rows[] = {
    {"elements beyond int32", "C[i<60000, j<60000] = A[i, j] + 1", "triple=armv7-linux-gnueabihf",
     "buffer C can reach 3.6e+09, and an index of int32, which the target's addresses are"},
    {"bytes beyond int32", "C[i<60000, j<20000] = A[i, j] + 1", "triple=riscv32-unknown-elf",
     "buffer C can reach 1.2e+09"},
    {"arguments beyond the RAM", "C[i<32, j<24] = sum[k<40](A[i, k] * B[k, j])", "triple=thumbv7em-none-eabi ram=11K",
     "arguments of 12032 bytes (the largest is A) and scratch of 0 do not fit the target's ram, 11264 bytes; take "
     "smaller"},
    {"scratch beyond the RAM", "T[i<1024] = A[i] * 2\nC[i<1024] = T[1023 - i] + T[i]",
     "triple=thumbv7em-none-eabi ram=10K", "scratch of 4096 do not fit the target's ram, 10240 bytes; compute less"},
    {"code beyond the flash", "C[i<32, j<24] = sum[k<40](A[i, k] * B[k, j])", "triple=thumbv7em-none-eabi flash=64",
     "do not fit the target's flash, 64 bytes; unroll less"},
    {"arguments beyond 63 bits", "C[i<2147483647, j<1073741824] = A[i, j] * 2",
     "triple=x86_64-linux-gnu ram=64K threads=1", "arguments of 9223372036854775807 bytes (the largest is A)"},
    {"flash of no ELF object", "C[i<32] = A[i] * 2", "triple=x86_64-pc-windows-msvc flash=64K threads=1",
     "flash= is compared with the sections of an ELF object, and x86_64-pc-windows-msvc has objects of another form"},
    {"flash of another form again", "C[i<32] = A[i] * 2", "triple=x86_64-apple-darwin flash=64K threads=1",
     "has objects of another form; leave flash= out"},
    {"a size that a call brings", "symbol N\ninput A: f32[N]\nC[i<N] = A[i] + 1", "triple=thumbv7em-none-eabi ram=64K",
     ""},
};

static void refuse_room(void **state) {
  const room_row *r = *state;
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, r->program, 0, NULL));
  check_ok(K.ctx);
  tn_build_options options = options_for(r->target);
  tn_build_file(s, &options, "/tmp/tenon-does-not-fit.o");
  check_fails(K.ctx, tn_context_status(K.ctx), r->message);
  assert_int_equal(access("/tmp/tenon-does-not-fit.o", F_OK), -1);
  tn_schedule_free(s);
}

/* ---- running under qemu ------------------------------------------------------------------------------------------ */

static const char use[] =
    "#include <math.h>\n"
    "#include \"k.h\"\n"
    "static float A[13][24], B[24][32], C[13][32];\n"
    "int main(void) {\n"
    "  for (int i = 0; i < 13; ++i) for (int k = 0; k < 24; ++k) A[i][k] = (float)((i * 7 + k * 3) % 11 - 5) / 4;\n"
    "  for (int k = 0; k < 24; ++k) for (int j = 0; j < 32; ++j) B[k][j] = (float)((k * 5 + j) % 13 - 6) / 4;\n"
    "  if (kernel(A[0], B[0], C[0]) != 0) return 2;\n"
    "  for (int i = 0; i < 13; ++i) for (int j = 0; j < 32; ++j) {\n"
    "    double sum = 0;\n"
    "    for (int k = 0; k < 24; ++k) sum += (double)A[i][k] * B[k][j];\n"
    "    if (!(fabs(C[i][j] / exp(sum / 24) - 1) < 1e-5)) return 3;\n"
    "  }\n"
    "  return 0;\n"
    "}\n";

typedef struct run_row {
  const char *name, *file, *flags;
  int threads;
  const char *gcc, *qemu, *target;
} run_row;

#define A64 "aarch64-linux-gnu-gcc", "qemu-aarch64", "triple=aarch64-linux-gnu cpu=cortex-a72"
#define A32 "arm-linux-gnueabihf-gcc", "qemu-arm", "triple=armv7-linux-gnueabihf"
#define WARNS "-std=c17 -Wall -Wextra -Werror"

static const run_row run_rows[] = {
    {"aarch64, object", "k.o", "", 1, A64},
    {"aarch64, object with threads", "k.o", "", 2, A64},
    {"aarch64, assembly", "k.s", "", 1, A64},
    {"aarch64, C source", "k.c", WARNS, 1, A64},
    {"aarch64, C source with threads", "k.c", WARNS " -fopenmp", 2, A64},
    {"armv7, object", "k.o", "", 1, A32},
    {"armv7, object with threads", "k.o", "", 2, A32},
    {"armv7 with NEON, object", "k.o", "", 1, A32 " cpu=cortex-a7 features=+neon"},
    {"armv7, C source", "k.c", WARNS, 1, A32},
    {"armv7 with NEON, C source", "k.c", WARNS " -mfpu=neon", 1, A32 " cpu=cortex-a7 features=+neon"},
};

static void write_files(const char *folder, const run_row *r) {
  char path[128], target[128];
  tn_schedule *s = scheduled();
  snprintf(target, sizeof target, "%s threads=%d", r->target, r->threads);
  tn_build_options options = options_for(target);
  snprintf(path, sizeof path, "%s/%s", folder, r->file);
  tn_build_file(s, &options, path);
  snprintf(path, sizeof path, "%s/k.h", folder);
  tn_build_header(s, &options, path);
  check_ok(K.ctx);
  snprintf(path, sizeof path, "%s/use.c", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(use, file);
  fclose(file);
  tn_schedule_free(s);
}

static void run_under_qemu(void **state) {
  const run_row *r = *state;
  char folder[64];
  if (kit_shell(NULL, "{ %s --version && %s --version; } > /dev/null 2>&1", r->gcc, r->qemu) != 0) {
    print_message("skipped: %s or %s is not installed (scripts/setup does it)\n", r->gcc, r->qemu);
    skip();
  }
  kit_folder(folder);
  write_files(folder, r);
  assert_int_equal(
      kit_shell(NULL, "cd %s && %s -O2 %s -static use.c %s -o use -lgomp -lm 1>&2", folder, r->gcc, r->flags, r->file),
      0);
  assert_int_equal(kit_shell(NULL, "%s %s/use 1>&2", r->qemu, folder), 0);
  kit_folder_remove(folder);
}

static void refuse_shared_object(void **state) {
  (void)state;
  tn_schedule *s = scheduled();
  tn_build_options options = options_for("triple=riscv64-linux-gnu");
  tn_build_file(s, &options, "/tmp/kernel.so");
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "/tmp/kernel.so cannot be linked here", "triple=riscv64-unknown-linux-gnu",
              ".o");
  tn_schedule_free(s);
}

int test_cross(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refuse_shared_object),
                                            cmocka_unit_test(no_wide_arithmetic)};
  return CHECK_TABLE("assembly for", rows, assembly) + CHECK_TABLE("objects for", rows, object) +
         CHECK_TABLE("texts for", rows, texts) + CHECK_TABLE("under qemu", run_rows, run_under_qemu) +
         CHECK_TABLE("too large for the target", room_rows, refuse_room) +
         CHECK_TESTS("other machines, the rest", tests);
}
