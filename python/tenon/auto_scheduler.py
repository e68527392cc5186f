"""The words of TVM's auto_scheduler: workloads, tasks, tuning options, records."""
import ctypes
import os
import warnings

from . import _c
from .graph import Graph
from .schedule import Schedule
from .target import Target
from ._library import lib

_workloads = {}


def register_workload(func_name=None, f=None, override=False):
    """Registers a function that returns the tensors of a workload, inputs and outputs. A decorator, with or without a name."""
    name = func_name.__name__ if callable(func_name) else func_name

    def register(function):
        key = name or function.__name__
        if key in _workloads and not override and _workloads[key] is not function:
            raise ValueError(f"workload {key} is registered already; pass override=True to replace it")
        _workloads[key] = function
        return function

    return register(func_name) if callable(func_name) else register(f) if f else register


class RecordToFile:
    """A measure callback: the log that every measurement goes to."""

    def __init__(self, filename):
        self.filename = str(filename)


class LocalBuilder:
    """Compiles candidates: at most TIMEOUT seconds each, N_PARALLEL at once."""

    def __init__(self, timeout=15, n_parallel=0, build_func="default"):
        self.timeout, self.n_parallel = timeout, n_parallel


class LocalRunner:
    """Times candidates in worker processes. How often is up to the library, which repeats until a median is tight."""

    def __init__(self, timeout=10, number=3, repeat=1, min_repeat_ms=100, cooldown_interval=0.0, enable_cpu_cache_flush=False, device=0):
        self.timeout = timeout
        if (number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush) != (3, 1, 100, 0.0, False):
            warnings.warn("LocalRunner: number, repeat, min_repeat_ms, cooldown_interval and enable_cpu_cache_flush are not looked at: "
                          "the library repeats until the median is tight", stacklevel=2)


class LocalRPCMeasureContext:
    """There is nothing to start: `runner` is a LocalRunner."""

    def __init__(self, timeout=10, **options):
        self.runner = LocalRunner(timeout=timeout)


class TuningOptions:
    """NUM_MEASURE_TRIALS records, into the file of a RecordToFile among MEASURE_CALLBACKS; other callbacks are called with a dict of the progress,
    and end the run by returning True."""

    def __init__(self, num_measure_trials=64, early_stopping=None, num_measures_per_round=64, verbose=1, builder="local", runner="local", measure_callbacks=None):
        self.num_measure_trials, self.early_stopping, self.num_measures_per_round = num_measure_trials, early_stopping, num_measures_per_round
        self.verbose, self.builder, self.runner = verbose, builder, runner
        self.measure_callbacks = list(measure_callbacks or [])


class SearchTask:
    """A workload to tune: a registered function, or its name, and its arguments."""

    def __init__(self, func=None, args=None, target=None, hardware_params=None, task_inputs=None, **ignored):
        function = _workloads[func] if isinstance(func, str) else func
        self.name, self.args, self.target = getattr(function, "__name__", str(func)), tuple(args or ()), Target(target)
        self.tensors = list(function(*self.args))
        outputs = [t for t in self.tensors if t.op.kind != "placeholder"]
        self.graph = Graph(outputs)

    @property
    def program(self):
        return self.graph.program

    @property
    def compute_dag(self):
        return str(self.program)

    @property
    def workload_key(self):
        return self.program.key

    def _core_target(self):
        return self.target.core(self.graph.context)

    def tune(self, tuning_options, search_policy=None):
        """Searches; prints a line a round unless verbose is 0. Returns what tn_tune says."""
        o = tuning_options
        logs = [c.filename for c in o.measure_callbacks if isinstance(c, RecordToFile)]
        if not logs:
            raise ValueError("measure_callbacks names no log: add auto_scheduler.RecordToFile(\"log.json\")")
        options = {"trials": o.num_measure_trials, "per_round": o.num_measures_per_round}
        if o.early_stopping:
            options["early_stop"] = o.early_stopping
        workers = _c.tn_worker_options()
        if isinstance(o.builder, LocalBuilder):
            workers.build_timeout_s, workers.jobs = o.builder.timeout, o.builder.n_parallel
        if isinstance(o.runner, LocalRunner):
            workers.run_timeout_s = o.runner.timeout
        workers.command, self._command = worker_command()
        options["workers"] = workers
        return self.program.tune(logs[0], on_progress=self._progress(o), target=self._core_target(), **options)

    def _progress(self, o):
        others = [c for c in o.measure_callbacks if not isinstance(c, RecordToFile)]
        last = [-1]

        def show(p):
            if o.verbose and p["trials"] != last[0] and p["trials"] % max(o.num_measures_per_round, 1) == 0 and p["best_s"] > 0:
                last[0] = p["trials"]
                print(f"{p['trials']} of {p['trials_wanted']} trials, {p['failed']} failed, best {1e3 * p['best_s']:.4f} ms, {p['elapsed_s']:.1f} s")
            return any([bool(c(p)) for c in others])
        return show

    def apply_best(self, log_file, include_compatible=False, layout_rewrite_option=None):
        """(schedule, arguments) of the log's best record, for tenon.build and tenon.lower."""
        best = self.program.best(str(log_file), self._core_target())
        return Schedule(self.graph, best), self.tensors

    def print_best(self, log_file, print_mode="schedule"):
        """The best record's schedule as text; mode "api": as C calls."""
        best = self.program.best(str(log_file), self._core_target())
        return best.text("api" if print_mode == "api" else "text")


def worker_command():
    """(argv for tn_worker_options, what keeps it alive): the `tenon` of TENON_COMMAND, beside the library, or in PATH."""
    command = os.environ.get("TENON_COMMAND")
    if not command:
        from ._library import lib as library
        folder = os.path.dirname(os.path.realpath(library._name)) if os.sep in (library._name or "") else ""
        found = [os.path.join(folder, up, "tenon") for up in ("", "../bin", "../../bin")] if folder else []
        command = next((p for p in found if os.path.isfile(p) and os.access(p, os.X_OK)), "tenon")
    argv = (ctypes.c_char_p * 3)(command.encode(), b"worker", None)
    return argv, argv


def create_task(func, args, target, **options):
    return SearchTask(func=func, args=args, target=target)
