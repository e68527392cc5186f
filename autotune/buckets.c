/* buckets.c: records of some sizes serve a symbol. At each size stands the kernel of that size, as it was tuned; between two
 * of them the larger one's schedule, on loops whose extents the symbol decides. One function chooses among them. */
#include "autotune/internal.h"
#include "schedule/state.h"

/* What is being made. The schedules are the context's. */
typedef struct bucketing {
  tn_context *ctx;
  tn_program *program;
  const tn_target *target;
  const char *log; /* NULL: there is none */
  tn_bucket *out;
  tn_schedule *whole;
} bucketing;

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static tn_status refuse(const bucketing *b, const char *fmt, ...) TN_PRINTF(2, 3);
static tn_status refuse(const bucketing *b, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  tn_status status =
      runtime_fail(b->ctx, TN_ERROR_ARGUMENT, "buckets: %s", text.failed ? "out of memory for a message" : text.data);
  runtime_str_free(&text);
  return status;
}

static tn_status check_symbol(const bucketing *b, const char *symbol) {
  const tn_program *p = b->program;
  bool is_there = false;
  for (int i = 0; i < p->n_symbols; ++i) is_there |= strcmp(p->symbols[i]->var.name, symbol) == 0;
  if (p->n_symbols == 0)
    return refuse(b, "the program has no symbol '%s': all its extents are numbers; declare one, as in symbol %s<=4096",
                  symbol, symbol);
  if (!is_there) return refuse(b, "the program has no symbol '%s': name %s", symbol, p->symbols[0]->var.name);
  if (p->n_symbols == 1) return TN_OK;
  const char *other = p->symbols[strcmp(p->symbols[0]->var.name, symbol) == 0]->var.name;
  return refuse(b,
                "the program has %d symbols, and one function chooses by one: give the others a number, as in -p %s=64",
                p->n_symbols, other);
}

static tn_status check_sizes(const bucketing *b, int n, const int64_t *sizes) {
  const tn_axis *symbol = b->program->symbols[0];
  if (n < 1 || n > TN_MAX_BUCKETS) return refuse(b, "%d sizes: give 1 to %d", n, (int)TN_MAX_BUCKETS);
  for (int i = 0; i < n; ++i) {
    if (sizes[i] < symbol->least || sizes[i] > symbol->extent)
      return refuse(b, "%s=%lld is none of the symbol's values, %lld to %lld: change the size, or the symbol's limits",
                    symbol->var.name, (long long)sizes[i], (long long)symbol->least, (long long)symbol->extent);
    if (i > 0 && sizes[i] == sizes[i - 1])
      return refuse(b, "%lld stands there twice: name each size once", (long long)sizes[i]);
    if (i > 0 && sizes[i] < sizes[i - 1])
      return refuse(b, "%lld stands behind %lld: name the sizes in ascending order", (long long)sizes[i],
                    (long long)sizes[i - 1]);
  }
  return TN_OK;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* The record of the program with that number, or the generic schedule. */
static tn_schedule *best_of(const bucketing *b, tn_program *program, tn_bucket *bucket) {
  runtime_quiet quiet = runtime_quiet_begin(b->ctx);
  tn_schedule *best = b->log ? tn_apply_best(program, b->target, b->log, &bucket->seconds) : NULL;
  tn_status status = tn_context_status(b->ctx);
  char why[sizeof b->ctx->message];
  memcpy(why, b->ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  if (best) return best;
  if (b->log && status != TN_ERROR_RECORD) return runtime_fail(b->ctx, status, "%s", why), NULL;
  const tn_machine machine = tn_target_machine(b->target);
  best = tn_schedule_new(program);
  return best && tn_schedule_auto(best, &machine) == TN_OK ? best : NULL;
}

/* The generic schedule of the number, where a record's steps are not legal for a symbol, and else the program's own loops. */
static tn_status schedule_range(const bucketing *b, tn_schedule *s, const tn_schedule *best, tn_bucket *bucket) {
  const tn_machine machine = tn_target_machine(b->target);
  runtime_quiet quiet = runtime_quiet_begin(b->ctx);
  bool fits = schedule_replay_symbolic(s, best) == TN_OK;
  if (!fits) {
    tn_schedule *generic = tn_schedule_new(best->program);
    tn_context_clear(b->ctx);
    bool made = generic && tn_schedule_auto(generic, &machine) == TN_OK;
    bucket->is_plain = !made || schedule_replay_symbolic(s, generic) != TN_OK;
    tn_schedule_free(generic);
  }
  runtime_quiet_end(&quiet);
  return tn_context_status(b->ctx);
}

/* The values FIRST to LAST, by the schedule BEST of a program of one size. */
static tn_status add_range(const bucketing *b, int64_t first, int64_t last, const tn_schedule *best,
                           tn_bucket *bucket) {
  if (first > last) return TN_OK;
  tn_program *program = te_within(b->program, 0, first, last);
  tn_schedule *s = program ? tn_schedule_new(program) : NULL;
  if (!s) return tn_context_status(b->ctx);
  tn_status status = first == last ? TN_OK : schedule_range(b, s, best, bucket);
  if (status == TN_OK && first == last) {
    const tn_machine machine = tn_target_machine(b->target);
    status = tn_schedule_auto(s, &machine);
  }
  return status == TN_OK ? tn_schedule_add_variant(b->whole, first, last, s) : status;
}

/* The values above the bucket before, and the size itself. */
static tn_status add_bucket(const bucketing *b, int64_t first, int64_t size, int64_t last, tn_bucket *bucket) {
  *bucket = (tn_bucket){.size = size};
  tn_program *program = te_within(b->program, 0, size, size);
  tn_schedule *best = program ? best_of(b, program, bucket) : NULL;
  tn_status status = best ? add_range(b, first, size - 1, best, bucket) : tn_context_status(b->ctx);
  if (status == TN_OK) status = tn_schedule_add_variant(b->whole, size, size, best);
  return status == TN_OK ? add_range(b, size + 1, last, best, bucket) : status;
}

static tn_status make(bucketing *b, int n, const int64_t *sizes) {
  const tn_axis *symbol = b->program->symbols[0];
  int64_t first = symbol->least;
  tn_status status = b->whole ? TN_OK : tn_context_status(b->ctx);
  for (int i = 0; i < n && status == TN_OK; ++i) {
    int64_t last = i + 1 == n ? symbol->extent : sizes[i];
    status = add_bucket(b, first, sizes[i], last, &b->out[i]);
    first = sizes[i] + 1;
  }
  return status;
}

tn_schedule *tn_apply_buckets(tn_program *program, const tn_target *target, const char *log, const char *symbol, int n,
                              const int64_t *sizes, tn_bucket *out) {
  tn_bucket own[TN_MAX_BUCKETS];
  if (!program || !RUNTIME_GIVEN(program->ctx, symbol) || !RUNTIME_GIVEN(program->ctx, sizes)) return NULL;
  bucketing b = {.ctx = program->ctx, .program = program, .target = target, .log = log, .out = out ? out : own};
  if (!b.target) b.target = tn_target_new(b.ctx, NULL);
  if (!b.target || check_symbol(&b, symbol) != TN_OK || check_sizes(&b, n, sizes) != TN_OK) return NULL;
  b.whole = tn_schedule_new(program);
  if (make(&b, n, sizes) == TN_OK) return b.whole;
  tn_schedule_free(b.whole);
  return NULL;
}
