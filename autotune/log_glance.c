/* log_glance.c: what a line of a log says on its first level. A log holds the records of many programs, and
 * reading those of one means skipping the lines of the others. A glance finds the fields in one pass,
 * without allocating anything. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "autotune/log.h"

/* What is left of a line. */
typedef struct glance {
  const char *at, *end;
} glance;

static void skip_blanks(glance *g) {
  while (g->at < g->end && (*g->at == ' ' || *g->at == '\t' || *g->at == '\r')) ++g->at;
}

static bool take(glance *g, char c) {
  skip_blanks(g);
  if (g->at == g->end || *g->at != c) return false;
  ++g->at;
  return true;
}

/* Whether an odd number of backslashes is before AT. */
static bool is_escaped(const char *begin, const char *at) {
  const char *from = at;
  while (from > begin && from[-1] == '\\') --from;
  return (at - from) % 2 != 0;
}

/* Takes a string, from behind its first quote to behind its last. */
static bool take_string(glance *g, log_span *out) {
  const char *begin = g->at;
  for (const char *quote = begin; quote < g->end; ++quote) {
    quote = memchr(quote, '"', (size_t)(g->end - quote));
    if (!quote) return false;
    if (is_escaped(begin, quote)) continue;
    *out = (log_span){begin, (size_t)(quote - begin)};
    g->at = quote + 1;
    return true;
  }
  return false;
}

/* Takes an array or an object, from its bracket on. */
static bool take_nested(glance *g, log_span *out) {
  static const signed char steps[256] = {['['] = 1, ['{'] = 1, [']'] = -1, ['}'] = -1};
  const char *begin = g->at;
  log_span text;
  int depth = 0;
  while (g->at < g->end) {
    char c = *g->at++;
    if (c == '"' && !take_string(g, &text)) return false;
    depth += steps[(unsigned char)c];
    if (depth > 0) continue;
    *out = (log_span){begin, (size_t)(g->at - begin)};
    return true;
  }
  return false;
}

/* Takes a number, true, false or null. */
static bool take_word(glance *g, log_span *out) {
  static const bool ends[256] = {[','] = true,  [']'] = true,  ['}'] = true, [' '] = true,
                                 ['\t'] = true, ['\r'] = true, ['"'] = true, ['\0'] = true};
  const char *begin = g->at;
  while (g->at < g->end && !ends[(unsigned char)*g->at]) ++g->at;
  *out = (log_span){begin, (size_t)(g->at - begin)};
  return g->at > begin;
}

/* Takes any value; *KIND is its first character. */
static bool take_value(glance *g, char *kind, log_span *out) {
  skip_blanks(g);
  if (g->at == g->end) return false;
  *kind = *g->at;
  if (*kind == '[' || *kind == '{') return take_nested(g, out);
  if (*kind != '"') return take_word(g, out);
  ++g->at;
  return take_string(g, out);
}

/* The value of a word that is a number; 0 for any other. A number that is too large stops growing: no field
 * that a glance reads is so large. */
static int64_t whole_number(const log_span *word) {
  int64_t value = 0;
  size_t i = word->n > 0 && word->at[0] == '-';
  for (; i < word->n && word->at[i] >= '0' && word->at[i] <= '9' && value < INT64_MAX / 16; ++i)
    value = 10 * value + (word->at[i] - '0');
  return word->n > 0 && word->at[0] == '-' ? -value : value;
}

/* Takes the field if it is one that a glance is for. False: its value is of the wrong kind. A text with an
 * escape is not what it looks like, which is accepted for programs only. */
static bool take_field(log_glance *out, const log_span *name, char kind, const log_span *value, bool *is_ours) {
#define TEXT(name, kind, may_escape) {#name, sizeof #name - 1, kind, may_escape, offsetof(log_glance, name)}
  static const struct {
    const char *name;
    size_t n;
    char kind;
    bool may_escape;
    size_t place;
  } texts[] = {TEXT(key, '"', false),  TEXT(program, '"', true), TEXT(target, '"', false), TEXT(error, '"', false),
               TEXT(steps, '[', true), TEXT(costs, '[', true),   TEXT(plan, '[', true),    TEXT(event, '"', true)};
#undef TEXT
  for (int i = 0; i < RUNTIME_COUNT(texts); ++i) {
    if (texts[i].n != name->n || !log_same_bytes(texts[i].name, name->at, name->n)) continue;
    log_span *place = (log_span *)((char *)out + texts[i].place);
    if (kind != texts[i].kind || place->at) return false;
    *place = *value;
    return texts[i].may_escape || !memchr(value->at, '\\', value->n);
  }
  if (log_span_is(name, "v")) *is_ours = log_span_is(value, "1");
  if (log_span_is(name, "checked")) out->checked = log_span_is(value, "true");
  if (log_span_is(name, "final")) out->is_final = log_span_is(value, "true");
  if (log_span_is(name, "rank")) out->rank = (int)whole_number(value);
  if (log_span_is(name, "time")) out->time_s = whole_number(value);
  return true;
}

/* Whether a record has all the fields that a reader insists on; an event needs only its name. */
static bool has_fields(const log_glance *g) {
  return g->event.at || (g->key.at && g->program.at && g->target.at && g->error.at && g->steps.at && g->costs.at);
}

bool log_look(const char *line, size_t n, log_glance *out) {
  glance g = {line, line + n};
  bool is_ours = false;
  *out = (log_glance){0};
  if (!take(&g, '{')) return false;
  do {
    log_span name, value;
    char kind;
    if (!take(&g, '"') || !take_string(&g, &name) || !take(&g, ':') || !take_value(&g, &kind, &value)) return false;
    if (!take_field(out, &name, kind, &value, &is_ours)) return false;
  } while (take(&g, ','));
  if (!take(&g, '}')) return false;
  skip_blanks(&g);
  return g.at == g.end && is_ours && has_fields(out);
}

/* The first object of [{"stage": "C", "family": "tile", ...}, ...] tells. */
bool log_glance_is_family_plan(const log_glance *line) {
  glance g = {line->plan.at, line->plan.at + line->plan.n};
  log_span name, value;
  char kind;
  if (!line->plan.at || !take(&g, '[') || !take(&g, '{')) return false;
  do {
    if (!take(&g, '"') || !take_string(&g, &name) || !take(&g, ':') || !take_value(&g, &kind, &value)) return false;
    if (log_span_is(&name, "family")) return kind == '"' && !log_span_is(&value, "sketch");
  } while (take(&g, ','));
  return false;
}

bool log_is_family_plan(const json_t *plan) {
  const char *family = json_string_value(json_object_get(json_array_get(plan, 0), "family"));
  return family && strcmp(family, "sketch") != 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static bool parts_costs(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\0'; }

/* Reads the costs from the array's text; 0 where one is no number. Each is copied, since the line goes on behind it. */
static int read_costs(const log_span *costs, double *out) {
  const char *at = costs->at + 1, *end = costs->at + costs->n - 1;
  int n = 0;
  while (at < end && n < TN_MAX_COSTS) {
    char number[40], *stop;
    size_t length = 0;
    while (at < end && parts_costs(*at)) ++at;
    while (at + length < end && length < sizeof number - 1 && !parts_costs(at[length])) ++length;
    if (length == 0) break;
    memcpy(number, at, length);
    number[length] = '\0';
    out[n] = runtime_parse_float(number, &stop);
    if (*stop != '\0' || !(out[n] > 0) || isinf(out[n])) return 0; /* half a number would be a fast record */
    ++n;
    at += length;
  }
  return n;
}

double log_glance_cost(const log_glance *line) {
  double costs[TN_MAX_COSTS];
  int n = log_span_is(&line->error, "none") ? read_costs(&line->costs, costs) : 0;
  if (n == 0) return INFINITY;
  runtime_sort(costs, n);
  return runtime_quantile(costs, n, 0.5);
}

void log_copy(const log_span *span, char *out, size_t n) {
  size_t length = RUNTIME_MIN(span->n, n - 1);
  if (length > 0) memcpy(out, span->at, length);
  out[length] = '\0';
}

uint64_t log_key_hash(const char *key, size_t n) { return runtime_hash(key, n, 0) | 1; }

uint64_t log_target_hash(const char *target, size_t n) {
  static const char *const words[] = {"triple", "cpu", "threads"};
  char text[1024];
  uint64_t hash = 1;
  log_copy(&(log_span){target, n}, text, sizeof text);
  for (int i = 0; i < RUNTIME_COUNT(words); ++i) {
    char value[128] = "";
    autotune_target_word(text, words[i], value, sizeof value);
    hash = runtime_hash(value, strlen(value), hash);
  }
  return hash;
}
