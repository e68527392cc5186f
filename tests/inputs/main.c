/* main.c: runs the targets on mutated inputs, each in a process of its own that is watched: a crash, a hang and too much
 * memory are findings, and the input that did it is kept.
 *
 *     test_inputs                    all files of tests/inputs/corpus, then some seconds of each target
 *     test_inputs TARGET FILE...     one target on files
 *
 * TENON_INPUTS_SECONDS: of all targets together (20); TENON_INPUTS_SEED (1); TENON_INPUTS_TARGET: only that one;
 * TENON_INPUTS_KEEP: a folder for the inputs that fail (the current one). */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/inputs/inputs.h"

#if defined(__SANITIZE_ADDRESS__)
enum { MOST_SECONDS = 60, MOST_MIB = 8 << 10 };
#else
enum { MOST_SECONDS = 10, MOST_MIB = 2 << 10 };
#endif

const inputs_target inputs_targets[] = {
#define X(name) {#name, inputs_seed_##name, inputs_one_##name},
    INPUTS_TARGETS(X)
#undef X
        {NULL, NULL, NULL}};

_Noreturn void inputs_broken(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fputs("broken promise: ", stderr);
  vfprintf(stderr, fmt, args);
  fputs("\n", stderr);
  va_end(args);
  abort();
}

char *inputs_text(const uint8_t *data, size_t n) {
  char *text = calloc(n + 1, 1);
  if (!text) abort();
  memcpy(text, data, n);
  return text;
}

/* ---- a process that works and one that watches ------------------------------------------------------------------- */

/* Between them, in shared memory. */
typedef struct progress {
  volatile int64_t n_done;
  volatile uint64_t began_ns; /* of the input at work */
  volatile size_t n;
  char bytes[INPUTS_LONGEST];
} progress;

typedef struct tally {
  int64_t n_inputs;
  int n_crashes, n_hangs, n_fat;
  double seconds;
} tally;

static void take(const inputs_target *target, progress *p, const void *data, size_t n) {
  n = RUNTIME_MIN(n, sizeof p->bytes);
  memcpy(p->bytes, data, n);
  p->n = n;
  p->began_ns = runtime_now_ns();
  target->one((const uint8_t *)p->bytes, n);
  p->n_done++;
}

static void add_corpus_files(const inputs_target *target, inputs_corpus *corpus) {
  char folder[512], path[1024];
  snprintf(folder, sizeof folder, "%s/inputs/corpus/%s", TENON_SOURCE_DIR "/tests", target->name);
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    size_t n = 0;
    char *bytes = runtime_read_file(NULL, path, &n);
    if (bytes) inputs_add(corpus, bytes, RUNTIME_MIN(n, (size_t)INPUTS_LONGEST));
    free(bytes);
  }
  if (dir) closedir(dir);
}

/* In the child. All items as they are come first, when FIRST. */
_Noreturn static void work(const inputs_target *target, progress *p, uint64_t seed, bool first, uint64_t end_ns) {
  inputs_corpus corpus = {0};
  target->seed(&corpus);
  add_corpus_files(target, &corpus);
  if (corpus.items.n == 0) inputs_broken("there is nothing to start from");
  for (int i = 0; first && i < corpus.items.n; i++) take(target, p, corpus.items.data[i].data, corpus.items.data[i].n);
  runtime_rng rng = {seed};
  runtime_str input = {0};
  while (runtime_now_ns() < end_ns) {
    inputs_mutate(&rng, &corpus, &input);
    take(target, p, input.data ? input.data : "", input.n);
  }
  runtime_str_free(&input);
  inputs_free(&corpus);
  _exit(0);
}

static long mib_of(pid_t child) {
  char path[64];
  long size = 0, resident = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)child);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%ld %ld", &size, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) >> 10) >> 10;
}

static void keep(const inputs_target *target, const progress *p, const char *what) {
  const char *folder = getenv("TENON_INPUTS_KEEP");
  char path[512];
  snprintf(path, sizeof path, "%s/%s-%s-%016llx", folder ? folder : ".", target->name, what,
           (unsigned long long)runtime_hash(p->bytes, p->n, 0));
  FILE *f = fopen(path, "wb");
  if (f) fwrite(p->bytes, 1, p->n, f), fclose(f);
  fprintf(stderr, "%s: %s: kept as %s\n", target->name, what, path);
}

/* Waits for the child; kills one that is stuck or eats. Returns what went wrong, or NULL. */
static const char *watch(pid_t child, const progress *p) {
  const char *wrong = NULL;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    uint64_t began = p->began_ns;
    bool hangs = began && runtime_now_ns() > began + (uint64_t)MOST_SECONDS * 1000000000u;
    if (hangs || mib_of(child) > MOST_MIB) wrong = hangs ? "hang" : "memory", kill(child, SIGKILL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return wrong ? wrong : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "crash";
}

static tally run(const inputs_target *target, progress *p, uint64_t seed, double seconds) {
  tally t = {0};
  uint64_t start = runtime_now_ns(), end = start + (uint64_t)(seconds * 1e9);
  bool first = true;
  for (int round = 0; round == 0 || (runtime_now_ns() < end && t.n_crashes + t.n_hangs + t.n_fat < 10); round++) {
    p->n_done = 0;
    p->began_ns = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) work(target, p, seed + ((uint64_t)round << 32), first, end);
    const char *wrong = watch(child, p);
    t.n_inputs += p->n_done;
    first = false;
    if (!wrong) continue;
    t.n_crashes += *wrong == 'c', t.n_hangs += *wrong == 'h', t.n_fat += *wrong == 'm';
    keep(target, p, wrong);
  }
  t.seconds = (double)(runtime_now_ns() - start) * 1e-9;
  return t;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int run_files(const char *name, int n, char **paths) {
  const inputs_target *target = inputs_targets;
  while (target->name && strcmp(target->name, name) != 0) target++;
  if (!target->name) return fprintf(stderr, "there is no target %s\n", name), 2;
  for (int i = 0; i < n; i++) {
    size_t n_bytes = 0;
    char *bytes = runtime_read_file(NULL, paths[i], &n_bytes);
    if (!bytes) return 2;
    target->one((const uint8_t *)bytes, n_bytes);
    free(bytes);
  }
  return 0;
}

static double number_of(const char *variable, double usual) {
  const char *text = getenv(variable);
  return text && *text ? strtod(text, NULL) : usual;
}

int main(int argc, char **argv) {
  if (argc > 2) return run_files(argv[1], argc - 2, argv + 2);
  const char *only = getenv("TENON_INPUTS_TARGET");
  double seconds = number_of("TENON_INPUTS_SECONDS", 20) / (only ? 1 : RUNTIME_COUNT(inputs_targets) - 1);
  uint64_t seed = (uint64_t)number_of("TENON_INPUTS_SEED", 1);
  progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return 2;
  tally all = {0};
  printf("%-10s %10s %10s %8s %6s %6s\n", "target", "inputs", "a second", "crashes", "hangs", "memory");
  for (const inputs_target *target = inputs_targets; target->name; target++) {
    if (only && strcmp(only, target->name) != 0) continue;
    tally t = run(target, p, seed, seconds);
    printf("%-10s %10lld %10.0f %8d %6d %6d\n", target->name, (long long)t.n_inputs, (double)t.n_inputs / t.seconds,
           t.n_crashes, t.n_hangs, t.n_fat);
    fflush(stdout);
    all.n_inputs += t.n_inputs, all.n_crashes += t.n_crashes, all.n_hangs += t.n_hangs, all.n_fat += t.n_fat;
  }
  printf("seed %llu: %lld inputs, %d crashes, %d hangs, %d ate memory\n", (unsigned long long)seed,
         (long long)all.n_inputs, all.n_crashes, all.n_hangs, all.n_fat);
  return all.n_inputs == 0 || all.n_crashes + all.n_hangs + all.n_fat > 0;
}
