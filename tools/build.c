/* build.c: `tenon build`: writes a kernel to a file, and its C header. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/new_file.h"
#include "schedule/state.h"
#include "tools/build.h"
#include "tools/cut.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("output", 'o', TEXT, output, "OUT",
                 "the file to write; its suffix chooses the form: .o object, .so shared object,\n"
                 ".s assembly, .ll LLVM IR, .bc bitcode, .c C source"),
    TOOLS_OPTION("header", 0, TEXT, header, "OUT.h", "also write the C header that declares the function"),
    TOOLS_OPTION("name", 'n', TEXT, name, "F", "the function's name, a C identifier (kernel)"),
    TOOLS_OPTION_PART,
    TOOLS_OPTION("strict", 0, FLAG, is_strict, NULL, "fail when LOG has no checked record of this program and target"),
    TOOLS_OPTION("missing", 0, TEXT, missing, "FILE.tenon",
                 "write the programs that have no record to a network's file, which `tenon tune` takes"),
    TOOLS_OPTION("buckets", 0, TEXT, buckets, "M=N,N,...",
                 "of a program with `symbol M`: one function that has the kernels tuned for these sizes\n"
                 "(tune -p M=N) and chooses by M; between two sizes it runs the larger one's schedule"),
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
        "either, with the `schedule { ... }` blocks of the program itself; where it has none, with what `tenon\n"
        "tune` has found of it or, where that is faster than the generic schedule now, of a program like it (other\n"
        "sizes, another machine); else the generic schedule: a line says which. The file defines one function,\n"
        "int32_t F(const T *input..., T *output...), which returns 0, or 1 when there was no memory for scratch. It "
        "needs libc, and libgomp where it has parallel loops. C functions that\n"
        "PROGRAM calls are symbols for the linker, unless --link gives them.\n"
        "\n"
        "With --buckets M=1,16,128 the function of a program with `symbol M` has a kernel for each of these\n"
        "sizes, by the records of `tenon tune PROGRAM -p M=16`, and serves every other M, too.\n"
        "\n"
        "A network's file (NAME.tenon) is built into a folder, -o FOLDER: an object and a header for each\n"
        "distinct program.\n"
        "\n"
        "When LOG has no record that fits this program and target, the default schedule is built after a\n"
        "warning; with --strict that is a failure. A failure leaves no file behind.",
    .examples =
        "tenon build layer.te -s auto --link my_gemv.bc -o layer.o\n"
        "tenon build 'symbol M<=4096; C[i<M, j<64] = sum[k<64](A[i,k] * B[k,j])' --buckets M=1,16,128 -o any.o\n"
        "tenon build examples/networks/resnet50.tenon -o kernels --missing to_tune.tenon\n"
        "tenon build matmul.te --log matmul.json --strict -o matmul.o --header matmul.h --name matmul\n"
        "tenon build 'C[i<64] = A[i] * 2' -s 'vectorize(C, i)' -o twice.so",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* The schedule that the line says. Where it is one of a cut program, every group has to have a record. NULL
 * after a message. */
static tn_schedule *strict_schedule(tools_session *session, const tools_args *args) {
  tn_schedule *schedule = tools_schedule(session, args);
  int n = schedule ? tools_cut_missing(&session->cut) : 0;
  if (n == 0) return schedule;
  tools_fail(session, "%s has no usable record of %d of the %d groups of the program", args->log, n,
             session->cut.n_groups);
  tn_schedule_free(schedule);
  return NULL;
}

/* The schedule of the log. Without a record there it is the default one, after a warning, unless --strict
 * forbids it. NULL after a message. */
static tn_schedule *choose_schedule(tools_session *session, const tools_args *args) {
  if (!args->log || args->is_strict) return strict_schedule(session, args);
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

/* ---- what was tuned: schedules where the line names none --------------------------------------------------------- */

/* The schedule that the library chooses by itself, without searching. NULL after a message. */
static tn_schedule *generic_schedule(tools_session *session) {
  if (!tools_know_machine(session, false)) return NULL;
  const tn_machine machine = tn_target_machine(session->target);
  tn_schedule *schedule = tn_schedule_new(session->program);
  if (schedule && tn_schedule_auto(schedule, &machine) == TN_OK) return schedule;
  tn_schedule_free(schedule);
  return NULL;
}

/* Adds a program to the text of a network's file: on one line, in whichever quotes do not occur in it, with
 * the number of times that it is called. */
static void add_missing(const tn_program *program, int count, runtime_str *out) {
  const char *text = tn_program_text(program);
  const char *quote = strchr(text, '"') ? "'" : "\"";
  size_t n = strlen(text);
  runtime_str_add(out, quote);
  for (size_t i = 0; i < n; ++i)
    if (text[i] != '\n' || i + 1 < n) runtime_str_addn(out, text[i] == '\n' ? ";" : &text[i], 1);
  runtime_str_add(out, quote);
  if (count > 1) runtime_str_addf(out, " x %d", count);
  runtime_str_add(out, "\n");
}

/* Adds what can be tuned of a program without a record: of a large program, its groups. Returns how many were added. */
static int add_missing_tasks(tools_session *session, runtime_str *out) {
  tn_cut cut = {0};
  bool is_cut = tn_program_is_large(session->program) &&
                tn_program_cut(session->program, session->target, &cut) == TN_OK && cut.n > 0;
  tn_context_clear(session->ctx);
  for (int i = 0; is_cut && i < cut.n; ++i) add_missing(cut.tasks[i].program, cut.tasks[i].count, out);
  if (!is_cut) add_missing(session->program, 1, out);
  return is_cut ? cut.n : 1;
}

/* The schedule of a large program, from records of its groups; groups without one are added to FOUND's
 * missing. NULL: no group has a record. */
static tn_schedule *cut_schedule(tools_session *session, tools_found *found) {
  tn_schedule *schedule = tools_cut_schedule(session, found->log);
  if (!schedule) return NULL;
  for (int i = 0; i < session->cut.n; ++i)
    if (session->cut.tasks[i].n_used == 0)
      add_missing(session->cut.tasks[i].program, session->cut.tasks[i].count, &found->missing);
  found->n_cut++;
  tools_tell_cut(&session->cut, found->log);
  return schedule;
}

/* The schedule of a program that has no record: that of a similar program's record if it is faster here,
 * otherwise the generic one. NULL after a message. */
static tn_schedule *other_schedule(tools_session *session, bool is_there, tools_found *found) {
  tools_transfer transfer;
  tn_schedule *generic = generic_schedule(session);
  tn_schedule *like = is_there ? tools_transferred(session, found->log, generic, &transfer) : NULL;
  if (like) {
    runtime_str_addf(&found->transfers, "%sfrom %s, %.1f times the default", found->n_transferred++ ? "; " : "",
                     transfer.from, transfer.gain);
    tn_schedule_free(generic);
    return like;
  }
  found->n_missing += add_missing_tasks(session, &found->missing);
  return generic;
}

tn_schedule *tools_find_schedule(tools_session *session, const tools_args *args, tools_found *found) {
  session->is_muted = true;
  bool is_there = access(found->log, F_OK) == 0;
  tn_schedule *schedule =
      is_there ? tn_apply_best(session->program, session->target, found->log, &found->exact_s) : NULL;
  session->is_muted = false;
  found->n_exact += schedule != NULL;
  if (schedule) return schedule;
  bool is_missing = !is_there || tn_context_status(session->ctx) == TN_ERROR_RECORD;
  if (!is_missing || args->is_strict) {
    tools_fail(session, "%s",
               is_there ? tn_context_message(session->ctx) : "there is no log yet: `tenon tune` makes it");
    return NULL;
  }
  tn_context_clear(session->ctx);
  schedule = is_there ? cut_schedule(session, found) : NULL;
  return schedule ? schedule : other_schedule(session, is_there, found);
}

/* Writes the file of --missing. An old file stays as it was unless all of the new one could be written.
 * False with errno. */
static bool write_missing(const char *path, const runtime_str *text) {
  runtime_new_file made = {.fd = -1};
  FILE *file = !text->failed && runtime_new_file_open(&made, path) ? runtime_new_file_stream(&made) : NULL;
  bool wrote = file && (text->n == 0 || fwrite(text->data, 1, text->n, file) == text->n);
  if (file && fclose(file) != 0) wrote = false;
  wrote = wrote && runtime_new_file_keep(&made, path);
  int why = errno;
  runtime_new_file_drop(&made);
  errno = why;
  return wrote;
}

bool tools_tell_found(tools_session *session, const tools_args *args, tools_found *found) {
  bool written = !args->missing || write_missing(args->missing, &found->missing);
  if (!written) tools_fail(session, "cannot write %s: %s", args->missing, strerror(errno));
  runtime_str transfers = found->transfers;
  found->transfers = (runtime_str){0};
  runtime_str_free(&found->missing);
  if (!written) return runtime_str_free(&transfers), false;
  if (found->n_cut == 1 && found->n_exact + found->n_transferred + found->n_missing == 0) return true;
  printf("%d exact", found->n_exact);
  if (found->n_cut > 0) printf(", %d in groups", found->n_cut);
  if (transfers.n > 0) printf(", %d transferred (%s)", found->n_transferred, transfers.data);
  runtime_str_free(&transfers);
  if (found->n_exact == 1 && found->n_transferred == 0 && found->n_missing == 0)
    printf(" (%s when it was tuned)", tools_time(found->exact_s).text);
  printf(", %d missing%s, of %s\n", found->n_missing,
         found->n_missing > 0 ? " (built with the generic schedule: tenon tune finds better ones)" : "", found->log);
  return true;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* Writes kernel and header. The header waits under the name WAITING until the kernel is written, so that
 * both appear or neither. False after a message. */
static bool write_with_header(tools_session *session, const tn_schedule *schedule, const tn_build_options *build,
                              const char *out, const char *header, const char *waiting) {
  if (tn_build_header(schedule, build, waiting) != TN_OK) return false;
  bool written = tn_build_file(schedule, build, out) == TN_OK;
  if (written && rename(waiting, header) == 0) return true;
  if (written) {
    tools_fail(session, "cannot write %s: %s", header, strerror(errno));
    unlink(out);
  }
  unlink(waiting);
  return false;
}

/* The waiting name is in the header's folder: renaming within a file system needs no space. */
bool tools_write_kernel(tools_session *session, const tn_schedule *schedule, const tn_build_options *build,
                        const char *out, const char *header) {
  if (!header) return tn_build_file(schedule, build, out) == TN_OK;
  struct stat info;
  if (stat(header, &info) == 0 && S_ISDIR(info.st_mode))
    return tools_fail(session, "cannot write %s: %s", header, strerror(EISDIR)), false;
  runtime_str waiting = {0};
  runtime_str_addf(&waiting, "%s.part", header);
  bool ok = !waiting.failed && write_with_header(session, schedule, build, out, header, waiting.data);
  runtime_str_free(&waiting);
  return ok;
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

/* By its name alone: a network's file ends in .tenon. */
static bool is_network(const char *operand) {
  size_t n = strlen(operand);
  return n > 6 && strcmp(operand + n - 6, ".tenon") == 0;
}

/* Builds one program. Its schedule is what the line says, or the program's own blocks, or what was tuned (LOG). */
static int build(tools_session *session, const tools_args *args, const char *log) {
  bool is_own = !args->log && !args->schedule && tn_program_schedule(session->program);
  bool is_said = args->log || args->schedule || is_own || args->buckets;
  tools_found found = {.log = log};
  tn_schedule *schedule = args->buckets ? tools_bucket_schedule(session, args, log)
                          : is_said     ? choose_schedule(session, args)
                                        : tools_find_schedule(session, args, &found);
  const tn_build_options how = {
      .target = session->target, .name = args->name, .part = (tn_build_part)tools_find_part(args)};
  bool ok = schedule && tools_write_kernel(session, schedule, &how, args->output, args->header);
  if (ok && args->output && !args->part && schedule_has_parts(schedule))
    tools_warn(session,
               "%s packs its layout_free inputs in each call: --part=prepack and --part=packed, two files, do it once",
               args->output);
  if (ok && !is_said) return tools_tell_found(session, args, &found) ? TOOLS_OK : TOOLS_FAILED;
  if (ok && session->cut.n > 0) tools_tell_cut(&session->cut, args->log);
  if (ok && is_own && !args->buckets) printf("with the program's own schedule (--log LOG takes what was tuned)\n");
  runtime_str_free(&found.missing);
  runtime_str_free(&found.transfers);
  return ok ? TOOLS_OK : TOOLS_FAILED;
}

/* Refuses options that do not go together, or not with a network's file. */
static int check(const tools_args *args) {
  if (!args->output) return tools_usage(args->verb, "-o is missing: the file to write");
  if (args->log && args->schedule) return tools_usage(args->verb, "--schedule and --log exclude each other");
  if (args->buckets && args->schedule)
    return tools_usage(args->verb,
                       "--schedule and --buckets exclude each other: each bucket has a schedule of its own");
  if (args->buckets && args->part && tools_find_part(args) > 0)
    return tools_usage(args->verb,
                       "--part is not built with --buckets: each size packs its layout_free inputs in another layout");
  if (args->buckets && args->missing) return tools_usage(args->verb, "--missing is about programs without --buckets");
  if (tools_find_part(args) < 0) return TOOLS_USAGE;
  if (args->is_strict && args->schedule) return tools_usage(args->verb, "--strict is about the records of --log");
  if (!is_network(args->operands[0])) {
    bool is_said = args->log || args->schedule;
    return args->missing && is_said
               ? tools_usage(args->verb, "--missing is about the log that nobody named: leave out --%s",
                             args->log ? "log" : "schedule")
               : TOOLS_OK;
  }
  const char *wrong = args->schedule  ? "schedule"
                      : args->header  ? "header"
                      : args->name    ? "name"
                      : args->part    ? "part"
                      : args->buckets ? "buckets"
                                      : NULL;
  return wrong ? tools_usage(args->verb, "--%s is about one program, not a network's file", wrong) : TOOLS_OK;
}

/* Opens what is to be built. LOG is the line's or the usual one; NULL: there is none. */
static int run_with(tools_session *session, const tools_args *args, const char *log) {
  bool is_net = is_network(args->operands[0]);
  if (!tools_open(session, args) || (!is_net && !tools_load(session, args, args->operands[0]))) return TOOLS_FAILED;
  bool is_said = !is_net && (args->log || args->schedule || args->buckets || tn_program_schedule(session->program));
  if (!is_said && !log)
    return tools_usage(args->verb, "give either --log or --schedule: the program has no schedule of its own");
  return is_net ? tools_build_tasks(session, args, log) : build(session, args, log);
}

static int run(const tools_args *args) {
  int status = check(args);
  if (status != TOOLS_OK) return status;
  tools_session session = {0};
  runtime_str usual = {0};
  const char *log = args->log ? args->log : tools_usual_log(false, &usual) ? usual.data : NULL;
  status = run_with(&session, args, log);
  runtime_str_free(&usual);
  tools_close(&session);
  return status;
}
