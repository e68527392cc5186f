/* mutate.c: changes to inputs: single bytes, words and numbers of a text, values of a JSON text, parts of another input. */
#include <ctype.h>
#include <jansson.h>

#include "tests/inputs/inputs.h"

void inputs_add(inputs_corpus *corpus, const void *data, size_t n) {
  runtime_str item = {0};
  runtime_str_addn(&item, data, n);
  if (!RUNTIME_PUSH(&corpus->items, item)) runtime_str_free(&item);
}

void inputs_add_text(inputs_corpus *corpus, const char *text) { inputs_add(corpus, text, strlen(text)); }

void inputs_free(inputs_corpus *corpus) {
  for (int i = 0; i < corpus->items.n; i++) runtime_str_free(&corpus->items.data[i]);
  RUNTIME_VEC_FREE(&corpus->items);
}

static size_t below(runtime_rng *rng, size_t n) { return (size_t)runtime_random_below(rng, (int64_t)n); }

static const runtime_str *any_item(runtime_rng *rng, const inputs_corpus *corpus) {
  return &corpus->items.data[below(rng, (size_t)corpus->items.n)];
}

/* Bytes [AT, AT + N) of TEXT become WITH. */
static void replace(runtime_str *text, size_t at, size_t n, const char *with, size_t n_with) {
  runtime_str made = {0};
  runtime_str_addn(&made, text->data, at);
  runtime_str_addn(&made, with, n_with);
  runtime_str_addn(&made, text->data + at + n, text->n - at - n);
  runtime_str_free(text);
  *text = made;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void change_byte(runtime_rng *rng, runtime_str *text) {
  static const char telling[] = "\0\x7f\x80\xff (){}[],=\"<>+-*/%;#\n019ae.\\";
  char byte = below(rng, 2) ? (char)runtime_random(rng) : telling[below(rng, sizeof telling - 1)];
  if (text->n) replace(text, below(rng, text->n), 1, &byte, 1);
}

static void flip_bit(runtime_rng *rng, runtime_str *text) {
  if (text->n) text->data[below(rng, text->n)] ^= (char)(1 << below(rng, 8));
}

static void drop_bytes(runtime_rng *rng, runtime_str *text) {
  if (!text->n) return;
  size_t at = below(rng, text->n), n = below(rng, RUNTIME_MIN(text->n - at, (size_t)64) + 1);
  replace(text, at, n, "", 0);
}

static void repeat_bytes(runtime_rng *rng, runtime_str *text) {
  if (!text->n) return;
  size_t at = below(rng, text->n), n = below(rng, RUNTIME_MIN(text->n - at, (size_t)64) + 1);
  runtime_str many = {0};
  for (size_t left = 1 + (below(rng, 16) ? below(rng, 4) : below(rng, 600)); left > 0; left--)
    runtime_str_addn(&many, text->data + at, n);
  replace(text, at, 0, many.data ? many.data : "", many.n);
  runtime_str_free(&many);
}

static void cut(runtime_rng *rng, runtime_str *text) {
  if (text->n) replace(text, below(rng, text->n), 0, "", 0), text->n = below(rng, text->n + 1);
  if (text->data) text->data[text->n] = '\0';
}

/* A whole number in binary, as headers have them. */
static void change_word(runtime_rng *rng, runtime_str *text) {
  static const uint64_t telling[] = {0,          1,          0x7f,       0x80,       0xff,      0x7fff,
                                     0xffff,     0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, 1 + (uint64_t)INT64_MAX,
                                     UINT64_MAX, 1000000};
  size_t width = (size_t)1 << below(rng, 4);
  uint64_t value = below(rng, 3) ? telling[below(rng, RUNTIME_COUNT(telling))] : runtime_random(rng);
  if (text->n >= width) memcpy(text->data + below(rng, text->n - width + 1), &value, width);
}

/* ---- words and numbers ------------------------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* A word, or one sign, from a random place on; N 0: there is nothing. */
static size_t pick_word(runtime_rng *rng, const runtime_str *text, size_t *n) {
  *n = 0;
  if (!text->n) return 0;
  size_t at = below(rng, text->n), end = at;
  while (at > 0 && is_word(text->data[at]) && is_word(text->data[at - 1])) at--;
  while (end < text->n && is_word(text->data[end])) end++;
  *n = RUNTIME_MAX(end - at, (size_t)1);
  return at;
}

static void other_word(runtime_rng *rng, const inputs_corpus *corpus, runtime_str *text) {
  const runtime_str *from = any_item(rng, corpus);
  size_t n, n_from, at = pick_word(rng, text, &n), at_from = pick_word(rng, from, &n_from);
  if (n_from) replace(text, at, below(rng, 4) ? n : 0, from->data + at_from, n_from);
}

static void other_number(runtime_rng *rng, runtime_str *text) {
  static const char *const numbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "3",
                                        "7",
                                        "16",
                                        "64",
                                        "127",
                                        "128",
                                        "255",
                                        "1000",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483648",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "99999999999999999999",
                                        "1e308",
                                        "1e999",
                                        "0.5",
                                        "-0",
                                        "nan",
                                        "inf",
                                        "0x10"};
  if (!text->n) return;
  size_t at = below(rng, text->n), end;
  while (at < text->n && !isdigit((unsigned char)text->data[at])) at++;
  for (end = at; end < text->n && isdigit((unsigned char)text->data[end]); end++) {
  }
  const char *number = numbers[below(rng, RUNTIME_COUNT(numbers))];
  if (end > at) replace(text, at, end - at, number, strlen(number));
}

static void swap_words(runtime_rng *rng, runtime_str *text) {
  size_t n, m, at = pick_word(rng, text, &n), to = pick_word(rng, text, &m);
  if (!n || !m || at + n > to) return;
  char *first = strndup(text->data + at, n), *second = strndup(text->data + to, m);
  if (first && second) {
    replace(text, to, m, first, strlen(first));
    replace(text, at, n, second, strlen(second));
  }
  free(first);
  free(second);
}

/* The beginning of one and the end of another. */
static void splice(runtime_rng *rng, const inputs_corpus *corpus, runtime_str *text) {
  const runtime_str *from = any_item(rng, corpus);
  size_t at = below(rng, text->n + 1), at_from = below(rng, from->n + 1);
  replace(text, at, text->n - at, from->n ? from->data + at_from : "", from->n - at_from);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *odd_value(runtime_rng *rng) {
  switch (below(rng, 11)) {
    case 0: return json_null();
    case 1: return json_true();
    case 2: return json_integer(0);
    case 3: return json_integer(-1);
    case 4: return json_integer(INT64_MAX);
    case 5: return json_integer((json_int_t)below(rng, 20));
    case 6: return json_real(1e308);
    case 7: return json_string("");
    case 8: return json_string("C");
    case 9: return json_array();
    default: return json_object();
  }
}

/* A child of a container: replaced, dropped, or written twice. */
static void change_child(runtime_rng *rng, json_t *in) {
  size_t n = json_is_array(in) ? json_array_size(in) : json_object_size(in), i = n ? below(rng, n) : 0;
  if (json_is_array(in)) {
    switch (below(rng, 4)) {
      case 0: json_array_remove(in, i); break;
      case 1: json_array_insert(in, i, json_array_get(in, n ? below(rng, n) : 0)); break;
      case 2: json_array_insert_new(in, i, odd_value(rng)); break;
      default: json_array_set_new(in, i, odd_value(rng));
    }
    return;
  }
  void *at = json_object_iter(in);
  while (at && i-- > 0) at = json_object_iter_next(in, at);
  if (at && below(rng, 3))
    json_object_iter_set_new(in, at, odd_value(rng));
  else if (at)
    json_object_del(in, json_object_iter_key(at));
}

/* Goes down to a random container. */
static void change_json_value(runtime_rng *rng, json_t *root) {
  for (json_t *in = root;;) {
    size_t n = json_is_array(in) ? json_array_size(in) : json_object_size(in), i = n ? below(rng, n) : 0;
    json_t *child = json_array_get(in, i);
    if (json_is_object(in)) {
      void *at = json_object_iter(in);
      while (at && i-- > 0) at = json_object_iter_next(in, at);
      child = at ? json_object_iter_value(at) : NULL;
    }
    if ((!json_is_array(child) && !json_is_object(child)) || below(rng, 4) == 0) {
      change_child(rng, in);
      return;
    }
    in = child;
  }
}

static void change_json(runtime_rng *rng, runtime_str *text) {
  json_error_t error;
  json_t *root = text->n ? json_loadb(text->data, text->n, JSON_DISABLE_EOF_CHECK, &error) : NULL;
  if (root) change_json_value(rng, root);
  char *made = root ? json_dumps(root, JSON_COMPACT) : NULL;
  if (made) replace(text, 0, text->n, made, strlen(made));
  free(made);
  json_decref(root);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void change(runtime_rng *rng, const inputs_corpus *corpus, runtime_str *text) {
  switch (below(rng, 14)) {
    case 0: change_byte(rng, text); break;
    case 1: flip_bit(rng, text); break;
    case 2: drop_bytes(rng, text); break;
    case 3: repeat_bytes(rng, text); break;
    case 4: cut(rng, text); break;
    case 5: change_word(rng, text); break;
    case 6:
    case 7: other_word(rng, corpus, text); break;
    case 8:
    case 9: other_number(rng, text); break;
    case 10: swap_words(rng, text); break;
    case 11: splice(rng, corpus, text); break;
    default: change_json(rng, text);
  }
}

void inputs_mutate(runtime_rng *rng, const inputs_corpus *corpus, runtime_str *out) {
  const runtime_str *from = any_item(rng, corpus);
  runtime_str_free(out);
  runtime_str_addn(out, from->data ? from->data : "", from->n);
  for (size_t left = 1 + below(rng, 4); left > 0; left--) change(rng, corpus, out);
  if (out->n > INPUTS_LONGEST) out->n = INPUTS_LONGEST;
}
