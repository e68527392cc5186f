/* Steps from outside: what is not a step, or does not fit the program, is refused, and nothing of it stays. */
#include "tests/schedule/tests.h"

#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"

static const struct bad_steps {
  const char *name, *steps, *message;
} bad_steps[] = {
    {"no JSON", "[[\"SP\"", "the steps are not a JSON array: ']' expected near end of file"},
    {"an object", "{}", "the steps are not a JSON array: another value"},
    {"a step that is no array", "[7]",
     "step 1: \"\" is no step: SP, FU, RE, AN, PR, TZ, CA, CI, CR, CHR, CHW, SS, RF, RW, TL, SA, DB, RB, ST or PF"},
    {"an empty step", "[[]]",
     "step 1: \"\" is no step: SP, FU, RE, AN, PR, TZ, CA, CI, CR, CHR, CHW, SS, RF, RW, TL, SA, DB, RB, ST or PF"},
    {"an unknown step", "[[\"ZZ\",1]]",
     "step 1: \"ZZ\" is no step: SP, FU, RE, AN, PR, TZ, CA, CI, CR, CHR, CHW, SS, RF, RW, TL, SA, DB, RB, ST or PF"},
    {"too few arguments", "[[\"CI\"]]", "step 1: CI has 0 arguments, takes 1"},
    {"too many arguments", "[[\"AN\",2,0,3,1]]", "step 1: AN has 4 arguments, takes 3"},
    {"a stage that is text", "[[\"CI\",\"C\"]]", "step 1: argument 1 of CI is not a stage number"},
    {"a stage below 0", "[[\"CI\",-1]]", "step 1: argument 1 of CI is not a stage number"},
    {"a stage beyond 16 bits", "[[\"CI\",70000]]", "step 1: argument 1 of CI is not a stage number"},
    {"a list that is a number", "[[\"FU\",2,3]]", "step 1: argument 2 of FU is not a list of numbers"},
    {"a list of text", "[[\"FU\",2,[\"i\"]]]", "step 1: argument 2 of FU is not a list of numbers"},
    {"a prefetch for half a loop", "[[\"PF\",2,1,1,1,[2]]]",
     "prefetch(C, B, j): a list of 1 numbers: write [stage, loop]"},
    {"a prefetch for no loop", "[[\"PF\",2,1,1,1,[2,7]]]",
     "prefetch(C, B, j): stage C has no loop number 7: take one of its 3 loops, counted from 0 (i, j, k)"},
    {"an unknown tail", "[[\"SP\",2,0,64,[8],1,\"round\"]]", "step 1: argument 6 of SP is not a tail word"},
    {"a flag that is neither", "[[\"SP\",2,0,64,[8],2,\"guard\"]]", "step 1: argument 5 of SP is not a flag 0 or 1"},
    {"an unknown pragma", "[[\"PR\",2,0,\"unroll$4\"]]",
     "pragma(C, i): key \"unroll\": it is a primitive of its own; use unroll(stage, axis)"},
    {"a pragma without a number", "[[\"PR\",2,0,\"auto_unroll_max_step$\"]]",
     "pragma(C, i): pragma \"auto_unroll_max_step$\" has no number behind the $: write \"auto_unroll_max_step$64\""},
    {"a pragma with more behind", "[[\"PR\",2,0,\"auto_unroll_max_step$4x\"]]",
     "pragma(C, i): pragma \"auto_unroll_max_step$4x\" has no number behind the $: write \"auto_unroll_max_step$64\""},
    {"an annotation beyond 32 bits", "[[\"AN\",2,0,4294967297]]",
     "annotate(C, i): annotation 4294967297 is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind"},
    {"a split of another extent", "[[\"SP\",2,0,100,[8],1,\"guard\"]]",
     "split(C, i): the step was recorded for extent 100, the loop has 64: use it with the program that it was recorded "
     "for"},
    {"a stage of another program", "[[\"CI\",5]]", "compute_inline(?): there is no stage 5: take 0 to 2"},
    {"a loop of another program", "[[\"AN\",2,7,1]]",
     "unroll(C): stage C has no loop number 7: take one of its 3 loops, counted from 0 (i, j, k)"},
    {"illegal here", "[[\"AN\",2,2,3]]",
     "parallel(C, k): loop k of C runs over a reduction axis (extent 32): its iterations update the same element, "
     "so they cannot run in parallel; make parallel a data axis (i, j)"},
    {"the third of three", "[[\"SP\",2,0,64,[8],1,\"guard\"],[\"AN\",2,0,3],[\"AN\",2,0,2]]",
     "vectorize(C, i.outer): loop i.outer of C already has parallel: a loop takes one annotation; split it first"},
};

static void refused(void **state) {
  const struct bad_steps *b = *state;
  fixture f = fixture_new(MM, "unroll(C, j)");
  char *before = state_of(f.s);
  assert_int_not_equal(tn_schedule_replay(f.s, b->steps), TN_OK);
  check_text(tn_context_message(f.ctx), b->message);
  char *after = state_of(f.s);
  check_text(after, before);
  free(before);
  free(after);
  fixture_free(&f);
}

int test_replay(void) { return CHECK_TABLE("steps refused", bad_steps, refused); }
