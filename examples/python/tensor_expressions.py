"""Tensor expressions: a vector sum for every length, then a matrix product that gets faster step by step.

    python3 examples/python/tensor_expressions.py"""
import numpy as np

import tenon as tvm
from tenon import te

# A sum of two vectors whose length is known when the function is called.
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")

s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
s[C].parallel(outer)
s[C].vectorize(inner)
print(tvm.lower(s, [A, B, C], simple_mode=True))

add = tvm.build(s, [A, B, C], name="add")
for length in (1, 100, 4096):
    a, b = np.random.rand(2, length).astype("float32")
    c = np.empty(length, "float32")
    add(a, b, c)
    tvm.testing.assert_allclose(c, a + b)

# A matrix product. Each schedule computes the same; only the order of the work changes.
M = N = K = 256
X = te.placeholder((M, K), name="X")
Y = te.placeholder((K, N), name="Y")
k = te.reduce_axis((0, K), name="k")
Z = te.compute((M, N), lambda i, j: te.sum(X[i, k] * Y[k, j], axis=k), name="Z")
x, y = np.random.rand(2, M, K).astype("float32")
z = np.empty((M, N), "float32")


def measure(schedule, what):
    f = tvm.build(schedule, [X, Y, Z], name="product")
    f(x, y, z)
    tvm.testing.assert_allclose(z, x @ y, rtol=1e-4)
    seconds = f.time_evaluator(f.entry_name, tvm.cpu(), number=3)(x, y, z).mean
    print(f"{what:<24} {2e-9 * M * N * K / seconds:8.2f} GFLOPS")


s = te.create_schedule(Z.op)
measure(s, "as written")

xo, yo, xi, yi = s[Z].tile(Z.op.axis[0], Z.op.axis[1], 32, 32)
ko, ki = s[Z].split(k, factor=4)
s[Z].reorder(xo, yo, ko, ki, xi, yi)
measure(s, "blocked")

s[Z].vectorize(yi)
measure(s, "and vectorized")

s[Z].parallel(xo)
measure(s, "and parallel")

# A block is computed in registers, and written once.
s = te.create_schedule(Z.op)
block = s.cache_write(Z, "local")
xo, yo, xi, yi = s[Z].tile(Z.op.axis[0], Z.op.axis[1], 8, 32)
s[block].compute_at(s[Z], yo)
xc, yc = s[block].op.axis
s[block].reorder(k, xc, yc)
s[block].vectorize(yc)
s[Z].vectorize(yi)
s[Z].parallel(xo)
measure(s, "and kept in registers")
