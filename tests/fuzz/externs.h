/* externs.h: the C functions that drawn programs call (externs.c). */
#ifndef TENON_TESTS_FUZZ_EXTERNS_H
#define TENON_TESTS_FUZZ_EXTERNS_H

#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

enum { FUZZ_EXTERN_SIZES = 4, FUZZ_EXTERN_INPUTS = 2, FUZZ_EXTERN_RESULTS = 2 };

typedef struct fuzz_extern_type {
  tn_dtype dtype;
  int rank;
  int64_t shape[2]; /* 0: the function's size */
  bool by_value;
} fuzz_extern_type;

typedef struct fuzz_extern {
  const char *name; /* of all sizes: "fx_line" */
  int n_inputs;
  fuzz_extern_type inputs[FUZZ_EXTERN_INPUTS];
  int n_results;
  fuzz_extern_type results[FUZZ_EXTERN_RESULTS];
  fuzz_bound (*bound)(const fuzz_bound *in, int n); /* of its floats; NULL: it computes integers only */
  void (*functions[FUZZ_EXTERN_SIZES])(void);
  const char *ir; /* N stands for the size; NULL: by address only */
} fuzz_extern;

/* Those to draw, ended by a name that is NULL. */
extern const fuzz_extern fuzz_externs[];
extern const int fuzz_extern_sizes[FUZZ_EXTERN_SIZES];

/* Of floats that the function of that name computes, from what it is given. */
fuzz_bound fuzz_extern_bound(const char *name, const fuzz_bound *in);
/* Gives a program the functions of this table that it calls; AS_IR: to kernels as LLVM IR, where there is some. */
void fuzz_bind_externs(tn_program *p, bool as_ir);
/* Whether a pair's kernel gets LLVM IR; C source cannot hold any. */
static inline bool fuzz_links_ir(uint64_t number) { return number / 4 % 2 == 0 && !getenv("TENON_FUZZ_CC"); }
/* How often a run of the program's kernel calls functions by address. */
int fuzz_extern_calls(const tn_program *p);
/* Counts the calls of this process since they were forgotten. */
void fuzz_forget_calls(void);
int fuzz_count_calls(void);

#endif
