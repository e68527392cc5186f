/* reports.c: sums by name, and as CSV and JSON in whole nanoseconds, with nothing rounded. */
#include "profile/files.h"
#include "profile/profiler_reports.h"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Sums by name being built, in the order of each name's first event. */
typedef struct summing {
  const tn_recording *r;
  profiler_map at; /* name -> index */
  RUNTIME_VEC(profiler_sum) sums;
} summing;

/* Whether a scope of the same name encloses the event, whose total then includes this event's time already. */
static bool is_inside_itself(const tn_recording *r, const tn_event *e) {
  for (int32_t at = e->parent; at >= 0; at = r->events[at].parent) {
    if (r->events[at].name == e->name) return true;
  }
  return false;
}

/* The sum for the event's name. The pointer is valid until the next new name. */
static profiler_sum *sum_of(summing *s, const tn_event *e) {
  int64_t *index = profiler_map_at(&s->at, (uint64_t)(uintptr_t)e->name, 0, -1);
  profiler_sum fresh = {.name = e->name, .category = e->category, .min_ns = INT64_MAX};
  if (!index) return NULL;
  if (*index < 0) {
    if (!RUNTIME_PUSH(&s->sums, fresh)) return NULL;
    *index = s->sums.n - 1;
  }
  return &s->sums.data[*index];
}

/* The total leaves out an event inside another of the same name, since recursion would count it twice. */
static bool add_event(summing *s, const tn_event *e) {
  profiler_sum *sum = sum_of(s, e);
  if (!sum) return false;
  ++sum->calls;
  sum->plain_ns += e->duration_ns;
  sum->self_ns += e->self_ns;
  sum->min_ns = RUNTIME_MIN(sum->min_ns, e->duration_ns);
  sum->max_ns = RUNTIME_MAX(sum->max_ns, e->duration_ns);
  if (!is_inside_itself(s->r, e)) sum->total_ns += e->duration_ns;
  return true;
}

/* In the order of first appearance; the caller frees them. NULL only when out of memory: without events the
 * array is empty. */
static profiler_sum *sum_events(const tn_recording *r, int *n) {
  summing s = {.r = r};
  bool ok = runtime_vec_grow((void **)&s.sums.data, &s.sums.cap, sizeof *s.sums.data);
  for (int64_t i = 0; i < r->n_events && ok; ++i) {
    if (profiler_has_time(&r->events[i])) ok = add_event(&s, &r->events[i]);
  }
  profiler_map_free(&s.at);
  if (!ok) RUNTIME_VEC_FREE(&s.sums);
  *n = s.sums.n;
  return s.sums.data;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* X("column", member) */
#define COLUMNS(X) \
  X("calls", calls) X("total_ns", total_ns) X("self_ns", self_ns) X("min_ns", min_ns) X("max_ns", max_ns)

/* A column of the table: its title, and the offset of its number in a sum. */
static const struct column {
  const char *name;
  size_t at;
} columns[] = {
#define X(name, member) {name, offsetof(profiler_sum, member)},
    COLUMNS(X)
#undef X
};

static int64_t cell(const profiler_sum *sum, int column) {
  return *(const int64_t *)((const char *)sum + columns[column].at);
}

static double mean_ns(const profiler_sum *sum) { return (double)sum->plain_ns / (double)sum->calls; }

/* ---- TVM's table ------------------------------------------------------------------------------------------------- */

/* Total is the wall time of the recording, so percentages over several threads may add up to more than 100. */
char *tn_recording_table(const tn_recording *r) {
  tn_profiler *table = tn_profiler_new();
  tn_averages *averages = r && table ? tn_key_averages(NULL, r, NULL) : NULL;
  int n = 0;
  const tn_average *rows = averages ? tn_averages_rows(averages, &n) : NULL;
  if (averages) tn_profiler_add(table, "Total", (double)r->info.duration_ns * 1e-9, 1);
  for (int i = 0; i < n; ++i) {
    bool is_timed = strcmp(rows[i].name, "[memory]") != 0;
    if (is_timed) tn_profiler_add(table, rows[i].name, (double)rows[i].total_ns * 1e-9, rows[i].calls);
  }
  char *text = averages ? tn_profiler_table(table) : NULL;
  tn_averages_free(averages);
  tn_profiler_free(table);
  return text;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

/* The text is quoted if it holds a comma, a quote or an end of line; a quote in it is doubled. */
void profiler_out_csv(profiler_out *out, const char *text) {
  bool is_plain = !strpbrk(text, ",\"\r\n");
  if (is_plain) return profiler_out_text(out, text);
  PROFILER_OUT_LITERAL(out, "\"");
  for (; *text; ++text) profiler_out_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  PROFILER_OUT_LITERAL(out, "\"");
}

bool profiler_write_csv(profiler_out *out, const tn_recording *r) {
  int n;
  profiler_sum *sums = sum_events(r, &n);
  if (!sums) return false;
  PROFILER_OUT_LITERAL(out, "name,category");
  for (int c = 0; c < RUNTIME_COUNT(columns); ++c) profiler_out_addf(out, ",%s", columns[c].name);
  PROFILER_OUT_LITERAL(out, ",mean_ns\r\n");
  for (int i = 0; i < n; ++i) {
    profiler_out_csv(out, sums[i].name);
    PROFILER_OUT_LITERAL(out, ",");
    profiler_out_text(out, tn_category_name(sums[i].category));
    for (int c = 0; c < RUNTIME_COUNT(columns); ++c)
      PROFILER_OUT_LITERAL(out, ","), profiler_out_i64(out, cell(&sums[i], c));
    PROFILER_OUT_LITERAL(out, ",");
    profiler_out_f64(out, mean_ns(&sums[i]));
    PROFILER_OUT_LITERAL(out, "\r\n");
  }
  free(sums);
  return true;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* One object per line, so that two reports can be compared line by line. */
static void write_row(profiler_out *out, const profiler_sum *sum) {
  PROFILER_OUT_LITERAL(out, "\n{\"name\":");
  profiler_out_json(out, sum->name);
  PROFILER_OUT_LITERAL(out, ",\"category\":");
  profiler_out_json(out, tn_category_name(sum->category));
  for (int c = 0; c < RUNTIME_COUNT(columns); ++c)
    profiler_out_addf(out, ",\"%s\":%lld", columns[c].name, (long long)cell(sum, c));
  PROFILER_OUT_LITERAL(out, ",\"mean_ns\":");
  profiler_out_f64(out, mean_ns(sum));
  PROFILER_OUT_LITERAL(out, "}");
}

/* A form of our own, which nothing reads back. */
bool profiler_write_report(profiler_out *out, const tn_recording *r) {
  int n;
  profiler_sum *sums = sum_events(r, &n);
  if (!sums) return false;
  profiler_out_addf(out,
                    "{\"version\":\"" TN_VERSION "\",\"duration_ns\":%lld,\"events\":%lld,\"dropped\":%llu,\"errors\":",
                    (long long)r->info.duration_ns, (long long)r->n_events, (unsigned long long)r->info.stats.dropped);
  profiler_out_json(out, tn_recording_errors(r));
  PROFILER_OUT_LITERAL(out, ",\"warnings\":");
  profiler_out_json(out, tn_recording_warnings(r));
  PROFILER_OUT_LITERAL(out, ",\"rows\":[");
  for (int i = 0; i < n; ++i) {
    if (i) PROFILER_OUT_LITERAL(out, ",");
    write_row(out, &sums[i]);
  }
  PROFILER_OUT_LITERAL(out, "\n]}\n");
  free(sums);
  return true;
}
