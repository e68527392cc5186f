"""The words of TVM's te: placeholders, computes, reductions, scans, extern calls, schedules.

    A = te.placeholder((1024, 1024), name="A")
    k = te.reduce_axis((0, 1024), name="k")
    C = te.compute((1024, 1024), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)

docs/from-tvm.md says what differs."""
import inspect

from .expr import Combiner, Expr, IterVar, Operation, Reduce, Tensor, Var, dtype_of, dtype_text
from .schedule import TensorIntrin, create_schedule, decl_tensor_intrin, thread_axis
from .tir import (abs, acos, acosh, asin, asinh, atan, atan2, atanh, ceil, clz, const, copysign, cos, cosh, div, erf, exp, exp10, exp2, floor,
                  floordiv, floormod, fmod, hypot, if_then_else, indexdiv, indexmod, isfinite, isinf, isnan, log, log10, log1p, log2,
                  max_value, min_value, nearbyint, popcount, power, round, rsqrt, sigmoid, sin, sinh, sqrt, tan, tanh, trunc)
from . import tir

__all__ = [name for name in dir() if not name.startswith("_")]


def var(name="v", dtype="int32"):
    """A symbol where it stands in a shape, else a scalar argument of the kernel."""
    return Var(name, dtype)


size_var = var


def placeholder(shape, dtype="float32", name="placeholder"):
    """An input."""
    op = Operation("placeholder", name)
    op.outputs.append(Tensor(op, 0, name, _shape(shape), dtype_text(dtype)))
    return op.outputs[0]


def reduce_axis(dom, name="rv"):
    """A reduction axis over (0, n)."""
    begin, end = (dom.min, dom.min + dom.extent) if hasattr(dom, "extent") else dom
    if not (isinstance(begin, int) and begin == 0):
        raise ValueError(f"reduce_axis(({begin}, {end}), {name!r}): begins at 0 here; read at {name} + {begin} over (0, {end} - {begin})")
    return IterVar(name, end, is_reduction=True)


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """A tensor whose element at (i, j, ...) is FCOMPUTE(i, j, ...); several, where that is a tuple. TAG and ATTRS are not looked at:
    operators are recognised by what they compute."""
    shape = _shape(shape)
    axes = [IterVar(n, e) for n, e in zip(_axis_names(fcompute, len(shape), varargs_names), shape)]
    body = fcompute(*axes)
    values = tuple(body) if isinstance(body, (tuple, list)) else (body,)
    reduction = values[0] if isinstance(values[0], Reduce) else None
    op = Operation("compute", name, axes, reduction.axes if reduction is not None else (), body=values)
    sources = reduction.sources if reduction is not None else values
    if reduction is not None and reduction.combiner in ("argmax", "argmin"):
        dtypes = ["i32", dtype_of(sources[-1]) or "f32"] if len(sources) == 1 else [dtype_of(x) for x in sources]
    else:
        dtypes = [dtype_of(v) or ("f32" if isinstance(v, float) else "i32") for v in sources]
    for i, dtype in enumerate(dtypes):
        op.outputs.append(Tensor(op, i, name if len(dtypes) == 1 else f"{name}_v{i}", shape, dtype))
    return op.outputs[0] if len(dtypes) == 1 else tuple(op.outputs)


def _reduction(word):
    def reduce(expr, axis, where=None, init=None):
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        return Reduce(word, (expr,), axes, where, None if init is None else (init,))
    reduce.__name__ = word
    reduce.__doc__ = f"The {word} of EXPR over reduction axes, where WHERE holds, from INIT on."
    return reduce


sum, max, min, prod = _reduction("sum"), _reduction("max"), _reduction("min"), _reduction("prod")
argmax, argmin = _reduction("argmax"), _reduction("argmin")


def all(*args, axis=None):
    """Every condition holds; with AXIS a reduction."""
    return Reduce("all", args, axis if isinstance(axis, (tuple, list)) else (axis,)) if axis is not None else tir.all(*args)


def any(*args, axis=None):
    """Some condition holds; with AXIS a reduction."""
    return Reduce("any", args, axis if isinstance(axis, (tuple, list)) else (axis,)) if axis is not None else tir.any(*args)


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A reduction of one's own: FCOMBINE(x, y) combines two values, or two tuples; FIDENTITY(dtypes...) is neutral. It must be associative and
    commutative: the library tries it on values and refuses one that is not."""
    return Combiner(fcombine, fidentity, name)


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """A recurrence along the first dimension: STATE is INIT's in the first steps, then UPDATE's, which reads the state at earlier steps."""
    inits, updates, states = ([x] if isinstance(x, Tensor) else list(x) for x in (init, update, state_placeholder))
    op = Operation("scan", name, updates[0].op.axis, init=inits, update=updates, state=states, reads=inits + updates)
    for i, state in enumerate(states):
        op.outputs.append(Tensor(op, i, name if len(states) == 1 else f"{name}_v{i}", state.shape, state._dtype))
    return op.outputs[0] if len(states) == 1 else op.outputs


def _check_call(name, call, inputs, outputs):
    """A packed function gets its tensors in order; a C function gets each input and, once, each output, wherever it wants them."""
    if not isinstance(call, tir.ExternCall):
        raise ValueError(f"extern {name}: the function returns tir.call_extern(dtype, name, *ins, *outs) or tir.call_packed(name, *ins, *outs)")
    given = list(map(id, call.args))
    if call.is_packed and given != list(map(id, inputs + outputs)):
        raise ValueError(f"extern {name}: a packed call takes all inputs, then all outputs, whole and in order: tir.call_packed(name, *ins, *outs)")
    for a in call.args:
        if not isinstance(a, (Tensor, Expr)) and not hasattr(a, "__index__") and not hasattr(a, "__float__"):
            raise ValueError(f"extern {name}: {type(a).__name__} is no argument of a C function: give tensors, numbers and what is made of symbols")
        if isinstance(a, Tensor) and id(a) not in map(id, inputs + outputs):
            raise ValueError(f"extern {name}: the call is given {a.name}, which is none of its inputs and outputs: add it to inputs")
    for t in inputs + outputs:
        times = given.count(id(t))
        if times == 0 or (times > 1 and id(t) in map(id, outputs)):
            raise ValueError(f"extern {name}: the call is given {t.name} {times} times: each input at least once, each output once")


def extern(shape, inputs, fcompute, name="extern", dtype=None, in_buffers=None, out_buffers=None, tag="", attrs=None):
    """Tensors that a function computes. FCOMPUTE(ins, outs) returns tir.call_extern(dtype, "name", *args), for a C function that takes
    the inputs, the outputs and numbers in this order, or tir.call_packed("name", *ins, *outs), for a function of tenon.register_func."""
    several = isinstance(shape, list) or (isinstance(shape, tuple) and shape and isinstance(shape[0], (tuple, list)))
    shapes = [_shape(s) for s in shape] if several else [_shape(shape)]
    dtypes = dtype if isinstance(dtype, (tuple, list)) else [dtype or (inputs[0].dtype if inputs else "float32")] * len(shapes)
    op = Operation("extern", name, reads=list(inputs))
    for i, (s, d) in enumerate(zip(shapes, dtypes)):
        op.outputs.append(Tensor(op, i, name if len(shapes) == 1 else f"{name}_v{i}", s, dtype_text(d)))
    call = fcompute(list(inputs), list(op.outputs))
    _check_call(name, call, list(inputs), op.outputs)
    op.details["call"] = call
    return op.outputs[0] if len(shapes) == 1 else op.outputs


def layout_free(tensor):
    """Declares an input constant from call to call, such as weights: what depends on it alone can be packed once (TVM: layout_free_placeholders)."""
    tensor.op.details["layout_free"] = True
    return tensor


def truncdiv(a, b):
    raise NotImplementedError("te.truncdiv: // rounds down here; for a negative dividend write te.if_then_else(a < 0, -((-a) // b), a // b)")


def truncmod(a, b):
    raise NotImplementedError("te.truncmod: % follows // here; for a negative dividend write te.if_then_else(a < 0, -((-a) % b), a % b)")


def _shape(shape):
    return tuple(int(x) if hasattr(x, "__index__") else x for x in (shape if isinstance(shape, (tuple, list)) else (shape,)))


def _axis_names(function, n, given):
    """The parameters' names of the lambda; i0, i1 ... for *indices."""
    if given:
        return list(given)
    names = []
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind == p.VAR_POSITIONAL:
            names += [f"{p.name if p.name != 'indices' else 'i'}{k}" for k in range(n - len(names))]
    if len(names) != n:
        raise ValueError(f"the function takes {len(names)} indices, the shape has {n} dimensions")
    return [("i" if x == "_" else x.strip("_") or "i") for x in names]
