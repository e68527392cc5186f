/* queue_tuner.c: the tuner's side of a queue: a runner whose candidates are timed by the workers of a pool.
 *
 * Nothing here waits for the server while the tuner has other work. Each command's kind of reply is
 * remembered when it is sent, and replies are taken as they come. Answers come over a second connection,
 * which waits for them. */
#include <math.h>
#include <poll.h>
#include <time.h>

#include "autotune/measure.h"
#include "tools/queue_redis.h"

/* Candidates under way while no worker is known; seconds after which a reply is late; the most workers that
 * are remembered. */
enum { USUAL_WIDTH = 8, LATE_S = 10, ANSWERS = 64, MOST_MACHINES = 4096 };
/* Numbers of entries stay below this, far from where strtoll ends. */
#define MOST_NUMBER (INT64_C(1) << 60)
/* Seconds without any worker until the run is given up, between two signs of life, and of looking for
 * workers at the start. */
#define PATIENCE_S 30.0
#define BEAT_S 1.0
#define LOOK_AROUND_S 0.5
/* Seconds in which a server that is just being started may come up. */
#define START_S 3.0

/* A worker that was seen in the pool. */
typedef struct machine {
  char id[QUEUE_NAME];
  const char *name; /* in records, owned by the context; NULL: it was never wanted */
  tn_host_phase phase;
  bool is_listed; /* it was in the last list of workers */
  int timed, lost;
  char trouble[256];
} machine;

/* A task that an answer is awaited for. The job is the tuner's. */
typedef struct asked {
  int64_t number; /* number of its entry in the stream */
  tn_job *job;
  char *text; /* the task's JSON, malloc'ed; its object is the measurement's */
  bool is_prepare;
  bool is_missing; /* its entry was not there when it was last looked for */
  int times_sent;  /* how often it was sent with this number */
  uint64_t added_ns;
} asked;

/* What a reply that is awaited will be taken for: ADDED of an XADD, GROUP of making a group, TOP of asking
 * for a stream's last number, WORKERS of the list, WORKER of one's words, ENTRY of looking for a task's
 * entry; NONE is ignored. */
typedef enum reply_kind {
  REPLY_NONE,
  REPLY_ADDED,
  REPLY_GROUP,
  REPLY_TOP,
  REPLY_WORKERS,
  REPLY_WORKER,
  REPLY_ENTRY
} reply_kind;
/* Replies come in the order of the commands, so a list of these tells what each one is. */
typedef struct expected {
  reply_kind kind;
  int64_t number;      /* of a task */
  char id[QUEUE_NAME]; /* of a worker */
  uint64_t since_ns;
} expected;

/* Owns both connections, the builder's processes, and what is awaited. */
struct queue_tuner {
  tools_session *session;
  tn_context *ctx;
  queue_place place;
  queue_link link, answers;
  char name[QUEUE_NAME];
  queue_way way;
  double patience_s;
  tn_builder builder;
  tn_runner pool, runner; /* pool: the runner that belongs to the builder's processes; not used */
  RUNTIME_VEC(asked) asked;
  RUNTIME_VEC(tn_job *) done;
  RUNTIME_VEC(machine) machines;
  RUNTIME_VEC(expected) expected;
  int first_expected;
  int64_t next_number;
  char last_answer[48]; /* ID of the last answer that was read */
  bool is_reading, has_groups;
  uint64_t reading_ns, beat_ns, resync_ns, alone_ns;
  bool is_full;  /* the warning about too many workers was given */
  bool is_deaf;  /* the server does not let us read answers */
  int finals_on; /* the machine that times finalists; -1: none was chosen */
  int n_strays;  /* answers to no question of ours */
  bool (*should_stop)(void *user);
  void *user;
};

/* The moment SECONDS from now, in nanoseconds. */
static uint64_t after(double seconds) { return runtime_now_ns() + (uint64_t)(seconds * 1e9); }

/* A key of this tuner. */
static queue_key own_key(const queue_tuner *q, const char *kind) { return queue_key_of(&q->place, kind, q->name); }

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

/* Sends a command on the first connection and notes what its reply will be. If it is lost, connect_tasks
 * sends everything again. */
static void send_words(queue_tuner *q, reply_kind kind, int64_t number, const char *id, int n, const char *const *words,
                       const size_t *lengths) {
  expected e = {.kind = kind, .number = number, .since_ns = runtime_now_ns()};
  snprintf(e.id, sizeof e.id, "%s", id ? id : "");
  if (!queue_send(&q->link, n, words, lengths)) return;
  if (!RUNTIME_PUSH(&q->expected, e)) queue_link_lose(&q->link, "out of memory");
}
#define SEND(q, kind, number, id, ...)                                                           \
  send_words(q, kind, number, id, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
             (const char *[]){__VA_ARGS__}, NULL)

/* Makes the streams with their groups; where they exist the server says BUSYGROUP, which is fine. */
static void make_streams(queue_tuner *q) {
  SEND(q, REPLY_GROUP, 0, NULL, "XGROUP", "CREATE", own_key(q, "tasks").text, "workers", "0", "MKSTREAM");
  SEND(q, REPLY_NONE, 0, NULL, "XGROUP", "CREATE", own_key(q, "finals").text, "workers", "0", "MKSTREAM");
}

/* Finalists have a stream of their own, which one worker reads. */
static queue_key stream_of(const queue_tuner *q, const asked *a) {
  return own_key(q, a->job->candidate->is_final ? "finals" : "tasks");
}

/* Adds the task's entry with the ID that was chosen for it. The server refuses an ID that it has seen, so
 * sending twice does no harm. */
static void send_task(queue_tuner *q, asked *a) {
  char id[32];
  queue_key stream = stream_of(q, a);
  const tn_measurement *m = a->job->measurement;
  snprintf(id, sizeof id, "%lld-0", (long long)a->number);
  const char *words[] = {"XADD", stream.text, id, "task", a->text, "object", m->object ? m->object : ""};
  size_t lengths[] = {4, strlen(stream.text), strlen(id), 4, strlen(a->text), 6, m->object ? m->object_bytes : 0};
  a->is_missing = false;
  a->times_sent++;
  a->added_ns = runtime_now_ns();
  send_words(q, REPLY_ADDED, a->number, NULL, RUNTIME_COUNT(words), words, lengths);
}

static void send_all(queue_tuner *q) {
  for (int i = 0; i < q->asked.n && q->link.redis; ++i) send_task(q, &q->asked.data[i]);
}

/* Sends task I under a new number, since the server takes no number twice. The table stays in the order of
 * the numbers. */
static void send_anew(queue_tuner *q, int i) {
  asked a = q->asked.data[i];
  memmove(q->asked.data + i, q->asked.data + i + 1, sizeof a * (size_t)(q->asked.n - i - 1));
  a.number = ++q->next_number;
  a.times_sent = 0;
  q->asked.data[q->asked.n - 1] = a;
  send_task(q, &q->asked.data[q->asked.n - 1]);
}

/* Nobody needs to time it any more. */
static void delete_entry(queue_tuner *q, const asked *a) {
  char id[32];
  queue_key stream = stream_of(q, a);
  snprintf(id, sizeof id, "%lld-0", (long long)a->number);
  SEND(q, REPLY_NONE, 0, NULL, "XACK", stream.text, "workers", id);
  SEND(q, REPLY_NONE, 0, NULL, "XDEL", stream.text, id);
}

/* The task of a number; -1: none awaits it. */
static int find_asked(const queue_tuner *q, int64_t number) {
  for (int i = 0; i < q->asked.n; ++i)
    if (q->asked.data[i].number == number) return i;
  return -1;
}

/* Removes task I from the table. Its job becomes what poll returns. */
static void finish(queue_tuner *q, int i) {
  asked a = q->asked.data[i];
  free(a.text);
  memmove(q->asked.data + i, q->asked.data + i + 1, sizeof a * (size_t)(q->asked.n - i - 1));
  q->asked.n--;
  if (!RUNTIME_PUSH(&q->done, a.job)) runtime_fail(q->ctx, TN_ERROR_MEMORY, "out of memory for an answer of the queue");
}

/* ---- machines ---------------------------------------------------------------------------------------------------- */

static machine *find_machine(queue_tuner *q, const char *id) {
  for (int i = 0; i < q->machines.n; ++i)
    if (strcmp(q->machines.data[i].id, id) == 0) return &q->machines.data[i];
  return NULL;
}

static int count_serving(const queue_tuner *q) {
  int n = 0;
  for (int i = 0; i < q->machines.n; ++i) n += q->machines.data[i].phase == TN_HOST_SERVING;
  return n;
}

/* Whether a machine has this name already. */
static bool is_taken(const queue_tuner *q, const char *name) {
  for (int i = 0; i < q->machines.n; ++i)
    if (q->machines.data[i].name && strcmp(q->machines.data[i].name, name) == 0) return true;
  return false;
}

/* Names a machine by its host; further workers of one host get a number. */
static void name_machine(queue_tuner *q, machine *m, const char *host) {
  char text[96];
  int number = 1;
  do snprintf(text, sizeof text, number == 1 ? "%.64s" : "%.64s#%d", host, number);
  while (is_taken(q, text) && ++number <= MOST_MACHINES);
  m->name = runtime_strdup(&q->ctx->arena, text);
}

/* A place for a machine in the table; where that is full, the place of one that is lost. NULL: all are
 * serving, or there is no memory. */
static machine *place_for_machine(queue_tuner *q) {
  if (q->machines.n < MOST_MACHINES)
    return RUNTIME_PUSH(&q->machines, (machine){0}) ? &q->machines.data[q->machines.n - 1] : NULL;
  for (int i = 0; i < q->machines.n; ++i)
    if (q->machines.data[i].phase == TN_HOST_LOST && i != q->finals_on) return &q->machines.data[i];
  if (!q->is_full)
    runtime_say(q->ctx, TN_SEVERITY_WARNING, "the pool has more than %d workers: the others are not used",
                MOST_MACHINES);
  q->is_full = true;
  return NULL;
}

/* Tells the worker, by the tuner's hash, and the user why its answers are not taken. */
static void refuse_machine(queue_tuner *q, machine *m, const char *why) {
  char field[QUEUE_NAME + 8];
  m->phase = TN_HOST_REFUSED;
  snprintf(m->trouble, sizeof m->trouble, "%.250s", why);
  snprintf(field, sizeof field, "w:%s", m->id);
  SEND(q, REPLY_NONE, 0, NULL, "HSET", own_key(q, "tuner").text, field, m->trouble);
  runtime_say(q->ctx, TN_SEVERITY_WARNING, "worker %s is refused: %s", m->name ? m->name : m->id, m->trouble);
}

/* Checks a worker's words: protocol, version, target and costs, as a host's greeting is checked. False: WHY
 * says what differs. */
static bool is_wanted(queue_tuner *q, const json_t *greeting, runtime_str *why) {
  bool costs_differ;
  const tn_target *target = q->session->target;
  int64_t protocol = protocol_int(greeting, "queue", -1);
  if (protocol != QUEUE_PROTOCOL) {
    runtime_str_addf(why, "it speaks protocol %lld of the queue, this is %d", (long long)protocol, QUEUE_PROTOCOL);
    return false;
  }
  const char *costs = tn_target_costs(target);
  measure_wanted wanted = {
      .target = tn_target_text(target), .costs = costs && *costs ? costs : NULL, .whose = "the target's"};
  return measure_greeting_fits(&wanted, greeting, &costs_differ, why);
}

/* A worker that was not seen before: it gets a place and a name, and is told whether it is wanted. */
static void welcome(queue_tuner *q, const char *id, const json_t *greeting) {
  machine m = {.is_listed = true, .phase = TN_HOST_SERVING};
  runtime_str why = {0};
  char field[QUEUE_NAME + 8];
  snprintf(m.id, sizeof m.id, "%s", id);
  machine *place = place_for_machine(q);
  if (!place) return;
  *place = (machine){.phase = TN_HOST_LOST};
  name_machine(q, &m, protocol_text(greeting, "host", "host"));
  *place = m;
  snprintf(field, sizeof field, "w:%s", id);
  if (is_wanted(q, greeting, &why))
    SEND(q, REPLY_NONE, 0, NULL, "HSET", own_key(q, "tuner").text, field, "yes");
  else
    refuse_machine(q, place, why.n > 0 ? why.data : "out of memory");
  runtime_str_free(&why);
}

/* It gave no sign of life. If it timed the finalists, another one is chosen at once. */
static void lose_machine(queue_tuner *q, machine *m) {
  if (m->phase != TN_HOST_SERVING) return;
  m->phase = TN_HOST_LOST;
  m->lost++;
  snprintf(m->trouble, sizeof m->trouble, "it gave no sign of life for %d s", QUEUE_LIFE_S);
  if (q->finals_on >= 0 && m == &q->machines.data[q->finals_on]) q->finals_on = -1, q->beat_ns = 0;
}

/* Takes a worker's own words. Without any it is gone, and is taken out of the pool's set. One that was away
 * for a while keeps its place. */
static void take_worker(queue_tuner *q, const char *id, const redisReply *reply) {
  const char *text = queue_text(reply);
  machine *m = find_machine(q, id);
  if (!text) {
    SEND(q, REPLY_NONE, 0, NULL, "SREM", queue_key_of(&q->place, "workers", NULL).text, id);
    if (m) lose_machine(q, m);
    return;
  }
  if (m && m->phase == TN_HOST_LOST) m->phase = TN_HOST_SERVING;
  if (m) return;
  json_t *greeting = json_loadb(text, reply->len, 0, NULL);
  if (json_is_object(greeting)) welcome(q, id, greeting);
  json_decref(greeting);
}

/* Takes the list of workers and asks for the words of each. */
static void take_workers(queue_tuner *q, const redisReply *reply) {
  for (int i = 0; i < q->machines.n; ++i) q->machines.data[i].is_listed = false;
  for (size_t i = 0; i < queue_count(reply); ++i) {
    const char *id = queue_text(queue_at(reply, i));
    if (!id || strlen(id) >= QUEUE_NAME) continue;
    machine *m = find_machine(q, id);
    if (m) m->is_listed = true;
    SEND(q, REPLY_WORKER, 0, id, "GET", queue_key_of(&q->place, "worker", id).text);
  }
  for (int i = 0; i < q->machines.n; ++i)
    if (!q->machines.data[i].is_listed) lose_machine(q, &q->machines.data[i]);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* A worker that cannot make the reference is refused, and task I is sent to others. False: there is no other. */
static bool goes_elsewhere(queue_tuner *q, machine *m, int i) {
  tn_measurement *out = q->asked.data[i].job->measurement;
  bool has_other = count_serving(q) > (m->phase == TN_HOST_SERVING);
  if (!has_other) return false;
  refuse_machine(q, m, out->message ? out->message : "it cannot make the reference");
  free(out->message);
  out->message = NULL;
  out->error = TN_MEASURE_NONE;
  if (q->finals_on >= 0 && m == &q->machines.data[q->finals_on]) q->finals_on = -1, q->beat_ns = 0;
  send_anew(q, i);
  return true;
}

/* Takes one answer. It is dropped when it is to no question of ours, or from a machine that was never welcomed. */
static void take_answer(queue_tuner *q, const redisReply *entry) {
  const char *id = queue_text(queue_field(entry, "id")), *worker = queue_text(queue_field(entry, "worker"));
  const redisReply *answer = queue_field(entry, "answer");
  machine *m = worker ? find_machine(q, worker) : NULL;
  int i = id ? find_asked(q, strtoll(id, NULL, 10)) : -1;
  bool lacks = false;
  if (!m || m->phase == TN_HOST_REFUSED || i < 0 || !answer) {
    q->n_strays++;
    return;
  }
  tn_measurement *out = q->asked.data[i].job->measurement;
  if (!queue_answer_parse(answer->str, answer->len, !q->asked.data[i].is_prepare, out, &lacks)) {
    refuse_machine(q, m, "it answers what is no answer");
    return;
  }
  if (lacks && goes_elsewhere(q, m, i)) return;
  out->machine = m->name;
  m->timed++;
  finish(q, i);
}

/* An error instead of answers, such as a missing permission: closes the connection and notes it. It is
 * tried again after pauses; meanwhile nobody can time anything for us. */
static void note_deafness(queue_tuner *q, const redisReply *reply) {
  char why[300];
  q->is_deaf = reply->type == REDIS_REPLY_ERROR;
  if (!q->is_deaf) return;
  snprintf(why, sizeof why, "the server says: %.280s", reply->str);
  q->answers.failures++; /* connecting again does not mend it */
  queue_link_lose(&q->answers, why);
}

/* Takes a batch of answers and deletes them from the server. */
static void take_answers(queue_tuner *q, const redisReply *reply) {
  const redisReply *entries = queue_at(queue_at(reply, 0), 1);
  queue_key stream = own_key(q, "answers");
  for (size_t i = 0; i < queue_count(entries); ++i) {
    const redisReply *entry = queue_at(entries, i);
    const char *id = queue_text(queue_at(entry, 0));
    if (!id || strlen(id) >= sizeof q->last_answer) continue;
    snprintf(q->last_answer, sizeof q->last_answer, "%s", id);
    take_answer(q, entry);
    SEND(q, REPLY_NONE, 0, NULL, "XDEL", stream.text, id);
  }
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

/* The entry of a task was looked for. If it is missing, its answer may be on its way; only when it is
 * missing twice in a row are both lost, and the task is sent anew. */
static void take_entry(queue_tuner *q, int64_t number, const redisReply *reply) {
  int i = find_asked(q, number);
  if (i < 0 || reply->type != REDIS_REPLY_ARRAY) return;
  if (reply->elements > 0)
    q->asked.data[i].is_missing = false;
  else if (q->asked.data[i].is_missing)
    send_anew(q, i);
  else
    q->asked.data[i].is_missing = true;
}

/* The server refused a task's number. If it was sent for the first time, somebody else has written to the
 * stream: asks for the last number in it. */
static void take_refusal(queue_tuner *q, int64_t number) {
  int i = find_asked(q, number);
  if (i >= 0 && q->asked.data[i].times_sent == 1)
    SEND(q, REPLY_TOP, number, NULL, "XINFO", "STREAM", stream_of(q, &q->asked.data[i]).text);
}

/* Somebody has used up all numbers of the stream: deletes it. When its group is made again, everything is
 * sent again. */
static void begin_stream_anew(queue_tuner *q, const asked *a) {
  SEND(q, REPLY_NONE, 0, NULL, "DEL", stream_of(q, a).text);
  q->has_groups = true;
  make_streams(q);
}

/* The last number of a stream: the task goes on behind it. */
static void take_top(queue_tuner *q, int64_t number, const redisReply *reply) {
  int i = find_asked(q, number);
  for (size_t k = 0; k + 1 < queue_count(reply); k += 2) {
    const char *name = queue_text(queue_at(reply, k)), *id = queue_text(queue_at(reply, k + 1));
    if (!name || !id || strcmp(name, "last-generated-id") != 0) continue;
    int64_t top = strtoll(id, NULL, 10);
    if (top < MOST_NUMBER) q->next_number = RUNTIME_MAX(q->next_number, top);
    if (i < 0) continue;
    if (top < MOST_NUMBER)
      send_anew(q, i);
    else
      begin_stream_anew(q, &q->asked.data[i]);
  }
}

/* Does what a reply means. Errors that are expected are not remembered as trouble. */
static void take_reply(queue_tuner *q, const expected *e, const redisReply *reply) {
  bool is_error = reply->type == REDIS_REPLY_ERROR;
  bool is_known = is_error && (strstr(reply->str, "equal or smaller") || strncmp(reply->str, "BUSYGROUP", 9) == 0);
  if (is_error && !is_known) snprintf(q->link.trouble, sizeof q->link.trouble, "the server says: %.280s", reply->str);
  switch (e->kind) {
    case REPLY_NONE: break;
    case REPLY_ADDED:
      if (is_error && is_known) take_refusal(q, e->number);
      break;
    case REPLY_TOP: take_top(q, e->number, reply); break;
    case REPLY_GROUP: /* it was not there any more, and what it held is gone */
      if (!is_error && q->has_groups) send_all(q);
      q->has_groups = true;
      break;
    case REPLY_WORKERS: take_workers(q, reply); break;
    case REPLY_WORKER: take_worker(q, e->id, reply); break;
    case REPLY_ENTRY: take_entry(q, e->number, reply); break;
  }
}

/* Removes from the list what was answered, once that is half of it: on a busy connection the list would
 * otherwise grow for ever. */
static void forget_answered(queue_tuner *q) {
  int left = q->expected.n - q->first_expected;
  if (q->first_expected < left) return;
  if (left > 0)
    memmove(q->expected.data, q->expected.data + q->first_expected, sizeof *q->expected.data * (size_t)left);
  q->expected.n = left;
  q->first_expected = 0;
}

/* Takes all replies that have arrived, in the order of the commands. */
static void take_replies(queue_tuner *q) {
  redisReply *reply;
  while (q->first_expected < q->expected.n && queue_peek(&q->link, &reply) && reply) {
    expected e = q->expected.data[q->first_expected++];
    take_reply(q, &e, reply);
    freeReplyObject(reply);
  }
  forget_answered(q);
}

/* ---- signs of life ----------------------------------------------------------------------------------------------- */

/* Chooses the machine that times the finalists, and tells it before there are any: the first one that
 * serves, and another when that one is gone. Times of one machine can be compared. */
static void choose_finals(queue_tuner *q) {
  for (int i = 0; q->finals_on < 0 && i < q->machines.n; ++i)
    if (q->machines.data[i].phase == TN_HOST_SERVING) q->finals_on = i;
  if (q->finals_on >= 0)
    SEND(q, REPLY_NONE, 0, NULL, "HSET", own_key(q, "tuner").text, "finals", q->machines.data[q->finals_on].id);
}

/* The sign of life: renews what would expire on the server, and asks who is in the pool. */
static void beat(queue_tuner *q) {
  static const char *const kept[] = {"tasks", "finals", "answers"};
  char life[16], keep[16];
  snprintf(life, sizeof life, "%d", QUEUE_LIFE_S);
  snprintf(keep, sizeof keep, "%d", QUEUE_KEEP_S);
  make_streams(q);
  SEND(q, REPLY_NONE, 0, NULL, "HSET", own_key(q, "tuner").text, "alive", "1");
  SEND(q, REPLY_NONE, 0, NULL, "EXPIRE", own_key(q, "tuner").text, life);
  for (int i = 0; i < RUNTIME_COUNT(kept); ++i) SEND(q, REPLY_NONE, 0, NULL, "EXPIRE", own_key(q, kept[i]).text, keep);
  SEND(q, REPLY_NONE, 0, NULL, "SADD", queue_key_of(&q->place, "tuners", NULL).text, q->name);
  SEND(q, REPLY_WORKERS, 0, NULL, "SMEMBERS", queue_key_of(&q->place, "workers", NULL).text);
  choose_finals(q);
  q->beat_ns = after(BEAT_S);
}

/* Says again which workers are taken: the hash may have expired meanwhile. */
static void say_who_serves(queue_tuner *q) {
  for (int i = 0; i < q->machines.n; ++i) {
    const machine *m = &q->machines.data[i];
    char field[QUEUE_NAME + 8];
    snprintf(field, sizeof field, "w:%s", m->id);
    SEND(q, REPLY_NONE, 0, NULL, "HSET", own_key(q, "tuner").text, field,
         m->phase == TN_HOST_REFUSED ? m->trouble : "yes");
  }
}

/* Looks for the entry of each task that was added a while ago. */
static void resync(queue_tuner *q) {
  say_who_serves(q);
  for (int i = 0; i < q->asked.n; ++i) {
    asked *a = &q->asked.data[i];
    char id[32];
    if (runtime_now_ns() - a->added_ns < (uint64_t)QUEUE_RESYNC_S * 1000000000u) continue;
    snprintf(id, sizeof id, "%lld-0", (long long)a->number);
    SEND(q, REPLY_ENTRY, a->number, NULL, "XRANGE", stream_of(q, a).text, id, id, "COUNT", "1");
  }
  q->resync_ns = after(QUEUE_RESYNC_S);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* On a new connection everything is sent again; what the server has it refuses by its number. */
static bool connect_tasks(queue_tuner *q) {
  if (q->link.redis) return true;
  q->first_expected = q->expected.n = 0;
  if (!queue_link_up(&q->link)) return false;
  q->has_groups = false;
  beat(q);
  send_all(q);
  resync(q);
  return q->link.redis != NULL;
}

/* Asks the server to send answers behind the last that was read, when there are any. */
static void read_answers(queue_tuner *q) {
  if (!q->answers.redis) q->is_reading = false;
  if (q->is_reading || !queue_link_up(&q->answers)) return;
  q->is_reading = QUEUE_SEND(&q->answers, "XREAD", "COUNT", "64", "BLOCK", "1000", "STREAMS",
                             own_key(q, "answers").text, q->last_answer);
  q->reading_ns = runtime_now_ns();
}

static bool is_late(uint64_t since_ns) { return runtime_now_ns() - since_ns > (uint64_t)LATE_S * 1000000000u; }

/* Closes connections on which a reply is late: a server that is cut off closes none. */
static void lose_late(queue_tuner *q) {
  bool waits = q->first_expected < q->expected.n;
  if (q->link.redis && waits && is_late(q->expected.data[q->first_expected].since_ns))
    queue_link_lose(&q->link, "the server does not answer");
  if (q->answers.redis && q->is_reading && is_late(q->reading_ns))
    queue_link_lose(&q->answers, "the server does not answer");
}

/* Takes what has arrived on both connections, waiting up to WAIT_S for something. */
static void receive(queue_tuner *q, double wait_s) {
  queue_link *links[] = {&q->link, &q->answers};
  struct pollfd polled[2];
  for (int i = 0; i < 2; ++i)
    polled[i] = (struct pollfd){.fd = links[i]->redis ? links[i]->redis->fd : -1, .events = POLLIN};
  if (poll(polled, 2, (int)ceil(fmax(wait_s, 0) * 1e3)) <= 0) return;
  for (int i = 0; i < 2; ++i)
    if (polled[i].revents) queue_fill(links[i]);
  take_replies(q);
  redisReply *reply;
  while (q->is_reading && queue_peek(&q->answers, &reply) && reply) {
    q->is_reading = false;
    take_answers(q, reply);
    note_deafness(q, reply);
    freeReplyObject(reply);
  }
}

/* ---- giving up --------------------------------------------------------------------------------------------------- */

/* Ends all tasks that are under way as abandoned: the tuner treats them as if they had not been asked for. */
static void abandon_all(queue_tuner *q, const char *why) {
  while (q->asked.n > 0) {
    tn_measurement *m = q->asked.data[0].job->measurement;
    delete_entry(q, &q->asked.data[0]);
    free(m->message);
    m->message = strdup(why);
    m->error = TN_MEASURE_UNKNOWN;
    m->abandoned = true;
    finish(q, 0);
  }
}

/* The most recent reason why nothing is timed, for a message. */
static const char *state_text(queue_tuner *q) {
  const char *trouble = q->is_deaf           ? q->answers.trouble
                        : q->link.trouble[0] ? q->link.trouble
                                             : "nobody serves it: start `tenon worker --queue` there";
  for (int i = 0; i < q->machines.n && q->link.redis && !q->is_deaf; ++i)
    if (q->machines.data[i].trouble[0]) trouble = q->machines.data[i].trouble;
  return trouble;
}

/* Fails when nobody has been there to time tasks for as long as the patience lasts. */
static tn_status check_patience(queue_tuner *q) {
  bool is_alone = !q->link.redis || q->is_deaf || count_serving(q) == 0;
  if (!is_alone) q->alone_ns = 0;
  if (is_alone && q->alone_ns == 0) q->alone_ns = runtime_now_ns();
  if (!is_alone || (double)(runtime_now_ns() - q->alone_ns) * 1e-9 < q->patience_s) return TN_OK;
  abandon_all(q, "no worker is left");
  return runtime_fail(q->ctx, TN_ERROR_WORKER, "no worker is left: %s: %s", q->place.shown, state_text(q));
}

/* One round of everything: connections, signs of life, replies, answers. */
static tn_status pump(queue_tuner *q, double wait_s) {
  if (q->asked.n > 0 && q->should_stop && q->should_stop(q->user)) abandon_all(q, "the run was stopped");
  if (connect_tasks(q)) {
    if (runtime_now_ns() >= q->beat_ns) beat(q);
    if (runtime_now_ns() >= q->resync_ns) resync(q);
  }
  read_answers(q);
  receive(q, q->done.n > 0 ? 0 : wait_s);
  lose_late(q);
  return q->asked.n > 0 ? check_patience(q) : TN_OK;
}

/* ---- the runner -------------------------------------------------------------------------------------------------- */

/* Queues a job. What cannot be written as a task is done at once, as failed. */
static tn_status submit_as(queue_tuner *q, tn_job *job, bool is_prepare) {
  tn_measurement *m = job->measurement;
  asked a = {.number = q->next_number + 1,
             .job = job,
             .text = queue_task_print(job->candidate, &q->way, is_prepare),
             .is_prepare = is_prepare};
  bool is_large = a.text && strlen(a.text) + m->object_bytes > QUEUE_MOST_BYTES;
  if (!a.text || is_large) {
    m->error = TN_MEASURE_INSTANTIATION;
    m->message = strdup(is_large ? "the candidate is too large for the queue: 64 MiB at most"
                                 : "the candidate's program, steps or target is missing or not valid UTF-8");
    free(a.text);
    if (RUNTIME_PUSH(&q->done, job)) return TN_OK;
  } else if (RUNTIME_PUSH(&q->asked, a)) {
    q->next_number++;
    if (job->candidate->is_final && q->finals_on < 0) q->beat_ns = 0;
    if (q->link.redis) send_task(q, &q->asked.data[q->asked.n - 1]);
    return TN_OK;
  }
  return runtime_fail(q->ctx, TN_ERROR_MEMORY, "out of memory for a candidate");
}

static tn_status submit(void *self, tn_job *job) { return submit_as(self, job, false); }

/* The first finished job; NULL: none. */
static tn_job *take_done(queue_tuner *q) {
  if (q->done.n == 0) return NULL;
  tn_job *job = q->done.data[0];
  q->done.n--;
  memmove(q->done.data, q->done.data + 1, sizeof(tn_job *) * (size_t)q->done.n);
  return job;
}

static tn_status poll_done(void *self, double wait_s, tn_job **done) {
  queue_tuner *q = self;
  tn_status status = pump(q, wait_s);
  *done = take_done(q);
  return status;
}

/* Forgets a job that is about to go; after an error it may be in any list. */
static void forget_job(queue_tuner *q, const tn_job *job) {
  for (int i = q->asked.n - 1; i >= 0; --i)
    if (q->asked.data[i].job == job) finish(q, i);
  int n = 0;
  for (int i = 0; i < q->done.n; ++i)
    if (q->done.data[i] != job) q->done.data[n++] = q->done.data[i];
  q->done.n = n;
}

/* tn_runner.prepare: a task that only makes the reference. Nothing else is under way. */
static tn_status prepare(void *self, const tn_candidate *candidate, tn_measurement *out) {
  queue_tuner *q = self;
  *out = (tn_measurement){0};
  tn_job job = {.candidate = candidate, .measurement = out};
  tn_status status = submit_as(q, &job, true);
  while (status == TN_OK && take_done(q) != &job) status = pump(q, 0.05);
  if (status != TN_OK) forget_job(q, &job);
  return status;
}

static void watch(void *self, bool (*should_stop)(void *user), void *user) {
  queue_tuner *q = self;
  q->should_stop = should_stop;
  q->user = user;
}

/* should_stop of the processes that build. */
static bool stops(void *user) {
  const queue_tuner *q = user;
  return q->should_stop && q->should_stop(q->user);
}

/* tn_runner.hosts: the machines of the pool; where none was seen, one row says why. */
static const tn_worker_host_state *hosts(void *self, int *n) {
  queue_tuner *q = self;
  tn_worker_host_state *states = RUNTIME_NEW_ARRAY(&q->ctx->arena, tn_worker_host_state, q->machines.n + 1);
  const char *command = runtime_strdup(&q->ctx->arena, q->place.shown);
  *n = states ? q->machines.n : 0;
  for (int i = 0; i < *n; ++i) {
    const machine *m = &q->machines.data[i];
    states[i] = (tn_worker_host_state){.name = m->name,
                                       .command = command,
                                       .phase = m->phase,
                                       .timed = m->timed,
                                       .lost = m->lost,
                                       .trouble = m->trouble[0] ? runtime_strdup(&q->ctx->arena, m->trouble) : NULL};
  }
  if (states && *n == 0)
    states[(*n)++] = (tn_worker_host_state){.name = command,
                                            .command = command,
                                            .phase = TN_HOST_STARTING,
                                            .trouble = runtime_strdup(&q->ctx->arena, state_text(q))};
  return states;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Before the run: the number of workers decides how much is to be under way. */
static void look_around(queue_tuner *q) {
  for (uint64_t end_ns = after(LOOK_AROUND_S); runtime_now_ns() < end_ns && q->link.redis;) pump(q, 0.05);
}

/* Makes the builder here and the runner that stands for the pool. False after a message. */
static bool open_pool(queue_tuner *q, const queue_wishes *wishes) {
  tn_worker_options options = wishes->builder;
  options.should_stop = stops;
  options.user = q;
  if (!tn_workers_new(q->ctx, &options, &q->builder, &q->pool)) return false;
  q->builder.makes_objects = true;
  q->runner = (tn_runner){.self = q,
                          .submit = submit,
                          .poll = poll_done,
                          .prepare = prepare,
                          .watch = watch,
                          .hosts = hosts,
                          .packs = true,
                          .width = RUNTIME_MAX(count_serving(q), USUAL_WIDTH)};
  return true;
}

/* Connects to the server of URL. False after a message. */
static bool open_links(queue_tuner *q, const char *url) {
  runtime_str why = {0};
  bool is_place = queue_place_parse(url, &q->place, &why);
  if (!is_place) tools_fail(q->session, "--queue: %s", why.n > 0 ? why.data : "out of memory");
  runtime_str_free(&why);
  if (!is_place) return false;
  queue_new_name(q->name);
  q->link.place = q->answers.place = &q->place;
  uint64_t end_ns = after(START_S);
  while (!connect_tasks(q) && !q->link.is_refused && runtime_now_ns() < end_ns)
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  if (!q->link.redis) return tools_fail(q->session, "--queue: %s: %s", q->place.shown, q->link.trouble), false;
  return true;
}

queue_tuner *queue_tuner_open(tools_session *session, const char *url, const queue_wishes *wishes) {
  queue_tuner *q = calloc(1, sizeof *q);
  if (!q) return tools_fail(session, "out of memory for the queue"), NULL;
  q->session = session;
  q->ctx = session->ctx;
  q->finals_on = -1;
  q->way = (queue_way){wishes->run_timeout_s, wishes->repeats};
  q->patience_s = wishes->patience_s > 0 ? wishes->patience_s : PATIENCE_S;
  snprintf(q->last_answer, sizeof q->last_answer, "0-0");
  bool is_open = open_links(q, url);
  if (is_open) look_around(q);
  if (is_open && open_pool(q, wishes)) return q;
  queue_tuner_free(q);
  return NULL;
}

const tn_builder *queue_tuner_builder(const queue_tuner *q) { return &q->builder; }
const tn_runner *queue_tuner_runner(const queue_tuner *q) { return &q->runner; }

/* Deletes this tuner's keys, if the server still answers within a second. */
static void take_leave(queue_tuner *q) {
  if (!q->link.redis) return;
  SEND(q, REPLY_NONE, 0, NULL, "SREM", queue_key_of(&q->place, "tuners", NULL).text, q->name);
  SEND(q, REPLY_NONE, 0, NULL, "DEL", own_key(q, "tuner").text, own_key(q, "tasks").text, own_key(q, "finals").text,
       own_key(q, "answers").text);
  for (uint64_t end_ns = after(1); q->link.redis && q->first_expected < q->expected.n && runtime_now_ns() < end_ns;)
    receive(q, 0.05);
}

void queue_tuner_free(queue_tuner *q) {
  if (!q) return;
  take_leave(q);
  if (q->n_strays > 0)
    runtime_say(q->ctx, TN_SEVERITY_INFO, "%d answer%s of the queue came late or twice, and did not count", q->n_strays,
                q->n_strays > 1 ? "s" : "");
  if (q->builder.free) q->builder.free(q->builder.self);
  if (q->pool.free) q->pool.free(q->pool.self);
  for (int i = 0; i < q->asked.n; ++i) free(q->asked.data[i].text);
  RUNTIME_VEC_FREE(&q->asked);
  RUNTIME_VEC_FREE(&q->done);
  RUNTIME_VEC_FREE(&q->machines);
  RUNTIME_VEC_FREE(&q->expected);
  queue_link_close(&q->link);
  queue_link_close(&q->answers);
  queue_place_free(&q->place);
  free(q);
}
