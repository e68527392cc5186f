/* tile_facts.c: what the family `tile` finds out about a group: which axes vectors and rows go along, which operands can be
 * copied, and how, dot products, what loops of some lengths read. */
#include "schedule/cost.h"
#include "schedule/tile.h"

enum { LEAST_REUSE = 8 /* rows that make a packed copy worth a thought; where nothing goes without one, 2 do */ };

/* ---- what the group is ------------------------------------------------------------------------------------------- */

/* Whether neighbours along the axis read the same element. */
static bool is_reused_along(const generic_read *read, const generic_reads *r, int axis) {
  return r->extent[axis] > 1 && read->is_known[axis] && read->stride[axis] == 0 && read->block[axis] == 0;
}

/* How many neighbours along the axis read the same element: all, a block (heads of a group, which share keys and values), or one. */
static int64_t sharing(const generic_read *read, const generic_reads *r, int axis) {
  if (is_reused_along(read, r, axis)) return r->extent[axis];
  bool is_block = read->is_known[axis] && read->stride[axis] == 0 && read->block[axis] > 1;
  return is_block ? RUNTIME_MIN(read->block[axis], r->extent[axis]) : 1;
}

/* How often each element is used, over the data axes. */
static double reuse(const generic_read *read, const generic_reads *r) {
  double n = 1;
  for (int a = 0; a < r->n_data; a++) n *= (double)sharing(read, r, a);
  return n;
}

/* ... and over the reduction, as of x[i] * a[i,j] * x[j]. */
static double uses(const generic_read *read, const generic_reads *r) {
  double n = reuse(read, r);
  for (int a = r->n_data; a < r->n_axes; a++) n *= (double)sharing(read, r, a);
  return n;
}

/* How many reads there are of a tensor. */
int tile_reads_of(const generic_reads *r, const tn_tensor *tensor) {
  int n = 0;
  for (int i = 0; i < r->n; i++) n += r->reads[i].tensor == tensor;
  return n;
}

/* All reads of a tensor go to the copy, whose panels cut dimension DIM: what each of them reads there may only change from tile
 * to tile, not from step to step of the reduction. */
static bool can_share_panels(const generic_reads *r, const tn_tensor *tensor, int dim) {
  bool can = true;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    can &= read->tensor != tensor || (read->plain[dim] >= 0 && read->plain[dim] < r->n_data);
  }
  return can;
}

/* A copy in panels is possible, and each element of it is used LEAST times. Panels cut an axis: of a window that goes on by a few elements
 * steps stand beside each other that belong to several of them. */
static bool can_be_packed(const generic_draft *d, const generic_reads *r, const generic_read *read, int v,
                          double least) {
  int dim = read->dim[v];
  if (read->is_window && read->stride[v] > 1 && read->stride[v] <= COST_MOST_APART) return false;
  if (generic_stage(d, read->tensor) < 0 || read->overlaps || dim < 0 || read->tensor->ndim >= TN_MAX_RANK)
    return false;
  if (tile_reads_of(r, read->tensor) > 1 && !can_share_panels(r, read->tensor, dim)) return false;
  return uses(read, r) >= least;
}

/* The axis of rows: along it some of what is loaded as vectors stays the same. The last before BEFORE; -1: none. */
static int row_axis(const tile_facts *f, int before) {
  const generic_reads *r = &f->reads;
  for (int a = before - 1; a >= 0; a--) {
    for (int i = 0; i < r->n && !tile_parity_of(f, a); i++)
      if ((!r->reads[i].is_known[f->v] || r->reads[i].stride[f->v]) && sharing(&r->reads[i], r, a) > 1 &&
          !(f->turn && generic_grain(r, a)))
        return a;
  }
  return -1;
}

/* Rows that share what is read block by block of axis U: what they are of divides this. 0: they share all of it, or nothing. */
static int64_t rows_of_block(const generic_reads *r, int u) {
  int64_t block = 0;
  for (int i = 0; u >= 0 && i < r->n; i++) {
    int64_t other = r->reads[i].is_known[u] && r->reads[i].stride[u] == 0 ? r->reads[i].block[u] : 0;
    for (int64_t rest; other > 0 && block > 0; block = rest) rest = other % block, other = block; /* Euclid */
    block = RUNTIME_MAX(block, other);
  }
  return block;
}

/* Rows that share nothing, of which each is where a loaded number says: one after the other they wait for their own sums. The last data axis
 * that moves such a read; -1: none. */
static int row_axis_of_gather(const tile_facts *f) {
  const generic_reads *r = &f->reads;
  for (int a = f->v - 1; a >= 0; a--)
    for (int i = 0; i < r->n && r->extent[a] > 1; i++)
      if (r->reads[i].stride[f->v] == 1 && !r->reads[i].is_known[a]) return a;
  return -1;
}

/* More rows along an axis that shares only what all lanes do: of use where the rows are fewer than registers. */
static int more_rows_axis(const tile_facts *f) {
  const generic_reads *r = &f->reads;
  int axis = f->u < 0 ? -1 : row_axis(f, f->u);
  for (int a = f->u - 1; axis < 0 && a >= 0 && f->n_parities > 0; a--)
    for (int i = 0; i < r->n && !tile_parity_of(f, a); i++)
      if (is_reused_along(&r->reads[i], r, a)) axis = a;
  return axis;
}

/* The operand that all rows share, or that a single one has. -1: none. */
static int shared_read(const tile_facts *f) {
  const generic_reads *r = &f->reads;
  for (int i = 0; i < r->n; i++)
    if (r->reads[i].stride[f->v] && (f->u < 0 || sharing(&r->reads[i], r, f->u) > 1)) return i;
  return -1;
}

/* The operand that all lanes share and each row has its own part of, where a copy of it in panels of rows is possible and used
 * often enough. -1: none. */
static int left_read(const generic_draft *d, const tile_facts *f) {
  const generic_reads *r = &f->reads;
  if (f->u < 0 || f->n_parities > 0 || r->n_axes == r->n_data) return -1;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    int dim = read->dim[f->u];
    bool can = is_reused_along(read, r, f->v) && read->is_known[f->u] && read->stride[f->u] != 0 && dim >= 0 &&
               read->plain[dim] == f->u && !read->overlaps && !read->is_window && read->tensor->ndim < TN_MAX_RANK;
    if (can && tile_reads_of(r, read->tensor) == 1 && generic_stage(d, read->tensor) >= 0 &&
        reuse(read, r) >= LEAST_REUSE)
      return i;
  }
  return -1;
}

/* What goes on by a few elements along the vectors: shuffles bring its lanes together, for all rows at once. */
static void describe_apart(tile_facts *f, int at) {
  int64_t stride = f->reads.reads[at].stride[f->v];
  f->apart[at] = stride > 1 && stride <= COST_MOST_APART ? (int)stride : 0;
}

/* A window of halves that all lanes share: each step would convert what its rows read; a copy of it is of floats
 * (tir/pass_widen_copies.c). -1: none. */
static int window_of_halves(const generic_draft *d, const tile_facts *f) {
  const generic_reads *r = &f->reads;
  for (int i = 0; i < r->n && f->u >= 0 && r->op->outputs[0].dtype == TN_F32; i++) {
    const generic_read *read = &r->reads[i];
    bool is_half = read->tensor->dtype == TN_F16 || read->tensor->dtype == TN_BF16;
    if (is_half && read->is_window && is_reused_along(read, r, f->v) && tile_reads_of(r, read->tensor) == 1 &&
        generic_stage(d, read->tensor) >= 0 && reuse(read, r) >= LEAST_REUSE)
      return i;
  }
  return -1;
}

/* Reads along the vectors: with stride 0 or 1, windows with a small one, which have no packed copy, and those of at most one tensor with
 * another, which is used again. */
static bool describe_reads(tile_facts *f, bool *all_along) {
  const generic_reads *r = &f->reads;
  bool along = false, reused = false;
  *all_along = true;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[f->v] || (read->block[f->v] && read->stride[f->v])) return false;
    describe_apart(f, i);
    bool stays = f->apart[i] > 0 && (read->is_window || reuse(read, r) < 2);
    bool is_far = read->stride[f->v] != 0 && read->stride[f->v] != 1 && !stays;
    bool is_other = f->far >= 0 && r->reads[f->far].tensor != read->tensor;
    if (is_far && (is_other || uses(read, r) < 2)) return false;
    if (is_far && f->far < 0) f->far = i;
    f->block = RUNTIME_MAX(f->block, read->block[f->v]);
    along |= read->stride[f->v] != 0;
    *all_along &= read->stride[f->v] != 0;
    reused |= reuse(read, r) > 1;
    f->is_window |= read->is_window;
  }
  return along && reused && r->extent[f->v] > 1;
}

/* A copy with the axis last is possible. */
static bool can_be_turned(const generic_draft *d, const generic_reads *r, const generic_read *read, int axis) {
  int dim = read->dim[axis];
  return tile_reads_of(r, read->tensor) == 1 && !read->overlaps && dim >= 0 && read->plain[dim] == axis &&
         generic_stage(d, read->tensor) >= 0;
}

/* Vectors go along rows that are no whole number of lines apart. */
static bool has_rows_askew(const generic_reads *r, const generic_read *read, int v) {
  bool is_askew = false;
  for (int a = 0; a < r->n_axes; a++) {
    int64_t bytes = read->stride[a] * (int64_t)tn_dtype_bytes(read->tensor->dtype);
    is_askew |= a != v && read->is_known[a] && r->extent[a] > 1 && bytes % COST_LINE != 0;
  }
  return is_askew && read->is_known[v] && read->stride[v] == 1;
}

/* Where rows along the last reduction axis begin, those of the read TURNED in its copy. */
static void describe_lane_rows(tile_facts *f, int turned) {
  const generic_reads *r = &f->reads;
  int k = r->n_axes - 1;
  for (int i = 0; i < r->n; i++) {
    int64_t copied = r->extent[k] * (int64_t)tn_dtype_bytes(r->reads[i].tensor->dtype);
    f->is_lane_askew[i] = i == turned ? copied % COST_LINE != 0 : has_rows_askew(r, &r->reads[i], k);
  }
}

/* Every read goes along the last reduction axis, or one of them after it was turned. */
static void describe_lanes(const generic_draft *d, tile_facts *f) {
  const generic_reads *r = &f->reads;
  int k = r->n_axes - 1;
  bool along = false;
  f->turned = -1;
  if (k < r->n_data || r->n_data == TN_MAX_RANK || f->block || !tn_dtype_is_float(r->op->outputs[0].dtype)) return;
  if (r->extent[k] < 2 * f->machine.vector_bytes / f->bytes) return;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[k] || read->block[k]) return;
    along |= read->stride[k] == 1;
    if (read->stride[k] == 0 || read->stride[k] == 1) continue;
    if (f->turned >= 0 || !can_be_turned(d, r, read, k)) return;
    f->turned = i;
  }
  f->can_lane = along;
  describe_lane_rows(f, f->turned);
}

bool tile_beside_shuffles(const tile_facts *f, int read) {
  const generic_read *r = &f->reads.reads[read];
  return r->stride[f->v] != 0 || r->stride[f->reads.n_axes - 1] > 1;
}

bool tile_goes_beside(const tile_facts *f, int64_t steps) {
  const generic_reads *r = &f->reads;
  int k = r->n_axes - 1;
  int64_t columns = r->extent[f->v], lanes = columns * steps, most = f->machine.vector_bytes / f->bytes;
  bool is_plain = k >= r->n_data && f->v == r->n_data - 1 && !f->block && !f->is_depthwise && f->n_parities == 0;
  if (!is_plain || f->far >= 0 || r->n_data == TN_MAX_RANK || !tn_dtype_is_float(r->op->outputs[0].dtype)) return false;
  if (columns < 2 || lanes > most || r->extent[k] < 2 * steps) return false;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    int64_t along = read->stride[f->v], across = read->stride[k];
    if (!read->is_known[f->v] || !read->is_known[k] || read->block[f->v] || read->block[k]) return false;
    if (along < 0 || along > 1 || across < 0 || (steps - 1) * across + along * (columns - 1) >= most) return false;
  }
  return true;
}

/* Whether vectors can go along AXIS, which is not the last one: what is read goes along it as it lies, but for MOST_FAR operands, which
 * lie along the reduction, and whose copy is turned. */
static bool can_go_across(const generic_reads *r, int axis, int most_far) {
  int n_far = 0;
  bool along = false;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    bool is_near = read->stride[axis] == 0 || read->stride[axis] == 1;
    bool is_beside = read->stride[axis] > 1 && read->stride[axis] <= COST_MOST_APART;
    bool is_far =
        !is_near && r->n_axes > r->n_data && (read->stride[r->n_axes - 1] == 1 || is_beside) && reuse(read, r) >= 2;
    n_far += is_far ? 1 : 0;
    if (!read->is_known[axis] || read->block[axis] || !(is_near || is_far)) return false;
    int dim = read->dim[axis];
    if (read->is_window && read->stride[axis] != 0 && (dim < 0 || read->plain[dim] != axis)) return false;
    along |= read->stride[axis] != 0;
  }
  return along && n_far <= most_far;
}

/* Whether neighbours along the last data axis read nobody knows what: transposed convolutions of planes, rows that end where they
 * begin. */
static bool scatters_lanes(const generic_reads *r) {
  for (int i = 0; i < r->n; i++)
    if (!r->reads[i].is_known[r->n_data - 1]) return true;
  return false;
}

/* The last axis that vectors can go along and that no condition asks for; the last of all: none. */
static int axis_of_no_condition(const generic_reads *r, int64_t lanes) {
  const tir_expr *where = tir_reduce_where(r->op->body);
  for (int a = r->n_data - 2; a >= 0; a--) {
    bool is_asked = where && tir_uses_var(where, &r->op->axes[a]->var);
    if (r->extent[a] >= lanes && !is_asked && can_go_across(r, a, 1)) return a;
  }
  return r->n_data - 1;
}

/* Where the last data axis has fewer elements than a vector, vectors go along another one, if that fills some: the one before it, where one
 * operand may be far: of integers, whose sums are in no lanes, and where the results of vectors are put between each other
 * (codegen/emit_weave.c); or any one, where results that are stored one by one are little beside what is summed up, as channels of small
 * images in planes. */
static int vector_axis(const tile_facts *f, const tn_tensor *sums) {
  enum { MOST_WOVEN = 4, LITTLE = 4 };
  const generic_reads *r = &f->reads;
  int last = r->n_data - 1;
  int64_t lanes = f->machine.vector_bytes / (int64_t)tn_dtype_bytes(sums->dtype);
  bool is_woven = r->extent[last] <= MOST_WOVEN;
  if (scatters_lanes(r)) return axis_of_no_condition(r, lanes);
  if (last < 1 || r->extent[last] >= lanes || tir_reduce_where(r->op->body)) return last;
  if (r->extent[last - 1] >= 2 * lanes && can_go_across(r, last - 1, is_woven || !tn_dtype_is_float(sums->dtype)))
    return last - 1;
  double steps = 1, step = cost_fma(&f->machine, f->machine.vector_bytes) / (double)lanes;
  for (int a = r->n_data; a < r->n_axes; a++) steps *= (double)r->extent[a];
  bool has_lanes = r->extent[r->n_axes - 1] >= 2 * lanes; /* along the reduction */
  for (int a = has_lanes ? last - 2 : last - 1; a >= 0 && steps * step > LITTLE * f->machine.costs.gather; a--)
    if (r->extent[a] >= lanes && can_go_across(r, a, 1)) return a;
  return last;
}

/* False: no reduction of products that vectors can go along. */
static bool describe_stage(const generic_draft *d, int stage, tile_facts *f) {
  generic_reads *r = &f->reads;
  bool all_along;
  *f = (tile_facts){.machine = d->machine, .far = -1, .shared = -1, .u = -1, .u2 = -1, .lie_turned = -1, .reduced = 1};
  if (!generic_read_all(d, stage, r) || r->n_data == 0 || r->op->n_outputs > 1 || r->op->body->op != TIR_REDUCE ||
      r->n < 2)
    return false;
  const int64_t lanes = f->machine.vector_bytes / (int64_t)tn_dtype_bytes(r->op->outputs[0].dtype);
  if (!tir_reduce_where(r->op->body)) f->turn = tile_weave_lanes(r, r->n_data - 1, lanes);
  f->v = f->turn ? r->n_data - 1 : vector_axis(f, d->s->stages[stage].tensors);
  f->is_across = f->v != r->n_data - 1;
  if (!describe_reads(f, &all_along)) return false;
  f->is_depthwise = all_along && f->is_window;
  f->bytes = (int64_t)tn_dtype_bytes(d->s->stages[stage].tensors->dtype);
  if (tir_reduce_where(r->op->body)) tile_describe_parities(f, tir_reduce_where(r->op->body));
  for (int a = r->n_data; a < r->n_axes; a++) f->reduced *= (double)r->extent[a];
  describe_lanes(d, f);
  return f->far < 0 || f->can_lane || can_be_packed(d, r, &r->reads[f->far], f->v, 2);
}

/* What decides that a group has an anchor. */
bool generic_is_tileable(const generic_draft *d, int stage, bool *is_window, bool *is_depthwise) {
  tile_facts f;
  bool can = describe_stage(d, stage, &f);
  *is_window = can && f.is_window;
  *is_depthwise = can && f.is_depthwise;
  return can;
}

/* Such a tile needs a packed copy whatever else is chosen. */
bool generic_is_against_the_grain(const generic_draft *d, int stage) {
  tile_facts f;
  return describe_stage(d, stage, &f) && f.far >= 0 && f.apart[f.far] == 0;
}

/* ---- dot products ------------------------------------------------------------------------------------------------ */

/* Whether both operands go along the last reduction axis, one of them after it was turned. */
static bool lies_along(const generic_draft *d, tile_facts *f) {
  const generic_reads *r = &f->reads;
  int k = r->n_axes - 1;
  f->lie_turned = -1;
  for (int i = 0; i < r->n; i++) {
    if (r->reads[i].stride[k] == 1) continue;
    if (f->lie_turned >= 0 || !can_be_turned(d, r, &r->reads[i], k)) return false;
    f->lie_turned = i;
  }
  return true;
}

/* A copy of some rows in the innermost loop is possible: all steps of the reduction count. */
static bool can_be_woven(const generic_draft *d, const generic_reads *r, const generic_read *read) {
  return !tir_reduce_where(r->op->body) && generic_stage(d, read->tensor) >= 0 && read->tensor->ndim < TN_MAX_RANK;
}

/* The reduction's axis whose steps a dot product takes GROUP of at a time: the last or, where READ is a window along that or it is
 * shorter, the first that goes along a dimension of its own. -1: none. */
static int dot_axis(const generic_reads *r, const generic_read *read, int group) {
  int last = r->n_axes - 1;
  for (int i = 0; i <= last - r->n_data; i++) {
    int k = i == 0 ? last : r->n_data + i - 1;
    if (read->dim[k] >= 0 && read->plain[read->dim[k]] == k && r->extent[k] >= group) return k;
  }
  return -1;
}

/* Two operands, one shared by all rows and one by all lanes, whose last reduction axis goes along one dimension. */
static void describe_dot(const generic_draft *d, tile_facts *f) {
  const generic_reads *r = &f->reads;
  if (r->n != 2 || f->shared < 0 || f->block || r->n_axes == r->n_data) return;
  const generic_read *right = &r->reads[f->shared], *left = &r->reads[1 - f->shared];
  const generic_dot *dot = generic_find_dot(left->tensor->dtype, right->tensor->dtype, r->op->outputs[0].dtype);
  int lanes = dot ? generic_dot_lanes(&f->machine, dot) : 0, last = r->n_axes - 1;
  int k = f->dot_axis = lanes >= 8 ? dot_axis(r, right, dot->group) : -1;
  if (k < 0 || left->tensor == right->tensor || left->stride[f->v] != 0) return;
  bool is_turned = left->stride[k] != 1;
  if (is_turned && !can_be_turned(d, r, left, k)) return;
  f->dot = generic_dot_intrin(dot, lanes);
  f->dot_group = dot->group;
  f->dot_turned = is_turned ? 1 - f->shared : -1;
  f->dot_halves = generic_dot_has_halves(&f->machine, dot);
  f->dot_signed = dot->is_signed && !f->dot_halves;
  f->dots_lie = k == last && lies_along(d, f) && !f->dot_halves && lanes == f->machine.vector_bytes / f->bytes &&
                r->extent[k] >= lanes * dot->group;
  if (f->dots_lie && !f->can_lane) describe_lane_rows(f, f->lie_turned);
  bool is_below = right->is_known[f->v] && right->stride[f->v] == 1 && right->dim[f->v] == right->tensor->ndim - 1;
  f->can_weave = is_below && right->dim[k] != right->dim[f->v] && can_be_woven(d, r, right);
  f->dots_across = ((f->can_pack && k == last) || f->can_weave) && r->extent[f->v] >= lanes;
  if (!f->dots_lie && !f->dots_across) f->dot = NULL;
}

/* Whether an iteration of the axis reads something else. */
static bool moves_along(const generic_read *read, int axis) {
  return !read->is_known[axis] || read->stride[axis] != 0 || read->block[axis] != 0;
}

/* Whether axes A and B, which move a window, move it alike, or along one dimension so that some steps of one are a step of the other. */
static bool overlap(const generic_reads *r, const generic_read *read, int a, int b) {
  int64_t one = llabs(read->stride[a]), other = llabs(read->stride[b]);
  if (one == other || one == 0 || other == 0) return read->stride[a] == read->stride[b];
  int near = one < other ? a : b;
  int64_t steps = RUNTIME_MAX(one, other) / RUNTIME_MIN(one, other);
  return read->dim[a] >= 0 && read->dim[a] == read->dim[b] && RUNTIME_MAX(one, other) % RUNTIME_MIN(one, other) == 0 &&
         (read->stride[a] > 0) == (read->stride[b] > 0) && steps <= RUNTIME_MIN(r->extent[near], INT8_MAX);
}

/* The axes that move READ along as A does, A first, as the next group. */
static void add_walk_group(const generic_reads *r, const generic_read *read, int a, tile_walk *w) {
  int first = w->first[w->n], at = first;
  int64_t least = llabs(read->stride[a]);
  w->block[w->n++] = read->is_known[a] && read->stride[a] == 0 ? read->block[a] : 0;
  w->axes[at++] = (int8_t)a;
  for (int b = a + 1; b < r->n_axes && read->is_window; b++)
    if (moves_along(read, b) && overlap(r, read, a, b)) w->axes[at++] = (int8_t)b;
  for (int i = first + 1; i < at; i++) least = RUNTIME_MIN(least, llabs(read->stride[w->axes[i]]));
  for (int i = first; i < at; i++) w->steps[i] = (int8_t)(least > 0 ? llabs(read->stride[w->axes[i]]) / least : 1);
  w->first[w->n] = (int8_t)at;
}

static void describe_walk(const generic_reads *r, const generic_read *read, tile_walk *w) {
  *w = (tile_walk){.bytes = (double)tn_dtype_bytes(read->tensor->dtype), .all = 1};
  for (int k = 0; k < read->tensor->ndim; k++) w->all *= (double)read->tensor->shape[k];
  for (int a = 0; a < r->n_axes; a++) {
    bool is_new = moves_along(read, a);
    if (is_new) w->moving |= UINT32_C(1) << a;
    for (int i = 0; i < w->first[w->n]; i++) is_new &= w->axes[i] != a;
    if (is_new) add_walk_group(r, read, a, w);
  }
}

/* NULL: the group has no anchor, or its stage cannot be a tile. */
/* Whether the index of rows of a read along the vectors is known between limits only. */
static bool limits_rows(const generic_draft *d, int stage, const tile_facts *f) {
  generic_reads inside = f->reads;
  bool limits = false;
  if (f->u < 0 || !generic_read_inside(d, stage, &inside) || inside.n != f->reads.n) return false;
  for (int i = 0; i < inside.n; i++) {
    const generic_read *read = &f->reads.reads[i];
    bool is_known = read->is_known[f->u] || !inside.reads[i].is_known[f->u] || inside.reads[i].stride[f->u] == 0;
    limits |= !is_known && read->stride[f->v] == 1;
  }
  return limits;
}

const void *tile_describe(const generic_draft *d, const generic_group *g) {
  tile_facts *f = g->anchor && g->n_windows == 0 ? RUNTIME_NEW(d->arena, tile_facts) : NULL;
  if (!f || !describe_stage(d, generic_stage(d, g->anchor), f)) return NULL;
  f->u = row_axis(f, f->reads.n_data);
  if (f->u < 0 && f->n_parities == 0) f->u = row_axis_of_gather(f);
  f->u2 = more_rows_axis(f);
  f->rows_block = rows_of_block(&f->reads, f->u);
  f->limits_rows = limits_rows(d, generic_stage(d, g->anchor), f);
  f->shared = f->far >= 0 ? f->far : shared_read(f);
  bool is_float = tn_dtype_is_float(f->reads.op->outputs[0].dtype); /* dot products of integers need a copy */
  int least = f->far >= 0 || !is_float ? 2 : LEAST_REUSE;
  f->can_pack = f->shared >= 0 && can_be_packed(d, &f->reads, &f->reads.reads[f->shared], f->v, least);
  f->left = left_read(d, f);
  if (f->left < 0) f->left = window_of_halves(d, f), f->left_lies = f->left >= 0;
  f->has_root = g->root != g->anchor;
  for (int i = 0; i < f->reads.n; i++) f->is_askew[i] = has_rows_askew(&f->reads, &f->reads.reads[i], f->v);
  for (int i = 0; i < f->reads.n; i++) describe_walk(&f->reads, &f->reads.reads[i], &f->walks[i]);
  f->can_cut = f->shared >= 0 && !f->is_depthwise && f->n_parities == 0 && f->reads.n_data < TN_MAX_RANK;
  f->padding = g->padding;
  f->ns = g->ns;
  describe_dot(d, f);
  return f;
}
