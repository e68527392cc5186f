#!/usr/bin/env bash
# A farm of three machines behind real sshd, each in a network namespace of its own, 1, 20 and 80 ms away. A run of TRIALS (300)
# survives: kill -9 of each worker in turn, a machine that is cut off for 30 s, sshd started anew, and the tuner killed and
# started again. Every candidate is then in the log once. Needs root, sshd and namespaces; ends with status 77 and a word without.
# The delays are netem's where the kernel has it, and the test's relay's otherwise.
set -euo pipefail
tenon=$1 relay=$2 trials=${3:-300} cut_s=${4:-30}
sshd=$(command -v sshd || echo /usr/sbin/sshd)
skip() {
  echo "farm: skipped: $1"
  exit 77
}
[ -x "$sshd" ] || skip "sshd is not installed (scripts/setup farm)"
[ "$(id -u)" = 0 ] || skip "namespaces with addresses need root"
ip netns add tenon-probe 2>/dev/null && ip netns del tenon-probe || skip "the kernel gives no network namespaces"

work=$(mktemp -d)
delays=(1 20 80)
tuner=
clean_up() {
  [ -z "$tuner" ] || kill -9 "$tuner" 2>/dev/null || true
  for i in 0 1 2; do
    ip netns pids "tenon$i" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "tenon$i" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap 'clean_up 2>/dev/null' EXIT

# ---- the machines --------------------------------------------------------------------------------------------------

mkdir -p /run/sshd "$work/home"
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
ssh-keygen -q -t ed25519 -N '' -f "$work/host"
cp "$work/key.pub" "$work/authorized"
chmod 700 "$work"
chmod 600 "$work/authorized"

start_sshd() {
  cat >"$work/sshd$1" <<CONFIG
Port 22
HostKey $work/host
AuthorizedKeysFile $work/authorized
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile $work/sshd$1.pid
MaxStartups 100
CONFIG
  ip netns exec "tenon$1" unshare --uts sh -c "hostname bench$1; exec $sshd -D -e -f $work/sshd$1" 2>>"$work/sshd$1.log" &
}

netem=true
for i in 0 1 2; do
  ip netns del "tenon$i" 2>/dev/null || true # of a run that was killed
  ip link del "tn$i" 2>/dev/null || true
  ip netns add "tenon$i"
  ip link add "tn$i" type veth peer name "far$i"
  ip link set "far$i" netns "tenon$i"
  ip addr add "10.77.$i.1/24" dev "tn$i"
  ip link set "tn$i" up
  ip -n "tenon$i" addr add "10.77.$i.2/24" dev "far$i"
  ip -n "tenon$i" link set "far$i" up
  ip -n "tenon$i" link set lo up
  tc qdisc add dev "tn$i" root netem delay "${delays[$i]}ms" 2>/dev/null || netem=false
  start_sshd "$i"
done
echo "delays of ${delays[*]} ms by $($netem && echo netem || echo "the test's relay: this kernel has no netem")"

options="-i $work/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR
  -o ConnectTimeout=5 -o ServerAliveInterval=3 -o ServerAliveCountMax=2"
: >"$work/hosts"
for i in 0 1 2; do
  way=$($netem || echo "$relay --delay=${delays[$i]} ")
  echo "tags=d${delays[$i]} exec $way""ssh" $options "root@10.77.$i.2 $tenon worker" >>"$work/hosts"
done

# ---- the run -------------------------------------------------------------------------------------------------------

program='C[i<640, j<640] = sum[k<640](A[i,k] * B[k,j])'
log=$work/log.json
: >"$log"
records() { grep -c '"steps"' "$log" 2>/dev/null || true; }
start_tuner() {
  "$tenon" tune "$program" --log "$log" --trials "$trials" --hosts "$work/hosts" --finalists 3 --cooldown 0.2 \
    --target threads=1 --json >"$work/out" 2>>"$work/err" &
  tuner=$!
}
is_running() { kill -0 "$tuner" 2>/dev/null; }
wait_for() { # so many records more, a minute at most
  local until=$(($(records) + $1))
  for ((k = 0; k < 600 && $(records) < until; k++)); do
    is_running || return 0
    sleep 0.1
  done
}
kill_worker() { # of machine $1: the process, not sshd
  ip netns pids "tenon$1" | while read -r pid; do
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$tenon")" ] && kill -9 "$pid" && echo "killed a worker of bench$1"
  done || true
}

SECONDS=0
start_tuner
wait_for $((trials / 12))
for i in 0 1 2; do
  kill_worker "$i"
  wait_for $((trials / 30))
done
echo "bench1 is cut off for $cut_s s, at $(records) records"
ip link set tn1 down
(sleep "$cut_s" && ip link set tn1 up) &
wait_for $((trials / 12))
echo "sshd of bench2 is started anew, at $(records) records"
ip netns pids tenon2 | xargs -r kill -9 2>/dev/null || true
sleep 2
start_sshd 2
wait_for $((trials / 12))
if is_running; then
  echo "the tuner is killed, at $(records) records"
  kill -9 "$tuner"
  wait "$tuner" 2>/dev/null || true
fi
start_tuner
wait_for $((trials / 12))
for i in 2 1 0; do
  kill_worker "$i"
  wait_for $((trials / 30))
done
status=0
wait "$tuner" || status=$?
tuner=

# ---- what came of it -----------------------------------------------------------------------------------------------

[ "$status" = 0 ] || { cat "$work/err" "$work/out"; exit 1; }
python3 - "$log" "$work/out" "$trials" "$SECONDS" <<'PYTHON'
import collections, json, sys
log, out, trials, seconds = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3]), sys.argv[4]
lines = [json.loads(line) for line in open(log)]
records = [r for r in lines if "steps" in r and not r.get("final")]
finals = [r for r in lines if r.get("final")]
distinct = {json.dumps(r["steps"]) for r in records}
by = collections.Counter(r["machine"] for r in records if "machine" in r)
here = [r for r in records if "machine" not in r and r["error"] != "build_timeout"]
errors = collections.Counter(r["error"] for r in records if r["error"] != "none")
print(f"{len(records)} records, {len(distinct)} distinct, {sum(errors.values())} failed, in {seconds} s; by machine: {dict(by)}")
for w in out["workers"]:
    print(f"  {w['name']}: {w['state']}, {w['timed']} timed after the tuner's restart, lost {w['lost']} times; {w.get('trouble', '')}")
assert len(records) == trials and len(distinct) == trials, "a candidate was lost, or counted twice"
assert not set(errors) - {"build_timeout"}, errors  # compiling is done here, where others may work, too
assert not here, here[0]
assert len(by) == 3, "a machine timed nothing"
of = {r.get("machine") for r in finals}
assert len(of) == 1 and None not in of, f"finals of several machines: {of}"
PYTHON
echo "farm: all $trials candidates are in the log once"
