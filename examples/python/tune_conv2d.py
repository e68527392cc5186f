"""Tuning a convolution with bias and ReLU, NHWC.

    python3 examples/python/tune_conv2d.py [TRIALS]"""
import os
import sys
import tempfile

import numpy as np

import tenon as tvm
from tenon import auto_scheduler, te


@auto_scheduler.register_workload
def conv2d(H, W, CI, CO, size):
    data = te.placeholder((1, H, W, CI), name="data")
    kernel = te.placeholder((size, size, CI, CO), name="kernel")
    bias = te.placeholder((CO,), name="bias")
    pad = size // 2
    padded = te.compute((1, H + 2 * pad, W + 2 * pad, CI), lambda n, h, w, c: te.if_then_else(
        te.all(h >= pad, h < H + pad, w >= pad, w < W + pad), data[n, h - pad, w - pad, c], 0.0), name="padded")
    r, s, c = te.reduce_axis((0, size), "r"), te.reduce_axis((0, size), "s"), te.reduce_axis((0, CI), "c")
    conv = te.compute((1, H, W, CO), lambda n, h, w, f: te.sum(padded[n, h + r, w + s, c] * kernel[r, s, c, f], axis=[r, s, c]), name="conv")
    out = te.compute((1, H, W, CO), lambda n, h, w, f: tvm.tir.max(conv[n, h, w, f] + bias[f], 0.0), name="out")
    return [data, kernel, bias, out]


def reference(data, kernel, bias):
    pad = kernel.shape[0] // 2
    padded = np.pad(data, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[:2], axis=(1, 2))
    return np.maximum(np.einsum("nhwcrs,rscf->nhwf", windows, kernel) + bias, 0)


def main(trials):
    task = auto_scheduler.SearchTask(func=conv2d, args=(14, 14, 32, 32, 3))
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "conv.json")
        task.tune(auto_scheduler.TuningOptions(num_measure_trials=trials, num_measures_per_round=8,
                                               measure_callbacks=[auto_scheduler.RecordToFile(log)]))
        schedule, args = task.apply_best(log)
    f = tvm.build(schedule, args)
    data, kernel, bias = (np.random.uniform(-1, 1, t.shape).astype("float32") for t in args[:3])
    out = np.empty((1, 14, 14, 32), "float32")
    f(data, kernel, bias, out)
    tvm.testing.assert_allclose(out, reference(data, kernel, bias), rtol=1e-3, atol=1e-3)
    print(f.time_evaluator(f.entry_name, tvm.cpu(), min_repeat_ms=50)(data, kernel, bias, out))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
