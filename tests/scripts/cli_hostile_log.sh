#!/usr/bin/env bash
# A log from someone else: no object comes out of it, replay is bounded, and nothing that a terminal would obey is printed.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
matmul='C[i<16, j<16] = sum[k<16](A[i,k] * B[k,j])'
run tune "$matmul" --log good.json --trials 3
[ "$got" -eq 0 ] || complain "tune ended with status $got: $(cat err)"

# rewrite TO PYTHON: the log with each record r changed.
rewrite() {
  python3 - "$1" "$2" <<'PYTHON'
import json, sys
with open(sys.argv[1], "w") as out:
    for line in open("good.json"):
        r = json.loads(line)
        if "event" in r:  # that a run began or ended
            continue
        exec(sys.argv[2])
        out.write(json.dumps(r) + "\n")
PYTHON
}

# has_no_escapes ARGUMENTS...: neither output nor messages hold one.
has_no_escapes() {
  run "$@"
  if LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out err; then
    complain "tenon $*: a terminal would obey this: $(cat -v out err | head -5)"
  fi
}

# Objects: the same code, whatever a record offers.
rewrite object.json 'r["object"] = "f0VMRgIBAQ=="; r["link"] = "/bin/sh"'
for log in good object; do
  run build "$matmul" --log "$log.json" -o "$log.o" --name kernel
  [ "$got" -eq 0 ] || complain "build from $log.json ended with status $got: $(cat err)"
done
cmp good.o object.o || complain "a record's object changed what is built"

# Escapes, in what is printed of a record and in messages about one.
rewrite escapes.json 'r["key"] = "\x1b]0;title\x07"; r["program"] += " # \x1b[2J\x9b31m"; r["target"] += "\x1b[2J"'
has_no_escapes log best escapes.json
has_no_escapes log top escapes.json --json
rewrite words.json 'r["error"] = "\x1b[2Jnone"'
has_no_escapes log best words.json
has_no_escapes show "$matmul" --log words.json
rewrite steps.json 'r["steps"] = [["\x1b[2J", 0]]'
has_no_escapes show "$matmul" --log steps.json
grep -q 'steps' err || complain "a refused step is not named: $(cat err)"

# Replay: many steps, deep lists, far numbers: an answer within ten seconds of processor time and 2 GiB. The address sanitizer
# reserves more than that.
memory=(-v 4194304)
[ -z "${TENON_SANITIZE:-}" ] || memory=()
for steps in '[["SP", 2, 0, 16, [1], 1]] * 200000' '[["AN", 2, 0, 3]] * 200000' 'json.loads("[" * 900 + "]" * 900)' \
  '[["SP", 2, 0, 16, [2**62, 2**62], 1]]' '[["PR", 2**31, 0, "auto_unroll_max_step$" + "9" * 100000]]'; do
  rewrite hostile.json "r['steps'] = $steps"
  got=0
  (ulimit -t 20 "${memory[@]}" && "$TENON" show "$matmul" --log hostile.json >out 2>err </dev/null) || got=$?
  [ "$got" -eq 1 ] && [ -s err ] || complain "steps $steps: status $got: $(head -c 300 err)"
  has_no_escapes log best hostile.json
done
exit $status
