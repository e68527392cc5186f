/* log_work.c: goes through all lines of a log, to sum it up or to find what is wrong with it. */
#include "autotune/log_work.h"

#include <math.h>

/* Wrong lines of a log that are reported one by one; the others are only counted. */
enum { MAX_TOLD = 20 };

/* ---- facts -------------------------------------------------------------------------------------------------------- */

log_facts log_facts_of_glance(int line, const log_glance *g) {
  char word[32];
  log_facts f = {.line = line, .is_event = g->event.at != NULL, .cost_s = INFINITY, .time_s = g->time_s};
  if (f.is_event) return f;
  f.key = log_key_hash(g->key.at, g->key.n);
  f.target = log_target_hash(g->target.at, g->target.n);
  f.cost_s = log_glance_cost(g);
  f.is_final = g->is_final;
  f.is_winner = g->is_final && g->rank == 1;
  f.checked = g->checked;
  log_copy(&g->error, word, sizeof word);
  if (!autotune_parse_error(word, &f.error)) f.error = TN_MEASURE_UNKNOWN;
  return f;
}

log_facts log_facts_of_record(int line, const autotune_record *r) {
  return (log_facts){.line = line,
                     .key = log_key_hash(r->key, strlen(r->key)),
                     .target = log_target_hash(r->target, strlen(r->target)),
                     .cost_s = autotune_record_cost(r),
                     .error = r->error,
                     .time_s = r->time_s,
                     .is_final = r->is_final,
                     .is_winner = r->is_final && r->rank == 1,
                     .checked = r->checked};
}

tn_status log_filter_check(tn_context *ctx, const tn_log_filter *filter) {
  tn_measure_error error;
  bool is_known =
      !filter || !filter->error || strcmp(filter->error, "any") == 0 || autotune_parse_error(filter->error, &error);
  if (is_known) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                      "there is no class of failure '%s': give none, any, compile, runtime or another word of records",
                      filter->error);
}

bool log_filter_means(const tn_log_filter *filter, const log_facts *f) {
  tn_measure_error wanted;
  if (!filter) return true;
  if (f->is_event) return false;
  if (filter->key && log_key_hash(filter->key, strlen(filter->key)) != f->key) return false;
  if (filter->target && log_target_hash(filter->target, strlen(filter->target)) != f->target) return false;
  if (filter->since_s > 0 && f->time_s < filter->since_s) return false;
  if (filter->until_s > 0 && f->time_s >= filter->until_s) return false;
  if (!filter->error) return true;
  if (strcmp(filter->error, "any") == 0) return f->error != TN_MEASURE_NONE;
  return autotune_parse_error(filter->error, &wanted) && f->error == wanted;
}

/* Adds one line to the sums. Finals are counted apart, since they are no trials. A lack of memory shows in
 * the maps' `failed` at the end. */
static void count(log_work *w, const log_facts *f) {
  tn_log_sum *s = w->sum;
  s->events += f->is_event;
  if (f->is_event) return;
  s->finals += f->is_final;
  s->records += !f->is_final;
  s->errors[f->error] += !f->is_final;
  s->unchecked += !f->is_final && !f->checked && isfinite(f->cost_s);
  (void)runtime_map_at(&w->programs, f->key);
  (void)runtime_map_at(&w->targets, f->target | 1);
  if (f->time_s > 0 && (s->first_s == 0 || f->time_s < s->first_s)) s->first_s = f->time_s;
  if (f->time_s > s->last_s) s->last_s = f->time_s;
}

/* ---- lines -------------------------------------------------------------------------------------------------------- */

static void take(log_work *w, const log_facts *f) {
  if (!log_filter_means(w->filter, f)) return;
  count(w, f);
  if (w->on_line) w->on_line(w->user, f);
}

/* A line that has to be parsed goes on to `visit`; others are taken as the glance saw them. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  log_work *w = user;
  bool is_known = w->is_known && !glance->event.at && w->is_known(w->user, line, glance);
  bool is_enough = is_known && log_is_valid(text, w->reading.bytes, glance);
  if (w->parses && !glance->event.at && !is_enough) return LOG_READ;
  log_facts f = log_facts_of_glance(line, glance);
  take(w, &f);
  return LOG_PASS;
}

static bool visit(void *user, int line, autotune_record *record) {
  log_work *w = user;
  log_facts f = log_facts_of_record(line, record);
  take(w, &f);
  return !w->on_record || w->on_record(w->user, line, record);
}

static void on_strange(void *user, int line, bool is_whole) {
  log_work *w = user;
  (void)line;
  w->sum->strange++;
  if (w->on_strange) w->on_strange(w->user, is_whole);
}

tn_status log_work_through(tn_context *ctx, const char *path, bool missing_ok, log_work *w, autotune_log_place *place) {
  w->reading = (log_reading){
      .missing_ok = missing_ok, .sees_events = true, .look = look, .visit = visit, .on_strange = on_strange, .user = w};
  tn_status status = log_read(ctx, path, &w->reading, place);
  w->sum->bytes += place->offset;
  w->sum->n_programs += w->programs.n;
  w->sum->n_targets += w->targets.n;
  bool lacks_memory = w->programs.failed || w->targets.failed;
  runtime_map_free(&w->programs);
  runtime_map_free(&w->targets);
  if (status == TN_OK && lacks_memory)
    status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading %s", path);
  return status;
}

/* ---- summing up --------------------------------------------------------------------------------------------------- */

tn_status tn_log_stats(tn_context *ctx, const char *log, const tn_log_filter *filter, tn_log_sum *out) {
  if (!ctx || !log || !out) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_stats: an argument is NULL");
  autotune_log_place start = {0};
  *out = (tn_log_sum){0};
  log_work work = {.filter = filter, .sum = out};
  if (log_filter_check(ctx, filter) != TN_OK) return TN_ERROR_ARGUMENT;
  return log_work_through(ctx, log, false, &work, &start);
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

/* The state of tn_log_check. */
typedef struct checking {
  tn_context *ctx;
  const char *log;
  tn_log_sum *sum;
  runtime_map programs; /* hashes of (key, text) of programs that were checked */
  runtime_map glanced;  /* the same for texts as they are escaped in the log */
  uint64_t glanced_now; /* hash of the line that was glanced at last */
  int glanced_line;
} checking;

/* Counts what is wrong, and reports the first MAX_TOLD. */
static void complain(checking *c, int line, const char *why) {
  if (++c->sum->n_wrong > MAX_TOLD) return;
  runtime_say(c->ctx, TN_SEVERITY_WARNING, "%s:%d: %s", c->log, line, why);
}

/* Checks a program: it has to parse and to have the key that its records name. It gets a context of its
 * own, since programs live as long as their context. */
static void check_program(checking *c, int line, const autotune_record *record) {
  tn_context *ctx = tn_context_new(NULL);
  const tn_program *program = ctx ? tn_program_parse(ctx, record->program, 0, NULL) : NULL;
  char why[300];
  if (!program) {
    snprintf(why, sizeof why, "the program is refused now: %.200s", ctx ? tn_context_message(ctx) : "out of memory");
    complain(c, line, why);
  } else if (!tn_program_key(program) || strcmp(tn_program_key(program), record->key) != 0) {
    const char *key = tn_program_key(program);
    snprintf(why, sizeof why, "the key is %.40s, that of the program is %s", record->key,
             key ? key : "not known for want of memory");
    complain(c, line, why);
  }
  tn_context_free(ctx);
}

/* Checks the record's program if it was not seen before. False: no memory. */
static bool check_record(void *user, int line, const autotune_record *record) {
  checking *c = user;
  uint64_t hash =
      runtime_hash(record->program, strlen(record->program), log_key_hash(record->key, strlen(record->key))) | 1;
  bool is_new = !runtime_map_find(&c->programs, hash);
  if (is_new) check_program(c, line, record);
  if (c->glanced_line == line) (void)runtime_map_at(&c->glanced, c->glanced_now); /* without memory lines are parsed */
  return !is_new || runtime_map_at(&c->programs, hash) != NULL;
}

/* Whether the line's program was checked. Lines that no glance understands are parsed without asking, and
 * are not remembered. */
static bool is_glanced(void *user, int line, const log_glance *g) {
  checking *c = user;
  c->glanced_line = line;
  c->glanced_now = runtime_hash(g->program.at, g->program.n, log_key_hash(g->key.at, g->key.n)) | 1;
  return runtime_map_find(&c->glanced, c->glanced_now) != NULL;
}

/* Applies the steps of a record that tn_apply_best could choose, in a context of its own. */
static void check_steps(checking *c, const tn_log_row *row) {
  tn_context *ctx = tn_context_new(NULL);
  tn_program *program = ctx ? tn_program_parse(ctx, row->program, 0, NULL) : NULL;
  tn_schedule *schedule = program ? tn_schedule_new(program) : NULL;
  char why[300];
  if (!schedule || tn_schedule_replay(schedule, row->steps) != TN_OK) {
    snprintf(why, sizeof why, "the steps are refused now: %.200s", ctx ? tn_context_message(ctx) : "out of memory");
    complain(c, row->line, why);
  }
  tn_schedule_free(schedule);
  tn_context_free(ctx);
}

tn_status tn_log_check(tn_context *ctx, const char *log, tn_log_sum *out) {
  if (!ctx || !log || !out) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_check: an argument is NULL");
  autotune_log_place start = {0};
  tn_log_table bests;
  *out = (tn_log_sum){0};
  checking c = {.ctx = ctx, .log = log, .sum = out};
  log_work work = {.sum = out, .parses = true, .on_record = check_record, .is_known = is_glanced, .user = &c};
  tn_status status = log_work_through(ctx, log, false, &work, &start);
  if (status == TN_OK && c.programs.failed)
    status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while checking %s", log);
  runtime_map_free(&c.programs);
  runtime_map_free(&c.glanced);
  if (status != TN_OK) return status;
  runtime_quiet quiet = runtime_quiet_begin(ctx); /* what is broken was said */
  (void)tn_log_best(ctx, log, NULL, &bests);
  status = runtime_quiet_end_loud(&quiet);
  for (int i = 0; status == TN_OK && i < bests.n_rows; ++i) check_steps(&c, &bests.rows[i]);
  tn_log_table_free(&bests);
  return status;
}
