/* test_fuzz                      regressions, then TENON_FUZZ_PAIRS pairs (5000; 300 with a sanitizer) from
 *                                TENON_FUZZ_SEED
 *                                TENON_FUZZ_CC="cc -O1 ...": kernels through C source and that compiler
 *                                TENON_FUZZ_TARGET="cpu=haswell": all kernels for it; else half of them for narrower machines
 *                                TENON_FUZZ_JOBS=n: so many at a time; else one for each core
 *                                TENON_FUZZ_STOP=1: ends at the first wrong result, which is not shrunk
 * test_fuzz --replay P S [N]     one pair from texts, with the data of pair N
 * test_fuzz --api N SEED         a C program that makes N random schedules by calls
 * test_fuzz --worker ...         what the driver starts */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/worker.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { DEFAULT_PAIRS = 300 };
#else
enum { DEFAULT_PAIRS = 5000 };
#endif

static int replay(int argc, char **argv) {
  static char why[1 << 16];
  uint64_t number = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
  fuzz_limit_time();
  fuzz_status status = fuzz_run_texts(argv[2], argv[3], number, why, sizeof why);
  printf("%s\n", status == FUZZ_AGREES ? "agrees" : why);
  return status == FUZZ_DIFFERS;
}

static uint64_t number(char **argv, int i) { return strtoull(argv[i], NULL, 10); }

static int drive(void) {
  const char *pairs = getenv("TENON_FUZZ_PAIRS"), *seed = getenv("TENON_FUZZ_SEED");
  bool stops = getenv("TENON_FUZZ_STOP") != NULL;
  char self[4096] = {0};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("MALLOC_PERTURB_", "165", 1);
  /* The suite's run is the same every time; a longer one asked for goes where none was before. */
  uint64_t chosen = seed ? strtoull(seed, NULL, 10) : pairs ? (uint64_t)time(NULL) : 1;
  int64_t n = pairs ? strtoll(pairs, NULL, 10) : DEFAULT_PAIRS;
  if (stops) return fuzz_regressions() || fuzz_drive(self, chosen, n, true) || fuzz_golden() || fuzz_tails();
  int wrong = fuzz_regressions() + fuzz_golden() + fuzz_tails();
  wrong += fuzz_drive(self, chosen, n, false);
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  if (argc >= 4 && strcmp(argv[1], "--replay") == 0) return replay(argc, argv);
  if (argc == 4 && strcmp(argv[1], "--api") == 0) return fuzz_print_api((int)number(argv, 2), number(argv, 3));
  if (argc == 6 && strcmp(argv[1], "--worker") == 0)
    return fuzz_worker(number(argv, 2), (int64_t)number(argv, 3), (int64_t)number(argv, 4), (int64_t)number(argv, 5));
  return drive();
}
