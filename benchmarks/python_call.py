"""What a call from Python costs over the C call: a kernel of 1,024 floats, the least of many short rounds.

    PYTHONPATH=build/python python3 benchmarks/python_call.py"""
import time

import numpy as np

import tenon

kernel = tenon.program("B[i<1024] = A[i] * 2.0").schedule("auto").build()
a, b, c = (np.zeros(1024, "float32") for _ in "abc")


def least_ns(function, calls=500, rounds=60):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter_ns() - start) / calls)
    return best


def alternate():
    kernel(a, b)
    kernel(a, c)


print(f"C call {1e9 * kernel.time(a, b)['min_s']:.0f} ns; from Python {least_ns(lambda: kernel(a, b)):.0f} ns, other arrays each time {least_ns(alternate) / 2:.0f} ns")
