/* prepack.c: which stages depend on constants alone, and the parameters of the two functions that a
 * program with packed constants becomes. Marks live in the lowering. The two functions are made by two
 * lowerings of one schedule, which agree because they mark alike. */
#include "schedule/prepack.h"

/* ---- what is constant -------------------------------------------------------------------------------------------- */

/* Stops at a read of what a call may change. */
static tir_walk find_variable(void *user, const tir_expr *e) {
  const lowering *l = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  return l->stages[schedule_stage_of_tensor(l->s, e->u.tensor)].is_constant ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Producers come before their readers. */
static void mark_constants(lowering *l) {
  for (int i = 0; i < l->s->n_stages; i++) {
    lower_stage *ls = &l->stages[i];
    const schedule_stage *st = ls->st;
    ls->is_constant = te_is_placeholder(st->op) ? st->tensors[0].is_layout_free
                                                : ls->is_live && ls->body && tir_walk_expr(ls->body, find_variable, l);
  }
}

/* The stage at root in whose loops a stage is computed; itself when it is at root. */
static int root_of(const lowering *l, int stage) {
  while (l->stages[stage].st->attach == SCHEDULE_AT) stage = l->stages[stage].st->at_stage;
  return stage;
}

/* Only root stages are asked: what is computed inside one goes with it. */
bool schedule_in_part(const lowering *l, int stage) {
  return l->part == SCHEDULE_WHOLE || l->stages[stage].is_prepacked == (l->part == SCHEDULE_PREPACK);
}

/* Stages that only feed such readers follow their reader: a constant that nobody else needs is packed, too. */
static void mark_prepacked(lowering *l) {
  for (int i = 0; i < l->s->n_stages; i++) {
    lower_stage *ls = &l->stages[i];
    bool at_root = ls->is_live && ls->st->attach == SCHEDULE_ROOT;
    ls->is_prepacked = at_root && ls->is_constant && !schedule_is_output(l->s, i);
  }
}

/* N counts the buffers between the two parts. */
typedef struct crossing {
  lowering *l;
  int n;
} crossing;

/* The other part reads a tensor. */
static void cross_tensor(crossing *c, const tn_tensor *tensor) {
  lower_stage *from = &c->l->stages[schedule_stage_of_tensor(c->l->s, tensor)];
  tir_buffer *buffer = (tir_buffer *)from->buffers[tensor->value_index]; /* made for this lowering */
  if (!from->is_prepacked || buffer->is_param) return;
  buffer->is_param = true;
  buffer->is_input = c->l->part == SCHEDULE_PACKED && !c->l->keeps;
  buffer->scope = "global";
  c->n++;
}

/* Reads across the border between what is packed before and what runs at each call. */
static tir_walk cross(void *user, const tir_expr *e) {
  if (e->op == TIR_READ) cross_tensor(user, e->u.tensor);
  return TIR_WALK_ON;
}

/* A C function reads its inputs without READ nodes. */
static void cross_stage(crossing *c, const lower_stage *ls) {
  const te_op *op = ls->st->op;
  if (ls->body) tir_walk_expr(ls->body, cross, c);
  for (int i = 0; te_is_extern(op) && i < op->n_inputs; i++) cross_tensor(c, op->inputs[i]);
}

/* ---- before lowering --------------------------------------------------------------------------------------------- */

/* What a stage reads, looked at through stages that are inlined or computed inside of it. */
typedef struct constancy {
  const tn_schedule *s;
  const bool *is_constant; /* by stage */
} constancy;

static tir_walk find_other(void *user, const tir_expr *e) {
  const constancy *c = user;
  bool varies = e->op == TIR_READ && !c->is_constant[schedule_stage_of_tensor(c->s, e->u.tensor)];
  return varies ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* A C function's inputs are not looked at: what it computes counts as varying. */
static bool is_constant_stage(constancy *c, const schedule_stage *st) {
  if (te_is_placeholder(st->op)) return st->tensors[0].is_layout_free;
  return st->op->body && tir_walk_expr(st->op->body, find_other, c);
}

bool schedule_has_parts(const tn_schedule *s) {
  bool has_constants = false, found = false;
  for (int i = 0; i < s->program->n_inputs; i++) has_constants |= s->program->args[i]->is_layout_free;
  bool *is_constant = has_constants ? calloc((size_t)s->n_stages, sizeof *is_constant) : NULL;
  constancy c = {s, is_constant};
  for (int i = 0; is_constant && i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    is_constant[i] = is_constant_stage(&c, st);
    bool is_computed = st->attach == SCHEDULE_ROOT && !te_is_placeholder(st->op);
    found |= is_constant[i] && is_computed && !schedule_is_output(s, i);
  }
  free(is_constant);
  return found;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* For the symbol that makes a part of a program depend on a call. */
typedef struct symbol_search {
  const lowering *l;
  const char *found; /* a symbol's name, or NULL */
} symbol_search;

/* In te's variables and in those of loop IR. */
static tir_walk find_symbol(void *user, const tir_expr *e) {
  symbol_search *search = user;
  const tn_program *p = search->l->s->program;
  for (int k = 0; k < p->n_symbols && e->op == TIR_VAR; k++)
    if (e->u.var == &p->symbols[k]->var || e->u.var == &search->l->symbols[k]->var)
      search->found = p->symbols[k]->var.name;
  for (int d = 0; e->op == TIR_READ && d < e->u.tensor->ndim; d++)
    if (e->u.tensor->size[d]) tir_walk_expr(e->u.tensor->size[d], find_symbol, search);
  return search->found ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* The name of a symbol that decides a stage's values, its region, or the rows of a tensor that it reads. NULL: none
 * does, so that the stage can be packed before the symbols are known. */
static const char *symbol_of(const lowering *l, const lower_stage *ls) {
  symbol_search search = {.l = l};
  if (ls->body) tir_walk_expr(ls->body, find_symbol, &search);
  for (int d = 0; d < ls->st->tensors[0].ndim; d++) {
    if (ls->min[d]) tir_walk_expr(ls->min[d], find_symbol, &search);
    if (ls->size[d]) tir_walk_expr(ls->size[d], find_symbol, &search);
  }
  for (int i = 0; i < ls->st->n_axes; i++)
    if (ls->axis_size[i]) tir_walk_expr(ls->axis_size[i], find_symbol, &search);
  return search.found;
}

/* What is packed is the same, and of the same size, in all calls. */
static tn_status check_no_symbols(const lowering *l) {
  for (int i = 0; i < l->s->n_stages; i++) {
    const lower_stage *ls = &l->stages[i];
    const char *symbol = ls->is_live && l->stages[root_of(l, i)].is_prepacked ? symbol_of(l, ls) : NULL;
    if (!symbol) continue;
    return runtime_fail(l->ctx, TN_ERROR_SCHEDULE,
                        "prepack: stage %s depends on layout_free inputs alone, so it is to be packed, but symbol %s, "
                        "which has another value in each call, has a part in it: give %s a value, leave layout_free "
                        "out at what %s reads, or build the whole kernel",
                        schedule_stage_name(ls->st), symbol, symbol, schedule_stage_name(ls->st));
  }
  return TN_OK;
}

/* Marks first: what is packed is known before its readers are looked at. */
tn_status schedule_find_packed(lowering *l) {
  crossing c = {l, 0};
  mark_constants(l);
  mark_prepacked(l);
  tn_status status = check_no_symbols(l);
  if (status != TN_OK) return status;
  for (int i = 0; i < l->s->n_stages; i++) {
    const lower_stage *ls = &l->stages[i];
    if (ls->is_live && !l->stages[root_of(l, i)].is_prepacked) cross_stage(&c, ls);
  }
  if (c.n > 0) return TN_OK;
  return runtime_fail(
      l->ctx, TN_ERROR_SCHEDULE,
      "prepack: no stage at root depends on layout_free inputs alone: declare the constant inputs, as in "
      "`input W: f32[8, 8] layout_free`, and copy them into the layout that the kernel wants by a stage at "
      "root, as cache_read(W, global, reader) makes one");
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* In the order of the stages, which both parts share. */
static void add_packed(const lowering *l, tir_func *f) {
  for (int i = 0; i < l->s->n_stages; i++) {
    const lower_stage *ls = &l->stages[i];
    for (int v = 0; ls->is_prepacked && v < ls->st->n_tensors; v++)
      if (ls->buffers[v]->is_param) f->params[f->n_params++] = ls->buffers[v];
  }
}

/* Whether the other part gets the buffer from its caller. */
static bool is_param_of(const tir_func *f, const tir_buffer *buffer) {
  bool is_param = false;
  for (int i = 0; i < f->n_params; i++) is_param = is_param || f->params[i] == buffer;
  return is_param;
}

/* NULL: passed by value. */
static const tir_buffer *buffer_of(const lowering *l, const tn_tensor *t) {
  const lower_stage *ls = &l->stages[schedule_stage_of_tensor(l->s, t)];
  return ls->scalar ? NULL : ls->buffers[t->value_index];
}

/* The argument of which VAR is a stride; NULL: it is none. */
static const tn_tensor *strided_by(const lowering *l, const tir_var *var) {
  const tn_program *p = l->s->program;
  for (int i = 0; i < p->n_args; i++) {
    const tir_buffer *buffer = p->args[i]->is_strided ? buffer_of(l, p->args[i]) : NULL;
    for (int d = 0; buffer && d < buffer->ndim - 1; d++)
      if (buffer->stride[d]->u.var == var) return p->args[i];
  }
  return NULL;
}

/* Strides of what is not taken go; the packing, which no call gives anything else, has no other numbers. */
static void choose_scalars(const lowering *l, tir_func *f) {
  tir_scalar *scalars = RUNTIME_NEW_ARRAY(l->arena, tir_scalar, l->n_scalars + 1);
  f->n_scalars = 0;
  for (int i = 0; i < l->n_scalars; i++) {
    const tn_tensor *strided = strided_by(l, l->scalars[i].var);
    bool is_wanted = strided ? is_param_of(f, buffer_of(l, strided)) : l->part == SCHEDULE_PACKED;
    if (is_wanted) scalars[f->n_scalars++] = l->scalars[i];
  }
  f->scalars = scalars;
}

/* Those of the whole kernel, then what is kept. */
static void add_kept(const lowering *l, tir_func *f) {
  const tn_program *p = l->s->program;
  for (int i = 0; i < p->n_args; i++) {
    const tir_buffer *buffer = buffer_of(l, p->args[i]);
    if (!buffer) continue;
    f->params[f->n_params++] = buffer;
    f->n_inputs += i < p->n_inputs;
  }
  int n_arguments = f->n_params;
  add_packed(l, f);
  f->n_kept = f->n_params - n_arguments;
}

void schedule_part_params(const lowering *l, const tir_stmt *body, tir_func *f) {
  const tn_program *p = l->s->program;
  bool packs = l->part == SCHEDULE_PREPACK;
  int most = p->n_args;
  for (int i = 0; i < l->s->n_stages; i++) most += l->s->stages[i].n_tensors;
  f->params = RUNTIME_NEW_ARRAY(l->arena, const tir_buffer *, most + 1);
  if (l->keeps) {
    add_kept(l, f);
    return;
  }
  if (!packs) add_packed(l, f);
  for (int i = 0; i < p->n_inputs; i++) {
    const lower_stage *ls = &l->stages[schedule_stage_of_tensor(l->s, p->args[i])];
    bool is_wanted = !packs && !ls->is_constant;
    const tir_buffer *buffer = ls->scalar ? NULL : ls->buffers[0];
    if (buffer && (is_wanted || tir_stmt_touches(body, buffer))) f->params[f->n_params++] = buffer;
  }
  f->n_inputs = f->n_params;
  if (packs) add_packed(l, f);
  for (int i = p->n_inputs; !packs && i < p->n_args; i++) f->params[f->n_params++] = buffer_of(l, p->args[i]);
  choose_scalars(l, f);
}
