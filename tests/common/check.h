/* check.h: what every test program uses besides cmocka: contexts that record messages, golden texts.
 * Include it instead of <cmocka.h>: it brings what cmocka needs. */
#ifndef TENON_TESTS_CHECK_H
#define TENON_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base.h"

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* A context whose messages of all severities are appended, a line each, to a record. Free with check_context_free. */
tn_context *check_context(void);
tn_context *check_context_debug(const char *debug); /* with tn_context_options.debug */
void check_context_free(tn_context *ctx);
/* All messages since the context was made or cleared: "error: ...\nwarning: ...\n". */
const char *check_messages(const tn_context *ctx);

/* The context failed with STATUS and its message holds every one of the given texts; then clears the context. */
#define check_fails(ctx, status, ...) \
  check_fails_at((ctx), (status), (const char *[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
void check_fails_at(tn_context *ctx, tn_status status, const char *const *parts, const char *file, int line);
/* The same without looking at the status. */
#define check_message_has(ctx, ...) \
  check_fails_at((ctx), TN_OK, (const char *[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
/* The context has no failure; shows its message if it has. */
#define check_ok(ctx) check_ok_at((ctx), __FILE__, __LINE__)
void check_ok_at(tn_context *ctx, const char *file, int line);

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Compares with tests/golden/NAME and shows the lines that differ. With TENON_UPDATE_GOLDEN=1 in the environment it
 * writes the file instead (also for names with a folder: "tir/matmul.txt"). */
#define check_golden(name, text) check_golden_at((name), (text), __FILE__, __LINE__)
void check_golden_at(const char *name, const char *text, const char *file, int line);
/* Compares two texts and shows the lines that differ. */
#define check_text(got, expected) check_text_at((got), (expected), __FILE__, __LINE__)
void check_text_at(const char *got, const char *expected, const char *file, int line);
/* TEXT contains PART (or does not); shows TEXT otherwise. */
#define check_has(text, part) check_has_at((text), (part), true, __FILE__, __LINE__)
#define check_has_not(text, part) check_has_at((text), (part), false, __FILE__, __LINE__)
void check_has_at(const char *text, const char *part, bool wanted, const char *file, int line);

/* ---- tables of tests --------------------------------------------------------------------------------------------- */

/* Runs one named cmocka test for every row of a table; each row begins with its name (const char *), and FN gets the
 * row as *state. Returns the number of failed tests.
 *
 *     static const struct row { const char *name; int a, b; } rows[] = {...};
 *     static void one(void **state) { const struct row *row = *state; ... }
 *     int main(void) { return CHECK_TABLE("sums", rows, one) + cmocka_run_group_tests(...); } */
#define CHECK_TABLE(group, rows, fn) \
  check_table((group), (rows), sizeof *(rows), sizeof(rows) / sizeof *(rows), (fn), NULL, NULL)
int check_table(const char *group, const void *rows, size_t row_bytes, size_t n, CMUnitTestFunction fn,
                CMFixtureFunction group_setup, CMFixtureFunction group_teardown);
/* Runs a plain array of tests; for files of a test program that several tables are spread over. */
#define CHECK_TESTS(group, tests) _cmocka_run_group_tests((group), (tests), sizeof(tests) / sizeof *(tests), NULL, NULL)

#endif
