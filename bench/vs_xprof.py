#!/usr/bin/env python3
"""Operator tables of large profiles: hloscope against xprof, fresh processes, interleaved.

    bench/vs_xprof.py build/hloscope [PYTHON] [--events 1e6,5e6] [--runs 5]      prints a Markdown
    table

PYTHON (or $HLOSCOPE_XPROF_PYTHON) is one with xprof; without it only hloscope is measured. Peak
memory is that of the whole process.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ["hlo-operators", "framework-operators", "steps"]
ASK = (
    "import sys; from xprof.convert import raw_to_tool_data as c; d, _ ="
    " c.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {'use_saved_result': False}); sys.exit(0 if"
    " d else 3)"
)


def measured(command):
    """(seconds, MiB, exit code, seconds of CPU) of one process."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (
        time.monotonic() - start,
        usage.ru_maxrss / 1024,
        child.returncode,
        usage.ru_utime + usage.ru_stime,
    )


def clean(path):
    """xprof keeps what it computed beside the profile."""
    for other in path.parent.iterdir():
        if other != path and other.suffix != ".json":
            other.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hloscope")
    parser.add_argument("python", nargs="?", default=os.environ.get("HLOSCOPE_XPROF_PYTHON"))
    parser.add_argument("--events", default="1e6")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(
        f"load {os.getloadavg()[0]:.1f} at the start, {os.cpu_count()} cores, {options.runs} runs"
        " each, wall seconds (best, median), least CPU seconds, peak MiB\n"
    )
    print(
        "| events | file | what | best s | median s | CPU s | peak MiB"
        " |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="hloscope-bench-") as scratch:
        for events in (int(float(e)) for e in options.events.split(",")):
            path = pathlib.Path(scratch) / f"{events}" / "big.xplane.pb"
            path.parent.mkdir()
            subprocess.run([sys.executable, HERE / "gen_xspace.py", str(events), path], check=True)
            cases = {
                "hloscope: all three tables": [options.hloscope, "tables", path, *TABLES],
                "hloscope: Chrome trace": [
                    options.hloscope,
                    "export",
                    path,
                    "--to=chrome",
                    "-o",
                    path.parent / "trace.json",
                ],
            }
            if options.python:
                for tool in ("hlo_stats", "framework_op_stats", "overview_page"):
                    cases[f"xprof: {tool}"] = [options.python, "-c", ASK, str(path), tool]
            samples = {name: [] for name in cases}
            for run in range(options.runs):
                for name, command in cases.items():
                    if name.startswith("xprof") and run >= 2:
                        continue  # tens of seconds each
                    clean(path)
                    samples[name].append(measured(command))
            for name, rows in samples.items():
                seconds = sorted(row[0] for row in rows)
                code = "" if all(row[2] == 0 for row in rows) else " (failed)"
                print(
                    f"| {events:,} | {path.stat().st_size / 1e6:.0f} MB | {name}{code} |"
                    f" {seconds[0]:.2f} | {seconds[len(seconds) // 2]:.2f} |"
                    f" {min(row[3] for row in rows):.2f} | {max(row[1] for row in rows):.0f} |",
                    flush=True,
                )
            for other in path.parent.iterdir():
                other.unlink()


if __name__ == "__main__":
    main()
