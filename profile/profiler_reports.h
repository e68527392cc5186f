/* tenon/profiler_reports.h: a recording as tables of text.
 *
 *   tn_averages *a = tn_key_averages(ctx, r, NULL);                              // one row per name
 *   char *text = tn_averages_table(ctx, a, &(tn_table_options){.sort_by = "self_cpu_time_total"});
 *   char *report = tn_recording_report(ctx, r, "total");                         // Paddle's report, by thread
 *
 * Texts that functions return are malloc'ed. Times are in ns. Rows count scopes, ranges and device events. If a name is
 * nested inside itself (recursion), total_ns counts the time once; calls, min, max and deviation count every call. */
#ifndef TENON_PROFILER_REPORTS_H
#define TENON_PROFILER_REPORTS_H

#include "profile/profiler_files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- averages: PyTorch's key_averages, total_average, table ------------------------------------------------------ */

/* What puts two events into one row. All zero: equal names on the same node; device lanes are kept apart
 * from threads. */
typedef struct tn_average_options {
  bool by_shapes;      /* also equal shapes (the argument "shapes") */
  int stack_n;         /* also equal first N entries of the source stack, innermost first */
  bool merge_nodes;    /* nodes are not told apart */
  bool by_process;     /* also the same process */
  bool by_thread;      /* also the same lane */
  bool by_event;       /* every event is a row, as in PyTorch's table() of the events themselves */
  bool top_level_only; /* only events without a parent */
  bool by_role;        /* roles are obeyed (tn_scope_role), as in Paddle's report */
} tn_average_options;

/* One row of averages. Its texts live as long as the averages, and the recording must live as long too. */
typedef struct tn_average {
  const char *name;   /* "Round#7" is counted under "Round*"; memory outside any scope under "[memory]" */
  const char *shapes; /* "" unless rows are grouped by shapes */
  const char *source; /* of the first event: "file:line function", entries joined by ';'; "" if unknown */
  int32_t node_id;    /* -1: none, or several */
  int32_t process;    /* index of the tn_process of the first event */
  int32_t lane;       /* index of its tn_lane */
  uint8_t category;
  bool is_async, is_device, is_special;
  int64_t calls, total_ns, self_ns, min_ns, max_ns;
  int64_t p50_ns, p90_ns, p99_ns;  /* percentiles by nearest rank */
  double mean_ns, deviation_ns;    /* over all calls, nested or not; standard deviation of the population */
  int64_t total_bytes, self_bytes; /* memory allocated minus memory released */
  double flops;                    /* sum of the arguments "flops" */
  int64_t first_end_ns;            /* when the first of the events to end ended */
  /* Sums of the arguments that kernels have. bytes: distinct bytes that a call reads and writes; moved:
   * bytes past the last cache, estimated from the schedule; launches: parallel loops. */
  double bytes, bytes_written, bytes_moved, launches;
  /* Device time and memory (TN_DEVICE_POOL), counted for the scopes that launched the work (tn_launch). A
   * device's own row has its time in total_ns as well. The memory is not part of total_bytes and
   * self_bytes. */
  int64_t device_ns, self_device_ns, device_bytes, self_device_bytes;
  double cycles, instructions, cache_misses; /* tn_hardware */
} tn_average;

typedef struct tn_averages tn_averages;
/* Rows are in the order of first appearance. The recording must outlive them. OPTIONS may be NULL. NULL:
 * out of memory. */
TN_API TN_GIVE tn_averages *tn_key_averages(tn_context *ctx, const tn_recording *recording,
                                            const tn_average_options *options);
TN_API void tn_averages_free(TN_TAKE tn_averages *averages);
TN_API const tn_average *tn_averages_rows(const tn_averages *averages, int *n);
/* One row "Total": the calls and all sums over the rows. */
TN_API tn_average tn_total_average(const tn_averages *averages);

/* How a table is printed. Zero is every field's default. */
typedef struct tn_table_options {
  /* NULL: as recorded. Otherwise descending by one of: count, cpu_time (average), cpu_time_total,
   * self_cpu_time_total, cpu_memory_usage, self_cpu_memory_usage, flops, device_time_total,
   * self_device_time_total, device_memory_usage, self_device_memory_usage, cycles, instructions,
   * cache_misses, min, max, p50, p90, p99, deviation. */
  const char *sort_by;
  int row_limit;         /* default 100; -1: all. A line says how many rows were left out */
  const char *header;    /* a line above the table; NULL: none */
  int max_name_width;    /* default 55; -1: no limit. A name that is cut ends in "..." */
  int max_shapes_width;  /* default 80 */
  int max_source_width;  /* default 75 */
  const char *time_unit; /* "s", "ms", "us" or "ns"; NULL: chosen by size */
  bool has_distribution; /* also show Min, Max, P50, P90, P99, Deviation */
} tn_table_options;
/* Columns: Name, Self CPU %, Self CPU, CPU total %, CPU total, CPU time avg, # of Calls, and, if any row
 * has a value: CPU Mem, Self CPU Mem, Self DEV, DEV total, DEV Mem, Self DEV Mem, Cycles, Instructions,
 * Cache misses, Node ID, Input Shapes, Source Location, Total FLOPs, GFLOP/s. Percentages are of the sum of
 * all self times, which the last line states. "" without rows; NULL with a message for a bad option. */
TN_API TN_GIVE char *tn_averages_table(tn_context *ctx, const tn_averages *averages, const tn_table_options *options);

/* How two recordings differ: for each name the calls and the total time of both and the ratio of the
 * totals, the largest change first. */
TN_API TN_GIVE char *tn_recording_compare(tn_context *ctx, const tn_recording *before, const tn_recording *after);

/* PyTorch's record_function: a range around user code. The macro's range ends with the enclosing block. */
#define TN_RECORD_FUNCTION(name) TN_TIMED(name)
/* PyTorch's names for what this profiler has under other names. */
static inline tn_timed tn_record_function_begin(const char *name) { return tn_timed_begin(name); }
static inline void tn_record_function_end(tn_timed *range) { tn_timed_end(range); }
static inline tn_status tn_export_chrome_trace(tn_context *ctx, tn_recording *recording, const char *path) {
  return tn_recording_save(ctx, recording, path); /* PATH ends in .json or .json.gz */
}

/* ---- Paddle's sorted report -------------------------------------------------------------------------------------- */

/* Columns Event, Calls, Total, Min., Max., Ave., Ratio.; times are in ms. Rows are "threadN::name"; with
 * more than one thread a second report merges all threads. SORTED_KEY: NULL or "none" (in the order in
 * which names first ended), "calls", "total", "max", "min" or "ave" (descending). If "a" is a row of the
 * same thread, "a/b" is its child row: it is indented and left out of the sum that ratios refer to. Ave. is
 * Total / Calls. Any other key gives NULL with a message that names the keys. */
TN_API TN_GIVE char *tn_recording_report(tn_context *ctx, const tn_recording *recording, const char *sorted_key);
/* Paddle's stop_profiler(sorted_key, profile_path): stops the session, collects, writes PATH (NULL: no
 * file) and returns the report. A bad key is refused before the session is stopped. */
TN_API TN_GIVE char *tn_profile_stop_report(tn_context *ctx, const char *sorted_key, const char *path);

#ifdef __cplusplus
}
#endif
#endif
