/* The test program of records, logs and applying the best. */
#include <stdlib.h>

int run_record(void);
int run_log(void);
int run_apply(void);
int run_many(void);
int run_tvm(void);
int run_buckets(void);
int run_fuzzed(void);

int main(void) {
  if (getenv("TENON_EVERY_VALUE")) return run_buckets();
  return run_record() + run_log() + run_apply() + run_many() + run_tvm() + run_buckets() + run_fuzzed();
}
