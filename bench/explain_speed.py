#!/usr/bin/env python3
"""Throughput of hloscope explain beside `grep -c -F` on the same logs, in turns:
bench/explain_speed.py build/hloscope [--megabytes 300] [--runs 7]

Prints a Markdown table: bytes by processor time (user and system; the machine may be busy), the
best and the median of the runs, and peak memory.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def cost(command):
    """(processor seconds, peak MiB) of one process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def repeated(command, path, size):
    """The command's output again and again, until the file has `size` bytes."""
    block = subprocess.run(command, check=True, capture_output=True).stdout
    with path.open("wb") as out:
        for _ in range(max(1, size // len(block))):
            out.write(block)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hloscope")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    size = options.megabytes * 1000 * 1000
    print(
        f"load {os.getloadavg()[0]:.1f} at the start, {os.cpu_count()} cores, {options.runs} runs"
        " in turns\n"
    )
    print(
        "| log | MB | explain, MB/s best | median | peak MiB | grep -c -F, MB/s best | median |"
        " explain : grep |\n|---|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="hloscope-bench-") as scratch:
        path = pathlib.Path(scratch) / "a.log"
        maker = [sys.executable, HERE / "make_log.py", "10"]
        for name, command in {
            "usual lines, 1 % recognised": maker,
            "every line recognised": [*maker, "--all"],
            "one line": [
                sys.executable,
                "-c",
                "import sys; sys.stdout.write('all is well, 1.5 GB of 2 so far; ' * 100000)",
            ],
        }.items():
            repeated(command, path, size)
            whole = path.stat().st_size
            ours, greps = [], []
            for _ in range(options.runs):
                ours.append(cost([options.hloscope, "explain", path]))
                greps.append(cost(["grep", "-c", "-F", "Internal tensorizer error", path]))
            rate = [sorted(whole / 1e6 / row[0] for row in rows) for rows in (ours, greps)]
            middle = options.runs // 2
            print(
                f"| {name} | {whole / 1e6:.0f} | {rate[0][-1]:.0f} | {rate[0][middle]:.0f} |"
                f" {max(row[1] for row in ours):.0f} | {rate[1][-1]:.0f} | {rate[1][middle]:.0f} |"
                f" {rate[1][middle] / rate[0][middle]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
