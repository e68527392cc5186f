/* containers.c: growable arrays and the string builder. Both use malloc and report failure instead of
 * ending the program. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base.h"

bool runtime_vec_grow(void **data, int *cap, size_t item_bytes) {
  if (*cap > INT_MAX / 2) return false;
  int larger = *cap ? *cap * 2 : RUNTIME_SMALL(8, 1);
  if ((size_t)larger > SIZE_MAX / 2 / item_bytes) return false;
  void *grown = realloc(*data, (size_t)larger * item_bytes);
  if (!grown) return false;
  *data = grown;
  *cap = larger;
  return true;
}

/* Makes room for N more characters and a NUL. */
static bool reserve(runtime_str *s, size_t n) {
  if (s->failed) return false;
  if (s->limit != 0 && (n > s->limit || s->n > s->limit - n)) {
    s->failed = s->is_full = true;
    return false;
  }
  if (n < s->cap && s->n < s->cap - n) return true;
  size_t wanted = s->n + n + 1, spare = wanted < (size_t)RUNTIME_SMALL(64, 4096) ? RUNTIME_SMALL(64, 0) : wanted;
  size_t cap = wanted + spare;
  char *grown = n < SIZE_MAX / 4 && s->n < SIZE_MAX / 4 ? realloc(s->data, cap) : NULL;
  if (!grown) {
    s->failed = true;
    return false;
  }
  s->data = grown;
  s->cap = cap;
  return true;
}

void runtime_str_addn(runtime_str *s, const char *text, size_t n) {
  if (!reserve(s, n)) return;
  memcpy(s->data + s->n, text, n);
  s->n += n;
  s->data[s->n] = '\0';
}

void runtime_str_add(runtime_str *s, const char *text) { runtime_str_addn(s, text, strlen(text)); }

char *runtime_digits(int64_t value, char digits[RUNTIME_DIGITS]) {
  char *at = digits + RUNTIME_DIGITS;
  uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
  *--at = '\0';
  do *--at = (char)('0' + left % 10);
  while (left /= 10);
  if (value < 0) *--at = '-';
  return at;
}

void runtime_str_add_int(runtime_str *s, int64_t value) {
  char digits[RUNTIME_DIGITS];
  runtime_str_add(s, runtime_digits(value, digits));
}

/* Formats into the room that is left, as most texts are short; a longer text is formatted again. A failure
 * of vsnprintf counts as lack of memory. What does not fit is removed, so that a builder that fails ends
 * where it did before. */
void runtime_str_addv(runtime_str *s, const char *fmt, va_list args) {
  va_list again;
  if (!reserve(s, 0)) return;
  size_t room = s->cap - s->n;
  va_copy(again, args);
  int n = vsnprintf(s->data + s->n, room, fmt, again);
  va_end(again);
  if (n < 0) s->failed = true;
  if (n < 0 || (size_t)n >= room) s->data[s->n] = '\0';
  if (n < 0 || !reserve(s, (size_t)n)) return;
  if ((size_t)n >= room) vsnprintf(s->data + s->n, (size_t)n + 1, fmt, args);
  s->n += (size_t)n;
}

void runtime_str_addf(runtime_str *s, const char *fmt, ...) { RUNTIME_ADD_ARGS(s, fmt); }

/* LIMIT is forgotten, too: a builder that is used again has none. */
void runtime_str_free(runtime_str *s) {
  free(s->data);
  *s = (runtime_str){0};
}

/* S is empty afterwards in any case, so that a failure leaks nothing. */
char *runtime_str_take(runtime_str *s, runtime_arena *arena) {
  char *text = NULL;
  size_t n = s->n;
  char *data = s->data;
  bool failed = s->failed;
  *s = (runtime_str){0};
  /* An arena with a landing place jumps away from a failing allocation: take the text's length first, free after. */
  jmp_buf *landing = arena->on_oom;
  arena->on_oom = NULL;
  if (!failed) text = runtime_strndup(arena, data ? data : "", n);
  arena->on_oom = landing;
  free(data);
  if (!text && landing) longjmp(*landing, 1);
  return text;
}

runtime_str runtime_str_limited(const tn_context *ctx) {
  return (runtime_str){.limit = (size_t)runtime_limits(ctx)->text_bytes};
}

/* S is empty afterwards in any case. The caller frees the text. */
char *runtime_str_finish(runtime_str *s, tn_context *ctx, const char *what) {
  runtime_str_add(s, "");
  char *text = s->data;
  if (s->failed) {
    if (s->is_full)
      RUNTIME_FAIL_LIMIT(ctx, TN_ERROR_ARGUMENT, text_bytes, "%s is longer than %zu bytes as text", what, s->limit);
    else
      runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while printing %s", what);
    runtime_str_free(s);
    return NULL;
  }
  *s = (runtime_str){0};
  return text;
}
