/* worker_machine.c: what a worker tells a distant tuner about its machine. */
#include <stdio.h>
#include <sys/utsname.h>

#include "autotune/internal.h"
#include "autotune/worker.h"

/* ---- its name ---------------------------------------------------------------------------------------------------- */

const char *worker_host(worker *w) {
  struct utsname names;
  if (w->host.n == 0 && uname(&names) == 0) runtime_str_add(&w->host, names.nodename);
  return w->host.n > 0 && !w->host.failed ? w->host.data : "host";
}

/* ---- its processor ----------------------------------------------------------------------------------------------- */

/* For the fault WORKER_OTHER: makes the text that of another processor. */
static void claim_other(runtime_str *text) {
  char cpu[128] = "", triple[128] = "";
  autotune_target_word(text->data, "cpu", cpu, sizeof cpu);
  autotune_target_word(text->data, "triple", triple, sizeof triple);
  text->n = 0;
  runtime_str_addf(text, "triple=%s cpu=not-%s features= threads=%d", triple, cpu, tn_thread_count());
}

const char *worker_target(worker *w) {
  tn_context *ctx = w->target.n > 0 ? NULL : tn_context_new(NULL);
  tn_target *native = ctx ? tn_target_new(ctx, NULL) : NULL;
  if (native) runtime_str_add(&w->target, tn_target_text(native));
  if (native && !w->target.failed && w->fault_now == WORKER_OTHER) claim_other(&w->target);
  tn_context_free(ctx);
  return w->target.n > 0 && !w->target.failed ? w->target.data : "";
}

/* ---- its costs --------------------------------------------------------------------------------------------------- */

/* For the fault WORKER_SLOW: costs three times as high. */
static const char *slow_down(tn_context *ctx, const char *costs) {
  runtime_str text = {0};
  runtime_str_add(&text, "costs=");
  for (const char *item = costs + strcspn(costs, "=") + 1; *item;
       item += item[strcspn(item, ",")] ? strcspn(item, ",") + 1 : strcspn(item, ",")) {
    size_t name = strcspn(item, ":");
    runtime_str_addf(&text, "%s%.*s:%.3g", item[-1] == '=' ? "" : ",", (int)name, item,
                     3 * runtime_parse_float(item + name + 1, NULL));
  }
  return runtime_str_take(&text, &ctx->arena);
}

const char *worker_costs(worker *w) {
  tn_context *ctx = w->costs.n > 0 ? NULL : tn_context_new(NULL);
  const char *costs = ctx ? tn_measure_costs(ctx) : NULL;
  if (costs && w->fault_now == WORKER_SLOW) costs = slow_down(ctx, costs);
  if (costs) runtime_str_add(&w->costs, costs);
  tn_context_free(ctx);
  return w->costs.n > 0 && !w->costs.failed ? w->costs.data : "";
}
