/* lexer.c: splits the text form into tokens: names, numbers, symbols, ends of statements. Nothing is
 * copied: a token points into the text, which the caller keeps. */
#include "te/lexer.h"

#include <ctype.h>
#include <stdio.h>

/* Longer symbols come first, since the first that matches is taken. */
static const char *const symbols[] = {"//", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "[",
                                      "]",  "(",  ")",  ",",  "{",  "}",  "=",  "<",  ">",  "+",
                                      "-",  "*",  "/",  "%",  "!",  ":",  "&",  "|",  "^",  "~"};

/* Reports a failure. The parser takes no token after this one. */
static te_token broken(te_lexer *l, const char *at, const char *what) {
  l->site.at = at;
  te_fail(&l->site, TN_ERROR_PARSE, "%s", what);
  return (te_token){.kind = TE_TOKEN_BROKEN, .at = at};
}

/* Skips blanks, comments and, inside parentheses or brackets, newlines. */
static void skip_blanks(te_lexer *l) {
  for (;; l->next++) {
    if (*l->next == '#') l->next += strcspn(l->next, "\n");
    char c = *l->next;
    if (c != ' ' && c != '\t' && c != '\r' && !(c == '\n' && l->nesting > 0)) return;
  }
}

/* Takes the token that ends before END. */
static te_token take(te_lexer *l, te_token_kind kind, const char *end) {
  te_token token = {.kind = kind, .at = l->next, .length = (size_t)(end - l->next)};
  l->next = end;
  return token;
}

/* Names are meant to be ASCII: for bytes above 127 isalnum depends on the locale, which is "C" unless the
 * host program changed it. */
static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Where a name ends. A name may contain dots, as those of axes that split made (i.outer) do, but only in
 * conditions of a schedule. */
static const char *name_end(const te_lexer *l, const char *p) {
  while (is_name_char(*p) || (*p == '.' && (l->has_dots || isalpha((unsigned char)p[1])))) p++;
  return p;
}

/* Where a number ends; *IS_FLOAT: it has a fraction or an exponent. */
static const char *number_end(const char *p, bool *is_float) {
  while (isdigit((unsigned char)*p)) p++;
  *is_float = *p == '.';
  if (*p == '.')
    for (p++; isdigit((unsigned char)*p); p++) continue;
  const char *exponent = p + 1 + (p[0] != '\0' && (p[1] == '+' || p[1] == '-'));
  if ((*p != 'e' && *p != 'E') || !isdigit((unsigned char)*exponent)) return p;
  *is_float = true;
  for (p = exponent; isdigit((unsigned char)*p); p++) continue;
  return p;
}

/* Values up to 2^63 are accepted: one more than i64 holds, for its lowest value after a minus sign. */
static bool parse_digits(const char *p, const char *end, uint64_t *value) {
  for (*value = 0; p < end; p++)
    if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
      return false;
  return *value <= UINT64_C(1) << 63;
}

/* Reads a number without a sign, which is an operator. */
static te_token number(te_lexer *l) {
  bool is_float;
  const char *start = l->next, *end = number_end(start, &is_float);
  if (is_name_char(*end)) return broken(l, end, "a number runs into a name: put an operator or a blank between them");
  te_token token = take(l, is_float ? TE_TOKEN_FLOAT : TE_TOKEN_INT, end);
  if (is_float)
    token.value = runtime_parse_float(start, NULL);
  else if (!parse_digits(start, end, &token.magnitude))
    return broken(l, start, "the integer does not fit i64");
  if (is_float && token.value > 1.7976931348623157e308)
    return broken(l, start, "the number does not fit f64: write inf");
  return token;
}

/* What to write instead of a character that only other languages have. */
static const char *advice_on(unsigned char c) {
  switch (c) {
    case '?': return ": a choice is select(condition, x, y)";
    case '"':
    case '\'': return ": names are written without quotes";
    case '@': return ": a matrix product is sum[k<8](A[i,k] * B[k,j])";
    default: return "";
  }
}

/* Takes the longest symbol here, and counts opening and closing brackets. */
static te_token symbol(te_lexer *l) {
  for (int i = 0; i < RUNTIME_COUNT(symbols); i++) {
    size_t length = strlen(symbols[i]);
    if (strncmp(l->next, symbols[i], length) != 0) continue;
    if (strchr("[(", *l->next)) l->nesting++;
    if (strchr("])", *l->next) && l->nesting > 0) l->nesting--;
    return take(l, TE_TOKEN_SYMBOL, l->next + length);
  }
  char what[128];
  unsigned char c = (unsigned char)*l->next;
  if (c >= ' ' && c < 127)
    snprintf(what, sizeof what, "unexpected character '%c'%s", c, advice_on(c));
  else
    snprintf(what, sizeof what, "unexpected byte 0x%02x", c);
  return broken(l, l->next, what);
}

/* At the end of the text every further call gives the end again. */
te_token te_next_token(te_lexer *l) {
  skip_blanks(l);
  char c = *l->next;
  if (c == '\0') return take(l, TE_TOKEN_END, l->next);
  if (c == '\n' || c == ';') return take(l, TE_TOKEN_NEWLINE, l->next + 1);
  if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)l->next[1]))) return number(l);
  if (isalpha((unsigned char)c) || c == '_') return take(l, TE_TOKEN_NAME, name_end(l, l->next));
  return symbol(l);
}

/* Compares the whole word: "in" is not "input". */
bool te_token_is(const te_token *token, const char *text) {
  bool is_word = token->kind == TE_TOKEN_NAME || token->kind == TE_TOKEN_SYMBOL;
  return is_word && strlen(text) == token->length && memcmp(token->at, text, token->length) == 0;
}
