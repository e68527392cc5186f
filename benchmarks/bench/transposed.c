/* transposed.c: the transposed convolutions of the Ansor paper, T2D-0 ... T2D-3 (kernel 4, stride 2, padding 1, batch
 * 1). Three of four products of the textbook form meet a zero that the stride puts between the inputs. Here the sum
 * runs `where` the output's parity meets the filter's: with the parities unrolled the condition is a constant, and what
 * is left are four dense convolutions. Beside it runs `zeros`: the same operator with the zeros kept, scheduled alike.
 */
#include <string.h>

#include "bench.h"

/* A layer: image H x H, CI channels in, CO filters; kernel, stride and padding are the same for all. */
typedef struct shape {
  const char *name;
  int h, ci, co;
} shape;

static const shape shapes[] = {
    {"T2D-0", 4, 512, 256}, {"T2D-1", 8, 256, 128}, {"T2D-2", 16, 128, 64}, {"T2D-3", 32, 64, 3}};

/* ---- many filters: vectors over them ----------------------------------------------------------------------------- */

/* An output pixel (h, w) is (y, p, x, q): a pixel of the input and the parity of its row and column. Only one
 * filter tap in four meets a parity. */
static const char program[] =
    "param H = %d, C = %d, F = %d\n"
    "input I: f32[1, H, H, C], W: f32[4, 4, C, F]\n"
    "Pad[y<H+2, x<H+2, c<C] = select(y >= 1 && y <= H && x >= 1 && x <= H, I[0, y-1, x-1, c], 0)\n"
    "T[y<H, p<2, x<H, q<2, f<F] = sum[r<4, s<4, c<C where (p+r)%%2 == 0 && (q+s)%%2 == 0](\n"
    "  Pad[y+(p+r)//2, x+(q+s)//2, c] * W[3-r, 3-s, c, f])\n"
    "Out[n<1, h<2*H, w<2*H, f<F] = T[h//2, h%%2, w//2, w%%2, f]\n";

/* The parities h.inner and w.inner are outside of the other loops and unrolled, so that the condition is
 * decided when the code is made. */
static const char schedule[] =
    "set_scope(T, local)\n"
    "split(Out, h, 2); split(Out, w, 2); split(Out, h.outer, 2); split(Out, w.outer, 4); split(Out, f, 32)\n"
    "reorder(Out, n, f.outer, h.inner, w.inner, h.outer.outer, w.outer.outer, h.outer.inner, w.outer.inner, f.inner)\n"
    "unroll(Out, h.inner); unroll(Out, w.inner); vectorize(Out, f.inner)\n"
    "compute_at(T, Out, w.outer.outer); split(T, r, 2); split(T, s, 2)\n"
    "reorder(T, r.inner, s.inner, r.outer, s.outer, c, y, p, x, q, f)\n"
    "unroll(T, r.inner); unroll(T, s.inner); vectorize(T, f)\n"
    "split(Pad, c, 16); vectorize(Pad, c.inner)\n"
    "%s";

/* The input with zeros between its pixels, then an ordinary convolution over it. */
static const char zeros_program[] =
    "param H = %d, C = %d, F = %d\n"
    "input I: f32[1, H, H, C], W: f32[4, 4, C, F]\n"
    "D[y<2*H+3, x<2*H+3, c<C] = select(y >= 2 && x >= 2 && y <= 2*H && x <= 2*H && y %% 2 == 0 && x %% 2 == 0,\n"
    "  I[0, (y-2)//2, (x-2)//2, c], 0)\n"
    "Out[n<1, h<2*H, w<2*H, f<F] = sum[r<4, s<4, c<C](D[h+r, w+s, c] * W[3-r, 3-s, c, f])\n";

/* A tile of 8 columns by 32 filters is summed in registers. */
static const char zeros_schedule[] =
    "cache_write(Out, local)\n"
    "split(Out, w, 8); split(Out, f, 32); reorder(Out, n, f.outer, h, w.outer, w.inner, f.inner)\n"
    "vectorize(Out, f.inner); compute_at(Out.local, Out, w.outer)\n"
    "reorder(Out.local, n.c, h.c, r, s, c, w.c, f.c); vectorize(Out.local, f.c)\n"
    "split(D, c, 16); vectorize(D, c.inner)\n"
    "%s";

/* ---- few filters: vectors over columns --------------------------------------------------------------------------- */

/* As above, with columns innermost: three filters would leave most of a vector empty. */
static const char few_program[] =
    "param H = %d, C = %d, F = %d\n"
    "input I: f32[1, H, H, C], W: f32[4, 4, C, F]\n"
    "Pad[y<H+2, c<C, x<H+2] = select(y >= 1 && y <= H && x >= 1 && x <= H, I[0, y-1, x-1, c], 0)\n"
    "T[y<H, p<2, f<F, q<2, x<H] = sum[r<4, s<4, c<C where (p+r)%%2 == 0 && (q+s)%%2 == 0](\n"
    "  Pad[y+(p+r)//2, c, x+(q+s)//2] * W[3-r, 3-s, c, f])\n"
    "Out[n<1, h<2*H, w<2*H, f<F] = T[h//2, h%%2, f, w%%2, w//2]\n";

/* As `schedule`, but the vectors run along the columns of one parity. */
static const char few_schedule[] =
    "set_scope(T, local)\n"
    "split(Out, h, 2); split(Out, w, 2); split(Out, h.outer, 2); split(Out, w.outer, 32)\n"
    "reorder(Out, n, h.inner, w.inner, h.outer.outer, w.outer.outer, h.outer.inner, f, w.outer.inner)\n"
    "unroll(Out, h.inner); unroll(Out, w.inner); vectorize(Out, w.outer.inner)\n"
    "compute_at(T, Out, w.outer.outer); split(T, r, 2); split(T, s, 2)\n"
    "reorder(T, r.inner, s.inner, r.outer, s.outer, c, y, p, f, q, x)\n"
    "unroll(T, r.inner); unroll(T, s.inner); vectorize(T, x)\n"
    "reorder(Pad, y, x, c); split(Pad, c, 16); vectorize(Pad, c.inner)\n"
    "%s";

/* As zeros_program, with columns innermost. */
static const char few_zeros_program[] =
    "param H = %d, C = %d, F = %d\n"
    "input I: f32[1, H, H, C], W: f32[4, 4, C, F]\n"
    "D[y<2*H+3, c<C, x<2*H+3] = select(y >= 2 && x >= 2 && y <= 2*H && x <= 2*H && y %% 2 == 0 && x %% 2 == 0,\n"
    "  I[0, (y-2)//2, (x-2)//2, c], 0)\n"
    "T[h<2*H, f<F, w<2*H] = sum[r<4, s<4, c<C](D[h+r, c, w+s] * W[3-r, 3-s, c, f])\n"
    "Out[n<1, h<2*H, w<2*H, f<F] = T[h, f, w]\n";

static const char few_zeros_schedule[] =
    "set_scope(T, local)\n"
    "split(Out, h, 4); split(Out, w, 32); reorder(Out, n, h.outer, w.outer, h.inner, f, w.inner)\n"
    "vectorize(Out, w.inner); compute_at(T, Out, w.outer); reorder(T, r, s, c, h, f, w); vectorize(T, w)\n"
    "reorder(D, y, x, c); split(D, c, 16); vectorize(D, c.inner)\n"
    "%s";

/* ---- the cases --------------------------------------------------------------------------------------------------- */

/* A program, its schedule, and what several threads add to it. */
typedef struct form {
  const char *program, *schedule, *parallel;
} form;

/* The first is the case, the second the other form, with the zeros kept. */
static const form many[] = {{program, schedule, "parallel(Out, f.outer)\n"},
                            {zeros_program, zeros_schedule, "parallel(Out, f.outer)\n"}};
static const form few[] = {{few_program, few_schedule, "parallel(Out, h.outer.outer)\n"},
                           {few_zeros_program, few_zeros_schedule, "parallel(Out, h.outer)\n"}};

static void write_form(const form *f, const shape *s, int threads, bench_text *out) {
  snprintf(out->program, sizeof out->program, f->program, s->h, s->ci, s->co);
  snprintf(out->schedule, sizeof out->schedule, f->schedule, threads > 1 ? f->parallel : "");
}

bool bench_transposed(bench_case *c, const char *name, int threads) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const shape *s = &shapes[i];
    if (strcmp(name, s->name) != 0) continue;
    const form *forms = s->co < 16 ? few : many;
    write_form(&forms[0], s, threads, &c->text);
    write_form(&forms[1], s, threads, &c->other);
    c->other_name = "zeros";
    c->problem.op = VENDOR_TRANSPOSED;
    memcpy(c->problem.dim, (int64_t[]){1, s->h, s->h, s->ci, s->co, 4, 2, 1}, 8 * sizeof(int64_t));
    c->flops = 2.0 * 4 * s->h * s->h * s->co * 16 * s->ci; /* as the paper counts: zeros included */
    c->bytes = 4.0 * ((double)s->h * s->h * s->ci + 16.0 * s->ci * s->co + 4.0 * s->h * s->h * s->co);
    return true;
  }
  return false;
}
