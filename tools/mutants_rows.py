#!/usr/bin/env python3
"""Faults in the rows of `.def` tables, and which of them no test notices.

    tools/mutants_rows.py [--files TEXT,...] [--rows TEXT] [--columns TEXT] [--count N] [--seed N]
    [--jobs N] [--json FILE] [--list] [--at-least PERCENT]

A fault changes one thing of one row: a flag is left out, a number is one more, a name in quotes
gets another letter, and what is written in capitals or as a bare name becomes another value of the
same column. Ids (the first column where it is a bare name) and the text for readers (the last one
in quotes) are left alone. Everything happens in a copy of the tree (--work): the row is changed
there, ninja builds what depends on it (with ccache, files whose text the row does not change cost
their preprocessing only), and the quick and golden tests run, the shortest first, until one fails.
What does not compile is noticed by the compiler and not counted. Tests that only compare pages with
the tables are left out: they would notice everything and say nothing of what a flag does.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import mutants

ROOT = mutants.ROOT
ROW = re.compile(r"^ *([A-Z][A-Z_0-9]*)\((.*)\) *(//.*)?$")
BARE = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclasses.dataclass
class Fault:
    file: str
    line: int
    row: str  # its first column
    column: int  # counted from 0
    old: str
    new: str


def split(text: str) -> list[tuple[int, int]]:
    """Where the arguments of a row begin and end, blanks around them left out."""
    spans = []
    depth = 0
    quoted = False
    begin = 0
    for at, c in enumerate(text + ","):
        if quoted:
            quoted = c != '"' or text[at - 1] == "\\"
        elif c == '"':
            quoted = True
        elif c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
        elif c == "," and depth == 0:
            word = text[begin:at]
            spans.append((begin + len(word) - len(word.lstrip()), begin + len(word.rstrip())))
            begin = at + 1
    return spans


def changes(word: str, others: list[str]) -> list[str]:
    """What a value of a column may become; `others` are the values of that column in other rows, in
    order and each once."""
    if re.fullmatch(r"-?\d+", word):
        return [str(int(word) + 1)]
    if "|" in word and re.fullmatch(r"[A-Z_0-9| ]+", word):
        flags = [flag.strip() for flag in word.split("|")]
        return ["|".join(flags[:i] + flags[i + 1 :]) for i in range(len(flags))]
    if re.fullmatch(r'"[^"\\ ]+"', word):
        return [word[:-1] + ('y"' if word.endswith('x"') else 'x"')]
    if BARE.fullmatch(word):
        if any("|" in other for other in others):  # a column of flags, with one
            return ["0"]
        return [
            other
            for other in others
            if BARE.fullmatch(other) and other != word and other.isupper() == word.isupper()
        ]
    return []


def faults_of(name: str, text: str) -> list[Fault]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        match = ROW.match(line)
        if match:
            rows.append((number, match[1], [match[2][a:b] for a, b in split(match[2])]))
    found = []
    for number, kind, words in rows:
        quoted = [i for i, word in enumerate(words) if word.startswith('"')]
        for column, word in enumerate(words):
            is_id = column == 0 and BARE.fullmatch(word)
            is_text = quoted and column == quoted[-1] and (" " in word or column > 0)
            if is_id or is_text:
                continue
            others = list(
                dict.fromkeys(
                    row[2][column] for row in rows if row[1] == kind and len(row[2]) > column
                )
            )
            choices = changes(word, others)
            if len(choices) > 2 and BARE.fullmatch(word):  # any other value: one, always the same
                choices = random.Random(f"{name}:{number}:{column}").sample(choices, 1)
            found += [Fault(name, number, words[0], column, word, choice) for choice in choices]
    return found


def changed_line(line: str, fault: Fault) -> str:
    match = ROW.match(line)
    begin, end = split(match[2])[fault.column]
    at = match.start(2)
    return line[: at + begin] + fault.new + line[at + end :]


class Workplace(mutants.Workplace):
    """A copy of the tree with an ordinary build."""

    def ninja(self) -> bool:
        command = [
            "nice",
            "-n",
            "4",
            "ninja",
            f"-j{self.jobs}",
            "-C",
            str(self.build),
            "product",
            "meson-test-prereq",
            "test_programs",
        ]
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        (self.work / "ninja.log").write_text(done.stdout)
        return done.returncode == 0

    def make(self) -> None:
        if not (self.build / "build.ninja").exists():
            mutants.run(["meson", "setup", str(self.build), str(self.tree)])
        if not self.ninja():
            sys.exit(f"mutants_rows: the copy does not build: {self.work / 'ninja.log'}")


def first_failure(tests: list[mutants.Test], jobs: int) -> str:
    """The first test that fails, or "". The others are not begun then."""
    failed = ""

    def one(test: mutants.Test) -> str:
        if failed:
            return ""
        passed, _, _ = mutants.try_test(test, 0, 10 + 6 * test.seconds, None)
        return "" if passed else test.name

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name in pool.map(one, tests):
            failed = failed or name
    return failed


def judge(place: Workplace, fault: Fault, tests: list[mutants.Test]) -> str:
    """What notices the fault: a test, "the compiler", or nothing."""
    path = place.tree / fault.file
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    ending = "\n" if lines[fault.line - 1].endswith("\n") else ""
    lines[fault.line - 1] = changed_line(lines[fault.line - 1].rstrip("\n"), fault) + ending
    try:
        path.write_text("".join(lines))
        return first_failure(tests, place.jobs) if place.ninja() else "the compiler"
    finally:
        path.write_text(before)


def baseline(place: Workplace) -> list[mutants.Test]:
    """The tests that pass without a fault, the shortest first; kept for the next call."""
    tests = place.tests()
    kept = place.work / "seconds.json"
    seconds = json.loads(kept.read_text()) if kept.exists() else {}
    missing = [test for test in tests if test.name not in seconds]

    def one(test: mutants.Test) -> None:
        passed, took, _ = mutants.try_test(test, 0, mutants.LONGEST_S, None)
        seconds[test.name] = took if passed else -1
        if not passed:
            print(f"# left out: {test.name} does not pass here without a fault", flush=True)

    with concurrent.futures.ThreadPoolExecutor(place.jobs) as pool:
        list(pool.map(one, missing))
    kept.write_text(json.dumps(seconds, indent=1) + "\n")
    for test in tests:
        test.seconds = seconds[test.name]
    return sorted((test for test in tests if test.seconds >= 0), key=lambda test: test.seconds)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", default="", help="tables whose path holds one of these texts")
    parser.add_argument(
        "--rows", default="", help="rows whose first column holds one of these texts"
    )
    parser.add_argument("--columns", default="", help="these columns only, from 0, with commas")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument(
        "--work",
        type=pathlib.Path,
        default=pathlib.Path(tempfile.gettempdir()) / f"hloscope-mutants-rows-{os.getuid()}",
    )
    parser.add_argument("--json", type=pathlib.Path, help="writes every fault and what noticed it")
    parser.add_argument(
        "--list", action="store_true", help="says which faults would be tried, and ends"
    )
    parser.add_argument(
        "--at-least", type=float, default=0, help="exit code 1 when fewer per cent are noticed"
    )
    options = parser.parse_args()
    every = []
    for path in sorted((ROOT / "src").rglob("*.def")):
        name = str(path.relative_to(ROOT))
        every += faults_of(name, path.read_text())
    holds = lambda text, wanted: not wanted or any(part in text for part in wanted.split(","))
    pool = [
        fault
        for fault in every
        if holds(fault.file, options.files)
        and holds(fault.row, options.rows)
        and (not options.columns or str(fault.column) in options.columns.split(","))
    ]
    chosen = random.Random(options.seed).sample(pool, min(options.count, len(pool)))
    print(
        f"# {len(every)} faults in rows, {len(pool)} to choose from, {len(chosen)} chosen",
        flush=True,
    )
    if options.list:
        for fault in chosen:
            print(f"{fault.file}:{fault.line} {fault.row}: {fault.old} becomes {fault.new}")
        return 0
    begin = time.monotonic()
    place = Workplace(options.work, options.jobs)
    place.copy_sources()
    place.make()
    tests = baseline(place)
    print(f"# {len(tests)} tests, ready after {time.monotonic() - begin:.0f} s", flush=True)
    results = []
    for fault in chosen:
        by = judge(place, fault, tests)
        results.append((fault, by))
        print(
            f"# {'noticed by ' + by if by else 'NOT NOTICED'}: {fault.file}:{fault.line}"
            f" {fault.row}: {fault.old} becomes {fault.new}",
            flush=True,
        )
    place.ninja()
    counted = [(fault, by) for fault, by in results if by != "the compiler"]
    noticed = sum(bool(by) for _, by in counted)
    score = 100 * noticed / max(1, len(counted))
    print(
        f"\n{noticed} of {len(counted)} faults in rows noticed ({score:.0f} %),"
        f" {len(results) - len(counted)} more by the compiler, in {time.monotonic() - begin:.0f} s"
    )
    if options.json:
        options.json.write_text(
            json.dumps(
                [dataclasses.asdict(fault) | {"noticed_by": by} for fault, by in results], indent=1
            )
            + "\n"
        )
    return 1 if score < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
