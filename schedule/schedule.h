/* tenon/schedule.h: how to compute a program: stages, axes and the primitives that transform them. One schedule type
 * serves people and the tuner. Every primitive checks its preconditions, applies itself and appends its step; when it
 * refuses, the schedule is as it was and the context has the message (TN_ERROR_SCHEDULE). A schedule never changes a
 * result.
 *
 * Stages and axes are named by text, with the names that printing shows: stage "C", "C.local", "A.local"; axis "i",
 * "i.outer", "i.outer.inner", "i.j.fused", of a split into more than two parts "i.0", "i.1", ... The same words make
 * the schedule text: `tile(C, i, j, 32, 32); vectorize(C, j.inner); parallel(C, i.outer)`. docs/schedule.md shows each
 * primitive with the loop nest before and after. */
#ifndef TENON_SCHEDULE_H
#define TENON_SCHEDULE_H

#include "te/te.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_schedule tn_schedule;

/* What happens where a split does not divide its axis. GUARD: an `if` around the body. PEEL: the full blocks run
 * without a check and the rest stands in a loop nest of its own. MASK: as GUARD, with a warning unless the inner loop
 * is vectorized, so that the condition is a mask. PAD: the last block runs in full; the stage's buffer gets room for it
 * (data axes of stages that are no outputs), what it adds to a reduction is left out by a select. OVERLAP: the last
 * block moves back to end with the axis, so that elements are computed twice (data axes; such blocks are not parallel,
 * and a reduction is whole in each). */
#define TN_TAILS(X) X(GUARD, "guard") X(PEEL, "peel") X(MASK, "mask") X(PAD, "pad") X(OVERLAP, "overlap")
/* What becomes of the last block of a split that does not divide. */
typedef enum tn_tail {
#define X(name, text) TN_TAIL_##name,
  TN_TAILS(X)
#undef X
      TN_TAIL_COUNT
} tn_tail;

/* The default schedule: every stage at root, in its axes' order, serial. The context owns it; free it earlier with
 * tn_schedule_free when you make many. */
TN_API TN_GIVE tn_schedule *tn_schedule_new(tn_program *program);
/* An independent schedule of the same program, in about a microsecond. */
TN_API TN_GIVE tn_schedule *tn_schedule_copy(const tn_schedule *schedule);
/* NULL is allowed. Schedules that are not freed go with the context. */
TN_API void tn_schedule_free(TN_TAKE tn_schedule *schedule);
TN_API tn_program *tn_schedule_program(const tn_schedule *schedule);

/* ---- primitives on loops -------------------------------------------------------------------------------------------
 * All return TN_OK; TN_ERROR_SCHEDULE, refused, with a message that names primitive, stage, axis, values, rule and a
 * legal alternative; TN_ERROR_ARGUMENT for a NULL schedule; TN_ERROR_MEMORY. Names are copied where they are kept. */

/* axis -> axis.outer, axis.inner; the inner extent is FACTOR, cut to the axis' extent. TVM: split(factor=).
 *
 *     for (i, 0, 1024) f(i)    ->    for (i.outer, 0, 52)
 *                                      for (i.inner, 0, 20)
 *                                        if (i.outer*20 + i.inner < 1024) f(i.outer*20 + i.inner)
 *
 * TAIL says what the last block does when FACTOR does not divide. Refused: FACTOR < 1; an axis with an annotation or a
 * pragma, which would be lost. Stages computed at the axis are computed at axis.inner afterwards. */
TN_API tn_status tn_split(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail);
/* axis -> axis.outer, axis.inner; the outer extent is NPARTS. TVM: split(nparts=). Refused as tn_split. */
TN_API tn_status tn_split_nparts(tn_schedule *s, const char *stage, const char *axis, int64_t nparts, tn_tail tail);
/* axis -> axis.0 ... axis.N; LENGTHS are the N extents of axis.1 ... axis.N, 1 <= N <= 15, the outermost is what is
 * left. The auto-scheduler's SP. N = 1 names them as tn_split does. */
TN_API tn_status tn_split_many(tn_schedule *s, const char *stage, const char *axis, int n, const int64_t *lengths,
                               tn_tail tail);
/* Adjacent axes, outer to inner -> one named a.b.fused: tn_fuse(s, "C", "i", "j"). TVM: fuse.
 *
 *     for (i, 0, 7)            ->    for (i.j.fused, 0, 77) f(i.j.fused // 11, i.j.fused % 11)
 *       for (j, 0, 11) f(i, j)
 *
 * Data and reduction axes may be fused. Refused: axes that are not adjacent in this order, or annotated, or, but for
 * the innermost, have stages computed in them. */
#define tn_fuse(s, stage, ...)                                                               \
  tn_fuse_names((s), (stage), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                (const char *[]){__VA_ARGS__})
TN_API tn_status tn_fuse_names(tn_schedule *s, const char *stage, int n, const char *const *axes);
/* The named axes take, in this order, the places they hold now; others stay: tn_reorder(s, "C", "k", "i"). TVM:
 * reorder.
 *
 *     for (i) {                ->    for (i.init) C[i.init] = 0
 *       C[i] = 0                     for (k)
 *       for (k) C[i] += A[i, k]        for (i) C[i] += A[i, k]
 *     }
 *
 * Every order of axes is legal, reductions too: combiners are associative and commutative (floats up to rounding).
 * Refused: an axis twice or of another stage; a parallel loop inside a vectorized one; a reader moved out of the loop
 * in which what it reads is computed. */
#define tn_reorder(s, stage, ...)                                                               \
  tn_reorder_names((s), (stage), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                   (const char *[]){__VA_ARGS__})
TN_API tn_status tn_reorder_names(tn_schedule *s, const char *stage, int n, const char *const *axes);
/* Two splits and a reorder: a.outer, b.outer, a.inner, b.inner. TVM: tile. Both splits have the same TAIL. */
TN_API tn_status tn_tile(tn_schedule *s, const char *stage, const char *a, const char *b, int64_t factor_a,
                         int64_t factor_b, tn_tail tail);
/* The loop's iterations run in lockstep. TVM: vectorize.
 *
 *     for (i, 0, 16) C[i] = A[i] + 1    ->    C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)] + broadcast(1, 16)
 *
 * Any data axis, innermost or not; a guard becomes a mask; a loop longer than vectors are useful for is cut into
 * chunks. Refused: a reduction axis; an axis in which another stage is computed; one around a parallel loop. */
TN_API tn_status tn_vectorize(tn_schedule *s, const char *stage, const char *axis);
/* A split by FACTOR, and the inner loop vectorized. */
TN_API tn_status tn_vectorize_by(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail);
/* The loop's body is written out; one that would become too large stays a loop. Any axis. TVM: unroll. */
TN_API tn_status tn_unroll(tn_schedule *s, const char *stage, const char *axis);
/* FACTOR iterations of the loop run together, side by side in the loops that stand in it: what they read in common is
 * read once, and a sum gets FACTOR accumulators.
 *
 *     for (i, 0, 64) {                         ->    for (i.outer, 0, 32) {
 *       C[i] = 0                                       C[i.outer*2] = 0; C[i.outer*2 + 1] = 0
 *       for (k, 0, 32) C[i] += A[i, k] * B[k]          for (k, 0, 32) {
 *     }                                                  C[i.outer*2] += A[i.outer*2, k] * B[k]
 *                                                        C[i.outer*2 + 1] += A[i.outer*2 + 1, k] * B[k]
 *                                                      }
 *                                                    }
 *
 * The same as tn_split by FACTOR with TAIL, tn_reorder, axis.inner innermost but outside of lanes and of an intrinsic,
 * and tn_unroll. Any axis. Refused: FACTOR < 2; a loop that no other stands in; one that a stage is computed at; what
 * these three refuse. */
TN_API tn_status tn_unroll_jam(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail);
/* The loop's iterations are shared among threads (tn_thread_count). TVM: parallel, which accepts a reduction axis and
 * races. Refused: a reduction axis; a loop inside a parallel or a vectorized one. */
TN_API tn_status tn_parallel(tn_schedule *s, const char *stage, const char *axis);
/* The loop is bound to THREAD, "threadIdx.x" and the like, as a GPU's schedule says it. It is kept and printed;
 * building for a CPU refuses it. TVM: bind. Refused: a reduction axis; an index that a loop around or inside is bound
 * to. */
TN_API tn_status tn_bind(tn_schedule *s, const char *stage, const char *axis, const char *thread);
/* A remark about a loop. TVM: pragma. Each key once a loop.
 *   auto_unroll_max_step     loops inside AXIS that make at most VALUE statements (0 to 65535) when unrolled are unrolled
 *   unroll_explicit          0: loops inside AXIS that are to be unrolled are not written out in the loop IR but left to
 *                            the compiler behind it (1 is what holds without it)
 *   loop_partition_hint      1: AXIS is parted where the conditions on it hold throughout, as a split with tail peel is
 *   parallel_stride_pattern  1: a parallel AXIS goes to the threads in turn, iteration t, t + n, t + 2n ... to thread t
 *                            of n; without it each gets one run of iterations
 *   stream_stores            1: vectors that are stored to outputs inside AXIS go to memory past the caches: for outputs
 *                            that no cache holds. x86, where a vector's address is a multiple of its size; else as usual
 *   join_loop_before         1: AXIS, the outermost loop of a stage at the root, runs together with the one that stands right
 *                            before it, where both have the same iterations and neither needs what the other computes.
 *                            Halide: compute_with
 * Other keys of TVM's are refused with the reason. */
TN_API tn_status tn_pragma(tn_schedule *s, const char *stage, const char *axis, const char *key, int64_t value);

/* At loop AXIS of STAGE, asks for what the iteration OFFSET (1 or more) later reads of TENSOR, a cache line at a time.
 * TVM: prefetch.
 *
 *     for (i, 0, 64) C[i] = sum A[i, ...]    ->    for (i, 0, 64) {
 *                                                    for (a, 0, 4) prefetch(A[min(i + 2, 63), a*16])
 *                                                    C[i] = sum A[i, ...]
 *                                                  }
 *
 * Refused: a tensor that nothing inside the loop reads, that is inlined or computed inside the loop, or that has a
 * layout of its own. Warns while lowering when what is read does not depend on the iteration. */
TN_API tn_status tn_prefetch(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset);
/* At loop AXIS of STAGE, asks for what it reads of TENSOR in the iteration OFFSET later of LOOP, a loop of READER
 * around it: a large part comes a little at a time. Halide: prefetch with `at` and `from`.
 *
 *     for (j.outer, 0, 24)            ->    for (j.outer, 0, 24)
 *       for (k, 0, 384)                       for (k, 0, 384) {
 *         C.local[..] += .. B[k, j.outer*32 ..]   for (b, 0, 2) prefetch(B[k, min(j.outer*32 + b*16 + 32, 767)])
 *                                               C.local[..] += .. B[k, j.outer*32 ..]
 *                                             }
 *
 * Refused: as tn_prefetch; a LOOP that is not around AXIS. */
TN_API tn_status tn_prefetch_of(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset,
                                const char *reader, const char *loop);
/* Everything from AXIS inward becomes the intrinsic INTRIN. TVM: tensorize.
 *
 *     for (ji, 0, 16)                ->    C.local[ramp(0, 1, 16)] = dot(C.local[ramp(0, 1, 16)],
 *       for (ki, 0, 4)                       A[four bytes of row i, for each lane], P[ramp(.., 1, 64)])
 *         C.local[ji] += A[i, k*4 + ki] * P[ji, ki]
 *
 * The built-in dot products, each with 16 lanes, or 8 or 4 as "dot4_u8i8_x8" and "_x4":
 *     dot4_u8i8, dot4_i8i8    c[l<16] = sum[k<4](i32(a[l,k]) * i32(b[l,k])), exact: vpdpbusd
 *     dot2_bf16               c[l<16] = sum[k<2](f32(a[l,k]) * f32(b[l,k])): vdpbf16ps, which rounds twice and may
 *                             take subnormal numbers as 0 (tir/ir.h, DOT)
 * and plain vector code where the target lacks the instruction. For any numbers M and L from 1 to 4096, the same on
 * every target, summed up in the order of the loops:
 *     gemv_MxL, gemv_f64_MxL  c[m<M] = sum[l<L](a[l] * b[m,l]), all f32, or all f64: M accumulators, which are stored
 *                             once; they start from what is there, or from 0 where the whole reduction is inside
 * The loops have to be those of the pattern, in any order, with its extents; the expressions equal up to the order of
 * commutative operands, offsets and strides (an operand may be the same for all lanes, stride 0). Blocks that a tail
 * leaves incomplete run as plain loops beside the whole ones of tail=peel; a guard inside every block, loops that are
 * annotated, or in which a stage is computed, are refused, and what differs from the pattern is shown, both sides.
 * tn_intrin_new declares further ones. */
TN_API tn_status tn_tensorize(tn_schedule *s, const char *stage, const char *axis, const char *intrin);
/* A dry run: what tn_tensorize would answer, with its message; the schedule stays as it is. */
TN_API tn_status tn_tensorize_try(tn_schedule *s, const char *stage, const char *axis, const char *intrin);

/* ---- primitives on stages ------------------------------------------------------------------------------------------
 * They return what those on loops return. */

/* STAGE is computed inside TARGET's loop AXIS, only what that iteration needs, in a buffer of that size. TVM:
 * compute_at.
 *
 *     for (y, 0, 64) P[y] = A[y] * 2             ->    for (y, 0, 62) {
 *     for (y, 0, 62) Q[y] = P[y] + P[y + 2]              for (y_1, 0, 3) P[y_1] = A[y + y_1] * 2
 *                                                        Q[y] = P[0] + P[2]
 *                                                      }
 *
 * Elements may be computed more than once. Refused: an output; a stage that nothing inside TARGET reads, or that
 * something outside the loop reads; a vectorized loop or one inside of it. */
TN_API tn_status tn_compute_at(tn_schedule *s, const char *stage, const char *target, const char *axis);
/* tn_compute_at of STAGE and of all stages that it is made from, down to INPUTS, N stages or inputs of the program
 * which stay where they are (none: down to the program's inputs). TVM: create_group(outputs, inputs), then compute_at.
 *
 *     for (i) M[i] = ...                         ->    for (i) {
 *     for (i) for (j) E[i,j] = exp(X[i,j] - M[i])        M[0] = ...
 *     for (i) S[i] = sum(E[i,..])                        for (j) E[0,j] = ...
 *     for (i) for (j) Y[i,j] = E[i,j] / S[i]             S[0] = sum(E[0,..])
 *                                                        for (j) Y[i,j] = E[0,j] / S[0]
 *                                                      }
 *
 * Inlined stages stay inlined. Refused where tn_compute_at refuses one of them; an input that STAGE is made without. */
TN_API tn_status tn_compute_group_at_names(tn_schedule *s, const char *stage, const char *target, const char *axis,
                                           int n, const char *const *inputs);
#define tn_compute_group_at(s, stage, target, axis, ...)                                   \
  tn_compute_group_at_names((s), (stage), (target), (axis),                                \
                            (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                            (const char *[]){__VA_ARGS__})
/* STAGE's expression stands in its readers in place of the read. TVM: compute_inline. Refused: a reduction; an output;
 * a stage in which others are computed. */
TN_API tn_status tn_compute_inline(tn_schedule *s, const char *stage);
/* Takes tn_compute_at and tn_compute_inline back. TVM: compute_root. Refused when STAGE reads what is computed inside
 * the loop that it leaves. */
TN_API tn_status tn_compute_root(tn_schedule *s, const char *stage);
/* A new stage "<tensor>.<scope>" with axes ax0, ax1 ... copies TENSOR, and the named readers read the copy (none named:
 * all readers): tn_cache_read(s, "A", "local", "C"). TVM: cache_read.
 *
 *     C[i, j] += A[i, k] * B[k, j]    ->    A.local[ax0, ax1] = A[ax0, ax1]
 *                                           C[i, j] += A.local[i, k] * B[k, j]
 *
 * With tn_compute_at it packs what one iteration reads. Refused: a tensor under compute_at or inlined; a stage that
 * does not read it. */
#define tn_cache_read(s, tensor, scope, ...)                                                                 \
  tn_cache_read_names((s), (tensor), (scope), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                      (const char *[]){__VA_ARGS__})
TN_API tn_status tn_cache_read_names(tn_schedule *s, const char *tensor, const char *scope, int n,
                                     const char *const *readers);
/* The computation moves to a new stage "<tensor>.<scope>" with axes "<axis>.c"; TENSOR becomes a copy of it. TVM:
 * cache_write.
 *
 *     C[i, j] += A[i, k] * B[k, j]    ->    C.local[i.c, j.c] += A[i.c, k] * B[k, j.c]
 *                                           C[i, j] = C.local[i, j]
 *
 * Refused: a stage that already has a schedule, which would be lost; one that reads what is computed inside a loop. */
TN_API tn_status tn_cache_write(tn_schedule *s, const char *tensor, const char *scope);
/* The same of several tensors that one definition computes, all of them: tn_cache_write_tuple(s, "local", "I", "V"). */
#define tn_cache_write_tuple(s, scope, ...)                                                         \
  tn_cache_write_names((s), (scope), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
                       (const char *[]){__VA_ARGS__})
TN_API tn_status tn_cache_write_names(tn_schedule *s, const char *scope, int n, const char *const *tensors);
/* A reduction in two: a new stage "<tensor>.rf" has the reduction loop AXIS as a data axis, at FACTOR_AXIS among its
 * data axes (negative: from the end), and reduces over the other reduction loops; TENSOR reduces that over "<axis>.v".
 * TVM: rfactor.
 *
 *     B = sum[k](A[k]), k split by 16    ->    B.rf[k.inner] = sum[k.outer](A[k.outer*16 + k.inner])
 *                                              B = sum[k.inner.v](B.rf[k.inner.v])
 *
 * Refused: a loop over a data axis; a stage whose loops have a schedule but for split and fuse of reduction axes. */
TN_API tn_status tn_rfactor(tn_schedule *s, const char *tensor, const char *axis, int factor_axis);
/* A reduction over sliding windows in two: a new stage "<tensor>.rf" reduces over the other reduction axes, once for each place that data axis
 * ALONG and the window's reduction axis AXIS reach together; TENSOR reduces the places of its window over "<axis>.v".
 * ELEMENTS above 0: that many neighbours of the window belong to a place, which the window's length is a multiple of: 8 + 8 steps
 * for a window of 64. The separable box filter, for any combiner; neither TVM nor Halide has it as a primitive.
 *
 *     B[y, x] = sum[r<5, s<5](A[y + r, x + s])    ->    B.rf[y, x] = sum[r](A[y + r, x])    (x < X + 4)
 *                                                       B[y, x] = sum[s.v](B.rf[y, x + s.v])
 *     B[x] = sum[s<64](A[x + s]), ELEMENTS 8              ->    B.rf[x] = sum[s<8](A[x + s])           (x < X + 56)
 *                                                       B[x] = sum[s.v<8](B.rf[x + 8*s.v])
 *
 * Refused: windows that do not overlap; ELEMENTS of windows that begin farther apart than theirs; weights or anything else that depends on AXIS alone; extents of symbols; a stage that already has a
 * schedule. */
TN_API tn_status tn_rfactor_window(tn_schedule *s, const char *tensor, const char *axis, const char *along,
                                   int64_t elements);
/* A reduction whose loop AXIS runs in parallel: PARTS chunks (0: tn_thread_count()) are reduced each into an
 * accumulator of its own in stage "<tensor>.rf", and TENSOR combines those in order, so that the result does not depend
 * on the threads. The same as tn_split_nparts, tn_rfactor at 0 and tn_parallel. */
TN_API tn_status tn_parallel_reduce(tn_schedule *s, const char *tensor, const char *axis, int64_t parts);
/* Inlines every stage that is no output and no reduction and whose loops have no schedule. TVM: AutoInlineInjective. */
TN_API tn_status tn_auto_inline(tn_schedule *s);
/* STAGE's buffer stores its elements in another order: MAP takes the indices of the tensor to those of the buffer,
 * "[k, j] -> [j//64, k, j%64]" for panels of 64 columns. On the right stand names, // and %, so that each element has a
 * place of its own; where a number does not divide, the buffer has room that is not used. Refused: inputs and outputs,
 * whose memory is the caller's. */
TN_API tn_status tn_transform_layout(tn_schedule *s, const char *stage, const char *map);
/* Room between the rows of STAGE's buffer, so that the stride of its data axis AXIS is OFFSET modulo FACTOR (elements).
 * TVM: storage_align. Refused: the last dimension, inputs and outputs. */
TN_API tn_status tn_storage_align(tn_schedule *s, const char *stage, const char *axis, int64_t factor, int64_t offset);
/* Where STAGE's buffer lies: "global" (heap when large) or "local" (a thread's own small scratch, registers when all
 * its indices become constants). TVM: set_scope. Refused: inputs and outputs, whose memory is the caller's. */
TN_API tn_status tn_set_scope(tn_schedule *s, const char *stage, const char *scope);

/* STAGE's buffer has two halves that alternate: in each iteration of the loop it is computed in, the next one's part is
 * computed ahead. TVM: double_buffer.
 *
 *     for (y, 0, 62) {                       ->    P[0, ...] = what iteration 0 reads
 *       P[...] = what iteration y reads            for (y, 0, 62) {
 *       Q[y] = ... P ...                             if (y + 1 < 62) P[(y + 1) % 2, ...] = what iteration y + 1 reads
 *     }                                              Q[y] = ... P[y % 2, ...] ...
 *                                                  }
 *
 * Refused: an output; a stage that is not under compute_at; a loop that is not serial; a stage that reads what is
 * computed in the same iteration. */
TN_API tn_status tn_double_buffer(tn_schedule *s, const char *stage);
/* STAGE's buffer is kept from one iteration of the loop it is computed in to the next, as a ring; an iteration computes
 * only what the one before did not. TVM: rolling_buffer.
 *
 *     for (y, 0, 62) {                       ->    for (y, 0, 62) {
 *       for (r, 0, 3) P[r] = A[y + r] * 2            for (r, 0, 3) if (y == 0 || r >= 2) P[(y + r) % 3] = A[y + r] * 2
 *       Q[y] = P[0] + P[2]                           Q[y] = P[y % 3] + P[(y + 2) % 3]
 *     }                                            }
 *
 * Refused as tn_double_buffer, but for what it may read. Warns while lowering, and keeps the plain buffer, when what an
 * iteration reads does not move along one dimension by a constant less than its extent. */
TN_API tn_status tn_rolling_buffer(tn_schedule *s, const char *stage);
/* Every store of STAGE stands in `if (CONDITION)`, over its data axes as the program names them: "i >= 1 && i < 15".
 * TVM:
 * set_store_predicate, which lets that change results. Here it is for leaving out what nobody reads.
 *
 *     for (i, 0, 16) P[i] = A[i] * 2         ->    for (i, 0, 16) if (i < 8) P[i] = A[i] * 2
 *     for (i, 0, 8) Q[i] = P[i] + 1                for (i, 0, 8) Q[i] = P[i] + 1
 *
 * Refused: a condition that is not proved to hold wherever a reader reads, by its axes' ranges and the conditions of
 * its selects and reductions; for an output, one that does not hold everywhere. TN_ERROR_PARSE when it is no
 * condition. */
TN_API tn_status tn_set_store_predicate(tn_schedule *s, const char *stage, const char *condition);

/* ---- generic schedules ------------------------------------------------------------------------------------------- */

/* What operations take on a machine, in nanoseconds of one thread. X(name, "what it is") */
#define TN_MACHINE_COSTS(X)                                                             \
  X(fma16, "a multiply-add of f32 vectors of 16 bytes, many in flight")                 \
  X(fma32, "the same of 32 bytes")                                                      \
  X(fma64, "the same of 64 bytes")                                                      \
  X(dot2, "a dot product of pairs of bf16, widest vectors, many in flight")             \
  X(dot4, "the same of fours of bytes")                                                 \
  X(chain, "a multiply-add that waits for the one before")                              \
  X(root, "a square root of the widest f32 vectors, many in flight")                    \
  X(load, "the load of a widest vector from the first cache")                           \
  X(load32, "the load of 32 bytes or of fewer side by side")                            \
  X(gather, "the load of an element that lies apart, first cache")                      \
  X(line2, "64 bytes from the second cache, in a stream")                               \
  X(line3, "64 bytes from the third cache, in a stream")                                \
  X(line4, "64 bytes from memory, in a stream")                                         \
  X(shared4, "64 bytes from memory while all threads stream, of each of them")          \
  X(stray, "64 bytes from the third cache, a page from those before")                   \
  X(waited, "the same of two lines side by side, while 12 multiply-adds wait for each") \
  X(asked, "the same, while nothing waits and each was asked for before")               \
  X(stray4, "64 bytes from memory, in runs of sixteen that lie a page apart")           \
  X(runs3, "64 bytes from the third cache, in runs of sixteen that lie a page apart")   \
  X(beside, "64 bytes from the third cache, in four streams a page apart")              \
  X(ends, "an addition that waits, at the end of a row, while the next row begins")     \
  X(write2, "64 bytes written beside as many read, in the second cache")                \
  X(write3, "the same in the third cache")                                              \
  X(write4, "the same in memory")                                                       \
  X(sharedwrite4, "the same while all threads do, of each of them")                     \
  X(past, "64 bytes written past the caches beside as many read")                       \
  X(sharedpast, "the same while all threads do, of each of them")                       \
  X(apart, "a store where all since some are pages apart, so that their set is full")   \
  X(spans, "what a store of 64 bytes costs more that spans two lines, both from afar")  \
  X(fresh, "64 bytes that are written first to memory just allocated")                  \
  X(page, "what an access to a page costs more when many others were used since")       \
  X(fork, "starting and ending a parallel loop")

/* Measured on a machine (tenon target --measure). Zeros: nobody measured. */
typedef struct tn_machine_costs {
#define X(name, what) double name;
  TN_MACHINE_COSTS(X)
#undef X
} tn_machine_costs;

/* What a generic schedule has to know of a machine. tn_target_machine (codegen.h) fills it; zeros are replaced by usual
 * values. */
typedef struct tn_machine {
  const char *cpu;                     /* its name, as tn_generic_register takes it; may be NULL */
  int threads;                         /* of a parallel loop */
  int vector_bytes;                    /* of a vector register ... */
  int vector_registers;                /* ... and how many there are */
  int64_t cache_bytes[4];              /* of the data caches by level; [0] is unused */
  int cache_ways[4];                   /* by level; [0] is unused */
  int64_t fork_ns;                     /* work that is worth starting threads for, by one thread's estimated time */
  int dot_i8_lanes, dot_bf16_lanes;    /* 32-bit lanes of dot product instructions; 0: there are none */
  bool dot_i8_halves, dot_bf16_halves; /* each is two instructions, of the halves of both operands */
  tn_machine_costs costs;
} tn_machine;

/* The operators that generic schedules tell apart, by the structure of a stage and of those computed with it.
 * X(NAME, "name", "what is recognised") */
#define TN_OPERATORS(X)                                                                                     \
  X(INJECTIVE, "injective", "no reduction: every point from points of its inputs")                          \
  X(BROADCAST, "broadcast", "no reduction, and an input that does not have all of its axes")                \
  X(REDUCE, "reduce", "a reduction that uses each element once: row sums, norms, argmax")                   \
  X(POOL, "pool", "a reduction over windows of one input")                                                  \
  X(SOFTMAX, "softmax", "rows that are reduced twice or more, exp among what is computed of them")          \
  X(NORMALIZATION, "normalization", "rows that are computed with and reduced")                              \
  X(DENSE, "dense", "a sum of products that uses elements again: a matrix product")                         \
  X(BATCH_MATMUL, "batch_matmul", "many of those at once")                                                  \
  X(CONV, "conv", "a sum of products over windows: convolutions of any rank, grouped, dilated, transposed") \
  X(DEPTHWISE, "depthwise", "the same with one filter for each channel")

/* A kernel of several: calls in which the program's only symbol is LEAST to MOST run VARIANT, a schedule of the same program with
 * tighter limits of the symbol, or with a number in its place where LEAST is MOST. S itself runs for all other values. In ascending
 * order; VARIANT has to live as long as S. Refused (TN_ERROR_SCHEDULE): values that are not the symbol's, or another variant's; a program
 * with other arguments, without a symbol or with several, or with strided arguments. What is built of S has all of them in one
 * function of the same signature; its parts (tn_build_part) are not built. */
TN_API tn_status tn_schedule_add_variant(tn_schedule *s, int64_t least, int64_t most, const tn_schedule *variant);

/* Schedules the whole program for MACHINE (NULL: this many threads, small vectors) by the operators recognised in it:
 * chains inlined, vectors along contiguous axes, threads where the work is worth them, register tiles and packing for
 * products. Made of ordinary primitives. TVM: topi's schedules. Refused (TN_ERROR_SCHEDULE): a schedule that has steps.
 * What is not recognised, or where a primitive refuses, is scheduled as injective or left as it is, with a message of
 * severity TN_SEVERITY_INFO. */
TN_API tn_status tn_schedule_auto(tn_schedule *s, const tn_machine *machine);
/* Schedules STAGE and what is computed with it as OPERATOR ("softmax"; NULL: as recognised) and nothing else. Refused:
 * an unknown operator, one that the stage is not, a stage that has a schedule already. */
TN_API tn_status tn_schedule_generic(tn_schedule *s, const char *stage, const char *operator_name,
                                     const tn_machine *machine);
/* The name of the operator that STAGE is recognised as; NULL with a message when there is no such stage. */
TN_API const char *tn_schedule_operator(tn_schedule *s, const char *stage);

/* A schedule of one's own for an operator: called with the stage that it ends in, whose producers may be computed with
 * it (tn_schedule_operator says as what it is known). When it refuses, its changes are undone and the generic schedule
 * is taken, with a message. */
typedef tn_status (*tn_generic_fn)(tn_schedule *s, const char *stage, const tn_machine *machine, void *user);
/* Replaces the generic schedule of an operator in a context, on machines whose CPU has this name (NULL: all); the last
 * one that fits is taken. TVM: register_schedule. TN_ERROR_ARGUMENT: there is no such operator. */
TN_API tn_status tn_generic_register(tn_context *ctx, const char *operator_name, const char *cpu, tn_generic_fn fn,
                                     void *user);

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* The stages now, producers first; an index outside of them gives NULL. Names live as long as the program. */
TN_API int tn_schedule_stage_count(const tn_schedule *s);
TN_API const char *tn_schedule_stage_name(const tn_schedule *s, int index);

/* A loop of a stage. Its strings live as long as the program. */
typedef struct tn_loop {
  const char *name;       /* "i.outer" */
  int64_t extent;         /* of a symbolic one: the most it can be */
  bool is_symbolic;       /* the extent is known when the kernel is called */
  bool is_reduction;      /* it is, or comes of, a reduction axis */
  const char *annotation; /* "none", "unroll", "vectorize", "parallel", "tensorize", "threadIdx.x", ... */
} tn_loop;
/* The loops of STAGE, outermost first, before bound inference: writes at most MAX and returns how many there are; -1
 * with a message when there is no such stage. TVM: s[C].leaf_iter_vars. */
TN_API int tn_schedule_loops(const tn_schedule *s, const char *stage, int max, tn_loop *out);

/* ---- text in and out --------------------------------------------------------------------------------------------- */

/* Applies `primitive(arguments); ...` (docs/schedule.md). All or nothing: on failure the schedule is as before.
 * TN_ERROR_PARSE, with line and caret, when the text is not of that form. */
TN_API tn_status tn_schedule_apply(tn_schedule *s, const char *text);
/* Applies the `schedule { ... }` blocks of the program's own text, in order, as tn_schedule_apply does: all or nothing.
 * TN_OK where it has none. */
TN_API tn_status tn_schedule_apply_own(tn_schedule *s);
/* Applies recorded steps, a JSON array of arrays (docs/records.md), checking each as a user's call is. All or nothing.
 * TN_ERROR_RECORD when it is no such array. */
TN_API tn_status tn_schedule_replay(tn_schedule *s, const char *steps_json);

/* What tn_schedule_print can write. */
typedef enum tn_form {
  TN_FORM_TIR,      /* lowered loop IR after all passes, TVM's textual style */
  TN_FORM_STEPS,    /* JSON array of steps */
  TN_FORM_TEXT,     /* schedule text: what tn_schedule_apply takes */
  TN_FORM_API,      /* C calls that make this schedule */
  TN_FORM_TREE,     /* the loop tree on one screen */
  TN_FORM_TVMSCRIPT /* blocks, axes, reads and writes, in TVMScript's words; for reading */
} tn_form;
/* malloc'ed text, or NULL with a message. */
TN_API TN_GIVE char *tn_schedule_print(const tn_schedule *s, tn_form form);

#ifdef __cplusplus
}
#endif
#endif
