/* The primitives by position, as the tuner and records call them: what is out of range is refused like a wrong name. */
#include "tests/schedule/tests.h"

/* Stages A 0, P 1, Q 2; loops of P: i, j; of Q: i, k. */
#define PROGRAM "P[i<16, j<8] = A[i,j] * 2\nQ[i<16] = sum[k<8](P[i,k])"

static tn_status apply_prefetch(tn_schedule *s, int tensor, int iter, int of, int of_iter) {
  schedule_step step = {.kind = SCHEDULE_STEP_PF,
                        .stage = 2,
                        .iter = (int16_t)iter,
                        .target_stage = (int16_t)tensor,
                        .value = 1,
                        .n = 2,
                        .list = (int64_t[]){of, of_iter}};
  return schedule_apply_step(s, &step);
}
static tn_status apply_to(tn_schedule *s, schedule_step_kind kind, int stage, const char *text) {
  schedule_step step = {.kind = (uint8_t)kind, .stage = (int16_t)stage, .iter = -1, .text = text};
  return schedule_apply_step(s, &step);
}

static tn_status split_stage_below(tn_schedule *s) {
  return schedule_split(s, -1, 0, 1, (int64_t[]){4}, true, TN_TAIL_GUARD);
}
static tn_status split_stage_above(tn_schedule *s) {
  return schedule_split(s, 3, 0, 1, (int64_t[]){4}, true, TN_TAIL_GUARD);
}
static tn_status split_iter_below(tn_schedule *s) {
  return schedule_split(s, 1, -1, 1, (int64_t[]){4}, true, TN_TAIL_GUARD);
}
static tn_status split_iter_above(tn_schedule *s) {
  return schedule_split(s, 1, 2, 1, (int64_t[]){4}, true, TN_TAIL_GUARD);
}
static tn_status split_no_lengths(tn_schedule *s) { return schedule_split(s, 1, 0, 0, NULL, true, TN_TAIL_GUARD); }
static tn_status split_tail(tn_schedule *s) { return schedule_split(s, 1, 0, 1, (int64_t[]){4}, true, (tn_tail)7); }
static tn_status split_outside(tn_schedule *s) {
  return schedule_split(s, 1, 0, 2, (int64_t[]){4, 2}, false, TN_TAIL_GUARD);
}
static tn_status fuse_none(tn_schedule *s) { return schedule_fuse(s, 1, 0, NULL); }
static tn_status fuse_above(tn_schedule *s) { return schedule_fuse(s, 1, 2, (int[]){1, 2}); }
static tn_status fuse_same(tn_schedule *s) { return schedule_fuse(s, 1, 2, (int[]){0, 0}); }
static tn_status fuse_backwards(tn_schedule *s) { return schedule_fuse(s, 1, 2, (int[]){1, 0}); }
static tn_status reorder_too_few(tn_schedule *s) { return schedule_reorder(s, 1, 1, (int[]){0}); }
static tn_status reorder_twice(tn_schedule *s) { return schedule_reorder(s, 1, 2, (int[]){1, 1}); }
static tn_status reorder_above(tn_schedule *s) { return schedule_reorder(s, 1, 2, (int[]){0, 5}); }
static tn_status annotate_none(tn_schedule *s) { return schedule_annotate(s, 1, 0, SCHEDULE_NONE); }
static tn_status annotate_unknown(tn_schedule *s) { return schedule_annotate(s, 1, 0, (schedule_annotation)99); }
static tn_status annotate_input(tn_schedule *s) { return schedule_annotate(s, 0, 0, SCHEDULE_UNROLL); }
static tn_status pragma_iter(tn_schedule *s) { return schedule_pragma_unroll(s, 2, 9, 16); }
static tn_status prefetch_tensor(tn_schedule *s) { return apply_prefetch(s, 5, 0, 2, 0); }
static tn_status prefetch_iter(tn_schedule *s) { return apply_prefetch(s, 1, 3, 2, 3); }
static tn_status prefetch_of(tn_schedule *s) { return apply_prefetch(s, 1, 0, 9, 0); }
static tn_status prefetch_of_iter(tn_schedule *s) { return apply_prefetch(s, 1, 0, 2, -1); }
static tn_status double_stage(tn_schedule *s) { return apply_to(s, SCHEDULE_STEP_DB, 9, NULL); }
static tn_status predicate_stage(tn_schedule *s) { return apply_to(s, SCHEDULE_STEP_ST, -1, "i < 4"); }
static tn_status at_stage(tn_schedule *s) { return schedule_compute_at(s, 9, 2, 0); }
static tn_status at_target(tn_schedule *s) { return schedule_compute_at(s, 1, -4, 0); }
static tn_status at_iter(tn_schedule *s) { return schedule_compute_at(s, 1, 2, 5); }
static tn_status inline_stage(tn_schedule *s) { return schedule_compute_inline(s, 12); }
static tn_status root_stage(tn_schedule *s) { return apply_to(s, SCHEDULE_STEP_CR, -1, NULL); }
static tn_status read_stage(tn_schedule *s) { return schedule_cache_read(s, 4, "local", 1, (int[]){2}); }
static tn_status read_no_readers(tn_schedule *s) { return schedule_cache_read(s, 1, "local", 0, NULL); }
static tn_status read_reader(tn_schedule *s) { return schedule_cache_read(s, 1, "local", 1, (int[]){7}); }
static tn_status read_no_scope(tn_schedule *s) { return schedule_cache_read(s, 1, NULL, 1, (int[]){2}); }
static tn_status write_stage(tn_schedule *s) { return schedule_cache_write(s, -2, "local"); }
static tn_status scope_none(tn_schedule *s) { return schedule_set_scope(s, 1, NULL); }
static tn_status step_kind(tn_schedule *s) { return schedule_apply_step(s, &(schedule_step){.kind = 99}); }
static tn_status step_long(tn_schedule *s) {
  return schedule_apply_step(s, &(schedule_step){.kind = SCHEDULE_STEP_FU, .stage = 1, .n = 100000});
}
static tn_status step_annotation(tn_schedule *s) {
  return schedule_apply_step(s,
                             &(schedule_step){.kind = SCHEDULE_STEP_AN, .stage = 1, .value = (INT64_C(1) << 32) + 1});
}
static tn_status name_none(tn_schedule *s) { return tn_split(s, NULL, "i", 4, TN_TAIL_GUARD); }
static tn_status axis_none(tn_schedule *s) { return tn_unroll(s, "P", NULL); }
static tn_status key_none(tn_schedule *s) { return tn_pragma(s, "P", "i", NULL, 4); }
static tn_status target_none(tn_schedule *s) { return tn_compute_at(s, "P", NULL, "i"); }
static tn_status scope_none_by_name(tn_schedule *s) { return tn_cache_write(s, "P", NULL); }

static const struct position {
  const char *name;
  tn_status (*call)(tn_schedule *s);
  const char *message;
} positions[] = {
    {"split: a stage below 0", split_stage_below, "split(?): there is no stage -1: take 0 to 2"},
    {"split: a stage that is not there", split_stage_above, "split(?): there is no stage 3: take 0 to 2"},
    {"split: a loop below 0", split_iter_below,
     "split(P): stage P has no loop number -1: take one of its 2 loops, counted from 0 (i, j)"},
    {"split: a loop that is not there", split_iter_above,
     "split(P): stage P has no loop number 2: take one of its 2 loops, counted from 0 (i, j)"},
    {"split: no lengths", split_no_lengths,
     "split(P, i): 0 lengths: a split takes 1 to 15; split one of the new loops again"},
    {"split: an unknown tail", split_tail,
     "split(P, i): tail strategy 7 is unknown: take 0 guard, 1 peel, 2 mask, 3 pad, 4 overlap"},
    {"split: two lengths from the outside", split_outside,
     "split(P, i): 2 lengths from the outside: nparts is one length; give the inner lengths"},
    {"fuse: no loops", fuse_none, "fuse(P): 0 loops to fuse, of P, which has 2: name two or more adjacent loops"},
    {"fuse: a loop that is not there", fuse_above,
     "fuse(P, j): stage P has no loop number 2: take one of its 2 loops, counted from 0 (i, j)"},
    {"fuse: one loop twice", fuse_same,
     "fuse(P, i, i): loops i and i of P are not adjacent in this order (loops: i, j): reorder them first"},
    {"fuse: backwards", fuse_backwards,
     "fuse(P, j, i): loops j and i of P are not adjacent in this order (loops: i, j): reorder them first"},
    {"reorder: too few", reorder_too_few, "reorder(P, i): 1 loops in the new order, P has 2: name all of them (i, j)"},
    {"reorder: one loop twice", reorder_twice,
     "reorder(P, j, j): loop j stands twice in the new order: name each loop once"},
    {"reorder: a loop that is not there", reorder_above,
     "reorder(P, i): stage P has no loop number 5: take one of its 2 loops, counted from 0 (i, j)"},
    {"annotate: none", annotate_none,
     "annotate(P, i): annotation 0 is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind"},
    {"annotate: unknown", annotate_unknown,
     "annotate(P, i): annotation 99 is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind"},
    {"annotate: an input", annotate_input,
     "unroll(A): A is an input and has no loops: take a computed stage, or copy it first with cache_read(A, local, "
     "reader)"},
    {"pragma: a loop that is not there", pragma_iter,
     "pragma(Q): stage Q has no loop number 9: take one of its 2 loops, counted from 0 (i, k)"},
    {"prefetch: a tensor that is not there", prefetch_tensor, "prefetch(Q, ?, i): there is no stage 5: take 0 to 2"},
    {"prefetch: a loop that is not there", prefetch_iter,
     "prefetch(Q, P): stage Q has no loop number 3: take one of its 2 loops, counted from 0 (i, k)"},
    {"prefetch: a reader that is not there", prefetch_of, "prefetch(Q, P, i): there is no stage 9: take 0 to 2"},
    {"prefetch: a reader's loop below 0", prefetch_of_iter,
     "prefetch(Q, P, i): stage Q has no loop number -1: take one of its 2 loops, counted from 0 (i, k)"},
    {"double_buffer: a stage that is not there", double_stage, "double_buffer(?): there is no stage 9: take 0 to 2"},
    {"set_store_predicate: a stage below 0", predicate_stage,
     "set_store_predicate(?): there is no stage -1: take 0 to 2"},
    {"compute_at: a stage that is not there", at_stage, "compute_at(?): there is no stage 9: take 0 to 2"},
    {"compute_at: a target that is not there", at_target, "compute_at(P): there is no stage -4: take 0 to 2"},
    {"compute_at: a loop that is not there", at_iter,
     "compute_at(P): stage Q has no loop number 5: take one of its 2 loops, counted from 0 (i, k)"},
    {"compute_inline: a stage that is not there", inline_stage, "compute_inline(?): there is no stage 12: take 0 to 2"},
    {"compute_root: a stage below 0", root_stage, "compute_root(?): there is no stage -1: take 0 to 2"},
    {"cache_read: a stage that is not there", read_stage, "cache_read(?): there is no stage 4: take 0 to 2"},
    {"cache_read: no readers", read_no_readers, "cache_read(P): no reader is named: name one of Q"},
    {"cache_read: a reader that is not there", read_reader, "cache_read(P): there is no stage 7: take 0 to 2"},
    {"cache_read: no scope", read_no_scope, "cache_read(P): scope \"\" is unknown: use \"global\" or \"local\""},
    {"cache_write: a stage below 0", write_stage, "cache_write(?): there is no stage -2: take 0 to 2"},
    {"set_scope: no scope", scope_none, "set_scope(P): scope \"\" is unknown: use \"global\" or \"local\""},
    {"step: an unknown kind", step_kind, "step kind 99 is unknown"},
    {"step: too long a list", step_long, "a step's list has over 512 entries"},
    {"step: an annotation beyond 32 bits", step_annotation,
     "annotate(P, i): annotation 4294967297 is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind"},
    {"NULL for a stage", name_none, "split(): no stage is called \"\": name one of A, P, Q"},
    {"NULL for an axis", axis_none, "unroll(P, ): axis \"\" is not part of stage P: name one of its loops, i, j"},
    {"NULL for a key", key_none,
     "pragma(P, i): key \"\" is unknown: use stream_stores, unroll_explicit, join_loop_before, loop_partition_hint, "
     "auto_unroll_max_step or parallel_stride_pattern"},
    {"NULL for a target", target_none, "compute_at(): no stage is called \"\": name one of A, P, Q"},
    {"NULL for a scope", scope_none_by_name, "cache_write(P): scope \"\" is unknown: use \"global\" or \"local\""},
};

static void position(void **state) {
  const struct position *p = *state;
  fixture f = fixture_new(PROGRAM, "");
  char *before = state_of(f.s);
  assert_int_equal(p->call(f.s), TN_ERROR_SCHEDULE);
  check_text(tn_context_message(f.ctx), p->message);
  char *after = state_of(f.s);
  check_text(after, before);
  free(before);
  free(after);
  fixture_free(&f);
}

/* ---- NULL where there is a context to say so --------------------------------------------------------------------- */

static tn_status apply_null(tn_schedule *s) { return tn_schedule_apply(s, NULL); }
static tn_status replay_null(tn_schedule *s) { return tn_schedule_replay(s, NULL); }
static tn_status split_null(tn_schedule *s) { return tn_split_many(s, "P", "i", 2, NULL, TN_TAIL_GUARD); }
static tn_status fuse_null(tn_schedule *s) { return tn_fuse_names(s, "P", 2, NULL); }
static tn_status reorder_null(tn_schedule *s) { return tn_reorder_names(s, "P", 2, NULL); }
static tn_status read_null(tn_schedule *s) { return tn_cache_read_names(s, "P", "local", 1, NULL); }
static tn_status write_null(tn_schedule *s) { return tn_cache_write_names(s, "local", 1, NULL); }
static tn_status group_null(tn_schedule *s) { return tn_compute_group_at_names(s, "P", "Q", "i", 1, NULL); }
static tn_status pattern_null(tn_schedule *s) {
  return tn_intrin_new(s->ctx, "f", NULL, &(tn_intrin_functions){.body = {.name = "f"}});
}
static tn_status functions_null(tn_schedule *s) { return tn_intrin_new(s->ctx, "f", "c[i<4] = a[i]", NULL); }
static tn_status generic_null(tn_schedule *s) { return tn_generic_register(s->ctx, "dense", NULL, NULL, NULL); }

static const struct position nulls[] = {
    {"apply", apply_null, "tn_schedule_apply: the text is NULL: give \"\" for no step"},
    {"replay", replay_null, "tn_schedule_replay: the steps are NULL: give \"[]\" for none"},
    {"split", split_null, "tn_split: a list of 2 is NULL"},
    {"fuse", fuse_null, "tn_fuse: a list of 2 is NULL"},
    {"reorder", reorder_null, "tn_reorder: a list of 2 is NULL"},
    {"cache_read", read_null, "tn_cache_read: a list of 1 is NULL"},
    {"cache_write", write_null, "tn_cache_write: a list of 1 is NULL"},
    {"compute_group_at", group_null, "tn_compute_group_at: a list of 1 is NULL"},
    {"tn_generic_register", generic_null, "tn_generic_register: the function is NULL: give the one to call"},
    {"tn_intrin_new: the pattern", pattern_null, "intrinsic f: the pattern is NULL: give one, \"c[i<16] = a[i]\""},
    {"tn_intrin_new: the functions", functions_null, "intrinsic f: the functions are NULL: name a body or an update"},
};

static void null_argument(void **state) {
  const struct position *p = *state;
  fixture f = fixture_new(PROGRAM, "");
  assert_int_equal(p->call(f.s), TN_ERROR_ARGUMENT);
  check_text(tn_context_message(f.ctx), p->message);
  assert_int_equal(f.s->n_steps, 0);
  fixture_free(&f);
}

/* Without one only the status says it. */
static void null_schedule(void **state) {
  (void)state;
  assert_int_equal(tn_split(NULL, "P", "i", 4, TN_TAIL_GUARD), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_auto_inline(NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_schedule_apply(NULL, ""), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_schedule_replay(NULL, "[]"), TN_ERROR_ARGUMENT);
  assert_null(tn_schedule_print(NULL, TN_FORM_TEXT));
}

int test_positions(void) {
  const struct CMUnitTest none[] = {cmocka_unit_test(null_schedule)};
  return CHECK_TABLE("by position", positions, position) + CHECK_TABLE("NULL", nulls, null_argument) +
         cmocka_run_group_tests_name("no schedule", none, NULL, NULL);
}
