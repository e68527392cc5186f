#!/usr/bin/env bash
# A tuning run that is killed leaves whole lines and no process, and goes on from its log when started again.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
matmul='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'
: >t.json

children() {
  for stat in /proc/[0-9]*/stat; do
    awk -v parent="$1" '$4 == parent {print $1}' "$stat" 2>/dev/null || true
  done
}

check_log() {
  python3 - t.json <<'PYTHON' || complain "the log is not as it should be"
import collections, json, sys
text = open(sys.argv[1]).read()
assert text.endswith("\n"), "the last line is not whole"
steps = collections.Counter(json.dumps(json.loads(line)["steps"]) for line in text.splitlines())
twice = [s for s, n in steps.items() if n > 1]
assert not twice, f"measured twice: {twice}"
PYTHON
}

for round in 1 2; do
  before=$(wc -l <t.json)
  "$TENON" tune "$matmul" --log t.json --trials 5000 >/dev/null 2>&1 &
  pid=$!
  for _ in $(seq 200); do
    [ "$(wc -l <t.json)" -lt $((before + 8)) ] || break
    sleep 0.1
  done
  [ "$(wc -l <t.json)" -gt "$before" ] || complain "round $round: nothing was measured in 20 s"
  workers=$(children "$pid")
  [ -n "$workers" ] || complain "no worker was running"
  kill -9 "$pid"
  wait "$pid" 2>/dev/null || true
  for _ in $(seq 50); do
    left=""
    for worker in $workers; do
      if grep -q '^State:[[:space:]]*[^ZX]' "/proc/$worker/status" 2>/dev/null; then left="$left $worker"; fi
    done
    [ -n "$left" ] || break
    sleep 0.1
  done
  [ -z "$left" ] || complain "workers outlive the run:$left"
  check_log
done

held=$(wc -l <t.json)
run tune "$matmul" --log t.json --trials $((held + 5)) --json
[ "$got" -eq 0 ] || complain "going on ended with status $got: $(cat err)"
[ "$(json out 'o["trials"], o["reused"]')" = "(5, $held)" ] || complain "going on from $held: $(cat out)"
check_log
exit $status
