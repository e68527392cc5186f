/* analyse_types.c: the library's analysers: most answer with a table as it is, some work one out from tables. */
#include <math.h>

#include "profile/analysis.h"

/* ---- step_trace: rounds, and their mean as round 0 --------------------------------------------------------------- */

/* The mean of a column over all rounds but the first (of the first, if there is no other). */
static double mean_of(const tn_rows *rounds, int column) {
  int first = rounds->n > 1 ? 1 : 0;
  double sum = 0;
  for (int i = first; i < rounds->n; ++i) sum += (double)tn_rows_at(rounds, i)[column].i64;
  return sum / (rounds->n - first);
}

/* Round 0 is the mean, so that it stands in front without a column of its own. */
static bool load_step_trace(const tn_rows *const *tables, tn_rows *out) {
  const tn_rows *rounds = tables[0];
  tn_cell mean[32] = {{0}};
  if (rounds->n == 0) return true;
  for (int c = 1; c < rounds->n_columns; ++c) mean[c].i64 = llround(mean_of(rounds, c));
  bool done = analysis_rows_add_cells(out, mean);
  for (int i = 0; done && i < rounds->n; ++i) done = analysis_rows_add_cells(out, tn_rows_at(rounds, i));
  return done;
}

/* ---- category: self times ---------------------------------------------------------------------------------------- */

static const tn_column category_columns[] = {{"category", TN_CELL_TEXT},
                                             {"names", TN_CELL_INT},
                                             {"calls", TN_CELL_INT},
                                             {"self_ns", TN_CELL_INT},
                                             {"share", TN_CELL_REAL}};

typedef struct category_sum {
  int64_t names, calls, self_ns;
} category_sum;

/* Names whose category this version does not know are left out of the sum as well. */
static bool load_category(const tn_rows *const *tables, tn_rows *out) {
  category_sum sums[TN_CATEGORY_COUNT] = {{0}};
  double all = 0;
  for (int i = 0; i < tables[0]->n; ++i) {
    uint32_t bits;
    const char *name = analysis_text(tables[0], i, "category");
    if (!*name || !tn_categories_parse(name, &bits) || !bits) continue;
    category_sum *s = &sums[__builtin_ctz(bits)];
    double self_ns = analysis_number(tables[0], i, "self_ns");
    ++s->names;
    s->calls += (int64_t)analysis_number(tables[0], i, "calls");
    s->self_ns += (int64_t)self_ns;
    all += self_ns;
  }
  bool done = true;
  for (int c = 0; done && c < TN_CATEGORY_COUNT; ++c) {
    const category_sum *s = &sums[c];
    if (s->names)
      done = tn_rows_add(out, tn_category_name((tn_category)c), s->names, s->calls, s->self_ns,
                         all > 0 ? (double)s->self_ns / all : NAN);
  }
  return done;
}

/* ---- utilisation ------------------------------------------------------------------------------------------------- */

static const tn_column utilisation_columns[] = {{"what", TN_CELL_TEXT},
                                                {"used", TN_CELL_REAL},
                                                {"available", TN_CELL_REAL},
                                                {"percent", TN_CELL_REAL},
                                                {"unit", TN_CELL_TEXT}};

/* True also when there is nothing to add. */
static bool add_use(tn_rows *out, const char *what, double used, double available, const char *unit) {
  return isnan(used) || tn_rows_add(out, what, used, available, used / available * 100, unit);
}

/* The processor of this process: percent of one core, as `top` has it; of the machine; its memory; busy workers. */
static bool load_utilisation(const tn_rows *const *tables, tn_rows *out) {
  double wall_s = analysis_fact(tables[0], "duration_ns") * 1e-9, cpu_s = analysis_fact(tables[0], "cpu_ns") * 1e-9;
  bool done = add_use(out, "process cpu", cpu_s, wall_s, "s") &&
              add_use(out, "machine cpu", cpu_s, wall_s * analysis_fact(tables[0], "cores"), "s") &&
              add_use(out, "peak memory", analysis_fact(tables[0], "peak_rss_bytes"),
                      analysis_fact(tables[0], "memory_bytes"), "bytes");
  for (int i = 0; done && i < tables[1]->n; ++i)
    done = add_use(out, analysis_text(tables[1], i, "worker"), analysis_number(tables[1], i, "busy_ns") * 1e-9, wall_s,
                   "s");
  return done;
}

/* ---- roofline ---------------------------------------------------------------------------------------------------- */

static const tn_column roofline_columns[] = {{"name", TN_CELL_TEXT},           {"gflops", TN_CELL_REAL},
                                             {"flops_per_byte", TN_CELL_REAL}, {"peak_gflops", TN_CELL_REAL},
                                             {"memory_gbps", TN_CELL_REAL},    {"roof_gflops", TN_CELL_REAL},
                                             {"achieved", TN_CELL_REAL},       {"bound", TN_CELL_TEXT}};

/* What a kernel (category kernel, argument flops) did, under the lower of two roofs: the machine's arithmetic and its
 * memory (where the bytes that it moves are known). */
static bool load_roofline(const tn_rows *const *tables, tn_rows *out) {
  double peak = analysis_fact(tables[1], "peak_gflops"), gbps = analysis_fact(tables[1], "peak_gbps");
  bool done = true;
  for (int i = 0; done && i < tables[0]->n; ++i) {
    if (strcmp(analysis_text(tables[0], i, "category"), "kernel") != 0) continue;
    if (analysis_is_missing(tables[0], i, "gflops")) continue;
    double gflops = analysis_number(tables[0], i, "gflops"), intensity = NAN, roof = peak;
    if (!analysis_is_missing(tables[0], i, "moved_bytes"))
      intensity = analysis_number(tables[0], i, "flops") / analysis_number(tables[0], i, "moved_bytes");
    bool is_memory_bound = intensity * gbps < peak;
    if (is_memory_bound) roof = intensity * gbps;
    done = tn_rows_add(out, analysis_text(tables[0], i, "name"), gflops, intensity, peak, gbps, roof, gflops / roof,
                       isnan(roof)       ? ""
                       : is_memory_bound ? "memory"
                                         : "arithmetic");
  }
  return done;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

#define COLUMNS(array) array, RUNTIME_COUNT(array)

const tn_analyser analysis_analysers[] = {
    {"op_type", "scopes by name: calls, times, memory, FLOPs", {"op"}, NULL, 0, NULL},
    {"op_instance", "every scope and range", {"event"}, NULL, 0, NULL},
    {"category", "self times by category", {"op"}, COLUMNS(category_columns), load_category},
    {"step_trace", "rounds by phase; round 0 is the mean of all but the first", {"round"}, NULL, 0, load_step_trace},
    {"phase", "what the tuner's time went into", {"phase"}, NULL, 0, NULL},
    {"queue", "queues: polls, empty and full shares, usage", {"queue"}, NULL, 0, NULL},
    {"pipeline", "the stages from search to runner, and which of them is the bottleneck", {"stage"}, NULL, 0, NULL},
    {"worker", "measuring processes: trials, busy time, killed trials", {"worker"}, NULL, 0, NULL},
    {"task", "tuning tasks: FLOP, weight, best time, trials", {"task"}, NULL, 0, NULL},
    {"candidate", "candidates by number: time in each phase", {"candidate"}, NULL, 0, NULL},
    {"counter", "counters: samples, first, last, least, greatest", {"counter"}, NULL, 0, NULL},
    {"memory", "pools of memory: allocations, peaks, failures", {"memory"}, NULL, 0, NULL},
    {"process", "processes: threads, events, busy time", {"process"}, NULL, 0, NULL},
    {"kernel", "work counters of kernels' stages", {"kernel"}, NULL, 0, NULL},
    {"host", "the machine and the recording", {"run"}, NULL, 0, NULL},
    {"utilisation", "processor and memory in use", {"run", "worker"}, COLUMNS(utilisation_columns), load_utilisation},
    {"roofline",
     "rates of what has FLOPs against the machine's peaks",
     {"op", "run"},
     COLUMNS(roofline_columns),
     load_roofline},
    {NULL, NULL, {NULL}, NULL, 0, NULL}};

enum { BUILT_IN = RUNTIME_COUNT(analysis_analysers) - 1 };

/* Built-in types first, then those that were added, in their order. */
const tn_analyser *tn_analysis_type(const tn_analysis *analysis, int k) {
  if (!analysis || k < 0 || k >= BUILT_IN + analysis->added.n) return NULL;
  return k < BUILT_IN ? &analysis_analysers[k] : analysis->added.data[k - BUILT_IN];
}

/* The other members have meanings when they are zero; these two are printed in the list of analysers. */
static bool is_whole(tn_context *ctx, const tn_analyser *analyser) {
  if (analyser->type && analyser->what) return true;
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: an analyser needs a type and a line on what it is");
  return false;
}

/* ANALYSER is kept by address: it must outlive the analysis. */
tn_status tn_analysis_add(tn_context *ctx, tn_analysis *analysis, const tn_analyser *analyser) {
  const tn_analyser *other;
  if (!RUNTIME_GIVEN(ctx, analysis) || !RUNTIME_GIVEN(ctx, analyser) || !is_whole(ctx, analyser))
    return TN_ERROR_ARGUMENT;
  for (int k = 0; (other = tn_analysis_type(analysis, k)); ++k) {
    if (strcmp(other->type, analyser->type) == 0)
      return runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: there is a type '%s' already", analyser->type);
  }
  for (int i = 0; i < 3 && analyser->tables[i]; ++i) {
    if (analysis_table_find(analyser->tables[i]) < 0)
      return runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: type '%s' reads table '%s', which there is not",
                          analyser->type, analyser->tables[i]);
  }
  if (!analyser->tables[0])
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: type '%s' reads no table", analyser->type);
  return RUNTIME_PUSH(&analysis->added, analyser) ? TN_OK
                                                  : runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory");
}
