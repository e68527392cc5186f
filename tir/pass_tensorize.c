/* pass_tensorize.c: loops that are marked become an intrinsic. Lowering marks a stage's loops with the name of the
 * intrinsic and leaves them loops, so that guards are proved away, moved out and peeled as everywhere; what is then a
 * whole block is replaced. Of dot products so is the rest of a reduction, as one of zeros from there on; all other rests stay
 * loops. */
#include <assert.h>

#include "tir/intrin.h"
#include "tir/linear.h"
#include "tir/passes.h"

enum { MAX_MARKS = 64 };

/* What stands around a statement, and the marks that were met on the way to it. */
typedef struct state {
  tir_pass_context *p;
  const tir_func *f;
  const tir_env *env;
  int *n_marks;
  tir_tensorized *marks; /* what became of each mark, MAX_MARKS */
} state;

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* A stride that is a number. */
static bool is_number(const tir_expr *stride, int64_t *value) {
  *value = 0;
  return stride == NULL || tir_is_int(stride, value);
}

/* FACTOR NULL: 0. */
static const tir_expr *times(runtime_arena *arena, const tir_expr *lanes, const tir_expr *factor) {
  if (factor == NULL || lanes == NULL) return NULL;
  return tir_binary(arena, TIR_MUL, lanes, tir_broadcast(arena, factor, lanes->lanes));
}

/* base + stride * lane */
static const tir_expr *strided(runtime_arena *arena, const tir_expr *base, const tir_expr *stride, int lanes) {
  int64_t value;
  if (is_number(stride, &value)) return tir_ramp(arena, base, value, lanes);
  const tir_expr *lane = tir_ramp(arena, tir_int(arena, (tn_dtype)base->dtype, 0), 1, lanes);
  return tir_binary(arena, TIR_ADD, tir_broadcast(arena, base, lanes), times(arena, lane, stride));
}

/* base + outer * (lane // group) + inner * (lane % group) */
static const tir_expr *grouped(runtime_arena *arena, const tir_expr *base, const tir_expr *outer, const tir_expr *inner,
                               int lanes, int group) {
  int64_t from_group, from_lane;
  bool are_numbers = is_number(outer, &from_group) & is_number(inner, &from_lane);
  if (are_numbers && from_group == from_lane * group) return tir_ramp(arena, base, from_lane, lanes);
  tn_dtype dtype = (tn_dtype)base->dtype;
  const tir_expr *lane = tir_ramp(arena, tir_int(arena, dtype, 0), 1, lanes), *size = tir_int(arena, dtype, group);
  if (lane == NULL || size == NULL) return NULL;
  const tir_expr *parts[] = {times(arena, tir_binary(arena, TIR_FLOORDIV, lane, size), outer),
                             times(arena, tir_binary(arena, TIR_FLOORMOD, lane, size), inner)};
  const tir_expr *index = tir_broadcast(arena, base, lanes);
  for (int i = 0; i < 2; i++) {
    if (parts[i] != NULL) index = tir_binary(arena, TIR_ADD, index, parts[i]);
  }
  return index;
}

/* One index, as the pass runs on flat buffers. */
static const tir_expr *load(runtime_arena *arena, const tir_buffer *buffer, const tir_expr *index) {
  return tir_load(arena, buffer, 1, &index, NULL);
}

/* Lanes of groups, of which the first N of each are on; NULL: all. */
static const tir_expr *first_of_groups(runtime_arena *arena, tn_dtype dtype, int lanes, int group, int64_t n) {
  if (n == group) return NULL;
  const tir_expr *lane = tir_ramp(arena, tir_int(arena, dtype, 0), 1, lanes);
  const tir_expr *place =
      tir_binary(arena, TIR_FLOORMOD, lane, tir_broadcast(arena, tir_int(arena, dtype, group), lanes));
  return tir_binary(arena, TIR_LT, place, tir_broadcast(arena, tir_int(arena, dtype, n), lanes));
}

/* Lanes of groups that come before the end of a masked match; NULL: all. */
static const tir_expr *before_end(runtime_arena *arena, const tir_intrin_match *match, int lanes) {
  if (match->end == NULL) return NULL;
  return tir_binary(arena, TIR_LT, tir_ramp(arena, match->live, 1, lanes), tir_broadcast(arena, match->end, lanes));
}

/* Axis 0 is the lane, axis 1 counts within a group. An operand that all lanes share goes first. Of a part only the first elements
 * of a group are read; where there is no loop along it they are taken for neighbours, which is one way to read one. */
static const tir_stmt *make_dot(runtime_arena *arena, const tir_intrin *intrin, const tir_intrin_match *match) {
  int lanes = (int)intrin->axes[0].extent, group = (int)intrin->axes[1].extent;
  int64_t first, n = 1;
  if (match->loops[1] != NULL) tir_const_loop(match->loops[1], &first, &n);
  bool swaps = match->inputs[1].stride[0] == NULL && match->inputs[0].stride[0] != NULL;
  const tir_expr *operand[2];
  for (int i = 0; i < 2; i++) {
    const tir_place *place = &match->inputs[swaps ? 1 - i : i];
    tn_dtype dtype = (tn_dtype)place->base->dtype;
    const tir_expr *step = match->loops[1] != NULL ? place->stride[1] : tir_int(arena, dtype, 1);
    const tir_expr *index = grouped(arena, place->base, place->stride[0], step, lanes * group, group);
    const tir_expr *on = match->end != NULL ? before_end(arena, match, lanes * group)
                                            : first_of_groups(arena, dtype, lanes * group, group, n);
    operand[i] = tir_load(arena, place->buffer, 1, &index, on);
  }
  const tir_place *to = &match->output;
  const tir_expr *index = strided(arena, to->base, to->stride[0], lanes);
  const tir_expr *value = tir_dot(arena, load(arena, to->buffer, index), operand[0], operand[1]);
  return value != NULL ? tir_store(arena, to->buffer, 1, &index, value, NULL) : NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = (1 + TIR_INTRIN_INPUTS) * (1 + TN_MAX_RANK) };

/* Whether the first element is the lowest. */
static bool goes_forward(const tir_env *env, const tir_place *place) {
  bool forward = true;
  for (int a = 0; a < TIR_INTRIN_AXES; a++)
    forward = forward && (place->stride[a] == NULL || tir_bounds(env, place->stride[a]).lo >= 0);
  return forward;
}

/* From the first to the last element; 0: symbols decide. */
static int64_t span_of(const tir_intrin *intrin, const tir_place *place) {
  int64_t span = 1, stride;
  for (int a = 0; a < intrin->n_axes; a++) {
    if (!is_number(place->stride[a], &stride)) return 0;
    span += stride * (intrin->axes[a].extent - 1);
  }
  return span;
}

/* The operand for the C function: the lowest element and how far it may go from there. */
static tir_operand address(const tir_intrin *intrin, const tir_place *place, tir_access access) {
  return (tir_operand){.access = access,
                       .buffer = place->buffer,
                       .n_index = 1,
                       .index = {place->base},
                       .span = {span_of(intrin, place)}};
}

/* Strides are passed as int64, in elements; 0 for a dimension that the axis does not move along. */
static tir_operand number(runtime_arena *arena, const tir_expr *stride) {
  const tir_expr *value = stride != NULL ? tir_cast(arena, TN_I64, stride) : tir_int(arena, TN_I64, 0);
  return (tir_operand){.access = TIR_BY_VALUE, .value = value};
}

/* The order of the arguments is the contract of TIR_INTRIN_CALL (intrin.h). */
static const tir_stmt *make_call(runtime_arena *arena, const tir_intrin *intrin, tir_intrin_role role,
                                 const tir_intrin_match *match) {
  tir_operand operands[MAX_OPERANDS];
  int n = 0, n_inputs = role == TIR_INTRIN_RESET ? 0 : intrin->n_inputs;
  operands[n++] = address(intrin, &match->output, role == TIR_INTRIN_UPDATE ? TIR_UPDATES : TIR_WRITES);
  for (int i = 0; i < n_inputs; i++) operands[n++] = address(intrin, &match->inputs[i], TIR_READS);
  for (int d = 0; d < intrin->n_data; d++) operands[n++] = number(arena, match->output.stride[d]);
  for (int i = 0; i < n_inputs; i++) {
    for (int d = 0; d < intrin->inputs[i]->ndim; d++)
      operands[n++] = number(arena, match->inputs[i].stride[intrin->input_axis[i][d]]);
  }
  return tir_call(arena, intrin->callees[role], n, operands);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* A loop like the one matched, of another kind; the body alone where the axis has one iteration. */
static const tir_stmt *around(runtime_arena *arena, const tir_stmt *loop, tir_loop_kind kind, const tir_stmt *body) {
  if (loop == NULL || body == NULL) return body;
  return tir_for(arena, loop->u.loop.var, loop->u.loop.min, loop->u.loop.extent, kind, body);
}

/* Named after buffer and intrinsic, so that printed IR shows where it comes from. Local, for
 * register_tiles to find. */
static const tir_buffer *make_accumulators(runtime_arena *arena, const tir_intrin *intrin, const tir_stmt *store) {
  tir_buffer *buffer = RUNTIME_NEW(arena, tir_buffer);
  if (buffer == NULL) return NULL;
  *buffer = (tir_buffer){.name = runtime_format(arena, "%s.%s", store->u.store.buffer->name, intrin->name),
                         .dtype = store->u.store.buffer->dtype,
                         .ndim = 1,
                         .shape = {intrin->axes[0].extent},
                         .scope = "local"};
  return buffer;
}

/* The index of an accumulator: the iteration of the data axis. */
static const tir_expr *lane_of(runtime_arena *arena, const tir_intrin_match *match) {
  const tir_stmt *loop = match->loops[0];
  if (loop == NULL) return tir_int(arena, (tn_dtype)match->output.base->dtype, 0);
  return tir_binary(arena, TIR_SUB, tir_var_expr(arena, loop->u.loop.var), loop->u.loop.min);
}

/* The nest of a match over again: accumulators start from the output (UPDATE) or from the identity (BODY), take a
 * source from every iteration of the reduction loops, and are stored. Each adds up in the order of the loops. */
static const tir_stmt *make_lanes(runtime_arena *arena, const tir_intrin *intrin, tir_intrin_role role,
                                  const tir_intrin_match *match) {
  const tir_buffer *to = match->store->u.store.buffer, *sums = make_accumulators(arena, intrin, match->store);
  const tir_expr *const *index = match->store->u.store.index, *lane = lane_of(arena, match);
  if (sums == NULL || lane == NULL) return NULL;
  const tir_expr *sum = load(arena, sums, lane);
  const tir_expr *start =
      role == TIR_INTRIN_BODY ? tir_identity(arena, intrin->combiner, to->dtype) : load(arena, to, index[0]);
  const tir_expr *next = tir_combine(arena, intrin->combiner, sum, match->source);
  if (sum == NULL || start == NULL || next == NULL) return NULL;
  const tir_stmt *parts[] = {tir_store(arena, sums, 1, &lane, start, NULL),
                             tir_store(arena, sums, 1, &lane, next, NULL), tir_store(arena, to, 1, index, sum, NULL)};
  for (int i = 0; i < RUNTIME_COUNT(parts); i++) parts[i] = around(arena, match->loops[0], TIR_VECTORIZED, parts[i]);
  for (int a = intrin->n_axes - 1; a > 0; a--) parts[1] = around(arena, match->loops[a], TIR_SERIAL, parts[1]);
  return tir_alloc(arena, sums, tir_seq(arena, RUNTIME_COUNT(parts), parts));
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* What the loops' update, or a computation that is no reduction, becomes. */
static tir_intrin_role role_of(const tir_intrin *intrin) {
  return intrin->is_reduction ? TIR_INTRIN_UPDATE : TIR_INTRIN_BODY;
}

/* Whether INDEX is a multiple of N, whatever its variables are. */
static bool is_multiple(const tir_expr *index, int64_t n) {
  tir_linear form = {0};
  if (!tir_linear_add_expr(&form, index, 1)) return false;
  bool is = form.constant % n == 0;
  for (int i = 0; i < form.n; i++) is = is && form.terms[i].coef % n == 0;
  return is;
}

/* The caller decides on such a buffer's address: nothing more than an element's alignment is known of it. */
static bool is_param(const tir_func *f, const tir_buffer *buffer) {
  for (int i = 0; i < f->n_params; i++)
    if (f->params[i] == buffer) return true;
  return false;
}

/* Why an address is not one that the functions need; NULL: it is. */
static const char *misplaced(const state *at, const tir_buffer *pattern, const tir_intrin_need *need,
                             const tir_place *place) {
  int64_t bytes = (int64_t)tn_dtype_bytes(pattern->dtype);
  if (need->align <= bytes) return NULL;
  if (is_param(at->f, place->buffer))
    return runtime_format(at->p->arena,
                          "%s has to be at a multiple of %lld bytes, and %s is an argument, whose address is a "
                          "multiple of an element's bytes only: make a copy, cache_read(%s, global, reader)",
                          pattern->name, (long long)need->align, place->buffer->name, place->buffer->name);
  if (is_multiple(place->base, need->align / bytes)) return NULL;
  return runtime_format(at->p->arena,
                        "%s has to be at a multiple of %lld bytes, and the block's place in %s is not: split by a "
                        "multiple of %lld",
                        pattern->name, (long long)need->align, place->buffer->name, (long long)(need->align / bytes));
}

/* Why operand I has not the strides that the functions need; NULL: it has. */
static const char *misstrided(const state *at, const tir_intrin *intrin, int i, const tir_place *place) {
  bool is_output = i == intrin->n_inputs;
  const tir_buffer *pattern = is_output ? intrin->output : intrin->inputs[i];
  for (int d = 0; d < pattern->ndim; d++) {
    int64_t wanted = intrin->needs[i].stride[d], has = 0;
    int axis = is_output ? d : intrin->input_axis[i][d];
    if (!wanted || intrin->axes[axis].extent == 1 || (is_number(place->stride[axis], &has) && has == wanted)) continue;
    return runtime_format(at->p->arena,
                          "dimension %d of %s has to have a stride of %lld elements, and %s has another there: "
                          "transform_layout, or a copy by cache_read, makes it",
                          d, pattern->name, (long long)wanted, place->buffer->name);
  }
  return NULL;
}

/* The first of the operands that is not as the functions need it; NULL: all are. */
static const char *unmet_need(const state *at, const tir_intrin *intrin, const tir_intrin_match *match, int from) {
  const char *why = NULL;
  for (int i = from; !why && i <= intrin->n_inputs; i++) {
    bool is_output = i == intrin->n_inputs;
    const tir_place *place = is_output ? &match->output : &match->inputs[i];
    if (place->buffer == NULL) continue;
    why = misplaced(at, is_output ? intrin->output : intrin->inputs[i], &intrin->needs[i], place);
    if (!why) why = misstrided(at, intrin, i, place);
  }
  return why;
}

/* A reason why a match cannot be called, or NULL. */
static const char *objection(const state *at, const tir_intrin *intrin, const tir_intrin_match *match) {
  if (intrin->form != TIR_INTRIN_CALL) return NULL;
  bool forward = goes_forward(at->env, &match->output);
  for (int i = 0; i < intrin->n_inputs; i++) forward = forward && goes_forward(at->env, &match->inputs[i]);
  return forward ? unmet_need(at, intrin, match, 0) : "a stride is negative, and a C function gets the lowest address";
}

/* The intrinsic in the form it was declared in. */
static const tir_stmt *make(runtime_arena *arena, const tir_intrin *intrin, tir_intrin_role role,
                            const tir_intrin_match *match) {
  switch (intrin->form) {
    case TIR_INTRIN_DOT: return make_dot(arena, intrin, match);
    case TIR_INTRIN_CALL: return make_call(arena, intrin, role, match);
    case TIR_INTRIN_LANES: return make_lanes(arena, intrin, role, match);
  }
  return NULL;
}

/* ---- marked loops ------------------------------------------------------------------------------------------------ */

static const tir_stmt *tensorize(void *user, const tir_stmt *s);

/* By name; a function has a handful. */
static const tir_intrin *find_intrin(const tir_func *f, const char *name) {
  for (int i = 0; i < f->n_intrins; i++) {
    if (strcmp(f->intrins[i]->name, name) == 0) return f->intrins[i];
  }
  return NULL;
}

/* The entry of a mark; NULL: the table is full. */
static tir_tensorized *entry(state *at, const char *name, int64_t stage) {
  int i = 0;
  while (i < *at->n_marks && (at->marks[i].stage != stage || strcmp(at->marks[i].intrin, name) != 0)) i++;
  if (i == MAX_MARKS) return NULL;
  if (i == *at->n_marks) at->marks[(*at->n_marks)++] = (tir_tensorized){.intrin = name, .stage = stage};
  return &at->marks[i];
}

/* The rest of a reduction; as it is where it is none. */
static const tir_stmt *settle_rest(const state *at, const tir_intrin *intrin, const tir_stmt *nest) {
  tir_intrin_match match;
  bool is_dot = intrin != NULL && intrin->form == TIR_INTRIN_DOT;
  bool is_rest = is_dot && tir_match_part(at->p->arena, at->env, intrin, nest, &match);
  return is_rest ? make_dot(at->p->arena, intrin, &match) : nest;
}

/* A whole block, the rest of one, or what stays loops. */
static const tir_stmt *settle(state *at, const tir_intrin *intrin, int64_t stage, const tir_stmt *nest) {
  tir_intrin_match match = {.why_not = "it is unknown here"};
  bool matches = intrin != NULL && tir_match_intrin(at->p->arena, at->env, intrin, nest, &match);
  if (matches && (match.why_not = objection(at, intrin, &match)) != NULL) matches = false;
  tir_tensorized *mark = entry(at, intrin != NULL ? intrin->name : "?", stage);
  if (mark != NULL && matches) mark->n_matched++;
  if (mark != NULL && !matches && mark->why_not == NULL) mark->why_not = match.why_not;
  return matches ? make(at->p->arena, intrin, role_of(intrin), &match) : settle_rest(at, intrin, nest);
}

/* A mark whose loops are compared with its intrinsic's pattern. */
typedef struct marked {
  state *at;
  const tir_intrin *intrin;
  int64_t stage;
} marked;

/* Branches and sequences that passes made under the mark are looked into: each part is a block of its own. */
static const tir_stmt *settle_parts(void *user, const tir_stmt *s) {
  marked *m = user;
  if (s->kind == TIR_SEQ || s->kind == TIR_ATTR) return tir_map_children(m->at->p->arena, s, settle_parts, m);
  if (s->kind != TIR_IF) return settle(m->at, m->intrin, m->stage, s);
  const tir_env *outer = m->at->env;
  tir_env env = tir_env_cond(outer, s->u.branch.cond);
  if (s->u.branch.else_body == NULL) m->at->env = &env;
  s = tir_map_children(m->at->p->arena, s, settle_parts, m);
  m->at->env = outer;
  return s;
}

/* The intrinsic of a mark of that kind; NULL: S is none. */
static const tir_intrin *intrin_of(const state *at, const tir_stmt *s, const char *kind) {
  size_t n = strlen(kind);
  bool is_mark = s->kind == TIR_ATTR && strncmp(s->u.attr.key, kind, n) == 0;
  return is_mark ? find_intrin(at->f, s->u.attr.key + n) : NULL;
}

/* The init as one call, or as the loops it is. */
static const tir_stmt *settle_reset(state *at, const tir_intrin *intrin, const tir_stmt *nest) {
  tir_intrin_match match;
  if (!tir_intrin_has_reset(intrin)) return nest;
  bool matches = tir_match_reset(at->p->arena, at->env, intrin, nest, &match);
  if (!matches || !goes_forward(at->env, &match.output)) return nest;
  if (unmet_need(at, intrin, &match, intrin->n_inputs) != NULL) return nest;
  return make_call(at->p->arena, intrin, TIR_INTRIN_RESET, &match);
}

/* Init and update as one; NULL: not here. */
static const tir_stmt *settle_body(state *at, const tir_intrin *intrin, int64_t stage, const tir_stmt *both) {
  tir_intrin_match first, match;
  if (both->kind != TIR_SEQ || both->u.seq.n != 2) return NULL;
  const tir_stmt *init = both->u.seq.stmts[0], *update = both->u.seq.stmts[1];
  if (intrin_of(at, init, TIR_TENSORIZE_RESET) != intrin || intrin_of(at, update, TIR_TENSORIZE) != intrin) return NULL;
  if (!tir_match_reset(at->p->arena, at->env, intrin, init->u.attr.body, &first)) return NULL;
  if (!tir_match_intrin(at->p->arena, at->env, intrin, update->u.attr.body, &match)) return NULL;
  if (objection(at, intrin, &match) != NULL || !tir_is_same_place(&first.output, &match.output)) return NULL;
  tir_tensorized *mark = entry(at, intrin->name, stage);
  if (mark != NULL) mark->n_matched++;
  return make(at->p->arena, intrin, TIR_INTRIN_BODY, &match);
}

/* What a mark becomes; NULL: it is none, or its parts are looked at one by one. */
static const tir_stmt *settle_mark(state *at, const tir_stmt *s) {
  const tir_intrin *intrin;
  assert(s != NULL);
  if ((intrin = intrin_of(at, s, TIR_TENSORIZE_BODY)) != NULL)
    return settle_body(at, intrin, s->u.attr.value, s->u.attr.body);
  if ((intrin = intrin_of(at, s, TIR_TENSORIZE_RESET)) != NULL) return settle_reset(at, intrin, s->u.attr.body);
  if (s->kind != TIR_ATTR || strncmp(s->u.attr.key, TIR_TENSORIZE, strlen(TIR_TENSORIZE)) != 0) return NULL;
  marked m = {at, find_intrin(at->f, s->u.attr.key + strlen(TIR_TENSORIZE)), s->u.attr.value};
  return settle_parts(&m, s->u.attr.body);
}

/* A mark whose nest is not one block is looked into: peeling leaves the whole blocks beside the rest. */
static const tir_stmt *tensorize(void *user, const tir_stmt *s) {
  state *at = user, inner = *at;
  tir_env env;
  const tir_stmt *settled = settle_mark(at, s);
  if (settled != NULL) return settled;
  if (intrin_of(at, s, TIR_TENSORIZE_BODY) != NULL) return tensorize(at, s->u.attr.body);
  inner.env = tir_env_inside(at->p->arena, at->env, s, &env);
  return tir_map_children(at->p->arena, s, tensorize, &inner);
}

/* To who asked, or, when a mark had no effect at all, as a warning. */
static void report(tir_pass_context *p, int n, const tir_tensorized *marks) {
  for (int i = 0; i < n; i++) {
    if (p->tensorized != NULL && p->tensorized->stage == marks[i].stage) *p->tensorized = marks[i];
    if (p->tensorized != NULL || marks[i].n_matched > 0) continue;
    runtime_say(p->ctx, TN_SEVERITY_WARNING, "tensorize with %s has no effect, the loops stay loops: %s",
                marks[i].intrin, marks[i].why_not != NULL ? marks[i].why_not : "out of memory");
  }
}

/* Requires: flatten (one index a buffer), simplify. Establishes: no TIR_TENSORIZE marks; where the loops under one do
 * what the intrinsic's pattern says they are the intrinsic. Breaks: nothing. */
tir_func *tir_pass_tensorize(tir_pass_context *p, tir_func *f) {
  if (f->n_intrins == 0) return f;
  tir_tensorized marks[MAX_MARKS];
  int n_marks = 0;
  state at = {.p = p, .f = f, .env = f->env, .n_marks = &n_marks, .marks = marks};
  tir_func *result = tir_func_with_body(p, f, tensorize(&at, f->body));
  report(p, n_marks, marks);
  return result;
}
