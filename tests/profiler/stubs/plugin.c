/* The plug-ins of rows D1 to D5: one source, and a variant of it for each thing that can be wrong; the build gives
 * VARIANT. stub_calls counts what the core calls; a test reads it with dlsym. */
#include "profile/profiler_plugin.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
  FINE,
  FAIL_INIT, /* at once */
  HALF_INIT, /* after it has set its destroy functions */
  FAIL_START,
  FAIL_STOP,
  FAIL_SIZE,
  FAIL_FILL,
  OLDER, /* built with a header in which profiler.name was not yet there */
  NEWER, /* with one that has a member more in each struct */
  ZERO_SIZE,
  NO_FUNCTION,
  NO_TYPE,
  BAD_TYPE,
  NO_DATA, /* its device is absent */
  GARBAGE  /* hands over what is no XSpace */
};

#define EXPORT __attribute__((visibility("default")))

typedef enum stub_call { START, STOP, SIZE, FILL, DESTROY_PROFILER, DESTROY_FNS, STUB_CALLS } stub_call;
EXPORT int stub_calls[STUB_CALLS];

/* XSpace {1: XPlane {2: "/device:CUSTOM:STUB", 3: XLine {2: "line", 3: 0, 4: XEvent {1: 1, 2: 0, 3: 1000}},
 * 4: {1: 1, 2: {1: 1, 2: "stub"}}}} */
static const uint8_t space[] = {10,  54,  18,  19,  '/', 'd', 'e', 'v', 'i', 'c', 'e', ':', 'C',  'U',
                                'S', 'T', 'O', 'M', ':', 'S', 'T', 'U', 'B', 26,  17,  18,  4,    'l',
                                'i', 'n', 'e', 24,  1,   34,  7,   8,   1,   16,  0,   24,  0xe8, 7,
                                34,  12,  8,   1,   18,  8,   8,   1,   18,  4,   's', 't', 'u',  'b'};
enum { SPACE_BYTES = sizeof space };
static size_t left; /* bytes to be collected */

static void fail(tn_plugin_status *status, int variant, const char *text) {
  if (VARIANT == variant) tn_plugin_set_status(status, TN_PLUGIN_INTERNAL, text);
}

static void start(const tn_plugin_profiler *profiler, tn_plugin_status *status) {
  (void)profiler;
  ++stub_calls[START];
  left = VARIANT == NO_DATA ? 0 : SPACE_BYTES;
  fail(status, FAIL_START, "no start today");
}

static void stop(const tn_plugin_profiler *profiler, tn_plugin_status *status) {
  (void)profiler;
  ++stub_calls[STOP];
  fail(status, FAIL_STOP, "no stop today");
}

static void collect(const tn_plugin_profiler *profiler, uint8_t *buffer, size_t *size, tn_plugin_status *status) {
  (void)profiler;
  size_t room = *size;
  ++stub_calls[buffer ? FILL : SIZE];
  *size = left;
  fail(status, buffer ? FAIL_FILL : FAIL_SIZE, buffer ? "no filling today" : "no size today");
  if (!buffer || left == 0) return;
  if (room < left) {
    tn_plugin_set_status(status, TN_PLUGIN_FAILED_PRECONDITION, "the buffer is too small");
    return;
  }
  memcpy(buffer, space, left);
  if (VARIANT == GARBAGE) memset(buffer, 0xff, left);
  left = 0;
}

static void destroy_profiler(tn_plugin_profiler *profiler) {
  (void)profiler;
  ++stub_calls[DESTROY_PROFILER];
}

static void destroy_fns(tn_plugin_profiler_fns *fns) {
  (void)fns;
  ++stub_calls[DESTROY_FNS];
}

/* N bytes that end where readable memory ends. */
static void *at_page_end(size_t n) {
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) != 0) abort();
  return pages + 4096 - n;
}

/* Structs of its own, of the sizes of another version of the header, with nothing behind them. */
static void use_own_structs(tn_plugin_registration *params, size_t profiler_bytes, size_t fns_bytes) {
  params->profiler = at_page_end(profiler_bytes);
  params->profiler->struct_size = profiler_bytes;
  params->profiler_fns = at_page_end(fns_bytes);
  params->profiler_fns->struct_size = fns_bytes;
}

EXPORT void tn_plugin_init(tn_plugin_registration *params, tn_plugin_status *status) {
  if (VARIANT == FAIL_INIT) {
    fail(status, FAIL_INIT, "no init today");
    return;
  }
  params->destroy_profiler = destroy_profiler;
  params->destroy_profiler_fns = destroy_fns;
  fail(status, HALF_INIT, "half an init");
  if (VARIANT == HALF_INIT) return;
  params->profiler->struct_size = TN_PLUGIN_PROFILER_SIZE;
  params->profiler_fns->struct_size = TN_PLUGIN_PROFILER_FNS_SIZE;
  if (VARIANT == OLDER) use_own_structs(params, TN_PLUGIN_PROFILER_SIZE_0_1, TN_PLUGIN_PROFILER_FNS_SIZE);
  if (VARIANT == NEWER)
    use_own_structs(params, TN_PLUGIN_PROFILER_SIZE + sizeof(void *), TN_PLUGIN_PROFILER_FNS_SIZE + sizeof(void *));
  if (VARIANT == ZERO_SIZE) params->profiler->struct_size = 0;
  params->profiler->device_type = VARIANT == NO_TYPE ? NULL : VARIANT == BAD_TYPE ? "not a type" : "STUB";
  if (VARIANT != OLDER) params->profiler->name = "stub";
  params->profiler_fns->start = start;
  params->profiler_fns->stop = VARIANT == NO_FUNCTION ? NULL : stop;
  params->profiler_fns->collect_data_xspace = collect;
}
