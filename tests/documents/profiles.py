#!/usr/bin/env python3
"""Every event of a profile in every document that is made from it, against numbers computed here.

    tests/documents/profiles.py HLOSCOPE

Profiles are made at random with an encoder of their own: threads of a host whose operators nest, a
device with lines of operators and modules, counters. What they must give is computed from the same
lists: the rows of the CSV and of the raw text, Chrome's events, OpenTelemetry's spans with their
parents, Perfetto's slices, TensorBoard's lines, the table of operators; attributes by their names,
types and values, what an operator's metadata says among them.
"""

import csv
import io
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

EPOCH_NS = 1_700_000_000_000_000_000


# ---- protobuf -----------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def put(field: int, value: int | str | bytes | float) -> bytes:
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    if isinstance(value, float):
        return varint(field << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    found = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
        elif tag & 7 == 1:
            found.append((tag >> 3, data[at : at + 8]))
            at += 8
        else:
            size = number()
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def first(message: bytes, field: int, default: int | bytes = 0):
    return next((value for number, value in fields(message) if number == field), default)


# ---- a profile ----------------------------------------------------------------------------------


class Event:
    def __init__(self, name: str, start_ps: int, duration_ps: int, stats: dict):
        self.name = name
        self.start_ps = start_ps  # after its line's begin
        self.duration_ps = duration_ps
        self.stats = stats
        self.children: list[Event] = []

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps


def nested(chance: random.Random, begin: int, end: int, depth: int, stats) -> list[Event]:
    """Events one after the other, of which some have others within; some touch."""
    found = []
    at = begin
    while end - at > 40_000 and len(found) < 6:
        at += chance.choice((0, 1000 * chance.randrange(1, 20)))
        duration = 1000 * chance.randrange(5, max(6, (end - at) // 2000))
        if at + duration > end:
            break
        event = Event(f"op.{chance.randrange(7)}", at, duration, stats())
        if depth and chance.random() < 0.6:
            event.children = nested(chance, at, at + duration, depth - 1, stats)
        found.append(event)
        at += duration
    return found


def flat(events: list[Event], depth: int = 0):
    for event in events:
        yield event, depth
        yield from flat(event.children, depth + 1)


class Plane:
    def __init__(self, name: str, first_number: int = 1):
        self.name = name
        self.first_number = first_number  # of what its events and stats are
        self.lines: list[tuple[int, str, int, list[Event]]] = []
        self.names: list[str] = []
        self.stats: list[str] = []
        self.meta_stats: dict[str, dict] = {}  # of a name's metadata: what an operator is

    def number(self, names: list[str], text: str) -> int:
        if text not in names:
            names.append(text)
        return names.index(text) + self.first_number

    def encoded_stats(self, field: int, stats: dict) -> bytes:
        message = b""
        for key, value in stats.items():
            stat = put(1, self.number(self.stats, key))
            if isinstance(value, str):
                stat += put(5, value)
            elif isinstance(value, float):
                stat += put(2, value)
            else:
                stat += put(4 if value < 0 else 3, value)
            message += put(field, stat)
        return message

    def attributes(self, event: Event) -> dict:
        """What an operator is, then what this event has of its own."""
        return self.meta_stats.get(event.name, {}) | event.stats

    def encode(self) -> bytes:
        lines = b""
        for tid, name, timestamp, events in self.lines:
            body = put(1, tid) + put(2, name) + put(3, timestamp)
            for event, _ in flat(events):
                message = put(1, self.number(self.names, event.name))
                message += put(2, event.start_ps) + put(3, event.duration_ps)
                body += put(4, message + self.encoded_stats(4, event.stats))
            lines += put(3, body)
        metas = b""
        for number, name in enumerate(self.names, self.first_number):
            stats = self.encoded_stats(5, self.meta_stats.get(name, {}))
            metas += put(4, put(1, number) + put(2, put(1, number) + put(2, name) + stats))
        for number, name in enumerate(self.stats, self.first_number):
            metas += put(5, put(1, number) + put(2, put(1, number) + put(2, name)))
        return put(1, 1) + put(2, self.name) + lines + metas


def profile(seed: int) -> tuple[list[Plane], bytes]:
    chance = random.Random(seed)
    host = Plane("/host:CPU")

    def operator() -> dict:
        return {"hlo_op": "", "program_id": 7, "left": -chance.randrange(1, 9), "size": 12}

    def named(events: list[Event]) -> list[Event]:
        for event, _ in flat(events):
            event.stats["hlo_op"] = event.name
        return events

    for tid in (11, 12):
        events = named(nested(chance, 5_000, 3_000_000, 3, operator))
        host.lines.append((tid, f"tf_XLAEigen/{tid}", EPOCH_NS + 1000 * tid, events))
    python = nested(chance, 0, 2_000_000, 4, dict)
    for event, _ in flat(python):
        event.name = f"call {event.name}"
    host.lines.append((3, "python", EPOCH_NS, python))
    device = Plane("/device:TPU:0", 1 << 40)
    runs = [Event("jit_f(7)", 1_000_000 * i, 900_000, {"run_id": i + 1}) for i in range(3)]
    ops = [
        part
        for run in runs
        for part in nested(
            chance,
            run.start_ps,
            run.end_ps,
            2,
            lambda: {"share": 0.25, "most": 2**64 - 1, "least": -(2**63)},
        )
    ]
    for number in range(0, 7, 2):  # the others say nothing of themselves
        device.meta_stats[f"op.{number}"] = {
            "hlo_category": f"category {number % 3}",
            "flops": 1000 * number,
            "bytes_accessed": 64 + number,
            "tf_op": f"jit(f)/layer{number}/dot",
            "source": f"model{number}.py:{10 + number}",
        }
    device.lines.append((1, "XLA Modules", EPOCH_NS + 5000, runs))
    device.lines.append((2, "XLA Ops", EPOCH_NS + 5000, ops))
    planes = [host, device]
    return planes, b"".join(put(1, plane.encode()) for plane in planes)


# ---- other readers ------------------------------------------------------------------------------


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def otlp_attributes(span: dict) -> dict:
    values = {}
    for attribute in span["attributes"]:
        key, value = attribute["key"], attribute["value"]
        if key.startswith(("thread.", "hloscope.")):
            continue
        if "intValue" in value:
            values[key] = int(value["intValue"])
        else:
            values[key] = value.get("stringValue", value.get("doubleValue"))
    return values


def perfetto_slices(data: bytes) -> tuple[list[tuple], dict[int, str]]:
    """(track, start, end, name, annotations) of each slice, and the names of tracks."""
    packets = []
    for number, packet in fields(data):
        equal(number, 1, "field of a trace")
        squeezed = first(packet, 50, b"")
        packets += fields(zlib.decompress(squeezed)) if squeezed else [(1, packet)]
    names: dict[int, str] = {}
    keys: dict[int, str] = {}
    tracks: dict[int, str] = {}
    open_slices: dict[int, list] = {}
    slices = []
    for _, packet in packets:
        for interned in (value for number, value in fields(packet) if number == 12):
            for number, entry in fields(interned):
                into = names if number == 2 else keys
                into[first(entry, 1)] = first(entry, 2, b"").decode()
        if track := first(packet, 60, b""):
            tracks[first(track, 1)] = first(track, 2, b"").decode()
        if not (event := first(packet, 11, b"")):
            continue
        time, kind, lane = first(packet, 8), first(event, 9), first(event, 11)
        assert lane in tracks, lane
        if kind == 2:
            slices.append((lane, *open_slices[lane].pop()(time)))
            continue
        equal(kind, 1, "type of an event")
        values = {}
        for annotation in (value for number, value in fields(event) if number == 4):
            for number, value in fields(annotation):
                key = keys[first(annotation, 1)]
                if number == 3:
                    values[key] = value
                elif number == 4:
                    values[key] = signed(value)
                elif number == 5:
                    values[key] = struct.unpack("<d", value)[0]
                elif number == 6:
                    values[key] = value.decode()
        name = names[first(event, 10)]
        open_slices.setdefault(lane, []).append(
            lambda end, time=time, name=name, values=values: (time, end, name, values)
        )
    assert not any(open_slices.values()), "slices left open"
    return slices, tracks


# ---- what must be in the documents --------------------------------------------------------------


def expected_rows(planes: list[Plane]) -> list[tuple]:
    """(start_ns, duration_ns, pid, tid, thread, category, name, depth, attributes)"""
    rows = []
    for pid, plane in enumerate(planes, 1):
        for tid, thread, timestamp, events in plane.lines:
            for event, _ in flat(events):
                start = timestamp - EPOCH_NS + event.start_ps // 1000
                if "hlo_op" in event.stats or thread == "XLA Ops":
                    category = "operator"
                elif thread == "XLA Modules":
                    category = "execute"
                else:
                    category = "framework"
                around = sum(
                    other is not event
                    and (other.start_ps, -other.duration_ps) <= (event.start_ps, -event.duration_ps)
                    and event.start_ps < other.end_ps
                    for other, _ in flat(events)
                )
                shown = [f"{key}={value}" for key, value in plane.attributes(event).items()]
                rows.append(
                    (start, event.duration_ps // 1000, pid, tid, thread, category, event.name)
                    + (around, " ".join(shown))
                )
    return sorted(rows)


def equal(found, wanted, what: str) -> None:
    if found == wanted:
        return
    if isinstance(found, list):
        for i, (a, b) in enumerate(zip(found, wanted)):
            if a != b:
                raise AssertionError(f"{what}, entry {i}: {a}, expected {b}")
        raise AssertionError(f"{what}: {len(found)} entries, expected {len(wanted)}")
    raise AssertionError(f"{what}: {found}, expected {wanted}")


class Case:
    def __init__(self, hloscope: str, folder: pathlib.Path, seed: int):
        self.hloscope = hloscope
        self.planes, data = profile(seed)
        self.folder = folder
        self.file = folder / f"{seed}.xplane.pb"
        self.file.write_bytes(data)
        self.rows = expected_rows(self.planes)

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            [self.hloscope, *arguments],
            cwd=self.folder,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout

    def rows_are_the_events(self) -> None:
        text = self.run("export", str(self.file), "--to=csv", "-o", "-")
        rows = list(csv.DictReader(io.StringIO(text)))
        found = sorted(
            tuple(int(row[key]) for key in ("start_ns", "duration_ns", "pid", "tid"))
            + (row["thread"], row["category"], row["name"], int(row["depth"]), row["attributes"])
            for row in rows
        )
        equal(found, self.rows, "rows")
        equal({row["kind"] for row in rows}, {"span"}, "kinds")
        equal(len({row["span_id"] for row in rows}), len(rows), "numbers of spans")
        by_place = {}
        for row in rows:  # in order of time: whoever is open around it on its thread
            lane = by_place.setdefault((row["pid"], row["tid"]), [])
            del lane[int(row["depth"]) :]
            equal(
                int(row["start_ns"]),
                max([int(row["start_ns"])] + [int(r["start_ns"]) for r in lane]),
                "order",
            )
            lane.append(row)

    def raw_text_has_them(self) -> None:
        text = self.run("export", str(self.file), "--to=raw", "-o", "-")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        found = sorted(tuple(map(int, line.split()[:2])) for line in lines)
        equal(found, sorted(row[:2] for row in self.rows), "raw lines")

    def chrome_has_them(self) -> None:
        document = json.loads(self.run("export", str(self.file), "--to=chrome", "-o", "-"))
        found = sorted(
            (round(1000 * e["ts"]), round(1000 * e["dur"]), e["pid"], e["name"])
            for e in document["traceEvents"]
            if e["ph"] == "X"
        )
        equal(found, sorted((r[0], r[1], r[2], r[6]) for r in self.rows), "Chrome's events")
        threads = {
            (e["pid"], e["args"]["name"])
            for e in document["traceEvents"]
            if e["ph"] == "M" and e["name"] == "thread_name"
        }
        equal(threads, {(r[2], r[4]) for r in self.rows}, "Chrome's threads")
        equal(
            sorted(
                (round(1000 * e["ts"]), e["name"], json.dumps(e.get("args", {}), sort_keys=True))
                for e in document["traceEvents"]
                if e["ph"] == "X"
            ),
            sorted(self.chrome_arguments()),
            "Chrome's arguments",
        )
        programs = sorted(
            e["name"]
            for e in document["traceEvents"]
            if e["ph"] == "X" and e.get("args", {}).get("program") == "jit_f"
        )
        wanted = sorted(
            event.name
            for plane in self.planes
            for _, _, _, events in plane.lines
            for event, _ in flat(events)
            if "program_id" in event.stats
        )
        equal(programs, wanted, "events of the program")

    def chrome_arguments(self):
        """Of an operator what it is; of others what the event says."""
        for plane in self.planes:
            for _, thread, timestamp, events in plane.lines:
                for event, _ in flat(events):
                    what = plane.meta_stats.get(event.name)
                    if thread == "XLA Ops" or "program_id" in event.stats:
                        shown = {"program": "jit_f"} if "program_id" in event.stats else {}
                        if what:
                            shown |= {
                                "category": what["hlo_category"],
                                "op_name": what["tf_op"],
                                "source": what["source"],
                                "flops": what["flops"],
                                "bytes": what["bytes_accessed"],
                            }
                    else:
                        shown = event.stats
                    start = timestamp - EPOCH_NS + event.start_ps // 1000
                    yield start, event.name, json.dumps(shown, sort_keys=True)

    def opentelemetry_has_them(self) -> None:
        text = self.run("export", str(self.file), "--to=otlp", "-o", "-")
        spans = [
            span
            for line in text.splitlines()
            for resource in json.loads(line).get("resourceSpans", [])
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
        found = sorted(
            (
                int(span["startTimeUnixNano"]) - EPOCH_NS,
                int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]),
                span["name"],
            )
            for span in spans
        )
        equal(found, sorted((r[0], r[1], r[6]) for r in self.rows), "spans")
        by_id = {span["spanId"]: span for span in spans}
        equal(len(by_id), len(spans), "numbers of spans")
        equal(
            sorted(
                (
                    int(span["startTimeUnixNano"]) - EPOCH_NS,
                    span["name"],
                    by_id[span["parentSpanId"]]["name"] if "parentSpanId" in span else "",
                    repr(otlp_attributes(span)),
                )
                for span in spans
            ),
            sorted(self.with_parents()),
            "spans with parents and attributes",
        )
        for span in spans:  # a trace is what hangs together
            if "parentSpanId" in span:
                equal(span["traceId"], by_id[span["parentSpanId"]]["traceId"], "trace")

    def with_parents(self):
        def walk(events: list[Event], around: str):
            for event in events:
                yield event, around
                yield from walk(event.children, event.name)

        for plane in self.planes:
            for _, thread, timestamp, events in plane.lines:
                for event, around in walk(events, ""):
                    start = timestamp - EPOCH_NS + event.start_ps // 1000
                    values = plane.attributes(event)
                    for key, value in values.items():  # OTLP's whole numbers have a sign
                        values[key] = str(value) if value == 2**64 - 1 else value
                    yield start, event.name, around, repr(values)

    def perfetto_has_them(self) -> None:
        file = self.file.with_suffix(".pftrace")
        self.run("export", str(self.file), "--to=perfetto", "-o", str(file))
        slices, tracks = perfetto_slices(file.read_bytes())
        found = sorted(
            (start, end - start, name, repr(values)) for _, start, end, name, values in slices
        )
        wanted = sorted(
            (
                timestamp - EPOCH_NS + event.start_ps // 1000,
                event.duration_ps // 1000,
                event.name,
                repr(plane.attributes(event)),
            )
            for plane in self.planes
            for _, _, timestamp, events in plane.lines
            for event, _ in flat(events)
        )
        equal(found, wanted, "slices")
        for thread in {row[4] for row in self.rows}:
            assert any(thread in name for name in tracks.values()), (thread, tracks)

    def speedscope_opens_and_closes_them(self) -> None:
        document = json.loads(self.run("export", str(self.file), "--to=speedscope", "-o", "-"))
        found = []
        for lane in document["profiles"]:
            open_frames = []
            at = -math.inf
            for event in lane["events"]:
                assert event["at"] >= at, (event, at)
                at = event["at"]
                if event["type"] == "O":
                    open_frames.append((event["frame"], at))
                else:
                    frame, begin = open_frames.pop()
                    equal(frame, event["frame"], "the frame that closes")
                    name = document["shared"]["frames"][frame]["name"]
                    found.append((round(at - begin), name))
            equal(open_frames, [], "frames left open")
        equal(document["profiles"][0]["unit"], "nanoseconds", "unit")
        equal(sorted(found), sorted((r[1], r[6]) for r in self.rows), "speedscope's frames")

    def written_lanes(self, file: pathlib.Path, added: str, kept: list | None = None) -> list:
        """The operators' lines of the plane that the export adds; other events go to kept."""
        kept = [] if kept is None else kept
        logs = f"logs-{file.stem}"
        self.run("export", str(file), "--to=tensorboard", "-o", logs)
        written = list((self.folder / logs).rglob("*.xplane.pb"))
        equal(len(written), 1, "files")
        lanes = []
        for number, plane in fields(written[0].read_bytes()):
            if number != 1:
                continue
            name = first(plane, 2).decode()
            metas = {}
            for field, entry in fields(plane):
                if field == 4:
                    meta = first(entry, 2)
                    metas[first(meta, 1)] = first(meta, 4, first(meta, 2, b"")).decode()
            for field, line in fields(plane):
                if field != 3:
                    continue
                begin = first(line, 3)
                events = [
                    (begin * 1000 + first(e, 2), first(e, 3), metas[first(e, 1)])
                    for f, e in fields(line)
                    if f == 4
                ]
                if name == added and first(line, 2) == b"XLA Ops":
                    lanes.append(events)
                elif name != added:
                    kept += events
        return lanes

    def tensorboard_nests_them(self) -> None:
        kept = []
        lanes = self.written_lanes(self.file, "/device:TPU:1", kept)
        for events in lanes:  # events of a line nest, or viewers drop them
            ends = []
            for start, duration, _ in events:
                while ends and ends[-1] <= start:
                    ends.pop()
                assert not ends or start + duration <= ends[-1], (start, duration, ends)
                ends.append(start + duration)
        wanted = [
            [
                (timestamp * 1000 + event.start_ps, event.duration_ps, event.name)
                for event, _ in flat(events)
            ]
            for plane in self.planes
            for _, _, timestamp, events in plane.lines
        ]
        equal(sorted(kept), sorted(event for lane in wanted for event in lane), "what is copied")
        equal(sorted(map(sorted, lanes)), sorted(map(sorted, wanted[:2])), "lines of operators")

    def late_ends_are_cut(self) -> None:
        """An event that ends after the one around it, and after others within that have ended."""
        host = Plane("/host:CPU")
        times = ((0, 100), (10, 10), (12, 3), (90, 40), (200, 5))
        events = [
            Event(f"op.{i}", 1000 * begin, 1000 * length, {"hlo_op": f"op.{i}", "program_id": 7})
            for i, (begin, length) in enumerate(times)
        ]
        host.lines.append((11, "tf_XLAEigen/11", EPOCH_NS, events))
        file = self.folder / f"late-{self.file.name}"
        file.write_bytes(put(1, host.encode()))
        lanes = self.written_lanes(file, "/device:TPU:0")
        wanted = [(0, 100), (10, 10), (12, 3), (90, 10), (200, 5)]
        found = [
            ((start - EPOCH_NS * 1000) // 1000, length // 1000) for start, length, _ in lanes[0]
        ]
        equal(found, wanted, "times")

    def operators_add_up(self) -> None:
        wanted = {}
        for device, events in (
            ("CPU", [e for line in self.planes[0].lines[:2] for e in line[3]]),
            ("/device:TPU:0", self.planes[1].lines[1][3]),
        ):
            for event, _ in flat(events):
                row = wanted.setdefault((device, event.name), [0, 0, 0, 0])
                row[0] += 1
                row[1] += event.duration_ps
                row[2] += event.duration_ps - sum(c.duration_ps for c in event.children)
                row[3] = max(row[3], event.duration_ps)
        document = json.loads(
            self.run("tables", str(self.file), "hlo-operators", "--format=json", "--by-device")
        )
        columns = [column["name"] for column in document["columns"]]
        rows = [
            dict(zip(columns, row)) if isinstance(row, list) else row for row in document["rows"]
        ]
        equal(len(rows), len(wanted), "operators")
        total = sum(row[2] for row in wanted.values())
        for row in rows:
            device = next(d for d, _ in wanted if d.endswith(row["device"].split(":")[-1]))
            count, time, self_time, longest = wanted[device, row["name"]]
            for key, value in (
                ("occurrences", count),
                ("time", time / 1000),
                ("self_time", self_time / 1000),
                ("mean", self_time / 1000 / count),
                ("max", longest / 1000),
                ("share", self_time / total),
            ):
                assert math.isclose(row[key], value, rel_tol=1e-9), (row["name"], key, row, value)


CHECKS = [
    Case.rows_are_the_events,
    Case.raw_text_has_them,
    Case.chrome_has_them,
    Case.opentelemetry_has_them,
    Case.perfetto_has_them,
    Case.speedscope_opens_and_closes_them,
    Case.tensorboard_nests_them,
    Case.late_ends_are_cut,
    Case.operators_add_up,
]
SEEDS = (1, 2, 3)


def main() -> int:
    hloscope = str(pathlib.Path(sys.argv[1]).resolve())
    bad = 0
    print(f"1..{len(CHECKS) * len(SEEDS)}")
    number = 0
    with tempfile.TemporaryDirectory(prefix="hloscope-profiles-") as scratch:
        for seed in SEEDS:
            case = Case(hloscope, pathlib.Path(scratch), seed)
            for check in CHECKS:
                number += 1
                name = f"{check.__name__}, seed {seed}"
                try:
                    check(case)
                    print(f"ok {number} - {name}")
                except Exception as error:
                    bad += 1
                    print(f"not ok {number} - {name}\n# {type(error).__name__}: {error}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
