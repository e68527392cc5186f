"""What the cases share: building, running and comparing with NumPy."""
import sys

import numpy as np

import tenon as tvm
from tenon import te

RANDOM = np.random.default_rng(7)


def data(tensor):
    """Random numbers for an input."""
    shape = tuple(int(e) for e in tensor.shape)
    if tensor.dtype.startswith("float"):
        return RANDOM.uniform(-1, 1, shape).astype(tensor.dtype)
    if tensor.dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(bool)
    return RANDOM.integers(0 if tensor.dtype[0] == "u" else -4, 9, shape).astype(tensor.dtype)


def run(schedule, args, inputs=None):
    """The values of all outputs, for random or given inputs: (inputs, outputs)."""
    f = tvm.build(schedule, args)
    arrays = []
    for i, t in enumerate(args):
        is_input = t.op.kind == "placeholder"
        arrays.append((inputs[i] if inputs else data(t)) if is_input else np.zeros(tuple(int(e) for e in t.shape), t.dtype))
    f(*arrays)
    n = sum(t.op.kind == "placeholder" for t in args)
    return arrays[:n], arrays[n:]


def close(actual, wanted, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol)


def refused(function, *words):
    """FUNCTION raises, and its message has all WORDS."""
    try:
        function()
    except (tvm.TenonError, ValueError, TypeError, KeyError, NotImplementedError) as error:
        missing = [w for w in words if w not in str(error)]
        assert not missing, f"{error}\nlacks {missing}"
        return
    raise AssertionError("nothing was refused")


def main(cases):
    """Runs the functions test_* of a module; says which failed."""
    failed = 0
    names = [n for n in cases if n.startswith("test_") and all(w in n for w in sys.argv[1:])]
    for name in names:
        try:
            cases[name]()
        except Exception as error:  # a case that fails must not hide the others
            failed += 1
            import traceback
            traceback.print_exc()
            print(f"FAILED {name}: {error}")
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0 or not names)
