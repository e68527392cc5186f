/* plan_text.c: genomes as text, so that a log can supply parents. Plans are written as in schedule/plan.h.
 * Genomes of the general family `sketch` are one object for the whole program, with the lengths and tail of
 * each open split and the choices of each stage:
 *
 *   [{"family": "sketch", "sketch": 3, "tiles": [[8, 1, 16, "peel"], ...], "stages": [[0, 2, 1, 3, 1], ...]}] */
#include "autotune/search.h"
#include "schedule/tail.h"

static const char *const choice_names[] = {
#define X(name, n) #name,
    AUTOTUNE_CHOICES(X)
#undef X
};
static const int choice_counts[] = {
#define X(name, n) (n),
    AUTOTUNE_CHOICES(X)
#undef X
};
enum { CHOICES = RUNTIME_COUNT(choice_counts) };
_Static_assert(sizeof(autotune_choice) == CHOICES, "choices are bytes, in the order of their names");

/* Stages that have choices: those beyond AUTOTUNE_MAX_STAGES have none, in text as in genomes. */
static int stages_of(const autotune_sketch *sketch) { return RUNTIME_MIN(sketch->base->n_stages, AUTOTUNE_MAX_STAGES); }

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The lengths of the three inner loops and the tail; the outermost length follows from the extent. */
static json_t *tile_json(const autotune_tile *tile) {
  return json_pack("[i, i, i, s]", tile->length[0], tile->length[1], tile->length[2], schedule_tail_words[tile->tail]);
}

/* The choice's bytes in the order of its members, which choice_names has. */
static json_t *choice_json(const autotune_choice *choice) {
  json_t *json = json_array();
  for (int c = 0; c < CHOICES; c++) json_array_append_new(json, json_integer(((const uint8_t *)choice)[c]));
  return json;
}

/* The sketch is named by its number, which is valid for one version of the rules only; autotune_genome_of
 * therefore compares hashes. NULL: no memory for some part. */
static json_t *sketch_json(const autotune_space *space, const autotune_genome *genome) {
  const autotune_sketch *sketch = &space->sketches[genome->sketch];
  json_t *tiles = json_array(), *stages = json_array();
  for (int h = 0; h < sketch->n_holes; h++) json_array_append_new(tiles, tile_json(&genome->tiles[h]));
  for (int s = 0; s < stages_of(sketch); s++) json_array_append_new(stages, choice_json(&genome->choices[s]));
  bool is_whole = (int)json_array_size(tiles) == sketch->n_holes && (int)json_array_size(stages) == stages_of(sketch);
  for (size_t s = 0; is_whole && s < json_array_size(stages); s++)
    is_whole = json_array_size(json_array_get(stages, s)) == CHOICES;
  if (!is_whole) return json_decref(tiles), json_decref(stages), NULL;
  return json_pack("[{s:s, s:i, s:o, s:o}]", "family", "sketch", "sketch", genome->sketch, "tiles", tiles, "stages",
                   stages);
}

char *autotune_genome_text(const autotune_space *space, const autotune_genome *genome) {
  if (genome->sketch == AUTOTUNE_PLANNED) {
    schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
    autotune_genome_plans(space, genome, by_group);
    return schedule_plans_text(space->plans, by_group);
  }
  json_t *json = sketch_json(space, genome);
  char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
  json_decref(json);
  return text;
}

void autotune_genome_say(const autotune_space *space, const autotune_genome *genome, tn_schedule *s) {
  char *text = autotune_genome_text(space, genome);
  if (!text) runtime_fail(space->task->ctx, TN_ERROR_MEMORY, "out of memory for the plan of a candidate");
  if (text) (void)schedule_set_plan(s, text);
  free(text);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Reads a whole number in [LEAST, MOST]; LEAST must not be negative. */
static bool read_number(const json_t *json, json_int_t least, json_int_t most, int32_t *out) {
  json_int_t n = json_integer_value(json);
  *out = json_is_integer(json) && n >= least && n <= most ? (int32_t)n : -1;
  return *out >= 0;
}

/* Always TN_ERROR_RECORD. AT counts from 0. */
static tn_status refuse(tn_context *ctx, const char *field, int at, const char *what) {
  return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"%s\"[%d] of family sketch %s", field, at, what);
}

/* Each length is checked alone. Whether they go together is left to the split, which refuses otherwise. */
static tn_status read_tile(tn_context *ctx, const json_t *json, const autotune_hole *hole, int at, autotune_tile *out) {
  const char *tail = json_string_value(json_array_get(json, AUTOTUNE_LENGTHS));
  out->tail = RUNTIME_FIND(schedule_tail_words, tail);
  if (out->tail < 0) return refuse(ctx, "tiles", at, "ends in no tail");
  for (int l = 0; l < AUTOTUNE_LENGTHS; l++)
    if (!read_number(json_array_get(json, (size_t)l), hole->follows < 0, hole->extent, &out->length[l]))
      return refuse(ctx, "tiles", at, "has a length that is none of the split's");
  return TN_OK;
}

/* Every number is checked against its range, since a genome is used without further checks. */
static tn_status read_choices(tn_context *ctx, const json_t *json, int at, autotune_choice *out) {
  for (int c = 0; c < CHOICES; c++) {
    int32_t value;
    if (!read_number(json_array_get(json, (size_t)c), 0, choice_counts[c] - 1, &value))
      return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"stages\"[%d] of family sketch: %s is a number from 0 to %d",
                          at, choice_names[c], choice_counts[c] - 1);
    ((uint8_t *)out)[c] = (uint8_t)value;
  }
  return TN_OK;
}

/* Whether it is an array of COUNT elements. */
static tn_status check_array(tn_context *ctx, const json_t *json, const char *field, int count) {
  if (json_is_array(json) && (int)json_array_size(json) == count) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"%s\" of family sketch has to be an array of %d", field, count);
}

/* There must be as many tiles and stages as the program's own sketch of that number has. */
static tn_status read_sketch(const autotune_space *space, const json_t *json, autotune_genome *out) {
  tn_context *ctx = space->task->ctx;
  const json_t *tiles = json_object_get(json, "tiles"), *stages = json_object_get(json, "stages");
  memset(out, 0, sizeof *out);
  if (!read_number(json_object_get(json, "sketch"), 0, space->n_sketches - 1, &out->sketch))
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"sketch\" has to be a number from 0 to %d",
                        space->n_sketches - 1);
  const autotune_sketch *sketch = &space->sketches[out->sketch];
  tn_status status = check_array(ctx, tiles, "tiles", sketch->n_holes);
  if (status == TN_OK) status = check_array(ctx, stages, "stages", stages_of(sketch));
  for (int h = 0; status == TN_OK && h < sketch->n_holes; h++)
    status = read_tile(ctx, json_array_get(tiles, (size_t)h), &sketch->holes[h], h, &out->tiles[h]);
  for (int s = 0; status == TN_OK && s < stages_of(sketch); s++)
    status = read_choices(ctx, json_array_get(stages, (size_t)s), s, &out->choices[s]);
  return status;
}

/* The message is that of schedule_plans_decode, which names the group and the field. */
static tn_status read_plans(const autotune_space *space, const char *text, autotune_genome *out) {
  schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
  if (space->n_groups == 0)
    return runtime_fail(space->task->ctx, TN_ERROR_RECORD, "plan: the program is not searched by plans of its groups");
  tn_status status = schedule_plans_decode(space->plans, text, by_group);
  if (status == TN_OK) autotune_plans_genome(space, by_group, out);
  return status;
}

tn_status autotune_genome_read(const autotune_space *space, const char *text, autotune_genome *out) {
  json_error_t error;
  json_t *json = json_loads(text, 0, &error);
  if (!json && error.text[0] == '\0')
    return runtime_fail(space->task->ctx, TN_ERROR_MEMORY, "out of memory for the plan of a record");
  const json_t *first = json_array_get(json, 0);
  const char *family = json_string_value(json_object_get(first, "family"));
  bool is_sketch = family && strcmp(family, "sketch") == 0;
  tn_status status = is_sketch ? read_sketch(space, first, out) : read_plans(space, text, out);
  json_decref(json);
  return status;
}

/* Realizes the genome and compares hashes: steps may have been edited, or rules have changed. Takes as long
 * as making one schedule. */
bool autotune_genome_of(const autotune_space *space, const tn_schedule *s, autotune_genome *out) {
  const char *text = schedule_plan_text(s);
  if (!text || autotune_genome_read(space, text, out) != TN_OK) return false;
  tn_schedule *same = autotune_genome_schedule(space, out);
  bool is_same = same && autotune_schedule_hash(same) == autotune_schedule_hash(s);
  tn_schedule_free(same);
  return is_same;
}
