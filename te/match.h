/* match.h: recognising what a program computes, for comparisons with libraries that have a routine for it. */
#ifndef TENON_TE_MATCH_H
#define TENON_TE_MATCH_H

#include "te/graph.h"

/* C[i,j] = sum[k](A * B) over inputs A[i,k] or A[k,i] and B[k,j] or B[j,k] in either order, f32 or f64; perhaps
 * followed by an output that adds an input D[i,j] or D[j] to it. Arguments are given by their index in the program. */
typedef struct te_matmul {
  tn_dtype dtype;
  int64_t m, n, k; /* extents of i, j, k */
  int a, b;
  bool is_a_transposed, is_b_transposed; /* A[k,i], B[j,k] */
  int addend;                            /* D, or -1 */
  bool is_addend_row;                    /* D[j] */
  int output; /* the argument that gets the result; -1: the program computes more than this */
} te_matmul;

/* Whether one stage of the program is such a product of two of its inputs. */
bool te_match_matmul(const tn_program *program, te_matmul *out);

#endif
