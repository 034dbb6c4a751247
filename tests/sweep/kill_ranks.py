#!/usr/bin/env python3
"""A sweep under mpirun whose ranks, and everything, are killed at random moments ends with the
table of a local run.

    kill_ranks.py HLOSCOPE [--models FOLDER] [--tasks N] [--kills N] [--ranks N] [--seed N]

TAP. Every other kill is of everything (mpirun, its ranks, their workers); the others are of one
rank, rank 0 too. After each kill of everything or of rank 0, another mpirun goes on with what is
there. At the end: the table is byte for byte that of a local run of the same plan, no task is
missing, and no kill cost more tasks than were running. Skipped where there is no mpirun.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def ranks_of(pid: int) -> dict[int, int]:
    """rank -> pid of the hloscope processes that mpirun started; workers have the variable too, so
    the oldest counts."""
    found: dict[int, int] = {}
    for child in sorted(descendants(pid)):
        try:
            environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--backend" not in words or not words[0].endswith(b"hloscope"):
            continue
        for item in environment:
            if item.startswith(b"OMPI_COMM_WORLD_RANK="):
                found.setdefault(int(item.split(b"=")[1]), child)
    return found


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def lines_of(plan: pathlib.Path) -> int:
    return sum(
        max(0, path.read_bytes().count(b"\n") - 1) for path in (plan / "results").glob("*.jsonl")
    )


def wait_until(mpirun: subprocess.Popen, plan: pathlib.Path, lines: int) -> bool:
    """Until so many results are there; true: mpirun ended before."""
    while mpirun.poll() is None:
        if lines_of(plan) >= lines:
            return False
        time.sleep(0.005)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hloscope", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument(
        "--models",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2] / "models",
    )
    parser.add_argument(
        "--tasks",
        type=int,
        default=200,
        help="at least; all models when it is 1000 or more, else the small ones",
    )
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if (
        not shutil.which("mpirun")
        or not (pathlib.Path(args.hloscope).parent / "libhloscope_mpi.so").exists()
    ):
        print("1..0 # SKIP no mpirun, or built without MPI (Debian: openmpi-bin, libopenmpi-dev)")
        return 0
    random.seed(args.seed)
    large = args.tasks >= 1000
    programs = sorted(str(path) for path in args.models.glob("patterns/*.hlo*"))
    programs += sorted(str(path) for path in args.models.glob("*.hlo.gz")) if large else []
    print("1..4")
    failed = 0

    def check(number: int, fine: bool, name: str, why: str = "") -> None:
        nonlocal failed
        failed += not fine
        print(
            f"{'ok' if fine else 'not ok'} {number} - {name}",
            *([f"# {why}"] if not fine and why else []),
            flush=True,
        )

    with tempfile.TemporaryDirectory(prefix="hloscope-sweep-") as folder:
        here = pathlib.Path(folder)
        plan, local = here / "plan", here / "local"
        command = [
            args.hloscope,
            "sweep",
            "plan",
            "ablate",
            *programs,
            "-q",
            "-o",
            str(plan),
            "--format",
            "json",
        ]
        count = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )["tasks"]
        repeats = -(-args.tasks // count)
        if repeats > 1:
            shutil.rmtree(plan)
            command += ["--repeats", str(repeats)]
            count = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )["tasks"]
        shutil.copytree(plan, local)
        started = time.monotonic()
        subprocess.run(
            [args.hloscope, "sweep", "run", str(local), "-q", "--jobs", "2"],
            check=True,
            capture_output=True,
        )
        whole_s = time.monotonic() - started
        print(
            f"# {count} tasks of {len(programs)} programs; a local run takes {whole_s:.1f} s",
            flush=True,
        )
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        run = [
            "mpirun",
            *root,
            "--oversubscribe",
            "--enable-recovery",
            "-n",
            str(args.ranks),
            args.hloscope,
            "sweep",
            "run",
            str(plan),
            "--backend",
            "mpi",
            "-q",
            "--silence",
            "10",
        ]
        kills = starts = 0
        marks = sorted(random.randrange(0, count * 9 // 10) for _ in range(args.kills))
        mpirun = None
        say = open(here / "said", "w+b")
        while True:
            if not mpirun:
                mpirun = subprocess.Popen(run, stdout=say, stderr=say)
                starts += 1
            if kills < args.kills:
                ended = wait_until(mpirun, plan, marks[kills])
            else:
                try:
                    ended = mpirun.wait(600) is not None
                except subprocess.TimeoutExpired:
                    ended = False
            if ended:
                code, mpirun = mpirun.returncode, None
                if lines_of(plan) >= count or (code == 0 and kills >= args.kills):
                    break
                continue
            if kills >= args.kills:
                check(1, False, "the sweep comes to its end", "it hangs")
                for pid in [mpirun.pid, *descendants(mpirun.pid)]:
                    kill(pid)
                return 1
            ranks = ranks_of(mpirun.pid)
            if kills % 2 or not ranks:
                for pid in [mpirun.pid, *descendants(mpirun.pid)]:
                    kill(pid)
                mpirun.wait()
                mpirun = None
                what = "everything"
            else:
                rank = random.choice(sorted(ranks))
                kill(ranks[rank])
                what = f"rank {rank} of {sorted(ranks)}"
            kills += 1
            print(f"# kill {kills}: {what}, {lines_of(plan)} results so far", flush=True)
        state = json.loads(
            subprocess.run(
                [args.hloscope, "sweep", "show", str(plan), "--format", "json"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        say.seek(0)
        check(
            1,
            state["left"] == 0,
            f"{count} tasks are done after {kills} kills and {starts} starts of mpirun",
            say.read().decode()[-2000:],
        )
        extra = lines_of(plan) - count
        check(2, extra <= kills * args.ranks, f"{extra} tasks were done more than once")
        tables = [
            subprocess.run(
                [args.hloscope, "sweep", "merge", str(at), "--format", "csv"], capture_output=True
            ).stdout
            for at in (plan, local)
        ]
        check(
            3,
            bool(tables[0]) and tables[0] == tables[1],
            "the table is that of the local run",
            f"{len(tables[0])} and {len(tables[1])} bytes",
        )
        check(4, kills == args.kills, f"{kills} kills of {args.kills} took place")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
