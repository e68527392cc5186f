/* analyse_types.c: the library's analysers: most answer with a table as it is, some work one out from tables. */
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"

/* ---- step_trace: rounds, and their mean as round 0 --------------------------------------------------------------- */

/* The mean of a column over all rounds but the first (of the first, if there is no other). */
static double mean_of(const tn_rows *rounds, int column) {
  int first = rounds->n > 1 ? 1 : 0;
  double sum = 0;
  if (tn_rows_at(rounds, first)[column].i64 == INT64_MIN) return (double)INT64_MIN; /* missing in all rounds */
  for (int i = first; i < rounds->n; ++i) sum += (double)tn_rows_at(rounds, i)[column].i64;
  return sum / (rounds->n - first);
}

/* Round 0 is the mean of the others, so that it comes first and needs no column of its own. */
static bool load_step_trace(const tn_rows *const *tables, tn_rows *out) {
  const tn_rows *rounds = tables[0];
  tn_cell mean[32] = {{0}};
  if (rounds->n == 0) return true;
  for (int c = 1; c < rounds->n_columns; ++c) mean[c].i64 = llround(mean_of(rounds, c));
  bool done = analysis_rows_add_cells(out, mean);
  for (int i = 0; done && i < rounds->n; ++i) done = analysis_rows_add_cells(out, tn_rows_at(rounds, i));
  return done;
}

/* ---- step_phase -------------------------------------------------------------------------------------------------- */

/* Sums the phase of ROW over all rounds but the first (over the first if there is no other). False: an
 * earlier row has the same phase. */
static bool sum_phase(const tn_rows *steps, int row, int64_t first, int64_t *calls, int64_t *ns, double *share) {
  const char *phase = analysis_text(steps, row, "phase");
  *calls = *ns = 0, *share = 0;
  for (int i = 0; i < steps->n; ++i) {
    if (analysis_number(steps, i, "round") < (double)first || strcmp(analysis_text(steps, i, "phase"), phase) != 0)
      continue;
    if (i < row) return false;
    *calls += (int64_t)analysis_number(steps, i, "calls");
    *ns += (int64_t)analysis_number(steps, i, "total_ns");
    *share += analysis_number(steps, i, "share");
  }
  return true;
}

/* First, as round 0, come the means of all rounds but the first; then the rounds themselves. */
static bool load_step_phase(const tn_rows *const *tables, tn_rows *out) {
  const tn_rows *steps = tables[0];
  int64_t last = steps->n ? (int64_t)analysis_number(steps, steps->n - 1, "round") : 0, first = last > 1 ? 2 : 1;
  int64_t calls, ns, n = last - first + 1;
  double share;
  bool done = true;
  for (int i = 0; done && i < steps->n; ++i) {
    bool is_first =
        analysis_number(steps, i, "round") >= (double)first && sum_phase(steps, i, first, &calls, &ns, &share);
    if (is_first)
      done = tn_rows_add(out, (int64_t)0, analysis_text(steps, i, "phase"), calls / n, ns / n, share / (double)n);
  }
  for (int i = 0; done && i < steps->n; ++i) done = analysis_rows_add_cells(out, tn_rows_at(steps, i));
  return done;
}

/* ---- category: self times ---------------------------------------------------------------------------------------- */

static const tn_column category_columns[] = {{"category", TN_CELL_TEXT},
                                             {"names", TN_CELL_INT},
                                             {"calls", TN_CELL_INT},
                                             {"self_ns", TN_CELL_INT},
                                             {"share", TN_CELL_REAL}};

/* What one category of events takes: its names, their calls, and their time without children. */
typedef struct category_sum {
  int64_t names, calls, self_ns;
} category_sum;

/* Names of categories that this version does not know are left out of the sum as well. */
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

/* Also true if there is nothing to add. */
static bool add_use(tn_rows *out, const char *what, double used, double available, const char *unit) {
  return isnan(used) || tn_rows_add(out, what, used, available, used / available * 100, unit);
}

/* The processor time of this process in percent of one core, as in `top`, and of the machine; its memory;
 * busy workers. */
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

static const tn_column roofline_columns[] = {
    {"name", TN_CELL_TEXT},        {"shapes", TN_CELL_TEXT},      {"calls", TN_CELL_INT},
    {"gflops", TN_CELL_REAL},      {"gbps", TN_CELL_REAL},        {"flops_per_byte", TN_CELL_REAL},
    {"moved_share", TN_CELL_REAL}, {"peak_gflops", TN_CELL_REAL}, {"memory_gbps", TN_CELL_REAL},
    {"achieved", TN_CELL_REAL},    {"bound", TN_CELL_TEXT}};

/* Measured limits are off by at most this factor; a kernel further above the roof means that something is wrong. */
#define ROOF_SLACK 1.1

/* Two lower limits of a kernel's time: for its arithmetic, and for moving its bytes from where they all fit. */
typedef struct roof {
  double arithmetic_ns, bytes_ns, peak_gflops, gbps;
  const char *place; /* where the bytes are moved from */
} roof;

/* The share of the machine's f32 arithmetic that values of these dtypes get; NAN: not known. */
static double arithmetic_share(const char *shapes) {
  double share = 1;
  for (const char *at = shapes; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    if (strncmp(at, "f64[", 4) == 0) share = 0.5;
    if (strncmp(at, "f64[", 4) != 0 && strncmp(at, "f32[", 4) != 0) return NAN;
  }
  return share;
}

/* Finds the nearest cache that holds the bytes, by the facts of the run; otherwise memory. Within a cache
 * reads and writes are two streams; to memory they are one. */
static void find_bytes(roof *out, const tn_rows *run, double read, double written) {
  static const char *const places[] = {"cache 1", "cache 2", "cache 3"};
  for (int level = 1; level <= 3; ++level) {
    char bytes_key[32], gbps_key[32];
    snprintf(bytes_key, sizeof bytes_key, "cache%d_bytes", level);
    snprintf(gbps_key, sizeof gbps_key, "cache%d_gbps", level);
    double gbps = analysis_fact(run, gbps_key);
    if (!(read + written <= analysis_fact(run, bytes_key)) || isnan(gbps)) continue;
    *out = (roof){out->arithmetic_ns, fmax(read, written) / gbps, out->peak_gflops, gbps, places[level - 1]};
    return;
  }
  out->gbps = analysis_fact(run, "peak_gbps");
  out->bytes_ns = (read + written) / out->gbps;
  out->place = "memory";
}

/* The limits of one call of the kernel in ROW of table op; a time is NAN if it is not known. */
static roof roof_of(const tn_rows *ops, int row, const tn_rows *run) {
  double calls = analysis_number(ops, row, "calls"), flops = analysis_number(ops, row, "flops") / calls;
  double written = analysis_number(ops, row, "bytes_written") / calls;
  roof r = {.peak_gflops = analysis_fact(run, "peak_gflops") * arithmetic_share(analysis_text(ops, row, "shapes"))};
  r.arithmetic_ns = flops > 0 ? flops / r.peak_gflops : NAN;
  if (analysis_is_missing(ops, row, "bytes"))
    r.bytes_ns = r.gbps = NAN;
  else
    find_bytes(&r, run, analysis_number(ops, row, "bytes") / calls - written, written);
  return r;
}

/* Adds what a kernel achieved, compared with the longer of its two limits. If the caches are not known,
 * small data may be in one; then nothing is reported to be wrong. */
static bool add_roof(tn_rows *out, const tn_rows *ops, int i, const tn_rows *run) {
  roof r = roof_of(ops, i, run);
  bool is_memory = !(r.arithmetic_ns >= r.bytes_ns) && !isnan(r.bytes_ns);
  double least_ns = is_memory ? r.bytes_ns : r.arithmetic_ns;
  double calls = analysis_number(ops, i, "calls"), achieved = least_ns * calls / analysis_number(ops, i, "total_ns");
  bool knows_caches = !isnan(analysis_fact(run, "cache3_gbps")) || !is_memory;
  const char *bound = isnan(least_ns)                         ? ""
                      : achieved > ROOF_SLACK && knows_caches ? "error: above the roof"
                      : is_memory                             ? r.place
                                                              : "arithmetic";
  bool has_bytes = !analysis_is_missing(ops, i, "bytes"), has_gflops = !analysis_is_missing(ops, i, "gflops");
  double bytes = has_bytes ? analysis_number(ops, i, "bytes") : NAN;
  double moved = analysis_is_missing(ops, i, "bytes_moved") ? NAN : analysis_number(ops, i, "bytes_moved");
  return tn_rows_add(out, analysis_text(ops, i, "name"), analysis_text(ops, i, "shapes"), (int64_t)calls,
                     has_gflops ? analysis_number(ops, i, "gflops") : NAN,
                     has_bytes ? analysis_number(ops, i, "gbps") : NAN, analysis_number(ops, i, "flops") / bytes,
                     moved / bytes, r.peak_gflops, r.gbps, achieved, bound);
}

/* Takes rows of category kernel that say what they did. */
static bool load_roofline(const tn_rows *const *tables, tn_rows *out) {
  bool done = true;
  for (int i = 0; done && i < tables[0]->n; ++i) {
    bool says = !analysis_is_missing(tables[0], i, "gflops") || !analysis_is_missing(tables[0], i, "bytes");
    if (says && strcmp(analysis_text(tables[0], i, "category"), "kernel") == 0)
      done = add_roof(out, tables[0], i, tables[1]);
  }
  return done;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

#define COLUMNS(array) array, RUNTIME_COUNT(array)

const tn_analyser analysis_analysers[] = {
    {"op_type", "scopes by name and shapes: calls, times, memory, FLOPs, bytes", {"op"}, NULL, 0, NULL},
    {"op_instance", "every scope and range", {"event"}, NULL, 0, NULL},
    {"category", "self times by category", {"op"}, COLUMNS(category_columns), load_category},
    {"step_trace", "rounds by phase; round 0 is the mean of all but the first", {"round"}, NULL, 0, load_step_trace},
    {"step_phase",
     "rounds by the scopes that their user named; round 0 is the mean of all but the first",
     {"step"},
     NULL,
     0,
     load_step_phase},
    {"phase", "what the time went into: the tuner's phases, or the outermost scopes by name", {"phase"}, NULL, 0, NULL},
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
     "kernels against the machine: arithmetic, and bytes from the cache or memory that they fit in",
     {"op", "run"},
     COLUMNS(roofline_columns),
     load_roofline},
    {NULL, NULL, {NULL}, NULL, 0, NULL}};

enum { BUILT_IN = RUNTIME_COUNT(analysis_analysers) - 1 };

/* Built-in types come first, then those that were added, in order. */
const tn_analyser *tn_analysis_type(const tn_analysis *analysis, int k) {
  if (!analysis || k < 0 || k >= BUILT_IN + analysis->added.n) return NULL;
  return k < BUILT_IN ? &analysis_analysers[k] : analysis->added.data[k - BUILT_IN];
}

/* A zero is meaningful in the other members; these two are printed in the list of analysers. */
static bool is_whole(tn_context *ctx, const tn_analyser *analyser) {
  if (analyser->type && analyser->what) return true;
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: an analyser needs a type and a line on what it is");
  return false;
}

/* ANALYSER is kept by address and must outlive the analysis. */
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
