/* parse.c: loop IR from text, as tir_print_func writes it: words and signs, statements, functions.
 * Recursive descent over the text itself; a '#' starts a comment. The parser is on the caller's stack,
 * everything it makes in the caller's arena. What the printer writes is read back to the same text;
 * tests compare the two. */
#include <inttypes.h>

#include <ctype.h>
#include <stdio.h>

#include "tir/parser.h"
#include "tir/text.h"

enum { MAX_DEPTH = 1000 };

/* ---- words and signs --------------------------------------------------------------------------------------------- */

/* Only the first failure is kept: the later ones follow from it. */
bool parser_fail(parser *p, const char *at, const char *fmt, ...) {
  char what[512];
  RUNTIME_PRINT_ARGS(what, fmt);
  if (!p->failed) runtime_fail_at(p->ctx, "parse error at", p->text, at, "%s", what);
  p->failed = true;
  return false;
}

const void *parser_made(parser *p, const void *pointer) {
  if (pointer == NULL && !p->failed) {
    runtime_fail(p->ctx, TN_ERROR_MEMORY, "out of memory while parsing loop IR");
    p->failed = true;
  }
  return pointer;
}

/* Skips blanks and comments; the place is also where a message's caret goes. */
const char *parser_here(parser *p) {
  while (isspace((unsigned char)*p->at) || *p->at == '#') {
    p->at += *p->at == '#' ? strcspn(p->at, "\n") : 1;
  }
  return p->at;
}

/* Signs are compared as prefixes: callers try "//" before "/". */
bool parser_accept(parser *p, const char *sign) {
  size_t n = strlen(sign);
  if (p->failed || strncmp(parser_here(p), sign, n) != 0) return false;
  p->at += n;
  return true;
}

bool parser_need(parser *p, const char *sign) {
  return parser_accept(p, sign) || parser_fail(p, parser_here(p), "expected '%s'", sign);
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* 0: no word begins here. */
static size_t word_length(const char *at) {
  size_t n = 0;
  if (!isalpha((unsigned char)*at) && *at != '_') return 0;
  while (is_word_char(at[n])) n++;
  return n;
}

bool parser_accept_word(parser *p, const char *word) {
  size_t n = word_length(parser_here(p));
  if (p->failed || n != strlen(word) || strncmp(p->at, word, n) != 0) return false;
  p->at += n;
  return true;
}

const char *parser_word(parser *p, const char *what) {
  size_t n = word_length(parser_here(p));
  if (n == 0) parser_fail(p, p->at, "expected %s", what);
  if (p->failed) return NULL;
  const char *start = p->at;
  p->at += n;
  return parser_made(p, runtime_strndup(p->arena, start, n));
}

/* Accumulates towards the sign, so that INT64_MIN is read without overflow. */
bool parser_integer(parser *p, int64_t *value) {
  const char *start = parser_here(p), *c = start + (*start == '-');
  if (!isdigit((unsigned char)*c)) return parser_fail(p, start, "expected a whole number");
  bool fits = true;
  for (*value = 0; isdigit((unsigned char)*c); c++) {
    int64_t digit = *start == '-' ? '0' - *c : *c - '0';
    fits = fits && !__builtin_mul_overflow(*value, 10, value) && !__builtin_add_overflow(*value, digit, value);
  }
  p->at = c;
  return fits ? !p->failed : parser_fail(p, start, "the number does not fit 64 bits");
}

bool parser_dtype(parser *p, tn_dtype *dtype) {
  const char *at = parser_here(p), *word = parser_word(p, "a type such as float32");
  int found = RUNTIME_FIND(tir_dtype_words, word);
  if (found >= 0) *dtype = (tn_dtype)found;
  return found >= 0 || (word != NULL && parser_fail(p, at, "expected a type such as float32, not '%s'", word));
}

bool parser_enter(parser *p) {
  p->depth++;
  return p->depth <= MAX_DEPTH || parser_fail(p, p->at, "nested more than %d deep", MAX_DEPTH);
}

/* "text": without the quotes, in the arena. */
static const char *quoted(parser *p) {
  if (!parser_need(p, "\"")) return NULL;
  size_t n = strcspn(p->at, "\"\n");
  const char *start = p->at;
  if (start[n] != '"') return parser_fail(p, start, "expected a closing '\"'"), NULL;
  p->at += n + 1;
  return parser_made(p, runtime_strndup(p->arena, start, n));
}

/* Doubles in the arena and leaves the old list behind; the total is at most twice the list. */
void *parser_room(parser *p, void *items, int n, size_t item_bytes) {
  if (n > 0 && (n & (n - 1)) != 0) return items; /* room is a power of two */
  void *more = runtime_alloc(p->arena, item_bytes * (size_t)(n > 0 ? 2 * n : 1));
  if (more != NULL && n > 0) memcpy(more, items, item_bytes * (size_t)n);
  return (void *)parser_made(p, more);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

parser_param *parser_param_of(parser *p, const tir_buffer *buffer) {
  for (int i = 0; i < p->n_params; i++) {
    if (p->params[i].buffer == buffer) return &p->params[i];
  }
  return NULL;
}

/* Whether a whole number stands here, and nothing else of an extent. */
static bool is_number_alone(parser *p) {
  const char *begin = parser_here(p), *at = begin;
  if (isalpha((unsigned char)*at) || *at == '_' || *at == '(') return false;
  while (isdigit((unsigned char)*at) || *at == '-') at++;
  const char *end = at;
  while (*at == ' ') at++;
  return *at == ',' || *at == ']' || begin == end;
}

/* An extent that symbols decide. */
static bool parse_size(parser *p, tir_buffer *buffer, int dim) {
  const char *at = parser_here(p);
  buffer->shape[dim] = -1;
  buffer->size[dim] = parser_scalar(p, p->index_dtype, "an extent");
  int64_t number;
  if (buffer->size[dim] == NULL) return false;
  return !tir_is_int(buffer->size[dim], &number) || parser_fail(p, at, "expected a number, or an extent with a symbol");
}

/* [64, M*48]; the number of elements must be one that can be counted. */
static bool parse_shape(parser *p, tir_buffer *buffer) {
  int64_t total = 1;
  if (!parser_need(p, "[")) return false;
  for (buffer->ndim = 0; !parser_accept(p, "]"); buffer->ndim++) {
    if (buffer->ndim > 0 && !parser_need(p, ",")) return false;
    const char *at = parser_here(p);
    if (buffer->ndim == TN_MAX_RANK) return parser_fail(p, at, "a buffer has at most %d dimensions", TN_MAX_RANK);
    int64_t *extent = &buffer->shape[buffer->ndim];
    if (!is_number_alone(p)) {
      if (!parse_size(p, buffer, buffer->ndim)) return false;
      continue;
    }
    if (!parser_integer(p, extent)) return false;
    if (*extent < 1) return parser_fail(p, at, "expected an extent of 1 or more");
    if (__builtin_mul_overflow(total, *extent, &total)) return parser_fail(p, at, "the buffer is too large");
  }
  return true;
}

/* [A.stride0, 1]: variables, and 1 for the last dimension. */
static bool parse_strides(parser *p, tir_buffer *buffer) {
  int64_t last = 0;
  if (!parser_need(p, "[")) return false;
  for (int i = 0; i < buffer->ndim - 1; i++) {
    const char *at = parser_here(p);
    buffer->stride[i] = parser_scalar(p, p->index_dtype, "a stride");
    if (buffer->stride[i] == NULL) return false;
    if (buffer->stride[i]->op != TIR_VAR) return parser_fail(p, at, "expected a variable that is passed by value");
    if (!parser_need(p, ",")) return false;
  }
  const char *at = parser_here(p);
  if (!parser_integer(p, &last)) return false;
  if (last != 1 || buffer->ndim < 2)
    return parser_fail(p, at, "expected a stride a dimension, and 1 as the last of them");
  return parser_need(p, "]");
}

/* The number of elements, given that of all dimensions that are numbers; NULL: that is all. */
static const tir_expr *size_of_flat(const parser_param *param, int64_t *total) {
  const tir_buffer *b = param->buffer;
  const tir_expr *size = NULL;
  *total = 1;
  if (tir_is_strided(b)) return tir_strided_elements(param->arena, (tn_dtype)b->stride[0]->dtype, b);
  for (int i = 0; i < b->ndim; i++) {
    if (b->size[i] == NULL)
      *total *= b->shape[i];
    else
      size = size != NULL ? tir_binary(param->arena, TIR_MUL, size, b->size[i]) : b->size[i];
  }
  if (size == NULL || *total == 1) return size;
  return tir_binary(param->arena, TIR_MUL, size, tir_int(param->arena, size->dtype, *total));
}

/* Changes the buffer in place: accesses that were parsed before point to it. */
static void make_flat(parser_param *param) {
  tir_buffer *b = param->buffer;
  int64_t total;
  const tir_expr *size = size_of_flat(param, &total);
  memset(b->size, 0, sizeof b->size);
  memset(b->stride, 0, sizeof b->stride);
  b->ndim = 1;
  b->size[0] = size;
  b->shape[0] = size != NULL ? -1 : total;
  param->is_flat = true;
}

/* Whether a buffer can have N indices; a parameter's may turn out to be flat. */
static bool fits_rank(parser *p, const tir_buffer *buffer, int n, const char *at) {
  parser_param *param = parser_param_of(p, buffer);
  if (n == buffer->ndim) {
    bool is_whole = param != NULL && !param->is_flat && n != 1;
    if (is_whole && param->whole_access == NULL) param->whole_access = at;
    return true;
  }
  if (param == NULL || n != 1 || param->is_flat)
    return parser_fail(p, at, "expected %d %s of '%s', not %d", buffer->ndim, buffer->ndim == 1 ? "index" : "indices",
                       buffer->name, n);
  if (param->whole_access != NULL)
    return parser_fail(p, at, "expected an index a dimension of '%s' as in other accesses", buffer->name);
  make_flat(param);
  return true;
}

/* The innermost allocation of that name, then the parameters. */
static const tir_buffer *find_buffer(parser *p, const char *name, const char *at) {
  for (const parser_name *n = p->names; n != NULL; n = n->outer) {
    if (n->buffer != NULL && strcmp(n->buffer->name, name) == 0) return n->buffer;
  }
  for (int i = 0; i < p->n_params; i++) {
    if (strcmp(p->params[i].buffer->name, name) == 0) return p->params[i].buffer;
  }
  parser_fail(p, at, "expected the name of a parameter or of an allocation around this, not '%s'", name);
  return NULL;
}

/* One of the parts in brackets: an index or the predicate. */
static bool parse_access_part(parser *p, parser_access *out, int *lanes) {
  const char *at = parser_here(p), *equals = at + word_length(at) + strspn(at + word_length(at), " ");
  bool is_predicate = *equals == '=' && equals[1] != '=' && parser_accept_word(p, "predicate") && parser_need(p, "=");
  if (!is_predicate && out->n == TN_MAX_RANK)
    return parser_fail(p, at, "a buffer has at most %d dimensions", TN_MAX_RANK);
  const tir_expr *e = parser_expr(p);
  if (e == NULL) return false;
  bool is_index = !tn_dtype_is_float((tn_dtype)e->dtype) && e->dtype != TN_BOOL;
  if (is_predicate && e->dtype != TN_BOOL) return parser_fail(p, at, "expected a bool as predicate");
  if (!is_predicate && !is_index) return parser_fail(p, at, "expected an integer as index");
  if (e->lanes > 1 && *lanes > 1 && e->lanes != *lanes) return parser_fail(p, at, "expected %d lanes", *lanes);
  *lanes = RUNTIME_MAX(*lanes, e->lanes);
  if (is_predicate)
    out->predicate = e;
  else
    out->index[out->n++] = e;
  return true;
}

bool parser_access_rest(parser *p, const char *name, const char *at, parser_access *out) {
  int lanes = 1;
  *out = (parser_access){.buffer = find_buffer(p, name, at)};
  if (out->buffer == NULL || !parser_need(p, "[")) return false;
  for (bool first = true; !parser_accept(p, "]"); first = false) {
    if (!first && !parser_need(p, ",")) return false;
    if (out->predicate != NULL) return parser_fail(p, p->at, "expected ']' behind the predicate");
    if (!parse_access_part(p, out, &lanes)) return false;
  }
  return fits_rank(p, out->buffer, out->n, at);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static const tir_stmt *parse_block(parser *p);

/* A block in which NAME is known. */
static const tir_stmt *block_with(parser *p, parser_name name) {
  name.outer = p->names;
  p->names = &name;
  const tir_stmt *body = parse_block(p);
  p->names = name.outer;
  return body;
}

/* Between two numbers. One that the index dtype does not hold is refused. */
static const tir_expr *distance(parser *p, const tir_expr *min, int64_t from, int64_t to) {
  tir_interval all = tir_dtype_range((tn_dtype)min->dtype);
  int64_t extent;
  if (!__builtin_sub_overflow(to, from, &extent) && extent >= all.lo && extent <= all.hi)
    return tir_int(p->arena, (tn_dtype)min->dtype, extent);
  return parser_fail(p, p->at, "a loop from %" PRId64 " to %" PRId64 " is longer than %s counts", from, to,
                     tir_dtype_words[min->dtype]),
         NULL;
}

/* The extent from the end; `min + extent` is what the printer writes where the two are not numbers. */
static const tir_expr *extent_of(parser *p, const tir_expr *min, const tir_expr *end) {
  int64_t from, to;
  bool known = tir_is_int(min, &from);
  if (known && from == 0) return end;
  if (known && tir_is_int(end, &to)) return distance(p, min, from, to);
  if (end->op == TIR_ADD && tir_equal(end->arg[0], min)) return end->arg[1];
  if (tir_equal(end, min)) return tir_int(p->arena, min->dtype, 0);
  return tir_simplify(p->arena, NULL, tir_binary(p->arena, TIR_SUB, end, min));
}

/* What is quoted behind a loop's bounds. */
typedef struct loop_marks {
  tir_loop_kind kind;
  bool peel, strided;
} loop_marks;

/* The kind that a word says; TIR_SERIAL: none. */
static tir_loop_kind kind_of(const char *word) {
  for (int i = TIR_SERIAL + 1; i < TIR_LOOP_KIND_COUNT; i++) {
    if (strcmp(word, tir_loop_words[i]) == 0) return (tir_loop_kind)i;
  }
  return TIR_SERIAL;
}

/* "unroll", "vectorized" or "parallel", then "peel", then "strided". */
static bool parse_marks(parser *p, loop_marks *out) {
  *out = (loop_marks){TIR_SERIAL, false, false};
  while (*parser_here(p) == '"') {
    const char *at = p->at, *word = quoted(p);
    if (word == NULL) return false;
    tir_loop_kind kind = kind_of(word);
    bool is_first = out->kind == TIR_SERIAL && !out->peel && !out->strided;
    if (kind != TIR_SERIAL && is_first)
      out->kind = kind;
    else if (strcmp(word, "peel") == 0 && !out->strided)
      out->peel = true;
    else if (strcmp(word, "strided") == 0 && out->kind == TIR_PARALLEL)
      out->strided = true;
    else
      return parser_fail(p, at,
                         "expected one of \"unroll\", \"vectorized\", \"parallel\", then \"peel\", then "
                         "\"strided\" of a parallel loop");
  }
  return true;
}

/* Loops and symbols have one type; the first says which. */
static bool use_index_dtype(parser *p, tn_dtype dtype, const char *at) {
  if (!p->has_index_dtype && (dtype == TN_I32 || dtype == TN_I64)) p->index_dtype = dtype, p->has_index_dtype = true;
  return dtype == p->index_dtype ||
         parser_fail(p, at, "expected %s as the type of all loops%s", tir_dtype_words[p->index_dtype],
                     p->has_index_dtype ? " of this function" : ", or int64");
}

/* name: int32 */
static tir_var *loop_var(parser *p) {
  const char *name = parser_word(p, "the name of the loop's variable");
  tn_dtype dtype;
  if (name == NULL || !parser_need(p, ":")) return NULL;
  const char *at = parser_here(p);
  if (!parser_dtype(p, &dtype) || !use_index_dtype(p, dtype, at)) return NULL;
  tir_var *var = (tir_var *)parser_made(p, RUNTIME_NEW(p->arena, tir_var));
  if (var != NULL) *var = (tir_var){name, dtype};
  return var;
}

/* Behind "for (". */
static const tir_stmt *parse_for(parser *p) {
  tir_var *var = loop_var(p);
  loop_marks marks;
  if (var == NULL || !parser_need(p, ",")) return NULL;
  const tir_expr *min = parser_scalar(p, var->dtype, "the loop's first value");
  if (min == NULL || !parser_need(p, ",")) return NULL;
  const tir_expr *end = parser_scalar(p, var->dtype, "the loop's end");
  if (end == NULL || !parser_need(p, ")") || !parse_marks(p, &marks)) return NULL;
  const tir_expr *extent = extent_of(p, min, end);
  const tir_stmt *body = block_with(p, (parser_name){.var = var});
  tir_stmt *s = body != NULL ? (tir_stmt *)tir_for(p->arena, var, min, extent, marks.kind, body) : NULL;
  if (body == NULL || parser_made(p, s) == NULL) return NULL;
  s->u.loop.peel = marks.peel;
  s->u.loop.strided = marks.strided;
  return s;
}

/* Behind "if (". */
static const tir_stmt *parse_if(parser *p) {
  const tir_expr *cond = parser_scalar(p, TN_BOOL, "a condition");
  if (cond == NULL || !parser_need(p, ")")) return NULL;
  const tir_stmt *then_body = parse_block(p), *else_body = NULL;
  if (then_body == NULL || (parser_accept_word(p, "else") && (else_body = parse_block(p)) == NULL)) return NULL;
  return tir_if(p->arena, cond, then_body, else_body);
}

/* Behind "allocate(": name: Pointer(scope dtype), dtype, [shape]), storage_scope = scope {...} */
static const tir_stmt *parse_alloc(parser *p) {
  tn_dtype dtype = TN_F32;
  const char *name = parser_word(p, "the name of the buffer");
  if (name == NULL || !parser_need(p, ":") || !parser_need(p, "Pointer") || !parser_need(p, "(")) return NULL;
  const char *scope = parser_word(p, "a scope such as global");
  if (scope == NULL || !parser_dtype(p, &dtype) || !parser_need(p, ")") || !parser_need(p, ",")) return NULL;
  tir_buffer *b = (tir_buffer *)parser_made(p, RUNTIME_NEW(p->arena, tir_buffer));
  if (b == NULL) return NULL;
  *b = (tir_buffer){.name = name, .dtype = dtype, .scope = scope};
  if (!parser_need(p, tir_dtype_words[dtype]) || !parser_need(p, ",") || !parse_shape(p, b) || !parser_need(p, ")") ||
      !parser_need(p, ",") || !parser_need(p, "storage_scope") || !parser_need(p, "=") || !parser_need(p, scope))
    return NULL;
  const tir_stmt *body = block_with(p, (parser_name){.buffer = b});
  return body != NULL ? tir_alloc(p->arena, b, body) : NULL;
}

/* Behind "attr": "pragma_key" = value {...}, or [threadIdx.x] "thread_extent" = value {...} */
static const tir_stmt *parse_attr(parser *p) {
  const char *thread = NULL, *key;
  int64_t value = 0;
  if (parser_accept(p, "[") && ((thread = parser_word(p, "the index of a thread")) == NULL || !parser_need(p, "]")))
    return NULL;
  const char *at = parser_here(p);
  if ((key = quoted(p)) == NULL) return NULL;
  if (thread != NULL && strcmp(key, "thread_extent") != 0)
    return parser_fail(p, at, "expected \"thread_extent\""), NULL;
  if (thread == NULL && strncmp(key, "pragma_", 7) != 0) return parser_fail(p, at, "expected \"pragma_...\""), NULL;
  key = thread == NULL ? key + 7 : runtime_format(p->arena, TIR_THREAD_EXTENT "%s", thread);
  if (!parser_need(p, "=") || !parser_integer(p, &value)) return NULL;
  const tir_stmt *body = parse_block(p);
  return body != NULL ? tir_attr(p->arena, key, value, body) : NULL;
}

/* name[...] = value */
static const tir_stmt *parse_store(parser *p) {
  parser_access access;
  const char *at = parser_here(p), *name = parser_word(p, "a statement");
  if (name == NULL || !parser_access_rest(p, name, at, &access) || !parser_need(p, "=")) return NULL;
  const char *value_at = parser_here(p);
  const tir_expr *value = parser_expr(p);
  if (value == NULL) return NULL;
  if (value->dtype != access.buffer->dtype)
    return parser_fail(p, value_at, "expected a %s, as '%s' holds, not a %s", tir_dtype_words[access.buffer->dtype],
                       name, tir_dtype_words[value->dtype]),
           NULL;
  int lanes = access.predicate != NULL ? access.predicate->lanes : 1;
  for (int i = 0; i < access.n; i++) lanes = RUNTIME_MAX(lanes, access.index[i]->lanes);
  if (value->lanes > 1 && value->lanes != lanes && (lanes > 1 || access.n == 0))
    return parser_fail(p, value_at, "expected %d lanes, not %d", lanes, value->lanes), NULL;
  parser_param *param = parser_param_of(p, access.buffer);
  if (param != NULL) param->is_stored = true;
  return tir_store(p->arena, access.buffer, access.n, access.index, value, access.predicate);
}

/* Behind "prefetch(": name[...]) */
static const tir_stmt *parse_prefetch(parser *p) {
  parser_access access;
  const char *at = parser_here(p), *name = parser_word(p, "the element to prefetch");
  if (name == NULL || !parser_access_rest(p, name, at, &access) || !parser_need(p, ")")) return NULL;
  bool is_scalar = access.predicate == NULL;
  for (int i = 0; i < access.n; i++) is_scalar = is_scalar && access.index[i]->lanes == 1;
  if (!is_scalar) return parser_fail(p, at, "expected one element without a predicate"), NULL;
  return tir_prefetch(p->arena, access.buffer, access.n, access.index);
}

/* Whether WORD stands here, and behind it a '(' that is stepped over too. */
static bool accept_head(parser *p, const char *word) {
  const char *start = parser_here(p);
  if (parser_accept_word(p, word) && parser_accept(p, "(")) return true;
  p->at = start;
  return false;
}

/* A word that no bracket follows, which would make it the name of a buffer. */
static bool accept_bare(parser *p, const char *word, const char *not_before) {
  const char *start = parser_here(p);
  if (parser_accept_word(p, word) && (*parser_here(p) == '\0' || strchr(not_before, *p->at) == NULL)) return true;
  p->at = start;
  return false;
}

/* An attribute of a thread's index begins as an access to a buffer "attr" does; what is quoted tells. */
static bool accept_attr(parser *p) {
  const char *start = parser_here(p);
  if (!parser_accept_word(p, "attr")) return false;
  const char *next = parser_here(p), *close = *next == '[' ? strchr(next, ']') : NULL;
  bool is_attr = *next == '"' || (close != NULL && strncmp(close, "] \"", 3) == 0);
  if (!is_attr) p->at = start;
  return is_attr;
}

/* Words are no keywords: a buffer may be called "nop". What stands behind the word decides. */
static const tir_stmt *parse_stmt(parser *p) {
  if (accept_head(p, "for")) return parse_for(p);
  if (accept_head(p, "if")) return parse_if(p);
  if (accept_head(p, "allocate")) return parse_alloc(p);
  if (accept_head(p, "prefetch")) return parse_prefetch(p);
  if (accept_bare(p, "call", "[")) return parser_call(p);
  if (accept_attr(p)) return parse_attr(p);
  if (accept_bare(p, "nop", "[")) return tir_nop(p->arena);
  return parse_store(p);
}

/* The depth is not given back after a failure, since nothing more is parsed. */
static const tir_stmt *parse_block(parser *p) {
  const tir_stmt **list = NULL;
  int n = 0;
  if (!parser_need(p, "{") || !parser_enter(p)) return NULL;
  while (!parser_accept(p, "}")) {
    if (*parser_here(p) == '\0') parser_fail(p, p->at, "expected a statement or '}'");
    const tir_stmt *s = p->failed ? NULL : parse_stmt(p);
    if (parser_made(p, s) == NULL || (list = parser_room(p, list, n, sizeof *list)) == NULL) return NULL;
    list[n++] = s;
  }
  parser_leave(p);
  return parser_made(p, tir_seq(p->arena, n, list));
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* From the bracket here to the one that closes it. */
static bool skip_brackets(parser *p) {
  int depth = 0;
  do {
    const char *at = parser_here(p);
    if (*at == '\0') return parser_fail(p, at, "expected ']'");
    depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    p->at = at + 1;
  } while (depth > 0);
  return true;
}

/* The shapes, in which symbols may stand that come after them. */
static bool parse_param_shapes(parser *p) {
  const char *end = p->at;
  for (int i = 0; i < p->n_params; i++) {
    p->at = p->params[i].shape_at;
    if (!parse_shape(p, p->params[i].buffer)) return false;
    if (parser_accept(p, ",") && !parse_strides(p, p->params[i].buffer)) return false;
    p->params[i].declared = *p->params[i].buffer;
  }
  p->at = end;
  return true;
}

/* Behind "name: Buffer": (dtype, [shape]) or (dtype, [shape], [strides]); what is in brackets is read later. */
static bool parse_buffer_param(parser *p, const char *name) {
  tir_buffer *b = (tir_buffer *)parser_made(p, RUNTIME_NEW(p->arena, tir_buffer));
  p->params = parser_room(p, p->params, p->n_params, sizeof *p->params);
  if (b == NULL || p->params == NULL) return false;
  *b = (tir_buffer){.name = name, .scope = "global", .is_param = true};
  if (!parser_need(p, "(") || !parser_dtype(p, &b->dtype) || !parser_need(p, ",")) return false;
  const char *shape_at = parser_here(p);
  if (*shape_at != '[') return parser_need(p, "[");
  p->params[p->n_params++] = (parser_param){.arena = p->arena, .buffer = b, .shape_at = shape_at};
  if (!skip_brackets(p)) return false;
  if (parser_accept(p, ",") && (*parser_here(p) != '[' ? !parser_need(p, "[") : !skip_brackets(p))) return false;
  return parser_need(p, ")");
}

/* Behind "name:": a type; a symbol has a range behind it: in [1, 300] */
static bool parse_scalar_param(parser *p, const char *name) {
  tir_var *var = (tir_var *)parser_made(p, RUNTIME_NEW(p->arena, tir_var));
  tir_env *env = (tir_env *)parser_made(p, RUNTIME_NEW(p->arena, tir_env));
  parser_name *known = (parser_name *)parser_made(p, RUNTIME_NEW(p->arena, parser_name));
  p->scalars = parser_room(p, p->scalars, p->n_scalars, sizeof *p->scalars);
  if (var == NULL || env == NULL || known == NULL || p->scalars == NULL) return false;
  const char *at = parser_here(p);
  *var = (tir_var){.name = name};
  *env = (tir_env){.outer = p->env, .var = var, .range = {INT64_MIN, INT64_MAX}};
  if (!parser_dtype(p, &var->dtype)) return false;
  bool is_symbol = parser_accept_word(p, "in");
  if (is_symbol && !use_index_dtype(p, var->dtype, at)) return false;
  if (is_symbol && (!parser_need(p, "[") || !parser_integer(p, &env->range.lo) || !parser_need(p, ",") ||
                    !parser_integer(p, &env->range.hi) || !parser_need(p, "]")))
    return false;
  p->scalars[p->n_scalars++] = (tir_scalar){var, is_symbol};
  *known = (parser_name){.outer = p->names, .var = var};
  p->names = known;
  p->env = env;
  return true;
}

/* Names of parameters must differ, because accesses find them by name. */
static bool is_param_name(const parser *p, const char *name) {
  for (int i = 0; i < p->n_params; i++) {
    if (strcmp(p->params[i].buffer->name, name) == 0) return true;
  }
  for (int i = 0; i < p->n_scalars; i++) {
    if (strcmp(p->scalars[i].var->name, name) == 0) return true;
  }
  return false;
}

/* name: Buffer(dtype, [shape]); behind those name: dtype */
static bool parse_param(parser *p) {
  const char *at = parser_here(p), *name = parser_word(p, "the name of a parameter");
  if (name == NULL || !parser_need(p, ":")) return false;
  if (is_param_name(p, name)) return parser_fail(p, at, "'%s' stands there twice", name);
  if (!parser_accept_word(p, "Buffer")) return parse_scalar_param(p, name);
  if (p->n_scalars > 0) return parser_fail(p, at, "expected buffers before what is passed by value");
  return parse_buffer_param(p, name);
}

/* Shapes are read behind all parameters: M may be declared after A[M]. */
static bool parse_params(parser *p) {
  if (!parser_need(p, "primfn") || !parser_need(p, "(")) return false;
  for (bool first = true; !parser_accept(p, ")"); first = false) {
    if (!first && !parser_need(p, ",")) return false;
    if (!parse_param(p)) return false;
  }
  return parse_param_shapes(p);
}

/* -> int32 attr = {"global_symbol": "name", "tir.noalias": True}; gives the name. */
static const char *parse_attributes(parser *p) {
  const char *name = NULL;
  if (!parser_need(p, "->") || !parser_need(p, "int32") || !parser_need(p, "attr") || !parser_need(p, "=") ||
      !parser_need(p, "{") || !parser_need(p, "\"global_symbol\"") || !parser_need(p, ":") ||
      (name = quoted(p)) == NULL || !parser_need(p, ",") || !parser_need(p, "\"tir.noalias\"") ||
      !parser_need(p, ":") || !parser_need(p, "True") || !parser_need(p, "}"))
    return NULL;
  return name;
}

/* One flat parameter makes all flat: those that no access told of, too. */
static bool settle_flat(parser *p, bool *flat) {
  *flat = false;
  for (int i = 0; i < p->n_params; i++) *flat = *flat || p->params[i].is_flat;
  for (int i = 0; *flat && i < p->n_params; i++) {
    parser_param *param = &p->params[i];
    if (param->is_flat || param->declared.ndim == 1) continue;
    if (param->whole_access != NULL)
      return parser_fail(p, param->whole_access,
                         "expected one index of '%s': that is how other parameters are accessed", param->buffer->name);
    make_flat(param);
  }
  return true;
}

/* Parameters before the first that is stored to are inputs. */
static tir_func *make_func(parser *p, const char *name, const tir_stmt *body, bool flat) {
  tir_func *f = RUNTIME_NEW(p->arena, tir_func);
  const tir_buffer **params = RUNTIME_NEW_ARRAY(p->arena, const tir_buffer *, p->n_params + 1);
  const tir_buffer **declared = RUNTIME_NEW_ARRAY(p->arena, const tir_buffer *, p->n_params + 1);
  if (f == NULL || params == NULL || declared == NULL) return NULL;
  int n_inputs = 0;
  while (n_inputs < p->n_params && !p->params[n_inputs].is_stored) n_inputs++;
  for (int i = 0; i < p->n_params; i++) {
    p->params[i].buffer->is_input = p->params[i].declared.is_input = i < n_inputs;
    params[i] = p->params[i].buffer;
    declared[i] = &p->params[i].declared;
  }
  *f = (tir_func){.name = name,
                  .n_params = p->n_params,
                  .n_inputs = n_inputs,
                  .params = params,
                  .n_scalars = p->n_scalars,
                  .scalars = p->scalars,
                  .env = p->env,
                  .index_dtype = p->index_dtype,
                  .body = body,
                  .declared = flat ? declared : NULL};
  return f;
}

/* Checks the function as the passes' results are checked, so that a text cannot bring in what no pass
 * would make. */
tir_func *tir_parse_func(tn_context *ctx, runtime_arena *arena, const char *text) {
  parser p = {.ctx = ctx, .arena = arena, .text = text, .at = text, .index_dtype = TN_I32};
  bool flat;
  if (!runtime_check_text(ctx, "the loop IR", text)) return NULL;
  const char *name = parse_params(&p) ? parse_attributes(&p) : NULL;
  const tir_stmt *body = name != NULL ? parse_block(&p) : NULL;
  if (body == NULL) return NULL;
  if (*parser_here(&p) != '\0') parser_fail(&p, p.at, "expected the end of the text");
  if (p.failed || !settle_flat(&p, &flat)) return NULL;
  tir_func *f = make_func(&p, name, body, flat);
  return parser_made(&p, f) != NULL && tir_check(ctx, f) == TN_OK ? f : NULL;
}
