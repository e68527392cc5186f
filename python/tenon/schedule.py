"""te's schedules: s[C].split(...) and the like, on a schedule of the library."""
import ctypes

from . import _c
from .expr import IterVar, Operation, Tensor
from .graph import Graph
from ._library import lib

TAILS = ("guard", "peel", "mask", "pad", "overlap")


def create_schedule(ops):
    """A schedule of the program that computes the outputs of OPS: every stage at root, in its axes' order."""
    ops = ops if isinstance(ops, (tuple, list)) else [ops]
    outputs = [t for op in ops for t in (op.op if isinstance(op, Tensor) else op).outputs]
    return Schedule(Graph(outputs))


def thread_axis(dom=None, tag="", name=""):
    """The index of a GPU's thread, for bind; kernels for a CPU refuse it."""
    return ThreadAxis(tag if isinstance(tag, str) and tag else dom)


class ThreadAxis:
    def __init__(self, tag):
        self.tag = tag


class LoopVar:
    """A loop of a stage, by its name."""

    def __init__(self, name):
        self.name = name

    @property
    def var(self):
        return self

    def __repr__(self):
        return self.name


class StageTensor:
    """A stage that a primitive made: what cache_read, cache_write and rfactor return."""

    def __init__(self, schedule, name):
        self.schedule, self.name = schedule, name

    @property
    def op(self):
        return self

    @property
    def axis(self):
        return [LoopVar(l.name) for l in self.schedule.core.loops(self.name) if not l.is_reduction]

    @property
    def reduce_axis(self):
        return [LoopVar(l.name) for l in self.schedule.core.loops(self.name) if l.is_reduction]

    def __repr__(self):
        return f"StageTensor({self.name})"


class TensorIntrin:
    """An intrinsic by its name: a built-in one ("gemv_16x64", "dot4_u8i8"), or one that decl_tensor_intrin describes."""

    def __init__(self, name, pattern=None, functions=None):
        self.name, self.pattern, self.functions = name, pattern, functions or {}


def decl_tensor_intrin(op, functions, name):
    """An intrinsic that does what OP's one compute says. FUNCTIONS: addresses of C functions, or ctypes functions, by role, "body", "reset",
    "update" (tn_intrin_functions says what they take). s[C].tensorize(loop, it)."""
    graph = Graph(op.outputs)
    pattern = [line for line in str(graph.program).splitlines() if line and not line.startswith(("input", "param"))]
    declared = [line for line in str(graph.program).splitlines() if line.startswith("input")]
    return TensorIntrin(name, "\n".join(declared + pattern), functions)


class Stage:
    """A stage under s[...]; its methods are primitives, with TVM's names and arguments. TAIL says what a split that does not divide does."""

    def __init__(self, schedule, name, op=None):
        self.s, self.name, self._op = schedule, name, op

    @property
    def op(self):
        return self._op if self._op is not None else StageTensor(self.s, self.name)

    @property
    def leaf_iter_vars(self):
        return [LoopVar(l.name) for l in self.s.core.loops(self.name)]

    def _loop(self, loop):
        return self.s.loop_name(self.name, loop).encode()

    def _call(self, function, *args):
        self.s.core.context.check(function(self.s.core.handle, self.name.encode(), *args))
        return self

    def _made(self, change):
        """The loops that CHANGE made, in order."""
        before = {l.name for l in self.s.core.loops(self.name)}
        change()
        return [LoopVar(l.name) for l in self.s.core.loops(self.name) if l.name not in before]

    def split(self, parent, factor=None, nparts=None, tail="guard"):
        if (factor is None) == (nparts is None):
            raise ValueError("split takes factor=n or nparts=n, one of them")
        function, number = (lib.tn_split, factor) if factor is not None else (lib.tn_split_nparts, nparts)
        return tuple(self._made(lambda: self._call(function, self._loop(parent), number, _tail(tail))))

    def tile(self, x_parent, y_parent, x_factor, y_factor, tail="guard"):
        return tuple(self._made(lambda: self._call(lib.tn_tile, self._loop(x_parent), self._loop(y_parent), x_factor, y_factor, _tail(tail))))

    def fuse(self, *loops):
        return self._made(lambda: self._call(lib.tn_fuse_names, *_names([self._loop(l) for l in loops])))[0]

    def reorder(self, *loops):
        self._call(lib.tn_reorder_names, *_names([self._loop(l) for l in loops]))

    def vectorize(self, loop):
        return self._call(lib.tn_vectorize, self._loop(loop))

    def unroll(self, loop):
        return self._call(lib.tn_unroll, self._loop(loop))

    def parallel(self, loop):
        return self._call(lib.tn_parallel, self._loop(loop))

    def bind(self, loop, thread):
        return self._call(lib.tn_bind, self._loop(loop), (thread.tag if isinstance(thread, ThreadAxis) else str(thread)).encode())

    def pragma(self, loop, key, value=1):
        return self._call(lib.tn_pragma, self._loop(loop), key.encode(), int(value))

    def prefetch(self, tensor, loop, offset=1):
        return self._call(lib.tn_prefetch, self.s.stage_name(tensor).encode(), self._loop(loop), offset)

    def tensorize(self, loop, intrin):
        intrin = TensorIntrin(intrin) if isinstance(intrin, str) else intrin
        self.s.declare(intrin)
        return self._call(lib.tn_tensorize, self._loop(loop), intrin.name.encode())

    def compute_at(self, target, loop):
        return self._call(lib.tn_compute_at, target.name.encode(), target._loop(loop))

    def compute_inline(self):
        return self._call(lib.tn_compute_inline)

    def compute_root(self):
        return self._call(lib.tn_compute_root)

    def set_scope(self, scope):
        return self._call(lib.tn_set_scope, scope.encode())

    def storage_align(self, axis, factor, offset):
        return self._call(lib.tn_storage_align, self._loop(axis), factor, offset)

    def transform_layout(self, index_map):
        """INDEX_MAP: a lambda such as `lambda i, j: [j // 8, i, j % 8]`, or the text "[i, j] -> [j//8, i, j%8]"."""
        return self._call(lib.tn_transform_layout, _map_text(index_map).encode())

    def double_buffer(self):
        return self._call(lib.tn_double_buffer)

    def rolling_buffer(self):
        return self._call(lib.tn_rolling_buffer)

    def set_store_predicate(self, condition):
        return self._call(lib.tn_set_store_predicate, str(condition).encode())


def _tail(word):
    if word not in TAILS:
        raise ValueError(f"no tail {word!r}: {', '.join(TAILS)}")
    return TAILS.index(word)


def _names(names):
    return len(names), (ctypes.c_char_p * max(len(names), 1))(*names)


class _Name:
    """An index of a layout map while it is written down."""

    def __init__(self, text):
        self.text = text

    def __floordiv__(self, n): return _Name(f"({self.text}//{n})")
    def __mod__(self, n): return _Name(f"({self.text}%{n})")


def _map_text(index_map):
    if isinstance(index_map, str):
        return index_map
    names = list(index_map.__code__.co_varnames[:index_map.__code__.co_argcount])
    parts = [str(getattr(x, "text", x)) for x in index_map(*[_Name(n) for n in names])]
    return f"[{', '.join(names)}] -> [{', '.join(p[1:-1] if p.startswith('(') else p for p in parts)}]"


class Schedule:
    """tvm.te.Schedule: s[tensor] is a stage; cache_read, cache_write and rfactor make new ones. `core` is the library's schedule."""

    def __init__(self, graph, core=None):
        self.graph = graph
        self.core = core or graph.program.schedule()
        self._declared = set()

    @property
    def stages(self):
        return [Stage(self, name) for name in self.core.stages]

    @property
    def outputs(self):
        return [t.op for t in self.graph.outputs]

    def stage_name(self, key):
        if isinstance(key, (StageTensor, Stage)):
            return key.name
        if isinstance(key, str):
            return key
        return self.graph.stage(key.outputs[0] if isinstance(key, Operation) else key)

    def __getitem__(self, key):
        op = key if isinstance(key, Operation) else key.op if isinstance(key, Tensor) else None
        return Stage(self, self.stage_name(key), op)

    def loop_name(self, stage, loop):
        """The name in STAGE of a loop that a primitive returned, or of an axis that the program was made with."""
        if isinstance(loop, (LoopVar, str)):
            return str(getattr(loop, "name", loop))
        if not isinstance(loop, IterVar):
            raise TypeError(f"{loop!r} is no loop")
        names = [name for (op, axis), name in self.graph.axis_names.items() if axis == id(loop)]
        here = {l.name for l in self.core.loops(stage)}
        for name in names:
            if name in here:
                return name
        return names[0] if names else loop.name

    def declare(self, intrin):
        """Declares an intrinsic to the schedule's context, once."""
        if intrin.pattern is None or intrin.name in self._declared:
            return
        functions = _c.tn_intrin_functions()
        for role, function in intrin.functions.items():
            place = getattr(functions, role)
            place.name = f"{intrin.name}_{role}".encode()
            place.function = ctypes.cast(function, dict(_c.tn_intrin_function._fields_)["function"])
        context = self.core.context
        context.check(lib.tn_intrin_new(context.handle, intrin.name.encode(), intrin.pattern.encode(), ctypes.byref(functions)))
        context._intrinsics = getattr(context, "_intrinsics", []) + [intrin]
        self._declared.add(intrin.name)

    def _new_stages(self, status_of):
        before = set(self.core.stages)
        self.core.context.check(status_of())
        return [StageTensor(self, name) for name in self.core.stages if name not in before]

    def cache_read(self, tensor, scope, readers):
        readers = readers if isinstance(readers, (tuple, list)) else [readers]
        names = _names([self.stage_name(r).encode() for r in readers])
        return self._new_stages(lambda: lib.tn_cache_read_names(self.core.handle, self.stage_name(tensor).encode(), scope.encode(), *names))[0]

    def cache_write(self, tensor, scope):
        if isinstance(tensor, (tuple, list)):
            names = _names([self.stage_name(t).encode() for t in tensor])
            return self._new_stages(lambda: lib.tn_cache_write_names(self.core.handle, scope.encode(), *names))
        return self._new_stages(lambda: lib.tn_cache_write(self.core.handle, self.stage_name(tensor).encode(), scope.encode()))[0]

    def rfactor(self, tensor, axis, factor_axis=0):
        name = self.stage_name(tensor)
        loop = self.loop_name(name, axis).encode()
        return self._new_stages(lambda: lib.tn_rfactor(self.core.handle, name.encode(), loop, factor_axis))[0]

    def rfactor_window(self, tensor, axis, along, elements=0):
        """No TVM primitive: partial results of a sliding window that the windows of neighbours share."""
        name = self.stage_name(tensor)
        loops = [self.loop_name(name, loop).encode() for loop in (axis, along)]
        return self._new_stages(lambda: lib.tn_rfactor_window(self.core.handle, name.encode(), *loops, elements))[0]

    def parallel_reduce(self, tensor, axis, parts=0):
        name = self.stage_name(tensor)
        loop = self.loop_name(name, axis).encode()
        return self._new_stages(lambda: lib.tn_parallel_reduce(self.core.handle, name.encode(), loop, parts))[0]

    def create_group(self, outputs, inputs, include_inputs=False):
        return Group(self, outputs, inputs)

    def auto_inline(self):
        self.core.context.check(lib.tn_auto_inline(self.core.handle))

    def normalize(self):
        """What TVM's does, every lowering does here."""
        return self

    def copy(self):
        return Schedule(self.graph, self.core.copy())

    def _repr_html_(self):
        return self.core._repr_html_()


class Group:
    """Stages from OUTPUTS down to INPUTS, moved together."""

    def __init__(self, schedule, outputs, inputs):
        self.s = schedule
        self.outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        self.inputs = inputs if isinstance(inputs, (tuple, list)) else [inputs]

    def compute_at(self, target, loop):
        names = _names([self.s.stage_name(t).encode() for t in self.inputs])
        for t in self.outputs:
            status = lib.tn_compute_group_at_names(self.s.core.handle, self.s.stage_name(t).encode(), target.name.encode(), target._loop(loop), *names)
            self.s.core.context.check(status)


def AutoInlineElemWise(s):
    s.auto_inline()


AutoInlineBroadcast = AutoInlineInjective = AutoInlineElemWise
