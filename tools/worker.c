/* worker.c: `tenon worker`: the measuring process that the tuner starts. */
#include <unistd.h>

#include "tools/queue.h"

/* `tenon worker --queue URL [--no-sandbox] [--inject=...]`: takes candidates from a pool and has another
 * process of this command time them. */
static int run_queue(int argc, char **argv) {
  const char *url = NULL, *fault = NULL;
  bool is_free = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--queue") == 0 && i + 1 < argc)
      url = argv[++i];
    else if (strncmp(argv[i], "--queue=", 8) == 0)
      url = argv[i] + 8;
    else if (strcmp(argv[i], "--no-sandbox") == 0)
      is_free = true;
    else if (strncmp(argv[i], "--inject=", 9) == 0)
      fault = argv[i];
    else if (strcmp(argv[i], "--sandbox") != 0)
      return tools_usage(&tools_worker,
                         strcmp(argv[i], "--queue") == 0 ? "%s needs an argument" : "--queue does not go with %s",
                         argv[i]);
  }
  return queue_work(url, is_free, fault);
}

/* The process that measures one candidate at a time, so that a crash is not the tuner's. Frames come over
 * standard input and go over standard output. */
static int run(int argc, char **argv) {
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    tools_print_help(&tools_worker);
    return TOOLS_OK;
  }
  bool is_queue = false;
  for (int i = 1; i < argc; ++i) is_queue |= strcmp(argv[i], "--queue") == 0 || strncmp(argv[i], "--queue=", 8) == 0;
  return is_queue ? run_queue(argc, argv) : tn_worker_main(STDIN_FILENO, STDOUT_FILENO, argc, argv);
}

const tools_verb tools_worker = {
    .name = "worker",
    .operands = "[--sandbox] [--queue URL [--no-sandbox]]",
    .summary = "build and measure candidates for a tuner, over standard input and output",
    .details =
        "Speaks the measuring protocol of docs/workers.md until its input ends. `tenon tune` starts its workers\n"
        "itself; --worker there names another command, such as `ssh HOST tenon worker` (docs/farm.md).\n"
        "--sandbox: it can compute, read files and answer, and nothing else: no program is started, no file\n"
        "written, no socket opened, no other process touched; and no network where the kernel has user namespaces.\n"
        "--queue redis://[USER:PASSWORD@]HOST[:PORT]/POOL: it serves the tuners of a pool in turns instead, each "
        "candidate in a\n"
        "process of its own, which is in the sandbox unless --no-sandbox is given (docs/farm.md).\n"
        "--inject=REQUEST-FAULT@N makes it fail on purpose, for tests (docs/workers.md has the list).",
    .run_raw = run,
};
