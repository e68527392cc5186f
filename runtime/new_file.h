/* new_file.h: files that get their name only when they are complete, so that neither a failure nor a kill
 * leaves half a file or a changed one. On file systems without nameless files a kill leaves
 * PATH.<process>-<n>.tmp. */
#ifndef TENON_RUNTIME_NEW_FILE_H
#define TENON_RUNTIME_NEW_FILE_H

#include <stdio.h>

#include "runtime/base.h"

/* A file that nobody sees before it is complete. */
typedef struct runtime_new_file {
  int fd;     /* to write to; -1: none */
  char *name; /* NULL: it has no name yet */
} runtime_new_file;

/* Makes a file in the folder of PATH, with the mode of any new file. False with errno. */
bool runtime_new_file_open(runtime_new_file *f, const char *path);
/* The same with a name from the beginning, for programs that replace their output file themselves. */
bool runtime_new_file_open_named(runtime_new_file *f, const char *path);
/* A stream that writes to it. The caller closes it before the file is kept or dropped. NULL with errno. */
FILE *runtime_new_file_stream(const runtime_new_file *f);
/* Closes the file and moves it to PATH, replacing what is there. False with errno: then nothing of it is left. */
bool runtime_new_file_keep(runtime_new_file *f, const char *path);
void runtime_new_file_drop(runtime_new_file *f);
/* Writes the path under which other processes can open it while this one has it open. */
void runtime_new_file_place(const runtime_new_file *f, char *place, size_t n);

#endif
