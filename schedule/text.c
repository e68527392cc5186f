/* text.c: schedule text: `primitive(arguments); ...`, the words of the C API. Arguments are names, numbers and
 * key=value, as a row of primitives.h wants them. A mistake in form is a parse error with a caret; a mistake in
 * meaning is the primitive's. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "schedule/call.h"
#include "schedule/edit.h"
#include "schedule/steps.h"
#include "schedule/tail.h"

enum { MAX_ARGUMENTS = 64 };

/* About 4 KB, on the heap: texts are applied from threads with small stacks, too. */
typedef struct reader {
  tn_schedule *s;
  const char *what; /* the text in messages: "schedule text," */
  const char *text, *at;
  runtime_arena arena;
  const char *primitive;
  int n;
  schedule_argument args[MAX_ARGUMENTS];
} reader;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* EXPECTED ends the sentence "expected ...". */
static tn_status refuse_at(reader *r, const char *at, const char *expected) {
  return runtime_fail_at(r->s->ctx, r->what, r->text, at, "expected %s", expected);
}

static tn_status refuse(reader *r, const char *expected) { return refuse_at(r, r->at, expected); }

/* White space and comments. */
static void skip_space(reader *r) {
  for (;;) {
    while (isspace((unsigned char)*r->at)) r->at++;
    if (*r->at != '#') return;
    while (*r->at && *r->at != '\n') r->at++;
  }
}

/* Takes C behind blanks, if it comes next. */
static bool accept(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

/* Dots belong to names of loops. */
static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* A name, NULL when there is none here. Quotes around it are allowed. */
static const char *read_name(reader *r) {
  skip_space(r);
  bool quoted = *r->at == '"';
  const char *start = r->at + quoted, *end = start;
  if (!isalpha((unsigned char)*start) && *start != '_') return NULL;
  while (is_word(*end)) end++;
  if (end - start > SCHEDULE_MAX_NAME || (quoted && *end != '"')) return NULL;
  r->at = end + quoted;
  return runtime_strndup(&r->arena, start, (size_t)(end - start));
}

/* A number that a word follows at once (8x) is none. */
static bool read_number(reader *r, int64_t *out) {
  skip_space(r);
  const char *digits = r->at + (*r->at == '-');
  if (!isdigit((unsigned char)*digits)) return false;
  char *end;
  errno = 0;
  *out = strtoll(r->at, &end, 10);
  if (errno == ERANGE || is_word(*end)) return false;
  r->at = end;
  return true;
}

/* "[i, j] -> [j, i]", as one name; NULL: there is none here. */
static const char *read_map(reader *r) {
  const char *left = *r->at == '[' ? strchr(r->at, ']') : NULL, *right = left ? strchr(left + 1, ']') : NULL;
  if (!right || right - r->at > SCHEDULE_MAX_NAME) return NULL;
  const char *map = runtime_strndup(&r->arena, r->at, (size_t)(right + 1 - r->at));
  r->at = right + 1;
  return map;
}

/* Up to the parenthesis that ends the call, in or without quotes. */
static tn_status read_condition(reader *r, schedule_argument *a) {
  bool quoted = *r->at == '"';
  const char *start = r->at + quoted, *end = start;
  for (int depth = 0; *end && *end != ';' && *end != '\n' && *end != '"' && (depth > 0 || *end != ')'); end++)
    depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
  if (end == start || (quoted && *end != '"')) return refuse(r, "a condition, for example i >= 1 && i < 15");
  r->at = end + quoted;
  while (end > start && isspace((unsigned char)end[-1])) end--;
  a->name = runtime_strndup(&r->arena, start, (size_t)(end - start));
  return TN_OK;
}

/* The row that says how the arguments of a word are written; NULL: there is no such word. */
static const schedule_primitive *find_word(const char *word) {
  for (int i = 0; i < SCHEDULE_WORD_COUNT; i++)
    if (schedule_rows[i].usage && strcmp(schedule_rows[i].word, word) == 0) return &schedule_rows[i];
  return NULL;
}

/* What stands where an argument should: up to the next comma, parenthesis or blank, 40 characters of it. */
static const char *found_text(reader *r, const char *at) {
  size_t n = strcspn(at, ",);\n \t");
  return n == 0 ? "nothing" : runtime_strndup(&r->arena, at, RUNTIME_MIN(n, 40));
}

/* Says what stands there instead. */
static tn_status refuse_argument(reader *r, const char *at) {
  bool is_number = isdigit((unsigned char)at[*at == '-']);
  const char *format = is_number ? "a whole number, for example 8, not %s" : "a name or a number, not %s";
  const char *expected = runtime_format(&r->arena, format, found_text(r, at));
  return refuse_at(r, at, expected ? expected : "a name or a number");
}

/* number | name | map | condition | key = number | key = name */
static tn_status read_argument(reader *r) {
  if (r->n == MAX_ARGUMENTS) return refuse(r, "')': a primitive takes at most 64 arguments");
  schedule_argument *a = &r->args[r->n++];
  const schedule_primitive *row = find_word(r->primitive);
  skip_space(r);
  const char *start = r->at;
  *a = (schedule_argument){0};
  if (row && schedule_form_at(row, r->n - 1) == 'c') return read_condition(r, a);
  if (read_number(r, &a->number)) return TN_OK;
  a->name = read_map(r);
  if (a->name) return TN_OK;
  a->name = read_name(r);
  if (!a->name) return refuse_argument(r, start);
  if (!accept(r, '=')) return TN_OK;
  a->key = a->name;
  a->name = NULL;
  if (read_number(r, &a->number)) return TN_OK;
  a->name = read_name(r);
  return a->name ? TN_OK : refuse(r, "a name or a number after '='");
}

/* name ( argument, ... ) */
static tn_status read_call(reader *r) {
  r->n = 0;
  r->primitive = read_name(r);
  if (!r->primitive) return refuse(r, "a primitive, for example split(C, i, 32)");
  if (!accept(r, '(')) return refuse(r, "'(', for example split(C, i, 32)");
  if (accept(r, ')')) return TN_OK;
  do SCHEDULE_TRY(read_argument(r));
  while (accept(r, ','));
  return accept(r, ')') ? TN_OK : refuse(r, *r->at ? "',' or ')'" : "',' or ')', and the text ends");
}

/* ---- primitives -------------------------------------------------------------------------------------------------- */

/* The call as it was written: "split(C, i, nparts=4)". */
static const char *call_text(reader *r) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s(", r->primitive);
  for (int i = 0; i < r->n; i++) {
    const schedule_argument *a = &r->args[i];
    runtime_str_addf(&text, "%s%s%s", i ? ", " : "", a->key ? a->key : "", a->key ? "=" : "");
    if (a->name)
      runtime_str_add(&text, a->name);
    else
      runtime_str_addf(&text, "%lld", (long long)a->number);
  }
  runtime_str_add(&text, ")");
  return runtime_str_take(&text, &r->arena);
}

/* `CALL: WHY: write USAGE`. */
static tn_status refuse_call(reader *r, const char *why, const char *usage) {
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "%s: %s: write %s", call_text(r), why, usage);
}

/* NULL if no argument was given by that key. */
static schedule_argument *find_key(reader *r, const char *key) {
  for (int i = 0; i < r->n; i++)
    if (r->args[i].key && strcmp(r->args[i].key, key) == 0) return &r->args[i];
  return NULL;
}

/* tail=peel becomes a number. */
static tn_status read_tail(reader *r) {
  schedule_argument *a = find_key(r, "tail");
  int tail = a ? RUNTIME_FIND(schedule_tail_words, a->name) : -1;
  if (tail >= 0) *a = schedule_tail((tn_tail)tail);
  if (!a || tail >= 0) return TN_OK;
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE,
                      "%s(%s, %s): tail \"%s\" is unknown: take guard, peel, mask, pad or overlap", r->primitive,
                      r->args[0].name, r->args[1].name, a->name ? a->name : "number");
}

/* Keys that are known, once each, with a number where one is needed. */
static tn_status check_keys(reader *r, const schedule_primitive *row, const char *usage) {
  for (int i = 0; i < r->n; i++) {
    const schedule_argument *a = &r->args[i];
    char wanted[SCHEDULE_MAX_NAME + 3];
    if (!a->key) continue;
    snprintf(wanted, sizeof wanted, " %s=", a->key);
    if (!strstr(row->keys, wanted)) return refuse_call(r, runtime_format(&r->arena, "it takes no %s=", a->key), usage);
    if (find_key(r, a->key) != a)
      return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "%s: %s= stands twice: give it once", call_text(r), a->key);
    if (a->name && strcmp(a->key, "tail") != 0)
      return refuse_call(r, runtime_format(&r->arena, "%s=%s is no number", a->key, a->name), usage);
  }
  return read_tail(r);
}

/* With the words that there are. */
static tn_status no_such_primitive(reader *r) {
  runtime_str names = {0};
  runtime_nearest nearest = runtime_nearest_to(r->primitive);
  for (int i = 0; i < SCHEDULE_WORD_COUNT; i++) {
    if (!schedule_rows[i].usage) continue;
    runtime_str_addf(&names, "%s%s", names.n ? ", " : "", schedule_rows[i].word);
    runtime_nearest_offer(&nearest, schedule_rows[i].word);
  }
  const char *text = runtime_str_take(&names, &r->arena);
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "%s is no primitive%s%s%s: use one of %s", call_text(r),
                      nearest.word ? " (did you mean '" : "", nearest.word ? nearest.word : "",
                      nearest.word ? "'?)" : "", text ? text : "those in docs/schedule.md");
}

/* The first row of the word whose form the arguments have. */
static tn_status apply_call(reader *r) {
  const schedule_primitive *first = find_word(r->primitive);
  if (!first) return no_such_primitive(r);
  for (const schedule_primitive *row = first; row < schedule_rows + SCHEDULE_WORD_COUNT; row++) {
    if (strcmp(row->word, first->word) != 0 || !schedule_fits(row, r->n, r->args)) continue;
    SCHEDULE_TRY(check_keys(r, row, first->usage));
    return schedule_call_words(r->s, row, r->n, r->args);
  }
  return refuse_call(r, "wrong arguments", first->usage);
}

/* Primitives end at a semicolon or at the end of the line. */
static tn_status apply_all(reader *r) {
  for (;;) {
    while (accept(r, ';')) {
    }
    if (!*r->at) return TN_OK;
    SCHEDULE_TRY(schedule_check_steps(r->s, r->s->n_steps + 1));
    SCHEDULE_TRY(read_call(r));
    SCHEDULE_TRY(apply_call(r));
    const char *before = r->at;
    skip_space(r);
    bool new_line = memchr(before, '\n', (size_t)(r->at - before)) != NULL;
    if (*r->at && *r->at != ';' && !new_line) return refuse(r, "';' between two primitives");
  }
}

/* On a copy that takes the schedule's place at the end. */
static tn_status apply(tn_schedule *s, const char *what, const char *text) {
  if (!runtime_check_text(s->ctx, "the schedule", text)) return TN_ERROR_PARSE;
  reader *r = calloc(1, sizeof *r);
  tn_schedule *copy = r ? tn_schedule_copy(s) : NULL;
  tn_status status = TN_ERROR_MEMORY;
  if (!copy) {
    runtime_fail(s->ctx, status, "out of memory for a schedule as text");
  } else {
    r->s = copy;
    r->what = what;
    r->text = r->at = text;
    status = apply_all(r);
    if (status == TN_OK) schedule_swap_contents(s, copy);
  }
  tn_schedule_free(copy);
  if (r) runtime_arena_free(&r->arena);
  free(r);
  return status;
}

tn_status tn_schedule_apply(tn_schedule *s, const char *text) {
  if (!s) return TN_ERROR_ARGUMENT;
  if (text) return apply(s, "schedule text,", text);
  return runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "tn_schedule_apply: the text is NULL: give \"\" for no step");
}

/* The block's text behind as many lines and blanks as stand before it in its file: messages count from there. */
static tn_status apply_block(tn_schedule *s, const te_block *block) {
  runtime_str what = {0}, text = {0};
  for (int i = 1; i < block->line; i++) runtime_str_add(&text, "\n");
  runtime_str_addf(&text, "%*s%s", block->column - 1, "", block->text);
  runtime_str_addf(&what, "%sschedule block,", block->where);
  tn_status status = what.failed || text.failed ? runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory")
                                                : apply(s, what.data, text.data);
  runtime_str_free(&what);
  runtime_str_free(&text);
  return status;
}

tn_status tn_schedule_apply_own(tn_schedule *s) {
  tn_schedule *copy = s ? tn_schedule_copy(s) : NULL;
  if (!copy) return s ? TN_ERROR_MEMORY : TN_ERROR_ARGUMENT;
  const tn_program *program = tn_schedule_program(s);
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < program->n_blocks; i++) status = apply_block(copy, &program->blocks[i]);
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}
