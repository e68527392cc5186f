/* analysis_rows.c: rows of typed cells, also as CSV: what parsers and analysers exchange. */
#include <errno.h>
#include <math.h>

#include "profile/analysis.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

tn_rows *analysis_rows_new(const tn_column *columns, int n_columns) {
  tn_rows *rows = calloc(1, sizeof *rows);
  if (!rows) return NULL;
  rows->strings.arena = &rows->arena;
  rows->columns = columns;
  rows->n_columns = n_columns;
  return rows;
}

void analysis_rows_free(tn_rows *rows) {
  if (!rows) return;
  RUNTIME_VEC_FREE(&rows->cells);
  runtime_names_free(&rows->strings);
  runtime_arena_free(&rows->arena);
  free(rows);
}

int tn_rows_count(const tn_rows *rows) { return rows ? rows->n : 0; }

const tn_column *tn_rows_columns(const tn_rows *rows, int *n) {
  if (n) *n = rows ? rows->n_columns : 0;
  return rows ? rows->columns : NULL;
}

const tn_cell *tn_rows_at(const tn_rows *rows, int row) {
  return rows && row >= 0 && row < rows->n ? &rows->cells.data[row * rows->n_columns] : NULL;
}

/* Texts are interned, since a recording has few names and many rows. A text is never missing, only empty. */
static bool add_cell(tn_rows *rows, int column, tn_cell cell) {
  if (rows->columns[column].type == TN_CELL_TEXT) {
    if (cell.is_missing || !cell.text) cell.text = "";
    cell.is_missing = false;
    cell.text = runtime_intern(&rows->strings, cell.text, strlen(cell.text));
    if (!cell.text) return false;
  }
  return RUNTIME_PUSH(&rows->cells, cell);
}

/* After the first failure nothing is added any more, and the row that failed does not count. */
bool analysis_rows_add_cells(tn_rows *rows, const tn_cell *cells) {
  for (int c = 0; c < rows->n_columns && !rows->failed; ++c) rows->failed = !add_cell(rows, c, cells[c]);
  if (!rows->failed) ++rows->n;
  return !rows->failed;
}

/* More columns than any table has. */
enum { MOST_COLUMNS = 32 };

/* INT64_MIN and numbers that are not finite stand for a missing value. Arguments must have exactly the
 * types of the columns: they pass through `...`, so an int in place of an int64_t reads garbage. */
bool tn_rows_add(tn_rows *rows, ...) {
  tn_cell cells[MOST_COLUMNS] = {{0}};
  va_list args;
  va_start(args, rows);
  for (int c = 0; c < rows->n_columns && c < MOST_COLUMNS; ++c) {
    switch (rows->columns[c].type) {
      case TN_CELL_TEXT: cells[c].text = va_arg(args, const char *); break;
      case TN_CELL_INT: cells[c].i64 = va_arg(args, int64_t), cells[c].is_missing = cells[c].i64 == INT64_MIN; break;
      case TN_CELL_REAL: cells[c].f64 = va_arg(args, double), cells[c].is_missing = !isfinite(cells[c].f64); break;
    }
  }
  va_end(args);
  return analysis_rows_add_cells(rows, cells);
}

int analysis_column(const tn_rows *rows, const char *name) {
  return runtime_find_row(rows->columns, rows->n_columns, sizeof *rows->columns, name);
}

/* NULL if the column, the row or the value is missing; callers use a neutral value then. */
static const tn_cell *find_cell(const tn_rows *rows, int row, const char *column, tn_cell_type *type) {
  int c = rows ? analysis_column(rows, column) : -1;
  const tn_cell *cells = c >= 0 ? tn_rows_at(rows, row) : NULL;
  if (cells) *type = rows->columns[c].type;
  return cells && !cells[c].is_missing ? &cells[c] : NULL;
}

double analysis_number(const tn_rows *rows, int row, const char *column) {
  tn_cell_type type;
  const tn_cell *cell = find_cell(rows, row, column, &type);
  if (!cell || type == TN_CELL_TEXT) return cell ? runtime_parse_float(cell->text, NULL) : 0;
  return type == TN_CELL_INT ? (double)cell->i64 : cell->f64;
}

const char *analysis_text(const tn_rows *rows, int row, const char *column) {
  tn_cell_type type;
  const tn_cell *cell = find_cell(rows, row, column, &type);
  return cell && type == TN_CELL_TEXT ? cell->text : "";
}

bool analysis_is_missing(const tn_rows *rows, int row, const char *column) {
  tn_cell_type type;
  return !find_cell(rows, row, column, &type);
}

double analysis_fact(const tn_rows *run, const char *key) {
  for (int i = 0; i < run->n; ++i) {
    if (strcmp(analysis_text(run, i, "key"), key) == 0) return analysis_number(run, i, "value");
  }
  return NAN;
}

/* ---- CSV out ----------------------------------------------------------------------------------------------------- */

/* A missing number is an empty cell, which reads back as missing. Texts are never missing, only empty. */
static void write_cell(profiler_out *out, tn_cell_type type, const tn_cell *cell) {
  if (cell->is_missing) return;
  switch (type) {
    case TN_CELL_TEXT: profiler_out_csv(out, cell->text); break;
    case TN_CELL_INT: profiler_out_i64(out, cell->i64); break;
    case TN_CELL_REAL: profiler_out_f64(out, cell->f64); break;
  }
}

void analysis_write_csv(profiler_out *out, const tn_rows *rows) {
  for (int c = 0; c < rows->n_columns; ++c) {
    if (c) PROFILER_OUT_LITERAL(out, ",");
    profiler_out_text(out, rows->columns[c].name);
  }
  PROFILER_OUT_LITERAL(out, "\n");
  for (int i = 0; i < rows->n; ++i) {
    for (int c = 0; c < rows->n_columns; ++c) {
      if (c) PROFILER_OUT_LITERAL(out, ",");
      write_cell(out, rows->columns[c].type, &tn_rows_at(rows, i)[c]);
    }
    PROFILER_OUT_LITERAL(out, "\n");
  }
}

/* ---- CSV in ------------------------------------------------------------------------------------------------------ */

/* A text being read; AT moves through it. */
typedef struct csv {
  const char *at;
  runtime_str cell; /* the cell read last */
  bool is_line_end; /* that cell was the last of its line */
} csv;

/* Inside quotes a quote is written twice. False: the text ends inside the quotes. */
static bool read_quoted(csv *x) {
  for (++x->at; *x->at; ++x->at) {
    if (*x->at == '"' && *++x->at != '"') return true;
    runtime_str_addn(&x->cell, x->at, 1);
  }
  return false;
}

/* Reads a cell and what ends it. */
static bool read_cell(csv *x) {
  x->cell.n = 0;
  runtime_str_add(&x->cell, "");
  if (*x->at == '"') {
    if (!read_quoted(x)) return false;
  } else {
    size_t n = strcspn(x->at, ",\n\"");
    runtime_str_addn(&x->cell, x->at, n);
    x->at += n;
  }
  x->is_line_end = *x->at == '\n';
  if (*x->at != ',' && *x->at != '\n') return false;
  ++x->at;
  return !x->cell.failed;
}

/* The whole cell must be the number, without blanks. */
static bool parse_cell(tn_rows *rows, const char *text, tn_cell_type type, tn_cell *cell) {
  char *end;
  *cell = (tn_cell){.is_missing = *text == '\0' && type != TN_CELL_TEXT};
  if (cell->is_missing) return true;
  errno = 0;
  switch (type) {
    case TN_CELL_TEXT: return (cell->text = runtime_intern(&rows->strings, text, strlen(text))) != NULL;
    case TN_CELL_INT: return cell->i64 = strtoll(text, &end, 10), !*end && errno == 0;
    case TN_CELL_REAL: return cell->f64 = runtime_parse_float(text, &end), !*end && isfinite(cell->f64);
  }
  return false;
}

/* Names and order of the columns must match: a table of another version is refused rather than guessed at. */
static bool read_header(csv *x, const tn_rows *rows) {
  for (int c = 0; c < rows->n_columns; ++c) {
    if (!read_cell(x) || strcmp(x->cell.data, rows->columns[c].name) != 0) return false;
    if (x->is_line_end != (c == rows->n_columns - 1)) return false;
  }
  return true;
}

/* A row with too few or too many cells is broken: shifted columns would be mistaken for others. */
static bool read_row(csv *x, tn_rows *rows) {
  tn_cell cells[MOST_COLUMNS];
  for (int c = 0; c < rows->n_columns; ++c) {
    if (!read_cell(x) || !parse_cell(rows, x->cell.data, rows->columns[c].type, &cells[c])) return false;
    if (x->is_line_end != (c == rows->n_columns - 1)) return false;
  }
  return analysis_rows_add_cells(rows, cells);
}

/* *WHY is a static text. Rows before the broken one were added; the caller drops them all. */
bool analysis_read_csv(const char *text, tn_rows *rows, const char **why) {
  csv x = {.at = text};
  bool good = read_header(&x, rows);
  *why = good ? "a row is broken" : "its columns are not those of this version";
  while (good && *x.at) good = read_row(&x, rows);
  runtime_str_free(&x.cell);
  return good;
}
