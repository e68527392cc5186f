/* progress.h: shows how far a long run has come: one live line on a terminal, a few plain lines elsewhere. */
#ifndef TENON_TOOLS_PROGRESS_H
#define TENON_TOOLS_PROGRESS_H

#include "tools/tools.h"

/* The state between two drawings; made by tools_progress_begin. */
typedef struct tools_progress {
  tools_session *session;
  FILE *stream;      /* NULL: say nothing */
  bool is_live;      /* stream is a terminal */
  int lines_printed; /* plain lines so far */
  uint64_t shown_ns; /* when the live line was last drawn */
} tools_progress;

/* Standard output, or with JSON_OUT standard error and only when it is a terminal. */
tools_progress tools_progress_begin(tools_session *session, bool json_out);
void tools_progress_show(tools_progress *show, const tn_progress *progress);
void tools_progress_show_tasks(tools_progress *show, const tn_tasks_progress *progress);
/* Clears the live line. */
void tools_progress_end(tools_progress *show);

#endif
