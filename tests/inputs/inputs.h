/* inputs.h: mutation fuzzing of what comes from outside: a library of mutators, and one target for each kind of input.
 * A target is libFuzzer's shape of function: bytes in; it returns when they were taken or refused, and aborts when a
 * promise was broken. docs/testing.md says how the program is run. */
#ifndef TENON_TESTS_INPUTS_H
#define TENON_TESTS_INPUTS_H

#include "runtime/base.h"
#include "schedule/schedule.h"

/* ---- mutators (mutate.c) ----------------------------------------------------------------------------------------- */

enum { INPUTS_LONGEST = 4 << 20 }; /* bytes of an input */

typedef struct inputs_corpus {
  RUNTIME_VEC(runtime_str) items;
} inputs_corpus;

/* Copies N bytes. */
void inputs_add(inputs_corpus *corpus, const void *data, size_t n);
void inputs_add_text(inputs_corpus *corpus, const char *text);
void inputs_free(inputs_corpus *corpus);
/* OUT becomes an item of the corpus with one to four changes: bytes, words, numbers, JSON values, parts of another item. */
void inputs_mutate(runtime_rng *rng, const inputs_corpus *corpus, runtime_str *out);

/* ---- targets ----------------------------------------------------------------------------------------------------- */

typedef struct inputs_target {
  const char *name;
  void (*seed)(inputs_corpus *corpus); /* valid inputs to start from */
  void (*one)(const uint8_t *data, size_t n);
} inputs_target;

/* Ends with a target whose name is NULL (targets.c). */
extern const inputs_target inputs_targets[];

/* The promise that was broken; aborts. */
_Noreturn void inputs_broken(const char *fmt, ...) TN_PRINTF(1, 2);
/* DATA as text, up to a NUL; malloc'ed. */
char *inputs_text(const uint8_t *data, size_t n);

/* Builds a schedule of a program of integers and compares what the kernel computes with the evaluator (programs.c). */
void inputs_compare(tn_context *ctx, const tn_schedule *schedule);

#define INPUTS_TARGET(name)                       \
  void inputs_seed_##name(inputs_corpus *corpus); \
  void inputs_one_##name(const uint8_t *data, size_t n);
/* X(name) */
#define INPUTS_TARGETS(X) \
  X(program)              \
  X(schedule)             \
  X(steps)                \
  X(plans)                \
  X(loop_ir)              \
  X(record)               \
  X(message)              \
  X(request)              \
  X(chrome)               \
  X(tnprof)               \
  X(xspace)               \
  X(buffers)              \
  X(query)                \
  X(http)
INPUTS_TARGETS(INPUTS_TARGET)
#undef INPUTS_TARGET

#endif
