/* One pair: fills inputs, poisons outputs, compiles, runs between guard pages, compares with the reference evaluator.
 */
#include <math.h>
#include <stdio.h>

#include "codegen/codegen.h"
#include "tests/fuzz/externs.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ARGS = 24, MAX_STORES = 3000000, TE_MAX_SYMBOLS_DRAWN = 16, CALLS_WITH_SYMBOLS = 4, POISON = 0xa5 };

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Floats: multiples of 1/4 in [-2, 2], exact in sums and products. Bytes: everything. Other integers: small. */
static void fill(runtime_rng *rng, DLTensor *array, tn_dtype dtype) {
  size_t n = tn_array_bytes(array) / tn_dtype_bytes(dtype);
  for (size_t i = 0; i < n; i++) {
    uint64_t r = runtime_random(rng);
    int64_t small = (int64_t)(r % 17) - (tn_dtype_is_signed(dtype) ? 8 : 0);
    switch (dtype) {
      case TN_BOOL: ((uint8_t *)array->data)[i] = r & 1; break;
      case TN_I8:
      case TN_U8: ((uint8_t *)array->data)[i] = (uint8_t)r; break;
      case TN_I16:
      case TN_U16: ((int16_t *)array->data)[i] = (int16_t)small; break;
      case TN_I32:
      case TN_U32: ((int32_t *)array->data)[i] = (int32_t)small; break;
      case TN_I64: ((int64_t *)array->data)[i] = small; break;
      case TN_F16:
      case TN_BF16: ((uint16_t *)array->data)[i] = runtime_half_bits(dtype, (double)small / 4); break;
      case TN_F32: ((float *)array->data)[i] = (float)small / 4; break;
      case TN_F64: ((double *)array->data)[i] = (double)small / 4; break;
      case TN_DTYPE_COUNT: break;
    }
  }
}

double fuzz_element(const DLTensor *array, tn_dtype dtype, int64_t i) {
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)array->data)[i]);
  switch (dtype) {
#define X(name, text, bytes, code, ctype) \
  case TN_##name: return (double)((const ctype *)array->data)[i];
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return 0;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The arguments of a run: inputs shared by both sides; outputs of the reference and of the kernel. */
typedef struct arguments {
  int n, n_inputs;
  int64_t symbols[TE_MAX_SYMBOLS_DRAWN];
  DLTensor arrays[MAX_ARGS];
  DLTensor *kernel[MAX_ARGS], *reference[MAX_ARGS];
  int64_t strides[MAX_ARGS][TN_MAX_RANK]; /* of the kernel's arrays */
} arguments;

/* Without gaps; or, of a strided tensor, with some room behind rows, and with the dimensions in any order but for the
 * last.
 */
static void draw_strides(runtime_rng *rng, const tn_tensor *t, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  int order[TN_MAX_RANK];
  for (int d = 0; d < t->ndim; d++) order[d] = d;
  for (int d = t->ndim - 2; d > 0 && t->is_strided && runtime_random_below(rng, 2); d--) {
    int other = (int)runtime_random_below(rng, d + 1), kept = order[d];
    order[d] = order[other], order[other] = kept;
  }
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (t->is_strided && d < t->ndim - 1) stride += runtime_random_below(rng, 2) ? runtime_random_below(rng, 20) : 0;
    strides[order[d]] = stride;
    stride *= shape[order[d]];
  }
}

/* Up to the last element. */
static size_t bytes_of(const tn_tensor *t, const int64_t *shape, const int64_t *strides) {
  int64_t elements = 1;
  for (int i = 0; i < t->ndim; i++) elements += (shape[i] - 1) * strides[i];
  return tn_dtype_bytes(t->dtype) * (size_t)elements;
}

/* Where element K, counted without gaps, is. */
static int64_t place_of(const DLTensor *array, int64_t k) {
  int64_t place = 0;
  for (int d = array->ndim - 1; d >= 0; k /= array->shape[d--]) place += k % array->shape[d] * array->strides[d];
  return place;
}

/* Without touching the rest. */
static void copy_elements(const DLTensor *to, const DLTensor *from, size_t bytes) {
  int64_t n = (int64_t)(tn_array_bytes(from) / bytes);
  for (int64_t k = 0; k < n; k++)
    memcpy((char *)to->data + place_of(to, k) * (int64_t)bytes, (char *)from->data + k * (int64_t)bytes, bytes);
}

/* Values of the symbols, 1 to 40 as far as they may, small ones more often. */
static void draw_symbols(runtime_rng *rng, const tn_program *p, int64_t *symbols) {
  for (int i = 0; i < p->n_symbols; i++) {
    const tn_axis *symbol = p->symbols[i];
    int64_t most = runtime_random_below(rng, 2) ? 40 : 9, least = symbol->least;
    most = RUNTIME_MAX(RUNTIME_MIN(most, symbol->extent), least);
    symbols[i] = least + runtime_random_below(rng, most - least + 1);
  }
}

static bool make_arguments(arguments *a, tn_program *p, fuzz_memory *memory, uint64_t seed) {
  runtime_rng rng = {seed};
  draw_symbols(&rng, p, a->symbols);
  a->n = tn_program_arg_count(p);
  a->n_inputs = tn_program_input_count(p);
  if (a->n > MAX_ARGS) return false;
  for (int i = 0; i < a->n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    bool at_end = runtime_random_below(&rng, 4) != 0;
    int64_t shape[TN_MAX_RANK];
    for (int d = 0; d < t->ndim; d++) shape[d] = t->size[d] ? te_size_value(p, t->size[d], a->symbols) : t->shape[d];
    draw_strides(&rng, t, shape, a->strides[i]);
    size_t bytes = bytes_of(t, shape, a->strides[i]);
    void *guarded = fuzz_memory_at(memory, i, bytes, at_end);
    a->reference[i] = guarded ? tn_array_new(p->ctx, t->dtype, t->ndim, shape) : NULL;
    if (!a->reference[i]) return false;
    a->arrays[i] = *a->reference[i];
    a->kernel[i] = &a->arrays[i];
    a->arrays[i].data = guarded;
    a->arrays[i].strides = a->strides[i];
    memset(guarded, POISON, bytes);
    if (i < a->n_inputs) fill(&rng, a->reference[i], t->dtype);
    if (i < a->n_inputs) copy_elements(&a->arrays[i], a->reference[i], tn_dtype_bytes(t->dtype));
  }
  return true;
}

static void free_arguments(arguments *a) {
  for (int i = 0; i < a->n && i < MAX_ARGS; i++) tn_array_free(a->reference[i]);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void say_where(const tn_tensor *t, const int64_t *shape, int64_t at, char *out, size_t n) {
  size_t used = (size_t)snprintf(out, n, "%s[", t->name);
  int64_t rest = at, stride = 1;
  for (int i = 0; i < t->ndim; i++) stride *= shape[i];
  for (int i = 0; i < t->ndim && used < n; i++) {
    stride /= shape[i];
    used += (size_t)snprintf(out + used, n - used, "%s%lld", i ? ", " : "", (long long)(rest / stride));
    rest %= stride;
  }
  if (used < n) snprintf(out + used, n - used, "]");
}

static bool elements_agree(const DLTensor *got, const DLTensor *want, tn_dtype dtype, int64_t i, double error) {
  size_t bytes = tn_dtype_bytes(dtype);
  int64_t at = place_of(got, i);
  if (!tn_dtype_is_float(dtype))
    return memcmp((char *)got->data + at * (int64_t)bytes, (char *)want->data + i * (int64_t)bytes, bytes) == 0;
  double g = fuzz_element(got, dtype, at), w = fuzz_element(want, dtype, i);
  return fabs(g - w) <= error || g == w || (isnan(g) && isnan(w));
}

/* Poisons the elements of a strided output, too: then nothing else may be there. */
static bool gaps_are_untouched(const tn_tensor *t, DLTensor *array) {
  const size_t bytes = tn_dtype_bytes(t->dtype), size = bytes_of(t, array->shape, array->strides);
  int64_t count = (int64_t)(tn_array_bytes(array) / bytes);
  bool untouched = true;
  for (int64_t k = 0; k < count; k++) memset((char *)array->data + place_of(array, k) * (int64_t)bytes, POISON, bytes);
  for (size_t i = 0; i < size; i++) untouched &= ((uint8_t *)array->data)[i] == POISON;
  return untouched;
}

static fuzz_status check_gaps(const tn_program *p, arguments *a, char *why, size_t n) {
  for (int i = a->n_inputs; i < a->n; i++) {
    if (!p->args[i]->is_strided || gaps_are_untouched(p->args[i], a->kernel[i])) continue;
    snprintf(why, n, "output %s: memory between its rows was written to", p->args[i]->name);
    return FUZZ_DIFFERS;
  }
  return FUZZ_AGREES;
}

static fuzz_status compare(const tn_program *p, const arguments *a, const fuzz_bound *bounds, char *why, size_t n) {
  for (int i = 0; i < a->n; i++) {
    const tn_tensor *t = p->args[i];
    double error = bounds[fuzz_tensor_number(p, t)].error;
    int64_t count = (int64_t)(tn_array_bytes(a->kernel[i]) / tn_dtype_bytes(t->dtype));
    for (int64_t k = 0; k < count; k++) {
      if (elements_agree(a->kernel[i], a->reference[i], t->dtype, k, error)) continue;
      char where[128];
      say_where(t, a->kernel[i]->shape, k, where, sizeof where);
      snprintf(why, n, "%s%s is %.17g, should be %.17g (allowed error %.3g)", i < a->n_inputs ? "input " : "", where,
               fuzz_element(a->kernel[i], t->dtype, place_of(a->kernel[i], k)),
               fuzz_element(a->reference[i], t->dtype, k), error);
      return FUZZ_DIFFERS;
    }
  }
  return FUZZ_AGREES;
}

/* ---- how long it would take -------------------------------------------------------------------------------------- */

double fuzz_count_stores(const tir_stmt *s) {
  double total = 0;
  int64_t extent = 20; /* what symbols decide: about as they are drawn */
  switch (s->kind) {
    case TIR_STORE:
    case TIR_CALL:
    case TIR_PREFETCH: return 1;
    case TIR_ALLOC: return fuzz_count_stores(s->u.alloc.body);
    case TIR_ATTR: return fuzz_count_stores(s->u.attr.body);
    case TIR_IF: return fuzz_count_stores(s->u.branch.then_body);
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; i++) total += fuzz_count_stores(s->u.seq.stmts[i]);
      return total;
    case TIR_FOR: tir_is_int(s->u.loop.extent, &extent); return (double)extent * fuzz_count_stores(s->u.loop.body);
    case TIR_NOP: return 0;
  }
  return 0;
}

static bool is_too_slow(const tn_schedule *s) {
  runtime_arena arena = {0};
  const tir_func *f = schedule_lower(s, "kernel", &arena);
  double stores = f && f->body ? fuzz_count_stores(f->body) : 0;
  runtime_arena_free(&arena);
  return stores > MAX_STORES;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static fuzz_status failed(tn_context *ctx, const char *what, char *why, size_t n) {
  snprintf(why, n, "%s: %s: %s", what, tn_status_text(tn_context_status(ctx)), tn_context_message(ctx));
  return FUZZ_DIFFERS;
}

/* Where the evaluator finds that an index from data leaves its tensor, the kernel's values are not looked at, but the
 * interpreter and the guard pages are. */
static fuzz_status run(tn_program *p, tn_schedule *s, const tn_kernel *kernel, arguments *a, const fuzz_bound *bounds,
                       char *why, size_t n) {
  tn_context *ctx = p->ctx;
  bool leaves = tn_evaluate(p, a->reference, a->n) == TN_ERROR_PROGRAM && strstr(tn_context_message(ctx), " reads ");
  if (!leaves && tn_context_status(ctx) != TN_OK) return failed(ctx, "tn_evaluate", why, n);
  if (leaves) tn_context_clear(ctx);
  if (fuzz_interpret_pair(s, a->reference, a->symbols, leaves ? NULL : bounds, why, n) != FUZZ_AGREES)
    return FUZZ_DIFFERS;
  fuzz_forget_calls();
  tn_status status = tn_call(ctx, kernel, a->kernel, a->n);
  if (status != TN_OK) return failed(ctx, "tn_call", why, n);
  if (fuzz_count_calls() != fuzz_extern_calls(p)) {
    snprintf(why, n, "the kernel calls functions %d times, not %d", fuzz_count_calls(), fuzz_extern_calls(p));
    return FUZZ_DIFFERS;
  }
  if (!leaves && compare(p, a, bounds, why, n) == FUZZ_DIFFERS) return FUZZ_DIFFERS;
  return check_gaps(p, a, why, n);
}

static void say_symbols(const tn_program *p, const arguments *a, char *why, size_t n) {
  for (int i = 0; i < p->n_symbols; i++)
    snprintf(why + strlen(why), n - strlen(why), "; %s = %lld", p->symbols[i]->var.name, (long long)a->symbols[i]);
}

/* By SEED: half of the kernels are this machine's own; the others are of processors with narrower vectors, where it has their
 * instructions: LLVM makes other code for them. */
static const tn_target *target_of(tn_context *ctx, uint64_t seed) {
  const char *name = getenv("TENON_FUZZ_TARGET");
#if defined(__x86_64__)
  bool is_haswell = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (!name && seed % 4 == 2 && is_haswell) name = "cpu=haswell";
  if (!name && seed % 4 == 3) name = "cpu=x86-64";
#endif
  return tn_target_new(ctx, name ? name : "");
}

/* One call, or with symbols several, with other values each. */
static fuzz_status run_kernel(tn_program *p, tn_schedule *s, fuzz_memory *memory, uint64_t seed,
                              const fuzz_bound *bounds, char *why, size_t n) {
  const char *compiler = getenv("TENON_FUZZ_CC");
  const tn_build_options options = {.target = target_of(p->ctx, seed)};
  tn_kernel *kernel = compiler ? fuzz_build_through_c(s, compiler) : options.target ? tn_build(s, &options) : NULL;
  bool unbounded = !kernel && fuzz_is_unbounded(tn_context_message(p->ctx));
  if (unbounded) tn_context_clear(p->ctx);
  if (!kernel) return unbounded ? FUZZ_SKIPPED : failed(p->ctx, "tn_build", why, n);
  fuzz_status status = FUZZ_SKIPPED;
  for (int call = 0; call < (p->n_symbols ? CALLS_WITH_SYMBOLS : 1) && status != FUZZ_DIFFERS; call++) {
    arguments a = {0};
    if (make_arguments(&a, p, memory, seed + (uint64_t)call)) status = run(p, s, kernel, &a, bounds, why, n);
    if (status == FUZZ_DIFFERS) say_symbols(p, &a, why, n);
    free_arguments(&a);
  }
  tn_kernel_free(kernel);
  return status;
}

/* Printing and replaying must give the same schedule. */
static fuzz_status check_round_trip(tn_schedule *s, char *why, size_t n) {
  fuzz_status result = FUZZ_DIFFERS;
  tn_schedule *again = tn_schedule_new(s->program);
  char *steps = tn_schedule_print(s, TN_FORM_STEPS), *text = tn_schedule_print(s, TN_FORM_TEXT), *steps_again = NULL;
  if (!again || !steps || !text)
    failed(s->ctx, "tn_schedule_print", why, n);
  else if (tn_schedule_replay(again, steps) != TN_OK)
    failed(s->ctx, "tn_schedule_replay", why, n);
  else {
    tn_schedule_free(again);
    again = tn_schedule_new(s->program);
    if (tn_schedule_apply(again, text) != TN_OK)
      failed(s->ctx, "tn_schedule_apply of the printed text", why, n);
    else if (!(steps_again = tn_schedule_print(again, TN_FORM_STEPS)) || strcmp(steps, steps_again) != 0)
      snprintf(why, n, "the printed text makes other steps:\n%s%s", steps, steps_again ? steps_again : "?");
    else
      result = FUZZ_AGREES;
  }
  tn_schedule_free(again);
  free(steps);
  free(text);
  free(steps_again);
  return result;
}

fuzz_status fuzz_run_pair(tn_program *p, tn_schedule *s, uint64_t data_seed, char *why, size_t n) {
  static fuzz_memory *memory; /* of the process; a worker runs one pair at a time */
  fuzz_bound bounds[FUZZ_MAX_BOUNDS];
  if (!memory) memory = fuzz_memory_new();
  snprintf(why, n, "skipped");
  if (!memory || !fuzz_bounds(p, FUZZ_MAX_BOUNDS, bounds)) return FUZZ_SKIPPED;
  if (is_too_slow(s)) return FUZZ_SKIPPED;
  if (data_seed % 8 == 0 && check_round_trip(s, why, n) != FUZZ_AGREES) return FUZZ_DIFFERS;
  if (data_seed % 4 == 1 && fuzz_check_ir_text(s, data_seed, why, n) != FUZZ_AGREES) return FUZZ_DIFFERS;
  return run_kernel(p, s, memory, data_seed, bounds, why, n);
}

fuzz_status fuzz_run_texts(const char *program, const char *schedule, uint64_t data_seed, char *why, size_t n) {
  tn_context *ctx = tn_context_new(NULL);
  tn_program *p = tn_program_parse(ctx, program, 0, NULL);
  tn_schedule *s = tn_schedule_new(p);
  fuzz_status status = FUZZ_SKIPPED;
  fuzz_bind_externs(p, fuzz_links_ir(data_seed));
  if (!s || tn_schedule_apply(s, schedule) != TN_OK)
    snprintf(why, n, "refused: %s", tn_context_message(ctx));
  else
    status = fuzz_run_pair(p, s, data_seed, why, n);
  tn_context_free(ctx);
  return status;
}
