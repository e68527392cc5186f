/* conv.c: the convolutions of the Ansor paper by their names (C2D-0 ... DEP-3, DIL-0 ... DIL-3), batch 1. Zeros around
 * the input come from a stage of their own, computed for the rows that a block of the output needs. */
#include <string.h>

#include "bench.h"

/* A first level cache as many processors have it: 64 sets of 12 lines of 64 bytes, 48 KB. A block of copied
 * input takes seven eighths of it. The schedules are written by hand for such a machine. */
enum { LINE_FLOATS = 16, SETS = 64, WAYS = 12, COPY_BYTES = SETS * WAYS * LINE_FLOATS * 4 / 8 * 7 };

/* A layer: image H x H, CI channels in, CO filters (0: depthwise) of K x K, and the schedule's register
 * tile. */
typedef struct shape {
  const char *name;
  int h, ci, co, k, stride, pad, dil;
  int rows, columns; /* the register tile: output columns (or pixels) by channels */
} shape;

/* The Ansor paper's operators, with the register tile of the schedule below. */
static const shape shapes[] = {
    {"C2D-0", 224, 3, 64, 7, 2, 3, 1, 14, 32},   {"C2D-1", 56, 64, 64, 1, 1, 0, 1, 7, 64},
    {"C2D-2", 14, 256, 256, 3, 1, 1, 1, 14, 32}, {"C2D-3", 7, 512, 512, 3, 1, 1, 1, 7, 64},
    {"DIL-0", 224, 3, 64, 7, 2, 3, 2, 14, 32},   {"DIL-1", 56, 64, 64, 1, 1, 0, 2, 7, 64},
    {"DIL-2", 14, 256, 256, 3, 1, 1, 2, 12, 32}, {"DIL-3", 7, 512, 512, 3, 1, 1, 2, 5, 64},
    {"DEP-0", 112, 32, 0, 3, 1, 1, 1, 8, 32},    {"DEP-1", 112, 64, 0, 3, 2, 1, 1, 7, 32},
    {"DEP-2", 14, 512, 0, 3, 2, 1, 1, 7, 32},    {"DEP-3", 7, 1024, 0, 3, 1, 1, 1, 7, 32},
};

static const char conv_program[] =
    "param H = %d, C = %d, F = %d, K = %d, S = %d, P = %d, D = %d, O = %d\n"
    "input I: f32[1, H, H, C], W: f32[K, K, C, F]\n"
    "Pad[n<1, y<H+2*P, x<H+2*P, c<C] = select(y >= P && y < H+P && x >= P && x < H+P, I[n, y-P, x-P, c], 0)\n"
    "Out[n<1, h<O, w<O, f<F] = sum[r<K, s<K, c<C](Pad[n, h*S + r*D, w*S + s*D, c] * W[r,s,c,f])\n";

/* With a bias and ReLU: the sums are a local stage, as cache_write makes one of the plain convolution's. */
static const char fused_program[] =
    "param H = %d, C = %d, F = %d, K = %d, S = %d, P = %d, D = %d, O = %d\n"
    "input I: f32[1, H, H, C], W: f32[K, K, C, F], B: f32[F]\n"
    "Pad[n<1, y<H+2*P, x<H+2*P, c<C] = select(y >= P && y < H+P && x >= P && x < H+P, I[n, y-P, x-P, c], 0)\n"
    "T[n<1, h<O, w<O, f<F] = sum[r<K, s<K, c<C](Pad[n, h*S + r*D, w*S + s*D, c] * W[r,s,c,f])\n"
    "Out[n<1, h<O, w<O, f<F] = max(T[n,h,w,f] + B[f], 0)\n";

/* One filter of K x K for each channel: no sum over channels. */
static const char depthwise_program[] =
    "param H = %d, C = %d, F = %d, K = %d, S = %d, P = %d, D = %d, O = %d\n"
    "input I: f32[1, H, H, C], W: f32[K, K, C]\n"
    "Pad[n<1, y<H+2*P, x<H+2*P, c<C] = select(y >= P && y < H+P && x >= P && x < H+P, I[n, y-P, x-P, c], 0)\n"
    "Out[n<1, h<O, w<O, f<C] = sum[r<K, s<K](Pad[n, h*S + r*D, w*S + s*D, f] * W[r,s,f])\n";

/* Channels outermost, so that their weights stay in the cache; the padded input is made once. */
static const char conv_schedule[] =
    "cache_write(Out, local)\n"
    "split(Out, w, %d, tail=peel); split(Out, f, %d)\n"
    "reorder(Out, n, f.outer, h, w.outer, w.inner, f.inner); vectorize(Out, f.inner)\n"
    "compute_at(Out.local, Out, w.outer)\n"
    "reorder(Out.local, n.c, h.c, r, s, c, w.c, f.c); vectorize(Out.local, f.c)\n"
    "%s%s%s";

/* As conv_schedule, for the program with bias and ReLU: T takes the place of Out.local. */
static const char fused_schedule[] =
    "set_scope(T, local)\n"
    "split(Out, w, %d, tail=peel); split(Out, f, %d)\n"
    "reorder(Out, n, f.outer, h, w.outer, w.inner, f.inner); vectorize(Out, f.inner)\n"
    "compute_at(T, Out, w.outer)\n"
    "reorder(T, n, h, r, s, c, w, f); vectorize(T, f)\n"
    "%s%s%s";

/* As conv_schedule, with the whole window unrolled: only K * K products make a sum. */
static const char depthwise_schedule[] =
    "cache_write(Out, local)\n"
    "split(Out, w, %d, tail=peel); split(Out, f, %d)\n"
    "reorder(Out, n, h, f.outer, w.outer, w.inner, f.inner); vectorize(Out, f.inner)\n"
    "compute_at(Out.local, Out, w.outer)\n"
    "reorder(Out.local, n.c, h.c, r, s, w.c, f.c); vectorize(Out.local, f.c); unroll(Out.local, r); unroll(Out.local, "
    "s)\n"
    "%s%s%s";

/* Channels and rows in blocks, whose input is copied, zeros and all, to where its pixels lie close to each other. */
static const char copied_schedule[] =
    "cache_write(Out, local)\n"
    "split(Out, w, %d, tail=peel); split(Out, h, %d, tail=peel); split(Out, f, %d); split(Out, f.inner, 32)\n"
    "reorder(Out, n, f.outer, h.outer, h.inner, f.inner.outer, w.outer, w.inner, f.inner.inner)\n"
    "vectorize(Out, f.inner.inner)\n"
    "compute_at(Out.local, Out, w.outer)\n"
    "reorder(Out.local, n.c, h.c, r, s, w.c, f.c); vectorize(Out.local, f.c); unroll(Out.local, r); unroll(Out.local, "
    "s)\n"
    "compute_at(Pad, Out, h.outer); split(Pad, c, 32); vectorize(Pad, c.inner)\n"
    "%s";

/* A program with the schedule written for it, and what is added to the schedule where it applies. */
typedef struct form {
  const char *program, *schedule;
  const char *linear; /* for a filter whose row is one contiguous piece of the input: makes one loop of two */
  const char *parallel;
} form;

static const form plain = {conv_program, conv_schedule, "fuse(Out.local, s, c)\n", "parallel(Out, f.outer)\n"};
static const form fused = {fused_program, fused_schedule, "fuse(T, s, c)\n", "parallel(Out, f.outer)\n"};
static const form depthwise = {depthwise_program, depthwise_schedule, "", "parallel(Out, h)\n"};

static bool is_depthwise(const shape *s) { return s->co == 0; }
static int filters(const shape *s) { return is_depthwise(s) ? s->ci : s->co; }
static int outputs(const shape *s) { return (s->h + 2 * s->pad - (s->k - 1) * s->dil - 1) / s->stride + 1; }

/* How zeros around the input are made: on the fly where that is cheap, otherwise by vectors over channels or,
 * for few channels, over whole rows. */
static const char *pad_schedule(const shape *s) {
  if (s->pad == 0 || is_depthwise(s)) return "compute_inline(Pad)\n";
  return s->ci % 16 == 0 ? "split(Pad, c, 16); vectorize(Pad, c.inner)\n"
                         : "fuse(Pad, x, c); split(Pad, x.c.fused, 16); vectorize(Pad, x.c.fused.inner)\n";
}

/* Whether the input of a tile, whose pixels lie a multiple of a power of two apart, falls into so few sets of the first
 * level cache that it does not stay there between two rows of the filter. With a stride an input counts for too few
 * outputs to be worth copying. */
static bool is_copied(const shape *s) {
  int lines = s->ci / LINE_FLOATS, power = lines & -lines;
  if (!is_depthwise(s) || s->stride != 1 || lines == 0 || s->ci % 64 != 0) return false;
  int sets = power < SETS ? SETS / power : 1;
  return s->k * (s->rows + s->k - 1) > WAYS * sets;
}

/* 128 channels where a whole image of them fits into most of that cache, otherwise 64, and as many rows as fit. */
static void write_copied(const shape *s, int threads, bench_text *out) {
  int padded = s->h + 2 * s->pad, fits = (COPY_BYTES / 4) / padded, o = outputs(s);
  int channels = fits / 128 >= padded && s->ci % 128 == 0 ? 128 : 64, most = fits / channels - (s->k - 1) * s->dil;
  int blocks = most < 1 ? o : (o + most - 1) / most;
  snprintf(out->schedule, sizeof out->schedule, copied_schedule, s->rows, (o + blocks - 1) / blocks, channels,
           threads > 1 ? "parallel(Out, f.outer)\n" : "");
}

/* Writes the program and its schedule for shape S. The copied form replaces the schedule, not the program. */
static void write_form(const form *f, const shape *s, int threads, bench_text *out) {
  bool is_linear = s->dil == 1 && s->ci < 16;
  snprintf(out->program, sizeof out->program, f->program, s->h, s->ci, filters(s), s->k, s->stride, s->pad, s->dil,
           outputs(s));
  if (is_copied(s)) {
    write_copied(s, threads, out);
    return;
  }
  snprintf(out->schedule, sizeof out->schedule, f->schedule, s->rows, s->columns, pad_schedule(s),
           is_linear ? f->linear : "", threads > 1 ? f->parallel : "");
}

/* Completes C. Operations and bytes are those of the textbook convolution, padding not counted. */
static void fill(bench_case *c, const shape *s, bool with_relu, int threads) {
  int o = outputs(s), co = filters(s), groups = is_depthwise(s) ? s->ci : 1;
  write_form(is_depthwise(s) ? &depthwise : with_relu ? &fused : &plain, s, threads, &c->text);
  if (with_relu) {
    write_form(&plain, s, threads, &c->other);
    c->other_name = "plain";
    c->other_differs = true;
  } else {
    c->problem.op = VENDOR_CONV;
  }
  memcpy(c->problem.dim, (int64_t[]){1, s->h, s->h, s->ci, co, s->k, s->stride, s->pad, s->dil, groups},
         10 * sizeof(int64_t));
  c->flops = 2.0 * o * o * co * s->k * s->k * s->ci / groups;
  c->bytes = 4.0 * ((double)s->h * s->h * s->ci + (double)s->k * s->k * co * s->ci / groups + (double)o * o * co);
}

/* "C2D-0", and for a convolution that is not depthwise "C2D-0-bias-relu". */
bool bench_conv(bench_case *c, const char *name, int threads) {
  static const char relu[] = "-bias-relu";
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    size_t n = strlen(shapes[i].name);
    bool with_relu = strcmp(name + (strlen(name) < n ? 0 : n), relu) == 0 && !is_depthwise(&shapes[i]);
    if (strncmp(name, shapes[i].name, n) != 0 || (name[n] != '\0' && !with_relu)) continue;
    fill(c, &shapes[i], with_relu, threads);
    return true;
  }
  return false;
}
