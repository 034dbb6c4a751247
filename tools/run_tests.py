#!/usr/bin/env python3
"""Runs meson's tests and ends with one plain line: how many passed, how many failed.

    tools/run_tests.py BUILD [--suite NAME]... [--no-suite NAME]... [--slow FACTOR] [TEST]...

Programs that speak TAP count with each of their cases, others as one. The numbers come from the
JUnit file that meson writes, so a program that crashed counts as failed. What was skipped is listed
by reason. The exit code is 0 only when nothing failed and something passed.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml


def count(junit: pathlib.Path) -> tuple[int, int, int, list[str]]:
    passed = failed = skipped = 0
    names = []
    # What a test prints may hold characters that XML does not have.
    text = re.sub(
        r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", junit.read_text(encoding="utf-8", errors="replace")
    )
    for suite in xml.fromstring(text.encode()).iter("testsuite"):
        for case in suite.iter("testcase"):
            name = f"{suite.get('name')}: {case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                names.append(name)
            elif case.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped, names


SKIPPED = re.compile(
    r"^\s*(?:1\.\.0|ok \d+)(?: - (?P<name>.*?))?\s*# SKIP\s*(?P<why>.*)$", re.IGNORECASE
)


NO_REASON = "no reason given"
REASON_MAX = 200


def skips_by_reason(log: pathlib.Path) -> dict[str, list[str]]:
    """{reason: what was skipped for it}; a whole program that was skipped counts as one."""
    reasons: dict[str, list[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        test = json.loads(line)
        told = [
            match for text in test.get("stdout", "").splitlines() if (match := SKIPPED.match(text))
        ]
        for match in told:
            name = f"{test['name']}: {match['name']}" if match["name"] else test["name"]
            reasons.setdefault(match["why"].strip() or NO_REASON, []).append(name)
        if test["result"] == "SKIP" and not told:
            reasons.setdefault(NO_REASON, []).append(test["name"])
    return reasons


def unreasoned(reasons: dict[str, list[str]]) -> list[str]:
    """What was skipped without a sentence that says why: no words, the last line of a traceback, or
    more than a line holds."""
    return [
        f"{name}: skipped without a plain reason: {reason[:80]}"
        for reason, names in reasons.items()
        if reason == NO_REASON or "Traceback" in reason or not 5 <= len(reason) <= REASON_MAX
        for name in names
    ]


def show_skips(reasons: dict[str, list[str]]) -> None:
    if reasons:
        print("skipped:")
    for reason, names in sorted(reasons.items(), key=lambda r: (-len(r[1]), r[0])):
        print(f"  {len(names):4}  {reason}")
        print(
            f"        {', '.join(names[:3])}"
            + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        )


def show_failures(log: pathlib.Path) -> None:
    """What failing TAP programs said: meson shows their stderr only."""
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        test = json.loads(line)
        if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL") or "1.." not in test.get("stdout", ""):
            continue
        print(f"--- {test['name']}")
        keep = [text for text in test["stdout"].splitlines() if not text.startswith("ok ")]
        print("\n".join(keep[-200:]))


# Suites that bring gigabytes from the package index: run where they, or their tests, are named.
BY_NAME = ("releases",)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", metavar="TEST", help="these tests only")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--no-suite", action="append", default=[])
    parser.add_argument("--slow", default="1", help="factor on all time limits, for sanitizers")
    options = parser.parse_intermixed_args()
    command = [
        "meson",
        "test",
        "-C",
        str(options.build),
        "--no-rebuild",
        "--print-errorlogs",
        "--timeout-multiplier",
        options.slow,
    ]
    for suite in options.suite:
        command += ["--suite", suite]
    left_out = [] if options.suite or options.tests else list(BY_NAME)
    for suite in [*options.no_suite, *left_out]:
        command += ["--no-suite", suite]
    # One more than there are processors: some tests wait more than they compute.
    command += ["--num-processes", str(len(os.sched_getaffinity(0)) + 1)]
    command += options.tests
    # A log of its own for each choice, so that two runs in one build do not write into one file.
    name = "-".join(
        ["testlog", *options.suite, *(f"no-{suite}" for suite in options.no_suite), *options.tests]
    )[:100]
    command += ["--logbase", name]
    log = options.build / "meson-logs" / f"{name}.json"
    junit = options.build / "meson-logs" / f"{name}.junit.xml"
    junit.unlink(missing_ok=True)
    begin = time.monotonic()
    code = subprocess.run(command, check=False).returncode
    if not junit.exists():
        print("no test ran: 0 passed, 1 failed")
        return code or 1
    passed, failed, skipped, names = count(junit)
    if code and not failed:  # a test that ended without a case that tells: a crash, a time limit
        failed = 1
        names = ["a test program failed outside of its cases; see above"]
    if code:
        show_failures(log)
    reasons = skips_by_reason(log)
    show_skips(reasons)
    names += unreasoned(reasons)
    failed += len(unreasoned(reasons))
    if names:
        print("failed:")
        for name in names:
            print(f"  {name}")
    print(
        f"tests took {time.monotonic() - begin:.0f} s" + (f"; {skipped} skipped" if skipped else "")
    )
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
