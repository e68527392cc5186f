/* feature_row.c: fills one row of features for one written buffer. Each group of the layout is one
 * function. Values are written as they are and go through slog together at the end, which leaves one-hot
 * entries 0 and 1. */
#include <math.h>

#include "autotune/feature.h"

/* What the functions share while they fill a row. */
typedef struct row_state {
  const touch_program *program;
  const touch_store *store; /* of all stores to the buffer, the one that runs most often */
  double line_bytes;
  int n_buffers; /* buffers that have entries */
  double row[FEATURE_COUNT];
} row_state;

/* TVM's slog: log2(1 + |x|) with the sign of x. */
static float slog(double x) { return (float)(x < 0 ? -log2(1 - x) : log2(1 + x)); }

/* Whether X is neither 0 nor 1. Its bits are compared, which is quicker than comparing doubles. */
static bool needs_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits << 1 != 0) & (bits != UINT64_C(0x3ff0000000000000));
}

/* The same of what was asked before in the program, which is most of it: rows are full of the same extents and products. */
static float known_slog(feature_logs *logs, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int slot = (int)(bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FEATURE_LOG_BITS));
  if (logs->of[slot] != x) {
    logs->of[slot] = x;
    logs->log[slot] = slog(x);
  }
  return logs->log[slot];
}

/* Applies slog to N values. Most are 0 or 1, which slog leaves unchanged. The others are found first,
 * without branches, half of which would be predicted wrongly. */
static void slog_all(feature_logs *known, int n, const double *in, float *out) {
  int logs[FEATURE_COUNT], n_logs = 0;
  for (int i = 0; i < n; ++i) {
    out[i] = (float)in[i];
    logs[n_logs] = i;
    n_logs += needs_log(in[i]);
  }
  for (int i = 0; i < n_logs; ++i) out[logs[i]] = known_slog(known, in[logs[i]]);
}

static double bytes_of(const tir_buffer *buffer) { return (double)tn_dtype_bytes(buffer->dtype); }

/* ---- computation ------------------------------------------------------------------------------------------------- */

/* Operations of one evaluation times the number of evaluations, for all stores to the buffer. */
static void fill_math(row_state *r, int first) {
  const touch_program *p = r->program;
  for (int i = first; i < p->n_stores; ++i) {
    if (p->stores[i].buffer != r->store->buffer) continue;
    for (int k = 0; k < TOUCH_N_MATH; ++k) r->row[k] += p->stores[i].math[k] * p->stores[i].outer_prod;
  }
}

/* Whether the loop is no reduction for the buffer: the written elements depend on it, or the buffer is
 * allocated inside it. */
static bool is_spatial(const touch_store *store, int loop) {
  return loop < store->touched[0].alloc_depth || store->touched[0].used >> loop & 1;
}

/* Where a loop stands among the loops of its class, in the order of the one-hot entries. */
typedef enum position {
  NONE,
  INNER_SPATIAL,
  MIDDLE_SPATIAL,
  OUTER_SPATIAL,
  INNER_REDUCE,
  MIDDLE_REDUCE,
  OUTER_REDUCE,
  MIXED
} position;

/* Looks within the loop's own class only: the innermost spatial loop is INNER_SPATIAL even when reductions
 * are inside it. */
static position position_of(const touch_store *store, int loop) {
  bool spatial = is_spatial(store, loop), inner = true, outer = true;
  for (int i = 0; i < store->depth; ++i) {
    if (i == loop || is_spatial(store, i) != spatial) continue;
    *(i > loop ? &inner : &outer) = false;
  }
  return (spatial ? INNER_SPATIAL : INNER_REDUCE) + (inner ? 0 : outer ? 2 : 1);
}

/* Writes the eleven entries of FEATURE_ANNOTATION from AT on, in its order. Without such loops `none` is 1. */
static void fill_annotation(row_state *r, tir_loop_kind kind, feature_index at) {
  const touch_store *store = r->store;
  int num = 0;
  double prod = 1, len = 0;
  position all = NONE;
  for (int i = 0; i < store->depth; ++i) {
    if (store->loops[i].kind != kind) continue;
    position here = position_of(store, i);
    all = num++ == 0 || all == here ? here : MIXED;
    prod *= store->loops[i].extent;
    len = store->loops[i].extent;
  }
  double *out = r->row + at;
  out[0] = num;
  out[1] = num ? prod : 0;
  out[2] = len;
  out[3 + all] = 1;
}

/* There is no GPU: 1 is the extent of a loop that does not exist. The columns are kept so that they are TVM's. */
static void fill_gpu(row_state *r) {
  for (int i = feature_block_x_len; i <= feature_vthread_len; ++i) r->row[i] = 1;
}

/* ---- buffer accesses --------------------------------------------------------------------------------------------- */

/* Whether elements are used again by a loop, by another store after this one, or not at all. */
typedef enum reuse_kind { LOOP_REUSE, SERIAL_REUSE, NO_REUSE } reuse_kind;

/* How elements are used again: ITERATIONS of the loop that does, BYTES that are touched between two uses,
 * COUNT of uses. */
typedef struct reuse {
  reuse_kind kind;
  double iterations, bytes, count;
} reuse;

/* All accesses to one buffer over the whole run of the store. Lines are of LINE_BYTES; the stride is in elements. */
typedef struct access {
  const touch_region *touched;
  double bytes, unique_bytes, lines, unique_lines, stride;
  reuse reuse;
} access;

/* Counts cache lines: the innermost loop that moves through the buffer decides how many of its iterations
 * share a line. */
static void count_lines(const row_state *r, access *a) {
  const touch_store *store = r->store;
  const touch_region *touched = a->touched;
  double element = bytes_of(touched->buffer), ratio = 1;
  int i = store->depth - 1;
  for (; i >= 0 && !(touched->used >> i & 1); --i) ratio *= store->loops[i].extent;
  double step = i >= 0 ? touched->stride[i] : 0;
  a->stride = store->depth == 0 ? 0 : touched->buffer->ndim == 0 ? 1 : i == store->depth - 1 ? step : 0;
  double share = i >= 0 ? RUNTIME_MIN(1, step * element / r->line_bytes) : 0;
  a->lines = RUNTIME_MAX(1, store->outer_prod / ratio * share);
  double run = RUNTIME_MIN(touched->contiguous * element, r->line_bytes);
  a->unique_lines = RUNTIME_MAX(1, a->unique_bytes / run);
}

/* How many stores inside the loop at LEVEL touch the buffer; *LEAST is the least that one of them touches. */
static int touching_stores(const row_state *r, int level, const tir_buffer *buffer, double *least) {
  int id = r->store->loops[level].id, n = 0;
  *least = INFINITY;
  for (int i = 0; i < r->program->n_stores; ++i) {
    const touch_store *other = &r->program->stores[i];
    if (other->depth <= level || other->loops[level].id != id) continue;
    for (int t = 0; t < other->n_touched; ++t) {
      if (other->touched[t].buffer != buffer) continue;
      ++n;
      *least = RUNTIME_MIN(*least, other->touched[t].elements[level]);
    }
  }
  return n;
}

/* Bytes that one iteration of the innermost loop touches, in all stores inside it. */
static double iteration_bytes(const row_state *r) {
  double sum = 0;
  int level = r->store->depth - 1;
  for (int i = 0; i < r->program->n_stores; ++i) {
    const touch_store *other = &r->program->stores[i];
    if (other->depth <= level || other->loops[level].id != r->store->loops[level].id) continue;
    for (int t = 0; t < other->n_touched; ++t) sum += bytes_of(other->touched[t].buffer);
  }
  return sum;
}

/* Finds the nearest reuse: a loop that does not move through the buffer, or another store to it under the
 * same loop. Loops outside the buffer's allocation see a new buffer each time, so the search ends there. */
static reuse find_reuse(const row_state *r, const touch_region *touched) {
  const touch_store *store = r->store;
  double iterations = 1;
  for (int i = store->depth - 1; i >= 0; --i) {
    const touch_loop *loop = &store->loops[i];
    if (i >= touched->alloc_depth && !(touched->used >> i & 1)) {
      double bytes = i == store->depth - 1 ? iteration_bytes(r) : r->program->loop_bytes[store->loops[i + 1].id];
      return (reuse){LOOP_REUSE, iterations, bytes, loop->extent};
    }
    iterations *= loop->extent;
    double least;
    int n = touching_stores(r, i, touched->buffer, &least);
    if (n > 1) {
      double bytes = r->program->loop_bytes[loop->id];
      return (reuse){SERIAL_REUSE, least / loop->extent, bytes / loop->extent, n - 1};
    }
    if (i < touched->alloc_depth) break;
  }
  return (reuse){NO_REUSE, 0, 0, 0};
}

/* Everything that a row says about one buffer, in bytes. */
static access look_at(const row_state *r, const touch_region *touched) {
  double element = bytes_of(touched->buffer);
  access a = {.touched = touched, .bytes = r->store->outer_prod * element};
  a.unique_bytes = touched->elements[0] * element;
  count_lines(r, &a);
  a.reuse = find_reuse(r, touched);
  return a;
}

/* Writes the eighteen entries of FEATURE_BUFFER, in its order. Without a reuse the four entries per reuse
 * are doubled, as TVM does: a value that no reuse can give. */
static void write_access(double *out, const access *a) {
  const touch_region *t = a->touched;
  out[t->is_read && t->is_written ? 2 : t->is_written ? 1 : 0] = 1;
  const double plain[] = {a->bytes, a->unique_bytes, a->lines, a->unique_lines};
  const double count = a->reuse.count;
  memcpy(out + 3, plain, sizeof plain);
  out[7 + a->reuse.kind] = 1;
  out[10] = a->reuse.iterations;
  out[11] = a->reuse.bytes;
  out[12] = count;
  for (int i = 0; i < RUNTIME_COUNT(plain); ++i) out[13 + i] = count > 0.5 ? plain[i] / count : 2 * plain[i];
  out[17] = a->stride;
}

/* The buffer that moves more lines comes first, so that each place of the row means the same in all rows. */
static bool comes_before(const access *a, const access *b) {
  return a->lines != b->lines ? a->lines > b->lines : a->bytes > b->bytes;
}

/* Sorts the buffers and writes their entries; equal ones stay in the order in which the store touches them. */
static void fill_buffers(row_state *r) {
  access sorted[TOUCH_MAX_BUFFERS];
  int n = 0;
  for (int i = 0; i < r->store->n_touched; ++i) {
    access a = look_at(r, &r->store->touched[i]);
    int at = n++;
    for (; at > 0 && comes_before(&a, &sorted[at - 1]); --at) sorted[at] = sorted[at - 1];
    sorted[at] = a;
  }
  r->n_buffers = RUNTIME_MIN(n, FEATURE_BUFFERS);
  for (int i = 0; i < r->n_buffers; ++i) {
    write_access(r->row + feature_b0_read + (ptrdiff_t)FEATURE_PER_BUFFER * i, &sorted[i]);
  }
}

/* ---- arithmetic intensity ---------------------------------------------------------------------------------------- */

/* Bytes that one run of the loops from LEVEL on touches, each buffer counted once. */
static double level_bytes(const touch_store *store, int level) {
  double sum = 0;
  for (int t = 0; t < store->n_touched; ++t)
    sum += store->touched[t].elements[level] * bytes_of(store->touched[t].buffer);
  return sum;
}

/* Operations per byte over the loops from the innermost out, read off at ten equal steps of all operations. */
static void fill_curve(row_state *r) {
  const touch_store *store = r->store;
  double flops = 0;
  for (int i = feature_float_mad; i <= feature_float_otherfunc; ++i)
    flops += store->math[i] * (i == feature_float_mad ? 2 : 1);
  if (flops == 0 || store->depth == 0) return;
  int level = store->depth - 1;
  double ops = flops * store->loops[level].extent, intensity = ops / level_bytes(store, level);
  double ops_inside = 0, intensity_inside = intensity;
  const double total = flops * store->outer_prod;
  for (int point = 0; point < FEATURE_CURVE_POINTS; ++point) {
    double wanted = total * (point + 1) / FEATURE_CURVE_POINTS;
    while (ops < wanted * (1 - 1e-9) && level > 0) {
      ops_inside = ops;
      intensity_inside = intensity;
      ops *= store->loops[--level].extent;
      intensity = ops / level_bytes(store, level);
    }
    double share = ops > ops_inside ? RUNTIME_MIN(1, (wanted - ops_inside) / (ops - ops_inside)) : 1;
    r->row[feature_curve_0 + point] = intensity_inside + (intensity - intensity_inside) * share;
  }
}

/* ---- allocation and outer scope ---------------------------------------------------------------------------------- */

/* The size of the stored buffer, how often it is allocated, and what is outside of the store. */
static void fill_scopes(row_state *r) {
  const touch_store *store = r->store;
  double elements = 1;
  for (int i = 0; i < store->buffer->ndim; ++i) elements *= (double)store->buffer->shape[i];
  r->row[feature_alloc_size] = elements * bytes_of(store->buffer);
  r->row[feature_alloc_prod] = elements * store->alloc_outer_prod;
  r->row[feature_alloc_outer_prod] = store->alloc_outer_prod;
  r->row[feature_alloc_inner_prod] = store->outer_prod / store->alloc_outer_prod;
  r->row[feature_outer_prod] = store->outer_prod;
  r->row[feature_num_loops] = store->depth;
  r->row[feature_auto_unroll_max_step] = (double)store->auto_unroll;
}

/* ---- Tenon's own ------------------------------------------------------------------------------------------------- */

/* The level from which on all loops become straight-line code; the number of loops when none does. */
static int body_level(const touch_store *store) {
  double steps = 1;
  int level = store->depth;
  for (; level > 0; --level) {
    const touch_loop *loop = &store->loops[level - 1];
    bool unrolls =
        loop->kind == TIR_UNROLLED || (loop->kind == TIR_SERIAL && steps * loop->extent <= (double)store->auto_unroll);
    if (loop->kind != TIR_VECTORIZED && !unrolls) break;
    if (loop->kind != TIR_VECTORIZED) steps *= loop->extent;
  }
  return level;
}

/* Fills what a straight-line body computes. A store outside of all expanded loops is a body of one element. */
static void fill_body(row_state *r) {
  const touch_store *store = r->store;
  int level = body_level(store);
  double prod = 1, reduce = 1;
  for (int i = level; i < store->depth; ++i) prod *= store->loops[i].extent;
  for (int i = 0; i < store->depth; ++i) reduce *= is_spatial(store, i) ? 1 : store->loops[i].extent;
  for (int t = 0; t < store->n_touched; ++t) {
    double elements = level < store->depth ? store->touched[t].elements[level] : 1;
    r->row[t == 0 ? feature_body_written : feature_body_read] += elements;
  }
  r->row[feature_body_prod] = prod;
  r->row[feature_reduce_prod] = reduce;
}

/* Features that TVM lacks: local scratch, guards, and the bytes of vectors. */
static void fill_own(row_state *r) {
  const touch_store *store = r->store;
  r->row[feature_is_local] = store->buffer->scope && strcmp(store->buffer->scope, "local") == 0;
  r->row[feature_guards] = store->guards;
  r->row[feature_guard_prod] = store->guard_prod;
  r->row[feature_vec_bytes] = r->row[feature_vec_len] * bytes_of(store->buffer);
  fill_body(r);
}

/* The store to the buffer that runs most often; of equal ones the last, which is the update of a reduction
 * and not its start. */
static const touch_store *most_run(const touch_program *p, int first) {
  const touch_store *best = &p->stores[first];
  for (int i = first + 1; i < p->n_stores; ++i) {
    const touch_store *store = &p->stores[i];
    if (store->buffer == best->buffer && store->outer_prod >= best->outer_prod) best = store;
  }
  return best;
}

/* Applies slog to the row. Entries of buffers that the store does not have become 0. */
static void fill_logs(const row_state *r, feature_logs *logs, float *row) {
  int unused = feature_b0_read + FEATURE_PER_BUFFER * r->n_buffers;
  slog_all(logs, unused, r->row, row);
  memset(row + unused, 0, sizeof *row * (size_t)(feature_curve_0 - unused));
  slog_all(logs, FEATURE_COUNT - feature_curve_0, r->row + feature_curve_0, row + feature_curve_0);
}

void feature_fill_row(const touch_program *p, int first, int cache_line_bytes, feature_logs *logs, float *row) {
  row_state r = {.program = p, .store = most_run(p, first), .line_bytes = RUNTIME_MAX(cache_line_bytes, 1)};
  fill_math(&r, first);
  fill_annotation(&r, TIR_VECTORIZED, feature_vec_num);
  fill_annotation(&r, TIR_UNROLLED, feature_unroll_num);
  fill_annotation(&r, TIR_PARALLEL, feature_parallel_num);
  fill_gpu(&r);
  fill_buffers(&r);
  fill_curve(&r);
  fill_scopes(&r);
  fill_own(&r);
  fill_logs(&r, logs, row);
}
