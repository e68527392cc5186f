/* target.c: `tenon target`: prints a machine as Tenon sees it. */
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("measure", 0, FLAG, measures, NULL,
                 "measure what operations take on this machine, keep it in the cache directory, print it"),
    TOOLS_OPTION("list", 0, FLAG, lists, NULL,
                 "print the processors that LLVM knows of the target's architecture, and their\n"
                 "features, as cpu= and features= take them"),
    TOOLS_OPTION_JSON, TOOLS_OPTION_END};

const tools_verb tools_target = {
    .name = "target",
    .operands = "[TARGET] [--measure] [--list] [--json]",
    .summary = "print the machine that kernels are compiled for",
    .details =
        "Without TARGET: this machine, with the features that its operating system enables. TARGET is in\n"
        "words: 'triple=x86_64-linux-gnu cpu=znver4 features=-avx512f threads=2'; what is not given comes\n"
        "from this machine. The first line of the answer can be given to --target.\n"
        "\n"
        "Generic schedules (-s auto) and the tuner choose by what operations take on the machine: measured\n"
        "once, in a fraction of a second, and kept in $XDG_CACHE_HOME/tenon or ~/.cache/tenon. --measure renews\n"
        "that, best while nothing else runs, and prints it: nanoseconds, and one word for --target elsewhere.",
    .examples =
        "tenon target\n"
        "tenon target 'cpu=haswell threads=4' --json\n"
        "tenon target triple=aarch64-linux-gnu --list",
    .options = options,
    .max_operands = 1,
    .run = run,
};

/* Levels of caches that are printed. */
enum { CACHES = 3 };

/* The first line is what --target takes. Caches that are not known are left out. */
static int print_plain(const tn_target *target) {
  printf("%s\n", tn_target_text(target));
  printf("threads       %d\n", tn_target_threads(target));
  printf("vector bytes  %d\n", tn_target_vector_bytes(target));
  for (int level = 1; level <= CACHES; ++level) {
    long long bytes = tn_target_cache_bytes(target, level);
    if (bytes > 0) printf("cache %d       %lld KiB\n", level, bytes / 1024);
  }
  return TOOLS_OK;
}

/* A line for each cost, then the one word that carries them all to --target elsewhere. */
static void print_costs(const tn_target *target) {
  const tn_machine_costs costs = tn_target_machine(target).costs;
  if (*tn_target_costs(target) == '\0') return;
#define X(name, what) printf("%-8s %10.4g ns  %s\n", #name, costs.name, what);
  TN_MACHINE_COSTS(X)
#undef X
  printf("%s\n", tn_target_costs(target));
}

static int print_object(tools_session *session) {
  const tn_target *target = session->target;
  json_t *caches = json_array();
  for (int level = 1; level <= CACHES; ++level)
    json_array_append_new(caches, json_integer(tn_target_cache_bytes(target, level)));
  return tools_print_json(session, json_pack("{s:s, s:i, s:i, s:o, s:s}", "target", tn_target_text(target), "threads",
                                             tn_target_threads(target), "vector_bytes", tn_target_vector_bytes(target),
                                             "cache_bytes", caches, "costs", tn_target_costs(target)));
}

/* tn_target_known_cpu and tn_target_known_feature: NULL behind the last name. */
typedef const char *name_at(const tn_target *target, int index);

/* Prints the names, with commas, in lines of up to 100 columns. */
static void print_names(const tn_target *target, const char *title, name_at *at) {
  enum { COLUMNS = 100 };
  int column = COLUMNS;
  printf("%s", title);
  for (int i = 0; at(target, i); ++i) {
    int n = 1 + (int)strlen(at(target, i));
    bool wraps = column + n > COLUMNS;
    printf("%s%s", wraps ? "\n  " : " ", at(target, i));
    column = wraps ? 1 + n : column + n;
  }
  printf("\n");
}

static json_t *names_array(const tn_target *target, name_at *at) {
  json_t *array = json_array();
  for (int i = 0; at(target, i); ++i) json_array_append_new(array, json_string(at(target, i)));
  return array;
}

/* Answers --list. Returns the exit status. */
static int list(tools_session *session, bool is_json) {
  const tn_target *target = session->target;
  if (is_json)
    return tools_print_json(session, json_pack("{s:o, s:o}", "cpus", names_array(target, tn_target_known_cpu),
                                               "features", names_array(target, tn_target_known_feature)));
  print_names(target, "cpu=", tn_target_known_cpu);
  print_names(target, "features=", tn_target_known_feature);
  return TOOLS_OK;
}

static int run(const tools_args *args) {
  tools_args with_target = *args;
  with_target.target = args->operands[0];
  tools_session session;
  int status = TOOLS_FAILED;
  bool ready = tools_open(&session, &with_target) && (!args->measures || tools_know_machine(&session, true));
  if (ready && args->lists) {
    status = list(&session, args->is_json);
    tools_close(&session);
    return status;
  }
  if (ready) status = args->is_json ? print_object(&session) : print_plain(session.target);
  if (ready && !args->is_json) print_costs(session.target);
  tools_close(&session);
  return status;
}
