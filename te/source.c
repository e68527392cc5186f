/* source.c: reads a program's file and what it includes. The statement `include "other.te"` is replaced by
 * the text of that file before anything is parsed. The beginning of a statement is found without the
 * parser: it is after a newline or semicolon outside parentheses, brackets and braces. */
#include "te/source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* How deep files may include each other, and how many files a program may have. */
enum { MAX_DEPTH = 16, MAX_FILES = 256 };

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The piece that contains the place AT of the whole text. */
static const te_piece *piece_at(const te_sources *s, const char *at) {
  size_t offset = (size_t)(at - s->text.data);
  int i = s->pieces.n - 1;
  while (i > 0 && s->pieces.data[i].begin > offset) i--;
  return &s->pieces.data[i];
}

/* The place in a file's own text that AT is a copy of. */
static const char *own_place(const te_sources *s, const char *at, const te_file **file) {
  const te_piece *piece = piece_at(s, at);
  *file = &s->files.data[piece->file];
  size_t offset = piece->offset + ((size_t)(at - s->text.data) - piece->begin);
  return (*file)->text + RUNTIME_MIN(offset, strlen((*file)->text));
}

/* The line of a place in a file's own text, from 1. */
static int line_in(const te_file *file, const char *at) {
  int line = 1;
  for (const char *c = file->text; c < at; c++) line += *c == '\n';
  return line;
}

const te_file *te_source_of_place(const te_sources *sources, const char *at, int *line) {
  const te_file *file;
  const char *own = own_place(sources, at, &file);
  *line = line_in(file, own);
  return file;
}

/* Reports "main.te: parse error at line ..."; for an included file also where it is included. AT is in
 * FILE's own text. */
static tn_status fail_in_file(const te_sources *s, const te_file *file, const char *at, const char *text) {
  runtime_str what = {0}, from = {0};
  runtime_str_addf(&what, "%s: parse error at", file->path);
  if (file->parent >= 0) {
    const te_file *parent = &s->files.data[file->parent];
    runtime_str_addf(&from, " (%s is included in line %d of %s)", file->path, line_in(parent, file->included_at),
                     parent->path);
  }
  tn_status status = runtime_fail_at(s->ctx, what.failed ? "parse error at" : what.data, file->text, at, "%s%s", text,
                                     from.n > 0 && !from.failed ? from.data : "");
  runtime_str_free(&what);
  runtime_str_free(&from);
  return status;
}

tn_status te_fail_in_sources(const te_sources *sources, const char *at, const char *text) {
  const te_file *file;
  const char *own = own_place(sources, at, &file);
  return fail_in_file(sources, file, own, text);
}

/* ---- finding statements ------------------------------------------------------------------------------------------ */

/* The place after a comment or string that begins at AT, or AT. A string ends at the end of its line at the latest. */
static const char *skip_quoted(const char *at) {
  if (*at == '#') return at + strcspn(at, "\n");
  if (*at != '"') return at;
  at += 1 + strcspn(at + 1, "\"\n");
  return *at == '"' ? at + 1 : at;
}

/* If an include statement begins at AT: the opening quote of its file name. Otherwise NULL. */
static const char *name_of_include(const char *at) {
  static const char word[] = "include";
  size_t n = sizeof word - 1;
  if (strncmp(at, word, n) != 0) return NULL;
  const char *name = at + n + strspn(at + n, " \t");
  return *name == '"' ? name : NULL;
}

/* The next include at or after AT, or the end of the text. BEGINS: AT is the beginning of a statement. */
static const char *find_include(const char *at, bool begins) {
  int nesting = 0;
  for (; *at; at++) {
    const char *behind = skip_quoted(at);
    if (behind > at) begins = false, at = behind;
    if (!*at) break;
    if (begins && name_of_include(at)) return at;
    if (strchr("([{", *at)) nesting++;
    if (strchr(")]}", *at) && nesting > 0) nesting--;
    if ((*at == '\n' || *at == ';') && nesting == 0)
      begins = true;
    else if (!strchr(" \t\r\n", *at))
      begins = false;
  }
  return at;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The path is relative to the including file, unless it is absolute. */
char *te_path_beside(const te_file *file, const char *name, size_t length) {
  const char *slash = *name == '/' ? NULL : strrchr(file->path, '/');
  runtime_str path = {0};
  if (slash) runtime_str_addn(&path, file->path, (size_t)(slash + 1 - file->path));
  runtime_str_addn(&path, name, length);
  if (!path.failed) return path.data;
  runtime_str_free(&path);
  return NULL;
}

/* Reports TEXT at the include AT in file FILE, or without a place if no file includes it (FILE < 0). Always false. */
TN_PRINTF(4, 5) static bool refuse(const te_sources *s, int file, const char *at, const char *fmt, ...) {
  char text[1024];
  RUNTIME_PRINT_ARGS(text, fmt);
  if (file < 0)
    runtime_fail(s->ctx, TN_ERROR_IO, "%s", text);
  else
    fail_in_file(s, &s->files.data[file], at, text);
  return false;
}

/* Checks a file before it is read: it must be a regular file, and no longer than a text may be. */
static bool look_at(const te_sources *s, const te_file *file, struct stat *info) {
  int64_t most = runtime_limits(s->ctx)->text_bytes;
  int parent = file->parent;
  if (stat(file->path, info) != 0)
    return refuse(s, parent, file->included_at, "cannot open %s: %s", file->path, strerror(errno));
  if (!S_ISREG(info->st_mode)) return refuse(s, parent, file->included_at, "%s is no regular file", file->path);
  if (info->st_size <= most) return true;
  RUNTIME_FAIL_LIMIT(s->ctx, TN_ERROR_PARSE, text_bytes, "%s is longer than %lld bytes", file->path, (long long)most);
  return false;
}

/* The number of the file with this inode among those read so far; -1: none. */
static int find_file(const te_sources *s, const struct stat *info) {
  for (int i = 0; i < s->files.n; i++)
    if (s->files.data[i].inode == (uint64_t)info->st_ino && s->files.data[i].device == (uint64_t)info->st_dev) return i;
  return -1;
}

/* Appends a file's text between FROM and TO to the whole, and notes where it came from, for messages. False
 * after a message: no memory, or more text than the context allows. */
static bool add_text(te_sources *s, int file, const char *from, const char *to) {
  te_piece piece = {s->text.n, (size_t)(from - s->files.data[file].text), file};
  runtime_str_addn(&s->text, from, (size_t)(to - from));
  bool added = RUNTIME_PUSH(&s->pieces, piece) && !s->text.failed;
  if (!added) runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory");
  int64_t most = runtime_limits(s->ctx)->text_bytes;
  if (!added || (int64_t)s->text.n <= most) return added;
  RUNTIME_FAIL_LIMIT(s->ctx, TN_ERROR_PARSE, text_bytes, "%s and what it includes is longer than %lld bytes",
                     s->files.data[0].path, (long long)most);
  return false;
}

static bool read_file(te_sources *s, te_file file, int depth);

/* Reads the file of the include statement at AT. *BEHIND: where the text continues. */
static bool include(te_sources *s, int file, const char *at, const char **behind, int depth) {
  const char *quote = name_of_include(at), *name = quote + 1;
  size_t length = strcspn(name, "\"\n");
  if (name[length] != '"') return refuse(s, file, quote, "the file's name has no closing quote");
  if (length == 0) return refuse(s, file, quote, "expected a file's name, as in include \"other.te\"");
  *behind = name + length + 1;
  const char *rest = *behind + strspn(*behind, " \t\r");
  if (*rest && !strchr("\n;#", *rest)) return refuse(s, file, rest, "expected the end of the statement");
  if (depth == MAX_DEPTH) return refuse(s, file, at, "files include each other %d deep, which is the most", MAX_DEPTH);
  char *path = te_path_beside(&s->files.data[file], name, length);
  if (!path) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory"), false;
  return read_file(s, (te_file){.path = path, .parent = file, .included_at = at}, depth + 1);
}

/* Appends a file's text piece by piece, with what it includes in between. */
static bool expand(te_sources *s, int file, int depth) {
  const char *text = s->files.data[file].text, *from = text;
  bool begins = true;
  for (;;) {
    const char *at = find_include(from, begins);
    if (!add_text(s, file, from, at)) return false;
    if (!*at) return true;
    if (!include(s, file, at, &from, depth)) return false;
    begins = false;
  }
}

/* Reads a file and appends it. A newline follows, so that the includer's next statement begins on a new line. */
static bool read_new(te_sources *s, int at, int depth) {
  char *text = runtime_read_text(s->ctx, s->files.data[at].path);
  if (!text) return false;
  s->files.data[at].text = text;
  s->files.data[at].is_open = true;
  bool ok = expand(s, at, depth);
  runtime_str_add(&s->text, "\n");
  s->files.data[at].is_open = false;
  return ok;
}

/* Takes over FILE's path. */
static bool read_file(te_sources *s, te_file file, int depth) {
  struct stat info;
  bool is_there = look_at(s, &file, &info), reads = false;
  int before = is_there ? find_file(s, &info) : -1;
  if (before >= 0 && s->files.data[before].is_open)
    is_there = refuse(s, file.parent, file.included_at, "%s includes itself, directly or through others", file.path);
  if (is_there && before < 0 && s->files.n == MAX_FILES)
    is_there = refuse(s, file.parent, file.included_at, "a program has more than %d files", MAX_FILES);
  if (is_there && before < 0) {
    file.inode = (uint64_t)info.st_ino;
    file.device = (uint64_t)info.st_dev;
    reads = RUNTIME_PUSH(&s->files, file);
    is_there = reads || runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory") == TN_OK;
  }
  if (!reads) free(file.path);
  return reads ? read_new(s, s->files.n - 1, depth) : is_there;
}

bool te_read_sources(tn_context *ctx, te_sources *sources, const char *path) {
  *sources = (te_sources){.ctx = ctx};
  char *own = strdup(path);
  if (!own) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory"), false;
  return read_file(sources, (te_file){.path = own, .parent = -1}, 0);
}

void te_free_sources(te_sources *sources) {
  for (int i = 0; i < sources->files.n; i++) {
    free(sources->files.data[i].path);
    free(sources->files.data[i].text);
  }
  RUNTIME_VEC_FREE(&sources->files);
  RUNTIME_VEC_FREE(&sources->pieces);
  runtime_str_free(&sources->text);
}
