"""Python functions that kernels call: tenon.register_func, tir.call_packed."""
import ctypes

import numpy

from . import _c
from ._library import lib
from .array import NUMPY_OF_DTYPE
from .nd import NDArray

_functions = {}


def register_func(name, function=None, override=False):
    """Registers a Python function that te.extern can call by tir.call_packed(NAME, ...). It gets arrays, inputs before outputs, and
    writes the outputs. Also a decorator."""
    def register(f):
        if name in _functions and not override:
            raise ValueError(f"{name} is registered already; pass override=True to replace it")
        _functions[name] = f
        return f
    return register(function) if function else register


def get_global_func(name):
    if name not in _functions:
        raise ValueError(f"there is no function {name}; register it with tenon.register_func")
    return _functions[name]


def callback_of(name, op):
    """A C function for the call in OP: pointers become arrays of the tensors' shapes."""
    function = get_global_func(name)
    tensors = list(op.details["reads"]) + op.outputs
    kinds = [(NUMPY_OF_DTYPE[t._dtype], tuple(int(e) for e in t.shape)) for t in tensors]

    def call(*pointers):
        arrays = []
        for pointer, (dtype, shape) in zip(pointers, kinds):
            count = int(numpy.prod(shape, dtype=numpy.int64))
            memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(pointer)
            arrays.append(NDArray(numpy.frombuffer(memory, dtype).reshape(shape)))
        function(*arrays)

    made = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(call)
    plain = dict(zip(("program", "name", "function"), lib.tn_program_bind.argtypes))["function"]
    out = ctypes.cast(made, plain)
    out._tenon_kept = made
    return out
