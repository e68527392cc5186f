"""auto_scheduler's words: a task is tuned into a log, the best is applied, built and compared with NumPy; what is refused."""
import json
import os
import tempfile

import numpy as np

import tenon as tvm
from tenon import auto_scheduler, te
from kit import close, main, refused


@auto_scheduler.register_workload
def matmul_add(N, L, M, dtype):
    A, B, C = te.placeholder((N, L), name="A", dtype=dtype), te.placeholder((L, M), name="B", dtype=dtype), te.placeholder((N, M), name="C", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    product = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")
    out = te.compute((N, M), lambda i, j: product[i, j] + C[i, j], name="out")
    return [A, B, C, out]


def test_tune_apply_build():
    task = auto_scheduler.SearchTask(func=matmul_add, args=(64, 64, 64, "float32"), target=tvm.target.Target("llvm"))
    assert "matmul" in task.compute_dag
    with tempfile.TemporaryDirectory() as folder:
        log, seen = os.path.join(folder, "m.json"), []
        options = auto_scheduler.TuningOptions(num_measure_trials=6, num_measures_per_round=3, verbose=0,
                                               measure_callbacks=[auto_scheduler.RecordToFile(log), lambda p: seen.append(p["trials"])])
        task.tune(options)
        records = [json.loads(line) for line in open(log, encoding="utf-8")]
        trials = [r for r in records if "program" in r and not r.get("final")]
        assert seen and len(trials) == 6, (seen, len(trials))
        s, args = task.apply_best(log)
        f = tvm.build(s, args, task.target)
        a, b, c = (np.random.rand(64, 64).astype("float32") for _ in "abc")
        out = np.empty((64, 64), "float32")
        f(a, b, c, out)
        close(out, a @ b + c)
        assert "(" in task.print_best(log)


def test_refuses_no_log():
    task = auto_scheduler.SearchTask(func="matmul_add", args=(8, 8, 8, "float32"))
    refused(lambda: task.tune(auto_scheduler.TuningOptions(num_measure_trials=2)), "RecordToFile")


def test_refuses_missing_log():
    task = auto_scheduler.SearchTask(func=matmul_add, args=(8, 8, 8, "float32"))
    refused(lambda: task.apply_best("/nonexistent/log.json"), "/nonexistent/log.json")


def test_refuses_second_registration():
    def matmul_add(n):
        return []
    refused(lambda: auto_scheduler.register_workload(matmul_add), "matmul_add", "override")


def test_refuses_unknown_option():
    p = tvm.program("C[i<4] = A[i] + 1")
    refused(lambda: p.tune("log.json", trails=3), "trails", "trials")


main(globals())
