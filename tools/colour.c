/* colour.c: colours, where a person is looking: on a terminal, unless the environment or --color says
 * otherwise (https://no-color.org). The command runs once and in one thread, so what --color said may be
 * static. */
#include <unistd.h>

#include "tools/tools.h"

typedef enum when { AUTO, ALWAYS, NEVER } when;
static when chosen;

bool tools_choose_colour(const char *word) {
  static const char *const words[] = {[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
  int found = RUNTIME_FIND(words, word);
  if (found >= 0) chosen = (when)found;
  return found >= 0;
}

/* --color counts more than NO_COLOR. */
static bool has_colours(FILE *file) {
  const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if (chosen != AUTO) return chosen == ALWAYS;
  if ((no && *no) || (terminal && strcmp(terminal, "dumb") == 0)) return false;
  return isatty(fileno(file)) == 1;
}

/* The escape sequence of a tint; "" where FILE gets no colours. */
const char *tools_colour(FILE *file, tools_tint tint) {
  static const char *const codes[] = {
      [TOOLS_PLAIN] = "\033[0m",   [TOOLS_RED] = "\033[1;31m",  [TOOLS_GREEN] = "\033[32m",
      [TOOLS_YELLOW] = "\033[33m", [TOOLS_BLUE] = "\033[1;34m", [TOOLS_PURPLE] = "\033[35m"};
  return has_colours(file) ? codes[tint] : "";
}

/* The tint of a line's first word: the word says how a loop runs, and the name of a stage ends in a colon. */
static tools_tint tint_of(const char *word, size_t n) {
  static const struct {
    const char *word;
    tools_tint tint;
  } words[] = {
      {"parallel", TOOLS_PURPLE}, {"vectorize", TOOLS_GREEN}, {"unroll", TOOLS_YELLOW}, {"tensorize", TOOLS_RED}};
  for (int i = 0; i < RUNTIME_COUNT(words); ++i)
    if (strlen(words[i].word) == n && memcmp(word, words[i].word, n) == 0) return words[i].tint;
  return n > 0 && word[n - 1] == ':' ? TOOLS_BLUE : TOOLS_PLAIN;
}

/* Prints the loop tree, with the first word of each line in its tint, and frees it. Control characters of
 * the tree are replaced first. */
int tools_print_tree(char *tree) {
  if (!tree || !has_colours(stdout)) return tools_print_text(tree);
  for (const char *at = tools_plain(tree); *at;) {
    size_t blanks = strspn(at, " "), n = strcspn(at + blanks, " \n"), line = strcspn(at, "\n");
    tools_tint tint = tint_of(at + blanks, n);
    if (tint == TOOLS_PLAIN)
      printf("%.*s\n", (int)line, at);
    else
      printf("%*s%s%.*s%s%.*s\n", (int)blanks, "", tools_colour(stdout, tint), (int)n, at + blanks,
             tools_colour(stdout, TOOLS_PLAIN), (int)(line - blanks - n), at + blanks + n);
    at += line + (at[line] == '\n');
  }
  free(tree);
  return TOOLS_OK;
}
