/* queue_redis.c: where a queue is, and a connection to its server, which comes back after every loss. */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/queue_redis.h"

enum { USUAL_PORT = 6379, MOST_PORT = 65535, MOST_POOL = 64, READ_S = 5, LEAST_MAJOR = 6, LEAST_MINOR = 2 };
#define PAUSE_S 0.25
#define LONGEST_PAUSE_S 5.0

/* ---- where it is ------------------------------------------------------------------------------------------------- */

static bool refuse(runtime_str *why, const char *fmt, ...) TN_PRINTF(2, 3);
static bool refuse(runtime_str *why, const char *fmt, ...) {
  RUNTIME_ADD_ARGS(why, fmt);
  return false;
}

static int hex_of(char c) {
  return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10 : -1;
}

/* %40 is @: N characters of a URL, malloc'ed. */
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

/* [USER]:PASSWORD, or PASSWORD's owner alone. */
static void take_login(queue_place *out, const char *text, size_t n) {
  const char *colon = memchr(text, ':', n);
  size_t user = colon ? (size_t)(colon - text) : n;
  if (user > 0) out->user = decode(text, user);
  if (colon) out->password = decode(colon + 1, n - user - 1);
}

/* HOST[:PORT], where HOST may be [::1]. */
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

static bool take_pool(queue_place *out, const char *text, runtime_str *why) {
  size_t n = strlen(text);
  bool is_name = n > 0 && n <= MOST_POOL;
  for (size_t i = 0; i < n; ++i) is_name = is_name && (isalnum((unsigned char)text[i]) || strchr("_.-", text[i]));
  if (!is_name)
    return refuse(why,
                  "the pool's name is missing or not of letters, digits, '_', '.' and '-': as in redis://HOST/lab");
  return (out->pool = strdup(text)) != NULL;
}

bool queue_place_parse(const char *url, queue_place *out, runtime_str *why) {
  static const char plain[] = "redis://", safe[] = "rediss://";
  *out = (queue_place){0};
  if (strncmp(url, safe, sizeof safe - 1) == 0)
    return refuse(
        why,
        "this hiredis has no TLS: let stunnel speak it, and give the address where stunnel listens (docs/farm.md)");
  if (strncmp(url, plain, sizeof plain - 1) != 0)
    return refuse(why, "it is no redis://[USER:PASSWORD@]HOST[:PORT]/POOL");
  const char *text = url + sizeof plain - 1, *slash = strchr(text, '/'), *end = slash ? slash : text + strlen(text);
  const char *at = memrchr(text, '@', (size_t)(end - text)), *host = at ? at + 1 : text;
  if (slash && strchr(slash, '@')) /* or the rest of a password would be told as a host, a port or a pool */
    return refuse(why, "an '@' stands behind the first '/': in a user or password '/' is written as %%2F");
  if (at) take_login(out, text, (size_t)(at - text));
  if (!out->password && getenv("REDISCLI_AUTH")) out->password = strdup(getenv("REDISCLI_AUTH"));
  snprintf(out->shown, sizeof out->shown, "redis://%s", host);
  return take_host(out, host, (size_t)(end - host), why) && take_pool(out, slash ? slash + 1 : "", why);
}

void queue_place_free(queue_place *place) {
  free(place->host);
  free(place->user);
  if (place->password) explicit_bzero(place->password, strlen(place->password));
  free(place->password);
  free(place->pool);
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
  if (link->redis) redisFree(link->redis);
  link->redis = NULL;
}

void queue_link_lose(queue_link *link, const char *why) {
  double pause_s = PAUSE_S * (double)(1 << RUNTIME_MIN(link->failures, 10));
  snprintf(link->trouble, sizeof link->trouble, "%.300s", why); /* WHY may be the connection's */
  queue_link_close(link);
  link->failures++;
  link->retry_ns = runtime_now_ns() + (uint64_t)(RUNTIME_MIN(pause_s, LONGEST_PAUSE_S) * 1e9);
}

/* Until the server says what it thinks of us. False: the link was lost. */
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

static bool log_in(queue_link *link) {
  const queue_place *p = link->place;
  if (!p->password) return true;
  redisReply *reply = p->user ? QUEUE_ASK(link, "AUTH", p->user, p->password) : QUEUE_ASK(link, "AUTH", p->password);
  return is_welcome(link, reply);
}

/* XAUTOCLAIM came with 6.2. */
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
  redisSetTimeout(link->redis, (struct timeval){.tv_sec = READ_S});
  redisEnableKeepAlive(link->redis);
  if (!log_in(link) || !has_version(link)) return false;
  link->failures = 0;
  return true;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* hiredis writes to sockets whose other end may be gone. */
static bool write_out(redisContext *redis) {
  struct sigaction ignore = {.sa_handler = SIG_IGN}, usual;
  int done = 0;
  bool sent = true;
  sigaction(SIGPIPE, &ignore, &usual);
  while (sent && !done) sent = redisBufferWrite(redis, &done) == REDIS_OK;
  sigaction(SIGPIPE, &usual, NULL);
  return sent;
}

bool queue_send(queue_link *link, int n, const char *const *words, const size_t *lengths) {
  if (!link->redis) return false;
  bool sent =
      redisAppendCommandArgv(link->redis, n, (const char **)words, lengths) == REDIS_OK && write_out(link->redis);
  if (!sent) queue_link_lose(link, link->redis->errstr[0] ? link->redis->errstr : "out of memory");
  return sent;
}

redisReply *queue_read(queue_link *link) {
  void *reply = NULL;
  if (!link->redis) return NULL;
  if (redisGetReply(link->redis, &reply) == REDIS_OK && reply) return reply;
  queue_link_lose(link, link->redis->errstr[0] ? link->redis->errstr : "the server does not answer");
  return NULL;
}

/* What is buffered first; then what the socket holds. */
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
