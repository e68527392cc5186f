/* Other machines: the instructions that their assembly has, their objects' ELF headers, and kernels for aarch64 that
 * run under qemu. */
#include <elf.h>
#include <math.h>

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
  if (r->machine == EM_RISCV) assert_int_equal(header->e_flags & EF_RISCV_FLOAT_ABI, EF_RISCV_FLOAT_ABI_DOUBLE);
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

/* ---- running for aarch64 ----------------------------------------------------------------------------------------- */

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
} run_row;

static const run_row run_rows[] = {
    {"object", "k.o", "", 1},
    {"object with threads", "k.o", "", 2},
    {"assembly", "k.s", "", 1},
    {"C source", "k.c", "-std=c17 -Wall -Wextra -Werror", 1},
    {"C source with threads", "k.c", "-std=c17 -Wall -Wextra -Werror -fopenmp", 2},
};

static void write_files(const char *folder, const run_row *r) {
  char path[128], target[96];
  tn_schedule *s = scheduled();
  snprintf(target, sizeof target, "triple=aarch64-linux-gnu cpu=cortex-a72 threads=%d", r->threads);
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
  if (kit_shell(NULL, "{ aarch64-linux-gnu-gcc --version && qemu-aarch64 --version; } > /dev/null 2>&1") != 0) {
    print_message("skipped: aarch64-linux-gnu-gcc or qemu-aarch64 is not installed (scripts/setup does it)\n");
    skip();
  }
  kit_folder(folder);
  write_files(folder, r);
  assert_int_equal(kit_shell(NULL, "cd %s && aarch64-linux-gnu-gcc -O2 %s -static use.c %s -o use -lgomp -lm 1>&2",
                             folder, r->flags, r->file),
                   0);
  assert_int_equal(kit_shell(NULL, "qemu-aarch64 %s/use 1>&2", folder), 0);
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
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refuse_shared_object)};
  return CHECK_TABLE("assembly for", rows, assembly) + CHECK_TABLE("objects for", rows, object) +
         CHECK_TABLE("texts for", rows, texts) + CHECK_TABLE("aarch64 under qemu", run_rows, run_under_qemu) +
         CHECK_TESTS("other machines, the rest", tests);
}
