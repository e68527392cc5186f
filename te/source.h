/* source.h: the files that a program's text comes from. A file is read with all that it includes into one text, which
 * the parser reads like any other; a place in that text is told as a place in the file that it is from. */
#ifndef TENON_TE_SOURCE_H
#define TENON_TE_SOURCE_H

#include "runtime/base.h"

/* A file that was read. Its text lives as long as the sources. */
typedef struct te_file {
  char *path, *text; /* malloc'ed */
  uint64_t device, inode;
  bool is_open;            /* what it includes is being read */
  int parent;              /* the file that includes it; -1: none does */
  const char *included_at; /* in the parent's text */
} te_file;

/* From BEGIN on the text is that of FILE from OFFSET on. */
typedef struct te_piece {
  size_t begin, offset;
  int file;
} te_piece;

/* Zero-initialise. */
typedef struct te_sources {
  tn_context *ctx;
  RUNTIME_VEC(te_file) files;   /* the first one is the file that was asked for */
  RUNTIME_VEC(te_piece) pieces; /* in the order of the text */
  runtime_str text;
} te_sources;

/* Reads the file PATH and what it includes into SOURCES->text. A file that was read before is left out. False after a
 * message, which names the file and the line: a file that is none, that includes itself, or too much. */
bool te_read_sources(tn_context *ctx, te_sources *sources, const char *path);
void te_free_sources(te_sources *sources);
/* Says TEXT about the place AT of the sources' text. */
tn_status te_fail_in_sources(const te_sources *sources, const char *at, const char *text);
/* The file that AT is from, and its line, counted from 1. */
const te_file *te_source_of_place(const te_sources *sources, const char *at, int *line);
/* NAME beside the file that AT is from, on the heap: "dir/other.te" for "other.te" in "dir/main.te". NULL: no
 * memory. */
TN_GIVE char *te_path_beside(const te_file *file, const char *name, size_t length);

#endif
