#!/usr/bin/env bash
# Row A27: TENON_PROFILE=...:trace=usdt. The probes stand in the notes of whatever holds the recorder, where readelf, which knows nothing of
# Tenon, finds them; perf reads the same notes, and bpftrace sees them fire where the kernel lets it. A shared object of
# one's own is taken the same way, and a wrong one is told.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
library=$(readlink -f "$TENON")
readelf -n "$library" >notes
for probe in push pop mark; do
  grep -A4 'Provider: tenon' notes | grep -q "Name: $probe" || { cat notes; exit 1; }
done
[ "$(grep -A4 'Name: push' notes | grep -c 'Arguments: 8@')" -ge 1 ] || { cat notes; exit 1; }
# the notes point at nops in the code
python3 - "$library" <<'END'
import re, subprocess, sys
notes = subprocess.run(["readelf", "-n", sys.argv[1]], capture_output=True, text=True).stdout
for location in re.findall(r"Provider: tenon\s+Name: \w+\s+Location: (0x[0-9a-f]+)", notes):
    at = int(location, 16)
    code = subprocess.run(["objdump", "-d", f"--start-address={at}", f"--stop-address={at + 4}", sys.argv[1]],
                          capture_output=True, text=True).stdout
    assert re.search(r"\bnop\b", code), code
END
tune() { "$TENON" tune 'C[i<32,j<32] = sum[k<32](A[i,k]*B[k,j])' --trials 2 --log log.json --json "$@" >out.json; }
tune --profile run.json:trace=usdt
[ -s run.json ]
cat >tracer.c <<'END'
#include <stdio.h>
#include <tenon/profiler.h>
static void push(void *user, const char *name) { (void)user; fprintf(stderr, "push %s\n", name); }
static void pop(void *user) { (void)user; }
int tn_tracer_init(tn_tracer *tracer) { tracer->push = push, tracer->pop = pop; return 0; }
END
cc -std=c17 -I"$TENON_BUILD/include" -fPIC -shared tracer.c -o tracer.so
TENON_PROFILE=run.json:trace=./tracer.so tune 2>err
grep -q 'push InitializeTask' err || { head err; exit 1; }
tune --profile run.json:trace=./none.so 2>err
grep -q 'no pass-through to ./none.so' err || { cat err; exit 1; }
tune --profile run.json:trace= 2>err
grep -q 'trace takes usdt or the path' err || { cat err; exit 1; }
if command -v perf >/dev/null && perf buildid-cache --help >/dev/null 2>&1; then
  perf --buildid-dir "$work/cache" buildid-cache --add "$library" 2>/dev/null || true
  perf --buildid-dir "$work/cache" list sdt 2>/dev/null | grep sdt_tenon || echo "perf lists no probes here"
fi
if command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit() }' >/dev/null 2>&1; then
  bpftrace -c "$TENON tune C[i<32]=A[i] --trials 2 --log l2.json --profile r2.json:trace=usdt" \
    -e "usdt:$library:tenon:push { @[str(arg0)] = count(); }" >seen
  grep -q InitializeTask seen || { cat seen; exit 1; }
fi
