"""What scripts take from tvm.tir: conditions, selects, constants, functions of one element."""
from .expr import Const, Expr, NAMES, Op, Var, dtype_of, dtype_text

_abs, _min, _max = abs, min, max


def _fold(word, args):
    found = args[0]
    for a in args[1:]:
        found = Op(word, found, a)
    return found


def all(*args):
    """Every one of the conditions."""
    return _fold("&&", args)


def any(*args):
    """Some of the conditions."""
    return _fold("||", args)


def Not(a):
    return Op("!", a)


def And(a, b):
    return Op("&&", a, b)


def Or(a, b):
    return Op("||", a, b)


def Select(condition, true_value, false_value):
    return Op("select", condition, true_value, false_value)


def if_then_else(condition, true_value, false_value):
    return Op("select", condition, true_value, false_value)


def const(value, dtype="int32"):
    return Const(value, dtype)


def Cast(dtype, value):
    return value.astype(dtype) if isinstance(value, Expr) else Const(value, dtype)


def likely(condition):
    """Not needed: the condition as it is."""
    return condition


def min(a, b):
    return Op("min", a, b)


def max(a, b):
    return Op("max", a, b)


def _range(dtype):
    text = dtype_text(dtype)
    if text[0] == "f" or text == "bf16":
        return {"f16": (-65504.0, 65504.0), "f32": (-3.4028234663852886e38, 3.4028234663852886e38), "bf16": (-3.3895313892515355e38, 3.3895313892515355e38),
                "f64": (-1.7976931348623157e308, 1.7976931348623157e308)}[text]
    bits = 1 if text == "bool" else int(text[1:])
    return (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if text[0] == "i" else (0, 2 ** bits - 1)


def min_value(dtype):
    return Const(_range(dtype)[0], dtype)


def max_value(dtype):
    return Const(_range(dtype)[1], dtype)


def _function(word):
    def call(*args):
        return Op(word, *args)
    call.__name__ = word
    call.__doc__ = f"`{word}` of the text form (docs/language.md)."
    return call


for _word in ("abs acos acosh asin asinh atan atan2 atanh ceil clz copysign cos cosh erf exp exp10 exp2 floor fmod hypot isfinite isinf isnan log "
              "log10 log1p log2 nearbyint popcount round rsqrt sigmoid sin sinh sqrt tan tanh trunc").split():
    globals()[_word] = _function(_word)
power = pow = _function("pow")
floordiv = indexdiv = _function("//")
floormod = indexmod = _function("%")


def div(a, b):
    return Op("/", a, b)


class ExternCall:
    """A call of a function on whole tensors: what te.extern takes."""

    def __init__(self, name, args, is_packed):
        self.name, self.args, self.is_packed = name, args, is_packed


def call_extern(dtype, name, *args):
    """A call of the C function `void NAME(...)`: ARGS are whole tensors and numbers in the order of its parameters. An int is an int32_t (or
    int64_t), a float is a float, te.const(1.0, "float64") a double. DTYPE is not looked at."""
    return ExternCall(name, args, False)


def call_packed(name, *args):
    """A Python function registered under NAME (tenon.register_func), which takes arrays."""
    return ExternCall(name, args, True)
