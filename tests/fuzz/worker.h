/* worker.h: between the driver and its workers: messages on a pipe, each a header and its bytes. */
#ifndef TENON_TESTS_FUZZ_WORKER_H
#define TENON_TESTS_FUZZ_WORKER_H

#include "tests/fuzz/fuzz.h"

enum { FUZZ_PIPE = 3, FUZZ_TEXT = 1 << 16, FUZZ_PAIR_SECONDS = 60 };

/* 'n' a pair's number, 'p' its program, 's' its schedule so far, 'w' why it is wrong, 'c' fuzz_counts at the end. */
typedef struct fuzz_header {
  char kind;
  uint32_t bytes;
} fuzz_header;

/* test_fuzz --worker SEED FIRST STEP COUNT: runs numbers FIRST, FIRST+STEP ... until COUNT pairs were compared. */
int fuzz_worker(uint64_t seed, int64_t first, int64_t step, int64_t count);
/* The driver: runs PAIRS pairs and prints what it found. STOPS: at the first wrong one, which is printed as it is.
 * Returns the number of wrong pairs. */
int fuzz_drive(const char *self, uint64_t seed, int64_t pairs, bool stops);
/* cmocka: every wrong result found so far (regressions.c). */
int fuzz_regressions(void);
/* cmocka: every tail strategy on small extents (tails.c). */
int fuzz_tails(void);

#endif
