/* queue_tls.h: TLS on a connection to a Redis server, by OpenSSL: the hiredis of Debian 12 has none. */
#ifndef TENON_TOOLS_QUEUE_TLS_H
#define TENON_TOOLS_QUEUE_TLS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a reason. */
enum { QUEUE_TLS_WHY = 300 };

typedef struct queue_tls queue_tls;

/* Names of PEM files: the authorities that are trusted, and our own certificate and key. CACERT NULL: the
 * system's authorities. CERT and KEY NULL: we have none. */
typedef struct queue_tls_files {
  char *cacert, *cert, *key;
} queue_tls_files;

/* Greets the server behind FD, which stays the caller's and does not block from then on. The certificate
 * has to be HOST's. NULL: WHY has the reason, and *IS_REFUSED says whether no later try will help. */
queue_tls *queue_tls_open(int fd, const char *host, const queue_tls_files *files, double timeout_s, bool *is_refused,
                          char why[QUEUE_TLS_WHY]);
/* Sends all N bytes. False: WHY has the reason. */
bool queue_tls_write(queue_tls *tls, const void *data, size_t n, double timeout_s, char why[QUEUE_TLS_WHY]);
/* Takes what has arrived, without waiting: *GOT may be 0. False: as queue_tls_write, or the server has
 * ended the connection. */
bool queue_tls_read(queue_tls *tls, void *data, size_t n, size_t *got, char why[QUEUE_TLS_WHY]);
/* Leaves the socket open. NULL is allowed. */
void queue_tls_close(queue_tls *tls);

#endif
