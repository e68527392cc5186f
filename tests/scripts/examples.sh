#!/usr/bin/env bash
# The examples: vector_add, and apply_best with a log that has its record and with logs that have not.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
"$TENON_BUILD/examples/vector_add" >out || complain "vector_add failed"
grep -q '1000 elements' out || complain "vector_add says: $(cat out)"

if ! grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then exit $status; fi
example=$TENON_SOURCE/examples/apply_best
"$TENON_BUILD/examples/matmul" "$work/matmul.json" 6 20 >out || complain "matmul ended with status $?"
for part in 'its loops, untuned' 'its loops under the best record' 'largest relative error' untuned tuned Total; do
  grep -q "$part" out || complain "matmul does not print '$part': $(cat out)"
done
trials=$(grep '"program"' matmul.json | grep -vc '"final"') # the run's first and last line, and finals, are no trials
[ "$trials" -eq 6 ] || complain "matmul recorded $trials trials, not 6"

cmake --install "$TENON_BUILD" --prefix "$work/prefix" >install.log || { cat install.log; exit 1; }
configure() {
  cmake -G Ninja -S "$example" -B "$1" -DCMAKE_PREFIX_PATH="$work/prefix" -DLOG="$2" >"$1.log" 2>&1
}
run tune "$example/matmul.te" --log good.json --trials 4
configure good "$work/good.json" || { cat good.log; exit 1; }
cmake --build good >good.log 2>&1 || { complain "apply_best does not build"; cat good.log; }
good/apply_best >out || complain "apply_best ended with status $?"
grep -q 'largest error' out || complain "apply_best says: $(cat out)"

# A log of another program, an empty one, none at all.
run tune 'C[i<8] = A[i] + B[i]' --log other.json --trials 1
: >empty.json
for log in other empty; do
  configure "$log" "$work/$log.json" || complain "$log: not configured"
  if cmake --build "$log" >"$log.log" 2>&1; then complain "apply_best builds with the log $log.json"; fi
  grep -q "tenon: .*$log.json" "$log.log" || complain "$log: the log is not named: $(cat "$log.log")"
  [ -z "$(find "$log" -name 'matmul.[oh]' -o -name libmatmul.a -o -name apply_best)" ] || complain "$log: something is left"
done
if cmake -S "$example" -B none -DCMAKE_PREFIX_PATH="$work/prefix" >none.log 2>&1; then complain "apply_best is configured without a log"; fi
grep -q 'DLOG= is missing' none.log || complain "no log: $(cat none.log)"
exit $status
