/* manual.c: manual pages, written from the tables that help is printed from: `tenon help --man [VERB]`. The
 * build writes one for the command and one for each verb. The form is man(7)'s. */
#include <ctype.h>

#include "tools/tools.h"

/* Writes text so that roff prints it as it is: no dash becomes a hyphen, no line is taken for a request. */
static void put(const char *text, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) fputs("\\&", stdout);
    if (text[i] == '\\')
      fputs("\\e", stdout);
    else if (text[i] == '-')
      fputs("\\-", stdout);
    else
      fputc(text[i], stdout);
  }
}

static void put_text(const char *text) { put(text, strlen(text)); }

/* Begins a page; VERB "": the command's own. There is no date, so that two builds write the same bytes. */
static void begin_page(const char *verb, const char *summary) {
  char upper[32];
  size_t n = 0;
  for (; verb[n] && n < sizeof upper - 1; ++n) upper[n] = (char)toupper((unsigned char)verb[n]);
  upper[n] = '\0';
  printf(".TH TENON%s%s 1 \"\" \"tenon %s\" \"Tenon\"\n.SH NAME\ntenon%s", *verb ? "\\-" : "", upper, TN_VERSION,
         *verb ? "\\-" : "");
  put_text(verb);
  fputs(" \\- ", stdout);
  put_text(summary);
  fputc('\n', stdout);
}

/* A section that is printed line by line as it stands (.nf): help is laid out by hand, with tables and examples. */
static void put_as_is(const char *title, const char *lines) {
  if (!lines) return;
  printf(".SH %s\n.nf\n", title);
  put_text(lines);
  fputs("\n.fi\n", stdout);
}

/* An option with its lines, printed as they stand. */
static void put_option(const tools_option *option) {
  fputs(".TP\n", stdout);
  if (option->letter) printf("\\fB\\-%c\\fR, ", option->letter);
  fputs("\\fB\\-\\-", stdout);
  put_text(option->name);
  fputs("\\fR", stdout);
  if (option->argument) printf(" \\fI%s\\fR", option->argument);
  fputs("\n.nf\n", stdout);
  put_text(option->help);
  fputs("\n.fi\n", stdout);
}

/* The section on exit statuses, the same for all verbs; tools.h names them. */
static void put_statuses(void) {
  fputs(
      ".SH EXIT STATUS\n0: all went well. 1: the work failed, and a message on standard error says why. 2: a wrong "
      "command line. "
      "130 and 143: stopped by SIGINT and SIGTERM.\n",
      stdout);
}

void tools_print_manual(const tools_verb *verb) {
  begin_page(verb->name, verb->summary);
  printf(".SH SYNOPSIS\n\\fBtenon ");
  put_text(verb->name);
  fputs("\\fR ", stdout);
  put_text(verb->operands);
  fputc('\n', stdout);
  put_as_is("DESCRIPTION", verb->details);
  const tools_option *option = verb->options; /* NULL of a verb that reads its line by itself: its details tell them */
  if (option && option->name) fputs(".SH OPTIONS\n", stdout);
  for (; option && option->name; ++option) put_option(option);
  if (verb->options && verb->options->name) put_option(&tools_color_option);
  put_as_is("EXAMPLES", verb->examples);
  put_statuses();
  fputs(".SH SEE ALSO\n.BR tenon (1)\n", stdout);
}

void tools_print_overview_manual(int n, const tools_verb *const *verbs, const char *about) {
  begin_page("", "tensor expressions, cut to fit the machine");
  fputs(".SH SYNOPSIS\n\\fBtenon\\fR \\fIVERB\\fR ...\n.SH VERBS\n", stdout);
  for (int i = 0; i < n; ++i) {
    fputs(".TP\n\\fB", stdout);
    put_text(verbs[i]->name);
    fputs("\\fR\n", stdout);
    put_text(verbs[i]->summary);
    fputc('\n', stdout);
  }
  put_as_is("DESCRIPTION", about);
  put_as_is("ENVIRONMENT", tools_environment);
  put_statuses();
  fputs(".SH SEE ALSO\n", stdout);
  for (int i = 0; i < n; ++i) printf(".BR tenon\\-%s (1)%s\n", verbs[i]->name, i + 1 < n ? "," : "");
}
