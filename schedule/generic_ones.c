/* generic_ones.c: plans are made of programs without the axes of one element that tensors end in (te/squeeze.c). Stages, their order and the
 * names of the other axes are the same, and so a schedule of such a program is one of the program itself, step by step, by names. */
#include "schedule/call.h"
#include "schedule/generic.h"
#include "schedule/layout.h"

/* A layout's map with the dimensions up to NDIM that it does not name, where they are: behind those that it names. */
static char *whole_map(const char *text, int ndim) {
  schedule_layout layout;
  const char *where;
  runtime_str out = {0};
  if (schedule_layout_read(text, &layout, &where)) return NULL;
  for (const char *c = text; *c; c++) {
    for (int d = layout.n_in; *c == ']' && d < ndim; d++) runtime_str_addf(&out, ", d%d", d);
    runtime_str_addf(&out, "%c", *c);
  }
  return out.data;
}

/* STEP of NOW, which is without such axes, for S. */
static bool add_step(tn_schedule *s, const tn_schedule *now, const schedule_step *step) {
  schedule_step own = *step;
  char *map = NULL;
  runtime_str call = {0};
  if (step->kind == SCHEDULE_STEP_TL) own.text = map = whole_map(step->text, s->stages[step->stage].tensors->ndim);
  if (own.kind != SCHEDULE_STEP_TL || map) schedule_add_step(now, schedule_row_of(step), &own, SCHEDULE_AS_TEXT, &call);
  bool ok = call.data && !call.failed && tn_schedule_apply(s, call.data) == TN_OK;
  runtime_str_free(&call);
  free(map);
  return ok;
}

tn_schedule *generic_with_ones(const tn_schedule *whole, const tn_schedule *made) {
  tn_schedule *s = tn_schedule_copy(whole), *now = tn_schedule_new(made->program);
  bool ok = s && now;
  runtime_quiet quiet = runtime_quiet_begin(whole->ctx);
  for (int i = 0; ok && i < made->n_steps; i++)
    ok = add_step(s, now, &made->steps[i]) && schedule_apply_step(now, &made->steps[i]) == TN_OK;
  runtime_quiet_end(&quiet);
  tn_schedule_free(now);
  if (ok) return s;
  tn_schedule_free(s);
  return NULL;
}
