/* c_source.c: a C file from a loop IR function: a comment, what the prelude must hold, and the kernel:
 * int32_t name(const T *restrict in..., T *restrict out..., T scalar...), which returns 0, or 1 when
 * scratch memory ran out. The body is written first, into a builder; then what it needs stands before
 * it. */
#include "codegen/c_emit.h"

/* ---- failing ----------------------------------------------------------------------------------------------------- */

void codegen_c_fail(codegen_c_emitter *m, tn_status status, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  if (!m->failed) runtime_fail(m->ctx, status, "%s: %s", m->func->name, text.failed ? "out of memory" : text.data);
  m->failed = true;
  runtime_str_free(&text);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Directives begin in the first column. */
void codegen_c_line(codegen_c_emitter *m, const char *fmt, ...) {
  bool is_directive = *fmt == '#';
  for (int i = 0; i < m->indent && !is_directive; i++) runtime_str_add(&m->out, "  ");
  RUNTIME_ADD_ARGS(&m->out, fmt);
  runtime_str_add(&m->out, "\n");
}

codegen_c_text codegen_c_format(codegen_c_emitter *m, codegen_c_prec prec, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  const char *kept = runtime_str_take(&text, &m->arena);
  if (!kept) longjmp(*m->arena.on_oom, 1);
  return (codegen_c_text){kept, prec, 0};
}

/* As it is where it binds tightly enough. */
const char *codegen_c_wrap(codegen_c_emitter *m, codegen_c_text a, codegen_c_prec at_least) {
  return a.prec >= at_least ? a.text : codegen_c_format(m, CODEGEN_C_ATOM, "(%s)", a.text).text;
}

void codegen_c_put(codegen_c_emitter *m, runtime_map *map, const void *key, const void *value) {
  if (!runtime_map_put(map, key, (void *)value)) longjmp(*m->arena.on_oom, 1);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Pointers first, restrict: the caller's arrays do not overlap. */
static const char *parameters(codegen_c_emitter *m) {
  const char *text = "";
  for (int i = 0; i < m->func->n_params; i++) {
    const tir_buffer *p = m->func->params[i];
    text = runtime_format(&m->arena, "%s%s%s%s *restrict %s", text, i ? ", " : "", p->is_input ? "const " : "",
                          codegen_c_type(p->dtype), codegen_c_bind(m, p, p->name));
  }
  for (int i = 0; i < m->func->n_scalars; i++) {
    const tir_scalar *s = &m->func->scalars[i];
    text =
        runtime_format(&m->arena, "%s%s%s %s", text, *text ? ", " : "",
                       codegen_c_type(s->is_symbol ? TN_I64 : s->var->dtype), codegen_c_bind(m, s->var, s->var->name));
  }
  return *text ? text : "void";
}

/* (void) for parameters that the body does not read: the file compiles without warnings under -Wextra. */
static void emit_kernel(codegen_c_emitter *m) {
  codegen_c_line(m, "int32_t %s(%s) {", m->func->name, parameters(m));
  m->indent++;
  for (int i = 0; i < m->func->n_params; i++) {
    const tir_buffer *p = m->func->params[i];
    if (!tir_stmt_touches(m->func->body, p)) codegen_c_line(m, "(void)%s;", codegen_c_name(m, p));
  }
  for (int i = 0; i < m->func->n_scalars; i++) {
    const tir_var *var = m->func->scalars[i].var;
    if (!tir_stmt_uses_var(m->func->body, var)) codegen_c_line(m, "(void)%s;", codegen_c_name(m, var));
  }
  codegen_c_frame(m, m->func->body, NULL);
  m->indent--;
  codegen_c_line(m, "}");
}

/* Whether some parameter has strides that a call gives. */
static bool has_strides(const tir_func *f) {
  bool any = false;
  for (int i = 0; f->declared != NULL && i < f->n_params; i++) any = any || tir_is_strided(f->declared[i]);
  return any;
}

/* How to compile it stands in the file: it leaves home alone. */
static void add_title(codegen_c_emitter *m, runtime_str *out) {
  runtime_str_addf(out, "/* %s: a kernel made by Tenon %s for\n *   %s\n", m->func->name, TN_VERSION, m->target->text);
  runtime_str_add(
      out,
      " * C17 with GNU vector extensions, for gcc and clang. To be compiled for its processor and, where it "
      "has parallel\n * loops, with OpenMP: cc -O3 -march=native -ffp-contract=fast -fopenmp -c; to be linked "
      "with -lm.\n * Arrays are compact, row-major and do not overlap. Returns 0, or 1 when there was no memory "
      "for scratch.");
  if (has_strides(m->func)) runtime_str_add(out, "\n * Those with strides need not be compact: these count elements.");
  runtime_str_add(out, " */\n");
}

/* The bytes belong to the caller. */
static tn_status assemble(codegen_c_emitter *m, codegen_bytes *out) {
  runtime_str text = {0};
  add_title(m, &text);
  codegen_c_prelude(m, &text);
  codegen_c_declare_callees(m, &text);
  if (m->out.data != NULL) runtime_str_addn(&text, m->out.data, m->out.n);
  if (!text.failed && !m->out.failed) {
    *out = (codegen_bytes){text.data, text.n};
    return TN_OK;
  }
  runtime_str_free(&text);
  return runtime_fail(m->ctx, TN_ERROR_MEMORY, "out of memory for the C source of %s", m->func->name);
}

/* Out of memory lands here, with the emitter as it was. */
static tn_status emit(codegen_c_emitter *m, codegen_bytes *out) {
  jmp_buf oom;
  if (setjmp(oom) != 0) {
    return runtime_fail(m->ctx, TN_ERROR_MEMORY, "out of memory for the C source of %s", m->func->name);
  }
  m->arena.on_oom = &oom;
  m->env = m->func->env;
  codegen_c_take_callees(m);
  emit_kernel(m);
  return m->failed ? tn_context_status(m->ctx) : assemble(m, out);
}

/* The emitter itself is its caller's. */
static void release(codegen_c_emitter *m) {
  runtime_str_free(&m->out);
  runtime_str_free(&m->head);
  RUNTIME_VEC_FREE(&m->taken);
  runtime_map_free(&m->names);
  runtime_map_free(&m->values);
  runtime_map_free(&m->indices);
  runtime_map_free(&m->uses);
  runtime_map_free(&m->slices);
  runtime_arena_free(&m->arena);
}

/* Needs no LLVM. */
tn_status codegen_c_source(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_bytes *out) {
  if (codegen_c_is_reserved(func->name)) {
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "the function name \"%s\" cannot be used in C source: generated code uses it", func->name);
  }
  codegen_c_emitter *m = calloc(1, sizeof *m); /* in memory of its own: longjmp leaves it as it is */
  if (m == NULL) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the C source of %s", func->name);
  m->ctx = ctx;
  m->func = func;
  m->target = target;
  tn_status status = emit(m, out);
  release(m);
  free(m);
  return status;
}
