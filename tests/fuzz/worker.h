/* worker.h: between the driver and its workers: messages on a pipe, each a header and its bytes. */
#ifndef TENON_TESTS_FUZZ_WORKER_H
#define TENON_TESTS_FUZZ_WORKER_H

#include <sys/types.h>

#include "tests/fuzz/fuzz.h"

enum { FUZZ_PIPE = 3, FUZZ_TEXT = 1 << 16, FUZZ_PAIR_SECONDS = 60, FUZZ_WAIT_SECONDS = 900 };

/* 'n' a pair's number, 'p' its program, 's' its schedule so far, 'w' why it is wrong, 'c' fuzz_counts at the end. */
typedef struct fuzz_header {
  char kind;
  uint32_t bytes;
} fuzz_header;

/* test_fuzz --worker SEED FIRST STEP COUNT: runs numbers FIRST, FIRST+STEP ... until COUNT pairs were compared. */
int fuzz_worker(uint64_t seed, int64_t first, int64_t step, int64_t count);
/* The driver: runs PAIRS pairs and prints what it found. STOPS: at the first wrong one, which is printed as it is.
 * In a long
 * run every primitive and tail must have been used. Returns the number of wrong pairs, and of what was too rare. */
int fuzz_drive(const char *self, uint64_t seed, int64_t pairs, bool stops);
/* From now on this process may use FUZZ_PAIR_SECONDS of a core and FUZZ_WAIT_SECONDS in all, then a signal ends it: on
 * a busy machine a slow compilation is no hang (worker.c). */
void fuzz_limit_time(void);
/* Executes this program again. PIPE_END: what becomes FUZZ_PIPE, or -1; QUIET: without output (drive.c). */
pid_t fuzz_start(const char *self, char *const *argv, int pipe_end, bool quiet);
/* Makes a wrong pair smaller, in place: texts of FUZZ_TEXT bytes (shrink.c). */
void fuzz_shrink(const char *self, int64_t number, char *program, char *schedule);
/* cmocka: every wrong result found so far; the schedules of the golden texts (regressions.c). */
int fuzz_regressions(void);
int fuzz_golden(void);
/* cmocka: every tail strategy on small extents (tails.c). */
int fuzz_tails(void);

#endif
