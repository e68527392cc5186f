/* format.c: tn_format lays out programs and schedules in one style. Statements keep their lines, and
 * comments their places; blanks, indentation and empty lines are the formatter's. Equals signs and comments
 * of consecutive lines that were aligned stay aligned. Formatting twice gives the same text, since nothing
 * but that alignment is taken from the text's blanks. */
#include "te/format.h"

#include "te/te.h"

enum { INDENT = 2, COMMENT_GAP = 2 };

/* A line of the output: pieces FIRST to LAST - 1, without the end of the line. */
typedef struct line {
  int first, last;
  int width;   /* of the code before a definition's equals sign */
  int equals;  /* the piece; -1: none */
  int comment; /* the piece; -1: none, or nothing stands before it */
  int padding; /* blanks before the equals sign besides the usual one */
  int gap;     /* blanks before the comment */
  int indent;
  bool is_empty;
} line;

/* A text being laid out. COLUMN: of each piece in the output. */
typedef struct layout {
  const format_text *f;
  RUNTIME_VEC(line) lines;
  int *column;
  runtime_str out;
} layout;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const format_piece *piece(const layout *l, int i) { return &l->f->pieces.data[i]; }

/* Whether piece I is printed. A semicolon at the end of a line or after another one has no meaning, except
 * inside parentheses. */
static bool is_shown(const layout *l, const line *n, int i) {
  if (piece(l, i)->kind != FORMAT_SEMICOLON) return true;
  int open = piece(l, i)->open;
  if (open >= 0 && *piece(l, open)->at == '(') return true;
  int before = te_format_before(l->f, i), behind = te_format_behind(l->f, i);
  if (before >= n->first && te_format_goes_on(piece(l, before))) return true;
  bool is_first = before < n->first || (i > n->first && piece(l, i - 1)->kind == FORMAT_SEMICOLON);
  return !is_first && behind >= 0 && behind < n->last && !te_format_is(piece(l, behind), "}") &&
         !te_format_is(piece(l, before), "{");
}

/* The number of blanks between AT, the last piece shown, and piece I. */
static int blanks_before(const layout *l, int at, int i) {
  if (at < 0 || piece(l, i)->kind == FORMAT_SEMICOLON) return 0;
  if (piece(l, at)->kind == FORMAT_SEMICOLON) return 1;
  return te_format_has_blank(l->f, at, i) ? 1 : 0;
}

/* The first `=` of a line in which a definition begins; -1: none. */
static int equals_of(const layout *l, const line *n) {
  if (n->first == n->last || piece(l, n->first)->is_schedule || piece(l, n->first)->statement != n->first) return -1;
  if (te_format_is(piece(l, n->first), "param")) return -1;
  for (int i = n->first + 1; i < n->last; i++)
    if (te_format_is(piece(l, i), "=") && piece(l, i)->open == piece(l, n->first)->open) return i;
  return -1;
}

/* The width from the line's first piece to before piece END, without indentation and padding. */
static int width_up_to(const layout *l, const line *n, int end) {
  int width = 0, at = -1;
  for (int i = n->first; i < end; i++) {
    if (piece(l, i)->kind == FORMAT_COMMENT || !is_shown(l, n, i)) continue;
    width += blanks_before(l, at, i) + piece(l, i)->length;
    at = i;
  }
  return width;
}

/* Whether pieces print nothing: semicolons only. */
static bool is_nothing(const layout *l, int first, int last) {
  line n = {.first = first, .last = last};
  for (int i = first; i < last; i++)
    if (is_shown(l, &n, i)) return false;
  return true;
}

/* Makes a line of the pieces from FIRST to before LAST, with the marks by which it may be aligned with its
 * neighbours: a comment behind code, and an equals sign. A line with only a comment has neither. False: no
 * memory. */
static bool add_line(layout *l, int first, int last) {
  line n = {.first = first, .last = last, .comment = -1, .is_empty = is_nothing(l, first, last)};
  bool has_comment = !n.is_empty && piece(l, last - 1)->kind == FORMAT_COMMENT;
  if (has_comment && last - 1 > first) n.comment = last - 1;
  n.equals = has_comment && n.comment < 0 ? -1 : equals_of(l, &n);
  if (n.equals >= 0) n.width = width_up_to(l, &n, n.equals);
  return RUNTIME_PUSH(&l->lines, n);
}

/* Keeps at most one empty line in a row, and none at the beginning or the end. */
static bool make_lines(layout *l) {
  int first = 0, n = l->f->pieces.n;
  for (int i = 0; i <= n; i++) {
    if (i < n && piece(l, i)->kind != FORMAT_BREAK) continue;
    const line *last = l->lines.n > 0 ? &l->lines.data[l->lines.n - 1] : NULL;
    bool is_extra = (!last || last->is_empty || i >= n) && is_nothing(l, first, i);
    if (!is_extra && !add_line(l, first, i)) return false;
    first = i + 1;
  }
  while (l->lines.n > 0 && l->lines.data[l->lines.n - 1].is_empty) l->lines.n--;
  return true;
}

/* ---- alignment --------------------------------------------------------------------------------------------------- */

/* The piece by which lines may be aligned; -1: none. */
static int mark_of(const line *n, bool is_comment) { return is_comment ? n->comment : n->equals; }

/* How many lines from FIRST on have their mark in the same column of the text. */
static int count_run(const layout *l, int first, bool is_comment) {
  int mark = mark_of(&l->lines.data[first], is_comment), n = 1;
  for (; first + n < l->lines.n; n++) {
    int other = mark_of(&l->lines.data[first + n], is_comment);
    if (other < 0 || piece(l, other)->column != piece(l, mark)->column) break;
  }
  return n;
}

/* The column where a line's code ends, with indentation and padding. */
static int end_of_code(const layout *l, const line *n) {
  int last = n->last - 1;
  while (last >= n->first && (piece(l, last)->kind == FORMAT_COMMENT || !is_shown(l, n, last))) last--;
  return last < n->first ? 0 : l->column[last] + piece(l, last)->length;
}

static int position_of(const layout *l, const line *n, bool is_comment) {
  return is_comment ? end_of_code(l, n) : n->width;
}

/* Aligns runs of lines; a line on its own needs no alignment. */
static void align(layout *l, bool is_comment) {
  for (int i = 0, n; i < l->lines.n; i += n) {
    int most = 0;
    n = mark_of(&l->lines.data[i], is_comment) < 0 ? 1 : count_run(l, i, is_comment);
    for (int k = i; k < i + n; k++) most = RUNTIME_MAX(most, position_of(l, &l->lines.data[k], is_comment));
    for (int k = i; k < i + n; k++) {
      line *at = &l->lines.data[k];
      int more = most - position_of(l, at, is_comment);
      if (is_comment) at->gap = COMMENT_GAP + more;
      if (!is_comment && n > 1) at->padding = more;
    }
  }
}

/* ---- indentation ------------------------------------------------------------------------------------------------- */

/* Two blanks for each brace around a piece. A closing brace stands below the line that opened it. */
static int indent_of_braces(const layout *l, int i) {
  int depth = 0;
  for (int open = piece(l, i)->open; open >= 0; open = piece(l, open)->open) depth += *piece(l, open)->at == '{';
  return depth * INDENT;
}

/* The line, at or before AT, that contains piece I. */
static const line *line_of(const layout *l, int at, int i) {
  while (at > 0 && l->lines.data[at].first > i) at--;
  return &l->lines.data[at];
}

/* Below what follows the bracket in its line or, if nothing does, two blanks further in than that line. */
static int indent_in_bracket(const layout *l, int at, int open) {
  const line *from = line_of(l, at, open);
  int behind = te_format_behind(l->f, open);
  bool is_last = behind < 0 || behind >= from->last;
  return is_last ? from->indent + INDENT : l->column[open] + 1;
}

/* Whether a line continues what the line before began. */
static bool is_continued(const layout *l, const line *n) {
  int i = n->first - 1;
  if (i < 0) return false;
  while (i > 0 && piece(l, i)->kind == FORMAT_BREAK && piece(l, i - 1)->kind == FORMAT_BREAK) i--;
  return piece(l, i)->kind == FORMAT_BREAK && piece(l, i)->continues;
}

/* Inside a bracket opened on an earlier line: below what follows it. Otherwise by the braces around, and
 * one step further in where a statement is continued. */
static int indent_of(const layout *l, int at) {
  const line *n = &l->lines.data[at];
  int first = n->first;
  while (!is_shown(l, n, first)) first++;
  int open = piece(l, first)->open;
  if (open >= 0 && *piece(l, open)->at != '{') return indent_in_bracket(l, at, open);
  int base = indent_of_braces(l, first);
  return is_continued(l, n) ? base + INDENT : base;
}

/* Sets the columns of a line's pieces. */
static void set_columns(layout *l, int at) {
  line *n = &l->lines.data[at];
  int column = n->indent = n->is_empty ? 0 : indent_of(l, at), shown = -1;
  for (int i = n->first; i < n->last; i++) {
    if (!is_shown(l, n, i)) continue;
    column += blanks_before(l, shown, i) + (i == n->equals ? n->padding : 0);
    l->column[i] = column;
    column += piece(l, i)->length;
    shown = i;
  }
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* Columns were set before (set_columns). Pieces that are not shown take no room. */
static void print_line(layout *l, const line *n) {
  int column = 0;
  for (int i = n->first; i < n->last; i++) {
    if (!is_shown(l, n, i)) continue;
    int at = i == n->comment ? column + n->gap : l->column[i];
    runtime_str_addf(&l->out, "%*s", at - column, "");
    runtime_str_addn(&l->out, piece(l, i)->at, (size_t)piece(l, i)->length);
    column = at + piece(l, i)->length;
  }
  runtime_str_add(&l->out, "\n");
}

/* Columns depend on the widths of aligned parts, and the alignment of comments depends on the columns. So
 * equals signs come first, then columns, then comments. False: no memory. */
static bool lay_out(layout *l) {
  l->column = calloc((size_t)l->f->pieces.n + 1, sizeof *l->column);
  if (!l->column || !make_lines(l)) return false;
  align(l, false);
  for (int i = 0; i < l->lines.n; i++) set_columns(l, i);
  align(l, true);
  for (int i = 0; i < l->lines.n; i++) print_line(l, &l->lines.data[i]);
  if (l->lines.n == 0) runtime_str_add(&l->out, "");
  return !l->out.failed;
}

/* ---- the same text ----------------------------------------------------------------------------------------------- */

/* The next piece that has meaning: not a blank, the end of a line, or a semicolon. */
static int next_counting(const format_text *f, int i) {
  while (i < f->pieces.n && f->pieces.data[i].kind >= FORMAT_SEMICOLON) i++;
  return i;
}

/* Checks that the new text has the same pieces: a formatter that changes what a text says would be worse than none. */
static bool says_the_same(const format_text *before, const char *text) {
  format_text after = {.ctx = before->ctx, .text = text};
  bool same = te_format_read(&after);
  for (int i = 0, k = 0; same; i++, k++) {
    i = next_counting(before, i);
    k = next_counting(&after, k);
    if (i >= before->pieces.n || k >= after.pieces.n) {
      same = i >= before->pieces.n && k >= after.pieces.n;
      break;
    }
    const format_piece *a = &before->pieces.data[i], *b = &after.pieces.data[k];
    same = a->length == b->length && memcmp(a->at, b->at, (size_t)a->length) == 0;
  }
  RUNTIME_VEC_FREE(&after.pieces);
  RUNTIME_VEC_FREE(&after.groups);
  return same;
}

/* Only blanks and line ends change. The result is read again and must have the same pieces; otherwise the
 * text is refused, never damaged. */
char *tn_format(tn_context *ctx, const char *text) {
  if (!ctx || !RUNTIME_GIVEN(ctx, text) || !runtime_check_text(ctx, "the text", text)) return NULL;
  format_text f = {.ctx = ctx, .text = text};
  layout l = {.f = &f, .out = runtime_str_limited(ctx)};
  char *made = NULL;
  if (te_format_read(&f)) {
    (void)lay_out(&l);
    made = runtime_str_finish(&l.out, ctx, "the text");
  }
  if (made && !says_the_same(&f, made)) {
    runtime_fail(ctx, TN_ERROR_INTERNAL, "formatting changed more than blanks: the text is left as it was");
    free(made);
    made = NULL;
  }
  RUNTIME_VEC_FREE(&f.pieces);
  RUNTIME_VEC_FREE(&f.groups);
  RUNTIME_VEC_FREE(&l.lines);
  runtime_str_free(&l.out);
  free(l.column);
  return made;
}
