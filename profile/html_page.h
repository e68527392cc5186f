/* html_page.h: the constant parts of the page that html.c writes. */
#ifndef TENON_PROFILE_HTML_PAGE_H
#define TENON_PROFILE_HTML_PAGE_H

extern const char profiler_html_head[];   /* up to <body> */
extern const char profiler_html_script[]; /* draws the timeline of the constant DATA */

#endif
