#!/usr/bin/env bash
# Row B6: the environment variable alone, and the option alone, give the trace of a tuning run; a bad value is told with
# what is accepted, and the run goes on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
matmul='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'

is_trace() {
  python3 - "$1" <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = [e["name"] for e in events]
pids = {e["pid"] for e in events if e["name"] == "build"}
assert names.count("measure") >= 6 and names.count("Round#0") == 1, names
assert pids and all(e["pid"] not in pids for e in events if e["name"] == "Round#0")
PY
}

TENON_PROFILE=a.json "$TENON" tune "$matmul" --trials 8 --jobs 2 --log a.log >/dev/null 2>a.err
is_trace a.json
"$TENON" tune "$matmul" --trials 8 --jobs 2 --log b.log --profile b.json:level=3 >/dev/null 2>b.err
is_trace b.json
if ls ./*.buffers* 2>/dev/null; then echo "buffers are left"; exit 1; fi

TENON_PROFILE=c.json:level=nine "$TENON" tune "$matmul" --trials 2 --log c.log >c.out 2>c.err
grep -q 'level takes 0 to 7' c.err || { cat c.err; exit 1; }
grep -q '^best' c.out
[ ! -e c.json ]
TENON_PROFILE=c.txt "$TENON" tune "$matmul" --trials 3 --log c.log >c.out 2>c.err
grep -q '\.xplane\.pb' c.err || { cat c.err; exit 1; }
grep -q '^best' c.out
