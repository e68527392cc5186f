/* log_write.c: makes logs from logs: several put together, a part of one, the best of one. Lines are copied
 * unchanged, so that fields that this version does not know survive.
 *
 * A log gets its name only when it is complete. If it replaces a log that others append to, what they added
 * meanwhile is copied at the end, under the lock; whoever waits for that lock then finds the new file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/log_work.h"
#include "runtime/new_file.h"

/* KEEP: how many records of each program and target compacting keeps unless the caller says. BUFFER_BYTES: of the
 * stream that the new log is written through. */
enum { KEEP = 16, BUFFER_BYTES = 1 << 20 };

/* A log that is being written. */
typedef struct writer {
  tn_context *ctx;
  const char *path; /* as the user named it */
  char *place;      /* malloc'ed: PATH with links resolved, so that a link itself is not replaced */
  runtime_new_file made;
  FILE *file;       /* writes to MADE */
  runtime_map seen; /* hashes of lines */
  tn_log_sum *sum;
  bool failed; /* errno says why */
  bool lacks_memory;
} writer;

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Fails with the reason why writing failed. */
static tn_status fail_write(const writer *w) {
  if (w->lacks_memory) return runtime_fail(w->ctx, TN_ERROR_MEMORY, "out of memory while writing log %s", w->path);
  return runtime_fail(w->ctx, TN_ERROR_IO, "cannot write log %s: %s", w->path, strerror(errno));
}

/* Opens a new file beside PATH, or beside the file that PATH is a link to. */
static tn_status begin(writer *w, tn_context *ctx, const char *path, tn_log_sum *sum) {
  *w = (writer){.ctx = ctx, .path = path, .place = realpath(path, NULL), .made = {.fd = -1}, .sum = sum};
  if (!w->place && errno == ENOENT) w->place = strdup(path);
  if (w->place && runtime_new_file_open(&w->made, w->place)) w->file = runtime_new_file_stream(&w->made);
  if (!w->file) return fail_write(w);
  setvbuf(w->file, NULL, _IOFBF, BUFFER_BYTES);
  return TN_OK;
}

static void write_line(writer *w, const char *text, size_t n) {
  bool written = fwrite(text, 1, n, w->file) == n && fputc('\n', w->file) != EOF;
  w->failed |= !written;
  w->sum->kept += written;
}

/* Writes a line unless it was written before. */
static void write_once(writer *w, const char *text, size_t n) {
  uint64_t hash = runtime_hash(text, n, 0) | 1;
  if (runtime_map_find(&w->seen, hash)) {
    w->sum->duplicates++;
    return;
  }
  w->lacks_memory |= !runtime_map_at(&w->seen, hash);
  write_line(w, text, n);
}

/* Gives the finished log its name, or removes what was written. */
static tn_status end(writer *w, tn_status status) {
  if (status == TN_OK && (w->failed || w->lacks_memory)) status = fail_write(w);
  if (w->file && fclose(w->file) != 0 && status == TN_OK) status = fail_write(w);
  if (status == TN_OK && !runtime_new_file_keep(&w->made, w->place)) status = fail_write(w);
  runtime_new_file_drop(&w->made);
  free(w->place);
  runtime_map_free(&w->seen);
  return status;
}

/* ---- what others append meanwhile --------------------------------------------------------------------------------- */

static log_answer copy_any(void *user, int line, const log_glance *glance, const char *text) {
  log_copier *c = user;
  (void)line, (void)glance;
  c->write(c->writer, text, c->reading.bytes);
  return LOG_PASS;
}

static void write_copied(void *user, const char *text, size_t n) { write_line(user, text, n); }

/* Locks the log, so that nobody appends until it is replaced, and copies the lines behind PLACE. *FD is -1
 * when there is no log. */
static tn_status copy_appended(writer *w, autotune_log_place *place, int *fd) {
  *fd = -1;
  if (access(w->path, F_OK) != 0) return TN_OK;
  log_copier c = {.reading = {.missing_ok = true, .sees_events = true, .is_locked = true, .look = copy_any},
                  .writer = w,
                  .write = write_copied};
  c.reading.user = &c;
  tn_status status = log_open_locked(w->ctx, w->path, fd);
  return status == TN_OK ? log_read(w->ctx, w->path, &c.reading, place) : status;
}

/* ---- putting together --------------------------------------------------------------------------------------------- */

/* A log that is being read into another one. */
typedef struct joining {
  log_work work;
  writer *writer;
} joining;

static void join_line(void *user, const log_facts *facts) {
  joining *j = user;
  (void)facts;
  write_once(j->writer, j->work.reading.text, j->work.reading.bytes);
}

/* A whole JSON object that is no record of this version may be of a newer one: it is kept, unless there is a filter. */
static void join_strange(void *user, bool is_whole) {
  joining *j = user;
  if (is_whole && !j->work.filter) write_once(j->writer, j->work.reading.text, j->work.reading.bytes);
}

/* Adds the lines of LOG that the filter lets through and that were not written yet. */
static tn_status join(writer *w, const char *log, bool missing_ok, const tn_log_filter *filter,
                      autotune_log_place *place) {
  joining j = {.work = {.filter = filter, .sum = w->sum, .on_line = join_line, .on_strange = join_strange},
               .writer = w};
  j.work.user = &j;
  return log_work_through(w->ctx, log, missing_ok, &j.work, place);
}

tn_status tn_log_merge(tn_context *ctx, int n, const char *const *logs, const tn_log_filter *filter, const char *out,
                       tn_log_sum *sum) {
  tn_log_sum own;
  if (!sum) sum = &own;
  *sum = (tn_log_sum){0};
  if (!ctx || n < 1 || !logs || !out || !*out)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_merge: an argument is NULL, or there are no logs");
  writer w;
  autotune_log_place held = {0};
  int fd = -1;
  tn_status status = log_filter_check(ctx, filter);
  if (status != TN_OK) return status;
  status = begin(&w, ctx, out, sum);
  if (status == TN_OK) status = join(&w, out, true, NULL, &held);
  for (int i = 0; status == TN_OK && i < n; ++i) {
    autotune_log_place start = {0};
    if (strcmp(logs[i], out) != 0) status = join(&w, logs[i], false, filter, &start);
  }
  if (status == TN_OK) status = copy_appended(&w, &held, &fd);
  status = end(&w, status);
  if (fd >= 0) close(fd);
  return status;
}

/* ---- keeping the best --------------------------------------------------------------------------------------------- */

/* A record that may be kept. */
typedef struct candidate {
  uint64_t place; /* hash of program and target */
  double cost_s;
  int line;
} candidate;

/* What is known of one program and target. */
typedef struct best {
  int line, winner; /* lines of the best record and of the last finals' winner; 0: none */
  double cost_s;
} best;

/* A log that is being compacted. It is read twice: first to compare its records, then to copy the lines that stay. */
typedef struct compacting {
  log_work work;
  tn_context *ctx;
  RUNTIME_VEC(candidate) candidates;
  RUNTIME_VEC(best) bests;
  runtime_map places;      /* number in BESTS of each place, from 1 */
  RUNTIME_VEC(int) kept;   /* lines, in order */
  int weighed;             /* how many lines were compared: lines that were appended behind them stay */
  int next;                /* the next of KEPT to copy */
  autotune_log_place file; /* the file that was compared */
  writer *writer;
  bool failed; /* no memory */
} compacting;

/* The entry of a place, made if there is none; NULL: no memory. */
static best *best_of(compacting *c, uint64_t place) {
  runtime_map_value *at = runtime_map_at(&c->places, place);
  if (!at) return NULL;
  if (at->i == 0 && RUNTIME_PUSH(&c->bests, ((best){.cost_s = INFINITY}))) at->i = c->bests.n;
  return at->i > 0 ? &c->bests.data[at->i - 1] : NULL;
}

/* Whether the line that is being read is a record to its last character: a glance does not see all of it. */
static bool is_whole(const log_reading *reading) {
  log_glance glance;
  return log_look(reading->text, reading->bytes, &glance) && log_is_valid(reading->text, reading->bytes, &glance);
}

/* Compares one record with those of its program and target. As in tn_apply_best, finals outweigh what came
 * before them. A broken line may be among the fastest that are kept, but not in the best one's place. */
static void weigh_line(void *user, const log_facts *f) {
  compacting *c = user;
  if (f->is_event || !f->checked || isinf(f->cost_s)) return;
  uint64_t place = runtime_hash(&f->target, sizeof f->target, f->key) | 1;
  best *b = best_of(c, place);
  c->failed |= !b;
  if (!b) return;
  if ((f->is_winner || (!f->is_final && f->cost_s < b->cost_s)) && is_whole(&c->work.reading)) {
    b->line = f->line;
    b->cost_s = f->cost_s;
  }
  if (f->is_winner) b->winner = f->line;
  if (!f->is_final && !RUNTIME_PUSH(&c->candidates, ((candidate){place, f->cost_s, f->line}))) c->failed = true;
}

static int by_place_and_cost(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  if (x->cost_s != y->cost_s) return x->cost_s < y->cost_s ? -1 : 1;
  return x->line - y->line;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Chooses the lines that stay: the KEEP fastest of each program and target, and the best record, which may
 * be a final. */
static void choose_lines(compacting *c, int keep) {
  int n_of_place = 0;
  if (c->candidates.n > 1)
    qsort(c->candidates.data, (size_t)c->candidates.n, sizeof *c->candidates.data, by_place_and_cost);
  for (int i = 0; i < c->candidates.n; ++i) {
    bool is_first = i == 0 || c->candidates.data[i].place != c->candidates.data[i - 1].place;
    n_of_place = is_first ? 0 : n_of_place + 1;
    if (n_of_place < keep && !RUNTIME_PUSH(&c->kept, c->candidates.data[i].line)) c->failed = true;
  }
  for (int i = 0; i < c->bests.n; ++i) {
    const best *b = &c->bests.data[i];
    if (b->line && !RUNTIME_PUSH(&c->kept, b->line)) c->failed = true;
    if (b->winner && !RUNTIME_PUSH(&c->kept, b->winner)) c->failed = true;
  }
  if (c->kept.n > 1) qsort(c->kept.data, (size_t)c->kept.n, sizeof *c->kept.data, by_number);
}

/* Copies a line if it is to be kept. Both are in order. Lines that another process appended after the
 * comparison are kept. */
static void keep_line(void *user, const log_facts *f) {
  compacting *c = user;
  while (c->next < c->kept.n && c->kept.data[c->next] < f->line) ++c->next;
  bool is_kept = c->next < c->kept.n && c->kept.data[c->next] == f->line;
  if (f->line > c->weighed || (is_kept && !f->is_event))
    write_once(c->writer, c->work.reading.text, c->work.reading.bytes);
}

static void keep_strange(void *user, bool is_whole) {
  compacting *c = user;
  if (is_whole) write_line(c->writer, c->work.reading.text, c->work.reading.bytes);
}

static void release(compacting *c) {
  RUNTIME_VEC_FREE(&c->candidates);
  RUNTIME_VEC_FREE(&c->bests);
  RUNTIME_VEC_FREE(&c->kept);
  runtime_map_free(&c->places);
}

/* The first reading: compares all lines and chooses those that stay. Lines appended after it are all kept. */
static tn_status choose(compacting *c, const char *log, int keep) {
  autotune_log_place start = {0};
  c->work = (log_work){.sum = c->writer->sum, .on_line = weigh_line, .user = c};
  tn_status status = log_work_through(c->ctx, log, false, &c->work, &start);
  c->weighed = start.line;
  c->file = start;
  choose_lines(c, keep);
  if (c->failed && status == TN_OK)
    status = runtime_fail(c->ctx, TN_ERROR_MEMORY, "out of memory while compacting %s", log);
  return status;
}

/* The second reading, which copies the lines. */
static tn_status rewrite(compacting *c, const char *log, autotune_log_place *place) {
  tn_log_sum again = {0};
  runtime_quiet quiet = runtime_quiet_begin(c->ctx); /* what is broken was said */
  c->work = (log_work){.sum = &again, .on_line = keep_line, .on_strange = keep_strange, .user = c};
  tn_status status = log_work_through(c->ctx, log, false, &c->work, place);
  runtime_quiet_end(&quiet);
  return status;
}

tn_status tn_log_compact(tn_context *ctx, const char *log, int keep, const char *out, tn_log_sum *sum) {
  tn_log_sum own;
  if (!sum) sum = &own;
  *sum = (tn_log_sum){0};
  if (!ctx || !log || !*log || keep < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_compact: %s",
                        ctx && log && *log ? "keep is below 0: give 1 or more, or 0 for 16" : "an argument is NULL");
  bool is_in_place = !out || strcmp(out, log) == 0;
  writer w;
  compacting c = {.ctx = ctx, .writer = &w};
  autotune_log_place place = {0};
  int fd = -1;
  tn_status status = begin(&w, ctx, is_in_place ? log : out, sum);
  if (status == TN_OK) status = choose(&c, log, keep > 0 ? keep : KEEP);
  if (status == TN_OK) status = rewrite(&c, log, &place);
  if (status == TN_OK && is_in_place) status = copy_appended(&w, &place, &fd);
  if (status == TN_OK && (place.file != c.file.file || place.device != c.file.device))
    status =
        runtime_fail(ctx, TN_ERROR_IO, "%s was replaced while it was compacted: it is as it is now, try again", log);
  status = end(&w, status);
  if (fd >= 0) close(fd);
  release(&c);
  return status;
}
