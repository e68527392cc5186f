/* build.h: what `tenon build` of one program (build.c) and of a network (build_tasks.c) share. */
#ifndef TENON_TOOLS_BUILD_H
#define TENON_TOOLS_BUILD_H

#include "tools/tools.h"

/* The schedule of a program that is like another one. */
typedef struct tools_transfer {
  char from[96]; /* its sizes */
  double gain;   /* how many times as fast as the generic schedule, as timed now */
} tools_transfer;

/* The fastest schedule that records of programs like the session's give, timed here beside GENERIC. NULL: none is clearly
 * faster, or there are none; no message. */
tn_schedule *tools_transferred(tools_session *session, const char *log, const tn_schedule *generic,
                               tools_transfer *out);

/* What became of the programs: a record of theirs was used, one of a program like theirs, or there is none. */
typedef struct tools_found {
  const char *log;
  int n_exact, n_transferred, n_missing;
  int n_cut;             /* by records of their groups, which were told */
  runtime_str transfers; /* "from 512x512x512, 1.4 times the default; from ..." */
  double exact_s;        /* the record's time, of the last one */
  runtime_str missing;   /* lines of a network's file */
} tools_found;

/* The schedule of the log's best record of the session's program. Where there is none and the line does not say --strict: that of
 * a record of a program like it, where it is faster than the generic one, or else the generic one. NULL after a message. */
tn_schedule *tools_find_schedule(tools_session *session, const tools_args *args, tools_found *found);
/* The schedule of --buckets; what each size has is printed. LOG may be NULL. NULL after a message. */
tn_schedule *tools_bucket_schedule(tools_session *session, const tools_args *args, const char *log);
/* Prints the one line about it, and writes the missing ones to the file of --missing. False after a message. Frees FOUND's text. */
bool tools_tell_found(tools_session *session, const tools_args *args, tools_found *found);
/* Writes the kernel to OUT and its header to HEADER (may be NULL), both or neither; NAME NULL: kernel. False after a message. */
bool tools_write_kernel(tools_session *session, const tn_schedule *schedule, const tn_build_options *build,
                        const char *out, const char *header);
/* Builds the distinct programs of a network's file into a folder. Returns the exit status. */
int tools_build_tasks(tools_session *session, const tools_args *args, const char *log);

#endif
