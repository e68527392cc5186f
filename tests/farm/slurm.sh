#!/usr/bin/env bash
# A run whose workers Slurm starts: a real controller and two node daemons on this machine, with a munged of their own, in a
# folder that goes away. A job is cancelled and a node daemon killed on the way; every candidate is then in the log once.
# Needs root; ends with status 77 and a word where Slurm is not installed or cannot run.
set -euo pipefail
tenon=$1 trials=${2:-60}
skip() {
  echo "slurm: skipped: $1"
  exit 77
}
for program in munged slurmctld slurmd srun scontrol scancel; do
  command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || skip "$program is not installed (scripts/setup farm)"
done
[ "$(id -u)" = 0 ] || skip "its daemons are started as root"
PATH=$PATH:/usr/sbin
work=$(mktemp -d)
pids=()
clean_up() {
  scancel --full --state=RUNNING --user=root 2>/dev/null || true
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in $(pgrep -x slurmstepd || true); do # of a node that was killed: they outlive it
    { readlink "/proc/$pid"/fd/* 2>/dev/null || true; } | grep -q "^$work" && kill -9 "$pid" || true
  done
  rm -rf "$work"
}
trap clean_up EXIT
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ---- the daemons ---------------------------------------------------------------------------------------------------

chmod 755 "$work"
mkdir -m 700 "$work/munge" "$work/state"
mkdir "$work/one" "$work/two" "$work/socket"
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
chmod 600 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/socket/munge" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed" >"$work/munged.out" 2>&1 &
pids+=($!)
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<CONFIG
ClusterName=tenon
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$(port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/socket/munge
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
InactiveLimit=0
MessageTimeout=30
SlurmdTimeout=30
NodeName=one NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$(port) CPUs=1
NodeName=two NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$(port) CPUs=1
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONFIG
slurmctld -D >"$work/slurmctld.out" 2>&1 &
pids+=($!)
start_node() {
  slurmd -D -N "$1" >"$work/$1.out" 2>&1 &
  node=$!
  pids+=("$node")
}
start_node one
start_node two
second=$node
ready=
for ((k = 0; k < 150; k++)); do
  ready=$(sinfo -h -t idle -o %D 2>/dev/null || true)
  [ "$ready" = 2 ] && break
  sleep 0.2
done
[ "$ready" = 2 ] || skip "its nodes do not come up: $(tail -3 "$work"/*.out "$work"/*.log 2>/dev/null | tr '\n' ' ' | tail -c 600)"
timeout 30 srun -N1 -n1 true || skip "srun starts nothing: $(tail -3 "$work"/one.log | tr '\n' ' ')"

# ---- the run -------------------------------------------------------------------------------------------------------

log=$work/log.json
: >"$log"
records() { grep -c '"steps"' "$log" || true; }
TENON_LOG=off "$tenon" tune 'C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])' --log "$log" --trials "$trials" --finalists 2 --jobs 1 \
  --target threads=1 --cooldown 0.2 --json --patience 60s \
  --worker "exec srun -N1 -n1 --exclusive --input=all --unbuffered --quiet $tenon worker" \
  --worker "exec srun -N1 -n1 --exclusive --input=all --unbuffered --quiet $tenon worker" >"$work/out" 2>"$work/err" &
tuner=$!
pids+=("$tuner")
wait_for() {
  for ((k = 0; k < 600 && $(records) < $1; k++)); do kill -0 "$tuner" 2>/dev/null && sleep 0.1 || return 0; done
}
wait_for $((trials / 4))
job=$(squeue -h -o %A | head -1)
scancel "$job" && echo "job $job was cancelled at $(records) records"
wait_for $((trials / 2))
kill -9 "$second" && echo "a node daemon was killed at $(records) records"
sleep 1
start_node two
status=0
wait "$tuner" || status=$?
[ "$status" = 0 ] || { tail -n 5 "$work/err" "$work/out"; exit 1; }
python3 - "$log" "$work/out" "$trials" <<'PYTHON'
import collections, json, sys
log, out, trials = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
records = [r for r in map(json.loads, open(log)) if "steps" in r and not r.get("final")]
distinct = {json.dumps(r["steps"]) for r in records}
by = collections.Counter(r.get("machine") for r in records)
errors = collections.Counter(r["error"] for r in records if r["error"] not in ("none", "build_timeout"))
print(f"{len(records)} records, {len(distinct)} distinct, by machine: {dict(by)}")
for w in out["workers"]:
    print(f"  {w['name']}: {w['state']}, {w['timed']} timed, lost {w['lost']} times; {w.get('trouble', '')}")
assert len(records) == trials and len(distinct) == trials, "a candidate was lost, or counted twice"
assert not errors, errors
assert len({m for m in by if m}) == 2, "a node timed nothing"
assert sum(w["lost"] for w in out["workers"]) >= 1, "nothing was cancelled"
PYTHON
echo "slurm: all $trials candidates are in the log once"
