"""te's words: what is defined, every primitive, refusals; each against NumPy or the lowered text."""
import ctypes

import numpy as np

import tenon as tvm
from tenon import te, tir
from kit import close, data, main, refused, run

N = 48


def matmul(n=N, m=40, l=56, dtype="float32"):
    A, B = te.placeholder((n, l), dtype, name="A"), te.placeholder((l, m), dtype, name="B")
    k = te.reduce_axis((0, l), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C"), k


def elementwise(n=100):
    A = te.placeholder((n,), name="A")
    return A, te.compute((n,), lambda i: A[i] * 2.0, name="B")


def check_matmul(change, words=()):
    A, B, C, k = matmul()
    s = te.create_schedule(C.op)
    change(s, A, B, C, k)
    text = str(tvm.lower(s, [A, B, C]))
    for w in words:
        assert w in text, f"{w} is not in\n{text}"
    (a, b), (c,) = run(s, [A, B, C])
    close(c, a @ b)


# ---- definitions

def test_vector_add():
    A, B = te.placeholder((100,), name="A"), te.placeholder((100,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    (a, b), (c,) = run(te.create_schedule(C.op), [A, B, C])
    close(c, a + b)


def test_symbolic_vector_add():
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    f = tvm.build(s, [A, B, C])
    for size in (1, 63, 64, 1000):
        a, b = (np.random.rand(size).astype("float32") for _ in "ab")
        c = np.zeros(size, "float32")
        f(a, b, c)
        close(c, a + b)


def test_matmul_default():
    check_matmul(lambda *x: None)


def test_slices_and_calls_read():
    A = te.placeholder((4, 5), name="A")
    B = te.compute((4, 5), lambda i, j: A[i][j] + A(i, j), name="B")
    (a,), (b,) = run(te.create_schedule(B.op), [A, B])
    close(b, 2 * a)


def test_rank_0():
    A, k = te.placeholder((9,), name="A"), te.reduce_axis((0, 9), "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    B = te.compute((9,), lambda i: A[i] / S(), name="B")
    (a,), (b,) = run(te.create_schedule(B.op), [A, B])
    close(b, a / a.sum())


def test_operators():
    A, B = te.placeholder((64,), "int32", name="A"), te.placeholder((64,), "int32", name="B")
    C = te.compute((64,), lambda i: (A[i] + 3 * B[i] - 7) // 2 % 5 + (-A[i] << 1) + (A[i] & 6 | B[i] ^ 1) + ~B[i] + (A[i] >> 1), name="C")
    (a, b), (c,) = run(te.create_schedule(C.op), [A, B, C])
    assert (c == ((a + 3 * b - 7) // 2 % 5 + (-a << 1) + (a & 6 | b ^ 1) + ~b + (a >> 1))).all()


def test_functions():
    A = te.placeholder((64,), name="A")
    C = te.compute((64,), lambda i: te.exp(A[i]) + te.sqrt(te.abs(A[i])) + te.tanh(A[i]) * te.sigmoid(A[i]) + te.floor(A[i]) - te.power(te.abs(A[i]), 1.5), name="C")
    (a,), (c,) = run(te.create_schedule(C.op), [A, C])
    close(c, np.exp(a) + np.sqrt(abs(a)) + np.tanh(a) / (1 + np.exp(-a)) + np.floor(a) - abs(a) ** 1.5)


def test_casts_and_dtypes():
    A = te.placeholder((64,), "int8", name="A")
    C = te.compute((64,), lambda i: A[i].astype("float32") * 0.5, name="C")
    assert C.dtype == "float32" and C.shape == (64,)
    (a,), (c,) = run(te.create_schedule(C.op), [A, C])
    close(c, a * 0.5)


def test_select_pads():
    A = te.placeholder((8, 8), name="A")
    P = te.compute((10, 10), lambda i, j: tir.if_then_else(tir.all(i >= 1, i < 9, j >= 1, j < 9), A[i - 1, j - 1], 0.0), name="P")
    (a,), (p,) = run(te.create_schedule(P.op), [A, P])
    close(p, np.pad(a, 1))


def test_any_of_conditions():
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: te.if_then_else(te.any(i < 2, i >= 14), 0.0, A[i]), name="B")
    (a,), (b,) = run(te.create_schedule(B.op), [A, B])
    a[:2] = a[14:] = 0
    close(b, a)


def test_conv2d():
    I, W = te.placeholder((1, 6, 14, 14), name="I"), te.placeholder((8, 6, 3, 3), name="W")
    rc, ry, rx = te.reduce_axis((0, 6), "rc"), te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    O = te.compute((1, 8, 12, 12), lambda n, f, y, x: te.sum(I[n, rc, y + ry, x + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]), name="O")
    (i, w), (o,) = run(te.create_schedule(O.op), [I, W, O])
    windows = np.lib.stride_tricks.sliding_window_view(i, (3, 3), axis=(2, 3))
    close(o, np.einsum("ncyxrs,fcrs->nfyx", windows, w))


def test_max_and_min():
    A, k = te.placeholder((8, 30), name="A"), te.reduce_axis((0, 30), "k")
    M = te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="M")
    L = te.compute((8,), lambda i: te.min(A[i, k], axis=k), name="L")
    (a,), (m, l) = run(te.create_schedule([M.op, L.op]), [A, M, L])
    close(m, a.max(1)), close(l, a.min(1))


def test_where_and_init():
    A, k = te.placeholder((8, 8), name="A"), te.reduce_axis((0, 8), "k")
    S = te.compute((8,), lambda i: te.sum(A[i, k], axis=k, where=k < i, init=5.0), name="S")
    (a,), (s,) = run(te.create_schedule(S.op), [A, S])
    close(s, 5 + np.tril(a, -1).sum(1))


def test_boolean_reductions():
    A, k = te.placeholder((8, 8), name="A"), te.reduce_axis((0, 8), "k")
    S = te.compute((8,), lambda i: te.all(A[i, k] < 0.9, axis=k), name="S")
    (a,), (s,) = run(te.create_schedule(S.op), [A, S])
    assert (s == (a < 0.9).all(1)).all()


def test_argmax():
    A, k = te.placeholder((8, 30), name="A"), te.reduce_axis((0, 30), "k")
    I, V = te.compute((8,), lambda i: te.argmax(A[i, k], axis=k), name="I")
    (a,), (i, v) = run(te.create_schedule(I.op), [A, I, V])
    assert (i == a.argmax(1)).all()
    close(v, a.max(1))


def test_comm_reducer_of_tuples():
    A, B, k = te.placeholder((8, 30), name="A"), te.placeholder((8, 30), name="B"), te.reduce_axis((0, 30), "k")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda s, t: (tir.const(0, s), tir.const(1, t)), name="both")
    S, P = te.compute((8,), lambda i: both((A[i, k], B[i, k]), axis=k), name="S")
    (a, b), (s, p) = run(te.create_schedule(S.op), [A, B, S, P])
    close(s, a.sum(1)), close(p, b.prod(1))


def test_comm_reducer_of_one_value():
    A, k = te.placeholder((8, 12), name="A"), te.reduce_axis((0, 12), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, dtype=t), name="product")
    P = te.compute((8,), lambda i: product(A[i, k], axis=k), name="P")
    (a,), (p,) = run(te.create_schedule(P.op), [A, P])
    close(p, a.prod(1))


def test_several_values():
    A = te.placeholder((12,), name="A")
    S, D = te.compute((12,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="T")
    (a,), (x, y) = run(te.create_schedule(S.op), [A, S, D])
    close(x, a + 1), close(y, a * 2)


def test_scan_cumsum():
    m, n = 20, 6
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    (x,), (y,) = run(te.create_schedule(S.op), [X, S])
    close(y, x.cumsum(0))


def test_scan_with_a_reduction():
    m, n = 9, 5
    X, W, state = te.placeholder((m, n), name="X"), te.placeholder((n, n), name="W"), te.placeholder((m, n), name="state")
    k = te.reduce_axis((0, n), "k")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    mixed = te.compute((m, n), lambda t, i: te.sum(state[t - 1, k] * W[k, i], axis=k), name="mixed")
    update = te.compute((m, n), lambda t, i: te.tanh(mixed[t, i] + X[t, i]), name="update")
    S = te.scan(init, update, state, inputs=[X, W], name="S")
    (x, w), (y,) = run(te.create_schedule(S.op), [X, W, S])
    h = [x[0]]
    for t in range(1, m):
        h.append(np.tanh(h[-1] @ w + x[t]))
    close(y, np.array(h))


def test_scan_of_two_states():
    m, n = 12, 4
    X, s1, s2 = (te.placeholder((m, n), name=x) for x in ("X", "s1", "s2"))
    i1, i2 = te.compute((1, n), lambda _, i: X[0, i], name="i1"), te.compute((1, n), lambda _, i: 1.0 * X[0, i], name="i2")
    u1 = te.compute((m, n), lambda t, i: s1[t - 1, i] + X[t, i], name="u1")
    u2 = te.compute((m, n), lambda t, i: s2[t - 1, i] * 0.5 + s1[t - 1, i], name="u2")
    S1, S2 = te.scan([i1, i2], [u1, u2], [s1, s2], inputs=[X], name="S")
    (x,), (a, b) = run(te.create_schedule(S1.op), [X, S1, S2])
    wa, wb = [x[0]], [x[0]]
    for t in range(1, m):
        wa.append(wa[-1] + x[t]), wb.append(wb[-1] * 0.5 + wa[-2])
    close(a, np.array(wa)), close(b, np.array(wb))


def test_extern_packed():
    @tvm.register_func("tests.double", override=True)
    def double(x, y):
        tvm.nd.array(x.numpy() * 2).copyto(y)

    A = te.placeholder((6, 7), name="A")
    B = te.extern(A.shape, [A], lambda ins, outs: tir.call_packed("tests.double", ins[0], outs[0]), name="B")
    C = te.compute(A.shape, lambda i, j: B[i, j] + 1.0, name="C")
    (a,), (c,) = run(te.create_schedule(C.op), [A, C])
    close(c, 2 * a + 1)


def test_extern_mixes_its_arguments():
    A = te.placeholder((6, 7), name="A")
    B = te.extern(A.shape, [A], lambda ins, outs: tir.call_extern("int32", "f", 6, outs[0], 0.5, ins[0], te.const(7, "int64"), te.const(2.0, "float64")), name="B")
    C = te.compute(A.shape, lambda i, j: B[i, j] + 1.0, name="C")
    text = str(tvm.lower(te.create_schedule(C.op), [A, C]))
    assert "call f(6, writes(B[0], [42]), 0.5f32, reads(A[0], [42]), 7i64, 2f64)" in text, text


def test_extern_takes_symbols():
    n = te.var("n")
    A = te.placeholder((n, 6), name="A")
    P = te.compute((n, 6), lambda i, j: A[i, j] * 2, name="P")
    B = te.extern((n, 6), [P], lambda ins, outs: tir.call_extern("int32", "f", n, ins[0], outs[0], tir.Cast("int64", n)), name="B")
    s = te.create_schedule(B.op)
    assert "call f(cast(int32, n), reads(P[0i64], [0]), writes(B[0i64], [0]), n)" in str(tvm.lower(s, [A, B])), tvm.lower(s, [A, B])
    C = te.extern((4,), [A], lambda ins, outs: tir.call_extern("int32", "f", A[0, 0], ins[0], outs[0]), name="C", dtype="float32")
    refused(lambda: tvm.lower(te.create_schedule(C.op), [A, C]), "input 1 of f is no tensor")


def test_extern_calls_that_are_refused():
    A, X = te.placeholder((6,), name="A"), te.placeholder((6,), name="X")

    def extern(call):
        return lambda: te.extern((6,), [A], call, name="B")

    refused(extern(lambda i, o: tir.call_extern("int32", "f", i[0])), "the call is given B 0 times")
    refused(extern(lambda i, o: tir.call_extern("int32", "f", o[0], i[0], o[0])), "the call is given B 2 times")
    refused(extern(lambda i, o: tir.call_extern("int32", "f", i[0], X, o[0])), "given X, which is none of its inputs and outputs")
    refused(extern(lambda i, o: tir.call_extern("int32", "f", i[0], "x", o[0])), "str is no argument of a C function")
    refused(extern(lambda i, o: tir.call_packed("f", o[0], i[0])), "a packed call takes all inputs, then all outputs")
    refused(extern(lambda i, o: 1), "the function returns tir.call_extern")


def test_cycles_are_collected_in_any_order():
    import gc
    for i in range(20):
        A, B = elementwise(16)
        cycle = {"context first": i % 2, "made": None}
        s = te.create_schedule(B.op)
        f = tvm.build(s, [A, B])
        f(data(A), np.zeros(16, "float32"))
        cycle["made"] = [cycle, f, s] if i % 2 else [s, f, cycle]
        del A, B, s, f, cycle
        gc.collect()


def test_scalar_argument():
    A, alpha = te.placeholder((10,), name="A"), te.var("alpha", dtype="float32")
    B = te.compute((10,), lambda i: A[i] * alpha, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, alpha, B])
    a, b = data(A), np.zeros(10, "float32")
    f(a, 2.5, b)
    close(b, a * 2.5)


def test_same_names_get_numbers():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0)
    C = te.compute((10,), lambda i: B[i] * 2.0)
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    (a,), (c,) = run(s, [A, C])
    close(c, 2 * (a + 1))


def test_argument_order():
    A, B, C, k = matmul()
    f = tvm.build(te.create_schedule(C.op), [C, B, A])
    a, b, c = data(A), data(B), np.zeros((N, 40), "float32")
    f(c, b, a)
    close(c, a @ b)


def test_shared_parts_do_not_double():
    A = te.placeholder((8,), name="A")

    def deep(i):
        x = A[i]
        for _ in range(12):
            x = (x + x) * 0.5
        return x

    B = te.compute((8,), deep, name="B")
    (a,), (b,) = run(te.create_schedule(B.op), [A, B])
    close(b, a)


# ---- primitives

def test_split_factor():
    check_matmul(lambda s, A, B, C, k: s[C].split(C.op.axis[0], factor=5), ["i.outer", "i.inner"])


def test_split_nparts():
    check_matmul(lambda s, A, B, C, k: s[C].split(C.op.axis[0], nparts=5), ["i.outer: int32, 0, 5"])


def test_split_tails():
    for tail in ("guard", "peel", "overlap"):
        check_matmul(lambda s, A, B, C, k: s[C].split(C.op.axis[1], factor=16, tail=tail))


def test_tile():
    check_matmul(lambda s, A, B, C, k: s[C].tile(*C.op.axis, 8, 16), ["i.outer", "j.inner"])


def test_fuse():
    check_matmul(lambda s, A, B, C, k: s[C].fuse(*C.op.axis), ["i.j.fused"])


def test_reorder():
    def change(s, A, B, C, k):
        io, jo, ii, ji = s[C].tile(*C.op.axis, 8, 16)
        s[C].reorder(io, jo, k, ii, ji)
        assert [str(l) for l in s[C].leaf_iter_vars] == ["i.outer", "j.outer", "k", "i.inner", "j.inner"]
    check_matmul(change)


def test_vectorize():
    def change(s, A, B, C, k):
        jo, ji = s[C].split(C.op.axis[1], 8)
        s[C].reorder(k, ji)
        s[C].vectorize(ji)
    check_matmul(change, ["ramp("])


def test_unroll():
    def change(s, A, B, C, k):
        ko, ki = s[C].split(k, 4)
        s[C].unroll(ki)
    check_matmul(change)


def test_parallel():
    check_matmul(lambda s, A, B, C, k: s[C].parallel(C.op.axis[0]), ['"parallel"'])


def test_pragma():
    check_matmul(lambda s, A, B, C, k: s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16))


def test_prefetch():
    check_matmul(lambda s, A, B, C, k: s[C].prefetch(A, C.op.axis[0], 1), ["prefetch"])


def test_cache_write():
    def change(s, A, B, C, k):
        CC = s.cache_write(C, "local")
        io, jo, ii, ji = s[C].tile(*s[C].op.axis, 8, 16)
        s[CC].compute_at(s[C], jo)
        ic, jc = s[CC].op.axis
        s[CC].reorder(k, ic, jc)
        s[CC].vectorize(jc)
    check_matmul(change, ["C.local"])


def test_cache_read():
    def change(s, A, B, C, k):
        BB = s.cache_read(B, "global", [C])
        s[BB].compute_at(s[C], C.op.axis[0])
    check_matmul(change, ["B.global"])


def test_transform_layout():
    def change(s, A, B, C, k):
        BB = s.cache_read(B, "global", [C])
        s[BB].transform_layout(lambda i, j: [j // 8, i, j % 8])
    check_matmul(change)


def test_rfactor():
    A, k = te.placeholder((96,), name="A"), te.reduce_axis((0, 96), "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    s = te.create_schedule(S.op)
    ko, ki = s[S].split(k, factor=16)
    F = s.rfactor(S, ki)
    s[F].vectorize(s[F].op.axis[0])
    (a,), (x,) = run(s, [A, S])
    close(x, a.sum(), rtol=1e-4)


def test_parallel_reduce():
    A, k = te.placeholder((1000,), name="A"), te.reduce_axis((0, 1000), "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    s = te.create_schedule(S.op)
    s.parallel_reduce(S, k, 4)
    (a,), (x,) = run(s, [A, S])
    close(x, a.sum(), rtol=1e-3)


def test_rfactor_window():
    A = te.placeholder((20, 24), name="A")
    r, c = te.reduce_axis((0, 5), "r"), te.reduce_axis((0, 3), "c")
    S = te.compute((16, 22), lambda y, x: te.max(A[y + r, x + c], axis=[r, c]), name="S")
    s = te.create_schedule(S.op)
    F = s.rfactor_window(S, c, S.op.axis[1])
    s[F].compute_at(s[S], S.op.axis[0])
    (a,), (x,) = run(s, [A, S])
    close(x, [[a[i : i + 5, j : j + 3].max() for j in range(22)] for i in range(16)])


def stencil():
    A = te.placeholder((66, 66), name="A")
    P = te.compute((66, 66), lambda y, x: A[y, x] * 2.0, name="P")
    Q = te.compute((64, 64), lambda y, x: P[y, x] + P[y + 2, x + 2], name="Q")
    return A, P, Q


def check_stencil(change, words=()):
    A, P, Q = stencil()
    s = te.create_schedule(Q.op)
    change(s, A, P, Q)
    text = str(tvm.lower(s, [A, Q]))
    for w in words:
        assert w in text, text
    (a,), (q,) = run(s, [A, Q])
    close(q, 2 * (a[:64, :64] + a[2:, 2:]))


def test_compute_at():
    check_stencil(lambda s, A, P, Q: s[P].compute_at(s[Q], Q.op.axis[0]))


def test_compute_inline():
    check_stencil(lambda s, A, P, Q: s[P].compute_inline())


def test_compute_root():
    def change(s, A, P, Q):
        s[P].compute_at(s[Q], Q.op.axis[0])
        s[P].compute_root()
    check_stencil(change)


def test_auto_inline():
    check_stencil(lambda s, A, P, Q: te_auto(s))


def te_auto(s):
    s.auto_inline()
    assert "P" in s.core.stages


def test_rolling_buffer():
    def change(s, A, P, Q):
        s[P].compute_at(s[Q], Q.op.axis[0])
        s[P].rolling_buffer()
    check_stencil(change)


def test_double_buffer():
    def change(s, A, P, Q):
        s[P].compute_at(s[Q], Q.op.axis[0])
        s[P].double_buffer()
    check_stencil(change)


def test_storage_align():
    check_stencil(lambda s, A, P, Q: s[P].storage_align(P.op.axis[0], 32, 8))


def test_set_scope():
    def change(s, A, P, Q):
        s[P].compute_at(s[Q], Q.op.axis[0])
        s[P].set_scope("local")
    check_stencil(change)


def test_create_group():
    X, k = te.placeholder((16, 24), name="X"), te.reduce_axis((0, 24), "k")
    M = te.compute((16,), lambda i: te.max(X[i, k], axis=k), name="M")
    E = te.compute((16, 24), lambda i, j: te.exp(X[i, j] - M[i]), name="E")
    k2 = te.reduce_axis((0, 24), "k")
    S = te.compute((16,), lambda i: te.sum(E[i, k2], axis=k2), name="S")
    Y = te.compute((16, 24), lambda i, j: E[i, j] / S[i], name="Y")
    s = te.create_schedule(Y.op)
    s.create_group(outputs=[S], inputs=[X]).compute_at(s[Y], Y.op.axis[0])
    (x,), (y,) = run(s, [X, Y])
    e = np.exp(x - x.max(1, keepdims=True))
    close(y, e / e.sum(1, keepdims=True))


def test_tensorize_gemv():
    A, B, C, k = matmul(8, 32, 64)
    Bt = te.placeholder((32, 64), name="Bt")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((8, 32), lambda i, j: te.sum(A[i, k] * Bt[j, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], 16)
    s[C].tensorize(ji, "gemv_16x64")
    (a, b), (c,) = run(s, [A, Bt, C])
    close(c, a @ b.T)


def test_declared_intrinsic():
    a, b, k = te.placeholder((16,), name="a"), te.placeholder((16,), name="b"), te.reduce_axis((0, 1), "k")
    c = te.compute((16,), lambda i: a[i] + b[i], name="c")
    calls = []

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float),
                      ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    def add(out, x, y, so, sx, sy):
        calls.append(1)
        for i in range(16):
            out[i * so] = x[i * sx] + y[i * sy]

    intrin = te.decl_tensor_intrin(c.op, {"body": add}, "add16")
    A, B = te.placeholder((64,), name="A"), te.placeholder((64,), name="B")
    C = te.compute((64,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], 16)
    s[C].tensorize(ii, intrin)
    (x, y), (z,) = run(s, [A, B, C])
    close(z, x + y)
    assert len(calls) >= 4


def test_layout_free():
    A, B, C, k = matmul()
    te.layout_free(B)
    s = te.create_schedule(C.op)
    assert "layout_free" in str(s.graph.program)


# ---- modules and what is around them

def test_time_evaluator():
    A, B, C, k = matmul()
    f = tvm.build(te.create_schedule(C.op), [A, B, C], target="llvm", name="mm")
    t = f.time_evaluator(f.entry_name, tvm.cpu(), number=2, repeat=3)(data(A), data(B), np.zeros((N, 40), "float32"))
    assert f.entry_name == "mm" and len(t.results) == 3 and 0 < t.min <= t.mean <= t.max


def test_sources():
    A, B, C, k = matmul()
    f = tvm.build(te.create_schedule(C.op), [A, B, C], name="mm")
    assert "define" in f.get_source("ll") and "mm:" in f.get_source("asm") and "mm(" in f.get_source("c")


def test_target_words():
    A, B, C, k = matmul()
    s = te.create_schedule(C.op)
    assert "cpu=znver4" in str(tvm.target.Target("llvm -mcpu=znver4 -num-cores=1").core(s.core.context))
    refused(lambda: tvm.build(s, [A, B, C], target="cuda"), "cuda", "CPU")
    refused(lambda: tvm.build(s, [A, B, C], target="llvm -mcpu=zen9"), "zen9")


def test_nd_arrays():
    A, B, C, k = matmul()
    f = tvm.build(te.create_schedule(C.op), [A, B, C])
    a, b, c = tvm.nd.array(data(A)), tvm.nd.array(data(B)), tvm.nd.empty((N, 40))
    f(a, b, c)
    tvm.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-5)


def test_read_only_input():
    A, B = elementwise()
    a, b = data(A), np.zeros(100, "float32")
    a.flags.writeable = False
    tvm.build(te.create_schedule(B.op), [A, B])(a, b)
    close(b, a * 2)


def test_text_layer():
    p = tvm.program("param N = 4\nC[i<N, j<8] = sum[k<8](A[i,k] * B[k,j])", N=16)
    a, b, c, d = (np.random.rand(*s).astype("float32") for s in ((16, 8), (8, 8), (16, 8), (16, 8)))
    p.schedule("auto").build()(a, b, c)
    p.evaluate(a, b, d)
    close(c, a @ b), close(d, a @ b)
    assert [x.name for x in p.args] == ["A", "B", "C"] and p.flops == 2 * 16 * 8 * 8


def test_schedule_html():
    A, B, C, k = matmul()
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 8)
    assert "i.outer" in s._repr_html_() and "reduction" in s._repr_html_()


def test_profiler():
    with tvm.Profiler() as p:
        with p.timeit("work"):
            sum(range(1000))
    assert "work" in p.get() and "work" in p.table()


# ---- refusals

def refused_on_matmul(change, *words):
    A, B, C, k = matmul()
    s = te.create_schedule(C.op)
    before = s.core.text("text")
    refused(lambda: change(s, A, B, C, k), *words)
    assert s.core.text("text") == before


def test_refuses_parallel_reduction():
    refused_on_matmul(lambda s, A, B, C, k: s[C].parallel(k), "parallel", "C", "k", "reduction")


def test_refuses_unknown_loop():
    refused_on_matmul(lambda s, A, B, C, k: s[C].split("z", 4), "split", "z", "i, j")


def test_refuses_zero_factor():
    refused_on_matmul(lambda s, A, B, C, k: s[C].split(C.op.axis[0], 0), "split", "0")


def test_refuses_two_factors():
    refused_on_matmul(lambda s, A, B, C, k: s[C].split(C.op.axis[0], 4, 4), "factor", "nparts")


def test_refuses_inlined_reduction():
    refused_on_matmul(lambda s, A, B, C, k: s[C].compute_inline(), "compute_inline", "C")


def test_refuses_foreign_tensor():
    refused_on_matmul(lambda s, A, B, C, k: s[elementwise()[1]], "B")


def test_refuses_wrong_rank():
    A = te.placeholder((4, 5), name="A")
    refused(lambda: te.compute((4,), lambda i: A[i, i, i]), "A", "2", "3")


def test_refuses_missing_argument():
    A, B, C, k = matmul()
    refused(lambda: tvm.build(te.create_schedule(C.op), [A, C]), "B")


def test_refuses_wrong_array():
    A, B = elementwise()
    f = tvm.build(te.create_schedule(B.op), [A, B])
    refused(lambda: f(np.zeros(100, "float64"), np.zeros(100, "float32")), "A", "f64")
    refused(lambda: f(np.zeros(99, "float32"), np.zeros(100, "float32")), "A", "99")
    refused(lambda: f([1, 2], np.zeros(100, "float32")), "array")
    refused(lambda: f(np.zeros(100, "float32")), "2 arrays")


def test_refuses_truth_of_expressions():
    A, B = elementwise()
    refused(lambda: te.compute((100,), lambda i: A[i] if i < 5 else 0.0), "truth", "if_then_else")


def test_refuses_integer_division():
    A = te.placeholder((4,), "int32", name="A")
    refused(lambda: te.create_schedule(te.compute((4,), lambda i: A[i] / 2).op), "//")


def test_refuses_reduce_axis_from_2():
    refused(lambda: te.reduce_axis((2, 9), "k"), "k + 2")


def test_refuses_unordered_combiner():
    A, k = te.placeholder((8,), name="A"), te.reduce_axis((0, 8), "k")
    minus = te.comm_reducer(lambda x, y: x - y, lambda t: tir.const(0, t), name="minus")
    S = te.compute((), lambda: minus(A[k], axis=k), name="S")
    refused(lambda: te.create_schedule(S.op), "minus")


main(globals())
