#!/usr/bin/env python3
"""A/A: everything that prints an interval or a claim of speed, on two sides that are the same.

alike.py HLOSCOPE [TRIES [LOAD]]   TRIES of each (20); LOAD busy processes beside it (0)

Prints a row a kind: how many intervals held the truth (1), how many claims were false. Exit code 1
where intervals held it in fewer than 93 % less what chance does in so few tries (three standard
deviations), or claims were false in more than 5 % plus as much. Takes minutes: no part of `make
test`.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = [
    str(ROOT / "models/patterns" / f"{name}_natural.hlo") for name in ("tiny", "small", "medium")
]
HLOSCOPE = str(pathlib.Path(sys.argv[1]).resolve())
BUSY = "while True: sum(range(100000))"


class Tally:
    def __init__(self):
        self.held = self.intervals = self.claims = self.verdicts = 0

    def take(self, low, high, verdict, truth=1.0):
        if low is not None and high is not None:
            self.intervals += 1
            self.held += low <= truth <= high
        if verdict is not None:
            self.verdicts += 1
            self.claims += verdict in ("faster", "slower")


def hloscope(*arguments):
    out = subprocess.run(
        [HLOSCOPE, *arguments, "--format=json"], capture_output=True, text=True, check=False
    )
    return json.loads(out.stdout) if out.stdout.strip() else {}


def run(tries, tally):
    for number in range(tries):
        for row in hloscope(
            "run",
            PROGRAMS[number % 3],
            "-d",
            "cpu,cpu",
            "--processes=6",
            "--no-store",
            f"--seed={number}",
        ).get("speed", []):
            tally.take(row["low"], row["high"], row["verdict"])


def ablate(tries, tally, store):
    """Five placebos an experiment: few experiments would be few draws of the one baseline."""
    for number in range(tries):
        result = hloscope(
            "passes",
            "ablate",
            PROGRAMS[number % 3],
            "-d",
            "cpu",
            "--only=dce,cse",
            "--processes=6",
            f"--store={store}",
            f"--seed={number}",
        )
        for row in result.get("placebos", []):
            time = row.get("total_time") or {}
            tally.take(time.get("low"), time.get("high"), time.get("verdict"))


def gate(tries, tally, folder):
    for number in range(max(1, tries // 4)):
        baseline = str(folder / f"{number}.json")
        hloscope("gate", "--baseline", baseline, "--update", PROGRAMS[number % 3])
        for row in hloscope(
            "gate", "--baseline", baseline, "--against=cpu", PROGRAMS[number % 3]
        ).get("programs", []):
            for what in ("run", "compile"):
                if row.get(what):
                    tally.take(row[what]["low"], row[what]["high"], row[what]["verdict"])


def patterns(tries, tally, store):
    """The prediction of one experiment against what the next one's processes measured."""
    before = None
    for _ in range(max(2, tries // 10)):
        result = hloscope("patterns", "--graphs=tiny,small", f"--store={store}")
        models = {
            key: row["model"]
            for key, row in result.get("theoretical_analysis", {}).items()
            if isinstance(row, dict) and "model" in row
        }
        for key, model in (before or {}).items():
            points = {
                (p["executions"], p["syncs"]): p["measured"]
                for p in models.get(key, {}).get("held_out", [])
            }
            for p in model.get("held_out", []):
                guess = p["predicted"]
                if (
                    guess.get("low") is not None
                    and (p["executions"], p["syncs"]) in points
                    and not model.get("refused")
                ):
                    tally.take(
                        guess["low"], guess["high"], None, points[p["executions"], p["syncs"]]
                    )
        before = models


def main():
    tries = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    load = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    hogs = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(load)]
    bad = False
    try:
        with tempfile.TemporaryDirectory(prefix="hloscope-alike-") as name:
            folder = pathlib.Path(name)
            kinds = {
                "run -d cpu,cpu": lambda t: run(tries, t),
                "gate --against": lambda t: gate(tries, t, folder),
                "passes ablate": lambda t: ablate(tries, t, folder / "a.sqlite"),
                "patterns, predictions": lambda t: patterns(tries, t, folder / "p.sqlite"),
            }
            print(f"{'':24} held    of  false claims    of   ({load} busy processes beside it)")
            for kind, measure in kinds.items():
                tally = Tally()
                measure(tally)
                n, m = max(1, tally.intervals), max(1, tally.verdicts)
                few = tally.held / n < 0.93 - 3 * math.sqrt(0.05 * 0.95 / n)
                many = tally.claims / m > 0.05 + 3 * math.sqrt(0.05 * 0.95 / m)
                bad |= few or many or not tally.intervals
                print(
                    f"{kind:24} {tally.held:4} {tally.intervals:5}  {tally.claims:12}"
                    f" {tally.verdicts:5}   {'not ok' if few or many else 'ok'}",
                    flush=True,
                )
    finally:
        for hog in hogs:
            hog.kill()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
