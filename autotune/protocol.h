/* protocol.h: what the tuner and its worker processes say to each other, over a socket, a pipe or ssh alike.
 *
 * A message is a 4-byte little-endian length, that many bytes of JSON (one object, the header), and, when the header's
 * "payload" is n > 0, n bytes more. The tuner asks, the worker answers every request once, in order, with the same
 * "id". docs/workers.md lists the requests. What comes in is data from outside: lengths are bounded, memory grows only
 * as bytes arrive, and whatever is not a message is called broken with the reason. */
#ifndef TENON_AUTOTUNE_PROTOCOL_H
#define TENON_AUTOTUNE_PROTOCOL_H

#include <jansson.h>

#include "runtime/base.h"

enum {
  PROTOCOL_VERSION = 1,
  PROTOCOL_MAX_HEADER = 16 << 20,
  PROTOCOL_MAX_PAYLOAD = 256 << 20,
};

/* Both parts belong to the message. */
typedef struct protocol_message {
  json_t *header;
  void *payload; /* malloc'ed, NULL when payload_bytes is 0 */
  size_t payload_bytes;
} protocol_message;

void protocol_message_free(protocol_message *message);

/* Appends a message to OUT; "payload" is added to the header. false: no memory, or too large. */
bool protocol_encode(json_t *header, const void *payload, size_t payload_bytes, runtime_str *out);

typedef enum protocol_result { PROTOCOL_MORE, PROTOCOL_DONE, PROTOCOL_BROKEN } protocol_result;
typedef enum protocol_part { PROTOCOL_LENGTH, PROTOCOL_HEADER, PROTOCOL_PAYLOAD } protocol_part;

/* Zero-initialise. Once broken it stays broken. */
typedef struct protocol_decoder {
  protocol_part part;
  char *bytes; /* of this part */
  size_t have, want, cap;
  json_t *header;
  char why[160];     /* why it is broken; "" while it is not */
  bool lacks_memory; /* it is broken for want of memory here: no fault of who sent */
} protocol_decoder;

/* How many bytes are missing until the current part is complete: reading no more never takes from the next message. */
size_t protocol_wanted(const protocol_decoder *decoder);
/* Takes N <= protocol_wanted() bytes. DONE: OUT is filled and the decoder ready for the next message. */
protocol_result protocol_decode(protocol_decoder *decoder, const void *data, size_t n, protocol_message *out);
/* Whether a message has begun: an end of file here is not a clean one. */
bool protocol_in_message(const protocol_decoder *decoder);
void protocol_decoder_free(protocol_decoder *decoder);

/* Blocking, for the worker's side: partial reads and writes and EINTR are taken care of. */
typedef enum protocol_read_result { PROTOCOL_READ, PROTOCOL_END, PROTOCOL_FAILED } protocol_read_result;
protocol_read_result protocol_read(int fd, protocol_decoder *decoder, protocol_message *out);
bool protocol_write(int fd, const void *data, size_t n);

/* Fields of a header; the default when there is none of that type. */
const char *protocol_text(const json_t *header, const char *key, const char *otherwise);
double protocol_number(const json_t *header, const char *key, double otherwise);
int64_t protocol_int(const json_t *header, const char *key, int64_t otherwise);

#endif
