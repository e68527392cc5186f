/* integer.h: the integer arithmetic of programs, loop IR and extents: one function for each operator, the
 * same for everyone who needs a value (constants in text, folding, extents at a call, counters of work).
 * tir/ir.h defines the operators; TIR_OPS says which function belongs to which. */
#ifndef TENON_RUNTIME_INTEGER_H
#define TENON_RUNTIME_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Floor division and modulo on int64_t, defined for all operands: x // 0 = 0, x % 0 = 0, INT64_MIN // -1 wraps. */
static inline int64_t runtime_floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a % b < 0) != (b < 0));
}

/* The result has B's sign, as in Python. B = -1 is handled separately, since INT64_MIN % -1 traps. */
static inline int64_t runtime_floormod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* *OUT = A op B as an int64_t that wraps. False: the exact value does not fit. A and B are integers of BITS
 * bits; if those are fewer than 64, the caller wraps *OUT. Operators of one operand ignore B. */
typedef bool (*runtime_integer_fn)(int64_t a, int64_t b, int bits, int64_t *out);

#define RUNTIME_INTEGER_FNS(X) \
  X(add)                       \
  X(sub)                       \
  X(mul)                       \
  X(floordiv)                  \
  X(floormod)                  \
  X(min)                       \
  X(max)                       \
  X(abs)                       \
  X(eq)                        \
  X(ne)                        \
  X(lt) X(le) X(gt) X(ge) X(and) X(or) X(not) X(bitand) X(bitor) X(bitxor) X(bitnot) X(shl) X(shr) X(popcount) X(clz)
#define X(name) bool runtime_integer_##name(int64_t a, int64_t b, int bits, int64_t *out);
RUNTIME_INTEGER_FNS(X)
#undef X
#define runtime_integer_none ((runtime_integer_fn)NULL)

#endif
