"""Expressions, axes and tensors as Python objects: what te's functions return. Nothing is checked here but the form: a graph is handed to
the library when a schedule is made (graph.py), which refuses what is wrong."""
import itertools

DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16",
          "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64"}
NAMES = {short: name for name, short in DTYPES.items()}


def dtype_text(dtype):
    """Tenon's word for TVM's or NumPy's: "float32" -> "f32"."""
    text = str(dtype)
    if text not in DTYPES and text not in NAMES:
        raise TypeError(f"there is no dtype {text!r}: take one of {', '.join(DTYPES)}")
    return DTYPES.get(text, text)


class Expr:
    """A value; immutable. `dtype` is its type in TVM's words."""

    def _dtype(self):
        raise NotImplementedError

    @property
    def dtype(self):
        return NAMES[self._dtype()]

    def astype(self, dtype):
        return Cast(dtype_text(dtype), self)

    def __bool__(self):
        raise TypeError("an expression has no truth value here: write tir.all(a, b), tir.any(a, b), te.if_then_else(c, x, y)")

    def __add__(self, other): return Op("+", self, other)
    def __radd__(self, other): return Op("+", other, self)
    def __sub__(self, other): return Op("-", self, other)
    def __rsub__(self, other): return Op("-", other, self)
    def __mul__(self, other): return Op("*", self, other)
    def __rmul__(self, other): return Op("*", other, self)
    def __truediv__(self, other): return Op("/", self, other)
    def __rtruediv__(self, other): return Op("/", other, self)
    def __floordiv__(self, other): return Op("//", self, other)
    def __rfloordiv__(self, other): return Op("//", other, self)
    def __mod__(self, other): return Op("%", self, other)
    def __rmod__(self, other): return Op("%", other, self)
    def __neg__(self): return Op("neg", self)
    def __lshift__(self, other): return Op("<<", self, other)
    def __rshift__(self, other): return Op(">>", self, other)
    def __and__(self, other): return Op("&", self, other)
    def __or__(self, other): return Op("|", self, other)
    def __xor__(self, other): return Op("^", self, other)
    def __invert__(self): return Op("~", self)
    def __lt__(self, other): return Op("<", self, other)
    def __le__(self, other): return Op("<=", self, other)
    def __gt__(self, other): return Op(">", self, other)
    def __ge__(self, other): return Op(">=", self, other)
    def __eq__(self, other): return Op("==", self, other)
    def __ne__(self, other): return Op("!=", self, other)
    def equal(self, other): return Op("==", self, other)
    __hash__ = object.__hash__


def dtype_of(x):
    """Tenon's dtype of an expression; None for a Python number, which takes the other operand's."""
    if isinstance(x, Tensor):
        return x._dtype
    return x._dtype() if isinstance(x, Expr) else "bool" if isinstance(x, bool) else None


_WIDTH = {"bool": 1, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def _unify(a, b):
    """The dtype of an operation on A and B (te.h has the rules; the library has the last word)."""
    if a is None or b is None:
        return a or b
    if a == b:
        return a
    for x, y in ((a, b), (b, a)):
        if x == "bool":
            return y
    floats = [x for x in (a, b) if x[0] in "fb"]
    if floats:
        return max(floats, key=_WIDTH.get) if len(floats) == 2 else floats[0]
    return max((a, b), key=lambda x: (_WIDTH[x], x[0] == "u"))


_TESTS = {"==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "isnan", "isinf", "isfinite"}


class Op(Expr):
    """An operator or function of the text form: "+", "min", "exp", "select", ..."""

    def __init__(self, name, *args):
        self.name, self.args = name, args
        self._type = self._find_dtype()  # once: shared parts are not walked again

    def _dtype(self):
        return self._type

    def __bool__(self):
        """Of == and !=, as lists and dicts ask: whether the operands are the same object."""
        if self.name in ("==", "!="):
            return (self.args[0] is self.args[1]) == (self.name == "==")
        return super().__bool__()

    def _find_dtype(self):
        if self.name in _TESTS:
            return "bool"
        values = self.args[1:] if self.name == "select" else self.args
        found = None
        for v in values:
            found = _unify(found, dtype_of(v))
        return found or ("f32" if any(isinstance(v, float) for v in values) else "i32")


class Cast(Expr):
    def __init__(self, to, value):
        self.to, self.args = to, (value,)

    def _dtype(self):
        return self.to


class Const(Expr):
    args = ()

    def __init__(self, value, dtype):
        self.value, self.type = value, dtype_text(dtype)

    def _dtype(self):
        return self.type


class Var(Expr):
    """A number known at a call: a symbol where it stands in an extent, else a scalar argument."""

    args = ()

    def __init__(self, name="v", dtype="int32"):
        self.name, self.type = name, dtype_text(dtype)

    def _dtype(self):
        return self.type

    def __repr__(self):
        return self.name


class IterVar(Expr):
    """An axis. As a value it is an int32. `extent` is a number or an expression of symbols."""

    args = ()

    def __init__(self, name, extent, is_reduction=False):
        self.name, self.extent, self.is_reduction = name, extent, is_reduction

    @property
    def var(self):
        return self

    @property
    def dom(self):
        return Range(0, self.extent)

    def _dtype(self):
        return "i32"

    def __repr__(self):
        return self.name


class Range:
    def __init__(self, begin, extent):
        self.min, self.extent = begin, extent


class Read(Expr):
    def __init__(self, tensor, indices):
        if len(indices) != len(tensor.shape):
            raise ValueError(f"{tensor.name} has {len(tensor.shape)} dimensions and is read with {len(indices)} indices")
        self.tensor, self.args = tensor, tuple(indices)

    def _dtype(self):
        return self.tensor._dtype


class Reduce(Expr):
    """A reduction of sources over axes: COMBINER is a word ("sum") or a Combiner."""

    def __init__(self, combiner, sources, axes, where=None, init=None):
        self.combiner, self.sources, self.axes, self.where, self.init = combiner, tuple(sources), tuple(axes), where, init
        self.args = self.sources + tuple(x for x in (where, *(init or ())) if x is not None)
        for a in self.axes:
            if not (isinstance(a, IterVar) and a.is_reduction):
                raise TypeError(f"{a!r} is no reduction axis: make it with te.reduce_axis((0, n), name)")

    def _dtype(self):
        return dtype_of(self.sources[0]) or "f32"


class Combiner:
    """te.comm_reducer's: made for a number of values of some dtypes when it is first called."""

    def __init__(self, combine, identity, name):
        self.combine, self.identity, self.name, self.made = combine, identity, name, {}

    def __call__(self, expr, axis, where=None, init=None):
        sources = tuple(expr) if isinstance(expr, (tuple, list)) else (expr,)
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        init = None if init is None else tuple(init) if isinstance(init, (tuple, list)) else (init,)
        return Reduce(self, sources, axes, where, init)

    def of(self, dtypes):
        """(left variables, right variables, results, identity values) for values of DTYPES."""
        if dtypes not in self.made:
            left, right = ([CombinerVar(side, i, d) for i, d in enumerate(dtypes)] for side in ("lhs", "rhs"))
            one = len(dtypes) == 1
            results = self.combine(left[0], right[0]) if one else self.combine(tuple(left), tuple(right))
            identity = self.identity(*[NAMES[d] for d in dtypes])
            as_tuple = lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,)
            self.made[dtypes] = left, right, as_tuple(results), as_tuple(identity)
        return self.made[dtypes]


class CombinerVar(Expr):
    args = ()

    def __init__(self, side, index, dtype):
        self.side, self.index, self.type = side, index, dtype

    def _dtype(self):
        return self.type


class Slice:
    """A[i] of a tensor of more dimensions: A[i][k] reads A[i, k]."""

    def __init__(self, tensor, indices):
        self.tensor, self.indices = tensor, indices

    def __getitem__(self, index):
        return self.tensor[self.indices + (index if isinstance(index, tuple) else (index,))]


class Tensor:
    """A tensor: `op` made it, as its value `value_index`."""

    def __init__(self, op, value_index, name, shape, dtype):
        self.op, self.value_index, self.name, self.shape, self._dtype = op, value_index, name, tuple(shape), dtype

    @property
    def dtype(self):
        return NAMES[self._dtype]

    @property
    def ndim(self):
        return len(self.shape)

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        return Slice(self, indices) if len(indices) < len(self.shape) else Read(self, indices)

    def __call__(self, *indices):
        return Read(self, indices)

    def __repr__(self):
        return f"Tensor({self.name}: {self.dtype}{list(self.shape)})"


class Operation:
    """What makes tensors: a placeholder, a compute, a scan, an extern call. `kind` says which."""

    _serial = itertools.count()

    def __init__(self, kind, name, axis=(), reduce_axis=(), **details):
        self.kind, self.name, self.axis, self.reduce_axis = kind, name, list(axis), list(reduce_axis)
        self.details, self.outputs, self.serial = details, [], next(Operation._serial)

    def output(self, index):
        return self.outputs[index]

    @property
    def input_tensors(self):
        """The tensors that it reads, in order of appearance."""
        found = {}
        for root in self.details.get("reads", ()):
            found.setdefault(id(root), root)
        for body in self.details.get("body", ()):
            for e in walk(body):
                if isinstance(e, Read):
                    found.setdefault(id(e.tensor), e.tensor)
        return list(found.values())

    def __repr__(self):
        return f"{self.kind}({self.name})"


def walk(root):
    """Every expression below ROOT once, arguments first."""
    seen, stack = set(), [(root, False)]
    while stack:
        e, is_done = stack.pop()
        if not isinstance(e, Expr) or (id(e) in seen and not is_done):
            continue
        if is_done:
            yield e
            continue
        seen.add(id(e))
        stack.append((e, True))
        stack.extend((a, False) for a in reversed(e.args))
