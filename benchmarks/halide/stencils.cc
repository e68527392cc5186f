/* stencils.cc: chains of stencils whose windows stay inside their input. Halide's side has small windows
 * written out as sums of taps, the form that its autoschedulers handle best. */
#include "pipelines.h"

using namespace Halide;

namespace {

Var x("x"), y("y"), c("c"), dx("dx"), dy("dy");

/* The sum of N taps of F along a row; WEIGHT(k) is the factor of tap k. taps_y: along a column. */
template <class Weight> Expr taps_x(Func f, int n, Weight weight) {
  Expr e = f(x, y) * weight(0);
  for (int k = 1; k < n; k++) e += f(x + k, y) * weight(k);
  return e;
}
template <class Weight> Expr taps_y(Func f, int n, Weight weight) {
  Expr e = f(x, y) * weight(0);
  for (int k = 1; k < n; k++) e += f(x, y + k) * weight(k);
  return e;
}
/* The sum of N x N pixels whose first is (x, y). */
Expr box(Func f, int n) {
  Expr e = 0.0f;
  for (int b = 0; b < n; b++)
    for (int a = 0; a < n; a++) e += f(x + a, y + b);
  return e;
}
/* Input I as a function, so that the helpers above can take it like any other stage. */
Func image(images &in, int i = 0) {
  Func f("image");
  f(x, y) = in[i](x, y);
  return f;
}
float third(int) { return 1.0f / 3; }

Func box_blur(images &in) {
  Func bx("bx"), by("by"), f = image(in);
  bx(x, y) = taps_x(f, 3, third);
  by(x, y) = taps_y(bx, 3, third);
  return by;
}

/* Binomial weights of five taps. */
float gauss(int k) {
  static const float g[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  return g[k];
}

Func unsharp(images &in) {
  Func by("by"), bx("bx"), out("out"), f = image(in);
  by(x, y) = taps_y(f, 5, gauss);
  bx(x, y) = taps_x(by, 5, gauss);
  out(x, y) = f(x + 2, y + 2) * 2.5f - bx(x, y) * 1.5f;
  return out;
}

Func unsharp_color(images &in) {
  Func gray("gray"), by("by"), bx("bx"), ratio("ratio"), out("out");
  gray(x, y) = in[0](x, y, 0) * 0.299f + in[0](x, y, 1) * 0.587f + in[0](x, y, 2) * 0.114f;
  by(x, y) = taps_y(gray, 5, gauss);
  bx(x, y) = taps_x(by, 5, gauss);
  ratio(x, y) = (2.0f * gray(x + 2, y + 2) - bx(x, y)) / (gray(x + 2, y + 2) + 0.5f);
  out(x, y, c) = ratio(x, y) * in[0](x + 2, y + 2, c);
  return out;
}

Func sobel(images &in) {
  Func gx("gx"), gy("gy"), out("out"), f = image(in);
  gx(x, y) = f(x + 2, y) - f(x, y) + 2.0f * (f(x + 2, y + 1) - f(x, y + 1)) + f(x + 2, y + 2) - f(x, y + 2);
  gy(x, y) = f(x, y + 2) - f(x, y) + 2.0f * (f(x + 1, y + 2) - f(x + 1, y)) + f(x + 2, y + 2) - f(x + 2, y);
  out(x, y) = sqrt(gx(x, y) * gx(x, y) + gy(x, y) * gy(x, y));
  return out;
}

Func chain(images &in) {
  Func last = image(in);
  for (int s = 0; s < 8; s++) {
    Func next("stage" + std::to_string(s));
    next(x, y) = box(last, 5) * 0.04f;
    last = next;
  }
  return last;
}

Func weighted_chain(images &in) {
  Func last = image(in);
  for (int s = 0; s < 8; s++) {
    Func next("stage" + std::to_string(s));
    Expr e = 0.0f;
    for (int b = 0; b < 5; b++)
      for (int a = 0; a < 5; a++) e += last(x + a, y + b) * in[1](a, b);
    next(x, y) = e;
    last = next;
  }
  return last;
}

Func max_filter(images &in) {
  Func rows("rows"), out("out"), f = image(in);
  Expr e = f(x, y);
  for (int k = 1; k < 7; k++) e = max(e, f(x, y + k));
  rows(x, y) = e;
  e = rows(x, y);
  for (int k = 1; k < 7; k++) e = max(e, rows(x + k, y));
  out(x, y) = e;
  return out;
}

Func non_local_means(images &in) {
  Func d("d"), by("by"), b("b"), w("w"), n("n"), s("s"), out("out");
  RDom r(0, 7, 0, 7);
  d(x, y, dx, dy) = (in[0](x + 3, y + 3) - in[0](x + dx, y + dy)) * (in[0](x + 3, y + 3) - in[0](x + dx, y + dy));
  by(x, y, dx, dy) = d(x, y, dx, dy) + d(x, y + 1, dx, dy) + d(x, y + 2, dx, dy);
  b(x, y, dx, dy) = by(x, y, dx, dy) + by(x + 1, y, dx, dy) + by(x + 2, y, dx, dy);
  w(x, y, dx, dy) = exp(b(x, y, dx, dy) * -0.5f);
  n(x, y) += w(x, y, r.x, r.y) * in[0](x + r.x + 1, y + r.y + 1);
  s(x, y) += w(x, y, r.x, r.y);
  out(x, y) = n(x, y) / s(x, y);
  return out;
}

Func separable(images &in) {
  Func rows("rows"), out("out"), f = image(in);
  rows(x, y) = taps_y(f, 9, [&](int k) { return in[1](k); });
  out(x, y) = taps_x(rows, 9, [&](int k) { return in[1](k); });
  return out;
}

Func harris(images &in) {
  Func ix("ix"), iy("iy"), xx("xx"), xy("xy"), yy("yy"), sxx("sxx"), sxy("sxy"), syy("syy"), out("out"), f = image(in);
  ix(x, y) = f(x + 2, y) - f(x, y) + 2.0f * (f(x + 2, y + 1) - f(x, y + 1)) + f(x + 2, y + 2) - f(x, y + 2);
  iy(x, y) = f(x, y + 2) - f(x, y) + 2.0f * (f(x + 1, y + 2) - f(x + 1, y)) + f(x + 2, y + 2) - f(x + 2, y);
  xx(x, y) = ix(x, y) * ix(x, y);
  xy(x, y) = ix(x, y) * iy(x, y);
  yy(x, y) = iy(x, y) * iy(x, y);
  sxx(x, y) = box(xx, 3);
  sxy(x, y) = box(xy, 3);
  syy(x, y) = box(yy, 3);
  Expr trace = sxx(x, y) + syy(x, y);
  out(x, y) = sxx(x, y) * syy(x, y) - sxy(x, y) * sxy(x, y) - 0.04f * trace * trace;
  return out;
}

Func jacobi(images &in) {
  Func last = image(in);
  for (int s = 0; s < 8; s++) {
    Func next("sweep" + std::to_string(s));
    next(x, y) = (last(x + 1, y) + last(x + 1, y + 2) + last(x, y + 1) + last(x + 2, y + 1)) * 0.25f;
    last = next;
  }
  return last;
}

/* Tenon's text for N stages in a row, each with BODY. `P[` in BODY becomes a read of the stage before, or of
 * the input I. A stage is MARGIN rows and columns smaller than the one that it reads. */
std::string chain_text(int n, int margin, const std::string &body) {
  std::string text;
  for (int s = 0; s < n; s++) {
    std::string e = body, rest = std::to_string((n - 1 - s) * margin), from = s == 0 ? "I" : "S" + std::to_string(s - 1);
    for (size_t at; (at = e.find("P[")) != std::string::npos;) e.replace(at, 1, from + " ");
    text += "S" + std::to_string(s) + "[y<H+" + rest + ", x<W+" + rest + "] = " + e + "\n";
  }
  return text;
}

const char sobel_text[] =
    "GX[y<H+M, x<W+M] = I[y,x+2] - I[y,x] + 2*(I[y+1,x+2] - I[y+1,x]) + I[y+2,x+2] - I[y+2,x]\n"
    "GY[y<H+M, x<W+M] = I[y+2,x] - I[y,x] + 2*(I[y+2,x+1] - I[y,x+1]) + I[y+2,x+2] - I[y,x+2]\n";

} // namespace

std::vector<pipeline> stencil_pipelines() {
  const std::string color =
      "input I: f32[3, H+4, W+4]\n"
      "G[y<H+4, x<W+4] = I[0,y,x]*0.299 + I[1,y,x]*0.587 + I[2,y,x]*0.114\n"
      "BY[y<H, x<W+4] = G[y,x]*0.0625 + G[y+1,x]*0.25 + G[y+2,x]*0.375 + G[y+3,x]*0.25 + G[y+4,x]*0.0625\n"
      "BX[y<H, x<W] = BY[y,x]*0.0625 + BY[y,x+1]*0.25 + BY[y,x+2]*0.375 + BY[y,x+3]*0.25 + BY[y,x+4]*0.0625\n"
      "R[y<H, x<W] = (2*G[y+2,x+2] - BX[y,x]) / (G[y+2,x+2] + 0.5)\n"
      "O[c<3, y<H, x<W] = R[y,x] * I[c,y+2,x+2]\n";
  return {
      {"box blur",
       "BX[y<H+2, x<W] = (I[y,x] + I[y,x+1] + I[y,x+2]) * 0.33333334\n"
       "BY[y<H, x<W] = (BX[y,x] + BX[y+1,x] + BX[y+2,x]) * 0.33333334\n",
       box_blur},
      {"box blur, sums",
       "SX[y<H+2, x<W] = sum[k<3](I[y,x+k])\nBX[y<H+2, x<W] = SX[y,x] * 0.33333334\n"
       "SY[y<H, x<W] = sum[k<3](BX[y+k,x])\nBY[y<H, x<W] = SY[y,x] * 0.33333334\n",
       box_blur},
      {"unsharp mask",
       "input G: f32[5], I: f32[H+4, W+4]\n"
       "BY[y<H, x<W+4] = sum[k<5](I[y+k,x] * G[k])\nBX[y<H, x<W] = sum[k<5](BY[y,x+k] * G[k])\n"
       "O[y<H, x<W] = I[y+2,x+2]*2.5 - BX[y,x]*1.5\n",
       [](images &in) {
         Func by("by"), bx("bx"), out("out"), f = image(in, 1);
         by(x, y) = taps_y(f, 5, [&](int k) { return in[0](k); });
         bx(x, y) = taps_x(by, 5, [&](int k) { return in[0](k); });
         out(x, y) = f(x + 2, y + 2) * 2.5f - bx(x, y) * 1.5f;
         return out;
       }},
      {"unsharp, numbers",
       "BY[y<H, x<W+4] = I[y,x]*0.0625 + I[y+1,x]*0.25 + I[y+2,x]*0.375 + I[y+3,x]*0.25 + I[y+4,x]*0.0625\n"
       "BX[y<H, x<W] = BY[y,x]*0.0625 + BY[y,x+1]*0.25 + BY[y,x+2]*0.375 + BY[y,x+3]*0.25 + BY[y,x+4]*0.0625\n"
       "O[y<H, x<W] = I[y+2,x+2]*2.5 - BX[y,x]*1.5\n",
       unsharp},
      {"unsharp, color", color, unsharp_color},
      {"sobel", "param M = 0\n" + std::string(sobel_text) + "O[y<H, x<W] = sqrt(GX[y,x]*GX[y,x] + GY[y,x]*GY[y,x])\n", sobel},
      {"sobel, sums",
       "input U: f32[3,3], V: f32[3,3], I: f32[H+2, W+2]\n"
       "GX[y<H, x<W] = sum[a<3,b<3](I[y+a,x+b] * U[a,b])\nGY[y<H, x<W] = sum[a<3,b<3](I[y+a,x+b] * V[a,b])\n"
       "O[y<H, x<W] = sqrt(GX[y,x]*GX[y,x] + GY[y,x]*GY[y,x])\n",
       [](images &in) {
         Func gx("gx"), gy("gy"), out("out"), f = image(in, 2);
         Expr u = 0.0f, v = 0.0f;
         for (int a = 0; a < 3; a++)
           for (int b = 0; b < 3; b++)
             u += f(x + b, y + a) * in[0](b, a), v += f(x + b, y + a) * in[1](b, a);
         gx(x, y) = u;
         gy(x, y) = v;
         out(x, y) = sqrt(gx(x, y) * gx(x, y) + gy(x, y) * gy(x, y));
         return out;
       }},
      {"8 box 5x5", chain_text(8, 4, "sum[a<5,b<5](P[y+a,x+b] * 0.04)"), chain},
      {"8 stencils 5x5", "input I: f32[H+32, W+32], K: f32[5,5]\n" + chain_text(8, 4, "sum[a<5,b<5](P[y+a,x+b] * K[a,b])"),
       weighted_chain},
      {"max filter", "R[y<H, x<W+6] = max[k<7](I[y+k,x])\nO[y<H, x<W] = max[k<7](R[y,x+k])\n", max_filter},
      {"non-local means",
       "D[dy<7, dx<7, y<H+2, x<W+2] = (I[y+3,x+3] - I[y+dy,x+dx]) * (I[y+3,x+3] - I[y+dy,x+dx])\n"
       "BY[dy<7, dx<7, y<H, x<W+2] = D[dy,dx,y,x] + D[dy,dx,y+1,x] + D[dy,dx,y+2,x]\n"
       "B[dy<7, dx<7, y<H, x<W] = BY[dy,dx,y,x] + BY[dy,dx,y,x+1] + BY[dy,dx,y,x+2]\n"
       "E[dy<7, dx<7, y<H, x<W] = exp(B[dy,dx,y,x] * -0.5)\n"
       "N[y<H, x<W] = sum[dy<7, dx<7](E[dy,dx,y,x] * I[y+dy+1,x+dx+1])\n"
       "S[y<H, x<W] = sum[dy<7, dx<7](E[dy,dx,y,x])\n"
       "O[y<H, x<W] = N[y,x] / S[y,x]\n",
       non_local_means},
      {"separable, table",
       "input I: f32[H+8, W+8], K: f32[9]\n"
       "R[y<H, x<W+8] = sum[k<9](I[y+k,x] * K[k])\nO[y<H, x<W] = sum[k<9](R[y,x+k] * K[k])\n",
       separable},
      {"harris",
       "param M = 2\n" + std::string(sobel_text) +
           "XX[y<H+2, x<W+2] = GX[y,x]*GX[y,x]\nXY[y<H+2, x<W+2] = GX[y,x]*GY[y,x]\nYY[y<H+2, x<W+2] = GY[y,x]*GY[y,x]\n"
           "SXX[y<H, x<W] = sum[a<3,b<3](XX[y+a,x+b])\nSXY[y<H, x<W] = sum[a<3,b<3](XY[y+a,x+b])\n"
           "SYY[y<H, x<W] = sum[a<3,b<3](YY[y+a,x+b])\n"
           "O[y<H, x<W] = SXX[y,x]*SYY[y,x] - SXY[y,x]*SXY[y,x] - 0.04*(SXX[y,x] + SYY[y,x])*(SXX[y,x] + SYY[y,x])\n",
       harris},
      {"8 jacobi sweeps", chain_text(8, 2, "(P[y,x+1] + P[y+2,x+1] + P[y+1,x] + P[y+1,x+2]) * 0.25"), jacobi},
  };
}
