/* script.c: a scheduled program as structured blocks, in TVMScript's words: a block a stage, with the
 * stage's axes as expressions of the loops around it, what it reads and writes, and its definition over
 * its axes. Tensors have their own shapes; what a stage under compute_at keeps of its tensor stands
 * behind its allocation. Python's parser reads it. For reading, and for tests in Python; Tenon does not
 * read it back. All memory is the lowering's arena. */
#include <assert.h>

#include "schedule/script.h"

#include "schedule/steps.h"
#include "schedule/tail.h"
#include "tir/intrin.h"
#include "tir/text.h"

static void begin(const script *s) { runtime_str_addf(s->out, "%*s", 4 * s->depth, ""); }

/* A line begun; FMT has the newline. */
TN_PRINTF(2, 3) static void line(const script *s, const char *fmt, ...) {
  begin(s);
  RUNTIME_ADD_ARGS(s->out, fmt);
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

/* Adds an entry to a dictionary's text (NULL: it has none). */
static void note(const script *s, const char **notes, const char *key, const char *value) {
  *notes = runtime_format(s->l->arena, "%s%s\"%s\": %s", *notes ? *notes : "", *notes ? ", " : "", key, value);
}

/* Notes stand in the order in which they are made. */
static void note_number(const script *s, const char **notes, const char *key, int value) {
  note(s, notes, key, runtime_format(s->l->arena, "%d", value));
}

/* Python's quotes; the texts have none in them. */
static void note_text(const script *s, const char **notes, const char *key, const char *text) {
  note(s, notes, key, runtime_format(s->l->arena, "\"%s\"", text));
}

/* What is said about a loop, beyond its kind; NULL: nothing. */
static const char *loop_notes(const script *s, const lower_stage *ls, int leaf) {
  const schedule_stage *st = ls->st;
  const schedule_axis *axis = schedule_leaf(st, leaf);
  const char *notes = NULL;
  for (int k = 0; k < SCHEDULE_PRAGMA_COUNT; k++) {
    int value = schedule_pragma_value(axis, k);
    if (k == SCHEDULE_PRAGMA_PARTITION && schedule_wants_peel(ls, st->leaves[leaf])) value = 1;
    if (value >= 0) note_number(s, &notes, runtime_format(s->l->arena, "pragma_%s", schedule_pragma_key(k)), value);
  }
  for (int k = 0; k < st->n_prefetches; k++) {
    const schedule_prefetch_request *p = &st->prefetches[k];
    if (p->axis == st->leaves[leaf])
      note_number(s, &notes,
                  schedule_is_of_own(st, p) ? runtime_format(s->l->arena, "prefetch(%s)", p->tensor->name)
                                            : runtime_format(s->l->arena, "prefetch(%s, %s, %s)", p->tensor->name,
                                                             p->of->name, schedule_of_name(s->l->s, p)),
                  p->offset);
  }
  if (leaf == schedule_tensor_position(st)) note_text(s, &notes, "tensorize", st->intrin->name);
  return notes;
}

/* What a stage's buffer is asked to be. */
static const char *stage_notes(const script *s, const schedule_stage *st) {
  const char *notes = NULL;
  if (st->align_factor)
    note(s, &notes, "buffer_dim_align",
         runtime_format(s->l->arena, "[[0, %d, %d, %d]]", st->align_dim, st->align_factor, st->align_offset));
  if (st->layout) note_text(s, &notes, "layout", st->layout);
  if (st->buffering) note(s, &notes, schedule_buffering_word((schedule_buffering)st->buffering), "True");
  return notes;
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* An axis of a block, bound to what the loops around make of it. */
typedef struct block_axis {
  const tir_var *var; /* te's */
  const tir_expr *value;
  const tir_expr *extent;
  bool is_reduce, is_time; /* of a scan */
} block_axis;

/* Whether values of an axis go beyond its extent, because a split of it pads. */
static bool is_padded(const lower_stage *ls, int root) {
  for (int i = 0; i < ls->st->n_relations; i++) {
    const schedule_relation *r = &ls->st->relations[i];
    if (!r->is_fuse && r->tail == TN_TAIL_PAD && r->one == root && !schedule_is_exact(ls, r)) return true;
  }
  return false;
}

/* How far the values of a padded axis go. EXTENT: that of the tensor. */
static const tir_expr *padded_extent(const script *s, const lower_stage *ls, int root, const tir_expr *value,
                                     const tir_expr *extent) {
  lowering *l = s->l;
  int64_t n;
  if (tir_is_int(extent, &n))
    return schedule_extent(l, RUNTIME_MAX(n, tir_bounds(ls->env[ls->st->n_leaves], value).hi + 1), NULL);
  const schedule_relation *r = &ls->st->relations[ls->st->axes[root].used_by];
  const tir_expr *product = schedule_extent(l, 1, NULL);
  for (int i = 0; i < r->n; i++)
    product = tir_binary(l->arena, TIR_MUL, product, schedule_axis_extent(l, ls, r->many[i]));
  if (root >= ls->st->n_spatial_roots || ls->size[root]) return product; /* all of the axis */
  return tir_binary(l->arena, TIR_ADD, extent, tir_binary(l->arena, TIR_SUB, product, schedule_extent(l, 1, NULL)));
}

/* Values are simplified for the place inside all loops, where the block stands. */
static block_axis axis_of(const script *s, const lower_stage *ls, int root) {
  const te_op *op = ls->st->op;
  bool is_reduce = root >= op->n_axes;
  const tn_axis *axis = is_reduce ? op->reduce_axes[root - op->n_axes] : op->axes[root];
  const tir_expr *value = ls->axis_value[root];
  if (!is_reduce) value = tir_binary(s->l->arena, TIR_ADD, ls->min[root], value);
  block_axis out = {.var = &axis->var, .is_reduce = is_reduce, .is_time = op->kind == TE_SCAN && root == 0};
  out.value = tir_simplify(s->l->arena, ls->env[ls->st->n_leaves], value);
  out.extent = is_reduce ? schedule_axis_extent(s->l, ls, root) : schedule_tensor_extent(s->l, ls->st->tensors, root);
  if (is_padded(ls, root)) out.extent = padded_extent(s, ls, root, out.value, out.extent);
  return out;
}

/* A number, or an expression of symbols. */
static const tir_expr *loop_extent(const script *s, const lower_var *v) {
  return schedule_extent(s->l, v->extent, v->size);
}

/* Whether an axis is one loop over all of it. */
static bool is_loop(const script *s, const block_axis *a) {
  return !a->is_time && a->value->op == TIR_VAR &&
         tir_equal(loop_extent(s, (const lower_var *)a->value->u.var), a->extent);
}

/* v_i, v_k = T.axis.remap("SR", [i, k]) for N axes that are loops. */
static void print_remap(script *s, int n, const block_axis *axes) {
  begin(s);
  for (int i = 0; i < n; i++)
    runtime_str_addf(s->out, "%s%s", i ? ", " : "",
                     script_add_name(s, axes[i].var, runtime_format(s->l->arena, "v_%s", axes[i].var->name)));
  runtime_str_add(s->out, " = T.axis.remap(\"");
  for (int i = 0; i < n; i++) runtime_str_add(s->out, axes[i].is_reduce ? "R" : "S");
  runtime_str_add(s->out, "\", [");
  for (int i = 0; i < n; i++) {
    if (i > 0) runtime_str_add(s->out, ", ");
    script_print_expr(s, axes[i].value);
  }
  runtime_str_add(s->out, "])\n");
}

/* v_i = T.axis.spatial(64, i_outer * 16 + i_inner) */
static void print_axis(script *s, const block_axis *a) {
  line(s, "%s = T.axis.%s(", script_add_name(s, a->var, runtime_format(s->l->arena, "v_%s", a->var->name)),
       a->is_reduce ? "reduce"
       : a->is_time ? "scan"
                    : "spatial");
  script_print_expr(s, a->extent);
  runtime_str_add(s->out, ", ");
  script_print_expr(s, a->value);
  runtime_str_add(s->out, ")\n");
}

/* Runs of plain loops share one line, as TVM's printer does. */
static void print_axes(script *s, const lower_stage *ls) {
  block_axis *axes = RUNTIME_NEW_ARRAY(s->l->arena, block_axis, ls->st->n_roots + 1);
  for (int i = 0; i < ls->st->n_roots; i++) axes[i] = axis_of(s, ls, i);
  for (int i = 0, run; i < ls->st->n_roots; i += RUNTIME_MAX(run, 1)) {
    for (run = 0; i + run < ls->st->n_roots && is_loop(s, &axes[i + run]);) run++;
    if (run > 1)
      print_remap(s, run, axes + i);
    else
      print_axis(s, &axes[i]);
  }
}

/* ---- what a block does ------------------------------------------------------------------------------------------- */

/* For a line that names what a stage reads. */
typedef struct reads {
  const script *s;
  const char *text; /* NULL: none yet */
} reads;

/* Whether LIST, items separated by ", ", has ITEM; NULL is an empty one. */
static bool has_item(const char *list, const char *item) {
  size_t n = strlen(item);
  for (const char *at = list; at && (at = strstr(at, item)); at++) {
    bool begins = at == list || at[-1] == ' ', ends = at[n] == 0 || at[n] == ',';
    if (begins && ends) return true;
  }
  return false;
}

/* Adds an element that is read, once. */
static tir_walk add_read(void *user, const tir_expr *e) {
  reads *r = user;
  runtime_str text = {0};
  if (e->op != TIR_READ || e->u.tensor->by_value) return TIR_WALK_ON;
  script inner = *r->s;
  inner.out = &text;
  script_print_read(&inner, e, true);
  const char *item = runtime_str_take(&text, r->s->l->arena);
  if (!item || has_item(r->text, item)) return TIR_WALK_ON;
  r->text = runtime_format(r->s->l->arena, "%s%s%s", r->text ? r->text : "", r->text ? ", " : "", item);
  return TIR_WALK_ON;
}

/* An element of value V of the stage, over its axes. */
static const tir_expr *element(const script *s, const lower_stage *ls, int v) {
  const tir_expr *index[TN_MAX_RANK];
  const te_op *op = ls->st->op;
  for (int i = 0; i < op->n_axes; i++) index[i] = te_axis_expr(s->l->arena, op->axes[i]);
  tn_tensor *tensor = (tn_tensor *)&ls->st->tensors[v];
  return tir_read(s->l->arena, tensor, tensor->dtype, op->n_axes, index);
}

/* A[0:64, 0:32], S[()]. */
static void print_whole(const script *s, const tn_tensor *t) {
  runtime_str_addf(s->out, "%s%s", script_find_name(s, t), t->ndim ? "[" : "[()");
  for (int d = 0; d < t->ndim; d++) {
    runtime_str_add(s->out, d ? ", 0:" : "0:");
    script_print_expr(s, schedule_tensor_extent(s->l, t, d));
  }
  runtime_str_add(s->out, "]");
}

/* The block of a stage that a C function computes, from all of its inputs. */
static void print_opaque(script *s, const lower_stage *ls) {
  const te_op *op = ls->st->op;
  line(s, "with T.block(\"%s\"):\n", schedule_stage_name(ls->st));
  s->depth++;
  line(s, "T.reads(");
  for (int i = 0, n = 0; i < op->n_inputs; i++)
    if (!op->inputs[i]->by_value) runtime_str_add(s->out, n++ ? ", " : ""), print_whole(s, op->inputs[i]);
  runtime_str_add(s->out, ")\n");
  line(s, "T.writes(");
  for (int v = 0; v < ls->st->n_tensors; v++)
    runtime_str_add(s->out, v ? ", " : ""), print_whole(s, &ls->st->tensors[v]);
  runtime_str_add(s->out, ")\n");
  line(s, "T.evaluate(T.call_extern(\"void\", \"%s\"", op->call->callee->name);
  for (int i = 0; i < op->call->n; i++) {
    const te_call_arg *arg = &op->call->args[i];
    const tn_tensor *t = arg->input ? arg->input : arg->number ? NULL : &ls->st->tensors[arg->result];
    runtime_str_add(s->out, ", ");
    if (t)
      runtime_str_addf(s->out, "%s%s", script_find_name(s, t), t->by_value ? "" : ".data");
    else
      script_print_expr(s, arg->number);
  }
  runtime_str_add(s->out, "))\n");
  s->depth--;
}

/* Elements, each once; TVM says regions. */
static void print_accesses(const script *s, const lower_stage *ls) {
  reads r = {.s = s};
  tir_walk_expr(ls->body, add_read, &r);
  line(s, "T.reads(%s)\n", r.text ? r.text : "");
  line(s, "T.writes(");
  for (int v = 0; v < ls->st->n_tensors; v++) {
    if (v > 0) runtime_str_add(s->out, ", ");
    script_print_read(s, element(s, ls, v), true);
  }
  runtime_str_add(s->out, ")\n");
}

/* An assignment to the element at the block's axes. */
static void print_store(const script *s, const lower_stage *ls, int v, const tir_expr *value) {
  begin(s);
  script_print_read(s, element(s, ls, v), false);
  runtime_str_add(s->out, " = ");
  script_print_expr(s, value);
  runtime_str_add(s->out, "\n");
}

/* In a block of its own words, where the reduction starts. */
static void print_init(script *s, const lower_stage *ls) {
  const tir_expr *inside = schedule_unpadded(s->l, ls, ls->env[ls->st->n_leaves], ls->axis_value, false);
  line(s, "with T.init():\n");
  s->depth++;
  for (int v = 0; v < ls->st->n_tensors; v++) {
    const tir_expr *init = tir_reduce_init(ls->body, v), *none = tir_reduce_identity(s->l->arena, ls->body, v);
    print_store(s, ls, v, init ? schedule_fill_unless(s->l, inside, init, none) : none);
  }
  s->depth--;
}

/* Values that are computed from the old ones before any is stored. */
static void print_together(script *s, const lower_stage *ls, const tir_expr *const *values) {
  const char *names[TIR_MAX_VALUES];
  int known = s->n_names;
  for (int v = 0; v < ls->st->n_tensors; v++) {
    const tn_tensor *tensor = &ls->st->tensors[v];
    names[v] = script_add_name(s, NULL, runtime_format(s->l->arena, "new_%s", tensor->name));
    line(s, "%s: T.%s = ", names[v], tir_dtype_words[tensor->dtype]);
    script_print_expr(s, values[v]);
    runtime_str_add(s->out, "\n");
  }
  for (int v = 0; v < ls->st->n_tensors; v++) {
    begin(s);
    script_print_read(s, element(s, ls, v), false);
    runtime_str_addf(s->out, " = %s\n", names[v]);
  }
  s->n_names = known;
}

/* The sources of a reduction; long ones of a tuple, which several values use, under names of their own. */
static void name_sources(script *s, const lower_stage *ls, const tir_expr **source) {
  for (int v = 0; v < ls->st->n_tensors; v++) {
    const tir_expr *e = source[v] = ls->body->arg[v];
    assert(e);
    if (ls->st->n_tensors == 1 || e->n_args == 0 || e->op == TIR_READ) continue;
    tir_var *var = RUNTIME_NEW(s->l->arena, tir_var);
    const char *name = runtime_format(s->l->arena, "x_%s", ls->st->tensors[v].name);
    *var = (tir_var){name, (tn_dtype)e->dtype};
    line(s, "%s: T.%s = ", script_add_name(s, var, name), tir_dtype_words[e->dtype]);
    script_print_expr(s, e);
    runtime_str_add(s->out, "\n");
    source[v] = tir_var_expr(s->l->arena, var);
  }
}

/* Under the reduction's condition, and outside of padding. */
static void print_update(script *s, const lower_stage *ls) {
  const tir_expr *old[TIR_MAX_VALUES], *source[TIR_MAX_VALUES], *values[TIR_MAX_VALUES];
  const tir_expr *cond = schedule_unpadded(s->l, ls, ls->env[ls->st->n_leaves], ls->axis_value, true);
  const tir_expr *where = tir_reduce_where(ls->body);
  int depth = s->depth, n = ls->st->n_tensors;
  assert(n > 0);
  if (where) cond = cond ? tir_binary(s->l->arena, TIR_AND, cond, where) : where;
  if (cond) {
    begin(s);
    runtime_str_add(s->out, "if ");
    script_print_expr(s, cond);
    runtime_str_add(s->out, ":\n");
    s->depth++;
  }
  name_sources(s, ls, source);
  for (int v = 0; v < n; v++) old[v] = element(s, ls, v);
  for (int v = 0; v < n; v++) values[v] = tir_reduce_combine(s->l->arena, ls->body, v, old, source);
  if (n > 1)
    print_together(s, ls, values);
  else
    print_store(s, ls, 0, values[0]);
  s->depth = depth;
}

/* Padding is filled with 0, or with what a reduction starts from. */
static void print_body(script *s, const lower_stage *ls) {
  if (ls->body->op == TIR_REDUCE) {
    print_init(s, ls);
    print_update(s, ls);
    return;
  }
  const tir_expr *inside = schedule_unpadded(s->l, ls, ls->env[ls->st->n_leaves], ls->axis_value, true);
  for (int v = 0; v < ls->st->n_tensors; v++) {
    const tir_expr *value = tir_value(ls->body, v);
    print_store(s, ls, v, schedule_fill_unless(s->l, inside, value, tir_const(s->l->arena, (tn_dtype)value->dtype, 0)));
  }
}

/* Axes, condition, accesses, body: the order that TVM wants. */
static void print_block(script *s, const lower_stage *ls) {
  const tir_env *env = ls->env[ls->st->n_leaves];
  const tir_expr *cond = schedule_condition(s->l, ls, env, ls->axis_value, true);
  const char *notes = stage_notes(s, ls->st);
  line(s, "with T.block(\"%s\"):\n", schedule_stage_name(ls->st));
  s->depth++;
  print_axes(s, ls);
  if (cond) {
    line(s, "T.where(");
    script_print_expr(s, tir_simplify(s->l->arena, env, cond));
    runtime_str_add(s->out, ")\n");
  }
  print_accesses(s, ls);
  if (notes) line(s, "T.block_attr({%s})\n", notes);
  print_body(s, ls);
  s->depth--;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void print_stage(script *s, int stage);

/* Whether a stage is computed in that very loop. */
static bool has_attached(const script *s, int stage, int leaf) {
  const schedule_stage *st = s->l->stages[stage].st;
  for (int i = 0; i < stage; i++) {
    const lower_stage *inner = &s->l->stages[i];
    if (inner->is_live && inner->st->attach == SCHEDULE_AT && inner->st->at_stage == stage &&
        inner->st->at_axis == st->leaves[leaf])
      return true;
  }
  return false;
}

/* The stages computed at this loop, in front of its body, as they are lowered. */
static void print_attached(script *s, int stage, int leaf) {
  const schedule_stage *st = s->l->stages[stage].st;
  for (int i = 0; i < stage; i++) {
    const lower_stage *inner = &s->l->stages[i];
    if (inner->is_live && inner->st->attach == SCHEDULE_AT && inner->st->at_stage == stage &&
        inner->st->at_axis == st->leaves[leaf])
      print_stage(s, i);
  }
}

/* Nothing is said about the loop. */
static bool is_plain(const script *s, const lower_stage *ls, int leaf) {
  return schedule_leaf(ls->st, leaf)->annotation == SCHEDULE_NONE && !loop_notes(s, ls, leaf);
}

/* A loop of one iteration is left out, as lowering does, unless something is said about it. */
static bool is_left_out(const script *s, const lower_stage *ls, int leaf) {
  return ls->var[leaf]->extent == 1 && is_plain(s, ls, leaf);
}

/* Names are unique among those in scope. */
static const char *add_loop_name(script *s, const lower_stage *ls, int leaf) {
  return script_add_name(s, &ls->var[leaf]->var, ls->var[leaf]->var.name);
}

/* The loops from FIRST up to END, all plain, in one line. */
static void print_plain(script *s, const lower_stage *ls, int first, int end) {
  int n = 0;
  line(s, "for ");
  for (int i = first; i < end; i++)
    if (!is_left_out(s, ls, i)) runtime_str_addf(s->out, "%s%s", n++ ? ", " : "", add_loop_name(s, ls, i));
  runtime_str_add(s->out, n > 1 ? " in T.grid(" : " in range(");
  n = 0;
  for (int i = first; i < end; i++) {
    if (is_left_out(s, ls, i)) continue;
    if (n++) runtime_str_add(s->out, ", ");
    script_print_expr(s, loop_extent(s, ls->var[i]));
  }
  runtime_str_add(s->out, "):\n");
  s->depth++;
}

/* A loop of its own line, for what is said about it. */
static void print_marked(script *s, const lower_stage *ls, int leaf) {
  static const char *const kinds[] = {"serial", "unroll", "vectorized", "parallel"};
  int annotation = schedule_leaf(ls->st, leaf)->annotation;
  const char *notes = loop_notes(s, ls, leaf);
  line(s, "for %s in T.%s(", add_loop_name(s, ls, leaf),
       annotation < SCHEDULE_BIND ? kinds[annotation] : "thread_binding");
  script_print_expr(s, loop_extent(s, ls->var[leaf]));
  if (annotation >= SCHEDULE_BIND) runtime_str_addf(s->out, ", thread=\"%s\"", schedule_annotation_words[annotation]);
  if (notes) runtime_str_addf(s->out, ", annotations={%s}", notes);
  runtime_str_add(s->out, "):\n");
  s->depth++;
}

/* Where the plain loops that begin with FIRST end: behind one in which a stage is computed. */
static int end_of_plain(const script *s, int stage, int first) {
  const lower_stage *ls = &s->l->stages[stage];
  int end = first;
  while (end < ls->st->n_leaves && is_plain(s, ls, end)) {
    if (has_attached(s, stage, end++)) break;
  }
  return end;
}

/* Recursive in the attachments. */
static void print_stage(script *s, int stage) {
  const lower_stage *ls = &s->l->stages[stage];
  int depth = s->depth, known = s->n_names;
  for (int i = 0, end; i < ls->st->n_leaves; i = end) {
    bool any = false;
    end = RUNTIME_MAX(end_of_plain(s, stage, i), i + 1);
    for (int k = i; k < end; k++) any |= !is_left_out(s, ls, k);
    if (!is_plain(s, ls, i))
      print_marked(s, ls, i);
    else if (any)
      print_plain(s, ls, i, end);
    print_attached(s, stage, end - 1);
  }
  if (ls->body)
    print_block(s, ls);
  else
    print_opaque(s, ls);
  s->depth = depth;
  s->n_names = known;
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* Extents that depend on symbols stand in quotes where those are not known yet. */
static void print_shape(const script *s, int n, const tir_expr *const *shape, bool quotes) {
  int64_t value;
  runtime_str_add(s->out, "(");
  for (int i = 0; i < n; i++) {
    const char *quote = quotes && !tir_is_int(shape[i], &value) ? "\"" : "";
    runtime_str_addf(s->out, "%s%s", i > 0 ? ", " : "", quote);
    script_print_expr(s, shape[i]);
    runtime_str_add(s->out, quote);
  }
  runtime_str_add(s->out, n == 1 ? ",)" : ")");
}

/* Quoted, as they are named behind: , strides=("A_stride0", 1) */
static void print_strides(script *s, const tn_tensor *t) {
  if (!t->is_strided) return;
  runtime_str_add(s->out, ", strides=(");
  for (int d = 0; d < t->ndim - 1; d++) runtime_str_addf(s->out, "\"%s_stride%d\", ", t->name, d);
  runtime_str_add(s->out, "1)");
}

/* Scalars by type, tensors by shape. */
static void print_param(script *s, const tn_tensor *t) {
  const tir_expr *shape[TN_MAX_RANK];
  runtime_str_addf(s->out, "%s: ", script_add_name(s, t, t->name));
  if (t->by_value) {
    runtime_str_addf(s->out, "T.%s", tir_dtype_words[t->dtype]);
    return;
  }
  for (int d = 0; d < t->ndim; d++) shape[d] = schedule_tensor_extent(s->l, t, d);
  runtime_str_add(s->out, "T.Buffer(");
  print_shape(s, t->ndim, shape, true);
  runtime_str_addf(s->out, ", \"%s\"", tir_dtype_words[t->dtype]);
  print_strides(s, t);
  runtime_str_add(s->out, ")");
}

/* Symbols are variables of te and of loop IR. */
static void name_symbols(script *s) {
  const tn_program *p = s->l->s->program;
  for (int i = 0; i < p->n_symbols; i++)
    script_share_name(s, &p->symbols[i]->var, script_add_name(s, &s->l->symbols[i]->var, p->symbols[i]->var.name));
}

/* Tensors first, then what is passed by value, then symbols and strides, as in the kernel. */
static void print_params(script *s) {
  const tn_program *p = s->l->s->program;
  int n = 0;
  for (int by_value = 0; by_value < 2; by_value++) {
    for (int i = 0; i < p->n_args; i++) {
      if (p->args[i]->by_value != (by_value == 1)) continue;
      if (n++) runtime_str_add(s->out, ", ");
      print_param(s, p->args[i]);
    }
  }
  for (int i = 0; i < p->n_symbols; i++)
    runtime_str_addf(s->out, "%s%s: T.int64", n++ ? ", " : "", script_find_name(s, &p->symbols[i]->var));
  for (int i = 0; i < p->n_args; i++)
    for (int d = 0; p->args[i]->is_strided && d < p->args[i]->ndim - 1; d++)
      runtime_str_addf(s->out, "%s%s_stride%d: T.int64", n++ ? ", " : "", p->args[i]->name, d);
}

/* What there really is of a tensor of this SHAPE: the buffer, and where it lives. */
static void print_kept(const script *s, const lower_stage *ls, const tir_buffer *buffer, int n,
                       const tir_expr *const *shape) {
  const tir_expr *kept[TN_MAX_RANK];
  bool is_whole = buffer->ndim == n;
  for (int i = 0; i < buffer->ndim; i++) {
    kept[i] = schedule_extent(s->l, buffer->shape[i], buffer->size[i]);
    is_whole = is_whole && tir_equal(kept[i], shape[i]);
  }
  if (is_whole && ls->st->attach != SCHEDULE_AT) return;
  runtime_str_add(s->out, "  # kept as ");
  print_shape(s, buffer->ndim, kept, false);
  if (ls->st->attach != SCHEDULE_AT) return;
  const schedule_stage *at = &s->l->s->stages[ls->st->at_stage];
  runtime_str_addf(s->out, " in loop %s of %s", at->axes[ls->st->at_axis].name, schedule_stage_name(at));
}

/* The tensor's shape; what is really kept of it stands behind as a comment. */
static void print_allocation(script *s, const lower_stage *ls, int v) {
  const tn_tensor *t = &ls->st->tensors[v];
  const tir_expr *shape[TN_MAX_RANK];
  for (int d = 0; d < t->ndim; d++) shape[d] = ls->body ? axis_of(s, ls, d).extent : schedule_tensor_extent(s->l, t, d);
  line(s, "%s = T.alloc_buffer(", script_add_name(s, t, t->name));
  print_shape(s, t->ndim, shape, false);
  runtime_str_addf(s->out, ", \"%s\"", tir_dtype_words[t->dtype]);
  if (strcmp(ls->st->scope, "global") != 0) runtime_str_addf(s->out, ", scope=\"%s\"", ls->st->scope);
  runtime_str_add(s->out, ")");
  print_kept(s, ls, ls->buffers[v], t->ndim, shape);
  runtime_str_add(s->out, "\n");
}

/* At the top, as TVM has them: scopes are not shown. */
static void print_allocations(script *s) {
  for (int i = 0; i < s->l->s->n_stages; i++) {
    const lower_stage *ls = &s->l->stages[i];
    for (int v = 0; ls->is_live && v < ls->st->n_tensors; v++)
      if (!ls->buffers[v]->is_param) print_allocation(s, ls, v);
  }
}

/* Root stages in order; the others stand inside. */
static void print_function(script *s) {
  runtime_str_add(s->out, "# from tvm.script import tir as T\n\n@T.prim_func\ndef kernel(");
  name_symbols(s);
  print_params(s);
  runtime_str_add(s->out, "):\n");
  s->depth = 1;
  line(s, "T.func_attr({\"tir.noalias\": T.bool(True)})\n");
  print_allocations(s);
  for (int i = 0; i < s->l->s->n_stages; i++)
    if (s->l->stages[i].is_live && s->l->stages[i].st->attach == SCHEDULE_ROOT) print_stage(s, i);
}

/* Infers bounds but makes no loops: blocks are printed from regions. */
bool schedule_print_script(const tn_schedule *schedule, runtime_str *out) {
  jmp_buf oom;
  runtime_arena arena = {.on_oom = &oom};
  lowering l = {.s = schedule, .ctx = schedule->ctx, .arena = &arena};
  script s = {.l = &l, .out = out};
  bool ok = !setjmp(oom) && schedule_infer_bounds(&l);
  if (ok) print_function(&s);
  schedule_lowering_end(&l);
  runtime_arena_free(&arena);
  return ok;
}
