#!/usr/bin/env bash
# Row F5: the viewers that are installed here load the trace of a tuning run and find in it what we wrote. Skipped where
# there is none; JSONCHK and PBCHK, which share no code with the writers, read the same files in the other rows.
set -euo pipefail
if ! command -v trace_processor_shell tracy-import-chrome >/dev/null; then
  echo "skipped: neither Perfetto's trace_processor_shell nor tracy-import-chrome is installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TENON" tune 'C[i<64,j<64] = sum[k<64](A[i,k]*B[k,j])' --trials 64 --log log.json --profile run.trace.json --json >out.json
written=$(python3 -c 'import json
print(sum(e["ph"] in "Xb" for e in json.load(open("run.trace.json"))["traceEvents"]))')

if command -v trace_processor_shell >/dev/null; then
  echo 'select count(*) as n from slice;' >slices.sql
  echo "select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0;" >errors.sql
  [ "$(trace_processor_shell -q slices.sql run.trace.json 2>/dev/null | tail -1)" = "$written" ]
  [ "$(trace_processor_shell -q errors.sql run.trace.json 2>/dev/null | tail -1)" = 0 ]
fi
if command -v tracy-import-chrome >/dev/null; then
  tracy-import-chrome run.trace.json run.tracy
  [ -s run.tracy ]
fi
