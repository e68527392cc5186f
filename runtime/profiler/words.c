/* words.c: the words that files use for an event's kind, category, flags and place in a source. */
#include <stdio.h>

#include "runtime/profiler/stream.h"

/* The names of flags in files. */
static const struct flag {
  uint16_t bit;
  const char *name;
} flags[] = {
#define X(flag, name) {TN_EVENT_##flag, name},
    PROFILER_FLAGS(X)
#undef X
};

/* The names of the flags that are set, in the table's order; the text has room for all. */
profiler_flags_text profiler_flags_of(const tn_event *e, char separator) {
  profiler_flags_text all = {""};
  size_t n = 0;
  for (int i = 0; i < RUNTIME_COUNT(flags); ++i) {
    if (!(e->flags & flags[i].bit)) continue;
    if (n) all.text[n++] = separator;
    n += (size_t)snprintf(all.text + n, sizeof all.text - n, "%s", flags[i].name);
  }
  return all;
}

void profiler_flags_parse(tn_event *e, const char *text) {
  for (int i = 0; i < RUNTIME_COUNT(flags); ++i) {
    if (strstr(text, flags[i].name)) e->flags |= flags[i].bit;
  }
}

const char *profiler_kind_name(tn_event_kind kind) {
  static const char *const names[] = {
#define X(name, text) [TN_EVENT_##name] = text,
      TN_EVENT_KINDS(X)
#undef X
  };
  return names[kind];
}

int profiler_find_category(const char *text, size_t n) {
  for (int i = 0; i < TN_CATEGORY_COUNT; ++i) {
    const char *name = tn_category_name((tn_category)i);
    if (strlen(name) == n && strncmp(name, text, n) == 0) return i;
  }
  return -1;
}

void profiler_source_parse(tn_recording *r, tn_event *e, const char *text) {
  const char *line = strchr(text, ':'), *function = line ? strchr(line + 1, ':') : NULL;
  const char *file = line ? runtime_intern(&r->strings, text, (size_t)(line - text)) : NULL;
  tn_source source = {file ? file : text, function ? function + 1 : "", line ? atoi(line + 1) : 0};
  e->site = RUNTIME_MAX(profiler_add_source(r, &source), 0);
}
