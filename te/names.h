/* names.h: a numbered list of names in which finding one among thousands is as quick as among two. */
#ifndef TENON_TE_NAMES_H
#define TENON_TE_NAMES_H

#include "runtime/base.h"

/* Zero-initialise; free with te_names_free. The names belong to the caller and must outlive the list. */
typedef struct te_names {
  RUNTIME_VEC(const char *) list;
  runtime_map map; /* hash of a name -> its number + 1 */
} te_names;

/* The number of NAME, from 0 in the order of adding; -1: it is not in the list. */
int te_names_find(const te_names *names, const char *name);
/* Gives the next number to NAME, which must not be in the list yet. False: no memory. */
bool te_names_add(te_names *names, const char *name);
void te_names_free(te_names *names);

#endif
