/* output.c: how verbs print JSON objects, texts, times and rates. */
#include <math.h>

#include "tools/tools.h"

/* Bytes of the control character at TEXT, newlines and tabs not counted as such; 0: it is none. C1 control
 * characters are two bytes in UTF-8. */
static size_t control_bytes(const unsigned char *text) {
  if (*text == '\n' || *text == '\t') return 0;
  if (*text < 0x20 || *text == 0x7f) return 1;
  return text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0 ? 2 : 0;
}

char *tools_plain(char *text) {
  char *to = text;
  for (const char *at = text; at && *at;) {
    size_t n = control_bytes((const unsigned char *)at);
    *to++ = n ? '?' : *at;
    at += n ? n : 1;
  }
  if (to) *to = '\0';
  return text;
}

/* In ASCII, so that a terminal of any encoding shows it. Nine digits are more than a clock gives. */
int tools_print_json(tools_session *session, json_t *object) {
  char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) : NULL;
  json_decref(object);
  if (!text) return tools_fail(session, "out of memory for the JSON object");
  return tools_print_text(text);
}

int tools_print_text(char *text) {
  if (!text) return TOOLS_FAILED;
  fputs(tools_plain(text), stdout);
  size_t n = strlen(text);
  if (n == 0 || text[n - 1] != '\n') fputc('\n', stdout);
  free(text);
  return TOOLS_OK;
}

/* Three significant digits. The unit changes at 0.9995, so that nothing is printed as 1000 ms. */
tools_number tools_time(double seconds) {
  static const struct {
    double unit_s;
    const char *name;
  } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  tools_number out;
  int i = 0;
  while (i < RUNTIME_COUNT(units) - 1 && seconds < units[i].unit_s * 0.9995) ++i;
  double value = seconds / units[i].unit_s;
  int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(out.text, sizeof out.text, "%.*f %s", digits, value, units[i].name);
  return out;
}

double tools_gflops(double flops, double seconds) { return seconds > 0 ? flops / seconds * 1e-9 : 0; }

tools_number tools_rate(const tn_program *program, double seconds) {
  tools_number out;
  double flops = tn_program_flops(program), bytes = tn_program_bytes(program);
  bool computes = flops > 0 || bytes == 0;
  snprintf(out.text, sizeof out.text, "%.2f%s", tools_gflops(computes ? flops : bytes, seconds),
           computes ? "" : " GB/s");
  return out;
}
