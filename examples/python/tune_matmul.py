"""Tuning a matrix product plus a matrix: a task, a log, the best of it as a function.

    python3 examples/python/tune_matmul.py [TRIALS]"""
import os
import sys
import tempfile

import numpy as np

import tenon as tvm
from tenon import auto_scheduler, te


@auto_scheduler.register_workload
def matmul_add(N, L, M, dtype):
    A = te.placeholder((N, L), name="A", dtype=dtype)
    B = te.placeholder((L, M), name="B", dtype=dtype)
    C = te.placeholder((N, M), name="C", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    product = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="product")
    out = te.compute((N, M), lambda i, j: product[i, j] + C[i, j], name="out")
    return [A, B, C, out]


def main(trials):
    n = 256
    task = auto_scheduler.SearchTask(func=matmul_add, args=(n, n, n, "float32"), target=tvm.target.Target("llvm"))
    print(task.compute_dag)
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "matmul.json")
        task.tune(auto_scheduler.TuningOptions(num_measure_trials=trials, num_measures_per_round=8,
                                               measure_callbacks=[auto_scheduler.RecordToFile(log)]))
        schedule, args = task.apply_best(log)
        print(task.print_best(log))
    f = tvm.build(schedule, args, task.target)
    a, b, c = np.random.rand(3, n, n).astype("float32")
    out = np.empty((n, n), "float32")
    f(a, b, c, out)
    tvm.testing.assert_allclose(out, a @ b + c, rtol=1e-3)
    seconds = f.time_evaluator(f.entry_name, tvm.cpu(), min_repeat_ms=50)(a, b, c, out).median
    print(f"{1e3 * seconds:.3f} ms, {2e-9 * n ** 3 / seconds:.1f} GFLOPS")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
