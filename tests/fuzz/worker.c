/* A worker: makes pairs from numbers and runs them, telling the driver before each step what it is at. */
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/fuzz/externs.h"
#include "tests/fuzz/worker.h"

static void tell(char kind, const void *data, size_t n) {
  fuzz_header header = {kind, (uint32_t)n};
  if (write(FUZZ_PIPE, &header, sizeof header) != sizeof header || write(FUZZ_PIPE, data, n) != (ssize_t)n) _exit(3);
}

static void tell_text(char kind, const char *text) { tell(kind, text, strlen(text)); }

/* How many pairs share a context, and so LLVM's machine and linker: they see what is left behind, too. */
enum { PAIRS_A_CONTEXT = 32 };

typedef struct pair {
  tn_context *ctx;
  runtime_rng rng;
  runtime_str program, schedule;
  char why[4096];
} pair;

static fuzz_status wrong(const char *why) {
  tell_text('w', why);
  return FUZZ_DIFFERS;
}

static void count_families(const tn_schedule *s, fuzz_counts *counts) {
  const char *text = schedule_plan_text(s);
  for (int i = 0; text && i < PLAN_FAMILIES; i++) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"family\":\"%s\"", schedule_family_at(i)->name);
    counts->families[i] += strstr(text, pattern) != NULL;
  }
}

/* One pair in four, of programs of a family three in four; or all with TENON_FUZZ_PLANS. */
static bool takes_plans(uint64_t number, bool is_of_family) {
  return (number % 4 == 3) != is_of_family || getenv("TENON_FUZZ_PLANS");
}

/* Parsing may refuse a program (an input that nothing needs); that is counted. */
static fuzz_status run(pair *x, uint64_t number, fuzz_counts *counts) {
  fuzz_bound bounds[FUZZ_MAX_BOUNDS];
  bool is_of_family = fuzz_generate(&x->rng, &x->program);
  tell_text('p', x->program.data);
  tn_program *p = tn_program_parse(x->ctx, x->program.data, 0, NULL);
  if (!p) return counts->programs_refused++, tn_context_clear(x->ctx), FUZZ_SKIPPED;
  fuzz_bind_externs(p, fuzz_links_ir(number));
  if (!fuzz_bounds(p, FUZZ_MAX_BOUNDS, bounds)) return counts->programs_unsafe++, FUZZ_SKIPPED;
  tn_schedule *s = tn_schedule_new(p);
  if (!s) return wrong(tn_context_message(x->ctx));
  bool is_generic = takes_plans(number, is_of_family);
  const char *why = is_generic ? fuzz_generic_schedule(&x->rng, s, &x->schedule)
                               : fuzz_draw_schedule(&x->rng, s, &x->schedule, counts);
  tell_text('s', x->schedule.data ? x->schedule.data : "");
  if (why && fuzz_is_unbounded(why)) return counts->programs_unsafe++, FUZZ_SKIPPED; /* a trial of tensorize */
  if (why) return wrong(why);
  fuzz_status status = fuzz_run_pair(p, s, number, x->why, sizeof x->why);
  if (is_generic && status == FUZZ_AGREES) count_families(s, counts);
  tn_schedule_free(s);
  if (status == FUZZ_DIFFERS) return wrong(x->why);
  if (status == FUZZ_SKIPPED)
    counts->schedules_too_slow++;
  else
    counts->pairs++, counts->generic_pairs += is_generic,
        fuzz_count_features(p, x->schedule.data ? x->schedule.data : "", counts);
  return status;
}

void fuzz_limit_time(void) {
  struct itimerval cpu = {.it_value.tv_sec = FUZZ_PAIR_SECONDS};
  setitimer(ITIMER_PROF, &cpu, NULL);
  alarm(FUZZ_WAIT_SECONDS);
}

static fuzz_status run_number(tn_context *ctx, uint64_t seed, int64_t number, fuzz_counts *counts) {
  pair x = {.ctx = ctx, .rng = {runtime_hash(&number, sizeof number, seed)}};
  tn_context_clear(ctx);
  tell('n', &number, sizeof number);
  fuzz_status status = run(&x, (uint64_t)number, counts);
  runtime_str_free(&x.program);
  runtime_str_free(&x.schedule);
  return status;
}

int fuzz_worker(uint64_t seed, int64_t first, int64_t step, int64_t count) {
  fuzz_counts counts = {0};
  bool ok = true;
  for (int64_t number = first; ok && counts.pairs < count;) {
    tn_context *ctx = tn_context_new(NULL);
    for (int i = 0; i < PAIRS_A_CONTEXT && ok && counts.pairs < count; i++, number += step) {
      fuzz_limit_time();
      ok = run_number(ctx, seed, number, &counts) != FUZZ_DIFFERS;
    }
    tn_context_free(ctx);
  }
  tell('c', &counts, sizeof counts);
  return ok ? 0 : 1;
}
