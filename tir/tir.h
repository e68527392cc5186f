/* tenon/tir.h: the loop IR's public header. Users see loop IR as text (tn_schedule_print, TN_FORM_TIR); it declares
 * nothing of its own yet and keeps the folder's place among the headers. */
#ifndef TENON_TIR_H
#define TENON_TIR_H

#include "runtime/runtime.h"

#endif
