/* tests.h: what the test program of schedule/ shares. */
#ifndef TENON_TESTS_SCHEDULE_TESTS_H
#define TENON_TESTS_SCHEDULE_TESTS_H

#include "schedule/state.h"
#include "tests/common/check.h"

int test_golden(void);
int test_refusals(void);
int test_positions(void);
int test_reference(void);
int test_replay(void);
int test_round_trip(void);
int test_regions(void);
int test_values(void);
int test_generic(void);
int test_plans(void);
int test_plan_texts(void);
int test_plan_costs(void);
int test_warnings(void);
int test_tensorize(void);
int test_script(void);
int test_subjects(void);
int test_width(void);

/* A program and a schedule in a context of their own. */
typedef struct fixture {
  tn_context *ctx;
  tn_program *program;
  tn_schedule *s;
} fixture;

/* A stage of a window of another's rows, ROWS apart. */
#define WINDOW(rows) "P[y<1032, x<1024] = exp(A[y,x])\nQ[y<1024, x<1024] = P[y,x] + P[y+" rows ",x]"

/* Programs of more than one of the tests of plans. */
#define ROW_SWEEP(name, n, of) name "[i<" n "] = (" of "[i] + " of "[i+1] + " of "[i+2]) * 0.25\n"
#define ROW_SWEEPS(n) ROW_SWEEP("B", n "+2", "I") ROW_SWEEP("C", n, "B")

#define OPACITY(w) "input A: u8[50," w ",4]\nY[h<50, w<" w ", c<4] = u8(u32(A[h,w,c])*u32(A[h,w,3])//255)"

/* A filter whose steps count by phases, which are put beside each other at the end. */
#define PHASES(where, end)                                        \
  "input I: f32[9, 9, 16], W: f32[4, 4, 16, 32]\n"                \
  "T[y<8, p<2, x<8, q<2, f<32] = sum[r<4, s<4, c<16 where " where \
  "](I[y+(p+r)//2 - (p+r)//4, x+(q+s)//2 - (q+s)//4, c] * W[3-r, 3-s, c, f])\n" end
#define SIDE_BY_SIDE "O[h<16, w<16, f<32] = T[h//2, h%2, w//2, w%2, f]\n"

#define CHANNEL_GROUPS                                                             \
  "input X: f32[4,32,28,28]\nM[n<4, g<8] = sum[c<4, h<28, w<28](X[n,g*4+c,h,w])\n" \
  "Y[n<4, c<32, h<28, w<28] = X[n,c,h,w] - M[n,c//4]"

/* A machine for plans, and the same with vectors of half a line (plans.c). */
extern const tn_machine plain_machine;
tn_machine with_half_lines(void);

/* Fails the test when a text is refused; SCHEDULE may be "". */
fixture fixture_new(const char *program, const char *schedule);
void fixture_free(fixture *f);
/* tn_schedule_print that must succeed; free the result. */
char *print_form(const tn_schedule *s, tn_form form);
/* Steps and tree: all that a refusal must not change. Free the result. */
char *state_of(const tn_schedule *s);

/* What the golden texts and the round trips are made of (cases.c). */
typedef struct schedule_case {
  const char *name; /* also the golden file's */
  const char *program, *schedule;
} schedule_case;
extern const schedule_case schedule_cases[];
extern const size_t n_schedule_cases;
/* Those of the structured form (script.c); golden files in schedule/tvmscript. */
extern const schedule_case script_cases[];
extern const size_t n_script_cases;

#endif
