/* stack.c: the C call stack of a scope as text: names of exported functions, otherwise the object and the
 * offset in it. It contains no folders, since traces are passed on to others. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>

#include "runtime/profiler/state.h"

/* The innermost frames of a stack that are kept. */
enum { MAX_FRAMES = 32 };

/* Static functions have no name here: they are shown as an offset, which addr2line resolves. */
static void frame_text(const void *address, char *text, size_t n) {
  Dl_info info;
  if (!dladdr(address, &info)) {
    snprintf(text, n, "?");
  } else if (info.dli_sname) {
    snprintf(text, n, "%s", info.dli_sname);
  } else {
    const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    const char *object = slash ? slash + 1 : info.dli_fname ? info.dli_fname : "?";
    snprintf(text, n, "%s+0x%zx", object, (size_t)((const char *)address - (const char *)info.dli_fbase));
  }
}

/* Outermost first, as flame graphs expect; the SKIP innermost frames are the recorder's own. What does not
 * fit is cut off. */
void profiler_stack_text(int skip, char *text, size_t n) {
  void *frames[MAX_FRAMES];
  int n_frames = backtrace(frames, MAX_FRAMES);
  size_t used = 0;
  text[0] = '\0';
  for (int i = n_frames; i-- > skip && used + 1 < n;) {
    char frame[256];
    frame_text(frames[i], frame, sizeof frame);
    int wrote = snprintf(text + used, n - used, "%s%s", used ? ";" : "", frame);
    used += wrote < 0 ? 0 : (size_t)wrote;
  }
}
