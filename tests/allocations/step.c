/* step.c: a library to preload that runs a whole command again and again, each time with another allocation failing, and
 * says what became of it. docs/testing.md says what counts as a failure, tests/allocations/run.sh which commands run.
 *
 * With STEP_WRAPPED it is a part of the command instead, linked with --wrap for main and for the functions that allocate. A
 * sanitizer's allocator cannot be preceded by another, but calls to it can be led astray. Then what Tenon's own objects
 * ask for counts, and what jansson asks for through them.
 *
 * The process forks before main: the child is the command, the parent judges it. So the dynamic linker's work, most of
 * a short command's time, is done once. Programs that the command starts in turn see nothing of all this, unless
 * STEP_WORKERS asks for it: then they fail and the command that started them is judged.
 *
 * Only allocations whose caller (by return address) is Tenon's own code or a C library that it calls count: LLVM and
 * XGBoost end the process by design when memory runs out, and nobody can answer for them. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANGES = 16, MAX_FILES = 4, TRACE_DEPTH = 40 };

#ifndef STEP_WRAPPED
typedef struct range {
  uintptr_t begin, end;
} range;

static range ranges[MAX_RANGES];
static int n_ranges;
#endif

/* What parent and child share. */
typedef struct counters {
  atomic_long seen; /* allocations that count, so far */
  atomic_bool hit;  /* one of them failed */
} counters;

typedef enum mode { ONCE, FROM_THEN_ON } mode;

static counters *shared;
static _Atomic long fail_at; /* 0: none fails */
static mode fail_mode;
static long hang_s = 5; /* STEP_HANG_S */
static bool wants_trace;

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

#ifdef STEP_WRAPPED
static bool counts(const void *caller) { return (void)caller, true; }
#else
static bool counts(const void *caller) {
  for (int i = 0; i < n_ranges; i++)
    if ((uintptr_t)caller >= ranges[i].begin && (uintptr_t)caller < ranges[i].end) return true;
  return false;
}
#endif

static void trace(void) {
  void *frames[TRACE_DEPTH];
  wants_trace = false; /* backtrace allocates */
  backtrace_symbols_fd(frames, backtrace(frames, TRACE_DEPTH), STDERR_FILENO);
}

/* Whether the allocation asked for by CALLER is to fail. */
static bool fails(const void *caller) {
  if (!shared || !counts(caller)) return false;
  long n = atomic_fetch_add(&shared->seen, 1) + 1, at = atomic_load(&fail_at);
  if (at == 0 || n < at || (fail_mode == ONCE && n > at)) return false;
  atomic_store(&shared->hit, true);
  if (wants_trace) trace();
  errno = ENOMEM;
  return true;
}

#ifdef STEP_WRAPPED

#define FAILS fails(__builtin_return_address(0))
/* What the linker calls the functions that it led here. */
#define WRAP(result, name, parameters, arguments, failure) \
  result __real_##name parameters;                         \
  result __wrap_##name parameters;                         \
  result __wrap_##name parameters { return FAILS ? (failure) : __real_##name arguments; }
WRAP(void *, malloc, (size_t bytes), (bytes), NULL)
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t bytes), (out, alignment, bytes), ENOMEM)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t n), (text, n), NULL)
WRAP(FILE *, fopen, (const char *path, const char *way), (path, way), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *n), (text, n), NULL)
void *__real_realloc(void *data, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes) { return bytes > 0 && FAILS ? NULL : __real_realloc(data, bytes); }

#else

/* The next definition of NAME, glibc's or the address sanitizer's. The loader allocates before it can be asked: it gets
 * glibc's by their second names. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t bytes) {
  static __typeof__(&malloc) next;
  if (!next) next = NEXT(malloc);
  return fails(__builtin_return_address(0)) ? NULL : next(bytes);
}

/* dlsym itself may call calloc, once, before there is a next one. */
void *calloc(size_t n, size_t bytes) {
  static __typeof__(&calloc) next;
  static bool is_asking;
  static _Alignas(16) char early[4096];
  static size_t used;
  if (!next && is_asking) {
    void *place = early + used;
    used += (n * bytes + 15) & ~(size_t)15;
    return used <= sizeof early ? place : NULL;
  }
  is_asking = true;
  if (!next) next = NEXT(calloc);
  return fails(__builtin_return_address(0)) ? NULL : next(n, bytes);
}

void *realloc(void *data, size_t bytes) {
  static __typeof__(&realloc) next;
  if (!next) next = NEXT(realloc);
  return bytes > 0 && fails(__builtin_return_address(0)) ? NULL : next(data, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  static __typeof__(&aligned_alloc) next;
  if (!next) next = NEXT(aligned_alloc);
  return fails(__builtin_return_address(0)) ? NULL : next(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  static __typeof__(&posix_memalign) next;
  if (!next) next = NEXT(posix_memalign);
  return fails(__builtin_return_address(0)) ? ENOMEM : next(out, alignment, bytes);
}

#endif

/* ---- who counts -------------------------------------------------------------------------------------------------- */

#ifdef STEP_WRAPPED
static void note_objects(void) {}
#else
/* The program itself, and libraries in C whose callers are to notice that memory ran out. */
static bool is_ours(const char *path) {
  static const char *const names[] = {"libtenon", "libc.so",       "libjansson",   "libffi",
                                      "libz.so",  "libprotobuf-c", "libmicrohttpd"};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (*path == '\0') return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  return false;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size, (void)user;
  if (!is_ours(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum && n_ranges < MAX_RANGES; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) ranges[n_ranges++] = (range){begin, begin + part->p_memsz};
  }
  return 0;
}

static void note_objects(void) { dl_iterate_phdr(note_object, NULL); }
#endif

/* ---- one run ----------------------------------------------------------------------------------------------------- */

typedef struct text {
  char *data;
  size_t n;
  bool exists;
} text;

typedef struct outcome {
  int status; /* of waitpid */
  bool hung, hit;
  long seen;
  text out, err, files[MAX_FILES];
} outcome;

/* What the command is, and how it is judged. */
typedef struct plan {
  const char *name;
  int (*main)(int, char **, char **);
  int argc;
  char **argv, **envp;
  char *files[MAX_FILES]; /* outputs besides standard output */
  int n_files;
  enum {
    EXACT,
    LINES,
    PRESENT,
    TUNED
  } compare; /* what is the same in every run: outputs, how many lines, that there are some, what a tune came to */
} plan;

static text read_fd(int fd) {
  text t = {.exists = fd >= 0};
  off_t n = t.exists ? lseek(fd, 0, SEEK_END) : 0;
  t.data = calloc(1, (size_t)n + 1);
  while (t.n < (size_t)n) {
    ssize_t got = pread(fd, t.data + t.n, (size_t)n - t.n, (off_t)t.n);
    if (got <= 0) break;
    t.n += (size_t)got;
  }
  if (fd >= 0) close(fd);
  return t;
}

static sigset_t block_ended(int how) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(how, &ended, NULL);
  return ended;
}

static void on_crash(int number) {
  void *frames[TRACE_DEPTH];
  backtrace_symbols_fd(frames, backtrace(frames, TRACE_DEPTH), STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}

/* In the child: becomes the command. */
static void become(const plan *p, int out, int err, long at, mode how) {
  setpgid(0, 0);
  block_ended(SIG_UNBLOCK);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (int i = 0; wants_trace && i < 2; i++) signal((int[]){SIGSEGV, SIGABRT}[i], on_crash);
  atomic_store(&shared->seen, 0);
  atomic_store(&shared->hit, false);
  fail_mode = how;
  atomic_store(&fail_at, at);
  exit(p->main(p->argc, p->argv, p->envp));
}

/* Waits for the child, at most hang_s seconds. */
static int wait_for(pid_t child, bool *hung) {
  sigset_t ended = block_ended(SIG_BLOCK);
  struct timespec begin, now, left = {.tv_sec = 0, .tv_nsec = 20000000};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int status = 0;
  for (*hung = false; waitpid(child, &status, WNOHANG) == 0;) {
    sigtimedwait(&ended, NULL, &left);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - begin.tv_sec <= hang_s) continue;
    *hung = true;
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    break;
  }
  kill(-child, SIGKILL); /* what it left behind */
  return status;
}

static outcome run_once(const plan *p, long at, mode how) {
  for (int i = 0; i < p->n_files; i++) unlink(p->files[i]);
  int out = memfd_create("out", 0), err = memfd_create("err", 0);
  fflush(NULL);
  block_ended(SIG_BLOCK);
  pid_t child = fork();
  if (child == 0) become(p, out, err, at, how);
  outcome o = {0};
  o.status = wait_for(child, &o.hung);
  o.hit = atomic_load(&shared->hit);
  o.seen = atomic_load(&shared->seen);
  o.out = read_fd(out);
  o.err = read_fd(err);
  for (int i = 0; i < p->n_files; i++) o.files[i] = read_fd(open(p->files[i], O_RDONLY | O_CLOEXEC));
  return o;
}

static void outcome_free(outcome *o) {
  free(o->out.data);
  free(o->err.data);
  for (int i = 0; i < MAX_FILES; i++) free(o->files[i].data);
}

/* ---- the judge --------------------------------------------------------------------------------------------------- */

static long lines_of(const text *t) {
  long n = 0;
  for (size_t i = 0; i < t->n; i++) n += t->data[i] == '\n';
  return n;
}

/* Of what `tune --json` prints: what does not depend on times. */
static bool has_same_fields(const text *a, const text *b) {
  static const char *const fields[] = {
      "\"program\":", "\"trials\":", "\"failed\":", "\"reused\":", "\"exhausted\":", "\"end\":"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *x = strstr(a->data, fields[i]), *y = strstr(b->data, fields[i]);
    size_t n = x ? strcspn(x, "\n") + 1 : 0;
    if (!x != !y || (x && strncmp(x, y, n) != 0)) return false;
  }
  return b->n == 0 || b->data[b->n - 1] == '\n';
}

/* The whole lines that are records of trials; those of the finals are as many as time allows. */
static long trials_of(const text *t) {
  long n = 0;
  for (char *line = t->data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    n += strstr(line, "\"steps\":") && !strstr(line, "\"final\":true");
    *end = '\n';
  }
  return n;
}

static bool is_as_tuned(const text *a, const text *b) {
  bool ends = b->n == 0 || b->data[b->n - 1] == '\n', is_log = a->n > 0 && strncmp(a->data, "{\"v\":", 5) == 0;
  if (is_log) return ends && trials_of(a) == trials_of(b);
  return a->n > 0 && a->data[0] == '{' ? has_same_fields(a, b) : (a->n == 0) == (b->n == 0);
}

static bool is_same(const plan *p, const text *a, const text *b) {
  if (a->exists != b->exists) return false;
  if (p->compare == TUNED) return is_as_tuned(a, b);
  if (p->compare == LINES) return lines_of(a) == lines_of(b) && (a->n == 0) == (b->n == 0);
  if (p->compare == PRESENT) return (a->n == 0) == (b->n == 0);
  return a->n == b->n && memcmp(a->data, b->data, a->n) == 0;
}

/* NULL: as it should be. */
static const char *fault_of(const plan *p, const outcome *good, const outcome *o) {
  if (o->hung) return "hang";
  if (WIFSIGNALED(o->status)) return strsignal(WTERMSIG(o->status));
  if (WEXITSTATUS(o->status) != 0) {
    if (strstr(o->err.data, "Sanitizer") || strstr(o->err.data, "runtime error:")) return "sanitizer";
    return o->err.n > 0 ? NULL : "failed without a message";
  }
  if (!is_same(p, &good->out, &o->out)) return "another output with status 0";
  for (int i = 0; i < p->n_files; i++)
    if (!is_same(p, &good->files[i], &o->files[i])) return "another file with status 0";
  return NULL;
}

typedef struct tally {
  long runs, same, refused, faults;
} tally;

static void judge(const plan *p, const outcome *good, const outcome *o, long at, mode how, tally *t) {
  const char *fault = fault_of(p, good, o);
  t->runs++;
  t->faults += fault != NULL;
  t->same += !fault && o->status == 0;
  t->refused += !fault && o->status != 0;
  if (fault)
    printf("%s: STEP_AT=%ld STEP_MODE=%s: %s; it said: %.*s\n", p->name, at, how == ONCE ? "once" : "on", fault,
           (int)(o->err.n < 160 ? o->err.n : 160), o->err.data);
  fflush(stdout);
}

/* ---- all runs ---------------------------------------------------------------------------------------------------- */

static long number_of(const char *name, long otherwise) {
  const char *value = getenv(name);
  return value && *value ? atol(value) : otherwise;
}

static plan plan_of(int (*main)(int, char **, char **), int argc, char **argv, char **envp) {
  const char *name = getenv("STEP_NAME"), *compare = getenv("STEP_COMPARE"), *files = getenv("STEP_FILES");
  plan p = {.name = strdup(name ? name : argv[0]), .main = main, .argc = argc, .argv = argv, .envp = envp};
  static const char *const compares[] = {"exact", "lines", "present", "tuned"};
  for (int i = 0; compare && i < 4; i++)
    if (strcmp(compare, compares[i]) == 0) p.compare = i;
  for (char *rest = strdup(files ? files : ""), *file; p.n_files < MAX_FILES && (file = strtok_r(rest, " ", &rest));)
    p.files[p.n_files++] = file;
  return p;
}

static int step(const plan *p) {
  long every = number_of("STEP_EVERY", 1), first = number_of("STEP_FIRST", 1);
  long most = number_of("STEP_MOST", 10000000);
  hang_s = number_of("STEP_HANG_S", hang_s);
  tally t = {0};
  outcome good = run_once(p, 0, ONCE);
  if (good.hung || good.status != 0) {
    printf("%s: does not work with all allocations: status %d: %s\n", p->name, good.status, good.err.data);
    return 1;
  }
  for (int how = ONCE; how <= FROM_THEN_ON; how++) {
    bool hit = true;
    for (long n = first; hit && n < first + most * every; n += every) {
      outcome o = run_once(p, n, (mode)how);
      hit = o.hit;
      if (hit) judge(p, &good, &o, n, (mode)how, &t);
      outcome_free(&o);
    }
  }
  printf("| %s | %ld | %ld | %ld | %ld | %ld |\n", p->name, good.seen, t.runs, t.same, t.refused, t.faults);
  outcome_free(&good);
  fflush(stdout);
  return t.faults > 0;
}

/* STEP_AT: one run in the foreground, for a debugger. */
static int run_one(const plan *p) {
  const char *how = getenv("STEP_MODE");
  fail_mode = how && strcmp(how, "on") == 0 ? FROM_THEN_ON : ONCE;
  signal(SIGSEGV, on_crash);
  signal(SIGABRT, on_crash);
  wants_trace = true;
  atomic_store(&fail_at, number_of("STEP_AT", 1));
  return p->main(p->argc, p->argv, p->envp);
}

static int (*command)(int, char **, char **);

static int stepped_main(int argc, char **argv, char **envp) {
  if (!getenv("STEP_EVERY") && !getenv("STEP_AT")) return command(argc, argv, envp);
  plan p = plan_of(command, argc, argv, envp);
  void *frames[1];
  backtrace(frames, 1); /* loads its library now */
  note_objects();
  bool is_one = getenv("STEP_AT") != NULL;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsetenv("LD_PRELOAD");
  if (is_one) return run_one(&p);
  return step(&p);
}

#ifdef STEP_WRAPPED
int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp) {
  command = __real_main;
  return stepped_main(argc, argv, envp);
}
#else
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  command = main;
  __typeof__(&__libc_start_main) next = NEXT(__libc_start_main);
  return next(stepped_main, argc, argv, init, fini, rtld_fini, stack_end);
}
#endif
