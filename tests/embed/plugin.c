/* plugin.c: the part of a host that uses Tenon, as a shared object. What loads it names nothing of Tenon's. */
#include "embed.h"

__attribute__((visibility("default"))) int run_plugin(void) {
  embed_kernel k = embed_new();
  embed_check(&k);
  embed_free(&k);
  return 0;
}
