"""docs/from-tvm.md: every line of the Python column runs, behind the block at the top of the page, each in names of its own. "the same" is
the first column's line. What a cell says in words has no code, and no cell is empty."""
import ctypes
import os
import pathlib
import re
import tempfile

from kit import main

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "from-tvm.md").read_text(encoding="utf-8")
PRELUDE = re.search(r"^```python\n(.*?)^```", PAGE, re.M | re.S).group(1)
# What a line needs besides: values that a reader has at hand.
BEFORE = {
    "my_gemv": """
c = te.compute((16,), lambda m: te.sum(te.placeholder((64,), name="a")[k] * te.placeholder((16, 64), name="b")[m, k], axis=k), name="c")
@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float), *[ctypes.c_int64] * 4)
def update(c, a, b, cm, al, bm, bl):
    for m in range(16):
        c[m * cm] += sum(a[l * al] * b[m * bm + l * bl] for l in range(64))
""",
    "T2": "c = te.comm_reducer(lambda a, b: (a[0] + b[0], a[1] * b[1]), lambda t, u: (tir.const(0, t), tir.const(1, u)))",
    "gemv_16x64": """
C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
s = te.create_schedule(C.op)
i, j = s[C].op.axis
""",
    "FIRST": """
task = auto_scheduler.SearchTask(func=matmul, args=(64,))
options = auto_scheduler.TuningOptions(num_measure_trials=4, measure_callbacks=[auto_scheduler.RecordToFile("m.json")], verbose=0)
""",
    "TUNED": "task.tune(options)",
}


def spans(cell):
    return [s.strip() for s in re.findall(r"`([^`]+)`", cell)]


def cells(line):
    return [c.strip().replace(r"\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def lines_of(row):
    """The code that a row of a table shows for Python. A bare name, as in `te.min`, must be there."""
    code = spans(row[0] if row[-1] == "the same" else row[-1])
    assert code or row[-1].startswith("none"), f"a Python cell without code: {row}"
    return code


def setup(section, code):
    parts = [PRELUDE]
    if "{\"update\": update}" in code:
        parts.append(BEFORE["my_gemv"])
    if code.startswith("S, P = te.compute"):
        parts.append(BEFORE["T2"])
    if "gemv_16x64" in code:
        parts.append(BEFORE["gemv_16x64"])
    if section == "Tuning":
        parts.append(BEFORE["FIRST"])
    if "apply_best" in code or "print_best" in code or "profiler.table" in code:
        parts.append(BEFORE["TUNED"])
    if "profiler.table" in code:
        parts.append("with tvm.Profiler() as profiler: task.tune(options)")
    return "\n".join(parts)


def lower(names):
    """What a line defines or schedules is made when it is lowered, and only then."""
    for name in "D", "S":
        made = names.get(name)
        if made is not None and getattr(made, "op", None) is not None and made.op.kind != "placeholder":
            assert names["te"].create_schedule(made.op).core.text("tir")
    assert names["s"].core.text("tir")


def run(section, code):
    folder = os.getcwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        try:
            names = {"__name__": "shown", "ctypes": ctypes}
            exec(compile(setup(section, code), "before", "exec"), names)
            exec(compile(code, "from-tvm.md", "exec"), names)
            lower(names)
        finally:
            os.chdir(folder)


count, section = 0, ""
for line in PAGE.split("\n"):
    if line.startswith("## "):
        section = line[3:]
    if not line.startswith("|") or line.startswith("| ---") or "Tenon (Python)" in line:
        continue
    for code in lines_of(cells(line)):
        count += 1

        def test(section=section, code=code):
            run(section, code)
        globals()[f"test_{count}_" + re.sub(r"\W+", "_", code)[:40]] = test


def test_every_table_has_the_column():
    assert count >= 75, count


main(globals())
