/* queue_tls.h: TLS on a connection to a Redis server, by OpenSSL: Debian 12's hiredis has none. */
#ifndef TENON_TOOLS_QUEUE_TLS_H
#define TENON_TOOLS_QUEUE_TLS_H

#include <stdbool.h>
#include <stddef.h>

enum { QUEUE_TLS_WHY = 300 };

typedef struct queue_tls queue_tls;

/* Whom to believe, and who we are: names of PEM files. CACERT NULL: the system's authorities; CERT and KEY NULL: nobody. */
typedef struct queue_tls_files {
  char *cacert, *cert, *key;
} queue_tls_files;

/* Greets the server behind FD, which stays the caller's and does not block from then on. Its certificate has to be HOST's. NULL: WHY
 * has the reason. IS_REFUSED: one that no later try will mend. */
queue_tls *queue_tls_open(int fd, const char *host, const queue_tls_files *files, double timeout_s, bool *is_refused,
                          char why[QUEUE_TLS_WHY]);
/* All N bytes. False: WHY has the reason. */
bool queue_tls_write(queue_tls *tls, const void *data, size_t n, double timeout_s, char why[QUEUE_TLS_WHY]);
/* What has come, without waiting: *GOT may be 0. False: as queue_tls_write, or the server has ended the connection. */
bool queue_tls_read(queue_tls *tls, void *data, size_t n, size_t *got, char why[QUEUE_TLS_WHY]);
/* NULL is none. */
void queue_tls_close(queue_tls *tls);

#endif
