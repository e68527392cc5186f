/* pass_register_tiles.c: small local buffers that code generation can keep in registers: the loops whose variables
 * index one are marked for expansion, so that all its indices become constants. One loop left serial would keep the
 * whole tile in memory, with a load and a store beside every multiply-add. */
#include <inttypes.h>

#include "tir/passes.h"

enum { MAX_LOOPS = 16, MAX_STATEMENTS = 512, USUAL_REGISTERS = 32, USUAL_VECTOR_BYTES = 64 };

/* What is found out about one local buffer. */
typedef struct tile {
  const tir_buffer *buffer;
  int vector_bytes;
  int n_open; /* the loops between the allocation and here */
  const tir_stmt *open[MAX_LOOPS];
  int n_needed; /* the variables that index the buffer */
  const tir_var *needed[MAX_LOOPS];
  bool possible;     /* all indices can become constants */
  bool accumulates;  /* a store's value reads the buffer */
  int lanes;         /* of all accesses; -1: they differ; 0: none yet */
  int64_t registers; /* that one store, in all its loops, writes; 0: none yet */
} tile;

typedef struct state {
  tir_pass_context *p;
  tir_memo *marked; /* variables of loops to expand */
} state;

/* ---- what indexes the buffer ------------------------------------------------------------------------------------- */

/* Whether VAR indexes the buffer, so that its loop has to be written out. */
static bool needs(const tile *t, const tir_var *var) {
  for (int i = 0; i < t->n_needed; i++) {
    if (t->needed[i] == var) return true;
  }
  return false;
}

/* The open loop of a variable, or NULL: a loop around the allocation. */
static const tir_stmt *open_loop(const tile *t, const tir_var *var) {
  for (int i = t->n_open - 1; i >= 0; i--) {
    if (t->open[i]->u.loop.var == var) return t->open[i];
  }
  return NULL;
}

/* A load inside an index, or a variable from outside, can never become a constant. */
static tir_walk look_at_index(void *user, const tir_expr *e) {
  tile *t = user;
  int64_t min, extent;
  if (e->op == TIR_LOAD) t->possible = false;
  if (e->op != TIR_VAR || needs(t, e->u.var)) return TIR_WALK_ON;
  const tir_stmt *loop = open_loop(t, e->u.var);
  if (loop == NULL || !tir_const_loop(loop, &min, &extent) || loop->u.loop.kind == TIR_PARALLEL ||
      t->n_needed == MAX_LOOPS) {
    t->possible = false;
  } else {
    t->needed[t->n_needed++] = e->u.var;
  }
  return TIR_WALK_ON;
}

/* Accesses of different widths to one element would have to cut registers apart. */
static void look_at_access(tile *t, const tir_expr *index) {
  tir_walk_expr(index, look_at_index, t);
  t->lanes = t->lanes == 0 || t->lanes == index->lanes ? index->lanes : -1;
}

/* A store writes one vector, or some, for every iteration of the loops that index it. */
static void count_registers(tile *t, const tir_expr *index) {
  int64_t min, extent, bytes = index->lanes * (int64_t)tn_dtype_bytes(t->buffer->dtype);
  int64_t n = (bytes + t->vector_bytes - 1) / t->vector_bytes;
  for (int i = 0; i < t->n_open && n <= INT16_MAX; i++) {
    if (tir_const_loop(t->open[i], &min, &extent) && tir_uses_var(index, t->open[i]->u.loop.var)) {
      n *= RUNTIME_MIN(extent, INT16_MAX);
    }
  }
  t->registers = RUNTIME_MAX(t->registers, n);
}

/* Expressions are walked as DAGs: a shared load counts once, which is right for the question. */
static tir_walk look_at_load(void *user, const tir_expr *e) {
  tile *t = user;
  if (e->op != TIR_LOAD || e->u.buffer != t->buffer) return TIR_WALK_ON;
  look_at_access(t, e->arg[0]);
  t->accumulates = true; /* taken back where no store to the buffer is around */
  return TIR_WALK_ON;
}

/* The shape that tir_map_exprs wants; nothing is changed. */
static const tir_expr *look_at_expr(void *user, const tir_expr *e) {
  tir_walk_expr(e, look_at_load, user);
  return e;
}

/* A visit that returns S. MAX_LOOPS bounds the lists, and a deeper nest is given up. */
static const tir_stmt *look_at(void *user, const tir_stmt *s) {
  tile *t = user;
  bool accumulated = t->accumulates;
  if (s->kind == TIR_CALL && tir_call_touches(s, t->buffer)) t->possible = false; /* its address is needed */
  tir_map_exprs(NULL, s, look_at_expr, t);
  if (s->kind == TIR_STORE && s->u.store.buffer == t->buffer) {
    look_at_access(t, s->u.store.index[0]);
    count_registers(t, s->u.store.index[0]);
  } else {
    t->accumulates = accumulated;
  }
  if (s->kind != TIR_FOR) {
    tir_map_children(NULL, s, look_at, t);
    return s;
  }
  if (t->n_open == MAX_LOOPS) {
    t->possible = false;
    return s;
  }
  t->open[t->n_open++] = s;
  tir_map_children(NULL, s, look_at, t);
  t->n_open--;
  return s;
}

/* ---- what it would cost ------------------------------------------------------------------------------------------ */

/* STATEMENTS is the result; COPIES multiplies on the way in. */
typedef struct size {
  const tile *t;
  int64_t copies, statements;
} size;

/* Stores below S once the tile's loops, and those that the user wants unrolled, are expanded. */
static const tir_stmt *add_size(void *user, const tir_stmt *s) {
  size *z = user;
  int64_t min, extent, copies = z->copies;
  if (s->kind == TIR_STORE || s->kind == TIR_CALL) z->statements += copies;
  bool expands = s->kind == TIR_FOR && (s->u.loop.kind == TIR_UNROLLED || needs(z->t, s->u.loop.var));
  if (expands && tir_const_loop(s, &min, &extent)) z->copies *= RUNTIME_MIN(extent, MAX_STATEMENTS + 1);
  if (z->copies <= MAX_STATEMENTS && z->statements <= MAX_STATEMENTS)
    tir_map_children(NULL, s, add_size, z);
  else
    z->statements = MAX_STATEMENTS + 1;
  z->copies = copies;
  return s;
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Only for accumulators: they are in registers or slow, while other local buffers are at home in
 * memory. */
static void warn(state *at, const tile *t) {
  const tir_pass_options *o = &at->p->options;
  if (!t->accumulates) return;
  runtime_say(at->p->ctx, TN_SEVERITY_WARNING,
              "the block \"%s\" takes %" PRId64
              " registers and one more is needed, of %d with %d bytes: it is kept in "
              "memory; a smaller tile is faster",
              t->buffer->name, t->registers, o->vector_registers, o->vector_bytes);
}

/* Registers are counted in vectors of the target. One must stay free for what is multiplied. */
static void settle_tile(state *at, const tir_stmt *alloc) {
  tile t = {.buffer = alloc->u.alloc.buffer, .vector_bytes = at->p->options.vector_bytes, .possible = true};
  look_at(&t, alloc->u.alloc.body);
  if (!t.possible || t.registers == 0) return;
  if (t.lanes < 0 && !t.accumulates) return; /* scalars out of vectors: memory is the better place */
  if (t.registers >= at->p->options.vector_registers) {
    warn(at, &t);
    return;
  }
  size z = {.t = &t, .copies = 1};
  add_size(&z, alloc->u.alloc.body);
  if (z.statements > MAX_STATEMENTS) return;
  for (int i = 0; i < t.n_needed; i++) tir_memo_put(at->marked, t.needed[i], t.needed[i]);
}

/* After flattening every allocation has one dimension; others are the caller's own IR. */
static tir_walk find_tiles(void *user, const tir_stmt *s) {
  if (s->kind == TIR_ALLOC && s->u.alloc.buffer->ndim == 1 && strcmp(s->u.alloc.buffer->scope, "local") == 0) {
    settle_tile(user, s);
  }
  return TIR_WALK_ON;
}

/* Only serial loops: a parallel one cannot be written out, and an unrolled one is already marked. */
static const tir_stmt *mark(void *user, const tir_stmt *s) {
  state *at = user;
  if (s->kind == TIR_FOR && s->u.loop.kind == TIR_SERIAL && tir_memo_get(at->marked, s->u.loop.var) != NULL) {
    s = tir_for_kind(at->p->arena, s, TIR_UNROLLED);
    if (s == NULL) return NULL;
  }
  return tir_map_children(at->p->arena, s, mark, at);
}

/* Requires: flatten, vectorize. Establishes: every serial loop that indexes a local buffer of few registers is marked
 * unrolled, where all of the buffer's indices become constants by that and the code stays short; accumulators that do
 * not fit into the registers are said as a warning. Breaks: nothing. */
tir_func *tir_pass_register_tiles(tir_pass_context *p, tir_func *f) {
  tir_memo marked;
  tir_pass_context own = *p;
  if (own.options.vector_registers == 0) own.options.vector_registers = USUAL_REGISTERS;
  if (own.options.vector_bytes == 0) own.options.vector_bytes = USUAL_VECTOR_BYTES;
  tir_memo_init(&marked);
  state at = {.p = &own, .marked = &marked};
  tir_visitor visitor = {.stmt = find_tiles, .user = &at};
  tir_walk_stmt(f->body, &visitor);
  const tir_stmt *body = !tir_memo_is_empty(&marked) ? mark(&at, f->body) : f->body;
  return tir_func_with_body(p, f, tir_memo_end_for(p->arena, &marked) ? body : NULL);
}
