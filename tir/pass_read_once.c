/* pass_read_once.c: sums that were written out go on in the order in which they read, so that what several of them read is loaded once.
 * A filter that computes some rows together reads each row of its input for several of them:
 *
 *     T0 += X[0] * w0; T1 += X[1] * w0; T2 += X[2] * w0; T0 += X[1] * w1; T1 += X[2] * w1; T2 += X[3] * w1
 *  -> T0 += X[0] * w0; T1 += X[1] * w0; T0 += X[1] * w1; T2 += X[2] * w0; T1 += X[2] * w1; T2 += X[3] * w1
 *
 * Each sum takes its terms in the same order as before. Where all that is between two uses fits the registers nothing changes. */
#include <stdlib.h>
#include "tir/linear.h"
#include "tir/passes.h"

enum {
  MAX_UPDATES = 1024,
  MAX_VALUES = 512,
  MAX_FORMS = 16,
  MAX_READS = 3,
  LEAST_UPDATES = 8,
  LEAST_FREE = 2,
  NONE = -1
};

/* Loads of BUFFER whose indices differ by constants. */
typedef struct form {
  const tir_buffer *buffer;
  tir_linear index; /* of the first lane, its constant apart */
  int64_t stride;   /* from lane to lane */
  int lanes;
  int group;            /* the first form of the same buffer, whose rows may lie in a ring */
  int n_values, n_uses; /* of a group's first form: of all */
} form;

/* One of them. */
typedef struct value {
  int form;
  int64_t at; /* the constant */
  int registers;
  int next;      /* the update that reads it next; as many as there are: none */
  bool is_held;  /* in registers */
  int n_earlier; /* steps from values that some sum reads right before it, which have no rank yet */
  int rank;      /* in the order of reading; NONE: it has none yet */
} value;

/* T[PLACE] = T[PLACE] combined with what it reads; the place is a constant. */
typedef struct update {
  const tir_stmt *stmt;
  int64_t place;
  int lanes;
  int n_reads, reads[MAX_READS]; /* values */
  int next[MAX_READS];           /* the next update that reads the same */
  int key;                       /* what decides about its rank in the other order: one of its values */
  int before;                    /* the update of the same place before it; NONE: it is the first */
  int rank, turn;                /* in the other order and in the given one */
} update;

/* Updates in a row. */
typedef struct updates {
  const tir_pass_options *options;
  bool failed; /* there are too many, or something is not of a form that is known here */
  int n, n_forms, n_values;
  form forms[MAX_FORMS];
  value values[MAX_VALUES];
  update all[MAX_UPDATES], ordered[MAX_UPDATES];
} updates;

/* ---- what is read ------------------------------------------------------------------------------------------------ */

static int registers_of(const updates *u, tn_dtype dtype, int lanes) {
  int bytes = lanes * (int)tn_dtype_bytes(dtype);
  return RUNTIME_MAX((bytes + u->options->vector_bytes - 1) / u->options->vector_bytes, 1);
}

/* NONE: there are too many. */
static int find_form(updates *u, const form *wanted) {
  for (int i = 0; i < u->n_forms; i++) {
    const form *f = &u->forms[i];
    bool is_same = f->buffer == wanted->buffer && f->stride == wanted->stride && f->lanes == wanted->lanes;
    if (is_same && tir_linear_same_terms(&f->index, &wanted->index)) return i;
  }
  if (u->n_forms == MAX_FORMS) return NONE;
  form *f = &u->forms[u->n_forms];
  *f = *wanted;
  f->group = u->n_forms;
  for (int i = u->n_forms - 1; i >= 0; i--) {
    const form *other = &u->forms[i];
    if (other->buffer == f->buffer && other->stride == f->stride && other->lanes == f->lanes) f->group = other->group;
  }
  return u->n_forms++;
}

static int find_value(updates *u, int in_form, int64_t at, int registers) {
  for (int i = 0; i < u->n_values; i++)
    if (u->values[i].form == in_form && u->values[i].at == at) return i;
  if (u->n_values == MAX_VALUES) return NONE;
  u->values[u->n_values] = (value){.form = in_form, .at = at, .registers = registers};
  u->forms[u->forms[in_form].group].n_values++;
  return u->n_values++;
}

/* A load of one lane, or of lanes at equal distances. */
static tir_walk add_read(void *user, const tir_expr *e) {
  updates *u = user;
  update *now = &u->all[u->n];
  if (e->op != TIR_LOAD || e->u.buffer == now->stmt->u.store.buffer)
    return e->op == TIR_LOAD ? TIR_WALK_PRUNE : TIR_WALK_ON;
  bool is_ramp = e->arg[0]->op == TIR_RAMP;
  const tir_expr *first = is_ramp ? e->arg[0]->arg[0] : e->arg[0];
  form wanted = {.buffer = e->u.buffer, .stride = is_ramp ? e->arg[0]->u.i : 0, .lanes = e->lanes};
  tir_linear_zero(&wanted.index);
  bool is_known = tir_n_index(e) == 1 && tir_predicate(e) == NULL && first->lanes == 1 &&
                  tir_linear_add_expr(&wanted.index, first, 1) && now->n_reads < MAX_READS;
  int64_t at = wanted.index.constant;
  wanted.index.constant = 0;
  int f = is_known ? find_form(u, &wanted) : NONE;
  int v = f >= 0 ? find_value(u, f, at, registers_of(u, (tn_dtype)e->dtype, e->lanes)) : NONE;
  u->failed |= v < 0;
  if (v < 0) return TIR_WALK_STOP;
  for (int i = 0; i < now->n_reads; i++)
    if (now->reads[i] == v) return TIR_WALK_PRUNE;
  now->reads[now->n_reads++] = v;
  u->forms[u->forms[f].group].n_uses++;
  return TIR_WALK_PRUNE;
}

/* ---- what is updated --------------------------------------------------------------------------------------------- */

typedef struct own_reads {
  const tir_stmt *stmt;
  int n;
  bool others; /* it reads its buffer elsewhere, too */
} own_reads;

static tir_walk note_own(void *user, const tir_expr *e) {
  own_reads *own = user;
  if (e->op != TIR_LOAD || e->u.buffer != own->stmt->u.store.buffer) return TIR_WALK_ON;
  own->n++;
  own->others |= e->has_predicate || !tir_equal(e->arg[0], own->stmt->u.store.index[0]);
  return TIR_WALK_ON;
}

/* An update of a place in a small buffer of BUFFER, or, where that is NULL, of any. */
static bool is_update(const tir_stmt *s, const tir_buffer *buffer) {
  int64_t place;
  if (s->kind != TIR_STORE || s->u.store.n_index != 1 || s->u.store.predicate != NULL) return false;
  const tir_buffer *to = s->u.store.buffer;
  const tir_expr *index = s->u.store.index[0];
  if ((buffer != NULL && to != buffer) || strcmp(to->scope, "local") != 0) return false;
  const tir_expr *first = index->op == TIR_RAMP && index->u.i == 1 ? index->arg[0] : index;
  own_reads own = {.stmt = s};
  if (first->lanes != 1 || !tir_is_int(first, &place)) return false;
  tir_walk_expr(s->u.store.value, note_own, &own);
  return own.n > 0 && !own.others;
}

/* Appends S. Places that overlap are the same. */
static void add_update(updates *u, const tir_stmt *s) {
  const tir_expr *index = s->u.store.index[0];
  update *now = &u->all[u->n];
  *now = (update){.stmt = s, .lanes = index->lanes, .turn = u->n, .before = NONE};
  tir_is_int(index->op == TIR_RAMP ? index->arg[0] : index, &now->place);
  for (int i = 0; i < u->n; i++) {
    const update *other = &u->all[i];
    bool overlaps = now->place < other->place + other->lanes && other->place < now->place + now->lanes;
    u->failed |= overlaps && (now->place != other->place || now->lanes != other->lanes);
    if (overlaps) now->before = i;
  }
  tir_walk_expr(s->u.store.value, add_read, u);
  u->n++;
}

/* ---- what an order costs ----------------------------------------------------------------------------------------- */

/* Registers that the sums leave. */
static int free_registers(const updates *u) {
  int taken = 0;
  for (int i = 0; i < u->n; i++) {
    bool is_first = true;
    for (int k = 0; k < i && is_first; k++) is_first = u->all[k].place != u->all[i].place;
    if (is_first) taken += registers_of(u, u->all[i].stmt->u.store.buffer->dtype, u->all[i].lanes);
  }
  return RUNTIME_MAX(u->options->vector_registers - taken, LEAST_FREE);
}

/* Of the values that are held and that update AT does not read the one that is needed last. */
static value *farthest(updates *u, int at) {
  value *found = NULL;
  for (int i = 0; i < u->n_values; i++) {
    value *v = &u->values[i];
    if (v->is_held && v->next != at && (found == NULL || v->next > found->next)) found = v;
  }
  return found;
}

/* Registers that are loaded where the updates come in ORDER and what is needed last makes room. */
static int loads_of(updates *u, update *order, int room) {
  int loads = 0;
  for (int i = 0; i < u->n_values; i++) u->values[i].next = u->n, u->values[i].is_held = false;
  for (int i = u->n - 1; i >= 0; i--)
    for (int k = 0; k < order[i].n_reads; k++) {
      value *v = &u->values[order[i].reads[k]];
      order[i].next[k] = v->next, v->next = i;
    }
  for (int i = 0; i < u->n; i++) {
    for (int k = 0; k < order[i].n_reads; k++) {
      value *v = &u->values[order[i].reads[k]], *out;
      if (!v->is_held) loads += v->registers, room -= v->registers, v->is_held = true;
      while (room < 0 && (out = farthest(u, i)) != NULL) out->is_held = false, room += out->registers;
    }
    for (int k = 0; k < order[i].n_reads; k++) {
      value *v = &u->values[order[i].reads[k]];
      v->next = order[i].next[k];
      if (v->next == u->n && v->is_held) v->is_held = false, room += v->registers;
    }
  }
  return loads;
}

/* ---- another order ----------------------------------------------------------------------------------------------- */

/* The buffer of which most values are shared: its first form. NONE: of none they are. */
static int widest_group(const updates *u) {
  int found = NONE;
  for (int i = 0; i < u->n_forms; i++) {
    const form *f = &u->forms[i];
    bool is_shared = f->group == i && f->n_values < f->n_uses;
    if (is_shared && (found == NONE || f->n_values > u->forms[found].n_values)) found = i;
  }
  return found;
}

/* The value of a group that each update reads first. False: one reads none. */
static bool find_keys(updates *u, int group) {
  for (int i = 0; i < u->n_values; i++) u->values[i].n_earlier = 0, u->values[i].rank = NONE;
  for (int i = 0; i < u->n; i++) {
    update *now = &u->all[i];
    now->key = NONE;
    for (int k = now->n_reads - 1; k >= 0; k--)
      if (u->forms[u->values[now->reads[k]].form].group == group) now->key = now->reads[k];
    if (now->key == NONE) return false;
    if (now->before != NONE && u->all[now->before].key != now->key) u->values[now->key].n_earlier++;
  }
  return true;
}

/* Takes value V in turn: what is read right after it waits no longer. */
static void give_rank(updates *u, int v, int rank) {
  u->values[v].rank = rank;
  for (int i = 0; i < u->n; i++) {
    const update *now = &u->all[i];
    if (now->before != NONE && u->all[now->before].key == v && now->key != v) u->values[now->key].n_earlier--;
  }
}

static int compare_ranks(const void *a, const void *b) {
  const update *x = a, *y = b;
  return x->rank != y->rank ? x->rank - y->rank : x->turn - y->turn;
}

/* Sorts by the values of a group, in an order in which each sum reads its own one after the other. False: there is no such order. */
static bool order_by(updates *u, int group) {
  if (!find_keys(u, group)) return false;
  for (int rank = 0; rank < u->forms[group].n_values; rank++) {
    int next = NONE;
    for (int i = 0; i < u->n && next == NONE; i++) {
      const value *v = &u->values[u->all[i].key];
      if (v->rank == NONE && v->n_earlier == 0) next = u->all[i].key;
    }
    if (next == NONE) break; /* the rest is no update's first */
    give_rank(u, next, rank);
  }
  for (int i = 0; i < u->n; i++)
    if ((u->all[i].rank = u->values[u->all[i].key].rank) == NONE) return false;
  memcpy(u->ordered, u->all, sizeof *u->all * (size_t)u->n);
  qsort(u->ordered, (size_t)u->n, sizeof *u->ordered, compare_ranks);
  return true;
}

/* Whether another order, which is in ordered then, loads less. */
static bool finds_order(updates *u) {
  int group = u->failed ? NONE : widest_group(u);
  if (group == NONE || !order_by(u, group)) return false;
  int room = free_registers(u);
  return loads_of(u, u->ordered, room) < loads_of(u, u->all, room);
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* The context, and what is known of the updates that are looked at: made where there are any. */
typedef struct place {
  const tir_pass_options *options;
  runtime_arena *arena;
  updates *u;
} place;

/* How many of the N statements are updates of one buffer in a row. */
static int count_updates(int n, const tir_stmt *const *stmts) {
  int count = 0;
  while (count < n && is_update(stmts[count], count > 0 ? stmts[0]->u.store.buffer : NULL)) count++;
  return count;
}

/* False: as they stand, they are as good as any. */
static bool orders(place *at, int n, const tir_stmt *const *stmts) {
  if (n < LEAST_UPDATES || n > MAX_UPDATES) return false;
  if (at->u == NULL && (at->u = RUNTIME_NEW(at->arena, updates)) == NULL) return false;
  updates *u = at->u;
  u->options = at->options, u->failed = false;
  u->n = u->n_forms = u->n_values = 0;
  for (int i = 0; i < n && !u->failed; i++) add_update(u, stmts[i]);
  return finds_order(u);
}

static const tir_stmt *with_orders(place *at, const tir_stmt *s) {
  const tir_stmt **stmts = NULL;
  for (int i = 0, n; i < s->u.seq.n; i += RUNTIME_MAX(n, 1)) {
    n = count_updates(s->u.seq.n - i, s->u.seq.stmts + i);
    if (!orders(at, n, s->u.seq.stmts + i)) continue;
    if (stmts == NULL) stmts = runtime_copy(at->arena, s->u.seq.stmts, sizeof *stmts * (size_t)s->u.seq.n);
    if (stmts == NULL) return NULL;
    for (int k = 0; k < n; k++) stmts[i + k] = at->u->ordered[k].stmt;
  }
  return stmts != NULL ? tir_seq(at->arena, s->u.seq.n, stmts) : s;
}

static const tir_stmt *look_at(void *user, const tir_stmt *s) {
  place *at = user;
  s = tir_map_children(at->arena, s, look_at, at);
  return s != NULL && s->kind == TIR_SEQ && s->u.seq.n >= LEAST_UPDATES ? with_orders(at, s) : s;
}

/* Requires: flatten, vectorize, unroll. Establishes: updates of a small buffer's places that stand in a row come in the order in which
 * they read, where that is fewer loads. Breaks: nothing. */
tir_func *tir_pass_read_once(tir_pass_context *p, tir_func *f) {
  tir_pass_options own = p->options;
  if (own.vector_bytes == 0) own.vector_bytes = 64;
  if (own.vector_registers == 0) own.vector_registers = 32;
  return tir_func_with_body(p, f, look_at(&(place){&own, p->arena, NULL}, f->body));
}
