#!/usr/bin/env bash
# Row F6 on the command: `tenon profile serve` says where it is, answers, and ends when it is interrupted.
set -euo pipefail
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
"$TENON" tune 'C[i<32,j<32] = sum[k<32](A[i,k]*B[k,j])' --trials 4 --log log.json --profile run.tnprof --json >out.json
cat >rules.json <<'END'
[{"id": "builds", "query": {"type": "op_type", "filter_condition": {"name": {"in": ["build"]}}}, "column": "calls", "above": 0,
  "sentence": "{name} was called {calls} times"}]
END
"$TENON" profile serve run.tnprof --rules rules.json >said &
server=$!
for _ in $(seq 100); do grep -q http said && break; sleep 0.1; done
query='{"type": "types"}'
"$TENON" profile analyse run.tnprof "$query" >answer
"$TENON" profile advise run.tnprof --rules rules.json --json >advice
python3 - "$(sed -E 's#.*127.0.0.1:([0-9]+)/.*#\1#' said)" "$query" <<'PYTHON'
import json, sys, urllib.request
base, query = f"http://127.0.0.1:{sys.argv[1]}", sys.argv[2]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
open("timeline.json", "wb").write(opener.open(base + "/timeline").read())
assert b"</html>" in opener.open(base + "/").read()
got = json.load(opener.open(base + "/ops/search", data=query.encode()))
assert got == json.load(open("answer")), got
advice = json.load(opener.open(base + "/advise"))
assert advice == json.load(opener.open(base + "/summary/propose")) == json.load(open("advice")), advice
assert any(a["rule"] == "builds" and a["text"].startswith("build was called") for a in advice["advice"]), advice
assert b"build was called" in opener.open(base + "/").read()
PYTHON
python3 "$TENON_SOURCE/tests/profiler/jsonchk.py" timeline.json
kill -INT "$server"
wait "$server"
