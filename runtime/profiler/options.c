/* options.c: names of categories, and a session's options as one text for a flag or an environment variable. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "runtime/profiler/stream.h"

static const char *const category_names[TN_CATEGORY_COUNT] = {
#define X(name, text) text,
    TN_CATEGORIES(X)
#undef X
};

const char *tn_category_name(tn_category category) {
  return (unsigned)category < TN_CATEGORY_COUNT ? category_names[category] : "?";
}

/* NULL, "" and "all" mean all. *OUT is unchanged if a name is wrong. */
bool tn_categories_parse(const char *names, uint32_t *out) {
  uint32_t bits = 0;
  if (!out) return false;
  if (!names || !*names || strcmp(names, "all") == 0) {
    *out = (1u << TN_CATEGORY_COUNT) - 1;
    return true;
  }
  while (*names) {
    size_t n = strcspn(names, ",+");
    int category = profiler_find_category(names, n);
    if (category < 0) return false;
    bits |= 1u << category;
    names += n + (names[n] != '\0');
  }
  *out = bits;
  return true;
}

/* ---- the text form ----------------------------------------------------------------------------------------------- */

/* The whole TEXT must be a number in the range. A NaN fails the comparisons and is refused. */
static bool parse_number(const char *text, double least, double most, double *out) {
  char *end;
  *out = runtime_parse_float(text, &end);
  return end != text && *end == '\0' && *out >= least && *out <= most;
}

/* 0 in the text means nothing but level 0, which is -1 in the options, since 0 is the default there. */
static bool set_level(tn_profile_options *o, const char *value) {
  double level;
  if (!parse_number(value, 0, TN_LEVEL_MAX, &level) || level != floor(level)) return false;
  o->level = level == 0 ? -1 : (int)level;
  return true;
}

/* An empty list would record nothing and is refused. */
static bool set_categories(tn_profile_options *o, const char *value) {
  return *value && tn_categories_parse(value, &o->categories);
}

/* In MiB, 1 to 2^20. */
static bool set_max(tn_profile_options *o, const char *value) {
  double mebibytes;
  if (!parse_number(value, 1, 1 << 20, &mebibytes)) return false;
  o->max_bytes = (size_t)(mebibytes * (1 << 20));
  return true;
}

/* new: when the buffers are full, later events are lost; last: the earliest are. */
static bool set_drop(tn_profile_options *o, const char *value) {
  o->drop = strcmp(value, "last") == 0 ? TN_KEEP_LAST : TN_DROP_NEW;
  return o->drop == TN_KEEP_LAST || strcmp(value, "new") == 0;
}

/* 0 or 1. */
static bool set_stacks(tn_profile_options *o, const char *value) {
  o->stacks = strcmp(value, "1") == 0;
  return o->stacks || strcmp(value, "0") == 0;
}

static bool set_delay(tn_profile_options *o, const char *value) { return parse_number(value, 0, 1e9, &o->delay_s); }
static bool set_limit(tn_profile_options *o, const char *value) { return parse_number(value, 0, 1e9, &o->limit_s); }

/* 0 or 1. */
static bool set_counters(tn_profile_options *o, const char *value) {
  o->counters = strcmp(value, "1") == 0;
  return o->counters || strcmp(value, "0") == 0;
}

/* VALUE is in the caller's copy of the text; tn_profile_parse moves it. */
static bool set_trace(tn_profile_options *o, const char *value) {
  o->pass_through = value;
  return *value != '\0';
}

static const struct {
  const char *key, *values;
  bool (*set)(tn_profile_options *options, const char *value);
} keys[] = {
    {"level", "0 to 7", set_level},
    {"categories", "names joined by '+', or all", set_categories},
    {"max", "1 to 1048576 MiB", set_max},
    {"drop", "new or last", set_drop},
    {"stacks", "0 or 1", set_stacks},
    {"delay", "seconds", set_delay},
    {"limit", "seconds", set_limit},
    {"counters", "0 or 1", set_counters},
    {"trace", "usdt or the path of a shared object", set_trace},
};

static void say_categories(runtime_str *out) {
  for (int i = 0; i < TN_CATEGORY_COUNT; ++i) runtime_str_addf(out, "%s%s", i ? "+" : "", category_names[i]);
}

/* The message lists all keys, or the values of the key that was wrong. */
static tn_status refuse(tn_context *ctx, const char *item, int key) {
  runtime_str text = {0};
  if (key >= 0) runtime_str_addf(&text, "'%s': %s takes %s", item, keys[key].key, keys[key].values);
  if (key < 0) runtime_str_addf(&text, "'%s' is not key=value with a key of", item);
  for (int i = 0; key < 0 && i < RUNTIME_COUNT(keys); ++i)
    runtime_str_addf(&text, "%s %s (%s)", i ? "," : "", keys[i].key, keys[i].values);
  if (key >= 0 && keys[key].set == set_categories) {
    runtime_str_add(&text, ": ");
    say_categories(&text);
  }
  tn_status status = runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: %s", text.failed ? item : text.data);
  runtime_str_free(&text);
  return status;
}

/* Sets "key=value" by the table of keys. A refusal lists the keys, or what the key accepts. */
static tn_status set_item(tn_context *ctx, tn_profile_options *options, const char *item) {
  const char *equals = strchr(item, '=');
  for (int i = 0; equals && i < RUNTIME_COUNT(keys); ++i) {
    size_t n = strlen(keys[i].key);
    if (n != (size_t)(equals - item) || strncmp(keys[i].key, item, n) != 0) continue;
    return keys[i].set(options, equals + 1) ? TN_OK : refuse(ctx, item, i);
  }
  return refuse(ctx, item, -1);
}

/* Cuts ITEMS at its colons. Stops at the first that is wrong. */
static tn_status set_items(tn_context *ctx, tn_profile_options *options, char *items) {
  char *rest = NULL;
  for (char *item = strtok_r(items, ":", &rest); item; item = strtok_r(NULL, ":", &rest)) {
    tn_status status = set_item(ctx, options, item);
    if (status != TN_OK) return status;
  }
  return TN_OK;
}

/* Copies FILE and, after it, the tracer's name, in one block; NULL: no memory. */
static char *keep_texts(const char *file, size_t n, const char **pass_through) {
  size_t n_tracer = *pass_through ? strlen(*pass_through) : 0;
  char *kept = calloc(n + n_tracer + 2, 1);
  if (!kept) return NULL;
  memcpy(kept, file, n);
  if (*pass_through) *pass_through = memcpy(kept + n + 1, *pass_through, n_tracer);
  return kept;
}

/* A file name with a colon cannot be given in this way. On failure *OUTPUT is NULL and OPTIONS are
 * unchanged; otherwise the caller frees *OUTPUT. */
tn_status tn_profile_parse(tn_context *ctx, const char *text, tn_profile_options *options, char **output) {
  if (!text || !options || !output) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: NULL argument");
  size_t n = strcspn(text, ":");
  *output = NULL;
  if (n == 0) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "profile: '%s' names no file: FILE[:key=value]...", text);
  char *items = strdup(text + n), *file = NULL;
  tn_profile_options parsed = {0};
  tn_status status = items ? set_items(ctx, &parsed, items) : TN_ERROR_MEMORY;
  if (status == TN_OK && !(file = keep_texts(text, n, &parsed.pass_through))) status = TN_ERROR_MEMORY;
  if (status == TN_ERROR_MEMORY) runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  free(items);
  if (status != TN_OK) return status;
  *options = parsed;
  *output = file;
  return TN_OK;
}
