/* page.h: a schedule as a page to look at. */
#ifndef TENON_TOOLS_PAGE_H
#define TENON_TOOLS_PAGE_H

#include "tools/tools.h"

/* The page of a schedule: one HTML file without scripts that needs no network. It has the loop tree, which
 * primitive made each loop, and the machine code of the innermost loops. malloc'ed; NULL after a message. */
char *tools_schedule_page(tools_session *session, const tn_schedule *schedule, tn_build_part part);

#endif
