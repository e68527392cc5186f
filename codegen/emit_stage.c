/* emit_stage.c: stages that tell their time (tn_build_options.sample). Every frame - the kernel, and each call of a
 * parallel body on its thread - reads the processor's clock when it goes from one stage to another and bills the time
 * to the stage that it leaves, in counters of its own; when it returns it adds them to the kernel's. So a thread bills
 * what it does and nothing for others, and what one waits for others is billed to nobody. Time in which other programs
 * had the processor is taken off. */
#include "codegen/emit.h"

#include <stdio.h>
#include <time.h>

#include "runtime/stages.h"

/* Of the counters that a frame keeps by itself. */
enum { OWN_ROWS = RUNTIME_STAGE_VISITS + 1 };

/* Counts the marks' stages: they are numbered from 0, and a part of a program may lack some. */
static tir_walk find_most(void *user, const tir_stmt *s) {
  int *n = user;
  if (s->kind == TIR_ATTR && strcmp(s->u.attr.key, TIR_STAGE) == 0) *n = RUNTIME_MAX(*n, (int)s->u.attr.value + 1);
  return TIR_WALK_ON;
}

int codegen_told_stages(const tir_func *func) {
  int n = 0;
  tir_visitor visitor = {find_most, NULL, &n};
  tir_walk_stmt(func->body, &visitor);
  return n;
}

void codegen_stages_find(codegen_emitter *m) { m->n_stages = codegen_told_stages(m->func); }

/* Numbers of a row: stage 0 is outside of all. */
static int row_length(const codegen_emitter *m) { return m->n_stages + 1; }

/* The kernel's counters, made at the first use. */
static LLVMValueRef counters_of(codegen_emitter *m) {
  if (m->stage_counters != NULL) return m->stage_counters;
  char name[256];
  snprintf(name, sizeof name, CODEGEN_STAGE_SYMBOL, m->func->name);
  LLVMTypeRef type = LLVMArrayType2(m->i64, (uint64_t)(RUNTIME_STAGE_ROWS * row_length(m)));
  m->stage_counters = LLVMAddGlobal(m->module, type, name);
  LLVMSetInitializer(m->stage_counters, LLVMConstNull(type));
  return m->stage_counters;
}

/* The address of a counter: ROW is what is counted, STAGE whose it is. */
static LLVMValueRef element(codegen_emitter *m, LLVMValueRef base, int row, int64_t stage) {
  LLVMValueRef index = codegen_i64(m, row * row_length(m) + stage);
  return LLVMBuildInBoundsGEP2(m->builder, m->i64, base, &index, 1, "");
}

static bool is_for(const codegen_emitter *m, const char *arch) {
  return strncmp(m->target->triple, arch, strlen(arch)) == 0;
}

/* Ticks of a clock that runs at one rate: the time stamp counter of x86, CNTVCT_EL0 of aarch64, both behind LLVM's
 * counter of cycles; of riscv that one counts cycles, and the steady one is its clock (elsewhere the steady one is the
 * number 0). */
static LLVMValueRef read_clock(codegen_emitter *m) {
  const char *counter = is_for(m, "riscv64") ? "llvm.readsteadycounter" : "llvm.readcyclecounter";
  return codegen_intrinsic(m, counter, 0, NULL, 0, NULL);
}

/* Clocks of two processors may differ by a little: time never runs backwards. */
static LLVMValueRef since(codegen_emitter *m, LLVMValueRef now, LLVMValueRef start) {
  LLVMValueRef ticks = LLVMBuildSub(m->builder, now, start, ""), zero = codegen_i64(m, 0);
  LLVMValueRef is_back = LLVMBuildICmp(m->builder, LLVMIntSLT, ticks, zero, "");
  return LLVMBuildSelect(m->builder, is_back, zero, ticks, "ticks");
}

/* Adds to a counter of this thread. Nobody else writes it before the frame ends, so no atomic instruction is needed. */
static void add_own(codegen_emitter *m, int row, int64_t stage, LLVMValueRef value) {
  LLVMValueRef at = element(m, m->frame->stage_own, row, stage);
  LLVMValueRef sum = LLVMBuildAdd(m->builder, LLVMBuildLoad2(m->builder, m->i64, at, ""), value, "");
  LLVMBuildStore(m->builder, sum, at);
}

/* To the kernel's counters, beside other threads. */
static void add_shared(codegen_emitter *m, int row, int64_t stage, LLVMValueRef value) {
  LLVMBuildAtomicRMW(m->builder, LLVMAtomicRMWBinOpAdd, element(m, counters_of(m), row, stage), value,
                     LLVMAtomicOrderingMonotonic, false);
}

/* ---- time that others took --------------------------------------------------------------------------------------- */

/* What a frame knows of the last time it asked the system: three i64. */
enum { ASKED_TICKS, ASKED_WALL_NS, ASKED_CPU_NS, ASKED };

/* Intervals that are longer are worth asking the system how much of them the thread had: some tens of microseconds, in
 * ticks. The system takes a processor away for longer than that. */
static int64_t long_interval(const codegen_emitter *m) { return is_for(m, "x86_64") ? 1 << 16 : 1 << 10; }

/* Nanoseconds of a clock of the system. TIME: room for a struct timespec. */
static LLVMValueRef read_ns(codegen_emitter *m, int clock, LLVMValueRef time) {
  LLVMTypeRef types[] = {m->i32, m->ptr};
  LLVMValueRef args[] = {LLVMConstInt(m->i32, (uint64_t)clock, false), time}, one = codegen_i64(m, 1);
  codegen_call_extern(m, "clock_gettime", m->i32, 2, types, args);
  LLVMValueRef seconds = LLVMBuildLoad2(m->builder, m->i64, time, ""),
               rest = LLVMBuildLoad2(m->builder, m->i64, LLVMBuildGEP2(m->builder, m->i64, time, &one, 1, ""), "");
  return LLVMBuildAdd(m->builder, LLVMBuildMul(m->builder, seconds, codegen_i64(m, 1000000000), ""), rest, "");
}

/* NOW less what stands at ASKED[i], which it replaces. */
static LLVMValueRef step(codegen_emitter *m, LLVMValueRef asked, int i, LLVMValueRef now) {
  LLVMValueRef index = codegen_i64(m, i), at = LLVMBuildGEP2(m->builder, m->i64, asked, &index, 1, "");
  LLVMValueRef before = LLVMBuildLoad2(m->builder, m->i64, at, "");
  LLVMBuildStore(m->builder, now, at);
  return LLVMBuildSub(m->builder, now, before, "");
}

/* i64 name.stolen(ptr asked, i64 now): ticks since the last question in which the thread had no processor: wall time
 * less the thread's own, at the rate of the ticks. */
static void fill_stolen(codegen_emitter *m, LLVMValueRef function) {
  LLVMValueRef asked = LLVMGetParam(function, 0), now = LLVMGetParam(function, 1), zero = codegen_i64(m, 0);
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(m->llvm);
  LLVMValueRef time = LLVMBuildAlloca(m->builder, LLVMArrayType2(m->i64, 2), "time");
  LLVMValueRef ticks = step(m, asked, ASKED_TICKS, now);
  LLVMValueRef wall = step(m, asked, ASKED_WALL_NS, read_ns(m, CLOCK_MONOTONIC, time));
  LLVMValueRef cpu = step(m, asked, ASKED_CPU_NS, read_ns(m, CLOCK_THREAD_CPUTIME_ID, time));
  LLVMValueRef stolen = LLVMBuildSub(m->builder, wall, cpu, "");
  LLVMValueRef is_some = LLVMBuildAnd(m->builder, LLVMBuildICmp(m->builder, LLVMIntSGT, stolen, zero, ""),
                                      LLVMBuildICmp(m->builder, LLVMIntSGT, wall, zero, ""), "");
  LLVMValueRef part = LLVMBuildFDiv(m->builder, LLVMBuildSIToFP(m->builder, stolen, f64, ""),
                                    LLVMBuildSIToFP(m->builder, wall, f64, ""), "");
  LLVMValueRef all = LLVMBuildFMul(m->builder, part, LLVMBuildSIToFP(m->builder, ticks, f64, ""), "");
  LLVMValueRef kept = LLVMBuildSelect(m->builder, is_some, all, LLVMConstReal(f64, 0), "");
  LLVMBuildRet(m->builder, LLVMBuildFPToSI(m->builder, kept, m->i64, ""));
}

/* Made at the first use. */
static LLVMValueRef stolen_function(codegen_emitter *m) {
  char name[256];
  snprintf(name, sizeof name, "%s.stolen", m->func->name);
  LLVMValueRef function = LLVMGetNamedFunction(m->module, name);
  if (function != NULL) return function;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder);
  LLVMTypeRef types[] = {m->ptr, m->i64};
  codegen_frame frame = {0}, *outer = m->frame;
  frame.function = function =
      codegen_add_function(m, name, LLVMFunctionType(m->i64, types, 2, false), LLVMInternalLinkage);
  codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  m->frame = &frame;
  fill_stolen(m, function);
  m->frame = outer;
  LLVMPositionBuilderAtEnd(m->builder, here);
  return function;
}

/* Calls the function that says how long the system had the processor since it was last asked, in ticks. */
static LLVMValueRef ask_stolen(codegen_emitter *m, LLVMValueRef now) {
  LLVMTypeRef types[] = {m->ptr, m->i64};
  LLVMValueRef args[] = {m->frame->stage_asked, now};
  return LLVMBuildCall2(m->builder, LLVMFunctionType(m->i64, types, 2, false), stolen_function(m), args, 2, "");
}

/* ---- billing ----------------------------------------------------------------------------------------------------- */

/* Of a long interval what others had goes off. */
static LLVMValueRef own_part(codegen_emitter *m, LLVMValueRef ticks, LLVMValueRef now) {
  LLVMValueRef is_long = LLVMBuildICmp(m->builder, LLVMIntSGT, ticks, codegen_i64(m, long_interval(m)), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), after = codegen_begin_if(m, is_long);
  LLVMValueRef own = since(m, ticks, ask_stolen(m, now));
  LLVMBasicBlockRef asked = LLVMGetInsertBlock(m->builder);
  codegen_end_if(m, after);
  LLVMValueRef result = LLVMBuildPhi(m->builder, m->i64, "own");
  LLVMAddIncoming(result, (LLVMValueRef[]){ticks, own}, (LLVMBasicBlockRef[]){before, asked}, 2);
  return result;
}

/* Bills the time since the last reading to the stage at work; the reading. */
static LLVMValueRef bill(codegen_emitter *m) {
  LLVMValueRef now = read_clock(m), last = LLVMBuildLoad2(m->builder, m->i64, m->frame->stage_since, "");
  add_own(m, RUNTIME_STAGE_TICKS, m->stage, own_part(m, since(m, now, last), now));
  LLVMBuildStore(m->builder, now, m->frame->stage_since);
  return now;
}

void codegen_stages_begin(codegen_emitter *m) {
  if (m->n_stages == 0) return;
  LLVMTypeRef own = LLVMArrayType2(m->i64, (uint64_t)(OWN_ROWS * row_length(m)));
  m->frame->stage_own = LLVMBuildAlloca(m->builder, own, "stages");
  m->frame->stage_since = LLVMBuildAlloca(m->builder, m->i64, "since");
  m->frame->stage_asked = LLVMBuildAlloca(m->builder, LLVMArrayType2(m->i64, ASKED), "asked");
  m->frame->first_stage = m->stage;
  LLVMBuildStore(m->builder, LLVMConstNull(own), m->frame->stage_own);
  m->frame->stage_begun = read_clock(m);
  LLVMBuildStore(m->builder, m->frame->stage_begun, m->frame->stage_since);
  ask_stolen(m, m->frame->stage_begun);
}

void codegen_stages_end(codegen_emitter *m) {
  if (m->n_stages == 0) return;
  LLVMValueRef now = bill(m);
  for (int row = 0; row < OWN_ROWS; row++)
    for (int stage = 0; stage <= m->n_stages; stage++)
      add_shared(m, row, stage, LLVMBuildLoad2(m->builder, m->i64, element(m, m->frame->stage_own, row, stage), ""));
  if (m->frame->is_parallel)
    add_shared(m, RUNTIME_STAGE_BUSY, m->frame->first_stage, since(m, now, m->frame->stage_begun));
}

LLVMValueRef codegen_stages_pause(codegen_emitter *m) { return m->n_stages > 0 ? bill(m) : NULL; }

void codegen_stages_resume(codegen_emitter *m, LLVMValueRef paused) {
  if (m->n_stages == 0) return;
  LLVMValueRef now = read_clock(m);
  add_shared(m, RUNTIME_STAGE_WALL, m->stage, since(m, now, paused));
  ask_stolen(m, now);
  LLVMBuildStore(m->builder, now, m->frame->stage_since);
}

void codegen_emit_stage(codegen_emitter *m, const tir_stmt *s) {
  int64_t outer = m->stage;
  bill(m);
  m->stage = s->u.attr.value + 1;
  add_own(m, RUNTIME_STAGE_VISITS, m->stage, codegen_i64(m, 1));
  codegen_emit_stmt(m, s->u.attr.body);
  bill(m);
  m->stage = outer;
}
