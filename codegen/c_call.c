/* c_call.c: calls of other C functions: a declaration at the top of the file, a line for each call. */
#include "codegen/c_emit.h"

/* Names that a C file of ours uses otherwise cannot be declared in it. */
static void take_callee(codegen_c_emitter *m, const tir_callee *callee) {
  if (callee->module != NULL)
    codegen_c_fail(m, TN_ERROR_CODEGEN,
                   "%s comes as LLVM IR, which C source cannot hold: write an object (.o), or LLVM IR (.ll, .bc)",
                   callee->name);
  else if (codegen_c_is_reserved(callee->name) || strcmp(callee->name, m->func->name) == 0)
    codegen_c_fail(m, TN_ERROR_CODEGEN, "the function %s cannot be called from C source: generated code uses its name",
                   callee->name);
  else if (!RUNTIME_PUSH(&m->taken, callee->name))
    longjmp(*m->arena.on_oom, 1);
}

/* Before any other name: a function's name cannot be changed. */
void codegen_c_take_callees(codegen_c_emitter *m) {
  int n = tir_callees(m->func, 0, NULL);
  const tir_callee **callees = RUNTIME_NEW_ARRAY(&m->arena, const tir_callee *, n + 1);
  tir_callees(m->func, n, callees);
  for (int i = 0; i < n; i++) take_callee(m, callees[i]);
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

/* The walk that writes each declaration once. */
typedef struct declaring {
  codegen_c_emitter *m;
  runtime_str *out;
  runtime_map seen; /* callees */
} declaring;

/* What the callee only reads. */
static const char *const_word(const tir_operand *o) { return o->access == TIR_READS ? "const " : ""; }

/* By the callee's first call: all have the same types. */
static tir_walk declare(void *user, const tir_stmt *s) {
  declaring *d = user;
  if (s->kind != TIR_CALL || runtime_map_get(&d->seen, s->u.call.callee) != NULL) return TIR_WALK_ON;
  codegen_c_put(d->m, &d->seen, s->u.call.callee, s);
  runtime_str_addf(d->out, "void %s(", s->u.call.callee->name);
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (i > 0) runtime_str_add(d->out, ", ");
    if (o->access == TIR_BY_VALUE)
      runtime_str_add(d->out, codegen_c_type((tn_dtype)o->value->dtype));
    else
      runtime_str_addf(d->out, "%s%s *", const_word(o), codegen_c_type(o->buffer->dtype));
  }
  runtime_str_add(d->out, s->u.call.n > 0 ? ");\n" : "void);\n");
  return TIR_WALK_ON;
}

/* OUT stands before the kernel. */
void codegen_c_declare_callees(codegen_c_emitter *m, runtime_str *out) {
  declaring d = {.m = m, .out = out};
  tir_visitor visitor = {.stmt = declare, .user = &d};
  tir_walk_stmt(m->func->body, &visitor);
  if (d.seen.n > 0) runtime_str_add(out, "\n");
  runtime_map_free(&d.seen);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* An address is the element's; what else the callee touches from there is its own business. */
static const char *operand(codegen_c_emitter *m, const tir_operand *o) {
  if (o->access == TIR_BY_VALUE) return codegen_c_value(m, o->value).text;
  const char *name = codegen_c_name(m, o->buffer);
  if (name == NULL || o->n_index > 1) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "%s is %s", o->buffer->name,
                   o->n_index > 1 ? "not flat" : "used outside its scope");
    return "";
  }
  if (o->n_index == 0) return name;
  return codegen_c_format(m, CODEGEN_C_UNARY, "&%s[%s]", name, codegen_c_value(m, o->index[0]).text).text;
}

/* Uses are counted over all operands first, so that what two of them share gets a name. */
void codegen_c_call_stmt(codegen_c_emitter *m, const tir_stmt *s) {
  const char *list = "";
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (o->value != NULL) codegen_c_count_uses(m, o->value);
    for (int d = 0; d < o->n_index; d++) codegen_c_count_uses(m, o->index[d]);
  }
  for (int i = 0; i < s->u.call.n; i++)
    list = runtime_format(&m->arena, "%s%s%s", list, i > 0 ? ", " : "", operand(m, &s->u.call.operands[i]));
  codegen_c_line(m, "%s(%s);", s->u.call.callee->name, list);
}
