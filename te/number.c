/* number.c: floats as the text form writes them. */
#include <string.h>

#include "te/internal.h"

void te_format_float(runtime_str *out, double value, tn_dtype dtype) {
  char text[RUNTIME_FLOAT_TEXT];
  runtime_str_add(out, runtime_float_text(text, value, dtype));
  if (!strpbrk(text, ".en")) runtime_str_add(out, ".0"); /* inf and nan are words */
}
