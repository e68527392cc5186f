/* sampler.c: the thread that reads which stage a kernel is in (sampler.h). It sleeps while no call is running.
 *
 * The sampler owns its thread and the bills: one for each stage, and one for what is outside of all. */
#include "runtime/profiler/sampler.h"

#include <pthread.h>
#include <time.h>

enum { SHORTEST_NS = 100 * 1000, SPREAD_NS = 200 * 1000 }; /* between two looks */

/* NS is the time between looks, not the number of looks times a period: naps are random and late. */
typedef struct bill {
  uint64_t ns;
  int64_t samples;
} bill;

struct profiler_sampler {
  const int32_t *place;
  int n; /* bills */
  bill *bills;
  pthread_mutex_t lock; /* of all below */
  pthread_cond_t wake;
  pthread_t thread;
  bool is_started, stops;
  int active;           /* calls that run */
  uint64_t since_ns;    /* while active: unbilled from here on */
  uint64_t unbilled_ns; /* of calls that ended since the last look */
  runtime_rng rng;
};

/* Bill 0 is for the time outside of all stages. PLACE is read without a lock, and must outlive the
 * sampler. */
profiler_sampler *profiler_sampler_new(const int32_t *place, int n) {
  profiler_sampler *s = calloc(1, sizeof *s);
  bill *bills = calloc((size_t)n + 1, sizeof *bills);
  if (s == NULL || bills == NULL) {
    free(s);
    free(bills);
    return NULL;
  }
  *s = (profiler_sampler){.place = place, .n = n + 1, .bills = bills, .rng = {(uintptr_t)s}};
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->wake, NULL);
  return s;
}

/* One look, under the lock: what is not billed goes to the stage that the kernel is in. */
static void look(profiler_sampler *s) {
  int32_t stage = __atomic_load_n(s->place, __ATOMIC_RELAXED);
  bill *to = &s->bills[stage > 0 && stage < s->n ? stage : 0];
  uint64_t now = runtime_now_ns();
  to->ns += s->unbilled_ns + (now - s->since_ns);
  ++to->samples;
  s->unbilled_ns = 0;
  s->since_ns = now;
}

/* A random length: a fixed one could keep step with the kernel's own loops. */
static void nap(profiler_sampler *s) {
  struct timespec t = {0, SHORTEST_NS + runtime_random_below(&s->rng, SPREAD_NS)};
  pthread_mutex_unlock(&s->lock);
  nanosleep(&t, NULL);
  pthread_mutex_lock(&s->lock);
}

/* The thread sleeps while no kernel is active, so a session without kernels costs nothing. */
static void *run(void *user) {
  profiler_sampler *s = user;
  pthread_mutex_lock(&s->lock);
  while (!s->stops) {
    if (s->active == 0) {
      pthread_cond_wait(&s->wake, &s->lock);
      continue;
    }
    nap(s);
    if (s->active > 0) look(s);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* The thread is made at the first call, so that a kernel which is never called costs nothing. Without a
 * thread all time stays unbilled. */
void profiler_sampler_enter(profiler_sampler *s) {
  pthread_mutex_lock(&s->lock);
  if (!s->is_started) s->is_started = pthread_create(&s->thread, NULL, run, s) == 0;
  if (s->active++ == 0) s->since_ns = runtime_now_ns();
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
}

void profiler_sampler_leave(profiler_sampler *s) {
  pthread_mutex_lock(&s->lock);
  if (--s->active == 0) s->unbilled_ns += runtime_now_ns() - s->since_ns;
  pthread_mutex_unlock(&s->lock);
}

/* What was not billed is shared out in the proportion of what was. */
void profiler_sampler_read(profiler_sampler *s, int stage, double *ns, int64_t *samples) {
  double billed = 0;
  pthread_mutex_lock(&s->lock);
  for (int i = 0; i < s->n; ++i) billed += (double)s->bills[i].ns;
  *ns = (double)s->bills[stage].ns;
  if (billed > 0)
    *ns *= 1 + (double)s->unbilled_ns / billed;
  else if (stage == 0)
    *ns = (double)s->unbilled_ns;
  *samples = s->bills[stage].samples;
  pthread_mutex_unlock(&s->lock);
}

/* Waits for the thread, at most one nap. */
void profiler_sampler_free(profiler_sampler *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->lock);
  s->stops = true;
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
  if (s->is_started) pthread_join(s->thread, NULL);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->wake);
  free(s->bills);
  free(s);
}
