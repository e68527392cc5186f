/* signals.c: a host that blocks all signals and ignores those of its children: kernels and tuning work, the host's masks
 * and handlers stay, and its signals reach no thread of Tenon's. */
#include <signal.h>
#include <unistd.h>

#include "embed.h"

static void tune(const char *log, const char *command) {
  const char *const worker[] = {command, "worker", NULL};
  tn_context *ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(ctx, "C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])", 0, NULL);
  tn_tune_options options = {.log = log, .trials = 4, .workers = {.command = worker, .jobs = 1}};
  tn_tune_result result = {0};
  REQUIRE(tn_tune(program, &options, &result) == TN_OK, "%s", tn_context_message(ctx));
  REQUIRE(result.trials == 4 && result.failed == 0, "%d trials, %d failed", result.trials, result.failed);
  tn_context_free(ctx);
}

static bool all_are_blocked(void) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    bool is_own = number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < SIGRTMIN);
    if (!is_own && sigismember(&mask, number) != 1) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  sigset_t all, pending;
  struct sigaction children;
  REQUIRE(argc == 3, "signals LOG COMMAND");
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  signal(SIGCHLD, SIG_IGN);
  embed_kernel k = embed_new();
  embed_check(&k);
  kill(getpid(), SIGUSR1); /* would end the host if any thread took it */
  embed_check(&k);
  unlink(argv[1]); /* what an earlier run measured is not measured again */
  tune(argv[1], argv[2]);
  embed_free(&k);
  sigpending(&pending);
  sigaction(SIGCHLD, NULL, &children);
  REQUIRE(all_are_blocked(), "the mask changed");
  REQUIRE(sigismember(&pending, SIGUSR1) == 1, "the signal went elsewhere");
  REQUIRE(children.sa_handler == SIG_IGN, "the handler of SIGCHLD changed");
  return 0;
}
