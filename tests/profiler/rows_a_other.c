/* A second translation unit for row A2: its literal is another object with the same text. */
#include "tests/profiler/rows.h"

void rows_other_unit(void);
void rows_other_unit(void) { TN_TIMED("a literal of two units"); }
