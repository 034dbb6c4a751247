#!/usr/bin/env python3
"""The instructions that one run of each program of tests/zoo/programs takes, beside baseline.tsv:
more than a tenth above is a failure. Counts are of one thread and the same at every run, so a
machine may be as busy as it likes.

  tests/zoo/check.py BUILD            TAP; the column is the processor's instruction set, or what
                                      HLOSCOPE_CPU_ISA lowers it to
  tests/zoo/check.py BUILD --update   writes the columns of all instruction sets of this processor
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "baseline.tsv"
LEVELS = ("baseline", "avx2", "avx512")
ABOVE, BELOW = 1.10, 0.90
NOT_HERE = 77


def level():
    flags = set()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":")[1].split())
            break
    found = "baseline"
    if {"avx2", "fma", "f16c"} <= flags:
        found = "avx2"
    if found == "avx2" and {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        found = "avx512"
    asked = os.environ.get("HLOSCOPE_CPU_ISA", found)
    return min(found, asked, key=LEVELS.index) if asked in LEVELS else found


def count(tool, program, isa):
    """Instructions, or None where they cannot be counted here."""
    done = subprocess.run(
        [tool, str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HLOSCOPE_CPU_ISA": isa, "LD_BIND_NOW": "1"},
    )
    if done.returncode == NOT_HERE:
        return None
    if done.returncode:
        sys.exit(f"{program.name}: {done.stderr.strip() or done.returncode}")
    return int(done.stdout.split("\t")[1])


def counts(tool, isa):
    programs = sorted((HERE / "programs").glob("*.mlir"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda program: count(tool, program, isa), programs)
        return dict(zip((program.stem for program in programs), found))


def read_baseline():
    rows = [line.split("\t") for line in BASELINE.read_text().splitlines() if line[:1] != "#"]
    return {row[0]: {isa: int(text) for isa, text in zip(LEVELS, row[1:]) if text} for row in rows}


def update(tool):
    found = {isa: counts(tool, isa) for isa in LEVELS[: LEVELS.index(level()) + 1]}
    before = read_baseline() if BASELINE.exists() else {}
    lines = ["# instructions of one run, one thread: program, " + ", ".join(LEVELS)]
    for name in found["baseline"]:
        kept = before.get(name, {})
        cells = [str(found.get(isa, {}).get(name) or kept.get(isa, "")) for isa in LEVELS]
        lines.append("\t".join([name, *cells]))
    BASELINE.write_text("\n".join(lines) + "\n")


def judge(number, name, instructions, known):
    """A line of TAP."""
    if instructions is None:
        return f"ok {number} - {name} # SKIP neither counters nor steps are allowed here"
    if known is None:
        return f"ok {number} - {name} # SKIP no baseline for this instruction set"
    ratio = instructions / known
    text = f"{number} - {name}: {instructions} instructions, {ratio:.3f} of the baseline's {known}"
    if ratio > ABOVE:
        return f"not ok {text}"
    faster = " (make zoo-baseline writes the new number)" if ratio < BELOW else ""
    return f"ok {text}{faster}"


def main():
    tool = str(pathlib.Path(sys.argv[1]) / "tests" / "zoo" / "zoo_count")
    if "--update" in sys.argv:
        return update(tool)
    isa = level()
    baseline = read_baseline()
    found = counts(tool, isa)
    print(f"1..{len(found)}")
    lines = [
        judge(number, name, instructions, baseline.get(name, {}).get(isa))
        for number, (name, instructions) in enumerate(found.items(), 1)
    ]
    print("\n".join(lines))
    return int(any(line.startswith("not ok") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
