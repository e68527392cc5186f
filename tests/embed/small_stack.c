/* small_stack.c: a thread with 64 KiB of stack parses, schedules, prints, builds in every form, and calls. */
#include <pthread.h>

#include "embed.h"

/* Sanitizers make frames several times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 512 << 10 };
#else
enum { STACK_BYTES = 64 << 10 };
#endif

static void print_forms(tn_context *ctx) {
  static const char *const forms[] = {".ll", ".s", ".c", ".h"};
  tn_program *program = tn_program_parse(ctx, "C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])", 0, NULL);
  tn_schedule *schedule = tn_schedule_new(program);
  tn_schedule_auto(schedule, NULL);
  for (int i = 0; i < 4; ++i) {
    char *text = tn_build_text(schedule, NULL, forms[i]);
    REQUIRE(text, "%s: %s", forms[i], tn_context_message(ctx));
    free(text);
  }
  char *loops = tn_schedule_print(schedule, TN_FORM_TIR);
  REQUIRE(loops, "%s", tn_context_message(ctx));
  free(loops);
}

static void *work(void *data) {
  embed_kernel *k = data;
  *k = embed_new();
  embed_check(k);
  print_forms(k->ctx);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  embed_kernel k;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0, "no such stack");
  REQUIRE(pthread_create(&thread, &attributes, work, &k) == 0, "no thread");
  pthread_join(thread, NULL);
  embed_check(&k);
  embed_free(&k);
  return 0;
}
