"""The thin layer: contexts, programs, schedules, targets, kernels and tuning as objects. A method is one C function; a failure is a
TenonError with the message of the context. The C headers have the contracts."""
import ctypes
import json

from . import _c
from .array import Pointers, pointers
from ._library import lib, take_text


_call = lib["tn_call"]  # of its own: it takes an array of addresses as it is
_call.restype, _call.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]


class TenonError(RuntimeError):
    """What a C function refused: `status` in words, and the message that names what, where, why and what to do instead."""

    def __init__(self, status, message):
        super().__init__(message or status)
        self.status = status


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


class Context:
    """Owns all that is made in it (tn_context). Messages below an error go to `on_message(severity, text)` if given."""

    def __init__(self, on_message=None, debug=None):
        self._keep = _c.tn_message_fn(lambda user, severity, text: on_message(severity, text.decode())) if on_message else None
        options = _c.tn_context_options(debug=_bytes(debug))
        if self._keep:
            options.on_message = self._keep
        self.handle = lib.tn_context_new(ctypes.byref(options))
        if not self.handle:
            raise MemoryError("tn_context_new")

    def __del__(self):
        if getattr(self, "handle", None):
            handle, self.handle = self.handle, None  # its kernels go with it: of a cycle it may be collected first
            lib.tn_context_free(handle)

    def error(self):
        """The exception of the first failure since the last one; the context is clear afterwards."""
        status = lib.tn_context_status(self.handle)
        error = TenonError(lib.tn_status_text(status).decode(), lib.tn_context_message(self.handle).decode())
        lib.tn_context_clear(self.handle)
        return error

    def check(self, result):
        """RESULT of a call: raises unless it is TN_OK or a pointer to an object."""
        if (result != _c.TN_OK) if isinstance(result, int) else not result:
            raise self.error()
        return result

    def take(self, pointer):
        """The str of malloc'ed text; raises for NULL."""
        if not pointer:
            raise self.error()
        return take_text(pointer)

    def target(self, spec=None):
        return Target(self, spec)

    def program(self, text, **params):
        """Parses the text form; PARAMS override its `param` statements and give symbols a value."""
        array = (_c.tn_param * len(params))(*[_c.tn_param(_bytes(n), v) for n, v in params.items()])
        return Program(self, self.check(lib.tn_program_parse(self.handle, _bytes(text), len(params), array)))


class Target:
    """A machine to compile for (tn_target); None or "native": this one."""

    def __init__(self, context, spec=None):
        self.context = context
        self.handle = context.check(lib.tn_target_new(context.handle, _bytes(spec)))

    def __str__(self):
        return lib.tn_target_text(self.handle).decode()

    def machine(self):
        return lib.tn_target_machine(self.handle)


class Argument:
    """An argument of a program: its name, dtype ("f32"), shape, and whether it is an input."""

    def __init__(self, handle, is_input):
        rank = lib.tn_tensor_rank(handle)
        self.name = lib.tn_tensor_name(handle).decode()
        self.dtype = lib.tn_dtype_name(lib.tn_tensor_dtype(handle)).decode()
        self.shape = tuple(lib.tn_tensor_shape(handle)[:rank]) if rank else ()
        self.is_input = is_input

    def __repr__(self):
        return f"{self.name}: {self.dtype}{list(self.shape)}"


class Program:
    """A graph of tensor expressions (tn_program)."""

    def __init__(self, context, handle):
        self.context, self.handle = context, handle

    def __str__(self):
        return lib.tn_program_text(self.handle).decode()

    @property
    def key(self):
        return lib.tn_program_key(self.handle).decode()

    @property
    def flops(self):
        return lib.tn_program_flops(self.handle)

    @property
    def args(self):
        n, inputs = lib.tn_program_arg_count(self.handle), lib.tn_program_input_count(self.handle)
        return [Argument(lib.tn_program_arg(self.handle, i), i < inputs) for i in range(n)]

    def schedule(self, text=None):
        """The default schedule, with the primitives of TEXT applied; "auto": the generic one for this machine."""
        made = Schedule(self, self.context.check(lib.tn_schedule_new(self.handle)))
        if text == "auto":
            made.auto()
        elif text:
            made.apply(text)
        return made

    def evaluate(self, *arrays):
        """Runs the reference evaluator on arrays as a kernel takes them."""
        self.context.check(lib.tn_evaluate(self.handle, pointers(arrays), len(arrays)))

    def link(self, *paths):
        """Gives extern functions their code from files of LLVM IR."""
        names = (ctypes.c_char_p * len(paths))(*map(_bytes, paths))
        self.context.check(lib.tn_program_link_files(self.handle, len(paths), names))

    def tune(self, log, on_progress=None, target=None, **options):
        """Searches (tn_tune); OPTIONS are fields of tn_tune_options. Returns the fields of tn_tune_result as a dict."""
        return _tune(self, log, on_progress, target, options)

    def best(self, log, target=None):
        """The schedule of the log's best record (tn_apply_best), with its `.seconds`."""
        seconds = ctypes.c_double()
        found = self.context.check(lib.tn_apply_best(self.handle, target.handle if target else None, _bytes(log), ctypes.byref(seconds)))
        made = Schedule(self, found)
        made.seconds = seconds.value
        return made


def _tune(program, log, on_progress, target, options):
    c = _c.tn_tune_options(log=_bytes(log))
    known = {name for name, _ in c._fields_}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"tune() has no option {name!r}; there are {', '.join(sorted(known))}")
        setattr(c, name, _bytes(value))
    if target:
        c.target = target.handle
    kind = dict(c._fields_)["on_progress"]

    def forward(user, progress):
        p = progress.contents
        answer = on_progress({name: getattr(p, name) for name, _ in p._fields_})
        return bool(answer) if kind._restype_ is not None else None

    c.on_progress = kind(forward) if on_progress else kind()
    result = _c.tn_tune_result()
    program.context.check(lib.tn_tune(program.handle, ctypes.byref(c), ctypes.byref(result)))
    return {name: getattr(result, name) for name, _ in result._fields_}


class Loop:
    """A loop of a stage as it stands now."""

    def __init__(self, c):
        self.name, self.extent, self.is_reduction = c.name.decode(), c.extent, c.is_reduction
        self.is_symbolic, self.annotation = c.is_symbolic, c.annotation.decode()

    def __repr__(self):
        return f"{self.name}<{self.extent}" + ("" if self.annotation == "none" else f" {self.annotation}")


FORMS = {"tir": _c.TN_FORM_TIR, "steps": _c.TN_FORM_STEPS, "text": _c.TN_FORM_TEXT, "api": _c.TN_FORM_API,
         "tree": _c.TN_FORM_TREE, "tvmscript": _c.TN_FORM_TVMSCRIPT}


class Schedule:
    """How to compute a program (tn_schedule). Primitives are applied as schedule text: `apply("split(C, i, 8)")`."""

    def __init__(self, program, handle):
        self.program, self.context, self.handle = program, program.context, handle

    def copy(self):
        return Schedule(self.program, self.context.check(lib.tn_schedule_copy(self.handle)))

    def apply(self, text):
        self.context.check(lib.tn_schedule_apply(self.handle, _bytes(text)))
        return self

    def replay(self, steps):
        self.context.check(lib.tn_schedule_replay(self.handle, _bytes(steps if isinstance(steps, str) else json.dumps(steps))))
        return self

    def auto(self, target=None):
        """The generic schedule (tn_schedule_auto)."""
        machine = (target or Target(self.context)).machine()
        self.context.check(lib.tn_schedule_auto(self.handle, ctypes.byref(machine)))
        return self

    def text(self, form="tir"):
        """"tir", "steps", "text", "api", "tree" or "tvmscript" (tn_schedule_print)."""
        if form not in FORMS:
            raise ValueError(f"no form {form!r}: {', '.join(FORMS)}")
        return self.context.take(lib.tn_schedule_print(self.handle, FORMS[form]))

    __str__ = text

    @property
    def stages(self):
        return [lib.tn_schedule_stage_name(self.handle, i).decode() for i in range(lib.tn_schedule_stage_count(self.handle))]

    def loops(self, stage):
        """The loops of a stage, outermost first."""
        n = lib.tn_schedule_loops(self.handle, _bytes(stage), 0, None)
        if n < 0:
            raise self.context.error()
        out = (_c.tn_loop * max(n, 1))()
        lib.tn_schedule_loops(self.handle, _bytes(stage), n, out)
        return [Loop(out[i]) for i in range(n)]

    def build(self, target=None, name=None):
        """A kernel in memory (tn_build)."""
        options = _c.tn_build_options(target=target.handle if target else None, name=_bytes(name))
        return Kernel(self, self.context.check(lib.tn_build(self.handle, ctypes.byref(options))))

    def write(self, path, header=None, target=None, name=None):
        """Writes .o, .so, .s, .ll, .bc or .c (tn_build_file) and, if named, the C header."""
        options = _c.tn_build_options(target=target.handle if target else None, name=_bytes(name))
        self.context.check(lib.tn_build_file(self.handle, ctypes.byref(options), _bytes(str(path))))
        if header:
            self.context.check(lib.tn_build_header(self.handle, ctypes.byref(options), _bytes(str(header))))

    def _repr_html_(self):
        from .html import loop_tree
        return loop_tree(self)


class Kernel:
    """Compiled code in memory (tn_kernel): call it with NumPy arrays, or anything with DLPack, inputs first; it writes the outputs."""

    def __init__(self, schedule, handle):
        self.schedule, self.context, self.handle = schedule, schedule.context, handle
        self.n_args = lib.tn_kernel_arg_count(handle)
        self._last = None

    def __del__(self):
        if getattr(self, "handle", None) and self.context.handle:
            lib.tn_kernel_free(self.handle)

    @property
    def name(self):
        return lib.tn_kernel_name(self.handle).decode()

    def __call__(self, *arrays):
        last = self._last
        if last is None or not last.are_of(arrays):
            last = self._last = Pointers(arrays)
        if _call(self.context.handle, self.handle, last.c, last.n) != 0:
            raise self.context.error()

    def time(self, *arrays, **options):
        """Seconds for one call: tn_timing's fields as a dict; OPTIONS are fields of tn_timing_options (tn_time)."""
        out, asked = _c.tn_timing(), _c.tn_timing_options(**options)
        self.context.check(lib.tn_time(self.context.handle, self.handle, pointers(arrays), len(arrays), ctypes.byref(asked), ctypes.byref(out)))
        return {name: getattr(out, name) for name, _ in out._fields_}
