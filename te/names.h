/* names.h: a numbered list of names, in which finding one among thousands takes no longer than among two. */
#ifndef TENON_TE_NAMES_H
#define TENON_TE_NAMES_H

#include "runtime/base.h"

/* Zero-initialise. Names are the caller's, and must live as long as the list. */
typedef struct te_names {
  RUNTIME_VEC(const char *) list;
  runtime_map map; /* hash of a name -> its number + 1 */
} te_names;

/* The number of NAME, counted from 0 in the order of adding; -1: it is not in the list. */
int te_names_find(const te_names *names, const char *name);
/* Gives the next number to NAME, which is not in the list yet. False: out of memory. */
bool te_names_add(te_names *names, const char *name);
void te_names_free(te_names *names);

#endif
