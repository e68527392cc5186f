/* format_read.c: the first half of tn_format: splits a text into pieces, and finds the bracket, statement
 * and element of each. */
#include <ctype.h>

#include "te/format.h"
#include "te/language.h"

enum { MAX_NESTING = 1000 };

bool te_format_is(const format_piece *p, const char *text) {
  return p->kind <= FORMAT_SYMBOL && (size_t)p->length == strlen(text) && memcmp(p->at, text, (size_t)p->length) == 0;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* Whether at[n] is the sign of a number's exponent, as in 1e-5. */
static bool is_exponent_sign(const char *at, int n) {
  bool is_sign = n > 0 && (at[n] == '+' || at[n] == '-') && (at[n - 1] == 'e' || at[n - 1] == 'E');
  return is_sign && (isdigit((unsigned char)*at) || *at == '.') && isdigit((unsigned char)at[n + 1]);
}

/* The length of a name or number from its first character; 1e-5 is one word. */
static int word_length(const char *at) {
  int n = 0;
  while (is_word_char(at[n]) || is_exponent_sign(at, n)) n++;
  return n;
}

/* The length of the longest symbol that begins here; 0: none. */
static int symbol_length(const char *at) {
  static const char *const pairs[] = {"//", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "->"};
  for (int i = 0; i < RUNTIME_COUNT(pairs); i++)
    if (strncmp(at, pairs[i], 2) == 0) return 2;
  return strchr("[](){},=<>+-*/%!:&|^~", *at) ? 1 : 0;
}

/* The length of a comment without blanks at its end. */
static int comment_length(const char *at) {
  int n = (int)strcspn(at, "\n");
  while (n > 0 && isspace((unsigned char)at[n - 1])) n--;
  return n;
}

/* The length of a string with its quotes; 0: it is not closed on its line. */
static int string_length(const char *at) {
  int n = 1 + (int)strcspn(at + 1, "\"\n");
  return at[n] == '"' ? n + 1 : 0;
}

/* The piece that begins at AT; its length is 0 if none does. */
static format_piece piece_at(const char *at) {
  if (*at == '\n') return (format_piece){.kind = FORMAT_BREAK, .at = at, .length = 1};
  if (*at == ';') return (format_piece){.kind = FORMAT_SEMICOLON, .at = at, .length = 1};
  if (*at == '#') return (format_piece){.kind = FORMAT_COMMENT, .at = at, .length = comment_length(at)};
  if (*at == '"') return (format_piece){.kind = FORMAT_STRING, .at = at, .length = string_length(at)};
  if (is_word_char(*at)) return (format_piece){.kind = FORMAT_WORD, .at = at, .length = word_length(at)};
  return (format_piece){.kind = FORMAT_SYMBOL, .at = at, .length = symbol_length(at)};
}

/* Reports the line and shows the place. Always false, for the caller to return. */
static bool fail_at(const format_text *f, const char *at, const char *why) {
  runtime_fail_at(f->ctx, "format error at", f->text, at, "%s", why);
  return false;
}

/* Always false, for the caller to return. */
static bool fail_memory(const format_text *f) {
  runtime_fail(f->ctx, TN_ERROR_MEMORY, "out of memory");
  return false;
}

/* Splits the text into pieces. Blanks are dropped, but columns are kept, since comments that were aligned
 * stay so. False after a message: an open quote, a character that no text has, no memory. */
static bool read_pieces(format_text *f) {
  const char *line = f->text;
  for (const char *at = f->text; *at;) {
    if (*at == ' ' || *at == '\t' || *at == '\r') {
      at++;
      continue;
    }
    format_piece p = piece_at(at);
    if (p.length == 0) return fail_at(f, at, *at == '"' ? "this quote is not closed" : "no text has this character");
    p.column = (int)(at - line);
    p.open = p.mate = -1;
    if (!RUNTIME_PUSH(&f->pieces, p)) return fail_memory(f);
    at += p.length;
    if (p.kind == FORMAT_BREAK) line = at;
  }
  return true;
}

int te_format_before(const format_text *f, int i) {
  for (i--; i >= 0; i--)
    if (te_format_is_token(&f->pieces.data[i])) return i;
  return -1;
}

int te_format_behind(const format_text *f, int i) {
  for (i++; i < f->pieces.n; i++)
    if (te_format_is_token(&f->pieces.data[i])) return i;
  return -1;
}

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

static bool opens(const format_piece *p) { return p->kind == FORMAT_SYMBOL && strchr("([{", *p->at); }
static bool closes(const format_piece *p) { return p->kind == FORMAT_SYMBOL && strchr(")]}", *p->at); }
static char closing_of(const format_piece *open) { return *open->at == '(' ? ')' : *open->at == '[' ? ']' : '}'; }

/* Whether the text is a schedule: that begins with a call, and a program with something else. */
static bool begins_as_schedule(const format_text *f) {
  int first = te_format_behind(f, -1), second = first < 0 ? -1 : te_format_behind(f, first);
  if (second < 0 || f->pieces.data[first].kind != FORMAT_WORD) return false;
  const format_piece *p = &f->pieces.data[first];
  return !te_format_is(p, "scan") && !te_format_is(p, "extern") && te_format_is(&f->pieces.data[second], "(");
}

/* Whether a bracket holds indices or extents. Parentheses within those do too; the source of a reduction,
 * behind its axes, does not. */
static bool holds_indices(const format_text *f, const format_piece *p, int before) {
  if (*p->at != '(') return *p->at == '[';
  bool is_source = before >= 0 && te_format_is(&f->pieces.data[before], "]");
  return !is_source && p->open >= 0 && f->pieces.data[p->open].is_index;
}

/* Closes the innermost open bracket. False: it is of another kind. */
static bool close_bracket(format_text *f, int i, int *open) {
  format_piece *p = &f->pieces.data[i];
  if (*open < 0 || closing_of(&f->pieces.data[*open]) != *p->at)
    return fail_at(f, p->at, "nothing that this closes is open");
  p->mate = *open;
  f->pieces.data[*open].mate = i;
  *open = f->pieces.data[*open].open;
  return true;
}

/* Sets the mates of brackets. Both brackets of a pair count as outside of it. */
static bool match_brackets(format_text *f) {
  bool is_schedule = begins_as_schedule(f);
  int open = -1, depth = 0;
  for (int i = 0; i < f->pieces.n; i++) {
    format_piece *p = &f->pieces.data[i];
    if (closes(p)) {
      if (!close_bracket(f, i, &open)) return false;
      is_schedule = f->pieces.data[p->mate].is_schedule;
      depth--;
    }
    p->open = open;
    p->is_schedule = is_schedule;
    if (open >= 0) f->pieces.data[open].n_tokens += te_format_is_token(p);
    if (open >= 0) f->pieces.data[open].n_commas += te_format_is(p, ",");
    if (!opens(p)) continue;
    if (++depth > MAX_NESTING) return fail_at(f, p->at, "brackets are nested too deeply");
    int before = te_format_before(f, i);
    p->is_index = holds_indices(f, p, before);
    if (*p->at == '{') is_schedule = before >= 0 && te_format_is(&f->pieces.data[before], "schedule");
    open = i;
  }
  return open < 0 || fail_at(f, f->pieces.data[open].at, "this is never closed");
}

/* ---- statements and groups --------------------------------------------------------------------------------------- */

/* Whether an operand can end with the piece: then an operator after it is a binary one. */
static bool ends_operand(const format_piece *p) {
  static const char *const words[] = {"where", "init", "identity", "output", "input", "param", "scalar", "symbol"};
  if (p->kind == FORMAT_SYMBOL) return closes(p);
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (te_format_is(p, words[i])) return false;
  return true;
}

bool te_format_goes_on(const format_piece *p) {
  return p->is_binary || te_format_is(p, ",") || te_format_is(p, "=") || te_format_is(p, "->");
}

/* Whether a statement continues at piece I: inside parentheses or brackets, or after an operator, a comma
 * or an equals sign. */
static bool goes_on(const format_text *f, int i) {
  const format_piece *p = &f->pieces.data[i];
  int before = te_format_before(f, i);
  if (p->open >= 0 && *f->pieces.data[p->open].at != '{') return true;
  if (before < 0) return false;
  for (int k = before + 1; k < i; k++)
    if (f->pieces.data[k].kind == FORMAT_SEMICOLON) return false;
  return te_format_goes_on(&f->pieces.data[before]);
}

/* Whether the piece ends a group: operators after it do not count for those before. */
static bool separates(const format_piece *p) {
  static const char *const words[] = {",", "=", "->", ":", "where", "init"};
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (te_format_is(p, words[i])) return true;
  return opens(p) || p->kind == FORMAT_SEMICOLON;
}

/* Counts what decides how close the operators of a group stand (is_close in format_blank.c). */
static void count(format_group *g, const format_piece *p) {
  static const int less = 3, plus = 8; /* levels of te/language.c: comparisons; sums and bits up to this one */
  const te_infix *infix = p->is_binary ? te_find_infix_text(p->at, (size_t)p->length) : NULL;
  g->n_brackets += opens(p);
  if (!infix) return;
  g->n_comparisons += infix->precedence <= less;
  g->n_sums += infix->precedence > less && infix->precedence <= plus;
  g->n_products += infix->precedence > plus;
}

/* The state of the walk over all pieces. */
typedef struct walk {
  int statement, group;
  bool begins_statement, begins_group;
} walk;

/* Sets statement and group of a token. A closing bracket belongs to those of its opening one. */
static bool place_token(format_text *f, walk *w, int i) {
  format_piece *p = &f->pieces.data[i];
  int before = te_format_before(f, i);
  if (closes(p)) {
    const format_piece *open = &f->pieces.data[p->mate];
    *w = (walk){.statement = open->statement, .group = open->group};
  }
  if (w->begins_statement) *w = (walk){.statement = i, .begins_group = true};
  p->is_binary = p->kind == FORMAT_SYMBOL && w->statement != i && before >= 0 &&
                 ends_operand(&f->pieces.data[before]) && te_find_infix_text(p->at, (size_t)p->length) != NULL;
  if (w->begins_group && !RUNTIME_PUSH(&f->groups, (format_group){0})) return fail_memory(f);
  if (w->begins_group) w->group = f->groups.n - 1;
  w->begins_group = false;
  count(&f->groups.data[w->group], p);
  return true;
}

/* Sets statement and group of every piece, and for every line's end whether the statement continues after
 * it. False: no memory. */
static bool set_groups(format_text *f) {
  walk w = {.begins_statement = true};
  for (int i = 0; i < f->pieces.n; i++) {
    format_piece *p = &f->pieces.data[i];
    bool in_parentheses = p->open >= 0 && *f->pieces.data[p->open].at != '{';
    if (te_format_is_token(p) && !place_token(f, &w, i)) return false;
    p->statement = w.statement;
    p->group = w.group;
    if (p->kind == FORMAT_BREAK) p->continues = goes_on(f, i);
    w.begins_group |= separates(p);
    w.begins_statement |= (p->kind == FORMAT_SEMICOLON && !in_parentheses) ||
                          (p->kind == FORMAT_BREAK && !p->continues) || te_format_is(p, "{");
  }
  return true;
}

bool te_format_read(format_text *f) { return read_pieces(f) && match_brackets(f) && set_groups(f); }
