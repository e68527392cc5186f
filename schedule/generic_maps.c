/* generic_maps.c: texts of index maps, "[d0, d1] -> [d1//32, d0, d1%32]", for layouts that generic schedules choose. */
#include "schedule/generic.h"

void generic_map_dimension(runtime_str *map, const char *before, int dim) {
  runtime_str_add(map, before);
  runtime_str_add(map, "d");
  runtime_str_add_int(map, dim);
}

/* BEFORE, "d0", OP and a number. */
static void add_part(runtime_str *map, const char *before, int dim, const char *op, int64_t by) {
  generic_map_dimension(map, before, dim);
  runtime_str_add(map, op);
  runtime_str_add_int(map, by);
}

void generic_map_begin(runtime_str *map, int ndim) {
  for (int d = 0; d < ndim; d++) generic_map_dimension(map, d ? ", " : "[", d);
  runtime_str_add(map, "] -> [");
}

/* Copies MAP to OUT and frees it. */
static bool finish(const generic_draft *p, runtime_str *map, char *out, size_t n) {
  runtime_str_add(map, "]");
  if (map->failed) runtime_arena_lacks(p->arena); /* no refusal: whoever realizes the plan asks for it */
  bool ok = !map->failed && map->n < n;
  if (ok) memcpy(out, map->data, map->n + 1);
  runtime_str_free(map);
  return ok;
}

bool generic_panel_map(const generic_draft *p, int ndim, int dim, int64_t by, int grouped, int64_t group, char *out,
                       size_t n) {
  runtime_str map = {0};
  generic_map_begin(&map, ndim);
  add_part(&map, "", dim, "//", by);
  for (int d = 0; d < ndim; d++)
    if (d == grouped)
      add_part(&map, ", ", d, "//", group);
    else if (d != dim)
      generic_map_dimension(&map, ", ", d);
  add_part(&map, ", ", dim, "%", by);
  if (grouped >= 0) add_part(&map, ", ", grouped, "%", group);
  return finish(p, &map, out, n);
}

bool generic_group_map(const generic_draft *p, int ndim, int dim, int64_t group, char *out, size_t n) {
  runtime_str map = {0};
  generic_map_begin(&map, ndim);
  for (int d = 0; d < ndim; d++)
    if (d == dim)
      add_part(&map, d ? ", " : "", d, "//", group);
    else
      generic_map_dimension(&map, d ? ", " : "", d);
  add_part(&map, ", ", dim, "%", group);
  return finish(p, &map, out, n);
}

bool generic_store_last(generic_draft *p, int stage, int dim) {
  int ndim = p->s->stages[stage].tensors->ndim;
  runtime_str map = {0};
  char text[GENERIC_MAP];
  if (dim == ndim - 1) return true;
  generic_map_begin(&map, ndim);
  for (int d = 0; d < ndim; d++)
    if (d != dim) generic_map_dimension(&map, "", d), runtime_str_add(&map, ", ");
  generic_map_dimension(&map, "", dim);
  return finish(p, &map, text, sizeof text) && schedule_transform_layout(p->s, stage, text) == TN_OK;
}

bool generic_store_panels(generic_draft *p, int stage, int dim, int64_t by) {
  const tn_tensor *tensor = p->s->stages[stage].tensors;
  char map[GENERIC_MAP];
  if (tensor->shape[dim] % by != 0 || tensor->shape[dim] == by) return generic_store_last(p, stage, dim);
  return generic_panel_map(p, tensor->ndim, dim, by, -1, 0, map, sizeof map) &&
         schedule_transform_layout(p->s, stage, map) == TN_OK;
}
