/* internal.h: what the files of codegen/ share: the target's data, the state that hangs on a context, the stations from
 * a loop IR function to bytes. */
#ifndef TENON_CODEGEN_INTERNAL_H
#define TENON_CODEGEN_INTERNAL_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "codegen/compile.h"

/* ---- what LLVM knows (target_table.c) ---------------------------------------------------------------------------- */

enum { CODEGEN_FEATURE_WORDS = 5 };

/* A processor and the features it implies: bit i stands for features[i] of its architecture. */
typedef struct codegen_cpu {
  const char *name;
  uint64_t features[CODEGEN_FEATURE_WORDS];
} codegen_cpu;

/* From LLVM 19's tables, which its C API does not show (target_table.c is generated). */
typedef struct codegen_arch {
  const char *name; /* the first part of a triple */
  const codegen_cpu *cpus;
  const char *const *features; /* both ended by NULL */
} codegen_arch;

extern const codegen_arch codegen_arches[]; /* ended by a NULL name */

/* ---- targets (target.c) ------------------------------------------------------------------------------------------ */

/* In the context's arena, never changed but for its costs. */
struct tn_target {
  tn_context *ctx;
  const codegen_arch *arch;
  const char *triple; /* normalised */
  const char *cpu;
  const char *features; /* as LLVM takes them: differences from the cpu, "+a,-b"; "" when there are none */
  const char *text;     /* canonical */
  int threads, vector_bytes;
  int address_bits;               /* of pointers, size_t and index arithmetic: 64 or 32 */
  int64_t ram_bytes, flash_bytes; /* what a kernel may take of them (room.c); 0: not told */
  bool has_avx2, has_vectors;
  bool shuffles_bytes;              /* over whole registers of 64 bytes */
  int dot_i8_lanes, dot_bf16_lanes; /* i32 or f32 of the widest instruction for dot products (tir/ir.h); 0: none */
  int bf16_lanes; /* f32 that become bf16 by one instruction, beside one that finds subnormal numbers; 0: none */
  int pair_lanes; /* i32 of the widest instruction that adds products of two 16-bit halves; 0: none */
  bool is_own;    /* this machine's architecture and system */
  int64_t cache_bytes[4]; /* by level, [0] unused */
  int cache_ways[4];
  tn_machine_costs costs; /* zeros: nobody measured */
  const char *costs_text; /* "costs=..."; "" without */
  LLVMTargetRef llvm;
};

/* The triple, processor and feature list of this machine; each to be released with LLVMDisposeMessage. */
typedef struct codegen_host {
  char *triple, *cpu, *features;
} codegen_host;
codegen_host codegen_host_detect(void);
bool codegen_host_is_known(const codegen_host *host); /* false: there was no memory for what it is */
void codegen_host_free(codegen_host *host);
/* Data cache sizes of this machine by level, or usual sizes where the system does not say. */
void codegen_host_caches(int64_t bytes[4]);
void codegen_usual_caches(int64_t bytes[4]);
/* Ways of the first two levels; zeros where the system does not say. */
void codegen_host_ways(int ways[4]);
/* What the word costs= of a target says. Zeros: nobody did. */
typedef struct codegen_costs {
  tn_machine_costs ns;
  double cache[4], ways[4]; /* of the data caches by level; [0] is unused */
} codegen_costs;
/* "costs=fma16:0.125,..." in the context's memory; NULL: no memory. */
const char *codegen_costs_text(tn_context *ctx, const codegen_costs *costs);
/* VALUE: what stands behind "costs="; WHOLE: the target, for messages. False with a message. */
bool codegen_costs_read(tn_context *ctx, const char *value, const char *whole, codegen_costs *out);

enum { CODEGEN_MAX_CALLEES = 64 }; /* functions that one kernel calls */

/* ---- state on a context (session.c) ------------------------------------------------------------------------------ */

/* Made on demand, freed with its context: target machines (making one costs milliseconds), the JIT. */
typedef struct codegen_session codegen_session;
typedef struct codegen_jit codegen_jit;

codegen_session *codegen_session_of(tn_context *ctx); /* NULL with a message */
/* Made at the first use of a target's text. NULL with a message. */
LLVMTargetMachineRef codegen_machine(codegen_session *session, const tn_target *target);
/* Forgets a target machine without disposing of it: after a fatal error in LLVM. */
void codegen_session_abandon(codegen_session *session, LLVMTargetMachineRef machine);
/* Whether the machine has made code already, to be set by who made it do so; NULL: it is none of the session's. */
bool *codegen_session_tried(codegen_session *session, LLVMTargetMachineRef machine);
codegen_jit **codegen_session_jit(codegen_session *session);
/* All kernels must be gone: they are freed before the context's slots. */
void codegen_jit_free(codegen_jit *jit);
/* Loads an object that stays until the context goes, and finds N of its functions. False with a message. */
bool codegen_load_functions(tn_context *ctx, const void *object, size_t n_bytes, int n, const char *const *names,
                            void (**out)(void));
/* Registers LLVM's targets once in the process. */
void codegen_init_llvm(void);
/* The target, or the native one when NULL; NULL with a message. */
const tn_target *codegen_target_or_native(tn_context *ctx, const tn_target *target);

/* ---- stations ---------------------------------------------------------------------------------------------------- */

/* Stack that LLVM gets at least: a host's thread may have less. */
enum { CODEGEN_STACK_BYTES = 1 << 20 };

/* Emits FUNC into MODULE (emit.c). STAYS_HOME: for codegen_load, which gives addresses to the symbols below.
 * Fails with a message in ctx. */
tn_status codegen_emit_module(tn_context *ctx, const tir_func *func, const tn_target *target, bool stays_home,
                              LLVMModuleRef module);
/* runtime_pool_run, and the pool of the context that a kernel is loaded into: names that no C program has. */
#define CODEGEN_RUN_SYMBOL "tenon.run"
#define CODEGEN_POOL_SYMBOL "tenon.pool"
/* runtime_scratch_take and _give, and what the context keeps. */
#define CODEGEN_TAKE_SYMBOL "tenon.take"
#define CODEGEN_GIVE_SYMBOL "tenon.give"
#define CODEGEN_SCRATCH_SYMBOL "tenon.scratch"

/* How many stages of FUNC tell their time, as far as the last that does: a part of a program has not all
 * (emit_stage.c). */
int codegen_told_stages(const tir_func *func);
/* Gives a kernel its stages: the times of the first N_TOLD, work counters if COUNTS (stages.c). */
tn_status codegen_add_stages(tn_kernel *kernel, const tn_schedule *schedule, schedule_part part,
                             const tn_target *target, int n_told, bool counts);

/* Whether NAME can name a kernel (names.c): an identifier that has no other meaning in C, C++ or their headers, and
 * that the C library does not define. Fails with a message. */
#define CODEGEN_MAX_NAME 200
tn_status codegen_check_name(tn_context *ctx, const char *name);
/* Whether NAME has a meaning of its own in C, C++ or the headers that every file includes. */
bool codegen_is_word_of_c(const char *name);
/* NAME as C takes it: "A.local" is A_local; what does not begin with a letter, or is reserved, gets "v_" before it.
 * NULL without memory, unless the arena jumps. */
const char *codegen_plain_name(runtime_arena *arena, const char *name, bool is_reserved);
/* Whether what FUNC works on, arguments and scratch, fits the target's RAM; and whether a built object's code and
 * constants fit its flash (room.c). TN_OK where the target does not say what it has; TN_ERROR_CODEGEN names what is too
 * large. */
tn_status codegen_check_ram(tn_context *ctx, const tir_func *func, const tn_target *target);
tn_status codegen_check_flash(tn_context *ctx, const tir_func *func, const tn_target *target,
                              const codegen_bytes *object);
/* Of scratch buffers, in bytes; there is no cache line to keep where there are no vectors. */
int codegen_scratch_align(const tn_target *target);
/* All scratch of FUNC, on the stack or not, for one thread (emit_scratch.c). */
int64_t codegen_all_scratch_bytes(const tir_func *func, const tn_target *target);
/* FUNC as C source (c_source.c), NUL-terminated. */
tn_status codegen_c_source(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_bytes *out);

/* After LLVM's passes: choices between integers by a comparison of the same bits as floats become choices between floats, which
 * instruction selection knows a maximum in (extremes.c). */
void codegen_choose_floats(LLVMModuleRef module);

#endif
