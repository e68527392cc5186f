/* assembly.h: the innermost loops of an assembly text, as LLVM's comments tell them. */
#ifndef TENON_TOOLS_ASSEMBLY_H
#define TENON_TOOLS_ASSEMBLY_H

#include "tools/tools.h"

enum { ASSEMBLY_MAX_DEPTH = 32 };

/* A loop of machine code. Its texts belong to the list. */
typedef struct assembly_loop {
  char *label;                            /* "BB1_26" */
  char *name;                             /* the program's loop, "k.outer"; "" where LLVM made the loop */
  int parents[ASSEMBLY_MAX_DEPTH], depth; /* the loops around it, outermost first, by number; how many */
  bool is_inner;
  runtime_str code; /* of an inner one: its instructions, a line each */
  int n_instructions;
} assembly_loop;

typedef RUNTIME_VEC(assembly_loop) assembly_loops;

/* Reads TEXT, assembly with LLVM's comments (tn_build_text with ".s"). False: out of memory. */
bool assembly_read(const char *text, assembly_loops *out);
void assembly_free(assembly_loops *loops);

#endif
