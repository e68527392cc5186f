/* tenon/codegen.h: from a schedule to code: targets, kernels in memory (LLVM ORC JIT), files that leave home. */
#ifndef TENON_CODEGEN_H
#define TENON_CODEGEN_H

#include "schedule/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- targets ----------------------------------------------------------------------------------------------------- */

/* A machine to compile for. Owned by the context. */
typedef struct tn_target tn_target;

/* SPEC: NULL or "native" for this machine (its CPU name and features as far as the operating system enables them), or
 * words: "triple=x86_64-linux-gnu cpu=znver4 features=+avx2,-avx512f threads=2"; keys not given come from this machine
 * when the triple is its own. Unknown keys, CPUs and features are refused. */
TN_API tn_target *tn_target_new(tn_context *ctx, const char *spec);
/* A further word, "costs=fma16:0.125,...", says what operations take on the machine (tn_machine_costs), so that
 * generic schedules made elsewhere are those that the machine would make. It is no part of tn_target_text, which
 * names records. */
TN_API const char *tn_target_costs(const tn_target *target); /* "" when nobody measured */
/* WORD: "costs=...". TN_ERROR_ARGUMENT: no such costs; the target is as it was. */
TN_API tn_status tn_target_set_costs(tn_target *target, const char *word);
/* Measures this machine in about 0.2 s, best while nothing else runs. The word belongs to the context. NULL with a
 * message. */
TN_API const char *tn_measure_costs(tn_context *ctx);
/* Names the target in records: equal texts are equal targets. */
TN_API const char *tn_target_text(const tn_target *target); /* canonical: same words, parses back */
/* Of a parallel loop, unless the machine has fewer at the time. */
TN_API int tn_target_threads(const tn_target *target);
TN_API int tn_target_vector_bytes(const tn_target *target);               /* 64 with AVX-512, 32 AVX, 16 else */
TN_API bool tn_target_has_vectors(const tn_target *target);               /* false: they are taken apart into words */
TN_API int64_t tn_target_flash_bytes(const tn_target *target);            /* for code and constants; 0 when not told */
TN_API int64_t tn_target_cache_bytes(const tn_target *target, int level); /* data cache 1, 2, 3; 0 when unknown */
/* The names that LLVM knows of processors of the target's architecture ("cpu=...") and of their features
 * ("features=+..."), in order; NULL outside of them. They live for ever. */
TN_API const char *tn_target_known_cpu(const tn_target *target, int index);
TN_API const char *tn_target_known_feature(const tn_target *target, int index);
/* What generic schedules are made for (schedule.h). TARGET NULL: all zeros, which they replace by usual values. */
TN_API tn_machine tn_target_machine(const tn_target *target);

/* ---- functions that a program calls ------------------------------------------------------------------------------ */

/* Gives the C functions that PROGRAM calls (extern) their code from files of LLVM IR, text or bitcode, told by its
 * content: it is linked into what is built from now on (tn_program_link), and compiled for this machine, so that the
 * evaluator can call it (tn_program_bind; not where the IR is for another machine, or uses symbols that this process
 * does not have). A file has to hold what its functions call, or leave it to the system. TN_ERROR_IO: a file cannot
 * be read; TN_ERROR_CODEGEN: it holds no IR, or malformed IR, or a function of another type than it is called as;
 * TN_ERROR_ARGUMENT: a file without any function that the program calls, a function that is in two files or in none.
 * The files before the one that is refused stay linked. The functions of intrinsics that the program's text declares
 * (`intrin`) are given their code likewise, where a file has it, and then compared with the pattern. The files of the
 * program's own `link` statements come before PATHS, which may be none. */
TN_API tn_status tn_program_link_files(tn_program *program, int n, const char *const *paths);

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Of a program with layout_free inputs: the whole kernel, which takes them as they are; or its two parts: PREPACK
 * computes what depends on them alone (the stages at root that read nothing else) into buffers of its caller, PACKED
 * takes those buffers in place of the inputs: void prepack(const T *constant..., T *packed...), kernel(const T
 * *packed..., const T *other..., T *output...). The header says their shapes. */
typedef enum tn_build_part { TN_BUILD_WHOLE, TN_BUILD_PREPACK, TN_BUILD_PACKED } tn_build_part;

/* Zero fields are the usual build. */
typedef struct tn_build_options {
  const tn_target *target; /* NULL: native */
  const char *name;        /* a C identifier without a meaning in C, C++ or libc; NULL: "kernel" */
  /* For profiling; both off gives the same code as without these fields. */
  bool sample; /* stages tell their time: the threads read the clock when they go from one to another, and add up in the
                * symbol NAME_stage, int64_t[4][stages + 1]: ticks and visits of each stage, ticks of its parallel loops
                * from beginning to end, and those that threads worked in them (tn_kernel_stages). A part of a program
                * has rows as far as its last stage. Not as C source. */
  bool count;  /* the kernel in memory has work counters (tn_kernel_stages) */
  tn_build_part part;
} tn_build_options;

/* Compiles in memory. Free with tn_kernel_free before the context goes. NULL with a message. */
TN_API TN_GIVE tn_kernel *tn_build(const tn_schedule *schedule, const tn_build_options *options);

/* Packs the program's layout_free inputs, N tensors in the order of its arguments, and compiles the rest: the kernel
 * takes the other arguments only, and owns what was packed; CONSTANTS are not looked at again. Free as tn_build's.
 * Refused: a program without layout_free inputs, or whose schedule has no stage at root that depends on them alone. */
TN_API TN_GIVE tn_kernel *tn_prepack(const tn_schedule *schedule, const tn_build_options *options,
                                     DLTensor *const *constants, int n);

/* Writes a file; its suffix chooses the form: .o object, .so shared object (linked by the system's C compiler), .s
 * assembly, .ll LLVM IR, .bc bitcode, .c C source (C17 with GNU vector extensions). Nothing is left behind when it
 * fails. */
TN_API tn_status tn_build_file(const tn_schedule *schedule, const tn_build_options *options, const char *path);
/* Writes the C header that declares the function: argument names, dtypes, shapes, return value. */
TN_API tn_status tn_build_header(const tn_schedule *schedule, const tn_build_options *options, const char *path);
/* The same as text: form ".c", ".ll", ".s" or ".h". malloc'ed. */
TN_API TN_GIVE char *tn_build_text(const tn_schedule *schedule, const tn_build_options *options, const char *form);

#ifdef __cplusplus
}
#endif
#endif
