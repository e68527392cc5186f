#!/usr/bin/env bash
# Row D1: the example plug-in is built against the installed public header only, loaded by path, and its plane is in the
# output; where the machine lets nobody count, it is silent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p include/tenon
cmake --install "$TENON_BUILD" --prefix "$folder/prefix" >/dev/null
cp prefix/include/tenon/profiler_plugin.h include/tenon/ # alone: it must need no other
cp "$TENON_SOURCE/examples/profiler_plugin/perf_plugin.c" .
cc -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -Iinclude -fPIC -shared perf_plugin.c -o libperf_plugin.so

run() { # FILE [PLUGIN]
  "$TENON" tune 'C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])' --trials 3 --log t.log --profile "$1" \
    ${2:+--profile-plugin "$2"} >/dev/null 2>err
  rm -f t.log
}

run a.json ./libperf_plugin.so
! grep -i warning err || exit 1
python3 - <<'PY'
import json
trace = json.load(open("a.json"))
found = [e for e in trace["traceEvents"] if e["name"] == "perf_event"]
if not found:
    assert "plug-in" not in str(trace["otherData"].get("errors")), trace["otherData"]
    print("this machine gives no counters")
else:
    args = found[0]["args"]
    assert int(args["task_clock_ns"]) > 1000000 and int(args["page_faults"]) > 0 and "context_switches" in args, args
    tuner = [e for e in trace["traceEvents"] if e["name"] == "SendToRunner"]
    assert found[0]["ts"] <= tuner[0]["ts"] and tuner[-1]["ts"] <= found[0]["ts"] + found[0]["dur"]
PY
run a.xplane.pb ./libperf_plugin.so
python3 - <<'PY'
data = open("a.xplane.pb", "rb").read()
assert b"/host:CPU" in data and (b"/device:CUSTOM:PERF" in data or b"perf_event" not in data)
PY
run b.json ./nowhere.so
grep -q 'nowhere.so' err # told, and the run is recorded all the same
[ -s b.json ]
