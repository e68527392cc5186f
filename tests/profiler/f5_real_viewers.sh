#!/usr/bin/env bash
# Row F5: viewers that others wrote open the trace of a tuning run and find in it what we wrote. speedscope runs in
# headless Chromium: every thread is a track of its own with as many slices as the file has scopes of it. Perfetto's
# trace_processor_shell and tracy-import-chrome are used where they are installed. `make profiler-table` installs the
# first. Skipped where there is none; JSONCHK and PBCHK, which share no code with the writers, read the same files in the
# other rows.
set -euo pipefail
speedscope=$TENON_BUILD/viewers/node_modules/speedscope
has_speedscope=
if command -v node chromium >/dev/null && [ -e "$speedscope/dist/release/index.html" ]; then has_speedscope=1; fi
if [ -z "$has_speedscope" ] && ! command -v trace_processor_shell tracy-import-chrome >/dev/null; then
  echo "skipped: no viewer is installed; \`make profiler-table\` installs speedscope and Chromium"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TENON" tune 'C[i<64,j<64] = sum[k<64](A[i,k]*B[k,j])' --trials 64 --log log.json --profile run.trace.json --json >out.json
written=$(python3 -c 'import json
print(sum(e["ph"] in "Xb" for e in json.load(open("run.trace.json"))["traceEvents"]))')

if [ -n "$has_speedscope" ]; then
  node "$TENON_SOURCE/tests/profiler/viewer/speedscope.js" "$speedscope" run.trace.json screen.png >seen.json
  python3 - <<'END'
import collections, json, struct, zlib
events = json.load(open("run.trace.json"))["traceEvents"]
seen = json.load(open("seen.json"))
names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
written = collections.Counter((e["pid"], e["tid"]) for e in events if e["ph"] == "X")
tracks = {t["name"]: t["slices"] for t in seen["tracks"]}
assert seen["errors"] == [], seen["errors"]
assert len(tracks) == len(written), (tracks, written)
for (pid, tid), n in written.items():
    name = "%s (pid %d), %s (tid %d)" % (names["process_name", pid, 0], pid, names["thread_name", pid, tid], tid)
    assert tracks[name] == n, (name, n, tracks)
# The picture is not empty: PNG rows of many colours.
png, at, pixels = open("screen.png", "rb").read(), 8, b""
while at < len(png):
    size, kind = struct.unpack(">I4s", png[at:at + 8])
    if kind == b"IHDR": width, height, depth, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
    if kind == b"IDAT": pixels += png[at + 8:at + 8 + size]
    at += size + 12
rows = zlib.decompress(pixels)
assert (width, height) >= (1000, 500) and len(set(rows)) > 100, (width, height, len(set(rows)))
print("speedscope: %d tracks, %d slices, %d frames" % (len(tracks), sum(tracks.values()), seen["frames"]))
END
fi
if command -v trace_processor_shell >/dev/null; then
  echo 'select count(*) as n from slice;' >slices.sql
  echo "select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0;" >errors.sql
  [ "$(trace_processor_shell -q slices.sql run.trace.json 2>/dev/null | tail -1)" = "$written" ]
  [ "$(trace_processor_shell -q errors.sql run.trace.json 2>/dev/null | tail -1)" = 0 ]
fi
if command -v tracy-import-chrome >/dev/null; then
  tracy-import-chrome run.trace.json run.tracy
  [ -s run.tracy ]
fi
