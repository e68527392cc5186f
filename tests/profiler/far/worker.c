/* A worker as on another host: its clock is five seconds ahead, and each message takes up to a millisecond on its way.
 * The messages pass through two threads that delay them. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "autotune/autotune.h"
#include "runtime/profiler/recorder.h"

typedef struct relay {
  int from, to;
  uint64_t random;
} relay;

static uint64_t far_ns(void *user) {
  (void)user;
  return runtime_now_ns() + UINT64_C(5000000000);
}

static uint64_t unix_ns(void *user) {
  struct timespec t;
  (void)user;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *pass_on(void *user) {
  relay *r = user;
  char block[65536];
  ssize_t n;
  while ((n = read(r->from, block, sizeof block)) > 0) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    nanosleep(&(struct timespec){.tv_nsec = (long)((r->random >> 33) % 1000000)}, NULL);
    for (ssize_t at = 0, m; at < n; at += m)
      if ((m = write(r->to, block + at, (size_t)(n - at))) <= 0) return NULL;
  }
  close(r->to);
  return NULL;
}

int main(int argc, char **argv) {
  int in[2], out[2];
  pthread_t threads[2];
  if (pipe(in) != 0 || pipe(out) != 0) return 1;
  static relay relays[2];
  relays[0] = (relay){STDIN_FILENO, in[1], 1};
  relays[1] = (relay){out[0], dup(STDOUT_FILENO), 2};
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, pass_on, &relays[i]) != 0) return 1;
  profiler_set_clock(&(profiler_clock){.monotonic_ns = far_ns, .realtime_ns = unix_ns});
  return tn_worker_main(in[0], out[1], argc, argv);
}
