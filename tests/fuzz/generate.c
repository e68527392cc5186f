/* Random programs as text: one to six stages of rank 0 to 5 over small, often odd extents: element-wise, reductions of
 * each kind, several values at once, padding, strides, broadcasts, transposes, constants, indices from data. Reads are
 * in bounds by construction. Floats that are not exact never decide anything (see tolerance.c). */
#include <stdio.h>

#include "tests/fuzz/generator.h"

static bool is_float(tn_dtype dtype) { return tn_dtype_is_float(dtype); }

static int64_t random_extent(generator *g) {
  static const int64_t often[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19};
  return chance(g, 70) ? often[below(g, RUNTIME_COUNT(often))] : 1 + below(g, 20);
}

/* What a tensor is stored as: floats now and then in 16 bits. */
static tn_dtype stored_dtype(generator *g, tn_dtype dtype) {
  if (dtype != TN_F32 || !chance(g, 12)) return dtype;
  return chance(g, 50) ? TN_F16 : TN_BF16;
}

static tn_dtype random_dtype(generator *g) {
  static const tn_dtype often[] = {TN_F32, TN_F32, TN_F32, TN_F32, TN_F32, TN_F64, TN_I32, TN_I32,
                                   TN_I64, TN_I8,  TN_U8,  TN_I16, TN_U16, TN_U32, TN_BOOL};
  return often[below(g, RUNTIME_COUNT(often))];
}

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/* An index: its text, its range, and the condition under which it may be used ("": always). */
typedef struct position {
  char text[160], guard[400];
  int64_t lo, hi;
  const char *size; /* symbols have a part in it: the extent of its axis */
  bool is_axis;     /* nothing but an axis */
} position;

static const char *const sizes[] = {"M", "N", "M", "N", "M + 1", "(N + 1)//2", "M*2", "max(M, N)", "M + N"};

/* An index of an axis whose extent symbols decide. */
static position symbolic_index(generator *g, int a) {
  const char *na = g->axes[a].name, *nb = g->axes[below(g, g->n_axes)].name, *size = g->axes[a].size;
  int c = 1 + (int)below(g, 3);
  position x = {.lo = 0, .hi = g->axes[a].extent - 1, .size = size};
  switch (below(g, 9)) {
    case 0: snprintf(x.text, sizeof x.text, "%s + %d", na, c); break;
    case 1: snprintf(x.text, sizeof x.text, "%s - 1 - %s", size, na); break;
    case 2: snprintf(x.text, sizeof x.text, "%s + %s", na, nb); break;
    case 3: snprintf(x.text, sizeof x.text, "max(%s - %d, 0)", na, c); break;
    case 4: snprintf(x.text, sizeof x.text, "(%s*%d + %s) // %d", na, c, nb, c + 1); break;
    default: snprintf(x.text, sizeof x.text, "%s", na), x.is_axis = true; break;
  }
  return x;
}

/* Where symbols decide, an index is known to be inside only when it is an axis of that very extent. */
static void guard_symbols(position *x, const char *size, int64_t extent) {
  char number[24];
  if ((!x->size && !size) || (x->is_axis && x->size && size && strcmp(x->size, size) == 0)) return;
  snprintf(number, sizeof number, "%lld", (long long)extent);
  snprintf(x->guard, sizeof x->guard, "%s >= 0 && %s < %s", x->text, x->text, size ? size : number);
}

static position axis_index(generator *g) {
  int a = (int)below(g, g->n_axes), b = (int)below(g, g->n_axes);
  if (g->axes[a].size) return symbolic_index(g, a);
  if (g->axes[b].size) b = a;
  int64_t ea = g->axes[a].extent, eb = g->axes[b].extent, c = 1 + below(g, 3);
  const char *na = g->axes[a].name, *nb = g->axes[b].name;
  position x = {.lo = 0, .hi = ea - 1};
#define INDEX(...) snprintf(x.text, sizeof x.text, __VA_ARGS__)
  switch (below(g, 18)) {
    case 12: INDEX("%s*-%lld + %lld", na, (long long)c, (long long)(c * (ea - 1))), x.hi = c * (ea - 1); break;
    case 0:
      INDEX("%s + %lld", na, (long long)c), x.hi += c;
      x.lo = c;
      break;
    case 1: INDEX("%lld - %s", (long long)(ea - 1), na); break;
    case 2: INDEX("%s*%lld + %s", na, (long long)c + 1, nb), x.hi = (ea - 1) * (c + 1) + eb - 1; break;
    case 3: INDEX("%s*%lld", na, (long long)c + 1), x.hi = (ea - 1) * (c + 1); break;
    case 4: INDEX("%s // %lld", na, (long long)c + 1), x.hi = (ea - 1) / (c + 1); break;
    case 5: INDEX("%s %% %lld", na, (long long)c + 1), x.hi = RUNTIME_MIN(c, ea - 1); break;
    case 6: INDEX("%s + %s", na, nb), x.hi = ea + eb - 2; break;
    case 7: INDEX("max(%s - %lld, 0)", na, (long long)c), x.hi = RUNTIME_MAX(ea - 1 - c, 0); break;
    case 8: INDEX("min(%s + %lld, %lld)", na, (long long)c, (long long)(ea - 1)); break;
    case 9: INDEX("(%s + %lld) // %lld", na, (long long)c, (long long)c + 1), x.hi = (ea - 1 + c) / (c + 1); break;
    case 10: INDEX("(%s*2 + %s) // 3", na, nb), x.hi = (2 * (ea - 1) + eb - 1) / 3; break;
    case 11: INDEX("(%s + %s) %% %lld", na, nb, (long long)ea), x.hi = ea - 1; break;
    default: INDEX("%s", na); break;
  }
  return x;
}

static position constant_index(generator *g, int64_t extent) {
  position x = {.lo = below(g, extent)};
  x.hi = x.lo;
  INDEX("%lld", (long long)x.lo);
  return x;
}

/* `a - c` or `a + c` under the condition that it is inside: padding. */
static position guarded_index(generator *g, int64_t extent) {
  int a = (int)below(g, g->n_axes);
  if (g->axes[a].size) return constant_index(g, extent);
  long long c = 1 + below(g, 3), last = extent - 1;
  const char *name = g->axes[a].name;
  position x = {.lo = 0, .hi = last};
  bool minus = chance(g, 60);
  INDEX("%s %c %lld", name, minus ? '-' : '+', c);
  if (minus && g->axes[a].extent - 1 - c <= last)
    snprintf(x.guard, sizeof x.guard, "%s >= %lld", name, c);
  else if (minus)
    snprintf(x.guard, sizeof x.guard, "%s >= %lld && %s < %lld", name, c, name, c + extent);
  else
    snprintf(x.guard, sizeof x.guard, "%s < %lld", name, extent - c);
  if (!minus && extent <= c) return constant_index(g, extent);
  if (minus && g->axes[a].extent <= c) return constant_index(g, extent);
  return x;
}

/* An index read from a tensor of integers; false: there is none. Now and then it is not held inside the extent: then
 * the pair shows that the kernel does not touch what is outside. */
static bool data_index(generator *g, int64_t extent, position *x) {
  char read[100];
  const tensor *t = &g->tensors[below(g, g->n_tensors)];
  if (is_float(t->dtype) || t->dtype == TN_BOOL || t->rank > 2) return false;
  for (int i = 0; i < t->rank; i++)
    if (t->size[i]) return false;
  int used = snprintf(read, sizeof read, "%s%s", t->name, t->rank ? "[" : "");
  for (int i = 0; i < t->rank; i++) {
    int a = (int)below(g, g->n_axes);
    const char *format = g->axes[a].extent <= t->shape[i] && !g->axes[a].size ? "%s%s" : "%s%s %% %lld";
    used += snprintf(read + used, sizeof read - (size_t)used, format, i ? ", " : "", g->axes[a].name,
                     (long long)t->shape[i]);
  }
  if (t->rank) snprintf(read + used, sizeof read - (size_t)used, "]");
  *x = (position){.lo = 0, .hi = extent - 1};
  const char *format = chance(g, 10) ? "%s" : chance(g, 50) ? "i32(%s) %% %lld" : "min(max(i64(%s), 0), %lld - 1)";
  snprintf(x->text, sizeof x->text, format, read, (long long)extent);
  return true;
}

/* An index of a dimension of constant extent. */
static position index_into_constant(generator *g, int64_t extent) {
  position gathered;
  if (g->n_axes == 0) return constant_index(g, extent);
  if (g->n_tensors && chance(g, 12) && data_index(g, extent, &gathered)) return gathered;
  if (chance(g, 15)) return guarded_index(g, extent);
  for (int tries = 0; tries < 6; tries++) {
    position x = axis_index(g);
    if (x.hi < extent) return x;
  }
  if (chance(g, 40)) return constant_index(g, extent);
  position x = axis_index(g);
  position wrapped = {.lo = 0, .hi = extent - 1};
  snprintf(wrapped.text, sizeof wrapped.text, "(%.40s) %% %lld", x.text, (long long)extent);
  return wrapped;
}

/* An index of a dimension that exists. */
static position index_into(generator *g, int64_t extent, const char *size) {
  position x;
  if (size && g->n_axes == 0)
    snprintf((x = (position){0}).text, 2, "0");
  else if (size)
    x = axis_index(g);
  else
    x = index_into_constant(g, extent);
  if (g->n_axes == 0 && size) snprintf(x.text, sizeof x.text, "0");
  if (g->n_axes > 0) guard_symbols(&x, size, extent);
  return x;
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

static void constant(generator *g, tn_dtype dtype) {
  static const char *const floats[] = {"0.5", "1", "2", "-1", "0.25", "-1.5", "3"};
  if (dtype == TN_BOOL)
    put(g, chance(g, 50) ? "true" : "false");
  else if (is_float(dtype))
    runtime_str_addf(g->out, "%s(%s)", tn_dtype_name(dtype), floats[below(g, RUNTIME_COUNT(floats))]);
  else
    runtime_str_addf(g->out, "%s(%lld)", tn_dtype_name(dtype),
                     (long long)below(g, 7) - (tn_dtype_is_signed(dtype) ? 3 : 0));
}

static void put_read(generator *g, const tensor *t, const position *index) {
  char guard[1700] = "";
  for (int i = 0; i < t->rank; i++)
    if (index[i].guard[0])
      snprintf(guard + strlen(guard), sizeof guard - strlen(guard), "%s%s", guard[0] ? " && " : "", index[i].guard);
  g->tensors[t - g->tensors].is_read = true;
  if (guard[0]) runtime_str_addf(g->out, "select(%s, ", guard);
  put(g, t->name);
  for (int i = 0; i < t->rank; i++) runtime_str_addf(g->out, "%s%s", i ? ", " : "[", index[i].text);
  if (t->rank) put(g, "]");
  if (!guard[0]) return;
  put(g, ", ");
  constant(g, t->dtype);
  put(g, ")");
}

static bool same_extents(const generator *g, const tensor *t) {
  bool same = t->rank <= g->n_axes;
  for (int i = 0; same && i < t->rank; i++) {
    const char *a = g->axes[i].size, *b = t->size[i];
    same = a || b ? a && b && strcmp(a, b) == 0 : g->axes[i].extent <= t->shape[i];
  }
  return same;
}

/* A read of a tensor that exists; element by element with some luck. */
static void read_tensor(generator *g, const tensor *t) {
  position index[MAX_RANK] = {0};
  bool plain = same_extents(g, t) && chance(g, 60);
  for (int i = 0; i < t->rank; i++) {
    if (plain)
      snprintf(index[i].text, sizeof index[i].text, "%s", g->axes[i].name);
    else
      index[i] = index_into(g, t->shape[i], t->size[i]);
  }
  put_read(g, t, index);
}

void fuzz_put_extent(runtime_str *out, int64_t extent, const char *size) {
  if (size)
    runtime_str_add(out, size);
  else
    runtime_str_addf(out, "%lld", (long long)extent);
}

/* A new input whose shape is what the read needs. */
static void read_new_input(generator *g, tn_dtype dtype) {
  tensor *t = &g->tensors[g->n_tensors++];
  position index[MAX_RANK];
  *t = (tensor){.dtype = dtype};
  snprintf(t->name, sizeof t->name, "A%d", g->n_inputs++);
  int wanted = (int)below(g, MAX_RANK + 1);
  int64_t points = 1;
  while (g->n_axes && t->rank < wanted) {
    index[t->rank] = axis_index(g);
    if (points * (index[t->rank].hi + 2) > MAX_POINTS) break;
    t->shape[t->rank] = index[t->rank].hi + 1 + (!index[t->rank].size && chance(g, 20));
    t->size[t->rank] = index[t->rank].size;
    guard_symbols(&index[t->rank], t->size[t->rank], 0);
    points *= t->shape[t->rank++];
  }
  t->dtype = stored_dtype(g, dtype);
  bool by_value = t->rank == 0 && chance(g, 50);
  runtime_str_addf(&g->inputs, "%s %s: %s", by_value ? "scalar" : "input", t->name, tn_dtype_name(t->dtype));
  for (int i = 0; i < t->rank; i++) {
    runtime_str_add(&g->inputs, i ? "," : "[");
    fuzz_put_extent(&g->inputs, t->shape[i], t->size[i]);
  }
  runtime_str_add(&g->inputs, t->rank ? "]" : "");
  runtime_str_add(&g->inputs, t->rank > 1 && chance(g, 15) ? " strided\n" : "\n");
  if (t->dtype != dtype)
    runtime_str_addf(g->out, "%s(", tn_dtype_name(dtype)); /* or a stage that only reads it has that dtype */
  put_read(g, t, index);
  if (t->dtype != dtype) put(g, ")");
}

static const tensor *choose_tensor(generator *g, tn_dtype wanted, bool must_be_exact) {
  for (int tries = 0; g->n_tensors && tries < 8; tries++) {
    int i = g->prefer >= 0 && tries < 2 ? g->prefer : (int)below(g, g->n_tensors);
    const tensor *t = &g->tensors[i];
    if (t->is_rough && (must_be_exact || !is_float(wanted))) continue;
    g->prefer = -1;
    return t;
  }
  return NULL;
}

/* Returns whether the value may be rounded. */
static bool leaf(generator *g, tn_dtype dtype, bool must_be_exact) {
  if (chance(g, 8)) return constant(g, dtype), false;
  if (g->has_symbols && dtype != TN_BOOL && chance(g, 5)) {
    runtime_str_addf(g->out, "%s(%s)", tn_dtype_name(dtype), sizes[below(g, 2)]);
    return false;
  }
  if (g->n_axes && dtype != TN_BOOL && chance(g, 10)) {
    runtime_str_addf(g->out, "%s(%s)", tn_dtype_name(dtype), g->axes[below(g, g->n_axes)].name);
    return false;
  }
  const tensor *t = g->prefer >= 0 || chance(g, 75) || g->n_inputs >= 6 ? choose_tensor(g, dtype, must_be_exact) : NULL;
  if (!t && g->n_tensors + STAGES_ROOM >= MAX_TENSORS) return constant(g, dtype), false;
  if (!t) return read_new_input(g, dtype), false;
  bool needs_cast = t->dtype != dtype;
  if (needs_cast) runtime_str_addf(g->out, "%s(", tn_dtype_name(dtype));
  bool is_rough = t->is_rough;
  read_tensor(g, t);
  if (needs_cast) put(g, ")");
  return is_rough;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool two(generator *g, tn_dtype dtype, int depth, bool exact, const char *before, const char *between) {
  put(g, before);
  bool a = fuzz_expression(g, dtype, depth - 1, exact);
  put(g, between);
  bool b = fuzz_expression(g, dtype, depth - 1, exact);
  put(g, ")");
  return a || b;
}

static bool wrap(generator *g, tn_dtype dtype, int depth, bool exact, const char *before, const char *after) {
  put(g, before);
  bool rough = fuzz_expression(g, dtype, depth - 1, exact);
  put(g, after);
  return rough;
}

static bool choice(generator *g, tn_dtype dtype, int depth, bool exact) {
  put(g, "select(");
  fuzz_expression(g, TN_BOOL, depth - 1, true);
  put(g, ", ");
  bool a = fuzz_expression(g, dtype, depth - 1, exact);
  put(g, ", ");
  bool b = fuzz_expression(g, dtype, depth - 1, exact);
  put(g, ")");
  return a || b;
}

typedef struct form {
  const char *before, *between, *after; /* between: NULL for one operand */
} form;

static bool put_form(generator *g, const form *f, tn_dtype dtype, int depth, bool exact) {
  return f->between ? two(g, dtype, depth, exact, f->before, f->between)
                    : wrap(g, dtype, depth, exact, f->before, f->after);
}

static bool rough_float(generator *g, tn_dtype dtype, int depth) {
  static const form forms[] = {{"exp(min(max(", NULL, ", -2), 2))"},
                               {"tanh(", NULL, ")"},
                               {"sigmoid(", NULL, ")"},
                               {"sqrt(abs(", NULL, ") + 1)"},
                               {"rsqrt(abs(", NULL, ") + 1)"},
                               {"log(abs(", NULL, ") + 1)"},
                               {"sin(", NULL, ")"},
                               {"cos(", NULL, ")"},
                               {"erf(", NULL, ")"},
                               {"exp2(min(max(", NULL, ", -2), 2))"},
                               {"exp10(min(max(", NULL, ", -1), 0.5))"},
                               {"log2(abs(", NULL, ") + 1)"},
                               {"log10(abs(", NULL, ") + 1)"},
                               {"log1p(abs(", NULL, "))"},
                               {"tan(min(max(", NULL, ", -1), 1))"},
                               {"sinh(min(max(", NULL, ", -2), 2))"},
                               {"cosh(min(max(", NULL, ", -2), 2))"},
                               {"asin(min(max(", NULL, ", -0.5), 0.5))"},
                               {"acos(min(max(", NULL, ", -0.5), 0.5))"},
                               {"atanh(min(max(", NULL, ", -0.5), 0.5))"},
                               {"atan(", NULL, ")"},
                               {"asinh(", NULL, ")"},
                               {"acosh(abs(", NULL, ") + 1.5)"},
                               {"atan2(", ", ", NULL},
                               {"hypot(", ", ", NULL},
                               {"pow(min(abs(", NULL, "), 2) + 0.5, 1.5)"},
                               {"(1 / (abs(", NULL, ") + 1))"}};
  put_form(g, &forms[below(g, RUNTIME_COUNT(forms))], dtype, depth, false);
  return true;
}

static bool float_expression(generator *g, tn_dtype dtype, int depth, bool exact) {
  static const form forms[] = {{"(", " + ", NULL},   {"(", " - ", NULL},  {"(", " * ", NULL}, {"min(", ", ", NULL},
                               {"max(", ", ", NULL}, {"abs(", NULL, ")"}, {"(-", NULL, ")"}};
  static const form steps[] = {{"floor(", NULL, ")"},    {"ceil(", NULL, ")"},      {"round(", NULL, ")"},
                               {"trunc(", NULL, ")"},    {"nearbyint(", NULL, ")"}, {"fmod(", NULL, ", 1.5)"},
                               {"copysign(", ", ", NULL}};
  int64_t kind = below(g, 100);
  if (kind < 12) return choice(g, dtype, depth, exact);
  if (kind < 25 && !exact) return rough_float(g, dtype, depth);
  if (kind < 30) return put_form(g, &steps[below(g, RUNTIME_COUNT(steps))], dtype, depth, true), false;
  return put_form(g, &forms[below(g, RUNTIME_COUNT(forms))], dtype, depth, exact);
}

static bool integer_expression(generator *g, tn_dtype dtype, int depth) {
  static const form forms[] = {
      {"(", " + ", NULL},  {"(", " - ", NULL},   {"(", " * ", NULL},       {"(", " // ", NULL},
      {"(", " % ", NULL},  {"min(", ", ", NULL}, {"max(", ", ", NULL},     {"abs(", NULL, ")"},
      {"(", " & ", NULL},  {"(", " | ", NULL},   {"(", " ^ ", NULL},       {"(", " << ", NULL},
      {"(", " >> ", NULL}, {"(~", NULL, ")"},    {"popcount(", NULL, ")"}, {"clz(", NULL, ")"}};
  int64_t kind = below(g, 100);
  if (kind < 12) return choice(g, dtype, depth, true);
  if (kind < 22) {
    tn_dtype from = random_dtype(g);
    runtime_str_addf(g->out, "%s(", tn_dtype_name(dtype));
    fuzz_expression(g, from, depth - 1, true);
    return put(g, ")"), false;
  }
  return put_form(g, &forms[below(g, RUNTIME_COUNT(forms))], dtype, depth, true);
}

static bool axis_condition(generator *g) {
  static const char *const relations[] = {"<", "<=", ">", ">=", "==", "!="};
  int a = (int)below(g, g->n_axes);
  runtime_str_addf(g->out, "(%s %s %lld)", g->axes[a].name, relations[below(g, 6)],
                   (long long)below(g, g->axes[a].extent + 1));
  return false;
}

static bool bool_expression(generator *g, int depth) {
  static const char *const relations[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  int64_t kind = below(g, 100);
  if (kind < 30 && g->n_axes) return axis_condition(g);
  if (kind < 45) return two(g, TN_BOOL, depth, true, "(", chance(g, 50) ? " && " : " || ");
  static const char *const tests[] = {"isnan(", "isinf(", "isfinite("};
  if (kind < 55) return wrap(g, TN_BOOL, depth, true, "(!", ")");
  if (kind < 60) return wrap(g, TN_F32, depth, true, tests[below(g, 3)], ")");
  tn_dtype dtype = random_dtype(g);
  return two(g, dtype == TN_BOOL ? TN_F32 : dtype, depth, true, "(", relations[below(g, 6)]);
}

bool fuzz_expression(generator *g, tn_dtype dtype, int depth, bool must_be_exact) {
  if (depth <= 0 || chance(g, 20)) return leaf(g, dtype, must_be_exact);
  if (dtype == TN_BOOL) return bool_expression(g, depth);
  return is_float(dtype) ? float_expression(g, dtype, depth, must_be_exact) : integer_expression(g, dtype, depth);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

void fuzz_add_axis(generator *g, const char *name, int64_t extent, const char *size) {
  snprintf(g->axes[g->n_axes].name, sizeof g->axes[0].name, "%s", name);
  g->axes[g->n_axes].size = size;
  g->axes[g->n_axes++].extent = extent;
}

const char *fuzz_random_size(generator *g) {
  if (!g->has_symbols || !chance(g, 50)) return NULL;
  return sizes[chance(g, 70) ? below(g, 2) : below(g, RUNTIME_COUNT(sizes))];
}

/* Extents like those of a tensor that exists, or new ones. Returns the number of points. */
static int64_t draw_data_axes(generator *g) {
  static const char *const names[] = {"i", "j", "k", "l", "m"};
  const tensor *like = g->prefer >= 0 && chance(g, 70) ? &g->tensors[g->prefer] : NULL;
  int rank = like ? like->rank : (int)below(g, MAX_RANK + 1);
  int64_t points = 1;
  if (!like && rank == 0 && chance(g, 70)) rank = 2;
  for (int i = 0; i < rank; i++) {
    int64_t extent = like && chance(g, 85) ? like->shape[i] : random_extent(g);
    const char *size = like && chance(g, 85) ? like->size[i] : fuzz_random_size(g);
    if (size) extent = 9;
    if (points * extent > MAX_POINTS) extent = 1 + below(g, 2), size = NULL;
    fuzz_add_axis(g, names[i], extent, size);
    points *= extent;
  }
  return points;
}

static void draw_reduce_axes(generator *g, int64_t points, bool few) {
  static const char *const names[] = {"r", "s", "t"};
  int n = 1 + (int)below(g, 2) + chance(g, 10);
  for (int i = 0; i < n; i++) {
    int64_t extent = few ? 1 + below(g, 3) : random_extent(g);
    const char *size = few ? NULL : fuzz_random_size(g);
    if (size) extent = 9;
    if (points * extent > MAX_WORK) extent = 1 + below(g, 2), size = NULL;
    fuzz_add_axis(g, names[i], extent, size);
    points *= extent;
  }
}

void fuzz_put_axes(generator *g, int first, int last) {
  for (int i = first; i < last; i++) {
    runtime_str_addf(g->out, "%s%s<", i > first ? ", " : "[", g->axes[i].name);
    fuzz_put_extent(g->out, g->axes[i].extent, g->axes[i].size);
  }
  if (last > first) put(g, "]");
}

static const char *draw_combiner(generator *g, tn_dtype dtype) {
  static const char *const all[] = {"sum", "sum", "sum", "max", "min", "prod"};
  if (dtype == TN_BOOL) return chance(g, 50) ? "any" : "all";
  return all[below(g, RUNTIME_COUNT(all))];
}

/* sum[r<4 where condition init = value](source): the parts now and then. Returns whether the value may be rounded. */
static bool reduction(generator *g, tn_dtype dtype, const char *combiner, int rank) {
  bool has_where = chance(g, 20), is_extremum = combiner[0] == 'm', rough = false;
  bool has_init = chance(g, 15) || (has_where && is_extremum && is_float(dtype)); /* no infinities */
  runtime_str_addf(g->out, "%s[", combiner);
  for (int i = rank; i < g->n_axes; i++) {
    runtime_str_addf(g->out, "%s%s<", i > rank ? ", " : "", g->axes[i].name);
    fuzz_put_extent(g->out, g->axes[i].extent, g->axes[i].size);
  }
  if (has_where) {
    put(g, " where ");
    fuzz_expression(g, TN_BOOL, 1 + (int)below(g, 2), true);
  }
  if (has_init) {
    int n_axes = g->n_axes;
    g->n_axes = rank;
    put(g, " init = ");
    rough = fuzz_expression(g, dtype, 1, false);
    g->n_axes = n_axes;
  }
  put(g, "](");
  rough |= fuzz_expression(g, dtype, 1 + (int)below(g, 2), false);
  put(g, ")");
  if (dtype == TN_BOOL || runtime_is_half(dtype) || !chance(g, 15)) return rough;
  g->n_axes = rank; /* the reduction becomes a tensor of its own */
  put(g, " + ");
  return fuzz_expression(g, dtype, 1, false) || rough;
}

/* A new input of a dtype over the last data axis, when it has one, the reduction axis and another, in any order. */
static void dot_operand(generator *g, tn_dtype acc, tn_dtype dtype, bool has_lanes, int rank) {
  tensor *t = &g->tensors[g->n_tensors++];
  int axes[3], n = 0;
  *t = (tensor){.dtype = dtype};
  snprintf(t->name, sizeof t->name, "A%d", g->n_inputs++);
  axes[n++] = rank;
  if (has_lanes) axes[n++] = rank - 1;
  if (rank > 1 && chance(g, 60)) axes[n++] = 0;
  runtime_str_addf(&g->inputs, "input %s: %s", t->name, tn_dtype_name(dtype));
  if (acc == dtype)
    put(g, t->name);
  else
    runtime_str_addf(g->out, "%s(%s", tn_dtype_name(acc), t->name);
  for (const char *between = "["; n > 0; between = ", ") {
    int at = (int)below(g, n), axis = axes[at], step = !g->axes[axis].size && chance(g, 10) ? 2 : 1;
    axes[at] = axes[--n];
    t->shape[t->rank] = (g->axes[axis].extent - 1) * step + 1;
    t->size[t->rank] = g->axes[axis].size;
    runtime_str_add(&g->inputs, between);
    fuzz_put_extent(&g->inputs, t->shape[t->rank], t->size[t->rank]);
    t->rank++;
    runtime_str_addf(g->out, "%s%s%s", between, g->axes[axis].name, step == 2 ? "*2" : "");
  }
  runtime_str_add(&g->inputs, t->rank > 1 && chance(g, 15) ? "] strided\n" : "]\n");
  put(g, acc == dtype ? "]" : "])");
}

/* With symbols, as long as one of them now and then. */
static void add_dot_axis(generator *g, const char *name, int64_t extent) {
  const char *size = fuzz_random_size(g);
  fuzz_add_axis(g, name, size ? 20 : extent, size);
}

/* Sums of products of bytes, of bf16 or of floats, which tensorize has intrinsics for. */
static bool dot_stage(generator *g, tensor *t) {
  static const int64_t lanes[] = {4, 8, 8, 16, 16, 19, 20, 32}, terms[] = {2, 4, 4, 6, 8, 9, 12, 13};
  static const tn_dtype bytes[] = {TN_U8, TN_I8, TN_I8};
  bool is_gemv = chance(g, 45), is_bf16 = !is_gemv && chance(g, 35);
  if (g->n_tensors + STAGES_ROOM >= MAX_TENSORS) return false;
  g->n_axes = 0;
  t->dtype = is_gemv ? (chance(g, 70) ? TN_F32 : TN_F64) : is_bf16 ? TN_F32 : TN_I32;
  if (chance(g, 70)) add_dot_axis(g, "i", 1 + below(g, 6));
  add_dot_axis(g, "j", lanes[below(g, RUNTIME_COUNT(lanes))]);
  t->rank = g->n_axes;
  add_dot_axis(g, "r", terms[below(g, RUNTIME_COUNT(terms))]);
  fuzz_put_axes(g, 0, t->rank);
  put(g, " = sum[r<");
  fuzz_put_extent(g->out, g->axes[t->rank].extent, g->axes[t->rank].size);
  put(g, "](");
  for (int i = 0; i < 2; i++) {
    if (i) put(g, " * ");
    tn_dtype dtype = is_gemv ? t->dtype : is_bf16 ? TN_BF16 : bytes[below(g, 3)];
    dot_operand(g, t->dtype, dtype, i == 1 || chance(g, is_gemv ? 5 : 30), t->rank);
  }
  put(g, ")\n");
  for (int i = 0; i < t->rank; i++) t->shape[i] = g->axes[i].extent, t->size[i] = g->axes[i].size;
  t->is_rough = is_bf16 || is_gemv;
  return true;
}

/* ---- several values ---------------------------------------------------------------------------------------------- */

/* Combiners of which tolerance.c knows what they do, by the beginning of their names; %s is the dtype that was drawn,
 * or i32. */
static const struct combiner_row {
  const char *name;
  bool is_float;
  int n_values;
  const char *dtypes[3]; /* of the values; "": the one that was drawn */
  const char *sources;   /* a letter a value: x an expression, 0 and 1 themselves */
  const char *text;
} combiner_rows[] = {
    {"sums", true, 2, {"", "i32"}, "xx", "combiner sums_%s(a: %s, b: i32; c, d) = (a + c, b + d), identity (0, 0)\n"},
    {"spread",
     true,
     2,
     {"", ""},
     "xx",
     "combiner spread_%s(a: %s, b: %s; c, d) = (min(a, c), max(b, d)), identity (inf, -inf)\n"},
    {"cprod",
     false,
     2,
     {"", ""},
     "xx",
     "combiner cprod_%s(ar: %s, ai: %s; br, bi) = (ar*br - ai*bi, ar*bi + ai*br), identity (1, 0)\n"},
    {"bits", false, 1, {""}, "x", "combiner bits_%s(a: %s; b) = (a | b), identity (0)\n"},
    {"welford",
     true,
     3,
     {"", "", ""},
     "x01",
     "combiner welford_%s(am: %s, as: %s, an: %s; bm, bs, bn) = (am + (bm - am)*bn/max(an + bn, 1), as + bs + (bm - "
     "am)*(bm - am)*an*bn/max(an + bn, 1), an + bn), identity (0, 0, 0)\n"},
};

static tensor named_value(generator *g, int number, int v, int rank) {
  tensor t = {.rank = rank};
  snprintf(t.name, sizeof t.name, "S%d%s", number, v == 0 ? "" : v == 1 ? "b" : "c");
  for (int i = 0; i < rank; i++) t.shape[i] = g->axes[i].extent, t.size[i] = g->axes[i].size;
  return t;
}

/* (S0, S0b)[i<4] = */
static void put_heading(generator *g, int n, const tensor *values, int rank) {
  for (int v = 0; v < n; v++) runtime_str_addf(g->out, "%s%s", v > 0 ? ", " : n > 1 ? "(" : "", values[v].name);
  if (n > 1) put(g, ")");
  fuzz_put_axes(g, 0, rank);
  put(g, " = ");
}

static void put_reduce_axes(generator *g, int rank, bool has_where) {
  put(g, "[");
  for (int i = rank; i < g->n_axes; i++) {
    runtime_str_addf(g->out, "%s%s<", i > rank ? ", " : "", g->axes[i].name);
    fuzz_put_extent(g->out, g->axes[i].extent, g->axes[i].size);
  }
  if (!has_where) return;
  put(g, " where ");
  fuzz_expression(g, TN_BOOL, 1 + (int)below(g, 2), true);
}

/* Values of these dtypes over the first RANK axes. */
static void put_init(generator *g, int n, const tensor *values, int rank) {
  int n_axes = g->n_axes;
  g->n_axes = rank;
  for (int v = 0; v < n; v++) {
    put(g, v > 0 ? ", " : " init = (");
    fuzz_expression(g, values[v].dtype, 1, true);
  }
  put(g, ")");
  g->n_axes = n_axes;
}

static int plain_tuple(generator *g, int number, int rank, tensor *values) {
  int n = 2 + chance(g, 30);
  for (int v = 0; v < n; v++) {
    values[v] = named_value(g, number, v, rank);
    values[v].dtype = random_dtype(g);
  }
  put_heading(g, n, values, rank);
  for (int v = 0; v < n; v++) {
    put(g, v > 0 ? ", " : "(");
    values[v].is_rough = fuzz_expression(g, values[v].dtype, 1 + (int)below(g, 2), false);
  }
  put(g, ")");
  return n;
}

/* Values must be exact: a rounding could decide. */
static int position_tuple(generator *g, int number, int rank, tensor *values) {
  bool has_where = chance(g, 25), has_index = chance(g, 20);
  for (int v = 0; v < 2; v++) values[v] = named_value(g, number, v, rank);
  values[0].dtype = has_index ? (chance(g, 50) ? TN_I64 : TN_U8) : TN_I32;
  do values[1].dtype = random_dtype(g);
  while (values[1].dtype == TN_BOOL);
  int n = chance(g, 80) ? 2 : 1;
  put_heading(g, n, values, rank);
  put(g, chance(g, 50) ? "argmax" : "argmin");
  put_reduce_axes(g, rank, has_where);
  if (chance(g, 15) || (has_where && is_float(values[1].dtype))) put_init(g, 2, values, rank); /* no infinities */
  put(g, "](");
  if (has_index) fuzz_expression(g, values[0].dtype, 1, true), put(g, ", ");
  fuzz_expression(g, values[1].dtype, 1 + (int)below(g, 2), true);
  put(g, ")");
  return n;
}

static int combiner_tuple(generator *g, int number, int rank, tensor *values) {
  int row_number = (int)below(g, RUNTIME_COUNT(combiner_rows));
  const struct combiner_row *row = &combiner_rows[row_number];
  bool is_wide = chance(g, 25), has_where = chance(g, 25), *is_defined = &g->defined[2 * row_number + is_wide];
  tn_dtype dtype = row->is_float ? (is_wide ? TN_F64 : TN_F32) : is_wide ? TN_I64 : TN_I32;
  const char *name = tn_dtype_name(dtype);
  if (!*is_defined) runtime_str_addf(&g->inputs, row->text, name, name, name, name);
  *is_defined = true;
  for (int v = 0; v < row->n_values; v++) {
    values[v] = named_value(g, number, v, rank);
    values[v].dtype = row->dtypes[v][0] ? TN_I32 : dtype;
  }
  put_heading(g, row->n_values, values, rank);
  runtime_str_addf(g->out, "%s_%s", row->name, name);
  put_reduce_axes(g, rank, has_where);
  bool is_spread = strcmp(row->name, "spread") == 0, is_welford = row->n_values == 3;
  if (!is_welford && (chance(g, 15) || (has_where && is_spread))) put_init(g, row->n_values, values, rank);
  put(g, "](");
  for (int v = 0; v < row->n_values; v++) {
    if (v > 0) put(g, ", ");
    if (row->sources[v] == 'x')
      values[v].is_rough = fuzz_expression(g, values[v].dtype, 1 + (int)below(g, 2), is_welford);
    else
      runtime_str_addf(g->out, "%c", row->sources[v]);
    values[v].is_rough |= is_welford;
  }
  put(g, ")");
  return row->n_values;
}

static void tuple_stage(generator *g, int number) {
  tensor values[3];
  int64_t kind = below(g, 3), points = draw_data_axes(g);
  int rank = g->n_axes, n;
  if (kind > 0) draw_reduce_axes(g, points, false);
  n = kind == 0   ? plain_tuple(g, number, rank, values)
      : kind == 1 ? position_tuple(g, number, rank, values)
                  : combiner_tuple(g, number, rank, values);
  put(g, "\n");
  for (int v = 0; v < n; v++) g->tensors[g->n_tensors++] = values[v];
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static void stage(generator *g, int number) {
  tn_dtype dtype = random_dtype(g);
  tensor t = {.dtype = dtype};
  snprintf(t.name, sizeof t.name, "S%d", number);
  g->n_axes = 0;
  g->prefer = number && chance(g, 85) ? g->n_tensors - 1 : -1;
  if (g->prefer >= 0 && chance(g, 50)) dtype = g->tensors[g->prefer].dtype;
  if (runtime_is_half(dtype)) dtype = TN_F32;
  t.dtype = dtype;
  g->out = &g->stages;
  if (chance(g, 8) && g->n_tensors + STAGES_ROOM < MAX_TENSORS) {
    fuzz_extern_stage(g, number);
    return;
  }
  if (chance(g, 18)) {
    tuple_stage(g, number);
    return;
  }
  if (chance(g, 15)) {
    size_t before = g->out->n;
    put(g, t.name);
    if (dot_stage(g, &t)) {
      g->tensors[g->n_tensors++] = t;
      return;
    }
    g->out->n = before;
  }
  int64_t points = draw_data_axes(g);
  t.rank = g->n_axes;
  for (int i = 0; i < t.rank; i++) t.shape[i] = g->axes[i].extent, t.size[i] = g->axes[i].size;
  put(g, t.name);
  fuzz_put_axes(g, 0, t.rank);
  put(g, " = ");
  if (chance(g, 50)) {
    t.dtype = stored_dtype(g, dtype);
    if (t.dtype != dtype) runtime_str_addf(g->out, "%s(", tn_dtype_name(t.dtype));
    t.is_rough = fuzz_expression(g, dtype, 1 + (int)below(g, 3), false);
    if (t.dtype != dtype) put(g, ")");
    t.is_rough |= t.dtype != dtype;
  } else {
    const char *combiner = draw_combiner(g, dtype);
    draw_reduce_axes(g, points, strcmp(combiner, "prod") == 0);
    t.is_rough = reduction(g, dtype, combiner, t.rank);
  }
  put(g, "\n");
  g->tensors[g->n_tensors++] = t;
}

/* An index into the state at the time i - LAG: its own element, or another one of that time. */
static void put_earlier(generator *g, const tensor *t, int lag, const char *last) {
  runtime_str_addf(g->out, "%s[i - %d", t->name, lag);
  for (int d = 1; d < t->rank; d++) runtime_str_addf(g->out, ", %s", d == t->rank - 1 ? last : g->axes[d].name);
  put(g, "]");
}

/* The state's own earlier value combined with something else; floats are halved, so that they stay small. */
static void put_recurrence(generator *g, const char *earlier, tn_dtype dtype, bool *is_rough) {
  static const char *const forms[][2] = {{"(", " + "}, {"(", " - "}, {"min(", ", "}, {"max(", ", "}};
  int at = (int)below(g, RUNTIME_COUNT(forms));
  runtime_str_addf(g->out, "%s%s%s%s", forms[at][0], earlier, is_float(dtype) && at < 2 ? "*0.5" : "", forms[at][1]);
  *is_rough |= fuzz_expression(g, dtype, 1, false);
  put(g, ")");
}

/* A scan over the first axis; half of them with a step of its own, be it element by element or a sum over the earlier
 * time. The step's values are added up, so that integers wrap and floats stay small. */
static void scan(generator *g, int number) {
  tn_dtype dtype = random_dtype(g);
  tensor t = {.is_rough = false};
  char step[32] = "", earlier[96];
  snprintf(t.name, sizeof t.name, "S%d", number);
  while (dtype == TN_BOOL) dtype = random_dtype(g);
  t.dtype = dtype;
  g->n_axes = 0;
  g->prefer = number ? g->n_tensors - 1 : -1;
  g->out = &g->stages;
  t.rank = 1 + (int)below(g, 3);
  for (int d = 0; d < t.rank; d++) {
    t.shape[d] = 1 + below(g, 9);
    fuzz_add_axis(g, (const char *[]){"i", "j", "k"}[d], t.shape[d], NULL);
  }
  int lag = 1 + chance(g, 20);
  runtime_str_addf(g->out, "state %s: %s", t.name, tn_dtype_name(dtype));
  for (int d = 0; d < t.rank; d++) runtime_str_addf(g->out, "%s%lld", d ? ", " : "[", (long long)t.shape[d]);
  put(g, "]\n");
  bool sums = t.rank > 1 && chance(g, 50);
  if (chance(g, 60)) {
    snprintf(step, sizeof step, "Z%d", number);
    put(g, step);
    fuzz_put_axes(g, 0, t.rank);
    put(g, sums ? " = sum[r<" : " = select(i >= ");
    if (sums)
      runtime_str_addf(g->out, "%lld where i >= %d](", (long long)t.shape[t.rank - 1], lag);
    else
      runtime_str_addf(g->out, "%d, ", lag);
    put_earlier(g, &t, lag, sums ? "r" : g->axes[t.rank - 1].name);
    if (is_float(dtype)) put(g, sums ? "*0.0625" : "*0.5");
    put(g, sums ? ")\n" : ", 1)\n");
    t.is_rough = sums && is_float(dtype);
  }
  runtime_str_addf(g->out, "scan %s", t.name);
  fuzz_put_axes(g, 0, t.rank);
  if (*step) {
    snprintf(earlier, sizeof earlier, "%s[i%s%s]", step, t.rank > 1 ? ", j" : "", t.rank > 2 ? ", k" : "");
    put(g, " = ");
    put_recurrence(g, earlier, dtype, &t.is_rough);
  } else {
    runtime_str_addf(g->out, " = select(i < %d, ", lag);
    t.is_rough = fuzz_expression(g, dtype, 1, false);
    put(g, ", ");
    snprintf(earlier, sizeof earlier, "%s[i - %d%s%s]", t.name, lag, t.rank > 1 ? ", j" : "", t.rank > 2 ? ", k" : "");
    put_recurrence(g, earlier, dtype, &t.is_rough);
    put(g, ")");
  }
  put(g, "\n");
  g->tensors[g->n_tensors++] = t;
}

/* Says what the results are, what no stage reads and some of what is read, and that rows of some are apart. Values that
 * belong together stay so. */
static void put_outputs(generator *g) {
  const char *before = "output ";
  for (int i = 0; i < g->n_tensors; i++) {
    const tensor *t = &g->tensors[i];
    if (t->name[0] != 'S' || (t->is_read && chance(g, 60))) continue;
    runtime_str_addf(&g->stages, "%s%s%s", before, t->name, t->rank > 1 && chance(g, 50) ? " strided" : "");
    before = ", ";
  }
  runtime_str_add(&g->stages, "\n");
}

/* One to six stages of any kind. */
static void any_program(generator *g) {
  g->has_symbols = chance(g, 25);
  int n = 1 + (int)below(g, 4) + chance(g, 20) + chance(g, 10);
  for (int i = 0; i < n; i++) (chance(g, 12) ? scan : stage)(g, i);
  if (chance(g, 20)) put_outputs(g);
}

bool fuzz_generate(runtime_rng *rng, runtime_str *out) {
  static const char *const symbols[] = {"symbol M, N\n", "symbol M<=40, N<=40\n", "symbol 2<=M<=30, N\n",
                                        "symbol M<=1000, N<=60\n", "symbol 9<=M<=50, 5<=N<=40\n"};
  generator g = {.rng = rng, .prefer = -1};
  bool is_of_family = chance(&g, 15) || getenv("TENON_FUZZ_FAMILIES");
  (is_of_family ? fuzz_family_program : any_program)(&g);
  if (g.has_symbols) runtime_str_add(out, symbols[below(&g, RUNTIME_COUNT(symbols))]);
  runtime_str_add(out, g.inputs.data ? g.inputs.data : "");
  runtime_str_add(out, g.stages.data);
  runtime_str_free(&g.inputs);
  runtime_str_free(&g.stages);
  return is_of_family;
}
