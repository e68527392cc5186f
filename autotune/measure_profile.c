/* measure_profile.c: brings what a worker process recorded into the tuner's session. On the same machine
 * the worker records into a file, which the tuner reads after the worker has ended in any way: so what a
 * killed one recorded is kept, and the clock is the same. On another machine every answer carries the
 * events of its request, and the offset of the clocks is estimated.
 *
 * Every pair of request and answer bounds the offset: received + offset >= asked, and sent + offset <=
 * answered. The offset is taken from the middle of what all pairs permit, so that no event reaches beyond
 * its request. Half of that range is the largest error, at most half of the shortest round trip. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/measure.h"
#include "runtime/profiler/guests.h"
#include "runtime/profiler/stream.h"

/* ---- asking for it ----------------------------------------------------------------------------------------------- */

/* Makes an empty file for the worker: beside the session's own file, so that it can be found after a kill,
 * or in the folder for temporary files. */
static void make_file(measure_profile *p, const char *session_file) {
  runtime_str path = {0};
  if (session_file)
    runtime_str_addf(&path, "%s" PROFILER_WORKER_FILE "XXXXXX", session_file);
  else
    runtime_str_add(&path, P_tmpdir "/tenon-worker-XXXXXX");
  p->fd = path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
  p->is_temporary = !session_file;
  if (p->fd >= 0)
    p->path = path.data;
  else
    runtime_str_free(&path);
}

/* *P is initialised even when nothing is recorded: a worker's life begins here. */
void measure_profile_ask(measure_profile *p, json_t *hello) {
  tn_profile_options session;
  *p = (measure_profile){.fd = -1, .offset_low = INT64_MIN, .offset_high = INT64_MAX};
  if (!hello || !profiler_session_options(&session)) return;
  make_file(p, session.file);
  json_t *profile = json_pack("{s:i, s:I, s:b}", "level", session.level, "categories", (json_int_t)session.categories,
                              "counters", (int)session.counters);
  if (profile && p->path) json_object_set_new(profile, "file", json_string(p->path));
  json_object_set_new(hello, "profile", profile);
}

/* Safe to call again. */
static void remove_path(measure_profile *p) {
  if (p->path) unlink(p->path);
  free(p->path);
  p->path = NULL;
}

/* A temporary file loses its name as soon as both sides have it open, so that a kill leaves nothing behind. */
void measure_profile_greeted(measure_profile *p, const json_t *greeting) {
  const char *mode = protocol_text(greeting, "profile", "");
  p->mode = strcmp(mode, "file") == 0 && p->fd >= 0 ? MEASURE_PROFILE_FILE
            : strcmp(mode, "sent") == 0             ? MEASURE_PROFILE_SENT
                                                    : MEASURE_PROFILE_NONE;
  if (p->mode != MEASURE_PROFILE_FILE || p->is_temporary) remove_path(p);
}

/* ---- taking it --------------------------------------------------------------------------------------------------- */

/* Narrows the bounds of the offset by one answer; both clocks count nanoseconds. Clocks drift, so the
 * bounds may cross in a long run: adopt_parts then takes the middle, with an error of half their distance. */
static void bound_offset(measure_profile *p, const json_t *header) {
  int64_t received = protocol_int(header, "received_ns", -1), sent = protocol_int(header, "sent_ns", -1);
  if (received < 0 || sent < received || sent > INT64_MAX / 4) return;
  int64_t low = (int64_t)p->asked_ns - received, high = (int64_t)profiler_now_ns() - sent;
  p->offset_low = RUNTIME_MAX(p->offset_low, low);
  p->offset_high = RUNTIME_MIN(p->offset_high, high);
}

/* The tail of the payload is read but not freed: it stays a part of the message's memory. */
void measure_profile_take(measure_profile *p, protocol_message *message) {
  int64_t n = protocol_int(message->header, "profile_bytes", 0);
  if (p->mode != MEASURE_PROFILE_SENT || n <= 0 || (size_t)n > message->payload_bytes) return;
  bound_offset(p, message->header);
  message->payload_bytes -= (size_t)n;
  tn_recording *r = profiler_decode((const char *)message->payload + message->payload_bytes, (size_t)n);
  if (r && !RUNTIME_PUSH(&p->parts, r)) tn_recording_free(r);
}

/* Adds the parts to the session. The offset is known only after all answers, so events are moved at the end. */
static void adopt_parts(measure_profile *p) {
  bool is_known = p->offset_low != INT64_MIN && p->offset_high != INT64_MAX;
  int64_t width = is_known ? p->offset_high - p->offset_low : 0, offset = is_known ? p->offset_low + width / 2 : 0;
  for (int i = 0; i < p->parts.n; ++i) {
    tn_recording *r = p->parts.data[i];
    for (int k = 0; k < r->processes.n; ++k) {
      r->processes.data[k].is_remote = true;
      r->processes.data[k].clock_offset_ns = offset;
      r->processes.data[k].clock_bound_ns = (RUNTIME_MAX(width, -width) + 1) / 2;
    }
    r->info.start_ns += offset;
    profiler_session_adopt(r);
  }
  RUNTIME_VEC_FREE(&p->parts);
}

/* Ends the events that were open when the worker died at that moment. */
static void close_killed(tn_recording *r, uint64_t now_ns) {
  bool has_changed = false;
  for (int64_t i = 0; i < r->n_events; ++i) {
    tn_event *e = &r->events[i];
    int64_t duration_ns = (int64_t)now_ns - r->info.start_ns - e->start_ns;
    if (!(e->flags & TN_EVENT_KILLED) || duration_ns <= e->duration_ns) continue;
    e->duration_ns = duration_ns;
    has_changed = true;
  }
  if (has_changed) profiler_recording_finish(r);
}

/* Opens the file through its descriptor: a temporary one has no name any more. */
static void adopt_file(measure_profile *p) {
  char path[32];
  struct stat info;
  if (fstat(p->fd, &info) != 0 || info.st_size == 0) return; /* the worker never came to open it */
  snprintf(path, sizeof path, "/proc/self/fd/%d", p->fd);
  tn_recording *r = tn_recording_recover(NULL, path);
  if (r) close_killed(r, profiler_now_ns());
  profiler_session_adopt(r);
}

void measure_profile_end(measure_profile *p) {
  adopt_parts(p);
  if (p->fd >= 0 && p->mode == MEASURE_PROFILE_FILE) adopt_file(p);
  remove_path(p);
  if (p->fd >= 0) close(p->fd);
  *p = (measure_profile){.fd = -1};
}
