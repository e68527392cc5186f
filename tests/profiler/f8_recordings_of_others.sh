#!/usr/bin/env bash
# Row F8: recordings of others: the text of `perf script`, databases of nvprof and Nsight Systems, PyTorch's Kineto. The
# reports work on them; what is wrong is refused by its line or row.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
profile() { "$TENON" profile "$@"; }
fails() {
  local words=$1
  shift
  if profile "$@" >out 2>err; then echo "taken: $*"; cat out; exit 1; fi
  grep -q -- "$words" err || { echo "no '$words' in:"; cat err; exit 1; }
}
# number FILE NAME COLUMN: of the row NAME
number() { profile analyse "$1" "{\"type\": \"op_type\", \"filter_condition\": {\"name\": {\"in\": [\"$2\"]}}}" |
  python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["object"][0][a["col_name"].index(sys.argv[1])])' "$3"; }
equals() { [ "$1" = "$2" ] || { echo "$1 instead of $2"; exit 1; }; }

# ---- perf script: main calls f for 3 ms, of which g has 1; another thread with a blank in its name; no call chains
printf '%s\n' '# a comment' 'my app 100/100 [001] 10.000000: 250000 cycles:u: ' '	5501 f+0x10 (/bin/app)' '	5500 main+0x1 (/bin/app)' '' \
  'my app 100/100 [001] 10.001000: 250000 cycles:u: ' '	5502 g(int, char (*)[2])+0x10 (/bin/app)' '	5501 f+0x20 (/bin/app)' '	5500 main+0x1 (/bin/app)' '' \
  'my app 100/100 [001] 10.002000: 250000 cycles:u: ' '	5501 f+0x30 (/bin/app)' '	5500 main+0x1 (/bin/app)' '' \
  '          worker 100/101 [000] 10.000500: 1 cycles:  ffff00 [unknown] ([kernel])' \
  '          worker 100/101 [000] 10.001500: 1 cycles:  ffff00 spin+0x4 (/bin/app)' >perf.txt
equals "$(number perf.txt main total_ns)" 3000000
equals "$(number perf.txt main calls)" 1
equals "$(number perf.txt f self_ns)" 2000000
equals "$(number perf.txt 'g(int, char (*)[2])' total_ns)" 1000000
equals "$(number perf.txt spin total_ns)" 1000000
profile convert perf.txt perf.folded
grep -q '^main;f;g(int, char (\*)\[2\]) 1000$' perf.folded || { cat perf.folded; exit 1; }
profile advise perf.txt >/dev/null
profile convert perf.txt perf.json
python3 -c 'import json; n = {e["args"]["name"] for e in json.load(open("perf.json"))["traceEvents"] if e["ph"] == "M" and "name" in e["args"]}; assert {"my app", "worker"} <= n, n'
{ head -3 perf.txt; echo 'what is this'; } >bad.txt
fails 'bad.txt, line 4: neither a sample' report bad.txt
printf '\t5501 f (x)\n' | sed 's/^/x 1 1.5: a:\n\tnothing\n/' >bad.txt
fails 'bad.txt, line 2: a frame begins with an address' report bad.txt
printf 'a\0b' >bad.txt
fails 'line 0: a NUL byte' report bad.txt
if command -v perf >/dev/null && perf record -q -e cpu-clock -g -o perf.data "$TENON" show 'C[i<64] = A[i] * 2' -s 'split(C, i, 8)' >/dev/null 2>&1; then
  perf script -i perf.data >real.txt 2>/dev/null
  if [ -s real.txt ]; then
    profile averages real.txt -n 3 >real
    grep -q '^Self CPU time total: [1-9]' real || { cat real; exit 1; }
  fi
fi

# ---- nvprof and Nsight Systems: one call launches a kernel of 500 ns and one a copy of 4096 bytes
python3 - <<'END'
import sqlite3
nvprof, nsys, wrong, other = (sqlite3.connect(n) for n in ("nvprof.db", "nsys.db", "wrong.db", "other.db"))
nvprof.executescript("""
CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringTable VALUES(7, 'gemm');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1, 13, 1000, 1100, 42, 43, 5), (2, 31, 1200, 1900, 42, 43, 6);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY, start INT, end INT, deviceId INT, streamId INT, correlationId INT, name INT);
INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(1, 1100, 1600, 0, 7, 5, 7);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, bytes INT, start INT, end INT, deviceId INT, streamId INT, correlationId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1, 4096, 1700, 1800, 0, 7, 6);""")
tid = 42 << 24 | 43
schema = """
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES(1, 'cudaLaunchKernel'), (2, 'gemm');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000, 1100, 0, %d, 5, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, correlationId INT, demangledName INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1100, %d, 0, 7, 5, 2);
CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT);
INSERT INTO NVTX_EVENTS VALUES(900, 2000, 59, 'step', NULL, %d), (950, NULL, 34, 'mark', NULL, %d);"""
nsys.executescript(schema % (tid, 1600, tid, tid))
wrong.executescript(schema % (tid, 1000, tid, tid))
other.executescript("CREATE TABLE addresses(name TEXT);")
for db in (nvprof, nsys, wrong, other): db.commit(), db.close()
END
equals "$(number nvprof.db gemm total_ns)" 500
equals "$(number nvprof.db 'runtime call 13' device_ns)" 500.0
equals "$(number nvprof.db copy calls)" 1
equals "$(number nsys.db gemm total_ns)" 500
equals "$(number nsys.db cudaLaunchKernel device_ns)" 500.0
equals "$(number nsys.db step device_ns)" 500.0
equals "$(number nsys.db step self_ns)" 1000
profile averages nsys.db --sort cuda_time_total | grep -q 'DEV total'
profile convert nsys.db nsys.json
fails 'wrong.db: table CUPTI_ACTIVITY_KIND_KERNEL, row 1: start 1100, end 1000' report wrong.db
fails 'other.db: it has no table that nvprof' report other.db
head -c 3000 nsys.db >cut.db
fails 'cut.db: ' report cut.db

# ---- Kineto, as torch.profiler writes it
cat >kineto.json <<'END'
{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 100.0, "dur": 50.0, "args": {"External id": 1, "Input Dims": [[2, 3], [3, 4]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 110.0, "dur": 5.0, "args": {"External id": 1, "correlation": 77}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 120.0, "dur": 20.0, "args": {"correlation": 77, "device": 0, "stream": 7}},
{"ph": "s", "id": 77, "pid": 9, "tid": 9, "ts": 110.0, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 77, "pid": 0, "tid": 7, "ts": 120.0, "cat": "ac2g", "name": "ac2g", "bp": "e"}]}
END
equals "$(number kineto.json aten::mm device_ns)" 20000.0
equals "$(number kineto.json sgemm total_ns)" 20000
sed 's/"dur": 20.0/"dur": 20.0 20/' kineto.json >bad.json
fails 'bad.json, byte ' report bad.json
