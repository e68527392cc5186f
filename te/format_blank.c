/* format_blank.c: where tn_format puts blanks between two tokens of a line. It looks at the tokens only,
 * never at the blanks in the text. */
#include "te/format.h"
#include "te/language.h"

static bool is_word(const format_text *f, int i, const char *word) {
  return i >= 0 && te_format_is(&f->pieces.data[i], word);
}

/* Whether the bracket around piece P is C: `(`, `[` or `{`. */
static bool is_inside(const format_text *f, const format_piece *p, char c) {
  return p->open >= 0 && *f->pieces.data[p->open].at == c;
}

/* Whether piece I is the `<` of an axis such as i<64: it follows the first word of an element in brackets. */
static bool is_of_axis(const format_text *f, int i) {
  const format_piece *p = &f->pieces.data[i];
  int name = te_format_before(f, i), before = name < 0 ? -1 : te_format_before(f, name);
  if (!te_format_is(p, "<") || !is_inside(f, p, '[') || before < 0) return false;
  return before == p->open || (is_word(f, before, ",") && f->pieces.data[before].open == p->open);
}

static bool is_close(const format_text *f, int i);

/* A sum of two names next to an operator that stands close, as in (N-1)*2. */
static bool is_small_factor(const format_text *f, const format_piece *p) {
  const format_group *g = &f->groups.data[p->group];
  if (!is_inside(f, p, '(') || g->n_sums != 1 || g->n_products > 0 || g->n_brackets > 0) return false;
  if (f->pieces.data[p->open].n_tokens != 3) return false;
  int before = te_format_before(f, p->open), behind = te_format_behind(f, f->pieces.data[p->open].mate);
  if (before >= 0 && f->pieces.data[before].is_binary && is_close(f, before)) return true;
  return behind >= 0 && f->pieces.data[behind].is_binary && is_close(f, behind);
}

/* Whether the binary operator I has no blanks: products beside sums, and everything beside comparisons and
 * in indices. */
static bool is_close(const format_text *f, int i) {
  const format_piece *p = &f->pieces.data[i];
  const format_group *g = &f->groups.data[p->group];
  int level = te_find_infix_text(p->at, (size_t)p->length)->precedence;
  if (level == te_find_infix(TIR_LT)->precedence)
    return is_of_axis(f, i) || is_word(f, f->pieces.data[i].statement, "symbol");
  if (level < te_find_infix(TIR_LT)->precedence) return false;
  if (g->n_comparisons > 0 || (p->open >= 0 && f->pieces.data[p->open].is_index)) return true;
  if (te_find_infix_text(p->at, (size_t)p->length)->is_tight) return g->n_sums > 0;
  return is_small_factor(f, p);
}

/* Whether a bracket holds indices that are a name or number each, as in A[i,k]. Shapes and strides are not indices. */
static bool is_plain_index(const format_text *f, int open) {
  const format_piece *p = &f->pieces.data[open];
  int name = te_format_before(f, open), before = name < 0 ? -1 : te_format_before(f, name);
  if (*p->at != '[' || p->is_schedule || p->n_tokens != 2 * p->n_commas + 1) return false;
  return !is_word(f, before, ":") && !is_word(f, before, "strides");
}

/* Whether a blank precedes a bracket that follows a word. In a call or an index it does not; after a
 * statement's word it does. */
static bool has_blank_before_bracket(const format_text *f, int a, int b) {
  static const char *const words[] = {"where", "init", "identity"};
  const format_piece *p = &f->pieces.data[a];
  if (p->kind != FORMAT_WORD || p->is_schedule) return false;
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (te_format_is(p, words[i])) return true;
  if (te_format_is(&f->pieces.data[b], "[")) return is_word(f, te_format_before(f, a), "strides");
  return p->statement == a && (te_format_is(p, "extern") || te_format_is(p, "scan"));
}

/* Whether a sign stands before its only operand. */
static bool is_prefix(const format_piece *p) {
  return p->kind == FORMAT_SYMBOL && !p->is_binary && strchr("-!~*+", *p->at) && !te_format_is(p, "->");
}

static bool has_blank_at_equals(const format_text *f, const format_piece *p) {
  return !p->is_schedule || !is_inside(f, p, '(');
}

/* Whether two adjacent tokens would be read as one: `<` and `=`, or `1e` and `+`. */
static bool would_join(const format_piece *left, const format_piece *right) {
  char last = left->at[left->length - 1];
  if (right->kind != FORMAT_SYMBOL) return left->kind == FORMAT_WORD && right->kind == FORMAT_WORD;
  if (left->kind == FORMAT_WORD) return (last == 'e' || last == 'E') && (*right->at == '+' || *right->at == '-');
  return left->kind == FORMAT_SYMBOL && left->length == 1 && strchr("<>=!/&|-", last) && strchr("<>=/&|", *right->at);
}

/* Whether a blank belongs between the neighbours A and B. The order of the tests is the rule: brackets and
 * commas first, then operators by how tightly they bind; all others stand apart. */
static bool stand_apart(const format_text *f, int a, int b) {
  const format_piece *left = &f->pieces.data[a], *right = &f->pieces.data[b];
  bool is_open = te_format_is(right, "(") || te_format_is(right, "[");
  if (te_format_is(right, ",") || te_format_is(right, ")") || te_format_is(right, "]") || te_format_is(right, ":"))
    return false;
  if (te_format_is(left, "(") || te_format_is(left, "[")) return false;
  if (te_format_is(left, ",")) return left->open < 0 || !is_plain_index(f, left->open);
  if (te_format_is(left, "=")) return has_blank_at_equals(f, left);
  if (te_format_is(right, "=")) return has_blank_at_equals(f, right);
  if (left->is_binary) return !is_close(f, a);
  if (right->is_binary) return !is_close(f, b);
  if (is_prefix(left)) return false;
  if (is_open && (left->kind == FORMAT_WORD || te_format_is(left, "]") || te_format_is(left, ")")))
    return has_blank_before_bracket(f, a, b);
  return true;
}

bool te_format_has_blank(const format_text *f, int a, int b) {
  return stand_apart(f, a, b) || would_join(&f->pieces.data[a], &f->pieces.data[b]);
}
