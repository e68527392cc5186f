/* queue_none.c: --queue in a command that was built without hiredis: every use says so. */
#include "tools/queue.h"

static const char missing[] =
    "--queue: this command was built without hiredis: install libhiredis-dev and build it anew, or reach machines by "
    "--worker";

queue_tuner *queue_tuner_open(tools_session *session, const char *url, const queue_wishes *wishes) {
  (void)url, (void)wishes;
  tools_fail(session, "%s", missing);
  return NULL;
}

const tn_builder *queue_tuner_builder(const queue_tuner *q) { return (void)q, NULL; }
const tn_runner *queue_tuner_runner(const queue_tuner *q) { return (void)q, NULL; }
void queue_tuner_free(queue_tuner *q) { (void)q; }
const char *queue_shown(runtime_arena *arena, const char *url) { return (void)arena, url; }

int queue_work(const char *url, bool is_free, const char *fault) {
  (void)url, (void)is_free, (void)fault;
  fprintf(stderr, "tenon: worker: %s\n", missing);
  return TOOLS_FAILED;
}
