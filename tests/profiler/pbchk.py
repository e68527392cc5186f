#!/usr/bin/env python3
"""PBCHK: decodes XSpace from the table of upstream's field numbers below, checks what the messages promise, and prints
the space as JSON (names of planes, lines, events, their times in ps). The exit status is 1 when something is wrong."""
import json
import struct
import sys

# message: {number: (name, type, repeated)}
I, D, S, B = "varint", "double", "string", "bytes"
MESSAGES = {
    "XSpace": {1: ("planes", "XPlane", 1), 2: ("errors", S, 1), 3: ("warnings", S, 1), 4: ("hostnames", S, 1)},
    "XPlane": {1: ("id", I, 0), 2: ("name", S, 0), 3: ("lines", "XLine", 1), 4: ("event_metadata", "EventEntry", 1),
               5: ("stat_metadata", "StatEntry", 1), 6: ("stats", "XStat", 1)},
    "EventEntry": {1: ("key", I, 0), 2: ("value", "XEventMetadata", 0)},
    "StatEntry": {1: ("key", I, 0), 2: ("value", "XStatMetadata", 0)},
    "XLine": {1: ("id", I, 0), 2: ("name", S, 0), 3: ("timestamp_ns", I, 0), 4: ("events", "XEvent", 1),
              9: ("duration_ps", I, 0), 10: ("display_id", I, 0), 11: ("display_name", S, 0)},
    "XEvent": {1: ("metadata_id", I, 0), 2: ("offset_ps", I, 0), 5: ("num_occurrences", I, 0),
               3: ("duration_ps", I, 0), 4: ("stats", "XStat", 1)},
    "XStat": {1: ("metadata_id", I, 0), 2: ("double_value", D, 0), 3: ("uint64_value", I, 0),
              4: ("int64_value", I, 0), 5: ("str_value", S, 0), 6: ("bytes_value", B, 0), 7: ("ref_value", I, 0),
              8: ("compressed_str_value", B, 0)},
    "XEventMetadata": {1: ("id", I, 0), 2: ("name", S, 0), 3: ("metadata", B, 0), 4: ("display_name", S, 0),
                       5: ("stats", "XStat", 1), 6: ("child_id", I, 1)},
    "XStatMetadata": {1: ("id", I, 0), 2: ("name", S, 0), 3: ("description", S, 0)},
}
UNSIGNED = {"uint64_value", "ref_value"}


class Wrong(Exception):
    pass


def want(truth, *words):
    if not truth:
        raise Wrong(" ".join(str(w) for w in words))


def varint(data, at):
    value = shift = 0
    while True:
        want(at < len(data), "cut off in a varint")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value & (2**64 - 1), at
        shift += 7
        want(shift < 70, "a varint of more than ten bytes")


def field(data, at, wire):
    if wire == 0:
        return varint(data, at)
    if wire == 1:
        want(at + 8 <= len(data), "cut off in a double")
        return struct.unpack("<d", data[at:at + 8])[0], at + 8
    want(wire == 2, "wire type", wire)
    n, at = varint(data, at)
    want(at + n <= len(data), "cut off in a string or message")
    return data[at:at + n], at + n


def convert(name, kind, value):
    if kind == I:
        return value if name in UNSIGNED or value < 2**63 else value - 2**64
    if kind == S:
        return value.decode("utf-8")
    return decode(kind, value) if kind in MESSAGES else value


def decode(message, data):
    out, at = {name: [] for name, _, repeated in MESSAGES[message].values() if repeated}, 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = field(data, at, key & 7)
        if key >> 3 not in MESSAGES[message]:
            continue
        name, kind, repeated = MESSAGES[message][key >> 3]
        want((key & 7) == {I: 0, D: 1}.get(kind, 2), message, name, "has wire type", key & 7)
        value = convert(name, kind, value)
        if repeated:
            out[name].append(value)
        else:
            out[name] = value
    return out


def check_stats(stats, names):
    ids = [s.get("metadata_id", 0) for s in stats]
    want(len(ids) == len(set(ids)), "a stat's id comes twice in a list:", [names.get(i) for i in ids])
    for stat in stats:
        want(stat.get("metadata_id", 0) in names, "a stat without a name:", stat)
        want(sum(1 for k in stat if k.endswith("_value")) == 1, "a stat without exactly one value:", stat)
        want("ref_value" not in stat or stat["ref_value"] in names, "a reference to nothing:", stat)


def check_overlap(line):
    ends = []
    for event in sorted(line["events"], key=lambda e: (e.get("offset_ps", 0), -e.get("duration_ps", 0))):
        start, end = event.get("offset_ps", 0), event.get("offset_ps", 0) + event.get("duration_ps", 0)
        while ends and ends[-1] <= start:
            ends.pop()
        want(not ends or end <= ends[-1] or start == end, "events of a line overlap:", line.get("name"))
        if end > start:
            ends.append(end)


def stat_value(stat, names):
    if "ref_value" in stat:
        return names[stat["ref_value"]]
    value = next(v for k, v in stat.items() if k.endswith("_value"))
    return value.decode("latin-1") if isinstance(value, bytes) else value


def check_plane(plane):
    events = {e.get("key", 0): e["value"].get("name", "") for e in plane["event_metadata"]}
    stats = {e.get("key", 0): e["value"].get("name", "") for e in plane["stat_metadata"]}
    want(len(events) == len(plane["event_metadata"]), "an event's id comes twice")
    want(len(set(stats.values())) == len(plane["stat_metadata"]), "a stat's name comes twice")
    for entry in plane["event_metadata"] + plane["stat_metadata"]:
        want(entry.get("key", 0) == entry["value"].get("id", 0), "a map's key is not its value's id")
    check_stats(plane["stats"], stats)
    for line in plane["lines"]:
        check_overlap(line)
        for event in line["events"]:
            want(event.get("metadata_id", 0) in events, "an event without a name:", event)
            want("offset_ps" in event or "num_occurrences" in event, "an event without a place")
            check_stats(event["stats"], stats)
    lines = [{"id": l.get("id", 0), "name": l.get("name", ""), "timestamp_ns": l.get("timestamp_ns", 0),
              "events": [{"name": events[e["metadata_id"]], "offset_ps": e.get("offset_ps"),
                          "duration_ps": e.get("duration_ps", 0),
                          "stats": {stats[s["metadata_id"]]: stat_value(s, stats) for s in e["stats"]},
                          "types": {stats[s["metadata_id"]]: next(k for k in s if k.endswith("_value"))
                                    for s in e["stats"]}} for e in l["events"]]} for l in plane["lines"]]
    ids = [l["id"] for l in lines]
    want(len(ids) == len(set(ids)), "a line's id comes twice:", ids)
    return {"name": plane.get("name", ""), "lines": lines,
            "stats": {stats[s["metadata_id"]]: stat_value(s, stats) for s in plane["stats"]}}


def main():
    try:
        space = decode("XSpace", open(sys.argv[1], "rb").read())
        planes = [check_plane(p) for p in space["planes"]]
        want(len({p["name"] for p in planes}) == len(planes), "a plane's name comes twice")
    except (Wrong, ValueError, KeyError, StopIteration) as error:
        print(f"PBCHK: {sys.argv[1]}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    json.dump({"planes": planes, "errors": space["errors"], "warnings": space["warnings"],
               "hostnames": space["hostnames"]}, sys.stdout, indent=1)
    return 0


sys.exit(main())
