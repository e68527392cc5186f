#!/usr/bin/env bash
# tests/farm/runner.sh TENON SOURCE [TRIALS]: tenon-runner for each kind of machine: what its file is, TRIALS (10) candidates under
# qemu-user, all of them right; then lines that lose and change bytes, and strangers at the other end. Ends with status 77 where
# nothing could be run.
set -euo pipefail
tenon=$(readlink -f "$1") source=$(readlink -f "$2") trials=${3:-10}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
program='C[i<13, j<24] = sum[k<40](A[i, k] * B[k, j])'
say() { echo "runner.sh: $*" >&2; }
fail() { say "$*"; exit 1; }
has() { command -v "$1" > /dev/null; }
has ld.lld || has aarch64-linux-gnu-ld || { say "skipped: there is neither lld nor a cross binutils"; exit 77; }

build() { # NAME [TOOLCHAIN]
  cmake -S "$source/runner" -B "$1" ${2:+-DCMAKE_TOOLCHAIN_FILE=$2} > "$1.log" 2>&1 && cmake --build "$1" >> "$1.log" 2>&1 ||
    { cat "$1.log" >&2; fail "tenon-runner for $1 cannot be built"; }
  if grep -i warning "$1.log"; then fail "warnings"; fi
}

# Static, no interpreter, nothing needed, no undefined symbol, no segment that is both written and executed; under 150 kB.
inspect() {
  local size
  size=$(stat -c %s "$1/tenon-runner")
  [ "$size" -lt 150000 ] || fail "$1: $size bytes"
  if readelf -lW "$1/tenon-runner" | grep -E 'INTERP|DYNAMIC|RWE'; then fail "$1: not static, or code can be written"; fi
  if readelf -dW "$1/tenon-runner" | grep NEEDED; then fail "$1 needs libraries"; fi
  if readelf -sW "$1/tenon-runner" | grep -w UND | grep -vE '^ +0:'; then fail "$1 has undefined symbols"; fi
  say "$1: $size bytes"
}

# TARGET LOG COMMAND: all that were measured are right.
tune() {
  "$tenon" tune "$program" --log "$2" --trials "$trials" --target "$1" --runner "$3" --json --model none > out.json 2> err ||
    { cat err >&2; fail "$3: tune ended with status $?"; }
  python3 - "$2" "$trials" out.json <<'P'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
measured = [r for r in records if "costs" in r and "event" not in r]
late = [r for r in measured if r["error"] == "build_timeout"]  # this machine was busy: they never came to the device
measured = [r for r in measured if r not in late]
assert len(measured) >= int(sys.argv[2]) and len(late) <= len(measured) // 20, (len(measured), len(late))
wrong = [r for r in measured if r["error"] != "none" or not r["checked"] or r["costs"][0] <= 0]
assert not wrong, wrong[0]
out = json.load(open(sys.argv[3]))
assert out["failed"] == sum(n for word, n in out["failures"].items() if word == "build_timeout"), out
assert out["trials"] >= int(sys.argv[2]), out
assert out["seconds"] > 0
P
}

# A device knows one function: constants are packed in each call there.
constants() { # TARGET COMMAND
  local program='input X: f32[8, 9], W: f32[9] layout_free; V[j<9] = exp(W[j]); Y[i<8, j<9] = X[i,j] * V[j]' trials=2
  tune "$1" constants.json "$2"
  if grep -q '"part"' constants.json; then fail "a device's record says that constants were packed before"; fi
  rm constants.json
}

n_run=0
while read -r name compiler qemu target; do
  if ! has "$compiler" || ! has "$qemu"; then say "$name: skipped, $compiler or $qemu is not installed"; continue; fi
  build "$name" "toolchains/$name.cmake"
  inspect "$name"
  tune "$target" "$name.json" "$qemu $here/$name/tenon-runner"
  n_run=$((n_run + 1))
  constants "$target" "$qemu $here/$name/tenon-runner"
done <<'LIST'
aarch64 aarch64-linux-gnu-gcc qemu-aarch64 triple=aarch64-linux-gnu
armv7 arm-linux-gnueabihf-gcc qemu-arm triple=armv7-linux-gnueabihf features=+neon
riscv64 riscv64-linux-gnu-gcc qemu-riscv64 triple=riscv64-linux-gnu
LIST
[ "$n_run" -gt 0 ] || exit 77

# The same on this machine, where a test can be quick.
case $(uname -m) in x86_64 | aarch64) ;; *) exit 0 ;; esac
build here
inspect here
own="threads=1"
# What runner/math.c has, against the C library of this machine, which makes the reference.
for f in 'exp(@)' 'log(abs(@) + 0.01)' 'tanh(@)' 'erf(@)' 'sin(@ * 9)' 'cos(@ * 9)' 'pow(abs(@), 1.7)' 'log1p(abs(@))' 'sinh(@)' 'floor(@ * 9)' \
  'round(@ * 9)' 'exp2(@)' 'log2(abs(@) + 0.01)' 'log10(abs(@) + 0.01)' 'fmod(@ * 99, 0.7)'; do
  rm -f math.json
  "$tenon" tune "C[i<509] = ${f//@/A[i]}" --log math.json --trials 2 --target "$own" --runner "$here/here/tenon-runner" --json --model none > out.json 2> err ||
    { cat err >&2; fail "$f: is not what the C library says"; }
done
tune "$own" here.json "$here/here/tenon-runner"

# One fault on the line: it costs the candidate under way, named, and no other.
while read -r fault words; do
  rm -rf once
  cat > line <<LINE
#!/bin/sh
if mkdir "$here/once" 2> /dev/null; then exec "$here/here/tenon-runner" --inject=$fault; fi
exec "$here/here/tenon-runner"
LINE
  chmod +x line
  "$tenon" tune "$program" --log "$fault.json" --trials 12 --target "$own" --runner "$here/line" --json --model none > out.json 2> err ||
    { cat err >&2; fail "$fault: tune ended with status $?"; }
  python3 -c 'import json, sys; o = json.load(open("out.json")); assert o["failed"] - o["failures"].get("build_timeout", 0) == 1 and o["seconds"] > 0, o' || fail "$fault: not one candidate failed"
  grep -q "$words" "$fault.json" || { grep -o '"message":"[^"]*"' "$fault.json" >&2; fail "$fault: nothing says: $words"; }
done <<'LIST'
garbage@8 says what is no frame
torn@8 has ended in the middle of an answer
checksum@8 answers with a wrong checksum
version@8 speaks version 2 of the protocol, not 1
LIST

# Who never is a runner: the run ends, and says what it met.
while read -r words command; do
  words=${words//_/ }
  if "$tenon" tune "$program" --log stranger.json --trials 3 --target "$own" --runner "$command" > out 2> err; then fail "$command: tuned"; fi
  grep -q "$words" out err || { cat out err >&2; fail "$command: nothing says: $words"; }
  rm -f stranger.json
done <<'LIST'
says_what_is_no_frame echo a login message of some length
has_ended /bin/true
has_ended /no/such/runner
LIST

# A runner of another machine is refused by name.
if [ -x "$here/aarch64/tenon-runner" ] && [ "$(uname -m)" = x86_64 ]; then
  if "$tenon" tune "$program" --log other.json --trials 3 --target "$own" --runner "qemu-aarch64 $here/aarch64/tenon-runner" > out 2> err; then
    fail "the runner of another machine was taken"
  fi
  grep -q 'is "tenon-runner .* aarch64", and the target needs "tenon-runner .* x86_64"' out err || { cat out err >&2; fail "no name"; }
fi
if "$tenon" tune "$program" --log x.json --runner r --worker w 2> err; then fail "--runner and --worker"; fi
grep -q -- '--runner is a device' err || fail "nothing says that --runner and --worker exclude each other"
say "all is well"
