/* page.h: a schedule as a page to look at. */
#ifndef TENON_TOOLS_PAGE_H
#define TENON_TOOLS_PAGE_H

#include "tools/tools.h"

/* One HTML file without scripts, that needs no network: the loop tree, by which primitive each loop came to be, and the
 * machine code of the innermost loops. malloc'ed; NULL after a message. */
char *tools_schedule_page(tools_session *session, const tn_schedule *schedule, tn_build_part part);

#endif
