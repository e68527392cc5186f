#!/usr/bin/env bash
# Every `$ tenon ...` that the pages show prints what stands below it; a line `...` there is any lines. With
# TENON_UPDATE_GOLDEN=1 the pages are rewritten.
set -euo pipefail
python3 - "$TENON_SOURCE" "$TENON" <<'PYTHON'
import difflib, fnmatch, glob, os, shlex, subprocess, sys, tempfile

source, tenon = sys.argv[1:]
update = os.environ.get("TENON_UPDATE_GOLDEN") == "1"
work = tempfile.mkdtemp()
os.mkdir(work + "/bin")
os.symlink(tenon, work + "/bin/tenon")
environment = dict(os.environ, PATH=work + "/bin:" + os.environ["PATH"])


def run(command):
    return subprocess.run(["bash", "-c", command], env=environment, cwd=work, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.splitlines()


def agrees(shown, got):
    """Whether lines agree; `...` stands for any."""
    if not shown:
        return not got
    if shown[0] == "...":
        return any(agrees(shown[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and shown[0] == got[0] and agrees(shown[1:], got[1:])


def complete(text):
    try:
        shlex.split(text)
        return True
    except ValueError:
        return False


def commands(block):
    """Pairs of a command's lines and the lines shown below it."""
    found, i = [], 0
    while i < len(block):
        if not block[i].startswith("$ "):
            return found
        first = i
        while not complete("\n".join(block[first:i + 1])[2:]):
            i += 1
        i += 1
        end = i
        while end < len(block) and not block[end].startswith("$ "):
            end += 1
        found.append((block[first:i], block[i:end]))
        i = end
    return found


def check(path):
    lines, out, wrong, n, i = open(path).read().split("\n"), [], 0, 0, 0
    while i < len(lines):
        out.append(lines[i])
        i += 1
        if not out[-1].startswith("```") or not lines[i].startswith(("$ tenon", "$ echo")):
            continue
        end = lines.index("```", i)
        for command, shown in commands(lines[i:end]):
            n += 1
            got = run("\n".join(command)[2:])
            ok = agrees(shown, got)
            out += command + (shown if ok else got)
            if not ok and not update:
                wrong += 1
                print("\n".join([path + ":"] + command + list(difflib.unified_diff(shown, got, "shown", "printed", lineterm=""))))
        i = end
    if update and out != lines:
        open(path, "w").write("\n".join(out))
    return wrong, n


results = [check(p) for p in [source + "/README.md"] + sorted(glob.glob(source + "/docs/*.md"))]
wrong, n = sum(r[0] for r in results), sum(r[1] for r in results)
print(f"{n} commands, {wrong} print something else")
sys.exit(wrong > 0 or n < 30)
PYTHON
