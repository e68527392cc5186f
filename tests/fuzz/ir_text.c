/* Loop IR as text at a random place of the pipeline: it parses back to the same text, the passes that follow take it
 * (what they make of it may differ: nodes and buffers that the IR shares are several in what was parsed), and text with
 * bytes changed is parsed or refused, never a crash. */
#include <stdio.h>

#include "tests/fuzz/fuzz.h"
#include "tir/internal.h"

/* Bytes. Inlining can make expressions that are small as graphs and endless as text. */
enum { MUTATIONS = 8, LONGEST = 1 << 20 };

/* ---- to and fro -------------------------------------------------------------------------------------------------- */

/* NULL: it is too long. */
static char *printed(runtime_arena *arena, const tir_func *f) {
  runtime_str text = {.limit = LONGEST};
  tir_print_func(&text, f);
  return runtime_str_take(&text, arena);
}

static tir_func *run_passes(tir_pass_context *p, tir_func *f, int from, int to) {
  for (int i = from; f && i < to; i++) f = tir_passes[i].run(p, f);
  return f;
}

/* One to three places get a byte from elsewhere in the text, or lose theirs, or are written twice. */
static char *mutated(runtime_arena *arena, runtime_rng *rng, const char *text) {
  size_t n = strlen(text);
  char *out = runtime_alloc(arena, n + 8);
  memcpy(out, text, n);
  for (int64_t left = 1 + runtime_random_below(rng, 3); left > 0 && n > 1; left--) {
    size_t at = (size_t)runtime_random_below(rng, (int64_t)n), from = (size_t)runtime_random_below(rng, (int64_t)n);
    switch (runtime_random_below(rng, 4)) {
      case 0: out[at] = out[from]; break;
      case 1: memmove(out + at, out + at + 1, --n - at); break;
      case 2: memmove(out + at + 1, out + at, n++ - at); break;
      default: out[at] = " (){}[],=\"<>+-*/%0123456789.#eifx"[runtime_random_below(rng, 33)];
    }
    out[n] = 0;
  }
  return out;
}

/* What a mutated text parses to must print as something that parses to the same. */
static const char *check_mutations(tn_context *ctx, runtime_arena *arena, runtime_rng *rng, const char *text) {
  for (int i = 0; i < MUTATIONS; i++) {
    const char *changed = mutated(arena, rng, text);
    tir_func *f = tir_parse_func(ctx, arena, changed);
    tn_context_clear(ctx);
    if (!f) continue;
    const char *once = printed(arena, f);
    if (!once) continue;
    tir_func *again = tir_parse_func(ctx, arena, once);
    const char *twice = again ? printed(arena, again) : NULL;
    if (!twice || strcmp(twice, once) != 0)
      return runtime_format(arena, "mutated loop IR does not parse back: %s\n%s", tn_context_message(ctx), once);
  }
  return NULL;
}

static const char *check(tir_pass_context *p, tir_func *f, runtime_rng *rng) {
  int n_passes = 0;
  while (tir_passes[n_passes].run) n_passes++;
  int here = (int)runtime_random_below(rng, n_passes + 1);
  if (!f || !(f = run_passes(p, f, 0, here))) return NULL; /* what the kernel's build reports */
  const char *text = printed(p->arena, f);
  if (!text) return NULL;
  tir_func *again = tir_parse_func(p->ctx, p->arena, text);
  if (!again) return runtime_format(p->arena, "loop IR is refused: %s\n%s", tn_context_message(p->ctx), text);
  const char *text_again = printed(p->arena, again);
  if (!text_again || strcmp(text, text_again) != 0)
    return runtime_format(p->arena, "loop IR parses to another text:\n%s\n%s", text, text_again ? text_again : "");
  if (!run_passes(p, f, here, n_passes)) return NULL;
  again = run_passes(p, again, here, n_passes);
  if (!again || tir_check(p->ctx, again) != TN_OK)
    return runtime_format(p->arena, "behind pass %d parsed loop IR fails: %s\n%s", here, tn_context_message(p->ctx),
                          text);
  return check_mutations(p->ctx, p->arena, rng, text);
}

fuzz_status fuzz_check_ir_text(const tn_schedule *s, uint64_t seed, char *why, size_t n) {
  runtime_arena arena = {0};
  runtime_rng rng = {seed};
  tn_context *ctx = tn_context_new(NULL);
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.max_unrolled_body = 4096}};
  const char *wrong = check(&p, schedule_lower(s, "kernel", &arena), &rng);
  if (wrong) snprintf(why, n, "%s", wrong);
  tn_context_free(ctx);
  runtime_arena_free(&arena);
  return wrong ? FUZZ_DIFFERS : FUZZ_AGREES;
}
