#!/usr/bin/env python3
"""Clocks of two hosts: measured under mpirun, and taken out of the times of captures.

clocks.py HLOSCOPE        TAP. The second host is a namespace with a name of its own, in which a
                          preloaded library sets the wall clock 3.5 s ahead.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tap import check, end

HLOSCOPE = pathlib.Path(sys.argv[1]).resolve()
MODEL = pathlib.Path(__file__).resolve().parents[2] / "models" / "patterns" / "tiny_natural.hlo"
MPIRUN = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe"]
AHEAD_S = 3.5
SKEW = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *out) {
  int failed = (int)syscall(SYS_clock_gettime, clock, out);
  if (!failed && clock == CLOCK_REALTIME) {
    out->tv_nsec += 500000000;
    out->tv_sec += 3 + out->tv_nsec / 1000000000;
    out->tv_nsec %= 1000000000;
  }
  return failed;
}
"""


def run(*words: object) -> subprocess.CompletedProcess:
    command = list(map(str, words))
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def missing() -> str:
    if not shutil.which("mpirun") or not (HLOSCOPE.parent / "libhloscope_mpi.so").exists():
        return "no mpirun, or built without MPI (Debian: openmpi-bin, libopenmpi-dev)"
    if not shutil.which("cc"):
        return "no C compiler"
    if run("unshare", "--uts", "true").returncode:
        return "a namespace for a second host needs root"
    return ""


def rows_of(clocks: pathlib.Path) -> list[list[str]]:
    lines = clocks.read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def first_time(hloscope: pathlib.Path, capture: pathlib.Path, *more: object) -> int:
    """Nanoseconds since the epoch of the capture's first moment, by what Chrome's form says."""
    out = capture.with_suffix(".json")
    done = run(hloscope, "export", capture, "--to=chrome", "-o", out, *more)
    assert done.returncode == 0, done.stderr
    return int(json.loads(out.read_text())["traceEvents"][-1]["args"]["start_wall_ns"])


def main() -> int:
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="hloscope-clocks-") as name:
        here = pathlib.Path(name)
        (here / "skew.c").write_text(SKEW)
        built = run("cc", "-shared", "-fPIC", "-o", here / "skew.so", here / "skew.c")
        assert built.returncode == 0, built.stderr
        clocks = here / "clocks.tsv"
        there = f'hostname host-b; LD_PRELOAD={here}/skew.so exec "$@"'
        measure = [HLOSCOPE, "sweep", "clocks", clocks]
        on_b = ["unshare", "--uts", "sh", "-c", there, "sh"]

        done = run(*MPIRUN, "-n", 2, *measure)
        check(
            done.returncode == 0 and "one clock, nothing to measure" in done.stdout,
            "ranks of one host have one clock",
            done.stdout + done.stderr,
        )
        done = run(*MPIRUN, "-n", 2, *measure, ":", "-n", 2, *on_b, *measure, "--json")
        rows = rows_of(clocks)
        check(
            done.returncode == 0 and len(rows) == 3 and rows[2][0] == "host-b",
            "a row for each host and measurement, also with several ranks on a host",
            done.stdout + done.stderr + str(rows),
        )
        offset, error = (int(rows[-1][i]) / 1e9 for i in (2, 3))
        check(
            0 < error < 0.01 and abs(offset - AHEAD_S) <= error,
            "the offset is what the clock was set ahead by, within its error",
            rows,
        )
        done = run(*on_b, *measure)
        check(
            done.returncode != 0 and "was not measured against host-b" in done.stderr,
            "a file is of one reference",
            done.stdout + done.stderr,
        )

        capture = here / "b.hsc"
        done = run(*on_b, HLOSCOPE, "trace", "-q", "-o", capture, "--", HLOSCOPE, "run", MODEL)
        assert done.returncode == 0, done.stderr
        as_it_was = first_time(HLOSCOPE, capture)
        corrected = first_time(HLOSCOPE, capture, "--clocks", clocks)
        check(
            abs(as_it_was - corrected - AHEAD_S * 1e9) < 1e7,
            "times of a capture are in the reference's clock",
            (as_it_was, corrected),
        )
        clocks.write_text("host-b\t1\n")
        done = run(HLOSCOPE, "export", capture, "--clocks", clocks)
        check(
            done.returncode != 0 and "clocks.tsv:1:" in done.stderr,
            "a damaged file is named with its line",
            done.stderr,
        )
    return end()


sys.exit(main())
