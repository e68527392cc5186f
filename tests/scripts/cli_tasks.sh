#!/usr/bin/env bash
# tune of several programs and of a network's file: one limit for all, a line for each task, refusals by file and line.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='C[i<32, j<32] = sum[k<32](A[i,k] * B[k,j])'
sums='B[i<64] = sum[k<128](A[i,k])'
mkdir net
printf 'param N = 8\nC[i<N, j<N] = sum[k<N](A[i,k] * B[k,j])\n' >net/product.te
cat >net/small.tenon <<NETWORK
# a small network
product.te N=32 x 3 as product
"$sums" weight 0.5 as sums
product.te N=32          # the same as the first
NETWORK

run tune net/small.tenon --log t.json --trials 40 --json
[ "$got" -eq 0 ] || { cat out err; exit 1; }
is_json out
[ "$(json out '[t["weight"] for t in o["tasks"]], o["distinct"], o["end"]')" = '([4.0, 0.5, 4.0], 2, '"'trials')" ] ||
  complain "the tasks are wrong: $(json out 'o["tasks"]')"
[ "$(json out 'sum(t["trials"] for t in o["tasks"][:2])')" = 40 ] || complain "the tasks do not share 40 trials"
[ "$(json out 'abs(o["total"] - sum(t["weight"] * t["seconds"] for t in o["tasks"][:2])) < 1e-9')" = True ] ||
  complain "the total is not the weighted sum"
[ "$(json out 'len(o["curve"]) > 0 and o["curve"][-1]["trials"] <= 40')" = True ] || complain "no curve"

run tune net/small.tenon --log t.json --trials 40 --schedule round-robin
[ "$got" -eq 0 ] || complain "going on ended with status $got: $(cat err)"
grep -q '^product ' out && grep -q '^sums ' out && grep -q 'as above' out || complain "a task has no line: $(cat out)"
grep -q '^total    ' out || complain "no total: $(cat out)"
grep -q 'trials   0 measured, 40 taken from t.json' out || complain "what the log holds was measured again: $(cat out)"

run tune "$product" "$sums" --log two.json --for 2s --objective geomean --json
[ "$got" -eq 0 ] || complain "two programs: $(cat err)"
[ "$(json out 'o["elapsed"] < 4 and o["end"] == "time" and len(o["tasks"]) == 2')" = True ] || complain "two programs: $(cat out)"

refuses 2 'is gradient or round-robin' tune "$product" "$sums" --log t.json --schedule fair
# A target that any schedule meets ends its task after the first round; one that none meets does not.
printf 'product 1s # enough\n\n sums 0.001ns\n' >targets
run tune net/small.tenon --log targets.json --trials 80 --objective targets --json
[ "$got" -eq 0 ] || complain "targets: $(cat err)"
[ "$(json out '[t["target_met"] for t in o["tasks"] if "same_as" not in t]')" = '[True, False]' ] || complain "targets that are met: $(cat out)"
[ "$(json out '[t["end"] == "target" for t in o["tasks"] if "same_as" not in t]')" = '[True, False]' ] || complain "the ends by targets: $(cat out)"
echo 'sums 1s' >>targets
sed -i 2,3d targets
run tune net/small.tenon --log targets.json --trials 200 --objective targets
[ "$got" -eq 0 ] || complain "targets that are met by the log: $(cat err)"
grep -q 'trials   0 measured' out && grep -q 'targets  2 of 2 are met' out || complain "targets that the log meets cost trials: $(cat out)"
for line in 'produkt 1s|there is no task produkt; did you mean product' 'nothing 1s|there is no task nothing: write a name as the table' \
  "product 1|targets:1: '1' is no time: write a number above 0" 'product 0ms|is no time' 'product -1s|is no time' "product|targets:1: 'product' is no target: write NAME TIME"; do
  echo "${line%%|*}" >targets
  refuses 1 "${line#*|}" tune net/small.tenon --log t.json --objective targets
done
printf 'product 1s\nproduct 2s\n' >targets
refuses 1 'targets:2: product has a target already' tune net/small.tenon --log t.json --objective targets
echo '# none' >targets
refuses 1 'targets names no target' tune net/small.tenon --log t.json --objective targets
refuses 2 'is latency or geomean, or a file of targets' tune "$product" "$sums" --log t.json --objective speed
refuses 2 'is about several programs' tune "$product" --log t.json --objective latency
refuses 2 'such as 30s, 10m or 2h' tune "$product" --log t.json --for 30
refuses 2 'such as 30s, 10m or 2h' tune "$product" --log t.json --for 3d
refuses 2 'is about one program' tune "$product" "$sums" --log t.json --report r.html
refuses 1 'No such file' tune none.tenon --log t.json
echo '# nothing' >empty.tenon
refuses 1 'empty.tenon names no task' tune empty.tenon --log t.json
printf '\nproduct.te N=32 x\n' >net/bad.tenon
refuses 1 'net/bad.tenon:2: nothing stands behind x' tune net/bad.tenon --log t.json
printf '"C[i<4] = A[i"\n' >net/bad.tenon
refuses 1 'net/bad.tenon:1:' tune net/bad.tenon --log t.json
exit "$status"
