#!/usr/bin/env bash
# Row E15: the table of tasks has the weights that the tuner used: of a program that stands in a network five times, of one
# with a weight of its own; the total is weighed by them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >net.tenon <<'END'
"C[i<48,j<48] = sum[k<48](A[i,k]*B[k,j])" x 5
"B[i<4096] = A[i] * 2" weight 3
END
"$TENON" tune net.tenon --trials 32 --log log.json --profile run.tnprof --json >out.json
"$TENON" profile analyse run.tnprof '{"type": "task"}' >tasks.json
"$TENON" profile tasks run.tnprof >table
python3 - <<'END'
import json, re
answer = json.load(open("tasks.json"))
rows = [dict(zip(answer["col_name"], row)) for row in answer["object"]]
assert sorted(r["weight"] for r in rows) == [3, 5], rows
for r in (r for r in rows if r["best_s"]):
    assert abs(r["weighted_s"] - r["weight"] * r["best_s"]) < 1e-12, r
total = sum(r["weighted_s"] or 0 for r in rows) * 1e6
assert total > 0
table = open("table").read()
said = float(re.search(r"Total latency \(us\): ([\d.]+)", table)[1])
assert abs(said - total) < 0.01 * total, (said, total)
END
