/* match.h: recognises what a program computes, for comparisons with libraries that have a routine for it. */
#ifndef TENON_TE_MATCH_H
#define TENON_TE_MATCH_H

#include "te/graph.h"

/* C[i,j] = sum[k](A * B) over inputs A[i,k] or A[k,i] and B[k,j] or B[j,k], in either order, f32 or f64;
 * possibly followed by an output that adds an input D[i,j] or D[j]. Arguments are given by their index in
 * the program. */
typedef struct te_matmul {
  tn_dtype dtype;
  int64_t m, n, k; /* extents of i, j, k */
  int a, b;
  bool is_a_transposed, is_b_transposed; /* A[k,i], B[j,k] */
  int addend;                            /* D, or -1 */
  bool is_addend_row;                    /* D[j] */
  int output; /* the argument that gets the result; -1: the program computes more than this */
} te_matmul;

/* Whether some stage of the program is such a product of two of its inputs. */
bool te_match_matmul(const tn_program *program, te_matmul *out);

/* C[b,i,j] = sum[k](A[b,i,k] * B[b,k,j]), f32 or f64, with factors in either order, as the whole program. */
typedef struct te_batch_matmul {
  tn_dtype dtype;
  int64_t batch, m, n, k;
  int a, b;
} te_batch_matmul;
bool te_match_batch_matmul(const tn_program *program, te_batch_matmul *out);

/* A convolution of images NHWC with weights HWIO (HWC if each channel has its own), f32, with square
 * kernel, stride, padding and dilation, as the whole program. Zeros around the image come from a stage of
 * their own, or a condition of the sum leaves their products out, or there are none. */
typedef struct te_conv {
  int64_t batch, height, width, channels, filters, kernel, stride, padding, dilation;
  bool is_depthwise;
  int image, weights;
} te_conv;
bool te_match_conv(const tn_program *program, te_conv *out);

/* Softmax of the rows or columns of a matrix, or layer normalization of rows with a scale and a shift for each column,
 * f32. Recognised by the operators that occur and the shapes of arguments, so that users must compare
 * results. */
typedef struct te_row_operator {
  bool is_softmax;
  bool is_by_columns; /* softmax along the first dimension */
  int64_t rows, columns;
  int x, scale, shift; /* arguments; the last two only for layer normalization */
  double epsilon;      /* added to the variance */
} te_row_operator;
bool te_match_rows(const tn_program *program, te_row_operator *out);

#endif
