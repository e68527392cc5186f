/* layout.h: time, bytes and percentages as text; tables with aligned cells. The tuning-time table is one, the reports
 * in profile/ are others. */
#ifndef TENON_RUNTIME_PROFILER_LAYOUT_H
#define TENON_RUNTIME_PROFILER_LAYOUT_H

#include "runtime/base.h"

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* A unit of time that a table's numbers are told in. */
typedef struct profiler_unit {
  const char *name;
  double ns; /* of one */
} profiler_unit;
const profiler_unit *profiler_find_unit(const char *name); /* NULL: there is none */

/* A cell's text, by value. */
typedef struct profiler_text {
  char text[40];
} profiler_text;
/* Three decimals and the unit; UNIT NULL: s from 1 s, ms from 1 ms, else us. */
profiler_text profiler_time_text(double ns, const profiler_unit *unit);
profiler_text profiler_bytes_text(int64_t bytes);               /* B, KB, MB, GB at 1024 */
profiler_text profiler_percent_text(double part, double whole); /* two decimals; NaN when WHOLE is 0 */

/* ---- tables of text (layout.c) ----------------------------------------------------------------------------------- */

/* Cells row by row, the first row is the header. Zero-initialise. */
typedef struct profiler_layout {
  runtime_arena arena;
  RUNTIME_VEC(const char *) cells;
  int n_columns;
  bool failed;
} profiler_layout;
/* Copies TEXT; cut to MOST characters with "..." at the end when it is longer (MOST <= 0: never cut). */
void profiler_layout_cell(profiler_layout *layout, const char *text, int most);
/* The text that printf would write, never cut. */
void profiler_layout_cellf(profiler_layout *layout, const char *fmt, ...) TN_PRINTF(2, 3);
/* A header: as many cells as there are titles, which set the number of columns. */
void profiler_layout_titles(profiler_layout *layout, const char *const *titles, int n);
/* Columns right-aligned, at least LEAST wide, two blanks between, rules of dashes around header and rows. The first
 * column is left-aligned if FIRST_LEFT. */
void profiler_layout_print(const profiler_layout *layout, int least, bool first_left, runtime_str *out);
/* The same cells as TVM's tables have them: right-aligned with a blank on either side, joined by '|', a rule as long as
 * a line below the header and behind the last row. No newline at the end. */
void profiler_layout_grid(const profiler_layout *layout, runtime_str *out);
void profiler_layout_free(profiler_layout *layout);

#endif
