/* tune.c: tunes a program for a board without an operating system, with a builder and a runner of its own:
 *
 *   cortex_m BOARD PROGRAM LOG TRIALS [SEED]
 *
 * BOARD: cortex_m4, cortex_m7, riscv32. The builder has Tenon write an object, which the board's compiler links with a start-up
 * and the program around it (measure.c); the runner starts the result in an emulator, which counts instructions. Both are
 * deterministic: the same seed gives the same log on every machine, but for the times of day. Beside the tuned kernel the plain
 * loops of plain/PROGRAM.c are measured, compiled with -O2. It is to be started in its folder. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/autotune.h>
#include <unistd.h>

extern char **environ;

/* MAX_WORDS: of a command line. MAX_ELEMENTS: bytes of a text that is read. BOARD_HZ: what the board's
 * instructions are divided by, so that the tuner sees seconds. */
enum { PATH_BYTES = 256, MAX_WORDS = 24, MAX_ELEMENTS = 1 << 20, BOARD_HZ = 25000000 };

/* ---- boards: how to compile for each, and how to emulate it ------------------------------------------------------ */

/* FOLDER has its start.c and board.ld; TARGET is the text of a tn_target. Both commands end with a NULL. */
typedef struct board {
  const char *name, *folder, *target;
  const char *compiler[8], *emulator[16];
} board;

#define ARM(cpu) {"arm-none-eabi-gcc", "-mcpu=" cpu, "-mthumb", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"}
#define QEMU_ARM(machine)     \
  {"timeout",                 \
   "60",                      \
   "qemu-system-arm",         \
   "-M",                      \
   machine,                   \
   "-nographic",              \
   "-monitor",                \
   "none",                    \
   "-serial",                 \
   "none",                    \
   "-semihosting-config",     \
   "enable=on,target=native", \
   "-icount",                 \
   "shift=0,sleep=off",       \
   "-kernel"}

/* RAM and flash that the target has for a kernel. What the program around it takes is not counted in them:
 * board.ld has room for both. */
static const board boards[] = {
    {"cortex_m4", "cortex_m4", "triple=thumbv7em-none-eabi cpu=cortex-m4 ram=64K flash=256K", ARM("cortex-m4"),
     QEMU_ARM("mps2-an386")},
    {"cortex_m7", "cortex_m4", "triple=thumbv7em-none-eabi cpu=cortex-m7 ram=64K flash=256K", ARM("cortex-m7"),
     QEMU_ARM("mps2-an500")},
    {"riscv32",
     "riscv32",
     "triple=riscv32-unknown-elf ram=64K flash=256K",
     {"riscv64-unknown-elf-gcc", "-march=rv32imac_zicsr", "-mabi=ilp32", "-mcmodel=medany", "-ffreestanding"},
     {"timeout", "60", "qemu-system-riscv32", "-M", "virt", "-bios", "none", "-nographic", "-monitor", "none",
      "-serial", "stdio", "-icount", "shift=0,sleep=off", "-kernel"}},
};

/* One program on one board: what the builder and the runner share. */
typedef struct bench {
  const board *board;
  tn_context *ctx;
  tn_program *program;
  const tn_target *target;
  char folder[PATH_BYTES]; /* a temporary folder for objects and what commands print */
  unsigned expected;       /* what the outputs' bytes add up to */
  int n_built;
} bench;

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* Prints a message and ends the program: an example need not go on. */
static void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("cortex_m: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}

static void check(tn_context *ctx) {
  if (tn_context_status(ctx) != TN_OK) fail("%s", tn_context_message(ctx));
}

/* Runs a command and returns its exit status. What it prints goes to the file SAYS. */
static int run(const char *const *words, const char *says) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, says, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  int error = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) fail("%s: %s", words[0], strerror(error));
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Appends the words of FIRST, up to its NULL, to WORDS, which stays NULL-terminated. */
static void add_words(const char **words, int *n, const char *const *first) {
  while (*first != NULL && *n + 1 < MAX_WORDS) words[(*n)++] = *first++;
  words[*n] = NULL;
}

static char *read_text(const char *path, size_t *n) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(MAX_ELEMENTS);
  if (file == NULL || text == NULL) fail("%s: %s", path, strerror(errno));
  *n = fread(text, 1, MAX_ELEMENTS - 1, file);
  text[*n] = '\0';
  fclose(file);
  return text;
}

static void write_text(const char *path, const void *text, size_t n) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(text, 1, n, file) != n || fclose(file) != 0) fail("%s: %s", path, strerror(errno));
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* The same numbers as measure.c makes on the board. */
static int next_number(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (signed char)(*state >> 24);
}

/* Writes the low bytes of each number, as measure.c does by a cast. */
static void fill(DLTensor *array, unsigned *state) {
  size_t bytes = array->dtype.bits / 8, n = tn_array_bytes(array) / bytes;
  for (size_t i = 0; i < n; i++) {
    long long value = next_number(state); /* this machine has the low byte first, as the boards have */
    memcpy((char *)array->data + i * bytes, &value, bytes);
  }
}

/* The checksum that the outputs shall have. The reference evaluator computes it, which shares no code with the
 * compiler. */
static unsigned expected_sum(bench *b, unsigned seed) {
  DLTensor *args[16];
  unsigned state = seed, sum = 2166136261u;
  int n = tn_program_arg_count(b->program), n_inputs = tn_program_input_count(b->program);
  for (int i = 0; i < n; i++) {
    tn_tensor *t = tn_program_arg(b->program, i);
    args[i] = tn_array_new(b->ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    check(b->ctx);
    if (i < n_inputs) fill(args[i], &state);
  }
  tn_evaluate(b->program, args, n);
  check(b->ctx);
  for (int i = 0; i < n; i++) {
    const unsigned char *at = args[i]->data;
    for (size_t k = 0; i >= n_inputs && k < tn_array_bytes(args[i]); k++) sum = (sum ^ at[k]) * 16777619u;
    tn_array_free(args[i]);
  }
  return sum;
}

/* ---- the program around a kernel --------------------------------------------------------------------------------- */

static const char *c_type(tn_dtype dtype) {
  return dtype == TN_I8    ? "int8_t"
         : dtype == TN_U8  ? "uint8_t"
         : dtype == TN_I16 ? "int16_t"
         : dtype == TN_U16 ? "uint16_t"
         : dtype == TN_I32 ? "int32_t"
                           : NULL;
}

/* Writes arguments.h, which tells measure.c what the program's arguments are and how the kernel is called. */
static void write_arguments(const bench *b, unsigned seed) {
  char path[PATH_BYTES + 32], text[2048], call[512] = "", declared[512] = "";
  int n = tn_program_arg_count(b->program), n_inputs = tn_program_input_count(b->program);
  size_t at = (size_t)snprintf(text, sizeof text, "#include <stdint.h>\n#define SEED %uu\n#define ARGUMENTS", seed);
  for (int i = 0; i < n && i < 16; i++) {
    tn_tensor *t = tn_program_arg(b->program, i);
    const char *type = c_type(tn_tensor_dtype(t));
    long long elements = 1;
    for (int d = 0; d < tn_tensor_rank(t); d++) elements *= tn_tensor_shape(t)[d];
    if (type == NULL) fail("%s: this example fills integers of up to 32 bits", tn_tensor_name(t));
    at += (size_t)snprintf(text + at, sizeof text - at, " X(%d, %s, %lld, %d)", i, type, elements, i >= n_inputs);
    snprintf(call + strlen(call), sizeof call - strlen(call), "%sarg%d", i ? ", " : "", i);
    snprintf(declared + strlen(declared), sizeof declared - strlen(declared), "%s%s%s *", i ? ", " : "",
             i < n_inputs ? "const " : "", type);
  }
  snprintf(text + at, sizeof text - at, "\nint32_t kernel(%s);\n#define KERNEL_CALL kernel(%s)\n", declared, call);
  snprintf(path, sizeof path, "%s/arguments.h", b->folder);
  write_text(path, text, strlen(text));
}

/* NAME.o in the folder of files in between. */
typedef struct object_path {
  char text[PATH_BYTES + 16];
} object_path;

static object_path path_of(const bench *b, const char *name) {
  object_path path;
  snprintf(path.text, sizeof path.text, "%s/%s.o", b->folder, name);
  return path;
}

/* Compiles one of the files that are the same for all candidates. It is done once; a failure ends the program. */
static void compile_around(const bench *b, const char *source, const char *name) {
  char include[PATH_BYTES + 8], says[PATH_BYTES + 16];
  const char *words[MAX_WORDS + 1];
  size_t length;
  int n = 0;
  object_path object = path_of(b, name);
  snprintf(include, sizeof include, "-I%s", b->folder);
  snprintf(says, sizeof says, "%s/says", b->folder);
  add_words(words, &n, b->board->compiler);
  add_words(words, &n,
            (const char *const[]){"-O2", "-I.", include, "-ffunction-sections", "-c", source, "-o", object.text, NULL});
  if (run(words, says) != 0) fail("%s: %s", source, read_text(says, &length));
}

/* Links KERNEL, an object or a C file, to a program for the board. Returns the linker's status; what it says is
 * in the file SAYS. */
static int link_program(const bench *b, const char *kernel, const char *elf, const char *says) {
  char script[64];
  const char *words[MAX_WORDS + 1];
  int n = 0;
  object_path measure = path_of(b, "measure"), start = path_of(b, "start");
  snprintf(script, sizeof script, "-T%s/board.ld", b->board->folder);
  add_words(words, &n, b->board->compiler);
  add_words(words, &n,
            (const char *const[]){"-O2", "-nostdlib", "-Wl,--gc-sections", script, measure.text, start.text, kernel,
                                  "-lgcc", "-o", elf, NULL});
  return run(words, says);
}

/* ---- builder: a tn_builder from steps to a program for the board ------------------------------------------------- */

/* Reports a failed candidate; the tuner frees the message. */
static void explain(tn_measurement *out, tn_measure_error error, const char *why) {
  out->error = error;
  out->message = strdup(why);
}

/* Compiles a candidate's steps to an object at PATH. False with the reason in OUT. A kernel that does not fit
 * the target's memory is refused here. */
static int compile(bench *b, const tn_candidate *candidate, const char *path, tn_measurement *out) {
  tn_schedule *schedule = tn_schedule_new(b->program);
  if (tn_schedule_replay(schedule, candidate->steps) == TN_OK)
    tn_build_file(schedule, &(tn_build_options){.target = b->target, .name = "kernel"}, path);
  tn_schedule_free(schedule);
  if (tn_context_status(b->ctx) == TN_OK) return 1;
  explain(out, TN_MEASURE_COMPILE, tn_context_message(b->ctx));
  tn_context_clear(b->ctx);
  return 0;
}

/* The finished program travels to the runner as OUT's object bytes. */
static void build_one(bench *b, const tn_candidate *candidate, tn_measurement *out) {
  char object[PATH_BYTES + 16], elf[PATH_BYTES + 16], says[PATH_BYTES + 16];
  size_t n;
  snprintf(object, sizeof object, "%s/kernel.o", b->folder);
  snprintf(elf, sizeof elf, "%s/kernel.elf", b->folder);
  snprintf(says, sizeof says, "%s/says", b->folder);
  if (!compile(b, candidate, object, out)) return;
  if (link_program(b, object, elf, says) != 0) {
    char *why = read_text(says, &n);
    explain(out, TN_MEASURE_LOAD, why);
    free(why);
    return;
  }
  out->object = read_text(elf, &n);
  out->object_bytes = n;
  b->n_built++;
}

/* tn_builder.build: each candidate after the other. */
static tn_status build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  for (int i = 0; i < n; i++) {
    out[i] = (tn_measurement){0};
    build_one(self, &candidates[i], &out[i]);
  }
  return TN_OK;
}

/* ---- runner: a tn_runner that starts an emulator ----------------------------------------------------------------- */

/* The number behind NAME in TEXT; 0: there is none. */
static int find_number(const char *text, const char *name, unsigned long *out) {
  const char *at = strstr(text, name);
  char *end;
  if (at == NULL) return 0;
  *out = strtoul(at + strlen(name), &end, 10);
  return end != at + strlen(name);
}

/* Runs ELF in the emulator and returns the instructions of the kernel's call; 0 with the reason in OUT. */
static unsigned long count(const bench *b, const char *elf, tn_measurement *out) {
  char says[PATH_BYTES + 16], why[400];
  const char *words[MAX_WORDS + 1];
  unsigned long failed = 0, instructions = 0, sum = 0;
  size_t length;
  int n = 0;
  snprintf(says, sizeof says, "%s/said", b->folder);
  add_words(words, &n, b->board->emulator);
  add_words(words, &n, (const char *const[]){elf, NULL});
  int status = run(words, says);
  char *text = read_text(says, &length);
  if (status == 124)
    explain(out, TN_MEASURE_RUN_TIMEOUT, "the emulator was ended after 60 s");
  else if (!find_number(text, "failed ", &failed) || !find_number(text, "instructions ", &instructions) ||
           !find_number(text, "sum ", &sum)) {
    snprintf(why, sizeof why, "the board ended with status %d and said: %.300s", status, text);
    explain(out, TN_MEASURE_RUNTIME, why);
  } else if (failed != 0)
    explain(out, TN_MEASURE_MEMORY, "the board has no memory for the kernel's scratch");
  else if (sum != b->expected) {
    snprintf(why, sizeof why, "the outputs add up to %lu, not %u", sum, b->expected);
    explain(out, TN_MEASURE_WRONG_ANSWER, why);
  } else if (instructions == 0)
    explain(out, TN_MEASURE_UNKNOWN, "the board counted no instructions");
  free(text);
  return out->error == TN_MEASURE_NONE ? instructions : 0;
}

/* The cost of a candidate is what its instructions take at the board's clock, counted as one a cycle. */
static void run_one(const bench *b, tn_measurement *m) {
  char elf[PATH_BYTES + 16];
  snprintf(elf, sizeof elf, "%s/run.elf", b->folder);
  write_text(elf, m->object, m->object_bytes);
  unsigned long n = count(b, elf, m);
  if (n == 0) return;
  m->n_costs = 1;
  m->costs[0] = (double)n / BOARD_HZ;
  m->checked = true;
  m->share = 1;
}

/* tn_runner.run: candidates that were not built keep their error. */
static tn_status run_all(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  (void)candidates;
  for (int i = 0; i < n; i++)
    if (inout[i].error == TN_MEASURE_NONE) run_one(self, &inout[i]);
  return TN_OK;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/* Instructions of the plain loops in C, compiled with -O2 by the same compiler. A failure ends the program. */
static unsigned long count_plain(const bench *b, const char *name) {
  char source[PATH_BYTES], elf[PATH_BYTES + 16], says[PATH_BYTES + 16];
  tn_measurement m = {0};
  size_t n;
  snprintf(source, sizeof source, "plain/%s.c", name);
  snprintf(elf, sizeof elf, "%s/plain.elf", b->folder);
  snprintf(says, sizeof says, "%s/says", b->folder);
  if (link_program(b, source, elf, says) != 0) fail("%s: %s", source, read_text(says, &n));
  unsigned long instructions = count(b, elf, &m);
  if (instructions == 0) fail("%s: %s", source, m.message);
  return instructions;
}

static void find_board(bench *b, const char *board_name) {
  for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
    if (strcmp(boards[i].name, board_name) == 0) b->board = &boards[i];
  if (b->board == NULL) fail("there is no board %s: cortex_m4, cortex_m7 or riscv32", board_name);
}

/* Reads the program, computes the expected outputs, and compiles what stays the same. */
static void open_bench(bench *b, const char *board_name, const char *program, unsigned seed) {
  char path[PATH_BYTES];
  size_t n;
  find_board(b, board_name);
  b->ctx = tn_context_new(NULL);
  snprintf(path, sizeof path, "programs/%s.te", program);
  char *text = read_text(path, &n);
  b->program = tn_program_parse(b->ctx, text, 0, NULL);
  check(b->ctx);
  free(text);
  b->target = tn_target_new(b->ctx, b->board->target);
  check(b->ctx);
  snprintf(b->folder, sizeof b->folder, "/tmp/cortex-m-XXXXXX");
  if (mkdtemp(b->folder) == NULL) fail("%s: %s", b->folder, strerror(errno));
  b->expected = expected_sum(b, seed);
  write_arguments(b, seed);
  snprintf(path, sizeof path, "%s/start.c", b->board->folder);
  compile_around(b, path, "start");
  compile_around(b, "measure.c", "measure");
}

static void close_bench(bench *b) {
  run((const char *const[]){"rm", "-rf", b->folder, NULL}, "/dev/null");
  tn_context_free(b->ctx);
}

/* Shows what tn_tune needs for an unusual device: a builder, a runner, and options that name them. */
int main(int argc, char **argv) {
  bench b = {0};
  if (argc < 5) fail("usage: cortex_m BOARD PROGRAM LOG TRIALS [SEED]");
  unsigned seed = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
  open_bench(&b, argv[1], argv[2], seed);
  unsigned long plain = count_plain(&b, argv[2]);
  tn_builder builder = {.self = &b, .build = build};
  tn_runner runner = {.self = &b, .run = run_all};
  tn_tune_options options = {.log = argv[3],
                             .trials = atoi(argv[4]),
                             .seed = seed,
                             .target = b.target,
                             .cost_model = "none",
                             .builder = &builder,
                             .runner = &runner};
  tn_tune_result result;
  if (tn_tune(b.program, &options, &result) != TN_OK) fail("%s", tn_context_message(b.ctx));
  double best = result.best_s * BOARD_HZ;
  printf(
      "%s %s: plain loops %lu instructions, default schedule %.0f, tuned %.0f: %.3f of the plain loops; "
      "%d trials, %d failed\n",
      argv[1], argv[2], plain, result.default_s * BOARD_HZ, best, best / (double)plain, result.trials, result.failed);
  close_bench(&b);
  return 0;
}
