/* The tables of what was drawn: programs, primitives, tails. */
#include <stdio.h>

#include "schedule/tail.h"
#include "tests/fuzz/fuzz.h"

static void print_features(const fuzz_counts *c) {
  static const char *const words[] = {
#define X(name, text) text,
      FUZZ_FEATURES(X)
#undef X
  };
  printf("  %-34s %9s\n", "programs with", "pairs");
  for (int i = 1; i <= FUZZ_MAX_STAGES; i++)
    if (c->stages[i])
      printf("  %d stage%s%-26s %9lld\n", i, i > 1 ? "s" : " ", i == FUZZ_MAX_STAGES ? " or more" : "",
             (long long)c->stages[i]);
  for (int i = 0; i <= TN_MAX_RANK; i++)
    if (c->ranks[i]) printf("  a tensor of rank %-17d %9lld\n", i, (long long)c->ranks[i]);
  for (int i = 0; i < TN_DTYPE_COUNT; i++)
    printf("  a tensor of %-22s %9lld\n", tn_dtype_name((tn_dtype)i), (long long)c->dtypes[i]);
  for (int i = 0; i < FUZZ_FEATURE_COUNT; i++) printf("  %-34s %9lld\n", words[i], (long long)c->features[i]);
}

static void print_mixed(const fuzz_counts *c) {
  static const char *const words[] = {"none", "one", "two", "three or more"};
  printf("  of two or more dtypes, tensorize, scans, symbols, strides and calls of C functions\n");
  for (int i = 0; i <= FUZZ_MANY_KINDS; i++)
    printf("    %-32s %9lld  %3.0f%%\n", words[i], (long long)c->mixed[i],
           100.0 * (double)c->mixed[i] / (double)RUNTIME_MAX(c->pairs, 1));
}

/* Returns how many were used too rarely. */
static int print_primitives(const fuzz_counts *c, int64_t least) {
  static const char *const words[] = {
#define X(name, word) word,
      FUZZ_PRIMITIVES(X)
#undef X
  };
  int rare = 0;
  printf("  %-34s %9s %9s\n", "primitive", "accepted", "refused");
  for (int i = 0; i < FUZZ_PRIMITIVE_COUNT; i++) {
    bool is_rare = c->accepted[i] < least;
    printf("  %-34s %9lld %9lld%s\n", words[i], (long long)c->accepted[i], (long long)c->refused[i],
           is_rare ? "   TOO FEW" : "");
    rare += is_rare;
  }
  return rare;
}

static int print_tails(const fuzz_counts *c, int64_t least) {
  int rare = 0;
  for (int i = 0; i < TN_TAIL_COUNT; i++) {
    bool is_rare = c->tails[i] < least;
    printf("  tail %-29s %9lld%s\n", schedule_tail_words[i], (long long)c->tails[i], is_rare ? "   TOO FEW" : "");
    rare += is_rare;
  }
  return rare;
}

static void print_families(const fuzz_counts *c) {
  printf("  pairs with a generic schedule: %lld; by plans of", (long long)c->generic_pairs);
  for (int i = 0; i < PLAN_FAMILIES; i++)
    printf(" %s %lld%s", schedule_family_at(i)->name, (long long)c->families[i], i + 1 < PLAN_FAMILIES ? "," : "\n");
}

int fuzz_print_counts(const fuzz_counts *c, int64_t least) {
  print_features(c);
  print_mixed(c);
  int rare = print_primitives(c, least) + print_tails(c, least);
  print_families(c);
  printf("  not run: %lld programs refused, %lld with unsafe roundings, %lld schedules too slow\n",
         (long long)c->programs_refused, (long long)c->programs_unsafe, (long long)c->schedules_too_slow);
  return rare;
}
