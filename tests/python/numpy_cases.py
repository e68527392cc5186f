"""Kinds of program, each as text beside NumPy: by the default schedule, the generic one, a tuned-looking one where it is legal, and the evaluator.
Each with an even, a prime and a tiny size."""
import numpy as np

import tenon
from kit import RANDOM, close, main

FLOAT, INT = "float", "int"


def sample(arg):
    shape, kind = arg.shape, arg.dtype
    dtype = {"f32": "float32", "f64": "float64", "f16": "float16", "i32": "int32", "i64": "int64", "i8": "int8", "u8": "uint8", "bool": "bool"}[kind]
    if kind[0] == "f":
        return RANDOM.uniform(0.1, 1, shape).astype(dtype)
    return RANDOM.integers(0, 2 if kind == "bool" else 7, shape).astype(dtype)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def shifted(a, *by):
    return a[tuple(slice(b, a.shape[d] - 2 + b) for d, b in enumerate(by))]


def conv(i, w, stride=1):
    windows = np.lib.stride_tricks.sliding_window_view(i, w.shape[:2], axis=(1, 2))[:, ::stride, ::stride]
    return np.einsum("nhwcrs,rscf->nhwf", windows, w)


# name: (program over N and M, what NumPy computes of the inputs in order)
KINDS = {
    "add": ("C[i<N,j<M] = A[i,j] + B[i,j]", lambda a, b: a + b),
    "broadcast": ("C[i<N,j<M] = A[i,j] * b[j] + c[i]", lambda a, b, c: a * b + c[:, None]),
    "transpose": ("C[j<M,i<N] = A[i,j]", lambda a: a.T),
    "transpose_3d": ("C[k<3,j<M,i<N] = A[i,j,k]", lambda a: a.transpose(2, 1, 0)),
    "concatenation": ("input A: f32[N,M], B: f32[N,M]; C[i<N,j<2*M] = select(j < M, A[i,j], B[i,j-M])", lambda a, b: np.concatenate([a, b], 1)),
    "reverse": ("C[i<N,j<M] = A[i,M-1-j]", lambda a: a[:, ::-1]),
    "reshape": ("input A: f32[N,M]; C[i<N*M] = A[i//M, i%M]", lambda a: a.reshape(-1)),
    "gather": ("input A: f32[7,M], I: i32[N]; C[i<N,j<M] = A[I[i],j]", lambda a, i: a[i]),
    "matmul": ("C[i<N,j<M] = sum[k<N](A[i,k] * B[k,j])", lambda a, b: a @ b),
    "matmul_bt": ("C[i<N,j<M] = sum[k<N](A[i,k] * B[j,k])", lambda a, b: a @ b.T),
    "matmul_at": ("C[i<N,j<M] = sum[k<N](A[k,i] * B[k,j])", lambda a, b: a.T @ b),
    "matmul_f64": ("input A: f64[N,M], B: f64[M,N]; C[i<N,j<N] = sum[k<M](A[i,k] * B[k,j])", lambda a, b: a @ b),
    "matmul_i8": ("input A: u8[N,M], B: i8[M,N]; C[i<N,j<N] = sum[k<M](i32(A[i,k]) * i32(B[k,j]))", lambda a, b: a.astype(int) @ b.astype(int)),
    "matmul_f16": ("input A: f16[N,M], B: f16[M,N]; C[i<N,j<N] = sum[k<M](f32(A[i,k]) * f32(B[k,j]))",
                   lambda a, b: a.astype("f4") @ b.astype("f4")),
    "batched": ("C[b<3,i<N,j<M] = sum[k<N](A[b,i,k] * B[b,k,j])", lambda a, b: a @ b),
    "gemv": ("y[i<N] = sum[k<M](A[i,k] * x[k])", lambda a, x: a @ x),
    "outer": ("C[i<N,j<M] = x[i] * y[j]", np.outer),
    "three_operands": ("C[i<N,j<M] = sum[k<5,l<4](A[i,k] * B[k,l] * D[l,j])", lambda a, b, d: a @ b @ d),
    "dense_gelu": ("H[i<N,j<M] = sum[k<N](X[i,k] * W[k,j]); Y[i<N,j<M] = 0.5*H[i,j]*(1 + tanh(0.7978846*(H[i,j] + 0.044715*H[i,j]*H[i,j]*H[i,j])))",
                   lambda x, w: (lambda h: 0.5 * h * (1 + np.tanh(0.7978846 * (h + 0.044715 * h ** 3))))(x @ w)),
    "conv": ("O[n<1,h<N,w<M,f<5] = sum[r<3,s<3,c<4](I[n,h+r,w+s,c] * W[r,s,c,f])", conv),
    "conv_stride": ("O[n<1,h<N,w<M,f<5] = sum[r<3,s<3,c<4](I[n,h*2+r,w*2+s,c] * W[r,s,c,f])", lambda i, w: conv(i, w, 2)),
    "depthwise": ("O[h<N,w<M,c<6] = sum[r<3,s<3](I[h+r,w+s,c] * W[r,s,c])",
                  lambda i, w: np.einsum("hwcrs,rsc->hwc", np.lib.stride_tricks.sliding_window_view(i, (3, 3), axis=(0, 1)), w)),
    "max_pool": ("O[h<N,w<M] = max[r<2,s<2](I[h*2+r,w*2+s])", lambda i: i.reshape(i.shape[0] // 2, 2, i.shape[1] // 2, 2).max((1, 3))),
    "sum_all": ("S = sum[i<N,j<M](A[i,j])", lambda a: a.sum()),
    "sum_rows": ("S[i<N] = sum[j<M](A[i,j])", lambda a: a.sum(1)),
    "sum_columns": ("S[j<M] = sum[i<N](A[i,j])", lambda a: a.sum(0)),
    "argmax": ("(I, V)[i<N] = argmax[j<M](A[i,j]); J[i<N] = I[i]; U[i<N] = V[i]", lambda a: [a.argmax(1), a.max(1)]),
    "softmax": ("P[i<N] = max[j<M](X[i,j]); E[i<N,j<M] = exp(X[i,j] - P[i]); S[i<N] = sum[j<M](E[i,j]); Y[i<N,j<M] = E[i,j] / S[i]", softmax),
    "layer_norm": ("U[i<N] = sum[j<M](X[i,j]); V[i<N] = sum[j<M](X[i,j]*X[i,j]); "
                   "Y[i<N,j<M] = (X[i,j] - U[i]/f32(M)) * rsqrt(V[i]/f32(M) - U[i]*U[i]/f32(M*M) + 0.001) * g[j]",
                   lambda x, g: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 0.001) * g),
    "attention": ("S[i<N,j<M] = sum[k<8](Q[i,k] * K[j,k]); P[i<N] = max[j<M](S[i,j]); E[i<N,j<M] = exp(S[i,j] - P[i]); "
                  "Z[i<N] = sum[j<M](E[i,j]); O[i<N,d<8] = sum[j<M](E[i,j] / Z[i] * V[j,d])", lambda q, k, v: softmax(q @ k.T) @ v),
    "box_blur": ("H[y<N+2,x<M] = (I[y,x] + I[y,x+1] + I[y,x+2]) / 3; B[y<N,x<M] = (H[y,x] + H[y+1,x] + H[y+2,x]) / 3",
                 lambda i: sum(shifted(i, r, s) for r in range(3) for s in range(3)) / 9),
    "sobel": ("X[y<N,x<M] = I[y,x+2] - I[y,x] + 2*(I[y+1,x+2] - I[y+1,x]) + I[y+2,x+2] - I[y+2,x]; "
              "Y[y<N,x<M] = I[y+2,x] - I[y,x] + 2*(I[y+2,x+1] - I[y,x+1]) + I[y+2,x+2] - I[y,x+2]; "
              "G[y<N,x<M] = sqrt(X[y,x]*X[y,x] + Y[y,x]*Y[y,x])",
              lambda i: np.hypot(shifted(i, 0, 2) - shifted(i, 0, 0) + 2 * (shifted(i, 1, 2) - shifted(i, 1, 0)) + shifted(i, 2, 2) - shifted(i, 2, 0),
                                 shifted(i, 2, 0) - shifted(i, 0, 0) + 2 * (shifted(i, 2, 1) - shifted(i, 0, 1)) + shifted(i, 2, 2) - shifted(i, 0, 2))),
    "cumulative_sum": ("state S: f32[N,M]; scan S[t<N,i<M] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])", lambda x: x.cumsum(0)),
    "lower_triangle": ("L[i<N] = sum[j<M where j <= i](A[i,j])", lambda a: np.tril(a).sum(1)),
    "boolean": ("B[i<N,j<M] = A[i,j] > 0.5 && A[i,j] < 0.9 || A[i,j] == 0", lambda a: ((a > 0.5) & (a < 0.9)) | (a == 0)),
    "popcount": ("input A: u8[N,M]; C[i<N,j<M] = popcount(A[i,j] ^ (A[i,j] >> u8(1)))",
                 lambda a: np.unpackbits((a ^ (a >> 1))[..., None], axis=-1).sum(-1)),
    "mean_and_variance": ("U[i<N] = sum[j<M](A[i,j]) ; V[i<N] = sum[j<M]((A[i,j] - U[i]/f32(M)) * (A[i,j] - U[i]/f32(M)))",
                          lambda a: ((a - a.mean(1, keepdims=True)) ** 2).sum(1)),
}


def check(name, n, m):
    text, wanted_of = KINDS[name]
    program = tenon.program(f"param N = {n}, M = {m}; {text}")
    inputs = [sample(a) for a in program.args if a.is_input]
    wanted = wanted_of(*inputs)
    wanted = wanted if isinstance(wanted, list) else [wanted]
    kinds = {"f32": "float32", "f64": "float64", "i32": "int32", "bool": "bool", "u8": "uint8"}
    outputs = [a for a in program.args if not a.is_input]
    assert len(outputs) == len(wanted), (name, outputs)
    for how in ("default", "auto", "evaluator"):
        got = [np.zeros(a.shape, kinds[a.dtype]) for a in outputs]
        if how == "evaluator":
            program.evaluate(*inputs, *got)
        else:
            program.schedule(None if how == "default" else "auto").build()(*inputs, *got)
        for g, w in zip(got, wanted):
            close(g.astype("f8"), np.asarray(w).astype("f8"), rtol=2e-3, atol=2e-4)


for kind in KINDS:
    def test(kind=kind):
        for n, m in ((32, 48), (37, 29), (2, 3)):
            check(kind, n, m)
    globals()[f"test_{kind}"] = test

main(globals())
