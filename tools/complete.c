/* complete.c: `tenon completion`: the short scripts that shells read, and the answers that those scripts
 * ask for. The shell passes the words of the command line and the number of the cursor's word. Everything
 * else is known here: verbs and options from their tables, values of options, and inside a schedule the
 * primitives, the program's stages and the loops of a stage. */
#include <ctype.h>

#include "schedule/primitives.h"
#include "tools/tools.h"

static int run_raw(int argc, char **argv);

static const tools_option options[] = {TOOLS_OPTION_END};

const tools_verb tools_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print what makes a shell complete tenon's command lines",
    .details =
        "Give it to the shell that you use:\n"
        "  eval \"$(tenon completion bash)\"         in ~/.bashrc\n"
        "  eval \"$(tenon completion zsh)\"          in ~/.zshrc, behind compinit\n"
        "  tenon completion fish | source          in ~/.config/fish/config.fish\n"
        "\n"
        "Verbs, options and the values of options are completed, and inside --schedule the primitives, the stages of\n"
        "the program that stands on the line, and the loops that a stage has at that place of the schedule.",
    .examples = "tenon completion bash >tenon-completion.bash",
    .options = options,
    .run_raw = run_raw,
};

/* The script for each shell. It calls `tenon completion --at N -- WORDS` and offers the lines that come back. */
static const struct {
  const char *name, *text;
} shells[] = {
    {"bash",
     "_tenon() {\n"
     "  local IFS=$'\\n'\n"
     "  COMPREPLY=($(tenon completion --at \"$COMP_CWORD\" -- \"${COMP_WORDS[@]}\" 2>/dev/null))\n"
     "  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != *\"(\" ]] || compopt -o nospace 2>/dev/null\n"
     "}\n"
     "COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}\n"
     "complete -o default -F _tenon tenon\n"},
    {"zsh",
     "_tenon() {\n"
     "  local -a found\n"
     "  found=(${(f)\"$(tenon completion --at $((CURRENT - 1)) -- \"${(@Q)words}\" 2>/dev/null)\"})\n"
     "  if (( ${#found} )); then compadd -Q -S '' -- $found; else _files; fi\n"
     "}\n"
     "compdef _tenon tenon\n"},
    {"fish",
     "complete -c tenon -f -k -a '(tenon completion --at (count (commandline -opc)) -- (commandline -opc) (commandline "
     "-ct))'\n"
     "complete -c tenon -F -n 'test (count (commandline -opc)) -gt 1'\n"},
};

/* ---- candidates: each is printed on a line of its own ------------------------------------------------------------ */

/* The word at the cursor, in two parts: KEPT is repeated as it is, PART is what a candidate has to begin with. */
typedef struct cursor {
  const char *kept; /* of the word, before the part that is completed */
  size_t n_kept;
  const char *part;
} cursor;

/* Prints CANDIDATE, with the kept text before it, if it begins with what was typed: shells replace the whole word. */
static void offer(const cursor *at, const char *candidate, const char *behind) {
  if (strncmp(candidate, at->part, strlen(at->part)) == 0)
    printf("%.*s%s%s\n", (int)at->n_kept, at->kept, candidate, behind);
}

/* Offers each of WORDS, which blanks separate. */
static void offer_words(const cursor *at, const char *words) {
  char word[64];
  for (const char *w = words; *w; w += strspn(w, " ")) {
    size_t n = strcspn(w, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, w);
    offer(at, word, "");
    w += n;
  }
}

/* Options whose values are fixed words. */
static const struct {
  const char *verb, *option, *words; /* verb "": every verb that has this option */
} values[] = {
    {"show", "emit", "tir tree tvmscript text steps api program llvm asm c header html"},
    {"bench", "vs", "onednn openblas blis default auto log:"},
    {"tune", "effort", "quick normal thorough"},
    {"tune", "schedule", "gradient round-robin"},
    {"tune", "objective", "latency geomean"},
    {"log", "sort", "cost line time program"},
    {"log", "from", "tvm"},
    {"log", "to", "tvm"},
    {"", "part", "whole prepack packed"},
};

/* Offers the words of the option's row, if there is one for this verb. */
static bool offer_values(const tools_verb *verb, const tools_option *option, const cursor *at) {
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    if (strcmp(values[i].option, option->name) != 0 || (*values[i].verb && strcmp(values[i].verb, verb->name) != 0))
      continue;
    offer_words(at, values[i].words);
    return true;
  }
  return false;
}

/* Offers what a target's text may hold. Names of processors follow only on "cpu=": there are some hundred of them. */
static void offer_target(const cursor *at) {
  tools_session session;
  tools_args none = {0};
  bool is_cpu = strncmp(at->part, "cpu=", 4) == 0;
  cursor inside = {at->kept, at->n_kept + 4, at->part + 4};
  if (!is_cpu) offer_words(at, "cpu= threads= triple= features=");
  if (is_cpu && tools_open(&session, &none)) {
    for (int i = 0; tn_target_known_cpu(session.target, i); ++i)
      offer(&inside, tn_target_known_cpu(session.target, i), "");
    tools_close(&session);
  }
}

/* ---- inside a schedule ------------------------------------------------------------------------------------------- */

/* Offers the primitive's word, the beginning of a usage such as "split(stage, ...)". USAGE NULL: the row is
 * no word of schedule text. */
static void offer_primitive(const cursor *at, const char *usage) {
  char word[48];
  if (!usage) return;
  snprintf(word, sizeof word, "%.*s", (int)strcspn(usage, "("), usage);
  offer(at, word, "(");
}

/* Offers all primitives from the library's own table, so a new primitive needs no line here. */
static void offer_primitives(const cursor *at) {
#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about) offer_primitive(at, usage);
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about) offer_primitive(at, usage);
#define COMPOSED(name, word, arguments, keys, usage, about) offer_primitive(at, usage);
  SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
  offer(at, "auto", "");
}

/* Offers the loops that a stage has under the schedule so far. */
static void offer_loops(tn_schedule *schedule, const char *stage, const cursor *at) {
  enum { MOST = 64 };
  tn_loop loops[MOST];
  int n = tn_schedule_loops(schedule, stage, MOST, loops);
  for (int i = 0; i < n && i < MOST; ++i) offer(at, loops[i].name, "");
}

/* Offers arguments. STATEMENT is `primitive(stage, ...` up to the cursor. The first argument is a stage,
 * the later ones are its loops, or stages. */
static void offer_arguments(tn_schedule *schedule, const char *statement, const cursor *at) {
  char stage[128] = "";
  const char *first = strchr(statement, '(') + 1, *comma = strchr(first, ',');
  first += strspn(first, " ");
  if (comma && comma < at->part) {
    snprintf(stage, sizeof stage, "%.*s", (int)RUNTIME_MIN((size_t)(comma - first), sizeof stage - 1), first);
    offer_loops(schedule, stage, at);
  }
  bool takes_stages = !*stage || strncmp(statement, "compute", 7) == 0 || strncmp(statement, "cache", 5) == 0;
  for (int i = 0; takes_stages && i < tn_schedule_stage_count(schedule); ++i)
    offer(at, tn_schedule_stage_name(schedule, i), "");
}

/* The schedule before the statement that the cursor is in. What the statements before cannot do is ignored. */
static tn_schedule *schedule_before(tools_session *session, const char *text, const char *statement) {
  tn_schedule *schedule = tn_schedule_new(session->program);
  runtime_str before = {0};
  runtime_str_addf(&before, "%.*s", (int)(statement - text), text);
  if (schedule && !before.failed && before.n > 0 && tn_schedule_apply(schedule, before.data) != TN_OK)
    tn_context_clear(session->ctx);
  runtime_str_free(&before);
  return schedule;
}

/* Completes a schedule's text: a primitive, or names of stages and loops as they are after the statements before. */
static void offer_schedule(const tools_args *args, const char *text) {
  const char *statement = text, *part = text + strlen(text);
  for (const char *c = text; *c; ++c)
    if (*c == ';') statement = c + 1;
  statement += strspn(statement, " ");
  while (part > statement && (isalnum((unsigned char)part[-1]) || part[-1] == '_' || part[-1] == '.')) --part;
  cursor at = {text, (size_t)(part - text), part};
  if (!strchr(statement, '(')) {
    offer_primitives(&at);
    return;
  }
  tools_session session = {0};
  if (args->n_operands == 0 || !tools_open(&session, args)) return;
  session.is_muted = true;
  tn_schedule *schedule =
      tools_load(&session, args, args->operands[0]) ? schedule_before(&session, text, statement) : NULL;
  if (schedule) offer_arguments(schedule, statement, &at);
  tools_close(&session);
}

/* ---- the line ---------------------------------------------------------------------------------------------------- */

/* The option that WORD is, short or long and without "="; NULL: none. */
static const tools_option *option_of(const tools_verb *verb, const char *word) {
  for (const tools_option *o = verb->options; o && o->name; ++o) {
    if (word[0] == '-' && o->letter && word[1] == o->letter && word[2] == '\0') return o;
    if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) return o;
  }
  return NULL;
}

/* Reads the first operand and the params, as far as the line is typed: all that completing a schedule needs. */
static void read_line(const tools_verb *verb, int n, char **words, int cursor_at, tools_args *out) {
  *out = (tools_args){.verb = verb};
  for (int i = 2; i < n; ++i) {
    const tools_option *option = option_of(verb, words[i]);
    if (option && option->kind == TOOLS_PARAM && i + 1 < n) (void)tools_take_param(words[i + 1], out);
    if (option && option->kind != TOOLS_FLAG)
      ++i;
    else if (!option && words[i][0] != '-' && i != cursor_at && out->n_operands == 0)
      out->operands[out->n_operands++] = words[i];
  }
}

/* Offers the verb's options and those that every verb has. */
static void offer_options(const tools_verb *verb, const cursor *at) {
  char name[64];
  for (const tools_option *o = verb->options; o && o->name; ++o) {
    snprintf(name, sizeof name, "--%s", o->name);
    offer(at, name, "");
  }
  offer(at, "--color", "");
  offer(at, "--help", "");
}

/* Completes an option's value: a schedule, a list with commas, or one value. A quote that opens the word is
 * not compared. */
static void complete_value(const tools_verb *verb, const tools_option *option, const tools_args *args,
                           const char *word) {
  cursor at = {word, 0, word};
  size_t quote = *word == '\'' || *word == '"';
  if (option->field == offsetof(tools_args, schedule)) {
    offer_schedule(args, word + quote);
    return;
  }
  const char *comma = strrchr(word, ',');
  if (comma) at = (cursor){word, (size_t)(comma + 1 - word), comma + 1};
  if (offer_values(verb, option, &at)) return;
  const char *blank = strrchr(word, ' ');
  at = blank ? (cursor){word, (size_t)(blank + 1 - word), blank + 1} : (cursor){word, quote, word + quote};
  if (option->field == offsetof(tools_args, target)) offer_target(&at);
}

/* Completes word AT of the line. A line that does not parse offers nothing, and nothing prints a message. */
static void complete(int n, char **words, int at) {
  const char *word = at < n ? words[at] : "";
  cursor here = {word, 0, word};
  if (at <= 1) {
    for (int i = 0; tools_verb_at(i); ++i) offer(&here, tools_verb_at(i)->name, "");
    return;
  }
  const tools_verb *verb = tools_find_verb(words[1]);
  if (!verb) return;
  const tools_option *before = option_of(verb, words[at - 1]);
  tools_args args;
  read_line(verb, n, words, at, &args);
  const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
  if (before && before->kind != TOOLS_FLAG)
    complete_value(verb, before, &args, word);
  else if (*word == '-' && !equals)
    offer_options(verb, &here);
  else if (verb == &tools_completion)
    offer_words(&here, "bash zsh fish");
  else if (strcmp(verb->name, "help") == 0)
    for (int i = 0; tools_verb_at(i); ++i) offer(&here, tools_verb_at(i)->name, "");
  else if (strcmp(verb->name, "log") == 0 && at == 2)
    offer_words(&here, "best top list show stats curve report check merge compact export import");
}

/* `completion SHELL` prints the shell's script; `completion --at N -- WORDS` is what the script calls. */
static int run_raw(int argc, char **argv) {
  if (argc == 2) {
    int shell = RUNTIME_FIND(shells, argv[1]);
    if (shell >= 0) return fputs(shells[shell].text, stdout), TOOLS_OK;
    return tools_usage(&tools_completion, "there are completions for bash, zsh and fish, not for '%s'", argv[1]);
  }
  if (argc < 4 || strcmp(argv[1], "--at") != 0 || strcmp(argv[3], "--") != 0)
    return tools_usage(&tools_completion, "which shell? bash, zsh or fish");
  complete(argc - 4, argv + 4, atoi(argv[2]));
  return TOOLS_OK;
}
