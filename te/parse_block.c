/* parse_block.c: statements that contain a text of their own or name a file: intrin, schedule, include,
 * link. Their first words are not reserved: a tensor may have such a name. */
#include <ctype.h>
#include <stdio.h>

#include "te/intrin.h"
#include "te/parser.h"
#include "te/source.h"

/* ---- telling them ------------------------------------------------------------------------------------------------ */

te_block_kind te_block_here(const te_parser *p) {
  const char *behind = p->lexer.next + strspn(p->lexer.next, " \t");
  if (te_token_is(&p->token, "intrin") && (isalpha((unsigned char)*behind) || *behind == '_')) return TE_INTRIN;
  if (te_token_is(&p->token, "schedule") && *behind == '{') return TE_SCHEDULE;
  if (te_token_is(&p->token, "include") && *behind == '"') return TE_INCLUDE;
  if (te_token_is(&p->token, "link") && *behind == '"') return TE_LINK;
  return TE_NO_BLOCK;
}

/* ---- braces ------------------------------------------------------------------------------------------------------ */

/* The brace that closes the one before AT, skipping comments and strings; NULL: there is none. */
static const char *closing_brace(const char *at) {
  for (int depth = 1; *at; at++) {
    if (*at == '#') at += strcspn(at, "\n");
    if (*at == '"') at += 1 + strcspn(at + 1, "\"\n");
    if (*at == '\0') return NULL;
    depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return NULL;
}

/* Takes `{ text }`. Returns the text, in the arena, and where it begins. NULL: failed. */
static const char *take_braces(te_parser *p, const char *expected, const char **begins) {
  const char *open = p->token.at;
  if (!te_token_is(&p->token, "{")) return te_fail_expected(p, expected), NULL;
  const char *close = closing_brace(open + 1);
  if (!close) return te_parse_fail(p, open, "this '{' has no '}'"), NULL;
  *begins = open + 1;
  const char *text = runtime_strndup(&p->lexer.site.ctx->arena, open + 1, (size_t)(close - open - 1));
  p->lexer.next = close + 1;
  te_advance(p);
  te_has_memory(&p->lexer.site, text);
  return text;
}

/* ---- schedule ---------------------------------------------------------------------------------------------------- */

/* The column of a place, from 1. */
static int column_of(const te_parser *p, const char *at) {
  int column = 1;
  for (; at > p->lexer.site.text && at[-1] != '\n'; at--) column++;
  return column;
}

/* `schedule { tile(C, i, j, 32, 32); vectorize(C, j.inner) }` */
static bool parse_schedule(te_parser *p) {
  const char *begins, *file, *text = take_braces(p, "'{' and a schedule", &begins);
  if (!text) return false;
  te_block block = {.text = text, .line = te_line_of(p, begins, &file), .column = column_of(p, begins)};
  block.where = *file ? runtime_format(&p->lexer.site.ctx->arena, "%s: ", file) : "";
  if (!te_has_memory(&p->lexer.site, block.where)) return false;
  return RUNTIME_PUSH(&p->blocks, block) || te_has_memory(&p->lexer.site, NULL);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Takes the quoted file name after the word at WORD, as a path. NULL: failed. */
static const char *take_file(te_parser *p, const char *word, const char *statement) {
  const te_sources *sources = p->lexer.site.sources;
  const char *name = p->lexer.next + strspn(p->lexer.next, " \t") + 1;
  size_t length = strcspn(name, "\"\n");
  int line;
  if (!sources)
    return te_parse_fail(p, word,
                         "%s stands in program files only: a program that is given as text opens no files: put it "
                         "into a file, program.te",
                         statement),
           NULL;
  if (name[length] != '"') return te_parse_fail(p, name - 1, "the file's name has no closing quote"), NULL;
  if (length == 0) return te_parse_fail(p, name, "expected a file's name, as in %s \"other\"", statement), NULL;
  char *path = te_path_beside(te_source_of_place(sources, word, &line), name, length);
  const char *kept = path ? runtime_strdup(&p->lexer.site.ctx->arena, path) : NULL;
  free(path);
  p->lexer.next = name + length + 1;
  te_advance(p);
  te_has_memory(&p->lexer.site, kept);
  return kept;
}

/* `link "f.ll"`: the file is not opened here. */
static bool parse_link(te_parser *p) {
  const char *path = take_file(p, p->token.at, "link");
  return path && (RUNTIME_PUSH(&p->links, path) || te_has_memory(&p->lexer.site, NULL));
}

/* Includes in files were replaced by their contents already (source.c), so here is one in the wrong place. */
static bool parse_include(te_parser *p) {
  if (p->lexer.site.sources)
    return te_parse_fail(p, p->token.at, "include stands at the beginning of a statement, on a line of its own");
  return take_file(p, p->token.at, "include") != NULL;
}

/* ---- intrin ------------------------------------------------------------------------------------------------------ */

/* What follows an intrinsic's pattern. */
typedef struct parts {
  tn_intrin_functions functions;
  int n;
  tn_intrin_operand operand[TIR_INTRIN_INPUTS + 1];
  int64_t stride[TIR_INTRIN_INPUTS + 1][TN_MAX_RANK];
} parts;

/* The entry of an operand, made if there is none; NULL: failed. */
static tn_intrin_operand *operand_of(te_parser *p, parts *s) {
  const char *at, *name = te_take_name(p, "the name of a tensor of the pattern", &at);
  if (!name) return NULL;
  int i = 0;
  while (i < s->n && strcmp(s->operand[i].name, name) != 0) i++;
  if (i == RUNTIME_COUNT(s->operand)) return te_parse_fail(p, at, "more operands than a pattern has"), NULL;
  if (i == s->n) s->operand[s->n++] = (tn_intrin_operand){.name = name, .strides = s->stride[i]};
  return &s->operand[i];
}

/* `align a 64` */
static bool parse_align(te_parser *p, parts *s) {
  tn_intrin_operand *o = operand_of(p, s);
  const char *at = p->token.at;
  int64_t bytes;
  if (!o || !te_parse_integer(p, "an alignment", &bytes)) return false;
  if (o->align) return te_parse_fail(p, at, "the alignment of '%s' is given twice", o->name);
  if (bytes < 1 || bytes > TIR_SCRATCH_ALIGN || (bytes & (bytes - 1)))
    return te_parse_fail(p, at, "an alignment is a power of two, 1 to %d bytes, not %lld", (int)TIR_SCRATCH_ALIGN,
                         (long long)bytes);
  o->align = (int)bytes;
  return true;
}

/* `strides b [*, 1]` */
static bool parse_strides(te_parser *p, parts *s) {
  tn_intrin_operand *o = operand_of(p, s);
  const char *at = p->token.at;
  if (!o) return false;
  if (o->n_strides) return te_parse_fail(p, at, "the strides of '%s' are given twice", o->name);
  int64_t *stride = s->stride[o - s->operand];
  if (!te_expect(p, "[", "'[' and a stride for each dimension, * for any")) return false;
  do {
    at = p->token.at;
    if (o->n_strides == TN_MAX_RANK) return te_parse_fail(p, at, "more than %d strides", (int)TN_MAX_RANK);
    int64_t *value = &stride[o->n_strides++];
    *value = 0;
    if (te_accept(p, "*")) continue;
    if (!te_parse_integer(p, "a stride", value)) return false;
    if (*value < 1) return te_parse_fail(p, at, "a stride is 1 or more elements, or * for any");
  } while (te_accept(p, ","));
  return te_expect(p, "]", "',' or ']'");
}

/* `body f`, `reset g`, `update h`, `align a 64` or `strides b [*, 1]` */
static bool parse_part(te_parser *p, parts *s) {
  static const char expected[] = "body, reset or update and a function's name, or align or strides";
  const char *at = p->token.at;
  tn_intrin_function *f = te_token_is(&p->token, "body")     ? &s->functions.body
                          : te_token_is(&p->token, "reset")  ? &s->functions.reset
                          : te_token_is(&p->token, "update") ? &s->functions.update
                                                             : NULL;
  if (te_accept(p, "align")) return parse_align(p, s);
  if (te_accept(p, "strides")) return parse_strides(p, s);
  if (!f) return te_fail_expected(p, expected);
  if (f->name) return te_parse_fail(p, at, "this function is given twice");
  te_advance(p);
  f->name = te_take_name(p, "the name of a C function", &at);
  return f->name != NULL;
}

/* Whether the name was declared above in this program. */
static bool is_declared(const te_parser *p, const char *name) {
  for (int i = 0; i < p->intrins.n; i++)
    if (strcmp(p->intrins.data[i]->name, name) == 0) return true;
  return false;
}

/* TEXT after as many newlines and blanks as precede it in its file, so that messages have the right line and column. */
static const char *in_place(te_parser *p, const char *text, const char *begins) {
  const char *file;
  runtime_str out = {0};
  for (int line = te_line_of(p, begins, &file); line > 1; line--) runtime_str_add(&out, "\n");
  runtime_str_addf(&out, "%*s%s", column_of(p, begins) - 1, "", text);
  const char *kept = runtime_str_take(&out, &p->lexer.site.ctx->arena);
  te_has_memory(&p->lexer.site, kept);
  return kept;
}

/* `intrin gemv { c[m<16] = sum[l<64](a[l] * b[m,l]) } update gemv_add, align a 64` */
static bool parse_intrin(te_parser *p) {
  const char *at, *begins, *name = te_take_name(p, "an intrinsic's name", &at);
  const char *pattern = name ? take_braces(p, "'{' and the pattern, as in { c[i<16] = a[i] }", &begins) : NULL;
  parts s = {0};
  if (!pattern || !(pattern = in_place(p, pattern, begins))) return false;
  if (is_declared(p, name)) return te_parse_fail(p, at, "there is an intrinsic '%s' above", name);
  p->n_axes = p->reads.n = 0;
  do {
    te_skip_newlines(p);
    if (!parse_part(p, &s)) return false;
  } while (te_accept(p, ","));
  const tir_intrin *intrin = te_declare_intrin(te_parse_site(p, at), name, pattern, &s.functions, s.n, s.operand);
  return intrin && (RUNTIME_PUSH(&p->intrins, intrin) || te_has_memory(&p->lexer.site, NULL));
}

bool te_parse_block(te_parser *p, te_block_kind kind) {
  if (kind == TE_LINK) return parse_link(p);
  if (kind == TE_INCLUDE) return parse_include(p);
  te_advance(p);
  return kind == TE_INTRIN ? parse_intrin(p) : parse_schedule(p);
}
