#!/usr/bin/env python3
"""JSONCHK: checks a file of Chrome trace events with nothing but python3's json module, and prints what it holds:

    X=5 b=1 e=1 i=2 C=3 s=1 t=1 f=1 processes=2 lanes=3

The exit status is 1 when something is wrong; what it is goes to standard error. `--names` prints the names of the events
instead, one JSON string a line; `--args NAME` the arguments of the first event of that name."""
import collections
import gzip
import json
import sys
from decimal import Decimal


class Wrong(Exception):
    pass


def want(truth, *words):
    if not truth:
        raise Wrong(" ".join(str(w) for w in words))


class Number(str):
    """A number with a fraction or an exponent, as it is written."""


def no_constant(text):
    raise Wrong("JSON has no", text)


def ns(value):
    text = str(value)
    want("e" not in text and "E" not in text, "exponent in", text)
    exact = Decimal(text) * 1000
    want(exact == exact.to_integral_value(), text, "us are no whole ns")
    return int(exact)


def is_id(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32


def check_fields(event):
    phase = event.get("ph")
    want(isinstance(phase, str) and len(phase) == 1, "no phase:", event)
    for key in ("pid", "tid"):
        want(is_id(event.get(key)), key, "is wrong:", event)
    if phase == "M":
        return
    want("ts" in event, "no ts:", event)
    ns(event["ts"])
    want(isinstance(event.get("name"), str), "no name:", event)
    if phase == "X":
        want("dur" in event and ns(event["dur"]) >= 0, "wrong dur:", event)
    if phase in "bestf":
        want(phase == "e" or "cat" in event, "no cat:", event)
        want(is_id(event.get("id")), "id is wrong:", event)
    if phase == "i":
        want(event.get("s") in ("t", "p", "g"), "no s:", event)
    if phase == "f":
        want(event.get("bp") == "e", "no bp:", event)
    if phase == "C":
        want(event.get("args"), "a counter without series:", event)
        for value in event["args"].values():
            want(value is None or isinstance(value, (int, Number)), "a counter's value is no number:", event)


def check_names(events):
    processes, lanes, order = {}, {}, {}
    for event in events:
        if event["ph"] != "M":
            continue
        if event["name"] == "process_name":
            want(event["pid"] not in processes, "two names of process", event["pid"])
            processes[event["pid"]] = event["args"]["name"]
        if event["name"] == "thread_name":
            want((event["pid"], event["tid"]) not in lanes, "two names of lane", event)
            lanes[event["pid"], event["tid"]] = event["args"]["name"]
        if event["name"] == "process_sort_index":
            order[event["pid"]] = event["args"]["sort_index"]
    for event in events:
        want(event["pid"] in processes, "a process without a name:", event)
        if event["ph"] != "M":
            want((event["pid"], event["tid"]) in lanes, "a lane without a name:", event)
    if processes:
        want(sorted(order, key=order.get)[0] == next(iter(processes)), "the first process is not sorted first")
    return processes, lanes


def check_nesting(events):
    lanes = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lanes[event["pid"], event["tid"]].append((ns(event["ts"]), ns(event["dur"]), event["name"]))
    for spans in lanes.values():
        for before, after in zip(spans, spans[1:]):
            want(before[0] != after[0] or before[1] >= after[1], "the shorter one comes first:", before, after)
        open_ends = []
        for start, length, name in sorted(spans, key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            want(not open_ends or start + length <= open_ends[-1], name, "at", start, "overlaps what is around it")
            open_ends.append(start + length)


def check_pairs(events):
    ranges, flows = {}, collections.defaultdict(list)
    for event in events:
        key = (event.get("cat"), event.get("id"), event.get("name"))
        if event["ph"] == "b":
            want(key not in ranges, "a range begins twice:", event)
            ranges[key] = ns(event["ts"])
        if event["ph"] == "e":
            want(key in ranges and ns(event["ts"]) >= ranges.pop(key), "a range ends that did not begin:", event)
        if event["ph"] in "stf":
            flows[key].append((ns(event["ts"]), event["ph"]))
    want(not ranges, "ranges that do not end:", ranges)
    for key, points in flows.items():
        starts = sorted(t for t, p in points if p == "s")
        steps = sorted(t for t, p in points if p == "t")
        ends = sorted(t for t, p in points if p == "f")
        want(len(starts) == len(ends), "a flow lacks an end or a start:", key)
        if len(starts) == 1:
            want(all(starts[0] <= t <= ends[0] for t in steps) and starts[0] <= ends[0], "a flow runs back:", key)


def check(text):
    trace = json.loads(text, parse_float=Number, parse_constant=no_constant)
    want(isinstance(trace, dict), "no object")
    events = trace["traceEvents"]
    other = trace["otherData"]
    want(isinstance(other.get("version"), str), "no version")
    want(isinstance(other.get("dropped"), int), "no number of drops")
    for event in events:
        check_fields(event)
    processes, lanes = check_names(events)
    check_nesting(events)
    check_pairs(events)
    return events, processes, lanes


def main():
    path = sys.argv[1]
    data = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        events, processes, lanes = check(data.decode("utf-8"))
    except (Wrong, ValueError, KeyError) as error:
        print(f"JSONCHK: {path}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if "--names" in sys.argv:
        for event in events:
            if event["ph"] != "M":
                print(json.dumps(event["name"]))
        return 0
    if "--args" in sys.argv:
        name = sys.argv[sys.argv.index("--args") + 1]
        print(json.dumps(next(e["args"] for e in events if e.get("name") == name and e["ph"] != "M"), sort_keys=True))
        return 0
    counts = collections.Counter(event["ph"] for event in events)
    print(*(f"{phase}={counts[phase]}" for phase in "XbeiCstf"), f"processes={len(processes)}", f"lanes={len(lanes)}")
    return 0


sys.exit(main())
