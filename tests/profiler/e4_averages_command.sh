#!/usr/bin/env bash
# Row E4 on the command: averages by shapes, by thread, by call stack, and of what is outermost; PyTorch's sort keys.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TENON" tune 'C[i<32,j<32] = sum[k<32](A[i,k]*B[k,j])' --trials 4 --log log.json --profile run.tnprof --json >out.json
averages() { "$TENON" profile averages run.tnprof -n 1000 "$@"; }
rows() { averages "$@" | grep -cE '^[^ -]'; }
plain=$(rows)
[ "$(rows --by thread)" -ge "$plain" ] || { echo "fewer rows by thread"; exit 1; }
[ "$(rows --by thread,process --stack 2)" -gt "$plain" ] || { echo "no more rows by stack"; exit 1; }
[ "$(rows --top-level)" -lt "$plain" ] || { echo "no fewer rows at the top"; exit 1; }
averages --by shapes | grep -q 'f32\[32,32\] f32\[32,32\]' || { echo "no shapes"; exit 1; }
averages --sort cuda_time_total >/dev/null
if averages --by colour 2>err; then echo "--by colour was taken"; exit 1; fi
grep -q "give shapes, thread or process" err || { cat err; exit 1; }
# what records nothing says so
TENON_PROFILE=p.json "$TENON" show 'C[i<8] = A[i]' 2>err >/dev/null
grep -q 'TENON_PROFILE is for `tenon tune`: `tenon show` records nothing' err || { cat err; exit 1; }
[ ! -e p.json ]
