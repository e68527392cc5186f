/* buckets.c: records of some sizes serve a symbol. Each of those sizes has its kernel as it was tuned, and
 * each of the first values has one of its own. Between two sizes their schedules serve, on loops whose
 * extents the symbol decides, or generic ones where those would be far behind. One function chooses among
 * them. */
#include "autotune/bucket_pieces.h"
#include "schedule/state.h"

/* The schedule that is being made. Schedules are the context's. */
typedef struct bucketing {
  tn_context *ctx;
  tn_program *program;
  const tn_target *target;
  const char *log; /* NULL: none */
  tn_machine machine;
  int n; /* sizes */
  tn_bucket *out;
  tn_schedule *best[TN_MAX_BUCKETS]; /* the schedule of each size */
  RUNTIME_VEC(bucket_piece) pieces;  /* all values of the symbol, ascending; each piece becomes a variant */
  bool failed;                       /* no memory for a piece */
  tn_schedule *whole;
} bucketing;

static void add_piece(bucketing *b, bucket_piece piece) {
  if (!RUNTIME_PUSH(&b->pieces, piece)) b->failed = true;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

/* Always TN_ERROR_ARGUMENT, or no memory for the message. */
static tn_status refuse(const bucketing *b, const char *fmt, ...) TN_PRINTF(2, 3);
static tn_status refuse(const bucketing *b, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  tn_status status =
      runtime_fail(b->ctx, TN_ERROR_ARGUMENT, "buckets: %s", text.failed ? "out of memory for a message" : text.data);
  runtime_str_free(&text);
  return status;
}

/* The program has to have this symbol and no other. */
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

/* Sizes have to be values of the symbol and to ascend. */
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

/* The schedule of the record of PROGRAM, whose symbol is a number, or the generic schedule. BUCKET gets the
 * record's time. */
static tn_schedule *best_of(const bucketing *b, tn_program *program, tn_bucket *bucket) {
  runtime_quiet quiet = runtime_quiet_begin(b->ctx);
  tn_schedule *best = b->log ? tn_apply_best(program, b->target, b->log, &bucket->seconds) : NULL;
  tn_status status = tn_context_status(b->ctx);
  char why[sizeof b->ctx->message];
  memcpy(why, b->ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  if (best) return best;
  if (b->log && status != TN_ERROR_RECORD) return runtime_fail(b->ctx, status, "%s", why), NULL;
  best = tn_schedule_new(program);
  return best && tn_schedule_auto(best, &b->machine) == TN_OK ? best : NULL;
}

/* SIZE if it is odd, or else the next one, at most the symbol's last value. Blocks of an even size may be
 * whole, so that its steps say nothing about a remainder. */
static int64_t odd_size(const bucketing *b, int64_t size) {
  return size % 2 == 1 ? size : RUNTIME_MIN(size + 1, b->program->symbols[0]->extent);
}

/* Gives S the generic schedule of a size, on loops of the symbol's extent. */
static bool schedule_as(const bucketing *b, tn_schedule *s, int64_t wanted) {
  int64_t size = odd_size(b, wanted);
  tn_program *program = te_within(b->program, 0, size, size);
  tn_schedule *generic = program ? tn_schedule_new(program) : NULL;
  bool fits = generic && tn_schedule_auto(generic, &b->machine) == TN_OK &&
              schedule_replay_symbolic(s, generic, b->machine.threads) == TN_OK;
  tn_schedule_free(generic);
  if (!fits && tn_context_status(b->ctx) != TN_ERROR_MEMORY) tn_context_clear(b->ctx);
  return fits;
}

/* Schedules a range of values as the size does. Where those steps are illegal for a symbol (a loop that is
 * one vector, say), it takes the generic schedule of that size or of a larger one, whose loops are split,
 * and otherwise the program's own loops. */
static tn_status schedule_range(const bucketing *b, tn_schedule *s, const tn_schedule *best, tn_bucket *bucket) {
  enum { LARGER = 64 };
  const tn_axis *symbol = b->program->symbols[0];
  runtime_quiet quiet = runtime_quiet_begin(b->ctx);
  bool fits = schedule_replay_symbolic(s, best, b->machine.threads) == TN_OK;
  if (!fits) tn_context_clear(b->ctx);
  fits = fits || schedule_as(b, s, bucket->size) ||
         schedule_as(b, s, RUNTIME_MIN(symbol->extent - 1 + symbol->extent % 2, LARGER * bucket->size));
  if (!fits) bucket->is_plain = true;
  runtime_quiet_end(&quiet);
  return tn_context_status(b->ctx);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The bucket of that size; -1: none. */
static int bucket_of(const bucketing *b, int64_t size) {
  for (int i = 0; i < b->n; ++i)
    if (b->out[i].size == size) return i;
  return -1;
}

/* The schedule of a size: a bucket's, the log's or the generic one. */
static const tn_schedule *schedule_of(const bucketing *b, int64_t size) {
  int bucket = bucket_of(b, size);
  tn_bucket own = {.size = size};
  if (bucket >= 0) return b->best[bucket];
  tn_program *program = te_within(b->program, 0, size, size);
  return program ? best_of(b, program, &own) : NULL;
}

/* Whether there is a record of the size. */
static bool is_tuned(const bucketing *b, int64_t size) {
  int bucket = bucket_of(b, size);
  return bucket >= 0 && b->out[bucket].seconds > 0;
}

/* Whether values below SIZE, LAST at the most, are served by an odd one below it: where those of the size and more are stored past the
 * caches, these need not be. */
static bool is_served_below(const bucketing *b, int64_t size, int64_t last) {
  const tn_schedule *odd =
      is_tuned(b, size) || size % 2 == 1 || last >= size ? NULL : schedule_of(b, odd_size(b, size));
  return odd && bucket_streams(odd);
}

/* The schedule of a size that also serves other values, LAST at the most. */
static const tn_schedule *serving_schedule_of(const bucketing *b, int64_t size, int64_t last) {
  if (is_served_below(b, size, last)) return schedule_of(b, size - 1);
  return schedule_of(b, is_tuned(b, size) ? size : odd_size(b, size));
}

/* Piece P without the values that are whole numbers of vectors, up to a few. Their rows have no tail, which is much of so short a row, and rows
 * can be joined: each has a kernel of its own. What was tuned serves them as it serves the others. */
static void add_without_vectors(bucketing *b, const bucket_piece *p) {
  int64_t lanes = RUNTIME_MAX(b->machine.vector_bytes / (int64_t)sizeof(float), 1), first = p->first;
  int64_t last = is_tuned(b, p->size) ? 0 : RUNTIME_MIN(p->last, BUCKET_VECTORS * lanes);
  for (int64_t m = (first + lanes - 1) / lanes * lanes; m <= last; m += lanes) {
    if (first < m) add_piece(b, (bucket_piece){first, m - 1, p->size});
    add_piece(b, (bucket_piece){m, m, m});
    first = m + 1;
  }
  if (first <= p->last) add_piece(b, (bucket_piece){first, p->last, p->size});
}

/* Adds the pieces between two buckets, of which one may be missing (-1): the first values get a kernel
 * each, the rest is cut. */
static tn_status cut_between(bucketing *b, int64_t first, int64_t last, int lower, int upper) {
  bucket_piece cut[BUCKET_MAX_PIECES];
  int n = 0;
  for (; first <= last && first <= BUCKET_EACH_UP_TO; ++first) add_piece(b, (bucket_piece){first, first, first});
  const bucket_range range = {.program = b->program,
                              .machine = &b->machine,
                              .first = first,
                              .last = last,
                              .below = lower >= 0 ? b->out[lower].size : 0,
                              .above = upper >= 0 ? b->out[upper].size : 0};
  tn_status status = first <= last ? bucket_cut(&range, cut, &n) : TN_OK;
  for (int i = 0; i < n; ++i) add_without_vectors(b, &cut[i]);
  return status;
}

/* Of several values each, and served by one schedule. */
static bool is_served_alike(const bucketing *b, const bucket_piece *x, const bucket_piece *y) {
  bool is_same = x->size == y->size && x->first < x->last && y->first < y->last;
  if (!is_same || (x->last < x->size) == (y->last < y->size)) return is_same;
  return !is_served_below(b, x->size, RUNTIME_MIN(x->last, y->last));
}

/* One schedule for all pieces that are served as one is, so that they are one function: its program's limits hold all of them. */
static const tn_schedule *schedule_of_pieces(const bucketing *b, const bucket_piece *one) {
  int64_t first = INT64_MAX, last = 0, size = one->size;
  for (int i = 0; i < b->pieces.n; ++i) {
    const bucket_piece *p = &b->pieces.data[i];
    if (!is_served_alike(b, p, one)) continue;
    first = RUNTIME_MIN(first, p->first);
    last = RUNTIME_MAX(last, p->last);
  }
  const tn_schedule *best = serving_schedule_of(b, size, last);
  tn_program *program = best ? te_within(b->program, 0, first, last) : NULL;
  tn_schedule *s = program ? tn_schedule_new(program) : NULL;
  int bucket = bucket_of(b, size);
  tn_bucket own = {.size = size};
  return s && schedule_range(b, s, best, bucket >= 0 ? &b->out[bucket] : &own) == TN_OK ? s : NULL;
}

/* The schedule of an earlier piece that is served alike. NULL: there is none. */
static const tn_schedule *made_before(const bucketing *b, int at) {
  for (int i = 0; i < at; ++i) {
    const bucket_piece *p = &b->pieces.data[i];
    if (is_served_alike(b, p, &b->pieces.data[at])) return b->whole->variants[i].schedule;
  }
  return NULL;
}

static tir_walk find_lost(void *user, const tir_stmt *s) {
  int64_t extent;
  (void)user;
  bool is_unrolled = s->kind == TIR_FOR && s->u.loop.kind == TIR_UNROLLED;
  return is_unrolled && !tir_is_int(s->u.loop.extent, &extent) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether a loop that was to be unrolled has an extent now that the symbol decides. */
static bool loses_unrolling(const tn_schedule *s) {
  runtime_arena arena = {0};
  const tir_func *f = schedule_lower(s, "piece", &arena);
  bool loses = f && !tir_walk_stmt(f->body, &(tir_visitor){.stmt = find_lost});
  runtime_arena_free(&arena);
  return loses;
}

/* Whether a symbol takes all of the steps that serve a piece. */
static bool takes_steps(const bucketing *b, const bucket_piece *p) {
  runtime_quiet quiet = runtime_quiet_begin(b->ctx);
  const tn_schedule *best = serving_schedule_of(b, p->size, p->last);
  tn_program *program = best ? te_within(b->program, 0, p->first, p->last) : NULL;
  tn_schedule *s = program ? tn_schedule_new(program) : NULL;
  bool takes = s && schedule_replay_symbolic(s, best, b->machine.threads) == TN_OK && !loses_unrolling(s);
  tn_schedule_free(s);
  if (tn_context_status(b->ctx) != TN_ERROR_MEMORY) tn_context_clear(b->ctx);
  runtime_quiet_end(&quiet);
  return takes;
}

/* Rows that are short enough to be unrolled, and such: where a symbol does not take the steps, each value has its own up to here. */
static void take_apart(bucketing *b) {
  enum { UP_TO = 2 * BUCKET_EACH_UP_TO };
  bucketing old = *b;
  b->pieces.data = NULL, b->pieces.n = b->pieces.cap = 0;
  for (int i = 0; i < old.pieces.n; ++i) {
    bucket_piece p = old.pieces.data[i];
    bool is_apart = p.first < p.last && p.last <= UP_TO && !takes_steps(b, &p);
    if (!is_apart) add_piece(b, p);
    for (int64_t m = p.first; is_apart && m <= p.last; ++m) add_piece(b, (bucket_piece){m, m, m});
  }
  RUNTIME_VEC_FREE(&old.pieces);
}

/* Adds piece AT as a variant. A piece of one value has the schedule of that size; a longer one shares a
 * schedule with pieces that are served alike. */
static tn_status add_variant(const bucketing *b, int at) {
  const bucket_piece *p = &b->pieces.data[at];
  const tn_schedule *s = p->first < p->last ? made_before(b, at) : schedule_of(b, p->first);
  if (!s && p->first < p->last) s = schedule_of_pieces(b, p);
  return s ? tn_schedule_add_variant(b->whole, p->first, p->last, s) : tn_context_status(b->ctx);
}

/* Finds the schedule of size I, and notes in OUT what it is. */
static tn_status find_best(bucketing *b, int i, int64_t size) {
  b->out[i] = (tn_bucket){.size = size};
  tn_program *program = te_within(b->program, 0, size, size);
  b->best[i] = program ? best_of(b, program, &b->out[i]) : NULL;
  return b->best[i] ? TN_OK : tn_context_status(b->ctx);
}

/* Finds the schedules of all sizes, cuts what is between them, and adds a variant for each piece. */
static tn_status make(bucketing *b, const int64_t *sizes) {
  const tn_axis *symbol = b->program->symbols[0];
  int64_t first = symbol->least;
  tn_status status = b->whole ? TN_OK : tn_context_status(b->ctx);
  for (int i = 0; i < b->n && status == TN_OK; ++i) status = find_best(b, i, sizes[i]);
  for (int i = 0; i < b->n && status == TN_OK; ++i) {
    status = cut_between(b, first, sizes[i] - 1, i - 1, i);
    add_piece(b, (bucket_piece){sizes[i], sizes[i], sizes[i]});
    first = sizes[i] + 1;
  }
  if (status == TN_OK) status = cut_between(b, first, symbol->extent, b->n - 1, -1);
  if (status == TN_OK) take_apart(b);
  if (b->failed) status = runtime_fail(b->ctx, TN_ERROR_MEMORY, "out of memory for a kernel of several");
  for (int i = 0; i < b->pieces.n && status == TN_OK; ++i) status = add_variant(b, i);
  RUNTIME_VEC_FREE(&b->pieces);
  return status;
}

tn_schedule *tn_apply_buckets(tn_program *program, const tn_target *target, const char *log, const char *symbol, int n,
                              const int64_t *sizes, tn_bucket *out) {
  tn_bucket own[TN_MAX_BUCKETS];
  if (!program || !RUNTIME_GIVEN(program->ctx, symbol) || !RUNTIME_GIVEN(program->ctx, sizes)) return NULL;
  bucketing b = {.ctx = program->ctx, .program = program, .target = target, .log = log, .out = out ? out : own};
  if (!b.target) b.target = tn_target_new(b.ctx, NULL);
  if (!b.target || check_symbol(&b, symbol) != TN_OK || check_sizes(&b, n, sizes) != TN_OK) return NULL;
  b.machine = tn_target_machine(b.target);
  b.whole = tn_schedule_new(program);
  b.n = n;
  if (make(&b, sizes) == TN_OK) return b.whole;
  tn_schedule_free(b.whole);
  return NULL;
}
