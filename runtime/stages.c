/* stages.c: the stages of kernels: their times, which threads count while they run, and their work
 * counters, as a report and as marks in a recording. The stages are in the kernel's arena, the counters in
 * its code. */
#include <assert.h>
#include <math.h>

#include "runtime/stages.h"

#include "runtime/kernel.h"
#include "runtime/profiler/profiler.h"

/* What is known of a kernel's stages: names and work from the schedule, times from counters to which the
 * code itself adds. In the kernel's arena. */
struct runtime_stages {
  int n, n_told, threads;  /* times are known of the first N_TOLD */
  tn_kernel_stage *stages; /* in the kernel's arena */
  bool is_counted;
  const int64_t *counters;  /* rows of n_told + 1 numbers; NULL: the kernel counts no times */
  _Atomic uint64_t wall_ns; /* of all calls */
};

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Copies everything, names included, since whoever compiled the kernel may free them. */
static bool copy_stages(tn_kernel *kernel, runtime_stages *to, const tn_kernel_stage *stages) {
  to->stages = runtime_copy(&kernel->arena, stages, sizeof *stages * (size_t)to->n);
  if (to->stages == NULL) return false;
  for (int i = 0; i < to->n; ++i) {
    to->stages[i].name = runtime_strdup(&kernel->arena, stages[i].name);
    if (to->stages[i].name == NULL) return false;
    to->is_counted |= stages[i].is_counted;
  }
  return true;
}

/* After a failure the kernel has no stages and is otherwise unchanged. */
tn_status runtime_stages_set(tn_kernel *kernel, int n, const tn_kernel_stage *stages, int n_told,
                             const int64_t *counters, int threads) {
  runtime_stages *made = RUNTIME_NEW(&kernel->arena, runtime_stages);
  if (made == NULL)
    return runtime_fail(kernel->ctx, TN_ERROR_MEMORY, "kernel %s: out of memory for its stages", kernel->name);
  made->n = n;
  made->n_told = n_told;
  made->threads = threads;
  made->counters = counters;
  if (!copy_stages(kernel, made, stages))
    return runtime_fail(kernel->ctx, TN_ERROR_MEMORY, "kernel %s: out of memory for its stages", kernel->name);
  kernel->stages = made;
  return TN_OK;
}

uint64_t runtime_stages_enter(const runtime_stages *stages) { return stages->counters ? runtime_now_ns() : 0; }

void runtime_stages_leave(runtime_stages *stages, uint64_t start) {
  if (stages->counters) atomic_fetch_add(&stages->wall_ns, runtime_now_ns() - start);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Read atomically, since other threads may be counting. */
static double counted(const runtime_stages *s, int row, int stage) {
  return (double)__atomic_load_n(&s->counters[row * (s->n_told + 1) + stage], __ATOMIC_RELAXED);
}

/* STAGE 0 is outside all stages, as in the kernel. Threads count ticks; the calls' wall time is divided in
 * proportion. */
static void read_times(const runtime_stages *s, int stage, tn_kernel_stage *out) {
  double all = 0;
  if (s->counters == NULL || stage > s->n_told) return;
  for (int i = 0; i <= s->n_told; ++i) all += counted(s, RUNTIME_STAGE_TICKS, i);
  double share = all > 0 ? counted(s, RUNTIME_STAGE_TICKS, stage) / all : 0;
  double parallel = counted(s, RUNTIME_STAGE_WALL, stage) * s->threads;
  out->seconds = share * (double)atomic_load(&s->wall_ns) * 1e-9;
  out->visits = (int64_t)counted(s, RUNTIME_STAGE_VISITS, stage);
  out->active = parallel > 0 ? fmin(counted(s, RUNTIME_STAGE_BUSY, stage) / parallel, 1) : 0;
}

/* Times are read at this moment: of a call in progress some may be included. */
int tn_kernel_stages(const tn_kernel *kernel, int max, tn_kernel_stage *out) {
  const runtime_stages *s = kernel != NULL ? kernel->stages : NULL;
  if (s == NULL) return 0;
  if (out == NULL) max = 0;
  assert(s->n >= 0);
  for (int i = 0; i < s->n && i < max; ++i) {
    out[i] = s->stages[i];
    read_times(s, i + 1, &out[i]);
  }
  if (s->n < max) {
    out[s->n] = (tn_kernel_stage){.name = "(outside)"};
    read_times(s, 0, &out[s->n]);
  }
  return s->n + 1;
}

double tn_kernel_stage_recompute(const tn_kernel_stage *stage) {
  return stage && stage->required > 0 ? (double)stage->points / (double)stage->required : 0;
}

/* All stages, malloc'ed, and the sum of their times. *n is 0 if there are none, or no memory. */
static tn_kernel_stage *all_stages(const tn_kernel *kernel, int *n, double *seconds) {
  *n = tn_kernel_stages(kernel, 0, NULL);
  tn_kernel_stage *stages = *n > 0 ? calloc((size_t)*n, sizeof *stages) : NULL;
  *seconds = 0;
  if (stages == NULL) *n = 0;
  if (*n > 0) tn_kernel_stages(kernel, *n, stages);
  for (int i = 0; i < *n; ++i) *seconds += stages[i].seconds;
  return stages;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Prints times in ms over all calls so far. Inlined stages have no loops of their own; their time is their reader's. */
static void add_times(runtime_str *out, const tn_kernel_stage *stages, int n, double seconds) {
  runtime_str_addf(out, "%-20s %12s %8s %10s %8s\n", "stage", "ms", "share", "visits", "active");
  for (int i = 0; i < n; ++i) {
    const tn_kernel_stage *s = &stages[i];
    if (s->is_inlined) continue;
    runtime_str_addf(out, "%-20s %12.3f %7.1f%% %10lld", s->name, s->seconds * 1e3,
                     seconds > 0 ? 100 * s->seconds / seconds : 0, (long long)s->visits);
    if (s->active > 0) runtime_str_addf(out, " %7.1f%%", 100 * s->active);
    runtime_str_add(out, "\n");
  }
}

/* The second table of a report, only for stages that were compiled with counters. */
static void add_counts(runtime_str *out, const tn_kernel_stage *stages, int n) {
  runtime_str_addf(out, "%-20s %12s %10s %14s %14s %14s %14s\n", "stage", "points", "recompute", "loads", "stores",
                   "vector loads", "vector stores");
  for (int i = 0; i < n; ++i) {
    const tn_kernel_stage *s = &stages[i];
    if (!s->is_counted) continue;
    runtime_str_addf(out, "%-20s %12lld %10.4f %14lld %14lld %14lld %14lld\n", s->name, (long long)s->points,
                     tn_kernel_stage_recompute(s), (long long)s->loads, (long long)s->stores,
                     (long long)s->vector_loads, (long long)s->vector_stores);
  }
}

char *tn_kernel_stage_report(const tn_kernel *kernel) {
  int n;
  double seconds;
  runtime_str out = {0};
  tn_kernel_stage *stages = all_stages(kernel, &n, &seconds);
  if (n > 0 && kernel->stages->counters != NULL) add_times(&out, stages, n, seconds);
  if (n > 0 && kernel->stages->is_counted) add_counts(&out, stages, n);
  free(stages);
  return out.failed ? (runtime_str_free(&out), NULL) : out.data;
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

enum { MAX_MARK_ARGS = 24 };

/* The arguments of a stage's event. */
typedef struct mark {
  int n;
  tn_event_arg args[MAX_MARK_ARGS];
} mark;

/* Arguments that do not fit are dropped; a mark with fewer can still be read. */
static void add_arg(mark *m, tn_event_arg arg) {
  if (m->n < MAX_MARK_ARGS) m->args[m->n++] = arg;
}

/* Fills in the arguments that are columns of the table `kernel` in analyses. */
static void fill_mark(mark *m, const tn_kernel *kernel, const tn_kernel_stage *s, double seconds) {
  add_arg(m, tn_event_arg_text("kernel", kernel->name));
  add_arg(m, tn_event_arg_text("stage", s->name));
  add_arg(m, tn_event_arg_i64("is_root", s->is_root));
  add_arg(m, tn_event_arg_i64("is_parallel", s->is_parallel));
  add_arg(m, tn_event_arg_i64("threads", kernel->stages->threads));
  if (kernel->stages->counters != NULL && !s->is_inlined) {
    add_arg(m, tn_event_arg_i64("visits", s->visits));
    add_arg(m, tn_event_arg_f64("share", seconds > 0 ? s->seconds / seconds : 0));
    if (s->active > 0) add_arg(m, tn_event_arg_f64("active", s->active));
  }
  if (!s->is_counted) return;
#define X(name) add_arg(m, tn_event_arg_i64(#name, s->name));
  X(points)
  X(required)
  X(loads)
  X(stores)
  X(vector_loads)
  X(vector_stores)
  X(gathers)
  X(scatters)
  X(loops)
  X(tasks)
  X(store_bits)
  X(native_bits)
#undef X
}

/* Marks carry what the kernel has counted up to now; those of earlier calls remain in the recording. */
void tn_kernel_mark_stages(const tn_kernel *kernel) {
  static const tn_site site = TN_SITE(KERNEL, 3);
  int n;
  double seconds;
  tn_kernel_stage *stages = all_stages(kernel, &n, &seconds);
  for (int i = 0; i + 1 < n; ++i) { /* but for "(outside)" */
    mark m = {0};
    fill_mark(&m, kernel, &stages[i], seconds);
    tn_mark(&site, "stage", m.args, m.n);
  }
  free(stages);
}
