/* ids.c: the ids that files need: every process, and every lane of a process, gets a number of its own
 * below 2^32. The kernel's numbers are kept where possible; numbers used twice (by a thread that ended, or
 * after a merge) move up. */
#include "profile/files.h"

/* Takes the first free number from WANTED on in SPACE (the lanes of a process, or all processes). */
static bool take_free(profiler_map *taken, uint64_t space, int64_t wanted, uint32_t *out) {
  uint32_t id = (uint32_t)wanted;
  if (wanted < 0 || wanted > UINT32_MAX) id = 0;
  for (;; ++id) {
    int64_t *is_taken = profiler_map_at(taken, space, id, 0);
    if (!is_taken) return false;
    if (*is_taken) continue;
    *is_taken = 1;
    *out = id;
    return true;
  }
}

/* Skips the numbers that earlier lanes with the same id took, so that a thousand of them take a thousand steps. */
static bool take_after_equals(profiler_map *taken, profiler_map *next, uint64_t space, int64_t wanted, uint32_t *out) {
  int64_t *from = profiler_map_at(next, space, (uint64_t)wanted, wanted);
  if (!from || !take_free(taken, space, *from, out)) return false;
  *from = (int64_t)*out + 1;
  return true;
}

/* Each process has its own space of lane ids. */
static bool number_all(const tn_recording *r, profiler_ids *ids, profiler_map *taken, profiler_map *next) {
  for (int i = 0; i < r->processes.n; ++i) {
    if (!take_after_equals(taken, next, UINT64_MAX, r->processes.data[i].pid, &ids->pids[i])) return false;
  }
  for (int i = 0; i < r->lanes.n; ++i) {
    const tn_lane *lane = &r->lanes.data[i];
    if (!take_after_equals(taken, next, (uint64_t)lane->process, lane->tid, &ids->tids[i])) return false;
  }
  return true;
}

/* Takes time proportional to processes and lanes on average. On failure IDS is empty. */
bool profiler_ids_make(const tn_recording *r, profiler_ids *ids) {
  profiler_map taken = {0}, next = {0};
  ids->pids = calloc((size_t)r->processes.n + 1, sizeof *ids->pids);
  ids->tids = calloc((size_t)r->lanes.n + 1, sizeof *ids->tids);
  bool ok = ids->pids && ids->tids && number_all(r, ids, &taken, &next);
  profiler_map_free(&taken);
  profiler_map_free(&next);
  if (!ok) profiler_ids_free(ids);
  return ok;
}

void profiler_ids_free(profiler_ids *ids) {
  free(ids->pids);
  free(ids->tids);
  *ids = (profiler_ids){0};
}
