/* hosts.c: other machines that `tenon tune` times candidates on (--worker COMMAND, --hosts FILE, --queue
 * URL), and the lines about them at the end.
 *
 * A command is a line for /bin/sh, so that it reads as in a terminal. */
#include <ctype.h>
#include <sys/resource.h>

#include "tools/tuning.h"

/* The longest line of a file of hosts, in bytes. */
enum { MOST_OF_A_LINE = 4096 };

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* argv of `sh -c COMMAND`, in the arena; NULL, or an element that is NULL: no memory. */
static const char *const *shell_command(runtime_arena *arena, const char *command) {
  const char **argv = RUNTIME_NEW_ARRAY(arena, const char *, 4);
  if (!argv) return NULL;
  argv[0] = "/bin/sh";
  argv[1] = "-c";
  argv[2] = runtime_strdup(arena, command);
  return argv;
}

/* Adds a host with its command. Returns the exit status. */
static int add_host(tools_session *session, tools_hosts *out, tn_worker_host *host, const char *command) {
  host->command = shell_command(&out->arena, command);
  if (host->command && host->command[2] && RUNTIME_PUSH(&out->hosts, *host)) return TOOLS_OK;
  return tools_fail(session, "out of memory for the workers");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The line of --hosts' file that a message is about. */
typedef struct place {
  tools_session *session;
  const char *file;
  int line;
} place;

/* Reads a whole number from 1 to 65536 that fills the word's N characters. */
static bool read_count(const char *word, size_t n, int *out) {
  char *end;
  long value = strtol(word, &end, 10);
  *out = (int)value;
  return isdigit((unsigned char)*word) && end == word + n && value >= 1 && value <= 1 << 16;
}

/* Reads one KEY=VALUE before the command. Each key may stand once: SEEN has a bit for each. Returns the
 * exit status; -1: the word is no KEY=VALUE, so the command begins here. */
static int take_word(const place *at, runtime_arena *arena, const char *word, size_t n, unsigned *seen,
                     tn_worker_host *host) {
  static const char *const keys[] = {"name", "count", "threads", "tags"};
  const char *equals = memchr(word, '=', n);
  if (!equals || !islower((unsigned char)*word)) return -1;
  int key = 0;
  while (key < 4 && !(strlen(keys[key]) == (size_t)(equals - word) && strncmp(keys[key], word, strlen(keys[key])) == 0))
    ++key;
  const char *value = equals + 1;
  size_t length = n - (size_t)(value - word);
  if (key == 4)
    return tools_fail(at->session, "%s:%d: there is no %.*s: name=, count=, threads= and tags= stand before a command",
                      at->file, at->line, (int)(equals - word) + 1, word);
  if (*seen & 1u << key)
    return tools_fail(at->session, "%s:%d: %.*s: %s= stands here twice: give it once", at->file, at->line, (int)n, word,
                      keys[key]);
  *seen |= 1u << key;
  if (key == 0) host->name = runtime_strndup(arena, value, length);
  if (key == 3) host->tags = runtime_strndup(arena, value, length);
  bool is_count = key == 1 || key == 2;
  if (length == 0 || (is_count && !read_count(value, length, key == 1 ? &host->count : &host->threads)))
    return tools_fail(at->session, "%s:%d: %.*s: %s is needed", at->file, at->line, (int)n, word,
                      is_count ? "a whole number of 1 or more" : "a word");
  return TOOLS_OK;
}

/* Whether TAGS, words with commas, have each word of WANTED. */
static bool has_tags(const char *tags, const char *wanted) {
  for (const char *word = wanted; *word;) {
    size_t n = strcspn(word, ",");
    bool found = n == 0;
    for (const char *tag = tags ? tags : ""; *tag && !found;) {
      size_t length = strcspn(tag, ",");
      found = length == n && strncmp(tag, word, n) == 0;
      tag += length + (tag[length] == ',');
    }
    if (!found) return false;
    word += n + (word[n] == ',');
  }
  return true;
}

/* Reads a line: a host, unless it is empty or a comment, or lacks the wanted tags. Returns the exit status. */
static int take_line(const place *at, const char *text, const char *tags, tools_hosts *out) {
  tn_worker_host host = {0};
  int status = TOOLS_OK;
  unsigned seen = 0;
  text += strspn(text, " \t");
  for (; status == TOOLS_OK && *text && *text != '#'; text += strspn(text, " \t")) {
    size_t n = strcspn(text, " \t");
    status = take_word(at, &out->arena, text, n, &seen, &host);
    if (status != -1) {
      text += n;
      continue;
    }
    return has_tags(host.tags, tags ? tags : "") ? add_host(at->session, out, &host, text) : TOOLS_OK;
  }
  bool is_bare = host.name || host.count || host.threads || host.tags;
  if (status == TOOLS_OK && is_bare)
    return tools_fail(at->session, "%s:%d: the command is missing: as in `ssh HOST tenon worker`", at->file, at->line);
  return status;
}

/* Reads --hosts' file. Having no host in it, or none with the tags, is a failure. */
static int take_file(tools_session *session, const tools_args *args, tools_hosts *out) {
  place at = {session, args->hosts, 0};
  char *text = tools_read(session, args->hosts), *rest = text;
  int status = text ? TOOLS_OK : TOOLS_FAILED, before = out->hosts.n;
  for (char *line; status == TOOLS_OK && (line = strsep(&rest, "\n"));) {
    ++at.line;
    if (strlen(line) > MOST_OF_A_LINE)
      status = tools_fail(session, "%s:%d: the line is longer than %d bytes", at.file, at.line, MOST_OF_A_LINE);
    else
      status = take_line(&at, line, args->tags, out);
  }
  free(text);
  if (status != TOOLS_OK || out->hosts.n > before) return status;
  return args->tags ? tools_fail(session, "%s: no machine has the tags %s", args->hosts, args->tags)
                    : tools_fail(session, "%s: there is no machine in it: a line is a command", args->hosts);
}

/* ---- what the line says ------------------------------------------------------------------------------------------ */

/* Connects to the queue with the line's wishes. Returns the exit status. */
static int open_queue(tools_session *session, const tools_args *args, tools_hosts *out) {
  queue_wishes wishes = {.run_timeout_s = args->run_timeout,
                         .patience_s = args->patience,
                         .repeats = {.repeat = (int)args->repeat,
                                     .number = (int)args->number,
                                     .cooldown_s = args->cooldown,
                                     .flushes_cache = args->flushes_cache},
                         .builder = {.jobs = (int)args->jobs, .build_timeout_s = args->build_timeout}};
  out->queue = queue_tuner_open(session, args->queue, &wishes);
  return out->queue ? TOOLS_OK : TOOLS_FAILED;
}

int tools_open_hosts(tools_session *session, const tools_args *args, tools_hosts *out) {
  int status = TOOLS_OK;
  bool has_any = args->n_workers > 0 || args->hosts;
  if (args->queue && (has_any || args->build_on))
    return tools_usage(args->verb, "--queue does not go with --%s%s",
                       args->build_on ? "build-on"
                       : args->hosts  ? "hosts"
                                      : "worker",
                       args->build_on ? ": candidates are compiled here" : ": it is one or the other");
  if (has_any && args->runner)
    return tools_usage(args->verb, "--runner is a device, and --%s other machines: give one of both",
                       args->hosts ? "hosts" : "worker");
  if (args->build_on && tn_build_place_find(args->build_on) < 0)
    return tools_usage(args->verb, "--build-on is here, hosts or all, not '%s'", args->build_on);
  if (!has_any && !args->queue && (args->build_on || args->tags || args->patience > 0))
    return tools_usage(args->verb, "--%s goes with --worker or --hosts",
                       args->build_on ? "build-on"
                       : args->tags   ? "tags"
                                      : "patience");
  if (args->tags && !args->hosts) return tools_usage(args->verb, "--tags goes with --hosts");
  if (args->queue) return open_queue(session, args, out);
  for (int i = 0; status == TOOLS_OK && i < args->n_workers; ++i)
    status = add_host(session, out, &(tn_worker_host){0}, args->workers[i]);
  return status == TOOLS_OK && args->hosts ? take_file(session, args, out) : status;
}

void tools_free_hosts(tools_hosts *hosts) {
  queue_tuner_free(hosts->queue);
  RUNTIME_VEC_FREE(&hosts->hosts);
  runtime_arena_free(&hosts->arena);
}

/* Each worker takes two descriptors, and many workers more than the usual limit of 1024. So it is raised as
 * far as the hard limit allows; if that is not enough, the library says so. */
static void raise_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void tools_use_hosts(const tools_args *args, const tools_hosts *hosts, tn_worker_options *workers) {
  if (hosts->hosts.n > 0) raise_descriptors();
  workers->hosts = hosts->hosts.data;
  workers->n_hosts = hosts->hosts.n;
  workers->patience_s = args->patience;
  workers->runner = args->runner;
  workers->build_on = args->build_on ? (tn_build_place)tn_build_place_find(args->build_on) : TN_BUILD_ON_HERE;
}

void tools_print_host_options(const tools_args *args) {
  runtime_arena arena = {0};
  if (args->queue) printf(" --queue"), tools_print_quoted(queue_shown(&arena, args->queue));
  runtime_arena_free(&arena);
  for (int i = 0; i < args->n_workers; ++i) printf(" --worker"), tools_print_quoted(args->workers[i]);
  if (args->hosts) printf(" --hosts"), tools_print_quoted(args->hosts);
  if (args->runner) printf(" --runner"), tools_print_quoted(args->runner);
  if (args->tags) printf(" --tags"), tools_print_quoted(args->tags);
  if (args->build_on) printf(" --build-on %s", args->build_on);
  if (args->patience > 0) printf(" --patience %gs", args->patience);
}

/* ---- what became of them ----------------------------------------------------------------------------------------- */

/* One host's line at the end of a run. */
static void print_host(const tn_worker_host_state *host, FILE *out) {
  fprintf(out, "worker   %s%s%s%s: %s, %d timed", host->name, host->tags ? " (" : "", host->tags ? host->tags : "",
          host->tags ? ")" : "", tn_host_phase_word(host->phase), host->timed);
  if (host->built > 0) fprintf(out, ", %d built", host->built);
  if (host->lost > 0) fprintf(out, ", lost %d time%s", host->lost, host->lost > 1 ? "s" : "");
  if (host->trouble) fprintf(out, "; %s%s", host->phase == TN_HOST_SERVING ? "the last time: " : "", host->trouble);
  fputc('\n', out);
}

/* Prints all hosts. When several have timed candidates, says so: their times stand in one log, which
 * matters to whoever ranks them. */
void tools_print_hosts(int n, const tn_worker_host_state *hosts, const char *finals_on, FILE *out) {
  int n_timing = 0;
  for (int i = 0; i < n; ++i) {
    print_host(&hosts[i], out);
    n_timing += hosts[i].timed > 0;
  }
  if (n_timing > 1)
    fprintf(out, "machines %d timed candidates; times of trials are of different machines, %s%s\n", n_timing,
            finals_on ? "the finals are all of " : "and there were no finals on one of them",
            finals_on ? finals_on : "");
}

/* A JSON string of TEXT, which may be any bytes: a host must not be left out for its name or its last words. */
static json_t *any_text(const char *text) {
  json_t *made = json_string(text ? text : "");
  return made ? made : json_string("(a text that is not UTF-8)");
}

json_t *tools_hosts_array(int n, const tn_worker_host_state *hosts) {
  json_t *array = json_array();
  for (int i = 0; i < n; ++i) {
    const tn_worker_host_state *h = &hosts[i];
    json_t *object =
        json_pack("{s:o, s:o, s:s, s:i, s:i, s:i}", "name", any_text(h->name), "command", any_text(h->command), "state",
                  tn_host_phase_word(h->phase), "timed", h->timed, "built", h->built, "lost", h->lost);
    if (object && h->tags) json_object_set_new(object, "tags", any_text(h->tags));
    if (object && h->trouble) json_object_set_new(object, "trouble", any_text(h->trouble));
    json_array_append_new(array, object);
  }
  return array;
}
