/* layout.c: transform_layout: a stage's buffer stores its elements in another order, given by a map of
 * indices such as [k, j] -> [j//64, k, j%64]. Each dimension of the buffer is a digit of one index, and
 * all digits of an index together are a number system with mixed radix, so that every element has a
 * place of its own. A schedule_layout is a value that points into the text of its map. */
#include "schedule/layout.h"
#include "schedule/index.h"

#include <ctype.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A layout's text while it is read. */
typedef struct map_reader {
  const char *at;
  schedule_layout *out;
} map_reader;

/* Skips blanks first. */
static bool accept(map_reader *r, const char *token) {
  while (isspace((unsigned char)*r->at)) r->at++;
  size_t n = strlen(token);
  if (strncmp(r->at, token, n) != 0) return false;
  r->at += n;
  return true;
}

/* Its length; 0: none. */
static int read_word(map_reader *r, const char **word) {
  accept(r, "");
  const char *end = *word = r->at;
  if (isalpha((unsigned char)*end) || *end == '_')
    while (isalnum((unsigned char)*end) || *end == '_' || *end == '.') end++;
  r->at = end;
  return (int)(end - *word);
}

/* -1: the map names no such dimension. */
static int find_name(const schedule_layout *m, const char *word, int length) {
  for (int i = 0; i < m->n_in; i++)
    if (m->names[i].length == length && memcmp(m->names[i].at, word, (size_t)length) == 0) return i;
  return -1;
}

/* NULL, or what should have stood there. */
static const char *read_names(map_reader *r) {
  if (!accept(r, "[")) return "'[' and the names of the stage's dimensions";
  do {
    const char *word;
    int length = read_word(r, &word);
    if (length == 0) return "a name";
    if (r->out->n_in == TN_MAX_RANK) return "']': a tensor has at most 8 dimensions";
    if (find_name(r->out, word, length) >= 0) return "another name: each names one dimension";
    r->out->names[r->out->n_in].at = word;
    r->out->names[r->out->n_in++].length = length;
  } while (accept(r, ","));
  return accept(r, "]") ? NULL : "',' or ']'";
}

/* 1 to 2^31 - 1; 0 would divide by zero. */
static const char *read_factor(map_reader *r, int64_t *out) {
  accept(r, "");
  *out = 0;
  while (isdigit((unsigned char)*r->at) && *out <= INT32_MAX) *out = *out * 10 + (*r->at++ - '0');
  return *out >= 1 && *out <= INT32_MAX ? NULL : "a number from 1 to 2147483647";
}

/* name, then // and % from left to right. Within a % only a factor of it can be split off. */
static const char *read_digit(map_reader *r, schedule_digit *digit) {
  const char *word;
  int length = read_word(r, &word);
  *digit = (schedule_digit){.dim = find_name(r->out, word, length), .divisor = 1};
  if (digit->dim < 0) return r->at = word, "the name of a dimension";
  for (int64_t factor;;) {
    bool divides = accept(r, "//");
    if (!divides && !accept(r, "%")) return NULL;
    const char *wrong = read_factor(r, &factor);
    if (wrong) return wrong;
    if (digit->modulus && digit->modulus % factor) return "a factor of the number after % before it";
    if (!divides)
      digit->modulus = factor;
    else if (digit->divisor > INT32_MAX / factor)
      return "a smaller number: the divisors' product is over 2147483647";
    else
      digit->divisor *= factor, digit->modulus /= factor;
  }
}

/* What was expected where the text stopped to fit, or NULL if all of it did. */
static const char *read_digits(map_reader *r) {
  if (!accept(r, "->")) return "'->'";
  if (!accept(r, "[")) return "'[' and the buffer's dimensions";
  do {
    if (r->out->n_out == TN_MAX_RANK) return "']': a buffer has at most 8 dimensions";
    const char *wrong = read_digit(r, &r->out->digits[r->out->n_out++]);
    if (wrong) return wrong;
  } while (accept(r, ","));
  return accept(r, "]") ? NULL : "'//', '%', ',' or ']'";
}

const char *schedule_layout_read(const char *text, schedule_layout *out, const char **where) {
  map_reader r = {text, out};
  *out = (schedule_layout){0};
  const char *wrong = read_names(&r);
  if (!wrong) wrong = read_digits(&r);
  if (!wrong && !(accept(&r, ""), *r.at == '\0')) wrong = "the end of the map";
  *where = r.at;
  return wrong;
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* The digit of DIM that counts multiples of DIVISOR; -1: none, or more than one. */
static int digit_at(const schedule_layout *m, int dim, int64_t divisor) {
  int found = -1;
  for (int i = 0; i < m->n_out; i++) {
    if (m->digits[i].dim != dim || m->digits[i].divisor != divisor) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* Whether the digits of a dimension, from its last on, follow each other without a gap up to one without a modulo, and
 * are all there are. */
static bool covers(const schedule_layout *m, int dim) {
  int used = 0, all = 0;
  for (int i = 0; i < m->n_out; i++) all += m->digits[i].dim == dim;
  for (int64_t divisor = 1;; used++) {
    int i = digit_at(m, dim, divisor);
    if (i < 0) return false;
    if (m->digits[i].modulus == 0) return used + 1 == all;
    divisor *= m->digits[i].modulus;
    if (divisor > INT32_MAX || m->digits[i].modulus == 1) return false;
  }
}

/* Refuses what is no map. */
static tn_status read_map(const schedule_call *c, const char *text, schedule_layout *out) {
  const char *where, *wrong = schedule_layout_read(text, out, &where);
  if (!wrong) return TN_OK;
  return schedule_refuse(c, "expected %s at \"%s\": write a map like [k, j] -> [j//64, k, j%%64]", wrong, where);
}

/* Refuses what would put two elements in one place. */
static tn_status check_map(const schedule_call *c, int stage, const schedule_layout *m) {
  tn_schedule *s = c->s;
  const char *name = schedule_stage_name(&s->stages[stage]);
  if (m->n_in != s->stages[stage].tensors[0].ndim)
    return schedule_refuse(c, "the map has %d dimensions on the left, %s has %d: name each dimension once", m->n_in,
                           name, s->stages[stage].tensors[0].ndim);
  for (int i = 0; i < m->n_in; i++) {
    if (covers(m, i)) continue;
    return schedule_refuse(c,
                           "elements of %s that differ in %.*s could share a place: write %.*s on the right once as it "
                           "is, or in parts that make it up, as %.*s//64 and %.*s%%64 do",
                           name, m->names[i].length, m->names[i].at, m->names[i].length, m->names[i].at,
                           m->names[i].length, m->names[i].at, m->names[i].length, m->names[i].at);
  }
  return TN_OK;
}

/* Only memory that is the schedule's own can be laid out anew. */
static tn_status check_own_buffer(const schedule_call *c, int stage) {
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (schedule_is_output(c->s, stage))
    return schedule_refuse(c,
                           "%s is an output: its memory is the caller's; use cache_write(%s, global), which makes a "
                           "stage whose layout can change",
                           name, name);
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, stage, "row-major arrays",
                                               "give the layout to a copy for the other readers, by cache_read"));
  if (st->align_factor)
    return schedule_refuse(c, "the strides of %s are aligned: use one of storage_align and transform_layout", name);
  if (st->buffering == SCHEDULE_BUFFER_DOUBLE)
    return schedule_refuse(
        c, "%s has double_buffer, two halves in row-major order: use one of double_buffer and transform_layout", name);
  if (!st->layout) return TN_OK;
  return schedule_refuse(c, "the layout of %s is already %s: give one map", name, st->layout);
}

/* ---- the rewrite ------------------------------------------------------------------------------------------------- */

/* As it is read: dim//divisor%modulus, with the parts that do nothing left out. */
static void write_digit(runtime_str *out, const schedule_layout *m, const schedule_digit *digit) {
  runtime_str_addf(out, "%.*s", m->names[digit->dim].length, m->names[digit->dim].at);
  if (digit->divisor > 1) runtime_str_addf(out, "//%lld", (long long)digit->divisor);
  if (digit->modulus) runtime_str_addf(out, "%%%lld", (long long)digit->modulus);
}

/* The map in one way of writing it. */
static const char *canonical_text(tn_program *program, const schedule_layout *m) {
  runtime_str text = {0};
  for (int i = 0; i < m->n_in; i++)
    runtime_str_addf(&text, "%s%.*s", i ? ", " : "[", m->names[i].length, m->names[i].at);
  runtime_str_add(&text, "] -> ");
  for (int i = 0; i < m->n_out; i++) {
    runtime_str_add(&text, i ? ", " : "[");
    write_digit(&text, m, &m->digits[i]);
  }
  runtime_str_add(&text, "]");
  const char *kept = text.failed ? NULL : schedule_intern(program, text.data);
  runtime_str_free(&text);
  return kept;
}

/* Then the map has no effect, which is said. */
static bool is_row_major(const schedule_layout *m) {
  bool same = m->n_in == m->n_out;
  for (int i = 0; same && i < m->n_out; i++)
    same = m->digits[i].dim == i && m->digits[i].divisor <= 1 && m->digits[i].modulus == 0;
  return same;
}

/* Keeps what TEXT, which is interned, was read as; its own way of writing it is read the same. NULL: no memory. */
static const schedule_known_map *learn_map(tn_program *program, const char *text, const schedule_layout *m) {
  const char *where;
  schedule_known_map *known = RUNTIME_NEW(&program->ctx->arena, schedule_known_map);
  if (!known || !(known->text = canonical_text(program, m))) return NULL;
  if (schedule_layout_read(known->text, &known->layout, &where)) return NULL;
  schedule_keep_map(program, text, known);
  if (text != known->text) schedule_keep_map(program, known->text, known);
  return known;
}

/* The map that TEXT is. A search gives the same few to thousands of schedules, so each is read once. */
static tn_status find_map(const schedule_call *c, const char *text, const schedule_known_map **out) {
  tn_program *program = c->s->program;
  schedule_layout layout;
  text = schedule_intern(program, text ? text : "");
  *out = text ? schedule_map_of_text(program, text) : NULL;
  if (*out) return TN_OK;
  if (!text) return schedule_no_memory(c->s);
  SCHEDULE_TRY(read_map(c, text, &layout));
  *out = learn_map(program, text, &layout);
  return *out ? TN_OK : schedule_no_memory(c->s);
}

/* Invariant: stores and loads of the stage's buffer both go through the map, which takes distinct elements to distinct
 * places. */
tn_status schedule_check_transform_layout(schedule_call *c) {
  const schedule_known_map *map;
  SCHEDULE_TRY(check_own_buffer(c, c->step.stage));
  SCHEDULE_TRY(find_map(c, c->step.text, &map));
  SCHEDULE_TRY(check_map(c, c->step.stage, &map->layout));
  if (strlen(map->text) > SCHEDULE_MAX_NAME)
    return schedule_refuse(c, "the map has %zu characters, at most %d: take shorter names", strlen(map->text),
                           SCHEDULE_MAX_NAME);
  if (is_row_major(&map->layout))
    schedule_warn(c, " has no effect: %s is how %s is stored without it", map->text,
                  schedule_stage_name(&c->s->stages[c->step.stage]));
  c->step.text = map->text;
  return TN_OK;
}

bool schedule_rewrite_transform_layout(schedule_call *c) {
  c->s->stages[c->step.stage].layout = c->step.text;
  return true;
}

tn_status schedule_transform_layout(tn_schedule *s, int stage, const char *map) {
  schedule_step step = {.kind = SCHEDULE_STEP_TL, .stage = (int16_t)stage, .iter = -1, .text = map};
  return schedule_apply_step(s, &step);
}
tn_status tn_transform_layout(tn_schedule *s, const char *stage, const char *map) {
  return SCHEDULE_CALL(s, transform_layout, schedule_name(stage), schedule_name(map));
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* Of a dimension that symbols decide, the digits with a modulus are as long as it. */
const tir_expr *schedule_layout_extent(lowering *l, const schedule_digit *digit, const tir_expr *const *extent) {
  const tir_expr *of = extent[digit->dim];
  tn_dtype dtype = (tn_dtype)of->dtype;
  int64_t number;
  if (digit->modulus && !tir_is_int(of, &number)) return tir_int(l->arena, dtype, digit->modulus);
  of = schedule_index_binary(l, TIR_ADD, of, tir_int(l->arena, dtype, digit->divisor - 1));
  of = tir_binary(l->arena, TIR_FLOORDIV, of, tir_int(l->arena, dtype, digit->divisor));
  return digit->modulus ? tir_binary(l->arena, TIR_MIN, of, tir_int(l->arena, dtype, digit->modulus)) : of;
}

/* INDEX counts from the region's first point. Divisors are constants, so that the simplifier sees
 * panels. */
void schedule_layout_index(lowering *l, const schedule_layout *layout, const tir_expr *const *index,
                           const tir_expr **out) {
  for (int i = 0; i < layout->n_out; i++) {
    const schedule_digit *digit = &layout->digits[i];
    tn_dtype dtype = (tn_dtype)index[digit->dim]->dtype;
    out[i] = index[digit->dim];
    if (digit->divisor > 1)
      out[i] = tir_binary(l->arena, TIR_FLOORDIV, out[i], tir_int(l->arena, dtype, digit->divisor));
    if (digit->modulus) out[i] = tir_binary(l->arena, TIR_FLOORMOD, out[i], tir_int(l->arena, dtype, digit->modulus));
  }
}
