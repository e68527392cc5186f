/* options.c: a verb's table of options: given to getopt_long, read into tools_args, and printed as help. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>

#include "tools/tools.h"

/* LONG_ONLY: getopt_long's codes for options without a letter begin above all letters. */
enum { MAX_OPTIONS = 56, HELP_COLUMN = 26, LONG_ONLY = 256, HELP = 'h', COLOR = 1 };

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A parser sets FIELD, a member of tools_args, from TEXT. False: TEXT is not of its kind. */
static bool parse_flag(const char *text, void *field) {
  (void)text;
  *(bool *)field = true;
  return true;
}

static bool parse_text(const char *text, void *field) {
  *(const char **)field = text;
  return true;
}

/* Reads a decimal number in a range. Leading blanks, which strtoll would accept, are refused. */
static bool parse_int(const char *text, int64_t least, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || isspace((unsigned char)*text) || value < least || value > most) return false;
  *out = value;
  return true;
}

static bool parse_count(const char *text, void *field) { return parse_int(text, 1, INT32_MAX, field); }

/* Stored plus one, so that 0 in tools_args means "not given". */
static bool parse_level(const char *text, void *field) {
  if (!parse_int(text, 0, 2, field)) return false;
  ++*(int64_t *)field;
  return true;
}

/* Up to 2^63 - 1, the largest number that JSON readers agree on as an integer. */
static bool parse_seed(const char *text, void *field) {
  int64_t value;
  if (!parse_int(text, 0, INT64_MAX, &value)) return false;
  *(uint64_t *)field = (uint64_t)value;
  return true;
}

/* More than 0, without blanks before it. */
static bool parse_seconds(const char *text, void *field) {
  char *end;
  double value = runtime_parse_float(text, &end);
  if (end == text || *end || isspace((unsigned char)*text) || !isfinite(value) || value <= 0) return false;
  *(double *)field = value;
  return true;
}

/* A number with the unit s, m or h; FIELD gets seconds. */
static bool parse_duration(const char *text, void *field) {
  static const struct {
    char unit;
    double seconds;
  } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  char *end;
  double value = runtime_parse_float(text, &end);
  if (end == text || isspace((unsigned char)*text) || !isfinite(value) || value <= 0 || !*end || end[1]) return false;
  for (int i = 0; i < RUNTIME_COUNT(units); ++i) {
    if (units[i].unit != *end) continue;
    *(double *)field = value * units[i].seconds;
    return true;
  }
  return false;
}

bool tools_take_param(const char *text, tools_args *args) {
  const char *equals = strchr(text, '=');
  int64_t value;
  if (!equals || equals == text || args->n_params == TOOLS_MAX_PARAMS) return false;
  if (!parse_int(equals + 1, INT64_MIN, INT64_MAX, &value)) return false;
  *(char *)equals = '\0'; /* argv may be written to: the name ends here */
  args->params[args->n_params++] = (tn_param){text, value};
  return true;
}

/* FIELD is the array of params, a member of the tools_args: the count beside it is reached through its
 * offset. The parsers below do the same. */
static bool parse_param(const char *text, void *field) {
  return tools_take_param(text, (tools_args *)((char *)field - offsetof(tools_args, params)));
}

/* A file of --link. */
static bool parse_link(const char *text, void *field) {
  tools_args *args = (tools_args *)((char *)field - offsetof(tools_args, links));
  if (args->n_links == TOOLS_MAX_LINKS) return false;
  args->links[args->n_links++] = text;
  return true;
}

/* A plug-in of the profiler. */
static bool parse_plugin(const char *text, void *field) {
  tools_args *args = (tools_args *)((char *)field - offsetof(tools_args, plugins));
  if (args->n_plugins == TOOLS_MAX_PLUGINS) return false;
  args->plugins[args->n_plugins++] = text;
  return true;
}

/* NAME=DATA of an input. Whether the data can be made is found out with the program. */
static bool parse_fill(const char *text, void *field) {
  tools_args *args = (tools_args *)((char *)field - offsetof(tools_args, fills));
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1] || strchr(text, '\n') || args->n_fills == TOOLS_MAX_FILLS) return false;
  args->fills[args->n_fills++] = text;
  return true;
}

/* A command of --worker. */
static bool parse_worker(const char *text, void *field) {
  tools_args *args = (tools_args *)((char *)field - offsetof(tools_args, workers));
  if (!*text || args->n_workers == TOOLS_MAX_WORKERS) return false;
  args->workers[args->n_workers++] = text;
  return true;
}

char *tools_fill_text(const tools_args *args) {
  runtime_str text = {0};
  for (int i = 0; i < args->n_fills; ++i) runtime_str_addf(&text, "%s%s", i ? "\n" : "", args->fills[i]);
  return text.data;
}

/* What each kind takes, in words for a message. */
static const char *const expected[] = {
#define X(name, words) [TOOLS_##name] = words,
    TOOLS_KINDS(X)
#undef X
};

/* The parser of each kind. */
static bool (*const parsers[])(const char *text, void *field) = {
    [TOOLS_FLAG] = parse_flag,         [TOOLS_TEXT] = parse_text,   [TOOLS_COUNT] = parse_count,
    [TOOLS_LEVEL] = parse_level,       [TOOLS_SEED] = parse_seed,   [TOOLS_SECONDS] = parse_seconds,
    [TOOLS_DURATION] = parse_duration, [TOOLS_PARAM] = parse_param, [TOOLS_LINK] = parse_link,
    [TOOLS_PLUGIN] = parse_plugin,     [TOOLS_FILL] = parse_fill,   [TOOLS_WORKER] = parse_worker};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A verb's table in getopt_long's two forms. getopt_long returns an option's letter, or LONG_ONLY plus its row. */
typedef struct getopt_tables {
  char letters[3 * MAX_OPTIONS + 3];
  struct option names[MAX_OPTIONS + 3];
} getopt_tables;

/* Fills both forms. */
static void fill_tables(const tools_option *options, getopt_tables *out) {
  char *letters = out->letters;
  int n = 0;
  *letters++ = ':'; /* a missing argument is told apart from an unknown option */
  *letters++ = HELP;
  for (; options[n].name; ++n) {
    int has_argument = options[n].kind == TOOLS_FLAG ? no_argument : required_argument;
    out->names[n] = (struct option){options[n].name, has_argument, NULL, LONG_ONLY + n};
    if (options[n].letter) *letters++ = options[n].letter;
    if (options[n].letter && has_argument) *letters++ = ':';
  }
  *letters = '\0';
  out->names[n] = (struct option){"help", no_argument, NULL, HELP};
  out->names[n + 1] = (struct option){"color", required_argument, NULL, COLOR};
  out->names[n + 2] = (struct option){0};
}

/* The option of the code that getopt_long returned; NULL for one that is in no row, such as HELP. */
static const tools_option *find_option(const tools_option *options, int code) {
  if (code >= LONG_ONLY) return &options[code - LONG_ONLY];
  while (options->name && options->letter != code) ++options;
  return options->name ? options : NULL;
}

/* Sets the option's member. An option that is given twice counts the last time; params, links and the like
 * are collected. Returns the exit status. */
static int take_option(const tools_option *option, const char *value, tools_args *out) {
  if (parsers[option->kind](value, (char *)out + option->field)) return TOOLS_OK;
  return tools_usage(out->verb, "--%s takes %s, not '%s'", option->name, expected[option->kind], value);
}

/* Says that there is no such option and suggests the nearest. What follows '=' is no part of the name.
 * Always TOOLS_USAGE. */
static int unknown_option(const tools_verb *verb, const char *word) {
  char name[32] = "";
  const char *given = word + strspn(word, "-");
  snprintf(name, sizeof name, "%.*s", (int)RUNTIME_MIN(strcspn(given, "="), sizeof name - 1), given);
  runtime_nearest nearest = runtime_nearest_to(name);
  for (const tools_option *option = verb->options; option && option->name; ++option)
    runtime_nearest_offer(&nearest, option->name);
  runtime_nearest_offer(&nearest, "color");
  if (nearest.word) return tools_usage(verb, "there is no option %s; did you mean --%s?", word, nearest.word);
  return tools_usage(verb, "there is no option %s", word);
}

/* Refuses a long option with one dash, "-log", which getopt_long would take for a letter with an argument. */
static int refuse_one_dash(const tools_verb *verb, int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (argv[i][0] != '-' || argv[i][1] == '-') continue;
    size_t n = strcspn(argv[i] + 1, "=");
    for (const tools_option *option = verb->options; n > 1 && option->name; ++option)
      if (strlen(option->name) == n && strncmp(option->name, argv[i] + 1, n) == 0)
        return tools_usage(verb, "'%s' has one dash: write --%s", argv[i], option->name);
  }
  return TOOLS_OK;
}

/* Says why getopt_long returned CODE, '?' or ':'. WORD is the argument at which it stopped. Always TOOLS_USAGE. */
static int refuse_option(const tools_verb *verb, int code, const char *word) {
  if (code == ':') return tools_usage(verb, "%s needs an argument", word);
  if (optopt && optopt < LONG_ONLY) return tools_usage(verb, "there is no option -%c", optopt);
  if (optopt) return tools_usage(verb, "%s takes no argument", word);
  return unknown_option(verb, word);
}

/* Takes the operands, which getopt_long has moved behind the options: optind is the first of them. Returns
 * the exit status. */
static int take_operands(const tools_verb *verb, int argc, char **argv, tools_args *out) {
  int n = argc - optind;
  if (n < verb->min_operands)
    return tools_usage(verb, "%s is missing: %.*s", n == 0 ? "the first operand" : "an operand",
                       (int)strcspn(verb->operands, n == 0 ? " " : "["), verb->operands);
  if (n > verb->max_operands && verb->max_operands == 0)
    return tools_usage(verb, "'%s' is one operand too many: it takes none", argv[optind]);
  if (n > verb->max_operands)
    return tools_usage(verb, "'%s' is one operand too many: it takes %d%s; quote what has blanks",
                       argv[optind + verb->max_operands], verb->max_operands,
                       verb->max_operands == 1 ? "" : " at most");
  out->n_operands = n;
  for (int i = 0; i < n; ++i) out->operands[i] = argv[optind + i];
  return TOOLS_OK;
}

/* Prints what is wrong. OUT's texts belong to argv. */
int tools_parse(const tools_verb *verb, int argc, char **argv, tools_args *out, bool *wants_help) {
  getopt_tables tables;
  fill_tables(verb->options, &tables);
  *out = (tools_args){.verb = verb};
  *wants_help = false;
  if (refuse_one_dash(verb, argc, argv) != TOOLS_OK) return TOOLS_USAGE;
  opterr = optind = 0;
  for (int code; (code = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1;) {
    *wants_help = code == HELP;
    if (*wants_help) return TOOLS_OK;
    if (code == COLOR && !tools_choose_colour(optarg))
      return tools_usage(verb, "--color takes auto, always or never, not '%s'", optarg);
    if (code == COLOR) continue;
    const tools_option *option = code == '?' || code == ':' ? NULL : find_option(verb->options, code);
    int status = option ? take_option(option, optarg, out) : refuse_option(verb, code, argv[optind - 1]);
    if (status != TOOLS_OK) return status;
  }
  return take_operands(verb, argc, argv, out);
}

/* ---- usage and help ---------------------------------------------------------------------------------------------- */

int tools_usage(const tools_verb *verb, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "%stenon: %s:%s ", tools_colour(stderr, TOOLS_RED), verb->name, tools_colour(stderr, TOOLS_PLAIN));
  vfprintf(stderr, fmt, args);
  fprintf(stderr, "\nusage: tenon %s%s%s   (more: tenon help %s)\n", verb->name, *verb->operands ? " " : "",
          verb->operands, verb->name);
  va_end(args);
  return TOOLS_USAGE;
}

int tools_find_part(const tools_args *args) {
  static const char *const words[] = {"whole", "prepack", "packed"};
  int part = args->part ? RUNTIME_FIND(words, args->part) : 0;
  if (part < 0) tools_usage(args->verb, "--part is whole, prepack or packed, not '%s'", args->part);
  return part;
}

/* Prints one option, its help from column HELP_COLUMN on. A left side that is too long gets a line of its own. */
static void print_option(const tools_option *option) {
  char left[64], letter[8] = "    ";
  if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
  printf("%-*s", HELP_COLUMN, left);
  for (const char *line = option->help; line;) {
    const char *end = strchr(line, '\n');
    if (line != option->help || strlen(left) >= HELP_COLUMN) printf("\n%*s", HELP_COLUMN, "");
    printf("%.*s", end ? (int)(end - line) : (int)strlen(line), line);
    line = end ? end + 1 : NULL;
  }
  printf("\n");
}

/* Prints lines indented. Empty lines get no trailing blanks. */
static void print_indented(const char *lines) {
  for (const char *line = lines; line && *line;) {
    int n = (int)strcspn(line, "\n");
    printf(n ? "  %.*s\n" : "%.*s\n", n, line);
    line += n + (line[n] == '\n');
  }
}

const tools_option tools_color_option = {
    "color", 0, TOOLS_TEXT, 0, "WHEN", "auto (a terminal has colours, unless NO_COLOR is set), always or never"};

void tools_print_help(const tools_verb *verb) {
  static const tools_option help = {"help", 'h', TOOLS_FLAG, 0, NULL, "print this"};
  printf("tenon %s: %s\n\nusage\n  tenon %s%s%s\n\n", verb->name, verb->summary, verb->name, *verb->operands ? " " : "",
         verb->operands);
  print_indented(verb->details);
  if (!verb->run_raw) {
    printf("\noptions\n");
    for (const tools_option *option = verb->options; option->name; ++option) print_option(option);
    print_option(&tools_color_option);
    print_option(&help);
  }
  if (verb->examples) {
    printf("\nexamples\n");
    print_indented(verb->examples);
  }
}
