/* memory.c: what the command does when jansson, which does not always notice, runs out of memory. */
#include <stdatomic.h>
#include <unistd.h>

#include "tools/tools.h"

/* Whether jansson was refused memory at any time: JSON may lack parts. */
static atomic_bool lacks_memory;

bool tools_lacks_memory(void) { return lacks_memory; }

/* jansson's reader does not notice when the text of a token could not grow. It would go on with a text that
 * lacks characters: an assertion fails, or it reads past the end. So such a text grows into this reserve
 * when memory is out. The reader then stops at the next value, whose memory it does check. */
static char reserve[1 << 20];
static _Atomic size_t reserved; /* bytes of it that were given away; they never come back */

/* Whether a request looks like a growing text: these double from 16 bytes. Other requests of such a size
 * may get the reserve, too. */
static bool is_growing_text(size_t bytes) { return bytes >= 32 && (bytes & (bytes - 1)) == 0; }

/* Memory from the reserve; NULL for other requests. Ends the process when the reserve is used up: nothing
 * safe is left to do. */
static void *reserved_memory(size_t bytes) {
  static const char text[] = "tenon: out of memory for a long JSON text\n";
  if (!is_growing_text(bytes)) return NULL;
  size_t begin = atomic_fetch_add(&reserved, bytes);
  if (begin <= sizeof reserve && bytes <= sizeof reserve - begin) return reserve + begin;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(TOOLS_FAILED);
}

/* jansson's malloc. It leaves out what it has no memory for, and few callers could tell, so main tells at the end. */
static void *json_memory(size_t bytes) {
  void *data = malloc(bytes);
  if (data) return data;
  lacks_memory = true;
  return reserved_memory(bytes);
}

/* jansson's free: the reserve is not the heap's. */
static void give_back(void *data) {
  uintptr_t begin = (uintptr_t)reserve, at = (uintptr_t)data;
  if (at < begin || at >= begin + sizeof reserve) free(data);
}

/* Has to come before the first JSON value is made: memory of both allocators must not mix. */
void tools_watch_json(void) { json_set_alloc_funcs(json_memory, give_back); }
