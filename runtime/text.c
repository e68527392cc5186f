/* text.c: text in and out for the parsers and printers above: failures with the line and a caret, the
 * distance between words, and floats independent of the program's locale. Nothing here allocates; texts are
 * in the caller's buffers. */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>

#include "runtime/base.h"

/* ---- failing at a place of a text -------------------------------------------------------------------------------- */

/* An excerpt shows at most EXCERPT_HALF bytes before and after a place in a line. */
enum { EXCERPT_HALF = 60, EXCERPT_BYTES = 2 * EXCERPT_HALF + 16 };

/* The part of a source line around a place, and the blanks that put a caret under it. */
typedef struct excerpt {
  int line, column; /* from 1; a column is a character */
  char text[EXCERPT_BYTES];
  char blanks[EXCERPT_BYTES];
} excerpt;

/* In UTF-8 only the first byte of a character takes a column. */
static bool is_continuation_byte(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* An error at the end of the text is shown after the last thing there. */
static const char *shown_place(const char *text, const char *at) {
  if (*at != '\0') return at;
  while (at > text && isspace((unsigned char)at[-1])) at--;
  return at;
}

/* Copies a part of the line, and makes the blanks up to the place; tabs stay tabs. */
static void excerpt_fill(excerpt *e, const char *from, const char *to, const char *at) {
  size_t n = 0, n_blanks = 0;
  for (const char *p = from; p < to && n + 1 < sizeof e->text; p++) {
    bool is_control = (unsigned char)*p < ' ' && *p != '\t';
    e->text[n++] = is_control ? ' ' : *p;
    if (p < at && !is_continuation_byte(*p)) e->blanks[n_blanks++] = *p == '\t' ? '\t' : ' ';
  }
}

/* Shows EXCERPT_HALF bytes on either side at most, and never cuts inside a character. */
static excerpt excerpt_of(const char *text, const char *place) {
  excerpt e = {.line = 1, .column = 1};
  const char *at = shown_place(text, place), *start = at, *end = at;
  while (start > text && start[-1] != '\n') start--;
  while (*end != '\0' && *end != '\n') end++;
  for (const char *p = text; p < start; p++) e.line += *p == '\n';
  for (const char *p = start; p < at; p++) e.column += !is_continuation_byte(*p);
  if (at - start > EXCERPT_HALF) start = at - EXCERPT_HALF;
  if (end - at > EXCERPT_HALF) end = at + EXCERPT_HALF;
  while (start < at && is_continuation_byte(*start)) start++;
  while (end > at && is_continuation_byte(*end)) end--;
  excerpt_fill(&e, start, end, at);
  return e;
}

tn_status runtime_fail_at(tn_context *ctx, const char *what, const char *text, const char *at, const char *fmt, ...) {
  char why[2048];
  RUNTIME_PRINT_ARGS(why, fmt);
  excerpt e = excerpt_of(text, at);
  return runtime_fail(ctx, TN_ERROR_PARSE, "%s line %d, column %d: %s\n%s\n%s^", what, e.line, e.column, why, e.text,
                      e.blanks);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

enum { COMPARED = 31 }; /* only so many characters of a word count */

/* One row of the usual table is enough: ROW[j] is the distance of A's first i characters from B's first j. */
int runtime_edit_distance(const char *a, const char *b) {
  int row[COMPARED + 1], na = (int)strnlen(a, COMPARED), nb = (int)strnlen(b, COMPARED);
  for (int j = 0; j <= nb; j++) row[j] = j;
  for (int i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = RUNTIME_MIN(change, 1 + RUNTIME_MIN(row[j], row[j - 1]));
    }
  }
  return row[nb];
}

/* Words of four letters or more may differ in at most 2 characters, shorter ones in fewer: otherwise
 * everything would be close to a word of two letters. */
runtime_nearest runtime_nearest_to(const char *typed) {
  return (runtime_nearest){.typed = typed, .distance = RUNTIME_MIN(3, (int)strlen(typed) / 2 + 1)};
}

void runtime_nearest_offer(runtime_nearest *nearest, const char *word) {
  int distance = runtime_edit_distance(nearest->typed, word);
  if (distance >= nearest->distance) return;
  nearest->word = word;
  nearest->distance = distance;
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* The calling thread's locale, replaced for a while by the C locale, in which the decimal point is a point. */
typedef struct c_locale {
  locale_t c, old;
} c_locale;

/* Changes the thread's locale, not the process's, so that other threads of the host are not affected.
 * Without memory for a locale nothing changes, and numbers follow the host's. */
static c_locale enter_c_locale(void) {
  c_locale at = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (at.c) at.old = uselocale(at.c);
  return at;
}

/* Restores the thread's locale if enter_c_locale has changed it. */
static void leave_c_locale(c_locale at) {
  if (!at.c) return;
  uselocale(at.old);
  freelocale(at.c);
}

/* Follows strtod, including hexadecimal floats, "inf" and "nan"; sets *END like strtod. */
double runtime_parse_float(const char *text, char **end) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double value = c ? strtod_l(text, end, c) : strtod(text, end);
  if (c) freelocale(c);
  return value;
}

/* Whether TEXT is read as VALUE, both by readers that round it to f32 directly (C) and by those that round
 * twice (te). */
static bool reads_back(const char *text, double value, tn_dtype dtype) {
  if (dtype == TN_F32 && strtof(text, NULL) != (float)value) return false;
  return runtime_rounded(dtype, strtod(text, NULL)) == runtime_rounded(dtype, value);
}

/* Uses the thread's locale. */
static void shortest(char text[RUNTIME_FLOAT_TEXT], double value, tn_dtype dtype) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, RUNTIME_FLOAT_TEXT, "%.*g", digits, value);
    if (reads_back(text, value, dtype)) return;
  }
}

/* Takes at most 17 tries, since 17 digits represent every double. A NaN loses its payload, which no text has. */
const char *runtime_float_text(char text[RUNTIME_FLOAT_TEXT], double value, tn_dtype dtype) {
  c_locale c = enter_c_locale();
  if (value != value)
    snprintf(text, RUNTIME_FLOAT_TEXT, "nan");
  else
    shortest(text, value, dtype);
  leave_c_locale(c);
  return text;
}

int runtime_vsnprintf(char *text, size_t size, const char *fmt, va_list args) {
  c_locale c = enter_c_locale();
  int n = vsnprintf(text, size, fmt, args);
  leave_c_locale(c);
  return n;
}

int runtime_snprintf(char *text, size_t size, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = runtime_vsnprintf(text, size, fmt, args);
  va_end(args);
  return n;
}
