"""Programs drawn by seed, for what benchmarks/auto/cases.txt does not name: products, chains of stencils, and work on rows. A seed and a
number name a program; drawing more keeps those that were there."""
import random

PRIMES = {"tiny": [2, 3, 5, 7, 11, 13, 17, 23, 31], "short": [37, 53, 67, 97, 127], "long": [251, 509, 769, 1021, 1511, 2039],
          "wide": [4099, 8191, 16381, 65521]}
EVEN = {"tiny": [1, 2, 4, 8, 16, 24, 32], "short": [40, 64, 96, 128], "long": [256, 500, 512, 768, 1000, 1024, 2048],
        "wide": [4096, 8192, 16384, 65536]}


def length(r, kind):
    return r.choice((PRIMES if r.random() < 0.5 else EVEN)[kind])


# ---- chains of stencils ---------------------------------------------------------------------------------------------


class Chain:
    """The text of a chain, last stage first in size: each stage is larger by what its readers reach over."""

    def __init__(self, r):
        self.r, self.stages, self.tables = r, [], {}
        self.reach = {"X": (0, 0)}  # rows and columns that are missing below X's, of each stage

    def add(self, text, reach):
        name = f"S{len(self.stages)}"
        self.stages.append((name, text, reach))
        self.reach[name] = reach
        return name

    def table(self, name, shape):
        self.tables[name] = shape
        return name

    def at(self, name, reach, y="y", x="x"):
        """NAME in the middle of what a stage of REACH may read of it."""
        dy, dx = ((reach[k] - self.reach[name][k]) // 2 for k in (0, 1))
        return f"{name}[{y}{f'+{dy}' if dy else ''},{x}{f'+{dx}' if dx else ''}]"

    def filter(self, of):
        r, n = self.r, self.r.choice([3, 3, 5])
        a, b = self.reach[of]
        kind = r.choice(["table", "written", "separable", "max", "gradient", "cross"])
        if kind == "table":
            return self.add(f"sum[r<{n}, s<{n}]({of}[y+r,x+s] * {self.table(f'W{n}', f'[{n},{n}]')}[r,s])", (a + n - 1, b + n - 1))
        if kind == "max":
            f = r.choice(["max", "min"])
            return self.add(f"{f}[r<{n}, s<{n}]({of}[y+r,x+s])", (a + n - 1, b + n - 1))
        if kind == "separable":
            if r.random() < 0.5:
                rows = self.add(f"sum[s<{n}]({of}[y,x+s] * {self.table(f'w{n}', f'[{n}]')}[s])", (a, b + n - 1))
                return self.add(f"sum[r<{n}]({rows}[y+r,x] * w{n}[r])", (a + n - 1, b + n - 1))
            rows = self.add(" + ".join(f"{of}[y,x+{s}]" for s in range(n)), (a, b + n - 1))
            return self.add("(" + " + ".join(f"{rows}[y+{s},x]" for s in range(n)) + f") * {1 / n / n:.4f}", (a + n - 1, b + n - 1))
        if kind == "gradient":
            return self.add(f"{of}[y,x+2] - {of}[y,x] + 2*({of}[y+1,x+2] - {of}[y+1,x]) + {of}[y+2,x+2] - {of}[y+2,x]", (a + 2, b + 2))
        if kind == "cross":
            return self.add(f"({of}[y,x+1] + {of}[y+2,x+1] + {of}[y+1,x] + {of}[y+1,x+2]) * 0.25", (a + 2, b + 2))
        taps = [f"{r.choice([0.0625, 0.125, 0.25])}*{of}[y+{i},x+{j}]" for i in range(3) for j in range(3)]
        return self.add(" + ".join(taps), (a + 2, b + 2))

    def points(self, one, other):
        reach = tuple(max(self.reach[one][k], self.reach[other][k]) for k in (0, 1))
        a, b = self.at(one, reach), self.at(other, reach)
        text = self.r.choice(["{a}*{a} + {b}*{b}", "sqrt({a}*{a} + {b}*{b})", "max({a}, {b} * 0.5)", "{a} + 0.5*({b} - {a})",
                              "abs({a} - {b})", "{a} / ({b}*{b} + 1.0)", "min(max({a}, 0.0), 1.0) * {b}", "select({a} > {b}, {a} - {b}, 0.0)"])
        return self.add(text.format(a=a, b=b), reach)


def pipeline(r):
    n = r.randint(1, 8)
    kind = r.choice(["long", "long", "short", "mixed"])
    rows, columns = (length(r, k) for k in {"mixed": ("short", "long"), "long": ("long", "long"), "short": ("short", "short")}[kind])
    if r.random() < 0.15:
        rows, columns = r.choice([(33, 4099), (4099, 61), (67, 8192), (512, 4096)])
    c = Chain(r)
    newest, older = "X", "X"
    while len(c.stages) < n:
        made = c.points(newest, older) if c.stages and r.random() < 0.35 else c.filter(newest)
        newest, older = made, r.choice([newest, newest, older, "X"])
    a, b = c.reach[newest]
    lines = [f"input X: f32[{rows + a},{columns + b}]" + "".join(f", {name}: f32{shape}" for name, shape in c.tables.items())]
    used = {newest}  # what nobody reads would be an output
    for name, text, _ in reversed(c.stages):
        if name in used:
            used |= {other for other, _, _ in c.stages if other + "[" in text}
    for name, text, reach in c.stages:
        if name in used:
            lines.append(f"{'Out' if name == newest else name}[y<{rows + a - reach[0]}, x<{columns + b - reach[1]}] = {text}")
    return "\n".join(lines)


# ---- rows -----------------------------------------------------------------------------------------------------------

ROWS = {
    "softmax": "M[i<N] = max[k<D](X[i,k])\nE[i<N, j<D] = exp(X[i,j] - M[i])\nS[i<N] = sum[k<D](E[i,k])\nY[i<N, j<D] = E[i,j] / S[i]",
    "log-softmax": "M[i<N] = max[k<D](X[i,k])\nS[i<N] = sum[k<D](exp(X[i,k] - M[i]))\nY[i<N, j<D] = X[i,j] - M[i] - log(S[i])",
    "masked-softmax": "input B: f32[D]\nZ[i<N, j<D] = X[i,j]*0.125 + B[j]\nM[i<N] = max[k<D](Z[i,k])\nE[i<N, j<D] = exp(Z[i,j] - M[i])\n"
                      "S[i<N] = sum[k<D](E[i,k])\nY[i<N, j<D] = E[i,j] / S[i]",
    "layer-norm": "input g: f32[D], b: f32[D]\nA[i<N] = sum[k<D](X[i,k])\nV[i<N] = sum[k<D]((X[i,k] - A[i]/D) * (X[i,k] - A[i]/D))\n"
                  "Y[i<N, j<D] = (X[i,j] - A[i]/D)*rsqrt(V[i]/D + 1e-5)*g[j] + b[j]",
    "rms-norm": "input g: f32[D]\nV[i<N] = sum[k<D](X[i,k]*X[i,k])\nY[i<N, j<D] = X[i,j]*rsqrt(V[i]/D + 1e-5)*g[j]",
    "l2-normalize": "V[i<N] = sum[k<D](X[i,k]*X[i,k])\nY[i<N, j<D] = X[i,j] / sqrt(V[i] + 1e-12)",
    "row-sum": "Y[i<N] = sum[k<D](X[i,k])",
    "row-squares": "Y[i<N] = sum[k<D](X[i,k]*X[i,k])",
    "row-max": "Y[i<N] = max[k<D](X[i,k])",
    "row-argmax": "(I, V)[i<N] = argmax[k<D](X[i,k])",
    "column-sum": "Y[j<D] = sum[k<N](X[k,j])",
    "column-max": "Y[j<D] = max[k<N](X[k,j])",
    "column-argmin": "(I, V)[j<D] = argmin[k<N](X[k,j])",
    "column-norm": "A[j<D] = sum[k<N](X[k,j])\nV[j<D] = sum[k<N]((X[k,j] - A[j]/N) * (X[k,j] - A[j]/N))\n"
                   "Y[i<N, j<D] = (X[i,j] - A[j]/N)*rsqrt(V[j]/N + 1e-5)",
    "column-softmax": "M[j<D] = max[k<N](X[k,j])\nE[i<N, j<D] = exp(X[i,j] - M[j])\nS[j<D] = sum[k<N](E[k,j])\nY[i<N, j<D] = E[i,j] / S[j]",
}


def rows(r):
    kind = r.choice(list(ROWS))
    while True:
        n, d = length(r, r.choice(["tiny", "short", "long", "wide"])), length(r, r.choice(["tiny", "short", "long", "wide"]))
        if 1 << 8 <= n * d <= 1 << 22:
            return f"param N = {n}, D = {d}\ninput X: f32[N,D]\n{ROWS[kind]}", f"{kind}-{n}x{d}"


# ---- products --------------------------------------------------------------------------------------------------------

DTYPES = [("f32", "f32", "f32")] * 7 + [("f64", "f64", "f64"), ("u8", "i8", "i32"), ("bf16", "bf16", "f32")]


def product_text(dtypes, sizes, layout):
    """LAYOUT says of both operands whether they lie transposed ("t") or not ("n")."""
    batch, m, n, k = sizes
    left, right, total = dtypes
    lead, b = (f"{batch},", "b,") if batch > 1 else ("", "")
    shape = [(m, k) if layout[0] == "n" else (k, m), (k, n) if layout[1] == "n" else (n, k)]
    index = ["i,k" if layout[0] == "n" else "k,i", "k,j" if layout[1] == "n" else "j,k"]
    reads = [f"{t}[{b}{i}]" if dtype == total else f"{total}({t}[{b}{i}])" for t, i, dtype in zip("AB", index, (left, right))]
    return (f"input A: {left}[{lead}{shape[0][0]},{shape[0][1]}], B: {right}[{lead}{shape[1][0]},{shape[1][1]}]\n"
            f"C[{f'b<{batch}, ' if batch > 1 else ''}i<{m}, j<{n}] = sum[k<{k}]({reads[0]} * {reads[1]})")


def product(r):
    """Sizes log-uniform in 1 .. 2048, every layout, a fifth in batches. What takes the unscheduled program seconds, or no time at
    all, is drawn again."""
    work = 0
    while not 2**14 <= work <= 2**29:
        m, n, k = (round(2 ** r.uniform(0, 11)) for _ in range(3))
        batch = round(2 ** r.uniform(1, 6)) if r.random() < 0.2 else 1
        work = batch * m * n * k
    dtypes, layout = r.choice(DTYPES), r.choice("nt") + r.choice("nt")
    return (product_text(dtypes, (batch, m, n, k), layout),
            f"{layout}-{dtypes[0]}-" + (f"{batch}x" if batch > 1 else "") + f"{m}x{n}x{k}")


# ---- elements in turns ----------------------------------------------------------------------------------------------


def pool(r, h, w):
    k, s, c, f = r.choice([2, 2, 3, 3, 4]), r.choice([1, 2, 2, 3]), r.choice([1, 3, 8, 16, 64]), r.choice(["max", "sum", "min"])
    where = f" where y*{s}+r>=1 && x*{s}+s>=1" if r.random() < 0.3 else ""
    o = 1 if where else 0
    if r.random() < 0.6:
        return (f"input X: f32[{c},{h * s + k},{w * s + k}]\nY[c<{c}, y<{h}, x<{w}] = {f}[r<{k}, s<{k}{where}](X[c,y*{s}+r-{o},x*{s}+s-{o}])",
                f"{f}-planes-k{k}s{s}")
    return (f"input X: f32[{h * s + k},{w * s + k},{c}]\nY[y<{h}, x<{w}, c<{c}] = {f}[r<{k}, s<{k}{where}](X[y*{s}+r-{o},x*{s}+s-{o},c])",
            f"{f}-pixels-k{k}s{s}c{c}")


def colours(r, h, w):
    t, c = r.choice(["u8", "u8", "f32", "i16"]), r.choice([2, 3, 3, 4])
    x = f"input X: {t}[{h},{w},{c}]\n"
    kind = r.choice(["planes", "pixels", "backwards", "weighed", "flipped"])
    if kind == "pixels":
        return f"input X: {t}[{c},{h},{w}]\nY[y<{h}, x<{w}, c<{c}] = X[c,y,x]", f"pixels-{t}x{c}"
    text = {"planes": f"Y[c<{c}, y<{h}, x<{w}] = X[y,x,c]", "backwards": f"Y[y<{h}, x<{w}, c<{c}] = X[y,x,{c - 1}-c]",
            "flipped": f"Y[y<{h}, x<{w}, c<{c}] = X[y,{w - 1}-x,c]",
            "weighed": f"Y[y<{h}, x<{w}] = " + " + ".join(f"f32(X[y,x,{i}])*0.{i + 2}" for i in range(c))}[kind]
    return x + text, f"{kind}-{t}x{c}"


def resized(r, h, w):
    m = r.choice([2, 2, 3, 4])
    kind = r.choice(["nearest", "between", "blocks", "shuffle", "mean"])
    text = {"nearest": f"input X: f32[{h},{w}]\nY[y<{h * m}, x<{w * m}] = X[y//{m},x//{m}]",
            "between": f"input X: f32[{h + 1},{w + 1}]\nY[y<{h * 2}, x<{w * 2}] = select(x%2 == 0, X[y//2,x//2], (X[y//2,x//2] + X[y//2,x//2+1])*0.5)",
            "blocks": f"input X: f32[{h * m},{w * m}]\nY[c<{m * m}, y<{h}, x<{w}] = X[y*{m}+c//{m},x*{m}+c%{m}]",
            "shuffle": f"input X: f32[{m * m},{h},{w}]\nY[y<{h * m}, x<{w * m}] = X[y%{m}*{m}+x%{m},y//{m},x//{m}]",
            "mean": f"input X: f32[{h * 2},{w * 2}]\nY[y<{h}, x<{w}] = (X[2*y,2*x] + X[2*y+1,2*x] + X[2*y,2*x+1] + X[2*y+1,2*x+1])*0.25"}[kind]
    return text, f"{kind}-{m}"


def bordered(r, h, w):
    t, b = r.choice(["f32", "f32", "u8"]), r.choice([1, 2, 3])
    x = f"input X: {t}[{h},{w}]\n"
    kind = r.choice(["zeros", "edge", "reflect", "roll"])
    text = {"zeros": f"Y[y<{h + 2 * b}, x<{w + 2 * b}] = select(y>={b} && y<{h + b} && x>={b} && x<{w + b}, X[y-{b},x-{b}], {t}(0))",
            "edge": f"Y[y<{h + 2 * b}, x<{w + 2 * b}] = X[min(max(y-{b},0),{h - 1}),min(max(x-{b},0),{w - 1})]",
            "reflect": f"Y[y<{h}, x<{w + 2 * b}] = X[y,select(x<{b}, {b}-x, select(x<{w + b}, x-{b}, {2 * w + b - 2}-x))]",
            "roll": f"Y[y<{h}, x<{w}] = X[y,(x+{w // 3})%{w}]"}[kind]
    return x + text, f"{kind}-{t}"


def turns(r):
    """Poolings, colours, images of other sizes and borders, of 2^12 to 2^21 elements."""
    while True:
        h, w = length(r, r.choice(["tiny", "short", "long"])), length(r, r.choice(["short", "long", "long"]))
        text, what = r.choice([pool, colours, resized, bordered])(r, h, w)
        if 1 << 12 <= h * w <= 1 << 18:
            return text, f"{what}-{h}x{w}"


def windows(r):
    """Sums and extrema of sliding windows, alone, of squares, one after the other, along one axis or two."""
    kind = r.choice(["box", "squares", "bytes", "opening", "planes", "colours", "row", "column"])
    a, b = (r.choice([2, 3, 3, 3, 4, 5, 5, 7, 9, 16]) for _ in "ab")
    h, w, op = length(r, "short"), length(r, r.choice(["short", "long"])), r.choice(["sum", "sum", "max", "min"])
    window, box = f"[r<{a}, s<{b}]", f"X: f32[{h + a}, {w + b}]"
    text = {"box": f"input {box}\nY[y<{h}, x<{w}] = {op}{window}(X[y+r,x+s])",
            "squares": f"input {box}\nM[y<{h}, x<{w}] = sum{window}(X[y+r,x+s])*0.1\nQ[y<{h}, x<{w}] = sum{window}(X[y+r,x+s]*X[y+r,x+s])*0.1\n"
                       f"Y[y<{h}, x<{w}] = Q[y,x] - M[y,x]*M[y,x]",
            "bytes": f"input X: u8[{h + a}, {w + b}]\nY[y<{h}, x<{w}] = max{window}(X[y+r,x+s])",
            "opening": f"input X: u8[{h + 2 * a}, {w + 2 * b}]\nE[y<{h + a}, x<{w + b}] = min{window}(X[y+r,x+s])\n"
                       f"Y[y<{h}, x<{w}] = max{window}(E[y+r,x+s])",
            "planes": f"input X: f32[16, {h + a}, {w + b}]\nY[c<16, y<{h}, x<{w}] = {op}{window}(X[c,y+r,x+s])",
            "colours": f"input X: f32[{h + a}, {w + b}, 3]\nY[y<{h}, x<{w}, c<3] = {op}{window}(X[y+r,x+s,c])",
            "row": f"input X: f32[{h}, {w + 4 * b}]\nY[y<{h}, x<{w}] = {op}[s<{4 * b}](X[y,x+s])",
            "column": f"input X: f32[{h + 4 * a}, {w}]\nY[y<{h}, x<{w}] = {op}[r<{4 * a}](X[y+r,x])"}[kind]
    return text, f"{kind}-{a}x{b}-{h}x{w}"


# ---- what lies behind the edges of an image --------------------------------------------------------------------------


def behind(mode, index, n):
    """INDEX of a dimension of N as it is read, and the conditions of a read that there is one."""
    if mode == "clamp":
        return f"min(max({index},0),{n - 1})", []
    if mode == "wrap":
        return f"({index}+{n})%{n}", []
    return index, [f"{index}>=0", f"{index}<{n}"]


def edges(r):
    """Filters, extrema, crosses and images of half or twice the size, of one plane, of several, or of colours, that read over the edges."""
    h, w = length(r, r.choice(["tiny", "short", "long"])), length(r, r.choice(["short", "long", "long"]))
    k, c, mode = r.choice([3, 3, 5]), r.choice([1, 1, 3, 3, 4, 8, 32]), r.choice(["clamp", "zero", "zero", "select", "wrap"])
    kind, t = r.choice(["filter", "filter", "sum", "max", "cross", "twice", "half"]), r.choice(["f32", "f32", "f32", "u8"])
    is_plane = c > 1 and r.random() < 0.5
    if not 1 << 12 <= h * w * c <= 1 << 20:
        return edges(r)
    shape = f"{h},{w}" if c == 1 else f"{c},{h},{w}" if is_plane else f"{h},{w},{c}"

    def read(y, x):
        (y, of_y), (x, of_x) = behind(mode, y, h), behind(mode, x, w)
        index = f"{y},{x}" if c == 1 else f"c,{y},{x}" if is_plane else f"{y},{x},c"
        whole, where = (f"u32(X[{index}])" if t == "u8" else f"X[{index}]"), " && ".join(of_y + of_x)
        zero = "u32(0)" if t == "u8" else "0.0"
        return (f"select({where}, {whole}, {zero})", "") if where and mode == "select" else (whole, f" where {where}" if where else "")

    def out(text, m=1, d=1):
        axes = [f"y<{h * m // d}", f"x<{w * m // d}"]
        axes = axes if c == 1 else [f"c<{c}"] + axes if is_plane else axes + [f"c<{c}"]
        return f"input X: {t}[{shape}]\n" + ("input W: f32[%d,%d]\n" % (k, k) if "W[" in text else "") + f"Y[{', '.join(axes)}] = {text}"

    if kind == "cross" or (kind in ("twice", "half") and mode in ("zero", "select")):
        taps = [read(y, x)[0] for y, x in (("y", "x"), ("y-1", "x"), ("y+1", "x"), ("y", "x-1"), ("y", "x+1"))]
        if mode == "zero":
            mode = "select"
            taps = [read(y, x)[0] for y, x in (("y", "x"), ("y-1", "x"), ("y+1", "x"), ("y", "x-1"), ("y", "x+1"))]
        text = f"({' + '.join(taps)})"
        return out(f"u8({text} // 5)" if t == "u8" else f"{text} * 0.2"), f"cross-{mode}-{t}x{c}-{h}x{w}"
    if kind == "twice":
        a, b = read("y//2", "x//2")[0], read("y//2", "x//2+x%2*2-1")[0]
        return out(f"u8(({a}*3 + {b} + 2) >> 2)" if t == "u8" else f"{a}*0.75 + {b}*0.25", 2), f"twice-{mode}-{t}x{c}-{h}x{w}"
    if kind == "half":
        taps = [read(f"2*y{i}", f"2*x{j}")[0] for i in ("", "+1") for j in ("-1", "", "+1")]
        text = f"({' + '.join(taps)})"
        return out(f"u8({text} // 6)" if t == "u8" else f"{text} * 0.125", 1, 2), f"half-{mode}-{t}x{c}-{h}x{w}"
    value, where = read(f"y+r-{k // 2}", f"x+s-{k // 2}")
    window = f"[r<{k}, s<{k}{where}]"
    if kind == "filter" and t == "f32":
        return out(f"sum{window}({value}*W[r,s])"), f"filter{k}-{mode}-{t}x{c}-{h}x{w}"
    if kind == "max":
        return out(f"u8(max{window}({value}))" if t == "u8" else f"max{window}({value})"), f"max{k}-{mode}-{t}x{c}-{h}x{w}"
    return out(f"u8(sum{window}({value}) // {k * k})" if t == "u8" else f"sum{window}({value}) * {1 / k / k:.4f}"), f"sum{k}-{mode}-{t}x{c}-{h}x{w}"


# ---- images of several sizes, one made of the other ------------------------------------------------------------------


def times(step, index):
    return index if step == 1 else f"{step}*{index}"


class Levels:
    """A chain of stages of H rows and W columns, of one plane or of colours; indices over the edges are limited, or none is."""

    def __init__(self, r, h, w):
        self.r, self.h, self.w, self.c, self.limited = r, h, w, r.choice([1, 1, 3]), r.random() < 0.6
        self.of, self.lines, self.tables = "X", [f"input X: f32[{self.shape(h, w)}]"], {}

    def shape(self, h, w):
        return f"{h},{w}" + (f",{self.c}" if self.c > 1 else "")

    def read(self, y, x):
        if self.limited:
            y, x = f"min(max({y},0),{self.h - 1})", f"min(max({x},0),{self.w - 1})"
        return f"{self.of}[{y},{x}" + (",c]" if self.c > 1 else "]")

    def add(self, text, h, w):
        name = f"S{len(self.lines)}"
        self.lines.append(f"{name}[y<{h}, x<{w}{f', c<{self.c}' if self.c > 1 else ''}] = {text}")
        self.of, self.h, self.w = name, h, w

    def stage(self):
        r, k, step = self.r, self.r.choice([2, 3, 5]), self.r.choice([1, 1, 2])
        kind = r.choice(["rows", "columns", "window", "max", "cross", "point"])
        y, x = times(step, "y"), times(step, "x")
        before = k // 2 if self.limited else 0
        left = 0 if self.limited else k - 1
        w = f"w{k}"
        if kind == "rows":
            self.tables[w] = f"[{k}]"
            text = f"sum[r<{k}]({self.read(f'{y}+r-{before}', 'x')}*{w}[r])"
            self.add(text, (self.h - left) // step, self.w)
        elif kind == "columns":
            self.tables[w] = f"[{k}]"
            text = f"sum[s<{k}]({self.read('y', f'{x}+s-{before}')}*{w}[s])"
            self.add(text, self.h, (self.w - left) // step)
        elif kind in ("window", "max"):
            self.tables[f"W{k}"] = f"[{k},{k}]"
            value = self.read(f"{y}+r-{before}", f"{x}+s-{before}")
            text = f"sum[r<{k}, s<{k}]({value}*W{k}[r,s])" if kind == "window" else f"max[r<{k}, s<{k}]({value})"
            self.add(text, (self.h - left) // step, (self.w - left) // step)
        elif kind == "cross":
            less = 0 if self.limited else 1

            def at(down, along):
                return self.read(f"{y}{down + less:+d}", f"{x}{along + less:+d}")

            text = f"({at(0, 0)} + {at(-1, 0)} + {at(1, 0)} + {at(0, -1)} + {at(0, 1)}) * 0.2"
            self.add(text, (self.h - 2 * less) // step, (self.w - 2 * less) // step)
        else:
            value = f"{self.of}[y,x" + (",c]" if self.c > 1 else "]")
            self.add(f"max({value} * 0.5 + 0.1, 0.0)", self.h, self.w)


def levels(r):
    """One to four stages, each as large as the one before it or half as large; or an image turned by a quarter."""
    h, w = length(r, r.choice(["short", "long", "long"])), length(r, r.choice(["short", "long", "long"]))
    if not 1 << 13 <= h * w <= 1 << 20:
        return levels(r)
    if r.random() < 0.2:
        c, t = r.choice([1, 2, 3, 4]), r.choice(["u8", "u8", "i16", "f32"])
        x, y = r.choice([("x", f"{w - 1}-y"), (f"{h - 1}-x", "y"), (f"{h - 1}-x", f"{w - 1}-y"), ("x", "y")])
        colour, last, extent = (",c", f", c<{c}", f",{c}") if c > 1 else ("", "", "")
        return f"input X: {t}[{h},{w}{extent}]\nY[y<{w}, x<{h}{last}] = X[{x},{y}{colour}]", f"quarter-{t}x{c}-{h}x{w}"
    chain, n = Levels(r, h, w), r.choice([1, 2, 2, 3, 4])
    for _ in range(n):
        chain.stage()
    if min(chain.h, chain.w) < 8:
        return levels(r)
    used = [t for t in chain.tables if any(t + "[" in line for line in chain.lines)]
    head = chain.lines[0] + "".join(f", {t}: f32{chain.tables[t]}" for t in used)
    return "\n".join([head] + chain.lines[1:]), f"levels-{n}{'l' if chain.limited else ''}x{chain.c}-{h}x{w}"


def draw(group, n, seed):
    """(name, group, program) of each of N programs of GROUP: product, pipeline, rows, or turns, windows, edges and levels, which count as
    pipelines."""
    for i in range(n):
        r = random.Random(f"{group}-{seed}-{i}")
        if group == "pipeline":
            yield f"pipeline-{seed}-{i}", group, pipeline(r)
        elif group in ("turns", "windows", "edges", "levels"):
            text, what = {"turns": turns, "windows": windows, "edges": edges, "levels": levels}[group](r)
            yield f"{seed}-{i}-{what}", "pipeline", text
        else:
            text, what = (product if group == "product" else rows)(r)
            yield f"{seed}-{i}-{what}", group, text
