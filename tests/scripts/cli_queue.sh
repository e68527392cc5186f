#!/usr/bin/env bash
# --queue: a pool behind a real redis-server. What works, who is refused, and what tuners of one pool get. Faults are in tests/farm/queue.py.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
  echo "cli_queue: skipped: redis-server is not installed (scripts/setup all)"
  exit 77
fi
product='C[i<32, j<32] = sum[k<32](A[i,k] * B[k,j])'
pids=()
stop_all() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap stop_all EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cli() { redis-cli -p "$port" --no-auth-warning -a s3cret "$@" 2>&1; }
redis-server --port "$port" --bind 127.0.0.1 --dir "$work" --appendonly yes --save '' --requirepass s3cret >redis.log &
pids+=($!)
# A condition that comes at some time, whatever the machine does beside: a minute at most.
until_true() {
  for _ in $(seq 1200); do "$@" && return 0 || sleep 0.05; done
  return 1
}
answers() { cli ping 2>/dev/null | grep -q PONG; }
until_true answers || complain "redis-server does not answer: $(cat redis.log)"
url=redis://:s3cret@127.0.0.1:$port/lab
worker() { # NAME WORDS...
  local name=$1
  shift
  "$TENON" worker --queue "$url" "$@" 2>"$name.err" &
  pids+=($!)
}
serves() { # NAME
  until_true grep -q 'serving' "$1.err" || complain "worker $1 does not serve: $(cat "$1.err")"
}
count() { grep -c '"steps"' "$1" 2>/dev/null || [ -e "$1" ] || echo 0; }
has() { [ "$(count "$1")" -ge "$2" ]; } # LOG RECORDS

# ---- refusals: an address that is none, nobody there, a wrong password -----------------------------------------------------

refuses 1 'it is no redis://[USER:PASSWORD@]HOST[:PORT]/POOL' tune "$product" --log x.json --queue http://127.0.0.1/lab
refuses 1 'the port is a number from 1 to 65535' tune "$product" --log x.json --queue redis://127.0.0.1:x/lab
refuses 1 "behind ] stands :PORT or nothing, not 'x:1'" tune "$product" --log x.json --queue 'redis://[::1]x:1/lab'
refuses 1 "in a user or password '/' is written as %2F" tune "$product" --log x.json --queue "redis://u:se/cret@127.0.0.1:$port/lab"
grep -q 'cret' err && complain "a part of a password is told: $(cat err)"
refuses 1 'the host is missing' tune "$product" --log x.json --queue redis:///lab
refuses 1 "the pool's name is missing" tune "$product" --log x.json --queue "redis://127.0.0.1:$port"
refuses 1 "the pool's name is missing" tune "$product" --log x.json --queue "redis://127.0.0.1:$port/a}b"
refuses 1 'Connection refused' tune "$product" --log x.json --queue redis://127.0.0.1:1/lab
refuses 1 'NOAUTH' tune "$product" --log x.json --queue "redis://127.0.0.1:$port/lab"
refuses 1 'the server says: WRONGPASS' tune "$product" --log x.json --queue "redis://:wrong@127.0.0.1:$port/lab"
grep -q wrong err && complain "the password is told: $(cat err)"
refuses 2 '--queue does not go with --worker' tune "$product" --log x.json --queue "$url" --worker 'exit 1'
refuses 2 'candidates are compiled here' tune "$product" --log x.json --queue "$url" --build-on all
refuses 1 'WRONGPASS' worker --queue "redis://:wrong@127.0.0.1:$port/lab"
grep -q 'out of memory' err && complain "a refusal ends with a word of memory: $(cat err)"
refuses 2 'it is no redis://' worker --queue lab
refuses 2 '--queue does not go with --remote' worker --queue "$url" --remote
refuses 2 'needs an argument' worker --queue

# Nobody serves the pool: said, and the command that goes on, without the password.
run tune "$product" --log none.json --trials 4 --queue "$url" --patience 1s
[ "$got" -eq 1 ] && grep -q "no worker is left: redis://127.0.0.1:$port/lab: nobody serves it" err || complain "nobody serves: $(cat err out)"
grep -q "go on with: tenon tune .* --queue 'redis://127.0.0.1:$port/lab' --patience 1s" out || complain "how to go on: $(cat out)"
[ -z "$(cli keys '*')" ] || complain "a tuner left something: $(cli keys '*')"

# ---- one tuner, two workers ------------------------------------------------------------------------------------------------

worker one
worker two
serves one
serves two
run tune "$product" --log a.json --trials 40 --queue "$url" --json --cooldown 0.02
[ "$got" -eq 0 ] && is_json out && [ "$(json out 'o["trials"], o["failed"], len(o["workers"])')" = '(40, 0, 2)' ] || complain "two workers: $(cat out err)"
[ "$(json out 'all(w["timed"] > 0 and w["state"] == "serving" for w in o["workers"])')" = True ] || complain "one does it all: $(json out 'o["workers"]')"
[ "$(json out 'o["finals_on"] in [w["name"] for w in o["workers"]]')" = True ] || complain "the finals: $(cat out)"
[ "$(grep -c '"machine"' a.json)" -ge 40 ] || complain "records do not say their machine"
cli keys '*' | grep -v ':worker' && complain "a tuner left something"
REDISCLI_AUTH=s3cret run tune "$product" --log a.json --trials 44 --queue "redis://127.0.0.1:$port/lab"
[ "$got" -eq 0 ] && grep -q '^trials   4 measured, 0 of them failed, 40 taken from a.json' out || complain "going on: $(cat out err)"
run tune "$product" 'B[i<64] = sum[k<128](A[i,k])' --log tasks.json --trials 16 --queue "$url" --json
[ "$got" -eq 0 ] && [ "$(json out 'sum(w["timed"] for w in o["workers"]) >= 14')" = True ] || complain "tasks: $(cat out err)"

# ---- two tuners get as much ------------------------------------------------------------------------------------------------

# Counted from when both have candidates there: between two counts of the one, the other gets about as many, whatever a trial takes.
"$TENON" tune "$product" --log long.json --trials 100000 --queue "$url" --cooldown 0.1 --finalists 1 >long.out 2>&1 &
long=$!
pids+=("$long")
until_true has long.json 10 || complain "the first of two tuners gets nothing: $(cat long.out)"
"$TENON" tune "$product" --log short.json --trials 40 --queue "$url" --cooldown 0.1 --finalists 1 --seed 5 >short.out 2>short.err &
short=$!
pids+=("$short")
until_true has short.json 8 || complain "the second of two tuners gets nothing: $(cat short.err)"
before=$(count long.json)
until_true has short.json 38 || complain "the second of two tuners gets no more: $(cat short.err)"
meanwhile=$(($(count long.json) - before))
wait "$short" || complain "beside another tuner: $(cat short.out short.err)"
kill -9 "$long"
[ "$meanwhile" -ge 8 ] && [ "$meanwhile" -le 120 ] || complain "beside 30 trials of one tuner the other got $meanwhile"

# A killed tuner is forgotten; what it left ends by itself, and the same command goes on.
ttl=$(cli keys 'tenon:{lab}:tasks:*' | while read -r key; do [ -z "$key" ] || cli ttl "$key"; done)
for t in $ttl; do [ "$t" -gt 0 ] && [ "$t" -le 120 ] || complain "tasks of a dead tuner live on: $ttl"; done

# ---- what comes through the server is not believed ---------------------------------------------------------------------------

timeout 250 "$TENON" tune "$product" --log forged.json --trials 60 --queue "$url" --cooldown 0.1 --finalists 1 >forged.out 2>forged.err &
forged=$!
pids+=("$forged")
until_true has forged.json 4 || complain "nothing is measured: $(cat forged.err)"
who=$(cli smembers 'tenon:{lab}:workers' | head -1)
# All at once, while candidates are under way.
for key in $(cli keys 'tenon:{lab}:answers:*'); do
  fast="answer '{\"error\":\"none\",\"costs\":[1e-9]}'"
  echo "xadd $key * id 99999999-0 worker $who $fast" # to nobody's question
  echo "xadd $key * id 1-0 worker $who $fast"        # a second time
  for id in $(seq 5 70); do echo "xadd $key * id $id-0 worker stranger $fast"; done
  echo "xadd $key * noise noise"
done >forge
for key in $(cli keys 'tenon:{lab}:tasks:*'); do echo "xadd $key 9999999-0 noise noise"; done >>forge
cli <forge >forge.out
! grep -i err forge.out || complain "forging failed: $(grep -i err forge.out | head -3)"
wait "$forged" || complain "after forged answers: $(cat forged.err)"
[ "$(count forged.json)" -ge 60 ] && ! grep -q '1e-09\|1e-9' forged.json || complain "a forged answer counts"
grep -q 'came late or twice, and did not count' forged.err || complain "nothing is said of forged answers: $(cat forged.err)"

# Numbers of a stream that somebody has used up are begun anew.
timeout 250 "$TENON" tune "$product" --log used.json --trials 12 --queue "$url" --cooldown 0.1 --finalists 1 >used.out 2>used.err &
used=$!
pids+=("$used")
until_true has used.json 2 || complain "nothing is measured: $(cat used.err)"
for key in $(cli keys 'tenon:{lab}:tasks:*'); do cli xadd "$key" 9223372036854775807-0 noise noise >/dev/null; done
wait "$used" || complain "with numbers that are used up: $(cat used.err)"
has used.json 12 || complain "with numbers that are used up $(count used.json) records came"

# A user who may not read answers is told so, and does not wait for ever.
cli acl setuser mute on '>s' '~*' +@all -xread >/dev/null
run tune "$product" --log mute.json --trials 4 --queue "redis://mute:s@127.0.0.1:$port/lab" --patience 1s
[ "$got" -eq 1 ] && grep -q "no worker is left: .*the server says: NOPERM" err || complain "who may not read answers: $(cat err out)"

# A worker that crashes over each candidate costs records, not workers.
for pid in "${pids[@]:1:2}"; do kill -TERM "$pid"; wait "$pid" || complain "a worker did not end well"; done
[ -z "$(cli keys 'tenon:{lab}:worker:*')" ] || complain "workers that ended are still there"
worker crash --inject=run-crash@2
serves crash
run tune "$product" --log crash.json --trials 8 --queue "$url" --json
[ "$got" -eq 0 ] && [ "$(json out 'o["trials"], o["failed"] >= 2')" = '(8, True)' ] || complain "a crash: $(cat out err)"
grep -q '"error":"runtime"' crash.json || complain "a crash is no record: $(grep -o '"error":"[a-z_]*"' crash.json | sort | uniq -c)"

# Another version, another protocol, a clock that is wrong: refused by name.
cli sadd 'tenon:{lab}:workers' old odd late >/dev/null
cli set 'tenon:{lab}:worker:old' '{"queue":1,"version":"0.0.1","host":"old"}' ex 300 >/dev/null
cli set 'tenon:{lab}:worker:odd' '{"queue":7,"host":"odd"}' ex 300 >/dev/null
run tune "$product" --log d.json --trials 6 --queue "$url"
grep -q 'worker old is refused: it has Tenon 0.0.1, this is' err || complain "another version: $(cat err)"
grep -q 'worker odd is refused: it speaks protocol 7 of the queue, this is 1' err || complain "another protocol: $(cat err)"
grep -q '^worker   old: refused, 0 timed' out || complain "the summary: $(cat out)"
exit "$status"
