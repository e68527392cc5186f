/* queue_worker.c: `tenon worker --queue URL`: takes candidates of the pool's tuners in turns, has a process
 * of its own time each, and answers. It never runs an object itself: what crashes, hangs or eats memory is
 * a process in a sandbox.
 *
 * A `serving` owns everything. The entries that it holds are a queue, whose first one is being timed. The
 * server knows who holds them, and gives them to somebody else if they are not renewed. Answers are kept
 * until the server has confirmed them. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "autotune/worker.h"
#include "tools/queue_redis.h"

/* Tuners that are served at most, ways of timing that have a process, and milliseconds of waiting for an
 * entry or of rest. */
enum { MOST_TUNERS = 256, WAYS = 4, BLOCK_MS = 500, IDLE_MS = 100 };
/* Seconds between two signs of life, the same while nobody has work, and between two looks for entries of
 * dead workers. */
#define BEAT_S 1.0
#define IDLE_BEAT_S 0.25
#define CLAIM_S 2.0
/* If a reply takes longer than this, in seconds, the next candidate is fetched while one is being timed. */
#define SLOW_S 0.002

/* A tuner that takes our answers. */
typedef struct served {
  char name[QUEUE_NAME];
  bool times_finals; /* its finalists are timed here */
} served;

/* An entry that this worker holds. Texts are malloc'ed. */
typedef struct held {
  char tuner[QUEUE_NAME], id[48];
  bool is_final;
  int claims; /* how often it was claimed from a worker before */
  char *task;
  void *object;
  size_t task_bytes, object_bytes;
} held;

/* An answer that the server has not confirmed. */
typedef struct unsaid {
  held entry;
  char *text;
} unsaid;

/* A process that times in one way. */
typedef struct timer {
  queue_way way;
  tn_builder builder;
  tn_runner runner;
  uint64_t prepared, used; /* hash of the reference that it holds, 0: none; when last used, 0: no process */
} timer;

/* All of a worker's state; queue_work makes and frees it. */
typedef struct serving {
  tools_session *session;
  tn_context *ctx;
  queue_place place;
  queue_link link;
  char name[QUEUE_NAME], self[512];
  const char *command[6];
  json_t *greeting;
  RUNTIME_VEC(served) tuners;
  RUNTIME_VEC(held) held;
  RUNTIME_VEC(unsaid) unsaid;
  timer timers[WAYS];
  uint64_t clock, beat_ns, claim_ns, ahead_ns;
  double way_s; /* seconds that the server's last reply took */
  int owed;     /* replies to answers that are still to be read */
  int turn;     /* which tuner's stream is read first */
} serving;

/* A signal came: what is held is given back, and the worker ends. */
static volatile sig_atomic_t is_stopped;

static void stop(int number) {
  (void)number;
  is_stopped = 1;
}

/* The moment SECONDS from now, in nanoseconds. */
static uint64_t after(double seconds) { return runtime_now_ns() + (uint64_t)(seconds * 1e9); }

static void rest(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

/* A line on standard error, without control characters: it may quote a server or a tuner. */
static void say(const char *fmt, ...) TN_PRINTF(1, 2);
static void say(const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  if (!text.failed) fprintf(stderr, "tenon: worker: %s\n", tools_plain(text.data));
  runtime_str_free(&text);
}

static queue_key stream_of(const serving *s, const char *tuner, bool is_final) {
  return queue_key_of(&s->place, is_final ? "finals" : "tasks", tuner);
}

/* ---- answers that the server may not have ------------------------------------------------------------------------ */

static void free_held(held *h) {
  free(h->task);
  free(h->object);
  *h = (held){0};
}

/* Sends the answer, the acknowledgement and the deletion of the entry as one transaction. Its five replies
 * are read later, by settle. */
static bool send_answer(serving *s, const unsaid *u) {
  const held *h = &u->entry;
  char keep[16];
  snprintf(keep, sizeof keep, "%d", QUEUE_KEEP_S);
  queue_key answers = queue_key_of(&s->place, "answers", h->tuner), stream = stream_of(s, h->tuner, h->is_final);
  bool sent = QUEUE_SEND(&s->link, "MULTI") &&
              QUEUE_SEND(&s->link, "XADD", answers.text, "*", "id", h->id, "worker", s->name, "answer", u->text) &&
              QUEUE_SEND(&s->link, "EXPIRE", answers.text, keep) &&
              QUEUE_SEND(&s->link, "XACK", stream.text, "workers", h->id) &&
              QUEUE_SEND(&s->link, "XDEL", stream.text, h->id) && QUEUE_SEND(&s->link, "EXEC");
  if (sent) s->owed += 6;
  return sent;
}

/* The server has confirmed them. */
static void forget_unsaid(serving *s) {
  for (int i = 0; i < s->unsaid.n; ++i) {
    free_held(&s->unsaid.data[i].entry);
    free(s->unsaid.data[i].text);
  }
  s->unsaid.n = 0;
}

/* Reads the server's replies to our answers. If it refuses one, being out of memory or read-only, all are
 * sent again on a new connection, after a pause. False: the connection was lost. */
static bool settle(serving *s) {
  while (s->owed > 0) {
    redisReply *reply = queue_read(&s->link);
    bool is_refused = reply && reply->type == REDIS_REPLY_ERROR;
    if (is_refused) queue_link_lose(&s->link, reply->str);
    if (reply) freeReplyObject(reply);
    if (!s->link.redis) {
      s->owed = 0;
      return false;
    }
    s->owed--;
  }
  forget_unsaid(s);
  return s->link.redis != NULL;
}

/* On a new connection: sends all answers again that were not confirmed. */
static void say_again(serving *s) {
  s->owed = 0;
  for (int i = 0; i < s->unsaid.n; ++i)
    if (!send_answer(s, &s->unsaid.data[i])) return;
  s->beat_ns = 0;
}

/* Asks after having settled what is owed, so that the reply is to this command. NULL: the connection was lost. */
static redisReply *ask(serving *s, int n, const char *const *words) {
  return settle(s) ? queue_ask(&s->link, n, words) : NULL;
}
#define ASK(s, ...) ask(s, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

/* A command whose reply does not matter. */
static void ask_nothing(serving *s, int n, const char *const *words) {
  redisReply *reply = ask(s, n, words);
  if (reply) freeReplyObject(reply);
}
#define DO(s, ...) \
  ask_nothing(s, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

/* ---- signs of life ----------------------------------------------------------------------------------------------- */

/* Writes who we are, with an expiry. How long the reply takes tells how slow the way to the server is. */
static void tell_life(serving *s) {
  char life[16];
  snprintf(life, sizeof life, "%d", QUEUE_LIFE_S);
  json_object_set_new(s->greeting, "clock", json_real((double)time(NULL)));
  char *text = json_dumps(s->greeting, JSON_COMPACT);
  uint64_t start_ns = runtime_now_ns();
  if (text) DO(s, "SET", queue_key_of(&s->place, "worker", s->name).text, text, "EX", life);
  s->way_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  DO(s, "SADD", queue_key_of(&s->place, "workers", NULL).text, s->name);
  free(text);
}

/* Adds a tuner to those that are served, if it takes our answers. One that has ended is taken out of the pool's set. */
static void look_at_tuner(serving *s, const char *name) {
  char field[QUEUE_NAME + 8];
  served tuner = {0};
  snprintf(field, sizeof field, "w:%s", s->name);
  redisReply *reply = ASK(s, "HMGET", queue_key_of(&s->place, "tuner", name).text, "alive", field, "finals");
  const char *alive = queue_text(queue_at(reply, 0)), *word = queue_text(queue_at(reply, 1)),
             *finals = queue_text(queue_at(reply, 2));
  if (reply && reply->type == REDIS_REPLY_ARRAY && !alive)
    DO(s, "SREM", queue_key_of(&s->place, "tuners", NULL).text, name);
  bool is_mine = alive && word && strcmp(word, "yes") == 0 && s->tuners.n < MOST_TUNERS;
  snprintf(tuner.name, sizeof tuner.name, "%s", name);
  tuner.times_finals = finals && strcmp(finals, s->name) == 0;
  if (is_mine) (void)RUNTIME_PUSH(&s->tuners, tuner);
  if (reply) freeReplyObject(reply);
}

/* Renews the list of tuners. */
static void look_at_tuners(serving *s) {
  redisReply *reply = ASK(s, "SMEMBERS", queue_key_of(&s->place, "tuners", NULL).text);
  if (reply) s->tuners.n = 0;
  for (size_t i = 0; i < queue_count(reply); ++i) {
    const char *name = queue_text(queue_at(reply, i));
    if (name && strlen(name) < QUEUE_NAME) look_at_tuner(s, name);
  }
  if (reply) freeReplyObject(reply);
}

/* Renews the lease on everything that is held, so that nobody claims it. */
static void renew(serving *s) {
  for (int i = 0; i < s->held.n; ++i) {
    const held *h = &s->held.data[i];
    DO(s, "XCLAIM", stream_of(s, h->tuner, h->is_final).text, "workers", s->name, "0", h->id, "JUSTID");
  }
}

/* The sign of life; connects first if the connection was lost. */
static void beat(serving *s) {
  if (!s->link.redis) {
    if (!queue_link_up(&s->link)) return;
    say_again(s);
  }
  tell_life(s);
  renew(s);
  look_at_tuners(s);
  s->beat_ns = after(s->tuners.n > 0 ? BEAT_S : IDLE_BEAT_S);
}

/* ---- taking candidates ------------------------------------------------------------------------------------------- */

/* A malloc'ed copy that ends in a zero, which N does not count. */
static void *copy_of(const redisReply *value, size_t *n) {
  *n = value ? value->len : 0;
  char *copy = value ? malloc(value->len + 1) : NULL;
  if (copy) memcpy(copy, value->str, value->len), copy[value->len] = '\0';
  return copy;
}

/* Removes an entry without answering it. */
static void drop(serving *s, const held *h) {
  queue_key stream = stream_of(s, h->tuner, h->is_final);
  DO(s, "XACK", stream.text, "workers", h->id);
  DO(s, "XDEL", stream.text, h->id);
}

/* Takes an entry into the queue. One without a task was not written by a tuner, and is removed. */
static void hold(serving *s, const char *tuner, bool is_final, const redisReply *entry, int claims) {
  held h = {.is_final = is_final, .claims = claims};
  const char *id = queue_text(queue_at(entry, 0));
  if (!id || strlen(id) >= sizeof h.id) return;
  snprintf(h.tuner, sizeof h.tuner, "%s", tuner);
  snprintf(h.id, sizeof h.id, "%s", id);
  h.task = copy_of(queue_field(entry, "task"), &h.task_bytes);
  h.object = copy_of(queue_field(entry, "object"), &h.object_bytes);
  if (h.task && RUNTIME_PUSH(&s->held, h)) return;
  if (!h.task) say("an entry of %s was no task and is dropped", tuner);
  if (!h.task) drop(s, &h);
  free_held(&h);
}

/* The streams that are read, with the tuner first whose turn it is. */
typedef struct streams {
  int n;
  const served *of[2 * MOST_TUNERS];
  bool is_final[2 * MOST_TUNERS];
  queue_key keys[2 * MOST_TUNERS];
} streams;

/* The turn moves by one tuner each time; finals come before a tuner's other tasks. */
static void list_streams(serving *s, streams *out) {
  out->n = 0;
  s->turn++;
  for (int i = 0; i < s->tuners.n; ++i) {
    const served *tuner = &s->tuners.data[(s->turn + i) % s->tuners.n];
    for (int is_final = tuner->times_finals; is_final >= 0; --is_final) {
      out->of[out->n] = tuner;
      out->is_final[out->n] = is_final;
      out->keys[out->n++] = stream_of(s, tuner->name, is_final);
    }
  }
}

/* Holds the entries that came, in the order of our turn and not of the server's reply. */
static void take_streams(serving *s, const streams *all, const redisReply *reply) {
  for (int i = 0; i < all->n; ++i) /* in our order, not in the server's */
    for (size_t k = 0; k < queue_count(reply); ++k) {
      const char *key = queue_text(queue_at(queue_at(reply, k), 0));
      const redisReply *entries = queue_at(queue_at(reply, k), 1);
      if (!key || strcmp(key, all->keys[i].text) != 0) continue;
      for (size_t e = 0; e < queue_count(entries); ++e)
        hold(s, all->of[i]->name, all->is_final[i], queue_at(entries, e), 0);
    }
}

/* Reads at most one new entry of each tuner. If a tuner ended meanwhile its streams are gone, and the list
 * is renewed. */
static void read_new(serving *s, int block_ms) {
  static streams all; /* of one thread; large */
  const char *words[9 + 4 * MOST_TUNERS] = {"XREADGROUP", "GROUP", "workers", s->name, "COUNT", "1"};
  char block[16];
  int n = 6;
  list_streams(s, &all);
  if (all.n == 0) return;
  snprintf(block, sizeof block, "%d", block_ms);
  if (block_ms > 0) words[n++] = "BLOCK", words[n++] = block;
  words[n++] = "STREAMS";
  for (int i = 0; i < all.n; ++i) words[n + i] = all.keys[i].text, words[n + all.n + i] = ">";
  redisReply *reply = ask(s, n + 2 * all.n, words);
  if (reply && reply->type == REDIS_REPLY_ERROR) {
    s->beat_ns = 0;
    rest(IDLE_MS);
  }
  take_streams(s, &all, reply);
  if (reply) freeReplyObject(reply);
}

/* How often the entry was given to a worker. */
static int claims_of(serving *s, const queue_key *stream, const char *id) {
  redisReply *reply = ASK(s, "XPENDING", stream->text, "workers", id, id, "1");
  const redisReply *count = queue_at(queue_at(reply, 0), 3);
  int claims = count && count->type == REDIS_REPLY_INTEGER ? (int)RUNTIME_MIN(count->integer, 1000) : 1;
  if (reply) freeReplyObject(reply);
  return claims;
}

/* Claims entries of workers that have died, at most one of each stream. */
static void claim_dead(serving *s) {
  static streams all;
  char idle[24];
  snprintf(idle, sizeof idle, "%d", QUEUE_LEASE_S * 1000);
  list_streams(s, &all);
  for (int i = 0; i < all.n; ++i) {
    redisReply *reply = ASK(s, "XAUTOCLAIM", all.keys[i].text, "workers", s->name, idle, "0-0", "COUNT", "1");
    const redisReply *entry = queue_at(queue_at(reply, 1), 0);
    const char *id = queue_text(queue_at(entry, 0));
    if (id) hold(s, all.of[i]->name, all.is_final[i], entry, claims_of(s, &all.keys[i], id));
    if (reply) freeReplyObject(reply);
  }
  s->claim_ns = after(CLAIM_S);
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* The timing process' runner calls it some twenty times a second: renews what is held, and fetches the next
 * entry from a slow server. True ends the timing. */
static bool meanwhile(void *user) {
  serving *s = user;
  if (runtime_now_ns() >= s->beat_ns) beat(s);
  if (s->way_s > SLOW_S && s->held.n == 1 && runtime_now_ns() >= s->ahead_ns) {
    s->ahead_ns = after(2 * s->way_s);
    if (s->link.redis) read_new(s, 0);
  }
  return is_stopped;
}

/* Whether both ways time alike. */
static bool is_way(const queue_way *a, const queue_way *b) {
  return a->run_timeout_s == b->run_timeout_s && a->repeats.repeat == b->repeats.repeat &&
         a->repeats.number == b->repeats.number && a->repeats.min_repeat_ms == b->repeats.min_repeat_ms &&
         a->repeats.cooldown_s == b->repeats.cooldown_s && a->repeats.flushes_cache == b->repeats.flushes_cache;
}

static void free_timer(timer *t) {
  if (t->builder.free) t->builder.free(t->builder.self);
  if (t->runner.free) t->runner.free(t->runner.self);
  *t = (timer){0};
}

/* The process for a way. If there is none, it takes the place of the one that was used least recently.
 * NULL: no process could be started. */
static timer *timer_for(serving *s, const queue_way *way) {
  timer *oldest = &s->timers[0];
  for (int i = 0; i < WAYS; ++i) {
    timer *t = &s->timers[i];
    if (t->used && is_way(&t->way, way)) return t->used = ++s->clock, t;
    if (t->used < oldest->used) oldest = t;
  }
  free_timer(oldest);
  tn_worker_options options = {.command = s->command,
                               .jobs = 1,
                               .run_timeout_s = way->run_timeout_s,
                               .repeats = way->repeats,
                               .should_stop = meanwhile,
                               .user = s};
  if (!tn_workers_new(s->ctx, &options, &oldest->builder, &oldest->runner)) return NULL;
  oldest->way = *way;
  oldest->used = ++s->clock;
  return oldest;
}

/* A hash of what determines a reference: program, target, inputs and seed. Never 0. */
static uint64_t reference_of(const tn_candidate *c) {
  uint64_t h = runtime_hash(c->program, strlen(c->program), c->seed);
  h = runtime_hash(c->target, strlen(c->target), h);
  return runtime_hash(c->fill ? c->fill : "", c->fill ? strlen(c->fill) : 0, h) | 1;
}

/* Makes the measurement a failure. */
static void fail(tn_measurement *m, tn_measure_error error, const char *why) {
  free(m->message);
  m->error = error;
  m->message = strdup(why);
}

/* Has the process make the reference of the candidate, if it can; otherwise M gets the error. */
static bool has_reference(timer *t, tn_candidate candidate, tn_measurement *m) {
  tn_measurement made = {0};
  candidate.steps = NULL; /* the default's time is not wanted */
  t->runner.prepare(t->runner.self, &candidate, &made);
  bool has = made.error == TN_MEASURE_NONE;
  m->abandoned = made.abandoned;
  if (!has) fail(m, made.error, made.message ? made.message : "the reference could not be made");
  free(made.message);
  return has;
}

/* Times one task. *LACKS: the reference cannot be made here, but perhaps elsewhere. */
static void time_task(serving *s, const queue_task *task, tn_measurement *m, bool *lacks) {
  timer *t = timer_for(s, &task->way);
  uint64_t reference = reference_of(&task->candidate);
  tn_candidate candidate = task->candidate;
  if (!t) return fail(m, TN_MEASURE_UNKNOWN, tn_context_message(s->ctx)), (void)(*lacks = true);
  if (task->is_prepare) {
    t->runner.prepare(t->runner.self, &candidate, m);
    *lacks = m->error != TN_MEASURE_NONE;
    t->prepared = *lacks ? 0 : reference;
    return;
  }
  if (t->prepared != reference && !has_reference(t, candidate, m)) {
    *lacks = true;
    return;
  }
  t->prepared = reference;
  t->runner.run(t->runner.self, 1, &task->candidate, m);
}

/* Times the entry's task and passes its object to the measurement. An entry that has cost several workers
 * is failed without a try. */
static void measure(serving *s, held *h, const queue_task *task, tn_measurement *m, bool *lacks) {
  void *object = h->object;
  size_t object_bytes = h->object_bytes;
  h->object = NULL;
  if (h->claims > QUEUE_MOST_CLAIMS) {
    fail(m, TN_MEASURE_RUNTIME, "running failed: workers were lost over it again and again");
  } else if (!task->is_prepare && !object) {
    fail(m, TN_MEASURE_LOAD, "running failed: the task has no object");
  } else {
    if (task->is_prepare) object_bytes = 0;
    m->object = task->is_prepare ? NULL : object;
    m->object_bytes = object_bytes;
    time_task(s, task, m, lacks);
    if (m->object == object) m->object = NULL;
  }
  free(object);
}

/* A signal ends this worker: what it holds is handed to "nobody", with an age that lets others claim it at once. */
static void give_back(serving *s) {
  char idle[24];
  snprintf(idle, sizeof idle, "%d", 2 * QUEUE_LEASE_S * 1000);
  for (int i = 0; i < s->held.n; ++i) {
    held *h = &s->held.data[i];
    DO(s, "XCLAIM", stream_of(s, h->tuner, h->is_final).text, "workers", "nobody", "0", h->id, "IDLE", idle, "JUSTID");
    free_held(h);
  }
  s->held.n = 0;
  DO(s, "DEL", queue_key_of(&s->place, "worker", s->name).text);
  DO(s, "SREM", queue_key_of(&s->place, "workers", NULL).text, s->name);
  settle(s);
}

/* Sends the answer to the first entry. Until then the entry is held and renewed. */
static void answer(serving *s, const tn_measurement *m, bool lacks) {
  unsaid u = {.text = queue_answer_print(m, lacks)};
  u.entry = s->held.data[0];
  s->held.n--;
  memmove(s->held.data, s->held.data + 1, sizeof *s->held.data * (size_t)s->held.n);
  if (u.text && RUNTIME_PUSH(&s->unsaid, u)) {
    send_answer(s, &s->unsaid.data[s->unsaid.n - 1]);
    return;
  }
  free(u.text);
  free_held(&u.entry);
}

/* The first entry held no task that could be read. */
static void skip_first(serving *s) {
  held h = s->held.data[0];
  say("a task of %s was none and is dropped", h.tuner);
  s->held.n--;
  memmove(s->held.data, s->held.data + 1, sizeof *s->held.data * (size_t)s->held.n);
  drop(s, &h);
  free_held(&h);
}

/* Serves the first of the entries that are held. */
static void serve(serving *s) {
  held h = s->held.data[0]; /* the queue may move while it is timed; texts stay where they are */
  queue_task task;
  tn_measurement m = {0};
  bool lacks = false;
  s->held.data[0].object = NULL;
  s->ahead_ns = 0;
  if (queue_task_parse(h.task, h.task_bytes, &task)) {
    measure(s, &h, &task, &m, &lacks);
    tn_context_clear(s->ctx);
    if (!m.abandoned) answer(s, &m, lacks);
  } else {
    free(h.object);
    skip_first(s);
  }
  free(m.message);
  free(m.object);
  queue_task_free(&task);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Serves until a signal comes. Returns the exit status. A server that refuses us before anything was served
 * is a failure; otherwise it is tried again. */
static int serve_all(serving *s) {
  bool has_served = false, has_told = false;
  while (!is_stopped) {
    bool was_up = s->link.redis != NULL;
    if (!queue_link_up(&s->link)) {
      if (s->link.is_refused && !has_served)
        return tools_fail(s->session, "worker: %s: %s", s->place.shown, s->link.trouble);
      if (!has_told) say("%s: %s; it is tried again", s->place.shown, s->link.trouble);
      has_told = true;
      rest(IDLE_MS);
      continue;
    }
    if (!was_up) say_again(s);
    if (!has_served) say("serving %s as %s", s->place.shown, s->name);
    has_served = true;
    has_told = false;
    if (runtime_now_ns() >= s->beat_ns) beat(s);
    if (s->held.n == 0 && runtime_now_ns() >= s->claim_ns) claim_dead(s);
    if (s->held.n == 0 && s->tuners.n > 0) read_new(s, BLOCK_MS);
    if (s->held.n > 0)
      serve(s);
    else if (s->tuners.n == 0)
      rest(IDLE_MS);
  }
  give_back(s);
  return TOOLS_OK;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Our words in the pool: version, host, target, costs, threads. */
static bool make_greeting(serving *s) {
  worker self = {0};
  const char *costs = worker_costs(&self), *target = worker_target(&self), *host = worker_host(&self);
  s->greeting = json_pack("{s:i, s:s, s:s, s:s, s:s, s:i}", "queue", QUEUE_PROTOCOL, "version", TN_VERSION, "host",
                          host, "target", target, "costs", costs, "threads", tn_thread_count());
  runtime_str_free(&self.host);
  runtime_str_free(&self.target);
  runtime_str_free(&self.costs);
  return s->greeting != NULL;
}

/* The command line of the timing process: this same executable. */
static bool find_self(serving *s, bool is_free, const char *fault) {
  ssize_t n = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
  int i = 0;
  s->command[i++] = s->self;
  s->command[i++] = "worker";
  s->command[i++] = "--remote";
  if (!is_free) s->command[i++] = "--sandbox";
  if (fault) s->command[i++] = fault;
  return n > 0;
}

/* The first signal gives back what is held and ends the worker; a second one ends the process at once. */
static void watch_signals(void) {
  struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

static void close_serving(serving *s) {
  for (int i = 0; i < WAYS; ++i) free_timer(&s->timers[i]);
  for (int i = 0; i < s->held.n; ++i) free_held(&s->held.data[i]);
  forget_unsaid(s);
  RUNTIME_VEC_FREE(&s->held);
  RUNTIME_VEC_FREE(&s->tuners);
  RUNTIME_VEC_FREE(&s->unsaid);
  json_decref(s->greeting);
  queue_link_close(&s->link);
  queue_place_free(&s->place);
}

int queue_work(const char *url, bool is_free, const char *fault) {
  serving *s = calloc(1, sizeof *s);
  tools_session session = {0};
  runtime_str why = {0};
  int status = TOOLS_FAILED;
  if (!s) return tools_fail(&session, "worker: out of memory");
  s->session = &session;
  bool is_place = queue_place_parse(url, &s->place, &why);
  if (!is_place) {
    say("--queue: %s", why.n > 0 ? why.data : "out of memory");
    status = TOOLS_USAGE;
  } else if (tools_open(&session, &(tools_args){.verb = &tools_worker}) && make_greeting(s) &&
             find_self(s, is_free, fault)) {
    s->ctx = session.ctx;
    session.is_muted = true;
    s->link.place = &s->place;
    queue_new_name(s->name);
    watch_signals();
    status =
        timer_for(s, &(queue_way){0}) ? serve_all(s) : tools_fail(&session, "worker: %s", tn_context_message(s->ctx));
  }
  close_serving(s);
  free(s);
  if (session.ctx) tools_close(&session);
  runtime_str_free(&why);
  return status;
}
