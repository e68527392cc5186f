#!/usr/bin/env bash
# What --emit=tvmscript prints is Python, and means what the program means: every schedule of the golden texts is printed
# and parsed; those of few points are run, block by block, and give what the default schedule gives. Memory is poisoned,
# and an index outside of a tensor is an error.
set -euo pipefail
python3 - "$TENON_SOURCE" "$TENON" <<'PYTHON'
import ast, contextlib, glob, itertools, math, os, random, re, subprocess, sys

source, tenon = sys.argv[1:]
MOST_BLOCKS = 3000  # and points of a tensor


class Skip(Exception):
    pass


class TooLong(Exception):
    pass


class Buffer:
    def __init__(self, shape, dtype, values=None):
        self.shape, self.dtype = shape, dtype
        self.data = values or {}

    def at(self, index):
        index = index if isinstance(index, tuple) else (index,)
        assert len(index) == len(self.shape) and all(0 <= i < n for i, n in zip(index, self.shape)), (index, self.shape)
        return index

    def __getitem__(self, index):
        return self.data[self.at(index)]

    def __setitem__(self, index, value):
        self.data[self.at(index)] = value


class Axis:
    def __init__(self, t):
        self.t = t

    def spatial(self, extent, value):
        return self.bind("S", extent, value)

    def reduce(self, extent, value):
        return self.bind("R", extent, value)

    def scan(self, extent, value):
        return self.bind("S", extent, value)

    def remap(self, kinds, values):
        return [self.bind(k, None, v) for k, v in zip(kinds, values)]

    def bind(self, kind, extent, value):
        if kind == "R":
            self.t.reduced.append(value)
        self.t.extents.append((extent, value))
        return value


class T:
    """The words of TVMScript that Tenon uses, as Python functions."""

    def __init__(self):
        self.blocks, self.axis = 0, Axis(self)
        for name in "range serial parallel vectorized unroll thread_binding".split():
            setattr(self, name, lambda n, thread=None, annotations=None: range(n))
        for name in "int8 uint8 int16 uint16 int32 uint32 int64".split():
            setattr(self, name, int)
        for name in "float16 bfloat16 float32 float64".split():
            setattr(self, name, float)
        self.bool, self.min, self.max, self.abs = bool, min, max, abs

    @contextlib.contextmanager
    def block(self, name):
        self.blocks += 1
        if self.blocks > MOST_BLOCKS:
            raise TooLong
        self.reduced, self.extents = [], []
        with contextlib.suppress(Skip):
            yield

    def where(self, condition):
        if not condition:
            raise Skip

    def starts(self):
        """Whether a reduction does, in this block."""
        assert all(e is None or 0 <= v < e for e, v in self.extents), self.extents
        return not any(self.reduced)

    def prim_func(self, f):
        return f

    def grid(self, *extents):
        return itertools.product(*map(range, extents))

    def Buffer(self, shape, dtype, strides=()):
        return shape, dtype, strides

    def alloc_buffer(self, shape, dtype, scope="global"):
        return Buffer(shape, dtype)

    def Cast(self, dtype, value):
        return float(value) if "float" in dtype else bool(value) if dtype == "bool" else int(value)

    def bitwise_and(self, a, b): return a & b
    def bitwise_or(self, a, b): return a | b
    def bitwise_xor(self, a, b): return a ^ b
    def bitwise_not(self, a): return ~a
    def shift_left(self, a, b): return a << b
    def shift_right(self, a, b): return a >> b
    def popcount(self, a): return bin(a & 0xFFFFFFFF).count("1")
    def clz(self, a): return 32 - (a & 0xFFFFFFFF).bit_length()
    def sigmoid(self, a): return 1 / (1 + math.exp(-a))
    def rsqrt(self, a): return 1 / math.sqrt(a)

    def __getattr__(self, name):
        return getattr(math, name)


class Rewrite(ast.NodeTransformer):
    """Lazy choices, init as a condition, and no notes about accesses."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if ast.unparse(node.func) == "T.if_then_else":
            return ast.IfExp(*node.args)
        return node

    def visit_With(self, node):
        self.generic_visit(node)
        call = node.items[0].context_expr
        if ast.unparse(call) == "T.init()":
            return ast.If(ast.parse("T.starts()", mode="eval").body, node.body, [])
        return node

    def visit_Expr(self, node):
        call = ast.unparse(node.value.func)
        return None if call in ("T.reads", "T.writes", "T.func_attr", "T.block_attr") else self.generic_visit(node)


def show(program, schedule):
    return subprocess.run([tenon, "show", program, "-s", schedule, "--emit=tvmscript"], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def value(dtype, rng):
    if dtype == "bool":
        return rng.random() < 0.5
    return float(rng.randint(-4, 4)) if "float" in dtype else rng.randint(0, 7)


def points(shape):
    return itertools.product(*map(range, shape))


def outputs(script, program):
    """What running a script of the program stores; None: it would take too long."""
    tree = Rewrite().visit(ast.parse(script))
    stored = {t.value.id for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Subscript)}
    t = T()
    names = {"T": t}
    exec(compile(ast.fix_missing_locations(tree), "script", "exec"), names)
    rng, args, annotations = random.Random(1), {}, names["kernel"].__annotations__
    words = " ".join(str(n) for a in annotations.values() if isinstance(a, tuple) for n in a[0])
    symbols = {n: 3 + i % 3 for i, n in enumerate(sorted(set(re.findall(r"[A-Za-z_]\w*", words)) & set(annotations)))}
    for least, name in re.findall(r"(\d+) *<= *([A-Za-z_]\w*)", program):  # symbol 16<=M<=100
        if name in symbols:
            symbols[name] += int(least)
    for name, annotation in annotations.items():
        if name in symbols:
            args[name] = symbols[name]
            continue
        if not isinstance(annotation, tuple):
            args[name] = value("float" if annotation is float else "int", rng)
            continue
        strides = annotation[2]
        assert not strides or (strides[-1] == 1 and len(strides) == len(annotation[0])), strides
        assert all(annotations.get(s) is int for s in strides[:-1]), strides  # Buffers here have indices, no memory
        shape, dtype = tuple(eval(n, {"T": t}, symbols) if isinstance(n, str) else n for n in annotation[0]), annotation[1]
        if math.prod(shape) > MOST_BLOCKS:
            return None
        args[name] = Buffer(shape, dtype, {} if name in stored else {p: value(dtype, rng) for p in points(shape)})
    try:
        names["kernel"](**args)
    except TooLong:
        return None
    return {n: [args[n][p] for p in points(args[n].shape)] for n in sorted(stored) if n in args}


def agree(a, b):
    return a == b or isinstance(a, float) and (math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or a != a and b != b)


def cases():
    """The programs and schedules that golden texts begin with."""
    for path in sorted(glob.glob(source + "/tests/golden/schedule/*.txt") + glob.glob(source + "/tests/golden/schedule/tvmscript/*.txt")):
        name = os.path.basename(path)
        if name == "c_calls.txt" or name.startswith("plan_"):  # C calls; plans, whose schedules are cases of their own
            continue
        parts = open(path).read().split("\n\n")
        found = re.fullmatch(r"(\w+: [\w ]+\n?)+", parts[1])  # of a generic schedule: what was recognised stands between
        schedule = parts[2] if found else parts[1]
        yield path, parts[0], "" if schedule.startswith("\n") or not schedule else schedule


parsed = ran = wrong = 0
defaults = {}
for path, program, schedule in cases():
    script = show(program, schedule)
    ast.parse(script)
    parsed += 1
    if "T.call_extern(" in script:
        continue
    try:
        got = outputs(script, program)
        if got and program not in defaults:
            defaults[program] = outputs(show(program, ""), program)
        wanted = got and defaults[program]
    except Exception as error:
        wrong += 1
        print(f"{path}: {type(error).__name__}: {error}\n{script}")
        continue
    if not wanted:
        continue
    ran += 1
    if got.keys() != wanted.keys() or not all(agree(a, b) for n in got for a, b in zip(got[n], wanted[n])):
        wrong += 1
        print(f"{path}: gives something else than the default schedule\n{script}")
print(f"{parsed} scripts parsed, {ran} run, {wrong} wrong")
sys.exit(wrong > 0 or parsed < 200 or ran < 100)
PYTHON
