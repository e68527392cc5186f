/* main.c: a program that calls a tuned kernel. tenon_add_kernel (CMakeLists.txt) has made
 * matmul.h and a library from the best record of a log; no library of Tenon is linked. It checks the product
 * against sums in double. */
#include <math.h>
#include <stdio.h>

#include "matmul.h"

enum { N = 128 };

/* A kernel's matrices are compact and row-major, so it takes the address of their first element. */
static float A[N][N], B[N][N], C[N][N];

/* The element of A B, computed plainly. */
static double expected(int i, int j) {
  double sum = 0;
  for (int k = 0; k < N; ++k) sum += (double)A[i][k] * B[k][j];
  return sum;
}

int main(void) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      A[i][j] = (float)((i * 7 + j * 3) % 11 - 5) / 5;
      B[i][j] = (float)((i * 5 + j * 2) % 13 - 6) / 6;
    }
  }
  if (matmul(A[0], B[0], C[0]) != 0) return fprintf(stderr, "apply_best: no memory for scratch\n"), 1;
  double worst = 0;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) worst = fmax(worst, fabs(C[i][j] - expected(i, j)));
  }
  printf("largest error %.2g\n", worst);
  return worst < 1e-3 ? 0 : 1;
}
