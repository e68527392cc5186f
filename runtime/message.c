/* message.c: a context's messages: the first failure, which it keeps, and what its callback is told. */
#include <stdio.h>

#include "runtime/base.h"

/* Passes a message to the callback. */
static void tell(tn_context *ctx, tn_severity severity, const char *text) {
  if (ctx->options.on_message) ctx->options.on_message(ctx->options.user, severity, text);
}

/* The first failure is kept; later ones are only passed on, since the cause of a chain is what a user can
 * act on. Returns STATUS in any case, so that a caller can fail and return in one statement. A message
 * longer than the buffer is cut. In a quiet stretch, whose refusals are forgotten, running out of memory
 * replaces an earlier refusal, since the end of the stretch passes it on. */
tn_status runtime_fail(tn_context *ctx, tn_status status, const char *fmt, ...) {
  if (!ctx) return status;
  char text[sizeof ctx->message];
  RUNTIME_PRINT_ARGS(text, fmt);
  bool is_graver = ctx->n_quiet > 0 && status == TN_ERROR_MEMORY;
  if (ctx->status == TN_OK || is_graver) {
    ctx->status = status;
    memcpy(ctx->message, text, sizeof text);
  }
  tell(ctx, TN_SEVERITY_ERROR, text);
  return status;
}

bool runtime_is_given(tn_context *ctx, const char *call, const char *argument, const void *pointer) {
  if (!pointer && tn_context_status(ctx) == TN_OK)
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: %s is NULL", call, argument);
  return pointer != NULL;
}

void runtime_say(tn_context *ctx, tn_severity severity, const char *fmt, ...) {
  if (!ctx || !ctx->options.on_message) return;
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  tell(ctx, severity, text.failed ? "out of memory while writing a message" : text.data);
  runtime_str_free(&text);
}
