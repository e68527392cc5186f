/* generic_windows.c: sums of sliding windows over several axes are taken apart, one axis at a time, where the windows of neighbours share
 * partial sums: rows of a box filter are added up once, in a stage of their own. On the draft, before groups are formed; a row
 * of the primitive rfactor_window each. */
#include <math.h>

#include "schedule/generic.h"

/* Which of a stage's axes a window goes along. */
typedef struct shared_window {
  int axis, along; /* in the order of the stage's axes: a reduction axis, a data axis */
} shared_window;

/* Steps of STRIDE elements of the window's axis between neighbours along A; 0: no read has such a window, INFINITY: not known. */
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

/* Takes apart what STAGE sums up; the partial sums likewise. */
static bool share_stage(generic_draft *p, const tn_tensor *tensor, bool rows_last) {
  bool is_shared = false;
  int stage = generic_stage(p, tensor);
  for (int pairs = TN_MAX_RANK * GENERIC_MAX_AXES, at = 0; at < pairs; at++) {
    shared_window w;
    if (!find_window(p, stage, rows_last, at, &w)) return is_shared;
    if (schedule_rfactor_window(p->s, stage, w.axis, w.along) != TN_OK) continue;
    is_shared = true, at = -1; /* STAGE is the partial sums' now */
  }
  return is_shared;
}

bool generic_has_windows(const generic_draft *p, const generic_group *g) {
  shared_window w;
  bool has = find_window(p, generic_stage(p, g->root), false, 0, &w);
  for (int i = 0; !has && i < g->n; i++) has = find_window(p, generic_stage(p, g->members[i]), false, 0, &w);
  for (int i = 0; !has && i < g->n_windows; i++) has = find_window(p, generic_stage(p, g->windows[i]), false, 0, &w);
  return has;
}

bool generic_share_windows(generic_draft *p, const generic_group *g, bool rows_last) {
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  bool is_shared = share_stage(p, g->root, rows_last);
  for (int i = 0; i < g->n; i++) is_shared |= share_stage(p, g->members[i], rows_last);
  for (int i = 0; i < g->n_windows; i++) is_shared |= share_stage(p, g->windows[i], rows_last);
  runtime_quiet_end(&quiet);
  return is_shared;
}
