/* script.h: what the two files of the structured form share: names and expressions as TVMScript writes them. */
#ifndef TENON_SCHEDULE_SCRIPT_H
#define TENON_SCHEDULE_SCRIPT_H

#include "schedule/lowering.h"

/* What a variable (by its tir_var), a tensor or a buffer is called; each name once among those that are in scope. */
typedef struct script_name {
  const void *of;
  const char *text;
} script_name;

/* The printer of TVMScript: where the text goes, how deep it stands, and the names that it has given, which are the
 * names in the program made different from each other. */
typedef struct script {
  lowering *l;
  runtime_str *out;
  int depth;
  int n_names, cap_names;
  script_name *names;
} script;

/* Calls OF something like NAME: what is no letter or digit becomes '_', and a word that is taken, or Python's, gets a
 * number behind it. It is in scope until n_names is put back. */
const char *script_add_name(script *s, const void *of, const char *name);
/* Calls OF what something in scope is called. */
void script_share_name(script *s, const void *of, const char *text);
/* NULL: it has none. */
const char *script_find_name(const script *s, const void *of);
/* A te expression, or one of loop variables, as a Python expression. */
void script_print_expr(const script *s, const tir_expr *e);
/* "A[v_i, v_k]"; an index that reads memory is its whole dimension where IS_REGION. */
void script_print_read(const script *s, const tir_expr *read, bool is_region);

#endif
