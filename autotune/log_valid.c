/* log_valid.c: decides whether a line is a whole record without allocating anything: the quick half of
 * `tenon log check`. A line that it accepts is also accepted by jansson and autotune_record_parse. It does
 * not judge the rest of JSON (unusual escapes, characters beyond ASCII, long numbers, objects of many
 * fields); such a line is parsed. */
#include <string.h>

#include "autotune/log.h"

/* Deeper values and larger objects are not judged. */
enum { MOST_DEPTH = 32, MOST_NAMES = 48 };

/* What is left of the line. */
typedef struct scan {
  const char *at, *end;
  int depth;
} scan;

static bool scan_value(scan *s, char *kind);

/* The next character that is no blank; 0: the line has ended. */
static char peek(scan *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')) ++s->at;
  return s->at < s->end ? *s->at : '\0';
}

static bool take(scan *s, char c) {
  if (peek(s) != c) return false;
  ++s->at;
  return true;
}

/* Scans a string from behind its first quote. *IS_PLAIN: it has no escapes. */
static bool scan_text(scan *s, bool *is_plain) {
  *is_plain = true;
  for (; s->at < s->end; ++s->at) {
    unsigned char c = (unsigned char)*s->at;
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') continue;
    if (c == '"') return ++s->at, true;
    if (c != '\\') return false;
    *is_plain = false;
    if (++s->at == s->end || !strchr("\"\\/bfnrt", *s->at)) return false;
  }
  return false;
}

/* Scans at least one digit; *N is how many. */
static bool scan_digits(scan *s, int *n) {
  for (*n = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; ++s->at) ++*n;
  return *n > 0;
}

/* KIND becomes 'i' or 'f'. Numbers that might be out of range are not judged. */
static bool scan_number(scan *s, char *kind) {
  enum { MOST_DIGITS = 18, MOST_EXPONENT_DIGITS = 2 };
  int n;
  s->at += *s->at == '-';
  bool is_zero = s->at < s->end && *s->at == '0';
  *kind = 'i';
  if (!scan_digits(s, &n) || n > MOST_DIGITS || (is_zero && n > 1)) return false;
  if (s->at < s->end && *s->at == '.') {
    ++s->at, *kind = 'f';
    if (!scan_digits(s, &n)) return false;
  }
  if (s->at == s->end || (*s->at != 'e' && *s->at != 'E')) return true;
  ++s->at, *kind = 'f';
  s->at += s->at < s->end && (*s->at == '-' || *s->at == '+');
  return scan_digits(s, &n) && n <= MOST_EXPONENT_DIGITS;
}

static bool scan_word(scan *s, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
  s->at += n;
  return true;
}

static bool scan_array(scan *s) {
  char kind;
  ++s->at;
  if (take(s, ']')) return true;
  do
    if (!scan_value(s, &kind)) return false;
  while (take(s, ','));
  return take(s, ']');
}

/* Scans a field's name, which must differ from the N before it. NAMES has room for it. */
static bool scan_name(scan *s, int n, log_span *names) {
  bool is_plain;
  if (n == MOST_NAMES || !take(s, '"')) return false;
  const char *begin = s->at;
  if (!scan_text(s, &is_plain) || !is_plain) return false;
  names[n] = (log_span){begin, (size_t)(s->at - 1 - begin)};
  for (int i = 0; i < n; ++i)
    if (names[i].n == names[n].n && log_same_bytes(names[i].at, begin, names[n].n)) return false;
  return take(s, ':');
}

static bool has_name(int n, const log_span *names, const char *name) {
  for (int i = 0; i < n; ++i)
    if (log_span_is(&names[i], name)) return true;
  return false;
}

/* Scans an object. IS_RECORD: its fields have to be of a record's kinds; a glance has already found all
 * required fields but one. */
static bool scan_object(scan *s, bool is_record) {
  log_span names[MOST_NAMES];
  int n = 0;
  char kind;
  ++s->at;
  if (take(s, '}')) return true;
  do {
    if (!scan_name(s, n, names) || !scan_value(s, &kind)) return false;
    if (is_record && !autotune_record_takes(names[n].at, names[n].n, kind)) return false;
    ++n;
  } while (take(s, ','));
  return take(s, '}') && (!is_record || has_name(n, names, "checked"));
}

/* Scans any value. KIND becomes '"', '[', '{', 'i', 'f', 't' (true or false) or 'n'. */
static bool scan_value(scan *s, char *kind) {
  bool is_plain, ok;
  char c = peek(s);
  if (s->depth == MOST_DEPTH) return false;
  *kind = c;
  ++s->depth;
  if (c == '"')
    ++s->at, ok = scan_text(s, &is_plain);
  else if (c == '[')
    ok = scan_array(s);
  else if (c == '{')
    ok = scan_object(s, false);
  else if (c == 't' || c == 'f')
    ok = scan_word(s, c == 't' ? "true" : "false"), *kind = 't';
  else if (c == 'n')
    ok = scan_word(s, "null");
  else
    ok = (c == '-' || (c >= '0' && c <= '9')) && scan_number(s, kind);
  --s->depth;
  return ok;
}

/* Whether costs such as "[1.2e-3,0.4]" are positive numbers, and not more than a record may have. */
static bool has_good_costs(const log_glance *glance) {
  scan s = {glance->costs.at + 1, glance->costs.at + glance->costs.n, 0};
  char kind;
  int n = 0;
  if (take(&s, ']')) return !log_span_is(&glance->error, "none");
  do {
    peek(&s);
    const char *begin = s.at;
    if (++n > TN_MAX_COSTS || !scan_value(&s, &kind) || (kind != 'i' && kind != 'f')) return false;
    size_t digits = strcspn(begin, "eE,]");
    if (*begin == '-' || strspn(begin, "0.") >= digits) return false; /* 0.0, or 0e7 */
  } while (take(&s, ','));
  return take(&s, ']');
}

bool log_is_valid(const char *line, size_t n, const log_glance *glance) {
  scan s = {line, line + n, 0};
  char word[32];
  tn_measure_error error;
  if (glance->error.n >= sizeof word || peek(&s) != '{') return false;
  log_copy(&glance->error, word, sizeof word);
  return autotune_parse_error(word, &error) && has_good_costs(glance) && scan_object(&s, true) && peek(&s) == '\0' &&
         s.at == s.end;
}
