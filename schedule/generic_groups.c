/* generic_groups.c: which stages of a program are computed together: cheap ones are inlined, the others form groups:
 * a root and members inside the loops over axes that they all have; a reduction that uses data again, with what
 * follows it and zeros around its input; chains of stencils. */
#include "schedule/cost.h"
#include "schedule/generic.h"

#include <math.h>

enum { MAX_INLINED_OPS = 400, REUSED = 3, MAX_TAPS = 49 };

/* Operations that a stage of a chain may cost again for each element without further thought. */
static const double little = 2;

/* ---- stencils ---------------------------------------------------------------------------------------------------- */

/* Axes at the end that are shorter than a vector, behind at least two of which the last is longer. */
static int short_axes(const generic_draft *p, const tn_tensor *tensor) {
  int64_t lanes = p->machine.vector_bytes / (int64_t)tn_dtype_bytes(tensor->dtype);
  int n = 0;
  while (n < tensor->ndim && tensor->shape[tensor->ndim - 1 - n] < lanes) n++;
  return n <= tensor->ndim - 2 ? n : 0;
}

/* Every read of TENSOR by the stage goes along its axis COLUMN in dimension DIM, element by element, between limits or without them. */
static bool goes_along(const generic_draft *p, int stage, const tn_tensor *tensor, int column, int dim) {
  generic_reads r;
  int64_t inside = 1;
  if (column < 0 || !generic_read_all(p, stage, &r) || !generic_read_inside(p, stage, &r)) return false;
  for (int d = dim + 1; d < tensor->ndim; d++) inside *= tensor->shape[d];
  for (int i = 0; i < r.n; i++)
    if (r.reads[i].tensor == tensor && (r.reads[i].dim[column] != dim || r.reads[i].stride[column] != inside))
      return false;
  return true;
}

int64_t generic_channels(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  generic_reads r;
  if (!generic_is_computed(st) || st->op->n_outputs != 1 || st->op->n_axes < 3 || short_axes(p, st->tensors) != 1)
    return 0;
  if (!generic_read_all(p, stage, &r) || r.n == 0 || !generic_is_of_reads_inside(p, stage)) return 0;
  int last = r.n_data - 1;
  if (r.extent[last] <= 1 || generic_has_strides(p, stage, &r)) return 0;
  bool joins = generic_joins_by_steps(&r, last, COST_MOST_APART);
  joins = joins || (generic_read_inside(p, stage, &r) && generic_joins_by_steps(&r, last, COST_MOST_APART));
  return joins ? r.extent[last] : 0;
}

/* Two reads of one tensor, or a window's steps. */
static bool has_taps(const generic_reads *r) {
  bool has = r->n_axes > r->n_data;
  for (int i = 0; i < r->n; i++)
    for (int k = 0; k < i; k++) has |= r->reads[k].tensor == r->reads[i].tensor;
  return has;
}

/* DEPTH readers are followed. */
static int trailing_axes(const generic_draft *p, const tn_tensor *tensor, int depth) {
  int stage = generic_stage(p, tensor), readers[SCHEDULE_MAX_STAGES], n = short_axes(p, tensor);
  if (n == 0 || depth == 0 || stage < 0 || !generic_is_computed(&p->s->stages[stage])) return 0;
  int n_readers = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  if (n_readers > RUNTIME_COUNT(readers)) return 0;
  bool all_go = !schedule_is_output(p->s, stage);
  for (int i = 0; all_go && i < n_readers; i++) {
    const tn_tensor *reader = p->s->stages[readers[i]].tensors;
    int column = reader->ndim - 1 - trailing_axes(p, reader, depth - 1);
    all_go = goes_along(p, readers[i], tensor, column, tensor->ndim - 1 - n);
  }
  generic_reads r;
  bool ends = !all_go && generic_channels(p, stage) > 0 && generic_read_all(p, stage, &r);
  return all_go ? n : ends && (schedule_is_output(p->s, stage) || has_taps(&r));
}

int generic_trailing(const generic_draft *p, const tn_tensor *tensor) {
  enum { MAX_DEPTH = 8 };
  return trailing_axes(p, tensor, MAX_DEPTH);
}

/* The stage's axis of columns, by generic_trailing; that of rows stands before it. Below 0: a stage of one axis has no rows. */
static int column_of(const generic_draft *p, const generic_reads *r) {
  return r->n_data - 1 - generic_trailing(p, r->tensor);
}

/* Short axes behind the columns of what is read; those of an input are the reader's. */
static int trailing_of(const generic_draft *p, const generic_reads *r, const generic_read *read) {
  int stage = generic_stage(p, read->tensor);
  bool is_input = stage >= 0 && !generic_is_computed(&p->s->stages[stage]);
  int n = generic_trailing(p, is_input ? r->tensor : read->tensor);
  return RUNTIME_MIN(n, read->tensor->ndim - 1);
}

/* READ goes along the rows and columns of its reader as they lie in memory, up to MOST of them at a step, moved by taps. A reader of
 * one axis has columns alone. */
static bool goes_by_steps(const generic_draft *p, const generic_reads *r, const generic_read *read, int64_t most) {
  int column = column_of(p, r), row = column - 1, last = read->tensor->ndim - 1;
  int64_t inside = 1;
  for (int n = trailing_of(p, r, read); n > 0; n--) inside *= read->tensor->shape[last--];
  for (int a = 0; a < r->n_axes; a++)
    if (!read->is_known[a] || read->block[a]) return false;
  if (last < 0 || read->dim[column] != last) return false;
  int64_t columns = read->stride[column];
  if (columns < inside || columns > most * inside || columns % inside != 0) return false;
  if (row < 0) return true;
  if (last < 1 || read->dim[row] != last - 1) return false;
  int64_t line = inside * read->tensor->shape[last], rows = read->stride[row];
  return rows >= line && rows <= most * line && rows % line == 0;
}

static bool goes_by_taps(const generic_draft *p, const generic_reads *r, const generic_read *read) {
  return goes_by_steps(p, r, read, 1);
}

static bool all_go_by_steps(const generic_draft *p, const generic_reads *r, const tn_tensor *tensor) {
  bool all = true;
  for (int i = 0; all && i < r->n; i++)
    all = r->reads[i].tensor != tensor || goes_by_steps(p, r, &r->reads[i], COST_MOST_APART);
  return all;
}

/* Every read of TENSOR by READER is of a point of the reader's own row and column, or a few times as far on, moved by constants, between
 * limits or without them (what begins anew asks the first tile for the last rows, too). Both have rows, or neither. */
static bool reads_by_steps(const generic_draft *p, const tn_tensor *reader, const tn_tensor *tensor) {
  generic_reads r;
  int stage = generic_stage(p, reader);
  if (!generic_read_all(p, stage, &r) || r.n_data < RUNTIME_MIN(tensor->ndim, 2)) return false;
  if (all_go_by_steps(p, &r, tensor)) return true;
  for (int i = 0; i < r.n; i++)
    if (r.reads[i].tensor == tensor && tir_has_op(r.reads[i].expr, TIR_FLOORMOD)) return false;
  return generic_read_inside(p, stage, &r) && all_go_by_steps(p, &r, tensor);
}

/* Every element that lies along rows and columns is used for one point of the other axes only: no register tile over
 * them would use it again. */
static bool uses_by_taps_only(const generic_draft *p, const generic_reads *r) {
  int column = column_of(p, r), row = column - 1;
  for (int i = 0; row >= 0 && i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (read->is_known[row] && read->is_known[column] && read->stride[row] == 0 && read->stride[column] == 0) continue;
    for (int a = 0; a < row; a++)
      if (r->extent[a] > 1 && read->is_known[a] && read->stride[a] == 0) return false;
  }
  return true;
}

/* A stage of rows and columns, or of columns alone, that reduces no more than a filter's taps. R: what it reads. */
static bool is_of_taps(const generic_draft *p, int stage, generic_reads *r) {
  const te_op *op = p->s->stages[stage].op;
  int64_t steps = 1;
  if (op->kind != TE_COMPUTE || op->n_outputs != 1 || op->n_axes < 1 || !generic_read_all(p, stage, r)) return false;
  for (int a = 0; a < op->n_reduce; a++) steps *= op->reduce_axes[a]->extent;
  return op->n_reduce == 0 || (steps <= MAX_TAPS && uses_by_taps_only(p, r));
}

/* Fewer columns than that are none: they would leave nearly all of a vector empty. */
enum { LEAST_COLUMNS = 4 };

static bool is_stencil(const generic_draft *p, int stage) {
  generic_reads r;
  return is_of_taps(p, stage, &r) && r.extent[column_of(p, &r)] >= RUNTIME_MIN(LEAST_COLUMNS, generic_lanes(p, stage));
}

bool generic_is_interleaved(const generic_draft *p, int stage) {
  generic_reads r;
  if (!is_of_taps(p, stage, &r) || !has_taps(&r)) return false;
  int last = r.n_data - 1;
  return r.extent[last] < generic_lanes(p, stage) && generic_joins(&r, last) && !generic_has_strides(p, stage, &r);
}

/* Windows over pixels of several vectors of channels, that move on by more than one pixel and come from beyond the second cache: a
 * block of channels of some pixels would leave each pixel in the middle, where memory is read best in order. */
static bool is_better_in_order(const generic_draft *p, int stage, const generic_reads *r) {
  int column = column_of(p, r);
  bool steps = false;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!goes_by_steps(p, r, read, COST_MOST_APART)) continue;
    steps |= !goes_by_taps(p, r, read);
    if (read->stride[column] != 1) return false;
    for (int a = r->n_data; a < r->n_axes; a++)
      if (read->dim[a] == read->dim[column]) return false;
  }
  return steps && r->extent[column] > generic_lanes(p, stage) && cost_level(&p->machine, generic_read_bytes(r)) > 2;
}

/* Whether some read is a window that lies in rows and moves on by a few elements, or goes along the columns as nobody knows. */
static bool has_window(const generic_draft *p, const generic_reads *r) {
  bool has = false;
  for (int i = 0; i < r->n; i++) {
    bool goes = r->reads[i].is_window && goes_by_steps(p, r, &r->reads[i], COST_MOST_APART);
    has |= goes || !r->reads[i].is_known[column_of(p, r)];
  }
  return has;
}

/* A filter over windows that lie in rows, and move on by a few elements, between limits or without them. */
static bool is_filter(const generic_draft *p, int stage) {
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || r.n_axes == r.n_data || r.n_data < 2 || !is_stencil(p, stage)) return false;
  bool is = has_window(p, &r) && !is_better_in_order(p, stage, &r);
  return is || (generic_read_inside(p, stage, &r) && has_window(p, &r) && !is_better_in_order(p, stage, &r));
}

/* A stencil without a reduction that reads the same columns of several rows: rows that are computed together share what
 * they load. */
static bool is_of_rows(const generic_draft *p, int stage) {
  generic_reads r;
  int n_rows = 0;
  if (!is_stencil(p, stage) || !generic_read_all(p, stage, &r) || r.n_axes > r.n_data) return false;
  int row = column_of(p, &r) - 1;
  for (int i = 0; row >= 0 && i < r.n; i++) {
    bool goes = goes_by_taps(p, &r, &r.reads[i]);
    for (int k = 0; goes && k < i; k++)
      n_rows += r.reads[k].tensor == r.reads[i].tensor && goes_by_taps(p, &r, &r.reads[k]) &&
                !tir_equal(r.reads[k].expr->arg[r.reads[k].dim[row]], r.reads[i].expr->arg[r.reads[i].dim[row]]);
  }
  return n_rows > 0;
}

/* All that read STAGE are stencils. */
static bool is_read_by_stencils(const generic_draft *p, int stage) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool taps = n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; taps && i < n; i++)
    taps = is_stencil(p, readers[i]) && reads_by_steps(p, p->s->stages[readers[i]].tensors, tensor);
  return taps;
}

/* ---- inlining ---------------------------------------------------------------------------------------------------- */

bool generic_is_computed(const schedule_stage *st) {
  return st->op->kind == TE_COMPUTE && st->attach != SCHEDULE_INLINED;
}

/* Evaluations of the body. */
static double points(const te_op *op) {
  double n = 1;
  for (int a = 0; a < op->n_axes; a++) n *= (double)op->axes[a]->extent;
  for (int a = 0; a < op->n_reduce; a++) n *= (double)op->reduce_axes[a]->extent;
  return n;
}

/* What inlining into its readers would cost. */
typedef struct reuse {
  double reads;                        /* of each element */
  bool by_tile, by_window, by_channel; /* a register tile reads it; a convolution's; a depthwise one's or a pool's */
  int n_readers;
} reuse;

/* Infinite reads where a reader cannot be analysed: then nothing is inlined into it. */
static reuse reuse_of(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int readers[SCHEDULE_MAX_STAGES];
  reuse u = {.n_readers = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers)};
  for (int i = 0; i < u.n_readers; i++) {
    generic_reads r;
    bool window, channel;
    double reads = 0;
    if (!generic_read_all(p, readers[i], &r)) return u.reads = INFINITY, u;
    for (int k = 0; k < r.n; k++) reads += schedule_has_tensor(st, r.reads[k].tensor);
    u.reads += reads * points(r.op) / points(st->op);
    u.by_tile |= generic_is_tileable(p, readers[i], &window, &channel);
    u.by_window |= window && !channel;
    u.by_channel |= channel;
  }
  return u;
}

/* Whether a tile that reads the stage would read vectors with a stride if it were inlined. */
static bool turns_reads(const generic_draft *p, int stage) {
  generic_draft draft = *p;
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  draft.s = tn_schedule_copy(p->s);
  bool turns = !draft.s || schedule_compute_inline(draft.s, stage) != TN_OK;
  for (int i = 0; !turns && i < n; i++) {
    bool window, channel;
    turns =
        generic_is_against_the_grain(&draft, readers[i]) || !generic_is_tileable(&draft, readers[i], &window, &channel);
  }
  tn_schedule_free(draft.s);
  return turns;
}

/* Elements between those that lanes read, the most of all reads of a stage; 0: nothing, or nobody knows. */
static int64_t lanes_apart(const generic_draft *p, int stage) {
  generic_reads r;
  int64_t most = 0;
  if (!generic_read_all(p, stage, &r) || r.n_data == 0) return 0;
  for (int i = 0; i < r.n; i++) {
    int64_t stride;
    if (generic_stride(&r.reads[i], r.n_data - 1, &stride)) most = RUNTIME_MAX(most, llabs(stride));
  }
  return most;
}

/* Whether a reader's lanes would read elements that lie farther apart than those of the stage and of the reader do: of a
 * pyramid's levels, each reads every second element, and two together every fourth. */
static bool draws_lanes_apart(const generic_draft *p, int stage) {
  int64_t own = lanes_apart(p, stage);
  if (own < 2) return false;
  generic_draft draft = *p;
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  draft.s = tn_schedule_copy(p->s);
  bool draws = !draft.s || schedule_compute_inline(draft.s, stage) != TN_OK;
  for (int i = 0; !draws && i < n && i < RUNTIME_COUNT(readers); i++)
    draws = lanes_apart(&draft, readers[i]) > RUNTIME_MAX(own, lanes_apart(p, readers[i]));
  tn_schedule_free(draft.s);
  return draws;
}

/* Values of BYTES that are written once and read once more, from where they have room. */
static double kept_ns(const tn_machine *m, double bytes) {
  int level = cost_level(m, bytes);
  return cost_write(m, bytes, level, false, false) + bytes / COST_LINE * cost_line(m, level, false);
}

/* Of a chain along one row, which is no stencil: whether values that each reader's window takes again and again are better kept, written
 * once and read once more from where they have room. */
static bool is_kept_in_row(const generic_draft *p, int stage) {
  const te_op *op = p->s->stages[stage].op;
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool is_row = op->n_axes == 1 && n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; is_row && i < n; i++) is_row = p->s->stages[readers[i]].op->n_axes == 1;
  double again = is_row ? generic_computed_again(p, stage) : 0, bytes = generic_bytes(op->outputs);
  if (!is_row || again <= little || !isfinite(again)) return false;
  double kept = kept_ns(&p->machine, bytes);
  double ns = again * bytes / p->machine.vector_bytes * cost_fma(&p->machine, p->machine.vector_bytes);
  return ns > kept + p->machine.costs.chain;
}

/* How often a stage reads TENSOR at places that stop at its borders, or begin anew behind them. */
static int n_bordered_reads(const generic_draft *p, int reader, const tn_tensor *tensor) {
  generic_reads r;
  int n = 0, n_bordered = 0;
  if (!generic_read_all(p, reader, &r) || r.n_axes > r.n_data || r.n_data != tensor->ndim) return 0;
  for (int i = 0; i < r.n; i++) {
    bool is_known = true;
    if (r.reads[i].tensor != tensor) continue;
    for (int a = 0; a < r.n_data; a++) is_known &= r.reads[i].is_known[a];
    n++, n_bordered += !is_known;
  }
  return n_bordered > 0 ? n : 0;
}

/* Of stages that are read around each point and stop at borders, which no strip takes: whether its values are better kept, written once
 * and read once more. */
static bool is_kept_with_borders(const generic_draft *p, int stage, double ops) {
  const schedule_stage *st = &p->s->stages[stage];
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  double times = 0, bytes = generic_bytes(st->tensors);
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++) {
    int reads = n_bordered_reads(p, readers[i], st->tensors);
    if (reads == 0) return false;
    times += reads;
  }
  double lanes = (double)generic_lanes(p, stage), fma = cost_fma(&p->machine, p->machine.vector_bytes);
  double kept = kept_ns(&p->machine, bytes);
  return times > 1 && (times - 1) * ops * points(st->op) / lanes * fma > kept;
}

/* Copies nearly always; what is cheap, unless a tile would compute it again and again; what is costly, when it is read
 * once. A filter's padding is inlined where each value is used a few times only. */
static bool wants_inline(const generic_draft *p, int stage, bool spares_chains) {
  const schedule_stage *st = &p->s->stages[stage];
  generic_reads r;
  if (!generic_is_computed(st) || st->op->n_outputs > 1 || st->op->n_reduce > 0 || schedule_is_output(p->s, stage))
    return false;
  if (!generic_read_all(p, stage, &r) || r.ops > MAX_INLINED_OPS) return false;
  reuse u = reuse_of(p, stage);
  const tir_expr *body = generic_body(p, stage);
  bool is_copy = body && body->op == TIR_READ, is_costly = !schedule_is_cheap(st->op);
  bool selects = !body || tir_has_op(body, TIR_SELECT);
  if (is_copy) return !u.by_tile || !turns_reads(p, stage);
  if (is_costly) return u.reads <= 1 && u.n_readers == 1;
  if (draws_lanes_apart(p, stage)) return false;
  if (u.by_window) return false;
  if (spares_chains && is_read_by_stencils(p, stage) && generic_computed_again(p, stage) > little) return false;
  if (is_kept_in_row(p, stage) || is_kept_with_borders(p, stage, r.ops)) return false;
  if (u.by_channel || !u.by_tile) return !selects || u.reads <= 12;
  return u.reads < REUSED;
}

double generic_reads_of_element(const generic_draft *p, int stage) { return reuse_of(p, stage).reads; }

/* Whether a stage that a group has taken reads this one, so that it would have to be computed before. */
static bool is_read_by_taken(const generic_draft *p, const generic_taken *t, int stage) {
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++)
    if (generic_is_taken(t, p->s->stages[readers[i]].tensors)) return true;
  return false;
}

void generic_inline_stages(generic_draft *p, const generic_taken *t) {
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  for (int i = 0; i < p->s->n_stages; i++) {
    if (t && (generic_is_taken(t, p->s->stages[i].tensors) || is_read_by_taken(p, t, i))) continue;
    if (wants_inline(p, i, !t)) (void)schedule_compute_inline(p->s, i);
  }
  runtime_quiet_end(&quiet);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

const int8_t *generic_map_of(const generic_group *g, const tn_tensor *member) {
  for (int i = 0; i < g->n; i++)
    if (g->members[i] == member) return g->maps[i];
  return NULL;
}

/* Windows are computed for strips of the root. */
static bool is_window_of(const generic_group *g, const tn_tensor *tensor) {
  for (int i = 0; i < g->n_windows; i++)
    if (g->windows[i] == tensor) return true;
  return false;
}

/* Whether the stage is in the group already, in any role. */
static bool has(const generic_group *g, const tn_tensor *tensor) {
  return is_window_of(g, tensor) || tensor == g->root || tensor == g->anchor || tensor == g->padding ||
         generic_map_of(g, tensor);
}

/* ONLY NULL: by stages of the group. */
static bool is_read_only_by(const generic_draft *p, const generic_group *g, int stage, const tn_tensor *only) {
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool inside = n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; inside && i < n; i++) {
    const tn_tensor *reader = p->s->stages[readers[i]].tensors;
    inside = only ? reader == only : has(g, reader);
  }
  return inside;
}

/* Follows the reads of one stage of the group: an axis of TENSOR goes along with an axis of the root when every read
 * has it there as it is. MAP: -2: not read yet. */
static void follow_reads(const generic_draft *p, const generic_group *g, const tn_tensor *reader,
                         const tn_tensor *tensor, int8_t *map) {
  const int8_t *of_reader = generic_map_of(g, reader);
  generic_reads r;
  if (!generic_read_all(p, generic_stage(p, reader), &r)) {
    memset(map, -1, TN_MAX_RANK);
    return;
  }
  for (int i = 0; i < r.n; i++) {
    if (r.reads[i].tensor != tensor) continue;
    for (int f = 0; f < g->root->ndim; f++) {
      int axis = of_reader ? of_reader[f] : f, found = -1;
      for (int d = 0; axis >= 0 && d < tensor->ndim; d++)
        if (r.reads[i].plain[d] == axis) found = d;
      map[f] = (int8_t)(map[f] == -2 || map[f] == found ? found : -1);
    }
  }
}

/* An axis of the member for each of the root's, where all readers agree; else -1. */
static void map_axes(const generic_draft *p, const generic_group *g, const tn_tensor *tensor, int8_t *map) {
  memset(map, -2, TN_MAX_RANK);
  follow_reads(p, g, g->root, tensor, map);
  for (int i = 0; i < g->n; i++) follow_reads(p, g, g->members[i], tensor, map);
  for (int f = 0; f < TN_MAX_RANK; f++) map[f] = map[f] == -2 ? -1 : map[f];
}

/* Whether a stage of the group, or its root, reads TENSOR. */
static bool is_read_by_group(const generic_draft *p, const generic_group *g, const tn_tensor *tensor) {
  int readers[SCHEDULE_MAX_STAGES], stage = generic_stage(p, tensor);
  int n = stage < 0 ? 0 : schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++)
    if (has(g, p->s->stages[readers[i]].tensors)) return true;
  return false;
}

/* Sums along rows, many for each iteration of the COMMON loops, of what nobody else in the group reads (the scores of an attention's
 * row): several of them go together in loops of their own, and their results are few beside what they read. MAP: as map_axes says. */
static bool is_better_alone(const generic_draft *p, const generic_group *g, int stage, const bool *common,
                            const int8_t *map) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  generic_reads r;
  bool many = generic_row_axis(p, stage) >= 0;
  for (int f = 0; f < g->root->ndim; f++) many &= !common[f] || map[f] != tensor->ndim - 1;
  if (!many || tensor->ndim == 0 || !generic_read_all(p, stage, &r) || r.extent[r.n_data - 1] == 1) return false;
  for (int i = 0; i < r.n; i++)
    if (is_read_by_group(p, g, r.reads[i].tensor)) return false;
  return true;
}

/* The root's axis that an index is made of; -1: none, or no axis alone. *BY as in generic_unfold. */
static int unfolded_axis(const te_op *root, const tir_expr *index, int64_t *by) {
  const tir_expr *var = index;
  *by = 0;
  if (index->op == TIR_FLOORDIV || index->op == TIR_FLOORMOD) {
    if (!tir_is_int(index->arg[1], by) || *by < 2) return -1;
    var = index->arg[0];
    if (index->op == TIR_FLOORMOD) *by = -*by;
  }
  for (int a = 0; a < root->n_axes; a++)
    if (var->op == TIR_VAR && var->u.var == &root->axes[a]->var) return a;
  return -1;
}

/* The dimension of what is READ that goes along with blocks of the axis OF of the root, BY elements each (0: of any axis but the last; both
 * are set then); -1: there is none. READER: the member that reads it; -1: the root. */
static int block_dim(const generic_group *g, const te_op *op, const generic_read *read, int reader, int *of,
                     int64_t *by) {
  for (int d = 0; d < read->tensor->ndim; d++) {
    int64_t block = *by;
    int axis = reader < 0 ? unfolded_axis(op, read->expr->arg[d], &block) : *of;
    bool is =
        reader < 0 ? axis >= 0 && block > 1 : g->block_maps[reader] >= 0 && read->plain[d] == g->block_maps[reader];
    if (!is || axis + 1 >= g->root->ndim || read->tensor->shape[d] * block != g->root->shape[axis]) continue;
    if (*by > 0 && (axis != *of || block != *by)) continue;
    *of = axis, *by = block;
    return d;
  }
  return -1;
}

/* The axis of TENSOR that all which read it in the group have by blocks of the root's axis *OF, *BY elements each. -1: there is none. */
static int block_axis(const generic_draft *p, const generic_group *g, const tn_tensor *tensor, int *of, int64_t *by) {
  int found = -1;
  for (int m = -1; m < g->n; m++) {
    generic_reads r;
    if (!generic_read_all(p, generic_stage(p, m < 0 ? g->root : g->members[m]), &r)) return -1;
    for (int i = 0; i < r.n; i++) {
      if (r.reads[i].tensor != tensor) continue;
      int dim = block_dim(g, r.op, &r.reads[i], m, of, by);
      if (dim < 0 || (found >= 0 && dim != found)) return -1;
      found = dim;
    }
  }
  return found;
}

/* Whether a sum down the columns that the COMMON loops go along reads more for one vector of them than the second cache holds: what is read
 * next finds nothing of it there. On its own it reads whole rows, which threads share. */
static bool leaves_nothing(const generic_draft *p, const generic_group *g, int stage, const bool *common,
                           double iterations) {
  generic_reads r;
  int last = g->root->ndim - 1;
  bool by_columns = last >= 0 && common[last] && g->root->shape[last] > 1;
  bool down = by_columns && generic_read_all(p, stage, &r) && r.n_axes > r.n_data;
  double lanes = (double)generic_lanes(p, stage);
  return down && cost_level(&p->machine, generic_read_bytes(&r) / fmax(iterations / lanes, 1)) > 2;
}

/* Computes TENSOR inside the root's loops over the axes that all share, if those are enough for the threads. */
static bool join_rows(const generic_draft *p, generic_group *g, int stage, double ns) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  bool common[TN_MAX_RANK];
  int8_t map[TN_MAX_RANK];
  double iterations = 1;
  int n_common = 0;
  map_axes(p, g, tensor, map);
  for (int f = 0; f < g->root->ndim; f++) {
    common[f] = g->is_common[f] && map[f] >= 0 && tensor->shape[map[f]] == g->root->shape[f];
    iterations *= common[f] ? (double)g->root->shape[f] : 1;
    n_common += common[f];
  }
  int blocked = g->blocked, block_map = -1;
  int64_t block = g->block;
  if (g->n == 0 || g->block > 0) block_map = block_axis(p, g, tensor, &blocked, &block);
  if (n_common == 0) { /* by blocks or not at all: sums along rows */
    if (block_map < 0 || generic_row_axis(p, stage) < 0) return false;
    iterations = (double)(g->root->shape[blocked] / block);
  }
  bool is_enough = iterations >= 2 * p->machine.threads || !generic_is_worth_threads(p, g->ns + ns);
  if (!is_enough || g->n == GENERIC_MAX_STAGES) return false;
  if (is_better_alone(p, g, stage, common, map) || leaves_nothing(p, g, stage, common, iterations)) return false;
  g->blocked = blocked, g->block = block_map >= 0 ? block : 0;
  g->block_maps[g->n] = (int8_t)block_map;
  memcpy(g->is_common, common, sizeof common);
  memcpy(g->maps[g->n], map, sizeof map);
  g->members[g->n++] = tensor;
  return true;
}

/* Whether all indices together go over the root's axis, each element once: the axis itself, or quotient and rest. */
static bool goes_over(const generic_unfold *u, const tn_tensor *anchor, int axis, int64_t extent) {
  int64_t by = 0, product = 1;
  int n = 0;
  for (int d = 0; d < anchor->ndim; d++) {
    if (u->axis[d] != axis) continue;
    if (n > 0 && (by == 0 || u->by[d] != -by)) return false;
    if (u->by[d] < 0 && anchor->shape[d] != -u->by[d]) return false;
    by = u->by[d];
    product *= anchor->shape[d];
    n++;
  }
  return n <= 2 && product == extent && (n == 2) == (by != 0);
}

/* The only read of ANCHOR, whose elements each are one of the root's. */
static bool unfold(const generic_draft *p, const generic_reads *root, const tn_tensor *anchor, generic_unfold *out) {
  const generic_read *read = NULL;
  int n = 0;
  for (int i = 0; i < root->n; i++)
    if (root->reads[i].tensor == anchor) read = &root->reads[i], n++;
  if (n != 1 || root->n_axes > root->n_data || p->s->stages[generic_stage(p, anchor)].n_tensors != 1) return false;
  out->is_some = true;
  for (int d = 0; d < anchor->ndim; d++) {
    out->axis[d] = (int8_t)unfolded_axis(root->op, read->expr->arg[d], &out->by[d]);
    if (out->axis[d] < 0) return false;
  }
  for (int a = 0; a < root->n_data; a++)
    if (!goes_over(out, anchor, a, root->extent[a])) return false;
  return true;
}

/* Whether a tile of STAGE can be finished in the root's loops. Where vectors would be stored element by element there
 * has to be more work for each. */
static bool unfolds_into_root(const generic_draft *p, generic_group *g, int stage) {
  enum { WORTH_SCATTER = 64 };
  const te_op *op = p->s->stages[stage].op;
  int readers[2], last = op->n_axes - 1;
  generic_reads r;
  double steps = 1;
  if (schedule_consumers(p->s, stage, true, 2, readers) != 1 || readers[0] != generic_stage(p, g->root)) return false;
  if (!generic_read_all(p, readers[0], &r) || last < 0 || !unfold(p, &r, op->outputs, &g->unfold)) return false;
  for (int a = 0; a < op->n_reduce; a++) steps *= (double)op->reduce_axes[a]->extent;
  bool is_row = g->unfold.axis[last] == r.n_data - 1 && g->unfold.by[last] <= 0;
  return is_row || steps >= WORTH_SCATTER;
}

/* A tileable stage whose values the root takes, each once. */
static bool ends_in_root(const generic_draft *p, generic_group *g, int stage) {
  if (g->anchor || g->n > 0) return false;
  if (schedule_elementwise_consumer(p->s, stage) == generic_stage(p, g->root)) return true;
  if (unfolds_into_root(p, g, stage)) return true;
  g->unfold = (generic_unfold){0};
  return false;
}

/* Whether STAGE, which only stages of the group read, is computed with them. */
static bool join(const generic_draft *p, generic_group *g, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  bool window, channel, tileable = generic_is_tileable(p, stage, &window, &channel);
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || generic_is_interleaved(p, stage)) return false;
  double ns = generic_cost_ns(p, &r);
  if (tileable && ends_in_root(p, g, stage)) {
    g->anchor = st->tensors;
    g->ns += ns;
    return true;
  }
  if (tileable) return false;
  if (g->anchor) {
    if (g->padding || st->op->n_reduce > 0 || !is_read_only_by(p, g, stage, g->anchor)) return false;
    if (!generic_is_contiguous(&r, r.n_data - 1)) return false; /* a transpose is a group of its own */
    g->padding = st->tensors;
    return true;
  }
  bool joined = join_rows(p, g, stage, ns);
  if (joined) g->ns += ns;
  return joined;
}

/* Nothing was done to the stage. */
bool generic_is_untouched(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  bool same = st->attach == SCHEDULE_ROOT && st->n_relations == 0 && !st->layout && st->align_factor == 0;
  for (int i = 0; same && i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    same = st->leaves[i] == i && axis->annotation == SCHEDULE_NONE && axis->unroll_step < 0;
  }
  return same;
}

bool generic_is_taken(const generic_taken *t, const tn_tensor *tensor) {
  for (int i = 0; i < t->tensors.n; i++)
    if (t->tensors.data[i] == tensor) return true;
  return false;
}

bool generic_take_group(generic_taken *t, const generic_group *g) {
  bool ok = RUNTIME_PUSH(&t->tensors, g->root);
  for (int i = 0; ok && i < g->n; i++) ok = RUNTIME_PUSH(&t->tensors, g->members[i]);
  if (ok && g->anchor) ok = RUNTIME_PUSH(&t->tensors, g->anchor);
  if (ok && g->padding) ok = RUNTIME_PUSH(&t->tensors, g->padding);
  for (int i = 0; ok && i < g->n_windows; i++) ok = RUNTIME_PUSH(&t->tensors, g->windows[i]);
  return ok;
}

/* May join a group: computed, no output, not in another group, nothing done to it. T: NULL: there are no other
 * groups. */
static bool is_free(const generic_draft *p, int stage, const generic_taken *t) {
  const schedule_stage *st = &p->s->stages[stage];
  if (!generic_is_computed(st) || schedule_is_output(p->s, stage) || !generic_is_untouched(p, stage)) return false;
  return !t || !generic_is_taken(t, st->tensors);
}

void generic_form_group(const generic_draft *p, int stage, const generic_taken *t, generic_group *g) {
  bool window, channel;
  generic_reads r;
  *g = (generic_group){.root = p->s->stages[stage].tensors};
  for (int f = 0; f < g->root->ndim; f++) g->is_common[f] = true;
  if (!generic_read_all(p, stage, &r)) return;
  g->ns = generic_cost_ns(p, &r);
  g->is_chain = generic_is_interleaved(p, stage) && is_filter(p, stage);
  if (generic_is_interleaved(p, stage)) return;
  if (generic_is_tileable(p, stage, &window, &channel)) g->anchor = g->root;
  for (int i = stage - 1; i >= 0 && !g->anchor; i--) /* products first: sums of rows or columns would keep them out */
    if (is_free(p, i, t) && generic_is_tileable(p, i, &window, &channel) && is_read_only_by(p, g, i, NULL))
      (void)join(p, g, i);
  for (int i = stage - 1; i >= 0; i--) {
    if (!is_free(p, i, t) || g->anchor == p->s->stages[i].tensors) continue;
    if (is_read_only_by(p, g, i, NULL)) (void)join(p, g, i);
  }
  g->is_chain = g->n == 0 && !g->padding && is_filter(p, stage); /* it may be a tile of registers, too */
}

/* ---- chains of stencils ------------------------------------------------------------------------------------------ */

/* Whether the stage may join the chain: all its readers are in the group and read it by steps. A stage with more
 * readers than fit the list does not. */
static bool all_read_by_steps(const generic_draft *p, const generic_group *g, int stage) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  bool taps = n > 0 && n <= RUNTIME_COUNT(readers);
  for (int i = 0; taps && i < n; i++) {
    const tn_tensor *reader = p->s->stages[readers[i]].tensors;
    taps = has(g, reader) && reads_by_steps(p, reader, tensor);
  }
  return taps;
}

/* All that read TENSOR are the root or members, at their own point. */
static bool is_point_member(const generic_draft *p, const generic_group *g, const tn_tensor *tensor, int8_t *map) {
  int readers[SCHEDULE_MAX_STAGES], stage = generic_stage(p, tensor);
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++)
    if (is_window_of(g, p->s->stages[readers[i]].tensors)) return false;
  map_axes(p, g, tensor, map);
  for (int f = 0; f < g->root->ndim; f++)
    if (map[f] != f || tensor->shape[f] != g->root->shape[f]) return false;
  return tensor->ndim == g->root->ndim;
}

/* An axis of the root that READER or what it reads of the chain does not have as it is, is no common one. */
static void keep_common(const generic_draft *p, generic_group *g, const tn_tensor *reader, const tn_tensor *tensor) {
  generic_reads r;
  bool is_read = generic_read_all(p, generic_stage(p, reader), &r);
  for (int i = 0; is_read && i < r.n; i++)
    for (int f = 0; r.reads[i].tensor == tensor && f < g->root->ndim - 2; f++)
      g->is_common[f] &= tensor->ndim == g->root->ndim && reader->ndim == g->root->ndim && r.reads[i].plain[f] == f;
}

/* Stays out when a rule does not hold; nothing is undone. */
static void join_chain(const generic_draft *p, generic_group *g, int stage) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  int8_t map[TN_MAX_RANK];
  generic_reads r;
  if (!is_stencil(p, stage) || !generic_read_all(p, stage, &r) || !all_read_by_steps(p, g, stage)) return;
  if (g->n == GENERIC_MAX_STAGES || g->n_windows == GENERIC_MAX_STAGES) return;
  int readers[SCHEDULE_MAX_STAGES];
  int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++) keep_common(p, g, p->s->stages[readers[i]].tensors, tensor);
  g->ns += generic_cost_ns(p, &r);
  if (is_point_member(p, g, tensor, map)) {
    memcpy(g->maps[g->n], map, sizeof map);
    g->members[g->n++] = tensor;
  } else {
    g->windows[g->n_windows++] = tensor;
  }
}

/* Whether all windows are what some axes of the root have no part in, read at its own point: no strip keeps their rows for others, and
 * they are inlined, or stages of their own. */
static bool has_only_broadcasts(const generic_draft *p, const generic_group *g) {
  for (int w = 0; w < g->n_windows; w++) {
    int readers[SCHEDULE_MAX_STAGES], stage = generic_stage(p, g->windows[w]);
    int n = schedule_consumers(p->s, stage, true, RUNTIME_COUNT(readers), readers);
    if (g->windows[w]->ndim >= g->root->ndim || p->s->stages[stage].op->n_reduce > 0) return false;
    for (int i = 0; i < n && i < RUNTIME_COUNT(readers); i++) {
      generic_reads r;
      if (!generic_read_all(p, readers[i], &r) || r.n_axes > r.n_data) return false;
      for (int k = 0; k < r.n; k++)
        for (int d = 0; r.reads[k].tensor == g->windows[w] && d < g->windows[w]->ndim; d++)
          if (r.reads[k].plain[d] < 0) return false;
    }
  }
  return true;
}

/* The stages that STAGE is made from through windows and point by point. False: there is no such chain. */
bool generic_form_strip(const generic_draft *p, int stage, const generic_taken *t, generic_group *g) {
  generic_reads r;
  *g = (generic_group){.root = p->s->stages[stage].tensors};
  if (!is_stencil(p, stage) || !generic_read_all(p, stage, &r)) return false;
  for (int f = 0; f < g->root->ndim; f++) g->is_common[f] = true;
  g->ns = generic_cost_ns(p, &r);
  for (int i = stage - 1; i >= 0; i--)
    if (is_free(p, i, t) && is_read_only_by(p, g, i, NULL)) join_chain(p, g, i);
  g->is_chain = !has_only_broadcasts(p, g) || is_of_rows(p, stage);
  for (int i = 0; i < g->n; i++) g->is_chain |= is_filter(p, generic_stage(p, g->members[i]));
  return g->is_chain;
}
