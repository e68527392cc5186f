/* apply.c: finds the best schedule that a log knows for a program on a target. A log is data from outside:
 * a record counts only when its program and target are these, its output was checked, and its steps still
 * pass every check.
 *
 * A `survey` is one reading of a log. It owns copies of the steps that could be used (`choice`), since a
 * record is freed after its visit. */
#include <math.h>

#include "autotune/log.h"
#include "autotune/search.h"

/* A record that could be used. */
typedef struct choice {
  int line;
  double cost_s;
  char *steps;     /* JSON; NULL: the record is read when it is needed, through ENTRY */
  log_entry entry; /* of the log's index */
} choice;

/* What one reading of a log found: usable records, and counts of the others by the reason why they are not. */
typedef struct survey {
  tn_context *ctx;
  const char *log, *key, *program, *target;
  int n_records, n_other_programs, n_other_targets, n_failed, n_unchecked, n_stale;
  char *other_target; /* one of the other targets, for the message */
  RUNTIME_VEC(choice) choices;
  int best_line; /* line of the best record so far: the winner of the last finals, or a faster trial after them */
  double best_s;
  runtime_map programs; /* hashes of the programs' keys, to count them */
  int counted_line;     /* the last line that a glance has counted */
  bool is_indexed;      /* the index was used: what other programs the log holds is not known */
  bool failed;          /* no memory */
} survey;

/* Adds a usable record. Its steps are copied as text, since the record is freed after the visit. False: no
 * memory, which `failed` also says. */
static bool add_choice(survey *s, int line, const autotune_record *record, double cost_s) {
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  if (steps && RUNTIME_PUSH(&s->choices, ((choice){.line = line, .cost_s = cost_s, .steps = steps}))) return true;
  free(steps);
  s->failed = true;
  return false;
}

/* Whether this record replaces the best so far. Finals outweigh what came before them, and only their winner counts. */
static bool is_best(const survey *s, const autotune_record *record, double cost_s) {
  return record->is_final ? record->rank == 1 : s->best_line == 0 || cost_s < s->best_s;
}

/* Whether the record is really of this program. The key is a hash, which two programs may share, and a log
 * may have been edited: the text decides. */
static bool is_this_program(survey *s, int line, const autotune_record *record) {
  if (strcmp(record->key, s->key) != 0) return false;
  if (strcmp(record->program, s->program) == 0) return true;
  runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s:%d: the key is this program's, the program text is not: record not used",
              s->log, line);
  return false;
}

static void note_best(survey *s, int line, double cost_s) {
  s->best_line = line;
  s->best_s = cost_s;
}

static void count_record(survey *s, uint64_t key, bool is_final) {
  s->n_records += !is_final;
  if (!runtime_map_at(&s->programs, key)) s->failed = true;
}

/* Looks at a record: counts it under the first reason why it cannot be used, in the order in which say_none
 * lists them, or adds it. A record without a finite cost has failed, so INFINITY never becomes `best_s`. */
static bool visit(void *user, int line, autotune_record *record) {
  survey *s = user;
  double cost_s = autotune_record_cost(record);
  if (s->counted_line != line) count_record(s, log_key_hash(record->key, strlen(record->key)), record->is_final);
  if (!is_this_program(s, line, record)) {
    ++s->n_other_programs;
  } else if (!autotune_same_target(record->target, s->target)) {
    ++s->n_other_targets;
    if (!s->other_target) s->other_target = strdup(record->target);
  } else if (isinf(cost_s)) {
    ++s->n_failed;
  } else if (!record->checked) {
    ++s->n_unchecked;
  } else {
    if (is_best(s, record, cost_s)) note_best(s, line, cost_s);
    return add_choice(s, line, record, cost_s);
  }
  return !s->failed;
}

/* Before a line is parsed: lines of other programs are only counted. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  survey *s = user;
  bool is_ours = log_span_is(&glance->key, s->key);
  (void)text;
  count_record(s, log_key_hash(glance->key.at, glance->key.n), glance->is_final);
  s->n_other_programs += !is_ours;
  s->counted_line = line;
  return s->failed ? LOG_STOP : is_ours ? LOG_READ : LOG_PASS;
}

/* ---- by the index ------------------------------------------------------------------------------------------------- */

/* Counts a record of another target. Its line is read once, for the message. */
static void note_other_target(survey *s, const log_entry *entry) {
  autotune_record record;
  ++s->n_other_targets;
  if (s->other_target || !log_entry_read(s->log, entry, s->key, &record)) return;
  s->other_target = strdup(record.target);
  autotune_record_free(&record);
}

/* As `visit`, but by what the index says of a record. Its line is read only if it is chosen. */
static void take_entry(survey *s, uint64_t target, const log_entry *e) {
  const autotune_record facts = {.is_final = e->flags & LOG_FINAL, .rank = e->flags & LOG_WINNER ? 1 : 0};
  s->n_records += !facts.is_final;
  if (e->target != target) {
    note_other_target(s, e);
  } else if (!(e->flags & LOG_VALID)) {
    ++s->n_failed;
  } else if (!(e->flags & LOG_CHECKED)) {
    ++s->n_unchecked;
  } else {
    if (is_best(s, &facts, e->cost_s)) note_best(s, (int)e->line, e->cost_s);
    choice c = {.line = (int)e->line, .cost_s = e->cost_s, .entry = *e};
    if (!RUNTIME_PUSH(&s->choices, c)) s->failed = true;
  }
}

/* The same result as reading the log, except that other programs are not counted. */
static void take_index(survey *s, const log_index *index) {
  log_part parts[2];
  uint64_t target = log_target_hash(s->target, strlen(s->target));
  s->is_indexed = true;
  log_index_find(index, s->key, parts);
  for (int i = 0; i < 2; ++i)
    for (size_t k = 0; k < parts[i].n; ++k) take_entry(s, target, &parts[i].entries[k]);
}

/* The record's steps, malloc'ed. NULL: the line is no longer that record, or there is no memory. */
static char *load_steps(survey *s, const choice *c) {
  autotune_record record;
  if (!log_entry_read(s->log, &c->entry, s->key, &record)) return NULL;
  bool is_ours = is_this_program(s, c->line, &record) && autotune_same_target(record.target, s->target);
  char *steps = is_ours ? json_dumps(record.steps, JSON_COMPACT) : NULL;
  autotune_record_free(&record);
  return steps;
}

/* ---- choosing ----------------------------------------------------------------------------------------------------- */

/* By time; of equal times the earlier line comes first, so that the answer does not depend on qsort. */
static int by_cost(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->cost_s != y->cost_s) return x->cost_s < y->cost_s ? -1 : 1;
  return x->line - y->line;
}

/* Replays one record. A refusal is a warning that names the line, and no failure of the context. */
static tn_schedule *replay(survey *s, tn_program *program, choice *c) {
  tn_context *ctx = s->ctx;
  if (!c->steps) c->steps = load_steps(s, c);
  if (!c->steps) return ++s->n_stale, NULL;
  tn_schedule *schedule = tn_schedule_new(program);
  if (!schedule) return NULL;
  char why[sizeof ctx->message];
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  tn_status status = tn_schedule_replay(schedule, c->steps);
  memcpy(why, ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  if (status == TN_OK) return schedule;
  tn_schedule_free(schedule);
  if (status == TN_ERROR_MEMORY) return NULL;
  runtime_say(ctx, TN_SEVERITY_WARNING, "%s:%d: the record's steps do not fit the program: %s: record not used", s->log,
              c->line, why);
  ++s->n_stale;
  return NULL;
}

/* Adds "name=value" for the words of a target that decide whether a record fits. */
static void add_target(runtime_str *out, const char *target) {
  static const char *const keys[] = {"triple", "cpu", "threads"};
  for (int i = 0; i < RUNTIME_COUNT(keys); ++i) {
    char word[128];
    if (autotune_target_word(target, keys[i], word, sizeof word)) {
      runtime_str_addf(out, "%s%s=%s", i ? " " : "", keys[i], word);
    }
  }
}

/* Adds a reason with its count; nothing for 0. */
static void add_count(runtime_str *out, int n, const char *words) {
  if (n > 0) runtime_str_addf(out, "; %d of this program %s", n, words);
}

/* Fails with the reason why the log gave no schedule: no record at all, or only ones of other programs,
 * other targets or failures. Each has another remedy. */
static void say_none(survey *s) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s holds no usable record of program %s for ", s->log, s->key);
  add_target(&text, s->target);
  if (s->is_indexed)
    runtime_str_addf(&text, ": %d record%s of it, by its index", s->n_records, s->n_records == 1 ? "" : "s");
  else
    runtime_str_addf(&text, ": %d record%s of %d program%s", s->n_records, s->n_records == 1 ? "" : "s", s->programs.n,
                     s->programs.n == 1 ? "" : "s");
  if (s->n_records > 0 && s->n_other_programs == s->n_records) runtime_str_add(&text, ", none of them this one");
  add_count(&text, s->n_other_targets, "for other targets");
  if (s->other_target) {
    runtime_str_add(&text, " (");
    add_target(&text, s->other_target);
    runtime_str_add(&text, ")");
  }
  add_count(&text, s->n_failed, "failed");
  add_count(&text, s->n_unchecked, "without a checked output");
  add_count(&text, s->n_stale, "with steps that no longer apply");
  runtime_fail(s->ctx, TN_ERROR_RECORD, "%s", text.failed ? "out of memory" : text.data);
  runtime_str_free(&text);
}

/* Sorts by time, but puts the best record first, no matter what its time is. */
static void sort_choices(survey *s) {
  choice *all = s->choices.data;
  int n = s->choices.n, best = 0;
  while (best < n && all[best].line != s->best_line) ++best;
  if (best == n) return;
  choice first = all[best];
  all[best] = all[0];
  all[0] = first;
  if (n > 2) qsort(all + 1, (size_t)n - 1, sizeof *all, by_cost);
}

/* Replays records from the best on until one is accepted: a newer Tenon may refuse what an older one
 * recorded. Only a lack of memory ends that early. *SECONDS is set only together with a schedule. */
static tn_schedule *first_that_replays(survey *s, tn_program *program, double *seconds) {
  sort_choices(s);
  tn_schedule *schedule = NULL;
  for (int i = 0; i < s->choices.n && !schedule && s->ctx->status != TN_ERROR_MEMORY; ++i) {
    schedule = replay(s, program, &s->choices.data[i]);
    if (schedule && seconds) *seconds = s->choices.data[i].cost_s;
  }
  if (!schedule && s->ctx->status != TN_ERROR_MEMORY) say_none(s);
  return schedule;
}

/* The choices own their steps; programs and the schedule are the context's. */
static void free_survey(survey *s) {
  for (int i = 0; i < s->choices.n; ++i) free(s->choices.data[i].steps);
  RUNTIME_VEC_FREE(&s->choices);
  runtime_map_free(&s->programs);
  free(s->other_target);
}

/* A large log is looked at through its index. A small one is read once, keeping all usable records, because
 * which one is best is known only at the end. */
static tn_status read_survey(survey *s) {
  log_index index;
  bool has_index;
  tn_status status = log_index_open(s->ctx, s->log, &index, &has_index);
  if (status == TN_OK && has_index) take_index(s, &index);
  log_index_close(&index);
  autotune_log_place start = {0};
  log_reading reading = {.look = look, .visit = visit, .user = s};
  if (status == TN_OK && !has_index) status = log_read(s->ctx, s->log, &reading, &start);
  if (s->failed) status = runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory while reading %s", s->log);
  return status;
}

tn_schedule *tn_apply_best(tn_program *program, const tn_target *target, const char *log, double *seconds) {
  if (!program) return NULL;
  tn_context *ctx = program->ctx;
  if (!target) target = tn_target_new(ctx, NULL);
  if (!target) return NULL;
  survey s = {.ctx = ctx,
              .log = log,
              .key = tn_program_key(program),
              .program = tn_program_text(program),
              .target = tn_target_text(target)};
  if (!s.key || !s.program || !s.target) return NULL;
  if (!log || !*log) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name"), NULL;
  tn_status status = read_survey(&s);
  tn_schedule *schedule = status == TN_OK ? first_that_replays(&s, program, seconds) : NULL;
  free_survey(&s);
  return schedule;
}
