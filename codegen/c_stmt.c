/* c_stmt.c: statements in C: loops, branches, parallel loops with OpenMP, scratch memory. */
#include "codegen/c_emit.h"

enum { MAX_NESTING = 1000, STACK_LIMIT = 16 << 10 };

/* Statements hold statements. */
static void emit(codegen_c_emitter *m, const tir_stmt *s);

/* The line with the brace is written by the caller. */
static void begin_block(codegen_c_emitter *m) { m->indent++; }

/* Writes the closing brace of begin_block. */
static void end_block(codegen_c_emitter *m) {
  m->indent--;
  codegen_c_line(m, "}");
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The loop's variable, its range, and the bounds as text, evaluated where the loop begins. */
typedef struct loop {
  tir_env env;
  const char *name, *begin, *end;
  tir_interval extent;
} loop;

/* Bounds are values outside: written before the variable is bound. */
static loop open_loop(codegen_c_emitter *m, const tir_stmt *s) {
  const tir_expr *min = s->u.loop.min, *extent = s->u.loop.extent;
  loop l = {.extent = tir_bounds(m->env, extent)};
  tir_interval first = tir_bounds(m->env, min), range = {INT64_MIN, INT64_MAX};
  if (first.lo != INT64_MIN && l.extent.hi > 0 && l.extent.hi != INT64_MAX) {
    range = (tir_interval){first.lo, first.hi + l.extent.hi - 1};
  }
  const tir_expr *end = tir_binary(&m->arena, TIR_ADD, min, extent);
  l.begin = codegen_c_value(m, min).text;
  l.end = codegen_c_value(m, end).text;
  l.name = codegen_c_bind(m, s->u.loop.var, s->u.loop.var->name);
  l.env = (tir_env){m->env, s->u.loop.var, range, NULL};
  return l;
}

/* What the loop's environment binds is known inside its braces only. */
static void emit_body(codegen_c_emitter *m, const tir_stmt *s, loop *l) {
  begin_block(m);
  m->env = &l->env;
  emit(m, s->u.loop.body);
  m->env = l->env.outer;
  end_block(m);
  codegen_c_unbind(m, s->u.loop.var);
}

/* A hint to unroll is gcc's and clang's. */
static void emit_for(codegen_c_emitter *m, const tir_stmt *s, loop *l) {
  int64_t extent;
  if (m->hints_unroll && s->u.loop.kind == TIR_UNROLLED && tir_is_int(s->u.loop.extent, &extent))
    codegen_c_line(m, "#pragma GCC unroll %lld", (long long)RUNTIME_MIN(extent, 65534));
  codegen_c_line(m, "for (%s %s = %s; %s < %s; %s++) {", codegen_c_index_type(m), l->name, l->begin, l->name, l->end,
                 l->name);
  emit_body(m, s, l);
}

/* One iteration is a block with a constant. */
static void emit_serial(codegen_c_emitter *m, const tir_stmt *s) {
  loop l = open_loop(m, s);
  if (l.extent.lo == 1 && l.extent.hi == 1) {
    codegen_c_line(m, "{");
    m->indent++;
    codegen_c_line(m, "const %s %s = %s;", codegen_c_index_type(m), l.name, l.begin);
    codegen_c_line(m, "(void)%s;", l.name);
    m->indent--;
    emit_body(m, s, &l);
  } else {
    emit_for(m, s, &l);
  }
}

/* ---- parallel loops ---------------------------------------------------------------------------------------------- */

/* Whether a loop is shared out to threads: not inside another one. */
static bool is_shared(const codegen_c_emitter *m, const tir_stmt *s) {
  bool is_parallel = s->kind == TIR_FOR && s->u.loop.kind == TIR_PARALLEL;
  return is_parallel && !m->is_parallel && m->target->threads > 1;
}

/* Guarded, so that a compilation without OpenMP is serial and warns of nothing. */
static void add_pragma(codegen_c_emitter *m, const char *text) {
  codegen_c_line(m, "#ifdef _OPENMP");
  codegen_c_line(m, "#pragma omp %s", text);
  codegen_c_line(m, "#endif");
}

/* The body has a frame of its own: each thread its scratch. */
static void emit_parallel(codegen_c_emitter *m, const tir_stmt *s) {
  m->is_parallel = true;
  codegen_c_frame(m, s->u.loop.body, s);
  m->is_parallel = false;
}

/* A parallel loop in a parallel one is serial. */
static void emit_loop(codegen_c_emitter *m, const tir_stmt *s) {
  codegen_c_count_uses(m, s->u.loop.min);
  codegen_c_count_uses(m, s->u.loop.extent);
  if (is_shared(m, s))
    emit_parallel(m, s);
  else
    emit_serial(m, s);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* Its size is known at a call only, and never on the stack. */
static bool is_symbolic(const tir_buffer *buffer) { return buffer->ndim == 1 && buffer->size[0] != NULL; }

/* Rounded up, so that buffers that follow each other stay aligned. 0 after a message. */
static int64_t scratch_bytes(codegen_c_emitter *m, const tir_buffer *buffer) {
  int64_t bytes = (int64_t)tn_dtype_bytes(buffer->dtype);
  for (int i = 0; i < buffer->ndim; i++) {
    if (!__builtin_mul_overflow(bytes, buffer->shape[i], &bytes) && bytes < INT64_MAX / 2) continue;
    codegen_c_fail(m, TN_ERROR_CODEGEN, "the scratch buffer %s is larger than memory can be", buffer->name);
    return 0;
  }
  int align = codegen_scratch_align(m->target);
  return (bytes + align - 1) / align * align;
}

/* What the kernel, or each thread of a parallel loop, allocates at its beginning: buffers that are too large for the
 * stack. Small ones are only counted, to be declared where they are needed. */
typedef struct heap_buffer {
  const tir_buffer *buffer;
  const struct heap_buffer *next;
} heap_buffer;

/* The scratch of a kernel or of a thread's part of a loop. */
typedef struct frame {
  codegen_c_emitter *m;
  const heap_buffer *heap; /* the last one first */
  int64_t stack_bytes;
} frame;

/* Not inside of parallel loops, which have frames of their own. A buffer on several paths is made once. */
static tir_walk find_heap(void *user, const tir_stmt *s) {
  frame *f = user;
  if (is_shared(f->m, s)) return TIR_WALK_PRUNE;
  if (s->kind != TIR_ALLOC) return TIR_WALK_ON;
  for (const heap_buffer *at = f->heap; at != NULL; at = at->next) {
    if (at->buffer == s->u.alloc.buffer) return TIR_WALK_ON;
  }
  bool on_heap = is_symbolic(s->u.alloc.buffer);
  int64_t bytes = on_heap ? 0 : scratch_bytes(f->m, s->u.alloc.buffer);
  if (!on_heap && f->stack_bytes + bytes <= STACK_LIMIT) {
    f->stack_bytes += bytes;
    return TIR_WALK_ON;
  }
  heap_buffer *one = RUNTIME_NEW(&f->m->arena, heap_buffer);
  *one = (heap_buffer){s->u.alloc.buffer, f->heap};
  f->heap = one;
  return TIR_WALK_ON;
}

/* What a buffer takes, in bytes. */
static const char *bytes_text(codegen_c_emitter *m, const tir_buffer *buffer) {
  if (!is_symbolic(buffer)) return runtime_format(&m->arena, "%lld", (long long)scratch_bytes(m, buffer));
  int align = codegen_scratch_align(m->target);
  codegen_c_count_uses(m, buffer->size[0]);
  codegen_c_text n = codegen_c_value(m, buffer->size[0]);
  return runtime_format(&m->arena, "(size_t)(%s * %d + %d) / %d * %d", codegen_c_wrap(m, n, CODEGEN_C_PRODUCT),
                        (int)tn_dtype_bytes(buffer->dtype), align - 1, align, align);
}

/* "T == NULL || U == NULL" */
static const char *allocate(codegen_c_emitter *m, const frame *f) {
  const char *test = "";
  for (const heap_buffer *at = f->heap; at != NULL; at = at->next) {
    const tir_buffer *buffer = at->buffer;
    const char *type = codegen_c_type(buffer->dtype), *name = codegen_c_bind(m, buffer, buffer->name);
    codegen_c_line(m, "%s *restrict %s = aligned_alloc(%d, %s);", type, name, codegen_scratch_align(m->target),
                   bytes_text(m, buffer));
    test = runtime_format(&m->arena, "%s%s%s == NULL", test, *test ? " || " : "", name);
  }
  return test;
}

/* Names end with the frame. */
static void forget_heap(codegen_c_emitter *m, const frame *f) {
  for (const heap_buffer *at = f->heap; at != NULL; at = at->next) codegen_c_forget_name(m, at->buffer);
}

/* free(NULL) is allowed. */
static void release(codegen_c_emitter *m, const frame *f) {
  for (const heap_buffer *at = f->heap; at != NULL; at = at->next) {
    codegen_c_line(m, "free(%s);", codegen_c_name(m, at->buffer));
  }
}

/* Where it is used, so that loops inside of which it stands have it anew. */
static void declare_array(codegen_c_emitter *m, const tir_buffer *buffer, const tir_stmt *body) {
  int64_t n = 1;
  m->has_arrays = true;
  for (int i = 0; i < buffer->ndim; i++) n *= buffer->shape[i];
  codegen_c_line(m, "_Alignas(%d) %s %s[%lld];", codegen_scratch_align(m->target), codegen_c_type(buffer->dtype),
                 codegen_c_bind(m, buffer, buffer->name), (long long)n);
  if (!tir_stmt_loads(body, buffer)) codegen_c_line(m, "(void)%s;", codegen_c_name(m, buffer)); /* nothing loads it */
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* The body is written apart: only then is it known whether something in it can fail. */
static void emit_apart(codegen_c_emitter *m, const tir_stmt *body) {
  m->head = m->out;
  m->out = (runtime_str){0};
  emit(m, body);
  runtime_str text = m->out;
  m->out = m->head;
  m->head = (runtime_str){0};
  if (m->can_fail) codegen_c_line(m, "int32_t failed = 0;");
  if (text.data != NULL) runtime_str_addn(&m->out, text.data, text.n);
  m->out.failed |= text.failed;
  runtime_str_free(&text);
}

/* Allocates, tests once, runs, frees. */
static void emit_kernel_body(codegen_c_emitter *m, const tir_stmt *body, const frame *f) {
  const char *test = allocate(m, f);
  if (f->heap != NULL) {
    codegen_c_line(m, "if (%s) {", test);
    begin_block(m);
    release(m, f);
    codegen_c_line(m, "return 1;");
    end_block(m);
  }
  emit_apart(m, body);
  release(m, f);
  codegen_c_line(m, "return %s;", m->can_fail ? "failed" : "0");
}

/* No more than iterations. */
static int thread_count(const codegen_c_emitter *m, const loop *l) {
  int64_t most = RUNTIME_MAX(l->extent.hi, 1);
  return most < m->target->threads ? (int)most : m->target->threads;
}

/* How iterations are shared out: a run of them for each thread, or in turn. */
static const char *share(const tir_stmt *s) { return s->u.loop.strided ? "static, 1" : "static"; }

/* Each thread has its own scratch; a thread without memory skips its iterations. */
static void emit_region(codegen_c_emitter *m, const tir_stmt *s, loop *l, const frame *f) {
  add_pragma(m, runtime_format(&m->arena, "parallel num_threads(%d) reduction(| : failed)", thread_count(m, l)));
  codegen_c_line(m, "{");
  begin_block(m);
  const char *test = allocate(m, f);
  m->can_fail = true;
  codegen_c_line(m, "if (%s) failed = 1;", test);
  add_pragma(m, runtime_format(&m->arena, "for schedule(%s)", share(s)));
  codegen_c_line(m, "for (%s %s = %s; %s < %s; %s++) {", codegen_c_index_type(m), l->name, l->begin, l->name, l->end,
                 l->name);
  m->indent++;
  codegen_c_line(m, "if (failed) continue;");
  m->indent--;
  emit_body(m, s, l);
  release(m, f);
  end_block(m);
}

/* Without scratch on the heap one pragma is enough. */
static void emit_shared_loop(codegen_c_emitter *m, const tir_stmt *s, const frame *f) {
  loop l = open_loop(m, s);
  if (f->heap != NULL) {
    emit_region(m, s, &l, f);
    return;
  }
  add_pragma(m, runtime_format(&m->arena, "parallel for schedule(%s) num_threads(%d)", share(s), thread_count(m, &l)));
  emit_for(m, s, &l);
}

/* PARALLEL NULL: the kernel's own frame. */
void codegen_c_frame(codegen_c_emitter *m, const tir_stmt *body, const tir_stmt *parallel) {
  frame f = {.m = m};
  tir_visitor visitor = {.stmt = find_heap, .user = &f};
  tir_walk_stmt(body, &visitor);
  if (parallel == NULL)
    emit_kernel_body(m, body, &f);
  else
    emit_shared_loop(m, parallel, &f);
  forget_heap(m, &f);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* The condition is evaluated before both bodies. */
static void emit_if(codegen_c_emitter *m, const tir_stmt *s) {
  codegen_c_count_uses(m, s->u.branch.cond);
  codegen_c_line(m, "if (%s) {", codegen_c_value(m, s->u.branch.cond).text);
  begin_block(m);
  emit(m, s->u.branch.then_body);
  m->indent--;
  if (s->u.branch.else_body != NULL) {
    codegen_c_line(m, "} else {");
    begin_block(m);
    emit(m, s->u.branch.else_body);
    m->indent--;
  }
  codegen_c_line(m, "}");
}

static void emit_seq(codegen_c_emitter *m, const tir_stmt *s) {
  for (int i = 0; i < s->u.seq.n; i++) emit(m, s->u.seq.stmts[i]);
}

/* A large buffer was made at the frame's beginning. Peeled loops have the same buffer in several places. */
static void emit_alloc(codegen_c_emitter *m, const tir_stmt *s) {
  bool is_made = codegen_c_name(m, s->u.alloc.buffer) != NULL;
  if (!is_made) declare_array(m, s->u.alloc.buffer, s->u.alloc.body);
  emit(m, s->u.alloc.body);
  if (!is_made) codegen_c_forget_name(m, s->u.alloc.buffer);
}

/* Loops bound to a GPU's threads have none to run on. */
static void emit_attr(codegen_c_emitter *m, const tir_stmt *s) {
  bool hints_unroll = m->hints_unroll;
  if (strcmp(s->u.attr.key, TIR_UNROLL_EXPLICIT) == 0) m->hints_unroll = s->u.attr.value == 0;
  if (strcmp(s->u.attr.key, TIR_STAGE) == 0)
    codegen_c_fail(m, TN_ERROR_CODEGEN, "sample: C source does not say which stage it is in: build an object instead");
  size_t n = strlen(TIR_THREAD_EXTENT);
  if (strncmp(s->u.attr.key, TIR_THREAD_EXTENT, n) == 0)
    codegen_c_fail(
        m, TN_ERROR_CODEGEN,
        "bind: a loop of extent %lld is bound to %s, and CPU targets have no such threads: take parallel, vectorize "
        "or bind to vthread",
        (long long)s->u.attr.value, s->u.attr.key + n);
  emit(m, s->u.attr.body);
  m->hints_unroll = hints_unroll;
}

static void emit_nop(codegen_c_emitter *m, const tir_stmt *s) { (void)m, (void)s; }

/* The depth bounds recursion. After a failure nothing is written. */
static void emit(codegen_c_emitter *m, const tir_stmt *s) {
  static void (*const handlers[])(codegen_c_emitter *, const tir_stmt *) = {[TIR_FOR] = emit_loop,
                                                                            [TIR_STORE] = codegen_c_store,
                                                                            [TIR_IF] = emit_if,
                                                                            [TIR_ALLOC] = emit_alloc,
                                                                            [TIR_SEQ] = emit_seq,
                                                                            [TIR_ATTR] = emit_attr,
                                                                            [TIR_PREFETCH] = codegen_c_prefetch,
                                                                            [TIR_NOP] = emit_nop,
                                                                            [TIR_CALL] = codegen_c_call_stmt};
  if (m->failed) return;
  if (m->depth >= MAX_NESTING) {
    codegen_c_fail(m, TN_ERROR_CODEGEN, "statements are nested deeper than %d", MAX_NESTING);
    return;
  }
  codegen_c_forget(m);
  m->depth++;
  handlers[s->kind](m, s);
  m->depth--;
}
