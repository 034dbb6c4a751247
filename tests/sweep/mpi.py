#!/usr/bin/env python3
"""What goes wrong under mpirun: ranks that differ, a full disk, a plan that changes, a line that
was cut off, no MPI at all.

mpi.py HLOSCOPE        TAP; skipped where there is no mpirun. The kills are in kill_ranks.py.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tap import check, end

HLOSCOPE = pathlib.Path(sys.argv[1]).resolve()
MODELS = pathlib.Path(__file__).resolve().parents[2] / "models" / "patterns"
MPIRUN = [
    "mpirun",
    *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
    "--oversubscribe",
    "--enable-recovery",
]
# Each thread has bins of its own, which are temporaries.
BINS = """HloModule bins
add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b)
}
ENTRY main {
  table = s32[1000] parameter(0)
  index = s32[1000000,1] parameter(1)
  update = s32[1000000] parameter(2)
  ROOT r = s32[1000] scatter(table, index, update), update_window_dims={},
    inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
"""


def hloscope(
    *words: object, program: pathlib.Path = HLOSCOPE, **environment: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(program), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def plan(folder: pathlib.Path, *more: str) -> pathlib.Path:
    done = hloscope(
        "sweep", "plan", "ablate", *sorted(MODELS.glob("tiny*.hlo")), "-q", "-o", folder, *more
    )
    assert done.returncode == 0, done.stderr
    return folder


def rank(
    folder: pathlib.Path, *more: object, program: pathlib.Path = HLOSCOPE, count: int = 1
) -> list[str]:
    return [
        "-n",
        str(count),
        str(program),
        "sweep",
        "run",
        str(folder),
        "--backend",
        "mpi",
        "-q",
        *map(str, more),
    ]


def mpirun(*parts: list[str]) -> subprocess.CompletedProcess:
    command = list(MPIRUN)
    for i, part in enumerate(parts):
        command += ([":"] if i else []) + part
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def table(folder: pathlib.Path) -> str:
    return hloscope("sweep", "merge", folder, "--format", "csv").stdout


def other_build(folder: pathlib.Path, build: str) -> pathlib.Path:
    """A copy that says it is another build: one byte of its build id."""
    folder.mkdir()
    for name in ("hloscope", "libhloscope_mpi.so", "libhloscope_cpu_pjrt.so"):
        shutil.copy(HLOSCOPE.parent / name, folder / name)
    program = folder / "hloscope"
    data, wanted = program.read_bytes(), bytes.fromhex(build)
    assert data.count(wanted) >= 1
    program.write_bytes(data.replace(wanted, bytes([wanted[0] ^ 1]) + wanted[1:]))
    return program


def main() -> int:
    if not shutil.which("mpirun") or not (HLOSCOPE.parent / "libhloscope_mpi.so").exists():
        print("1..0 # SKIP no mpirun, or built without MPI (Debian: openmpi-bin, libopenmpi-dev)")
        return 0
    with tempfile.TemporaryDirectory(prefix="hloscope-sweep-") as name:
        here = pathlib.Path(name)
        local = plan(here / "local")
        hloscope("sweep", "run", local, "-q")
        right = table(local)
        first = json.loads(next((local / "results").glob("*.jsonl")).read_text().splitlines()[0])

        at = plan(here / "three")
        done = mpirun(rank(at, count=3))
        check(
            done.returncode == 0 and table(at) == right,
            "three ranks: the table of a local run",
            done.stderr,
        )
        done = mpirun(rank(at, count=2))
        check(
            "all done" in done.stdout,
            "a second run of a finished plan does nothing",
            done.stdout + done.stderr,
        )

        at = plan(here / "builds")
        other = other_build(here / "other", first["build"])
        done = mpirun(rank(at), rank(at, program=other))
        said = done.stdout + done.stderr
        check(
            ("differ" in said or "two builds" in said)
            and "all done" not in said
            and said.count("build ") >= 2
            and first["build"][:12] in said,
            "ranks of two builds are refused, both named",
            said,
        )
        hloscope("sweep", "run", at, "-q", "--share", "0/2")
        done = hloscope("sweep", "run", at, "-q", program=other)
        check(
            done.returncode == 1 and "two builds" in done.stderr,
            "another build does not go on with a plan",
            done.stderr,
        )

        small = here / "small"
        small.mkdir()
        if (
            os.geteuid() == 0
            and subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], capture_output=True
            ).returncode
            == 0
        ):
            try:
                # on a busy machine rank 0 may have done everything before rank 1 has begun
                for attempt in range(5):
                    at = plan(here / f"full{attempt}", "--repeats", "3")
                    done = mpirun(rank(at), rank(at, "--results", small))
                    if any(path.stat().st_size for path in small.glob("*.jsonl")):
                        break
                check(
                    done.returncode == 0
                    and "rank 1 takes no more tasks" in done.stderr
                    and "all done" in done.stdout,
                    "a rank whose disk is full takes no more tasks, nothing is lost",
                    done.stdout + done.stderr,
                )
                lines = b"".join(path.read_bytes() for path in small.glob("*.jsonl"))
                check(
                    lines.endswith(b"\n") and all(json.loads(line) for line in lines.splitlines()),
                    "its file ends with a whole line",
                )
            finally:
                subprocess.run(["umount", small])
        else:
            for name in (
                "a rank whose disk is full takes no more tasks",
                "its file ends with a whole line",
            ):
                check(True, f"{name} # SKIP needs root, for a small file system")

        at = plan(here / "changed", "--repeats", "20")
        running = subprocess.Popen(
            [*MPIRUN, *rank(at, count=2)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        while running.poll() is None and not any(
            path.read_bytes().count(b"\n") > 5 for path in (at / "results").glob("*.jsonl")
        ):
            time.sleep(0.01)
        other_plan = plan(here / "another", "--repeats", "2")
        for part in ("tasks.jsonl", "plan.json"):
            shutil.copy(other_plan / part, at / part)
        said, _ = running.communicate(timeout=120)
        check(
            "was changed while its tasks ran" in said and "all done" not in said,
            "a plan that changes under a run ends it, and says so",
            said,
        )

        at = plan(here / "torn")
        hloscope("sweep", "run", at, "-q", "--share", "0/2")
        shard = next((at / "results").glob("*.jsonl"))
        shard.write_bytes(shard.read_bytes()[:-40])
        shutil.copy(shard, at / "results" / "copy.jsonl")
        state = json.loads(hloscope("sweep", "show", at, "--format", "json").stdout)
        hloscope("sweep", "run", at, "-q")
        check(
            state["torn_lines"] == 2 and table(at) == right,
            "a line that was cut off is done again; a file that is there twice changes nothing",
            state,
        )

        bins = here / "bins.hlo"
        bins.write_text(BINS)
        tables = {}
        for cores in (1, 3):
            at = here / f"bins-{cores}"
            planned = hloscope(
                *("sweep", "plan", "compile", bins, "-q", "-o", at), HLOSCOPE_THREADS="3"
            )
            hloscope("sweep", "run", at, "-q", HLOSCOPE_THREADS=str(cores))
            tables[cores] = table(at)
        check(
            planned.returncode == 0 and "12096" in tables[3] and tables[1] == tables[3],
            "a process that has one core of three gives the same rows",
            tables,
        )

        alone = here / "alone"
        alone.mkdir()
        for part in ("hloscope", "libhloscope_cpu_pjrt.so"):
            shutil.copy(HLOSCOPE.parent / part, alone / part)
        done = hloscope(
            "sweep", "run", plan(here / "no-mpi"), "--backend", "mpi", program=alone / "hloscope"
        )
        check(
            done.returncode == 3 and "openmpi-bin" in done.stderr,
            "without MPI: which package",
            done.stderr,
        )
    return end()


if __name__ == "__main__":
    sys.exit(main())
