#!/usr/bin/env python3
"""Summaries in the documents of stats, run and patterns, against Python's statistics module.

    tests/documents/summaries.py HLOSCOPE SOURCE_ROOT

Every number of a summary is computed again: from the samples where the document has them, and by
what must hold of any samples where it does not.
"""

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SERIES = {
    "two": [1.0, 9.0],
    "three": [1.0, 2.0, 9.0],
    "four": [4.0, 1.0, 9.0, 2.0],
    "equal": [3.0] * 6,
    "ten": [5.0, 3.5, 4.25, 9.0, 1.0, 2.0, 6.0, 7.5, 8.0, 3.0],
    "one": [5.0],
}


def close(found: object, wanted: float) -> bool:
    return isinstance(found, (int, float)) and math.isclose(
        found, wanted, rel_tol=1e-9, abs_tol=1e-15
    )


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


LEAST_FOR_INTERVAL = 6  # the extremes of fewer do not hold the median with 95 %


def recomputed(summary: dict, samples: list[float]) -> None:
    """A summary beside the samples that it is of."""
    wanted = {
        "median": statistics.median(samples),
        "mean": statistics.fmean(samples),
        "min": min(samples),
        "max": max(samples),
    }
    for key, value in wanted.items():
        expect(close(summary[key], value), f"{key} is {summary[key]}, of {samples} it is {value}")
    if len(samples) > 1:
        expect(
            close(summary["std"], statistics.stdev(samples)),
            f"std is {summary['std']}, of {samples} it is {statistics.stdev(samples)}",
        )
    else:
        expect(summary["std"] is None, f"std of one sample is {summary['std']}")


def consistent(summary: dict, where: str) -> None:
    """What holds of the summary of any n samples: order, and how large a standard deviation their
    range allows."""
    n = summary["n"]
    width = summary["max"] - summary["min"]
    slack = 1e-9 * abs(summary["max"]) + 1e-15
    pairs = [("min", "median"), ("median", "max"), ("min", "mean"), ("mean", "max")]
    held = summary["low"] is not None
    expect(
        held or n < LEAST_FOR_INTERVAL or "blocks" in summary,
        f"{where}: {n} samples without an interval",
    )
    if held:
        expect(n >= LEAST_FOR_INTERVAL, f"{where}: an interval of {n} samples")
        pairs += [("low", "median"), ("median", "high")]
    if (
        held and "blocks" not in summary
    ):  # an interval of few blocks may be wider than what was seen
        pairs += [("min", "low"), ("high", "max")]
    for low, high in pairs:
        expect(
            summary[low] <= summary[high] + slack,
            f"{where}: {low} {summary[low]} is above {high} {summary[high]}",
        )
    if n < 2:
        expect(summary["std"] is None, f"{where}: std of one sample is {summary['std']}")
        return
    expect(
        isinstance(summary["std"], (int, float)), f"{where}: std of {n} samples is {summary['std']}"
    )
    least = width / math.sqrt(2 * (n - 1))
    most = width / 2 * math.sqrt(n / (n - 1))
    expect(
        least - slack <= summary["std"] <= most + slack,
        f"{where}: std {summary['std']} of {n} samples is not in [{least}, {most}]",
    )


def summaries_in(value: object, where: str = "") -> list[tuple[str, dict]]:
    found = []
    if isinstance(value, dict):
        if {"n", "median", "low", "high", "mean", "min", "max", "std"} <= value.keys() and value[
            "median"
        ] is not None:
            found.append((where, value))
        for key, part in value.items():
            found += summaries_in(part, f"{where}.{key}")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            found += summaries_in(part, f"{where}[{i}]")
    return found


class Documents:
    def __init__(self, hloscope: str, root: pathlib.Path, scratch: pathlib.Path):
        self.hloscope = hloscope
        self.root = root
        self.scratch = scratch
        self.environment = os.environ | {
            "XDG_CACHE_HOME": str(scratch / "cache"),
            "HOME": str(scratch),
        }

    def document(self, *arguments: str) -> dict:
        done = subprocess.run(
            [self.hloscope, *arguments, "--format=json"],
            check=False,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.scratch,  # what a command writes by default lies there
        )
        expect(
            done.returncode in (0, 1) and done.stdout.startswith("{"),
            f"{arguments}: exit code {done.returncode}: {done.stderr}",
        )
        return json.loads(done.stdout)

    def stats_of_small_series(self) -> None:
        for name, samples in SERIES.items():
            path = self.scratch / f"{name}.txt"
            path.write_text("".join(f"{x}\n" for x in samples))
            (row,) = self.document("stats", str(path))["series"]
            expect(row["count"] == len(samples), f"{name}: count is {row['count']}")
            recomputed(row, samples)
            middle = statistics.median(samples)
            spread = 1.482602218505602 * statistics.median(abs(x - middle) for x in samples)
            expect(close(row["mad"], spread), f"{name}: mad is {row['mad']}, not {spread}")
            if len(samples) < LEAST_FOR_INTERVAL:
                expect(
                    row["low"] is None and row["high"] is None,
                    f"{name}: the interval of {samples} is [{row['low']}, {row['high']}]",
                )
                continue
            expect(
                min(samples) <= row["low"] <= middle <= row["high"] <= max(samples),
                f"{name}: the interval is [{row['low']}, {row['high']}]",
            )

    def run_document(self) -> None:
        devices = self.document(
            "run",
            str(self.root / "models/patterns/tiny_natural.hlo"),
            "--no-store",
            "--runs",
            "12",
            "--processes",
            "1",
        )["devices"]
        timed = [device["run"] for device in devices if device.get("run")]
        expect(bool(timed), "no device was timed")
        for run in timed:
            recomputed(run, run["samples"])
            expect(
                run["low"] <= run["median"] <= run["high"],
                f"the interval is [{run['low']}, {run['high']}]",
            )

    def patterns_document(self) -> None:
        document = self.document(
            "patterns",
            "--graphs",
            "tiny",
            "--patterns",
            "natural",
            "--trials",
            "4",
            "--warmup",
            "1",
            "--time-budget",
            "5",
            f"--output={self.scratch / 'patterns.json'}",
        )
        found = summaries_in(document)
        expect(len(found) > 5, f"{len(found)} summaries")
        for where, summary in found:
            consistent(summary, where)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hsc-documents-") as scratch:
        documents = Documents(
            str(pathlib.Path(sys.argv[1]).resolve()),
            pathlib.Path(sys.argv[2]).resolve(),
            pathlib.Path(scratch),
        )
        cases = (
            documents.stats_of_small_series,
            documents.run_document,
            documents.patterns_document,
        )
        print(f"1..{len(cases)}")
        bad = 0
        for number, case in enumerate(cases, 1):
            try:
                case()
                print(f"ok {number} - {case.__name__}", flush=True)
            except (AssertionError, KeyError, ValueError) as error:
                bad += 1
                print(f"not ok {number} - {case.__name__}\n# {error!r}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
