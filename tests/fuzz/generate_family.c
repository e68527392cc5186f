/* Programs like those that the plan families are for, and that `stage` seldom makes: chains of small windows and stages
 * point by point over rows and columns (or rows alone), and copies that turn or join arrays. Every read stays inside by
 * the extents of its stage, or by a select or clamp at the edges. */
#include <stdio.h>

#include "tests/fuzz/generator.h"

enum { MAX_CHAIN = 6, MAX_GRID = 3, MAX_WINDOW = 5 };

/* One tensor of a chain, over [channels,] [rows,] columns; or over rows, columns and interleaved colours. */
typedef struct grid {
  char name[16];
  int rank;
  int64_t shape[MAX_GRID];
} grid;

typedef struct chain {
  generator *g;
  const char *dtype;
  bool is_float, is_padded; /* padded: every stage has the first one's extents */
  int behind;               /* axes behind the columns */
  int n;
  grid grids[2 * MAX_CHAIN];
} chain;

static const char *const axis_names[MAX_GRID][MAX_GRID] = {{"x"}, {"y", "x"}, {"c", "y", "x"}};

static grid new_input(chain *x, int rank, const int64_t *shape) {
  grid in = {.rank = rank};
  generator *g = x->g;
  snprintf(in.name, sizeof in.name, "A%d", g->n_inputs++);
  memcpy(in.shape, shape, sizeof in.shape);
  runtime_str_addf(&g->inputs, "input %s: %s", in.name, x->dtype);
  for (int d = 0; d < rank; d++) runtime_str_addf(&g->inputs, "%s%lld", d ? ", " : "[", (long long)shape[d]);
  runtime_str_add(&g->inputs, chance(g, 10) && rank > 1 ? "] strided\n" : "]\n");
  return in;
}

/* The last of them mostly, so that stages form a chain; one before it now and then, so that some have several readers. */
static const grid *choose(chain *x) {
  generator *g = x->g;
  return &x->grids[chance(g, 65) ? x->n - 1 : (int)below(g, x->n)];
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* A stage's extents so far, and whether its axes in front of rows and columns are there. */
typedef struct shaping {
  int rank;
  int64_t shape[MAX_GRID];
} shaping;

/* SHAPE + OFFSETS + WINDOW - 1 elements of FROM are read. */
static void shrink(shaping *s, const grid *from, const int64_t *most) {
  for (int d = 0; d < s->rank; d++) {
    int of = d - s->rank + from->rank;
    if (of >= 0) s->shape[d] = RUNTIME_MIN(s->shape[d], from->shape[of] - most[d]);
  }
}

/* One read at OFFSET from the stage's point; behind the edges zero or the nearest element. REDUCE: names of the axes of a
 * window, or NULL. */
static void put_tap(chain *x, const shaping *s, const grid *from, const int64_t *offset, const char *const *reduce) {
  generator *g = x->g;
  char index[MAX_GRID][48], guard[400] = "";
  bool clamps = x->is_padded && chance(g, 30);
  for (int d = 0; d < from->rank; d++) {
    int at = s->rank - from->rank + d;
    long long last = from->shape[d] - 1, by = offset[at] - (x->is_padded ? 1 : 0);
    char *to = index[d], place[32];
    snprintf(place, sizeof place, "%s%s%s", axis_names[s->rank - 1][at], reduce[at] ? " + " : "",
             reduce[at] ? reduce[at] : "");
    bool is_moved = by != 0 || reduce[at];
    if (by)
      snprintf(place + strlen(place), sizeof place - strlen(place), " %c %lld", by < 0 ? '-' : '+', by < 0 ? -by : by);
    bool needs = x->is_padded && is_moved;
    snprintf(to, sizeof index[d], needs && clamps ? "max(min(%s, %lld), 0)" : "%s", place, last);
    if (needs && !clamps)
      snprintf(guard + strlen(guard), sizeof guard - strlen(guard), "%s%s >= 0 && %s < %lld", guard[0] ? " && " : "",
               place, place, last + 1);
  }
  if (guard[0]) runtime_str_addf(g->out, "select(%s, ", guard);
  put(g, from->name);
  for (int d = 0; d < from->rank; d++) runtime_str_addf(g->out, "%s%s", d ? ", " : "[", index[d]);
  put(g, "]");
  if (guard[0]) runtime_str_addf(g->out, ", %s(0))", x->dtype);
}

static const char *const no_window[MAX_GRID] = {NULL};

/* The axis of columns; rows, where there are some, stand before it. */
static int column_of(const chain *x, const shaping *s) { return s->rank - 1 - x->behind; }

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static const char *coefficient(chain *x) {
  static const char *const floats[] = {"0.5", "0.25", "-0.25", "0.125", "1"};
  static const char *const integers[] = {"1", "2", "3", "1", "2"};
  return (x->is_float ? floats : integers)[below(x->g, 5)];
}

/* Sums of taps that are written out. */
static void put_taps(chain *x, shaping *s, const grid *from) {
  generator *g = x->g;
  int n = 2 + (int)below(g, 4);
  int64_t width = 1 + below(g, MAX_WINDOW), most[MAX_GRID] = {0};
  bool in_rows = chance(g, 70), in_columns = !in_rows || chance(g, 70);
  for (int k = 0; k < n; k++) {
    int64_t offset[MAX_GRID] = {0};
    int column = column_of(x, s);
    if (in_columns) offset[column] = below(g, width + 1);
    if (in_rows && column > 0) offset[column - 1] = below(g, width + 1);
    for (int d = 0; d < s->rank; d++) most[d] = RUNTIME_MAX(most[d], offset[d]);
    put(g, k == 0 ? "" : chance(g, 75) ? " + " : " - ");
    if (chance(g, 60)) runtime_str_addf(g->out, "%s(%s) * ", x->dtype, coefficient(x));
    put_tap(x, s, from, offset, no_window);
  }
  shrink(s, from, most);
}

/* A reduction over a window, with a table of weights or without. */
static void put_window(chain *x, shaping *s, const grid *from) {
  static const char *const combiners[] = {"sum", "sum", "max", "min"};
  generator *g = x->g;
  const char *reduce[MAX_GRID] = {NULL};
  int64_t most[MAX_GRID] = {0}, none[MAX_GRID] = {0},
          w[MAX_GRID] = {1 + below(g, MAX_WINDOW), 1 + below(g, MAX_WINDOW)};
  bool in_rows = s->rank > 1 && chance(g, 60), in_columns = !in_rows || chance(g, 65), weighs = chance(g, 30);
  int n = 0, column = column_of(x, s);
  runtime_str_addf(g->out, "%s[", combiners[weighs ? 0 : below(g, RUNTIME_COUNT(combiners))]);
  if (in_rows) reduce[column - 1] = "r", most[column - 1] = w[0] - 1;
  if (in_columns) reduce[column] = "s", most[column] = w[1] - 1;
  for (int d = 0; d < s->rank; d++)
    if (reduce[d]) runtime_str_addf(g->out, "%s%s<%lld", n++ ? ", " : "", reduce[d], (long long)most[d] + 1);
  put(g, "](");
  put_tap(x, s, from, none, reduce);
  if (weighs) {
    int64_t shape[MAX_GRID] = {in_rows ? w[0] : w[1], w[1]};
    grid table = new_input(x, n, shape);
    runtime_str_addf(g->out, " * %s[%s%s%s]", table.name, in_rows ? "r" : "", n > 1 ? ", " : "", in_columns ? "s" : "");
  }
  put(g, ")");
  shrink(s, from, most);
}

/* Point by point, of one tensor or of two. */
static void put_points(chain *x, shaping *s, const grid *from) {
  static const char *const forms[][3] = {
      {"(", " + ", ")"}, {"(", " - ", ")"}, {"(", " * ", ")"}, {"max(", ", ", ")"}, {"min(", ", ", ")"}};
  generator *g = x->g;
  int64_t here[MAX_GRID] = {0}, there[MAX_GRID] = {0};
  const grid *other = choose(x);
  if (other->rank > s->rank) other = from;
  for (int d = 0; d < s->rank; d++) here[d] = there[d] = x->is_padded ? 1 : 0;
  if (other == from || chance(g, 40)) there[column_of(x, s)] += below(g, 3); /* elsewhere: a margin that is cut off */
  int at = (int)below(g, RUNTIME_COUNT(forms));
  bool is_root = x->is_float && chance(g, 15);
  put(g, is_root ? "sqrt(abs(" : "");
  put(g, forms[at][0]);
  put_tap(x, s, from, here, no_window);
  put(g, forms[at][1]);
  put_tap(x, s, other, there, no_window);
  put(g, forms[at][2]);
  put(g, is_root ? ") + 1)" : "");
  shrink(s, from, here);
  shrink(s, other, there);
}

/* Channels weighed together: rows and columns are left. */
static void put_channels(chain *x, shaping *s, const grid *from) {
  generator *g = x->g;
  s->rank = 2, s->shape[0] = from->shape[1], s->shape[1] = from->shape[2];
  for (int64_t c = 0; c < from->shape[0]; c++)
    runtime_str_addf(g->out, "%s%s(%s) * %s[%lld, y, x]", c ? " + " : "", x->dtype, coefficient(x), from->name,
                     (long long)c);
}

/* The next level of a pyramid: of rows, columns or both every second one, with those between. */
static void put_halves(chain *x, shaping *s, const grid *from) {
  generator *g = x->g;
  int column = column_of(x, s), n = 2 + (int)below(g, 3);
  bool halves[MAX_GRID] = {false};
  halves[column] = column == 0 || chance(g, 80);
  if (column > 0) halves[column - 1] = !halves[column] || chance(g, 70);
  for (int k = 0; k < n; k++) {
    put(g, k == 0 ? from->name : chance(g, 75) ? " + " : " - ");
    if (k > 0) put(g, from->name);
    for (int d = 0; d < s->rank; d++) {
      const char *name = axis_names[s->rank - 1][d];
      runtime_str_addf(g->out, halves[d] ? "%s%s*2 + %d" : "%s%s", d ? ", " : "[", name, (int)below(g, 2));
    }
    put(g, "]");
  }
  for (int d = 0; d < s->rank; d++) s->shape[d] /= halves[d] ? 2 : 1;
}

/* As many axes as FROM has, or more of another tensor. */
static shaping shape_like(chain *x, const grid *from) {
  const grid *first = &x->grids[0];
  shaping s = {.rank = chance(x->g, 80) ? from->rank : first->rank};
  memcpy(s.shape, s.rank == from->rank ? from->shape : first->shape, sizeof s.shape);
  for (int d = 0; d < from->rank; d++) s.shape[s.rank - from->rank + d] = from->shape[d];
  return s;
}

/* Extents come last: what stands in front of them depends on them. */
static void stencil_stage(chain *x, int number) {
  generator *g = x->g;
  runtime_str body = {0}, *all = g->out;
  const grid *from = choose(x);
  shaping s = shape_like(x, from);
  int64_t kind = below(g, 100);
  shaping whole = s;
  g->out = &body;
  bool halves = !x->is_padded && s.rank == from->rank && chance(g, 10);
  if (from->rank == 3 && x->behind == 0 && chance(g, 25))
    put_channels(x, &s, from);
  else if (halves)
    put_halves(x, &s, from);
  else
    (kind < 40 ? put_taps : kind < 70 ? put_window : put_points)(x, &s, from);
  g->out = all;
  if (x->is_padded && s.rank == whole.rank) s = whole;
  bool fits = true;
  for (int d = 0; d < s.rank; d++) fits &= s.shape[d] > 0;
  grid made = {.rank = s.rank};
  snprintf(made.name, sizeof made.name, "S%d", number);
  memcpy(made.shape, s.shape, sizeof made.shape);
  if (fits) {
    put(g, made.name);
    for (int d = 0; d < s.rank; d++)
      runtime_str_addf(g->out, "%s%s<%lld", d ? ", " : "[", axis_names[s.rank - 1][d], (long long)s.shape[d]);
    runtime_str_addf(g->out, "] = %s\n", body.data);
    x->grids[x->n++] = made;
  }
  runtime_str_free(&body);
}

/* Long rows and columns now and then, so that vectors and blocks are full. */
static void stencil_chain(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "f32", "f32", "f64", "i32", "i16", "u8"};
  chain x = {.g = g, .dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))], .is_padded = chance(g, 25)};
  x.is_float = x.dtype[0] == 'f';
  int rank = chance(g, 15) ? 1 : chance(g, 30) ? 3 : 2, n = 2 + (int)below(g, MAX_CHAIN - 1);
  int64_t columns = 8 + below(g, chance(g, 50) ? 30 : 110), rows = 6 + below(g, 24);
  int64_t shape[MAX_GRID] = {rank == 3 ? 1 + below(g, 3) : rows, rank == 3 ? rows : columns, columns};
  if (rank == 1) shape[0] = 8 + below(g, 300);
  if (rank == 3 && chance(g, 40)) {
    x.behind = 1;
    shape[0] = rows, shape[1] = columns, shape[2] = 1 + below(g, 5);
  }
  x.grids[x.n++] = new_input(&x, rank, shape);
  for (int i = 0; i < n; i++) stencil_stage(&x, i);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* An array whose dimensions change places, now and then reversed, apart or joined with another one. */
static void turned_array(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "u8", "u8", "i16", "bf16", "f64", "i64"};
  static const char *const names[] = {"i", "j", "k", "l"};
  const char *dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))];
  int rank = 2 + (int)below(g, 3), from[4] = {0, 1, 2, 3};
  int64_t extent[4];
  for (int d = 0; d < rank; d++) extent[d] = rank == 2 ? 1 + below(g, 90) : 1 + below(g, rank == 3 ? 24 : 10);
  for (int d = rank - 1; d > 0; d--) {
    int with = (int)below(g, d + 1), kept = from[d];
    from[d] = from[with], from[with] = kept;
  }
  int way = (int)below(g, 6), reversed = way == 1 ? (int)below(g, rank) : -1,
      apart = way == 2 ? (int)below(g, rank) : -1;
  runtime_str_addf(&g->inputs, "input A0: %s", dtype);
  for (int d = 0; d < rank; d++)
    runtime_str_addf(&g->inputs, "%s%lld", d ? ", " : "[", (long long)extent[from[d]] * (d == apart ? 2 : 1));
  runtime_str_add(&g->inputs, chance(g, 15) ? "] strided\n" : "]\n");
  put(g, "S0");
  for (int d = 0; d < rank; d++) runtime_str_addf(g->out, "%s%s<%lld", d ? ", " : "[", names[d], (long long)extent[d]);
  put(g, way == 3 ? "] = -A0" : "] = A0");
  for (int d = 0; d < rank; d++) {
    const char *name = names[from[d]];
    put(g, d ? ", " : "[");
    if (d == reversed)
      runtime_str_addf(g->out, "%lld - %s", (long long)extent[from[d]] - 1, name);
    else
      runtime_str_addf(g->out, d == apart ? "%s*2" : "%s", name);
  }
  put(g, "]\n");
}

/* ---- few columns ------------------------------------------------------------------------------------------------- */

/* A reduction along a few columns, now and then of several arrays, over one more axis or of what was computed; or along short
 * rows. */
static void few_columns(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "f64", "i32", "i8", "u8"};
  static const char *const reductions[] = {"sum", "max", "min", "argmax", "argmin"};
  const char *dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))], *reduction = reductions[below(g, 5)];
  bool has_batch = chance(g, 40), has_more = chance(g, 25), by_rows = chance(g, 30), chooses = reduction[0] == 'a';
  int64_t rows = 1 + below(g, chance(g, 50) ? 70 : 300), columns = 1 + below(g, chance(g, 70) ? 9 : 40);
  int64_t batch = 1 + below(g, 4), more = 1 + below(g, 3);
  const char *last = by_rows ? "j, k" : "k, j";
  runtime_str_addf(&g->inputs, "input A0: %s[", dtype);
  if (has_batch) runtime_str_addf(&g->inputs, "%lld, ", (long long)batch);
  if (has_more && !chooses) runtime_str_addf(&g->inputs, "%lld, ", (long long)more);
  runtime_str_addf(&g->inputs, "%lld, %lld]\n", (long long)(by_rows ? columns : rows),
                   (long long)(by_rows ? rows : columns));
  put(g, chooses ? "(S0, S1)[" : "S0[");
  if (has_batch) runtime_str_addf(g->out, "b<%lld, ", (long long)batch);
  runtime_str_addf(g->out, "j<%lld] = %s[", (long long)columns, reduction);
  if (has_more && !chooses) runtime_str_addf(g->out, "m<%lld, ", (long long)more);
  runtime_str_addf(g->out, "k<%lld](A0[%s%s%s])\n", (long long)rows, has_batch ? "b, " : "",
                   has_more && !chooses ? "m, " : "", last);
}

/* ---- statistics --------------------------------------------------------------------------------------------------- */

enum { MAX_STATISTIC_AXES = 4 };

/* Sums over some axes of an array, and what is computed of the array and of them. */
typedef struct statistics {
  generator *g;
  int rank;
  int64_t shape[MAX_STATISTIC_AXES], width; /* width: of the groups that the last axis is parted into; 0: it is not */
  bool is_kept[MAX_STATISTIC_AXES];
} statistics;

static const char *const statistic_axes[MAX_STATISTIC_AXES] = {"a", "b", "c", "d"};

static bool is_parted(const statistics *x, int axis) { return x->width > 0 && axis == x->rank - 1; }

/* "a<4, b<7": the axes that are KEPT, or the others, of a parted one its groups or its part of a group. */
static void put_axes(statistics *x, bool kept) {
  int n = 0;
  for (int d = 0; d < x->rank; d++) {
    bool parted = is_parted(x, d);
    if (x->is_kept[d] != kept && !parted) continue;
    int64_t extent = !parted ? x->shape[d] : kept ? x->shape[d] / x->width : x->width;
    runtime_str_addf(x->g->out, "%s%s<%lld", n++ ? ", " : "", parted && kept ? "g" : statistic_axes[d],
                     (long long)extent);
  }
  if (n == 0) put(x->g, kept ? "u<1" : "r<1");
}

/* The array's element: in a sum, or BY_POINT. */
static void put_element(statistics *x, bool by_point) {
  put(x->g, "A0[");
  for (int d = 0; d < x->rank; d++) {
    put(x->g, d ? ", " : "");
    if (is_parted(x, d) && !by_point)
      runtime_str_addf(x->g->out, "g*%lld + %s", (long long)x->width, statistic_axes[d]);
    else
      put(x->g, statistic_axes[d]);
  }
  put(x->g, "]");
}

/* What was computed for the element: in a sum, or BY_POINT. */
static void put_statistic(statistics *x, const char *name, bool by_point) {
  int n = 0;
  runtime_str_addf(x->g->out, "%s[", name);
  for (int d = 0; d < x->rank; d++) {
    if (!x->is_kept[d] && !is_parted(x, d)) continue;
    put(x->g, n++ ? ", " : "");
    if (is_parted(x, d) && by_point)
      runtime_str_addf(x->g->out, "%s//%lld", statistic_axes[d], (long long)x->width);
    else
      put(x->g, is_parted(x, d) ? "g" : statistic_axes[d]);
  }
  put(x->g, n == 0 ? (by_point ? "0]" : "u]") : "]");
}

static void put_sum(statistics *x, const char *name, const char *of) {
  static const char *const reductions[] = {"sum", "sum", "max", "min"};
  runtime_str_addf(x->g->out, "%s[", name);
  put_axes(x, true);
  runtime_str_addf(x->g->out, "] = %s[", of ? "sum" : reductions[below(x->g, 4)]);
  put_axes(x, false);
  put(x->g, "](");
  for (int factor = 0; factor < (of ? 2 : 1); factor++) {
    put(x->g, factor ? " * (" : of ? "(" : "");
    put_element(x, false);
    if (of) put(x->g, " - "), put_statistic(x, of, false), put(x->g, ")");
  }
  put(x->g, ")\n");
}

static void draw_shape(statistics *x) {
  generator *g = x->g;
  int64_t room = MAX_POINTS;
  int n_kept = 0;
  x->rank = 1 + (int)below(g, MAX_STATISTIC_AXES);
  for (int d = 0; d < x->rank; d++) {
    x->shape[d] = 1 + below(g, RUNTIME_MAX(RUNTIME_MIN(room, chance(g, 40) ? 70 : 12), 1));
    room /= x->shape[d];
    x->is_kept[d] = chance(g, 50);
    n_kept += x->is_kept[d];
  }
  int last = x->rank - 1;
  if (chance(g, 30) && n_kept > 0) {
    x->width = 1 + below(g, 17);
    x->shape[last] = x->width * RUNTIME_MAX(x->shape[last] / x->width, 1);
  }
}

/* Norms of batches, channels, groups and rows: means, variances and maxima over some axes, and what they are used for. */
static void statistics_program(generator *g) {
  statistics x = {.g = g};
  draw_shape(&x);
  runtime_str_addf(&g->inputs, "input A0: %s", chance(g, 75) ? "f32" : "f64");
  for (int d = 0; d < x.rank; d++) runtime_str_addf(&g->inputs, "%s%lld", d ? ", " : "[", (long long)x.shape[d]);
  runtime_str_add(&g->inputs, chance(g, 10) && x.rank > 1 ? "] strided\n" : "]\n");
  put_sum(&x, "S0", NULL);
  bool has_second = chance(g, 60), has_points = chance(g, 75);
  if (has_second) put_sum(&x, "S1", chance(g, 75) ? "S0" : NULL);
  if (!has_points) return;
  bool turned = chance(g, 30);
  put(g, "S2[");
  for (int d = 0; d < x.rank; d++)
    runtime_str_addf(g->out, "%s%s<%lld", d ? ", " : "", statistic_axes[d], (long long)x.shape[d]);
  put(g, turned ? "] = abs(" : "] = (");
  put_element(&x, true);
  put(g, " - "), put_statistic(&x, "S0", true), put(g, ")");
  if (has_second) put(g, " * rsqrt(abs("), put_statistic(&x, "S1", true), put(g, ") + 1)");
  put(g, "\n");
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* A filter whose steps count by phase, as in a convolution that a stride spreads out; now and then the phases are put
 * beside each other by a stage of its own. Vectors go along filters or along columns. */
static void phases(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "f32", "f64", "i32"};
  const char *dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))];
  int64_t m = 2 + chance(g, 30), k = 2 + below(g, 4), rows = 1 + below(g, 7),
          columns = 1 + below(g, chance(g, 50) ? 9 : 40), c = 1 + below(g, 9), f = 1 + below(g, chance(g, 50) ? 5 : 40),
          reach = (m - 1 + k - 1) / m, rest[2] = {below(g, m), below(g, m)};
  bool by_columns = chance(g, 40), in_rows = chance(g, 70), is_padded = chance(g, 50), turns = chance(g, 60);
  const char *image = is_padded ? "P" : "A0";
  int64_t wide = columns + reach, high = in_rows ? rows + reach : rows;
  int64_t less = is_padded ? 1 : 0;
  runtime_str_addf(&g->inputs, by_columns ? "input A0: %s[%lld, %lld, %lld]\n" : "input A0: %s[%lld, %lld, %lld]\n",
                   dtype, (long long)RUNTIME_MAX(high - less, 1),
                   (long long)(by_columns ? c : RUNTIME_MAX(wide - less, 1)),
                   (long long)(by_columns ? RUNTIME_MAX(wide - less, 1) : c));
  runtime_str_addf(&g->inputs, "input A1: %s[%lld, %lld, %lld, %lld]\n", dtype, (long long)k, (long long)k,
                   (long long)c, (long long)f);
  if (is_padded)
    runtime_str_addf(g->out,
                     "P[%s<%lld, %s<%lld, %s<%lld] = select(y >= 1 && y - 1 < %lld && x >= 1 && x - 1 < %lld, A0[y-1, "
                     "%s], %s(0))\n",
                     "y", (long long)high, by_columns ? "c" : "x", (long long)(by_columns ? c : wide),
                     by_columns ? "x" : "c", (long long)(by_columns ? wide : c), (long long)RUNTIME_MAX(high - 1, 1),
                     (long long)RUNTIME_MAX(wide - 1, 1), by_columns ? "c, x-1" : "x-1, c", dtype);
  runtime_str_addf(g->out,
                   by_columns ? "S0[y<%lld, p<%lld, f<%lld, q<%lld, x<%lld] = sum["
                              : "S0[y<%lld, p<%lld, x<%lld, q<%lld, f<%lld] = sum[",
                   (long long)rows, (long long)(in_rows ? m : 1), (long long)(by_columns ? f : columns), (long long)m,
                   (long long)(by_columns ? columns : f));
  if (in_rows) runtime_str_addf(g->out, "r<%lld, ", (long long)k);
  runtime_str_addf(g->out, "s<%lld, c<%lld where ", (long long)k, (long long)c);
  if (in_rows) runtime_str_addf(g->out, "(p+r)%%%lld == %lld && ", (long long)m, (long long)rest[0]);
  runtime_str_addf(g->out, "(%s)%%%lld == %lld](", turns ? "s+q" : "q+s", (long long)m, (long long)rest[1]);
  char row[48], column[48];
  snprintf(row, sizeof row, in_rows ? "y+(p+r)//%lld" : "y", (long long)m);
  snprintf(column, sizeof column, "x+(q+s)//%lld", (long long)m);
  runtime_str_addf(g->out, "%s[%s, %s, %s] * A1[%s, %lld-s, c, f])\n", image, row, by_columns ? "c" : column,
                   by_columns ? column : "c", in_rows ? "r" : "0", (long long)k - 1);
  if (!chance(g, 75)) return;
  long long all_rows = (long long)(rows * (in_rows ? m : 1)), all_columns = (long long)(columns * m);
  char at[96];
  snprintf(at, sizeof at, in_rows ? "h//%lld, h%%%lld" : "h, 0", (long long)m, (long long)m);
  runtime_str_addf(g->out, "S1[h<%lld, w<%lld, f<%lld] = S0[%s, ", all_rows, all_columns, (long long)f, at);
  runtime_str_addf(g->out, by_columns ? "f, w%%%lld, w//%lld]%s\n" : "w//%lld, w%%%lld, f]%s\n", (long long)m,
                   (long long)m, chance(g, 30) ? " + 1" : "");
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* Rows and columns with channels behind them or in front; a size that is no multiple of a vector mostly. */
typedef struct turns {
  generator *g;
  const char *dtype;
  long long rows, columns, channels, by; /* by: steps of windows, copies of an element */
} turns;

static void put_input(turns *x, int n, const long long *shape) {
  generator *g = x->g;
  runtime_str_addf(&g->inputs, "input A%d: %s", g->n_inputs++, x->dtype);
  for (int d = 0; d < n; d++) runtime_str_addf(&g->inputs, "%s%lld", d ? ", " : "[", shape[d]);
  runtime_str_add(&g->inputs, chance(g, 10) ? "] strided\n" : "]\n");
}

/* Channels weighed, turned round, taken apart or put behind each other. */
static void put_colours(turns *x) {
  generator *g = x->g;
  int way = (int)below(g, 5);
  bool is_behind = way < 4;
  put_input(
      x, 3,
      is_behind ? (long long[]){x->rows, x->columns, x->channels} : (long long[]){x->channels, x->rows, x->columns});
  runtime_str_addf(g->out, "S0[");
  if (way == 0) {
    runtime_str_addf(g->out, "y<%lld, x<%lld] = ", x->rows, x->columns);
    for (int c = 0; c < x->channels; c++)
      runtime_str_addf(g->out, "%sA0[y, x, %d] * %s(%d)", c ? " + " : "", c, x->dtype, c + 1);
  } else if (way == 1) {
    runtime_str_addf(g->out, "y<%lld, x<%lld, c<%lld] = A0[y, x, %lld - c]", x->rows, x->columns, x->channels,
                     x->channels - 1);
  } else if (way == 2) {
    runtime_str_addf(g->out, "c<%lld, y<%lld, x<%lld] = A0[y, x, c]", x->channels, x->rows, x->columns);
  } else if (way == 3) {
    runtime_str_addf(g->out, "y<%lld, x<%lld, c<%lld] = select(c == %lld, A0[y, x, c], A0[y, x, c] * A0[y, x, %lld])",
                     x->rows, x->columns, x->channels, (long long)below(g, x->channels),
                     (long long)below(g, x->channels));
  } else {
    runtime_str_addf(g->out, "y<%lld, x<%lld, c<%lld] = A0[c, y, x]", x->rows, x->columns, x->channels);
  }
  put(g, "\n");
}

/* Windows that move on by more than one element, with a border of zeros now and then; reduced or written out. */
static void put_steps(turns *x) {
  static const char *const combiners[] = {"sum", "max", "min"};
  generator *g = x->g;
  long long r = 1 + below(g, 3), s = 1 + below(g, 4), rest = below(g, 2);
  bool is_padded = chance(g, 25), is_written = !is_padded && chance(g, 40), has_planes = chance(g, 40);
  long long rows = (x->rows - 1) * x->by + r + rest, columns = (x->columns - 1) * x->by + s + rest;
  long long less = is_padded ? 1 : 0, planes = 1 + below(g, 3);
  const char *at = has_planes ? "p, " : "";
  put_input(x, has_planes ? 3 : 2,
            has_planes ? (long long[]){planes, RUNTIME_MAX(rows - less, 1), RUNTIME_MAX(columns - less, 1)}
                       : (long long[]){RUNTIME_MAX(rows - less, 1), RUNTIME_MAX(columns - less, 1)});
  put(g, "S0[");
  if (has_planes) runtime_str_addf(g->out, "p<%lld, ", planes);
  runtime_str_addf(g->out, "y<%lld, x<%lld] = ", x->rows, x->columns);
  for (long long k = 0; is_written && k < r * s; k++)
    runtime_str_addf(g->out, "%sA0[%sy*%lld + %lld, x*%lld + %lld]", k ? " + " : "", at, x->by, k / s, x->by, k % s);
  if (!is_written) {
    runtime_str_addf(g->out, "%s[r<%lld, s<%lld", combiners[below(g, 3)], r, s);
    if (is_padded)
      runtime_str_addf(g->out, " where y*%lld + r >= 1 && y*%lld + r < %lld && x*%lld + s >= 1 && x*%lld + s < %lld",
                       x->by, x->by, RUNTIME_MAX(rows - 1, 1) + 1, x->by, x->by, RUNTIME_MAX(columns - 1, 1) + 1);
    runtime_str_addf(g->out, "](A0[%sy*%lld + r - %lld, x*%lld + s - %lld])", at, x->by, less, x->by, less);
  }
  put(g, "\n");
}

/* Elements that are written several times, by what they lie next to, and blocks that become channels or come from them. */
static void put_copies(turns *x) {
  generator *g = x->g;
  int way = (int)below(g, 4);
  long long m = x->by, wide = x->columns * m, high = x->rows * m;
  if (way == 0) {
    put_input(x, 2, (long long[]){x->rows + 1, x->columns + 1});
    runtime_str_addf(
        g->out,
        "S0[y<%lld, x<%lld] = select(x%%%lld == 0, A0[y//%lld, x//%lld], A0[y//%lld, x//%lld] + A0[y//%lld + 1, "
        "x//%lld + 1])\n",
        high, wide, m, m, m, m, m, m, m);
  } else if (way == 1) {
    put_input(x, 3, (long long[]){m * m, x->rows, x->columns});
    runtime_str_addf(g->out, "S0[y<%lld, x<%lld] = A0[y%%%lld*%lld + x%%%lld, y//%lld, x//%lld]\n", high, wide, m, m, m,
                     m, m);
  } else if (way == 2) {
    put_input(x, 2, (long long[]){high, wide});
    runtime_str_addf(g->out, "S0[c<%lld, y<%lld, x<%lld] = A0[y*%lld + c//%lld, x*%lld + c%%%lld]\n", m * m, x->rows,
                     x->columns, m, m, m, m);
  } else {
    put_input(x, 2, (long long[]){high + 1, wide + 1});
    runtime_str_addf(g->out, "S0[y<%lld, x<%lld] = select((x + y)%%%lld == 0, A0[y, x], A0[y + 1, x] + A0[y, x + 1])\n",
                     high, wide, m);
  }
}

/* What lies in turns: colours, every so many elements of a row, phases. */
static void turned_elements(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "u8", "i16", "i32", "f64"};
  turns x = {.g = g, .dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))], .rows = 1 + below(g, 9)};
  x.columns = 1 + below(g, chance(g, 50) ? 40 : 150);
  x.channels = 1 + below(g, 5);
  x.by = 1 + below(g, 4);
  int64_t kind = below(g, 100);
  (kind < 35 ? put_colours : kind < 70 ? put_steps : put_copies)(&x);
}

/* ---- scans -------------------------------------------------------------------------------------------------------- */

/* A scan without steps, whose input lies along the time or otherwise; now and then it is read at two places, or elements depend on
 * others of earlier times. */
static void long_scan(generator *g) {
  static const char *const dtypes[] = {"f32", "f32", "f64", "i32", "i8"};
  static const char *const names[] = {"t", "b", "i"}, *const orders[] = {"i, t", "t, i", "b, i, t", "i, b, t",
                                                                         "t, b, i"};
  const char *dtype = dtypes[below(g, RUNTIME_COUNT(dtypes))], *half = dtype[0] == 'f' ? "*0.5" : "";
  const int64_t extent[] = {1 + below(g, 70), 1 + below(g, 4), 1 + below(g, chance(g, 60) ? 40 : 150)};
  const char *order = orders[below(g, RUNTIME_COUNT(orders))];
  bool has_batch = order[3] == 'b' || order[0] == 'b';
  int lag = 1 + chance(g, 20);
  runtime_str_addf(&g->inputs, "input A0: %s[", dtype);
  for (const char *at = order; *at; at++) {
    if (*at == ' ') continue;
    for (int a = 0; a < 3; a++)
      if (*at == *names[a]) runtime_str_addf(&g->inputs, "%lld", (long long)extent[a]);
    if (*at == ',') runtime_str_add(&g->inputs, ", ");
  }
  runtime_str_add(&g->inputs, "]\n");
  runtime_str_addf(g->out, "state S0: %s[%lld, ", dtype, (long long)extent[0]);
  if (has_batch) runtime_str_addf(g->out, "%lld, ", (long long)extent[1]);
  runtime_str_addf(g->out, "%lld]\nscan S0[t<%lld, ", (long long)extent[2], (long long)extent[0]);
  if (has_batch) runtime_str_addf(g->out, "b<%lld, ", (long long)extent[1]);
  runtime_str_addf(g->out, "i<%lld] = select(t < %d, A0[%s], S0[t - %d, %s", (long long)extent[2], lag, order, lag,
                   has_batch ? "b, " : "");
  if (chance(g, 15))
    runtime_str_addf(g->out, "(i + 1)%%%lld]", (long long)extent[2]);
  else
    put(g, "i]");
  runtime_str_addf(g->out, "%s + A0[%s]%s)\n", half, order, chance(g, 20) ? "*3" : "");
}

void fuzz_family_program(generator *g) {
  g->out = &g->stages;
  int64_t kind = below(g, 100);
  (kind < 40   ? stencil_chain
   : kind < 50 ? turned_array
   : kind < 60 ? few_columns
   : kind < 76 ? statistics_program
   : kind < 87 ? phases
   : kind < 96 ? turned_elements
               : long_scan)(g);
}
