"""Schedule primitives, one at a time: the loops before and after each.

    python3 examples/python/schedule_primitives.py"""
import tenon as tvm
from tenon import te

m, n = 64, 48


def show(title, change, make):
    """Prints the loop IR of a fresh schedule after CHANGE."""
    args, s = make()
    change(s, *args)
    print(f"# {title}\n{tvm.lower(s, args, simple_mode=True)}")


def product():
    A, B = te.placeholder((m, n), name="A"), te.placeholder((m, n), name="B")
    C = te.compute((m, n), lambda i, j: A[i, j] * B[i, j], name="C")
    return (A, B, C), te.create_schedule(C.op)


def chain():
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((m,), lambda i: B[i] * 2.0, name="C")
    return (A, C), te.create_schedule(C.op)


show("split by a factor", lambda s, A, B, C: s[C].split(C.op.axis[0], factor=20), product)
show("split into parts", lambda s, A, B, C: s[C].split(C.op.axis[0], nparts=4), product)
show("tile", lambda s, A, B, C: s[C].tile(*C.op.axis, 16, 16), product)
show("fuse", lambda s, A, B, C: s[C].fuse(*C.op.axis), product)


def reordered(s, A, B, C):
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 16, 16)
    s[C].reorder(xi, yo, xo, yi)


show("reorder", reordered, product)
show("compute_at", lambda s, A, C: s[s.stages[1]].compute_at(s[C], C.op.axis[0]), chain)
show("compute_inline", lambda s, A, C: s[s.stages[1]].compute_inline(), chain)

# What is illegal is refused at the call, with what to write instead; the schedule stays as it was.
(A, B, C), s = product()
try:
    s[C].split("k", factor=4)
except tvm.TenonError as error:
    print(f"# refused: {error}")
