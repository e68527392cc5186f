/* cut.h: a large program as a network of its groups (cut.c). */
#ifndef TENON_TOOLS_CUT_H
#define TENON_TOOLS_CUT_H

#include "tools/tools.h"

/* Whether the session's program is tuned group by group: because the line says so, or because it is too
 * large to be tuned as one. */
bool tools_is_cut(const tools_session *session, const tools_args *args);
/* Makes the groups of WHOLE's program into tasks. A group's count is multiplied by WHOLE's, and WHOLE's
 * weight and inputs are passed on. tn_network_free releases OUT. False after a message. */
bool tools_cut_task(tools_session *session, const tn_task *whole, tn_network *out);
/* The schedule that LOG's records of the program's groups make together. SESSION->cut tells what was used.
 * NULL: there are no such records, or the program cannot be cut; a message only when memory ran out. */
tn_schedule *tools_cut_schedule(tools_session *session, const char *log);
/* How many groups, each counted as often as it occurs, no record was used for. */
int tools_cut_missing(const tn_cut *cut);
/* Prints for each group whether a record of LOG was used, and its time. */
void tools_tell_cut(const tn_cut *cut, const char *log);

#endif
