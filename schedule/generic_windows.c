/* generic_windows.c: sums of sliding windows are taken apart where the windows of neighbours share partial sums: those over several axes one
 * axis at a time (rows of a box filter are added up once, in a stage of their own), long ones along an axis into parts of some
 * neighbours. A step of the primitive rfactor_window each, on the draft that a plan is realized on, or on a copy that it is described by. */
#include <math.h>

#include "schedule/generic.h"

/* Which of a stage's axes a window goes along. */
typedef struct shared_window {
  int axis, along; /* in the order of the stage's axes: a reduction axis, a data axis */
} shared_window;

/* Elements of the window of AXIS from one point along ALONG to the next; 0: no read has such a window, INFINITY: not known. */
static double begins_apart(const generic_reads *r, int along, int axis) {
  double apart = 0;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[along] || !read->is_known[axis] || read->block[along] || read->block[axis]) return INFINITY;
    bool is_window = read->is_window && read->stride[along] != 0 && read->stride[axis] != 0;
    if (is_window) apart = fmax(apart, fabs((double)read->stride[along] / (double)read->stride[axis]));
  }
  return apart;
}

/* A window whose partial sums are fewer steps together. The FIRST pairs of axes are left out; the order begins with the last data axis, so that
 * rows are added up before columns, or with the first. Sums over a single axis have nothing to share. */
static bool find_window(const generic_draft *p, int stage, bool rows_last, int first, shared_window *out) {
  generic_reads r;
  double steps = 1;
  if (p->s->stages[stage].op->n_reduce < 2 || !generic_read_all(p, stage, &r)) return false;
  for (int a = r.n_data; a < r.n_axes; a++) steps *= (double)r.extent[a];
  for (int pair = first; pair < r.n_data * (r.n_axes - r.n_data); pair++) {
    int at = pair / (r.n_axes - r.n_data);
    *out = (shared_window){.axis = r.n_axes - 1 - pair % (r.n_axes - r.n_data),
                           .along = rows_last ? at : r.n_data - 1 - at};
    double length = (double)r.extent[out->axis], apart = begins_apart(&r, out->along, out->axis);
    if (apart > 0 && length < steps && fmax(apart, 1) * steps / length + length < steps) return true;
  }
  return false;
}

/* The partial sums that were made. */
typedef struct made_stages {
  int n;
  const tn_tensor *tensors[2 * GENERIC_MAX_STAGES];
} made_stages;

/* False: a primitive refused, or there are too many. */
static bool take_apart(generic_draft *p, int stage, const shared_window *w, int64_t elements, made_stages *made) {
  if (made->n == RUNTIME_COUNT(made->tensors)) return false;
  if (schedule_rfactor_window(p->s, stage, w->axis, w->along, elements) != TN_OK) return false;
  made->tensors[made->n++] = p->s->stages[stage].tensors;
  return true;
}

/* Takes apart what the stage sums up; the partial sums likewise. How many stages that makes, which stand in front of it. */
static int share_stage(generic_draft *p, int stage, bool rows_last, made_stages *made) {
  int n = 0;
  for (int pairs = TN_MAX_RANK * GENERIC_MAX_AXES, at = 0; at < pairs; at++) {
    shared_window w;
    if (!find_window(p, stage, rows_last, at, &w)) break;
    if (take_apart(p, stage, &w, 0, made)) n++, at = -1; /* STAGE is the partial sums' now */
  }
  return n;
}

/* Elements of a part of a window of LENGTH, so that steps over parts and over a part are the fewest; 0: too many to be of use. */
static int64_t best_part(int64_t length) {
  static const double worth = 0.75;
  int64_t best = 0;
  for (int64_t n = 2; n * n <= length; n++)
    if (length % n == 0) best = n;
  return best && (double)(best + length / best) <= worth * (double)length ? best : 0;
}

/* A sum over one axis, whose window begins at each element and is long enough for parts, of so many elements; 0: it is not. */
static int64_t find_part(const generic_draft *p, int stage, shared_window *out) {
  generic_reads r;
  if (p->s->stages[stage].op->n_reduce != 1 || !generic_read_all(p, stage, &r) || r.n_axes != r.n_data + 1) return 0;
  for (int a = r.n_data - 1; a >= 0; a--) {
    *out = (shared_window){.axis = r.n_data, .along = a};
    if (begins_apart(&r, a, r.n_data) == 1) return best_part(r.extent[r.n_data]);
  }
  return 0;
}

/* The stages of a group. */
static int stages_of(const generic_group *g, const tn_tensor **out) {
  int n = 0;
  out[n++] = g->root;
  for (int i = 0; i < g->n; i++) out[n++] = g->members[i];
  for (int i = 0; i < g->n_windows; i++) out[n++] = g->windows[i];
  return n;
}

static bool has_tensor(int n, const tn_tensor *const *tensors, const tn_tensor *tensor) {
  for (int i = 0; i < n; i++)
    if (tensors[i] == tensor) return true;
  return false;
}

/* Whether CHAIN is computed of what G was, N stages, and of all that was made for it. */
static bool is_made_of(const generic_group *chain, int n, const tn_tensor *const *stages, const made_stages *made) {
  const tn_tensor *all[1 + 2 * GENERIC_MAX_STAGES];
  int n_all = stages_of(chain, all);
  for (int i = 0; i < n_all; i++)
    if (!has_tensor(n, stages, all[i]) && !has_tensor(made->n, made->tensors, all[i])) return false;
  for (int i = 0; i < made->n; i++)
    if (!has_tensor(n_all, all, made->tensors[i])) return false;
  return true;
}

bool generic_has_windows(const generic_draft *p, const generic_group *g) {
  const tn_tensor *stages[1 + 2 * GENERIC_MAX_STAGES];
  shared_window w;
  for (int i = g->anchor ? 0 : stages_of(g, stages); i > 0; i--)
    if (find_window(p, generic_stage(p, stages[i - 1]), false, 0, &w) ||
        find_part(p, generic_stage(p, stages[i - 1]), &w))
      return true;
  return false;
}

bool generic_share_windows(generic_draft *p, const generic_group *g, generic_sharing how, generic_group *chain) {
  const tn_tensor *stages[1 + 2 * GENERIC_MAX_STAGES];
  made_stages made = {.n = 0};
  int n_stages = stages_of(g, stages), n_parts = 0;
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  for (int i = n_stages - 1; i >= 0; i--) {
    int stage = generic_stage(p, stages[i]), n = share_stage(p, stage, how.rows_last, &made);
    for (int at = stage + n; at >= stage && how.in_parts; at--) { /* a part stands in front of its sum */
      shared_window w;
      int64_t elements = find_part(p, at, &w);
      if (elements > 0) n_parts += take_apart(p, at, &w, elements, &made);
    }
  }
  runtime_quiet_end(&quiet);
  if (made.n == 0 || (how.in_parts && n_parts == 0)) return false;
  return generic_form_strip(p, generic_stage(p, g->root), NULL, chain) && is_made_of(chain, n_stages, stages, &made);
}
