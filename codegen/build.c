/* build.c: from a schedule to code: the calls of codegen.h. Each lowers into an arena of its own and
 * compiles. The function, its arguments' descriptions and all loop IR lie in that arena and are gone
 * when the call returns; kernels copy what they keep. */
#include "codegen/file.h"
#include "codegen/internal.h"
#include "schedule/traffic.h"

/* A schedule on its way to code. */
typedef struct build {
  tn_context *ctx;
  const tn_schedule *schedule;
  const tn_target *target;
  const char *name;
  bool samples, counts;
  schedule_part part;
  runtime_arena arena;
  const tir_func *func, *before; /* after the passes, and before them */
  schedule_traffic traffic;
} build;

/* Everything but the code. Fills B in each case, so that build_close can follow. */
static bool build_names(build *b, const tn_schedule *schedule, const tn_build_options *options) {
  if (schedule == NULL) return false;
  *b = (build){.ctx = schedule->ctx, .schedule = schedule, .name = "kernel"};
  if (options != NULL && options->name != NULL) b->name = options->name;
  b->samples = options != NULL && options->sample;
  b->counts = options != NULL && options->count;
  b->part = options != NULL ? (schedule_part)options->part : SCHEDULE_WHOLE;
  return codegen_check_name(b->ctx, b->name) == TN_OK;
}

/* In a thread with enough stack: deep expressions recurse. */
static void lower_here(void *data) {
  build *b = data;
  tir_pass_options options = codegen_pass_options(b->target);
  options.marks_stages = b->samples;
  b->func = schedule_lower_part(b->schedule, b->name, &b->arena, &options, b->part, &b->before);
}

/* False with a message; build_close in either case. */
static bool build_open(build *b, const tn_schedule *schedule, const tn_build_options *options) {
  if (!build_names(b, schedule, options)) return false;
  b->target = codegen_target_or_native(b->ctx, options != NULL ? options->target : NULL);
  if (b->target == NULL) return false;
  if (runtime_with_stack(CODEGEN_STACK_BYTES, lower_here, b)) return b->func != NULL;
  runtime_fail(b->ctx, TN_ERROR_MEMORY, "no thread with the stack that lowering %s needs", b->name);
  return false;
}

/* Also after a build_open that failed. */
static void build_close(build *b) { runtime_arena_free(&b->arena); }

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Appends a size in postfix; false: too long. */
static bool add_size(const tn_program *program, const tir_expr *e, runtime_size_op *ops, int *n) {
  for (int i = 0; i < e->n_args; i++)
    if (!add_size(program, e->arg[i], ops, n)) return false;
  if (*n == RUNTIME_MAX_SIZE_OPS) return false;
  int64_t value = e->op == TIR_VAR ? te_symbol_number(program, e->u.var) : e->op == TIR_INT ? e->u.i : 0;
  ops[(*n)++] = (runtime_size_op){tir_op_table[e->op].on_integers, e->op == TIR_VAR, value};
  return true;
}

/* The extent as a program for runtime's stack, and its text for messages. NULL: out of memory or too
 * long. */
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

/* In the program's order, which is that of the function's parameters. */
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
                                  .is_strided = tensor->is_strided,
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

/* What is packed has a size that is known. */
static runtime_kernel_arg packed_arg(const tir_buffer *buffer) {
  runtime_kernel_arg arg = {.name = buffer->name, .dtype = buffer->dtype, .ndim = buffer->ndim};
  memcpy(arg.shape, buffer->shape, sizeof arg.shape);
  return arg;
}

/* A part's arguments are the function's: buffers, of which ALL describes the program's, then what is passed by value.
 * The packing has no symbols. */
static int args_of_part(const build *b, const runtime_kernel_arg *all, runtime_kernel_arg *args) {
  const tir_func *f = b->func;
  const tn_program *program = b->schedule->program;
  const tir_buffer **params = f->declared != NULL ? f->declared : f->params;
  int n = 0, n_symbols = b->part == SCHEDULE_PACKED ? program->n_symbols : 0;
  for (int i = 0; i < f->n_params; i++) {
    args[n] = packed_arg(params[i]);
    for (int k = 0; k < program->n_args; k++)
      if (strcmp(all[k].name, params[i]->name) == 0) args[n] = all[k];
    args[n++].is_output = i >= f->n_inputs;
  }
  for (int k = 0; b->part == SCHEDULE_PACKED && k < program->n_inputs; k++)
    if (all[k].by_value) args[n++] = all[k];
  for (int i = 0; i < n; i++) args[i].n_symbols = n_symbols, args[i].symbols = all[0].symbols;
  return n;
}

/* In the build's arena; *N -1 with a message. */
static runtime_kernel_arg *args_of(build *b, int *n) {
  const tn_program *program = b->schedule->program;
  int most = b->part != SCHEDULE_WHOLE ? b->func->n_params + program->n_inputs + 1 : 0;
  runtime_kernel_arg *all = RUNTIME_NEW_ARRAY(&b->arena, runtime_kernel_arg, program->n_args + 1);
  runtime_kernel_arg *some = RUNTIME_NEW_ARRAY(&b->arena, runtime_kernel_arg, most + 1);
  *n = all != NULL && some != NULL ? codegen_kernel_args(program, &b->arena, all) : -1;
  if (*n < 0) return runtime_fail(b->ctx, TN_ERROR_MEMORY, "out of memory for the arguments of %s", b->name), NULL;
  if (b->part == SCHEDULE_WHOLE) return all;
  *n = args_of_part(b, all, some);
  return some;
}

/* ---- in memory --------------------------------------------------------------------------------------------------- */

/* Loops before any pass: what they touch can no longer be told when buffers are flat. */
static void find_traffic(void *data) {
  build *b = data;
  tn_machine machine = tn_target_machine(b->target);
  schedule_traffic_of(b->before, &machine, &b->traffic);
}

/* What is computed of a program in parts, or with extents that calls bring, has no figures but its operations. */
static runtime_kernel_work work_of(build *b) {
  const tn_program *program = b->schedule->program;
  if (b->part == SCHEDULE_WHOLE && program->n_symbols == 0) runtime_with_stack(CODEGEN_STACK_BYTES, find_traffic, b);
  const schedule_traffic *t = &b->traffic;
  return (runtime_kernel_work){.flops = tn_program_flops(program),
                               .bytes_read = t->bytes_read,
                               .bytes_written = t->bytes_written,
                               .bytes_moved = t->bytes_moved,
                               .launches = t->launches,
                               .scratch_bytes = codegen_scratch_bytes(b->func)};
}

/* The kernel has copies of all it needs, so that the build can be closed. */
static tn_kernel *load(build *b) {
  codegen_bytes object;
  int n;
  runtime_kernel_arg *args = args_of(b, &n);
  if (args == NULL || codegen_object(b->ctx, b->func, b->target, &object) != TN_OK) return NULL;
  tn_kernel *kernel = codegen_load_calling(b->ctx, object.data, object.n, b->name, n, args, b->func);
  free(object.data);
  runtime_kernel_work work = work_of(b);
  runtime_kernel_describe(kernel, &work);
  bool has_stages = kernel != NULL && (b->samples || b->counts);
  if (!has_stages || codegen_add_stages(kernel, b->schedule, b->part, b->target,
                                        b->samples ? codegen_told_stages(b->func) : 0, b->counts) == TN_OK)
    return kernel;
  tn_kernel_free(kernel);
  return NULL;
}

/* The kernel belongs to the caller and to the context, whichever frees it first. */
tn_kernel *tn_build(const tn_schedule *schedule, const tn_build_options *options) {
  build b = {0};
  tn_kernel *kernel = build_open(&b, schedule, options) ? load(&b) : NULL;
  build_close(&b);
  return kernel;
}

/* ---- packed constants -------------------------------------------------------------------------------------------- */

/* Arrays for what PACKS computes, which is called to fill them. False with a message; the arrays are in OUT all the
 * same. */
static bool pack(tn_context *ctx, const tn_kernel *packs, DLTensor *const *constants, int n, DLTensor **out) {
  int n_args;
  const runtime_kernel_arg *args = runtime_kernel_args(packs, &n_args);
  DLTensor *all[RUNTIME_MAX_KERNEL_ARGS];
  if (n_args > RUNTIME_MAX_KERNEL_ARGS) return false;
  for (int i = 0; i < n_args; i++) {
    if (i < n) {
      all[i] = constants[i];
      continue;
    }
    all[i] = out[i - n] = tn_array_new(ctx, args[i].dtype, args[i].ndim, args[i].shape);
    if (all[i] == NULL) return false;
  }
  return tn_call(ctx, packs, all, n_args) == TN_OK;
}

/* The constants among the arguments that the packing reads, in OUT; -1 with a message. */
static int choose_constants(const tn_schedule *schedule, const tn_kernel *packs, DLTensor *const *constants, int n,
                            DLTensor **out) {
  const tn_program *p = schedule->program;
  int n_args, n_given = 0, n_chosen = 0;
  const runtime_kernel_arg *args = runtime_kernel_args(packs, &n_args);
  for (int i = 0; i < p->n_inputs; i++) {
    if (!p->args[i]->is_layout_free) continue;
    bool is_read = n_chosen < n_args && !args[n_chosen].is_output && strcmp(args[n_chosen].name, p->args[i]->name) == 0;
    if (is_read && n_given < n && constants != NULL) out[n_chosen++] = constants[n_given];
    n_given++;
  }
  if (n_given == n && (constants != NULL || n == 0)) return n_chosen;
  runtime_fail(schedule->ctx, TN_ERROR_CALL,
               "tn_prepack %s: %d constants, the program declares %d inputs as layout_free", tn_kernel_name(packs), n,
               n_given);
  return -1;
}

/* The rest of the program, bound to what PACKS makes of the constants. */
static tn_kernel *bind_packed(const tn_schedule *schedule, const tn_build_options *options, const tn_kernel *packs,
                              DLTensor *const *constants, int n) {
  DLTensor *chosen[RUNTIME_MAX_KERNEL_ARGS], *packed[RUNTIME_MAX_KERNEL_ARGS] = {NULL};
  int n_chosen = choose_constants(schedule, packs, constants, n, chosen);
  int n_packed = n_chosen >= 0 ? tn_kernel_arg_count(packs) - n_chosen : 0;
  tn_kernel *kernel = NULL;
  if (n_chosen >= 0 && pack(schedule->ctx, packs, chosen, n_chosen, packed)) kernel = tn_build(schedule, options);
  if (kernel != NULL && runtime_kernel_bind(kernel, n_packed, packed)) return kernel;
  for (int i = 0; i < n_packed; i++) tn_array_free(packed[i]);
  tn_kernel_free(kernel);
  return NULL;
}

/* The packing's kernel is run once and freed; what it wrote belongs to the kernel that is returned. */
tn_kernel *tn_prepack(const tn_schedule *schedule, const tn_build_options *options, DLTensor *const *constants, int n) {
  tn_build_options part = options != NULL ? *options : (tn_build_options){0};
  part.part = TN_BUILD_PREPACK;
  tn_kernel *packs = tn_build(schedule, &part);
  part.part = TN_BUILD_PACKED;
  tn_kernel *kernel = packs != NULL ? bind_packed(schedule, &part, packs, constants, n) : NULL;
  tn_kernel_free(packs);
  return kernel;
}

/* ---- files and texts --------------------------------------------------------------------------------------------- */

/* After a failure whose message is in the context. */
static tn_status status_of(const build *b) { return b->ctx != NULL ? tn_context_status(b->ctx) : TN_ERROR_ARGUMENT; }

/* The suffix of PATH says the form (codegen/write.c). All is compiled in memory before the file is opened. */
tn_status tn_build_file(const tn_schedule *schedule, const tn_build_options *options, const char *path) {
  build b = {0};
  if (schedule == NULL || !RUNTIME_GIVEN(schedule->ctx, path)) return TN_ERROR_ARGUMENT;
  bool opened = build_open(&b, schedule, options);
  tn_status status = opened ? codegen_write(b.ctx, b.func, b.target, path) : status_of(&b);
  build_close(&b);
  return status;
}

/* A part's arguments are known when it is lowered. */
static char *header_text(const tn_schedule *schedule, const tn_build_options *options, build *b) {
  int n;
  bool lowers = options != NULL && options->part != TN_BUILD_WHOLE;
  if (!(lowers ? build_open : build_names)(b, schedule, options)) return NULL;
  runtime_kernel_arg *args = args_of(b, &n);
  return args != NULL ? codegen_header(b->ctx, b->name, n, args) : NULL;
}

/* Nothing is lowered but for parts, whose parameters lowering decides. */
tn_status tn_build_header(const tn_schedule *schedule, const tn_build_options *options, const char *path) {
  build b = {0};
  if (schedule == NULL || !RUNTIME_GIVEN(schedule->ctx, path)) return TN_ERROR_ARGUMENT;
  char *text = header_text(schedule, options, &b);
  tn_status status = text != NULL ? codegen_write_file(b.ctx, path, text, strlen(text)) : status_of(&b);
  free(text);
  build_close(&b);
  return status;
}

/* B is closed by the caller; the text is malloc'ed. */
static char *code_text(const tn_schedule *schedule, const tn_build_options *options, codegen_form form, build *b) {
  codegen_bytes bytes;
  if (!build_open(b, schedule, options)) return NULL;
  return codegen_bytes_of(b->ctx, b->func, b->target, form, &bytes) == TN_OK ? bytes.data : NULL;
}

/* The forms that are text; the others are files. */
char *tn_build_text(const tn_schedule *schedule, const tn_build_options *options, const char *form) {
  build b = {0};
  char *text = NULL;
  if (schedule == NULL || !RUNTIME_GIVEN(schedule->ctx, form)) return NULL;
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
