/* json.c: JSON text to values, one at a time from a stream, so that a trace of any length is read in little
 * memory. Numbers keep their text, so that times and 64-bit integers lose no digit. The depth is limited. */
#include "profile/files.h"

/* The state of parsing one value. It allocates in the caller's arena, which may be reset between values. */
typedef struct parser {
  profiler_in *in;
  runtime_arena *arena;
  const char *why;
  runtime_str text; /* the string or number being read */
} parser;

static profiler_json *parse_value(parser *p, int depth);

/* Keeps the first reason. Returns NULL, so that every function of this file can return it. */
static void *refuse(parser *p, const char *why) {
  if (!p->why) p->why = why;
  return NULL;
}

int profiler_json_peek(profiler_in *in) {
  int c = profiler_in_peek(in);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    profiler_in_get(in);
    c = profiler_in_peek(in);
  }
  return c;
}

/* Appends a byte. Lack of memory is checked when the text is taken. */
static void add_char(parser *p, int c) {
  char byte = (char)c;
  runtime_str_addn(&p->text, &byte, 1);
}

/* Moves the text into the arena. */
static char *take_text(parser *p) {
  char *text = p->text.failed ? NULL : runtime_strndup(p->arena, p->text.data ? p->text.data : "", p->text.n);
  p->text.n = 0;
  return text ? text : refuse(p, "out of memory");
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* C is below 0x110000 and not a surrogate, which read_unicode has checked. */
static void add_utf8(parser *p, uint32_t c) {
  if (c < 0x80) return add_char(p, (int)c);
  if (c < 0x800) return add_char(p, (int)(0xc0 | c >> 6)), add_char(p, (int)(0x80 | (c & 63)));
  if (c < 0x10000) add_char(p, (int)(0xe0 | c >> 12));
  if (c >= 0x10000) add_char(p, (int)(0xf0 | c >> 18)), add_char(p, (int)(0x80 | (c >> 12 & 63)));
  add_char(p, (int)(0x80 | (c >> 6 & 63)));
  add_char(p, (int)(0x80 | (c & 63)));
}

/* A refusal ends the whole document, so *OUT does not matter then. */
static bool read_hex4(parser *p, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; ++i) {
    int c = profiler_in_get(p->in);
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0) return refuse(p, "\\u needs four hexadecimal digits") != NULL;
    *out = *out << 4 | (uint32_t)digit;
  }
  return true;
}

/* Reads what follows \u. Half of a surrogate pair becomes U+FFFD, and so does U+0000, which a C string cannot hold. */
static bool read_unicode(parser *p) {
  uint32_t c, low;
  if (!read_hex4(p, &c)) return false;
  while (c >= 0xd800 && c < 0xdc00 && profiler_in_peek(p->in) == '\\') {
    profiler_in_get(p->in);
    if (profiler_in_get(p->in) != 'u') return refuse(p, "half a surrogate pair") != NULL;
    if (!read_hex4(p, &low)) return false;
    bool is_pair = low >= 0xdc00 && low < 0xe000;
    if (!is_pair) add_utf8(p, 0xfffd);
    c = is_pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : low;
  }
  add_utf8(p, c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
  return true;
}

/* Reads what follows a backslash. False after a refusal. */
static bool read_escape(parser *p) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  int c = profiler_in_get(p->in);
  if (c == 'u') return read_unicode(p);
  const char *at = c > 0 ? strchr(from, c) : NULL;
  if (!at) return refuse(p, "an escape that JSON does not have") != NULL;
  add_char(p, to[at - from]);
  return true;
}

/* Bytes above 127 are passed on unchanged; whoever writes them checks UTF-8. */
static char *parse_string(parser *p) {
  profiler_in_get(p->in);
  for (int c; (c = profiler_in_get(p->in)) != '"';) {
    if (c < 0) return refuse(p, "a string that does not end");
    if (c < 32) return refuse(p, "a control character in a string");
    if (c != '\\') add_char(p, c);
    if (c == '\\' && !read_escape(p)) return NULL;
  }
  return take_text(p);
}

char *profiler_json_string(profiler_in *in, runtime_arena *arena, const char **why) {
  parser p = {.in = in, .arena = arena};
  char *text = profiler_in_peek(in) == '"' ? parse_string(&p) : refuse(&p, "a string is expected");
  runtime_str_free(&p.text);
  *why = p.why;
  return text;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

/* False if there is no digit. Digits are kept as text; whoever asks converts them. */
static bool read_digits(parser *p) {
  size_t before = p->text.n;
  for (int c; (c = profiler_in_peek(p->in)) >= '0' && c <= '9';) add_char(p, profiler_in_get(p->in));
  return p->text.n > before;
}

/* Takes one of the two characters if it comes next. */
static bool read_one_of(parser *p, const char *either) {
  int c = profiler_in_peek(p->in);
  if (c <= 0 || !strchr(either, c)) return false;
  add_char(p, profiler_in_get(p->in));
  return true;
}

/* Strict: no leading '+', no hexadecimal, digits on both sides of the point. Leading zeros are accepted. */
static bool read_number(parser *p) {
  read_one_of(p, "-");
  if (!read_digits(p)) return false;
  if (read_one_of(p, ".") && !read_digits(p)) return false;
  if (!read_one_of(p, "eE")) return true;
  read_one_of(p, "+-");
  return read_digits(p);
}

/* Reads at most eight letters, so that a binary file that starts with letters is refused early. */
static profiler_json_kind parse_word(parser *p) {
  static const struct {
    const char *text;
    profiler_json_kind kind;
  } words[] = {{"null", PROFILER_JSON_NULL}, {"true", PROFILER_JSON_BOOL}, {"false", PROFILER_JSON_BOOL}};
  for (int c; (c = profiler_in_peek(p->in)) >= 'a' && c <= 'z' && p->text.n < 8;) add_char(p, profiler_in_get(p->in));
  for (int i = 0; i < RUNTIME_COUNT(words); ++i) {
    if (p->text.n && strcmp(p->text.data, words[i].text) == 0) return words[i].kind;
  }
  refuse(p, "a value is expected");
  return PROFILER_JSON_NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* An item of an array or object, with its key. */
static profiler_json *parse_item(parser *p, bool is_object, int depth) {
  char *key = NULL;
  if (is_object) {
    if (profiler_json_peek(p->in) != '"') return refuse(p, "a key in quotes is expected");
    if (!(key = parse_string(p))) return NULL;
    if (profiler_json_peek(p->in) != ':') return refuse(p, "':' is expected");
    profiler_in_get(p->in);
  }
  profiler_json *item = parse_value(p, depth + 1);
  if (item) item->key = key;
  return item;
}

/* PROFILER_JSON_DEPTH limits the recursion, so that a file of brackets cannot use up the stack. */
static profiler_json *parse_items(parser *p, profiler_json *value, int depth) {
  bool is_object = value->kind == PROFILER_JSON_OBJECT;
  int end = is_object ? '}' : ']';
  if (depth == PROFILER_JSON_DEPTH) return refuse(p, "values are nested too deeply");
  profiler_in_get(p->in);
  if (profiler_json_peek(p->in) == end) return profiler_in_get(p->in), value;
  for (profiler_json **tail = &value->child;; tail = &(*tail)->next) {
    if (!(*tail = parse_item(p, is_object, depth))) return NULL;
    int c = profiler_json_peek(p->in);
    if (c != end && c != ',') return refuse(p, is_object ? "',' or '}' is expected" : "',' or ']' is expected");
    profiler_in_get(p->in);
    if (c == end) return value;
  }
}

/* Numbers stay text: as a double a 64-bit address would lose digits. */
static profiler_json *parse_scalar(parser *p, profiler_json *value, int c) {
  if (c == '"') {
    value->kind = PROFILER_JSON_STRING;
    value->text = parse_string(p);
    return value->text ? value : NULL;
  }
  bool is_number = c == '-' || (c >= '0' && c <= '9');
  if (is_number && !read_number(p)) return refuse(p, "a number that JSON does not have");
  value->kind = is_number ? PROFILER_JSON_NUMBER : parse_word(p);
  value->text = take_text(p);
  return p->why ? NULL : value;
}

/* The value and all below it are in the reader's arena. NULL after a refusal. DEPTH limits the recursion. */
static profiler_json *parse_value(parser *p, int depth) {
  profiler_json *value = RUNTIME_NEW(p->arena, profiler_json);
  if (!value) return refuse(p, "out of memory");
  int c = profiler_json_peek(p->in);
  if (c != '{' && c != '[') return parse_scalar(p, value, c);
  value->kind = c == '{' ? PROFILER_JSON_OBJECT : PROFILER_JSON_ARRAY;
  return parse_items(p, value, depth);
}

profiler_json *profiler_json_next(profiler_in *in, runtime_arena *arena, const char **why) {
  parser p = {.in = in, .arena = arena};
  profiler_json *value = parse_value(&p, 0);
  runtime_str_free(&p.text);
  *why = p.why;
  return value;
}

/* ---- looking at them --------------------------------------------------------------------------------------------- */

/* A linear search. If a key occurs twice the first counts. */
const profiler_json *profiler_json_member(const profiler_json *object, const char *key) {
  if (!object || object->kind != PROFILER_JSON_OBJECT) return NULL;
  const profiler_json *item = object->child;
  while (item && strcmp(item->key, key) != 0) item = item->next;
  return item;
}

const char *profiler_json_text(const profiler_json *object, const char *key, const char *otherwise) {
  const profiler_json *value = profiler_json_member(object, key);
  return value && value->kind == PROFILER_JSON_STRING ? value->text : otherwise;
}

/* The part before the point. A number beyond 64 bits, or with an exponent, counts as missing. */
int64_t profiler_json_i64(const profiler_json *object, const char *key, int64_t otherwise) {
  const profiler_json *value = profiler_json_member(object, key);
  if (!value || value->kind != PROFILER_JSON_NUMBER) return otherwise;
  int64_t n = 0;
  bool is_negative = *value->text == '-';
  for (const char *at = value->text + is_negative; *at >= '0' && *at <= '9'; ++at) {
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, *at - '0', &n)) return otherwise;
  }
  if (strpbrk(value->text, "eE") || (!is_negative && n == INT64_MIN)) return otherwise;
  return is_negative ? n : -n;
}

/* Converted digit by digit; a number with an exponent goes through a double. */
bool profiler_json_us(const profiler_json *value, int64_t *ns) {
  if (!value || value->kind != PROFILER_JSON_NUMBER) return false;
  const char *at = value->text + (*value->text == '-');
  double rough = runtime_parse_float(value->text, NULL) * 1e3;
  if (!(rough > -9e18 && rough < 9e18)) return false;
  *ns = (int64_t)(rough + (rough < 0 ? -0.5 : 0.5));
  if (strpbrk(at, "eE")) return true;
  int64_t n = 0;
  for (; *at && *at != '.'; ++at) n = n * 10 + (*at - '0');
  at += *at == '.';
  for (int i = 0; i < 3; ++i) n = n * 10 + (*at ? *at++ - '0' : 0);
  n += *at >= '5';
  *ns = *value->text == '-' ? -n : n;
  return true;
}
