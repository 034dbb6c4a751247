#!/usr/bin/env python3
"""Mutants are programs that the built-in device gets right, and faults in it are seen in them.

usage: check.py BUILD      prints TAP
"""

import os
import pathlib
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()
patterns = pathlib.Path(__file__).resolve().parent.parent.parent / "models/patterns"
MUTANTS = 12
results = []


def check(name, condition, detail=""):
    results.append(bool(condition))
    print(f"{'ok' if condition else 'not ok'} {len(results)} - {name}", flush=True)
    if not condition:
        print("\n".join("# " + str(line) for line in detail), flush=True)


def mutants(folder, name, *programs):
    path = pathlib.Path(folder, name)
    path.mkdir()
    command = [build / "tests/hunt/write_mutants", MUTANTS, 1, path, *programs]
    subprocess.run([str(word) for word in command], check=True)
    return sorted(path.glob("*.hlo"))


def look(device, paths, fault="none"):
    """The lines about each program: word, tab, what was seen."""
    done = subprocess.run(
        [str(build / "tests/hunt/hunt_look"), str(build / "hloscope"), str(device), "30"],
        input="".join(f"{path}\n" for path in paths),
        env={**os.environ, "HLOSCOPE_FAULT": fault},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.splitlines() or [done.stderr]


def stored(folder):
    return list(pathlib.Path(folder, "cache").rglob("results.sqlite"))


def sweep(folder, device, program):
    """The lines of the merged table of two mutants."""
    plan = pathlib.Path(folder, f"plan-{pathlib.Path(str(device)).name}")
    environment = {
        **os.environ,
        "HLOSCOPE_FAULT": "update-slice",
        "HLOSCOPE_CACHE_DIR": str(pathlib.Path(folder, "cache")),
    }
    for words in (
        ["plan", "hunt", program, "-d", device, "--repeats", 2, "--seed", 1, "-o", plan],
        ["run", plan],
        ["merge", plan, "--format=csv"],
    ):
        done = subprocess.run(
            [str(word) for word in (build / "hloscope", "sweep", *words, "-q")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
    return done.stdout.splitlines() or [done.stderr]


def main():
    faulty = build / "tests/faults/libhloscope_faulty_pjrt.so"
    with tempfile.TemporaryDirectory(prefix="hloscope-hunt-") as folder:
        paths = mutants(folder, "any", *sorted(patterns.glob("*.hlo")))
        texts = {path.read_text() for path in paths}
        check("each seed gives another mutant", len(texts) == MUTANTS, paths)
        lines = look("cpu", paths)
        agree = [line for line in lines if line.startswith("agrees\t")]
        check("the built-in device gets every mutant right", len(agree) == MUTANTS, lines)
        paths = mutants(folder, "mlp", patterns / "mlp_scan.hlo")[:2]
        lines = look(faulty, paths, "update-slice")
        check("a fault that a mutant shows differs", lines[0].startswith("differs"), lines)
        paths = mutants(folder, "multihead", patterns / "multihead_natural.hlo")[:2]
        lines = look(faulty, paths, "add-of-dot")
        ends = all(line.startswith("ends\t") and "faulty_rule.cc" in line for line in lines)
        check("a crash ends it, and the next program is looked at", ends and len(lines) == 2, lines)
        said = sweep(folder, faulty, patterns / "mlp_scan.hlo")
        check(
            "sweep hunt accuses the faulty device of a mutant, and keeps no result of it elsewhere",
            len(said) == 3 and "nothing to blame" not in said[1] and not stored(folder),
            said,
        )
        said = sweep(folder, "cpu", patterns / "mlp_scan.hlo")
        fine = len(said) == 3 and all("nothing to blame" in line for line in said[1:])
        check("and nobody of the same mutants on the built-in device", fine, said)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
