"""A table of where the time went, as MetaSchedule's Profiler: scopes by name, seconds added up."""
import contextlib
import ctypes
import time

from ._library import lib, take_text


class Profiler:
    """with Profiler() as p: with p.timeit("work"): ...; print(p.table()). Scopes of the library (tuning) are counted while it is entered."""

    def __init__(self):
        self.handle = lib.tn_profiler_new()
        if not self.handle:
            raise MemoryError("tn_profiler_new")

    def __del__(self):
        if getattr(self, "handle", None):
            lib.tn_profiler_free(self.handle)

    def __enter__(self):
        if lib.tn_profiler_enter(self.handle) != 0:
            raise RuntimeError("the profiler is entered already")
        return self

    def __exit__(self, *error):
        lib.tn_profiler_exit(self.handle)

    @contextlib.contextmanager
    def timeit(self, name):
        start = time.perf_counter()
        try:
            yield
        finally:
            lib.tn_profiler_add(self.handle, name.encode(), time.perf_counter() - start, 1)

    def get(self):
        """{name: seconds}."""
        out = {}
        for i in range(lib.tn_profiler_count(self.handle)):
            seconds, calls = ctypes.c_double(), ctypes.c_int64()
            name = lib.tn_profiler_name_at(self.handle, i, ctypes.byref(seconds), ctypes.byref(calls))
            out[name.decode()] = seconds.value
        return out

    def table(self):
        text = take_text(lib.tn_profiler_table(self.handle))
        if text is None:
            raise RuntimeError(lib.tn_profiler_table_error(self.handle).decode())
        return text
