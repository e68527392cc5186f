/* registry.c: names and derived ops shared by the schedules of a program. What they point to lives in the context's
 * arena, so pointers stay valid as long as any schedule can. */
#include "schedule/registry.h"

#include <stdio.h>

/* How an op was derived from another. Kind and arguments are the key: the same derivation gives the same op in all
 * schedules of a program. */
typedef enum derived_kind {
  DERIVED_COPY,
  DERIVED_REREAD,
  DERIVED_RENAMED,
  DERIVED_FORWARD,
  DERIVED_OTHER
} derived_kind;

/* What makes two requests the same: A, B and C mean something else for each kind. WORD: of DERIVED_OTHER, else NULL. */
typedef struct derived_key {
  derived_kind kind;
  const void *a, *b, *c;
  const char *word;
} derived_key;

/* An op that a primitive made, found again by what it was made of. */
typedef struct derived_entry {
  derived_key key;
  const te_op *op;
} derived_entry;

/* One for each program, in heap memory; names and ops lie in the context's arena and outlive it. */
struct schedule_registry {
  runtime_names names;
  runtime_map derived; /* hash of a key -> derived_entry, in the context's arena */
  runtime_map bodies;  /* op -> its body as generic schedules read it */
  runtime_map reads;   /* op -> what that body reads */
  runtime_map maps;    /* text -> the index map that it is */
  tn_schedule *first;
  schedule_registry *next; /* of the same context */
};

/* With the context: ops and axes are in its arena, schedules that nobody freed go here. */
static void registry_free(schedule_registry *r) {
  while (r->first) tn_schedule_free(r->first);
  runtime_names_free(&r->names);
  runtime_map_free(&r->derived);
  runtime_map_free(&r->bodies);
  runtime_map_free(&r->reads);
  runtime_map_free(&r->maps);
  free(r);
}

/* DATA: the head of a context's list, one registry a program. */
static void registries_free(void *data) {
  for (schedule_registry *r = *(schedule_registry **)data, *next; r; r = next) {
    next = r->next;
    registry_free(r);
  }
}

/* The head of the context's list, made on first use. NULL: out of memory. */
static schedule_registry **registries_of(tn_context *ctx) {
  schedule_registry **head = runtime_slot_get(ctx, RUNTIME_SLOT_REGISTRIES);
  if (head) return head;
  head = RUNTIME_NEW(&ctx->arena, schedule_registry *);
  if (head) runtime_slot_set(ctx, RUNTIME_SLOT_REGISTRIES, head, registries_free);
  return head;
}

/* Made for the first schedule of the program. */
schedule_registry *schedule_registry_of(tn_program *program) {
  if (program->derived) return program->derived;
  schedule_registry **head = registries_of(program->ctx), *r = head ? calloc(1, sizeof *r) : NULL;
  if (!r) return NULL;
  r->names.arena = &program->ctx->arena;
  r->next = *head;
  *head = r;
  return program->derived = r;
}

/* Needs a registry; the newest schedule stands first. */
void schedule_registry_link(tn_schedule *s) {
  schedule_registry *r = s->program->derived;
  s->previous = NULL;
  s->next = r->first;
  if (r->first) r->first->previous = s;
  r->first = s;
  runtime_hold(s->ctx, RUNTIME_SCHEDULES);
}

void schedule_registry_unlink(tn_schedule *s) {
  schedule_registry *r = s->program->derived;
  runtime_unhold(s->ctx->held, RUNTIME_SCHEDULES);
  if (s->previous)
    s->previous->next = s->next;
  else
    r->first = s->next;
  if (s->next) s->next->previous = s->previous;
}

const char *schedule_intern(tn_program *program, const char *text) {
  schedule_registry *r = schedule_registry_of(program);
  return r ? runtime_intern(&r->names, text, strlen(text)) : NULL;
}

const char *schedule_intern_joined(tn_program *program, const char *first, const char *second) {
  char buffer[512];
  if (strlen(first) + strlen(second) + 2 > sizeof buffer) return NULL;
  char *end = stpcpy(buffer, first);
  *end++ = '.';
  stpcpy(end, second);
  return schedule_intern(program, buffer);
}

/* NULL, too, for a text of 512 bytes or more: names are limited to SCHEDULE_MAX_NAME. */
const char *schedule_internf(tn_program *program, const char *fmt, ...) {
  char buffer[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(buffer, sizeof buffer, fmt, args);
  va_end(args);
  return n < (int)sizeof buffer ? schedule_intern(program, buffer) : NULL;
}

/* ---- derived ops ------------------------------------------------------------------------------------------------- */

/* Never 0, which would be a free slot. */
static uint64_t hash_of_key(const derived_key *k) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t hash = (uint64_t)k->kind + 1;
  hash = (hash ^ (uintptr_t)k->a) * odd;
  hash = (hash ^ hash >> 29 ^ (uintptr_t)k->b) * odd;
  return ((hash ^ hash >> 29 ^ (uintptr_t)k->c) * odd) | 1;
}

static bool is_derived_by(const void *user, runtime_map_value value) {
  const derived_key *wanted = user, *k = &((const derived_entry *)value.p)->key;
  bool is_same = k->kind == wanted->kind && k->a == wanted->a && k->b == wanted->b && k->c == wanted->c;
  return is_same && (k->word == wanted->word || strcmp(k->word, wanted->word) == 0);
}

/* A search makes thousands of them, above all partial results of reductions. */
static const te_op *find_derived(tn_program *program, derived_key key) {
  schedule_registry *r = program->derived;
  const runtime_map_value *found = runtime_map_find_match(&r->derived, hash_of_key(&key), is_derived_by, &key);
  return found ? ((const derived_entry *)found->p)->op : NULL;
}

/* Returns OP; NULL when there is no memory. */
static const te_op *keep_derived(tn_program *program, derived_key key, const te_op *op) {
  schedule_registry *r = program->derived;
  derived_entry *entry = op ? RUNTIME_NEW(&program->ctx->arena, derived_entry) : NULL;
  runtime_map_value *place = entry ? runtime_map_match_at(&r->derived, hash_of_key(&key), is_derived_by, &key) : NULL;
  if (!place) return NULL;
  *entry = (derived_entry){key, op};
  place->p = entry;
  return op;
}

/* T[ax0, ax1, ...] */
static const tir_expr *read_at_axes(tn_context *ctx, const tn_tensor *tensor, int n, tn_axis *const *axes) {
  const tir_expr *index[TN_MAX_RANK];
  for (int i = 0; i < n; i++) index[i] = te_axis_expr(&ctx->arena, axes[i]);
  return tir_read(&ctx->arena, (tn_tensor *)tensor, tensor->dtype, n, index);
}

/* T.local[ax0, ...] = T[ax0, ...]: cache_read. */
const te_op *schedule_copy_op(tn_program *program, const tn_tensor *tensor, const char *name) {
  derived_key key = {DERIVED_COPY, tensor, schedule_intern(program, name), NULL, NULL};
  const te_op *known = find_derived(program, key);
  if (known || !key.b) return known;
  tn_context *ctx = program->ctx;
  tn_axis **axes = RUNTIME_NEW_ARRAY(&ctx->arena, tn_axis *, tensor->ndim + 1);
  if (!axes) return NULL;
  for (int i = 0; i < tensor->ndim; i++) {
    axes[i] = te_axis_make(ctx, schedule_internf(program, "ax%d", i), tensor->shape[i], tensor->size[i], false);
    if (!axes[i]) return NULL;
  }
  return keep_derived(
      program, key,
      te_op_new(ctx, &(const char *){key.b}, tensor->ndim, axes, read_at_axes(ctx, tensor, tensor->ndim, axes)));
}

/* A body in which reads of one tensor become reads of another. */
typedef struct reread {
  runtime_arena *arena;
  const tn_tensor *from, *to;
} reread;

/* Bottom-up, so that an index that reads is done first. */
static const tir_expr *reread_node(void *user, const tir_expr *e) {
  const reread *r = user;
  if (e->op != TIR_READ || e->u.tensor != r->from) return e;
  return tir_read(r->arena, (tn_tensor *)r->to, (tn_dtype)e->dtype, e->n_args, e->arg);
}

/* Not kept: the callers above keep it. */
const te_op *schedule_op_like(tn_program *program, const te_op *like, int n_axes, tn_axis **axes,
                              const tir_expr *body) {
  const char *names[TIR_MAX_VALUES];
  for (int v = 0; v < like->n_outputs; v++) names[v] = like->outputs[v].name;
  return body ? te_op_new(program->ctx, names, n_axes, axes, body) : NULL;
}

/* The same op, reading TO wherever it read FROM: the readers of a cache_read. */
const te_op *schedule_reread_op(tn_program *program, const te_op *op, const tn_tensor *from, const tn_tensor *to) {
  derived_key key = {DERIVED_REREAD, op, from, to, NULL};
  const te_op *known = find_derived(program, key);
  if (known) return known;
  if (te_is_extern(op)) return keep_derived(program, key, te_extern_reread(op, from, to));
  runtime_arena *arena = &program->ctx->arena;
  reread r = {arena, from, to};
  tir_rewriter rewriter = {arena, NULL, reread_node, &r};
  const te_op *made = schedule_op_like(program, op, op->n_axes, op->axes, tir_rewrite_expr(&rewriter, op->body));
  if (made) ((te_op *)made)->kind = op->kind, ((te_op *)made)->first = op->first;
  return keep_derived(program, key, made);
}

/* The same computation under another name, over axes of its own: the new stage of a cache_write. */
const te_op *schedule_renamed_op(tn_program *program, const te_op *op, const char *const *names) {
  derived_key key = {DERIVED_RENAMED, op, schedule_intern(program, names[0]),
                     op->n_outputs > 1 ? schedule_intern(program, names[op->n_outputs - 1]) : NULL, NULL};
  const te_op *known = find_derived(program, key);
  if (known || !key.b) return known;
  tn_context *ctx = program->ctx;
  tn_axis **axes = RUNTIME_NEW_ARRAY(&ctx->arena, tn_axis *, op->n_axes + 1);
  tir_binding bindings[TN_MAX_RANK];
  for (int i = 0; axes && i < op->n_axes; i++) {
    const tn_axis *own = op->axes[i];
    axes[i] = te_axis_make(ctx, schedule_internf(program, "%s.c", own->var.name), own->extent, own->size, false);
    if (!axes[i]) return NULL;
    bindings[i] = (tir_binding){&op->axes[i]->var, te_axis_expr(&ctx->arena, axes[i])};
  }
  const tir_expr *body = tir_substitute(&ctx->arena, op->body, op->n_axes, bindings);
  return axes ? keep_derived(program, key, te_op_new(ctx, names, op->n_axes, axes, body)) : NULL;
}

/* The op's axes and names, but only copying FROM's outputs: what is left of a stage after cache_write. */
const te_op *schedule_forward_op(tn_program *program, const te_op *op, const te_op *from) {
  derived_key key = {DERIVED_FORWARD, op, from, NULL, NULL};
  const te_op *known = find_derived(program, key);
  if (known) return known;
  const tir_expr *reads[TIR_MAX_VALUES];
  for (int v = 0; v < from->n_outputs; v++)
    reads[v] = read_at_axes(program->ctx, &from->outputs[v], op->n_axes, op->axes);
  const tir_expr *body = tir_tuple(&program->ctx->arena, from->n_outputs, reads);
  return keep_derived(program, key, schedule_op_like(program, op, op->n_axes, op->axes, body));
}

const te_op *schedule_find_op(tn_program *program, const char *kind, const void *a, const void *b) {
  return find_derived(program, (derived_key){.kind = DERIVED_OTHER, .a = a, .b = b, .word = kind});
}

const te_op *schedule_keep_op(tn_program *program, const char *kind, const void *a, const void *b, const te_op *op) {
  return keep_derived(program, (derived_key){.kind = DERIVED_OTHER, .a = a, .b = b, .word = kind}, op);
}

/* ---- what is worked out once ------------------------------------------------------------------------------------- */

const tir_expr *schedule_known_body(const tn_program *program, const te_op *op) {
  const schedule_registry *r = program->derived;
  return runtime_map_get(&r->bodies, op);
}

void schedule_keep_body(tn_program *program, const te_op *op, const tir_expr *body) {
  schedule_registry *r = program->derived;
  if (body) runtime_map_put(&r->bodies, op, body);
}

const struct generic_reads *schedule_known_reads(const tn_program *program, const te_op *op) {
  const schedule_registry *r = program->derived;
  return runtime_map_get(&r->reads, op);
}

void schedule_keep_reads(tn_program *program, const te_op *op, const struct generic_reads *reads) {
  schedule_registry *r = program->derived;
  if (reads) runtime_map_put(&r->reads, op, reads);
}

const struct schedule_known_map *schedule_map_of_text(const tn_program *program, const char *text) {
  const schedule_registry *r = program->derived;
  return runtime_map_get(&r->maps, text);
}

void schedule_keep_map(tn_program *program, const char *text, const struct schedule_known_map *map) {
  schedule_registry *r = program->derived;
  if (map) runtime_map_put(&r->maps, text, map);
}
