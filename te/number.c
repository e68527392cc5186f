/* number.c: floats as the text form writes them. */
#include <string.h>

#include "te/internal.h"

/* A float always has a point, an exponent or a letter, so that it is not read back as an integer. */
void te_format_float(runtime_str *out, double value, tn_dtype dtype) {
  char text[RUNTIME_FLOAT_TEXT];
  runtime_str_add(out, runtime_float_text(text, value, dtype));
  if (!strpbrk(text, ".en")) runtime_str_add(out, ".0"); /* inf and nan are words */
}
