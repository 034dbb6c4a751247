#!/usr/bin/env python3
"""A profile of more than 2 GiB in which no event is like another: is it opened, in which time and
memory, and are its tables what the generator added up?

    bench/huge_profile.py GENERATOR HLOSCOPE [EVENTS [SCRATCH]]      EVENTS 88e6 is 2.4 GB; the
                                                                     files go away at the end

Exit code 1 when a table is wrong. Under `meson test` it runs with few events.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time


def run(*command):
    """Output, seconds on the clock, seconds of the processor, MiB at most."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed with status {status}")
    return out, time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def wrong_rows(table, sums):
    """Where the table and the generator differ: times are picoseconds there, nanoseconds here."""
    bad, rows = (
        [],
        {
            ("host" if r["device"].startswith("CPU") else "device", r["name"]): r
            for r in table["rows"]
        },
    )
    if len(rows) != len(table["rows"]) or len(rows) != len(sums):
        bad.append(f"{len(table['rows'])} rows, {len(sums)} operators were made")
    for (kind, name), expected in sums.items():
        row = rows.get((kind, name))
        if row is None:
            bad.append(f"{kind} {name} is missing")
        elif (
            row["occurrences"],
            round(row["time"] * 1000),
            round(row["self_time"] * 1000),
        ) != expected:
            bad.append(
                f"{kind} {name}: {row['occurrences']}, {row['time']}, {row['self_time']} ns; made"
                f" were {expected} (ps)"
            )
    return bad


def main():
    generator, hloscope = sys.argv[1], sys.argv[2]
    events = sys.argv[3] if len(sys.argv) > 3 else "88e6"
    with tempfile.TemporaryDirectory(
        prefix="hloscope-huge-", dir=sys.argv[4] if len(sys.argv) > 4 else None
    ) as scratch:
        path, sums_path = os.path.join(scratch, "huge.xplane.pb"), os.path.join(scratch, "sums.csv")
        _, wall, _, _ = run(generator, events, path, sums_path)
        size = os.path.getsize(path)
        with open(sums_path, newline="") as file:
            sums = {
                (r["kind"], r["name"]): (
                    int(r["occurrences"]),
                    int(r["time_ps"]),
                    int(r["self_ps"]),
                )
                for r in csv.DictReader(file)
                if int(r["occurrences"])
            }
        made = sum(s[0] for s in sums.values())
        print(
            f"{size / 1e9:.2f} GB, {made} operators' events, written in {wall:.1f} s; load"
            f" {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        if size < 1 << 31:
            print("  (below 2 GiB: the format's usual limit is not reached)")
        failed = False
        for view in ("hlo-operators", "framework-operators", "steps", "timeline"):
            out, wall, cpu, memory = run(
                hloscope, "tables", path, view, "--format=json", "--limit=0"
            )
            table = json.loads(out)
            note = ""
            if view == "hlo-operators":
                bad = wrong_rows(table, sums)
                note = (
                    f"; every sum is what was made ({len(sums)} operators)"
                    if not bad
                    else f"; WRONG: {len(bad)}, such as {bad[:3]}"
                )
                failed |= bool(bad)
            elif view == "timeline":
                lanes = sum(r["events"] for r in table["rows"] if r["section"] == "execution")
                note = f"; {lanes} events on lanes of execution" + (
                    "" if lanes == made else f", WRONG: {made} were made"
                )
                failed |= lanes != made
            print(
                f"  {view}: {wall:.2f} s on the clock, {cpu:.2f} s of the processor, {memory:.0f}"
                f" MiB, {len(table['rows'])} rows{note}",
                flush=True,
            )
            del table, out
        chrome_s = 0.0
        for form, target in (
            ("chrome", os.path.join(scratch, "trace.json")),
            ("tensorboard", os.path.join(scratch, "logs")),
        ):
            _, wall, cpu, memory = run(
                hloscope, "export", path, f"--to={form}", "--output", target, "--quiet"
            )
            written = (
                os.path.getsize(target)
                if os.path.isfile(target)
                else sum(
                    os.path.getsize(os.path.join(d, f))
                    for d, _, files in os.walk(target)
                    for f in files
                )
            )
            note = ""
            if form == "tensorboard":
                out, _, _, _ = run(
                    hloscope, "tables", target, "hlo-operators", "--format=json", "--limit=0"
                )
                bad = wrong_rows(json.loads(out), sums)
                note = (
                    "; read back it says the same"
                    if not bad
                    else f"; WRONG when read back: {bad[:3]}"
                )
                failed |= bool(bad)
            # what copies a profile takes no longer than what writes it as text, and no more memory
            chrome_s = cpu if form == "chrome" else chrome_s
            slow = form == "tensorboard" and cpu > 3 * chrome_s + 0.3
            failed |= slow or memory > 512
            print(
                f"  export --to={form}: {wall:.2f} s on the clock, {cpu:.2f} s of the processor,"
                f" {memory:.0f} MiB, {written / 1e9:.2f} GB written{note}",
                flush=True,
            )
            if os.path.isfile(target):
                os.unlink(target)
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
