/* nests.h: small loop nests built by hand, for features whose values can be worked out on paper. */
#ifndef TENON_TESTS_MODEL_NESTS_H
#define TENON_TESTS_MODEL_NESTS_H

#include "autotune/feature.h"
#include "tests/common/check.h"

typedef const tir_stmt *(*nest_fn)(runtime_arena *arena);

/* for i < 1024: C[i] = A[i] + B[i] */
const tir_stmt *nest_add(runtime_arena *arena);
/* The same, i split into 128 times a vectorized 8. */
const tir_stmt *nest_add_vectorized(runtime_arena *arena);
/* for i < 16, j < 32: C[i,j] = 0; for k < 64: C[i,j] = C[i,j] + A[i,k] * B[k,j] */
const tir_stmt *nest_matmul(runtime_arena *arena);
/* The same without the init. */
const tir_stmt *nest_matmul_update(runtime_arena *arena);
/* parallel io < 4, jo < 4, ko < 8 { ii < 4 unrolled, ki < 8, ji < 8 vectorized: the same product of 16 x 32 x 64 },
 * with auto_unroll_max_step 8 around ii */
const tir_stmt *nest_matmul_tiled(runtime_arena *arena);
/* for io < 4, jo < 4: L[4,8] in local scope: L = 0; for k < 64, ii < 4 unrolled, ji < 8 vectorized: L += A * B; then
 * C = L */
const tir_stmt *nest_matmul_local(runtime_arena *arena);
/* parallel f < 64: C[f // 8, f % 8] = A[f // 8, f % 8] * 2 */
const tir_stmt *nest_fused(runtime_arena *arena);
/* for io < 13, ii < 8: if io*8 + ii < 100: C[io*8 + ii] = A[io*8 + ii] */
const tir_stmt *nest_guarded(runtime_arena *arena);
/* for i < 62: C[i] = A[i] + A[i+1] + A[i+2], A of 64 */
const tir_stmt *nest_stencil(runtime_arena *arena);
/* for i < 32, j < 64: C[i,j] = A[j,i] */
const tir_stmt *nest_transpose(runtime_arena *arena);
/* for i < 32: C[i] = A[P[i]], A of 1000 */
const tir_stmt *nest_gather(runtime_arena *arena);
/* S[] = exp(X[]) */
const tir_stmt *nest_scalar(runtime_arena *arena);
/* for i < 100: C[i] = 0 */
const tir_stmt *nest_fill(runtime_arena *arena);
/* for i < 8 { for j < 16: T[i,j] = A[i,j] + 1; for k < 16: C[i,k] = T[i,k] * 2 } */
const tir_stmt *nest_chain(runtime_arena *arena);
/* The vector addition inside a loop of extent 1 */
const tir_stmt *nest_unit(runtime_arena *arena);
/* for i < 10: C[i] = select(A[i] > 0 && i < 5, sqrt(abs(A[i])), A[i] / 2) */
const tir_stmt *nest_select(runtime_arena *arena);

/* Rows of a body; returns how many. */
int nest_rows(runtime_arena *arena, const tir_stmt *body, float *rows);

#endif
