#!/usr/bin/env bash
# tune with other machines: --worker, --hosts, what becomes of each, who is refused, and what is said when none is left.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='C[i<32, j<32] = sum[k<32](A[i,k] * B[k,j])'
worker="exec '$TENON' worker"
# A machine that comes when WORDS were said: another one has its turn before, however slowly it starts.
after() { echo "until grep -q '$1' '$PWD/err'; do sleep 0.02; done; $worker"; }

late=$(after 'was lost')
run tune "$product" --log a.json --trials 16 --worker "$late" --worker "$late" --worker 'exit 9' --build-on all --json
[ "$got" -eq 0 ] || { cat out err; exit 1; }
is_json out
[ "$(json out 'len(o["workers"]), o["trials"], o["failed"]')" = '(3, 16, 0)' ] || complain "not two workers and a bad one: $(cat out)"
[ "$(json out 'o["workers"][2]["state"], "status 9" in o["workers"][2]["trouble"], o["workers"][2]["command"]')" = "('lost', True, 'exit 9')" ] ||
  complain "the bad worker's line is wrong: $(json out 'o["workers"]')"
# On a machine that is busy with other things the finals may get too few turns: then they name nobody.
[ "$(json out 'sum(w["timed"] for w in o["workers"]) >= 16 and o.get("finals_on") in [None] + [w["name"] for w in o["workers"][:2]]')" = True ] ||
  complain "who timed, and who the finals: $(cat out)"
[ "$(grep -c '"machine"' a.json)" -ge 16 ] || complain "records do not say their machine"

cat >hosts <<HOSTS
# the farm
name=one tags=fast,new $worker
name=two count=2 threads=1 tags=fast $worker   # the shell takes this for a comment
name=three tags=slow exit 5
HOSTS
run tune "$product" --log b.json --trials 12 --hosts hosts --tags fast --target threads=1
[ "$got" -eq 0 ] || complain "hosts: $(cat err)"
# A worker that has not come when twelve trials are over is starting, and has no number.
grep -qE '^worker   one \(fast,new\): (serving, |starting)' out && [ "$(grep -cE '^worker   two(#[12])? \(fast\): ' out)" = 2 ] ||
  complain "no line a machine: $(cat out)"
! grep -q three out || complain "a machine without the tag was taken"
# So small a product may be tuned before the second machine has answered.
n_timing=$(grep -c '^worker .* [1-9][0-9]* timed' out) || true
n_mixes=$(grep -cE "^machines $n_timing timed .* (the finals are all of |there were no finals on one of them)" out) || true
[ "$n_mixes" -eq "$((n_timing > 1))" ] || complain "what is said of the mix of $n_timing machines: $(cat out)"

# None is left: said, with a status, and the command that goes on.
run tune "$product" --log c.json --trials 12 --worker 'exit 1' --worker 'echo hello, stranger'
[ "$got" -eq 1 ] || complain "status $got without workers"
grep -q 'no worker is left: exit 1 is lost: .* status 1; echo hello, stranger is lost: .*it wrote "hello, stranger"' err ||
  complain "the reason is missing: $(cat err)"
grep -q "go on with: tenon tune .* --worker 'exit 1' --worker 'echo hello, stranger'" out || complain "how to go on: $(cat out)"
grep -q '"reason": *"no_workers"' c.json || complain "the log does not say why the run ended"

# A worker that is refused says what differs.
run tune "$product" --log d.json --trials 4 --worker "$worker --inject=hello-old@1" --worker "$(after 'is refused')"
[ "$got" -eq 0 ] && grep -q 'is refused: it has Tenon 0.0.1, this is' err || complain "another version: $(cat err)"
run tune "$product" --log e.json --trials 4 --worker "$worker" --target 'threads=1024'
[ "$got" -eq 1 ] && grep -q 'the target has 1024: tune for threads=' err || complain "too few threads: $(cat err)"

# Several programs share the machines.
run tune "$product" 'B[i<64] = sum[k<128](A[i,k])' --log f.json --trials 20 --worker "$worker" --json
[ "$got" -eq 0 ] && [ "$(json out 'o["workers"][0]["timed"] >= 18')" = True ] || complain "tasks: $(cat out err)"

# Words that are no UTF-8 do not take a host out of the object.
run tune "$product" --log g.json --trials 4 --worker "$late" --worker "$(printf 'echo \377; exit 3')" --json
[ "$got" -eq 0 ] && [ "$(json out 'len(o["workers"])')" = 2 ] || complain "bytes that are no text: $(cat out err)"

refuses 2 'is here, hosts or all' tune "$product" --log x.json --worker "$worker" --build-on there
refuses 2 'goes with --worker or --hosts' tune "$product" --log x.json --build-on all
refuses 2 'goes with --worker or --hosts' tune "$product" --log x.json --patience 10s
refuses 2 '--tags goes with --hosts' tune "$product" --log x.json --worker "$worker" --tags a
refuses 2 'a command, 64 times at most' tune "$product" --log x.json --worker ''
refuses 1 'no machine has the tags old' tune "$product" --log x.json --hosts hosts --tags old
refuses 1 'there is no machine in it' tune "$product" --log x.json --hosts /dev/null
refuses 1 'missing-file' tune "$product" --log x.json --hosts missing-file
echo 'count=many ssh a' >bad
refuses 1 'bad:1: count=many: a whole number of 1 or more is needed' tune "$product" --log x.json --hosts bad
printf '\ncuont=2 ssh a\n' >bad
refuses 1 'bad:2: there is no cuont=: name=, count=, threads= and tags=' tune "$product" --log x.json --hosts bad
echo 'name=a name=b ssh a' >bad
refuses 1 'bad:1: name=b: name= stands here twice: give it once' tune "$product" --log x.json --hosts bad
echo 'name=a tags=b' >bad
refuses 1 'bad:1: the command is missing' tune "$product" --log x.json --hosts bad
[ ! -e x.json ] || complain "a refused line made a log"
exit "$status"
