/* text.c: schedule text: `primitive(arguments); ...`, the words of the C API. One table row a primitive; arguments are
 * names, numbers and key=value. A mistake in form is a parse error with a caret; a mistake in meaning is the
 * primitive's. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/steps.h"
#include "schedule/tail.h"

enum { MAX_ARGUMENTS = 64 };

typedef struct argument {
  const char *key;  /* NULL: by position */
  const char *name; /* NULL: a number */
  int64_t number;
  int column;
} argument;

typedef struct reader {
  tn_schedule *s;
  const char *text, *at;
  runtime_arena arena;
  const char *primitive;
  int n;
  argument args[MAX_ARGUMENTS];
} reader;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The line, its number and a caret below the place. */
static tn_status refuse_at(reader *r, const char *at, const char *expected) {
  const char *line = at, *end = at;
  while (line > r->text && line[-1] != '\n') line--;
  while (*end && *end != '\n') end++;
  int number = 1;
  for (const char *c = r->text; c < line; c++) number += *c == '\n';
  return runtime_fail(r->s->ctx, TN_ERROR_PARSE, "schedule text, line %d, column %d: expected %s\n%.*s\n%*s^", number,
                      (int)(at - line) + 1, expected, (int)(end - line), line, (int)(at - line), "");
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

static bool accept(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

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

/* number | name | key = number | key = name */
/* "[i, j] -> [j, i]", as one name; NULL: there is none here. */
static const char *read_map(reader *r) {
  const char *left = *r->at == '[' ? strchr(r->at, ']') : NULL, *right = left ? strchr(left + 1, ']') : NULL;
  if (!right || right - r->at > SCHEDULE_MAX_NAME) return NULL;
  const char *map = runtime_strndup(&r->arena, r->at, (size_t)(right + 1 - r->at));
  r->at = right + 1;
  return map;
}

/* Up to the parenthesis that ends the call, in or without quotes. */
static tn_status read_condition(reader *r, argument *a) {
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

static bool takes_condition(const reader *r);

static tn_status read_argument(reader *r) {
  if (r->n == MAX_ARGUMENTS) return refuse(r, "')': a primitive takes at most 64 arguments");
  argument *a = &r->args[r->n++];
  skip_space(r);
  *a = (argument){.column = (int)(r->at - r->text)};
  if (takes_condition(r)) return read_condition(r, a);
  if (read_number(r, &a->number)) return TN_OK;
  a->name = read_map(r);
  if (a->name) return TN_OK;
  a->name = read_name(r);
  if (!a->name) return refuse_at(r, r->text + a->column, "a name or a number");
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
  if (!accept(r, '(')) return refuse(r, "'('");
  if (accept(r, ')')) return TN_OK;
  do SCHEDULE_TRY(read_argument(r));
  while (accept(r, ','));
  return accept(r, ')') ? TN_OK : refuse(r, "',' or ')'");
}

/* ---- primitives -------------------------------------------------------------------------------------------------- */

/* A row: the arguments by position (n name, # number, * more names, + numbers), how to write it, the keys, what to
 * call. */
typedef struct primitive {
  const char *name, *form, *usage, *keys;
  tn_status (*apply)(reader *r, tn_tail tail);
} primitive;

/* The call as it was written: "split(C, i, nparts=4)". */
static const char *call_text(reader *r) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s(", r->primitive);
  for (int i = 0; i < r->n; i++) {
    const argument *a = &r->args[i];
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

static const argument *find_key(const reader *r, const char *key) {
  for (int i = 0; i < r->n; i++)
    if (r->args[i].key && strcmp(r->args[i].key, key) == 0) return &r->args[i];
  return NULL;
}

static const char *name_at(const reader *r, int i) { return r->args[i].name; }

/* The names from position FIRST on. */
static int names_from(const reader *r, int first, const char **out) {
  int n = 0;
  for (int i = first; i < r->n; i++)
    if (!r->args[i].key) out[n++] = r->args[i].name;
  return n;
}

/* split(C, i, 8) split(C, i, factor=8) split(C, i, 4, 8) split(C, i, nparts=4) */
static tn_status apply_split(reader *r, tn_tail tail) {
  const argument *nparts = find_key(r, "nparts"), *factor = find_key(r, "factor");
  int64_t lengths[MAX_ARGUMENTS];
  int n = 0;
  for (int i = 2; i < r->n; i++)
    if (!r->args[i].key) lengths[n++] = r->args[i].number;
  if (factor) lengths[n++] = factor->number;
  if ((n > 0) == (nparts != NULL))
    return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE,
                        "split(%s, %s) takes a factor or nparts=, and not both: write split(%s, %s, 32)", name_at(r, 0),
                        name_at(r, 1), name_at(r, 0), name_at(r, 1));
  if (nparts) return tn_split_nparts(r->s, name_at(r, 0), name_at(r, 1), nparts->number, tail);
  return tn_split_many(r->s, name_at(r, 0), name_at(r, 1), n, lengths, tail);
}

static tn_status apply_tile(reader *r, tn_tail tail) {
  return tn_tile(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2), r->args[3].number, r->args[4].number, tail);
}
static tn_status apply_fuse(reader *r, tn_tail tail) {
  const char *names[MAX_ARGUMENTS];
  (void)tail;
  return tn_fuse_names(r->s, name_at(r, 0), names_from(r, 1, names), names);
}
static tn_status apply_reorder(reader *r, tn_tail tail) {
  const char *names[MAX_ARGUMENTS];
  (void)tail;
  return tn_reorder_names(r->s, name_at(r, 0), names_from(r, 1, names), names);
}
static tn_status apply_cache_read(reader *r, tn_tail tail) {
  const char *names[MAX_ARGUMENTS];
  (void)tail;
  return tn_cache_read_names(r->s, name_at(r, 0), name_at(r, 1), names_from(r, 2, names), names);
}
static tn_status apply_compute_group_at(reader *r, tn_tail tail) {
  const char *names[MAX_ARGUMENTS];
  (void)tail;
  return tn_compute_group_at_names(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2), names_from(r, 3, names), names);
}
/* The scope stands last. */
static tn_status apply_cache_write(reader *r, tn_tail tail) {
  const char *names[MAX_ARGUMENTS];
  int n = names_from(r, 0, names);
  (void)tail;
  return tn_cache_write_names(r->s, names[n - 1], n - 1, names);
}
static tn_status apply_rfactor(reader *r, tn_tail tail) {
  (void)tail;
  if (r->n > 3)
    return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "rfactor(%s, %s): %d factor axes: give one, or none for 0",
                        name_at(r, 0), name_at(r, 1), r->n - 2);
  int64_t at = r->n == 3 ? r->args[2].number : 0;
  return tn_rfactor(r->s, name_at(r, 0), name_at(r, 1), (int)RUNTIME_MAX(RUNTIME_MIN(at, INT16_MAX), -INT16_MAX));
}
static tn_status apply_vectorize(reader *r, tn_tail tail) {
  int n = 0;
  for (int i = 0; i < r->n; i++) n += !r->args[i].key;
  if (n == 3) return tn_vectorize_by(r->s, name_at(r, 0), name_at(r, 1), r->args[2].number, tail);
  if (n == 2 && r->n == 2) return tn_vectorize(r->s, name_at(r, 0), name_at(r, 1));
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "vectorize(%s, %s): %s: write vectorize(%s, %s, 16, tail=mask)",
                      name_at(r, 0), name_at(r, 1), n > 3 ? "one factor is enough" : "a tail needs a factor",
                      name_at(r, 0), name_at(r, 1));
}
static tn_status apply_parallel_reduce(reader *r, tn_tail tail) {
  const argument *parts = find_key(r, "parts");
  (void)tail;
  return tn_parallel_reduce(r->s, name_at(r, 0), name_at(r, 1), parts ? parts->number : 0);
}
/* prefetch(C, B, k, 4) prefetch(C.local, B, k, 1, C, j.outer) */
static tn_status apply_prefetch(reader *r, tn_tail tail) {
  const char *stage = name_at(r, 0), *tensor = name_at(r, 1), *axis = name_at(r, 2);
  (void)tail;
  if (r->n == 4) return tn_prefetch(r->s, stage, tensor, axis, r->args[3].number);
  if (r->n == 6) return tn_prefetch_of(r->s, stage, tensor, axis, r->args[3].number, name_at(r, 4), name_at(r, 5));
  return runtime_fail(
      r->s->ctx, TN_ERROR_SCHEDULE,
      "prefetch(%s, %s, %s): an offset counts iterations of this loop, or of one loop of one stage: write "
      "prefetch(%s, %s, %s, 1, reader, loop)",
      stage, tensor, axis, stage, tensor, axis);
}
#define APPLY(name, call)                                  \
  static tn_status apply_##name(reader *r, tn_tail tail) { \
    (void)tail;                                            \
    return call;                                           \
  }
APPLY(unroll, tn_unroll(r->s, name_at(r, 0), name_at(r, 1)))
APPLY(parallel, tn_parallel(r->s, name_at(r, 0), name_at(r, 1)))
APPLY(pragma, tn_pragma(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2), r->args[3].number))
APPLY(compute_at, tn_compute_at(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2)))
APPLY(compute_inline, tn_compute_inline(r->s, name_at(r, 0)))
APPLY(compute_root, tn_compute_root(r->s, name_at(r, 0)))
APPLY(set_scope, tn_set_scope(r->s, name_at(r, 0), name_at(r, 1)))
APPLY(transform_layout, tn_transform_layout(r->s, name_at(r, 0), name_at(r, 1)))
APPLY(storage_align, tn_storage_align(r->s, name_at(r, 0), name_at(r, 1), r->args[2].number, r->args[3].number))
APPLY(bind, tn_bind(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2)))
APPLY(double_buffer, tn_double_buffer(r->s, name_at(r, 0)))
APPLY(rolling_buffer, tn_rolling_buffer(r->s, name_at(r, 0)))
APPLY(set_store_predicate, tn_set_store_predicate(r->s, name_at(r, 0), name_at(r, 1)))
APPLY(tensorize, tn_tensorize(r->s, name_at(r, 0), name_at(r, 1), name_at(r, 2)))
APPLY(auto_inline, tn_auto_inline(r->s))
#undef APPLY

static const primitive primitives[] = {
    {"split", "nn+", "split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)",
     " factor= nparts= tail=", apply_split},
    {"tile", "nnn##", "tile(stage, a, b, factor_a, factor_b [, tail=peel])", " tail=", apply_tile},
    {"fuse", "nn*", "fuse(stage, axis, axis, ...)", "", apply_fuse},
    {"reorder", "nn*", "reorder(stage, axis, axis, ...)", "", apply_reorder},
    {"vectorize", "nn+", "vectorize(stage, axis [, factor [, tail=peel]])", " tail=", apply_vectorize},
    {"unroll", "nn", "unroll(stage, axis)", "", apply_unroll},
    {"parallel", "nn", "parallel(stage, axis)", "", apply_parallel},
    {"pragma", "nnn#", "pragma(stage, axis, key, n)", "", apply_pragma},
    {"tensorize", "nnn", "tensorize(stage, axis, intrinsic)", "", apply_tensorize},
    {"compute_at", "nnn", "compute_at(stage, reader, axis)", "", apply_compute_at},
    {"compute_group_at", "nnn*", "compute_group_at(stage, reader, axis [, input ...])", "", apply_compute_group_at},
    {"compute_inline", "n", "compute_inline(stage)", "", apply_compute_inline},
    {"compute_root", "n", "compute_root(stage)", "", apply_compute_root},
    {"cache_read", "nn*", "cache_read(tensor, scope, reader, ...)", "", apply_cache_read},
    {"cache_write", "nn*", "cache_write(tensor [, tensor ...], scope)", "", apply_cache_write},
    {"set_scope", "nn", "set_scope(stage, scope)", "", apply_set_scope},
    {"rfactor", "nn+", "rfactor(stage, axis [, factor_axis])", "", apply_rfactor},
    {"parallel_reduce", "nn", "parallel_reduce(stage, axis [, parts=n])", " parts=", apply_parallel_reduce},
    {"auto_inline", "", "auto_inline()", "", apply_auto_inline},
    {"transform_layout", "nn", "transform_layout(stage, [i, j] -> [j, i])", "", apply_transform_layout},
    {"storage_align", "nn##", "storage_align(stage, axis, factor, offset)", "", apply_storage_align},
    {"double_buffer", "n", "double_buffer(stage)", "", apply_double_buffer},
    {"rolling_buffer", "n", "rolling_buffer(stage)", "", apply_rolling_buffer},
    {"set_store_predicate", "nc", "set_store_predicate(stage, condition)", "", apply_set_store_predicate},
    {"prefetch", "nnn#*", "prefetch(stage, tensor, axis, offset [, reader, loop])", "", apply_prefetch},
    {"bind", "nnn", "bind(stage, axis, threadIdx.x)", "", apply_bind},
};

static const primitive *find_primitive(const char *name) {
  for (int i = 0; i < RUNTIME_COUNT(primitives); i++)
    if (strcmp(primitives[i].name, name) == 0) return &primitives[i];
  return NULL;
}

/* Whether the argument that is read now is a condition. */
static bool takes_condition(const reader *r) {
  const primitive *p = find_primitive(r->primitive);
  return p && (size_t)r->n <= strlen(p->form) && p->form[r->n - 1] == 'c';
}

/* Whether the arguments by position have the form; keys stand behind them. */
static bool fits_form(const reader *r, const char *form) {
  int i = 0, n = 0;
  while (n < r->n && !r->args[n].key) n++;
  for (int k = n; k < r->n; k++)
    if (!r->args[k].key) return false;
  for (; *form; form++) {
    bool is_name = *form == 'n' || *form == 'c' || *form == '*';
    if (*form == '*' || *form == '+') {
      while (i < n && (r->args[i].name != NULL) == is_name) i++;
      continue;
    }
    if (i == n || (r->args[i].name != NULL) != is_name) return false;
    i++;
  }
  return i == n;
}

/* tail=..., guard when there is none. */
static tn_status read_tail(reader *r, tn_tail *out) {
  const argument *a = find_key(r, "tail");
  *out = TN_TAIL_GUARD;
  for (int i = 0; a && i < TN_TAIL_COUNT; i++) {
    if (!a->name || strcmp(schedule_tail_words[i], a->name) != 0) continue;
    *out = (tn_tail)i;
    return TN_OK;
  }
  if (!a) return TN_OK;
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE,
                      "%s(%s, %s): tail \"%s\" is unknown: take guard, peel, mask, pad or overlap", r->primitive,
                      name_at(r, 0), name_at(r, 1), a->name ? a->name : "number");
}

/* Keys that are known, once each, with a number where one is needed. */
static tn_status check_keys(reader *r, const primitive *p) {
  for (int i = 0; i < r->n; i++) {
    const argument *a = &r->args[i];
    char wanted[SCHEDULE_MAX_NAME + 3];
    if (!a->key) continue;
    snprintf(wanted, sizeof wanted, " %s=", a->key);
    if (!strstr(p->keys, wanted)) return refuse_call(r, runtime_format(&r->arena, "it takes no %s=", a->key), p->usage);
    if (find_key(r, a->key) != a)
      return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "%s: %s= stands twice: give it once", call_text(r), a->key);
    if (a->name && strcmp(a->key, "tail") != 0)
      return refuse_call(r, runtime_format(&r->arena, "%s=%s is no number", a->key, a->name), p->usage);
  }
  return TN_OK;
}

static tn_status no_such_primitive(reader *r) {
  char names[1024];
  size_t used = 0;
  for (int i = 0; i < RUNTIME_COUNT(primitives) && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", primitives[i].name);
  return runtime_fail(r->s->ctx, TN_ERROR_SCHEDULE, "%s is no primitive: use one of %s", call_text(r), names);
}

static tn_status apply_call(reader *r) {
  const primitive *p = find_primitive(r->primitive);
  if (!p) return no_such_primitive(r);
  if (!fits_form(r, p->form)) return refuse_call(r, "wrong arguments", p->usage);
  SCHEDULE_TRY(check_keys(r, p));
  tn_tail tail;
  SCHEDULE_TRY(read_tail(r, &tail));
  return p->apply(r, tail);
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

tn_status tn_schedule_apply(tn_schedule *s, const char *text) {
  if (!s || !text) return TN_ERROR_ARGUMENT;
  if (!runtime_check_text(s->ctx, "the schedule", text)) return TN_ERROR_PARSE;
  reader *r = calloc(1, sizeof *r);
  tn_schedule *copy = r ? tn_schedule_copy(s) : NULL;
  tn_status status = TN_ERROR_MEMORY;
  if (copy) {
    r->s = copy;
    r->text = r->at = text;
    status = apply_all(r);
    if (status == TN_OK) schedule_swap_contents(s, copy);
  }
  tn_schedule_free(copy);
  if (r) runtime_arena_free(&r->arena);
  free(r);
  return status;
}
