/* hash.c: decides when two schedules are the same loop nest. A loop is identified by its origin (a root
 * axis or a fused loop), its stride in that and its extent. So a split in one step equals the same split in
 * two, and loops of extent 1 do not count. */
#include "autotune/internal.h"

/* A loop as a piece of its base: base + stride * [0, extent). */
typedef struct piece {
  uint64_t base;
  int64_t stride, extent;
} piece;

static uint64_t mix(uint64_t seed, const void *data, size_t n) { return runtime_hash(data, n, seed); }
/* One multiplication for each number: a schedule has hundreds. Hashes are compared only within a process
 * and as lock offsets of one log, never between machines. */
static uint64_t mix_number(uint64_t seed, int64_t number) {
  uint64_t mixed = (seed ^ (uint64_t)number) * 0x9e3779b97f4a7c15u;
  return mixed ^ mixed >> 29;
}
static uint64_t mix_piece(uint64_t seed, const piece *p) {
  return mix_number(mix_number(mix_number(seed, (int64_t)p->base), p->stride), p->extent);
}

/* Whether the split's lengths multiply to its loop's extent. If not, the pieces reach beyond the end, and
 * its children are identified by the split itself. */
static bool divides(const schedule_stage *stage, const schedule_relation *split) {
  int64_t product = 1;
  for (int i = 0; i < split->n; i++) product *= stage->axes[split->many[i]].extent;
  return product == stage->axes[split->one].extent;
}

/* Fills the pieces of a split's children from the parent's, which is already there: relations are in the
 * order in which they were made. */
static void split_pieces(const schedule_stage *stage, const schedule_relation *r, piece *pieces) {
  piece parent = pieces[r->one];
  int64_t stride = parent.stride;
  if (!divides(stage, r)) parent.base = mix_number(mix_number(parent.base, r->tail), 1);
  for (int i = r->n - 1; i >= 0; i--) {
    int child = r->many[i];
    int64_t extent = stage->axes[child].extent;
    pieces[child] = (piece){parent.base, stride, extent};
    stride *= extent;
  }
}

/* Fills a fused loop's piece. Fusing one loop with loops of extent 1 makes no new loop. */
static void fuse_piece(const schedule_stage *stage, const schedule_relation *r, piece *pieces) {
  uint64_t base = 1;
  int n = 0, last = r->many[0];
  for (int i = 0; i < r->n; i++) {
    if (pieces[r->many[i]].extent == 1) continue;
    last = r->many[i];
    base = mix_piece(base, &pieces[last]);
    n++;
  }
  pieces[r->one] = n <= 1 ? pieces[last] : (piece){base, 1, stage->axes[r->one].extent};
}

/* Fills the pieces of all axes, in the order in which the relations were made. */
static void fill_pieces(const schedule_stage *stage, piece *pieces) {
  for (int a = 0; a < stage->n_roots; a++) pieces[a] = (piece){(uint64_t)a + 1, 1, stage->axes[a].extent};
  for (int r = 0; r < stage->n_relations; r++) {
    const schedule_relation *relation = &stage->relations[r];
    if (relation->is_fuse)
      fuse_piece(stage, relation, pieces);
    else
      split_pieces(stage, relation, pieces);
  }
}

/* How many loops longer than 1 there are at or outside a loop's position. */
static int depth_of(const schedule_stage *stage, int axis) {
  int depth = 0, position = schedule_leaf_position(stage, axis);
  for (int i = 0; i <= position; i++) depth += schedule_leaf(stage, i)->extent > 1;
  return depth;
}

/* Mixes in the loops, by their pieces and annotations; names do not count. A pragma counts at the loops
 * inside it, where it acts. */
static uint64_t hash_loops(const schedule_stage *stage, uint64_t hash) {
  piece pieces[SCHEDULE_MAX_AXES];
  int64_t unroll = 0;
  fill_pieces(stage, pieces);
  for (int i = 0; i < stage->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(stage, i);
    if (axis->unroll_step > 0) unroll = axis->unroll_step;
    if (axis->extent == 1) continue;
    hash = mix_piece(hash, &pieces[stage->leaves[i]]);
    hash = mix_number(mix_number(hash, axis->annotation), unroll);
  }
  return hash;
}

/* Mixes in a stage. Everything that changes the generated code must be here: if a primitive is forgotten,
 * the search takes two kernels for one. An inlined stage has no loops. */
static uint64_t hash_stage(const tn_schedule *s, const schedule_stage *stage, uint64_t hash) {
  const char *name = schedule_stage_name(stage);
  hash = mix(hash, name, strlen(name));
  if (te_is_placeholder(stage->op)) return hash;
  hash = mix_number(hash, stage->attach);
  if (stage->attach == SCHEDULE_INLINED) return hash;
  hash = mix(hash, stage->scope, strlen(stage->scope));
  if (stage->layout) hash = mix(hash, stage->layout, strlen(stage->layout));
  if (stage->align_factor)
    hash = mix_number(mix_number(mix_number(hash, stage->align_dim), stage->align_factor), stage->align_offset);
  for (int i = 0; i < stage->n_roots; i++) hash = mix(hash, stage->axes[i].name, strlen(stage->axes[i].name));
  if (stage->attach == SCHEDULE_AT) {
    hash = mix_number(mix_number(hash, stage->at_stage), depth_of(&s->stages[stage->at_stage], stage->at_axis));
  }
  return hash_loops(stage, hash);
}

uint64_t autotune_schedule_hash(const tn_schedule *s) {
  uint64_t hash = (uint64_t)s->n_stages;
  for (int i = 0; i < s->n_stages; i++) hash = hash_stage(s, &s->stages[i], hash);
  return hash ? hash : 1;
}
