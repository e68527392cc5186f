/* feature_estimate.c: estimates lowered loops on a machine before they are compiled: work, memory and the
 * size of the code. It ranks sketches, which have no plan with a cost of its own, and finds candidates that
 * are not worth compiling: those that compute much more than others, and those that would take LLVM too
 * long. */
#include <assert.h>
#include <math.h>

#include "autotune/feature.h"
#include "schedule/cost.h"
#include "schedule/traffic.h"

/* A store with its loops as they will run on the machine. */
typedef struct body {
  const touch_store *store;
  const tn_machine *machine;
  int depth;                            /* loops that run: one instruction stands for all inside them */
  double lanes, steps;                  /* lanes of the vectorized loops, and the instructions that they take */
  double runs;                          /* how often the statement runs, each time in STEPS instructions */
  double copies;                        /* copies of the statement in straight-line code */
  double operations;                    /* in one run and step */
  bool is_expanded[TOUCH_MAX_LOOPS];    /* whether the loop becomes straight-line code */
  bool in_registers[TOUCH_MAX_BUFFERS]; /* of what the store touches */
} body;

static double bytes_of(const tir_buffer *buffer) { return (double)tn_dtype_bytes(buffer->dtype); }

/* Whether a buffer becomes registers: small local scratch does. */
static bool is_register(const tn_machine *m, const tir_buffer *buffer) {
  if (!buffer->scope || strcmp(buffer->scope, "local") != 0) return false;
  double bytes = bytes_of(buffer);
  for (int i = 0; i < buffer->ndim; ++i) bytes *= (double)buffer->shape[i];
  return bytes <= (double)m->vector_registers * m->vector_bytes;
}

static bool is_in_registers(const body *b, const touch_region *touched) {
  return b->in_registers[touched - b->store->touched];
}

/* Whether the loop indexes an array in registers. A variable cannot do that, so LLVM unrolls such a loop no
 * matter what the schedule says. */
static bool indexes_registers(const body *b, int loop) {
  assert(loop >= 0 && loop < TOUCH_MAX_LOOPS);
  for (int t = 0; t < b->store->n_touched; ++t) {
    const touch_region *touched = &b->store->touched[t];
    if (loop >= touched->alloc_depth && touched->used >> loop & 1 && is_in_registers(b, touched)) return true;
  }
  return false;
}

/* Finds the loops that become straight-line code. It goes from the innermost loop outwards, so that INSIDE
 * is what one iteration would expand to. A peeled loop has its body in the code twice. */
static void expand_loops(body *b) {
  double inside = 1;
  for (int i = b->depth - 1; i >= 0; --i) {
    const touch_loop *loop = &b->store->loops[i];
    if (loop->kind == TIR_VECTORIZED) continue;
    inside *= loop->extent;
    b->runs *= loop->extent;
    bool by_pragma = loop->kind == TIR_SERIAL && inside <= (double)b->store->auto_unroll;
    b->is_expanded[i] = loop->kind == TIR_UNROLLED || by_pragma || indexes_registers(b, i);
    if (b->is_expanded[i]) b->copies *= loop->extent;
    if (loop->peel) b->copies *= 2;
  }
}

/* Fills in how the store runs. A vector's lanes may be no multiple of a register: the last step counts as a
 * whole one. */
static body body_of(const touch_store *store, const tn_machine *m) {
  body b = {.store = store, .machine = m, .depth = store->instruction_depth, .lanes = 1, .runs = 1, .copies = 1};
  for (int i = 0; i < b.depth; ++i) b.lanes *= store->loops[i].kind == TIR_VECTORIZED ? store->loops[i].extent : 1;
  b.steps = ceil(b.lanes * bytes_of(store->buffer) / m->vector_bytes);
  for (int t = 0; t < store->n_touched; ++t) b.in_registers[t] = is_register(m, store->touched[t].buffer);
  expand_loops(&b);
  return b;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* The innermost vectorized loop; -1: none. */
static int vector_loop(const body *b) {
  int loop = b->depth - 1;
  while (loop >= 0 && b->store->loops[loop].kind != TIR_VECTORIZED) --loop;
  return loop;
}

/* Whether the lanes of a vector are not next to each other in memory. */
static bool is_gathered(const body *b, const touch_region *touched) {
  int loop = vector_loop(b);
  return loop >= 0 && touched->used >> loop & 1 && touched->stride[loop] > 1;
}

/* Loads in one run and step. What is read stays in a register for copies that do not move it. */
static double loads_of(const body *b, const touch_region *touched) {
  double share = 1;
  if (is_in_registers(b, touched)) return 0;
  for (int i = 0; i < b->depth; ++i)
    if (b->is_expanded[i] && !(touched->used >> i & 1)) share /= b->store->loops[i].extent;
  return share * (is_gathered(b, touched) ? b->lanes / b->steps : 1);
}

/* Loads over all buffers that the body reads. */
static double all_loads(const body *b) {
  double sum = 0;
  for (int t = 0; t < b->store->n_touched; ++t) sum += loads_of(b, &b->store->touched[t]);
  return sum;
}

/* Whether the operation is the sum of a multiply-add: the product carries the cost, so the sum is free.
 * TIR_MUL is of the same class, hence the first test. */
static bool is_multiply_add(const tir_expr *e) {
  return e->op != TIR_MUL && (e->arg[0]->op == TIR_MUL || e->arg[1]->op == TIR_MUL);
}

/* Instructions that an operation takes: a mathematical function is a polynomial, a division takes long. */
static double instructions_of(const tir_expr *e) {
  switch (tir_class_of(e)) {
    case TIR_CLASS_MATH: return 12;
    case TIR_CLASS_RATIO: return 4;
    case TIR_CLASS_DIVISION: return 8;
    case TIR_CLASS_SUM: return is_multiply_add(e) ? 0 : 1; /* its product counts */
    case TIR_CLASS_EXTREMUM:
    case TIR_CLASS_COMPARISON:
    case TIR_CLASS_MAGNITUDE:
    case TIR_CLASS_BITS:
    case TIR_CLASS_SHIFT:
    case TIR_CLASS_COUNT:
    case TIR_CLASS_TEST:
    case TIR_CLASS_LOGIC:
    case TIR_CLASS_SELECT:
    case TIR_CLASS_CAST:
    case TIR_CLASS_DOT: return 1;
    case TIR_CLASS_CONSTANT:
    case TIR_CLASS_VARIABLE:
    case TIR_CLASS_TENSOR:
    case TIR_CLASS_LOAD:
    case TIR_CLASS_RAMP:
    case TIR_CLASS_BROADCAST: return 0;
  }
  return 0;
}

/* ---- operations: each counted in the innermost loop that it depends on, as LLVM moves it out of the others ---- */

/* A walk over a value's expression. */
typedef struct counting {
  const body *b;
  tir_memo inner; /* by an expression's address: its innermost loop, plus two */
  double sum;
} counting;

/* An expression depends on no loop: LLVM computes it once, before all of them. */
enum { NO_LOOP = -1 };

/* The innermost loop of a bit set; NO_LOOP: it is empty. */
static int innermost(uint64_t loops) { return loops ? 63 - __builtin_clzll(loops) : NO_LOOP; }

/* The innermost loop that a load depends on. What is summed up changes in every iteration, and scratch that
 * is allocated in a loop changes with that loop. */
static int inner_of_load(const body *b, const tir_buffer *buffer) {
  for (int t = 1; t < b->store->n_touched; ++t) {
    const touch_region *touched = &b->store->touched[t];
    if (touched->buffer == buffer) return RUNTIME_MAX(innermost(touched->used), touched->alloc_depth - 1);
  }
  return b->depth - 1;
}

static int inner_of_var(const body *b, const tir_var *var) {
  for (int i = b->depth - 1; i >= 0; --i)
    if (b->store->loops[i].var == var) return i;
  return NO_LOOP;
}

/* The part of the statement's runs and steps in which something is computed that depends on loop INNER and
 * on none inside it. */
static double share_of(const body *b, int inner) {
  double share = 1;
  bool is_scalar = true;
  for (int i = 0; i < b->depth; ++i) {
    bool is_vector = b->store->loops[i].kind == TIR_VECTORIZED;
    if (is_vector && i <= inner) is_scalar = false;
    if (!is_vector && i > inner) share /= b->store->loops[i].extent;
  }
  return is_scalar ? share / b->steps : share;
}

/* Adds the instructions of E and returns the innermost loop that it depends on. Indices and conditions on
 * them count nothing: they are computed for a whole vector, or outside the loop. */
static int add_instructions(counting *c, const tir_expr *e) {
  if (tir_class_of(e) == TIR_CLASS_VARIABLE) return inner_of_var(c->b, e->u.var);
  if (e->op == TIR_LOAD) return inner_of_load(c->b, e->u.buffer);
  if (e->n_args == 0) return NO_LOOP;
  const void *known = tir_memo_get(&c->inner, e);
  if (known) return (int)(intptr_t)known - 2;
  int inner = NO_LOOP;
  bool is_choice_by_index = e->op == TIR_SELECT && !tir_has_op(e->arg[0], TIR_LOAD);
  for (int i = is_choice_by_index; i < e->n_args; ++i) inner = RUNTIME_MAX(inner, add_instructions(c, e->arg[i]));
  if (!is_choice_by_index) c->sum += instructions_of(e) * share_of(c->b, inner);
  tir_memo_put(&c->inner, e, (const void *)(intptr_t)(inner + 2));
  return inner;
}

/* Operations in one run and step. */
static double operations_of(const body *b) {
  counting c = {.b = b};
  if (b->store->instruction_depth < b->store->depth) return 1;
  if (!b->store->value) return 0;
  tir_memo_init(&c.inner);
  (void)add_instructions(&c, b->store->value);
  tir_memo_end(&c.inner);
  return c.sum;
}

/* Nanoseconds of the chain of sums, each of which waits for the one before it. There are as many chains as
 * accumulators in a copy. */
static double chain_ns(const body *b) {
  const touch_region *sums = &b->store->touched[0];
  double chains = b->steps;
  if (!sums->is_read) return 0;
  for (int i = 0; i < b->depth; ++i)
    if (b->is_expanded[i] && sums->used >> i & 1) chains *= b->store->loops[i].extent;
  bool is_moving = b->depth > 0 && sums->used >> (b->depth - 1) & 1;
  return is_moving && !is_in_registers(b, sums) ? 0 : b->machine->costs.chain / chains;
}

/* Nanoseconds of computing: the largest of arithmetic, loads and the latency of the sums. They overlap in
 * the pipeline, so they are not added. */
static double compute_ns(const body *b) {
  const tn_machine *m = b->machine;
  int width = b->lanes > 1 ? m->vector_bytes : (int)bytes_of(b->store->buffer);
  double step = fmax(b->operations * cost_fma(m, width), all_loads(b) * m->costs.load);
  return b->runs * b->steps * fmax(step, chain_ns(b));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Nanoseconds of moving data: the bytes into each cache, times what a line costs there beyond its cost at
 * the next nearer level. So a line from memory counts at every level, but only with the difference. */
static double memory_ns(const touch_program *p, const body *b, bool is_shared) {
  double ns = 0, nearer = 0;
  for (int cache = 1; cache < 4; ++cache) {
    double bytes = 0, line = cost_line(b->machine, cache + 1, is_shared);
    int level = touch_loop_in_cache(p, b->store, b->machine, cache);
    for (int t = 0; t < b->store->n_touched; ++t)
      if (!is_in_registers(b, &b->store->touched[t])) bytes += touch_bytes_into(b->store, &b->store->touched[t], level);
    ns += bytes / COST_LINE * fmax(line - nearer, 0);
    nearer = line;
  }
  return ns;
}

/* Statements that LLVM handles in place of one. A vector that is shorter than a register and no power of
 * two (10 floats of 16) is taken apart and put together again, which takes LLVM as long as four whole ones. */
static double pieces_of(const body *b) {
  bool is_whole = b->steps > 1 || exp2(round(log2(b->lanes))) == b->lanes;
  return is_whole ? b->steps : 4;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Parts that threads can share: nested parallel loops multiply. More parts than cores only mean smaller
 * ones, which cost_threads takes into account. */
static double parts_of(const touch_store *store) {
  double parts = 1;
  for (int i = 0; i < store->depth; ++i) parts *= store->loops[i].kind == TIR_PARALLEL ? store->loops[i].extent : 1;
  return parts;
}

void feature_estimate(const touch_program *p, const tn_machine *machine, autotune_estimate *out) {
  *out = (autotune_estimate){0};
  for (int i = 0; i < p->n_stores; ++i) {
    body b = body_of(&p->stores[i], machine);
    b.operations = operations_of(&b);
    double parts = parts_of(b.store);
    double ns = cost_overlap(compute_ns(&b), memory_ns(p, &b, parts > 1));
    double instructions = b.copies * (b.operations + all_loads(&b) + 1);
    out->code += instructions * b.steps;
    out->words += instructions * b.lanes;
    out->work += b.runs * b.steps * (b.operations + all_loads(&b));
    out->statements += b.copies * pieces_of(&b);
    out->ns += cost_threads(machine, ns, parts);
  }
}
