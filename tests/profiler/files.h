/* files.h: what the rows of files and views share: a recording with everything in it, checkers that are run as
 * programs, comparing recordings by their bytes. */
#ifndef TENON_TESTS_PROFILER_FILES_H
#define TENON_TESTS_PROFILER_FILES_H

#include "profile/files.h"
#include "tests/profiler/rows.h"

/* Two processes, three threads and a device: scopes, ranges, marks, counters, flows and memory of every sort, arguments
 * at the ends of their types, names that need escapes. */
tn_recording *files_rich(void);
/* A name with quotes, backslashes, control characters, UTF-8, and bytes that are not. */
extern const char files_odd_name[];

/* A path in this process's own folder below /tmp, removed at the end of the process. */
const char *files_path(char path[256], const char *name);
/* Runs a shell command, which may have a %s for a path, and returns what it printed; the row fails if its status is not
 * STATUS. Free it. */
char *files_run(int status, const char *fmt, ...) TN_PRINTF(2, 3);
/* Saves under that name and loads again; both must work. */
tn_recording *files_round_trip(const tn_recording *r, const char *name);
/* Equal in every form: .tnprof, Chrome, XSpace, CSV, report. */
void files_same(const tn_recording *a, const tn_recording *b);
void files_same_form(const tn_recording *a, const tn_recording *b, tn_profile_form form);
/* Feeds N mutations of every byte string to READ, which frees what it made: an error or success, never a crash. */
void files_fuzz(const char *data, size_t n_bytes, int64_t n, void (*read)(const void *data, size_t n));
#define FILES_CHECK "python3 " TENON_SOURCE_DIR "/tests/profiler/"

#endif
