"""Tenon: tensor expressions, cut to fit the machine.

Two layers. The thin one is the C library as objects: Context, Program, Schedule, Kernel, Target.

    ctx = tenon.Context()
    program = ctx.program("C[i<256, j<256] = sum[k<256](A[i,k] * B[k,j])")
    kernel = program.schedule("auto").build()
    kernel(a, b, c)                                  # NumPy arrays, or anything with DLPack

The other one has the words of TVM's te and auto_scheduler, so that a script of theirs runs after its import line is changed:

    import tenon as tvm
    from tenon import te, auto_scheduler"""
from ._library import lib
from .core import Argument, Context, Kernel, Loop, Program, Schedule, Target, TenonError
from . import auto_scheduler, nd, target, te, testing, tir
from .driver import BenchmarkResult, Module, build, lower
from .nd import cpu, device
from .packed import get_global_func, register_func
from .profiler import Profiler

__version__ = "0.1.0"


def program(text, **params):
    """A program from its text form, in a context of its own."""
    return Context().program(text, **params)
