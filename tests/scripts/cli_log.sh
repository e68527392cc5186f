#!/usr/bin/env bash
# log: every word of it on a small log, and what it refuses.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'

run tune "$product" --log a.json --trials 12 --seed 1
[ "$got" -eq 0 ] || { cat out err; exit 1; }
run tune 'B[i<64] = sum[k<128](A[i,k])' --log b.json --trials 6
[ "$got" -eq 0 ] || { cat out err; exit 1; }

shows 'records   12, of 1 programs and 1 targets' log stats a.json
shows 'line,key,seconds,gflops,error,checked,time,target,program' log list a.json --csv
run log list a.json --sort line -n 3 --json
is_json out
[ "$(json out '[r["line"] for r in o["rows"]] == sorted(r["line"] for r in o["rows"]) and len(o["rows"])')" = 3 ] ||
  complain "list by line: $(cat out)"
line=$(json out 'o["rows"][0]["line"]')
shows 'schedule' log show a.json "$line"
run log show a.json "$line" --json
is_json out
[ "$(json out 'o["v"]')" = 1 ] || complain "show --json is no record"

shows 'all.json: ' log merge a.json b.json -o all.json
run log best all.json --json
[ "$(json out 'o["programs"]')" = 2 ] || complain "the merged log has $(json out 'o["programs"]') programs"
shows '0 records that are wrong' log check all.json
shows 'keep.json: ' log compact all.json -n 2 -o keep.json
for log in all keep; do
  run log best $log.json --json
  json out '[(r["key"], r["seconds"], r["steps"]) for r in o["rows"]]' >$log.best
done
cmp -s all.best keep.best || complain "compacting changed the best records"
[ "$(wc -l <keep.json)" -lt "$(wc -l <all.json)" ] || complain "compacting left nothing out"
shows 'part.json: ' log export all.json "$product" -o part.json
run log stats part.json --json
[ "$(json out 'o["programs"], o["records"]')" = '(1, 12)' ] || complain "export took $(cat out)"
shows 'part.json: ' log import part.json b.json
run log stats part.json --json
[ "$(json out 'o["programs"], o["records"]')" = '(2, 18)' ] || complain "import: $(cat out)"
shows 'ratio' log check a.json --remeasure

echo '{"v":1,"key":"torn' >>all.json
run log check all.json
[ "$got" -eq 1 ] || complain "check of a torn log ended with $got"
grep -q "all.json:$(wc -l <all.json): " err || complain "the torn line is not named: $(cat err)"

# A record of TVM's, measured here.
printf '%s\n' '{"i": [["k", "llvm -mcpu=haswell", [2, 64, 64, 0, 0, 0, 0, 0], "", 1, []], [[], [["AN", 2, 0, 3]]]], "r": [[0.001], 0, 0.1, 1700000000], "v": "v0.6"}' >tvm.json
shows 'line 1: 1.00 ms there' log import imported.json tvm.json --from tvm --program "$product" --remeasure
run log best imported.json --json
[ "$(json out 'len(o["rows"]), o["rows"][0]["checked"]')" = '(1, True)' ] || complain "the imported record was not measured: $(cat out)"
shows 'again.json: 2 records, 0 are refused' log export imported.json -o again.json --to tvm
head -1 again.json | cmp -s - tvm.json || complain "a record of TVM's did not come back as it was: $(cat again.json)"
refuses 2 'is for export, and takes tvm' log export imported.json -o again.json --to halide
refuses 2 'is for export, and takes tvm' log merge imported.json -o again.json --to tvm
refuses 2 'is for export --to tvm' log export imported.json -o again.json --workload '["k"]'
refuses 1 'no workload key of auto_scheduler' log export imported.json -o again.json --to tvm --workload k
refuses 1 'no record of it fits the program' log import imported.json tvm.json --from tvm --program 'C = 1'
refuses 2 'belong together' log import imported.json tvm.json --from tvm
refuses 2 'takes tvm' log import imported.json tvm.json --from halide --program "$product"

refuses 2 "did you mean 'list'" log lst a.json
refuses 2 'which file? merge LOG... -o OUT' log merge a.json b.json
refuses 2 'which file? export LOG -o OUT' log export a.json
refuses 2 'takes the number of a line' log show a.json first
refuses 1 'is no record' log show a.json 100000
refuses 1 'is no record' log show a.json 1
refuses 2 '--sort is cost, line, time or program' log list a.json --sort size
refuses 2 '--sort is for list' log top a.json --sort line
refuses 2 '--error is for list' log best a.json --error any
refuses 1 "no class of failure 'slow'" log list a.json --error slow
refuses 2 'a day such as' log list a.json --since yesterday
refuses 2 '--csv is for' log stats a.json --csv
refuses 2 '--remeasure is for check' log stats a.json --remeasure
refuses 2 'show takes 2 to 2 operands' log show a.json
refuses 1 'cannot open log' log merge none.json -o out.json
[ ! -e out.json ] && ! ls out.json.part* 2>/dev/null || complain "a failed merge left a file"
refuses 1 'cannot open log' log compact none.json
exit "$status"
