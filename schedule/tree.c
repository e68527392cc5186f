/* tree.c: the loop tree on one screen: stages at root in order, loops with extents and annotations, attached stages
 * below the loop they are computed at, buffers with size and scope, inlined stages named at the top. Extents and sizes
 * are those that bound inference finds. */
#include "schedule/lowering.h"
#include "schedule/steps.h"
#include "tir/intrin.h"

static void indent(runtime_str *out, int depth) { runtime_str_addf(out, "%*s", 2 * depth, ""); }

/* A symbolic extent by its expression, since the number is only its largest value. */
static void print_extent(runtime_str *out, int64_t extent, const tir_expr *size) {
  if (size)
    tir_print_expr(out, size);
  else
    runtime_str_addf(out, "%lld", (long long)extent);
}

/* " 256 B", " 12 KiB", " 15.5 MiB"; nothing where symbols decide. */
static void print_bytes(runtime_str *out, tn_dtype dtype, int ndim, const int64_t *shape, const tir_expr *const *size) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double bytes = (double)tn_dtype_bytes(dtype);
  int unit = 0;
  for (int i = 0; i < ndim; i++) {
    if (size[i]) return;
    bytes *= (double)shape[i];
  }
  for (; bytes >= 1024 && unit + 1 < RUNTIME_COUNT(units); unit++) bytes /= 1024;
  bool is_whole = bytes == (double)(int64_t)bytes;
  runtime_str_addf(out, is_whole ? " %.0f %s" : " %.1f %s", bytes, units[unit]);
}

/* A: f32[64,48] 12 KiB; what takes no memory, has no bytes. */
static void print_tensor(runtime_str *out, const tn_tensor *tensor, int ndim, const int64_t *shape,
                         const tir_expr *const *size, bool is_stored) {
  runtime_str_addf(out, "%s: %s%s", tensor->name, tn_dtype_name(tensor->dtype), tensor->by_value ? "" : "[");
  for (int i = 0; i < ndim; i++) runtime_str_add(out, i ? "," : ""), print_extent(out, shape[i], size[i]);
  if (!tensor->by_value) runtime_str_add(out, "]");
  if (is_stored) print_bytes(out, tensor->dtype, ndim, shape, size);
}

static void print_stage(const lowering *l, int stage, int depth, runtime_str *out);

/* Producers first, as they run. */
static void print_attached(const lowering *l, int stage, int axis, int depth, runtime_str *out) {
  for (int i = 0; i < stage; i++) {
    const schedule_stage *st = &l->s->stages[i];
    if (st->attach == SCHEDULE_AT && st->at_stage == stage && st->at_axis == axis) print_stage(l, i, depth, out);
  }
}

/* The stage's buffers: size, scope, and what is special about them. */
static void print_buffers(const lowering *l, int stage, int depth, runtime_str *out) {
  const schedule_stage *st = &l->s->stages[stage];
  indent(out, depth);
  for (int v = 0; v < st->n_tensors; v++) {
    const tir_buffer *buffer = l->stages[stage].buffers[v];
    if (v > 0) runtime_str_add(out, ", ");
    print_tensor(out, &st->tensors[v], buffer->ndim, buffer->shape, buffer->size, true);
  }
  runtime_str_addf(out, " %s%s", st->scope, schedule_is_output(l->s, stage) ? " output" : "");
  if (st->layout) runtime_str_addf(out, " %s", st->layout);
  if (st->buffering) runtime_str_addf(out, " %s", schedule_buffering_word((schedule_buffering)st->buffering));
  if (st->predicate) runtime_str_addf(out, " if %s", st->predicate_text);
  runtime_str_add(out, "\n");
}

/* As it would be written in -s, the default values left out. */
static void print_prefetch(const lowering *l, const schedule_stage *st, const schedule_prefetch_request *p,
                           runtime_str *out) {
  runtime_str_addf(out, " prefetch(%s, %d", p->tensor->name, p->offset);
  if (!schedule_is_of_own(st, p)) runtime_str_addf(out, ", %s, %s", p->of->name, schedule_of_name(l->s, p));
  runtime_str_add(out, ")");
}

/* parallel i.outer (16), and what else is said about the loop. */
static void print_loop(const lowering *l, int stage, int leaf, int depth, runtime_str *out) {
  const lower_stage *ls = &l->stages[stage];
  const schedule_stage *st = &l->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, leaf);
  indent(out, depth);
  runtime_str_addf(out, "%s %s (", axis->annotation ? schedule_annotation_words[axis->annotation] : "for", axis->name);
  if (ls->is_live ? ls->axis_size[st->leaves[leaf]] : axis->size)
    te_print_expr(out, axis->size);
  else
    runtime_str_addf(out, "%lld", (long long)(ls->is_live ? ls->axis_extent[st->leaves[leaf]] : axis->extent));
  runtime_str_addf(out, ")%s", axis->kind == SCHEDULE_SPATIAL ? "" : " reduce");
  if (leaf == schedule_tensor_position(st)) runtime_str_addf(out, " tensorize=%s", st->intrin->name);
  for (int k = 0; k < SCHEDULE_PRAGMA_COUNT; k++)
    if (schedule_pragma_value(axis, k) >= 0)
      runtime_str_addf(out, " %s=%d", schedule_pragma_key(k), schedule_pragma_value(axis, k));
  for (int k = 0; k < st->n_prefetches; k++)
    if (st->prefetches[k].axis == st->leaves[leaf]) print_prefetch(l, st, &st->prefetches[k], out);
  runtime_str_add(out, "\n");
}

/* The definition stands innermost, in the program's words. */
static void print_stage(const lowering *l, int stage, int depth, runtime_str *out) {
  const schedule_stage *st = &l->s->stages[stage];
  print_buffers(l, stage, depth, out);
  for (int i = 0; i < st->n_leaves; i++) {
    print_loop(l, stage, i, ++depth, out);
    print_attached(l, stage, st->leaves[i], depth + 1, out);
  }
  indent(out, depth + 1);
  for (int v = 0; v < st->n_tensors; v++) runtime_str_addf(out, "%s%s", v > 0 ? ", " : "", st->tensors[v].name);
  runtime_str_add(out, " = ");
  if (te_is_extern(st->op))
    te_print_call(out, st->op);
  else
    te_print_expr(out, st->op->body);
  runtime_str_add(out, "\n");
}

/* INLINED: the stages without loops; else the inputs. */
static void print_list(const tn_schedule *s, bool inlined, const char *title, runtime_str *out) {
  bool any = false;
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    if (inlined ? st->attach != SCHEDULE_INLINED : !te_is_placeholder(st->op)) continue;
    for (int v = 0; v < st->n_tensors; v++, any = true) {
      runtime_str_add(out, any ? ", " : title);
      print_tensor(out, &st->tensors[v], st->tensors[v].ndim, st->tensors[v].shape, st->tensors[v].size,
                   !inlined && !st->tensors[v].by_value);
    }
  }
  if (any) runtime_str_add(out, "\n");
}

/* Nothing is lowered: bounds are inferred for the sizes. */
bool schedule_print_tree(const tn_schedule *s, runtime_str *out) {
  jmp_buf oom;
  runtime_arena arena = {.on_oom = &oom};
  lowering l = {.s = s, .ctx = s->ctx, .arena = &arena};
  bool ok = !setjmp(oom) && schedule_infer_bounds(&l);
  if (ok) {
    print_list(s, false, "input ", out);
    print_list(s, true, "inlined ", out);
    for (int i = 0; i < s->n_stages; i++)
      if (!te_is_placeholder(s->stages[i].op) && s->stages[i].attach == SCHEDULE_ROOT) print_stage(&l, i, 0, out);
  }
  schedule_lowering_end(&l);
  runtime_arena_free(&arena);
  return ok;
}
