#!/usr/bin/env python3
"""What a list of passes costs over a plain compile: the compile's own time in `hloscope passes
list` beside that in `hloscope run`, in turns.

    pass_list.py HLOSCOPE PROGRAM DEVICE... [--pairs N]

Each compile is in a process of its own, so both sides pay alike for what is done once. The ratio of
each pair, their median and middle half. Goal: at most 1.05 where a compile takes long enough to
tell.
"""

import argparse
import json
import statistics
import subprocess
import sys


def document(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def plain(hloscope, program, device):
    answer = document(
        [
            hloscope,
            "run",
            program,
            "--device",
            device,
            "--no-cache",
            "--no-store",
            "--format=json",
            "--quiet",
        ]
    )
    return answer["devices"][0]["phases"]["compile"]


def listed(hloscope, program, device):
    return document(
        [hloscope, "passes", "list", program, "--device", device, "--format=json", "--quiet"]
    )["compile_seconds"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hloscope")
    parser.add_argument("program")
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    for device in options.devices:
        ratios, base = [], []
        for pair in range(options.pairs):
            sides = [plain, listed] if pair % 2 else [listed, plain]
            times = {side: side(options.hloscope, options.program, device) for side in sides}
            ratios.append(times[listed] / times[plain])
            base.append(times[plain])
        ratios.sort()
        quarter = len(ratios) // 4
        print(
            f"{device:12} plain compile {statistics.median(base):.4g} s; with the list"
            f" {statistics.median(ratios):.3f} times that (middle half {ratios[quarter]:.3f} to"
            f" {ratios[-1 - quarter]:.3f}, {len(ratios)} pairs)",
            flush=True,
        )


main()
