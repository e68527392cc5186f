#!/usr/bin/env bash
# tests/farm/cortex_m.sh EXAMPLE SOURCE [TRIALS [MOST]]: examples/cortex_m: three kernels tuned for a Cortex-M4 in an emulator, and for
# riscv32; TRIALS (30) each. Tuned ones take at most MOST (0.6) of the plain loops' instructions; the same seed gives the same log. Ends
# with status 77 where neither board's compiler and emulator are there.
set -euo pipefail
example=$(readlink -f "$1") trials=${3:-30} most=${4:-0.6}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$2/examples/cortex_m"
say() { echo "cortex_m.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

# BOARD PROGRAM LOG: "best 0.43 of the plain loops" is under the limit, and no candidate failed.
tune() {
  "$example" "$1" "$2" "$3" "$trials" 1 > "$here/out" || fail "$1 $2: status $?"
  cat "$here/out" >&2
  python3 - "$here/out" "$most" <<'P'
import re, sys
found = re.search(r"tuned \d+: ([\d.]+) of the plain loops; \d+ trials, 0 failed", open(sys.argv[1]).read())
sys.exit(not found or float(found[1]) > float(sys.argv[2]))
P
}

# A log without what is the time of day or the duration of a step.
without_times() {
  python3 - "$1" <<'P'
import json, sys
for line in open(sys.argv[1]):
    record = json.loads(line)
    for name in ("time", "run", "build_s", "run_s", "phases", "elapsed_s", "load", "seconds", "default_s"):
        record.pop(name, None)
    print(json.dumps(record))
P
}

# BOARD COMPILER EMULATOR: false where it cannot be tried.
try() {
  local program size
  for program in "$2" "$3"; do
    command -v "$program" > /dev/null || { say "$1: skipped, $program is not installed"; return 1; }
  done
  for program in conv depthwise dense; do
    tune "$1" $program "$here/$1-$program.json" || fail "$1 $program: more than $most of the plain loops, or candidates failed"
  done
  tune "$1" depthwise "$here/again-$1.json" || fail "$1 depthwise the second time"
  without_times "$here/$1-depthwise.json" > "$here/a"
  without_times "$here/again-$1.json" > "$here/b"
  cmp "$here/a" "$here/b" >&2 || fail "$1: two runs of one seed have two logs"
}

# The start-up is small.
startup() { # COMPILER FLAGS... -- SIZE FOLDER
  local folder=$1 size=$2 most_bytes=2048
  shift 2
  "$@" -O2 -I. -c "$folder/start.c" -o "$here/start.o"
  size=$("$size" -A "$here/start.o" | awk '$1 ~ /text|data|rodata|vectors|start/ { sum += $2 } END { print sum }')
  [ "$size" -gt 0 ] && [ "$size" -le $most_bytes ] || fail "$folder: a start-up of $size bytes"
  say "$folder: a start-up of $size bytes"
}

n_tried=0
if try cortex_m4 arm-none-eabi-gcc qemu-system-arm; then
  n_tried=$((n_tried + 1))
  startup cortex_m4 arm-none-eabi-size arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb
fi
if try riscv32 riscv64-unknown-elf-gcc qemu-system-riscv32; then
  n_tried=$((n_tried + 1))
  startup riscv32 riscv64-unknown-elf-size riscv64-unknown-elf-gcc -march=rv32imac_zicsr -mabi=ilp32 -ffreestanding
fi
[ $n_tried -gt 0 ] || exit 77
if "$example" pdp11 conv "$here/x.json" 1 2> "$here/err"; then fail "there is a pdp11"; fi
grep -q 'there is no board pdp11: cortex_m4, cortex_m7 or riscv32' "$here/err" || fail "no words for a board that there is not"
say "all is well"
