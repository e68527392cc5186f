/* clock.c: the recorder's clock: the TSC where it is invariant, calibrated against CLOCK_MONOTONIC;
 * elsewhere that clock itself; or a test's. */
#include <time.h>

#include "runtime/profiler/state.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static profiler_clock_state *clock_state(void) { return &profiler_the_recorder.clock; }

/* CPUID leaf 80000007h, EDX bit 8: the counter has one rate in all states of the processor. */
static bool has_invariant_tsc(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
#else
  return false;
#endif
}

/* A system clock in nanoseconds, for calibration and for machines without an invariant counter. */
static uint64_t system_ns(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t profiler_ticks_slow(void) {
  const profiler_clock *c = &clock_state()->injected;
  return c->monotonic_ns ? c->monotonic_ns(c->user) : system_ns(CLOCK_MONOTONIC);
}

uint64_t profiler_unix_ns(void) {
  const profiler_clock *c = &clock_state()->injected;
  return c->realtime_ns ? c->realtime_ns(c->user) : system_ns(CLOCK_REALTIME);
}

/* Reads both clocks at one instant: of several tries, the one with the least time between two readings of
 * the counter. */
static profiler_moment read_both(void) {
  profiler_moment best = {0};
#if defined(__x86_64__)
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    uint64_t before = __rdtsc(), ns = system_ns(CLOCK_MONOTONIC), after = __rdtsc();
    if (after - before >= least) continue;
    least = after - before;
    best = (profiler_moment){before + least / 2, ns};
  }
#endif
  return best;
}

/* Updates the rate from the first moment and this one. */
static void refine(profiler_moment now) {
  profiler_clock_state *c = clock_state();
  if (now.ns - c->first.ns < 1000000 || now.ticks <= c->first.ticks) return;
  c->ns_per_tick = (double)(now.ns - c->first.ns) / (double)(now.ticks - c->first.ticks);
}

/* Decides whether to use the TSC. Calibration takes two milliseconds, once. */
static void choose(void) {
  profiler_clock_state *c = clock_state();
  c->ns_per_tick = 1;
  c->is_tsc = !c->injected.monotonic_ns && !c->injected.no_tsc && has_invariant_tsc();
  if (c->is_tsc) {
    enum { CALIBRATION_NS = 2000000 };
    profiler_moment now = c->first = read_both();
    while (now.ns - c->first.ns < CALIBRATION_NS) now = read_both();
    refine(now);
  }
  c->is_ready = true;
}

/* Double-checked locking: `is_ready` is set last, under the lock. */
void profiler_clock_prepare(void) {
  profiler_clock_state *c = clock_state();
  if (c->is_ready) return;
  pthread_mutex_lock(&profiler_the_recorder.lock);
  if (!c->is_ready) choose();
  pthread_mutex_unlock(&profiler_the_recorder.lock);
}

/* Each call improves the rate, since the distance from the first moment grows. */
profiler_moment profiler_clock_moment(void) {
  profiler_clock_prepare();
  if (!clock_state()->is_tsc) {
    uint64_t now = profiler_ticks_slow();
    return (profiler_moment){now, now};
  }
  profiler_moment now = read_both();
  refine(now);
  return now;
}

double profiler_ticks_to_ns(uint64_t ticks) { return (double)ticks * clock_state()->ns_per_tick; }

uint64_t profiler_now_ns(void) {
  profiler_clock_prepare();
  const profiler_clock_state *c = clock_state();
  uint64_t ticks = profiler_ticks();
  return c->is_tsc ? c->first.ns + (uint64_t)((double)(ticks - c->first.ticks) * c->ns_per_tick) : ticks;
}

bool profiler_clock_is_tsc(void) {
  profiler_clock_prepare();
  return clock_state()->is_tsc;
}

/* For tests, while nothing records. Calibration is forgotten. */
void profiler_set_clock(const profiler_clock *clock) {
  memset(clock_state(), 0, sizeof *clock_state());
  if (clock) clock_state()->injected = *clock;
  profiler_clock_prepare();
}
