/* parse.c: the text form's statements: param, input, scalar, symbol, output and definitions; finding the
 * shapes of inputs that were not declared; and putting the program together. Grammar: docs/language.md. It
 * is one pass with one token of lookahead: a name means what was declared or read before. The parser is on
 * the caller's stack, its lists are on the heap and freed at the end, and the graph is in the context's
 * arena. */
#include <assert.h>
#include <stdio.h>

#include "te/parser.h"
#include "te/source.h"

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* One site serves all, since failures are reported at once. */
const te_site *te_parse_site(te_parser *p, const char *at) {
  p->lexer.site.at = at;
  return &p->lexer.site;
}

bool te_parse_fail(te_parser *p, const char *at, const char *fmt, ...) {
  char text[1024];
  RUNTIME_PRINT_ARGS(text, fmt);
  te_fail(te_parse_site(p, at), TN_ERROR_PARSE, "%s", text);
  return false;
}

void te_advance(te_parser *p) { p->token = te_next_token(&p->lexer); }

/* Skips newlines where a line may be continued, after a comma or an operator. Even there a semicolon ends
 * the statement. */
void te_skip_newlines(te_parser *p) {
  while (p->token.kind == TE_TOKEN_NEWLINE && *p->token.at == '\n') te_advance(p);
}

/* Whether a statement ends here: at a newline, a semicolon or the end of the text. */
static bool is_statement_end(const te_parser *p) {
  return p->token.kind == TE_TOKEN_NEWLINE || p->token.kind == TE_TOKEN_END;
}

/* Reports what was expected; a broken token was reported by the lexer already. Always false. */
bool te_fail_expected(te_parser *p, const char *expected) {
  const te_token *t = &p->token;
  int length = (int)RUNTIME_MIN(t->length, 40);
  if (t->kind == TE_TOKEN_BROKEN) return false; /* reported */
  if (t->kind == TE_TOKEN_END) return te_parse_fail(p, t->at, "expected %s, found the end of the text", expected);
  if (t->kind == TE_TOKEN_NEWLINE && *t->at == '\n')
    return te_parse_fail(p, t->at, "expected %s, found the end of the line", expected);
  return te_parse_fail(p, t->at, "expected %s, found '%.*s'", expected, length, t->at);
}

bool te_accept(te_parser *p, const char *symbol) {
  bool is_there = te_token_is(&p->token, symbol);
  if (is_there) te_advance(p);
  return is_there;
}

bool te_expect(te_parser *p, const char *symbol, const char *expected) {
  return te_accept(p, symbol) || te_fail_expected(p, expected);
}

const char *te_token_text(te_parser *p, const te_token *token) {
  const char *text = runtime_strndup(&p->lexer.site.ctx->arena, token->at, token->length);
  te_has_memory(&p->lexer.site, text);
  return text;
}

/* Copies the name, since the text need not outlive the parse. */
const char *te_take_name(te_parser *p, const char *what, const char **at) {
  if (p->token.kind != TE_TOKEN_NAME) return te_fail_expected(p, what), NULL;
  const char *name = te_token_text(p, &p->token);
  *at = p->token.at;
  te_advance(p);
  return name;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* Counted only on demand, for messages. */
int te_line_of(const te_parser *p, const char *at, const char **file) {
  const te_site *site = &p->lexer.site;
  int line = 1;
  *file = "";
  if (site->sources) *file = te_source_of_place(site->sources, at, &line)->path;
  if (site->sources) return line;
  for (const char *c = site->text; c < at; c++) line += *c == '\n';
  return line;
}

/* "line 3", or "line 3 of other.te" for a place in another file. */
typedef struct line_words {
  char text[300];
} line_words;

/* Describes the place AT for a message; the file is named if it is not the one of HERE. */
static line_words words_of_line(const te_parser *p, const char *at, const char *here) {
  line_words words;
  const char *file, *own;
  int line = te_line_of(p, at, &file);
  (void)te_line_of(p, here, &own);
  bool is_other = strcmp(file, own) != 0;
  snprintf(words.text, sizeof words.text, "line %d%s%.200s", line, is_other ? " of " : "", is_other ? file : "");
  return words;
}

/* The result is valid until the next tensor is added. */
te_named *te_find_named(te_parser *p, const char *name) {
  int i = te_names_find(&p->symbol_names, name);
  return i < 0 ? NULL : &p->symbols.data[i];
}

/* The name must be free (te_check_free). */
bool te_add_named(te_parser *p, te_named symbol) {
  if (p->symbols.n >= TE_MAX_TENSORS)
    return te_parse_fail(p, symbol.at, "the program has more than %d tensors", (int)TE_MAX_TENSORS);
  bool added = te_names_add(&p->symbol_names, symbol.tensor->name) && RUNTIME_PUSH(&p->symbols, symbol);
  return added || te_has_memory(&p->lexer.site, NULL);
}

const tn_param *te_find_param(te_parser *p, const char *name) {
  int i = te_names_find(&p->param_names, name);
  return i < 0 ? NULL : &p->params.data[i];
}

/* Adds a parameter; its name must be free. */
static bool add_param(te_parser *p, const char *at, tn_param param) {
  if (p->params.n >= runtime_limits(p->lexer.site.ctx)->params) {
    RUNTIME_FAIL_LIMIT(p->lexer.site.ctx, TN_ERROR_PARSE, params, "the program has more than %d parameters (%s)",
                       p->params.n, words_of_line(p, at, p->lexer.site.text).text);
    return false;
  }
  bool added = te_names_add(&p->param_names, param.name) && RUNTIME_PUSH(&p->params, param);
  return added || te_has_memory(&p->lexer.site, NULL);
}

/* A linear search: few symbols can count, as a program has at most TE_MAX_SYMBOLS. */
tn_axis *te_find_size(te_parser *p, const char *name) {
  for (int i = 0; i < p->sizes.n; i++)
    if (strcmp(p->sizes.data[i]->var.name, name) == 0) return p->sizes.data[i];
  return NULL;
}

const te_named_combiner *te_find_named_combiner(te_parser *p, const char *name) {
  for (int i = 0; i < p->combiners.n; i++)
    if (strcmp(p->combiners.data[i].combiner->combiner.name, name) == 0) return &p->combiners.data[i];
  return NULL;
}

/* A message says where the name was given before. A name that was only read so far is an inferred input,
 * which cannot be defined any more. */
bool te_check_free(te_parser *p, const char *what, const char *name, const char *at) {
  if (!te_check_name(te_parse_site(p, at), what, name)) return false;
  const te_named *symbol = te_find_named(p, name);
  if (te_find_param(p, name)) return te_parse_fail(p, at, "'%s' is already a parameter", name);
  if (te_find_size(p, name)) return te_parse_fail(p, at, "'%s' is already a symbol", name);
  if (te_find_named_combiner(p, name)) return te_parse_fail(p, at, "'%s' is already a combiner", name);
  if (!symbol) return true;
  line_words line = words_of_line(p, symbol->at, at);
  if (symbol->is_inferred && symbol->at > at)
    return te_parse_fail(p, symbol->at, "'%s' reads itself: a tensor is defined by others", name);
  if (symbol->is_inferred)
    return te_parse_fail(p, at, "'%s' is read in %s, before it is given here: move this up", name, line.text);
  return te_parse_fail(p, at, "'%s' is already given in %s", name, line.text);
}

/* ---- param ------------------------------------------------------------------------------------------------------- */

/* The parameters that the caller gave. */
typedef struct overrides {
  int n;
  const tn_param *params;
} overrides;

/* The value of a parameter: the last override of its name, or its own. */
static int64_t overridden(const overrides *o, const char *name, int64_t value) {
  for (int i = 0; i < o->n; i++)
    if (o->params[i].name && strcmp(o->params[i].name, name) == 0) value = o->params[i].value;
  return value;
}

/* `param M=64, N=2*M`: a value may use earlier parameters, with their overrides. */
static bool parse_param(te_parser *p, const overrides *o) {
  do {
    const char *at, *name = te_take_name(p, "a parameter's name", &at);
    int64_t value;
    if (!name || !te_check_free(p, "a parameter", name, at) ||
        !te_expect(p, "=", "'=' and a value, as in param N = 64 (an extent that calls decide is a symbol: symbol N)"))
      return false;
    if (!te_parse_integer(p, "a parameter", &value)) return false;
    if (!add_param(p, at, (tn_param){name, overridden(o, name, value)})) return false;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  return true;
}

/* An override without a name never matches. */
static bool is_overridden(const overrides *o, const char *name) {
  for (int i = 0; i < o->n; i++)
    if (o->params[i].name && strcmp(o->params[i].name, name) == 0) return true;
  return false;
}

/* Adds a symbol, or a parameter if the caller gave it a value. */
static bool add_size(te_parser *p, const overrides *o, const char *at, const char *name, int64_t least, int64_t most) {
  tn_axis *size = te_symbol_new(te_parse_site(p, at), name, least, most);
  if (!size || !is_overridden(o, name))
    return size && (RUNTIME_PUSH(&p->sizes, size) || te_has_memory(&p->lexer.site, NULL));
  tn_param param = {name, overridden(o, name, 0)};
  if (param.value >= least && param.value <= most) return add_param(p, at, param);
  return te_parse_fail(p, at, "symbol '%s' is in %lld .. %lld, and is given the value %lld", name, (long long)least,
                       (long long)most, (long long)param.value);
}

/* `symbol M, 3<=N, K<=64` */
static bool parse_symbol(te_parser *p, const overrides *o) {
  do {
    int64_t least = 1, most = TE_MAX_SYMBOL;
    bool has_least = p->token.kind != TE_TOKEN_NAME || te_find_param(p, te_token_text(p, &p->token));
    if (has_least && (!te_parse_integer(p, "a symbol's limit", &least) || !te_expect(p, "<=", "'<=' and the symbol")))
      return false;
    const char *at, *name = te_take_name(p, "a symbol's name", &at);
    if (!name || !te_check_free(p, "a symbol", name, at)) return false;
    if (te_token_is(&p->token, "<"))
      return te_parse_fail(p, p->token.at, "limits of a symbol are inclusive: write %s<= and the most it can be", name);
    if (te_accept(p, "<=") && !te_parse_integer(p, "a symbol's limit", &most)) return false;
    if (!add_size(p, o, at, name, least, most)) return false;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  return true;
}

/* Every override must belong to a parameter or symbol of the program. */
static bool check_overrides(te_parser *p, const overrides *o) {
  assert(p->params.n == 0 || p->params.data);
  for (int i = 0; i < o->n; i++) {
    const char *name = o->params[i].name;
    if (name && te_find_param(p, name)) continue;
    runtime_fail(p->lexer.site.ctx, TN_ERROR_ARGUMENT, "the program has no parameter '%s'%s%s", name ? name : "(null)",
                 p->params.n > 0 ? "; its first one is " : ": it has none; declare it, as in param N=64",
                 p->params.n > 0 ? p->params.data[0].name : "");
    return false;
  }
  return true;
}

/* ---- input and output -------------------------------------------------------------------------------------------- */

/* Reports an unknown dtype, with Tenon's name for one of another language or with the list of all. */
static bool fail_dtype(te_parser *p, const char *at, const char *name) {
  const char *other = te_other_spelling(name);
  tn_dtype dtype;
  if (other && tn_dtype_parse(other, &dtype)) return te_parse_fail(p, at, "unknown dtype '%s': write %s", name, other);
  char list[256] = "";
  for (int i = 0; i < TN_DTYPE_COUNT; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? " " : "", tn_dtype_name((tn_dtype)i));
  return te_parse_fail(p, at, "unknown dtype '%s': they are %s", name, list);
}

int te_parse_shape(te_parser *p, te_extent shape[TN_MAX_RANK]) {
  int n = 0;
  if (te_token_is(&p->token, "("))
    return te_parse_fail(p, p->token.at, "extents stand in brackets, as in f32[8, 4]"), -1;
  if (!te_accept(p, "[") || te_accept(p, "]")) return 0;
  do {
    const char *at = p->token.at;
    te_extent extent;
    if (!te_parse_extent(p, "an extent", &extent)) return -1;
    if (n == TN_MAX_RANK) return te_parse_fail(p, at, "a tensor has at most %d dimensions", (int)TN_MAX_RANK), -1;
    if (extent.most < 1 || extent.most > TE_MAX_EXTENT)
      return te_parse_fail(p, at, "extent %lld is not in 1 .. %d", (long long)extent.most, (int)TE_MAX_EXTENT), -1;
    shape[n++] = extent;
  } while (te_accept(p, ","));
  return te_expect(p, "]", "',' or ']'") ? n : -1;
}

/* A failure names the dtypes there are, or Tenon's name for another language's. */
bool te_take_dtype(te_parser *p, tn_dtype *dtype) {
  const char *at, *name = te_take_name(p, "a dtype", &at);
  return name && (tn_dtype_parse(name, dtype) || fail_dtype(p, at, name));
}

bool te_parse_typed_name(te_parser *p, const char *what, const char **name, const char **at, tn_dtype *dtype) {
  *name = te_take_name(p, what, at);
  if (!*name || !te_check_free(p, "a tensor", *name, *at) || !te_expect(p, ":", "':' and a dtype, as in A: f32[8]"))
    return false;
  return te_take_dtype(p, dtype);
}

/* `scalar alpha: f32, n: i32` */
static bool parse_scalar(te_parser *p) {
  do {
    const char *at, *name;
    tn_dtype dtype;
    if (!te_parse_typed_name(p, "a scalar's name", &name, &at, &dtype)) return false;
    if (te_token_is(&p->token, "["))
      return te_parse_fail(p, p->token.at, "a scalar has no extents: it is passed by value; a tensor is an input");
    tn_tensor *scalar = te_scalar(te_parse_site(p, at), name, dtype);
    if (!scalar || !te_add_named(p, (te_named){scalar, at, false, false})) return false;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  return true;
}

/* name: dtype[extents] */
static bool parse_one_input(te_parser *p) {
  const char *at, *name;
  tn_dtype dtype;
  te_extent shape[TN_MAX_RANK];
  if (!te_parse_typed_name(p, "an input's name", &name, &at, &dtype)) return false;
  int rank = te_parse_shape(p, shape);
  tn_tensor *input = rank >= 0 ? te_input(te_parse_site(p, at), name, dtype, rank, shape) : NULL;
  if (input) input->is_layout_free = te_accept(p, "layout_free");
  if (input && te_accept(p, "strided") && !te_make_strided(te_parse_site(p, at), input)) return false;
  return input && te_add_named(p, (te_named){input, at, false, false});
}

/* `input A: f32[64, 128], ...` */
static bool parse_input(te_parser *p) {
  do {
    if (!parse_one_input(p)) return false;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  return true;
}

/* Extents after a dtype that must be numbers, as WHAT ("a state") needs. Returns the rank; -1: failed. */
static int parse_numbers(te_parser *p, const char *what, int64_t shape[TN_MAX_RANK]) {
  const char *at = p->token.at;
  te_extent extents[TN_MAX_RANK];
  int rank = te_parse_shape(p, extents);
  for (int d = 0; d < rank; d++) {
    if (extents[d].size) return te_parse_fail(p, at, "%s's extents are numbers: give symbols a value", what), -1;
    shape[d] = extents[d].most;
  }
  return rank;
}

/* `state name: dtype[extents], name: dtype[extents]`: the states of one scan, which have one shape. */
static bool parse_state(te_parser *p) {
  const char *names[TIR_MAX_VALUES], *at[TIR_MAX_VALUES];
  tn_dtype dtypes[TIR_MAX_VALUES];
  int64_t shape[TN_MAX_RANK], other[TN_MAX_RANK];
  int n = 0, rank = 0;
  do {
    if (n == TIR_MAX_VALUES) return te_parse_fail(p, p->token.at, "a scan has at most %d states", (int)TIR_MAX_VALUES);
    if (!te_parse_typed_name(p, "a state's name", &names[n], &at[n], &dtypes[n])) return false;
    for (int k = 0; k < n; k++)
      if (strcmp(names[k], names[n]) == 0) return te_parse_fail(p, at[n], "'%s' names two states", names[n]);
    const char *shape_at = p->token.at;
    int this_rank = parse_numbers(p, "a state", n == 0 ? shape : other);
    if (this_rank < 0) return false;
    if (n == 0) rank = this_rank;
    if (n > 0 && (this_rank != rank || memcmp(shape, other, sizeof *shape * (size_t)rank) != 0))
      return te_parse_fail(p, shape_at, "the states of one scan have one shape: '%s' has another than '%s'", names[n],
                           names[0]);
    n++;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  tn_tensor *first = te_state(te_parse_site(p, at[0]), n, names, dtypes, rank, shape);
  for (int v = 0; first && v < n; v++)
    if (!te_add_named(p, (te_named){&first->op->outputs[v], at[v], false, false})) return false;
  return first != NULL;
}

/* Whether a symbol can be an output; an input is an argument anyway. */
static bool is_computed(const te_named *symbol) { return symbol && !te_is_placeholder(symbol->tensor->op); }

/* `output name strided, name`: the results, in this order. */
static bool parse_output(te_parser *p) {
  do {
    const char *at, *name = te_take_name(p, "an output's name", &at);
    const te_named *symbol = name ? te_find_named(p, name) : NULL;
    if (!name) return false;
    if (!is_computed(symbol))
      return te_parse_fail(
          p, at, "'%s' is no tensor defined before this statement: output takes names of definitions above it", name);
    if (!RUNTIME_PUSH(&p->outputs, symbol->tensor)) return te_has_memory(&p->lexer.site, NULL);
    if (te_accept(p, "strided") && !te_make_strided(te_parse_site(p, at), symbol->tensor)) return false;
  } while (te_accept(p, ",") && (te_skip_newlines(p), true));
  return true;
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* A definition whose reads are being checked. */
typedef struct definition {
  te_parser *p;
  const char *name;
} definition;

/* Where a read stands in the text. */
static const char *place_of(const te_parser *p, const tir_expr *read) {
  for (int i = 0; i < p->reads.n; i++)
    if (p->reads.data[i].read == read) return p->reads.data[i].at;
  return p->lexer.site.at;
}

/* Reports that an index has no known upper bound. */
static bool fail_unknown_shape(const definition *def, const char *at, const tn_tensor *tensor, int d) {
  return te_parse_fail(def->p, at,
                       "the shape of '%s' cannot be found from index %d here: declare it, input %s: f32[...]",
                       tensor->name, d, tensor->name);
}

/* Grows dimension d of an inferred input to an extent made of symbols: what the first read needs, or later
 * more than that by a constant. */
static bool cover_symbolic(const definition *def, const char *at, const te_access *access, int d) {
  tn_tensor *tensor = access->read->u.tensor;
  te_extent needed;
  int64_t more = 1;
  bool is_first = tensor->shape[d] == 1 && !tensor->size[d];
  if (access->is_guarded || !access->end[d] || access->range[d].lo < 0) return fail_unknown_shape(def, at, tensor, d);
  if (!is_first && (!tensor->size[d] || !te_size_difference(access->end[d], tensor->size[d], &more)))
    return fail_unknown_shape(def, at, tensor, d);
  tn_expr end = {.ctx = tensor->ctx, .node = access->end[d]};
  if (!te_extent_of(te_parse_site(def->p, at), "the extent of an input", tn_arg_expr(&end), &needed)) return false;
  if (more <= 0) return true;
  tensor->shape[d] = needed.most;
  tensor->size[d] = needed.size;
  return true;
}

/* Grows dimension d of an inferred input to cover a read. */
static bool cover(const definition *def, const char *at, const te_access *access, int d) {
  tn_tensor *tensor = access->read->u.tensor;
  tir_interval range = access->range[d];
  if (access->is_symbolic[d]) return cover_symbolic(def, at, access, d);
  if (tensor->size[d]) return access->is_below[d] || fail_unknown_shape(def, at, tensor, d);
  if (range.lo > range.hi) return true;
  if (access->is_guarded && range.hi >= 0) range.lo = RUNTIME_MAX(range.lo, 0);
  if (range.hi >= TE_MAX_EXTENT) return fail_unknown_shape(def, at, tensor, d);
  if (range.lo < 0)
    return te_parse_fail(def->p, at, "'%s' reads '%s' below 0: index %d spans [%lld, %lld]; guard the read by select",
                         def->name, tensor->name, d, (long long)range.lo, (long long)range.hi);
  tensor->shape[d] = RUNTIME_MAX(tensor->shape[d], range.hi + 1);
  return true;
}

/* A read of an inferred input makes it larger; any other read must be in bounds. */
static bool visit_access(void *user, const te_access *access) {
  const definition *def = user;
  const tn_tensor *tensor = access->read->u.tensor;
  const char *at = place_of(def->p, access->read);
  const te_named *named = te_find_named(def->p, tensor->name); /* NULL: a reduction taken out of an expression */
  if (!named || named->tensor != tensor || !named->is_inferred)
    return te_check_access(te_parse_site(def->p, at), def->name, access);
  for (int d = 0; d < tensor->ndim; d++)
    if (!cover(def, at, access, d)) return false;
  return true;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

/* Names of axes are free again after the statement, but must differ within it. */
static bool check_new_axis(te_parser *p, const char *name, const char *at) {
  for (int i = 0; i < p->n_axes; i++)
    if (strcmp(p->axes[i]->var.name, name) == 0)
      return te_parse_fail(p, at, "this statement already has an axis '%s': give this one another name", name);
  if (te_find_size(p, name)) return te_parse_fail(p, at, "'%s' is a symbol: give the axis another name", name);
  return true;
}

/* `name<extent` */
static bool parse_axis(te_parser *p, bool is_reduce) {
  const char *at, *name = te_take_name(p, "an axis, as in i<10", &at), *extent_at;
  te_extent extent;
  if (p->n_axes == RUNTIME_COUNT(p->axes)) return te_parse_fail(p, p->token.at, "too many axes");
  if (!name || !check_new_axis(p, name, at) || !te_expect(p, "<", "'<' and the axis' extent, as in i<8")) return false;
  extent_at = p->token.at;
  if (!te_parse_extent(p, "an extent", &extent)) return false;
  bool is_name_wrong = te_is_reserved(name);
  tn_axis *axis = te_axis(te_parse_site(p, is_name_wrong ? at : extent_at), name, extent, is_reduce);
  if (axis) p->axes[p->n_axes++] = axis;
  return axis != NULL;
}

/* Extents are parsed in the outer scope, so that k<i is refused because i is no constant. */
int te_parse_axes(te_parser *p, bool is_reduce, int limit) {
  int n = 0;
  te_advance(p);
  if (te_accept(p, "]")) return 0;
  do {
    if (n == limit) return te_parse_fail(p, p->token.at, "more than %d axes", limit), -1;
    if (!parse_axis(p, is_reduce)) return -1;
    n++;
  } while (te_accept(p, ","));
  p->has_open_axes = is_reduce && p->token.kind == TE_TOKEN_NAME; /* where or init: the caller's */
  if (p->has_open_axes) return n;
  return te_expect(p, "]", is_reduce ? "',', where, init or ']'" : "',' or ']'") ? n : -1;
}

/* The names of a definition and where they stand. */
typedef struct heading {
  int n;
  const char *name[TIR_MAX_VALUES], *at[TIR_MAX_VALUES];
} heading;

/* No name may be taken, not even by a read in the definition itself. */
static bool check_heading(te_parser *p, const heading *h) {
  for (int v = 0; v < h->n; v++) {
    if (!te_check_free(p, "a tensor", h->name[v], h->at[v])) return false;
    for (int k = 0; k < v; k++)
      if (strcmp(h->name[k], h->name[v]) == 0)
        return te_parse_fail(p, h->at[v], "'%s' names two values of this definition", h->name[v]);
  }
  return true;
}

/* Whether the names are exactly the states of one state statement, in order. */
static bool check_states(te_parser *p, const heading *h) {
  const te_named *first = te_find_named(p, h->name[0]);
  if (!first || first->tensor->op->kind != TE_SCAN)
    return te_parse_fail(p, h->at[0], "'%s' is no state: declare it above, as in state %s: f32[8, 4]", h->name[0],
                         h->name[0]);
  const te_op *op = first->tensor->op;
  for (int v = 0; v < RUNTIME_MAX(h->n, op->n_outputs); v++) {
    if (v < h->n && v < op->n_outputs && strcmp(h->name[v], op->outputs[v].name) == 0) continue;
    if (v < op->n_outputs)
      return te_parse_fail(p, h->at[RUNTIME_MIN(v, h->n - 1)],
                           "the scan of '%s' defines all states of its statement: "
                           "'%s' is number %d of them",
                           op->name, op->outputs[v].name, v + 1);
    return te_parse_fail(p, h->at[v], "'%s' was not declared together with '%s'", h->name[v], op->name);
  }
  return true;
}

/* `name`, or `(name, name)` */
static bool parse_heading(te_parser *p, heading *h, bool is_scan) {
  bool is_tuple = te_accept(p, "(");
  h->n = 0;
  do {
    if (h->n == TIR_MAX_VALUES)
      return te_parse_fail(p, p->token.at, "a definition has at most %d values", (int)TIR_MAX_VALUES);
    h->name[h->n] = te_take_name(
        p, is_tuple ? "a tensor's name" : "a statement: a definition, param, input, scalar, symbol, output or combiner",
        &h->at[h->n]);
    if (!h->name[h->n++]) return false;
  } while (is_tuple && te_accept(p, ","));
  if (is_tuple && !te_expect(p, ")", "',' or ')'")) return false;
  return is_scan ? check_states(p, h) : check_heading(p, h);
}

/* An expression or, with several names, also `(expression, expression)`. kind TN_ARG_NONE: failed. */
static te_operand parse_body(te_parser *p, const heading *h) {
  te_operand list[TIR_MAX_VALUES], body = {.at = p->token.at};
  tn_arg values[TIR_MAX_VALUES];
  if (h->n == 1 || !te_token_is(&p->token, "(")) return te_parse_expr(p, 0);
  int n = te_parse_values(p, list);
  for (int v = 0; v < n; v++) values[v] = list[v].value;
  for (int v = 0; v < n; v++)
    if (!te_check_not_reduction(te_parse_site(p, list[v].at), list[v].value)) return body;
  tn_expr *tuple = n > 0 ? te_tuple(te_parse_site(p, body.at), n, values) : NULL;
  if (tuple) body.value = tn_arg_expr(tuple);
  return body;
}

/* Adds the tensors that reductions inside OP's expression became, producers first. */
static bool add_lifted(te_parser *p, const te_op *op, const char *at) {
  for (int i = 0; i < op->n_inputs; i++) {
    tn_tensor *tensor = op->inputs[i];
    const te_named *named = te_find_named(p, tensor->name);
    if (named && named->tensor == tensor) continue;
    if (named)
      return te_parse_fail(p, at,
                           "'%s' is already defined, but a reduction inside this expression would have that name: "
                           "give it a tensor of its own and read that",
                           tensor->name);
    if (!add_lifted(p, tensor->op, at) || !te_add_named(p, (te_named){tensor, at, false, true})) return false;
  }
  return true;
}

/* A state that only its own steps read can still be an output. */
static bool define_states(te_parser *p, const heading *h, tn_arg body, int rank, definition *def) {
  te_op *state = te_find_named(p, h->name[0])->tensor->op;
  if (!te_scan(te_parse_site(p, h->at[0]), state, body, rank, p->axes, visit_access, def) ||
      !add_lifted(p, state, h->at[0]))
    return false;
  for (int v = 0; v < h->n; v++) te_find_named(p, h->name[v])->is_read = false;
  return true;
}

/* Reports text after an expression, with advice if other languages write it so. */
static bool fail_rest(te_parser *p) {
  static const struct {
    const char *found, *advice;
  } rows[] = {{"and", "&& for and"},
              {"or", "|| for or"},
              {"if", "select(condition, x, y)"},
              {"[", "all indices in one pair of brackets, as in A[i, j]"},
              {"=", "== to compare"},
              {":", "a slice as an axis, as in A[i + 2]"}};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++)
    if (te_token_is(&p->token, rows[i].found))
      return te_parse_fail(p, p->token.at, "expected an operator or the end of the statement, found '%s': write %s",
                           rows[i].found, rows[i].advice);
  return te_fail_expected(p, "an operator or the end of the statement");
}

/* `name[axes] = expression`, `(name, name)[axes] = (expression, expression)`; the same after `scan`. */
static bool parse_definition(te_parser *p, bool is_scan) {
  heading h;
  p->n_axes = p->reads.n = 0;
  if (!parse_heading(p, &h, is_scan)) return false;
  int rank = te_token_is(&p->token, "[") ? te_parse_axes(p, false, TN_MAX_RANK) : 0;
  if (rank < 0 || !te_expect(p, "=",
                             rank > 0 ? "'=' (sums are reductions, as in sum[k<8](A[i,k]))"
                                      : "'=' or '[', as in C[i<8] = A[i] (other statements begin with input, output, "
                                        "param, scalar, symbol, combiner, "
                                        "state, scan or extern)"))
    return false;
  te_skip_newlines(p);
  te_operand body = parse_body(p, &h);
  if (body.value.kind == TN_ARG_NONE) return false;
  if (!is_statement_end(p)) return fail_rest(p);
  definition def = {p, h.name[0]};
  if (is_scan) return define_states(p, &h, body.value, rank, &def);
  if (!check_heading(p, &h)) return false;
  tn_tensor *first = te_compute(te_parse_site(p, h.at[0]), h.n, h.name, body.value, rank, p->axes, visit_access, &def);
  if (!first || !add_lifted(p, first->op, h.at[0])) return false;
  for (int v = 0; v < h.n; v++)
    if (!te_add_named(p, (te_named){&first->op->outputs[v], h.at[v], false, false})) return false;
  return true;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The first word decides. What is no word of a statement begins a definition. */
static bool parse_statement(te_parser *p, const overrides *o) {
  bool ok;
  te_block_kind block = te_block_here(p);
  if (block != TE_NO_BLOCK)
    ok = te_parse_block(p, block);
  else if (te_accept(p, "param"))
    ok = parse_param(p, o);
  else if (te_accept(p, "input"))
    ok = parse_input(p);
  else if (te_accept(p, "scalar"))
    ok = parse_scalar(p);
  else if (te_accept(p, "symbol"))
    ok = parse_symbol(p, o);
  else if (te_accept(p, "output"))
    ok = parse_output(p);
  else if (te_accept(p, "combiner"))
    ok = te_parse_combiner(p);
  else if (te_accept(p, "state"))
    ok = parse_state(p);
  else if (te_accept(p, "scan"))
    ok = parse_definition(p, true);
  else if (te_accept(p, "extern"))
    ok = te_parse_extern(p);
  else
    ok = parse_definition(p, false);
  return ok && (is_statement_end(p) || te_fail_expected(p, "',' or the end of the statement"));
}

/* Stops at the first failure, since later ones might only follow from it. */
static bool parse_statements(te_parser *p, const overrides *o) {
  for (te_advance(p); p->token.kind != TE_TOKEN_END;) {
    if (p->token.kind == TE_TOKEN_BROKEN) return false;
    if (p->token.kind == TE_TOKEN_NEWLINE)
      te_advance(p);
    else if (!parse_statement(p, o))
      return false;
  }
  return true;
}

/* Without an output statement, the outputs are the tensors that nothing reads, in order of definition. */
static bool find_outputs(te_parser *p) {
  for (int i = 0; i < p->symbols.n; i++) {
    const te_named *s = &p->symbols.data[i];
    if (is_computed(s) && !s->is_read && !RUNTIME_PUSH(&p->outputs, s->tensor))
      return te_has_memory(&p->lexer.site, NULL);
  }
  return true;
}

static te_named *symbol_of(te_parser *p, const tn_tensor *tensor) { return te_find_named(p, tensor->name); }

/* Marks a tensor as read; returns whether it was not yet. */
static bool mark(te_parser *p, const tn_tensor *tensor) {
  te_named *symbol = symbol_of(p, tensor);
  bool was_read = symbol->is_read;
  symbol->is_read = true;
  return !was_read;
}

/* From here on is_read means that an output needs the tensor. Going backwards, readers come before what
 * they read, except in a scan, whose states are older than its steps; those take another round. */
static void mark_needed(te_parser *p) {
  bool goes_on = true;
  for (int i = 0; i < p->symbols.n; i++) p->symbols.data[i].is_read = false;
  for (int i = 0; i < p->outputs.n; i++) mark(p, p->outputs.data[i]);
  while (goes_on) {
    goes_on = false;
    for (int i = p->symbols.n; i-- > 0;) {
      const te_op *op = p->symbols.data[i].tensor->op;
      if (!p->symbols.data[i].is_read) continue;
      for (int j = 0; j < op->n_inputs; j++) goes_on |= mark(p, op->inputs[j]) && op->kind == TE_SCAN;
      for (int v = 0; v < op->n_outputs && !te_is_hidden(&op->outputs[v]); v++) mark(p, &op->outputs[v]);
    }
  }
}

/* Checked at the end, when the shapes of inferred inputs are known. */
static bool check_shapes(te_parser *p) {
  for (int i = 0; i < p->symbols.n; i++) {
    const te_named *s = &p->symbols.data[i];
    const tn_tensor *t = s->tensor;
    if (s->is_inferred && !te_check_shape(te_parse_site(p, s->at), t)) return false;
  }
  return true;
}

/* Declared inputs and, with an output statement, definitions must be needed by some output. */
static bool check_needed(te_parser *p, bool has_output_statement) {
  for (int i = 0; i < p->symbols.n; i++) {
    const te_named *s = &p->symbols.data[i];
    bool must = !s->is_inferred && (has_output_statement || !is_computed(s));
    if (must && !s->is_read) return te_parse_fail(p, s->at, "'%s' is not needed by any output", s->tensor->name);
  }
  return true;
}

/* Orders the arguments: declared inputs, inferred ones, then outputs. */
static tn_program *make_program(te_parser *p) {
  tn_tensor **args = RUNTIME_NEW_ARRAY(&p->lexer.site.ctx->arena, tn_tensor *, p->symbols.n + p->outputs.n + 1);
  int n = 0;
  if (!te_has_memory(&p->lexer.site, args)) return NULL;
  for (int inferred = 0; inferred < 2; inferred++)
    for (int i = 0; i < p->symbols.n; i++) {
      const te_named *s = &p->symbols.data[i];
      if (!is_computed(s) && s->is_read && s->is_inferred == (inferred == 1)) args[n++] = s->tensor;
    }
  int n_inputs = n;
  for (int i = 0; i < p->outputs.n; i++) args[n++] = p->outputs.data[i];
  return te_program(te_parse_site(p, p->token.at), n_inputs, n, args);
}

/* Checks what is known only at the end; missing outputs are reported before unused definitions. */
static tn_program *finish(te_parser *p, const overrides *o) {
  bool has_output_statement = p->outputs.n > 0;
  if (!check_overrides(p, o) || !check_shapes(p) || (!has_output_statement && !find_outputs(p))) return NULL;
  if (p->outputs.n == 0) return te_parse_fail(p, p->token.at, "the program defines no tensor"), NULL;
  mark_needed(p);
  return check_needed(p, has_output_statement) ? make_program(p) : NULL;
}

/* Copies what blocks declared into the program's arena. */
static tn_program *add_blocks(te_parser *p, tn_program *program) {
  runtime_arena *arena = &p->lexer.site.ctx->arena;
  if (!program) return NULL;
  program->n_intrins = p->intrins.n;
  program->intrins = runtime_copy(arena, p->intrins.data, sizeof *p->intrins.data * (size_t)p->intrins.n);
  program->n_blocks = p->blocks.n;
  program->blocks = runtime_copy(arena, p->blocks.data, sizeof *p->blocks.data * (size_t)p->blocks.n);
  program->n_links = p->links.n;
  program->links = runtime_copy(arena, p->links.data, sizeof *p->links.data * (size_t)p->links.n);
  bool ok = (!program->n_intrins || program->intrins) && (!program->n_blocks || program->blocks) &&
            (!program->n_links || program->links);
  return te_has_memory(&p->lexer.site, ok ? program : NULL) ? program : NULL;
}

/* Overrides are checked at the end, when every `param` has been seen. */
static tn_program *parse(te_site site, int n_params, const tn_param *params) {
  te_parser p = {.lexer = {.site = site, .next = site.text}};
  overrides o = {n_params, params};
  tn_program *program = parse_statements(&p, &o) ? add_blocks(&p, finish(&p, &o)) : NULL;
  te_names_free(&p.symbol_names);
  te_names_free(&p.param_names);
  RUNTIME_VEC_FREE(&p.symbols);
  RUNTIME_VEC_FREE(&p.params);
  RUNTIME_VEC_FREE(&p.sizes);
  RUNTIME_VEC_FREE(&p.reads);
  RUNTIME_VEC_FREE(&p.outputs);
  RUNTIME_VEC_FREE(&p.combiners);
  RUNTIME_VEC_FREE(&p.intrins);
  RUNTIME_VEC_FREE(&p.blocks);
  RUNTIME_VEC_FREE(&p.links);
  return program;
}

/* The text need not outlive the call. */
tn_program *tn_program_parse(tn_context *ctx, const char *text, int n_params, const tn_param *params) {
  if (!ctx || !RUNTIME_GIVEN(ctx, text) || (n_params > 0 && !RUNTIME_GIVEN(ctx, params))) return NULL;
  if (!runtime_check_text(ctx, "the program", text)) return NULL;
  return parse((te_site){.ctx = ctx, .text = text, .at = text}, n_params, params);
}

tn_program *te_parse_part(const te_site *site, const char *part) {
  int line;
  const char *file = site->sources ? te_source_of_place(site->sources, site->at, &line)->path : NULL;
  if (!runtime_check_text(site->ctx, "the program", part)) return NULL;
  return parse((te_site){.ctx = site->ctx, .text = part, .at = part, .file = file}, 0, NULL);
}

/* The files' texts live until the parse is over. */
tn_program *tn_program_parse_file(tn_context *ctx, const char *path, int n_params, const tn_param *params) {
  if (!ctx || !RUNTIME_GIVEN(ctx, path) || (n_params > 0 && !RUNTIME_GIVEN(ctx, params))) return NULL;
  te_sources sources;
  tn_program *program = NULL;
  if (te_read_sources(ctx, &sources, path)) {
    const char *text = sources.text.data;
    program = parse((te_site){.ctx = ctx, .text = text, .at = text, .sources = &sources}, n_params, params);
  }
  te_free_sources(&sources);
  return program;
}
