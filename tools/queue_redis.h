/* queue_redis.h: a connection to a Redis server, as both sides of a queue use it: where it is, commands, replies. */
#ifndef TENON_TOOLS_QUEUE_REDIS_H
#define TENON_TOOLS_QUEUE_REDIS_H

#include <hiredis/hiredis.h>

#include "tools/queue.h"
#include "tools/queue_tls.h"

/* Numbers that tuner and worker agree on. PROTOCOL: the version of the texts that they exchange. ..._S are seconds. */
enum {
  QUEUE_PROTOCOL = 1,
  QUEUE_LIFE_S = 15,   /* how long a sign of life counts */
  QUEUE_LEASE_S = 15,  /* an entry that nobody has renewed for so long is claimed by another worker */
  QUEUE_KEEP_S = 120,  /* what a killed tuner leaves behind expires after so long */
  QUEUE_RESYNC_S = 10, /* how often a tuner looks whether its entries are still there */
  QUEUE_MOST_CLAIMS = 5,
  QUEUE_MOST_BYTES = 64 << 20, /* the largest task, in bytes; below: the largest answer and reply */
  QUEUE_MOST_ANSWER = 1 << 20,
  QUEUE_MOST_REPLY = 128 << 20,
  QUEUE_NAME = 96, /* bytes of a tuner's or worker's name, its end included */
  QUEUE_KEY = 224
};

/* A parsed URL. Texts are malloc'ed; USER and PASSWORD may be NULL. */
typedef struct queue_place {
  char *host, *user, *password, *pool;
  int port;
  bool is_safe; /* rediss://: TLS is used, with these files */
  queue_tls_files files;
  char shown[256]; /* the URL without its password */
} queue_place;
/* Reads redis://[[USER]:PASSWORD@]HOST[:PORT]/POOL, or rediss://...[?cacert=FILE&cert=FILE&key=FILE] for
 * TLS. A URL without a password takes it from the environment's REDISCLI_AUTH, as redis-cli does. False,
 * and WHY says what is wrong. OUT is to be freed in either case. */
bool queue_place_parse(const char *url, queue_place *out, runtime_str *why);
void queue_place_free(queue_place *place);
/* The text of a key: tenon:{POOL}:KIND[:NAME]. The braces put all keys of a pool on one node of a cluster. */
typedef struct queue_key {
  char text[QUEUE_KEY];
} queue_key;
queue_key queue_key_of(const queue_place *place, const char *kind, const char *name);
/* A name that nobody else has: HOST-PID-RANDOM. */
void queue_new_name(char out[QUEUE_NAME]);

/* A connection. Zero-initialise it with its place; it connects when queue_link_up is called. */
typedef struct queue_link {
  const queue_place *place;
  redisContext *redis; /* NULL: not connected */
  queue_tls *tls;      /* NULL: not connected, or without TLS */
  int failures;        /* failed connections in a row */
  uint64_t retry_ns;   /* no new try before this */
  bool is_refused;     /* the server answers but refuses us: later tries will not do better */
  char trouble[320];   /* the last failure in words; "": there was none */
} queue_link;

/* Connects if it is not connected and the pause since the last try is over. Takes a second at most to reach
 * the host, and five for each reply. False: not connected. */
bool queue_link_up(queue_link *link);
/* Closes the connection, which is of no use any more, and plans the next try. */
void queue_link_lose(queue_link *link, const char *why);
void queue_link_close(queue_link *link);
/* Sends a command of N words; LENGTHS NULL: they are texts. False: the connection was lost. The reply has
 * to be read afterwards. */
bool queue_send(queue_link *link, int n, const char *const *words, const size_t *lengths);
#define QUEUE_SEND(link, ...) \
  queue_send(link, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__}, NULL)
/* Takes what has arrived at the socket, without waiting. False: the connection was lost. */
bool queue_fill(queue_link *link);
/* Waits for the next reply, five seconds at most without a byte. NULL: the connection was lost. An error of
 * the server is a reply. To be freed. */
redisReply *queue_read(queue_link *link);
/* Takes a reply that has arrived, without waiting. False: the connection was lost. *REPLY NULL: there is none yet. */
bool queue_peek(queue_link *link, redisReply **reply);
/* Sends and reads. */
redisReply *queue_ask(queue_link *link, int n, const char *const *words);
#define QUEUE_ASK(link, ...) \
  queue_ask(link, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

/* ---- replies: a server may send anything, so every access checks the type ---------------------------------------- */

/* The reply's text, or NULL if it is not a text. */
const char *queue_text(const redisReply *reply);
/* The number of elements; 0 if the reply is not an array. */
size_t queue_count(const redisReply *reply);
const redisReply *queue_at(const redisReply *reply, size_t i);
/* The value of NAME in a stream's entry [ID, [NAME, VALUE, ...]]; NULL if there is none. */
const redisReply *queue_field(const redisReply *entry, const char *name);
/* The number in the entry's ID, NUMBER-0; 0 if the ID was not chosen by a tuner. */
int64_t queue_entry_number(const redisReply *entry);

/* ---- tasks and answers as texts (queue_task.c) ------------------------------------------------------------------- */

/* How a worker has to time a candidate. */
typedef struct queue_way {
  double run_timeout_s;
  tn_repeat_options repeats;
} queue_way;

/* A task as a worker reads it. The candidate's texts belong to JSON. */
typedef struct queue_task {
  json_t *json;
  tn_candidate candidate;
  queue_way way;
  bool is_prepare;
} queue_task;

/* The task's JSON, malloc'ed; NULL: no memory, or a text that is not UTF-8. */
char *queue_task_print(const tn_candidate *candidate, const queue_way *way, bool is_prepare);
/* Reads a task. False: the text is none. To be freed in either case. */
bool queue_task_parse(const char *text, size_t n, queue_task *out);
void queue_task_free(queue_task *task);
/* The answer's JSON, malloc'ed; NULL: no memory. LACKS: this worker cannot make the reference, but another one may. */
char *queue_answer_print(const tn_measurement *m, bool lacks);
/* Adds an answer to the measurement that the builder began. NEEDS_TIME: an answer without times is a
 * failure; that of a preparation may have none. False: the text is no answer, and nothing was changed. */
bool queue_answer_parse(const char *text, size_t n, bool needs_time, tn_measurement *inout, bool *lacks);

#endif
