/* queue_tls_none.c: rediss:// in a command that was built without OpenSSL: every use says so. */
#include <stdio.h>

#include "tools/queue_tls.h"

static bool refuse(char why[QUEUE_TLS_WHY]) {
  snprintf(why, QUEUE_TLS_WHY,
           "this command was built without OpenSSL: install libssl-dev and build it anew, or let stunnel speak TLS");
  return false;
}

queue_tls *queue_tls_open(int fd, const char *host, const queue_tls_files *files, double timeout_s, bool *is_refused,
                          char why[QUEUE_TLS_WHY]) {
  (void)fd, (void)host, (void)files, (void)timeout_s;
  *is_refused = true;
  refuse(why);
  return NULL;
}

bool queue_tls_write(queue_tls *tls, const void *data, size_t n, double timeout_s, char why[QUEUE_TLS_WHY]) {
  (void)tls, (void)data, (void)n, (void)timeout_s;
  return refuse(why);
}

bool queue_tls_read(queue_tls *tls, void *data, size_t n, size_t *got, char why[QUEUE_TLS_WHY]) {
  (void)tls, (void)data, (void)n;
  *got = 0;
  return refuse(why);
}

void queue_tls_close(queue_tls *tls) { (void)tls; }
