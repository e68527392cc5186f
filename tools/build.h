/* build.h: what `tenon build` of one program (build.c) and of a network (build_tasks.c) share. */
#ifndef TENON_TOOLS_BUILD_H
#define TENON_TOOLS_BUILD_H

#include "tools/tools.h"

/* How a schedule came from a record of a similar program. */
typedef struct tools_transfer {
  char from[96]; /* that program's sizes, as in 512x512x512 */
  double gain;   /* how many times as fast as the generic schedule, as timed now */
} tools_transfer;

/* The fastest schedule that the log's records of similar programs give, timed here in turns with GENERIC.
 * NULL without a message: there are none, or none is clearly faster. */
tn_schedule *tools_transferred(tools_session *session, const char *log, const tn_schedule *generic,
                               tools_transfer *out);

/* What became of the programs that were built: how many have a record of their own, one of a similar
 * program, or none. */
typedef struct tools_found {
  const char *log;
  int n_exact, n_transferred, n_missing;
  int n_cut;             /* programs whose groups have records; what was used has been printed */
  runtime_str transfers; /* "from 512x512x512, 1.4 times the default; from ..." */
  double exact_s;        /* the time that the last record found has, in seconds */
  runtime_str missing;   /* lines of a network's file, for --missing */
} tools_found;

/* The schedule of the log's best record of the session's program. Without a record, and unless --strict
 * forbids it: that of a similar program's record if it is faster than the generic one, otherwise the
 * generic one. Counts it in FOUND. NULL after a message. */
tn_schedule *tools_find_schedule(tools_session *session, const tools_args *args, tools_found *found);
/* The schedule that chooses by size (--buckets); what each size got is printed. LOG may be NULL. NULL after
 * a message. */
tn_schedule *tools_bucket_schedule(tools_session *session, const tools_args *args, const char *log);
/* Prints the line that sums FOUND up, and writes the file of --missing. False after a message. Frees FOUND's texts. */
bool tools_tell_found(tools_session *session, const tools_args *args, tools_found *found);
/* Writes the kernel to OUT and its header to HEADER (may be NULL), both or neither. False after a message. */
bool tools_write_kernel(tools_session *session, const tn_schedule *schedule, const tn_build_options *build,
                        const char *out, const char *header);
/* Builds the distinct programs of a network's file into a folder. Returns the exit status. */
int tools_build_tasks(tools_session *session, const tools_args *args, const char *log);

#endif
