/* queue_tls_none.c: rediss:// of a command that was built without OpenSSL: it says so. */
#include <stdio.h>

#include "tools/queue_tls.h"

queue_tls *queue_tls_open(int fd, const char *host, const queue_tls_files *files, double timeout_s, bool *is_refused,
                          char why[QUEUE_TLS_WHY]) {
  (void)fd, (void)host, (void)files, (void)timeout_s;
  *is_refused = true;
  snprintf(why, QUEUE_TLS_WHY,
           "this command was built without OpenSSL: install libssl-dev and build it anew, or let stunnel speak TLS");
  return NULL;
}

bool queue_tls_write(queue_tls *tls, const void *data, size_t n, double timeout_s, char why[QUEUE_TLS_WHY]) {
  return (void)tls, (void)data, (void)n, (void)timeout_s, (void)why, false;
}

bool queue_tls_read(queue_tls *tls, void *data, size_t n, size_t *got, char why[QUEUE_TLS_WHY]) {
  return (void)tls, (void)data, (void)n, (void)got, (void)why, false;
}

void queue_tls_close(queue_tls *tls) { (void)tls; }
