/* tools.h: what the verbs of the `tenon` command share: tables of options, the parsed command line, the
 * session with its context and messages, reading of programs and files, and output. Each verb is one file;
 * the library does the work. */
#ifndef TENON_TOOLS_TOOLS_H
#define TENON_TOOLS_TOOLS_H

#include <jansson.h>
#include <stdio.h>

#include "autotune/autotune.h"
#include "runtime/base.h"

/* Exit statuses of the command. */
enum { TOOLS_OK = 0, TOOLS_FAILED = 1, TOOLS_USAGE = 2, TOOLS_SIGNALLED = 128 /* plus the signal's number */ };

/* ---- what a command line says (options.c) ------------------------------------------------------------------------ */

/* How often an option that is collected, or an operand, may be given. */
enum {
  TOOLS_MAX_PARAMS = 32,
  TOOLS_MAX_OPERANDS = 64,
  TOOLS_MAX_LINKS = 16,
  TOOLS_MAX_FILLS = 16,
  TOOLS_MAX_PLUGINS = 16,
  TOOLS_MAX_WORKERS = 64
};

typedef struct tools_verb tools_verb;

/* A parsed command line. What was not given is NULL, 0 or false. Texts belong to argv. One struct has the
 * fields of all verbs; a verb's table says which of them can be set. */
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

/* A row of a verb's table of options. Parser, help, manual page and completion all come from it. */
typedef struct tools_option {
  const char *name; /* "log"; NULL ends a table */
  char letter;      /* 'l', or 0 */
  tools_kind kind;
  size_t field;         /* offset in tools_args */
  const char *argument; /* "LOG"; NULL for a flag */
  const char *help;     /* separated by newlines; printed as they stand */
} tools_option;

/* Makes a row, with the offset of the field that it fills. */
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

/* A verb of the command. `run` gets a parsed line; a verb with `run_raw` reads its own. */
struct tools_verb {
  const char *name;
  const char *operands; /* for the usage line: "PROGRAM --log LOG" */
  const char *summary;  /* one line */
  const char *details;  /* paragraphs for `tenon help VERB`, lines of at most 100 characters */
  const char *examples; /* command lines, one a line; NULL: none */
  const tools_option *options;
  int min_operands, max_operands;
  int (*run)(const tools_args *args);    /* returns the exit status; NULL: run_raw is used */
  int (*run_raw)(int argc, char **argv); /* parses for itself; argv[0] is the verb */
};

extern const tools_verb tools_show, tools_tune, tools_build, tools_bench, tools_log, tools_worker, tools_target,
    tools_version, tools_profile, tools_pass, tools_doctor, tools_init, tools_completion, tools_fmt;
/* The verbs in the order of the overview; NULL behind the last one. By name: NULL when there is none. */
const tools_verb *tools_verb_at(int index);
const tools_verb *tools_find_verb(const char *name);

/* The values of all --fill, one a line, malloc'ed; NULL when there are none. */
char *tools_fill_text(const tools_args *args);
/* Reads argv[1..argc) of a verb into OUT. Returns TOOLS_OK, or TOOLS_USAGE after a message and the usage
 * line on standard error. *WANTS_HELP: --help was among them; then nothing else was looked at. */
int tools_parse(const tools_verb *verb, int argc, char **argv, tools_args *out, bool *wants_help);
/* Prints `tenon: VERB: message` and the usage line to standard error. Always TOOLS_USAGE. */
int tools_usage(const tools_verb *verb, const char *fmt, ...) TN_PRINTF(2, 3);
/* --part as a tn_build_part; -1 after a message: there is no part of that name. */
int tools_find_part(const tools_args *args);
void tools_print_help(const tools_verb *verb);
/* --color WHEN, which every verb has that leaves parsing to its table. */
extern const tools_option tools_color_option;
/* Adds one to OUT's params, from "NAME=N". The '=' is overwritten by the name's end. False: the text has
 * another form, or there are too many. */
bool tools_take_param(const char *text, tools_args *out);

/* ---- manual pages (manual.c) -------------------------------------------------------------------------------------- */

/* Lines about the environment variables that the command reads. */
extern const char *const tools_environment;
/* Print a manual page as man(7) takes it: a verb's, and the command's own with its N verbs. */
void tools_print_manual(const tools_verb *verb);
void tools_print_overview_manual(int n, const tools_verb *const *verbs, const char *about);

/* ---- colours (colour.c) ------------------------------------------------------------------------------------------- */

typedef enum tools_tint { TOOLS_PLAIN, TOOLS_RED, TOOLS_GREEN, TOOLS_YELLOW, TOOLS_BLUE, TOOLS_PURPLE } tools_tint;
/* Sets what --color says: auto, always or never. False: WHEN is none of these. */
bool tools_choose_colour(const char *when);
/* The sequence that begins a tint on FILE, or ends all (PLAIN); "" where there are no colours. */
const char *tools_colour(FILE *file, tools_tint tint);
/* tools_print_text for a loop tree, with colours. */
int tools_print_tree(char *tree);

/* ---- a context with a program (session.c) ------------------------------------------------------------------------ */

/* One run of the command. Zero-initialised: closed. */
typedef struct tools_session {
  tn_context *ctx;
  tn_target *target;
  tn_program *program;          /* NULL until it is loaded */
  const char *file;             /* named in messages while it is read; NULL: none */
  bool is_muted;                /* messages are not printed, only kept in the context */
  RUNTIME_VEC(uint64_t) warned; /* hashes of warnings that were printed: equal ones are printed once */
  bool holds_errors;            /* errors are not printed, warnings are */
  tn_cut cut;                   /* the groups whose records made the schedule; n is 0 when it was made otherwise */
  bool has_live_line;           /* a line on the terminal has to be cleared before a message is printed */
} tools_session;

/* Makes the context, whose messages go to standard error, and the target that --target and --threads name.
 * False after a message. tools_close is needed in either case. */
bool tools_open(tools_session *session, const tools_args *args);
void tools_close(tools_session *session);
/* The file that keeps this machine's costs: $XDG_CACHE_HOME/tenon/machine-N-HASH, or the same in ~/.cache.
 * False: neither directory is known, or there is no memory. */
bool tools_cache_path(tn_context *ctx, runtime_str *out);
/* Gives the session's target the costs of operations on this machine, from the user's cache directory or by measuring.
 * Does nothing if the target has costs already or is another processor. ANEW: measures even so, but never for another
 * processor. False after a message. */
bool tools_know_machine(tools_session *session, bool anew);
/* Parses PROGRAM into the session: a file, when it exists or its name ends in .te, or the text itself.
 * False after a message. */
bool tools_load(tools_session *session, const tools_args *args, const char *program);
/* The log that is used where none is named: $TENON_LOG, or tenon/log.json in the user's data directory.
 * False: TENON_LOG is off, or no such directory is known. Only the command has this default; the library
 * has none. */
bool tools_usual_log(bool makes_folders, runtime_str *out);
/* tools_open, and tools_load of the first operand. False after a message. */
bool tools_open_program(tools_session *session, const tools_args *args);
/* The text of the file PATH, or of standard input for "-", malloc'ed. NULL after a message. */
char *tools_read(tools_session *session, const char *path);
/* The schedule that --log or --schedule names (auto: the generic one for the target); without these the
 * program's own, or else the default one. NULL after a message. */
tn_schedule *tools_schedule(tools_session *session, const tools_args *args);
/* Whether that is another schedule than the default one. The program must be loaded. */
bool tools_is_scheduled(const tools_session *session, const tools_args *args);
/* Whether a warning or a failure was printed in this run. */
bool tools_has_spoken(void);
/* Replaces jansson's allocator by one that notes failures, since JSON may lack parts then. */
void tools_watch_json(void);
bool tools_lacks_memory(void);
/* Prints `tenon: warning: ...` to standard error. */
void tools_warn(tools_session *session, const char *fmt, ...) TN_PRINTF(2, 3);
/* Prints `tenon: ...` to standard error. Always TOOLS_FAILED. */
int tools_fail(tools_session *session, const char *fmt, ...) TN_PRINTF(2, 3);

/* ---- output (output.c) ------------------------------------------------------------------------------------------- */

/* Prints the object to standard output and releases it. NULL stands for no memory. Returns the exit status. */
int tools_print_json(tools_session *session, json_t *object);
/* Replaces every control character of TEXT by a '?', in place, and returns it: a log or a recording may
 * hold sequences that a terminal would obey. */
char *tools_plain(char *text);
/* Prints malloc'ed text without control characters, ended by a newline, and frees it. NULL is a failure
 * that was reported before. Returns the exit status. */
int tools_print_text(char *text);
/* "1.23 ms": a number with its unit, in three digits. */
typedef struct tools_number {
  char text[32];
} tools_number;
tools_number tools_time(double seconds);
/* GFLOPS of FLOPS operations in SECONDS; 0 when SECONDS is 0. */
double tools_gflops(double flops, double seconds);
/* How fast a run of SECONDS is: "12.34" GFLOPS or, for a program that computes nothing, "12.34 GB/s" of its arrays. */
tools_number tools_rate(const tn_program *program, double seconds);

/* Sets variables that a vendor's library reads when it is loaded, and starts the command again if it had to. */
void tools_settle_environment(char **argv);

#endif
