"""Reductions: rows, everything, a part for each thread, several values at once, one's own way to combine.

    python3 examples/python/reduction.py"""
import numpy as np

import tenon as tvm
from tenon import te

n, m = 128, 512
A = te.placeholder((n, m), name="A")
a = np.random.rand(n, m).astype("float32")

# Sums of rows. The reduction axis is a loop like others: it can be split.
k = te.reduce_axis((0, m), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
ko, ki = s[B].split(k, factor=16)
print(tvm.lower(s, [A, B], simple_mode=True))

# rfactor: the inner loop becomes an axis of partial sums, which is vectorized.
partial = s.rfactor(B, ki)
s[partial].vectorize(s[partial].op.axis[0])
b = np.empty(n, "float32")
tvm.build(s, [A, B])(a, b)
tvm.testing.assert_allclose(b, a.sum(1), rtol=1e-4)

# A sum of everything on several threads: each reduces a part, and the parts are combined in a fixed order.
ki, kj = te.reduce_axis((0, n), "ki"), te.reduce_axis((0, m), "kj")
T = te.compute((), lambda: te.sum(A[ki, kj], axis=[ki, kj]), name="T")
s = te.create_schedule(T.op)
s.parallel_reduce(T, ki, 4)
t = np.empty((), "float32")
tvm.build(s, [A, T])(a, t)
tvm.testing.assert_allclose(t, a.sum(), rtol=1e-3)

# One's own: the product of complex numbers, a pair of values.
R, I = te.placeholder((n, 8), name="R"), te.placeholder((n, 8), name="I")
k = te.reduce_axis((0, 8), "k")
complex_product = te.comm_reducer(lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
                                  lambda re, im: (tvm.tir.const(1, re), tvm.tir.const(0, im)), name="complex_product")
PR, PI = te.compute((n,), lambda i: complex_product((R[i, k], I[i, k]), axis=k), name="P")
r, i = np.random.rand(2, n, 8).astype("float32")
pr, pi = np.empty((2, n), "float32")
tvm.build(te.create_schedule(PR.op), [R, I, PR, PI])(r, i, pr, pi)
tvm.testing.assert_allclose(pr + 1j * pi, (r + 1j * i).prod(1), rtol=1e-3, atol=1e-4)

# Where the largest element of a row is.
k = te.reduce_axis((0, m), "k")
Where, Value = te.compute((n,), lambda i: te.argmax(A[i, k], axis=k), name="Where")
where, value = np.empty(n, "int32"), np.empty(n, "float32")
tvm.build(te.create_schedule(Where.op), [A, Where, Value])(a, where, value)
assert (where == a.argmax(1)).all()
print("all sums agree with NumPy")
