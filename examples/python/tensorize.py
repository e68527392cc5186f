"""Tensorize: a piece of the loops becomes an instruction or a function. First one that is built in, then one's own.

    python3 examples/python/tensorize.py"""
import ctypes

import numpy as np

import tenon as tvm
from tenon import te

N, M, L = 64, 32, 128
A = te.placeholder((N, L), name="A")
B = te.placeholder((M, L), name="B")
k = te.reduce_axis((0, L), name="k")
C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
a, b = np.random.rand(N, L).astype("float32"), np.random.rand(M, L).astype("float32")
c = np.empty((N, M), "float32")

# gemv_16x128: sixteen rows of B times a row of A.
s = te.create_schedule(C.op)
yo, yi = s[C].split(C.op.axis[1], factor=16)
s[C].tensorize(yi, "gemv_16x128")
print(tvm.lower(s, [A, B, C], simple_mode=True))
tvm.build(s, [A, B, C])(a, b, c)
tvm.testing.assert_allclose(c, a @ b.T, rtol=1e-4)

# u8 times i8, four products a lane: vpdpbusd, where the processor has it.
U, S = te.placeholder((N, L), "uint8", name="U"), te.placeholder((L // 4, 16, 4), "int8", name="S")
ko, ki = te.reduce_axis((0, L // 4), "ko"), te.reduce_axis((0, 4), "ki")
D = te.compute((N, 16), lambda i, j: te.sum(U[i, ko * 4 + ki].astype("int32") * S[ko, j, ki].astype("int32"), axis=[ko, ki]), name="D")
s = te.create_schedule(D.op)
s[D].reorder(ko, D.op.axis[1], ki)
s[D].tensorize(D.op.axis[1], "dot4_u8i8")
u, w = np.random.randint(0, 255, (N, L), "uint8"), np.random.randint(-128, 127, (L // 4, 16, 4), "int8")
d = np.empty((N, 16), "int32")
tvm.build(s, [U, S, D])(u, w, d)
assert (d == np.einsum("nkl,kjl->nj", u.reshape(N, L // 4, 4).astype("int32"), w.astype("int32"))).all()

# One's own. The pattern is a compute; the function is called once with random numbers, and compared with it.
x, y = te.placeholder((16,), name="x"), te.placeholder((16,), name="y")
z = te.compute((16,), lambda i: x[i] * y[i], name="z")
floats = ctypes.POINTER(ctypes.c_float)


@ctypes.CFUNCTYPE(None, floats, floats, floats, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
def multiply(out, left, right, out_stride, left_stride, right_stride):
    for i in range(16):
        out[i * out_stride] = left[i * left_stride] * right[i * right_stride]


intrin = te.decl_tensor_intrin(z.op, {"body": multiply}, "multiply_16")
P, Q = te.placeholder((64,), name="P"), te.placeholder((64,), name="Q")
R = te.compute((64,), lambda i: P[i] * Q[i], name="R")
s = te.create_schedule(R.op)
outer, inner = s[R].split(R.op.axis[0], 16)
s[R].tensorize(inner, intrin)
p, q = np.random.rand(2, 64).astype("float32")
r = np.empty(64, "float32")
tvm.build(s, [P, Q, R])(p, q, r)
tvm.testing.assert_allclose(r, p * q)
print("all three agree with NumPy")
