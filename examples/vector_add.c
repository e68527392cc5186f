/* vector_add.c: the smallest complete program. It says what to compute (C = A + B), how (vectors of 16
 * elements), compiles that, calls it and checks the result. Errors need no checks on the way: the context
 * remembers the first. */
#include <stdio.h>
#include <tenon/tenon.h>

enum { N = 1000 };

int main(void) {
  tn_context *ctx = tn_context_new(NULL);
  tn_axis *i = tn_axis_new(ctx, "i", N);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, N), *B = tn_placeholder(ctx, "B", TN_F32, N);
  tn_tensor *C = tn_compute(ctx, "C", tn_add(tn_at(A, i), tn_at(B, i)), i);
  tn_schedule *s = tn_schedule_new(tn_program_new(ctx, A, B, C));
  tn_schedule_apply(s, "split(C, i, 16); vectorize(C, i.inner)");
  tn_kernel *kernel = tn_build(s, NULL);

  DLTensor *args[3];
  for (int a = 0; a < 3; ++a) args[a] = tn_array_new(ctx, TN_F32, 1, (const int64_t[]){N});
  for (int a = 0; a < 2; ++a) tn_array_fill(ctx, args[a], (uint64_t)a);
  tn_call(ctx, kernel, args, 3);

  /* One check is enough: whatever failed first is what the context says. */
  int wrong = 0;
  if (tn_context_status(ctx) == TN_OK) {
    const float *a = args[0]->data, *b = args[1]->data, *c = args[2]->data;
    for (int n = 0; n < N; ++n) wrong += c[n] != a[n] + b[n];
  } else {
    fprintf(stderr, "vector_add: %s\n", tn_context_message(ctx));
  }
  bool ok = tn_context_status(ctx) == TN_OK && wrong == 0;
  if (ok) printf("C = A + B: %d elements, all as they should be\n", N);

  for (int n = 0; n < 3; ++n) tn_array_free(args[n]);
  tn_context_free(ctx);
  return ok ? 0 : 1;
}
