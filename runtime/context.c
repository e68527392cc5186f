/* context.c: contexts. One holds the first failure and its message, the message callback, one slot for
 * each folder above that hangs something on it, and the list of kernels that nobody has freed yet. All
 * of these are its own. */
#include <assert.h>
#include <stdio.h>

#include "runtime/base.h"

static const char *const status_words[] = {
#define X(name, words) [TN_##name] = words,
    TN_STATUSES(X)
#undef X
};

const char *tn_status_text(tn_status status) {
  return (unsigned)status < (unsigned)RUNTIME_COUNT(status_words) ? status_words[status] : "unknown status";
}

/* options.debug is copied, on_message's user is not. A context that is out of memory cannot say so:
 * NULL is all. */
tn_context *tn_context_new(const tn_context_options *options) {
  tn_context *ctx = calloc(1, sizeof *ctx);
  if (!ctx) return NULL;
  if (options) ctx->options = *options;
  runtime_limits_fill(&ctx->options.limits);
  ctx->held = calloc(1, sizeof *ctx->held);
  if (!ctx->held) return free(ctx), NULL;
  ctx->held->owners = 1;
  if (ctx->options.debug) ctx->options.debug = runtime_strdup(&ctx->arena, ctx->options.debug);
  if (options && options->debug && !ctx->options.debug) {
    tn_context_free(ctx);
    return NULL;
  }
  return ctx;
}

/* ---- what lives -------------------------------------------------------------------------------------------------- */

runtime_held *runtime_hold(tn_context *ctx, runtime_held_kind kind) {
  if (!ctx) return NULL;
  ctx->held->owners++;
  ctx->held->n[kind]++;
  return ctx->held;
}

static void leave(runtime_held *held) {
  if (--held->owners == 0) free(held);
}

void runtime_unhold(runtime_held *held, runtime_held_kind kind) {
  if (!held) return;
  held->n[kind]--;
  leave(held);
}

tn_held tn_context_held(const tn_context *ctx) {
  if (!ctx) return (tn_held){0};
  atomic_llong *n = ctx->held->n;
  return (tn_held){.arrays = n[RUNTIME_ARRAYS], .schedules = n[RUNTIME_SCHEDULES], .kernels = n[RUNTIME_KERNELS]};
}

/* For the debug option "held": silent when all was released. */
static void say_held(tn_context *ctx) {
  tn_held held = tn_context_held(ctx);
  if (held.arrays + held.schedules + held.kernels == 0 || !runtime_debug_wants(ctx, "held", NULL)) return;
  runtime_say(ctx, TN_SEVERITY_INFO, "held: the context is freed with arrays %lld, schedules %lld, kernels %lld",
              (long long)held.arrays, (long long)held.schedules, (long long)held.kernels);
}

/* Kernels first: freeing one takes its code out of the session, which is a slot. */
void tn_context_free(tn_context *ctx) {
  if (!ctx) return;
  say_held(ctx);
  while (ctx->kernels) tn_kernel_free(ctx->kernels);
  for (int i = RUNTIME_SLOT_COUNT - 1; i >= 0; --i)
    if (ctx->slots[i].release) ctx->slots[i].release(ctx->slots[i].data);
  runtime_arena_free(&ctx->arena);
  leave(ctx->held);
  free(ctx);
}

tn_status tn_context_status(const tn_context *ctx) { return ctx ? ctx->status : TN_ERROR_ARGUMENT; }

const char *tn_context_message(const tn_context *ctx) { return ctx ? ctx->message : "the context is NULL"; }

void tn_context_clear(tn_context *ctx) {
  if (!ctx) return;
  ctx->status = TN_OK;
  ctx->message[0] = '\0';
}

/* A second owner for a slot would leak the first: that is a bug, not a failure. */
void runtime_slot_set(tn_context *ctx, runtime_slot slot, void *data, void (*release)(void *data)) {
  assert(!ctx->slots[slot].data || !release);
  ctx->slots[slot].data = data;
  ctx->slots[slot].release = release;
}

/* ---- quiet stretches --------------------------------------------------------------------------------------------- */

/* Stretches may be nested. Each must end by one of the two below, in reverse order. The message is no part of what is
 * cleared and copied where there is none, which is the rule. */
void runtime_quiet_start(runtime_quiet *quiet, tn_context *ctx) {
  quiet->ctx = ctx;
  quiet->on_message = ctx->options.on_message;
  quiet->status = ctx->status;
  if (quiet->status != TN_OK) memcpy(quiet->message, ctx->message, sizeof quiet->message);
  ctx->options.on_message = NULL;
  ctx->n_quiet++;
  tn_context_clear(ctx);
}

/* Puts the context back. */
static void restore(const runtime_quiet *quiet) {
  tn_context *ctx = quiet->ctx;
  ctx->options.on_message = quiet->on_message;
  ctx->n_quiet--;
  tn_context_clear(ctx);
  if (quiet->status == TN_OK) return;
  ctx->status = quiet->status;
  memcpy(ctx->message, quiet->message, sizeof ctx->message);
}

tn_status runtime_quiet_end_loud(const runtime_quiet *quiet) {
  char message[sizeof quiet->message];
  tn_status status = quiet->ctx->status;
  memcpy(message, quiet->ctx->message, sizeof message);
  restore(quiet);
  return status == TN_OK ? TN_OK : runtime_fail(quiet->ctx, status, "%s", message);
}

void runtime_quiet_end(const runtime_quiet *quiet) {
  if (quiet->ctx->status == TN_ERROR_MEMORY)
    runtime_quiet_end_loud(quiet);
  else
    restore(quiet);
}

/* Names are compared whole: "lower" does not ask for "lower_loops". Linear in the option, which is a
 * few words. */
bool runtime_debug_wants(const tn_context *ctx, const char *pass, int *level) {
  const char *at = ctx && ctx->options.debug ? ctx->options.debug : "";
  for (size_t n = strlen(pass); *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncmp(at, pass, n) != 0 || (at[n] && !strchr(":,", at[n]))) continue;
    if (level) *level = at[n] == ':' ? atoi(at + n + 1) : 1;
    return true;
  }
  return false;
}
