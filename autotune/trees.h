/* trees.h: the trees of the cost model in a form of their own, for machines whose vectors hold a block of rows: the same outputs as
 * XGBoost's, several times as fast. XGBoost copies each row twice before it looks at it, and then walks down one tree at a time. */
#ifndef TENON_AUTOTUNE_TREES_H
#define TENON_AUTOTUNE_TREES_H

#include <stdbool.h>

typedef struct autotune_trees autotune_trees;

/* From XGBoost's text of each tree (its dump as "json"). NULL: this machine is none that gains by it, there is no memory, or they are trees
 * of another kind than is understood: too deep, or of features that a row does not have. */
autotune_trees *autotune_trees_read(int n, const char *const *texts);
void autotune_trees_free(autotune_trees *trees);
/* The sum of all trees for each of N rows of AUTOTUNE_FEATURES, added up in the order of the trees. False: some value is no number, which
 * only XGBoost knows what to do with. */
bool autotune_trees_sum(const autotune_trees *trees, int n, const float *rows, float *sums);

#endif
