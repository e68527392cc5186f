/* build.c: `tenon build`: a kernel as a file, and its C header. */
#include <errno.h>
#include <unistd.h>

#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("output", 'o', TEXT, output, "OUT",
                 "the file to write; its suffix chooses the form: .o object, .so shared object,\n"
                 ".s assembly, .ll LLVM IR, .bc bitcode, .c C source"),
    TOOLS_OPTION("header", 0, TEXT, header, "OUT.h", "also write the C header that declares the function"),
    TOOLS_OPTION("name", 'n', TEXT, name, "F", "the function's name, a C identifier (kernel)"),
    TOOLS_OPTION_PART,
    TOOLS_OPTION("strict", 0, FLAG, is_strict, NULL, "fail when LOG has no checked record of this program and target"),
    TOOLS_OPTION_LOG,
    TOOLS_OPTION_SCHEDULE,
    TOOLS_OPTION_LINK,
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_END,
};

const tools_verb tools_build = {
    .name = "build",
    .operands =
        "PROGRAM [--log LOG|-s SCHEDULE] -o OUT.{o,so,s,ll,bc,c} [--header OUT.h] [--name F] [--strict] [--link "
        "FILE]...",
    .summary = "compile a program to a file that C can link",
    .details =
        "Compiles PROGRAM with the schedule of the best checked record in LOG, with SCHEDULE, or, without\n"
        "either, with the `schedule { ... }` blocks of the program itself. The file defines one function,\n"
        "int32_t F(const T *input..., T *output...), which returns 0, or 1 when there was no memory for scratch. It "
        "needs libc, and libgomp where it has parallel loops. C functions that\n"
        "PROGRAM calls are symbols for the linker, unless --link gives them.\n"
        "\n"
        "When LOG has no record that fits this program and target, the default schedule is built after a\n"
        "warning; with --strict that is a failure. A failure leaves no file behind.",
    .examples =
        "tenon build layer.te -s auto --link my_gemv.bc -o layer.o\n"
        "tenon build matmul.te --log matmul.json --strict -o matmul.o --header matmul.h --name matmul\n"
        "tenon build 'C[i<64] = A[i] * 2' -s 'vectorize(C, i)' -o twice.so",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* The schedule of the log; the default one, with a warning, when the log has none and that is allowed. */
static tn_schedule *choose_schedule(tools_session *session, const tools_args *args) {
  if (!args->log || args->is_strict) return tools_schedule(session, args);
  session->is_muted = true;
  tn_schedule *schedule = tools_schedule(session, args);
  session->is_muted = false;
  if (schedule) return schedule;
  if (tn_context_status(session->ctx) != TN_ERROR_RECORD) {
    tools_fail(session, "%s", tn_context_message(session->ctx));
    return NULL;
  }
  tools_warn(session, "%s: building the default schedule", tn_context_message(session->ctx));
  tn_context_clear(session->ctx);
  return tn_schedule_new(session->program);
}

/* The header waits under another name until the kernel is written, so that both appear or neither. */
static bool write_with_header(tools_session *session, const tools_args *args, const tn_schedule *schedule,
                              const tn_build_options *build, const char *waiting) {
  if (tn_build_header(schedule, build, waiting) != TN_OK) return false;
  bool written = tn_build_file(schedule, build, args->output) == TN_OK;
  if (written && rename(waiting, args->header) == 0) return true;
  if (written) {
    tools_fail(session, "cannot write %s: %s", args->header, strerror(errno));
    unlink(args->output);
  }
  unlink(waiting);
  return false;
}

/* The header's waiting name lies in the same folder, so that renaming it cannot fail for want of space. */
static bool write_files(tools_session *session, const tools_args *args, const tn_schedule *schedule) {
  tn_build_options build = {
      .target = session->target, .name = args->name, .part = (tn_build_part)tools_find_part(args)};
  if (!args->header) return tn_build_file(schedule, &build, args->output) == TN_OK;
  runtime_str waiting = {0};
  runtime_str_addf(&waiting, "%s.part", args->header);
  bool ok = !waiting.failed && write_with_header(session, args, schedule, &build, waiting.data);
  runtime_str_free(&waiting);
  return ok;
}

/* One of --log, --schedule and the program's own schedule: what is built must not depend on a default that a release may better. */
static int run(const tools_args *args) {
  if (!args->output) return tools_usage(args->verb, "-o is missing: the file to write");
  if (args->log && args->schedule) return tools_usage(args->verb, "--schedule and --log exclude each other");
  if (tools_find_part(args) < 0) return TOOLS_USAGE;
  if (args->is_strict && !args->log) return tools_usage(args->verb, "--strict is about the records of --log");
  tools_session session;
  bool is_loaded = tools_open_program(&session, args);
  if (is_loaded && !args->log && !args->schedule && !tn_program_schedule(session.program)) {
    tools_close(&session);
    return tools_usage(args->verb, "give either --log or --schedule: the program has no schedule of its own");
  }
  tn_schedule *schedule = is_loaded ? choose_schedule(&session, args) : NULL;
  bool ok = schedule && write_files(&session, args, schedule);
  tools_close(&session);
  return ok ? TOOLS_OK : TOOLS_FAILED;
}
