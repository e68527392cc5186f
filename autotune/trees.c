/* trees.c: boosted trees as arrays. All trees have the same depth: a leaf that is nearer to the root stands in all places below it. A
 * block of rows lies turned, a vector for each feature, and each split chooses between two vectors, from the leaves up to the root. That
 * looks at all splits where a walk down looks at a few, but for a block of rows at once, without waiting and without a branch. */
#include "autotune/trees.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "autotune/internal.h"

enum { MOST_DEPTH = 6, LANES = 16 };

/* What is less than the limit goes left. */
typedef struct split {
  float limit;
  int feature;
} split;

struct autotune_trees {
  int n, depth;  /* at least 1 */
  split *splits; /* by tree, 2^depth of each, the last unused: the root, then each level from left to right */
  float *leaves; /* by tree, 2^depth of each */
};

/* A block of rows, turned. Where there are fewer than LANES, the last one stands in the other lanes, too. */
typedef struct block {
  _Alignas(64) float of[AUTOTUNE_FEATURES][LANES];
} block;

/* ---- on machines with vectors of LANES numbers ------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

static bool can_hold_blocks(void) { return __builtin_cpu_supports("avx512f"); }

/* Where the split's rows that go left take A, and the others B. */
__attribute__((target("avx512f"))) static inline __m512 choose(const block *b, const split *s, __m512 left,
                                                               __m512 right) {
  __mmask16 goes_left = _mm512_cmp_ps_mask(_mm512_load_ps(b->of[s->feature]), _mm512_set1_ps(s->limit), _CMP_LT_OQ);
  return _mm512_mask_blend_ps(goes_left, right, left);
}

/* SUMS of a block's rows over all trees. */
__attribute__((target("avx512f"))) static void sum_block(const autotune_trees *t, const block *b, float *sums) {
  __m512 value[1 << MOST_DEPTH], sum = _mm512_setzero_ps();
  const split *splits = t->splits;
  const float *leaves = t->leaves;
  for (int tree = 0; tree < t->n; tree++, splits += 1 << t->depth, leaves += 1 << t->depth) {
    int n = 1 << (t->depth - 1); /* splits of a level */
    for (int i = 0; i < n; i++)
      value[i] = choose(b, &splits[n - 1 + i], _mm512_set1_ps(leaves[2 * i]), _mm512_set1_ps(leaves[2 * i + 1]));
    for (n /= 2; n > 0; n /= 2)
      for (int i = 0; i < n; i++) value[i] = choose(b, &splits[n - 1 + i], value[2 * i], value[2 * i + 1]);
    sum = _mm512_add_ps(sum, value[0]);
  }
  _mm512_storeu_ps(sums, sum);
}

#else

static bool can_hold_blocks(void) { return false; }

static void sum_block(const autotune_trees *t, const block *b, float *sums) { (void)t, (void)b, (void)sums; }

#endif

/* False: some value is no number. */
static bool turn_rows(int n, const float *rows, block *b) {
  int n_missing = 0;
  for (int lane = 0; lane < LANES; lane++) {
    const float *row = rows + (ptrdiff_t)RUNTIME_MIN(lane, n - 1) * AUTOTUNE_FEATURES;
    for (int f = 0; f < AUTOTUNE_FEATURES; f++) {
      b->of[f][lane] = row[f];
      n_missing += isnan(row[f]);
    }
  }
  return n_missing == 0;
}

bool autotune_trees_sum(const autotune_trees *trees, int n, const float *rows, float *sums) {
  block b;
  for (int first = 0; first < n; first += LANES) {
    float of_block[LANES];
    int n_rows = RUNTIME_MIN(n - first, LANES);
    if (!turn_rows(n_rows, rows + (ptrdiff_t)first * AUTOTUNE_FEATURES, &b)) return false;
    sum_block(trees, &b, of_block);
    memcpy(sums + first, of_block, sizeof *sums * (size_t)n_rows);
  }
  return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* ABOVE for a leaf; more than MOST_DEPTH for what is no tree, too. */
static int depth_of(const json_t *node, int above) {
  const json_t *children = json_object_get(node, "children");
  int deepest = above;
  if (json_is_number(json_object_get(node, "leaf"))) return above;
  if (above == MOST_DEPTH || json_array_size(children) != 2) return MOST_DEPTH + 1;
  for (size_t i = 0; i < 2; i++) deepest = RUNTIME_MAX(deepest, depth_of(json_array_get(children, i), above + 1));
  return deepest;
}

/* "f12" or, in old versions, "12". -1: no feature of ours. */
static int feature_of(const json_t *node) {
  const char *name = json_string_value(json_object_get(node, "split"));
  char *end;
  if (!name) return -1;
  name += *name == 'f';
  long feature = strtol(name, &end, 10);
  return end != name && *end == '\0' && feature >= 0 && feature < AUTOTUNE_FEATURES ? (int)feature : -1;
}

/* The child that NODE calls by the key. NULL: there is none. */
static const json_t *child_of(const json_t *node, const char *key) {
  const json_t *children = json_object_get(node, "children");
  json_int_t id = json_integer_value(json_object_get(node, key));
  for (size_t i = 0; i < json_array_size(children); i++) {
    const json_t *child = json_array_get(children, i);
    if (json_integer_value(json_object_get(child, "nodeid")) == id) return child;
  }
  return NULL;
}

/* Writes a node at place AT of a level, and all below. False: it is none that is understood. */
static bool place_node(const autotune_trees *t, split *splits, float *leaves, const json_t *node, int level, int at) {
  const json_t *leaf = json_object_get(node, "leaf"), *limit = json_object_get(node, "split_condition");
  if (level == t->depth) {
    leaves[at] = (float)json_number_value(leaf);
    return json_is_number(leaf);
  }
  int feature = leaf ? 0 : feature_of(node);
  const json_t *left = leaf ? node : child_of(node, "yes"), *right = leaf ? node : child_of(node, "no");
  if (feature < 0 || !left || !right || (!leaf && !json_is_number(limit))) return false;
  splits[(1 << level) - 1 + at] = (split){(float)json_number_value(limit), feature};
  return place_node(t, splits, leaves, left, level + 1, 2 * at) &&
         place_node(t, splits, leaves, right, level + 1, 2 * at + 1);
}

/* Room for N trees of a depth. NULL: no memory. */
static autotune_trees *new_trees(int n, int depth) {
  autotune_trees *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  *t = (autotune_trees){.n = n, .depth = depth};
  t->splits = calloc((size_t)n << depth, sizeof *t->splits);
  t->leaves = calloc((size_t)n << depth, sizeof *t->leaves);
  if (t->splits && t->leaves) return t;
  autotune_trees_free(t);
  return NULL;
}

static autotune_trees *place_trees(int n, json_t *const *roots) {
  int depth = 1;
  for (int i = 0; i < n; i++) depth = RUNTIME_MAX(depth, depth_of(roots[i], 0));
  autotune_trees *t = depth <= MOST_DEPTH ? new_trees(n, depth) : NULL;
  bool ok = t != NULL;
  for (int i = 0; ok && i < n; i++)
    ok = place_node(t, t->splits + ((ptrdiff_t)i << depth), t->leaves + ((ptrdiff_t)i << depth), roots[i], 0, 0);
  if (ok) return t;
  autotune_trees_free(t);
  return NULL;
}

autotune_trees *autotune_trees_read(int n, const char *const *texts) {
  json_t **roots = n > 0 && can_hold_blocks() ? calloc((size_t)n, sizeof *roots) : NULL;
  bool ok = roots != NULL;
  for (int i = 0; ok && i < n; i++) ok = (roots[i] = json_loads(texts[i], 0, NULL)) != NULL;
  autotune_trees *t = ok ? place_trees(n, roots) : NULL;
  for (int i = 0; roots && i < n; i++) json_decref(roots[i]);
  free(roots);
  return t;
}

void autotune_trees_free(autotune_trees *trees) {
  if (!trees) return;
  free(trees->splits);
  free(trees->leaves);
  free(trees);
}
