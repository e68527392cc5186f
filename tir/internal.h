/* internal.h: what the files of tir/ share with each other and with nobody else. */
#ifndef TENON_TIR_INTERNAL_H
#define TENON_TIR_INTERNAL_H

#include "tir/ir.h"

/* ---- dtypes as integer ranges ------------------------------------------------------------------------------------ */

/* Smallest and largest value of an integer dtype (bool: 0, 1). */
extern const tir_interval tir_dtype_ranges[TN_DTYPE_COUNT];
static inline tir_interval tir_dtype_range(tn_dtype dtype) { return tir_dtype_ranges[dtype]; }
/* Value wrapped in two's complement to the dtype (bool: != 0). */
int64_t tir_wrap(tn_dtype dtype, int64_t value);

/* ---- constant folding (fold.c) ----------------------------------------------------------------------------------- */

/* The scalar constant OP makes of scalar constants a and b (b NULL for unary), or NULL when it is not folded. */
const tir_expr *tir_fold(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b);
/* What a comparison of a and b allows the sign of a - b to be; 0: OP is no comparison. */
enum { TIR_LESS = 1, TIR_EQUAL = 2, TIR_MORE = 4 };
int tir_comparison_signs(tir_op op);
/* A scalar constant cast to a dtype. */
const tir_expr *tir_fold_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a);

static inline bool tir_is_const(const tir_expr *e) { return e->op == TIR_INT || e->op == TIR_FLOAT; }
/* The scalar under a broadcast, or E. */
static inline const tir_expr *tir_unbroadcast(const tir_expr *e) { return e->op == TIR_BROADCAST ? e->arg[0] : e; }

/* ---- a map from node to node with a small table on the stack ----------------------------------------------------- */

/* The first entries stand in a list, which is searched: most expressions have a handful of interior nodes, for which a table costs
 * more to clear than a search takes. */
enum { TIR_MEMO_FEW = RUNTIME_SMALL(8, 1), TIR_MEMO_SLOTS = RUNTIME_SMALL(64, 2) };
/* Starts with tir_memo_init, ends with tir_memo_end. When memory runs out entries are lost, which tir_memo_end says. */
typedef struct tir_memo {
  int n_few;
  const void *keys[TIR_MEMO_FEW], *values[TIR_MEMO_FEW];
  runtime_map map; /* all entries but the first ones; no capacity: there are none */
  runtime_map_slot small[TIR_MEMO_SLOTS];
} tir_memo;

static inline void tir_memo_init(tir_memo *memo) {
  memo->n_few = 0;
  memo->map = (runtime_map){0};
}
/* Whether all that was put in stands there. Releases the map. */
static inline bool tir_memo_end(tir_memo *memo) {
  bool is_whole = !memo->map.failed;
  if (memo->map.capacity) runtime_map_free(&memo->map);
  return is_whole;
}
/* The same for who answers with NULL or false: ARENA, in which the answer was made, is out of memory then. */
static inline bool tir_memo_end_for(runtime_arena *arena, tir_memo *memo) {
  bool is_whole = tir_memo_end(memo);
  if (!is_whole) runtime_arena_lacks(arena);
  return is_whole;
}
static inline bool tir_memo_is_empty(const tir_memo *memo) { return memo->n_few == 0; }
/* NULL for a node that is not in, and for one whose entry was lost without memory: to be computed
 * again. */
static inline const void *tir_memo_get(const tir_memo *memo, const void *key) {
  for (int i = 0; i < memo->n_few; i++)
    if (memo->keys[i] == key) return memo->values[i];
  return memo->map.n ? runtime_map_get(&memo->map, key) : NULL;
}

/* KEY is not in. That memory ended is asked once, by tir_memo_end. */
static inline void tir_memo_put(tir_memo *memo, const void *key, const void *value) {
  if (memo->n_few < TIR_MEMO_FEW) {
    memo->keys[memo->n_few] = key;
    memo->values[memo->n_few++] = value;
    return;
  }
  if (!memo->map.capacity) runtime_map_lend(&memo->map, memo->small, TIR_MEMO_SLOTS);
  runtime_map_put(&memo->map, key, value);
}
/* True when KEY was not there yet. */
static inline bool tir_memo_add(tir_memo *memo, const void *key) {
  if (tir_memo_get(memo, key)) return false;
  tir_memo_put(memo, key, key);
  return true;
}

/* ---- statements with other parts (stmt.c): the same pointer when nothing differs --------------------------------- */

typedef const tir_stmt *(*tir_stmt_fn)(void *user, const tir_stmt *s);
typedef const tir_expr *(*tir_expr_fn)(void *user, const tir_expr *e);

/* Applies FN to the direct child statements, or to the expressions that stand in S itself. NULL from FN gives NULL. */
const tir_stmt *tir_map_children(runtime_arena *arena, const tir_stmt *s, tir_stmt_fn fn, void *user);
const tir_stmt *tir_map_exprs(runtime_arena *arena, const tir_stmt *s, tir_expr_fn fn, void *user);
/* A FOR with other bounds and body; var, kind and peel stay. */
const tir_stmt *tir_for_with(runtime_arena *arena, const tir_stmt *s, const tir_expr *min, const tir_expr *extent,
                             const tir_stmt *body);
/* A FOR of another kind. */
const tir_stmt *tir_for_kind(runtime_arena *arena, const tir_stmt *s, tir_loop_kind kind);
/* S itself when nothing differs. */
const tir_stmt *tir_if_with(runtime_arena *arena, const tir_stmt *s, const tir_expr *cond, const tir_stmt *then_body,
                            const tir_stmt *else_body);
/* A FOR, ALLOC or ATTR around another body; tir_body gives the body of one, NULL for other kinds. */
const tir_stmt *tir_with_body(runtime_arena *arena, const tir_stmt *s, const tir_stmt *body);
const tir_stmt *tir_body(const tir_stmt *s);
/* True when S is a FOR whose min and extent are constants. */
bool tir_const_loop(const tir_stmt *s, int64_t *min, int64_t *extent);

/* Of a strided buffer: from its first element to its last, both counted, in the index dtype (expr.c). */
const tir_expr *tir_strided_elements(runtime_arena *arena, tn_dtype index_dtype, const tir_buffer *buffer);

#endif
