#!/usr/bin/env python3
"""JAX's own tests that must pass on the built-in device: the lists in tests/jax_ids, run whole or
as a sample.

    tools/jax_ids.py --build build [FILE]...                    all ids of these files, or of all
                                                                (hours)
    tools/jax_ids.py --build build --sample --seconds 240       ids drawn by --seed (default: this
                                                                commit), until the time is over
    tools/jax_ids.py --record FOLDER [FILE]...                  adds what tools/jax_tests.py
                                                                --output FOLDER recorded to the
                                                                lists
    tools/jax_ids.py --check                                    nothing has left the lists since the
                                                                commits before

    tools/jax_ids.py --jax 0.12 ...                             the same for the newer JAX

tests/jax_ids/<file>.txt holds the ids that pass on XLA:CPU, without the file's name; they may only
grow. tests/jax_ids/0.12 has those of the newer JAX. tests/jax_ids/known.tsv holds those of them that do not pass here, each with its reason: such
a one that passes is told, too. The tests themselves are JAX's, of the tag that RELEASES names: --checkout or
$HLOSCOPE_JAX_CHECKOUT (of the newer $HLOSCOPE_JAX_0_12_CHECKOUT) names a folder with them; else
they are fetched once into the cache. Where
they cannot be had this says so and ends with 0. Last line: `N passed, N failed`.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import time
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environments  # noqa: E402
import jax_tests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "jax_ids"
KNOWN = LISTS / "known.tsv"


class Release(NamedTuple):
    tag: str  # of JAX's repository: which tests
    commit: str
    lists: pathlib.Path
    environments: tuple[str, ...]  # which JAX they run with (tests/environments)
    variable: str  # names a checkout


RELEASES = {
    "0.10": Release(
        "jax-v0.10.2",
        "990e6a0b84138346e6a38785412f36356e0e5dc3",
        LISTS,
        ("3.11",),
        "HLOSCOPE_JAX_CHECKOUT",
    ),
    # JAX 0.12.0; its own tag could not be had when the lists were made
    "0.12": Release(
        "jax-v0.11.0",
        "a1521744c6dc074443fe549f19f48d7197abf759",
        LISTS / "0.12",
        ("3.13", "3.12"),
        "HLOSCOPE_JAX_0_12_CHECKOUT",
    ),
}
SOURCE = "https://github.com/jax-ml/jax"
# A file of a sample may go on after the sample's time, which says when the last one starts: what
# that cut off would count as failed.
SAMPLE_LIMIT_S = 900
PER_FILE = 25  # ids of one file in a sample, so that starting Python is not most of the time


def listed(name, folder):
    path = folder / f"{name}.txt"
    return (
        [f"tests/{name}.py::{line}" for line in path.read_text().splitlines() if line]
        if path.exists()
        else []
    )


def known():
    """{id: reason}"""
    rows = (
        [
            line.split("\t", 1)
            for line in KNOWN.read_text().splitlines()
            if line and not line.startswith("#")
        ]
        if KNOWN.exists()
        else []
    )
    return dict(rows)


def names(folder):
    return sorted(path.stem for path in folder.glob("*.txt"))


def checkout(named, release):
    """(folder or None, why not)"""
    import os

    named = named or os.environ.get(release.variable)
    if named:
        folder = pathlib.Path(named).resolve()
        return (folder, None) if (folder / "tests").is_dir() else (None, f"{folder} has no tests/")
    folder = environments.cache_folder().parent / release.tag
    if not (folder / "tests").is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        command = [
            "git",
            "clone",
            "--quiet",
            "--depth",
            "1",
            "--branch",
            release.tag,
            SOURCE,
            str(folder),
        ]
        try:
            made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if made.returncode:
            return (
                None,
                (
                    f"git clone {SOURCE}:"
                    f" {made.stderr.strip().splitlines()[-1] if made.stderr.strip() else made.returncode}"
                ),
            )
        head = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        if head != release.commit:
            return None, f"{release.tag} is commit {head}, not {release.commit}"
    return folder, None


def run_ids(options, name, ids):
    """Runs these ids of a file; returns (passed, failed ids with their message, known ones that
    passed)."""
    excused = known()
    cases, seconds = jax_tests.run_file(options, name, True, options.output / "ids", ids)
    passed = [i for i in ids if cases.get(i, ("",))[0] == "passed"]
    bad = [
        (i, *cases.get(i, ("not run", 0, "")))
        for i in ids
        if i not in set(passed) and i not in excused
    ]
    return passed, bad, [i for i in passed if i in excused], seconds


def show(name, ids, passed, bad, better, seconds):
    print(f"{name:38} {len(ids):6} {len(passed):6} {seconds:6.0f} s", flush=True)
    for case, outcome, _, message in bad:
        print(f"  {outcome}: {case}: {message}", flush=True)
    for case in better:
        print(f"  passes, though {KNOWN.name} says it does not: {case}", flush=True)


def run_sample(options):
    seed = options.seed
    if seed is None:
        seed = (
            subprocess.run(
                ["git", "-C", str(ROOT), "rev-parse", "HEAD"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.strip()
            or "0"
        )
    draw = random.Random(str(seed))
    print(f"seed {seed}")
    files = names(options.release.lists)
    draw.shuffle(files)
    end = time.monotonic() + options.seconds
    totals = [0, 0]
    for name in files:
        if time.monotonic() > end:
            break
        ids = [i for i in listed(name, options.release.lists) if i not in known()]
        ids = sorted(draw.sample(ids, min(PER_FILE, len(ids))))
        if ids:
            add(totals, name, ids, run_ids(options, name, ids))
    return totals


def add(totals, name, ids, outcome):
    passed, bad, better, seconds = outcome
    show(name, ids, passed, bad, better, seconds)
    totals[0] += len(passed)
    totals[1] += len(bad)


def record(folder, wanted, lists):
    """Adds what passed here, and what failed here and passed on XLA:CPU, to the lists."""
    for path in sorted((folder / "hloscope").glob("*.tsv")):
        if wanted and path.stem not in wanted:
            continue
        here = jax_tests.read_record(path)
        there = jax_tests.read_record(folder / "xla-cpu" / path.name)
        good = {
            case for cases in (here, there) for case, row in cases.items() if row[0] == "passed"
        }
        good |= set(listed(path.stem, lists))
        short = sorted(case.split("::", 1)[1] for case in good)
        if short:
            (lists / f"{path.stem}.txt").write_text("\n".join(short) + "\n")
        missing = [
            c
            for c in sorted(good)
            if here.get(c, ("",))[0] not in ("passed", "") and c not in known()
        ]
        print(
            f"{path.stem:38} {len(short):6}"
            + (f"   {len(missing)} of them fail here" if missing else "")
        )
        for case in missing:
            print(f"  {case}: {here[case][2]}")


def check():
    """Ids that a commit before this one has and the lists have not."""
    lost = []
    tell = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "HEAD"],
        capture_output=True,
        check=False,
    )
    if tell.returncode:
        print("1..0 # SKIP no git history here")
        return 0
    for commit in ("HEAD", "HEAD^", "main"):
        files = subprocess.run(
            ["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", commit, "--", "tests/jax_ids"],
            capture_output=True,
            text=True,
            check=False,
        )
        for name in files.stdout.split():
            path = ROOT / name
            if path.suffix != ".txt":
                continue
            old = subprocess.run(
                ["git", "-C", str(ROOT), "show", f"{commit}:{name}"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.split("\n")
            new = set(path.read_text().split("\n")) if path.exists() else set()
            lost += [
                f"{name}: {case} ({commit} has it)" for case in old if case and case not in new
            ]
    folders = [release.lists for release in RELEASES.values()]
    every = [case for folder in folders for name in names(folder) for case in listed(name, folder)]
    lost += [f"{KNOWN.name}: {case} is in no list" for case in known() if case not in set(every)]
    print("1..1")
    print(
        f"{'not ok' if lost else 'ok'} 1 - the lists of JAX's tests only grow: {len(every)} ids in"
        f" {sum(len(names(folder)) for folder in folders)} files, {len(known())} known not to pass"
    )
    for text in lost[:50]:
        print(f"# {text}")
    return 1 if lost else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--jax", choices=RELEASES, default="0.10", help="which JAX")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--checkout", help="a folder with JAX's tests/ and conftest.py")
    parser.add_argument(
        "--python", help="a Python with that JAX and pytest (default: tools/environments.py)"
    )
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed")
    parser.add_argument("--record", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a file")
    return parser.parse_intermixed_args()


def main():
    options = parse()
    if options.check:
        return check()
    options.release = RELEASES[options.jax]
    if options.record:
        record(options.record, options.files, options.release.lists)
        return 0
    options.checkout, why = checkout(options.checkout, options.release)
    if options.checkout and not options.python:
        for label in options.release.environments:
            options.python, why = environments.environment(label)
            if options.python:
                break
    if why:
        print(f"NOT TESTED: JAX's own tests: {why}")
        print("0 passed, 0 failed")
        return 0
    options.library = (options.build / "libhloscope_cpu_pjrt.so").resolve()
    options.output = (options.build / "jax_tests").resolve()
    options.jobs, options.cases, options.k = 1, 1, None
    print(f"{'file':38} {'ids':>6} {'pass':>6}")
    totals = [0, 0]
    if options.sample:
        options.limit = SAMPLE_LIMIT_S
        totals = run_sample(options)
    else:
        lists = options.release.lists
        for name in options.files or names(lists):
            ids = listed(name, lists)
            add(totals, name, ids, run_ids(options, name, ids))
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
