/* protocol.h: the messages between the tuner and its worker processes, over a socket, a pipe or ssh alike.
 *
 * A message is a 4-byte little-endian length, that many bytes of JSON (one object, the header) and, when
 * the header's "payload" is n > 0, n more bytes. The tuner asks, and the worker answers every request once,
 * in order, with the same "id". docs/workers.md lists the requests. Incoming data is not trusted: lengths
 * are bounded, memory grows only as bytes arrive, and whatever is no message is called broken, with the
 * reason. */
#ifndef TENON_AUTOTUNE_PROTOCOL_H
#define TENON_AUTOTUNE_PROTOCOL_H

#include <jansson.h>

#include "runtime/base.h"

enum {
  PROTOCOL_VERSION = 1,
  PROTOCOL_MAX_HEADER = 16 << 20,
  PROTOCOL_MAX_PAYLOAD = 256 << 20,
};

/* A message that was received. It owns both parts. */
typedef struct protocol_message {
  json_t *header;
  void *payload; /* malloc'ed, NULL when payload_bytes is 0 */
  size_t payload_bytes;
} protocol_message;

void protocol_message_free(protocol_message *message);

/* Appends a message to OUT; "payload" is added to the header. False: no memory, or it is too large. */
bool protocol_encode(json_t *header, const void *payload, size_t payload_bytes, runtime_str *out);

typedef enum protocol_result { PROTOCOL_MORE, PROTOCOL_DONE, PROTOCOL_BROKEN } protocol_result;
typedef enum protocol_part { PROTOCOL_LENGTH, PROTOCOL_HEADER, PROTOCOL_PAYLOAD } protocol_part;

/* A message that is arriving. Zero-initialise. Once broken it stays broken. */
typedef struct protocol_decoder {
  protocol_part part;
  char *bytes; /* of the part that is arriving */
  size_t have, want, cap;
  json_t *header;
  char why[160];     /* why it is broken; "": it is not */
  bool lacks_memory; /* it is broken because memory ran out here, which is not the sender's fault */
} protocol_decoder;

/* Bytes that are missing until the current part is complete. A caller that reads no more never takes bytes
 * of the next message. */
size_t protocol_wanted(const protocol_decoder *decoder);
/* Takes N <= protocol_wanted() bytes. DONE: OUT is filled, and the decoder is ready for the next message. */
protocol_result protocol_decode(protocol_decoder *decoder, const void *data, size_t n, protocol_message *out);
/* Whether a message has begun, so that an end of file would not be a clean one. */
bool protocol_in_message(const protocol_decoder *decoder);
void protocol_decoder_free(protocol_decoder *decoder);

/* Blocking forms, for the worker's side: they handle partial reads and writes and EINTR. */
typedef enum protocol_read_result { PROTOCOL_READ, PROTOCOL_END, PROTOCOL_FAILED } protocol_read_result;
protocol_read_result protocol_read(int fd, protocol_decoder *decoder, protocol_message *out);
bool protocol_write(int fd, const void *data, size_t n);

/* A field of a header; OTHERWISE when there is none of that type. */
const char *protocol_text(const json_t *header, const char *key, const char *otherwise);
double protocol_number(const json_t *header, const char *key, double otherwise);
int64_t protocol_int(const json_t *header, const char *key, int64_t otherwise);

#endif
