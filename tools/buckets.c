/* buckets.c: `tenon build --buckets M=1,16,128`: reads the sizes and says what was found for each of them. */
#include <errno.h>
#include <unistd.h>

#include "tools/build.h"

/* What --buckets says: the symbol's name and the sizes. */
typedef struct bucket_line {
  char symbol[128];
  int n;
  int64_t sizes[TN_MAX_BUCKETS];
} bucket_line;

/* Always false, after a message. */
static bool refuse(tools_session *session, const char *text) {
  tools_fail(session, "--buckets is a symbol and whole numbers, as in M=1,16,128, not '%s'", text);
  return false;
}

/* Reads "M=1,16,128". Whether the sizes ascend and are values of the symbol is for the library to check.
 * False after a message. */
static bool read_line(tools_session *session, const char *text, bucket_line *out) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof out->symbol) return refuse(session, text);
  memcpy(out->symbol, text, (size_t)(equals - text));
  out->symbol[equals - text] = '\0';
  for (const char *at = equals + 1;; ++at) {
    char *end;
    errno = 0;
    long long size = strtoll(at, &end, 10);
    if (end == at || errno || (*end && *end != ',')) return refuse(session, text);
    if (out->n == TN_MAX_BUCKETS)
      return tools_fail(session, "--buckets has more than %d sizes", (int)TN_MAX_BUCKETS), false;
    out->sizes[out->n++] = size;
    if (!*end) return true;
    at = end;
  }
}

/* Prints a line for each size: its record's time, or that the generic schedule stands in. */
static void tell(const bucket_line *line, const tn_bucket *buckets, const char *log) {
  for (int i = 0; i < line->n; ++i) {
    printf("%s=%lld  ", line->symbol, (long long)buckets[i].size);
    if (buckets[i].seconds > 0)
      printf("%s, of %s%s\n", tools_time(buckets[i].seconds).text, log,
             buckets[i].is_plain ? "; beside it the program's own loops: its schedule needs a number" : "");
    else
      printf("the generic schedule: there is no record (tenon tune -p %s=%lld)%s\n", line->symbol,
             (long long)buckets[i].size,
             buckets[i].is_plain ? "; beside it the program's own loops: that schedule needs a number" : "");
  }
}

/* Sizes that no record was found for. */
static int count_missing(const bucket_line *line, const tn_bucket *buckets) {
  int n = 0;
  for (int i = 0; i < line->n; ++i) n += buckets[i].seconds == 0;
  return n;
}

tn_schedule *tools_bucket_schedule(tools_session *session, const tools_args *args, const char *log) {
  bucket_line line = {.n = 0};
  tn_bucket buckets[TN_MAX_BUCKETS];
  if (!read_line(session, args->buckets, &line) || !tools_know_machine(session, false)) return NULL;
  bool is_there = log && (args->log || access(log, F_OK) == 0);
  tn_schedule *schedule = tn_apply_buckets(session->program, session->target, is_there ? log : NULL, line.symbol,
                                           line.n, line.sizes, buckets);
  int n = schedule && args->is_strict ? count_missing(&line, buckets) : 0;
  if (n > 0) {
    tools_fail(session, "%d of the %d sizes have no usable record", n, line.n);
    tn_schedule_free(schedule);
    return NULL;
  }
  if (schedule && args->output) tell(&line, buckets, log);
  return schedule;
}
