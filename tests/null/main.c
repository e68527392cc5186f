/* main.c: runs the generated calls, each in a process of its own: no crash, no hang, and where a call fails because of a
 * NULL, a message in the context that it was given. */
#include "main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ZERO_BYTES = 1 << 16, LIMIT_S = 20 };

/* What a child says by its exit status. */
enum { FINE, FAILED_WITH_MESSAGE, FAILED_SILENTLY };

static struct {
#define X(type) type *type##_;
  NULL_OBJECTS(X)
#undef X
  void *zeros;
} objects;

#define X(type) \
  type *null_object_##type(void) { return objects.type##_; }
NULL_OBJECTS(X)
#undef X

void *null_zeros(void) { return objects.zeros; }

static void make_program_objects(void) {
  tn_context *ctx = objects.tn_context_ = tn_context_new(NULL);
  objects.tn_program_ = tn_program_parse(ctx, "x[i<64] = A[i] + 1", 0, NULL);
  objects.tn_schedule_ = tn_schedule_new(objects.tn_program_);
  objects.tn_tensor_ = tn_program_arg(objects.tn_program_, 0);
  objects.tn_axis_ = tn_axis_new(ctx, "y", 64);
  objects.tn_expr_ = tn_const(ctx, TN_F32, 1);
  objects.tn_combiner_ = tn_combiner_array(ctx, "most", 1, (const tn_dtype[]){TN_F32});
  objects.tn_callee_ = tn_callee_symbol(ctx, "f");
  objects.tn_target_ = tn_target_new(ctx, NULL);
  objects.tn_kernel_ = tn_build(objects.tn_schedule_, NULL);
  objects.DLTensor_ = tn_array_new(ctx, TN_F32, 1, (const int64_t[]){64});
}

static void make_recording_objects(void) {
  tn_context *ctx = objects.tn_context_;
  tn_profile_start(ctx, NULL);
  tn_kernel_free(tn_build(objects.tn_schedule_, NULL));
  tn_profile_stop(ctx);
  objects.tn_recording_ = tn_profile_collect(ctx);
  objects.tn_analysis_ = tn_analysis_of(ctx, objects.tn_recording_);
  objects.tn_advices_ = tn_advise(ctx, objects.tn_analysis_, NULL);
  objects.tn_averages_ = tn_key_averages(ctx, objects.tn_recording_, NULL);
  objects.tn_rows_ = (tn_rows *)tn_analysis_table(ctx, objects.tn_analysis_, "op");
  objects.tn_profiler_ = tn_profiler_new();
  objects.zeros = calloc(1, ZERO_BYTES);
}

/* A stand-in that is NULL itself would prove nothing. */
static int check_objects(void) {
  int missing = 0;
#define X(type) \
  if (objects.type##_ == NULL) missing += printf("no %s: %s\n", #type, tn_context_message(objects.tn_context_));
  NULL_OBJECTS(X)
#undef X
  return missing;
}

static int run_here(const null_case *c) {
  tn_context_clear(objects.tn_context_);
  alarm(LIMIT_S);
  if (!c->failed()) return FINE; /* it may have freed the context */
  return *tn_context_message(objects.tn_context_) != '\0' ? FAILED_WITH_MESSAGE : FAILED_SILENTLY;
}

/* An exit status, or less than 0: the signal that ended it. */
static int run(const null_case *c) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) _exit(run_here(c));
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void) {
  int wrong = 0, n = 0;
  bool asks = false; /* the function fails without a word for valid arguments, too: it only answers a question */
  make_program_objects();
  make_recording_objects();
  fflush(stdout);
  if (check_objects() > 0) return 1;
  for (const null_case *c = null_cases; c->function != NULL; ++c, ++n) {
    int got = run(c);
    if (strcmp(c->null, "valid") == 0) asks = got == FAILED_SILENTLY;
    if (got < 0 || got > FAILED_SILENTLY)
      wrong += printf("%s with %s NULL: ended with %d\n", c->function, c->null, got) > 0;
    else if (got == FAILED_SILENTLY && c->has_context && !asks)
      wrong += printf("%s with %s NULL: failed without a message\n", c->function, c->null) > 0;
    fflush(stdout);
  }
  printf("%d calls, %d wrong\n", n, wrong);
  return wrong > 0;
}
