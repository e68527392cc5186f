/* new_file.h: files that get their name when they are complete: neither a failure nor a kill leaves half a file, or a
 * changed one. Where the file system knows no files without a name, a kill leaves PATH.<process>-<n>.tmp. */
#ifndef TENON_RUNTIME_NEW_FILE_H
#define TENON_RUNTIME_NEW_FILE_H

#include <stdio.h>

#include "runtime/base.h"

/* A file that nobody sees before it is whole. */
typedef struct runtime_new_file {
  int fd;     /* to write to; -1: none */
  char *name; /* NULL: it has none yet */
} runtime_new_file;

/* In the folder of PATH, with the mode that a new file gets. False with errno. */
bool runtime_new_file_open(runtime_new_file *f, const char *path);
/* The same with a name from the beginning, for programs that make their output anew. */
bool runtime_new_file_open_named(runtime_new_file *f, const char *path);
/* A stream onto it, the caller's: close it before the file is kept or dropped. NULL with errno. */
FILE *runtime_new_file_stream(const runtime_new_file *f);
/* Closes it and moves it to PATH, in place of what is there. False with errno: then nothing is left of it. */
bool runtime_new_file_keep(runtime_new_file *f, const char *path);
void runtime_new_file_drop(runtime_new_file *f);
/* Where other processes find it, as long as this one has it open. */
void runtime_new_file_place(const runtime_new_file *f, char *place, size_t n);

#endif
