/* extern.c: stages that are a call of a C function. The function takes whole tensors, row-major and without gaps, and
 * is called once in a run of the kernel. So such a stage stands at root and has no loops, the stages that it reads
 * stand at root too, and their buffers are what te says, whatever else is done to their loops. */
#include "schedule/edit.h"
#include "schedule/lowering.h"

/* Readers stand behind what they read. */
int schedule_extern_reader(const tn_schedule *s, int stage) {
  for (int i = stage + 1; i < s->n_stages; i++)
    if (te_is_extern(s->stages[i].op) && schedule_reads_stage(&s->stages[i], &s->stages[stage])) return i;
  return -1;
}

/* The loops of a C function are not Tenon's. */
tn_status schedule_check_no_extern(const schedule_call *c, int stage, const char *instead) {
  const schedule_stage *st = &c->s->stages[stage];
  if (!te_is_extern(st->op)) return TN_OK;
  return schedule_refuse(c, "%s is computed by a call of %s, as a whole, and has no loops here: %s",
                         schedule_stage_name(st), st->op->call->callee->name, instead);
}

/* WHY says what a C function takes: "row-major arrays". */
tn_status schedule_check_no_extern_reader(const schedule_call *c, int stage, const char *why, const char *instead) {
  tn_schedule *s = c->s;
  int reader = schedule_extern_reader(s, stage);
  if (reader < 0) return TN_OK;
  const schedule_stage *st = &s->stages[reader];
  return schedule_refuse(c, "%s, which %s computes, reads %s: a C function takes %s; %s", schedule_stage_name(st),
                         st->op->call->callee->name, schedule_stage_name(&s->stages[stage]), why, instead);
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* A whole tensor from its first element on. */
static tir_operand whole(lowering *l, tir_access access, const tir_buffer *buffer) {
  tir_operand o = {.access = access, .buffer = buffer, .n_index = buffer->ndim};
  for (int d = 0; d < buffer->ndim; d++) {
    o.index[d] = tir_int(l->arena, l->index_dtype, 0);
    o.span[d] = buffer->shape[d] < 0 ? 0 : buffer->shape[d]; /* 0: symbols decide */
  }
  return o;
}

/* A scalar's value, or the whole of what another stage computes. */
static tir_operand input_operand(lowering *l, const tn_tensor *input) {
  const lower_stage *from = &l->stages[schedule_stage_of_tensor(l->s, input)];
  if (from->scalar) return (tir_operand){.value = tir_var_expr(l->arena, &from->scalar->var)};
  return whole(l, TIR_READS, from->buffers[input->value_index]);
}

/* What is made of symbols gets its value from them, in its own dtype. */
static const tir_expr *number_operand(lowering *l, const tir_expr *number) {
  if (number->op == TIR_INT || number->op == TIR_FLOAT) return number;
  const tir_expr *size = schedule_lower_size(l, number->op == TIR_CAST ? number->arg[0] : number);
  return tir_cast(l->arena, (tn_dtype)number->dtype, size);
}

/* Operands in the order of the function's parameters. */
const tir_stmt *schedule_lower_call(lowering *l, const lower_stage *ls) {
  const te_call *call = ls->st->op->call;
  tir_operand operands[RUNTIME_MAX_C_ARGS];
  for (int i = 0; i < call->n; i++) {
    const te_call_arg *arg = &call->args[i];
    operands[i] = arg->input    ? input_operand(l, arg->input)
                  : arg->number ? (tir_operand){.value = number_operand(l, arg->number)}
                                : whole(l, TIR_WRITES, ls->buffers[arg->result]);
  }
  return tir_call(l->arena, call->callee, call->n, operands);
}
