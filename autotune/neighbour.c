/* neighbour.c: what a log knows of programs that are like another one: the same text but for its numbers, or the same program on
 * another machine. Their plans are good first guesses (Ansor leaves that to the cost model; TVM's TopHub has it for templates). */
#include <ctype.h>
#include <math.h>

#include "autotune/log.h"

/* Another machine counts as much as sizes that differ by this many factors of two. */
static const double machine_distance = 2;

/* ---- texts as structures ----------------------------------------------------------------------------------------- */

/* A reading of a program's text, as it is or as JSON writes it. */
typedef struct walker {
  const char *at, *end;
  bool in_name; /* a digit here belongs to a name */
} walker;

enum { END = -1, NUMBER = 256 };

/* The next character, or NUMBER with *VALUE: numbers of several digits are one. */
static int next_token(walker *w, double *value) {
  if (w->at == w->end) return END;
  char c = *w->at++;
  if (c == '\\' && w->at < w->end && *w->at == 'n') c = '\n', w->at++;
  if (!isdigit((unsigned char)c) || w->in_name) {
    w->in_name = isalnum((unsigned char)c) || c == '_';
    return (unsigned char)c;
  }
  for (*value = c - '0'; w->at < w->end && isdigit((unsigned char)*w->at);) *value = *value * 10 + (*w->at++ - '0');
  return NUMBER;
}

/* Factors of two between the numbers of two texts, added up; INFINITY: they differ in more than numbers. */
static double distance(const char *program, const log_span *text) {
  walker a = {program, program + strlen(program), false}, b = {text->at, text->at + text->n, false};
  double sum = 0;
  for (;;) {
    double x = 0, y = 0;
    int one = next_token(&a, &x), other = next_token(&b, &y);
    if (one != other) return INFINITY;
    if (one == END) return sum;
    if (one == NUMBER) sum += fabs(log2(x + 1) - log2(y + 1));
  }
}

/* "512x512x64": the extents of the axes, in their order, as many as there is room for. */
static void take_sizes(const char *program, char *out, size_t n) {
  walker w = {program, program + strlen(program), false};
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

/* One reading. FOUND has the best record of each program and target that is like ours. */
typedef struct neighbourhood {
  const char *key, *program, *target;
  uint64_t own_target;
  RUNTIME_VEC(autotune_neighbour) found;
  runtime_map places; /* of a program and target in FOUND, one more */
  uint64_t id;        /* of the line that is looked at */
  double distance;
  bool failed; /* no memory */
} neighbourhood;

/* NULL: it is the first record of its program and target. */
static autotune_neighbour *find(neighbourhood *n) {
  const runtime_map_value *place = runtime_map_find(&n->places, n->id);
  return place ? &n->found.data[place->i - 1] : NULL;
}

/* Records of the program itself on this machine are no neighbours. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  neighbourhood *n = user;
  double cost_s = log_glance_cost(glance);
  (void)line, (void)text;
  if (!glance->checked || !isfinite(cost_s)) return LOG_PASS;
  uint64_t target = log_target_hash(glance->target.at, glance->target.n);
  bool is_here = target == n->own_target;
  if (is_here && log_span_is(&glance->key, n->key)) return LOG_PASS;
  n->distance = distance(n->program, &glance->program) + (is_here ? 0 : machine_distance);
  n->id = log_key_hash(glance->key.at, glance->key.n) ^ (target * 3);
  const autotune_neighbour *known = isfinite(n->distance) ? find(n) : NULL;
  return isinf(n->distance) || (known && known->cost_s <= cost_s) ? LOG_PASS : LOG_READ;
}

/* A sketch's lengths belong to its program's sizes; plans are those of families. */
static char *plan_of(const autotune_record *record) {
  const json_t *plan = json_object_get(record->json, "plan");
  const char *family = json_string_value(json_object_get(json_array_get(plan, 0), "family"));
  return family && strcmp(family, "sketch") != 0 ? json_dumps(plan, JSON_COMPACT) : NULL;
}

/* False: no memory. */
static bool add(neighbourhood *n, autotune_neighbour *known, const autotune_neighbour *found) {
  if (known) {
    free(known->plan);
    *known = *found;
    return true;
  }
  runtime_map_value *place = runtime_map_at(&n->places, n->id);
  if (!place || !RUNTIME_PUSH(&n->found, *found)) return false;
  place->i = n->found.n;
  return true;
}

/* Only lines that LOOK asked for. */
static bool visit(void *user, int line, autotune_record *record) {
  neighbourhood *n = user;
  char *plan = plan_of(record);
  (void)line;
  if (!plan) return true;
  autotune_neighbour found = {.distance = n->distance,
                              .cost_s = autotune_record_cost(record),
                              .is_other_machine = !autotune_same_target(record->target, n->target),
                              .plan = plan};
  take_sizes(record->program, found.sizes, sizeof found.sizes);
  n->failed = !add(n, find(n), &found);
  if (n->failed) free(plan);
  return !n->failed;
}

/* Of those as near, the first in the log. */
static int by_distance(const void *a, const void *b) {
  const autotune_neighbour *x = a, *y = b;
  return x->distance < y->distance ? -1 : x->distance > y->distance;
}

void autotune_neighbours_free(int n, autotune_neighbour *neighbours) {
  for (int i = 0; i < n; i++) free(neighbours[i].plan);
}

tn_status autotune_neighbours(tn_program *program, const tn_target *target, const char *log, int max,
                              autotune_neighbour *out, int *n_out) {
  neighbourhood n = {
      .key = tn_program_key(program), .program = tn_program_text(program), .target = tn_target_text(target)};
  *n_out = 0;
  if (!n.key || !n.program || !n.target) return tn_context_status(program->ctx);
  n.own_target = log_target_hash(n.target, strlen(n.target));
  autotune_log_place start = {0};
  log_reading reading = {.missing_ok = true, .look = look, .visit = visit, .user = &n};
  runtime_quiet quiet = runtime_quiet_begin(program->ctx);
  tn_status status = log_read(program->ctx, log, &reading, &start);
  runtime_quiet_end(&quiet);
  if (n.failed) status = runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory while reading %s", log);
  if (n.found.n > 1) qsort(n.found.data, (size_t)n.found.n, sizeof *n.found.data, by_distance);
  for (int i = 0; i < n.found.n; i++)
    if (i < max && status == TN_OK)
      out[(*n_out)++] = n.found.data[i];
    else
      free(n.found.data[i].plan);
  RUNTIME_VEC_FREE(&n.found);
  runtime_map_free(&n.places);
  return status;
}
