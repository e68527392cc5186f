/* worker.c: `tenon worker`: the measuring process that the tuner starts. */
#include <unistd.h>

#include "tools/tools.h"

/* The process that measures one candidate at a time, so that a crash is not the tuner's. Frames go over standard input
 * and output. */
static int run(int argc, char **argv) {
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    tools_print_help(&tools_worker);
    return TOOLS_OK;
  }
  return tn_worker_main(STDIN_FILENO, STDOUT_FILENO, argc, argv);
}

const tools_verb tools_worker = {
    .name = "worker",
    .operands = "[--sandbox]",
    .summary = "build and measure candidates for a tuner, over standard input and output",
    .details =
        "Speaks the measuring protocol of docs/workers.md until its input ends. `tenon tune` starts its workers\n"
        "itself; --worker there names another command, such as `ssh HOST tenon worker` (docs/farm.md).\n"
        "--sandbox: it can compute, read files and answer, and nothing else: no program is started, no file\n"
        "written, no socket opened, no other process touched; and no network where the kernel has user namespaces.\n"
        "--inject=REQUEST-FAULT@N makes it fail on purpose, for tests (docs/workers.md has the list).",
    .run_raw = run,
};
