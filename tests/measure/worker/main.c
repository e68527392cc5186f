/* The worker that the tests of measuring spawn: `test_worker [OPTIONS]` is what `tenon worker [OPTIONS]` is.
 * `test_worker --hold COMMAND...` instead is a tuner in the middle of its work: it starts workers by COMMAND, which is
 * expected to hang at the third build, prints the process ids of its children, and waits to be killed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autotune/autotune.h"
#include "tests/measure/measure_test.h"

static void tell_children(void) {
  int pids[64], n = children_of(getpid(), pids, 64);
  for (int i = 0; i < n; ++i) printf("%d ", pids[i]);
  printf("\n");
  fflush(stdout);
}

static int hold(const char *const *command) {
  tn_context *ctx = tn_context_new(NULL);
  tn_builder builder;
  tn_runner runner;
  tn_worker_options options = {.command = command, .jobs = 2, .build_timeout_s = 300};
  tn_candidate candidates[8];
  tn_measurement out[8];
  if (!tn_workers_new(ctx, &options, &builder, &runner)) return 1;
  for (int i = 0; i < 8; ++i)
    candidates[i] = (tn_candidate){.program = "not a program", .steps = "[]", .target = "native"};
  builder.build(builder.self, 2, candidates, out); /* starts both, none builds more than twice */
  tell_children();
  builder.build(builder.self, 8, candidates, out);
  return 1;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "--hold") == 0) return hold((const char *const *)argv + 2);
  return tn_worker_main(STDIN_FILENO, STDOUT_FILENO, argc - 1, argv + 1);
}
