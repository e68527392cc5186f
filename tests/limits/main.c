/* Cost limits: for every kind of input the most hostile one that we know. The command either answers or refuses by a limit
 * with its name, within ten seconds of processor time and 2 GiB. docs/limits.md is the table of the limits. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAX_SECONDS = 100, MAX_MIB = 16 << 10, LIMITS_MEMORY = 0 };
#else
enum { MAX_SECONDS = 10, MAX_MIB = 2 << 10, LIMITS_MEMORY = 1 };
#endif

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static void repeat(FILE *f, const char *text, int n) {
  for (int i = 0; i < n; i++) fputs(text, f);
}

static void long_comment(FILE *f) {
  fputc('#', f);
  repeat(f, "xxxxxxxxxxxxxxxx", 17 << 16);
  fputs("\nC[i<4] = A[i]\n", f);
}

static void many_params(FILE *f) {
  for (int i = 0; i < 100000; i++) fprintf(f, "param P%d = 3\n", i);
  fputs("C[i<4] = A[i]\n", f);
}

static void many_tensors(FILE *f) {
  fputs("T0[i<4] = A[i]\n", f);
  for (int i = 1; i < 5000; i++) fprintf(f, "T%d[i<4] = T%d[i] + 1\n", i, i - 1);
}

/* Below the limit on tensors, 1.2 million reads by name. */
static void many_reads(FILE *f) {
  fputs("T0[i<4] = A[i]\n", f);
  for (int i = 1; i < 4000; i++) {
    fprintf(f, "T%d[i<4] = T%d[i]", i, i - 1);
    for (int k = 0; k < 300; k++) fprintf(f, "+T%d[i]", i * k / 300);
    fputc('\n', f);
  }
}

static void open_brackets(FILE *f) {
  fputs("C[i<4] = ", f);
  repeat(f, "(", 1000000);
}

static void long_chain(FILE *f) {
  fputs("C[i<4] = A[i]", f);
  repeat(f, "+1", 100000);
}

/* A balanced sum of LEFT k RIGHT for k from FROM up to TO. */
static void balanced(FILE *f, const char *left, const char *right, int from, int to) {
  if (to - from == 1) {
    fprintf(f, "%s%d%s", left, from, right);
    return;
  }
  fputc('(', f);
  balanced(f, left, right, from, (from + to) / 2);
  fputc('+', f);
  balanced(f, left, right, (from + to) / 2, to);
  fputc(')', f);
}

static void wide_sum(FILE *f) {
  fputs("C[i<64] = ", f);
  balanced(f, "A[i+", "]", 0, 20000);
}

static void allowed_sum(FILE *f) {
  fputs("C[i<64] = ", f);
  balanced(f, "A[i+", "]", 0, 2000);
}

/* Near the limit on operations: what LLVM does with straight code. */
static void many_gathers(FILE *f) {
  fputs("input B: i32[9000]\nC[i<64] = ", f);
  balanced(f, "A[B[i+", "] % 100]", 0, 2300);
}

static void some_gathers(FILE *f) {
  fputs("input B: i32[9000]\nC[i<64] = ", f);
  balanced(f, "A[B[i+", "] % 100]", 0, 1000);
}

static void near_sum(FILE *f) {
  fputs("C[i<64] = ", f);
  balanced(f, "A[i+", "]", 0, 4000);
}

/* N stages, of which each reads the one before as TEXT says, where the producer's name stands for %s. */
static void chain(FILE *f, int n, int extent, const char *left, const char *right) {
  fprintf(f, "T0[i<%d] = A[i] + 1\n", extent);
  for (int k = 1; k <= n; k++) fprintf(f, "T%d[i<%d] = T%d[%s] * T%d[%s]\n", k, extent, k - 1, left, k - 1, right);
}

static void mirrors(FILE *f) { chain(f, 24, 4, "i", "3-i"); }
/* No two ways down are to the same place. */
static void forks(FILE *f) {
  fputs("T0[i<4000] = A[i] + 1\n", f);
  for (int k = 1; k <= 24; k++) fprintf(f, "T%d[i<4000] = T%d[i] * T%d[(i*7+%d) %% 4000]\n", k, k - 1, k - 1, k);
}

static void squares(FILE *f) { chain(f, 30, 4, "i", "i"); }
static void chased(FILE *f) {
  fputs("input A: i32[64]; T0[i<64] = A[i] % 64\n", f);
  for (int k = 1; k <= 24; k++) fprintf(f, "T%d[i<64] = T%d[T%d[i] %% 64]\n", k, k - 1, k - 1);
}

static void deep_stages(FILE *f) {
  fputs("T0[i<4] = A[i]\n", f);
  for (int k = 1; k <= 24; k++) {
    fprintf(f, "T%d[i<4] = T%d[i]", k, k - 1);
    repeat(f, "+1", 500);
    fputc('\n', f);
  }
}

static void inline_24(FILE *f) {
  for (int k = 0; k < 24; k++) fprintf(f, "compute_inline(T%d)\n", k);
}

static void inline_30(FILE *f) {
  for (int k = 0; k < 30; k++) fprintf(f, "compute_inline(T%d)\n", k);
}

static void all_stages(FILE *f) {
  fputs("T0[i<40, j<40] = A[i,j] + 1\n", f);
  for (int k = 1; k < 250; k++)
    fprintf(f, "T%d[i<40, j<40] = sum[k<40](T%d[i,k] * T%d[k,j])\n", k, k - 1, k > 1 ? k - 2 : 0);
}

static void matrix(FILE *f) { fputs("input A: i8[100000,100000]\nC[i<100000, j<100000] = A[i,j]\n", f); }
static void vector(FILE *f) { fputs("C[i<1000000] = A[i] + 1\n", f); }
static void grid(FILE *f) { fputs("C[i<1073741824] = A[i]\n", f); }
static void inputs(FILE *f) { fputs("C[i<4] = A[i] + B[i]\n", f); }

static void unroll_all(FILE *f) { fputs("unroll(C, i)\n", f); }
static void vectorize_all(FILE *f) { fputs("vectorize(C, i)\n", f); }
static void semicolons(FILE *f) { repeat(f, ";;;;;;;;;;;;;;;;", 17 << 16); }
static void splits(FILE *f) {
  char axis[16000] = "i";
  for (int k = 0; k < 200; k++) {
    fprintf(f, "split(C, %s, 2)\n", axis);
    strcat(axis, ".outer");
  }
}

static void nested_loops(FILE *f) {
  fputs(
      "primfn(A: Buffer(float32, [4]), C: Buffer(float32, [4])) -> int32\n"
      "  attr = {\"global_symbol\": \"kernel\", \"tir.noalias\": True} {\n",
      f);
  for (int i = 0; i < 100000; i++) fprintf(f, "for (i%d: int32, 0, 4) {\n", i);
}

/* A record whose list of steps has STEP N times. */
static void record(FILE *f, const char *step, int n) {
  fputs("{\"v\":1,\"steps\":[", f);
  for (int i = 0; i < n; i++) fprintf(f, "%s%s", i ? "," : "", step);
  fputs("]}\n", f);
}

static void long_record(FILE *f) { record(f, "[\"AN\",0,0,1]", 400000); }
static void nested_record(FILE *f) {
  fputs("{\"v\":1,\"steps\":", f);
  repeat(f, "[", 3000000);
  fputc('\n', f);
}
static void many_records(FILE *f) {
  for (int i = 0; i < 200000; i++) fputs("{\"v\":1}\n", f);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { MAX_ARGS = 8 };

static const struct row {
  const char *name;
  void (*program)(FILE *), (*schedule)(FILE *);
  const char *args[MAX_ARGS]; /* %p and %s are the files */
  const char *refusal;        /* what the message has; NULL: it is answered */
} rows[] = {
    {"a program of 17 MiB", long_comment, NULL, {"show", "%p"}, "limit text_bytes"},
    {"100,000 parameters", many_params, NULL, {"show", "%p"}, "limit params"},
    {"5,000 tensors", many_tensors, NULL, {"show", "%p"}, "more than 4096 tensors"},
    {"4,000 tensors that read 300 each", many_reads, NULL, {"show", "%p"}, "a schedule takes at most 1024"},
    {"a million brackets", open_brackets, NULL, {"show", "%p"}, "nested too deeply"},
    {"100,000 operators in a row", long_chain, NULL, {"show", "%p"}, "at most 512"},
    {"a sum of 20,000 terms", wide_sum, NULL, {"show", "%p"}, "limit expr_nodes"},
    {"a sum of 2,000 terms", allowed_sum, NULL, {"show", "%p", "--emit=asm"}, NULL},
    {"a sum of 4,000 terms, vectorized", near_sum, vectorize_all, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"2,300 reads at data, vectorized", many_gathers, vectorize_all, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"1,000 reads at data, vectorized", some_gathers, vectorize_all, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"24 inlined stages that read two ends", mirrors, inline_24, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"24 inlined stages that read anywhere", forks, inline_24, {"show", "%p", "-s", "%s"}, "limit expr_nodes"},
    {"24 inlined stages, their tree", forks, inline_24, {"show", "%p", "-s", "%s", "--emit=tree"}, "compute_root(T23)"},
    {"24 inlined stages that read where they say", chased, inline_24, {"show", "%p", "-s", "%s"}, "limit expr_nodes"},
    {"24 inlined stages of 500 operators in a row", deep_stages, inline_24, {"show", "%p", "-s", "%s"}, "than 4000"},
    {"30 squares as loop IR", squares, inline_30, {"show", "%p", "-s", "%s", "--emit=tir"}, "limit text_bytes"},
    {"30 squares as TVMScript", squares, inline_30, {"show", "%p", "-s", "%s", "--emit=tvmscript"}, "limit text_bytes"},
    {"30 squares as assembly", squares, inline_30, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"30 squares as C", squares, inline_30, {"show", "%p", "-s", "%s", "--emit=c"}, NULL},
    {"30 squares, auto", squares, NULL, {"show", "%p", "-s", "auto", "--emit=asm"}, NULL},
    {"24 stages that read anywhere, auto", forks, NULL, {"show", "%p", "-s", "auto", "--emit=tree"}, NULL},
    {"250 products, auto", all_stages, NULL, {"show", "%p", "-s", "auto"}, NULL},
    {"timing on 30 GB", matrix, NULL, {"bench", "%p"}, "limit data_bytes"},
    {"a million iterations, unrolled", vector, unroll_all, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"a million iterations, vectorized", vector, vectorize_all, {"show", "%p", "-s", "%s", "--emit=asm"}, NULL},
    {"a schedule of 17 MiB", inputs, semicolons, {"show", "%p", "-s", "%s"}, "limit text_bytes"},
    {"200 splits of an axis", grid, splits, {"show", "%p", "-s", "%s"}, "split(C"},
    {"100,000 loops inside each other", nested_loops, NULL, {"pass", "simplify", "%p"}, "nested more than 1000"},
    {"a record of 400,000 steps", inputs, long_record, {"log", "best", "%s"}, "line skipped"},
    {"a record of three million brackets", inputs, nested_record, {"log", "best", "%s"}, "line skipped"},
    {"200,000 records of nothing", inputs, many_records, {"log", "best", "%s"}, "199980 more lines skipped"},
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct outcome {
  int status; /* of waitpid */
  double seconds;
  long mib;
  char message[4096];
} outcome;

static char folder[64];

static void make_file(char path[128], const char *suffix, void (*write)(FILE *)) {
  snprintf(path, 128, "%s/input%s", folder, suffix);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  if (write) write(f);
  assert_int_equal(fclose(f), 0);
}

/* In the child. */
static void run_command(const struct row *row, char *program, char *schedule, const char *message) {
  char *argv[MAX_ARGS + 2] = {TENON_COMMAND};
  for (int i = 0; row->args[i]; i++) {
    const char *a = row->args[i];
    argv[i + 1] = strcmp(a, "%p") == 0 ? program : strcmp(a, "%s") == 0 ? schedule : (char *)a;
  }
  struct rlimit time = {2 * MAX_SECONDS, 2 * MAX_SECONDS},
                memory = {(rlim_t)4 * MAX_MIB << 20, (rlim_t)4 * MAX_MIB << 20};
  int out = open("/dev/null", O_WRONLY), err = open(message, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  setrlimit(RLIMIT_CPU, &time);
  if (LIMITS_MEMORY) setrlimit(RLIMIT_AS, &memory);
  if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
  execv(TENON_COMMAND, argv);
  _exit(127);
}

static outcome run(const struct row *row) {
  outcome o = {0};
  char program[128], schedule[128], message[128];
  make_file(program, ".te", row->program);
  make_file(schedule, ".txt", row->schedule);
  snprintf(message, sizeof message, "%s/message", folder);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) run_command(row, program, schedule, message);
  struct rusage used;
  assert_int_equal(wait4(child, &o.status, 0, &used), child);
  o.seconds = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
              (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  o.mib = used.ru_maxrss >> 10;
  FILE *f = fopen(message, "r");
  assert_non_null(f);
  o.message[fread(o.message, 1, sizeof o.message - 1, f)] = '\0';
  fclose(f);
  return o;
}

static void is_answered_or_refused(void **state) {
  const struct row *row = *state;
  outcome o = run(row);
  printf("  %6.2f s %6ld MiB  %s\n", o.seconds, o.mib, row->name);
  if (!WIFEXITED(o.status)) fail_msg("ended by signal %d: %s", WTERMSIG(o.status), o.message);
  if (o.seconds > MAX_SECONDS || o.mib > MAX_MIB) fail_msg("takes %.1f s and %ld MiB", o.seconds, o.mib);
  if (row->refusal) check_has(o.message, row->refusal);
  if (!row->refusal && WEXITSTATUS(o.status) != 0) fail_msg("refused: %s", o.message);
  if (row->refusal && WEXITSTATUS(o.status) != 1) fail_msg("status %d", WEXITSTATUS(o.status));
}

int main(void) {
  snprintf(folder, sizeof folder, "/tmp/tenon-limits-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  int failed = CHECK_TABLE("cost limits", rows, is_answered_or_refused);
  char path[128];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, (const char *[]){"input.te", "input.txt", "message"}[i]);
    unlink(path);
  }
  rmdir(folder);
  return failed;
}
