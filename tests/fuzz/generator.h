/* generator.h: what the files that write random programs share. */
#ifndef TENON_TESTS_FUZZ_GENERATOR_H
#define TENON_TESTS_FUZZ_GENERATOR_H

#include "tests/fuzz/fuzz.h"

enum { MAX_TENSORS = 40, MAX_RANK = 5, MAX_AXES = 8, MAX_POINTS = 4000, MAX_WORK = 12000, STAGES_ROOM = 20 };

typedef struct tensor {
  char name[16];
  tn_dtype dtype;
  int rank;
  int64_t shape[MAX_RANK];
  const char *size[MAX_RANK]; /* what an extent is made of, when symbols decide; shape then has a guess */
  bool is_rough;              /* floats that may be rounded */
  bool is_read;
} tensor;

typedef struct generator {
  runtime_rng *rng;
  runtime_str inputs, stages; /* the text in two parts */
  runtime_str *out;           /* where an expression is being written */
  int n_tensors, n_inputs;
  tensor tensors[MAX_TENSORS];
  int n_axes;
  struct {
    char name[4];
    int64_t extent;
    const char *size; /* as of a tensor */
  } axes[MAX_AXES];   /* of the stage: data axes, then reduction axes */
  bool has_symbols;
  int prefer;       /* a tensor that the stage should read, or -1 */
  bool defined[64]; /* combiners, by row and dtype */
} generator;

static inline int64_t below(generator *g, int64_t n) { return runtime_random_below(g->rng, n); }
static inline bool chance(generator *g, int percent) { return below(g, 100) < percent; }
static inline void put(generator *g, const char *text) { runtime_str_add(g->out, text); }

/* Writes an expression of a dtype. Returns whether its value may be rounded; with MUST_BE_EXACT it may not. */
bool fuzz_expression(generator *g, tn_dtype dtype, int depth, bool must_be_exact);
/* One more axis of the stage; SIZE: what decides its extent, or NULL. */
void fuzz_add_axis(generator *g, const char *name, int64_t extent, const char *size);
/* "[i<4, j<8]": the axes FIRST to LAST - 1. */
void fuzz_put_axes(generator *g, int first, int last);
/* In a program with symbols, what now and then decides an extent; else NULL. */
const char *fuzz_random_size(generator *g);
/* SIZE, or the number where it is NULL. */
void fuzz_put_extent(runtime_str *out, int64_t extent, const char *size);
/* A call of a function, with the stages before it that compute its arguments (generate_extern.c). */
void fuzz_extern_stage(generator *g, int number);
/* A whole program of the kinds that plans of the families `strip`, `move`, `rows`, `reduce`, `fold`, `short` and `phase` schedule
 * (generate_family.c). */
void fuzz_family_program(generator *g);

#endif
