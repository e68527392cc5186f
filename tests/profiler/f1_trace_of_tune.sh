#!/usr/bin/env bash
# Rows F1, F3, F4 on a real tuning run: its trace passes JSONCHK in every form it is converted to, and holds the flows of
# its candidates.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
checks=$TENON_SOURCE/tests/profiler
"$TENON" tune 'C[i<64,j<64] = sum[k<64](A[i,k]*B[k,j])' --trials 16 --log log.json --profile run.trace.json --json >out.json
python3 "$checks/jsonchk.py" run.trace.json >counts
cat counts
grep -Eq 's=([1-9][0-9]*) t=[1-9][0-9]* f=\1 processes=([2-9]|1[0-9]) ' counts
grep -q ' lanes=' counts

for form in tnprof xplane.pb trace.json.gz tnprof; do
  "$TENON" profile convert run.trace.json "again.$form"
  "$TENON" profile convert "again.$form" "back.json"
  python3 "$checks/jsonchk.py" back.json | diff - counts
done
python3 "$checks/pbchk.py" again.xplane.pb >planes.json
has() { # a text, the command that prints it
  local text=$1
  shift
  "$@" >printed
  grep -q -- "$text" printed || { echo "'$text' is not in:"; cat printed; exit 1; }
}
has '^    | *Total |' "$TENON" profile table again.tnprof
has 'Ratio' "$TENON" profile report again.tnprof --sort total
has 'Self CPU time total' "$TENON" profile averages again.tnprof -n 3
"$TENON" profile averages again.tnprof --json | python3 -m json.tool >rows.json
"$TENON" profile compare again.tnprof run.trace.json >/dev/null

# Three copies of one run: three times everything, under three names.
"$TENON" profile merge all.json a=run.trace.json b=again.tnprof c=again.xplane.pb
python3 "$checks/jsonchk.py" all.json >all
python3 - counts all <<'PYTHON'
import sys
one, all = (dict(word.split("=") for word in open(path).read().split()) for path in sys.argv[1:])
assert all == {key: str(3 * int(value)) for key, value in one.items()}, (one, all)
PYTHON

refuse() { # what must be said, the command
  local said=$1 status=0
  shift
  "$@" >refused 2>&1 || status=$?
  [ "$status" -eq 1 ] || [ "$status" -eq 2 ] || { echo "status $status: $*"; exit 1; }
  grep -qF -- "$said" refused || { echo "'$said' is not in:"; cat refused; exit 1; }
}
refuse "it has no traceEvents" "$TENON" profile table log.json
refuse "it must end in one of" "$TENON" profile convert again.tnprof somewhere
refuse "nowhere.tnprof cannot be read" "$TENON" profile table nowhere.tnprof
refuse "there is no view 'tables'" "$TENON" profile tables again.tnprof
refuse "convert: an operand is missing" "$TENON" profile convert again.tnprof
refuse "is one operand too many" "$TENON" profile table again.tnprof again.tnprof
