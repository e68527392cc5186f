#!/usr/bin/env bash
# One large program: show, tune in its groups, build with their records into one object with one function, which is checked;
# what is refused.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
encoder=$TENON_SOURCE/examples/programs/encoder.te
small=(-p L=8 -p H=2 -p D=16 -p F=64)

"$TENON_SOURCE/scripts/encoder" | cmp - "$encoder" || complain "encoder.te is not what scripts/encoder writes"
run show "$encoder" "${small[@]}" --emit=program
[ "$got" -eq 0 ] && [ "$(grep -c '= ' out)" -gt 150 ] || complain "show: status $got, $(grep -c '= ' out) statements"

# Twelve layers have the groups of one, which get trials each.
run tune "$encoder" "${small[@]}" --log e.json --trials 110 --schedule round-robin --json
[ "$got" -eq 2 ] || complain "--schedule of one program without --cut: status $got"
run tune "$encoder" "${small[@]}" --log e.json --trials 110 --cut --schedule round-robin --json
[ "$got" -eq 0 ] || { cat out err; exit 1; }
is_json out
[ "$(json out 'set(t["weight"] for t in o["tasks"])')" = '{12.0}' ] || complain "weights: $(json out '[t["weight"] for t in o["tasks"]]')"
[ "$(json out 'len(o["tasks"]) == o["distinct"] and all(t["seconds"] for t in o["tasks"])')" = True ] ||
  complain "tasks: $(json out '[(t["name"], t["seconds"]) for t in o["tasks"]]')"
n=$(json out 'o["distinct"]')

run build "$encoder" "${small[@]}" --log e.json --strict -o encoder.o --header encoder.h --name encoder
[ "$got" -eq 0 ] || complain "build: $(cat err)"
grep -q "^$((12 * n)) of $((12 * n)) groups have tuned schedules ($n distinct), of e.json" out || complain "build says $(cat out)"
[ "$(grep -c ' x 12 ' out)" -eq "$n" ] || complain "build says not what was used: $(cat out)"
[ "$(nm encoder.o | grep -c ' T ')" -eq 1 ] || complain "the object has not one function: $(nm encoder.o)"
TENON_LOG=$PWD/e.json run build "$encoder" "${small[@]}" -o usual.o --name encoder
[ "$got" -eq 0 ] && grep -q "groups have tuned schedules" out && cmp encoder.o usual.o || complain "the usual log: $(cat out err)"
# The unscheduled program is what is compared with, itself held against the evaluator.
run bench "$encoder" "${small[@]}" --log e.json --seconds 0.2
[ "$got" -eq 0 ] && grep -q "checked: largest relative error [0-9.]*e-0[67]" out || complain "bench: $(cat out err)"

# Some of the groups only: the others are missing, and can be tuned by themselves.
grep -v '"program":"[^"]*erf' e.json >some.json
TENON_LOG=$PWD/some.json run build "$encoder" "${small[@]}" -o some.o --missing some.tenon
[ "$got" -eq 0 ] && grep -q "the generic schedule: there is no record" out || complain "some: $(cat out err)"
[ "$(wc -l <some.tenon)" -eq 1 ] && grep -q erf some.tenon || complain "missing: $(cat some.tenon)"
grep -q "x 12$" some.tenon || complain "how often a group is there: $(cat some.tenon)"
# Without any record all groups are missing, and not the program as one.
TENON_LOG=$PWD/none.json run build "$encoder" "${small[@]}" -o none.o --missing none.tenon
[ "$got" -eq 0 ] && grep -q "0 exact, $n missing" out || complain "none: $(cat out err)"
[ "$(wc -l <none.tenon)" -eq "$n" ] && [ "$(grep -c 'x 12$' none.tenon)" -gt 1 ] || complain "missing: $(cat none.tenon)"
refuses 1 "some.json has no usable record of 12 of the $((12 * n)) groups" build "$encoder" "${small[@]}" --log some.json --strict -o x.o
[ ! -e x.o ] || complain "a refused build left a file"

refuses 1 'cutting a program needs numbers for all extents' tune 'symbol M; C[i<M] = A[i] + 1' --cut --log t.json
refuses 1 'S is a scan, whose steps cannot be cut apart' tune --cut --log t.json \
  'state S: f32[4, 8]; scan S[t<4, i<8] = select(t > 0, S[t-1, i], 0) + X[t,i]'
refuses 2 'is about one program' tune "$encoder" "${small[@]}" --cut --log t.json --report r.html
refuses 1 'and this one is tuned in its groups' tune "$encoder" "${small[@]}" --log t.json --report r.html
exit "$status"
