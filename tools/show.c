/* show.c: `tenon show`: a program under a schedule, in one of its forms. */
#include "schedule/state.h"
#include "tools/build.h"
#include "tools/page.h"
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_SCHEDULE,
    TOOLS_OPTION_LOG,
    TOOLS_OPTION_LINK,
    TOOLS_OPTION("emit", 'e', TEXT, emit, "FORM",
                 "tir      loop IR after all passes, what will be compiled (the default)\n"
                 "tree     the loop tree on one screen\n"
                 "tvmscript blocks with their axes, reads and writes, as TVMScript has them\n"
                 "text     the schedule as text, as --schedule takes it\n"
                 "steps    the schedule as the JSON array that records hold\n"
                 "api      the schedule as C calls\n"
                 "program  the tensor expressions in their canonical form\n"
                 "llvm     LLVM IR as it is compiled\n"
                 "asm      assembly\n"
                 "c        C source\n"
                 "header   the C header of the kernel\n"
                 "html     a page to look at: the loops, what made each, and the innermost loops' machine code"),
    TOOLS_OPTION_PART,
    TOOLS_OPTION("buckets", 0, TEXT, buckets, "M=N,N,...",
                 "what `tenon build --buckets` makes; tree, text, steps and api are of each range of the symbol"),
    TOOLS_OPTION("try", 0, TEXT, try_text, "TEXT",
                 "a dry run: whether the schedule may go on with TEXT, for example\n"
                 "'tensorize(C, j.inner, dot4_u8i8)'; prints yes, or why not (exit status 1)"),
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_END,
};

const tools_verb tools_show = {
    .name = "show",
    .operands =
        "PROGRAM [-p N=64]... [-s SCHEDULE | --log LOG] [--link FILE]... "
        "[--emit=tir|tree|tvmscript|text|steps|api|program|llvm|asm|c|header|html]",
    .summary = "print what a program becomes under a schedule",
    .details =
        "Lowers PROGRAM under a schedule and prints it. Without --schedule or --log the program's own\n"
        "`schedule { ... }` blocks are taken; where it has none, or with -s none, the default schedule: every\n"
        "stage in its axes' order, serial.",
    .examples =
        "tenon show 'C[i<1024, j<1024] = A[i,j] + B[i,j]' -s 'split(C, i, 20)'\n"
        "tenon show matmul.te -p N=512 --log matmul.json --emit=api\n"
        "tenon show matmul.te -s auto --emit=html > matmul.html",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* How a form of --emit is printed: by tn_schedule_print, by tn_build_text with a suffix (TEXT), or by its
 * own function. */
typedef struct form {
  const char *name;
  tn_form form;     /* for tn_schedule_print */
  const char *text; /* for tn_build_text */
  bool is_program, is_page;
} form;

static const form forms[] = {
    {.name = "tir", .form = TN_FORM_TIR},
    {.name = "tree", .form = TN_FORM_TREE},
    {.name = "tvmscript", .form = TN_FORM_TVMSCRIPT},
    {.name = "text", .form = TN_FORM_TEXT},
    {.name = "steps", .form = TN_FORM_STEPS},
    {.name = "api", .form = TN_FORM_API},
    {.name = "program", .is_program = true},
    {.name = "llvm", .text = ".ll"},
    {.name = "asm", .text = ".s"},
    {.name = "c", .text = ".c"},
    {.name = "header", .text = ".h"},
    {.name = "html", .is_page = true},
};

/* Says that there is no such form, and suggests the nearest. Always TOOLS_USAGE. */
static int unknown_form(const tools_args *args) {
  runtime_nearest nearest = runtime_nearest_to(args->emit);
  for (int i = 0; i < RUNTIME_COUNT(forms); ++i) runtime_nearest_offer(&nearest, forms[i].name);
  if (nearest.word)
    return tools_usage(args->verb, "there is no form '%s'; did you mean '%s'?", args->emit, nearest.word);
  return tools_usage(args->verb, "there is no form '%s': --emit takes one of those below", args->emit);
}

/* The schedule of each range of the symbol (--buckets), one behind the other. malloc'ed. */
static char *emit_variants(const tn_schedule *schedule, const form *as) {
  const char *symbol = schedule->program->symbols[0]->var.name;
  runtime_str out = {0};
  for (int i = 0; i < schedule->n_variants; ++i) {
    const schedule_variant *v = &schedule->variants[i];
    char *text = tn_schedule_print(v->schedule, as->form);
    if (!text) return runtime_str_free(&out), NULL;
    runtime_str_addf(&out, "%s# %s=%lld", i > 0 ? "\n" : "", symbol, (long long)v->least);
    if (v->most > v->least) runtime_str_addf(&out, " .. %lld", (long long)v->most);
    runtime_str_addf(&out, "\n%s", text);
    free(text);
  }
  return out.failed ? runtime_str_free(&out), NULL : out.data;
}

/* The text of the form, malloc'ed. NULL after a message, or without memory. */
static char *emit(tools_session *session, const tn_schedule *schedule, const form *as, tn_build_part part) {
  if (as->is_page) return tools_schedule_page(session, schedule, part);
  if (as->is_program) {
    const char *text = tn_program_text(session->program);
    return text ? strdup(text) : NULL;
  }
  tn_build_options build = {.target = session->target, .part = part};
  if (schedule->n_variants > 0 && !as->text && as->form != TN_FORM_TIR && as->form != TN_FORM_TVMSCRIPT)
    return emit_variants(schedule, as);
  return as->text ? tn_build_text(schedule, &build, as->text) : tn_schedule_print(schedule, as->form);
}

/* --try: applies TEXT to a copy, which goes with the context, and prints "yes". The message of a refusal is
 * the answer otherwise. */
static int try(const tn_schedule *schedule, const char *text) {
  if (tn_schedule_apply(tn_schedule_copy(schedule), text) != TN_OK) return TOOLS_FAILED;
  puts("yes");
  return 0;
}

static int print(const form *as, char *text) {
  bool is_tree = !as->text && !as->is_program && !as->is_page && as->form == TN_FORM_TREE;
  return is_tree ? tools_print_tree(text) : tools_print_text(text);
}

static int run(const tools_args *args) {
  const form *as = RUNTIME_ROW(forms, args->emit ? args->emit : "tir");
  int part = tools_find_part(args);
  if (part < 0) return TOOLS_USAGE;
  if (!as) return unknown_form(args);
  if (args->schedule && args->log) return tools_usage(args->verb, "--schedule and --log exclude each other");
  if (args->schedule && args->buckets) return tools_usage(args->verb, "--schedule and --buckets exclude each other");
  tools_session session;
  tn_schedule *schedule = !tools_open_program(&session, args) ? NULL
                          : args->buckets                     ? tools_bucket_schedule(&session, args, args->log)
                                                              : tools_schedule(&session, args);
  int status = !schedule        ? TOOLS_FAILED
               : args->try_text ? try(schedule, args->try_text)
                                : print(as, emit(&session, schedule, as, (tn_build_part)part));
  tools_close(&session);
  return status;
}
