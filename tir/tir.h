/* tenon/tir.h: the loop IR as far as users see it: a lowered function that can be printed. */
#ifndef TENON_TIR_H
#define TENON_TIR_H

#include "runtime/runtime.h"

#endif
