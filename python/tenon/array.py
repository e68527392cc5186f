"""Arrays at the border: NumPy's, and anything with DLPack, as the DLTensors that C functions take. Nothing is copied."""
import ctypes
import functools

import numpy

from . import _c

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
DTYPE_OF_NUMPY = {"bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
                  "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64"}
_PLAIN = frozenset("bBhHiIlLqQefd")  # dtypes by numpy's letter that its DLPack has as we do
NUMPY_OF_DTYPE = {text: numpy.dtype(name) for name, text in DTYPE_OF_NUMPY.items()} | {"bf16": numpy.dtype("uint16")}


def _by_hand(array):
    """A DLTensor for a NumPy array that DLPack does not take: booleans, read-only inputs."""
    kind = array.dtype.kind
    if kind not in "biuf" or array.dtype.byteorder == ">":
        raise TypeError(f"an array of {array.dtype} has no counterpart: take one of {', '.join(DTYPE_OF_NUMPY)}")
    step = array.itemsize
    if any(s % step for s in array.strides):
        raise ValueError(f"strides of {array.strides} bytes are not whole elements of {step} bytes")
    n = max(array.ndim, 1)
    shape = (ctypes.c_int64 * n)(*array.shape)
    strides = (ctypes.c_int64 * n)(*[s // step for s in array.strides])
    out = _c.DLTensor(data=array.ctypes.data, ndim=array.ndim, shape=shape, strides=strides, byte_offset=0)
    out.device.device_type, out.device.device_id = 1, 0
    out.dtype.code, out.dtype.bits, out.dtype.lanes = {"b": 1, "u": 1, "i": 0, "f": 2}[kind], 8 * step, 1
    return out, (shape, strides)


@functools.cache
def _addresses(n):
    """An array of N addresses: making pointers of them one by one takes longer than a call."""
    return ctypes.c_void_p * n


def _pointer(array):
    """(address of a DLTensor, what keeps it alive)."""
    array = getattr(array, "_tenon_array", array)
    if isinstance(array, numpy.ndarray):
        if array.dtype.kind == "b" or not array.flags.writeable:
            tensor, kept = _by_hand(array)
            return ctypes.addressof(tensor), (tensor, kept)
        if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
            _by_hand(array)
    elif not hasattr(array, "__dlpack__"):
        if not hasattr(array, "__array_interface__"):
            raise TypeError(f"{type(array).__name__} is no array: take a NumPy array or anything with __dlpack__")
        tensor, kept = _by_hand(numpy.asarray(array))
        return ctypes.addressof(tensor), (tensor, kept)
    capsule = array.__dlpack__()  # owns a DLManagedTensor, which begins with the DLTensor
    return _capsule_pointer(capsule, b"dltensor"), capsule


class Pointers:
    """The arguments of a call: `c`, an array of the addresses of `n` DLTensors, and all that has to live as long."""

    __slots__ = ("arrays", "n", "c", "_kept", "_is_numpy")

    def __init__(self, arrays):
        found, kept, is_numpy = [], [], True
        for a in arrays:
            if type(a) is numpy.ndarray and a.dtype.char in _PLAIN:
                try:  # the usual case, in as few steps as it can be
                    capsule = a.__dlpack__()
                    found.append(_capsule_pointer(capsule, b"dltensor"))
                    kept.append(capsule)
                    continue
                except (BufferError, TypeError, RuntimeError):
                    pass  # read-only, or of another byte order
            address, keeps = _pointer(a)
            found.append(address)
            kept.append(keeps)
            is_numpy = is_numpy and type(a) is numpy.ndarray
        self.arrays, self.n, self._kept, self._is_numpy = arrays, len(arrays), kept, is_numpy
        self.c = _addresses(self.n or 1)(*found)

    def are_of(self, arrays):
        """Whether these are the pointers of just these arrays, whose memory cannot have moved since: calls in a loop."""
        if not self._is_numpy or len(arrays) != self.n:
            return False
        for a, b in zip(arrays, self.arrays):
            if a is not b:
                return False
        return True


def pointers(arrays):
    """An array of DLTensor pointers that keeps what it needs alive."""
    made = Pointers(arrays)
    typed = ctypes.cast(made.c, ctypes.POINTER(ctypes.POINTER(_c.DLTensor)))
    typed._tenon_kept = made
    return typed
