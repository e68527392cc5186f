/* search_test.h: programs and spaces that the search's tests share. */
#ifndef TENON_TESTS_SEARCH_H
#define TENON_TESTS_SEARCH_H

#include "autotune/search.h"
#include "tests/common/check.h"

#define MATMUL(m, n, k) "C[i<" #m ", j<" #n "] = sum[k<" #k "](A[i,k] * B[k,j])"
#define MATMUL_ADD(m, n, k) \
  "M[i<" #m ", j<" #n "] = sum[k<" #k "](A[i,k] * B[k,j]); O[i<" #m ", j<" #n "] = M[i,j] + D[i,j]"
#define TWO_MATMULS(n) \
  "M[i<" #n ", j<" #n "] = sum[k<" #n "](A[i,k] * B[k,j]); C[i<" #n ", j<" #n "] = sum[k<" #n "](M[i,k] * D[k,j])"
#define SOFTMAX(m, n)                                      \
  "M[i<" #m "] = max[k<" #n "](X[i,k]); E[i<" #m ", j<" #n \
  "] = exp(X[i,j] - M[i]);"                                \
  "S[i<" #m "] = sum[k<" #n "](E[i,k]); Y[i<" #m ", j<" #n "] = E[i,j] / S[i]"
#define ROW_SUM(m, n) "B[i<" #m "] = sum[k<" #n "](A[i,k])"
#define ELEMENTWISE(m, n) "T[i<" #m ", j<" #n "] = A[i,j] + 1; R[i<" #m ", j<" #n "] = max(T[i,j], 0) * 2"
#define CONV                                                                                     \
  "input I: f32[1,8,8,8], W: f32[3,3,8,16], G: f32[16]\n"                                        \
  "P[n<1, h<10, w<10, c<8] = select(h >= 1 && h < 9 && w >= 1 && w < 9, I[n, h-1, w-1, c], 0)\n" \
  "O[n<1, h<8, w<8, f<16] = sum[r<3, s<3, c<8](P[n, h+r, w+s, c] * W[r,s,c,f])\n"                \
  "Q[n<1, h<8, w<8, f<16] = O[n,h,w,f] * G[f]\n"                                                 \
  "R[n<1, h<8, w<8, f<16] = max(Q[n,h,w,f], 0)"
#define MAX_POOL "input I: f32[1,8,8,16]\nO[n<1, h<4, w<4, c<16] = max[r<2, s<2](I[n, h*2+r, w*2+s, c])"

/* A program with a space for a machine of 2 threads and 64-byte vectors. */
typedef struct space_fixture {
  tn_context *ctx;
  autotune_task *task;
  autotune_model *model;
  autotune_space *space;
} space_fixture;

/* Fails the test when the program does not parse. */
space_fixture space_make(const char *program);
void space_free(space_fixture *f);
/* The position of a stage of the default schedule. */
int stage_named(const tn_schedule *s, const char *name);

int run_analysis_tests(void);
int run_sketch_tests(void);
int run_genome_tests(void);
int run_planned_tests(void);
int run_proposal_tests(void);
int run_tune_tests(void);
int run_judging_tests(void);
int run_pipeline_tests(void);
int run_replay_tests(void);
int run_task_tests(void);
int run_own_schedule_tests(void);
int run_neighbour_tests(void);
int run_guess_tests(void);
int run_cut_tests(void);
int run_memory_tests(void);

#endif
