/* rows.h: what the tests of the profiler's table of features share. A row is one function,
 *
 *     ROW(a1_scoped_timer) { ... assert_int_equal(...) ... }
 *
 * named after its row; tests/CMakeLists.txt finds it by the word ROW at the start of a line, makes the ctest entry
 * profiler.a1_scoped_timer of it, and runs it in a process of its own. */
#ifndef TENON_TESTS_PROFILER_ROWS_H
#define TENON_TESTS_PROFILER_ROWS_H

#include "profile/profiler_analysis.h"
#include "runtime/profiler/recorder.h"
#include "tests/common/check.h"

#define ROW(name) void row_##name(void **state)

typedef struct profiler_row {
  const char *name;
  CMUnitTestFunction run;
} profiler_row;
extern const profiler_row profiler_rows[]; /* ends with a NULL name */

/* Ends the process as skipped. */
#define ROW_SKIP(...) rows_skip_((char[256]){0}, __VA_ARGS__)
void rows_skip_(char text[256], const char *fmt, ...) TN_PRINTF(2, 3) __attribute__((noreturn));

/* Sanitizers and valgrind make things slow: N in a plain build, N / 100 (at least 1) under them. */
int64_t rows_scaled(int64_t n);
bool rows_is_instrumented(void);
bool rows_is_optimized(void); /* costs are only asserted in a plain build */

/* ---- CLK: a clock that says what the test says ------------------------------------------------------------------- */

void rows_clock_install(void);         /* the recorder reads the scripted clock from now on; it stands at 0 */
void rows_clock_set(uint64_t ns);      /* may also jump back */
void rows_clock_set_unix(uint64_t ns); /* of CLOCK_REALTIME; default 1 700 000 000 s */

/* Scripts scopes under CLK: rows_at(t, begin, "A"). Names must be literals. */
tn_scope rows_begin(uint64_t at_ns, const char *name);
void rows_end(uint64_t at_ns, tn_scope *scope);

/* The fixture TREE under CLK: thread 1 A 0-1000 { B 100-400 { C 150-250 }, B 500-900 }; thread 2 D 0-300. */
tn_recording *rows_tree(void);
/* What is advised on A, as text that the caller frees. CTX may be NULL. */
char *rows_advice_text(tn_context *ctx, const tn_analysis *a);

/* The total of the report TEXT, in ms; its two parts must add up to it. */
double rows_check_overhead(const char *text);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

tn_recording *rows_collect(void); /* stop if it runs, collect; fails the test if there is no recording */
/* The K-th event of NAME (0 is the first); NULL: none. */
const tn_event *rows_find(const tn_recording *r, const char *name, int k);
int64_t rows_count(const tn_recording *r, const char *name); /* events of NAME; NULL: all */
int64_t rows_self_ns(const tn_recording *r, const char *name);
int64_t rows_total_ns(const tn_recording *r, const char *name); /* plain sum */
const tn_event_arg *rows_arg(const tn_recording *r, const tn_event *e, const char *key);

int64_t rows_resident_bytes(void); /* RSS of this process */

/* ---- what else the machine does: some limits of time hold on a quiet one only ------------------------------------ */

typedef struct rows_load {
  double busy_s, total_s, own_s;
} rows_load;

rows_load rows_load_now(void);
/* Ends the row as skipped if other programs took more than a tenth of the machine's processor time since START; for
 * limits that were missed, or are about to be reported as missed. WHAT says which. */
void rows_skip_if_busy(const rows_load *start, const char *what);

#endif
