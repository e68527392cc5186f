"""tvm.nd: arrays on the CPU, which are NumPy's."""
import numpy


class Device:
    """The CPU; there is no other."""

    def __init__(self, kind="cpu", index=0):
        self.kind, self.index, self.exist = kind, index, kind == "cpu"

    def sync(self):
        pass

    def __repr__(self):
        return f"{self.kind}({self.index})"


class NDArray:
    """An array as tvm.nd has it: `.numpy()` is the NumPy array itself, not a copy."""

    def __init__(self, array):
        self._tenon_array = array

    @property
    def shape(self):
        return self._tenon_array.shape

    @property
    def dtype(self):
        return str(self._tenon_array.dtype)

    @property
    def device(self):
        return Device()

    def numpy(self):
        return self._tenon_array

    asnumpy = numpy

    def copyfrom(self, source):
        self._tenon_array[...] = getattr(source, "_tenon_array", source)
        return self

    def copyto(self, target):
        return target.copyfrom(self) if isinstance(target, NDArray) else NDArray(self._tenon_array.copy())

    def __getitem__(self, index):
        return self._tenon_array[index]

    def __setitem__(self, index, value):
        self._tenon_array[index] = getattr(value, "_tenon_array", value)

    def __array__(self, dtype=None):
        return self._tenon_array if dtype is None else self._tenon_array.astype(dtype)

    def __dlpack__(self, **options):
        return self._tenon_array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._tenon_array.__dlpack_device__()

    def __repr__(self):
        return f"NDArray({self._tenon_array!r})"


def array(source, device=None):
    """A copy of SOURCE, row-major."""
    return NDArray(numpy.array(source, order="C"))


def empty(shape, dtype="float32", device=None):
    return NDArray(numpy.empty(shape, dtype))


def cpu(index=0):
    return Device("cpu", index)


def device(kind="cpu", index=0):
    if kind not in ("cpu", "llvm"):
        raise ValueError(f"there is no device {kind!r}: kernels run on the CPU")
    return Device("cpu", index)
