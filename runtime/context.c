/* context.c: contexts. A context has the first failure with its message, the message callback, a slot for
 * each folder above that attaches something to it, and the list of kernels that were not freed yet. It owns
 * all of these. */
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

/* options.debug is copied; on_message's user is not. NULL means no memory, which there is no context to report to. */
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

/* One owner less; the last one frees the block. */
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

/* For the debug option "held": reports objects that were not released. */
static void say_held(tn_context *ctx) {
  tn_held held = tn_context_held(ctx);
  if (held.arrays + held.schedules + held.kernels == 0 || !runtime_debug_wants(ctx, "held", NULL)) return;
  runtime_say(ctx, TN_SEVERITY_INFO, "held: the context is freed with arrays %lld, schedules %lld, kernels %lld",
              (long long)held.arrays, (long long)held.schedules, (long long)held.kernels);
}

/* Kernels go first: freeing one removes its code from the session, which is in a slot. */
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

/* Setting a slot that needs releasing again would leak the first data: that is a bug, not a failure. */
void runtime_slot_set(tn_context *ctx, runtime_slot slot, void *data, void (*release)(void *data)) {
  assert(!ctx->slots[slot].data || !release);
  ctx->slots[slot].data = data;
  ctx->slots[slot].release = release;
}

/* ---- quiet stretches --------------------------------------------------------------------------------------------- */

/* Stretches may be nested; each must be ended by one of the two functions below, in reverse order. The
 * message is only copied if there is a failure, which is rare. */
void runtime_quiet_start(runtime_quiet *quiet, tn_context *ctx) {
  quiet->ctx = ctx;
  quiet->on_message = ctx->options.on_message;
  quiet->status = ctx->status;
  if (quiet->status != TN_OK) memcpy(quiet->message, ctx->message, sizeof quiet->message);
  ctx->options.on_message = NULL;
  ctx->n_quiet++;
  tn_context_clear(ctx);
}

/* Restores the context as it was before the stretch. */
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

/* Names are compared as a whole: "lower" does not match "lower_loops". */
bool runtime_debug_wants(const tn_context *ctx, const char *pass, int *level) {
  const char *at = ctx && ctx->options.debug ? ctx->options.debug : "";
  for (size_t n = strlen(pass); *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncmp(at, pass, n) != 0 || (at[n] && !strchr(":,", at[n]))) continue;
    if (level) *level = at[n] == ':' ? atoi(at + n + 1) : 1;
    return true;
  }
  return false;
}
