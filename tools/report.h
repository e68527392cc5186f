/* report.h: what a log holds of one program, as one page to look at. */
#ifndef TENON_TOOLS_REPORT_H
#define TENON_TOOLS_REPORT_H

#include "tools/tools.h"

/* Writes the page OUT about the session's program, or, where it has none, about the last program of LOG. The page is one file
 * that needs no network: curves and candidates (drawn by Chart.js, which is in it), the winner's loops beside the generic
 * schedule's, time by phase, failures by class, the machine. Whole or not at all. Returns the exit status. */
int tools_write_report(tools_session *session, const char *log, const char *out);
/* Whether a page can be written there, before hours go into what it is to show. False after a message. */
bool tools_check_report(tools_session *session, const char *out);

/* Prints how the best rate rose from candidate to candidate, of the same program, as text of 80 columns. */
int tools_print_curve(tools_session *session, const char *log);

/* ---- the parts of the page that are the same in each: tools/page, embedded by the build; bytes, ended by a zero ------ */

extern const unsigned char tools_report_head[], tools_report_script[]; /* up to the data, which is DATA; behind it */
extern const size_t tools_report_head_bytes, tools_report_script_bytes;
/* Chart.js, minified, as the build found it; of no length: it was not there. */
extern const unsigned char tools_chart_js[];
extern const size_t tools_chart_js_bytes;

#endif
