/* assembly.c: finds the loops in assembly text by the comments that LLVM writes behind labels. The block
 * that begins a loop has the block's name (codegen calls a loop's blocks "loop.NAME."), the loops around it
 * and its depth; other blocks say which loop they are in. Architectures introduce comments differently, so
 * only the words are looked for. */
#include "tools/assembly.h"

/* A line, without its end, of a text that lives longer. Not terminated. */
typedef struct text_line {
  const char *at;
  size_t n;
} text_line;

/* The next line; *TEXT moves behind it. */
static text_line next_line(const char **text) {
  text_line line = {*text, strcspn(*text, "\n")};
  *text += line.n + ((*text)[line.n] == '\n');
  return line;
}

/* The position behind WORD in the line; NULL: it is not there. */
static const char *find_word(text_line line, const char *word) {
  const char *found = memmem(line.at, line.n, word, strlen(word));
  return found ? found + strlen(word) : NULL;
}

/* Whether a label stands at the line's beginning: ".LBB1_26:". A block that nobody jumps to has a comment
 * there instead, "# %bb.22:". */
static bool begins_block(text_line line) {
  return line.n > 0 && line.at[0] != '\t' && line.at[0] != ' ' && (find_word(line, ":") != NULL);
}

/* The block's name at AT, such as "BB1_26", malloc'ed. */
static char *label_at(const char *at) {
  size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return strndup(at, n);
}

/* The name of the block that the line begins, malloc'ed; "": it has none. */
static char *label_of(text_line line) {
  const char *at = find_word(line, "BB");
  return at ? label_at(at - 2) : strdup("");
}

/* NAME of "%loop.NAME.27", malloc'ed; "" for a block that codegen did not name. */
static char *name_of(text_line line) {
  const char *at = find_word(line, "%loop.");
  size_t n = at ? strcspn(at, " \t\n") : 0;
  while (n > 0 && at[n - 1] >= '0' && at[n - 1] <= '9') n--;
  return strndup(at ? at : "", n > 0 ? n - 1 : 0);
}

/* The number of the loop that the label at LABEL_TEXT begins; -1: no such loop was read yet. */
static int find_loop(const assembly_loops *loops, const char *label_text) {
  char *label = label_at(label_text);
  int i = label ? loops->n - 1 : -1;
  while (i >= 0 && strcmp(loops->data[i].label, label) != 0) i--;
  free(label);
  return i;
}

/* Comments name the loops around a block from the outermost to the innermost. */
static void add_parent(const assembly_loops *loops, assembly_loop *loop, const char *label) {
  int parent = find_loop(loops, label);
  if (parent >= 0 && loop->depth < ASSEMBLY_MAX_DEPTH) loop->parents[loop->depth++] = parent;
}

/* Adds the line if it is an instruction: directives, comments and labels are not. */
static void add_instruction(assembly_loop *loop, text_line line) {
  if (line.n < 2 || line.at[0] != '\t' || strchr(".#/@;", line.at[1])) return;
  size_t n = line.n - 1;
  for (size_t i = 0; i + 3 < n; i++) /* two blanks, then a comment */
    if (line.at[1 + i] == ' ' && line.at[2 + i] == ' ') n = i;
  for (size_t i = 0; i < n; i++) runtime_str_addf(&loop->code, "%c", line.at[1 + i] == '\t' ? ' ' : line.at[1 + i]);
  runtime_str_add(&loop->code, "\n");
  loop->n_instructions++;
}

/* The state of reading. */
typedef struct reader {
  assembly_loops *loops;
  assembly_loop block; /* what the comments behind a label have said so far */
  int current;         /* the inner loop that the block is in; -1: none */
  bool failed;
} reader;

/* Turns the block into a loop of the list. The comment that says so comes last, so its parents are known by then. */
static void begin_loop(reader *r, bool is_inner) {
  assembly_loop loop = r->block;
  loop.is_inner = is_inner;
  r->block = (assembly_loop){0};
  if (!loop.label || !loop.name || !RUNTIME_PUSH(r->loops, loop)) {
    free(loop.label);
    free(loop.name);
    r->failed = true;
    return;
  }
  r->current = is_inner ? r->loops->n - 1 : -1;
}

/* Forgets the block before, unless it became a loop. */
static void begin_block(reader *r, text_line line) {
  free(r->block.label);
  free(r->block.name);
  r->block = (assembly_loop){.label = label_of(line), .name = name_of(line)};
  r->current = -1;
}

/* Dispatches on the comment's words; a line without any is an instruction of the current inner loop. */
static void read_line(reader *r, text_line line) {
  const char *label;
  if (begins_block(line)) begin_block(r, line);
  if ((label = find_word(line, "Parent Loop ")))
    add_parent(r->loops, &r->block, label);
  else if (find_word(line, "This Inner Loop Header: Depth="))
    begin_loop(r, true);
  else if (find_word(line, "This Loop Header: Depth="))
    begin_loop(r, false);
  else if ((label = find_word(line, "in Loop: Header="))) {
    int loop = find_loop(r->loops, label);
    r->current = loop >= 0 && r->loops->data[loop].is_inner ? loop : -1;
  } else if (r->current >= 0 && !begins_block(line))
    add_instruction(&r->loops->data[r->current], line);
}

bool assembly_read(const char *text, assembly_loops *out) {
  reader r = {.loops = out, .current = -1};
  *out = (assembly_loops){0};
  while (*text && !r.failed) read_line(&r, next_line(&text));
  free(r.block.label);
  free(r.block.name);
  for (int i = 0; i < out->n; i++) r.failed |= out->data[i].code.failed;
  return !r.failed;
}

void assembly_free(assembly_loops *loops) {
  for (int i = 0; i < loops->n; i++) {
    free(loops->data[i].label);
    free(loops->data[i].name);
    runtime_str_free(&loops->data[i].code);
  }
  RUNTIME_VEC_FREE(loops);
}
