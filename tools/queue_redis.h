/* queue_redis.h: one connection to a Redis server as the two sides of a queue use it: where it is, commands, what comes back. */
#ifndef TENON_TOOLS_QUEUE_REDIS_H
#define TENON_TOOLS_QUEUE_REDIS_H

#include <hiredis/hiredis.h>

#include "tools/queue.h"
#include "tools/queue_tls.h"

/* PROTOCOL: of the texts that tuner and worker exchange. Seconds. */
enum {
  QUEUE_PROTOCOL = 1,
  QUEUE_LIFE_S = 15,   /* a sign of life holds for so long */
  QUEUE_LEASE_S = 15,  /* an entry that nobody renewed for so long is claimed */
  QUEUE_KEEP_S = 120,  /* what a tuner leaves behind when it is killed expires after it */
  QUEUE_RESYNC_S = 10, /* how often a tuner looks for its entries */
  QUEUE_MOST_CLAIMS = 5,
  QUEUE_MOST_BYTES = 64 << 20, /* of a task */
  QUEUE_MOST_ANSWER = 1 << 20,
  QUEUE_MOST_REPLY = 128 << 20,
  QUEUE_NAME = 96, /* of a tuner or a worker, with its end */
  QUEUE_KEY = 224
};

/* A parsed URL. Texts are malloc'ed; USER and PASSWORD may be NULL. */
typedef struct queue_place {
  char *host, *user, *password, *pool;
  int port;
  bool is_safe; /* rediss://: by TLS, with these */
  queue_tls_files files;
  char shown[256]; /* the URL without its password */
} queue_place;
/* redis://[[USER]:PASSWORD@]HOST[:PORT]/POOL; rediss://...[?cacert=FILE&cert=FILE&key=FILE] by TLS. Where it has no password, REDISCLI_AUTH of the environment is one, as for redis-cli.
 * False, and WHY says what is wrong; to be freed in either case. */
bool queue_place_parse(const char *url, queue_place *out, runtime_str *why);
void queue_place_free(queue_place *place);
/* tenon:{POOL}:KIND[:NAME] */
typedef struct queue_key {
  char text[QUEUE_KEY];
} queue_key;
queue_key queue_key_of(const queue_place *place, const char *kind, const char *name);
/* HOST-PID-RANDOM, as no other is called. */
void queue_new_name(char out[QUEUE_NAME]);

typedef struct queue_link {
  const queue_place *place;
  redisContext *redis; /* NULL: not connected */
  queue_tls *tls;      /* NULL: it is none, or bytes go as they are */
  int failures;        /* tries to connect in a row */
  uint64_t retry_ns;   /* not before this is it tried again */
  bool is_refused;     /* the server answers, and will not have us: no later try will do better */
  char trouble[320];   /* the last one; "": there was none */
} queue_link;

/* Connects if it is not, and if the pause since the last try is over. A second at most. */
bool queue_link_up(queue_link *link);
/* The connection is of no use any more. */
void queue_link_lose(queue_link *link, const char *why);
void queue_link_close(queue_link *link);
/* Sends a command of N words; LENGTHS NULL: they are texts. False: the connection was lost. Whoever sends has to read the reply. */
bool queue_send(queue_link *link, int n, const char *const *words, const size_t *lengths);
#define QUEUE_SEND(link, ...) \
  queue_send(link, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__}, NULL)
/* Takes what the socket holds, without waiting. False: the connection was lost. */
bool queue_fill(queue_link *link);
/* Waits for the next reply, five seconds at most. NULL: the connection was lost. Errors of the server are replies. */
redisReply *queue_read(queue_link *link);
/* A reply that has arrived, without waiting. False: the connection was lost; *REPLY NULL: there is none yet. */
bool queue_peek(queue_link *link, redisReply **reply);
/* Sends and reads. */
redisReply *queue_ask(queue_link *link, int n, const char *const *words);
#define QUEUE_ASK(link, ...) \
  queue_ask(link, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

/* ---- replies: everything may be anything ------------------------------------------------------------------------- */

/* The text; NULL: it is none. */
const char *queue_text(const redisReply *reply);
/* How many elements; 0 of what is no array. */
size_t queue_count(const redisReply *reply);
const redisReply *queue_at(const redisReply *reply, size_t i);
/* Of a stream's entry, [ID, [NAME, VALUE, ...]]: the value of NAME; NULL: there is none. */
const redisReply *queue_field(const redisReply *entry, const char *name);
/* The number of an entry's ID; 0: it is none of a tuner's. */
int64_t queue_entry_number(const redisReply *entry);

/* ---- tasks and answers as texts (queue_task.c) ------------------------------------------------------------------- */

/* How a tuner wants its candidates timed; a worker keeps a process for each way. */
typedef struct queue_way {
  double run_timeout_s;
  tn_repeat_options repeats;
} queue_way;

/* A candidate as a worker reads it; texts are JSON's. */
typedef struct queue_task {
  json_t *json;
  tn_candidate candidate;
  queue_way way;
  bool is_prepare;
} queue_task;

/* JSON, malloc'ed; NULL: no memory, or a text that is not UTF-8. */
char *queue_task_print(const tn_candidate *candidate, const queue_way *way, bool is_prepare);
/* False: it is no task. To be freed in either case. */
bool queue_task_parse(const char *text, size_t n, queue_task *out);
void queue_task_free(queue_task *task);
/* LACKS: the worker cannot make the reference; another one may. NULL: no memory. */
char *queue_answer_print(const tn_measurement *m, bool lacks);
/* Adds to what the builder has made. NEEDS_TIME: without one it is a failure; a preparation may have none. False: it is no answer,
 * and nothing was changed. */
bool queue_answer_parse(const char *text, size_t n, bool needs_time, tn_measurement *inout, bool *lacks);

#endif
