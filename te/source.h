/* source.h: the files that a program's text comes from. A file is read together with all that it includes
 * into one text, which the parser reads like any other. Messages give a place in that text as a place in
 * its file. */
#ifndef TENON_TE_SOURCE_H
#define TENON_TE_SOURCE_H

#include "runtime/base.h"

/* A file that was read. te_free_sources frees its text and path. */
typedef struct te_file {
  char *path, *text; /* malloc'ed */
  uint64_t device, inode;
  bool is_open;            /* its includes are being read */
  int parent;              /* the number of the file that includes it; -1: none */
  const char *included_at; /* the include statement in the parent's text */
} te_file;

/* From offset BEGIN on, the whole text is that of FILE from OFFSET on. */
typedef struct te_piece {
  size_t begin, offset;
  int file;
} te_piece;

/* Zero-initialise; free with te_free_sources. */
typedef struct te_sources {
  tn_context *ctx;
  RUNTIME_VEC(te_file) files;   /* the first is the one that was asked for */
  RUNTIME_VEC(te_piece) pieces; /* in the order of the whole text */
  runtime_str text;
} te_sources;

/* Reads the file PATH and what it includes into SOURCES->text. A file that was read before is not read
 * again. False after a message with file and line: not a file, a file that includes itself, or too much
 * text. */
bool te_read_sources(tn_context *ctx, te_sources *sources, const char *path);
void te_free_sources(te_sources *sources);
/* Reports TEXT at the place AT of the whole text. */
tn_status te_fail_in_sources(const te_sources *sources, const char *at, const char *text);
/* The file that AT comes from, and its line, from 1. */
const te_file *te_source_of_place(const te_sources *sources, const char *at, int *line);
/* The path of NAME next to FILE, malloc'ed: "dir/other.te" for "other.te" and "dir/main.te". NULL: no memory. */
TN_GIVE char *te_path_beside(const te_file *file, const char *name, size_t length);

#endif
