/* machine.c: what operations cost on this machine, measured once and kept in the user's cache directory. The generic
 * schedules and the tuner choose by it. Each machine has a file of its own, since several may share a home directory; a
 * process that may use fewer processors counts as another machine. A file that is damaged, of another version or of
 * another machine is replaced by a new measurement, and a note says so. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/new_file.h"
#include "tools/tools.h"

/* Stands in the file's name and in the file, so that versions of Tenon side by side keep a file each. */
#define MACHINE_VERSION "14"

static const char head[] = "tenon machine " MACHINE_VERSION;

/* What the file has to be of: the processor, its features, threads and caches. */
static void identity(const tn_target *native, runtime_str *out) {
  runtime_str_addf(out, "%s", tn_target_text(native));
  for (int level = 1; level <= 3; level++)
    runtime_str_addf(out, " cache%d=%lld", level, (long long)tn_target_cache_bytes(native, level));
}

/* The path of the file for the machine that OF describes. False: no directory is known, or no memory. */
static bool find_path(const runtime_str *of, runtime_str *out) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  unsigned long long hash = runtime_hash(of->data, of->n, 0);
  if (of->failed) return false;
  if (cache && *cache == '/')
    runtime_str_addf(out, "%s/tenon/machine-" MACHINE_VERSION "-%016llx", cache, hash);
  else if (home && *home == '/')
    runtime_str_addf(out, "%s/.cache/tenon/machine-" MACHINE_VERSION "-%016llx", home, hash);
  return !out->failed && out->n > 0;
}

bool tools_cache_path(tn_context *ctx, runtime_str *out) {
  runtime_str of = {0};
  tn_target *native = tn_target_new(ctx, NULL);
  if (native) identity(native, &of);
  bool ok = native && find_path(&of, out);
  runtime_str_free(&of);
  return ok;
}

/* The line of costs in a file's TEXT, which is cut up; NULL: it is not usable, and *WHY says why. "end" as
 * the last line shows that the file is complete. */
static char *find_costs(char *text, const char *of, const char **why) {
  char *rest = NULL, *first = strtok_r(text, "\n", &rest), *about = strtok_r(NULL, "\n", &rest);
  char *costs = strtok_r(NULL, "\n", &rest), *end = strtok_r(NULL, "\n", &rest);
  *why = !first || strcmp(first, head) != 0          ? "is of another version, or torn"
         : !about || strcmp(about, of) != 0          ? "is of another machine"
         : !costs || !end || strcmp(end, "end") != 0 ? "is torn"
                                                     : NULL;
  return *why ? NULL : costs;
}

/* Gives the session's target what the file holds. False: there is no file, or it is not usable, which a note says. */
static bool load_costs(tools_session *session, const char *path, const char *of) {
  const char *why = NULL;
  if (access(path, R_OK) != 0) return false;
  char *text = tools_read(session, path), *costs = text ? find_costs(text, of, &why) : NULL;
  bool ok = costs && tn_target_set_costs(session->target, costs) == TN_OK;
  if (!ok && !session->is_muted)
    fprintf(stderr, "tenon: note: %s %s: the machine is measured anew\n", path, why ? why : "cannot be read");
  free(text);
  tn_context_clear(session->ctx);
  return ok;
}

/* Makes the missing directories above PATH. A failure shows when the file is written. */
static void make_directories(const char *path) {
  runtime_str part = {0};
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    part.n = 0;
    runtime_str_addf(&part, "%.*s", (int)(slash - path), path);
    if (!part.failed) (void)mkdir(part.data, 0777);
  }
  runtime_str_free(&part);
}

/* Replaces the file as a whole. False: it could not be written. */
static bool save_costs(const char *path, const char *of, const char *costs) {
  make_directories(path);
  runtime_new_file made = {.fd = -1};
  FILE *file = runtime_new_file_open(&made, path) ? runtime_new_file_stream(&made) : NULL;
  bool ok = file && fprintf(file, "%s\n%s\n%s\nend\n", head, of, costs) > 0;
  if (file && fclose(file) != 0) ok = false;
  ok = ok && runtime_new_file_keep(&made, path);
  runtime_new_file_drop(&made);
  return ok;
}

/* Measures the costs and keeps them. False after a message. A cache that cannot be written is no failure: a
 * note says so, and the next run measures again. */
static bool measure_costs(tools_session *session, const char *path, const char *of) {
  uint64_t begin = runtime_now_ns();
  const char *costs = tn_measure_costs(session->ctx);
  if (!costs || tn_target_set_costs(session->target, costs) != TN_OK) return false;
  double seconds = (double)(runtime_now_ns() - begin) * 1e-9;
  bool kept = path && save_costs(path, of, costs);
  if (!session->is_muted)
    fprintf(
        stderr, "tenon: note: this machine was measured in %.1f s%s%s\n", seconds,
        kept ? ", and its costs are kept in " : ", and its costs are not kept: there is no cache directory to write to",
        kept ? path : "");
  return true;
}

/* Gives the session's target its costs, measured again if ANEW. Costs that the user gave in --target stay.
 * A target that is not this machine's gets none: they cannot be measured here. */
bool tools_know_machine(tools_session *session, bool anew) {
  runtime_str path = {0}, of = {0};
  tn_target *native = tn_target_new(session->ctx, NULL);
  if (!native) return false;
  const char *costs = tn_target_costs(session->target);
  const char *own = tn_target_text(native), *text = tn_target_text(session->target);
  size_t n = (size_t)(strstr(own, " threads=") - own);
  bool is_own = strncmp(own, text, n) == 0 && strncmp(text + n, " threads=", strlen(" threads=")) == 0;
  if (!is_own || (*costs && !anew)) return true;
  identity(native, &of);
  bool ok = !of.failed, has_path = ok && find_path(&of, &path);
  if (ok && (anew || !has_path || !load_costs(session, path.data, of.data)))
    ok = measure_costs(session, has_path ? path.data : NULL, of.data);
  runtime_str_free(&path);
  runtime_str_free(&of);
  return ok;
}
