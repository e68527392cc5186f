/* main.c: the `tenon` command: the table of its verbs, help, and the exit status. */
#include <errno.h>
#include <signal.h>

#include "tools/tools.h"

static int run_help(const tools_args *args);

static const tools_option help_options[] = {
    TOOLS_OPTION("man", 0, FLAG, is_manual, NULL, "print it as a manual page: tenon help tune --man | man -l -"),
    TOOLS_OPTION_END};

static const tools_verb help = {
    .name = "help",
    .operands = "[VERB] [--man]",
    .summary = "print what the command or one of its verbs does",
    .details = "Without VERB: all verbs, one a line.",
    .options = help_options,
    .max_operands = 1,
    .run = run_help,
};

static const tools_verb *const verbs[] = {&tools_show, &tools_tune,   &tools_build,      &tools_bench,   &tools_log,
                                          &tools_pass, &tools_worker, &tools_target,     &tools_profile, &tools_doctor,
                                          &tools_init, &tools_fmt,    &tools_completion, &tools_version, &help};

/* What the overview says below the verbs. */
static const char *const about =
    "A PROGRAM is tensor expressions as text, or the name of a file that holds them:\n"
    "  'C[i<1024, j<1024] = sum[k<1024](A[i,k] * B[k,j])'\n"
    "The exit status is 0 when all went well, 1 when the work failed, 2 for a wrong command line.\n";

const char *const tools_environment =
    "NO_COLOR=1 takes the colours away that a terminal gets; --color=always or =never says it for one command.\n"
    "TENON_DEBUG=lower:2,simplify dumps what the named passes make to standard error.\n"
    "TENON_LIMITS=text_bytes=64M,params=10000 raises limits on what is read and made (docs/limits.md).\n"
    "TENON_PROFILE=FILE lets `tenon tune` record a profile (docs/profiler.md).\n"
    "TENON_LOG=LOG is the log where none is named (XDG_DATA_HOME, or else HOME, say where it is otherwise);\n"
    "TENON_LOG=off: there is none.\n"
    "XDG_CACHE_HOME, or else HOME, say where the measured costs of this machine are kept.\n";

const tools_verb *tools_verb_at(int index) { return index < RUNTIME_COUNT(verbs) ? verbs[index] : NULL; }

const tools_verb *tools_find_verb(const char *name) {
  for (int i = 0; i < RUNTIME_COUNT(verbs); ++i) {
    if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
  }
  return NULL;
}

/* To standard error with status 2 for a bare `tenon`, to standard output for `tenon help`. */
static void print_overview(FILE *out) {
  fprintf(out, "tenon: tensor expressions, cut to fit the machine\n\nusage: tenon VERB ...\n");
  for (int i = 0; i < RUNTIME_COUNT(verbs); ++i) fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
  fprintf(out, "`tenon help VERB` tells more.\n\n%s%s", about, tools_environment);
}

/* What to use instead of a verb's name that other tools have; NULL: nothing is known. */
static const char *meant(const char *name) {
  static const char *const rows[][2] = {{"run", "`tenon bench` runs and times a program"},
                                        {"compile", "`tenon build` compiles a program to a file"},
                                        {"list", "`tenon log list` lists records, `tenon target --list` processors"},
                                        {"print", "`tenon show` prints a program and what becomes of it"},
                                        {"search", "`tenon tune` searches for the fastest schedule"},
                                        {"format", "`tenon fmt` lays out programs and schedules"},
                                        {"new", "`tenon init` writes a project to begin with"}};
  for (int i = 0; i < RUNTIME_COUNT(rows); ++i)
    if (strcmp(name, rows[i][0]) == 0) return rows[i][1];
  return NULL;
}

/* Says that there is no such verb, and suggests one: by meaning, or the nearest by edit distance. Always
 * TOOLS_USAGE. */
static int unknown_verb(const char *name) {
  runtime_nearest nearest = runtime_nearest_to(name);
  for (int i = 0; i < RUNTIME_COUNT(verbs); ++i) runtime_nearest_offer(&nearest, verbs[i]->name);
  fprintf(stderr, "tenon: there is no verb '%s'", name);
  if (meant(name))
    fprintf(stderr, ": %s", meant(name));
  else if (nearest.word)
    fprintf(stderr, "; did you mean '%s'?", nearest.word);
  else
    fprintf(stderr, ": `tenon help` lists those there are");
  fprintf(stderr, "\nusage: tenon");
  for (int i = 0; i < RUNTIME_COUNT(verbs); ++i) fprintf(stderr, "%s%s", i ? "|" : " ", verbs[i]->name);
  fprintf(stderr, " ...   (more: tenon help)\n");
  return TOOLS_USAGE;
}

/* Prints help. --man prints roff instead: manual pages come from the same tables as the help. */
static int run_help(const tools_args *args) {
  if (args->n_operands == 0 && args->is_manual)
    return tools_print_overview_manual(RUNTIME_COUNT(verbs), verbs, about), TOOLS_OK;
  if (args->n_operands == 0) return print_overview(stdout), TOOLS_OK;
  const tools_verb *verb = tools_find_verb(args->operands[0]);
  if (!verb) return unknown_verb(args->operands[0]);
  (args->is_manual ? tools_print_manual : tools_print_help)(verb);
  return TOOLS_OK;
}

/* Runs a verb. One with run_raw reads its own arguments: a worker's must be as docs/workers.md says. */
static int run_verb(const tools_verb *verb, int argc, char **argv) {
  tools_args args;
  bool wants_help;
  if (verb->run_raw) return verb->run_raw(argc, argv);
  int status = tools_parse(verb, argc, argv, &args, &wants_help);
  if (wants_help) tools_print_help(verb);
  return status == TOOLS_OK && !wants_help ? verb->run(&args) : status;
}

/* Finds the verb; --help and --version stand for the verbs of these names. */
static int run(int argc, char **argv) {
  if (argc < 2) return print_overview(stderr), TOOLS_USAGE;
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0) name = "version";
  const tools_verb *verb = tools_find_verb(name);
  return verb ? run_verb(verb, argc - 1, argv + 1) : unknown_verb(name);
}

/* Output may fail as late as the last flush: with a full disk behind `> file` the status must not be 0. */
int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a file that gets too long for ulimit -f is an error with a message */
  if (argc > 1 && strcmp(argv[1], tools_bench.name) == 0) tools_settle_environment(argv);
  tools_watch_json();
  int status = run(argc, argv);
  if (status == TOOLS_OK && tools_lacks_memory()) {
    fprintf(stderr, "tenon: out of memory: JSON that was written lacks parts\n");
    status = TOOLS_FAILED;
  }
  if (status == TOOLS_FAILED && !tools_has_spoken()) fprintf(stderr, "tenon: out of memory\n");
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fprintf(stderr, "tenon: standard output cannot be written: %s\n", strerror(errno));
  return TOOLS_FAILED;
}
