#!/usr/bin/env bash
# Row B12: SIGKILL in the middle of a tuning run; what is on disk becomes a valid trace of the tuner and its workers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$TENON" tune 'C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])' --trials 5000 --jobs 2 --log k.log --profile k.json \
  >/dev/null 2>&1 &
tuner=$!
for _ in $(seq 600); do # until the third round is over: 24 candidates each
  [ "$(cat k.log 2>/dev/null | wc -l)" -ge 80 ] && break
  sleep 0.1
done
kill -9 $tuner
wait $tuner 2>/dev/null || true
lines=$(grep -c '"program"' k.log) # the run's first line is no record
"$TENON" profile convert k.json.buffers k2.json
python3 - "$lines" <<'PY'
import json, sys
trace = json.load(open("k2.json"))
names = [e["name"] for e in trace["traceEvents"]]
assert "Round#0" in names and "Round#1" in names and "Round#2" in names
# The log is written as soon as a candidate is measured; its event ends just after that.
assert names.count("MeasureCallback/AddToDatabase") >= int(sys.argv[1]) - 1, (names.count("SendToRunner"), sys.argv[1])
assert names.count("measure") >= int(sys.argv[1]) - 2 # the workers' part
killed = [p for p in trace["otherData"]["processes"] if p["was_killed"]]
assert any(p["name"] == "tuner" for p in killed)
PY
