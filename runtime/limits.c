/* limits.c: a context's limits: the usual numbers, reading them from text, and refusing more. */
#include <errno.h>
#include <stdio.h>

#include "runtime/base.h"

static const struct {
  const char *name;
  size_t offset;
  int64_t usual;
} table[] = {
#define X(name, usual, words) {#name, offsetof(tn_limits, name), usual},
    TN_LIMITS(X)
#undef X
};

static const tn_limits usual_limits = {
#define X(name, usual, words) .name = usual,
    TN_LIMITS(X)
#undef X
};

/* A limit by its number in the table. All members of tn_limits are int64_t, since one macro makes them. */
static int64_t *field(tn_limits *limits, int i) { return (int64_t *)(void *)((char *)limits + table[i].offset); }

/* A limit that is negative counts as not given. */
void runtime_limits_fill(tn_limits *limits) {
  for (int i = 0; i < RUNTIME_COUNT(table); i++)
    if (*field(limits, i) <= 0) *field(limits, i) = table[i].usual;
}

const tn_limits *runtime_limits(const tn_context *ctx) { return ctx ? &ctx->options.limits : &usual_limits; }

/* The message suggests four times the limit: near enough to be harmless, and far enough that it need not be
 * raised again. */
tn_status runtime_fail_limit(tn_context *ctx, tn_status status, const char *name, int64_t most, const char *fmt, ...) {
  char what[1024];
  RUNTIME_PRINT_ARGS(what, fmt);
  return runtime_fail(ctx, status,
                      "%s: the limit %s is %lld; tn_context_options.limits raises it, or TENON_LIMITS=%s=%lld", what,
                      name, (long long)most, name, (long long)(most > INT64_MAX / 4 ? INT64_MAX : most * 4));
}

bool runtime_check_text(tn_context *ctx, const char *what, const char *text) {
  size_t most = (size_t)runtime_limits(ctx)->text_bytes;
  if (strnlen(text, most + 1) <= most) return true;
  RUNTIME_FAIL_LIMIT(ctx, TN_ERROR_PARSE, text_bytes, "%s is longer than %zu bytes", what, most);
  return false;
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

/* The row of a limit; -1: there is none of that name. With so few rows a linear search is enough. */
static int find(const char *word, size_t n) {
  for (int i = 0; i < RUNTIME_COUNT(table); i++)
    if (strlen(table[i].name) == n && memcmp(table[i].name, word, n) == 0) return i;
  return -1;
}

/* Reads a number such as "64M" and moves *AT behind it; 0: not a number. */
static int64_t parse_number(const char **at) {
  static const char units[] = "KMG";
  char *end;
  errno = 0;
  long long value = **at >= '0' && **at <= '9' ? strtoll(*at, &end, 10) : 0;
  if (value <= 0 || errno != 0) return 0;
  const char *unit = *end ? strchr(units, *end) : NULL;
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  *at = end + (unit != NULL);
  return value <= INT64_MAX >> shift ? value << shift : 0;
}

/* LIMITS is only written when the whole list is valid, so a refused list changes nothing. */
bool tn_limits_parse(const char *text, tn_limits *limits, const char **at) {
  if (at) *at = text;
  if (!text || !limits || !at) return false;
  tn_limits read = *limits;
  for (*at = text; **at;) {
    size_t n = strcspn(*at, "=,");
    int i = find(*at, n);
    const char *number = *at + n + 1;
    if (i < 0 || (*at)[n] != '=' || (*field(&read, i) = parse_number(&number)) == 0) return false;
    if (*number != ',' && *number != '\0') return false;
    *at = number + (*number == ',');
  }
  *limits = read;
  return true;
}
