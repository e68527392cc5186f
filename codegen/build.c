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

/* Appends a size in postfix; false: too long. */
static bool add_size(const tn_program *program, const tir_expr *e, runtime_size_op *ops, int *n) {
  static const char letters[TIR_OP_COUNT] = {
      [TIR_INT] = 'c',      [TIR_VAR] = 's',      [TIR_ADD] = '+', [TIR_SUB] = '-', [TIR_MUL] = '*',
      [TIR_FLOORDIV] = '/', [TIR_FLOORMOD] = '%', [TIR_MIN] = '<', [TIR_MAX] = '>'};
  for (int i = 0; i < e->n_args; i++)
    if (!add_size(program, e->arg[i], ops, n)) return false;
  if (*n == RUNTIME_MAX_SIZE_OPS) return false;
  int64_t value = e->op == TIR_VAR ? te_symbol_number(program, e->u.var) : e->op == TIR_INT ? e->u.i : 0;
  ops[(*n)++] = (runtime_size_op){letters[e->op], value};
  return true;
}

static const runtime_size *make_size(const tn_program *program, runtime_arena *arena, const tir_expr *e) {
  runtime_size_op ops[RUNTIME_MAX_SIZE_OPS];
  runtime_size *size = RUNTIME_NEW(arena, runtime_size);
  runtime_str text = {0};
  int n = 0;
  te_print_expr(&text, e);
  const char *kept = runtime_str_take(&text, arena);
  if (size == NULL || kept == NULL || !add_size(program, e, ops, &n)) return NULL;
  *size = (runtime_size){n, runtime_copy(arena, ops, sizeof *ops * (size_t)n), kept};
  return size->ops != NULL ? size : NULL;
}

static const runtime_symbol *make_symbols(const tn_program *program, runtime_arena *arena) {
  runtime_symbol *symbols = RUNTIME_NEW_ARRAY(arena, runtime_symbol, program->n_symbols + 1);
  for (int i = 0; symbols != NULL && i < program->n_symbols; i++) {
    const tn_axis *s = program->symbols[i];
    symbols[i] = (runtime_symbol){s->var.name, s->least, s->extent};
  }
  return symbols;
}

int codegen_kernel_args(const tn_program *program, runtime_arena *arena, runtime_kernel_arg *out) {
  const runtime_symbol *symbols = make_symbols(program, arena);
  if (symbols == NULL) return -1;
  for (int i = 0; i < program->n_args; i++) {
    const tn_tensor *tensor = program->args[i];
    out[i] = (runtime_kernel_arg){.name = tensor->name,
                                  .dtype = tensor->dtype,
                                  .ndim = tensor->ndim,
                                  .is_output = i >= program->n_inputs,
                                  .by_value = tensor->by_value,
                                  .n_symbols = program->n_symbols,
                                  .symbols = symbols};
    memcpy(out[i].shape, tensor->shape, sizeof out[i].shape);
    for (int d = 0; d < tensor->ndim; d++) {
      if (tensor->size[d] == NULL) continue;
      if ((out[i].size[d] = make_size(program, arena, tensor->size[d])) == NULL) return -1;
    }
  }
  return program->n_args;
}

static runtime_kernel_arg *args_of(build *b, int *n) {
  const tn_program *program = b->schedule->program;
  runtime_kernel_arg *args = RUNTIME_NEW_ARRAY(&b->arena, runtime_kernel_arg, program->n_args + 1);
  *n = args != NULL ? codegen_kernel_args(program, &b->arena, args) : -1;
  if (*n >= 0) return args;
  runtime_fail(b->ctx, TN_ERROR_MEMORY, "out of memory for the arguments of %s", b->name);
  return NULL;
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
