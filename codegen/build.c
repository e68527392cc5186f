/* build.c: from a schedule to code: the calls of codegen.h. Each lowers into an arena of its own and compiles. */
#include "codegen/file.h"
#include "codegen/internal.h"

/* A schedule on its way to code. */
typedef struct build {
  tn_context *ctx;
  const tn_schedule *schedule;
  const tn_target *target;
  const char *name;
  bool samples, counts;
  runtime_arena arena;
  const tir_func *func;
} build;

static bool build_names(build *b, const tn_schedule *schedule, const tn_build_options *options) {
  if (schedule == NULL) return false;
  *b = (build){.ctx = schedule->ctx, .schedule = schedule, .name = "kernel"};
  if (options != NULL && options->name != NULL) b->name = options->name;
  b->samples = options != NULL && options->sample;
  b->counts = options != NULL && options->count;
  return codegen_check_name(b->ctx, b->name) == TN_OK;
}

/* False with a message; build_close in either case. */
static bool build_open(build *b, const tn_schedule *schedule, const tn_build_options *options) {
  if (!build_names(b, schedule, options)) return false;
  b->target = codegen_target_or_native(b->ctx, options != NULL ? options->target : NULL);
  if (b->target == NULL) return false;
  tir_pass_options options_of_target = codegen_pass_options(b->target);
  options_of_target.marks_stages = b->samples;
  b->func = schedule_lower_with(schedule, b->name, &b->arena, &options_of_target);
  return b->func != NULL;
}

static void build_close(build *b) { runtime_arena_free(&b->arena); }

/* ---- arguments ---------------------------------------------------------------------------------------------- */

int codegen_kernel_args(const tn_program *program, runtime_kernel_arg *out) {
  for (int i = 0; i < program->n_args; i++) {
    const tn_tensor *tensor = program->args[i];
    out[i] = (runtime_kernel_arg){.name = tensor->name,
                                  .dtype = tensor->dtype,
                                  .ndim = tensor->ndim,
                                  .is_output = i >= program->n_inputs,
                                  .by_value = tensor->by_value};
    memcpy(out[i].shape, tensor->shape, sizeof out[i].shape);
  }
  return program->n_args;
}

static runtime_kernel_arg *args_of(build *b, int *n) {
  const tn_program *program = b->schedule->program;
  runtime_kernel_arg *args = RUNTIME_NEW_ARRAY(&b->arena, runtime_kernel_arg, program->n_args + 1);
  if (args != NULL)
    *n = codegen_kernel_args(program, args);
  else
    runtime_fail(b->ctx, TN_ERROR_MEMORY, "out of memory for the arguments of %s", b->name);
  return args;
}

/* ---- in memory ---------------------------------------------------------------------------------------------- */

static tn_kernel *load(build *b) {
  codegen_bytes object;
  int n;
  runtime_kernel_arg *args = args_of(b, &n);
  if (args == NULL || codegen_object(b->ctx, b->func, b->target, &object) != TN_OK) return NULL;
  tn_kernel *kernel = codegen_load_calling(b->ctx, object.data, object.n, b->name, n, args, b->func);
  free(object.data);
  runtime_kernel_describe(kernel, tn_program_flops(b->schedule->program), codegen_scratch_bytes(b->func));
  bool has_stages = kernel != NULL && (b->samples || b->counts);
  if (!has_stages || codegen_add_stages(kernel, b->schedule, b->samples, b->counts) == TN_OK) return kernel;
  tn_kernel_free(kernel);
  return NULL;
}

tn_kernel *tn_build(const tn_schedule *schedule, const tn_build_options *options) {
  build b = {0};
  tn_kernel *kernel = build_open(&b, schedule, options) ? load(&b) : NULL;
  build_close(&b);
  return kernel;
}

/* ---- files and texts ---------------------------------------------------------------------------------------- */

static tn_status status_of(const build *b) { return b->ctx != NULL ? tn_context_status(b->ctx) : TN_ERROR_ARGUMENT; }

tn_status tn_build_file(const tn_schedule *schedule, const tn_build_options *options, const char *path) {
  build b = {0};
  if (path == NULL) return TN_ERROR_ARGUMENT;
  bool opened = build_open(&b, schedule, options);
  tn_status status = opened ? codegen_write(b.ctx, b.func, b.target, path) : status_of(&b);
  build_close(&b);
  return status;
}

static char *header_text(const tn_schedule *schedule, const tn_build_options *options, build *b) {
  int n;
  if (!build_names(b, schedule, options)) return NULL;
  runtime_kernel_arg *args = args_of(b, &n);
  return args != NULL ? codegen_header(b->ctx, b->name, n, args) : NULL;
}

tn_status tn_build_header(const tn_schedule *schedule, const tn_build_options *options, const char *path) {
  build b = {0};
  if (path == NULL) return TN_ERROR_ARGUMENT;
  char *text = header_text(schedule, options, &b);
  tn_status status = text != NULL ? codegen_write_file(b.ctx, path, text, strlen(text)) : status_of(&b);
  free(text);
  build_close(&b);
  return status;
}

static char *code_text(const tn_schedule *schedule, const tn_build_options *options, codegen_form form, build *b) {
  codegen_bytes bytes;
  if (!build_open(b, schedule, options)) return NULL;
  return codegen_bytes_of(b->ctx, b->func, b->target, form, &bytes) == TN_OK ? bytes.data : NULL;
}

char *tn_build_text(const tn_schedule *schedule, const tn_build_options *options, const char *form) {
  build b = {0};
  char *text = NULL;
  if (schedule == NULL || form == NULL) return NULL;
  if (strcmp(form, ".h") == 0)
    text = header_text(schedule, options, &b);
  else if (strcmp(form, ".ll") == 0)
    text = code_text(schedule, options, CODEGEN_IR, &b);
  else if (strcmp(form, ".s") == 0)
    text = code_text(schedule, options, CODEGEN_ASSEMBLY, &b);
  else if (strcmp(form, ".c") == 0)
    text = code_text(schedule, options, CODEGEN_C, &b);
  else
    runtime_fail(schedule->ctx, TN_ERROR_ARGUMENT, "the form \"%s\" is no text: use .c, .ll, .s or .h", form);
  build_close(&b);
  return text;
}
