"""From Python's tensors to a program of the library: one context for each schedule, so that all of it goes with the schedule."""
import ctypes
import re

from . import _c
from .core import Context, Program
from .expr import Cast, CombinerVar, Const, Expr, IterVar, Op, Read, Reduce, Tensor, Var, dtype_of, walk
from ._library import lib

DTYPE = {lib.tn_dtype_name(i).decode(): i for i in range(_c.TN_DTYPE_COUNT)}
_FUNCTIONS = set("pow exp log sqrt rsqrt tanh sigmoid erf sin cos abs floor ceil round exp2 exp10 log2 log10 log1p tan sinh cosh asin acos atan asinh "
                 "acosh atanh trunc nearbyint atan2 hypot fmod copysign isnan isinf isfinite popcount clz".split())
_WORDS = set("param input scalar symbol state scan extern output combiner true false inf nan argmin argmax sum prod max min any all where init "
             "identity select if_then_else strided layout_free".split()) | set(DTYPE)


def producers(outputs):
    """The operations that OUTPUTS are made by, each after those that it reads."""
    order, state = [], {}
    stack = [(t.op, False) for t in reversed(outputs)]
    while stack:
        op, is_done = stack.pop()
        if is_done:
            order.append(op)
        elif id(op) not in state:
            state[id(op)] = op
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.input_tensors))
    return order


class Names:
    """Names that the library takes, each given once."""

    def __init__(self):
        self.given = set()

    def give(self, wanted):
        text = re.sub(r"\W", "_", wanted) or "t"
        text = "_" + text if text[0].isdigit() else text
        text = text + "_" if text in _WORDS or text in _FUNCTIONS else text
        name, n = text, 1
        while name in self.given:
            name, n = f"{text}_{n}", n + 1
        self.given.add(name)
        return name


class Graph:
    """A program made of the tensors that OUTPUTS need. `stage` gives a tensor's stage, `axis` an axis' name in a stage."""

    def __init__(self, outputs):
        self.context, self.outputs = Context(), outputs
        self.h = self.context.handle
        self.tensors, self.vars, self.names, self.axis_names, self.callbacks = {}, {}, Names(), {}, []
        self.inputs, self.scalars, self.keep = [], [], list(outputs)
        self.ops = producers(outputs)
        self.states = {id(t): op for op in self.ops if op.kind == "scan" for t in op.details["state"]}
        self.updates = {id(t): op for op in self.ops if op.kind == "scan" for t in op.details["update"]}
        self._find_symbols()
        for op in self.ops:
            getattr(self, "_" + op.kind)(op)
        arguments = [self._tensor_arg(self.tensors[id(t)]) for t in self.inputs]
        arguments += [self._tensor_arg(v) for _, v in self.scalars]
        arguments += [self._tensor_arg(self.tensors[id(t)]) for t in outputs]
        handle = self.context.check(lib.tn_program_array(self.h, len(arguments), self._array(arguments)))
        self.program = Program(self.context, handle)
        for name, callback in self.callbacks:
            self.context.check(lib.tn_program_bind(handle, name, callback))
        self.program._callbacks = self.callbacks

    @property
    def arguments(self):
        """Tensors and scalars in the program's order."""
        return self.inputs + [v for v, _ in self.scalars] + list(self.outputs)

    def stage(self, tensor):
        """The name of a tensor's stage; a scan's update stands for the scan."""
        scan = self.updates.get(id(tensor))
        if scan is not None and id(tensor) not in self.tensors:
            tensor = scan.outputs[scan.details["update"].index(tensor)]
        if id(tensor) not in self.tensors:
            raise KeyError(f"{tensor.name} is not part of this schedule's program")
        return lib.tn_tensor_name(self.tensors[id(tensor)]).decode()

    # ---- arguments of C calls

    @staticmethod
    def _array(args):
        return (_c.tn_arg * max(len(args), 1))(*args)

    @staticmethod
    def _tensor_arg(handle):
        arg = _c.tn_arg(kind=_c.TN_ARG_TENSOR)
        arg.u.tensor = handle
        return arg

    @staticmethod
    def _axis_arg(handle):
        arg = _c.tn_arg(kind=_c.TN_ARG_AXIS)
        arg.u.axis = handle
        return arg

    @staticmethod
    def _expr_arg(handle):
        arg = _c.tn_arg(kind=_c.TN_ARG_EXPR)
        arg.u.expr = handle
        return arg

    @staticmethod
    def _number(value):
        arg = _c.tn_arg(kind=_c.TN_ARG_INT if hasattr(value, "__index__") else _c.TN_ARG_FLOAT)
        if hasattr(value, "__index__"):
            arg.u.i = int(value)
        else:
            arg.u.f = float(value)
        return arg

    def _checked_expr(self, handle):
        return self._expr_arg(self.context.check(handle))

    # ---- symbols and scalars

    def _find_symbols(self):
        shapes = [e for op in self.ops for t in op.outputs for e in t.shape if isinstance(e, Expr)]
        shapes += [a.extent for op in self.ops for a in op.reduce_axis if isinstance(a.extent, Expr)]
        for root in shapes:
            for e in walk(root):
                if isinstance(e, Var) and id(e) not in self.vars:
                    self.vars[id(e)] = self._checked_expr(lib.tn_symbol(self.h, self.names.give(e.name).encode()))
                    self.keep.append(e)

    def _scalar(self, var):
        if id(var) not in self.vars:
            handle = self.context.check(lib.tn_scalar(self.h, self.names.give(var.name).encode(), DTYPE[var.type]))
            self.scalars.append((var, handle))
            self.vars[id(var)] = self._checked_expr(lib.tn_at_array(1, self._array([self._tensor_arg(handle)])))
        return self.vars[id(var)]

    def _size(self, e):
        """What is made of symbols, as an expression."""
        return self.lower(e, {}).u.expr

    def _extent(self, extent):
        return self.lower(extent, {}) if isinstance(extent, Expr) else self._number(extent)

    # ---- expressions

    def lower(self, root, made):
        """The C argument for an expression; MADE: those of its axes and shared parts by id."""
        if isinstance(root, Tensor) and not root.shape:
            root = Read(root, ())
        if not isinstance(root, Expr):
            return self._number(root)
        for e in walk(root):
            if id(e) not in made:
                made[id(e)] = self._node(e, [self._operand(a, made) for a in e.args], made)
                self.keep.append(e)
        return made[id(root)]

    def _operand(self, a, made):
        if isinstance(a, Tensor):
            return self.lower(a, made)
        return made[id(a)] if isinstance(a, Expr) else self._number(a)

    def _node(self, e, args, made):
        if isinstance(e, Op):
            return self._checked_expr(lib.tn_operator(e.name.encode(), len(args), self._array(args)))
        if isinstance(e, Read):
            return self._read(e, args)
        if isinstance(e, Cast):
            return self._checked_expr(lib.tn_cast_arg(DTYPE[e.to], args[0]))
        if isinstance(e, Const):
            return self._checked_expr(lib.tn_const(self.h, DTYPE[e.type], float(e.value)))
        if isinstance(e, Var):
            return self._scalar(e)
        if isinstance(e, Reduce):
            return self._reduce(e, args, made)
        if isinstance(e, IterVar):
            raise ValueError(f"axis {e.name} is used outside of its own compute" if not e.is_reduction
                             else f"reduction axis {e.name} is used outside of a reduction over it")
        raise TypeError(f"{type(e).__name__} cannot stand here")

    def _read(self, e, args):
        read = self._checked_expr(lib.tn_at_array(1 + len(args), self._array([self._tensor_arg(self.tensors[id(e.tensor)]), *args])))
        if id(e.tensor) not in self.states or e.tensor.op.kind == "scan":
            return read
        inside = self._checked_expr(lib.tn_operator(b">=", 2, self._array([args[0], self._number(0)])))
        nothing = self._checked_expr(lib.tn_const(self.h, DTYPE[e.tensor._dtype], 0.0))
        return self._checked_expr(lib.tn_operator(b"select", 3, self._array([inside, read, nothing])))

    def _reduce(self, e, args, made):
        n = len(e.sources)
        axes = [made[id(a)] for a in e.axes]
        sources = args[:n]
        is_word = isinstance(e.combiner, str)
        if n > 1:
            sources = [self._checked_expr(lib.tn_tuple_array(n, self._array(sources)))]
        if is_word:
            handle = lib.tn_reduction(e.combiner.encode(), 1 + len(axes), self._array(sources + axes))
        else:
            handle = lib.tn_reduce_array(self._combiner(e), 1 + len(axes), self._array(sources + axes))
        handle = self.context.check(handle)
        rest = args[n:]
        if e.where is not None:
            handle = self.context.check(lib.tn_reduction_where(handle, rest.pop(0)))
        if e.init is not None:
            value = rest[0] if n == 1 else self._checked_expr(lib.tn_tuple_array(n, self._array(rest)))
            handle = self.context.check(lib.tn_reduction_init(handle, value))
        return self._expr_arg(handle)

    def _combiner(self, e):
        dtypes = tuple(dtype_of(x) or "f32" for x in e.sources)
        key = (id(e.combiner), dtypes)
        if key not in self.tensors:
            left, right, results, identity = e.combiner.of(dtypes)
            codes = (ctypes.c_int * len(dtypes))(*[DTYPE[d] for d in dtypes])
            name = self.names.give(e.combiner.name if e.combiner.name != "reduce" else "combine")
            c = self.context.check(lib.tn_combiner_array(self.h, name.encode(), len(dtypes), codes))
            made = {id(v): self._checked_expr(lib.tn_lhs(c, v.index)) for v in left}
            made.update({id(v): self._checked_expr(lib.tn_rhs(c, v.index)) for v in right})
            values = [self.lower(x, made) for x in results]
            self.context.check(lib.tn_combiner_results_array(c, len(values), self._array(values)))
            neutral = [self.lower(x, {}) for x in identity]
            self.context.check(lib.tn_combiner_identity_array(c, len(neutral), self._array(neutral)))
            self.tensors[key] = c
        return self.tensors[key]

    # ---- operations

    def _name_outputs(self, op):
        return ", ".join(self.names.give(t.name) for t in op.outputs).encode()

    def _take_outputs(self, op, first):
        self.context.check(first)
        for i, t in enumerate(op.outputs):
            self.tensors[id(t)] = first if i == 0 else self.context.check(lib.tn_output(first, i))
            self.keep.append(t)

    def _placeholder(self, op):
        t = op.outputs[0]
        if id(t) in self.states:
            if id(t) not in self.tensors:
                self._declare_states(self.states[id(t)])
            return
        extents = [self._extent(e) for e in t.shape]
        name = self.names.give(t.name).encode()
        handle = self.context.check(lib.tn_placeholder_args(self.h, name, DTYPE[t._dtype], len(extents), self._array(extents)))
        if op.details.get("layout_free"):
            self.context.check(lib.tn_layout_free(handle))
        self.tensors[id(t)] = handle
        self.inputs.append(t)

    def _axes(self, op, axes):
        """C axes under names that differ within the stage; remembers the names for scheduling."""
        names, made = Names(), {}
        for a in axes:
            name = names.give(a.name)
            self.axis_names[id(op), id(a)] = name
            make = lib.tn_reduce_axis_arg if a.is_reduction else lib.tn_axis_arg
            made[id(a)] = self._axis_arg(self.context.check(make(self.h, name.encode(), self._extent(a.extent))))
        return made

    def _reduction_axes(self, op):
        return [a for body in op.details["body"] for e in walk(body) if isinstance(e, Reduce) for a in e.axes]

    def _compute(self, op):
        if self._is_scan_body(op):
            return
        reductions = list({id(a): a for a in self._reduction_axes(op)}.values())
        made = self._axes(op, op.axis + reductions)
        axes = [made[id(a)] for a in op.axis]
        body = op.details["body"]
        if len(body) == 1:
            value = self.lower(body[0], made)
            if value.kind != _c.TN_ARG_EXPR and value.kind != _c.TN_ARG_AXIS:
                value = self._checked_expr(lib.tn_const(self.h, DTYPE[op.outputs[0]._dtype], float(body[0])))
        else:
            values = [self.lower(x, made) for x in body]
            value = self._checked_expr(lib.tn_tuple_array(len(values), self._array(values)))
        names = self._name_outputs(op)
        self._take_outputs(op, lib.tn_compute_array(self.h, names, 1 + len(axes), self._array([value, *axes])))

    def _is_scan_body(self, op):
        """An update without a reduction stands in the scan's own expression."""
        return any(id(t) in self.updates for t in op.outputs) and not self._reduction_axes(op)

    def _scan(self, op):
        states, updates, inits = (op.details[x] for x in ("state", "update", "init"))
        steps = inits[0].shape[0]
        axes = updates[0].op.axis
        made = self._axes(op, axes)
        for a in axes:
            self.axis_names[id(updates[0].op), id(a)] = self.axis_names[id(op), id(a)]
        values = []
        for init, update in zip(inits, updates):
            mine = dict(made)
            mine.update({id(a): made[id(b)] for a, b in zip(update.op.axis, axes)})
            now = self.lower(update.op.details["body"][update.value_index], mine) if id(update) not in self.tensors else self._at(update, axes, made)
            first = self._checked_expr(lib.tn_operator(b"<", 2, self._array([made[id(axes[0])], self._number(steps)])))
            values.append(self._checked_expr(lib.tn_operator(b"select", 3, self._array([first, self._at(init, axes, made), now]))))
        value = values[0] if len(values) == 1 else self._checked_expr(lib.tn_tuple_array(len(values), self._array(values)))
        order = [made[id(a)] for a in axes]
        self.context.check(lib.tn_scan_array(self.tensors[id(states[0])], 1 + len(order), self._array([value, *order])))
        for out, state in zip(op.outputs, states):
            self.tensors[id(out)] = self.tensors[id(state)]

    def _at(self, tensor, axes, made):
        args = [self._tensor_arg(self.tensors[id(tensor)])] + [made[id(a)] for a in axes]
        return self._checked_expr(lib.tn_at_array(len(args), self._array(args)))

    def _declare_states(self, op):
        states = op.details["state"]
        shape = [int(e) for e in states[0].shape]
        numbers = (ctypes.c_int64 * (1 + len(shape)))(DTYPE[states[0]._dtype], *shape)
        names = ", ".join(self.names.give(t.name) for t in op.outputs).encode()
        first = self.context.check(lib.tn_state_array(self.h, names, len(numbers), numbers))
        for i, state in enumerate(states):
            self.tensors[id(state)] = first if i == 0 else self.context.check(lib.tn_output(first, i))

    def _call_arg(self, op, a):
        for i, out in enumerate(op.outputs):
            if a is out:
                arg = _c.tn_arg(kind=_c.TN_ARG_RESULT)
                arg.u.i = i
                return arg
        if isinstance(a, Tensor):
            return self._tensor_arg(self.tensors[id(a)])
        if isinstance(a, Const):
            return self._checked_expr(lib.tn_const(self.h, DTYPE[a.type], float(a.value)))
        return self.lower(a, {})

    def _extern(self, op):
        from .packed import callback_of
        call = op.details["call"]
        name = self.names.give(call.name).encode()
        results = (_c.tn_result * len(op.outputs))()
        for r, t in zip(results, op.outputs):
            r.name, r.dtype, r.rank = self.names.give(t.name).encode(), DTYPE[t._dtype], len(t.shape)
            for d, e in enumerate(t.shape):
                if isinstance(e, Expr) and not isinstance(e, Const):
                    r.size[d] = self._size(e)
                else:
                    r.shape[d] = int(e)
        callee = self.context.check(lib.tn_callee_symbol(self.h, name))
        args = [self._call_arg(op, a) for a in call.args]
        self._take_outputs(op, lib.tn_extern_array(self.h, callee, len(results), results, len(args), self._array(args)))
        if call.is_packed:
            self.callbacks.append((name, callback_of(call.name, op)))
