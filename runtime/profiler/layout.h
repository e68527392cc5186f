/* layout.h: times, bytes and percentages as text, and tables with aligned cells. The table of tuning times
 * is one, and the reports in profile/ are others. */
#ifndef TENON_RUNTIME_PROFILER_LAYOUT_H
#define TENON_RUNTIME_PROFILER_LAYOUT_H

#include "runtime/base.h"

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* A unit of time for the numbers of a table. */
typedef struct profiler_unit {
  const char *name;
  double ns; /* nanoseconds in one */
} profiler_unit;
const profiler_unit *profiler_find_unit(const char *name); /* NULL: there is none */

/* The text of a cell, returned by value. */
typedef struct profiler_text {
  char text[40];
} profiler_text;
/* Three decimals and the unit. UNIT NULL: s from 1 s on, ms from 1 ms on, otherwise us. */
profiler_text profiler_time_text(double ns, const profiler_unit *unit);
profiler_text profiler_bytes_text(int64_t bytes);               /* B, KB, MB, GB at 1024 */
profiler_text profiler_percent_text(double part, double whole); /* two decimals; NaN when WHOLE is 0 */

/* ---- tables of text (layout.c) ----------------------------------------------------------------------------------- */

/* The cells of a table, row by row; the first row is the header. Zero-initialise; free with profiler_layout_free. */
typedef struct profiler_layout {
  runtime_arena arena;
  RUNTIME_VEC(const char *) cells;
  int n_columns;
  bool failed;
} profiler_layout;
/* Adds a cell with a copy of TEXT. If it is longer than MOST it is cut and ends in "..." (MOST <= 0: never cut). */
void profiler_layout_cell(profiler_layout *layout, const char *text, int most);
/* Adds a cell with the text that printf would write; it is never cut. */
void profiler_layout_cellf(profiler_layout *layout, const char *fmt, ...) TN_PRINTF(2, 3);
/* Adds the header. The number of titles is the number of columns. */
void profiler_layout_titles(profiler_layout *layout, const char *const *titles, int n);
/* Prints columns that are right-aligned, at least LEAST wide and separated by two blanks, with rules of
 * dashes around header and rows. The first column is left-aligned if FIRST_LEFT. */
void profiler_layout_print(const profiler_layout *layout, int least, bool first_left, runtime_str *out);
/* Prints the cells like TVM's tables: right-aligned with a blank on either side, joined by '|', with a rule
 * below the header and after the last row. No newline at the end. */
void profiler_layout_grid(const profiler_layout *layout, runtime_str *out);
void profiler_layout_free(profiler_layout *layout);

#endif
