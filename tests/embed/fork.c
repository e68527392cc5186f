/* fork.c: a process forks with kernels, a context and its threads at hand; both sides go on with all of them. */
#include <sys/wait.h>
#include <unistd.h>

#include "embed.h"

/* The kernel of before, another in the same context, another in a context of the child's own. */
static void go_on(embed_kernel *k) {
  embed_check(k);
  tn_kernel_free(k->kernel);
  embed_build(k);
  REQUIRE(k->kernel, "%s", tn_context_message(k->ctx));
  embed_check(k);
  embed_kernel own = embed_new();
  embed_check(&own);
  embed_free(&own);
  embed_free(k);
}

/* The address sanitizer's allocator does not survive a fork while another thread is inside of it, as a thread of OpenMP may
 * be that has just begun. */
static void let_threads_settle(void) {
#ifdef __SANITIZE_ADDRESS__
  usleep(200000);
#endif
}

int main(void) {
#ifdef __SANITIZE_THREAD__
  return 77; /* it takes no new threads in a child of a process that had some */
#endif
  embed_kernel k = embed_new();
  embed_check(&k);
  let_threads_settle();
  pid_t child = fork();
  REQUIRE(child >= 0, "no process");
  alarm(60); /* a child that waits for threads it has not got */
  go_on(&k);
  if (child == 0) _exit(0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
  return 0;
}
