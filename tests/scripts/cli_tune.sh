#!/usr/bin/env bash
# tune, log, bench and build on one small product: what they print, and that what they print as JSON is JSON.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
matmul='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'

run tune "$matmul" --log t.json --trials 12 --seed 3
[ "$got" -eq 0 ] || { cat out err; exit 1; }
records() { grep '"steps"' "$1" | grep -vc '"final":true' || true; } # the trials
[ "$(records t.json)" -eq 12 ] || complain "the log has $(records t.json) records, not 12"
[ "$(grep -c '"event":"start"' t.json)" -eq 1 ] && grep -q '"event":"end".*"reason":"trials"' t.json ||
  complain "the log does not say that the run began and ended: $(grep event t.json)"
[ "$(wc -l <out)" -le 48 ] || complain "tune printed $(wc -l <out) lines"
grep -q 'GFLOPS' out || complain "tune does not say how fast the best is"
grep -q 'Total' out || complain "tune does not say where the time went"
grep -q 'finals   .* timed again' out || complain "no finals: $(cat out)"
grep '"final":true' t.json | grep -q '"rank":1' || complain "the log has no winner of the finals"
while read -r line; do
  case $line in *'"event"'*) continue ;; esac
  echo "$line" >record
  is_json record
  [ "$(json record '"program" in o and "steps" in o and "costs" in o and "error" in o and "v" in o')" = True ] ||
    complain "a record lacks a field: $line"
done <t.json

# Going on: what is recorded is not measured again.
run tune "$matmul" --log t.json --trials 16 --json
[ "$got" -eq 0 ] || complain "going on ended with status $got: $(cat err)"
is_json out
[ "$(json out 'o["trials"], o["reused"]')" = '(4, 12)' ] || complain "going on: $(json out 'o["trials"], o["reused"]')"
[ "$(json out 'o["profile"]["Total"] > 0 and o["seconds"] > 0')" = True ] || complain "no profile in the object"
run tune "$matmul" --log t.json --trials 16 --json
[ "$(json out 'o["trials"], o["reused"]')" = '(0, 16)' ] || complain "a full log was measured again"

# On a terminal there is one live line, redrawn.
python3 - "$TENON" tune "$matmul" --log live.json --trials 4 >live <<'PYTHON'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
PYTHON
grep -q $'\r.*GFLOPS.*4/4 trials, 0 failed' live || complain "no live line: $(cat -v live)"

shows 'checked' log best t.json
shows '16 records' log top t.json -n 3
[ "$(wc -l <out)" -eq 5 ] || complain "log top -n 3 prints $(wc -l <out) lines"
for what in 'log best t.json' 'log top t.json' 'target' 'version'; do
  # shellcheck disable=SC2086 # a list of words
  run $what --json
  [ "$got" -eq 0 ] || complain "$what --json ended with status $got"
  is_json out
done
run log best t.json "$matmul" --json
[ "$(json out 'len(o["rows"]), o["rows"][0]["checked"]')" = '(1, True)' ] || complain "log best: $(cat out)"
refuses 1 'of this program' log best t.json 'C[i<8] = A[i] + 1'

# A broken line in a log is said and skipped.
{ echo 'garbage'; cat t.json; } >broken.json
run log best broken.json
[ "$got" -eq 0 ] || complain "one broken line makes the log useless"
grep -q 'tenon: warning: .*broken.json:1' err || complain "the broken line is not named: $(cat err)"

run bench "$matmul" --log t.json --seconds 0.3 --json
[ "$got" -eq 0 ] || complain "bench: $(cat err)"
is_json out
[ "$(json out 'o["checked"] and o["gflops"] > 0 and o["seconds_default"] > 0 and o["max_error"] < 1e-4')" = True ] ||
  complain "bench: $(cat out)"
for program in "$matmul" 'M[i<64,j<64] = sum[k<64](B[k,j]*A[k,i]); O[i<64,j<64] = D[i,j] + M[i,j]' \
  'input A: f64[32, 48], B: f64[20, 48]; M[i<32,j<20] = sum[k<48](A[i,k]*B[j,k]); O[i<32,j<20] = M[i,j] + D[j]'; do
  run bench "$program" --vs openblas --seconds 0.2 --json
  if grep -q 'libopenblas.so.0 is not here' err; then continue; fi
  [ "$got" -eq 0 ] || complain "bench --vs openblas: $(cat err)"
  is_json out
  [ "$(json out 'o["ratio_openblas"] > 0 and o["openblas"]["seconds"] > 0')" = True ] || complain "bench: $(cat out)"
done

# The same program under other schedules takes its turns in the same process. A record against itself is a tie.
run bench "$matmul" --log t.json --vs auto,default,log:t.json --seconds 0.6 --json
[ "$got" -eq 0 ] || complain "bench --vs auto: $(cat err)"
[ "$(json out 'o["auto"]["seconds"] > 0 and o["ratio_default"] > 1 and 0.5 < o["ratio_log:t.json"] < 2')" = True ] ||
  complain "bench --vs auto: $(cat out)"

refuses 1 'the program is none of a matrix product' bench 'C[i<64] = A[i] + B[i]' --vs openblas
refuses 1 'there is nothing to compare with' bench 'C[i<64] = A[i] + B[i]' --vs onednn,openblas

# The program's own schedule is a candidate, and a line says what it takes.
own="$matmul; schedule { vectorize(C, j) }"
shows "the program's own schedule; the best is" tune "$own" --log own.json --trials 6 -v 0
grep -q '"AN"' own.json || complain "the own schedule has no record: $(cat own.json)"
run tune "$own" --log own.json --trials 6 --json
[ "$(json out 'o["trials"] == 0 and o["seconds_own"] > 0')" = True ] || complain "tune --json of its own schedule: $(cat out)"
run tune "$matmul" --log t.json --trials 16 --json
[ "$(json out 'o["seconds_own"] is None')" = True ] || complain "a program without a schedule has one: $(cat out)"
refuses 1 'vectorize(C, k): loop k of C runs over a reduction axis' tune "$matmul; schedule { vectorize(C, k) }" --log no.json
[ ! -e no.json ] || complain "a refused schedule leaves a log"
shows "with the program's own schedule" build "$own" -o own.o

# Failures are on the screen, and a run that finds nothing fails.
run tune 'C[i<60000, j<60000] = A[i,j] + B[j,i]' --log big.json --trials 3
[ "$got" -eq 1 ] || complain "a run that finds nothing ends with status $got"
grep -q '^tenon: no candidate can be checked: memory: out of memory for 14400000000 bytes of' err ||
  complain "tune does not say that nothing can be checked: $(cat err)"
grep -q '"reason":"failed"' big.json || complain "the log does not say how the run ended: $(cat big.json)"
refuses 2 "--effort is quick, normal or thorough, not 'much'" tune "$matmul" --log t.json --effort much

# Time is kept: finals included. With a sanitizer a candidate under way takes longer to end.
run tune "$matmul" --log time.json --seconds 4 --json
[ "$got" -eq 0 ] || complain "tune --seconds: $(cat err)"
[ "$(json out 'o["end"] == "time" and 3 < o["elapsed"] < (6 if "'"${TENON_SANITIZE:-}"'" else 4.5)')" = True ] || complain "4 seconds: $(json out 'o["elapsed"]')"

# Without a record: a warning and the default schedule, or with --strict a failure.
other='C[i<32, j<32] = sum[k<32](A[i,k] * B[k,j])'
run build "$other" --log t.json -o other.o --header other.h
[ "$got" -eq 0 ] && grep -q 'tenon: warning: .*default schedule' err || complain "build without a record: $got $(cat err)"
[ -s other.o ] && [ -s other.h ] || complain "build wrote nothing"
refuses 1 't.json' build "$other" --log t.json --strict -o strict.o --header strict.h
[ -z "$(find . -name 'strict*')" ] || complain "a failed build left something"
for suffix in o so s ll bc; do
  run build "$matmul" --log t.json --strict -o "k.$suffix" --name product
  # The best of a few trials may well keep a block in memory; that is said, and nothing else is.
  [ "$got" -eq 0 ] && ! grep -qv 'kept in memory' err && [ -s "k.$suffix" ] || complain "build k.$suffix: $(cat err)"
done
exit $status
