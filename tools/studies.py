#!/usr/bin/env python3
"""Makes the studies of docs/studies again: every pass of every compiler switched off, and, on
devices that run, timed.

    tools/studies.py BUILD/hloscope [--only NAME]... [--seconds N] [--timed] [--list]

Each study is one `hloscope passes ablate --resume`, so what an earlier call did is taken from the
store and a call that is interrupted, or out of time, goes on the next time. When a program's
studies are done its report is written anew. Timing wants a quiet machine: `make studies-timed` says
so first.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {
    "laplace_train": "models/laplace_train.hlo.gz",
    "resnet50_train": "models/resnet50_train.hlo.gz",
    "mlp_scan": "models/patterns/mlp_scan.hlo",
}
TIMED = ["--processes", "5", "--blocks", "8", "--time-budget", "0", "--placebos", "4"]
STRUCTURE = ["--no-timing", "--placebos", "3"]
# program, device, which passes, what else; those that run here are timed with --timed.
STUDIES = [
    ("mlp_scan", "cpu", [], ["--pairs", "--pairs-of", "4"], True),
    ("mlp_scan", "xla-cpu", ["--that-changed"], [], True),
    ("mlp_scan", "tpu:v5e", [], [], False),
    ("laplace_train", "cpu", [], ["--pairs", "--pairs-of", "4"], True),
    ("laplace_train", "xla-cpu", ["--that-changed"], ["--time-budget", "900"], True),
    ("laplace_train", "cuda:a100", [], [], False),
    # A run takes one second and three, so there are fewer of them.
    (
        "resnet50_train",
        "cpu",
        [],
        ["--processes", "3", "--blocks", "5", "--time-budget", "900"],
        True,
    ),
    (
        "resnet50_train",
        "xla-cpu",
        ["--that-changed"],
        ["--processes", "3", "--blocks", "4", "--time-budget", "1500"],
        True,
    ),
    ("resnet50_train", "cuda:a100", ["--that-changed"], [], False),
    # A compile of these two takes minutes: last.
    ("laplace_train", "tpu:v5e", ["--that-changed"], [], False),
    ("resnet50_train", "tpu:v5e", ["--that-changed"], [], False),
]


def name_of(program, device):
    return f"{program}/{device}"


def file_of(program, device):
    return ROOT / "docs" / "studies" / program / f"ablation-{device.replace(':', '-')}.json"


def finished(path, timed):
    if not path.exists():
        return False
    document = json.loads(path.read_text())
    return document["status"] == "done" and (
        not timed or (document["timing"] is not None and document["timing"]["processes"] > 0)
    )


def ablate(hloscope, store, study, timed, seconds):
    """True when the study is whole."""
    program, device, which, more, runs = study
    made = pathlib.Path(store).with_suffix(f".{program}.{device.replace(':', '-')}.json")
    command = [
        hloscope,
        "passes",
        "ablate",
        ROOT / PROGRAMS[program],
        "-d",
        device,
        *which,
        *(TIMED + more if timed and runs else STRUCTURE),
        "--resume",
        "--store",
        store,
        "-o",
        made,
    ]
    print("$", *map(str, command), flush=True)
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # keeps what it has
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.returncode or not finished(made, timed and runs):
        return False
    file_of(program, device).parent.mkdir(parents=True, exist_ok=True)
    made.replace(file_of(program, device))
    return True


def report(hloscope, program):
    directory = ROOT / "docs" / "studies" / program
    results = sorted(directory.glob("ablation-*.json"))
    devices = [d for p, d, *_ in STUDIES if p == program]
    command = [
        hloscope,
        "passes",
        "report",
        ROOT / PROGRAMS[program],
        "-d",
        ",".join(devices),
        "--results",
        ",".join(map(str, results)),
        "-o",
        directory,
    ]
    print("$", *map(str, command), flush=True)
    return subprocess.run(list(map(str, command)), check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hloscope", type=pathlib.Path)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="a program, a device, or program/device; may be given several times",
    )
    parser.add_argument(
        "--seconds", type=float, default=0, help="stop after so long; 0: when everything is done"
    )
    parser.add_argument(
        "--timed", action="store_true", help="time what runs here, not structure only"
    )
    parser.add_argument("--list", action="store_true", help="say what is there and what is missing")
    options = parser.parse_args()
    hloscope = options.hloscope.resolve()
    cache = os.environ.get("HLOSCOPE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hloscope"
    )
    store = os.path.join(cache, "studies.sqlite")
    wanted = [
        s
        for s in STUDIES
        if not options.only or {s[0], s[1], name_of(s[0], s[1])} & set(options.only)
    ]
    if not wanted:
        print(
            "there is no such study; there are:",
            *(name_of(s[0], s[1]) for s in STUDIES),
            file=sys.stderr,
        )
        return 2
    if options.list:
        for s in wanted:
            timed = options.timed and s[4]
            print(
                f"{name_of(s[0], s[1]):28}"
                f" {'done' if finished(file_of(s[0], s[1]), timed) else 'missing'}{', timed' if timed else ''}"
            )
        return 0
    end = time.monotonic() + options.seconds if options.seconds else None
    left, touched = [], set()
    for study in wanted:
        program, device, _, _, runs = study
        if finished(file_of(program, device), options.timed and runs):
            continue
        seconds = None if end is None else end - time.monotonic()
        if (seconds is not None and seconds < 1) or not ablate(
            hloscope, store, study, options.timed, seconds
        ):
            left.append(name_of(program, device))
        else:
            touched.add(program)
    good = all([report(hloscope, program) for program in sorted(touched)])
    if left:
        print("to do still (the same command goes on):", *left)
    return 0 if good and not left else 1


sys.exit(main())
