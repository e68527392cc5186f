/* assembly.h: the innermost loops of assembly text, found by LLVM's comments. */
#ifndef TENON_TOOLS_ASSEMBLY_H
#define TENON_TOOLS_ASSEMBLY_H

#include "tools/tools.h"

enum { ASSEMBLY_MAX_DEPTH = 32 };

/* A loop of machine code. The list owns its texts. */
typedef struct assembly_loop {
  char *label;                            /* "BB1_26" */
  char *name;                             /* the program's loop, "k.outer"; "" where LLVM made the loop */
  int parents[ASSEMBLY_MAX_DEPTH], depth; /* numbers in the list of the loops around it, outermost first */
  bool is_inner;
  runtime_str code; /* only of an innermost loop: its instructions, one a line */
  int n_instructions;
} assembly_loop;

typedef RUNTIME_VEC(assembly_loop) assembly_loops;

/* Reads TEXT, assembly with LLVM's comments (tn_build_text with ".s"), into OUT, which assembly_free
 * releases in either case. False: out of memory. */
bool assembly_read(const char *text, assembly_loops *out);
void assembly_free(assembly_loops *loops);

#endif
