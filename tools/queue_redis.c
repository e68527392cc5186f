/* queue_redis.c: reads the URL of a queue, and keeps a connection to its server, which is made again after
 * every loss. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/queue_redis.h"

/* Ports; the longest name of a pool; seconds that a reply may take; the oldest server that has XAUTOCLAIM. */
enum { USUAL_PORT = 6379, MOST_PORT = 65535, MOST_POOL = 64, READ_S = 5, LEAST_MAJOR = 6, LEAST_MINOR = 2 };
/* The pause after a failed connection, in seconds: it doubles up to the longest. */
#define PAUSE_S 0.25
#define LONGEST_PAUSE_S 5.0

/* ---- where the server is ----------------------------------------------------------------------------------------- */

/* Always false; WHY gets the text. */
static bool refuse(runtime_str *why, const char *fmt, ...) TN_PRINTF(2, 3);
static bool refuse(runtime_str *why, const char *fmt, ...) {
  RUNTIME_ADD_ARGS(why, fmt);
  return false;
}

static int hex_of(char c) {
  return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10 : -1;
}

/* N characters of a URL with %XX decoded, malloc'ed; NULL: no memory. */
static char *decode(const char *text, size_t n) {
  char *out = malloc(n + 1), *to = out;
  for (size_t i = 0; out && i < n; ++i) {
    bool is_code = text[i] == '%' && i + 2 < n && hex_of(text[i + 1]) >= 0 && hex_of(text[i + 2]) >= 0;
    *to++ = is_code ? (char)(16 * hex_of(text[i + 1]) + hex_of(text[i + 2])) : text[i];
    i += is_code ? 2 : 0;
  }
  if (out) *to = '\0';
  return out;
}

/* Reads [USER]:PASSWORD, or USER alone. */
static void take_login(queue_place *out, const char *text, size_t n) {
  const char *colon = memchr(text, ':', n);
  size_t user = colon ? (size_t)(colon - text) : n;
  if (user > 0) out->user = decode(text, user);
  if (colon) out->password = decode(colon + 1, n - user - 1);
}

/* Reads HOST[:PORT]; HOST may be an IPv6 address in brackets, [::1]. */
static bool take_host(queue_place *out, const char *text, size_t n, runtime_str *why) {
  bool is_bracketed = n > 0 && text[0] == '[';
  const char *close = is_bracketed ? memchr(text, ']', n) : NULL;
  const char *rest = close ? close + 1 : text, *end = text + n, *colon = memchr(rest, ':', (size_t)(end - rest));
  const char *from = text + is_bracketed, *to = close ? close : colon ? colon : end;
  if ((is_bracketed && !close) || to == from) return refuse(why, "the host is missing");
  if (close && rest != (colon ? colon : end))
    return refuse(why, "behind ] stands :PORT or nothing, not '%.*s'", (int)(end - rest), rest);
  out->host = strndup(from, (size_t)(to - from));
  out->port = USUAL_PORT;
  if (!colon) return out->host != NULL;
  char *after;
  long port = strtol(colon + 1, &after, 10);
  if (after != end || colon + 1 == end || port < 1 || port > MOST_PORT)
    return refuse(why, "the port is a number from 1 to %d, not '%.*s'", MOST_PORT, (int)(end - colon - 1), colon + 1);
  out->port = (int)port;
  return out->host != NULL;
}

/* Reads the pool's name, which becomes a part of every key. */
static bool take_pool(queue_place *out, const char *text, size_t n, runtime_str *why) {
  bool is_name = n > 0 && n <= MOST_POOL;
  for (size_t i = 0; i < n; ++i) is_name = is_name && (isalnum((unsigned char)text[i]) || strchr("_.-", text[i]));
  if (!is_name)
    return refuse(why,
                  "the pool's name is missing or not of letters, digits, '_', '.' and '-': as in redis://HOST/lab");
  return (out->pool = strndup(text, n)) != NULL;
}

/* Reads NAME=FILE, N characters, into the file of that name. */
static bool take_file(queue_place *out, const char *word, size_t n, runtime_str *why) {
  const struct {
    const char *name;
    char **file;
  } files[] = {{"cacert=", &out->files.cacert}, {"cert=", &out->files.cert}, {"key=", &out->files.key}};
  for (int i = 0; i < RUNTIME_COUNT(files); ++i) {
    size_t name = strlen(files[i].name);
    if (n <= name || strncmp(word, files[i].name, name) != 0 || *files[i].file) continue;
    return (*files[i].file = decode(word + name, n - name)) != NULL;
  }
  return refuse(why, "behind ? stand cacert=FILE, cert=FILE and key=FILE, joined by &, each once, not '%.*s'", (int)n,
                word);
}

/* Reads the files for TLS, which '&' separates. */
static bool take_files(queue_place *out, const char *text, runtime_str *why) {
  if (!out->is_safe) return refuse(why, "files of certificates go with rediss://");
  for (const char *word = text; *word;) {
    size_t n = strcspn(word, "&");
    if (!take_file(out, word, n, why)) return false;
    word += n + (word[n] == '&');
  }
  if (!out->files.cert != !out->files.key) return refuse(why, "cert= and key= go together");
  return true;
}

bool queue_place_parse(const char *url, queue_place *out, runtime_str *why) {
  static const char plain[] = "redis://", safe[] = "rediss://";
  *out = (queue_place){.is_safe = strncmp(url, safe, sizeof safe - 1) == 0};
  if (!out->is_safe && strncmp(url, plain, sizeof plain - 1) != 0)
    return refuse(why, "it is no redis://[USER:PASSWORD@]HOST[:PORT]/POOL, nor rediss://");
  const char *text = url + (out->is_safe ? sizeof safe : sizeof plain) - 1, *slash = strchr(text, '/'),
             *end = slash ? slash : text + strlen(text);
  const char *at = memrchr(text, '@', (size_t)(end - text)), *host = at ? at + 1 : text;
  const char *pool = slash ? slash + 1 : "";
  size_t n_pool = strcspn(pool, "?");
  if (memchr(pool, '@', n_pool)) /* or the rest of a password would be told as a host, a port or a pool */
    return refuse(why, "an '@' stands behind the first '/': in a user or password '/' is written as %%2F");
  if (at) take_login(out, text, (size_t)(at - text));
  const char *usual = getenv("REDISCLI_AUTH");
  if (!out->password && usual) out->password = strdup(usual);
  snprintf(out->shown, sizeof out->shown, "%s%s", out->is_safe ? safe : plain, host);
  return take_host(out, host, (size_t)(end - host), why) && take_pool(out, pool, n_pool, why) &&
         (!pool[n_pool] || take_files(out, pool + n_pool + 1, why));
}

void queue_place_free(queue_place *place) {
  free(place->host);
  free(place->user);
  if (place->password) explicit_bzero(place->password, strlen(place->password));
  free(place->password);
  free(place->pool);
  free(place->files.cacert);
  free(place->files.cert);
  free(place->files.key);
  *place = (queue_place){0};
}

const char *queue_shown(runtime_arena *arena, const char *url) {
  queue_place place;
  runtime_str why = {0};
  const char *shown = queue_place_parse(url, &place, &why) ? runtime_strdup(arena, place.shown) : "redis://...";
  queue_place_free(&place);
  runtime_str_free(&why);
  return shown ? shown : "redis://...";
}

queue_key queue_key_of(const queue_place *place, const char *kind, const char *name) {
  queue_key key;
  snprintf(key.text, sizeof key.text, "tenon:{%s}:%s%s%s", place->pool, kind, name ? ":" : "", name ? name : "");
  return key;
}

void queue_new_name(char out[QUEUE_NAME]) {
  struct utsname names = {0};
  uint32_t random = 0;
  uname(&names);
  if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) random = (uint32_t)runtime_now_ns();
  snprintf(out, QUEUE_NAME, "%.48s-%d-%08x", names.nodename, (int)getpid(), random);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

void queue_link_close(queue_link *link) {
  queue_tls_close(link->tls);
  if (link->redis) redisFree(link->redis);
  link->redis = NULL;
  link->tls = NULL;
}

void queue_link_lose(queue_link *link, const char *why) {
  double pause_s = PAUSE_S * (double)(1 << RUNTIME_MIN(link->failures, 10));
  snprintf(link->trouble, sizeof link->trouble, "%.300s", why); /* WHY may be the connection's */
  queue_link_close(link);
  link->failures++;
  link->retry_ns = runtime_now_ns() + (uint64_t)(RUNTIME_MIN(pause_s, LONGEST_PAUSE_S) * 1e9);
}

/* Looks at the server's reply to a first command. A refusal will not change by trying again, except
 * LOADING: the server is still starting. False: the link was closed. */
static bool is_welcome(queue_link *link, redisReply *reply) {
  bool refused = reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) != 0;
  bool fine = reply && reply->type != REDIS_REPLY_ERROR;
  if (reply && !fine) {
    char why[300];
    snprintf(why, sizeof why, "the server says: %.250s", reply->str);
    queue_link_lose(link, why);
  }
  link->is_refused |= refused;
  if (reply) freeReplyObject(reply);
  return fine;
}

/* AUTH, where the place has a password. False: the link was closed. */
static bool log_in(queue_link *link) {
  const queue_place *p = link->place;
  if (!p->password) return true;
  redisReply *reply = p->user ? QUEUE_ASK(link, "AUTH", p->user, p->password) : QUEUE_ASK(link, "AUTH", p->password);
  return is_welcome(link, reply);
}

/* Refuses servers older than 6.2, which lack XAUTOCLAIM. False: the link was closed. */
static bool has_version(queue_link *link) {
  redisReply *reply = QUEUE_ASK(link, "INFO", "server");
  const char *text = queue_text(reply), *at = text ? strstr(text, "redis_version:") : NULL;
  int major = 0, minor = 0;
  bool is_told = at && sscanf(at, "redis_version:%d.%d", &major, &minor) == 2;
  bool is_old = is_told && (major < LEAST_MAJOR || (major == LEAST_MAJOR && minor < LEAST_MINOR));
  if (!is_welcome(link, reply)) return false;
  if (!is_old) return true;
  char why[160];
  snprintf(why, sizeof why, "the server is Redis %d.%d: %d.%d or later is needed", major, minor, LEAST_MAJOR,
           LEAST_MINOR);
  queue_link_lose(link, why);
  link->is_refused = true;
  return false;
}

/* Begins TLS where the place asks for it. False: the link was closed. */
static bool make_safe(queue_link *link) {
  char why[QUEUE_TLS_WHY];
  const queue_place *p = link->place;
  if (!p->is_safe) return true;
  link->tls = queue_tls_open(link->redis->fd, p->host, &p->files, READ_S, &link->is_refused, why);
  if (!link->tls) queue_link_lose(link, why);
  return link->tls != NULL;
}

bool queue_link_up(queue_link *link) {
  if (link->redis) return true;
  if (runtime_now_ns() < link->retry_ns) return false;
  link->is_refused = false;
  link->redis = redisConnectWithTimeout(link->place->host, link->place->port, (struct timeval){.tv_sec = 1});
  if (!link->redis || link->redis->err) {
    char why[160];
    snprintf(why, sizeof why, "%.128s", link->redis ? link->redis->errstr : "out of memory");
    queue_link_lose(link, why);
    return false;
  }
  fcntl(link->redis->fd, F_SETFD, FD_CLOEXEC); /* a way to the server is nobody else's */
  redisSetTimeout(link->redis, (struct timeval){.tv_sec = READ_S});
  redisEnableKeepAlive(link->redis);
  if (!make_safe(link) || !log_in(link) || !has_version(link)) return false;
  link->failures = 0;
  return true;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* Closes the link with hiredis' message. Always false. */
static bool lose_broken(queue_link *link) {
  queue_link_lose(link, link->redis->errstr[0] ? link->redis->errstr : "out of memory");
  return false;
}

/* Sends a command as it is. */
static bool write_plain(queue_link *link, int n, const char *const *words, const size_t *lengths) {
  int done = 0;
  bool sent = redisAppendCommandArgv(link->redis, n, (const char **)words, lengths) == REDIS_OK;
  while (sent && !done) sent = redisBufferWrite(link->redis, &done) == REDIS_OK;
  return sent || lose_broken(link);
}

/* Sends a command through TLS. */
static bool write_safely(queue_link *link, int n, const char *const *words, const size_t *lengths) {
  char *command, why[QUEUE_TLS_WHY] = "out of memory";
  int bytes = redisFormatCommandArgv(&command, n, (const char **)words, lengths);
  bool sent = bytes >= 0 && queue_tls_write(link->tls, command, (size_t)bytes, READ_S, why);
  if (bytes >= 0) redisFreeCommand(command);
  if (!sent) queue_link_lose(link, why);
  return sent;
}

/* SIGPIPE is ignored meanwhile: the other end of the socket may be gone. */
bool queue_send(queue_link *link, int n, const char *const *words, const size_t *lengths) {
  struct sigaction ignore = {.sa_handler = SIG_IGN}, usual;
  if (!link->redis) return false;
  sigaction(SIGPIPE, &ignore, &usual);
  bool sent = link->tls ? write_safely(link, n, words, lengths) : write_plain(link, n, words, lengths);
  sigaction(SIGPIPE, &usual, NULL);
  return sent;
}

/* Reads until nothing more is there: poll does not tell of bytes that TLS has already taken from the socket. */
static bool fill_safely(queue_link *link) {
  char bytes[1 << 14], why[QUEUE_TLS_WHY];
  for (size_t got = 1; got > 0;) {
    bool is_read = queue_tls_read(link->tls, bytes, sizeof bytes, &got, why);
    if (is_read && got > 0 && redisReaderFeed(link->redis->reader, bytes, got) != REDIS_OK)
      is_read = false, snprintf(why, sizeof why, "out of memory");
    if (!is_read) return queue_link_lose(link, why), false;
  }
  return true;
}

bool queue_fill(queue_link *link) {
  if (!link->redis) return false;
  if (link->tls) return fill_safely(link);
  return redisBufferRead(link->redis) == REDIS_OK || lose_broken(link);
}

/* Waits up to READ_S for bytes and takes them. False: the link was closed. */
static bool wait_for_bytes(queue_link *link) {
  struct pollfd polled = {.fd = link->redis->fd, .events = POLLIN};
  int n = poll(&polled, 1, READ_S * 1000);
  if (n < 0 && errno == EINTR) return true;
  if (n != 0) return queue_fill(link);
  queue_link_lose(link, "the server does not answer");
  return false;
}

redisReply *queue_read(queue_link *link) {
  redisReply *reply;
  while (queue_peek(link, &reply))
    if (reply || !wait_for_bytes(link)) return reply;
  return NULL;
}

/* hiredis only parses what queue_fill has put into its buffer. */
bool queue_peek(queue_link *link, redisReply **reply) {
  void *got = NULL;
  *reply = NULL;
  if (!link->redis) return false;
  if (redisGetReplyFromReader(link->redis, &got) != REDIS_OK) return queue_link_lose(link, link->redis->errstr), false;
  if (!got && link->redis->reader->len > QUEUE_MOST_REPLY)
    return queue_link_lose(link, "the server sends a reply that is longer than any"), false;
  *reply = got;
  return true;
}

redisReply *queue_ask(queue_link *link, int n, const char *const *words) {
  return queue_send(link, n, words, NULL) ? queue_read(link) : NULL;
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

const char *queue_text(const redisReply *reply) {
  bool is_text = reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
  return is_text ? reply->str : NULL;
}

size_t queue_count(const redisReply *reply) { return reply && reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0; }

const redisReply *queue_at(const redisReply *reply, size_t i) {
  return i < queue_count(reply) ? reply->element[i] : NULL;
}

const redisReply *queue_field(const redisReply *entry, const char *name) {
  const redisReply *fields = queue_at(entry, 1);
  for (size_t i = 0; i + 1 < queue_count(fields); i += 2) {
    const char *text = queue_text(queue_at(fields, i));
    if (text && strcmp(text, name) == 0) return queue_text(queue_at(fields, i + 1)) ? queue_at(fields, i + 1) : NULL;
  }
  return NULL;
}

int64_t queue_entry_number(const redisReply *entry) {
  const char *id = queue_text(queue_at(entry, 0));
  char *end;
  int64_t number = id ? strtoll(id, &end, 10) : 0;
  return number > 0 && strcmp(end, "-0") == 0 ? number : 0;
}
