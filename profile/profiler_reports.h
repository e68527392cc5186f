/* tenon/profiler_reports.h: a recording as tables of text.
 *
 *   tn_averages *a = tn_key_averages(ctx, r, NULL);                              // one row a name
 *   char *text = tn_averages_table(ctx, a, &(tn_table_options){.sort_by = "self_cpu_time_total"});
 *   char *report = tn_recording_report(ctx, r, "total");                         // Paddle's, by thread
 *
 * Texts that functions return are malloc'ed. Times are ns; rows count scopes, ranges and device events. Everywhere a
 * name inside itself (recursion) counts its time once in total_ns, but every call in calls, min, max and deviation. */
#ifndef TENON_PROFILER_REPORTS_H
#define TENON_PROFILER_REPORTS_H

#include "profile/profiler_files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- averages: PyTorch's key_averages, total_average, table ------------------------------------------------------ */

/* What makes two events one row. All zero: equal names of the same node (and lanes of devices apart from threads). */
typedef struct tn_average_options {
  bool by_shapes;      /* also equal shapes: the argument "shapes" */
  int stack_n;         /* also equal first N entries of the source stack, innermost first */
  bool merge_nodes;    /* nodes do not count */
  bool by_process;     /* also of the same process */
  bool by_thread;      /* also of the same lane */
  bool by_event;       /* every event is a row: PyTorch's table() of the events themselves */
  bool top_level_only; /* only events without a parent */
  bool by_role;        /* roles are obeyed (tn_scope_role), as Paddle's report does */
} tn_average_options;

/* One row. Texts live as long as the averages; names as long as the recording, too. */
typedef struct tn_average {
  const char *name;   /* "Round#7" is counted under "Round*"; memory of no scope under "[memory]" */
  const char *shapes; /* "" unless grouped by them */
  const char *source; /* "file:line function", entries joined by ';' (of the first event); "" when unknown */
  int32_t node_id;    /* -1: none, or several */
  int32_t process;    /* index of the tn_process of the first event */
  int32_t lane;       /* index of its tn_lane */
  uint8_t category;
  bool is_async, is_device, is_special;
  int64_t calls, total_ns, self_ns, min_ns, max_ns;
  int64_t p50_ns, p90_ns, p99_ns;  /* nearest rank */
  double mean_ns, deviation_ns;    /* of the calls, nested or not; deviation of the population */
  int64_t total_bytes, self_bytes; /* memory allocated less released */
  double flops;                    /* sum of the arguments "flops" */
  int64_t first_end_ns;            /* when the first of them ended */
  /* Sums of the arguments that kernels have. bytes: distinct ones of a call, read and written; moved: past the last
   * cache, estimated from the schedule; launches: parallel loops. */
  double bytes, bytes_written, bytes_moved, launches;
  /* Of devices, by the scopes that launched it (tn_launch): time, which for a device's own row is total_ns, and memory
   * (TN_DEVICE_POOL), which is not in total_bytes and self_bytes. */
  int64_t device_ns, self_device_ns, device_bytes, self_device_bytes;
  double cycles, instructions, cache_misses; /* tn_hardware */
} tn_average;

typedef struct tn_averages tn_averages;
/* In the order of first appearance. The recording must outlive them. OPTIONS may be NULL. NULL: no memory. */
TN_API TN_GIVE tn_averages *tn_key_averages(tn_context *ctx, const tn_recording *recording,
                                            const tn_average_options *options);
TN_API void tn_averages_free(TN_TAKE tn_averages *averages);
TN_API const tn_average *tn_averages_rows(const tn_averages *averages, int *n);
/* One row "Total": calls and all sums over the rows. */
TN_API tn_average tn_total_average(const tn_averages *averages);

/* Zero is the default of every field. */
typedef struct tn_table_options {
  /* NULL: as recorded; else descending by one of: count, cpu_time (average), cpu_time_total, self_cpu_time_total,
   * cpu_memory_usage, self_cpu_memory_usage, flops, device_time_total, self_device_time_total, device_memory_usage,
   * self_device_memory_usage, cycles, instructions, cache_misses, min, max, p50, p90, p99, deviation. */
  const char *sort_by;
  int row_limit;         /* 100; -1: all. A line says how many rows were left out */
  const char *header;    /* a line above the table */
  int max_name_width;    /* 55; -1: no cap. What is cut ends in "..." */
  int max_shapes_width;  /* 80 */
  int max_source_width;  /* 75 */
  const char *time_unit; /* "s", "ms", "us", "ns"; NULL: by size */
  bool has_distribution; /* also columns Min, Max, P50, P90, P99, Deviation */
} tn_table_options;
/* Columns Name, Self CPU %, Self CPU, CPU total %, CPU total, CPU time avg, # of Calls, and where there is something to
 * show: CPU Mem, Self CPU Mem, Self DEV, DEV total, DEV Mem, Self DEV Mem, Cycles, Instructions, Cache misses, Node ID,
 * Input Shapes, Source Location, Total FLOPs, GFLOP/s. Percentages are of the sum of all self times, which the last
 * line gives. "" without rows; NULL with a message for a bad option. */
TN_API TN_GIVE char *tn_averages_table(tn_context *ctx, const tn_averages *averages, const tn_table_options *options);

/* How two recordings differ: a row a name with calls and total of both and their quotient, the largest change first. */
TN_API TN_GIVE char *tn_recording_compare(tn_context *ctx, const tn_recording *before, const tn_recording *after);

/* record_function: a range of the user's; the macro ends with its block. */
#define TN_RECORD_FUNCTION(name) TN_TIMED(name)
/* torch's names for what the profiler has under its own. */
static inline tn_timed tn_record_function_begin(const char *name) { return tn_timed_begin(name); }
static inline void tn_record_function_end(tn_timed *range) { tn_timed_end(range); }
static inline tn_status tn_export_chrome_trace(tn_context *ctx, tn_recording *recording, const char *path) {
  return tn_recording_save(ctx, recording, path); /* PATH ends in .json or .json.gz */
}

/* ---- Paddle's sorted report -------------------------------------------------------------------------------------- */

/* Columns Event, Calls, Total, Min., Max., Ave., Ratio. in ms; rows "threadN::name"; with more than one thread a second
 * report of all of them merged. SORTED_KEY: NULL or "none" (in the order in which names first ended), "calls", "total",
 * "max", "min", "ave" (descending). "a/b" is a child row of "a" where "a" is a row of the thread: indented, and outside
 * the sum that ratios are of. Ave. is Total / Calls. NULL with a message that names the keys for another one. */
TN_API TN_GIVE char *tn_recording_report(tn_context *ctx, const tn_recording *recording, const char *sorted_key);
/* stop_profiler(sorted_key, profile_path): stops the session, collects, writes PATH (NULL: nothing) and returns the
 * report. A bad key is refused before anything is stopped. */
TN_API TN_GIVE char *tn_profile_stop_report(tn_context *ctx, const char *sorted_key, const char *path);

#ifdef __cplusplus
}
#endif
#endif
