/* neighbour.c: what a log knows of similar programs: those whose text differs only in numbers, or the same
 * program on another machine. Their plans are good first guesses. (Ansor leaves this to the cost model;
 * TVM's TopHub has it for templates.) */
#include <ctype.h>
#include <math.h>

#include "autotune/log.h"

/* Another machine counts as much as sizes that differ by this many factors of two. */
static const double machine_distance = 2;

/* ---- texts as structures ----------------------------------------------------------------------------------------- */

/* A position in a program's text. */
typedef struct walker {
  const char *at, *end;
  bool is_json; /* the text is escaped as in JSON */
  bool in_name; /* a digit here belongs to a name */
} walker;

/* Tokens beside characters. */
enum { END = -1, NUMBER = 256 };

/* The next character; there must be one. Escapes that programs have no use for stay as they are. */
static char next_character(walker *w) {
  char c = *w->at++;
  if (!w->is_json || c != '\\' || w->at == w->end || !strchr("nt\"\\/", *w->at)) return c;
  c = *w->at++;
  return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* The next character, or NUMBER with *VALUE: the digits of a number are one token. */
static int next_token(walker *w, double *value) {
  if (w->at == w->end) return END;
  char c = next_character(w);
  if (!isdigit((unsigned char)c) || w->in_name) {
    w->in_name = isalnum((unsigned char)c) || c == '_';
    return (unsigned char)c;
  }
  for (*value = c - '0'; w->at < w->end && isdigit((unsigned char)*w->at);) *value = *value * 10 + (*w->at++ - '0');
  return NUMBER;
}

/* The factors of two between the numbers of two texts, added up; INFINITY: they differ in more than numbers. */
static double distance(const char *one_text, const char *other_text) {
  walker a = {.at = one_text, .end = one_text + strlen(one_text)};
  walker b = {.at = other_text, .end = other_text + strlen(other_text)};
  double sum = 0;
  for (;;) {
    double x = 0, y = 0;
    int one = next_token(&a, &x), other = next_token(&b, &y);
    if (one != other) return INFINITY;
    if (one == END) return sum;
    if (one == NUMBER) sum += fabs(log2(x + 1) - log2(y + 1));
  }
}

uint32_t log_shape_hash(const char *program, size_t n, bool is_json) {
  walker w = {.at = program, .end = program + n, .is_json = is_json};
  uint64_t hash = 0;
  double value;
  for (int token; (token = next_token(&w, &value)) != END;) hash = (hash ^ (uint64_t)token) * UINT64_C(0x100000001B3);
  return (uint32_t)(hash ^ hash >> 32);
}

/* Writes "512x512x64", the extents of the axes in their order, as many as there is room for. */
static void take_sizes(const char *program, char *out, size_t n) {
  walker w = {.at = program, .end = program + strlen(program)};
  size_t used = 0;
  int last = 0;
  double value;
  *out = '\0';
  for (int token; (token = next_token(&w, &value)) != END; last = token) {
    if (token != NUMBER || last != '<') continue;
    int more = snprintf(out + used, n - used, "%s%.0f", used ? "x" : "", value);
    if (more < 0 || (size_t)more >= n - used) {
      out[used] = '\0';
      return;
    }
    used += (size_t)more;
  }
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* A neighbour, with the hashes by which the index finds its records. */
typedef struct nearby {
  autotune_neighbour is;
  uint64_t key, target;
} nearby;

/* One look-up. FOUND has the best record of each program and target that may be similar. */
typedef struct neighbourhood {
  const char *program, *log;
  uint64_t own_key, own_target;
  uint32_t shape;
  RUNTIME_VEC(const log_entry *) found;
  runtime_map places; /* number in FOUND of each program and target, plus one */
  RUNTIME_VEC(nearby) near;
  int max, trials; /* wanted: neighbours, and trials of each */
  bool failed;     /* no memory */
} neighbourhood;

static bool is_usable(const log_entry *e) {
  const uint32_t needed = LOG_CHECKED | LOG_VALID | LOG_PLANNED;
  return (e->flags & needed) == needed;
}

/* Whether a record may be of a similar program. Records of the program itself on this machine are not. */
static bool may_be_like(const neighbourhood *n, const log_entry *e) {
  bool is_own = e->key == n->own_key && e->target == n->own_target;
  return e->shape == n->shape && is_usable(e) && !is_own;
}

/* Keeps the best record of its program and target; of equal times the first. */
static void take_entry(neighbourhood *n, const log_entry *e) {
  runtime_map_value *place = runtime_map_at(&n->places, runtime_hash(&e->target, sizeof e->target, e->key) | 1);
  if (!place || (place->i == 0 && !RUNTIME_PUSH(&n->found, e))) {
    n->failed = true;
  } else if (place->i == 0) {
    place->i = n->found.n;
  } else {
    const log_entry **known = &n->found.data[place->i - 1];
    if (e->cost_s < (*known)->cost_s) *known = e;
  }
}

/* Looks at the whole index: entries are small, and those of a shape are not together. */
static void take_index(neighbourhood *n, const log_index *index) {
  for (int i = 0; i < 2; i++) {
    const log_part *part = &index->parts[i];
    for (size_t k = 0; k < part->n && !n->failed; k++)
      if (may_be_like(n, &part->entries[k])) take_entry(n, &part->entries[k]);
  }
}

static void free_neighbour(autotune_neighbour *near) {
  for (int i = 0; i < near->n_trials; i++) free(near->trials[i].plan);
  free(near->trials);
  free(near->plan);
  free(near->program);
  free(near->target);
}

void autotune_neighbours_free(int n, autotune_neighbour *neighbours) {
  for (int i = 0; i < n; i++) free_neighbour(&neighbours[i]);
}

/* Adds a neighbour from its best record. Lines that are gone, and programs that only have the same hash,
 * are passed over. */
static void add(neighbourhood *n, const log_entry *e) {
  autotune_record record;
  if (!log_entry_read(n->log, e, NULL, &record)) return;
  bool is_here = e->target == n->own_target;
  nearby near = {.is = {.distance = distance(n->program, record.program) + (is_here ? 0 : machine_distance),
                        .cost_s = e->cost_s,
                        .is_other_machine = !is_here},
                 .key = e->key,
                 .target = e->target};
  const json_t *plan = json_object_get(record.json, "plan");
  if (isfinite(near.is.distance) && log_is_family_plan(plan)) {
    take_sizes(record.program, near.is.sizes, sizeof near.is.sizes);
    near.is.plan = json_dumps(plan, JSON_COMPACT);
    near.is.program = strdup(record.program);
    near.is.target = strdup(record.target);
    n->failed |= !near.is.plan || !near.is.program || !near.is.target || !RUNTIME_PUSH(&n->near, near);
    if (n->failed) free_neighbour(&near.is);
  }
  autotune_record_free(&record);
}

/* By distance; of equal ones the first in the log comes first. */
static int by_distance(const void *a, const void *b) {
  const nearby *x = a, *y = b;
  return x->is.distance < y->is.distance ? -1 : x->is.distance > y->is.distance;
}

static void keep_nearest(neighbourhood *n) {
  if (n->near.n > 1) qsort(n->near.data, (size_t)n->near.n, sizeof *n->near.data, by_distance);
  for (int i = n->max; i < n->near.n; i++) free_neighbour(&n->near.data[i].is);
  n->near.n = RUNTIME_MIN(n->near.n, n->max);
}

/* ---- what was tried of a neighbour -------------------------------------------------------------------------------- */

/* By cost; of equal ones the first in the log comes first. */
static int by_cost(const void *a, const void *b) {
  const log_entry *x = *(const log_entry *const *)a, *y = *(const log_entry *const *)b;
  if (x->cost_s != y->cost_s) return x->cost_s < y->cost_s ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Adds one of the neighbour's records. Finals are passed over, since they are timed differently. False: no memory. */
static bool add_trial(neighbourhood *n, autotune_neighbour *near, const log_entry *e) {
  autotune_record record;
  if (!log_entry_read(n->log, e, NULL, &record)) return true;
  struct autotune_known *known = &near->trials[near->n_trials];
  const json_t *plan = json_object_get(record.json, "plan");
  bool is_wanted = log_is_family_plan(plan) && strcmp(record.program, near->program) == 0;
  *known = (struct autotune_known){e->cost_s, is_wanted ? json_dumps(plan, JSON_COMPACT) : NULL};
  near->n_trials += known->plan != NULL;
  autotune_record_free(&record);
  return !is_wanted || known->plan;
}

/* Adds the fastest records of a neighbour, which may be in both parts of the index. */
static void add_trials(neighbourhood *n, const log_index *index, nearby *near) {
  RUNTIME_VEC(const log_entry *) found = {0};
  log_part parts[2];
  log_index_find_hash(index, near->key, parts);
  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < parts[i].n && !n->failed; k++) {
      const log_entry *e = &parts[i].entries[k];
      if (e->target != near->target || !is_usable(e) || e->flags & LOG_FINAL) continue;
      n->failed = !RUNTIME_PUSH(&found, e);
    }
  if (found.n > 1) qsort(found.data, (size_t)found.n, sizeof *found.data, by_cost);
  int n_trials = RUNTIME_MIN(found.n, n->trials);
  near->is.trials = n_trials > 0 ? calloc((size_t)n_trials, sizeof *near->is.trials) : NULL;
  n->failed |= n_trials > 0 && !near->is.trials;
  for (int i = 0; i < n_trials && !n->failed; i++) n->failed = !add_trial(n, &near->is, found.data[i]);
  RUNTIME_VEC_FREE(&found);
}

/* Reads the log. Broken lines are not reported here: whoever reads the log for its own sake does that. */
static tn_status look_up(tn_context *ctx, neighbourhood *n) {
  log_index index;
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  tn_status status = log_index_open_any(ctx, n->log, &index);
  if (runtime_quiet_end_loud(&quiet) != TN_OK || status != TN_OK) return status;
  take_index(n, &index);
  for (int i = 0; i < n->found.n && !n->failed; i++) add(n, n->found.data[i]);
  keep_nearest(n);
  for (int i = 0; i < n->near.n && n->trials > 0; i++) add_trials(n, &index, &n->near.data[i]);
  log_index_close(&index);
  return n->failed ? runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading %s", n->log) : TN_OK;
}

tn_status autotune_neighbours(tn_program *program, const tn_target *target, const char *log, int max, int trials,
                              autotune_neighbour *out, int *n_out) {
  neighbourhood n = {.program = tn_program_text(program), .log = log, .max = max, .trials = trials};
  const char *key = tn_program_key(program), *own_target = tn_target_text(target);
  *n_out = 0;
  if (!key || !n.program || !own_target) return tn_context_status(program->ctx);
  n.own_key = log_key_hash(key, strlen(key));
  n.own_target = log_target_hash(own_target, strlen(own_target));
  n.shape = log_shape_hash(n.program, strlen(n.program), false);
  tn_status status = look_up(program->ctx, &n);
  for (int i = 0; i < n.near.n; i++)
    if (status == TN_OK)
      out[(*n_out)++] = n.near.data[i].is;
    else
      free_neighbour(&n.near.data[i].is);
  RUNTIME_VEC_FREE(&n.near);
  RUNTIME_VEC_FREE(&n.found);
  runtime_map_free(&n.places);
  return status;
}
