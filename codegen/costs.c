/* costs.c: a machine's measured costs and its caches as a word of its target, "costs=fma16:0.125,...,cache1:49152,...", and
 * back: the same text then makes the same generic schedule on every machine. */
#include <stddef.h>

#include "codegen/internal.h"

#define MOST_BYTES 0x1p40
#define MOST_WAYS 64

/* The words of costs=. Their order is that of the text, so that equal costs have equal texts. */
static const struct cost_key {
  const char *name;
  size_t offset; /* of the double in codegen_costs */
  double most;   /* of what is counted, bytes or ways; 0: nanoseconds */
} keys[] = {
#define X(name, what) {#name, offsetof(codegen_costs, ns.name), 0},
    TN_MACHINE_COSTS(X)
#undef X
        {"cache1", offsetof(codegen_costs, cache[1]), MOST_BYTES},
    {"cache2", offsetof(codegen_costs, cache[2]), MOST_BYTES},
    {"cache3", offsetof(codegen_costs, cache[3]), MOST_BYTES},
    {"ways1", offsetof(codegen_costs, ways[1]), MOST_WAYS},
    {"ways2", offsetof(codegen_costs, ways[2]), MOST_WAYS},
    {"ways3", offsetof(codegen_costs, ways[3]), MOST_WAYS},
};

/* All fields are doubles. */
static double *cost_at(codegen_costs *costs, int key) { return (double *)((char *)costs + keys[key].offset); }

/* Three digits: what is measured is not known better. Zeros, which nobody gave, are left out. */
const char *codegen_costs_text(tn_context *ctx, const codegen_costs *costs) {
  codegen_costs copy = *costs;
  runtime_str text = {0};
  for (int i = 0; i < RUNTIME_COUNT(keys); i++) {
    char number[RUNTIME_FLOAT_TEXT];
    if (*cost_at(&copy, i) == 0) continue;
    runtime_snprintf(number, sizeof number, keys[i].most > 0 ? "%.0f" : "%.3g", *cost_at(&copy, i));
    runtime_str_addf(&text, "%s%s:%s", text.n ? "," : "costs=", keys[i].name, number);
  }
  return runtime_str_take(&text, &ctx->arena);
}

/* -1: ITEM, which has N characters, is no number. */
static double read_number(const char *item, size_t n) {
  char *end;
  double value = runtime_parse_float(item, &end);
  return n > 0 && end == item + n ? value : -1;
}

/* -1: none of that name. */
static int find_key(const char *item, size_t n) {
  for (int i = 0; i < RUNTIME_COUNT(keys); i++)
    if (strlen(keys[i].name) == n && strncmp(keys[i].name, item, n) == 0) return i;
  return -1;
}

/* Costs that are not named stay as they were in OUT. */
bool codegen_costs_read(tn_context *ctx, const char *value, const char *whole, codegen_costs *out) {
  for (const char *item = value; *item != '\0';) {
    size_t n = strcspn(item, ","), name = strcspn(item, ":,");
    int key = find_key(item, name);
    double number = name < n ? read_number(item + name + 1, n - name - 1) : -1;
    bool is_possible = key >= 0 && number > 0 && (keys[key].most == 0 || (number >= 1 && number <= keys[key].most));
    if (!is_possible) {
      runtime_fail(ctx, TN_ERROR_ARGUMENT,
                   "costs=... in the target \"%s\": \"%.*s\" is none of a machine's costs with a number above 0 (bytes "
                   "of a cache up to 2^40, ways up to 64); "
                   "`tenon target --measure` writes them",
                   whole, (int)n, item);
      return false;
    }
    *cost_at(out, key) = number;
    item += n + (item[n] == ',');
  }
  return true;
}
