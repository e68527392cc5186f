/* doctor.c: `tenon doctor`: says what on this machine stands in the way of correct builds or good timings,
 * and the command that mends it. A finding is a row; each look_at function below prints the rows of one
 * subject. Nothing is changed. */
#include <dlfcn.h>
#include <errno.h>
#include <llvm-c/Core.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/xgboost.h"
#include "benchmarks/vendors/vendors.h"
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {TOOLS_OPTION_JSON, TOOLS_OPTION_END};

const tools_verb tools_doctor = {
    .name = "doctor",
    .operands = "[--json]",
    .summary = "say what of this machine and its libraries is missing or in the way",
    .details =
        "One line a finding: `ok`, `note` (figures or a feature suffer) or `missing` (something does not work),\n"
        "what was found, and where there is one the command that mends it. Looks at libraries and their\n"
        "versions, at the processor as LLVM and as the kernel see it, at limits of this process and its control\n"
        "group, at permissions for perf, at huge pages, the clock's governor and the load. Changes nothing.\n"
        "The exit status is 1 when something is missing.",
    .options = options,
    .run = run,
};

/* MISSING: something does not work, and the exit status says so. NOTE: figures or a feature suffer. */
typedef enum finding_kind { FOUND_OK, FOUND_NOTE, FOUND_MISSING } finding_kind;
static const char *const kind_words[] = {"ok", "note", "missing"};
static const tools_tint kind_tints[] = {TOOLS_GREEN, TOOLS_YELLOW, TOOLS_RED};

/* The run's state. With --json rows are collected, otherwise each is printed at once. */
typedef struct report {
  tools_session session;
  bool is_json, is_missing;
  json_t *rows;
} report;

/* Adds a finding. WHAT is the subject; REMEDY is a command that mends it, or NULL; FMT says what was found. */
TN_PRINTF(5, 6)
static void find(report *r, finding_kind kind, const char *what, const char *remedy, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  const char *found = text.failed ? "" : text.data;
  r->is_missing |= kind == FOUND_MISSING;
  if (r->is_json)
    json_array_append_new(r->rows, json_pack("{s:s, s:s, s:s, s:s*}", "state", kind_words[kind], "what", what, "found",
                                             found, "remedy", remedy));
  else
    printf("%s%-8s%s %-14s %s%s%s\n", tools_colour(stdout, kind_tints[kind]), kind_words[kind],
           tools_colour(stdout, TOOLS_PLAIN), what, found, remedy ? "; mend: " : "", remedy ? remedy : "");
  runtime_str_free(&text);
}

/* Reads the first line of a small file of the kernel's; false: there is none. */
static bool read_line(const char *path, char *out, size_t n) {
  FILE *f = fopen(path, "re");
  bool got = f && fgets(out, (int)n, f);
  if (f) fclose(f);
  if (got) out[strcspn(out, "\n")] = '\0';
  return got;
}

/* ---- libraries ---------------------------------------------------------------------------------------------------- */

/* LLVM is linked and always there; XGBoost is opened at run time and may be missing. */
static void look_at_libraries(report *r) {
  unsigned v[3];
  int x[3];
  char why[200];
  autotune_xgboost functions;
  LLVMGetVersion(&v[0], &v[1], &v[2]);
  find(r, FOUND_OK, "LLVM", NULL, "%u.%u.%u compiles the kernels", v[0], v[1], v[2]);
  if (autotune_xgboost_load(NULL, &functions, why, sizeof why)) {
    functions.BoostVersion(&x[0], &x[1], &x[2]);
    find(r, FOUND_OK, "XGBoost", NULL, "%d.%d.%d is the tuner's cost model", x[0], x[1], x[2]);
  } else {
    find(r, FOUND_NOTE, "XGBoost", "apt-get install libxgboost0", "%s: tuning goes on without a learned model", why);
  }
  if (system("cc --version >/dev/null 2>&1") == 0)
    find(r, FOUND_OK, "cc", NULL, "links shared objects (tenon build -o k.so)");
  else
    find(r, FOUND_MISSING, "cc", "apt-get install gcc libc6-dev", "no C compiler: tenon build -o k.so cannot link");
}

/* Looks for each library under the name that `tenon bench --vs` opens. Nothing else needs them. */
static void look_at_vendors(report *r) {
  static const struct {
    const char *name, *file, *package;
  } libraries[] = {{"OpenBLAS", "libopenblas.so.0", "apt-get install libopenblas0-pthread"},
                   {"oneDNN", "libdnnl.so.2", "apt-get install libdnnl2"},
                   {"BLIS", "libblis.so.4", "apt-get install libblis4-pthread"}};
  for (int i = 0; i < RUNTIME_COUNT(libraries); ++i) {
    void *library = dlopen(libraries[i].file, RTLD_LAZY | RTLD_LOCAL);
    if (library)
      find(r, FOUND_OK, libraries[i].name, NULL, "%s, for bench --vs", libraries[i].file);
    else
      find(r, FOUND_NOTE, libraries[i].name, libraries[i].package, "not here: bench --vs goes without it");
    if (library) dlclose(library);
  }
}

/* ---- the processor ------------------------------------------------------------------------------------------------ */

/* What LLVM detects, what the system does not enable, and how many processors the process may use. */
static void look_at_processor(report *r) {
  const char *text = tn_target_text(r->session.target), *cpu = strstr(text, "cpu=");
  const char *features = strstr(text, "features=");
  cpu_set_t allowed;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  int usable = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : (int)online;
  find(r, FOUND_OK, "processor", NULL, "%.*s as LLVM sees it, vectors of %d bytes",
       cpu ? (int)strcspn(cpu + 4, " ") : 0, cpu ? cpu + 4 : "", tn_target_vector_bytes(r->session.target));
  if (features)
    find(r, FOUND_OK, "features", NULL, "without what the system does not enable: %.*s",
         (int)strcspn(features + 9, " "), features + 9);
  if (usable < online)
    find(r, FOUND_NOTE, "processors", NULL, "this process may use %d of %ld: kernels of more threads share them",
         usable, online);
  else
    find(r, FOUND_OK, "processors", NULL, "%d", usable);
}

/* Whether this machine's costs were measured: the generic schedules are chosen by them. */
static void look_at_costs(report *r) {
  runtime_str path = {0};
  struct stat info;
  if (!tools_cache_path(r->session.ctx, &path))
    find(r, FOUND_NOTE, "costs", NULL,
         "neither XDG_CACHE_HOME nor HOME is set: the machine is measured anew in each run");
  else if (stat(path.data, &info) != 0)
    find(r, FOUND_NOTE, "costs", "tenon target --measure",
         "this machine was not measured yet: the first -s auto does it");
  else
    find(r, FOUND_OK, "costs", NULL, "what operations take here is kept in %s", path.data);
  runtime_str_free(&path);
}

/* ---- limits and noise --------------------------------------------------------------------------------------------- */

/* Limits of a container's control group, which no other call reports. */
static void look_at_control_group(report *r) {
  char line[128];
  long long quota = 0, period = 0;
  if (read_line("/sys/fs/cgroup/cpu.max", line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2 &&
      period > 0)
    find(r, FOUND_NOTE, "cpu quota", NULL,
         "the control group gives %.1f processors: threads beyond that are stopped for milliseconds",
         (double)quota / (double)period);
  if (read_line("/sys/fs/cgroup/memory.max", line, sizeof line) && strcmp(line, "max") != 0)
    find(r, FOUND_OK, "memory", NULL, "the control group gives %.1f GB", strtod(line, NULL) * 1e-9);
}

/* Says only limits that are so low that the tuner or LLVM would run into them. */
static void look_at_limits(report *r) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 256)
    find(r, FOUND_NOTE, "files", "ulimit -n 1024", "only %llu open files: workers of the tuner need about 20 each",
         (unsigned long long)limit.rlim_cur);
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    find(r, FOUND_NOTE, "address space", "ulimit -v unlimited", "limited to %.1f GB: LLVM may run out of memory",
         (double)limit.rlim_cur * 1e-9);
}

/* Reads what the kernel announces. A sandbox may forbid the system call all the same, which does not show here. */
static void look_at_perf(report *r) {
  char line[32];
  if (!read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof line))
    find(r, FOUND_NOTE, "perf", NULL, "the kernel has no perf events: cycles and cache misses are not shown");
  else if (atoi(line) > 2)
    find(r, FOUND_NOTE, "perf", "sysctl kernel.perf_event_paranoid=2", "not allowed (perf_event_paranoid is %s)", line);
  else
    find(r, FOUND_OK, "perf", NULL, "events of own processes are allowed");
}

/* What makes timings vary: pages, the processor's clock, other load. */
static void look_at_noise(report *r) {
  char line[128];
  double load = 0;
  if (read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line))
    find(r, strstr(line, "[never]") ? FOUND_NOTE : FOUND_OK, "huge pages",
         strstr(line, "[never]") ? "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled" : NULL, "%s", line);
  if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line, sizeof line))
    find(r, strcmp(line, "performance") == 0 ? FOUND_OK : FOUND_NOTE, "governor",
         strcmp(line, "performance") == 0 ? NULL : "cpupower frequency-set -g performance", "%s", line);
  if (read_line("/proc/loadavg", line, sizeof line)) load = strtod(line, NULL);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (load > 0.5)
    find(r, FOUND_NOTE, "load", NULL, "%.1f on %ld processors: times are noisier than on a quiet machine", load,
         online);
  else
    find(r, FOUND_OK, "load", NULL, "%.1f", load);
}

/* Prints all findings. Only missing things change the exit status. */
static int run(const tools_args *args) {
  report r = {.is_json = args->is_json, .rows = json_array()};
  tools_args none = {.verb = args->verb};
  if (!tools_open(&r.session, &none)) {
    json_decref(r.rows);
    return TOOLS_FAILED;
  }
  look_at_libraries(&r);
  look_at_vendors(&r);
  look_at_processor(&r);
  look_at_costs(&r);
  look_at_control_group(&r);
  look_at_limits(&r);
  look_at_perf(&r);
  look_at_noise(&r);
  int status = TOOLS_OK;
  if (r.is_json)
    status = tools_print_json(&r.session, json_pack("{s:o}", "findings", r.rows));
  else
    json_decref(r.rows);
  tools_close(&r.session);
  return status == TOOLS_OK && r.is_missing ? TOOLS_FAILED : status;
}
