/* page.c: `tenon show --emit=html`. The page has the loop tree, the schedule's text and assembly, all from
 * the same functions as the other forms. Which primitive made a loop is found by applying the schedule's
 * text one primitive at a time and looking at what changed. All text is escaped: names come from the user's
 * program. */
#include "tools/page.h"

#include "tools/assembly.h"

/* Limits that keep the page small enough for a browser: rows of the tree, loops and bytes of assembly,
 * bytes of text, loops of a stage. */
enum { MAX_ROWS = 1500, MAX_LOOPS = 40, MAX_CODE = 6000, MAX_TEXT = 60000, MAX_AXES = 64 };

/* ---- where loops come from --------------------------------------------------------------------------------------- */

/* A loop of a stage, or (loop "") the stage itself, and the primitives so far that made or changed it. */
typedef struct origin {
  char *stage, *loop, *annotation;
  runtime_str by; /* the primitives that made or changed it */
} origin;

typedef RUNTIME_VEC(origin) origins;

/* NULL: no primitive has mentioned it. */
static origin *find_origin(const origins *all, const char *stage, const char *loop) {
  for (int i = 0; i < all->n; i++)
    if (strcmp(all->data[i].stage, stage) == 0 && strcmp(all->data[i].loop, loop) == 0) return &all->data[i];
  return NULL;
}

static void add_primitive(origin *o, const char *primitive) {
  runtime_str_addf(&o->by, "%s%s", o->by.n > 0 ? "; " : "", primitive);
}

/* Notes a loop as it is after PRIMITIVE (NULL: in the default schedule). If it is new or annotated
 * differently, PRIMITIVE made it so. Returns whether it did. */
static bool note(origins *all, const char *stage, const char *loop, const char *annotation, const char *primitive) {
  origin *known = find_origin(all, stage, loop);
  if (known && strcmp(known->annotation, annotation) == 0) return false;
  if (!known) {
    origin o = {.stage = strdup(stage), .loop = strdup(loop), .annotation = strdup(annotation)};
    if (!o.stage || !o.loop || !o.annotation || !RUNTIME_PUSH(all, o)) return false;
    known = &all->data[all->n - 1];
  } else {
    char *now = strdup(annotation);
    if (now) free(known->annotation), known->annotation = now;
  }
  if (primitive) add_primitive(known, primitive);
  return true;
}

/* Notes all loops of all stages. Returns whether PRIMITIVE changed any. */
static bool note_all(origins *all, const tn_schedule *schedule, const char *primitive) {
  tn_loop loops[MAX_AXES];
  bool changed = false;
  for (int i = 0; i < tn_schedule_stage_count(schedule); i++) {
    const char *stage = tn_schedule_stage_name(schedule, i);
    int n = RUNTIME_MIN(tn_schedule_loops(schedule, stage, MAX_AXES, loops), MAX_AXES);
    for (int k = 0; k < n; k++) changed |= note(all, stage, loops[k].name, loops[k].annotation, primitive);
  }
  return changed;
}

/* A primitive that changes no loop, such as "reorder(C, i, j)", is noted at its stage, the first argument. */
static void note_stage(origins *all, const char *primitive) {
  const char *open = strchr(primitive, '(');
  size_t n = open ? strcspn(open + 1, ",) ") : 0;
  char stage[256];
  if (!open || n >= sizeof stage) return;
  snprintf(stage, sizeof stage, "%.*s", (int)n, open + 1);
  (void)note(all, stage, "", "", NULL);
  origin *o = find_origin(all, stage, "");
  if (o) add_primitive(o, primitive);
}

/* Applies the schedule's text to a new schedule, primitive by primitive. A text of many kilobytes would
 * take too long: then no origins are shown. */
static void find_origins(tools_session *session, const char *text, origins *all) {
  tn_schedule *schedule = strlen(text) <= MAX_TEXT ? tn_schedule_new(session->program) : NULL;
  if (!schedule) return;
  runtime_quiet quiet = runtime_quiet_begin(session->ctx);
  note_all(all, schedule, NULL);
  for (const char *at = text; *at;) {
    const char *end = strstr(at, "; ");
    size_t n = end ? (size_t)(end - at) : strcspn(at, "\n");
    char *primitive = strndup(at, n);
    if (primitive && tn_schedule_apply(schedule, primitive) == TN_OK && !note_all(all, schedule, primitive))
      note_stage(all, primitive);
    free(primitive);
    at += n;
    at += strspn(at, "; \n");
  }
  runtime_quiet_end(&quiet);
}

static void free_origins(origins *all) {
  for (int i = 0; i < all->n; i++) {
    free(all->data[i].stage);
    free(all->data[i].loop);
    free(all->data[i].annotation);
    runtime_str_free(&all->data[i].by);
  }
  RUNTIME_VEC_FREE(all);
}

/* ---- the tree's rows --------------------------------------------------------------------------------------------- */

typedef enum row_kind { ROW_NOTE, ROW_STAGE, ROW_LOOP, ROW_BODY } row_kind;

/* A line of the tree. The pointers are into the tree's text. */
typedef struct row {
  row_kind kind;
  int depth;
  const char *at;
  size_t n;
  const char *word, *name, *rest; /* LOOP: "parallel", "i.outer", "(16) reduce ..."; STAGE: the name alone */
  size_t n_word, n_name, n_rest;
  int parent; /* row of the loop or the stage around it; -1: none */
  char stage[256];
  int code; /* LOOP: number of the first machine loop that it became; -1: none */
} row;

typedef RUNTIME_VEC(row) rows;

/* Reads a loop's line, `word name (extent) ...`. False: it has another form. */
static bool read_loop(row *r) {
  size_t word = strcspn(r->at, " "), name = word < r->n ? strcspn(r->at + word + 1, " ") : 0;
  const char *open = r->at + word + 1 + name + 1;
  if (word == 0 || name == 0 || open >= r->at + r->n || *open != '(') return false;
  *r = (row){.kind = ROW_LOOP, .depth = r->depth, .at = r->at, .n = r->n, .word = r->at, .n_word = word, .code = -1};
  r->name = r->at + word + 1;
  r->n_name = name;
  r->rest = open;
  r->n_rest = (size_t)(r->at + r->n - open);
  return true;
}

static bool holds(const row *r, const char *part) { return memmem(r->at, r->n, part, strlen(part)) != NULL; }

/* Finds out what kind of line it is. The tree has no other kinds (schedule/tree.c). */
static void classify(row *r) {
  size_t name = strcspn(r->at, ":,= ");
  r->kind = ROW_BODY;
  if (r->depth == 0 && (strncmp(r->at, "input ", 6) == 0 || strncmp(r->at, "inlined ", 8) == 0)) {
    r->kind = ROW_NOTE;
  } else if (!holds(r, " = ") && name < r->n && r->at[name] == ':') {
    r->kind = ROW_STAGE;
    r->name = r->at;
    r->n_name = name;
  } else if (!holds(r, " = ")) {
    read_loop(r);
  }
}

/* The parent is the nearest row above that is less deep; a row's stage is its parent's. */
static void set_parent(rows *all, int i) {
  row *r = &all->data[i];
  r->parent = i - 1;
  while (r->parent >= 0 && (all->data[r->parent].depth >= r->depth || all->data[r->parent].kind == ROW_NOTE))
    r->parent--;
  if (r->kind == ROW_STAGE)
    snprintf(r->stage, sizeof r->stage, "%.*s", (int)RUNTIME_MIN(r->n_name, sizeof r->stage - 1), r->name);
  else if (r->parent >= 0)
    memcpy(r->stage, all->data[r->parent].stage, sizeof r->stage);
}

/* Splits the tree into rows. False: out of memory. Rows beyond MAX_ROWS are left out, and *CUT is set. */
static bool read_rows(const char *tree, rows *all, bool *cut) {
  for (const char *at = tree; *at;) {
    size_t blanks = strspn(at, " "), n = strcspn(at, "\n");
    row r = {.depth = (int)(blanks / 2), .at = at + blanks, .n = n - blanks, .code = -1, .parent = -1};
    *cut = all->n == MAX_ROWS;
    if (*cut) return true;
    classify(&r);
    if (!RUNTIME_PUSH(all, r)) return false;
    set_parent(all, all->n - 1);
    at += n + (at[n] == '\n');
  }
  return true;
}

/* ---- which loop of the tree a machine loop is -------------------------------------------------------------------- */

static bool has_name(const row *r, const char *name) {
  return r->kind == ROW_LOOP && strlen(name) == r->n_name && memcmp(r->name, name, r->n_name) == 0;
}

/* Whether a machine loop can be row I: the names of it and of the loops around it must occur, in order,
 * among the tree's loops around that row. Some of those may be missing in the code: loops of one iteration,
 * unrolled and vectorized ones are gone. */
static bool is_path(const rows *all, int i, const assembly_loops *loops, int loop) {
  const assembly_loop *m = &loops->data[loop];
  int wanted = m->depth; /* of its parents, from inside */
  if (!has_name(&all->data[i], m->name)) return false;
  for (int at = all->data[i].parent; at >= 0 && wanted > 0; at = all->data[at].parent)
    wanted -= has_name(&all->data[at], loops->data[m->parents[wanted - 1]].name);
  return wanted == 0;
}

/* The row of a machine loop; -1: none. Of several that fit, the first that has no machine loop yet: a
 * peeled rest is a second copy of a loop. */
static int row_of(const rows *all, const assembly_loops *loops, int loop) {
  int first = -1;
  for (int i = 0; i < all->n && *loops->data[loop].name; i++) {
    if (!is_path(all, i, loops, loop)) continue;
    if (all->data[i].code < 0) return i;
    if (first < 0) first = i;
  }
  return first;
}

/* ---- HTML -------------------------------------------------------------------------------------------------------- */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Tenon: a "
    "schedule</title>\n<style>\n"
    ":root { color-scheme: light dark; --ink: #1b1f24; --soft: #57616b; --line: #d5dae0; --paper: #fff; --card: "
    "#f6f8fa;\n"
    "  --stage: #0a5ea8; --parallel: #8a3fa0; --vectorize: #17733a; --unroll: #96530c; --tensorize: #ad2456; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --ink: #e6e9ed; --soft: #9aa5b1; --line: #363d46; --paper: #14171b; --card: #1d2228; --stage: #6cb8f5;\n"
    "    --parallel: #d59be6; --vectorize: #6fce92; --unroll: #e8ac62; --tensorize: #f48bb0; }\n}\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; max-width: 1700px; padding: 1rem; background: var(--paper); color: var(--ink);\n"
    "  font: 15px/1.45 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.35rem; margin: .2rem 0; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }\n"
    "p { margin: .3rem 0; color: var(--soft); }\n"
    ".grid { display: grid; gap: 1rem; margin-top: 1rem; align-items: start; }\n"
    "@media (min-width: 1000px) { .grid { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); } .wide { grid-column: "
    "1 / -1; } }\n"
    ".card { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .8rem; min-width: 0; "
    "}\n"
    "pre, .tree { font: 12.5px/1.5 ui-monospace, monospace; margin: 0; }\n"
    "pre { overflow: auto; white-space: pre; } pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }\n"
    ".code { max-height: 46rem; } .tree { overflow-x: auto; }\n"
    ".row { display: flex; gap: 1.2rem; white-space: pre; padding: 0 .5rem 0 calc(var(--d) * 1ch); }\n"
    ".row:hover, .row:target { background: color-mix(in srgb, var(--stage) 14%, transparent); }\n"
    ".what { flex: 1 0 auto; } .by, .rest { color: var(--soft); }\n"
    ".by { max-width: 46ch; overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; }\n"
    "@media (max-width: 999px) { .row { display: block; } .by { display: block; max-width: none; white-space: "
    "pre-wrap;\n"
    "  overflow-wrap: anywhere; padding-left: 2ch; } .what { white-space: pre-wrap; overflow-wrap: anywhere; } }\n"
    ".stage { color: var(--stage); font-weight: 600; } .parallel { color: var(--parallel); }\n"
    ".vectorize { color: var(--vectorize); } .unroll { color: var(--unroll); } .tensorize { color: var(--tensorize); "
    "}\n"
    "a { color: var(--stage); } details { margin-top: .7rem; } summary { cursor: pointer; overflow-wrap: anywhere; }\n"
    "</style>\n</head>\n<body>\n<h1>A schedule</h1>\n";

/* Adds N characters, escaped for HTML. */
static void put(runtime_str *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) switch (text[i]) {
      case '&': runtime_str_add(out, "&amp;"); break;
      case '<': runtime_str_add(out, "&lt;"); break;
      case '>': runtime_str_add(out, "&gt;"); break;
      case '"': runtime_str_add(out, "&quot;"); break;
      case '\'': runtime_str_add(out, "&#39;"); break;
      default: runtime_str_addn(out, &text[i], 1);
    }
}

static void put_text(runtime_str *out, const char *text) { put(out, text, strlen(text)); }

/* Adds at most MOST bytes of TEXT, cut between characters, and says how many are left out. */
static void put_most(runtime_str *out, const char *text, size_t most) {
  size_t n = strlen(text), shown = RUNTIME_MIN(n, most);
  while (shown < n && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
  put(out, text, shown);
  if (shown < n) runtime_str_addf(out, "\n... %zu more bytes", n - shown);
}

static void put_span(runtime_str *out, const char *class, const char *text, size_t n) {
  runtime_str_addf(out, "<span class=\"%s\">", class);
  put(out, text, n);
  runtime_str_add(out, "</span>");
}

/* The CSS class of a loop's first word, which gives the colour. */
static const char *class_of(const row *r) {
  static const char *const words[] = {"parallel", "vectorize", "unroll", "tensorize"};
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (strlen(words[i]) == r->n_word && memcmp(words[i], r->word, r->n_word) == 0) return words[i];
  return holds(r, " tensorize=") ? "tensorize" : "rest";
}

/* Adds the row's own text, and a link to its machine code. */
static void put_what(runtime_str *out, const row *r) {
  if (r->kind == ROW_LOOP) {
    put_span(out, class_of(r), r->word, r->n_word);
    runtime_str_add(out, " <b>");
    put(out, r->name, r->n_name);
    runtime_str_add(out, "</b> ");
    put_span(out, "rest", r->rest, r->n_rest);
  } else if (r->kind == ROW_STAGE) {
    put_span(out, "stage", r->name, r->n_name);
    put(out, r->at + r->n_name, r->n - r->n_name);
  } else {
    put_span(out, "rest", r->at, r->n);
  }
  if (r->kind == ROW_LOOP && r->code >= 0) runtime_str_addf(out, " <a href=\"#code%d\">code</a>", r->code);
}

/* Adds a row: its text and the primitives that made it. */
static void put_row(runtime_str *out, const origins *all, const row *r, int number) {
  char loop[256] = "";
  if (r->kind == ROW_LOOP) snprintf(loop, sizeof loop, "%.*s", (int)RUNTIME_MIN(r->n_name, sizeof loop - 1), r->name);
  const origin *o = r->kind == ROW_LOOP || r->kind == ROW_STAGE ? find_origin(all, r->stage, loop) : NULL;
  runtime_str_addf(out, "<div class=\"row\" id=\"row%d\" style=\"--d:%d\"><span class=\"what\">", number, 2 * r->depth);
  put_what(out, r);
  runtime_str_add(out, "</span>");
  if (o && o->by.n > 0) {
    runtime_str_add(out, "<span class=\"by\" title=\"");
    put_most(out, o->by.data, 1000);
    runtime_str_add(out, "\">");
    put_most(out, o->by.data, 1000);
    runtime_str_add(out, "</span>");
  }
  runtime_str_add(out, "</div>\n");
}

/* Adds "j.outer > i.outer > k": the loops around it and the loop itself. */
static void put_path(runtime_str *out, const assembly_loops *loops, const assembly_loop *loop) {
  for (int i = 0; i <= loop->depth; i++) {
    const char *name = i < loop->depth ? loops->data[loop->parents[i]].name : loop->name;
    runtime_str_add(out, i > 0 ? " &rsaquo; " : "");
    put_text(out, *name ? name : "(a loop of LLVM's)");
  }
}

/* The loop that is shown open: the deepest innermost loop, and of those the longest. -1: there is no loop. */
static int main_loop(const assembly_loops *loops) {
  int best = -1;
  for (int i = 0; i < loops->n; i++) {
    const assembly_loop *a = &loops->data[i], *b = best < 0 ? NULL : &loops->data[best];
    bool is_better = !b || a->depth > b->depth || (a->depth == b->depth && a->n_instructions > b->n_instructions);
    if (a->is_inner && is_better) best = i;
  }
  return best;
}

/* Adds a machine loop that can be folded, with a link to its row AT (-1: none). */
static void put_loop(runtime_str *out, const assembly_loops *loops, int i, int at, bool is_open) {
  const assembly_loop *loop = &loops->data[i];
  runtime_str_addf(out, "<details id=\"code%d\"%s><summary>", i, is_open ? " open" : "");
  put_path(out, loops, loop);
  runtime_str_addf(out, ": %d instructions", loop->n_instructions);
  if (at >= 0) runtime_str_addf(out, " <a href=\"#row%d\">loop</a>", at);
  runtime_str_add(out, "</summary><pre class=\"code\">");
  put_most(out, loop->code.data ? loop->code.data : "", MAX_CODE);
  runtime_str_add(out, "</pre></details>\n");
}

/* Adds the main loop first, then the other innermost loops, folded. */
static void put_loops(runtime_str *out, const assembly_loops *loops, const int *row_of_loop) {
  int main = main_loop(loops), shown = 0;
  if (main < 0) runtime_str_add(out, "<p>The kernel has no loop: everything is unrolled or runs once.</p>\n");
  if (main >= 0) put_loop(out, loops, main, row_of_loop[main], true);
  for (int i = 0; i < loops->n; i++) {
    if (i == main || !loops->data[i].is_inner) continue;
    if (++shown > MAX_LOOPS) break;
    put_loop(out, loops, i, row_of_loop[i], false);
  }
  if (shown > MAX_LOOPS) runtime_str_add(out, "<p>More loops are left out; --emit=asm has all.</p>\n");
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* All that the page shows. Texts are malloc'ed; the rows point into the tree. */
typedef struct page {
  char *tree, *text, *assembly;
  origins origins;
  rows rows;
  assembly_loops loops;
  int *row_of_loop;
  bool is_cut;
} page;

/* Fills P. False after a message; what was made is released in either case. */
static bool gather(tools_session *session, const tn_schedule *schedule, tn_build_part part, page *p) {
  const tn_build_options options = {.target = session->target, .part = part};
  p->tree = tn_schedule_print(schedule, TN_FORM_TREE);
  p->text = p->tree ? tn_schedule_print(schedule, TN_FORM_TEXT) : NULL;
  p->assembly = p->text ? tn_build_text(schedule, &options, ".s") : NULL;
  if (!p->assembly) return false;
  find_origins(session, p->text, &p->origins);
  bool read = read_rows(p->tree, &p->rows, &p->is_cut) && assembly_read(p->assembly, &p->loops);
  p->row_of_loop = calloc((size_t)p->loops.n + 1, sizeof *p->row_of_loop);
  for (int i = 0; read && p->row_of_loop && i < p->loops.n; i++) {
    int at = p->row_of_loop[i] = p->loops.data[i].is_inner ? row_of(&p->rows, &p->loops, i) : -1;
    if (at >= 0 && p->rows.data[at].code < 0) p->rows.data[at].code = i;
  }
  return (read && p->row_of_loop) || (tools_fail(session, "out of memory for the page"), false);
}

static void put_card(runtime_str *out, const char *title, const char *text) {
  runtime_str_addf(out, "<section class=\"card wide\"><h2>%s</h2><pre class=\"wrap\">", title);
  put_most(out, text, MAX_TEXT);
  runtime_str_add(out, "</pre></section>\n");
}

/* Writes the page: first the loops with the steps that made them, then their machine code, the program and the
 * schedule. */
static void put_page(runtime_str *out, const tools_session *session, const page *p) {
  const char *program = tn_program_text(session->program);
  runtime_str_add(out, head);
  runtime_str_add(out, "<p>Tenon " TN_VERSION ", for ");
  put_text(out, tn_target_text(session->target));
  runtime_str_add(
      out,
      "</p>\n<div class=\"grid\">\n<section class=\"card\"><h2>Loops, and what made them</h2><div class=\"tree\">\n");
  for (int i = 0; i < p->rows.n; i++) put_row(out, &p->origins, &p->rows.data[i], i);
  if (p->is_cut) runtime_str_add(out, "<p>More rows are left out; --emit=tree has all.</p>\n");
  runtime_str_add(out, "</div></section>\n<section class=\"card\"><h2>Machine code of the innermost loops</h2>\n");
  put_loops(out, &p->loops, p->row_of_loop);
  runtime_str_add(out, "</section>\n");
  put_card(out, "The program", program ? program : "");
  put_card(out, "The schedule", *p->text && *p->text != '\n' ? p->text : "the default one: no primitive");
  runtime_str_add(out, "</div>\n</body>\n</html>\n");
}

char *tools_schedule_page(tools_session *session, const tn_schedule *schedule, tn_build_part part) {
  page p = {0};
  runtime_str out = {0};
  char *made = NULL;
  if (gather(session, schedule, part, &p)) {
    put_page(&out, session, &p);
    made = runtime_str_finish(&out, session->ctx, "the page");
  }
  runtime_str_free(&out);
  free(p.tree);
  free(p.text);
  free(p.assembly);
  free(p.row_of_loop);
  free_origins(&p.origins);
  assembly_free(&p.loops);
  RUNTIME_VEC_FREE(&p.rows);
  return made;
}
