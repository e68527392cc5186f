/* main.h: what a generated program of calls with NULL is made of. */
#ifndef TENON_TESTS_NULL_H
#define TENON_TESTS_NULL_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/tenon.h>

/* One call. FAILED: it returned NULL or a status that is not TN_OK. */
typedef struct null_case {
  const char *function, *null; /* null: which argument is, "valid": none, "all" */
  bool has_context;            /* an argument knows the context, where a message can be */
  bool (*failed)(void);
} null_case;
extern const null_case null_cases[]; /* the last has no function */

/* X(TYPE): objects that all calls share; generate.py reads their names here. */
#define NULL_OBJECTS(X) \
  X(tn_context)         \
  X(tn_program)         \
  X(tn_schedule)        \
  X(tn_tensor)          \
  X(tn_axis)            \
  X(tn_expr)            \
  X(tn_combiner)        \
  X(tn_callee)          \
  X(tn_target)          \
  X(tn_kernel)          \
  X(DLTensor)           \
  X(tn_recording)       \
  X(tn_analysis)        \
  X(tn_advices)         \
  X(tn_averages)        \
  X(tn_rows)            \
  X(tn_profiler)

#define X(type) type *null_object_##type(void);
NULL_OBJECTS(X)
#undef X
/* Zeros: options with nothing said, or room for an answer. */
void *null_zeros(void);

#endif
