/* stack.c: runs work that needs more stack than a host's thread may have. Recursion over a program as deep
 * as the limits allow takes a few MB. A host may call Tenon on a thread with 64 KB, and LLVM recurses, too. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base.h"

/* The stack of the thread that such work runs on. */
enum { THREAD_BYTES = 8 << 20 };

/* Work for a thread with a larger stack. The caller waits for it, so this is on the caller's stack. */
typedef struct errand {
  void (*run)(void *data);
  void *data;
  const void *observed; /* what the observer returned when it was sent */
} errand;

/* The stack that the calling thread has left. The first thread's stack grows up to its limit. */
static size_t bytes_left(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t bytes = 0;
  struct rlimit limit;
  if (gettid() == getpid()) return getrlimit(RLIMIT_STACK, &limit) == 0 ? (size_t)limit.rlim_cur : SIZE_MAX;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return (size_t)((const char *)__builtin_frame_address(0) - (const char *)lowest);
}

/* Touches the stack at that distance below the caller. */
static __attribute__((noinline)) void grow(size_t bytes) {
  volatile char *lowest = alloca(bytes);
  *lowest = 0;
}

/* The first thread's stack grows when it is touched. Under a limit of address space, the kernel ends a
 * process that touches it when there is no room to grow. So it is made to grow beforehand, while other
 * allocations cannot take that room. */
static bool make_room(size_t bytes) {
  struct rlimit space;
  if (gettid() != getpid() || getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return true;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), lowest = (uintptr_t)__builtin_frame_address(0) - bytes;
  unsigned char is_in_memory;
  if (mincore((void *)(lowest & ~(page - 1)), 1, &is_in_memory) == 0) return true; /* it has grown before */
  void *room = mmap(NULL, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes + page);
  grow(bytes);
  return true;
}

/* The function that pthread_create calls. */
static void *do_errand(void *data) {
  const errand *e = data;
  runtime_the_errand_observer.arrived(e->observed);
  e->run(e->data);
  return NULL;
}

/* Signals are blocked in the thread, since the host's are not meant for it. */
static bool run_elsewhere(errand *e) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool made = pthread_attr_setstacksize(&attributes, THREAD_BYTES) == 0 &&
              pthread_create(&thread, &attributes, do_errand, e) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (made) pthread_join(thread, NULL);
  return made;
}

/* Checks first, since starting a thread takes some ten microseconds and most callers have enough stack. */
bool runtime_with_stack(size_t bytes, void (*run)(void *data), void *data) {
  if (bytes_left() < bytes) return run_elsewhere(&(errand){run, data, runtime_the_errand_observer.sent()});
  if (!make_room(bytes)) return false;
  run(data);
  return true;
}
