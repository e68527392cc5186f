/* report.h: a log's records of one program, as a page to look at or as a curve of text. */
#ifndef TENON_TOOLS_REPORT_H
#define TENON_TOOLS_REPORT_H

#include "tools/tools.h"

/* Writes the page OUT about the session's program or, where it has none, about the program of LOG's last
 * record. The page is one file that needs no network: curves and candidates (drawn by Chart.js, which it
 * contains), the winner's loops beside the generic schedule's, time by phase, failures by class, the
 * machine. It is written whole or not at all. Returns the exit status. */
int tools_write_report(tools_session *session, const char *log, const char *out);
/* Whether a page can be written at OUT: asked before hours go into what it is to show. False after a message. */
bool tools_check_report(tools_session *session, const char *out);

/* Prints how the best rate rose with the candidates, as text of 80 columns. Returns the exit status. */
int tools_print_curve(tools_session *session, const char *log);

/* ---- the constant parts of the page, from tools/page, embedded by the build; a zero ends each -------------------- */

extern const unsigned char tools_report_head[], tools_report_script[]; /* before and behind the page's data */
extern const size_t tools_report_head_bytes, tools_report_script_bytes;
/* Chart.js, minified. Its length is 0 when the build did not find it. */
extern const unsigned char tools_chart_js[];
extern const size_t tools_chart_js_bytes;

#endif
