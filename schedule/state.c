/* state.c: a schedule as a value: made from a program, copied, freed, and looked at. All arrays of a schedule live in
 * its own arena; names and ops belong to the program's registry, so a copy is a few memcpy. */
#include "schedule/edit.h"

/* At root, with the loops of its op, whose outputs are what readers name. */
static bool init_stage(tn_schedule *s, schedule_stage *stage, const te_op *op) {
  *stage = (schedule_stage){
      .op = op, .n_tensors = op->n_outputs, .tensors = op->outputs, .scope = "global", .at_stage = -1, .at_axis = -1};
  return schedule_reset_loops(s, stage);
}

/* Axes and relations stay in the arena until the schedule is freed; only their counts go. */
bool schedule_reset_loops(tn_schedule *s, schedule_stage *stage) {
  const te_op *op = stage->op;
  stage->n_axes = stage->n_relations = stage->n_leaves = stage->n_prefetches = 0;
  stage->n_spatial_roots = te_is_placeholder(op) ? 0 : op->n_axes;
  stage->n_roots = te_is_placeholder(op) ? 0 : op->n_axes + op->n_reduce;
  for (int i = 0; i < stage->n_roots; i++) {
    bool is_reduce = i >= op->n_axes;
    const tn_axis *axis = is_reduce ? op->reduce_axes[i - op->n_axes] : op->axes[i];
    schedule_axis made = {.name = axis->var.name,
                          .extent = axis->extent,
                          .size = axis->size,
                          .kind = is_reduce ? SCHEDULE_REDUCE : SCHEDULE_SPATIAL,
                          .root = (int16_t)i,
                          .made_by = -1,
                          .used_by = -1,
                          .unroll_step = -1};
    int16_t at = (int16_t)schedule_add_axis(s, stage, &made);
    if (at < 0 || !schedule_set_leaves(s, stage, i, 0, 1, &at)) return false;
  }
  return true;
}

/* Without stages, linked into the program's list so that the context can free it. */
static tn_schedule *new_schedule(tn_program *program, int n_stages) {
  if (!schedule_registry_of(program)) return NULL;
  tn_schedule *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->ctx = program->ctx;
  s->program = program;
  s->cap_stages = n_stages + 4;
  s->stages = RUNTIME_NEW_ARRAY(&s->arena, schedule_stage, s->cap_stages);
  if (s->stages) {
    schedule_registry_link(s);
    return s;
  }
  runtime_arena_free(&s->arena);
  free(s);
  return NULL;
}

/* Frees S, which may be NULL, and returns NULL. */
static tn_schedule *no_memory(tn_context *ctx, tn_schedule *s) {
  tn_schedule_free(s);
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a schedule");
  return NULL;
}

/* The steps of scans stand in the loop over the time. */
static void place_steps(tn_schedule *s) {
  bool steps[SCHEDULE_MAX_STAGES];
  for (int scan = 0; scan < s->n_stages; scan++) {
    if (s->stages[scan].op->kind != TE_SCAN) continue;
    schedule_find_steps(s, scan, steps);
    for (int i = 0; i < scan; i++) {
      if (!steps[i]) continue;
      s->stages[i].attach = SCHEDULE_AT;
      s->stages[i].at_stage = (int16_t)scan;
      s->stages[i].at_axis = 0;
    }
  }
}

/* At most half of the stages that there can be: caches need room. */
tn_schedule *tn_schedule_new(tn_program *program) {
  if (!program) return NULL;
  if (program->n_ops > SCHEDULE_MAX_STAGES / 2) {
    runtime_fail(program->ctx, TN_ERROR_SCHEDULE, "the program has %d tensors: a schedule takes at most %d",
                 program->n_ops, SCHEDULE_MAX_STAGES / 2);
    return NULL;
  }
  tn_schedule *s = new_schedule(program, program->n_ops);
  if (!s) return no_memory(program->ctx, NULL);
  for (int i = 0; i < program->n_ops; i++)
    if (!init_stage(s, &s->stages[s->n_stages++], program->ops[i])) return no_memory(program->ctx, s);
  place_steps(s);
  return s;
}

/* Arrays are copied to their exact size; names, scopes and ops are shared. */
static bool copy_stage(runtime_arena *arena, schedule_stage *to, const schedule_stage *from) {
  *to = *from;
  to->cap_axes = from->n_axes, to->cap_relations = from->n_relations, to->cap_leaves = from->n_leaves;
  to->axes = runtime_copy(arena, from->axes, sizeof *from->axes * (size_t)from->n_axes);
  to->relations = runtime_copy(arena, from->relations, sizeof *from->relations * (size_t)from->n_relations);
  to->leaves = runtime_copy(arena, from->leaves, sizeof *from->leaves * (size_t)from->n_leaves);
  if (!to->axes || !to->relations || !to->leaves) return false;
  if (from->n_prefetches) {
    to->prefetches = runtime_copy(arena, from->prefetches, sizeof *from->prefetches * (size_t)from->n_prefetches);
    if (!to->prefetches) return false;
  }
  for (int i = 0; i < to->n_relations; i++) {
    schedule_relation *r = &to->relations[i];
    r->many = runtime_copy(arena, r->many, sizeof *r->many * (size_t)r->n);
    if (!r->many) return false;
  }
  return true;
}

/* Texts are interned in the program's registry, lists are copied. */
static bool copy_steps(tn_schedule *to, const tn_schedule *from) {
  to->n_steps = to->cap_steps = from->n_steps;
  to->steps = runtime_copy(&to->arena, from->steps, sizeof *from->steps * (size_t)from->n_steps);
  for (int i = 0; to->steps && i < to->n_steps; i++) {
    schedule_step *step = &to->steps[i];
    if (step->n && !(step->list = runtime_copy(&to->arena, step->list, sizeof *step->list * (size_t)step->n)))
      return false;
  }
  return to->steps != NULL;
}

/* Linear in the arrays, without looking into them; independent of the original from then on. */
tn_schedule *tn_schedule_copy(const tn_schedule *from) {
  if (!from) return NULL;
  tn_schedule *to = new_schedule(from->program, from->n_stages);
  if (!to) return no_memory(from->ctx, NULL);
  to->is_replayed = from->is_replayed;
  to->n_variants = from->n_variants, to->variants = from->variants;
  for (int i = 0; i < from->n_stages; i++, to->n_stages++)
    if (!copy_stage(&to->arena, &to->stages[i], &from->stages[i])) return no_memory(from->ctx, to);
  return copy_steps(to, from) ? to : no_memory(from->ctx, to);
}

/* The list links stay where they are: they belong to the handles, not to the contents. */
void schedule_swap_contents(tn_schedule *a, tn_schedule *b) {
  tn_schedule was_a = *a, was_b = *b;
  *a = was_b, *b = was_a;
  a->previous = was_a.previous, a->next = was_a.next;
  b->previous = was_b.previous, b->next = was_b.next;
}

/* Ops and names stay: other schedules of the program use them. */
void tn_schedule_free(tn_schedule *s) {
  if (!s) return;
  schedule_registry_unlink(s);
  runtime_arena_free(&s->arena);
  free(s);
}

tn_program *tn_schedule_program(const tn_schedule *s) { return s ? s->program : NULL; }

/* ---- growing ----------------------------------------------------------------------------------------------------- */

/* Makes room for N items in an arena array; the old array is left to the arena. */
static bool reserve(runtime_arena *arena, void **data, int *cap, int n, size_t item_bytes) {
  if (n <= *cap) return true;
  int wanted = RUNTIME_MAX(n, 2 * *cap + 8);
  void *grown = runtime_alloc(arena, item_bytes * (size_t)wanted);
  if (!grown) return false;
  if (*cap) memcpy(grown, *data, item_bytes * (size_t)*cap);
  *data = grown;
  *cap = wanted;
  return true;
}

/* Axes are never removed: relations and attachments name them by index. */
int schedule_add_axis(tn_schedule *s, schedule_stage *stage, const schedule_axis *axis) {
  if (!reserve(&s->arena, (void **)&stage->axes, &stage->cap_axes, stage->n_axes + 1, sizeof *axis)) return -1;
  stage->axes[stage->n_axes] = *axis;
  return stage->n_axes++;
}

/* The pointer holds until the next relation is added. */
schedule_relation *schedule_add_relation(tn_schedule *s, schedule_stage *stage, int n) {
  if (!reserve(&s->arena, (void **)&stage->relations, &stage->cap_relations, stage->n_relations + 1,
               sizeof *stage->relations))
    return NULL;
  schedule_relation *r = &stage->relations[stage->n_relations];
  *r = (schedule_relation){.n = n, .many = RUNTIME_NEW_ARRAY(&s->arena, int16_t, n)};
  if (!r->many) return NULL;
  stage->n_relations++;
  return r;
}

/* Keeps the other leaves in order. */
bool schedule_set_leaves(tn_schedule *s, schedule_stage *stage, int at, int n_old, int n_new, const int16_t *with) {
  int n = stage->n_leaves - n_old + n_new;
  if (!reserve(&s->arena, (void **)&stage->leaves, &stage->cap_leaves, RUNTIME_MAX(n, 1), sizeof *stage->leaves))
    return false;
  memmove(stage->leaves + at + n_new, stage->leaves + at + n_old,
          sizeof *stage->leaves * (size_t)(stage->n_leaves - at - n_old));
  if (n_new) memcpy(stage->leaves + at, with, sizeof *with * (size_t)n_new);
  stage->n_leaves = n;
  return true;
}

/* Attachments name stages by index, so those behind the new one move up. */
schedule_stage *schedule_insert_stage(tn_schedule *s, int at, const te_op *op, const char *scope) {
  if (s->n_stages >= SCHEDULE_MAX_STAGES) return NULL;
  if (!reserve(&s->arena, (void **)&s->stages, &s->cap_stages, s->n_stages + 1, sizeof *s->stages)) return NULL;
  schedule_stage stage;
  if (!init_stage(s, &stage, op)) return NULL;
  stage.scope = scope;
  memmove(s->stages + at + 1, s->stages + at, sizeof *s->stages * (size_t)(s->n_stages - at));
  s->stages[at] = stage;
  s->n_stages++;
  for (int i = 0; i < s->n_stages; i++)
    if (i != at && s->stages[i].attach == SCHEDULE_AT && s->stages[i].at_stage >= at) s->stages[i].at_stage++;
  return &s->stages[at];
}

/* The step's list and text are copied: the caller's may be on its stack. */
bool schedule_push_step(tn_schedule *s, const schedule_step *step) {
  if (!reserve(&s->arena, (void **)&s->steps, &s->cap_steps, s->n_steps + 1, sizeof *step)) return false;
  schedule_step kept = *step;
  if (step->n && !(kept.list = runtime_copy(&s->arena, step->list, sizeof *step->list * (size_t)step->n))) return false;
  if (step->text && !(kept.text = schedule_intern(s->program, step->text))) return false;
  s->steps[s->n_steps++] = kept;
  return true;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* The first tensor's: a stage of several values is called by it. */
const char *schedule_stage_name(const schedule_stage *stage) { return stage->tensors[0].name; }

/* By the name that readers use, which stays when the op is replaced. */
int schedule_find_tensor(const schedule_stage *stage, const char *name) {
  for (int v = 0; v < stage->n_tensors; v++)
    if (strcmp(stage->tensors[v].name, name) == 0) return v;
  return -1;
}

/* Linear in stages; names are distinct within a schedule. */
int schedule_find_stage(const tn_schedule *s, const char *name) {
  for (int i = 0; i < s->n_stages; i++)
    if (schedule_find_tensor(&s->stages[i], name) >= 0) return i;
  return -1;
}

/* Only loops that are there now. */
int schedule_find_leaf(const schedule_stage *stage, const char *name) {
  for (int i = 0; i < stage->n_leaves; i++)
    if (strcmp(schedule_leaf(stage, i)->name, name) == 0) return i;
  return -1;
}

int schedule_leaf_position(const schedule_stage *stage, int axis) {
  for (int i = 0; i < stage->n_leaves; i++)
    if (stage->leaves[i] == axis) return i;
  return -1;
}

int schedule_stage_of_tensor(const tn_schedule *s, const tn_tensor *tensor) {
  for (int i = 0; i < s->n_stages; i++)
    if (schedule_has_tensor(&s->stages[i], tensor)) return i;
  return -1;
}

/* Outputs are the arguments behind the inputs. */
bool schedule_is_output(const tn_schedule *s, int stage) {
  const tn_program *p = s->program;
  for (int i = p->n_inputs; i < p->n_args; i++)
    if (schedule_has_tensor(&s->stages[stage], p->args[i])) return true;
  return false;
}

/* As the op reads it now; inlined stages are not looked through. */
bool schedule_reads(const schedule_stage *stage, const tn_tensor *tensor) {
  for (int i = 0; i < stage->op->n_inputs; i++)
    if (stage->op->inputs[i] == tensor) return true;
  return false;
}

/* Directly, by any of FROM's tensors. */
bool schedule_reads_stage(const schedule_stage *stage, const schedule_stage *from) {
  for (int i = 0; i < stage->op->n_inputs; i++)
    if (schedule_has_tensor(from, stage->op->inputs[i])) return true;
  return false;
}

/* One pass in stage order, in which readers stand behind what they read. */
int schedule_consumers(const tn_schedule *s, int stage, bool through_inlined, int max, int *out) {
  int n = 0, n_inlined = 0, inlined[SCHEDULE_MAX_STAGES]; /* inlined stages that read it, directly or through others */
  for (int i = stage + 1; i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    bool reads = schedule_reads_stage(st, &s->stages[stage]);
    for (int k = 0; k < n_inlined && !reads; k++) reads = schedule_reads_stage(st, &s->stages[inlined[k]]);
    if (reads && through_inlined && st->attach == SCHEDULE_INLINED)
      inlined[n_inlined++] = i;
    else if (reads && n < max)
      out[n++] = i;
  }
  return n;
}
