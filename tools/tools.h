/* tools.h: what the verbs of the `tenon` command share: the options they take as tables, what a command line said, the
 * context that prints its messages, text from arguments or files. One file a verb; the library does the work. */
#ifndef TENON_TOOLS_TOOLS_H
#define TENON_TOOLS_TOOLS_H

#include <jansson.h>
#include <stdio.h>

#include "autotune/autotune.h"
#include "runtime/base.h"

/* Exit statuses. */
enum { TOOLS_OK = 0, TOOLS_FAILED = 1, TOOLS_USAGE = 2, TOOLS_SIGNALLED = 128 /* plus the signal's number */ };

/* ---- what a command line says (options.c) ------------------------------------------------------------------------ */

enum {
  TOOLS_MAX_PARAMS = 32,
  TOOLS_MAX_OPERANDS = 64,
  TOOLS_MAX_LINKS = 16,
  TOOLS_MAX_FILLS = 16,
  TOOLS_MAX_PLUGINS = 16,
  TOOLS_MAX_WORKERS = 64
};

typedef struct tools_verb tools_verb;

/* A parsed command line. What was not given is NULL, 0 or false. Texts point into argv. */
typedef struct tools_args {
  const tools_verb *verb;
  const char *operands[TOOLS_MAX_OPERANDS];
  int n_operands;
  tn_param params[TOOLS_MAX_PARAMS];
  int n_params;
  const char *links[TOOLS_MAX_LINKS];
  int n_links;
  const char *fills[TOOLS_MAX_FILLS]; /* "NAME=HOW" */
  int n_fills;
  const char *workers[TOOLS_MAX_WORKERS]; /* commands, each a line for a shell */
  int n_workers;
  const char *hosts, *build_on, *tags, *queue, *runner;
  const char *plugins[TOOLS_MAX_PLUGINS];
  int n_plugins;
  const char *schedule, *log, *emit, *try_text, *output, *header, *name, *part, *target, *versus, *profile, *strategy,
      *objective, *error, *since, *until, *missing, *from, *to, *workload, *program, *sort, *effort, *cost_model, *kind,
      *report, *rules, *by, *buckets;
  int64_t population, generations, repeat, number;
  double eps, mutation, crossover, cooldown, build_timeout, run_timeout, patience;
  bool no_sketches, flushes_cache;
  int64_t trials, early_stop, finalists, per_round, verbosity, jobs, threads, limit, port, registers, register_bytes,
      unroll, stack;
  uint64_t seed;
  double seconds;
  bool is_json, is_strict, shows_stages, shows_limits, lists, measures, is_manual, is_csv, remeasures, checks,
      is_in_place, top_level, is_cut;
} tools_args;

/* What an option takes, and which type of field it fills. X(NAME, "what is expected") */
#define TOOLS_KINDS(X)                                                   \
  X(FLAG, "nothing")                           /* bool */                \
  X(TEXT, "a text")                            /* const char * */        \
  X(COUNT, "a whole number of 1 or more")      /* int64_t */             \
  X(LEVEL, "0, 1 or 2")                        /* int64_t, plus 1 */     \
  X(SEED, "a whole number of 0 or more")       /* uint64_t */            \
  X(SECONDS, "a number above 0")               /* double */              \
  X(DURATION, "a time such as 30s, 10m or 2h") /* double, seconds */     \
  X(PARAM, "NAME=N with a whole number")       /* one more of params */  \
  X(LINK, "a file's name, 16 times at most")   /* one more of links */   \
  X(PLUGIN, "a path, 16 times at most")        /* one more of plugins */ \
  X(FILL, "NAME=HOW, as in A=uniform(0.1,2)")  /* one more of fills */   \
  X(WORKER, "a command, 64 times at most")     /* one more of workers */

typedef enum tools_kind {
#define X(name, words) TOOLS_##name,
  TOOLS_KINDS(X)
#undef X
} tools_kind;

typedef struct tools_option {
  const char *name; /* "log"; NULL ends a table */
  char letter;      /* 'l', or 0 */
  tools_kind kind;
  size_t field;         /* offset in tools_args */
  const char *argument; /* "LOG"; NULL for a flag */
  const char *help;     /* lines, separated by newlines */
} tools_option;

#define TOOLS_OPTION(name, letter, kind, field, argument, help) \
  {name, letter, TOOLS_##kind, offsetof(tools_args, field), argument, help}
/* Options that several verbs take. */
#define TOOLS_OPTION_FILL                                                                                    \
  TOOLS_OPTION("fill", 0, FILL, fills, "NAME=HOW",                                                           \
               "what input NAME holds: uniform(LOW,HIGH), normal, zeros, iota, index(N) for indices,\n"      \
               "sparse(SHARE) with that share of zeros, file:PATH.npy; the others get random numbers that\n" \
               "the program can take")
#define TOOLS_OPTION_PARAM \
  TOOLS_OPTION("param", 'p', PARAM, params, "NAME=N", "the value of one of the program's `param`s; may be repeated")
#define TOOLS_OPTION_SCHEDULE                                                                            \
  TOOLS_OPTION("schedule", 's', TEXT, schedule, "SCHEDULE",                                              \
               "primitives, separated by ';', as text or as the name of a file that holds them:\n"       \
               "'tile(C, i, j, 32, 32); vectorize(C, j.inner)'; auto: the generic schedule; none: the\n" \
               "default one, although the program has a schedule block")
#define TOOLS_OPTION_LOG \
  TOOLS_OPTION("log", 'l', TEXT, log, "LOG", "take the schedule of the best checked record of this program in LOG")
#define TOOLS_OPTION_TARGET                                                                   \
  TOOLS_OPTION("target", 't', TEXT, target, "TARGET",                                         \
               "the machine to compile for, in words like 'cpu=haswell threads=2'; what is\n" \
               "not given comes from this machine (`tenon target` shows it)")
#define TOOLS_OPTION_PART                                                                       \
  TOOLS_OPTION("part", 0, TEXT, part, "PART",                                                   \
               "of a program with layout_free inputs: whole (the default), prepack (computes\n" \
               "once what depends on them alone), packed (takes that in place of them)")
#define TOOLS_OPTION_LINK                                                                      \
  TOOLS_OPTION("link", 0, LINK, links, "FILE",                                                 \
               "LLVM IR, text or bitcode, with C functions that the program calls (extern);\n" \
               "may be repeated: each function has to be in one of the files")
#define TOOLS_OPTION_JSON \
  TOOLS_OPTION("json", 0, FLAG, is_json, NULL, "print one JSON object on standard output, nothing else")
#define TOOLS_OPTION_END {0}

struct tools_verb {
  const char *name;
  const char *operands; /* for the usage line: "PROGRAM --log LOG" */
  const char *summary;  /* one line */
  const char *details;  /* paragraphs for `tenon help VERB`, lines of at most 100 characters */
  const char *examples; /* command lines, one a line; NULL: none */
  const tools_option *options;
  int min_operands, max_operands;
  int (*run)(const tools_args *args);    /* returns the exit status; NULL: */
  int (*run_raw)(int argc, char **argv); /* parses for itself; argv[0] is the verb */
};

extern const tools_verb tools_show, tools_tune, tools_build, tools_bench, tools_log, tools_worker, tools_target,
    tools_version, tools_profile, tools_pass, tools_doctor, tools_init, tools_completion, tools_fmt;
/* The verbs in the order of the overview; NULL behind the last, or when there is none of that name. */
const tools_verb *tools_verb_at(int index);
const tools_verb *tools_find_verb(const char *name);

/* The lines of --fill, malloc'ed; NULL when there are none. */
char *tools_fill_text(const tools_args *args);
/* Reads argv[1..argc) of a verb. TOOLS_OK, or TOOLS_USAGE after a message and the usage line on standard error.
 * *wants_help: --help was there; nothing else was looked at. */
int tools_parse(const tools_verb *verb, int argc, char **argv, tools_args *out, bool *wants_help);
/* Prints `tenon: VERB: message` and the usage line on standard error; returns TOOLS_USAGE. */
int tools_usage(const tools_verb *verb, const char *fmt, ...) TN_PRINTF(2, 3);
/* --part as a tn_build_part; -1 after a message: there is none of that name. */
int tools_find_part(const tools_args *args);
void tools_print_help(const tools_verb *verb);
/* --color WHEN, which every verb takes that leaves its options to the table. */
extern const tools_option tools_color_option;
/* One more of OUT's params, from "NAME=N", whose '=' becomes the name's end. False: it is not of that form, or one too many. */
bool tools_take_param(const char *text, tools_args *out);

/* ---- manual pages (manual.c) -------------------------------------------------------------------------------------- */

/* What the environment may hold, lines. */
extern const char *const tools_environment;
/* Print a page as man(7) takes it: of a verb, and of the command with so many VERBS. */
void tools_print_manual(const tools_verb *verb);
void tools_print_overview_manual(int n, const tools_verb *const *verbs, const char *about);

/* ---- colours (colour.c) ------------------------------------------------------------------------------------------- */

typedef enum tools_tint { TOOLS_PLAIN, TOOLS_RED, TOOLS_GREEN, TOOLS_YELLOW, TOOLS_BLUE, TOOLS_PURPLE } tools_tint;
/* What --color says: auto, always or never. False: none of these. */
bool tools_choose_colour(const char *when);
/* What begins a tint on FILE, or ends all (PLAIN); "" where there are no colours. */
const char *tools_colour(FILE *file, tools_tint tint);
/* As tools_print_text, for the text of a loop tree. */
int tools_print_tree(char *tree);

/* ---- a context with a program (session.c) ------------------------------------------------------------------------ */

typedef struct tools_session {
  tn_context *ctx;
  tn_target *target;
  tn_program *program;          /* NULL until loaded */
  const char *file;             /* put before messages while a file is read; NULL: none */
  bool is_muted;                /* messages are only kept in the context */
  RUNTIME_VEC(uint64_t) warned; /* hashes of the warnings that were printed: equal ones are printed once */
  bool holds_errors;            /* errors are, warnings are printed */
  tn_cut cut;                   /* the groups whose records made the schedule; n 0: it was made otherwise */
  bool has_live_line;           /* a line on the terminal is to be wiped before a message is printed */
} tools_session;

/* Makes the context, whose messages go to standard error, and the target that the options --target and --threads name.
 * False after a message; close in either case. */
bool tools_open(tools_session *session, const tools_args *args);
void tools_close(tools_session *session);
/* Where costs of this machine are kept: $XDG_CACHE_HOME/tenon/machine-N-HASH, or the same in ~/.cache. False: there is no such
 * directory, or no memory. */
bool tools_cache_path(tn_context *ctx, runtime_str *out);
/* Gives the session's target what operations take on this machine, from the user's cache directory or measured, unless
 * the target has costs or is another processor. ANEW: measured in any case. False after a message. */
bool tools_know_machine(tools_session *session, bool anew);
/* Parses PROGRAM: a file's name, when there is such a file or it ends in .te, or the text itself. */
bool tools_load(tools_session *session, const tools_args *args, const char *program);
/* The log that is used where none is named: $TENON_LOG, or tenon/log.json in the user's data directory. False: TENON_LOG is off,
 * or there is no such directory. The library knows nothing of it. */
bool tools_usual_log(bool makes_folders, runtime_str *out);
/* tools_open and tools_load with the first operand. */
bool tools_open_program(tools_session *session, const tools_args *args);
/* What the file PATH holds, or standard input for "-": malloc'ed. NULL after a message. */
char *tools_read(tools_session *session, const char *path);
/* The schedule that --schedule (auto: the generic one for the target) or --log names, else the program's own, else the
 * default one. NULL after a message. */
tn_schedule *tools_schedule(tools_session *session, const tools_args *args);
/* Whether that is another than the default schedule. The program is loaded. */
bool tools_is_scheduled(const tools_session *session, const tools_args *args);
/* Whether anything was said on standard error by the functions below or by a context. */
bool tools_has_spoken(void);
/* From here on jansson's allocations are watched: whether one failed, so that JSON may lack parts. */
void tools_watch_json(void);
bool tools_lacks_memory(void);
/* Prints `tenon: warning: ...` on standard error. */
void tools_warn(tools_session *session, const char *fmt, ...) TN_PRINTF(2, 3);
/* Prints `tenon: ...` on standard error; returns TOOLS_FAILED. */
int tools_fail(tools_session *session, const char *fmt, ...) TN_PRINTF(2, 3);

/* ---- output (output.c) ------------------------------------------------------------------------------------------- */

/* Prints the object on standard output and releases it. NULL: out of memory. Returns the exit status. */
int tools_print_json(tools_session *session, json_t *object);
/* Puts a ? in the place of each character that a terminal would obey; TEXT itself. What comes from a log or a
 * recording may hold such. */
char *tools_plain(char *text);
/* Prints malloc'ed text without such characters, ended by a newline, and frees it; NULL is a failure that was
 * said. Returns the exit status. */
int tools_print_text(char *text);
/* "1.23 ms" with three digits. */
typedef struct tools_number {
  char text[32];
} tools_number;
tools_number tools_time(double seconds);
/* GFLOPS of FLOPS operations done in SECONDS; 0 when seconds is. */
double tools_gflops(double flops, double seconds);
/* How fast one run of SECONDS is: "12.34" GFLOPS, or "12.34 GB/s" of the program's bytes where nothing is computed. */
tools_number tools_rate(const tn_program *program, double seconds);

/* Sets what the libraries of a comparison read when they are loaded, and starts the command anew if it had to. */
void tools_settle_environment(char **argv);

#endif
