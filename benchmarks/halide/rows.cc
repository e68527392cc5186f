/* rows.cc: programs that work on rows: reductions, normalizations, moves. Each function below is Halide's side
 * of the text of the same row in row_pipelines. */
#include "pipelines.h"

using namespace Halide;

namespace {

Var x("x"), y("y"), c("c");

Func softmax(images &in) {
  Func m("m"), e("e"), s("s"), out("out");
  RDom r(0, in[0].dim(0).extent_estimate());
  m(y) = in[0](0, y);
  m(y) = max(m(y), in[0](r, y));
  e(x, y) = exp(in[0](x, y) - m(y));
  s(y) += e(r, y);
  out(x, y) = e(x, y) / s(y);
  return out;
}

Func layer_norm(images &in) {
  Func s("s"), v("v"), out("out");
  Expr n = in[0].dim(0).extent_estimate();
  RDom r(0, n);
  Expr inv = 1.0f / cast<float>(n);
  s(y) += in[0](r, y);
  v(y) += (in[0](r, y) - s(y) * inv) * (in[0](r, y) - s(y) * inv);
  out(x, y) = (in[0](x, y) - s(y) * inv) / sqrt(v(y) * inv + 1e-5f) * in[1](x) + in[2](x);
  return out;
}

Func l2_norm(images &in) {
  Func s("s"), out("out");
  RDom r(0, in[0].dim(0).extent_estimate());
  s(y) += in[0](r, y) * in[0](r, y);
  out(y) = sqrt(s(y));
  return out;
}

Func attention_row(images &in) {
  Func q("q"), m("m"), e("e"), s("s"), out("out");
  RDom r(0, in[0].dim(0).extent_estimate());
  q(x, y) = in[0](x, y) * 0.125f + in[1](x);
  m(y) = q(0, y);
  m(y) = max(m(y), q(r, y));
  e(x, y) = exp(q(x, y) - m(y));
  s(y) += e(r, y);
  out(x, y) = e(x, y) / s(y);
  return out;
}

Func sum_all(images &in) {
  Func out("out");
  RDom r(0, in[0].dim(0).extent_estimate(), 0, in[0].dim(1).extent_estimate());
  out() += in[0](r.x, r.y);
  return out;
}

Func sum_rows(images &in) {
  Func out("out");
  RDom r(0, in[0].dim(0).extent_estimate());
  out(y) += in[0](r, y);
  return out;
}

Func sum_columns(images &in) {
  Func out("out");
  RDom r(0, in[0].dim(1).extent_estimate());
  out(x) += in[0](x, r);
  return out;
}

Func row_argmax(images &in) {
  Func best("best"), out("out");
  RDom r(0, in[0].dim(0).extent_estimate());
  best(y) = argmax(in[0](r, y), "argmax");
  out(y) = best(y)[0];
  return out;
}

Func transpose(images &in) {
  Func out("out");
  out(x, y) = in[0](y, x);
  return out;
}

Func swap_last(images &in) {
  Func out("out");
  out(x, y, c) = in[0](c, x, y);
  return out;
}

Func concatenate(images &in) {
  Func out("out");
  Expr n = in[0].dim(0).extent_estimate();
  out(x, y) = select(x < n, in[0](min(x, n - 1), y), in[1](max(x - n, 0), y));
  return out;
}

Func gather_rows(images &in) {
  Func out("out");
  out(x, y) = in[0](x, clamp(in[1](y), 0, cast<int>(in[0].dim(1).extent_estimate()) - 1));
  return out;
}

Func running_sum(images &in) {
  Func out("out");
  RDom r(1, in[0].dim(1).extent_estimate() - 1);
  out(x, y) = in[0](x, y);
  out(x, r) = out(x, r - 1) + in[0](x, r);
  return out;
}

Func gelu(images &in) {
  Func out("out");
  Expr v = in[0](x, y);
  out(x, y) = 0.5f * v * (1.0f + tanh(0.7978846f * (v + 0.044715f * v * v * v)));
  return out;
}

} // namespace

std::vector<pipeline> row_pipelines() {
  return {
      {"softmax",
       "M[i<H] = max[k<W](X[i,k])\nE[i<H, j<W] = exp(X[i,j] - M[i])\nS[i<H] = sum[k<W](E[i,k])\nY[i<H, j<W] = E[i,j] / S[i]\n",
       softmax},
      {"layer norm",
       "input X: f32[H,W], G: f32[W], B: f32[W]\n"
       "S[i<H] = sum[k<W](X[i,k])\nV[i<H] = sum[k<W]((X[i,k] - S[i]/W) * (X[i,k] - S[i]/W))\n"
       "Y[i<H, j<W] = (X[i,j] - S[i]/W) * rsqrt(V[i]/W + 1e-5) * G[j] + B[j]\n",
       layer_norm},
      {"l2 norm", "S[i<H] = sum[k<W](X[i,k] * X[i,k])\nY[i<H] = sqrt(S[i])\n", l2_norm},
      {"attention rows",
       "input X: f32[H,W], B: f32[W]\n"
       "Q[i<H, j<W] = X[i,j]*0.125 + B[j]\nM[i<H] = max[k<W](Q[i,k])\nE[i<H, j<W] = exp(Q[i,j] - M[i])\n"
       "S[i<H] = sum[k<W](E[i,k])\nY[i<H, j<W] = E[i,j] / S[i]\n",
       attention_row},
      {"sum of all", "S = sum[i<H, j<W](X[i,j])\n", sum_all},
      {"sums of rows", "S[i<H] = sum[j<W](X[i,j])\n", sum_rows},
      {"sums of columns", "S[j<W] = sum[i<H](X[i,j])\n", sum_columns},
      {"argmax of rows", "(I, V)[i<H] = argmax[k<W](X[i,k])\noutput I\n", row_argmax},
      {"transpose", "Y[i<H, j<W] = X[j,i]\n", transpose},
      {"HWC to CHW", "Y[c<3, i<H, j<W] = X[i,j,c]\n", swap_last},
      {"concatenation",
       "input A: f32[H, W//2], B: f32[H, W-W//2]\nY[i<H, j<W] = select(j < W//2, A[i,j], B[i,j-W//2])\n", concatenate},
      {"gather of rows", "input X: f32[1000, W], K: i32[H]\nY[i<H, j<W] = X[min(max(K[i], 0), 999), j]\n", gather_rows},
      {"running sums", "state S: f32[H,W]\nscan S[t<H, i<W] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])\n", running_sum},
      {"gelu", "Y[i<H, j<W] = 0.5*X[i,j]*(1 + tanh(0.7978846*(X[i,j] + 0.044715*X[i,j]*X[i,j]*X[i,j])))\n", gelu},
  };
}
