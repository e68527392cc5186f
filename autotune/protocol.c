/* protocol.c: the measuring protocol: messages to bytes, and bytes to messages. The decoder is fed whatever
 * arrives, so that the same code serves the tuner's event loop and the worker's blocking reads.
 *
 * The decoder owns the part that is arriving; a finished message takes over its header and payload. */
#include "autotune/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes of the length in front of a message, and the least by which room grows. */
enum { LENGTH_BYTES = 4, GROWTH_BYTES = 64 << 10 };

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Leaves a message that can be filled or freed again. */
void protocol_message_free(protocol_message *message) {
  json_decref(message->header);
  free(message->payload);
  *message = (protocol_message){0};
}

bool protocol_encode(json_t *header, const void *payload, size_t payload_bytes, runtime_str *out) {
  if (payload_bytes > PROTOCOL_MAX_PAYLOAD) return false;
  if (json_object_set_new(header, "payload", json_integer((json_int_t)payload_bytes)) != 0) return false;
  char *text = json_dumps(header, JSON_COMPACT);
  size_t n = text ? strlen(text) : 0;
  bool fits = text && n <= PROTOCOL_MAX_HEADER;
  if (fits) {
    char length[LENGTH_BYTES] = {(char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24)};
    runtime_str_addn(out, length, LENGTH_BYTES);
    runtime_str_addn(out, text, n);
    if (payload_bytes) runtime_str_addn(out, payload, payload_bytes);
  }
  free(text);
  return fits && !out->failed;
}

/* Waits until all is written, even on a non-blocking descriptor. */
bool protocol_write(int fd, const void *data, size_t n) {
  const char *p = data;
  while (n > 0) {
    ssize_t written = write(fd, p, n);
    if (written >= 0) {
      p += written;
      n -= (size_t)written;
    } else if (errno == EAGAIN) {
      poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static protocol_result broken(protocol_decoder *d, const char *fmt, ...) TN_PRINTF(2, 3);
/* The decoder stays broken: no later byte can make sense once a length was not understood. */
static protocol_result broken(protocol_decoder *d, const char *fmt, ...) {
  RUNTIME_PRINT_ARGS(d->why, fmt);
  return PROTOCOL_BROKEN;
}

static protocol_result without_memory(protocol_decoder *d) {
  d->lacks_memory = true;
  return broken(d, "out of memory for a message");
}

static size_t part_bytes(const protocol_decoder *d) { return d->part == PROTOCOL_LENGTH ? LENGTH_BYTES : d->want; }

size_t protocol_wanted(const protocol_decoder *d) { return d->why[0] ? 0 : part_bytes(d) - d->have; }

bool protocol_in_message(const protocol_decoder *d) { return d->have > 0 || d->part != PROTOCOL_LENGTH; }

void protocol_decoder_free(protocol_decoder *d) {
  free(d->bytes);
  json_decref(d->header);
  *d = (protocol_decoder){0};
}

/* Room grows with what has arrived, so that a false length cannot make us allocate. */
static bool make_room(protocol_decoder *d, size_t n) {
  if (d->have + n + 1 <= d->cap) return true;
  size_t cap = RUNTIME_MAX(2 * d->cap, d->have + n + 1);
  cap = RUNTIME_MAX(cap, (size_t)GROWTH_BYTES);
  char *bytes = realloc(d->bytes, cap);
  if (!bytes) return false;
  d->bytes = bytes;
  d->cap = cap;
  return true;
}

/* The buffer is kept: the next part overwrites the last one. */
static void begin_part(protocol_decoder *d, protocol_part part, size_t want) {
  d->part = part;
  d->want = want;
  d->have = 0;
}

/* Gives header and payload to OUT, the payload with its buffer, so that it is not copied. */
static protocol_result finish(protocol_decoder *d, protocol_message *out) {
  *out = (protocol_message){.header = d->header};
  if (d->part == PROTOCOL_PAYLOAD) {
    out->payload = d->bytes;
    out->payload_bytes = d->have;
    d->bytes = NULL;
    d->cap = 0;
  }
  d->header = NULL;
  begin_part(d, PROTOCOL_LENGTH, 0);
  return PROTOCOL_DONE;
}

/* A header has at least 2 bytes: "{}" is the shortest object. */
static protocol_result take_length(protocol_decoder *d) {
  const unsigned char *b = (const unsigned char *)d->bytes;
  uint32_t n = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  if (n < 2 || n > PROTOCOL_MAX_HEADER)
    return broken(d, "a message cannot have a header of %u bytes (2 to %d)", n, PROTOCOL_MAX_HEADER);
  begin_part(d, PROTOCOL_HEADER, n);
  return PROTOCOL_MORE;
}

/* A repeated key is refused, since it is unclear which one counts. The parser's own message is used, but it
 * has none when an allocation failed. */
static protocol_result take_header(protocol_decoder *d, protocol_message *out) {
  json_error_t error;
  d->header = json_loadb(d->bytes, d->have, JSON_REJECT_DUPLICATES, &error);
  if (!d->header && (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory))
    return without_memory(d);
  if (!d->header) return broken(d, "a message's header is not JSON: %.80s", error.text);
  if (!json_is_object(d->header)) return broken(d, "a message's header is not a JSON object");
  int64_t n = protocol_int(d->header, "payload", 0);
  if (n < 0 || n > PROTOCOL_MAX_PAYLOAD)
    return broken(d, "a message cannot have a payload of %lld bytes (0 to %d)", (long long)n, PROTOCOL_MAX_PAYLOAD);
  if (n == 0) return finish(d, out);
  begin_part(d, PROTOCOL_PAYLOAD, (size_t)n);
  return PROTOCOL_MORE;
}

protocol_result protocol_decode(protocol_decoder *d, const void *data, size_t n, protocol_message *out) {
  *out = (protocol_message){0};
  if (d->why[0]) return PROTOCOL_BROKEN;
  if (n > protocol_wanted(d)) return broken(d, "more bytes than the message has");
  if (!make_room(d, n)) return without_memory(d);
  memcpy(d->bytes + d->have, data, n);
  d->have += n;
  if (protocol_wanted(d) > 0) return PROTOCOL_MORE;
  switch (d->part) {
    case PROTOCOL_LENGTH: return take_length(d);
    case PROTOCOL_HEADER: return take_header(d, out);
    case PROTOCOL_PAYLOAD: return finish(d, out);
  }
  return PROTOCOL_BROKEN;
}

/* Never reads beyond the message, so that the next one is whole for whoever takes the descriptor over. */
protocol_read_result protocol_read(int fd, protocol_decoder *d, protocol_message *out) {
  char block[GROWTH_BYTES];
  for (;;) {
    ssize_t n = read(fd, block, RUNTIME_MIN(sizeof block, protocol_wanted(d)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
      continue;
    }
    if (n == 0 && !protocol_in_message(d)) return PROTOCOL_END;
    if (n <= 0) {
      broken(d, "%s", n < 0 ? strerror(errno) : "the input ends inside a message");
      return PROTOCOL_FAILED;
    }
    protocol_result result = protocol_decode(d, block, (size_t)n, out);
    if (result != PROTOCOL_MORE) return result == PROTOCOL_DONE ? PROTOCOL_READ : PROTOCOL_FAILED;
  }
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

const char *protocol_text(const json_t *header, const char *key, const char *otherwise) {
  const char *text = json_string_value(json_object_get(header, key));
  return text ? text : otherwise;
}

double protocol_number(const json_t *header, const char *key, double otherwise) {
  const json_t *value = json_object_get(header, key);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

int64_t protocol_int(const json_t *header, const char *key, int64_t otherwise) {
  const json_t *value = json_object_get(header, key);
  return json_is_integer(value) ? json_integer_value(value) : otherwise;
}
