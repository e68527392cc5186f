/* traffic.h: what one run of loops must do and does, as far as loop IR tells: bytes that it needs, bytes that come from
 * memory, parallel loops that it starts. Kernels carry these figures into recordings. */
#ifndef TENON_SCHEDULE_TRAFFIC_H
#define TENON_SCHEDULE_TRAFFIC_H

#include "schedule/touch.h"

/* What one call of a lowered function moves between memory and the processor. */
typedef struct schedule_traffic {
  double bytes_read, bytes_written; /* distinct bytes of parameters: what no schedule can avoid. Reads whose
                                     indices are data count nothing here */
  double bytes_moved; /* past the last cache, by the loops, in whole lines: a column pulls the lines that it
                                     lies in, once for all columns in them where they stay so long. An estimate; never
                                     less than the distinct ones */
  double launches;    /* parallel loops that are started */
} schedule_traffic;

/* Of loop IR before any pass (schedule_lower), for a machine whose caches are known. False: no memory, or more
 * stores or buffers of one store than are looked at; OUT is zero then. */
bool schedule_traffic_of(const tir_func *f, const tn_machine *machine, schedule_traffic *out);

/* The outermost loop of STORE of which one run stays in a cache, 1 to 3, with all that other stores do in it. Its
 * depth:
 * none does. */
int touch_loop_in_cache(const touch_program *p, const touch_store *store, const tn_machine *m, int cache);
/* Bytes of a region that come into a cache that the loops from LEVEL on stay in; in whole lines. Loops around its ALLOC
 * use the same memory again. */
double touch_bytes_into(const touch_store *store, const touch_region *touched, int level);

#endif
