/* tune_matmul.c: tunes matrix products and compares them with OpenBLAS, by the commands a user would type. The logs
 * stay beside the program, so a second run only measures again what it compares. Usage: tune_matmul [TRIALS] */
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

extern char **environ;

/* A program's text, and the name that its log has. */
typedef struct workload {
  const char *name, *program;
} workload;

static const workload workloads[] = {
    {"matmul_add_512", "M[i<512,j<512] = sum[k<512](A[i,k]*B[k,j]); O[i<512,j<512] = M[i,j] + D[i,j]"},
    {"matmul_512", "C[i<512,j<512] = sum[k<512](A[i,k]*B[k,j])"},
    {"matmul_odd", "C[i<509,j<467] = sum[k<499](A[i,k]*B[k,j])"},
};

enum { N_WORKLOADS = sizeof workloads / sizeof *workloads };

/* Runs the tenon command with these arguments and returns its exit status; 1 when it cannot be started. */
static int run(char *const *argv) {
  pid_t pid;
  int status;
  if (posix_spawn(&pid, TENON_COMMAND, NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The two commands of the documentation: `tenon tune`, then `tenon bench` on the log that it wrote. */
static int tune_and_compare(const workload *w, const char *folder, const char *trials) {
  char log[4096];
  snprintf(log, sizeof log, "%s/%s.json", folder, w->name);
  printf("==== %s: %s\n", w->name, w->program);
  fflush(stdout);
  char *program = (char *)w->program; /* posix_spawn takes argv as execve does: not const */
  char *tune[] = {"tenon", "tune", program, "--log", log, "--trials", (char *)trials, NULL};
  char *bench[] = {"tenon", "bench", program, "--log", log, "--vs", "openblas", NULL};
  int status = run(tune);
  return status == 0 ? run(bench) : status;
}

int main(int argc, char **argv) {
  int failed = 0;
  const char *trials = argc > 1 ? argv[1] : "200";
  const char *folder = dirname(argv[0]);
  for (int i = 0; i < N_WORKLOADS; ++i) failed |= tune_and_compare(&workloads[i], folder, trials) != 0;
  return failed;
}
