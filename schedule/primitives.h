/* primitives.h: the primitives, a row each. A new primitive is a file with its check and its rewrite, and a row here.
 * From the rows derive the kinds of steps (state.h), their JSON (steps.c), schedule text (text.c), calls in C by names
 * (arguments.c), how a step is written as text or as C (arguments.c), what is checked and done (call.c) and the table
 * at the end of docs/schedule.md, which a test compares.
 *
 *   STEP(MNEMONIC, name, how, fields, arguments, keys, usage, about)
 *     a primitive that is a step of records: schedule_check_<how> and schedule_rewrite_<how> (call.h). A row without a
 *     usage is no word of schedule text.
 *   WORD(MNEMONIC, name, how, least, most, arguments, keys, usage, about)
 *     another name of that step, for values from LEAST to MOST
 *   COMPOSED(name, word, arguments, keys, usage, about)
 *     a primitive that calls others on a copy: schedule_compose_<name>. Records hold the steps that these make. Rows of
 *     one WORD differ in their arguments; the first has the usage.
 *
 * FIELDS are the JSON array behind the mnemonic, in the order of TVM's logs: s stage, i iter, S target stage, I target
 * iter, v value, l list, o inner_to_outer, t tail, x text; in capitals V and L: last, and left out where 0 and empty.
 * ARGUMENTS are letters too, one for each argument of a call (arguments.c lists them). KEYS may stand behind them. */
#ifndef TENON_SCHEDULE_PRIMITIVES_H
#define TENON_SCHEDULE_PRIMITIVES_H

#define SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)                                                                     \
  STEP(SP, split, split, "sivlot", "sin",                                                                             \
       " factor= nparts= tail=", "split(stage, axis, factor [, tail=peel]) or split(stage, axis, nparts=n)",          \
       "one loop becomes two or more")                                                                                \
  COMPOSED(tile, "tile", "sij2", " tail=", "tile(stage, a, b, factor_a, factor_b [, tail=peel])",                     \
           "two splits and a reorder")                                                                                \
  STEP(FU, fuse, fuse, "sl", "sl", "", "fuse(stage, axis, axis, ...)", "adjacent loops become one")                   \
  STEP(RE, reorder, reorder, "sl", "sp", "", "reorder(stage, axis, axis, ...)", "loops change places")                \
  STEP(AN, annotate, annotate, "siv", "si", "", NULL, NULL)                                                           \
  WORD(AN, vectorize, annotate, SCHEDULE_VECTORIZE, SCHEDULE_VECTORIZE, "si", "",                                     \
       "vectorize(stage, axis [, factor [, tail=peel]])", "a loop's iterations run in lockstep")                      \
  COMPOSED(vectorize_by, "vectorize", "siN", " tail=", NULL, NULL)                                                    \
  WORD(AN, unroll, annotate, SCHEDULE_UNROLL, SCHEDULE_UNROLL, "si", "", "unroll(stage, axis)",                       \
       "a loop's body is written out")                                                                                \
  COMPOSED(unroll_jam, "unroll_jam", "siN", " tail=", "unroll_jam(stage, axis, factor [, tail=peel])",                \
           "iterations of an outer loop run together, side by side in the loops inside")                              \
  WORD(AN, parallel, annotate, SCHEDULE_PARALLEL, SCHEDULE_PARALLEL, "si", "", "parallel(stage, axis)",               \
       "a loop's iterations are shared among threads")                                                                \
  STEP(PR, pragma, pragma, "six", "sik", "", "pragma(stage, axis, key, n)", "a remark about a loop")                  \
  STEP(TZ, tensorize, tensorize, "six", "siz", "", "tensorize(stage, axis, intrinsic)",                               \
       "the loops from one inward become an intrinsic")                                                               \
  STEP(CA, compute_at, compute_at, "sSI", "sSI", "", "compute_at(stage, reader, axis)",                               \
       "a stage is computed inside a reader's loop")                                                                  \
  COMPOSED(compute_group_at, "compute_group_at", "sSIg", "", "compute_group_at(stage, reader, axis [, input ...])",   \
           "a stage and what it is made from, in one loop")                                                           \
  STEP(CI, compute_inline, compute_inline, "s", "s", "", "compute_inline(stage)",                                     \
       "a stage's expression stands in its readers")                                                                  \
  STEP(CR, compute_root, compute_root, "s", "s", "", "compute_root(stage)", "a stage is computed by itself again")    \
  STEP(CHR, cache_read, cache_read, "sxlV", "txr", "", "cache_read(tensor, scope, reader, ...)",                      \
       "readers read a copy of a tensor")                                                                             \
  STEP(CHW, cache_write, cache_write, "sx", "w", "", "cache_write(tensor [, tensor ...], scope)",                     \
       "a stage becomes a copy of a new one that computes it")                                                        \
  STEP(SS, set_scope, set_scope, "sx", "sx", "", "set_scope(stage, scope)", "where a stage's buffer lies")            \
  STEP(RF, rfactor, rfactor, "siv", "sif", "", "rfactor(stage, axis [, factor_axis])",                                \
       "a reduction in two: partial results, and what combines them")                                                 \
  STEP(RW, rfactor_window, rfactor_window, "siIV", "sije", "", "rfactor_window(stage, axis, along [, elements])",     \
       "a reduction in two: partial results that the windows of neighbours share, and what combines them")            \
  COMPOSED(parallel_reduce, "parallel_reduce", "siP", " parts=", "parallel_reduce(stage, axis [, parts=n])",          \
           "a reduction's loop is shared among threads")                                                              \
  COMPOSED(auto_inline, "auto_inline", "", "", "auto_inline()", "every stage that can be is inlined")                 \
  STEP(TL, transform_layout, transform_layout, "sx", "sm", "", "transform_layout(stage, [i, j] -> [j, i])",           \
       "a buffer stores its elements in another order")                                                               \
  STEP(SA, storage_align, storage_align, "sivI", "sivo", "", "storage_align(stage, axis, factor, offset)",            \
       "room between the rows of a buffer")                                                                           \
  STEP(DB, double_buffer, set_buffering, "s", "s", "", "double_buffer(stage)",                                        \
       "the next iteration's part is computed ahead")                                                                 \
  STEP(RB, rolling_buffer, set_buffering, "s", "s", "", "rolling_buffer(stage)",                                      \
       "an iteration computes only what the one before did not")                                                      \
  STEP(ST, set_store_predicate, set_store_predicate, "sx", "sc", "", "set_store_predicate(stage, condition)",         \
       "what nobody reads is not stored")                                                                             \
  STEP(PF, prefetch, prefetch, "sSivL", "sbivq", "", "prefetch(stage, tensor, axis, offset [, reader, loop])",        \
       "what a later iteration reads is asked for")                                                                   \
  WORD(AN, bind, annotate, SCHEDULE_BIND, SCHEDULE_ANNOTATION_COUNT - 1, "sih", "", "bind(stage, axis, threadIdx.x)", \
       "a loop is one of a GPU's thread indices")

#endif
