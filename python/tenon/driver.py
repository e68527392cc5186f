"""tvm.lower, tvm.build and what they return."""
import ctypes

import numpy

from .array import NUMPY_OF_DTYPE
from .expr import Var
from .target import Target
from ._library import lib


def _order(schedule, args):
    """For each argument of the program, its place among ARGS."""
    places = {id(a): i for i, a in enumerate(args)}
    wanted = schedule.graph.arguments
    missing = [a.name for a in wanted if id(a) not in places]
    if missing:
        raise ValueError(f"the arguments lack {', '.join(missing)}: all inputs and outputs of the schedule are needed")
    extra = [a.name for a in args if all(a is not w for w in wanted)]
    if extra:
        raise ValueError(f"{', '.join(extra)} is no input or output of the schedule; to have it as an output, name it in create_schedule([...])")
    return [places[id(a)] for a in wanted]


class Lowered:
    """Loop IR after all passes; str() is its text."""

    def __init__(self, schedule):
        self.schedule = schedule

    def __str__(self):
        return self.schedule.core.text("tir")

    __repr__ = script = astext = __str__


def lower(schedule, args=None, name="main", simple_mode=False, **ignored):
    """The loop IR of a schedule. ARGS are checked where they are given."""
    if args is not None:
        _order(schedule, list(args))
    return Lowered(schedule)


def build(schedule, args=None, target=None, target_host=None, name="kernel", binds=None):
    """A function of arrays in the order of ARGS; it writes the outputs."""
    if isinstance(schedule, Lowered):
        schedule = schedule.schedule
    args = list(args) if args is not None else schedule.graph.arguments
    order = _order(schedule, args)
    context = schedule.core.context
    made = Target(target).core(context) if target is not None else None
    return Module(schedule, schedule.core.build(made, name), args, order, made)


class BenchmarkResult:
    """Seconds for one call: `mean`, `median`, `min`, `max`, `std` over `results`, one a repeat."""

    def __init__(self, results):
        self.results = tuple(results)
        a = numpy.array(results)
        self.mean, self.median, self.min, self.max, self.std = (float(f(a)) for f in (numpy.mean, numpy.median, numpy.min, numpy.max, numpy.std))

    def __repr__(self):
        return f"BenchmarkResult(mean={1e3 * self.mean:.4f} ms, median={1e3 * self.median:.4f} ms, min={1e3 * self.min:.4f} ms, max={1e3 * self.max:.4f} ms, std={1e3 * self.std:.4f} ms)"

    __str__ = __repr__


class Module:
    """A built kernel; call it with NumPy arrays, tenon.nd arrays or anything with DLPack."""

    def __init__(self, schedule, kernel, args, order, target):
        self.schedule, self.kernel, self.args, self.target = schedule, kernel, args, target
        self.order = None if order == list(range(len(args))) and not any(isinstance(a, Var) for a in args) else order
        self.entry_name = kernel.name

    def _arranged(self, arrays):
        if len(arrays) != len(self.args):
            raise TypeError(f"{self.entry_name} takes {len(self.args)} arrays ({', '.join(a.name for a in self.args)}), not {len(arrays)}")
        if self.order is None:
            return arrays
        wanted = self.schedule.graph.arguments
        return tuple(numpy.array(arrays[i], NUMPY_OF_DTYPE[w.type]) if isinstance(w, Var) else arrays[i] for w, i in zip(wanted, self.order))

    def __call__(self, *arrays):
        self.kernel(*self._arranged(arrays))

    def time_evaluator(self, func_name=None, dev=None, number=10, repeat=1, min_repeat_ms=0, cooldown_interval_ms=0, repeats_to_cooldown=1,
                       cache_flush_bytes=0, f_preproc=""):
        """A function of arrays that gives a BenchmarkResult: REPEAT samples, each the mean of NUMBER calls and of at least MIN_REPEAT_MS."""
        def evaluate(*arrays):
            import time
            arranged = self._arranged(arrays)
            once = self.kernel.time(*arranged, max_samples=1, min_samples=1, min_batch_s=1e-9)["median_s"]
            batch = max(number * once, min_repeat_ms / 1e3, 1e-9)
            results = []
            for i in range(repeat):
                if i and cooldown_interval_ms and i % repeats_to_cooldown == 0:
                    time.sleep(cooldown_interval_ms / 1e3)
                results.append(self.kernel.time(*arranged, max_samples=1, min_samples=1, min_batch_s=batch, max_total_s=10 * batch)["median_s"])
            return BenchmarkResult(results)
        return evaluate

    def get_source(self, fmt="ll"):
        """"ll", "asm", "c" or "h"."""
        from . import _c
        forms = {"ll": b".ll", "": b".ll", "asm": b".s", "s": b".s", "c": b".c", "h": b".h"}
        if fmt not in forms:
            raise ValueError(f"no form {fmt!r}: ll, asm, c, h")
        options = _c.tn_build_options(target=self.target.handle if self.target else None, name=self.entry_name.encode())
        return self.schedule.core.context.take(lib.tn_build_text(self.schedule.core.handle, ctypes.byref(options), forms[fmt]))

    def save(self, path, fmt=""):
        """Writes an object, assembly, LLVM IR, bitcode or C source by the path's suffix."""
        self.schedule.core.write(path, target=self.target, name=self.entry_name)

    export_library = save
