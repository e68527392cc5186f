/* xgboost.h: XGBoost's C functions, found when the first model is trained, so that Tenon works without the library. */
#ifndef TENON_AUTOTUNE_XGBOOST_H
#define TENON_AUTOTUNE_XGBOOST_H

#include <stdbool.h>
#include <stddef.h>
#include <xgboost/c_api.h>

/* The functions that the cost model calls; the newest came with XGBoost 1.5. X(name without XG) */
#define XGBOOST_FUNCTIONS(X)   \
  X(BoostVersion)              \
  X(BRegisterLogCallback)      \
  X(BGetLastError)             \
  X(DMatrixCreateFromMat_omp)  \
  X(DMatrixFree)               \
  X(BoosterCreate)             \
  X(BoosterFree)               \
  X(BoosterSetParam)           \
  X(BoosterSetAttr)            \
  X(BoosterGetAttr)            \
  X(BoosterBoostOneIter)       \
  X(BoosterPredictFromDMatrix) \
  X(BoosterPredictFromDense)   \
  X(BoosterDumpModelEx)        \
  X(BoosterSaveModel)          \
  X(BoosterLoadModel)

/* The functions' addresses, filled in by autotune_xgboost_load. */
typedef struct autotune_xgboost {
#define X(name) __typeof__(XG##name) *name;
  XGBOOST_FUNCTIONS(X)
#undef X
} autotune_xgboost;

/* Loads the library (NULL: by its usual names) and finds the functions. False: WHY says what is missing.
 * The library is never unloaded, since its threads outlive their work. */
bool autotune_xgboost_load(const char *library, autotune_xgboost *out, char *why, size_t n_why);

#endif
