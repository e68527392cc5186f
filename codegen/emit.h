/* emit.h: emitting LLVM IR from loop IR: what the emit_*.c files share.
 *
 * How values are held: integers and floats at their dtype, bool as i1 (a byte in memory), lanes > 1 as vectors. Loop
 * variables are phis of the index type, which is as wide as an address. An expression made of loop variables and
 * constants whose interval fits its dtype and that type ("index expression") is emitted in it where an address, a bound
 * or a comparison wants it; everything else in its own type.
 * Evaluating an expression makes no basic block, but for vectors that become bf16, whose blocks join again: what it must
 * not touch is reached by selecting a safe address (element 0 of the buffer), so that a value may be memoised within a
 * statement.
 * Failing: codegen_emit_fail keeps the first message; emission goes on with poison values and the module is thrown
 * away. */
#ifndef TENON_CODEGEN_EMIT_H
#define TENON_CODEGEN_EMIT_H

#include "codegen/internal.h"

/* ---- slice.c: vectors in pieces ---------------------------------------------------------------------------------- */

/* Of nesting: deeper expressions end in an error instead of a stack overflow. */
enum { CODEGEN_MAX_DEPTH = 4000 };

/* Lanes FIRST to FIRST + N - 1 of a vector; scalars as they are. PARTS is emptied first, and keeps what is cut.
 * TN_ERROR_CODEGEN: nested deeper than CODEGEN_MAX_DEPTH; TN_ERROR_MEMORY. */
tn_status codegen_slice(runtime_arena *arena, runtime_map *parts, const tir_expr *e, int first, int n,
                        const tir_expr **out);
/* The same of every second lane from lane PHASE on; no part of E may be a dot product. */
tn_status codegen_every_second(runtime_arena *arena, runtime_map *parts, const tir_expr *e, int phase,
                               const tir_expr **out);
/* Bytes of the widest element among BUFFER's and those of the vectors in VALUE. */
int codegen_widest_bytes(const tir_buffer *buffer, const tir_expr *value);

/* ---- the emitter ------------------------------------------------------------------------------------------------- */

/* What a loop variable or a buffer is in the function being filled. */
typedef struct codegen_binding {
  LLVMValueRef
      value; /* variable: of the index type, but scalars that are floats or wider as they are; buffer: pointer */
  tir_interval range; /* variable */
  unsigned align;     /* buffer: known alignment of its first element */
} codegen_binding;

/* One LLVM function being filled: the kernel, or the body of a parallel loop. */
typedef struct codegen_frame {
  LLVMValueRef function;
  LLVMBasicBlockRef entry;        /* scratch is made here */
  runtime_map bindings;           /* tir_var or tir_buffer -> codegen_binding */
  int64_t stack_bytes;            /* taken by allocas so far */
  RUNTIME_VEC(LLVMValueRef) heap; /* to be freed before returning */
  bool is_parallel;               /* the body of a parallel loop: loops inside stay serial */
  bool has_parts;                 /* many loop nests: each becomes a function of its own */
  LLVMValueRef failed;            /* kernel: an i32 alloca set by failing parallel bodies, or NULL */
  LLVMValueRef stage_own, stage_since, stage_begun, stage_asked; /* where stages tell their time (emit_stage.c) */
  int64_t first_stage;                                           /* in which the frame began */
} codegen_frame;

enum { CODEGEN_MAX_PAST = 64 };

/* Stores past the caches that wait for others of their row (emit_past.c). */
typedef struct codegen_past {
  bool waits;
  int n;
  LLVMValueRef place[CODEGEN_MAX_PAST], value[CODEGEN_MAX_PAST];
  unsigned align[CODEGEN_MAX_PAST]; /* of an element */
} codegen_past;

/* One module being emitted. Maps from expressions hold for a statement; codegen_forget empties them. */
typedef struct codegen_emitter {
  tn_context *ctx;
  const tir_func *func;
  const tn_target *target;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTypeRef dtypes[TN_DTYPE_COUNT]; /* in registers */
  LLVMTypeRef i1, i8, i32, i64, ptr;
  LLVMTypeRef index; /* i64, or i32 where addresses are */
  runtime_arena arena;
  codegen_frame *frame;
  runtime_map values;          /* tir_expr -> its value in this statement */
  runtime_map indices;         /* tir_expr -> its value in the index type, in this statement */
  runtime_map ranges;          /* tir_expr -> its interval, or codegen_no_range */
  runtime_map slices;          /* tir_expr -> some of its lanes, while it is cut */
  runtime_map sums;            /* tir_buffer -> whether it is a sum that begins with 0 (emit_sum.c) */
  runtime_map contents;        /* tir_buffer -> what its elements can be (emit_narrow.c) */
  runtime_map callees;         /* tir_callee -> the LLVM function */
  runtime_map apart;           /* a variant's or a nest's statement -> its LLVM function */
  int n_stages;                /* that tell their time; 0: none does */
  LLVMValueRef stage_counters; /* of the kernel, once they are used, or NULL */
  int64_t stage;               /* the stage being emitted, counting from 1; 0: none */
  bool hints_unroll;           /* inside of unroll_explicit 0: unrolled loops say so to LLVM */
  int depth, n_parallel;
  struct codegen_nears *nears;     /* what the stores in a row read that are emitted now (emit_near.c); NULL: nothing */
  struct codegen_strides *strides; /* what they read of every second, third or fourth element (emit_stride.c) */
  struct codegen_groups *groups;   /* what they read of groups of neighbours that lie apart (emit_groups.c) */
  int phase;    /* 1 or 2: even or odd lanes of rows are being computed (emit_pairs.c); 0: whole ones */
  bool streams; /* inside of stream_stores */
  codegen_past past;
  bool stays_home; /* a kernel in memory: parallel loops by runtime_pool_run, not by OpenMP */
  bool failed;
} codegen_emitter;

/* ---- emit.c: types, constants, calls, functions ------------------------------------------------------------------ */

/* Keeps the first failure; what is emitted from then on is thrown away. */
void codegen_emit_fail(codegen_emitter *m, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
void codegen_no_memory(codegen_emitter *m);
/* LANES 1: a scalar. */
LLVMTypeRef codegen_type(codegen_emitter *m, tn_dtype dtype, int lanes);
/* The type in memory: bool is a byte. */
LLVMTypeRef codegen_memory_type(codegen_emitter *m, tn_dtype dtype, int lanes);
LLVMValueRef codegen_i64(codegen_emitter *m, int64_t value);
/* Of the index type. */
LLVMValueRef codegen_index_int(codegen_emitter *m, int64_t value);
/* LANES 1: the scalar itself. */
LLVMValueRef codegen_splat(codegen_emitter *m, LLVMValueRef scalar, int lanes);
/* Calls an overloaded intrinsic: TYPES are what it is overloaded on. */
LLVMValueRef codegen_intrinsic(codegen_emitter *m, const char *name, int n_types, LLVMTypeRef *types, int n_args,
                               LLVMValueRef *args);
/* Calls an external C function, declared on first use. The first declaration decides its type. */
LLVMValueRef codegen_call_extern(codegen_emitter *m, const char *name, LLVMTypeRef result, int n, LLVMTypeRef *types,
                                 LLVMValueRef *args);
/* A function with the target's attributes and an entry block, where the builder then stands. */
LLVMValueRef codegen_add_function(codegen_emitter *m, const char *name, LLVMTypeRef type, LLVMLinkage linkage);
/* The processor's name and features, as every function of the module has them. */
void codegen_add_target_attributes(codegen_emitter *m, LLVMValueRef function);
void codegen_add_attribute(codegen_emitter *m, LLVMValueRef function, unsigned index, const char *name, uint64_t value);
LLVMBasicBlockRef codegen_new_block(codegen_emitter *m, const char *name);
/* Binds in the current frame; the new binding, or NULL. */
codegen_binding *codegen_bind(codegen_emitter *m, const void *what, LLVMValueRef value);
/* It is out of scope; its value stays. */
void codegen_unbind(codegen_emitter *m, const void *what);
/* NULL when WHAT is not bound here. */
codegen_binding *codegen_find(codegen_emitter *m, const void *what);
/* Parameter attributes for a pointer to BUFFER. */
void codegen_pointer_attributes(codegen_emitter *m, LLVMValueRef function, int param, const tir_buffer *buffer,
                                unsigned align);
unsigned codegen_element_bytes(const tir_buffer *buffer);

/* ---- emit_expr.c, emit_arith.c, emit_half.c, emit_math.c, emit_dot.c, emit_lanes.c ------------------------------- */

/* Remembered for the statement. Where it makes basic blocks (vectors that become bf16) the builder stands behind them. */
LLVMValueRef codegen_value(codegen_emitter *m, const tir_expr *e);
/* X and Y, the values of A and of what it is compared with. A's dtype decides; unordered floats compare false, but for NE. */
LLVMValueRef codegen_compare(codegen_emitter *m, tir_op op, const tir_expr *a, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef codegen_cast(codegen_emitter *m, const tir_expr *e);
/* Bits of f16 or bf16 to f32, and f32 to such bits (emit_half.c). */
LLVMValueRef codegen_from_half(codegen_emitter *m, tn_dtype from, LLVMValueRef bits, int lanes);
LLVMValueRef codegen_to_half(codegen_emitter *m, tn_dtype to, LLVMValueRef value, int lanes);
/* CAST, to 8 or 16 bits, of arithmetic that can be done in 16 (emit_narrow.c); NULL: it cannot, or that is not known. */
const tir_expr *codegen_narrow(codegen_emitter *m, const tir_expr *cast);
LLVMValueRef codegen_math(codegen_emitter *m, const tir_expr *e);
LLVMValueRef codegen_abs(codegen_emitter *m, const tir_expr *e);
/* Floor division and modulo of integers, total (tir/ir.h). */
LLVMValueRef codegen_division(codegen_emitter *m, const tir_expr *e);
LLVMValueRef codegen_dot(codegen_emitter *m, const tir_expr *e);
/* ACC + the sums of groups of four bytes of A, without a sign, times those of B, with one: one instruction of LANES sums. */
LLVMValueRef codegen_dot_bytes(codegen_emitter *m, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b, int lanes);
/* CAST, to a byte, of a weighed sum of bytes that lie side by side (emit_weigh.c); NULL: it is none. */
LLVMValueRef codegen_weighed_bytes(codegen_emitter *m, const tir_expr *cast);
/* N lanes, lane i being FROM[i] of A's lanes and, behind them, B's; negative: any value. B NULL: there are only A's.
 * FROM NULL: there was no memory for it, which is noted. */
LLVMValueRef codegen_shuffle(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int n, const int *from);
/* Lane i becomes lane LANES - 1 - i. */
LLVMValueRef codegen_reverse(codegen_emitter *m, LLVMValueRef vector, int lanes);
/* WIDTH lanes of VECTOR from FIRST on; behind its end the last one is repeated. */
LLVMValueRef codegen_lane_piece(codegen_emitter *m, LLVMValueRef vector, int lanes, int first, int width);
/* RESULT with its lanes from FIRST on taken from PART. */
LLVMValueRef codegen_put_piece(codegen_emitter *m, LLVMValueRef result, LLVMValueRef part, int lanes, int first,
                               int width);
/* A // B or A % B in a signed type, by a positive constant; NONNEGATIVE: A is known to be. */
LLVMValueRef codegen_divide_by(codegen_emitter *m, tir_op op, LLVMValueRef a, int64_t b, bool nonnegative);

/* e^VALUE, a vector of f32 (emit_exp.c). */
LLVMValueRef codegen_exp_f32(codegen_emitter *m, LLVMValueRef value, int lanes);
LLVMValueRef codegen_tanh_f32(codegen_emitter *m, LLVMValueRef value, int lanes);
/* erf VALUE, likewise. */
LLVMValueRef codegen_erf_f32(codegen_emitter *m, LLVMValueRef value, int lanes);

/* ---- emit_index.c ------------------------------------------------------------------------------------------------ */

/* Whether E is an index expression, and its interval. */
bool codegen_index_range(codegen_emitter *m, const tir_expr *e, tir_interval *range);
/* A scalar integer in the index type. */
LLVMValueRef codegen_index(codegen_emitter *m, const tir_expr *e);
/* Whether vector E has the form base + stride * lane, if nothing in it overflows. */
bool codegen_linear_stride(const tir_expr *e, int64_t *stride);
/* Whether vector E is base + stride * lane, with base and stride uniform. */
bool codegen_is_linear(codegen_emitter *m, const tir_expr *e, int64_t *stride);
/* BY times TIMES, NULL: times 1. */
typedef struct codegen_step {
  int64_t by;
  const tir_expr *times; /* a scalar */
} codegen_step;
/* Whether vector E is base + step * lane, as is_linear, with a step that need not be a number: a column of a symbol's rows. */
bool codegen_has_step(codegen_emitter *m, const tir_expr *e, codegen_step *step);
/* The most that the step can be, on or back. */
int64_t codegen_most_step(codegen_emitter *m, const codegen_step *step);
/* ROW times the step, in the index type. */
LLVMValueRef codegen_steps(codegen_emitter *m, const codegen_step *step, int64_t row);
/* Of what codegen_is_linear or codegen_has_step has accepted: lane 0, in the index type. */
LLVMValueRef codegen_linear_base(codegen_emitter *m, const tir_expr *e);

/* ---- emit_lane_table.c ------------------------------------------------------------------------------------------- */

/* Lane 0 of an expression over ramps and broadcasts. */
const tir_expr *codegen_first_lane(runtime_arena *arena, const tir_expr *e);
/* That of an index, in the index type. */
LLVMValueRef codegen_first_index(codegen_emitter *m, const tir_expr *index);
/* A load, without a predicate, from an index that is base + constants which lie in groups or rows, or groups or rows
 * that are multiples of a uniform number apart; NULL: it is not. */
LLVMValueRef codegen_load_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                const tir_expr *index);
/* The same in rows, under PREDICATE, which MASK is the value of: lanes that are off touch nothing and are anything. */
LLVMValueRef codegen_load_masked_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                       const tir_expr *index, const tir_expr *predicate, LLVMValueRef mask);
/* The same in groups of neighbours, where MASK is constant and lets the first of each group through, if any: the others are 0. */
LLVMValueRef codegen_load_part_words(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                     const tir_expr *index, LLVMValueRef mask);
/* From any places, of a buffer that a few registers hold (emit_small_table.c); NULL: it is none. What is read is the whole buffer, and
 * an index outside of it gets anything. */
LLVMValueRef codegen_load_small_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                      const tir_expr *index);
/* How many elements lie from lane 0 of an index to each of its lanes. False: that is not constant, or they are more than 256. */
bool codegen_lane_offsets(codegen_emitter *m, const tir_expr *index, int64_t *offset);
/* LANES elements of the buffer that load E reads, OFFSET elements from its lane 0, upwards: what E's neighbours read, so that all are in the
 * buffer, and BEFORE elements in front of the first are, too; as integers where that may be. NULL: they are no groups or rows. */
LLVMValueRef codegen_load_offsets(codegen_emitter *m, const tir_expr *e, int lanes, const int64_t *offset,
                                  int64_t before);
/* Whether an index goes over words: groups of GROUP neighbours, elements of BYTES, that lie a constant STEP of elements apart. */
bool codegen_word_step(codegen_emitter *m, const tir_expr *index, unsigned bytes, int *group, int64_t *step);
/* Whether a condition is the same for all lanes of each GROUP of neighbours. False: it may be none that is known. */
bool codegen_is_even(codegen_emitter *m, const tir_expr *predicate, int group);
/* Lanes of a condition, computed as they are wanted: lane i is that of number FROM[i], off where the condition has no such lane. NULL:
 * its sides are no base + constants. */
LLVMValueRef codegen_predicate_lanes(codegen_emitter *m, const tir_expr *predicate, int n, const int *from);

/* ---- emit_tail.c ------------------------------------------------------------------------------------------------- */

/* Whether a vector of conditions holds on some first lanes and on no other: how many, in the index type; it may be below 0, or more than
 * there are. */
bool codegen_leading_lanes(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef *count);
/* The first COUNT of the LANES of VALUE, elements of BYTES, at PLACE, without masks. May end in another block. */
void codegen_store_leading(codegen_emitter *m, LLVMValueRef value, int lanes, LLVMValueRef place, unsigned bytes,
                           LLVMValueRef count);
/* Whether codegen_load_leading can load so many elements of BYTES: less than a word, where words have masks. */
bool codegen_can_load_leading(const codegen_emitter *m, int lanes, unsigned bytes);
/* COUNT elements of the array at POINTER from INDEX on, as a vector of TYPE whose other lanes are 0 and touch nothing but element 0. */
LLVMValueRef codegen_load_leading(codegen_emitter *m, LLVMTypeRef type, int lanes, LLVMValueRef pointer,
                                  LLVMValueRef index, unsigned bytes, LLVMValueRef count);

/* ---- emit_memory.c ----------------------------------------------------------------------------------------------- */

/* N lanes of a mask of LANES, which is the value of PREDICATE (NULL: of none): lane i is that of number FROM[i], off where this is
 * LANES. */
LLVMValueRef codegen_mask_lanes(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef mask, int lanes, int n,
                                const int *from);
/* Whether what is behind the last whole register of N neighbours of BUFFER is no power of two: LLVM would take it apart into pieces
 * that are. What is scratch it keeps in registers, if it is loaded and stored as it is. */
bool codegen_is_ragged(const codegen_emitter *m, const tir_buffer *buffer, int n);
/* Such neighbours, at POINTER, from INDEX on, by masked loads. */
LLVMValueRef codegen_load_ragged(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer, LLVMValueRef index,
                                 int n);
/* N elements of BUFFER, at POINTER, from INDEX on: those that MASK turns off are 0 and are not touched. */
LLVMValueRef codegen_load_masked_run(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                     LLVMValueRef index, int n, LLVMValueRef mask);
/* Values of the elements, 0 where a predicate does not hold. */
LLVMValueRef codegen_emit_load(codegen_emitter *m, const tir_expr *e);
void codegen_emit_store(codegen_emitter *m, const tir_stmt *s);
/* A store whose loads have values already: those of a vector are not asked for in pieces. */
void codegen_emit_store_whole(codegen_emitter *m, const tir_stmt *s);
/* Of the first of N statements in a row, those that are stores of a transpose's tile: emits them. Returns how many; 0:
 * they are none (emit_turn.c). */
int codegen_emit_turned(codegen_emitter *m, int n, const tir_stmt *const *stmts);
/* Looks at those of the first of N statements in a row that are stores, which are then to be emitted one after the
 * other:
 * what they read in vectors that overlap is read once (emit_near.c). Returns how many. */
int codegen_nears_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts);
/* A load that is put together from what was read for its neighbours; NULL: it is not. */
LLVMValueRef codegen_near_load(codegen_emitter *m, const tir_expr *e);
/* The value of store S, as many lanes as its index has; a bool as a byte. */
LLVMValueRef codegen_stored_value(codegen_emitter *m, const tir_stmt *s, int lanes);
/* Stores a vector of LANES side by side from element INDEX of a bound buffer on, past the caches where that was asked for. */
void codegen_store_run(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef index, int lanes, LLVMValueRef value);
/* ---- emit_stride.c, emit_weave.c: every second, third or fourth element ------------------------------------------ */

/* Looks at what the N stores in a row that are emitted next read by such strides; M->strides keeps it, and is to be NULL
 * behind them. */
void codegen_strides_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts);
/* A load by such a stride from vectors that neighbours share; NULL: it is none, or what lies between its lanes cannot be read. */
LLVMValueRef codegen_strided_load(codegen_emitter *m, const tir_expr *e);
/* What may be read around a load from BASE on, lane 0's element, by such a stride, forwards and without a condition: elements from
 * FIRST to in front of END, counted from there. */
typedef struct strided_room {
  int64_t stride, first, end;
  LLVMValueRef base;
} strided_room;
/* False: it is no such load. */
bool codegen_strided_room(codegen_emitter *m, const tir_expr *load, strided_room *out);
/* A cast of every third byte to 16 bits; NULL: it is none, or there are no shuffles of bytes for it. */
LLVMValueRef codegen_strided_halves(codegen_emitter *m, const tir_expr *cast);
/* Bytes that shuffles of LANES elements stay in: all where there are such shuffles of elements of BYTES. */
int codegen_block_bytes(const codegen_emitter *m, int bytes, int lanes);
/* Of the first of N statements in a row, stores by such a stride that together leave nothing out: emits them. Returns how many; 0:
 * they are none. */
int codegen_emit_woven(codegen_emitter *m, int n, const tir_stmt *const *stmts);

/* ---- emit_groups.c ----------------------------------------------------------------------------------------------- */

/* Looks at what the N stores in a row that are emitted next read of groups of neighbours that lie apart; M->groups keeps it, and is to be
 * NULL behind them. */
void codegen_groups_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts);
/* A load of such groups from registers that it shares with others; NULL: it shares none. */
LLVMValueRef codegen_grouped_load(codegen_emitter *m, const tir_expr *e);

/* ---- emit_pairs.c ------------------------------------------------------------------------------------------------ */

/* A store of bf16 that is computed with even and odd lanes apart: emits it and returns 1; 0: it is none. */
int codegen_emit_pairs(codegen_emitter *m, const tir_stmt *s);
/* A cast to f32 of a load of bf16, while such a store is emitted; NULL: it is none. */
LLVMValueRef codegen_paired_load(codegen_emitter *m, const tir_expr *cast);

void codegen_emit_prefetch(codegen_emitter *m, const tir_stmt *s);

/* ---- emit_past.c ------------------------------------------------------------------------------------------------- */

/* Whether the target has stores past the caches. */
bool codegen_can_stream(const codegen_emitter *m);
/* Where M streams: waits until what was stored so is seen by other threads. */
void codegen_end_streaming(codegen_emitter *m);
/* Whether LANES in a row of BUFFER go past the caches. */
bool codegen_is_past(const codegen_emitter *m, const tir_buffer *buffer, int lanes);
/* Stores VALUE so. Between the next two it may wait for the others of N stores in a row. */
void codegen_store_past(codegen_emitter *m, LLVMValueRef place, unsigned align, LLVMValueRef value);
void codegen_past_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts);
void codegen_past_end(codegen_emitter *m);

/* ---- emit_first.c ------------------------------------------------------------------------------------------------ */

/* Of the first of N statements, which follow N_BEFORE others in a row, those that are steps of argmax or argmin in the order of their
 * positions: emits them with one comparison a step. Returns how many; 0: they are none. */
int codegen_emit_firsts(codegen_emitter *m, int n_before, int n, const tir_stmt *const *stmts);

/* ---- emit_sum.c -------------------------------------------------------------------------------------------------- */

/* The value of store S, in which lanes that do not count add nothing. */
const tir_expr *codegen_masked_sum(codegen_emitter *m, const tir_stmt *s);

/* ---- emit_place.c ------------------------------------------------------------------------------------------------ */

/* A row whose elements X, of one lane, are compared one after the other with VALUES, which POSITIONS beside it belongs to, both at PLACE. */
typedef struct codegen_first {
  const tir_buffer *positions, *values;
  const tir_expr *place, *x, *position;
  bool is_greatest; /* or the least */
} codegen_first;
/* All EXTENT steps, from MIN on, of N rows that a loop goes through together: positions grow and begin with -1, all places are different, and
 * no row is what the loop stores. False, and nothing emitted: they are none that this can do. */
bool codegen_emit_rows_first(codegen_emitter *m, const tir_stmt *loop, int64_t min, int64_t extent, int n,
                             const codegen_first *rows);

/* ---- emit_stmt.c, emit_parallel.c, emit_scratch.c ---------------------------------------------------------------- */

/* The builder ends where the statement does, perhaps in another block. */
void codegen_emit_stmt(codegen_emitter *m, const tir_stmt *s);
/* for (i = begin; i < end; i += step) body, known to run at least once; RANGE is what i may be. STEP: NULL for 1. TOGETHER: so many
 * iterations follow each other in a body. */
void codegen_emit_do_while(codegen_emitter *m, const tir_stmt *s, LLVMValueRef begin, LLVMValueRef end,
                           LLVMValueRef step, tir_interval range, int together);
/* One iteration of a loop. */
void codegen_emit_step(codegen_emitter *m, const tir_stmt *loop, LLVMValueRef i, tir_interval range);
/* How many iterations of a loop over EXTENT should follow each other in its body: steps of sums that are registers; else 1. */
int codegen_steps_together(const codegen_emitter *m, const tir_stmt *loop, int64_t extent);
/* A loop with so many together; those that are left stand behind it. */
void codegen_emit_steps(codegen_emitter *m, const tir_stmt *loop, LLVMValueRef begin, int64_t extent, int together,
                        tir_interval range);
/* What a loop's variable may be (needed to know what cannot overflow), and its extent. */
tir_interval codegen_loop_range(codegen_emitter *m, const tir_stmt *s, tir_interval *extent);
/* Closures lie on the stack of the function that runs the loop. */
void codegen_emit_parallel(codegen_emitter *m, const tir_stmt *s);
/* Whether a statement of the frame, which may be a variant or one nest of many, has a function of its own. */
bool codegen_is_apart(const codegen_emitter *m, const tir_stmt *s);
/* Whether the body has so many nests that one function of all would be slow to compile, and its stack too small for their tiles. */
bool codegen_has_parts(const tir_stmt *body);
/* Emits that function, and calls it. */
void codegen_emit_apart(codegen_emitter *m, const tir_stmt *s);
/* Makes the scratch of a frame's body, but not that of parallel loops inside; to be called at the frame's entry. */
void codegen_emit_scratch(codegen_emitter *m, const tir_stmt *body);
/* Releases the frame's scratch and returns the value. */
void codegen_emit_return(codegen_emitter *m, LLVMValueRef value);
/* The builder goes to a new block when CONDITION (i1) holds; codegen_end_if closes it. */
LLVMBasicBlockRef codegen_begin_if(codegen_emitter *m, LLVMValueRef condition);
void codegen_end_if(codegen_emitter *m, LLVMBasicBlockRef after);
/* Declares the functions that the kernel calls, and links the LLVM IR of those that have some (emit_call.c). */
void codegen_link_callees(codegen_emitter *m);
void codegen_emit_call(codegen_emitter *m, const tir_stmt *s);
/* Times of stages (emit_stage.c); nothing where the function has no marks of stages. Before a frame's code and before
 * it returns; around a call that other threads work for, which is not this one's time. */
void codegen_stages_find(codegen_emitter *m);
void codegen_stages_begin(codegen_emitter *m);
void codegen_stages_end(codegen_emitter *m);
LLVMValueRef codegen_stages_pause(codegen_emitter *m);
void codegen_stages_resume(codegen_emitter *m, LLVMValueRef paused);
void codegen_emit_stage(codegen_emitter *m, const tir_stmt *s);
/* Forgets memoised values: at each statement. */
void codegen_forget(codegen_emitter *m);

#endif
