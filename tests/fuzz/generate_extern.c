/* Calls of C functions in random programs: extern (S1: f32[6], S1b: i8[2, 6]) = fx_parts_6(E1), and the stages or
 * inputs that they are given. */
#include <stdio.h>

#include "tests/fuzz/externs.h"
#include "tests/fuzz/generator.h"

static tensor typed(const fuzz_extern_type *type, int size) {
  tensor t = {.dtype = type->dtype, .rank = type->rank};
  for (int i = 0; i < t.rank; i++) t.shape[i] = type->shape[i] ? type->shape[i] : size;
  return t;
}

static int64_t elements(const tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->size[i] ? 0 : t->shape[i];
  return n;
}

static void put_shape(runtime_str *out, const tensor *t) {
  for (int i = 0; i < t->rank; i++) {
    runtime_str_add(out, i ? ", " : "[");
    fuzz_put_extent(out, t->shape[i], t->size[i]);
  }
  runtime_str_add(out, t->rank ? "]" : "");
}

/* A stage or a result that holds enough, or NULL. A function may leave elements behind its own unread. */
static tensor *known_argument(generator *g, const tensor *wanted) {
  int from = (int)below(g, RUNTIME_MAX(g->n_tensors, 1));
  for (int i = 0; i < g->n_tensors; i++) {
    tensor *t = &g->tensors[(from + i) % g->n_tensors];
    if (t->name[0] != 'A' && t->dtype == wanted->dtype && elements(t) >= elements(wanted)) return t;
  }
  return NULL;
}

/* Makes an input, or a stage of its own. */
static tensor *new_argument(generator *g, const fuzz_extern_type *type, const tensor *wanted, int number, int i) {
  static const char *const names[] = {"i", "j"};
  tensor *t = &g->tensors[g->n_tensors];
  *t = *wanted;
  if (t->rank > 0 && !t->size[0] && chance(g, 20)) t->shape[0]++;
  if (type->by_value || chance(g, 25)) {
    snprintf(t->name, sizeof t->name, "A%d", g->n_inputs++);
    runtime_str_addf(&g->inputs, "%s %s: %s", type->by_value ? "scalar" : "input", t->name, tn_dtype_name(t->dtype));
    put_shape(&g->inputs, t);
    runtime_str_add(&g->inputs, "\n");
    g->n_tensors++;
    return t;
  }
  snprintf(t->name, sizeof t->name, "E%d%s", number, i ? "b" : "");
  g->n_axes = 0;
  for (int d = 0; d < t->rank; d++) fuzz_add_axis(g, names[d], t->shape[d], t->size[d]);
  put(g, t->name);
  fuzz_put_axes(g, 0, t->rank);
  runtime_str_addf(g->out, " = %s(", tn_dtype_name(t->dtype));
  tensor made = *t; /* the expression may make tensors */
  made.is_rough = fuzz_expression(g, runtime_is_half(made.dtype) ? TN_F32 : made.dtype, 1 + (int)below(g, 2), false);
  put(g, ")\n");
  g->tensors[g->n_tensors] = made;
  return &g->tensors[g->n_tensors++];
}

/* A function of any size, which symbols may decide: extern S1: f32[M] = fx_open(M, E1, i64(M - 1), S1, f64(0.5)). */
static void open_stage(generator *g, int number) {
  static const fuzz_extern_type floats = {TN_F32, 1, {0}, false};
  const char *size = fuzz_random_size(g);
  tensor wanted = {.dtype = TN_F32, .rank = 1, .shape = {size ? 9 : 1 + below(g, 20)}, .size = {size}};
  tensor *argument = new_argument(g, &floats, &wanted, number, 0), *made = &g->tensors[g->n_tensors++];
  runtime_str extent = {0};
  fuzz_put_extent(&extent, wanted.shape[0], size);
  argument->is_read = true;
  *made = wanted;
  made->is_rough = argument->is_rough;
  snprintf(made->name, sizeof made->name, "S%d", number);
  runtime_str_addf(g->out, "extern %s: f32[%s] = fx_open(%s, %s, i64(%s - 1), %s, f64(0.5))\n", made->name, extent.data,
                   extent.data, argument->name, extent.data, made->name);
  runtime_str_free(&extent);
}

void fuzz_extern_stage(generator *g, int number) {
  int n_rows = 0, size = fuzz_extern_sizes[below(g, FUZZ_EXTERN_SIZES)];
  while (fuzz_externs[n_rows].name) n_rows++;
  const fuzz_extern *row = &fuzz_externs[below(g, n_rows)];
  const char *names[FUZZ_EXTERN_INPUTS];
  char kept[FUZZ_EXTERN_INPUTS][16];
  bool is_rough = false;
  g->out = &g->stages;
  g->prefer = -1;
  if (chance(g, 30)) {
    open_stage(g, number);
    return;
  }
  for (int i = 0; i < row->n_inputs; i++) {
    tensor wanted = typed(&row->inputs[i], size), *t = chance(g, 60) ? known_argument(g, &wanted) : NULL;
    if (!t || row->inputs[i].by_value) t = new_argument(g, &row->inputs[i], &wanted, number, i);
    t->is_read = true;
    is_rough |= t->is_rough;
    snprintf(kept[i], sizeof kept[i], "%s", t->name);
    names[i] = kept[i];
  }
  put(g, row->n_results > 1 ? "extern (" : "extern ");
  for (int v = 0; v < row->n_results; v++) {
    tensor *t = &g->tensors[g->n_tensors++];
    *t = typed(&row->results[v], size);
    t->is_rough = is_rough || row->bound != NULL;
    snprintf(t->name, sizeof t->name, "S%d%s", number, v ? "b" : "");
    runtime_str_addf(g->out, "%s%s: %s", v ? ", " : "", t->name, tn_dtype_name(t->dtype));
    put_shape(g->out, t);
  }
  runtime_str_addf(g->out, "%s = %s_%d(", row->n_results > 1 ? ")" : "", row->name, size);
  for (int i = 0; i < row->n_inputs; i++) runtime_str_addf(g->out, "%s%s", i ? ", " : "", names[i]);
  put(g, ")\n");
}
