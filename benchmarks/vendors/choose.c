/* choose.c: under which kind of processor a library is fastest here. Libraries know the processors of their time and take
 * for a newer one what its predecessor's predecessor had, or less: on a Zen 5, OpenBLAS 0.3.21 chooses kernels for Haswell
 * at half the speed of others that it has. They read the kind once, when they are loaded, so each is tried in a process of
 * its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/vendors/internal.h"

/* The most kinds that are tried, seconds after which a child is killed, and calls that a child times at least. */
enum { MAX_TRIED = 8, LIMIT_S = 30, MIN_CALLS = 3 };

/* Seconds of calls in each child. */
static const double try_s = 0.15;

/* What a child found out; it is sent through a pipe as it is. */
typedef struct trial {
  const char *value; /* NULL: the library's own choice */
  double seconds;    /* of one call, the least */
  char name[64];     /* what the library calls its kernels, where it says so */
} trial;

/* In the child: the least of some calls; 0: a call failed. */
static double least_seconds(const vendor_kernel *kernel) {
  double best = 0, start = vendor_now(false), begin = start;
  for (int n = 0; n < MIN_CALLS || begin - start < try_s; ++n) {
    if (kernel->call(kernel->self) != 0) return 0;
    double end = vendor_now(false);
    if (n > 0 && (best == 0 || end - begin < best)) best = end - begin; /* the first warms up */
    begin = end;
  }
  return best;
}

/* The child: sets or unsets the variable before the library is loaded, times the call, sends the trial and ends. */
static _Noreturn void be_child(const vendor_choice *choice, trial *t, int fd) {
  vendor_kernel kernel = {0};
  alarm(LIMIT_S);
  unsetenv(choice->variable);
  if (t->value) setenv(choice->variable, t->value, 1);
  if (choice->prepare(choice->user, &kernel, t->name)) t->seconds = least_seconds(&kernel);
  ssize_t sent = write(fd, t, sizeof *t);
  _exit(sent == (ssize_t)sizeof *t ? 0 : 1);
}

/* Tries one value in a child process. False: the child died, for instance of an instruction that this processor
 * lacks, or could not time the call. */
static bool try_value(const vendor_choice *choice, const char *value, trial *out) {
  int ends[2];
  trial got = {.value = value}, own = got;
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) be_child(choice, &own, ends[1]);
  close(ends[1]);
  bool told = child > 0 && read(ends[0], &got, sizeof got) == (ssize_t)sizeof got;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  *out = got;
  return told && got.seconds > 0;
}

/* A kind that the library does not know becomes its own choice, under another name than the one asked for. */
static bool is_understood(const trial *t) { return !t->value || !*t->name || strcasecmp(t->value, t->name) == 0; }

/* Tries the library's own choice first, then each value; returns how many are in TRIED. */
static int try_all(const vendor_choice *choice, trial *tried) {
  int n = 0;
  if (try_value(choice, NULL, &tried[n])) ++n;
  for (int i = 0; choice->values[i] && n < MAX_TRIED; ++i)
    if (try_value(choice, choice->values[i], &tried[n]) && is_understood(&tried[n])) ++n;
  return n;
}

/* Says what was tried, and how long each took. */
static void describe(const vendor_choice *choice, int n, const trial *tried, const trial *best,
                     char note[VENDOR_TEXT]) {
  int used =
      snprintf(note, VENDOR_TEXT, "%s=%s, the fastest of", choice->variable, best->value ? best->value : "(unset)");
  for (int i = 0; i < n && used < VENDOR_TEXT; ++i) {
    const trial *t = &tried[i];
    used += snprintf(note + used, (size_t)(VENDOR_TEXT - used), "%s %s%s%s %.3g ms", i ? "," : "",
                     t->value ? t->value : "unset", !t->value && *t->name ? " = " : "", t->value ? "" : t->name,
                     t->seconds * 1e3);
  }
}

void vendor_choose(const vendor_choice *choice, char note[VENDOR_TEXT]) {
  trial tried[MAX_TRIED + 1];
  const char *set = getenv(choice->variable);
  char told[80] = "";
  if (set) snprintf(told, sizeof told, "; the environment said %.40s", set);
  *note = '\0';
  int n = choice->values[0] ? try_all(choice, tried) : 0;
  const trial *best = tried;
  for (int i = 1; i < n; ++i)
    if (tried[i].seconds < best->seconds) best = &tried[i];
  if (n == 0) return;
  unsetenv(choice->variable);
  if (best->value) setenv(choice->variable, best->value, 1);
  describe(choice, n, tried, best, note);
  strncat(note, told, VENDOR_TEXT - strlen(note) - 1);
}
