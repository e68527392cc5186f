/* traffic.c: bytes and launches of loops, from what their stores touch (touch.h). Regions are boxes: of a strided
 * access also the elements between count, since whole lines come in. */
#include "schedule/traffic.h"

#include <math.h>

#include "schedule/cost.h"

enum { LAST_CACHE = 3 };

static double item_bytes(const tir_buffer *buffer) { return (double)tn_dtype_bytes(buffer->dtype); }

int touch_loop_in_cache(const touch_program *p, const touch_store *store, const tn_machine *m, int cache) {
  int level = store->depth;
  while (level > 0 && cost_level(m, p->loop_bytes[store->loops[level - 1].id]) <= cache) --level;
  return level;
}

double touch_bytes_into(const touch_store *store, const touch_region *touched, int level) {
  double bytes = item_bytes(touched->buffer), run = touched->contiguous * bytes, elements = 1;
  if (level < store->depth) elements = touched->elements[level];
  for (int i = touched->alloc_depth; i < level; ++i) elements *= store->loops[i].extent;
  return elements * bytes * (run < COST_LINE ? COST_LINE / run : 1);
}

/* ---- distinct ---------------------------------------------------------------------------------------------------- */

/* The box around all that is read, or written, of a buffer. */
typedef struct box {
  bool is_some;
  touch_hull hull;
} box;

static void add_hull(box *all, const touch_hull *hull, int ndim) {
  for (int d = 0; d < ndim; ++d)
    all->hull.dim[d] = all->is_some ? tir_interval_hull(all->hull.dim[d], hull->dim[d]) : hull->dim[d];
  all->is_some = true;
}

static double box_bytes(const box *b, const tir_buffer *buffer) {
  double n = b->is_some ? item_bytes(buffer) : 0;
  for (int d = 0; d < buffer->ndim && b->is_some; ++d) n *= (double)(b->hull.dim[d].hi - b->hull.dim[d].lo + 1);
  return n;
}

static double buffer_bytes(const tir_buffer *buffer) {
  double all = item_bytes(buffer);
  for (int d = 0; d < buffer->ndim; ++d) all *= (double)buffer->shape[d];
  return all;
}

/* Bytes that come with each byte of a run of so many elements, since whole lines do. */
static double line_factor(const tir_buffer *buffer, double run) {
  return fmax(1, COST_LINE / (run * item_bytes(buffer)));
}

/* What is read after this kernel wrote it is no byte that the kernel needs. Lines come at least once. */
static void add_parameter(const touch_program *p, const tir_buffer *buffer, schedule_traffic *out) {
  box read = {0}, written = {0};
  double factor = 1;
  for (int i = 0; i < p->n_stores; ++i) {
    for (int t = 0; t < p->stores[i].n_touched; ++t) {
      const touch_region *touched = &p->stores[i].touched[t];
      if (touched->buffer != buffer || touched->is_gathered) continue;
      factor = fmax(factor, line_factor(buffer, touched->contiguous));
      if (touched->is_written) add_hull(&written, &touched->all, buffer->ndim);
      if (touched->is_read) add_hull(&read, &touched->all, buffer->ndim);
    }
  }
  out->bytes_written += box_bytes(&written, buffer);
  if (!written.is_some) out->bytes_read += box_bytes(&read, buffer);
  double bytes = box_bytes(written.is_some ? &written : &read, buffer);
  out->bytes_moved += fmax(bytes, fmin(bytes * factor, buffer_bytes(buffer)));
}

/* ---- moved ------------------------------------------------------------------------------------------------------- */

/* The outermost loop around a store; -1: none. */
static int nest_of(const touch_store *store) { return store->depth > 0 ? store->loops[0].id : -1; }

/* An earlier store of the same loops brought the buffer in. */
static bool is_there(const touch_program *p, int store, const tir_buffer *buffer) {
  for (int i = 0; i < store; ++i) {
    if (nest_of(&p->stores[i]) != nest_of(&p->stores[store])) continue;
    for (int t = 0; t < p->stores[i].n_touched; ++t)
      if (p->stores[i].touched[t].buffer == buffer) return true;
  }
  return false;
}

/* How often the runs of the loops from LEVEL on find a region where they left it: loops right around them that are not
 * in its indices bring nothing new. */
static double times_found(const touch_store *store, const touch_region *touched, int level) {
  double times = 1;
  for (int i = level - 1; i >= touched->alloc_depth && !(touched->used >> i & 1); --i) times *= store->loops[i].extent;
  return times;
}

/* Bytes that one run of the loops from LEVEL on brings in: of short runs (a column) whole lines. The loop around them
 * takes what is beside them in these lines where its step is short and the lines stay so long. */
static double bytes_in_lines(const touch_store *store, const touch_region *touched, int level, const tn_machine *m) {
  double bytes = item_bytes(touched->buffer), elements = level < store->depth ? touched->elements[level] : 1;
  double run = level < store->depth ? touched->run[level] : 1, factor = line_factor(touched->buffer, run);
  double step = level > 0 && touched->stride[level - 1] > 0 ? touched->stride[level - 1] * bytes : COST_LINE;
  bool stays = step < COST_LINE && cost_level(m, elements * bytes * factor) <= LAST_CACHE;
  double sum = elements * bytes * (stays ? fmax(1, step / (run * bytes)) : factor);
  for (int i = touched->alloc_depth; i < level; ++i) sum *= store->loops[i].extent;
  return sum;
}

/* Buffers smaller than the cache are not moved at all, unless they are parameters. */
static double moved_by(const touch_program *p, int i, const tn_machine *m) {
  const touch_store *store = &p->stores[i];
  int level = touch_loop_in_cache(p, store, m, LAST_CACHE);
  double sum = 0;
  for (int t = 0; t < store->n_touched; ++t) {
    const touch_region *touched = &store->touched[t];
    bool is_local = touched->alloc_depth > 0 && cost_level(m, buffer_bytes(touched->buffer)) <= LAST_CACHE;
    if (!is_local && !is_there(p, i, touched->buffer))
      sum += bytes_in_lines(store, touched, level, m) / times_found(store, touched, level);
  }
  return sum;
}

/* Bytes of all buffers, each once. */
static double working_set(const touch_program *p) {
  double sum = 0;
  for (int i = 0; i < p->n_stores; ++i) {
    for (int t = 0; t < p->stores[i].n_touched; ++t) {
      const touch_region *touched = &p->stores[i].touched[t];
      bool is_known = false;
      for (int k = 0; k <= i; ++k)
        for (int u = 0; u < (k < i ? p->stores[k].n_touched : t); ++u)
          is_known |= p->stores[k].touched[u].buffer == touched->buffer;
      if (!is_known) sum += touched->elements[0] * item_bytes(touched->buffer);
    }
  }
  return sum;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* The outermost parallel loop; the depth: none. */
static int parallel_loop(const touch_store *store) {
  int i = 0;
  while (i < store->depth && store->loops[i].kind != TIR_PARALLEL) ++i;
  return i;
}

/* Whether an earlier store stands in the same parallel loop, which is started once for both. */
static bool is_counted(const touch_program *p, int store, int id) {
  for (int i = 0; i < store; ++i) {
    int loop = parallel_loop(&p->stores[i]);
    if (loop < p->stores[i].depth && p->stores[i].loops[loop].id == id) return true;
  }
  return false;
}

/* How often the function starts parallel loops; one that stands inside of serial loops is started once an
 * iteration. */
static double count_launches(const touch_program *p) {
  double sum = 0;
  for (int i = 0; i < p->n_stores; ++i) {
    const touch_store *store = &p->stores[i];
    int loop = parallel_loop(store);
    if (loop == store->depth || is_counted(p, i, store->loops[loop].id)) continue;
    double times = 1;
    for (int k = 0; k < loop; ++k) times *= store->loops[k].extent;
    sum += times;
  }
  return sum;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

bool schedule_traffic_of(const tir_func *f, const tn_machine *machine, schedule_traffic *out) {
  touch_program *p = malloc(sizeof *p);
  tn_machine m = cost_fill_machine(machine);
  *out = (schedule_traffic){0};
  if (p == NULL) return false;
  touch_collect(f, p);
  bool is_whole = !p->is_cut;
  for (int i = 0; i < f->n_params; ++i) add_parameter(p, f->params[i], out);
  bool fits = cost_level(&m, working_set(p)) <= LAST_CACHE;
  double moved = 0; /* out->bytes_moved is the least so far: every line once */
  for (int i = 0; i < p->n_stores && !fits; ++i) moved += moved_by(p, i, &m);
  out->bytes_moved = fmax(out->bytes_moved, moved);
  out->launches = count_launches(p);
  free(p);
  if (!is_whole) *out = (schedule_traffic){0};
  return is_whole;
}
