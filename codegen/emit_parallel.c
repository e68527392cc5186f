/* emit_parallel.c: parallel loops, and variants. The body becomes a function of its own,
 *     i32 name.body.N(noalias pointers..., i64 variables..., i64 begin, i64 end)       (a variant's has no begin and end)
 * so that what it uses keeps its noalias; a trampoline `name.parallel.N` unpacks the closure and calls it. In a file
 * that leaves home the trampoline is called by libgomp on each thread and computes the thread's contiguous share; a
 * kernel in memory hands it to the threads of its context (runtime/parallel.h), which call it with a range. A body that
 * finds no scratch memory returns 1, which is collected in the closure. */
#include "codegen/emit.h"

#include <stdio.h>

/* What a body takes from outside: variables and buffers bound around it. */
typedef struct capture {
  const void *what;
  const tir_buffer *buffer; /* NULL: a variable */
  codegen_binding outer;
} capture;

/* One parallel loop while its functions are made, or what stands apart. Lists are heap memory, freed by
 * codegen_emit_parallel and codegen_emit_apart. */
typedef struct outline {
  codegen_emitter *m;
  const tir_stmt *loop;   /* NULL: a variant, or a nest that is not parallel */
  const tir_stmt *inside; /* what becomes the function's body */
  runtime_map seen;
  RUNTIME_VEC(capture) captures;
  LLVMTypeRef *types;  /* of the body's parameters: captures, begin, end */
  LLVMTypeRef closure; /* {captures..., begin, end, i32 failed} */
  LLVMTypeRef body_type;
  LLVMValueRef body, trampoline;
  tir_interval range, extent;
  bool is_variant; /* it gets nothing that lives in the function around: the call of it may be a jump */
} outline;

/* Captures, and begin and end of a loop. */
static int n_params(const outline *o) { return o->captures.n + (o->loop != NULL ? 2 : 0); }

/* ---- finding captures -------------------------------------------------------------------------------------------- */

/* In the order of first use, each once. */
static void add_capture(outline *o, const void *what, const tir_buffer *buffer) {
  const codegen_binding *binding = codegen_find(o->m, what);
  if (binding == NULL || runtime_map_get(&o->seen, what) != NULL) return;
  capture c = {what, buffer, *binding};
  if (!runtime_map_put(&o->seen, what, o) || !RUNTIME_PUSH(&o->captures, c)) {
    codegen_no_memory(o->m);
  }
}

/* Variables of loops inside are not bound here and fall out. */
static tir_walk capture_expr(void *user, const tir_expr *e) {
  if (e->op == TIR_VAR) add_capture(user, e->u.var, NULL);
  if (e->op == TIR_LOAD) add_capture(user, e->u.buffer, e->u.buffer);
  return TIR_WALK_ON;
}

/* What is known of the symbol inside says how long the arrays are, also where nothing counts with it: it is handed on as it is. */
static void capture_symbol(outline *o) {
  const tir_func *f = o->m->func;
  for (int i = 0; i < f->n_scalars; i++)
    if (f->scalars[i].is_symbol) add_capture(o, f->scalars[i].var, NULL);
}

/* The buffers that a statement names beyond those that expressions load. They go through the closure to the body's
 * function. */
static tir_walk capture_stmt(void *user, const tir_stmt *s) {
  if (s->kind == TIR_STORE) add_capture(user, s->u.store.buffer, s->u.store.buffer);
  if (s->kind == TIR_ALLOC && s->u.alloc.buffer->size[0] != NULL)
    tir_walk_expr(s->u.alloc.buffer->size[0], capture_expr, user);
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (o->access != TIR_BY_VALUE) add_capture(user, o->buffer, o->buffer);
  }
  if (s->kind == TIR_PREFETCH) add_capture(user, s->u.prefetch.buffer, s->u.prefetch.buffer);
  if (s->kind == TIR_ATTR && strcmp(s->u.attr.key, TIR_SYMBOL_LEAST) == 0) capture_symbol(user);
  return TIR_WALK_ON;
}

/* Which parameter of the function around VALUE is; behind all of them: none. */
static unsigned place_of(const outline *o, LLVMValueRef value) {
  unsigned n = LLVMCountParams(o->m->frame->function), i = 0;
  while (i < n && LLVMGetParam(o->m->frame->function, i) != value) i++;
  return i;
}

/* Parameters keep their places: a call that hands all of them on moves none. */
static void sort_captures(outline *o) {
  capture *c = o->captures.data;
  for (int i = 1; i < o->captures.n; i++)
    for (int k = i; k > 0 && place_of(o, c[k].outer.value) < place_of(o, c[k - 1].outer.value); k--) {
      capture kept = c[k];
      c[k] = c[k - 1];
      c[k - 1] = kept;
    }
}

/* Also makes the types of closure and body from what was found. False: no memory, which is noted. */
static bool find_captures(outline *o) {
  tir_visitor visitor = {capture_stmt, capture_expr, o};
  tir_walk_stmt(o->inside, &visitor);
  runtime_map_free(&o->seen);
  if (o->loop == NULL) sort_captures(o);
  o->types = RUNTIME_NEW_ARRAY(&o->m->arena, LLVMTypeRef, o->captures.n + 3);
  if (o->types == NULL) return codegen_no_memory(o->m), false;
  for (int i = 0; i < o->captures.n; i++) o->types[i] = LLVMTypeOf(o->captures.data[i].outer.value);
  o->types[o->captures.n] = o->types[o->captures.n + 1] = o->m->index;
  o->types[o->captures.n + 2] = o->m->i32;
  o->body_type = LLVMFunctionType(o->m->i32, o->types, (unsigned)n_params(o), false);
  o->closure = LLVMStructTypeInContext(o->m->llvm, o->types, (unsigned)n_params(o) + 1, false);
  return true;
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

/* In the body a capture is a parameter, with the range or alignment it has outside. */
static void bind_captures(outline *o) {
  for (int i = 0; i < o->captures.n; i++) {
    const capture *c = &o->captures.data[i];
    codegen_binding *binding = codegen_bind(o->m, c->what, LLVMGetParam(o->body, (unsigned)i));
    if (binding == NULL) return;
    binding->range = c->outer.range;
    binding->align = c->outer.align;
    if (c->buffer != NULL) codegen_pointer_attributes(o->m, o->body, i, c->buffer, c->outer.align);
  }
}

/* Whether other threads than this one may run the body. */
static bool is_shared(const outline *o) { return o->m->target->threads > 1 && o->extent.hi > 1; }

/* As many as libgomp really started. */
static LLVMValueRef threads_of_team(codegen_emitter *m) {
  LLVMValueRef threads = codegen_call_extern(m, "omp_get_num_threads", m->i32, 0, NULL, NULL);
  return LLVMBuildZExt(m->builder, threads, m->index, "threads");
}

/* From an iteration to this thread's next: over those of the others in a strided loop. NULL: 1. */
static LLVMValueRef step_of(outline *o) {
  if (!o->loop->u.loop.strided || !is_shared(o)) return NULL;
  return o->m->stays_home ? codegen_index_int(o->m, o->m->target->threads) : threads_of_team(o->m);
}

/* The function of the body, with a frame of its own: scratch is made once a call. */
static void begin_body(outline *o, const char *format, int number, codegen_frame *frame) {
  codegen_emitter *m = o->m;
  char name[256];
  snprintf(name, sizeof name, format, m->func->name, number);
  o->body = frame->function = codegen_add_function(m, name, o->body_type, LLVMInternalLinkage);
  codegen_add_attribute(m, o->body, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  frame->entry = LLVMGetInsertBlock(m->builder);
  m->frame = frame;
  codegen_forget(m);
  bind_captures(o);
  codegen_stages_begin(m);
  codegen_emit_scratch(m, o->inside);
}

/* Goes back to the frame around. */
static void end_body(codegen_emitter *m, codegen_frame *frame, codegen_frame *outer) {
  LLVMValueRef zero = LLVMConstInt(m->i32, 0, false);
  codegen_emit_return(m, frame->failed != NULL ? LLVMBuildLoad2(m->builder, m->i32, frame->failed, "failed") : zero);
  runtime_map_free(&frame->bindings);
  RUNTIME_VEC_FREE(&frame->heap);
  m->frame = outer;
  codegen_forget(m);
}

static void fill_body(outline *o, int number) {
  codegen_emitter *m = o->m;
  codegen_frame frame = {.is_parallel = true}, *outer = m->frame;
  begin_body(o, "%s.body.%d", number, &frame);
  LLVMValueRef begin = LLVMGetParam(o->body, (unsigned)o->captures.n);
  LLVMValueRef end = LLVMGetParam(o->body, (unsigned)o->captures.n + 1);
  codegen_emit_do_while(m, o->loop, begin, end, step_of(o), o->range, 1); /* a share is never empty */
  codegen_end_streaming(m);
  end_body(m, &frame, outer);
}

/* ---- the trampoline ---------------------------------------------------------------------------------------------- */

/* INDEX counts captures, begin, end, failed. */
static LLVMValueRef field(outline *o, LLVMValueRef closure, int index) {
  return LLVMBuildStructGEP2(o->m->builder, o->closure, closure, (unsigned)index, "");
}

/* In the body's function: gets what the caller put into the closure. */
static LLVMValueRef load_field(outline *o, LLVMValueRef closure, int index) {
  return LLVMBuildLoad2(o->m->builder, o->types[index], field(o, closure, index), "");
}

/* Signed. */
static LLVMValueRef smaller(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(m->builder, LLVMBuildICmp(m->builder, LLVMIntSLT, a, b, ""), a, b, "");
}

/* Replaces begin and end, the last two of ARGS, by the share of this thread: shares differ by one iteration at most. A
 * strided loop begins at the thread's number instead. */
static void take_share(codegen_emitter *m, bool strided, LLVMValueRef *begin, LLVMValueRef *end) {
  LLVMValueRef thread = codegen_call_extern(m, "omp_get_thread_num", m->i32, 0, NULL, NULL);
  thread = LLVMBuildZExt(m->builder, thread, m->index, "thread");
  if (strided) {
    *begin = LLVMBuildNSWAdd(m->builder, *begin, thread, "begin");
    return;
  }
  LLVMValueRef threads = threads_of_team(m);
  LLVMValueRef total = LLVMBuildNSWSub(m->builder, *end, *begin, "");
  LLVMValueRef each = LLVMBuildUDiv(m->builder, total, threads, ""),
               rest = LLVMBuildURem(m->builder, total, threads, "");
  LLVMValueRef skipped = LLVMBuildNSWMul(m->builder, each, thread, "");
  skipped = LLVMBuildNSWAdd(m->builder, skipped, smaller(m, thread, rest), "");
  LLVMValueRef one_more = LLVMBuildICmp(m->builder, LLVMIntSLT, thread, rest, "");
  LLVMValueRef count = LLVMBuildNSWAdd(m->builder, each, LLVMBuildZExt(m->builder, one_more, m->index, ""), "");
  *begin = LLVMBuildNSWAdd(m->builder, *begin, skipped, "begin");
  *end = LLVMBuildNSWAdd(m->builder, *begin, count, "end");
}

/* Calls the body for ARGS and collects whether it failed. */
static void run_body(outline *o, LLVMValueRef closure, LLVMValueRef *args) {
  codegen_emitter *m = o->m;
  int n = n_params(o);
  LLVMValueRef failed = LLVMBuildCall2(m->builder, o->body_type, o->body, args, (unsigned)n, "");
  LLVMBuildAtomicRMW(m->builder, LLVMAtomicRMWBinOpOr, field(o, closure, n), failed, LLVMAtomicOrderingMonotonic,
                     false);
}

/* Unless this thread has nothing to do: more threads than iterations are possible when libgomp has fewer or more than
 * it was asked for. */
static void run_share(outline *o, LLVMValueRef closure, LLVMValueRef *args) {
  codegen_emitter *m = o->m;
  int n = n_params(o);
  take_share(m, o->loop->u.loop.strided, &args[n - 2], &args[n - 1]);
  LLVMBasicBlockRef after = codegen_begin_if(m, LLVMBuildICmp(m->builder, LLVMIntSLT, args[n - 2], args[n - 1], ""));
  run_body(o, closure, args);
  codegen_end_if(m, after);
}

/* A strided loop on our own threads: the ranges that they hand out are of places to begin at, each of which has an
 * iteration (call_pool). */
static void run_places(outline *o, LLVMValueRef closure, LLVMValueRef *args) {
  codegen_emitter *m = o->m;
  int n = n_params(o);
  LLVMValueRef begin = args[n - 2], first = LLVMGetParam(o->trampoline, 1), last = LLVMGetParam(o->trampoline, 2);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), loop = codegen_new_block(m, "place"),
                    after = codegen_new_block(m, "after");
  LLVMBuildBr(m->builder, loop);
  LLVMPositionBuilderAtEnd(m->builder, loop);
  LLVMValueRef place = LLVMBuildPhi(m->builder, m->index, "place");
  args[n - 2] = LLVMBuildNSWAdd(m->builder, begin, place, "");
  run_body(o, closure, args);
  LLVMValueRef next = LLVMBuildNSWAdd(m->builder, place, codegen_index_int(m, 1), "");
  LLVMAddIncoming(place, (LLVMValueRef[]){first, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
  LLVMBuildCondBr(m->builder, LLVMBuildICmp(m->builder, LLVMIntSLT, next, last, ""), loop, after);
  LLVMPositionBuilderAtEnd(m->builder, after);
}

/* The pool hands out ranges; any number of them a thread. */
static void run_range(outline *o, LLVMValueRef closure, LLVMValueRef *args) {
  int n = n_params(o);
  for (int i = 0; i < 2; i++) args[n - 2 + i] = LLVMGetParam(o->trampoline, (unsigned)i + 1);
  run_body(o, closure, args);
}

/* void (closure) for libgomp, void (closure, begin, end) for our own threads. */
static void begin_trampoline(outline *o, int number, codegen_frame *frame) {
  codegen_emitter *m = o->m;
  char name[256];
  snprintf(name, sizeof name, "%s.parallel.%d", m->func->name, number);
  LLVMTypeRef types[] = {m->ptr, m->index, m->index};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->llvm), types, m->stays_home ? 3 : 1, false);
  o->trampoline = frame->function = codegen_add_function(m, name, type, LLVMInternalLinkage);
}

/* The builder is put back by the caller. */
static void fill_trampoline(outline *o, int number) {
  codegen_emitter *m = o->m;
  codegen_frame frame = {0}, *outer = m->frame;
  int n = n_params(o);
  LLVMValueRef *args = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, n);
  if (args == NULL) {
    codegen_no_memory(m);
    return;
  }
  begin_trampoline(o, number, &frame);
  m->frame = &frame;
  LLVMValueRef closure = LLVMGetParam(o->trampoline, 0);
  for (int i = 0; i < n; i++) args[i] = load_field(o, closure, i);
  if (!m->stays_home)
    run_share(o, closure, args);
  else if (o->loop->u.loop.strided)
    run_places(o, closure, args);
  else
    run_range(o, closure, args);
  LLVMBuildRetVoid(m->builder);
  m->frame = outer;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* An alloca in the function's entry block, before whatever stands there. */
static LLVMValueRef entry_alloca(codegen_emitter *m, LLVMTypeRef type, const char *name) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder);
  LLVMValueRef first = LLVMGetFirstInstruction(m->frame->entry);
  if (first != NULL)
    LLVMPositionBuilderBefore(m->builder, first);
  else
    LLVMPositionBuilderAtEnd(m->builder, m->frame->entry);
  LLVMValueRef memory = LLVMBuildAlloca(m->builder, type, name);
  LLVMPositionBuilderAtEnd(m->builder, here);
  return memory;
}

/* Where failures of all parallel loops of the kernel are collected; 0 from its entry on. */
static LLVMValueRef failure_flag(codegen_emitter *m) {
  if (m->frame->failed != NULL) return m->frame->failed;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder);
  m->frame->failed = entry_alloca(m, m->i32, "failed");
  LLVMValueRef next = LLVMGetNextInstruction(m->frame->failed);
  if (next != NULL) LLVMPositionBuilderBefore(m->builder, next);
  LLVMBuildStore(m->builder, LLVMConstInt(m->i32, 0, false), m->frame->failed);
  LLVMPositionBuilderAtEnd(m->builder, here);
  return m->frame->failed;
}

/* The kernel goes on with what follows and returns 1 at its end. */
static void note_failure(codegen_emitter *m, LLVMValueRef failed) {
  LLVMValueRef flag = failure_flag(m), old = LLVMBuildLoad2(m->builder, m->i32, flag, "");
  LLVMBuildStore(m->builder, LLVMBuildOr(m->builder, old, failed, ""), flag);
}

/* The captures, and what stands behind them in a closure: begin, end, that nothing failed. */
static LLVMValueRef *call_args(outline *o, LLVMValueRef begin, LLVMValueRef end) {
  LLVMValueRef *args = RUNTIME_NEW_ARRAY(&o->m->arena, LLVMValueRef, o->captures.n + 3);
  if (args == NULL) return NULL;
  for (int i = 0; i < o->captures.n; i++) args[i] = o->captures.data[i].outer.value;
  args[o->captures.n] = begin;
  args[o->captures.n + 1] = end;
  args[o->captures.n + 2] = LLVMConstInt(o->m->i32, 0, false);
  return args;
}

/* No more threads than iterations. */
static LLVMValueRef thread_count(outline *o, LLVMValueRef begin, LLVMValueRef end) {
  LLVMValueRef extent = LLVMBuildNSWSub(o->m->builder, end, begin, "");
  LLVMValueRef most = codegen_index_int(o->m, o->m->target->threads);
  return LLVMBuildTrunc(o->m->builder, smaller(o->m, extent, most), o->m->i32, "");
}

/* libgomp's entry for `parallel`: what gcc and clang emit for it, so that no OpenMP front end is
 * needed. */
static void call_gomp(outline *o, LLVMValueRef closure, LLVMValueRef threads) {
  codegen_emitter *m = o->m;
  LLVMTypeRef types[] = {m->ptr, m->ptr, m->i32, m->i32};
  LLVMValueRef call[] = {o->trampoline, closure, threads, LLVMConstInt(m->i32, 0, false)};
  codegen_call_extern(m, "GOMP_parallel", LLVMVoidTypeInContext(m->llvm), 4, types, call);
}

/* The loader gives both symbols their addresses. A strided loop has as many places to begin at as threads. */
static void call_pool(outline *o, LLVMValueRef closure, LLVMValueRef begin, LLVMValueRef end, LLVMValueRef threads) {
  codegen_emitter *m = o->m;
  LLVMValueRef pool = LLVMGetNamedGlobal(m->module, CODEGEN_POOL_SYMBOL);
  if (pool == NULL) pool = LLVMAddGlobal(m->module, m->i8, CODEGEN_POOL_SYMBOL);
  if (o->loop->u.loop.strided) {
    begin = codegen_index_int(m, 0);
    end = LLVMBuildZExt(m->builder, threads, m->index, "places");
  }
  LLVMTypeRef types[] = {m->ptr, m->ptr, m->ptr, m->index, m->index, m->i32};
  LLVMValueRef call[] = {pool, o->trampoline, closure, begin, end, threads};
  note_failure(m, codegen_call_extern(m, CODEGEN_RUN_SYMBOL, m->i32, 6, types, call));
}

/* The closure lives in this frame: the call returns when all threads are done. */
static void call_threads(outline *o, LLVMValueRef *args, LLVMValueRef begin, LLVMValueRef end) {
  codegen_emitter *m = o->m;
  LLVMValueRef closure = entry_alloca(m, o->closure, "closure"), threads = thread_count(o, begin, end);
  for (int i = 0; i <= n_params(o); i++) LLVMBuildStore(m->builder, args[i], field(o, closure, i));
  if (m->stays_home)
    call_pool(o, closure, begin, end, threads);
  else
    call_gomp(o, closure, threads);
  note_failure(m, load_field(o, closure, n_params(o)));
}

/* With one thread, nobody else is needed. */
static void emit_call(outline *o, LLVMValueRef begin, LLVMValueRef end) {
  codegen_emitter *m = o->m;
  LLVMValueRef *args = call_args(o, begin, end);
  if (args == NULL) {
    codegen_no_memory(m);
    return;
  }
  LLVMValueRef paused = codegen_stages_pause(m);
  if (o->trampoline == NULL) {
    LLVMValueRef call = LLVMBuildCall2(m->builder, o->body_type, o->body, args, (unsigned)n_params(o), "");
    if (o->is_variant) LLVMSetTailCallKind(call, LLVMTailCallKindTail);
    note_failure(m, call);
  } else {
    call_threads(o, args, begin, end);
  }
  codegen_stages_resume(m, paused);
}

/* Body first, then the trampoline, then the call where the loop stood. */
static void emit_outlined(outline *o) {
  codegen_emitter *m = o->m;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder);
  int number = m->n_parallel++;
  fill_body(o, number);
  if (is_shared(o)) fill_trampoline(o, number);
  LLVMPositionBuilderAtEnd(m->builder, here);
  LLVMValueRef begin = codegen_index(m, o->loop->u.loop.min);
  LLVMValueRef end = LLVMBuildNSWAdd(m->builder, begin, codegen_index(m, o->loop->u.loop.extent), "");
  LLVMBasicBlockRef after = NULL;
  if (o->extent.lo < 1) after = codegen_begin_if(m, LLVMBuildICmp(m->builder, LLVMIntSLT, begin, end, ""));
  emit_call(o, begin, end);
  if (after != NULL) codegen_end_if(m, after);
}

/* A loop that surely has no iteration is left out. */
void codegen_emit_parallel(codegen_emitter *m, const tir_stmt *s) {
  outline o = {.m = m, .loop = s, .inside = s->u.loop.body};
  o.range = codegen_loop_range(m, s, &o.extent);
  if (o.extent.hi > 0 && find_captures(&o) && !m->failed) emit_outlined(&o);
  RUNTIME_VEC_FREE(&o.captures);
}

enum { MANY_NESTS = 12 };

/* One after the other, not inside of each other. */
static int count_nests(const tir_stmt *s) {
  int n = 0;
  if (s->kind == TIR_ALLOC) return count_nests(s->u.alloc.body);
  if (s->kind == TIR_ATTR) return count_nests(s->u.attr.body);
  for (int i = 0; s->kind == TIR_SEQ && i < s->u.seq.n; i++) n += count_nests(s->u.seq.stmts[i]);
  return s->kind == TIR_FOR ? 1 : n;
}

bool codegen_has_parts(const tir_stmt *body) { return count_nests(body) >= MANY_NESTS; }

/* What a nest or a few have in registers. */
static bool is_tile(const tir_buffer *buffer) {
  return buffer->size[0] == NULL && buffer->scope != NULL && strcmp(buffer->scope, "local") == 0;
}

bool codegen_is_apart(const codegen_emitter *m, const tir_stmt *s) {
  if (s->kind == TIR_ATTR) return !m->frame->is_parallel && strcmp(s->u.attr.key, TIR_VARIANT) == 0;
  if (!m->frame->has_parts) return false;
  if (s->kind == TIR_ALLOC) return is_tile(s->u.alloc.buffer) && !codegen_has_parts(s->u.alloc.body);
  return s->kind == TIR_FOR && s->u.loop.kind != TIR_PARALLEL;
}

/* Loops, scratch and stack are the function's, so that a call pays for the one variant that it runs, and each nest has room for its
 * tiles. Its parameters are a parallel body's; begin and end say nothing. */
static void emit_apart(outline *o) {
  codegen_emitter *m = o->m;
  if ((o->body = runtime_map_get(&m->apart, o->inside)) != NULL) {
    emit_call(o, codegen_index_int(m, 0), codegen_index_int(m, 1));
    return;
  }
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder);
  codegen_frame frame = {.has_parts = o->is_variant && codegen_has_parts(o->inside)}, *outer = m->frame;
  begin_body(o, o->is_variant ? "%s.variant.%d" : "%s.part.%d", m->n_parallel++, &frame);
  codegen_emit_stmt(m, o->inside);
  end_body(m, &frame, outer);
  LLVMPositionBuilderAtEnd(m->builder, here);
  if (!runtime_map_put(&m->apart, o->inside, o->body)) codegen_no_memory(m);
  emit_call(o, codegen_index_int(m, 0), codegen_index_int(m, 1));
}

void codegen_emit_apart(codegen_emitter *m, const tir_stmt *s) {
  bool is_variant = s->kind == TIR_ATTR;
  outline o = {.m = m, .inside = is_variant ? s->u.attr.body : s, .is_variant = is_variant};
  if (find_captures(&o) && !m->failed) emit_apart(&o);
  RUNTIME_VEC_FREE(&o.captures);
}
