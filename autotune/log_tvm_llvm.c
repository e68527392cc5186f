/* log_tvm_llvm.c: expresses as steps what LLVM does after TVM's steps. TVM leaves innermost loops to LLVM's
 * vectorizer, and the motion of loop-invariant code to LLVM, too. Tenon runs neither of these passes, so an
 * imported record gets steps for both, and keeps TVM's values for the way back:
 *
 *     compute_at(M, E, j)             compute_at(M, E, i)     the same M[i] for each j
 *                                     vectorize(E, j)
 *     auto_unroll_max_step$512   ->   auto_unroll_max_step$32, whose iterations are vectors of 16 */
#include "autotune/log_tvm.h"
#include "schedule/state.h"
#include "schedule/steps.h"
#include "schedule/work.h"

/* The schedule after the first N steps. NULL: they are refused, or there is no memory. */
static tn_schedule *replay_first(tn_program *program, const json_t *steps, size_t n) {
  json_t *first = json_array();
  for (size_t i = 0; i < n; ++i) json_array_append(first, json_array_get(steps, i));
  char *text = first ? json_dumps(first, JSON_COMPACT) : NULL;
  tn_schedule *s = text ? tn_schedule_new(program) : NULL;
  if (s && tn_schedule_replay(s, text) != TN_OK) {
    tn_schedule_free(s);
    s = NULL;
  }
  json_decref(first);
  free(text);
  return s;
}

static json_int_t number_in(const json_t *step, size_t k) { return json_integer_value(json_array_get(step, k)); }

/* Changes value K of step I; CHANGED gets [step, place, TVM's value]. */
static void change(json_t *steps, json_t *changed, size_t i, size_t k, TN_TAKE json_t *value) {
  json_t *step = json_array_get(steps, i);
  json_array_append_new(changed, json_pack("[I, I, O]", (json_int_t)i, (json_int_t)k, json_array_get(step, k)));
  json_array_set_new(step, k, value);
}

void log_tvm_restore(const json_t *changed, json_t *steps) {
  for (size_t i = 0; i < json_array_size(changed); ++i) {
    const json_t *one = json_array_get(changed, i);
    json_t *step = json_array_get(steps, (size_t)number_in(one, 0));
    if (json_is_array(step)) json_array_set(step, (size_t)number_in(one, 1), json_array_get(one, 2));
  }
}

/* ---- what does not change in a loop ------------------------------------------------------------------------------ */

/* How many elements a stage computes, repeated ones included; -1: the steps are refused. */
static int64_t points_of(tn_program *program, const json_t *steps, int stage) {
  tn_schedule *s = replay_first(program, steps, json_array_size(steps));
  tn_kernel_stage *work = s ? calloc((size_t)schedule_computed_count(s) + 1, sizeof *work) : NULL;
  bool done = work && schedule_count_work(s, SCHEDULE_WHOLE, work) == TN_OK;
  int64_t points = done ? work[schedule_computed_number(s, stage)].points : -1;
  free(work);
  tn_schedule_free(s);
  return points;
}

/* Whether later steps add stages, so that step I's stage numbers mean other stages at the end. */
static bool adds_stages_behind(const json_t *steps, size_t i) {
  static const char *const adding[] = {"CHR", "CHW", "RF"};
  while (++i < json_array_size(steps))
    if (RUNTIME_FIND(adding, json_string_value(json_array_get(json_array_get(steps, i), 0))) >= 0) return true;
  return false;
}

/* The outermost loop in which step I could compute its stage without computing more elements: each loop
 * that is left out had only repeated them. LOOPS_OF has the loops as they are at that step. */
static json_int_t outermost(tn_program *program, json_t *steps, size_t i, const schedule_stage *loops_of) {
  json_t *step = json_array_get(steps, i);
  json_int_t own = number_in(step, 3), best = own;
  int stage = (int)number_in(step, 1);
  int64_t points = points_of(program, steps, stage), again = 1;
  for (json_int_t loop = own; points > 0 && loop > 0; --loop) {
    int64_t extent = schedule_leaf(loops_of, (int)loop)->extent;
    if (extent == 1) continue;
    again *= extent;
    json_array_set_new(step, 3, json_integer(loop - 1));
    int64_t fewer = points_of(program, steps, stage);
    if (fewer <= 0 || points % again != 0 || fewer != points / again) break;
    best = loop - 1;
  }
  json_array_set_new(step, 3, json_integer(own));
  return best;
}

/* compute_at steps that are moved: each try lowers the program again. TVM's records have a few; in a
 * made-up record with many, the others stay. */
enum { MOST_LOOKED_AT = 16 };

/* Moves each compute_at out of the loops that do not change what it computes. */
static void move_out(tn_program *program, json_t *steps, json_t *changed) {
  int looked_at = 0;
  for (size_t i = 0; i < json_array_size(steps) && looked_at < MOST_LOOKED_AT; ++i) {
    json_t *step = json_array_get(steps, i);
    const char *name = json_string_value(json_array_get(step, 0));
    if (!name || strcmp(name, "CA") != 0 || number_in(step, 3) == 0 || adds_stages_behind(steps, i)) continue;
    ++looked_at;
    tn_schedule *before = replay_first(program, steps, i);
    json_int_t loop = before ? outermost(program, steps, i, &before->stages[number_in(step, 2)]) : number_in(step, 3);
    if (loop != number_in(step, 3)) change(steps, changed, i, 3, json_integer(loop));
    tn_schedule_free(before);
  }
}

/* ---- vectors ------------------------------------------------------------------------------------------------------- */

/* Whether AXIS is the op's last data axis or the innermost part of it, so that neighbouring iterations
 * write neighbouring elements. */
static bool writes_neighbours(const schedule_stage *stage, int axis) {
  while (stage->axes[axis].made_by >= 0) {
    const schedule_relation *r = &stage->relations[stage->axes[axis].made_by];
    if (r->is_fuse || r->many[r->n - 1] != axis) return false;
    axis = r->one;
  }
  return stage->axes[axis].root == stage->op->n_axes - 1;
}

/* Vectorizes innermost loops that no step annotates, and returns how many. A loop in which another stage is
 * computed is refused, as it is by LLVM. */
static int vectorize_innermost(tn_schedule *s) {
  int n = 0;
  for (int i = 0; i < s->n_stages; ++i) {
    const schedule_stage *stage = &s->stages[i];
    int last = stage->n_leaves - 1;
    if (te_is_placeholder(stage->op) || stage->attach == SCHEDULE_INLINED || last < 0) continue;
    const schedule_axis *axis = &stage->axes[stage->leaves[last]];
    bool is_left =
        axis->annotation == SCHEDULE_NONE && axis->extent > 1 && writes_neighbours(stage, stage->leaves[last]);
    n += is_left && schedule_annotate(s, i, last, SCHEDULE_VECTORIZE) == TN_OK;
  }
  return n;
}

/* ---- unrolling ----------------------------------------------------------------------------------------------------- */

static const char unroll_key[] = "auto_unroll_max_step$";

/* TVM counts N iterations one by one, but EXTENT of them are lanes of a vector. LLVM unrolls a few
 * iterations by itself. */
static int64_t limit_in_vectors(int64_t n, int64_t extent) {
  enum { FEW_ITERATIONS = 16 };
  return RUNTIME_MAX(n / extent, RUNTIME_MIN(n, FEW_ITERATIONS));
}

/* Lanes of the stage's innermost loop; 1: it is not vectorized. */
static int64_t lanes_of(const schedule_stage *stage) {
  const schedule_axis *last = stage->n_leaves ? schedule_leaf(stage, stage->n_leaves - 1) : NULL;
  return last && last->annotation == SCHEDULE_VECTORIZE ? last->extent : 1;
}

/* Adapts the unroll pragmas at the end of the steps, where stages have their final numbers. */
static void limit_unrolling(const tn_schedule *s, json_t *steps, json_t *changed) {
  static const char *const late[] = {"PR", "AN"};
  for (size_t i = json_array_size(steps); i-- > 0;) {
    const json_t *step = json_array_get(steps, i);
    if (RUNTIME_FIND(late, json_string_value(json_array_get(step, 0))) < 0) break;
    const char *text = json_string_value(json_array_get(step, 3));
    if (!text || strncmp(text, unroll_key, strlen(unroll_key)) != 0) continue;
    int64_t n = strtoll(text + strlen(unroll_key), NULL, 10);
    int64_t own = limit_in_vectors(n, lanes_of(&s->stages[number_in(step, 1)]));
    if (own != n) change(steps, changed, i, 3, json_sprintf("%s%lld", unroll_key, (long long)own));
  }
}

/* ---- all of it ----------------------------------------------------------------------------------------------------- */

json_t *log_tvm_as_with_llvm(const tn_schedule *theirs, int *n_added, json_t *changed) {
  tn_program *program = theirs->program;
  runtime_quiet quiet = runtime_quiet_begin(program->ctx);
  json_t *moved = schedule_steps_json(theirs), *steps = NULL;
  if (moved) move_out(program, moved, changed);
  tn_schedule *s = moved ? replay_first(program, moved, json_array_size(moved)) : NULL;
  *n_added = s ? vectorize_innermost(s) : 0;
  if (s) steps = schedule_steps_json(s);
  if (steps) limit_unrolling(s, steps, changed);
  tn_schedule_free(s);
  json_decref(moved);
  runtime_quiet_end(&quiet);
  return steps;
}
