/* queue.h: a pool of workers behind a Redis server, for several tuners: `tenon worker --queue URL`, `tenon tune --queue URL`.
 *
 * Who owns what. The server holds nothing but texts that expire; whoever wrote one can write it again. P is the pool's name, T a
 * tuner's and W a worker's, which are new at every start:
 *
 *   tenon:{P}:tuners      set of T. A tuner adds itself, whoever finds that T is gone takes it out
 *   tenon:{P}:workers     set of W, likewise
 *   tenon:{P}:worker:W    string, JSON: what W is (version, target, costs, clock). W writes it every second; LIFE_S later it is gone
 *   tenon:{P}:tuner:T     hash: "w:W" is "yes" when T takes W's answers, else why not; "finals" is the W that times T's finalists
 *   tenon:{P}:tasks:T     stream, group "workers": candidates of T. The entry's ID is the task's number, T chose it
 *   tenon:{P}:finals:T    stream, group "workers": the same, for the one worker that times T's finalists
 *   tenon:{P}:answers:T   stream: one entry an answer; T deletes what it has read
 *
 * A task's life. T adds it to its stream with an ID of its own, so that adding it again after a lost connection is refused by the
 * server and cannot make two of it. A worker reads one new entry of each tuner that takes it (XREADGROUP) and serves them in turns: that is the
 * fairness. While it holds entries it renews them every second (XCLAIM to itself). Its answer, the acknowledgement and
 * the deletion of the entry are one transaction. Entries that nobody renewed for LEASE_S belong to a dead worker: another one
 * claims them (XAUTOCLAIM). One that was claimed MOST_CLAIMS times is answered as failed: it may be what kills workers.
 *
 * What is counted. T keeps the table of the tasks that it waits for. An answer takes its task out of it; a second one finds nothing and
 * is dropped. So nothing counts twice, whoever measured it twice. Every RESYNC_S, and after each lost connection, T looks whether its
 * entries are still there; one that is gone, and whose answer has not come either when T looks again, is added anew. So nothing
 * is lost, even where the server forgot its last second. */
#ifndef TENON_TOOLS_QUEUE_H
#define TENON_TOOLS_QUEUE_H

#include "tools/tools.h"

/* A tuner's connection to a pool of workers, with the local builder whose objects it sends them. */
typedef struct queue_tuner queue_tuner;

/* Options of the command line that concern the pool. */
typedef struct queue_wishes {
  double run_timeout_s, patience_s; /* seconds; 0: the usual ones */
  tn_repeat_options repeats;
  tn_worker_options builder; /* of the workers on this machine, which compile */
} queue_wishes;

/* Connects, and makes the builder and the runner for a tuner. NULL after a message: the URL is none, nobody
 * answers, the password is wrong, the server is too old, or this command was built without hiredis. */
queue_tuner *queue_tuner_open(tools_session *session, const char *url, const queue_wishes *wishes);
const tn_builder *queue_tuner_builder(const queue_tuner *q);
const tn_runner *queue_tuner_runner(const queue_tuner *q);
/* Deletes its keys from the server and frees it. NULL is allowed. */
void queue_tuner_free(queue_tuner *q);
/* Serves the pool until a signal comes, in a sandbox unless IS_FREE. FAULT: the value of the child's
 * --inject, or NULL. Returns the exit status. */
int queue_work(const char *url, bool is_free, const char *fault);
/* The URL without its password, in the arena. */
const char *queue_shown(runtime_arena *arena, const char *url);

#endif
