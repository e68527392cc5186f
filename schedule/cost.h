/* cost.h: what pieces of work take on a machine, in nanoseconds of one thread, from the machine's constants
 * (tn_machine). Families add such pieces up to the cost of a plan. Nothing here knows a processor. */
#ifndef TENON_SCHEDULE_COST_H
#define TENON_SCHEDULE_COST_H

#include "schedule/schedule.h"

enum { COST_LINE = 64, COST_PAGE = 4096 };
enum { COST_MOST_APART = 4 }; /* elements between lanes that shuffles bring together (codegen/emit_stride.c) */

/* Zeros of GIVEN (NULL: all) replaced: sizes by usual ones, costs by those of a plain machine that has two
 * multiply-adds and two loads in each cycle. */
tn_machine cost_fill_machine(const tn_machine *given);
/* One multiply-add of vectors of BYTES. */
double cost_fma(const tn_machine *m, int bytes);
/* One dot product of GROUPs of lanes, of the widest vectors. */
double cost_dot(const tn_machine *m, int group);
/* The load of so many bytes side by side from the first cache: a whole vector's, or of one of 32 bytes or less. */
double cost_load(const tn_machine *m, int bytes);
/* The smallest level, 1 to 4, that holds BYTES beside other things. */
int cost_level(const tn_machine *m, double bytes);
/* A level that holds BYTES as a place. The last cache counts in part: other cores and other tenants use it, too, and the more is
 * read between two uses of a line, the likelier it is gone. 1, 2, 4, or between 3 and 4. */
double cost_place(const tn_machine *m, int level, double bytes);
/* What NEAR says of the level below a place, and FAR of the one above, in parts. */
double cost_between(double place, double near, double far);
/* What it takes longer than a stream to go to LINES neighbours of a page that nobody knows of any more, and then to those of
 * another one: measured of one line, and of sixteen; more are found as a stream is. */
double cost_visit(const tn_machine *m, int level, double lines);
/* What it takes longer to go through ROWS of ROW bytes by pieces of WIDTH bytes, one piece of each row after the other, than row by
 * row: a piece brings the rest of its lines and the line behind it; where rows are farther apart than a page nobody guesses
 * where the next one lies. BYTES: of all rows. */
double cost_pieces(const tn_machine *m, double rows, double width, double row, double bytes);
/* What VECTORS loads take longer of rows of ROW bytes that are no whole lines, so that most of them span two: loads of whole vectors, one
 * behind the other. From the second cache neither load hides behind the lines that come. BYTES: of all rows. */
double cost_spanning(const tn_machine *m, double vectors, double row, double bytes);
double cost_line_at(const tn_machine *m, double place, bool is_shared);
/* 64 bytes in a stream from LEVEL, as one of so many threads. 0 for the first level: its loads are counted as such. */
double cost_line(const tn_machine *m, int level, bool is_shared);
/* BYTES written in a stream that LEVEL holds, or past the caches. */
double cost_write(const tn_machine *m, double bytes, int level, bool is_shared, bool streams);
/* Of the sets of a LEVEL, those that rows STRIDE bytes apart begin in. */
double cost_sets(const tn_machine *m, int level, double stride);
/* Of a stream of BYTES that comes again and again the part that LEVEL, 1 to 3, does not hold any more. */
double cost_missed(const tn_machine *m, int level, double bytes);
/* Of BYTES that are used again and again the part that the last cache lost although it is as large: lines fall into its sets by chance,
 * and some sets get more of them than they hold. */
double cost_lost(const tn_machine *m, double bytes);
/* READ bytes come in a stream and WRITTEN bytes go in one, side by side. */
double cost_stream(const tn_machine *m, double read, double written, bool is_shared, bool streams);
/* How many bytes of cache LEVEL (1 or 2) rows of ROW_BYTES can use that lie STRIDE bytes apart: those a power of two
 * apart fall into a few sets. */
double cost_reached(const tn_machine *m, int level, double row_bytes, double stride);
/* The same of rows that begin in so many sets. */
double cost_reached_by(const tn_machine *m, int level, double row_bytes, double sets_begun);
/* Of ROWS streams that go side by side, STRIDE bytes apart, the part that the first cache cannot keep, 0 to 1. */
double cost_conflict(const tn_machine *m, double rows, double stride);
/* ROWS streams that go side by side, STRIDE bytes apart, each with LINES of its own at a time: the part of all those
 * lines that are gone when they are used again: in sets of the first cache with more of them than ways all or a part, in other sets
 * what is more than the KEPT ways. */
double cost_crowded(const tn_machine *m, int rows, int lines, double stride, int kept);
/* The same of such rows in several PLANES that lie PLANE bytes apart. */
double cost_crowded_planes(const tn_machine *m, int planes, double plane, int rows, int lines, double stride, int kept);
/* Ways of a set of the first cache that keep what comes again; what else streams by takes the others. */
int cost_ways(const tn_machine *m);
/* Nanoseconds of one lane that takes an element, of BYTES, from any place of a table of so many ELEMENTS that registers hold
 * (codegen/emit_small_table.c, whose limits these are; of bytes only where the processor shuffles them, which machines do not say).
 * INFINITY: they do not. */
double cost_table(const tn_machine *m, double bytes, double elements);
/* An element of BYTES of vectors whose lanes lie STRIDE elements apart in memory, more than side by side: backwards and up to
 * four apart by loads, or stores, and shuffles. */
double cost_apart(const tn_machine *m, double bytes, int64_t stride);
/* NS of one thread, cut into PARTS that are equal, on THREADS. */
double cost_threads(const tn_machine *m, double ns, double parts);
/* The same of parts that are BLOCK of all, but for the last, which is LAST: the busiest thread counts. */
double cost_blocks(const tn_machine *m, double ns, double parts, double block, double last);
/* Two kinds of work that partly hide each other. */
double cost_overlap(double a, double b);
/* What takes so long that beside A it makes BOTH: the inverse of cost_overlap. */
double cost_hidden(double both, double a);

#endif
