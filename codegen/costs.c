/* costs.c: a machine's measured costs as a word of its target, "costs=fma16:0.125,fma32:0.125,...", and back. */
#include <stddef.h>

#include "codegen/internal.h"

/* The words of costs=. Their order is that of the text, so that equal costs have equal texts. */
static const struct cost_key {
  const char *name;
  size_t offset; /* of the double in tn_machine_costs */
} keys[] = {
#define X(name, what) {#name, offsetof(tn_machine_costs, name)},
    TN_MACHINE_COSTS(X)
#undef X
};

/* All fields are doubles, as the macro that makes them shows. */
static double *cost_at(tn_machine_costs *costs, int key) { return (double *)((char *)costs + keys[key].offset); }

/* Three digits: what is measured is not known better. Zeros, which nobody gave, are left out. */
const char *codegen_costs_text(tn_context *ctx, const tn_machine_costs *costs) {
  tn_machine_costs copy = *costs;
  runtime_str text = {0};
  for (int i = 0; i < RUNTIME_COUNT(keys); i++) {
    char number[RUNTIME_FLOAT_TEXT];
    if (*cost_at(&copy, i) == 0) continue;
    runtime_snprintf(number, sizeof number, "%.3g", *cost_at(&copy, i));
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
bool codegen_costs_read(tn_context *ctx, const char *value, const char *whole, tn_machine_costs *out) {
  for (const char *item = value; *item != '\0';) {
    size_t n = strcspn(item, ","), name = strcspn(item, ":,");
    int key = find_key(item, name);
    double number = name < n ? read_number(item + name + 1, n - name - 1) : -1;
    if (key < 0 || !(number > 0)) {
      runtime_fail(ctx, TN_ERROR_ARGUMENT,
                   "costs=... in the target \"%s\": \"%.*s\" is none of a machine's costs with a number of nanoseconds "
                   "above 0; `tenon target --measure` writes them",
                   whole, (int)n, item);
      return false;
    }
    *cost_at(out, key) = number;
    item += n + (item[n] == ',');
  }
  return true;
}
