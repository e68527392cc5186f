/* html.c: all views of a recording in one page that needs no network: the tables of the reports, the round
 * trace, the counters, the suggestions, and a timeline to zoom.
 *
 * A `page` is the state of one writing. All output goes to its profiler_out at once, so that a page written
 * to a file is never in memory as a whole. */
#include <stdio.h>

#include "profile/files.h"
#include "profile/html_page.h"
#include "profile/phases.h"
#include "profile/profiler_analysis.h"
#include "profile/profiler_reports.h"
#include "profile/reports.h"

/* What a page shows at most, so that a browser can handle it: the longest spans, the first rounds, and about so
 * many points of a counter. Charts are measured in pixels. */
enum { MOST_SPANS = 50000, MOST_ROUNDS = 500, MOST_POINTS = 1000, CHART_WIDTH = 900, CHART_HEIGHT = 120 };

/* A page being written. It is one file that contains all of its data. */
typedef struct page {
  profiler_out *out;
  const tn_recording *r;
  tn_context *ctx; /* the page's own: tells an empty view from lack of memory */
  bool failed;
} page;

#define LITERAL(p, text) PROFILER_OUT_LITERAL((p)->out, text)

/* ---- text in HTML ------------------------------------------------------------------------------------------------ */

/* What is not UTF-8 is first replaced by U+FFFD: otherwise a browser would guess another encoding for the
 * whole page. */
static void put_text(page *p, const char *text) {
  runtime_arena arena = {0};
  const char *at = profiler_utf8(&arena, text);
  for (p->failed |= !at; at && *at;) {
    size_t n = strcspn(at, "<>&\"");
    profiler_out_bytes(p->out, at, n);
    at += n;
    if (!*at) break;
    profiler_out_text(p->out, *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : *at == '&' ? "&amp;" : "&quot;");
    ++at;
  }
  runtime_arena_free(&arena);
}

/* A JSON string that cannot end the script around it. */
static void put_script_text(page *p, const char *text) {
  profiler_out json;
  profiler_out_memory(&json);
  profiler_out_json(&json, text);
  char *data = profiler_out_take(&json, NULL);
  for (const char *at = data; at && *at;) {
    size_t n = strcspn(at, "<");
    profiler_out_bytes(p->out, at, n);
    at += n;
    if (!*at) break;
    LITERAL(p, "\\u003c");
    ++at;
  }
  p->failed |= !data;
  free(data);
}

/* Takes over malloc'ed TEXT; if it is NULL, OTHERWISE is shown. */
static void put_block(page *p, char *text, const char *otherwise) {
  LITERAL(p, "<pre>");
  put_text(p, text ? text : otherwise);
  LITERAL(p, "</pre>\n");
  free(text);
}

/* ---- sections of text -------------------------------------------------------------------------------------------- */

/* FMT prints a double: counts below 2^53 are exact with "%.0f". */
static void put_fact(page *p, const char *name, double value, const char *fmt) {
  profiler_out_addf(p->out, "<tr><td>%s</td><td>", name);
  profiler_out_addf(p->out, fmt, value);
  LITERAL(p, "</td></tr>\n");
}

/* The recording's figures, followed by errors and warnings, so that nobody takes half a recording for a whole one. */
static void put_summary(page *p) {
  const tn_recording_info *info = &p->r->info;
  LITERAL(p, "<table>\n");
  put_fact(p, "duration, s", (double)info->duration_ns * 1e-9, "%.6f");
  put_fact(p, "events", (double)p->r->n_events, "%.0f");
  put_fact(p, "dropped", (double)info->stats.dropped, "%.0f");
  put_fact(p, "processes", p->r->processes.n, "%.0f");
  put_fact(p, "threads", p->r->lanes.n, "%.0f");
  put_fact(p, "rounds", info->n_rounds, "%.0f");
  put_fact(p, "cost of an event, ns", info->stats.event_cost_ns, "%.1f");
  LITERAL(p, "</table>\n");
  if (*tn_recording_errors(p->r)) LITERAL(p, "<p>Errors</p>\n"), put_block(p, strdup(tn_recording_errors(p->r)), "");
  if (*tn_recording_warnings(p->r))
    LITERAL(p, "<p>Warnings</p>\n"), put_block(p, strdup(tn_recording_warnings(p->r)), "");
}

/* Takes over the text and frees it, as do the two functions below. */
static void put_table(page *p) {
  char *table = tn_recording_table(p->r);
  if (!table) p->failed = true;
  put_block(p, table, "");
}

static void put_report(page *p) { put_block(p, tn_recording_report(p->ctx, p->r, "total"), "nothing was timed"); }

/* Sorted by self time, so that the row to look at first is on top. */
static void put_averages(page *p) {
  const tn_table_options options = {.sort_by = "self_cpu_time_total", .has_distribution = true};
  tn_averages *averages = tn_key_averages(p->ctx, p->r, NULL);
  put_block(p, averages ? tn_averages_table(p->ctx, averages, &options) : NULL, "nothing was timed");
  tn_averages_free(averages);
}

/* The rules with their usual thresholds, as in `tenon profile advise` without options. */
static void put_advice(page *p) {
  tn_analysis *analysis = tn_analysis_of(p->ctx, p->r);
  tn_advices *advices = analysis ? tn_advise(p->ctx, analysis, NULL) : NULL;
  char *text = advices ? tn_advices_text(advices, false) : NULL;
  p->failed |= advices && !text;
  put_block(p, text, "none");
  tn_advices_free(advices);
  tn_analysis_free(analysis);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Bars are drawn by styles, so that the page needs no script for them. */
static void put_round(page *p, int index, const profiler_phases *round) {
  static const char *const colors[] = {"#bbb", "#8cb3d9", "#d9b38c", "#8cd9a0", "#c98cd9", "#ddd"};
  profiler_out_addf(p->out, "<tr><td>%d</td><td>%.3f", index, (double)round->wall_ns * 1e-6);
  for (int i = 0; i < PROFILER_PHASE_COUNT; ++i)
    profiler_out_addf(p->out, "</td><td>%.3f", (double)round->ns[i] * 1e-6);
  LITERAL(p, "</td><td style=\"text-align:left\">");
  for (int i = 0; i < PROFILER_PHASE_COUNT; ++i) {
    double part = round->wall_ns > 0 ? (double)round->ns[i] / (double)round->wall_ns : 0;
    profiler_out_addf(p->out, "<span class=\"bar\" style=\"width:%.0fpx;background:%s\"></span>", part * 300,
                      colors[i]);
  }
  LITERAL(p, "</td></tr>\n");
}

/* At most MOST_ROUNDS, without a note; the intermediate tables have all. */
static void put_rounds(page *p) {
  int n;
  int64_t *starts = NULL;
  profiler_phases *rounds = profiler_phases_of_rounds(p->r, &n, &starts);
  LITERAL(p, "<table>\n<tr><th>round</th><th>wall, ms</th>");
  for (int i = 0; i < PROFILER_PHASE_COUNT; ++i) profiler_out_addf(p->out, "<th>%s</th>", profiler_phase_name(i));
  LITERAL(p, "<th></th></tr>\n");
  for (int i = 0; rounds && i < n && i < MOST_ROUNDS; ++i) put_round(p, i, &rounds[i]);
  LITERAL(p, "</table>\n");
  p->failed |= !rounds;
  free(rounds);
  free(starts);
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

/* A point of a counter. */
typedef struct sample {
  const char *name;
  int64_t at_ns;
  double value;
} sample;
typedef RUNTIME_VEC(sample) sample_list;

/* Sorted by name, then by time, so that one pass can cut the list into charts. */
static int compare_samples(const void *left, const void *right) {
  const sample *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  return order ? order : (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Lists the samples of counters and of pools of memory. */
static void list_samples(page *p, sample_list *list) {
  for (int64_t i = 0; i < p->r->n_events; ++i) {
    const tn_event *e = &p->r->events[i];
    bool is_counter = e->kind == TN_EVENT_COUNTER,
         is_memory = e->kind == TN_EVENT_MEMORY && !(e->flags & TN_EVENT_FAILED);
    sample s = {e->name, e->start_ns, is_counter ? e->value : (double)e->current};
    if ((is_counter || is_memory) && s.value - s.value == 0) p->failed |= !RUNTIME_PUSH(list, s);
  }
  if (list->n > 0) qsort(list->data, (size_t)list->n, sizeof *list->data, compare_samples);
}

/* The ranges of a chart's axes: time from 0, values from LOW to HIGH. */
typedef struct chart {
  double width_ns, low, high;
} chart;

/* A constant counter is a line at the bottom. */
static void put_point(page *p, const chart *c, const sample *s) {
  double x = c->width_ns > 0 ? (double)s->at_ns / c->width_ns : 0,
         y = (s->value - c->low) / (c->high > c->low ? c->high - c->low : 1);
  profiler_out_addf(p->out, "%.1f,%.1f ", x * CHART_WIDTH, (1 - y) * (CHART_HEIGHT - 4) + 2);
}

/* N > 0. Samples after the recording's end widen the chart. */
static chart chart_of(const page *p, const sample *samples, int n) {
  chart c = {(double)RUNTIME_MAX(p->r->info.duration_ns, samples[n - 1].at_ns), samples[0].value, samples[0].value};
  for (int i = 1; i < n; ++i) {
    c.low = RUNTIME_MIN(c.low, samples[i].value);
    c.high = RUNTIME_MAX(c.high, samples[i].value);
  }
  return c;
}

/* Of many samples only some are drawn, always including the last. */
static void put_counter(page *p, const sample *samples, int n) {
  chart c = chart_of(p, samples, n);
  LITERAL(p, "<p><b>");
  put_text(p, samples[0].name);
  profiler_out_addf(p->out,
                    "</b>: %d samples, %g to %g, at last %g</p>\n<svg width=\"%d\" height=\"%d\">"
                    "<polyline fill=\"none\" stroke=\"#2a6\" points=\"",
                    n, c.low, c.high, samples[n - 1].value, CHART_WIDTH, CHART_HEIGHT);
  for (int i = 0; i < n - 1; i += n / MOST_POINTS + 1) put_point(p, &c, &samples[i]);
  put_point(p, &c, &samples[n - 1]);
  LITERAL(p, "\"/></svg>\n");
}

/* The samples are sorted by name, then time: one chart for each name. */
static void put_counters(page *p) {
  sample_list list = {0};
  list_samples(p, &list);
  for (int first = 0, end; first < list.n; first = end) {
    for (end = first; end < list.n && strcmp(list.data[end].name, list.data[first].name) == 0; ++end) continue;
    put_counter(p, &list.data[first], end - first);
  }
  if (list.n == 0) LITERAL(p, "<p>none</p>\n");
  RUNTIME_VEC_FREE(&list);
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static int descending(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a < b) - (a > b);
}

/* The duration that the MOST_SPANS longest spans reach; *n: how many spans there are. */
static int64_t shortest_shown(page *p, int64_t *n) {
  int64_t *durations = malloc((size_t)(p->r->n_events + 1) * sizeof *durations), shortest = 0;
  *n = 0;
  p->failed |= !durations;
  for (int64_t i = 0; durations && i < p->r->n_events; ++i) {
    if (profiler_has_time(&p->r->events[i])) durations[(*n)++] = p->r->events[i].duration_ns;
  }
  if (durations && *n > MOST_SPANS) {
    qsort(durations, (size_t)*n, sizeof *durations, descending);
    shortest = durations[MOST_SPANS - 1];
  }
  free(durations);
  return shortest;
}

/* The number of a name in the page's list; 0 without memory. */
static int64_t number_name(page *p, profiler_map *names, const char *name) {
  int64_t *number = profiler_map_at(names, (uint64_t)(uintptr_t)name, 0, names->entries.n);
  p->failed |= !number;
  return number ? *number : 0;
}

/* Only the names of spans that are shown, so that the page of a long run stays small. */
static void put_names(page *p, profiler_map *names, int64_t shortest) {
  profiler_map seen = {0};
  LITERAL(p, "],\nnames: [");
  for (int64_t i = 0; i < p->r->n_events && !p->failed; ++i) {
    const tn_event *e = &p->r->events[i];
    bool is_shown = profiler_has_time(e) && e->duration_ns >= shortest;
    int64_t *is_seen = is_shown ? profiler_map_at(&seen, (uint64_t)(uintptr_t)e->name, 0, 0) : NULL;
    p->failed |= is_shown && !is_seen;
    if (!is_seen || *is_seen) continue;
    if (number_name(p, names, e->name) > 0) LITERAL(p, ",");
    *is_seen = 1;
    put_script_text(p, e->name);
  }
  profiler_map_free(&seen);
}

/* Numbers only, with the name as an index into a list, since a page has thousands of spans. */
static void put_span(page *p, profiler_map *names, const tn_event *e, int depth) {
  const int64_t numbers[] = {e->lane, e->start_ns, e->duration_ns, number_name(p, names, e->name), depth};
  for (int i = 0; i < RUNTIME_COUNT(numbers); ++i) {
    profiler_out_text(p->out, i ? "," : "[");
    profiler_out_i64(p->out, numbers[i]);
  }
  LITERAL(p, "]");
}

/* Parents come before children, so that a depth follows from one before. */
static void put_spans(page *p, profiler_map *names, int64_t shortest) {
  int32_t *depths = calloc((size_t)p->r->n_events + 1, sizeof *depths);
  int n_shown = 0;
  p->failed |= !depths;
  LITERAL(p, "],\nevents: [");
  for (int64_t i = 0; depths && i < p->r->n_events; ++i) {
    const tn_event *e = &p->r->events[i];
    depths[i] = e->parent >= 0 ? depths[e->parent] + 1 : 0;
    bool is_one_too_many = n_shown >= MOST_SPANS && e->duration_ns == shortest; /* many may be equally long */
    if (!profiler_has_time(e) || e->duration_ns < shortest || is_one_too_many) continue;
    if (n_shown++) LITERAL(p, ",\n");
    put_span(p, names, e, depths[i]);
  }
  LITERAL(p, "]};\n");
  free(depths);
}

/* The names of lanes as a JavaScript list; events refer to them by index. */
static void put_lanes(page *p) {
  for (int i = 0; i < p->r->lanes.n; ++i) {
    if (i) LITERAL(p, ",");
    put_script_text(p, p->r->lanes.data[i].name);
  }
}

/* Data and script are in the page itself, so that it can be opened from a disk without a server or network. */
static void put_timeline(page *p) {
  profiler_map names = {0};
  int64_t n, shortest = shortest_shown(p, &n);
  LITERAL(p, "<p>Wheel: zoom. Drag: move.");
  if (n > MOST_SPANS)
    profiler_out_addf(p->out, " Only the longest %d or so of %lld spans are in this page.", MOST_SPANS, (long long)n);
  LITERAL(p, "</p>\n<canvas id=\"timeline\"></canvas>\n<div id=\"tip\"></div>\n<script>\nconst data = {duration: ");
  profiler_out_i64(p->out, p->r->info.duration_ns);
  LITERAL(p, ",\nlanes: [");
  put_lanes(p);
  put_names(p, &names, shortest);
  put_spans(p, &names, shortest);
  LITERAL(p, "</script>\n");
  profiler_out_text(p->out, profiler_html_script);
  profiler_map_free(&names);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* The parts of the page in order, each with a link at the top. */
static const struct view {
  const char *id, *title;
  void (*put)(page *p);
} views[] = {
    {"summary", "The session", put_summary},        {"advice", "Suggestions", put_advice},
    {"rounds", "Round trace", put_rounds},          {"counters", "Counters", put_counters},
    {"timeline-view", "Timeline", put_timeline},    {"averages", "Averages by name", put_averages},
    {"report", "Report by thread, ms", put_report}, {"table", "Minutes by name", put_table},
};

/* If there is no memory for one of the views the page is not written: half a page would look like a short run. */
bool profiler_write_html(profiler_out *out, const tn_recording *r) {
  page p = {.out = out, .r = r, .ctx = tn_context_new(NULL)};
  if (!p.ctx) return false;
  profiler_out_text(out, profiler_html_head);
  LITERAL(&p, "<h1>Tenon profile</h1>\n<nav>");
  for (int i = 0; i < RUNTIME_COUNT(views); ++i)
    profiler_out_addf(out, "<a href=\"#%s\">%s</a>", views[i].id, views[i].title);
  LITERAL(&p, "</nav>\n");
  for (int i = 0; i < RUNTIME_COUNT(views); ++i) {
    profiler_out_addf(out, "<h2 id=\"%s\">%s</h2>\n", views[i].id, views[i].title);
    views[i].put(&p);
  }
  LITERAL(&p, "</body>\n</html>\n");
  p.failed |= tn_context_status(p.ctx) == TN_ERROR_MEMORY;
  tn_context_free(p.ctx);
  return !p.failed;
}
