/* parse_combiner.c: the statement that defines how tuples are combined: `combiner name(a: f32, b: f32; c,
 * d) = (results over a b c d), identity (constants)`. */
#include "te/parser.h"

/* The names of both sides, left ones first, and the dtypes of the values. */
typedef struct sides {
  int n;
  const char *name[2 * TIR_MAX_VALUES];
  tn_dtype dtype[TIR_MAX_VALUES];
} sides;

/* Takes a name that differs from the N_NAMES before it. */
static bool take_side(te_parser *p, sides *s, int n_names) {
  const char *at, *name = te_take_name(p, "the name of a value", &at);
  if (!name || !te_check_name(te_parse_site(p, at), "a value of a combiner", name)) return false;
  for (int i = 0; i < n_names; i++)
    if (strcmp(s->name[i], name) == 0) return te_parse_fail(p, at, "'%s' names two values of this combiner", name);
  s->name[n_names] = name;
  return true;
}

/* `a: f32, b: f32` */
static bool parse_left(te_parser *p, sides *s) {
  do {
    if (s->n == TIR_MAX_VALUES)
      return te_parse_fail(p, p->token.at, "a combiner has at most %d values", (int)TIR_MAX_VALUES);
    if (!take_side(p, s, s->n) || !te_expect(p, ":", "':' and a dtype") || !te_take_dtype(p, &s->dtype[s->n]))
      return false;
    s->n++;
  } while (te_accept(p, ","));
  return true;
}

/* `; c, d`: as many names. Inside parentheses a semicolon does not end the statement. */
static bool parse_right(te_parser *p, sides *s) {
  if (p->token.kind != TE_TOKEN_NEWLINE) return te_fail_expected(p, "',' or ';' and the names of the right side");
  te_advance(p);
  for (int v = 0; v < s->n; v++) {
    if (v > 0 && !te_expect(p, ",", "','")) return false;
    if (!take_side(p, s, s->n + v)) return false;
  }
  return te_expect(p, ")", "')': both sides have as many values");
}

/* Parses a list of values and passes it to GIVE. */
static bool parse_list_for(te_parser *p, tn_combiner *c,
                           bool (*give)(const te_site *, tn_combiner *, int, const tn_arg *)) {
  te_operand list[TIR_MAX_VALUES];
  tn_arg values[TIR_MAX_VALUES];
  int n = te_parse_values(p, list);
  for (int v = 0; v < n; v++) values[v] = list[v].value;
  return n > 0 && give(te_parse_site(p, list[0].at), c, n, values);
}

/* Results are parsed with the names of both sides in scope (p->defining), the identity without. */
static bool parse_parts(te_parser *p, tn_combiner *c) {
  if (!te_expect(p, "=", "'='")) return false;
  te_skip_newlines(p);
  p->defining = c;
  bool ok = parse_list_for(p, c, te_combiner_results);
  p->defining = NULL;
  if (!ok || !te_expect(p, ",", "',' and identity (...)")) return false;
  te_skip_newlines(p);
  return te_expect(p, "identity", "identity (...)") && parse_list_for(p, c, te_combiner_identity);
}

/* The combiner is known to all statements after it. */
bool te_parse_combiner(te_parser *p) {
  sides s = {0};
  const char *at, *name = te_take_name(p, "a combiner's name", &at);
  p->n_axes = p->reads.n = 0;
  if (!name || !te_check_free(p, "a combiner", name, at) || !te_expect(p, "(", "'('")) return false;
  if (!parse_left(p, &s) || !parse_right(p, &s)) return false;
  tn_combiner *c = te_combiner(te_parse_site(p, at), name, s.n, s.dtype, s.name);
  if (!c || !parse_parts(p, c)) return false;
  return RUNTIME_PUSH(&p->combiners, ((te_named_combiner){c, at})) || te_has_memory(&p->lexer.site, NULL);
}
