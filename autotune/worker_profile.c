/* worker_profile.c: the worker records itself if the tuner's greeting asks for it: into the tuner's file
 * where that can be opened, otherwise every answer carries the events of its request. Nothing is recorded
 * between the start and the end of a timed call. */
#include <unistd.h>

#include "autotune/worker.h"
#include "runtime/profiler/stream.h"

enum { MAX_BYTES = 64 << 20 };

/* Starts recording; without a file, into memory. False: the file cannot be written, which the caller deals with. */
static bool start(worker *w) {
  w->is_recording = tn_profile_start(NULL, &w->profile) == TN_OK;
  if (w->is_recording) tn_thread_name("worker");
  return w->is_recording;
}

/* Only the first greeting starts a recording. */
void worker_profile_start(worker *w, const json_t *hello) {
  const json_t *wanted = json_object_get(hello, "profile");
  if (!wanted || w->is_recording) return;
  const char *file = protocol_text(wanted, "file", NULL);
  w->profile = (tn_profile_options){.level = (int)protocol_int(wanted, "level", 0),
                                    .categories = (uint32_t)protocol_int(wanted, "categories", 0),
                                    .counters = json_is_true(json_object_get(wanted, "counters")),
                                    .max_bytes = MAX_BYTES,
                                    .process_name = "worker",
                                    .keep_file = true};
  w->profile.file = !w->is_remote && file && access(file, W_OK) == 0 ? file : NULL;
  w->sends_profile = !w->profile.file || !start(w); /* where the disk is full, too */
  w->profile.file = NULL;                           /* the message's */
  if (w->sends_profile) start(w);
}

const char *worker_profile_mode(const worker *w) {
  return !w->is_recording ? NULL : w->sends_profile ? "sent" : "file";
}

/* Ends the recording and begins the next. Returns the events as the bytes of a .tnprof; NULL without memory. */
static char *take_events(worker *w, size_t *n) {
  tn_profile_stop(NULL);
  tn_recording *r = tn_profile_collect(NULL);
  char *bytes = r ? profiler_encode(r, n) : NULL;
  tn_recording_free(r);
  start(w);
  return bytes;
}

/* The times that it adds to the header are of the worker's clock; from them the tuner works out the offset
 * (measure_profile.c). */
char *worker_profile_take(worker *w, json_t *header, size_t *n) {
  *n = 0;
  if (!w->is_recording || !w->sends_profile || !header) return NULL;
  char *bytes = take_events(w, n);
  if (!bytes) *n = 0;
  json_object_set_new(header, "profile_bytes", json_integer((json_int_t)*n));
  json_object_set_new(header, "received_ns", json_integer((json_int_t)w->received_ns));
  json_object_set_new(header, "sent_ns", json_integer((json_int_t)profiler_now_ns()));
  return bytes;
}

void worker_profile_stop(worker *w) {
  if (w->is_recording) tn_profile_stop(NULL);
  w->is_recording = false;
}

/* ---- what requests are about ------------------------------------------------------------------------------------- */

/* Appends, for example, "f32[64,64] f32[64,64] f32[64,64]". */
static void add_shapes(runtime_str *out, const worker_program *p) {
  for (int a = 0; a < p->n_args; ++a) {
    const runtime_kernel_arg *arg = &p->args[a];
    runtime_str_addf(out, "%s%s[", a ? " " : "", tn_dtype_name(arg->dtype));
    for (int i = 0; i < arg->ndim; ++i) runtime_str_addf(out, "%s%lld", i ? "," : "", (long long)arg->shape[i]);
    runtime_str_add(out, "]");
  }
}

/* Does nothing unless the event is recorded, since the shapes cost a walk over the program. */
void worker_profile_describe(tn_scope *scope, const worker_program *p) {
  if (scope->state != 1 || !p->program) return;
  runtime_str shapes = {0};
  add_shapes(&shapes, p);
  tn_event_arg args[] = {tn_event_arg_text("workload", tn_program_key(p->program)),
                         tn_event_arg_text("shapes", shapes.failed || !shapes.data ? "" : shapes.data),
                         tn_event_arg_u64("flops", (uint64_t)tn_program_flops(p->program))};
  for (int i = 0; i < RUNTIME_COUNT(args); ++i) tn_scope_arg(scope, &args[i]);
  runtime_str_free(&shapes);
}
