/* passes.h: what the passes share. Each pass is one file with one exported function; pipeline.c lists them. */
#ifndef TENON_TIR_PASSES_H
#define TENON_TIR_PASSES_H

#include "tir/internal.h"

/* Operations of an ordinary statement: as much code as N statements is N times that. */
enum { TIR_ORDINARY_NODES = 32 };
/* Lanes that a vectorized loop has at most: one that is longer runs in chunks. */
enum { TIR_MAX_LANES = 64 };
/* Lanes of the chunks of a vectorized loop of EXTENT iterations: all, or the largest divisor that is worth it, or as many as possible. */
int tir_chunk_lanes(int64_t extent);

/* X(name, "what it does"); the order of the pipeline is in pipeline.c. */
#define TIR_PASSES(X)                                                                                             \
  X(virtual_threads, "the iterations of a loop that is bound to vthread advance together, a statement at a time") \
  X(double_buffer, "a marked allocation in a loop gets two halves that alternate, filled one iteration ahead")    \
  X(loop_kinds, "parallel and vectorized loops nest in ways that later passes can keep; others become serial")    \
  X(guard_loads, "a load on one side of a select that could leave its buffer gets the condition as a predicate")  \
  X(simplify, "every expression in canonical form by what is known where it stands; loops of one iteration go")   \
  X(hoist_guards, "a condition moves out of loops whose variable it does not use")                                \
  X(partition, "a loop marked \"peel\" becomes a main part without a check, and the rest")                        \
  X(tighten_loops, "a loop that its own guard cuts short runs only that far")                                     \
  X(flatten, "buffers of one dimension, row-major offsets")                                                       \
  X(tensorize, "loops that are marked become the intrinsic whose pattern they are")                               \
  X(widen_copies, "a copy of f16 or bf16 numbers that is read as f32 only holds f32")                             \
  X(vectorize, "vectorized loops become ramps and broadcasts; conditions on lanes become predicates")             \
  X(register_tiles, "loops over small local buffers are marked for unrolling: accumulators become registers")     \
  X(unroll, "unrolled loops are written out, and those that auto_unroll_max_step names")                          \
  X(dead_lanes, "what nobody reads of a register tile is not computed")                                           \
  X(read_once, "sums that are written out go on in the order in which they read, where that is fewer loads")      \
  X(signed_dots, "sums of products of signed bytes are made of unsigned times signed ones")                       \
  X(flip_copies, "signed bytes that are read with their top bit flipped are flipped where they are copied")       \
  X(unswitch, "an innermost loop that asks the same in each iteration is written once for each answer")           \
  X(remove_noops, "what has no effect goes")

#define X(name, summary) tir_func *tir_pass_##name(tir_pass_context *p, tir_func *f);
TIR_PASSES(X)
#undef X

/* Whether lowering added the loop, to set a reduction's results to their first values: its name ends in ".init". The
 * loop that it is a copy of, which the user knows, is warned about. */
bool tir_is_init_loop(const tir_stmt *loop);
/* F with another body (F itself when it is the same); NULL body: out of memory, said in the context. */
tir_func *tir_func_with_body(tir_pass_context *p, tir_func *f, const tir_stmt *body);

/* The environment inside a loop, from its bounds. */
tir_env tir_env_loop(runtime_arena *arena, const tir_env *outer, const tir_stmt *loop);
/* What is known in the children of S: OUTER, or *OWN with the loop's range or the branch's condition before it. */
const tir_env *tir_env_inside(runtime_arena *arena, const tir_env *outer, const tir_stmt *s, tir_env *own);
/* The scope where COND holds; on the caller's stack. */
static inline tir_env tir_env_cond(const tir_env *outer, const tir_expr *cond) {
  return (tir_env){.outer = outer, .cond = cond};
}

/* The pass simplify on a part of a function that stands in ENV. With a binding: the variable is replaced first, and
 * expressions that do not use it, which must be simplified already, are left alone. */
const tir_stmt *tir_simplify_stmt(runtime_arena *arena, const tir_env *env, const tir_binding *binding,
                                  const tir_stmt *s);

/* S with copies of the buffers that it allocates, in their places. NULL: no memory. */
const tir_stmt *tir_with_own_buffers(runtime_arena *arena, const tir_stmt *s);
bool tir_allocates(const tir_stmt *s, const tir_buffer *buffer);
/* Whether doing S twice is doing it once: it reads nothing that it stores, but for what it allocates, and calls nothing. */
bool tir_may_repeat(const tir_stmt *s);
/* S, a block of LENGTH iterations whose first is VAR * LENGTH, with BEGIN as the first. DIVISOR: by what iterations are divided in S, 1: by
 * nothing. NULL: what S makes of VAR is not right for BEGIN, or there is no memory. */
const tir_stmt *tir_block_moved(runtime_arena *arena, const tir_stmt *s, const tir_var *var, int64_t length,
                                const tir_expr *begin, int64_t divisor);
/* S, or NOP when it is a loop, branch, allocation or attribute around nothing. */
const tir_stmt *tir_drop_empty(runtime_arena *arena, const tir_stmt *s);
/* Number of STOREs and CALLs below S. */
int64_t tir_count_stores(const tir_stmt *s);
/* Conditions that do must stay where they are: memory may change in between. */
static inline bool tir_reads_memory(const tir_expr *e) { return tir_has_op(e, TIR_LOAD); }

/* A buffer of N copies of one that is allocated; which copy is its first index. NULL: no memory. BUFFER has fewer than
 * TN_MAX_RANK dimensions. */
const tir_buffer *tir_buffer_copies(runtime_arena *arena, const tir_buffer *buffer, int64_t n);
/* S with loads, stores and prefetches of FROM in the copy AT of TO, made by tir_buffer_copies. No call in S touches FROM. */
const tir_stmt *tir_in_copy(runtime_arena *arena, const tir_stmt *s, const tir_buffer *from, const tir_buffer *to,
                            const tir_expr *at);

/* Conditions as lists of conjuncts. */
enum { TIR_MAX_CONDS = 24 };
/* The parts of a condition that are joined by &&. */
typedef struct tir_conds {
  int n;
  const tir_expr *item[TIR_MAX_CONDS];
} tir_conds;
/* Appends the conjuncts of COND in order; false when there are too many. */
bool tir_conds_add(tir_conds *conds, const tir_expr *cond);
/* Whether the list has an equal condition. */
bool tir_conds_has(const tir_conds *conds, const tir_expr *cond);
/* IF (conjunction) BODY; BODY when there are none. */
const tir_stmt *tir_conds_guard(runtime_arena *arena, const tir_conds *conds, const tir_stmt *body);

#endif
