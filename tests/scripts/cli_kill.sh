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
lines = [json.loads(line) for line in text.splitlines()]
steps = collections.Counter(json.dumps(o["steps"]) for o in lines if "steps" in o and not o.get("final"))
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

# Ctrl-C and SIGTERM: the summary within a second, the status that a shell expects, no process left.
for number in 2 15; do
  (
    # A shell lets its background jobs ignore SIGINT.
    exec python3 - "$TENON" tune "$matmul" --log t.json --trials 5000 >stopped 2>&1 <<'PYTHON'
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
  ) &
  pid=$!
  before=$(wc -l <t.json)
  for _ in $(seq 200); do
    [ "$(wc -l <t.json)" -lt $((before + 8)) ] || break
    sleep 0.1
  done
  workers=$(children "$pid")
  start=$(date +%s%N)
  kill -$number "$pid"
  got=0
  wait "$pid" || got=$?
  took=$((($(date +%s%N) - start) / 1000000))
  [ "$got" -eq $((128 + number)) ] || complain "signal $number ends with status $got: $(cat stopped)"
  [ "$took" -lt 2000 ] || complain "signal $number: it took $took ms to stop"
  grep -q '^best ' stopped || complain "signal $number: no summary: $(cat stopped)"
  grep -q "^go on with: tenon tune 'C.*' --log t.json --trials 5000" stopped || complain "no way to go on: $(cat stopped)"
  tail -1 t.json | grep -q '"reason":"stopped"' || complain "the log's end: $(tail -1 t.json)"
  for worker in $workers; do
    if grep -q '^State:[[:space:]]*[^ZX]' "/proc/$worker/status" 2>/dev/null; then complain "worker $worker is left"; fi
  done
  check_log
done

held=$(grep -c '"steps"' t.json)
run tune "$matmul" --log t.json --trials $((held + 5)) --json
[ "$got" -eq 0 ] || complain "going on ended with status $got: $(cat err)"
[ "$(json out 'o["trials"], o["reused"]')" = "(5, $held)" ] || complain "going on from $held: $(cat out)"
check_log
exit $status
