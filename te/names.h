/* names.h: an index of names, so that finding one among thousands takes no longer than among two. */
#ifndef TENON_TE_NAMES_H
#define TENON_TE_NAMES_H

#include "runtime/base.h"

/* Zero-initialise. Names are the caller's, and must live as long as the index. */
typedef struct te_names {
  int n, capacity;
  struct te_name {
    const char *name; /* NULL: free */
    int value;
  } *slots;
} te_names;

/* What NAME was added with; -1: it was not. */
int te_names_find(const te_names *names, const char *name);
/* VALUE >= 0. A name that is there keeps its value. False: out of memory. */
bool te_names_add(te_names *names, const char *name, int value);
void te_names_free(te_names *names);

#endif
