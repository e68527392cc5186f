/* pass.c: `tenon pass`: takes loop IR as text through one pass or several. */
#include "te/intrin.h"
#include "tir/ir.h"
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("list", 0, FLAG, lists, NULL, "name the passes, each with what it does"),
    TOOLS_OPTION("registers", 0, COUNT, registers, "N", "vector registers that accumulators may take (32)"),
    TOOLS_OPTION("register-bytes", 0, COUNT, register_bytes, "N", "bytes of one (64)"),
    TOOLS_OPTION("unroll", 0, COUNT, unroll, "N", "most statements of a loop that is unrolled (4096)"),
    TOOLS_OPTION_END,
};

const tools_verb tools_pass = {
    .name = "pass",
    .operands = "NAME[,NAME]... FILE | --list",
    .summary = "run passes on loop IR given as text",
    .details =
        "Reads the loop IR in FILE (- is standard input) as `tenon show` and TENON_DEBUG print it, runs the named\n"
        "passes on it in that order and prints what they make. NAME `all` is the whole pipeline.",
    .examples =
        "tenon pass --list\n"
        "tenon show 'C[i<100] = A[i] + 1' | tenon pass unroll -",
    .options = options,
    .max_operands = 2,
    .run = run,
};

static int list_passes(void) {
  for (int i = 0; i < TIR_PASS_COUNT; ++i) printf("%-15s %s\n", tir_pass_lines[i].name, tir_pass_lines[i].summary);
  return TOOLS_OK;
}

/* Runs the passes on TEXT and prints the result. NULL after a message. */
static char *transform(tools_session *session, const tools_args *args, const char *text) {
  runtime_arena arena = {0};
  runtime_str out = runtime_str_limited(session->ctx);
  char *printed = NULL;
  tir_pass_context p = {.ctx = session->ctx,
                        .arena = &arena,
                        .options = {.vector_registers = (int)args->registers,
                                    .vector_bytes = (int)args->register_bytes,
                                    .max_unrolled_body = args->unroll}};
  session->file = strcmp(args->operands[1], "-") == 0 ? NULL : args->operands[1];
  tir_func *f = tir_parse_func(session->ctx, &arena, text);
  session->file = NULL;
  if (f && te_add_intrins(session->ctx, &arena, f) && (f = tir_run_passes(&p, f, args->operands[0]))) {
    tir_print_func(&out, f);
    printed = runtime_str_finish(&out, session->ctx, "the loop IR");
  }
  runtime_arena_free(&arena);
  return printed;
}

/* Loop IR is text on both sides, so passes can be put in a pipe. */
static int run(const tools_args *args) {
  if (args->lists) return list_passes();
  if (args->n_operands < 1) return tools_usage(args->verb, "NAME and FILE are missing");
  if (args->n_operands < 2)
    return tools_usage(args->verb, "FILE is missing: the loop IR that %s is to change, - for standard input",
                       args->operands[0]);
  tools_session session;
  char *text = tools_open(&session, args) ? tools_read(&session, args->operands[1]) : NULL;
  int status = text ? tools_print_text(transform(&session, args, text)) : TOOLS_FAILED;
  free(text);
  tools_close(&session);
  return status;
}
