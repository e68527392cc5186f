/* number.c: floats as text and back, whatever the program's locale is. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "te/internal.h"

double te_parse_float(const char *text, char **end) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double value = c ? strtod_l(text, end, c) : strtod(text, end);
  if (c) freelocale(c);
  return value;
}

static double rounded(double value, tn_dtype dtype) { return runtime_rounded(dtype, value); }

/* The fewest digits that read back as the same value. */
static void shortest(char text[40], double value, tn_dtype dtype) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, 40, "%.*g", digits, value);
    if (rounded(strtod(text, NULL), dtype) == rounded(value, dtype)) return;
  }
}

void te_format_float(runtime_str *out, double value, tn_dtype dtype) {
  if (isnan(value) || isinf(value)) {
    runtime_str_add(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  char text[40];
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = c ? uselocale(c) : (locale_t)0;
  shortest(text, value, dtype);
  if (c) {
    uselocale(old);
    freelocale(c);
  }
  runtime_str_add(out, text);
  if (!strpbrk(text, ".e")) runtime_str_add(out, ".0");
}
