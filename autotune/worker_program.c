/* worker_program.c: the programs that a worker keeps, parsed once with their target, and lowering and
 * compiling their schedules. Memory stays flat over thousands of candidates: a candidate lives in the
 * scratch arena and in a schedule that is freed, and what its context still gathers goes when the context
 * is replaced.
 *
 * A worker_program owns its context, and with it the program and target; its data, which outlive the
 * context; and the arena for one lowering at a time. */
#include "autotune/worker.h"

/* A context that holds more than MAX_CONTEXT_BYTES is replaced. Programs may keep one part in KEPT_SHARE of
 * the memory limit, or of usual_memory_bytes without a limit. */
enum { MAX_CONTEXT_BYTES = 64 << 20, KEPT_SHARE = 4 };
static const int64_t usual_memory_bytes = INT64_C(4) << 30;

/* Frees the context. Text and data stay, and the program is parsed again when it is next asked for. */
static void drop_context(worker_program *p) {
  tn_context_free(p->ctx);
  p->ctx = NULL;
  p->program = NULL;
  p->target = NULL;
}

void worker_program_free(worker_program *p) {
  worker_data_free(p->data);
  drop_context(p);
  runtime_arena_free(&p->scratch);
  free(p->args);
  free(p->text);
  free(p->target_text);
  *p = (worker_program){0};
}

/* Compares texts rather than keys: hashes may collide, and comparing takes microseconds. */
static worker_program *find(worker *w, const char *text, const char *target) {
  for (int i = 0; i < RUNTIME_COUNT(w->programs); ++i) {
    worker_program *p = &w->programs[i];
    if (p->text && strcmp(p->text, text) == 0 && strcmp(p->target_text, target) == 0) return p;
  }
  return NULL;
}

static int64_t data_bytes(const worker_program *p) {
  int64_t bytes = 0;
  for (int a = 0; p->data && a < p->data->n_args; ++a) bytes += 2 * (int64_t)tn_array_bytes(p->data->args[a]);
  return bytes;
}

int64_t worker_kept_bytes(const worker *w) {
  int64_t bytes = 0;
  for (int i = 0; i < RUNTIME_COUNT(w->programs); ++i) bytes += data_bytes(&w->programs[i]);
  return bytes;
}

/* The program that was asked for longest ago; an empty place counts as the oldest, unless IN_USE excludes
 * them. NULL: there is none. */
static worker_program *least_used(worker *w, bool in_use) {
  worker_program *oldest = NULL;
  for (int i = 0; i < RUNTIME_COUNT(w->programs); ++i) {
    worker_program *p = &w->programs[i];
    if (in_use && !p->text) continue;
    if (!oldest || p->used < oldest->used) oldest = p;
  }
  return oldest;
}

/* What all programs keep, including their contexts. */
static int64_t all_bytes(const worker *w) {
  int64_t bytes = worker_kept_bytes(w);
  for (int i = 0; i < RUNTIME_COUNT(w->programs); ++i)
    if (w->programs[i].ctx) bytes += (int64_t)w->programs[i].ctx->arena.total;
  return bytes;
}

/* An empty place for the next program. Programs not asked for longest are freed to make room. */
static worker_program *make_place(worker *w) {
  int64_t most = (w->memory_bytes > 0 ? w->memory_bytes : usual_memory_bytes) / KEPT_SHARE;
  worker_program *oldest;
  while (all_bytes(w) > most && (oldest = least_used(w, true))) worker_program_free(oldest);
  oldest = least_used(w, false);
  worker_program_free(oldest);
  return oldest;
}

/* On failure, what was made stays in P, for worker_program_free. */
static bool parse(worker_program *p, worker_answer *answer) {
  p->ctx = tn_context_new(NULL);
  if (!p->ctx) return worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for a context");
  p->program = tn_program_parse(p->ctx, p->text, 0, NULL);
  if (!p->program) return worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  p->target = tn_target_new(p->ctx, p->target_text);
  if (!p->target) return worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  p->n_args = tn_program_arg_count(p->program);
  free(p->args);
  p->args = calloc((size_t)RUNTIME_MAX(p->n_args, 1), sizeof *p->args);
  if (!p->args) return worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for %d arguments", p->n_args);
  if (codegen_kernel_args(p->program, &p->ctx->arena, p->args) < 0)
    return worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for %d arguments", p->n_args);
  if (te_check_no_symbols(p->program, "a worker") != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  return true;
}

/* Keeps both texts, by which the program is found. */
static bool name_program(worker_program *p, const char *text, const char *target, worker_answer *answer) {
  p->text = strdup(text);
  p->target_text = strdup(target);
  return (p->text && p->target_text) || worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for a program's text");
}

/* The cache holds many programs, since the tasks of a network take turns; the least recently used gives
 * way. A program whose context has grown beyond MAX_CONTEXT_BYTES is parsed again, and its data stay. */
worker_program *worker_program_for(worker *w, const char *text, const char *target, worker_answer *answer) {
  worker_program *p = find(w, text, target);
  if (p && p->ctx->arena.total > MAX_CONTEXT_BYTES) drop_context(p);
  bool is_known = p != NULL;
  if (!p) p = make_place(w);
  if ((!is_known && !name_program(p, text, target, answer)) || (!p->ctx && !parse(p, answer))) {
    worker_program_free(p);
    return NULL;
  }
  p->used = ++w->clock;
  worker_lap(answer, WORKER_PARSE);
  return p;
}

worker_program *worker_program_get(worker *w, const json_t *request, worker_answer *answer) {
  return worker_program_for(w, protocol_text(request, "program", ""), protocol_text(request, "target", ""), answer);
}

/* Compiles two functions: one that packs the program's constants once, outside of what is timed, and the kernel. */
static bool compile_parts(worker_program *p, const tn_schedule *schedule, worker_answer *answer,
                          codegen_bytes *object) {
  tir_pass_options options = codegen_pass_options(p->target);
  tir_func *runs = schedule_lower_kept(schedule, WORKER_SYMBOL, &p->scratch, &options, SCHEDULE_PACKED);
  tir_func *packs =
      runs ? schedule_lower_kept(schedule, WORKER_PACK_SYMBOL, &p->scratch, &options, SCHEDULE_PREPACK) : NULL;
  worker_lap(answer, WORKER_LOWER);
  if (!packs) return worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  tn_status status = codegen_object_of_two(p->ctx, runs, packs, p->target, object);
  worker_lap(answer, WORKER_COMPILE);
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_COMPILE, p->ctx);
}

/* With SHARE, compiles the shortened unscheduled program; otherwise the candidate. */
static bool lower_and_compile(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer,
                              codegen_bytes *object) {
  tir_pass_options options = codegen_pass_options(p->target);
  tir_func *func = share ? worker_lower_part(p, schedule, share)
                         : schedule_lower_with(schedule, WORKER_SYMBOL, &p->scratch, &options);
  worker_lap(answer, WORKER_LOWER);
  if (!func) return worker_fail_context(answer, TN_MEASURE_INSTANTIATION, p->ctx);
  tn_status status = codegen_object(p->ctx, func, p->target, object);
  worker_lap(answer, WORKER_COMPILE);
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_COMPILE, p->ctx);
}

/* The arena jumps back here when memory runs out: lowering allocates in a thousand places and has no error
 * path for each. */
static bool compile_safely(worker_program *p, const tn_schedule *schedule, bool in_parts, double *share,
                           worker_answer *answer, codegen_bytes *object) {
  jmp_buf out_of_memory;
  bool compiled;
  p->scratch.on_oom = &out_of_memory;
  if (setjmp(out_of_memory) != 0)
    compiled = worker_fail(answer, TN_MEASURE_MEMORY, "out of memory while the schedule was lowered");
  else if (in_parts)
    compiled = compile_parts(p, schedule, answer, object);
  else
    compiled = lower_and_compile(p, schedule, share, answer, object);
  p->scratch.on_oom = NULL;
  runtime_arena_reset(&p->scratch);
  return compiled;
}

bool worker_compile(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer,
                    codegen_bytes *object) {
  return compile_safely(p, schedule, false, share, answer, object);
}

bool worker_compile_candidate(worker_program *p, const tn_schedule *schedule, worker_answer *answer,
                              codegen_bytes *object) {
  return compile_safely(p, schedule, schedule_has_parts(schedule), NULL, answer, object);
}

/* The object is not kept. */
tn_kernel *worker_kernel(worker_program *p, const tn_schedule *schedule, double *share, worker_answer *answer) {
  codegen_bytes object = {0};
  tn_kernel *kernel = NULL;
  if (worker_compile(p, schedule, share, answer, &object)) {
    kernel = codegen_load(p->ctx, object.data, object.n, WORKER_SYMBOL, p->n_args, p->args);
    if (!kernel) worker_fail_context(answer, TN_MEASURE_LOAD, p->ctx);
    worker_lap(answer, WORKER_LOAD);
  }
  free(object.data);
  return kernel;
}
