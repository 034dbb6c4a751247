"""The tasks of a sweep's plan in batches, for backends that start `hloscope sweep run --tasks`
somewhere: sweep_ray, sweep_dask."""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess

# So many batches a slot: the last ones are short, and a batch costs the start of one process.
BATCHES_A_SLOT = 8


def arguments(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("plan", help="a folder that every machine sees by this name")
    parser.add_argument("--hloscope", default="hloscope", help="the program, where tasks run")
    parser.add_argument("--jobs", type=int, default=1, help="processors that a batch may use")
    parser.add_argument(
        "--address", help="of a cluster; without it, one of this machine is started"
    )
    return parser.parse_args()


def left(hloscope: str, plan: str) -> list[tuple[float, int]]:
    """(expected seconds, number) of the tasks that have no result, the longest first."""
    folder = pathlib.Path(plan)
    done = set()
    for shard in sorted((folder / "results").glob("*.jsonl")):
        for line in shard.read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
            try:
                row = json.loads(line)
            except ValueError:
                continue  # cut off by a death
            if row.get("outcome") != "killed":
                done.add(row.get("task"))
    tasks = (
        json.loads(line)
        for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return sorted(
        ((task["cost_s"], number) for number, task in enumerate(tasks) if task["id"] not in done),
        reverse=True,
    )


def batches(tasks: list[tuple[float, int]], slots: int) -> list[list[int]]:
    """Shrinking batches: each takes a part of what is left, so that the last are single tasks."""
    out: list[list[int]] = []
    rest = sum(cost for cost, _ in tasks)
    at = 0
    while at < len(tasks):
        share, batch = rest / (BATCHES_A_SLOT * max(1, slots) / 2), []
        while at < len(tasks) and (not batch or share > 0):
            cost, number = tasks[at]
            batch.append(number)
            share -= cost
            rest -= cost
            at += 1
        out.append(batch)
    return out


def run(hloscope: str, plan: str, jobs: int, numbers: list[int]) -> str:
    """Does a batch in a process of its own; "" or what it said. A batch that is run again does what
    is left of it."""
    done = subprocess.run(
        [
            hloscope,
            "sweep",
            "run",
            plan,
            "--quiet",
            "--jobs",
            str(jobs),
            "--tasks",
            ",".join(map(str, numbers)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else (done.stderr.strip() or f"ended with {done.returncode}")
