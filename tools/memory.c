/* memory.c: what the command does when memory runs out inside of a library that does not notice: jansson. */
#include <stdatomic.h>
#include <unistd.h>

#include "tools/tools.h"

/* JSON was built without some of its parts. */
static atomic_bool lacks_memory;

bool tools_lacks_memory(void) { return lacks_memory; }

/* jansson's reader does not notice that the text of a token could not grow. It goes on with a text that lacks characters:
 * an assertion fails, or it reads past the end. So such a text grows into a reserve when memory is out. The reader then stops at the
 * next value that it asks memory for. */
static char reserve[1 << 20];
static _Atomic size_t reserved; /* bytes of it that were given away; none comes back */

/* Texts double from 16 bytes. What else has such a size may come from the reserve, too. */
static bool is_growing_text(size_t bytes) { return bytes >= 32 && (bytes & (bytes - 1)) == 0; }

static void *reserved_memory(size_t bytes) {
  static const char text[] = "tenon: out of memory for a long JSON text\n";
  if (!is_growing_text(bytes)) return NULL;
  size_t begin = atomic_fetch_add(&reserved, bytes);
  if (begin <= sizeof reserve && bytes <= sizeof reserve - begin) return reserve + begin;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(TOOLS_FAILED);
}

/* jansson leaves out what it has no memory for, and few callers could say so: main says it at the end. */
static void *json_memory(size_t bytes) {
  void *data = malloc(bytes);
  if (data) return data;
  lacks_memory = true;
  return reserved_memory(bytes);
}

static void give_back(void *data) {
  uintptr_t begin = (uintptr_t)reserve, at = (uintptr_t)data;
  if (at < begin || at >= begin + sizeof reserve) free(data);
}

/* Before the first JSON value is made: values of both allocators must not mix. */
void tools_watch_json(void) { json_set_alloc_funcs(json_memory, give_back); }
