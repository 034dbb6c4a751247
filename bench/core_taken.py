"""What the built-in device loses when another process takes one of its cores.

  python3 bench/core_taken.py                                       the default programs
  python3 bench/core_taken.py resnet50_forward --rounds 15
  python3 bench/core_taken.py --page docs/BENCHMARKS.md             also puts the table into the
                                                                    page

Runs take turns with and without a taker: a process of the same priority that computes on one core
all the time, pinned to it. It is stopped and continued by signals, so nothing starts or ends in
between. A ratio is made of two turns that follow each other. With c cores the work itself needs c /
(c - 1/2) of the time (one core is shared half and half); what is above is what threads lose by
waiting for each other. The goal on two cores is 2.2.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

from vs_xla import (
    BUSY_LOAD,
    ROOT,
    HloscopeSide,
    machine,
    median_interval,
    put_into_page,
    text_ratio,
    text_seconds,
    version,
)

PROGRAMS = [
    "tiny_natural",
    "large_vmap",
    "mlp_scan",
    "deep_vmap",
    "laplace_train",
    "resnet50_forward",
]
TAKER = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True:\n  pass\n"


def main():
    parser = argparse.ArgumentParser(
        description="Run time with one core taken by another process over run time without."
    )
    parser.add_argument("names", nargs="*", help="programs; none means " + ", ".join(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=9, help="pairs of turns of each program (9)")
    parser.add_argument("--turn-ms", type=float, default=150, help="running time of a turn (150)")
    parser.add_argument(
        "--hloscope", default=str(ROOT / "build" / "hloscope"), help="the program to measure"
    )
    parser.add_argument(
        "--plugin", default=str(ROOT / "build" / "libhloscope_cpu_pjrt.so"), help="its device"
    )
    parser.add_argument(
        "--page", help="a Markdown page with the markers core_taken: begin and core_taken: end"
    )
    options = parser.parse_args()

    rows = {
        row["name"]: row
        for row in json.loads((ROOT / "models" / "manifest.json").read_text())["programs"]
    }
    names = options.names or PROGRAMS
    if unknown := set(names) - set(rows):
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("one core: there is none to take")
    before, start, draw = machine(), time.time(), random.Random(0)
    side = HloscopeSide(options.hloscope, options.plugin)
    taker = subprocess.Popen([sys.executable, "-c", TAKER, str(cores[-1])])
    taker.send_signal(signal.SIGSTOP)
    lines = ["| program | alone | one core taken | ratio |", "|---|---|---|---|"]
    try:
        for name in names:
            row = dict(rows[name], runs=rows[name].get("runs", 1))
            side.compile(row)
            once = min(side.run(row, 3))
            count = max(1, min(2000, int(options.turn_ms / 1e3 / once)))
            alone, taken, ratios = [], [], []
            for _ in range(options.rounds):
                first_taken = draw.random() < 0.5
                turn = {}
                for with_taker in (first_taken, not first_taken):
                    taker.send_signal(signal.SIGCONT if with_taker else signal.SIGSTOP)
                    time.sleep(0.01)
                    turn[with_taker] = statistics.median(side.run(row, count))
                taker.send_signal(signal.SIGSTOP)
                alone.append(turn[False])
                taken.append(turn[True])
                ratios.append(turn[True] / turn[False])
            side.forget(row)
            lines.append(
                f"| {name} | {text_seconds(statistics.median(alone))} |"
                f" {text_seconds(statistics.median(taken))} |"
                f" {text_ratio(median_interval(ratios, draw))} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    finally:
        taker.send_signal(signal.SIGCONT)
        taker.kill()
        side.worker.close()
    text = (
        "\n".join(lines) + f"\n\n{before.get('cpu', 'unknown CPU')}, {before['cores']} cores, load"
        f" {before['load_average'][0]:.2f} before and {os.getloadavg()[0]:.2f} after;"
        f" {options.rounds} pairs in {time.time() - start:.0f} s; {version()}."
    )
    if before["load_average"][0] > BUSY_LOAD * before["cores"]:
        text += (
            " **The machine was busy with other things, so more cores were taken than the one:"
            " these numbers are for orientation only.**"
        )
    print(text)
    if options.page:
        put_into_page(options.page, text, "core_taken")


if __name__ == "__main__":
    main()
