/* queue_tls.c: TLS by OpenSSL over a socket that does not block. Waiting is done here, with poll(2), so
 * that a server that falls silent in the middle of a record holds nobody up for longer than was agreed. */
#include "tools/queue_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base.h"

struct queue_tls {
  SSL_CTX *context;
  SSL *ssl;
  int fd;
};

/* ---- reasons ----------------------------------------------------------------------------------------------------- */

/* Writes WORDS and WHAT (or NULL) to WHY, then what OpenSSL says about it, if anything. Always false. */
static bool explain(char why[QUEUE_TLS_WHY], const char *words, const char *what) {
  const char *said = ERR_reason_error_string(ERR_peek_last_error());
  snprintf(why, QUEUE_TLS_WHY, "%s%s%.100s%s%.100s", words, what ? " " : "", what ? what : "", said ? ": " : "",
           said ? said : "");
  ERR_clear_error();
  return false;
}

/* Says why the connection was lost. The server's last bytes are read first: TLS 1.3 tells a client that it
 * is refused only after the greeting. Always false. */
static bool explain_loss(queue_tls *tls, int error, char why[QUEUE_TLS_WHY]) {
  char byte;
  const char *lost = error == SSL_ERROR_SYSCALL && errno != 0 ? strerror(errno) : "the server has ended the connection";
  if (ERR_peek_error() == 0) SSL_read(tls->ssl, &byte, 1);
  return ERR_peek_error() ? explain(why, "TLS failed", NULL) : explain(why, lost, NULL);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* After a call that returned RESULT: waits until trying again makes sense. False: it failed, or the time is over. */
static bool wait_to_go_on(queue_tls *tls, int result, uint64_t end_ns, char why[QUEUE_TLS_WHY]) {
  int error = SSL_get_error(tls->ssl, result);
  uint64_t now_ns = runtime_now_ns();
  struct pollfd polled = {.fd = tls->fd, .events = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN};
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return explain_loss(tls, error, why);
  if (now_ns >= end_ns) return explain(why, "the server does not answer", NULL);
  poll(&polled, 1, (int)((end_ns - now_ns) / 1000000u) + 1);
  return true;
}

static uint64_t end_of(double timeout_s) { return runtime_now_ns() + (uint64_t)(fmin(timeout_s, 1e6) * 1e9); }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Loads the authorities and, if there are any, our certificate and key. */
static bool take_files(SSL_CTX *context, const queue_tls_files *f, char why[QUEUE_TLS_WHY]) {
  bool has_authorities = f->cacert ? SSL_CTX_load_verify_locations(context, f->cacert, NULL) == 1
                                   : SSL_CTX_set_default_verify_paths(context) == 1;
  if (!has_authorities) return explain(why, "there are no authorities in", f->cacert ? f->cacert : "the system");
  if (f->cert && SSL_CTX_use_certificate_chain_file(context, f->cert) != 1)
    return explain(why, "there is no certificate in", f->cert);
  if (f->key && SSL_CTX_use_PrivateKey_file(context, f->key, SSL_FILETYPE_PEM) != 1)
    return explain(why, "there is no key of the certificate in", f->key);
  return true;
}

/* The server's certificate has to be for this name, or this address. */
static bool expect_host(SSL *ssl, const char *host) {
  unsigned char address[sizeof(struct in6_addr)];
  bool is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* Prepares a client of TLS 1.2 or later that verifies the server. */
static bool make(queue_tls *tls, const char *host, const queue_tls_files *files, char why[QUEUE_TLS_WHY]) {
  tls->context = SSL_CTX_new(TLS_client_method());
  if (!tls->context) return explain(why, "no TLS", NULL);
  SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
  SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
  if (!take_files(tls->context, files, why)) return false;
  tls->ssl = SSL_new(tls->context);
  bool is_made = tls->ssl && SSL_set_fd(tls->ssl, tls->fd) == 1 && expect_host(tls->ssl, host);
  return is_made || explain(why, "no TLS with", host);
}

/* The handshake. *IS_REFUSED: the certificate is not trusted, which trying again does not change. */
static bool greet(queue_tls *tls, double timeout_s, bool *is_refused, char why[QUEUE_TLS_WHY]) {
  uint64_t end_ns = end_of(timeout_s);
  for (int result; (result = SSL_connect(tls->ssl)) != 1;) {
    if (wait_to_go_on(tls, result, end_ns, why)) continue;
    long verdict = SSL_get_verify_result(tls->ssl);
    *is_refused = verdict != X509_V_OK;
    return *is_refused ? explain(why, "the server's certificate is refused:", X509_verify_cert_error_string(verdict))
                       : false;
  }
  return true;
}

queue_tls *queue_tls_open(int fd, const char *host, const queue_tls_files *files, double timeout_s, bool *is_refused,
                          char why[QUEUE_TLS_WHY]) {
  queue_tls *tls = calloc(1, sizeof *tls);
  int flags = fcntl(fd, F_GETFL);
  ERR_clear_error();
  if (!tls || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
    return free(tls), explain(why, "out of memory for TLS", NULL), NULL;
  tls->fd = fd;
  *is_refused = !make(tls, host, files, why);
  if (!*is_refused && greet(tls, timeout_s, is_refused, why)) return tls;
  queue_tls_close(tls);
  return NULL;
}

void queue_tls_close(queue_tls *tls) {
  if (!tls) return;
  SSL_free(tls->ssl);
  SSL_CTX_free(tls->context);
  free(tls);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The timeout begins anew with each piece that was sent. */
bool queue_tls_write(queue_tls *tls, const void *data, size_t n, double timeout_s, char why[QUEUE_TLS_WHY]) {
  uint64_t end_ns = end_of(timeout_s);
  for (size_t sent = 0; sent < n;) {
    int piece = (int)RUNTIME_MIN(n - sent, (size_t)1 << 14), wrote;
    ERR_clear_error();
    wrote = SSL_write(tls->ssl, (const char *)data + sent, piece);
    if (wrote <= 0 && !wait_to_go_on(tls, wrote, end_ns, why)) return false;
    if (wrote > 0) sent += (size_t)wrote, end_ns = end_of(timeout_s);
  }
  return true;
}

bool queue_tls_read(queue_tls *tls, void *data, size_t n, size_t *got, char why[QUEUE_TLS_WHY]) {
  *got = 0;
  ERR_clear_error();
  int result = SSL_read(tls->ssl, data, (int)RUNTIME_MIN(n, (size_t)1 << 20));
  int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
  if (result > 0) *got = (size_t)result;
  if (result > 0 || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return true;
  return explain_loss(tls, error, why);
}
