#!/usr/bin/env python3
"""How small seeded failures get: every fault of faults.def on programs of many sizes.

    python3 tests/faults/measure.py build [--programs GLOB ...] [--budget 60] [--aside] [--out
    FILE.json]

A fault that does not show in a program (its pattern is not there, or rounding hides it) is no case.
A third of the cases, chosen by a hash of their names, is kept aside: --aside measures those alone;
whoever works on the rules looks at the others only. Prints a line a case and the figures at the
end.
"""

import argparse
import glob
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROW = re.compile(r'FAULT\(\w+,\s*"([^"]+)",\s*(WRONG|CRASH)')


def is_aside(program: str, fault: str) -> bool:
    return hashlib.sha256(f"{pathlib.Path(program).name}/{fault}".encode()).digest()[0] % 3 == 0


def reduce(build: pathlib.Path, program: str, fault: str, kind: str, budget: float) -> dict | None:
    """The document of `hloscope reduce`; None where the fault does not show."""
    plugin = build / "tests/faults/libhloscope_faulty_pjrt.so"
    with tempfile.TemporaryDirectory(prefix="hloscope-faults-") as scratch:
        environment = {**os.environ, "HLOSCOPE_FAULT": fault, "HLOSCOPE_CACHE_DIR": scratch}
        done = subprocess.run(
            [
                build / "hloscope",
                "reduce",
                program,
                "-d",
                plugin,
                "--symptom",
                kind,
                "-o",
                f"{scratch}/small",
                "--format=json",
                "--quiet",
                "--time-budget",
                str(budget),
            ],
            env=environment,
            capture_output=True,
            text=True,
        )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip()[-300:]}
    if "error" in document:
        shown = document["error"]["code"] == "FAILED_PRECONDITION"
        return None if shown else {"error": document["error"]["message"]}
    return document


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument(
        "--programs",
        nargs="*",
        default=[str(ROOT / "models/*.hlo.gz"), str(ROOT / "models/patterns/*.hlo")],
    )
    parser.add_argument("--faults", nargs="*")
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--limit", type=float, default=0, help="seconds for all cases; 0: no limit")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    faults = ROW.findall((ROOT / "tests/faults/faults.def").read_text())
    programs = sorted(path for pattern in arguments.programs for path in glob.glob(pattern))
    cases, start = [], time.monotonic()
    order = sorted(
        (
            (p, f, k)
            for p in programs
            for f, k in faults
            if not arguments.faults or f in arguments.faults
        ),
        key=lambda case: hashlib.sha256(f"{case[0]}{case[1]}".encode()).digest(),
    )
    for program, fault, kind in order:
        if is_aside(program, fault) != arguments.aside:
            continue
        if arguments.limit and time.monotonic() - start > arguments.limit:
            break
        document = reduce(arguments.build.resolve(), program, fault, kind.lower(), arguments.budget)
        if document is None:
            continue
        name = f"{pathlib.Path(program).name} {fault}"
        if "error" in document:
            print(f"{name}: {document['error']}", flush=True)
            cases.append({"case": name, "error": document["error"]})
            continue
        cases.append(
            {
                "case": name,
                "before": document["instructions_before"],
                "after": document["instructions_after"],
                "seconds": document["seconds"],
                "looks": document["looks"],
                "verified": document["verified"],
            }
        )
        print(
            f"{name}: {document['instructions_before']} -> {document['instructions_after']},"
            f" {document['looks']} looks, {document['seconds']:.1f}"
            f" s{'' if document['verified'] else ', NOT VERIFIED'}",
            flush=True,
        )
    done = [case for case in cases if "after" in case]
    if done:
        after = [case["after"] for case in done]
        print(
            f"{len(done)} cases: median {statistics.median(after)} instructions, worst"
            f" {max(after)}, at most 8 in {sum(n <= 8 for n in after)}; median"
            f" {statistics.median(case['seconds'] for case in done):.1f} s; verified"
            f" {sum(case['verified'] for case in done)}; failed {len(cases) - len(done)}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(cases, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
