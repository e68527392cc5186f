/* read_sqlite.c: databases of nvprof (`nvprof -o`) and Nsight Systems (`nsys export --type sqlite`) as a recording:
 * calls of the CUDA runtime and NVTX ranges on the host's threads, kernels and copies on lanes of devices, joined by
 * their correlation numbers as launches (tn_launch).
 *
 * libsqlite3 is loaded when such a file is read, because nothing else in Tenon needs it. The functions used have been
 * stable since version 3.5. */
#include <dlfcn.h>
#include <stdio.h>

#include "profile/files.h"

/* ---- the library ------------------------------------------------------------------------------------------------- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
/* From sqlite3.h, which need not be installed. */
enum { SQLITE_OK = 0, SQLITE_ROW = 100, SQLITE_DONE = 101, SQLITE_OPEN_READONLY = 1, SQLITE_NULL = 5 };

/* X(result, name, parameters) */
#define FUNCTIONS(X)                                                                 \
  X(int, open_v2, (const char *, sqlite3 **, int, const char *))                     \
  X(int, close, (sqlite3 *))                                                         \
  X(int, prepare_v2, (sqlite3 *, const char *, int, sqlite3_stmt **, const char **)) \
  X(int, step, (sqlite3_stmt *))                                                     \
  X(int, finalize, (sqlite3_stmt *))                                                 \
  X(int, column_count, (sqlite3_stmt *))                                             \
  X(int, column_type, (sqlite3_stmt *, int))                                         \
  X(long long, column_int64, (sqlite3_stmt *, int))                                  \
  X(const unsigned char *, column_text, (sqlite3_stmt *, int))                       \
  X(const char *, errmsg, (sqlite3 *))

/* The functions of libsqlite3 that are used, named without "sqlite3_". */
typedef struct library {
  void *handle;
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
} library;

/* False if the library is missing or lacks a function. */
static bool open_library(library *l) {
  l->handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  bool has_all = l->handle != NULL;
#define X(result, name, parameters)                    \
  if (has_all) {                                       \
    void *symbol = dlsym(l->handle, "sqlite3_" #name); \
    memcpy(&l->name, &symbol, sizeof symbol);          \
    has_all = symbol != NULL;                          \
  }
  FUNCTIONS(X)
#undef X
  return has_all;
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

typedef enum activity_kind { ON_HOST, LAUNCH, ON_DEVICE } activity_kind;

/* What to read: a query with the columns start and end (ns), correlation, process, thread or stream, name,
 * and perhaps bytes. A query is skipped if the database lacks its tables, since the two tools have
 * different ones. Nsight's globalTid holds process and thread. */
static const struct activity {
  const char *table, *sql;
  activity_kind kind;
} activities[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT start, end, correlationId, processId, threadId, 'runtime call ' || cbid FROM CUPTI_ACTIVITY_KIND_RUNTIME",
     LAUNCH},
    {"CUPTI_ACTIVITY_KIND_DRIVER",
     "SELECT start, end, correlationId, processId, threadId, 'driver call ' || cbid FROM CUPTI_ACTIVITY_KIND_DRIVER",
     LAUNCH},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT start, end, correlationId, (globalTid >> 24) & 16777215, globalTid & 16777215, value "
     "FROM CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN StringIds ON StringIds.id = nameId",
     LAUNCH},
    {"NVTX_EVENTS",
     "SELECT start, end, 0, (globalTid >> 24) & 16777215, globalTid & 16777215, coalesce(text, value) "
     "FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId WHERE end IS NOT NULL",
     ON_HOST},
    {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
     "SELECT start, end, correlationId, deviceId, streamId, value "
     "FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL LEFT JOIN StringTable ON StringTable._id_ = name",
     ON_DEVICE},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT start, end, correlationId, deviceId, streamId, value "
     "FROM CUPTI_ACTIVITY_KIND_KERNEL LEFT JOIN StringIds ON StringIds.id = demangledName",
     ON_DEVICE},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT start, end, correlationId, deviceId, streamId, 'copy', bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY", ON_DEVICE},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "SELECT start, end, correlationId, deviceId, streamId, 'set memory', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET",
     ON_DEVICE},
};

/* A database being read. n_tables counts the queries that it has tables for; a database with none is
 * another program's. */
typedef struct reader {
  const library *l;
  sqlite3 *db;
  tn_recording *r;
  profiler_map processes, lanes; /* by process id; by process and thread, or device (plus 2^40) and stream */
  int n_tables;
  char why[256];
} reader;

#define REFUSE(x, ...) (snprintf((x)->why, sizeof(x)->why, __VA_ARGS__), false)

static int process_of(reader *x, int64_t pid) {
  int64_t *at = profiler_map_at(&x->processes, (uint64_t)pid, 0, -1);
  if (at && *at < 0) *at = profiler_add_process(x->r, &(tn_process){.name = "", .host = "", .pid = pid, .node_id = -1});
  return at ? (int)*at : -1;
}

/* The lane of a thread (OUTER: its process, INNER: its id) or of a device's stream (OUTER: the device, INNER: the
 * stream), added when it is first seen; -1: out of memory. Devices' lanes belong to a process with the id 0. */
static int lane_of(reader *x, bool is_device, int64_t outer, int64_t inner) {
  char name[64];
  uint64_t key = (uint64_t)outer | (is_device ? 1ull << 40 : 0);
  int64_t *at = profiler_map_at(&x->lanes, key, (uint64_t)inner, -1);
  if (!at || *at >= 0) return at ? (int)*at : -1;
  int process = process_of(x, is_device ? 0 : outer);
  if (is_device)
    snprintf(name, sizeof name, "device %lld, stream %lld", (long long)outer, (long long)inner);
  else
    snprintf(name, sizeof name, "thread %lld", (long long)inner);
  if (process >= 0)
    *at = profiler_add_lane(x->r, &(tn_lane){.name = name, .tid = inner, .process = process, .is_device = is_device});
  return (int)*at;
}

static tn_event *add_event(reader *x, int lane, tn_event_kind kind, const char *name, int64_t start_ns) {
  tn_event *e = profiler_add_event(x->r, lane, kind, name);
  if (!e) return NULL;
  e->start_ns = start_ns;
  e->level = 1;
  e->category = TN_CATEGORY_DEVICE;
  e->parent = PROFILER_PARENT_UNKNOWN;
  return e;
}

/* A launch begins an arrow, and what it launched ends it. */
static bool add_activity(reader *x, activity_kind kind, sqlite3_stmt *row, int64_t start_ns, int64_t end_ns) {
  const library *l = x->l;
  int64_t launch = l->column_int64(row, 2);
  const char *name = (const char *)l->column_text(row, 5);
  int lane = lane_of(x, kind == ON_DEVICE, l->column_int64(row, 3), l->column_int64(row, 4));
  tn_event *e = lane < 0 ? NULL : add_event(x, lane, TN_EVENT_SCOPE, name ? name : "?", start_ns);
  if (!e) return REFUSE(x, "out of memory");
  e->duration_ns = end_ns - start_ns;
  if (kind == ON_DEVICE) e->flags |= TN_EVENT_DEVICE;
  if (kind == ON_DEVICE && l->column_count(row) > 6)
    profiler_add_arg(x->r, &(tn_event_arg){"bytes", TN_EVENT_ARG_I64, {l->column_int64(row, 6)}});
  if (kind == ON_HOST || launch <= 0) return true;
  if (kind == ON_DEVICE) profiler_add_arg(x->r, &(tn_event_arg){TN_LAUNCH, TN_EVENT_ARG_I64, {launch}});
  tn_event *arrow = add_event(x, lane, TN_EVENT_FLOW, TN_LAUNCH, start_ns);
  if (!arrow) return REFUSE(x, "out of memory");
  arrow->id = (uint64_t)launch;
  arrow->phase = kind == LAUNCH ? TN_FLOW_START : TN_FLOW_END;
  return true;
}

/* Refuses rows whose times are missing, negative or in the wrong order: the database is broken. */
static bool read_row(reader *x, const struct activity *a, sqlite3_stmt *row, long long number) {
  int64_t start_ns = x->l->column_int64(row, 0), end_ns = x->l->column_int64(row, 1);
  bool is_time = x->l->column_type(row, 0) != SQLITE_NULL && x->l->column_type(row, 1) != SQLITE_NULL &&
                 start_ns >= 0 && end_ns >= start_ns && end_ns <= PROFILER_MAX_NS;
  if (!is_time)
    return REFUSE(x, "table %s, row %lld: start %lld, end %lld are no times one after the other", a->table, number,
                  (long long)start_ns, (long long)end_ns);
  return add_activity(x, a->kind, row, start_ns, end_ns);
}

/* Reads all rows of one query. A query that cannot be prepared is skipped; see `activities`. */
static bool read_activity(reader *x, const struct activity *a) {
  sqlite3_stmt *rows = NULL;
  long long n = 0;
  int status;
  if (x->l->prepare_v2(x->db, a->sql, -1, &rows, NULL) != SQLITE_OK) return true; /* for tables of the other tool */
  ++x->n_tables;
  bool ok = true;
  while (ok && (status = x->l->step(rows)) == SQLITE_ROW) ok = read_row(x, a, rows, ++n);
  if (ok && status != SQLITE_DONE) ok = REFUSE(x, "table %s, row %lld: %s", a->table, n + 1, x->l->errmsg(x->db));
  x->l->finalize(rows);
  return ok;
}

/* Moves all times so that the first is 0. */
static void settle_times(tn_recording *r) {
  int64_t first = INT64_MAX;
  for (int64_t i = 0; i < r->n_events; ++i) first = RUNTIME_MIN(first, r->events[i].start_ns);
  for (int64_t i = 0; i < r->n_events; ++i) {
    tn_event *e = &r->events[i];
    e->start_ns -= first;
    r->info.duration_ns = RUNTIME_MAX(r->info.duration_ns, e->start_ns + e->duration_ns);
  }
  if (r->n_events) r->info.start_ns = first;
}

static bool read_database(reader *x, const char *path) {
  if (x->l->open_v2(path, &x->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
    return REFUSE(x, "%s", x->db ? x->l->errmsg(x->db) : "out of memory");
  for (int i = 0; i < RUNTIME_COUNT(activities); ++i)
    if (!read_activity(x, &activities[i])) return false;
  if (x->n_tables == 0)
    return REFUSE(x, "it has no table that nvprof or `nsys export` writes (CUPTI_ACTIVITY_KIND_..., NVTX_EVENTS): %s",
                  x->l->errmsg(x->db));
  settle_times(x->r);
  return true;
}

tn_recording *profiler_read_sqlite(tn_context *ctx, const char *path) {
  library l = {0};
  reader x = {.l = &l, .r = profiler_recording_new()};
  bool ok = x.r ? true : REFUSE(&x, "out of memory");
  if (ok && !open_library(&l)) ok = REFUSE(&x, "an SQLite database is read with libsqlite3.so.0, which is not there");
  ok = ok && read_database(&x, path);
  if (x.db) l.close(x.db);
  if (l.handle) dlclose(l.handle);
  profiler_map_free(&x.processes);
  profiler_map_free(&x.lanes);
  if (ok) return profiler_finish_reading(ctx, x.r, path);
  tn_recording_free(x.r);
  runtime_fail(ctx, TN_ERROR_PARSE, "%s: %s", path, x.why);
  return NULL;
}
