/* Random schedules: primitives with random parameters by the names of the moment, in any order. A refusal is fine and
 * is counted; it must leave the schedule as it was. */
#include <stdio.h>

#include "schedule/tail.h"
#include "tests/fuzz/fuzz.h"

typedef struct drawing {
  runtime_rng *rng;
  tn_schedule *s;
  char text[1024]; /* the primitive */
  int tail;        /* of a split that was drawn, or -1 */
} drawing;

static int64_t below(drawing *d, int64_t n) { return runtime_random_below(d->rng, n); }
static bool chance(drawing *d, int percent) { return below(d, 100) < percent; }

__attribute__((format(printf, 2, 3))) static void say(drawing *d, const char *fmt, ...) {
  size_t used = strlen(d->text);
  va_list args;
  va_start(args, fmt);
  vsnprintf(d->text + used, sizeof d->text - used, fmt, args);
  va_end(args);
}

/* A computed stage with loops, mostly. */
static const schedule_stage *any_stage(drawing *d) {
  const schedule_stage *st = NULL;
  for (int tries = 0; tries < 6; tries++) {
    st = &d->s->stages[below(d, d->s->n_stages)];
    if (!te_is_placeholder(st->op) && st->attach != SCHEDULE_INLINED) return st;
  }
  return st;
}

/* A stage that another one reads, mostly. */
static const schedule_stage *any_producer(drawing *d) {
  int readers[SCHEDULE_MAX_STAGES];
  const schedule_stage *st = any_stage(d);
  for (int tries = 0; tries < 8; tries++) {
    if (!te_is_placeholder(st->op) && !te_is_output(d->s->program, st->op) &&
        schedule_consumers(d->s, (int)(st - d->s->stages), true, RUNTIME_COUNT(readers), readers) > 0)
      return st;
    st = any_stage(d);
  }
  return st;
}

static const char *name_of(const schedule_stage *st) { return schedule_stage_name(st); }
static const char *loop_of(const schedule_stage *st, int i) { return st->n_leaves ? schedule_leaf(st, i)->name : "i"; }
static int any_loop(drawing *d, const schedule_stage *st) { return st->n_leaves ? (int)below(d, st->n_leaves) : 0; }

/* Mostly small factors, sometimes more than the extent. */
static long long any_factor(drawing *d, const schedule_stage *st, int loop) {
  int64_t extent = st->n_leaves ? schedule_leaf(st, loop)->extent : 4;
  if (st->n_leaves && schedule_leaf(st, loop)->size) extent = RUNTIME_MIN(extent, 40);
  return (long long)(chance(d, 70) ? 1 + below(d, RUNTIME_MIN(extent, 8)) : 1 + below(d, extent + 2));
}

static void any_tail(drawing *d) {
  d->tail = chance(d, 30) ? TN_TAIL_GUARD : (int)below(d, TN_TAIL_COUNT);
  if (d->tail == TN_TAIL_GUARD)
    say(d, ")");
  else
    say(d, ", tail=%s)", schedule_tail_words[d->tail]);
}

static void draw_split(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  int loop = any_loop(d, st);
  say(d, "split(%s, %s, ", name_of(st), loop_of(st, loop));
  if (kind == FUZZ_NPARTS) say(d, "nparts=");
  say(d, "%lld", any_factor(d, st, loop));
  for (int more = kind == FUZZ_MANY ? 1 + (int)below(d, 3) : 0; more > 0; more--)
    say(d, ", %lld", 1 + (long long)below(d, 4));
  any_tail(d);
}

/* Mostly a loop that others stand in. */
static void draw_jam(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  for (int tries = 0; tries < 6 && st->n_leaves < 2; tries++) st = any_stage(d);
  int loop = st->n_leaves > 1 && chance(d, 80) ? (int)below(d, st->n_leaves - 1) : any_loop(d, st);
  (void)kind;
  say(d, "unroll_jam(%s, %s, %lld", name_of(st), loop_of(st, loop),
      chance(d, 80) ? 2 + (long long)below(d, 4) : any_factor(d, st, loop));
  any_tail(d);
}

static void draw_tile(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  int a = any_loop(d, st), b = chance(d, 70) ? RUNTIME_MIN(a + 1, RUNTIME_MAX(st->n_leaves - 1, 0)) : any_loop(d, st);
  (void)kind;
  say(d, "tile(%s, %s, %s, %lld, %lld", name_of(st), loop_of(st, a), loop_of(st, b), any_factor(d, st, a),
      any_factor(d, st, b));
  any_tail(d);
}

static void draw_fuse(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  int first = any_loop(d, st), n = 2 + chance(d, 25);
  (void)kind;
  say(d, "fuse(%s", name_of(st));
  for (int i = first; i < first + n && i < st->n_leaves; i++) say(d, ", %s", loop_of(st, i));
  say(d, ")");
}

static void draw_reorder(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  bool used[SCHEDULE_MAX_AXES] = {false};
  int n = 2 + (int)below(d, RUNTIME_MAX(st->n_leaves - 1, 1));
  (void)kind;
  say(d, "reorder(%s", name_of(st));
  for (int i = 0; i < n && st->n_leaves; i++) {
    int loop = any_loop(d, st);
    if (!used[loop]) say(d, ", %s", loop_of(st, loop));
    used[loop] = true;
  }
  say(d, ")");
}

static void draw_annotation(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  int loop = any_loop(d, st);
  if (kind == FUZZ_VECTORIZE && chance(d, 60)) loop = RUNTIME_MAX(st->n_leaves - 1, 0);
  if (kind == FUZZ_PARALLEL && chance(d, 60)) loop = 0;
  if (kind == FUZZ_VECTORIZE && chance(d, 40)) {
    say(d, "vectorize(%s, %s, %lld", name_of(st), loop_of(st, loop), any_factor(d, st, loop));
    any_tail(d);
    return;
  }
  const char *word = kind == FUZZ_VECTORIZE ? "vectorize" : kind == FUZZ_UNROLL ? "unroll" : "parallel";
  say(d, "%s(%s, %s)", word, name_of(st), loop_of(st, loop));
}

/* The one thread index that a processor has. */
static void draw_bind(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  (void)kind;
  say(d, "bind(%s, %s, vthread)", name_of(st), loop_of(st, any_loop(d, st)));
}

static void draw_pragma(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  (void)kind;
  static const char *const others[] = {"unroll_explicit", "loop_partition_hint", "parallel_stride_pattern",
                                       "stream_stores", "join_loop_before"};
  const char *loop = loop_of(st, any_loop(d, st));
  int other = (int)below(d, RUNTIME_COUNT(others));
  if (chance(d, 50))
    say(d, "pragma(%s, %s, auto_unroll_max_step, %d)", name_of(st), loop, (int)below(d, 3) * 32);
  else
    say(d, "pragma(%s, %s, %s, %d)", name_of(st), loop, others[other], other > 0);
}

/* A stage and something that it reads, mostly. */
static void draw_prefetch(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  (void)kind;
  const char *tensor = name_of(st);
  if (st->op->n_inputs > 0 && chance(d, 90)) tensor = st->op->inputs[below(d, st->op->n_inputs)]->name;
  int loop = any_loop(d, st);
  say(d, "prefetch(%s, %s, %s, %d", name_of(st), tensor, loop_of(st, loop), 1 + (int)below(d, 6));
  if (chance(d, 40)) { /* for a loop around it, mostly */
    const schedule_stage *of = st->attach == SCHEDULE_AT && chance(d, 70) ? &d->s->stages[st->at_stage] : st;
    say(d, ", %s, %s", name_of(of), loop_of(of, of == st && chance(d, 80) ? (int)below(d, loop + 1) : any_loop(d, of)));
  }
  say(d, ")");
}

/* A stage and one of its readers, when it has one. */
static void draw_compute_at(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d), *reader = any_stage(d);
  int readers[SCHEDULE_MAX_STAGES];
  int n = 0;
  for (int tries = 0; n == 0 && tries < 6; tries++) {
    st = any_stage(d);
    n = schedule_consumers(d->s, (int)(st - d->s->stages), true, RUNTIME_COUNT(readers), readers);
  }
  if (n && chance(d, 95)) reader = &d->s->stages[readers[below(d, n)]];
  const char *word = kind == FUZZ_GROUP ? "compute_group_at" : "compute_at";
  say(d, "%s(%s, %s, %s", word, name_of(st), name_of(reader), loop_of(reader, any_loop(d, reader)));
  if (kind == FUZZ_GROUP && st->op->n_inputs && chance(d, 30))
    say(d, ", %s", st->op->inputs[below(d, st->op->n_inputs)]->name);
  say(d, ")");
}

static void draw_place(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = chance(d, 80) ? any_producer(d) : &d->s->stages[below(d, d->s->n_stages)];
  say(d, "%s(%s)", kind == FUZZ_INLINE ? "compute_inline" : "compute_root", name_of(st));
}

static const char *any_scope(drawing *d) { return chance(d, 50) ? "local" : "global"; }

static void draw_cache(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = &d->s->stages[below(d, d->s->n_stages)];
  if (kind == FUZZ_SET_SCOPE && chance(d, 80)) st = any_producer(d);
  const char *words[] = {"cache_read", "cache_write", "set_scope"};
  const char *tensor = st->tensors[below(d, st->n_tensors)].name;
  say(d, "%s(%s", words[kind - FUZZ_CACHE_READ], kind == FUZZ_CACHE_WRITE ? name_of(st) : tensor);
  for (int v = 1; kind == FUZZ_CACHE_WRITE && v < st->n_tensors; v++)
    if (chance(d, 97)) say(d, ", %s", st->tensors[v].name);
  say(d, ", %s", any_scope(d));
  if (kind == FUZZ_CACHE_READ && chance(d, 40)) say(d, ", %s", name_of(any_stage(d)));
  say(d, ")");
}

/* A reduction, when there is one, and mostly a loop of its reduction axes. */
static const schedule_stage *any_reduction(drawing *d, int *loop) {
  const schedule_stage *st = any_stage(d);
  for (int tries = 0; tries < 8 && (te_is_placeholder(st->op) || st->op->n_reduce == 0); tries++) st = any_stage(d);
  *loop = any_loop(d, st);
  for (int tries = 0; tries < 6 && st->n_leaves && schedule_leaf(st, *loop)->kind == SCHEDULE_SPATIAL; tries++)
    *loop = any_loop(d, st);
  return st;
}

static void draw_rfactor(drawing *d, fuzz_primitive kind) {
  int loop;
  const schedule_stage *st = any_reduction(d, &loop);
  (void)kind;
  say(d, "rfactor(%s, %s", name_of(st), loop_of(st, loop));
  if (chance(d, 60))
    say(d, ", %d", (int)below(d, st->n_spatial_roots + 2) - (chance(d, 30) ? st->n_spatial_roots + 1 : 0));
  say(d, ")");
}

/* Mostly of a stage that nothing was done to. */
static void draw_rfactor_window(drawing *d, fuzz_primitive kind) {
  int loop;
  const schedule_stage *st = any_reduction(d, &loop);
  for (int tries = 0; tries < 6 && (st->n_leaves < 2 || st->n_relations > 0); tries++) st = any_reduction(d, &loop);
  int along = st->n_spatial_roots > 0 && chance(d, 90) ? (int)below(d, st->n_spatial_roots) : any_loop(d, st);
  (void)kind;
  say(d, "rfactor_window(%s, %s, %s", name_of(st), loop_of(st, loop), loop_of(st, along));
  if (chance(d, 30)) say(d, ", %lld", any_factor(d, st, loop));
  say(d, ")");
}

static void draw_parallel_reduce(drawing *d, fuzz_primitive kind) {
  int loop;
  const schedule_stage *st = any_reduction(d, &loop);
  (void)kind;
  say(d, "parallel_reduce(%s, %s, parts=%d)", name_of(st), loop_of(st, loop), 1 + (int)below(d, 6));
}

static void draw_auto_inline(drawing *d, fuzz_primitive kind) {
  (void)kind;
  say(d, "auto_inline()");
}

/* Each dimension in one to three digits, all in any order. */
static void draw_layout(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  char digits[32][32];
  int n = 0, ndim = st->tensors[0].ndim;
  (void)kind;
  say(d, "transform_layout(%s, [", name_of(st));
  for (int i = 0; i < ndim; i++) say(d, "%sd%d", i ? ", " : "", i);
  for (int i = 0; i < ndim; i++) {
    int divisor = 1;
    for (int parts = chance(d, 50) ? 1 : 1 + (int)below(d, 3); parts > 1 && n + ndim - i < TN_MAX_RANK; parts--) {
      int modulus = 2 + (int)below(d, 5);
      snprintf(digits[n++], sizeof digits[0], "d%d // %d %% %d", i, divisor, modulus);
      divisor *= modulus;
    }
    snprintf(digits[n++], sizeof digits[0], "d%d // %d", i, divisor);
  }
  say(d, "] -> [");
  for (int left = n; left > 0; left--) {
    int chosen = (int)below(d, left);
    say(d, "%s%s", left < n ? ", " : "", digits[chosen]);
    memmove(digits[chosen], digits[left - 1], sizeof digits[0]);
  }
  say(d, "])");
}

/* A stage with rows, and mostly a dimension that is not the last. */
static void draw_align(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_producer(d);
  for (int tries = 0; tries < 6 && st->tensors[0].ndim < 2; tries++) st = any_producer(d);
  int factor = 1 + (int)below(d, 20), loop = any_loop(d, st);
  (void)kind;
  for (int tries = 0; tries < 6 && st->n_leaves && schedule_leaf(st, loop)->root + 1 >= st->tensors[0].ndim; tries++)
    loop = any_loop(d, st);
  say(d, "storage_align(%s, %s, %d, %d)", name_of(st), loop_of(st, loop), factor, (int)below(d, factor));
}

/* A stage that is computed in another's loop; when there is none, one that is moved there first. */
static void draw_buffering(drawing *d, fuzz_primitive kind) {
  const char *word = kind == FUZZ_DOUBLE ? "double_buffer" : "rolling_buffer";
  const schedule_stage *st = any_stage(d);
  for (int tries = 0; tries < 12 && st->attach != SCHEDULE_AT; tries++) st = any_stage(d);
  if (st->attach == SCHEDULE_AT) {
    say(d, "%s(%s)", word, name_of(st));
    return;
  }
  draw_compute_at(d, FUZZ_COMPUTE_AT);
  char name[SCHEDULE_MAX_NAME + 1];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(d->text + strlen("compute_at("), ","),
           d->text + strlen("compute_at("));
  say(d, "; %s(%s)", word, name);
}

/* Bounds on some axes, near the ends of what there is. */
static void draw_predicate(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  const te_op *op = st->op;
  (void)kind;
  say(d, "set_store_predicate(%s, 0 == 0", name_of(st));
  for (int i = 0; i < op->n_axes && !te_is_placeholder(op); i++) {
    const char *name = op->axes[i]->var.name;
    if (chance(d, 40)) say(d, " && %s >= %d", name, (int)below(d, 3));
    if (chance(d, 40)) say(d, " && %s < %lld", name, (long long)(op->axes[i]->extent - below(d, 3)));
  }
  say(d, ")");
}

/* A tail for both splits. */
static const char *tensor_tail(drawing *d, bool is_data) {
  d->tail = -1;
  return chance(d, 50) ? ", tail=peel" : is_data && chance(d, 20) ? ", tail=overlap" : "";
}

/* A product of two casts: its first operand's dtype; TN_DTYPE_COUNT: it is none. */
static tn_dtype factor_of(const schedule_stage *st, int i) {
  const tir_expr *e = te_is_placeholder(st->op) || st->op->n_reduce == 0 ? NULL : st->op->body->arg[0];
  bool is_product = e && e->op == TIR_MUL && e->arg[0]->op == TIR_CAST && e->arg[1]->op == TIR_CAST;
  return is_product ? (tn_dtype)e->arg[i]->arg[0]->dtype : TN_DTYPE_COUNT;
}

static int last_loop(const schedule_stage *st, bool is_data) {
  for (int i = st->n_leaves - 1; i >= 0; i--)
    if ((schedule_leaf(st, i)->kind == SCHEDULE_SPATIAL) == is_data) return i;
  return 0;
}

static int any_lanes(drawing *d, int64_t extent) {
  int lanes = 4 << below(d, 3);
  while (lanes > extent && lanes > 4 && chance(d, 90)) lanes /= 2;
  return lanes;
}

/* Splits of a data and a reduction loop to the size of an intrinsic, both innermost, and the intrinsic, which the
 * caller says. */
static void draw_blocks(drawing *d, const schedule_stage *st, int lanes, int group) {
  int j = last_loop(st, true), k = last_loop(st, false);
  const char *name = name_of(st), *data = loop_of(st, j), *reduce = loop_of(st, k);
  say(d, "split(%s, %s, %d%s); split(%s, %s, %d%s); reorder(%s", name, data, lanes, tensor_tail(d, true), name, reduce,
      group, tensor_tail(d, false), name);
  bool swaps = chance(d, 20);
  for (int i = 0; i < st->n_leaves; i++) say(d, ", %s%s", loop_of(st, i), i == j || i == k ? ".outer" : "");
  say(d, ", %s.inner, %s.inner); tensorize(%s, %s.inner, ", swaps ? reduce : data, swaps ? data : reduce, name,
      swaps ? reduce : data);
}

static void draw_tensorize(drawing *d, fuzz_primitive kind) {
  const schedule_stage *st = any_stage(d);
  (void)kind;
  for (int i = 0; i < d->s->n_stages && factor_of(st, 0) == TN_DTYPE_COUNT; i++) st = &d->s->stages[i];
  bool is_bf16 = factor_of(st, 0) == TN_BF16;
  int lanes = any_lanes(d, st->n_leaves ? schedule_leaf(st, last_loop(st, true))->extent : 4);
  const char *bytes = factor_of(st, 0) == factor_of(st, 1) ? "dot4_i8i8" : "dot4_u8i8";
  draw_blocks(d, st, lanes, is_bf16 ? 2 : 4);
  say(d, "%s%s)", is_bf16 ? "dot2_bf16" : bytes, lanes == 16 ? "" : lanes == 8 ? "_x8" : "_x4");
}

/* A sum of products of two reads of floats. */
static bool is_gemv(const schedule_stage *st) {
  const tir_expr *e = te_is_placeholder(st->op) || st->op->n_reduce == 0 ? NULL : st->op->body;
  if (!e || e->op != TIR_REDUCE || e->u.reduce->combiner != TIR_REDUCE_SUM || e->arg[0]->op != TIR_MUL) return false;
  const tir_expr *product = e->arg[0];
  bool is_float = product->dtype == TN_F32 || product->dtype == TN_F64;
  return is_float && product->arg[0]->op == TIR_READ && product->arg[1]->op == TIR_READ;
}

/* Rows and depth of any size, one of them now and then. */
static void draw_gemv(drawing *d, fuzz_primitive kind) {
  static const int sizes[] = {1, 2, 3, 4, 4, 5, 8, 8, 16, 16, 17, 19, 20, 32};
  const schedule_stage *st = any_stage(d);
  (void)kind;
  for (int i = 0; i < d->s->n_stages && !is_gemv(st); i++) st = &d->s->stages[i];
  int64_t extents[2] = {4, 4}, blocks[2];
  for (int i = 0; i < 2; i++) {
    if (st->n_leaves) extents[i] = schedule_leaf(st, last_loop(st, i == 0))->extent;
    blocks[i] = chance(d, 30) ? extents[i] : sizes[below(d, RUNTIME_COUNT(sizes))];
    if (blocks[i] > extents[i] && chance(d, 90)) blocks[i] = 1 + below(d, extents[i]);
  }
  draw_blocks(d, st, (int)blocks[0], (int)blocks[1]);
  bool is_f64 = st->op->outputs[0].dtype == TN_F64;
  say(d, "gemv%s_%dx%d)", is_f64 ? "_f64" : "", (int)blocks[0], (int)blocks[1]);
}

static const struct {
  void (*draw)(drawing *d, fuzz_primitive kind);
  int weight;
} rows[FUZZ_PRIMITIVE_COUNT] = {
    [FUZZ_SPLIT] = {draw_split, 14},
    [FUZZ_NPARTS] = {draw_split, 4},
    [FUZZ_MANY] = {draw_split, 4},
    [FUZZ_JAM] = {draw_jam, 6},
    [FUZZ_TILE] = {draw_tile, 6},
    [FUZZ_FUSE] = {draw_fuse, 10},
    [FUZZ_REORDER] = {draw_reorder, 10},
    [FUZZ_VECTORIZE] = {draw_annotation, 9},
    [FUZZ_UNROLL] = {draw_annotation, 5},
    [FUZZ_PARALLEL] = {draw_annotation, 5},
    [FUZZ_BIND] = {draw_bind, 5},
    [FUZZ_PRAGMA] = {draw_pragma, 5},
    [FUZZ_COMPUTE_AT] = {draw_compute_at, 14},
    [FUZZ_GROUP] = {draw_compute_at, 6},
    [FUZZ_INLINE] = {draw_place, 6},
    [FUZZ_ROOT] = {draw_place, 2},
    [FUZZ_CACHE_READ] = {draw_cache, 5},
    [FUZZ_CACHE_WRITE] = {draw_cache, 4},
    [FUZZ_SET_SCOPE] = {draw_cache, 4},
    [FUZZ_RFACTOR] = {draw_rfactor, 6},
    [FUZZ_WINDOW] = {draw_rfactor_window, 8},
    [FUZZ_PARALLEL_REDUCE] = {draw_parallel_reduce, 4},
    [FUZZ_AUTO_INLINE] = {draw_auto_inline, 1},
    [FUZZ_LAYOUT] = {draw_layout, 5},
    [FUZZ_ALIGN] = {draw_align, 8},
    [FUZZ_PREFETCH] = {draw_prefetch, 5},
    [FUZZ_DOUBLE] = {draw_buffering, 5},
    [FUZZ_ROLLING] = {draw_buffering, 6},
    [FUZZ_PREDICATE] = {draw_predicate, 4},
    [FUZZ_TENSORIZE] = {draw_tensorize, 13},
    [FUZZ_GEMV] = {draw_gemv, 11},
};

static fuzz_primitive any_primitive(drawing *d) {
  int total = 0, kind = 0;
  for (int i = 0; i < FUZZ_PRIMITIVE_COUNT; i++) total += rows[i].weight;
  for (int64_t at = below(d, total); at >= rows[kind].weight; kind++) at -= rows[kind].weight;
  return (fuzz_primitive)kind;
}

static char *state_of(const tn_schedule *s) {
  char *steps = tn_schedule_print(s, TN_FORM_STEPS), *tree = tn_schedule_print(s, TN_FORM_TREE);
  runtime_str both = {0};
  runtime_str_addf(&both, "%s%s", steps ? steps : "?", tree ? tree : "?");
  free(steps);
  free(tree);
  return both.data;
}

static void accept(drawing *d, runtime_str *out, fuzz_counts *counts, fuzz_primitive kind) {
  counts->accepted[kind]++;
  if (d->tail >= 0) counts->tails[d->tail]++;
  runtime_str_addf(out, "%s%s", out->n ? "; " : "", d->text);
}

/* Tries the primitive in d->text. NULL, or what is wrong about its refusal. */
static const char *try(drawing *d, fuzz_primitive kind, runtime_str *out, fuzz_counts *counts) {
  const char *wrong = NULL;
  tn_schedule *s = d->s;
  bool watch = chance(d, 20);
  char *before = watch ? state_of(s) : NULL, *after = NULL;
  if (tn_schedule_apply(s, d->text) == TN_OK) {
    accept(d, out, counts, kind);
  } else {
    counts->refused[kind]++;
    if (tn_context_status(s->ctx) != TN_ERROR_SCHEDULE)
      wrong = tn_context_message(s->ctx);
    else
      tn_context_clear(s->ctx);
    after = watch ? state_of(s) : NULL;
    if (watch && strcmp(before, after) != 0) wrong = "a refused primitive changed the schedule";
  }
  free(after);
  free(before);
  return wrong;
}

/* ---- as the tuner does it ---------------------------------------------------------------------------------------- */

/* One step of a sketch; the stage's loops are what the steps before made of them. */
typedef struct sketching {
  drawing *d;
  runtime_str *out;
  fuzz_counts *counts;
  const char *stage, *wrong;
} sketching;

__attribute__((format(printf, 3, 4))) static void step(sketching *x, fuzz_primitive kind, const char *fmt, ...) {
  va_list args;
  if (x->wrong) return;
  va_start(args, fmt);
  vsnprintf(x->d->text, sizeof x->d->text, fmt, args);
  va_end(args);
  x->d->tail = strstr(x->d->text, "tail=peel") ? TN_TAIL_PEEL : kind == FUZZ_MANY ? TN_TAIL_GUARD : -1;
  x->wrong = try(x->d, kind, x->out, x->counts);
}

static const schedule_stage *stage_now(const sketching *x) {
  int at = schedule_find_stage(x->d->s, x->stage);
  return at < 0 ? NULL : &x->d->s->stages[at];
}

/* Tiles all axes on two or three levels: S S R S R S. */
static void tile_levels(sketching *x) {
  const schedule_stage *st = stage_now(x);
  int n = st->n_roots, n_data = st->n_spatial_roots;
  char order[5][300] = {"", "", "", "", ""};
  for (int i = 0; i < n && st->n_leaves >= n; i++) {
    const char *name = st->axes[i].name;
    const char *tail = chance(x->d, 50) ? ", tail=peel" : "";
    bool is_data = i < n_data;
    step(x, FUZZ_MANY, "split(%s, %s, %d, %d%s)", x->stage, name, 1 + (int)below(x->d, 4), 1 + (int)below(x->d, 8),
         tail);
    for (int part = 0; part < 3; part++) {
      char *line = order[is_data ? (part == 2 ? 4 : part) : part == 0 ? 2 : 3];
      snprintf(line + strlen(line), 300 - strlen(line), ", %s.%d", name, part);
    }
    st = stage_now(x);
  }
  step(x, FUZZ_REORDER, "reorder(%s%s%s%s%s%s)", x->stage, order[0], order[1], order[2], order[3], order[4]);
}

static void annotate_ends(sketching *x) {
  const schedule_stage *st = stage_now(x);
  if (st->n_leaves && chance(x->d, 60)) {
    step(x, FUZZ_VECTORIZE, "vectorize(%s, %s)", x->stage, loop_of(st, st->n_leaves - 1));
  }
  st = stage_now(x);
  if (st->n_leaves > 3 && chance(x->d, 60)) {
    step(x, FUZZ_FUSE, "fuse(%s, %s, %s)", x->stage, loop_of(st, 0), loop_of(st, 1));
  }
  st = stage_now(x);
  if (st->n_leaves && chance(x->d, 60)) step(x, FUZZ_PARALLEL, "parallel(%s, %s)", x->stage, loop_of(st, 0));
  st = stage_now(x);
  if (st->n_leaves == 0 || chance(x->d, 60)) return;
  step(x, FUZZ_PRAGMA, "pragma(%s, %s, auto_unroll_max_step, 64)", x->stage, loop_of(st, 0));
}

/* A stage tiled on several levels, its result in a block of accumulators, its producer inside. */
static const char *draw_sketch(drawing *d, runtime_str *out, fuzz_counts *counts) {
  const schedule_stage *st = any_stage(d);
  if (te_is_placeholder(st->op) || st->attach == SCHEDULE_INLINED || st->n_roots == 0) return NULL;
  sketching x = {.d = d, .out = out, .counts = counts, .stage = name_of(st)};
  char target[64], cache[80];
  snprintf(target, sizeof target, "%s", x.stage);
  snprintf(cache, sizeof cache, "%s.local", x.stage);
  if (chance(d, 50)) step(&x, FUZZ_CACHE_WRITE, "cache_write(%s, local)", target);
  tile_levels(&x);
  annotate_ends(&x);
  x.stage = cache;
  st = stage_now(&x);
  if (!st || x.wrong) return x.wrong;
  tile_levels(&x);
  const schedule_stage *to = &d->s->stages[schedule_find_stage(d->s, target)];
  if (to->n_leaves)
    step(&x, FUZZ_COMPUTE_AT, "compute_at(%s, %s, %s)", cache, target, loop_of(to, (int)below(d, to->n_leaves)));
  annotate_ends(&x);
  return x.wrong;
}

/* A sum's windows along each axis that has one: what it was is then another stage, so it comes first. */
static const char *draw_windows(drawing *d, runtime_str *out, fuzz_counts *counts) {
  int loop;
  const schedule_stage *st = any_reduction(d, &loop);
  int n_data = st->n_spatial_roots, n_loops = st->n_leaves;
  sketching x = {.d = d, .out = out, .counts = counts, .stage = name_of(st)};
  for (int pair = 0; pair < n_data * (n_loops - n_data) && !x.wrong; pair++) {
    st = stage_now(&x);
    if (!st || st->n_leaves != n_loops) break;
    step(&x, FUZZ_WINDOW, chance(d, 30) ? "rfactor_window(%s, %s, %s, 2)" : "rfactor_window(%s, %s, %s)", x.stage,
         loop_of(st, n_data + pair / n_data), loop_of(st, pair % n_data));
  }
  return x.wrong;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static int32_t draw_value(runtime_rng *rng, const plan_choice *c, int field) {
  int n = c->space.n[field];
  return n > 0 ? c->space.value[field][runtime_random_below(rng, n)] : 0;
}

/* Any values of any family that can take the group, whether they go together or not. */
static schedule_plan draw_values(runtime_rng *rng, const plan_choices *choices) {
  const plan_choice *c = &choices->choices[runtime_random_below(rng, choices->n)];
  schedule_plan plan = {.family = c->family};
  for (int f = 0; f < schedule_family_at(c->family)->n_fields; f++) plan.value[f] = draw_value(rng, c, f);
  return plan;
}

/* A plan of a group: a ranked one, with some values drawn anew, or any values. */
static schedule_plan draw_plan(runtime_rng *rng, const schedule_plans *plans, int group) {
  const schedule_plan *ranked;
  const plan_choices *choices = schedule_plans_choices(plans, group);
  int n = schedule_plans_ranked(plans, group, &ranked);
  if (n == 0) return (schedule_plan){.family = -1};
  if (runtime_random_below(rng, 4) == 0) return draw_values(rng, choices);
  schedule_plan plan = ranked[runtime_random_below(rng, n)];
  for (int i = 0; i < choices->n; i++) {
    const plan_choice *c = &choices->choices[i];
    if (c->family != plan.family) continue;
    int changes = (int)runtime_random_below(rng, 3);
    for (int k = 0; k < changes; k++) {
      int f = (int)runtime_random_below(rng, schedule_family_at(c->family)->n_fields);
      plan.value[f] = draw_value(rng, c, f);
    }
  }
  return plan;
}

enum { MAX_GROUPS = 64 };

/* Takes over a schedule of drawn plans; false: a primitive refused one of them. */
static bool draw_plans(runtime_rng *rng, tn_schedule *s, const tn_machine *machine) {
  schedule_plan by_group[MAX_GROUPS];
  schedule_plans *plans = schedule_plans_new(s->program, machine);
  tn_schedule *made = NULL;
  int n = plans ? schedule_plans_count(plans) : 0;
  for (int i = 0; i < n && n <= MAX_GROUPS; i++) by_group[i] = draw_plan(rng, plans, i);
  if (plans && n <= MAX_GROUPS) made = schedule_plans_realize(plans, by_group);
  if (made) {
    char *text = schedule_plans_text(plans, by_group);
    schedule_swap_contents(s, made);
    if (text) schedule_set_plan(s, text);
    free(text);
  }
  tn_schedule_free(made);
  schedule_plans_free(plans);
  return made != NULL;
}

/* Small caches and cheap threads, so that small programs are packed and run in parallel too. None with symbols. */
const char *fuzz_generic_schedule(runtime_rng *rng, tn_schedule *s, runtime_str *out) {
  if (s->program->n_symbols > 0) return NULL;
  tn_machine machine = {.threads = 1 + (int)runtime_random_below(rng, 4),
                        .vector_bytes = 16 << runtime_random_below(rng, 3),
                        .vector_registers = 16 << runtime_random_below(rng, 2),
                        .cache_bytes = {0, 1 << runtime_random_below(rng, 16), 1 << runtime_random_below(rng, 20), 0},
                        .dot_i8_lanes = 8 << runtime_random_below(rng, 2),
                        .dot_bf16_lanes = 8 << runtime_random_below(rng, 2),
                        .fork_ns = 1 << runtime_random_below(rng, 16)};
  bool by_plans = runtime_random_below(rng, 3) > 0 && draw_plans(rng, s, &machine);
  if (!by_plans && tn_schedule_auto(s, &machine) != TN_OK) return tn_context_message(s->ctx);
  if (tn_context_status(s->ctx) != TN_OK) return tn_context_message(s->ctx);
  char *text = tn_schedule_print(s, TN_FORM_TEXT);
  if (text) runtime_str_addf(out, "%s", text);
  free(text);
  return text ? NULL : tn_context_message(s->ctx);
}

const char *fuzz_draw_schedule(runtime_rng *rng, tn_schedule *s, runtime_str *out, fuzz_counts *counts) {
  drawing d = {.rng = rng, .s = s};
  const char *wrong = chance(&d, 20)   ? draw_sketch(&d, out, counts)
                      : chance(&d, 20) ? draw_windows(&d, out, counts)
                                       : NULL;
  for (int left = (int)below(&d, 14); left > 0 && !wrong; left--) {
    fuzz_primitive kind = any_primitive(&d);
    d.text[0] = '\0';
    d.tail = -1;
    rows[kind].draw(&d, kind);
    wrong = try(&d, kind, out, counts);
  }
  return wrong;
}
