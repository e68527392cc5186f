#!/usr/bin/env bash
# run.sh LIBRARY|wrapped EVERY TENON EXAMPLES [NAME...|--without NAME...]: whole commands with one allocation failing after
# another, every EVERYth; all, those named, or all but the kinds named. A tune, which starts processes and takes a third of a
# second, is stepped thirteen times as sparsely. step.c is the LIBRARY to preload, or a part of TENON.
# Prints the table of docs/testing.md behind the faults; fails when there is one.
set -euo pipefail
library=""
[ "$1" = wrapped ] || library=$(realpath "$1")
every=$2 tenon=$3 examples=$4
shift 4
without=""
if [ "${1:-}" = --without ]; then
  shift
  without=" $* "
  set --
fi
only=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
status=0

# step NAME COMPARE FILES COMMAND...: COMPARE is `exact` where every run prints the same, `lines` where it prints times,
# `present` where it writes packed times, `tuned` for a tune: trials, failures and records are the same, times are not.
step() {
  local name=$1 compare=$2 files=$3
  shift 3
  [[ "$without" != *" ${name%%-*} "* ]] || return 0
  [ "$only" = "  " ] || [[ "$only" == *" $name "* ]] || return 0
  local sparse=$every
  [[ $name != tune* ]] || sparse=$((every * 13))
  STEP_NAME=$name STEP_COMPARE=$compare STEP_FILES=$files STEP_EVERY=$sparse STEP_FIRST=$((1 + offset % sparse)) \
    LD_PRELOAD=$library "$@" </dev/null >rows || status=1
  cat rows
  grep -qE "^\\| $name \\| [1-9]" rows || { echo "$name was not stepped"; status=1; }
  offset=$((offset + 5))
}
offset=0

matmul='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'
softmax='M[i<16] = max[k<40](X[i,k]); E[i<16, j<40] = exp(X[i,j] - M[i]); S[i<16] = sum[k<40](E[i,k]); Y[i<16, j<40] = E[i,j] / S[i]'
twice='C[i<64] = A[i] * 2'
"$tenon" tune "$matmul" --log log.json --trials 4 --seed 1 --profile run.tnprof >/dev/null
# What is read as text takes an allocation for each word: a short recording shows as much as a long one.
"$tenon" tune "$twice" --log short.json --trials 2 --seed 1 --profile short.tnprof:level=1 >/dev/null
"$tenon" profile convert short.tnprof short.trace.json
"$tenon" profile convert short.tnprof short.xplane.pb
"$tenon" show "$softmax" --emit=tir >softmax.tir

echo "| command | allocations | failed | same result | refused with a message | faults |"
echo "| --- | --- | --- | --- | --- | --- |"
step show exact '' "$tenon" show "$twice"
for form in tree tvmscript text steps api program llvm asm c header; do
  step "show-$form" exact '' "$tenon" show "$matmul" -s 'tile(C, i, j, 8, 16)' --emit=$form
done
# Where the file of the machine's costs cannot be read they are measured anew, a little different: a program of one plan.
step show-auto-costs exact '' "$tenon" show 'C[i<4] = A[i] + 1' -s auto
step show-auto-matmul exact '' "$tenon" show "$matmul" -s auto --target costs=fork:4000
step show-auto-softmax exact '' "$tenon" show "$softmax" -s auto --target costs=fork:4000
step show-log exact '' "$tenon" show "$matmul" --log log.json
for form in o so s ll bc c; do
  step "build-$form" exact "out.$form out.h" "$tenon" build "$twice" -s 'vectorize(C, i)' -o "out.$form" --header out.h
done
step build-log exact out.o "$tenon" build "$matmul" --log log.json -o out.o
# bench starts itself again where these are not set.
export OMP_WAIT_POLICY=passive OPENBLAS_CORETYPE=Haswell
step bench lines '' "$tenon" bench "$twice" --seconds 0.02
step log-best exact '' "$tenon" log best log.json
step log-top exact '' "$tenon" log top log.json
step log-top-json exact '' "$tenon" log top log.json --json
step log-list exact '' "$tenon" log list log.json --csv
step log-show exact '' "$tenon" log show log.json 3
step log-stats exact '' "$tenon" log stats log.json
step log-check exact '' "$tenon" log check log.json
step log-merge exact merged.json "$tenon" log merge log.json short.json -o merged.json
step log-compact exact compact.json "$tenon" log compact log.json -n 2 -o compact.json
step pass-all exact '' "$tenon" pass all softmax.tir
step tune tuned new.json "$tenon" tune "$twice" --log new.json --trials 4 --seed 1 --json
step tune-tasks tuned tasks.json "$tenon" tune "$twice" 'C[i<32] = A[i] * 3' --log tasks.json --trials 4 --seed 1 --json
step tune-profile tuned "new.json new.tnprof" "$tenon" tune "$twice" --log new.json --trials 4 --seed 1 --json --profile new.tnprof
step profile-table exact '' "$tenon" profile table run.tnprof
step profile-report exact '' "$tenon" profile report run.tnprof
step profile-averages exact '' "$tenon" profile averages run.tnprof
step profile-averages-json exact '' "$tenon" profile averages run.tnprof --json
step profile-analyse exact '' "$tenon" profile analyse run.tnprof '{"type": "op_type"}'
step profile-advise exact '' "$tenon" profile advise run.tnprof
# A number whose text grows: jansson's reader trusts that it did.
long=0.1000000000000000000000000000000000000000000000000000000000000000000000000001
step profile-advise-long exact '' "$tenon" profile advise run.tnprof "{\"worker_outlier\": $long}"
step profile-tasks exact '' "$tenon" profile tasks run.tnprof
step profile-parse exact '' "$tenon" profile parse run.tnprof parsed
step profile-compare exact '' "$tenon" profile compare run.tnprof short.trace.json
step profile-merge present merged.tnprof "$tenon" profile merge merged.tnprof a=run.tnprof b=short.xplane.pb
step profile-convert-tnprof present to.tnprof "$tenon" profile convert run.tnprof to.tnprof # packed, holds times
for form in json json.gz xplane.pb html csv folded report.json; do
  step "profile-convert-$form" exact "to.$form" "$tenon" profile convert run.tnprof "to.$form"
done
step target exact '' "$tenon" target
step version exact '' "$tenon" version
step example-vector-add exact '' "$examples/vector_add"
exit $status
