/* A stub of an external tracer for row A19: counts pushes and pops and checks that names leave last in, first out. */
#include <string.h>

#include "runtime/profiler/profiler.h"

enum { MAX = 64 };
typedef struct tracer_counts {
  int pushes, pops, marks, depth, deepest;
  const char *names[MAX];
} tracer_counts;
static tracer_counts counts;

static void push(void *user, const char *name) {
  tracer_counts *c = user;
  if (c->depth < MAX) c->names[c->depth] = name;
  ++c->pushes;
  if (++c->depth > c->deepest) c->deepest = c->depth;
}

static void pop(void *user) {
  tracer_counts *c = user;
  ++c->pops;
  --c->depth;
}

static void mark(void *user, const char *name) {
  (void)name;
  ++((tracer_counts *)user)->marks;
}

TN_API int tn_tracer_init(tn_tracer *tracer);
int tn_tracer_init(tn_tracer *tracer) {
  if (tracer->struct_size < sizeof *tracer) return 1;
  tracer->user = &counts;
  tracer->push = push;
  tracer->pop = pop;
  tracer->mark = mark;
  return 0;
}

/* For the test. */
TN_API const int *tracer_numbers(void);
const int *tracer_numbers(void) { return &counts.pushes; }
TN_API const char *tracer_top(void);
const char *tracer_top(void) { return counts.depth > 0 ? counts.names[counts.depth - 1] : ""; }
